// SPDX-License-Identifier: GPL-2.0
/*
 * A module that storms.py loads when a network namespace is not freed, to find who holds references
 * on it. For each namespace except init_net it logs the inode number, which "ls -iL /run/netns"
 * shows, the number of references, and the stacks of the tracked ones: where the kernel took them
 * (CONFIG_NET_NS_REFCNT_TRACKER). The kernel tracks those of its sockets, not of tasks and files.
 *
 * A namespace that is not logged has no references left: for_each_net() no longer finds it.
 */

#include <linux/module.h>
#include <linux/ref_tracker.h>
#include <linux/refcount.h>
#include <linux/rtnetlink.h>
#include <linux/rwsem.h>
#include <net/net_namespace.h>

#define NET_REFS_MAX	100	/* stacks for one namespace */

static int __init net_refs_init(void)
{
	struct net *net;

	down_read(&net_rwsem);
	for_each_net(net) {
		if (net_eq(net, &init_net))
			continue;
		pr_notice("net_refs: namespace %u has %u references\n", net->ns.inum,
			  refcount_read(&net->ns.count));
		ref_tracker_dir_print(&net->refcnt_tracker, NET_REFS_MAX);
	}
	up_read(&net_rwsem);
	return 0;
}

static void __exit net_refs_exit(void)
{
}

module_init(net_refs_init);
module_exit(net_refs_exit);
MODULE_DESCRIPTION("Write the references on network namespaces into the log, for tests");
MODULE_LICENSE("GPL");

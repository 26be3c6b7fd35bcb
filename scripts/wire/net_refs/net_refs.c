// SPDX-License-Identifier: GPL-2.0
/*
 * A module for storms.py, which loads it when a network namespace is not freed. It writes each
 * namespace except the first one into the log: the number that "ls -iL /run/netns" shows, how many
 * references there are, and where the kernel took those that it tracks
 * (CONFIG_NET_NS_REFCNT_TRACKER). The kernel tracks references of its own sockets, but not those of
 * processes and open files.
 *
 * A namespace without references is being taken down: the kernel's list has it no longer.
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

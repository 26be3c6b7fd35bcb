/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _COMPAT_NET_SOCK_H
#define _COMPAT_NET_SOCK_H

#include_next <net/sock.h>

/*
 * A socket made by the kernel has no reference on its network namespace. Newer kernels have
 * sk_net_refcnt_upgrade(), which takes one; older kernels get it here. In Linux 6.2 and later
 * sk->ns_tracker of a socket without such a reference is in use already, for an entry in
 * net->notrefcnt_tracker: that entry is freed first.
 */
#ifndef COMPAT_HAS_NETNS_WEAK_TRACKER
#define __netns_tracker_free(net, tracker, refcounted) ((void)0)
#endif

#ifndef COMPAT_HAS_NET_REFCNT_UPGRADE
static inline void sk_net_refcnt_upgrade(struct sock *sk)
{
	struct net *net = sock_net(sk);

	__netns_tracker_free(net, &sk->ns_tracker, false);
	sk->sk_net_refcnt = 1;
	get_net_track(net, &sk->ns_tracker, GFP_KERNEL);
	sock_inuse_add(net, 1);
}
#endif

/*
 * In newer kernels sk_owner_set() has a socket hold the module that its lockdep class is in. In
 * older ones an accepted socket cannot hold a module, so it keeps TCP's lockdep class.
 */
#ifndef COMPAT_HAS_SOCK_OWNER
static inline void compat_lock_set_class(struct lockdep_map *lock, const char *name,
					 struct lock_class_key *key, unsigned int subclass,
					 unsigned long ip)
{
}

#undef lock_set_class
#define lock_set_class compat_lock_set_class
#define sk_owner_set(sk, owner) ((void)(owner))
#endif

/*
 * The first releases of 6.1 have no sk_use_task_frag: sk_allocation alone decides whether TCP uses
 * the page fragment of the task or of the socket. Assignments to sk_use_task_frag then go to
 * another field, which nothing reads.
 */
#ifndef COMPAT_HAS_TASK_FRAG
#define sk_use_task_frag sk_txtime_unused
#endif

#endif

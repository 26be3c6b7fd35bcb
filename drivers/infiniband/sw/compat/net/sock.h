/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _COMPAT_NET_SOCK_H
#define _COMPAT_NET_SOCK_H

#include_next <net/sock.h>

/* In later kernels a kernel's socket has a weaker reference, which is given back first. */
#ifndef COMPAT_HAS_NET_REFCNT_UPGRADE
static inline void sk_net_refcnt_upgrade(struct sock *sk)
{
	struct net *net = sock_net(sk);

	sk->sk_net_refcnt = 1;
	get_net_track(net, &sk->ns_tracker, GFP_KERNEL);
	sock_inuse_add(net, 1);
}
#endif

/*
 * Later kernels let any socket hold the module that has its class. Older ones cannot have an
 * accepted socket do that, which keeps TCP's class here.
 */
#ifndef COMPAT_HAS_SOCK_OWNER
#define COMPAT_LACKS_SOCK_OWNER
#endif

/* Before stable releases of 6.1 had this field, sk_allocation alone said whose fragment is used. */
#ifndef COMPAT_HAS_TASK_FRAG
#define COMPAT_LACKS_TASK_FRAG
#endif

#endif

// SPDX-License-Identifier: GPL-2.0
/*
 * The route and next hop of a connection, as the host would choose them. A
 * device that has taken the connection over sends packets by this route to this
 * next hop.
 */

#include "path.h"

#include <linux/string.h>
#include <net/dst.h>
#include <net/inet_connection_sock.h>
#include <net/neighbour.h>
#include <rdma/iw_mpa_tcb.h>

/* An IPv4 connection of an IPv6 socket has its addresses in the IPv4 fields. */
static struct neighbour *path_neighbour(const struct dst_entry *dst,
					const struct sock *sk)
{
#if IS_ENABLED(CONFIG_IPV6)
	if (dst->ops->family == AF_INET6)
		return dst_neigh_lookup(dst, &sk->sk_v6_daddr);
#endif
	return dst_neigh_lookup(dst, &sk->sk_daddr);
}

static void path_read_neighbour(struct neighbour *neigh,
				struct iw_mpa_path *path)
{
	path->lladdr_known = neigh->dev->addr_len == ETH_ALEN &&
			     (READ_ONCE(neigh->nud_state) & NUD_VALID);
	if (path->lladdr_known)
		neigh_ha_snapshot(path->lladdr, neigh, neigh->dev);
}

/*
 * After a takeover the host itself sends no packets of the connection to the
 * next hop. So the host's neighbour entry of the next hop could become old, or
 * be missing, and maybe nothing would renew it. Each check of the path uses the
 * entry as if the host had sent a packet.
 */
static void path_use_neighbour(struct neighbour *neigh)
{
	if (neigh->dev->addr_len)
		neigh_event_send(neigh, NULL);
}

/* RCU: an interface is freed a grace period after it leaves its routes. */
static int path_ifindex(const struct dst_entry *dst)
{
	int ifindex;

	rcu_read_lock();
	ifindex = READ_ONCE(dst->dev)->ifindex;
	rcu_read_unlock();
	return ifindex;
}

static void path_read(struct sock *sk, struct iw_mpa_path *path, bool used)
{
	struct dst_entry *dst = sk_dst_get(sk);
	struct neighbour *neigh;

	memset(path, 0, sizeof(*path));
	if (!dst)
		return;
	path->dst = dst;
	path->mtu = dst_mtu(dst);
	path->ifindex = path_ifindex(dst);
	neigh = path_neighbour(dst, sk);
	if (!neigh)
		return;
	if (used)
		path_use_neighbour(neigh);
	path_read_neighbour(neigh, path);
	neigh_release(neigh);
}

/* Read the path that TCP used last, for iw_mpa_path_put(). Socket is locked. */
void iw_mpa_path_read(struct sock *sk, struct iw_mpa_path *path)
{
	path_read(sk, path, false);
}

/*
 * Find the path by which TCP would send the next packet. The caller has to call
 * iw_mpa_path_put(). @path is zeroes if there is no route, or if TCP has ended
 * the connection. If the host lacks the next hop's link-layer address, the call
 * begins to resolve it; an old address is used, and the call begins to confirm
 * it.
 */
void iw_mpa_path_refresh(struct sock *sk, struct iw_mpa_path *path)
{
	lock_sock(sk);
	if (sk->sk_state != TCP_CLOSE &&
	    !inet_csk(sk)->icsk_af_ops->rebuild_header(sk))
		path_read(sk, path, true);
	else
		memset(path, 0, sizeof(*path));
	release_sock(sk);
}

/*
 * Return: true if two paths differ in the interface, the next hop's link-layer
 * address or the MTU, or if only one of them has a route. Another route to the
 * same next hop is no difference.
 */
bool iw_mpa_path_differs(const struct iw_mpa_path *a,
			 const struct iw_mpa_path *b)
{
	return !a->dst != !b->dst || a->ifindex != b->ifindex ||
	       a->mtu != b->mtu || a->lladdr_known != b->lladdr_known ||
	       memcmp(a->lladdr, b->lladdr, sizeof(a->lladdr));
}

void iw_mpa_path_put(struct iw_mpa_path *path)
{
	dst_release(path->dst);
	path->dst = NULL;
}

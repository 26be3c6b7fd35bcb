// SPDX-License-Identifier: GPL-2.0
/*
 * Choose the interface by which the packets of an initiator leave.
 *
 * rdma_cm chooses the interface that has the source address, and a route by
 * that interface. TCP looks for a route in the host's tables, whichever
 * interface has the source address. If the two routes differ, the tables prefer
 * TCP's route for a reason: for example, an administrator has routed these
 * packets into a tunnel, and by rdma_cm's interface they would leave
 * unencrypted. So TCP's route is used. But if two cards are on one network, the
 * tables rank their routes alike, and TCP would use the first route, whatever
 * the source address is. Only in such a tie rdma_cm's choice is used.
 */

#include "way.h"
#include "sock.h"

#include <linux/netdevice.h>
#include <net/inet_dscp.h>
#include <net/ip6_fib.h>
#include <net/ip6_route.h>
#include <net/ip_fib.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <net/nexthop.h>
#include <net/route.h>

/*
 * Return: true if the routing tables rank two routes of a flow alike. @host is
 * the route that TCP would use, @chosen the route by @ifindex, the interface
 * that rdma_cm has chosen. Both routes have to exist, and to differ.
 */
bool iw_mpa_way_is_tie(const struct iw_mpa_route *host,
		       const struct iw_mpa_route *chosen, int ifindex)
{
	if (!host->ifindex || host->local || chosen->ifindex != ifindex)
		return false;
	if (host->ifindex == ifindex && !host->many)
		return false;
	return host->table == chosen->table && host->metric == chosen->metric &&
	       host->prefix_len == chosen->prefix_len &&
	       host->source_len == chosen->source_len;
}

/* Routing rules may match any field of a packet, so the flow has all fields. */
static struct iw_mpa_route way_look4(const struct iw_mpa_sock_opts *opts,
				     u8 tos, int oif)
{
	struct iw_mpa_route route = {};
	struct fib_result res;
	struct flowi4 fl4;

	flowi4_init_output(&fl4, oif, 0, inet_dsfield_to_dscp(tos),
			   RT_SCOPE_UNIVERSE, IPPROTO_TCP, 0,
			   opts->remote->in.sin_addr.s_addr,
			   opts->local->in.sin_addr.s_addr,
			   opts->remote->in.sin_port, opts->local->in.sin_port,
			   make_kuid(opts->net->user_ns, 0));
	rcu_read_lock();
	if (!fib_lookup(opts->net, &fl4, &res, 0))
		route = (struct iw_mpa_route) {
			.ifindex	= FIB_RES_DEV(res)->ifindex,
			.table		= res.table->tb_id,
			.metric		= res.fi->fib_priority,
			.prefix_len	= res.prefixlen,
			.local		= res.type == RTN_LOCAL,
			.many		= fib_info_num_path(res.fi) > 1,
		};
	rcu_read_unlock();
	return route;
}

#if IS_ENABLED(CONFIG_IPV6)
static struct iw_mpa_route way_look6(const struct iw_mpa_sock_opts *opts,
				     u8 tos, int oif)
{
	struct flowi6 fl6 = {
		.flowi6_oif	= oif,
		.flowi6_proto	= IPPROTO_TCP,
		.flowi6_uid	= make_kuid(opts->net->user_ns, 0),
		.flowlabel	= ip6_make_flowinfo(tos, 0),
		.daddr		= opts->remote->in6.sin6_addr,
		.saddr		= opts->local->in6.sin6_addr,
		.fl6_dport	= opts->remote->in6.sin6_port,
		.fl6_sport	= opts->local->in6.sin6_port,
	};
	struct iw_mpa_route route = {};
	const struct fib6_info *from;
	const struct rt6_info *rt;
	struct dst_entry *dst;

	/* Use RT6_LOOKUP_F_IFACE, as TCP does for a socket that is bound. */
	dst = ip6_route_output_flags(opts->net, NULL, &fl6,
				     oif ? RT6_LOOKUP_F_IFACE : 0);
	rt = container_of(dst, struct rt6_info, dst);
	rcu_read_lock();
	from = rcu_dereference(rt->from);
	if (!dst->error && from)
		route = (struct iw_mpa_route){
			.ifindex = dst->dev->ifindex,
			.table = from->fib6_table->tb6_id,
			.metric = from->fib6_metric,
			.prefix_len = from->fib6_dst.plen,
			.source_len = from->fib6_src.plen,
			.local = rt->rt6i_flags & RTF_LOCAL,
			.many = from->fib6_nsiblings ||
				(from->nh && nexthop_is_multipath(from->nh)),
		};
	rcu_read_unlock();
	dst_release(dst);
	return route;
}
#endif

static struct iw_mpa_route way_look(const struct iw_mpa_sock_opts *opts, u8 tos,
				    int oif)
{
#if IS_ENABLED(CONFIG_IPV6)
	if (opts->remote->sa.sa_family == AF_INET6)
		return way_look6(opts, tos, oif);
#endif
	return way_look4(opts, tos, oif);
}

/* TCP itself uses the interface that a link-local address names (scope ID). */
static bool way_is_in_the_address(const union iw_mpa_addr *addr)
{
	return addr->sa.sa_family == AF_INET6 &&
	       __ipv6_addr_needs_scope_id(ipv6_addr_type(&addr->in6.sin6_addr));
}

/*
 * Return: @ifindex, the interface that rdma_cm has chosen, if the host's tables
 * rank the route by it and TCP's own route alike: TCP then has to use @ifindex.
 * 0 if TCP has to use its own route.
 */
int iw_mpa_way(const struct iw_mpa_sock_opts *opts, int ifindex)
{
	struct iw_mpa_route host, chosen, any_tos;

	if (!ifindex || way_is_in_the_address(opts->remote) ||
	    way_is_in_the_address(opts->local))
		return 0;
	host = way_look(opts, opts->tos, opts->ifindex);
	/* Mostly TCP's only route is by rdma_cm's interface: no choice. */
	if (host.ifindex == ifindex && !host.many)
		return 0;
	chosen = way_look(opts, opts->tos, ifindex);
	if (!iw_mpa_way_is_tie(&host, &chosen, ifindex))
		return 0;
	/* TCP's route may be for this TOS alone: then it is preferred. */
	any_tos = way_look(opts, 0, opts->ifindex);
	if (any_tos.ifindex != host.ifindex || any_tos.many != host.many)
		return 0;
	return ifindex;
}

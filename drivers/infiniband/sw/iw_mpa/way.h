/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IW_MPA_WAY_H
#define _IW_MPA_WAY_H

#include <linux/types.h>

struct iw_mpa_sock_opts;

/* The route of a flow, and what the routing tables rank it by */
struct iw_mpa_route {
	int	ifindex;	/* of the interface; 0 if there is no route */
	u32	table;		/* routing table, which the rules have chosen */
	u32	metric;		/* the least is preferred */
	u8	prefix_len;	/* of the destination; longest is preferred */
	u8	source_len;	/* bits of the source */
	bool	local;		/* the destination is an address of this host */
	bool	many;		/* several next hops; a hash chooses one */
};

bool iw_mpa_way_is_tie(const struct iw_mpa_route *host,
		       const struct iw_mpa_route *chosen, int ifindex);
int iw_mpa_way(const struct iw_mpa_sock_opts *opts, int ifindex);

#endif /* _IW_MPA_WAY_H */

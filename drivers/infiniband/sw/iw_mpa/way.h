/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IW_MPA_WAY_H
#define _IW_MPA_WAY_H

#include <linux/types.h>

struct iw_mpa_sock_opts;

/**
 * struct iw_mpa_route - the route of a flow, and what the tables rank it by
 * @ifindex: interface by which it leaves; 0 if there is no route
 * @table: routing table, which the rules have chosen
 * @metric: the least counts
 * @prefix_len: bits of the destination; the longest prefix counts
 * @source_len: bits of the source
 * @local: the destination is an address of this host
 * @many: there are several next hops, out of which a hash takes one
 */
struct iw_mpa_route {
	int	ifindex;
	u32	table;
	u32	metric;
	u8	prefix_len;
	u8	source_len;
	bool	local;
	bool	many;
};

bool iw_mpa_way_is_tie(const struct iw_mpa_route *host, const struct iw_mpa_route *chosen,
		       int ifindex);
int iw_mpa_way(const struct iw_mpa_sock_opts *opts, int ifindex);

#endif /* _IW_MPA_WAY_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _COMPAT_NET_ROUTE_H
#define _COMPAT_NET_ROUTE_H

#include_next <net/route.h>

#include <net/inet_dscp.h>

/* Older kernels' flowi4_init_output() takes a TOS: TCP's routes use four bits of it (RFC 1349). */
#ifndef COMPAT_HAS_FLOWI4_DSCP
#define flowi4_init_output(fl4, oif, mark, dscp, ...) \
	flowi4_init_output(fl4, oif, mark, \
			   RT_TOS(inet_dscp_to_dsfield(dscp)), __VA_ARGS__)
#endif

#endif

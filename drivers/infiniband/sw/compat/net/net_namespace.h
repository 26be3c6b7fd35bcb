/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _COMPAT_NET_NET_NAMESPACE_H
#define _COMPAT_NET_NET_NAMESPACE_H

#include_next <net/net_namespace.h>

/* Before Linux 6.6 a table of sysctls has no number of entries: an empty entry ends it. */
#ifndef register_net_sysctl
#define register_net_sysctl_sz(net, path, table, count) \
	((void)(count), register_net_sysctl(net, path, table))
#endif

#endif

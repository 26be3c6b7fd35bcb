/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IW_MPA_STATS_H
#define _IW_MPA_STATS_H

#include <rdma/iw_mpa_proto.h>

/* What is counted besides the reasons: objects that come and go. */
#define IW_MPA_COUNTERS(X)	\
	X(ep_created)		\
	X(ep_destroyed)		\
	X(listener_created)	\
	X(listener_destroyed)	\
	X(sock_created)		\
	X(sock_destroyed)	\
	X(established)		\
	X(closed)		\
	X(failed)		\
	X(v1_fallback)		\
	X(source_port_retried)

enum iw_mpa_counter {
#define X(name) IW_MPA_CNT_##name,
	IW_MPA_COUNTERS(X)
#undef X
	IW_MPA_CNT_COUNT
};

void iw_mpa_count(enum iw_mpa_counter counter);
unsigned long iw_mpa_count_read(enum iw_mpa_counter counter);
void iw_mpa_count_reason(enum iw_mpa_reason reason);
void iw_mpa_stats_init(void);
void iw_mpa_stats_exit(void);

#endif /* _IW_MPA_STATS_H */

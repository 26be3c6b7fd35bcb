/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IW_MPA_STATS_H
#define _IW_MPA_STATS_H

#include <linux/compiler_types.h>
#include <linux/percpu.h>
#include <rdma/iw_mpa_proto.h>

/* Counters besides those of the reasons: of objects, then of events */
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
	X(v2_again)		\
	X(v1_fallback)		\
	X(source_port_retried)	\
	X(rtr_repeated)		\
	X(fence_lifted)		\
	X(accepted_again)	\
	X(tcp_taken_over)	\
	X(tcp_kept)		\
	X(tcp_released)		\
	X(held_back)

enum iw_mpa_counter {
#define X(name) IW_MPA_CNT_##name,
	IW_MPA_COUNTERS(X)
#undef X
	IW_MPA_CNT_REASON,	/* first reason after OK; the others follow */
	IW_MPA_CNT_COUNT = IW_MPA_CNT_REASON + IW_MPA_R_COUNT - 1
};

/* The counters of one CPU, for a device or for the whole host */
struct iw_mpa_stats {
	unsigned long	counter[IW_MPA_CNT_COUNT];
};

const char *iw_mpa_counter_name(enum iw_mpa_counter counter);
void iw_mpa_count(enum iw_mpa_counter counter);
void iw_mpa_count_for(struct iw_mpa_stats __percpu *of_device,
		      enum iw_mpa_counter counter);
void iw_mpa_count_reason(struct iw_mpa_stats __percpu *of_device,
			 enum iw_mpa_reason reason);
unsigned long iw_mpa_count_read(const struct iw_mpa_stats __percpu *stats,
				enum iw_mpa_counter counter);

#endif /* _IW_MPA_STATS_H */

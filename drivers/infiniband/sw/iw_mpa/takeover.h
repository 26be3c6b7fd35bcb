/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IW_MPA_TAKEOVER_H
#define _IW_MPA_TAKEOVER_H

#include <linux/list.h>
#include <linux/percpu.h>
#include <linux/spinlock.h>

#include <rdma/iw_mpa.h>

struct iw_mpa_sock;
struct iw_mpa_stats;

/**
 * struct iw_mpa_takeovers - the TCP connections that a device has
 * @lock: protects @list; any context
 * @list: those that its driver has not released
 * @stats: counters of the device
 */
struct iw_mpa_takeovers {
	spinlock_t			lock;
	struct list_head		list;
	struct iw_mpa_stats __percpu	*stats;
};

void iw_mpa_takeovers_init(struct iw_mpa_takeovers *all, struct iw_mpa_stats __percpu *stats);
void iw_mpa_takeovers_end(struct iw_mpa_takeovers *all);

int iw_mpa_takeover_begin(struct iw_mpa_sock *ms, struct iw_mpa_takeovers *all, bool held);
enum iw_mpa_reason iw_mpa_takeover_freeze(struct iw_mpa_sock *ms, struct iw_mpa_tcb *tcb);
void iw_mpa_takeover_undo(struct iw_mpa_sock *ms);
void iw_mpa_takeover_give(struct iw_mpa_sock *ms);
void iw_mpa_takeover_put(struct iw_mpa_sock *ms);

int iw_mpa_takeover_init(void);
void iw_mpa_takeover_exit(void);

#endif /* _IW_MPA_TAKEOVER_H */

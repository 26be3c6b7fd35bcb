/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IW_MPA_TAKEOVER_H
#define _IW_MPA_TAKEOVER_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include <rdma/iw_mpa.h>

struct iw_mpa_sock;
struct iw_mpa_stats;

/* A driver's path_changed */
typedef void iw_mpa_takeover_tell(void *priv, const struct iw_mpa_path *path);

/**
 * struct iw_mpa_takeovers - the TCP connections that a device has
 * @lock: protects @list, and the driver's part of its members; any context
 * @list: connections that the driver has not released
 * @stats: counters of the device
 * @tell: tells the driver of a path; NULL if it does not want to know
 * @node: with @tell: in the list of those that netevents stir
 * @look: looks at the path of each connection
 * @stirred: @look is about to run, as something has changed
 * @looking: held by @look while it uses the socket of a connection
 * @round: of @look
 * @took: how long the last round has lasted, in jiffies
 */
struct iw_mpa_takeovers {
	spinlock_t				lock;
	struct list_head			list;
	struct iw_mpa_stats __percpu		*stats;
	iw_mpa_takeover_tell			*tell;
	struct list_head			node;
	struct delayed_work			look;
	unsigned long				stirred;
	struct mutex				looking;
	unsigned int				round;
	unsigned long				took;
};

void iw_mpa_takeovers_init(struct iw_mpa_takeovers *all, struct iw_mpa_stats __percpu *stats);
void iw_mpa_takeovers_stir(struct iw_mpa_takeovers *all);
void iw_mpa_takeovers_end(struct iw_mpa_takeovers *all);

int iw_mpa_takeover_begin(struct iw_mpa_sock *ms, struct iw_mpa_takeovers *all, bool held);
enum iw_mpa_reason iw_mpa_takeover_freeze(struct iw_mpa_sock *ms, struct iw_mpa_tcb *tcb);
void iw_mpa_takeover_undo(struct iw_mpa_sock *ms);
void iw_mpa_takeover_give(struct iw_mpa_sock *ms);
void iw_mpa_takeover_taken(struct iw_mpa_sock *ms);
void iw_mpa_takeover_put(struct iw_mpa_sock *ms);

int iw_mpa_takeover_init(void);
void iw_mpa_takeover_exit(void);

#endif /* _IW_MPA_TAKEOVER_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IW_MPA_TAKEOVERS_H
#define _IW_MPA_TAKEOVERS_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "../ep.h"
#include "../stats.h"

/**
 * struct iw_mpa_takeovers - the TCP connections that a device has taken over
 * @ops: the driver's functions for takeover
 * @lock: protects @list, and members of its entries that say so; any context
 * @list: connections that the driver has, and has not released
 * @stats: counters of the device
 * @netevent: notifier for netevents, registered if the driver has
 *	path_changed()
 * @look: work item that checks the path of each connection for which
 *	iw_mpa_stream_watch() was called
 * @stirred: a path may have changed, so @look was queued, and has not begun
 * @looking: mutex that @look holds while it uses the socket of a connection
 * @round: number of the present run of @look
 * @took: how long the last run of @look has lasted, in jiffies
 */
struct iw_mpa_takeovers {
	const struct iw_mpa_takeover_ops	*ops;
	spinlock_t				lock;
	struct list_head			list;
	struct iw_mpa_stats __percpu		*stats;
	struct notifier_block			netevent;
	struct delayed_work			look;
	unsigned long				stirred;
	struct mutex				looking;
	unsigned int				round;
	unsigned long				took;
};

/* Steps of iw_mpa_takeover_shut_off(), and their reversal, for KUnit suites */
int iw_mpa_takeover_begin(struct iw_mpa_ep *ep, bool held);
enum iw_mpa_reason iw_mpa_takeover_freeze(struct iw_mpa_ep *ep,
					  struct iw_mpa_handoff *ho);
void iw_mpa_takeover_undo(struct iw_mpa_ep *ep);

#endif /* _IW_MPA_TAKEOVERS_H */

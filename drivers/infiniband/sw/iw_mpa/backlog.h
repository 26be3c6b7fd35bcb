/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IW_MPA_BACKLOG_H
#define _IW_MPA_BACKLOG_H

#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/workqueue.h>

#include "fsm.h"

struct iw_cm_id;
struct iw_mpa_config;
struct iw_mpa_device;
struct iw_mpa_ep;
struct net;

/**
 * struct iw_mpa_crowd - connections of a device that a network namespace's settings limit
 * @node: in the device's list; like all that follows under the device's lock
 * @net: that namespace, held by each endpoint and each listening socket
 * @backlogs: how many there are, which keep it
 * @half_open: endpoints that wait for the MPA Request, or after a Reject for the peer to close;
 *	the oldest first
 * @half_open_count: how many
 * @no_room_count: Requests that wait for room
 *
 * A limit of one namespace must not close connections of another.
 */
struct iw_mpa_crowd {
	struct list_head	node;
	const struct net	*net;
	unsigned int		backlogs;
	struct list_head	half_open;
	unsigned int		half_open_count;
	unsigned int		no_room_count;
};

/**
 * struct iw_mpa_backlog - a listener as its connections see it
 * @ref: the listener's, and one for each live endpoint that came from it
 * @dev: its device, whose lock protects what follows
 * @id: the listener's cm_id, NULL when the listener goes
 * @crowd: its connections and those of other listeners
 * @half_open: those of @crowd's that came from it
 * @half_open_count: how many
 * @no_room: endpoints whose Request waits for iw_cm or the ULP to have room, in order
 * @no_room_count: how many
 * @unanswered: endpoints about which the ULP was asked, and has not answered yet
 * @limit: the ULP's argument of rdma_listen(), > 0
 * @allowed: how large @unanswered may become: @limit, or more if the ULP does not answer
 * @moved: when the ULP was last asked or has last answered, in jiffies
 * @look: looks whether there is room for the first of @no_room
 */
struct iw_mpa_backlog {
	refcount_t		ref;
	struct iw_mpa_device	*dev;
	struct iw_cm_id		*id;
	struct iw_mpa_crowd	*crowd;
	struct list_head	half_open;
	unsigned int		half_open_count;
	struct list_head	no_room;
	unsigned int		no_room_count;
	unsigned int		unanswered;
	unsigned int		limit;
	unsigned int		allowed;
	unsigned long		moved;
	struct delayed_work	look;
};

struct iw_mpa_backlog *iw_mpa_backlog_open(struct iw_mpa_device *dev, const struct net *net,
					   struct iw_cm_id *id, unsigned int limit);
void iw_mpa_backlog_stop(struct iw_mpa_backlog *backlog);
void iw_mpa_backlog_close(struct iw_mpa_backlog *backlog);
void iw_mpa_backlog_enter(struct iw_mpa_ep *ep, struct iw_mpa_backlog *backlog);
enum iw_mpa_event iw_mpa_backlog_turn(struct iw_mpa_ep *ep, struct iw_cm_id **listen_id);
void iw_mpa_backlog_asked(struct iw_mpa_ep *ep);
void iw_mpa_backlog_answered(struct iw_mpa_ep *ep);
void iw_mpa_backlog_queue(struct iw_mpa_ep *ep);
void iw_mpa_backlog_refused(struct iw_mpa_ep *ep);
void iw_mpa_backlog_put(struct iw_mpa_ep *ep);
bool iw_mpa_backlog_is_full(struct iw_mpa_backlog *backlog, const struct iw_mpa_config *config);

#endif /* _IW_MPA_BACKLOG_H */

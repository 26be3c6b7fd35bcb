/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IW_MPA_BACKLOG_H
#define _IW_MPA_BACKLOG_H

#include <linux/list.h>
#include <linux/refcount.h>

#include "fsm.h"

struct iw_cm_id;
struct iw_mpa_device;
struct iw_mpa_ep;
struct iw_mpa_listener;

/**
 * struct iw_mpa_backlog - a listener as its connections see it
 * @ref: the listener's, and one for each live endpoint that came from it
 * @dev: its device, whose lock protects what follows
 * @id: the listener's cm_id, NULL when the listener goes
 * @half_open: endpoints that wait for the MPA Request, or were refused and wait for the
 *	peer to close: the one that does so longest first
 * @half_open_count: how many
 * @no_room: endpoints whose Request waits for iw_cm to have room, in order
 * @blocked: called when the first of them comes, with the device's lock held
 * @listener: for @blocked; valid while @id is
 */
struct iw_mpa_backlog {
	refcount_t		ref;
	struct iw_mpa_device	*dev;
	struct iw_cm_id		*id;
	struct list_head	half_open;
	unsigned int		half_open_count;
	struct list_head	no_room;
	void			(*blocked)(struct iw_mpa_listener *listener);
	struct iw_mpa_listener	*listener;
};

struct iw_mpa_backlog *iw_mpa_backlog_open(struct iw_mpa_device *dev, struct iw_cm_id *id,
					   void (*blocked)(struct iw_mpa_listener *listener),
					   struct iw_mpa_listener *listener);
void iw_mpa_backlog_stop(struct iw_mpa_backlog *backlog);
void iw_mpa_backlog_close(struct iw_mpa_backlog *backlog);
void iw_mpa_backlog_enter(struct iw_mpa_ep *ep, struct iw_mpa_backlog *backlog);
enum iw_mpa_event iw_mpa_backlog_turn(struct iw_mpa_ep *ep, struct iw_cm_id **listen_id);
void iw_mpa_backlog_asked(struct iw_mpa_ep *ep);
void iw_mpa_backlog_queue(struct iw_mpa_ep *ep);
void iw_mpa_backlog_refused(struct iw_mpa_ep *ep);
void iw_mpa_backlog_leave(struct iw_mpa_ep *ep);
void iw_mpa_backlog_put(struct iw_mpa_ep *ep);
bool iw_mpa_backlog_retry(struct iw_mpa_backlog *backlog);

#endif /* _IW_MPA_BACKLOG_H */

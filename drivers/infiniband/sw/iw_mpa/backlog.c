// SPDX-License-Identifier: GPL-2.0
/*
 * Connections that a listener has taken and the ULP has not been asked about.
 *
 * Those that are half-open, silent or refused, are limited: where there are too many the one that
 * is so longest has to yield, to the cost of its own listener first. Those whose Request is
 * complete while iw_cm has no room for it wait in order, and the listener takes no more: TCP's
 * backlog then holds the clients back.
 */

#include "backlog.h"
#include "config.h"
#include "ep.h"
#include "event.h"
#include "rnic.h"

#include <linux/slab.h>
#include <rdma/iw_cm.h>

/**
 * iw_mpa_backlog_open - for a new listener
 * @dev: its device
 * @id: its cm_id, which the listener holds until iw_mpa_backlog_stop()
 * @blocked: called when Requests begin to wait for room in iw_cm; must not sleep
 * @listener: for @blocked
 *
 * Return: the backlog, or NULL.
 */
struct iw_mpa_backlog *iw_mpa_backlog_open(struct iw_mpa_device *dev, struct iw_cm_id *id,
					   void (*blocked)(struct iw_mpa_listener *listener),
					   struct iw_mpa_listener *listener)
{
	struct iw_mpa_backlog *backlog = kzalloc_obj(*backlog, GFP_KERNEL);

	if (backlog) {
		refcount_set(&backlog->ref, 1);
		backlog->dev = dev;
		backlog->id = id;
		backlog->blocked = blocked;
		backlog->listener = listener;
		INIT_LIST_HEAD(&backlog->half_open);
		INIT_LIST_HEAD(&backlog->no_room);
	}
	return backlog;
}

/**
 * iw_mpa_backlog_stop - the listener goes
 * @backlog: its backlog
 *
 * Connections that iw_cm does not know yet cannot be announced any more. After return @blocked is
 * not called any more.
 *
 * Context: process.
 */
void iw_mpa_backlog_stop(struct iw_mpa_backlog *backlog)
{
	struct iw_mpa_ep *ep;

	spin_lock(&backlog->dev->lock);
	backlog->id = NULL;
	/* Those that were refused ignore the event. */
	list_for_each_entry(ep, &backlog->half_open, queued)
		iw_mpa_raise(ep, IW_MPA_EV_LISTENER_GONE);
	list_for_each_entry(ep, &backlog->no_room, queued)
		iw_mpa_raise(ep, IW_MPA_EV_LISTENER_GONE);
	spin_unlock(&backlog->dev->lock);
}

/**
 * iw_mpa_backlog_close - drop a reference
 * @backlog: that of a listener which has gone or never came up, or that of an endpoint
 */
void iw_mpa_backlog_close(struct iw_mpa_backlog *backlog)
{
	if (refcount_dec_and_test(&backlog->ref))
		kfree(backlog);
}

static void backlog_remove(struct iw_mpa_ep *ep)
{
	struct iw_mpa_device *dev = ep->dev;

	lockdep_assert_held(&dev->lock);

	if (ep->queue == IW_MPA_Q_NONE)
		return;
	list_del(&ep->queued);
	if (ep->queue != IW_MPA_Q_ROOM) {
		list_del(&ep->queued_dev);
		ep->backlog->half_open_count--;
		dev->half_open_count--;
	}
	ep->queue = IW_MPA_Q_NONE;
}

/* What it has to yield for tells the two events apart: one that comes late is void. */
static void backlog_yield(struct iw_mpa_ep *ep)
{
	enum iw_mpa_event event = ep->queue == IW_MPA_Q_LINGER ? IW_MPA_EV_YIELD_LINGER :
								 IW_MPA_EV_YIELD;

	backlog_remove(ep);
	iw_mpa_raise(ep, event);
}

static void backlog_add_half_open(struct iw_mpa_ep *ep, enum iw_mpa_queue queue)
{
	struct iw_mpa_backlog *backlog = ep->backlog;
	struct iw_mpa_device *dev = ep->dev;

	lockdep_assert_held(&dev->lock);

	if (backlog->half_open_count >= READ_ONCE(ep->config->half_open_listener_max))
		backlog_yield(list_first_entry(&backlog->half_open, struct iw_mpa_ep, queued));
	else if (dev->half_open_count >= READ_ONCE(ep->config->half_open_max))
		backlog_yield(list_first_entry(&dev->half_open, struct iw_mpa_ep, queued_dev));
	ep->queue = queue;
	list_add_tail(&ep->queued, &backlog->half_open);
	list_add_tail(&ep->queued_dev, &dev->half_open);
	backlog->half_open_count++;
	dev->half_open_count++;
}

/**
 * iw_mpa_backlog_enter - a listener has taken a connection
 * @ep: its endpoint
 * @backlog: the listener's; a reference is taken
 *
 * Context: the runner.
 */
void iw_mpa_backlog_enter(struct iw_mpa_ep *ep, struct iw_mpa_backlog *backlog)
{
	refcount_inc(&backlog->ref);
	ep->backlog = backlog;
	spin_lock(&ep->dev->lock);
	backlog_add_half_open(ep, IW_MPA_Q_REQUEST);
	spin_unlock(&ep->dev->lock);
}

/**
 * iw_mpa_backlog_turn - is it an endpoint's turn to be announced?
 * @ep: responder with a complete Request
 * @listen_id: result: the listener's cm_id, with a reference
 *
 * It is not half-open any more.
 *
 * Context: the runner.
 *
 * Return: IW_MPA_EV_NONE if it is; IW_MPA_EV_NO_ROOM if others wait in front of it;
 * IW_MPA_EV_LISTENER_GONE.
 */
enum iw_mpa_event iw_mpa_backlog_turn(struct iw_mpa_ep *ep, struct iw_cm_id **listen_id)
{
	struct iw_mpa_backlog *backlog = ep->backlog;
	struct list_head *waiting = &backlog->no_room;
	enum iw_mpa_event event = IW_MPA_EV_NONE;

	spin_lock(&ep->dev->lock);
	if (ep->queue == IW_MPA_Q_REQUEST)
		backlog_remove(ep);
	if (!backlog->id) {
		event = IW_MPA_EV_LISTENER_GONE;
	} else if (!list_empty(waiting) && !list_is_first(&ep->queued, waiting)) {
		event = IW_MPA_EV_NO_ROOM;
	} else {
		*listen_id = backlog->id;
		backlog->id->add_ref(backlog->id);
	}
	spin_unlock(&ep->dev->lock);
	return event;
}

static bool backlog_raise_room(struct iw_mpa_backlog *backlog)
{
	struct iw_mpa_ep *first;

	lockdep_assert_held(&backlog->dev->lock);
	first = list_first_entry_or_null(&backlog->no_room, struct iw_mpa_ep, queued);
	if (first)
		iw_mpa_raise(first, IW_MPA_EV_ROOM);
	return first;
}

/* Whoever has waited for room leaves its place, and the next one has its turn. */
static void backlog_leave_queue(struct iw_mpa_ep *ep)
{
	bool had_waited = ep->queue == IW_MPA_Q_ROOM;

	backlog_remove(ep);
	if (had_waited)
		backlog_raise_room(ep->backlog);
}

/**
 * iw_mpa_backlog_asked - iw_cm has an endpoint's Request
 * @ep: responder whose turn it was
 *
 * Context: the runner.
 */
void iw_mpa_backlog_asked(struct iw_mpa_ep *ep)
{
	/* Others may take it out of a list meanwhile, but only the runner puts it into one. */
	if (data_race(ep->queue) == IW_MPA_Q_NONE)
		return;
	iw_mpa_backlog_leave(ep);
}

/**
 * iw_mpa_backlog_queue - iw_cm has no room for an endpoint's Request
 * @ep: responder; where it waits already it keeps its place
 *
 * Context: the runner.
 */
void iw_mpa_backlog_queue(struct iw_mpa_ep *ep)
{
	struct iw_mpa_backlog *backlog = ep->backlog;

	spin_lock(&ep->dev->lock);
	if (ep->queue != IW_MPA_Q_ROOM) {
		ep->queue = IW_MPA_Q_ROOM;
		list_add_tail(&ep->queued, &backlog->no_room);
		if (backlog->id && list_is_first(&ep->queued, &backlog->no_room))
			backlog->blocked(backlog->listener);
		if (!backlog->id)	/* it went while we asked */
			iw_mpa_raise(ep, IW_MPA_EV_LISTENER_GONE);
	}
	spin_unlock(&ep->dev->lock);
}

/**
 * iw_mpa_backlog_retry - iw_cm may have room again
 * @backlog: of a listener
 *
 * Context: any but hard interrupts.
 *
 * Return: true if a Request waits for it, and is tried again.
 */
bool iw_mpa_backlog_retry(struct iw_mpa_backlog *backlog)
{
	bool waits;

	if (list_empty_careful(&backlog->no_room))
		return false;
	spin_lock(&backlog->dev->lock);
	waits = backlog_raise_room(backlog);
	spin_unlock(&backlog->dev->lock);
	return waits;
}

/**
 * iw_mpa_backlog_refused - a responder that said no waits for the peer to close
 * @ep: responder
 *
 * It counts as half-open, so that Requests do not buy more room than silence does.
 *
 * Context: the runner.
 */
void iw_mpa_backlog_refused(struct iw_mpa_ep *ep)
{
	spin_lock(&ep->dev->lock);
	backlog_leave_queue(ep);
	backlog_add_half_open(ep, IW_MPA_Q_LINGER);
	spin_unlock(&ep->dev->lock);
}

/**
 * iw_mpa_backlog_leave - an endpoint is in no list of its listener
 * @ep: endpoint, a responder or not
 *
 * Context: the runner.
 */
void iw_mpa_backlog_leave(struct iw_mpa_ep *ep)
{
	if (!ep->backlog)
		return;
	spin_lock(&ep->dev->lock);
	backlog_leave_queue(ep);
	spin_unlock(&ep->dev->lock);
}

/**
 * iw_mpa_backlog_put - an endpoint has nothing to do with its listener any more
 * @ep: endpoint, a responder or not
 *
 * Context: the runner.
 */
void iw_mpa_backlog_put(struct iw_mpa_ep *ep)
{
	if (!ep->backlog)
		return;
	iw_mpa_backlog_leave(ep);
	iw_mpa_backlog_close(ep->backlog);
	ep->backlog = NULL;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Connections that a listener has taken and the ULP has not answered about.
 *
 * Those that are half-open, silent or refused, are limited: where there are too many the one that
 * is so longest has to yield, to the cost of its own listener first.
 *
 * The ULP says in rdma_listen() how many Requests it has room for, and rdma_cm rejects what it has
 * no room for, though the ULP would have taken it a moment later. So no more are announced than the
 * ULP said, until it answers. The others wait in order, as they do while iw_cm has no room. Where
 * they are too many the listener takes no more: TCP's backlog then holds the clients back.
 *
 * What the ULP has read, and what it has not, cannot be told apart. A ULP may want to see more
 * Requests than it said before it answers the first one: one that has not answered for a part of
 * the time that it has for a verdict is given as many again as it has. And a client that gives up
 * makes room for another one, though the ULP may not have read of it: rdma_cm may then reject.
 */

#include "backlog.h"
#include "config.h"
#include "ep.h"
#include "event.h"
#include "rnic.h"

#include <linux/jiffies.h>
#include <linux/slab.h>
#include <rdma/iw_cm.h>

/* The part of verdict_timeout_ms, 1 s by default */
#define BACKLOG_PATIENCE	50

/**
 * iw_mpa_backlog_open - for a new listener
 * @dev: its device
 * @id: its cm_id, which the listener holds until iw_mpa_backlog_stop()
 * @limit: Requests that the ULP has room for, > 0
 * @blocked: called when Requests begin to wait for room; must not sleep
 * @listener: for @blocked
 *
 * Return: the backlog, or NULL.
 */
struct iw_mpa_backlog *iw_mpa_backlog_open(struct iw_mpa_device *dev, struct iw_cm_id *id,
					   unsigned int limit,
					   void (*blocked)(struct iw_mpa_listener *listener),
					   struct iw_mpa_listener *listener)
{
	struct iw_mpa_backlog *backlog = kzalloc_obj(*backlog, GFP_KERNEL);

	if (backlog) {
		refcount_set(&backlog->ref, 1);
		backlog->dev = dev;
		backlog->id = id;
		backlog->limit = limit;
		backlog->allowed = limit;
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
	if (ep->queue == IW_MPA_Q_ROOM) {
		ep->backlog->no_room_count--;
		dev->no_room_count--;
	} else {
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

/* The ULP has room for an endpoint's Request, or has had enough time to make some. */
static bool backlog_may_ask(const struct iw_mpa_ep *ep)
{
	unsigned int ms = READ_ONCE(ep->config->verdict_timeout_ms) / BACKLOG_PATIENCE;
	struct iw_mpa_backlog *backlog = ep->backlog;

	lockdep_assert_held(&backlog->dev->lock);

	if (backlog->unanswered < backlog->limit)
		backlog->allowed = backlog->limit;
	else if (time_after(jiffies, backlog->moved + msecs_to_jiffies(ms)))
		backlog->allowed = 2 * backlog->unanswered;
	return backlog->unanswered < backlog->allowed;
}

static void backlog_ask(struct iw_mpa_ep *ep)
{
	ep->asked = true;
	ep->backlog->unanswered++;
	ep->backlog->moved = jiffies;
}

/* The ULP was not asked after all, or has one Request less to answer: who waits is not told. */
static void backlog_unask(struct iw_mpa_ep *ep)
{
	lockdep_assert_held(&ep->dev->lock);

	if (!ep->asked)
		return;
	ep->asked = false;
	ep->backlog->unanswered--;
	ep->backlog->moved = jiffies;
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
 * Return: IW_MPA_EV_NONE if it is; IW_MPA_EV_NO_ROOM if others wait in front of it, or the ULP
 * has no room; IW_MPA_EV_LISTENER_GONE.
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
	} else if (!backlog_may_ask(ep)) {
		event = IW_MPA_EV_NO_ROOM;
	} else {
		backlog_ask(ep);
		*listen_id = backlog->id;
		backlog->id->add_ref(backlog->id);
	}
	spin_unlock(&ep->dev->lock);
	return event;
}

/* Return: true if a Request waits for room. */
static bool backlog_raise_room(struct iw_mpa_backlog *backlog)
{
	struct iw_mpa_ep *first;

	lockdep_assert_held(&backlog->dev->lock);
	first = list_first_entry_or_null(&backlog->no_room, struct iw_mpa_ep, queued);
	if (first && backlog_may_ask(first))
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
	spin_lock(&ep->dev->lock);
	backlog_leave_queue(ep);
	spin_unlock(&ep->dev->lock);
}

/* The question is over: another Request has its turn. */
static void backlog_end_question(struct iw_mpa_ep *ep)
{
	if (!ep->asked)
		return;
	backlog_unask(ep);
	backlog_raise_room(ep->backlog);
}

/**
 * iw_mpa_backlog_answered - the ULP has answered
 * @ep: responder about which it was asked
 *
 * So iw_cm has handled one Request of this listener: it may have room for another, too.
 *
 * Context: the runner.
 */
void iw_mpa_backlog_answered(struct iw_mpa_ep *ep)
{
	spin_lock(&ep->dev->lock);
	backlog_end_question(ep);
	spin_unlock(&ep->dev->lock);
}

/**
 * iw_mpa_backlog_queue - there is no room for an endpoint's Request
 * @ep: responder; if it waits already it keeps its place, and its deadline
 *
 * Context: the runner.
 *
 * Return: IW_MPA_EV_NONE
 */
enum iw_mpa_event iw_mpa_backlog_queue(struct iw_mpa_ep *ep)
{
	struct iw_mpa_backlog *backlog = ep->backlog;

	if (!ep->try_until)
		ep->try_until = ep->deadline;
	spin_lock(&ep->dev->lock);
	backlog_unask(ep);
	if (ep->queue != IW_MPA_Q_ROOM) {
		ep->queue = IW_MPA_Q_ROOM;
		backlog->no_room_count++;
		ep->dev->no_room_count++;
		list_add_tail(&ep->queued, &backlog->no_room);
		if (backlog->id && list_is_first(&ep->queued, &backlog->no_room))
			backlog->blocked(backlog->listener);
		if (!backlog->id)	/* the listener went while iw_cm was asked */
			iw_mpa_raise(ep, IW_MPA_EV_LISTENER_GONE);
	}
	spin_unlock(&ep->dev->lock);
	return IW_MPA_EV_NONE;
}

/**
 * iw_mpa_backlog_is_full - shall a listener take no more connections?
 * @backlog: its backlog
 * @config: the settings of its network namespace
 *
 * Requests that wait have no deadline but the ULP's, and do not yield. So where some wait, they and
 * those that are half-open have the room of the half-open ones together.
 *
 * Context: process.
 *
 * Return: true if Requests wait for room, and there is none for further connections.
 */
bool iw_mpa_backlog_is_full(struct iw_mpa_backlog *backlog, const struct iw_mpa_config *config)
{
	struct iw_mpa_device *dev = backlog->dev;
	bool full;

	spin_lock(&dev->lock);
	full = backlog->no_room_count &&
	       (backlog->no_room_count + backlog->half_open_count >=
			READ_ONCE(config->half_open_listener_max) ||
		dev->no_room_count + dev->half_open_count >= READ_ONCE(config->half_open_max));
	spin_unlock(&dev->lock);
	return full;
}

/**
 * iw_mpa_backlog_retry - iw_cm or the ULP may have room again
 * @backlog: of a listener
 *
 * Context: process.
 *
 * Return: true if a Request waits for it.
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
	backlog_end_question(ep);
	backlog_add_half_open(ep, IW_MPA_Q_LINGER);
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
	spin_lock(&ep->dev->lock);
	backlog_leave_queue(ep);
	backlog_end_question(ep);
	spin_unlock(&ep->dev->lock);
	iw_mpa_backlog_close(ep->backlog);
	ep->backlog = NULL;
}

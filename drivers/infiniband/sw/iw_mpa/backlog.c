// SPDX-License-Identifier: GPL-2.0
/*
 * The connections of a listener, until the ULP has accepted or rejected them.
 *
 * A connection is half-open until its Request has arrived, and again from a
 * Reject until the peer closes. If there are too many half-open connections,
 * the oldest is closed: the listener's if the listener has reached its limit
 * (half_open_listener_max), else that of all listeners of the device in the
 * same network namespace (half_open_max).
 *
 * The ULP says in rdma_listen() how many Requests it has room for. rdma_cm
 * rejects further Requests, even if the ULP would have room a moment later. So
 * iw_mpa reports only that many Requests to iw_cm, and one more for each that
 * the ULP has answered. Other Requests wait in order, also while iw_cm has no
 * room. If too many wait, the listener accepts no more connections from TCP:
 * clients then wait in TCP's backlog.
 *
 * iw_mpa cannot find out which events the ULP has read. A ULP may read more
 * Requests than it said before it answers any: so if it does not answer for a
 * while, it gets as many Requests again as are unanswered. And if a client
 * gives up, another client's Request is reported, though the event of the first
 * may still be unread: then rdma_cm may reject the second.
 */

#include "backlog.h"
#include "config.h"
#include "device.h"
#include "ep.h"

#include <linux/jiffies.h>
#include <linux/slab.h>
#include <rdma/iw_cm.h>

/*
 * After verdict_timeout_ms / BACKLOG_PATIENCE without an answer a ULP gets more
 * Requests than it has said in rdma_listen() that it has room for.
 */
#define BACKLOG_PATIENCE	50
/* How often a listener checks for room in iw_cm or the ULP, in ms */
#define BACKLOG_LOOK_MS		10

/*
 * Return: true if the ULP may get one more Request. A ULP that has not answered
 * for a while (BACKLOG_PATIENCE) may get more than it said in rdma_listen().
 */
static bool backlog_make_room(struct iw_mpa_listener *lis,
			      const struct iw_mpa_config *config)
{
	unsigned int ms = READ_ONCE(config->verdict_timeout_ms) /
			  BACKLOG_PATIENCE;

	lockdep_assert_held(&lis->dev->lock);

	if (lis->unanswered < lis->depth)
		lis->allowed = lis->depth;
	else if (time_after(jiffies, lis->moved + msecs_to_jiffies(ms)))
		lis->allowed = 2 * lis->unanswered;
	return lis->unanswered < lis->allowed;
}

/*
 * Raise IW_MPA_EV_ROOM for the first Request that waits, if the ULP may get it
 * now. Return: true if a Request waits.
 */
static bool backlog_raise_room(struct iw_mpa_listener *lis)
{
	struct iw_mpa_ep *first;

	lockdep_assert_held(&lis->dev->lock);
	first = list_first_entry_or_null(&lis->no_room, struct iw_mpa_ep,
					 queued);
	if (!first)
		return false;
	if (backlog_make_room(lis, first->config))
		iw_mpa_raise(first, IW_MPA_EV_ROOM);
	return true;
}

static void backlog_look_later(struct iw_mpa_listener *lis)
{
	queue_delayed_work(iw_mpa_wq, &lis->look,
			   msecs_to_jiffies(BACKLOG_LOOK_MS));
}

static void iw_mpa_backlog_work(struct work_struct *work)
{
	struct iw_mpa_listener *lis = container_of(to_delayed_work(work),
						   struct iw_mpa_listener,
						   look);

	spin_lock(&lis->dev->lock);
	if (backlog_raise_room(lis))
		backlog_look_later(lis);
	spin_unlock(&lis->dev->lock);
}

static struct iw_mpa_crowd *backlog_find_crowd(struct iw_mpa_device *dev,
					       const struct net *net)
{
	struct iw_mpa_crowd *crowd;

	lockdep_assert_held(&dev->lock);
	list_for_each_entry(crowd, &dev->crowds, node) {
		if (crowd->net == net)
			return crowd;
	}
	return NULL;
}

/*
 * Set up the backlog of a new listener, and the listener's own reference, which
 * iw_mpa_backlog_close() drops. @net is the listener's network namespace, NULL
 * if that is being destroyed.
 *
 * Return: false if there is no memory.
 */
bool iw_mpa_backlog_open(struct iw_mpa_listener *lis, const struct net *net)
{
	struct iw_mpa_crowd *fresh = kzalloc_obj(*fresh, GFP_NOIO);
	struct iw_mpa_device *dev = lis->dev;

	if (!fresh)
		return false;
	refcount_set(&lis->ref, 1);
	lis->allowed = lis->depth;
	INIT_DELAYED_WORK(&lis->look, iw_mpa_backlog_work);
	INIT_LIST_HEAD(&lis->half_open);
	INIT_LIST_HEAD(&lis->no_room);
	spin_lock(&dev->lock);
	lis->crowd = backlog_find_crowd(dev, net);
	if (!lis->crowd) {
		swap(lis->crowd, fresh);
		lis->crowd->net = net;
		INIT_LIST_HEAD(&lis->crowd->half_open);
		list_add(&lis->crowd->node, &dev->crowds);
	}
	lis->crowd->listeners++;
	spin_unlock(&dev->lock);
	kfree(fresh);
	return true;
}

/*
 * The listener is being destroyed, and accepts no more connections. A
 * connection whose Request iw_cm has not got cannot be reported any more: it
 * ends. Sleeps.
 */
void iw_mpa_backlog_stop(struct iw_mpa_listener *lis)
{
	struct iw_mpa_ep *ep;

	spin_lock(&lis->dev->lock);
	lis->gone = true;
	/* No effect after a Reject: such an endpoint waits for the peer. */
	list_for_each_entry(ep, &lis->half_open, queued)
		iw_mpa_raise(ep, IW_MPA_EV_LISTENER_GONE);
	list_for_each_entry(ep, &lis->no_room, queued)
		iw_mpa_raise(ep, IW_MPA_EV_LISTENER_GONE);
	spin_unlock(&lis->dev->lock);
	cancel_delayed_work_sync(&lis->look);
}

/*
 * Drop a reference on a listener: the listener's own, when it is destroyed or
 * could not be created, or an endpoint's. The listeners of a device in one
 * network namespace share a struct iw_mpa_crowd, which the last of them frees.
 */
void iw_mpa_backlog_close(struct iw_mpa_listener *lis)
{
	struct iw_mpa_crowd *crowd = lis->crowd;

	if (!refcount_dec_and_test(&lis->ref))
		return;
	spin_lock(&lis->dev->lock);
	if (--crowd->listeners)
		crowd = NULL;
	else
		list_del(&crowd->node);
	spin_unlock(&lis->dev->lock);
	kfree(crowd);
	kfree_rcu(lis, rcu);
}

static void backlog_remove(struct iw_mpa_ep *ep)
{
	struct iw_mpa_listener *lis = ep->listener;

	lockdep_assert_held(&ep->dev->lock);

	if (ep->queue == IW_MPA_Q_NONE)
		return;
	list_del(&ep->queued);
	if (ep->queue == IW_MPA_Q_ROOM) {
		lis->no_room_count--;
		lis->crowd->no_room_count--;
	} else {
		list_del(&ep->queued_crowd);
		lis->half_open_count--;
		lis->crowd->half_open_count--;
	}
	ep->queue = IW_MPA_Q_NONE;
}

/*
 * Close a connection that waits for its Request or, after a Reject, for the
 * peer to close. Each of these waits has an event of its own, YIELD or
 * YIELD_LINGER: a YIELD that is handled late must not end the second wait.
 */
static void backlog_yield(struct iw_mpa_ep *ep)
{
	bool lingers = ep->queue == IW_MPA_Q_LINGER;

	backlog_remove(ep);
	iw_mpa_raise(ep, lingers ? IW_MPA_EV_YIELD_LINGER : IW_MPA_EV_YIELD);
}

static void backlog_add_half_open(struct iw_mpa_ep *ep, enum iw_mpa_queue queue)
{
	struct iw_mpa_listener *lis = ep->listener;
	struct iw_mpa_crowd *crowd = lis->crowd;

	lockdep_assert_held(&ep->dev->lock);

	if (lis->half_open_count >=
	    READ_ONCE(ep->config->half_open_listener_max))
		backlog_yield(list_first_entry(&lis->half_open,
					       struct iw_mpa_ep, queued));
	else if (crowd->half_open_count >= READ_ONCE(ep->config->half_open_max))
		backlog_yield(list_first_entry(&crowd->half_open,
					       struct iw_mpa_ep, queued_crowd));
	ep->queue = queue;
	list_add_tail(&ep->queued, &lis->half_open);
	list_add_tail(&ep->queued_crowd, &crowd->half_open);
	lis->half_open_count++;
	crowd->half_open_count++;
}

/* TCP has accepted a connection, which gets a reference on its listener. */
void iw_mpa_backlog_enter(struct iw_mpa_ep *ep, struct iw_mpa_listener *lis)
{
	refcount_inc(&lis->ref);
	ep->listener = lis;
	spin_lock(&ep->dev->lock);
	backlog_add_half_open(ep, IW_MPA_Q_REQUEST);
	spin_unlock(&ep->dev->lock);
}

/*
 * Do not count an endpoint's Request as unanswered any more: iw_cm did not take
 * it, the ULP has answered it, iw_mpa has rejected it, or the connection has
 * ended. Another Request may be reported now: the caller has to arrange that.
 */
static void backlog_unask(struct iw_mpa_ep *ep)
{
	lockdep_assert_held(&ep->dev->lock);

	if (!ep->asked)
		return;
	ep->asked = false;
	ep->listener->unanswered--;
	ep->listener->moved = jiffies;
}

/*
 * May a complete Request be reported to the ULP now? In any case its connection
 * does not count as half-open any more: it does not wait for its Request now.
 *
 * Return: IW_MPA_EV_NONE if it may, with a reference on the listener's cm_id;
 * IW_MPA_EV_NO_ROOM if other Requests wait before it, or the ULP has no room;
 * IW_MPA_EV_LISTENER_GONE if the listener is being destroyed.
 */
enum iw_mpa_event iw_mpa_backlog_turn(struct iw_mpa_ep *ep,
				      struct iw_cm_id **listen_id)
{
	struct iw_mpa_listener *lis = ep->listener;
	struct list_head *waiting = &lis->no_room;
	enum iw_mpa_event event = IW_MPA_EV_NONE;

	spin_lock(&ep->dev->lock);
	if (ep->queue == IW_MPA_Q_REQUEST)
		backlog_remove(ep);
	if (lis->gone) {
		event = IW_MPA_EV_LISTENER_GONE;
	} else if ((!list_empty(waiting) &&
		    !list_is_first(&ep->queued, waiting)) ||
		   !backlog_make_room(lis, ep->config)) {
		event = IW_MPA_EV_NO_ROOM;
	} else {
		ep->asked = true;
		lis->unanswered++;
		lis->moved = jiffies;
		*listen_id = lis->cm_id;
		lis->cm_id->add_ref(lis->cm_id);
	}
	spin_unlock(&ep->dev->lock);
	return event;
}

/* Take an endpoint off its list; raise ROOM for the first waiting Request. */
static void backlog_leave(struct iw_mpa_ep *ep)
{
	backlog_remove(ep);
	backlog_raise_room(ep->listener);
}

/* iw_cm has taken CONNECT_REQUEST: the responder does not wait for room now. */
void iw_mpa_backlog_asked(struct iw_mpa_ep *ep)
{
	spin_lock(&ep->dev->lock);
	backlog_leave(ep);
	spin_unlock(&ep->dev->lock);
}

/*
 * The ULP has answered an endpoint's Request, or the endpoint ends: the first
 * Request that waits may be reported now. After an answer iw_cm, too, may have
 * room for another event, since it has handled CONNECT_REQUEST.
 */
void iw_mpa_backlog_answered(struct iw_mpa_ep *ep)
{
	if (WARN_ON_ONCE(!ep->listener))
		return;
	spin_lock(&ep->dev->lock);
	backlog_unask(ep);
	backlog_leave(ep);
	spin_unlock(&ep->dev->lock);
}

/*
 * The ULP or iw_cm has no room for an endpoint's Request: it has to wait. A
 * Request that already waits keeps its place and its deadline.
 */
void iw_mpa_backlog_queue(struct iw_mpa_ep *ep)
{
	struct iw_mpa_listener *lis = ep->listener;

	if (!ep->until)
		ep->until = ep->deadline;
	spin_lock(&ep->dev->lock);
	backlog_unask(ep);
	if (ep->queue != IW_MPA_Q_ROOM) {
		ep->queue = IW_MPA_Q_ROOM;
		lis->no_room_count++;
		lis->crowd->no_room_count++;
		list_add_tail(&ep->queued, &lis->no_room);
		if (lis->gone)	/* destroyed during the upcall */
			iw_mpa_raise(ep, IW_MPA_EV_LISTENER_GONE);
		else if (list_is_first(&ep->queued, &lis->no_room))
			backlog_look_later(lis);
	}
	spin_unlock(&ep->dev->lock);
}

/*
 * Must a listener accept no more connections for now? A half-open connection,
 * which waits for its Request or, after a Reject, for the peer to close, can be
 * closed to make place for another one. A connection whose Request waits for
 * room in iw_cm or the ULP is never closed for that. So while the listener has
 * any of the latter, connections of both kinds together count against
 * half_open_listener_max and half_open_max.
 */
bool iw_mpa_backlog_is_full(struct iw_mpa_listener *lis,
			    const struct iw_mpa_config *config)
{
	const struct iw_mpa_crowd *crowd = lis->crowd;
	bool full;

	spin_lock(&lis->dev->lock);
	full = lis->no_room_count &&
	       (lis->no_room_count + lis->half_open_count >=
			READ_ONCE(config->half_open_listener_max) ||
		crowd->no_room_count + crowd->half_open_count >=
			READ_ONCE(config->half_open_max));
	spin_unlock(&lis->dev->lock);
	return full;
}

/*
 * A responder has sent a Reject, and waits for the peer to close. Meanwhile it
 * counts against half_open_max and half_open_listener_max: so rejected clients
 * cannot hold more connections than clients that send no Request.
 */
void iw_mpa_backlog_refused(struct iw_mpa_ep *ep)
{
	spin_lock(&ep->dev->lock);
	backlog_unask(ep);
	backlog_leave(ep);
	backlog_add_half_open(ep, IW_MPA_Q_LINGER);
	spin_unlock(&ep->dev->lock);
}

/* An endpoint that ends leaves its listener, if it has one as a responder. */
void iw_mpa_backlog_put(struct iw_mpa_ep *ep)
{
	if (!ep->listener)
		return;
	iw_mpa_backlog_answered(ep);
	iw_mpa_backlog_close(ep->listener);
	ep->listener = NULL;
}

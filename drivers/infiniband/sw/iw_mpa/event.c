// SPDX-License-Identifier: GPL-2.0
/*
 * The events of an endpoint, its timer, and its runner, who handles the events. There is one runner
 * at a time. Only this file takes the endpoint's lock.
 *
 * An event is a bit: nothing is allocated for it, so no event is lost. Whoever raises an event
 * while there is no runner queues the work item, unless the event has no cell. A runner looks for
 * further events before it ceases to be the runner, under the lock. So each event with a cell meets
 * a runner.
 *
 * The first FPDU is handled where the driver finds it, if no other event waits and its actions need
 * no process context. The responder's ULP, which waits for the FPDU, is then told one work item
 * earlier. Such a runner may be in any context. It handles this event alone, and leaves what
 * follows to the work item.
 *
 * A ULP that closes sends the FIN itself, if the driver lets it, and nothing else has to be done
 * before. What needs more time is left to the work item, too.
 */

#include "event.h"
#include "config.h"
#include "ep.h"
#include "rnic.h"

#include <linux/export.h>
#include <linux/jiffies.h>
#include <linux/lockdep.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/wait_bit.h>
#include <linux/workqueue.h>

/*
 * A driver may have to wait in stop for a thread of the application that has the QP: the thread
 * holds a lock, and may get no processor meanwhile. Many such threads take up a queue's slots. In a
 * queue of their own they are in the way of applications alone, and not of storage.
 */
struct workqueue_struct *iw_mpa_wq;		/* for all work but what follows, and takeovers */
struct workqueue_struct *iw_mpa_user_wq;	/* of endpoints with a QP of an application */
static enum iw_mpa_event (*event_handle)(struct iw_mpa_ep *ep, enum iw_mpa_event event);

/*
 * To be the runner is like to hold a lock, for which others wait. lockdep learns here which locks a
 * runner takes, a driver's ops included, and which ones are held by those who wait for it. It need
 * not see the two meet. iw_mpa_first_fpdu() is left out: its runner does not sleep.
 */
#ifdef CONFIG_LOCKDEP
static struct lockdep_map event_runner_map =
	STATIC_LOCKDEP_MAP_INIT("iw_mpa_runner", &event_runner_map);
#endif

static void event_queue_work(struct iw_mpa_ep *ep)
{
	kref_get(&ep->ref);
	if (!queue_work(ep->user ? iw_mpa_user_wq : iw_mpa_wq, &ep->work))
		iw_mpa_ep_put(ep);
}

/*
 * Only a runner changes the state. Without one, and without an event that waits for one, the work
 * item would find this state and drop the event.
 */
static bool event_is_void(const struct iw_mpa_ep *ep, enum iw_mpa_event event)
{
	lockdep_assert_held(&ep->lock);

	return !ep->busy && !ep->events && !iw_mpa_fsm_step(ep->state, event)->defined;
}

/**
 * iw_mpa_raise - an event happened
 * @ep: endpoint
 * @event: of IW_MPA_RAISED_EVENTS
 *
 * Of several events that wait the first in the list is handled first. An event that has no cell in
 * the state is dropped: here, if nothing else has to be handled, or by the runner.
 *
 * Context: any.
 */
void iw_mpa_raise(struct iw_mpa_ep *ep, enum iw_mpa_event event)
{
	unsigned long flags;

	if (WARN_ON_ONCE(event >= IW_MPA_EV_RAISED_COUNT))
		return;
	spin_lock_irqsave(&ep->lock, flags);
	if (!event_is_void(ep, event)) {
		ep->events |= BIT(event);
		if (!ep->busy && ep->state != IW_MPA_ST_DEAD)
			event_queue_work(ep);
	}
	spin_unlock_irqrestore(&ep->lock, flags);
}

/**
 * iw_mpa_raise_unless_up - an event happened that does not matter to an established connection
 * @ep: endpoint
 * @event: of IW_MPA_RAISED_EVENTS
 *
 * The phase is read under the lock that iw_mpa_event_enter() takes to change it. What the caller
 * has written before this call is seen by a runner that begins the end of the connection after it.
 *
 * Context: any.
 */
void iw_mpa_raise_unless_up(struct iw_mpa_ep *ep, enum iw_mpa_event event)
{
	unsigned long flags;
	bool up;

	spin_lock_irqsave(&ep->lock, flags);
	up = iw_mpa_fsm_states[ep->state].phase == IW_MPA_PHASE_UP;
	spin_unlock_irqrestore(&ep->lock, flags);
	if (!up)
		iw_mpa_raise(ep, event);
}

/*
 * Few waits last until their deadline. Setting a timer costs more than finding that it has fired
 * too early. So the timer is moved only if it would fire too late, and only when the runner leaves
 * the endpoint to wait.
 */
static void event_arm(struct iw_mpa_ep *ep)
{
	lockdep_assert_held(&ep->lock);

	if (ep->deadline && (!timer_pending(&ep->timer) ||
			     time_after(ep->timer.expires, ep->deadline)))
		mod_timer(&ep->timer, ep->deadline);
}

/*
 * Become the runner for an event where it is found, if its actions are among @actions. The work
 * item has to be the runner if other events wait, since they go first.
 */
static bool event_claim_for(struct iw_mpa_ep *ep, enum iw_mpa_event event, u32 actions)
{
	unsigned long flags;
	bool claimed;

	spin_lock_irqsave(&ep->lock, flags);
	claimed = !ep->busy && !ep->events && iw_mpa_fsm_does_only(ep->state, event, actions);
	if (claimed)
		ep->busy = true;
	spin_unlock_irqrestore(&ep->lock, flags);
	return claimed;
}

/* Return: whether somebody waits for the runner to cease. */
static bool event_cease(struct iw_mpa_ep *ep)
{
	bool awaited = ep->awaited;

	lockdep_assert_held(&ep->lock);

	ep->busy = false;
	ep->awaited = false;
	event_arm(ep);
	return awaited;
}

/*
 * Cease to be the runner that event_claim_for() has made. If an action has found an event, @busy
 * stays set until the work item has taken the event: so nobody else becomes the runner before.
 */
static void event_leave(struct iw_mpa_ep *ep, enum iw_mpa_event found)
{
	bool awaited = false;
	unsigned long flags;

	spin_lock_irqsave(&ep->lock, flags);
	ep->found = found;
	if (found != IW_MPA_EV_NONE || ep->events)
		event_queue_work(ep);
	if (found == IW_MPA_EV_NONE)
		awaited = event_cease(ep);
	spin_unlock_irqrestore(&ep->lock, flags);
	if (awaited)
		wake_up_var(&ep->busy);
}

/* The event that such a runner has to handle next, if its actions are among @actions, too. */
static enum iw_mpa_event event_pop_for(struct iw_mpa_ep *ep, u32 actions)
{
	enum iw_mpa_event event = IW_MPA_EV_NONE;

	spin_lock_irq(&ep->lock);
	if (ep->events && iw_mpa_fsm_does_only(ep->state, __ffs(ep->events), actions)) {
		event = __ffs(ep->events);
		ep->events &= ~BIT(event);
	}
	spin_unlock_irq(&ep->lock);
	return event;
}

/* The timer may fire before the deadline, or without one: see event_arm(). */
static void event_timeout(struct timer_list *timer)
{
	struct iw_mpa_ep *ep = container_of(timer, struct iw_mpa_ep, timer);
	unsigned long flags;
	bool due = false;

	spin_lock_irqsave(&ep->lock, flags);
	if (ep->deadline) {
		due = time_after_eq(jiffies, ep->deadline);
		if (!due)
			mod_timer(timer, ep->deadline);
	}
	spin_unlock_irqrestore(&ep->lock, flags);
	if (due)
		iw_mpa_raise(ep, IW_MPA_EV_TIMED_OUT);
}

/*
 * The next event to handle. Events without a cell in the state are dropped here: they make nobody
 * the runner. TIMED_OUT is dropped, too, if a timer that was set before has fired late.
 */
static enum iw_mpa_event event_pop(struct iw_mpa_ep *ep)
{
	lockdep_assert_held(&ep->lock);

	while (ep->events && ep->state != IW_MPA_ST_DEAD) {
		enum iw_mpa_event event = __ffs(ep->events);

		ep->events &= ~BIT(event);
		if (event == IW_MPA_EV_TIMED_OUT &&
		    (!ep->deadline || time_before(jiffies, ep->deadline)))
			continue;
		if (iw_mpa_fsm_step(ep->state, event)->defined)
			return event;
	}
	return IW_MPA_EV_NONE;
}

/*
 * What the runner has to handle next. IW_MPA_EV_NONE: it has ceased to be the runner. A caller that
 * is not the runner yet becomes it, unless somebody else is.
 */
static enum iw_mpa_event event_next(struct iw_mpa_ep *ep, bool runner)
{
	enum iw_mpa_event event = IW_MPA_EV_NONE;
	bool awaited = false;

	spin_lock_irq(&ep->lock);
	if (ep->found != IW_MPA_EV_NONE) {
		event = ep->found;
		ep->found = IW_MPA_EV_NONE;
	} else if (runner || !ep->busy) {
		event = event_pop(ep);
		ep->busy = true;
		if (event == IW_MPA_EV_NONE)
			awaited = event_cease(ep);
	}
	spin_unlock_irq(&ep->lock);
	if (awaited)
		wake_up_var(&ep->busy);
	return event;
}

/**
 * iw_mpa_event_run - handle an event, and then those that were raised meanwhile
 * @ep: endpoint; the caller is its runner until this returns, and gives its reference away
 * @event: one that has a cell in the state
 *
 * Storage reconnects through the library. So nothing that is allocated meanwhile, also by a driver,
 * may wait until storage has been written.
 *
 * Context: process, may sleep.
 */
void iw_mpa_event_run(struct iw_mpa_ep *ep, enum iw_mpa_event event)
{
	unsigned int noio = memalloc_noio_save();

	lock_map_acquire(&event_runner_map);
	while (event != IW_MPA_EV_NONE) {
		event = event_handle(ep, event);
		if (event != IW_MPA_EV_NONE)
			continue;
		ep->call = NULL;
		event = event_next(ep, true);
	}
	lock_map_release(&event_runner_map);
	memalloc_noio_restore(noio);
	iw_mpa_ep_put(ep);
}

static void iw_mpa_run_work(struct work_struct *work)
{
	struct iw_mpa_ep *ep = container_of(work, struct iw_mpa_ep, work);

	iw_mpa_event_run(ep, event_next(ep, false));
}

/**
 * iw_mpa_event_may_wait - the caller waits for a runner, if there is one
 *
 * lockdep checks the locks that the caller holds each time, also if there is nobody to wait for.
 *
 * Context: process, may sleep.
 */
void iw_mpa_event_may_wait(void)
{
	might_sleep();
	lock_map_acquire(&event_runner_map);
	lock_map_release(&event_runner_map);
}

/* Return: true if there is no runner but maybe the caller; false if the caller has to wait. */
static bool event_try_claim(struct iw_mpa_ep *ep, enum iw_mpa_event event, bool *claimed)
{
	bool idle;

	spin_lock_irq(&ep->lock);
	idle = !ep->busy;
	if (idle) {
		*claimed = iw_mpa_fsm_step(ep->state, event)->defined;
		ep->busy = *claimed;
	} else {
		ep->awaited = true;
	}
	spin_unlock_irq(&ep->lock);
	return idle;
}

/**
 * iw_mpa_event_claim - become the runner for the ULP's answer
 * @ep: endpoint, on which the caller has a reference
 * @event: the answer
 *
 * The ULP may answer on another CPU before the upcall with the question has returned, and may
 * reject while the connection comes up or ends. Then this waits for the runner, which waits for the
 * driver at most.
 *
 * Context: process, may sleep.
 *
 * Return: true if the caller is the runner now, and @event has a cell in the state; false if the
 * answer comes too late.
 */
bool iw_mpa_event_claim(struct iw_mpa_ep *ep, enum iw_mpa_event event)
{
	bool claimed = false;

	iw_mpa_event_may_wait();
	wait_var_event(&ep->busy, event_try_claim(ep, event, &claimed));
	return claimed;
}

/**
 * iw_mpa_event_forget_tcp - drop the events of a socket that was released
 * @ep: endpoint without a socket
 *
 * Context: the runner.
 */
void iw_mpa_event_forget_tcp(struct iw_mpa_ep *ep)
{
	spin_lock_irq(&ep->lock);
	ep->events &= ~(BIT(IW_MPA_EV_TCP_UP) | BIT(IW_MPA_EV_READABLE) |
			BIT(IW_MPA_EV_PEER_CLOSED) | BIT(IW_MPA_EV_PEER_RESET) |
			BIT(IW_MPA_EV_TCP_FAILED));
	spin_unlock_irq(&ep->lock);
	ep->tcp_err = 0;
}

static unsigned int event_timeout_ms(const struct iw_mpa_ep *ep, enum iw_mpa_timer timer)
{
	static const u16 settings[IW_MPA_TMR_COUNT] = {
#define X(name, setting, reason) \
		[IW_MPA_TMR_##name] = offsetof(struct iw_mpa_config, setting),
		IW_MPA_TIMERS(X)
#undef X
	};
	unsigned int ms;

	if (timer == IW_MPA_TMR_NONE)
		return 0;
	ms = READ_ONCE(*(const unsigned int *)((const char *)ep->config + settings[timer]));
	/* Each wait for an answer to the RTR message is four times as long as the one before. */
	return timer == IW_MPA_TMR_REPEAT ? (ms ?: 1) << (2 * ep->repeats) : ms;
}

/*
 * When the connection, which begins to end, is to be over. A device that is being removed waits for
 * ULPs that wait for this end: it gives the peer no more time than for one octet to move.
 */
static unsigned long event_end_until(const struct iw_mpa_ep *ep)
{
	unsigned int ms = READ_ONCE(ep->config->finish_timeout_ms);

	if (READ_ONCE(ep->dev->dying))
		ms = min(ms, READ_ONCE(ep->config->linger_timeout_ms));
	return (jiffies + msecs_to_jiffies(ms)) | 1;
}

/**
 * iw_mpa_event_enter - enter a state, or begin to wait in the same state anew
 * @ep: endpoint
 * @state: which; the timer follows when the runner leaves, see event_arm()
 *
 * Context: the runner.
 */
void iw_mpa_event_enter(struct iw_mpa_ep *ep, enum iw_mpa_state state)
{
	unsigned int ms = event_timeout_ms(ep, iw_mpa_fsm_states[state].timer);
	unsigned long flags;

	spin_lock_irqsave(&ep->lock, flags);
	if (iw_mpa_fsm_begins_end(ep->state, state))
		ep->until = event_end_until(ep);
	ep->state = state;
	ep->deadline = iw_mpa_fsm_deadline(state, jiffies, msecs_to_jiffies(ms), ep->until);
	if (ep->deadline && time_after_eq(jiffies, ep->deadline))
		ep->events |= BIT(IW_MPA_EV_TIMED_OUT);
	spin_unlock_irqrestore(&ep->lock, flags);
}

/**
 * iw_mpa_event_end - no timer is left
 * @ep: endpoint in state DEAD
 *
 * Context: the runner; waits for a handler that runs.
 */
void iw_mpa_event_end(struct iw_mpa_ep *ep)
{
	timer_delete_sync(&ep->timer);
}

static struct iw_mpa_ep *ep_of(struct iw_mpa_sock *ms)
{
	return container_of(ms, struct iw_mpa_ep, sock);
}

/* With Fast Open also a responder has a socket before TCP is connected. Its event is void. */
static void event_sock_connected(struct iw_mpa_sock *ms)
{
	iw_mpa_raise(ep_of(ms), IW_MPA_EV_TCP_UP);
}

static void event_sock_readable(struct iw_mpa_sock *ms)
{
	iw_mpa_raise(ep_of(ms), IW_MPA_EV_READABLE);
}

static void event_sock_closed(struct iw_mpa_sock *ms)
{
	iw_mpa_raise(ep_of(ms), IW_MPA_EV_PEER_CLOSED);
}

static void event_sock_failed(struct iw_mpa_sock *ms, int err)
{
	WRITE_ONCE(ep_of(ms)->tcp_err, err);
	iw_mpa_raise(ep_of(ms), err == ECONNRESET || err == EPIPE ? IW_MPA_EV_PEER_RESET :
								    IW_MPA_EV_TCP_FAILED);
}

/* What a socket says becomes events. */
const struct iw_mpa_sock_ops iw_mpa_event_sock_ops = {
	.connected	= event_sock_connected,
	.readable	= event_sock_readable,
	.closed		= event_sock_closed,
	.failed		= event_sock_failed,
};

/**
 * iw_mpa_first_fpdu - the driver has validated one whole FPDU
 * @ep: endpoint, from the hand-off
 *
 * Opens a responder's TX and, in the peer-to-peer model, completes its accept (RFC 5044 7.1.2, RFC
 * 6581 9.2). Later calls are void. With IW_MPA_CAP_ATOMIC_OPEN open_tx may be called before the
 * return.
 *
 * Context: any, also the driver's socket callbacks.
 */
void iw_mpa_first_fpdu(struct iw_mpa_ep *ep)
{
	/* If the driver's open_tx may sleep, the work item calls it. */
	if ((ep->off.attr->caps & IW_MPA_CAP_ATOMIC_OPEN) &&
	    event_claim_for(ep, IW_MPA_EV_FIRST_FPDU, IW_MPA_PROMPT_ACTIONS))
		event_leave(ep, event_handle(ep, IW_MPA_EV_FIRST_FPDU));
	else
		iw_mpa_raise(ep, IW_MPA_EV_FIRST_FPDU);
}
EXPORT_SYMBOL_GPL(iw_mpa_first_fpdu);

/**
 * iw_mpa_stream_down - the driver cannot go on with the stream
 * @ep: endpoint, from the hand-off
 *
 * The reason is an FPDU in error, a Terminate message received or sent, or an error of TCP that the
 * device found. stop() follows, then FIN, and the ULP's event.
 *
 * Context: any.
 */
void iw_mpa_stream_down(struct iw_mpa_ep *ep)
{
	iw_mpa_raise(ep, IW_MPA_EV_STREAM_DOWN);
}
EXPORT_SYMBOL_GPL(iw_mpa_stream_down);

/**
 * iw_mpa_peer_closed - the device found the peer's FIN, or that TCP has failed
 * @ep: endpoint of a connection that the device has taken over, from prepare until stop
 * @err: 0: FIN, and all in front of it is handled; else a positive errno as in sk_err: ECONNRESET,
 *	ETIMEDOUT and the like
 *
 * The host's TCP sees neither. After FIN, finish_tx and stop() follow; after an error stop() alone.
 *
 * Context: any.
 */
void iw_mpa_peer_closed(struct iw_mpa_ep *ep, int err)
{
	if (err)
		event_sock_failed(&ep->sock, err);
	else
		event_sock_closed(&ep->sock);
}
EXPORT_SYMBOL_GPL(iw_mpa_peer_closed);

/**
 * iw_mpa_disconnect - the ULP closes the connection
 * @ep: endpoint, from the hand-off
 * @abrupt: at once; else what the ULP has posted goes out first, if the driver has finish_tx
 *
 * A driver calls this from modify_qp: a change to ERR is abrupt, one to SQD is not. stop() follows,
 * and the ULP's event.
 *
 * Context: any; never waits, so the QP's locks may be held.
 */
void iw_mpa_disconnect(struct iw_mpa_ep *ep, bool abrupt)
{
	iw_mpa_raise(ep, abrupt ? IW_MPA_EV_ULP_ABORTED : IW_MPA_EV_ULP_CLOSED);
}
EXPORT_SYMBOL_GPL(iw_mpa_disconnect);

/**
 * iw_mpa_close - the ULP closes the connection, in order, and its own time may be used
 * @ep: endpoint, from the hand-off; the caller has a reference
 *
 * This does what iw_mpa_disconnect() does. If nobody else handles an event of the connection,
 * finish_tx is called at once. If the driver has finished within finish_tx, FIN is sent before this
 * returns. That saves a work item. stop() always comes from the work item.
 *
 * The socket is locked meanwhile. When it is unlocked TCP may call the driver's data_ready, within
 * this call. If that calls completion handlers, only an application's QP can be closed like this: a
 * kernel ULP's handler must not be called within a verb: Documentation/infiniband/core_locking.rst.
 *
 * Context: process, sleeps, but does not wait for the peer; no lock that finish_tx takes may be
 * held.
 */
void iw_mpa_close(struct iw_mpa_ep *ep)
{
	enum iw_mpa_event found, event = IW_MPA_EV_ULP_CLOSED;
	unsigned int noio;

	if (!event_claim_for(ep, event, IW_MPA_CLOSE_ACTIONS)) {
		iw_mpa_raise(ep, event);
		return;
	}
	noio = memalloc_noio_save();
	lock_map_acquire(&event_runner_map);
	do {
		found = event_handle(ep, event);
		event = IW_MPA_EV_NONE;
		if (found == IW_MPA_EV_NONE)
			event = event_pop_for(ep, IW_MPA_CLOSE_ACTIONS);
	} while (event != IW_MPA_EV_NONE);
	lock_map_release(&event_runner_map);
	memalloc_noio_restore(noio);
	event_leave(ep, found);
}
EXPORT_SYMBOL_GPL(iw_mpa_close);

/**
 * iw_mpa_tx_finished - all that finish_tx had to let out is with TCP
 * @ep: endpoint, from finish_tx on
 *
 * The library sends FIN. Later calls are void.
 *
 * Context: any, also from within finish_tx.
 */
void iw_mpa_tx_finished(struct iw_mpa_ep *ep)
{
	iw_mpa_raise(ep, IW_MPA_EV_TX_FINISHED);
}
EXPORT_SYMBOL_GPL(iw_mpa_tx_finished);

/**
 * iw_mpa_event_setup - make a new endpoint able to get events
 * @ep: endpoint; the caller is its runner
 */
void iw_mpa_event_setup(struct iw_mpa_ep *ep)
{
	spin_lock_init(&ep->lock);
	INIT_WORK(&ep->work, iw_mpa_run_work);
	timer_setup(&ep->timer, event_timeout, 0);
	ep->found = IW_MPA_EV_NONE;
	ep->busy = true;
}

/**
 * iw_mpa_event_init - make endpoints possible
 * @handle: handles one event, and returns what follows from it; in any context if its actions are
 *	among IW_MPA_PROMPT_ACTIONS
 *
 * Return: 0 or -ENOMEM.
 */
int iw_mpa_event_init(enum iw_mpa_event (*handle)(struct iw_mpa_ep *ep, enum iw_mpa_event event))
{
	event_handle = handle;
	iw_mpa_wq = alloc_workqueue("iw_mpa", WQ_MEM_RECLAIM | WQ_PERCPU, 0);
	if (!iw_mpa_wq)
		return -ENOMEM;
	/* The end of a connection frees memory. So this goes on when there is none. */
	iw_mpa_user_wq = alloc_workqueue("iw_mpa_user", WQ_MEM_RECLAIM | WQ_PERCPU, 0);
	if (iw_mpa_user_wq)
		return 0;
	destroy_workqueue(iw_mpa_wq);
	return -ENOMEM;
}

/** iw_mpa_event_exit - wait for work that still holds a reference */
void iw_mpa_event_exit(void)
{
	destroy_workqueue(iw_mpa_user_wq);
	destroy_workqueue(iw_mpa_wq);
}

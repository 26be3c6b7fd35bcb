// SPDX-License-Identifier: GPL-2.0
/*
 * What has happened to an endpoint, and who handles it: events, the timer, and the one runner at
 * a time. Nobody else takes the endpoint's lock.
 *
 * Events are bits: nothing is allocated for one, so none is lost. Whoever raises one while there
 * is no runner queues the work item. The runner looks for further events before it ceases to be
 * the runner, under the same lock, so each event meets a runner.
 *
 * The first FPDU is handled where it is found, if nothing is in front of it and its cell can be
 * done there: the responder's ULP waits for it, and is told one hop earlier. That runner is in any
 * context. It handles one event, and leaves the rest to the work item.
 */

#include "event.h"
#include "config.h"
#include "ep.h"

#include <linux/export.h>
#include <linux/jiffies.h>
#include <linux/lockdep.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/wait_bit.h>
#include <linux/workqueue.h>

struct workqueue_struct *iw_mpa_wq;	/* for all work but that of takeovers */
static enum iw_mpa_event (*event_handle)(struct iw_mpa_ep *ep, enum iw_mpa_event event);

static void event_queue_work(struct iw_mpa_ep *ep)
{
	kref_get(&ep->ref);
	if (!queue_work(iw_mpa_wq, &ep->work))
		iw_mpa_ep_put(ep);
}

/**
 * iw_mpa_raise - an event happened
 * @ep: endpoint
 * @event: of IW_MPA_RAISED_EVENTS
 *
 * It is handled soon, once, after those raised before that are listed in front of it; or never
 * if it is void by then.
 *
 * Context: any.
 */
void iw_mpa_raise(struct iw_mpa_ep *ep, enum iw_mpa_event event)
{
	unsigned long flags;

	if (WARN_ON_ONCE(event >= IW_MPA_EV_RAISED_COUNT))
		return;
	spin_lock_irqsave(&ep->lock, flags);
	ep->events |= BIT(event);
	if (!ep->busy && ep->state != IW_MPA_ST_DEAD)
		event_queue_work(ep);
	spin_unlock_irqrestore(&ep->lock, flags);
}

/*
 * Few waits last until their deadline, and to set a timer costs more than to find, when it fires,
 * that it is not due. So it is only ever moved ahead, and only when the runner leaves the endpoint
 * to wait: a state that it merely passes through sets none.
 */
static void event_arm(struct iw_mpa_ep *ep)
{
	lockdep_assert_held(&ep->lock);

	if (!ep->deadline)
		return;
	if (!timer_pending(&ep->timer) || time_after(ep->timer.expires, ep->deadline))
		mod_timer(&ep->timer, ep->deadline);
}

/*
 * Become the runner for an event that has just been found. What was raised before goes first, in
 * the work item. A driver whose open_tx may sleep has to be called from there, too.
 */
static bool event_claim_prompt(struct iw_mpa_ep *ep, enum iw_mpa_event event)
{
	unsigned long flags;
	bool claimed;

	spin_lock_irqsave(&ep->lock, flags);
	claimed = !ep->busy && !ep->events && iw_mpa_fsm_is_prompt(ep->state, event) &&
		  (ep->off.attr->caps & IW_MPA_CAP_ATOMIC_OPEN);
	if (claimed)
		ep->busy = true;
	spin_unlock_irqrestore(&ep->lock, flags);
	return claimed;
}

/*
 * Cease to be such a runner. What was found on the way is the work item's, which becomes the
 * runner: so nobody else is between. Nobody waits for this runner: no question is open.
 */
static void event_leave(struct iw_mpa_ep *ep, enum iw_mpa_event found)
{
	unsigned long flags;

	spin_lock_irqsave(&ep->lock, flags);
	ep->found = found;
	ep->busy = found != IW_MPA_EV_NONE;
	if (ep->busy || ep->events)
		event_queue_work(ep);
	if (!ep->busy)
		event_arm(ep);
	spin_unlock_irqrestore(&ep->lock, flags);
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
 * The next event to handle. An event that is void in the state is dropped without a runner, lest
 * iw_accept finds a runner where nothing happens; so is that of a timer that was set again, or
 * for another state, and fired late.
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
		ep->busy = event != IW_MPA_EV_NONE;
		if (!ep->busy) {
			awaited = ep->awaited;
			ep->awaited = false;
			event_arm(ep);
		}
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

	while (event != IW_MPA_EV_NONE) {
		event = event_handle(ep, event);
		if (event != IW_MPA_EV_NONE)
			continue;
		ep->call = NULL;
		event = event_next(ep, true);
	}
	memalloc_noio_restore(noio);
	iw_mpa_ep_put(ep);
}

static void iw_mpa_run_work(struct work_struct *work)
{
	struct iw_mpa_ep *ep = container_of(work, struct iw_mpa_ep, work);

	iw_mpa_event_run(ep, event_next(ep, false));
}

/* Did it come to a decision? Then @claimed tells which. */
static bool event_try_claim(struct iw_mpa_ep *ep, enum iw_mpa_event event, bool *claimed)
{
	bool decided = true;

	spin_lock_irq(&ep->lock);
	if (!ep->busy) {
		*claimed = iw_mpa_fsm_step(ep->state, event)->defined;
		ep->busy = *claimed;
	} else if (iw_mpa_fsm_is_question(ep->state)) {
		ep->awaited = true;
		decided = false;
	}
	spin_unlock_irq(&ep->lock);
	return decided;
}

/**
 * iw_mpa_event_claim - become the runner for the ULP's answer
 * @ep: endpoint, on which the caller has a reference
 * @event: the answer
 *
 * On another CPU the ULP may answer before the upcall has returned that asked it. Then this waits
 * for the runner, who waits for nobody meanwhile: see iw_mpa_fsm_is_question().
 *
 * Context: process, may sleep.
 *
 * Return: true if the caller is the runner now, and @event has a cell in the state; false if the
 * answer is late: the question is not open any more.
 */
bool iw_mpa_event_claim(struct iw_mpa_ep *ep, enum iw_mpa_event event)
{
	bool claimed = false;

	wait_var_event(&ep->busy, event_try_claim(ep, event, &claimed));
	return claimed;
}

/**
 * iw_mpa_event_is_raised - does an event wait to be handled?
 * @ep: endpoint
 * @event: of IW_MPA_RAISED_EVENTS
 *
 * Context: the runner.
 *
 * Return: true if it does.
 */
bool iw_mpa_event_is_raised(struct iw_mpa_ep *ep, enum iw_mpa_event event)
{
	return READ_ONCE(ep->events) & BIT(event);
}

/**
 * iw_mpa_event_forget_tcp - drop what a socket that is gone has reported
 * @ep: endpoint, its socket released
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

/**
 * iw_mpa_event_enter - enter a state, or begin to wait in the same state anew
 * @ep: endpoint
 * @state: which; the timer follows when the runner leaves, see event_arm()
 *
 * Context: the runner.
 */
void iw_mpa_event_enter(struct iw_mpa_ep *ep, enum iw_mpa_state state)
{
	unsigned int ms = event_timeout_ms(ep, iw_mpa_fsm_timers[state]);
	unsigned long flags;

	spin_lock_irqsave(&ep->lock, flags);
	ep->state = state;
	ep->deadline = ms ? (jiffies + msecs_to_jiffies(ms)) | 1 : 0;
	if (ms && ep->try_until && iw_mpa_fsm_is_retried(state) &&
	    time_after(ep->deadline, ep->try_until))
		ep->deadline = ep->try_until;
	if (ms && time_after_eq(jiffies, ep->deadline))
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

/* With Fast Open a responder may have the Request before TCP is connected: that is no news then. */
static void event_sock_connected(struct iw_mpa_sock *ms)
{
	struct iw_mpa_ep *ep = ep_of(ms);

	if (iw_mpa_fsm_step(READ_ONCE(ep->state), IW_MPA_EV_TCP_UP)->defined)
		iw_mpa_raise(ep, IW_MPA_EV_TCP_UP);
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
 * Opens a responder's TX and, in the peer-to-peer model, completes its accept
 * (RFC 5044 7.1.2, RFC 6581 9.2). Later calls are void. With IW_MPA_CAP_ATOMIC_OPEN open_tx may
 * be called before the return.
 *
 * Context: any, also the driver's socket callbacks.
 */
void iw_mpa_first_fpdu(struct iw_mpa_ep *ep)
{
	if (event_claim_prompt(ep, IW_MPA_EV_FIRST_FPDU))
		event_leave(ep, event_handle(ep, IW_MPA_EV_FIRST_FPDU));
	else
		iw_mpa_raise(ep, IW_MPA_EV_FIRST_FPDU);
}
EXPORT_SYMBOL_GPL(iw_mpa_first_fpdu);

/**
 * iw_mpa_stream_down - the driver cannot go on with the stream
 * @ep: endpoint, from the hand-off
 *
 * After an FPDU that is in error, a Terminate message received or sent, or a TCP
 * error that the device found. stop() follows, then FIN, and the ULP's event.
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
 * @err: 0: FIN, and all in front of it is handled; else a positive errno as in sk_err:
 *	ECONNRESET, ETIMEDOUT and the like
 *
 * For the host's TCP sees neither. After FIN finish_tx and stop() follow, after an error stop()
 * alone.
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
 * From modify_qp: to ERR is abrupt, to SQD is not. stop() follows, and the ULP's event.
 *
 * Context: any; never waits, so the QP's locks may be held.
 */
void iw_mpa_disconnect(struct iw_mpa_ep *ep, bool abrupt)
{
	iw_mpa_raise(ep, abrupt ? IW_MPA_EV_ULP_ABORTED : IW_MPA_EV_ULP_CLOSED);
}
EXPORT_SYMBOL_GPL(iw_mpa_disconnect);

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
 * @handle: handles one event, and returns what follows from it; in any context if
 *	iw_mpa_fsm_is_prompt()
 *
 * Return: 0 or -ENOMEM.
 */
int iw_mpa_event_init(enum iw_mpa_event (*handle)(struct iw_mpa_ep *ep, enum iw_mpa_event event))
{
	event_handle = handle;
	iw_mpa_wq = alloc_workqueue("iw_mpa", WQ_MEM_RECLAIM | WQ_PERCPU, 0);
	return iw_mpa_wq ? 0 : -ENOMEM;
}

/** iw_mpa_event_exit - wait for work that still holds a reference */
void iw_mpa_event_exit(void)
{
	destroy_workqueue(iw_mpa_wq);
}

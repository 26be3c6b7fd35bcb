// SPDX-License-Identifier: GPL-2.0
/*
 * The runner of an endpoint: events, timer, and the one context at a time that
 * looks cells of the state table up. What the cells say is done in action.c.
 */

#include "run.h"
#include "action.h"
#include "config.h"
#include "ep.h"
#include "rnic.h"
#include "trace.h"

#include <linux/jiffies.h>
#include <linux/lockdep.h>
#include <linux/ratelimit.h>
#include <linux/sched/mm.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

static struct workqueue_struct *run_wq;

static void ep_queue_work(struct iw_mpa_ep *ep)
{
	iw_mpa_ep_get(ep);
	if (!queue_work(run_wq, &ep->work))
		iw_mpa_ep_put(ep);
}

/**
 * iw_mpa_raise - an event happened
 * @ep: endpoint
 * @event: up to IW_MPA_EV_LAST_RAISED
 *
 * It is handled soon, once, after those raised before that the table ranks
 * higher; or never if the endpoint is dead by then.
 *
 * Context: any.
 */
void iw_mpa_raise(struct iw_mpa_ep *ep, enum iw_mpa_event event)
{
	unsigned long flags;

	if (WARN_ON_ONCE(event > IW_MPA_EV_LAST_RAISED))
		return;
	spin_lock_irqsave(&ep->lock, flags);
	if (ep->state != IW_MPA_ST_DEAD) {
		ep->events |= BIT(event);
		if (!ep->busy)
			ep_queue_work(ep);
	}
	spin_unlock_irqrestore(&ep->lock, flags);
}

/* It may have been left to run though its wait is over: see ep_set_state(). */
static void iw_mpa_run_timeout(struct timer_list *timer)
{
	struct iw_mpa_ep *ep = from_timer(ep, timer, timer);
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

/**
 * iw_mpa_run_claim - become the runner if the endpoint is in a state
 * @ep: endpoint
 * @state: where it has to be
 *
 * Return: true if it is there and nobody else runs it; the caller then has to
 * iw_mpa_run_unclaim() it.
 */
bool iw_mpa_run_claim(struct iw_mpa_ep *ep, enum iw_mpa_state state)
{
	bool claimed = false;

	spin_lock_irq(&ep->lock);
	if (ep->state == state && !ep->busy) {
		ep->busy = true;
		claimed = true;
	}
	spin_unlock_irq(&ep->lock);
	return claimed;
}

/**
 * iw_mpa_run_unclaim - cease to be the runner
 * @ep: endpoint
 *
 * Events that came meanwhile are left to the work item.
 */
void iw_mpa_run_unclaim(struct iw_mpa_ep *ep)
{
	spin_lock_irq(&ep->lock);
	ep->busy = false;
	if (ep->events && ep->state != IW_MPA_ST_DEAD)
		ep_queue_work(ep);
	spin_unlock_irq(&ep->lock);
}

/**
 * iw_mpa_run_set_reason - say why the connection ends
 * @ep: endpoint
 * @reason: why; without effect if a reason was given before
 *
 * Context: the runner.
 */
void iw_mpa_run_set_reason(struct iw_mpa_ep *ep, enum iw_mpa_reason reason)
{
	iw_mpa_run_set_error(ep, reason, 0);
}

/**
 * iw_mpa_run_set_error - say why the connection ends, and which errno is behind it
 * @ep: endpoint
 * @reason: why; without effect if a reason was given before
 * @err: negative errno for people, or 0
 *
 * Context: the runner.
 */
void iw_mpa_run_set_error(struct iw_mpa_ep *ep, enum iw_mpa_reason reason,
			  int err)
{
	if (ep->reason)
		return;
	ep->reason = reason;
	ep->err = err;
}

static unsigned int ep_timeout_ms(const struct iw_mpa_ep *ep,
				  enum iw_mpa_timer timer)
{
	const struct iw_mpa_config *config = iw_mpa_ep_config(ep);

	switch (timer) {
	case IW_MPA_TMR_CONNECT:
		return READ_ONCE(config->connect_timeout_ms);
	case IW_MPA_TMR_REQUEST:
		return READ_ONCE(config->request_timeout_ms);
	case IW_MPA_TMR_VERDICT:
		return READ_ONCE(config->verdict_timeout_ms);
	case IW_MPA_TMR_REPLY:
		return READ_ONCE(config->reply_timeout_ms);
	case IW_MPA_TMR_RTR:
		return READ_ONCE(config->rtr_timeout_ms);
	case IW_MPA_TMR_LINGER:
		return READ_ONCE(config->linger_timeout_ms);
	case IW_MPA_TMR_FENCE:
		return READ_ONCE(config->fence_timeout_ms);
	case IW_MPA_TMR_REPEAT:
		/* Four times as long after each */
		return (READ_ONCE(config->rtr_repeat_ms) ?: 1) << (2 * ep->repeats);
	case IW_MPA_TMR_NONE:
	case IW_MPA_TMR_COUNT:
		break;
	}
	return 0;
}

/*
 * Hardly a wait lasts until its deadline, and to set a timer costs more than to find,
 * when it fires, that it is not due. So it is only ever moved ahead.
 */
static void ep_set_state(struct iw_mpa_ep *ep, enum iw_mpa_state state)
{
	unsigned int ms;

	ms = ep_timeout_ms(ep, iw_mpa_fsm_timer(state));
	spin_lock_irq(&ep->lock);
	ep->state = state;
	ep->deadline = ms ? (jiffies + msecs_to_jiffies(ms)) | 1 : 0;
	if (ep->connect_by && state < IW_MPA_ST_HANDOFF &&
	    time_after(ep->deadline, ep->connect_by))
		ep->deadline = ep->connect_by;
	if (ms && (!timer_pending(&ep->timer) ||
		   time_before(ep->deadline, ep->timer.expires)))
		mod_timer(&ep->timer, ep->deadline);
	spin_unlock_irq(&ep->lock);
}

static void ep_enter(struct iw_mpa_ep *ep, enum iw_mpa_state state)
{
	if (state != ep->state)
		ep_set_state(ep, state);
}

/**
 * iw_mpa_run_restart_timer - wait in the same state for another time
 * @ep: endpoint
 *
 * Context: the runner.
 */
void iw_mpa_run_restart_timer(struct iw_mpa_ep *ep)
{
	ep_set_state(ep, ep->state);
}

static enum iw_mpa_reason ep_timeout_reason(enum iw_mpa_state state)
{
	switch (iw_mpa_fsm_timer(state)) {
	case IW_MPA_TMR_CONNECT:
		return IW_MPA_R_TIMEOUT_CONNECT;
	case IW_MPA_TMR_REQUEST:
		return IW_MPA_R_TIMEOUT_REQUEST;
	case IW_MPA_TMR_VERDICT:
		return IW_MPA_R_TIMEOUT_VERDICT;
	case IW_MPA_TMR_REPLY:
		return IW_MPA_R_TIMEOUT_REPLY;
	case IW_MPA_TMR_RTR:
		return IW_MPA_R_TIMEOUT_RTR;
	case IW_MPA_TMR_LINGER:
	case IW_MPA_TMR_FENCE:
	case IW_MPA_TMR_REPEAT:
	case IW_MPA_TMR_NONE:
	case IW_MPA_TMR_COUNT:
		break;
	}
	return IW_MPA_R_OK;
}

static enum iw_mpa_reason ep_tcp_reason(const struct iw_mpa_ep *ep)
{
	switch (READ_ONCE(ep->tcp_err)) {
	case ECONNREFUSED:
		return IW_MPA_R_TCP_REFUSED;
	case ETIMEDOUT:
	case EHOSTUNREACH:
	case ENETUNREACH:
	case EHOSTDOWN:
	case ENETDOWN:
		return IW_MPA_R_TCP_UNREACHABLE;
	case ECONNRESET:
	case EPIPE:
		return IW_MPA_R_PEER_RESET;
	}
	return IW_MPA_R_TCP_ERROR;
}

/* What an event says of why the connection ends, if it does. */
static enum iw_mpa_reason ep_event_reason(const struct iw_mpa_ep *ep,
					  enum iw_mpa_event event)
{
	switch (event) {
	case IW_MPA_EV_PEER_CLOSED:
	case IW_MPA_EV_STREAM_ENDED:
		return ep->reader.have && iw_mpa_reader_want(&ep->reader) ?
		       IW_MPA_R_TRUNCATED : IW_MPA_R_PEER_CLOSED;
	case IW_MPA_EV_PEER_RESET:
		return ep_tcp_reason(ep);
	case IW_MPA_EV_TIMED_OUT:
		return ep_timeout_reason(ep->state);
	case IW_MPA_EV_STREAM_DOWN:
		return IW_MPA_R_STREAM;
	case IW_MPA_EV_INDICATE_FAILED:
		return IW_MPA_R_EVENT_LOST;
	case IW_MPA_EV_ULP_CLOSED:
		return IW_MPA_R_ULP_CLOSE;
	case IW_MPA_EV_QP_GONE:
		return IW_MPA_R_QP_GONE;
	case IW_MPA_EV_DEV_GONE:
		return IW_MPA_R_DEVICE_GONE;
	case IW_MPA_EV_LISTENER_GONE:
		return IW_MPA_R_LISTENER_GONE;
	case IW_MPA_EV_YIELD:
		return IW_MPA_R_OVERLOAD;
	case IW_MPA_EV_ULP_REJECTED:
		return IW_MPA_R_ULP_REJECT;
	case IW_MPA_EV_SEND_FAILED:
	case IW_MPA_EV_REPLY_FAILED:
		return IW_MPA_R_SEND;
	default:
		return IW_MPA_R_OK;
	}
}

static int ep_event_errno(const struct iw_mpa_ep *ep, enum iw_mpa_event event)
{
	return event == IW_MPA_EV_PEER_RESET ? -READ_ONCE(ep->tcp_err) : 0;
}

/*
 * Is the end of a connection that never came up news? Not if a ULP at either end
 * wanted it, if nobody listens, or if a client said nothing, as scanners do.
 */
static bool ep_is_news(const struct iw_mpa_ep *ep)
{
	switch (ep->reason) {
	case IW_MPA_R_OK:
	case IW_MPA_R_REJECTED:
	case IW_MPA_R_TCP_REFUSED:
	case IW_MPA_R_ULP_REJECT:
	case IW_MPA_R_ULP_CLOSE:
	case IW_MPA_R_QP_GONE:
	case IW_MPA_R_DEVICE_GONE:
	case IW_MPA_R_LISTENER_GONE:
		return false;
	case IW_MPA_R_PEER_CLOSED:
	case IW_MPA_R_PEER_RESET:
		return ep->initiator || ep->reader.have;
	default:
		return true;
	}
}

/* The limit is the device's: what its peers do takes nobody else's lines away. */
static void ep_log_failure(const struct iw_mpa_ep *ep)
{
	char err[sizeof(", errno -2147483648")] = "";

	if (ep->up.phase == IW_MPA_UP_CLOSE || !ep_is_news(ep) ||
	    !READ_ONCE(iw_mpa_ep_config(ep)->log) ||
	    !___ratelimit(&ep->dev->log_limit, "iw_mpa"))
		return;
	if (ep->err)
		snprintf(err, sizeof(err), ", errno %d", ep->err);
	pr_notice("iw_mpa: %s: %s %pISpc, peer %pISpc: %s%s (%s)\n",
		  dev_name(&ep->dev->ibdev->dev),
		  ep->initiator ? "initiator" : "responder",
		  &ep->tuple.local.sa, &ep->tuple.remote.sa,
		  iw_mpa_reason_name(ep->reason), err,
		  iw_mpa_reason_text(ep->reason));
}

/* RFC 6581 10: a responder that does not know revision 2 closes on it. */
static enum iw_mpa_event ep_refine(struct iw_mpa_ep *ep, enum iw_mpa_event event)
{
	if (ep->state != IW_MPA_ST_AWAIT_REP || !ep->fallback || ep->reader.have)
		return event;
	if (event == IW_MPA_EV_STREAM_ENDED ||
	    (event == IW_MPA_EV_PEER_RESET &&
	     ep_tcp_reason(ep) == IW_MPA_R_PEER_RESET))
		return IW_MPA_EV_V2_REFUSED;
	return event;
}

/**
 * iw_mpa_run_event - handle an event and what follows from it
 * @ep: endpoint
 * @event: any; one that was raised may be void by now, one that an action found
 *	out may not
 *
 * Storage reconnects through us: what is allocated below, also by a driver, must not wait
 * for storage to be written.
 *
 * Context: the runner.
 */
void iw_mpa_run_event(struct iw_mpa_ep *ep, enum iw_mpa_event event)
{
	unsigned int noio = memalloc_noio_save();
	bool raised = true;

	while (event != IW_MPA_EV_NONE) {
		struct iw_mpa_transition tr;

		event = ep_refine(ep, event);
		tr = iw_mpa_fsm_step(ep->state, event);
		if (!tr.defined) {
			WARN_ON_ONCE(!raised);
			break;
		}
		raised = false;
		if (tr.next == IW_MPA_ST_LINGER || tr.next == IW_MPA_ST_DEAD) {
			iw_mpa_run_set_error(ep, ep_event_reason(ep, event),
					     ep_event_errno(ep, event));
			if (ep->state != IW_MPA_ST_LINGER)
				ep_log_failure(ep);
		}
		trace_iw_mpa_state(ep, ep->state, event, tr.next, ep->reason);
		ep_enter(ep, tr.next);
		event = iw_mpa_act(ep, tr.actions);
	}
	memalloc_noio_restore(noio);
}

/*
 * The next event to handle. One that is void in the state is dropped without
 * becoming the runner, lest iw_accept find a runner where nothing happens; so is
 * that of a timer that was set again, or for another state, and fired late.
 */
static enum iw_mpa_event ep_next_event(struct iw_mpa_ep *ep)
{
	lockdep_assert_held(&ep->lock);

	while (!ep->busy && ep->events && ep->state != IW_MPA_ST_DEAD) {
		enum iw_mpa_event event = __ffs(ep->events);

		ep->events &= ~BIT(event);
		if (event == IW_MPA_EV_TIMED_OUT &&
		    (!ep->deadline || time_before(jiffies, ep->deadline)))
			continue;
		if (iw_mpa_fsm_step(ep->state, event).defined)
			return event;
	}
	return IW_MPA_EV_NONE;
}

/*
 * The ULP may answer on another CPU before the upcall returns. So it is the last
 * thing that this runner does; what it needs is collected before.
 *
 * Return: true if the caller is still the runner.
 */
static bool ep_indicate(struct iw_mpa_ep *ep)
{
	struct iw_mpa_indication ind;
	bool may;
	int err;

	ep->indicate = false;
	err = iw_mpa_act_prepare_indication(ep, &ind);
	if (err) {
		iw_mpa_run_set_error(ep, err == -ENOMEM ? IW_MPA_R_EVENT_LOST :
							  IW_MPA_R_PEER_RESET, err);
		iw_mpa_run_event(ep, IW_MPA_EV_INDICATE_FAILED);
		return true;
	}
	spin_lock_irq(&ep->lock);
	may = !(ep->events & BIT(IW_MPA_EV_LISTENER_GONE));
	if (may)
		ep->busy = false;
	spin_unlock_irq(&ep->lock);

	if (!may) {
		iw_mpa_run_set_reason(ep, IW_MPA_R_LISTENER_GONE);
		iw_mpa_act_cancel_indication(ep, &ind);
		iw_mpa_run_event(ep, IW_MPA_EV_INDICATE_FAILED);
		return true;
	}
	if (iw_mpa_act_indicate(ep, &ind))
		iw_mpa_raise(ep, IW_MPA_EV_INDICATE_FAILED);
	return false;
}

/**
 * iw_mpa_run - handle the events that were raised
 * @ep: endpoint, on which the caller has a reference
 * @claimed: the caller is the runner, and ceases to be
 *
 * Returns at once if somebody else is the runner, who then sees to them.
 *
 * Context: process, may sleep.
 */
void iw_mpa_run(struct iw_mpa_ep *ep, bool claimed)
{
	enum iw_mpa_event event;
	bool runner;

	spin_lock_irq(&ep->lock);
	if (claimed)
		ep->busy = false;
	while ((event = ep_next_event(ep)) != IW_MPA_EV_NONE) {
		ep->busy = true;
		spin_unlock_irq(&ep->lock);

		runner = true;
		iw_mpa_run_event(ep, event);
		if (ep->indicate)
			runner = ep_indicate(ep);

		spin_lock_irq(&ep->lock);
		if (runner)
			ep->busy = false;
	}
	spin_unlock_irq(&ep->lock);
}

/**
 * iw_mpa_run_forget_tcp - drop what a socket that is gone has reported
 * @ep: endpoint, its socket released
 *
 * Context: the runner.
 */
void iw_mpa_run_forget_tcp(struct iw_mpa_ep *ep)
{
	spin_lock_irq(&ep->lock);
	ep->events &= ~(BIT(IW_MPA_EV_TCP_UP) | BIT(IW_MPA_EV_READABLE) |
			BIT(IW_MPA_EV_PEER_CLOSED) | BIT(IW_MPA_EV_PEER_RESET) |
			BIT(IW_MPA_EV_STREAM_ENDED));
	spin_unlock_irq(&ep->lock);
	ep->tcp_err = 0;
}

/**
 * iw_mpa_run_forget_yield - drop a YIELD that came before the Request was whole
 * @ep: endpoint that is not half-open any more
 *
 * Context: the runner, with the device's lock, under which YIELD is raised.
 */
void iw_mpa_run_forget_yield(struct iw_mpa_ep *ep)
{
	spin_lock_irq(&ep->lock);
	ep->events &= ~BIT(IW_MPA_EV_YIELD);
	spin_unlock_irq(&ep->lock);
}

static void iw_mpa_run_work(struct work_struct *work)
{
	struct iw_mpa_ep *ep = container_of(work, struct iw_mpa_ep, work);

	iw_mpa_run(ep, false);
	iw_mpa_ep_put(ep);
}

static struct iw_mpa_ep *ep_of(struct iw_mpa_sock *ms)
{
	return container_of(ms, struct iw_mpa_ep, sock);
}

static void ep_sock_connected(struct iw_mpa_sock *ms)
{
	iw_mpa_raise(ep_of(ms), IW_MPA_EV_TCP_UP);
}

static void ep_sock_readable(struct iw_mpa_sock *ms)
{
	iw_mpa_raise(ep_of(ms), IW_MPA_EV_READABLE);
}

static void ep_sock_closed(struct iw_mpa_sock *ms)
{
	iw_mpa_raise(ep_of(ms), IW_MPA_EV_PEER_CLOSED);
}

static void ep_sock_failed(struct iw_mpa_sock *ms, int err)
{
	WRITE_ONCE(ep_of(ms)->tcp_err, err);
	iw_mpa_raise(ep_of(ms), IW_MPA_EV_PEER_RESET);
}

const struct iw_mpa_sock_ops iw_mpa_run_sock_ops = {
	.connected	= ep_sock_connected,
	.readable	= ep_sock_readable,
	.closed		= ep_sock_closed,
	.failed		= ep_sock_failed,
};

/**
 * iw_mpa_run_setup - make a new endpoint able to run
 * @ep: endpoint; the caller is its runner
 */
void iw_mpa_run_setup(struct iw_mpa_ep *ep)
{
	spin_lock_init(&ep->lock);
	INIT_WORK(&ep->work, iw_mpa_run_work);
	timer_setup(&ep->timer, iw_mpa_run_timeout, 0);
	ep->busy = true;
}

/**
 * iw_mpa_run_init - make endpoints possible
 *
 * Return: 0 or -ENOMEM.
 */
int iw_mpa_run_init(void)
{
	run_wq = alloc_workqueue("iw_mpa", WQ_MEM_RECLAIM, 0);
	return run_wq ? 0 : -ENOMEM;
}

/** iw_mpa_run_exit - wait for work that still holds a reference */
void iw_mpa_run_exit(void)
{
	destroy_workqueue(run_wq);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Events of an endpoint. TCP, timers, drivers and iw_cm raise them here, in any
 * context; run.c handles them. Only these two files take the endpoint's lock.
 *
 * An event is a bit: nothing is allocated for it, so none is lost. If there is
 * no runner the work item is queued. A runner checks for further events, under
 * the lock, before it stops being the runner. So each event is handled that the
 * state table has a cell for in the present state.
 */

#include "ep.h"
#include "device.h"

#include <linux/export.h>
#include <linux/jiffies.h>
#include <linux/sched.h>
#include <linux/workqueue.h>

/*
 * A driver may have to wait in stop for a thread of the application that has
 * the QP, since the thread holds a lock, and may be preempted. Many such waits
 * could use up the workers of a queue. In a queue of their own they block only
 * applications, not storage.
 */
struct workqueue_struct *iw_mpa_wq;		/* for all other work */
struct workqueue_struct *iw_mpa_user_wq;	/* for QPs of applications */

/*
 * A runner is like a lock that others wait for. This map shows lockdep which
 * locks a runner takes, in a driver's ops, too, and which locks the callers
 * hold that wait for a runner. So lockdep reports a possible deadlock even if
 * none happens. iw_mpa_first_fpdu() is left out: its runner does not sleep.
 */
#ifdef CONFIG_LOCKDEP
struct lockdep_map iw_mpa_runner_map =
	STATIC_LOCKDEP_MAP_INIT("iw_mpa_runner", &iw_mpa_runner_map);
#endif

void iw_mpa_event_queue_work(struct iw_mpa_ep *ep)
{
	lockdep_assert_held(&ep->lock);

	kref_get(&ep->ref);
	if (!queue_work(ep->user ? iw_mpa_user_wq : iw_mpa_wq, &ep->work))
		iw_mpa_ep_drop(ep);
}

/* In any context. An event without a cell is dropped, here or by the runner. */
void iw_mpa_raise(struct iw_mpa_ep *ep, enum iw_mpa_event event)
{
	unsigned long flags;
	bool idle;

	if (WARN_ON_ONCE(event >= IW_MPA_EV_RAISED_COUNT))
		return;
	spin_lock_irqsave(&ep->lock, flags);
	idle = iw_mpa_ep_is_idle(ep);
	/*
	 * Only a runner changes the state. If there is none, and no event
	 * waits, the work item would find the same state as this function, and
	 * drop the event.
	 */
	if (!idle || ep->events || iw_mpa_fsm_step(ep->state, event)->defined) {
		ep->events |= BIT(event);
		if (idle && ep->state != IW_MPA_ST_DEAD)
			iw_mpa_event_queue_work(ep);
	}
	spin_unlock_irqrestore(&ep->lock, flags);
}

/*
 * The lock orders this function with a runner that changes the phase: the
 * runner sees what the caller has written before, or the caller sees the new
 * phase.
 */
static enum iw_mpa_phase event_phase(struct iw_mpa_ep *ep)
{
	enum iw_mpa_phase phase;
	unsigned long flags;

	spin_lock_irqsave(&ep->lock, flags);
	phase = iw_mpa_fsm_states[ep->state].phase;
	spin_unlock_irqrestore(&ep->lock, flags);
	return phase;
}

/* Raise an event, but not for an established connection. In any context. */
void iw_mpa_raise_unless_up(struct iw_mpa_ep *ep, enum iw_mpa_event event)
{
	if (event_phase(ep) != IW_MPA_PHASE_UP)
		iw_mpa_raise(ep, event);
}

/* The timer may fire before the deadline, or without one: see run_arm(). */
void iw_mpa_event_timeout(struct timer_list *timer)
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
 * The caller waits for a runner. lockdep checks the caller's locks even if
 * there is no runner.
 */
void iw_mpa_event_may_wait(void)
{
	might_sleep();
	lock_map_acquire(&iw_mpa_runner_map);
	lock_map_release(&iw_mpa_runner_map);
}

/*
 * The socket of an endpoint reports an event. With Fast Open a responder, too,
 * has a socket before TCP is connected: its TCP_UP has no effect.
 */
void iw_mpa_event_of_sock(struct iw_mpa_sock *ms, enum iw_mpa_event event,
			  int err)
{
	struct iw_mpa_ep *ep = container_of(ms, struct iw_mpa_ep, sock);

	if (err)
		WRITE_ONCE(ep->tcp_err, err);
	iw_mpa_raise(ep, event);
}

/**
 * iw_mpa_stream_down - the driver cannot go on with the stream
 * @ep: endpoint, from the hand-off
 * @fault: why: an FPDU in error, a Terminate message received, or an error of
 *	TCP that the device found. It is for the kernel's log, and is copied;
 *	the @fault of the first call counts
 *
 * stop() follows, then FIN, and the ULP's event.
 *
 * Context: any; locks of the QP may be held.
 */
void iw_mpa_stream_down(struct iw_mpa_ep *ep, const struct iw_mpa_fault *fault)
{
	unsigned long flags;

	if (!iw_mpa_ep_check_call(ep, __func__))
		return;
	spin_lock_irqsave(&ep->lock, flags);
	/* @ep->fault must not change once the runner has the event. */
	if (!ep->fault.text)
		ep->fault = *fault;
	spin_unlock_irqrestore(&ep->lock, flags);
	iw_mpa_raise(ep, IW_MPA_EV_STREAM_DOWN);
}
EXPORT_SYMBOL_GPL(iw_mpa_stream_down);

/**
 * iw_mpa_disconnect - the ULP closes the connection
 * @ep: endpoint, from the hand-off
 * @abrupt: at once; else posted work goes out first, if the driver has
 *	finish_tx
 *
 * A driver calls this from modify_qp: a change to ERR is abrupt, a change to
 * SQD is not. stop() follows, and the ULP's event.
 *
 * Context: any; never waits, so the QP's locks may be held.
 */
void iw_mpa_disconnect(struct iw_mpa_ep *ep, bool abrupt)
{
	if (iw_mpa_ep_check_call(ep, __func__))
		iw_mpa_raise(ep, abrupt ? IW_MPA_EV_ULP_ABORTED :
					  IW_MPA_EV_ULP_CLOSED);
}
EXPORT_SYMBOL_GPL(iw_mpa_disconnect);

/**
 * iw_mpa_tx_finished - TCP has all that finish_tx had to send
 * @ep: endpoint, from finish_tx on
 *
 * The library sends FIN. A second call has no effect. A call before finish_tx
 * has no effect, either, and is logged.
 *
 * Context: any, also from within finish_tx.
 */
void iw_mpa_tx_finished(struct iw_mpa_ep *ep)
{
	if (!iw_mpa_ep_check_call(ep, __func__))
		return;
	if (event_phase(ep) == IW_MPA_PHASE_END)
		iw_mpa_raise(ep, IW_MPA_EV_TX_FINISHED);
	else
		iw_mpa_blame("connection %lu: %s() before finish_tx", ep->id,
			     __func__);
}
EXPORT_SYMBOL_GPL(iw_mpa_tx_finished);

int iw_mpa_event_init(void)
{
	iw_mpa_wq = alloc_workqueue("iw_mpa", WQ_MEM_RECLAIM | WQ_PERCPU, 0);
	if (!iw_mpa_wq)
		return -ENOMEM;
	/* The end of a connection frees memory: it goes on if there is none. */
	iw_mpa_user_wq = alloc_workqueue("iw_mpa_user",
					 WQ_MEM_RECLAIM | WQ_PERCPU, 0);
	if (iw_mpa_user_wq)
		return 0;
	destroy_workqueue(iw_mpa_wq);
	return -ENOMEM;
}

/* Waits for work that still holds a reference. */
void iw_mpa_event_exit(void)
{
	destroy_workqueue(iw_mpa_user_wq);
	destroy_workqueue(iw_mpa_wq);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Events of an endpoint. TCP, timers, drivers and iw_cm raise events here, in
 * any context; run.c handles them. Only event.c and run.c take the endpoint's
 * lock.
 *
 * A raised event is a bit in ep->events: no memory is allocated for it, so no
 * event is lost. If no context handles the endpoint's events (is the runner),
 * the work item is queued. A runner checks for further events, under ep->lock,
 * before it stops. So every event is handled that has an entry in the state
 * table for the present state.
 */

#include "ep.h"
#include "device.h"

#include <linux/export.h>
#include <linux/jiffies.h>
#include <linux/sched.h>
#include <linux/workqueue.h>

/*
 * In stop() a driver may have to wait for a thread of the application that owns
 * the QP, since that thread holds a lock and may be preempted. Many such waits
 * could use up the workers of a work queue. In iw_mpa_user_wq they hold up
 * other connections of applications only, not those of storage (iw_mpa_wq).
 */
struct workqueue_struct *iw_mpa_wq;		/* for all other work */
struct workqueue_struct *iw_mpa_user_wq;	/* for QPs of applications */

/*
 * Other contexts wait for an endpoint's runner (the context that handles its
 * events) as they would for a lock. This lockdep_map shows lockdep which locks
 * a runner takes, also within a driver's ops, and which locks are held by those
 * who wait for a runner. So lockdep reports a possible deadlock even if none
 * occurs. iw_mpa_first_fpdu() does not acquire the map: as a runner it does not
 * sleep.
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

/*
 * Raise an event. If the state table has no entry for it in the present state,
 * the event is dropped, here or later by run_first(). Context: any.
 */
void iw_mpa_raise(struct iw_mpa_ep *ep, enum iw_mpa_event event)
{
	unsigned long flags;
	bool idle;

	if (WARN_ON_ONCE(event >= IW_MPA_EV_RAISED_COUNT))
		return;
	spin_lock_irqsave(&ep->lock, flags);
	idle = iw_mpa_ep_is_idle(ep);
	/*
	 * Only the runner (the context that handles events) changes the state.
	 * If there is none, and no event is pending, the work item would find
	 * the present state. So it would drop an event that has no entry in the
	 * state table for this state: such an event is dropped here.
	 */
	if (!idle || ep->events || iw_mpa_fsm_step(ep->state, event)->defined) {
		ep->events |= BIT(event);
		if (idle && ep->state != IW_MPA_ST_DEAD)
			iw_mpa_event_queue_work(ep);
	}
	spin_unlock_irqrestore(&ep->lock, flags);
}

/*
 * Return: the phase (START, UP or END) of the present state. ep->lock orders
 * this with a change of the phase: either the context that changes the phase
 * reads what the caller wrote before this call, or the caller gets the new one.
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

/* Raise an event, unless the connection is established. Context: any. */
void iw_mpa_raise_unless_up(struct iw_mpa_ep *ep, enum iw_mpa_event event)
{
	if (event_phase(ep) != IW_MPA_PHASE_UP)
		iw_mpa_raise(ep, event);
}

/* The timer may fire before ep->deadline, or without one: see run_arm(). */
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
 * The caller may wait for a runner (the context that handles an endpoint's
 * events). lockdep checks the locks that the caller holds even if there is no
 * need to wait.
 */
void iw_mpa_event_may_wait(void)
{
	might_sleep();
	lock_map_acquire(&iw_mpa_runner_map);
	lock_map_release(&iw_mpa_runner_map);
}

/*
 * The socket of an endpoint reports an event. With Fast Open TCP accepts a
 * connection before the handshake is complete: so TCP_UP may be reported to a
 * responder, too, where it has no effect.
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
 * @ep: the endpoint that prepare() got
 * @fault: why, for the kernel's log: an FPDU in error, a Terminate message
 *	received, or an error of TCP that the device found. It is copied; only
 *	the @fault of the first call is logged
 *
 * iw_mpa then calls stop(), reports the end to iw_cm, and sends FIN.
 *
 * Context: any; locks of the QP may be held.
 */
void iw_mpa_stream_down(struct iw_mpa_ep *ep, const struct iw_mpa_fault *fault)
{
	unsigned long flags;

	if (!iw_mpa_ep_check_call(ep, __func__))
		return;
	spin_lock_irqsave(&ep->lock, flags);
	/* ep->fault must not change once STREAM_DOWN was raised. */
	if (!ep->fault.text)
		ep->fault = *fault;
	spin_unlock_irqrestore(&ep->lock, flags);
	iw_mpa_raise(ep, IW_MPA_EV_STREAM_DOWN);
}
EXPORT_SYMBOL_GPL(iw_mpa_stream_down);

/**
 * iw_mpa_disconnect - close a connection for the ULP
 * @ep: the endpoint that prepare() got
 * @abrupt: drop posted work; else it is sent first, if the driver has
 *	finish_tx()
 *
 * A driver calls this from modify_qp: a change to ERR is abrupt, a change to
 * SQD is not. iw_mpa then calls stop(), and reports the end to iw_cm.
 *
 * Context: any; does not wait, so the QP's locks may be held.
 */
void iw_mpa_disconnect(struct iw_mpa_ep *ep, bool abrupt)
{
	if (iw_mpa_ep_check_call(ep, __func__))
		iw_mpa_raise(ep, abrupt ? IW_MPA_EV_ULP_ABORTED :
					  IW_MPA_EV_ULP_CLOSED);
}
EXPORT_SYMBOL_GPL(iw_mpa_disconnect);

/**
 * iw_mpa_tx_finished - TCP has all that finish_tx() had to send
 * @ep: the endpoint that prepare() got
 *
 * iw_mpa then sends FIN. A second call has no effect. A call before finish_tx()
 * has no effect, either, and is logged as a driver's mistake.
 *
 * Context: any, also within finish_tx().
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
	/* The end of a connection frees memory: it must not wait for memory. */
	iw_mpa_user_wq = alloc_workqueue("iw_mpa_user",
					 WQ_MEM_RECLAIM | WQ_PERCPU, 0);
	if (iw_mpa_user_wq)
		return 0;
	destroy_workqueue(iw_mpa_wq);
	return -ENOMEM;
}

/* Waits for work items that still hold a reference on an endpoint. */
void iw_mpa_event_exit(void)
{
	destroy_workqueue(iw_mpa_user_wq);
	destroy_workqueue(iw_mpa_wq);
}

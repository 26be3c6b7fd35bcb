// SPDX-License-Identifier: GPL-2.0
/*
 * The runner, which handles an endpoint's events, and the table's actions.
 *
 * A call of iw_cm that is the runner hands over to the work item after
 * IW_MPA_BORROWED events, since iw_cm has one worker for all connections. A
 * call that waits becomes the runner after the event that is being handled.
 *
 * Two functions handle an event in the caller's context if no other event waits
 * and its actions allow that. So iw_mpa_first_fpdu() reports ESTABLISHED
 * without waiting for a work item, and iw_mpa_close() sends the FIN itself, if
 * the driver finishes within finish_tx.
 */

#include "ep.h"
#include "backlog.h"
#include "config.h"
#include "device.h"
#include "iwcm.h"
#include "negotiate.h"
#include "offload.h"
#include "stats.h"
#include "trace.h"
#include "way.h"
#include "takeover/takeover.h"

#include <linux/export.h>
#include <linux/jiffies.h>
#include <linux/sched/mm.h>
#include <linux/sizes.h>
#include <linux/wait_bit.h>
#include <linux/workqueue.h>
#include <net/l3mdev.h>
#include <rdma/iw_cm.h>

#define RUN_ANY_ACTION		U32_MAX
/* Most bytes that are read and dropped while the peer lingers */
#define RUN_LINGER_BYTES	SZ_8M
/* Most bytes that may wait after a Request until the ULP has answered */
#define RUN_EARLY_BYTES		SZ_16K
/*
 * How often an RTR message is repeated. The first repeat waits for
 * rtr_repeat_ms, each further repeat four times as long as the one before: so
 * the last one goes out after 341 times rtr_repeat_ms.
 */
#define RUN_REPEATS		5

static unsigned int run_timeout_ms(const struct iw_mpa_ep *ep,
				   enum iw_mpa_timer timer)
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
	ms = READ_ONCE(*(const unsigned int *)((const char *)ep->config +
					       settings[timer]));
	/* Each wait for an answer to the RTR is four times the one before. */
	return timer == IW_MPA_TMR_REPEAT ? (ms ?: 1) << (2 * ep->repeats) : ms;
}

/*
 * The limit of an orderly end that begins now. The removal of a device waits
 * for that end: then the limit is linger_timeout_ms at most, as for one byte.
 */
static unsigned long run_end_until(const struct iw_mpa_ep *ep)
{
	unsigned int ms = READ_ONCE(ep->config->finish_timeout_ms);

	if (READ_ONCE(ep->dev->dying))
		ms = min(ms, READ_ONCE(ep->config->linger_timeout_ms));
	return (jiffies + msecs_to_jiffies(ms)) | 1;
}

/* Enter a state, or begin its wait again. run_arm() sets the timer. */
static void run_enter(struct iw_mpa_ep *ep, enum iw_mpa_state state)
{
	const struct iw_mpa_state_info *to = &iw_mpa_fsm_states[state];
	unsigned int ms = run_timeout_ms(ep, to->timer);
	unsigned long flags;

	spin_lock_irqsave(&ep->lock, flags);
	if (to->phase == IW_MPA_PHASE_END &&
	    iw_mpa_fsm_states[ep->state].phase != IW_MPA_PHASE_END)
		ep->until = run_end_until(ep);
	WRITE_ONCE(ep->state, state);
	ep->deadline = iw_mpa_fsm_deadline(state, jiffies, msecs_to_jiffies(ms),
					   ep->until);
	if (ep->deadline && time_after_eq(jiffies, ep->deadline))
		ep->events |= BIT(IW_MPA_EV_TIMED_OUT);
	spin_unlock_irqrestore(&ep->lock, flags);
}

/*
 * The ULP may ask for more than the device's limit: for 255, which means "as
 * many as possible", or for the peer's offer. 0x3fff leaves the depth to the
 * ULPs (RFC 6581 9.1).
 */
static u16 run_depth(u32 wanted, u16 limit)
{
	return wanted == IW_MPA_DEPTH_ULP ? IW_MPA_DEPTH_ULP :
					    min_t(u32, wanted, limit);
}

static int run_set_depths(struct iw_mpa_ep *ep,
			  const struct iw_cm_conn_param *param)
{
	bool enhanced = ep->initiator ? ep->local.rev >= IW_MPA_REV_2 :
					ep->peer.enhanced;
	struct iw_mpa_local *local = &ep->local;

	if (param->private_data_len >
	    IW_MPA_PD_MAX - (enhanced ? IW_MPA_ENHANCED_SIZE : 0))
		return -EINVAL;
	local->ird = run_depth(param->ird, local->max_ird);
	local->ord = run_depth(param->ord, local->max_ord);
	if (local->strict &&
	    (local->ird != param->ird || local->ord != param->ord))
		return -EINVAL;
	return 0;
}

/* After success iw_cm expects an event, unless CANCEL follows in the call. */
static enum iw_mpa_event run_bind(struct iw_mpa_ep *ep)
{
	const struct iw_cm_conn_param *param = ep->call->param;
	int err = iw_mpa_iwcm_check_device(ep);

	if (!err)
		err = run_set_depths(ep, param);
	if (!err)
		err = iw_mpa_qp_bind(ep, param->qpn);
	if (err) {
		ep->call->err = err;
		return iw_mpa_ep_fail(ep, IW_MPA_EV_BIND_FAILED, err);
	}
	iw_mpa_upcall_expect(ep, ep->call->id);
	return IW_MPA_EV_NONE;
}

/* Report TCP's port to rdma_cm, unless iwpmd has mapped the cm_id's port. */
static void run_note_port(struct iw_mpa_ep *ep)
{
	struct iw_cm_id *id = ep->up.cm_id;
	__be16 port = ep->tuple.local.in.sin_port;

	iw_mpa_count_for(ep->dev->stats, IW_MPA_CNT_source_port_retried);
	if (id->mapped)
		return;
	*iw_mpa_addr_port(iw_mpa_addr(&id->m_local_addr)) = port;
	*iw_mpa_addr_port(iw_mpa_addr(&id->local_addr)) = port;
}

/*
 * rdma_cm chooses the source port from a port space of its own, so TCP may use
 * the port already. Then TCP chooses another, unless a setting forbids that.
 */
static enum iw_mpa_event run_open(struct iw_mpa_ep *ep)
{
	struct iw_cm_id *id = ep->up.cm_id;
	struct iw_mpa_sock_opts opts = {
		.net		= ep->net,
		.local		= iw_mpa_addr(&id->m_local_addr),
		.remote		= iw_mpa_addr(&id->m_remote_addr),
		.ifindex	= l3mdev_master_ifindex_by_index(ep->net,
								 ep->ifindex),
		.tos		= id->tos,
		.tos_set	= id->tos_set,
		.afonly		= id->afonly,
		.fast_open	= READ_ONCE(ep->config->fast_open),
	};
	int err;

	ep->request_out = false;
	ep->request_sent = 0;
	opts.way = iw_mpa_way(&opts, ep->ifindex);
	err = iw_mpa_sock_connect(&ep->sock, &opts);
	if ((err == -EADDRINUSE || err == -EADDRNOTAVAIL) &&
	    READ_ONCE(ep->config->source_port_retry)) {
		opts.any_port = true;
		err = iw_mpa_sock_connect(&ep->sock, &opts);
	}
	if (err < 0) {
		if (ep->call)
			ep->call->err = err;
		return iw_mpa_ep_fail(ep, IW_MPA_EV_OPEN_FAILED, err);
	}
	iw_mpa_sock_tuple(ep->sock.sock, &ep->tuple);
	if (opts.any_port)
		run_note_port(ep);
	/* With Fast Open TCP takes the Request before it is connected. */
	if (err)
		iw_mpa_raise(ep, IW_MPA_EV_TCP_UP);
	return IW_MPA_EV_NONE;
}

/*
 * RFC 6581 10: a peer without revision 2 reads the Request and closes. Other
 * closes say nothing of revisions: the peer had too many connections, or its
 * listener was destroyed. A peer that has not read is offered revision 2 once
 * more; if it closes again, revision 1: some peers without revision 2 reset.
 */
static void run_choose_revision(struct iw_mpa_ep *ep)
{
	static const struct iw_mpa_params none;
	bool read = iw_mpa_sock_was_read(&ep->sock);

	if (!ep->v2_again && !read) {
		ep->v2_again = true;
		iw_mpa_count_for(ep->dev->stats, IW_MPA_CNT_v2_again);
	} else {
		ep->local.rev = IW_MPA_REV_1;
		ep->lost = iw_mpa_lost(&ep->sent, &none);
		iw_mpa_count_for(ep->dev->stats, IW_MPA_CNT_v1_fallback);
	}
	trace_iw_mpa_retry(ep->id, ep->local.rev, read);
}

/*
 * Give the TCP connection up so that its local port is free at once, and drop
 * its events. TCP sends RST, and forgets the connection, so this end can
 * connect to the same peer with the same port again. After a FIN the port would
 * be in use until the peer has acknowledged the FIN.
 */
static void run_forget_tcp(struct iw_mpa_ep *ep)
{
	iw_mpa_sock_reset(&ep->sock);
	iw_mpa_sock_release(&ep->sock);
	spin_lock_irq(&ep->lock);
	ep->events &= ~(BIT(IW_MPA_EV_TCP_UP) | BIT(IW_MPA_EV_READABLE) |
			BIT(IW_MPA_EV_PEER_CLOSED) | BIT(IW_MPA_EV_PEER_RESET) |
			BIT(IW_MPA_EV_TCP_FAILED));
	spin_unlock_irq(&ep->lock);
	ep->tcp_err = 0;
}

/* The peer closed without a Reply. The next try has the same source port. */
static enum iw_mpa_event run_reopen(struct iw_mpa_ep *ep)
{
	if (!ep->fallback)
		return iw_mpa_ep_fail(ep, IW_MPA_EV_NO_REV_2,
				      -READ_ONCE(ep->tcp_err));
	run_choose_revision(ep);
	run_forget_tcp(ep);
	return run_open(ep);
}

/*
 * RFC 5044 7.1.2: an initiator sends nothing between its Request and the Reply.
 * If bytes arrive all the same they are left for the driver, but only up to a
 * limit, so that a peer cannot use up memory.
 */
static enum iw_mpa_event run_check_early(struct iw_mpa_ep *ep)
{
	if (iw_mpa_sock_unread(&ep->sock) <= RUN_EARLY_BYTES)
		return IW_MPA_EV_NONE;
	iw_mpa_ep_set_reason(ep, IW_MPA_R_EARLY_DATA, 0);
	return IW_MPA_EV_FRAME_BAD;
}

/*
 * Raise CONNECT_REQUEST. The ULP may answer on another CPU before this upcall
 * has returned: then its call waits for this runner.
 */
static enum iw_mpa_event run_ask(struct iw_mpa_ep *ep)
{
	struct iw_cm_id *listen_id;
	enum iw_mpa_event event;

	if (ep->stray) {
		iw_mpa_ep_set_reason(ep, IW_MPA_R_WRONG_DEVICE, 0);
		return IW_MPA_EV_LISTENER_GONE;
	}
	event = iw_mpa_backlog_turn(ep, &listen_id);
	if (event != IW_MPA_EV_NONE)
		return event;
	event = IW_MPA_EV_ASKED;
	if (iw_mpa_upcall_request(ep, listen_id))
		event = IW_MPA_EV_NO_ROOM;
	else
		iw_mpa_backlog_asked(ep);
	listen_id->rem_ref(listen_id);
	return event;
}

static enum iw_mpa_event run_handoff_passive(struct iw_mpa_ep *ep)
{
	bool fence = READ_ONCE(ep->config->fence);
	u8 reply[IW_MPA_FRAME_MAX];
	enum iw_mpa_event event;
	int len;

	/* Only a setting that has changed after iw_create_listen leads here. */
	if (!iw_mpa_device_may_respond(ep->dev, fence)) {
		ep->call->err = -EOPNOTSUPP;
		return iw_mpa_ep_fail(ep, IW_MPA_EV_ACCEPT_FAILED, -EOPNOTSUPP);
	}
	len = iw_mpa_startup_make_reply(ep, reply);
	if (len < 0)
		return IW_MPA_EV_ACCEPT_FAILED;
	event = iw_mpa_offload_passive(ep, fence, reply, len);
	/* FIN in place of a Reply means: the revision is not known here. */
	if (event == IW_MPA_EV_REPLY_FAILED)
		iw_mpa_sock_reset(&ep->sock);
	return event;
}

static enum iw_mpa_event run_report_up(struct iw_mpa_ep *ep)
{
	int err = iw_mpa_upcall_up(ep);

	if (err)
		return iw_mpa_ep_fail(ep, IW_MPA_EV_EVENT_LOST, err);
	iw_mpa_count_for(ep->dev->stats, IW_MPA_CNT_established);
	return IW_MPA_EV_NONE;
}

/*
 * Has the peer acknowledged or sent bytes since the last check, and is there
 * time left for the end? Without a limit a peer that sends one byte at a time
 * could prolong its access to memory, and the ULP's wait for DISCONNECTED, for
 * ever. If a device runs TCP the socket's counters do not move: then an orderly
 * end takes one linger_timeout_ms at most.
 */
static enum iw_mpa_event run_check_progress(struct iw_mpa_ep *ep)
{
	u32 before = ep->progress;

	ep->progress = iw_mpa_sock_progress(&ep->sock);
	if (ep->progress == before || time_after_eq(jiffies, ep->until))
		return IW_MPA_EV_STALLED;
	return IW_MPA_EV_NONE;
}

/*
 * Read and drop the peer's bytes: with unread bytes TCP sends RST in place of
 * FIN. The second read usually finds nothing. If it finds bytes more may
 * follow: they are left to the next event.
 */
static enum iw_mpa_event run_drain(struct iw_mpa_ep *ep)
{
	int i, len;

	for (i = 0; i < 2; i++) {
		if (ep->drained >= RUN_LINGER_BYTES)
			return IW_MPA_EV_STREAM_ENDED;
		len = iw_mpa_sock_discard(&ep->sock,
					  RUN_LINGER_BYTES - ep->drained);
		if (len == -EAGAIN)
			return IW_MPA_EV_NONE;
		if (len <= 0)
			return IW_MPA_EV_STREAM_ENDED;
		ep->drained += len;
	}
	iw_mpa_raise(ep, IW_MPA_EV_READABLE);
	return IW_MPA_EV_NONE;
}

/*
 * This is each endpoint's last action. No context uses the endpoint afterwards:
 *  - socket callbacks, the driver's too, were unhooked under sk_callback_lock;
 *  - the driver: stop() has returned, and it calls with a reference only;
 *  - the timer was deleted, and its handler has returned;
 *  - the work item holds a reference while it is queued, and finds DEAD;
 *  - iw_accept and iw_reject take a reference by the number, and find DEAD;
 *  - other callers that raise events hold a reference, the device's lock or
 *    rcu_read_lock(), and find DEAD.
 */
static void run_release(struct iw_mpa_ep *ep)
{
	struct iw_mpa_device *dev = ep->dev;

	iw_mpa_sock_release(&ep->sock);
	if (iw_mpa_takeover_is_on(ep))
		iw_mpa_takeover_put(ep);
	timer_delete_sync(&ep->timer);
	iw_mpa_startup_end(ep);
	iw_mpa_backlog_put(ep);
	iw_mpa_ep_unregister(ep);
	iw_mpa_count_reason(dev->stats, ep->reason);
	iw_mpa_ep_drop(ep);
	iw_mpa_device_put(dev);
}

static enum iw_mpa_event run_action(struct iw_mpa_ep *ep,
				    enum iw_mpa_action_nr nr)
{
	switch (nr) {
	case IW_MPA_ACT_BIND:
		return run_bind(ep);
	case IW_MPA_ACT_OPEN:
		return run_open(ep);
	case IW_MPA_ACT_REOPEN:
		return run_reopen(ep);
	case IW_MPA_ACT_SEND_REQ:
		return iw_mpa_startup_send_request(ep);
	case IW_MPA_ACT_READ_REQ:
		return iw_mpa_startup_read_request(ep);
	case IW_MPA_ACT_READ_REP:
		return iw_mpa_startup_read_reply(ep);
	case IW_MPA_ACT_CHECK_EARLY:
		return run_check_early(ep);
	case IW_MPA_ACT_ASK:
		return run_ask(ep);
	case IW_MPA_ACT_QUEUE:
		iw_mpa_backlog_queue(ep);
		break;
	case IW_MPA_ACT_HANDOFF_ACTIVE:
		return iw_mpa_offload_active(ep);
	case IW_MPA_ACT_HANDOFF_PASSIVE:
		return run_handoff_passive(ep);
	case IW_MPA_ACT_LIFT_FENCE:
		iw_mpa_count_for(ep->dev->stats, IW_MPA_CNT_fence_lifted);
		fallthrough;
	case IW_MPA_ACT_OPEN_TX:
		iw_mpa_offload_open_tx(ep);
		break;
	case IW_MPA_ACT_REPORT_UP:
		return run_report_up(ep);
	case IW_MPA_ACT_CHECK_ANSWER:
		if (ep->repeats == RUN_REPEATS ||
		    iw_mpa_offload_is_answered(ep))
			return IW_MPA_EV_RTR_SETTLED;
		break;
	case IW_MPA_ACT_REPEAT_RTR:
		iw_mpa_offload_repeat_rtr(ep);
		break;
	case IW_MPA_ACT_CHECK_PROGRESS:
		return run_check_progress(ep);
	case IW_MPA_ACT_RESTART_TIMER:
		run_enter(ep, ep->state);
		break;
	case IW_MPA_ACT_KICK_RX:
		iw_mpa_offload_kick_rx(ep);
		break;
	case IW_MPA_ACT_END_STREAM:
		iw_mpa_raise(ep, IW_MPA_EV_STREAM_ENDED);
		break;
	case IW_MPA_ACT_FINISH_TX:
		ep->progress = iw_mpa_sock_progress(&ep->sock);
		return iw_mpa_offload_finish_tx(ep);
	case IW_MPA_ACT_STOP:
		iw_mpa_offload_stop(ep, ep->reason);
		break;
	case IW_MPA_ACT_SEND_TERM:
		iw_mpa_startup_send_term(ep);
		break;
	case IW_MPA_ACT_SEND_REJECT:
		iw_mpa_startup_send_reject(ep);
		break;
	case IW_MPA_ACT_UNBIND:
		iw_mpa_qp_unbind(ep);
		break;
	case IW_MPA_ACT_CANCEL:
		iw_mpa_upcall_cancel(ep);
		break;
	case IW_MPA_ACT_FAIL_CALL:
		if (!ep->call->err)	/* BIND or OPEN may have set it */
			ep->call->err = iw_mpa_reason_errno(ep->reason);
		break;
	case IW_MPA_ACT_REPORT_DOWN:
		iw_mpa_count_for(ep->dev->stats,
				 ep->up.phase == IW_MPA_UP_CLOSE ?
				 IW_MPA_CNT_closed : IW_MPA_CNT_failed);
		iw_mpa_upcall_down(ep);
		break;
	case IW_MPA_ACT_SHUTDOWN:
		iw_mpa_sock_shutdown(&ep->sock);
		break;
	case IW_MPA_ACT_DRAIN:
		return run_drain(ep);
	case IW_MPA_ACT_RELEASE:
		run_release(ep);
		break;
	case IW_MPA_ACT_COUNT:
		break;
	}
	return IW_MPA_EV_NONE;
}

/*
 * Do what the state table says for an event that has a cell. The actions of the
 * cell are done in the order of their numbers; if an action returns an event,
 * the actions after it are left out.
 *
 * In process context, or in any if all actions are among IW_MPA_PROMPT_ACTIONS.
 *
 * Return: the event that follows, which has a cell; or IW_MPA_EV_NONE.
 */
static enum iw_mpa_event run_event(struct iw_mpa_ep *ep,
				   enum iw_mpa_event event)
{
	const struct iw_mpa_transition *tr = iw_mpa_fsm_step(ep->state, event);
	enum iw_mpa_event found = IW_MPA_EV_NONE;
	u32 todo;

	if (WARN_ON_ONCE(!tr->defined))
		return IW_MPA_EV_NONE;
	WRITE_ONCE(ep->runner, current);
	if (iw_mpa_fsm_states[tr->next].phase == IW_MPA_PHASE_END)
		iw_mpa_ep_note_end(ep, event);
	trace_iw_mpa_state(ep->id, ep->state, event, tr->next, ep->reason);
	if (tr->next != ep->state)
		run_enter(ep, tr->next);
	for (todo = tr->actions; todo && found == IW_MPA_EV_NONE;
	     todo &= todo - 1)
		found = run_action(ep, __ffs(todo));
	return found;
}

/*
 * Few waits last until their deadline. Setting a timer costs more than finding
 * that it has fired too early. So the timer is moved only if it would fire
 * after the deadline, and only when the runner stops.
 */
static void run_arm(struct iw_mpa_ep *ep)
{
	lockdep_assert_held(&ep->lock);

	if (ep->deadline && (!timer_pending(&ep->timer) ||
			     time_after(ep->timer.expires, ep->deadline)))
		mod_timer(&ep->timer, ep->deadline);
}

/*
 * The first event that waits and for which the state table has a cell in the
 * present state, or IW_MPA_EV_NONE. Events without a cell are dropped: they
 * need no runner. TIMED_OUT is dropped, too, if the wait has begun anew since
 * the timer fired.
 */
static enum iw_mpa_event run_first(struct iw_mpa_ep *ep)
{
	enum iw_mpa_event event;

	lockdep_assert_held(&ep->lock);

	while (ep->events && ep->state != IW_MPA_ST_DEAD) {
		bool early = !ep->deadline ||
			     time_before(jiffies, ep->deadline);

		event = __ffs(ep->events);
		if (iw_mpa_fsm_step(ep->state, event)->defined &&
		    !(event == IW_MPA_EV_TIMED_OUT && early))
			return event;
		ep->events &= ~BIT(event);
	}
	return IW_MPA_EV_NONE;
}

/*
 * The event that the runner handles next, if its actions are among @actions and
 * the runner may go on. If there is none the caller is not the runner any more.
 * One decision under the lock: no event is left without a runner.
 *
 * An event in @found is left to the work item, which handles it before all
 * others and is the runner from now on: @busy stays set. Without such an event
 * the caller goes on, unless a call waits to be the runner (@awaited), which
 * then gets the other events. What the caller must not handle itself, and no
 * call waits for, is left to the work item.
 */
static enum iw_mpa_event run_next(struct iw_mpa_ep *ep, enum iw_mpa_event found,
				  u32 actions, bool may_go_on)
{
	enum iw_mpa_event event = IW_MPA_EV_NONE;
	unsigned long flags;
	bool awaited;

	spin_lock_irqsave(&ep->lock, flags);
	if (found == IW_MPA_EV_NONE)
		event = run_first(ep);
	awaited = ep->awaited;
	if (event != IW_MPA_EV_NONE && may_go_on && !awaited &&
	    iw_mpa_fsm_does_only(ep->state, event, actions)) {
		ep->events &= ~BIT(event);
		spin_unlock_irqrestore(&ep->lock, flags);
		return event;
	}
	WRITE_ONCE(ep->runner, NULL);
	ep->found = found;
	ep->busy = found != IW_MPA_EV_NONE;
	if (ep->busy || (event != IW_MPA_EV_NONE && !awaited))
		iw_mpa_event_queue_work(ep);
	if (!ep->busy)
		run_arm(ep);
	spin_unlock_irqrestore(&ep->lock, flags);
	if (awaited)
		wake_up_var(&ep->busy);
	return IW_MPA_EV_NONE;
}

/*
 * Handle an event, for which the state table has a cell in the present state,
 * and then up to @budget events that were raised since. The caller is the
 * runner; this function drops a reference of the caller.
 *
 * Storage reconnects through the library. So no allocation here, nor one by a
 * driver, may wait for writes to storage.
 *
 * In process context; may sleep.
 */
void iw_mpa_run(struct iw_mpa_ep *ep, enum iw_mpa_event event,
		unsigned int budget)
{
	unsigned int noio = memalloc_noio_save();

	lock_map_acquire(&iw_mpa_runner_map);
	while (event != IW_MPA_EV_NONE) {
		event = run_event(ep, event);
		if (event != IW_MPA_EV_NONE)
			continue;
		ep->call = NULL;
		event = run_next(ep, IW_MPA_EV_NONE, RUN_ANY_ACTION, budget--);
	}
	lock_map_release(&iw_mpa_runner_map);
	memalloc_noio_restore(noio);
	iw_mpa_ep_drop(ep);
}

/* If a runner has left a found event, the work item is the runner already. */
static void iw_mpa_run_work(struct work_struct *work)
{
	struct iw_mpa_ep *ep = container_of(work, struct iw_mpa_ep, work);
	enum iw_mpa_event event;

	spin_lock_irq(&ep->lock);
	event = ep->found;
	ep->found = IW_MPA_EV_NONE;
	if (event == IW_MPA_EV_NONE && iw_mpa_ep_is_idle(ep)) {
		event = run_first(ep);
		ep->busy = event != IW_MPA_EV_NONE;
		if (ep->busy)
			ep->events &= ~BIT(event);
		else
			run_arm(ep);
	}
	spin_unlock_irq(&ep->lock);
	iw_mpa_run(ep, event, UINT_MAX);
}

/*
 * Return: a new, complete endpoint in state IDLE, whose runner is the caller;
 * with two references: one for iw_mpa_run(), and one that state DEAD drops. Or
 * an error: -ENOMEM; -ENODEV if the device is being removed.
 */
struct iw_mpa_ep *iw_mpa_run_create(struct iw_mpa_device *dev, struct net *net,
				    bool initiator, const void *request_pd,
				    u16 request_pd_len)
{
	struct iw_mpa_ep *ep = iw_mpa_ep_create(dev, net, initiator, request_pd,
						request_pd_len);

	if (IS_ERR(ep))
		return ep;
	/* No other context uses these while the endpoint has a runner. */
	INIT_WORK(&ep->work, iw_mpa_run_work);
	timer_setup(&ep->timer, iw_mpa_event_timeout, 0);
	ep->sock.report = iw_mpa_event_of_sock;
	return iw_mpa_ep_hold(ep);
}

/*
 * Try to become the runner for an event. Return: false if the caller has to
 * wait and call again; until then no other context becomes the runner. If the
 * state table has no cell for the event now, the work item handles the events
 * that wait.
 */
static bool run_try_claim(struct iw_mpa_ep *ep, enum iw_mpa_event event,
			  bool *claimed)
{
	bool idle;

	spin_lock_irq(&ep->lock);
	idle = !ep->busy;
	ep->awaited = !idle;
	if (idle) {
		*claimed = iw_mpa_fsm_step(ep->state, event)->defined;
		ep->busy = *claimed;
		if (!ep->busy && run_first(ep) != IW_MPA_EV_NONE)
			iw_mpa_event_queue_work(ep);
	}
	spin_unlock_irq(&ep->lock);
	return idle;
}

/*
 * Become the runner for an event of iw_accept or iw_reject. The ULP may answer
 * on another CPU before the upcall of CONNECT_REQUEST has returned, and may
 * reject while the connection comes up or ends. In both cases this function
 * waits until the present runner has handled one event: that may wait for the
 * driver, not for the peer.
 *
 * Return: true if the caller is the runner; false if the state table has no
 * cell for the event any more: the answer comes too late.
 */
bool iw_mpa_run_claim(struct iw_mpa_ep *ep, enum iw_mpa_event event)
{
	bool claimed = false;

	iw_mpa_event_may_wait();
	wait_var_event(&ep->busy, run_try_claim(ep, event, &claimed));
	return claimed;
}

/*
 * Handle the ULP's answer to a CONNECT_REQUEST. Drops the caller's reference.
 *
 * Return: false if the answer comes too late.
 */
bool iw_mpa_run_answer(struct iw_mpa_ep *ep, struct iw_mpa_call *call,
		       enum iw_mpa_event answer)
{
	if (!iw_mpa_run_claim(ep, answer)) {
		iw_mpa_ep_drop(ep);
		return false;
	}
	iw_mpa_backlog_answered(ep);
	ep->call = call;
	iw_mpa_run(ep, answer, IW_MPA_BORROWED);
	return true;
}

/*
 * Become the runner, in the caller's context, for an event and those that it
 * leads to, as long as all actions are among @actions; else raise the event. If
 * other events wait they go first, and the work item has to be the runner.
 */
static void run_in_place(struct iw_mpa_ep *ep, enum iw_mpa_event event,
			 u32 actions)
{
	unsigned long flags;
	bool claimed;

	spin_lock_irqsave(&ep->lock, flags);
	claimed = iw_mpa_ep_is_idle(ep) && !ep->events &&
		  iw_mpa_fsm_does_only(ep->state, event, actions);
	if (claimed)
		ep->busy = true;
	spin_unlock_irqrestore(&ep->lock, flags);
	if (!claimed)
		iw_mpa_raise(ep, event);
	while (claimed && event != IW_MPA_EV_NONE)
		event = run_next(ep, run_event(ep, event), actions, true);
}

/**
 * iw_mpa_first_fpdu - the driver has validated one whole FPDU
 * @ep: endpoint, from the hand-off
 *
 * This opens a responder's TX and, in the peer-to-peer model, completes its
 * accept (RFC 5044 7.1.2, RFC 6581 9.2). Later calls have no effect. With
 * IW_MPA_CAP_ATOMIC_OPEN this function may call open_tx.
 *
 * Context: any, also the driver's socket callbacks.
 */
void iw_mpa_first_fpdu(struct iw_mpa_ep *ep)
{
	if (iw_mpa_ep_check_call(ep, __func__))
		run_in_place(ep, IW_MPA_EV_FIRST_FPDU,
			     ep->dev->attr.caps & IW_MPA_CAP_ATOMIC_OPEN ?
			     IW_MPA_PROMPT_ACTIONS : 0);
}
EXPORT_SYMBOL_GPL(iw_mpa_first_fpdu);

/**
 * iw_mpa_close - close in order for the ULP, in its context if possible
 * @ep: endpoint, from the hand-off; the caller has a reference
 *
 * This does what iw_mpa_disconnect() does. If no other event of the connection
 * is being handled, finish_tx is called at once. If the driver has finished
 * within finish_tx, FIN is sent before this returns, which saves a work item.
 * stop() always comes from the work item.
 *
 * The socket is locked while FIN is sent. When it is unlocked TCP may call the
 * driver's data_ready, within this call. If data_ready calls completion
 * handlers, this function is for applications' QPs only: a verb must not call a
 * kernel ULP's handler (Documentation/infiniband/core_locking.rst).
 *
 * Context: process, sleeps, but does not wait for the peer; no lock that
 * finish_tx takes may be held.
 */
void iw_mpa_close(struct iw_mpa_ep *ep)
{
	unsigned int noio;

	might_sleep();
	if (!iw_mpa_ep_check_call(ep, __func__))
		return;
	noio = memalloc_noio_save();
	lock_map_acquire(&iw_mpa_runner_map);
	run_in_place(ep, IW_MPA_EV_ULP_CLOSED, IW_MPA_CLOSE_ACTIONS);
	lock_map_release(&iw_mpa_runner_map);
	memalloc_noio_restore(noio);
}
EXPORT_SYMBOL_GPL(iw_mpa_close);

// SPDX-License-Identifier: GPL-2.0
/*
 * The runner (the one context that handles an endpoint's events), and the
 * actions of the state table.
 *
 * iw_connect, iw_accept and iw_reject may handle an endpoint's events
 * themselves (be its runner). iw_cm has one worker for all connections: so such
 * a call handles its own event and IW_MPA_BORROWED raised events at most, and
 * leaves the rest to the endpoint's work item. A call that has to wait becomes
 * the runner once the present runner has handled one event.
 *
 * iw_mpa_first_fpdu() and iw_mpa_close() handle their event in the caller's
 * context if no other event is pending and its actions allow that. So
 * iw_mpa_first_fpdu() reports ESTABLISHED without the delay of a work item, and
 * iw_mpa_close() sends FIN itself, if the driver finishes within finish_tx().
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
/* Maximum of a peer's bytes that are read and dropped in state LINGER */
#define RUN_LINGER_BYTES	SZ_8M
/* Maximum of bytes that may follow a Request until the ULP has answered it */
#define RUN_EARLY_BYTES		SZ_16K
/*
 * How often an initiator repeats an RTR message that the peer may have missed.
 * The first repeat is sent after rtr_repeat_ms without an answer, each further
 * one after four times the wait before it. So the fifth is sent 341 times
 * rtr_repeat_ms after the RTR message.
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
 * Return: when a close by FIN that begins now has to end, in jiffies. The
 * removal of a device waits until its connections have ended: meanwhile the
 * limit for the whole close is linger_timeout_ms at most, which otherwise
 * limits only the wait for the next byte.
 */
static unsigned long run_end_until(const struct iw_mpa_ep *ep)
{
	unsigned int ms = READ_ONCE(ep->config->finish_timeout_ms);

	if (READ_ONCE(ep->dev->dying))
		ms = min(ms, READ_ONCE(ep->config->linger_timeout_ms));
	return (jiffies + msecs_to_jiffies(ms)) | 1;
}

/* Enter a state, maybe again; set ep->deadline. run_arm() sets the timer. */
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
 * Lower the IRD or ORD that the ULP asks for to the device's limit: the ULP may
 * ask for 255, which stands for "as many as possible", or for what the peer has
 * offered. 0x3fff stays: it leaves IRD and ORD to the ULPs (RFC 6581 9.1).
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

/*
 * The action BIND. Once it has succeeded iw_cm expects an event of the
 * connection, unless the action CANCEL is done within the same iw_connect or
 * iw_accept.
 */
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

/*
 * Write the source port that TCP has chosen into the cm_id, for rdma_cm. But if
 * iwpmd has mapped the port, leave the cm_id as it is: iwpmd identifies the
 * connection by the mapped port.
 */
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
 * rdma_cm chooses the source port from a port space of its own, so TCP may
 * already use the port. If it does, TCP chooses another source port, unless the
 * setting source_port_retry is off.
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
	/* With Fast Open TCP takes bytes already, to send them with its SYN. */
	if (err)
		iw_mpa_raise(ep, IW_MPA_EV_TCP_UP);
	return IW_MPA_EV_NONE;
}

/*
 * RFC 6581 10: a peer without revision 2 reads the Request and closes. A peer
 * that closes without reading the Request may have another reason: too many
 * connections, or a listener that was destroyed. So such a peer is offered
 * revision 2 once more. If it closes again without a Reply it is offered
 * revision 1: a peer without revision 2 may also send RST, which does not show
 * whether the peer has read the Request.
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
 * Abandon the TCP connection, with its pending events, so that its local port
 * is free at once. TCP sends RST and forgets the connection: this end can then
 * connect to the same peer from the same port. The peer has closed: a FIN in
 * place of RST would leave the port in use until the peer acknowledged it.
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

/* The peer closed without a Reply: connect again, from the same source port. */
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
 * A responder leaves bytes that arrive nevertheless to the driver, but only up
 * to RUN_EARLY_BYTES, so that a peer cannot use up memory.
 */
static enum iw_mpa_event run_check_early(struct iw_mpa_ep *ep)
{
	if (iw_mpa_sock_unread(&ep->sock) <= RUN_EARLY_BYTES)
		return IW_MPA_EV_NONE;
	iw_mpa_ep_set_reason(ep, IW_MPA_R_EARLY_DATA, 0);
	return IW_MPA_EV_FRAME_BAD;
}

/*
 * Raise CONNECT_REQUEST. The ULP may call iw_accept or iw_reject on another CPU
 * before this upcall has returned: such a call waits until the upcall has.
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

	/* True only if the setting fence has changed since iw_create_listen. */
	if (!iw_mpa_device_may_respond(ep->dev, fence)) {
		ep->call->err = -EOPNOTSUPP;
		return iw_mpa_ep_fail(ep, IW_MPA_EV_ACCEPT_FAILED, -EOPNOTSUPP);
	}
	len = iw_mpa_startup_make_reply(ep, reply);
	if (len < 0)
		return IW_MPA_EV_ACCEPT_FAILED;
	event = iw_mpa_offload_passive(ep, fence, reply, len);
	/* FIN without a Reply would mean: no revision 2 here. So send RST. */
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
 * Has the peer acknowledged or sent a byte since the last check, and is there
 * time left for the close by FIN? Without a time limit a peer that sends one
 * byte at a time could prolong its access to the ULP's memory, and the ULP's
 * wait for DISCONNECTED, for ever. If a device runs TCP, the socket's counters
 * do not change: then a close by FIN lasts one linger_timeout_ms at most.
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
 * Read and drop the peer's bytes while this end waits for the peer to close
 * (state LINGER): a socket that closes with unread bytes sends RST, not FIN.
 * Each call reads at most twice. If the second read finds bytes, more may
 * follow: READABLE is raised, so that the next call reads these.
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
 * RELEASE is each endpoint's last action. No event is handled after it, and no
 * context uses the endpoint after its memory was freed:
 *  - socket callbacks, also the driver's, were unhooked under sk_callback_lock;
 *  - the driver: stop() has returned; a driver needs a reference for later
 *    calls;
 *  - the timer was deleted, and its handler has returned;
 *  - the work item holds a reference while it is queued, and finds state DEAD;
 *  - iw_accept and iw_reject look the endpoint up by its number, which takes a
 *    reference, and find state DEAD;
 *  - other callers that raise events hold a reference, the device's lock or
 *    rcu_read_lock(), and find state DEAD.
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
		if (!ep->call->err)	/* an action may have set err */
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
 * Do what the state table says for an event in the present state: enter the
 * next state, then do the actions, in the order of their numbers. If an action
 * returns an event, the remaining actions are skipped.
 *
 * Context: process; or any, if all actions are among IW_MPA_PROMPT_ACTIONS.
 *
 * Return: the event that an action returned, to handle next; or IW_MPA_EV_NONE.
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
 * Few waits last until their deadline, and it costs less to let a timer fire
 * too early (iw_mpa_event_timeout() then starts it again) than to set it for
 * each wait. So the timer is set only if it is not pending or would fire after
 * the deadline, and only when the context that handles events (runner) stops.
 */
static void run_arm(struct iw_mpa_ep *ep)
{
	lockdep_assert_held(&ep->lock);

	if (ep->deadline && (!timer_pending(&ep->timer) ||
			     time_after(ep->timer.expires, ep->deadline)))
		mod_timer(&ep->timer, ep->deadline);
}

/*
 * Return: the first pending event that has an entry in the state table for the
 * present state, or IW_MPA_EV_NONE. Pending events without an entry are
 * dropped: no runner is needed for them. TIMED_OUT is dropped, too, if a new
 * wait has begun since the timer fired.
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
 * Return: the event that the caller, which is the runner (it alone handles the
 * endpoint's events), has to handle next; or IW_MPA_EV_NONE: then it is not the
 * runner any more. The caller handles an event only if its actions are among
 * @actions, and if @may_go_on. All is decided under one hold of ep->lock: so no
 * event is left without a runner.
 *
 * An event that an action has returned (@found) is left to the work item, which
 * handles it before all pending events: ep->busy stays set for it. Otherwise
 * the caller goes on, unless iw_accept or iw_reject waits for its turn
 * (ep->awaited): that call then gets the pending events. If none waits, the
 * work item gets the pending events that are not for the caller.
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
 * Handle an event that has an entry in the state table for the present state,
 * and then up to @budget events that were raised in the meantime. The caller is
 * the runner: no other context handles the endpoint's events. This drops a
 * reference of the caller.
 *
 * Storage may need new connections before it can write. So no allocation here,
 * nor one in a driver's op, may wait for writes to storage.
 *
 * Context: process; may sleep.
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

/*
 * The endpoint's work item. An event in ep->found was left to it by
 * iw_mpa_first_fpdu() or iw_mpa_close(): then no other context handles events.
 */
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
 * Return: a new endpoint in state IDLE, with all its members set. The caller
 * alone may handle its events, and gets two references: iw_mpa_run() drops one,
 * RELEASE the other. Or an error: -ENOMEM; -ENODEV if the device is being
 * removed.
 */
struct iw_mpa_ep *iw_mpa_run_create(struct iw_mpa_device *dev, struct net *net,
				    bool initiator, const void *request_pd,
				    u16 request_pd_len)
{
	struct iw_mpa_ep *ep = iw_mpa_ep_create(dev, net, initiator, request_pd,
						request_pd_len);

	if (IS_ERR(ep))
		return ep;
	/* The caller is the runner: no other context uses these members yet. */
	INIT_WORK(&ep->work, iw_mpa_run_work);
	timer_setup(&ep->timer, iw_mpa_event_timeout, 0);
	ep->sock.report = iw_mpa_event_of_sock;
	return iw_mpa_ep_hold(ep);
}

/*
 * Try to become the runner (the context that handles the endpoint's events).
 * Return: false if there is a runner: the caller then has to wait and call
 * again, and no other context becomes the runner in between. If the state table
 * has no entry for the event any more, @claimed is false, and the work item
 * handles the pending events.
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
 * Become the runner (the context that handles the endpoint's events) for
 * iw_accept or iw_reject. There may be a runner already: the ULP may answer on
 * another CPU before the upcall of CONNECT_REQUEST has returned, and may reject
 * while the connection is coming up or ending. Then this waits until that
 * runner has handled one event: the runner may be in an op of the driver, but
 * does not wait for the peer.
 *
 * Return: true if the caller may handle the event now; false if the accept or
 * reject comes too late: the state table has no entry for it any more.
 */
bool iw_mpa_run_claim(struct iw_mpa_ep *ep, enum iw_mpa_event event)
{
	bool claimed = false;

	iw_mpa_event_may_wait();
	wait_var_event(&ep->busy, run_try_claim(ep, event, &claimed));
	return claimed;
}

/*
 * Handle iw_accept or iw_reject of a responder. Drops the caller's reference.
 *
 * Return: false if the ULP's answer comes too late to have an effect.
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
 * Handle an event, and the events that follow it, in the caller's context, as
 * long as all actions are among @actions. If this context must not handle the
 * event, since it needs another action, or since other events are pending (they
 * go first) or being handled, raise the event: the runner or the work item
 * handles it.
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
 * @ep: the endpoint that prepare() got
 *
 * This lets a responder's driver transmit (open_tx()) and, in the peer-to-peer
 * model, completes the accept: ESTABLISHED is reported (RFC 5044 7.1.2, RFC
 * 6581 9.2). Calls after the first have no effect. With IW_MPA_CAP_ATOMIC_OPEN
 * this function may itself call open_tx().
 *
 * Context: any, also within the driver's socket callbacks.
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
 * iw_mpa_close - close a connection in order, if possible without a work item
 * @ep: the endpoint that prepare() got; the caller has a reference
 *
 * This does what iw_mpa_disconnect() does if its @abrupt is false. If no other
 * event of the connection is pending or being handled, this function calls
 * finish_tx() itself. If the driver calls iw_mpa_tx_finished() within
 * finish_tx(), this function sends FIN before it returns, which saves a work
 * item. It never calls stop(): the work item does.
 *
 * The socket is locked while FIN is sent. When the socket is unlocked, TCP may
 * call the driver's sk_data_ready, within this call. If that callback calls
 * completion handlers, use this function only for QPs of applications: a verb
 * must not call a kernel ULP's completion handler
 * (Documentation/infiniband/core_locking.rst).
 *
 * Context: process; sleeps, but does not wait for the peer. No lock that
 * finish_tx() takes may be held.
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

// SPDX-License-Identifier: GPL-2.0
/*
 * The actions of the state table. The endpoint's runner does each of them in process context,
 * without a lock; OPEN_TX and REPORT_UP in any context: see IW_MPA_PROMPT_ACTIONS. An action may
 * end in an event. Actions of one subject alone are in the file of that subject.
 */

#include "action.h"
#include "backlog.h"
#include "config.h"
#include "end.h"
#include "ep.h"
#include "event.h"
#include "offload.h"
#include "qp.h"
#include "question.h"
#include "rnic.h"
#include "startup.h"
#include "stats.h"
#include "trace.h"
#include "upcall.h"
#include "way.h"

#include <linux/jiffies.h>
#include <linux/printk.h>
#include <linux/ratelimit.h>
#include <linux/sizes.h>
#include <net/l3mdev.h>
#include <rdma/ib_verbs.h>
#include <rdma/iw_cm.h>

/* Octets that a lingering peer may still send until it hears of the end */
#define ACT_LINGER_OCTETS	SZ_8M
/* Octets behind a Request that are kept until the ULP has decided */
#define ACT_EARLY_OCTETS	SZ_16K
/*
 * How often an RTR message is repeated. The first repeat waits for rtr_repeat_ms, each further one
 * four times as long as the one before: so the last goes out after 341 times rtr_repeat_ms.
 */
#define ACT_REPEATS		5
/* From this repeat on the message is sent also if the ULP has sent something behind it. */
#define ACT_REPEAT_BEHIND	3

/*
 * The ULP may ask for more than the device can: rdma_cm passes on 255 for "as much as you have",
 * and what the peer offered. 0x3fff leaves the depth to the ULPs (RFC 6581 9.1).
 */
static u16 act_depth(u32 wanted, u16 limit)
{
	return wanted == IW_MPA_DEPTH_ULP ? IW_MPA_DEPTH_ULP : min_t(u32, wanted, limit);
}

static int act_take_wishes(struct iw_mpa_ep *ep, const struct iw_cm_conn_param *param)
{
	bool enhanced = ep->initiator ? ep->local.rev >= IW_MPA_REV_2 : ep->peer.enhanced;
	struct iw_mpa_local *local = &ep->local;

	if (param->private_data_len > IW_MPA_PD_MAX - ep->dev->attr.pd_size -
				      (enhanced ? IW_MPA_ENHANCED_SIZE : 0))
		return -EINVAL;
	local->ird = act_depth(param->ird, local->max_ird);
	local->ord = act_depth(param->ord, local->max_ord);
	if (local->strict && (local->ird != param->ird || local->ord != param->ord))
		return -EINVAL;
	return 0;
}

/*
 * The listener's device got the connection, and the ULP has made its QP on the device that
 * rdma_cm has chosen. If these differ, the number of the QP says nothing here, or names a QP of
 * another ULP.
 */
static int act_check_device(struct iw_mpa_ep *ep)
{
	struct iw_mpa_device *dev = ep->dev;
	const struct ib_device *chosen;

	chosen = ep->initiator ? dev->ibdev : iw_mpa_upcall_device(ep->call->id);
	if (chosen == dev->ibdev)
		return 0;
	iw_mpa_end_set_reason(ep, IW_MPA_R_WRONG_DEVICE, -EINVAL);
	if (READ_ONCE(ep->config->log) && ___ratelimit(&dev->log_limit, "iw_mpa"))
		pr_notice("iw_mpa: %s: connection %lu: rdma_cm chose %s for a connection to %pISc\n",
			  dev_name(&dev->ibdev->dev), ep->id, dev_name(&chosen->dev),
			  &ep->tuple.local.sa);
	return -EINVAL;
}

/* After success iw_cm waits for an event, unless CANCEL is done before the call returns. */
static enum iw_mpa_event act_bind(struct iw_mpa_ep *ep)
{
	const struct iw_cm_conn_param *param = ep->call->param;
	int err = act_check_device(ep);

	if (!err)
		err = act_take_wishes(ep, param);
	if (!err)
		err = iw_mpa_qp_bind(ep, param->qpn);
	if (err) {
		ep->call->err = err;
		iw_mpa_end_set_reason(ep, IW_MPA_R_LOCAL, err);
		return IW_MPA_EV_BIND_FAILED;
	}
	iw_mpa_upcall_expect(&ep->up, ep->call->id, ep->initiator ? IW_MPA_UP_REPLY :
								    IW_MPA_UP_ESTABLISHED);
	return IW_MPA_EV_NONE;
}

/* Tell rdma_cm the port that TCP chose. A mapped port stays: iwpmd has to know it. */
static void act_note_port(struct iw_mpa_ep *ep)
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
 * rdma_cm chooses the source port from a port space of its own, so TCP may use the port already.
 * Then TCP chooses one, unless a setting forbids it.
 */
static enum iw_mpa_event act_open(struct iw_mpa_ep *ep)
{
	struct iw_cm_id *id = ep->up.cm_id;
	struct iw_mpa_sock_opts opts = {
		.net		= ep->net,
		.local		= iw_mpa_addr(&id->m_local_addr),
		.remote		= iw_mpa_addr(&id->m_remote_addr),
		.ifindex	= l3mdev_master_ifindex_by_index(ep->net, ep->ifindex),
		.tos		= id->tos,
		.tos_set	= id->tos_set,
		.afonly		= id->afonly,
		.fast_open	= READ_ONCE(ep->config->fast_open),
	};
	int err;

	ep->request_out = false;
	ep->request_sent = 0;
	opts.way = iw_mpa_way(&opts, ep->ifindex);
	err = iw_mpa_sock_connect(&ep->sock, &iw_mpa_event_sock_ops, &opts);
	if ((err == -EADDRINUSE || err == -EADDRNOTAVAIL) &&
	    READ_ONCE(ep->config->source_port_retry)) {
		opts.any_port = true;
		err = iw_mpa_sock_connect(&ep->sock, &iw_mpa_event_sock_ops, &opts);
	}
	if (err < 0) {
		if (ep->call)
			ep->call->err = err;
		iw_mpa_end_set_reason(ep, IW_MPA_R_TCP_ERROR, err);
		return IW_MPA_EV_OPEN_FAILED;
	}
	iw_mpa_sock_tuple(ep->sock.sock, &ep->tuple);
	if (opts.any_port)
		act_note_port(ep);
	/* With Fast Open TCP takes the Request before it is connected. */
	if (err)
		iw_mpa_raise(ep, IW_MPA_EV_TCP_UP);
	return IW_MPA_EV_NONE;
}

/*
 * RFC 6581 10: a peer without revision 2 reads the Request and closes. Other closes say nothing of
 * revisions: the peer had too many connections, or its listener went. Such a peer is offered
 * revision 2 once more. If it closes again it may be one that resets, and gets revision 1.
 */
static void act_choose_revision(struct iw_mpa_ep *ep)
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

/* The peer has closed without a Reply. The next connection has the same source port. */
static enum iw_mpa_event act_reopen(struct iw_mpa_ep *ep)
{
	if (!ep->fallback) {
		iw_mpa_end_set_reason(ep, IW_MPA_R_NO_REV_2, -READ_ONCE(ep->tcp_err));
		return IW_MPA_EV_NO_REV_2;
	}
	act_choose_revision(ep);
	iw_mpa_sock_abort(&ep->sock);
	iw_mpa_event_forget_tcp(ep);
	return act_open(ep);
}

/*
 * RFC 5044 7.1.2: an initiator sends nothing between its Request and the Reply. What came all the
 * same is left for the driver, but a peer does not get the host to keep more while the ULP thinks.
 */
static enum iw_mpa_event act_check_early(struct iw_mpa_ep *ep)
{
	if (iw_mpa_sock_unread(&ep->sock) <= ACT_EARLY_OCTETS)
		return IW_MPA_EV_NONE;
	iw_mpa_end_set_reason(ep, IW_MPA_R_EARLY_DATA, 0);
	return IW_MPA_EV_FRAME_BAD;
}

static enum iw_mpa_event act_handed_off(struct iw_mpa_ep *ep, enum iw_mpa_event event)
{
	if (ep->off.why)
		iw_mpa_end_set_reason(ep, ep->off.why, ep->off.err);
	return event;
}

static enum iw_mpa_event act_handoff_active(struct iw_mpa_ep *ep)
{
	return act_handed_off(ep, iw_mpa_offload_active(&ep->off, ep, &ep->sock, &ep->params,
							READ_ONCE(ep->config->rtr_repeat_ms)));
}

static enum iw_mpa_event act_handoff_passive(struct iw_mpa_ep *ep)
{
	bool fence = READ_ONCE(ep->config->fence);
	u8 reply[IW_MPA_FRAME_MAX];
	enum iw_mpa_event event;
	int len;

	/* iw_create_listen has refused such a device, unless the setting was changed since. */
	if (!iw_mpa_device_may_respond(ep->dev, fence)) {
		ep->call->err = -EOPNOTSUPP;
		iw_mpa_end_set_reason(ep, IW_MPA_R_LOCAL, -EOPNOTSUPP);
		return IW_MPA_EV_ACCEPT_FAILED;
	}
	len = iw_mpa_startup_make_reply(ep, reply);
	if (len < 0)
		return IW_MPA_EV_ACCEPT_FAILED;
	event = iw_mpa_offload_passive(&ep->off, ep, &ep->sock, &ep->params, fence, reply, len);
	/* FIN in place of a Reply would say that the revision is unknown here. */
	if (event == IW_MPA_EV_REPLY_FAILED && !ep->off.takeover)
		iw_mpa_sock_reset(&ep->sock);
	return act_handed_off(ep, event);
}

static enum iw_mpa_event act_open_tx(struct iw_mpa_ep *ep)
{
	iw_mpa_offload_open_tx(&ep->off);
	return IW_MPA_EV_NONE;
}

/* No FPDU has come, but fence_timeout_ms has passed. */
static enum iw_mpa_event act_lift_fence(struct iw_mpa_ep *ep)
{
	iw_mpa_count_for(ep->dev->stats, IW_MPA_CNT_fence_lifted);
	return act_open_tx(ep);
}

static enum iw_mpa_event act_report_up(struct iw_mpa_ep *ep)
{
	int err = iw_mpa_upcall_up(&ep->up, &ep->peer, ep->initiator ? &ep->tuple : NULL);

	if (err) {
		iw_mpa_end_set_reason(ep, IW_MPA_R_EVENT_LOST, err);
		return IW_MPA_EV_EVENT_LOST;
	}
	iw_mpa_count_for(ep->dev->stats, IW_MPA_CNT_established);
	return IW_MPA_EV_NONE;
}

static enum iw_mpa_event act_check_answer(struct iw_mpa_ep *ep)
{
	if (ep->repeats == ACT_REPEATS ||
	    iw_mpa_offload_is_answered(&ep->off, &ep->sock))
		return IW_MPA_EV_RTR_SETTLED;
	return IW_MPA_EV_NONE;
}

static enum iw_mpa_event act_repeat_rtr(struct iw_mpa_ep *ep)
{
	ep->repeats++;
	if (iw_mpa_offload_repeat_rtr(&ep->off, &ep->sock, ep->repeats >= ACT_REPEAT_BEHIND))
		iw_mpa_count_for(ep->dev->stats, IW_MPA_CNT_rtr_repeated);
	return IW_MPA_EV_NONE;
}

/*
 * Has the peer acknowledged or sent octets since the last look, and is there time left for the end?
 * A peer that moves one octet at a time would otherwise keep the connection, its right to place and
 * a ULP that waits for DISCONNECTED for ever. If a device runs TCP the numbers of the socket do not
 * move: then an orderly end takes one linger_timeout_ms at most.
 */
static enum iw_mpa_event act_check_progress(struct iw_mpa_ep *ep)
{
	u32 before = ep->progress;

	ep->progress = iw_mpa_sock_progress(&ep->sock);
	return ep->progress == before || time_after_eq(jiffies, ep->until) ? IW_MPA_EV_STALLED :
									     IW_MPA_EV_NONE;
}

static enum iw_mpa_event act_restart_timer(struct iw_mpa_ep *ep)
{
	iw_mpa_event_enter(ep, ep->state);
	return IW_MPA_EV_NONE;
}

static enum iw_mpa_event act_kick_rx(struct iw_mpa_ep *ep)
{
	iw_mpa_offload_kick_rx(&ep->off);
	return IW_MPA_EV_NONE;
}

static enum iw_mpa_event act_end_stream(struct iw_mpa_ep *ep)
{
	iw_mpa_raise(ep, IW_MPA_EV_STREAM_ENDED);
	return IW_MPA_EV_NONE;
}

static enum iw_mpa_event act_finish_tx(struct iw_mpa_ep *ep)
{
	ep->progress = iw_mpa_sock_progress(&ep->sock);
	return iw_mpa_offload_finish_tx(&ep->off) ? IW_MPA_EV_NONE : IW_MPA_EV_CANNOT_FINISH;
}

static enum iw_mpa_event act_stop(struct iw_mpa_ep *ep)
{
	iw_mpa_offload_stop(&ep->off, &ep->sock, ep->reason);
	return IW_MPA_EV_NONE;
}

static enum iw_mpa_event act_cancel(struct iw_mpa_ep *ep)
{
	iw_mpa_upcall_cancel(&ep->up);
	return IW_MPA_EV_NONE;
}

/*
 * iw_connect or iw_accept returns the errno of what has failed in BIND or OPEN. After other
 * failures it returns the errno of the reason.
 */
static enum iw_mpa_event act_fail_call(struct iw_mpa_ep *ep)
{
	if (!ep->call->err)
		ep->call->err = iw_mpa_reason_errno(ep->reason);
	return IW_MPA_EV_NONE;
}

static enum iw_mpa_event act_report_down(struct iw_mpa_ep *ep)
{
	iw_mpa_count_for(ep->dev->stats, ep->up.phase == IW_MPA_UP_CLOSE ?
					 IW_MPA_CNT_closed : IW_MPA_CNT_failed);
	iw_mpa_upcall_down(&ep->up, iw_mpa_reason_errno(ep->reason) ?: -EIO,
			   ep->reason == IW_MPA_R_REJECTED ? &ep->peer : NULL);
	return IW_MPA_EV_NONE;
}

static enum iw_mpa_event act_shutdown(struct iw_mpa_ep *ep)
{
	iw_mpa_sock_shutdown(&ep->sock);
	return IW_MPA_EV_NONE;
}

/* If octets of the peer were left unread, TCP would send RST in place of FIN. */
static enum iw_mpa_event act_drain(struct iw_mpa_ep *ep)
{
	int len;

	while (ep->drained < ACT_LINGER_OCTETS) {
		len = iw_mpa_sock_discard(&ep->sock, ACT_LINGER_OCTETS - ep->drained);
		if (len == -EAGAIN)
			return IW_MPA_EV_NONE;
		if (len <= 0)
			break;
		ep->drained += len;
	}
	return IW_MPA_EV_STREAM_ENDED;
}

/*
 * This is the last action of each endpoint. No context uses the endpoint afterwards:
 *  - socket callbacks, the driver's too, were unhooked under sk_callback_lock;
 *  - the driver: stop() has returned, and the driver calls with a reference only;
 *  - the timer was deleted; this has waited for its handler;
 *  - the work item holds a reference while it is queued, and finds DEAD;
 *  - iw_accept and iw_reject take a reference by the number, and find DEAD;
 *  - who ends the endpoint from outside holds a reference, the device's lock or that of RCU, and
 *    finds DEAD.
 */
static enum iw_mpa_event act_release(struct iw_mpa_ep *ep)
{
	struct iw_mpa_device *dev = ep->dev;

	iw_mpa_sock_release(&ep->sock);
	iw_mpa_event_end(ep);
	iw_mpa_startup_end(ep);
	iw_mpa_backlog_put(ep);
	iw_mpa_ep_unregister(ep);
	iw_mpa_count_reason(dev->stats, ep->reason);
	iw_mpa_ep_put(ep);
	iw_mpa_device_put(dev);
	return IW_MPA_EV_NONE;
}

/*
 * What each action of IW_MPA_ACTIONS() does. A cell of the state table names a set of actions; they
 * are done in the order of their numbers.
 */
static enum iw_mpa_event (*const actions[IW_MPA_ACT_COUNT])(struct iw_mpa_ep *ep) = {
	[IW_MPA_ACT_BIND]		= act_bind,
	[IW_MPA_ACT_OPEN]		= act_open,
	[IW_MPA_ACT_REOPEN]		= act_reopen,
	[IW_MPA_ACT_SEND_REQ]		= iw_mpa_startup_send_request,
	[IW_MPA_ACT_READ_REQ]		= iw_mpa_startup_read_request,
	[IW_MPA_ACT_READ_REP]		= iw_mpa_startup_read_reply,
	[IW_MPA_ACT_CHECK_EARLY]	= act_check_early,
	[IW_MPA_ACT_ASK]		= iw_mpa_question_ask,
	[IW_MPA_ACT_QUEUE]		= iw_mpa_backlog_queue,
	[IW_MPA_ACT_HANDOFF_ACTIVE]	= act_handoff_active,
	[IW_MPA_ACT_HANDOFF_PASSIVE]	= act_handoff_passive,
	[IW_MPA_ACT_OPEN_TX]		= act_open_tx,
	[IW_MPA_ACT_LIFT_FENCE]		= act_lift_fence,
	[IW_MPA_ACT_REPORT_UP]		= act_report_up,
	[IW_MPA_ACT_CHECK_ANSWER]	= act_check_answer,
	[IW_MPA_ACT_REPEAT_RTR]		= act_repeat_rtr,
	[IW_MPA_ACT_CHECK_PROGRESS]	= act_check_progress,
	[IW_MPA_ACT_RESTART_TIMER]	= act_restart_timer,
	[IW_MPA_ACT_KICK_RX]		= act_kick_rx,
	[IW_MPA_ACT_END_STREAM]		= act_end_stream,
	[IW_MPA_ACT_FINISH_TX]		= act_finish_tx,
	[IW_MPA_ACT_STOP]		= act_stop,
	[IW_MPA_ACT_SEND_TERM]		= iw_mpa_startup_send_term,
	[IW_MPA_ACT_SEND_REJECT]	= iw_mpa_startup_send_reject,
	[IW_MPA_ACT_UNBIND]		= iw_mpa_qp_unbind,
	[IW_MPA_ACT_CANCEL]		= act_cancel,
	[IW_MPA_ACT_FAIL_CALL]		= act_fail_call,
	[IW_MPA_ACT_REPORT_DOWN]	= act_report_down,
	[IW_MPA_ACT_SHUTDOWN]		= act_shutdown,
	[IW_MPA_ACT_DRAIN]		= act_drain,
	[IW_MPA_ACT_RELEASE]		= act_release,
};

/* The event that an action ends in is the result; the actions behind it are not done. */
static enum iw_mpa_event act_all(struct iw_mpa_ep *ep, u32 set)
{
	enum iw_mpa_event event = IW_MPA_EV_NONE;

	while (set && event == IW_MPA_EV_NONE) {
		enum iw_mpa_action_nr nr = __ffs(set);

		set &= ~BIT(nr);
		event = actions[nr](ep);
	}
	return event;
}

/**
 * iw_mpa_act - do what the state table says for an event
 * @ep: endpoint
 * @event: one that has a cell in the state
 *
 * Context: the runner; process, or any if there are IW_MPA_PROMPT_ACTIONS alone.
 *
 * Return: the event that follows, which always has a cell; or IW_MPA_EV_NONE.
 */
enum iw_mpa_event iw_mpa_act(struct iw_mpa_ep *ep, enum iw_mpa_event event)
{
	const struct iw_mpa_transition *tr = iw_mpa_fsm_step(ep->state, event);

	if (WARN_ON_ONCE(!tr->defined))
		return IW_MPA_EV_NONE;
	if (iw_mpa_fsm_states[tr->next].phase == IW_MPA_PHASE_END)
		iw_mpa_end_note(ep, event);
	trace_iw_mpa_state(ep->id, ep->state, event, tr->next, ep->reason);
	if (tr->next != ep->state)
		iw_mpa_event_enter(ep, tr->next);
	return act_all(ep, tr->actions);
}

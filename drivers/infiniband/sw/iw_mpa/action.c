// SPDX-License-Identifier: GPL-2.0
/*
 * What the cells of the state table say, done. Each action runs in process
 * context as the endpoint's one runner, without a lock, and may end in an event.
 */

#include "action.h"
#include "config.h"
#include "ep.h"
#include "rnic.h"
#include "run.h"
#include "stats.h"
#include "trace.h"

#include <linux/inet.h>
#include <linux/netdevice.h>
#include <linux/sizes.h>
#include <rdma/iw_cm.h>

/* How much a lingering peer may still have to say: what was on its way. */
#define ACT_LINGER_OCTETS	SZ_1M
/* The last one follows the RTR message by 341 times rtr_repeat_ms. */
#define ACT_REPEATS		5
/* The first at which it is repeated though the ULP has sent something behind it */
#define ACT_REPEAT_BEHIND	3

/* rdma_cm is told which port it got. A mapped one is iwpmd's, not ours to change. */
static void act_note_port(struct iw_mpa_ep *ep)
{
	struct iw_cm_id *id = ep->up.cm_id;
	struct sockaddr_storage local;

	iw_mpa_count_for(ep->dev->stats, IW_MPA_CNT_source_port_retried);
	if (id->mapped || iw_mpa_sock_local(&ep->sock, &local))
		return;
	*iw_mpa_sock_port(&id->m_local_addr) = *iw_mpa_sock_port(&local);
	*iw_mpa_sock_port(&id->local_addr) = *iw_mpa_sock_port(&local);
}

/**
 * iw_mpa_act_open - start to connect
 * @ep: initiator
 *
 * rdma_cm chooses the source port from a port space of its own, so TCP may use
 * it already; then the stack chooses one, unless a setting forbids.
 *
 * Context: the runner.
 *
 * Return: 0, or a negative errno.
 */
int iw_mpa_act_open(struct iw_mpa_ep *ep)
{
	const struct iw_mpa_config *config = iw_mpa_ep_config(ep);
	struct iw_cm_id *id = ep->up.cm_id;
	struct iw_mpa_sock_opts opts = {
		.net		= dev_net(ep->dev->netdev),
		.local		= &id->m_local_addr,
		.remote		= &id->m_remote_addr,
		.tos		= id->tos,
		.tos_set	= id->tos_set,
		.afonly		= id->afonly,
	};
	int err;

	err = iw_mpa_sock_connect(&ep->sock, &iw_mpa_run_sock_ops, &opts);
	if ((err == -EADDRINUSE || err == -EADDRNOTAVAIL) &&
	    READ_ONCE(config->source_port_retry)) {
		opts.any_port = true;
		err = iw_mpa_sock_connect(&ep->sock, &iw_mpa_run_sock_ops, &opts);
		if (!err)
			act_note_port(ep);
	}
	if (!err)
		iw_mpa_ep_note_tuple(ep);
	return err;
}

static enum iw_mpa_event act_reconnect(struct iw_mpa_ep *ep)
{
	int err;

	iw_mpa_sock_release(&ep->sock);
	iw_mpa_run_forget_tcp(ep);
	iw_mpa_ep_reset_reader(ep);
	ep->local.rev = IW_MPA_REV_1;
	ep->fallback = false;
	iw_mpa_count_for(ep->dev->stats, IW_MPA_CNT_v1_fallback);
	err = iw_mpa_act_open(ep);
	if (!err)
		return IW_MPA_EV_NONE;
	iw_mpa_run_set_error(ep, IW_MPA_R_TCP_ERROR, err);
	return IW_MPA_EV_SEND_FAILED;
}

/* Encode @frame with @pd into @buf and note it as sent. */
static int act_encode(struct iw_mpa_ep *ep, const void *pd, u16 pd_len,
		      u8 buf[IW_MPA_FRAME_MAX])
{
	u8 both[IW_MPA_DRIVER_PD_MAX + IW_MPA_PD_MAX];
	u8 size = ep->dev->attr.pd_size;
	int len;

	if (size) {
		iw_mpa_offload_put_pd(&ep->off, both, ep->sent.reject);
		memcpy(both + size, pd, pd_len);
		pd = both;
		pd_len += size;
	}
	ep->sent.pd = pd;
	ep->sent.pd_len = pd_len;
	len = iw_mpa_frame_encode(&ep->sent, buf, IW_MPA_FRAME_MAX);
	trace_iw_mpa_frame(ep, true, &ep->sent);
	ep->sent.pd = NULL;
	return len;
}

static enum iw_mpa_event act_send_req(struct iw_mpa_ep *ep)
{
	u8 buf[IW_MPA_FRAME_MAX];
	int len, err;

	iw_mpa_make_request(&ep->local, &ep->sent);
	len = act_encode(ep, ep->request_pd, ep->request_pd_len, buf);
	if (len < 0)
		return IW_MPA_EV_SEND_FAILED;
	iw_mpa_sock_save_acks(&ep->sock);
	err = iw_mpa_sock_send(&ep->sock, buf, len);
	if (err == -ECONNRESET || err == -EPIPE) {
		WRITE_ONCE(ep->tcp_err, -err);
		return IW_MPA_EV_PEER_RESET;
	}
	if (!err)
		return IW_MPA_EV_NONE;
	iw_mpa_run_set_error(ep, IW_MPA_R_SEND, err);
	return IW_MPA_EV_SEND_FAILED;
}

/*
 * Read what is there of the peer's frame, and not one octet behind it.
 *
 * Return: IW_MPA_EV_NONE if more is to come or the frame is complete.
 */
static enum iw_mpa_event act_read(struct iw_mpa_ep *ep)
{
	struct iw_mpa_reader *rd = &ep->reader;
	enum iw_mpa_reason reason;
	size_t want;
	int len;

	while ((want = iw_mpa_reader_want(rd))) {
		if (iw_mpa_ep_make_room(ep)) {
			iw_mpa_run_set_reason(ep, IW_MPA_R_LOCAL);
			return IW_MPA_EV_FRAME_BAD;
		}
		len = iw_mpa_sock_recv(&ep->sock, iw_mpa_reader_pos(rd), want);
		if (len == -EAGAIN)
			return IW_MPA_EV_NONE;
		if (!len)
			return IW_MPA_EV_STREAM_ENDED;
		if (len < 0) {
			WRITE_ONCE(ep->tcp_err, -len);
			return IW_MPA_EV_PEER_RESET;
		}
		reason = iw_mpa_reader_advance(rd, len);
		if (reason) {
			iw_mpa_run_set_reason(ep, reason);
			return IW_MPA_EV_FRAME_BAD;
		}
	}
	/* A FIN behind the frame may be what had us read: it holds for later. */
	iw_mpa_sock_check(&ep->sock);
	return IW_MPA_EV_NONE;
}

/* The first octets are the driver's, the ULP gets the rest. */
static void act_split_pd(struct iw_mpa_ep *ep)
{
	u8 size = ep->dev->attr.pd_size;

	if (!size || ep->peer.pd_len < size)
		return;
	ep->off.peer_pd = ep->peer.pd;
	ep->peer.pd += size;
	ep->peer.pd_len -= size;
}

static enum iw_mpa_event act_decode(struct iw_mpa_ep *ep)
{
	enum iw_mpa_reason reason;

	reason = iw_mpa_frame_decode(ep->reader.buf, ep->reader.have,
				     ep->reader.reply, &ep->peer);
	if (reason) {
		iw_mpa_run_set_reason(ep, reason);
		return IW_MPA_EV_FRAME_BAD;
	}
	trace_iw_mpa_frame(ep, false, &ep->peer);
	act_split_pd(ep);
	return IW_MPA_EV_NONE;
}

static enum iw_mpa_event act_read_req(struct iw_mpa_ep *ep)
{
	enum iw_mpa_event event = act_read(ep);

	if (event != IW_MPA_EV_NONE || iw_mpa_reader_want(&ep->reader))
		return event;
	event = act_decode(ep);
	return event == IW_MPA_EV_NONE ? IW_MPA_EV_REQ_GOOD : event;
}

static enum iw_mpa_event act_read_rep(struct iw_mpa_ep *ep)
{
	enum iw_mpa_event event = act_read(ep);
	enum iw_mpa_reason reason;

	if (event != IW_MPA_EV_NONE || iw_mpa_reader_want(&ep->reader))
		return event;
	event = act_decode(ep);
	if (event != IW_MPA_EV_NONE)
		return event;

	reason = iw_mpa_negotiate_reply(&ep->local, &ep->sent, &ep->peer,
					&ep->params);
	if (!reason)
		return IW_MPA_EV_REP_GOOD;
	iw_mpa_run_set_reason(ep, reason);
	if (reason == IW_MPA_R_REJECTED)
		return IW_MPA_EV_REP_REJECT;
	return iw_mpa_reason_term_code(reason) ? IW_MPA_EV_TERM_DUE :
						 IW_MPA_EV_FRAME_BAD;
}

static enum iw_mpa_event act_handoff_active(struct iw_mpa_ep *ep)
{
	enum iw_mpa_reason reason;
	int err;

	reason = iw_mpa_offload_start(&ep->off, ep, &ep->sock, &ep->params, 0);
	if (reason) {
		iw_mpa_run_set_error(ep, reason, ep->off.err);
		return IW_MPA_EV_PREPARE_FAILED;
	}
	err = iw_mpa_offload_open(&ep->off, &ep->sock, &ep->params);
	if (err) {
		iw_mpa_run_set_error(ep, IW_MPA_R_DRIVER, err);
		return IW_MPA_EV_STREAM_DOWN;
	}
	if (iw_mpa_offload_may_repeat(&ep->off, &ep->params) &&
	    READ_ONCE(iw_mpa_ep_config(ep)->rtr_repeat_ms))
		return IW_MPA_EV_HANDED_OFF_QUIET;
	return IW_MPA_EV_HANDED_OFF;
}

static enum iw_mpa_event act_handoff_passive(struct iw_mpa_ep *ep)
{
	u8 buf[IW_MPA_FRAME_MAX];
	enum iw_mpa_reason reason;
	int len, err;

	reason = iw_mpa_negotiate_request(&ep->local, &ep->peer, &ep->sent,
					  &ep->params);
	if (!reason) {
		len = act_encode(ep, ep->reply_pd, ep->reply_pd_len, buf);
		if (len < 0)
			reason = IW_MPA_R_LOCAL;
	}
	if (!reason)
		reason = iw_mpa_offload_start(&ep->off, ep, &ep->sock,
					      &ep->params, len);
	if (reason) {
		iw_mpa_run_set_error(ep, reason, ep->off.err);
		ep->reply_pd_len = 0;
		return IW_MPA_EV_ACCEPT_FAILED;
	}
	err = iw_mpa_offload_send_reply(&ep->off, &ep->sock, buf, len);
	if (err) {
		iw_mpa_run_set_error(ep, IW_MPA_R_SEND, err);
		return IW_MPA_EV_REPLY_FAILED;
	}
	if (ep->params.p2p)
		return IW_MPA_EV_HANDED_OFF_RTR;
	if (READ_ONCE(iw_mpa_ep_config(ep)->fence))
		return IW_MPA_EV_HANDED_OFF_FENCED;
	iw_mpa_offload_open(&ep->off, &ep->sock, &ep->params);
	return IW_MPA_EV_HANDED_OFF;
}

static enum iw_mpa_event act_open_tx(struct iw_mpa_ep *ep)
{
	iw_mpa_offload_open(&ep->off, &ep->sock, &ep->params);
	return IW_MPA_EV_NONE;
}

/* The setting fence_timeout_ms asks for it. */
static enum iw_mpa_event act_lift_fence(struct iw_mpa_ep *ep)
{
	iw_mpa_count_for(ep->dev->stats, IW_MPA_CNT_fence_lifted);
	return act_open_tx(ep);
}

static void act_fill_info(const struct iw_mpa_ep *ep,
			  struct iw_mpa_upcall_info *info)
{
	*info = (struct iw_mpa_upcall_info) {
		.peer		= &ep->peer,
		.max_ird	= ep->local.max_ird,
		.max_ord	= ep->local.max_ord,
	};
}

/* True if the ULP has rejected what it had accepted: then iw_cm waits for no event. */
static bool act_cancel_if_rejected(struct iw_mpa_ep *ep)
{
	bool rejected;

	spin_lock_irq(&ep->lock);
	rejected = ep->rejected;
	spin_unlock_irq(&ep->lock);
	if (rejected)
		iw_mpa_upcall_cancel(&ep->up);
	return rejected;
}

static enum iw_mpa_event act_report_up(struct iw_mpa_ep *ep)
{
	struct sockaddr_storage local, remote;
	struct iw_mpa_upcall_info info;
	int err;

	if (act_cancel_if_rejected(ep))
		return IW_MPA_EV_ULP_CLOSED;
	act_fill_info(ep, &info);
	if (ep->initiator &&
	    !iw_mpa_sock_names(&ep->sock, &local, &remote)) {
		info.local = &local;
		info.remote = &remote;
	}
	err = iw_mpa_upcall_up(&ep->up, &info);
	if (err) {
		iw_mpa_run_set_error(ep, IW_MPA_R_EVENT_LOST, err);
		return IW_MPA_EV_STREAM_DOWN;
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

/* Whatever comes later has the peer look again, also what the ULP sends. */
static enum iw_mpa_event act_repeat_rtr(struct iw_mpa_ep *ep)
{
	ep->repeats++;
	if (iw_mpa_offload_is_answered(&ep->off, &ep->sock) ||
	    (ep->repeats < ACT_REPEAT_BEHIND &&
	     !iw_mpa_offload_is_quiet(&ep->off, &ep->sock)))
		return IW_MPA_EV_NONE;
	if (!iw_mpa_offload_repeat_rtr(&ep->off, &ep->sock))
		iw_mpa_count_for(ep->dev->stats, IW_MPA_CNT_rtr_repeated);
	return IW_MPA_EV_NONE;
}

static enum iw_mpa_event act_restart_timer(struct iw_mpa_ep *ep)
{
	iw_mpa_run_restart_timer(ep);
	return IW_MPA_EV_NONE;
}

static enum iw_mpa_event act_kick_rx(struct iw_mpa_ep *ep)
{
	iw_mpa_offload_kick(&ep->off);
	return IW_MPA_EV_NONE;
}

static enum iw_mpa_event act_end_stream(struct iw_mpa_ep *ep)
{
	iw_mpa_raise(ep, IW_MPA_EV_STREAM_ENDED);
	return IW_MPA_EV_NONE;
}

static enum iw_mpa_event act_stop(struct iw_mpa_ep *ep)
{
	iw_mpa_offload_stop(&ep->off, &ep->sock, ep->reason);
	return IW_MPA_EV_NONE;
}

/*
 * RFC 6581 8 and 9.3. Best effort: the connection ends either way. A peer that
 * speaks RFC 5044 alone does not know the codes, and one that wants Markers would
 * not understand an FPDU without.
 */
static void act_put_term(struct iw_mpa_ep *ep, u8 code)
{
	u8 fpdu[IW_MPA_FPDU_MAX];
	size_t len;

	if (!code || !ep->params.enhanced || ep->params.tx_markers)
		return;
	len = iw_mpa_fpdu_term(code, ep->params.crc, fpdu);
	iw_mpa_sock_send(&ep->sock, fpdu, len);
}

static enum iw_mpa_event act_send_term(struct iw_mpa_ep *ep)
{
	act_put_term(ep, iw_mpa_reason_term_code(ep->reason) ?:
			 iw_mpa_reason_term_code(IW_MPA_R_LOCAL));
	iw_mpa_sock_shutdown(&ep->sock);
	return IW_MPA_EV_NONE;
}

/*
 * RFC 5044 7.1.2: a Reply with R, then MPA is left and TCP stays open: the
 * initiator closes it, or the linger timer. Where not the ULP but an error of
 * this end refuses, RFC 6581 9.1 and 9.3 want the TERM message all the same.
 */
static enum iw_mpa_event act_send_reject(struct iw_mpa_ep *ep)
{
	u8 buf[IW_MPA_FRAME_MAX];
	int len;

	if (!ep->sent.reply)
		iw_mpa_negotiate_request(&ep->local, &ep->peer, &ep->sent,
					 &ep->params);
	ep->sent.reject = true;
	len = act_encode(ep, ep->reply_pd, ep->reply_pd_len, buf);
	if (len > 0 && !iw_mpa_sock_send(&ep->sock, buf, len))
		act_put_term(ep, iw_mpa_reason_term_code(ep->reason));
	iw_mpa_ep_refused(ep);
	return IW_MPA_EV_NONE;
}

static enum iw_mpa_event act_unbind(struct iw_mpa_ep *ep)
{
	iw_mpa_ep_unbind_qp(ep);
	return IW_MPA_EV_NONE;
}

static enum iw_mpa_event act_report_down(struct iw_mpa_ep *ep)
{
	struct iw_mpa_upcall_info info;

	act_fill_info(ep, &info);
	if (ep->reason != IW_MPA_R_REJECTED)
		info.peer = NULL;
	if (!ep->initiator && ep->up.cm_id)
		iw_mpa_ep_leave_id(ep, ep->up.cm_id);
	iw_mpa_count_for(ep->dev->stats, ep->up.phase == IW_MPA_UP_CLOSE ?
					 IW_MPA_CNT_closed : IW_MPA_CNT_failed);
	if (act_cancel_if_rejected(ep))
		return IW_MPA_EV_NONE;
	iw_mpa_upcall_down(&ep->up, iw_mpa_reason_errno(ep->reason) ?: -EIO,
			   &info);
	return IW_MPA_EV_NONE;
}

static enum iw_mpa_event act_mark_indicate(struct iw_mpa_ep *ep)
{
	ep->indicate = true;
	return IW_MPA_EV_NONE;
}

/* What the peer has sent and nobody reads would make an RST of our FIN. */
static enum iw_mpa_event act_shutdown(struct iw_mpa_ep *ep)
{
	iw_mpa_sock_shutdown(&ep->sock);
	iw_mpa_sock_check(&ep->sock);
	return IW_MPA_EV_NONE;
}

static enum iw_mpa_event act_drain(struct iw_mpa_ep *ep)
{
	int len;

	while (ep->drained < ACT_LINGER_OCTETS) {
		len = iw_mpa_sock_discard(&ep->sock,
					  ACT_LINGER_OCTETS - ep->drained);
		if (len == -EAGAIN)
			return IW_MPA_EV_NONE;
		if (len <= 0)
			break;
		ep->drained += len;
	}
	return IW_MPA_EV_STREAM_ENDED;
}

static enum iw_mpa_event act_release(struct iw_mpa_ep *ep)
{
	iw_mpa_ep_retire(ep);
	return IW_MPA_EV_NONE;
}

static enum iw_mpa_event (*const act_table[IW_MPA_ACT_COUNT])
		(struct iw_mpa_ep *ep) = {
	[IW_MPA_ACT_RECONNECT]		= act_reconnect,
	[IW_MPA_ACT_SEND_REQ]		= act_send_req,
	[IW_MPA_ACT_READ_REQ]		= act_read_req,
	[IW_MPA_ACT_READ_REP]		= act_read_rep,
	[IW_MPA_ACT_HANDOFF_ACTIVE]	= act_handoff_active,
	[IW_MPA_ACT_HANDOFF_PASSIVE]	= act_handoff_passive,
	[IW_MPA_ACT_OPEN_TX]		= act_open_tx,
	[IW_MPA_ACT_LIFT_FENCE]		= act_lift_fence,
	[IW_MPA_ACT_REPORT_UP]		= act_report_up,
	[IW_MPA_ACT_CHECK_ANSWER]	= act_check_answer,
	[IW_MPA_ACT_REPEAT_RTR]		= act_repeat_rtr,
	[IW_MPA_ACT_RESTART_TIMER]	= act_restart_timer,
	[IW_MPA_ACT_KICK_RX]		= act_kick_rx,
	[IW_MPA_ACT_END_STREAM]		= act_end_stream,
	[IW_MPA_ACT_STOP]		= act_stop,
	[IW_MPA_ACT_SEND_TERM]		= act_send_term,
	[IW_MPA_ACT_SEND_REJECT]	= act_send_reject,
	[IW_MPA_ACT_UNBIND]		= act_unbind,
	[IW_MPA_ACT_REPORT_DOWN]	= act_report_down,
	[IW_MPA_ACT_SHUTDOWN]		= act_shutdown,
	[IW_MPA_ACT_INDICATE]		= act_mark_indicate,
	[IW_MPA_ACT_DRAIN]		= act_drain,
	[IW_MPA_ACT_RELEASE]		= act_release,
};

/**
 * iw_mpa_act - do a transition's actions
 * @ep: endpoint
 * @actions: set of IW_MPA_DO_*, done in the order of IW_MPA_ACTIONS()
 *
 * Context: the runner.
 *
 * Return: the event that an action ended in, the rest is then not done; or
 * IW_MPA_EV_NONE.
 */
enum iw_mpa_event iw_mpa_act(struct iw_mpa_ep *ep, u32 actions)
{
	enum iw_mpa_event event = IW_MPA_EV_NONE;

	while (actions && event == IW_MPA_EV_NONE) {
		enum iw_mpa_action_nr nr = __ffs(actions);

		actions &= ~BIT(nr);
		event = act_table[nr](ep);
	}
	return event;
}

/**
 * iw_mpa_act_prepare_indication - collect what CONNECT_REQUEST needs
 * @ep: responder
 * @ind: result; iw_mpa_act_indicate() or iw_mpa_act_cancel_indication() is due
 *
 * Context: the runner.
 *
 * Return: 0; -ENOMEM; another negative errno if TCP is gone.
 */
int iw_mpa_act_prepare_indication(struct iw_mpa_ep *ep,
				  struct iw_mpa_indication *ind)
{
	int err;

	err = iw_mpa_sock_names(&ep->sock, &ind->local, &ind->remote);
	if (err)
		return err;
	err = iw_mpa_ep_ask(ep, &ind->listen_id);
	ind->provider_data = iw_mpa_ep_provider_data(ep);
	return err;
}

/**
 * iw_mpa_act_cancel_indication - do not ask the ULP after all
 * @ep: responder
 * @ind: what was collected
 */
void iw_mpa_act_cancel_indication(struct iw_mpa_ep *ep,
				  struct iw_mpa_indication *ind)
{
	iw_mpa_ep_leave_id(ep, NULL);
	ind->listen_id->rem_ref(ind->listen_id);
	iw_mpa_device_put(ep->dev);
}

/**
 * iw_mpa_act_indicate - ask the ULP
 * @ep: responder in state REQ_INDICATED
 * @ind: what was collected
 *
 * Context: process, not the runner any more: iw_accept may come before this
 * returns.
 *
 * Return: 0, or a negative errno: then the ULP was not asked.
 */
int iw_mpa_act_indicate(struct iw_mpa_ep *ep, struct iw_mpa_indication *ind)
{
	struct iw_mpa_upcall_info info;
	int err;

	act_fill_info(ep, &info);
	info.local = &ind->local;
	info.remote = &ind->remote;
	err = iw_mpa_upcall_request(ind->listen_id, ind->provider_data, &info);
	if (err)
		iw_mpa_ep_leave_id(ep, NULL);
	ind->listen_id->rem_ref(ind->listen_id);
	iw_mpa_device_put(ep->dev);
	return err;
}

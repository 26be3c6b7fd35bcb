// SPDX-License-Identifier: GPL-2.0
/*
 * This file, with its header, hands a stream to the driver, and calls the driver from then on. No
 * other calls a driver's ops, but for path_changed, and gets and puts references on its QPs. The
 * contract promises an order of calls: that order is in iw_mpa_offload_active() and
 * iw_mpa_offload_passive().
 */

#include "offload.h"
#include "sock.h"
#include "stats.h"
#include "takeover.h"
#include "tcb.h"
#include "trace.h"

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <rdma/ib_verbs.h>

/**
 * iw_mpa_offload_check - is a driver's description complete?
 * @drv: the driver's ops
 * @attr: what its device can do
 *
 * Return: NULL, or what is wrong, in words.
 */
const char *iw_mpa_offload_check(const struct iw_mpa_driver_ops *drv,
				 const struct iw_mpa_device_attr *attr)
{
	const bool takeover = attr->caps & IW_MPA_CAP_TAKEOVER;
	const u8 rtr = attr->rtr_send | attr->rtr_accept;
	const struct {
		bool		wrong;
		const char	*problem;
	} rules[] = {
		{ !drv->prepare, "prepare is missing" },
		{ !drv->open_tx, "open_tx is missing" },
		{ !drv->stop, "stop is missing" },
		{ drv->attach && !drv->kick_rx, "attach needs kick_rx" },
		{ attr->rtr_send && !drv->send_rtr, "rtr_send needs send_rtr" },
		{ drv->repeat_rtr && !drv->send_rtr, "repeat_rtr needs send_rtr" },
		{ !attr->rtr_accept, "rtr_accept is empty, RFC 6581 9.2 asks for one RTR type" },
		{ attr->rtr_accept == IW_MPA_RTR_READ && !attr->max_ird,
		  "rtr_accept is Read alone, but max_ird is 0" },
		{ rtr & ~IW_MPA_RTR_ALL, "rtr_send or rtr_accept has an unknown RTR type" },
		{ attr->max_ird > IW_MPA_DEPTH_MAX, "max_ird is above 0x3ffe" },
		{ attr->max_ord > IW_MPA_DEPTH_MAX, "max_ord is above 0x3ffe" },
		{ attr->pd_size > IW_MPA_DRIVER_PD_MAX, "pd_size is above 32" },
		{ attr->pd_size && !drv->put_pd, "pd_size needs put_pd" },
		{ takeover && !drv->send_reply, "IW_MPA_CAP_TAKEOVER needs send_reply" },
		{ takeover && drv->repeat_rtr, "IW_MPA_CAP_TAKEOVER cannot have repeat_rtr" },
		{ drv->hold && !drv->let_go, "hold needs let_go" },
		{ attr->tcp_options & ~IW_MPA_TCP_ALL, "tcp_options has an unknown TCP option" },
		{ attr->caps & ~IW_MPA_CAP_ALL, "caps has an unknown bit" },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(rules); i++) {
		if (rules[i].wrong)
			return rules[i].problem;
	}
	return NULL;
}

/**
 * iw_mpa_offload_find_qp - the QP of a number
 * @ibdev: the device
 * @qpn: the number
 *
 * Return: the QP, without a reference; NULL if there is none, or it is being destroyed.
 */
struct ib_qp *iw_mpa_offload_find_qp(struct ib_device *ibdev, u32 qpn)
{
	return ibdev->ops.iw_get_qp(ibdev, qpn);
}

/**
 * iw_mpa_offload_get_qp - take a reference on a QP
 * @ibdev: the device
 * @qpn: number of the QP, on which the caller of iw_connect or iw_accept has a reference
 *
 * Return: as iw_mpa_offload_find_qp(), for iw_mpa_offload_put_qp().
 */
struct ib_qp *iw_mpa_offload_get_qp(struct ib_device *ibdev, u32 qpn)
{
	struct ib_qp *qp = iw_mpa_offload_find_qp(ibdev, qpn);

	if (qp)
		ibdev->ops.iw_add_ref(qp);
	return qp;
}

/**
 * iw_mpa_offload_put_qp - give a reference back
 * @qp: the QP
 *
 * Context: process.
 */
void iw_mpa_offload_put_qp(struct ib_qp *qp)
{
	qp->device->ops.iw_rem_ref(qp);
}

/**
 * iw_mpa_offload_put_pd - have the driver write its private data
 * @off: line with a QP bound, unless @reject
 * @pd: room for pd_size octets
 * @reject: write zeroes, as a Reject has them
 *
 * Context: process.
 */
void iw_mpa_offload_put_pd(struct iw_mpa_offload *off, void *pd, bool reject)
{
	memset(pd, 0, off->attr->pd_size);
	if (!reject)
		off->drv->put_pd(off->qp, pd);
}

/* If a device has taken TCP over, the socket keeps the callbacks of the library. */
static void offload_attach(struct iw_mpa_offload *off, struct iw_mpa_sock *ms)
{
	struct sock *sk = ms->sock->sk;

	write_lock_bh(&sk->sk_callback_lock);
	ms->stream.qp = off->qp;
	if (off->drv->attach && !off->takeover)
		off->drv->attach(off->qp, sk, &ms->stream);
	write_unlock_bh(&sk->sk_callback_lock);
}

static void offload_let_go(struct iw_mpa_offload *off)
{
	if (off->drv->hold && off->drv->let_go)
		off->drv->let_go(off->qp);
}

static enum iw_mpa_reason offload_freeze(struct iw_mpa_offload *off, struct iw_mpa_sock *ms,
					 struct iw_mpa_tcb *tcb)
{
	enum iw_mpa_reason why;

	off->err = iw_mpa_takeover_begin(ms, off->takeovers, off->drv->hold);
	if (off->err)
		return off->err == -EBUSY ? IW_MPA_R_TCP_BUSY : IW_MPA_R_LOCAL;
	why = iw_mpa_takeover_freeze(ms, tcb);
	if (why)
		iw_mpa_takeover_undo(ms);
	return why;
}

/*
 * Take the connection off the host's TCP. First nothing comes in any more. Then the host handles
 * what it has. Then TCP is shut off, and the record of its state is made.
 *
 * Return: IW_MPA_R_OK; or why TCP has the connection as before.
 */
static enum iw_mpa_reason offload_take(struct iw_mpa_offload *off, struct iw_mpa_sock *ms,
				       struct iw_mpa_tcb *tcb)
{
	enum iw_mpa_reason why;

	if (iw_mpa_tcb_options(ms->sock->sk) & ~off->attr->tcp_options)
		return IW_MPA_R_TCP_OPTION;
	off->err = off->drv->hold ? off->drv->hold(off->qp, ms->sock->sk) : 0;
	if (off->err)
		return IW_MPA_R_DRIVER;
	why = offload_freeze(off, ms, tcb);
	if (why)
		offload_let_go(off);
	return why;
}

/* Return: IW_MPA_R_OK; or why the driver does not have the stream. */
static enum iw_mpa_reason offload_prepare(struct iw_mpa_offload *off, struct iw_mpa_sock *ms,
					  const struct iw_mpa_handoff *ho)
{
	off->err = 0;
	if (ho->rx_queued && !(off->attr->caps & IW_MPA_CAP_EARLY_RX))
		return IW_MPA_R_EARLY_DATA;
	if (ms->takeover)
		iw_mpa_takeover_give(ms);
	off->err = off->drv->prepare(off->qp, ho);
	trace_iw_mpa_handoff(off->id, ho->params, ho->snd_nxt, ho->rcv_nxt, off->err);
	return off->err ? IW_MPA_R_DRIVER : IW_MPA_R_OK;
}

/* Return: as offload_prepare() */
static enum iw_mpa_reason offload_takeover(struct iw_mpa_offload *off, struct iw_mpa_sock *ms,
					   struct iw_mpa_handoff *ho)
{
	struct iw_mpa_tcb tcb = {};
	enum iw_mpa_reason why = offload_take(off, ms, &tcb);

	trace_iw_mpa_takeover(off->id, &tcb, why);
	if (why && !off->drv->attach)
		return why;
	if (why) {
		iw_mpa_count_for(off->takeovers->stats, IW_MPA_CNT_tcp_kept);
		return offload_prepare(off, ms, ho);
	}
	ho->rx_queued = tcb.rx_len;
	ho->tcb = &tcb;
	ho->takeover = ms->takeover;
	why = offload_prepare(off, ms, ho);
	iw_mpa_tcb_free(&tcb);
	if (why) {
		iw_mpa_takeover_undo(ms);
		offload_let_go(off);
		return why;
	}
	iw_mpa_takeover_taken(ms);
	iw_mpa_count_for(off->takeovers->stats, IW_MPA_CNT_tcp_taken_over);
	off->takeover = true;
	return IW_MPA_R_OK;
}

/*
 * Make the driver ready for the first FPDU. The stream is positioned behind the peer's startup
 * frame. @reply_len octets of this end are still to be sent. If the device cannot take queued
 * octets, none may be there, and none may come until attach.
 *
 * Return: as offload_prepare()
 */
static enum iw_mpa_reason offload_start(struct iw_mpa_offload *off, struct iw_mpa_ep *ep,
					struct iw_mpa_sock *ms,
					const struct iw_mpa_params *params, size_t reply_len)
{
	struct iw_mpa_handoff ho = {
		.ep = ep,
		.sock = ms->sock,
		.params = params,
		.peer_pd = off->peer_pd,
	};
	enum iw_mpa_reason why;

	iw_mpa_sock_seq(ms, &off->snd_nxt, &off->rcv_nxt, &ho.rx_queued);
	ho.snd_nxt = off->snd_nxt + reply_len;
	ho.rcv_nxt = off->rcv_nxt;
	if (off->attr->caps & IW_MPA_CAP_TAKEOVER)
		why = offload_takeover(off, ms, &ho);
	else
		why = offload_prepare(off, ms, &ho);
	if (why)
		return why;
	off->started = true;
	off->taken = true;
	offload_attach(off, ms);

	if (!off->takeover && !(off->attr->caps & IW_MPA_CAP_EARLY_RX) &&
	    iw_mpa_sock_unread(ms)) {
		iw_mpa_offload_stop(off, ms, IW_MPA_R_EARLY_DATA);
		return IW_MPA_R_EARLY_DATA;
	}
	return IW_MPA_R_OK;
}

/**
 * iw_mpa_offload_active - hand an initiator's stream to the driver
 * @off: line with a QP bound
 * @ep: what the driver names the connection by
 * @ms: the stream, positioned behind the Reply
 * @params: what was negotiated
 * @repeat: an RTR message may be repeated
 *
 * RFC 6581 9.2 lets a responder name one RTR type, or all that it can take. Some responders that
 * name one type look at the stream for the first time after their Reply has gone out. If the RTR
 * message comes before that, they see it only when more octets come.
 *
 * Context: process, may sleep.
 *
 * Return: IW_MPA_EV_HANDED_OFF; IW_MPA_EV_HANDED_OFF_QUIET if the peer may have missed the RTR
 * message and the driver can repeat it; IW_MPA_EV_PREPARE_FAILED, the driver has no stream;
 * IW_MPA_EV_RTR_FAILED. After a failure @off->why and @off->err say why.
 */
enum iw_mpa_event iw_mpa_offload_active(struct iw_mpa_offload *off, struct iw_mpa_ep *ep,
					struct iw_mpa_sock *ms,
					const struct iw_mpa_params *params, bool repeat)
{
	off->why = offload_start(off, ep, ms, params, 0);
	if (off->why)
		return IW_MPA_EV_PREPARE_FAILED;

	if (!params->rtr) {
		off->drv->open_tx(off->qp);
		return IW_MPA_EV_HANDED_OFF;
	}
	off->err = off->drv->send_rtr(off->qp, params->rtr);
	if (off->err) {
		off->why = IW_MPA_R_DRIVER;
		return IW_MPA_EV_RTR_FAILED;
	}
	off->rtr_end = iw_mpa_sock_snd_nxt(ms);
	if (repeat && params->rtr_single && params->rtr == IW_MPA_RTR_WRITE &&
	    off->drv->repeat_rtr)
		return IW_MPA_EV_HANDED_OFF_QUIET;
	return IW_MPA_EV_HANDED_OFF;
}

/**
 * iw_mpa_offload_passive - hand a responder's stream to the driver, and send the Reply
 * @off: line with a QP bound
 * @ep: what the driver names the connection by
 * @ms: the stream, positioned behind the Request
 * @params: what was negotiated
 * @fence: hold TX back until the first FPDU, as RFC 5044 7.1.2 asks
 * @reply: the MPA Reply
 * @len: octets of it
 *
 * Context: process, may sleep.
 *
 * Return: IW_MPA_EV_HANDED_OFF_RTR, IW_MPA_EV_HANDED_OFF_FENCED, or IW_MPA_EV_HANDED_OFF: TX is
 * open; IW_MPA_EV_ACCEPT_FAILED, nothing was sent and the driver has no stream;
 * IW_MPA_EV_REPLY_FAILED. After a failure @off->why and @off->err say why.
 */
enum iw_mpa_event iw_mpa_offload_passive(struct iw_mpa_offload *off, struct iw_mpa_ep *ep,
					 struct iw_mpa_sock *ms,
					 const struct iw_mpa_params *params, bool fence,
					 const void *reply, size_t len)
{
	off->why = offload_start(off, ep, ms, params, len);
	if (off->why)
		return IW_MPA_EV_ACCEPT_FAILED;

	if (off->drv->send_reply &&
	    (off->takeover || !(off->attr->caps & IW_MPA_CAP_TAKEOVER)))
		off->err = off->drv->send_reply(off->qp, reply, len);
	else
		off->err = iw_mpa_sock_send(ms, reply, len);
	if (off->err) {
		off->why = IW_MPA_R_SEND;
		return IW_MPA_EV_REPLY_FAILED;
	}
	if (params->p2p)
		return IW_MPA_EV_HANDED_OFF_RTR;
	if (fence)
		return IW_MPA_EV_HANDED_OFF_FENCED;
	off->drv->open_tx(off->qp);
	return IW_MPA_EV_HANDED_OFF;
}

/**
 * iw_mpa_offload_is_answered - has the peer sent an octet since the hand-off?
 * @off: started line
 * @ms: the stream
 *
 * Context: process.
 *
 * Return: true if it has.
 */
bool iw_mpa_offload_is_answered(const struct iw_mpa_offload *off, const struct iw_mpa_sock *ms)
{
	return iw_mpa_sock_rcv_nxt(ms) != off->rcv_nxt;
}

/**
 * iw_mpa_offload_repeat_rtr - send one more zero-length RDMA Write, unless the peer has answered
 * @off: started line of a driver with repeat_rtr
 * @ms: the stream
 * @behind: send it also if the ULP has sent something since, at which the peer looks, too
 *
 * Context: process, may sleep.
 *
 * Return: true if the driver has sent one.
 */
bool iw_mpa_offload_repeat_rtr(struct iw_mpa_offload *off, struct iw_mpa_sock *ms, bool behind)
{
	if (iw_mpa_offload_is_answered(off, ms) ||
	    (!behind && iw_mpa_sock_snd_nxt(ms) != off->rtr_end) ||
	    off->drv->repeat_rtr(off->qp))
		return false;
	off->rtr_end = iw_mpa_sock_snd_nxt(ms);
	return true;
}

/**
 * iw_mpa_offload_stop - take the stream back
 * @off: started line
 * @ms: the stream; the library takes its callbacks back first
 * @why: for the driver
 *
 * Context: process, may sleep.
 */
void iw_mpa_offload_stop(struct iw_mpa_offload *off, struct iw_mpa_sock *ms, enum iw_mpa_reason why)
{
	iw_mpa_sock_detach(ms);
	off->started = false;
	off->drv->stop(off->qp, why);
}

/**
 * iw_mpa_offload_is_untouched - may the library still send on the stream?
 * @off: line that is not started
 * @ms: the stream
 *
 * If a device has taken TCP over, the socket does not know the sequence numbers of the device.
 *
 * Context: process.
 *
 * Return: true if the driver has sent nothing.
 */
bool iw_mpa_offload_is_untouched(const struct iw_mpa_offload *off, const struct iw_mpa_sock *ms)
{
	return !off->taken || (off->drv->attach && !off->takeover &&
			       iw_mpa_sock_snd_nxt(ms) == off->snd_nxt);
}

/**
 * iw_mpa_offload_teller - what takeover.c has to call if a path changes
 * @drv: the driver's ops
 *
 * The connection may have outlived its endpoint.
 *
 * Return: path_changed, or NULL if the driver does not want to know of paths.
 */
iw_mpa_takeover_tell *iw_mpa_offload_teller(const struct iw_mpa_driver_ops *drv)
{
	return drv->path_changed;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * This file, with its header, hands a stream to the driver, and calls the driver from then on. No
 * other calls a driver's ops, but for path_changed, and gets and puts references on its QPs. The
 * contract promises an order of calls: that order is in iw_mpa_offload_active() and
 * iw_mpa_offload_passive().
 */

#include "offload.h"
#include "config.h"
#include "sock.h"
#include "stats.h"
#include "takeover.h"
#include "tcb.h"
#include "trace.h"

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <rdma/ib_verbs.h>

/* Return: NULL if a driver's description is complete; else what is wrong, in words. */
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

/*
 * Return: the QP of a number, without a reference; NULL if there is none, or it is being destroyed.
 */
struct ib_qp *iw_mpa_offload_find_qp(struct ib_device *ibdev, u32 qpn)
{
	return ibdev->ops.iw_get_qp(ibdev, qpn);
}

/*
 * The caller of iw_connect or iw_accept has a reference on the QP.
 *
 * Return: as iw_mpa_offload_find_qp(), with a reference.
 */
struct ib_qp *iw_mpa_offload_get_qp(struct ib_device *ibdev, u32 qpn)
{
	struct ib_qp *qp = iw_mpa_offload_find_qp(ibdev, qpn);

	if (qp)
		ibdev->ops.iw_add_ref(qp);
	return qp;
}

void iw_mpa_offload_put_qp(struct ib_qp *qp)
{
	qp->device->ops.iw_rem_ref(qp);
}

/* If a device has taken TCP over, the socket keeps the callbacks of the library. */
static void offload_attach(struct iw_mpa_ep *ep)
{
	const struct iw_mpa_driver_ops *drv = ep->dev->ops;
	struct iw_mpa_sock *ms = &ep->sock;
	struct sock *sk = ms->sock->sk;

	write_lock_bh(&sk->sk_callback_lock);
	ms->stream.qp = ep->off.qp;
	if (drv->attach && !ep->off.takeover)
		drv->attach(ep->off.qp, sk, &ms->stream);
	write_unlock_bh(&sk->sk_callback_lock);
}

static void offload_let_go(struct iw_mpa_ep *ep)
{
	const struct iw_mpa_driver_ops *drv = ep->dev->ops;

	if (drv->hold && drv->let_go)
		drv->let_go(ep->off.qp);
}

static enum iw_mpa_reason offload_freeze(struct iw_mpa_ep *ep, struct iw_mpa_tcb *tcb, int *err)
{
	struct iw_mpa_device *dev = ep->dev;
	enum iw_mpa_reason why;

	*err = iw_mpa_takeover_begin(&ep->sock, &dev->takeovers, dev->ops->hold);
	if (*err)
		return *err == -EBUSY ? IW_MPA_R_TCP_BUSY : IW_MPA_R_LOCAL;
	why = iw_mpa_takeover_freeze(&ep->sock, tcb);
	if (why)
		iw_mpa_takeover_undo(&ep->sock);
	return why;
}

/*
 * Take the connection off the host's TCP. First nothing comes in any more. Then the host handles
 * what it has. Then TCP is shut off, and the record of its state is made.
 *
 * Return: IW_MPA_R_OK; or why TCP has the connection as before.
 */
static enum iw_mpa_reason offload_take(struct iw_mpa_ep *ep, struct iw_mpa_tcb *tcb, int *err)
{
	const struct iw_mpa_driver_ops *drv = ep->dev->ops;
	struct sock *sk = ep->sock.sock->sk;
	enum iw_mpa_reason why;

	if (iw_mpa_tcb_options(sk) & ~ep->dev->attr.tcp_options)
		return IW_MPA_R_TCP_OPTION;
	*err = drv->hold ? drv->hold(ep->off.qp, sk) : 0;
	if (*err)
		return IW_MPA_R_DRIVER;
	why = offload_freeze(ep, tcb, err);
	if (why)
		offload_let_go(ep);
	return why;
}

/* Return: IW_MPA_R_OK; or why the driver does not have the stream. */
static enum iw_mpa_reason offload_prepare(struct iw_mpa_ep *ep, const struct iw_mpa_handoff *ho,
					  int *err)
{
	*err = 0;
	if (ho->rx_queued && !(ep->dev->attr.caps & IW_MPA_CAP_EARLY_RX))
		return IW_MPA_R_EARLY_DATA;
	if (ep->sock.takeover)
		iw_mpa_takeover_give(&ep->sock);
	*err = ep->dev->ops->prepare(ep->off.qp, ho);
	trace_iw_mpa_handoff(ep->id, ho->params, ho->snd_nxt, ho->rcv_nxt, *err);
	return *err ? IW_MPA_R_DRIVER : IW_MPA_R_OK;
}

/* Return: as offload_prepare() */
static enum iw_mpa_reason offload_takeover(struct iw_mpa_ep *ep, struct iw_mpa_handoff *ho,
					   int *err)
{
	struct iw_mpa_device *dev = ep->dev;
	struct iw_mpa_tcb tcb = {};
	enum iw_mpa_reason why = offload_take(ep, &tcb, err);

	trace_iw_mpa_takeover(ep->id, &tcb, why);
	if (why && !dev->ops->attach)
		return why;
	if (why) {
		iw_mpa_count_for(dev->stats, IW_MPA_CNT_tcp_kept);
		return offload_prepare(ep, ho, err);
	}
	ho->rx_queued = tcb.rx_len;
	ho->tcb = &tcb;
	ho->takeover = ep->sock.takeover;
	why = offload_prepare(ep, ho, err);
	iw_mpa_tcb_free(&tcb);
	if (why) {
		iw_mpa_takeover_undo(&ep->sock);
		offload_let_go(ep);
		return why;
	}
	iw_mpa_takeover_taken(&ep->sock);
	iw_mpa_count_for(dev->stats, IW_MPA_CNT_tcp_taken_over);
	ep->off.takeover = true;
	return IW_MPA_R_OK;
}

/*
 * Make the driver ready for the first FPDU. The stream is positioned after the peer's startup
 * frame. @reply_len bytes of this end are still to be sent. If the device cannot take queued bytes,
 * none may be there, and none may come until attach.
 *
 * Return: as offload_prepare()
 */
static enum iw_mpa_reason offload_start(struct iw_mpa_ep *ep, size_t reply_len, int *err)
{
	const u32 caps = ep->dev->attr.caps;
	struct iw_mpa_offload *off = &ep->off;
	struct iw_mpa_handoff ho = {
		.ep = ep,
		.sock = ep->sock.sock,
		.params = &ep->params,
	};
	enum iw_mpa_reason why;

	iw_mpa_sock_seq(&ep->sock, &off->snd_nxt, &off->rcv_nxt, &ho.rx_queued);
	ho.snd_nxt = off->snd_nxt + reply_len;
	ho.rcv_nxt = off->rcv_nxt;
	if (caps & IW_MPA_CAP_TAKEOVER)
		why = offload_takeover(ep, &ho, err);
	else
		why = offload_prepare(ep, &ho, err);
	if (why)
		return why;
	off->started = true;
	off->taken = true;
	offload_attach(ep);

	if (!off->takeover && !(caps & IW_MPA_CAP_EARLY_RX) && iw_mpa_sock_unread(&ep->sock)) {
		iw_mpa_offload_stop(ep, IW_MPA_R_EARLY_DATA);
		return IW_MPA_R_EARLY_DATA;
	}
	return IW_MPA_R_OK;
}

/*
 * Hand an initiator's stream to the driver. It is positioned after the Reply.
 *
 * RFC 6581 9.2 lets a responder name one RTR type, or all that it can take. Some responders that
 * name one type look at the stream for the first time after their Reply has gone out. If the RTR
 * message arrives before that, they see it only when more bytes do.
 *
 * Return: IW_MPA_EV_HANDED_OFF; IW_MPA_EV_HANDED_OFF_QUIET if the peer may have missed the RTR
 * message and the driver can repeat it; or with the endpoint's reason set:
 * IW_MPA_EV_PREPARE_FAILED, the driver has no stream; IW_MPA_EV_RTR_FAILED.
 */
enum iw_mpa_event iw_mpa_offload_active(struct iw_mpa_ep *ep)
{
	const struct iw_mpa_driver_ops *drv = ep->dev->ops;
	const struct iw_mpa_params *params = &ep->params;
	enum iw_mpa_reason why;
	int err = 0;

	why = offload_start(ep, 0, &err);
	if (why) {
		iw_mpa_ep_set_reason(ep, why, err);
		return IW_MPA_EV_PREPARE_FAILED;
	}
	if (!params->rtr) {
		drv->open_tx(ep->off.qp);
		return IW_MPA_EV_HANDED_OFF;
	}
	err = drv->send_rtr(ep->off.qp, params->rtr);
	if (err) {
		iw_mpa_ep_set_reason(ep, IW_MPA_R_DRIVER, err);
		return IW_MPA_EV_RTR_FAILED;
	}
	ep->off.rtr_end = iw_mpa_sock_snd_nxt(&ep->sock);
	if (params->rtr_single && params->rtr == IW_MPA_RTR_WRITE && drv->repeat_rtr &&
	    READ_ONCE(ep->config->rtr_repeat_ms))
		return IW_MPA_EV_HANDED_OFF_QUIET;
	return IW_MPA_EV_HANDED_OFF;
}

static int offload_send_reply(struct iw_mpa_ep *ep, const void *reply, size_t len)
{
	const struct iw_mpa_device *dev = ep->dev;

	if (dev->ops->send_reply && (ep->off.takeover || !(dev->attr.caps & IW_MPA_CAP_TAKEOVER)))
		return dev->ops->send_reply(ep->off.qp, reply, len);
	return iw_mpa_sock_send(&ep->sock, reply, len);
}

/*
 * Hand a responder's stream to the driver, and send the Reply. The stream is positioned after the
 * Request. With @fence TX is held back until the first FPDU, as RFC 5044 7.1.2 asks.
 *
 * Return: IW_MPA_EV_HANDED_OFF_RTR, IW_MPA_EV_HANDED_OFF_FENCED, or IW_MPA_EV_HANDED_OFF: TX is
 * open; or with the endpoint's reason set: IW_MPA_EV_ACCEPT_FAILED, nothing was sent and the driver
 * has no stream; IW_MPA_EV_REPLY_FAILED.
 */
enum iw_mpa_event iw_mpa_offload_passive(struct iw_mpa_ep *ep, bool fence, const void *reply,
					 size_t len)
{
	enum iw_mpa_reason why;
	int err = 0;

	why = offload_start(ep, len, &err);
	if (why) {
		iw_mpa_ep_set_reason(ep, why, err);
		return IW_MPA_EV_ACCEPT_FAILED;
	}
	err = offload_send_reply(ep, reply, len);
	if (err) {
		iw_mpa_ep_set_reason(ep, IW_MPA_R_SEND, err);
		return IW_MPA_EV_REPLY_FAILED;
	}
	if (ep->params.p2p)
		return IW_MPA_EV_HANDED_OFF_RTR;
	if (fence)
		return IW_MPA_EV_HANDED_OFF_FENCED;
	iw_mpa_offload_open_tx(ep);
	return IW_MPA_EV_HANDED_OFF;
}

/* Has the peer sent a byte since the hand-off? */
bool iw_mpa_offload_is_answered(const struct iw_mpa_ep *ep)
{
	return iw_mpa_sock_rcv_nxt(&ep->sock) != ep->off.rcv_nxt;
}

/*
 * Send one more zero-length RDMA Write, unless the peer has answered. If the ULP has sent something
 * since, the peer looks at that, too: then only with @after_work.
 *
 * Return: true if the driver has sent one.
 */
bool iw_mpa_offload_repeat_rtr(struct iw_mpa_ep *ep, bool after_work)
{
	if (iw_mpa_offload_is_answered(ep) ||
	    (!after_work && iw_mpa_sock_snd_nxt(&ep->sock) != ep->off.rtr_end) ||
	    ep->dev->ops->repeat_rtr(ep->off.qp))
		return false;
	ep->off.rtr_end = iw_mpa_sock_snd_nxt(&ep->sock);
	return true;
}

/* Take the stream back: first its callbacks, then the driver forgets it. */
void iw_mpa_offload_stop(struct iw_mpa_ep *ep, enum iw_mpa_reason why)
{
	iw_mpa_sock_detach(&ep->sock);
	ep->off.started = false;
	ep->dev->ops->stop(ep->off.qp, why);
}

/*
 * May the library still send on the stream, which the driver does not have? If a device has taken
 * TCP over, the socket does not know the sequence numbers of the device.
 */
bool iw_mpa_offload_is_untouched(const struct iw_mpa_ep *ep)
{
	const struct iw_mpa_offload *off = &ep->off;

	return !off->taken || (ep->dev->ops->attach && !off->takeover &&
			       iw_mpa_sock_snd_nxt(&ep->sock) == off->snd_nxt);
}

/*
 * What takeover.c has to call if a path changes: path_changed, or NULL if the driver does not want
 * to know of paths. The connection may have outlived its endpoint.
 */
iw_mpa_takeover_tell *iw_mpa_offload_teller(const struct iw_mpa_driver_ops *drv)
{
	return drv->path_changed;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * This file and offload.h hand a stream to the driver, and call the driver from
 * then on. Besides takeover/ no other file calls a driver's ops.
 * iw_mpa_offload_active() and iw_mpa_offload_passive() have the order of calls
 * that the contract with drivers promises (iw_mpa_driver.rst).
 */

#include "offload.h"
#include "config.h"
#include "sock.h"
#include "stats.h"
#include "takeover/takeover.h"
#include "trace.h"

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <rdma/ib_verbs.h>

/* Repeats of the RTR before this one are skipped if the ULP has sent bytes */
#define OFFLOAD_REPEAT_AFTER_WORK	3

/* Return: NULL if ops and attributes of a driver are valid; else the problem */
const char *iw_mpa_offload_check(const struct iw_mpa_driver_ops *drv,
				 const struct iw_mpa_device_attr *attr)
{
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
		{ drv->repeat_rtr && !drv->send_rtr,
		  "repeat_rtr needs send_rtr" },
		{ !attr->rtr_accept,
		  "rtr_accept is empty, RFC 6581 9.2 asks for one RTR type" },
		{ attr->rtr_accept == IW_MPA_RTR_READ && !attr->max_ird,
		  "rtr_accept is Read alone, but max_ird is 0" },
		{ rtr & ~IW_MPA_RTR_ALL,
		  "rtr_send or rtr_accept has an unknown RTR type" },
		{ attr->max_ird > IW_MPA_DEPTH_MAX, "max_ird is above 0x3ffe" },
		{ attr->max_ord > IW_MPA_DEPTH_MAX, "max_ord is above 0x3ffe" },
		{ attr->caps >= 2 * IW_MPA_CAP_LARGE_FPDU,
		  "caps has an unknown bit" },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(rules); i++) {
		if (rules[i].wrong)
			return rules[i].problem;
	}
	if (!attr->takeover)
		return NULL;
	if (IS_ENABLED(CONFIG_IW_MPA_TAKEOVER))
		return iw_mpa_takeover_check(drv, attr->takeover);
	return drv->attach ? NULL : "takeover needs CONFIG_IW_MPA_TAKEOVER";
}

/*
 * Log a driver's mistake: it has sent bytes before iw_mpa let it transmit. The
 * peer gets these bytes before the Reply or the RTR message; or a responder
 * sends them before the initiator's first FPDU, against RFC 5044 7.1.2.
 *
 * Return: true if the driver has sent bytes too early.
 */
static bool offload_blame_early(struct iw_mpa_ep *ep, const char *before)
{
	u32 sent = iw_mpa_sock_snd_nxt(&ep->sock) - ep->off.snd_nxt;

	if (!sent || !ep->sock.sock || !ep->dev->ops->attach)
		return false;
	iw_mpa_blame("%s: connection %lu: %u bytes were sent before %s",
		     dev_name(&ep->dev->ibdev->dev), ep->id, sent, before);
	return true;
}

/*
 * Call attach(), but not for a device that has taken TCP over, which receives
 * the bytes itself.
 *
 * Return: false if a member of the socket is wrong after attach(): attach() has
 * not set sk_data_ready, or has changed what iw_mpa_sock_mend() restores.
 */
static bool offload_attach(struct iw_mpa_ep *ep)
{
	const struct iw_mpa_driver_ops *drv = ep->dev->ops;
	struct iw_mpa_sock *ms = &ep->sock;
	const char *wrong = NULL;
	struct sock *sk;

	if (!ms->sock) {
		ms->stream.qp = ep->off.qp;
		return true;
	}
	sk = ms->sock->sk;
	write_lock_bh(&sk->sk_callback_lock);
	ms->stream.qp = ep->off.qp;
	if (drv->attach) {
		drv->attach(ep->off.qp, sk, &ms->stream);
		wrong = iw_mpa_sock_mend(ms, true);
	}
	write_unlock_bh(&sk->sk_callback_lock);
	if (wrong)
		iw_mpa_blame("%s: connection %lu: after attach %s of the socket is wrong",
			     dev_name(&ep->dev->ibdev->dev), ep->id, wrong);
	return !wrong;
}

/* Return: IW_MPA_R_OK; or the reason why the driver does not get the stream. */
static enum iw_mpa_reason offload_prepare(struct iw_mpa_ep *ep,
					  const struct iw_mpa_handoff *ho,
					  int *err)
{
	if (ho->rx_queued && !(ep->dev->attr.caps & IW_MPA_CAP_EARLY_RX))
		return IW_MPA_R_EARLY_DATA;
	*err = ep->dev->ops->prepare(ep->off.qp, ho);
	trace_iw_mpa_handoff(ep->id, ho->params, ho->snd_nxt, ho->rcv_nxt,
			     *err);
	return *err ? IW_MPA_R_DRIVER : IW_MPA_R_OK;
}

/*
 * Make the driver ready for the first FPDU. The stream is positioned after the
 * peer's startup frame. A responder still has to send its Reply, @reply_len
 * bytes. If bytes arrive before attach(), and the device lacks
 * IW_MPA_CAP_EARLY_RX, the hand-off fails.
 *
 * Return: IW_MPA_R_OK; or the reason why the driver does not get the stream.
 */
static enum iw_mpa_reason offload_start(struct iw_mpa_ep *ep, size_t reply_len,
					int *err)
{
	const u32 caps = ep->dev->attr.caps;
	struct iw_mpa_offload *off = &ep->off;
	struct iw_mpa_handoff ho = {
		.ep = ep,
		.sock = ep->sock.sock,
		.params = &ep->params,
	};
	enum iw_mpa_reason why = IW_MPA_R_OK;

	iw_mpa_sock_seq(&ep->sock, &off->snd_nxt, &off->rcv_nxt, &ho.rx_queued);
	ho.snd_nxt = off->snd_nxt + reply_len;
	ho.rcv_nxt = off->rcv_nxt;
	if (iw_mpa_takeover_is_due(ep->dev))
		why = iw_mpa_takeover_shut_off(ep, &ho, err);
	if (!why)
		why = offload_prepare(ep, &ho, err);
	if (iw_mpa_takeover_is_on(ep))
		iw_mpa_takeover_settle(ep, !why);
	if (why)
		return why;
	off->taken = true;
	if (!offload_attach(ep) || offload_blame_early(ep, "the hand-off")) {
		*err = -EINVAL;
		iw_mpa_offload_stop(ep, IW_MPA_R_DRIVER);
		return IW_MPA_R_DRIVER;
	}
	if (ep->sock.sock && !(caps & IW_MPA_CAP_EARLY_RX) &&
	    iw_mpa_sock_unread(&ep->sock)) {
		iw_mpa_offload_stop(ep, IW_MPA_R_EARLY_DATA);
		return IW_MPA_R_EARLY_DATA;
	}
	return IW_MPA_R_OK;
}

/*
 * Hand an initiator's stream, positioned after the Reply, to the driver.
 *
 * RFC 6581 9.2 lets a responder name one RTR type, or all that it accepts. Some
 * responders that name one type read the stream only once they have sent their
 * Reply, and find an RTR message that arrived before that only when further
 * bytes arrive. For these the RTR message is repeated, if the result is
 * IW_MPA_EV_HANDED_OFF_QUIET.
 *
 * Return: one of the events that fsm.h lists for HANDOFF_ACTIVE.
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
		iw_mpa_offload_open_tx(ep);
		return IW_MPA_EV_HANDED_OFF;
	}
	err = drv->send_rtr(ep->off.qp, params->rtr);
	if (err)
		return iw_mpa_ep_fail(ep, IW_MPA_EV_RTR_FAILED, err);
	ep->off.rtr_end = iw_mpa_sock_snd_nxt(&ep->sock);
	if (params->rtr_single && params->rtr == IW_MPA_RTR_WRITE &&
	    drv->repeat_rtr && READ_ONCE(ep->config->rtr_repeat_ms))
		return IW_MPA_EV_HANDED_OFF_QUIET;
	return IW_MPA_EV_HANDED_OFF;
}

static int offload_send_reply(struct iw_mpa_ep *ep, const void *reply,
			      size_t len)
{
	if (iw_mpa_takeover_is_on(ep))
		return iw_mpa_takeover_send_reply(ep, reply, len);
	return iw_mpa_sock_send(&ep->sock, reply, len);
}

/*
 * Hand a responder's stream, positioned after the Request, to the driver, and
 * send the Reply. With @fence the driver must not transmit until the first FPDU
 * has arrived, as RFC 5044 7.1.2 requires.
 *
 * Return: one of the events that fsm.h lists for HANDOFF_PASSIVE.
 */
enum iw_mpa_event iw_mpa_offload_passive(struct iw_mpa_ep *ep, bool fence,
					 const void *reply, size_t len)
{
	enum iw_mpa_reason why;
	int err = 0;

	why = offload_start(ep, len, &err);
	if (why) {
		iw_mpa_ep_set_reason(ep, why, err);
		return IW_MPA_EV_ACCEPT_FAILED;
	}
	err = offload_send_reply(ep, reply, len);
	if (err)
		return iw_mpa_ep_fail(ep, IW_MPA_EV_REPLY_FAILED, err);
	ep->off.snd_nxt += len;
	if (ep->params.p2p)
		return IW_MPA_EV_HANDED_OFF_RTR;
	if (fence)
		return IW_MPA_EV_HANDED_OFF_FENCED;
	iw_mpa_offload_open_tx(ep);
	return IW_MPA_EV_HANDED_OFF;
}

/* Let the driver transmit. May sleep, but not with IW_MPA_CAP_ATOMIC_OPEN. */
void iw_mpa_offload_open_tx(struct iw_mpa_ep *ep)
{
	offload_blame_early(ep, "open_tx");
	ep->dev->ops->open_tx(ep->off.qp);
}

/* Has the peer sent a byte since the hand-off to the driver? */
bool iw_mpa_offload_is_answered(const struct iw_mpa_ep *ep)
{
	return iw_mpa_sock_rcv_nxt(&ep->sock) != ep->off.rcv_nxt;
}

/*
 * Repeat the RTR message as a zero-length RDMA Write, unless the peer has
 * answered. A peer that has missed the RTR message finds it when further bytes
 * arrive. If the ULP has sent bytes since the RTR message or its last repeat,
 * these may be enough: then the first repeats are skipped.
 */
void iw_mpa_offload_repeat_rtr(struct iw_mpa_ep *ep)
{
	bool after_work = iw_mpa_sock_snd_nxt(&ep->sock) != ep->off.rtr_end;

	ep->repeats++;
	if (iw_mpa_offload_is_answered(ep) ||
	    (after_work && ep->repeats < OFFLOAD_REPEAT_AFTER_WORK) ||
	    ep->dev->ops->repeat_rtr(ep->off.qp))
		return;
	ep->off.rtr_end = iw_mpa_sock_snd_nxt(&ep->sock);
	iw_mpa_count_for(ep->dev->stats, IW_MPA_CNT_rtr_repeated);
}

/* Restore the socket callbacks before stop(), which must not set them again. */
void iw_mpa_offload_stop(struct iw_mpa_ep *ep, enum iw_mpa_reason why)
{
	const char *changed;

	iw_mpa_sock_detach(&ep->sock);
	ep->dev->ops->stop(ep->off.qp, why);
	changed = iw_mpa_sock_detach(&ep->sock);
	if (changed)
		iw_mpa_blame("%s: connection %lu: after stop %s of the socket is wrong",
			     dev_name(&ep->dev->ibdev->dev), ep->id, changed);
}

/*
 * May iw_mpa still send on the stream? Not if the driver has sent bytes, nor if
 * a device has taken TCP over: the socket does not show what the device has
 * sent.
 */
bool iw_mpa_offload_is_untouched(const struct iw_mpa_ep *ep)
{
	const struct iw_mpa_offload *off = &ep->off;

	return !off->taken || (ep->sock.sock && ep->dev->ops->attach &&
			       iw_mpa_sock_snd_nxt(&ep->sock) == off->snd_nxt);
}

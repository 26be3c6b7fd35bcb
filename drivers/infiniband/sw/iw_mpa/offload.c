// SPDX-License-Identifier: GPL-2.0
/* The hand-off: the only caller of a driver's ops. */

#include "offload.h"
#include "sock.h"
#include "trace.h"

#include <linux/errno.h>
#include <linux/string.h>

/**
 * iw_mpa_offload_check - is a driver's description complete?
 * @drv: the driver's ops
 * @attr: what its device can do
 * @problem: result: what is wrong, in words
 *
 * Return: 0, or -EINVAL with @problem set.
 */
int iw_mpa_offload_check(const struct iw_mpa_driver_ops *drv,
			 const struct iw_mpa_device_attr *attr,
			 const char **problem)
{
	const u32 caps = IW_MPA_CAP_TX_MARKERS | IW_MPA_CAP_RX_MARKERS |
			 IW_MPA_CAP_NO_CRC | IW_MPA_CAP_EARLY_RX |
			 IW_MPA_CAP_TX_FENCE;

	*problem = NULL;
	if (!drv->prepare)
		*problem = "prepare is missing";
	else if (!drv->open_tx)
		*problem = "open_tx is missing";
	else if (!drv->stop)
		*problem = "stop is missing";
	else if (drv->attach && !drv->kick_rx)
		*problem = "attach needs kick_rx";
	else if (attr->rtr_send && !drv->send_rtr)
		*problem = "rtr_send needs send_rtr";
	else if (drv->repeat_rtr && !drv->send_rtr)
		*problem = "repeat_rtr needs send_rtr";
	else if (!attr->rtr_accept)
		*problem = "rtr_accept is empty, RFC 6581 9.2 asks for one RTR type";
	else if (attr->rtr_accept == IW_MPA_RTR_READ && !attr->max_ird)
		*problem = "rtr_accept is Read alone, but max_ird is 0";
	else if ((attr->rtr_send | attr->rtr_accept) & ~IW_MPA_RTR_ALL)
		*problem = "rtr_send or rtr_accept has an unknown RTR type";
	else if (attr->max_ird > IW_MPA_DEPTH_MAX)
		*problem = "max_ird is above 0x3ffe";
	else if (attr->max_ord > IW_MPA_DEPTH_MAX)
		*problem = "max_ord is above 0x3ffe";
	else if (attr->pd_size > IW_MPA_DRIVER_PD_MAX)
		*problem = "pd_size is above 32";
	else if (attr->pd_size && !drv->put_pd)
		*problem = "pd_size needs put_pd";
	else if (attr->caps & ~caps)
		*problem = "caps has an unknown bit";
	return *problem ? -EINVAL : 0;
}

static void offload_attach(struct iw_mpa_offload *off, struct iw_mpa_sock *ms)
{
	iw_mpa_sock_lock_callbacks(ms);
	ms->stream.qp = off->qp;
	if (off->drv->attach)
		off->drv->attach(off->qp, ms->sock->sk, &ms->stream);
	iw_mpa_sock_unlock_callbacks(ms);
}

/**
 * iw_mpa_offload_put_pd - have the driver write its private data
 * @off: line with a QP bound, unless @reject
 * @pd: room for pd_size octets
 * @reject: for a Reject, which has zeroes
 *
 * Context: process.
 */
void iw_mpa_offload_put_pd(struct iw_mpa_offload *off, void *pd, bool reject)
{
	memset(pd, 0, off->attr->pd_size);
	if (!reject)
		off->drv->put_pd(off->qp, pd);
}

/**
 * iw_mpa_offload_start - make the driver ready for the first FPDU
 * @off: line with a QP bound
 * @ep: what the driver names the connection by
 * @ms: the stream, positioned behind the peer's startup frame
 * @params: what was negotiated
 * @reply_len: octets of the Reply, which is not sent yet; initiator: 0
 *
 * Context: process, may sleep.
 *
 * Return: IW_MPA_R_OK; EARLY_DATA or DRIVER, then the driver has no stream, and
 * @off->err is what prepare returned.
 */
enum iw_mpa_reason iw_mpa_offload_start(struct iw_mpa_offload *off,
					struct iw_mpa_ep *ep,
					struct iw_mpa_sock *ms,
					const struct iw_mpa_params *params,
					size_t reply_len)
{
	struct iw_mpa_handoff ho = {
		.ep = ep,
		.sock = ms->sock,
		.params = params,
		.peer_pd = off->peer_pd,
	};

	iw_mpa_sock_seq(ms, &ho.snd_nxt, &ho.rcv_nxt, &ho.rx_queued);
	ho.snd_nxt += reply_len;
	off->rcv_nxt = ho.rcv_nxt;
	if (ho.rx_queued && !(off->attr->caps & IW_MPA_CAP_EARLY_RX))
		return IW_MPA_R_EARLY_DATA;

	off->err = off->drv->prepare(off->qp, &ho);
	trace_iw_mpa_handoff(ep, params, ho.snd_nxt, ho.rcv_nxt, off->err);
	if (off->err)
		return IW_MPA_R_DRIVER;
	off->started = true;
	offload_attach(off, ms);

	/* What came while it prepared went past the device. */
	if (!(off->attr->caps & IW_MPA_CAP_EARLY_RX)) {
		iw_mpa_sock_seq(ms, &ho.snd_nxt, &ho.rcv_nxt, &ho.rx_queued);
		if (ho.rx_queued) {
			iw_mpa_offload_stop(off, ms, IW_MPA_R_EARLY_DATA);
			return IW_MPA_R_EARLY_DATA;
		}
	}
	return IW_MPA_R_OK;
}

/**
 * iw_mpa_offload_send_reply - send the MPA Reply, through the driver if it wants
 * @off: started line
 * @ms: the stream
 * @reply: the frame
 * @len: octets of it
 *
 * Context: process, may sleep.
 *
 * Return: 0 or a negative errno.
 */
int iw_mpa_offload_send_reply(struct iw_mpa_offload *off,
			      struct iw_mpa_sock *ms, const void *reply,
			      size_t len)
{
	if (off->drv->send_reply)
		return off->drv->send_reply(off->qp, reply, len);
	return iw_mpa_sock_send(ms, reply, len);
}

/**
 * iw_mpa_offload_open - let work out, an initiator's RTR message first
 * @off: started line
 * @ms: the stream
 * @params: what was negotiated
 *
 * Context: process, may sleep.
 *
 * Return: 0, or a negative errno if the RTR message could not be sent.
 */
int iw_mpa_offload_open(struct iw_mpa_offload *off, struct iw_mpa_sock *ms,
			const struct iw_mpa_params *params)
{
	unsigned int scope;
	int err;

	if (!params->initiator || !params->rtr) {
		off->drv->open_tx(off->qp);
		return 0;
	}
	scope = iw_mpa_sock_begin_send(ms);
	err = off->drv->send_rtr(off->qp, params->rtr);
	iw_mpa_sock_end_send(ms, scope);
	off->rtr_end = iw_mpa_sock_snd_nxt(ms);
	return err;
}

/**
 * iw_mpa_offload_may_repeat - can an RTR message be repeated, and may it have to be?
 * @off: line
 * @params: what was negotiated
 *
 * RFC 6581 9.2 lets a responder name one RTR type, or all that it can take. Some of
 * those that name one begin to look at the stream only after their Reply has gone
 * out, and do not see an RTR message that was faster until more octets come.
 *
 * Return: true if the peer may be such a one, and the driver has repeat_rtr.
 */
bool iw_mpa_offload_may_repeat(const struct iw_mpa_offload *off,
			       const struct iw_mpa_params *params)
{
	return params->rtr_single && off->drv->repeat_rtr;
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
bool iw_mpa_offload_is_answered(const struct iw_mpa_offload *off,
				const struct iw_mpa_sock *ms)
{
	return iw_mpa_sock_rcv_nxt(ms) != off->rcv_nxt;
}

/**
 * iw_mpa_offload_is_quiet - has nothing been sent since the RTR message?
 * @off: started line of an initiator
 * @ms: the stream
 *
 * Context: process.
 *
 * Return: true if nothing of the ULP has.
 */
bool iw_mpa_offload_is_quiet(const struct iw_mpa_offload *off,
			     const struct iw_mpa_sock *ms)
{
	return iw_mpa_sock_snd_nxt(ms) == off->rtr_end;
}

/**
 * iw_mpa_offload_repeat_rtr - send one more zero-length RDMA Write
 * @off: started line of a driver with repeat_rtr
 * @ms: the stream
 *
 * Context: process, may sleep.
 *
 * Return: 0, or a negative errno if nothing was sent, which is no error.
 */
int iw_mpa_offload_repeat_rtr(struct iw_mpa_offload *off,
			      struct iw_mpa_sock *ms)
{
	int err = off->drv->repeat_rtr(off->qp);

	if (!err)
		off->rtr_end = iw_mpa_sock_snd_nxt(ms);
	return err;
}

/**
 * iw_mpa_offload_kick - have the driver look at the stream
 * @off: started line
 *
 * Context: process.
 */
void iw_mpa_offload_kick(struct iw_mpa_offload *off)
{
	if (off->started && off->drv->kick_rx)
		off->drv->kick_rx(off->qp);
}

/**
 * iw_mpa_offload_stop - take the stream back
 * @off: line, started or not
 * @ms: the stream; its callbacks are taken back first
 * @why: for the driver
 *
 * Context: process, may sleep.
 */
void iw_mpa_offload_stop(struct iw_mpa_offload *off, struct iw_mpa_sock *ms,
			 enum iw_mpa_reason why)
{
	if (!off->started)
		return;
	iw_mpa_sock_detach(ms);
	off->started = false;
	off->drv->stop(off->qp, why);
}

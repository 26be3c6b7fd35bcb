// SPDX-License-Identifier: GPL-2.0
/* MPA Requests and Replies, and the Terminate messages of the startup */

#include "ep.h"
#include "backlog.h"
#include "device.h"
#include "frame.h"
#include "negotiate.h"
#include "offload.h"
#include "trace.h"

#include <linux/minmax.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/string.h>

/*
 * Maximum of bytes to drop at once if there is no memory for a startup frame.
 * Bytes that arrive later are dropped in the endpoint's state LINGER.
 */
#define STARTUP_DROP		SZ_1M

static int startup_encode(struct iw_mpa_ep *ep, const void *pd, u16 pd_len,
			  u8 buf[IW_MPA_FRAME_MAX])
{
	int len;

	ep->sent.pd = pd;
	ep->sent.pd_len = pd_len;
	len = iw_mpa_frame_encode(&ep->sent, buf, IW_MPA_FRAME_MAX);
	trace_iw_mpa_frame(ep->id, true, &ep->sent);
	ep->sent.pd = NULL;
	return len;
}

/*
 * Send the MPA Request, or the rest of it. TCP is connected, or (Fast Open)
 * takes bytes for its SYN. If the Request went with the SYN, this returns
 * IW_MPA_EV_NONE, and is called again when TCP is connected.
 */
enum iw_mpa_event iw_mpa_startup_send_request(struct iw_mpa_ep *ep)
{
	u8 buf[IW_MPA_FRAME_MAX];
	int len, sent;

	if (!ep->request_out) {
		iw_mpa_make_request(&ep->local, &ep->sent);
		len = startup_encode(ep, ep->request_pd, ep->request_pd_len,
				     buf);
		sent = len;
		if (len >= 0)
			sent = iw_mpa_sock_send_first(&ep->sock,
						      buf + ep->request_sent,
						      len - ep->request_sent);
		/* RST is no failure here: TCP has raised PEER_RESET for it. */
		if (sent < 0 && sent != -ECONNRESET && sent != -EPIPE)
			return iw_mpa_ep_fail(ep, IW_MPA_EV_SEND_FAILED, sent);
		if (sent > 0)
			ep->request_sent += sent;
		ep->request_out = sent < 0 || ep->request_sent == len;
	}
	if (!ep->request_out || !iw_mpa_sock_is_up(&ep->sock))
		return IW_MPA_EV_NONE;
	return ep->sent.rev > IW_MPA_REV_1 ? IW_MPA_EV_V2_SENT :
					     IW_MPA_EV_REQ_SENT;
}

/* Most frames fit into ep->frame; a long one gets a buffer after its header */
static bool startup_make_room(struct iw_mpa_ep *ep)
{
	struct iw_mpa_reader *rd = &ep->reader;
	size_t size = rd->have + rd->need;
	u8 *buf;

	if (rd->buf != ep->frame || size <= sizeof(ep->frame))
		return true;
	buf = kmalloc(size, GFP_NOIO | __GFP_NOWARN);
	if (!buf)
		return false;
	memcpy(buf, rd->buf, rd->have);
	rd->buf = buf;
	return true;
}

/* Free the buffer of the peer's startup frame, which is not needed any more. */
void iw_mpa_startup_end(struct iw_mpa_ep *ep)
{
	if (ep->reader.buf != ep->frame)
		kfree(ep->reader.buf);
	ep->reader.buf = ep->frame;
}

/*
 * Read those bytes of the peer's startup frame that have arrived, and none
 * after the frame: FPDUs are for the driver. If there is no memory for the
 * frame the connection ends, and all bytes are dropped: when a socket with
 * unread bytes closes, TCP sends RST in place of FIN.
 *
 * Return: what the last iw_mpa_sock_read() returned. But if TCP fails after a
 * part of the frame was read, return -EAGAIN, and leave the failure to the
 * event that TCP raises: a peer that has begun its Reply is not offered another
 * revision. Of urgent data, -EPROTO, TCP raises no such event.
 */
static int startup_fill(struct iw_mpa_ep *ep, bool *closed)
{
	struct iw_mpa_reader *rd = &ep->reader;
	enum iw_mpa_reason reason = IW_MPA_R_OK;
	const u16 before = rd->have;
	int len;

	do {
		len = iw_mpa_sock_read(&ep->sock, rd->buf + rd->have, rd->need,
				       closed);
		if (len > 0)
			reason = iw_mpa_reader_filled(rd, len);
		if (!reason && !startup_make_room(ep)) {
			iw_mpa_sock_discard(&ep->sock, STARTUP_DROP);
			reason = IW_MPA_R_LOCAL;
		}
	} while (len > 0 && !reason && rd->need);
	if (reason)
		iw_mpa_ep_set_reason(ep, reason, 0);
	return len < 0 && len != -EPROTO && rd->have != before ? -EAGAIN : len;
}

static enum iw_mpa_event startup_decode(struct iw_mpa_ep *ep)
{
	enum iw_mpa_reason reason;

	reason = iw_mpa_frame_decode(ep->reader.buf, ep->reader.have,
				     ep->reader.reply, &ep->peer);
	if (reason) {
		iw_mpa_ep_set_reason(ep, reason, 0);
		return IW_MPA_EV_FRAME_BAD;
	}
	trace_iw_mpa_frame(ep->id, false, &ep->peer);
	return IW_MPA_EV_NONE;
}

/*
 * The header of a startup frame has arrived, and there is no memory for the
 * rest of it. The header shows whether the peer understands a Terminate
 * message. No Terminate message is sent to a peer whose Reply rejects: such a
 * peer does not expect one.
 */
static enum iw_mpa_event startup_decode_head(struct iw_mpa_ep *ep)
{
	iw_mpa_frame_decode_head(ep->reader.buf, ep->reader.reply, &ep->peer);
	if (!ep->reader.reply)
		return IW_MPA_EV_TERM_DUE;
	iw_mpa_negotiate_reply(&ep->local, &ep->sent, &ep->peer, &ep->params);
	return ep->peer.reject ? IW_MPA_EV_FRAME_BAD : IW_MPA_EV_TERM_DUE;
}

/*
 * Read those bytes of the peer's startup frame that have arrived.
 *
 * Return: IW_MPA_EV_NONE if the frame is complete and well-formed, or if no
 * byte of it has arrived; IW_MPA_EV_REP_BEGUN if a part of it has;
 * IW_MPA_EV_TERM_DUE if memory is short: a Terminate message is due; or a
 * failure's event.
 */
static enum iw_mpa_event startup_read(struct iw_mpa_ep *ep)
{
	struct iw_mpa_reader *rd = &ep->reader;
	bool closed, no_memory;
	int len;

	len = startup_fill(ep, &closed);
	no_memory = ep->reason == IW_MPA_R_LOCAL;
	if (ep->reason && !no_memory)
		return IW_MPA_EV_FRAME_BAD;
	if (no_memory || !rd->need) {
		/* TCP reports FIN once: raise PEER_CLOSED for the next state */
		if (closed)
			iw_mpa_raise(ep, IW_MPA_EV_PEER_CLOSED);
		return no_memory ? startup_decode_head(ep) : startup_decode(ep);
	}
	if (closed)
		return rd->have ? IW_MPA_EV_FRAME_CUT : IW_MPA_EV_STREAM_ENDED;
	if (len < 0 && len != -EAGAIN) {
		WRITE_ONCE(ep->tcp_err, -len);
		return iw_mpa_sock_end(-len);
	}
	return rd->have ? IW_MPA_EV_REP_BEGUN : IW_MPA_EV_NONE;
}

enum iw_mpa_event iw_mpa_startup_read_request(struct iw_mpa_ep *ep)
{
	enum iw_mpa_event event = startup_read(ep);

	if (event == IW_MPA_EV_REP_BEGUN)
		return IW_MPA_EV_NONE;
	if (event == IW_MPA_EV_NONE && !ep->reader.need)
		return IW_MPA_EV_REQ_GOOD;
	return event;
}

/* Log the features that this end asked for and the connection lacks. */
static void startup_report_loss(struct iw_mpa_ep *ep)
{
	ep->lost |= iw_mpa_lost(&ep->sent, &ep->params);
	if (!ep->lost)
		return;
	trace_iw_mpa_loss(ep->id, ep->params.rev, ep->lost);
	iw_mpa_ep_log_loss(ep);
}

/* Read the bytes of the Reply that have arrived; if complete, negotiate. */
enum iw_mpa_event iw_mpa_startup_read_reply(struct iw_mpa_ep *ep)
{
	enum iw_mpa_event event = startup_read(ep);
	enum iw_mpa_reason reason;

	if (event != IW_MPA_EV_NONE || ep->reader.need)
		return event;
	reason = iw_mpa_negotiate_reply(&ep->local, &ep->sent, &ep->peer,
					&ep->params);
	/* Accept an unenhanced Reply only if revision 1 is allowed. */
	if (!reason && ep->sent.enhanced && !ep->peer.enhanced && !ep->fallback)
		reason = IW_MPA_R_NO_REV_2;
	if (!reason) {
		startup_report_loss(ep);
		return IW_MPA_EV_REP_GOOD;
	}
	iw_mpa_ep_set_reason(ep, reason, 0);
	if (reason == IW_MPA_R_REJECTED)
		return IW_MPA_EV_REP_REJECT;
	return iw_mpa_reason_term_code(reason) ? IW_MPA_EV_TERM_DUE :
						 IW_MPA_EV_FRAME_BAD;
}

/*
 * Negotiate parameters for a Request, and make the Reply that accepts it.
 * Called within iw_accept, with the QP bound to the endpoint.
 *
 * Return: length of the Reply; or a negative errno, with ep->reason set.
 */
int iw_mpa_startup_make_reply(struct iw_mpa_ep *ep, u8 buf[IW_MPA_FRAME_MAX])
{
	enum iw_mpa_reason reason;
	int len = -EPROTO;

	reason = iw_mpa_negotiate_request(&ep->local, &ep->peer, &ep->sent,
					  &ep->params);
	if (!reason) {
		len = startup_encode(ep, ep->call->pd, ep->call->pd_len, buf);
		if (len < 0)
			reason = IW_MPA_R_LOCAL;
	}
	if (reason)
		iw_mpa_ep_set_reason(ep, reason, 0);
	return len;
}

/*
 * Send a Terminate message (RFC 6581 8 and 9.3), unless the peer could not
 * interpret it: a peer of revision 1 does not have these error codes, and a
 * peer that requires Markers cannot parse an FPDU without them. An error of the
 * send is ignored: the connection ends anyway.
 */
static void startup_put_term(struct iw_mpa_ep *ep, u8 code)
{
	u8 fpdu[IW_MPA_FPDU_MAX];
	size_t len;

	if (!code || !ep->params.enhanced || ep->params.tx_markers)
		return;
	len = iw_mpa_fpdu_term(code, ep->params.crc, fpdu);
	iw_mpa_sock_send(&ep->sock, fpdu, len);
}

/*
 * Send an initiator's Terminate message, with the error code of ep->reason,
 * then FIN. If the driver has sent bytes, only the driver may send on the
 * stream: then FIN is sent without a Terminate.
 */
void iw_mpa_startup_send_term(struct iw_mpa_ep *ep)
{
	if (iw_mpa_offload_is_untouched(ep))
		startup_put_term(ep, iw_mpa_reason_term_code(ep->reason));
	iw_mpa_sock_shutdown(&ep->sock);
}

/*
 * The ULP gives no IRD and ORD for a Reject. So its IRD is the Request's ORD,
 * and its ORD the Request's IRD, within the device's limits.
 */
static void startup_make_reject(struct iw_mpa_ep *ep)
{
	struct iw_mpa_local *local = &ep->local;

	local->ird = min(ep->peer.ord, local->max_ird);
	local->ord = min(ep->peer.ird, local->max_ord);
	iw_mpa_negotiate_request(local, &ep->peer, &ep->sent, &ep->params);
}

static void startup_put_reject(struct iw_mpa_ep *ep)
{
	bool by_ulp = ep->reason == IW_MPA_R_ULP_REJECT && ep->call;
	u8 buf[IW_MPA_FRAME_MAX];
	int len;

	if (!ep->sent.reply)
		startup_make_reject(ep);
	ep->sent.reject = true;
	len = startup_encode(ep, by_ulp ? ep->call->pd : NULL,
			     by_ulp ? ep->call->pd_len : 0, buf);
	if (len > 0 && !iw_mpa_sock_send(&ep->sock, buf, len))
		startup_put_term(ep, iw_mpa_reason_term_code(ep->reason));
	else
		iw_mpa_sock_reset(&ep->sock);
}

/*
 * Send a Reply that rejects a Request. If there was memory only for the header
 * of the Request, the Reject has an IRD and ORD of 0: those of the Request were
 * not read.
 *
 * RFC 5044 7.1.2: after a Reject TCP stays connected until the initiator
 * closes, or until linger_timeout_ms is over. If an error of this end is the
 * cause, not the ULP, RFC 6581 9.1 and 9.3 ask for a Terminate message, too. If
 * a device has taken the TCP connection over and given it back, iw_mpa must not
 * send bytes: then only FIN is sent. If TCP does not take the Reject, RST is
 * sent: a FIN in place of a Reply would mean that this end does not support the
 * revision.
 *
 * READABLE was handled for bytes that came before the Reject, and they were
 * left to the driver; raise it once more, so that they are drained.
 */
void iw_mpa_startup_send_reject(struct iw_mpa_ep *ep)
{
	if (iw_mpa_offload_is_untouched(ep))
		startup_put_reject(ep);
	else
		iw_mpa_sock_shutdown(&ep->sock);
	iw_mpa_raise(ep, IW_MPA_EV_READABLE);
	iw_mpa_backlog_refused(ep);
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* MPA startup for iw_cxgb4, without I/O: see mpa.h. */

#include "mpa.h"

#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/string.h>

/* RTR types that the device can send or accept */
#define C4MPA_RTR	(IW_MPA_RTR_WRITE | IW_MPA_RTR_READ)

/**
 * c4mpa_init - begin a startup, also if revision 1 is tried after revision 2
 * @conn: connection
 * @ops: functions of the device, the timer and iw_cm
 * @settings: parameters of the module and limits of the device
 * @initiator: this end sends the Request
 */
void c4mpa_init(struct c4mpa_conn *conn, const struct c4mpa_ops *ops,
		const struct c4mpa_settings *settings, bool initiator)
{
	memset(conn, 0, sizeof(*conn));
	conn->ops = ops;
	conn->local = (struct iw_mpa_local) {
		.max_ird	= settings->max_ird,
		.max_ord	= settings->max_ord,
		.rev		= settings->rev,
		.rtr_send	= settings->rtr,
		.rtr_accept	= settings->rtr,
		.p2p		= settings->p2p,
		.crc		= settings->crc,
		.rx_markers	= settings->markers,
		.tx_markers	= true,
	};
	conn->rtr = settings->rtr;
	conn->v1_rtr = settings->p2p ? settings->rtr : 0;
	iw_mpa_reader_init(&conn->reader, initiator, conn->rx);
}

/*
 * Return: the one RTR type with which the QP is programmed: conn->rtr, the type
 * of the settings, if the peer names it, or if the peer names no type that the
 * device supports; else the type that the peer names and the device supports.
 */
static u8 c4mpa_rtr(const struct c4mpa_conn *conn)
{
	u8 both = conn->peer.rtr & C4MPA_RTR;

	return !both || (both & conn->rtr) ? conn->rtr : both;
}

/* Send a startup frame: its head is encoded here, ops->send() appends @pd. */
static int c4mpa_send(struct c4mpa_conn *conn, const void *pd, u16 pd_len)
{
	struct iw_mpa_frame frame = conn->sent;
	u8 buf[IW_MPA_FRAME_MAX];
	int len;

	frame.pd = pd;
	frame.pd_len = pd_len;
	len = iw_mpa_frame_encode(&frame, buf, sizeof(buf));
	if (len < 0)
		return len;
	return conn->ops->send(conn, buf, len - pd_len, pd, pd_len);
}

/**
 * c4mpa_connect - TCP is connected: send the MPA Request
 * @conn: an initiator's connection, after c4mpa_init()
 * @ird: IRD that the ULP asks for
 * @ord: ORD that the ULP asks for
 * @pd: private data
 * @pd_len: bytes of @pd
 *
 * Return: 0 or a negative errno.
 */
int c4mpa_connect(struct c4mpa_conn *conn, u16 ird, u16 ord, const void *pd,
		  u16 pd_len)
{
	conn->local.ird = ird;
	conn->local.ord = ord;
	iw_mpa_make_request(&conn->local, &conn->sent);
	return c4mpa_send(conn, pd, pd_len);
}

/*
 * Collect the peer's startup frame, a Request or a Reply. If bytes follow the
 * frame in the buffer the connection ends: they cannot be given back to the
 * device, and RFC 5044 7.1.2 lets no peer send FPDUs right after its frame.
 */
static enum iw_mpa_reason c4mpa_collect(struct c4mpa_conn *conn,
					const void *octets, size_t len)
{
	struct iw_mpa_reader *rd = &conn->reader;
	enum iw_mpa_reason why;
	size_t used = iw_mpa_reader_feed(rd, octets, len, &why);

	if (why)
		return why;
	if (used < len)
		return IW_MPA_R_EARLY_DATA;
	if (rd->need)
		return IW_MPA_R_OK;
	return iw_mpa_frame_decode(rd->buf, rd->have, rd->reply, &conn->peer);
}

static int c4mpa_tell(struct c4mpa_conn *conn, enum c4mpa_event_type type,
		      int status, bool pd)
{
	struct c4mpa_event event = { .type = type, .status = status };
	const struct iw_mpa_frame *peer = &conn->peer;
	u16 ird = peer->enhanced ? peer->ird : conn->local.max_ord;
	u16 ord = peer->enhanced ? peer->ord : conn->local.max_ird;

	event.depths.ird = min_t(u16, ird, U8_MAX);
	event.depths.ord = min_t(u16, ord, U8_MAX);
	if (pd) {
		event.pd = peer->pd;
		event.pd_len = min_t(u16, peer->pd_len, U8_MAX);
	}
	return conn->ops->event(conn, &event);
}

/*
 * Raise CONNECT_REPLY. If iw_cm has no memory to copy the private data, raise
 * the event again without private data, and with the same error. But if there
 * was no error, the second event has -ENOMEM, and the connection is aborted.
 */
static enum c4mpa_verdict c4mpa_tell_reply(struct c4mpa_conn *conn,
					   enum iw_mpa_reason why,
					   enum c4mpa_verdict verdict)
{
	int status = iw_mpa_reason_errno(why);
	bool pd = !why || why == IW_MPA_R_REJECTED;

	conn->why = why;
	if (!c4mpa_tell(conn, C4MPA_CONNECT_REPLY, status, pd))
		return verdict;
	conn->why = why ?: IW_MPA_R_EVENT_LOST;
	c4mpa_tell(conn, C4MPA_CONNECT_REPLY, status ?: -ENOMEM, false);
	return why ? verdict : C4MPA_ABORT;
}

/*
 * RFC 5044, revision 1, has no RTR message. Devices of iw_cxgb4 send one in
 * revision 1, too, if peer2peer is set, so both ends need the same settings. An
 * RTR message by RDMA Read needs at least an ORD of 1 at the initiator, and an
 * IRD of 1 at the responder.
 */
static void c4mpa_add_v1_rtr(struct c4mpa_conn *conn)
{
	struct iw_mpa_params *params = &conn->params;
	u16 *depth = params->initiator ? &params->ord : &params->ird;
	u16 limit = params->initiator ? conn->local.max_ord :
					conn->local.max_ird;

	if (params->rev > IW_MPA_REV_1 || !conn->v1_rtr)
		return;
	params->rtr = conn->v1_rtr;
	if (params->rtr == IW_MPA_RTR_READ && !*depth)
		*depth = min_t(u16, limit, 1);
}

/*
 * Send a Terminate message of the startup phase (RFC 6581 8). No QP has the
 * stream yet, so ops->send() sends the message, as it has sent the Request. The
 * message has no Markers. A peer that asks for Markers could not parse it: then
 * no message is sent, and the connection is aborted.
 */
static enum c4mpa_verdict c4mpa_terminate(struct c4mpa_conn *conn, u8 code)
{
	u8 fpdu[IW_MPA_FPDU_MAX];
	size_t len = iw_mpa_fpdu_term(code, conn->params.crc, fpdu);

	if (conn->params.tx_markers ||
	    conn->ops->send(conn, fpdu, len, NULL, 0))
		return C4MPA_ABORT;
	return C4MPA_CLOSE;
}

static enum c4mpa_verdict c4mpa_judge_reply(struct c4mpa_conn *conn)
{
	enum iw_mpa_reason why;
	u8 code;

	conn->local.rtr_send = c4mpa_rtr(conn);
	why = iw_mpa_negotiate_reply(&conn->local, &conn->sent, &conn->peer,
				     &conn->params);
	if (why == IW_MPA_R_REJECTED)
		return c4mpa_tell_reply(conn, why, C4MPA_CLOSE);
	code = iw_mpa_reason_term_code(why);
	if (code)
		return c4mpa_tell_reply(conn, why, c4mpa_terminate(conn, code));
	if (!why) {
		c4mpa_add_v1_rtr(conn);
		if (conn->ops->start(conn))
			why = IW_MPA_R_DRIVER;
	}
	return c4mpa_tell_reply(conn, why, why ? C4MPA_ABORT : C4MPA_GO_ON);
}

/**
 * c4mpa_rx_reply - an initiator has received bytes
 * @conn: an initiator's connection, after c4mpa_connect()
 * @octets: bytes in the driver's buffer
 * @len: how many
 *
 * Return: what cm.c has to do. If that is C4MPA_CLOSE or C4MPA_ABORT,
 * CONNECT_REPLY was raised.
 */
enum c4mpa_verdict c4mpa_rx_reply(struct c4mpa_conn *conn, const void *octets,
				  size_t len)
{
	enum iw_mpa_reason why = c4mpa_collect(conn, octets, len);

	if (!why && conn->reader.need)
		return C4MPA_GO_ON;
	if (!conn->ops->disarm(conn))
		return C4MPA_GO_ON;
	if (why)
		return c4mpa_tell_reply(conn, why, C4MPA_ABORT);
	return c4mpa_judge_reply(conn);
}

/**
 * c4mpa_rx_request - a responder has received bytes
 * @conn: a responder's connection after c4mpa_init(), before c4mpa_accept() and
 *	c4mpa_reject()
 * @octets: bytes in the driver's buffer
 * @len: how many
 *
 * The startup timer is not stopped when CONNECT_REQUEST is raised: it also
 * limits the time for the ULP's answer. Bytes after the Request, in the same
 * buffer or a later one, cannot be kept until the QP is bound: they end the
 * connection.
 *
 * Return: what to do with the connection.
 */
enum c4mpa_verdict c4mpa_rx_request(struct c4mpa_conn *conn, const void *octets,
				    size_t len)
{
	enum iw_mpa_reason why = c4mpa_collect(conn, octets, len);

	if (!why && conn->reader.need)
		return C4MPA_GO_ON;
	if (!why && conn->peer.rev > conn->local.rev)
		why = IW_MPA_R_BAD_REV;
	if (!why && c4mpa_tell(conn, C4MPA_CONNECT_REQUEST, 0, true))
		why = IW_MPA_R_EVENT_LOST;
	conn->why = why;
	if (!why)
		return C4MPA_GO_ON;
	conn->ops->disarm(conn);
	return C4MPA_ABORT;
}

/**
 * c4mpa_accept - the ULP accepts: program the QP, send the Reply
 * @conn: connection whose CONNECT_REQUEST waits for the ULP's answer
 * @ird: IRD that the ULP asks for
 * @ord: ORD that the ULP asks for
 * @pd: private data
 * @pd_len: bytes of @pd
 *
 * Return: 0; or a negative errno: then the caller has to abort the connection.
 */
int c4mpa_accept(struct c4mpa_conn *conn, u16 ird, u16 ord, const void *pd,
		 u16 pd_len)
{
	int err;

	conn->local.ird = ird;
	conn->local.ord = ord;
	conn->local.rtr_accept = c4mpa_rtr(conn);
	conn->why = iw_mpa_negotiate_request(&conn->local, &conn->peer,
					     &conn->sent, &conn->params);
	if (conn->why)
		return iw_mpa_reason_errno(conn->why);
	c4mpa_add_v1_rtr(conn);

	conn->why = IW_MPA_R_DRIVER;
	err = conn->ops->start(conn);
	if (err)
		return err;
	conn->why = IW_MPA_R_SEND;
	err = c4mpa_send(conn, pd, pd_len);
	if (err)
		return err;
	err = c4mpa_tell(conn, C4MPA_ESTABLISHED, 0, false);
	conn->why = err ? IW_MPA_R_EVENT_LOST : IW_MPA_R_OK;
	return err;
}

/**
 * c4mpa_reject - the ULP rejects: send a Reply with the flag R
 * @conn: connection whose CONNECT_REQUEST waits for the ULP's answer
 * @pd: private data
 * @pd_len: bytes of @pd
 *
 * IRD and ORD of the Reply are ORD and IRD of the Request, as far as the
 * device's limits allow.
 *
 * Return: 0: the caller closes the connection; or a negative errno: the caller
 * aborts it.
 */
int c4mpa_reject(struct c4mpa_conn *conn, const void *pd, u16 pd_len)
{
	struct iw_mpa_local *local = &conn->local;

	local->ird = min(conn->peer.ord, local->max_ird);
	local->ord = min(conn->peer.ird, local->max_ord);
	local->rtr_accept = c4mpa_rtr(conn);
	iw_mpa_negotiate_request(local, &conn->peer, &conn->sent,
				 &conn->params);
	conn->sent.reject = true;
	conn->why = IW_MPA_R_ULP_REJECT;
	return c4mpa_send(conn, pd, pd_len);
}

/**
 * c4mpa_may_fall_back - may revision 1 be tried after the peer's RST or FIN?
 * @conn: connection after c4mpa_connect()
 *
 * Return: true; false if revision 1 was tried already, or if the peer has sent
 * a part of a Reply, which shows that it supports revision 2.
 */
bool c4mpa_may_fall_back(const struct c4mpa_conn *conn)
{
	return conn->sent.rev > IW_MPA_REV_1 && !conn->reader.have;
}

/**
 * c4mpa_rx_fin - the peer has closed, and no Reply is complete
 * @conn: connection after c4mpa_connect()
 *
 * A peer without revision 2 may close TCP, rather than reset it (RFC 6581 10).
 * So if revision 1 may be tried, TCP is aborted, to connect again with revision
 * 1. The startup timer is stopped, unless the result is C4MPA_FIN_ENDS.
 *
 * Return: what the FIN means.
 */
enum c4mpa_fin c4mpa_rx_fin(struct c4mpa_conn *conn)
{
	if (!c4mpa_may_fall_back(conn) || !conn->ops->disarm(conn))
		return C4MPA_FIN_ENDS;
	conn->again = true;
	if (!conn->ops->abort(conn))
		return C4MPA_FIN_AGAIN;
	conn->again = false;
	conn->why = IW_MPA_R_PEER_CLOSED;
	c4mpa_tell(conn, C4MPA_CONNECT_REPLY, iw_mpa_reason_errno(conn->why),
		   false);
	return C4MPA_FIN_LOST;
}

/**
 * c4mpa_take_again - the device has closed a connection after an abort
 * @conn: connection
 *
 * Return: true at the first call after c4mpa_rx_fin() has aborted the
 * connection, to connect again with revision 1; else false.
 */
bool c4mpa_take_again(struct c4mpa_conn *conn)
{
	bool again = conn->again;

	conn->again = false;
	return again;
}

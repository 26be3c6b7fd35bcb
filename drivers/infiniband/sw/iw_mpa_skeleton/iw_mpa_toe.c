// SPDX-License-Identifier: GPL-2.0
/*
 * Example: MPA startup for a device that makes TCP connections by itself. This
 * code uses no socket, and of iw_mpa only the protocol functions of
 * <rdma/iw_mpa_proto.h>. struct toe_hw has the device's functions. A real
 * driver also has timers, the events of iw_cm, and a second try with revision 1
 * (RFC 6581 10).
 *
 * The KUnit suite iw_mpa_toe connects two struct toe_conn with each other.
 */

#include "iw_mpa_toe.h"

#include <linux/errno.h>
#include <linux/module.h>
#include <linux/string.h>

static void toe_close(struct toe_conn *conn, enum iw_mpa_reason why)
{
	if (conn->state == TOE_CLOSED)
		return;
	conn->state = TOE_CLOSED;
	conn->hw->close(conn, why);
}

static int toe_send_frame(struct toe_conn *conn, const void *pd, u16 pd_len)
{
	u8 buf[IW_MPA_FRAME_MAX];
	int len;

	conn->sent.pd = pd;
	conn->sent.pd_len = pd_len;
	len = iw_mpa_frame_encode(&conn->sent, buf, sizeof(buf));
	conn->sent.pd = NULL;
	return len < 0 ? len : conn->hw->send(conn, buf, len);
}

/* Only a peer with RFC 6581 and without Markers can parse this Terminate. */
static void toe_send_term(struct toe_conn *conn, enum iw_mpa_reason why)
{
	u8 code = iw_mpa_reason_term_code(why);
	u8 fpdu[IW_MPA_FPDU_MAX];

	if (code && conn->params.enhanced && !conn->params.tx_markers)
		conn->hw->send(conn, fpdu,
			       iw_mpa_fpdu_term(code, conn->params.crc, fpdu));
}

/**
 * toe_connect - TCP is connected: send the MPA Request
 * @conn: connection whose members hw and local are set
 * @pd: private data
 * @pd_len: bytes of @pd
 *
 * Return: 0 or a negative errno.
 */
int toe_connect(struct toe_conn *conn, const void *pd, u16 pd_len)
{
	iw_mpa_reader_init(&conn->reader, true, conn->rx_buf);
	iw_mpa_make_request(&conn->local, &conn->sent);
	conn->state = TOE_AWAIT_REP;
	return toe_send_frame(conn, pd, pd_len);
}

/**
 * toe_listen - TCP is connected: wait for the MPA Request
 * @conn: connection whose members hw and local are set
 */
void toe_listen(struct toe_conn *conn)
{
	iw_mpa_reader_init(&conn->reader, false, conn->rx_buf);
	conn->state = TOE_AWAIT_REQ;
}

/*
 * Start an initiator's QP. If an RTR message was agreed on, send it as the QP's
 * first FPDU.
 */
static enum iw_mpa_reason toe_start_active(struct toe_conn *conn)
{
	u8 fpdu[IW_MPA_FPDU_MAX];
	size_t len;

	if (conn->hw->start(conn))
		return IW_MPA_R_DRIVER;
	conn->state = TOE_STARTED;
	if (!conn->params.rtr)
		return IW_MPA_R_OK;
	len = iw_mpa_fpdu_rtr(conn->params.rtr, conn->params.crc, fpdu);
	return conn->hw->send(conn, fpdu, len) ? IW_MPA_R_SEND : IW_MPA_R_OK;
}

static void toe_have_reply(struct toe_conn *conn)
{
	enum iw_mpa_reason why;

	why = iw_mpa_negotiate_reply(&conn->local, &conn->sent, &conn->peer,
				     &conn->params);
	if (!why)
		why = toe_start_active(conn);
	if (!why)
		return;
	toe_send_term(conn, why);
	toe_close(conn, why);
}

static void toe_have_frame(struct toe_conn *conn)
{
	enum iw_mpa_reason why;

	why = iw_mpa_frame_decode(conn->reader.buf, conn->reader.have,
				  conn->reader.reply, &conn->peer);
	if (!why && !conn->reader.reply && conn->peer.rev > conn->local.rev)
		why = IW_MPA_R_BAD_REV;
	if (why) {
		toe_close(conn, why);
	} else if (conn->reader.reply) {
		toe_have_reply(conn);
	} else {
		conn->state = TOE_ASKED;
		conn->hw->ask(conn);
	}
}

/**
 * toe_rx - TCP has received bytes of the startup phase
 * @conn: connection
 * @buf: the bytes
 * @len: how many
 *
 * Return: how many bytes of @buf belong to the startup frame. The rest are
 * FPDUs, for the device's FPDU engine once the stream has started.
 */
size_t toe_rx(struct toe_conn *conn, const void *buf, size_t len)
{
	enum iw_mpa_reason why;
	size_t used;

	if (conn->state != TOE_AWAIT_REQ && conn->state != TOE_AWAIT_REP)
		return 0;
	used = iw_mpa_reader_feed(&conn->reader, buf, len, &why);
	if (why)
		toe_close(conn, why);
	else if (!conn->reader.need)
		toe_have_frame(conn);
	return used;
}

/**
 * toe_reject - the ULP rejects: send an MPA Reply with the flag R
 * @conn: connection for which ask() of &struct toe_hw was called
 * @pd: private data
 * @pd_len: bytes of @pd
 *
 * The initiator closes after a Reject; if it does not, a timer of the driver
 * has to close.
 *
 * Return: 0 or a negative errno.
 */
int toe_reject(struct toe_conn *conn, const void *pd, u16 pd_len)
{
	if (conn->state != TOE_ASKED)
		return -ECONNRESET;
	iw_mpa_negotiate_request(&conn->local, &conn->peer, &conn->sent,
				 &conn->params);
	conn->sent.reject = true;
	conn->state = TOE_CLOSED;
	return toe_send_frame(conn, pd, pd_len);
}

/**
 * toe_accept - the ULP accepts: start the QP, send the MPA Reply
 * @conn: connection for which ask() of &struct toe_hw was called; its member
 *	local may be changed before this call
 * @pd: private data
 * @pd_len: bytes of @pd
 *
 * Return: 0 or a negative errno. If negotiation or start() of &struct toe_hw
 * has failed, a Reject was passed to its send(), whose result is not checked.
 */
int toe_accept(struct toe_conn *conn, const void *pd, u16 pd_len)
{
	enum iw_mpa_reason why;

	if (conn->state != TOE_ASKED)
		return -ECONNRESET;
	why = iw_mpa_negotiate_request(&conn->local, &conn->peer, &conn->sent,
				       &conn->params);
	if (!why && conn->hw->start(conn))
		why = IW_MPA_R_DRIVER;
	if (why) {
		toe_reject(conn, NULL, 0);
		toe_send_term(conn, why);
		return iw_mpa_reason_errno(why);
	}
	conn->state = TOE_STARTED;
	return toe_send_frame(conn, pd, pd_len);
}

MODULE_DESCRIPTION("Example of MPA startup without sockets");
MODULE_AUTHOR("The iw_mpa authors");
MODULE_LICENSE("GPL");

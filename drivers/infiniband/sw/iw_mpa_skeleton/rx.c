// SPDX-License-Identifier: GPL-2.0
/*
 * Receiving: collect one FPDU, verify it, place it. The engine (the work item
 * of a QP) and kick_rx call these functions, with dev->lock held.
 *
 * No payload of an FPDU is placed before the whole FPDU is in @rx_buf of the
 * QP, and its CRC was found correct there, unless CRC is off (RFC 5044 6).
 */

#include "skel.h"

#include <linux/crc32c.h>
#include <linux/net.h>
#include <linux/socket.h>
#include <linux/tcp.h>
#include <linux/unaligned.h>

static u32 rx_qn_of(u8 op)
{
	return op == SKEL_OP_READ_REQ ? SKEL_QN_READ_REQ :
	       op == SKEL_OP_TERMINATE ? SKEL_QN_TERMINATE : SKEL_QN_SEND;
}

/*
 * Decode the headers of a segment (RFC 5041 4, RFC 5040 4.1). The order of the
 * checks is fixed: room for the header; DDP version; RDMAP version; opcode; and
 * whether messages of that opcode are tagged, or untagged in this queue (RFC
 * 5040 fig. 4).
 */
static enum skel_err rx_parse(u8 *ulpdu, u16 ulpdu_len, struct skel_seg *seg)
{
	bool tagged = ulpdu_len && (ulpdu[0] & 0x80);
	u8 hdr_len = tagged ? SKEL_TAGGED : SKEL_UNTAGGED;

	if (ulpdu_len < hdr_len)
		return SKEL_E_SHORT;
	*seg = (struct skel_seg) {
		.op		= ulpdu[1] & 0x0f,
		.tagged		= tagged,
		.last		= ulpdu[0] & 0x40,
		.stag		= get_unaligned_be32(ulpdu + 2),
		.payload	= ulpdu + hdr_len,
		.len		= ulpdu_len - hdr_len,
	};
	if (tagged) {
		seg->to = get_unaligned_be64(ulpdu + 6);
	} else {
		seg->qn = get_unaligned_be32(ulpdu + 6);
		seg->msn = get_unaligned_be32(ulpdu + 10);
		seg->mo = get_unaligned_be32(ulpdu + 14);
	}
	if ((ulpdu[0] & 0x03) != 1)
		return tagged ? SKEL_E_DV_TAG : SKEL_E_DV;
	/* RFC 5040 4.1 has version 1, the RDMA Consortium 0: both will do. */
	if (ulpdu[1] >> 6 > 1)
		return SKEL_E_RV;
	if (seg->op > SKEL_OP_TERMINATE)
		return SKEL_E_OPCODE;
	if (tagged == (seg->op == SKEL_OP_WRITE ||
		       seg->op == SKEL_OP_READ_RESP) &&
	    (tagged || seg->qn == rx_qn_of(seg->op)))
		return SKEL_OK;
	/* A malformed Terminate gets no Terminate either (RFC 5040 4.8). */
	if (seg->op == SKEL_OP_TERMINATE)
		return SKEL_E_STREAM;
	return tagged || seg->qn < SKEL_QN_COUNT ? SKEL_E_OPCODE : SKEL_E_QN;
}

/*
 * RFC 5040 5.1: a Write goes to an STag that the peer names, so the region must
 * have the right REMOTE_WRITE.
 */
static enum skel_err rx_write(struct skel_qp *qp, const struct skel_seg *seg)
{
	qp->rx.write_busy = !seg->last;
	return skel_mem_copy(qp, seg->stag, IB_ACCESS_REMOTE_WRITE, seg->to,
			     seg->payload, seg->len);
}

/*
 * RFC 5040 5.2.1: queue a Read Request for tx.c, which sends the response. At
 * most IRD requests wait for their response. The source range is checked here
 * and, as the STag may become invalid, for each segment of the response.
 */
static enum skel_err rx_read_req(struct skel_qp *qp, const struct skel_seg *seg)
{
	enum skel_err err;

	if (seg->msn != qp->rx.reads + 1)	/* first is 1: RFC 5041 4.2 */
		return SKEL_E_MSN;
	if (qp->irq.put - qp->irq.get >= qp->params->ird)
		return SKEL_E_BUFFER;
	if (seg->mo)
		return SKEL_E_MO;
	if (seg->len > SKEL_READ_REQ)
		return SKEL_E_LONG;
	if (seg->len < SKEL_READ_REQ || !seg->last)
		return SKEL_E_FORM;
	err = skel_mem_copy(qp, get_unaligned_be32(seg->payload + 16),
			    IB_ACCESS_REMOTE_READ,
			    get_unaligned_be64(seg->payload + 20), NULL,
			    get_unaligned_be32(seg->payload + 12));
	if (err)
		return err;
	qp->rx.reads++;
	memcpy(qp->irq.ulpdu[qp->irq.put++ % SKEL_MAX_DEPTH],
	       seg->payload - SKEL_UNTAGGED, SKEL_READ_ULPDU);
	return SKEL_OK;
}

static void rx_read_done(struct skel_qp *qp, enum ib_wc_status status)
{
	qp->rx.read_len = 0;
	qp->tx.read_busy = false;
	skel_complete_send(qp, status);
}

/*
 * RFC 5040 5.2.2: place a Read Response, segments in order, in the sink of this
 * end's Read. A peer must not choose where or how much it places: STag, offset
 * and length have to be those of the Read Request.
 */
static enum skel_err rx_read_resp(struct skel_qp *qp,
				  const struct skel_seg *seg)
{
	const struct skel_wqe *wqe = skel_wqe_at(&qp->sq, qp->sq.get);
	const struct ib_sge *sink = &wqe->sge[0];	/* all 0 if no SGE */
	enum skel_err err;
	u32 left;

	/* Without a Read in progress a poster may write the WQE at @get. */
	if (!qp->tx.read_busy)
		return SKEL_E_OPCODE;
	left = wqe->bytes - qp->rx.read_len;
	if (seg->len && seg->stag != sink->lkey)
		return SKEL_E_TAG_STAG;
	if ((seg->len && seg->to != sink->addr + qp->rx.read_len) ||
	    seg->len > left || (seg->last && seg->len != left))
		return SKEL_E_TAG_BASE;
	err = skel_mem_copy(qp, sink->lkey, IB_ACCESS_LOCAL_WRITE, seg->to,
			    seg->payload, seg->len);
	if (err) {
		rx_read_done(qp, IB_WC_LOC_PROT_ERR);
		return err;
	}
	qp->rx.read_len += seg->len;
	if (!seg->last)
		return SKEL_OK;
	/* Make the sink's STag invalid before the ULP gets the completion. */
	if (wqe->op == IB_WR_RDMA_READ_WITH_INV &&
	    skel_mr_invalidate(qp, sink->lkey, false)) {
		rx_read_done(qp, IB_WC_LOC_QP_OP_ERR);
		return SKEL_E_LOCAL;
	}
	rx_read_done(qp, IB_WC_SUCCESS);
	return SKEL_OK;
}

/* Complete the receive that the present Send fills, with an error. */
static enum skel_err rx_send_fails(struct skel_qp *qp, enum ib_wc_status status,
				   enum skel_err err)
{
	struct ib_wc wc = { .status = status };

	skel_complete_recv(qp, &wc);
	return err;
}

/* Complete a Send. RFC 5040 5.3: first invalidate the STag that it names. */
static enum skel_err rx_deliver(struct skel_qp *qp)
{
	struct skel_rx *rx = &qp->rx;
	struct ib_wc wc = { .status = IB_WC_SUCCESS, .byte_len = rx->send_len };
	enum skel_err err;

	if (rx->send_op == SKEL_OP_SEND_INV ||
	    rx->send_op == SKEL_OP_SEND_SE_INV) {
		err = skel_mr_invalidate(qp, rx->send_inv, true);
		if (err)
			return rx_send_fails(qp, IB_WC_REM_INV_REQ_ERR, err);
		wc.wc_flags = IB_WC_WITH_INVALIDATE;
		wc.ex.invalidate_rkey = rx->send_inv;
	}
	rx->sends++;
	skel_complete_recv(qp, &wc);
	return SKEL_OK;
}

/*
 * RFC 5041 5.3, RFC 5040 5.3: place a segment of a Send in the oldest receive.
 * Segments of a Send arrive in order, have the same opcode, and must fit into
 * the receive. A segment is placed as a whole or not at all, so SGEs are
 * checked first.
 */
static enum skel_err rx_send(struct skel_qp *qp, const struct skel_seg *seg)
{
	const struct skel_wqe *wqe = skel_wqe_at(&qp->rq, qp->rq.get);
	struct skel_rx *rx = &qp->rx;

	if (seg->msn != rx->sends + 1)
		return SKEL_E_MSN;
	if (!rx->send_op) {
		if (!skel_is_posted(qp, &qp->rq))
			return SKEL_E_BUFFER;
		rx->send_op = seg->op;
		rx->send_inv = seg->stag;
		rx->send_len = 0;
	} else if (seg->op != rx->send_op) {
		return SKEL_E_OPCODE;
	}
	if (seg->mo != rx->send_len)
		return SKEL_E_MO;
	if (seg->len > wqe->bytes - rx->send_len)
		return rx_send_fails(qp, IB_WC_LOC_LEN_ERR, SKEL_E_LONG);
	if (skel_sge_copy(qp, wqe->sge, IB_ACCESS_LOCAL_WRITE, seg->mo, NULL,
			  seg->len) ||
	    skel_sge_copy(qp, wqe->sge, IB_ACCESS_LOCAL_WRITE, seg->mo,
			  seg->payload, seg->len))
		return rx_send_fails(qp, IB_WC_LOC_PROT_ERR, SKEL_E_LOCAL);
	rx->send_len += seg->len;
	return seg->last ? rx_deliver(qp) : SKEL_OK;
}

static enum skel_err rx_place(struct skel_qp *qp, const struct skel_seg *seg)
{
	switch (seg->op) {
	case SKEL_OP_WRITE:
		return rx_write(qp, seg);
	case SKEL_OP_READ_REQ:
		return rx_read_req(qp, seg);
	case SKEL_OP_READ_RESP:
		return rx_read_resp(qp, seg);
	case SKEL_OP_TERMINATE:	/* RFC 5040 4.8: the last message */
		return SKEL_E_STREAM;
	default:
		return rx_send(qp, seg);
	}
}

/*
 * Check and place one whole FPDU of @size bytes. iw_mpa_first_fpdu() is called
 * for the first FPDU whose CRC is good, or not in use, and opens a responder's
 * TX (RFC 5044 7.1.2). An error in the headers of that FPDU makes no
 * difference, since TX has to be open for the Terminate message. The call is
 * left out for a Terminate of the peer: nothing is sent after it.
 */
static void rx_fpdu(struct skel_qp *qp, u32 size)
{
	u16 ulpdu_len = get_unaligned_be16(qp->rx_buf);
	u8 *ulpdu = qp->rx_buf + 2;
	u32 covered = size - 4;
	struct skel_seg seg = {};
	enum skel_err err;

	if (qp->params->crc &&
	    get_unaligned_le32(qp->rx_buf + covered) !=
	    ~crc32c(~0, qp->rx_buf, covered)) {
		skel_fail(qp, SKEL_E_CRC, NULL, 0);
		return;
	}
	err = rx_parse(ulpdu, ulpdu_len, &seg);
	if (!qp->rx.begun && err != SKEL_E_STREAM &&
	    (err || seg.op != SKEL_OP_TERMINATE)) {
		qp->rx.begun = true;
		iw_mpa_first_fpdu(qp->ep);
	}
	if (!err)
		err = rx_place(qp, &seg);
	if (err)
		skel_fail(qp, err, ulpdu, ulpdu_len);
}

/*
 * The peer has sent FIN. Within an FPDU or a message, or while a Read of this
 * end waits for its response, that is an error: RFC 5044 8, MPA error code 1.
 */
static void rx_end(struct skel_qp *qp)
{
	struct skel_rx *rx = &qp->rx;

	rx->ended = true;
	if (rx->have || rx->send_op || rx->write_busy || qp->tx.read_busy)
		skel_fail(qp, SKEL_E_STREAM, NULL, 0);
}

/*
 * One step: receive a part of an FPDU. Returns true if the socket may have more
 * bytes. If not, sk_data_ready queues the work item when bytes arrive.
 */
bool skel_rx(struct skel_qp *qp)
{
	struct skel_rx *rx = &qp->rx;
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT };
	u32 need = rx->have < 2 ? 2 :
		   iw_mpa_fpdu_size(get_unaligned_be16(qp->rx_buf));
	struct kvec vec = {
		.iov_base = qp->rx_buf + rx->have, .iov_len = need - rx->have,
	};
	int n;

	lockdep_assert_held(&qp->dev->lock);
	if (!skel_is_flowing(qp) || !rx->open || rx->ended)
		return false;
	/* recvmsg() would skip an urgent byte: no later FPDU would be right. */
	if (tcp_sk(qp->sock->sk)->urg_data) {
		skel_fail(qp, SKEL_E_STREAM, NULL, 0);
		return true;
	}
	n = kernel_recvmsg(qp->sock, &msg, &vec, 1, vec.iov_len, msg.msg_flags);
	if (n < 0)	/* iw_mpa has sk_error_report */
		return false;
	if (!n) {
		rx_end(qp);
		return true;
	}
	rx->have += n;
	if (need > 2 && rx->have == need) {
		rx->have = 0;
		rx_fpdu(qp, need);
	}
	return true;
}

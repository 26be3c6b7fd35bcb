// SPDX-License-Identifier: GPL-2.0
/*
 * Sending: make one FPDU, pass it to TCP, complete its work request. The
 * engine, the work item of a QP, calls these functions with dev->lock held.
 *
 * An FPDU is made in @tx_buf of the QP, so the ULP may use its own memory again
 * as soon as TCP has the FPDU. Segments of two messages are not mixed (RFC 5041
 * 5.3): all segments of a Read Response or work request are sent before the
 * next message begins. If a Read Response and a work request are due they take
 * turns, so that neither delays the other for ever.
 *
 * The engine never waits in TCP. If TCP's send buffer has no room
 * sk_write_space queues the work item; if TCP has no memory the work item runs
 * again after TX_RETRY.
 */

#include "skel.h"

#include <linux/crc32c.h>
#include <linux/jiffies.h>
#include <linux/net.h>
#include <linux/tcp.h>
#include <linux/unaligned.h>

#define TX_RETRY	msecs_to_jiffies(10)
#define TX_TERM_LIMIT	msecs_to_jiffies(1000)	/* to send a Terminate */
#define TX_ULPDU_MIN	128

/* Largest ULPDU whose FPDU fits in one TCP segment (RFC 5044 4.5) */
static u32 tx_mulpdu(const struct skel_qp *qp)
{
	u32 emss = READ_ONCE(tcp_sk(qp->sock->sk)->mss_cache);

	return clamp_t(u32, emss - 6 - emss % 4, TX_ULPDU_MIN, SKEL_ULPDU_MAX);
}

/* Write the header of a tagged segment: RFC 5041 4.1, RFC 5040 4.1. */
static void tx_put_tagged(u8 *hdr, u8 op, u32 stag, u64 to)
{
	hdr[0] = 0x81;
	hdr[1] = 0x40 | op;
	put_unaligned_be32(stag, hdr + 2);
	put_unaligned_be64(to, hdr + 6);
}

/* Write the header of an untagged segment: RFC 5041 4.2, RFC 5040 4.1. */
static void tx_put_untagged(u8 *hdr, u8 op, u32 inv, u32 qn, u32 msn, u32 mo)
{
	hdr[0] = 0x01;
	hdr[1] = 0x40 | op;
	put_unaligned_be32(inv, hdr + 2);
	put_unaligned_be32(qn, hdr + 6);
	put_unaligned_be32(msn, hdr + 10);
	put_unaligned_be32(mo, hdr + 14);
}

/*
 * Complete an FPDU: length, padding and CRC (RFC 5044 4.1; without CRC the
 * field is 0), and the flag L in the last segment of a message (RFC 5041 4.1).
 */
static void tx_seal(struct skel_qp *qp, u32 ulpdu_len, bool last)
{
	u32 size = iw_mpa_fpdu_size(ulpdu_len);
	u8 *fpdu = qp->tx_buf;

	put_unaligned_be16(ulpdu_len, fpdu);
	fpdu[2] |= last ? 0x40 : 0;
	memset(fpdu + 2 + ulpdu_len, 0, size - 2 - ulpdu_len);
	if (qp->params->crc)
		put_unaligned_le32(~crc32c(~0, fpdu, size - 4),
				   fpdu + size - 4);
	qp->tx.len = size;
	qp->tx.done = 0;
}

/*
 * Pass @tx_buf to TCP. Returns 0 if TCP has all of it; -EAGAIN if the work item
 * will run again for the rest; -EPIPE if TCP has failed: sk_error_report
 * informs iw_mpa of that.
 */
static int tx_push(struct skel_qp *qp)
{
	struct skel_tx *tx = &qp->tx;

	while (tx->done < tx->len) {
		struct msghdr msg = {
			.msg_flags	= MSG_DONTWAIT | MSG_NOSIGNAL,
		};
		struct kvec vec = {
			.iov_base	= qp->tx_buf + tx->done,
			.iov_len	= tx->len - tx->done,
		};
		int n = kernel_sendmsg(qp->sock, &msg, &vec, 1, vec.iov_len);

		if (n == -EAGAIN || n == -ENOMEM || n == -ENOBUFS) {
			if (n != -EAGAIN || sk_stream_memory_free(qp->sock->sk))
				skel_kick(qp, TX_RETRY);
			return -EAGAIN;
		}
		if (n <= 0)
			return -EPIPE;
		tx->done += n;
	}
	tx->len = 0;
	return 0;
}

static bool wqe_is_read(const struct skel_wqe *wqe)
{
	return wqe->op == IB_WR_RDMA_READ ||
	       wqe->op == IB_WR_RDMA_READ_WITH_INV;
}

static u8 wqe_send_op(const struct skel_wqe *wqe)
{
	return SKEL_OP_SEND + (wqe->op == IB_WR_SEND_WITH_INV) +
	       (wqe->flags & IB_SEND_SOLICITED ? 2 : 0);
}

static u8 *tx_read_req(struct skel_qp *qp)
{
	return qp->irq.ulpdu[qp->irq.get % SKEL_MAX_DEPTH];
}

/*
 * Write the header of a Read Request (RFC 5040 4.4). The ULP's sink is checked
 * here, and again when the response is placed, as the sink's STag may have
 * become invalid.
 */
static enum skel_err tx_put_read(struct skel_qp *qp, const struct skel_wqe *wqe,
				 u8 *to)
{
	const struct ib_sge *sink = &wqe->sge[0];

	put_unaligned_be32(sink->lkey, to);
	put_unaligned_be64(sink->addr, to + 4);
	put_unaligned_be32(wqe->bytes, to + 12);
	put_unaligned_be32(wqe->rkey, to + 16);
	put_unaligned_be64(wqe->raddr, to + 20);
	return skel_mem_copy(qp, sink->lkey, IB_ACCESS_LOCAL_WRITE, sink->addr,
			     NULL, wqe->bytes);
}

/* Make the next segment of the message, with @n bytes of payload. */
static enum skel_err tx_put_segment(struct skel_qp *qp, u8 *hdr, u32 hdr_len,
				    u32 n)
{
	const struct skel_wqe *wqe = skel_wqe_at(&qp->sq, qp->sq.get);
	const struct skel_tx *tx = &qp->tx;
	u8 *payload = hdr + hdr_len;

	if (tx->msg == SKEL_MSG_RESP) {
		const u8 *req = tx_read_req(qp) + SKEL_UNTAGGED;

		tx_put_tagged(hdr, SKEL_OP_READ_RESP, get_unaligned_be32(req),
			      get_unaligned_be64(req + 4) + tx->off);
		return skel_mem_copy(qp, get_unaligned_be32(req + 16),
				     IB_ACCESS_REMOTE_READ,
				     get_unaligned_be64(req + 20) + tx->off,
				     payload, n);
	}
	if (wqe_is_read(wqe)) {
		tx_put_untagged(hdr, SKEL_OP_READ_REQ, 0, SKEL_QN_READ_REQ,
				tx->reads + 1, 0);
		return tx_put_read(qp, wqe, payload);
	}
	if (wqe->op == IB_WR_RDMA_WRITE)
		tx_put_tagged(hdr, SKEL_OP_WRITE, wqe->rkey,
			      wqe->raddr + tx->off);
	else
		tx_put_untagged(hdr, wqe_send_op(wqe), wqe->rkey, SKEL_QN_SEND,
				tx->sends + 1, tx->off);
	return skel_sge_copy(qp, wqe->sge, 0, tx->off, payload, n);
}

/*
 * The source of the peer's Read became invalid. The Terminate message has a
 * copy of the peer's Read Request, changed to the part that got no response
 * (RFC 5040 4.8).
 */
static void tx_fail_resp(struct skel_qp *qp, enum skel_err err)
{
	u8 *ulpdu = tx_read_req(qp), *req = ulpdu + SKEL_UNTAGGED;

	put_unaligned_be64(get_unaligned_be64(req + 4) + qp->tx.off, req + 4);
	put_unaligned_be32(get_unaligned_be32(req + 12) - qp->tx.off, req + 12);
	put_unaligned_be64(get_unaligned_be64(req + 20) + qp->tx.off, req + 20);
	skel_fail(qp, err, ulpdu, SKEL_READ_ULPDU);
}

/* A local error of a work request ends the stream (RFC 5040 7.1). */
static void tx_fail_wr(struct skel_qp *qp, enum ib_wc_status status)
{
	skel_complete_send(qp, status);
	skel_fail(qp, SKEL_E_LOCAL, NULL, 0);
}

/* Make the next FPDU of the message. After an error the stream fails. */
static void tx_make(struct skel_qp *qp)
{
	const struct skel_wqe *wqe = skel_wqe_at(&qp->sq, qp->sq.get);
	struct skel_tx *tx = &qp->tx;
	bool tagged = tx->msg == SKEL_MSG_RESP || wqe->op == IB_WR_RDMA_WRITE;
	u32 hdr_len = tagged ? SKEL_TAGGED : SKEL_UNTAGGED;
	u32 n = min(tx->bytes - tx->off, tx_mulpdu(qp) - hdr_len);
	enum skel_err err = tx_put_segment(qp, qp->tx_buf + 2, hdr_len, n);

	if (err && tx->msg == SKEL_MSG_RESP) {
		tx_fail_resp(qp, err);
	} else if (err) {
		tx_fail_wr(qp, IB_WC_LOC_PROT_ERR);
	} else {
		tx->off += n;
		tx_seal(qp, hdr_len + n, tx->off == tx->bytes);
	}
}

/* TCP has an FPDU. If it was the last of its message, complete the message. */
static void tx_made_it(struct skel_qp *qp)
{
	const struct skel_wqe *wqe = skel_wqe_at(&qp->sq, qp->sq.get);
	struct skel_tx *tx = &qp->tx;

	if (tx->off < tx->bytes)
		return;
	tx->off = 0;
	if (tx->msg == SKEL_MSG_RESP) {
		qp->irq.get++;
	} else if (tx->msg == SKEL_MSG_WR && wqe_is_read(wqe)) {
		tx->reads++;
		tx->read_busy = true;	/* completes with the response */
	} else if (tx->msg == SKEL_MSG_WR) {
		tx->sends += wqe->op != IB_WR_RDMA_WRITE;
		skel_complete_send(qp, IB_WC_SUCCESS);
	}
}

/*
 * May the next work request begin? No work request begins while a Read of this
 * end waits for its response: so at most one Read is outstanding, which any ORD
 * but 0 allows (RFC 5040 6.1), and each Read is a fence. After the peer's FIN
 * no response can arrive, so no Read begins.
 */
static bool tx_may_begin_wr(struct skel_qp *qp)
{
	const struct skel_queue *sq = &qp->sq;

	if (qp->tx.read_busy || (qp->tx.finishing && sq->get == qp->tx.limit) ||
	    !skel_is_posted(qp, sq))
		return false;
	return !qp->rx.ended || !wqe_is_read(skel_wqe_at(sq, sq->get));
}

/* Begin the next work request. REG_MR and LOCAL_INV complete here. */
static void tx_begin_wr(struct skel_qp *qp)
{
	const struct skel_wqe *wqe = skel_wqe_at(&qp->sq, qp->sq.get);
	bool read = wqe_is_read(wqe);
	int err;

	if (wqe->op == IB_WR_REG_MR || wqe->op == IB_WR_LOCAL_INV) {
		err = wqe->op == IB_WR_REG_MR ? skel_mr_register(qp, wqe) :
		      skel_mr_invalidate(qp, wqe->rkey, false);
		if (err)
			tx_fail_wr(qp, IB_WC_LOC_QP_OP_ERR);
		else
			skel_complete_send(qp, IB_WC_SUCCESS);
	} else if (read && !qp->params->ord) {
		tx_fail_wr(qp, IB_WC_LOC_QP_OP_ERR);
	} else {
		qp->tx.bytes = read ? SKEL_READ_REQ : wqe->bytes;
		tx_make(qp);
	}
}

/* Begin the next Read Response or work request; false if there is none */
static bool tx_begin(struct skel_qp *qp)
{
	bool resp = qp->irq.get != qp->irq.put, wr = tx_may_begin_wr(qp);

	if (resp && (!wr || qp->tx.msg != SKEL_MSG_RESP)) {
		qp->tx.msg = SKEL_MSG_RESP;
		qp->tx.bytes = get_unaligned_be32(tx_read_req(qp) +
						  SKEL_UNTAGGED + 12);
		tx_make(qp);
	} else if (wr) {
		qp->tx.msg = SKEL_MSG_WR;
		tx_begin_wr(qp);
	}
	return resp || wr;
}

/*
 * No message can begin. If finish_tx was called iw_mpa may now send FIN,
 * provided that all work requests posted before finish_tx were sent, or that
 * the peer has sent FIN: then the first of these that was not sent is a Read,
 * and neither it nor those behind it can be sent any more.
 */
static void tx_idle(struct skel_qp *qp)
{
	struct skel_tx *tx = &qp->tx;

	if (!tx->finishing ||
	    (qp->sq.get + tx->read_busy != tx->limit && !qp->rx.ended))
		return;
	tx->finished = true;
	iw_mpa_tx_finished(qp->ep);
}

/* One step: make an FPDU, pass it to TCP. Returns true if more may follow. */
bool skel_tx(struct skel_qp *qp)
{
	struct skel_tx *tx = &qp->tx;
	int err;

	lockdep_assert_held(&qp->dev->lock);
	if (!skel_is_flowing(qp)) {
		skel_tx_terminate(qp, false);
		return false;
	}
	if (!tx->open || tx->finished)
		return false;
	if (!tx->len && tx->off) {
		tx_make(qp);
	} else if (!tx->len && !tx_begin(qp)) {
		tx_idle(qp);
		return false;
	}
	if (!tx->len)
		return true;
	err = tx_push(qp);
	if (!err)
		tx_made_it(qp);
	else if (err != -EAGAIN)
		skel_fail(qp, SKEL_E_STREAM, NULL, 0);
	return err != -EAGAIN;
}

/* RFC 5040 4.8: a Terminate has error codes and copies of headers in error. */
static void tx_make_term(struct skel_qp *qp, const u8 *ulpdu, u16 ulpdu_len)
{
	u8 form = qp->err & 0xff, *term = qp->tx.term + SKEL_UNTAGGED;
	u32 copied;

	tx_put_untagged(qp->tx.term, SKEL_OP_TERMINATE, 0, SKEL_QN_TERMINATE, 1,
			0);
	term[0] = qp->err >> 16;
	term[1] = qp->err >> 8;
	term[2] = form == SKEL_TERM_RDMAP ? 0xe0 :
		  form == SKEL_TERM_DDP ? 0xc0 : 0;
	term[3] = 0;
	qp->tx.term_len = SKEL_UNTAGGED + 4;
	if (form == SKEL_TERM_BARE)
		return;
	copied = form == SKEL_TERM_RDMAP ? SKEL_READ_ULPDU :
		 ulpdu[0] & 0x80 ? SKEL_TAGGED : SKEL_UNTAGGED;
	put_unaligned_be16(ulpdu_len, term + 4);
	memcpy(term + 6, ulpdu, copied);
	qp->tx.term_len += 2 + copied;
}

/*
 * The stream has failed. The first error ends it (RFC 5040 7.1), so later calls
 * have no effect. @ulpdu is the segment in error, or NULL. With dev->lock held.
 */
void skel_fail(struct skel_qp *qp, enum skel_err err, const u8 *ulpdu,
	       u16 ulpdu_len)
{
	bool first;

	lockdep_assert_held(&qp->dev->lock);
	spin_lock_irq(&qp->dev->spin);
	first = skel_is_flowing(qp);
	if (first) {
		WRITE_ONCE(qp->state, IB_QPS_SQE);
		qp->event = err >> 24;
	}
	spin_unlock_irq(&qp->dev->spin);
	if (!first)
		return;
	ibdev_dbg(qp->ib.device, "QP %u: layer and type %#x, code %#x\n",
		  qp->ib.qp_num, err >> 16 & 0xff, err >> 8 & 0xff);
	qp->err = err;
	/* A responder must not send before a good FPDU (RFC 5044 7.1.2). */
	if ((err & 0xff) != SKEL_TERM_SILENT &&
	    (qp->params->initiator || qp->rx.begun || qp->tx.open))
		tx_make_term(qp, ulpdu, ulpdu_len);
}

/* Send the Terminate message, if there is one. Returns true if it must wait. */
static bool tx_term_waits(struct skel_qp *qp)
{
	struct skel_tx *tx = &qp->tx;
	int err;

	if (!tx->term_len || tx->finished)
		return false;
	if (!tx->open)		/* open_tx or send_rtr is due */
		return true;
	err = tx_push(qp);
	if (!err && !tx->term_made) {
		memcpy(qp->tx_buf + 2, tx->term, tx->term_len);
		tx_seal(qp, tx->term_len, true);
		tx->term_made = true;
		err = tx_push(qp);
	}
	return err == -EAGAIN;
}

/*
 * The stream has failed (state SQE). If TCP has a part of an FPDU its rest is
 * sent, then the Terminate message (RFC 5040 7.1). Then iw_mpa_stream_down()
 * makes iw_mpa log the reason, call stop and send FIN. TX_TERM_LIMIT limits the
 * time until TCP has the message, since the peer's receive window may stay
 * closed.
 */
void skel_tx_terminate(struct skel_qp *qp, bool last_try)
{
	struct iw_mpa_fault fault = {
		.text = "an FPDU or a work request is in error",
	};
	struct skel_tx *tx = &qp->tx;

	lockdep_assert_held(&qp->dev->lock);
	if (READ_ONCE(qp->state) != IB_QPS_SQE || tx->closed)
		return;
	if (!tx->deadline) {
		tx->deadline = (jiffies + TX_TERM_LIMIT) | 1;
		if (!tx->done)
			tx->len = 0;
	}
	if (tx_term_waits(qp) && !last_try &&
	    time_before(jiffies, tx->deadline)) {
		skel_kick(qp, tx->deadline - jiffies);
		return;
	}
	tx->closed = true;
	if (qp->err == SKEL_E_STREAM)
		fault.text = "TCP failed, or the peer closed too early or gave up";
	if (tx->term_made && !tx->len) {	/* TCP has all of @term */
		fault.term = true;
		fault.sent = true;
		fault.layer = qp->err >> 20 & 0xf;
		fault.etype = qp->err >> 16 & 0xf;
		fault.code = qp->err >> 8 & 0xff;
	}
	iw_mpa_stream_down(qp->ep, &fault);
}

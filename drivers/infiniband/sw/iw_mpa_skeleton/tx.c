// SPDX-License-Identifier: GPL-2.0
/*
 * Sending, for the engine: make one FPDU, give it to TCP, complete.
 *
 * An FPDU is copied together in a buffer of the QP's own, so the ULP may use its memory again as
 * soon as TCP has the FPDU. Messages are not mixed (RFC 5041 5.3): a Read Response or a work
 * request has all of its segments sent before the next one begins, and the two take turns.
 *
 * TCP never makes the engine wait. If TCP has no room its write_space queues the work item; if it
 * has no memory the work item tries again after a while.
 */

#include "skel.h"

#include <linux/crc32c.h>
#include <linux/jiffies.h>
#include <linux/net.h>
#include <linux/string.h>
#include <linux/tcp.h>
#include <linux/unaligned.h>

#define TX_RETRY	msecs_to_jiffies(10)
#define TX_TERM_LIMIT	msecs_to_jiffies(1000)	/* for the Terminate message */
#define TX_ULPDU_MIN	128

/* RFC 5044 4.5: an FPDU fits in a segment of TCP, and its length is a multiple of four. */
static u32 tx_mulpdu(const struct skel_qp *qp)
{
	u32 emss = READ_ONCE(tcp_sk(qp->sock->sk)->mss_cache);

	return clamp_t(u32, emss - 6 - emss % 4, TX_ULPDU_MIN, SKEL_ULPDU_MAX);
}

/* RFC 5041 4.1, RFC 5040 4.1: returns bytes. */
static u32 tx_put_tagged(u8 *hdr, u8 op, bool last, u32 stag, u64 to)
{
	hdr[0] = 0x81 | (last ? 0x40 : 0);
	hdr[1] = 0x40 | op;
	put_unaligned_be32(stag, hdr + 2);
	put_unaligned_be64(to, hdr + 6);
	return SKEL_DDP_TAGGED;
}

/* RFC 5041 4.2, RFC 5040 4.1 */
static u32 tx_put_untagged(u8 *hdr, u8 op, bool last, u32 inv, u32 qn, u32 msn, u32 mo)
{
	hdr[0] = 0x01 | (last ? 0x40 : 0);
	hdr[1] = 0x40 | op;
	put_unaligned_be32(inv, hdr + 2);
	put_unaligned_be32(qn, hdr + 6);
	put_unaligned_be32(msn, hdr + 10);
	put_unaligned_be32(mo, hdr + 14);
	return SKEL_DDP_UNTAGGED;
}

/* RFC 5044 4.1: length in front, padding and CRC behind. Without CRC the field is there, too. */
static void tx_seal(struct skel_tx *tx, u32 ulpdu_len)
{
	u32 size = iw_mpa_fpdu_size(ulpdu_len);

	put_unaligned_be16(ulpdu_len, tx->buf);
	memset(tx->buf + 2 + ulpdu_len, 0, size - 2 - ulpdu_len);
	if (tx->crc)
		put_unaligned_le32(~crc32c(~0, tx->buf, size - 4), tx->buf + size - 4);
	tx->len = size;
	tx->done = 0;
}

/*
 * Returns 0 if TCP has the FPDU; -EAGAIN if the work item will run again; -EPIPE if TCP has failed,
 * as the library sees, too.
 */
static int tx_push(struct skel_qp *qp)
{
	struct skel_tx *tx = &qp->tx;

	while (tx->done < tx->len) {
		struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };
		struct kvec vec = {
			.iov_base	= tx->buf + tx->done,
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

static u8 tx_send_op(const struct skel_wqe *wqe)
{
	return SKEL_OP_SEND + (wqe->flags & IB_SEND_SOLICITED ? 2 : 0) +
	       (wqe->op == IB_WR_SEND_WITH_INV);
}

/* RFC 5040 4.4. The sink is checked now, and again when the response comes. */
static enum skel_mem tx_put_read(struct skel_qp *qp, const struct skel_wqe *wqe, u8 *to)
{
	static const struct ib_sge none;
	const struct ib_sge *sink = wqe->num_sge ? &wqe->sge[0] : &none;

	put_unaligned_be32(sink->lkey, to);
	put_unaligned_be64(sink->addr, to + 4);
	put_unaligned_be32(wqe->bytes, to + 12);
	put_unaligned_be32(wqe->rkey, to + 16);
	put_unaligned_be64(wqe->raddr, to + 20);
	return skel_mem_copy(qp, sink->lkey, IB_ACCESS_LOCAL_WRITE, sink->addr, NULL, wqe->bytes);
}

/* The next segment of the work request at @next */
static enum skel_mem tx_make_wr(struct skel_qp *qp)
{
	struct skel_wqe *wqe = skel_sq_at(&qp->sq, qp->sq.next);
	struct skel_tx *tx = &qp->tx;
	bool tagged = wqe->op == IB_WR_RDMA_WRITE;
	u32 n = min(tx->bytes - tx->off,
		    tx_mulpdu(qp) - (tagged ? SKEL_DDP_TAGGED : SKEL_DDP_UNTAGGED));
	bool last = n == tx->bytes - tx->off;
	enum skel_mem fault = SKEL_MEM_OK;
	u8 *hdr = tx->buf + 2;
	u32 len;

	if (tagged)
		len = tx_put_tagged(hdr, SKEL_OP_WRITE, last, wqe->rkey, wqe->raddr + tx->off);
	else if (skel_wqe_is_read(wqe))
		len = tx_put_untagged(hdr, SKEL_OP_READ_REQ, last, 0, SKEL_QN_READ_REQ,
				      tx->msn[SKEL_QN_READ_REQ], 0);
	else
		len = tx_put_untagged(hdr, tx_send_op(wqe), last,
				      wqe->op == IB_WR_SEND_WITH_INV ? wqe->rkey : 0,
				      SKEL_QN_SEND, tx->msn[SKEL_QN_SEND], tx->off);
	if (skel_wqe_is_read(wqe))
		fault = tx_put_read(qp, wqe, hdr + len);
	else if (wqe->flags & IB_SEND_INLINE)
		memcpy(hdr + len, wqe->data + tx->off, n);
	else
		fault = skel_sge_copy(qp, wqe->sge, 0, tx->off, hdr + len, n);
	if (fault)
		return fault;
	tx->off += n;
	tx_seal(tx, len + n);
	return SKEL_MEM_OK;
}

/* The next segment of the answer to the oldest Read Request. Its source is checked again. */
static enum skel_mem tx_make_resp(struct skel_qp *qp)
{
	const u8 *req = qp->irq.ulpdu[qp->irq.get % SKEL_MAX_DEPTH] + SKEL_DDP_UNTAGGED;
	struct skel_tx *tx = &qp->tx;
	u32 n = min(tx->bytes - tx->off, tx_mulpdu(qp) - SKEL_DDP_TAGGED);
	enum skel_mem fault;
	u32 len;

	len = tx_put_tagged(tx->buf + 2, SKEL_OP_READ_RESP, n == tx->bytes - tx->off,
			    get_unaligned_be32(req), get_unaligned_be64(req + 4) + tx->off);
	fault = skel_mem_copy(qp, get_unaligned_be32(req + 16), IB_ACCESS_REMOTE_READ,
			      get_unaligned_be64(req + 20) + tx->off, tx->buf + 2 + len, n);
	if (fault)
		return fault;
	tx->off += n;
	tx_seal(tx, len + n);
	return SKEL_MEM_OK;
}

/* A work request cannot be done, for a local reason (RFC 5040 7.1). */
static void tx_fail_wr(struct skel_qp *qp, enum ib_wc_status status)
{
	skel_wqe_done(skel_sq_at(&qp->sq, qp->sq.next++), status);
	skel_complete_sends(qp);
	skel_fail(qp, SKEL_E_LOCAL, NULL);
}

/* The peer is told which part of its Read was not answered (RFC 5040 4.8). */
static void tx_fail_resp(struct skel_qp *qp, enum skel_mem fault)
{
	u8 *ulpdu = qp->irq.ulpdu[qp->irq.get % SKEL_MAX_DEPTH], *req = ulpdu + SKEL_DDP_UNTAGGED;
	const struct skel_seg seg = {
		.ulpdu		= ulpdu,
		.ulpdu_len	= SKEL_READ_ULPDU,
		.hdr_len	= SKEL_DDP_UNTAGGED,
	};

	put_unaligned_be64(get_unaligned_be64(req + 4) + qp->tx.off, req + 4);
	put_unaligned_be32(get_unaligned_be32(req + 12) - qp->tx.off, req + 12);
	put_unaligned_be64(get_unaligned_be64(req + 20) + qp->tx.off, req + 20);
	skel_fail(qp, skel_err_of_read(fault), &seg);
}

/* Make the next FPDU of the message, or fail. */
static void tx_make(struct skel_qp *qp)
{
	enum skel_mem fault;

	if (qp->tx.msg == SKEL_MSG_RESP) {
		fault = tx_make_resp(qp);
		if (fault)
			tx_fail_resp(qp, fault);
	} else {
		fault = tx_make_wr(qp);
		if (fault)
			tx_fail_wr(qp, IB_WC_LOC_PROT_ERR);
	}
	if (fault)
		qp->tx.msg = SKEL_MSG_NONE;
}

/* TCP has an FPDU. Was it the last of its message? */
static void tx_made_it(struct skel_qp *qp)
{
	struct skel_tx *tx = &qp->tx;
	struct skel_sq *sq = &qp->sq;
	struct skel_wqe *wqe;

	if (tx->msg != SKEL_MSG_ALONE && tx->off < tx->bytes)
		return;
	if (tx->msg == SKEL_MSG_RESP) {
		qp->irq.get++;
	} else if (tx->msg == SKEL_MSG_WR) {
		wqe = skel_sq_at(sq, sq->next++);
		if (skel_wqe_is_read(wqe)) {
			tx->msn[SKEL_QN_READ_REQ]++;
			sq->reads++;	/* it is done when the response has come */
		} else {
			if (wqe->op != IB_WR_RDMA_WRITE)
				tx->msn[SKEL_QN_SEND]++;
			skel_wqe_done(wqe, IB_WC_SUCCESS);
		}
		skel_complete_sends(qp);
	}
	tx->turn = tx->msg;
	tx->msg = SKEL_MSG_NONE;
}

static bool tx_begin_resp(struct skel_qp *qp)
{
	if (qp->irq.get == qp->irq.put)
		return false;
	qp->tx.msg = SKEL_MSG_RESP;
	qp->tx.off = 0;
	qp->tx.bytes = get_unaligned_be32(qp->irq.ulpdu[qp->irq.get % SKEL_MAX_DEPTH] +
					  SKEL_DDP_UNTAGGED + 12);
	return true;
}

/* Is there a work request that may go? Its copy stays as it is until it has completed. */
static bool tx_has_wr(struct skel_qp *qp)
{
	bool found;

	spin_lock_irq(&qp->lock);
	found = qp->sq.next != qp->sq.put && skel_is_flowing(qp) &&
		!(qp->tx.finishing && qp->sq.next == qp->sq.limit);
	spin_unlock_irq(&qp->lock);
	return found;
}

/*
 * Begin with the next work request. At most ORD Reads may wait for their responses (RFC 5040 6.1),
 * and a fence waits for all of them. What needs no stream is done at once. False: there is nothing
 * to do, or it has to wait; the response of a Read runs the engine again.
 */
static bool tx_begin_wr(struct skel_qp *qp)
{
	struct skel_sq *sq = &qp->sq;
	struct skel_wqe *wqe = skel_sq_at(sq, sq->next);
	bool read;
	int err;

	if (!tx_has_wr(qp))
		return false;
	read = skel_wqe_is_read(wqe);
	if (read && !qp->tx.ord) {
		tx_fail_wr(qp, IB_WC_LOC_QP_OP_ERR);
		return true;
	}
	/* Behind the peer's FIN no response comes. */
	if (read && (sq->reads >= qp->tx.ord || qp->rx.ended))
		return false;
	if ((wqe->flags & IB_SEND_FENCE) && sq->reads)
		return false;
	if (wqe->op == IB_WR_REG_MR || wqe->op == IB_WR_LOCAL_INV) {
		err = wqe->op == IB_WR_REG_MR ? skel_mr_register(qp, wqe) :
		      skel_mr_invalidate(qp, wqe->rkey, false);
		if (err) {
			tx_fail_wr(qp, IB_WC_LOC_QP_OP_ERR);
			return true;
		}
		sq->next++;
		skel_wqe_done(wqe, IB_WC_SUCCESS);
		skel_complete_sends(qp);
		return true;
	}
	qp->tx.msg = SKEL_MSG_WR;
	qp->tx.off = 0;
	qp->tx.bytes = read ? SKEL_READ_REQ : wqe->bytes;
	return true;
}

static bool tx_begin(struct skel_qp *qp)
{
	if (qp->tx.turn == SKEL_MSG_RESP)
		return tx_begin_wr(qp) || tx_begin_resp(qp);
	return tx_begin_resp(qp) || tx_begin_wr(qp);
}

/* Nothing is left that could be sent. If finish_tx was called that may be the end. */
static void tx_idle(struct skel_qp *qp)
{
	struct skel_tx *tx = &qp->tx;

	if (!tx->finishing || (qp->sq.next != qp->sq.limit && !qp->rx.ended))
		return;
	tx->finished = true;
	iw_mpa_tx_finished(qp->ep);
}

/* RFC 5040 4.8: what went wrong, and copies of the headers at fault */
static void tx_make_term(struct skel_qp *qp)
{
	const struct skel_fault *fault = &qp->fault;
	u8 form = fault->err & 0xff, *hdr = qp->tx.buf + 2, *term;
	u32 len;

	len = tx_put_untagged(hdr, SKEL_OP_TERMINATE, true, 0, SKEL_QN_TERMINATE,
			      qp->tx.msn[SKEL_QN_TERMINATE], 0);
	term = hdr + len;
	term[0] = fault->err >> 16;
	term[1] = fault->err >> 8;
	term[2] = form == SKEL_TERM_RDMAP ? 0xe0 : form == SKEL_TERM_DDP ? 0xc0 : 0;
	term[3] = 0;
	len += 4;
	if (form != SKEL_TERM_BARE) {
		u32 copied = fault->hdr_len + (form == SKEL_TERM_RDMAP ? SKEL_READ_REQ : 0);

		put_unaligned_be16(fault->ulpdu_len, term + 4);
		memcpy(term + 6, fault->hdr, copied);
		len += 2 + copied;
	}
	tx_seal(&qp->tx, len);
	qp->tx.term_made = true;
}

/* Send it, if it is due and may go. Returns 0 if nothing is left to do; -EAGAIN: wait. */
static int tx_try_term(struct skel_qp *qp)
{
	struct skel_tx *tx = &qp->tx;
	int err;

	if (tx->finished || qp->fault.silent || (qp->fault.err & 0xff) == SKEL_TERM_SILENT)
		return 0;
	if (!tx->open)		/* it will be: the first FPDU was good */
		return -EAGAIN;
	err = tx_push(qp);
	if (err || tx->term_made)
		return err == -EAGAIN ? err : 0;
	tx_make_term(qp);
	return tx_push(qp) == -EAGAIN ? -EAGAIN : 0;
}

/* The library ends the stream, and writes why into the kernel's log. */
static void tx_stream_down(struct skel_qp *qp)
{
	const enum skel_err err = qp->fault.err;
	struct iw_mpa_fault fault = { .text = "an FPDU or a work request is in error" };

	if (err == SKEL_E_STREAM)
		fault.text = "TCP failed, or the peer closed too early or gave up";
	if (qp->tx.term_made) {
		fault.term = true;
		fault.sent = true;
		fault.layer = err >> 20;
		fault.etype = err >> 16 & 0xf;
		fault.code = err >> 8 & 0xff;
	}
	iw_mpa_stream_down(qp->ep, &fault);
}

/*
 * The stream has failed. The FPDU of which TCP has a part is finished, the Terminate message
 * follows (RFC 5040 7.1), and the library ends the stream. It gets some time for that, since the
 * peer may take nothing any more. True: there is nothing left to do.
 */
bool skel_tx_terminate(struct skel_qp *qp, bool last_try)
{
	struct skel_tx *tx = &qp->tx;
	int err;

	lockdep_assert_held(&qp->run);
	if (READ_ONCE(qp->state) != IB_QPS_SQE || tx->closed)
		return true;
	if (!tx->deadline) {
		tx->deadline = (jiffies + TX_TERM_LIMIT) | 1;
		if (!tx->done)
			tx->len = 0;
	}
	err = tx_try_term(qp);
	if (err && !last_try && time_before(jiffies, tx->deadline)) {
		skel_kick(qp, tx->deadline - jiffies);
		return false;
	}
	tx->closed = true;
	tx_stream_down(qp);
	return true;
}

/* Send at least @budget bytes if there are so many. True: there may be more. */
bool skel_tx(struct skel_qp *qp, u32 budget)
{
	struct skel_tx *tx = &qp->tx;
	u32 used = 0;
	int err;

	lockdep_assert_held(&qp->run);
	while (used <= budget) {
		if (!skel_is_flowing(qp)) {
			skel_tx_terminate(qp, false);
			return false;
		}
		if (!tx->open || tx->finished)
			return false;
		if (!tx->len && tx->msg == SKEL_MSG_NONE && !tx_begin(qp)) {
			tx_idle(qp);
			return false;
		}
		if (!tx->len && tx->msg != SKEL_MSG_NONE)
			tx_make(qp);
		used += tx->len + 64;	/* what sends nothing takes time, too */
		if (!tx->len)
			continue;
		err = tx_push(qp);
		if (err == -EAGAIN)
			return false;
		if (err)
			skel_fail(qp, SKEL_E_STREAM, NULL);
		else
			tx_made_it(qp);
	}
	return true;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Build FPDUs in a batch, from work requests and a peer's Read Requests.
 *
 * Only the QP's sender, the holder of tx.lock, calls these functions. Segments
 * of two messages are never mixed (RFC 5041 5.3). The payload of a segment is
 * copied when the segment is built. Consecutive segments of a message share a
 * hold of its memory region (mr->lock, taken for reading); no region is held
 * when another message begins, or a fault is recorded. If a segment cannot be
 * built, none of its bytes stays in the batch.
 */

#include "tx.h"
#include "state.h"
#include "rq.h"
#include "wire.h"
#include "sq.h"
#include "mem.h"
#include "fpdu.h"

#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/tcp.h>
#include <linux/unaligned.h>

/* Limit of steps in srnic_send_fill(): REG_MR and LOCAL_INV fill no batch */
#define SEND_STEPS	256

/* Fail a WQE; instead of it the peer gets a Terminate (RFC 5040 7.1). */
static void send_fail(struct srnic_qp *qp, struct srnic_wqe *wqe,
		      enum ib_wc_status status)
{
	static const struct srnic_fault fault = {
		.err = SRNIC_ERR_LOCAL,
		.own = true,
	};

	srnic_sq_done(qp, wqe, status);
	srnic_fault_record(qp, &fault);
}

/* Execute REG_MR or LOCAL_INV in order: all earlier WQEs are in a batch. */
static void send_local(struct srnic_qp *qp, struct srnic_wqe *wqe)
{
	int err;

	if (wqe->op == SRNIC_WR_INV)
		err = srnic_stag_invalidate(qp->dev, qp->ibqp.pd, wqe->rkey,
					    false);
	else
		err = srnic_stag_register(qp->dev, qp->ibqp.pd, wqe->rkey,
					  wqe->raddr, wqe->reg.size,
					  wqe->reg.access, wqe->reg.mapping);
	if (err)
		send_fail(qp, wqe, IB_WC_LOC_QP_OP_ERR);
	else
		srnic_sq_done(qp, wqe, IB_WC_SUCCESS);
}

/* Go to the WQE's next SGE with payload; there must be one. */
static void send_next_sge(struct srnic_msg *msg)
{
	const struct ib_sge *sge = &msg->wqe->sge[msg->cur.sge];

	while (!sge->length)
		sge++;
	msg->src.stag = sge->lkey;
	msg->cur.addr = sge->addr;
	msg->cur.run = sge->length;
	msg->cur.sge = sge - msg->wqe->sge + 1;
}

static void send_put_head(struct srnic_msg *msg, u32 stag, u64 to, u32 msn)
{
	u8 *hdr = msg->head + 2;

	if (msg->op == SRNIC_OP_WRITE || msg->op == SRNIC_OP_READ_RESP)
		srnic_ddp_put_tagged(hdr, msg->op, false, stag, to);
	else
		srnic_ddp_put_untagged(hdr, msg->op, false, stag, msn, 0);
	msg->head_len = 2 + srnic_ddp_hdr_len(hdr[0]);
	msg->off = to;
}

static void send_begin_wr(struct srnic_qp *qp, struct srnic_wqe *wqe)
{
	struct srnic_msg *msg = &qp->tx.msg;

	msg->kind = SRNIC_MSG_WR;
	msg->wqe = wqe;
	msg->len = wqe->bytes;
	msg->src = (struct srnic_name) {
		.pd	= qp->ibqp.pd,
		.kernel	= !qp->user,
	};
	msg->cur = (struct srnic_msg_cursor) {};
	switch (wqe->op) {
	case SRNIC_WR_WRITE:
		msg->op = SRNIC_OP_WRITE;
		send_put_head(msg, wqe->rkey, wqe->raddr, 0);
		break;
	case SRNIC_WR_READ:
	case SRNIC_WR_READ_INV:
		msg->op = SRNIC_OP_READ_REQ;
		msg->len = SRNIC_READ_REQ_LEN;
		send_put_head(msg, 0, 0, qp->tx.msn[SRNIC_QN_READ_REQ]);
		break;
	default:
		msg->op = srnic_op_of_send(wqe->flags & SRNIC_WQE_SOLICITED,
					   wqe->op == SRNIC_WR_SEND_INV);
		send_put_head(msg, srnic_op_has_inv(msg->op) ? wqe->rkey : 0, 0,
			      qp->tx.msn[SRNIC_QN_SEND]);
	}
	msg->left = msg->len;
	if (wqe->bytes && !(wqe->flags & SRNIC_WQE_INLINE) &&
	    msg->op != SRNIC_OP_READ_REQ)
		send_next_sge(msg);
}

/* Returns false if there is no WQE to send, or the next one has to wait. */
static bool send_next_wr(struct srnic_qp *qp)
{
	struct srnic_wqe *wqe = srnic_sq_next(qp);

	if (!wqe)
		return false;
	qp->tx.msg.last = SRNIC_MSG_WR;
	if (wqe->flags & SRNIC_WQE_BAD)
		send_fail(qp, wqe, wqe->status);
	else if (srnic_wqe_is_read(wqe) && !qp->params.ord)
		send_fail(qp, wqe, IB_WC_LOC_QP_OP_ERR);
	else if (wqe->op == SRNIC_WR_REG || wqe->op == SRNIC_WR_INV)
		send_local(qp, wqe);
	else
		send_begin_wr(qp, wqe);
	return true;
}

static bool send_next_resp(struct srnic_qp *qp)
{
	const struct srnic_irqe *irqe = srnic_irq_head(qp);
	struct srnic_msg *msg = &qp->tx.msg;
	struct srnic_read read;

	if (!irqe)
		return false;
	srnic_read_get(irqe->hdr + SRNIC_DDP_UNTAGGED_LEN, &read);
	msg->kind = SRNIC_MSG_RESP;
	msg->last = SRNIC_MSG_RESP;
	msg->op = SRNIC_OP_READ_RESP;
	msg->len = read.size;
	msg->left = read.size;
	msg->src = (struct srnic_name) {
		.pd	= qp->ibqp.pd,
		.stag	= read.src_stag,
		.rights	= IB_ACCESS_REMOTE_READ,
	};
	msg->cur = (struct srnic_msg_cursor){ .addr = read.src_to,
					      .run = read.size };
	send_put_head(msg, read.sink_stag, read.sink_to, 0);
	return true;
}

/* Read Responses and work requests take turns, message by message. */
static bool send_next(struct srnic_qp *qp)
{
	if (qp->tx.msg.last == SRNIC_MSG_RESP)
		return send_next_wr(qp) || send_next_resp(qp);
	return send_next_resp(qp) || send_next_wr(qp);
}

/*
 * Copy @len bytes of payload from registered memory. An SGE of length zero is
 * skipped, and its key is not checked. Returns 0; -ENOMEM; a fault of enum
 * srnic_mem_fault, > 0.
 */
static int send_gather(struct srnic_qp *qp, struct srnic_writer *w, u32 len)
{
	struct srnic_msg *msg = &qp->tx.msg;

	while (len) {
		enum srnic_mem_fault fault;
		u32 n;

		if (!msg->cur.run)
			send_next_sge(msg);
		if (w->at == w->stop && srnic_fpdu_more(w))
			return -ENOMEM;
		n = min3(len, (u32)(w->stop - w->at), msg->cur.run);
		fault = srnic_hold_at(qp->dev, &w->hold, &msg->src,
				      msg->cur.addr, n);
		if (fault)
			return fault;
		srnic_hold_read(&w->hold, w->at, n);
		w->at += n;
		msg->cur.addr += n;
		msg->cur.run -= n;
		len -= n;
	}
	return 0;
}

/* Check a Read's sink before sending it; the response is checked again. */
static int send_put_read(struct srnic_qp *qp, struct srnic_writer *w,
			 const struct srnic_wqe *wqe)
{
	const struct ib_sge none = {};
	const struct ib_sge *sge = wqe->num_sge ? &wqe->sge[0] : &none;
	const struct srnic_name sink = {
		.pd	= qp->ibqp.pd,
		.stag	= sge->lkey,
		.rights	= IB_ACCESS_LOCAL_WRITE,
		.kernel	= !qp->user,
	};
	const struct srnic_read read = {
		.sink_stag	= sge->lkey,
		.sink_to	= sge->addr,
		.size		= wqe->bytes,
		.src_stag	= wqe->rkey,
		.src_to		= wqe->raddr,
	};
	enum srnic_mem_fault fault;
	u8 wire[SRNIC_READ_REQ_LEN];

	if (wqe->bytes) {
		fault = srnic_hold_at(qp->dev, &w->hold, &sink, sge->addr,
				      wqe->bytes);
		srnic_hold_drop(&w->hold);
		if (fault)
			return fault;
	}
	srnic_read_put(wire, &read);
	return srnic_fpdu_put(w, wire, sizeof(wire));
}

static int send_payload(struct srnic_qp *qp, struct srnic_writer *w, u32 len)
{
	const struct srnic_msg *msg = &qp->tx.msg;

	if (msg->kind == SRNIC_MSG_WR) {
		if (msg->op == SRNIC_OP_READ_REQ)
			return send_put_read(qp, w, msg->wqe);
		if (msg->wqe->flags & SRNIC_WQE_INLINE)
			return srnic_fpdu_put(w, msg->wqe->data + msg->len -
						 msg->left, len);
	}
	return send_gather(qp, w, len);
}

/* The Terminate names the unanswered part of the Read (RFC 5040 4.8). */
static void send_fail_resp(struct srnic_qp *qp, enum srnic_mem_fault mem)
{
	/* srnic_irq_get() frees the slot only after the Read Response. */
	const u8 *hdr = srnic_irq_head(qp)->hdr;
	const struct srnic_msg *msg = &qp->tx.msg;
	struct srnic_read read;
	struct srnic_fault fault = {
		.err		= srnic_err_of_mem(SRNIC_USE_READ, mem),
		.ulpdu_len	= SRNIC_READ_ULPDU,
		.ddp_len	= SRNIC_DDP_UNTAGGED_LEN,
		.own		= true,
	};

	memcpy(fault.hdr, hdr, SRNIC_DDP_UNTAGGED_LEN);
	srnic_read_get(hdr + SRNIC_DDP_UNTAGGED_LEN, &read);
	srnic_read_advance(&read, msg->len - msg->left);
	srnic_read_put(fault.hdr + SRNIC_DDP_UNTAGGED_LEN, &read);
	srnic_fault_record(qp, &fault);
}

static void send_end(struct srnic_qp *qp)
{
	struct srnic_msg *msg = &qp->tx.msg;

	if (msg->op == SRNIC_OP_READ_REQ)
		qp->tx.msn[SRNIC_QN_READ_REQ]++;
	else if (srnic_op_is_send(msg->op))
		qp->tx.msn[SRNIC_QN_SEND]++;
	if (msg->kind == SRNIC_MSG_WR)
		srnic_sq_taken(qp, msg->wqe);
	else
		srnic_irq_get(&qp->irq);
	msg->kind = SRNIC_MSG_NONE;
}

/* Build a whole segment, or nothing. 0; -ENOMEM; enum srnic_mem_fault */
static inline int send_segment(struct srnic_qp *qp, struct srnic_writer *w,
			       u32 len)
{
	struct srnic_msg *msg = &qp->tx.msg;
	const struct srnic_msg_cursor begin = msg->cur;
	const u32 stag = msg->src.stag, ulpdu_len = msg->head_len - 2 + len;
	int err;

	put_unaligned_be16(ulpdu_len, msg->head);
	srnic_ddp_put_last(msg->head + 2, len == msg->left);
	srnic_ddp_put_off(msg->head + 2, msg->off);
	srnic_hold_yield(&w->hold, ulpdu_len);
	err = srnic_fpdu_begin(w, msg->head, msg->head_len);
	if (!err)
		err = send_payload(qp, w, len);
	if (!err)
		err = srnic_fpdu_end(w, ulpdu_len);
	if (unlikely(err)) {
		srnic_fpdu_undo(w);
		msg->cur = begin;
		msg->src.stag = stag;
		return err;
	}
	msg->off += len;
	msg->left -= len;
	return 0;
}

/* Copy payload of SGEs with local_dma_lkey, for which no region is held. */
static void send_copy(struct srnic_msg *msg, u8 *to, u32 len)
{
	struct srnic_msg_cursor *cur = &msg->cur;

	while (len) {
		u32 n;

		if (!cur->run)
			send_next_sge(msg);
		n = min(len, cur->run);
		memcpy(to, ib_virt_dma_to_ptr(cur->addr), n);
		cur->addr += n;
		cur->run -= n;
		to += n;
		len -= n;
	}
}

/*
 * Build further segments of @len bytes, none of them the message's last, if
 * their payload is in kernel memory (local_dma_lkey) or in the region that is
 * held already (struct srnic_hold), they fit into the page fragment, and there
 * are no Markers. These conditions are checked once for all the segments, so
 * that each costs little more than its header and its copy.
 */
static inline void send_run(struct srnic_writer *w, struct srnic_msg *msg,
			    const u32 len)
{
	const u32 ulpdu_len = msg->head_len - 2 + len;
	const u32 size = iw_mpa_fpdu_size(ulpdu_len);
	const u32 cost = max_t(u32, ulpdu_len, SRNIC_FPDU_COST);
	const bool memory = msg->kind == SRNIC_MSG_WR &&
			    (msg->wqe->flags & SRNIC_WQE_MEMORY);
	struct srnic_hold *hold = &w->hold;
	u64 room = msg->left - 1;
	u32 i, n;

	if (w->crc && size > SRNIC_FPDU_PIECE)
		return;
	if (!memory) {
		if (!hold->mr)
			return;
		room = min3(room, (u64)msg->cur.run, srnic_hold_room(hold));
	}
	n = min3((u32)room / len, (u32)(w->end - w->at) / size,
		 srnic_writer_room(w, size));
	for (i = 0; i < n && srnic_hold_spend(hold, cost); i++) {
		u8 *payload = w->at + msg->head_len;

		srnic_ddp_put_off(msg->head + 2, msg->off);
		memcpy(w->at, msg->head, SRNIC_FPDU_HEAD);
		if (memory)
			send_copy(msg, payload, len);
		else
			srnic_hold_read(hold, payload, len);
		srnic_fpdu_close(w, 2 + ulpdu_len, size);
		msg->off += len;
	}
	msg->left -= i * len;
	if (memory)
		return;
	msg->cur.addr += i * len;
	msg->cur.run -= i * len;
}

/*
 * Returns the MULPDU for the next FPDU. With large_fpdu an FPDU may have
 * several TCP segments, but must not go beyond the end of the packet that TCP
 * splits into segments: otherwise TCP would send the FPDU's last part in a
 * packet of its own.
 */
static u16 send_room(const struct srnic_qp *qp, const struct srnic_writer *w,
		     u16 mulpdu, u32 emss)
{
	u32 room;

	if (!qp->params.large_fpdu)
		return mulpdu;
	room = emss - srnic_writer_len(w) % emss;
	return clamp_t(int, round_down(room, 4) - SRNIC_FPDU_OVERHEAD,
		       SRNIC_MULPDU_MIN, mulpdu);
}

/* Build segments until message or batch ends. Returns as send_segment(). */
static int send_msg(struct srnic_qp *qp, struct srnic_writer *w, u16 mulpdu,
		    u32 emss)
{
	struct srnic_msg *msg = &qp->tx.msg;
	const u32 hdr_len = msg->head_len - 2;
	u32 left = msg->left, fpdus = w->batch->fpdus;
	int err;

	do {
		u16 room = send_room(qp, w, mulpdu, emss);
		u32 len = srnic_segment_len(msg->left, room, hdr_len);

		err = send_segment(qp, w, len);
		/* With large_fpdu, an FPDU's size depends on its position. */
		if (!err && !w->markers && !qp->params.large_fpdu && msg->left > len &&
		    srnic_writer_has_room(w))
			send_run(w, msg, len);
	} while (!err && msg->left && srnic_writer_has_room(w));
	srnic_hold_drop(&w->hold);
	fpdus = w->batch->fpdus - fpdus;
	srnic_count_n(qp->dev, tx_fpdus, fpdus);
	srnic_count_n(qp->dev, tx_octets,
		      left - msg->left + fpdus * hdr_len);
	if (!err && !msg->left)
		send_end(qp);
	return err;
}

static void send_fail_msg(struct srnic_qp *qp, enum srnic_mem_fault fault)
{
	if (qp->tx.msg.kind == SRNIC_MSG_WR)
		send_fail(qp, qp->tx.msg.wqe, IB_WC_LOC_PROT_ERR);
	else
		send_fail_resp(qp, fault);
	qp->tx.msg.kind = SRNIC_MSG_NONE;
}

/*
 * Returns EMSS, the size into which an FPDU has to fit: that of a TCP segment
 * (RFC 5044 4.5), or, if both ends allow large_fpdu, that of a packet that TCP
 * splits into segments.
 */
static u32 send_emss(const struct srnic_qp *qp, const struct tcp_sock *tp,
		     u32 mss)
{
	return qp->params.large_fpdu ?
	       max_t(u32, READ_ONCE(tp->gso_segs), 1) * mss : mss;
}

/*
 * Returns the number of bytes at which a batch of FPDUs is full: near the end
 * of one or several TCP packets, so that TCP does not send the batch's last
 * FPDU in a packet of its own. That gains nothing if a packet has only one TCP
 * segment, and is impossible if a packet has more than SRNIC_BATCH_BYTES, or
 * TCP has not computed a packet's size yet: then a batch is full at
 * SRNIC_BATCH_BYTES.
 */
static u32 send_full(const struct tcp_sock *tp, u32 mss)
{
	u32 segs = READ_ONCE(tp->gso_segs), packet = segs * mss;

	if (segs < 2 || packet > SRNIC_BATCH_BYTES)
		return SRNIC_BATCH_BYTES;
	return rounddown(SRNIC_BATCH_BYTES, packet) - mss + 1;
}

/*
 * Returns false only if srnic_send_fill() would do nothing at all. A poster
 * kicks the sender after it has posted, and so does RX for a Read Request. But
 * an application rings no doorbell if the element before the new one still has
 * SIW_WQE_VALID. srnic_sq_sent() clears that bit, so call this after
 * srnic_sq_sent(), to find the new element.
 */
bool srnic_send_has_work(const struct srnic_qp *qp)
{
	const struct srnic_sq *sq = &qp->sq;

	if (qp->tx.msg.kind != SRNIC_MSG_NONE || srnic_irq_head(qp) ||
	    srnic_sq_has_more(qp))
		return true;
	/* If no WQE is free srnic_send_fill() must record that (sq->waits). */
	return sq->uring && sq->put - READ_ONCE(sq->get) == sq->size;
}

/*
 * Fill an empty batch with FPDUs. At the first error of a work request or a
 * Read Response the batch ends, maybe within the message, and the error is
 * recorded. The batch is sent before the Terminate message.
 *
 * Returns 1 if there are bytes for TCP, or a work request without any was done;
 * 0 if there was nothing to do; -ENOMEM if there was no memory for a single
 * FPDU.
 */
int srnic_send_fill(struct srnic_qp *qp)
{
	struct srnic_tx *tx = &qp->tx;
	const struct tcp_sock *tp = tcp_sk(tx->sock->sk);
	/* EMSS may change, but FPDUs in a batch are not segmented again. */
	u32 mss = READ_ONCE(tp->mss_cache);
	u32 emss = send_emss(qp, tp, mss);
	u16 mulpdu = srnic_mulpdu(emss, qp->params.tx_markers);
	struct srnic_writer w;
	int steps, err = 0;

	srnic_writer_open(&w, qp, mulpdu, send_full(tp, mss));
	for (steps = 0; steps < SEND_STEPS && !srnic_has_failed(qp); steps++) {
		if (!srnic_writer_has_room(&w))
			break;
		if (tx->msg.kind == SRNIC_MSG_NONE && !send_next(qp))
			break;
		if (tx->msg.kind == SRNIC_MSG_NONE)
			continue;
		err = send_msg(qp, &w, mulpdu, emss);
		if (err > 0)
			send_fail_msg(qp, err);
		if (err)
			break;
	}
	srnic_writer_close(&w, tx);
	if (tx->batch.len || qp->sq.next != qp->sq.sent)
		return 1;
	return err == -ENOMEM ? err : 0;
}

/* Build the FPDU of a ULPDU, which is in @head after room for its length. */
static int send_ulpdu(struct srnic_qp *qp, u8 *head, u16 len)
{
	struct srnic_writer w;
	u32 head_len = 2 + srnic_ddp_hdr_len(head[2]);
	int err;

	put_unaligned_be16(len, head);
	srnic_writer_open(&w, qp, len, SRNIC_BATCH_BYTES);
	err = srnic_fpdu_begin(&w, head, head_len);
	if (!err)
		err = srnic_fpdu_put(&w, head + head_len, 2 + len - head_len);
	if (!err)
		err = srnic_fpdu_end(&w, len);
	if (err) {
		srnic_fpdu_undo(&w);
	} else {
		srnic_count(qp->dev, tx_fpdus);
		srnic_count_n(qp->dev, tx_octets, len);
	}
	srnic_writer_close(&w, &qp->tx);
	return err;
}

int srnic_send_term(struct srnic_qp *qp)
{
	u8 head[2 + SRNIC_DDP_UNTAGGED_LEN + SRNIC_TERM_MAX];
	size_t len;

	srnic_ddp_put_untagged(head + 2, SRNIC_OP_TERMINATE, true, 0,
			       qp->tx.msn[SRNIC_QN_TERMINATE], 0);
	len = srnic_term_build(&qp->fault, head + 2 + SRNIC_DDP_UNTAGGED_LEN);
	return send_ulpdu(qp, head, SRNIC_DDP_UNTAGGED_LEN + len);
}

/*
 * Build the RTR message. An RTR message that is a Send or Read uses an MSN, but
 * no work request; a Read counts against ORD. Returns 0; -ENOMEM; -EIO for a
 * Read with ORD 0.
 */
int srnic_send_rtr(struct srnic_qp *qp, u8 rtr)
{
	u8 fpdu[IW_MPA_FPDU_MAX];
	int err;

	if (!iw_mpa_fpdu_rtr(rtr, false, fpdu))
		return -EIO;
	if (rtr == IW_MPA_RTR_READ && !srnic_sq_expect_rtr(qp))
		return -EIO;
	err = send_ulpdu(qp, fpdu, get_unaligned_be16(fpdu));
	if (err)
		return err;
	if (rtr == IW_MPA_RTR_READ)
		qp->tx.msn[SRNIC_QN_READ_REQ]++;
	if (rtr == IW_MPA_RTR_SEND)
		qp->tx.msn[SRNIC_QN_SEND]++;
	srnic_count(qp->dev, tx_rtr);
	return 0;
}

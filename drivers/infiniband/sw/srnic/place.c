// SPDX-License-Identifier: GPL-2.0
/*
 * Handle a DDP segment by its RDMAP opcode (RFC 5040 5). These functions get
 * one whole FPDU at a time, with CRC and Markers verified, under the socket's
 * lock. struct srnic_rx has separate states of Sends, Writes and Read
 * Responses, since a segment of a Write may arrive between two segments of a
 * Send (RFC 5041 5.3).
 */

#include "place.h"
#include "mem.h"
#include "rq.h"
#include "sq.h"
#include "state.h"
#include "trace.h"

/* Copy payload to the held region; no other function places a peer's bytes. */
noinline void srnic_place_bytes(struct srnic_hold *hold, const u8 *from,
				u32 len)
{
	while (len) {
		u32 n = len;
		u8 *va = srnic_hold_piece(hold, &n);

		memcpy(va, from, n);
		from += n;
		len -= n;
	}
}

/* Place @len bytes from TCP's queue, buffer by buffer and without Markers. */
static void place_fill(struct srnic_arrival *arr, u32 len)
{
	struct srnic_cursor *cur = arr->cur;

	while (len) {
		u32 n = srnic_cursor_piece(cur, len);

		if (!n)
			break;
		srnic_place_bytes(&arr->hold, cur->ptr, n);
		srnic_cursor_advance(cur, n);
		len -= n;
	}
}

/* More segments follow: rx_run() may place @room bytes at the hold's cursor. */
static void place_goes_on(struct srnic_arrival *arr, u64 room, u32 *done)
{
	struct srnic_hold *hold = &arr->hold;

	if (hold->mr)
		room = min(room, srnic_hold_room(hold));
	/* In one call RX never gets more than S32_MAX bytes from TCP. */
	room = min_t(u64, room, S32_MAX);
	if (!hold->mr)
		hold->left = room;
	arr->run = (struct srnic_run) { .room = room, .done = done };
}

/* Place all @len bytes at @addr of the region that @name names, or none. */
static enum srnic_mem_fault place_at(struct srnic_qp *qp,
				     struct srnic_arrival *arr,
				     const struct srnic_name *name, u64 addr,
				     u32 len)
{
	enum srnic_mem_fault fault;

	fault = srnic_hold_at(qp->dev, &arr->hold, name, addr, len);
	if (!fault)
		place_fill(arr, len);
	return fault;
}

static enum srnic_err place_write(struct srnic_qp *qp,
				  struct srnic_arrival *arr)
{
	const struct srnic_name name = {
		.pd	= qp->ibqp.pd,
		.stag	= arr->seg.stag,
		.rights	= IB_ACCESS_REMOTE_WRITE,
	};
	enum srnic_mem_fault fault;

	qp->rx.write_busy = !arr->seg.last;
	if (!arr->seg.len)
		return SRNIC_ERR_NONE;
	fault = place_at(qp, arr, &name, arr->seg.to, arr->seg.len);
	if (fault)
		return srnic_err_of_mem(SRNIC_USE_WRITE, fault);
	if (!arr->seg.last)
		place_goes_on(arr, U64_MAX, NULL);
	return SRNIC_ERR_NONE;
}

/* Check a Read's source now; each segment of the response checks it again. */
static enum srnic_err place_check_source(struct srnic_qp *qp,
					 struct srnic_arrival *arr,
					 const struct srnic_read *read)
{
	const struct srnic_name name = {
		.pd	= qp->ibqp.pd,
		.stag	= read->src_stag,
		.rights	= IB_ACCESS_REMOTE_READ,
	};

	if (!read->size)
		return SRNIC_ERR_NONE;
	return srnic_err_of_mem(SRNIC_USE_READ,
				srnic_hold_at(qp->dev, &arr->hold, &name,
					      read->src_to, read->size));
}

static noinline_for_stack
enum srnic_err place_read_req(struct srnic_qp *qp, struct srnic_arrival *arr)
{
	u8 *wire = arr->hdr + SRNIC_DDP_UNTAGGED_LEN;
	struct srnic_read read;
	enum srnic_err err;

	if (arr->seg.msn != qp->rx.msn[SRNIC_QN_READ_REQ])
		return SRNIC_ERR_MSN;
	if (srnic_irq_is_full(&qp->irq))
		return SRNIC_ERR_NO_BUFFER;
	err = srnic_read_check(&arr->seg);
	if (err)
		return err;
	srnic_cursor_read(arr->cur, wire, SRNIC_READ_REQ_LEN);
	srnic_read_get(wire, &read);
	err = place_check_source(qp, arr, &read);
	if (err)
		return err;
	qp->rx.msn[SRNIC_QN_READ_REQ]++;
	srnic_irq_put(&qp->irq, arr->hdr);
	arr->up->kick = true;
	return SRNIC_ERR_NONE;
}

/* A Read as RTR message has length zero, so its response has no payload. */
static enum srnic_err place_resp_to_rtr(struct srnic_qp *qp,
					struct srnic_arrival *arr)
{
	if (arr->seg.len)
		return arr->seg.stag == IW_MPA_FPDU_STAG ?
		       SRNIC_ERR_RESP_BOUNDS : SRNIC_ERR_RESP_STAG;
	if (arr->seg.last)
		srnic_retire_read(qp, NULL, IB_WC_SUCCESS, arr->up);
	return SRNIC_ERR_NONE;
}

static void place_read_ends(struct srnic_qp *qp, enum ib_wc_status status,
			    struct srnic_arrival *arr)
{
	struct srnic_wqe *wqe = qp->rx.read;

	srnic_hold_drop(&arr->hold);
	qp->rx.read = NULL;
	qp->rx.read_len = 0;
	srnic_retire_read(qp, wqe, status, arr->up);
}

/*
 * Place payload of a Read Response in the sink of the oldest unanswered Read,
 * in order, and no more than that Read asked for (RFC 5040 5.2.2). If the last
 * segment ends before the sink's end, its payload is not placed.
 */
static enum srnic_err place_resp_payload(struct srnic_qp *qp,
					 struct srnic_arrival *arr)
{
	const struct srnic_wqe *wqe = qp->rx.read;
	const struct srnic_seg *seg = &arr->seg;
	/* A Read of length zero may have no SGE; its request had STag 0. */
	const struct ib_sge none = {};
	const struct ib_sge *sink = wqe->num_sge ? &wqe->sge[0] : &none;
	u32 left = wqe->bytes - qp->rx.read_len;
	const struct srnic_name name = {
		.pd	= qp->ibqp.pd,
		.stag	= seg->stag,
		.rights	= IB_ACCESS_LOCAL_WRITE,
		.kernel	= !qp->user,
	};
	enum srnic_mem_fault fault;

	if (seg->stag != sink->lkey)
		return SRNIC_ERR_RESP_STAG;
	if (seg->to != sink->addr + qp->rx.read_len || seg->len > left ||
	    (seg->last && seg->len != left))
		return SRNIC_ERR_RESP_BOUNDS;
	fault = place_at(qp, arr, &name, seg->to, seg->len);
	if (!fault)
		return SRNIC_ERR_NONE;
	place_read_ends(qp, IB_WC_LOC_PROT_ERR, arr);
	return srnic_err_of_mem(SRNIC_USE_RESP, fault);
}

/*
 * A Read with invalidate invalidates the STag of its own sink. Returns false if
 * the invalidation fails. The work request's ex.invalidate_rkey is not used:
 * the RDMA core sets it before it chooses the region's key.
 */
static bool place_invalidate_sink(struct srnic_qp *qp)
{
	const struct srnic_wqe *wqe = qp->rx.read;

	if (wqe->op != SRNIC_WR_READ_INV)
		return true;
	return wqe->num_sge &&
	       !srnic_stag_invalidate(qp->dev, qp->ibqp.pd, wqe->sge[0].lkey,
				      false);
}

static noinline enum srnic_err place_read_resp(struct srnic_qp *qp,
					       struct srnic_arrival *arr)
{
	struct srnic_rx *rx = &qp->rx;
	enum srnic_err err;
	bool rtr = false;

	if (!rx->read) {
		srnic_hold_drop(&arr->hold);
		rx->read = srnic_sq_oldest_read(qp, &rtr);
	}
	if (rtr)
		return place_resp_to_rtr(qp, arr);
	if (!rx->read)
		return SRNIC_ERR_RESP_NONE;
	if (arr->seg.len) {
		err = place_resp_payload(qp, arr);
		if (err)
			return err;
		rx->read_len += arr->seg.len;
		if (!arr->seg.last)
			place_goes_on(arr, rx->read->bytes - rx->read_len,
				      &rx->read_len);
	}
	if (!arr->seg.last)
		return SRNIC_ERR_NONE;
	if (rx->read_len != rx->read->bytes)
		return SRNIC_ERR_RESP_BOUNDS;
	srnic_hold_drop(&arr->hold);
	if (!place_invalidate_sink(qp)) {
		place_read_ends(qp, IB_WC_LOC_QP_OP_ERR, arr);
		return SRNIC_ERR_LOCAL;
	}
	place_read_ends(qp, IB_WC_SUCCESS, arr);
	return SRNIC_ERR_NONE;
}

static void place_send_fails(struct srnic_qp *qp, enum ib_wc_status status,
			     struct srnic_upcalls *up)
{
	qp->rx.send_busy = false;
	srnic_recv_complete(qp, qp->rx.rwqe.id, status, up);
}

/* An RTR message by Send has an MSN, but takes no receive (RFC 6581 9.2). */
static bool place_is_rtr_send(const struct srnic_qp *qp,
			      const struct srnic_seg *seg)
{
	return qp->rx.first && (qp->rx.rtr & IW_MPA_RTR_SEND) &&
	       seg->op == SRNIC_OP_SEND && seg->last && !seg->len && !seg->mo;
}

static enum srnic_err place_send_begins(struct srnic_qp *qp,
					struct srnic_arrival *arr)
{
	struct srnic_rx *rx = &qp->rx;
	int err;

	srnic_hold_drop(&arr->hold);
	err = srnic_recv_take(qp, &rx->rwqe);
	if (err == -ENOENT)
		return SRNIC_ERR_NO_BUFFER;
	if (err) {
		place_send_fails(qp, IB_WC_LOC_QP_OP_ERR, arr->up);
		return SRNIC_ERR_LOCAL;
	}
	rx->send_busy = true;
	rx->send_op = arr->seg.op;
	rx->send_inv = arr->seg.stag;
	rx->send_len = 0;
	return SRNIC_ERR_NONE;
}

/*
 * Copy a segment's payload to the SGEs of the receive, from the segment's
 * message offset on; the caller has checked that it fits. Without @fill only
 * check that the SGEs can be written.
 */
static enum srnic_err place_scatter(struct srnic_qp *qp,
				    struct srnic_arrival *arr, bool fill)
{
	const struct ib_sge *sge = qp->rx.rwqe.sge;
	u32 left = arr->seg.len, n = 0;
	u64 off = arr->seg.mo, end = off + left;

	for (; left; sge++, left -= n) {
		const struct srnic_name name = {
			.pd	= qp->srq ? qp->srq->ibsrq.pd : qp->ibqp.pd,
			.stag	= sge->lkey,
			.rights	= IB_ACCESS_LOCAL_WRITE,
			.kernel	= !qp->user,
		};

		n = 0;
		if (off >= sge->length) {
			off -= sge->length;
			continue;
		}
		n = min_t(u64, left, sge->length - off);
		if (srnic_hold_at(qp->dev, &arr->hold, &name, sge->addr + off,
				  n))
			return SRNIC_ERR_LOCAL;
		if (fill)
			place_fill(arr, n);
		if (fill && n == left && !arr->seg.last)
			place_goes_on(arr,
				      min(sge->length - off - n, U32_MAX - end),
				      &qp->rx.send_len);
		off = 0;
	}
	return SRNIC_ERR_NONE;
}

static enum srnic_err place_deliver(struct srnic_qp *qp,
				    struct srnic_arrival *arr)
{
	struct srnic_rx *rx = &qp->rx;
	struct srnic_cqe cqe = {
		.id	= rx->rwqe.id,
		.qp	= &qp->ibqp,
		.bytes	= rx->send_len,
		.op	= SRNIC_WR_RECV,
		.status	= IB_WC_SUCCESS,
	};
	enum srnic_err err;

	srnic_hold_drop(&arr->hold);
	if (srnic_op_has_inv(rx->send_op)) {
		err = srnic_stag_invalidate(qp->dev, qp->ibqp.pd, rx->send_inv,
					    true);
		if (err) {
			place_send_fails(qp, IB_WC_REM_INV_REQ_ERR, arr->up);
			return err;
		}
		srnic_count(qp->dev, remote_invalidated);
		cqe.inv = true;
		cqe.inv_stag = rx->send_inv;
	}
	rx->send_busy = false;
	rx->msn[SRNIC_QN_SEND]++;
	srnic_cq_put(qp->rcq, &cqe, srnic_op_has_se(rx->send_op),
		     arr->up);
	return SRNIC_ERR_NONE;
}

static noinline enum srnic_err place_send(struct srnic_qp *qp,
					  struct srnic_arrival *arr)
{
	const struct srnic_seg *seg = &arr->seg;
	struct srnic_rx *rx = &qp->rx;
	enum srnic_err err;

	if (seg->msn != rx->msn[SRNIC_QN_SEND])
		return SRNIC_ERR_MSN;
	if (place_is_rtr_send(qp, seg)) {
		rx->msn[SRNIC_QN_SEND]++;
		return SRNIC_ERR_NONE;
	}
	if (!rx->send_busy) {
		err = place_send_begins(qp, arr);
		/*
		 * A receive that is posted after a modify to ERR must be
		 * flushed, not filled. If the modify was earlier than
		 * srnic_recv_take(), the state shows it here; if it was later,
		 * the receive was posted before the modify, and may be filled.
		 */
		if (!srnic_is_flowing(qp))
			return SRNIC_ERR_NONE;
		if (err)
			return err;
	} else if (seg->op != rx->send_op) {
		return SRNIC_ERR_OPCODE;
	}
	if (seg->mo != rx->send_len)
		return SRNIC_ERR_MO;
	/* The receive may be larger, but a message has less than 2^32 bytes. */
	if ((u64)seg->mo + seg->len >
	    min_t(u64, srnic_rwqe_size(&rx->rwqe), U32_MAX)) {
		srnic_hold_drop(&arr->hold);
		place_send_fails(qp, IB_WC_LOC_LEN_ERR, arr->up);
		return SRNIC_ERR_TOO_LONG;
	}
	/* Check several SGEs first: if one cannot be used, place nothing. */
	err = rx->rwqe.num_sge > 1 ? place_scatter(qp, arr, false) :
				     SRNIC_ERR_NONE;
	err = err ?: place_scatter(qp, arr, true);
	if (err) {
		place_send_fails(qp, IB_WC_LOC_PROT_ERR, arr->up);
		return err;
	}
	rx->send_len += seg->len;
	return seg->last ? place_deliver(qp, arr) : SRNIC_ERR_NONE;
}

/* The peer's last message, which must not be answered (RFC 5040 4.8) */
static noinline_for_stack
enum srnic_err place_terminate(struct srnic_qp *qp, struct srnic_arrival *arr)
{
	const struct srnic_seg *seg = &arr->seg;
	u8 payload[SRNIC_TERM_MAX];
	u32 len = min_t(u32, seg->len, sizeof(payload));
	struct srnic_term term;

	if (seg->msn != qp->rx.msn[SRNIC_QN_TERMINATE] || seg->mo || !seg->last)
		return SRNIC_ERR_TERM_BAD;
	srnic_cursor_read(arr->cur, payload, len);
	if (!srnic_term_parse(payload, len, &term))
		return SRNIC_ERR_TERM_BAD;
	srnic_count(qp->dev, rx_terminates);
	trace_srnic_terminate(qp, &term);
	qp->rx.term.layer = term.layer;
	qp->rx.term.etype = term.etype;
	qp->rx.term.code = term.code;
	return SRNIC_ERR_TERM_RECEIVED;
}

enum srnic_err srnic_place(struct srnic_qp *qp, struct srnic_arrival *arr)
{
	switch (arr->seg.op) {
	case SRNIC_OP_WRITE:
		return place_write(qp, arr);
	case SRNIC_OP_READ_REQ:
		return place_read_req(qp, arr);
	case SRNIC_OP_READ_RESP:
		return place_read_resp(qp, arr);
	case SRNIC_OP_TERMINATE:
		return place_terminate(qp, arr);
	default:
		return place_send(qp, arr);
	}
}

/* Flush the receive that an incomplete Send has taken: it was posted first. */
void srnic_place_flush(struct srnic_qp *qp, struct srnic_upcalls *up)
{
	if (qp->rx.send_busy) {
		place_send_fails(qp, IB_WC_WR_FLUSH_ERR, up);
		srnic_count(qp->dev, wr_flushed);
	}
	qp->rx.read = NULL;
	qp->rx.read_len = 0;
}

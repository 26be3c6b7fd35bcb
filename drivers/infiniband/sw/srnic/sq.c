// SPDX-License-Identifier: GPL-2.0
/*
 * The send queue: what is posted, and what of it the sender has sent.
 *
 *	get <= sent <= next <= put <= get + size
 *
 * put    is advanced by a kernel ULP's post, or by the sender when it copies an
 *        element of an application's ring;
 * next   by the sender, when all segments of a WQE are in a batch, or a WQE
 *        without segments is done;
 * sent   by the sender, when TCP has accepted the batch with the WQE;
 * get    by sender, RX or flush, whichever finds that the WQE there is done.
 *
 * Each work request becomes a WQE. If a work request is invalid, a kernel ULP's
 * post fails at once; of an application's element a WQE is made nevertheless,
 * which completes in error in its turn. Of the ULP's memory, only inline data
 * is read here.
 *
 * WQEs retire only at "get". So completions are in the order of posting, and no
 * WQE succeeds after another has failed (RFC 5040 5.5). A Read is done when its
 * response is complete. If the sender has not advanced "sent" past the Read by
 * then, the Read retires only after the sender has done so.
 *
 * An element of an application's ring has the index of its WQE. The element is
 * returned to the application (its SIW_WQE_VALID is cleared) when "sent" passes
 * the WQE, before the WQE completes. Then the sender executes a full barrier
 * and checks the next element, because the application rings no doorbell for an
 * element if the one before is still valid.
 */

#include "sq.h"
#include "mem.h"
#include "ring.h"
#include "state.h"

#include <linux/log2.h>
#include <linux/slab.h>

static int wqe_op_of(enum ib_wr_opcode opcode)
{
	switch (opcode) {
	case IB_WR_RDMA_WRITE:
		return SRNIC_WR_WRITE;
	case IB_WR_RDMA_READ:
		return SRNIC_WR_READ;
	case IB_WR_RDMA_READ_WITH_INV:
		return SRNIC_WR_READ_INV;
	case IB_WR_SEND:
		return SRNIC_WR_SEND;
	case IB_WR_SEND_WITH_INV:
		return SRNIC_WR_SEND_INV;
	case IB_WR_LOCAL_INV:
		return SRNIC_WR_INV;
	case IB_WR_REG_MR:
		return SRNIC_WR_REG;
	default:
		return -EOPNOTSUPP;
	}
}

static u8 wqe_flags(const struct srnic_qp *qp, bool signaled, bool solicited,
		    bool fence)
{
	return (signaled || qp->sig_all ? SRNIC_WQE_SIGNALED : 0) |
	       (solicited ? SRNIC_WQE_SOLICITED : 0) |
	       (fence ? SRNIC_WQE_FENCE : 0);
}

/* Copy inline data: the ULP may reuse its buffers as soon as it has posted. */
static int wqe_copy_inline(struct srnic_wqe *wqe, const struct ib_send_wr *wr)
{
	int i;

	for (i = 0; i < wr->num_sge; i++) {
		const struct ib_sge *sge = &wr->sg_list[i];

		if (sge->length > SRNIC_MAX_INLINE - wqe->bytes)
			return -EINVAL;
		memcpy(wqe->data + wqe->bytes, ib_virt_dma_to_ptr(sge->addr),
		       sge->length);
		wqe->bytes += sge->length;
	}
	wqe->flags |= SRNIC_WQE_INLINE;
	wqe->num_sge = 0;
	return 0;
}

/* A message is shorter than 2^32 bytes (RFC 5041 5.2). */
static int wqe_set_bytes(struct srnic_wqe *wqe, u32 num_sge, u64 bytes)
{
	wqe->num_sge = num_sge;
	wqe->bytes = bytes;
	return bytes > U32_MAX ? -EINVAL : 0;
}

static int wqe_set_sge(struct srnic_wqe *wqe, const struct ib_sge *sge, u32 n)
{
	bool memory = true;
	u64 bytes = 0;
	u32 i;

	for (i = 0; i < n; i++) {
		wqe->sge[i] = sge[i];
		bytes += sge[i].length;
		memory &= sge[i].lkey == SRNIC_LOCAL_DMA_LKEY;
	}
	if (memory)
		wqe->flags |= SRNIC_WQE_MEMORY;
	return wqe_set_bytes(wqe, n, bytes);
}

static int wqe_fill_data(const struct srnic_qp *qp, struct srnic_wqe *wqe,
			 const struct ib_send_wr *wr)
{
	if (wr->num_sge < 0)
		return -EINVAL;
	if (wr->send_flags & IB_SEND_INLINE && !srnic_wqe_is_read(wqe))
		return wqe_copy_inline(wqe, wr);
	if (wr->num_sge > (srnic_wqe_is_read(wqe) ? SRNIC_MAX_SGE_RD :
						    qp->cap.max_send_sge))
		return -EINVAL;
	return wqe_set_sge(wqe, wr->sg_list, wr->num_sge);
}

/* Take base and length from the region now, key and rights from the request. */
static int wqe_fill_reg(const struct srnic_qp *qp, struct srnic_wqe *wqe,
			const struct ib_send_wr *wr)
{
	const struct ib_reg_wr *reg = reg_wr(wr);

	if ((reg->key ^ reg->mr->rkey) & ~0xff)
		return -EINVAL;
	wqe->rkey = reg->key;
	wqe->raddr = reg->mr->iova;
	wqe->reg.size = reg->mr->length;
	wqe->reg.access = reg->access;
	wqe->reg.mapping = READ_ONCE(to_srnic_mr(reg->mr)->mapping);
	return srnic_stag_check_access(qp->ibqp.device, reg->access);
}

/*
 * Make a WQE of a kernel ULP's work request. Returns 0; -EINVAL for impossible
 * SGEs, lengths, STags or rights; -EOPNOTSUPP for an operation that iWARP does
 * not have, or a right that srnic does not support.
 */
int srnic_wqe_fill(const struct srnic_qp *qp, struct srnic_wqe *wqe,
		   const struct ib_send_wr *wr)
{
	int op = wqe_op_of(wr->opcode);

	if (op < 0)
		return op;
	*wqe = (struct srnic_wqe) {
		.id	= wr->wr_id,
		.op	= op,
		.flags	= wqe_flags(qp, wr->send_flags & IB_SEND_SIGNALED,
				    wr->send_flags & IB_SEND_SOLICITED,
				    wr->send_flags & IB_SEND_FENCE),
		.status	= IB_WC_SUCCESS,
	};
	switch (wqe->op) {
	case SRNIC_WR_REG:
		return wqe_fill_reg(qp, wqe, wr);
	case SRNIC_WR_INV:
		wqe->rkey = wr->ex.invalidate_rkey;
		return 0;
	case SRNIC_WR_SEND_INV:
		wqe->rkey = wr->ex.invalidate_rkey;
		return wqe_fill_data(qp, wqe, wr);
	case SRNIC_WR_WRITE:
	case SRNIC_WR_READ:
	case SRNIC_WR_READ_INV:
		wqe->rkey = rdma_wr(wr)->rkey;
		wqe->raddr = rdma_wr(wr)->remote_addr;
		fallthrough;
	default:
		return wqe_fill_data(qp, wqe, wr);
	}
}

/* An application cannot post REG_MR, LOCAL_INV or RDMA_READ_WITH_INV. */
static int wqe_op_of_user(u8 opcode)
{
	switch (opcode) {
	case SIW_OP_WRITE:
		return SRNIC_WR_WRITE;
	case SIW_OP_READ:
		return SRNIC_WR_READ;
	case SIW_OP_SEND:
		return SRNIC_WR_SEND;
	case SIW_OP_SEND_REMOTE_INV:
		return SRNIC_WR_SEND_INV;
	default:
		return -EINVAL;
	}
}

/*
 * libsiw puts inline data after sge[0], whose length field has the length of
 * the data. Then num_sge is the number of SGEs that the application has passed,
 * and is not used.
 */
static int wqe_fill_user_data(struct srnic_wqe *wqe, const struct siw_sqe *sqe)
{
	u64 bytes = 0;
	u32 i;

	if (sqe->flags & SIW_WQE_INLINE) {
		if (srnic_wqe_is_read(wqe) ||
		    sqe->sge[0].length > SRNIC_MAX_INLINE)
			return -EINVAL;
		wqe->flags |= SRNIC_WQE_INLINE;
		wqe->bytes = sqe->sge[0].length;
		memcpy(wqe->data, &sqe->sge[1], wqe->bytes);
		return 0;
	}
	if (sqe->num_sge > (srnic_wqe_is_read(wqe) ? SRNIC_MAX_SGE_RD :
						     SRNIC_MAX_SGE))
		return -EINVAL;
	for (i = 0; i < sqe->num_sge; i++) {
		wqe->sge[i] = (struct ib_sge) {
			.addr	= sqe->sge[i].laddr,
			.length	= sqe->sge[i].length,
			.lkey	= sqe->sge[i].lkey,
		};
		bytes += sqe->sge[i].length;
	}
	return wqe_set_bytes(wqe, sqe->num_sge, bytes);
}

void srnic_wqe_fill_user(const struct srnic_qp *qp, struct srnic_wqe *wqe,
			 const struct siw_sqe *sqe)
{
	int op = wqe_op_of_user(sqe->opcode);
	int err = op;

	*wqe = (struct srnic_wqe) {
		.id	= sqe->id,
		.raddr	= sqe->raddr,
		.rkey	= sqe->rkey,
		.op	= max(op, 0),
		.flags	= wqe_flags(qp, sqe->flags & SIW_WQE_SIGNALLED,
				    sqe->flags & SIW_WQE_SOLICITED,
				    sqe->flags & SIW_WQE_READ_FENCE),
		.status	= IB_WC_SUCCESS,
	};
	if (op >= 0)
		err = wqe_fill_user_data(wqe, sqe);
	if (err < 0) {
		srnic_count(qp->dev, wr_invalid);
		wqe->flags |= SRNIC_WQE_BAD;
		wqe->status = IB_WC_LOC_QP_OP_ERR;
	}
}

/*
 * Returns as srnic_wqe_fill(); -ENOMEM if the send queue is full; -EINVAL in
 * IDLE. The lock orders the look at the state with a change to IDLE: what is
 * posted before in ERROR is flushed, and never sent on the next connection.
 */
int srnic_sq_post(struct srnic_qp *qp, const struct ib_send_wr *wr,
		  const struct ib_send_wr **bad)
{
	struct srnic_sq *sq = &qp->sq;
	unsigned long flags;
	int err = 0;

	spin_lock_irqsave(&sq->lock, flags);
	for (; wr; wr = wr->next) {
		if (srnic_state(qp) == SRNIC_IDLE)
			err = -EINVAL;
		else if (sq->put - sq->get == sq->size)
			err = -ENOMEM;
		else
			err = srnic_wqe_fill(qp, srnic_sq_wqe(sq, sq->put), wr);
		if (err)
			break;
		/* Release: write the WQE, then the index (srnic_sq_next()). */
		smp_store_release(&sq->put, sq->put + 1);
	}
	if (err)
		*bad = wr;
	spin_unlock_irqrestore(&sq->lock, flags);
	return err;
}

/* Returns false if the application's ring has no further element. */
bool srnic_sq_fetch(struct srnic_qp *qp)
{
	struct srnic_sq *sq = &qp->sq;
	struct siw_sqe sqe;

	if (!srnic_ring_copy_sqe(&sq->uring[sq->put & (sq->size - 1)], &sqe))
		return false;
	srnic_wqe_fill_user(qp, srnic_sq_wqe(sq, sq->put), &sqe);
	WRITE_ONCE(sq->put, sq->put + 1);
	return true;
}

/* True if the WQE must wait for answers to Reads; one that fails does not. */
static bool sq_has_to_wait(const struct srnic_sq *sq,
			   const struct srnic_wqe *wqe, u16 ord)
{
	bool read = srnic_wqe_is_read(wqe);

	lockdep_assert_held(&sq->lock);
	if ((wqe->flags & SRNIC_WQE_BAD) || (read && !ord))
		return false;
	if (read && sq->reads >= ord)
		return true;
	return (wqe->flags & SRNIC_WQE_FENCE) && sq->reads;
}

/* Copy an application's next element to a WQE. False: no element, or no WQE. */
static bool sq_copy_next(struct srnic_qp *qp)
{
	struct srnic_sq *sq = &qp->sq;
	/* Pairs with retire_some(): its read of the WQE precedes the reuse. */
	bool room = sq->put - smp_load_acquire(&sq->get) < sq->size;

	if (!room) {
		spin_lock_irq(&sq->lock);
		room = sq->put - sq->get < sq->size;
		sq->waits |= !room;
		spin_unlock_irq(&sq->lock);
	}
	return room && srnic_sq_fetch(qp);
}

/*
 * Returns the next WQE to be sent. At most ORD Reads may be unanswered (RFC
 * 5040 6.1), and a WQE with a fence waits until all Reads are answered.
 *
 * What a ULP posts after a modify to ERR must be flushed, not sent, since the
 * ULP waits for the flush. So the sender first reads what is posted, then
 * qp->state. The acquire of "put", or of an element's flags, keeps that order.
 *
 * Returns NULL if there is no WQE, or only WQEs that were posted after the
 * connection began to close (sq->limit); if the QP is in a state in which
 * posted WQEs are flushed; or if the WQE has to wait. In the last case
 * sq->waits is set, so the next answer to a Read, or the next WQE that retires,
 * kicks the sender.
 */
struct srnic_wqe *srnic_sq_next(struct srnic_qp *qp)
{
	struct srnic_sq *sq = &qp->sq;
	struct srnic_wqe *wqe;

	if (srnic_sq_is_at_limit(qp))
		return NULL;
	/* Acquire: read the index, then the WQE (srnic_sq_post()). */
	if (sq->next == smp_load_acquire(&sq->put) &&
	    (!sq->uring || !sq_copy_next(qp)))
		return NULL;
	wqe = srnic_sq_wqe(sq, sq->next);
	if (srnic_wqe_is_read(wqe) || (wqe->flags & SRNIC_WQE_FENCE)) {
		spin_lock_irq(&sq->lock);
		if (sq_has_to_wait(sq, wqe, qp->params.ord)) {
			sq->waits = true;
			wqe = NULL;
		}
		spin_unlock_irq(&sq->lock);
	}
	return srnic_is_flowing(qp) ? wqe : NULL;
}

/* True if a WQE, or an element of an application's ring, is in no batch yet. */
bool srnic_sq_has_more(const struct srnic_qp *qp)
{
	const struct srnic_sq *sq = &qp->sq;
	u32 put = READ_ONCE(sq->put);

	return READ_ONCE(sq->next) != put ||
	       (sq->uring &&
		srnic_ring_has_sqe(&sq->uring[put & (sq->size - 1)]));
}

/* Count elements of an application's ring that have not become WQEs yet. */
static u32 sq_count_user(const struct srnic_sq *sq)
{
	u32 n, room = sq->size - (sq->put - sq->sent);

	for (n = 0; n < room; n++) {
		if (!srnic_ring_has_sqe(&sq->uring[(sq->put + n) &
						   (sq->size - 1)]))
			break;
	}
	return n;
}

/*
 * Send only what is posted by now: the ULP closes (RFC 5041 6.2.1), or the peer
 * has closed. Only the first call for a stream sets sq->limit, so nothing that
 * is posted after that call is sent. The caller holds tx.lock, which protects
 * sq->limit.
 */
void srnic_sq_limit(struct srnic_qp *qp)
{
	struct srnic_sq *sq = &qp->sq;
	u32 more;

	if (sq->limited)
		return;
	more = sq->uring ? sq_count_user(sq) : 0;
	spin_lock_irq(&sq->lock);
	sq->limit = sq->put + more;
	spin_unlock_irq(&sq->lock);
	sq->limited = true;
}

/* False if srnic_sq_limit() has set no limit */
bool srnic_sq_is_at_limit(const struct srnic_qp *qp)
{
	return qp->sq.limited && qp->sq.next == qp->sq.limit;
}

/*
 * Advance "next" past a WQE whose segments are all in a batch. sq->lock is only
 * needed for a Read: RX, too, changes sq->reads, the number of unanswered
 * Reads.
 */
void srnic_sq_taken(struct srnic_qp *qp, const struct srnic_wqe *wqe)
{
	struct srnic_sq *sq = &qp->sq;

	if (!srnic_wqe_is_read(wqe)) {
		/* Release: write the WQE, then the index (sq_seek_read()). */
		smp_store_release(&sq->next, sq->next + 1);
		return;
	}
	spin_lock_irq(&sq->lock);
	sq->reads++;
	WRITE_ONCE(sq->next, sq->next + 1);
	spin_unlock_irq(&sq->lock);
}

/* A WQE that fails or sends nothing is done; earlier WQEs complete first. */
void srnic_sq_done(struct srnic_qp *qp, struct srnic_wqe *wqe,
		   enum ib_wc_status status)
{
	struct srnic_sq *sq = &qp->sq;

	spin_lock_irq(&sq->lock);
	wqe->status = status;
	wqe->done = true;
	WRITE_ONCE(sq->next, sq->next + 1);
	spin_unlock_irq(&sq->lock);
}

bool srnic_sq_expect_rtr(struct srnic_qp *qp)
{
	struct srnic_sq *sq = &qp->sq;

	if (!qp->params.ord)
		return false;
	spin_lock_irq(&sq->lock);
	sq->rtr_read = true;
	sq->reads++;
	spin_unlock_irq(&sq->lock);
	return true;
}

/* Advance @read to an unanswered Read; NULL: none in SRNIC_QUEUE_STEP WQEs. */
static struct srnic_wqe *sq_seek_read(struct srnic_sq *sq)
{
	u32 n;

	lockdep_assert_held(&sq->lock);
	for (n = 0;
	     /* Acquire: read the index, then the WQE (srnic_sq_taken()). */
	     n < SRNIC_QUEUE_STEP && sq->read != smp_load_acquire(&sq->next);
	     n++, sq->read++) {
		struct srnic_wqe *wqe = srnic_sq_wqe(sq, sq->read);

		if (srnic_wqe_is_read(wqe) && !wqe->done)
			return wqe;
	}
	return NULL;
}

/*
 * Returns the oldest unanswered Read, whose WQE is valid until
 * srnic_retire_read(); NULL if there is none. If that Read is the RTR message,
 * which has no WQE, sets *@rtr and returns NULL.
 */
struct srnic_wqe *srnic_sq_oldest_read(struct srnic_qp *qp, bool *rtr)
{
	struct srnic_sq *sq = &qp->sq;
	struct srnic_wqe *found = NULL;
	unsigned long flags;
	bool more;

	do {
		spin_lock_irqsave(&sq->lock, flags);
		*rtr = sq->rtr_read;
		if (!*rtr && sq->reads)
			found = sq_seek_read(sq);
		more = !*rtr && !found && sq->reads &&
		       sq->read != READ_ONCE(sq->next);
		spin_unlock_irqrestore(&sq->lock, flags);
	} while (more);
	return found;
}

/* True if all WQEs have retired, whatever an application's ring still has. */
bool srnic_sq_is_empty(struct srnic_qp *qp)
{
	unsigned long flags;
	bool empty;

	spin_lock_irqsave(&qp->sq.lock, flags);
	empty = READ_ONCE(qp->sq.put) == qp->sq.get;
	spin_unlock_irqrestore(&qp->sq.lock, flags);
	return empty;
}

static void retire_complete(struct srnic_qp *qp, const struct srnic_wqe *wqe,
			    struct srnic_upcalls *up)
{
	struct srnic_cqe cqe = {
		.id	= wqe->id,
		.qp	= &qp->ibqp,
		.bytes	= wqe->bytes,
		.op	= wqe->op,
		.status	= wqe->status,
	};

	if (wqe->status == IB_WC_SUCCESS && !(wqe->flags & SRNIC_WQE_SIGNALED))
		return;
	srnic_cq_put(qp->scq, &cqe, false, up);
}

/*
 * Retire WQEs that are done, up to index @to (exclusive; @to <= sq->sent), but
 * no more than SRNIC_QUEUE_STEP, since interrupts are off. Returns true if
 * there may be more.
 */
static bool retire_some(struct srnic_qp *qp, u32 to, struct srnic_upcalls *up)
{
	struct srnic_sq *sq = &qp->sq;
	u32 n;

	lockdep_assert_held(&sq->lock);
	for (n = 0;
	     n < SRNIC_QUEUE_STEP && sq->get != to &&
	     srnic_sq_wqe(sq, sq->get)->done;
	     n++) {
		struct srnic_wqe *wqe = srnic_sq_wqe(sq, sq->get);

		/* The peer may have this message, but an earlier WQE failed. */
		if (sq->failed && wqe->status == IB_WC_SUCCESS) {
			wqe->status = IB_WC_WR_FLUSH_ERR;
			srnic_count(qp->dev, wr_flushed);
		}
		sq->failed |= wqe->status != IB_WC_SUCCESS;
		retire_complete(qp, wqe, up);
		/* Release: read the WQE, then reuse it (sq_copy_next()). */
		smp_store_release(&sq->get, sq->get + 1);
	}
	/* Indices wrap, so keep @read from lagging @get by half their range. */
	if ((s32)(sq->get - sq->read) > 0)
		sq->read = sq->get;
	if (sq->waits && n) {
		sq->waits = false;
		up->kick = true;
	}
	return n == SRNIC_QUEUE_STEP;
}

/* Return elements to the application, before their WQEs complete. */
static void retire_give_back(struct srnic_sq *sq, u32 from, u32 to)
{
	for (; from != to; from++)
		/* Release: copy the element, then let the ULP reuse it. */
		smp_store_release(&sq->uring[from & (sq->size - 1)].flags, 0);
	/*
	 * Pairs with a barrier in libsiw. The kernel returns an element, then
	 * checks whether the next one is filled. The application fills the next
	 * one, then checks whether the one before was returned; if not, it
	 * rings no doorbell. So at least one of both reads what the other
	 * wrote.
	 */
	smp_mb();
}

/* Retire all WQEs that are done; sq->lock, held, is dropped between steps. */
static void retire_all(struct srnic_qp *qp, struct srnic_upcalls *up)
{
	struct srnic_sq *sq = &qp->sq;

	while (retire_some(qp, sq->sent, up)) {
		spin_unlock_irq(&sq->lock);
		cond_resched();
		spin_lock_irq(&sq->lock);
	}
}

/* RX retires a few WQEs after a Read has completed, the sender the rest. */
void srnic_sq_retire(struct srnic_qp *qp, struct srnic_upcalls *up)
{
	struct srnic_sq *sq = &qp->sq;
	u32 get = READ_ONCE(sq->get);

	/*
	 * The WQE's flag "done" is only a hint: RX may have retired the WQE,
	 * and a poster may be reusing it. If so, RX also retires the WQEs after
	 * that WQE, or kicks the sender.
	 */
	if (get == sq->sent || !data_race(srnic_sq_wqe(sq, get)->done))
		return;
	spin_lock_irq(&sq->lock);
	retire_all(qp, up);
	spin_unlock_irq(&sq->lock);
}

/* TCP has accepted the batch: return elements, and retire its WQEs. */
void srnic_sq_sent(struct srnic_qp *qp, struct srnic_upcalls *up)
{
	struct srnic_sq *sq = &qp->sq;

	if (sq->sent == sq->next)
		return;
	if (sq->uring)
		retire_give_back(sq, sq->sent, sq->next);
	spin_lock_irq(&sq->lock);
	for (; sq->sent != sq->next; sq->sent++) {
		struct srnic_wqe *wqe = srnic_sq_wqe(sq, sq->sent);

		if (!srnic_wqe_is_read(wqe))
			wqe->done = true;
	}
	retire_all(qp, up);
	spin_unlock_irq(&sq->lock);
}

void srnic_retire_read(struct srnic_qp *qp, struct srnic_wqe *wqe,
		       enum ib_wc_status status, struct srnic_upcalls *up)
{
	struct srnic_sq *sq = &qp->sq;
	unsigned long flags;

	spin_lock_irqsave(&sq->lock, flags);
	sq->reads--;
	if (wqe) {
		wqe->status = status;
		WRITE_ONCE(wqe->done, true);
	} else {
		sq->rtr_read = false;
	}
	if (retire_some(qp, sq->sent, up))
		up->kick = true;
	if (sq->waits) {
		sq->waits = false;
		up->kick = true;
	}
	spin_unlock_irqrestore(&sq->lock, flags);
}

/* Flush at most SRNIC_QUEUE_STEP WQEs, as interrupts are off. False at @end */
static bool retire_flush_step(struct srnic_qp *qp, u32 end,
			      struct srnic_upcalls *up)
{
	struct srnic_sq *sq = &qp->sq;
	u32 n, to = sq->get + min_t(u32, end - sq->get, SRNIC_QUEUE_STEP);

	lockdep_assert_held(&sq->lock);
	for (n = sq->get; n != to; n++) {
		struct srnic_wqe *wqe = srnic_sq_wqe(sq, n);

		if (wqe->done)
			continue;
		wqe->status = IB_WC_WR_FLUSH_ERR;
		wqe->done = true;
		srnic_count(qp->dev, wr_flushed);
	}
	retire_some(qp, to, up);
	return to != end;
}

/* Copy at most sq->size elements of an application's ring, and return them. */
static void retire_fetch_all(struct srnic_qp *qp)
{
	struct srnic_sq *sq = &qp->sq;
	u32 n;

	if (!sq->uring)
		return;
	for (n = 0; n < sq->size && sq->put - sq->get < sq->size; n++)
		if (!srnic_sq_fetch(qp))
			break;
	retire_give_back(sq, sq->sent, sq->put);
}

/*
 * Complete all WQEs. One that has failed already completes with its status, and
 * so does one that has succeeded, if all WQEs before it were successful; the
 * others complete as flushed. At most sq->size elements of an application's
 * ring are flushed, since the application can post as fast as this flushes. If
 * a kernel ULP posts while this runs, its post queues another flush. Returns
 * true if more is posted.
 */
bool srnic_retire_flush(struct srnic_qp *qp, struct srnic_upcalls *up)
{
	struct srnic_sq *sq = &qp->sq;
	u32 end;

	retire_fetch_all(qp);
	spin_lock_irq(&sq->lock);
	end = sq->put;
	sq->sent = end;
	sq->next = end;
	sq->reads = 0;
	sq->rtr_read = false;
	while (retire_flush_step(qp, end, up)) {
		spin_unlock_irq(&sq->lock);
		cond_resched();
		spin_lock_irq(&sq->lock);
	}
	sq->failed = false;
	spin_unlock_irq(&sq->lock);
	return srnic_sq_has_more(qp);
}

void srnic_retire_discard(struct srnic_qp *qp)
{
	struct srnic_sq *sq = &qp->sq;

	retire_fetch_all(qp);
	spin_lock_irq(&sq->lock);
	sq->sent = sq->put;
	sq->next = sq->put;
	sq->get = sq->put;
	sq->read = sq->put;
	spin_unlock_irq(&sq->lock);
}

/* @sges is for kernel ULPs: an application may use all SGEs of an element. */
int srnic_sq_create(struct srnic_sq *sq, u32 entries, u32 sges,
		    struct ib_ucontext *ctx, u64 *key)
{
	sq->size = roundup_pow_of_two(entries);
	sq->wqe_size = srnic_wqe_size(ctx ? SRNIC_MAX_SGE : sges);
	sq->ring = srnic_ring_alloc(sq->size, sq->wqe_size,
				    ctx ? GFP_KERNEL_ACCOUNT : GFP_KERNEL);
	if (!sq->ring)
		return -ENOMEM;
	if (!ctx)
		return 0;
	sq->shared = srnic_ring_create(ctx, sq->size * sizeof(*sq->uring),
				       key);
	if (IS_ERR(sq->shared))
		return PTR_ERR(sq->shared);
	sq->uring = sq->shared->va;
	return 0;
}

void srnic_sq_destroy(struct srnic_sq *sq)
{
	srnic_ring_destroy(sq->shared);
	kvfree(sq->ring);
}

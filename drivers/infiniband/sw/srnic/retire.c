// SPDX-License-Identifier: GPL-2.0
/*
 * The end of work requests. The indices are those of sq.c: WQEs from "get" up to "sent" are retired
 * here, by the sender, by RX, or when they are flushed.
 *
 * A WQE is retired only at the head. So completions are in the order of posting, and none succeeds
 * behind one that has failed (RFC 5040 5.5). A Read is done when its response is whole. That may be
 * before the sender knows that TCP has accepted the request: then the Read waits for "sent".
 *
 * An application's element has the index of its WQE. The element is given back between "sent" and
 * the completion. The sender then executes a full barrier and looks at the next element, because
 * the application rings no doorbell while the element before is still valid.
 */

#include "retire.h"
#include "sq.h"
#include "wqe.h"

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
 * Retire WQEs up to @to, which is "sent" or before it, but no more than a few with interrupts off.
 * True: there may be more.
 */
static bool retire_some(struct srnic_qp *qp, u32 to, struct srnic_upcalls *up)
{
	struct srnic_sq *sq = &qp->sq;
	u32 n;

	lockdep_assert_held(&sq->lock);
	for (n = 0; n < SRNIC_QUEUE_STEP && sq->get != to && srnic_sq_wqe(sq, sq->get)->done; n++) {
		struct srnic_wqe *wqe = srnic_sq_wqe(sq, sq->get++);

		/* The peer may have it, but a work request before it has failed. */
		if (sq->failed && wqe->status == IB_WC_SUCCESS) {
			wqe->status = IB_WC_WR_FLUSH_ERR;
			srnic_count(qp->dev, wr_flushed);
		}
		sq->failed |= wqe->status != IB_WC_SUCCESS;
		retire_complete(qp, wqe, up);
	}
	/* The index must not fall behind by more than the length of the queue. */
	if ((s32)(sq->get - sq->read) > 0)
		sq->read = sq->get;
	if (sq->waits && n) {
		sq->waits = false;
		up->kick = true;
	}
	return n == SRNIC_QUEUE_STEP;
}

/* Give elements back, before the completions, and before the next element is looked at. */
static void retire_give_back(struct srnic_sq *sq, u32 from, u32 to)
{
	for (; from != to; from++)
		/* The element was copied before it is free. */
		smp_store_release(&sq->uring[from & (sq->size - 1)].flags, 0);
	/*
	 * The element is free before the next one is looked at. The application writes that, and
	 * then looks whether this one is free.
	 */
	smp_mb();
}

/* All that can be; sq->lock is held, and dropped now and then. */
static void retire_all(struct srnic_qp *qp, struct srnic_upcalls *up)
{
	struct srnic_sq *sq = &qp->sq;

	while (retire_some(qp, sq->sent, up)) {
		spin_unlock_irq(&sq->lock);
		cond_resched();
		spin_lock_irq(&sq->lock);
	}
	WRITE_ONCE(sq->behind, false);
}

/**
 * srnic_retire_left - retire what RX has left to the sender
 * @qp: the QP
 * @up: what is to be done when no lock is held
 *
 * Context: process; the caller is the sender, and may have nothing to send.
 */
void srnic_retire_left(struct srnic_qp *qp, struct srnic_upcalls *up)
{
	if (!READ_ONCE(qp->sq.behind))
		return;
	spin_lock_irq(&qp->sq.lock);
	retire_all(qp, up);
	spin_unlock_irq(&qp->sq.lock);
}

/**
 * srnic_retire_sent - TCP has accepted all that is in the batch
 * @qp: the QP
 * @up: what is to be done when no lock is held
 *
 * Context: process; the caller is the sender.
 */
void srnic_retire_sent(struct srnic_qp *qp, struct srnic_upcalls *up)
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

/**
 * srnic_retire_read - a Read has its whole response, or will not get it
 * @qp: the QP
 * @wqe: the oldest Read, or NULL for the RTR message
 * @status: how it ended
 * @up: what is to be done when no lock is held
 *
 * Context: RX.
 */
void srnic_retire_read(struct srnic_qp *qp, struct srnic_wqe *wqe, enum ib_wc_status status,
		       struct srnic_upcalls *up)
{
	struct srnic_sq *sq = &qp->sq;
	unsigned long flags;

	spin_lock_irqsave(&sq->lock, flags);
	sq->reads--;
	if (wqe) {
		wqe->status = status;
		wqe->done = true;
	} else {
		sq->rtr_read = false;
	}
	if (retire_some(qp, sq->sent, up)) {
		WRITE_ONCE(sq->behind, true);
		up->kick = true;
	}
	if (sq->waits) {
		sq->waits = false;
		up->kick = true;
	}
	spin_unlock_irqrestore(&sq->lock, flags);
}

static void retire_flush_one(struct srnic_qp *qp, struct srnic_wqe *wqe)
{
	if (wqe->done)
		return;
	wqe->status = IB_WC_WR_FLUSH_ERR;
	wqe->done = true;
	srnic_count(qp->dev, wr_flushed);
}

/* Flush a few WQEs, since interrupts are off. False: @end is reached. */
static bool retire_flush_step(struct srnic_qp *qp, u32 end, struct srnic_upcalls *up)
{
	struct srnic_sq *sq = &qp->sq;
	u32 n, to = sq->get + min_t(u32, end - sq->get, SRNIC_QUEUE_STEP);

	lockdep_assert_held(&sq->lock);
	for (n = sq->get; n != to; n++)
		retire_flush_one(qp, srnic_sq_wqe(sq, n));
	retire_some(qp, to, up);
	return to != end;
}

/* Fetch an application's ring once around at most, and give the elements back. */
static void retire_fetch_all(struct srnic_qp *qp)
{
	struct srnic_sq *sq = &qp->sq;
	u32 n;

	if (!sq->uring)
		return;
	for (n = 0; n < sq->size && sq->put - sq->get < sq->size; n++) {
		if (!srnic_sq_fetch(qp))
			break;
		WRITE_ONCE(sq->put, sq->put + 1);
	}
	retire_give_back(sq, sq->sent, sq->put);
}

/**
 * srnic_retire_flush - all that is posted ends
 * @qp: the QP, without a stream
 * @up: what is to be done when no lock is held
 *
 * A WQE that is done already completes as it is, if all before it were successful. The rest
 * completes as flushed. An application's ring is flushed once around at most, since the application
 * can post as fast as this flushes. If a kernel ULP posts meanwhile, its post asks for another
 * flush.
 *
 * Context: process; nobody else sends or flushes.
 *
 * Return: true if the application's ring has more, for which it may ring no doorbell.
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
	sq->limited = false;
	sq->failed = false;
	spin_unlock_irq(&sq->lock);
	return srnic_sq_has_more(qp);
}

/**
 * srnic_retire_discard - forget all that is posted
 * @qp: the QP, without a stream
 *
 * Context: process; nobody else sends or flushes.
 */
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

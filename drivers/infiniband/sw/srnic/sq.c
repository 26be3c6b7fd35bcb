// SPDX-License-Identifier: GPL-2.0
/*
 * The send queue: what is posted, and what the sender takes of it.
 *
 *	get <= sent <= next <= put <= get + size
 *
 * put    is moved by a kernel ULP's post, or by the sender when it copies an element of an
 *        application's ring;
 * next   by the sender, when all segments of a WQE are in a batch;
 * sent   by the sender, when TCP has accepted that batch;
 * get    by whoever finds that the WQE there is done: sender, RX or flush.
 *
 * What ends, and when, is in retire.c.
 */

#include "sq.h"
#include "ring.h"
#include "wqe.h"

/**
 * srnic_sq_post - a kernel ULP posts work requests
 * @qp: its QP
 * @wr: list of them
 * @bad: result: the first that was not posted, if there is an error
 *
 * Context: any.
 *
 * Return: 0; -EINVAL for SGEs, lengths or STags that are impossible; -EOPNOTSUPP for an operation
 * that iWARP does not have; -ENOMEM if the queue is full.
 */
int srnic_sq_post(struct srnic_qp *qp, const struct ib_send_wr *wr, const struct ib_send_wr **bad)
{
	struct srnic_sq *sq = &qp->sq;
	unsigned long flags;
	int err = 0;

	spin_lock_irqsave(&sq->lock, flags);
	for (; wr && !err; wr = err ? wr : wr->next) {
		if (sq->put - sq->get == sq->size)
			err = -ENOMEM;
		else
			err = srnic_wqe_fill(qp, srnic_sq_wqe(sq, sq->put), wr);
		/* srnic_sq_has_more() looks at any time. */
		if (!err)
			WRITE_ONCE(sq->put, sq->put + 1);
	}
	if (err)
		*bad = wr;
	spin_unlock_irqrestore(&sq->lock, flags);
	return err;
}

/**
 * srnic_sq_start - forget the stream before, as the QP gets another one
 * @qp: the QP
 *
 * Context: process; nobody sends or flushes.
 */
void srnic_sq_start(struct srnic_qp *qp)
{
	struct srnic_sq *sq = &qp->sq;

	spin_lock_irq(&sq->lock);
	sq->limited = false;
	sq->failed = false;
	spin_unlock_irq(&sq->lock);
}

/**
 * srnic_sq_fetch - make a WQE of the next element of an application's ring
 * @qp: the QP, whose queue has room for it at "put"
 *
 * The caller moves "put".
 *
 * Context: process; the caller is the sender. Only the sender uses elements that are not yet WQEs.
 *
 * Return: false if the application has not posted it.
 */
bool srnic_sq_fetch(struct srnic_qp *qp)
{
	struct srnic_sq *sq = &qp->sq;
	struct siw_sqe sqe;

	if (!srnic_ring_copy_sqe(&sq->uring[sq->put & (sq->size - 1)], &sqe))
		return false;
	srnic_wqe_fill_user(qp, srnic_sq_wqe(sq, sq->put), &sqe);
	return true;
}

/**
 * srnic_sq_head - the next WQE to send
 * @qp: the QP
 *
 * What a ULP posts after a modify to ERR must be flushed, since the ULP waits for that. So the
 * sender first looks at what is posted, and then whether the ULP has broken the stream off.
 *
 * Context: process; the caller is the sender.
 *
 * Return: the WQE; NULL if there is none before the limit, if what is left is to be flushed, or if
 * there is no room for another one: then the sender will be kicked.
 */
struct srnic_wqe *srnic_sq_head(struct srnic_qp *qp)
{
	struct srnic_sq *sq = &qp->sq;
	struct srnic_wqe *wqe = NULL;
	bool room, broken;

	if (srnic_sq_is_at_limit(qp))
		return NULL;
	spin_lock_irq(&sq->lock);
	if (sq->next != sq->put)
		wqe = srnic_sq_wqe(sq, sq->next);
	room = sq->put - sq->get < sq->size;
	if (!wqe && sq->uring && !room)
		sq->waits = true;
	broken = READ_ONCE(qp->abrupt);
	spin_unlock_irq(&sq->lock);
	if (broken)
		return NULL;
	if (wqe || !sq->uring || !room)
		return wqe;

	/*
	 * If the modify to ERR came before the copy, this sees it. Otherwise the element was posted
	 * before.
	 */
	if (!srnic_sq_fetch(qp) || READ_ONCE(qp->abrupt))
		return NULL;
	spin_lock_irq(&sq->lock);
	wqe = srnic_sq_wqe(sq, sq->put);
	WRITE_ONCE(sq->put, sq->put + 1);
	spin_unlock_irq(&sq->lock);
	return wqe;
}

/**
 * srnic_sq_has_more - is something posted that is in no batch yet?
 * @qp: the QP
 *
 * That may be a WQE, or an element of an application's ring that is not a WQE yet.
 *
 * Context: any; if somebody sends meanwhile, the answer may be late.
 *
 * Return: true if so.
 */
bool srnic_sq_has_more(const struct srnic_qp *qp)
{
	const struct srnic_sq *sq = &qp->sq;
	u32 put = READ_ONCE(sq->put);

	return READ_ONCE(sq->next) != put ||
	       (sq->uring && srnic_ring_has_sqe(&sq->uring[put & (sq->size - 1)]));
}

/* Count the elements in an application's ring that the sender, who calls this, has not fetched. */
static u32 sq_count_user(const struct srnic_sq *sq)
{
	u32 n, room = sq->size - (sq->put - sq->sent);

	for (n = 0; n < room; n++) {
		if (!srnic_ring_has_sqe(&sq->uring[(sq->put + n) & (sq->size - 1)]))
			break;
	}
	return n;
}

/**
 * srnic_sq_limit - end the stream behind what is posted now
 * @qp: the QP
 *
 * The limit is removed when the queue is flushed, or when the next stream begins.
 *
 * Context: process; the caller is the sender.
 */
void srnic_sq_limit(struct srnic_qp *qp)
{
	struct srnic_sq *sq = &qp->sq;
	u32 more = sq->uring ? sq_count_user(sq) : 0;

	spin_lock_irq(&sq->lock);
	sq->limit = sq->put + more;
	sq->limited = true;
	spin_unlock_irq(&sq->lock);
}

/**
 * srnic_sq_is_at_limit - is everything in batches that may go out before the stream ends?
 * @qp: the QP
 *
 * Context: process; the caller is the sender.
 *
 * Return: true if so; false if there is no limit.
 */
bool srnic_sq_is_at_limit(struct srnic_qp *qp)
{
	return qp->sq.limited && qp->sq.next == qp->sq.limit;
}

/**
 * srnic_sq_may_read - do outstanding Reads let a WQE go?
 * @qp: the QP
 * @wqe: at the head
 *
 * At most ORD Reads may be unanswered (RFC 5040 6.1). A fence waits for all of them.
 *
 * Context: process; the caller is the sender.
 *
 * Return: true if so; else the sender will be kicked.
 */
bool srnic_sq_may_read(struct srnic_qp *qp, const struct srnic_wqe *wqe)
{
	struct srnic_sq *sq = &qp->sq;
	bool may = true;

	if (!srnic_wqe_is_read(wqe) && !(wqe->flags & SRNIC_WQE_FENCE))
		return true;
	spin_lock_irq(&sq->lock);
	if (srnic_wqe_is_read(wqe) && sq->reads >= qp->tx.ord)
		may = false;
	if ((wqe->flags & SRNIC_WQE_FENCE) && sq->reads)
		may = false;
	if (!may)
		sq->waits = true;
	spin_unlock_irq(&sq->lock);
	return may;
}

/**
 * srnic_sq_taken - all segments of a WQE are in a batch
 * @qp: the QP
 * @wqe: at the head
 *
 * Context: process; the caller is the sender.
 */
void srnic_sq_taken(struct srnic_qp *qp, const struct srnic_wqe *wqe)
{
	struct srnic_sq *sq = &qp->sq;

	spin_lock_irq(&sq->lock);
	if (srnic_wqe_is_read(wqe))
		sq->reads++;
	WRITE_ONCE(sq->next, sq->next + 1);
	spin_unlock_irq(&sq->lock);
}

/**
 * srnic_sq_done - a WQE needs no stream, or cannot be done
 * @qp: the QP
 * @wqe: at the head
 * @status: how it ended
 *
 * The WQE completes when those before it have completed.
 *
 * Context: process; the caller is the sender.
 */
void srnic_sq_done(struct srnic_qp *qp, struct srnic_wqe *wqe, enum ib_wc_status status)
{
	struct srnic_sq *sq = &qp->sq;

	spin_lock_irq(&sq->lock);
	wqe->status = status;
	wqe->done = true;
	WRITE_ONCE(sq->next, sq->next + 1);
	spin_unlock_irq(&sq->lock);
}

/**
 * srnic_sq_expect_rtr - an RTR message of type Read is about to be sent
 * @qp: the QP
 *
 * Context: process; the caller is the sender.
 *
 * Return: false if ORD is 0.
 */
bool srnic_sq_expect_rtr(struct srnic_qp *qp)
{
	struct srnic_sq *sq = &qp->sq;

	if (!qp->tx.ord)
		return false;
	spin_lock_irq(&sq->lock);
	sq->rtr_read = true;
	sq->reads++;
	spin_unlock_irq(&sq->lock);
	return true;
}

/* Move @sq->read to the next Read that has no whole response; NULL: not among the next few WQEs. */
static struct srnic_wqe *sq_seek_read(struct srnic_sq *sq)
{
	u32 n;

	lockdep_assert_held(&sq->lock);
	for (n = 0; n < SRNIC_QUEUE_STEP && sq->read != sq->next; n++, sq->read++) {
		struct srnic_wqe *wqe = srnic_sq_wqe(sq, sq->read);

		if (srnic_wqe_is_read(wqe) && !wqe->done)
			return wqe;
	}
	return NULL;
}

/**
 * srnic_sq_oldest_read - the Read that the next Read Response answers
 * @qp: the QP
 * @rtr: result: it is the RTR message, which nobody has posted
 *
 * Context: RX.
 *
 * Return: the WQE, which stays until srnic_retire_read(); NULL if there is none.
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
		more = !*rtr && !found && sq->reads && sq->read != sq->next;
		spin_unlock_irqrestore(&sq->lock, flags);
	} while (more);
	return found;
}

/**
 * srnic_sq_has_reads - are there Reads whose responses are not complete?
 * @qp: the QP
 *
 * Context: any.
 *
 * Return: true if so; the sender may send another one at any time.
 */
bool srnic_sq_has_reads(struct srnic_qp *qp)
{
	unsigned long flags;
	bool found;

	spin_lock_irqsave(&qp->sq.lock, flags);
	found = qp->sq.reads;
	spin_unlock_irqrestore(&qp->sq.lock, flags);
	return found;
}

/**
 * srnic_sq_is_empty - has everything that is posted completed?
 * @qp: the QP
 *
 * Context: any.
 *
 * Return: true if so; an application's ring may have elements that were not looked at.
 */
bool srnic_sq_is_empty(struct srnic_qp *qp)
{
	unsigned long flags;
	bool empty;

	spin_lock_irqsave(&qp->sq.lock, flags);
	empty = qp->sq.put == qp->sq.get;
	spin_unlock_irqrestore(&qp->sq.lock, flags);
	return empty;
}

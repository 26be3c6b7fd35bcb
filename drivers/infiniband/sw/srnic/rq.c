// SPDX-License-Identifier: GPL-2.0
/* Receive queues, of a QP or shared. */

#include "rq.h"
#include "ring.h"

static int rq_post_one(struct srnic_rq *rq, const struct ib_recv_wr *wr, u32 max_sge)
{
	struct srnic_rwqe *rwqe = &rq->kring[rq->put & (rq->size - 1)];

	if (wr->num_sge < 0 || wr->num_sge > max_sge)
		return -EINVAL;
	if (rq->put - rq->get == rq->size)
		return -ENOMEM;
	rwqe->id = wr->wr_id;
	rwqe->num_sge = wr->num_sge;
	memcpy(rwqe->sge, wr->sg_list, wr->num_sge * sizeof(rwqe->sge[0]));
	rq->put++;
	return 0;
}

/**
 * srnic_rq_post - a kernel ULP posts receives
 * @rq: receive queue of a kernel ULP
 * @wr: list of them
 * @max_sge: SGEs that one may have, 1..SRNIC_MAX_SGE
 * @bad: result: the first that was not posted, if there is an error
 *
 * Context: any.
 *
 * Return: 0; -EINVAL for too many SGEs; -ENOMEM if the queue is full.
 */
int srnic_rq_post(struct srnic_rq *rq, const struct ib_recv_wr *wr, u32 max_sge,
		  const struct ib_recv_wr **bad)
{
	unsigned long flags;
	int err = 0;

	spin_lock_irqsave(&rq->lock, flags);
	for (; wr; wr = wr->next) {
		err = rq_post_one(rq, wr, max_sge);
		if (err) {
			*bad = wr;
			break;
		}
	}
	spin_unlock_irqrestore(&rq->lock, flags);
	return err;
}

/* Copy the slot once, and check the copy. Then the slot is the application's again. */
static int rq_take_user(struct srnic_rq *rq, struct srnic_rwqe *rwqe)
{
	struct siw_rqe *slot = &rq->uring[rq->get & (rq->size - 1)];
	struct siw_rqe rqe;
	u32 i;

	if (!srnic_ring_copy_rqe(slot, &rqe))
		return -ENOENT;
	/* The slot was copied before it is free. */
	smp_store_release(&slot->flags, 0);
	rwqe->id = rqe.id;
	rwqe->num_sge = 0;
	if (rqe.num_sge > SRNIC_MAX_SGE)
		return -EINVAL;
	rwqe->num_sge = rqe.num_sge;
	for (i = 0; i < rqe.num_sge; i++)
		rwqe->sge[i] = (struct ib_sge) {
			.addr	= rqe.sge[i].laddr,
			.length	= rqe.sge[i].length,
			.lkey	= rqe.sge[i].lkey,
		};
	return 0;
}

static int rq_take_kernel(struct srnic_rq *rq, struct srnic_rwqe *rwqe)
{
	if (rq->get == rq->put)
		return -ENOENT;
	*rwqe = rq->kring[rq->get & (rq->size - 1)];
	return 0;
}

/**
 * srnic_rq_has - are so many receives there?
 * @rq: receive queue
 * @n: how many, at least 1
 *
 * Receives are posted in order. If the last of them is there, so are those before.
 *
 * Context: any; @rq->lock is held.
 *
 * Return: true if so.
 */
bool srnic_rq_has(const struct srnic_rq *rq, u32 n)
{
	lockdep_assert_held(&rq->lock);
	if (n > rq->size)
		return false;
	if (rq->uring)
		return READ_ONCE(rq->uring[(rq->get + n - 1) & (rq->size - 1)].flags) &
		       SIW_WQE_VALID;
	return rq->put - rq->get >= n;
}

/**
 * srnic_rq_take - take the oldest receive
 * @rq: receive queue
 * @rwqe: result
 *
 * Context: any; @rq->lock is held.
 *
 * Return: 0; -ENOENT if there is none; -EINVAL if the application's element is invalid: then it is
 * taken, and @rwqe->id is its id.
 */
int srnic_rq_take(struct srnic_rq *rq, struct srnic_rwqe *rwqe)
{
	int err;

	lockdep_assert_held(&rq->lock);
	err = rq->uring ? rq_take_user(rq, rwqe) : rq_take_kernel(rq, rwqe);
	if (err != -ENOENT)
		rq->get++;
	return err;
}

/**
 * srnic_srq_look - if fewer receives are left than the ULP wants, tell it, once
 * @srq: the SRQ
 *
 * Context: any; the lock of @srq->rq is held.
 */
void srnic_srq_look(struct srnic_srq *srq)
{
	lockdep_assert_held(&srq->rq.lock);
	if (!srq->limit || srnic_rq_has(&srq->rq, srq->limit))
		return;
	WRITE_ONCE(srq->limit, 0);
	srnic_count(to_srnic_dev(srq->ibsrq.device), srq_limit_events);
	queue_work(srnic_event_wq, &srq->event_work);
}

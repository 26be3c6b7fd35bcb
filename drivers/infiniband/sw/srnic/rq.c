// SPDX-License-Identifier: GPL-2.0
/*
 * Resources for a peer's untagged messages (RFC 5040 4.2): a Send takes a
 * receive from the QP's receive queue, or from an SRQ; a Read Request takes a
 * slot of the QP's struct srnic_irq.
 *
 * The number of slots is the negotiated IRD. A Read Request that finds no free
 * slot is an error of the peer (RFC 5040 6.1). RX passes Read Requests to the
 * sender in that structure's ring, which needs no lock: each of its indices has
 * one writer.
 */

#include "rq.h"
#include "cq.h"
#include "ring.h"

#include <linux/log2.h>
#include <linux/slab.h>
#include <rdma/uverbs_ioctl.h>

static int rq_post_one(struct srnic_rq *rq, const struct ib_recv_wr *wr,
		       u32 max_sge)
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

/* Post receives. 0; -EINVAL for too many SGEs; -ENOMEM if the queue is full */
int srnic_rq_post(struct srnic_rq *rq, const struct ib_recv_wr *wr,
		  u32 max_sge, const struct ib_recv_wr **bad)
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

/* Copy the slot, then check the copy: the application may change the slot. */
static int rq_take_user(struct srnic_rq *rq, struct srnic_rwqe *rwqe)
{
	struct siw_rqe *slot = &rq->uring[rq->get & (rq->size - 1)];
	struct siw_rqe rqe;
	u32 i;

	if (!srnic_ring_copy_rqe(slot, &rqe))
		return -ENOENT;
	/* Release: the slot was copied before the application may fill it. */
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

/* Are @n receives posted? They are posted in order, so check the last one. */
bool srnic_rq_has(const struct srnic_rq *rq, u32 n)
{
	lockdep_assert_held(&rq->lock);
	if (n > rq->size)
		return false;
	if (rq->uring)
		return READ_ONCE(rq->uring[(rq->get + n - 1) & (rq->size - 1)]
				 .flags) & SIW_WQE_VALID;
	return rq->put - rq->get >= n;
}

/*
 * Take the oldest receive. Returns 0; -ENOENT if there is none; -EINVAL if an
 * element of an application's ring has too many SGEs: that element is taken
 * nevertheless, and @rwqe gets only the element's id.
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

static void srq_look(struct srnic_srq *srq)
{
	lockdep_assert_held(&srq->rq.lock);
	if (!srq->limit || srnic_rq_has(&srq->rq, srq->limit))
		return;
	WRITE_ONCE(srq->limit, 0);
	srnic_count(to_srnic_dev(srq->ibsrq.device), srq_limit_events);
	queue_work(srnic_event_wq, &srq->event_work);
}

int srnic_rq_create(struct srnic_rq *rq, u32 entries, struct ib_ucontext *ctx,
		    u64 *key)
{
	spin_lock_init(&rq->lock);
	rq->size = roundup_pow_of_two(entries);
	if (!ctx) {
		rq->kring = srnic_ring_alloc(rq->size, sizeof(*rq->kring),
					     GFP_KERNEL);
		return rq->kring ? 0 : -ENOMEM;
	}
	rq->shared = srnic_ring_create(ctx, rq->size * sizeof(*rq->uring),
				       key);
	if (IS_ERR(rq->shared))
		return PTR_ERR(rq->shared);
	rq->uring = rq->shared->va;
	return 0;
}

void srnic_rq_destroy(struct srnic_rq *rq)
{
	srnic_ring_destroy(rq->shared);
	kvfree(rq->kring);
}

static void srnic_srq_event_work(struct work_struct *work)
{
	struct srnic_srq *srq = container_of(work, struct srnic_srq,
					     event_work);
	struct ib_event event = {
		.device		= srq->ibsrq.device,
		.element.srq	= &srq->ibsrq,
		.event		= IB_EVENT_SRQ_LIMIT_REACHED,
	};

	if (srq->ibsrq.event_handler)
		srq->ibsrq.event_handler(&event, srq->ibsrq.srq_context);
}

/* attr->srq_limit is ignored, as in ibv_create_srq(3): it may be unset. */
int srnic_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init,
		     struct ib_udata *udata)
{
	struct srnic_dev *dev = to_srnic_dev(ibsrq->device);
	struct srnic_srq *srq = to_srnic_srq(ibsrq);
	struct ib_srq_attr *attr = &init->attr;
	struct siw_uresp_create_srq resp = {};
	struct ib_ucontext *ctx = srnic_ucontext_of(udata);
	int err;

	if (init->srq_type != IB_SRQT_BASIC)
		return -EOPNOTSUPP;
	if (!attr->max_wr || attr->max_wr > SRNIC_MAX_WR ||
	    attr->max_sge > SRNIC_MAX_SGE)
		return -EINVAL;
	err = srnic_udata_check(udata, sizeof(resp));
	if (err)
		return err;
	if (!atomic_add_unless(&dev->objects.srq, 1, SRNIC_MAX_SRQ))
		return -ENOMEM;

	INIT_WORK(&srq->event_work, srnic_srq_event_work);
	srq->max_sge = attr->max_sge ?: 1;
	err = srnic_rq_create(&srq->rq, attr->max_wr, ctx,
			      &resp.srq_key);
	if (!err && udata) {
		resp.num_rqe = srq->rq.size;
		err = ib_copy_to_udata(udata, &resp, sizeof(resp));
	}
	if (err) {
		srnic_rq_destroy(&srq->rq);
		atomic_dec(&dev->objects.srq);
		return err;
	}
	attr->max_wr = srq->rq.size;
	attr->max_sge = srq->max_sge;
	return 0;
}

/*
 * Set the SRQ's limit. If fewer receives than the limit are posted now, raise
 * IB_EVENT_SRQ_LIMIT_REACHED at once: the ULP may wait for that event before it
 * posts more receives.
 */
int srnic_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		     enum ib_srq_attr_mask mask, struct ib_udata *udata)
{
	struct srnic_srq *srq = to_srnic_srq(ibsrq);
	int err;

	if (mask & ~IB_SRQ_LIMIT)
		return -EOPNOTSUPP;
	err = srnic_udata_check(udata, 0);
	if (err)
		return err;
	if (!(mask & IB_SRQ_LIMIT))
		return 0;
	if (attr->srq_limit > srq->rq.size)
		return -EINVAL;
	spin_lock_irq(&srq->rq.lock);
	WRITE_ONCE(srq->limit, attr->srq_limit);
	srq_look(srq);
	spin_unlock_irq(&srq->rq.lock);
	return 0;
}

int srnic_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr)
{
	struct srnic_srq *srq = to_srnic_srq(ibsrq);

	*attr = (struct ib_srq_attr) {
		.max_wr		= srq->rq.size,
		.max_sge	= srq->max_sge,
		.srq_limit	= READ_ONCE(srq->limit),
	};
	return 0;
}

int srnic_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata)
{
	struct srnic_dev *dev = to_srnic_dev(ibsrq->device);
	struct srnic_srq *srq = to_srnic_srq(ibsrq);

	cancel_work_sync(&srq->event_work);
	srnic_rq_destroy(&srq->rq);
	atomic_dec(&dev->objects.srq);
	return 0;
}

int srnic_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
			const struct ib_recv_wr **bad)
{
	struct srnic_srq *srq = to_srnic_srq(ibsrq);

	if (srq->rq.uring) {
		*bad = wr;
		return -EINVAL;
	}
	return srnic_rq_post(&srq->rq, wr, srq->max_sge, bad);
}

int srnic_recv_take(struct srnic_qp *qp, struct srnic_rwqe *rwqe)
{
	struct srnic_srq *srq = qp->srq;
	struct srnic_rq *rq = srq ? &srq->rq : &qp->rq;
	unsigned long flags;
	int err;

	spin_lock_irqsave(&rq->lock, flags);
	err = srnic_rq_take(rq, rwqe);
	if (srq)
		srq_look(srq);
	spin_unlock_irqrestore(&rq->lock, flags);
	if (err == -EINVAL)
		srnic_count(qp->dev, wr_invalid);
	return err;
}

void srnic_recv_complete(struct srnic_qp *qp, u64 id,
			 enum ib_wc_status status, struct srnic_upcalls *up)
{
	const struct srnic_cqe cqe = {
		.id	= id,
		.qp	= &qp->ibqp,
		.op	= SRNIC_WR_RECV,
		.status	= status,
	};

	srnic_cq_put(qp->rcq, &cqe, false, up);
}

int srnic_irq_alloc(struct srnic_irq *irq, u16 ird)
{
	u32 size = roundup_pow_of_two(max_t(u32, ird, 1));

	*irq = (struct srnic_irq) { .ird = ird, .mask = size - 1 };
	irq->ring = kvcalloc(size, sizeof(*irq->ring), GFP_NOIO);
	return irq->ring ? 0 : -ENOMEM;
}

void srnic_irq_free(struct srnic_irq *irq)
{
	kvfree(irq->ring);
	irq->ring = NULL;
	irq->ird = 0;
}

bool srnic_irq_is_full(const struct srnic_irq *irq)
{
	/* Pairs with srnic_irq_get(): the sender has read the freed slot. */
	return irq->put - smp_load_acquire(&irq->get) >= irq->ird;
}

void srnic_irq_put(struct srnic_irq *irq, const u8 hdr[SRNIC_READ_ULPDU])
{
	memcpy(irq->ring[irq->put & irq->mask].hdr, hdr, SRNIC_READ_ULPDU);
	/* Release: write the Read Request, then the index that shows it. */
	smp_store_release(&irq->put, irq->put + 1);
}

/* Returns the oldest unanswered Read Request, before any limit; or NULL. */
const struct srnic_irqe *srnic_irq_head(const struct srnic_qp *qp)
{
	const struct srnic_irq *irq = &qp->irq;
	u32 end;

	/* Pairs with srnic_irq_put(): read the index, then the request. */
	end = smp_load_acquire(&irq->put);
	if (READ_ONCE(qp->tx.state) == SRNIC_TX_ANSWERING)
		end = irq->limit;
	return irq->get != end ? &irq->ring[irq->get & irq->mask] : NULL;
}

/*
 * Free the slot of the oldest Read Request. The sender calls this before the
 * last byte of the Read Response can reach the peer: when the peer has that
 * byte, it may send its next Read Request, which needs a slot.
 */
void srnic_irq_get(struct srnic_irq *irq)
{
	/* Release: read the Read Request, then let RX reuse its slot. */
	smp_store_release(&irq->get, irq->get + 1);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Completion queues.
 *
 * Only the work item of a CQ calls its completion handler. So the handler runs
 * on one CPU at a time, and never within a verb
 * (Documentation/infiniband/core_locking.rst). The handler may be the RDMA
 * core's own, which raises a softirq: local_bh_enable() after the call runs
 * that softirq.
 */

#include "skel.h"

#include <linux/log2.h>
#include <linux/slab.h>

static void skel_cq_work(struct work_struct *work)
{
	struct skel_cq *cq = container_of(work, struct skel_cq, work);
	struct skel_dev *dev = to_skel_dev(cq->ib.device);
	struct ib_event event = {
		.device		= cq->ib.device,
		.element.cq	= &cq->ib,
		.event		= IB_EVENT_CQ_ERR,
	};
	bool call, lost;

	spin_lock_irq(&dev->spin);
	call = cq->call;
	lost = cq->lost;
	cq->call = false;
	cq->lost = false;
	spin_unlock_irq(&dev->spin);

	if (call && cq->ib.comp_handler) {
		local_bh_disable();
		cq->ib.comp_handler(&cq->ib, cq->ib.cq_context);
		local_bh_enable();
	}
	if (lost && cq->ib.event_handler)
		cq->ib.event_handler(&event, cq->ib.cq_context);
}

/*
 * Reserve room for a queue with @entries work requests, beside the room that
 * the ULP has asked for. The ULP counts only signaled work requests, but a
 * flush completes all of them. ib_drain_qp() waits for the last completion, so
 * none may be lost. After this call, even if it fails, the queue has to be
 * forgotten.
 */
int skel_cq_reserve(struct skel_cq *cq, u32 entries)
{
	struct skel_dev *dev = to_skel_dev(cq->ib.device);
	struct ib_wc *ring;
	u32 size, at;
	bool grow;

	spin_lock_irq(&dev->spin);
	cq->reserved += entries;
	size = cq->ib.cqe + cq->reserved;
	grow = size > cq->size;
	spin_unlock_irq(&dev->spin);
	if (!grow)
		return 0;
	if (size > SKEL_MAX_RING)
		return -ENOMEM;
	size = roundup_pow_of_two(size);
	ring = kvcalloc(size, sizeof(*ring), GFP_KERNEL);
	if (!ring)
		return -ENOMEM;
	spin_lock_irq(&dev->spin);
	if (size > cq->size) {
		for (at = cq->get; at != cq->put; at++)
			ring[at & (size - 1)] = cq->ring[at & (cq->size - 1)];
		swap(cq->ring, ring);
		cq->size = size;
	}
	spin_unlock_irq(&dev->spin);
	kvfree(ring);
	return 0;
}

/* False: the CQ is full, @wc is lost. Each req_notify_cq asks for one call. */
bool skel_cq_put(struct skel_cq *cq, const struct ib_wc *wc, bool solicited)
{
	bool fits = cq->put - cq->get < cq->size;

	lockdep_assert_held(&to_skel_dev(cq->ib.device)->spin);
	if (!fits && !cq->overflowed) {
		cq->overflowed = true;
		cq->lost = true;
	} else if (fits) {
		cq->ring[cq->put++ & (cq->size - 1)] = *wc;
		/* IB_CQ_SOLICITED includes completions in error. */
		if (cq->armed == IB_CQ_NEXT_COMP ||
		    (cq->armed && (solicited || wc->status != IB_WC_SUCCESS))) {
			cq->armed = 0;
			cq->call = true;
		}
	}
	if (cq->call || cq->lost)
		queue_work(skel_wq, &cq->work);
	return fits;
}

/*
 * Forget a queue of a QP that is being destroyed, and remove the completions of
 * the QP: wc->qp would point to freed memory. The QP adds no further ones.
 */
void skel_cq_forget(struct skel_cq *cq, const struct ib_qp *ibqp, u32 entries)
{
	struct skel_dev *dev = to_skel_dev(cq->ib.device);
	u32 from, to;

	spin_lock_irq(&dev->spin);
	for (from = cq->get, to = cq->get; from != cq->put; from++) {
		const struct ib_wc *wc = &cq->ring[from & (cq->size - 1)];

		if (wc->qp != ibqp)
			cq->ring[to++ & (cq->size - 1)] = *wc;
	}
	cq->put = to;
	cq->reserved -= entries;
	spin_unlock_irq(&dev->spin);
	/*
	 * To free a CQ the RDMA core cancels its own work for the CQ. A later
	 * call of the completion handler would queue that work again. A ULP
	 * destroys its QPs before their CQ, so wait here until no call is due
	 * or running.
	 */
	flush_work(&cq->work);
}

/* Any context */
static int skel_poll_cq(struct ib_cq *ibcq, int max, struct ib_wc *wc)
{
	struct skel_dev *dev = to_skel_dev(ibcq->device);
	struct skel_cq *cq = to_skel_cq(ibcq);
	unsigned long flags;
	int n;

	spin_lock_irqsave(&dev->spin, flags);
	for (n = 0; n < max && cq->get != cq->put; n++)
		wc[n] = cq->ring[cq->get++ & (cq->size - 1)];
	spin_unlock_irqrestore(&dev->spin, flags);
	return n;
}

/*
 * req_notify_cq, in any context. The completion handler is not called for
 * completions that are in the CQ already: the return value reports them to a
 * ULP that asks for missed events.
 */
static int skel_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags)
{
	struct skel_dev *dev = to_skel_dev(ibcq->device);
	struct skel_cq *cq = to_skel_cq(ibcq);
	unsigned long irq;
	int missed;

	spin_lock_irqsave(&dev->spin, irq);
	/* IB_CQ_SOLICITED must not weaken an earlier IB_CQ_NEXT_COMP. */
	if (cq->armed != IB_CQ_NEXT_COMP)
		cq->armed = flags & IB_CQ_SOLICITED_MASK;
	missed = (flags & IB_CQ_REPORT_MISSED_EVENTS) && cq->get != cq->put;
	spin_unlock_irqrestore(&dev->spin, irq);
	return missed;
}

/* create_cq. @ibcq->cqe tells the ULP the size, which may exceed attr->cqe. */
int skel_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		   struct uverbs_attr_bundle *attrs)
{
	struct skel_cq *cq = to_skel_cq(ibcq);

	if (attr->flags)
		return -EOPNOTSUPP;
	if (!attr->cqe || attr->cqe > SKEL_MAX_CQE)
		return -EINVAL;
	cq->size = roundup_pow_of_two(attr->cqe);
	cq->ring = kvcalloc(cq->size, sizeof(*cq->ring), GFP_KERNEL);
	if (!cq->ring)
		return -ENOMEM;
	INIT_WORK(&cq->work, skel_cq_work);
	ibcq->cqe = cq->size;
	return 0;
}

/* The RDMA core calls this when no QP uses the CQ any more. */
static int skel_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct skel_cq *cq = to_skel_cq(ibcq);

	cancel_work_sync(&cq->work);
	kvfree(cq->ring);
	return 0;
}

const struct ib_device_ops skel_cq_ops = {
	.create_cq	= skel_create_cq,
	.destroy_cq	= skel_destroy_cq,
	.poll_cq	= skel_poll_cq,
	.req_notify_cq	= skel_req_notify_cq,
	INIT_RDMA_OBJ_SIZE(ib_cq, skel_cq, ib),
};

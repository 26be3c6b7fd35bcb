// SPDX-License-Identifier: GPL-2.0
/* Shared receive queues. */

#include "srq.h"
#include "ring.h"
#include "rq.h"

#include <linux/log2.h>
#include <linux/slab.h>
#include <rdma/uverbs_ioctl.h>

/**
 * srnic_rq_create - make a receive queue
 * @rq: receive queue, zeroed
 * @entries: receives that it has room for at least, 1..SRNIC_MAX_WR
 * @ctx: the application's, or NULL for a kernel ULP
 * @key: result for an application: what to give to mmap()
 *
 * Context: process.
 *
 * Return: 0 or a negative errno.
 */
int srnic_rq_create(struct srnic_rq *rq, u32 entries, struct ib_ucontext *ctx, u64 *key)
{
	spin_lock_init(&rq->lock);
	rq->size = roundup_pow_of_two(entries);
	if (!ctx) {
		rq->kring = kvcalloc(rq->size, sizeof(*rq->kring), GFP_KERNEL);
		return rq->kring ? 0 : -ENOMEM;
	}
	rq->shared = srnic_ring_create(ctx, rq->size * sizeof(*rq->uring), key);
	if (IS_ERR(rq->shared)) {
		int err = PTR_ERR(rq->shared);

		rq->shared = NULL;
		return err;
	}
	rq->uring = rq->shared->va;
	return 0;
}

/**
 * srnic_rq_destroy - undo srnic_rq_create()
 * @rq: receive queue that nobody uses, or zeroes
 *
 * Context: process.
 */
void srnic_rq_destroy(struct srnic_rq *rq)
{
	srnic_ring_destroy(rq->shared);
	kvfree(rq->kring);
}

static void srnic_srq_event_work(struct work_struct *work)
{
	struct srnic_srq *srq = container_of(work, struct srnic_srq, event_work);
	struct ib_event event = {
		.device		= srq->ibsrq.device,
		.element.srq	= &srq->ibsrq,
		.event		= IB_EVENT_SRQ_LIMIT_REACHED,
	};

	if (srq->ibsrq.event_handler)
		srq->ibsrq.event_handler(&event, srq->ibsrq.srq_context);
}

static int srq_check(const struct ib_srq_init_attr *init)
{
	const struct ib_srq_attr *attr = &init->attr;

	if (init->srq_type != IB_SRQT_BASIC)
		return -EOPNOTSUPP;
	if (!attr->max_wr || attr->max_wr > SRNIC_MAX_WR || attr->max_sge > SRNIC_MAX_SGE)
		return -EINVAL;
	return 0;
}

/**
 * srnic_create_srq - ib_device_ops.create_srq
 * @ibsrq: the SRQ
 * @init: what is asked for; what is granted on return
 * @udata: the application's, or NULL
 *
 * The limit is not looked at: ibv_create_srq(3) says so, and programs leave anything there.
 *
 * Context: process.
 *
 * Return: 0 or a negative errno.
 */
int srnic_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init, struct ib_udata *udata)
{
	struct srnic_dev *dev = to_srnic_dev(ibsrq->device);
	struct srnic_srq *srq = to_srnic_srq(ibsrq);
	struct siw_uresp_create_srq resp = {};
	struct ib_ucontext *ctx = NULL;
	int err;

	err = srq_check(init);
	if (err)
		return err;
	err = srnic_udata_check(udata, sizeof(resp));
	if (err)
		return err;
	if (udata)
		ctx = srnic_ucontext_of(udata);
	if (!atomic_add_unless(&dev->objects.srq, 1, SRNIC_MAX_SRQ))
		return -ENOMEM;

	INIT_WORK(&srq->event_work, srnic_srq_event_work);
	srq->max_sge = init->attr.max_sge ?: 1;
	err = srnic_rq_create(&srq->rq, init->attr.max_wr, ctx, &resp.srq_key);
	if (!err && udata) {
		resp.num_rqe = srq->rq.size;
		err = ib_copy_to_udata(udata, &resp, sizeof(resp));
	}
	if (err) {
		srnic_rq_destroy(&srq->rq);
		atomic_dec(&dev->objects.srq);
		return err;
	}
	init->attr.max_wr = srq->rq.size;
	init->attr.max_sge = srq->max_sge;
	return 0;
}

/**
 * srnic_modify_srq - ib_device_ops.modify_srq
 * @ibsrq: the SRQ
 * @attr: new values
 * @mask: IB_SRQ_LIMIT; the size cannot be changed
 * @udata: the application's, or NULL
 *
 * A ULP that sets the limit when fewer receives are left than that is told at once. It may wait for
 * the event before it posts more.
 *
 * Context: process.
 *
 * Return: 0 or a negative errno.
 */
int srnic_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr, enum ib_srq_attr_mask mask,
		     struct ib_udata *udata)
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
	srnic_srq_look(srq);
	spin_unlock_irq(&srq->rq.lock);
	return 0;
}

/**
 * srnic_query_srq - ib_device_ops.query_srq
 * @ibsrq: the SRQ
 * @attr: result
 *
 * Context: process.
 *
 * Return: 0.
 */
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

/**
 * srnic_destroy_srq - ib_device_ops.destroy_srq
 * @ibsrq: the SRQ, which no QP uses any more
 * @udata: not used
 *
 * Context: process.
 *
 * Return: 0.
 */
int srnic_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata)
{
	struct srnic_dev *dev = to_srnic_dev(ibsrq->device);
	struct srnic_srq *srq = to_srnic_srq(ibsrq);

	cancel_work_sync(&srq->event_work);
	srnic_rq_destroy(&srq->rq);
	atomic_dec(&dev->objects.srq);
	return 0;
}

/**
 * srnic_post_srq_recv - ib_device_ops.post_srq_recv
 * @ibsrq: SRQ of a kernel ULP; applications post to their ring
 * @wr: list of receives
 * @bad: result: the first that was not posted, if there is an error
 *
 * Context: any.
 *
 * Return: as srnic_rq_post().
 */
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

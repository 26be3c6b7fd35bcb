// SPDX-License-Identifier: GPL-2.0
/*
 * Verbs: what the RDMA core calls, for applications by libsiw's ABI and for kernel ULPs.
 *
 * QPs and completion queues are made and destroyed here. The layers below say what they do.
 */

#include "verbs.h"
#include "cq.h"
#include "mr.h"
#include "qp.h"
#include "ring.h"
#include "rq.h"
#include "show.h"
#include "sq.h"
#include "srnic.h"
#include "srq.h"
#include "tx.h"

#include <linux/log2.h>
#include <linux/slab.h>
#include <rdma/uverbs_ioctl.h>

static int srnic_alloc_ucontext(struct ib_ucontext *ctx, struct ib_udata *udata)
{
	struct siw_uresp_alloc_ctx resp = {};

	return srnic_udata_check(udata, sizeof(resp)) ?:
	       ib_copy_to_udata(udata, &resp, sizeof(resp));
}

static void srnic_dealloc_ucontext(struct ib_ucontext *ctx)
{
}

/* An application has references on the pages that it has mapped. So they may stay. */
static void srnic_disassociate_ucontext(struct ib_ucontext *ctx)
{
}

static int srnic_alloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	int err = srnic_udata_check(udata, 0);

	if (err)
		return err;
	return atomic_add_unless(&to_srnic_dev(pd->device)->objects.pd, 1, SRNIC_MAX_PD) ?
	       0 : -ENOMEM;
}

static int srnic_dealloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	atomic_dec(&to_srnic_dev(pd->device)->objects.pd);
	return 0;
}

/* Completion queues */

static int cq_create_user(struct srnic_cq *cq, struct ib_udata *udata)
{
	struct siw_uresp_create_cq resp = { .num_cqe = cq->size };
	size_t octets = cq->size * sizeof(*cq->uring);
	struct siw_cq_ctrl *ctrl;
	struct srnic_ring *ring;
	int err;

	err = srnic_udata_check(udata, sizeof(resp));
	if (err)
		return err;
	ring = srnic_ring_create(srnic_ucontext_of(udata), octets + sizeof(*ctrl), &resp.cq_key);
	if (IS_ERR(ring))
		return PTR_ERR(ring);
	ctrl = ring->va + octets;
	cq->ring = ring;
	cq->uring = ring->va;
	cq->notify = &ctrl->flags;
	return ib_copy_to_udata(udata, &resp, sizeof(resp));
}

static int cq_create_kernel(struct srnic_cq *cq)
{
	cq->kring = kvcalloc(cq->size, sizeof(*cq->kring), GFP_KERNEL);
	return cq->kring ? 0 : -ENOMEM;
}

/**
 * srnic_create_cq - ib_device_ops.create_cq
 * @ibcq: to be set up
 * @attr: what was asked for
 * @attrs: the application's; NULL for a kernel ULP
 *
 * Context: process.
 *
 * Return: 0, -EOPNOTSUPP for flags, -EINVAL for a number of entries that is not 1..SRNIC_MAX_CQE,
 * -ENOMEM, or what srnic_udata_check() or copying to the application returned.
 */
int srnic_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		    struct uverbs_attr_bundle *attrs)
{
	struct ib_udata *udata = attrs ? &attrs->driver_udata : NULL;
	struct srnic_dev *dev = to_srnic_dev(ibcq->device);
	struct srnic_cq *cq = to_srnic_cq(ibcq);
	int err;

	if (attr->flags)
		return -EOPNOTSUPP;
	if (!attr->cqe || attr->cqe > SRNIC_MAX_CQE)
		return -EINVAL;
	if (!atomic_add_unless(&dev->objects.cq, 1, SRNIC_MAX_CQ))
		return -ENOMEM;
	srnic_cq_setup(cq);
	cq->size = roundup_pow_of_two(attr->cqe);
	ibcq->cqe = cq->size;
	err = udata ? cq_create_user(cq, udata) : cq_create_kernel(cq);
	if (err) {
		srnic_ring_destroy(cq->ring);
		atomic_dec(&dev->objects.cq);
	}
	return err;
}

/* No QP is left. For a kernel ULP the last one has waited for the handler: srnic_cq_leave(). */
static int srnic_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct srnic_dev *dev = to_srnic_dev(ibcq->device);
	struct srnic_cq *cq = to_srnic_cq(ibcq);

	cancel_work_sync(&cq->event_work);
	srnic_ring_destroy(cq->ring);
	kvfree(cq->kring);
	atomic_dec(&dev->objects.cq);
	return 0;
}

static int srnic_poll_cq(struct ib_cq *ibcq, int max, struct ib_wc *wc)
{
	return srnic_cq_poll(to_srnic_cq(ibcq), max, wc);
}

static int srnic_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags)
{
	return srnic_cq_arm(to_srnic_cq(ibcq), flags);
}

/* QPs */

static int qp_check(const struct ib_qp_init_attr *init)
{
	const struct ib_qp_cap *cap = &init->cap;

	if (init->create_flags || init->qp_type != IB_QPT_RC)
		return -EOPNOTSUPP;
	if (!init->send_cq || !init->recv_cq)
		return -EINVAL;
	if (cap->max_send_wr > SRNIC_MAX_WR || cap->max_send_sge > SRNIC_MAX_SGE ||
	    cap->max_inline_data > SRNIC_MAX_INLINE)
		return -EINVAL;
	/*
	 * A QP with an SRQ has no receive queue. ibv_create_qp(3) says that both values are ignored
	 * then.
	 */
	if (!init->srq && (cap->max_recv_wr > SRNIC_MAX_WR || cap->max_recv_sge > SRNIC_MAX_SGE))
		return -EINVAL;
	return 0;
}

static int qp_create_sq(struct srnic_qp *qp, u32 entries, struct ib_ucontext *ctx, u64 *key)
{
	struct srnic_sq *sq = &qp->sq;

	sq->size = roundup_pow_of_two(max(entries, 1U));
	sq->ring = kvcalloc(sq->size, sizeof(*sq->ring), ctx ? GFP_KERNEL_ACCOUNT : GFP_KERNEL);
	if (!sq->ring)
		return -ENOMEM;
	if (!ctx)
		return 0;
	sq->shared = srnic_ring_create(ctx, sq->size * sizeof(*sq->uring), key);
	if (IS_ERR(sq->shared)) {
		int err = PTR_ERR(sq->shared);

		sq->shared = NULL;
		return err;
	}
	sq->uring = sq->shared->va;
	return 0;
}

static void qp_destroy_queues(struct srnic_qp *qp)
{
	srnic_rq_destroy(&qp->rq);
	srnic_ring_destroy(qp->sq.shared);
	kvfree(qp->sq.ring);
}

/* libsiw maps a receive queue of any size, so there is at least one entry. */
static int qp_create_queues(struct srnic_qp *qp, const struct ib_qp_cap *cap,
			    struct ib_udata *udata)
{
	struct ib_ucontext *ctx = udata ? srnic_ucontext_of(udata) : NULL;
	struct siw_uresp_create_qp resp = { .qp_id = qp->ibqp.qp_num };
	int err;

	err = srnic_udata_check(udata, sizeof(resp));
	if (err)
		return err;
	err = qp_create_sq(qp, cap->max_send_wr, ctx, &resp.sq_key);
	if (!err && !qp->srq)
		err = srnic_rq_create(&qp->rq, max(cap->max_recv_wr, 1U), ctx, &resp.rq_key);
	if (!err && udata) {
		resp.num_sqe = qp->sq.size;
		resp.num_rqe = qp->rq.size;
		err = ib_copy_to_udata(udata, &resp, sizeof(resp));
	}
	if (err)
		qp_destroy_queues(qp);
	return err;
}

static void qp_grant(struct srnic_qp *qp, struct ib_qp_cap *cap)
{
	cap->max_send_wr = qp->sq.size;
	cap->max_recv_wr = qp->srq ? 0 : qp->rq.size;
	cap->max_send_sge = max(cap->max_send_sge, 1U);
	cap->max_recv_sge = qp->srq ? 0 : max(cap->max_recv_sge, 1U);
	cap->max_inline_data = SRNIC_MAX_INLINE;
	qp->cap = *cap;
}

/* The number is taken first. The QP is found by it only when the QP is complete. */
static int srnic_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init,
			   struct ib_udata *udata)
{
	struct srnic_dev *dev = to_srnic_dev(ibqp->device);
	struct srnic_qp *qp = to_srnic_qp(ibqp);
	int err;

	err = qp_check(init);
	if (err)
		return err;
	if (!atomic_add_unless(&dev->objects.qp, 1, SRNIC_MAX_QP))
		return -ENOMEM;
	err = srnic_qp_take_number(dev, &ibqp->qp_num);
	if (err)
		goto count;
	qp->dev = dev;
	qp->user = udata;
	qp->sig_all = init->sq_sig_type == IB_SIGNAL_ALL_WR;
	qp->scq = to_srnic_cq(init->send_cq);
	qp->rcq = to_srnic_cq(init->recv_cq);
	qp->srq = init->srq ? to_srnic_srq(init->srq) : NULL;
	srnic_qp_setup(qp);
	err = qp_create_queues(qp, &init->cap, udata);
	if (err)
		goto number;
	qp_grant(qp, &init->cap);
	srnic_cq_join(qp->scq);
	srnic_cq_join(qp->rcq);
	xa_store_irq(&dev->qps, ibqp->qp_num, qp, GFP_KERNEL);
	return 0;

number:
	xa_erase_irq(&dev->qps, ibqp->qp_num);
count:
	atomic_dec(&dev->objects.qp);
	return err;
}

/*
 * Attributes that a QP of iWARP does not have, or that do not change after create_qp; and the wish
 * to be told when SQD has drained the send queue: SQD closes the connection, and that is told.
 */
#define QP_NEVER_MODIFIED	(IB_QP_CAP | IB_QP_QKEY | IB_QP_ALT_PATH | IB_QP_PATH_MIG_STATE | \
				 IB_QP_EN_SQD_ASYNC_NOTIFY)

static int srnic_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
			   struct ib_udata *udata)
{
	if (mask & (~IB_QP_ATTR_STANDARD_BITS | QP_NEVER_MODIFIED))
		return -EOPNOTSUPP;
	return srnic_udata_check(udata, 0) ?: srnic_qp_modify(to_srnic_qp(ibqp), attr, mask);
}

static int srnic_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
			  struct ib_qp_init_attr *init)
{
	struct srnic_qp *qp = to_srnic_qp(ibqp);
	struct srnic_dev *dev = qp->dev;

	*attr = (struct ib_qp_attr) {
		.qp_state		= srnic_qp_state(qp),
		.cur_qp_state		= srnic_qp_state(qp),
		.path_mtu		= ib_mtu_int_to_enum(READ_ONCE(dev->mtu)),
		.qp_access_flags	= IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE |
					  IB_ACCESS_REMOTE_READ,
		.cap			= qp->cap,
		/* A connection that comes up sets this: the value is the old or the new one. */
		.max_rd_atomic		= data_race(qp->tx.ord),
		/* A connection that comes up sets this, too. */
		.max_dest_rd_atomic	= data_race(qp->irq.size),
		.port_num		= 1,
	};
	*init = (struct ib_qp_init_attr) {
		.event_handler	= ibqp->event_handler,
		.qp_context	= ibqp->qp_context,
		.send_cq	= ibqp->send_cq,
		.recv_cq	= ibqp->recv_cq,
		.srq		= ibqp->srq,
		.cap		= qp->cap,
		.sq_sig_type	= qp->sig_all ? IB_SIGNAL_ALL_WR : IB_SIGNAL_REQ_WR,
		.qp_type	= IB_QPT_RC,
	};
	return 0;
}

static int srnic_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct srnic_qp *qp = to_srnic_qp(ibqp);
	struct srnic_dev *dev = qp->dev;

	srnic_qp_end(qp);
	srnic_cq_forget(qp->scq, ibqp);
	srnic_cq_forget(qp->rcq, ibqp);
	srnic_cq_leave(qp->scq);
	srnic_cq_leave(qp->rcq);
	xa_erase_irq(&dev->qps, ibqp->qp_num);
	qp_destroy_queues(qp);
	atomic_dec(&dev->objects.qp);
	return 0;
}

/* Does this post have to ask for a flush? */
static bool qp_posted_in_error(const struct srnic_qp *qp)
{
	/*
	 * Pairs with the barrier of srnic_qp_flush(): that sees what was posted, or this sees the
	 * state.
	 */
	smp_mb();
	return READ_ONCE(qp->state) == SRNIC_ERROR;
}

static void qp_doorbell(struct srnic_qp *qp)
{
	switch (READ_ONCE(qp->state)) {
	case SRNIC_IDLE:
		break;
	case SRNIC_ERROR:
		srnic_qp_flush_soon(qp);
		break;
	default:
		srnic_tx_doorbell(qp);
	}
}

/* An application's doorbell has no work requests, since these are in its ring. */
static int srnic_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
			   const struct ib_send_wr **bad)
{
	struct srnic_qp *qp = to_srnic_qp(ibqp);
	int err = -EINVAL;

	if (qp->user && !wr) {
		qp_doorbell(qp);
		return 0;
	}
	if (qp->user || READ_ONCE(qp->state) == SRNIC_IDLE) {
		*bad = wr;
		return err;
	}
	err = srnic_sq_post(qp, wr, bad);
	if (qp_posted_in_error(qp))
		srnic_qp_flush_soon(qp);
	else
		srnic_tx_kick(qp);
	return err;
}

static int srnic_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
			   const struct ib_recv_wr **bad)
{
	struct srnic_qp *qp = to_srnic_qp(ibqp);
	int err;

	if (qp->user || qp->srq || srnic_qp_state(qp) == IB_QPS_RESET) {
		*bad = wr;
		return -EINVAL;
	}
	err = srnic_rq_post(&qp->rq, wr, qp->cap.max_recv_sge, bad);
	if (qp_posted_in_error(qp))
		srnic_qp_flush_soon(qp);
	return err;
}

const struct ib_device_ops srnic_verbs = {
	.alloc_mr		= srnic_alloc_mr,
	.alloc_pd		= srnic_alloc_pd,
	.alloc_ucontext		= srnic_alloc_ucontext,
	.create_cq		= compat_create_cq(srnic_create_cq),
	.create_qp		= srnic_create_qp,
	.create_srq		= srnic_create_srq,
	.dealloc_pd		= srnic_dealloc_pd,
	.dealloc_ucontext	= srnic_dealloc_ucontext,
	.dereg_mr		= srnic_dereg_mr,
	.destroy_cq		= srnic_destroy_cq,
	.destroy_qp		= srnic_destroy_qp,
	.destroy_srq		= srnic_destroy_srq,
	.disassociate_ucontext	= srnic_disassociate_ucontext,
	.fill_res_cq_entry	= srnic_fill_res_cq,
	.fill_res_mr_entry	= srnic_fill_res_mr,
	.fill_res_qp_entry	= srnic_fill_res_qp,
	.get_dma_mr		= srnic_get_dma_mr,
	.map_mr_sg		= srnic_map_mr_sg,
	.mmap			= srnic_ring_mmap,
	.mmap_free		= srnic_ring_mmap_free,
	.modify_qp		= srnic_modify_qp,
	.modify_srq		= srnic_modify_srq,
	.poll_cq		= srnic_poll_cq,
	.post_recv		= srnic_post_recv,
	.post_send		= srnic_post_send,
	.post_srq_recv		= srnic_post_srq_recv,
	.query_qp		= srnic_query_qp,
	.query_srq		= srnic_query_srq,
	.reg_user_mr		= compat_reg_user_mr(srnic_reg_user_mr),
	.req_notify_cq		= srnic_req_notify_cq,

	INIT_RDMA_OBJ_SIZE(ib_cq, srnic_cq, ibcq),
	INIT_RDMA_OBJ_SIZE(ib_pd, srnic_pd, ibpd),
	INIT_RDMA_OBJ_SIZE(ib_qp, srnic_qp, ibqp),
	INIT_RDMA_OBJ_SIZE(ib_srq, srnic_srq, ibsrq),
	INIT_RDMA_OBJ_SIZE(ib_ucontext, srnic_ucontext, ibctx),
};

// SPDX-License-Identifier: GPL-2.0
/* The table of verbs, for kernel ULPs and, by libsiw's ABI, for applications */

#include "cq.h"
#include "mem.h"
#include "qp.h"
#include "ring.h"
#include "rq.h"
#include "sq.h"
#include "srnic.h"
#include "state.h"
#include "stats.h"
#include "tx.h"

#include <rdma/uverbs_ioctl.h>

static int srnic_alloc_ucontext(struct ib_ucontext *ctx, struct ib_udata *udata)
{
	struct siw_uresp_alloc_ctx resp = {};

	return srnic_udata_check(udata, sizeof(resp)) ?:
	       ib_copy_to_udata(udata, &resp, sizeof(resp));
}

/* Rings may stay mapped: each mapping has references on the ring's pages. */
static void srnic_ucontext_ends(struct ib_ucontext *ctx)
{
}

static int srnic_alloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	int err = srnic_udata_check(udata, 0);

	if (err)
		return err;
	return atomic_add_unless(&to_srnic_dev(pd->device)->objects.pd, 1,
				 SRNIC_MAX_PD) ? 0 : -ENOMEM;
}

static int srnic_dealloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	atomic_dec(&to_srnic_dev(pd->device)->objects.pd);
	return 0;
}

static enum srnic_state state_after_post(const struct srnic_qp *qp)
{
	/*
	 * Pairs with the barrier of qp_flush_locked(): either the flush reads
	 * what was posted, or this poster reads ERROR, and queues a flush.
	 */
	smp_mb();
	return srnic_state(qp);
}

static void qp_doorbell(struct srnic_qp *qp)
{
	enum srnic_state state = state_after_post(qp);

	if (state >= SRNIC_ENDING)
		srnic_qp_flush_soon(qp);
	else if (state != SRNIC_IDLE)
		srnic_tx_doorbell(qp);
}

/* An application's doorbell passes no work requests: these are in its ring. */
static int srnic_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
			   const struct ib_send_wr **bad)
{
	struct srnic_qp *qp = to_srnic_qp(ibqp);
	int err;

	if (qp->user && !wr) {
		qp_doorbell(qp);
		return 0;
	}
	if (qp->user) {
		*bad = wr;
		return -EINVAL;
	}
	err = srnic_sq_post(qp, wr, bad);
	if (state_after_post(qp) >= SRNIC_ENDING)
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
	if (state_after_post(qp) >= SRNIC_ENDING)
		srnic_qp_flush_soon(qp);
	return err;
}

const struct ib_device_ops srnic_verbs = {
	.alloc_mr		= srnic_alloc_mr,
	.alloc_pd		= srnic_alloc_pd,
	.alloc_ucontext		= srnic_alloc_ucontext,
	.create_cq		= srnic_create_cq,
	.create_qp		= srnic_create_qp,
	.create_srq		= srnic_create_srq,
	.dealloc_pd		= srnic_dealloc_pd,
	.dealloc_ucontext	= srnic_ucontext_ends,
	.dereg_mr		= srnic_dereg_mr,
	.destroy_cq		= srnic_destroy_cq,
	.destroy_qp		= srnic_destroy_qp,
	.destroy_srq		= srnic_destroy_srq,
	.disassociate_ucontext	= srnic_ucontext_ends,
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
	.reg_user_mr		= srnic_reg_user_mr,
	.req_notify_cq		= srnic_req_notify_cq,

	INIT_RDMA_OBJ_SIZE(ib_cq, srnic_cq, ibcq),
	INIT_RDMA_OBJ_SIZE(ib_qp, srnic_qp, ibqp),
	INIT_RDMA_OBJ_SIZE(ib_srq, srnic_srq, ibsrq),
	.size_ib_pd		= sizeof(struct ib_pd),
	.size_ib_ucontext	= sizeof(struct ib_ucontext),
};

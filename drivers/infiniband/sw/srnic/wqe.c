// SPDX-License-Identifier: GPL-2.0
/*
 * From a work request, as posted, to a WQE: operation, flags, SGEs, inline
 * data. A kernel ULP gets an error at once if something is invalid; an
 * application's WQE is made all the same, and completes in error in its turn.
 * No memory of the ULP is touched but its inline data.
 */

#include "wqe.h"
#include "mem.h"

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

/* Inline: the ULP may use its buffers again as soon as it has posted. */
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

/* Base and length are the region's as of now; key and rights are the WR's. */
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
	return srnic_stag_check_access(qp->ibqp.device, reg->access);
}

/*
 * Returns 0; -EINVAL for impossible SGEs, lengths, STags or rights; -EOPNOTSUPP
 * for an operation that iWARP, or a right that the device, does not have.
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

/* Fewer operations than for kernel ULPs: no registration, no READ_INV */
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

/* libsiw puts inline data after the first SGE, and keeps the number of SGEs. */
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

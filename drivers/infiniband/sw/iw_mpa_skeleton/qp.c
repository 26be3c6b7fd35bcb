// SPDX-License-Identifier: GPL-2.0
/*
 * QPs: verbs, work queues, states, and the engine, the work item that moves a
 * QP's data.
 *
 * post_send, in any state, and post_recv, in state ERR, queue the work item
 * after they have queued the work request. So the engine finds each work
 * request, and sends it or, once the QP is in ERR, flushes it.
 */

#include "skel.h"

#include <linux/log2.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

/* Run the engine after @delay jiffies at most. May be called in any context. */
void skel_kick(struct skel_qp *qp, unsigned long delay)
{
	if (delay)
		queue_delayed_work(skel_wq, &qp->work, delay);
	else
		mod_delayed_work(skel_wq, &qp->work, 0);
}

bool skel_is_posted(struct skel_qp *qp, const struct skel_queue *queue)
{
	bool posted;

	spin_lock_irq(&qp->dev->spin);
	posted = queue->get != queue->put;
	spin_unlock_irq(&qp->dev->spin);
	return posted;
}

/* Complete the WQE at @get of a queue, and give its slot back to posters. */
static void qp_complete(struct skel_qp *qp, struct skel_queue *queue,
			struct ib_wc *wc, bool wanted, bool solicited)
{
	bool fits = true;

	lockdep_assert_held(&qp->dev->lock);
	wc->wr_id = skel_wqe_at(queue, queue->get)->id;
	wc->qp = &qp->ib;
	wc->port_num = 1;
	spin_lock_irq(&qp->dev->spin);
	queue->get++;
	if (wanted && !READ_ONCE(qp->dying))
		fits = skel_cq_put(queue->cq, wc, solicited);
	spin_unlock_irq(&qp->dev->spin);
	if (!fits)
		skel_fail(qp, SKEL_E_CQ, NULL, 0);
}

void skel_complete_recv(struct skel_qp *qp, struct ib_wc *wc)
{
	bool solicited = qp->rx.send_op >= SKEL_OP_SEND_SE;

	wc->opcode = IB_WC_RECV;
	qp->rx.send_op = 0;
	qp_complete(qp, &qp->rq, wc, true, solicited);
}

/*
 * Complete the WQE at @get of the SQ. Completions are in the order of posting
 * (RFC 5040 5.5), since WQEs are handled one at a time.
 */
void skel_complete_send(struct skel_qp *qp, enum ib_wc_status status)
{
	const struct skel_wqe *wqe = skel_wqe_at(&qp->sq, qp->sq.get);
	struct ib_wc wc = {
		.opcode		= wqe->wc_op,
		.byte_len	= wqe->bytes,
		.status		= status,
	};

	qp_complete(qp, &qp->sq, &wc,
		    status || qp->sig_all || (wqe->flags & IB_SEND_SIGNALED),
		    false);
}

/* The QP has no stream any more: complete all work requests in error. */
void skel_flush(struct skel_qp *qp)
{
	struct ib_wc wc = { .status = IB_WC_WR_FLUSH_ERR };

	while (skel_is_posted(qp, &qp->rq))
		skel_complete_recv(qp, &wc);
	while (skel_is_posted(qp, &qp->sq))
		skel_complete_send(qp, IB_WC_WR_FLUSH_ERR);
}

/*
 * Raise the asynchronous event of a failed stream, once the op stop has ended
 * the stream. Only the QP's work item calls this, so that no verb calls the
 * ULP's event handler.
 */
static void qp_report(struct skel_qp *qp)
{
	struct ib_event event = {
		.device = qp->ib.device, .element.qp = &qp->ib,
	};

	spin_lock_irq(&qp->dev->spin);
	if (!qp->ep) {
		event.event = qp->event;
		qp->event = 0;
	}
	spin_unlock_irq(&qp->dev->spin);
	if (event.event && !READ_ONCE(qp->dying) && qp->ib.event_handler)
		qp->ib.event_handler(&event, qp->ib.qp_context);
}

/*
 * One run of the engine, the QP's work item. To free memory the kernel may
 * write to storage over this QP, so no allocation here may wait for such a
 * write: hence memalloc_noio_save().
 */
static void skel_qp_work(struct work_struct *work)
{
	struct skel_qp *qp =
		container_of(to_delayed_work(work), struct skel_qp, work);
	unsigned int noio = memalloc_noio_save();
	bool more;
	int i;

	mutex_lock(&qp->dev->lock);
	more = qp->sock;
	if (!qp->sock && READ_ONCE(qp->state) == IB_QPS_ERR)
		skel_flush(qp);
	for (i = 0; more && i < SKEL_STEPS; i++) {
		more = skel_rx(qp);
		more |= skel_tx(qp);
	}
	mutex_unlock(&qp->dev->lock);
	qp_report(qp);
	if (more)
		skel_kick(qp, 0);
	memalloc_noio_restore(noio);
}

/* RFC 5041 5.2: a message has less than 2^32 bytes, so the sum is checked. */
static int wqe_fill_sges(struct skel_wqe *wqe, const struct ib_sge *sges,
			 int num, int max)
{
	u64 bytes = 0;
	int i;

	if (num < 0 || num > max)
		return -EINVAL;
	for (i = 0; i < num; i++) {
		wqe->sge[i] = sges[i];
		bytes += sges[i].length;
	}
	if (bytes > U32_MAX)
		return -EINVAL;
	wqe->bytes = bytes;
	return 0;
}

static int wqe_fill_reg(struct skel_wqe *wqe, const struct ib_reg_wr *reg)
{
	if ((reg->key ^ reg->mr->rkey) & ~0xff)
		return -EINVAL;
	wqe->wc_op = IB_WC_REG_MR;
	wqe->rkey = reg->key;
	wqe->raddr = reg->mr->iova;
	wqe->maps = to_skel_mr(reg->mr)->maps;
	wqe->access = reg->access & ~IB_ACCESS_OPTIONAL;
	return skel_mr_check_access(reg->mr->device, reg->access);
}

static int wqe_fill(struct skel_qp *qp, struct skel_wqe *wqe,
		    const struct ib_send_wr *wr)
{
	int max_sge = qp->cap.max_send_sge;

	*wqe = (struct skel_wqe) {
		.id	= wr->wr_id,
		.op	= wr->opcode,
		.wc_op	= IB_WC_SEND,
		.flags	= wr->send_flags,
	};
	if (wr->send_flags & IB_SEND_INLINE)
		return -EINVAL;
	switch (wr->opcode) {
	case IB_WR_RDMA_READ:
	case IB_WR_RDMA_READ_WITH_INV:
		max_sge = 1;	/* RFC 5040 4.4: a Read has one sink */
		fallthrough;
	case IB_WR_RDMA_WRITE:
		wqe->wc_op = wr->opcode == IB_WR_RDMA_WRITE ? IB_WC_RDMA_WRITE :
							      IB_WC_RDMA_READ;
		wqe->raddr = rdma_wr(wr)->remote_addr;
		wqe->rkey = rdma_wr(wr)->rkey;
		break;
	case IB_WR_SEND_WITH_INV:
		wqe->rkey = wr->ex.invalidate_rkey;
		break;
	case IB_WR_SEND:
		break;
	case IB_WR_LOCAL_INV:
		wqe->wc_op = IB_WC_LOCAL_INV;
		wqe->rkey = wr->ex.invalidate_rkey;
		return 0;
	case IB_WR_REG_MR:
		return wqe_fill_reg(wqe, reg_wr(wr));
	default:
		return -EOPNOTSUPP;
	}
	return wqe_fill_sges(wqe, wr->sg_list, wr->num_sge, max_sge);
}

/* Any context, several CPUs at once. Below RTS no stream can send: -EINVAL. */
static int skel_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
			  const struct ib_send_wr **bad)
{
	struct skel_qp *qp = to_skel_qp(ibqp);
	struct skel_queue *sq = &qp->sq;
	unsigned long flags;
	int err = 0;

	spin_lock_irqsave(&qp->dev->spin, flags);
	for (; wr; wr = wr->next) {
		err = qp->state < IB_QPS_RTS ? -EINVAL :
		      sq->put - sq->get == sq->size ? -ENOMEM :
		      wqe_fill(qp, skel_wqe_at(sq, sq->put), wr);
		if (err)
			break;
		sq->put++;
	}
	spin_unlock_irqrestore(&qp->dev->spin, flags);
	if (err)
		*bad = wr;
	skel_kick(qp, 0);
	return err;
}

/* Any context, several CPUs at once */
static int skel_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
			  const struct ib_recv_wr **bad)
{
	struct skel_qp *qp = to_skel_qp(ibqp);
	struct skel_queue *rq = &qp->rq;
	struct skel_wqe *wqe;
	unsigned long flags;
	int err = 0;

	spin_lock_irqsave(&qp->dev->spin, flags);
	for (; wr; wr = wr->next) {
		wqe = skel_wqe_at(rq, rq->put);
		if (qp->state == IB_QPS_RESET)
			err = -EINVAL;
		else if (rq->put - rq->get == rq->size)
			err = -ENOMEM;
		else
			err = wqe_fill_sges(wqe, wr->sg_list, wr->num_sge,
					    qp->cap.max_recv_sge);
		if (err)
			break;
		wqe->id = wr->wr_id;
		rq->put++;
	}
	spin_unlock_irqrestore(&qp->dev->spin, flags);
	if (err)
		*bad = wr;
	/* In other states no Send waits for a receive: without one it fails. */
	if (READ_ONCE(qp->state) == IB_QPS_ERR)
		skel_kick(qp, 0);
	return err;
}

/*
 * Go to RESET, INIT or RTR. A QP in ERR is flushed first: its work requests,
 * also those posted during the flush, belong to the stream that has ended, and
 * the next stream must not use them. From other states RESET discards receives
 * without completions.
 *
 * rdma_accept() of a kernel ULP asks for INIT, then for RTR, and iw_cm lets the
 * ULP call it again until it has handled ESTABLISHED. If modify_qp failed then,
 * rdma_cm would abort the connection and reject it, and the iw_cm of today's
 * kernels would crash on the event of the abort. So for a kernel ULP
 * (@is_kernel) INIT and RTR succeed without effect if a connection cannot begin
 * now.
 */
static int qp_to_idle(struct skel_qp *qp, enum ib_qp_state state,
		      bool is_kernel)
{
	int err = 0;

	mutex_lock(&qp->dev->lock);
	spin_lock_irq(&qp->dev->spin);
	while (qp->state == IB_QPS_ERR && !qp->ep &&
	       (qp->sq.get != qp->sq.put || qp->rq.get != qp->rq.put)) {
		spin_unlock_irq(&qp->dev->spin);
		skel_flush(qp);
		spin_lock_irq(&qp->dev->spin);
	}
	if (qp->ep || (qp->state == IB_QPS_ERR && state == IB_QPS_RTR)) {
		if (!is_kernel || state == IB_QPS_RESET)
			err = -EINVAL;
	} else {
		WRITE_ONCE(qp->state, state);
		if (state == IB_QPS_RESET)
			qp->rq.get = qp->rq.put;
	}
	spin_unlock_irq(&qp->dev->spin);
	mutex_unlock(&qp->dev->lock);
	return err;
}

/*
 * The ULP closes the connection: by SQD gracefully (RFC 5041 6.2.1), by ERR
 * abruptly. If the QP has a stream iw_mpa then calls finish_tx and stop for
 * SQD, stop alone for ERR. Without a stream the QP's work item flushes a QP
 * that goes to ERR, and SQD is an error unless the QP is in ERR.
 */
static int qp_to_end(struct skel_qp *qp, enum ib_qp_state state)
{
	bool abrupt = state == IB_QPS_ERR;
	int err = 0;

	spin_lock_irq(&qp->dev->spin);
	if (qp->ep) {
		if (abrupt || qp->state == IB_QPS_RTS)
			WRITE_ONCE(qp->state, state);
		iw_mpa_disconnect(qp->ep, abrupt);
	} else if (abrupt) {
		WRITE_ONCE(qp->state, state);
	} else if (qp->state != IB_QPS_ERR) {
		err = -EINVAL;
	}
	spin_unlock_irq(&qp->dev->spin);
	skel_kick(qp, 0);
	return err;
}

/*
 * The access flags of the QP are ignored: rdma_cm sets them, to the same for
 * each kernel ULP, whatever the ULP needs. The rights of memory regions alone
 * decide what a peer may do.
 */
static int skel_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
			  struct ib_udata *udata)
{
	struct skel_qp *qp = to_skel_qp(ibqp);

	if (mask & ~IB_QP_ATTR_STANDARD_BITS)
		return -EOPNOTSUPP;
	if (!(mask & IB_QP_STATE))
		return 0;
	switch (attr->qp_state) {
	case IB_QPS_RESET:
	case IB_QPS_INIT:
	case IB_QPS_RTR:
		return qp_to_idle(qp, attr->qp_state, !udata);
	case IB_QPS_RTS:	/* only prepare sets this state */
		return READ_ONCE(qp->state) == IB_QPS_RTS ? 0 : -EINVAL;
	case IB_QPS_SQD:
	case IB_QPS_ERR:
		return qp_to_end(qp, attr->qp_state);
	default:
		return -EINVAL;
	}
}

/* query_qp: the state and, while there is a stream, the negotiated depths */
static int skel_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
			 struct ib_qp_init_attr *init)
{
	struct skel_qp *qp = to_skel_qp(ibqp);

	*attr = (struct ib_qp_attr) {
		.qp_state		= READ_ONCE(qp->state),
		.cur_qp_state		= READ_ONCE(qp->state),
		.qp_access_flags	= IB_ACCESS_LOCAL_WRITE |
					  IB_ACCESS_REMOTE_WRITE |
					  IB_ACCESS_REMOTE_READ,
		.cap			= qp->cap,
		.port_num		= 1,
	};
	spin_lock_irq(&qp->dev->spin);
	if (qp->ep) {
		attr->max_dest_rd_atomic = qp->params->ird;
		attr->max_rd_atomic = qp->params->ord;
	}
	spin_unlock_irq(&qp->dev->spin);
	*init = (struct ib_qp_init_attr) {
		.send_cq	= ibqp->send_cq,
		.recv_cq	= ibqp->recv_cq,
		.cap		= qp->cap,
		.sq_sig_type	= qp->sig_all ? IB_SIGNAL_ALL_WR :
						IB_SIGNAL_REQ_WR,
		.qp_type	= IB_QPT_RC,
	};
	return 0;
}

static int qp_check(const struct ib_qp_init_attr *init)
{
	const struct ib_qp_cap *cap = &init->cap;

	if (init->create_flags || init->qp_type != IB_QPT_RC || init->srq)
		return -EOPNOTSUPP;
	if (!init->send_cq || !init->recv_cq ||
	    cap->max_send_wr > SKEL_MAX_WR || cap->max_recv_wr > SKEL_MAX_WR ||
	    cap->max_send_sge > SKEL_MAX_SGE ||
	    cap->max_recv_sge > SKEL_MAX_SGE || cap->max_inline_data)
		return -EINVAL;
	return 0;
}

static int queue_alloc(struct skel_queue *queue, struct ib_cq *cq, u32 *size)
{
	*size = roundup_pow_of_two(max(*size, 1U));
	queue->size = *size;
	queue->ring = kvcalloc(queue->size, sizeof(*queue->ring), GFP_KERNEL);
	if (!queue->ring)
		return -ENOMEM;
	queue->cq = to_skel_cq(cq);
	return skel_cq_reserve(queue->cq, queue->size);
}

static void queue_free(struct skel_queue *queue, const struct ib_qp *ibqp)
{
	if (queue->cq)
		skel_cq_forget(queue->cq, ibqp, queue->size);
	kvfree(queue->ring);
}

static void qp_free(struct skel_qp *qp)
{
	queue_free(&qp->sq, &qp->ib);
	queue_free(&qp->rq, &qp->ib);
	kvfree(qp->rx_buf);
	kvfree(qp->tx_buf);
}

/*
 * create_qp allocates all memory that a stream needs, so that no op of iw_mpa
 * fails later for lack of memory. iw_get_qp finds the QP as soon as it has its
 * number, so xa_alloc() comes last.
 */
static int skel_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init,
			  struct ib_udata *udata)
{
	struct skel_dev *dev = to_skel_dev(ibqp->device);
	struct skel_qp *qp = to_skel_qp(ibqp);
	int err = qp_check(init);

	if (err)
		return err;
	qp->dev = dev;
	kref_init(&qp->ref);
	init_completion(&qp->free);
	INIT_DELAYED_WORK(&qp->work, skel_qp_work);
	/* A QP of an RNIC begins in INIT, so that a ULP may post receives. */
	qp->state = IB_QPS_INIT;
	qp->sig_all = init->sq_sig_type == IB_SIGNAL_ALL_WR;
	qp->rx_buf = kvmalloc(SKEL_FPDU_MAX, GFP_KERNEL);
	qp->tx_buf = kvmalloc(iw_mpa_fpdu_size(SKEL_ULPDU_MAX), GFP_KERNEL);
	err = queue_alloc(&qp->sq, init->send_cq, &init->cap.max_send_wr) ?:
	      queue_alloc(&qp->rq, init->recv_cq, &init->cap.max_recv_wr);
	if (!qp->rx_buf || !qp->tx_buf)
		err = -ENOMEM;
	qp->cap = init->cap;
	if (!err)
		err = xa_alloc(&dev->qps, &ibqp->qp_num, qp,
			       XA_LIMIT(1, SKEL_MAX_QPN), GFP_KERNEL);
	if (err)
		qp_free(qp);
	return err;
}

static void skel_qp_release(struct kref *ref)
{
	complete(&container_of(ref, struct skel_qp, ref)->free);
}

/*
 * iw_get_qp. It does not find a QP that is being destroyed: in its place
 * skel_destroy_qp() has put XA_ZERO_ENTRY, for which xa_load() returns NULL.
 * The xa_store() of XA_ZERO_ENTRY cannot fail, since replacing an entry takes
 * no memory. No new QP gets the number until skel_destroy_qp() removes the
 * entry.
 */
static struct ib_qp *skel_get_qp(struct ib_device *ibdev, int qpn)
{
	struct skel_qp *qp = xa_load(&to_skel_dev(ibdev)->qps, qpn);

	return qp ? &qp->ib : NULL;
}

static void skel_add_ref(struct ib_qp *ibqp)
{
	kref_get(&to_skel_qp(ibqp)->ref);
}

static void skel_rem_ref(struct ib_qp *ibqp)
{
	kref_put(&to_skel_qp(ibqp)->ref, skel_qp_release);
}

static int skel_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct skel_dev *dev = to_skel_dev(ibqp->device);
	struct skel_qp *qp = to_skel_qp(ibqp);
	struct iw_mpa_qp_end end;

	WRITE_ONCE(qp->dying, true);	/* ULP gets no completion, no event */
	xa_store(&dev->qps, ibqp->qp_num, XA_ZERO_ENTRY, GFP_KERNEL);
	synchronize_rcu_expedited();	/* callers of get_qp have references */
	iw_mpa_qp_gone(ibqp, &end);

	kref_put(&qp->ref, skel_qp_release);
	wait_for_completion(&qp->free);
	iw_mpa_qp_freed(&end);

	/* No connection queues the work item any more, and no ULP may post. */
	cancel_delayed_work_sync(&qp->work);
	xa_erase(&dev->qps, ibqp->qp_num);
	qp_free(qp);
	return 0;
}

const struct ib_device_ops skel_qp_ops = {
	.create_qp	= skel_create_qp,
	.destroy_qp	= skel_destroy_qp,
	.iw_add_ref	= skel_add_ref,
	.iw_get_qp	= skel_get_qp,
	.iw_rem_ref	= skel_rem_ref,
	.modify_qp	= skel_modify_qp,
	.post_recv	= skel_post_recv,
	.post_send	= skel_post_send,
	.query_qp	= skel_query_qp,
	INIT_RDMA_OBJ_SIZE(ib_qp, skel_qp, ib),
};

// SPDX-License-Identifier: GPL-2.0
/*
 * QPs: their queues, their states, their engine, and how they end.
 *
 * A verb that posts writes a queue and queues the work item. So the engine finds what was posted,
 * whatever the state is by then: it sends it, or flushes it.
 */

#include "skel.h"

#include <linux/log2.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

/* Bytes in each direction until others have their turn */
#define QP_BUDGET	(256 << 10)

/* The work item runs after @delay, or sooner. Any context. */
void skel_kick(struct skel_qp *qp, unsigned long delay)
{
	if (delay)
		queue_delayed_work(skel_wq, &qp->work, delay);
	else
		mod_delayed_work(skel_wq, &qp->work, 0);
}

static unsigned long fault_event(enum skel_err err)
{
	switch (err >> 16) {
	case 0x01:
	case 0x11:
		return BIT(IB_EVENT_QP_ACCESS_ERR);
	case 0x12:
		return BIT(IB_EVENT_QP_REQ_ERR);
	case 0x02:
		if (err == SKEL_E_INV_STAG)
			return BIT(IB_EVENT_QP_ACCESS_ERR);
		return err == SKEL_E_CQ ? BIT(IB_EVENT_QP_FATAL) : BIT(IB_EVENT_QP_REQ_ERR);
	default:
		return BIT(IB_EVENT_QP_FATAL);
	}
}

/*
 * The stream has failed. The first error counts, and ends it (RFC 5040 7.1); tx.c sends the
 * Terminate message. @seg is the segment at fault, or NULL. The engine calls this.
 */
void skel_fail(struct skel_qp *qp, enum skel_err err, const struct skel_seg *seg)
{
	struct skel_fault fault = {
		.err	= err,
		/* A responder that has had no good FPDU may not send (RFC 5044 7.1.2). */
		.silent	= qp->rx.responder && qp->rx.first && !qp->tx.open,
	};
	bool first;

	lockdep_assert_held(&qp->run);
	if (seg) {
		fault.ulpdu_len = seg->ulpdu_len;
		fault.hdr_len = seg->hdr_len;
		memcpy(fault.hdr, seg->ulpdu, min_t(u32, seg->ulpdu_len, sizeof(fault.hdr)));
	}
	spin_lock_irq(&qp->lock);
	first = skel_is_flowing(qp);
	if (first) {
		WRITE_ONCE(qp->state, IB_QPS_SQE);
		qp->fault = fault;
		qp->events |= fault_event(err);
	}
	spin_unlock_irq(&qp->lock);
	if (first)
		ibdev_dbg(qp->ib.device, "QP %u: layer and type %#x, code %#x\n", qp->ib.qp_num,
			  err >> 16, err >> 8 & 0xff);
}

static void qp_complete(struct skel_qp *qp, struct ib_cq *cq, struct ib_wc *wc, bool solicited)
{
	wc->qp = &qp->ib;
	wc->port_num = 1;
	if (!READ_ONCE(qp->dying) && !skel_cq_put(to_skel_cq(cq), wc, solicited))
		skel_fail(qp, SKEL_E_CQ, NULL);
}

void skel_complete_recv(struct skel_qp *qp, struct ib_wc *wc, bool solicited)
{
	wc->wr_id = qp->rx.rwqe.id;
	wc->opcode = IB_WC_RECV;
	qp->rx.send_busy = false;
	qp_complete(qp, qp->ib.recv_cq, wc, solicited);
}

static enum ib_wc_opcode wc_opcode(enum ib_wr_opcode op)
{
	switch (op) {
	case IB_WR_RDMA_WRITE:
		return IB_WC_RDMA_WRITE;
	case IB_WR_RDMA_READ:
	case IB_WR_RDMA_READ_WITH_INV:
		return IB_WC_RDMA_READ;
	case IB_WR_LOCAL_INV:
		return IB_WC_LOCAL_INV;
	case IB_WR_REG_MR:
		return IB_WC_REG_MR;
	default:
		return IB_WC_SEND;
	}
}

/* The WQE at @next, or the oldest Read, is done. skel_complete_sends() follows. */
void skel_wqe_done(struct skel_wqe *wqe, enum ib_wc_status status)
{
	wqe->status = status;
	wqe->done = true;
}

/*
 * Complete what can be, in the order of posting (RFC 5040 5.5). A WQE that follows one in error
 * does not succeed, though the peer may have it. The place of a WQE is the poster's again before
 * the ULP has the completion.
 */
void skel_complete_sends(struct skel_qp *qp)
{
	struct skel_sq *sq = &qp->sq;

	while (sq->get != sq->next && skel_sq_at(sq, sq->get)->done) {
		const struct skel_wqe *wqe = skel_sq_at(sq, sq->get);
		bool signaled = qp->sig_all || (wqe->flags & IB_SEND_SIGNALED);
		struct ib_wc wc = {
			.wr_id		= wqe->id,
			.opcode		= wc_opcode(wqe->op),
			.byte_len	= wqe->bytes,
			.status		= wqe->status,
		};

		if (sq->failed && wc.status == IB_WC_SUCCESS)
			wc.status = IB_WC_WR_FLUSH_ERR;
		sq->failed |= wc.status != IB_WC_SUCCESS;
		spin_lock_irq(&qp->lock);
		sq->get++;
		spin_unlock_irq(&qp->lock);
		if (signaled || wc.status != IB_WC_SUCCESS)
			qp_complete(qp, qp->ib.send_cq, &wc, false);
	}
}

/* False: there is none. */
bool skel_take_recv(struct skel_qp *qp, struct skel_rwqe *rwqe)
{
	struct skel_rq *rq = &qp->rq;
	bool found;

	spin_lock_irq(&qp->lock);
	found = rq->get != rq->put;
	if (found)
		*rwqe = rq->ring[rq->get++ & (rq->size - 1)];
	spin_unlock_irq(&qp->lock);
	return found;
}

/* There is no stream any more: all that is posted completes in error, and what is posted later. */
void skel_flush(struct skel_qp *qp)
{
	struct ib_wc wc = { .status = IB_WC_WR_FLUSH_ERR };
	struct skel_sq *sq = &qp->sq;
	u32 put;

	lockdep_assert_held(&qp->run);
	if (qp->rx.send_busy)
		skel_complete_recv(qp, &wc, false);
	while (skel_take_recv(qp, &qp->rx.rwqe))
		skel_complete_recv(qp, &wc, false);

	spin_lock_irq(&qp->lock);
	put = sq->put;
	spin_unlock_irq(&qp->lock);
	for (sq->next = sq->get; sq->next != put; sq->next++) {
		struct skel_wqe *wqe = skel_sq_at(sq, sq->next);

		if (!wqe->done)
			skel_wqe_done(wqe, IB_WC_WR_FLUSH_ERR);
	}
	skel_complete_sends(qp);
	sq->reads = 0;
}

/* The engine. True: there may be more to do. */
static bool skel_run(struct skel_qp *qp)
{
	bool more;

	lockdep_assert_held(&qp->run);
	if (!qp->sock) {
		if (READ_ONCE(qp->state) == IB_QPS_ERR)
			skel_flush(qp);
		return false;
	}
	more = skel_rx(qp, QP_BUDGET);
	return skel_tx(qp, QP_BUDGET) || more;
}

/* A ULP is told of events from here, and not within a verb of its own. */
static void qp_tell(struct skel_qp *qp)
{
	static const u8 types[] = {
		IB_EVENT_QP_FATAL, IB_EVENT_QP_REQ_ERR, IB_EVENT_QP_ACCESS_ERR,
	};
	unsigned long events;
	int i;

	spin_lock_irq(&qp->lock);
	/* The ULP learns of an error when the stream has ended. */
	events = qp->ep || qp->dying ? 0 : qp->events;
	if (events)
		qp->events = 0;
	spin_unlock_irq(&qp->lock);
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		struct ib_event event = {
			.device		= qp->ib.device,
			.element.qp	= &qp->ib,
			.event		= types[i],
		};

		if ((events & BIT(types[i])) && qp->ib.event_handler)
			qp->ib.event_handler(&event, qp->ib.qp_context);
	}
}

/* Storage may wait for this, so nothing here waits for storage to get memory. */
static void skel_qp_work(struct work_struct *work)
{
	struct skel_qp *qp = container_of(to_delayed_work(work), struct skel_qp, work);
	unsigned int noio = memalloc_noio_save();
	bool more;

	mutex_lock(&qp->run);
	more = skel_run(qp);
	mutex_unlock(&qp->run);
	qp_tell(qp);
	if (more)
		skel_kick(qp, 0);
	memalloc_noio_restore(noio);
}

/* Only RDMA Writes, Sends and Reads have SGEs. RFC 5041 5.2: a message has less than 2^32 bytes. */
static int wqe_fill_sges(struct skel_qp *qp, struct skel_wqe *wqe, const struct ib_send_wr *wr)
{
	bool is_inline = wr->send_flags & IB_SEND_INLINE;
	u64 bytes = 0;
	int i;

	if (wr->num_sge < 0 || wr->num_sge > (skel_wqe_is_read(wqe) ? 1 : qp->cap.max_send_sge) ||
	    (is_inline && skel_wqe_is_read(wqe)))
		return -EINVAL;
	for (i = 0; i < wr->num_sge; i++)
		bytes += wr->sg_list[i].length;
	if (bytes > (is_inline ? SKEL_MAX_INLINE : U32_MAX))
		return -EINVAL;
	wqe->bytes = bytes;
	wqe->num_sge = wr->num_sge;
	bytes = 0;
	for (i = 0; i < wr->num_sge; i++) {
		const struct ib_sge *sge = &wr->sg_list[i];

		if (is_inline)
			memcpy(wqe->data + bytes, (void *)(uintptr_t)sge->addr, sge->length);
		else
			wqe->sge[i] = *sge;
		bytes += sge->length;
	}
	return 0;
}

static int wqe_fill_reg(struct skel_qp *qp, struct skel_wqe *wqe, const struct ib_reg_wr *reg)
{
	if ((reg->key ^ reg->mr->rkey) & ~0xff)
		return -EINVAL;
	wqe->rkey = reg->key;
	wqe->raddr = reg->mr->iova;
	wqe->reg.size = reg->mr->length;
	wqe->reg.access = reg->access & ~IB_ACCESS_OPTIONAL;
	return skel_check_access(qp->ib.device, reg->access);
}

static int wqe_fill(struct skel_qp *qp, struct skel_wqe *wqe, const struct ib_send_wr *wr)
{
	*wqe = (struct skel_wqe) {
		.id	= wr->wr_id,
		.op	= wr->opcode,
		.flags	= wr->send_flags,
	};
	switch (wr->opcode) {
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_READ:
	case IB_WR_RDMA_READ_WITH_INV:
		wqe->raddr = rdma_wr(wr)->remote_addr;
		wqe->rkey = rdma_wr(wr)->rkey;
		return wqe_fill_sges(qp, wqe, wr);
	case IB_WR_SEND_WITH_INV:
		wqe->rkey = wr->ex.invalidate_rkey;
		fallthrough;
	case IB_WR_SEND:
		return wqe_fill_sges(qp, wqe, wr);
	case IB_WR_LOCAL_INV:
		wqe->rkey = wr->ex.invalidate_rkey;
		return 0;
	case IB_WR_REG_MR:
		return wqe_fill_reg(qp, wqe, reg_wr(wr));
	default:
		return -EOPNOTSUPP;
	}
}

/* Any context; several at once. Before there is a connection nothing can be sent. */
int skel_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr, const struct ib_send_wr **bad)
{
	struct skel_qp *qp = to_skel_qp(ibqp);
	struct skel_sq *sq = &qp->sq;
	unsigned long flags;
	int err = 0;

	spin_lock_irqsave(&qp->lock, flags);
	if (qp->state < IB_QPS_RTS)
		err = -EINVAL;
	for (; wr && !err; wr = wr->next) {
		err = sq->put - sq->get == sq->size ? -ENOMEM :
		      wqe_fill(qp, skel_sq_at(sq, sq->put), wr);
		if (err)
			break;
		sq->put++;
	}
	spin_unlock_irqrestore(&qp->lock, flags);
	if (err)
		*bad = wr;
	skel_kick(qp, 0);
	return err;
}

static int rwqe_fill(struct skel_qp *qp, struct skel_rwqe *rwqe, const struct ib_recv_wr *wr)
{
	u64 bytes = 0;
	int i;

	if (wr->num_sge < 0 || wr->num_sge > qp->cap.max_recv_sge)
		return -EINVAL;
	rwqe->id = wr->wr_id;
	rwqe->num_sge = wr->num_sge;
	for (i = 0; i < wr->num_sge; i++) {
		rwqe->sge[i] = wr->sg_list[i];
		bytes += wr->sg_list[i].length;
	}
	rwqe->bytes = min_t(u64, bytes, U32_MAX);
	return 0;
}

/* Any context; several at once */
int skel_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad)
{
	struct skel_qp *qp = to_skel_qp(ibqp);
	struct skel_rq *rq = &qp->rq;
	unsigned long flags;
	int err = 0;

	spin_lock_irqsave(&qp->lock, flags);
	if (qp->state == IB_QPS_RESET)
		err = -EINVAL;
	for (; wr && !err; wr = wr->next) {
		err = rq->put - rq->get == rq->size ? -ENOMEM :
		      rwqe_fill(qp, &rq->ring[rq->put & (rq->size - 1)], wr);
		if (err)
			break;
		rq->put++;
	}
	spin_unlock_irqrestore(&qp->lock, flags);
	if (err)
		*bad = wr;
	/* A stream needs no hint, since a Send does not wait for a receive. */
	if (READ_ONCE(qp->state) == IB_QPS_ERR)
		skel_kick(qp, 0);
	return err;
}

/* What was posted belongs to the stream that has ended. RESET forgets it, and tells nobody. */
static int qp_to_idle(struct skel_qp *qp, enum ib_qp_state state)
{
	int err = 0;

	mutex_lock(&qp->run);
	if (qp->state == IB_QPS_ERR && !qp->sock)
		skel_flush(qp);
	spin_lock_irq(&qp->lock);
	if (qp->ep) {
		/* iw_cm lets a ULP accept again, until it has handled ESTABLISHED. */
		err = state == IB_QPS_RTR && skel_is_flowing(qp) ? 0 : -EINVAL;
	} else if (qp->state == IB_QPS_ERR && state == IB_QPS_RTR) {
		err = -EINVAL;
	} else {
		WRITE_ONCE(qp->state, state);
		if (state == IB_QPS_RESET)
			qp->rq.get = qp->rq.put;
	}
	spin_unlock_irq(&qp->lock);
	mutex_unlock(&qp->run);
	return err;
}

/*
 * The ULP closes, in order or not. The library calls finish_tx and stop, or stop alone. Without a
 * stream nobody does, so what is posted is flushed now.
 */
static int qp_to_end(struct skel_qp *qp, enum ib_qp_state state)
{
	bool abrupt = state == IB_QPS_ERR;
	int err = 0;

	spin_lock_irq(&qp->lock);
	if (qp->ep) {
		if (abrupt || qp->state == IB_QPS_RTS)
			WRITE_ONCE(qp->state, state);
		iw_mpa_disconnect(qp->ep, abrupt);
	} else if (abrupt) {
		WRITE_ONCE(qp->state, state);
	} else if (qp->state != IB_QPS_ERR) {
		err = -EINVAL;
	}
	spin_unlock_irq(&qp->lock);
	skel_kick(qp, 0);
	return err;
}

/*
 * Only the rights of regions count, and not those of the QP: rdma_cm sets these to none before a
 * connection, and does not set them again.
 */
int skel_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
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
		return qp_to_idle(qp, attr->qp_state);
	case IB_QPS_RTS:	/* only prepare brings it there */
		return READ_ONCE(qp->state) == IB_QPS_RTS ? 0 : -EINVAL;
	case IB_QPS_SQD:
	case IB_QPS_ERR:
		return qp_to_end(qp, attr->qp_state);
	default:
		return -EINVAL;
	}
}

int skel_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		  struct ib_qp_init_attr *init)
{
	struct skel_qp *qp = to_skel_qp(ibqp);

	*attr = (struct ib_qp_attr) {
		.qp_state		= READ_ONCE(qp->state),
		.cur_qp_state		= READ_ONCE(qp->state),
		.qp_access_flags	= IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE |
					  IB_ACCESS_REMOTE_READ,
		.cap			= qp->cap,
		.port_num		= 1,
	};
	*init = (struct ib_qp_init_attr) {
		.event_handler	= ibqp->event_handler,
		.qp_context	= ibqp->qp_context,
		.send_cq	= ibqp->send_cq,
		.recv_cq	= ibqp->recv_cq,
		.cap		= qp->cap,
		.sq_sig_type	= qp->sig_all ? IB_SIGNAL_ALL_WR : IB_SIGNAL_REQ_WR,
		.qp_type	= IB_QPT_RC,
	};
	return 0;
}

static int qp_check(const struct ib_qp_init_attr *init)
{
	const struct ib_qp_cap *cap = &init->cap;

	if (init->create_flags || init->qp_type != IB_QPT_RC || init->srq)
		return -EOPNOTSUPP;
	if (!init->send_cq || !init->recv_cq || cap->max_send_wr > SKEL_MAX_WR ||
	    cap->max_recv_wr > SKEL_MAX_WR || cap->max_send_sge > SKEL_MAX_SGE ||
	    cap->max_recv_sge > SKEL_MAX_SGE || cap->max_inline_data > SKEL_MAX_INLINE)
		return -EINVAL;
	return 0;
}

static void qp_free_queues(struct skel_qp *qp)
{
	kvfree(qp->sq.ring);
	kvfree(qp->rq.ring);
}

/* The QP is found by its number as soon as it has one: so that comes last. */
int skel_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init,
		   struct ib_udata *udata)
{
	struct skel_dev *dev = to_skel_dev(ibqp->device);
	struct skel_qp *qp = to_skel_qp(ibqp);
	int err = qp_check(init);

	if (err)
		return err;
	kref_init(&qp->ref);
	init_completion(&qp->free);
	mutex_init(&qp->run);
	spin_lock_init(&qp->lock);
	INIT_DELAYED_WORK(&qp->work, skel_qp_work);
	/* RNICs have no state before this one, in which receives may be posted. */
	qp->state = IB_QPS_INIT;
	qp->sig_all = init->sq_sig_type == IB_SIGNAL_ALL_WR;

	qp->sq.size = roundup_pow_of_two(max(init->cap.max_send_wr, 1U));
	qp->rq.size = roundup_pow_of_two(max(init->cap.max_recv_wr, 1U));
	qp->sq.ring = kvcalloc(qp->sq.size, sizeof(*qp->sq.ring), GFP_KERNEL);
	qp->rq.ring = kvcalloc(qp->rq.size, sizeof(*qp->rq.ring), GFP_KERNEL);
	err = -ENOMEM;
	if (!qp->sq.ring || !qp->rq.ring)
		goto free;
	init->cap.max_send_wr = qp->sq.size;
	init->cap.max_recv_wr = qp->rq.size;
	init->cap.max_inline_data = SKEL_MAX_INLINE;
	qp->cap = init->cap;
	err = xa_alloc(&dev->qps, &ibqp->qp_num, qp,
		       XA_LIMIT(1, SKEL_MAX_QPN), GFP_KERNEL);
	if (err)
		goto free;
	return 0;

free:
	qp_free_queues(qp);
	return err;
}

static void skel_qp_release(struct kref *ref)
{
	complete(&container_of(ref, struct skel_qp, ref)->free);
}

/*
 * A QP that is being destroyed is not found: XA_ZERO_ENTRY is in its place, and keeps the number
 * taken until destroy_qp has ended. To replace an entry takes no memory.
 */
struct ib_qp *skel_get_qp(struct ib_device *ibdev, int qpn)
{
	struct skel_qp *qp = xa_load(&to_skel_dev(ibdev)->qps, qpn);

	return qp ? &qp->ib : NULL;
}

void skel_add_ref(struct ib_qp *ibqp)
{
	kref_get(&to_skel_qp(ibqp)->ref);
}

void skel_rem_ref(struct ib_qp *ibqp)
{
	kref_put(&to_skel_qp(ibqp)->ref, skel_qp_release);
}

int skel_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct skel_dev *dev = to_skel_dev(ibqp->device);
	struct skel_qp *qp = to_skel_qp(ibqp);
	struct iw_mpa_qp_end end;

	WRITE_ONCE(qp->dying, true);	/* nothing completes, and no event is told, any more */
	xa_store(&dev->qps, ibqp->qp_num, XA_ZERO_ENTRY, GFP_KERNEL);
	synchronize_rcu_expedited();	/* iw_cm may have found it, without a reference yet */
	iw_mpa_qp_gone(ibqp, &end);

	kref_put(&qp->ref, skel_qp_release);
	wait_for_completion(&qp->free);
	iw_mpa_qp_freed(&end);

	/* Nobody is left who queues it: no socket, no iw_cm, and the ULP must not post. */
	cancel_delayed_work_sync(&qp->work);
	skel_cq_forget(to_skel_cq(ibqp->send_cq), ibqp);
	skel_cq_forget(to_skel_cq(ibqp->recv_cq), ibqp);
	xa_erase(&dev->qps, ibqp->qp_num);
	qp_free_queues(qp);
	return 0;
}

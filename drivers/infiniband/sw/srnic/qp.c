// SPDX-License-Identifier: GPL-2.0
/*
 * QPs: changes of state that a ULP asks for, flushes of posted work while there
 * is no stream, asynchronous events, and destruction. The table of states is in
 * qp_state.c.
 *
 * qp->lock protects qp->state, and is held only to read and change it.
 */

#include "qp.h"
#include "cq.h"
#include "place.h"
#include "ring.h"
#include "rq.h"
#include "rx.h"
#include "sq.h"
#include "state.h"
#include "tx.h"

#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <rdma/uverbs_ioctl.h>

#define QP_MAX_NUMBER	0xffffff	/* 24 bits */

void srnic_qp_tell(struct srnic_qp *qp, unsigned long events)
{
	unsigned long flags;

	spin_lock_irqsave(&qp->lock, flags);
	if (!qp->dying)
		qp->events |= events;
	events = qp->events;
	spin_unlock_irqrestore(&qp->lock, flags);
	if (events)
		queue_work(srnic_event_wq, &qp->event_work);
}

static void srnic_qp_event_work(struct work_struct *work)
{
	static const u8 order[] = {
		IB_EVENT_QP_LAST_WQE_REACHED,
		IB_EVENT_QP_FATAL,
		IB_EVENT_QP_REQ_ERR,
		IB_EVENT_QP_ACCESS_ERR,
	};
	struct srnic_qp *qp = container_of(work, struct srnic_qp, event_work);
	unsigned long events;
	int i;

	spin_lock_irq(&qp->lock);
	events = qp->events;
	qp->events = 0;
	spin_unlock_irq(&qp->lock);
	for (i = 0; i < ARRAY_SIZE(order); i++) {
		struct ib_event event = {
			.device		= qp->ibqp.device,
			.element.qp	= &qp->ibqp,
			.event		= order[i],
		};

		if ((events & BIT(order[i])) && qp->ibqp.event_handler)
			qp->ibqp.event_handler(&event, qp->ibqp.qp_context);
	}
}

/* Flush posted receives; that of an incomplete Send was flushed before. */
static bool qp_flush_rq(struct srnic_qp *qp, struct srnic_upcalls *up)
{
	struct srnic_rwqe rwqe;
	u32 n;

	if (qp->srq)
		return false;
	for (n = 0; n < qp->rq.size; n++) {
		if (srnic_recv_take(qp, &rwqe) == -ENOENT)
			break;
		srnic_recv_complete(qp, rwqe.id, IB_WC_WR_FLUSH_ERR, up);
		srnic_count(qp->dev, wr_flushed);
		cond_resched();
	}
	return n;
}

/*
 * Flush all posted work, but only in ERROR: the QP's stream has ended, or the
 * QP had no stream when it was modified to ERR or destroyed. The caller holds
 * tx.lock, which excludes the sender, other flushes and a change to IDLE.
 */
static void qp_flush_locked(struct srnic_qp *qp, struct srnic_upcalls *up)
{
	unsigned long delay;
	bool found, more;

	lockdep_assert_held(&qp->tx.lock);
	/*
	 * Pairs with the barrier in state_after_post() of verbs.c: either the
	 * poster reads ERROR and queues a flush, or this flush finds what was
	 * posted.
	 */
	smp_mb();
	if (srnic_state(qp) != SRNIC_ERROR)
		return;
	srnic_place_flush(qp, up);
	more = srnic_retire_flush(qp, up);
	found = qp_flush_rq(qp, up);

	/*
	 * An application adds to its rings without a system call, so
	 * qp->flush_work polls them. A QP with an SRQ has only a send ring.
	 * That is polled only if this flush has left a work request in it.
	 */
	if (!qp->user || (qp->srq && !more))
		return;
	if (found || more)
		qp->flush_ms = SRNIC_FLUSH_MIN_MS;
	delay = msecs_to_jiffies(qp->flush_ms);
	/* Work was just found, so poll sooner than the queued poll is due. */
	if (!READ_ONCE(qp->dying) && (found || more))
		mod_delayed_work(srnic_qp_wq(qp), &qp->flush_work, delay);
	else if (!READ_ONCE(qp->dying))
		queue_delayed_work(srnic_qp_wq(qp), &qp->flush_work, delay);
	/* Grow by 1/8: the next delay is short beside the idle time so far. */
	qp->flush_ms = min_t(u32, qp->flush_ms + DIV_ROUND_UP(qp->flush_ms, 8),
			     SRNIC_FLUSH_MAX_MS);
}

/*
 * Flush the QP at the end of its stream. A ULP may modify the QP as soon as it
 * polls a flushed completion, so the state is ERROR before the flush begins.
 */
void srnic_qp_forget(struct srnic_qp *qp)
{
	struct srnic_upcalls up = {};

	mutex_lock(&qp->tx.lock);
	srnic_state_event(qp, SRNIC_EV_FORGET);
	qp_flush_locked(qp, &up);
	mutex_unlock(&qp->tx.lock);
	srnic_cq_call(&up);
}

/* Flush what was posted in ERROR, and poll an application's rings for more. */
static void srnic_qp_flush_work(struct work_struct *work)
{
	struct srnic_qp *qp = container_of(to_delayed_work(work),
					   struct srnic_qp, flush_work);
	struct srnic_upcalls up = {};

	mutex_lock(&qp->tx.lock);
	qp_flush_locked(qp, &up);
	mutex_unlock(&qp->tx.lock);
	srnic_cq_call(&up);
}

void srnic_qp_flush_soon(struct srnic_qp *qp)
{
	mod_delayed_work(srnic_qp_wq(qp), &qp->flush_work, 0);
}

void srnic_qp_setup(struct srnic_qp *qp)
{
	kref_init(&qp->ref);
	init_completion(&qp->free);
	spin_lock_init(&qp->lock);
	spin_lock_init(&qp->sq.lock);
	spin_lock_init(&qp->rq.lock);
	INIT_DELAYED_WORK(&qp->flush_work, srnic_qp_flush_work);
	INIT_WORK(&qp->event_work, srnic_qp_event_work);
	qp->flush_ms = SRNIC_FLUSH_MIN_MS;
	qp->found = get_completed_synchronize_rcu();
	/* Begin in INIT: RNICs have no RESET, where receives are refused. */
	qp->idle_state = IB_QPS_INIT;
	srnic_rx_setup(qp);
	srnic_tx_setup(qp);
}

static void qp_release(struct kref *ref)
{
	complete(&container_of(ref, struct srnic_qp, ref)->free);
}

void srnic_qp_put(struct srnic_qp *qp)
{
	kref_put(&qp->ref, qp_release);
}

/*
 * QPNs are assigned in turn, so that a QPN stays unused for a while after its
 * QP was destroyed: an application must not take completions of the old QP,
 * which may still be in its CQ, for those of a new QP. QPNs are assigned from
 * the lowest range in which three of four QPNs are free, so that QPs share the
 * nodes of an XArray. An XArray needs a node for every 64 QPNs of which any is
 * used, and nodes above these: to allocate and free a node for a single QP
 * costs as much as to create a queue. That holds for the tables of the RDMA
 * core and of iw_mpa, too.
 *
 * The caller has counted the new QP in @dev->objects.
 */
int srnic_qp_take_number(struct srnic_dev *dev, u32 *qpn)
{
	u32 live = atomic_read(&dev->objects.qp);
	u32 max = max_t(u32, XA_CHUNK_MASK, roundup_pow_of_two(4 * live) - 1);
	int err;

	BUILD_BUG_ON(roundup_pow_of_two(4 * SRNIC_MAX_QP) - 1 > QP_MAX_NUMBER);
	err = xa_alloc_cyclic_irq(&dev->qps, qpn, NULL, XA_LIMIT(1, max),
				  &dev->next_qpn, GFP_KERNEL);
	return err < 0 ? -ENOMEM : 0;
}

/*
 * Returns true if iw_get_qp must not find the QP for a new connection. iw_cm
 * lets a ULP accept the same connection once more, with the same QP, until
 * iw_cm has handled ESTABLISHED, an event that follows open_tx; it then calls
 * iw_get_qp again. So iw_get_qp finds a responder's QP until SRNIC_FOUND_S
 * seconds after open_tx, longer than iw_cm takes to handle that event.
 */
static bool qp_is_taken(struct srnic_qp *qp)
{
	u32 now = ktime_get_seconds();
	bool taken;

	lockdep_assert_held(&qp->dev->qps.xa_lock);
	spin_lock(&qp->lock);
	taken = qp->params.initiator ||
		(srnic_tx_was_opened(qp->tx.state) &&
		 now - qp->tx.opened > SRNIC_FOUND_S);
	taken &= srnic_state_has_stream(qp->state);
	spin_unlock(&qp->lock);
	return taken;
}

/*
 * iw_cm calls iw_get_qp, which calls this, and then iw_add_ref in one critical
 * section of a spinlock with interrupts off. On real-time kernels, too, that is
 * an RCU read-side critical section. qp_hide() first hides the QP from lookups,
 * then waits for a grace period that began after the QP was last found. After
 * that each caller that found the QP has taken its reference, or takes none.
 *
 * Returns the QP, without a reference; NULL if there is none, or it is being
 * destroyed, or has a connection that must not be replaced.
 */
struct srnic_qp *srnic_qp_find(struct srnic_dev *dev, u32 qpn)
{
	struct srnic_qp *qp;
	unsigned long flags;

	xa_lock_irqsave(&dev->qps, flags);
	qp = xa_load(&dev->qps, qpn);
	if (qp && (qp->dying || qp_is_taken(qp)))
		qp = NULL;
	if (qp)
		qp->found = get_state_synchronize_rcu();
	xa_unlock_irqrestore(&dev->qps, flags);
	return qp;
}

/* After this no lookup finds the QP, and earlier finders have references. */
static void qp_hide(struct srnic_qp *qp)
{
	unsigned long found;

	xa_lock_irq(&qp->dev->qps);
	spin_lock(&qp->lock);
	WRITE_ONCE(qp->dying, true);
	spin_unlock(&qp->lock);
	found = qp->found;
	xa_unlock_irq(&qp->dev->qps);
	cond_synchronize_rcu_expedited(found);
}

/*
 * End all that uses a QP, so that destroy_qp can free it:
 * 1. qp_hide() hides the QP from iw_get_qp, so no connection begins.
 * 2. iw_mpa_qp_gone() ends the QP's connection. When it returns, the stop op
 *    has returned: no callback of the socket runs, no sender uses the socket,
 *    and the sender's timer, tx.retry, is cancelled.
 * 3. iw_cm drops its references on the QP when it has handled the connection's
 *    events. Until then it may modify the QP to ERR, which queues a flush.
 * 4. After the last reference no work item is queued: RX and the stop op have
 *    ended, the ULP must not post to a QP that it destroys, and work items
 *    check qp->dying before they queue themselves. So a work item that is
 *    cancelled does not run again.
 */
void srnic_qp_end(struct srnic_qp *qp)
{
	struct iw_mpa_qp_end end;

	qp_hide(qp);
	iw_mpa_qp_gone(&qp->ibqp, &end);

	srnic_state_event(qp, SRNIC_EV_ABORT);
	srnic_qp_put(qp);
	wait_for_completion(&qp->free);
	cancel_delayed_work_sync(&qp->flush_work);
	cancel_work_sync(&qp->tx.work);
	cancel_work_sync(&qp->event_work);
	iw_mpa_qp_freed(&end);
}

enum ib_qp_state srnic_qp_state(struct srnic_qp *qp)
{
	switch (srnic_state(qp)) {
	case SRNIC_IDLE:
		return READ_ONCE(qp->idle_state);
	case SRNIC_RTS:
		return IB_QPS_RTS;
	case SRNIC_CLOSING:
		return IB_QPS_SQD;
	case SRNIC_TERMINATE:
		return READ_ONCE(qp->broken_off) ? IB_QPS_ERR : IB_QPS_SQE;
	default:
		return IB_QPS_ERR;
	}
}

static bool qp_is_empty(struct srnic_qp *qp)
{
	bool empty = srnic_sq_is_empty(qp);
	unsigned long flags;

	spin_lock_irqsave(&qp->rq.lock, flags);
	if (!qp->user && !qp->srq)
		empty &= qp->rq.put == qp->rq.get;
	spin_unlock_irqrestore(&qp->rq.lock, flags);
	return empty;
}

/* Discard all posted work without completions; an SRQ keeps its receives. */
static void qp_discard(struct srnic_qp *qp)
{
	struct srnic_rwqe rwqe;
	u32 n;

	lockdep_assert_held(&qp->tx.lock);
	srnic_retire_discard(qp);
	for (n = 0; !qp->srq && n < qp->rq.size; n++) {
		if (srnic_recv_take(qp, &rwqe) == -ENOENT)
			break;
	}
}

/*
 * Return the QP to RESET, INIT or RTR, from which a connection can begin, or
 * keep it there. What was posted in ERROR is flushed first, since it must not
 * be sent on the next connection. A flush copies an application's ring only as
 * far as WQEs are free, and the ring may hold more: a second flush takes the
 * rest. If the application posts more during a flush, the QP stays in ERROR.
 *
 * rdma_accept() of a kernel ULP asks for INIT, then for RTR, and iw_cm lets the
 * ULP call it again until it has handled ESTABLISHED. If modify_qp failed then,
 * rdma_cm would abort the connection and reject it, and the iw_cm of today's
 * kernels would crash on the event of the abort. So for a kernel ULP
 * (@is_kernel) INIT and RTR succeed without effect if a connection cannot begin
 * now.
 */
static int qp_to_idle(struct srnic_qp *qp, enum ib_qp_state state,
		      bool is_kernel)
{
	struct srnic_upcalls up = {};
	int err = 0;
	bool empty;

	mutex_lock(&qp->tx.lock);
	qp_flush_locked(qp, &up);
	if (srnic_sq_has_more(qp))
		qp_flush_locked(qp, &up);
	if (state == IB_QPS_RESET && srnic_state(qp) == SRNIC_IDLE)
		qp_discard(qp);
	empty = qp_is_empty(qp) && !srnic_sq_has_more(qp);
	spin_lock_irq(&qp->lock);
	/* With sq.lock: look once more, and let nothing be posted meanwhile. */
	spin_lock(&qp->sq.lock);
	if (empty && qp->sq.put == qp->sq.get && state != IB_QPS_RTR &&
	    srnic_state_change(qp, SRNIC_EV_RESET) == SRNIC_ERROR)
		qp->flush_ms = SRNIC_FLUSH_MIN_MS;
	spin_unlock(&qp->sq.lock);
	if (qp->state == SRNIC_IDLE)
		WRITE_ONCE(qp->idle_state, state);
	else if (!is_kernel || state == IB_QPS_RESET)
		err = -EINVAL;
	spin_unlock_irq(&qp->lock);
	mutex_unlock(&qp->tx.lock);
	srnic_cq_call_later(&up);
	return err;
}

/* True if no sender runs and the send queue is empty; only a hint. */
static bool qp_is_quiet(struct srnic_qp *qp)
{
	return !mutex_is_locked(&qp->tx.lock) && srnic_sq_is_empty(qp) &&
	       !srnic_sq_has_more(qp);
}

/*
 * iw_cm and librdmacm ask for SQD when a ULP disconnects, even if the
 * connection has ended. So a modify to SQD fails only in IDLE. What is posted
 * after this call is not sent, even if the FIN is sent later. If an
 * application's QP has nothing left to send, iw_mpa_close() tries to send the
 * FIN here. Otherwise iw_mpa's work item lets the sender send what was posted,
 * and then sends the FIN.
 *
 * To send the FIN iw_mpa locks the socket. When iw_mpa unlocks the socket, RX
 * may run and call completion handlers. A verb must not call a kernel ULP's
 * handler (core_locking.rst). But the handler of an application's CQ is the
 * RDMA core's, and only wakes the application.
 */
static int qp_to_closing(struct srnic_qp *qp)
{
	bool quiet = qp->user && qp_is_quiet(qp);
	struct iw_mpa_ep *ep = NULL;
	enum srnic_state from;

	mutex_lock(&qp->tx.lock);
	if (srnic_state_has_stream(srnic_state(qp)))
		srnic_sq_limit(qp);
	spin_lock_irq(&qp->lock);
	from = srnic_state_change(qp, SRNIC_EV_CLOSE);
	if (srnic_state_has_stream(from) && quiet)
		ep = iw_mpa_ep_get(qp->ep);
	else if (srnic_state_has_stream(from))
		iw_mpa_disconnect(qp->ep, false);
	spin_unlock_irq(&qp->lock);
	mutex_unlock(&qp->tx.lock);
	if (ep) {
		iw_mpa_close(ep);
		iw_mpa_ep_put(ep);
	}
	return from == SRNIC_IDLE ? -EINVAL : 0;
}

/* Modify to ERR; without a stream no stop op will flush or report events. */
static int qp_to_err(struct srnic_qp *qp)
{
	enum srnic_state from;

	spin_lock_irq(&qp->lock);
	from = srnic_state_change(qp, SRNIC_EV_ABORT);
	if (srnic_state_has_stream(from)) {
		WRITE_ONCE(qp->broken_off, true);
		iw_mpa_disconnect(qp->ep, true);
	}
	spin_unlock_irq(&qp->lock);
	if (!srnic_state_has_stream(from))
		srnic_qp_flush_soon(qp);
	if (from == SRNIC_IDLE && qp->srq)
		srnic_qp_tell(qp, BIT(IB_EVENT_QP_LAST_WQE_REACHED));
	return 0;
}

static int qp_check(const struct ib_qp_init_attr *init, bool user)
{
	const u32 max_send_sge = user ? SRNIC_MAX_SGE : SRNIC_MAX_SEND_SGE;
	const struct ib_qp_cap *cap = &init->cap;

	if (init->create_flags || init->qp_type != IB_QPT_RC)
		return -EOPNOTSUPP;
	if (!init->send_cq || !init->recv_cq)
		return -EINVAL;
	if (cap->max_send_wr > SRNIC_MAX_WR ||
	    cap->max_send_sge > max_send_sge ||
	    cap->max_inline_data > SRNIC_MAX_INLINE)
		return -EINVAL;
	/* max_recv_wr and _sge are ignored with an SRQ: ibv_create_qp(3). */
	if (!init->srq && (cap->max_recv_wr > SRNIC_MAX_WR ||
			   cap->max_recv_sge > SRNIC_MAX_SGE))
		return -EINVAL;
	return 0;
}

static void qp_destroy_queues(struct srnic_qp *qp)
{
	srnic_rq_destroy(&qp->rq);
	srnic_sq_destroy(&qp->sq);
}

/*
 * Entries of a queue for which @asked were asked. libsiw maps a ring even of
 * size 0, so a process's queue has at least one. ib_drain_qp() posts a work
 * request, for which some ULPs do not ask, and if there is no room it does not
 * wait for the others. So a kernel ULP's queue has room for one more, of which
 * the ULP is not told, also beyond SRNIC_MAX_WR.
 */
static u32 qp_entries(u32 asked, bool user)
{
	return user ? max(asked, 1U) : asked + 1;
}

static int qp_create_queues(struct srnic_qp *qp, const struct ib_qp_cap *cap,
			    struct ib_udata *udata)
{
	struct ib_ucontext *ctx = srnic_ucontext_of(udata);
	struct siw_uresp_create_qp resp = { .qp_id = qp->ibqp.qp_num };
	int err;

	err = srnic_udata_check(udata, sizeof(resp));
	if (err)
		return err;
	err = srnic_sq_create(&qp->sq, qp_entries(cap->max_send_wr, udata),
			      cap->max_send_sge, ctx, &resp.sq_key);
	if (!err && !qp->srq)
		err = srnic_rq_create(&qp->rq,
				      qp_entries(cap->max_recv_wr, udata), ctx,
				      &resp.rq_key);
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
	if (qp->sq.shared) {
		cap->max_send_wr = qp->sq.size;
		cap->max_recv_wr = qp->rq.size;
	}
	if (qp->srq)
		cap->max_recv_wr = 0;
	cap->max_send_sge = max(cap->max_send_sge, 1U);
	cap->max_recv_sge = qp->srq ? 0 : max(cap->max_recv_sge, 1U);
	cap->max_inline_data = SRNIC_MAX_INLINE;
	qp->cap = *cap;
}

/* The QPN is reserved first, but finds the QP only when that is complete. */
int srnic_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init,
		    struct ib_udata *udata)
{
	struct srnic_dev *dev = to_srnic_dev(ibqp->device);
	struct srnic_qp *qp = to_srnic_qp(ibqp);
	int err;

	err = qp_check(init, udata);
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
	err = srnic_cq_join(qp->scq, qp->sq.size);
	if (err)
		goto queues;
	err = srnic_cq_join(qp->rcq, qp->rq.size);
	if (err)
		goto scq;
	xa_store_irq(&dev->qps, ibqp->qp_num, qp, GFP_KERNEL);
	return 0;

scq:
	srnic_cq_leave(qp->scq, qp->sq.size);
queues:
	qp_destroy_queues(qp);
number:
	xa_erase_irq(&dev->qps, ibqp->qp_num);
count:
	atomic_dec(&dev->objects.qp);
	return err;
}

/*
 * modify_qp refuses attributes that iWARP QPs do not have, or that create_qp
 * has fixed. It also refuses a request for an event when the send queue is
 * drained in SQD: an iWARP connection closes in SQD, and iw_cm reports its end.
 */
#define QP_NEVER_MODIFIED	(IB_QP_CAP | IB_QP_QKEY | IB_QP_ALT_PATH | \
				 IB_QP_PATH_MIG_STATE | \
				 IB_QP_EN_SQD_ASYNC_NOTIFY)

/*
 * modify_qp ignores attr->qp_access_flags: rdma_cm chooses these flags,
 * whatever the ULP asks for, and gives no right to the QP of an application
 * that calls rdma_connect(). So only the rights of memory regions are checked.
 *
 * modify_qp must return soon, since libsiw holds spinlocks during the call. It
 * may wait for tx.lock and for the owner of the socket, but never for the peer.
 *
 * Returns 0; -EINVAL if the change is not possible now, or another error.
 */
int srnic_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		    struct ib_udata *udata)
{
	struct srnic_qp *qp = to_srnic_qp(ibqp);
	int err;

	if (mask & (~IB_QP_ATTR_STANDARD_BITS | QP_NEVER_MODIFIED))
		return -EOPNOTSUPP;
	err = srnic_udata_check(udata, 0);
	if (err)
		return err;
	if ((mask & IB_QP_CUR_STATE) &&
	    attr->cur_qp_state != srnic_qp_state(qp))
		return -EINVAL;
	if (!(mask & IB_QP_STATE))
		return 0;
	switch (attr->qp_state) {
	case IB_QPS_RESET:
	case IB_QPS_INIT:
	case IB_QPS_RTR:
		return qp_to_idle(qp, attr->qp_state, !udata);
	case IB_QPS_RTS:
		/* Only prepare sets RTS. */
		return srnic_state(qp) == SRNIC_RTS ? 0 : -EINVAL;
	case IB_QPS_SQD:
		return qp_to_closing(qp);
	case IB_QPS_ERR:
		return qp_to_err(qp);
	default:
		return -EINVAL;
	}
}

int srnic_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		   struct ib_qp_init_attr *init)
{
	struct srnic_qp *qp = to_srnic_qp(ibqp);
	struct srnic_dev *dev = qp->dev;

	*attr = (struct ib_qp_attr) {
		.qp_state		= srnic_qp_state(qp),
		.cur_qp_state		= srnic_qp_state(qp),
		.path_mtu = ib_mtu_int_to_enum(READ_ONCE(dev->netdev->mtu)),
		.qp_access_flags	= IB_ACCESS_LOCAL_WRITE |
					  IB_ACCESS_REMOTE_WRITE |
					  IB_ACCESS_REMOTE_READ,
		.cap			= qp->cap,
		/* handoff_prepare() may write ORD now: either is right. */
		.max_rd_atomic		= data_race(qp->params.ord),
		/* handoff_prepare() may write IRD now: either is right. */
		.max_dest_rd_atomic	= data_race(qp->irq.ird),
		.port_num		= 1,
	};
	*init = (struct ib_qp_init_attr) {
		.event_handler	= ibqp->event_handler,
		.qp_context	= ibqp->qp_context,
		.send_cq	= ibqp->send_cq,
		.recv_cq	= ibqp->recv_cq,
		.srq		= ibqp->srq,
		.cap		= qp->cap,
		.sq_sig_type	= qp->sig_all ? IB_SIGNAL_ALL_WR :
						IB_SIGNAL_REQ_WR,
		.qp_type	= IB_QPT_RC,
	};
	return 0;
}

int srnic_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct srnic_qp *qp = to_srnic_qp(ibqp);
	struct srnic_dev *dev = qp->dev;

	srnic_qp_end(qp);
	srnic_cq_forget(qp->scq, ibqp);
	srnic_cq_forget(qp->rcq, ibqp);
	srnic_cq_leave(qp->scq, qp->sq.size);
	srnic_cq_leave(qp->rcq, qp->rq.size);
	xa_erase_irq(&dev->qps, ibqp->qp_num);
	qp_destroy_queues(qp);
	atomic_dec(&dev->objects.qp);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Completion queues.
 *
 * A kernel ULP's completion queue (CQ) is a ring in the kernel's own memory. An
 * application's CQ is a ring in memory that the application shares with the
 * kernel, to poll and arm the CQ without a system call. The kernel fills an
 * entry of that ring only if SIW_WQE_VALID is clear in the entry. If the
 * application misuses the bit, it can only lose its own completions.
 */

#include "cq.h"
#include "ring.h"

#include <linux/log2.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <rdma/uverbs_ioctl.h>

/* Limit of tries to disarm a CQ that its application arms again and again */
#define CQ_DISARM_TRIES	8
/* Calls of a CQ's handler in a row, before a work item makes the next one */
#define CQ_CALLS	8

/* An application's QP accepts only operations that have a row here. */
static const u8 cq_user_op[SRNIC_WR_COUNT] = {
	[SRNIC_WR_WRITE]	= SIW_OP_WRITE,
	[SRNIC_WR_READ]		= SIW_OP_READ,
	[SRNIC_WR_SEND]		= SIW_OP_SEND,
	[SRNIC_WR_SEND_INV]	= SIW_OP_SEND_REMOTE_INV,
	[SRNIC_WR_RECV]		= SIW_OP_RECEIVE,
};

static const u8 cq_wc_op[SRNIC_WR_COUNT] = {
	[SRNIC_WR_WRITE]	= IB_WC_RDMA_WRITE,
	[SRNIC_WR_READ]		= IB_WC_RDMA_READ,
	[SRNIC_WR_READ_INV]	= IB_WC_RDMA_READ,
	[SRNIC_WR_SEND]		= IB_WC_SEND,
	[SRNIC_WR_SEND_INV]	= IB_WC_SEND,
	[SRNIC_WR_REG]		= IB_WC_REG_MR,
	[SRNIC_WR_INV]		= IB_WC_LOCAL_INV,
	[SRNIC_WR_RECV]		= IB_WC_RECV,
};

static u16 cq_user_status(u8 status)
{
	switch (status) {
	case IB_WC_SUCCESS:
		return SIW_WC_SUCCESS;
	case IB_WC_LOC_LEN_ERR:
		return SIW_WC_LOC_LEN_ERR;
	case IB_WC_LOC_PROT_ERR:
		return SIW_WC_LOC_PROT_ERR;
	case IB_WC_LOC_QP_OP_ERR:
		return SIW_WC_LOC_QP_OP_ERR;
	case IB_WC_WR_FLUSH_ERR:
		return SIW_WC_WR_FLUSH_ERR;
	case IB_WC_REM_INV_REQ_ERR:
		return SIW_WC_REM_INV_REQ_ERR;
	default:
		return SIW_WC_GENERAL_ERR;
	}
}

/* The application clears SIW_WQE_VALID after it has polled the entry. */
static bool cq_put_user(struct srnic_cq *cq, const struct srnic_cqe *cqe)
{
	struct siw_cqe *slot = &cq->uring[cq->put & (cq->size - 1)];

	if (READ_ONCE(slot->flags) & SIW_WQE_VALID)
		return false;
	slot->id = cqe->id;
	slot->opcode = cq_user_op[cqe->op];
	slot->status = cq_user_status(cqe->status);
	slot->bytes = cqe->bytes;
	slot->inval_stag = cqe->inv ? cqe->inv_stag : 0;
	slot->qp_id = cqe->qp->qp_num;
	/* Release: a poller that reads VALID also reads the other fields. */
	smp_store_release(&slot->flags,
			  SIW_WQE_VALID | (cqe->inv ? SIW_WQE_REM_INVAL : 0));
	return true;
}

static bool cq_put_kernel(struct srnic_cq *cq, const struct srnic_cqe *cqe)
{
	if (cq->put - cq->get == cq->size)
		return false;
	cq->kring[cq->put & (cq->size - 1)] = *cqe;
	return true;
}

/*
 * Returns true if the CQ's completion handler must be called for this
 * completion. The ULP has armed the CQ for the kinds of completions in
 * *@cq->notify. Compare and exchange clears that word only if it still has the
 * value that was checked: an application may just have armed the CQ anew, for
 * solicited completions only, and this completion may be unsolicited. If an
 * application changes the word at each of CQ_DISARM_TRIES tries, the handler is
 * called anyway.
 */
static bool cq_disarm(struct srnic_cq *cq, bool solicited)
{
	u32 wanted = SIW_NOTIFY_NEXT_COMPLETION |
		     (solicited ? SIW_NOTIFY_SOLICITED : 0);
	u32 armed;
	int tries;

	/*
	 * srnic writes the completion's entry, then reads *@notify. The ULP
	 * writes *@notify, then reads entries (srnic_req_notify_cq(), libsiw).
	 * So at least one of both reads what the other wrote, and no completion
	 * is missed.
	 */
	smp_mb();
	armed = READ_ONCE(*cq->notify);
	for (tries = 0; tries < CQ_DISARM_TRIES; tries++) {
		if (!(armed & wanted))
			return false;
		if (try_cmpxchg(cq->notify, &armed, SIW_NOTIFY_NOT))
			return true;
	}
	return true;
}

static void upcalls_add(struct srnic_upcalls *up, struct srnic_cq *cq)
{
	int i;

	for (i = 0; i < SRNIC_UPCALLS; i++) {
		if (up->cq[i] == cq)
			return;
		if (!up->cq[i]) {
			up->cq[i] = cq;
			return;
		}
	}
}

static void cq_queue_event(struct srnic_cq *cq, enum srnic_cq_due due)
{
	/* Set the bit before queueing the work, whose next run reads it. */
	set_bit(due, &cq->due);
	queue_work(srnic_event_wq, &cq->event_work);
}

/*
 * If the CQ's ring is full the completion is lost: the ULP gets
 * IB_EVENT_CQ_ERR, and @up->full is set, so RX or the sender ends the QP's
 * stream. No entry is added for a QP that destroy_qp is destroying: the entry
 * has a pointer to the QP, which may be freed before the ULP polls the entry.
 */
void srnic_cq_put(struct srnic_cq *cq, const struct srnic_cqe *cqe,
		  bool solicited, struct srnic_upcalls *up)
{
	unsigned long flags;
	bool fits;

	if (READ_ONCE(to_srnic_qp(cqe->qp)->dying))
		return;
	spin_lock_irqsave(&cq->lock, flags);
	fits = cq->uring ? cq_put_user(cq, cqe) : cq_put_kernel(cq, cqe);
	if (fits) {
		cq->put++;
		if (cq_disarm(cq, solicited || cqe->status != IB_WC_SUCCESS))
			upcalls_add(up, cq);
	} else {
		up->full = true;
		srnic_count(to_srnic_qp(cqe->qp)->dev, cqe_lost);
		if (!cq->overflowed) {
			cq->overflowed = true;
			cq_queue_event(cq, SRNIC_CQ_LOST);
		}
	}
	spin_unlock_irqrestore(&cq->lock, flags);
}

/*
 * Call the CQ's completion handler until no call is due. The caller has raised
 * @upcalls, the number of due calls, from 0. An application that arms its CQ
 * again and again could make calls due as fast as they are made. So after
 * CQ_CALLS calls a work item makes the next one, so that other softirqs can
 * run first.
 */
static void cq_call(struct srnic_cq *cq)
{
	int due, calls;

	for (calls = 0; calls < CQ_CALLS; calls++) {
		due = atomic_read(&cq->upcalls);
		cq->ibcq.comp_handler(&cq->ibcq, cq->ibcq.cq_context);
		if (!atomic_sub_return(due, &cq->upcalls))
			return;
	}
	/* Release: the handler's writes precede its call on another CPU. */
	atomic_set_release(&cq->upcalls, 0);
	cq_queue_event(cq, SRNIC_CQ_CALL);
}

/*
 * A CQ's completion handler must not run on two CPUs at once
 * (Documentation/infiniband/core_locking.rst). If it is running on another CPU,
 * this function only raises the CQ's @upcalls, and that CPU calls the handler
 * once more.
 *
 * TCP may run RX, which calls this function, in the task of a sender that may
 * use the emergency reserves of memory (PF_MEMALLOC). This flag is cleared for
 * the handler, since what a ULP allocates there must not use the reserves.
 */
void srnic_cq_call_due(struct srnic_upcalls *up)
{
	bool reserves = current->flags & PF_MEMALLOC;
	int i;

	/* No needless write of current->flags, which other CPUs may read */
	if (reserves)
		current->flags &= ~PF_MEMALLOC;
	for (i = 0; i < SRNIC_UPCALLS && up->cq[i]; i++) {
		local_bh_disable();
		if (!atomic_fetch_inc(&up->cq[i]->upcalls))
			cq_call(up->cq[i]);
		local_bh_enable();
		up->cq[i] = NULL;
	}
	if (reserves)
		current->flags |= PF_MEMALLOC;
}

/*
 * Leave the due calls of completion handlers to work items. modify_qp does
 * that: a kernel ULP may call a verb with locks held that the ULP's handler
 * takes, so a verb must not call the handler of a kernel ULP
 * (Documentation/infiniband/core_locking.rst).
 */
void srnic_cq_call_later(struct srnic_upcalls *up)
{
	int i;

	for (i = 0; i < SRNIC_UPCALLS && up->cq[i]; i++) {
		cq_queue_event(up->cq[i], SRNIC_CQ_CALL);
		up->cq[i] = NULL;
	}
}

static void cq_to_wc(const struct srnic_cqe *cqe, struct ib_wc *wc)
{
	*wc = (struct ib_wc) {
		.wr_id		= cqe->id,
		.status		= cqe->status,
		.opcode		= cq_wc_op[cqe->op],
		.byte_len	= cqe->bytes,
		.qp		= cqe->qp,
		.port_num	= 1,
	};
	if (cqe->inv) {
		wc->wc_flags = IB_WC_WITH_INVALIDATE;
		wc->ex.invalidate_rkey = cqe->inv_stag;
	}
}

int srnic_poll_cq(struct ib_cq *ibcq, int max, struct ib_wc *wc)
{
	struct srnic_cq *cq = to_srnic_cq(ibcq);
	unsigned long flags;
	int n = 0;

	if (cq->uring)
		return 0;
	spin_lock_irqsave(&cq->lock, flags);
	for (; n < max && cq->get != cq->put; n++) {
		if (cq->get == cq->gap)
			cq->get = cq->gap_end;
		cq_to_wc(&cq->kring[cq->get++ & (cq->size - 1)], &wc[n]);
	}
	spin_unlock_irqrestore(&cq->lock, flags);
	return n;
}

/*
 * Remove some of @qp's entries from a kernel ULP's ring. Entries of other QPs
 * move down over the removed ones. This leaves a gap of void entries, from @gap
 * up to @gap_end; entries from @gap_end on were not checked yet. The caller
 * drops cq->lock between two calls. If the ULP has polled entries beyond
 * @gap_end since the last call, this call begins with an empty gap at @get.
 * Returns false if all entries were checked.
 */
static bool cq_forget_step(struct srnic_cq *cq, const struct ib_qp *qp)
{
	int n;

	lockdep_assert_held(&cq->lock);
	if ((s32)(cq->get - cq->gap_end) > 0) {
		cq->gap = cq->get;
		cq->gap_end = cq->get;
	}
	for (n = 0; n < SRNIC_QUEUE_STEP && cq->gap_end != cq->put; n++) {
		const struct srnic_cqe *cqe =
			&cq->kring[cq->gap_end++ & (cq->size - 1)];

		if (cqe->qp != qp)
			cq->kring[cq->gap++ & (cq->size - 1)] = *cqe;
	}
	return cq->gap_end != cq->put;
}

/* Remove @qp's entries in steps: all at once would keep interrupts off long. */
void srnic_cq_forget(struct srnic_cq *cq, const struct ib_qp *qp)
{
	if (cq->uring)
		return;
	mutex_lock(&cq->arrange);
	spin_lock_irq(&cq->lock);
	cq->gap = cq->get;
	cq->gap_end = cq->get;
	while (cq_forget_step(cq, qp)) {
		spin_unlock_irq(&cq->lock);
		cond_resched();
		spin_lock_irq(&cq->lock);
	}
	cq->put = cq->gap;
	cq->gap_end = cq->gap;
	spin_unlock_irq(&cq->lock);
	mutex_unlock(&cq->arrange);
}

/*
 * Replace a kernel ULP's ring by a larger one, copying the entries in steps: to
 * copy a whole ring at once would keep interrupts off for too long. The
 * allocation must not start I/O: ULPs share the CQs of the RDMA core's pool, so
 * a ULP that serves storage may wait for @cq->arrange, which the caller holds.
 */
static int cq_grow(struct srnic_cq *cq, u32 size)
{
	unsigned int noio = memalloc_noio_save();
	struct srnic_cqe *ring = kvcalloc(size, sizeof(*ring), GFP_KERNEL);
	u32 at;

	memalloc_noio_restore(noio);
	lockdep_assert_held(&cq->arrange);
	if (!ring)
		return -ENOMEM;
	spin_lock_irq(&cq->lock);
	for (at = cq->get; at != cq->put; at++) {
		ring[at & (size - 1)] = cq->kring[at & (cq->size - 1)];
		if (at % SRNIC_QUEUE_STEP)
			continue;
		spin_unlock_irq(&cq->lock);
		cond_resched();
		spin_lock_irq(&cq->lock);
	}
	swap(cq->kring, ring);
	cq->size = size;
	spin_unlock_irq(&cq->lock);
	kvfree(ring);
	return 0;
}

/*
 * A queue of a QP, with @entries work requests, completes to @cq from now on. A
 * flush of that queue completes each work request, unsignaled ones, too. A
 * kernel ULP does not count unsignaled ones when it chooses the size of @cq,
 * but waits for the completion of a later work request (ib_drain_qp()), which
 * must not be lost. So @cq's ring has room for all @entries beside the entries
 * that the ULP has asked for. An application chooses the size of its ring
 * itself.
 *
 * Returns 0; -ENOMEM.
 */
int srnic_cq_join(struct srnic_cq *cq, u32 entries)
{
	u32 size;
	int err = 0;

	if (!cq->uring) {
		mutex_lock(&cq->arrange);
		size = roundup_pow_of_two(cq->ibcq.cqe + cq->extra + entries);
		if (cq->extra + entries > SRNIC_MAX_CQE)
			err = -ENOMEM;
		else if (size > cq->size)
			err = cq_grow(cq, size);
		if (!err)
			cq->extra += entries;
		mutex_unlock(&cq->arrange);
	}
	if (!err)
		atomic_inc(&cq->users);
	return err;
}

/*
 * A QP's queue that joined @cq with @entries work requests leaves it.
 *
 * When a kernel ULP frees a CQ, the RDMA core first cancels its own work item
 * of the CQ, then calls destroy_cq. A call of the CQ's completion handler in
 * between would queue that work item again. So the last QP that leaves @cq
 * waits until no call of the handler is due; without a QP no further call
 * becomes due.
 */
void srnic_cq_leave(struct srnic_cq *cq, u32 entries)
{
	if (!cq->uring) {
		mutex_lock(&cq->arrange);
		cq->extra -= entries;
		mutex_unlock(&cq->arrange);
	}
	if (!atomic_dec_and_test(&cq->users) || cq->uring)
		return;
	/* Flush again if cq_call() has queued the work item once more. */
	while (flush_work(&cq->event_work))
		;
}

static bool cq_has_some(const struct srnic_cq *cq)
{
	if (cq->uring)
		return READ_ONCE(cq->uring[(cq->put - 1) & (cq->size - 1)]
				 .flags) & SIW_WQE_VALID;
	return cq->get != cq->put;
}

int srnic_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags)
{
	struct srnic_cq *cq = to_srnic_cq(ibcq);
	bool solicited = (flags & IB_CQ_SOLICITED_MASK) == IB_CQ_SOLICITED;
	u32 keep = SIW_NOTIFY_NEXT_COMPLETION;
	unsigned long irq;
	int missed;

	spin_lock_irqsave(&cq->lock, irq);
	/* Arming for solicited completions must not disarm for the others. */
	if (solicited)
		keep = READ_ONCE(*cq->notify) & SIW_NOTIFY_NEXT_COMPLETION;
	WRITE_ONCE(*cq->notify, SIW_NOTIFY_SOLICITED | keep);
	/* Write @notify, then read entries: pairs with cq_disarm(). */
	smp_mb();
	missed = (flags & IB_CQ_REPORT_MISSED_EVENTS) && cq_has_some(cq);
	spin_unlock_irqrestore(&cq->lock, irq);
	return missed;
}

static void cq_event_work(struct work_struct *work)
{
	struct srnic_cq *cq = container_of(work, struct srnic_cq, event_work);
	struct ib_event event = {
		.device		= cq->ibcq.device,
		.element.cq	= &cq->ibcq,
		.event		= IB_EVENT_CQ_ERR,
	};
	struct srnic_upcalls up = {};

	if (test_and_clear_bit(SRNIC_CQ_CALL, &cq->due)) {
		up.cq[0] = cq;
		srnic_cq_call(&up);
	}
	if (!test_and_clear_bit(SRNIC_CQ_LOST, &cq->due))
		return;
	if (!cq->uring)
		pr_err("srnic: %s: completions lost: a queue for %d of them was not polled\n",
		       dev_name(&cq->ibcq.device->dev), cq->ibcq.cqe);
	if (cq->ibcq.event_handler)
		cq->ibcq.event_handler(&event, cq->ibcq.cq_context);
}

void srnic_cq_setup(struct srnic_cq *cq)
{
	spin_lock_init(&cq->lock);
	mutex_init(&cq->arrange);
	atomic_set(&cq->users, 0);
	atomic_set(&cq->upcalls, 0);
	INIT_WORK(&cq->event_work, cq_event_work);
	cq->notify = &cq->armed;
}

static int cq_create_user(struct srnic_cq *cq, struct ib_udata *udata)
{
	struct siw_uresp_create_cq resp = { .num_cqe = cq->size };
	size_t len = cq->size * sizeof(*cq->uring);
	struct siw_cq_ctrl *ctrl;
	struct srnic_ring *ring;
	int err;

	err = srnic_udata_check(udata, sizeof(resp));
	if (err)
		return err;
	ring = srnic_ring_create(srnic_ucontext_of(udata), len + sizeof(*ctrl),
				 &resp.cq_key);
	if (IS_ERR(ring))
		return PTR_ERR(ring);
	ctrl = ring->va + len;
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

/* All QPs have left the CQ: no further call of its handler becomes due. */
int srnic_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct srnic_dev *dev = to_srnic_dev(ibcq->device);
	struct srnic_cq *cq = to_srnic_cq(ibcq);

	cancel_work_sync(&cq->event_work);
	srnic_ring_destroy(cq->ring);
	kvfree(cq->kring);
	atomic_dec(&dev->objects.cq);
	return 0;
}

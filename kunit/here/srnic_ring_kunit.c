// SPDX-License-Identifier: GPL-2.0
/* Rings that applications share with srnic: their pages and elements; and completion queues */

#include "iw_mpa_no_core.h"
#include "srnic_pair.h"

#include <linux/delay.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/timer.h>
#include <linux/vmalloc.h>

#include "ring.h"
#include "sq.h"

/* Make a ring, as a verb does that an application has called */
static struct srnic_ring *ring_new(size_t size, u64 *key)
{
	struct srnic_ring *ring;

	no_core_process_begin();
	ring = srnic_ring_create(NULL, size, key);
	no_core_process_end();
	return ring;
}

/* A ring of one page or of several is zeroed, contiguous in the kernel, and has a key for mmap() */
static void ring_any_size_mapped_in_a_row(struct kunit *test)
{
	static const size_t sizes[] = { 1, PAGE_SIZE, PAGE_SIZE + 1, 5 * PAGE_SIZE };
	struct srnic_ring *ring;
	u64 key;
	int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		ring = ring_new(sizes[i], &key);
		KUNIT_ASSERT_FALSE(test, IS_ERR_OR_NULL(ring));
		KUNIT_EXPECT_EQ(test, ring->npages, DIV_ROUND_UP(sizes[i], PAGE_SIZE));
		KUNIT_EXPECT_EQ(test, no_core.entry->npages, ring->npages);
		KUNIT_EXPECT_EQ(test, key, (u64)no_core.entry->start_pgoff << PAGE_SHIFT);
		KUNIT_EXPECT_PTR_EQ(test, memchr_inv(ring->va, 0, ring->npages * PAGE_SIZE), NULL);
		memset(ring->va, i + 1, ring->npages * PAGE_SIZE);
		KUNIT_EXPECT_EQ(test, *(u8 *)page_address(ring->pages[ring->npages - 1]), i + 1);
		srnic_ring_destroy(ring);
		KUNIT_EXPECT_PTR_EQ(test, no_core.entry, NULL);
	}
	srnic_ring_destroy(NULL);
}

/* srnic_ring_create() fails if the RDMA core has no key for mmap(), or if there is no memory. */
static void ring_that_cannot_be_is_told(struct kunit *test)
{
	size_t size;
	u64 key;

	no_core.insert_err = -EBUSY;
	KUNIT_EXPECT_EQ(test, PTR_ERR(ring_new(1, &key)), -EBUSY);
	KUNIT_EXPECT_EQ(test, PTR_ERR(ring_new(3 * PAGE_SIZE, &key)), -EBUSY);
	no_core.insert_err = 0;
	/* The array of pointers to the ring's pages alone exceeds the machine's memory. */
	size = (totalram_pages() / sizeof(void *) + 1) << (2 * PAGE_SHIFT);
	KUNIT_EXPECT_EQ(test, PTR_ERR(ring_new(size, &key)), -ENOMEM);
}

/*
 * The memory of a ring counts against RLIMIT_MEMLOCK of the process that made the ring
 * (mm->pinned_vm) until the ring is destroyed, even if another process destroys it. A ring that
 * could not be made does not count.
 */
static void ring_counts_as_locked_memory(struct kunit *test)
{
	struct mm_struct *mm = no_core_process_begin();
	s64 before = atomic64_read(&mm->pinned_vm);
	struct srnic_ring *ring;
	u64 key;

	ring = srnic_ring_create(NULL, 3 * PAGE_SIZE + 1, &key);
	no_core.insert_err = -EBUSY;
	KUNIT_EXPECT_EQ(test, PTR_ERR(srnic_ring_create(NULL, PAGE_SIZE, &key)), -EBUSY);
	no_core.insert_err = 0;
	no_core_process_end();
	KUNIT_ASSERT_FALSE(test, IS_ERR_OR_NULL(ring));
	KUNIT_EXPECT_EQ(test, atomic64_read(&mm->pinned_vm), before + 4);
	srnic_ring_destroy(ring);
	KUNIT_EXPECT_EQ(test, atomic64_read(&mm->pinned_vm), before);
}

/* mmap() without a ring, or longer than the ring, fails, and keeps no reference on the entry. */
static void ring_mmap_of_another_size_refused(struct kunit *test)
{
	struct vm_area_struct vma = { .vm_start = 0, .vm_end = 3 * PAGE_SIZE };
	struct srnic_ring *ring;
	u64 key;

	KUNIT_EXPECT_EQ(test, srnic_ring_mmap(NULL, &vma), -EINVAL);
	ring = ring_new(2 * PAGE_SIZE, &key);
	KUNIT_ASSERT_FALSE(test, IS_ERR_OR_NULL(ring));
	KUNIT_EXPECT_EQ(test, srnic_ring_mmap(NULL, &vma), -ENXIO);
	KUNIT_EXPECT_EQ(test, no_core.refs, 0);
	srnic_ring_destroy(ring);
}

/* Each flag of an element of an application's send ring sets its flag of the WQE, and no other */
static void wqe_flags_of_user_exact(struct kunit *test)
{
	static const struct {
		u16	flag;
		u8	set;
	} rows[] = {
		{ 0, 0 },
		{ SIW_WQE_SIGNALLED, SRNIC_WQE_SIGNALED },
		{ SIW_WQE_SOLICITED, SRNIC_WQE_SOLICITED },
		{ SIW_WQE_READ_FENCE, SRNIC_WQE_FENCE },
		{ SIW_WQE_VALID | SIW_WQE_REM_INVAL | SIW_WQE_COMPLETED, 0 },
	};
	struct pair *p = test->priv;
	struct srnic_qp *qp = p->end[0].qp;
	struct srnic_wqe wqe;
	int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct siw_sqe sqe = { .opcode = SIW_OP_SEND, .flags = rows[i].flag };

		qp->sig_all = false;
		srnic_wqe_fill_user(qp, &wqe, &sqe);
		KUNIT_EXPECT_EQ(test, wqe.flags, rows[i].set);
		qp->sig_all = true;
		srnic_wqe_fill_user(qp, &wqe, &sqe);
		KUNIT_EXPECT_EQ(test, wqe.flags, rows[i].set | SRNIC_WQE_SIGNALED);
	}
}

/* A post of REG_MR with access rights that no region can have fails at once. */
static void wqe_registration_with_impossible_rights_refused(struct kunit *test)
{
	static const struct {
		int	access;
		int	err;
	} rows[] = {
		{ 0, 0 },
		{ IB_ACCESS_REMOTE_READ, 0 },
		{ IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE, 0 },
		{ IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_ATOMIC, 0 },
		{ IB_ACCESS_LOCAL_WRITE | IB_ACCESS_RELAXED_ORDERING, 0 },
		{ IB_ACCESS_REMOTE_WRITE, -EINVAL },
		{ IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ, -EINVAL },
		{ IB_ACCESS_REMOTE_ATOMIC, -EINVAL },
		{ IB_ACCESS_LOCAL_WRITE | IB_ACCESS_MW_BIND, -EOPNOTSUPP },
		{ IB_ACCESS_ON_DEMAND, -EOPNOTSUPP },
		{ IB_ACCESS_LOCAL_WRITE | BIT(10), -EOPNOTSUPP },
	};
	struct pair *p = test->priv;
	struct srnic_mr *mr = pair_fast(p, p->end[0].mem, 100, 0);
	struct ib_reg_wr wr = {
		.wr.opcode = IB_WR_REG_MR, .mr = &mr->ibmr, .key = mr->ibmr.rkey,
	};
	struct srnic_wqe wqe;
	int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		wr.access = rows[i].access;
		KUNIT_EXPECT_EQ_MSG(test, srnic_wqe_fill(p->end[0].qp, &wqe, &wr.wr), rows[i].err,
				    "%#x", wr.access);
	}
}

/* srnic sets each field that an application reads from an element of its completion queue. */
static void cq_user_entry_exact(struct kunit *test)
{
	struct pair *p = test->priv;
	struct srnic_cq *cq = &p->end[0].scq;
	struct srnic_cqe cqe = {
		.id = 0x123456789abcdef0, .bytes = 4711, .inv = true, .inv_stag = 0x4242,
		.qp = &p->end[1].qp->ibqp,
	};
	struct srnic_upcalls up = {};
	struct siw_cqe *slot;
	u32 word = 0;

	slot = kunit_kcalloc(test, PAIR_CQES, sizeof(*slot), GFP_KERNEL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, slot);
	cq->uring = slot;
	cq->notify = &word;
	srnic_cq_put(cq, &cqe, false, &up);
	KUNIT_EXPECT_EQ(test, slot->flags, SIW_WQE_VALID | SIW_WQE_REM_INVAL);
	KUNIT_EXPECT_EQ(test, slot->id, cqe.id);
	KUNIT_EXPECT_EQ(test, slot->bytes, 4711);
	KUNIT_EXPECT_EQ(test, slot->inval_stag, 0x4242);
	KUNIT_EXPECT_EQ(test, slot->qp_id, 2);
	KUNIT_EXPECT_EQ(test, slot->status, SIW_WC_SUCCESS);
	cqe.inv = false;
	srnic_cq_put(cq, &cqe, false, &up);
	KUNIT_EXPECT_EQ(test, slot[1].flags, SIW_WQE_VALID);
	KUNIT_EXPECT_EQ(test, slot[1].inval_stag, 0);
}

/* The status of an application's completion is translated to libsiw's code for it */
static void cq_user_status_exact(struct kunit *test)
{
	static const struct {
		enum ib_wc_status	status;
		u16			user;
	} rows[] = {
		{ IB_WC_SUCCESS, SIW_WC_SUCCESS },
		{ IB_WC_LOC_LEN_ERR, SIW_WC_LOC_LEN_ERR },
		{ IB_WC_LOC_PROT_ERR, SIW_WC_LOC_PROT_ERR },
		{ IB_WC_LOC_QP_OP_ERR, SIW_WC_LOC_QP_OP_ERR },
		{ IB_WC_WR_FLUSH_ERR, SIW_WC_WR_FLUSH_ERR },
		{ IB_WC_REM_INV_REQ_ERR, SIW_WC_REM_INV_REQ_ERR },
		{ IB_WC_GENERAL_ERR, SIW_WC_GENERAL_ERR },
	};
	struct pair *p = test->priv;
	struct srnic_upcalls up = {};
	struct siw_cqe *slot;
	u32 word = 0;
	int i;

	slot = pair_user_cq(test, &p->end[0].scq, &word);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct srnic_cqe cqe = {
			.qp = &p->end[0].qp->ibqp, .status = rows[i].status,
		};

		srnic_cq_put(&p->end[0].scq, &cqe, false, &up);
		KUNIT_EXPECT_EQ_MSG(test, slot[i].status, rows[i].user, "row %d", i);
	}
}

/* A completion queue overflows at its size, not earlier, even if its indices wrap at 2^32. */
static void cq_full_at_any_place(struct kunit *test)
{
	struct pair *p = test->priv;
	struct srnic_cq *cq = &p->end[0].scq;
	struct srnic_cqe cqe = { .qp = &p->end[0].qp->ibqp };
	struct srnic_upcalls up = {};
	struct ib_wc wc;
	u32 i;

	cq->overflowed = true;		/* not reported again: there is no ULP */
	cq->put = U32_MAX - 5;
	cq->get = cq->put;
	for (i = 0; i < PAIR_CQES; i++) {
		srnic_cq_put(cq, &cqe, false, &up);
		KUNIT_ASSERT_FALSE(test, up.full);
	}
	srnic_cq_put(cq, &cqe, false, &up);
	KUNIT_EXPECT_TRUE(test, up.full);
	for (i = 0; i < PAIR_CQES; i++)
		KUNIT_ASSERT_EQ(test, pair_poll(cq, &wc), 1);
	KUNIT_EXPECT_EQ(test, pair_poll(cq, &wc), 0);
}

struct ring_calls {
	struct srnic_cq	*cq;
	int		calls;
	int		inside;
	int		most;
	int		more;	/* calls that become due while the handler runs */
	int		by_test;	/* calls of the handler in the test's own task */
	struct task_struct *test;
	struct work_struct *behind;	/* queued by the first call in another task */
};

static void ring_handler(struct ib_cq *ibcq, void *context)
{
	struct ring_calls *calls = context;
	struct srnic_upcalls up = { .cq = { calls->cq } };

	calls->calls++;
	calls->by_test += current == calls->test;
	calls->most = max(calls->most, ++calls->inside);
	if (calls->behind && current != calls->test) {
		queue_work(srnic_event_wq, calls->behind);
		calls->behind = NULL;
	}
	if (calls->more) {
		calls->more--;
		srnic_cq_call(&up);
	}
	calls->inside--;
}

/*
 * If a completion is added while the ULP's comp_handler runs, comp_handler is called again after it
 * has returned: no call is lost, and none is made within another.
 */
static void cq_handler_called_again_not_within_itself(struct kunit *test)
{
	struct pair *p = test->priv;
	struct srnic_cq *cq = &p->end[0].scq;
	struct ring_calls calls = { .cq = cq, .more = 3 };
	struct srnic_upcalls up = { .cq = { cq } };

	cq->ibcq.comp_handler = ring_handler;
	cq->ibcq.cq_context = &calls;
	srnic_cq_call(&up);
	KUNIT_EXPECT_EQ(test, calls.calls, 4);
	KUNIT_EXPECT_EQ(test, calls.most, 1);
	KUNIT_EXPECT_PTR_EQ(test, up.cq[0], NULL);
	up.cq[0] = cq;
	srnic_cq_call(&up);
	KUNIT_EXPECT_EQ(test, calls.calls, 5);
}

#define RING_MORE	1000

/*
 * During each call of comp_handler a completion may make another call due, without end. So after a
 * few calls in a row a work item makes the next one: otherwise srnic's receive path (RX), which
 * calls comp_handler, would never return.
 */
static void cq_handler_called_in_a_row_a_few_times(struct kunit *test)
{
	struct workqueue_struct *wq = alloc_workqueue("srnic_ring_kunit", WQ_PERCPU, 0);
	struct pair *p = test->priv;
	struct srnic_cq *cq = &p->end[0].scq;
	struct ring_calls calls = { .cq = cq, .more = RING_MORE, .test = current };
	struct srnic_upcalls up = { .cq = { cq } };
	int ms;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, wq);
	swap(srnic_event_wq, wq);	/* swapped back at the end */
	cq->ibcq.comp_handler = ring_handler;
	cq->ibcq.cq_context = &calls;
	srnic_cq_call(&up);
	KUNIT_EXPECT_GT(test, calls.by_test, 1);
	KUNIT_EXPECT_LT(test, calls.by_test, 50);
	for (ms = 0; ms < 2000 && READ_ONCE(calls.calls) <= RING_MORE; ms += 20)
		msleep(20);
	swap(srnic_event_wq, wq);
	destroy_workqueue(wq);
	KUNIT_EXPECT_EQ(test, calls.calls, RING_MORE + 1);
	KUNIT_EXPECT_EQ(test, calls.most, 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&cq->upcalls), 0);
	up.cq[0] = cq;
	srnic_cq_call(&up);
	KUNIT_EXPECT_EQ(test, calls.calls, RING_MORE + 2);
}

/*
 * srnic_cq_call_later() leaves it to work items to call comp_handler of a QP's two completion
 * queues. It must not read the array of these two queues, srnic_upcalls.cq, beyond its end.
 */
static void cq_handlers_of_both_queues_called_later(struct kunit *test)
{
	struct workqueue_struct *wq = alloc_workqueue("srnic_ring_kunit", WQ_PERCPU, 0);
	struct pair *p = test->priv;
	struct srnic_cq *cqs[SRNIC_UPCALLS] = { &p->end[0].scq, &p->end[0].rcq };
	struct ring_calls calls[SRNIC_UPCALLS] = {};
	union {
		struct srnic_upcalls	up;
		struct srnic_cq		*cq[SRNIC_UPCALLS + 1];
	} all = { .cq = { cqs[0], cqs[1], cqs[0] } };
	int i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, wq);
	swap(srnic_event_wq, wq);	/* swapped back at the end */
	for (i = 0; i < SRNIC_UPCALLS; i++) {
		calls[i] = (struct ring_calls) { .cq = cqs[i], .test = current };
		cqs[i]->ibcq.comp_handler = ring_handler;
		cqs[i]->ibcq.cq_context = &calls[i];
	}
	srnic_cq_call_later(&all.up);
	swap(srnic_event_wq, wq);
	destroy_workqueue(wq);
	for (i = 0; i < SRNIC_UPCALLS; i++) {
		KUNIT_EXPECT_PTR_EQ(test, all.cq[i], NULL);
		KUNIT_EXPECT_EQ(test, calls[i].calls, 1);
		KUNIT_EXPECT_EQ(test, calls[i].by_test, 0);
	}
	KUNIT_EXPECT_PTR_EQ(test, all.cq[SRNIC_UPCALLS], cqs[0]);
}

static void ring_note_flags(struct ib_cq *ibcq, void *context)
{
	*(unsigned int *)context = current->flags;
}

/*
 * While srnic's sender may use the emergency reserves of memory (PF_MEMALLOC), it calls TCP. Within
 * this call srnic's receive path (RX) may run, and call the ULP's completion handler. What the
 * handler allocates must not use the reserves.
 */
static void cq_handler_does_not_get_the_reserves(struct kunit *test)
{
	struct pair *p = test->priv;
	struct srnic_cq *cq = &p->end[0].scq;
	struct srnic_upcalls up = { .cq = { cq } };
	unsigned int flags = ~0, noreclaim;

	cq->ibcq.comp_handler = ring_note_flags;
	cq->ibcq.cq_context = &flags;
	noreclaim = memalloc_noreclaim_save();
	srnic_cq_call(&up);
	KUNIT_EXPECT_FALSE(test, flags & PF_MEMALLOC);
	KUNIT_EXPECT_TRUE(test, current->flags & PF_MEMALLOC);
	memalloc_noreclaim_restore(noreclaim);
	up.cq[0] = cq;
	srnic_cq_call(&up);
	KUNIT_EXPECT_FALSE(test, current->flags & PF_MEMALLOC);
}

struct ring_blocker {
	struct work_struct	work;
	struct completion	go_on;
};

static void ring_block(struct work_struct *work)
{
	wait_for_completion_timeout(&container_of(work, struct ring_blocker, work)->go_on, 5 * HZ);
}

/* A work item between two that call the handler: meanwhile srnic_cq_leave() must not return. */
static void ring_nap(struct work_struct *unused)
{
	schedule_timeout_uninterruptible(HZ / 10);
}

/*
 * When a kernel ULP frees a completion queue that has no QP any more, the RDMA core first cancels
 * the work item that comp_handler queues, and then calls destroy_cq. A call of comp_handler in
 * between would queue the work item again. So srnic_cq_leave(), which destroy_qp calls for the last
 * QP of the queue, waits until no call of comp_handler is due.
 */
static void cq_last_qp_waits_for_the_handler(struct kunit *test)
{
	struct workqueue_struct *wq = alloc_ordered_workqueue("srnic_ring_kunit", 0);
	struct pair *p = test->priv;
	struct srnic_cq *cq = &p->end[0].scq;
	struct ring_calls calls = { .cq = cq, .more = RING_MORE, .test = current };
	struct srnic_upcalls up = { .cq = { cq } };
	struct ring_blocker blocker;
	struct work_struct nap;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, wq);
	swap(srnic_event_wq, wq);	/* swapped back at the end */
	INIT_WORK_ONSTACK(&nap, ring_nap);
	calls.behind = &nap;
	init_completion(&blocker.go_on);
	INIT_WORK_ONSTACK(&blocker.work, ring_block);
	queue_work(srnic_event_wq, &blocker.work);
	cq->ibcq.comp_handler = ring_handler;
	cq->ibcq.cq_context = &calls;
	KUNIT_ASSERT_EQ(test, srnic_cq_join(cq, 0), 0);
	KUNIT_ASSERT_EQ(test, srnic_cq_join(cq, 0), 0);
	srnic_cq_call(&up);
	/* srnic_cq_leave() does not wait for the handler if the queue has another QP. */
	srnic_cq_leave(cq, 0);
	KUNIT_EXPECT_TRUE(test, test_bit(SRNIC_CQ_CALL, &cq->due));
	complete(&blocker.go_on);
	srnic_cq_leave(cq, 0);
	KUNIT_EXPECT_EQ(test, calls.calls, RING_MORE + 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&cq->upcalls), 0);
	KUNIT_EXPECT_EQ(test, cq->due, 0);
	KUNIT_EXPECT_FALSE(test, work_busy(&cq->event_work));
	/* srnic_cq_leave() does not wait if no call of the handler is due. */
	KUNIT_ASSERT_EQ(test, srnic_cq_join(cq, 0), 0);
	srnic_cq_leave(cq, 0);
	swap(srnic_event_wq, wq);
	destroy_workqueue(wq);
	destroy_work_on_stack(&blocker.work);
	destroy_work_on_stack(&nap);
}

/*
 * srnic_cq_forget() removes the completions of one QP. Those of other QPs stay, in order, wherever
 * they are in the ring.
 */
static void cq_forget_in_a_long_queue_exact(struct kunit *test)
{
	const u32 count = 1024;
	struct pair *p = test->priv;
	struct srnic_cq *cq = &p->end[0].scq;
	struct srnic_upcalls up = {};
	struct ib_wc wc;
	u32 i;

	cq->kring = kunit_kcalloc(test, count, sizeof(*cq->kring), GFP_KERNEL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, cq->kring);
	cq->size = count;
	cq->put = U32_MAX - 300;
	cq->get = cq->put;
	for (i = 0; i < count; i++) {
		const struct srnic_cqe cqe = { .id = i, .qp = &p->end[!(i % 3)].qp->ibqp };

		srnic_cq_put(cq, &cqe, false, &up);
	}
	srnic_cq_forget(cq, &p->end[0].qp->ibqp);
	for (i = 0; i < count; i += 3) {
		KUNIT_ASSERT_EQ(test, pair_poll(cq, &wc), 1);
		KUNIT_EXPECT_EQ(test, wc.wr_id, i);
	}
	KUNIT_EXPECT_EQ(test, pair_poll(cq, &wc), 0);
	KUNIT_EXPECT_FALSE(test, up.full);
}

#define RING_POLLED	300	/* completions, more than a step of srnic_cq_forget() checks */

struct ring_poller {
	struct timer_list	timer;
	struct srnic_cq		*cq;
	int			polled;
};

static void ring_poll(struct timer_list *timer)
{
	struct ring_poller *poller = container_of(timer, struct ring_poller, timer);
	struct ib_wc wc;

	while (poller->polled < RING_POLLED && pair_poll(poller->cq, &wc))
		poller->polled++;
}

/*
 * Between the first two steps of srnic_cq_forget() interrupts are on, and a softirq polls more
 * completions than the first step has checked. None may be lost, or polled twice.
 */
static void cq_polled_past_what_forget_has_seen(struct kunit *test)
{
	const u32 count = 1024, gone = 100;
	struct pair *p = test->priv;
	struct srnic_cq *cq = &p->end[0].scq;
	struct ring_poller poller = { .cq = cq };
	struct srnic_upcalls up = {};
	struct ib_wc wc;
	u32 i;

	cq->kring = kunit_kcalloc(test, count, sizeof(*cq->kring), GFP_KERNEL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, cq->kring);
	cq->size = count;
	for (i = 0; i < count; i++) {
		const struct srnic_cqe cqe = { .id = i, .qp = &p->end[i >= gone].qp->ibqp };

		srnic_cq_put(cq, &cqe, false, &up);
	}
	timer_setup_on_stack(&poller.timer, ring_poll, 0);
	local_irq_disable();
	mod_timer(&poller.timer, jiffies);
	mdelay(3 * jiffies_to_msecs(1));
	srnic_cq_forget(cq, &p->end[0].qp->ibqp);
	local_irq_enable();
	timer_delete_sync(&poller.timer);
	timer_destroy_on_stack(&poller.timer);
	KUNIT_ASSERT_EQ(test, poller.polled, RING_POLLED);
	for (i = gone + RING_POLLED; i < count; i++) {
		KUNIT_ASSERT_EQ(test, pair_poll(cq, &wc), 1);
		KUNIT_EXPECT_EQ(test, wc.wr_id, i);
	}
	KUNIT_EXPECT_EQ(test, pair_poll(cq, &wc), 0);
}

/*
 * Between two steps of srnic_cq_forget() the ring has a gap, left by completions that were removed
 * or moved. A poll skips the gap.
 */
static void cq_poll_jumps_over_the_gap(struct kunit *test)
{
	static const u64 left[] = { 0, 1, 2, 6, 7, 8, 9 };
	struct pair *p = test->priv;
	struct srnic_cq *cq = &p->end[0].scq;
	struct srnic_upcalls up = {};
	struct ib_wc wc[10];
	u64 i;

	for (i = 0; i < 10; i++) {
		const struct srnic_cqe cqe = { .id = i, .qp = &p->end[1].qp->ibqp };

		srnic_cq_put(cq, &cqe, false, &up);
	}
	cq->gap = 3;
	cq->gap_end = 6;
	KUNIT_ASSERT_EQ(test, srnic_poll_cq(&cq->ibcq, ARRAY_SIZE(wc), wc), (int)ARRAY_SIZE(left));
	for (i = 0; i < ARRAY_SIZE(left); i++)
		KUNIT_EXPECT_EQ(test, wc[i].wr_id, left[i]);
	/* All completions were polled, so srnic_cq_forget() finds none, and leaves no gap. */
	srnic_cq_forget(cq, &p->end[0].qp->ibqp);
	KUNIT_EXPECT_EQ(test, cq->put, 10);
	KUNIT_EXPECT_EQ(test, srnic_poll_cq(&cq->ibcq, 1, wc), 0);
}

/*
 * When a QP joins a kernel ULP's completion queue, the queue grows by what the QP can flush.
 * Completions that are in the queue, wrapped around the end of its ring, stay in order. A QP that
 * leaves gives its entries back. A QP is refused if together with it all QPs of the queue would
 * need more than SRNIC_MAX_CQE entries.
 */
static void cq_grows_for_what_can_be_flushed(struct kunit *test)
{
	const u32 size = 4 * SRNIC_QUEUE_STEP;
	struct pair *p = test->priv;
	struct srnic_cq *cq = &p->end[0].scq;
	struct srnic_upcalls up = {};
	struct ib_wc wc;
	u32 i;

	cq->kring = kvcalloc(size, sizeof(*cq->kring), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, cq->kring);
	cq->size = size;
	cq->ibcq.cqe = size;
	cq->put = U32_MAX - size / 2;
	cq->get = cq->put;
	for (i = 0; i < size; i++) {
		const struct srnic_cqe cqe = { .id = i, .qp = &p->end[0].qp->ibqp };

		srnic_cq_put(cq, &cqe, false, &up);
	}
	KUNIT_ASSERT_EQ(test, srnic_cq_join(cq, size + 1), 0);
	KUNIT_EXPECT_EQ(test, cq->size, 4 * size);
	KUNIT_ASSERT_EQ(test, srnic_cq_join(cq, 2 * size - 1), 0);
	KUNIT_EXPECT_EQ(test, cq->size, 4 * size);
	for (; i < 4 * size; i++) {
		const struct srnic_cqe cqe = { .id = i, .qp = &p->end[0].qp->ibqp };

		srnic_cq_put(cq, &cqe, false, &up);
	}
	KUNIT_EXPECT_FALSE(test, up.full);
	for (i = 0; i < 4 * size; i++) {
		KUNIT_ASSERT_EQ(test, pair_poll(cq, &wc), 1);
		KUNIT_EXPECT_EQ(test, wc.wr_id, i);
	}
	KUNIT_EXPECT_EQ(test, pair_poll(cq, &wc), 0);
	srnic_cq_leave(cq, 2 * size - 1);
	KUNIT_EXPECT_EQ(test, cq->extra, size + 1);
	KUNIT_EXPECT_EQ(test, srnic_cq_join(cq, SRNIC_MAX_CQE - size), -ENOMEM);
	KUNIT_EXPECT_EQ(test, cq->extra, size + 1);
	srnic_cq_leave(cq, size + 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&cq->users), 0);
	kvfree(cq->kring);
}

/* An application's completion queue keeps the size that the application chose, when a QP joins. */
static void cq_of_user_does_not_grow(struct kunit *test)
{
	struct pair *p = test->priv;
	struct srnic_cq *cq = &p->end[0].scq;
	struct siw_cqe ring[4] = {};

	cq->uring = ring;
	cq->size = ARRAY_SIZE(ring);
	KUNIT_EXPECT_EQ(test, srnic_cq_join(cq, SRNIC_MAX_CQE + 1), 0);
	KUNIT_EXPECT_EQ(test, cq->size, ARRAY_SIZE(ring));
	KUNIT_EXPECT_EQ(test, atomic_read(&cq->users), 1);
	srnic_cq_leave(cq, SRNIC_MAX_CQE + 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&cq->users), 0);
}

static struct kunit_case ring_cases[] = {
	KUNIT_CASE(ring_any_size_mapped_in_a_row),
	KUNIT_CASE(ring_that_cannot_be_is_told),
	KUNIT_CASE(ring_counts_as_locked_memory),
	KUNIT_CASE(ring_mmap_of_another_size_refused),
	KUNIT_CASE(wqe_flags_of_user_exact),
	KUNIT_CASE(wqe_registration_with_impossible_rights_refused),
	KUNIT_CASE(cq_user_entry_exact),
	KUNIT_CASE(cq_user_status_exact),
	KUNIT_CASE(cq_full_at_any_place),
	KUNIT_CASE(cq_handler_called_again_not_within_itself),
	KUNIT_CASE(cq_handler_called_in_a_row_a_few_times),
	KUNIT_CASE(cq_handlers_of_both_queues_called_later),
	KUNIT_CASE(cq_handler_does_not_get_the_reserves),
	KUNIT_CASE(cq_last_qp_waits_for_the_handler),
	KUNIT_CASE(cq_forget_in_a_long_queue_exact),
	KUNIT_CASE(cq_polled_past_what_forget_has_seen),
	KUNIT_CASE(cq_poll_jumps_over_the_gap),
	KUNIT_CASE(cq_grows_for_what_can_be_flushed),
	KUNIT_CASE(cq_of_user_does_not_grow),
	{}
};

static int ring_init(struct kunit *test)
{
	no_core = (struct no_core) { .mmap_free = srnic_ring_mmap_free };
	return pair_init(test);
}

static struct kunit_suite ring_suite = {
	.name = "srnic_ring",
	.init = ring_init,
	.exit = pair_exit,
	.test_cases = ring_cases,
};

kunit_test_suite(ring_suite);

// SPDX-License-Identifier: GPL-2.0
/* The destruction of a QP while iw_cm still has a reference on the QP and uses it */

#include "srnic_pair.h"

#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/workqueue.h>

#include "qp.h"
#include "tx.h"

#define END_PATIENCE_MS	2000

/* A QP whose destruction is tested, and its work queue */
static struct end_world {
	/* srnic's own work queue, if srnic is loaded; the test's queue replaces it */
	struct workqueue_struct	*wq;
	/* work item that keeps later ones of the test's work queue from running */
	struct work_struct	blocker;
	struct completion	go;	/* lets @blocker end */
	struct srnic_qp		*qp;
	struct completion	ended;	/* completed when srnic_qp_end() has returned */
	bool			queued;	/* a flush was queued when srnic_qp_end() returned */
} end_world;

static void end_block(struct work_struct *work)
{
	wait_for_completion(&end_world.go);
}

static int end_thread(void *unused)
{
	srnic_qp_end(end_world.qp);
	end_world.queued = work_busy(&end_world.qp->flush_work.work);
	complete(&end_world.ended);
	return 0;
}

static int end_init(struct kunit *test)
{
	struct pair *p;

	end_world.wq = srnic_wq;
	srnic_wq = alloc_ordered_workqueue("srnic_destroy_qp_kunit", WQ_MEM_RECLAIM);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, srnic_wq);
	if (pair_init(test))
		return -ENOMEM;
	p = test->priv;
	xa_init_flags(&p->dev->qps, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_IRQ);
	end_world.qp = p->end[0].qp;
	srnic_qp_setup(end_world.qp);
	INIT_WORK(&end_world.blocker, end_block);
	init_completion(&end_world.go);
	init_completion(&end_world.ended);
	queue_work(srnic_wq, &end_world.blocker);
	return 0;
}

/* If a test has failed a flush may still be queued: it runs here, before the QP is freed. */
static void end_exit(struct kunit *test)
{
	complete(&end_world.go);
	destroy_workqueue(srnic_wq);
	srnic_wq = end_world.wq;
	pair_exit(test);
}

static bool end_waits_for_references(void)
{
	int ms;

	for (ms = 0; ms < END_PATIENCE_MS && kref_read(&end_world.qp->ref) > 1; ms += 20)
		msleep(20);
	return kref_read(&end_world.qp->ref) == 1 && !completion_done(&end_world.ended);
}

/*
 * iw_cm, which has a reference on the QP, modifies it to ERR while another task destroys it. The
 * modify queues the flush work item, which must not be queued any more when srnic_qp_end() returns,
 * because the RDMA core then frees the QP.
 */
/* no flush of the QP is queued once srnic_qp_end() has returned */
static void end_flush_by_who_has_a_reference(struct kunit *test)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	struct srnic_qp *qp = end_world.qp;
	struct task_struct *thread;

	kref_get(&qp->ref);
	thread = kthread_run(end_thread, NULL, "srnic_end");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, thread);
	KUNIT_EXPECT_TRUE(test, end_waits_for_references());

	KUNIT_EXPECT_EQ(test, srnic_modify_qp(&qp->ibqp, &attr, IB_QP_STATE, NULL), 0);
	KUNIT_EXPECT_TRUE(test, delayed_work_pending(&qp->flush_work));
	srnic_qp_put(qp);
	wait_for_completion(&end_world.ended);
	KUNIT_EXPECT_FALSE(test, end_world.queued);
}

/* After srnic_qp_end() the QP is freed, so the sender's work item must not be queued any more. */
static void end_takes_back_what_the_sender_queued(struct kunit *test)
{
	struct srnic_qp *qp = end_world.qp;

	srnic_tx_kick(qp);
	KUNIT_EXPECT_TRUE(test, work_pending(&qp->tx.work));
	srnic_qp_end(qp);
	KUNIT_EXPECT_FALSE(test, work_pending(&qp->tx.work));
}

static struct kunit_case end_cases[] = {
	KUNIT_CASE(end_takes_back_what_the_sender_queued),
	KUNIT_CASE(end_flush_by_who_has_a_reference),
	{}
};

static struct kunit_suite end_suite = {
	.name = "srnic_destroy_qp",
	.init = end_init,
	.exit = end_exit,
	.test_cases = end_cases,
};

kunit_test_suite(end_suite);

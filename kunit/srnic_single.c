// SPDX-License-Identifier: GPL-2.0
/* See srnic_single.h. */

#include "srnic_single.h"

#include "../srnic/qp.h"	/* the library has a qp.h, too */

struct single single;

void single_handler(struct ib_event *event, void *unused)
{
	if (single.n < SINGLE_EVENTS)
		single.events[single.n] = event->event;
	single.n++;
}

/* As create_qp does; the work queues are those of a device, if there is one. */
int single_init(struct kunit *test)
{
	struct srnic_qp *qp;

	single = (struct single) { .own = !srnic_wq };
	if (single.own) {
		srnic_wq = alloc_workqueue("srnic_kunit", WQ_MEM_RECLAIM | WQ_PERCPU, 0);
		srnic_user_wq = alloc_workqueue("srnic_kunit_user", WQ_MEM_RECLAIM | WQ_PERCPU, 0);
		srnic_event_wq = alloc_workqueue("srnic_kunit_event",
						 WQ_MEM_RECLAIM | WQ_PERCPU, 0);
	}
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, srnic_wq);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, srnic_user_wq);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, srnic_event_wq);
	if (pair_init(test))
		return -ENOMEM;
	single.p = test->priv;
	xa_init_flags(&single.p->dev->qps, XA_FLAGS_LOCK_IRQ);
	qp = single.p->end[0].qp;
	single.qp = qp;
	srnic_qp_setup(qp);
	qp->ibqp.device = &single.p->dev->ibdev;
	qp->ibqp.event_handler = single_handler;
	return 0;
}

void single_exit(struct kunit *test)
{
	if (single.qp) {
		cancel_delayed_work_sync(&single.qp->rx.work);
		cancel_delayed_work_sync(&single.qp->flush_work);
		cancel_delayed_work_sync(&single.qp->tx.retry);
		cancel_work_sync(&single.qp->tx.work);
		cancel_work_sync(&single.qp->event_work);
		pair_exit(test);
	}
	if (single.own) {
		destroy_workqueue(srnic_event_wq);
		destroy_workqueue(srnic_user_wq);
		destroy_workqueue(srnic_wq);
		srnic_event_wq = NULL;
		srnic_user_wq = NULL;
		srnic_wq = NULL;
	}
}

/* So many in all, since the test began */
void single_expect_events(struct kunit *test, unsigned int n)
{
	flush_work(&single.qp->event_work);
	KUNIT_EXPECT_EQ(test, single.n, n);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * iw_mpa has one work queue for QPs of applications and one for QPs of kernel ULPs: a driver's stop
 * may wait long for a thread of an application, which must not delay kernel ULPs. The first two
 * tests let each queue run one work item at a time per CPU, so that a stop that waits delays all
 * other work items of the same queue on its CPU.
 */

#include "iw_mpa_fakes.h"
#include "ep.h"

#include <linux/lockdep.h>
#include <linux/sched.h>
#include <linux/workqueue.h>

static void queue_set_slots(int slots)
{
	workqueue_set_max_active(iw_mpa_wq, slots);
	workqueue_set_max_active(iw_mpa_user_wq, slots);
}

static void queue_exit(struct kunit *test)
{
	queue_set_slots(WQ_DFL_ACTIVE);
	fakes_exit(test);
}

/* Prepare a connection whose QP, the first one, belongs to an application. */
static struct fake_conn *queue_conn(struct kunit *test)
{
	/* only compared with NULL: a uobject marks an application's QP */
	static struct ib_uqp_object *const object = (void *)1;
	struct fake_conn *c = conn_new(test);

	c->f->qps[0].ib.uobject = object;
	return c;
}

static struct fake_conn *queue_user(struct kunit *test, bool initiator)
{
	struct fake_conn *c = queue_conn(test);

	c->f->qps[0].held = BIT(FAKE_STOP);
	if (initiator)
		conn_active_up(c);
	else
		conn_passive_up(c);
	return c;
}

/* Make a connection of a kernel ULP, with the second QP. */
static struct fake_conn *queue_kernel(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct fakes *f = test->priv;

	*c = (struct fake_conn) {
		.f = f,
		.qp = &f->qps[1],
		.param = { .ird = CONN_IRD, .ord = CONN_ORD, .qpn = 2 },
	};
	c->fid = fake_id_create(f);
	c->listener = peer_listen(f, c->fid, AF_INET);
	KUNIT_ASSERT_EQ(test, fake_connect(c->fid, &c->param), 0);
	conn_answer_dial(c);
	conn_connect(c);
	return c;
}

static void queue_expect_no_wait(struct kunit *test, bool initiator)
{
	struct fake_conn *user = queue_user(test, initiator);
	struct fake_conn *kernel = queue_kernel(test);
	struct fakes *f = test->priv;

	queue_set_slots(1);
	fake_qp_disconnect(user->qp, true);
	FAKE_WAIT(f, strstr(user->qp->log, "stop"));
	fake_qp_disconnect(kernel->qp, true);
	fake_expect_event(kernel->fid, 1, IW_CM_EVENT_CLOSE, 0);
	KUNIT_EXPECT_EQ(test, user->fid->nr_events, 1);
	fake_qp_go_on(user->qp);
	fake_expect_event(user->fid, 1, IW_CM_EVENT_CLOSE, 0);
	fake_expect_closed(user->fid, 2);
	fake_expect_closed(kernel->fid, 2);
}

static void queue_initiator_of_an_application_is_not_in_the_way(struct kunit *test)
{
	queue_expect_no_wait(test, true);
}

static void queue_responder_of_an_application_is_not_in_the_way(struct kunit *test)
{
	queue_expect_no_wait(test, false);
}

static struct iw_mpa_driver_ops queue_drv;
static struct iw_mpa_ep *queue_ep;
static bool queue_pending;

static int queue_look_for_item(struct ib_qp *qp, const struct iw_mpa_handoff *ho)
{
	queue_pending = work_pending(&queue_ep->work);
	return queue_drv.prepare(qp, ho);
}

/*
 * A responder has no QP before iw_accept, so its work item is in the queue for kernel ULPs. If
 * iw_accept binds an application's QP, the work item must leave that queue: otherwise the driver's
 * stop would run in that queue.
 */
static void queue_item_of_an_application_leaves_the_queue_of_others(struct kunit *test)
{
	struct fake_conn *c = queue_conn(test);

	queue_drv = c->f->drv;
	c->f->drv.prepare = queue_look_for_item;
	conn_call(c);
	queue_ep = iw_mpa_ep_find((unsigned long)c->fid->id.provider_data);
	KUNIT_ASSERT_NOT_NULL(test, queue_ep);
	flush_workqueue(iw_mpa_wq);
	iw_mpa_raise(queue_ep, IW_MPA_EV_READABLE);
	KUNIT_EXPECT_TRUE(test, work_pending(&queue_ep->work));
	queue_pending = true;
	conn_accept(c);
	KUNIT_EXPECT_FALSE(test, queue_pending);
	iw_mpa_ep_drop(queue_ep);
	conn_establish(c);
	fake_qp_disconnect(c->qp, true);
	fake_expect_closed(c->fid, 2);
}

#ifdef CONFIG_LOCKDEP
static int queue_known;

static void queue_look(void)
{
	int i;

	for (i = 0; i < current->lockdep_depth; i++)
		queue_known += !strcmp(current->held_locks[i].instance->name, "iw_mpa_runner");
}

static int queue_prepare(struct ib_qp *qp, const struct iw_mpa_handoff *ho)
{
	queue_look();
	return queue_drv.prepare(qp, ho);
}

static void queue_stop(struct ib_qp *qp, enum iw_mpa_reason why)
{
	queue_look();
	queue_drv.stop(qp, why);
}

/*
 * Ops run within iw_accept and within a work item. In both cases iw_mpa holds the lockdep map
 * iw_mpa_runner, so that lockdep compares the locks that ops take with those that are held by tasks
 * that wait for an op to return.
 */
static void queue_runner_is_known_to_lockdep(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	queue_known = 0;
	queue_drv = c->f->drv;
	c->f->drv.prepare = queue_prepare;
	c->f->drv.stop = queue_stop;
	conn_passive_up(c);
	KUNIT_EXPECT_EQ(test, queue_known, 1);
	peer_fin(c->peer);
	fake_expect_closed(c->fid, 2);
	KUNIT_EXPECT_EQ(test, queue_known, 2);
}
#endif

static struct kunit_case queue_cases[] = {
	KUNIT_CASE(queue_initiator_of_an_application_is_not_in_the_way),
	KUNIT_CASE(queue_responder_of_an_application_is_not_in_the_way),
	KUNIT_CASE(queue_item_of_an_application_leaves_the_queue_of_others),
#ifdef CONFIG_LOCKDEP
	KUNIT_CASE(queue_runner_is_known_to_lockdep),
#endif
	{}
};

static struct kunit_suite queue_suite = {
	.name		= "iw_mpa_queue",
	.init		= fakes_init,
	.exit		= queue_exit,
	.test_cases	= queue_cases,
};

kunit_test_suite(queue_suite);

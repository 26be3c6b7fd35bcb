// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of a ULP that accepts a connection twice, or rejects it after accepting it. iw_cm allows
 * both until it has handled ESTABLISHED. But at each further accept iw_cm overwrites its pointer to
 * the QP of the accept before, and so never drops its reference on that QP: iw_mpa has to.
 */

#include "iw_mpa_fakes.h"

#include "device.h"
#include "stats.h"

/*
 * At a second accept with the same QP iw_cm takes another reference on the QP, and never drops the
 * one that it took at the first accept. iw_mpa has to drop it, or destroy_qp would wait for ever.
 */
static void accept_again_is_accepted_once(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	conn_call(c);
	KUNIT_ASSERT_EQ(test, fake_accept(c->fid, &c->param), 0);
	KUNIT_EXPECT_EQ(test, fake_accept(c->fid, &c->param), 0);
	conn_establish(c);
	peer_fin(c->peer);
	fake_expect_event(c->fid, 1, IW_CM_EVENT_CLOSE, 0);
	fake_expect_closed(c->fid, 2);
	KUNIT_EXPECT_EQ(test, c->qp->refs, 1);
}

/* The counter accepted_again counts each further iw_accept. */
static void accept_again_is_counted(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct iw_mpa_device *dev = iw_mpa_device_get(c->f->ibdev);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, dev);
	conn_call(c);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, fake_accept(c->fid, &c->param), 0);
		KUNIT_EXPECT_EQ(test, iw_mpa_count_read(dev->stats, IW_MPA_CNT_accepted_again), i);
	}
	conn_establish(c);
	iw_mpa_device_put(dev);
}

static int accept_with(struct fake_conn *c, u32 qpn)
{
	c->param.qpn = qpn;
	return fake_accept(c->fid, &c->param);
}

/* Expect CLOSE, and then on each of the first @nr_qps QPs one reference, that of its creator. */
static void closed_with_references(struct fake_conn *c, int nr_qps)
{
	struct fakes *f = c->fid->f;
	int i;

	fake_expect_event(c->fid, 1, IW_CM_EVENT_CLOSE, 0);
	fake_expect_closed(c->fid, 2);
	for (i = 0; i < nr_qps; i++)
		KUNIT_EXPECT_EQ(f->test, f->qps[i].refs, 1);
}

/*
 * A second accept that names another QP ends the connection: if the ULP disconnected, iw_cm would
 * modify that other QP to SQD or ERR, and not the connection's QP. At each further accept iw_cm
 * overwrites its pointer to the QP of the accept before, and so never drops the reference that it
 * took on the QP at that accept: iw_mpa drops it.
 */
static void accept_of_another_qp_ends_the_connection(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	int i;

	conn_call(c);
	c->fid->late = true;
	KUNIT_ASSERT_EQ(test, accept_with(c, 1), 0);
	peer_recv_frame(c->f, c->peer, &c->frame);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, accept_with(c, 2), 0);
	KUNIT_EXPECT_EQ(test, accept_with(c, 3), 0);
	peer_expect_eof(c->f, c->peer);
	FAKE_WAIT(c->f, c->fid->nr_held == 2);
	fake_catch_up(c->fid);
	fake_expect_event(c->fid, 0, IW_CM_EVENT_ESTABLISHED, -ECONNABORTED);
	peer_fin(c->peer);
	closed_with_references(c, 3);
}

/*
 * A second accept that names another QP ends the connection also after the RTR message has arrived,
 * while ESTABLISHED is in iw_cm's queue and not handled yet.
 */
static void accept_of_another_qp_ends_what_is_up(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct fakes *f = test->priv;

	conn_call(c);
	c->fid->late = true;
	KUNIT_ASSERT_EQ(test, accept_with(c, 1), 0);
	peer_recv_frame(f, c->peer, &c->frame);
	conn_send_rtr(c);
	FAKE_WAIT(f, c->fid->nr_held == 1);
	KUNIT_EXPECT_EQ(test, accept_with(c, 2), 0);
	peer_expect_eof(f, c->peer);
	FAKE_WAIT(f, c->fid->nr_held == 2);
	fake_catch_up(c->fid);
	fake_expect_event(c->fid, 0, IW_CM_EVENT_ESTABLISHED, 0);
	peer_fin(c->peer);
	closed_with_references(c, 2);
}

/*
 * Have the ULP accept with QP 1, and the peer reset the connection. ESTABLISHED with an error and
 * CLOSE are then in the queue of the fake iw_cm: only fake_catch_up() handles them.
 */
static void accept_and_end_late(struct fake_conn *c, struct fakes *f)
{
	conn_call(c);
	c->fid->late = true;
	KUNIT_ASSERT_EQ(f->test, accept_with(c, 1), 0);
	peer_rst(f, c->peer);
	FAKE_WAIT(f, c->fid->nr_held == 2 && c->fid->refs == 1);
}

/*
 * A further iw_accept returns 0 although the peer has reset the connection. If iw_accept returned
 * an error, iw_cm would set the cm_id to IDLE, and for a cm_id in IDLE iw_cm's handler of the
 * queued ESTABLISHED has a BUG_ON().
 */
static void accept_behind_the_end_is_void(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	accept_and_end_late(c, test->priv);
	KUNIT_EXPECT_EQ(test, accept_with(c, 2), 0);
	KUNIT_EXPECT_EQ(test, accept_with(c, 2), 0);
	KUNIT_EXPECT_EQ(test, accept_with(c, 1), 0);
	fake_catch_up(c->fid);
	fake_expect_event(c->fid, 0, IW_CM_EVENT_ESTABLISHED, -ECONNRESET);
	closed_with_references(c, 2);
}

/*
 * After a connection that was accepted with QP 1 has ended, the ULP accepts twice more, first with
 * QP 1, then with QP 2. Each time iw_cm overwrites its pointer to QP 1, and so never drops the
 * reference that it took on QP 1 at the accept before. When iw_mpa handles these two accepts,
 * iw_get_qp does not find QP 1 any more, as if its destruction had begun. So iw_mpa cannot drop the
 * two references at once: it drops both in iw_mpa_qp_gone().
 */
static void accept_behind_the_end_of_its_qp_is_void(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	accept_and_end_late(c, test->priv);
	c->fid->hide_qp = true;
	KUNIT_EXPECT_EQ(test, accept_with(c, 1), 0);
	c->fid->hide_qp = false;
	KUNIT_EXPECT_EQ(test, accept_with(c, 2), 0);
	KUNIT_EXPECT_EQ(test, READ_ONCE(c->qp->refs), 3);
	fake_qp_gone(c->qp);
	fake_qp_freed(c->qp);
	WRITE_ONCE(c->qp->hidden, false);
	fake_catch_up(c->fid);
	fake_expect_event(c->fid, 0, IW_CM_EVENT_ESTABLISHED, -ECONNRESET);
	closed_with_references(c, 2);
}

/*
 * iw_accept returns 0 even after iw_mpa_unregister_device(): if it returned an error, iw_cm would
 * set the cm_id to IDLE, and for a cm_id in IDLE iw_cm's handler of the queued ESTABLISHED has a
 * BUG_ON(). The test calls the op directly: fake_accept() would first take a reference on the QP,
 * as iw_cm does. For a removed device iw_mpa does not drop such a reference: iw_cm must not call
 * iw_accept of a removed device at all.
 */
static void accept_behind_the_end_of_the_device_is_void(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct iw_cm_conn_param param;

	accept_and_end_late(c, c->f);
	fake_destroy(c->lis);
	fake_unregister(c->f);
	param = c->param;
	KUNIT_EXPECT_EQ(test, c->fid->id.device->ops.iw_accept(&c->fid->id, &param), 0);
	fake_catch_up(c->fid);
	fake_expect_event(c->fid, 0, IW_CM_EVENT_ESTABLISHED, -ECONNRESET);
	closed_with_references(c, 1);
}

/* When destroy_qp calls iw_mpa_qp_gone() for the QP of the first of two calls of iw_accept */
enum destroy {
	DESTROY_BEFORE,		/* after iw_cm took its reference, before the first iw_accept */
	DESTROY_BETWEEN,	/* between both calls of iw_accept */
	DESTROY_BEHIND,		/* after both calls of iw_accept */
	DESTROYS
};

/*
 * Accept with QP 2, then with QP 3: at the second accept iw_cm overwrites its pointer to QP 2, and
 * so never drops its reference on QP 2. As soon as iw_cm has taken that reference, iw_get_qp no
 * longer finds QP 2. Before, between or after the two calls of iw_accept (@when) destroy_qp calls
 * iw_mpa_qp_gone() for QP 2, and then waits until no other reference on QP 2 is left. So iw_mpa has
 * to drop the reference of iw_cm.
 */
static void accept_and_destroy(struct fake_conn *c, struct fakes *f, enum destroy when)
{
	struct fake_qp *qp = &f->qps[1];

	if (when == DESTROY_BEFORE)
		c->fid->destroy_qp = true;
	c->fid->hide_qp = true;
	KUNIT_EXPECT_EQ(f->test, accept_with(c, 2), 0);
	c->fid->destroy_qp = false;
	c->fid->hide_qp = false;
	if (when == DESTROY_BETWEEN)
		fake_qp_gone(qp);
	KUNIT_EXPECT_EQ(f->test, accept_with(c, 3), 0);
	if (when == DESTROY_BEHIND)
		fake_qp_gone(qp);
	KUNIT_EXPECT_EQ_MSG(f->test, READ_ONCE(qp->refs), 1, "destroyed at %d", when);
	fake_qp_freed(qp);
	WRITE_ONCE(qp->hidden, false);
}

static void accept_again_with_a_qp_that_is_being_destroyed(struct kunit *test)
{
	int i;

	for (i = 0; i < DESTROYS; i++) {
		struct fake_conn *c = conn_new(test);

		conn_call(c);
		c->fid->late = true;
		KUNIT_ASSERT_EQ(test, accept_with(c, 1), 0);
		peer_recv_frame(c->f, c->peer, &c->frame);
		accept_and_destroy(c, c->f, i);
		FAKE_WAIT(c->f, c->fid->nr_held == 2);
		fake_catch_up(c->fid);
		fake_expect_event(c->fid, 0, IW_CM_EVENT_ESTABLISHED, -ECONNABORTED);
		peer_fin(c->peer);
		closed_with_references(c, FAKE_QPS);
	}
}

static void accept_behind_the_end_with_a_qp_that_is_being_destroyed(struct kunit *test)
{
	int i;

	for (i = 0; i < DESTROYS; i++) {
		struct fake_conn *c = conn_new(test);

		accept_and_end_late(c, c->f);
		accept_and_destroy(c, c->f, i);
		fake_catch_up(c->fid);
		fake_expect_event(c->fid, 0, IW_CM_EVENT_ESTABLISHED, -ECONNRESET);
		closed_with_references(c, FAKE_QPS);
	}
}

static void accept_of_a_qp_that_is_being_destroyed_is_refused(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	conn_call(c);
	c->fid->hide_qp = true;
	KUNIT_EXPECT_EQ(test, accept_with(c, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, c->qp->refs, 1);
}

/*
 * The cm_id of an accepted connection is in CONN_RECV until iw_cm has handled ESTABLISHED. So if
 * the ULP destroys the cm_id, iw_cm calls iw_reject. iw_mpa then ends the connection, and raises no
 * event, since iw_cm is about to free the cm_id.
 */
static void accept_destroyed_before_rtr_ends_silently(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	conn_call(c);
	conn_accept(c);
	fake_destroy(c->fid);
	FAKE_WAIT(c->f, !READ_ONCE(c->fid->refs));
	peer_expect_eof(c->f, c->peer);
	KUNIT_EXPECT_EQ(test, c->fid->nr_events, 0);
	KUNIT_EXPECT_EQ(test, c->qp->refs, 1);
	KUNIT_EXPECT_EQ(test, c->qp->why, IW_MPA_R_ULP_REJECT);
}

static void accepted_and_held(struct fake_conn *c, struct fakes *f, enum fake_op op)
{
	conn_call(c);
	KUNIT_ASSERT_EQ(f->test, fake_accept(c->fid, &c->param), 0);
	c->qp->nap[op] = HZ / 2;
	c->qp->held = BIT(op);
}

/*
 * The ULP rejects a connection that it has accepted, while iw_mpa calls the driver's @op, after
 * which iw_mpa would raise an event. iw_reject waits for @op, and no event follows: for the reject
 * iw_cm has set the cm_id to IDLE, in which iw_cm accepts no event. When iw_reject returns iw_mpa
 * must not have a reference on the cm_id: iw_cm may destroy the cm_id in its ordered work queue,
 * and would block that queue if it had to wait for iw_mpa.
 */
static void reject_is_silent_during(struct fake_conn *c, const char *op, int err)
{
	struct fakes *f = c->f;
	struct kunit *test = f->test;

	FAKE_POLL(f, strstr(c->qp->log, op));
	c->fid->state = FAKE_IDLE;
	fake_qp_go_on(c->qp);
	KUNIT_EXPECT_EQ(test, c->fid->id.device->ops.iw_reject(&c->fid->id, NULL, 0), err);
	KUNIT_EXPECT_EQ(test, READ_ONCE(c->fid->refs), 1);
	KUNIT_EXPECT_EQ(test, c->fid->nr_events, 0);
	fake_destroy(c->fid);
	FAKE_POLL(f, c->qp->refs == 1);
}

/* Rules: P-09: no event follows a reject while a RST has the driver's stop called */
static void reject_while_accepted_ends_is_silent(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	accepted_and_held(c, test->priv, FAKE_STOP);
	peer_rst(c->f, c->peer);
	reject_is_silent_during(c, "stop", -ECONNRESET);
}

/* Rules: P-09: no event follows a reject while an RTR message has the driver's open_tx called */
static void reject_while_accepted_comes_up_is_silent(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	accepted_and_held(c, test->priv, FAKE_OPEN_TX);
	conn_send_rtr(c);
	reject_is_silent_during(c, "open_tx", 0);
	KUNIT_EXPECT_EQ(test, c->qp->why, IW_MPA_R_ULP_REJECT);
	peer_fin(c->peer);
	FAKE_POLL(c->f, fakes_has_no_endpoint());
}

/*
 * An accepted connection ends by FIN before iw_cm has handled ESTABLISHED, and during that end the
 * ULP rejects. iw_mpa must not raise CLOSE any more: for the reject iw_cm has set the cm_id to
 * IDLE, and for a cm_id in IDLE iw_cm's handler of CLOSE has a BUG().
 */
static void reject_of_what_ends(struct fakes *f, int nr, void (*end)(struct fake_conn *c))
{
	struct fake_conn *c = conn_new(f->test);
	struct kunit *test = f->test;

	conn_call(c);
	c->qp = &f->qps[nr];
	c->qp->slow_finish = true;
	c->fid->late = true;
	KUNIT_ASSERT_EQ(test, accept_with(c, nr + 1), 0);
	peer_recv_frame(f, c->peer, &c->frame);
	conn_send_rtr(c);
	FAKE_WAIT(f, c->fid->nr_held == 1);
	end(c);
	fake_try_reject(c->fid);
	KUNIT_EXPECT_EQ(test, READ_ONCE(c->fid->refs), 1);
	peer_fin(c->peer);
	FAKE_POLL(f, fakes_has_no_endpoint());
	KUNIT_EXPECT_EQ(test, c->fid->nr_held, 1);
	KUNIT_EXPECT_NOT_NULL(test, strstr(c->qp->log, " stop"));
	fake_destroy(c->fid);
	KUNIT_EXPECT_EQ(test, c->qp->refs, 1);
}

static void peer_closes(struct fake_conn *c)
{
	peer_fin(c->peer);
	FAKE_WAIT(c->f, strstr(c->qp->log, "finish_tx"));
}

static void ulp_closes(struct fake_conn *c)
{
	fake_qp_disconnect(c->qp, false);
	FAKE_WAIT(c->f, strstr(c->qp->log, "finish_tx"));
}

static void ulp_has_closed(struct fake_conn *c)
{
	ulp_closes(c);
	fake_qp_tx_finished(c->qp);
	peer_expect_eof(c->f, c->peer);
}

/* Rules: P-09: no event follows a reject during a close by FIN */
static void reject_of_what_ends_is_silent(struct kunit *test)
{
	void (*const ends[])(struct fake_conn *c) = { peer_closes, ulp_closes, ulp_has_closed };
	struct fakes *f = test->priv;
	int i;

	fake_have_finish_tx(f);
	for (i = 0; i < ARRAY_SIZE(ends); i++)
		reject_of_what_ends(f, i, ends[i]);
}

/* Rules: P-09: an iw_accept that iw_cm calls after iw_reject returns 0, and accepts nothing */
static void accept_that_a_reject_overtakes_is_void(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	const struct ib_device_ops *ops = &c->f->ibdev->ops;

	conn_call(c);
	KUNIT_EXPECT_EQ(test, fake_try_reject(c->fid), 0);
	KUNIT_EXPECT_EQ(test, ops->iw_accept(&c->fid->id, &c->param), 0);
	fake_expect_closed(c->fid, 0);
	KUNIT_EXPECT_STREQ(test, c->qp->log, "");
	conn_expect_refusal(c, "", 0);
	fake_destroy(c->fid);
}

struct early_reject {
	struct work_struct	work;
	struct fake_conn	*c;
	int			err;
};

static void reject_within_prepare(struct work_struct *work)
{
	struct early_reject *early = container_of(work, struct early_reject, work);

	FAKE_POLL(early->c->f, strstr(early->c->qp->log, "prepare"));
	fake_qp_go_on(early->c->qp);
	early->err = fake_try_reject(early->c->fid);
}

/*
 * The ULP rejects while iw_accept runs the driver's op prepare(). iw_accept must then return 0 even
 * if prepare() fails, since iw_cm has a BUG_ON() for an error of iw_accept after a reject.
 */
static void reject_while_accept_runs(struct fake_conn *c, struct fakes *f, int err)
{
	struct early_reject early = { .c = c };
	struct kunit *test = f->test;

	conn_call_v2(c, MPA_C);
	c->qp->nap[FAKE_PREPARE] = HZ / 2;
	c->qp->held = BIT(FAKE_PREPARE);
	INIT_WORK_ONSTACK(&early.work, reject_within_prepare);
	schedule_work(&early.work);
	KUNIT_EXPECT_EQ(test, fake_accept(c->fid, &c->param), 0);
	flush_work(&early.work);
	destroy_work_on_stack(&early.work);
	KUNIT_EXPECT_EQ(test, early.err, err);
	FAKE_WAIT(f, c->fid->refs == 1);
	KUNIT_EXPECT_EQ(test, c->fid->nr_events, 0);
	fake_destroy(c->fid);
	FAKE_POLL(f, c->qp->refs == 1);
}

static void reject_while_accept_runs_is_silent(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	reject_while_accept_runs(c, test->priv, 0);
	KUNIT_EXPECT_EQ(test, c->qp->why, IW_MPA_R_ULP_REJECT);
}

static void reject_while_accept_fails_is_silent(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	c->f->qps[0].fail[FAKE_PREPARE] = -ENOSPC;
	reject_while_accept_runs(c, c->f, -ECONNRESET);
	KUNIT_EXPECT_STREQ(test, c->qp->log, "prepare");
}

/*
 * The peer resets an accepted connection, and the ULP rejects it while iw_mpa drops its reference
 * on the QP, just before iw_mpa would raise ESTABLISHED with an error. No event may follow: for the
 * reject iw_cm has set the cm_id to IDLE, in which iw_cm accepts no event.
 */
static void reject_while_the_qp_is_let_go_is_silent(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	conn_call(c);
	KUNIT_ASSERT_EQ(test, fake_accept(c->fid, &c->param), 0);
	c->qp->reject = c->fid;
	peer_rst(c->f, c->peer);
	fake_expect_closed(c->fid, 0);
	KUNIT_EXPECT_EQ(test, fake_answer_of(c->fid), -ECONNRESET);
	fake_destroy(c->fid);
	KUNIT_EXPECT_EQ(test, c->qp->refs, 1);
}

static struct kunit_case second_answer_cases[] = {
	KUNIT_CASE(accept_again_is_accepted_once),
	KUNIT_CASE(accept_again_is_counted),
	KUNIT_CASE(accept_of_another_qp_ends_the_connection),
	KUNIT_CASE(accept_of_another_qp_ends_what_is_up),
	KUNIT_CASE(accept_behind_the_end_is_void),
	KUNIT_CASE(accept_behind_the_end_of_its_qp_is_void),
	KUNIT_CASE(accept_behind_the_end_of_the_device_is_void),
	KUNIT_CASE(accept_again_with_a_qp_that_is_being_destroyed),
	KUNIT_CASE(accept_behind_the_end_with_a_qp_that_is_being_destroyed),
	KUNIT_CASE(accept_of_a_qp_that_is_being_destroyed_is_refused),
	KUNIT_CASE(accept_destroyed_before_rtr_ends_silently),
	KUNIT_CASE(reject_while_accepted_ends_is_silent),
	KUNIT_CASE(reject_while_accepted_comes_up_is_silent),
	KUNIT_CASE(reject_of_what_ends_is_silent),
	KUNIT_CASE(accept_that_a_reject_overtakes_is_void),
	KUNIT_CASE(reject_while_accept_runs_is_silent),
	KUNIT_CASE(reject_while_accept_fails_is_silent),
	KUNIT_CASE(reject_while_the_qp_is_let_go_is_silent),
	{}
};

static struct kunit_suite second_answer_suite = {
	.name = "iw_mpa_second_answer",
	.init = fakes_init,
	.exit = fakes_exit,
	.test_cases = second_answer_cases,
};

kunit_test_suite(second_answer_suite);

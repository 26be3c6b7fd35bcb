// SPDX-License-Identifier: GPL-2.0
/*
 * The ULP answers more than once, or takes its answer back: iw_cm lets it until it has handled
 * ESTABLISHED, and counts its references on QPs wrong.
 */

#include "iw_mpa_fakes.h"

#include <linux/module.h>

/* iw_cm takes another QP reference and overwrites its pointer to the first. */
static void accept_twice_is_accepted_once(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	conn_call(c, test->priv);
	KUNIT_ASSERT_EQ(test, fake_accept(c->fid, &c->param), 0);
	KUNIT_EXPECT_EQ(test, fake_accept(c->fid, &c->param), 0);
	conn_send_rtr(c);
	fake_expect_event(c->fid, 0, IW_CM_EVENT_ESTABLISHED, 0);
	peer_fin(c->peer);
	fake_expect_event(c->fid, 1, IW_CM_EVENT_CLOSE, 0);
	fake_expect_closed(c->fid, 2);
	KUNIT_EXPECT_EQ(test, c->qp->refs, 1);
}

static int accept_with(struct fake_conn *c, u32 qpn)
{
	c->param.qpn = qpn;
	return fake_accept(c->fid, &c->param);
}

/* Of each QP whoever made it has one. */
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
 * Each call makes iw_cm forget the reference of the call before. It would close the QP of the last
 * one, which is not the connection's.
 */
static void accept_of_another_qp_ends_the_connection(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct fakes *f = test->priv;
	int i;

	conn_call(c, f);
	c->fid->late = true;
	KUNIT_ASSERT_EQ(test, accept_with(c, 1), 0);
	peer_recv_frame(f, c->peer, &c->frame);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, accept_with(c, 2), 0);
	KUNIT_EXPECT_EQ(test, accept_with(c, 3), 0);
	peer_expect_eof(f, c->peer);
	FAKE_WAIT(f, c->fid->nr_held == 2);
	fake_catch_up(c->fid);
	fake_expect_event(c->fid, 0, IW_CM_EVENT_ESTABLISHED, -ECONNABORTED);
	peer_fin(c->peer);
	closed_with_references(c, 3);
}

/* Likewise where ESTABLISHED was raised, but iw_cm has not come to it */
static void accept_of_another_qp_ends_what_is_up(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct fakes *f = test->priv;

	conn_call(c, f);
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

/* The connection of QP 1 ends, and iw_cm does not know. */
static void accept_and_end_late(struct fake_conn *c, struct fakes *f)
{
	conn_call(c, f);
	c->fid->late = true;
	KUNIT_ASSERT_EQ(f->test, accept_with(c, 1), 0);
	peer_rst(f, c->peer);
	FAKE_WAIT(f, c->fid->nr_held == 2 && c->fid->refs == 1);
}

/* An error would have iw_cm go to IDLE, and BUG when it comes to ESTABLISHED. */
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

/* iw_cm forgets the reference while nobody finds the QP. Its end is told of later. */
static void accept_behind_the_end_of_its_qp_is_void(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	accept_and_end_late(c, test->priv);
	WRITE_ONCE(c->qp->hidden, true);
	KUNIT_EXPECT_EQ(test, accept_with(c, 2), 0);
	KUNIT_EXPECT_EQ(test, READ_ONCE(c->qp->refs), 2);
	fake_qp_gone(c->qp);
	fake_qp_freed(c->qp);
	WRITE_ONCE(c->qp->hidden, false);
	fake_catch_up(c->fid);
	fake_expect_event(c->fid, 0, IW_CM_EVENT_ESTABLISHED, -ECONNRESET);
	closed_with_references(c, 2);
}

/* iw_cm should not ask for a device that is gone, but an error would be its BUG again. */
static void accept_behind_the_end_of_the_device_is_void(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct fakes *f = test->priv;
	struct iw_cm_conn_param param;

	accept_and_end_late(c, f);
	fake_destroy(c->lis);
	fake_unregister(f);
	param = c->param;
	KUNIT_EXPECT_EQ(test, c->fid->id.device->ops.iw_accept(&c->fid->id, &param), 0);
	fake_catch_up(c->fid);
	fake_expect_event(c->fid, 0, IW_CM_EVENT_ESTABLISHED, -ECONNRESET);
	closed_with_references(c, 1);
}

/* When destroy_qp hides the QP, and the library is told */
enum destroy {
	DESTROY_BEFORE,		/* before iw_accept, but behind iw_cm's reference */
	DESTROY_BETWEEN,	/* behind that, before the iw_accept that forgets the reference */
	DESTROY_BEHIND,		/* behind both */
	DESTROYS
};

/*
 * iw_cm has found QP 2, and has a reference, but nobody finds it any more; then iw_cm forgets that
 * reference, for one on QP 3. Whoever destroys QP 2 waits for it.
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
	struct fakes *f = test->priv;
	int i;

	for (i = 0; i < DESTROYS; i++) {
		struct fake_conn *c = conn_new(test);

		conn_call(c, f);
		c->fid->late = true;
		KUNIT_ASSERT_EQ(test, accept_with(c, 1), 0);
		peer_recv_frame(f, c->peer, &c->frame);
		accept_and_destroy(c, f, i);
		FAKE_WAIT(f, c->fid->nr_held == 2);
		fake_catch_up(c->fid);
		fake_expect_event(c->fid, 0, IW_CM_EVENT_ESTABLISHED, -ECONNABORTED);
		peer_fin(c->peer);
		closed_with_references(c, FAKE_QPS);
	}
}

static void accept_behind_the_end_with_a_qp_that_is_being_destroyed(struct kunit *test)
{
	struct fakes *f = test->priv;
	int i;

	for (i = 0; i < DESTROYS; i++) {
		struct fake_conn *c = conn_new(test);

		accept_and_end_late(c, f);
		accept_and_destroy(c, f, i);
		fake_catch_up(c->fid);
		fake_expect_event(c->fid, 0, IW_CM_EVENT_ESTABLISHED, -ECONNRESET);
		closed_with_references(c, FAKE_QPS);
	}
}

static void accept_of_a_qp_that_is_being_destroyed_is_refused(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct fakes *f = test->priv;

	conn_call(c, f);
	c->fid->hide_qp = true;
	KUNIT_EXPECT_EQ(test, accept_with(c, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, c->qp->refs, 1);
}

/* iw_cm is in CONN_RECV until ESTABLISHED: destroy rejects what was accepted. */
static void accept_destroyed_before_rtr_ends_silently(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	conn_call(c, test->priv);
	KUNIT_ASSERT_EQ(test, fake_accept(c->fid, &c->param), 0);
	peer_recv_frame(c->f, c->peer, &c->frame);
	fake_destroy(c->fid);
	FAKE_WAIT(c->f, !READ_ONCE(c->fid->refs));
	peer_expect_eof(c->f, c->peer);
	KUNIT_EXPECT_EQ(test, c->fid->nr_events, 0);
	KUNIT_EXPECT_EQ(test, c->qp->refs, 1);
	KUNIT_EXPECT_EQ(test, c->qp->why, IW_MPA_R_ULP_REJECT);
}

static void accepted_and_held(struct fake_conn *c, struct fakes *f, enum fake_op op)
{
	conn_call(c, f);
	KUNIT_ASSERT_EQ(f->test, fake_accept(c->fid, &c->param), 0);
	c->qp->nap[op] = HZ / 2;
	c->qp->held = BIT(op);
}

/*
 * The driver works on the last op before an event, named @op. iw_cm goes to IDLE, and has no
 * place for an event of what was accepted. On return it destroys the cm_id, maybe in its work
 * queue, which waits for itself if somebody else has a reference.
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

/* Rules: P-09 */
static void reject_while_accepted_ends_is_silent(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	accepted_and_held(c, test->priv, FAKE_STOP);
	peer_rst(c->f, c->peer);
	reject_is_silent_during(c, "stop", -ECONNRESET);
}

/* Rules: P-09 */
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
 * ESTABLISHED waits in iw_cm. The connection ends in order meanwhile: iw_cm has no place for CLOSE
 * either.
 */
static void reject_of_what_ends(struct fakes *f, int nr, void (*end)(struct fake_conn *c))
{
	struct fake_conn *c = conn_new(f->test);
	struct kunit *test = f->test;

	conn_call(c, f);
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

/* Rules: P-09 */
static void reject_of_what_ends_is_silent(struct kunit *test)
{
	void (*const ends[])(struct fake_conn *c) = { peer_closes, ulp_closes, ulp_has_closed };
	struct fakes *f = test->priv;
	int i;

	fake_have_finish_tx(f);
	for (i = 0; i < ARRAY_SIZE(ends); i++)
		reject_of_what_ends(f, i, ends[i]);
}

/* iw_cm looked at its state before the reject, and calls behind it. */
/* Rules: P-09 */
static void accept_that_a_reject_overtakes_is_void(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct fakes *f = test->priv;
	const struct ib_device_ops *ops = &f->ibdev->ops;

	conn_call(c, f);
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
 * The driver prepares, in the ULP's iw_accept. iw_cm does not take an error of that in the state
 * in which its iw_reject has left it.
 */
static void reject_while_accept_runs(struct fake_conn *c, struct fakes *f, int err)
{
	struct early_reject early = { .c = c };
	struct kunit *test = f->test;

	conn_listen(c, f);
	c->peer = peer_connect(f, c->lis);
	peer_make_v2(&c->frame, false, MPA_C, CONN_PEER_IRD, CONN_PEER_ORD, NULL, 0);
	peer_send_frame(f, c->peer, &c->frame);
	c->fid = fake_next_request(c->lis);
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
	struct fakes *f = test->priv;

	f->qps[0].fail[FAKE_PREPARE] = -ENOSPC;
	reject_while_accept_runs(c, f, -ECONNRESET);
	KUNIT_EXPECT_STREQ(test, c->qp->log, "prepare");
}

/* Between the last op and the report: the QP is not the connection's any more. */
static void reject_while_the_qp_is_let_go_is_silent(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	conn_call(c, test->priv);
	KUNIT_ASSERT_EQ(test, fake_accept(c->fid, &c->param), 0);
	c->qp->reject = c->fid;
	peer_rst(c->f, c->peer);
	fake_expect_closed(c->fid, 0);
	KUNIT_EXPECT_EQ(test, fake_answer_of(c->fid), -ECONNRESET);
	fake_destroy(c->fid);
	KUNIT_EXPECT_EQ(test, c->qp->refs, 1);
}

static struct kunit_case answer_twice_cases[] = {
	KUNIT_CASE(accept_twice_is_accepted_once),
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

static struct kunit_suite answer_twice_suite = {
	.name = "iw_mpa_answer_twice",
	.init = fakes_init,
	.exit = fakes_exit,
	.test_cases = answer_twice_cases,
};

kunit_test_suite(answer_twice_suite);

MODULE_LICENSE("GPL");

// SPDX-License-Identifier: GPL-2.0
/*
 * A responder whose driver has the capability IW_MPA_CAP_ATOMIC_OPEN: before iw_mpa_first_fpdu()
 * returns, iw_mpa calls open_tx, and reports ESTABLISHED unless it has reported that earlier.
 */

#include "iw_mpa_fakes.h"
#include "iw_mpa_quiet.h"

#include <linux/preempt.h>

/* Make a responder that has sent a Reply, to a peer-to-peer Request if @p2p, else to revision 1. */
static struct fake_conn *prompt_accept(struct kunit *test, bool p2p)
{
	struct fake_conn *c = conn_new(test);

	fake_set_caps(c->f, c->f->attr.caps | IW_MPA_CAP_ATOMIC_OPEN);
	conn_listen(c);
	if (p2p)
		conn_make_good_request(c);
	else
		peer_make(&c->frame, false, MPA_C, 1, NULL, 0);
	conn_ask(c);
	conn_accept(c);
	iw_mpa_quiet(IW_MPA_QUIET_MS);
	KUNIT_ASSERT_EQ(test, c->fid->nr_events, p2p ? 0 : 1);
	KUNIT_ASSERT_FALSE(test, c->qp->tx_open);
	return c;
}

/* Rules: M-7.1.2-10: no event and no open_tx before the RTR message */
static void prompt_rtr_establishes_where_it_comes(struct kunit *test)
{
	struct fake_conn *c = prompt_accept(test, true);

	conn_establish(c);
	KUNIT_EXPECT_TRUE(test, c->qp->opened_in_rx);
	peer_fin(c->peer);
	conn_expect_closed(c, IW_MPA_R_PEER_CLOSED);
	KUNIT_EXPECT_STREQ(test, c->qp->log,
			   "prepare attach kick_rx open_tx kick_rx stop");
}

/* Rules: M-7.1.2-10: open_tx is called when the first FPDU arrives */
static void prompt_fence_opens_where_the_first_fpdu_comes(struct kunit *test)
{
	struct fake_conn *c = prompt_accept(test, false);

	conn_send_rtr(c);
	FAKE_WAIT(c->f, READ_ONCE(c->qp->tx_open));
	KUNIT_EXPECT_TRUE(test, c->qp->opened_in_rx);
	KUNIT_EXPECT_EQ(test, c->fid->nr_events, 1);
}

/* iw_cm refuses ESTABLISHED in a softirq: a work item ends the connection, as stop may sleep. */
static void prompt_event_lost_ends_in_a_process(struct kunit *test)
{
	struct fake_conn *c = prompt_accept(test, true);

	c->fid->fail_events = 1;
	conn_send_rtr(c);
	fake_expect_event(c->fid, 0, IW_CM_EVENT_ESTABLISHED, -ENOMEM);
	conn_expect_closed(c, IW_MPA_R_EVENT_LOST);
	KUNIT_EXPECT_TRUE(test, c->qp->opened_in_rx);
	peer_expect_eof(c->f, c->peer);
}

/* kick_rx finds the RTR message: iw_mpa calls open_tx only after kick_rx has returned. */
static void prompt_rtr_that_kick_rx_finds_waits_for_it(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct fakes *f = test->priv;

	fake_set_caps(f, f->attr.caps | IW_MPA_CAP_ATOMIC_OPEN | IW_MPA_CAP_EARLY_RX);
	conn_call(c);
	conn_send_rtr(c);
	KUNIT_ASSERT_EQ(test, fake_accept(c->fid, &c->param), 0);
	fake_expect_event(c->fid, 0, IW_CM_EVENT_ESTABLISHED, 0);
	KUNIT_EXPECT_FALSE(test, c->qp->opened_in_rx);
	KUNIT_EXPECT_STREQ(test, c->qp->log, "prepare attach kick_rx open_tx");
}

/*
 * An earlier event waits for the endpoint's work item. So iw_mpa_first_fpdu() must not handle its
 * own event at once: the work item handles both.
 */
static void prompt_event_in_front_is_not_overtaken(struct kunit *test)
{
	struct fake_conn *c = prompt_accept(test, true);
	bool opened;

	preempt_disable();
	fake_qp_disconnect(c->qp, true);
	iw_mpa_first_fpdu(c->qp->ho.ep);
	opened = c->qp->tx_open;
	preempt_enable();
	KUNIT_EXPECT_FALSE(test, opened);
	fake_expect_event(c->fid, 0, IW_CM_EVENT_ESTABLISHED, 0);
	conn_expect_closed(c, IW_MPA_R_ULP_CLOSE);
	KUNIT_EXPECT_STREQ(test, c->qp->log, "prepare attach kick_rx open_tx stop");
}

/* open_tx, called within data_ready, reports STREAM_DOWN: a work item ends the connection. */
static void prompt_event_beside_is_handled(struct kunit *test)
{
	struct fake_conn *c = prompt_accept(test, true);

	c->qp->down_in_open = true;
	conn_establish(c);
	KUNIT_EXPECT_TRUE(test, c->qp->opened_in_rx);
	conn_expect_closed(c, IW_MPA_R_STREAM);
}

static struct kunit_case prompt_cases[] = {
	KUNIT_CASE(prompt_rtr_establishes_where_it_comes),
	KUNIT_CASE(prompt_fence_opens_where_the_first_fpdu_comes),
	KUNIT_CASE(prompt_event_lost_ends_in_a_process),
	KUNIT_CASE(prompt_rtr_that_kick_rx_finds_waits_for_it),
	KUNIT_CASE(prompt_event_in_front_is_not_overtaken),
	KUNIT_CASE(prompt_event_beside_is_handled),
	{}
};

static struct kunit_suite prompt_suite = {
	.name = "iw_mpa_prompt",
	.init = fakes_init,
	.exit = fakes_exit,
	.test_cases = prompt_cases,
};

kunit_test_suite(prompt_suite);

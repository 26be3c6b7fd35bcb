// SPDX-License-Identifier: GPL-2.0
/*
 * Statistics of iw_mpa: each kind of event changes the counters that it concerns, by the amount
 * that is expected, and no other counters.
 */

#include "iw_mpa_fakes.h"

#include <linux/in.h>

#include "device.h"
#include "reason.h"
#include "stats.h"

#define REASON(name)	(IW_MPA_CNT_REASON + IW_MPA_R_##name - 1)

/* A counter, and by how much it is expected to change */
struct count_row {
	enum iw_mpa_counter	counter;
	unsigned int		by;		/* by how much; 0 ends a list of rows */
};

/* Values of the counters at the beginning of a test */
struct counts {
	struct iw_mpa_device	*dev;	/* the device under test; its counters begin at 0 */
	/* counters of the whole machine, which do not begin at 0 */
	unsigned long		before[IW_MPA_CNT_COUNT];
};

static struct counts *count_begin(struct kunit *test)
{
	struct counts *counts = kunit_kzalloc(test, sizeof(*counts), GFP_KERNEL);
	struct fakes *f = test->priv;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, counts);
	counts->dev = iw_mpa_device_get(f->ibdev);
	KUNIT_ASSERT_NOT_NULL(test, counts->dev);
	for (i = 0; i < IW_MPA_CNT_COUNT; i++)
		counts->before[i] = iw_mpa_count_read(NULL, i);
	return counts;
}

static unsigned int count_wanted(const struct count_row *rows, enum iw_mpa_counter counter)
{
	for (; rows->by; rows++) {
		if (rows->counter == counter)
			return rows->by;
	}
	return 0;
}

static bool count_is(const struct counts *counts, const struct count_row *rows)
{
	int i;

	for (i = IW_MPA_CNT_established; i < IW_MPA_CNT_COUNT; i++) {
		if (iw_mpa_count_read(counts->dev->stats, i) != count_wanted(rows, i))
			return false;
	}
	return true;
}

/*
 * Check that exactly the counters in @rows have changed, both for the device and for the whole
 * machine. Counters of objects such as ep_created exist only for the machine, and are not checked.
 * A counter may change a moment after the ULP has got its event, so poll.
 */
static void count_expect(struct kunit *test, struct counts *counts, const struct count_row *rows)
{
	int i, ticks = msecs_to_jiffies(FAKE_WAIT_MS);

	while (!count_is(counts, rows) && ticks--)
		schedule_timeout_uninterruptible(1);
	for (i = IW_MPA_CNT_established; i < IW_MPA_CNT_COUNT; i++) {
		unsigned int want = count_wanted(rows, i);

		KUNIT_EXPECT_EQ_MSG(test, iw_mpa_count_read(counts->dev->stats, i), want,
				    "%s of the device", iw_mpa_counter_name(i));
		KUNIT_EXPECT_EQ_MSG(test, iw_mpa_count_read(NULL, i) - counts->before[i], want,
				    "%s of the machine", iw_mpa_counter_name(i));
	}
	iw_mpa_device_put(counts->dev);
}

static void count_a_connection_that_the_peer_closes(struct kunit *test)
{
	static const struct count_row want[] = {
		{ IW_MPA_CNT_established, 1 }, { IW_MPA_CNT_closed, 1 }, { REASON(PEER_CLOSED), 1 },
		{}
	};
	struct counts *counts = count_begin(test);
	struct fake_conn *c = conn_new(test);

	conn_active_up(c);
	peer_fin(c->peer);
	fake_expect_closed(c->fid, 2);
	count_expect(test, counts, want);
}

static void count_a_connection_that_the_ulp_closes(struct kunit *test)
{
	static const struct count_row want[] = {
		{ IW_MPA_CNT_established, 1 }, { IW_MPA_CNT_closed, 1 }, { REASON(ULP_CLOSE), 1 },
		{}
	};
	struct counts *counts = count_begin(test);
	struct fake_conn *c = conn_new(test);

	conn_passive_up(c);
	fake_disconnect(c->fid);
	fake_expect_closed(c->fid, 2);
	count_expect(test, counts, want);
}

static void count_a_connection_that_is_rejected(struct kunit *test)
{
	static const struct count_row want[] = {
		{ IW_MPA_CNT_failed, 1 }, { REASON(REJECTED), 1 }, {}
	};
	struct counts *counts = count_begin(test);
	struct fake_conn *c = conn_new(test);

	conn_dial(c);
	peer_make_v2(&c->frame, true, MPA_C | MPA_R, 1, 1, NULL, 0);
	peer_send_frame(c->f, c->peer, &c->frame);
	conn_expect_failed(c, -ECONNREFUSED);
	peer_fin(c->peer);
	count_expect(test, counts, want);
}

static void count_a_source_port_that_was_taken(struct kunit *test)
{
	static const struct count_row want[] = { { IW_MPA_CNT_source_port_retried, 1 }, {} };
	struct counts *counts = count_begin(test);
	struct fake_conn *c = conn_new(test);
	struct fake_id *other = fake_id_create(c->f);

	conn_aim(c, AF_INET);
	peer_listen(c->f, other, AF_INET);
	((struct sockaddr_in *)&c->fid->id.m_local_addr)->sin_port =
		((struct sockaddr_in *)&other->id.remote_addr)->sin_port;
	c->fid->id.local_addr = c->fid->id.m_local_addr;
	c->param.qpn = 1;
	KUNIT_ASSERT_EQ(test, fake_connect(c->fid, &c->param), 0);
	conn_answer_dial(c);
	count_expect(test, counts, want);
}

static void count_a_second_try_with_revision_1(struct kunit *test)
{
	static const struct count_row want[] = { { IW_MPA_CNT_v1_fallback, 1 }, {} };
	struct counts *counts = count_begin(test);
	struct fake_conn *c = conn_new(test);

	conn_dial(c);
	peer_fin(c->peer);
	conn_answer_dial(c);
	KUNIT_EXPECT_EQ(test, peer_frame_rev(&c->frame), 1);
	count_expect(test, counts, want);
}

static void count_a_second_try_with_revision_2(struct kunit *test)
{
	static const struct count_row want[] = { { IW_MPA_CNT_v2_again, 1 }, {} };
	struct counts *counts = count_begin(test);
	struct fake_conn *c = conn_new(test);

	conn_dial(c);
	peer_rst(c->f, c->peer);
	conn_answer_dial(c);
	KUNIT_EXPECT_EQ(test, peer_frame_rev(&c->frame), 2);
	count_expect(test, counts, want);
}

static void count_each_repeat_of_the_rtr_message(struct kunit *test)
{
	static const struct count_row want[] = {
		{ IW_MPA_CNT_established, 1 }, { IW_MPA_CNT_rtr_repeated, 2 }, {}
	};
	struct counts *counts = count_begin(test);
	struct fake_conn *c = conn_new(test);
	struct fakes *f = test->priv;

	f->config->rtr_repeat_ms = 400;
	fake_have_repeat_rtr(f);
	conn_active_up(c);
	peer_recv_rtr(f, c->peer, IW_MPA_RTR_WRITE);
	peer_recv_rtr(f, c->peer, IW_MPA_RTR_WRITE);
	conn_send_rtr(c);
	FAKE_WAIT(f, c->qp->nr_fpdus == 1);
	count_expect(test, counts, want);
}

/*
 * The peer of a client-server responder sends no FPDU: after fence_timeout_ms iw_mpa calls open_tx.
 */
static void count_a_fence_that_is_lifted(struct kunit *test)
{
	static const struct count_row want[] = {
		{ IW_MPA_CNT_established, 1 }, { IW_MPA_CNT_fence_lifted, 1 }, {}
	};
	struct counts *counts = count_begin(test);
	struct fake_conn *c = conn_new(test);

	c->f->config->fence_timeout_ms = FAKE_SHORT_MS;
	conn_call_v2(c, MPA_C);
	KUNIT_ASSERT_EQ(test, 0, fake_accept(c->fid, &c->param));
	fake_expect_event(c->fid, 0, IW_CM_EVENT_ESTABLISHED, 0);
	FAKE_WAIT(c->f, strstr(c->qp->log, " open_tx"));
	/* TX is open already, so the arrival of this FPDU must not change a counter. */
	conn_send_rtr(c);
	FAKE_WAIT(c->f, c->qp->nr_fpdus == 1);
	count_expect(test, counts, want);
}

static void count_a_fence_that_an_fpdu_opens_is_not_lifted(struct kunit *test)
{
	static const struct count_row want[] = { { IW_MPA_CNT_established, 1 }, {} };
	struct counts *counts = count_begin(test);
	struct fake_conn *c = conn_new(test);

	conn_passive_up(c);
	count_expect(test, counts, want);
}

/* iw_cm refuses ESTABLISHED for lack of memory, so the connection counts as failed. */
static void count_a_connection_that_iw_cm_did_not_hear_of(struct kunit *test)
{
	static const struct count_row want[] = {
		{ IW_MPA_CNT_failed, 1 }, { REASON(EVENT_LOST), 1 }, {}
	};
	struct counts *counts = count_begin(test);
	struct fake_conn *c = conn_new(test);

	conn_call(c);
	conn_accept(c);
	c->fid->fail_events = 1;
	conn_send_rtr(c);
	fake_expect_closed(c->fid, 2);
	count_expect(test, counts, want);
}

/* Each reason has a counter with its name, except IW_MPA_R_OK. */
static void count_each_reason_by_itself(struct kunit *test)
{
	struct count_row want[IW_MPA_R_COUNT] = {};
	struct counts *counts = count_begin(test);
	int reason;

	for (reason = 0; reason < IW_MPA_R_COUNT; reason++) {
		int i;

		for (i = 0; i < reason; i++)
			iw_mpa_count_reason(counts->dev->stats, reason);
		if (reason == IW_MPA_R_OK)
			continue;
		want[reason - 1] = (struct count_row) { IW_MPA_CNT_REASON + reason - 1, reason };
		KUNIT_EXPECT_STREQ(test, iw_mpa_counter_name(IW_MPA_CNT_REASON + reason - 1),
				   iw_mpa_reason_name(reason));
	}
	iw_mpa_count_reason(counts->dev->stats, IW_MPA_R_OK);
	count_expect(test, counts, want);
}

static struct kunit_case count_cases[] = {
	KUNIT_CASE(count_a_connection_that_the_peer_closes),
	KUNIT_CASE(count_a_connection_that_the_ulp_closes),
	KUNIT_CASE(count_a_connection_that_is_rejected),
	KUNIT_CASE(count_a_source_port_that_was_taken),
	KUNIT_CASE(count_a_second_try_with_revision_1),
	KUNIT_CASE(count_a_second_try_with_revision_2),
	KUNIT_CASE(count_each_repeat_of_the_rtr_message),
	KUNIT_CASE(count_a_fence_that_is_lifted),
	KUNIT_CASE(count_a_fence_that_an_fpdu_opens_is_not_lifted),
	KUNIT_CASE(count_a_connection_that_iw_cm_did_not_hear_of),
	KUNIT_CASE(count_each_reason_by_itself),
	{}
};

static struct kunit_suite count_suite = {
	.name = "iw_mpa_count",
	.init = fakes_init,
	.exit = fakes_exit,
	.test_cases = count_cases,
};

kunit_test_suite(count_suite);

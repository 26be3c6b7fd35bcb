// SPDX-License-Identifier: GPL-2.0
/*
 * Two waits for a peer that sends nothing: an initiator repeats its RTR message, and a responder
 * begins to send if fence_timeout_ms limits its wait for the first FPDU.
 */

#include "ep.h"
#include "iw_mpa_fakes.h"
#include "iw_mpa_quiet.h"

#include <linux/kthread.h>

#define UP	"prepare attach send_rtr kick_rx"
#define REPEAT	" repeat_rtr"
/*
 * Sum in ms of the six waits for an answer to the RTR message, if rtr_repeat_ms is 1: each wait is
 * four times as long as the one before.
 */
#define ALL_REPEATS_MS	(1 + 4 + 16 + 64 + 256 + 1024)

/*
 * Make an initiator that has sent its RTR message to a peer that sends nothing after its Reply.
 * iw_mpa repeats the RTR message, since the Reply has named Write as the only RTR type.
 */
static struct fake_conn *unanswered(struct kunit *test, unsigned int repeat_ms)
{
	struct fake_conn *c = conn_new(test);

	c->f->config->rtr_repeat_ms = repeat_ms;
	fake_have_repeat_rtr(c->f);
	conn_active_up(c);
	return c;
}

static void expect_repeat(struct fake_conn *c)
{
	peer_recv_rtr(c->f, c->peer, IW_MPA_RTR_WRITE);
}

/* Have the peer close, and expect that it receives FIN, and no byte before that. */
static void end(struct fake_conn *c)
{
	peer_fin(c->peer);
	peer_expect_eof(c->f, c->peer);
	conn_expect_closed(c, IW_MPA_R_PEER_CLOSED);
}

static void repeat_five_times_to_a_silent_peer(struct kunit *test)
{
	struct fake_conn *c = unanswered(test, 1);
	int i;

	for (i = 0; i < 5; i++)
		expect_repeat(c);
	iw_mpa_quiet(ALL_REPEATS_MS);
	KUNIT_EXPECT_STREQ(test, c->qp->log, UP REPEAT REPEAT REPEAT REPEAT REPEAT);
	end(c);
}

/* Any byte from the peer shows that it has read the RTR message: iw_mpa repeats it no more. */
static void repeat_until_the_peer_speaks(struct kunit *test)
{
	struct fake_conn *c = unanswered(test, 300);

	expect_repeat(c);
	peer_send(c->f, c->peer, "", 1);
	iw_mpa_quiet(1500);	/* the next repeat would be sent after 1200 ms */
	KUNIT_EXPECT_STREQ(test, c->qp->log, UP REPEAT);
	peer_rst(c->f, c->peer);
	fake_expect_closed(c->fid, 2);
}

/*
 * If the ULP closes while the peer is silent, iw_mpa repeats the RTR message before the FIN. The
 * peer may have missed the first one, and need not react to a FIN alone.
 */
static void repeat_before_the_end(struct kunit *test)
{
	struct fake_conn *c = unanswered(test, 1000);

	fake_qp_disconnect(c->qp, false);
	fake_expect_event(c->fid, 1, IW_CM_EVENT_CLOSE, 0);
	expect_repeat(c);
	peer_expect_eof(c->f, c->peer);
	KUNIT_EXPECT_STREQ(test, c->qp->log, UP REPEAT " stop");
	peer_fin(c->peer);
	fake_expect_closed(c->fid, 2);
}

static void repeat_that_fails_is_no_error(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct fakes *f = test->priv;

	f->config->rtr_repeat_ms = 1;
	fake_have_repeat_rtr(f);
	f->qps[0].fail[FAKE_REPEAT_RTR] = -EBUSY;
	conn_active_up(c);
	FAKE_WAIT(f, !strcmp(c->qp->log, UP REPEAT REPEAT));
	c->qp->fail[FAKE_REPEAT_RTR] = 0;
	expect_repeat(c);
	end(c);
}

/* Have the ULP send data after the RTR message. Return a time before that message, in jiffies. */
static unsigned long ulp_speaks(struct kunit *test, struct fake_conn *c, unsigned int repeat_ms)
{
	struct kvec iov = { .iov_base = "word", .iov_len = 4 };
	struct fakes *f = test->priv;
	struct msghdr msg = {};
	unsigned long start;

	f->config->rtr_repeat_ms = repeat_ms;
	fake_have_repeat_rtr(f);
	conn_dial(c);
	start = jiffies;
	conn_connect(c);
	peer_recv_rtr(f, c->peer, IW_MPA_RTR_WRITE);
	KUNIT_ASSERT_EQ(test, kernel_sendmsg(c->qp->ho.sock, &msg, &iov, 1, 4), 4);
	return start;
}

/*
 * FPDUs of the ULP make most peers read the RTR message, as a repeat of that message does. So after
 * such FPDUs iw_mpa repeats the RTR message only at the third timeout. On a slow host the first
 * timeout may expire before the ULP's data are sent: then the test begins again with longer
 * timeouts.
 */
static void repeat_waits_longer_behind_the_ulp(struct kunit *test)
{
	struct fake_conn *c;
	struct iw_mpa_ep *ep;
	unsigned long start;
	unsigned int ms;
	u8 word[4];

	for (ms = 100;; ms *= 2) {
		c = conn_new(test);
		start = ulp_speaks(test, c, ms);
		if (time_before(jiffies, start + msecs_to_jiffies(ms)))
			break;
		KUNIT_ASSERT_LT(test, ms, 800);	/* longer waits would exceed FAKE_WAIT_MS */
		peer_rst(c->f, c->peer);
		fake_expect_closed(c->fid, 2);
		c->qp->log[0] = '\0';
	}
	peer_recv(c->f, c->peer, word, sizeof(word));
	expect_repeat(c);
	KUNIT_EXPECT_GE(test, jiffies_to_msecs(jiffies - start), (1 + 4 + 16) * ms);
	ep = fake_qp_ep(c->qp);
	KUNIT_EXPECT_EQ(test, READ_ONCE(ep->repeats), 3);
	iw_mpa_ep_put(ep);
	KUNIT_EXPECT_STREQ(test, c->qp->log, UP REPEAT);
	end(c);
}

static void repeat_ends_with_a_reset(struct kunit *test)
{
	struct fake_conn *c = unanswered(test, 1000);

	peer_rst(c->f, c->peer);
	conn_expect_closed(c, IW_MPA_R_PEER_RESET);
	KUNIT_EXPECT_STREQ(test, c->qp->log, UP " stop");
}

static void repeat_ends_with_the_qp(struct kunit *test)
{
	struct fake_conn *c = unanswered(test, 1000);

	fake_qp_gone(c->qp);
	conn_expect_closed(c, IW_MPA_R_QP_GONE);
	KUNIT_EXPECT_STREQ(test, c->qp->log, UP " stop");
}

static void repeat_ends_with_the_device(struct kunit *test)
{
	struct fake_conn *c = unanswered(test, 1000);

	fake_unregister(c->f);
	conn_expect_closed(c, IW_MPA_R_DEVICE_GONE);
	KUNIT_EXPECT_STREQ(test, c->qp->log, UP " stop");
}

/* Cases in which the RTR message is not repeated: by Reply, setting and driver */
static const struct once {
	const char *desc;
	unsigned int repeat_ms;
	bool has_op;
	u16 ird_flags;		/* of the Reply: A, B */
	u16 ord_flags;		/* C, D */
} once_cases[] = {
	{ "reply_names_two_types", 1, true, MPA_A, MPA_CW | MPA_D },
	{ "reply_names_read_alone", 1, true, MPA_A, MPA_D },
	{ "reply_names_all_types", 1, true, MPA_A | MPA_B, MPA_CW | MPA_D },
	{ "administrator_turned_it_off", 0, true, MPA_A, MPA_CW },
	{ "driver_cannot", 1, false, MPA_A, MPA_CW },
};

KUNIT_ARRAY_PARAM_DESC(once, once_cases, desc);

static void repeat_is_not_for_all(struct kunit *test)
{
	const struct once *tc = test->param_value;
	struct fake_conn *c = conn_new(test);

	c->f->config->rtr_repeat_ms = tc->repeat_ms;
	if (tc->has_op)
		fake_have_repeat_rtr(c->f);
	conn_dial(c);
	peer_make_v2(&c->frame, true, MPA_C, tc->ird_flags | CONN_PEER_IRD,
		     tc->ord_flags | CONN_PEER_ORD, NULL, 0);
	peer_send_frame(c->f, c->peer, &c->frame);
	fake_expect_event(c->fid, 0, IW_CM_EVENT_CONNECT_REPLY, 0);
	peer_recv_rtr(c->f, c->peer, tc->ord_flags & MPA_CW ? IW_MPA_RTR_WRITE : IW_MPA_RTR_READ);
	iw_mpa_quiet(100);
	KUNIT_EXPECT_STREQ(test, c->qp->log, UP);
	end(c);
}

/* Make a responder for the client-server model that has sent its Reply and waits for an FPDU. */
static struct fake_conn *fenced(struct kunit *test, unsigned int timeout_ms)
{
	struct fake_conn *c = conn_new(test);

	c->f->config->fence_timeout_ms = timeout_ms;
	conn_call_v2(c, MPA_C);
	KUNIT_ASSERT_EQ(test, 0, fake_accept(c->fid, &c->param));
	fake_expect_event(c->fid, 0, IW_CM_EVENT_ESTABLISHED, 0);
	return c;
}

/* Rules: M-7.1.2-10: open_tx is not called */
static void fence_stays_as_long_as_the_peer_is_silent(struct kunit *test)
{
	struct fake_conn *c = fenced(test, 0);

	iw_mpa_quiet(500);
	KUNIT_EXPECT_STREQ(test, c->qp->log, "prepare attach kick_rx");
	peer_rst(c->f, c->peer);
	fake_expect_closed(c->fid, 2);
}

/* Rules: M-7.1.2-10: open_tx before the first FPDU, only if fence_timeout_ms is not 0 */
static void fence_is_lifted_if_the_administrator_says_when(struct kunit *test)
{
	unsigned long start = jiffies;
	struct fake_conn *c = fenced(test, 500);

	FAKE_WAIT(c->f, strstr(c->qp->log, " open_tx"));
	KUNIT_EXPECT_GE(test, jiffies_to_msecs(jiffies - start), 500);
	/* TX is open already when the first FPDU arrives, so open_tx must not be called again. */
	conn_send_rtr(c);
	iw_mpa_quiet(50);
	KUNIT_EXPECT_STREQ(test, c->qp->log, "prepare attach kick_rx open_tx");
	peer_rst(c->f, c->peer);
	fake_expect_closed(c->fid, 2);
}

static void fence_is_opened_once_by_an_early_fpdu(struct kunit *test)
{
	struct fake_conn *c = fenced(test, 300);

	conn_send_rtr(c);
	FAKE_WAIT(c->f, strstr(c->qp->log, " open_tx"));
	iw_mpa_quiet(500);
	KUNIT_EXPECT_STREQ(test, c->qp->log, "prepare attach kick_rx open_tx");
	peer_rst(c->f, c->peer);
	fake_expect_closed(c->fid, 2);
}

/* Occupy the processor, as other work of a busy host does. */
static int hog(void *unused)
{
	unsigned long end;

	while (!kthread_should_stop()) {
		/* Not mdelay(): its loops may have been calibrated while the host was busy. */
		for (end = jiffies + msecs_to_jiffies(40); time_before(jiffies, end);)
			cpu_relax();
		schedule();
	}
	return 0;
}

/* iw_mpa_quiet() has to wait longer on a busy host, where a wrong byte would be later, too. */
static void quiet_is_longer_where_the_kernel_is_slow(struct kunit *test)
{
	unsigned long start;
	struct task_struct *task = kthread_create(hog, NULL, "iw_mpa_hog");

	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	kthread_bind(task, raw_smp_processor_id());
	wake_up_process(task);
	start = jiffies;
	iw_mpa_quiet(50);
	KUNIT_EXPECT_GE(test, jiffies_to_msecs(jiffies - start), 150);
	kthread_stop(task);
}

static struct kunit_case repeat_cases[] = {
	KUNIT_CASE(quiet_is_longer_where_the_kernel_is_slow),
	KUNIT_CASE(repeat_five_times_to_a_silent_peer),
	KUNIT_CASE(repeat_until_the_peer_speaks),
	KUNIT_CASE(repeat_before_the_end),
	KUNIT_CASE(repeat_that_fails_is_no_error),
	KUNIT_CASE(repeat_waits_longer_behind_the_ulp),
	KUNIT_CASE(repeat_ends_with_a_reset),
	KUNIT_CASE(repeat_ends_with_the_qp),
	KUNIT_CASE(repeat_ends_with_the_device),
	KUNIT_CASE_PARAM(repeat_is_not_for_all, once_gen_params),
	KUNIT_CASE(fence_stays_as_long_as_the_peer_is_silent),
	KUNIT_CASE(fence_is_lifted_if_the_administrator_says_when),
	KUNIT_CASE(fence_is_opened_once_by_an_early_fpdu),
	{}
};

static struct kunit_suite repeat_suite = {
	.name = "iw_mpa_repeat",
	.init = fakes_init,
	.exit = fakes_exit,
	.test_cases = repeat_cases,
};

kunit_test_suite(repeat_suite);

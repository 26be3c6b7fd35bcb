// SPDX-License-Identifier: GPL-2.0
/*
 * Closes by FIN, not RST, of connections whose driver has the op finish_tx(), which sends
 * what the ULP has posted. Each direction of the stream ends separately: RFC 5044 7.2, RFC 5041
 * 6.2.1.
 */

#include "ep.h"
#include "iw_mpa_fakes.h"
#include "iw_mpa_no_core.h"

#include <linux/delay.h>
#include <linux/preempt.h>
#include <linux/workqueue.h>

#define UP	"prepare attach send_rtr kick_rx"

/*
 * Return an initiator's established connection. Its driver calls iw_mpa_tx_finished() within
 * finish_tx(), or, if @slow, when the test calls fake_qp_tx_finished().
 */
static struct fake_conn *active_up(struct kunit *test, bool slow)
{
	struct fake_conn *c = conn_new(test);

	fake_have_finish_tx(c->f);
	c->f->qps[0].slow_finish = slow;
	conn_active_up(c);
	return c;
}

static void expect_closed(struct fake_conn *c, enum iw_mpa_reason why, const char *log)
{
	struct kunit *test = c->f->test;

	conn_expect_closed(c, why);
	KUNIT_EXPECT_STREQ(test, c->qp->log, log);
}

/*
 * Expect that for 100 ms neither bytes nor FIN reach the peer, and that the ULP has got no event
 * after CONNECT_REPLY.
 */
static void expect_nothing(struct fake_conn *c)
{
	peer_expect_quiet(c->f, c->peer);
	KUNIT_EXPECT_EQ(c->f->test, c->fid->nr_events, 1);
}

/* Rules: M-7.2-1: FIN, and an FPDU that is received after it */
static void ulp_closes_and_goes_on_receiving(struct kunit *test)
{
	struct fake_conn *c = active_up(test, false);

	fake_disconnect(c->fid);
	peer_expect_eof(c->f, c->peer);
	conn_send_rtr(c);
	FAKE_WAIT(c->f, c->qp->nr_fpdus == 1);
	KUNIT_EXPECT_EQ(test, c->fid->nr_events, 1);
	peer_fin(c->peer);
	expect_closed(c, IW_MPA_R_ULP_CLOSE, UP " finish_tx kick_rx stop");
}

/* Rules: M-7.2-1: no FIN before the driver has finished */
static void ulp_closes_and_fin_waits_for_the_driver(struct kunit *test)
{
	struct fake_conn *c = active_up(test, true);

	fake_disconnect(c->fid);
	FAKE_WAIT(c->f, strstr(c->qp->log, "finish_tx"));
	expect_nothing(c);
	fake_qp_tx_finished(c->qp);
	peer_expect_eof(c->f, c->peer);
	KUNIT_EXPECT_EQ(test, c->fid->nr_events, 1);
	peer_fin(c->peer);
	expect_closed(c, IW_MPA_R_ULP_CLOSE, UP " finish_tx kick_rx stop");
}

/*
 * The ULP closes, and the peer closes while the driver still sends what the ULP had posted before
 * its close. iw_mpa must not call stop() before the driver has sent all of that.
 */
/* Rules: M-7.2-1: neither FIN nor CLOSE before the driver has finished */
static void peer_closes_while_the_driver_finishes(struct kunit *test)
{
	struct fake_conn *c = active_up(test, true);

	fake_disconnect(c->fid);
	FAKE_WAIT(c->f, strstr(c->qp->log, "finish_tx"));
	conn_send_rtr(c);
	peer_fin(c->peer);
	FAKE_WAIT(c->f, strstr(c->qp->log, "finish_tx kick_rx"));
	expect_nothing(c);
	KUNIT_EXPECT_EQ(test, c->qp->nr_fpdus, 1);
	fake_qp_tx_finished(c->qp);
	expect_closed(c, IW_MPA_R_ULP_CLOSE, UP " finish_tx kick_rx stop");
	peer_expect_eof(c->f, c->peer);
}

/* Rules: M-7.2-1: FIN after what the driver still sends */
static void peer_closes_and_what_was_posted_goes_out(struct kunit *test)
{
	struct fake_conn *c = active_up(test, true);

	conn_send_rtr(c);
	peer_fin(c->peer);
	FAKE_WAIT(c->f, strstr(c->qp->log, "finish_tx"));
	expect_nothing(c);
	KUNIT_EXPECT_EQ(test, c->qp->nr_fpdus, 1);
	/* The peer has closed first, so a close by the ULP changes nothing. */
	fake_disconnect(c->fid);
	expect_nothing(c);
	fake_qp_tx_finished(c->qp);
	fake_expect_closed(c->fid, 2);
	KUNIT_EXPECT_STREQ(test, c->qp->log, UP " kick_rx finish_tx stop");
	peer_expect_eof(c->f, c->peer);
}

/* RFC 5044 7.2 and 8: a FIN within an FPDU is an error, which the driver reports in finish_tx(). */
/*
 * Rules: M-7.2-1: kick_rx, then finish_tx, in which the driver finds a part of an FPDU, then stop
 */
static void peer_closes_within_an_fpdu(struct kunit *test)
{
	struct fake_conn *c = active_up(test, true);
	u8 fpdu[IW_MPA_FPDU_MAX];

	peer_send(c->f, c->peer, fpdu, peer_make_rtr_write(fpdu) - 3);
	peer_fin(c->peer);
	expect_closed(c, IW_MPA_R_STREAM, UP " kick_rx finish_tx stop");
	peer_expect_end(c->f, c->peer);
}

/* Closes by FIN that cannot complete: the driver still has to send, or the peer does not close. */
static const struct stuck {
	const char *desc;
	bool slow;		/* the driver does not call iw_mpa_tx_finished() */
	bool ulp;		/* the ULP closes first, else the peer */
	bool fin;		/* this end has sent FIN */
} stuck_cases[] = {
	{ "driver_does_not_finish_for_the_ulp", true, true, false },
	{ "driver_does_not_finish_for_the_peer", true, false, false },
	{ "peer_does_not_close", false, true, true },
};

KUNIT_ARRAY_PARAM_DESC(stuck, stuck_cases, desc);

static void bring_to(struct fake_conn *c, const struct stuck *tc)
{
	if (tc->ulp)
		fake_disconnect(c->fid);
	else
		peer_fin(c->peer);
	FAKE_WAIT(c->f, strstr(c->qp->log, "finish_tx") && !c->qp->busy);
	if (tc->fin)
		peer_expect_eof(c->f, c->peer);
}

static void end_is_bounded_by_a_timer(struct kunit *test)
{
	const struct stuck *tc = test->param_value;
	struct fake_conn *c = active_up(test, tc->slow);

	c->f->config->linger_timeout_ms = FAKE_SHORT_MS;
	bring_to(c, tc);
	fake_expect_closed(c->fid, 2);
	KUNIT_EXPECT_STREQ(test, c->qp->log,
			   tc->ulp ? UP " finish_tx stop" : UP " kick_rx finish_tx stop");
	KUNIT_EXPECT_EQ(test, c->qp->why, IW_MPA_R_TIMEOUT_FINISH);
	if (!tc->fin)
		peer_expect_end(c->f, c->peer);
	/* After stop() the driver has no endpoint to call iw_mpa_tx_finished() for. */
	fake_qp_tx_finished(c->qp);
}

/*
 * Let TCP transfer bytes, which iw_mpa counts as progress of a close by FIN: from the peer if this
 * end has sent FIN, else to the peer.
 */
static void move_an_octet(struct fake_conn *c, const struct stuck *tc)
{
	struct kvec iov = { .iov_base = "x", .iov_len = 1 };
	struct msghdr msg = {};

	if (tc->fin)
		conn_send_rtr(c);
	else
		KUNIT_EXPECT_EQ(c->f->test, kernel_sendmsg(c->qp->ho.sock, &msg, &iov, 1, 1), 1);
}

#define MOVE_LINGER_MS	400
#define MOVE_TRIES	5

/*
 * Return true if linger_timeout_ms may have expired since @moved (in jiffies), when the test last
 * sent bytes. Then the host was too slow for the test: iw_mpa may have ended the connection
 * rightly, so the test proves nothing, and is repeated.
 */
static bool too_slow(unsigned long moved)
{
	return time_after_eq(jiffies, moved + msecs_to_jiffies(MOVE_LINGER_MS));
}

/*
 * Send bytes for three times linger_timeout_ms, in which time the connection must not end. Return
 * false if the host was so slow that linger_timeout_ms may have expired between two sends: then
 * iw_mpa's linger timer ends the connection.
 */
static bool octets_move(struct kunit *test, struct fake_conn *c, const struct stuck *tc)
{
	unsigned long moved = jiffies;
	int i, events;

	bring_to(c, tc);
	for (i = 0; i < 12; i++) {
		msleep(100);
		events = READ_ONCE(c->fid->nr_events);
		if (too_slow(moved))
			return false;
		KUNIT_ASSERT_EQ(test, events, 1);	/* after CLOSE the socket is freed */
		moved = jiffies;
		move_an_octet(c, tc);
	}
	events = READ_ONCE(c->fid->nr_events);
	if (too_slow(moved))
		return false;
	KUNIT_EXPECT_EQ(test, events, 1);
	return true;
}

/* The test sends no more bytes: wait until iw_mpa's linger timer has ended the connection. */
static void ended_by_a_slow_host(struct fake_conn *c)
{
	conn_expect_closed(c, IW_MPA_R_TIMEOUT_FINISH);
	c->qp->log[0] = '\0';
}

/* Rules: M-7.2-1: no CLOSE while bytes are sent or received, even after linger_timeout_ms */
static void end_takes_as_long_as_octets_move(struct kunit *test)
{
	const struct stuck *tc = test->param_value;
	struct fakes *f = test->priv;
	struct fake_conn *c;
	int tries;

	f->config->linger_timeout_ms = MOVE_LINGER_MS;
	for (tries = 0;; tries++) {
		KUNIT_ASSERT_LT(test, tries, MOVE_TRIES);
		c = active_up(test, tc->slow);
		if (octets_move(test, c, tc))
			break;
		ended_by_a_slow_host(c);
	}
	if (tc->slow)
		fake_qp_tx_finished(c->qp);
	if (tc->ulp)
		peer_fin(c->peer);
	fake_expect_closed(c->fid, 2);
	KUNIT_EXPECT_EQ(test, c->qp->why, tc->ulp ? IW_MPA_R_ULP_CLOSE : IW_MPA_R_PEER_CLOSED);
}

/*
 * Send bytes every 50 ms, so that iw_mpa finds progress at each expiry of linger_timeout_ms, until
 * iw_mpa ends the connection all the same, after finish_timeout_ms, or after linger_timeout_ms if
 * the device is being removed. Return false if the host was so slow that linger_timeout_ms may have
 * expired between two sends. @took is set to the time that the close by FIN took, in milliseconds.
 */
static bool move_until_closed(struct fake_conn *c, const struct stuck *tc, unsigned int *took)
{
	unsigned long start, moved = jiffies;
	int i;

	bring_to(c, tc);
	start = jiffies;
	for (i = 0; i < 100 && !too_slow(moved) && READ_ONCE(c->fid->nr_events) == 1; i++) {
		moved = jiffies;
		move_an_octet(c, tc);
		msleep(50);
	}
	KUNIT_EXPECT_LT_MSG(c->f->test, i, 100, "the end has no limit");
	*took = jiffies_to_msecs(jiffies - start);
	return !too_slow(moved);
}

/* Rules: M-7.2-1: after finish_timeout_ms the ULP gets CLOSE, and the driver's stop is called */
static void end_has_a_limit_whatever_moves(struct kunit *test)
{
	const struct stuck *tc = test->param_value;
	struct fakes *f = test->priv;
	struct fake_conn *c;
	unsigned int took;
	int tries;

	f->config->linger_timeout_ms = MOVE_LINGER_MS;
	f->config->finish_timeout_ms = 1000;
	for (tries = 0;; tries++) {
		KUNIT_ASSERT_LT(test, tries, MOVE_TRIES);
		c = active_up(test, tc->slow);
		if (move_until_closed(c, tc, &took))
			break;
		ended_by_a_slow_host(c);
	}
	/* finish_timeout_ms runs from the start of the close by FIN, @took from a little later. */
	KUNIT_EXPECT_GE(test, took, 700);
	conn_expect_closed(c, IW_MPA_R_TIMEOUT_FINISH);
}

/*
 * Rules: L-02: the removal ends a connection that is already ending, long before its timers would
 */
static void device_that_goes_ends_what_is_ending(struct kunit *test)
{
	const struct stuck *tc = test->param_value;
	struct fake_conn *c = active_up(test, tc->slow);

	c->f->config->linger_timeout_ms = 600000;
	c->f->config->finish_timeout_ms = 600000;
	bring_to(c, tc);
	no_core.client->remove(c->f->ibdev, NULL);
	/* stop() gets the reason for which the close by FIN began, not DEVICE_GONE. */
	conn_expect_closed(c, tc->ulp ? IW_MPA_R_ULP_CLOSE : IW_MPA_R_PEER_CLOSED);
}

/* Rules: L-02: a close by FIN that begins after the removal ends by a timer though bytes move */
static void end_on_a_device_that_goes_is_short(struct kunit *test)
{
	const struct stuck *tc = test->param_value;
	struct fake_conn *c = active_up(test, tc->slow);
	unsigned int took;

	c->f->config->linger_timeout_ms = 300;
	no_core.client->remove(c->f->ibdev, NULL);
	move_until_closed(c, tc, &took);
	conn_expect_closed(c, IW_MPA_R_TIMEOUT_FINISH);
}

/* Events at which iw_mpa ends a connection at once, though its close by FIN is not complete */
enum breaker {
	BREAK_ABORT,
	BREAK_RST,
	BREAK_FPDU,
	BREAK_QP,
	BREAK_DEVICE,
	BREAKERS
};

/*
 * Return the reason that stop() gets: PEER_RESET after a RST; STREAM after an FPDU in error; in all
 * other cases the reason for which the close by FIN began.
 */
static enum iw_mpa_reason why_broken(const struct stuck *tc, enum breaker breaker)
{
	if (breaker == BREAK_RST)
		return IW_MPA_R_PEER_RESET;
	if (breaker == BREAK_FPDU)
		return IW_MPA_R_STREAM;
	return tc->ulp ? IW_MPA_R_ULP_CLOSE : IW_MPA_R_PEER_CLOSED;
}

static void do_break(struct fake_conn *c, enum breaker breaker)
{
	switch (breaker) {
	case BREAK_ABORT:
		fake_qp_disconnect(c->qp, true);
		break;
	case BREAK_RST:
		peer_rst(c->f, c->peer);
		break;
	case BREAK_FPDU:
		fake_qp_stream_down(c->qp);
		break;
	case BREAK_QP:
		fake_qp_gone(c->qp);
		break;
	default:
		fake_unregister(c->f);
	}
}

static void end_may_be_cut_off(struct kunit *test)
{
	const struct stuck *tc = test->param_value;
	struct fakes *f = test->priv;
	int i;

	for (i = 0; i < BREAKERS; i++) {
		struct fake_conn *c;

		f->qps[0].log[0] = '\0';
		c = active_up(test, tc->slow);
		bring_to(c, tc);
		do_break(c, i);
		fake_expect_closed(c->fid, 2);
		fake_expect_event(c->fid, 1, IW_CM_EVENT_CLOSE, 0);
		KUNIT_EXPECT_STREQ(test, c->qp->log,
				   tc->ulp ? UP " finish_tx stop" : UP " kick_rx finish_tx stop");
		KUNIT_EXPECT_EQ(test, c->qp->why, why_broken(tc, i));
	}
}

/* Rules: M-7.2-1: stop without finish_tx */
static void abrupt_end_does_not_finish(struct kunit *test)
{
	struct fake_conn *c = active_up(test, false);

	fake_qp_disconnect(c->qp, true);
	peer_expect_eof(c->f, c->peer);
	expect_closed(c, IW_MPA_R_ULP_CLOSE, UP " stop");
	peer_fin(c->peer);
}

/* Before open_tx() the driver must not send posted work requests, so finish_tx() is not called. */
/* Rules: M-7.1.2-10: neither open_tx nor finish_tx */
static void fenced_end_does_not_finish(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	fake_have_finish_tx(c->f);
	conn_call_v1(c);
	conn_accept(c);
	fake_disconnect(c->fid);
	peer_expect_eof(c->f, c->peer);
	expect_closed(c, IW_MPA_R_ULP_CLOSE, "prepare attach kick_rx stop");
	peer_fin(c->peer);
}

/*
 * If the driver has no op finish_tx(), iw_mpa calls stop() at once when the ULP closes. Work
 * requests that are posted and not sent are then lost, as the comment of struct iw_mpa_driver_ops
 * says.
 */
static void driver_that_cannot_finish_stops(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	conn_active_up(c);
	fake_disconnect(c->fid);
	peer_expect_eof(c->f, c->peer);
	expect_closed(c, IW_MPA_R_ULP_CLOSE, UP " stop");
	peer_fin(c->peer);
}

/*
 * The ULP closes before the peer has sent anything after its Reply, so the peer may have missed the
 * RTR message: iw_mpa calls repeat_rtr() before finish_tx(), and never afterwards.
 */
static void unanswered_end_finishes(struct kunit *test)
{
	struct fakes *f = test->priv;
	struct fake_conn *c;

	f->config->rtr_repeat_ms = 1000;
	fake_have_repeat_rtr(f);
	c = active_up(test, true);
	fake_disconnect(c->fid);
	peer_recv_rtr(f, c->peer, IW_MPA_RTR_WRITE);
	FAKE_WAIT(f, strstr(c->qp->log, "finish_tx"));
	expect_nothing(c);
	fake_qp_tx_finished(c->qp);
	peer_expect_eof(f, c->peer);
	peer_fin(c->peer);
	expect_closed(c, IW_MPA_R_ULP_CLOSE, UP " repeat_rtr finish_tx kick_rx stop");
}

/*
 * When an application disconnects, librdmacm modifies its QP to SQD, and then iw_cm modifies the QP
 * to SQD again. The second modify_qp must not queue a work item, which would find nothing to do.
 */
static void second_close_queues_no_work(struct kunit *test)
{
	struct fake_conn *c = active_up(test, false);
	struct iw_mpa_ep *ep = fake_qp_ep(c->qp);
	bool queued;

	KUNIT_ASSERT_NOT_NULL(test, ep);
	fake_disconnect(c->fid);
	peer_expect_eof(c->f, c->peer);
	flush_work(&ep->work);
	preempt_disable();
	iw_mpa_disconnect(ep, false);
	queued = work_pending(&ep->work);
	preempt_enable();
	iw_mpa_ep_put(ep);
	KUNIT_EXPECT_FALSE(test, queued);
	peer_fin(c->peer);
	expect_closed(c, IW_MPA_R_ULP_CLOSE, UP " finish_tx kick_rx stop");
}

/*
 * Rules: M-7.2-1: if nothing was posted, FIN is sent before the call returns, without a work item
 */
static void close_sends_fin_at_once(struct kunit *test)
{
	struct fake_conn *c = active_up(test, false);
	struct iw_mpa_ep *ep = fake_qp_ep(c->qp);

	KUNIT_ASSERT_NOT_NULL(test, ep);
	flush_work(&ep->work);
	iw_mpa_close(ep);
	KUNIT_EXPECT_EQ(test, (int)READ_ONCE(ep->state), (int)IW_MPA_ST_HALF_CLOSED);
	KUNIT_EXPECT_FALSE(test, work_busy(&ep->work));
	KUNIT_EXPECT_TRUE(test, timer_pending(&ep->timer));
	peer_expect_eof(c->f, c->peer);
	iw_mpa_close(ep);
	KUNIT_EXPECT_FALSE(test, work_busy(&ep->work));
	iw_mpa_ep_put(ep);
	conn_send_rtr(c);
	FAKE_WAIT(c->f, c->qp->nr_fpdus == 1);
	peer_fin(c->peer);
	expect_closed(c, IW_MPA_R_ULP_CLOSE, UP " finish_tx kick_rx stop");
}

/* If finish_tx() does not call iw_mpa_tx_finished(), iw_mpa_close() returns before FIN is sent. */
static void close_leaves_fin_to_a_slow_driver(struct kunit *test)
{
	struct fake_conn *c = active_up(test, true);
	struct iw_mpa_ep *ep = fake_qp_ep(c->qp);

	KUNIT_ASSERT_NOT_NULL(test, ep);
	flush_work(&ep->work);
	iw_mpa_close(ep);
	KUNIT_EXPECT_EQ(test, (int)READ_ONCE(ep->state), (int)IW_MPA_ST_FINISHING);
	iw_mpa_ep_put(ep);
	expect_nothing(c);
	fake_qp_tx_finished(c->qp);
	peer_expect_eof(c->f, c->peer);
	peer_fin(c->peer);
	expect_closed(c, IW_MPA_R_ULP_CLOSE, UP " finish_tx kick_rx stop");
}

/*
 * The driver's op stop() may take a lock that the caller of iw_mpa_close() holds. So iw_mpa_close()
 * does not call stop(), but leaves that to the endpoint's work item.
 */
static void close_leaves_stop_to_the_work_item(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct iw_mpa_ep *ep;

	conn_active_up(c);
	ep = fake_qp_ep(c->qp);
	KUNIT_ASSERT_NOT_NULL(test, ep);
	flush_work(&ep->work);
	iw_mpa_close(ep);
	KUNIT_EXPECT_TRUE(test, work_busy(&ep->work));
	KUNIT_EXPECT_STREQ(test, c->qp->log, UP);
	iw_mpa_ep_put(ep);
	peer_expect_eof(c->f, c->peer);
	expect_closed(c, IW_MPA_R_ULP_CLOSE, UP " stop");
	peer_fin(c->peer);
}

/* An iw_mpa_stream_down() before iw_mpa_close() is handled first: stop() gets the reason STREAM. */
static void close_does_not_overtake(struct kunit *test)
{
	struct fake_conn *c = active_up(test, false);
	struct iw_mpa_ep *ep = fake_qp_ep(c->qp);

	KUNIT_ASSERT_NOT_NULL(test, ep);
	flush_work(&ep->work);
	iw_mpa_stream_down(ep, &fake_broken);
	iw_mpa_close(ep);
	iw_mpa_ep_put(ep);
	expect_closed(c, IW_MPA_R_STREAM, UP " stop");
	peer_expect_eof(c->f, c->peer);
	peer_fin(c->peer);
}

/*
 * iw_mpa_raise() must not drop an event for which the endpoint's state has no transition if another
 * event waits: that other event may lead to a state that has one. If a driver reports two faults,
 * iw_mpa keeps the first one for the log.
 */
static void event_waits_behind_another(struct kunit *test)
{
	const struct iw_mpa_fault later = { .text = "found later" };
	struct fake_conn *c = active_up(test, false);
	struct iw_mpa_ep *ep = fake_qp_ep(c->qp);

	KUNIT_ASSERT_NOT_NULL(test, ep);
	flush_work(&ep->work);
	preempt_disable();
	iw_mpa_stream_down(ep, &fake_broken);
	iw_mpa_stream_down(ep, &later);
	iw_mpa_raise(ep, IW_MPA_EV_YIELD_LINGER);
	preempt_enable();
	flush_work(&ep->work);
	KUNIT_EXPECT_EQ(test, (int)READ_ONCE(ep->state), (int)IW_MPA_ST_DEAD);
	KUNIT_EXPECT_PTR_EQ(test, ep->fault.text, fake_broken.text);
	iw_mpa_ep_put(ep);
	expect_closed(c, IW_MPA_R_STREAM, UP " stop");
}

static struct kunit_case finish_cases[] = {
	KUNIT_CASE(ulp_closes_and_goes_on_receiving),
	KUNIT_CASE(ulp_closes_and_fin_waits_for_the_driver),
	KUNIT_CASE(peer_closes_while_the_driver_finishes),
	KUNIT_CASE(peer_closes_and_what_was_posted_goes_out),
	KUNIT_CASE(peer_closes_within_an_fpdu),
	KUNIT_CASE_PARAM(end_is_bounded_by_a_timer, stuck_gen_params),
	KUNIT_CASE_PARAM(end_takes_as_long_as_octets_move, stuck_gen_params),
	KUNIT_CASE_PARAM(end_has_a_limit_whatever_moves, stuck_gen_params),
	KUNIT_CASE_PARAM(device_that_goes_ends_what_is_ending, stuck_gen_params),
	KUNIT_CASE_PARAM(end_on_a_device_that_goes_is_short, stuck_gen_params),
	KUNIT_CASE_PARAM(end_may_be_cut_off, stuck_gen_params),
	KUNIT_CASE(abrupt_end_does_not_finish),
	KUNIT_CASE(fenced_end_does_not_finish),
	KUNIT_CASE(driver_that_cannot_finish_stops),
	KUNIT_CASE(unanswered_end_finishes),
	KUNIT_CASE(second_close_queues_no_work),
	KUNIT_CASE(close_sends_fin_at_once),
	KUNIT_CASE(close_leaves_fin_to_a_slow_driver),
	KUNIT_CASE(close_leaves_stop_to_the_work_item),
	KUNIT_CASE(close_does_not_overtake),
	KUNIT_CASE(event_waits_behind_another),
	{}
};

static struct kunit_suite finish_suite = {
	.name = "iw_mpa_finish",
	.init = fakes_init,
	.exit = fakes_exit,
	.test_cases = finish_cases,
};

kunit_test_suite(finish_suite);

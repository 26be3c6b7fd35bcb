// SPDX-License-Identifier: GPL-2.0
/* Requests that are not reported to the ULP, or that the ULP does not answer */

#include "ep.h"
#include "iw_mpa_fakes.h"

#include <linux/net.h>
#include <linux/sizes.h>

/* Malformed Requests, and ends of the connection before the whole Request: iw_cm gets no event. */
static const struct bad_case {
	const char	*desc;
	u8		flags;
	u8		rev;
	u16		pd_len;
	u16		send;
	bool		reply;
	bool		fin;
	bool		silence;
	bool		urgent;		/* the last byte */
} bad_cases[] = {
	{ .desc = "fin_at_once", .fin = true },
	{ .desc = "fin_within_header", .flags = MPA_C, .rev = 1, .send = 19,
	  .fin = true },
	{ .desc = "fin_within_private_data", .flags = MPA_C, .rev = 1,
	  .pd_len = 10, .send = 29, .fin = true },
	{ .desc = "rfc5044_7_1_2_reply_for_request", .flags = MPA_C, .rev = 1,
	  .send = 20, .reply = true },
	{ .desc = "rfc5044_7_1_1_rev_0", .flags = MPA_C, .send = 20 },
	{ .desc = "rfc5044_7_1_1_rev_3", .flags = MPA_C, .rev = 3, .send = 20 },
	{ .desc = "rfc5044_7_1_1_pd_length_513", .flags = MPA_C, .rev = 1,
	  .pd_len = 513, .send = 20 },
	{ .desc = "rfc6581_9_s_without_data", .flags = MPA_C | MPA_S, .rev = 2,
	  .pd_len = 3, .send = 23 },
	{ .desc = "urgent_data_within_header", .flags = MPA_C, .rev = 1,
	  .send = 10, .urgent = true },
	{ .desc = "silence_at_once", .silence = true },
	{ .desc = "silence_within_header", .flags = MPA_C, .rev = 1, .send = 10,
	  .silence = true },
};

KUNIT_ARRAY_PARAM_DESC(bad, bad_cases, desc);

/* Send the first @len bytes of the frame, the last of which is urgent data. */
static void send_urgent(struct kunit *test, struct fake_conn *c, int len)
{
	struct msghdr msg = { .msg_flags = MSG_OOB };
	struct kvec iov = { .iov_base = c->frame.buf, .iov_len = len };

	KUNIT_ASSERT_EQ(test, kernel_sendmsg(c->peer, &msg, &iov, 1, len), len);
}

/*
 * Rules: E-6-4 M-7.1.1-12 M-7.1.1-15 M-7.1.2-3 M-7.1.2-14 M-7.1.2-15 M-8-2: TCP ends, the peer gets
 * no byte, and the ULP gets no event
 */
static void bad_request_is_closed_quietly(struct kunit *test)
{
	static const u8 pd[IW_MPA_PD_MAX + 1];
	const struct bad_case *bc = test->param_value;
	struct fake_conn *c = conn_new(test);
	struct fakes *f = test->priv;

	if (bc->silence)
		f->config->request_timeout_ms = FAKE_SHORT_MS;
	if (bc->urgent)
		f->config->request_timeout_ms = 3600 * MSEC_PER_SEC;
	conn_listen(c);
	c->peer = peer_connect(f, c->lis);
	peer_make(&c->frame, bc->reply, bc->flags, bc->rev, pd, bc->pd_len);
	if (bc->urgent)
		send_urgent(test, c, bc->send);
	else if (bc->send)
		peer_send(f, c->peer, c->frame.buf, bc->send);
	if (bc->fin)
		peer_fin(c->peer);
	peer_expect_end(f, c->peer);
	KUNIT_EXPECT_EQ(test, c->lis->nr_events, 0);
	fake_destroy(c->lis);
	FAKE_WAIT(f, !READ_ONCE(c->lis->refs));
}

/*
 * Have iw_cm drop a CONNECT_REQUEST silently, as it does while it destroys the listener: iw_mpa
 * never gets an answer of the ULP.
 */
static void unanswered(struct fake_conn *c, struct fakes *f)
{
	conn_listen(c);
	c->lis->drop_requests = true;
	conn_send_request(c);
	FAKE_WAIT(f, READ_ONCE(c->lis->nr_dropped));
	fake_destroy(c->lis);
}

/* a Request that no ULP will answer is rejected when the device is removed */
static void device_gone_unanswered_is_freed(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	unanswered(c, test->priv);
	fake_unregister(c->f);
	conn_expect_reject_and_fin(c);
}

static void device_gone_unanswered_after_fin_is_freed(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	unanswered(c, test->priv);
	peer_fin(c->peer);
	peer_expect_eof(c->f, c->peer);
	fake_unregister(c->f);
}

/* a Request that no ULP will answer is rejected after verdict_timeout_ms */
static void unanswered_is_rejected_by_timer_and_freed(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	c->f->config->verdict_timeout_ms = FAKE_SHORT_MS;
	unanswered(c, c->f);
	conn_expect_refusal(c, "", 5);
	FAKE_POLL(c->f, fakes_has_no_endpoint());
}

/*
 * iw_mpa identifies a connection by the provider_data of its cm_id. After the connection has ended,
 * an accept with this cm_id must fail, and not accept a newer connection.
 */
static void accept_after_end_leaves_others_alone(struct kunit *test)
{
	struct fake_conn *c = conn_new(test), *next = conn_new(test);
	struct fakes *f = test->priv;

	conn_call(c);
	peer_rst(f, c->peer);
	FAKE_POLL(f, fakes_has_no_endpoint());
	conn_call(next);
	KUNIT_EXPECT_EQ(test, fake_accept(c->fid, &c->param), -ECONNRESET);
	KUNIT_ASSERT_EQ(test, fake_accept(next->fid, &next->param), 0);
	conn_send_rtr(next);
	fake_expect_event(next->fid, 0, IW_CM_EVENT_ESTABLISHED, 0);
}

/*
 * RFC 5044 7.1.2: an initiator waits for the Reply. iw_mpa ends a connection whose initiator sends
 * more than EARLY_MAX bytes after the Request and before the Reply.
 */
#define EARLY_MAX	SZ_16K

/* Return a buffer of zeros with room for a Request and EARLY_MAX + 1 further bytes. */
static u8 *early_octets(struct kunit *test)
{
	u8 *octets = kunit_kzalloc(test, IW_MPA_FRAME_MAX + EARLY_MAX + 1, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, octets);
	return octets;
}

static void early_octets_are_kept_up_to_a_limit(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	conn_call(c);
	peer_send(c->f, c->peer, early_octets(test), EARLY_MAX);
	KUNIT_EXPECT_EQ(test, fake_reject(c->fid, NULL, 0), 0);
	peer_recv_frame(c->f, c->peer, &c->frame);
	KUNIT_EXPECT_EQ(test, peer_frame_flags(&c->frame) & MPA_R, MPA_R);
}

static void early_octets_past_the_limit_end_the_wait(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	conn_call(c);
	peer_send(c->f, c->peer, early_octets(test), EARLY_MAX + 1);
	peer_expect_rst(c->f, c->peer);
	KUNIT_EXPECT_EQ(test, fake_accept(c->fid, &c->param), -ECONNRESET);
}

/* A read stops at urgent data, but bytes after urgent data count against EARLY_MAX, too. */
static void early_octets_past_urgent_data_end_the_wait(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	conn_call(c);
	send_urgent(test, c, 1);
	peer_send(c->f, c->peer, early_octets(test), EARLY_MAX);
	peer_expect_rst(c->f, c->peer);
	KUNIT_EXPECT_EQ(test, fake_accept(c->fid, &c->param), -ECONNRESET);
}

/* More than EARLY_MAX bytes arrive together with the Request: the ULP gets no CONNECT_REQUEST. */
static void early_octets_past_the_limit_with_the_request_end_it(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	u8 *octets = early_octets(test);

	conn_listen(c);
	c->peer = peer_connect(c->f, c->lis);
	conn_make_good_request(c);
	memcpy(octets, c->frame.buf, c->frame.len);
	peer_send(c->f, c->peer, octets, c->frame.len + EARLY_MAX + 1);
	peer_expect_rst(c->f, c->peer);
	KUNIT_EXPECT_EQ(test, c->lis->nr_events, 0);
}

/* More than EARLY_MAX bytes arrive while the Request waits until iw_cm has memory for the event. */
static void early_octets_past_the_limit_end_the_wait_for_room(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	conn_listen(c);
	c->lis->fail_events = 1;
	conn_send_request(c);
	FAKE_POLL(c->f, !READ_ONCE(c->lis->fail_events));
	peer_send(c->f, c->peer, early_octets(test), EARLY_MAX + 1);
	peer_expect_rst(c->f, c->peer);
}

static struct kunit_case request_cases[] = {
	KUNIT_CASE_PARAM(bad_request_is_closed_quietly, bad_gen_params),
	KUNIT_CASE(device_gone_unanswered_is_freed),
	KUNIT_CASE(device_gone_unanswered_after_fin_is_freed),
	KUNIT_CASE(unanswered_is_rejected_by_timer_and_freed),
	KUNIT_CASE(accept_after_end_leaves_others_alone),
	KUNIT_CASE(early_octets_are_kept_up_to_a_limit),
	KUNIT_CASE(early_octets_past_the_limit_end_the_wait),
	KUNIT_CASE(early_octets_past_urgent_data_end_the_wait),
	KUNIT_CASE(early_octets_past_the_limit_with_the_request_end_it),
	KUNIT_CASE(early_octets_past_the_limit_end_the_wait_for_room),
	{}
};

static struct kunit_suite request_suite = {
	.name = "iw_mpa_request",
	.init = fakes_init,
	.exit = fakes_exit,
	.test_cases = request_cases,
};

kunit_test_suite(request_suite);

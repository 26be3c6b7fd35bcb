// SPDX-License-Identifier: GPL-2.0
/* Tests of the MPA responder: every way in which a connection can fail, or be ended. */

#include "ep.h"
#include "iw_mpa_fakes.h"

static void expect_reject(struct fake_conn *c, const char *pd)
{
	conn_expect_refusal(c, pd, 0);
}

/* Rules: M-7.1.2-4: TCP is open after the Reply; M-7.1.2-12: R and private data of the Reply */
static void reject_with_private_data_is_sent(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	conn_call(c);
	KUNIT_EXPECT_EQ(test, fake_reject(c->fid, "go away", 7), 0);
	expect_reject(c, "go away");
	fake_expect_closed(c->fid, 0);
}

/* Rules: M-7.1.2-12: R, and PD_Length of the Reply */
static void reject_of_most_private_data_is_sent(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	char pd[256];

	memset(pd, 'x', 255);
	pd[255] = '\0';
	conn_call(c);
	KUNIT_EXPECT_EQ(test, fake_reject(c->fid, pd, 255), 0);
	expect_reject(c, pd);
}

/* If the ULP destroys a cm_id without an answer, iw_cm rejects without private data. */
/* Rules: M-7.1.2-12: R of the Reply */
static void reject_without_private_data_is_sent(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	conn_call(c);
	fake_destroy(c->fid);
	expect_reject(c, "");
}

/* Rules: E-10-2: revision and S of the Reply; M-7.1.2-12: R of the Reply */
static void reject_of_v1_is_v1(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	conn_call_v1(c);
	KUNIT_EXPECT_EQ(test, fake_reject(c->fid, "no", 2), 0);
	peer_recv_frame(c->f, c->peer, &c->frame);
	KUNIT_EXPECT_EQ(test, peer_frame_flags(&c->frame), MPA_C | MPA_R);
	KUNIT_EXPECT_EQ(test, peer_frame_rev(&c->frame), 1);
	KUNIT_EXPECT_EQ(test, peer_frame_pd_len(&c->frame), 2);
}

static void reject_peer_does_not_close_is_closed_by_timer(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	c->f->config->linger_timeout_ms = FAKE_SHORT_MS;
	conn_call(c);
	KUNIT_EXPECT_EQ(test, fake_reject(c->fid, NULL, 0), 0);
	peer_recv_frame(c->f, c->peer, &c->frame);
	peer_expect_eof(c->f, c->peer);
}

/*
 * iw_mpa reads and drops what a rejected peer sends. With unread bytes TCP would send RST in place
 * of FIN, and the peer could lose the Reject.
 */
/* Rules: M-7.1.2-4: no RST follows the Reject, though the peer goes on sending */
static void reject_peer_goes_on_sending_is_drained(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	int i;

	conn_call(c);
	KUNIT_EXPECT_EQ(test, fake_reject(c->fid, "no", 2), 0);
	for (i = 0; i < 5; i++)
		peer_send(c->f, c->peer, c->frame.buf, sizeof(c->frame.buf));
	expect_reject(c, "no");
}

/*
 * Bytes of a rejected peer do not prolong the wait for its FIN: after linger_timeout_ms iw_mpa
 * closes.
 */
static void reject_peer_sends_without_end_is_closed(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	int i;

	conn_call(c);
	KUNIT_EXPECT_EQ(test, fake_reject(c->fid, NULL, 0), 0);
	peer_recv_frame(c->f, c->peer, &c->frame);
	for (i = 0; i < 40; i++)
		peer_send(c->f, c->peer, c->frame.buf, sizeof(c->frame.buf));
	peer_expect_end(c->f, c->peer);
}

/*
 * After a Reject iw_mpa also reads the bytes that arrived together with the Request: with unread
 * bytes TCP would send RST in place of FIN.
 */
static void reject_peer_has_sent_more_is_drained(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	conn_listen(c);
	conn_make_good_request(c);
	c->frame.len += peer_make_rtr_write(c->frame.buf + c->frame.len);
	conn_ask(c);
	KUNIT_EXPECT_EQ(test, fake_reject(c->fid, "no", 2), 0);
	expect_reject(c, "no");
}

/* The same, if iw_mpa has seen the bytes before the ULP rejects, and the peer sends no more. */
static void reject_peer_has_sent_more_before_is_drained(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	c->f->config->linger_timeout_ms = FAKE_SHORT_MS;
	conn_call(c);
	peer_send(c->f, c->peer, c->frame.buf, 20);
	flush_workqueue(iw_mpa_wq);
	KUNIT_EXPECT_EQ(test, fake_reject(c->fid, NULL, 0), 0);
	peer_recv_frame(c->f, c->peer, &c->frame);
	peer_expect_eof(c->f, c->peer);
}

static void accept_verdict_is_late_after_reject_by_timer(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	c->f->config->verdict_timeout_ms = FAKE_SHORT_MS;
	conn_call(c);
	conn_expect_refusal(c, "", 5);
	KUNIT_EXPECT_EQ(test, fake_accept(c->fid, &c->param), -ECONNRESET);
	fake_expect_closed(c->fid, 0);
	KUNIT_EXPECT_STREQ(test, c->qp->log, "");
}

/* iw_accept returns -ECONNRESET after the peer's FIN */
static void accept_after_fin_is_econnreset(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	conn_call(c);
	peer_fin(c->peer);
	peer_expect_eof(c->f, c->peer);
	KUNIT_EXPECT_EQ(test, fake_accept(c->fid, &c->param), -ECONNRESET);
	fake_expect_closed(c->fid, 0);
	KUNIT_EXPECT_EQ(test, c->qp->refs, 1);
}

/* iw_accept returns -ECONNRESET after the peer's RST */
static void accept_after_rst_is_econnreset(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	conn_call(c);
	peer_rst(c->f, c->peer);
	FAKE_POLL(c->f, fakes_has_no_endpoint());
	KUNIT_EXPECT_EQ(test, fake_accept(c->fid, &c->param), -ECONNRESET);
	fake_expect_closed(c->fid, 0);
}

/* iw_reject returns -ECONNRESET after the peer's RST */
static void reject_after_rst_is_econnreset(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	conn_call(c);
	peer_rst(c->f, c->peer);
	FAKE_POLL(c->f, fakes_has_no_endpoint());
	KUNIT_EXPECT_EQ(test, fake_reject(c->fid, NULL, 0), -ECONNRESET);
}

/*
 * The peer's RST races with iw_accept, which fails if the RST arrives before iw_mpa has sent the
 * Reply. If it arrives later, iw_accept returns 0, and the ULP gets ESTABLISHED with an errno, then
 * CLOSE.
 */
static void accept_races_with_rst(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	int err;

	conn_call(c);
	peer_rst(c->f, c->peer);
	err = fake_accept(c->fid, &c->param);
	fake_expect_closed(c->fid, err ? 0 : 2);
	if (!err)
		KUNIT_EXPECT_LT(test, c->fid->events[0].status, 0);
	KUNIT_EXPECT_EQ(test, c->qp->refs, 1);
}

/* Cases in which iw_accept fails: the peer gets a Reject, the ULP gets the errno and no event. */
struct refuse_case {
	const char		*desc;
	int			err;
	struct iw_cm_conn_param	param;
	u16			ird;		/* IRD in the Request */
	u8			flags;
	int			prepare;	/* result of prepare */
	u8			term;
	u32			caps;		/* further capabilities of the device */
	bool			strict;
	bool			early;
};

static const u8 long_pd[IW_MPA_PD_MAX + 1];

static const struct refuse_case refuse_cases[] = {
	{ "no_such_qp", -EINVAL, { .qpn = 77 }, 8, MPA_C, .term = 5 },
	{ "busy_qp", -EBUSY, { .qpn = 3 }, 8, MPA_C, .term = 5 },
	{ "rfc6581_9_pd_509", -EINVAL, { .private_data = long_pd,
	  .private_data_len = 509, .qpn = 1 }, 8, MPA_C, .term = 5 },
	{ "strict_ird_above_device", -EINVAL, { .ird = 33, .qpn = 1 }, 8, MPA_C,
	  .term = 5, .strict = true },
	{ "rfc6581_9_1_strict_ird_of_peer_too_small", -EPROTO,
	  { .ord = 5, .qpn = 1 }, 4, MPA_C, .term = 6, .strict = true },
	{ "rfc5044_7_1_1_markers", -EPROTO, { .qpn = 1 }, 8, MPA_C | MPA_M },
	{ "ird_of_peer_too_small_for_one_who_wants_markers", -EPROTO,
	  { .ord = 5, .qpn = 1 }, 4, MPA_C | MPA_M, .strict = true,
	  .caps = IW_MPA_CAP_TX_MARKERS },
	{ "driver_refuses", -EIO, { .qpn = 1 }, 8, MPA_C, .prepare = -ENOSPC, .term = 5 },
	{ "octets_that_the_device_cannot_take", -EIO, { .qpn = 1 }, 8, MPA_C,
	  .term = 5, .early = true },
};

KUNIT_ARRAY_PARAM_DESC(refuse, refuse_cases, desc);

/*
 * Rules: E-7-4: the errno of iw_accept for too much private data; E-8-1: no byte follows
 * the Reject to a peer that wants Markers, while a Terminate message follows the Reject to another
 * peer; E-9.1-4 E-9.3-1: the bit R of the Reply, and the bytes of the Terminate message after it;
 * M-4.3-1: the bit R of the Reply to a Request with M; M-7.1.2-4: TCP stays open after the Reply
 */
static void accept_that_fails_is_told_the_peer(struct kunit *test)
{
	const struct refuse_case *rc = test->param_value;
	struct fake_conn *c = conn_new(test), *other = conn_new(test);
	struct fakes *f = test->priv;

	fake_set_caps(f, f->attr.caps | rc->caps);
	conn_call(other);
	other->param.qpn = 3;
	KUNIT_ASSERT_EQ(test, fake_accept(other->fid, &other->param), 0);

	f->config->strict_ird_ord = rc->strict;
	conn_listen(c);
	c->qp->fail[FAKE_PREPARE] = rc->prepare;
	peer_make_v2(&c->frame, false, rc->flags, rc->ird, 0, "world", 5);
	if (rc->early)
		c->frame.len += peer_make_rtr_write(c->frame.buf + c->frame.len);
	conn_ask(c);

	KUNIT_EXPECT_EQ(test, fake_accept(c->fid, &rc->param), rc->err);
	conn_expect_refusal(c, "", rc->term);
	fake_expect_closed(c->fid, 0);
	KUNIT_EXPECT_STREQ(test, c->qp->log, rc->prepare ? "prepare" : "");
	KUNIT_EXPECT_EQ(test, c->qp->refs, 1);
}

/*
 * iw_accept fails after prepare() has returned 0. Since then a device with its own TCP may
 * have sent bytes that the host's TCP has not counted. A Reject on the host's socket would have the
 * sequence numbers of such bytes, and the peer's TCP could drop it as a retransmission of them. So
 * iw_mpa sends no Reject, only FIN.
 */
static void accept_that_fails_behind_a_takeover_sends_only_fin(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	c->f->drv.attach = NULL;
	c->f->drv.kick_rx = NULL;
	conn_call(c);
	c->qp->speak = c->peer;
	KUNIT_EXPECT_EQ(test, fake_accept(c->fid, &c->param), -EIO);
	KUNIT_EXPECT_STREQ(test, c->qp->log, "prepare stop");
	peer_expect_eof(c->f, c->peer);
}

#ifdef CONFIG_IW_MPA_TAKEOVER
/*
 * A segment of the host's TCP does not leave the host in time, so the device cannot take the
 * connection over: iw_accept fails, and the host's TCP sends the Reject.
 */
/* Rules: E-9.3-1: the Reject, and each byte of the Terminate message for TCP_BUSY */
static void accept_while_tcp_is_busy_is_told_the_peer(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	fake_have_busy_tcp(c->f);
	conn_call(c);
	KUNIT_EXPECT_EQ(test, fake_accept(c->fid, &c->param), -EIO);
	KUNIT_EXPECT_STREQ(test, c->qp->log, "");
	KUNIT_EXPECT_NULL(test, c->qp->busy_sk);
	conn_expect_refusal(c, "", 5);
	fake_expect_closed(c->fid, 0);
	KUNIT_EXPECT_EQ(test, c->qp->refs, 1);
}
#endif

/*
 * If TCP refuses the Reply iw_mpa resets the connection: after a FIN without a Reply the initiator
 * would conclude that this end does not support the MPA revision of the Request (RFC 6581 10).
 */
/* Rules: E-10-1: RST, not FIN, if TCP refuses the Reply */
static void accept_reply_not_sent_is_eio(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct iw_mpa_ep *ep;

	conn_call(c);
	ep = iw_mpa_ep_find((unsigned long)c->fid->id.provider_data);
	KUNIT_ASSERT_NOT_NULL(test, ep);
	WRITE_ONCE(ep->sock.sock->sk->sk_sndbuf, 0);
	iw_mpa_ep_drop(ep);
	KUNIT_EXPECT_EQ(test, fake_accept(c->fid, &c->param), -EIO);
	fake_expect_closed(c->fid, 0);
	KUNIT_EXPECT_STREQ(test, c->qp->log, "prepare attach stop");
	KUNIT_EXPECT_EQ(test, c->qp->refs, 1);
	peer_expect_rst(c->f, c->peer);
}

/* Rules: E-10-1: RST, not FIN, at once, if TCP refuses the Reject */
static void reject_not_sent_is_a_reset(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct iw_mpa_ep *ep;

	conn_call(c);
	ep = iw_mpa_ep_find((unsigned long)c->fid->id.provider_data);
	KUNIT_ASSERT_NOT_NULL(test, ep);
	WRITE_ONCE(ep->sock.sock->sk->sk_sndbuf, 0);
	iw_mpa_ep_drop(ep);
	KUNIT_EXPECT_EQ(test, fake_reject(c->fid, NULL, 0), 0);
	peer_expect_rst(c->f, c->peer);
}

/*
 * Ways in which a connection can end after the Reply. If it ends while this end waits for the RTR
 * message, the ULP gets ESTABLISHED with an errno, then CLOSE.
 */
enum end {
	END_FIN,
	END_RST,
	END_SILENCE,
	END_BAD_FPDU,
	END_LONG_FPDU,
	END_ULP,
	END_QP_GONE,
	END_DEVICE_GONE,
};

static const struct end_case {
	const char		*desc;
	enum end		end;
	int			status;
	enum iw_mpa_reason	why;
} end_cases[] = {
	{ "fin", END_FIN, -ECONNRESET, IW_MPA_R_PEER_CLOSED },
	{ "rst", END_RST, -ECONNRESET, IW_MPA_R_PEER_RESET },
	{ "silence", END_SILENCE, -ETIMEDOUT, IW_MPA_R_TIMEOUT_RTR },
	{ "fpdu_with_bad_crc", END_BAD_FPDU, -ECONNABORTED, IW_MPA_R_STREAM },
	{ "garbage", END_LONG_FPDU, -ECONNABORTED, IW_MPA_R_STREAM },
	{ "ulp_closes_qp", END_ULP, -ECONNABORTED, IW_MPA_R_ULP_CLOSE },
	{ "qp_gone", END_QP_GONE, -ECONNABORTED, IW_MPA_R_QP_GONE },
	{ "device_gone", END_DEVICE_GONE, -ECONNABORTED, IW_MPA_R_DEVICE_GONE },
};

KUNIT_ARRAY_PARAM_DESC(end, end_cases, desc);

static void end_it(struct fake_conn *c, enum end end)
{
	u8 fpdu[IW_MPA_FPDU_MAX];
	size_t len;

	switch (end) {
	case END_FIN:
		peer_fin(c->peer);
		break;
	case END_RST:
		peer_rst(c->f, c->peer);
		c->peer = NULL;
		break;
	case END_SILENCE:
		break;
	case END_BAD_FPDU:
		len = peer_make_rtr_write(fpdu);
		fpdu[len - 1] ^= 1;
		peer_send(c->f, c->peer, fpdu, len);
		break;
	case END_LONG_FPDU:
		peer_send(c->f, c->peer, "GET / HTTP/1.0\r\n", 16);
		break;
	case END_ULP:
		fake_qp_disconnect(c->qp, true);
		break;
	case END_QP_GONE:
		fake_qp_gone(c->qp);
		break;
	case END_DEVICE_GONE:
		fake_destroy(c->lis);
		fake_unregister(c->f);
		break;
	}
}

/*
 * Rules: M-7.1.2-10: the driver's open_tx is not called; M-7.1.2-17: the status of
 * the event after the peer was silent; M-8-1: the status of the event for each way to end
 */
static void accept_without_rtr_is_established_and_closed(struct kunit *test)
{
	const struct end_case *ec = test->param_value;
	struct fake_conn *c = conn_new(test);

	if (ec->end == END_SILENCE)
		c->f->config->rtr_timeout_ms = FAKE_SHORT_MS;
	conn_call(c);
	conn_accept(c);
	end_it(c, ec->end);
	fake_expect_event(c->fid, 0, IW_CM_EVENT_ESTABLISHED, ec->status);
	conn_expect_closed(c, ec->why);
	KUNIT_EXPECT_NULL(test, strstr(c->qp->log, "open_tx"));
	if (c->peer)
		peer_expect_end(c->f, c->peer);
}

/*
 * Rules: M-7.1.2-10: the driver's open_tx is not called; M-7.2-1: the event CLOSE, and the reason
 * that the driver gets
 */
static void accept_client_server_ends_with_close(struct kunit *test)
{
	const struct end_case *ec = test->param_value;
	struct fake_conn *c = conn_new(test);

	conn_call_v1(c);
	KUNIT_ASSERT_EQ(test, fake_accept(c->fid, &c->param), 0);
	fake_expect_event(c->fid, 0, IW_CM_EVENT_ESTABLISHED, 0);
	peer_recv_frame(c->f, c->peer, &c->frame);
	if (ec->end == END_SILENCE)
		return;		/* fence_timeout_ms is 0: no time limit */
	end_it(c, ec->end);
	conn_expect_closed(c, ec->why);
	KUNIT_EXPECT_NULL(test, strstr(c->qp->log, "open_tx"));
	if (c->peer)
		peer_expect_end(c->f, c->peer);
}

static void accept_established_ends_with_close(struct kunit *test)
{
	const struct end_case *ec = test->param_value;
	struct fake_conn *c = conn_new(test);

	conn_passive_up(c);
	if (ec->end == END_SILENCE)
		return;
	end_it(c, ec->end);
	conn_expect_closed(c, ec->why);
	if (c->peer)
		peer_expect_end(c->f, c->peer);
}

/* Rules: E-9.3-1: FIN after the Reply, and nothing between them */
static void accept_event_lost_is_reported_by_close(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	conn_call(c);
	conn_accept(c);
	c->fid->fail_events = 1;
	conn_send_rtr(c);
	fake_expect_event(c->fid, 0, IW_CM_EVENT_ESTABLISHED, -ENOMEM);
	conn_expect_closed(c, IW_MPA_R_EVENT_LOST);
	peer_expect_eof(c->f, c->peer);
}

/*
 * For a Request of revision 1 iw_accept reports ESTABLISHED before it returns. If iw_cm refuses the
 * event for lack of memory, iw_accept returns 0 all the same: the ULP gets ESTABLISHED with
 * -ENOMEM, then CLOSE.
 */
static void accept_event_lost_within_accept_is_success(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	conn_call_v1(c);
	c->fid->fail_events = 1;
	KUNIT_ASSERT_EQ(test, fake_accept(c->fid, &c->param), 0);
	fake_expect_event(c->fid, 0, IW_CM_EVENT_ESTABLISHED, -ENOMEM);
	conn_expect_closed(c, IW_MPA_R_EVENT_LOST);
}

/* iw_cm refuses CONNECT_REQUEST until verdict_timeout_ms is over. Then the peer gets a Reject. */
/* Rules: E-9.3-1: R of the Reply, and each byte of the Terminate message after it */
static void request_event_lost_is_rejected(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	c->f->config->verdict_timeout_ms = 4 * FAKE_SHORT_MS;
	conn_listen(c);
	c->lis->fail_events = INT_MAX;
	conn_send_request(c);
	conn_expect_refusal(c, "", 5);
	KUNIT_EXPECT_EQ(test, c->lis->nr_events, 0);
}

static void device_gone_lingering_is_closed(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	conn_call(c);
	KUNIT_EXPECT_EQ(test, fake_reject(c->fid, NULL, 0), 0);
	peer_recv_frame(c->f, c->peer, &c->frame);
	fake_destroy(c->lis);
	fake_unregister(c->f);
	peer_expect_eof(c->f, c->peer);
}

static struct kunit_case accept_fails_cases[] = {
	KUNIT_CASE(reject_with_private_data_is_sent),
	KUNIT_CASE(reject_of_most_private_data_is_sent),
	KUNIT_CASE(reject_without_private_data_is_sent),
	KUNIT_CASE(reject_of_v1_is_v1),
	KUNIT_CASE(reject_peer_does_not_close_is_closed_by_timer),
	KUNIT_CASE(reject_peer_goes_on_sending_is_drained),
	KUNIT_CASE(reject_peer_sends_without_end_is_closed),
	KUNIT_CASE(reject_peer_has_sent_more_is_drained),
	KUNIT_CASE(reject_peer_has_sent_more_before_is_drained),
	KUNIT_CASE(accept_verdict_is_late_after_reject_by_timer),
	KUNIT_CASE(accept_after_fin_is_econnreset),
	KUNIT_CASE(accept_after_rst_is_econnreset),
	KUNIT_CASE(reject_after_rst_is_econnreset),
	KUNIT_CASE(accept_races_with_rst),
	KUNIT_CASE_PARAM(accept_that_fails_is_told_the_peer, refuse_gen_params),
	KUNIT_CASE(accept_that_fails_behind_a_takeover_sends_only_fin),
#ifdef CONFIG_IW_MPA_TAKEOVER
	KUNIT_CASE(accept_while_tcp_is_busy_is_told_the_peer),
#endif
	KUNIT_CASE(accept_reply_not_sent_is_eio),
	KUNIT_CASE(reject_not_sent_is_a_reset),
	KUNIT_CASE_PARAM(accept_without_rtr_is_established_and_closed,
			 end_gen_params),
	KUNIT_CASE_PARAM(accept_client_server_ends_with_close, end_gen_params),
	KUNIT_CASE_PARAM(accept_established_ends_with_close, end_gen_params),
	KUNIT_CASE(accept_event_lost_is_reported_by_close),
	KUNIT_CASE(accept_event_lost_within_accept_is_success),
	KUNIT_CASE(request_event_lost_is_rejected),
	KUNIT_CASE(device_gone_lingering_is_closed),
	{}
};

static struct kunit_suite accept_fails_suite = {
	.name = "iw_mpa_accept_fails",
	.init = fakes_init,
	.exit = fakes_exit,
	.test_cases = accept_fails_cases,
};

kunit_test_suite(accept_fails_suite);

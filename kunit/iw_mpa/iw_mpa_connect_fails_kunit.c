// SPDX-License-Identifier: GPL-2.0
/* Tests of the MPA initiator: every way in which a connection can fail, or be ended. */

#include "device.h"
#include "ep.h"
#include "iw_mpa_fakes.h"

#include <linux/bitmap.h>
#include <linux/in.h>
#include <linux/net.h>
#include <linux/sizes.h>
#include <net/inet_connection_sock.h>
#include <net/tcp.h>

static void connect_refused_port_is_an_event(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	conn_aim(c, AF_INET);
	peer_rst(c->f, c->listener);
	KUNIT_EXPECT_EQ(test, fake_connect(c->fid, &c->param), 0);
	/* rdma_is_consumer_reject() takes -ECONNREFUSED for a Reject by the peer's ULP. */
	conn_expect_failed(c, -ECONNRESET);
	KUNIT_EXPECT_EQ(test, memcmp(&c->fid->events[0].remote,
				     &c->fid->id.remote_addr,
				     sizeof(struct sockaddr_in)), 0);
}

/* Have the peer send @c->frame, a Reject. Expect -ECONNREFUSED and the private data. */
static void expect_rejected(struct fake_conn *c)
{
	struct kunit *test = c->f->test;

	peer_send_frame(c->f, c->peer, &c->frame);
	conn_expect_failed(c, -ECONNREFUSED);
	KUNIT_EXPECT_EQ(test, c->fid->events[0].pd_len, 7);
	KUNIT_EXPECT_EQ(test, memcmp(c->fid->events[0].pd, "go away", 7), 0);
	KUNIT_EXPECT_STREQ(test, c->qp->log, "");
	peer_expect_eof(c->f, c->peer);
}

/* Rules: M-7.1.2-8: no call of the driver, and FIN without a byte before it */
static void connect_reject_brings_private_data(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	conn_dial(c);
	peer_make_v2(&c->frame, true, MPA_C | MPA_R, MPA_A | 1, 1, "go away", 7);
	expect_rejected(c);
}

/*
 * A peer that supports only revision 1 may reject a Request of revision 2 with a Reply of revision
 * 1.
 */
/* Rules: M-7.1.2-8: no call of the driver, and FIN without a byte before it */
static void connect_v1_reject_of_v2_brings_private_data(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	conn_dial(c);
	peer_make(&c->frame, true, MPA_C | MPA_R, 1, "go away", 7);
	expect_rejected(c);
}

static void connect_reject_without_memory_is_told(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	conn_dial(c);
	c->fid->fail_copies = 1;
	peer_make_v2(&c->frame, true, MPA_C | MPA_R, MPA_A | 1, 1, "go away", 7);
	peer_send_frame(c->f, c->peer, &c->frame);
	conn_expect_failed(c, -ECONNREFUSED);
	KUNIT_EXPECT_EQ(test, c->fid->events[0].pd_len, 0);
}

/*
 * Replies that are malformed or ask for Markers; and connections that end before the whole Reply
 * has arrived, by FIN or RST of the peer, or because reply_timeout_ms is over
 */
static const struct bad_case {
	const char	*desc;
	int		status;
	u8		flags;
	u8		rev;
	u16		pd_len;
	u16		send;		/* bytes that the peer sends; 0: all */
	bool		request;
	bool		fin;
	bool		rst;
} bad_cases[] = {
	{ .desc = "fin_within_header", .status = -ECONNRESET,
	  .flags = MPA_C, .rev = 1, .send = 19, .fin = true },
	{ .desc = "fin_within_private_data", .status = -ECONNRESET,
	  .flags = MPA_C, .rev = 1, .pd_len = 10, .send = 29, .fin = true },
	{ .desc = "rst_within_private_data", .status = -ECONNRESET,
	  .flags = MPA_C, .rev = 1, .pd_len = 10, .send = 29, .rst = true },
	{ .desc = "rfc5044_7_1_2_request_for_reply", .status = -EPROTO,
	  .flags = MPA_C, .rev = 1, .request = true },
	{ .desc = "rfc5044_7_1_1_rev_0", .status = -EPROTO, .flags = MPA_C },
	{ .desc = "rfc5044_7_1_1_rev_3", .status = -EPROTO,
	  .flags = MPA_C, .rev = 3 },
	{ .desc = "rfc5044_7_1_1_pd_length_513", .status = -EPROTO,
	  .flags = MPA_C, .rev = 1, .pd_len = 513, .send = 20 },
	{ .desc = "rfc6581_9_s_without_data", .status = -EPROTO,
	  .flags = MPA_C | MPA_S, .rev = 2, .pd_len = 3 },
	{ .desc = "rfc5044_7_1_1_markers", .status = -EPROTO,
	  .flags = MPA_C | MPA_M, .rev = 1 },
	{ .desc = "silence", .status = -ETIMEDOUT, .send = 1 },
};

KUNIT_ARRAY_PARAM_DESC(bad, bad_cases, desc);

/*
 * Rules: E-6-4 M-7.1.1-12 M-7.1.1-15 M-7.1.2-7 M-7.1.2-14 M-7.1.2-17: the status of CONNECT_REPLY,
 * and no op of the driver is called; M-8-2: TCP ends, and the peer gets no further byte
 */
static void connect_bad_reply_fails(struct kunit *test)
{
	static const u8 pd[IW_MPA_PD_MAX + 1];
	const struct bad_case *bc = test->param_value;
	struct fake_conn *c = conn_new(test);
	struct fakes *f = test->priv;

	if (bc->status == -ETIMEDOUT)
		f->config->reply_timeout_ms = FAKE_SHORT_MS;
	conn_dial(c);
	peer_make(&c->frame, !bc->request, bc->flags, bc->rev, pd, bc->pd_len);
	if (bc->send)
		c->frame.len = bc->send;
	peer_send_frame(f, c->peer, &c->frame);
	if (bc->fin)
		peer_fin(c->peer);
	if (bc->rst)
		peer_rst(f, c->peer);
	conn_expect_failed(c, bc->status);
	KUNIT_EXPECT_EQ(test, c->fid->events[0].pd_len, 0);
	KUNIT_EXPECT_STREQ(test, c->qp->log, "");
	if (!bc->rst)
		peer_expect_end(f, c->peer);
}

/* Rules: M-7.1.1-4 M-7.1.2-7 M-7.1.2-11 M-8-2: status of CONNECT_REPLY after one byte */
static void connect_garbage_is_known_by_its_first_octet(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	conn_dial(c);
	peer_send(c->f, c->peer, "H", 1);
	conn_expect_failed(c, -EPROTO);
	peer_expect_end(c->f, c->peer);
}

/* Rules: M-7.1.2-11: status of CONNECT_REPLY */
static void connect_peer_talks_first_fails(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	conn_aim(c, AF_INET);
	KUNIT_ASSERT_EQ(test, fake_connect(c->fid, &c->param), 0);
	c->peer = peer_accept(c->f, c->listener);
	peer_send(c->f, c->peer, "220 smtp ready\r\n", 16);
	conn_expect_failed(c, -EPROTO);
}

/* Settings that exclude revision 1; the peer closes without a Reply, by FIN or RST */
static const struct barred_case {
	const char	*desc;
	bool		setting;	/* v1_fallback is off */
	bool		strict;
	bool		port;
	bool		device;
	bool		rst;
} barred_cases[] = {
	{ "setting_fin", .setting = true },
	{ "setting_rst", .setting = true, .rst = true },
	{ "strict_fin", .strict = true },
	{ "strict_rst", .strict = true, .rst = true },
	{ "port_fin", .port = true },
	{ "port_rst", .port = true, .rst = true },
	{ "device_fin", .device = true },
	{ "device_rst", .device = true, .rst = true },
};

KUNIT_ARRAY_PARAM_DESC(barred, barred_cases, desc);

/* Connect with the settings of @bc. Return the endpoint, with a reference. */
static struct iw_mpa_ep *dial_barred(struct fake_conn *c, struct fakes *f,
				     const struct barred_case *bc)
{
	struct iw_mpa_ep *ep;

	f->config->v1_fallback = !bc->setting;
	f->config->strict_ird_ord = bc->strict;
	if (bc->port)
		bitmap_fill(f->config->peer_to_peer_ports, U16_MAX + 1);
	if (bc->device)
		fake_set_device(f, "peer_to_peer", "1");
	conn_dial(c);
	bitmap_zero(f->config->peer_to_peer_ports, U16_MAX + 1);
	fake_set_device(f, "peer_to_peer", "default");
	ep = fake_ep(c->fid);
	KUNIT_ASSERT_NOT_NULL(f->test, ep);
	return ep;
}

/* Rules: E-10-6: status of CONNECT_REPLY, and no second connection, if revision 1 is not allowed */
static void connect_barred_from_revision_1_fails(struct kunit *test)
{
	const struct barred_case *bc = test->param_value;
	struct fake_conn *c = conn_new(test);
	struct iw_mpa_ep *ep = dial_barred(c, c->f, bc);

	KUNIT_EXPECT_EQ(test, peer_frame_rev(&c->frame), 2);
	if (bc->rst)
		peer_rst(c->f, c->peer);
	else
		peer_fin(c->peer);
	conn_expect_failed(c, -ECONNRESET);
	KUNIT_EXPECT_EQ(test, ep->reason, IW_MPA_R_NO_REV_2);
	KUNIT_EXPECT_EQ(test, ep->err, bc->rst ? -ECONNRESET : 0);
	KUNIT_EXPECT_TRUE(test, reqsk_queue_empty(&inet_csk(c->listener->sk)->icsk_accept_queue));
	iw_mpa_ep_drop(ep);
	if (!bc->rst)
		peer_expect_eof(c->f, c->peer);
}

/*
 * A Reply without enhanced data (RFC 6581 9) amounts to revision 1: the connect fails if settings
 * exclude revision 1.
 */
/* Rules: X-02-2: status of CONNECT_REPLY, if revision 1 is not allowed */
static void connect_barred_from_revision_1_refuses_its_reply(struct kunit *test)
{
	const struct barred_case *bc = test->param_value;
	struct fake_conn *c = conn_new(test);
	struct iw_mpa_ep *ep = dial_barred(c, c->f, bc);

	peer_make(&c->frame, true, MPA_C, bc->rst ? 2 : 1, NULL, 0);	/* S is clear */
	peer_send_frame(c->f, c->peer, &c->frame);
	conn_expect_failed(c, -ECONNRESET);
	KUNIT_EXPECT_EQ(test, ep->reason, IW_MPA_R_NO_REV_2);
	KUNIT_EXPECT_STREQ(test, c->qp->log, "");
	iw_mpa_ep_drop(ep);
	peer_expect_eof(c->f, c->peer);
}

/*
 * Replies with which the negotiation fails: the initiator sends a Terminate message for layer 2
 * (MPA), error type 0, then FIN.
 */
static const struct term_case {
	const char	*desc;
	u8		code;
	int		status;
	u16		ird;
	u16		ord;
	int		prepare;
	bool		early;
	bool		strict;
} term_cases[] = {
	{ "rfc6581_9_1_ord_above_device", 6, -EPROTO, MPA_A | 8, MPA_CW | 33 },
	{ "rfc6581_9_1_strict_ird_too_small", 6, -EPROTO, MPA_A | 3,
	  MPA_CW | 1, .strict = true },
	{ "rfc6581_9_2_no_rtr_in_common", 7, -EPROTO, MPA_A | MPA_B | 8, 1 },
	{ "rfc6581_9_2_no_rtr_at_all", 7, -EPROTO, MPA_A | 8, 1 },
	{ "driver_refuses", 5, -EIO, MPA_A | 8, MPA_CW | 1, .prepare = -ENOSPC },
	{ "octets_that_the_device_cannot_take", 5, -EIO, MPA_A | 8, MPA_CW | 1,
	  .early = true },
};

KUNIT_ARRAY_PARAM_DESC(term, term_cases, desc);

/* Rules: E-8-1 E-9.1-7 E-9.2-9 E-9.3-1: each byte of the Terminate message, then FIN */
static void connect_failed_negotiation_is_told_the_peer(struct kunit *test)
{
	const struct term_case *tc = test->param_value;
	struct fake_conn *c = conn_new(test);

	c->f->config->strict_ird_ord = tc->strict;
	conn_dial(c);
	c->qp->fail[FAKE_PREPARE] = tc->prepare;
	peer_make_v2(&c->frame, true, MPA_C, tc->ird, tc->ord, "world", 5);
	if (tc->early)
		c->frame.len += peer_make_rtr_write(c->frame.buf + c->frame.len);
	peer_send_frame(c->f, c->peer, &c->frame);
	conn_expect_failed(c, tc->status);
	KUNIT_EXPECT_EQ(test, c->fid->events[0].pd_len, 0);
	peer_expect_term(c->f, c->peer, tc->code);
	KUNIT_EXPECT_STREQ(test, c->qp->log, tc->prepare ? "prepare" : "");
	peer_fin(c->peer);
}

/*
 * After its Terminate message iw_mpa waits for the peer's FIN, and drops the bytes before that FIN.
 * When iw_mpa has dropped 8 MiB it closes the socket, although no FIN has arrived.
 */
static void connect_linger_ends_by_octets(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct kvec vec = { .iov_len = 60001 };
	struct iw_mpa_ep *ep;
	u32 sent = 0;

	vec.iov_base = kunit_kzalloc(test, vec.iov_len, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, vec.iov_base);
	conn_dial(c);
	ep = fake_ep(c->fid);
	KUNIT_ASSERT_NOT_NULL(test, ep);
	peer_make_v2(&c->frame, true, MPA_C, MPA_A | 8, 1, NULL, 0);
	peer_send_frame(c->f, c->peer, &c->frame);
	conn_expect_failed(c, -EPROTO);
	while (sent < 2 * SZ_8M) {
		struct msghdr msg = { .msg_flags = MSG_NOSIGNAL };
		int len = kernel_sendmsg(c->peer, &msg, &vec, 1, vec.iov_len);

		if (len <= 0)
			break;
		sent += len;
	}
	KUNIT_EXPECT_GT(test, sent, SZ_8M);
	KUNIT_EXPECT_LT(test, sent, 2 * SZ_8M);
	KUNIT_EXPECT_EQ(test, ep->drained, SZ_8M);
	iw_mpa_ep_drop(ep);
}

static void connect_linger_ends_by_timer(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct fakes *f = test->priv;

	f->config->linger_timeout_ms = FAKE_SHORT_MS;
	conn_dial(c);
	peer_make_v2(&c->frame, true, MPA_C, MPA_A | 8, 1, NULL, 0);
	peer_send_frame(f, c->peer, &c->frame);
	conn_expect_failed(c, -EPROTO);
	peer_expect_term(f, c->peer, 7);
	peer_expect_rst_on_send(f, c->peer);
}

/* Rules: E-9.3-1: each byte of the Terminate message, then FIN */
static void connect_send_rtr_fails_is_a_failed_reply(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	conn_dial(c);
	c->qp->fail[FAKE_SEND_RTR] = -EPIPE;
	conn_send_good_reply(c);
	conn_expect_failed(c, -EIO);
	KUNIT_EXPECT_STREQ(test, c->qp->log, "prepare attach send_rtr stop");
	KUNIT_EXPECT_EQ(test, c->qp->why, IW_MPA_R_DRIVER);
	peer_expect_term(c->f, c->peer, 5);
	peer_fin(c->peer);
}

#ifdef CONFIG_IW_MPA_TAKEOVER
/*
 * The device has a TCP of its own and cannot use sockets, but its TCP lacks the TCP options of this
 * connection. So the connect fails after the Reply.
 */
/* Rules: E-9.3-1: each byte of the Terminate message for TCP_OPTION, then FIN */
static void connect_tcp_option_is_a_failed_reply(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	fake_have_takeover(c->f);
	c->f->takeover.tcp_options = 0;
	conn_dial(c);
	conn_send_good_reply(c);
	conn_expect_failed(c, -EIO);
	KUNIT_EXPECT_STREQ(test, c->qp->log, "");
	peer_expect_term(c->f, c->peer, 5);
	peer_fin(c->peer);
}

/*
 * A segment of the host's TCP does not leave the host in time, so the device cannot take the
 * connection over: the connect fails, and the host's TCP sends the Terminate message.
 */
/* Rules: E-9.3-1: each byte of the Terminate message for TCP_BUSY, then FIN */
static void connect_tcp_busy_is_a_failed_reply(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	fake_have_busy_tcp(c->f);
	conn_dial(c);
	conn_send_good_reply(c);
	conn_expect_failed(c, -EIO);
	KUNIT_EXPECT_STREQ(test, c->qp->log, "");
	KUNIT_EXPECT_NULL(test, c->qp->busy_sk);
	peer_expect_term(c->f, c->peer, 5);
	peer_fin(c->peer);
}
#endif

/* Rules: E-9.3-1: FIN after the RTR message, and nothing between them */
static void connect_reply_event_lost_is_a_failed_reply(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	conn_dial(c);
	c->fid->fail_copies = 1;
	conn_send_good_reply(c);
	conn_expect_failed(c, -ENOMEM);
	KUNIT_EXPECT_STREQ(test, c->qp->log, "prepare attach send_rtr stop");
	KUNIT_EXPECT_EQ(test, c->qp->why, IW_MPA_R_EVENT_LOST);
	peer_recv_rtr(c->f, c->peer, IW_MPA_RTR_WRITE);
	peer_expect_eof(c->f, c->peer);
}

static void connect_rst_after_hand_off_closes(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	conn_active_up(c);
	peer_rst(c->f, c->peer);
	conn_expect_closed(c, IW_MPA_R_PEER_RESET);
	KUNIT_EXPECT_STREQ(test, c->qp->log,
			   "prepare attach send_rtr kick_rx stop");
}

/* The peer sends a Reply, then FIN: iw_mpa reports CONNECT_REPLY(0) before it reports CLOSE. */
/* Rules: M-7.2-1: CONNECT_REPLY, then CLOSE */
static void connect_reply_and_fin_comes_up_and_closes(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	conn_dial(c);
	conn_send_good_reply(c);
	peer_fin(c->peer);
	fake_expect_event(c->fid, 0, IW_CM_EVENT_CONNECT_REPLY, 0);
	conn_expect_closed(c, IW_MPA_R_PEER_CLOSED);
}

/* Rules: M-8-1: CLOSE, and the reason that the driver is told */
static void connect_bad_fpdu_closes(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	u8 fpdu[IW_MPA_FPDU_MAX];
	size_t len;

	conn_active_up(c);
	len = peer_make_rtr_write(fpdu);
	fpdu[len - 1] ^= 1;
	peer_send(c->f, c->peer, fpdu, len);
	conn_expect_closed(c, IW_MPA_R_STREAM);
	KUNIT_EXPECT_STREQ(test, c->qp->log,
			   "prepare attach send_rtr kick_rx stop");
}

/*
 * States in which tests destroy an initiator's QP, or unregister its device. In TCP_CONNECT no
 * SYN-ACK arrives, since the peer is a listener whose queue is full.
 */
enum stage {
	STAGE_TCP_CONNECT,
	STAGE_AWAIT_REP,
	STAGE_WITHIN_REPLY,
	STAGE_OFFLOADED,
	STAGE_LINGER,
};

static void bring_to_tcp_connect(struct fake_conn *c, struct fakes *f)
{
	struct fake_id *first = fake_id_create(f), *second = fake_id_create(f);
	struct iw_cm_conn_param param = { .qpn = 2 };

	conn_aim(c, AF_INET);
	/* A second listen() sets the backlog to 0: TCP then queues one connection. */
	KUNIT_ASSERT_EQ(f->test, 0, kernel_listen(c->listener, 0));
	first->id.m_remote_addr = c->fid->id.m_remote_addr;
	second->id.m_remote_addr = c->fid->id.m_remote_addr;
	KUNIT_ASSERT_EQ(f->test, 0, fake_connect(first, &param));
	param.qpn = 3;
	KUNIT_ASSERT_EQ(f->test, 0, fake_connect(second, &param));
	KUNIT_ASSERT_EQ(f->test, 0, fake_connect(c->fid, &c->param));
}

static void bring_to(struct fake_conn *c, struct fakes *f, enum stage stage)
{
	switch (stage) {
	case STAGE_TCP_CONNECT:
		bring_to_tcp_connect(c, f);
		break;
	case STAGE_AWAIT_REP:
		conn_dial(c);
		break;
	case STAGE_WITHIN_REPLY:
		conn_dial(c);
		peer_send(f, c->peer, "MPA ID Rep", 10);
		break;
	case STAGE_OFFLOADED:
		conn_active_up(c);
		break;
	case STAGE_LINGER:
		conn_dial(c);
		peer_make_v2(&c->frame, true, MPA_C, MPA_A | 8, 1, NULL, 0);
		peer_send_frame(f, c->peer, &c->frame);
		conn_expect_failed(c, -EPROTO);
		break;
	}
}

static const struct stage_case {
	const char	*desc;
	enum stage	stage;
} stage_cases[] = {
	{ "tcp_connect", STAGE_TCP_CONNECT },
	{ "await_rep", STAGE_AWAIT_REP },
	{ "within_reply", STAGE_WITHIN_REPLY },
	{ "offloaded", STAGE_OFFLOADED },
	{ "linger", STAGE_LINGER },
};

KUNIT_ARRAY_PARAM_DESC(stage, stage_cases, desc);

static void expect_ended(struct fake_conn *c, enum stage stage,
			 enum iw_mpa_reason why)
{
	if (stage == STAGE_OFFLOADED)
		conn_expect_closed(c, why);
	else if (stage != STAGE_LINGER)
		conn_expect_failed(c, -ECONNABORTED);
}

/* For each error of TCP (sk_err) the reason for the end that iw_mpa passes to stop */
static const struct tcp_end {
	const char		*desc;
	int			err;
	enum iw_mpa_reason	why;
} tcp_ends[] = {
	{ "no answer", ETIMEDOUT, IW_MPA_R_TCP_UNREACHABLE },
	{ "no route to the host", EHOSTUNREACH, IW_MPA_R_TCP_UNREACHABLE },
	{ "no route to its network", ENETUNREACH, IW_MPA_R_TCP_UNREACHABLE },
	{ "host down", EHOSTDOWN, IW_MPA_R_TCP_UNREACHABLE },
	{ "network down", ENETDOWN, IW_MPA_R_TCP_UNREACHABLE },
	{ "refused", ECONNREFUSED, IW_MPA_R_TCP_REFUSED },
	{ "anything else", EPROTO, IW_MPA_R_TCP_ERROR },
};

KUNIT_ARRAY_PARAM_DESC(tcp_end, tcp_ends, desc);

static void connect_tcp_that_fails_says_why(struct kunit *test)
{
	const struct tcp_end *end = test->param_value;
	struct fake_conn *c = conn_new(test);

	conn_active_up(c);
	tcp_abort(c->qp->sk, end->err);
	conn_expect_closed(c, end->why);
}

static void connect_qp_gone_ends_it(struct kunit *test)
{
	const struct stage_case *sc = test->param_value;
	struct fake_conn *c = conn_new(test);

	bring_to(c, test->priv, sc->stage);
	c->qp->slow_put = true;
	fake_qp_gone(c->qp);
	/*
	 * iw_mpa_qp_gone() has returned, so iw_mpa has no reference on the QP. iw_cm may have one
	 * until it handles the event that reports the end of the connection.
	 */
	KUNIT_EXPECT_LE(test, c->qp->refs, 2);
	expect_ended(c, sc->stage, IW_MPA_R_QP_GONE);
	if (c->peer && sc->stage != STAGE_LINGER)
		peer_expect_end(c->f, c->peer);
}

static void connect_device_gone_ends_it(struct kunit *test)
{
	const struct stage_case *sc = test->param_value;
	struct fake_conn *c = conn_new(test);

	bring_to(c, test->priv, sc->stage);
	fake_unregister(c->f);
	KUNIT_EXPECT_EQ(test, c->qp->refs, 1);
	KUNIT_EXPECT_EQ(test, c->fid->refs, 1);
	expect_ended(c, sc->stage, IW_MPA_R_DEVICE_GONE);
	if (sc->stage == STAGE_LINGER)
		peer_expect_term(c->f, c->peer, 7);
	else if (c->peer)
		peer_expect_end(c->f, c->peer);
}

static void connect_tcp_does_not_come_up_times_out(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	unsigned long start = jiffies;

	c->f->config->connect_timeout_ms = 2 * FAKE_SHORT_MS;
	bring_to_tcp_connect(c, c->f);
	conn_expect_failed(c, -ETIMEDOUT);
	KUNIT_EXPECT_GE(test, jiffies_to_msecs(jiffies - start), 2 * FAKE_SHORT_MS);
}

static struct kunit_case connect_fails_cases[] = {
	KUNIT_CASE(connect_refused_port_is_an_event),
	KUNIT_CASE(connect_reject_brings_private_data),
	KUNIT_CASE(connect_v1_reject_of_v2_brings_private_data),
	KUNIT_CASE(connect_reject_without_memory_is_told),
	KUNIT_CASE_PARAM(connect_bad_reply_fails, bad_gen_params),
	KUNIT_CASE(connect_garbage_is_known_by_its_first_octet),
	KUNIT_CASE(connect_peer_talks_first_fails),
	KUNIT_CASE_PARAM(connect_barred_from_revision_1_fails, barred_gen_params),
	KUNIT_CASE_PARAM(connect_barred_from_revision_1_refuses_its_reply, barred_gen_params),
	KUNIT_CASE_PARAM(connect_failed_negotiation_is_told_the_peer,
			 term_gen_params),
	KUNIT_CASE(connect_linger_ends_by_octets),
	KUNIT_CASE(connect_linger_ends_by_timer),
	KUNIT_CASE(connect_send_rtr_fails_is_a_failed_reply),
#ifdef CONFIG_IW_MPA_TAKEOVER
	KUNIT_CASE(connect_tcp_option_is_a_failed_reply),
	KUNIT_CASE(connect_tcp_busy_is_a_failed_reply),
#endif
	KUNIT_CASE(connect_reply_event_lost_is_a_failed_reply),
	KUNIT_CASE(connect_rst_after_hand_off_closes),
	KUNIT_CASE(connect_reply_and_fin_comes_up_and_closes),
	KUNIT_CASE(connect_bad_fpdu_closes),
	KUNIT_CASE_PARAM(connect_tcp_that_fails_says_why, tcp_end_gen_params),
	KUNIT_CASE_PARAM(connect_qp_gone_ends_it, stage_gen_params),
	KUNIT_CASE_PARAM(connect_device_gone_ends_it, stage_gen_params),
	KUNIT_CASE(connect_tcp_does_not_come_up_times_out),
	{}
};

static struct kunit_suite connect_fails_suite = {
	.name = "iw_mpa_connect_fails",
	.init = fakes_init,
	.exit = fakes_exit,
	.test_cases = connect_fails_cases,
};

kunit_test_suite(connect_fails_suite);

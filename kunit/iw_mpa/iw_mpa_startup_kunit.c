// SPDX-License-Identifier: GPL-2.0
/*
 * Sending and reading of startup frames over TCP. The tests call functions of startup.c directly,
 * with an endpoint whose events are not handled.
 */

#include "device.h"
#include "ep.h"
#include "iw_mpa_fakes.h"
#include "sock.h"

#include <net/tcp.h>

#define STARTUP_MSS	16	/* less than a Request */

/* An initiator's endpoint, and the peer's socket */
struct startup {
	struct iw_mpa_ep	*ep;
	struct socket		*peer;
};

/* Make an initiator's endpoint whose TCP connection is established, before the Request */
static struct startup startup_open(struct kunit *test)
{
	struct fakes *f = test->priv;
	struct iw_mpa_device *dev = iw_mpa_device_get(f->ibdev);
	struct startup s;

	s.ep = iw_mpa_ep_create(dev, &init_net, true, "data", 4);
	iw_mpa_device_put(dev);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s.ep);
	s.peer = fake_sock_open(f, &s.ep->sock);
	FAKE_POLL(f, iw_mpa_sock_is_up(&s.ep->sock));
	return s;
}

static void startup_close(const struct startup *s)
{
	struct iw_mpa_device *dev = s->ep->dev;

	iw_mpa_sock_release(&s->ep->sock);
	iw_mpa_ep_unregister(s->ep);
	iw_mpa_ep_drop(s->ep);
	iw_mpa_device_put(dev);
}

static void startup_request_sent(struct kunit *test)
{
	struct startup s = startup_open(test);
	struct peer_frame frame;

	KUNIT_EXPECT_EQ(test, iw_mpa_startup_send_request(s.ep), IW_MPA_EV_V2_SENT);
	KUNIT_EXPECT_TRUE(test, s.ep->request_out);
	peer_recv_frame(test->priv, s.peer, &frame);
	KUNIT_EXPECT_EQ(test, peer_frame_pd_len(&frame), 4 + 4);
	KUNIT_EXPECT_EQ(test, s.ep->reason, IW_MPA_R_OK);
	startup_close(&s);
}

static void startup_request_of_revision_1_sent(struct kunit *test)
{
	struct startup s = startup_open(test);
	struct peer_frame frame;

	s.ep->local.rev = IW_MPA_REV_1;
	KUNIT_EXPECT_EQ(test, iw_mpa_startup_send_request(s.ep), IW_MPA_EV_REQ_SENT);
	peer_recv_frame(test->priv, s.peer, &frame);
	KUNIT_EXPECT_EQ(test, peer_frame_pd_len(&frame), 4);
	startup_close(&s);
}

/*
 * If the stream has ended, the socket's callbacks report that. So iw_mpa_startup_send_request()
 * must not return SEND_FAILED.
 */
static void startup_request_to_a_stream_that_has_ended(struct kunit *test)
{
	static const int errors[] = { 0, ECONNRESET, EPIPE };
	int i;

	for (i = 0; i < ARRAY_SIZE(errors); i++) {
		struct startup s = startup_open(test);

		kernel_sock_shutdown(s.ep->sock.sock, SHUT_WR);
		WRITE_ONCE(s.ep->sock.sock->sk->sk_err, errors[i]);
		KUNIT_EXPECT_NE(test, iw_mpa_startup_send_request(s.ep), IW_MPA_EV_SEND_FAILED);
		KUNIT_EXPECT_TRUE(test, s.ep->request_out);
		KUNIT_EXPECT_EQ(test, s.ep->reason, IW_MPA_R_OK);
		startup_close(&s);
	}
}

static void startup_request_that_tcp_refuses(struct kunit *test)
{
	struct startup s = startup_open(test);

	WRITE_ONCE(s.ep->sock.sock->sk->sk_err, ENETDOWN);
	KUNIT_EXPECT_EQ(test, iw_mpa_startup_send_request(s.ep), IW_MPA_EV_SEND_FAILED);
	KUNIT_EXPECT_EQ(test, s.ep->reason, IW_MPA_R_SEND);
	KUNIT_EXPECT_EQ(test, s.ep->err, -ENETDOWN);
	startup_close(&s);
}

/* TCP accepts a part of the Request: a failure, since no event reports when it accepts more. */
static void startup_request_that_tcp_takes_in_part(struct kunit *test)
{
	struct startup s = startup_open(test);
	struct sock *sk = s.ep->sock.sock->sk;

	lock_sock(sk);
	sk->sk_sndbuf = 1;		/* TCP takes the first of several segments */
	sk->sk_gso_max_segs = 1;
	tcp_sk(sk)->mss_cache = STARTUP_MSS;
	release_sock(sk);
	KUNIT_EXPECT_EQ(test, iw_mpa_startup_send_request(s.ep), IW_MPA_EV_SEND_FAILED);
	KUNIT_EXPECT_EQ(test, iw_mpa_sock_snd_nxt(&s.ep->sock) - tcp_sk(s.peer->sk)->copied_seq,
			STARTUP_MSS);
	KUNIT_EXPECT_EQ(test, s.ep->reason, IW_MPA_R_SEND);
	KUNIT_EXPECT_EQ(test, s.ep->err, -ENOBUFS);
	startup_close(&s);
}

/* A Reply longer than @frame of struct iw_mpa_ep arrives in two parts, cut at several places. */
static void startup_longest_reply_taken(struct kunit *test)
{
	static const size_t cuts[] = { 1, IW_MPA_HDR_SIZE, IW_MPA_EP_FRAME, 500 };
	struct fakes *f = test->priv;
	u8 pd[IW_MPA_PD_MAX];
	int i;

	for (i = 0; i < sizeof(pd); i++)
		pd[i] = i * 3 + (i >> 8);
	for (i = 0; i < ARRAY_SIZE(cuts); i++) {
		struct startup s = startup_open(test);
		struct peer_frame frame;

		peer_make(&frame, true, MPA_C, 1, pd, sizeof(pd));
		peer_send(f, s.peer, frame.buf, cuts[i]);
		FAKE_POLL(f, tcp_inq(s.ep->sock.sock->sk) == cuts[i]);
		KUNIT_EXPECT_EQ(test, iw_mpa_startup_read_reply(s.ep), IW_MPA_EV_REP_BEGUN);
		peer_send(f, s.peer, frame.buf + cuts[i], frame.len - cuts[i]);
		FAKE_POLL(f, tcp_inq(s.ep->sock.sock->sk) == frame.len - cuts[i]);
		iw_mpa_startup_read_reply(s.ep);
		KUNIT_EXPECT_EQ(test, s.ep->reader.have, frame.len);
		KUNIT_ASSERT_EQ(test, s.ep->peer.pd_len, sizeof(pd));
		KUNIT_EXPECT_EQ(test, memcmp(s.ep->peer.pd, pd, sizeof(pd)), 0);
		startup_close(&s);
	}
}

/* Replies as long as @frame of struct iw_mpa_ep, or longer, which need a larger buffer */
static void startup_reply_has_room(struct kunit *test)
{
	static const u8 lens[] = {
		IW_MPA_EP_FRAME - IW_MPA_HDR_SIZE, IW_MPA_EP_FRAME - IW_MPA_HDR_SIZE + 1,
		IW_MPA_EP_FRAME,
	};
	static const u8 pd[IW_MPA_EP_FRAME];
	struct fakes *f = test->priv;
	int i;

	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		struct startup s = startup_open(test);
		struct peer_frame frame;

		peer_make(&frame, true, MPA_C, 1, pd, lens[i]);
		peer_send(f, s.peer, frame.buf, frame.len);
		FAKE_POLL(f, tcp_inq(s.ep->sock.sock->sk) == frame.len);
		iw_mpa_startup_read_reply(s.ep);
		KUNIT_EXPECT_EQ(test, s.ep->reader.have, frame.len);
		KUNIT_EXPECT_EQ(test, s.ep->reader.buf == s.ep->frame, !i);
		iw_mpa_startup_end(s.ep);
		startup_close(&s);
	}
}

/* After a long Request was read, its buffer is not freed: the ULP gets the private data from it. */
static void startup_long_request_stays(struct kunit *test)
{
	struct startup s = startup_open(test);
	struct fakes *f = test->priv;
	u8 pd[2 * IW_MPA_EP_FRAME];
	struct peer_frame frame;

	memset(pd, 0x55, sizeof(pd));
	s.ep->initiator = false;
	iw_mpa_reader_init(&s.ep->reader, false, s.ep->frame);
	peer_make(&frame, false, MPA_C, 1, pd, sizeof(pd));
	peer_send(f, s.peer, frame.buf, frame.len);
	FAKE_POLL(f, tcp_inq(s.ep->sock.sock->sk) == frame.len);
	KUNIT_EXPECT_EQ(test, iw_mpa_startup_read_request(s.ep), IW_MPA_EV_REQ_GOOD);
	KUNIT_EXPECT_TRUE(test, s.ep->reader.buf != s.ep->frame);
	KUNIT_EXPECT_EQ(test, s.ep->peer.pd_len, sizeof(pd));
	KUNIT_EXPECT_PTR_EQ(test, memchr_inv(s.ep->peer.pd, 0x55, sizeof(pd)), NULL);
	iw_mpa_startup_end(s.ep);
	startup_close(&s);
}

/* An error in the peer's frame sets ep->reason. ep->err stays 0: it is for functions that fail. */
static void startup_reply_that_is_none(struct kunit *test)
{
	static const u8 junk[IW_MPA_HDR_SIZE] = "HTTP/1.1 400 Bad";
	struct startup s = startup_open(test);
	struct fakes *f = test->priv;

	peer_send(f, s.peer, junk, sizeof(junk));
	FAKE_POLL(f, tcp_inq(s.ep->sock.sock->sk) == sizeof(junk));
	iw_mpa_startup_read_reply(s.ep);
	KUNIT_EXPECT_EQ(test, s.ep->reason, IW_MPA_R_BAD_KEY);
	KUNIT_EXPECT_EQ(test, s.ep->err, 0);
	startup_close(&s);
}

static void startup_reply_that_cannot_be_made(struct kunit *test)
{
	struct iw_mpa_call call = { .pd = "", .pd_len = IW_MPA_PD_MAX + 1 };
	struct startup s = startup_open(test);
	u8 buf[IW_MPA_FRAME_MAX];

	s.ep->peer = (struct iw_mpa_frame) { .rev = 1, .crc = true };
	s.ep->call = &call;
	KUNIT_EXPECT_LT(test, iw_mpa_startup_make_reply(s.ep, buf), 0);
	KUNIT_EXPECT_EQ(test, s.ep->reason, IW_MPA_R_LOCAL);
	KUNIT_EXPECT_EQ(test, s.ep->err, 0);
	s.ep->call = NULL;
	startup_close(&s);
}

static struct kunit_case startup_cases[] = {
	KUNIT_CASE(startup_request_sent),
	KUNIT_CASE(startup_request_of_revision_1_sent),
	KUNIT_CASE(startup_request_to_a_stream_that_has_ended),
	KUNIT_CASE(startup_request_that_tcp_refuses),
	KUNIT_CASE(startup_request_that_tcp_takes_in_part),
	KUNIT_CASE(startup_longest_reply_taken),
	KUNIT_CASE(startup_reply_has_room),
	KUNIT_CASE(startup_long_request_stays),
	KUNIT_CASE(startup_reply_that_is_none),
	KUNIT_CASE(startup_reply_that_cannot_be_made),
	{}
};

static struct kunit_suite startup_suite = {
	.name = "iw_mpa_startup",
	.init = fakes_init,
	.exit = fakes_exit,
	.test_cases = startup_cases,
};

kunit_test_suite(startup_suite);

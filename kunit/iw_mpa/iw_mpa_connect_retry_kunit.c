// SPDX-License-Identifier: GPL-2.0
/*
 * Further tries of an initiator: from another source port, if TCP uses the first one; with MPA
 * revision 2 once more, after a RST, or after the FIN of a peer that has not read the Request; with
 * revision 1, after the FIN of a peer that has read the Request, or if that second try with
 * revision 2 ends by RST or FIN, too. Also: after CLOSE a QP can have another connection.
 */

#include "ep.h"
#include "iw_mpa_fakes.h"
#include "iw_mpa_quiet.h"
#include "stats.h"

#include <linux/in.h>
#include <linux/in6.h>
#include <linux/tcp.h>
#include <net/tcp.h>

/*
 * Give @fid a source port that a TCP socket uses already. rdma_cm may choose such a port, since it
 * has a port space of its own.
 */
static __be16 take_port(struct fakes *f, struct fake_id *fid)
{
	struct fake_id *other = fake_id_create(f);
	struct sockaddr_in *sin = (struct sockaddr_in *)&fid->id.m_local_addr;

	peer_listen(f, other, AF_INET);
	sin->sin_port = ((struct sockaddr_in *)&other->id.remote_addr)->sin_port;
	fid->id.local_addr = fid->id.m_local_addr;
	return sin->sin_port;
}

static void connect_source_port_in_use_takes_another(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct sockaddr_storage peer;
	struct sockaddr_in *sin;
	__be16 taken;

	conn_aim(c, AF_INET);
	taken = take_port(c->f, c->fid);
	KUNIT_ASSERT_EQ(test, fake_connect(c->fid, &c->param), 0);
	conn_answer_dial(c);

	KUNIT_ASSERT_GT(test, kernel_getpeername(c->peer,
						 (struct sockaddr *)&peer), 0);
	sin = (struct sockaddr_in *)&c->fid->id.m_local_addr;
	KUNIT_EXPECT_NE(test, sin->sin_port, taken);
	KUNIT_EXPECT_EQ(test, sin->sin_port,
			((struct sockaddr_in *)&peer)->sin_port);
	KUNIT_EXPECT_EQ(test, memcmp(&c->fid->id.local_addr,
				     &c->fid->id.m_local_addr,
				     sizeof(c->fid->id.local_addr)), 0);
}

static __be16 peers_port(struct kunit *test, struct socket *peer)
{
	struct sockaddr_storage addr;

	KUNIT_ASSERT_GT(test, kernel_getpeername(peer, (struct sockaddr *)&addr), 0);
	return ((struct sockaddr_in *)&addr)->sin_port;
}

/*
 * If addresses are mapped, iwpmd (the port mapper) has an entry for the port that rdma_cm chose.
 * CONNECT_REPLY has to name that port, though TCP uses another one.
 */
static void connect_source_port_of_a_mapped_address_stays(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct sockaddr_storage before;
	__be16 taken;

	conn_aim(c, AF_INET);
	taken = take_port(c->f, c->fid);
	c->fid->id.mapped = true;
	before = c->fid->id.m_local_addr;
	KUNIT_ASSERT_EQ(test, fake_connect(c->fid, &c->param), 0);
	conn_answer_dial(c);
	KUNIT_EXPECT_NE(test, peers_port(test, c->peer), taken);
	conn_connect(c);
	KUNIT_EXPECT_EQ(test, memcmp(&c->fid->events[0].local, &before, sizeof(before)), 0);
	KUNIT_EXPECT_EQ(test, memcmp(&c->fid->id.m_local_addr, &before, sizeof(before)), 0);
	KUNIT_EXPECT_EQ(test, memcmp(&c->fid->id.local_addr, &before, sizeof(before)), 0);
	KUNIT_EXPECT_EQ(test, memcmp(&c->fid->events[0].remote, &c->fid->id.m_remote_addr,
				     sizeof(struct sockaddr_in)), 0);
}

static void connect_source_port_in_use_is_refused_if_set_so(struct kunit *test)
{
	struct iw_cm_conn_param param = { .qpn = 1 };
	struct fakes *f = test->priv;
	struct fake_id *fid = fake_id_create(f);

	peer_listen(f, fid, AF_INET);
	take_port(f, fid);
	f->config->source_port_retry = 0;
	KUNIT_EXPECT_EQ(test, fake_connect(fid, &param), -EADDRINUSE);
	KUNIT_EXPECT_EQ(test, f->qps[0].refs, 1);
}

static const struct fallback_case {
	const char	*desc;
	bool		rst;
	bool		port_retry;
} fallback_cases[] = {
	{ "rfc6581_10_fin", false, true },
	{ "rfc6581_10_rst", true, true },
	{ "fin_on_a_fixed_port", false, false },
	{ "rst_on_a_fixed_port", true, false },
};

KUNIT_ARRAY_PARAM_DESC(fallback, fallback_cases, desc);

/*
 * The peer answers the Request by RST. A RST does not show that the peer lacks revision 2, so the
 * initiator connects once more and sends the same Request.
 */
static void dial_again(struct fake_conn *c, struct fakes *f)
{
	const struct peer_frame first = c->frame;

	KUNIT_EXPECT_EQ(f->test, peer_frame_rev(&c->frame), 2);
	peer_rst(f, c->peer);
	conn_answer_dial(c);
	KUNIT_ASSERT_EQ(f->test, c->frame.len, first.len);
	KUNIT_EXPECT_EQ(f->test, memcmp(c->frame.buf, first.buf, first.len), 0);
}

static void fall_back(struct fake_conn *c, struct fakes *f, bool rst)
{
	conn_dial(c);
	if (rst) {
		dial_again(c, f);
		peer_rst(f, c->peer);
	} else {
		peer_fin(c->peer);
	}
	conn_answer_dial(c);
	KUNIT_EXPECT_EQ(f->test, peer_frame_rev(&c->frame), 1);
	KUNIT_EXPECT_EQ(f->test, peer_frame_flags(&c->frame), MPA_C);
	KUNIT_EXPECT_EQ(f->test, peer_frame_pd_len(&c->frame), 5);
}

/* Rules: E-10-6: the second Request, and the status of CONNECT_REPLY */
static void connect_v2_refused_comes_up_with_v1(struct kunit *test)
{
	const struct fallback_case *fc = test->param_value;
	struct fake_conn *c = conn_new(test);

	c->f->config->source_port_retry = fc->port_retry;
	fall_back(c, c->f, fc->rst);
	peer_make(&c->frame, true, MPA_C, 1, NULL, 0);
	peer_send_frame(c->f, c->peer, &c->frame);
	fake_expect_event(c->fid, 0, IW_CM_EVENT_CONNECT_REPLY, 0);
	KUNIT_EXPECT_EQ(test, c->fid->nr_events, 1);
	KUNIT_EXPECT_EQ(test, c->qp->params.rev, 1);
}

static void expect_up_with_v2(struct fake_conn *c)
{
	struct kunit *test = c->f->test;

	conn_connect(c);
	KUNIT_EXPECT_EQ(test, c->fid->nr_events, 1);
	KUNIT_EXPECT_EQ(test, c->qp->params.rev, 2);
	KUNIT_EXPECT_TRUE(test, c->qp->params.p2p);
	peer_recv_rtr(c->f, c->peer, IW_MPA_RTR_WRITE);
}

/*
 * A single RST does not show that the peer lacks revision 2: its listener may have been restarted,
 * or may have had too many connections. So the initiator offers revision 2 once more.
 */
/* Rules: E-10-6: revision 2 and the peer-to-peer model after a single RST */
static void connect_v2_reset_once_comes_up_with_v2(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	conn_dial(c);
	dial_again(c, c->f);
	expect_up_with_v2(c);
}

/*
 * Set the listener's receive buffer to 0: connections that it accepts inherit the size, and so have
 * a closed window. Return the old size.
 */
static int close_window(struct socket *listener)
{
	int size = listener->sk->sk_rcvbuf;

	WRITE_ONCE(listener->sk->sk_rcvbuf, 0);
	return size;
}

/*
 * Rules: E-10-6: revision 2 and the peer-to-peer model after a FIN, if the peer's TCP never had the
 * Request
 */
static void connect_v2_closed_unread_comes_up_with_v2(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct fakes *f = test->priv;
	int size;

	conn_aim(c, AF_INET);
	size = close_window(c->listener);
	KUNIT_ASSERT_EQ(test, fake_connect(c->fid, &c->param), 0);
	c->peer = peer_accept(f, c->listener);
	WRITE_ONCE(c->listener->sk->sk_rcvbuf, size);
	peer_expect_quiet(f, c->peer);		/* the closed window stops the Request */
	peer_fin(c->peer);
	conn_answer_dial(c);
	KUNIT_EXPECT_EQ(test, peer_frame_rev(&c->frame), 2);
	expect_up_with_v2(c);
}

static bool fallbacks_are(u64 count)
{
	return iw_mpa_count_read(NULL, IW_MPA_CNT_v1_fallback) == count;
}

/*
 * The second connection, with revision 1, uses the source port of the first. The test locks the
 * peer's socket for a while: so the peer still has the first connection when it gets the second
 * SYN, as over a slow network.
 */
static void connect_v2_refused_keeps_its_source_port(struct kunit *test)
{
	u64 fallbacks = iw_mpa_count_read(NULL, IW_MPA_CNT_v1_fallback);
	struct fake_conn *c = conn_new(test);
	struct sock *sk;
	__be16 port;
	int i;

	c->f->config->source_port_retry = 0;
	conn_dial(c);
	port = peers_port(test, c->peer);
	sk = c->peer->sk;
	lock_sock(sk);
	sk->sk_shutdown |= SEND_SHUTDOWN;
	tcp_shutdown(sk, SEND_SHUTDOWN);
	for (i = 0; i < HZ && !fallbacks_are(fallbacks + 1); i++)
		schedule_timeout_uninterruptible(1);
	iw_mpa_quiet(50);
	release_sock(sk);
	KUNIT_ASSERT_EQ(test, c->fid->nr_events, 0);
	conn_answer_dial(c);
	KUNIT_EXPECT_EQ(test, peer_frame_rev(&c->frame), 1);
	KUNIT_EXPECT_EQ(test, peers_port(test, c->peer), port);
}

/* Rules: E-10-6: the status of CONNECT_REPLY after the try with revision 1 has failed */
static void connect_v2_refused_is_tried_again_once(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	fall_back(c, test->priv, true);
	peer_rst(c->f, c->peer);
	conn_expect_failed(c, -ECONNRESET);
}

/*
 * Rules: E-10-6: the status of CONNECT_REPLY, if the listener is gone when the initiator tries
 * again
 */
static void connect_v2_reset_by_a_listener_that_goes_fails(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	conn_dial(c);
	peer_rst(c->f, c->listener);
	peer_rst(c->f, c->peer);
	conn_expect_failed(c, -ECONNRESET);
}

/* A Reply of revision 2 with S set, to a Request of revision 1, makes the connect fail. */
/* Rules: M-7.1.1-12: status of CONNECT_REPLY */
static void connect_fallback_refuses_a_v2_reply(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	fall_back(c, test->priv, true);
	conn_send_good_reply(c);
	conn_expect_failed(c, -EPROTO);
}

/* reply_timeout_ms: long enough for all connects on a slow host, short enough to wait for */
#define TRIES_MS	2000

/* After the fallback to revision 1 the wait for the Reply has a timer, too. */
/* Rules: M-7.1.2-17: status of CONNECT_REPLY */
static void connect_silence_after_fallback_times_out(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	c->f->config->reply_timeout_ms = TRIES_MS;
	fall_back(c, c->f, true);
	conn_expect_failed(c, -ETIMEDOUT);
	peer_expect_eof(c->f, c->peer);
}

/*
 * All connects of one iw_connect share a time limit, which begins with the first connect. Otherwise
 * the exit of a killed program would wait for several limits in a row.
 */
static void connect_fallback_does_not_wait_twice(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct fakes *f = test->priv;
	unsigned long start = jiffies, until;
	struct iw_mpa_ep *ep;

	f->config->connect_timeout_ms = 100;
	f->config->reply_timeout_ms = TRIES_MS;
	conn_dial(c);
	until = (jiffies + msecs_to_jiffies(100 + TRIES_MS)) | 1;	/* | 1: 0 means no limit */
	schedule_timeout_uninterruptible(msecs_to_jiffies(100));
	dial_again(c, f);
	schedule_timeout_uninterruptible(msecs_to_jiffies(100));
	peer_rst(f, c->peer);
	conn_answer_dial(c);
	ep = fake_ep(c->fid);
	KUNIT_ASSERT_NOT_NULL(test, ep);
	KUNIT_EXPECT_NE(test, READ_ONCE(ep->deadline), 0);
	KUNIT_EXPECT_FALSE(test, time_after(READ_ONCE(ep->deadline), until));
	iw_mpa_ep_drop(ep);
	conn_expect_failed(c, -ETIMEDOUT);
	KUNIT_EXPECT_GE(test, jiffies_to_msecs(jiffies - start), 100 + TRIES_MS);
}

/* From the event CLOSE on the ULP can use the QP for another connection. */
static void connect_qp_can_be_used_again_after_close(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct fake_id *fid;

	conn_active_up(c);
	peer_fin(c->peer);
	fake_next_event(c->fid, 1);
	fid = fake_id_create(c->f);
	fid->id.m_remote_addr = c->fid->id.m_remote_addr;
	KUNIT_EXPECT_EQ(test, fake_connect(fid, &c->param), 0);
}

static void connect_second_on_one_qp_is_busy(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct fake_id *fid = fake_id_create(c->f);

	conn_dial(c);
	fid->id.m_remote_addr = c->fid->id.m_remote_addr;
	KUNIT_EXPECT_EQ(test, fake_connect(fid, &c->param), -EBUSY);
	conn_connect(c);
}

static struct kunit_case again_cases[] = {
	KUNIT_CASE(connect_source_port_in_use_takes_another),
	KUNIT_CASE(connect_source_port_of_a_mapped_address_stays),
	KUNIT_CASE(connect_source_port_in_use_is_refused_if_set_so),
	KUNIT_CASE_PARAM(connect_v2_refused_comes_up_with_v1, fallback_gen_params),
	KUNIT_CASE(connect_v2_reset_once_comes_up_with_v2),
	KUNIT_CASE(connect_v2_closed_unread_comes_up_with_v2),
	KUNIT_CASE(connect_v2_reset_by_a_listener_that_goes_fails),
	KUNIT_CASE(connect_v2_refused_keeps_its_source_port),
	KUNIT_CASE(connect_v2_refused_is_tried_again_once),
	KUNIT_CASE(connect_fallback_refuses_a_v2_reply),
	KUNIT_CASE(connect_silence_after_fallback_times_out),
	KUNIT_CASE(connect_fallback_does_not_wait_twice),
	KUNIT_CASE(connect_qp_can_be_used_again_after_close),
	KUNIT_CASE(connect_second_on_one_qp_is_busy),
	{}
};

static struct kunit_suite again_suite = {
	.name = "iw_mpa_connect_retry",
	.init = fakes_init,
	.exit = fakes_exit,
	.test_cases = again_cases,
};

kunit_test_suite(again_suite);

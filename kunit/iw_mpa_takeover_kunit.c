// SPDX-License-Identifier: GPL-2.0
/* A TCP connection leaves the host's TCP: the record, the silence, and the way back. */

#include "ep.h"
#include "event.h"
#include "iw_mpa_fakes.h"
#include "offload.h"
#include "sock.h"
#include "stats.h"
#include "takeover.h"
#include "tcb.h"

#include <linux/delay.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/tcp.h>
#include <net/tcp.h>

#define QUIET_MS	300	/* longer than TCP delays an acknowledgment, and its first RTO */
#define RX_MAX		16

/**
 * struct leaving - a connection, and what a device was given of it
 * @ep: the endpoint, of which little is used
 * @ms: its socket
 * @off: its line to the driver
 * @params: what was negotiated
 * @all: the device's connections
 * @fid: has the addresses
 * @listener: the peer's
 * @peer: the peer's socket
 * @tcb: the record
 * @rx: a copy of what it points to
 * @takeover: what to release
 * @log: ops of the driver
 * @fail: what prepare returns
 */
struct leaving {
	struct iw_mpa_ep	ep;
	struct iw_mpa_sock	*ms;
	struct iw_mpa_offload	*off;
	struct iw_mpa_params	params;
	struct iw_mpa_takeovers	all;
	struct fake_id		*fid;
	struct socket		*listener;
	struct socket		*peer;
	struct iw_mpa_tcb	tcb;
	u8			rx[RX_MAX];
	struct iw_mpa_takeover	*takeover;
	char			log[80];
	int			fail;
};

/* The one of the test that runs: a driver's ops have nothing but the QP. */
static struct leaving *now;

static void leaving_ignore(struct iw_mpa_sock *ms)
{
}

static void leaving_failed(struct iw_mpa_sock *ms, int err)
{
}

static const struct iw_mpa_sock_ops leaving_ops = {
	.connected	= leaving_ignore,
	.readable	= leaving_ignore,
	.closed		= leaving_ignore,
	.failed		= leaving_failed,
};

static int leaving_connect(struct leaving *lv, struct iw_mpa_sock *ms)
{
	struct iw_mpa_sock_opts opts = {
		.net	= &init_net,
		.local	= iw_mpa_addr(&lv->fid->id.m_local_addr),
		.remote	= iw_mpa_addr(&lv->fid->id.m_remote_addr),
	};

	return iw_mpa_sock_connect(ms, &leaving_ops, &opts);
}

static void leaving_noted(const char *op)
{
	if (now->log[0])
		strlcat(now->log, " ", sizeof(now->log));
	strlcat(now->log, op, sizeof(now->log));
}

static int leaving_hold(struct ib_qp *qp, struct sock *sk)
{
	leaving_noted("hold");
	return 0;
}

static void leaving_let_go(struct ib_qp *qp)
{
	leaving_noted("let_go");
}

static int leaving_prepare(struct ib_qp *qp, const struct iw_mpa_handoff *ho)
{
	leaving_noted(ho->tcb ? "prepare" : "prepare_on_socket");
	if (ho->tcb) {
		now->tcb = *ho->tcb;
		memcpy(now->rx, ho->tcb->rx, min_t(u32, ho->tcb->rx_len, RX_MAX));
		now->takeover = ho->takeover;
	}
	return now->fail;
}

static void leaving_attach(struct ib_qp *qp, struct sock *sk, struct iw_mpa_stream *stream)
{
	leaving_noted("attach");
}

static int leaving_send_reply(struct ib_qp *qp, const void *reply, size_t len)
{
	leaving_noted("send_reply");
	return 0;
}

static void leaving_open_tx(struct ib_qp *qp)
{
	leaving_noted("open_tx");
}

static void leaving_stop(struct ib_qp *qp, enum iw_mpa_reason why)
{
	leaving_noted("stop");
}

static const struct iw_mpa_driver_ops leaving_driver = {
	.hold		= leaving_hold,
	.let_go		= leaving_let_go,
	.prepare	= leaving_prepare,
	.send_reply	= leaving_send_reply,
	.open_tx	= leaving_open_tx,
	.stop		= leaving_stop,
};

static struct leaving *leaving_open(struct kunit *test)
{
	struct leaving *lv = kunit_kzalloc(test, sizeof(*lv), GFP_KERNEL);
	struct fakes *f = test->priv;

	memalloc_noio_save();	/* as a runner does; the test ends with its task */
	KUNIT_ASSERT_NOT_NULL(test, lv);
	now = lv;
	lv->fid = fake_id_create(f);
	lv->listener = peer_listen(f, lv->fid, AF_INET);
	lv->ms = &lv->ep.sock;
	lv->off = &lv->ep.off;
	lv->all.stats = alloc_percpu(struct iw_mpa_stats);
	KUNIT_ASSERT_NOT_NULL(test, lv->all.stats);
	iw_mpa_takeovers_init(&lv->all, lv->all.stats);
	iw_mpa_event_setup(&lv->ep);
	KUNIT_ASSERT_EQ(test, 0, leaving_connect(lv, lv->ms));
	lv->peer = peer_accept(f, lv->listener);
	f->drv = leaving_driver;
	f->attr.caps |= IW_MPA_CAP_TAKEOVER;
	f->attr.tcp_options = IW_MPA_TCP_ALL;
	lv->off->drv = &f->drv;
	lv->off->attr = &f->attr;
	lv->off->takeovers = &lv->all;
	lv->off->qp = &f->qps[0].ib;
	return lv;
}

static void leaving_close(struct leaving *lv)
{
	if (lv->off->started)
		iw_mpa_offload_stop(lv->off, lv->ms, IW_MPA_R_ULP_CLOSE);
	iw_mpa_sock_release(lv->ms);
	iw_mpa_takeovers_end(&lv->all);
	free_percpu(lv->all.stats);
}

static enum iw_mpa_reason leaving_freeze(struct leaving *lv)
{
	int err = iw_mpa_takeover_begin(lv->ms, &lv->all, false);

	return err ? IW_MPA_R_LOCAL : iw_mpa_takeover_freeze(lv->ms, &lv->tcb);
}

static unsigned long leaving_count(const struct leaving *lv, enum iw_mpa_counter counter)
{
	return iw_mpa_count_read(lv->all.stats, counter);
}

static size_t leaving_take(void *arg, const u8 *octets, size_t len)
{
	size_t *left = arg, n = min(*left, len);

	*left -= n;
	return n;
}

static void leaving_read(struct leaving *lv, size_t len)
{
	bool closed;

	iw_mpa_sock_read(lv->ms, leaving_take, &len, &closed);
}

/* Both ends have sent octets, which the other has read. */
static void leaving_talk(struct leaving *lv, struct kunit *test)
{
	struct fakes *f = test->priv;
	u8 buf[7];

	KUNIT_ASSERT_EQ(test, 0, iw_mpa_sock_send(lv->ms, "request", 7));
	peer_recv(f, lv->peer, buf, 7);
	peer_send(f, lv->peer, "the reply", 9);
	FAKE_POLL(f, tcp_inq(lv->ms->sock->sk) == 9);
	leaving_read(lv, 9);
}

/* What one end calls its own, the other knows by another name. */
static void record_agrees_with_the_peer(struct kunit *test)
{
	struct leaving *lv = leaving_open(test);
	const struct tcp_sock *peer = tcp_sk(lv->peer->sk);
	const struct iw_mpa_tcb *tcb = &lv->tcb;

	leaving_talk(lv, test);
	KUNIT_ASSERT_EQ(test, leaving_freeze(lv), IW_MPA_R_OK);
	KUNIT_EXPECT_EQ(test, tcb->snd_nxt, peer->rcv_nxt);
	KUNIT_EXPECT_EQ(test, tcb->snd_una, tcb->snd_nxt);
	KUNIT_EXPECT_EQ(test, tcb->rcv_nxt, peer->snd_nxt);
	KUNIT_EXPECT_EQ(test, tcb->copied_seq, tcb->rcv_nxt);
	/* The host owes nothing, and the peer knows. */
	KUNIT_EXPECT_EQ(test, tcb->rcv_wup, tcb->rcv_nxt);
	KUNIT_EXPECT_EQ(test, tcb->rcv_wup, peer->snd_una);
	KUNIT_EXPECT_EQ(test, tcb->rcv_wup + tcb->rcv_wnd, peer->snd_una + peer->snd_wnd);
	KUNIT_EXPECT_EQ(test, tcb->snd_una + tcb->snd_wnd, peer->rcv_wup + peer->rcv_wnd);
	KUNIT_EXPECT_EQ(test, tcb->snd_wscale, (u8)peer->rx_opt.rcv_wscale);
	KUNIT_EXPECT_EQ(test, tcb->rcv_wscale, (u8)peer->rx_opt.snd_wscale);
	KUNIT_EXPECT_EQ(test, tcb->options, iw_mpa_tcb_options(lv->peer->sk));
	KUNIT_EXPECT_TRUE(test, tcb->options & IW_MPA_TCP_TIMESTAMPS);
	KUNIT_EXPECT_GE(test, (s32)(tcb->ts_val - peer->rx_opt.ts_recent), 0);
	KUNIT_EXPECT_LT(test, tcb->ts_val - peer->rx_opt.ts_recent, 10 * MSEC_PER_SEC);
	KUNIT_EXPECT_NE(test, tcb->ts_recent, 0);
	KUNIT_EXPECT_EQ(test, tcb->local.in.sin_port, inet_sk(lv->peer->sk)->inet_dport);
	KUNIT_EXPECT_EQ(test, tcb->remote.in.sin_port, inet_sk(lv->peer->sk)->inet_sport);
	KUNIT_ASSERT_NOT_NULL(test, tcb->dst);
	KUNIT_EXPECT_EQ(test, tcb->mtu, dst_mtu(tcb->dst));
	KUNIT_EXPECT_EQ(test, tcb->ttl, 64);
	KUNIT_EXPECT_GT(test, tcb->cwnd, 0);
	KUNIT_EXPECT_STREQ(test, tcb->cc, inet_csk(lv->peer->sk)->icsk_ca_ops->name);
	KUNIT_EXPECT_EQ(test, tcb->rx_len, 0);
	iw_mpa_tcb_free(&lv->tcb);
	iw_mpa_takeover_undo(lv->ms);
	leaving_close(lv);
}

static void record_has_what_came_early(struct kunit *test)
{
	struct leaving *lv = leaving_open(test);
	struct fakes *f = test->priv;

	peer_send(f, lv->peer, "Reply+", 6);
	peer_send(f, lv->peer, "early", 5);
	FAKE_POLL(f, tcp_inq(lv->ms->sock->sk) == 11);
	leaving_read(lv, 5);
	KUNIT_ASSERT_EQ(test, leaving_freeze(lv), IW_MPA_R_OK);
	KUNIT_ASSERT_EQ(test, lv->tcb.rx_len, 6);
	KUNIT_EXPECT_EQ(test, memcmp(lv->tcb.rx, "+early", 6), 0);
	KUNIT_EXPECT_EQ(test, lv->tcb.copied_seq + 6, lv->tcb.rcv_nxt);
	KUNIT_EXPECT_EQ(test, lv->tcb.rcv_nxt, tcp_sk(lv->peer->sk)->snd_nxt);
	iw_mpa_tcb_free(&lv->tcb);
	iw_mpa_takeover_undo(lv->ms);
	leaving_close(lv);
}

/* The control of this one is the next. */
static void frozen_socket_is_silent(struct kunit *test)
{
	struct leaving *lv = leaving_open(test);
	const struct tcp_sock *peer = tcp_sk(lv->peer->sk);
	struct sock *sk = lv->ms->sock->sk;
	struct fakes *f = test->priv;
	u32 segs_in, una;

	leaving_talk(lv, test);
	KUNIT_ASSERT_EQ(test, leaving_freeze(lv), IW_MPA_R_OK);
	segs_in = peer->segs_in;
	una = peer->snd_una;
	peer_send(f, lv->peer, "FPDU", 4);
	FAKE_POLL(f, peer->total_retrans);
	KUNIT_EXPECT_EQ(test, peer->segs_in, segs_in);
	KUNIT_EXPECT_EQ(test, peer->snd_una, una);
	KUNIT_EXPECT_EQ(test, tcp_sk(sk)->rcv_nxt, lv->tcb.rcv_nxt);
	KUNIT_EXPECT_EQ(test, tcp_inq(sk), 0);
	KUNIT_EXPECT_EQ(test, leaving_count(lv, IW_MPA_CNT_held_back), 0);

	/* Even if TCP is told to speak */
	lock_sock(sk);
	tcp_send_ack(sk);
	release_sock(sk);
	kernel_sock_shutdown(lv->ms->sock, SHUT_WR);
	msleep(QUIET_MS);
	KUNIT_EXPECT_EQ(test, peer->segs_in, segs_in);
	/* TCP does not look for this socket any more: what the peer repeats later finds none. */
	tcp_abort(sk, ECONNABORTED);
	KUNIT_EXPECT_EQ(test, peer->segs_in, segs_in);
	KUNIT_EXPECT_EQ(test, lv->peer->sk->sk_state, TCP_ESTABLISHED);
	KUNIT_EXPECT_GE(test, leaving_count(lv, IW_MPA_CNT_held_back), 3);
	iw_mpa_tcb_free(&lv->tcb);
	iw_mpa_takeover_undo(lv->ms);
	leaving_close(lv);
}

static void undone_takeover_leaves_no_trace(struct kunit *test)
{
	struct leaving *lv = leaving_open(test);
	const struct tcp_sock *peer = tcp_sk(lv->peer->sk);
	struct fakes *f = test->priv;
	u8 buf[4];

	leaving_talk(lv, test);
	KUNIT_ASSERT_EQ(test, leaving_freeze(lv), IW_MPA_R_OK);
	peer_send(f, lv->peer, "FPDU", 4);
	iw_mpa_tcb_free(&lv->tcb);
	iw_mpa_takeover_undo(lv->ms);
	KUNIT_EXPECT_NULL(test, lv->ms->takeover);
	FAKE_POLL(f, tcp_inq(lv->ms->sock->sk) == 4);
	FAKE_POLL(f, peer->snd_una == peer->write_seq);
	KUNIT_EXPECT_EQ(test, 0, iw_mpa_sock_send(lv->ms, "back", 4));
	peer_recv(f, lv->peer, buf, 4);
	leaving_read(lv, 4);
	leaving_close(lv);
	peer_expect_eof(f, lv->peer);
}

/* It is the device's until the driver says otherwise, also when the endpoint has gone. */
static void four_tuple_is_held_until_released(struct kunit *test)
{
	struct leaving *lv = leaving_open(test);
	const struct tcp_sock *peer = tcp_sk(lv->peer->sk);
	struct iw_mpa_sock again = {};
	u32 segs_in;

	leaving_talk(lv, test);
	KUNIT_ASSERT_EQ(test, iw_mpa_offload_active(lv->off, &lv->ep, lv->ms, &lv->params, false),
			IW_MPA_EV_HANDED_OFF);
	KUNIT_ASSERT_NOT_NULL(test, lv->takeover);
	segs_in = peer->segs_in;
	iw_mpa_offload_stop(lv->off, lv->ms, IW_MPA_R_ULP_CLOSE);
	iw_mpa_sock_shutdown(lv->ms);
	iw_mpa_sock_release(lv->ms);
	KUNIT_EXPECT_NE(test, 0, leaving_connect(lv, &again));
	KUNIT_EXPECT_EQ(test, leaving_count(lv, IW_MPA_CNT_tcp_released), 0);

	iw_mpa_stream_released(lv->takeover);
	FAKE_POLL((struct fakes *)test->priv, leaving_count(lv, IW_MPA_CNT_tcp_released) == 1);
	KUNIT_EXPECT_EQ(test, peer->segs_in, segs_in);
	KUNIT_EXPECT_EQ(test, lv->peer->sk->sk_state, TCP_ESTABLISHED);
	KUNIT_EXPECT_EQ(test, 0, leaving_connect(lv, &again));
	iw_mpa_sock_release(&again);
	leaving_close(lv);
	KUNIT_EXPECT_STREQ(test, lv->log, "hold prepare open_tx stop");
}

static void device_that_goes_releases_all(struct kunit *test)
{
	struct leaving *lv = leaving_open(test);

	KUNIT_ASSERT_EQ(test, iw_mpa_offload_active(lv->off, &lv->ep, lv->ms, &lv->params, false),
			IW_MPA_EV_HANDED_OFF);
	iw_mpa_offload_stop(lv->off, lv->ms, IW_MPA_R_DEVICE_GONE);
	iw_mpa_sock_release(lv->ms);
	iw_mpa_takeovers_end(&lv->all);
	KUNIT_EXPECT_EQ(test, leaving_count(lv, IW_MPA_CNT_tcp_released), 1);
	KUNIT_EXPECT_EQ(test, lv->peer->sk->sk_state, TCP_ESTABLISHED);
	leaving_close(lv);
}

static void stream_behind_a_fin_is_refused(struct kunit *test)
{
	struct leaving *lv = leaving_open(test);

	peer_fin(lv->peer);
	FAKE_POLL((struct fakes *)test->priv, lv->ms->sock->sk->sk_state == TCP_CLOSE_WAIT);
	KUNIT_EXPECT_EQ(test, iw_mpa_offload_active(lv->off, &lv->ep, lv->ms, &lv->params, false),
			IW_MPA_EV_PREPARE_FAILED);
	KUNIT_EXPECT_EQ(test, lv->off->why, IW_MPA_R_TCP_BUSY);
	KUNIT_EXPECT_NULL(test, lv->ms->takeover);
	KUNIT_EXPECT_TRUE(test, iw_mpa_offload_is_untouched(lv->off, lv->ms));
	KUNIT_EXPECT_STREQ(test, lv->log, "hold let_go");
	leaving_close(lv);
}

/* Each option that the device lacks and the peer has, alone */
static void option_that_the_device_lacks_is_a_reason(struct kunit *test)
{
	u8 agreed, lacks;

	for (lacks = 1; lacks < IW_MPA_TCP_ALL; lacks <<= 1) {
		struct leaving *lv = leaving_open(test);

		agreed = iw_mpa_tcb_options(lv->ms->sock->sk);
		((struct fakes *)test->priv)->attr.tcp_options = IW_MPA_TCP_ALL & ~lacks;
		KUNIT_EXPECT_EQ(test, iw_mpa_offload_active(lv->off, &lv->ep, lv->ms, &lv->params,
							    false),
				agreed & lacks ? IW_MPA_EV_PREPARE_FAILED : IW_MPA_EV_HANDED_OFF);
		KUNIT_EXPECT_EQ(test, lv->off->why,
				agreed & lacks ? IW_MPA_R_TCP_OPTION : IW_MPA_R_OK);
		KUNIT_EXPECT_STREQ(test, lv->log, agreed & lacks ? "" : "hold prepare open_tx");
		leaving_close(lv);
	}
}

static void device_that_can_do_both_keeps_it_on_the_socket(struct kunit *test)
{
	struct leaving *lv = leaving_open(test);
	struct fakes *f = test->priv;
	u8 buf[5];

	f->attr.tcp_options = 0;
	f->drv.attach = leaving_attach;
	KUNIT_EXPECT_EQ(test, iw_mpa_offload_passive(lv->off, &lv->ep, lv->ms, &lv->params, true,
						     "Reply", 5),
			IW_MPA_EV_HANDED_OFF_FENCED);
	peer_recv(f, lv->peer, buf, 5);
	KUNIT_EXPECT_EQ(test, leaving_count(lv, IW_MPA_CNT_tcp_kept), 1);
	leaving_close(lv);
	KUNIT_EXPECT_STREQ(test, lv->log, "prepare_on_socket attach stop");
}

static void device_sends_the_reply(struct kunit *test)
{
	struct leaving *lv = leaving_open(test);
	const struct tcp_sock *peer = tcp_sk(lv->peer->sk);
	u32 segs_in;

	leaving_talk(lv, test);
	KUNIT_EXPECT_EQ(test, iw_mpa_offload_passive(lv->off, &lv->ep, lv->ms, &lv->params, true,
						     "Reply", 5),
			IW_MPA_EV_HANDED_OFF_FENCED);
	segs_in = peer->segs_in;
	KUNIT_EXPECT_EQ(test, leaving_count(lv, IW_MPA_CNT_tcp_taken_over), 1);
	KUNIT_EXPECT_EQ(test, iw_mpa_send(&lv->ep, "Terminate", 9), -EPIPE);
	KUNIT_EXPECT_FALSE(test, iw_mpa_offload_is_untouched(lv->off, lv->ms));
	leaving_close(lv);
	KUNIT_EXPECT_EQ(test, peer->segs_in, segs_in);
	KUNIT_EXPECT_STREQ(test, lv->log, "hold prepare send_reply stop");
}

static void device_that_refuses_leaves_it_to_tcp(struct kunit *test)
{
	struct leaving *lv = leaving_open(test);
	struct fakes *f = test->priv;
	u8 buf[6];

	lv->fail = -ENOSPC;
	KUNIT_EXPECT_EQ(test, iw_mpa_offload_passive(lv->off, &lv->ep, lv->ms, &lv->params, true,
						     "Reply", 5),
			IW_MPA_EV_ACCEPT_FAILED);
	KUNIT_EXPECT_EQ(test, lv->off->why, IW_MPA_R_DRIVER);
	KUNIT_EXPECT_TRUE(test, iw_mpa_offload_is_untouched(lv->off, lv->ms));
	KUNIT_EXPECT_EQ(test, 0, iw_mpa_sock_send(lv->ms, "Reject", 6));
	peer_recv(f, lv->peer, buf, 6);
	KUNIT_EXPECT_TRUE(test, list_empty(&lv->all.list));
	leaving_close(lv);
	peer_expect_eof(f, lv->peer);
	KUNIT_EXPECT_STREQ(test, lv->log, "hold prepare let_go");
}

static void early_octets_are_refused_unless_declared(struct kunit *test)
{
	struct leaving *lv = leaving_open(test);
	struct fakes *f = test->priv;

	peer_send(f, lv->peer, "xyz", 3);
	FAKE_POLL(f, tcp_inq(lv->ms->sock->sk) == 3);
	KUNIT_EXPECT_EQ(test, iw_mpa_offload_active(lv->off, &lv->ep, lv->ms, &lv->params, false),
			IW_MPA_EV_PREPARE_FAILED);
	KUNIT_EXPECT_EQ(test, lv->off->why, IW_MPA_R_EARLY_DATA);
	KUNIT_EXPECT_STREQ(test, lv->log, "hold let_go");

	f->attr.caps |= IW_MPA_CAP_EARLY_RX;
	KUNIT_EXPECT_EQ(test, iw_mpa_offload_active(lv->off, &lv->ep, lv->ms, &lv->params, false),
			IW_MPA_EV_HANDED_OFF);
	KUNIT_EXPECT_EQ(test, lv->tcb.rx_len, 3);
	KUNIT_EXPECT_EQ(test, memcmp(lv->rx, "xyz", 3), 0);
	leaving_close(lv);
}

static struct kunit_case takeover_cases[] = {
	KUNIT_CASE(record_agrees_with_the_peer),
	KUNIT_CASE(record_has_what_came_early),
	KUNIT_CASE(frozen_socket_is_silent),
	KUNIT_CASE(undone_takeover_leaves_no_trace),
	KUNIT_CASE(four_tuple_is_held_until_released),
	KUNIT_CASE(device_that_goes_releases_all),
	KUNIT_CASE(stream_behind_a_fin_is_refused),
	KUNIT_CASE(option_that_the_device_lacks_is_a_reason),
	KUNIT_CASE(device_that_can_do_both_keeps_it_on_the_socket),
	KUNIT_CASE(device_sends_the_reply),
	KUNIT_CASE(device_that_refuses_leaves_it_to_tcp),
	KUNIT_CASE(early_octets_are_refused_unless_declared),
	{}
};

static struct kunit_suite takeover_suite = {
	.name = "iw_mpa_takeover",
	.init = fakes_init,
	.exit = fakes_exit,
	.test_cases = takeover_cases,
};

kunit_test_suite(takeover_suite);

MODULE_LICENSE("GPL");

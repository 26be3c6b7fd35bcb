// SPDX-License-Identifier: GPL-2.0
/*
 * Takeover of a TCP connection by a device: the record of TCP's state, the silence of the host's
 * TCP once the record is made, and takeovers that are undone.
 */

#include "iw_mpa_leaving.h"
#include "sock.h"
#include "takeover/tcb.h"

#include <linux/tcp.h>
#include <net/tcp.h>

/*
 * The record of TCP's state that the device gets agrees with the peer's TCP: for example its
 * snd_nxt equals the peer's rcv_nxt.
 */
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
	/* The host has acknowledged each byte, and the peer has got the acknowledgment. */
	KUNIT_EXPECT_EQ(test, tcb->rcv_wup, tcb->rcv_nxt);
	KUNIT_EXPECT_EQ(test, tcb->rcv_wup, peer->snd_una);
	KUNIT_EXPECT_EQ(test, tcb->rcv_wup + tcb->rcv_wnd, peer->snd_una + peer->snd_wnd);
	KUNIT_EXPECT_EQ(test, tcb->snd_una + tcb->snd_wnd, peer->rcv_wup + peer->rcv_wnd);
	KUNIT_EXPECT_EQ(test, tcb->snd_wscale, (u8)peer->rx_opt.rcv_wscale);
	KUNIT_EXPECT_EQ(test, tcb->rcv_wscale, (u8)peer->rx_opt.snd_wscale);
	KUNIT_EXPECT_EQ(test, tcb->options, iw_mpa_tcb_options(lv->peer->sk));
	/* Options that Linux uses by default */
	KUNIT_EXPECT_EQ(test, tcb->options & ~IW_MPA_TCP_ECN,
			IW_MPA_TCP_TIMESTAMPS | IW_MPA_TCP_WSCALE | IW_MPA_TCP_SACK);
	KUNIT_EXPECT_GE(test, (s32)(tcb->ts_val - peer->rx_opt.ts_recent), 0);
	KUNIT_EXPECT_LT(test, tcb->ts_val - peer->rx_opt.ts_recent, 10 * MSEC_PER_SEC);
	KUNIT_EXPECT_NE(test, tcb->ts_recent, 0);
	KUNIT_EXPECT_EQ(test, tcb->local.in.sin_port, inet_sk(lv->peer->sk)->inet_dport);
	KUNIT_EXPECT_EQ(test, tcb->remote.in.sin_port, inet_sk(lv->peer->sk)->inet_sport);
	KUNIT_ASSERT_NOT_NULL(test, tcb->path.dst);
	KUNIT_EXPECT_EQ(test, tcb->path.mtu, dst_mtu(tcb->path.dst));
	KUNIT_EXPECT_EQ(test, tcb->path.ifindex, tcb->path.dst->dev->ifindex);
	KUNIT_EXPECT_TRUE(test, tcb->path.lladdr_known);
	KUNIT_EXPECT_EQ(test, tcb->ttl, 64);
	KUNIT_EXPECT_GT(test, tcb->cwnd, 0);
	KUNIT_EXPECT_GT(test, tcb->rto_us, tcb->srtt_us);
	KUNIT_EXPECT_STREQ(test, tcb->cc, inet_csk(lv->peer->sk)->icsk_ca_ops->name);
	KUNIT_EXPECT_EQ(test, tcb->rx_len, 0);
}

static void record_has_what_came_early(struct kunit *test)
{
	struct leaving *lv = leaving_open(test);
	struct fakes *f = test->priv;

	peer_send(f, lv->peer, "Reply+", 6);
	peer_send(f, lv->peer, "early", 5);
	FAKE_POLL(f, tcp_inq(lv->sk) == 11);
	leaving_read(lv, 5);
	KUNIT_ASSERT_EQ(test, leaving_freeze(lv), IW_MPA_R_OK);
	KUNIT_ASSERT_EQ(test, lv->tcb.rx_len, 6);
	KUNIT_EXPECT_EQ(test, memcmp(lv->tcb.rx, "+early", 6), 0);
	KUNIT_EXPECT_EQ(test, lv->tcb.copied_seq + 6, lv->tcb.rcv_nxt);
	KUNIT_EXPECT_EQ(test, lv->tcb.rcv_nxt, tcp_sk(lv->peer->sk)->snd_nxt);
}

/* The record has the TTL of the socket, or the host's default if the socket has none of its own. */
static void record_has_the_time_to_live(struct kunit *test)
{
	u8 was = READ_ONCE(init_net.ipv4.sysctl_ip_default_ttl);
	struct leaving *lv = leaving_open(test);

	WRITE_ONCE(init_net.ipv4.sysctl_ip_default_ttl, 33);
	KUNIT_ASSERT_EQ(test, leaving_freeze(lv), IW_MPA_R_OK);
	WRITE_ONCE(init_net.ipv4.sysctl_ip_default_ttl, was);
	KUNIT_EXPECT_EQ(test, lv->tcb.ttl, 33);
	iw_mpa_takeover_undo(&lv->ep);
	inet_sk(lv->sk)->uc_ttl = 7;
	KUNIT_ASSERT_EQ(test, leaving_freeze(lv), IW_MPA_R_OK);
	KUNIT_EXPECT_EQ(test, lv->tcb.ttl, 7);
}

/* If the socket has no cached route, the record has none: the device has to look one up. */
static void record_without_a_route(struct kunit *test)
{
	struct leaving *lv = leaving_open(test);

	KUNIT_ASSERT_EQ(test, 0, iw_mpa_takeover_begin(&lv->ep, false));
	sk_dst_reset(lv->sk);
	KUNIT_ASSERT_EQ(test, leaving_record(lv), IW_MPA_R_OK);
	KUNIT_EXPECT_NULL(test, lv->tcb.path.dst);
	KUNIT_EXPECT_NE(test, lv->tcb.remote.in.sin_port, 0);
}

/*
 * After iw_mpa has sent a frame the socket keeps no page fragment: those of 100,000 connections
 * would take 3 GiB. The socket's allocations must not start I/O, since storage may depend on the
 * connection.
 */
static void frame_leaves_no_page_behind(struct kunit *test)
{
	struct leaving *lv = leaving_open(test);
	struct sock *sk = lv->sk;

	leaving_talk(lv, test);
	KUNIT_EXPECT_NULL(test, sk->sk_frag.page);
	KUNIT_EXPECT_EQ(test, sk->sk_allocation, IW_MPA_SOCK_GFP);
}

/* If segments of the host's TCP do not leave the host in time, the takeover fails: TCP_BUSY. */
static void segment_under_way_is_a_reason(struct kunit *test)
{
	struct leaving *lv = leaving_open(test);
	struct sock *sk = lv->sk;

	leaving_talk(lv, test);
	refcount_add(100, &sk->sk_wmem_alloc);
	KUNIT_EXPECT_EQ(test, leaving_freeze(lv), IW_MPA_R_TCP_BUSY);
	WARN_ON(refcount_sub_and_test(100, &sk->sk_wmem_alloc));
}

/*
 * A takeover cancels TCP's pacing timer and its timer for compressed ACKs, and drops the reference
 * on the socket that each of them held.
 */
static void timers_of_a_frozen_socket_are_stopped(struct kunit *test)
{
	struct leaving *lv = leaving_open(test);
	struct sock *sk = lv->sk;
	struct hrtimer *const timers[] = {
		&tcp_sk(sk)->pacing_timer, &tcp_sk(sk)->compressed_ack_timer,
	};
	int i, refs;

	leaving_talk(lv, test);
	KUNIT_ASSERT_EQ(test, leaving_freeze(lv), IW_MPA_R_OK);
	iw_mpa_takeover_undo(&lv->ep);
	refs = refcount_read(&sk->sk_refcnt);
	for (i = 0; i < ARRAY_SIZE(timers); i++) {
		sock_hold(sk);
		hrtimer_start(timers[i], ms_to_ktime(FAKE_WAIT_MS), HRTIMER_MODE_REL_PINNED_SOFT);
	}
	KUNIT_ASSERT_EQ(test, leaving_freeze(lv), IW_MPA_R_OK);
	for (i = 0; i < ARRAY_SIZE(timers); i++)
		KUNIT_EXPECT_FALSE(test, hrtimer_active(timers[i]));
	KUNIT_EXPECT_EQ(test, refcount_read(&sk->sk_refcnt), refs);
}

/*
 * Once iw_mpa_takeover_begin() has returned the host's TCP must accept no byte, even if the device
 * lets a packet through: the device would lack the byte, while the peer had an acknowledgment.
 */
static void octets_behind_the_hold_are_not_for_tcp(struct kunit *test)
{
	struct leaving *lv = leaving_open(test);
	const struct tcp_sock *peer = tcp_sk(lv->peer->sk);
	struct sock *sk = lv->sk;
	struct fakes *f = test->priv;
	u32 rcv_nxt;

	leaving_talk(lv, test);
	rcv_nxt = tcp_sk(sk)->rcv_nxt;
	KUNIT_ASSERT_EQ(test, 0, iw_mpa_takeover_begin(&lv->ep, true));
	peer_send(f, lv->peer, "FPDU", 4);
	FAKE_POLL(f, peer->total_retrans);
	KUNIT_EXPECT_EQ(test, tcp_sk(sk)->rcv_nxt, rcv_nxt);
	KUNIT_ASSERT_EQ(test, leaving_record(lv), IW_MPA_R_OK);
	KUNIT_EXPECT_EQ(test, lv->tcb.rcv_nxt, rcv_nxt);
	KUNIT_EXPECT_EQ(test, lv->tcb.rx_len, 0);
	iw_mpa_takeover_undo(&lv->ep);
	FAKE_POLL(f, tcp_inq(sk) == 4);
}

/* Set keepalive with the first probe at once; one probe without an answer ends the connection. */
static void leaving_probes(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tp->keepalive_time = 1;
	tp->keepalive_intvl = 1;
	tp->keepalive_probes = 1;
	sock_set_keepalive(sk);
}

/*
 * The keepalive handler starts its timer again if it finds the socket locked, maybe after iw_mpa
 * has stopped all timers. The socket of a taken-over connection must then send no probe.
 */
static void late_keepalive_finds_nothing_to_do(struct kunit *test)
{
	struct leaving *lv = leaving_open(test);
	struct sock *sk = lv->sk;

	leaving_talk(lv, test);
	leaving_probes(sk);
	KUNIT_ASSERT_EQ(test, leaving_freeze(lv), IW_MPA_R_OK);
	KUNIT_EXPECT_TRUE(test, lv->tcb.keepalive);
	tcp_reset_keepalive_timer(sk, 1);
	iw_mpa_quiet(QUIET_MS);
	KUNIT_EXPECT_EQ(test, leaving_count(lv, IW_MPA_CNT_held_back), 0);
	KUNIT_EXPECT_EQ(test, sk->sk_state, TCP_ESTABLISHED);
}

static void undone_takeover_goes_on_with_keepalive(struct kunit *test)
{
	struct leaving *lv = leaving_open(test);
	const struct tcp_sock *peer = tcp_sk(lv->peer->sk);
	struct sock *sk = lv->sk;
	struct fakes *f = test->priv;
	u32 segs_in;

	leaving_talk(lv, test);
	leaving_probes(sk);
	KUNIT_ASSERT_EQ(test, leaving_freeze(lv), IW_MPA_R_OK);
	segs_in = peer->segs_in;
	iw_mpa_takeover_undo(&lv->ep);
	KUNIT_EXPECT_TRUE(test, sock_flag(sk, SOCK_KEEPOPEN));
	FAKE_POLL(f, peer->segs_in > segs_in);
	KUNIT_EXPECT_EQ(test, sk->sk_state, TCP_ESTABLISHED);
}

/* Undoing a takeover turns keepalive on only if it was on before. */
static void undone_takeover_has_no_keepalive_of_its_own(struct kunit *test)
{
	struct leaving *lv = leaving_open(test);

	KUNIT_ASSERT_EQ(test, leaving_freeze(lv), IW_MPA_R_OK);
	KUNIT_EXPECT_FALSE(test, lv->tcb.keepalive);
	iw_mpa_takeover_undo(&lv->ep);
	KUNIT_EXPECT_FALSE(test, sock_flag(lv->sk, SOCK_KEEPOPEN));
}

/*
 * Once the record of TCP's state is made for the device, the host's socket sends nothing and
 * accepts no byte. undone_takeover_leaves_no_trace() shows that the bytes would arrive otherwise.
 */
static void frozen_socket_is_silent(struct kunit *test)
{
	struct leaving *lv = leaving_open(test);
	const struct tcp_sock *peer = tcp_sk(lv->peer->sk);
	struct sock *sk = lv->sk;
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

	/* An ACK and a FIN that TCP is asked to send do not leave the host. */
	lock_sock(sk);
	tcp_send_ack(sk);
	release_sock(sk);
	kernel_sock_shutdown(lv->ms->sock, SHUT_WR);
	iw_mpa_quiet(QUIET_MS);
	KUNIT_EXPECT_EQ(test, peer->segs_in, segs_in);
	/*
	 * The test calls tcp_abort() last, since it removes the socket from TCP's tables: after
	 * that, segments that the peer sends again get an RST.
	 */
	tcp_abort(sk, ECONNABORTED);
	KUNIT_EXPECT_EQ(test, peer->segs_in, segs_in);
	KUNIT_EXPECT_EQ(test, lv->peer->sk->sk_state, TCP_ESTABLISHED);
	KUNIT_EXPECT_GE(test, leaving_count(lv, IW_MPA_CNT_held_back), 3);
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
	iw_mpa_takeover_undo(&lv->ep);
	KUNIT_EXPECT_NULL(test, lv->ep.takeover);
	FAKE_POLL(f, tcp_inq(lv->sk) == 4);
	FAKE_POLL(f, peer->snd_una == peer->write_seq);
	KUNIT_EXPECT_EQ(test, 0, iw_mpa_sock_send(lv->ms, "back", 4));
	peer_recv(f, lv->peer, buf, 4);
	leaving_read(lv, 4);
	leaving_close(lv);
	peer_expect_eof(f, lv->peer);
}

/*
 * Before the takeover an acknowledgment was due that TCP could not send for lack of memory. When
 * the takeover is undone TCP has to send it.
 */
static void undone_takeover_acknowledges_what_came_before(struct kunit *test)
{
	struct leaving *lv = leaving_open(test);
	struct fakes *f = test->priv;
	u32 segs_in;

	leaving_talk(lv, test);
	KUNIT_ASSERT_EQ(test, leaving_freeze(lv), IW_MPA_R_OK);
	lock_sock(lv->sk);
	tcp_sk(lv->sk)->rcv_wup--;
	release_sock(lv->sk);
	segs_in = tcp_sk(lv->peer->sk)->segs_in;
	iw_mpa_takeover_undo(&lv->ep);
	KUNIT_EXPECT_EQ(test, leaving_count(lv, IW_MPA_CNT_held_back), 0);
	FAKE_POLL(f, tcp_sk(lv->peer->sk)->segs_in != segs_in);
}

/*
 * The host's socket of a connection that a device has taken over keeps the 4-tuple in use until the
 * driver calls iw_mpa_stream_released(), even after the endpoint was released.
 */
static void four_tuple_is_held_until_released(struct kunit *test)
{
	struct leaving *lv = leaving_open(test);
	const struct tcp_sock *peer = tcp_sk(lv->peer->sk);
	struct iw_mpa_sock again = {};
	u32 segs_in;

	leaving_talk(lv, test);
	KUNIT_ASSERT_EQ(test, iw_mpa_offload_active(&lv->ep),
			IW_MPA_EV_HANDED_OFF);
	KUNIT_ASSERT_NOT_NULL(test, lv->takeover);
	segs_in = peer->segs_in;
	iw_mpa_sock_shutdown(lv->ms);
	KUNIT_EXPECT_EQ(test, lv->closed, 0);
	iw_mpa_offload_stop(&lv->ep, IW_MPA_R_ULP_CLOSE);
	/* After stop() nothing reports the peer's FIN: so the next call reports PEER_CLOSED. */
	iw_mpa_sock_shutdown(lv->ms);
	KUNIT_EXPECT_EQ(test, lv->closed, 1);
	leaving_release(lv);
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

/*
 * "ss -K" on the host's socket ends a connection that a device has taken over: TCP reports an
 * error, and the peer gets no RST.
 */
static void end_by_the_administrator_is_reported(struct kunit *test)
{
	struct leaving *lv = leaving_open(test);
	const struct tcp_sock *peer = tcp_sk(lv->peer->sk);
	u32 segs_in;

	leaving_talk(lv, test);
	KUNIT_ASSERT_EQ(test, iw_mpa_offload_active(&lv->ep), IW_MPA_EV_HANDED_OFF);
	segs_in = peer->segs_in;
	KUNIT_EXPECT_EQ(test, lv->failed, 0);
	tcp_abort(lv->sk, ECONNABORTED);
	KUNIT_EXPECT_EQ(test, lv->failed, ECONNABORTED);
	KUNIT_EXPECT_EQ(test, peer->segs_in, segs_in);
}

/* After a takeover no function that iw_mpa calls may make the host's TCP send a segment. */
static void endpoint_without_a_socket_does_nothing_to_tcp(struct kunit *test)
{
	struct leaving *lv = leaving_open(test);
	const struct tcp_sock *peer = tcp_sk(lv->peer->sk);
	u32 segs_in;

	leaving_talk(lv, test);
	KUNIT_ASSERT_EQ(test, iw_mpa_offload_active(&lv->ep), IW_MPA_EV_HANDED_OFF);
	segs_in = peer->segs_in;
	KUNIT_ASSERT_NULL(test, lv->ms->sock);
	KUNIT_EXPECT_EQ(test, iw_mpa_sock_send(lv->ms, "Terminate", 9), -EPIPE);
	KUNIT_EXPECT_EQ(test, iw_mpa_sock_discard(lv->ms, 1), 0);
	KUNIT_EXPECT_EQ(test, iw_mpa_sock_snd_nxt(lv->ms), 0);
	KUNIT_EXPECT_EQ(test, iw_mpa_sock_progress(lv->ms), 0);
	iw_mpa_offload_kick_rx(&lv->ep);
	iw_mpa_offload_stop(&lv->ep, IW_MPA_R_ULP_CLOSE);
	iw_mpa_sock_reset(lv->ms);
	iw_mpa_sock_unhook(lv->ms);
	KUNIT_EXPECT_EQ(test, lv->sk->sk_state, TCP_ESTABLISHED);
	KUNIT_EXPECT_EQ(test, peer->segs_in, segs_in);
	leaving_close(lv);
	KUNIT_EXPECT_STREQ(test, lv->log, "hold prepare open_tx stop");
}

static void device_that_goes_releases_all(struct kunit *test)
{
	struct leaving *lv = leaving_open(test);

	KUNIT_ASSERT_EQ(test, iw_mpa_offload_active(&lv->ep),
			IW_MPA_EV_HANDED_OFF);
	iw_mpa_offload_stop(&lv->ep, IW_MPA_R_DEVICE_GONE);
	leaving_release(lv);
	leaving_end_device(lv);
	KUNIT_EXPECT_EQ(test, leaving_count(lv, IW_MPA_CNT_tcp_released), 1);
	KUNIT_EXPECT_EQ(test, lv->peer->sk->sk_state, TCP_ESTABLISHED);
}

static void stream_behind_a_fin_is_refused(struct kunit *test)
{
	struct leaving *lv = leaving_open(test);

	peer_fin(lv->peer);
	FAKE_POLL((struct fakes *)test->priv, lv->sk->sk_state == TCP_CLOSE_WAIT);
	KUNIT_EXPECT_EQ(test, iw_mpa_offload_active(&lv->ep),
			IW_MPA_EV_PREPARE_FAILED);
	KUNIT_EXPECT_EQ(test, lv->ep.reason, IW_MPA_R_TCP_BUSY);
	KUNIT_EXPECT_NULL(test, lv->ep.takeover);
	KUNIT_EXPECT_TRUE(test, iw_mpa_offload_is_untouched(&lv->ep));
	KUNIT_EXPECT_STREQ(test, lv->log, "hold let_go");
}

/*
 * TCP options, and the sysctls for them. A connection of these tests uses all options, unless a
 * test says otherwise.
 */
static const struct {
	u8	option;
	u8	*sysctl;
} options[] = {
	{ IW_MPA_TCP_TIMESTAMPS, &init_net.ipv4.sysctl_tcp_timestamps },
	{ IW_MPA_TCP_WSCALE, &init_net.ipv4.sysctl_tcp_window_scaling },
	{ IW_MPA_TCP_SACK, &init_net.ipv4.sysctl_tcp_sack },
	{ IW_MPA_TCP_ECN, &init_net.ipv4.sysctl_tcp_ecn },
};

/*
 * Make a connection with all options except @without, and a device that lacks the options @lacks.
 */
static struct leaving *leaving_open_with(struct kunit *test, u8 without, u8 lacks)
{
	u8 old[ARRAY_SIZE(options)];
	struct leaving *lv;
	int i;

	for (i = 0; i < ARRAY_SIZE(options); i++) {
		old[i] = *options[i].sysctl;
		WRITE_ONCE(*options[i].sysctl, options[i].option != without);
	}
	lv = leaving_open(test);
	for (i = 0; i < ARRAY_SIZE(options); i++)
		WRITE_ONCE(*options[i].sysctl, old[i]);
	lv->ops.tcp_options = IW_MPA_TCP_ALL & ~lacks;
	KUNIT_ASSERT_EQ(test, iw_mpa_tcb_options(lv->sk),
			(u8)(IW_MPA_TCP_ALL & ~without));
	return lv;
}

/* For each TCP option: a device that lacks the option does not get a connection that uses it. */
static void option_that_the_device_lacks_is_refused(struct kunit *test)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(options); i++) {
		struct leaving *lv = leaving_open_with(test, 0, options[i].option);

		KUNIT_EXPECT_EQ(test, iw_mpa_offload_active(&lv->ep),
				IW_MPA_EV_PREPARE_FAILED);
		KUNIT_EXPECT_EQ(test, lv->ep.reason, IW_MPA_R_TCP_OPTION);
		KUNIT_EXPECT_STREQ(test, lv->log, "");
		leaving_close(lv);
	}
}

/*
 * The device lacks a TCP option, but its driver can use sockets: the host's TCP keeps the
 * connection.
 */
static void option_that_the_device_lacks_keeps_it_on_the_socket(struct kunit *test)
{
	struct fakes *f = test->priv;
	u8 buf[5];
	int i;

	for (i = 0; i < ARRAY_SIZE(options); i++) {
		struct leaving *lv = leaving_open_with(test, 0, options[i].option);

		f->drv.attach = leaving_attach;
		KUNIT_EXPECT_EQ(test, iw_mpa_offload_passive(&lv->ep, true, "Reply", 5),
				IW_MPA_EV_HANDED_OFF_FENCED);
		peer_recv(f, lv->peer, buf, 5);
		KUNIT_EXPECT_EQ(test, leaving_count(lv, IW_MPA_CNT_tcp_kept), 1);
		leaving_close(lv);
		KUNIT_EXPECT_STREQ(test, lv->log, "prepare_on_socket attach stop");
	}
}

/* A device may lack a TCP option that the connection does not use. */
static void option_that_was_not_agreed_on_is_no_reason(struct kunit *test)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(options); i++) {
		u8 option = options[i].option;
		struct leaving *lv = leaving_open_with(test, option, option);

		KUNIT_EXPECT_EQ(test, iw_mpa_offload_active(&lv->ep),
				IW_MPA_EV_HANDED_OFF);
		KUNIT_EXPECT_EQ(test, lv->tcb.options, (u8)(IW_MPA_TCP_ALL & ~option));
		if (option == IW_MPA_TCP_WSCALE)
			KUNIT_EXPECT_EQ(test, lv->tcb.snd_wscale | lv->tcb.rcv_wscale, 0);
		leaving_close(lv);
	}
}

/* Rules: E-9.2-8: the type that the driver is told to send */
static void device_sends_the_rtr_message(struct kunit *test)
{
	static const u8 types[] = { IW_MPA_RTR_SEND, IW_MPA_RTR_WRITE, IW_MPA_RTR_READ };
	int i;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		struct leaving *lv = leaving_open(test);

		lv->ep.params.initiator = true;
		lv->ep.params.p2p = true;
		lv->ep.params.rtr = types[i];
		lv->ep.params.rtr_single = true;
		KUNIT_EXPECT_EQ(test, iw_mpa_offload_active(&lv->ep), IW_MPA_EV_HANDED_OFF);
		KUNIT_EXPECT_EQ(test, lv->rtr, types[i]);
		KUNIT_EXPECT_FALSE(test, iw_mpa_offload_is_untouched(&lv->ep));
		leaving_close(lv);
		KUNIT_EXPECT_STREQ(test, lv->log, "hold prepare send_rtr stop");
	}
}

static void device_sends_the_reply(struct kunit *test)
{
	struct leaving *lv = leaving_open(test);
	const struct tcp_sock *peer = tcp_sk(lv->peer->sk);
	u32 segs_in;

	leaving_talk(lv, test);
	KUNIT_EXPECT_EQ(test, iw_mpa_offload_passive(&lv->ep, true, "Reply", 5),
			IW_MPA_EV_HANDED_OFF_FENCED);
	segs_in = peer->segs_in;
	KUNIT_EXPECT_EQ(test, leaving_count(lv, IW_MPA_CNT_tcp_taken_over), 1);
	KUNIT_EXPECT_EQ(test, iw_mpa_sock_send(&lv->ep.sock, "Terminate", 9), -EPIPE);
	KUNIT_EXPECT_FALSE(test, iw_mpa_offload_is_untouched(&lv->ep));
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
	KUNIT_EXPECT_EQ(test, iw_mpa_offload_passive(&lv->ep, true, "Reply", 5),
			IW_MPA_EV_ACCEPT_FAILED);
	KUNIT_EXPECT_EQ(test, lv->ep.reason, IW_MPA_R_DRIVER);
	KUNIT_EXPECT_TRUE(test, iw_mpa_offload_is_untouched(&lv->ep));
	KUNIT_EXPECT_EQ(test, 0, iw_mpa_sock_send(lv->ms, "Reject", 6));
	peer_recv(f, lv->peer, buf, 6);
	KUNIT_EXPECT_TRUE(test, list_empty(&lv->dev.takeovers->list));
	leaving_close(lv);
	peer_expect_eof(f, lv->peer);
	KUNIT_EXPECT_STREQ(test, lv->log, "hold prepare let_go");
}

static void early_octets_are_refused_unless_declared(struct kunit *test)
{
	struct leaving *lv = leaving_open(test);
	struct fakes *f = test->priv;

	peer_send(f, lv->peer, "xyz", 3);
	FAKE_POLL(f, tcp_inq(lv->sk) == 3);
	KUNIT_EXPECT_EQ(test, iw_mpa_offload_active(&lv->ep),
			IW_MPA_EV_PREPARE_FAILED);
	KUNIT_EXPECT_EQ(test, lv->ep.reason, IW_MPA_R_EARLY_DATA);
	KUNIT_EXPECT_STREQ(test, lv->log, "hold let_go");

	lv->dev.attr.caps |= IW_MPA_CAP_EARLY_RX;
	lv->ep.reason = IW_MPA_R_OK;
	KUNIT_EXPECT_EQ(test, iw_mpa_offload_active(&lv->ep),
			IW_MPA_EV_HANDED_OFF);
	KUNIT_EXPECT_EQ(test, lv->tcb.rx_len, 3);
	KUNIT_EXPECT_EQ(test, memcmp(lv->rx, "xyz", 3), 0);
}

static struct kunit_case takeover_cases[] = {
	KUNIT_CASE(record_agrees_with_the_peer),
	KUNIT_CASE(record_has_what_came_early),
	KUNIT_CASE(record_has_the_time_to_live),
	KUNIT_CASE(record_without_a_route),
	KUNIT_CASE(frame_leaves_no_page_behind),
	KUNIT_CASE(segment_under_way_is_a_reason),
	KUNIT_CASE(timers_of_a_frozen_socket_are_stopped),
	KUNIT_CASE(octets_behind_the_hold_are_not_for_tcp),
	KUNIT_CASE(late_keepalive_finds_nothing_to_do),
	KUNIT_CASE(undone_takeover_goes_on_with_keepalive),
	KUNIT_CASE(undone_takeover_has_no_keepalive_of_its_own),
	KUNIT_CASE(frozen_socket_is_silent),
	KUNIT_CASE(undone_takeover_leaves_no_trace),
	KUNIT_CASE(undone_takeover_acknowledges_what_came_before),
	KUNIT_CASE(four_tuple_is_held_until_released),
	KUNIT_CASE(end_by_the_administrator_is_reported),
	KUNIT_CASE(endpoint_without_a_socket_does_nothing_to_tcp),
	KUNIT_CASE(device_that_goes_releases_all),
	KUNIT_CASE(stream_behind_a_fin_is_refused),
	KUNIT_CASE(option_that_the_device_lacks_is_refused),
	KUNIT_CASE(option_that_the_device_lacks_keeps_it_on_the_socket),
	KUNIT_CASE(option_that_was_not_agreed_on_is_no_reason),
	KUNIT_CASE(device_sends_the_rtr_message),
	KUNIT_CASE(device_sends_the_reply),
	KUNIT_CASE(device_that_refuses_leaves_it_to_tcp),
	KUNIT_CASE(early_octets_are_refused_unless_declared),
	{}
};

static struct kunit_suite takeover_suite = {
	.name = "iw_mpa_takeover",
	.init = fakes_init,
	.exit = leaving_exit,
	.test_cases = takeover_cases,
};

kunit_test_suite(takeover_suite);

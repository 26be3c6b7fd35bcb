// SPDX-License-Identifier: GPL-2.0
/*
 * The hand-off of a stream to a driver (offload.c): which ops are called, in which order. Also how
 * an endpoint takes an accepted socket over from its listener.
 */

#include "device.h"
#include "ep.h"
#include "iw_mpa_fakes.h"
#include "offload.h"
#include "sock.h"

#include <linux/delay.h>
#include <linux/tcp.h>
#include <net/tcp.h>

/*
 * An endpoint with a connected socket, a device and a QP. The tests call functions of offload.c
 * directly; no events are handled.
 */
struct line {
	struct iw_mpa_ep	ep;
	struct iw_mpa_device	dev;
	struct iw_mpa_sock	*ms;
	struct socket		*peer;
	struct fake_qp		*qp;
};

static struct line *line_open(struct fakes *f)
{
	struct line *line = kunit_kzalloc(f->test, sizeof(*line), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(f->test, line);
	line->ms = &line->ep.sock;
	fake_ep_setup(&line->ep);
	line->peer = fake_sock_open(f, line->ms);
	line->qp = &f->qps[0];
	line->dev.ibdev = f->ibdev;
	line->dev.ops = &f->drv;
	line->dev.attr = f->attr;
	line->ep.dev = &line->dev;
	line->ep.config = f->config;
	line->ep.off.qp = &line->qp->ib;
	line->ep.params.crc = true;
	return line;
}

static void line_close(struct line *line)
{
	if (line->ep.sock.stream.qp)
		iw_mpa_offload_stop(&line->ep, IW_MPA_R_ULP_CLOSE);
	iw_mpa_sock_release(line->ms);
}

static enum iw_mpa_event line_active(struct line *line)
{
	line->ep.params.initiator = true;
	return iw_mpa_offload_active(&line->ep);
}

#define LINE_REPLY	"the Reply"
#define LINE_REPLY_LEN	9

static enum iw_mpa_event line_passive(struct line *line, bool fence)
{
	return iw_mpa_offload_passive(&line->ep, fence, LINE_REPLY, LINE_REPLY_LEN);
}

/* Read at most @len bytes of the peer. Return the number of bytes. */
static int line_read(struct line *line, size_t len)
{
	return iw_mpa_sock_discard(line->ms, len);
}

static const struct iw_mpa_sock_opts called_opts;

/*
 * Make a listener and a connection that it has accepted, but for which iw_mpa_sock_adopt() was not
 * called. Return the socket of the peer.
 */
static struct socket *called_open(struct kunit *test, struct iw_mpa_sock *listener,
				  struct socket **sock)
{
	struct fakes *f = test->priv;
	struct fake_id *fid = fake_id_create(f);
	struct iw_mpa_sock_opts opts = {
		.net = &init_net,
		.local = iw_mpa_addr(&fid->id.m_local_addr),
	};
	struct socket *peer;
	int err, tries = 0;

	((struct sockaddr_in *)&fid->id.m_local_addr)->sin_port = htons(20999);
	listener->report = fake_sock_ignore;
	KUNIT_ASSERT_EQ(test, 0, iw_mpa_sock_listen(listener, &opts, 4));
	peer = peer_connect(f, fid);
	/* The peer is connected when it has the SYN-ACK; its ACK may still be on its way. */
	while ((err = iw_mpa_sock_accept(listener, sock)) == -EAGAIN && tries++ < 1000)
		usleep_range(1000, 2000);
	KUNIT_ASSERT_EQ(test, 0, err);
	return peer;
}

/*
 * A BPF program may put a connection into a sockmap before accept(). The sockmap then uses
 * sk_user_data of the connection's socket, so iw_mpa_sock_adopt() must refuse that socket.
 */
static void sock_adopt_leaves_what_others_use(struct kunit *test)
{
	struct iw_mpa_sock listener = {}, ms = { .report = fake_sock_ignore };
	struct socket *sock;
	unsigned long marker;	/* aligned: sk_user_data has flags in low bits */

	called_open(test, &listener, &sock);
	rcu_assign_sk_user_data(sock->sk, &marker);
	KUNIT_EXPECT_EQ(test, -EBUSY,
			iw_mpa_sock_adopt(&ms, sock, &listener, &called_opts));
	KUNIT_EXPECT_PTR_EQ(test, sock->sk->sk_user_data, (void *)&marker);
	rcu_assign_sk_user_data(sock->sk, NULL);
	iw_mpa_sock_drop(sock, &listener);
	iw_mpa_sock_release(&listener);
}

static void others_data_ready(struct sock *sk)
{
}

/*
 * iw_mpa_sock_drop() closes a connection, but TCP may still call its callbacks: these must not be
 * functions of iw_mpa, whose module may be unloaded.
 */
static void sock_drop_gives_the_callbacks_back(struct kunit *test)
{
	struct iw_mpa_sock listener = {};
	struct socket *sock;
	struct sock *sk;
	int i;

	for (i = 0; i < 2; i++) {
		called_open(test, &listener, &sock);
		sk = sock->sk;
		KUNIT_EXPECT_FALSE(test, sk->sk_data_ready == listener.data_ready);
		KUNIT_EXPECT_FALSE(test, sk->sk_state_change == listener.state_change);
		KUNIT_EXPECT_FALSE(test, sk->sk_error_report == listener.error_report);
		if (i)
			sk->sk_data_ready = others_data_ready;
		sock_hold(sk);
		iw_mpa_sock_drop(sock, &listener);
		KUNIT_EXPECT_TRUE(test, sk->sk_data_ready ==
				  (i ? others_data_ready : listener.data_ready));
		KUNIT_EXPECT_TRUE(test, sk->sk_state_change == listener.state_change);
		KUNIT_EXPECT_TRUE(test, sk->sk_error_report == listener.error_report);
		sock_put(sk);
		iw_mpa_sock_release(&listener);
	}
}

/* What the peer has sent before iw_mpa adopts the connection */
static const struct before {
	const char	*desc;
	size_t		octets;
	bool		rst;
} before_cases[] = {
	{ "nothing", 0, false },
	{ "octets", 1, false },
	{ "reset", 0, true },
	{ "octets_and_reset", 1, true },
};

KUNIT_ARRAY_PARAM_DESC(before, before_cases, desc);

/* RST before the connection is adopted is reported as PEER_RESET, and not as PEER_CLOSED. */
static void sock_adopt_tells_of_the_end(struct kunit *test)
{
	struct iw_mpa_ep *ep = kunit_kzalloc(test, sizeof(*ep), GFP_KERNEL);
	const struct before *tc = test->param_value;
	struct iw_mpa_sock listener = {};
	struct fakes *f = test->priv;
	struct socket *sock, *peer;
	struct sock *sk;

	KUNIT_ASSERT_NOT_NULL(test, ep);
	fake_ep_setup(ep);
	iw_mpa_reader_init(&ep->reader, false, ep->frame);
	peer = called_open(test, &listener, &sock);
	peer_send(f, peer, "M", tc->octets);
	if (tc->rst)
		peer_rst(f, peer);
	FAKE_POLL(f, tcp_inq(sock->sk) == tc->octets &&
		  (!tc->rst || inet_sk_state_load(sock->sk) == TCP_CLOSE));
	ep->sock.report = iw_mpa_event_of_sock;
	KUNIT_ASSERT_EQ(test, 0, iw_mpa_sock_adopt(&ep->sock, sock, &listener, &called_opts));
	KUNIT_EXPECT_EQ(test, tc->rst, !!(ep->events & BIT(IW_MPA_EV_PEER_RESET)));
	KUNIT_EXPECT_FALSE(test, ep->events & BIT(IW_MPA_EV_PEER_CLOSED));
	if (tc->octets)
		KUNIT_EXPECT_EQ(test, IW_MPA_EV_NONE, iw_mpa_startup_read_request(ep));
	KUNIT_EXPECT_EQ(test, tc->octets, ep->reader.have);
	KUNIT_EXPECT_EQ(test, tc->rst ? IW_MPA_EV_PEER_RESET : IW_MPA_EV_NONE,
			iw_mpa_startup_read_request(ep));
	/* The accepted socket has inherited the listener's callbacks; unhooking sets TCP's own. */
	iw_mpa_sock_unhook(&ep->sock);
	sk = sock->sk;
	KUNIT_EXPECT_TRUE(test, sk->sk_data_ready == listener.data_ready);
	KUNIT_EXPECT_TRUE(test, sk->sk_state_change == listener.state_change);
	KUNIT_EXPECT_TRUE(test, sk->sk_error_report == listener.error_report);
	iw_mpa_sock_release(&ep->sock);
	iw_mpa_sock_release(&listener);
}

/* Rules: M-7.1-2: the order of the calls */
static void active_prepares_then_attaches(struct kunit *test)
{
	struct line *line = line_open(test->priv);
	struct sock *sk = line->ms->sock->sk;

	KUNIT_EXPECT_EQ(test, line_active(line), IW_MPA_EV_HANDED_OFF);
	KUNIT_EXPECT_STREQ(test, line->qp->log, "prepare attach open_tx");
	KUNIT_EXPECT_NOT_NULL(test, line->ep.sock.stream.qp);
	KUNIT_EXPECT_PTR_EQ(test, line->qp->ho.sock, line->ms->sock);
	KUNIT_EXPECT_PTR_EQ(test, line->qp->ho.ep, &line->ep);
	KUNIT_EXPECT_PTR_EQ(test, iw_mpa_sk_stream(sk)->qp, &line->qp->ib);
	line_close(line);
}

/* Rules: M-7.1-1: the sequence numbers */
static void active_gives_exact_sequence_numbers(struct kunit *test)
{
	struct line *line = line_open(test->priv);
	struct tcp_sock *peer = tcp_sk(line->peer->sk);
	u8 buf[12];

	/* both ends have sent bytes and read those of the other end */
	KUNIT_EXPECT_EQ(test, 0, iw_mpa_sock_send(line->ms, "request", 7));
	peer_recv(test->priv, line->peer, buf, 7);
	peer_send(test->priv, line->peer, "the reply", 9);
	KUNIT_EXPECT_EQ(test, 9, line_read(line, 9));

	KUNIT_EXPECT_EQ(test, line_active(line), IW_MPA_EV_HANDED_OFF);
	KUNIT_EXPECT_EQ(test, line->qp->ho.snd_nxt, peer->rcv_nxt);
	KUNIT_EXPECT_EQ(test, line->qp->ho.rcv_nxt, peer->write_seq);
	KUNIT_EXPECT_FALSE(test, line->qp->ho.rx_queued);
	line_close(line);
}

/* Rules: M-7.1-1: the sequence numbers */
static void passive_counts_the_reply(struct kunit *test)
{
	struct line *line = line_open(test->priv);
	u8 reply[LINE_REPLY_LEN];

	KUNIT_EXPECT_EQ(test, line_passive(line, true), IW_MPA_EV_HANDED_OFF_FENCED);
	KUNIT_EXPECT_STREQ(test, line->qp->log, "prepare attach");
	peer_recv(test->priv, line->peer, reply, sizeof(reply));
	KUNIT_EXPECT_EQ(test, memcmp(reply, LINE_REPLY, sizeof(reply)), 0);
	KUNIT_EXPECT_EQ(test, line->qp->ho.snd_nxt,
			tcp_sk(line->peer->sk)->rcv_nxt);
	line_close(line);
}

/* Wait until bytes have arrived: TCP over loopback may deliver them after the send has returned. */
static void line_await_octets(struct line *line, int octets)
{
	struct sock *sk = line->ms->sock->sk;
	int i;

	for (i = 0; i < 5 * HZ && tcp_inq(sk) < octets; i++)
		schedule_timeout_uninterruptible(1);
}

/* Rules: M-7.1.5-1: the reason, for a device that cannot start on queued bytes */
static void early_data_is_refused(struct kunit *test)
{
	struct line *line = line_open(test->priv);

	peer_send(test->priv, line->peer, "x", 1);
	line_await_octets(line, 1);
	KUNIT_EXPECT_EQ(test, line_active(line), IW_MPA_EV_PREPARE_FAILED);
	KUNIT_EXPECT_EQ(test, line->ep.reason, IW_MPA_R_EARLY_DATA);
	KUNIT_EXPECT_STREQ(test, line->qp->log, "");
	KUNIT_EXPECT_NULL(test, line->ep.sock.stream.qp);
	/* the byte is still in the socket */
	KUNIT_EXPECT_EQ(test, 1, line_read(line, 1));
	line_close(line);
}

/*
 * A byte that the device cannot take arrives while prepare runs: iw_mpa has to undo the hand-off by
 * calling stop.
 */
/* Rules: M-7.1.5-1: the reason, for a device that cannot start on queued bytes */
static void early_data_while_the_driver_prepares_is_refused(struct kunit *test)
{
	struct line *line = line_open(test->priv);

	line->qp->stop_rx = true;
	line->qp->speak = line->peer;
	KUNIT_EXPECT_EQ(test, line_passive(line, true), IW_MPA_EV_ACCEPT_FAILED);
	KUNIT_EXPECT_EQ(test, line->ep.reason, IW_MPA_R_EARLY_DATA);
	KUNIT_EXPECT_STREQ(test, line->qp->log, "prepare attach stop");
	KUNIT_EXPECT_NULL(test, line->ep.sock.stream.qp);
	line_close(line);
}

/* Rules: M-7.1.5-2: the driver gets rx_queued, and a sequence number before the early bytes */
static void early_data_is_told(struct kunit *test)
{
	struct fakes *f = test->priv;
	struct line *line = line_open(f);

	line->dev.attr.caps |= IW_MPA_CAP_EARLY_RX;
	line->qp->stop_rx = true;
	peer_send(f, line->peer, "xyz", 3);
	line_await_octets(line, 3);
	KUNIT_EXPECT_EQ(test, line_active(line), IW_MPA_EV_HANDED_OFF);
	KUNIT_EXPECT_TRUE(test, line->qp->ho.rx_queued);
	KUNIT_EXPECT_EQ(test, line->qp->ho.rcv_nxt + 3,
			tcp_sk(line->peer->sk)->write_seq);
	line_close(line);
}

/* RFC 9293 3.4: a FIN has a sequence number but is no byte, so it is no early data. */
static void fin_is_no_early_data(struct kunit *test)
{
	struct line *line = line_open(test->priv);

	peer_fin(line->peer);
	KUNIT_EXPECT_EQ(test, line_active(line), IW_MPA_EV_HANDED_OFF);
	KUNIT_EXPECT_FALSE(test, line->qp->ho.rx_queued);
	line_close(line);
}

static void prepare_that_fails_changes_nothing(struct kunit *test)
{
	struct line *line = line_open(test->priv);

	line->qp->fail[FAKE_PREPARE] = -ENOSPC;
	KUNIT_EXPECT_EQ(test, line_active(line), IW_MPA_EV_PREPARE_FAILED);
	KUNIT_EXPECT_EQ(test, line->ep.reason, IW_MPA_R_DRIVER);
	KUNIT_EXPECT_EQ(test, line->ep.err, -ENOSPC);
	KUNIT_EXPECT_TRUE(test, iw_mpa_offload_is_untouched(&line->ep));
	line_close(line);
	KUNIT_EXPECT_STREQ(test, line->qp->log, "prepare");
}

/* Rules: E-9.2-8: the type that the driver is told to send */
static void active_sends_rtr(struct kunit *test)
{
	struct line *line = line_open(test->priv);

	line->ep.params.p2p = true;
	line->ep.params.rtr = IW_MPA_RTR_READ;
	KUNIT_EXPECT_EQ(test, line_active(line), IW_MPA_EV_HANDED_OFF);
	KUNIT_EXPECT_EQ(test, line->qp->rtr, IW_MPA_RTR_READ);
	KUNIT_EXPECT_FALSE(test, iw_mpa_offload_is_untouched(&line->ep));
	line_close(line);
	KUNIT_EXPECT_STREQ(test, line->qp->log, "prepare attach send_rtr stop");
}

static void active_rtr_that_fails_is_told(struct kunit *test)
{
	struct line *line = line_open(test->priv);

	line->ep.params.p2p = true;
	line->ep.params.rtr = IW_MPA_RTR_READ;
	line->qp->fail[FAKE_SEND_RTR] = -EPIPE;
	KUNIT_EXPECT_EQ(test, line_active(line), IW_MPA_EV_RTR_FAILED);
	KUNIT_EXPECT_EQ(test, line->ep.reason, IW_MPA_R_DRIVER);
	KUNIT_EXPECT_TRUE(test, iw_mpa_offload_is_untouched(&line->ep));
	line_close(line);
	KUNIT_EXPECT_STREQ(test, line->qp->log, "prepare attach send_rtr stop");
}

/* For a responder @rtr is the set of types that may arrive, not a type to send. */
/* Rules: M-7.1.2-10: open_tx is not called */
static void passive_p2p_keeps_tx_closed(struct kunit *test)
{
	struct line *line = line_open(test->priv);

	line->ep.params.p2p = true;
	line->ep.params.rtr = IW_MPA_RTR_ALL;
	KUNIT_EXPECT_EQ(test, line_passive(line, false), IW_MPA_EV_HANDED_OFF_RTR);
	iw_mpa_offload_open_tx(&line->ep);
	line_close(line);
	KUNIT_EXPECT_STREQ(test, line->qp->log, "prepare attach open_tx stop");
}

static void passive_without_fence_opens_tx(struct kunit *test)
{
	struct line *line = line_open(test->priv);

	KUNIT_EXPECT_EQ(test, line_passive(line, false), IW_MPA_EV_HANDED_OFF);
	line_close(line);
	KUNIT_EXPECT_STREQ(test, line->qp->log, "prepare attach open_tx stop");
}

static void reply_that_fails_is_told(struct kunit *test)
{
	struct line *line = line_open(test->priv);

	WRITE_ONCE(line->ms->sock->sk->sk_sndbuf, 0);
	KUNIT_EXPECT_EQ(test, line_passive(line, true), IW_MPA_EV_REPLY_FAILED);
	KUNIT_EXPECT_EQ(test, line->ep.reason, IW_MPA_R_SEND);
	KUNIT_EXPECT_EQ(test, line->ep.err, -EAGAIN);
	line_close(line);
	KUNIT_EXPECT_STREQ(test, line->qp->log, "prepare attach stop");
}

/*
 * Until iw_mpa calls stop, TCP has reported received bytes to the driver alone, and does not report
 * them again. So after stop iw_mpa has to check for unread bytes.
 */
static void stop_takes_the_callbacks_back(struct kunit *test)
{
	struct line *line = line_open(test->priv);
	struct sock *sk = line->ms->sock->sk;
	void (*ours)(struct sock *sk) = sk->sk_data_ready;

	KUNIT_EXPECT_EQ(test, line_passive(line, true), IW_MPA_EV_HANDED_OFF_FENCED);
	iw_mpa_offload_kick_rx(&line->ep);
	line->qp->stop_rx = true;	/* the driver does not read */
	peer_send(test->priv, line->peer, "x", 1);
	FAKE_POLL((struct fakes *)test->priv, tcp_inq(sk) == 1);
	iw_mpa_offload_stop(&line->ep, IW_MPA_R_STREAM);
	KUNIT_EXPECT_EQ(test, line->qp->why, IW_MPA_R_STREAM);
	KUNIT_ASSERT_NOT_NULL(test, iw_mpa_sk_stream(sk));
	KUNIT_EXPECT_NULL(test, iw_mpa_sk_stream(sk)->qp);
	KUNIT_EXPECT_NULL(test, iw_mpa_sk_stream(sk)->priv);
	KUNIT_EXPECT_PTR_EQ(test, sk->sk_data_ready, ours);
	KUNIT_EXPECT_PTR_EQ(test, sk->sk_write_space, line->ms->stream.write_space);
	line->ms->report = iw_mpa_event_of_sock;
	iw_mpa_sock_shutdown(line->ms);
	KUNIT_EXPECT_TRUE(test, line->ep.events & BIT(IW_MPA_EV_READABLE));
	line_close(line);
	KUNIT_EXPECT_STREQ(test, line->qp->log, "prepare attach kick_rx stop");
}

static void passive_without_attach_leaves_the_socket(struct kunit *test)
{
	struct fakes *f = test->priv;
	struct line *line = line_open(f);

	f->drv.attach = NULL;
	f->drv.kick_rx = NULL;
	KUNIT_EXPECT_EQ(test, line_passive(line, true), IW_MPA_EV_HANDED_OFF_FENCED);
	iw_mpa_offload_kick_rx(&line->ep);
	/* The device has its own TCP, so the socket's sequence numbers prove nothing. */
	KUNIT_EXPECT_FALSE(test, iw_mpa_offload_is_untouched(&line->ep));
	line_close(line);
	KUNIT_EXPECT_STREQ(test, line->qp->log, "prepare stop");
}

static struct kunit_case offload_cases[] = {
	KUNIT_CASE(sock_adopt_leaves_what_others_use),
	KUNIT_CASE(sock_drop_gives_the_callbacks_back),
	KUNIT_CASE_PARAM(sock_adopt_tells_of_the_end, before_gen_params),
	KUNIT_CASE(active_prepares_then_attaches),
	KUNIT_CASE(active_gives_exact_sequence_numbers),
	KUNIT_CASE(passive_counts_the_reply),
	KUNIT_CASE(early_data_is_refused),
	KUNIT_CASE(early_data_while_the_driver_prepares_is_refused),
	KUNIT_CASE(early_data_is_told),
	KUNIT_CASE(fin_is_no_early_data),
	KUNIT_CASE(prepare_that_fails_changes_nothing),
	KUNIT_CASE(active_sends_rtr),
	KUNIT_CASE(active_rtr_that_fails_is_told),
	KUNIT_CASE(passive_p2p_keeps_tx_closed),
	KUNIT_CASE(passive_without_fence_opens_tx),
	KUNIT_CASE(reply_that_fails_is_told),
	KUNIT_CASE(stop_takes_the_callbacks_back),
	KUNIT_CASE(passive_without_attach_leaves_the_socket),
	{}
};

static struct kunit_suite offload_suite = {
	.name = "iw_mpa_offload",
	.init = fakes_init,
	.exit = fakes_exit,
	.test_cases = offload_cases,
};

kunit_test_suite(offload_suite);

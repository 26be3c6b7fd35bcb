// SPDX-License-Identifier: GPL-2.0
/*
 * RX over real TCP: a QP has a socket on the loopback device. A second QP makes FPDUs in memory,
 * and each test sends their bytes through the peer's socket, at times and in pieces of its choice.
 */

#include "srnic_single.h"

#include <linux/delay.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "state.h"
#include "iw_mpa_quiet.h"
#include "rx.h"
#include "../srnic/mem.h"	/* srnic's, by its path: user mode Linux has a mem.h, too */

#define SOCKET_LEN		100	/* bytes of a Send */
#define SOCKET_PATIENCE_MS	5000
#define SOCKET_WHILE_MS		50
#define SOCKET_SMALL_RCVBUF	4096	/* less than the longest FPDU */

/* The sockets of a test */
struct socket_world {
	struct iw_mpa_stream	stream;		/* what sk_user_data points to */
	struct socket		*peer;		/* socket at the other end */
	struct socket		*sock;		/* socket of the QP */
	void			*user_data;	/* sk_user_data before the test */
	/* TCP's own sk_data_ready, restored when the stream ends */
	void			(*data_ready)(struct sock *sk);
	/* TCP's own sk_write_space, restored when the stream ends */
	void			(*write_space)(struct sock *sk);
};

static struct socket_world socket_world;

static const struct pair_opts socket_opts[] = {
	{ .crc = true, .emss = 1448, .ord = 2 },
	{ .crc = true, .emss = 1448, .ord = 2, .markers = { true, true } },
};

static void socket_desc(const struct pair_opts *opts, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "markers_%d", opts->markers[0]);
}

KUNIT_ARRAY_PARAM(socket, socket_opts, socket_desc);

/* Give the QP, end 0 of the pair, a stream on a socket by prepare and attach, as iw_mpa does. */
static struct srnic_qp *socket_begin(struct kunit *test, const struct pair_opts *opts, int rcvbuf)
{
	const struct iw_mpa_params params = {
		.initiator = true, .crc = opts->crc, .ird = PAIR_IRD, .ord = opts->ord,
		.tx_markers = opts->markers[0], .rx_markers = opts->markers[1],
	};
	struct socket_world *w = &socket_world;
	struct iw_mpa_handoff ho = { .params = &params };
	struct srnic_qp *qp = single.qp;
	struct sock *sk;

	pair_start(single.p, opts);
	srnic_driver_ops.stop(&qp->ibqp, IW_MPA_R_ULP_CLOSE);
	qp->state = SRNIC_IDLE;
	single_connect(test, &w->peer, &w->sock, rcvbuf);
	sk = w->sock->sk;
	ho.sock = w->sock;
	ho.rcv_nxt = tcp_sk(sk)->rcv_nxt;
	KUNIT_ASSERT_EQ(test, srnic_driver_ops.prepare(&qp->ibqp, &ho), 0);
	write_lock_bh(&sk->sk_callback_lock);
	w->user_data = sk->sk_user_data;
	w->data_ready = sk->sk_data_ready;
	w->write_space = sk->sk_write_space;
	w->stream = (struct iw_mpa_stream) { .qp = &qp->ibqp, .write_space = w->write_space };
	sk->sk_user_data = &w->stream;
	srnic_driver_ops.attach(&qp->ibqp, sk, &w->stream);
	write_unlock_bh(&sk->sk_callback_lock);
	/*
	 * Keep srnic's sender from running: after a fault of the stream it would pass the QP's
	 * endpoint to iw_mpa_stream_down(), and in these tests the QP has no endpoint.
	 */
	mutex_lock(&qp->tx.lock);
	WRITE_ONCE(qp->tx.state, SRNIC_TX_CLOSED);
	mutex_unlock(&qp->tx.lock);
	return qp;
}

/* End the stream as iw_mpa does: remove srnic's callbacks from the socket, then call stop. */
static void socket_stop(enum iw_mpa_reason why)
{
	struct socket_world *w = &socket_world;
	struct sock *sk = w->sock->sk;

	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_user_data = w->user_data;
	sk->sk_data_ready = w->data_ready;
	sk->sk_write_space = w->write_space;
	w->stream.priv = NULL;
	write_unlock_bh(&sk->sk_callback_lock);
	srnic_driver_ops.stop(&single.qp->ibqp, why);
}

static int socket_init(struct kunit *test)
{
	memset(&socket_world, 0, sizeof(socket_world));
	return single_init(test);
}

static void socket_exit(struct kunit *test)
{
	struct socket_world *w = &socket_world;

	if (single.qp && single.qp->tx.sock)
		socket_stop(IW_MPA_R_ULP_CLOSE);
	single_exit(test);
	if (w->sock)
		sock_release(w->sock);
	if (w->peer)
		sock_release(w->peer);
}

/* Send the first @len bytes of end 1's wire by the peer's socket */
static void socket_feed(struct kunit *test, u32 len)
{
	struct pair_end *e = &single.p->end[1];
	struct kvec vec = { .iov_base = e->wire, .iov_len = len };
	struct msghdr msg = {};

	KUNIT_ASSERT_LE(test, len, e->wire_len);
	KUNIT_ASSERT_EQ(test, kernel_sendmsg(socket_world.peer, &msg, &vec, 1, len), (int)len);
	memmove(e->wire, e->wire + len, e->wire_len - len);
	e->wire_len -= len;
	e->wire_pos += len;
}

/* Put a Send of @len bytes on end 1's wire, and post a receive for it at end 0. */
static void socket_post(struct kunit *test, u64 id, u32 len)
{
	struct pair_end *to = &single.p->end[0], *from = &single.p->end[1];
	struct ib_sge sge = pair_sge(from->mem, len);
	const struct ib_send_wr wr = { .opcode = IB_WR_SEND, .sg_list = &sge, .num_sge = 1 };
	u32 i;

	for (i = 0; i < len; i++)
		from->mem[i] = i * 7 + (i >> 8) + id;
	memset(to->mem, 0xee, len);
	pair_post_recv(to, id, to->mem, len);
	KUNIT_ASSERT_EQ(test, pair_post(from, &wr), 0);
	pair_send(single.p, 1);
}

static bool socket_poll(const u32 *value, u32 want)
{
	int ms;

	for (ms = 0; ms < SOCKET_PATIENCE_MS && READ_ONCE(*value) != want; ms += 20)
		msleep(20);
	return READ_ONCE(*value) == want;
}

static void socket_expect_arrival(struct kunit *test, u64 id, u32 len)
{
	struct pair_end *to = &single.p->end[0];

	KUNIT_ASSERT_TRUE(test, socket_poll(&to->rcq.put, to->rcq.get + 1));
	pair_expect_wc(single.p, &to->rcq, id, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, memcmp(to->mem, single.p->end[1].mem, len), 0);
	KUNIT_EXPECT_EQ(test, to->qp->fault.err, SRNIC_ERR_NONE);
}

/* Expect that no receive completes within SOCKET_WHILE_MS */
static void socket_expect_nothing(struct kunit *test)
{
	iw_mpa_quiet(SOCKET_WHILE_MS);
	pair_expect_no_wc(single.p, &single.p->end[0].rcq);
}

/* Sends of different lengths arrive, in whatever pieces TCP delivers them. */
static void socket_sends_arrive(struct kunit *test)
{
	static const u32 lens[] = { 0, 1, 490, 3000, 60000 };
	int i;

	socket_begin(test, test->param_value, 0);
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		socket_post(test, i, lens[i]);
		socket_feed(test, single.p->end[1].wire_len);
		socket_expect_arrival(test, i, lens[i]);
	}
}

/* RX processes an FPDU as soon as its last byte has arrived, and not before. */
static void socket_fpdu_taken_when_whole(struct kunit *test)
{
	struct srnic_qp *qp = socket_begin(test, &socket_opts[0], 0);
	u32 n;

	for (n = 1; n < 30; n += 4) {
		socket_post(test, n, SOCKET_LEN);
		socket_feed(test, n);
		socket_expect_nothing(test);
		socket_feed(test, single.p->end[1].wire_len - 1);
		socket_expect_nothing(test);
		KUNIT_EXPECT_EQ(test, tcp_inq(qp->rx.sk) + 1, qp->rx.need);
		socket_feed(test, 1);
		socket_expect_arrival(test, n, SOCKET_LEN);
		KUNIT_EXPECT_EQ(test, tcp_inq(qp->rx.sk), 0);
	}
}

/*
 * An FPDU is longer than TCP's receive window, which closes before the FPDU is whole: RX collects
 * it in a buffer.
 */
static void socket_fpdu_longer_than_the_window_arrives(struct kunit *test)
{
	static const struct pair_opts jumbo = { .crc = true, .emss = 65000, .ord = 2 };
	struct srnic_qp *qp = socket_begin(test, &jumbo, SOCKET_SMALL_RCVBUF);
	int i;

	for (i = 0; i < 3; i++) {
		socket_post(test, i, 60000);
		socket_feed(test, single.p->end[1].wire_len);
		socket_expect_arrival(test, i, 60000);
		KUNIT_EXPECT_NULL(test, qp->rx.part);
	}
}

/* A FIN of the peer is no error after a whole FPDU, but is one within an FPDU. */
static void socket_closed_behind_an_fpdu(struct kunit *test)
{
	struct srnic_qp *qp = socket_begin(test, &socket_opts[0], 0);

	socket_post(test, 1, SOCKET_LEN);
	socket_feed(test, single.p->end[1].wire_len);
	socket_expect_arrival(test, 1, SOCKET_LEN);
	srnic_rx_look(&qp->ibqp);
	KUNIT_EXPECT_FALSE(test, qp->rx.ended);
	kernel_sock_shutdown(socket_world.peer, SHUT_WR);
	iw_mpa_quiet(SOCKET_WHILE_MS);
	srnic_rx_look(&qp->ibqp);
	KUNIT_EXPECT_TRUE(test, qp->rx.ended);
	KUNIT_EXPECT_EQ(test, qp->fault.err, SRNIC_ERR_NONE);
	srnic_rx_look(&qp->ibqp);
	KUNIT_EXPECT_EQ(test, qp->fault.err, SRNIC_ERR_NONE);
	socket_stop(IW_MPA_R_PEER_CLOSED);
	KUNIT_EXPECT_EQ(test, qp->fault.err, SRNIC_ERR_NONE);
}

static void socket_closed_within_an_fpdu(struct kunit *test)
{
	struct srnic_qp *qp = socket_begin(test, &socket_opts[0], 0);

	socket_post(test, 1, SOCKET_LEN);
	socket_feed(test, single.p->end[1].wire_len - 1);
	kernel_sock_shutdown(socket_world.peer, SHUT_WR);
	iw_mpa_quiet(SOCKET_WHILE_MS);
	srnic_rx_look(&qp->ibqp);
	KUNIT_EXPECT_TRUE(test, qp->rx.ended);
	KUNIT_EXPECT_EQ(test, qp->fault.err, SRNIC_ERR_STREAM);
	socket_expect_nothing(test);
}

/*
 * After the peer's FIN no Read Response can arrive. So in the sender's state FINISHING, in which it
 * may wait for one, RX has to queue the sender's work item; in FINISHED RX must not.
 */
static void socket_end_wakes_the_sender(struct kunit *test, bool awaited)
{
	struct srnic_qp *qp = socket_begin(test, &socket_opts[0], 0);
	u8 state = qp->tx.state;

	kernel_sock_shutdown(socket_world.peer, SHUT_WR);
	iw_mpa_quiet(SOCKET_WHILE_MS);
	cancel_work_sync(&qp->tx.work);
	mutex_lock(&qp->tx.lock);	/* keeps the sender's work item from running */
	WRITE_ONCE(qp->tx.state, awaited ? SRNIC_TX_FINISHING : SRNIC_TX_FINISHED);
	srnic_rx_look(&qp->ibqp);
	KUNIT_EXPECT_TRUE(test, qp->rx.ended);
	KUNIT_EXPECT_EQ(test, !!work_busy(&qp->tx.work), awaited);
	WRITE_ONCE(qp->tx.state, state);
	mutex_unlock(&qp->tx.lock);
	flush_work(&qp->tx.work);
	socket_stop(IW_MPA_R_PEER_CLOSED);
}

static void socket_end_wakes_a_sender_that_waits(struct kunit *test)
{
	socket_end_wakes_the_sender(test, true);
}

static void socket_end_leaves_a_sender_alone(struct kunit *test)
{
	socket_end_wakes_the_sender(test, false);
}

static void socket_expect_dropped(struct kunit *test, struct srnic_qp *qp)
{
	socket_post(test, 1, SOCKET_LEN);
	socket_feed(test, single.p->end[1].wire_len);
	socket_expect_nothing(test);
	KUNIT_EXPECT_EQ(test, tcp_inq(qp->rx.sk), 0);
	KUNIT_EXPECT_EQ(test, qp->rq.get, 0);
}

/* RX drops bytes for a QP that its ULP has brought to ERR, or whose stream has failed. */
static void socket_dropped_behind_abrupt_end(struct kunit *test)
{
	struct srnic_qp *qp = socket_begin(test, &socket_opts[0], 0);

	WRITE_ONCE(qp->state, SRNIC_ABORTED);
	socket_expect_dropped(test, qp);
}

static void socket_dropped_behind_fault(struct kunit *test)
{
	struct srnic_qp *qp = socket_begin(test, &socket_opts[0], 0);

	srnic_fail(qp, SRNIC_ERR_STREAM);
	socket_expect_dropped(test, qp);
}

/*
 * Bytes that are an error: an FPDU with a wrong CRC, and urgent data, whose byte TCP leaves out of
 * the stream
 */
static const struct socket_bad {
	const char	*desc;
	int		flags;	/* of the call that sends the bytes */
	enum srnic_err	err;
} socket_bads[] = {
	{ "FPDU", 0, SRNIC_ERR_CRC },
	{ "urgent data", MSG_OOB, SRNIC_ERR_URGENT },
};

KUNIT_ARRAY_PARAM_DESC(socket_bad, socket_bads, desc);

/* RX finds an error, and runs the sender for the Terminate message. */
static void socket_bad_bytes_wake_the_sender(struct kunit *test)
{
	const struct socket_bad *row = test->param_value;
	struct srnic_qp *qp = socket_begin(test, &socket_opts[0], 0);
	u8 bytes[8] = {};
	struct kvec vec = { .iov_base = bytes, .iov_len = sizeof(bytes) };
	struct msghdr msg = { .msg_flags = row->flags };
	u64 turns;

	flush_work(&qp->tx.work);
	turns = pair_count(single.p, SRNIC_CNT_tx_work);
	KUNIT_ASSERT_EQ(test, kernel_sendmsg(socket_world.peer, &msg, &vec, 1, sizeof(bytes)),
			(int)sizeof(bytes));
	KUNIT_EXPECT_TRUE(test, socket_poll((u32 *)&qp->fault.err, row->err));
	flush_work(&qp->tx.work);
	KUNIT_EXPECT_GT(test, pair_count(single.p, SRNIC_CNT_tx_work), turns);
}

/* TCP's receive queue lacks bytes that its sequence numbers count: the stream ends (UNREADABLE). */
static void socket_unreadable_ends_the_stream(struct kunit *test)
{
	struct srnic_qp *qp = socket_begin(test, &socket_opts[0], 0);
	struct sock *sk = qp->rx.sk;

	lock_sock(sk);
	tcp_sk(sk)->copied_seq -= 5;
	srnic_rx_run(qp, sk, U32_MAX);
	tcp_sk(sk)->copied_seq += 5;
	release_sock(sk);
	KUNIT_EXPECT_EQ(test, qp->fault.err, SRNIC_ERR_UNREADABLE);
	KUNIT_EXPECT_EQ(test, qp->rx.need, 0);
}

/*
 * IP may reassemble a segment as an skb whose frag_list has skbs with a frag_list of their own. RX
 * cannot read these: it ends the stream, and drops the bytes of the segment, so that TCP's window
 * does not close.
 */
static void socket_parts_of_parts_are_unreadable(struct kunit *test)
{
	struct sk_buff *part = alloc_skb(0, GFP_KERNEL), *nested = alloc_skb(0, GFP_KERNEL);
	struct srnic_qp *qp = socket_begin(test, &socket_opts[0], 0);
	struct sock *sk = qp->rx.sk;
	struct kvec half = { .iov_base = "", .iov_len = 1 };	/* half of a ULPDU_Length */
	u32 begin = READ_ONCE(tcp_sk(sk)->rcv_nxt);
	struct msghdr msg = {};
	struct sk_buff *skb;

	KUNIT_ASSERT_NOT_NULL(test, part);
	KUNIT_ASSERT_NOT_NULL(test, nested);
	KUNIT_ASSERT_EQ(test, kernel_sendmsg(socket_world.peer, &msg, &half, 1, 1), 1);
	KUNIT_ASSERT_TRUE(test, socket_poll(&tcp_sk(sk)->rcv_nxt, begin + 1));
	lock_sock(sk);
	skb = skb_peek(&sk->sk_receive_queue);
	skb_shinfo(skb)->frag_list = part;
	qp->rx.need = 0;	/* check again without new bytes */
	srnic_rx_run(qp, sk, U32_MAX);
	KUNIT_EXPECT_EQ(test, qp->fault.err, SRNIC_ERR_NONE);
	release_sock(sk);
	/* TCP does not coalesce this byte with the first, whose segment has a frag_list. */
	KUNIT_ASSERT_EQ(test, kernel_sendmsg(socket_world.peer, &msg, &half, 1, 1), 1);
	KUNIT_ASSERT_TRUE(test, socket_poll(&tcp_sk(sk)->rcv_nxt, begin + 2));
	lock_sock(sk);
	KUNIT_EXPECT_PTR_NE(test, skb_peek_tail(&sk->sk_receive_queue), skb);
	skb_shinfo(skb)->frag_list = NULL;
	skb_shinfo(skb_peek_tail(&sk->sk_receive_queue))->frag_list = part;
	skb_shinfo(part)->frag_list = nested;
	qp->rx.need = 0;
	srnic_rx_run(qp, sk, U32_MAX);
	KUNIT_EXPECT_EQ(test, qp->fault.err, SRNIC_ERR_UNREADABLE);
	KUNIT_EXPECT_EQ(test, tcp_inq(sk), 0);
	KUNIT_EXPECT_PTR_EQ(test, skb_peek(&sk->sk_receive_queue), NULL);
	release_sock(sk);
}

static void socket_set_priv(void *priv)
{
	struct sock *sk = socket_world.sock->sk;

	write_lock_bh(&sk->sk_callback_lock);
	socket_world.stream.priv = priv;
	write_unlock_bh(&sk->sk_callback_lock);
}

/* RX stops after a budget of bytes, so that other work can run: its work item reads the rest. */
static void socket_beyond_the_budget_taken_later(struct kunit *test)
{
	struct srnic_qp *qp = socket_begin(test, &socket_opts[0], 0);
	struct sock *sk = qp->rx.sk;
	int i;

	socket_set_priv(NULL);
	for (i = 0; i < 3; i++)
		socket_post(test, i, SOCKET_LEN);
	socket_feed(test, single.p->end[1].wire_len);
	iw_mpa_quiet(SOCKET_WHILE_MS);
	socket_set_priv(qp);
	lock_sock(sk);
	srnic_rx_run(qp, sk, SOCKET_LEN + 1);
	KUNIT_EXPECT_EQ(test, single.p->end[0].rcq.put, 1);
	release_sock(sk);
	KUNIT_EXPECT_TRUE(test, socket_poll(&single.p->end[0].rcq.put, 3));
	/* A later run of RX may find nothing to read. */
	lock_sock(sk);
	srnic_rx_run(qp, sk, U32_MAX);
	release_sock(sk);
	KUNIT_EXPECT_EQ(test, qp->fault.err, SRNIC_ERR_NONE);
	KUNIT_EXPECT_EQ(test, pair_count(single.p, SRNIC_CNT_rx_deferred), 1);
}

/*
 * If the host is short of memory TCP may be unable to hold a whole FPDU. RX waits a moment for the
 * rest of the FPDU, since a buffer to collect the FPDU in would take more memory. Only if the rest
 * does not arrive RX uses such a buffer.
 */
static void socket_fpdu_gets_time_to_come_under_pressure(struct kunit *test)
{
	struct srnic_qp *qp = socket_begin(test, &socket_opts[0], 0);
	long low = xchg(&sysctl_tcp_mem[0], 0), pressure = xchg(&sysctl_tcp_mem[1], 0);
	struct pair_end *from = &single.p->end[1];
	struct sock *sk = qp->rx.sk;
	u32 half;
	int i;

	WRITE_ONCE(tcp_memory_pressure, 1);
	for (i = 0; i < 2; i++) {
		socket_post(test, i, SOCKET_LEN);
		half = from->wire_len / 2;
		socket_set_priv(NULL);
		socket_feed(test, half);
		iw_mpa_quiet(SOCKET_WHILE_MS);
		socket_set_priv(qp);
		lock_sock(sk);
		/* With softirqs off the timer of RX's work item cannot expire: there is one CPU. */
		local_bh_disable();
		srnic_rx_run(qp, sk, U32_MAX);
		KUNIT_EXPECT_TRUE(test, timer_pending(&qp->rx.work.timer));
		if (!i)
			cancel_delayed_work(&qp->rx.work);	/* the rest arrives in time */
		local_bh_enable();
		release_sock(sk);
		if (i)
			KUNIT_EXPECT_TRUE(test, socket_poll(&qp->rx.part_len, half));
		socket_feed(test, from->wire_len);
		socket_expect_arrival(test, i, SOCKET_LEN);
		KUNIT_EXPECT_EQ(test, pair_count(single.p, SRNIC_CNT_rx_copied_out), i);
	}
	sysctl_tcp_mem[0] = low;
	sysctl_tcp_mem[1] = pressure;
	WRITE_ONCE(tcp_memory_pressure, 0);
}

/*
 * If there is no memory for a buffer to collect an FPDU, RX's work item is queued again, to retry.
 */
static void socket_without_memory_asked_again(struct kunit *test)
{
	struct srnic_qp *qp = socket_begin(test, &socket_opts[0], 0);
	struct sock *sk = qp->rx.sk;

	lock_sock(sk);
	qp->rx.part_size = U32_MAX;	/* no allocation is so large */
	release_sock(sk);
	queue_delayed_work(srnic_wq, &qp->rx.work, 0);
	flush_delayed_work(&qp->rx.work);
	KUNIT_EXPECT_GE(test, pair_count(single.p, SRNIC_CNT_rx_no_memory), 1);
	KUNIT_EXPECT_TRUE(test, delayed_work_pending(&qp->rx.work));
	lock_sock(sk);
	KUNIT_EXPECT_NULL(test, qp->rx.part);
	qp->rx.part_size = 0;
	release_sock(sk);
	socket_post(test, 1, SOCKET_LEN);
	socket_feed(test, single.p->end[1].wire_len);
	socket_expect_arrival(test, 1, SOCKET_LEN);
	KUNIT_EXPECT_EQ(test, pair_count(single.p, SRNIC_CNT_rx_deferred), 0);
}

/* A new stream resets RX: an initiator awaits no RTR message, though the stream before did. */
static void socket_rx_begins_anew(struct kunit *test)
{
	const struct iw_mpa_params params = { .rtr = IW_MPA_RTR_ALL };
	const struct iw_mpa_handoff ho = { .params = &params, .sock = single.p->sock };
	struct srnic_qp *qp = single.qp;

	qp->params = params;
	srnic_rx_start(qp, &ho);
	KUNIT_EXPECT_EQ(test, qp->rx.rtr, IW_MPA_RTR_ALL);
	qp->params.initiator = true;
	srnic_rx_start(qp, &ho);
	KUNIT_EXPECT_EQ(test, qp->rx.rtr, 0);
}

static struct kunit_case socket_cases[] = {
	KUNIT_CASE_PARAM(socket_sends_arrive, socket_gen_params),
	KUNIT_CASE(socket_fpdu_taken_when_whole),
	KUNIT_CASE(socket_fpdu_longer_than_the_window_arrives),
	KUNIT_CASE(socket_fpdu_gets_time_to_come_under_pressure),
	KUNIT_CASE(socket_closed_behind_an_fpdu),
	KUNIT_CASE(socket_end_wakes_a_sender_that_waits),
	KUNIT_CASE(socket_end_leaves_a_sender_alone),
	KUNIT_CASE(socket_closed_within_an_fpdu),
	KUNIT_CASE(socket_dropped_behind_abrupt_end),
	KUNIT_CASE(socket_dropped_behind_fault),
	KUNIT_CASE_PARAM(socket_bad_bytes_wake_the_sender, socket_bad_gen_params),
	KUNIT_CASE(socket_unreadable_ends_the_stream),
	KUNIT_CASE(socket_parts_of_parts_are_unreadable),
	KUNIT_CASE(socket_beyond_the_budget_taken_later),
	KUNIT_CASE(socket_without_memory_asked_again),
	KUNIT_CASE(socket_rx_begins_anew),
	{}
};

static struct kunit_suite socket_suite = {
	.name = "srnic_socket",
	.init = socket_init,
	.exit = socket_exit,
	.test_cases = socket_cases,
};

kunit_test_suite(socket_suite);

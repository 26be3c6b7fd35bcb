// SPDX-License-Identifier: GPL-2.0
/* Tests of srnic's ops for iw_mpa: prepare() and attach() begin a stream, stop() ends it. */

#include "srnic_single.h"

#include <net/sock.h>

#include "state.h"
#include "iw_mpa_quiet.h"
#include "qp.h"

#define HANDOFF_WHILE_MS	50

static const struct iw_mpa_params handoff_params = {
	.initiator = true, .crc = true, .ird = PAIR_IRD, .ord = 2,
};

static int handoff_prepare_by(const struct iw_mpa_params *params)
{
	const struct iw_mpa_handoff ho = { .params = params, .sock = single.p->sock };

	return srnic_driver_ops.prepare(&single.qp->ibqp, &ho);
}

static void handoff_begin(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, handoff_prepare_by(&handoff_params), 0);
	KUNIT_EXPECT_EQ(test, srnic_qp_state(single.qp), IB_QPS_RTS);
	KUNIT_EXPECT_PTR_EQ(test, single.qp->tx.sock, single.p->sock);
}

/* Call stop() with the reason @why, and check that the QP is in error, and has no socket. */
static void handoff_stop_as(struct kunit *test, enum iw_mpa_reason why)
{
	srnic_driver_ops.stop(&single.qp->ibqp, why);
	KUNIT_EXPECT_EQ(test, srnic_qp_state(single.qp), IB_QPS_ERR);
	KUNIT_EXPECT_EQ(test, (int)single.qp->state, SRNIC_ERROR);
	KUNIT_EXPECT_EQ(test, (int)single.qp->tx.state, SRNIC_TX_CLOSED);
	KUNIT_EXPECT_NULL(test, single.qp->tx.sock);
	KUNIT_EXPECT_NULL(test, single.qp->irq.ring);
	KUNIT_EXPECT_EQ(test, single.qp->sq.reads, 0);
	KUNIT_EXPECT_FALSE(test, single.qp->sq.rtr_read);
}

/* prepare() fails for a QP that has a stream, is in error or is being destroyed */
static void handoff_prepared_when_idle_alone(struct kunit *test)
{
	struct srnic_qp *qp = single.qp;
	struct srnic_irqe *ring;

	handoff_begin(test);
	ring = qp->irq.ring;
	KUNIT_EXPECT_EQ(test, qp->irq.ird, PAIR_IRD);
	KUNIT_EXPECT_EQ(test, handoff_prepare_by(&handoff_params), -EINVAL);
	KUNIT_EXPECT_PTR_EQ(test, qp->irq.ring, ring);
	handoff_stop_as(test, IW_MPA_R_ULP_CLOSE);
	KUNIT_EXPECT_EQ(test, handoff_prepare_by(&handoff_params), -EINVAL);
	qp->state = SRNIC_IDLE;
	qp->dying = true;
	KUNIT_EXPECT_EQ(test, handoff_prepare_by(&handoff_params), -EINVAL);
	qp->dying = false;
	qp->state = SRNIC_ENDING;
	KUNIT_EXPECT_EQ(test, handoff_prepare_by(&handoff_params), -EINVAL);
	qp->state = SRNIC_IDLE;
	KUNIT_EXPECT_NULL(test, qp->tx.sock);
	handoff_begin(test);
	handoff_stop_as(test, IW_MPA_R_ULP_CLOSE);
}

/*
 * prepare() resets what an earlier stream has left in the QP: the first error of that stream, an
 * abort or close by the ULP, and asynchronous events that the ULP has not got yet, and would
 * attribute to the new stream.
 */
static void handoff_begins_anew(struct kunit *test)
{
	struct ib_qp_attr sqd = { .qp_state = IB_QPS_SQD };
	struct srnic_qp *qp = single.qp;

	qp->broken_off = true;
	qp->sq.limited = true;
	qp->fault = (struct srnic_fault) { .err = SRNIC_ERR_CRC, .own = true };
	qp->events = BIT(IB_EVENT_QP_FATAL);	/* the ULP has not got this event yet */
	handoff_begin(test);
	KUNIT_EXPECT_EQ(test, qp->fault.err, SRNIC_ERR_NONE);
	KUNIT_EXPECT_FALSE(test, qp->fault.own);
	KUNIT_EXPECT_FALSE(test, qp->broken_off);
	KUNIT_EXPECT_FALSE(test, qp->sq.limited);
	KUNIT_EXPECT_EQ(test, srnic_modify_qp(&qp->ibqp, &sqd, IB_QP_STATE, NULL), 0);
	KUNIT_EXPECT_EQ(test, srnic_qp_state(qp), IB_QPS_SQD);
	handoff_stop_as(test, IW_MPA_R_ULP_CLOSE);
	single_expect_events(test, 0);
}

/*
 * A kernel ULP that is the initiator may serve this host's storage, so prepare() lets the socket
 * use the emergency reserves of memory (SOCK_MEMALLOC). The flag stays set after stop(): a packet
 * in such memory may be in the socket's backlog, and __sk_backlog_rcv() has a BUG_ON() for a
 * cleared flag.
 */
static void handoff_reserves_shared_with_storage(struct kunit *test)
{
	struct iw_mpa_params params = handoff_params;
	struct sock *sk = single.p->sock->sk;
	int i;

	params.tx_markers = true;
	params.large_fpdu = true;
	for (i = 0; i < 4; i++) {
		params.initiator = i & 1;
		single.qp->user = i & 2;
		single.qp->state = SRNIC_IDLE;
		KUNIT_ASSERT_EQ(test, handoff_prepare_by(&params), 0);
		KUNIT_EXPECT_EQ(test, sock_flag(sk, SOCK_MEMALLOC), i == 1);
		KUNIT_EXPECT_EQ(test, !!(sk->sk_allocation & __GFP_MEMALLOC), i == 1);
		KUNIT_EXPECT_EQ(test, memcmp(&single.qp->params, &params, sizeof(params)), 0);
		/*
		 * For an application's QP stop() has queued flush_work, which queues itself again
		 * and again, to look for posted work requests in the QP's rings: see
		 * qp_flush_locked().
		 */
		handoff_stop_as(test, IW_MPA_R_ULP_CLOSE);
		cancel_delayed_work_sync(&single.qp->flush_work);
		KUNIT_EXPECT_EQ(test, sock_flag(sk, SOCK_MEMALLOC), i == 1);
		/* A new socket would have no such flags; the next round uses this one again. */
		sock_reset_flag(sk, SOCK_MEMALLOC);
		sk->sk_allocation &= ~__GFP_MEMALLOC;
	}
	single.qp->user = false;
}

/* --- the end of a stream --- */

/* What was incomplete when the stream ended: nothing, a Send of the peer, or a Read of this end */
enum handoff_cut {
	CUT_NOT,
	CUT_SEND,
	CUT_READ,
};

static const struct handoff_row {
	const char		*desc;
	enum iw_mpa_reason	why;
	enum handoff_cut	cut;
	bool			ended;		/* RX has reached the peer's FIN */
	bool			abrupt;		/* the ULP has modified the QP to ERR */
	bool			fails;
} handoff_rows[] = {
	{ "reset",			IW_MPA_R_PEER_RESET, .fails = true },
	{ "TCP error",			IW_MPA_R_TCP_ERROR, .fails = true },
	{ "unreachable",		IW_MPA_R_TCP_UNREACHABLE, .fails = true },
	{ "refused",			IW_MPA_R_TCP_REFUSED, .fails = true },
	{ "peer closed",		IW_MPA_R_PEER_CLOSED },
	{ "peer closed in a Send",	IW_MPA_R_PEER_CLOSED, CUT_SEND, .fails = true },
	{ "peer closed before a Read",	IW_MPA_R_PEER_CLOSED, CUT_READ, .fails = true },
	{ "abrupt, then peer closed",	IW_MPA_R_PEER_CLOSED, CUT_SEND, .abrupt = true },
	{ "halts",			IW_MPA_R_TIMEOUT_FINISH },
	{ "halts in a Send",		IW_MPA_R_TIMEOUT_FINISH, CUT_SEND, .fails = true },
	{ "halts before a Read",	IW_MPA_R_TIMEOUT_FINISH, CUT_READ, .fails = true },
	{ "peer closed, halts in a Send", IW_MPA_R_TIMEOUT_FINISH, CUT_SEND, true, .fails = true },
	{ "abrupt, halts in a Send",	IW_MPA_R_TIMEOUT_FINISH, CUT_SEND, .abrupt = true },
	{ "close",			IW_MPA_R_ULP_CLOSE },
	{ "close in a Send",		IW_MPA_R_ULP_CLOSE, CUT_SEND },
	{ "close, peer in a Send",	IW_MPA_R_ULP_CLOSE, CUT_SEND, true, .fails = true },
	{ "close, peer before a Read",	IW_MPA_R_ULP_CLOSE, CUT_READ, true, .fails = true },
	{ "close, peer too",		IW_MPA_R_ULP_CLOSE, CUT_NOT, true },
	{ "abrupt, peer in a Send",	IW_MPA_R_ULP_CLOSE, CUT_SEND, true, true },
};

KUNIT_ARRAY_PARAM_DESC(handoff_row, handoff_rows, desc);

/*
 * Rules: F-8-1: QP_FATAL is reported for RST, for an error of TCP, and for FIN or a timeout within
 * a message or while a Read is open
 */
static void handoff_stop_tells_of_an_abort(struct kunit *test)
{
	const struct handoff_row *row = test->param_value;
	struct srnic_qp *qp = single.qp;

	handoff_begin(test);
	if (row->abrupt)
		qp->state = SRNIC_ABORTED;
	qp->rx.ended = row->ended;
	qp->rx.send_busy = row->cut == CUT_SEND;
	qp->sq.reads = row->cut == CUT_READ;
	qp->sq.rtr_read = qp->sq.reads;
	handoff_stop_as(test, row->why);
	KUNIT_EXPECT_EQ(test, qp->fault.err, row->fails ? SRNIC_ERR_STREAM : SRNIC_ERR_NONE);
	single_expect_events(test, row->fails);
	if (row->fails)
		KUNIT_EXPECT_EQ(test, single.events[0], IB_EVENT_QP_FATAL);
	KUNIT_EXPECT_FALSE(test, sock_owned_by_user_nocheck(single.p->sock->sk));
}

static void handoff_close(struct work_struct *unused)
{
	srnic_driver_ops.stop(&single.qp->ibqp, IW_MPA_R_PEER_CLOSED);
}

/*
 * When iw_mpa calls stop(), srnic's receive path (RX) may still run in another context, with the
 * socket locked. stop() has to take that lock before it checks whether the stream has ended within
 * a message: until then RX may begin or complete a message.
 */
static void handoff_stop_waits_for_the_socket(struct kunit *test)
{
	const struct iw_mpa_params params = { .crc = true, .ird = PAIR_IRD };
	struct sock *sk = single.p->sock->sk;
	struct work_struct work;

	KUNIT_ASSERT_EQ(test, handoff_prepare_by(&params), 0);
	INIT_WORK_ONSTACK(&work, handoff_close);
	lock_sock(sk);
	queue_work(srnic_event_wq, &work);
	iw_mpa_quiet(HANDOFF_WHILE_MS);
	KUNIT_EXPECT_EQ(test, srnic_qp_state(single.qp), IB_QPS_RTS);
	single.qp->rx.send_busy = true;
	release_sock(sk);
	flush_work(&work);
	destroy_work_on_stack(&work);
	KUNIT_EXPECT_EQ(test, srnic_qp_state(single.qp), IB_QPS_ERR);
	KUNIT_EXPECT_EQ(test, single.qp->fault.err, SRNIC_ERR_STREAM);
}

static const struct handoff_tell {
	enum srnic_err		err;
	enum ib_event_type	event;
} handoff_tells[] = {
	{ SRNIC_ERR_CRC, IB_EVENT_QP_FATAL },
	{ SRNIC_ERR_MSN, IB_EVENT_QP_REQ_ERR },
	{ SRNIC_ERR_WRITE_STAG, IB_EVENT_QP_ACCESS_ERR },
};

static void handoff_tell_desc(const struct handoff_tell *tell, char *desc)
{
	strscpy(desc, srnic_errs[tell->err].name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(handoff_tell, handoff_tells, handoff_tell_desc);

/* The asynchronous event is that of the stream's first fault, whatever reason stop() gets. */
static void handoff_stop_tells_of_the_fault(struct kunit *test)
{
	const struct handoff_tell *tell = test->param_value;

	handoff_begin(test);
	srnic_fail(single.qp, tell->err);
	handoff_stop_as(test, IW_MPA_R_PEER_RESET);
	single_expect_events(test, 1);
	KUNIT_EXPECT_EQ(test, single.events[0], tell->event);
}

/* If the QP has an SRQ, stop() raises LAST_WQE_REACHED: no completion of a receive follows. */
static void handoff_stop_tells_of_the_last_wqe(struct kunit *test)
{
	struct srnic_srq *srq = kunit_kzalloc(test, sizeof(*srq), GFP_KERNEL);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, srq);
	single.qp->srq = srq;
	handoff_begin(test);
	handoff_stop_as(test, IW_MPA_R_ULP_CLOSE);
	single_expect_events(test, 1);
	KUNIT_EXPECT_EQ(test, single.events[0], IB_EVENT_QP_LAST_WQE_REACHED);
}

/* stop() flushes work requests that were not sent, and receives that were not used. */
static void handoff_stop_flushes(struct kunit *test)
{
	struct pair_end *e = &single.p->end[0];
	const struct ib_send_wr wr = {
		.wr_id = 1, .opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED,
	};

	pair_post_recv(e, 2, e->mem, 8);
	handoff_begin(test);
	KUNIT_ASSERT_EQ(test, pair_post(e, &wr), 0);
	pair_expect_no_wc(single.p, &e->scq);
	handoff_stop_as(test, IW_MPA_R_ULP_CLOSE);
	pair_expect_wc(single.p, &e->scq, 1, IB_WC_WR_FLUSH_ERR);
	pair_expect_wc(single.p, &e->rcq, 2, IB_WC_WR_FLUSH_ERR);
	pair_expect_no_wc(single.p, &e->scq);
	pair_expect_no_wc(single.p, &e->rcq);
}

/* --- the socket's callbacks --- */

static unsigned int handoff_spaces;

static void handoff_tcp_write_space(struct sock *sk)
{
	handoff_spaces++;
}

/*
 * While a stream is attached srnic's sk_write_space calls TCP's own, and queues the sender's work
 * item if the send buffer has room. Without a stream srnic's callbacks do nothing.
 */
static void handoff_write_space_passed_on(struct kunit *test)
{
	struct iw_mpa_stream stream = { .write_space = handoff_tcp_write_space };
	struct sock *sk = single.p->sock->sk;
	void *user_data = sk->sk_user_data;
	void (*write_space)(struct sock *sk) = sk->sk_write_space;
	void (*data_ready)(struct sock *sk) = sk->sk_data_ready;
	int sndbuf = sk->sk_sndbuf;
	u64 works;

	handoff_spaces = 0;
	handoff_begin(test);
	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_user_data = &stream;
	srnic_driver_ops.attach(&single.qp->ibqp, sk, &stream);
	write_unlock_bh(&sk->sk_callback_lock);
	KUNIT_EXPECT_PTR_EQ(test, stream.priv, (void *)single.qp);
	works = pair_count(single.p, SRNIC_CNT_tx_work);
	sk->sk_write_space(sk);
	KUNIT_EXPECT_EQ(test, handoff_spaces, 1);
	flush_work(&single.qp->tx.work);
	KUNIT_EXPECT_EQ(test, pair_count(single.p, SRNIC_CNT_tx_work), works + 1);
	sk->sk_sndbuf = 0;
	sk->sk_wmem_queued = 1;
	sk->sk_write_space(sk);
	KUNIT_EXPECT_EQ(test, handoff_spaces, 2);
	flush_work(&single.qp->tx.work);
	KUNIT_EXPECT_EQ(test, pair_count(single.p, SRNIC_CNT_tx_work), works + 1);
	sk->sk_sndbuf = sndbuf;
	sk->sk_wmem_queued = 0;
	/* srnic's sender is also woken if it has to send a Terminate message. */
	single.qp->state = SRNIC_TERMINATE;
	mutex_lock(&single.qp->tx.lock);
	sk->sk_write_space(sk);
	single.qp->state = SRNIC_RTS;
	mutex_unlock(&single.qp->tx.lock);
	KUNIT_EXPECT_EQ(test, handoff_spaces, 3);
	flush_work(&single.qp->tx.work);
	KUNIT_EXPECT_EQ(test, pair_count(single.p, SRNIC_CNT_tx_work), works + 2);
	/* iw_mpa has detached the stream, so srnic's callbacks do nothing. */
	stream.priv = NULL;
	sk->sk_write_space(sk);
	sk->sk_data_ready(sk);
	flush_work(&single.qp->tx.work);
	KUNIT_EXPECT_EQ(test, single.qp->tx.state, SRNIC_TX_SHUT);
	KUNIT_EXPECT_EQ(test, handoff_spaces, 3);
	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_user_data = user_data;
	sk->sk_write_space = write_space;
	sk->sk_data_ready = data_ready;
	write_unlock_bh(&sk->sk_callback_lock);
	handoff_stop_as(test, IW_MPA_R_ULP_CLOSE);
}

static struct kunit_case handoff_cases[] = {
	KUNIT_CASE(handoff_prepared_when_idle_alone),
	KUNIT_CASE(handoff_begins_anew),
	KUNIT_CASE(handoff_reserves_shared_with_storage),
	KUNIT_CASE_PARAM(handoff_stop_tells_of_an_abort, handoff_row_gen_params),
	KUNIT_CASE(handoff_stop_waits_for_the_socket),
	KUNIT_CASE_PARAM(handoff_stop_tells_of_the_fault, handoff_tell_gen_params),
	KUNIT_CASE(handoff_stop_tells_of_the_last_wqe),
	KUNIT_CASE(handoff_stop_flushes),
	KUNIT_CASE(handoff_write_space_passed_on),
	{}
};

static struct kunit_suite handoff_suite = {
	.name = "srnic_handoff",
	.init = single_init,
	.exit = single_exit,
	.test_cases = handoff_cases,
};

kunit_test_suite(handoff_suite);

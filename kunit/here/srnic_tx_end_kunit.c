// SPDX-License-Identifier: GPL-2.0
/* What srnic's sender sends when a stream ends: messages, and a Terminate message after an error */

#include <kunit/test.h>

#include <linux/sched.h>

#include "state.h"
#include "sq.h"
#include "srnic_pair_tcp.h"
#include "../srnic/mem.h"	/* with a path, since user mode Linux has a mem.h, too */
#include "tx.h"
#include "qp.h"

static const struct pair_opts end_opts = { .crc = true, .emss = 1448, .ord = 1 };

/* ORD is 2: the peer may have two unanswered Reads. */
static const struct pair_opts end_reads = { .crc = true, .emss = 1448, .ord = 2 };

static u64 end_count(struct kunit *test, enum srnic_counter counter)
{
	return pair_count(test->priv, counter);
}

/*
 * After an error of the peer an FPDU of which TCP has no byte is dropped, and the Terminate message
 * is sent in its place.
 */
static void end_terminate_in_place_of_what_waits(struct kunit *test)
{
	struct pair *p = test->priv;
	struct srnic_qp *qp = pair_tcp_begin(test, &end_opts);

	pair_tcp_post(test, 1);
	pair_tcp.err = -ENOMEM;
	srnic_tx_doorbell(qp);
	srnic_fail(qp, SRNIC_ERR_CRC);
	pair_tcp.err = 0;
	KUNIT_EXPECT_TRUE(test, pair_tcp_poll(&pair_tcp.downs, 1));
	KUNIT_EXPECT_EQ(test, end_count(test, SRNIC_CNT_tx_terminates), 1);
	KUNIT_EXPECT_EQ(test, end_count(test, SRNIC_CNT_tx_terminates_lost), 0);
	KUNIT_EXPECT_EQ(test, end_count(test, SRNIC_CNT_tx_batches), 1);
	pair_expect_no_wc(p, &p->end[0].scq);
	pair_deliver(p, 0);
	pair_expect_no_wc(p, &p->end[1].rcq);
	pair_expect_fault(p, 1, SRNIC_ERR_TERM_RECEIVED);
	/* iw_mpa calls stop() afterwards, which must not count the Terminate message again. */
	srnic_tx_stop(qp);
	KUNIT_EXPECT_EQ(test, end_count(test, SRNIC_CNT_tx_terminates), 1);
	KUNIT_EXPECT_EQ(test, end_count(test, SRNIC_CNT_tx_terminates_lost), 0);
}

/* Run srnic's sender as if the time limit of the Terminate message had passed */
static void end_time_is_up(struct srnic_qp *qp)
{
	mutex_lock(&qp->tx.lock);
	qp->tx.deadline = (jiffies - 1) | 1;
	mutex_unlock(&qp->tx.lock);
	pair_tcp_run(qp);
}

/* Check that the time limit @at, in jiffies, was set after @since, to @ms milliseconds ahead */
static void end_expect_left(struct kunit *test, unsigned long at, unsigned long since,
			    unsigned int ms)
{
	KUNIT_EXPECT_FALSE(test, time_after(at, jiffies + msecs_to_jiffies(ms) + 2));
	KUNIT_EXPECT_FALSE(test, time_before(at, since + msecs_to_jiffies(ms)));
}

static void end_terminate_is_waited_for(struct kunit *test, bool in_time)
{
	struct srnic_qp *qp = pair_tcp_begin(test, &end_opts);
	struct sock *sk = qp->rx.sk;
	int queued = sk->sk_wmem_queued;
	u32 una = tcp_sk(sk)->snd_una;
	unsigned long since = jiffies;

	pair_tcp_post(test, 1);
	sk->sk_wmem_queued = sk->sk_sndbuf + 1;		/* no room, so TCP will call write_space */
	pair_tcp.err = -EAGAIN;
	srnic_tx_doorbell(qp);
	srnic_fail(qp, SRNIC_ERR_CRC);
	pair_tcp_run(qp);
	end_expect_left(test, qp->tx.deadline, since, SRNIC_TERM_MS);
	end_expect_left(test, qp->tx.give_up, since, SRNIC_TERM_MAX_MS);
	/*
	 * Without an ack of the peer TCP never calls write_space, so srnic's sender has set a
	 * timer.
	 */
	KUNIT_EXPECT_TRUE(test, delayed_work_pending(&qp->tx.retry));
	end_expect_left(test, qp->tx.retry.timer.expires, since, SRNIC_TERM_MS);
	tcp_sk(sk)->snd_una++;
	since = jiffies;
	end_time_is_up(qp);
	KUNIT_EXPECT_EQ(test, pair_tcp.downs, 0);
	end_expect_left(test, qp->tx.deadline, since, SRNIC_TERM_MS);
	if (!in_time) {
		tcp_sk(sk)->snd_una++;
		qp->tx.give_up = jiffies - 2;
	}
	end_time_is_up(qp);
	KUNIT_EXPECT_EQ(test, pair_tcp.downs, 1);
	KUNIT_EXPECT_EQ(test, end_count(test, SRNIC_CNT_tx_terminates_lost), 1);
	sk->sk_wmem_queued = queued;
	tcp_sk(sk)->snd_una = una;
}

/* The Terminate message waits for room in TCP as long as the peer acknowledges earlier bytes. */
static void end_terminate_waits_while_the_peer_acknowledges(struct kunit *test)
{
	end_terminate_is_waited_for(test, true);
}

/* A peer may acknowledge single bytes for ever: after SRNIC_TERM_MAX_MS the stream ends anyway. */
static void end_terminate_is_not_waited_for_without_end(struct kunit *test)
{
	end_terminate_is_waited_for(test, false);
}

/*
 * RFC 5040 7.1: for a work request in error srnic's sender sends a Terminate message, after the
 * messages of the work requests that were posted before.
 */
static void end_terminate_behind_what_was_good(struct kunit *test)
{
	struct pair *p = test->priv;
	struct srnic_qp *qp = pair_tcp_begin(test, &end_opts);
	struct ib_sge sge = { .addr = (uintptr_t)p->end[0].mem, .length = 8, .lkey = 0x4711 };
	const struct ib_send_wr bad = {
		.wr_id = 2, .opcode = IB_WR_SEND, .sg_list = &sge, .num_sge = 1,
	};

	pair_tcp_post(test, 1);
	KUNIT_ASSERT_EQ(test, pair_post(&p->end[0], &bad), 0);
	srnic_tx_doorbell(qp);
	KUNIT_EXPECT_TRUE(test, pair_tcp_poll(&pair_tcp.downs, 1));
	KUNIT_EXPECT_EQ(test, end_count(test, SRNIC_CNT_tx_terminates), 1);
	pair_expect_wc(p, &p->end[0].scq, 1, IB_WC_SUCCESS);
	pair_deliver(p, 0);
	pair_expect_wc(p, &p->end[1].rcq, 1, IB_WC_SUCCESS);
	pair_expect_fault(p, 1, SRNIC_ERR_TERM_RECEIVED);
}

/* --- an error that srnic's sender finds itself, and a peer that acknowledges nothing --- */

static const struct end_own {
	const char	*desc;
	bool		reads;		/* a Read of the peer fails, else a Send of this end */
	u32		room;		/* bytes that TCP accepts, at most all before the error */
	bool		alive;		/* the peer acknowledges a byte now and then */
	unsigned int	until;		/* milliseconds until srnic's sender gives the message up */
} end_owns[] = {
	{ "Send, no room", false, 0, false, SRNIC_TERM_MS },
	{ "Send, room for a part", false, 50, false, SRNIC_TERM_MS },
	{ "Send, room for all before it", false, 124, false, SRNIC_TERM_MS },
	{ "Send, slow peer", false, 50, true, SRNIC_TERM_MAX_MS },
	{ "Read, no room", true, 0, false, SRNIC_TERM_MS },
	{ "Read, room for a part", true, 50, false, SRNIC_TERM_MS },
	{ "Read, slow peer", true, 50, true, SRNIC_TERM_MAX_MS },
};

KUNIT_ARRAY_PARAM_DESC(end_own, end_owns, desc);

/* Post two Sends, or two Reads of the peer. The STag that the second one names is invalid. */
static void end_post_own(struct kunit *test, bool reads)
{
	struct pair *p = test->priv;
	struct ib_sge sge = { .addr = (uintptr_t)p->end[0].mem, .length = 8, .lkey = 0x4711 };
	struct ib_rdma_wr wr = {
		.wr = { .wr_id = 2, .opcode = IB_WR_SEND, .sg_list = &sge, .num_sge = 1 },
	};
	struct srnic_mr *mr;
	int i;

	if (!reads) {
		pair_tcp_post(test, 1);
		KUNIT_ASSERT_EQ(test, pair_post(&p->end[0], &wr.wr), 0);
		return;
	}
	memset(p->end[0].mem, 0x5a, 100);
	wr.wr.opcode = IB_WR_RDMA_READ;
	wr.wr.send_flags = IB_SEND_SIGNALED;
	sge.addr = (uintptr_t)p->end[1].mem;
	sge.length = 100;
	sge.lkey = SRNIC_LOCAL_DMA_LKEY;
	for (i = 0; i < 2; i++) {
		mr = pair_reg(p, &p->pd, p->end[0].mem, 0, 100, IB_ACCESS_REMOTE_READ);
		wr.rkey = mr->stag;
		KUNIT_ASSERT_EQ(test, pair_post(&p->end[1], &wr.wr), 0);
	}
	pair_send(p, 1);
	pair_deliver(p, 1);
	KUNIT_ASSERT_EQ(test, srnic_stag_invalidate(p->dev, &p->pd, mr->stag, false), 0);
}

/* Let @ms milliseconds pass. If @alive, the peer acknowledges a byte every SRNIC_TERM_MS / 2. */
static void end_pass(struct srnic_qp *qp, unsigned int ms, bool alive)
{
	unsigned int step = SRNIC_TERM_MS / 2;

	for (; ms; ms -= min(ms, step)) {
		if (alive)
			tcp_sk(qp->tx.sock->sk)->snd_una++;
		pair_tcp_pass(min(ms, step));
	}
}

/*
 * If srnic's sender finds an error, in a work request or in the source of a Read of the peer, it
 * reports the error to iw_mpa, which ends the stream for the ULP, even if the peer never
 * acknowledges enough for TCP to accept the Terminate message.
 */
static void end_own_error_is_reported_whatever_the_peer_does(struct kunit *test)
{
	const struct end_own *row = test->param_value;
	struct pair *p = test->priv;
	struct srnic_qp *qp = p->end[0].qp;
	u32 una = tcp_sk(p->sock->sk)->snd_una;

	pair_start(p, &end_reads);
	end_post_own(test, row->reads);
	pair_tcp.limited = true;
	pair_tcp.room = row->room;
	srnic_driver_ops.open_tx(&qp->ibqp);
	pair_tcp_run(qp);
	KUNIT_EXPECT_EQ(test, p->end[0].wire_len, row->room);
	pair_expect_fault(p, 0, row->reads ? SRNIC_ERR_READ_STAG : SRNIC_ERR_LOCAL);
	end_pass(qp, row->until - SRNIC_TERM_MS / 5, row->alive);
	KUNIT_EXPECT_EQ(test, pair_tcp.downs, 0);
	end_pass(qp, 2 * SRNIC_TERM_MS / 5, row->alive);
	KUNIT_EXPECT_EQ(test, pair_tcp.downs, 1);
	KUNIT_EXPECT_EQ(test, end_count(test, SRNIC_CNT_tx_terminates), 0);
	KUNIT_EXPECT_EQ(test, end_count(test, SRNIC_CNT_tx_terminates_lost), 1);
	KUNIT_EXPECT_FALSE(test, pair_tcp.fault.term);	/* no Terminate was sent: log none */
	tcp_sk(p->sock->sk)->snd_una = una;
}

/* If TCP has room in time, the messages before the error are sent, and the Terminate message. */
static void end_own_error_is_reported_to_the_peer_in_time(struct kunit *test)
{
	const struct end_own *row = test->param_value;
	struct pair *p = test->priv;
	struct srnic_qp *qp = p->end[0].qp;

	pair_start(p, &end_reads);
	end_post_own(test, row->reads);
	pair_tcp.limited = true;
	pair_tcp.room = row->room;
	srnic_driver_ops.open_tx(&qp->ibqp);
	pair_tcp_run(qp);
	end_pass(qp, SRNIC_TERM_MS / 2, false);
	pair_tcp_give_room(p, U32_MAX);
	KUNIT_EXPECT_EQ(test, pair_tcp.downs, 1);
	KUNIT_EXPECT_EQ(test, end_count(test, SRNIC_CNT_tx_terminates), 1);
	KUNIT_EXPECT_EQ(test, end_count(test, SRNIC_CNT_tx_terminates_lost), 0);
	KUNIT_EXPECT_TRUE(test, pair_tcp.fault.term && pair_tcp.fault.sent);
	pair_deliver(p, 0);
	pair_expect_fault(p, 1, SRNIC_ERR_TERM_RECEIVED);
	if (row->reads) {
		pair_expect_wc(p, &p->end[1].scq, 2, IB_WC_SUCCESS);
		KUNIT_EXPECT_EQ(test, memcmp(p->end[1].mem, p->end[0].mem, 100), 0);
		return;
	}
	pair_expect_wc(p, &p->end[0].scq, 1, IB_WC_SUCCESS);
	pair_expect_wc(p, &p->end[0].scq, 2, IB_WC_LOC_PROT_ERR);
	pair_expect_wc(p, &p->end[1].rcq, 1, IB_WC_SUCCESS);
}

/* --- a close by FIN while TCP has no room --- */

/*
 * TCP has accepted all messages, and its send buffer is full. finish_tx() calls
 * iw_mpa_tx_finished() at once: srnic's sender has nothing to send that would need room.
 */
static void end_finish_does_not_wait_for_room(struct kunit *test)
{
	struct srnic_qp *qp = pair_tcp_begin(test, &end_opts);
	struct pair *p = test->priv;

	pair_tcp_post(test, 1);
	pair_tcp.limited = true;
	pair_tcp.room = 18 + PAIR_TCP_LEN + 6;
	pair_tcp_run(qp);
	KUNIT_EXPECT_EQ(test, pair_tcp.room, 0);
	KUNIT_EXPECT_FALSE(test, sk_stream_memory_free(p->sock->sk));
	KUNIT_EXPECT_EQ(test, pair_tcp.finishes, 0);
	srnic_driver_ops.finish_tx(&qp->ibqp);
	KUNIT_EXPECT_EQ(test, pair_tcp.finishes, 1);
	KUNIT_EXPECT_EQ(test, pair_tcp.downs, 0);
	pair_tcp_expect_arrival(test, 1);
}

/*
 * After finish_tx() the last message waits for room in TCP. A Read of the peer that arrives before
 * TCP has all of that message is answered, one that arrives later is not.
 */
static void end_finish_answers_reads_until_tcp_has_all(struct kunit *test)
{
	struct srnic_qp *qp = pair_tcp_begin(test, &end_opts);
	struct pair *p = test->priv;
	struct srnic_mr *mr = pair_reg(p, &p->pd, p->end[0].mem, 0, 100, IB_ACCESS_REMOTE_READ);
	struct ib_sge sge = pair_sge(p->end[1].mem, 100);
	u32 sent;

	pair_tcp_post(test, 1);
	pair_tcp.limited = true;
	pair_tcp.room = 50;
	pair_tcp_run(qp);
	srnic_driver_ops.finish_tx(&qp->ibqp);
	KUNIT_EXPECT_EQ(test, pair_tcp.finishes, 0);
	pair_post_rdma(p, 1, 0, IB_WR_RDMA_READ, &sge, 0, mr->stag);
	pair_send(p, 1);
	pair_tcp_arrive(p);
	KUNIT_EXPECT_EQ(test, pair_tcp.finishes, 0);
	KUNIT_EXPECT_EQ(test, p->end[0].wire_len, 50);
	pair_tcp_give_room(p, U32_MAX);
	KUNIT_EXPECT_EQ(test, pair_tcp.finishes, 1);
	sent = pair_tcp.taken;
	pair_tcp_expect_arrival(test, 1);
	pair_expect_wc(p, &p->end[1].scq, 0, IB_WC_SUCCESS);
	pair_post_rdma(p, 1, 0, IB_WR_RDMA_READ, &sge, 0, mr->stag);
	pair_send(p, 1);
	pair_tcp_arrive(p);
	KUNIT_EXPECT_EQ(test, pair_tcp.taken, sent);
	KUNIT_EXPECT_EQ(test, pair_tcp.finishes, 1);
	KUNIT_EXPECT_EQ(test, pair_tcp.downs, 0);
}

/*
 * finish_tx() is called in the middle of a Read Response whose FPDUs need two batches: srnic's
 * sender builds the second batch when TCP has accepted the first. A Read of the peer that arrives
 * while the second batch is being sent is not answered.
 */
static void end_finish_amid_a_response_answers_no_more(struct kunit *test)
{
	static const struct pair_opts opts = { .emss = 536, .ord = 2 };
	struct srnic_qp *qp = pair_tcp_begin(test, &opts);
	struct pair *p = test->priv;
	struct srnic_mr *mr = pair_reg(p, &p->pd, p->end[0].mem, 0, PAIR_MEM,
				       IB_ACCESS_REMOTE_READ);
	struct ib_sge sge = pair_sge(p->end[1].mem, 60000);

	pair_post_rdma(p, 1, 0, IB_WR_RDMA_READ, &sge, 0, mr->stag);
	pair_send(p, 1);
	pair_tcp.limited = true;
	pair_tcp.room = 1000;
	pair_tcp_arrive(p);
	srnic_driver_ops.finish_tx(&qp->ibqp);
	pair_tcp_give_room(p, 54000);	/* for the first batch, and a part of the second */
	KUNIT_EXPECT_EQ(test, pair_tcp.finishes, 0);
	KUNIT_EXPECT_GT(test, qp->tx.batch.len, qp->tx.batch.done);
	pair_post_rdma(p, 1, 0, IB_WR_RDMA_READ, &sge, 0, mr->stag);
	pair_send(p, 1);
	pair_tcp_arrive(p);
	pair_tcp_give_room(p, U32_MAX);
	KUNIT_EXPECT_EQ(test, pair_tcp.finishes, 1);
	KUNIT_EXPECT_EQ(test, pair_tcp.downs, 0);
	pair_deliver(p, 0);
	KUNIT_EXPECT_EQ(test, p->end[1].qp->sq.reads, 1);
}

/* An error for which no Terminate message is due is reported to iw_mpa at once */
static void end_terminate_without_message_not_waited_for(struct kunit *test)
{
	struct pair *p = test->priv;
	struct srnic_qp *qp = p->end[0].qp;

	pair_start(p, &end_opts);
	srnic_fail(qp, SRNIC_ERR_STREAM);
	pair_tcp_run(qp);
	KUNIT_EXPECT_EQ(test, pair_tcp.downs, 1);
	KUNIT_EXPECT_EQ(test, p->end[0].wire_len, 0);
	KUNIT_EXPECT_EQ(test, end_count(test, SRNIC_CNT_tx_terminates), 0);
	KUNIT_EXPECT_EQ(test, end_count(test, SRNIC_CNT_tx_terminates_lost), 0);
}

static void end_terminate_behind_finish_lost(struct kunit *test)
{
	struct pair *p = test->priv;
	struct srnic_qp *qp = pair_tcp_begin(test, &end_opts);

	srnic_tx_finish(&qp->ibqp);
	KUNIT_EXPECT_EQ(test, pair_tcp.finishes, 1);
	srnic_fail(qp, SRNIC_ERR_CRC);
	pair_tcp_run(qp);
	KUNIT_EXPECT_EQ(test, pair_tcp.downs, 1);
	KUNIT_EXPECT_EQ(test, p->end[0].wire_len, 0);
	KUNIT_EXPECT_EQ(test, end_count(test, SRNIC_CNT_tx_terminates), 0);
	KUNIT_EXPECT_EQ(test, end_count(test, SRNIC_CNT_tx_terminates_lost), 1);
}

/* --- iw_mpa calls stop() --- */

/* If the Terminate message was not sent before stop(), stop() sends it if TCP has room. */
static void end_stop_tries_to_terminate(struct kunit *test)
{
	struct pair *p = test->priv;
	struct srnic_qp *qp = pair_tcp_begin(test, &end_opts);

	srnic_fail(qp, SRNIC_ERR_CRC);
	srnic_tx_stop(qp);
	KUNIT_EXPECT_EQ(test, end_count(test, SRNIC_CNT_tx_terminates), 1);
	pair_deliver(p, 0);
	pair_expect_fault(p, 1, SRNIC_ERR_TERM_RECEIVED);
}

/* stop() sends the Terminate message once, in place of an FPDU that TCP has refused */
static void end_stop_terminates_in_place_of_what_waits(struct kunit *test)
{
	struct pair *p = test->priv;
	struct srnic_qp *qp = pair_tcp_begin(test, &end_opts);

	pair_tcp_post(test, 1);
	pair_tcp.err = -ENOMEM;
	srnic_tx_doorbell(qp);
	pair_tcp.err = 0;
	srnic_fail(qp, SRNIC_ERR_CRC);
	srnic_tx_stop(qp);
	pair_deliver(p, 0);
	pair_expect_no_wc(p, &p->end[1].rcq);
	pair_expect_fault(p, 1, SRNIC_ERR_TERM_RECEIVED);
	srnic_tx_stop(qp);
	KUNIT_EXPECT_EQ(test, p->end[0].wire_len, 0);
	KUNIT_EXPECT_EQ(test, end_count(test, SRNIC_CNT_tx_terminates), 1);
}

/* stop() sends no Terminate message after finish_tx(), nor before open_tx(). */
static void end_stop_where_nothing_may_be_sent(struct kunit *test)
{
	struct pair *p = test->priv;
	struct srnic_qp *qp = pair_tcp_begin(test, &end_opts);

	srnic_tx_finish(&qp->ibqp);
	srnic_fail(qp, SRNIC_ERR_CRC);
	srnic_tx_stop(qp);
	KUNIT_EXPECT_EQ(test, p->end[0].wire_len, 0);
	srnic_tx_start(qp, p->sock);
	srnic_tx_stop(qp);
	KUNIT_EXPECT_EQ(test, p->end[0].wire_len, 0);
	KUNIT_EXPECT_EQ(test, end_count(test, SRNIC_CNT_tx_terminates), 0);
}

static void end_next_stream_begins_anew(struct kunit *test)
{
	struct srnic_qp *qp = pair_tcp_begin(test, &end_opts);
	struct socket *sock = qp->tx.sock;

	qp->tx.deadline = 1;
	srnic_tx_stop(qp);
	KUNIT_EXPECT_EQ(test, qp->tx.state, SRNIC_TX_CLOSED);
	KUNIT_EXPECT_NULL(test, qp->tx.sock);
	srnic_tx_start(qp, sock);
	KUNIT_EXPECT_EQ(test, qp->tx.state, SRNIC_TX_SHUT);
	KUNIT_EXPECT_PTR_EQ(test, qp->tx.sock, sock);
	KUNIT_EXPECT_EQ(test, qp->tx.deadline, 0);
}

/* --- states of srnic's sender --- */

static void end_states_of_a_stream_that_finishes(struct kunit *test)
{
	struct pair *p = test->priv;
	struct srnic_qp *qp = p->end[0].qp;

	pair_start(p, &end_opts);
	KUNIT_EXPECT_EQ(test, qp->tx.state, SRNIC_TX_SHUT);
	pair_tcp_run(qp);
	KUNIT_EXPECT_EQ(test, qp->tx.state, SRNIC_TX_SHUT);
	srnic_tx_open(&qp->ibqp);
	flush_work(&qp->tx.work);
	KUNIT_EXPECT_EQ(test, qp->tx.state, SRNIC_TX_OPEN);
	qp->tx.opened = 1;
	pair_tcp_post(test, 1);
	pair_tcp.err = -ENOMEM;
	srnic_tx_finish(&qp->ibqp);
	KUNIT_EXPECT_EQ(test, qp->tx.state, SRNIC_TX_FINISHING);
	pair_tcp.err = 0;
	KUNIT_EXPECT_TRUE(test, pair_tcp_poll(&pair_tcp.finishes, 1));
	KUNIT_EXPECT_EQ(test, qp->tx.state, SRNIC_TX_FINISHED);
	srnic_fail(qp, SRNIC_ERR_CRC);
	pair_tcp_run(qp);
	KUNIT_EXPECT_EQ(test, qp->tx.state, SRNIC_TX_CLOSED);
	KUNIT_EXPECT_EQ(test, qp->tx.opened, 1);
	KUNIT_EXPECT_EQ(test, pair_tcp.downs, 1);
}

/* RX has found an error before open_tx(), which then has to let the Terminate message be sent. */
static void end_open_lets_out_a_terminate(struct kunit *test)
{
	struct pair *p = test->priv;
	struct srnic_qp *qp = p->end[0].qp;

	pair_start(p, &end_opts);
	srnic_fail(qp, SRNIC_ERR_CRC);
	pair_tcp_run(qp);
	KUNIT_EXPECT_EQ(test, pair_tcp.downs, 0);
	srnic_tx_open(&qp->ibqp);
	flush_work(&qp->tx.work);
	KUNIT_EXPECT_EQ(test, pair_tcp.downs, 1);
	KUNIT_EXPECT_EQ(test, end_count(test, SRNIC_CNT_tx_terminates), 1);
}

/* A Read of the peer has arrived before open_tx(), which then has to run srnic's sender. */
static void end_open_lets_out_a_response(struct kunit *test)
{
	struct pair *p = test->priv;
	struct srnic_qp *qp = p->end[0].qp;
	const struct ib_rdma_wr read = { .wr.opcode = IB_WR_RDMA_READ };

	pair_start(p, &end_opts);
	KUNIT_ASSERT_EQ(test, pair_post(&p->end[1], &read.wr), 0);
	pair_send(p, 1);
	pair_tcp_arrive(p);
	pair_tcp_run(qp);
	KUNIT_EXPECT_EQ(test, pair_tcp.calls, 0);
	srnic_tx_open(&qp->ibqp);
	flush_work(&qp->tx.work);
	KUNIT_EXPECT_EQ(test, pair_tcp.calls, 1);
	pair_deliver(p, 0);
	KUNIT_EXPECT_EQ(test, p->end[1].qp->sq.reads, 0);
}

static void end_states_of_a_stream_that_fails(struct kunit *test)
{
	struct srnic_qp *qp = pair_tcp_begin(test, &end_opts);

	KUNIT_EXPECT_EQ(test, qp->tx.state, SRNIC_TX_OPEN);
	pair_tcp.err = -ENOMEM;
	srnic_fail(qp, SRNIC_ERR_CRC);
	pair_tcp_run(qp);
	KUNIT_EXPECT_EQ(test, qp->tx.state, SRNIC_TX_TERM);
	/* While the Terminate message waits for memory, finish_tx() does not change the state. */
	srnic_tx_finish(&qp->ibqp);
	KUNIT_EXPECT_EQ(test, qp->tx.state, SRNIC_TX_TERM);
	pair_tcp.err = 0;
	KUNIT_EXPECT_TRUE(test, pair_tcp_poll(&pair_tcp.downs, 1));
	KUNIT_EXPECT_EQ(test, qp->tx.state, SRNIC_TX_CLOSED);
	KUNIT_EXPECT_EQ(test, end_count(test, SRNIC_CNT_tx_terminates), 1);
	KUNIT_EXPECT_EQ(test, pair_tcp.finishes, 0);
}

/* An error before open_tx(), which is not called in time: TX is CLOSED, and stays CLOSED. */
static void end_states_of_a_stream_that_was_never_opened(struct kunit *test)
{
	struct pair *p = test->priv;
	struct srnic_qp *qp = p->end[0].qp;

	pair_start(p, &end_opts);
	srnic_fail(qp, SRNIC_ERR_CRC);
	pair_tcp_run(qp);
	KUNIT_EXPECT_EQ(test, qp->tx.state, SRNIC_TX_SHUT);
	qp->tx.opened = ktime_get_seconds() - SRNIC_FOUND_S;
	end_time_is_up(qp);
	end_time_is_up(qp);
	KUNIT_EXPECT_EQ(test, qp->tx.state, SRNIC_TX_CLOSED);
	KUNIT_EXPECT_LT(test, (u32)ktime_get_seconds() - qp->tx.opened, SRNIC_FOUND_S);
	KUNIT_EXPECT_EQ(test, pair_tcp.downs, 1);
	pair_tcp_post(test, 1);
	srnic_tx_open(&qp->ibqp);
	flush_work(&qp->tx.work);
	srnic_tx_finish(&qp->ibqp);
	KUNIT_EXPECT_EQ(test, qp->tx.state, SRNIC_TX_CLOSED);
	KUNIT_EXPECT_EQ(test, p->end[0].wire_len, 0);
	KUNIT_EXPECT_EQ(test, pair_tcp.finishes, 0);
	KUNIT_EXPECT_EQ(test, pair_tcp.downs, 1);
	KUNIT_EXPECT_EQ(test, end_count(test, SRNIC_CNT_tx_terminates_lost), 1);
}

/*
 * iw_mpa_close() may run srnic's receive path (RX), which calls completion handlers.
 * core_locking.rst forbids such calls within a verb that a kernel ULP calls. So srnic calls
 * iw_mpa_close() in modify_qp only for applications, whose handler is the RDMA core's.
 */
static void end_closed_in_the_time_of_applications_alone(struct kunit *test)
{
	struct ib_qp_attr sqd = { .qp_state = IB_QPS_SQD };
	struct srnic_qp *qp = pair_tcp_begin(test, &end_opts);
	int user;

	qp->ep = (struct iw_mpa_ep *)qp;	/* not dereferenced */
	for (user = 0; user < 2; user++) {
		qp->user = user;
		qp->state = SRNIC_RTS;
		pair_tcp.closes = 0;
		pair_tcp.disconnects = 0;
		KUNIT_EXPECT_EQ(test, srnic_modify_qp(&qp->ibqp, &sqd, IB_QP_STATE, NULL), 0);
		KUNIT_EXPECT_EQ(test, srnic_qp_state(qp), IB_QPS_SQD);
		KUNIT_EXPECT_EQ(test, pair_tcp.closes, user);
		KUNIT_EXPECT_EQ(test, pair_tcp.disconnects, !user);
	}
	qp->user = false;
}

static struct kunit_case end_cases[] = {
	KUNIT_CASE(end_terminate_in_place_of_what_waits),
	KUNIT_CASE(end_terminate_waits_while_the_peer_acknowledges),
	KUNIT_CASE(end_terminate_is_not_waited_for_without_end),
	KUNIT_CASE(end_terminate_behind_what_was_good),
	KUNIT_CASE_PARAM(end_own_error_is_reported_whatever_the_peer_does, end_own_gen_params),
	KUNIT_CASE_PARAM(end_own_error_is_reported_to_the_peer_in_time, end_own_gen_params),
	KUNIT_CASE(end_finish_does_not_wait_for_room),
	KUNIT_CASE(end_finish_answers_reads_until_tcp_has_all),
	KUNIT_CASE(end_finish_amid_a_response_answers_no_more),
	KUNIT_CASE(end_terminate_without_message_not_waited_for),
	KUNIT_CASE(end_terminate_behind_finish_lost),
	KUNIT_CASE(end_stop_tries_to_terminate),
	KUNIT_CASE(end_stop_terminates_in_place_of_what_waits),
	KUNIT_CASE(end_stop_where_nothing_may_be_sent),
	KUNIT_CASE(end_next_stream_begins_anew),
	KUNIT_CASE(end_closed_in_the_time_of_applications_alone),
	KUNIT_CASE(end_states_of_a_stream_that_finishes),
	KUNIT_CASE(end_open_lets_out_a_terminate),
	KUNIT_CASE(end_open_lets_out_a_response),
	KUNIT_CASE(end_states_of_a_stream_that_fails),
	KUNIT_CASE(end_states_of_a_stream_that_was_never_opened),
	{}
};

static struct kunit_suite end_suite = {
	.name = "srnic_tx_end",
	.init = pair_tcp_init,
	.exit = pair_tcp_exit,
	.test_cases = end_cases,
};

kunit_test_suite(end_suite);

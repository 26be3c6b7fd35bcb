// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of srnic's sender (the holder of tx.lock), with a fake TCP that the test controls. End 0 of
 * a pair of QPs sends; the receive path (RX) of end 1 gets the bytes on the wire, and checks them.
 */

#include <kunit/test.h>

#include <linux/delay.h>
#include <linux/sched.h>
#include <net/sock.h>

#include "state.h"
#include "iw_mpa_quiet.h"
#include "sq.h"
#include "srnic_pair_tcp.h"
#include "../srnic/mem.h"	/* with a path, since user mode Linux has a mem.h, too */
#include "tx.h"

#define TX_WHILE_MS	100	/* long, compared with SRNIC_RETRY_MS */
#define TX_QUEUE	1024	/* size of a long send queue */
#define TX_ROW		601	/* work requests in it: RX retires at most 256 of them at once */

static const struct pair_opts tx_plain = { .crc = true, .emss = 1448, .ord = 1 };
static const struct pair_opts tx_marked = {
	.crc = true, .emss = 1448, .ord = 1, .markers = { true, true },
};

/* The peer posts a Read of @len bytes of the sending QP's memory */
static void tx_post_read(struct kunit *test, struct srnic_mr *src, u32 len)
{
	struct pair *p = test->priv;
	struct ib_sge sge = pair_sge(p->end[1].mem, len);

	pair_post_rdma(p, 1, 0, IB_WR_RDMA_READ, &sge, src->base, src->stag);
}

/* --- lack of memory and lack of room --- */

static const int tx_refusals[] = { -EAGAIN, -ENOMEM, -ENOBUFS };

static void tx_refusal_desc(const int *err, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "errno %d", -*err);
}

KUNIT_ARRAY_PARAM(tx_refusal, tx_refusals, tx_refusal_desc);

/* While TCP has room but no memory, srnic's sender tries again only when its timer fires. */
static void tx_tcp_without_memory_asked_by_timer(struct kunit *test)
{
	struct srnic_qp *qp = pair_tcp_begin(test, &tx_plain);
	unsigned long start = jiffies;
	unsigned int most;

	pair_tcp_post(test, 1);
	pair_tcp.err = *(const int *)test->param_value;
	srnic_tx_doorbell(qp);
	iw_mpa_quiet(TX_WHILE_MS);
	most = 2 * (jiffies_to_msecs(jiffies - start) / SRNIC_RETRY_MS + 2);
	KUNIT_EXPECT_GT(test, pair_tcp.calls, 2);
	KUNIT_EXPECT_LE(test, pair_tcp.calls, most);
	pair_tcp.err = 0;
	KUNIT_EXPECT_TRUE(test, pair_tcp_poll(&qp->sq.get, 1));
	pair_tcp_expect_arrival(test, 1);
}

/* While srnic's sender waits for memory a doorbell does not call TCP: only its timer does. */
static void tx_kicks_while_memory_is_short_void(struct kunit *test)
{
	struct srnic_qp *qp = pair_tcp_begin(test, &tx_plain);
	unsigned int calls;
	int i;

	pair_tcp_post(test, 1);
	pair_tcp.err = -ENOMEM;
	srnic_tx_doorbell(qp);
	calls = pair_tcp.calls;
	for (i = 0; i < 100; i++)
		srnic_tx_doorbell(qp);
	KUNIT_EXPECT_LE(test, pair_tcp.calls, calls + 1);
	pair_tcp.err = 0;
	KUNIT_EXPECT_TRUE(test, pair_tcp_poll(&qp->sq.get, 1));
	pair_tcp_expect_arrival(test, 1);
}

/*
 * srnic_tx_doorbell() finds tx.lock held by another context, which is srnic's sender. That sender
 * may have done its last check for work, so the doorbell has to queue a work item, which checks
 * again.
 */
static void tx_doorbell_of_a_busy_sender_not_lost(struct kunit *test)
{
	struct srnic_qp *qp = pair_tcp_begin(test, &tx_plain);

	flush_work(&qp->tx.work);
	pair_tcp_post(test, 1);
	mutex_lock(&qp->tx.lock);
	srnic_tx_doorbell(qp);
	mutex_unlock(&qp->tx.lock);
	flush_work(&qp->tx.work);
	pair_tcp_expect_arrival(test, 1);
}

static unsigned int tx_handled, tx_handled_with_the_lock;

static void tx_handler(struct ib_cq *cq, void *qp)
{
	tx_handled++;
	tx_handled_with_the_lock += mutex_is_locked(&((struct srnic_qp *)qp)->tx.lock);
}

/* A completion handler may take long, or post: so srnic's sender calls it without tx.lock. */
static void tx_handler_called_without_the_lock(struct kunit *test)
{
	struct srnic_qp *qp = pair_tcp_begin(test, &tx_plain);
	struct ib_cq *cq = &((struct pair *)test->priv)->end[0].scq.ibcq;

	tx_handled = 0;
	tx_handled_with_the_lock = 0;
	cq->comp_handler = tx_handler;
	cq->cq_context = qp;
	srnic_req_notify_cq(cq, IB_CQ_NEXT_COMP);
	pair_tcp_post(test, 1);
	srnic_tx_doorbell(qp);
	pair_tcp_expect_arrival(test, 1);
	KUNIT_EXPECT_EQ(test, tx_handled, 1);
	KUNIT_EXPECT_EQ(test, tx_handled_with_the_lock, 0);
}

/* If TCP's send buffer is full srnic's sender sets no timer: TCP will call write_space. */
static void tx_tcp_without_room_asked_when_it_has(struct kunit *test)
{
	struct pair *p = test->priv;
	struct srnic_qp *qp = pair_tcp_begin(test, &tx_plain);

	pair_tcp_post(test, 1);
	p->sock->sk->sk_wmem_queued = p->sock->sk->sk_sndbuf;
	pair_tcp.err = -EAGAIN;
	srnic_tx_doorbell(qp);
	iw_mpa_quiet(TX_WHILE_MS);
	KUNIT_EXPECT_EQ(test, pair_tcp.calls, 0);
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&qp->tx.retry));
	p->sock->sk->sk_wmem_queued = 0;
	pair_tcp.err = 0;
	srnic_tx_kick(qp);
	KUNIT_EXPECT_TRUE(test, pair_tcp_poll(&qp->sq.get, 1));
	pair_tcp_expect_arrival(test, 1);
}

/* If no page can be allocated for an FPDU, srnic's sender tries again when its timer fires. */
static void tx_without_pages_goes_on_later(struct kunit *test)
{
	struct srnic_qp *qp = pair_tcp_begin(test, &tx_marked);

	pair_tcp_post(test, 1);
	pair_tcp_pages(8, 5);
	srnic_tx_doorbell(qp);
	KUNIT_EXPECT_EQ(test, pair_tcp.calls, 0);
	KUNIT_EXPECT_EQ(test, qp->tx.batch.len, 0);
	KUNIT_EXPECT_EQ(test, qp->tx.pos, 0);
	pair_tcp.piece = 0;
	KUNIT_EXPECT_TRUE(test, pair_tcp_poll(&qp->sq.get, 1));
	pair_tcp_expect_arrival(test, 1);
}

/* If TCP has no memory for a Terminate message for SRNIC_TERM_MS, the stream ends without it. */
static void tx_terminate_without_memory_given_up(struct kunit *test)
{
	struct srnic_qp *qp = pair_tcp_begin(test, &tx_plain);
	unsigned long start = jiffies;
	int ms;

	pair_tcp.err = -EAGAIN;
	srnic_fail(qp, SRNIC_ERR_CQ_FULL);
	srnic_tx_kick(qp);
	msleep(TX_WHILE_MS);
	KUNIT_EXPECT_EQ(test, pair_tcp.downs, 0);
	for (ms = 0; ms < 2 * SRNIC_TERM_MS && !READ_ONCE(pair_tcp.downs); ms += SRNIC_TERM_MS / 10)
		pair_tcp_pass(SRNIC_TERM_MS / 10);
	KUNIT_EXPECT_EQ(test, pair_tcp.downs, 1);
	KUNIT_EXPECT_GE(test, jiffies_to_msecs(jiffies - start), SRNIC_TERM_MS);
	KUNIT_EXPECT_EQ(test, qp->tx.state, SRNIC_TX_CLOSED);
}

/* --- use of the emergency reserves of memory --- */

static const struct tx_who {
	bool user;
	bool initiator;
	bool reserves;
	const char *name;
} tx_whos[] = {
	{ .name = "kernel, initiator", .initiator = true, .reserves = true },
	{ .name = "kernel, responder" },
	{ .name = "application, initiator", .user = true, .initiator = true },
	{ .name = "application, responder", .user = true },
};

KUNIT_ARRAY_PARAM_DESC(tx_who, tx_whos, name);

/*
 * srnic's sender may use the emergency reserves of memory only for a kernel ULP that is the
 * initiator, since such a ULP may serve this host's storage.
 */
static void tx_reserves_for_storage_alone(struct kunit *test)
{
	const struct tx_who *who = test->param_value;
	const struct iw_mpa_params params = { .initiator = who->initiator, .crc = true };
	struct pair *p = test->priv;
	struct srnic_qp *qp = p->end[0].qp;

	pair_start(p, &tx_plain);
	pair_tcp_post(test, 1);
	qp->user = who->user;
	qp->params = params;
	srnic_tx_start(qp, p->sock);
	qp->tx.state = SRNIC_TX_OPEN;
	srnic_tx_kick(qp);
	KUNIT_EXPECT_TRUE(test, pair_tcp_poll(&pair_tcp.calls, 1));
	KUNIT_EXPECT_EQ(test, !!(pair_tcp.task_flags & PF_MEMALLOC), who->reserves);
	KUNIT_EXPECT_TRUE(test, pair_tcp.task_flags & PF_MEMALLOC_NOIO);
	qp->user = false;
}

/* --- workers of applications and of kernel ULPs --- */

struct tx_block {
	struct work_struct	work;
	struct completion	go;
};

static void tx_block(struct work_struct *work)
{
	wait_for_completion(&container_of(work, struct tx_block, work)->go);
}

/* A work item that blocks srnic_user_wq delays senders of applications' QPs, and no others. */
static void tx_applications_hold_up_applications_alone(struct kunit *test)
{
	const struct ib_send_wr empty = {
		.wr_id = 2, .opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED,
	};
	struct pair *p = test->priv;
	struct srnic_qp *qp = pair_tcp_begin(test, &tx_plain);
	struct tx_block block;

	INIT_WORK_ONSTACK(&block.work, tx_block);
	init_completion(&block.go);
	queue_work(srnic_user_wq, &block.work);
	pair_tcp_post(test, 1);
	srnic_tx_kick(qp);
	KUNIT_EXPECT_TRUE(test, pair_tcp_poll(&qp->sq.get, 1));
	flush_work(&qp->tx.work);
	qp->user = true;
	pair_post_recv(&p->end[1], 2, p->end[1].mem, 8);
	KUNIT_ASSERT_EQ(test, pair_post(&p->end[0], &empty), 0);
	srnic_tx_kick(qp);
	iw_mpa_quiet(TX_WHILE_MS);
	KUNIT_EXPECT_EQ(test, qp->sq.get, 1);
	complete(&block.go);
	KUNIT_EXPECT_TRUE(test, pair_tcp_poll(&qp->sq.get, 2));
	flush_work(&qp->tx.work);
	flush_work(&block.work);
	destroy_work_on_stack(&block.work);
	qp->user = false;
	pair_tcp_expect_arrival(test, 1);
	pair_tcp_expect_arrival(test, 2);
}

/* --- the beginning of a stream --- */

/* open_tx() may run in RX, in a call of TCP by the holder of tx.lock: it must not take the lock. */
static void tx_open_within_rx_lets_out_what_is_posted(struct kunit *test)
{
	struct pair *p = test->priv;
	struct srnic_qp *qp = p->end[0].qp;

	pair_start(p, &tx_plain);
	pair_tcp_post(test, 1);
	srnic_tx_doorbell(qp);
	KUNIT_EXPECT_EQ(test, pair_tcp.calls, 0);
	mutex_lock(&qp->tx.lock);
	local_bh_disable();
	srnic_tx_open(&qp->ibqp);
	local_bh_enable();
	mutex_unlock(&qp->tx.lock);
	KUNIT_EXPECT_TRUE(test, pair_tcp_poll(&qp->sq.get, 1));
	pair_tcp_expect_arrival(test, 1);
}

/*
 * A ULP can post as soon as the QP is in RTS, even before prepare() has given srnic's sender a
 * socket. open_tx() has to wake the sender for such work requests.
 */
static void tx_open_lets_out_what_was_posted_before_the_stream(struct kunit *test)
{
	struct pair *p = test->priv;
	struct srnic_qp *qp = p->end[0].qp;

	pair_start(p, &tx_plain);
	qp->tx.state = SRNIC_TX_CLOSED;
	qp->tx.sock = NULL;
	pair_tcp_post(test, 1);
	pair_tcp_run(qp);
	KUNIT_EXPECT_EQ(test, pair_tcp.calls, 0);
	srnic_tx_start(qp, p->sock);
	srnic_tx_open(&qp->ibqp);
	KUNIT_EXPECT_TRUE(test, pair_tcp_poll(&qp->sq.get, 1));
	pair_tcp_expect_arrival(test, 1);
}

static void tx_open_without_a_post_is_no_work(struct kunit *test)
{
	struct srnic_qp *qp = pair_tcp_begin(test, &tx_plain);

	KUNIT_EXPECT_FALSE(test, work_busy(&qp->tx.work));
	pair_tcp_post(test, 1);
	srnic_tx_doorbell(qp);
	KUNIT_EXPECT_TRUE(test, pair_tcp_poll(&qp->sq.get, 1));
}

/* --- the end of a stream --- */

static void tx_finish_nothing_posted_at_once(struct kunit *test)
{
	struct srnic_qp *qp = pair_tcp_begin(test, &tx_plain);

	srnic_tx_finish(&qp->ibqp);
	KUNIT_EXPECT_EQ(test, pair_tcp.finishes, 1);
	KUNIT_EXPECT_EQ(test, pair_tcp.downs, 0);
	srnic_tx_doorbell(qp);
	srnic_tx_doorbell(qp);
	KUNIT_EXPECT_EQ(test, pair_tcp.finishes, 1);
}

/* Work requests posted before finish_tx() are sent, those posted after it are not. */
static void tx_finish_lets_out_what_is_posted(struct kunit *test)
{
	struct pair *p = test->priv;
	struct srnic_qp *qp = pair_tcp_begin(test, &tx_plain);

	pair_tcp_post(test, 1);
	pair_tcp_post(test, 2);
	pair_tcp.err = -ENOMEM;
	srnic_tx_finish(&qp->ibqp);
	KUNIT_EXPECT_EQ(test, pair_tcp.finishes, 0);
	pair_tcp_post(test, 3);
	pair_tcp.err = 0;
	KUNIT_EXPECT_TRUE(test, pair_tcp_poll(&pair_tcp.finishes, 1));
	srnic_tx_doorbell(qp);
	KUNIT_EXPECT_EQ(test, qp->sq.get, 2);
	pair_tcp_expect_arrival(test, 1);
	pair_tcp_expect_arrival(test, 2);
	pair_expect_no_wc(p, &p->end[1].rcq);
	KUNIT_EXPECT_EQ(test, pair_tcp.finishes, 1);
	KUNIT_EXPECT_EQ(test, pair_tcp.downs, 0);
}

/* A Read that arrived before finish_tx() is answered, one after iw_mpa_tx_finished() is not. */
static void tx_finish_answers_reads_that_have_come(struct kunit *test)
{
	struct pair *p = test->priv;
	struct srnic_qp *qp = pair_tcp_begin(test, &tx_plain);
	struct srnic_mr *mr = pair_reg(p, &p->pd, p->end[0].mem, 0x1000, PAIR_MEM,
				       IB_ACCESS_REMOTE_READ);

	tx_post_read(test, mr, 3000);
	pair_send(p, 1);
	pair_deliver(p, 1);
	pair_tcp.err = -ENOMEM;
	srnic_tx_finish(&qp->ibqp);
	pair_tcp.err = 0;
	KUNIT_EXPECT_TRUE(test, pair_tcp_poll(&pair_tcp.finishes, 1));
	KUNIT_EXPECT_GT(test, p->end[0].wire_len, 3000);
	pair_deliver(p, 0);
	KUNIT_EXPECT_EQ(test, p->end[1].qp->sq.reads, 0);
	tx_post_read(test, mr, 3000);
	pair_send(p, 1);
	pair_deliver(p, 1);
	srnic_tx_doorbell(qp);
	KUNIT_EXPECT_EQ(test, p->end[0].wire_len, 0);
	pair_expect_fault(p, 1, SRNIC_ERR_NONE);
}

/*
 * After finish_tx() a fenced Send waits for the response to a Read. If the peer closes, no response
 * can arrive any more, so srnic's sender finishes without the Send.
 */
static void tx_finish_peer_has_closed_nothing_to_wait_for(struct kunit *test)
{
	struct pair *p = test->priv;
	struct srnic_qp *qp = pair_tcp_begin(test, &tx_plain);
	struct ib_sge sge = pair_sge(p->end[0].mem, 8);
	struct ib_rdma_wr read = {
		.wr = { .opcode = IB_WR_RDMA_READ, .sg_list = &sge, .num_sge = 1 },
	};
	const struct ib_send_wr fenced = {
		.opcode = IB_WR_SEND, .sg_list = &sge, .num_sge = 1,
		.send_flags = IB_SEND_FENCE,
	};

	KUNIT_ASSERT_EQ(test, pair_post(&p->end[0], &read.wr), 0);
	KUNIT_ASSERT_EQ(test, pair_post(&p->end[0], &fenced), 0);
	srnic_tx_finish(&qp->ibqp);
	KUNIT_EXPECT_EQ(test, pair_tcp.finishes, 0);
	/* As srnic_rx_look() does */
	smp_store_release(&qp->rx.ended, true);
	srnic_tx_doorbell(qp);
	KUNIT_EXPECT_EQ(test, pair_tcp.finishes, 1);
	KUNIT_EXPECT_EQ(test, qp->sq.next, 1);
}

/* Send a Read and more Sends than RX retires at once, with room for all of their completions. */
static struct srnic_qp *tx_send_long_row_behind_read(struct kunit *test)
{
	struct pair *p = test->priv;
	struct srnic_qp *qp = pair_tcp_begin(test, &tx_plain);
	struct srnic_cq *cq = &p->end[0].scq;
	struct ib_sge sge = pair_sge(p->end[0].mem, 8);
	const struct ib_send_wr send = { .opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED };
	int i;

	qp->sq.size = TX_QUEUE;
	qp->sq.ring = kunit_kcalloc(test, TX_QUEUE, qp->sq.wqe_size, GFP_KERNEL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, qp->sq.ring);
	cq->size = TX_QUEUE;
	cq->kring = kunit_kcalloc(test, TX_QUEUE, sizeof(*cq->kring), GFP_KERNEL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, cq->kring);
	pair_post_rdma(p, 0, 0, IB_WR_RDMA_READ, &sge, 0, 0);
	for (i = 1; i < TX_ROW; i++)
		KUNIT_ASSERT_EQ(test, pair_post(&p->end[0], &send), 0);
	srnic_tx_doorbell(qp);
	flush_work(&qp->tx.work);
	KUNIT_EXPECT_EQ(test, qp->sq.sent, TX_ROW);
	KUNIT_EXPECT_EQ(test, qp->sq.get, 0);
	return qp;
}

/* Complete the Read as RX does. RX completes some of the Sends, and srnic's sender the others. */
static void tx_expect_long_row_completes(struct kunit *test, struct srnic_qp *qp)
{
	struct srnic_upcalls up = {};
	struct srnic_wqe *wqe;
	bool rtr;

	wqe = srnic_sq_oldest_read(qp, &rtr);
	KUNIT_ASSERT_PTR_EQ(test, wqe, qp->sq.ring);
	srnic_retire_read(qp, wqe, IB_WC_SUCCESS, &up);
	KUNIT_EXPECT_LT(test, qp->sq.get, TX_ROW);
	KUNIT_EXPECT_TRUE(test, up.kick);
	pair_tcp_run(qp);
	KUNIT_EXPECT_EQ(test, qp->sq.get, TX_ROW);
	KUNIT_EXPECT_EQ(test, qp->scq->put, TX_ROW);
}

/*
 * After finish_tx() srnic's receive path (RX) still completes a Read, and some of the Sends after
 * it. srnic's sender, which may not send any more, completes the other Sends.
 */
static void tx_finished_sender_retires_what_rx_leaves(struct kunit *test)
{
	struct srnic_qp *qp = tx_send_long_row_behind_read(test);

	srnic_tx_finish(&qp->ibqp);
	KUNIT_EXPECT_EQ(test, pair_tcp.finishes, 1);
	tx_expect_long_row_completes(test, qp);
	KUNIT_EXPECT_EQ(test, pair_tcp.finishes, 1);
	KUNIT_EXPECT_EQ(test, pair_tcp.downs, 0);
}

/* srnic's sender completes the Sends that RX leaves to it even while TCP refuses all bytes. */
static void tx_refused_sender_retires_what_rx_leaves(struct kunit *test)
{
	struct srnic_qp *qp = tx_send_long_row_behind_read(test);

	pair_tcp.err = -ENOMEM;
	pair_tcp_post(test, 1);
	srnic_tx_doorbell(qp);
	tx_expect_long_row_completes(test, qp);
	KUNIT_EXPECT_EQ(test, qp->sq.sent, TX_ROW);
}

/* If the completion queue overflows the stream fails, even after iw_mpa_tx_finished(). */
static void tx_finished_sender_tells_of_a_full_queue(struct kunit *test)
{
	struct srnic_qp *qp = tx_send_long_row_behind_read(test);
	struct srnic_upcalls up = {};

	srnic_tx_finish(&qp->ibqp);
	srnic_retire_read(qp, qp->sq.ring, IB_WC_SUCCESS, &up);
	qp->scq->overflowed = true;	/* not reported again: there is no ULP */
	qp->scq->get = qp->scq->put - qp->scq->size;
	pair_tcp_run(qp);
	KUNIT_EXPECT_EQ(test, qp->fault.err, SRNIC_ERR_CQ_FULL);
	KUNIT_EXPECT_EQ(test, pair_tcp.downs, 1);
}

/* After an error finish_tx() sends the Terminate message: iw_mpa_tx_finished() is not called. */
static void tx_finish_behind_error_terminates(struct kunit *test)
{
	struct pair *p = test->priv;
	struct srnic_qp *qp = pair_tcp_begin(test, &tx_marked);

	srnic_fail(qp, SRNIC_ERR_CQ_FULL);
	srnic_tx_finish(&qp->ibqp);
	KUNIT_EXPECT_EQ(test, pair_tcp.finishes, 0);
	KUNIT_EXPECT_EQ(test, pair_tcp.downs, 1);
	pair_deliver(p, 0);
	pair_expect_fault(p, 1, SRNIC_ERR_TERM_RECEIVED);
}

/* --- repeated RTR messages --- */

/*
 * A repeated RTR message is a zero-length RDMA Write, in which a Marker may be at any place. The
 * messages after it arrive as if it had not been sent.
 */
static void tx_repeat_rtr_write_of_nothing(struct kunit *test)
{
	struct pair *p = test->priv;
	struct srnic_qp *qp = pair_tcp_begin(test, &tx_marked);
	u64 id;

	for (id = 1; id <= 10; id++) {
		u32 fpdus = qp->tx.pos;

		KUNIT_EXPECT_EQ(test, srnic_tx_repeat_rtr(&qp->ibqp), 0);
		KUNIT_EXPECT_GT(test, qp->tx.pos, fpdus);
		pair_deliver(p, 0);
		pair_tcp_post(test, id);
		srnic_tx_doorbell(qp);
		pair_tcp_expect_arrival(test, id);
	}
	KUNIT_EXPECT_EQ(test, p->end[1].wire_len, 0);
}

static void tx_repeat_rtr_moving_stream_busy(struct kunit *test)
{
	struct srnic_qp *qp = pair_tcp_begin(test, &tx_marked);

	pair_tcp_post(test, 1);
	pair_tcp.err = -ENOMEM;
	srnic_tx_doorbell(qp);
	KUNIT_EXPECT_EQ(test, srnic_tx_repeat_rtr(&qp->ibqp), -EBUSY);
	pair_tcp.err = 0;
	KUNIT_EXPECT_TRUE(test, pair_tcp_poll(&qp->sq.get, 1));
	srnic_tx_finish(&qp->ibqp);
	KUNIT_EXPECT_EQ(test, srnic_tx_repeat_rtr(&qp->ibqp), -EBUSY);
	pair_tcp_expect_arrival(test, 1);
}

/*
 * There is memory for some of the 4-byte page fragments that a repeated RTR message takes, but not
 * for all. Then no byte of it is sent, and later Markers are where they would be without it.
 */
static void tx_repeat_rtr_memory_ends_midway_nothing_sent(struct kunit *test)
{
	struct pair *p = test->priv;
	struct srnic_qp *qp = pair_tcp_begin(test, &tx_marked);
	unsigned int pieces, refused = 0;
	u64 id = 0;

	for (pieces = 0; pieces < 20; pieces++) {
		u32 pos = qp->tx.pos, wire = p->end[0].wire_len;
		int err;

		pair_tcp_pages(4, pieces);
		err = srnic_tx_repeat_rtr(&qp->ibqp);
		pair_tcp.piece = 0;
		if (err) {
			KUNIT_EXPECT_EQ(test, err, -ENOMEM);
			KUNIT_EXPECT_EQ(test, qp->tx.pos, pos);
			KUNIT_EXPECT_EQ(test, p->end[0].wire_len, wire);
			KUNIT_EXPECT_EQ(test, qp->tx.batch.nbv, 0);
			KUNIT_EXPECT_EQ(test, qp->tx.batch.fpdus, 0);
			refused++;
		}
		pair_deliver(p, 0);
		pair_tcp_post(test, ++id);
		srnic_tx_doorbell(qp);
		pair_tcp_expect_arrival(test, id);
	}
	KUNIT_EXPECT_GT(test, refused, 4);
	KUNIT_EXPECT_LT(test, refused, 20);
}

static struct kunit_case tx_cases[] = {
	KUNIT_CASE_PARAM(tx_tcp_without_memory_asked_by_timer, tx_refusal_gen_params),
	KUNIT_CASE(tx_kicks_while_memory_is_short_void),
	KUNIT_CASE(tx_doorbell_of_a_busy_sender_not_lost),
	KUNIT_CASE(tx_handler_called_without_the_lock),
	KUNIT_CASE(tx_tcp_without_room_asked_when_it_has),
	KUNIT_CASE(tx_without_pages_goes_on_later),
	KUNIT_CASE(tx_terminate_without_memory_given_up),
	KUNIT_CASE_PARAM(tx_reserves_for_storage_alone, tx_who_gen_params),
	KUNIT_CASE(tx_applications_hold_up_applications_alone),
	KUNIT_CASE(tx_open_within_rx_lets_out_what_is_posted),
	KUNIT_CASE(tx_open_lets_out_what_was_posted_before_the_stream),
	KUNIT_CASE(tx_open_without_a_post_is_no_work),
	KUNIT_CASE(tx_finish_nothing_posted_at_once),
	KUNIT_CASE(tx_finish_lets_out_what_is_posted),
	KUNIT_CASE(tx_finish_answers_reads_that_have_come),
	KUNIT_CASE(tx_finish_peer_has_closed_nothing_to_wait_for),
	KUNIT_CASE(tx_finished_sender_retires_what_rx_leaves),
	KUNIT_CASE(tx_refused_sender_retires_what_rx_leaves),
	KUNIT_CASE(tx_finished_sender_tells_of_a_full_queue),
	KUNIT_CASE(tx_finish_behind_error_terminates),
	KUNIT_CASE(tx_repeat_rtr_write_of_nothing),
	KUNIT_CASE(tx_repeat_rtr_moving_stream_busy),
	KUNIT_CASE(tx_repeat_rtr_memory_ends_midway_nothing_sent),
	{}
};

static struct kunit_suite tx_suite = {
	.name = "srnic_tx",
	.init = pair_tcp_init,
	.exit = pair_tcp_exit,
	.test_cases = tx_cases,
};

kunit_test_suite(tx_suite);

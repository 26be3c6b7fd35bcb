// SPDX-License-Identifier: GPL-2.0
/*
 * srnic's sender stops for lack of memory, for lack of room in TCP's send buffer, or when it has
 * used up its quota of bytes (SRNIC_TX_QUOTA). Whenever it stops, work requests that need nothing
 * more have completed, no others have, and an application may reuse the elements of its ring whose
 * messages TCP has accepted.
 */

#include <kunit/test.h>

#include <linux/sizes.h>
#include <linux/string.h>

#include "rq.h"
#include "srnic_oracle.h"
#include "srnic_pair_tcp.h"
#include "../srnic/mem.h"	/* with a path, since user mode Linux has a mem.h, too */
#include "tx.h"

#define TURN_EMSS	1448U
#define TURN_PIECE	40000U		/* bytes of an SGE */
#define TURN_PIECES	4
#define TURN_LEN	(TURN_PIECES * TURN_PIECE)	/* more than a batch can hold */
#define TURN_BASE	0x100000ULL

static const struct pair_opts turn_opts = { .crc = true, .emss = TURN_EMSS, .ord = 2 };

static int turn_post(struct pair *p, const struct ib_send_wr *wr)
{
	const struct ib_send_wr *bad;

	return srnic_verbs.post_send(&p->end[0].qp->ibqp, wr, &bad);
}

/* Ring the doorbell, as an application does by a system call */
static void turn_doorbell(struct pair *p)
{
	KUNIT_ASSERT_EQ(p->test, turn_post(p, NULL), 0);
}

static struct srnic_qp *turn_begin_user(struct kunit *test)
{
	struct pair *p = test->priv;
	struct srnic_qp *qp = pair_user(p, &turn_opts)->qp;

	srnic_driver_ops.open_tx(&qp->ibqp);
	return qp;
}

/* --- work requests that need no memory --- */

/*
 * LOCAL_INV and REG_MR send nothing. So they complete even if no page can be allocated, while a
 * Send that was posted after them waits for memory. A ULP may need LOCAL_INV to free memory.
 */
static void turn_what_needs_no_memory_completes_without(struct kunit *test)
{
	struct srnic_qp *qp = pair_tcp_begin(test, &turn_opts);
	struct pair *p = test->priv;
	struct srnic_mr *mr = pair_reg(p, &p->pd, p->end[0].mem, TURN_BASE, 100, 0);
	struct ib_sge sge = pair_sge(p->end[0].mem, 100);
	struct ib_send_wr send = {
		.wr_id = 4, .opcode = IB_WR_SEND, .sg_list = &sge, .num_sge = 1,
		.send_flags = IB_SEND_SIGNALED,
	};
	struct ib_send_wr again = {
		.wr_id = 3, .opcode = IB_WR_LOCAL_INV, .send_flags = IB_SEND_SIGNALED,
		.ex.invalidate_rkey = mr->stag ^ 1, .next = &send,
	};
	struct ib_reg_wr reg = {
		.wr = { .wr_id = 2, .opcode = IB_WR_REG_MR, .send_flags = IB_SEND_SIGNALED,
			.next = &again },
		.mr = &mr->ibmr, .key = mr->stag ^ 1,
	};
	const struct ib_send_wr inv = {
		.wr_id = 1, .opcode = IB_WR_LOCAL_INV, .send_flags = IB_SEND_SIGNALED,
		.ex.invalidate_rkey = mr->stag, .next = &reg.wr,
	};
	int i;

	pair_post_recv(&p->end[1], 4, p->end[1].mem, 100);
	mr->ibmr.length = 100;
	pair_tcp_pages(4, 0);
	KUNIT_ASSERT_EQ(test, turn_post(p, &inv), 0);
	pair_tcp_run(qp);
	pair_tcp_pass(2 * SRNIC_RETRY_MS);
	for (i = 1; i < 4; i++)
		pair_expect_wc(p, &p->end[0].scq, i, IB_WC_SUCCESS);
	pair_tcp_pass(10 * SRNIC_RETRY_MS);
	pair_expect_no_wc(p, &p->end[0].scq);
	KUNIT_EXPECT_EQ(test, pair_tcp.calls, 0);
	pair_tcp.piece = 0;
	pair_tcp_pass(2 * SRNIC_RETRY_MS);
	pair_tcp_expect_arrival(test, 4);
}

/*
 * While a Read Request waits for memory it has not been sent, so a Read Response that arrives in
 * this time is an error.
 */
static void turn_read_without_memory_is_not_asked(struct kunit *test)
{
	static const u8 payload[8];
	struct srnic_qp *qp = pair_tcp_begin(test, &turn_opts);
	struct pair *p = test->priv;
	struct ib_sge sge = pair_sge(p->end[0].mem, 8);
	const struct ib_rdma_wr read = {
		.wr = {
			.opcode = IB_WR_RDMA_READ, .sg_list = &sge, .num_sge = 1,
			.send_flags = IB_SEND_SIGNALED,
		},
	};
	struct oracle o = {
		.to = p->end[1].wire, .size = PAIR_WIRE, .crc = true,
		.mulpdu = oracle_mulpdu(TURN_EMSS, false),
	};

	pair_tcp_pages(4, 0);
	memset(p->end[0].mem, 0xee, 8);
	KUNIT_ASSERT_EQ(test, turn_post(p, &read.wr), 0);
	pair_tcp_run(qp);
	oracle_message(&o, &(struct oracle_msg) {
		.op = ORACLE_READ_RESP, .stag = sge.lkey, .to = sge.addr, .payload = payload,
		.len = 8,
	});
	p->end[1].wire_len = o.len;
	pair_deliver(p, 1);
	pair_expect_fault(p, 0, SRNIC_ERR_RESP_NONE);
	KUNIT_EXPECT_PTR_EQ(test, memchr_inv(p->end[0].mem, 0xee, 8), NULL);
	pair_expect_no_wc(p, &p->end[0].scq);
}

/* --- messages that TCP has a part of --- */

/*
 * Return a generator of FPDUs (struct oracle) with the bytes that are expected on the wire for a
 * Send of TURN_PIECES SGEs, all of them of the memory @mem
 */
static struct oracle *turn_oracle(struct kunit *test, const u8 *mem)
{
	struct oracle *o = kunit_kzalloc(test, sizeof(*o), GFP_KERNEL);
	u8 *payload = kunit_kzalloc(test, TURN_LEN, GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, o);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, payload);
	*o = (struct oracle) {
		.to = kunit_kzalloc(test, PAIR_WIRE, GFP_KERNEL), .size = PAIR_WIRE, .crc = true,
		.mulpdu = oracle_mulpdu(TURN_EMSS, false),
	};
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, o->to);
	for (i = 0; i < TURN_PIECES; i++)
		memcpy(payload + i * TURN_PIECE, mem, TURN_PIECE);
	oracle_message(o, &(struct oracle_msg) {
		.op = ORACLE_SEND, .msn = 1, .payload = payload, .len = TURN_LEN,
	});
	return o;
}

static void turn_fill(u8 *mem)
{
	u32 i;

	for (i = 0; i < TURN_PIECE; i++)
		mem[i] = i * 7 + (i >> 8);
}

/*
 * An application may reuse an element of its ring when TCP has accepted the
 * last byte of the element's message, and not before, however many pieces TCP
 * accepts the message in.
 */
static void turn_element_is_given_back_with_the_last_byte(struct kunit *test)
{
	static const u32 portions[] = { 1, 999, 1448, 40000, 100000, 5000, 3000 };
	struct srnic_qp *qp = turn_begin_user(test);
	struct pair *p = test->priv;
	struct pair_end *e = &p->end[0];
	struct siw_sqe *ring = qp->sq.uring;
	struct siw_sge sge = { .laddr = TURN_BASE, .length = TURN_PIECE };
	struct siw_sqe sqe = {
		.id = 1, .opcode = SIW_OP_SEND, .flags = SIW_WQE_SIGNALLED, .num_sge = TURN_PIECES,
	};
	const struct siw_sqe empty = {
		.id = 2, .opcode = SIW_OP_SEND, .flags = SIW_WQE_SIGNALLED,
	};
	struct oracle *o;
	int i;

	sge.lkey = pair_reg(p, &p->pd, e->mem, TURN_BASE, TURN_PIECE, 0)->stag;
	for (i = 0; i < TURN_PIECES; i++)
		sqe.sge[i] = sge;
	turn_fill(e->mem);
	o = turn_oracle(test, e->mem);
	pair_post_user(e, 0, &sqe);
	pair_post_user(e, 1, &empty);
	pair_tcp.limited = true;
	turn_doorbell(p);
	for (i = 0; i < ARRAY_SIZE(portions); i++) {
		pair_tcp_give_room(p, portions[i]);
		KUNIT_EXPECT_TRUE(test, ring[0].flags & SIW_WQE_VALID);
		pair_expect_no_wc(p, &e->scq);
	}
	pair_tcp_give_room(p, o->len - pair_tcp.taken - 1);
	KUNIT_EXPECT_EQ(test, pair_tcp.taken, o->len - 1);
	KUNIT_EXPECT_TRUE(test, ring[0].flags & SIW_WQE_VALID);
	pair_expect_no_wc(p, &e->scq);
	pair_tcp_give_room(p, U32_MAX);
	KUNIT_EXPECT_EQ(test, ring[0].flags, 0);
	KUNIT_EXPECT_EQ(test, ring[1].flags, 0);
	pair_expect_wc(p, &e->scq, 1, IB_WC_SUCCESS);
	pair_expect_wc(p, &e->scq, 2, IB_WC_SUCCESS);
	KUNIT_ASSERT_GT(test, e->wire_len, o->len);
	KUNIT_EXPECT_EQ(test, memcmp(e->wire, o->to, o->len), 0);
	qp->user = false;
}

/*
 * A Read Response arrives while TCP has accepted only a part of a later Send. The Read completes,
 * and so do the work requests between the Read and that Send, but the Send does not.
 */
static void turn_message_under_way_does_not_complete(struct kunit *test)
{
	struct srnic_qp *qp = pair_tcp_begin(test, &turn_opts);
	struct pair *p = test->priv;
	struct pair_end *e = &p->end[0];
	struct ib_sge sge[TURN_PIECES];
	struct ib_send_wr wr[] = {
		{ .wr_id = 2, .opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED,
		  .next = &wr[1] },
		{ .wr_id = 3, .opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED,
		  .next = &wr[2], .sg_list = sge, .num_sge = TURN_PIECES },
		{ .wr_id = 4, .opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED },
	};
	struct ib_sge sink = pair_sge(e->mem + TURN_PIECE, 8);
	const struct ib_rdma_wr read = {
		.wr = { .wr_id = 1, .opcode = IB_WR_RDMA_READ, .send_flags = IB_SEND_SIGNALED,
			.sg_list = &sink, .num_sge = 1, .next = &wr[0] },
	};
	struct oracle o = {
		.to = p->end[1].wire, .size = PAIR_WIRE, .crc = true,
		.mulpdu = oracle_mulpdu(TURN_EMSS, false),
	};
	int i;

	for (i = 0; i < TURN_PIECES; i++)
		sge[i] = pair_sge(e->mem, TURN_PIECE);
	pair_tcp.limited = true;
	KUNIT_ASSERT_EQ(test, turn_post(p, &read.wr), 0);
	pair_tcp_run(qp);
	pair_tcp_give_room(p, SRNIC_BATCH_BYTES + 10000);
	KUNIT_EXPECT_EQ(test, pair_tcp.taken, SRNIC_BATCH_BYTES + 10000);
	pair_expect_no_wc(p, &e->scq);
	oracle_message(&o, &(struct oracle_msg) {
		.op = ORACLE_READ_RESP, .stag = sink.lkey, .to = sink.addr, .payload = e->mem,
		.len = 8,
	});
	p->end[1].wire_len = o.len;
	pair_tcp_arrive(p);
	pair_expect_wc(p, &e->scq, 1, IB_WC_SUCCESS);
	pair_expect_wc(p, &e->scq, 2, IB_WC_SUCCESS);
	pair_expect_no_wc(p, &e->scq);
	pair_tcp_give_room(p, U32_MAX);
	for (i = 3; i < 5; i++)
		pair_expect_wc(p, &e->scq, i, IB_WC_SUCCESS);
	pair_expect_fault(p, 0, SRNIC_ERR_NONE);
}

/*
 * While a Read is unanswered TCP accepts the Sends after it, so the application reuses their
 * elements of the ring. But WQEs, srnic's copies of the elements, complete only after the Read: no
 * WQE is free for the last two elements. The application rings no doorbell for the very last one,
 * since the element before it is still valid. So the Read Response has to run srnic's sender.
 */
static void turn_full_queue_goes_on_with_the_answer(struct kunit *test)
{
	struct srnic_qp *qp = turn_begin_user(test);
	struct pair *p = test->priv;
	struct pair_end *e = &p->end[0];
	struct siw_sqe sqe = { .flags = SIW_WQE_SIGNALLED, .opcode = SIW_OP_READ, .num_sge = 1 };
	const u32 posted = PAIR_WRS + 2;
	struct oracle o = {
		.to = p->end[1].wire, .size = PAIR_WIRE, .crc = true,
		.mulpdu = oracle_mulpdu(TURN_EMSS, false),
	};

	sqe.sge[0].laddr = TURN_BASE;
	sqe.sge[0].length = 8;
	sqe.sge[0].lkey = pair_reg(p, &p->pd, e->mem, TURN_BASE, 8, IB_ACCESS_LOCAL_WRITE)->stag;
	for (; sqe.id < posted; sqe.id++) {
		KUNIT_ASSERT_EQ(test, qp->sq.uring[sqe.id % PAIR_WRS].flags, 0);
		pair_post_user(e, sqe.id, &sqe);
		if (sqe.id <= PAIR_WRS)		/* the previous element is free */
			turn_doorbell(p);
		sqe.opcode = SIW_OP_SEND;
		sqe.num_sge = 0;
	}
	flush_work(&qp->tx.work);
	pair_expect_no_wc(p, &e->scq);
	oracle_message(&o, &(struct oracle_msg) {
		.op = ORACLE_READ_RESP, .stag = sqe.sge[0].lkey, .to = TURN_BASE,
		.payload = p->end[1].mem, .len = 8,
	});
	p->end[1].wire_len = o.len;
	pair_tcp_arrive(p);
	for (sqe.id = 0; sqe.id < posted; sqe.id++)
		pair_expect_wc(p, &e->scq, sqe.id, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, qp->sq.uring[(posted - 1) % PAIR_WRS].flags, 0);
	qp->user = false;
}

/* --- how long srnic's sender goes on --- */

#define QUOTA_SLACK	(2 * SRNIC_BATCH_BYTES)	/* one batch more, with its headers */
#define QUOTA_TOTAL	(PAIR_WRS * SRNIC_MAX_SGE * PAIR_MEM)

/*
 * A kernel ULP sends six megabytes: after each megabyte (SRNIC_TX_QUOTA) the
 * sender's work item ends, and is queued behind those of other QPs.
 */
static void turn_of_a_worker_ends_with_the_quota(struct kunit *test)
{
	struct srnic_qp *qp = pair_tcp_begin(test, &turn_opts);
	struct pair *p = test->priv;
	struct ib_sge sge[SRNIC_MAX_SGE];
	const struct ib_send_wr wr = {
		.opcode = IB_WR_SEND, .sg_list = sge, .num_sge = SRNIC_MAX_SGE,
	};
	u64 runs;
	int i;

	for (i = 0; i < SRNIC_MAX_SGE; i++)
		sge[i] = pair_sge(p->end[0].mem, PAIR_MEM);
	pair_tcp.to = NULL;
	for (i = 0; i < PAIR_WRS; i++)
		KUNIT_ASSERT_EQ(test, pair_post(&p->end[0], &wr), 0);
	pair_tcp_run(qp);
	KUNIT_ASSERT_GT(test, pair_tcp.taken, QUOTA_TOTAL);
	runs = pair_count(p, SRNIC_CNT_tx_work);
	KUNIT_EXPECT_GE(test, runs, QUOTA_TOTAL / (SRNIC_TX_QUOTA + QUOTA_SLACK));
	KUNIT_EXPECT_LE(test, runs, 2 * QUOTA_TOTAL / SRNIC_TX_QUOTA + 2);
}

/*
 * The system call by which an application rings the doorbell returns when srnic's sender has sent
 * SRNIC_TX_QUOTA; the sender's work item sends the rest.
 */
static void turn_of_a_doorbell_ends_with_the_quota(struct kunit *test)
{
	struct srnic_qp *qp = turn_begin_user(test);
	struct pair *p = test->priv;
	struct siw_sqe sqe = { .opcode = SIW_OP_SEND, .num_sge = SRNIC_MAX_SGE };
	u32 stag, i;

	stag = pair_reg(p, &p->pd, p->end[0].mem, TURN_BASE, PAIR_MEM, 0)->stag;
	for (i = 0; i < SRNIC_MAX_SGE; i++)
		sqe.sge[i] = (struct siw_sge) {
			.laddr = TURN_BASE, .length = PAIR_MEM, .lkey = stag,
		};
	for (i = 0; i < PAIR_WRS; i++)
		pair_post_user(&p->end[0], i, &sqe);
	pair_tcp.to = NULL;
	turn_doorbell(p);
	KUNIT_EXPECT_LE(test, pair_tcp.taken, SRNIC_TX_QUOTA + QUOTA_SLACK);
	KUNIT_EXPECT_GE(test, pair_tcp.taken, SRNIC_TX_QUOTA / 2);
	pair_tcp_run(qp);
	KUNIT_EXPECT_GT(test, pair_tcp.taken, QUOTA_TOTAL);
	qp->user = false;
}

static struct kunit_case turn_cases[] = {
	KUNIT_CASE(turn_what_needs_no_memory_completes_without),
	KUNIT_CASE(turn_read_without_memory_is_not_asked),
	KUNIT_CASE(turn_element_is_given_back_with_the_last_byte),
	KUNIT_CASE(turn_message_under_way_does_not_complete),
	KUNIT_CASE(turn_full_queue_goes_on_with_the_answer),
	KUNIT_CASE(turn_of_a_worker_ends_with_the_quota),
	KUNIT_CASE(turn_of_a_doorbell_ends_with_the_quota),
	{}
};

static struct kunit_suite turn_suite = {
	.name = "srnic_turn",
	.init = pair_tcp_init,
	.exit = pair_tcp_exit,
	.test_cases = turn_cases,
};

kunit_test_suite(turn_suite);

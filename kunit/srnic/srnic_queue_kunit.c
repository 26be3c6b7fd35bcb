// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the send queue. An application posts work requests to a ring of elements that it shares
 * with the kernel. Here the test writes to the ring, like a correct or a malicious application.
 */

#include "srnic_pair.h"

#include <linux/delay.h>
#include <linux/irqflags.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/timer.h>

#include "rq.h"
#include "sq.h"
#include "tx.h"
#include "../srnic/mem.h"	/* srnic's, by its path: user mode Linux has a mem.h, too */
#include "fpdu.h"

static const struct pair_opts queue_opts = { .crc = true, .emss = 1448, .ord = 2 };

/*
 * An element of an application's ring stays in use until TCP has accepted the element's message.
 * Then srnic frees the element, before it completes the work request.
 */
static void sq_user_element_free_between_sent_and_completion(struct kunit *test)
{
	struct pair *p = test->priv;
	struct pair_end *e = pair_user(test->priv, &queue_opts);
	struct srnic_upcalls up = {};
	const struct siw_sqe sqe = {
		.id = 7, .opcode = SIW_OP_SEND, .flags = SIW_WQE_SIGNALLED,
	};
	struct siw_sqe *slot = e->qp->sq.uring;

	pair_post_user(e, 0, &sqe);
	KUNIT_ASSERT_GT(test, srnic_send_fill(e->qp), 0);
	KUNIT_EXPECT_TRUE(test, slot->flags & SIW_WQE_VALID);
	pair_expect_no_wc(p, &e->scq);
	srnic_batch_reset(&e->qp->tx.batch);
	srnic_sq_sent(e->qp, &up);
	KUNIT_EXPECT_EQ(test, slot->flags, 0);
	pair_expect_wc(p, &e->scq, 7, IB_WC_SUCCESS);
}

/*
 * srnic_send_has_work() returns true for all work that the sender would find, and also if the WQE
 * table is full.
 */
static void sq_user_idle_is_nothing_at_all(struct kunit *test)
{
	struct srnic_qp *qp = pair_user(test->priv, &queue_opts)->qp;
	const u8 read[SRNIC_READ_ULPDU] = {};

	KUNIT_EXPECT_FALSE(test, srnic_send_has_work(qp));
	qp->sq.uring[0].flags = SIW_WQE_VALID;
	KUNIT_EXPECT_TRUE(test, srnic_send_has_work(qp));
	qp->sq.uring[0].flags = 0;
	qp->tx.msg.kind = SRNIC_MSG_RESP;
	KUNIT_EXPECT_TRUE(test, srnic_send_has_work(qp));
	qp->tx.msg.kind = SRNIC_MSG_NONE;
	srnic_irq_put(&qp->irq, read);
	KUNIT_EXPECT_TRUE(test, srnic_send_has_work(qp));
	srnic_irq_get(&qp->irq);
	KUNIT_EXPECT_FALSE(test, srnic_send_has_work(qp));
	qp->sq.put++;
	KUNIT_EXPECT_TRUE(test, srnic_send_has_work(qp));
	qp->sq.next = qp->sq.put;
	KUNIT_EXPECT_FALSE(test, srnic_send_has_work(qp));
	qp->sq.get = qp->sq.put - qp->sq.size;
	KUNIT_EXPECT_TRUE(test, srnic_send_has_work(qp));
	qp->sq.get = qp->sq.put;
}

/* srnic copies an element of an application's ring: later changes of the element have no effect. */
static void sq_user_element_changed_later_void(struct kunit *test)
{
	struct pair *p = test->priv;
	struct pair_end *e = pair_user(test->priv, &queue_opts);
	struct srnic_upcalls up = {};
	const struct siw_sqe sqe = {
		.id = 7, .opcode = SIW_OP_SEND, .flags = SIW_WQE_SIGNALLED | SIW_WQE_INLINE,
		.sge = { { .length = 8 } },
	};

	pair_post_user(e, 0, &sqe);
	KUNIT_ASSERT_GT(test, srnic_send_fill(e->qp), 0);
	memset(e->qp->sq.uring, 0xff, PAIR_WRS * sizeof(*e->qp->sq.uring));
	srnic_batch_reset(&e->qp->tx.batch);
	srnic_sq_sent(e->qp, &up);
	pair_expect_wc(p, &e->scq, 7, IB_WC_SUCCESS);
}

struct bad_row {
	const char	*desc;
	struct siw_sqe	sqe;
	u8		op;	/* opcode of the completion, for libsiw */
};

#define BAD(_desc, _op, ...) { _desc, { .id = 3, __VA_ARGS__ }, _op }

static const struct bad_row bad_rows[] = {
	BAD("opcode_read_local_inv", SIW_OP_WRITE, .opcode = SIW_OP_READ_LOCAL_INV),
	BAD("opcode_send_with_imm", SIW_OP_WRITE, .opcode = SIW_OP_SEND_WITH_IMM),
	BAD("opcode_fetch_and_add", SIW_OP_WRITE, .opcode = SIW_OP_FETCH_AND_ADD),
	BAD("opcode_comp_and_swap", SIW_OP_WRITE, .opcode = SIW_OP_COMP_AND_SWAP),
	BAD("opcode_receive", SIW_OP_WRITE, .opcode = SIW_OP_RECEIVE),
	BAD("opcode_read_response", SIW_OP_WRITE, .opcode = SIW_OP_READ_RESPONSE),
	BAD("opcode_inval_stag", SIW_OP_WRITE, .opcode = SIW_OP_INVAL_STAG),
	BAD("opcode_reg_mr", SIW_OP_WRITE, .opcode = SIW_OP_REG_MR, .base_mr = ~0ULL),
	BAD("opcode_12", SIW_OP_WRITE, .opcode = 12),
	BAD("opcode_255", SIW_OP_WRITE, .opcode = 255),
	BAD("seven_sges", SIW_OP_SEND, .opcode = SIW_OP_SEND, .num_sge = 7),
	BAD("sges_255", SIW_OP_WRITE, .opcode = SIW_OP_WRITE, .num_sge = 255),
	BAD("read_of_two_sges", SIW_OP_READ, .opcode = SIW_OP_READ, .num_sge = 2),
	BAD("read_inline", SIW_OP_READ, .opcode = SIW_OP_READ, .flags = SIW_WQE_INLINE),
	BAD("inline_81", SIW_OP_SEND, .opcode = SIW_OP_SEND, .flags = SIW_WQE_INLINE,
	    .sge = { { .length = 81 } }),
	BAD("inline_2_32", SIW_OP_SEND, .opcode = SIW_OP_SEND, .flags = SIW_WQE_INLINE,
	    .sge = { { .length = U32_MAX } }),
	BAD("D-5.2-2_sum_2_32", SIW_OP_SEND, .opcode = SIW_OP_SEND, .num_sge = 2,
	    .sge = { { .length = 0x80000000 }, { .length = 0x80000000 } }),
};

KUNIT_ARRAY_PARAM_DESC(bad, bad_rows, desc);

/*
 * An invalid element of an application's ring completes in error and ends the QP's stream; the next
 * element is flushed.
 */
static void sq_user_element_bad_completes_in_error(struct kunit *test)
{
	const struct bad_row *row = test->param_value;
	struct pair *p = test->priv;
	struct pair_end *e = pair_user(test->priv, &queue_opts);
	const struct siw_sqe good = { .id = 4, .opcode = SIW_OP_SEND };
	struct srnic_upcalls up = {};
	u32 word = 0;
	struct siw_cqe *cqe = pair_user_cq(test, &e->scq, &word);

	pair_post_user(e, 0, &row->sqe);
	pair_post_user(e, 1, &good);
	KUNIT_ASSERT_GT(test, srnic_send_fill(e->qp), 0);
	KUNIT_EXPECT_EQ(test, e->qp->tx.batch.len, 0);
	pair_expect_fault(p, 0, SRNIC_ERR_LOCAL);
	srnic_sq_sent(e->qp, &up);
	KUNIT_EXPECT_EQ(test, cqe[0].flags, SIW_WQE_VALID);
	KUNIT_EXPECT_EQ(test, cqe[0].id, 3);
	KUNIT_EXPECT_EQ(test, cqe[0].status, SIW_WC_LOC_QP_OP_ERR);
	KUNIT_EXPECT_EQ(test, cqe[0].opcode, row->op);
	srnic_retire_flush(e->qp, &up);
	KUNIT_EXPECT_EQ(test, cqe[1].id, 4);
	KUNIT_EXPECT_EQ(test, cqe[1].status, SIW_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_EQ(test, cqe[1].opcode, SIW_OP_SEND);
	KUNIT_EXPECT_EQ(test, cqe[2].flags, 0);
	KUNIT_EXPECT_EQ(test, pair_count(p, SRNIC_CNT_wr_invalid), 1);
}

/*
 * If an application sets the VALID bits of its ring again and again, a flush still ends after each
 * element was flushed once.
 */
static void sq_user_ring_always_valid_flush_ends(struct kunit *test)
{
	struct pair_end *e = pair_user(test->priv, &queue_opts);
	struct srnic_upcalls up = {};
	int i, rounds;

	e->scq.overflowed = true;	/* no report of the overflow: there is no ULP */
	for (rounds = 1; rounds <= PAIR_CQES / PAIR_WRS + 1; rounds++) {
		for (i = 0; i < PAIR_WRS; i++)
			e->qp->sq.uring[i].flags = 0xffff;
		srnic_retire_flush(e->qp, &up);
		KUNIT_EXPECT_EQ(test, e->qp->sq.get, rounds * PAIR_WRS);
		KUNIT_EXPECT_EQ(test, e->qp->sq.put, rounds * PAIR_WRS);
	}
	KUNIT_EXPECT_TRUE(test, up.full);
}

/*
 * Work requests after an unanswered Read stay in the WQE table. If the table is full the sender
 * stops; the Read's response has to make it run again.
 */
static void sq_user_ring_full_of_reads_sender_kicked(struct kunit *test)
{
	struct pair *p = test->priv;
	struct pair_end *e = pair_user(test->priv, &queue_opts);
	const struct siw_sqe read = { .opcode = SIW_OP_READ, .flags = SIW_WQE_SIGNALLED };
	const struct siw_sqe send = { .opcode = SIW_OP_SEND, .flags = SIW_WQE_SIGNALLED };
	struct srnic_upcalls up = {};
	struct srnic_wqe *wqe;
	bool rtr;
	u32 i;

	pair_post_user(e, 0, &read);
	for (i = 1; i < PAIR_WRS; i++)
		pair_post_user(e, i, &send);
	pair_send(p, 0);
	KUNIT_EXPECT_EQ(test, e->qp->sq.sent, PAIR_WRS);
	KUNIT_EXPECT_EQ(test, e->qp->sq.get, 0);
	/*
	 * All elements of the ring are free, so one more can be posted, but there is no WQE for it.
	 */
	KUNIT_EXPECT_EQ(test, e->qp->sq.uring[0].flags, 0);
	pair_post_user(e, PAIR_WRS, &send);
	KUNIT_EXPECT_PTR_EQ(test, srnic_sq_next(e->qp), NULL);
	KUNIT_EXPECT_TRUE(test, e->qp->sq.waits);
	wqe = srnic_sq_oldest_read(e->qp, &rtr);
	KUNIT_ASSERT_PTR_EQ(test, wqe, srnic_sq_wqe(&e->qp->sq, 0));
	srnic_retire_read(e->qp, wqe, IB_WC_SUCCESS, &up);
	KUNIT_EXPECT_TRUE(test, up.kick);
	KUNIT_EXPECT_EQ(test, e->qp->sq.get, PAIR_WRS);
	KUNIT_EXPECT_NOT_ERR_OR_NULL(test, srnic_sq_next(e->qp));
}

/*
 * An RTR message by Read has no work request, but counts as an open Read. With ORD 1 the ULP's Read
 * waits for the response to the RTR message, which has to make the sender run.
 */
static void sq_read_behind_rtr_read_sender_kicked(struct kunit *test)
{
	struct pair *p = test->priv;
	struct srnic_qp *qp = p->end[0].qp;
	struct ib_sge sge = pair_sge(p->end[0].mem, 8);
	struct srnic_upcalls up = {};

	pair_start(p, &queue_opts);
	qp->params.ord = 1;
	KUNIT_ASSERT_TRUE(test, srnic_sq_expect_rtr(qp));
	pair_post_rdma(p, 0, 0, IB_WR_RDMA_READ, &sge, 0, 0);
	KUNIT_EXPECT_PTR_EQ(test, srnic_sq_next(qp), NULL);
	srnic_retire_read(qp, NULL, IB_WC_SUCCESS, &up);
	KUNIT_EXPECT_TRUE(test, up.kick);
	KUNIT_EXPECT_NOT_NULL(test, srnic_sq_next(qp));
}

/* With ORD 0 a Read is not sent, but fails. */
/* Rules: R-6.1-5: no FPDU is made, and LOC_QP_OP_ERR */
static void sq_read_with_ord_0_fails(struct kunit *test)
{
	struct pair *p = test->priv;
	const struct ib_rdma_wr wr = { .wr = { .wr_id = 5, .opcode = IB_WR_RDMA_READ } };
	struct srnic_upcalls up = {};

	pair_start(p, &queue_opts);
	p->end[0].qp->params.ord = 0;
	KUNIT_ASSERT_EQ(test, pair_post(&p->end[0], &wr.wr), 0);
	KUNIT_ASSERT_GT(test, srnic_send_fill(p->end[0].qp), 0);
	KUNIT_EXPECT_EQ(test, p->end[0].qp->tx.batch.len, 0);
	srnic_sq_sent(p->end[0].qp, &up);
	pair_expect_wc(p, &p->end[0].scq, 5, IB_WC_LOC_QP_OP_ERR);
	KUNIT_EXPECT_FALSE(test, srnic_sq_expect_rtr(p->end[0].qp));
}

static void sq_post_kernel_limits_kept(struct kunit *test)
{
	struct ib_sge sge[SRNIC_MAX_SGE + 1] = { { .length = U32_MAX }, { .length = 1 } };
	struct ib_send_wr wr = { .opcode = IB_WR_SEND, .sg_list = sge };
	struct pair *p = test->priv;
	const struct ib_send_wr *bad;
	int i;

	pair_start(p, &queue_opts);
	wr.num_sge = 2;
	KUNIT_EXPECT_EQ(test, pair_post(&p->end[0], &wr), -EINVAL);
	wr.num_sge = SRNIC_MAX_SGE + 1;
	KUNIT_EXPECT_EQ(test, pair_post(&p->end[0], &wr), -EINVAL);
	wr.num_sge = -1;
	KUNIT_EXPECT_EQ(test, pair_post(&p->end[0], &wr), -EINVAL);
	wr.num_sge = 0;
	wr.opcode = IB_WR_ATOMIC_CMP_AND_SWP;
	KUNIT_EXPECT_EQ(test, pair_post(&p->end[0], &wr), -EOPNOTSUPP);
	wr.opcode = IB_WR_SEND_WITH_IMM;
	KUNIT_EXPECT_EQ(test, pair_post(&p->end[0], &wr), -EOPNOTSUPP);
	wr.opcode = IB_WR_SEND;
	for (i = 0; i < PAIR_WRS; i++)
		KUNIT_EXPECT_EQ(test, pair_post(&p->end[0], &wr), 0);
	KUNIT_EXPECT_EQ(test, srnic_sq_post(p->end[0].qp, &wr, &bad), -ENOMEM);
	KUNIT_EXPECT_PTR_EQ(test, bad, (const struct ib_send_wr *)&wr);
}

/* A flush completes each work request once, in order, and none succeeds after a flushed Read */
/* Rules: D-6.2.2-1: one completion for each of four work requests, in order */
static void sq_flush_completes_all_once(struct kunit *test)
{
	const struct ib_rdma_wr read = {
		.wr = { .wr_id = 2, .opcode = IB_WR_RDMA_READ },
	};
	struct ib_send_wr wr = { .wr_id = 1, .opcode = IB_WR_SEND };
	struct pair *p = test->priv;
	struct srnic_upcalls up = {};

	pair_start(p, &queue_opts);
	wr.send_flags = IB_SEND_SIGNALED;
	KUNIT_ASSERT_EQ(test, pair_post(&p->end[0], &wr), 0);
	KUNIT_ASSERT_EQ(test, pair_post(&p->end[0], &read.wr), 0);
	wr.wr_id = 3;
	wr.send_flags = 0;
	KUNIT_ASSERT_EQ(test, pair_post(&p->end[0], &wr), 0);
	pair_send(p, 0);
	wr.wr_id = 4;
	KUNIT_ASSERT_EQ(test, pair_post(&p->end[0], &wr), 0);
	srnic_retire_flush(p->end[0].qp, &up);
	pair_expect_wc(p, &p->end[0].scq, 1, IB_WC_SUCCESS);
	pair_expect_wc(p, &p->end[0].scq, 2, IB_WC_WR_FLUSH_ERR);
	pair_expect_wc(p, &p->end[0].scq, 3, IB_WC_WR_FLUSH_ERR);
	pair_expect_wc(p, &p->end[0].scq, 4, IB_WC_WR_FLUSH_ERR);
	pair_expect_no_wc(p, &p->end[0].scq);
	KUNIT_EXPECT_TRUE(test, srnic_sq_is_empty(p->end[0].qp));
	KUNIT_EXPECT_EQ(test, p->end[0].qp->sq.reads, 0);
	KUNIT_EXPECT_FALSE(test, p->end[0].qp->sq.failed);
}

/* No work request succeeds after a Read whose response RX could not place */
/* Rules: D-6.2.2-1: the Send, which was sent, is flushed after the Read */
static void sq_send_behind_failed_read_flushed(struct kunit *test)
{
	const struct ib_rdma_wr read = {
		.wr = { .wr_id = 1, .opcode = IB_WR_RDMA_READ },
	};
	const struct ib_send_wr wr = { .wr_id = 2, .opcode = IB_WR_SEND };
	struct pair *p = test->priv;
	struct srnic_qp *qp = p->end[0].qp;
	struct srnic_upcalls up = {};
	bool rtr;

	pair_start(p, &queue_opts);
	KUNIT_ASSERT_EQ(test, pair_post(&p->end[0], &read.wr), 0);
	KUNIT_ASSERT_EQ(test, pair_post(&p->end[0], &wr), 0);
	pair_send(p, 0);
	pair_expect_no_wc(p, &p->end[0].scq);
	srnic_retire_read(qp, srnic_sq_oldest_read(qp, &rtr), IB_WC_LOC_PROT_ERR, &up);
	pair_expect_wc(p, &p->end[0].scq, 1, IB_WC_LOC_PROT_ERR);
	pair_expect_wc(p, &p->end[0].scq, 2, IB_WC_WR_FLUSH_ERR);
	pair_expect_no_wc(p, &p->end[0].scq);
	KUNIT_EXPECT_EQ(test, pair_count(p, SRNIC_CNT_wr_flushed), 1);
}

static void queue_expect_sent(struct pair *p, u32 n)
{
	KUNIT_EXPECT_EQ(p->test, p->end[0].qp->sq.sent, n);
}

/* In a close by FIN the sender sends what was posted before, and nothing that is posted later */
/* Rules: D-6.2.1-1: two Sends are sent and succeed, the third is flushed */
static void sq_limit_ends_the_stream(struct kunit *test)
{
	struct ib_send_wr wr = { .opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED };
	struct pair *p = test->priv;
	struct srnic_qp *qp = p->end[0].qp;
	struct srnic_upcalls up = {};

	pair_start(p, &queue_opts);
	for (wr.wr_id = 0; wr.wr_id < 2; wr.wr_id++)
		KUNIT_ASSERT_EQ(test, pair_post(&p->end[0], &wr), 0);
	KUNIT_EXPECT_FALSE(test, srnic_sq_is_at_limit(qp));
	srnic_sq_limit(qp);
	qp->tx.state = SRNIC_TX_FINISHING;
	KUNIT_EXPECT_FALSE(test, srnic_sq_is_at_limit(qp));
	KUNIT_ASSERT_EQ(test, pair_post(&p->end[0], &wr), 0);
	pair_send(p, 0);
	KUNIT_EXPECT_TRUE(test, srnic_sq_is_at_limit(qp));
	queue_expect_sent(p, 2);
	pair_expect_wc(p, &p->end[0].scq, 0, IB_WC_SUCCESS);
	pair_expect_wc(p, &p->end[0].scq, 1, IB_WC_SUCCESS);
	pair_expect_no_wc(p, &p->end[0].scq);
	srnic_retire_flush(qp, &up);
	pair_expect_wc(p, &p->end[0].scq, 2, IB_WC_WR_FLUSH_ERR);
}

/*
 * When the ULP or the peer closes the stream by a FIN, srnic still sends all that is in the
 * application's ring at that moment, whether srnic has copied it to a WQE or not. Here the ring is
 * full, and srnic has copied one of its elements.
 */
/* Rules: D-6.2.1-1: what is in the ring at the close is sent, and nothing after it */
static void sq_user_limit_counts_the_ring(struct kunit *test)
{
	const struct siw_sqe sqe = { .opcode = SIW_OP_SEND };
	struct pair_end *e = pair_user(test->priv, &queue_opts);
	struct pair *p = test->priv;
	u32 n;

	for (n = 0; n < 3; n++)
		pair_post_user(e, n, &sqe);
	pair_send(p, 0);
	queue_expect_sent(p, 3);
	for (; n < 3 + PAIR_WRS; n++)
		pair_post_user(e, n, &sqe);
	KUNIT_ASSERT_NOT_NULL(test, srnic_sq_next(e->qp));
	srnic_sq_limit(e->qp);
	e->qp->tx.state = SRNIC_TX_FINISHING;
	KUNIT_EXPECT_EQ(test, e->qp->sq.limit, 3 + PAIR_WRS);
	pair_send(p, 0);
	queue_expect_sent(p, 3 + PAIR_WRS);
	pair_post_user(e, n, &sqe);
	pair_send(p, 0);
	queue_expect_sent(p, 3 + PAIR_WRS);
	KUNIT_EXPECT_TRUE(test, srnic_sq_is_at_limit(e->qp));
}

/*
 * srnic_retire_flush() handles as many elements of an application's ring as there are free WQEs. If
 * more are left it returns true, and its caller has to flush again, since the application does not
 * call srnic for these elements again.
 */
static void sq_user_element_behind_flush_told(struct kunit *test)
{
	struct pair *p = test->priv;
	struct pair_end *e = pair_user(test->priv, &queue_opts);
	const struct siw_sqe read = { .opcode = SIW_OP_READ };
	const struct siw_sqe send = { .opcode = SIW_OP_SEND };
	struct srnic_upcalls up = {};
	u32 i;

	pair_post_user(e, 0, &read);
	for (i = 1; i < PAIR_WRS; i++)
		pair_post_user(e, i, &send);
	pair_send(p, 0);
	pair_post_user(e, PAIR_WRS, &send);
	KUNIT_EXPECT_TRUE(test, srnic_retire_flush(e->qp, &up));
	KUNIT_EXPECT_EQ(test, e->qp->sq.get, PAIR_WRS);
	KUNIT_EXPECT_FALSE(test, srnic_retire_flush(e->qp, &up));
	KUNIT_EXPECT_EQ(test, e->qp->sq.get, PAIR_WRS + 1);
	KUNIT_EXPECT_EQ(test, e->qp->sq.uring[0].flags, 0);
}

/*
 * A flush of many work requests, in several steps: of a Read, of Sends that were passed to TCP, and
 * of Sends that were not
 */
static void sq_flush_of_a_long_queue_in_order(struct kunit *test)
{
	const u32 size = 1024, sent = 700, posted = 900;
	const struct ib_rdma_wr read = { .wr = { .wr_id = 0, .opcode = IB_WR_RDMA_READ } };
	struct ib_send_wr wr = { .opcode = IB_WR_SEND };
	struct pair *p = test->priv;
	struct srnic_sq *sq = &p->end[0].qp->sq;
	struct srnic_upcalls up = {};
	u32 i;

	p->end[0].scq.size = size;
	p->end[0].scq.kring = kvcalloc(size, sizeof(struct srnic_cqe), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, p->end[0].scq.kring);
	sq->size = size;
	sq->ring = kvcalloc(size, sq->wqe_size, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, sq->ring);
	pair_start(p, &queue_opts);
	KUNIT_ASSERT_EQ(test, pair_post(&p->end[0], &read.wr), 0);
	for (i = 1; i < posted; i++) {
		wr.wr_id = i;
		KUNIT_ASSERT_EQ(test, pair_post(&p->end[0], &wr), 0);
		if (i == sent)
			pair_send(p, 0);
	}
	KUNIT_EXPECT_FALSE(test, srnic_retire_flush(p->end[0].qp, &up));
	for (i = 0; i < posted; i++)
		pair_expect_wc(p, &p->end[0].scq, i, IB_WC_WR_FLUSH_ERR);
	pair_expect_no_wc(p, &p->end[0].scq);
	KUNIT_EXPECT_TRUE(test, srnic_sq_is_empty(p->end[0].qp));
	kvfree(sq->ring);
	kvfree(p->end[0].scq.kring);
}

/* In a close by FIN Read Requests that arrived before it are answered, later ones are not. */
/* Rules: D-6.2.1-2: one Read is answered, the one after the limit is not */
static void irq_limit_ends_the_stream(struct kunit *test)
{
	const u8 hdr[SRNIC_READ_ULPDU] = {};
	struct pair *p = test->priv;
	struct srnic_qp *qp = p->end[0].qp;

	KUNIT_ASSERT_EQ(test, srnic_irq_alloc(&qp->irq, 2), 0);
	srnic_irq_put(&qp->irq, hdr);
	qp->irq.limit = qp->irq.put;
	qp->tx.state = SRNIC_TX_ANSWERING;
	KUNIT_EXPECT_NOT_NULL(test, srnic_irq_head(qp));
	srnic_irq_put(&qp->irq, hdr);
	srnic_irq_get(&qp->irq);
	KUNIT_EXPECT_PTR_EQ(test, srnic_irq_head(qp), NULL);
}

/*
 * A work request that is posted in ERR is flushed. ib_drain_qp() relies on that: it modifies the QP
 * to ERR, posts a work request, and waits for its completion.
 */
static void sq_what_is_posted_behind_err_is_flushed(struct kunit *test)
{
	struct pair *p = test->priv;
	struct pair_end *e = &p->end[0];
	struct ib_send_wr wr = { .wr_id = 1, .opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED };
	struct srnic_upcalls up = {};

	pair_start(p, &queue_opts);
	KUNIT_ASSERT_EQ(test, pair_post(e, &wr), 0);
	KUNIT_EXPECT_NOT_NULL(test, srnic_sq_next(e->qp));
	e->qp->state = SRNIC_ABORTED;
	wr.wr_id = 2;
	wr.send_flags = 0;
	KUNIT_ASSERT_EQ(test, pair_post(e, &wr), 0);
	KUNIT_EXPECT_PTR_EQ(test, srnic_sq_next(e->qp), NULL);
	KUNIT_EXPECT_EQ(test, srnic_send_fill(e->qp), 0);
	srnic_retire_flush(e->qp, &up);
	pair_expect_wc(p, &e->scq, 1, IB_WC_WR_FLUSH_ERR);
	pair_expect_wc(p, &e->scq, 2, IB_WC_WR_FLUSH_ERR);
	pair_expect_no_wc(p, &e->scq);
}

static void sq_user_what_is_posted_behind_err_is_flushed(struct kunit *test)
{
	struct pair *p = test->priv;
	struct pair_end *e = pair_user(p, &queue_opts);
	const struct siw_sqe sqe = { .id = 1, .flags = SIW_WQE_VALID, .opcode = SIW_OP_SEND };
	struct srnic_upcalls up = {};

	e->qp->state = SRNIC_ABORTED;
	pair_post_user(e, 0, &sqe);
	KUNIT_EXPECT_PTR_EQ(test, srnic_sq_next(e->qp), NULL);
	KUNIT_EXPECT_EQ(test, srnic_send_fill(e->qp), 0);
	KUNIT_EXPECT_TRUE(test, e->qp->sq.uring[0].flags & SIW_WQE_VALID);
	srnic_retire_flush(e->qp, &up);
	KUNIT_EXPECT_EQ(test, e->qp->sq.uring[0].flags, 0);
	pair_expect_wc(p, &e->scq, 1, IB_WC_WR_FLUSH_ERR);
	pair_expect_no_wc(p, &e->scq);
}

/*
 * Indices wrap at 2^32. So sq->read, where the search for the oldest Read begins, must not stay
 * behind sq->get, the oldest WQE, even if no Read is posted.
 */
static void sq_search_for_reads_begins_at_get(struct kunit *test)
{
	const struct ib_send_wr wr = { .opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED };
	struct pair *p = test->priv;
	struct srnic_sq *sq = &p->end[0].qp->sq;
	int i;

	pair_start(p, &queue_opts);
	for (i = 0; i < 3; i++) {
		pair_post_recv(&p->end[1], i, p->end[1].mem, 8);
		KUNIT_ASSERT_EQ(test, pair_post(&p->end[0], &wr), 0);
	}
	pair_run(p);
	KUNIT_EXPECT_EQ(test, sq->get, 3);
	KUNIT_EXPECT_EQ(test, sq->read, 3);
}

/* A softirq that checks an application's queues between two steps in which WQEs complete */
struct queue_looker {
	struct timer_list	timer;
	struct pair_end		*e;
	u32			completed;	/* number of completions found */
	u32			valid;		/* completed, but the ring's element was not free */
};

static void queue_look(struct timer_list *timer)
{
	struct queue_looker *looker = container_of(timer, struct queue_looker, timer);
	u32 i;

	looker->completed = looker->e->scq.put;
	for (i = 0; i < looker->completed; i++)
		looker->valid += !!(looker->e->qp->sq.uring[i].flags & SIW_WQE_VALID);
}

/*
 * An application may reuse an element of its ring as soon as the completion is visible, so srnic
 * has to free the element before. A softirq of the test checks this while some of the elements have
 * completed, and others have not.
 */
static void sq_user_elements_free_before_the_first_completion(struct kunit *test)
{
	const u32 count = 1024;
	const struct siw_sqe sqe = {
		.opcode = SIW_OP_SEND, .flags = SIW_WQE_SIGNALLED | SIW_WQE_VALID,
	};
	struct pair_end *e = pair_user(test->priv, &queue_opts);
	struct queue_looker looker = { .e = e };
	struct srnic_sq *sq = &e->qp->sq;
	struct srnic_upcalls up = {};
	u32 i;

	sq->ring = kunit_kcalloc(test, count, sq->wqe_size, GFP_KERNEL);
	sq->uring = kunit_kcalloc(test, count, sizeof(*sq->uring), GFP_KERNEL);
	e->scq.kring = kunit_kcalloc(test, count, sizeof(*e->scq.kring), GFP_KERNEL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, sq->ring);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, sq->uring);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, e->scq.kring);
	sq->size = count;
	e->scq.size = count;
	for (i = 0; i < count; i++) {
		sq->uring[i] = sqe;
		KUNIT_ASSERT_TRUE(test, srnic_sq_fetch(e->qp));
	}
	sq->next = sq->put;
	timer_setup_on_stack(&looker.timer, queue_look, 0);
	local_irq_disable();
	mod_timer(&looker.timer, jiffies);
	mdelay(3 * jiffies_to_msecs(1));
	srnic_sq_sent(e->qp, &up);
	local_irq_enable();
	timer_delete_sync(&looker.timer);
	timer_destroy_on_stack(&looker.timer);
	KUNIT_EXPECT_GT(test, looker.completed, 0);
	KUNIT_EXPECT_LT(test, looker.completed, count);
	KUNIT_EXPECT_EQ(test, looker.valid, 0);
	KUNIT_EXPECT_EQ(test, e->scq.put, count);
}

/*
 * A Read's response completes the Read and many work requests posted after it. That is done in
 * steps, to limit the time for which interrupts are off.
 */
static void sq_long_row_behind_a_read_is_retired_in_steps(struct kunit *test)
{
	const u32 count = 1024;
	struct pair *p = test->priv;
	struct srnic_qp *qp = p->end[0].qp;
	struct srnic_sq *sq = &qp->sq;
	struct srnic_upcalls up = {};
	u32 i;

	pair_start(p, &queue_opts);
	sq->ring = kunit_kcalloc(test, count, sq->wqe_size, GFP_KERNEL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, sq->ring);
	sq->size = count;
	for (i = 0; i < count; i++)
		srnic_sq_wqe(sq, i)->done = i;
	srnic_sq_wqe(sq, 0)->op = SRNIC_WR_READ;
	sq->reads = 1;
	sq->put = count;
	sq->next = count;
	sq->sent = count;
	srnic_retire_read(qp, srnic_sq_wqe(sq, 0), IB_WC_SUCCESS, &up);
	KUNIT_EXPECT_LT(test, sq->get, count);
	KUNIT_EXPECT_TRUE(test, up.kick);
	srnic_sq_retire(qp, &up);
	KUNIT_EXPECT_EQ(test, sq->get, count);
}

/* RESET drops all work requests: none completes, and the elements of the ring are free. */
static void sq_discard_forgets(struct kunit *test)
{
	struct pair *p = test->priv;
	struct pair_end *e = pair_user(p, &queue_opts);
	const struct siw_sqe sqe = { .id = 1, .flags = SIW_WQE_VALID, .opcode = SIW_OP_SEND };
	struct srnic_upcalls up = {};
	u32 i;

	for (i = 0; i < 3; i++)
		pair_post_user(e, i, &sqe);
	srnic_retire_discard(e->qp);
	srnic_retire_flush(e->qp, &up);
	pair_expect_no_wc(p, &e->scq);
	KUNIT_EXPECT_TRUE(test, srnic_sq_is_empty(e->qp));
	for (i = 0; i < PAIR_WRS; i++)
		KUNIT_EXPECT_EQ(test, e->qp->sq.uring[i].flags, 0);
	KUNIT_EXPECT_EQ(test, e->qp->sq.put, 3);
}

static struct kunit_case queue_cases[] = {
	KUNIT_CASE(sq_user_element_free_between_sent_and_completion),
	KUNIT_CASE(sq_user_idle_is_nothing_at_all),
	KUNIT_CASE(sq_user_element_changed_later_void),
	KUNIT_CASE_PARAM(sq_user_element_bad_completes_in_error, bad_gen_params),
	KUNIT_CASE(sq_user_ring_always_valid_flush_ends),
	KUNIT_CASE(sq_user_ring_full_of_reads_sender_kicked),
	KUNIT_CASE(sq_read_behind_rtr_read_sender_kicked),
	KUNIT_CASE(sq_read_with_ord_0_fails),
	KUNIT_CASE(sq_post_kernel_limits_kept),
	KUNIT_CASE(sq_flush_completes_all_once),
	KUNIT_CASE(sq_send_behind_failed_read_flushed),
	KUNIT_CASE(sq_limit_ends_the_stream),
	KUNIT_CASE(sq_user_limit_counts_the_ring),
	KUNIT_CASE(sq_user_element_behind_flush_told),
	KUNIT_CASE(sq_flush_of_a_long_queue_in_order),
	KUNIT_CASE(sq_what_is_posted_behind_err_is_flushed),
	KUNIT_CASE(sq_user_what_is_posted_behind_err_is_flushed),
	KUNIT_CASE(sq_search_for_reads_begins_at_get),
	KUNIT_CASE(sq_user_elements_free_before_the_first_completion),
	KUNIT_CASE(sq_long_row_behind_a_read_is_retired_in_steps),
	KUNIT_CASE(sq_discard_forgets),
	KUNIT_CASE(irq_limit_ends_the_stream),
	{}
};

static struct kunit_suite queue_suite = {
	.name = "srnic_queue",
	.init = pair_init,
	.exit = pair_exit,
	.test_cases = queue_cases,
};

kunit_test_suite(queue_suite);

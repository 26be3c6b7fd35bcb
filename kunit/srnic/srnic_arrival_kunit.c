// SPDX-License-Identifier: GPL-2.0
/* Tests of receive queues, of the queue of the peer's Read Requests, and of completion queues. */

#include "srnic_pair.h"

#include <linux/slab.h>
#include <linux/string.h>

#include "place.h"
#include "rq.h"
#include "tx.h"
#include "sq.h"
#include "../srnic/mem.h"	/* srnic's, by its path: user mode Linux has a mem.h, too */
#include "fpdu.h"

static const struct pair_opts queue_opts = { .crc = true, .emss = 1448, .ord = 2 };

static int queue_take(struct srnic_rq *rq, struct srnic_rwqe *rwqe)
{
	int err;

	spin_lock_irq(&rq->lock);
	err = srnic_rq_take(rq, rwqe);
	spin_unlock_irq(&rq->lock);
	return err;
}

static bool queue_has(struct srnic_rq *rq, u32 n)
{
	bool has;

	spin_lock_irq(&rq->lock);
	has = srnic_rq_has(rq, n);
	spin_unlock_irq(&rq->lock);
	return has;
}

static void rq_user_elements_taken_once_in_order(struct kunit *test)
{
	struct pair_end *e = pair_user(test->priv, &queue_opts);
	struct siw_rqe *ring = e->qp->rq.uring;
	struct srnic_rwqe rwqe;
	u32 i;

	for (i = 0; i < 3 * PAIR_WRS; i++) {
		struct siw_rqe *slot = &ring[i % PAIR_WRS];

		KUNIT_EXPECT_EQ(test, queue_take(&e->qp->rq, &rwqe), -ENOENT);
		*slot = (struct siw_rqe) {
			.id = i, .num_sge = 1, .sge = { { .laddr = 1, .length = 2, .lkey = 3 } },
		};
		/* Write the flags last, as applications do: they make the element valid. */
		smp_store_release(&slot->flags, SIW_WQE_VALID);
		KUNIT_EXPECT_EQ(test, queue_take(&e->qp->rq, &rwqe), 0);
		KUNIT_EXPECT_EQ(test, slot->flags, 0);
		KUNIT_EXPECT_EQ(test, rwqe.id, i);
		KUNIT_EXPECT_EQ(test, srnic_rwqe_size(&rwqe), 2);
		KUNIT_EXPECT_EQ(test, rwqe.sge[0].lkey, 3);
	}
	ring[0] = (struct siw_rqe) { .id = 9, .num_sge = 7, .flags = SIW_WQE_VALID };
	KUNIT_EXPECT_EQ(test, queue_take(&e->qp->rq, &rwqe), -EINVAL);
	KUNIT_EXPECT_EQ(test, rwqe.id, 9);
	KUNIT_EXPECT_EQ(test, rwqe.num_sge, 0);
}

/*
 * An application posts a receive with too many SGEs to its ring. When a Send takes that receive,
 * the stream fails, and the counter wr_invalid is incremented.
 */
static void rq_user_element_bad_fails_and_is_counted(struct kunit *test)
{
	const struct ib_send_wr send = { .opcode = IB_WR_SEND };
	struct pair *p = test->priv;
	struct pair_end *e = pair_user(p, &queue_opts);
	int i;

	for (i = 0; i < 2; i++) {
		e->qp->rq.uring[i] = (struct siw_rqe) {
			.id = i, .num_sge = i ? SRNIC_MAX_SGE + 1 : 0, .flags = SIW_WQE_VALID,
		};
		KUNIT_ASSERT_EQ(test, pair_post(&p->end[1], &send), 0);
		pair_send(p, 1);
		pair_deliver(p, 1);
		pair_expect_fault(p, 0, i ? SRNIC_ERR_LOCAL : SRNIC_ERR_NONE);
		KUNIT_EXPECT_EQ(test, pair_count(p, SRNIC_CNT_wr_invalid), i);
		pair_expect_wc(p, &e->rcq, i, i ? IB_WC_LOC_QP_OP_ERR : IB_WC_SUCCESS);
	}
	pair_expect_no_wc(p, &e->rcq);
}

/* srnic_rq_has() returns whether a queue still has N receives: an SRQ checks its limit by it. */
static void rq_knows_how_many_are_left(struct kunit *test)
{
	struct pair_end *e = pair_user(test->priv, &queue_opts);
	struct srnic_rwqe rwqe;
	int i;

	for (i = 0; i < 5; i++)
		e->qp->rq.uring[i].flags = SIW_WQE_VALID;
	KUNIT_EXPECT_TRUE(test, queue_has(&e->qp->rq, 5));
	KUNIT_EXPECT_FALSE(test, queue_has(&e->qp->rq, 6));
	KUNIT_EXPECT_EQ(test, queue_take(&e->qp->rq, &rwqe), 0);
	KUNIT_EXPECT_TRUE(test, queue_has(&e->qp->rq, 4));
	KUNIT_EXPECT_EQ(test, queue_take(&e->qp->rq, &rwqe), 0);
	KUNIT_EXPECT_FALSE(test, queue_has(&e->qp->rq, 4));
	KUNIT_EXPECT_FALSE(test, queue_has(&e->qp->rq, PAIR_WRS + 1));
}

#define HOLES_ELEMENTS	6

/*
 * Fill a ring with elements of which those in the bit mask @valid are valid. Expect that calls of
 * srnic_rq_take() take the elements before the first invalid one, one element in each call. After
 * each of these calls srnic_rq_has() has to return true for @limit receives if, and only if, the
 * element @limit - 1 places after the one to be taken next is valid.
 */
static void rq_take_among_holes(struct kunit *test, struct srnic_rq *rq, u32 valid, u32 limit)
{
	u32 i, taken = 0, start = rq->get;
	struct srnic_rwqe rwqe;

	for (i = 0; i < HOLES_ELEMENTS; i++)
		rq->uring[(start + i) % PAIR_WRS] = (struct siw_rqe) {
			.id = i, .flags = valid & BIT(i) ? SIW_WQE_VALID : 0,
		};
	while (!queue_take(rq, &rwqe)) {
		KUNIT_ASSERT_EQ(test, rwqe.id, taken);
		taken++;
		KUNIT_EXPECT_EQ(test, queue_has(rq, limit), !!(valid & BIT(taken + limit - 1)));
		KUNIT_ASSERT_LE(test, taken, (u32)HOLES_ELEMENTS);
	}
	KUNIT_EXPECT_EQ(test, taken, (u32)ffz(valid));
	for (i = taken; i < HOLES_ELEMENTS; i++)
		KUNIT_EXPECT_EQ(test, !!rq->uring[(start + i) % PAIR_WRS].flags,
				!!(valid & BIT(i)));
}

/*
 * An application may clear elements of its ring that it has posted. Then the elements before the
 * first cleared one are used, once and in order, and none after it. To compare the receives that
 * are left with the SRQ's limit N, srnic checks one element only, N - 1 places after the one that
 * it takes next: if that is valid, N receives count as left.
 */
static void rq_limit_among_cleared_elements_harmless(struct kunit *test)
{
	struct pair_end *e = pair_user(test->priv, &queue_opts);
	u32 valid, limit;

	for (valid = 0; valid < BIT(HOLES_ELEMENTS); valid++) {
		for (limit = 1; limit <= HOLES_ELEMENTS; limit++) {
			memset(e->qp->rq.uring, 0, PAIR_WRS * sizeof(*e->qp->rq.uring));
			rq_take_among_holes(test, &e->qp->rq, valid, limit);
		}
	}
}

/*
 * The queue of the peer's Read Requests holds as many as the IRD, not one more. It is neither taken
 * for empty when it is full, nor for full when it is empty, also when its indices wrap.
 */
static void irq_any_size_exact(struct kunit *test)
{
	static const u16 sizes[] = { 1, 2, 3, 5, 8, 127, 128 };
	struct pair *p = test->priv;
	struct srnic_qp *qp = p->end[0].qp;
	struct srnic_irq *irq = &qp->irq;
	u8 hdr[SRNIC_READ_ULPDU];
	u32 i, n, put, get;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		KUNIT_ASSERT_EQ(test, srnic_irq_alloc(irq, sizes[i]), 0);
		/* The indices wrap from 2^32 - 1 to 0 during the test. */
		irq->put = -sizes[i];
		irq->get = irq->put;
		put = 0;
		get = 0;
		for (n = 0; n < 4 * sizes[i]; n++) {
			while (put - get < sizes[i]) {
				KUNIT_ASSERT_FALSE(test, srnic_irq_is_full(irq));
				memset(hdr, put++, sizeof(hdr));
				srnic_irq_put(irq, hdr);
			}
			KUNIT_ASSERT_TRUE(test, srnic_irq_is_full(irq));
			KUNIT_ASSERT_EQ(test, srnic_irq_head(qp)->hdr[45], (u8)get);
			srnic_irq_get(irq);
			get++;
			if (n % 3)
				continue;
			while (get != put) {
				KUNIT_ASSERT_EQ(test, srnic_irq_head(qp)->hdr[0], (u8)get);
				srnic_irq_get(irq);
				get++;
			}
			KUNIT_ASSERT_PTR_EQ(test, srnic_irq_head(qp), NULL);
		}
		srnic_irq_free(irq);
	}
}

static void irq_ird_0_always_full(struct kunit *test)
{
	struct pair *p = test->priv;
	struct srnic_qp *qp = p->end[0].qp;

	KUNIT_ASSERT_EQ(test, srnic_irq_alloc(&qp->irq, 0), 0);
	KUNIT_EXPECT_TRUE(test, srnic_irq_is_full(&qp->irq));
	KUNIT_EXPECT_PTR_EQ(test, srnic_irq_head(qp), NULL);
}

/* The completion handler of an armed CQ is called once, for a completion of the kind asked for. */
/* Rules: R-5.3-2: whether the ULP is called, for each arming and kind of completion */
static void cq_armed_called_once_for_what_was_asked(struct kunit *test)
{
	struct pair *p = test->priv;
	struct srnic_cq *cq = &p->end[0].scq;
	const struct {
		enum ib_cq_notify_flags	arm;
		bool			solicited;
		enum ib_wc_status	status;
		bool			due;
	} rows[] = {
		{ IB_CQ_NEXT_COMP, false, IB_WC_SUCCESS, true },
		{ IB_CQ_NEXT_COMP, true, IB_WC_SUCCESS, true },
		{ IB_CQ_SOLICITED, false, IB_WC_SUCCESS, false },
		{ IB_CQ_SOLICITED, true, IB_WC_SUCCESS, true },
		{ IB_CQ_SOLICITED, false, IB_WC_WR_FLUSH_ERR, true },
	};
	struct ib_wc wc;
	int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct srnic_cqe cqe = {
			.qp = &p->end[0].qp->ibqp, .status = rows[i].status,
		};
		struct srnic_upcalls up = {};

		/* Disarm the CQ, which the row before may have left armed */
		srnic_cq_put(cq, &cqe, true, &up);
		up.cq[0] = NULL;
		while (pair_poll(cq, &wc))
			;
		KUNIT_EXPECT_EQ(test, srnic_req_notify_cq(&cq->ibcq, rows[i].arm |
								IB_CQ_REPORT_MISSED_EVENTS),
				0);
		srnic_cq_put(cq, &cqe, rows[i].solicited, &up);
		KUNIT_EXPECT_PTR_EQ(test, up.cq[0], rows[i].due ? cq : NULL);
		if (!rows[i].due)
			continue;
		up.cq[0] = NULL;
		srnic_cq_put(cq, &cqe, true, &up);
		KUNIT_EXPECT_PTR_EQ(test, up.cq[0], NULL);
		KUNIT_EXPECT_EQ(test, srnic_req_notify_cq(&cq->ibcq, rows[i].arm), 0);
		KUNIT_EXPECT_EQ(test, srnic_req_notify_cq(&cq->ibcq, rows[i].arm |
								IB_CQ_REPORT_MISSED_EVENTS),
				1);
	}
}

/*
 * A CQ that is armed by IB_CQ_NEXT_COMP and then by IB_CQ_SOLICITED stays armed for any completion.
 */
static void cq_armed_for_next_stays_so(struct kunit *test)
{
	struct pair *p = test->priv;
	struct srnic_cq *cq = &p->end[0].scq;
	const struct srnic_cqe cqe = { .qp = &p->end[0].qp->ibqp };
	struct srnic_upcalls up = {};

	srnic_req_notify_cq(&cq->ibcq, IB_CQ_NEXT_COMP);
	srnic_req_notify_cq(&cq->ibcq, IB_CQ_SOLICITED);
	srnic_cq_put(cq, &cqe, false, &up);
	KUNIT_EXPECT_PTR_EQ(test, up.cq[0], cq);
	up.cq[0] = NULL;
	srnic_req_notify_cq(&cq->ibcq, IB_CQ_SOLICITED);
	srnic_cq_put(cq, &cqe, false, &up);
	KUNIT_EXPECT_PTR_EQ(test, up.cq[0], NULL);
}

/*
 * An application arms its completion queue by a word in memory that it shares with srnic. srnic
 * resets the word when it is going to call the CQ's comp_handler, so that it calls the handler only
 * once for each arming.
 */
static void cq_user_word_taken_back_once(struct kunit *test)
{
	struct pair *p = test->priv;
	struct srnic_cq *cq = &p->end[0].scq;
	const struct srnic_cqe cqe = { .qp = &p->end[0].qp->ibqp };
	struct srnic_upcalls up = {};
	u32 word = SIW_NOTIFY_SOLICITED;
	struct siw_cqe *ring = pair_user_cq(test, cq, &word);

	srnic_cq_put(cq, &cqe, false, &up);
	KUNIT_EXPECT_PTR_EQ(test, up.cq[0], NULL);
	KUNIT_EXPECT_EQ(test, word, SIW_NOTIFY_SOLICITED);
	srnic_cq_put(cq, &cqe, true, &up);
	KUNIT_EXPECT_PTR_EQ(test, up.cq[0], cq);
	KUNIT_EXPECT_EQ(test, word, 0);
	KUNIT_EXPECT_EQ(test, ring[0].flags, SIW_WQE_VALID);
	KUNIT_EXPECT_EQ(test, ring[1].qp_id, 1);
	KUNIT_EXPECT_EQ(test, ring[2].flags, 0);
}

/* A completion for which a CQ has no room is reported as overflow, and overwrites no other. */
/* Rules: R-8.1.1-10: the overflow is reported once, and the completions that fit are all there */
static void cq_overflow_told_nothing_overwritten(struct kunit *test)
{
	struct pair *p = test->priv;
	struct srnic_cq *cq = &p->end[0].scq;
	struct srnic_cqe cqe = { .qp = &p->end[0].qp->ibqp };
	struct srnic_upcalls up = {};
	struct ib_wc wc;
	int i;

	cq->overflowed = true;		/* no report of the overflow: there is no ULP */
	for (i = 0; i < PAIR_CQES; i++) {
		cqe.id = i;
		srnic_cq_put(cq, &cqe, false, &up);
		KUNIT_ASSERT_FALSE(test, up.full);
	}
	srnic_cq_put(cq, &cqe, false, &up);
	KUNIT_EXPECT_TRUE(test, up.full);
	for (i = 0; i < PAIR_CQES; i++) {
		KUNIT_ASSERT_EQ(test, pair_poll(cq, &wc), 1);
		KUNIT_EXPECT_EQ(test, wc.wr_id, i);
	}
	KUNIT_EXPECT_EQ(test, pair_poll(cq, &wc), 0);
}

/* When a QP is destroyed srnic removes its completions: they point to the QP, which is freed. */
static void cq_of_a_qp_that_goes_has_none_of_it(struct kunit *test)
{
	struct pair *p = test->priv;
	struct srnic_cq *cq = &p->end[0].scq;
	struct srnic_cqe cqe = {};
	struct srnic_upcalls up = {};
	int i;

	for (i = 0; i < 6; i++) {
		cqe.id = i;
		cqe.qp = &p->end[i & 1].qp->ibqp;
		srnic_cq_put(cq, &cqe, false, &up);
	}
	p->end[0].qp->dying = true;
	srnic_req_notify_cq(&cq->ibcq, IB_CQ_NEXT_COMP);
	cqe.qp = &p->end[0].qp->ibqp;
	srnic_cq_put(cq, &cqe, false, &up);
	KUNIT_EXPECT_PTR_EQ(test, up.cq[0], NULL);
	srnic_cq_forget(cq, &p->end[0].qp->ibqp);
	for (i = 1; i < 6; i += 2)
		pair_expect_wc(p, cq, i, IB_WC_SUCCESS);
	pair_expect_no_wc(p, cq);
	p->end[0].qp->dying = false;
}

static struct kunit_case arrival_cases[] = {
	KUNIT_CASE(rq_user_elements_taken_once_in_order),
	KUNIT_CASE(rq_user_element_bad_fails_and_is_counted),
	KUNIT_CASE(rq_knows_how_many_are_left),
	KUNIT_CASE(rq_limit_among_cleared_elements_harmless),
	KUNIT_CASE(irq_any_size_exact),
	KUNIT_CASE(irq_ird_0_always_full),
	KUNIT_CASE(cq_armed_called_once_for_what_was_asked),
	KUNIT_CASE(cq_armed_for_next_stays_so),
	KUNIT_CASE(cq_user_word_taken_back_once),
	KUNIT_CASE(cq_overflow_told_nothing_overwritten),
	KUNIT_CASE(cq_of_a_qp_that_goes_has_none_of_it),
	{}
};

static struct kunit_suite arrival_suite = {
	.name = "srnic_arrival",
	.init = pair_init,
	.exit = pair_exit,
	.test_cases = arrival_cases,
};

kunit_test_suite(arrival_suite);

// SPDX-License-Identifier: GPL-2.0
/* Tests of single functions, for cases that tests with two connected QPs do not reach. */

#include "srnic_pair.h"

#include <linux/mm.h>
#include <linux/unaligned.h>

#include "cursor.h"
#include "qp.h"
#include "state.h"
#include "place.h"
#include "rq.h"
#include "rx.h"
#include "sq.h"
#include "fpdu.h"

#define UNIT_CRC_LEN	4

static const struct pair_opts unit_opts = { .crc = true, .emss = 1448, .ord = 2 };

/*
 * srnic_cursor_read_raw() past the end of the memory returns the bytes that there are, and sets
 * @broken of the cursor.
 */
static void cursor_past_the_end_is_broken(struct kunit *test)
{
	static const u8 octets[10] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 };
	struct srnic_cursor cur = { .broken = true, .pos = 100 };
	u8 to[16] = {};

	srnic_cursor_at_memory(&cur, octets, sizeof(octets));
	KUNIT_EXPECT_FALSE(test, cur.broken);
	srnic_cursor_read_raw(&cur, to, 4);
	KUNIT_EXPECT_EQ(test, cur.left, 6);
	KUNIT_EXPECT_EQ(test, cur.pos, 104);
	KUNIT_EXPECT_FALSE(test, cur.broken);
	srnic_cursor_read_raw(&cur, to + 4, 12);
	KUNIT_EXPECT_TRUE(test, cur.broken);
	KUNIT_EXPECT_EQ(test, memcmp(to, octets, sizeof(octets)), 0);
	KUNIT_EXPECT_PTR_EQ(test, memchr_inv(to + 10, 0, 6), NULL);
	/* The cursor can be used for other bytes */
	srnic_cursor_at_memory(&cur, octets, 1);
	KUNIT_EXPECT_FALSE(test, cur.broken);
}

/*
 * srnic_rq_post() returns the first bad receive. Those before it are posted, those after it are
 * not.
 */
static void rq_post_names_the_first_bad_one(struct kunit *test)
{
	struct pair *p = test->priv;
	struct srnic_rq *rq = &p->end[0].qp->rq;
	struct ib_sge sge[2] = {};
	struct ib_recv_wr wrs[3] = {
		{ .next = &wrs[1], .wr_id = 1, .sg_list = sge, .num_sge = 1 },
		{ .next = &wrs[2], .wr_id = 2, .sg_list = sge, .num_sge = 2 },
		{ .wr_id = 3, .sg_list = sge, .num_sge = 1 },
	};
	const struct ib_recv_wr *bad = NULL;
	u32 put = rq->put;

	KUNIT_EXPECT_EQ(test, srnic_rq_post(rq, wrs, 1, &bad), -EINVAL);
	KUNIT_EXPECT_PTR_EQ(test, bad, (const struct ib_recv_wr *)&wrs[1]);
	KUNIT_EXPECT_EQ(test, rq->put, put + 1);
	bad = NULL;
	KUNIT_EXPECT_EQ(test, srnic_rq_post(rq, wrs, 2, &bad), 0);
	KUNIT_EXPECT_PTR_EQ(test, bad, NULL);
	KUNIT_EXPECT_EQ(test, rq->put, put + 4);
	/* There is room for one more receive in the queue, and two are posted. */
	rq->put = rq->get + rq->size - 1;
	KUNIT_EXPECT_EQ(test, srnic_rq_post(rq, wrs, 2, &bad), -ENOMEM);
	KUNIT_EXPECT_PTR_EQ(test, bad, (const struct ib_recv_wr *)&wrs[1]);
	KUNIT_EXPECT_EQ(test, rq->put, rq->get + rq->size);
}

/* RX calls srnic_sq_oldest_read() for each segment of a response, and has to get the same Read. */
static void sq_oldest_read_asked_twice_is_the_same(struct kunit *test)
{
	struct pair *p = test->priv;
	struct srnic_mr *mr;
	struct ib_sge sge = { .length = 8 };
	struct srnic_qp *qp = p->end[0].qp;
	struct srnic_wqe *wqe;
	bool rtr;

	pair_start(p, &unit_opts);
	mr = pair_reg(p, &p->pd, p->end[0].mem, 0, 100, IB_ACCESS_LOCAL_WRITE);
	sge.lkey = mr->stag;
	KUNIT_EXPECT_PTR_EQ(test, srnic_sq_oldest_read(qp, &rtr), NULL);
	pair_post_rdma(p, 0, 5, IB_WR_RDMA_READ, &sge, 0, 0);
	pair_send(p, 0);
	wqe = srnic_sq_oldest_read(qp, &rtr);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, wqe);
	KUNIT_EXPECT_EQ(test, wqe->id, 5);
	KUNIT_EXPECT_PTR_EQ(test, srnic_sq_oldest_read(qp, &rtr), wqe);
	KUNIT_EXPECT_FALSE(test, rtr);
}

/*
 * RFC 5044 4.4: if no CRC is used, the CRC field is sent, but not checked. srnic sends 0 in it, not
 * what was in its memory before.
 */
static void writer_without_crc_has_zeroes_there(struct kunit *test)
{
	static const struct pair_opts opts = { .emss = 1448, .ord = 2 };
	const struct ib_send_wr wr = { .opcode = IB_WR_SEND };
	struct pair *p = test->priv;
	struct pair_end *e = &p->end[0];

	pair_start(p, &opts);
	KUNIT_ASSERT_EQ(test, pair_post(e, &wr), 0);
	pair_send(p, 0);
	KUNIT_ASSERT_GT(test, e->wire_len, UNIT_CRC_LEN);
	KUNIT_EXPECT_PTR_EQ(test, memchr_inv(e->wire + e->wire_len - UNIT_CRC_LEN, 0,
					     UNIT_CRC_LEN), NULL);
}

/*
 * Lengths of truncated tagged headers. The padding and the CRC field behind such a header may look
 * like its missing bytes.
 */
static const struct unit_cut {
	bool	crc;
	u8	len;
} unit_cuts[] = {
	{ true, 11 }, { true, 12 }, { true, 13 },
	{ false, 10 }, { false, 11 }, { false, 12 }, { false, 13 },
};

static void unit_cut_desc(const struct unit_cut *cut, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "crc_%u_len_%u", cut->crc, cut->len);
}

KUNIT_ARRAY_PARAM(unit_cut, unit_cuts, unit_cut_desc);

/*
 * A Write of one byte, followed by a truncated header that looks like a continuation of that Write:
 * RX must place nothing of it. Without a check its payload would have a length below 0, which wraps
 * to nearly 2^32. The region has 2^33 bytes, so that a check of its bounds does not stop RX either.
 */
static void run_header_that_is_cut_is_no_segment(struct kunit *test)
{
	const struct unit_cut *cut = test->param_value;
	const struct pair_opts opts = { .crc = cut->crc, .emss = 1448, .ord = 2 };
	const u64 base = U32_MAX;
	struct pair *p = test->priv;
	struct srnic_mr *mr = pair_reg(p, &p->pd, p->end[1].mem, base, 100,
				       IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE);
	u8 ulpdu[SRNIC_DDP_TAGGED_LEN + 1];

	mr->size = 1ULL << 33;
	memset(p->end[1].mem, 0xee, 100);
	pair_start(p, &opts);
	srnic_ddp_put_tagged(ulpdu, SRNIC_OP_WRITE, false, mr->stag, base);
	ulpdu[SRNIC_DDP_TAGGED_LEN] = 0x11;
	pair_put_ulpdu(p, 0, ulpdu, sizeof(ulpdu));
	srnic_ddp_put_tagged(ulpdu, SRNIC_OP_WRITE, false, mr->stag, base + 1);
	pair_put_ulpdu(p, 0, ulpdu, cut->len);
	pair_deliver(p, 0);
	pair_expect_fault(p, 1, SRNIC_ERR_SHORT);
	KUNIT_EXPECT_EQ(test, p->end[1].mem[0], 0x11);
	KUNIT_EXPECT_PTR_EQ(test, memchr_inv(p->end[1].mem + 1, 0xee, 99), NULL);
}

static void unit_expect_counted(struct kunit *test, enum srnic_err err)
{
	int i;

	for (i = 0; i < SRNIC_ERR_COUNT; i++)
		KUNIT_EXPECT_EQ_MSG(test, pair_count_err(test->priv, i), i && i <= err, "%s",
				    srnic_errs[i].name);
}

/* srnic_fail() counts each error of a stream in a counter of its own. */
static void fault_each_counted_by_itself(struct kunit *test)
{
	struct pair *p = test->priv;
	struct srnic_qp *qp = p->end[0].qp;
	enum srnic_err err;

	pair_start(p, &unit_opts);
	for (err = SRNIC_ERR_NONE + 1; err < SRNIC_ERR_COUNT; err++) {
		WRITE_ONCE(qp->state, SRNIC_RTS);
		srnic_fail(qp, err);
		unit_expect_counted(test, err);
	}
}

/* Only the first error of a stream is counted */
static void fault_counted_once(struct kunit *test)
{
	struct pair *p = test->priv;
	struct srnic_qp *qp = p->end[0].qp;

	pair_start(p, &unit_opts);
	srnic_fail(qp, SRNIC_ERR_INV_STAG);
	srnic_fail(qp, SRNIC_ERR_INV_STAG);
	KUNIT_EXPECT_EQ(test, pair_count_err(p, SRNIC_ERR_INV_STAG), 1);
	KUNIT_EXPECT_EQ(test, qp->fault.err, SRNIC_ERR_INV_STAG);
}

/*
 * The QP may be modified to ERR while RX runs. Receives that the ULP posts later are flushed, so a
 * missing receive is then no error of the peer.
 */
/* Rules: R-7-1: what is posted after a modify to ERR that comes while RX runs is flushed */
static void place_behind_modify_to_err_takes_no_receive(struct kunit *test)
{
	const struct ib_send_wr wr = { .opcode = IB_WR_SEND };
	struct pair *p = test->priv;
	struct pair_end *to = &p->end[0];
	struct srnic_upcalls up = {};

	pair_start(p, &unit_opts);
	KUNIT_ASSERT_EQ(test, pair_post(&p->end[1], &wr), 0);
	KUNIT_ASSERT_EQ(test, pair_post(&p->end[1], &wr), 0);
	pair_send(p, 1);
	/* RX has checked the state, in srnic_rx_run(), before this change. */
	to->qp->state = SRNIC_ABORTED;
	pair_post_recv(to, 7, to->mem, 8);
	pair_deliver(p, 1);
	KUNIT_EXPECT_EQ(test, p->end[1].wire_len, 0);
	pair_expect_no_wc(p, &to->rcq);
	pair_expect_fault(p, 0, SRNIC_ERR_NONE);
	srnic_place_flush(to->qp, &up);
	pair_expect_wc(p, &to->rcq, 7, IB_WC_WR_FLUSH_ERR);

	/* There is no receive for the third Send. */
	to->qp->rx.msn[SRNIC_QN_SEND] = 3;
	KUNIT_ASSERT_EQ(test, pair_post(&p->end[1], &wr), 0);
	pair_send(p, 1);
	pair_deliver(p, 1);
	pair_expect_fault(p, 0, SRNIC_ERR_NONE);
	pair_expect_no_wc(p, &to->rcq);
}

/* When a Read Request arrives RX asks for a run of the sender, which makes the response. */
static void read_request_wakes_the_sender(struct kunit *test)
{
	struct pair *p = test->priv;
	struct pair_end *from = &p->end[1];
	struct srnic_qp *qp = p->end[0].qp;
	struct srnic_upcalls up = {};
	struct srnic_cursor cur = {};
	struct srnic_mr *mr, *sink;
	struct ib_sge sge = { .length = 8 };

	pair_start(p, &unit_opts);
	mr = pair_reg(p, &p->pd, p->end[0].mem, 0, 100, IB_ACCESS_REMOTE_READ);
	sink = pair_reg(p, &p->pd, from->mem, 0, 100, IB_ACCESS_LOCAL_WRITE);
	sge.lkey = sink->stag;
	pair_post_rdma(p, 1, 0, IB_WR_RDMA_READ, &sge, 0, mr->stag);
	pair_send(p, 1);
	srnic_cursor_at_memory(&cur, from->wire, from->wire_len);
	KUNIT_EXPECT_EQ(test, srnic_rx_take(qp, &cur, from->wire_len, U32_MAX, &up),
			from->wire_len);
	KUNIT_EXPECT_TRUE(test, up.kick);
	KUNIT_EXPECT_EQ(test, qp->fault.err, SRNIC_ERR_NONE);
}

/* RX needs time for each FPDU, so even a short one uses a minimum of RX's budget of bytes. */
static void take_counts_short_fpdus_for_more(struct kunit *test)
{
	static const int posted = 5, taken = 2;
	struct pair *p = test->priv;
	struct pair_end *from = &p->end[1];
	struct srnic_upcalls up = {};
	struct srnic_cursor cur = {};
	struct ib_rdma_wr wr = { .wr = { .opcode = IB_WR_RDMA_WRITE } };
	u32 size;
	int i;

	pair_start(p, &unit_opts);
	for (i = 0; i < posted; i++)
		KUNIT_ASSERT_EQ(test, pair_post(from, &wr.wr), 0);
	pair_send(p, 1);
	size = from->wire_len / posted;
	KUNIT_ASSERT_LT(test, size, 32);
	srnic_cursor_at_memory(&cur, from->wire, from->wire_len);
	KUNIT_EXPECT_EQ(test, srnic_rx_take(p->end[0].qp, &cur, from->wire_len, taken * 256, &up),
			taken * size);
	KUNIT_EXPECT_EQ(test, p->end[0].qp->rx.need, 0);
}

/* RX stops at its budget also between the segments of a message. */
static void take_stops_amid_a_message(struct kunit *test)
{
	static const int taken = 3;
	struct pair *p = test->priv;
	struct pair_end *from = &p->end[1];
	struct ib_sge sge = pair_sge(from->mem, 10000);
	struct srnic_upcalls up = {};
	struct srnic_cursor cur = {};
	struct srnic_mr *mr;
	u32 size;

	pair_start(p, &unit_opts);
	mr = pair_reg(p, &p->pd, p->end[0].mem, 0, PAIR_MEM, IB_ACCESS_REMOTE_WRITE);
	pair_post_rdma(p, 1, 0, IB_WR_RDMA_WRITE, &sge, 0, mr->stag);
	pair_send(p, 1);
	size = ALIGN(get_unaligned_be16(from->wire) + 2, 4) + UNIT_CRC_LEN;
	KUNIT_ASSERT_GT(test, size, 1000);
	srnic_cursor_at_memory(&cur, from->wire, from->wire_len);
	KUNIT_EXPECT_EQ(test, srnic_rx_take(p->end[0].qp, &cur, from->wire_len, taken * size, &up),
			taken * size);
}

/* A second srnic_irq_free() does nothing: a QP that has had no stream has no such ring to free. */
static void irq_freed_twice_is_fine(struct kunit *test)
{
	struct srnic_irq irq;

	KUNIT_ASSERT_EQ(test, srnic_irq_alloc(&irq, 3), 0);
	srnic_irq_free(&irq);
	KUNIT_EXPECT_PTR_EQ(test, irq.ring, NULL);
	KUNIT_EXPECT_EQ(test, irq.ird, 0);
	srnic_irq_free(&irq);
}

/* srnic_batch_reset() drops the references on the pages of bytes that the sender has prepared. */
static void batch_reset_gives_pages_back(struct kunit *test)
{
	struct pair *p = test->priv;
	struct srnic_batch *batch = &p->end[0].qp->tx.batch;
	struct page *page = alloc_page(GFP_KERNEL);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, page);
	get_page(page);
	batch->bv[0] = (struct bio_vec) { .bv_page = page, .bv_len = 4 };
	batch->nbv = 1;
	batch->fpdus = 1;
	batch->len = 4;
	batch->done = 2;
	srnic_batch_reset(batch);
	KUNIT_EXPECT_EQ(test, page_ref_count(page), 1);
	KUNIT_EXPECT_EQ(test, batch->nbv, 0);
	KUNIT_EXPECT_EQ(test, batch->fpdus, 0);
	KUNIT_EXPECT_EQ(test, batch->len, 0);
	KUNIT_EXPECT_EQ(test, batch->done, 0);
	__free_page(page);
}

/*
 * srnic polls the rings of an application's QP in error for work to flush. The interval grows while
 * the application posts nothing, and is reset when it posts again.
 */
static void flush_looks_again_less_and_less_often(struct kunit *test)
{
	struct srnic_qp *qp = pair_user(test->priv, &unit_opts)->qp;
	u32 before, sum = 0;
	int looks;

	qp->dying = true;	/* so the work item is not queued */
	qp->state = SRNIC_ERROR;
	qp->flush_ms = SRNIC_FLUSH_MIN_MS;
	for (looks = 0; qp->flush_ms < SRNIC_FLUSH_MAX_MS && looks < 1000; looks++) {
		before = qp->flush_ms;
		sum += before;
		srnic_qp_forget(qp);
		KUNIT_EXPECT_GT(test, qp->flush_ms, before);
		/* At most an eighth of the time without new work, plus the first interval */
		KUNIT_EXPECT_LE(test, qp->flush_ms, SRNIC_FLUSH_MIN_MS + sum / 8 + looks + 1);
	}
	KUNIT_EXPECT_LT(test, looks, 100);
	srnic_qp_forget(qp);
	KUNIT_EXPECT_EQ(test, qp->flush_ms, SRNIC_FLUSH_MAX_MS);
	WRITE_ONCE(qp->rq.uring[0].flags, SIW_WQE_VALID);
	srnic_qp_forget(qp);
	KUNIT_EXPECT_LT(test, qp->flush_ms, 2 * SRNIC_FLUSH_MIN_MS);
}

static void unit_no_work(struct work_struct *work)
{
}

/*
 * The next poll of an application's rings for work to flush is seconds ahead. If a flush before
 * that poll finds new work in a ring, the poll becomes due within a second.
 */
static void flush_finds_something_and_looks_soon(struct kunit *test)
{
	struct srnic_qp *qp = pair_user(test->priv, &unit_opts)->qp;
	struct workqueue_struct *own = srnic_user_wq;	/* srnic's, in a kernel that has it */

	srnic_user_wq = alloc_ordered_workqueue("srnic_unit_kunit", WQ_MEM_RECLAIM);
	if (!srnic_user_wq)
		srnic_user_wq = own;
	KUNIT_ASSERT_PTR_NE(test, srnic_user_wq, own);
	INIT_DELAYED_WORK(&qp->flush_work, unit_no_work);
	qp->state = SRNIC_ERROR;
	qp->flush_ms = SRNIC_FLUSH_MAX_MS;
	srnic_qp_forget(qp);
	WRITE_ONCE(qp->rq.uring[0].flags, SIW_WQE_VALID);
	srnic_qp_forget(qp);
	KUNIT_EXPECT_TRUE(test, delayed_work_pending(&qp->flush_work));
	KUNIT_EXPECT_TRUE(test, time_before(qp->flush_work.timer.expires, jiffies + HZ));
	qp->dying = true;
	cancel_delayed_work_sync(&qp->flush_work);
	destroy_workqueue(srnic_user_wq);
	srnic_user_wq = own;
}

static struct kunit_case unit_cases[] = {
	KUNIT_CASE(cursor_past_the_end_is_broken),
	KUNIT_CASE(rq_post_names_the_first_bad_one),
	KUNIT_CASE(sq_oldest_read_asked_twice_is_the_same),
	KUNIT_CASE(writer_without_crc_has_zeroes_there),
	KUNIT_CASE_PARAM(run_header_that_is_cut_is_no_segment, unit_cut_gen_params),
	KUNIT_CASE(fault_each_counted_by_itself),
	KUNIT_CASE(fault_counted_once),
	KUNIT_CASE(place_behind_modify_to_err_takes_no_receive),
	KUNIT_CASE(read_request_wakes_the_sender),
	KUNIT_CASE(take_counts_short_fpdus_for_more),
	KUNIT_CASE(take_stops_amid_a_message),
	KUNIT_CASE(irq_freed_twice_is_fine),
	KUNIT_CASE(batch_reset_gives_pages_back),
	KUNIT_CASE(flush_looks_again_less_and_less_often),
	KUNIT_CASE(flush_finds_something_and_looks_soon),
	{}
};

static struct kunit_suite unit_suite = {
	.name = "srnic_unit",
	.init = pair_init,
	.exit = pair_exit,
	.test_cases = unit_cases,
};

kunit_test_suite(unit_suite);

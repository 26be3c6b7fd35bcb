// SPDX-License-Identifier: GPL-2.0
/*
 * Errors that srnic's receive path (RX) can find only by what preceded an FPDU: in Read Responses,
 * in later segments of a message, and after a first error. Also errors in work requests of the end
 * under test.
 */

#include "srnic_victim.h"

#include <linux/string.h>
#include <linux/unaligned.h>

#include "place.h"
#include "sq.h"
#include "rq.h"
#include "rx.h"
#include "tx.h"
#include "../srnic/mem.h"	/* with a path, since user mode Linux has a mem.h, too */
#include "fpdu.h"

/* Read Responses, valid or not, to a Read whose sink has SIZE bytes at BASE */
static const struct resp_row {
	const char	*desc;
	enum srnic_err	err;
	u32		lens[3];	/* lengths of up to three segments */
	u8		segments;
	s32		shift;		/* error in the last segment's Tagged Offset */
	bool		stag;		/* the last segment's STag is wrong */
	bool		open;		/* the last segment has no L bit */
} resp_rows[] = {
	{ "R-5.2.2-4_exact", SRNIC_ERR_NONE, { SIZE }, 1 },
	{ "R-5.2.2-4_last_is_empty", SRNIC_ERR_NONE, { SIZE, 0 }, 2 },
	{ "R-5.2.2-3_three", SRNIC_ERR_NONE, { 10, 20, SIZE - 30 }, 3 },
	{ "R-5.2.2-4_short", SRNIC_ERR_RESP_BOUNDS, { SIZE - 1 }, 1 },
	{ "R-5.2.2-4_empty", SRNIC_ERR_RESP_BOUNDS, { 0 }, 1 },
	{ "R-5.2.2-3_one_over", SRNIC_ERR_RESP_BOUNDS, { SIZE + 1 }, 1 },
	{ "R-5.2.2-3_one_over_in_third", SRNIC_ERR_RESP_BOUNDS, { 10, 20, SIZE - 29 }, 3 },
	{ "R-5.2.2-3_gap", SRNIC_ERR_RESP_BOUNDS, { 10, 20 }, 2, .shift = 1, .open = true },
	{ "R-5.2.2-3_back", SRNIC_ERR_RESP_BOUNDS, { 10, 20 }, 2, .shift = -1, .open = true },
	{ "R-5.2.2-2_first", SRNIC_ERR_RESP_STAG, { SIZE }, 1, .stag = true },
	{ "R-5.2.2-2_last", SRNIC_ERR_RESP_STAG, { 10, 20, SIZE - 30 }, 3, .stag = true },
	{ "R-5.2.2-4_never_ends", SRNIC_ERR_RESP_BOUNDS, { SIZE, 1 }, 2, .open = true },
};

KUNIT_ARRAY_PARAM_DESC(resp, resp_rows, desc);

static void fault_read_response_judged(struct kunit *test)
{
	const struct resp_row *row = test->param_value;
	struct fault_world *w = fault_begin(test);
	struct pair_end *e = &w->p->end[1];
	struct ib_sge sge = { .addr = BASE, .length = SIZE, .lkey = w->stags[STAG_NONE] };
	u32 off = 0, i;

	pair_post_rdma(w->p, 1, 5, IB_WR_RDMA_READ, &sge, 0, 0);
	pair_send(w->p, 1);
	for (i = 0; i < row->segments; i++) {
		bool last = i + 1 == row->segments;
		u8 ulpdu[256] = {};

		ulpdu[0] = last && !row->open ? 0xc1 : 0x81;
		ulpdu[1] = 0x42;
		put_unaligned_be32(w->stags[last && row->stag ? STAG_WRITE : STAG_NONE], ulpdu + 2);
		put_unaligned_be64(BASE + off + (last ? row->shift : 0), ulpdu + 6);
		memset(ulpdu + 14, 0x55, row->lens[i]);
		pair_put_ulpdu(w->p, 0, ulpdu, 14 + row->lens[i]);
		off += row->lens[i];
	}
	pair_deliver(w->p, 0);
	pair_expect_fault(w->p, 1, row->err);
	KUNIT_EXPECT_EQ(test, w->mem[SIZE], 0xee);
	if (row->err) {
		pair_expect_no_wc(w->p, &e->scq);
		return;
	}
	pair_expect_wc(w->p, &e->scq, 5, IB_WC_SUCCESS);
	KUNIT_EXPECT_PTR_EQ(test, memchr_inv(w->mem, 0x55, SIZE), NULL);
}

/* A Read Response has one byte, with the sink's STag or another, but the Read asked for none. */
/* Rules: R-5.2.2-3: the error for a byte of a response that the Read did not ask for */
static void fault_octets_for_a_read_of_nothing_judged(struct kunit *test)
{
	static const struct { u32 stag; u64 to; bool sge; enum srnic_err err; } rows[] = {
		{ 0, 0, false, SRNIC_ERR_RESP_BOUNDS },
		{ 7, 0, false, SRNIC_ERR_RESP_STAG },
		{ 7, BASE, true, SRNIC_ERR_RESP_BOUNDS },
		{ 0, BASE, true, SRNIC_ERR_RESP_STAG },
	};
	struct fault_world *w = fault_begin(test);
	struct srnic_qp *qp = w->p->end[1].qp;
	u8 ulpdu[15] = { 0xc1, 0x42 };
	int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct ib_sge sge = { .addr = BASE, .lkey = 7 };
		const struct ib_rdma_wr wr = {
			.wr = {
				.opcode = IB_WR_RDMA_READ, .sg_list = &sge,
				.num_sge = rows[i].sge,
			},
		};
		struct srnic_upcalls up = {};

		KUNIT_ASSERT_EQ(test, pair_post(&w->p->end[1], &wr.wr), 0);
		pair_send(w->p, 1);
		put_unaligned_be32(rows[i].stag, ulpdu + 2);
		put_unaligned_be64(rows[i].to, ulpdu + 6);
		pair_put_ulpdu(w->p, 0, ulpdu, sizeof(ulpdu));
		pair_deliver(w->p, 0);
		pair_expect_fault(w->p, 1, rows[i].err);
		/* Flush the Read, and let the QP place FPDUs again, for the next row. */
		srnic_place_flush(qp, &up);
		srnic_retire_flush(qp, &up);
		qp->state = SRNIC_RTS;
	}
}

/* The ULP invalidates the source of a peer's Read after srnic has sent a part of the response */
/*
 * Rules: R-4.8-6: the copied header in the Terminate message has size, SinkTO and SourceTO as they
 * are after two segments; R-8.1.1-6: no byte is sent after the invalidation
 */
static void fault_source_revoked_in_response_rest_told(struct kunit *test)
{
	struct fault_world *w = fault_begin(test);
	struct srnic_mr *mr = pair_reg(w->p, &w->p->pd, w->p->end[1].mem, 0, PAIR_MEM,
				       IB_ACCESS_REMOTE_READ);
	const struct srnic_read asked = {
		.sink_stag = 7, .sink_to = 1000, .size = PAIR_MEM - 1, .src_stag = mr->stag,
	};
	struct srnic_qp *qp = w->p->end[1].qp;
	u8 ulpdu[SRNIC_READ_ULPDU], term[SRNIC_TERM_MAX];
	struct srnic_read rest;

	srnic_ddp_put_untagged(ulpdu, SRNIC_OP_READ_REQ, true, 0, 1, 0);
	srnic_read_put(ulpdu + 18, &asked);
	pair_put_ulpdu(w->p, 0, ulpdu, sizeof(ulpdu));
	pair_deliver(w->p, 0);
	qp->tx.batch.fpdus = SRNIC_BATCH_FPDUS - 2;	/* leave room for two FPDUs */
	KUNIT_ASSERT_GT(test, srnic_send_fill(qp), 0);
	srnic_batch_reset(&qp->tx.batch);
	KUNIT_ASSERT_EQ(test, srnic_stag_invalidate(w->p->dev, &w->p->pd, mr->stag, false), 0);
	KUNIT_ASSERT_EQ(test, srnic_send_fill(qp), 0);
	KUNIT_EXPECT_EQ(test, qp->tx.batch.len, 0);
	pair_expect_fault(w->p, 1, SRNIC_ERR_READ_STAG);
	KUNIT_ASSERT_EQ(test, fault_term(w->p, term), MDR);
	KUNIT_EXPECT_EQ(test, get_unaligned_be32(term), 0x0100e000);
	KUNIT_EXPECT_EQ(test, get_unaligned_be16(term + 4), 46);
	KUNIT_EXPECT_EQ(test, memcmp(term + 6, ulpdu, 18), 0);
	srnic_read_get(term + 24, &rest);
	KUNIT_EXPECT_EQ(test, rest.size, asked.size - 2 * 1428);
	KUNIT_EXPECT_EQ(test, rest.sink_to, asked.sink_to + 2 * 1428);
	KUNIT_EXPECT_EQ(test, rest.src_to, 2 * 1428);
}

/* RX checks the STag of each segment with payload, also after an empty segment without L bit */
/*
 * Rules: D-5.2-6 T-1: a segment with payload is placed that follows one without; T-22: the error,
 * and unchanged memory, for a segment that follows the invalidation
 */
static void fault_each_segment_checked_by_itself(struct kunit *test)
{
	struct fault_world *w = fault_begin(test);
	struct fault_row row = A_WRITE("", WRITE_STAG, STAG_WRITE, BASE, 8, { 0 });
	u8 ulpdu[256];

	row.ddp = 0x81;
	row.len = 0;
	pair_put_ulpdu(w->p, 0, ulpdu, fault_ulpdu(w, &row, ulpdu));
	row.len = 8;
	pair_put_ulpdu(w->p, 0, ulpdu, fault_ulpdu(w, &row, ulpdu));
	pair_deliver(w->p, 0);
	pair_expect_fault(w->p, 1, SRNIC_ERR_NONE);
	KUNIT_ASSERT_EQ(test, srnic_stag_invalidate(w->p->dev, &w->p->pd,
						    w->stags[STAG_WRITE], false), 0);
	row.to = BASE + 8;
	pair_put_ulpdu(w->p, 0, ulpdu, fault_ulpdu(w, &row, ulpdu));
	pair_deliver(w->p, 0);
	pair_expect_fault(w->p, 1, SRNIC_ERR_WRITE_STAG);
	KUNIT_EXPECT_PTR_EQ(test, memchr_inv(w->mem, 0x55, 8), NULL);
	KUNIT_EXPECT_EQ(test, w->mem[8], 0xee);
}

/* A wrong third segment of a Send, after two valid ones of 8 bytes each */
static const struct fault_row third_rows[] = {
	{ "D-4.3-5_opcode", SRNIC_ERR_OPCODE, 0x41, 0x45, .msn = 1, .mo = 16, .len = 8,
	  .term = { 2, 6, 0xc0 }, .term_len = MD_U },
	A_SEND("D-7.1-4_gap", MO, 1, 17, 8, SIZE, { 0x12, 4, 0xc0 }),
	A_SEND("D-7.1-4_back", MO, 1, 15, 8, SIZE, { 0x12, 4, 0xc0 }),
};

KUNIT_ARRAY_PARAM_DESC(third, third_rows, desc);

/* A Write between two segments of a Send is valid; a wrong opcode or offset of a segment is not */
/* Rules: D-4.3-5: the error for the third segment; D-5.3-2: no error for a Write within the Send */
static void fault_third_segment_of_a_send_refused(struct kunit *test)
{
	const struct fault_row *row = test->param_value;
	struct fault_world *w = fault_begin(test);
	struct fault_row send = A_SEND("", NONE, 1, 0, 8, SIZE, { 0 });
	const struct fault_row write = A_WRITE("", NONE, STAG_WRITE, BASE, 8, { 0 });
	u8 ulpdu[256];
	u16 len;

	pair_post_recv(&w->p->end[1], 1, w->p->end[1].mem + 16384, SIZE);
	send.ddp = 0x01;
	pair_put_ulpdu(w->p, 0, ulpdu, fault_ulpdu(w, &send, ulpdu));
	pair_put_ulpdu(w->p, 0, ulpdu, fault_ulpdu(w, &write, ulpdu));
	send.mo = 8;
	pair_put_ulpdu(w->p, 0, ulpdu, fault_ulpdu(w, &send, ulpdu));
	pair_deliver(w->p, 0);
	pair_expect_fault(w->p, 1, SRNIC_ERR_NONE);
	len = fault_ulpdu(w, row, ulpdu);
	pair_put_ulpdu(w->p, 0, ulpdu, len);
	pair_deliver(w->p, 0);
	pair_expect_fault(w->p, 1, row->err);
	fault_expect_term(w->p, row, ulpdu, len);
}

/*
 * The first segment of a Send fills the receive, but has no L (Last) bit. The receive completes
 * only when an empty segment with the L bit arrives.
 */
static void fault_full_receive_completes_with_the_last_segment(struct kunit *test)
{
	struct fault_world *w = fault_begin(test);
	struct fault_row send = A_SEND("", NONE, 1, 0, SIZE, SIZE, { 0 });
	struct pair *p = w->p;
	u8 ulpdu[256];

	pair_post_recv(&p->end[1], 1, p->end[1].mem + 16384, SIZE);
	send.ddp = 0x01;
	pair_put_ulpdu(p, 0, ulpdu, fault_ulpdu(w, &send, ulpdu));
	pair_deliver(p, 0);
	pair_expect_no_wc(p, &p->end[1].rcq);
	send.ddp = 0x41;
	send.mo = SIZE;
	send.len = 0;
	pair_put_ulpdu(p, 0, ulpdu, fault_ulpdu(w, &send, ulpdu));
	pair_deliver(p, 0);
	pair_expect_fault(p, 1, SRNIC_ERR_NONE);
	pair_expect_wc(p, &p->end[1].rcq, 1, IB_WC_SUCCESS);
}

/* A Send with an invalid lkey ends the stream; a Send that was posted before it is still sent */
/*
 * Rules: R-7.1-1: the completion of the work request has LOC_PROT_ERR, the Terminate message has
 * the right layer, type and code, and the Send that was posted before succeeds
 */
static void fault_local_work_request_terminates(struct kunit *test)
{
	struct fault_world *w = fault_begin(test);
	struct ib_sge bad = { .addr = BASE, .length = 8, .lkey = w->stags[STAG_DEAD] };
	const struct ib_send_wr second = {
		.wr_id = 2, .opcode = IB_WR_SEND, .sg_list = &bad, .num_sge = 1,
	};
	const struct ib_send_wr first = {
		.wr_id = 1, .opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED,
		.next = (struct ib_send_wr *)&second,
	};
	struct pair_end *e = &w->p->end[1];
	struct srnic_upcalls up = {};
	u8 term[SRNIC_TERM_MAX];

	KUNIT_ASSERT_EQ(test, pair_post(e, &first), 0);
	KUNIT_ASSERT_GT(test, srnic_send_fill(e->qp), 0);
	pair_expect_fault(w->p, 1, SRNIC_ERR_LOCAL);
	KUNIT_EXPECT_TRUE(test, e->qp->fault.own);
	KUNIT_EXPECT_EQ(test, e->qp->tx.batch.fpdus, 1);
	srnic_batch_reset(&e->qp->tx.batch);
	srnic_sq_sent(e->qp, &up);
	pair_expect_wc(w->p, &e->scq, 1, IB_WC_SUCCESS);
	pair_expect_wc(w->p, &e->scq, 2, IB_WC_LOC_PROT_ERR);
	KUNIT_EXPECT_EQ(test, fault_term(w->p, term), 4);
	KUNIT_EXPECT_EQ(test, get_unaligned_be32(term), 0);
}

/* The peer sends two FPDUs in error: the Terminate message reports the first one. */
/* Rules: R-7.1-2: the error is that of the first of two bad FPDUs */
static void fault_second_error_not_told(struct kunit *test)
{
	struct fault_world *w = fault_begin(test);
	const struct fault_row first = A_SEND("", MSN, 9, 0, 4, SIZE, { 0 });
	const struct fault_row second = A_WRITE("", WRITE_STAG, STAG_DEAD, BASE, 4, { 0 });
	u8 ulpdu[256];

	pair_put_ulpdu(w->p, 0, ulpdu, fault_ulpdu(w, &first, ulpdu));
	pair_put_ulpdu(w->p, 0, ulpdu, fault_ulpdu(w, &second, ulpdu));
	pair_deliver(w->p, 0);
	pair_expect_fault(w->p, 1, SRNIC_ERR_MSN);
}

/* A Read whose sink lacks the right of local write is not sent */
/* Rules: R-7.1-1: LOC_PROT_ERR of the Read; R-5.2.2-6: no FPDU is made */
static void fault_read_without_a_sink_terminates(struct kunit *test)
{
	struct fault_world *w = fault_begin(test);
	struct ib_sge sink = { .addr = BASE, .length = 8, .lkey = w->stags[STAG_READ] };
	const struct ib_rdma_wr wr = {
		.wr = { .wr_id = 1, .opcode = IB_WR_RDMA_READ, .sg_list = &sink, .num_sge = 1 },
	};
	struct pair_end *e = &w->p->end[1];
	struct srnic_upcalls up = {};

	KUNIT_ASSERT_EQ(test, pair_post(e, &wr.wr), 0);
	KUNIT_ASSERT_GT(test, srnic_send_fill(e->qp), 0);
	pair_expect_fault(w->p, 1, SRNIC_ERR_LOCAL);
	KUNIT_EXPECT_EQ(test, e->qp->tx.batch.fpdus, 0);
	srnic_sq_sent(e->qp, &up);
	pair_expect_wc(w->p, &e->scq, 1, IB_WC_LOC_PROT_ERR);
}

/* If a segment is for two SGEs of a receive, and the second lkey is invalid, nothing is placed */
/* Rules: R-7.1-1: LOC_PROT_ERR of the receive, and unchanged memory of the good SGE */
static void fault_second_sge_of_a_receive_nothing_placed(struct kunit *test)
{
	struct fault_world *w = fault_begin(test);
	struct ib_sge sge[2] = {
		{ .addr = BASE, .length = 16, .lkey = w->stags[STAG_NONE] },
		{ .addr = BASE, .length = 16, .lkey = w->stags[STAG_DEAD] },
	};
	const struct ib_recv_wr recv = { .wr_id = 1, .sg_list = sge, .num_sge = 2 }, *bad;
	struct fault_row send = A_SEND("", LOCAL, 1, 0, 8, 0, { 0 });
	struct pair_end *e = &w->p->end[1];
	u8 ulpdu[256];

	KUNIT_ASSERT_EQ(test, srnic_rq_post(&e->qp->rq, &recv, 2, &bad), 0);
	send.ddp = 0x01;
	pair_put_ulpdu(w->p, 0, ulpdu, fault_ulpdu(w, &send, ulpdu));
	pair_deliver(w->p, 0);
	pair_expect_fault(w->p, 1, SRNIC_ERR_NONE);
	KUNIT_EXPECT_NE(test, w->mem[0], 0xee);
	send.mo = 8;
	send.len = 9;
	pair_put_ulpdu(w->p, 0, ulpdu, fault_ulpdu(w, &send, ulpdu));
	pair_deliver(w->p, 0);
	pair_expect_fault(w->p, 1, SRNIC_ERR_LOCAL);
	pair_expect_wc(w->p, &e->rcq, 1, IB_WC_LOC_PROT_ERR);
	KUNIT_EXPECT_EQ(test, w->mem[8], 0xee);
}

/* srnic_rx_is_cut() is true between first and last segment of a Write: a FIN then is an error. */
/* Rules: F-8-1: a FIN after the first segment would count as an abort */
static void fault_end_within_a_write_is_cut(struct kunit *test)
{
	struct fault_world *w = fault_begin(test);
	struct fault_row write = A_WRITE("", NONE, STAG_WRITE, BASE, 8, { 0 });
	struct srnic_qp *qp = w->p->end[1].qp;
	u8 ulpdu[256];

	write.ddp = 0x81;
	pair_put_ulpdu(w->p, 0, ulpdu, fault_ulpdu(w, &write, ulpdu));
	pair_deliver(w->p, 0);
	KUNIT_EXPECT_TRUE(test, qp->rx.write_busy);
	KUNIT_EXPECT_TRUE(test, srnic_rx_is_cut(qp));
	write.ddp = 0xc1;
	pair_put_ulpdu(w->p, 0, ulpdu, fault_ulpdu(w, &write, ulpdu));
	pair_deliver(w->p, 0);
	KUNIT_EXPECT_FALSE(test, qp->rx.write_busy);
}

static struct kunit_case later_cases[] = {
	KUNIT_CASE_PARAM(fault_read_response_judged, resp_gen_params),
	KUNIT_CASE(fault_octets_for_a_read_of_nothing_judged),
	KUNIT_CASE(fault_source_revoked_in_response_rest_told),
	KUNIT_CASE(fault_each_segment_checked_by_itself),
	KUNIT_CASE_PARAM(fault_third_segment_of_a_send_refused, third_gen_params),
	KUNIT_CASE(fault_full_receive_completes_with_the_last_segment),
	KUNIT_CASE(fault_local_work_request_terminates),
	KUNIT_CASE(fault_second_error_not_told),
	KUNIT_CASE(fault_read_without_a_sink_terminates),
	KUNIT_CASE(fault_second_sge_of_a_receive_nothing_placed),
	KUNIT_CASE(fault_end_within_a_write_is_cut),
	{}
};

static struct kunit_suite later_suite = {
	.name = "srnic_fault_message",
	.init = pair_init,
	.exit = pair_exit,
	.test_cases = later_cases,
};

kunit_test_suite(later_suite);

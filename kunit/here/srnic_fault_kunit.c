// SPDX-License-Identifier: GPL-2.0
/*
 * A peer violates RFC 5040, 5041 or 5044: which error srnic finds, what its Terminate message says,
 * which bytes it places and which messages it delivers. Each row of fault_rows[] is one FPDU of the
 * peer; a row with the error NONE is no violation.
 */

#include "srnic_victim.h"

#include <linux/string.h>
#include <linux/unaligned.h>

#include "place.h"
#include "tx.h"
#include "sq.h"
#include "../srnic/mem.h"	/* with a path, since user mode Linux has a mem.h, too */
#include "fpdu.h"

static const struct fault_row fault_rows[] = {
	A_WRITE("D-7.1-10_write_all", NONE, STAG_WRITE, BASE, SIZE, { 0 }),
	A_WRITE("D-7.1-10_write_last_octet", NONE, STAG_WRITE, BASE + SIZE - 1, 1, { 0 }),
	A_WRITE("D-7.1-10_base_minus_1", WRITE_BOUNDS, STAG_WRITE, BASE - 1, 1, { 0x11, 1, 0xc0 }),
	A_WRITE("D-7.1-10_one_over", WRITE_BOUNDS, STAG_WRITE, BASE, SIZE + 1, { 0x11, 1, 0xc0 }),
	A_WRITE("D-7.1-11_wrap", WRITE_WRAP, STAG_WRITE, U64_MAX - 7, 16, { 0x11, 3, 0xc0 }),
	A_WRITE("D-7.1-11_wrap_to_zero", WRITE_WRAP, STAG_WRITE, U64_MAX - 7, 8, { 0x11, 3, 0xc0 }),
	A_WRITE("D-7.1-7_key", WRITE_STAG, STAG_KEY, BASE, 16, T_STAG),
	A_WRITE("D-7.1-7_index", WRITE_STAG, STAG_INDEX, BASE, 16, T_STAG),
	A_WRITE("D-7.1-7_dead", WRITE_STAG, STAG_DEAD, BASE, 16, T_STAG),
	A_WRITE("D-7.1-7_zero", WRITE_STAG, STAG_ZERO, BASE, 16, T_STAG),
	A_WRITE("R-8.1.1-1_all_memory", WRITE_STAG, STAG_DMA, BASE, 16, T_STAG),
	A_WRITE("R-8.1.1-1_dma_region", WRITE_RIGHT, STAG_LOCAL, 0, 16, T_STAG),
	A_WRITE("D-7.1-8_other_pd", WRITE_PD, STAG_OTHER, BASE, 16, { 0x11, 2, 0xc0 }),
	A_WRITE("D-7.1-9_read_only", WRITE_RIGHT, STAG_READ, BASE, 16, T_STAG),
	A_WRITE("D-7.1-9_no_right", WRITE_RIGHT, STAG_NONE, BASE, 16, T_STAG),
	A_WRITE("D-5.2-5_empty_anywhere", NONE, STAG_ZERO, U64_MAX, 0, { 0 }),
	A_READ("R-7.2-4_all", NONE, STAG_READ, BASE, SIZE, { 0 }),
	A_READ("R-7.2-4_base_minus_1", READ_BOUNDS, STAG_READ, BASE - 1, 1, { 1, 1, 0xe0 }),
	A_READ("R-7.2-4_one_over", READ_BOUNDS, STAG_READ, BASE, SIZE + 1, { 1, 1, 0xe0 }),
	A_READ("R-4.4-4_2_31", READ_BOUNDS, STAG_READ, BASE, 0x80000000, { 1, 1, 0xe0 }),
	A_READ("R-4.4-4_2_32_minus_1", READ_BOUNDS, STAG_READ, BASE, U32_MAX, { 1, 1, 0xe0 }),
	A_READ("R-7.2-5_wrap", READ_WRAP, STAG_READ, U64_MAX - 7, 16, { 1, 4, 0xe0 }),
	A_READ("R-7.2-1_key", READ_STAG, STAG_KEY, BASE, 16, { 1, 0, 0xe0 }),
	A_READ("R-7.2-1_dead", READ_STAG, STAG_DEAD, BASE, 16, { 1, 0, 0xe0 }),
	A_READ("R-8.1.1-1_read_all_memory", READ_STAG, STAG_DMA, BASE, 16, { 1, 0, 0xe0 }),
	A_READ("R-8.1.1-1_read_dma_region", READ_RIGHT, STAG_LOCAL, 0, 16, { 1, 2, 0xe0 }),
	A_READ("R-7.2-2_other_pd", READ_PD, STAG_OTHER, BASE, 16, { 1, 3, 0xe0 }),
	A_READ("R-7.2-3_write_only", READ_RIGHT, STAG_WRITE, BASE, 16, { 1, 2, 0xe0 }),
	A_READ("R-7.2-3_no_right", READ_RIGHT, STAG_NONE, BASE, 16, { 1, 2, 0xe0 }),
	A_READ("R-5.2.1-4_empty_anywhere", NONE, STAG_ZERO, U64_MAX, 0, { 0 }),
	A_SEND("R-5.3-1_exact", NONE, 1, 0, SIZE, SIZE, { 0 }),
	A_SEND("D-7.1-2_no_receive", NO_BUFFER, 1, 0, 4, 0, { 0x12, 2, 0xc0 }),
	A_SEND("D-7.1-6_empty_no_receive", NO_BUFFER, 1, 0, 0, 0, { 0x12, 2, 0xc0 }),
	A_SEND("D-7.1-3_msn_0", MSN, 0, 0, 4, SIZE, { 0x12, 3, 0xc0 }),
	A_SEND("D-7.1-3_msn_skips", MSN, 2, 0, 4, SIZE, { 0x12, 3, 0xc0 }),
	A_SEND("D-7.1-3_msn_before_buffer", MSN, 2, 0, 4, 0, { 0x12, 3, 0xc0 }),
	A_SEND("D-7.1-4_mo_gap", MO, 1, 4, 4, SIZE, { 0x12, 4, 0xc0 }),
	A_SEND("D-7.1-4_mo_huge", MO, 1, 0xfffffff0, 32, SIZE, { 0x12, 4, 0xc0 }),
	A_SEND("D-7.1-5_one_over", TOO_LONG, 1, 0, SIZE + 1, SIZE, { 0x12, 5, 0xc0 }),
	A_SINV("R-5.3-3_valid", NONE, STAG_WRITE, { 0 }),
	A_SINV("R-5.3-5_key", INV_STAG, STAG_KEY, { 2, 9, 0xc0 }),
	A_SINV("R-5.3-5_dead", INV_STAG, STAG_DEAD, { 2, 9, 0xc0 }),
	A_SINV("R-5.3-5_index", INV_STAG, STAG_INDEX, { 2, 9, 0xc0 }),
	A_SINV("R-5.3-4_other_pd", INV_FOREIGN, STAG_OTHER, { 1, 9, 0xc0 }),
	A_SINV("R-8.1.1-7_no_remote_right", INV_STAG, STAG_NONE, { 2, 9, 0xc0 }),
	A_SINV("R-8.1.1-7_dma_region", INV_STAG, STAG_LOCAL, { 2, 9, 0xc0 }),
	{ "R-5.2.2-1_unasked", SRNIC_ERR_RESP_NONE, 0xc1, 0x42, STAG_WRITE, BASE, .len = 4,
	  .term = { 2, 6, 0xc0 }, .term_len = MD_T },
	{ "R-4.1-3_send_tagged", SRNIC_ERR_OPCODE, 0xc1, 0x43, STAG_WRITE, BASE, .len = 4,
	  .recv = SIZE, .term = { 2, 6, 0xc0 }, .term_len = MD_T },
	{ "R-4.1-4_send_on_queue_1", SRNIC_ERR_OPCODE, 0x41, 0x43, .qn = 1, .msn = 1, .len = 4,
	  .recv = SIZE, .term = { 2, 6, 0xc0 }, .term_len = MD_U },
	{ "D-7.1-1_queue_3", SRNIC_ERR_QN, 0x41, 0x43, .qn = 3, .msn = 1, .len = 4,
	  .recv = SIZE, .term = { 0x12, 1, 0xc0 }, .term_len = MD_U },
	{ "R-4.4-2_read_29", SRNIC_ERR_TOO_LONG, 0x41, 0x41, .qn = 1, .msn = 1, .len = 29,
	  .term = { 0x12, 5, 0xc0 }, .term_len = MD_U },
	{ "R-4.4-2_read_27", SRNIC_ERR_READ_FORM, 0x41, 0x41, .qn = 1, .msn = 1, .len = 27,
	  .term = { 2, 0xff, 0xc0 }, .term_len = MD_U },
	{ "R-4.4-2_read_not_last", SRNIC_ERR_READ_FORM, 0x01, 0x41, .qn = 1, .msn = 1, .len = 28,
	  .term = { 2, 0xff, 0xc0 }, .term_len = MD_U },
	{ "R-4.4-2_read_mo", SRNIC_ERR_MO, 0x41, 0x41, .qn = 1, .msn = 1, .mo = 4, .len = 28,
	  .term = { 0x12, 4, 0xc0 }, .term_len = MD_U },
	{ "D-7.1-3_read_msn", SRNIC_ERR_MSN, 0x41, 0x41, .qn = 1, .msn = 2, .len = 28,
	  .term = { 0x12, 3, 0xc0 }, .term_len = MD_U },
	{ "R-5.4-2_terminate", SRNIC_ERR_TERM_RECEIVED, 0x41, 0x47, .qn = 2, .msn = 1, .len = 4 },
	{ "R-4.8-8_terminate_60", SRNIC_ERR_TERM_RECEIVED, 0x41, 0x47, .qn = 2, .msn = 1,
	  .len = 60 },
	{ "R-5.4-6_terminate_3", SRNIC_ERR_TERM_BAD, 0x41, 0x47, .qn = 2, .msn = 1, .len = 3 },
	{ "R-5.4-6_terminate_msn", SRNIC_ERR_TERM_BAD, 0x41, 0x47, .qn = 2, .msn = 2, .len = 4 },
	{ "R-5.4-6_terminate_mo", SRNIC_ERR_TERM_BAD, 0x41, 0x47, .qn = 2, .msn = 1, .mo = 4,
	  .len = 4 },
	{ "R-5.4-6_terminate_not_last", SRNIC_ERR_TERM_BAD, 0x01, 0x47, .qn = 2, .msn = 1,
	  .len = 4 },
	{ "R-5.4-6_terminate_on_0", SRNIC_ERR_TERM_BAD, 0x41, 0x47, .qn = 0, .msn = 1, .len = 4 },
};

KUNIT_ARRAY_PARAM_DESC(fault, fault_rows, desc);

/* For an FPDU in error RX places and delivers nothing; a Terminate is built if the error has one */
/* Rules: R-6.2.1-1: the error and each byte of the Terminate message, and untouched memory */
static void fault_one_fpdu_judged(struct kunit *test)
{
	const struct fault_row *row = test->param_value;
	bool inv = (row->rdmap & 0xf) == SRNIC_OP_SEND_INV;
	struct fault_world *w = fault_begin(test);
	struct pair *p = w->p;
	u8 ulpdu[256], *recv = p->end[1].mem + 16384;
	u16 len = fault_ulpdu(w, row, ulpdu);
	struct ib_wc wc;

	memset(recv, 0xee, 2 * SIZE);
	if (row->recv)
		pair_post_recv(&p->end[1], 1, recv, row->recv);
	pair_put_ulpdu(p, 0, ulpdu, len);
	pair_deliver(p, 0);
	pair_expect_fault(p, 1, row->err);
	KUNIT_EXPECT_EQ(test, pair_count(p, SRNIC_CNT_remote_invalidated), inv && !row->err);
	KUNIT_EXPECT_PTR_EQ(test, memchr_inv(p->end[1].mem, 0xee, 4096), NULL);
	KUNIT_EXPECT_PTR_EQ(test, memchr_inv(w->mem + SIZE, 0xee, 4096 - SIZE), NULL);
	if (row->err == SRNIC_ERR_NONE)
		return;
	KUNIT_EXPECT_PTR_EQ(test, memchr_inv(p->end[1].mem, 0xee, 8192), NULL);
	KUNIT_EXPECT_PTR_EQ(test, memchr_inv(recv, 0xee, 2 * SIZE), NULL);
	if (pair_poll(&p->end[1].rcq, &wc))
		KUNIT_EXPECT_EQ(test, wc.status, inv ? IB_WC_REM_INV_REQ_ERR : IB_WC_LOC_LEN_ERR);
	fault_expect_term(p, row, ulpdu, len);
}

/*
 * srnic's receive path (RX) gets the FPDU of a row of fault_rows[] between two valid Writes, in one
 * call. The first Write is placed; the second one is placed if the row's FPDU is valid, and does
 * not invalidate the Writes' STag. RX keeps the read lock of the first Write's memory region
 * (mr->lock) for the next FPDU: the checks that the first Write has passed must not replace those
 * of the row's FPDU.
 */
static void fault_one_fpdu_amid_others_judged(struct kunit *test)
{
	struct fault_row good = A_WRITE("", NONE, STAG_WRITE, BASE, 8, { 0 });
	const struct fault_row *row = test->param_value;
	bool inv = (row->rdmap & 0xf) == SRNIC_OP_SEND_INV;
	enum srnic_err err = row->err ?: inv ? SRNIC_ERR_WRITE_STAG : SRNIC_ERR_NONE;
	struct fault_world *w = fault_begin(test);
	struct pair *p = w->p;
	u8 ulpdu[256];
	u16 len;

	if (row->recv)
		pair_post_recv(&p->end[1], 1, p->end[1].mem + 16384, row->recv);
	pair_put_ulpdu(p, 0, ulpdu, fault_ulpdu(w, &good, ulpdu));
	pair_put_ulpdu(p, 0, ulpdu, fault_ulpdu(w, row, ulpdu));
	good.to = BASE + SIZE - 8;
	pair_put_ulpdu(p, 0, ulpdu, fault_ulpdu(w, &good, ulpdu));
	pair_deliver_some(p, 0, p->end[0].wire_len);
	pair_expect_fault(p, 1, err);
	KUNIT_EXPECT_PTR_EQ(test, memchr_inv(w->mem, 0x55, 8), NULL);
	KUNIT_EXPECT_PTR_EQ(test, memchr_inv(w->mem + SIZE - 8, err ? 0xee : 0x55, 8), NULL);
	if (!row->err)
		return;
	KUNIT_EXPECT_PTR_EQ(test, memchr_inv(w->mem + 8, 0xee, SIZE - 8), NULL);
	len = fault_ulpdu(w, row, ulpdu);
	fault_expect_term(p, row, ulpdu, len);
}

/* RX detects any flipped bit after ULPDU_Length by the CRC, and places nothing of the FPDU */
/*
 * Rules: F-4.4-3: the error for each bit that is flipped; F-6-1 F-8-5: no memory is changed, though
 * a good FPDU follows each bad one; R-7.1-2: the error is that of the first bad FPDU
 */
static void fault_any_bit_flipped_crc_found(struct kunit *test)
{
	struct fault_world *w = fault_begin(test);
	const struct fault_row row = A_WRITE("", CRC, STAG_WRITE, BASE, SIZE, { 0 });
	struct srnic_qp *qp = w->p->end[1].qp;
	struct pair_end *e = &w->p->end[0];
	u8 ulpdu[256], term[SRNIC_TERM_MAX];
	u16 len = fault_ulpdu(w, &row, ulpdu);
	u32 size = iw_mpa_fpdu_size(len), bit;

	/* ULPDU_Length is left out: with a larger one RX would wait for bytes that never arrive. */
	for (bit = 16; bit < size * 8; bit++) {
		qp->state = SRNIC_RTS;
		qp->fault.err = SRNIC_ERR_NONE;
		e->wire_len = 0;
		pair_put_ulpdu(w->p, 0, ulpdu, len);
		e->wire[bit / 8] ^= 1 << bit % 8;
		pair_put_ulpdu(w->p, 0, ulpdu, len);	/* a valid FPDU after the bad one */
		pair_deliver(w->p, 0);
		KUNIT_ASSERT_EQ(test, qp->fault.err, SRNIC_ERR_CRC);
	}
	KUNIT_EXPECT_PTR_EQ(test, memchr_inv(w->mem, 0xee, SIZE), NULL);
	KUNIT_EXPECT_EQ(test, fault_term(w->p, term), 4);
	KUNIT_EXPECT_EQ(test, get_unaligned_be32(term), 0x20020000);
}

/* With CRC off, a Marker with a wrong FPDUPTR is an error; reserved bits of a Marker are ignored */
/* Rules: F-8-2: the error for each bit of FPDUPTR; F-4.2-1: no error for a bit that is reserved */
static void fault_marker_points_elsewhere_found(struct kunit *test)
{
	struct fault_world *w = fault_begin(test);
	const struct fault_row row = A_WRITE("", MARKER, STAG_WRITE, BASE, 512, { 0 });
	struct srnic_qp *qp = w->p->end[1].qp;
	struct pair_end *e = &w->p->end[0];
	u8 ulpdu[14 + 512];
	u16 len;
	int bit;

	w->stags[STAG_WRITE] = pair_reg(w->p, &w->p->pd, w->mem, BASE, 512,
					IB_ACCESS_REMOTE_WRITE)->stag;
	len = fault_ulpdu(w, &row, ulpdu);
	qp->params.rx_markers = true;
	qp->params.crc = false;
	e->qp->params.tx_markers = true;
	for (bit = 0; bit < 64; bit++) {
		u8 octet = bit / 8 % 4;
		bool reserved = octet < 2 || bit % 32 == 24 || bit % 32 == 25;

		qp->state = SRNIC_RTS;
		qp->fault.err = SRNIC_ERR_NONE;
		e->wire_len = 0;
		e->wire_pos = 0;
		e->qp->tx.pos = 0;
		pair_put_ulpdu(w->p, 0, ulpdu, len);
		e->wire[bit / 32 * 512 + octet] ^= 1 << bit % 8;
		pair_deliver(w->p, 0);
		KUNIT_EXPECT_EQ(test, qp->fault.err,
				reserved ? SRNIC_ERR_NONE : SRNIC_ERR_MARKER);
	}
}

/* If CRC was negotiated off, RX does not check the CRC field of an FPDU */
/* Rules: F-4.1-4: the bytes are placed */
static void fault_junk_crc_with_crc_off_fine(struct kunit *test)
{
	struct fault_world *w = fault_begin(test);
	const struct fault_row row = A_WRITE("", NONE, STAG_WRITE, BASE, SIZE, { 0 });
	struct pair_end *e = &w->p->end[0];
	u8 ulpdu[256];

	w->p->end[1].qp->params.crc = false;
	pair_put_ulpdu(w->p, 0, ulpdu, fault_ulpdu(w, &row, ulpdu));
	e->wire[e->wire_len - 1] ^= 0xff;
	pair_deliver(w->p, 0);
	pair_expect_fault(w->p, 1, SRNIC_ERR_NONE);
	KUNIT_EXPECT_PTR_EQ(test, memchr_inv(w->mem, 0x55, SIZE), NULL);
}

/* A ULPDU that is shorter than its DDP header, tagged or untagged, is an error */
/*
 * Rules: F-4.1-5 T-20: the error for a ULPDU of each opcode and each length that is too short for a
 * header, and the bytes of the Terminate message for the last of them
 */
static void fault_short_ulpdu_found(struct kunit *test)
{
	struct fault_world *w = fault_begin(test);
	struct srnic_qp *qp = w->p->end[1].qp;
	u8 term[SRNIC_TERM_MAX], op, tagged;
	u16 len;

	for (op = 0; op < 16; op++) {
		for (tagged = 0; tagged < 2; tagged++) {
			u8 ulpdu[18] = { tagged ? 0xc1 : 0x41, 0x40 | op };

			for (len = 0; len < (tagged ? 14 : 18); len++) {
				qp->state = SRNIC_RTS;
				qp->fault.err = SRNIC_ERR_NONE;
				w->p->end[0].wire_len = 0;
				pair_put_ulpdu(w->p, 0, ulpdu, len);
				pair_deliver(w->p, 0);
				KUNIT_ASSERT_EQ(test, qp->fault.err, SRNIC_ERR_SHORT);
			}
		}
	}
	KUNIT_EXPECT_EQ(test, fault_term(w->p, term), 4);
	KUNIT_EXPECT_EQ(test, get_unaligned_be32(term), 0x02ff0000);
}

/* RX accepts as many unanswered Read Requests as IRD; those of length zero count, too */
/* Rules: R-6.1-3 R-5.2.1-1: no error for IRD Reads of no bytes, and error 1/2/02 for one more */
static void fault_one_read_more_than_ird_refused(struct kunit *test)
{
	struct fault_world *w = fault_begin(test);
	struct fault_row row = A_READ("", NO_BUFFER, STAG_ZERO, 0, 0, { 0x12, 2, 0xc0 });
	u8 ulpdu[256];
	u32 i;

	row.term_len = MD_U;
	for (i = 1; i <= PAIR_IRD; i++) {
		row.msn = i;
		pair_put_ulpdu(w->p, 0, ulpdu, fault_ulpdu(w, &row, ulpdu));
	}
	KUNIT_EXPECT_TRUE(test, pair_deliver(w->p, 0));
	pair_expect_fault(w->p, 1, SRNIC_ERR_NONE);
	row.msn = i;
	pair_put_ulpdu(w->p, 0, ulpdu, fault_ulpdu(w, &row, ulpdu));
	pair_deliver(w->p, 0);
	pair_expect_fault(w->p, 1, SRNIC_ERR_NO_BUFFER);
	fault_expect_term(w->p, &row, ulpdu, 46);
}

/* A Read Request counts against IRD until its response is built, not until TCP has the response */
/* Rules: R-6.1-4: no error in 100 Reads, each after a response that was made but not sent */
static void fault_next_read_behind_response_fine(struct kunit *test)
{
	struct fault_world *w = fault_begin(test);
	struct fault_row row = A_READ("", NONE, STAG_READ, BASE, SIZE, { 0 });
	u8 ulpdu[256];
	u32 i;

	for (i = 1; i <= 100; i++) {
		row.msn = i;
		pair_put_ulpdu(w->p, 0, ulpdu, fault_ulpdu(w, &row, ulpdu));
		pair_deliver(w->p, 0);
		if (i < PAIR_IRD)
			continue;
		KUNIT_ASSERT_GT(test, srnic_send_fill(w->p->end[1].qp), 0);
		srnic_batch_reset(&w->p->end[1].qp->tx.batch);
	}
	pair_expect_fault(w->p, 1, SRNIC_ERR_NONE);
}

static struct kunit_case fault_cases[] = {
	KUNIT_CASE_PARAM(fault_one_fpdu_judged, fault_gen_params),
	KUNIT_CASE_PARAM(fault_one_fpdu_amid_others_judged, fault_gen_params),
	KUNIT_CASE(fault_any_bit_flipped_crc_found),
	KUNIT_CASE(fault_marker_points_elsewhere_found),
	KUNIT_CASE(fault_junk_crc_with_crc_off_fine),
	KUNIT_CASE(fault_short_ulpdu_found),
	KUNIT_CASE(fault_one_read_more_than_ird_refused),
	KUNIT_CASE(fault_next_read_behind_response_fine),
	{}
};

static struct kunit_suite fault_suite = {
	.name = "srnic_fault",
	.init = pair_init,
	.exit = pair_exit,
	.test_cases = fault_cases,
};

kunit_test_suite(fault_suite);

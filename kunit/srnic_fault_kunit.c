// SPDX-License-Identifier: GPL-2.0
/*
 * What a peer may not do: the error that is found, the Terminate message, what was placed
 * and what was delivered. One FPDU, or a few, for each row.
 */

#include "srnic_pair.h"

#include <linux/module.h>
#include <linux/string.h>
#include <linux/unaligned.h>

#include "place.h"
#include "rq.h"
#include "rx.h"
#include "send.h"
#include "sq.h"
#include "stag.h"
#include "writer.h"

#define BASE	0x100000ULL
#define SIZE	64U

/* STags of the victim, put into rows by their number */
enum fault_stag {
	STAG_WRITE,		/* SIZE octets at BASE, remote write */
	STAG_READ,		/* the same, remote read */
	STAG_NONE,		/* no remote right */
	STAG_OTHER,		/* of another protection domain */
	STAG_DEAD,		/* was valid once */
	STAG_KEY,		/* STAG_WRITE with another key */
	STAG_INDEX,		/* nobody has it */
	STAG_ZERO,
	STAG_DMA,		/* the lkey of all memory */
	STAG_COUNT
};

/* Of tagged messages @stag and @to; of untagged ones @qn, @msn, @mo; of Read Requests all */
struct fault_row {
	const char	*desc;
	enum srnic_err	err;
	u8		ddp, rdmap;
	u8		stag;
	u64		to;
	u32		qn, msn, mo;
	u32		len;		/* octets of payload */
	u32		size;		/* Read Request: size */
	u32		recv;		/* octets of a receive that is posted, or 0 for none */
	u8		term[4];	/* Terminate Control; nothing if silent */
	u8		term_len;
};

#define T_STAG	{ 0x11, 0x00, 0xc0, 0 }
#define MD_T	20
#define MD_U	24
#define MDR	52

#define A_WRITE(_desc, _err, _stag, _to, _len, ...) {			\
	.desc = _desc, .err = SRNIC_ERR_##_err, .ddp = 0xc1, .rdmap = 0x40,	\
	.stag = _stag, .to = _to, .len = _len, .term = __VA_ARGS__, .term_len = MD_T }
#define A_READ(_desc, _err, _stag, _to, _size, ...) {			\
	.desc = _desc, .err = SRNIC_ERR_##_err, .ddp = 0x41, .rdmap = 0x41,	\
	.qn = 1, .msn = 1, .stag = _stag, .to = _to, .len = 28, .size = _size,	\
	.term = __VA_ARGS__, .term_len = MDR }
#define A_SEND(_desc, _err, _msn, _mo, _len, _recv, ...) {		\
	.desc = _desc, .err = SRNIC_ERR_##_err, .ddp = 0x41, .rdmap = 0x43,	\
	.msn = _msn, .mo = _mo, .len = _len, .recv = _recv,			\
	.term = __VA_ARGS__, .term_len = MD_U }
#define A_SINV(_desc, _err, _stag, ...) {					\
	.desc = _desc, .err = SRNIC_ERR_##_err, .ddp = 0x41, .rdmap = 0x44,	\
	.msn = 1, .stag = _stag, .recv = SIZE, .term = __VA_ARGS__, .term_len = MD_U }

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

static void fault_desc(const struct fault_row *row, char *desc)
{
	strscpy(desc, row->desc, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(fault, fault_rows, fault_desc);

/* End 1 is the victim. */
struct fault_world {
	struct pair	*p;
	u8		*mem;		/* SIZE octets, guards around */
	u32		stags[STAG_COUNT];
};

static const struct pair_opts fault_opts = { .crc = true, .emss = 1448, .ord = 4 };

static struct fault_world *fault_begin(struct kunit *test)
{
	struct fault_world *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);
	struct pair *p = test->priv;
	struct srnic_mr *dead;
	u8 *mem = p->end[1].mem + 4096;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, w);
	w->p = p;
	w->mem = mem;
	pair_start(p, &fault_opts);
	memset(p->end[1].mem, 0xee, 8192);
	w->stags[STAG_WRITE] = pair_reg(p, &p->pd, mem, BASE, SIZE, IB_ACCESS_REMOTE_WRITE)->stag;
	w->stags[STAG_READ] = pair_reg(p, &p->pd, mem, BASE, SIZE, IB_ACCESS_REMOTE_READ)->stag;
	w->stags[STAG_NONE] = pair_reg(p, &p->pd, mem, BASE, SIZE, IB_ACCESS_LOCAL_WRITE)->stag;
	w->stags[STAG_OTHER] = pair_reg(p, &p->other_pd, mem, BASE, SIZE,
					IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ)->stag;
	dead = pair_reg(p, &p->pd, mem, BASE, SIZE,
			IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ);
	w->stags[STAG_DEAD] = dead->stag;
	KUNIT_ASSERT_EQ(test, srnic_stag_invalidate(p->dev, &p->pd, dead->stag), 0);
	w->stags[STAG_KEY] = w->stags[STAG_WRITE] ^ 1;
	w->stags[STAG_INDEX] = w->stags[STAG_WRITE] ^ 0x100;
	w->stags[STAG_DMA] = SRNIC_LOCAL_DMA_LKEY;
	return w;
}

static u16 fault_ulpdu(const struct fault_world *w, const struct fault_row *row, u8 *ulpdu)
{
	u8 *payload = ulpdu + (row->ddp & 0x80 ? 14 : 18);

	memset(ulpdu, 0, 256);
	ulpdu[0] = row->ddp;
	ulpdu[1] = row->rdmap;
	if (row->ddp & 0x80) {
		put_unaligned_be32(w->stags[row->stag], ulpdu + 2);
		put_unaligned_be64(row->to, ulpdu + 6);
	} else {
		if ((row->rdmap & 0xf) == SRNIC_OP_SEND_INV)
			put_unaligned_be32(w->stags[row->stag], ulpdu + 2);
		put_unaligned_be32(row->qn, ulpdu + 6);
		put_unaligned_be32(row->msn, ulpdu + 10);
		put_unaligned_be32(row->mo, ulpdu + 14);
	}
	memset(payload, 0x55, row->len);
	if ((row->rdmap & 0xf) == SRNIC_OP_READ_REQ && row->len == 28) {
		put_unaligned_be32(0xdeadbeef, payload);
		put_unaligned_be64(0x0102030405060707, payload + 4);
		put_unaligned_be32(row->size, payload + 12);
		put_unaligned_be32(w->stags[row->stag], payload + 16);
		put_unaligned_be64(row->to, payload + 20);
	}
	return payload - ulpdu + row->len;
}

/* The Terminate message that the victim makes: its payload */
static u32 fault_term(struct pair *p, u8 *payload)
{
	struct srnic_batch *batch = &p->end[1].qp->tx.batch;
	u32 len;
	u8 *fpdu;

	KUNIT_ASSERT_EQ(p->test, srnic_send_term(p->end[1].qp), 0);
	fpdu = page_address(batch->bv[0].bv_page) + batch->bv[0].bv_offset;
	len = get_unaligned_be16(fpdu) - 18;
	KUNIT_ASSERT_LE(p->test, len, (u32)SRNIC_TERM_MAX);
	KUNIT_EXPECT_EQ(p->test, get_unaligned_be16(fpdu + 2), 0x4147);
	KUNIT_EXPECT_EQ(p->test, get_unaligned_be32(fpdu + 8), 2);
	KUNIT_EXPECT_EQ(p->test, get_unaligned_be32(fpdu + 12), 1);
	KUNIT_EXPECT_EQ(p->test, get_unaligned_be32(fpdu + 16), 0);
	memcpy(payload, fpdu + 20, len);
	srnic_batch_reset(batch);
	return len;
}

static void fault_expect_term(struct pair *p, const struct fault_row *row, const u8 *ulpdu, u16 len)
{
	u32 copied = row->term_len - 6;
	u8 term[SRNIC_TERM_MAX];

	if (srnic_err_form(row->err) == SRNIC_TERM_SILENT)
		return;
	KUNIT_ASSERT_EQ(p->test, fault_term(p, term), row->term_len);
	KUNIT_EXPECT_EQ(p->test, memcmp(term, row->term, 4), 0);
	KUNIT_EXPECT_EQ(p->test, get_unaligned_be16(term + 4), len);
	KUNIT_EXPECT_EQ(p->test, memcmp(term + 6, ulpdu, copied), 0);
}

/* One Terminate message, nothing placed, nothing delivered */
/* Rules: R-6.2.1-1 F-8-5 */
static void fault_one_fpdu_judged(struct kunit *test)
{
	const struct fault_row *row = test->param_value;
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
	KUNIT_EXPECT_PTR_EQ(test, memchr_inv(p->end[1].mem, 0xee, 4096), NULL);
	KUNIT_EXPECT_PTR_EQ(test, memchr_inv(w->mem + SIZE, 0xee, 4096 - SIZE), NULL);
	if (row->err == SRNIC_ERR_NONE)
		return;
	KUNIT_EXPECT_PTR_EQ(test, memchr_inv(p->end[1].mem, 0xee, 8192), NULL);
	KUNIT_EXPECT_PTR_EQ(test, memchr_inv(recv, 0xee, 2 * SIZE), NULL);
	if (pair_poll(&p->end[1].rcq, &wc))
		KUNIT_EXPECT_NE(test, wc.status, IB_WC_SUCCESS);
	fault_expect_term(p, row, ulpdu, len);
}

/* Each bit of an FPDU counts, and nothing of it is placed */
/* Rules: F-4.4-3 F-6-1 R-7.1-2 */
static void fault_any_bit_flipped_crc_found(struct kunit *test)
{
	struct fault_world *w = fault_begin(test);
	const struct fault_row row = A_WRITE("", CRC, STAG_WRITE, BASE, SIZE, { 0 });
	struct srnic_qp *qp = w->p->end[1].qp;
	struct pair_end *e = &w->p->end[0];
	u8 ulpdu[256], term[SRNIC_TERM_MAX];
	u16 len = fault_ulpdu(w, &row, ulpdu);
	u32 size = iw_mpa_fpdu_size(len), bit;

	/* The length itself is left alone: it may ask for octets that never come. */
	for (bit = 16; bit < size * 8; bit++) {
		qp->state = SRNIC_RTS;
		qp->fault.err = SRNIC_ERR_NONE;
		e->wire_len = 0;
		pair_put_ulpdu(w->p, 0, ulpdu, len);
		e->wire[bit / 8] ^= 1 << bit % 8;
		pair_put_ulpdu(w->p, 0, ulpdu, len);	/* a good one behind it */
		pair_deliver(w->p, 0);
		KUNIT_ASSERT_EQ(test, qp->fault.err, SRNIC_ERR_CRC);
	}
	KUNIT_EXPECT_PTR_EQ(test, memchr_inv(w->mem, 0xee, SIZE), NULL);
	KUNIT_EXPECT_EQ(test, fault_term(w->p, term), 4);
	KUNIT_EXPECT_EQ(test, get_unaligned_be32(term), 0x20020000);
}

/* A Marker that points elsewhere with a right CRC; reserved bits do not count */
/* Rules: F-8-2 F-4.2-1 */
static void fault_marker_points_elsewhere_found(struct kunit *test)
{
	struct fault_world *w = fault_begin(test);
	const struct fault_row row = A_WRITE("", MARKER, STAG_WRITE, BASE, SIZE, { 0 });
	struct srnic_qp *qp = w->p->end[1].qp;
	struct pair_end *e = &w->p->end[0];
	u8 ulpdu[256];
	u16 len = fault_ulpdu(w, &row, ulpdu);
	int bit;

	qp->rx.markers = true;
	qp->rx.crc = false;
	e->qp->tx.markers = true;
	for (bit = 0; bit < 32; bit++) {
		bool reserved = bit < 16 || bit == 24 || bit == 25;

		qp->state = SRNIC_RTS;
		qp->fault.err = SRNIC_ERR_NONE;
		e->wire_len = 0;
		e->wire_pos = 0;
		e->qp->tx.pos = 0;
		pair_put_ulpdu(w->p, 0, ulpdu, len);
		e->wire[bit / 8] ^= 1 << bit % 8;
		pair_deliver(w->p, 0);
		KUNIT_EXPECT_EQ(test, qp->fault.err,
				reserved ? SRNIC_ERR_NONE : SRNIC_ERR_MARKER);
	}
}

/* With CRC off the field is not looked at */
/* Rules: F-4.1-4 */
static void fault_junk_crc_with_crc_off_fine(struct kunit *test)
{
	struct fault_world *w = fault_begin(test);
	const struct fault_row row = A_WRITE("", NONE, STAG_WRITE, BASE, SIZE, { 0 });
	struct pair_end *e = &w->p->end[0];
	u8 ulpdu[256];

	w->p->end[1].qp->rx.crc = false;
	pair_put_ulpdu(w->p, 0, ulpdu, fault_ulpdu(w, &row, ulpdu));
	e->wire[e->wire_len - 1] ^= 0xff;
	pair_deliver(w->p, 0);
	pair_expect_fault(w->p, 1, SRNIC_ERR_NONE);
	KUNIT_EXPECT_PTR_EQ(test, memchr_inv(w->mem, 0x55, SIZE), NULL);
}

/* Any ULPDU that is shorter than its header */
/* Rules: F-4.1-5 T-20 */
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

/* Exactly the IRD that was negotiated, Reads of no octets too */
/* Rules: R-6.1-3 R-6.1-5 */
static void fault_one_read_more_than_ird_refused(struct kunit *test)
{
	struct fault_world *w = fault_begin(test);
	struct fault_row row = A_READ("", NO_BUFFER, STAG_ZERO, 0, 0, { 0x12, 2, 0xc0 });
	u8 ulpdu[256];
	u32 i;

	row.term_len = MD_U;
	for (i = 1; i <= PAIR_IRD + 1; i++) {
		pair_expect_fault(w->p, 1, SRNIC_ERR_NONE);
		row.msn = i;
		pair_put_ulpdu(w->p, 0, ulpdu, fault_ulpdu(w, &row, ulpdu));
		pair_deliver(w->p, 0);
	}
	pair_expect_fault(w->p, 1, SRNIC_ERR_NO_BUFFER);
	fault_expect_term(w->p, &row, ulpdu, 46);
}

/* A slot is free before the last segment of the response is on the wire */
/* Rules: R-6.1-4 */
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

/* What a peer may do wrong with the answer to a Read of SIZE octets at BASE */
struct resp_row {
	const char	*desc;
	enum srnic_err	err;
	u32		lens[3];	/* of up to three segments */
	u8		segments;
	s32		shift;		/* of the last one's offset */
	bool		stag;		/* the last one's is wrong */
	bool		open;		/* the last one has no L */
};

static const struct resp_row resp_rows[] = {
	{ "R-5.2.2-4_exact", SRNIC_ERR_NONE, { SIZE }, 1 },
	{ "R-5.2.2-4_last_is_empty", SRNIC_ERR_NONE, { SIZE, 0 }, 2 },
	{ "R-5.2.2-3_three", SRNIC_ERR_NONE, { 10, 20, SIZE - 30 }, 3 },
	{ "R-5.2.2-4_short", SRNIC_ERR_RESP_BOUNDS, { SIZE - 1 }, 1 },
	{ "R-5.2.2-4_empty", SRNIC_ERR_RESP_BOUNDS, { 0 }, 1 },
	{ "R-5.2.2-3_one_over", SRNIC_ERR_RESP_BOUNDS, { SIZE + 1 }, 1 },
	{ "R-5.2.2-3_one_over_in_third", SRNIC_ERR_RESP_BOUNDS, { 10, 20, SIZE - 29 }, 3 },
	{ "R-5.2.2-3_gap", SRNIC_ERR_RESP_BOUNDS, { 10, 20 }, 2, .shift = 1 },
	{ "R-5.2.2-3_back", SRNIC_ERR_RESP_BOUNDS, { 10, 20 }, 2, .shift = -1 },
	{ "R-5.2.2-2_first", SRNIC_ERR_RESP_STAG, { SIZE }, 1, .stag = true },
	{ "R-5.2.2-2_last", SRNIC_ERR_RESP_STAG, { 10, 20, SIZE - 30 }, 3, .stag = true },
	{ "R-5.2.2-4_never_ends", SRNIC_ERR_RESP_BOUNDS, { SIZE, 1 }, 2, .open = true },
};

static void resp_desc(const struct resp_row *row, char *desc)
{
	strscpy(desc, row->desc, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(resp, resp_rows, resp_desc);

static void fault_read_response_judged(struct kunit *test)
{
	const struct resp_row *row = test->param_value;
	struct fault_world *w = fault_begin(test);
	struct pair_end *e = &w->p->end[1];
	struct ib_sge sge = { .addr = BASE, .length = SIZE, .lkey = w->stags[STAG_NONE] };
	const struct ib_rdma_wr wr = {
		.wr = {
			.wr_id = 5, .opcode = IB_WR_RDMA_READ, .sg_list = &sge, .num_sge = 1,
			.send_flags = IB_SEND_SIGNALED,
		},
	};
	u32 off = 0, i;

	KUNIT_ASSERT_EQ(test, pair_post(e, &wr.wr), 0);
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

/* Octets for a Read of nothing, to its sink and to another */
/* Rules: R-5.2.2-3 */
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
		/* For the next row */
		srnic_place_flush(qp, &up);
		srnic_sq_flush(qp, &up);
		qp->state = SRNIC_RTS;
	}
}

/* Revoked in the middle of the response */
/* Rules: R-4.8-6 R-8.1.1-6 */
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
	qp->tx.batch.fpdus = SRNIC_BATCH_FPDUS - 2;	/* room for two */
	KUNIT_ASSERT_GT(test, srnic_send_fill(qp), 0);
	srnic_batch_reset(&qp->tx.batch);
	KUNIT_ASSERT_EQ(test, srnic_stag_invalidate(w->p->dev, &w->p->pd, mr->stag), 0);
	KUNIT_ASSERT_GT(test, srnic_send_fill(qp), 0);
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

/* An empty segment without L says nothing of those behind it */
/* Rules: D-5.2-6 T-1 T-22 */
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
	KUNIT_ASSERT_EQ(test, srnic_stag_invalidate(w->p->dev, &w->p->pd, w->stags[STAG_WRITE]), 0);
	row.to = BASE + 8;
	pair_put_ulpdu(w->p, 0, ulpdu, fault_ulpdu(w, &row, ulpdu));
	pair_deliver(w->p, 0);
	pair_expect_fault(w->p, 1, SRNIC_ERR_WRITE_STAG);
	KUNIT_EXPECT_PTR_EQ(test, memchr_inv(w->mem, 0x55, 8), NULL);
	KUNIT_EXPECT_EQ(test, w->mem[8], 0xee);
}

/* A Write inside of a Send does no harm; another opcode does */
/* Rules: D-4.3-5 D-5.3-2 */
static void fault_send_changes_opcode_refused(struct kunit *test)
{
	struct fault_world *w = fault_begin(test);
	struct fault_row send = A_SEND("", OPCODE, 1, 0, 8, SIZE, { 2, 6, 0xc0 });
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
	send.mo = 16;
	send.ddp = 0x41;
	send.rdmap = 0x45;
	len = fault_ulpdu(w, &send, ulpdu);
	pair_put_ulpdu(w->p, 0, ulpdu, len);
	pair_deliver(w->p, 0);
	pair_expect_fault(w->p, 1, SRNIC_ERR_OPCODE);
	fault_expect_term(w->p, &send, ulpdu, len);
}

/* A work request that cannot be done; what was before it is sent and completes */
/* Rules: R-7.1-1 */
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
	KUNIT_EXPECT_TRUE(test, e->qp->tx.fault_is_own);
	KUNIT_EXPECT_EQ(test, e->qp->tx.batch.fpdus, 1);
	srnic_batch_reset(&e->qp->tx.batch);
	srnic_sq_sent(e->qp, &up);
	pair_expect_wc(w->p, &e->scq, 1, IB_WC_SUCCESS);
	pair_expect_wc(w->p, &e->scq, 2, IB_WC_LOC_PROT_ERR);
	KUNIT_EXPECT_EQ(test, fault_term(w->p, term), 4);
	KUNIT_EXPECT_EQ(test, get_unaligned_be32(term), 0);
}

/* A Read whose sink cannot be used does not leave */
/* Rules: R-7.1-1 R-5.2.2-6 */
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

/* Of a segment that needs two SGEs nothing is placed if the second is bad */
/* Rules: R-7.1-1 */
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

/* A stream must not end behind the first segment of a Write */
/* Rules: F-8-1 */
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

/* The first error is told, and no other */
/* Rules: R-7.1-2 R-5.4-4 */
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

static struct kunit_case fault_cases[] = {
	KUNIT_CASE_PARAM(fault_one_fpdu_judged, fault_gen_params),
	KUNIT_CASE(fault_any_bit_flipped_crc_found),
	KUNIT_CASE(fault_marker_points_elsewhere_found),
	KUNIT_CASE(fault_junk_crc_with_crc_off_fine),
	KUNIT_CASE(fault_short_ulpdu_found),
	KUNIT_CASE(fault_one_read_more_than_ird_refused),
	KUNIT_CASE(fault_next_read_behind_response_fine),
	KUNIT_CASE_PARAM(fault_read_response_judged, resp_gen_params),
	KUNIT_CASE(fault_octets_for_a_read_of_nothing_judged),
	KUNIT_CASE(fault_source_revoked_in_response_rest_told),
	KUNIT_CASE(fault_each_segment_checked_by_itself),
	KUNIT_CASE(fault_send_changes_opcode_refused),
	KUNIT_CASE(fault_local_work_request_terminates),
	KUNIT_CASE(fault_read_without_a_sink_terminates),
	KUNIT_CASE(fault_second_sge_of_a_receive_nothing_placed),
	KUNIT_CASE(fault_end_within_a_write_is_cut),
	KUNIT_CASE(fault_second_error_not_told),
	{}
};

static struct kunit_suite fault_suite = {
	.name = "srnic_fault",
	.init = pair_init,
	.exit = pair_exit,
	.test_cases = fault_cases,
};

kunit_test_suite(fault_suite);

MODULE_LICENSE("GPL");

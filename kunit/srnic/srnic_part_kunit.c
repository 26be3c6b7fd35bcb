// SPDX-License-Identifier: GPL-2.0
/*
 * RX collects an FPDU in a buffer of its own (@rx.part) if TCP's receive queue cannot hold all of
 * it.
 */

#include "srnic_pair.h"

#include <linux/mm.h>
#include <linux/string.h>

#include "cursor.h"
#include "state.h"
#include "rx.h"
#include "../srnic/mem.h"	/* srnic's, by its path: user mode Linux has a mem.h, too */

static const struct pair_opts part_opts[] = {
	{ .crc = true, .emss = 1448, .ord = 4 },
	{ .crc = true, .emss = 1448, .ord = 4, .markers = { true, true } },
};

static void part_desc(const struct pair_opts *opts, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "markers_%d", opts->markers[0]);
}

KUNIT_ARRAY_PARAM(part, part_opts, part_desc);

static struct pair *part_begin(struct kunit *test)
{
	struct pair *p = test->priv;
	u32 i;

	pair_start(p, test->param_value ?: &part_opts[0]);
	for (i = 0; i < PAIR_MEM; i++)
		p->end[0].mem[i] = i * 7 + (i >> 8);
	return p;
}

/*
 * Give RX the first byte of the FPDU at the start of from->wire, and a buffer to collect this FPDU
 * in. Outside of tests RX's work item allocates such a buffer if TCP's receive queue cannot hold
 * the whole FPDU.
 */
static void part_copy_out(struct pair *p, struct pair_end *from, struct srnic_qp *to)
{
	struct srnic_cursor cur = { .markers = to->params.rx_markers, .pos = from->wire_pos };
	struct srnic_upcalls up = {};

	srnic_cursor_at_memory(&cur, from->wire, 1);
	KUNIT_ASSERT_EQ(p->test, srnic_rx_take(to, &cur, 1, U32_MAX, &up), 0);
	to->rx.part_size = srnic_rx_part_size(to, from->wire_pos);
	to->rx.part_len = 0;
	to->rx.part = kvmalloc(to->rx.part_size, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(p->test, to->rx.part);
}

/*
 * RX begins to collect an FPDU in a buffer when it has only one byte of ULPDU_Length. RX reads the
 * FPDU after that one directly from TCP's queue, as usual.
 */
static void part_by_first_octet_arrives(struct kunit *test)
{
	static const u32 lens[] = { 0, 1, 490, 1000, 60000 };
	struct pair *p = part_begin(test);
	struct pair_end *a = &p->end[0], *b = &p->end[1];
	int i;

	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		struct ib_sge sge = pair_sge(a->mem, lens[i]);
		const struct ib_send_wr wr = {
			.opcode = IB_WR_SEND, .sg_list = &sge, .num_sge = 1,
		};

		memset(b->mem, 0xee, PAIR_MEM);
		pair_post_recv(b, i, b->mem, lens[i]);
		pair_post_recv(b, 100 + i, NULL, 0);
		KUNIT_ASSERT_EQ(test, pair_post(a, &wr), 0);
		sge.length = 0;
		KUNIT_ASSERT_EQ(test, pair_post(a, &wr), 0);
		pair_send(p, 0);
		part_copy_out(p, a, b->qp);
		pair_deliver(p, 0);
		pair_expect_fault(p, 1, SRNIC_ERR_NONE);
		pair_expect_wc(p, &b->rcq, i, IB_WC_SUCCESS);
		pair_expect_wc(p, &b->rcq, 100 + i, IB_WC_SUCCESS);
		KUNIT_EXPECT_EQ(test, memcmp(b->mem, a->mem, lens[i]), 0);
		KUNIT_EXPECT_EQ(test, b->mem[lens[i]], 0xee);
		KUNIT_EXPECT_PTR_EQ(test, b->qp->rx.part, NULL);
		KUNIT_EXPECT_EQ(test, pair_count(p, SRNIC_CNT_rx_copied_out), i + 1);
	}
}

/*
 * The buffer in which RX collects an FPDU has the size of that FPDU if ULPDU_Length is known, and
 * else the size of the longest FPDU.
 */
static void part_size_holds_any_fpdu(struct kunit *test)
{
	const u32 longest = iw_mpa_fpdu_size(U16_MAX);
	struct srnic_qp *qp = kunit_kzalloc(test, sizeof(*qp), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, qp);
	qp->rx.need = 2;
	KUNIT_EXPECT_EQ(test, srnic_rx_part_size(qp, 7), longest);
	qp->rx.need = 8;
	KUNIT_EXPECT_EQ(test, srnic_rx_part_size(qp, 0), 8);
	qp->params.rx_markers = true;
	KUNIT_EXPECT_EQ(test, srnic_rx_part_size(qp, 4), 8);
	qp->rx.need = 6;
	KUNIT_EXPECT_EQ(test, srnic_rx_part_size(qp, 1024),
			longest + 4 * DIV_ROUND_UP(longest, 508));
}

/*
 * If the completion of a receive overflows its CQ, RX processes no further FPDU, neither from TCP's
 * queue nor from the buffer in which RX collects an FPDU.
 */
static void part_cq_full_behind_it_stops(struct kunit *test)
{
	const struct ib_send_wr wr = { .opcode = IB_WR_SEND };
	struct pair *p = part_begin(test);
	struct pair_end *a = &p->end[0], *b = &p->end[1];
	struct srnic_cursor cur = {};
	struct srnic_upcalls up = {};

	b->rcq.overflowed = true;	/* no report of the overflow: there is no ULP */
	b->rcq.put = PAIR_CQES;
	pair_post_recv(b, 1, NULL, 0);
	pair_post_recv(b, 2, NULL, 0);
	KUNIT_ASSERT_EQ(test, pair_post(a, &wr), 0);
	KUNIT_ASSERT_EQ(test, pair_post(a, &wr), 0);
	pair_send(p, 0);
	part_copy_out(p, a, b->qp);
	srnic_cursor_at_memory(&cur, a->wire, a->wire_len);
	KUNIT_EXPECT_EQ(test, srnic_rx_take(b->qp, &cur, a->wire_len, U32_MAX, &up), a->wire_len);
	KUNIT_EXPECT_TRUE(test, up.full);
	KUNIT_EXPECT_EQ(test, b->qp->rq.get, 1);
	KUNIT_EXPECT_EQ(test, b->qp->fault.err, SRNIC_ERR_CQ_FULL);
	KUNIT_EXPECT_EQ(test, b->qp->fault.ddp_len, SRNIC_DDP_UNTAGGED_LEN);
}

/*
 * RX reads ULPDU_Length in TCP's receive queue, allocates a buffer for an FPDU of this length, and
 * copies the FPDU into the buffer. Another CPU may write to memory in TCP's queue meanwhile, so the
 * copy may have another ULPDU_Length.
 */
static void part_length_is_changed_meanwhile(struct kunit *test)
{
	static const u8 changed[2048] = { 0xff, 0xff };
	struct pair *p = part_begin(test);
	struct srnic_qp *to = p->end[1].qp;
	struct srnic_cursor cur = {};
	struct srnic_upcalls up = {};

	to->rx.part_size = 1008;	/* for an ULPDU_Length of 1000 */
	to->rx.part_len = 0;
	to->rx.part = kvmalloc(to->rx.part_size, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, to->rx.part);
	srnic_cursor_at_memory(&cur, changed, sizeof(changed));
	KUNIT_EXPECT_EQ(test, srnic_rx_take(to, &cur, sizeof(changed), U32_MAX, &up),
			sizeof(changed));
	KUNIT_EXPECT_LE(test, to->rx.part_len, to->rx.part_size);
	pair_expect_fault(p, 1, SRNIC_ERR_UNREADABLE);
}

static struct kunit_case part_cases[] = {
	KUNIT_CASE_PARAM(part_by_first_octet_arrives, part_gen_params),
	KUNIT_CASE(part_size_holds_any_fpdu),
	KUNIT_CASE(part_cq_full_behind_it_stops),
	KUNIT_CASE(part_length_is_changed_meanwhile),
	{}
};

static struct kunit_suite part_suite = {
	.name = "srnic_part",
	.init = pair_init,
	.exit = pair_exit,
	.test_cases = part_cases,
};

kunit_test_suite(part_suite);

// SPDX-License-Identifier: GPL-2.0
/*
 * srnic's sender passes to TCP the same bytes as a simple generator of FPDUs (srnic_oracle.h)
 * makes, wherever in a segment a page fragment ends, memory runs out, or a work request is found in
 * error.
 */

#include <kunit/test.h>

#include <linux/sched/mm.h>
#include <linux/string.h>

#include "fpdu.h"
#include "tx.h"
#include "srnic_oracle.h"
#include "srnic_pair_tcp.h"
#include "../srnic/mem.h"	/* with a path, since user mode Linux has a mem.h, too */

#define SEND_SGES	6
#define SEND_ROOM	4096	/* distance of SGEs in memory */
#define SEND_MAX	3072	/* bytes of a message */
#define SEND_EMSS	536
#define SEND_BAD	0x4711	/* no region has this STag */
#define SEND_LEAST	128U	/* MULPDU if TCP's segments are shorter (RFC 5044 4.5) */

static const struct send_row {
	const char	*desc;
	bool		crc, markers;
	u32		piece;		/* bytes of a page fragment */
	bool		whole;		/* the fragment is the end of a compound page */
} send_rows[] = {
	{ "pages",			true, false, 96, false },
	{ "pages, Markers",		true, true, 96, false },
	{ "fragments",			true, false, 96, true },
	{ "fragments, Markers",		true, true, 96, true },
	{ "long fragments, Markers",	true, true, 604, true },
	{ "no CRC, Markers",		false, true, 604, false },
};

KUNIT_ARRAY_PARAM_DESC(send, send_rows, desc);

/* A message to be sent, and the QP that sends it */
struct send_world {
	struct srnic_qp	*qp;			/* the QP, end 0 of the pair */
	struct oracle	o;		/* generator of the bytes that @qp should send */
	struct ib_sge	sge[SEND_SGES];		/* the message's SGEs, one of length 0 */
	u8		payload[SEND_MAX];	/* the bytes of all SGEs, in order */
	u32		len;			/* number of bytes in @payload */
};

/* Make the SGEs: every second one is in a region, the others have SRNIC_LOCAL_DMA_LKEY. */
static void send_make_sges(struct pair *p, struct send_world *w)
{
	static const u32 lens[SEND_SGES] = { 1, 700, 0, 333, 64, 902 };
	u8 *mem = p->end[0].mem;
	u32 i, lkey;
	u64 addr;

	for (i = 0; i < SEND_SGES * SEND_ROOM; i++)
		mem[i] = i * 7 + (i >> 8);
	for (i = 0; i < SEND_SGES; i++, mem += SEND_ROOM) {
		addr = (uintptr_t)mem;
		lkey = SRNIC_LOCAL_DMA_LKEY;
		if (i & 1) {
			addr = 0x100000000 * i + 5;
			lkey = pair_reg(p, &p->pd, mem, addr, SEND_ROOM, 0)->stag;
		}
		w->sge[i] = (struct ib_sge) { .addr = addr, .length = lens[i], .lkey = lkey };
		memcpy(w->payload + w->len, mem, lens[i]);
		w->len += lens[i];
	}
}

static struct send_world *send_begin(struct kunit *test, const struct send_row *row)
{
	const struct pair_opts opts = {
		.crc = row->crc, .emss = SEND_EMSS, .ord = 1,
		.markers = { row->markers, row->markers },
	};
	struct send_world *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, w);
	w->qp = pair_tcp_begin(test, &opts);
	w->o = (struct oracle) {
		.to = kunit_kzalloc(test, PAIR_MEM, GFP_KERNEL), .size = PAIR_MEM,
		.crc = row->crc, .markers = row->markers,
		.mulpdu = oracle_mulpdu(SEND_EMSS, row->markers),
	};
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, w->o.to);
	send_make_sges(test->priv, w);
	pair_tcp.keeps = true;
	pair_tcp_pages(row->piece, UINT_MAX);
	pair_tcp.whole = row->whole;
	return w;
}

static void send_post(struct kunit *test, u64 id, struct ib_sge *sge, int n)
{
	struct pair *p = test->priv;
	const struct ib_send_wr wr = {
		.wr_id = id, .opcode = IB_WR_SEND, .sg_list = sge, .num_sge = n,
		.send_flags = IB_SEND_SIGNALED,
	};

	KUNIT_ASSERT_EQ(test, pair_post(&p->end[0], &wr), 0);
}

/* Expect that TCP has accepted only whole FPDUs so far, with the bytes of the generator @w->o. */
static void send_expect_whole_fpdus(struct kunit *test, const struct send_world *w)
{
	const struct pair_end *e = &((struct pair *)test->priv)->end[0];

	KUNIT_ASSERT_LE(test, e->wire_len, w->o.len);
	KUNIT_ASSERT_EQ(test, memcmp(e->wire, w->o.to, e->wire_len), 0);
	KUNIT_ASSERT_TRUE(test, oracle_is_end(&w->o, e->wire_len));
}

static void send_expect_all(struct kunit *test, struct send_world *w)
{
	struct pair_end *e = &((struct pair *)test->priv)->end[0];

	KUNIT_ASSERT_EQ(test, e->wire_len, w->o.len);
	KUNIT_ASSERT_EQ(test, memcmp(e->wire, w->o.to, w->o.len), 0);
	e->wire_len = 0;
	w->o.len = 0;
	w->o.fpdus = 0;
}

/*
 * A Send of six SGEs takes four segments. There is memory for one page fragment more in each round,
 * until it suffices for the whole Send. If the memory ends within a segment, the segments before
 * that one are sent at once, and the rest when there is memory again: no byte is missing or sent
 * twice.
 */
static void send_memory_ends_anywhere(struct kunit *test)
{
	const struct send_row *row = test->param_value;
	struct send_world *w = send_begin(test, row);
	struct pair *p = test->priv;
	unsigned int pieces = 0;
	bool starved;

	do {
		u64 before = pair_count(p, SRNIC_CNT_tx_no_memory);
		const struct oracle_msg msg = {
			.op = ORACLE_SEND, .msn = pieces + 1, .payload = w->payload, .len = w->len,
		};

		oracle_message(&w->o, &msg);
		send_post(test, pieces, w->sge, SEND_SGES);
		pair_tcp.pieces = pieces;
		pair_tcp_run(w->qp);
		starved = pair_count(p, SRNIC_CNT_tx_no_memory) > before;
		send_expect_whole_fpdus(test, w);
		pair_tcp.pieces = UINT_MAX;
		if (starved) {
			/* Complete segments were sent without waiting for memory. */
			if (pieces * row->piece > 2 * SEND_EMSS)
				KUNIT_EXPECT_GT(test, p->end[0].wire_len, 0);
			pair_expect_no_wc(p, &p->end[0].scq);
			pair_tcp_pass(2 * SRNIC_RETRY_MS);
		}
		send_expect_all(test, w);
		pair_expect_wc(p, &p->end[0].scq, pieces, IB_WC_SUCCESS);
		pair_tcp_acked(test);
		pieces++;
	} while (starved && pieces < 100);
	KUNIT_EXPECT_GT(test, pieces, 3);
	KUNIT_EXPECT_FALSE(test, starved);
	pair_expect_fault(p, 0, SRNIC_ERR_NONE);
}

/*
 * From the emergency reserves srnic's sender takes only a single page: no other sender could use
 * the rest of a larger fragment until the peer has acknowledged the bytes in it.
 */
static void send_reserves_are_taken_by_the_page(struct kunit *test)
{
	struct page_frag frag = {};
	unsigned int flags;
	bool found;

	send_begin(test, &send_rows[2]);
	pair_tcp.pieces = 0;
	KUNIT_EXPECT_FALSE(test, srnic_frag_refill(&frag));
	KUNIT_EXPECT_PTR_EQ(test, frag.page, NULL);
	flags = memalloc_noreclaim_save();
	found = srnic_frag_refill(&frag);
	memalloc_noreclaim_restore(flags);
	KUNIT_ASSERT_TRUE(test, found);
	KUNIT_EXPECT_EQ(test, frag.size, PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, frag.offset, 0);
	put_page(frag.page);
}

static const u32 undo_lens[] = {
	0, 1, 60, 61, 62, 63, 64, 80, 96, 97, 98, 100, 350, 358, 359, 360, 361,
	362, 363, 364, 365, 366, 367, 368, 400, 504, 505, 512, 513, 600, 900, 1100,
};

static void undo_desc(const u32 *len, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%u", *len);
}

KUNIT_ARRAY_PARAM(undo, undo_lens, undo_desc);

/*
 * The second SGE of a Send has an invalid lkey, which srnic's sender finds when it has written a
 * part of a segment. A page fragment may have ended in that part, or a Marker be in it. The
 * segments before are sent, then the Terminate message, with Markers and CRCs as if there was no
 * such part.
 */
static void send_undone(struct kunit *test, const struct send_row *row)
{
	const u32 good = *(const u32 *)test->param_value;
	static const u8 control[4];
	struct send_world *w = send_begin(test, row);
	struct pair *p = test->priv;
	struct ib_sge sge[] = {
		pair_sge(p->end[0].mem, good),
		{ .length = 8, .lkey = SEND_BAD },
	};

	send_post(test, 1, w->sge, 2);
	send_post(test, 2, sge, 2);
	pair_tcp_run(w->qp);
	oracle_message(&w->o, &(struct oracle_msg) {
		.op = ORACLE_SEND, .msn = 1, .payload = w->payload, .len = 701,
	});
	oracle_begin_message(&w->o, &(struct oracle_msg) {
		.op = ORACLE_SEND, .msn = 2, .payload = p->end[0].mem, .len = good + 8,
		.begun = good,
	});
	oracle_message(&w->o, &(struct oracle_msg) {
		.op = ORACLE_TERMINATE, .qn = 2, .msn = 1, .payload = control, .len = 4,
	});
	send_expect_all(test, w);
	KUNIT_EXPECT_EQ(test, pair_tcp.downs, 1);
	pair_expect_wc(p, &p->end[0].scq, 1, IB_WC_SUCCESS);
	pair_expect_wc(p, &p->end[0].scq, 2, IB_WC_LOC_PROT_ERR);
	pair_tcp_acked(test);
}

static void send_undone_without_markers(struct kunit *test)
{
	send_undone(test, &send_rows[0]);
}

static void send_undone_with_markers(struct kunit *test)
{
	send_undone(test, &send_rows[3]);
}

static const struct run_row {
	const char	*desc;
	bool		crc;
	bool		region;		/* payload in a region, else SRNIC_LOCAL_DMA_LKEY */
	u32		emss;
	u32		piece;		/* bytes of a page fragment; 0: the kernel's own */
} run_rows[] = {
	{ "region, CRC",		true, true, SEND_EMSS, 0 },
	{ "all memory",			false, false, SEND_EMSS, 0 },
	{ "least MULPDU, CRC",		true, false, 100, 0 },
	{ "region, short fragments",	false, true, SEND_EMSS, 2216 },
};

KUNIT_ARRAY_PARAM_DESC(run, run_rows, desc);

static struct send_world *run_begin(struct kunit *test, const struct run_row *row)
{
	const struct pair_opts opts = { .crc = row->crc, .emss = row->emss, .ord = 1 };
	struct send_world *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, w);
	w->qp = pair_tcp_begin(test, &opts);
	w->o = (struct oracle) {
		.to = kunit_kzalloc(test, PAIR_MEM, GFP_KERNEL), .size = PAIR_MEM,
		.crc = row->crc, .mulpdu = max(oracle_mulpdu(row->emss, false), SEND_LEAST),
	};
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, w->o.to);
	pair_tcp.keeps = true;
	pair_tcp_pages(row->piece, UINT_MAX);
	return w;
}

/* Send a message of @n SGEs, contiguous in memory, and compare the bytes that TCP accepts. */
static void run_of(struct kunit *test, struct send_world *w, u32 msn, struct ib_sge *sge, int n)
{
	struct pair *p = test->priv;
	struct oracle_msg msg = { .op = ORACLE_SEND, .msn = msn, .payload = p->end[0].mem };
	int i;

	for (i = 0; i < n; i++)
		msg.len += sge[i].length;
	oracle_message(&w->o, &msg);
	send_post(test, msn, sge, n);
	pair_tcp_run(w->qp);
	send_expect_all(test, w);
	pair_expect_wc(p, &p->end[0].scq, msn, IB_WC_SUCCESS);
	pair_tcp_acked(test);
}

/*
 * Messages of 1 to 65 full segments, and of a byte more or less, of one SGE or of two. So the
 * message, or its first SGE, ends at the end of a full segment, a byte before that or a byte after
 * it: there send_run(), which builds many full segments in a loop, has to stop.
 */
static void send_runs_end_anywhere(struct kunit *test)
{
	static const u32 segments[] = { 1, 2, 3, 4, 5, 30, 31, 62, 63, 64, 65 };
	const struct run_row *row = test->param_value;
	struct send_world *w = run_begin(test, row);
	struct pair *p = test->priv;
	u32 room = w->o.mulpdu - 18, msn = 0, i, lkey = SRNIC_LOCAL_DMA_LKEY;
	u64 addr = (uintptr_t)p->end[0].mem;
	int more, n;

	for (i = 0; i < PAIR_MEM; i++)
		p->end[0].mem[i] = i * 7 + (i >> 8);
	if (row->region) {
		addr = 0x100000005;
		lkey = pair_reg(p, &p->pd, p->end[0].mem, addr, PAIR_MEM, 0)->stag;
	}
	for (i = 0; i < ARRAY_SIZE(segments); i++) {
		for (more = -1; more <= 1; more++) {
			u32 len = segments[i] * room + more;
			struct ib_sge sge[] = {
				{ .addr = addr, .length = len, .lkey = lkey },
				{ .addr = addr + len, .length = 2 * room + 1, .lkey = lkey },
			};

			for (n = 1; n <= 2; n++)
				run_of(test, w, ++msn, sge, n);
			/* The first SGE is in the region, the second is not. */
			sge[1] = pair_sge(p->end[0].mem + len, 2 * room + 1);
			if (row->region)
				run_of(test, w, ++msn, sge, 2);
		}
	}
	pair_expect_fault(p, 0, SRNIC_ERR_NONE);
}

/*
 * Two Sends with large FPDUs (longer than one TCP segment), while TCP makes packets of 45 segments,
 * which it splits later (GSO). The first Send leaves too little of a packet for the second one. So
 * srnic's sender ends the second Send's first FPDU at the end of the packet, and puts the rest of
 * the Send into another FPDU. If an FPDU went beyond the end of the packet, TCP would send the last
 * part of the FPDU in a packet of its own.
 */
static void send_large_fpdu_ends_with_the_packet(struct kunit *test)
{
	static const struct pair_opts opts = { .crc = true, .emss = 1448, .ord = 1 };
	const u32 packet = 45 * 1448, first = 1000 + 24, second = packet - first;
	struct srnic_qp *qp = pair_tcp_begin(test, &opts);
	struct pair *p = test->priv;
	struct ib_sge sge = {
		.addr = (uintptr_t)p->end[0].mem, .lkey = SRNIC_LOCAL_DMA_LKEY,
	};

	tcp_sk(p->sock->sk)->gso_segs = 45;
	qp->params.large_fpdu = true;
	pair_tcp.keeps = true;
	sge.length = 1000;
	send_post(test, 1, &sge, 1);
	sge.length = second - 24 + 100;
	send_post(test, 2, &sge, 1);
	KUNIT_ASSERT_GT(test, srnic_send_fill(qp), 0);
	KUNIT_EXPECT_EQ(test, qp->tx.batch.fpdus, 3);
	KUNIT_EXPECT_EQ(test, qp->tx.batch.len, packet + 100 + 24);
	pair_tcp_run(qp);
	KUNIT_ASSERT_EQ(test, p->end[0].wire_len, packet + 100 + 24);
	KUNIT_EXPECT_EQ(test, get_unaligned_be16(p->end[0].wire + first), second - 6);
	KUNIT_EXPECT_EQ(test, get_unaligned_be16(p->end[0].wire + packet), 100 + 18);
	pair_tcp_acked(test);
}

/*
 * If the page allocator has only single pages, a large FPDU takes many of them. A batch, with which
 * srnic's sender passes FPDUs to TCP, has too few bvec entries for two such FPDUs: so the second
 * one is in the next batch.
 */
static void send_large_fpdus_in_single_pages(struct kunit *test)
{
	static const struct pair_opts opts = { .crc = true, .emss = 1448, .ord = 1 };
	const u32 len = 60000;
	struct srnic_qp *qp = pair_tcp_begin(test, &opts);
	struct pair *p = test->priv;
	struct ib_sge sge = pair_sge(p->end[0].mem, len);
	int i;

	tcp_sk(p->sock->sk)->gso_segs = 45;
	qp->params.large_fpdu = true;
	pair_tcp_pages(PAGE_SIZE, 100);
	for (i = 1; i <= 2; i++)
		send_post(test, i, &sge, 1);
	KUNIT_ASSERT_GT(test, srnic_send_fill(qp), 0);
	KUNIT_EXPECT_EQ(test, qp->tx.batch.fpdus, 1);
	KUNIT_EXPECT_LE(test, qp->tx.batch.nbv, SRNIC_BATCH_BVECS);
	pair_tcp_run(qp);
	KUNIT_EXPECT_EQ(test, p->end[0].wire_len, 2 * (len + 24));
}

/* Send SRNIC_MAX_SEND_SGE SGEs, in reverse order of memory, and compare the bytes TCP accepts. */
static void runs_over(struct kunit *test, struct send_world *w, u32 msn, u32 len, u64 addr,
		      u32 lkey)
{
	struct pair *p = test->priv;
	struct ib_sge sge[SRNIC_MAX_SEND_SGE];
	struct oracle_msg msg = {
		.op = ORACLE_SEND, .msn = msn, .len = SRNIC_MAX_SEND_SGE * len,
	};
	u8 *payload = kunit_kmalloc(test, msg.len, GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, payload);
	msg.payload = payload;
	for (i = 0; i < SRNIC_MAX_SEND_SGE; i++) {
		u32 at = (SRNIC_MAX_SEND_SGE - 1 - i) * len;

		memcpy(payload + i * len, p->end[0].mem + at, len);
		sge[i] = (struct ib_sge) { .addr = addr + at, .length = len, .lkey = lkey };
	}
	oracle_message(&w->o, &msg);
	send_post(test, msn, sge, SRNIC_MAX_SEND_SGE);
	pair_tcp_run(w->qp);
	send_expect_all(test, w);
	pair_expect_wc(p, &p->end[0].scq, msn, IB_WC_SUCCESS);
	pair_tcp_acked(test);
	kunit_kfree(test, payload);
}

/*
 * The SGEs of a Send are shorter than the payload of a segment, as long, or longer. So SGEs end
 * anywhere in a segment, and a segment may have bytes of many SGEs.
 */
static void send_runs_over_pieces(struct kunit *test)
{
	const struct run_row *row = test->param_value;
	struct send_world *w = run_begin(test, row);
	struct pair *p = test->priv;
	u32 room = w->o.mulpdu - 18, msn = 0, i, lkey = SRNIC_LOCAL_DMA_LKEY;
	const u32 lens[] = { 1, 7, room / 3, room - 1, room, room + 1, 2 * room - 1 };
	u64 addr = (uintptr_t)p->end[0].mem;

	w->qp->cap.max_send_sge = SRNIC_MAX_SEND_SGE;
	for (i = 0; i < PAIR_MEM; i++)
		p->end[0].mem[i] = i * 7 + (i >> 8);
	if (row->region) {
		addr = 0x100000005;
		lkey = pair_reg(p, &p->pd, p->end[0].mem, addr, PAIR_MEM, 0)->stag;
	}
	for (i = 0; i < ARRAY_SIZE(lens); i++)
		runs_over(test, w, ++msn, lens[i], addr, lkey);
	pair_expect_fault(p, 0, SRNIC_ERR_NONE);
}

static struct kunit_case send_cases[] = {
	KUNIT_CASE_PARAM(send_runs_end_anywhere, run_gen_params),
	KUNIT_CASE_PARAM(send_runs_over_pieces, run_gen_params),
	KUNIT_CASE(send_large_fpdu_ends_with_the_packet),
	KUNIT_CASE(send_large_fpdus_in_single_pages),
	KUNIT_CASE_PARAM(send_memory_ends_anywhere, send_gen_params),
	KUNIT_CASE(send_reserves_are_taken_by_the_page),
	KUNIT_CASE_PARAM(send_undone_without_markers, undo_gen_params),
	KUNIT_CASE_PARAM(send_undone_with_markers, undo_gen_params),
	{}
};

static struct kunit_suite send_suite = {
	.name = "srnic_send",
	.init = pair_tcp_init,
	.exit = pair_tcp_exit,
	.test_cases = send_cases,
};

kunit_test_suite(send_suite);

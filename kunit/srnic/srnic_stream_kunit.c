// SPDX-License-Identifier: GPL-2.0
/*
 * Messages from one QP to another, with and without CRC and Markers, in segments of any size, which
 * arrive in portions of any size
 */

#include "srnic_pair.h"

#include <linux/crc32c.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/unaligned.h>

#include "cursor.h"
#include "state.h"
#include "../srnic/mem.h"	/* srnic's, by its path: user mode Linux has a mem.h, too */
#include "sq.h"
#include "rx.h"
#include "tx.h"
#include "fpdu.h"

static const struct pair_opts stream_opts[] = {
	{ .crc = true, .emss = 1448, .ord = 4 },
	{ .crc = false, .emss = 1448, .ord = 4 },
	{ .crc = true, .emss = 1448, .ord = 4, .portion = 1 },
	{ .crc = true, .emss = 536, .ord = 4, .portion = 7 },
	{ .crc = true, .emss = 65483, .ord = 4 },
	{ .crc = true, .emss = 100, .ord = 1, .portion = 100 },
	{ .crc = true, .emss = 1448, .ord = 4, .markers = { true, true } },
	{ .crc = false, .emss = 1448, .ord = 4, .markers = { true, true } },
	{ .crc = true, .emss = 1448, .ord = 4, .markers = { true, false } },
	{ .crc = true, .emss = 1448, .ord = 4, .markers = { false, true }, .portion = 13 },
	{ .crc = true, .emss = 1448, .ord = 4, .markers = { true, true }, .portion = 1 },
	{ .crc = true, .emss = 65483, .ord = 4, .markers = { true, true } },
	{ .crc = true, .emss = 100, .ord = 4, .markers = { true, true }, .portion = 512 },
};

static void stream_desc(const struct pair_opts *opts, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "crc_%d_emss_%u_markers_%d%d_portion_%u", opts->crc,
		 opts->emss, opts->markers[0], opts->markers[1], opts->portion);
}

KUNIT_ARRAY_PARAM(stream, stream_opts, stream_desc);

static struct pair *stream_begin(struct kunit *test)
{
	struct pair *p = test->priv;
	u32 i;

	pair_start(p, test->param_value ?: &stream_opts[0]);
	for (i = 0; i < PAIR_MEM; i++)
		p->end[0].mem[i] = i * 7 + (i >> 8);
	return p;
}

/*
 * Rules: F-4.3-6: the bytes that arrive, with Markers and without; D-5.2-1 D-4.1-1: messages of 17
 * lengths each complete as a whole, in separate receives
 */
static void stream_send_any_length_arrives(struct kunit *test)
{
	static const u32 lens[] = {
		0, 1, 3, 4, 78, 110, 111, 484, 508, 512, 1000, 1424, 1425, 1428, 2848, 4096, 40000,
	};
	struct pair *p = stream_begin(test);
	int i;

	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		struct ib_sge sge = pair_sge(p->end[0].mem + i, lens[i]);
		const struct ib_send_wr wr = {
			.wr_id = i, .opcode = IB_WR_SEND, .sg_list = &sge, .num_sge = 1,
			.send_flags = IB_SEND_SIGNALED,
		};
		struct ib_wc wc;

		memset(p->end[1].mem, 0xee, PAIR_MEM);
		pair_post_recv(&p->end[1], 100 + i, p->end[1].mem, lens[i]);
		KUNIT_ASSERT_EQ(test, pair_post(&p->end[0], &wr), 0);
		pair_run(p);
		pair_expect_wc(p, &p->end[0].scq, i, IB_WC_SUCCESS);
		KUNIT_ASSERT_EQ(test, pair_poll(&p->end[1].rcq, &wc), 1);
		KUNIT_EXPECT_EQ(test, wc.wr_id, 100 + i);
		KUNIT_EXPECT_EQ(test, wc.status, IB_WC_SUCCESS);
		KUNIT_EXPECT_EQ(test, wc.byte_len, lens[i]);
		KUNIT_EXPECT_EQ(test, memcmp(p->end[1].mem, p->end[0].mem + i, lens[i]), 0);
		KUNIT_EXPECT_EQ(test, p->end[1].mem[lens[i]], 0xee);
		KUNIT_EXPECT_EQ(test, pair_count(p, SRNIC_CNT_tx_fpdus),
				pair_count(p, SRNIC_CNT_rx_fpdus));
		KUNIT_EXPECT_EQ(test, pair_count(p, SRNIC_CNT_tx_octets),
				pair_count(p, SRNIC_CNT_rx_octets));
	}
	pair_expect_fault(p, 0, SRNIC_ERR_NONE);
	pair_expect_fault(p, 1, SRNIC_ERR_NONE);
}

/* A Send with several SGEs is one message, also for a receive with several SGEs. */
/* Rules: R-5.1-3: the bytes of one Send of six pieces, and one receive */
static void stream_send_of_pieces_to_pieces_arrives(struct kunit *test)
{
	struct pair *p = stream_begin(test);
	struct ib_sge from[] = {
		pair_sge(p->end[0].mem, 1), pair_sge(p->end[0].mem, 0),
		pair_sge(p->end[0].mem + 1, 2999), pair_sge(p->end[0].mem + 3000, 4096),
		pair_sge(p->end[0].mem, 0), pair_sge(p->end[0].mem + 7096, 5),
	};
	struct ib_sge to[] = {
		pair_sge(p->end[1].mem, 0), pair_sge(p->end[1].mem, 100),
		pair_sge(p->end[1].mem + 100, 1), pair_sge(p->end[1].mem, 0),
		pair_sge(p->end[1].mem + 101, 6999), pair_sge(p->end[1].mem + 7100, 500),
	};
	const struct ib_send_wr wr = {
		.opcode = IB_WR_SEND, .sg_list = from, .num_sge = ARRAY_SIZE(from),
	};
	struct srnic_rwqe *rwqe = p->end[1].qp->rq.kring;

	pair_post_recv(&p->end[1], 1, NULL, 0);
	rwqe->num_sge = ARRAY_SIZE(to);
	memcpy(rwqe->sge, to, sizeof(to));
	KUNIT_ASSERT_EQ(test, pair_post(&p->end[0], &wr), 0);
	pair_run(p);
	pair_expect_wc(p, &p->end[1].rcq, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, memcmp(p->end[1].mem, p->end[0].mem, 7101), 0);
	KUNIT_EXPECT_EQ(test, p->end[1].mem[7101], 0);
	pair_expect_no_wc(p, &p->end[0].scq);
}

/*
 * srnic_get_dma_mr() makes a region of all kernel memory: Sends read from it; receives and Reads
 * write to it if it has local write.
 */
static void stream_dma_region_is_source_and_sink(struct kunit *test)
{
	struct pair *p = stream_begin(test);
	u8 *from = p->end[0].mem + 5, *to = p->end[1].mem + 3;
	struct srnic_rwqe *rwqe = p->end[1].qp->rq.kring;
	struct ib_sge sge = pair_sge(from, 9000);
	const struct ib_send_wr wr = { .opcode = IB_WR_SEND, .sg_list = &sge, .num_sge = 1 };
	struct ib_mr *source, *sink;
	struct srnic_mr *mr;

	p->pd.device = &p->dev->ibdev;
	source = srnic_get_dma_mr(&p->pd, 0);
	sink = srnic_get_dma_mr(&p->pd, IB_ACCESS_LOCAL_WRITE);
	KUNIT_ASSERT_FALSE(test, IS_ERR(source) || IS_ERR(sink));
	sge.lkey = source->lkey;
	pair_post_recv(&p->end[1], 1, to, 9000);
	rwqe->sge[0].lkey = sink->lkey;
	KUNIT_ASSERT_EQ(test, pair_post(&p->end[0], &wr), 0);
	pair_run(p);
	pair_expect_wc(p, &p->end[1].rcq, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, memcmp(to, from, 9000), 0);
	KUNIT_EXPECT_EQ(test, to[9000], 0);

	mr = pair_reg(p, &p->pd, p->end[1].mem, 0, PAIR_MEM, IB_ACCESS_REMOTE_READ);
	memset(p->end[1].mem, 0xdd, PAIR_MEM);
	sge.lkey = sink->lkey;
	pair_post_rdma(p, 0, 2, IB_WR_RDMA_READ, &sge, 0, mr->stag);
	pair_run(p);
	pair_expect_wc(p, &p->end[0].scq, 2, IB_WC_SUCCESS);
	KUNIT_EXPECT_PTR_EQ(test, memchr_inv(from, 0xdd, 9000), NULL);
	KUNIT_EXPECT_NE(test, from[9000], 0xdd);

	memset(from, 0x11, 9000);
	pair_post_recv(&p->end[1], 3, to, 9000);
	rwqe[1].sge[0].lkey = source->lkey;
	KUNIT_ASSERT_EQ(test, pair_post(&p->end[0], &wr), 0);
	pair_run(p);
	pair_expect_wc(p, &p->end[1].rcq, 3, IB_WC_LOC_PROT_ERR);
	pair_expect_fault(p, 1, SRNIC_ERR_LOCAL);
	KUNIT_EXPECT_PTR_EQ(test, memchr_inv(to, 0xdd, 9000), NULL);
	srnic_dereg_mr(source, NULL);
	srnic_dereg_mr(sink, NULL);
}

/* A Write places its bytes at its tagged offset alone; the ULP at the sink gets no completion */
/* Rules: D-4.2-2: memory at the offset and around it; R-5.1-1: no completion at the sink */
static void stream_write_any_offset_lands_there_alone(struct kunit *test)
{
	static const u32 lens[] = { 0, 1, 7, 4096, 30000 };
	struct pair *p = stream_begin(test);
	const u64 base = 0x1234500000000003ULL;
	struct srnic_mr *mr = pair_reg(p, &p->pd, p->end[1].mem, base, PAIR_MEM,
				       IB_ACCESS_REMOTE_WRITE);
	int i;

	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		struct ib_sge sge = pair_sge(p->end[0].mem, lens[i]);
		u32 off = 5 + i;

		memset(p->end[1].mem, 0xee, PAIR_MEM);
		pair_post_rdma(p, 0, i, IB_WR_RDMA_WRITE, &sge, base + off, mr->stag);
		pair_run(p);
		pair_expect_wc(p, &p->end[0].scq, i, IB_WC_SUCCESS);
		pair_expect_no_wc(p, &p->end[1].rcq);
		KUNIT_EXPECT_EQ(test, memcmp(p->end[1].mem + off, p->end[0].mem, lens[i]), 0);
		KUNIT_EXPECT_PTR_EQ(test, memchr_inv(p->end[1].mem, 0xee, off), NULL);
		KUNIT_EXPECT_EQ(test, p->end[1].mem[off + lens[i]], 0xee);
	}
}

/* More Reads are posted than ORD allows to be open, some of no bytes: all complete, in order. */
/*
 * Rules: R-5.2.1-3: there are ten completions, and no eleventh; R-5.2.2-3: the bytes of each sink;
 * R-6.1-2: the source, whose IRD is the ORD of this end, finds no fault
 */
static void stream_reads_beyond_ord_all_answered_in_order(struct kunit *test)
{
	struct pair *p = stream_begin(test);
	struct srnic_mr *mr = pair_reg(p, &p->pd, p->end[0].mem, 0, PAIR_MEM,
				       IB_ACCESS_REMOTE_READ);
	int i;

	for (i = 0; i < 10; i++) {
		u32 len = i % 3 ? i * 700 : 0;
		struct ib_sge sge = pair_sge(p->end[1].mem + i * 6400, len);

		pair_post_rdma(p, 1, i, IB_WR_RDMA_READ,
			       len || i ? &sge : NULL, i * 6400, len ? mr->stag : U32_MAX);
	}
	pair_run(p);
	for (i = 0; i < 10; i++) {
		u32 len = i % 3 ? i * 700 : 0;

		pair_expect_wc(p, &p->end[1].scq, i, IB_WC_SUCCESS);
		KUNIT_EXPECT_EQ(test, memcmp(p->end[1].mem + i * 6400, p->end[0].mem + i * 6400,
					     len), 0);
	}
	pair_expect_no_wc(p, &p->end[1].scq);
	KUNIT_EXPECT_EQ(test, p->end[1].qp->sq.reads, 0);
	pair_expect_fault(p, 0, SRNIC_ERR_NONE);
}

/* A Send after a Read is sent before the Read has its response, but completes after the Read */
/* Rules: R-5.5-15: no completion of a Send that has arrived, until the Read's */
static void stream_send_behind_read_completes_behind_it(struct kunit *test)
{
	struct pair *p = stream_begin(test);
	struct srnic_mr *mr = pair_reg(p, &p->pd, p->end[1].mem, 0, 100, IB_ACCESS_REMOTE_READ);
	struct ib_sge sge = pair_sge(p->end[0].mem, 100);
	const struct ib_send_wr wr = {
		.wr_id = 2, .opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED,
	};

	pair_post_recv(&p->end[1], 9, NULL, 0);
	pair_post_rdma(p, 0, 1, IB_WR_RDMA_READ, &sge, 0, mr->stag);
	KUNIT_ASSERT_EQ(test, pair_post(&p->end[0], &wr), 0);
	pair_send(p, 0);
	pair_deliver(p, 0);
	pair_expect_wc(p, &p->end[1].rcq, 9, IB_WC_SUCCESS);
	pair_expect_no_wc(p, &p->end[0].scq);
	pair_run(p);
	pair_expect_wc(p, &p->end[0].scq, 1, IB_WC_SUCCESS);
	pair_expect_wc(p, &p->end[0].scq, 2, IB_WC_SUCCESS);
}

/* A fenced Send is sent only when all Reads before it have their responses */
/* Rules: R-B-3: no receive completes until the Read is answered */
static void stream_fenced_send_waits_for_reads(struct kunit *test)
{
	struct pair *p = stream_begin(test);
	struct srnic_mr *mr = pair_reg(p, &p->pd, p->end[1].mem, 0, 100, IB_ACCESS_REMOTE_READ);
	struct ib_sge sge = pair_sge(p->end[0].mem, 100);
	const struct ib_send_wr wr = {
		.wr_id = 2, .opcode = IB_WR_SEND, .send_flags = IB_SEND_FENCE,
	};

	pair_post_recv(&p->end[1], 9, NULL, 0);
	pair_post_rdma(p, 0, 1, IB_WR_RDMA_READ, &sge, 0, mr->stag);
	KUNIT_ASSERT_EQ(test, pair_post(&p->end[0], &wr), 0);
	pair_send(p, 0);
	pair_deliver(p, 0);
	pair_expect_no_wc(p, &p->end[1].rcq);
	KUNIT_EXPECT_TRUE(test, p->end[0].qp->sq.waits);
	pair_run(p);
	pair_expect_wc(p, &p->end[1].rcq, 9, IB_WC_SUCCESS);
}

/* A Send with Invalidate makes an STag invalid, and the receive's completion names that STag */
/*
 * Rules: R-5.3-3: the STag in the completion; R-8.1.1-7: a fast-registered region is invalid after
 * the message
 */
static void stream_send_inv_invalidates_and_tells(struct kunit *test)
{
	struct pair *p = stream_begin(test);
	struct srnic_mr *mr = pair_reg(p, &p->pd, p->end[1].mem, 0, 100, IB_ACCESS_REMOTE_WRITE);
	const struct ib_send_wr wr = {
		.opcode = IB_WR_SEND_WITH_INV, .ex.invalidate_rkey = mr->stag,
	};
	struct ib_wc wc;

	pair_post_recv(&p->end[1], 9, NULL, 0);
	KUNIT_ASSERT_EQ(test, pair_post(&p->end[0], &wr), 0);
	pair_run(p);
	KUNIT_ASSERT_EQ(test, pair_poll(&p->end[1].rcq, &wc), 1);
	KUNIT_EXPECT_EQ(test, wc.status, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, (int)wc.wc_flags, IB_WC_WITH_INVALIDATE);
	KUNIT_EXPECT_EQ(test, wc.ex.invalidate_rkey, mr->stag);
	KUNIT_EXPECT_FALSE(test, mr->valid);
}

/* One list of work requests registers a region, reads into it, and invalidates it */
static void stream_reg_read_inv_chain_done_in_order(struct kunit *test)
{
	struct pair *p = stream_begin(test);
	struct srnic_mr *src = pair_reg(p, &p->pd, p->end[0].mem, 0, PAIR_MEM,
					IB_ACCESS_REMOTE_READ);
	struct srnic_mr *sink = pair_fast(p, p->end[1].mem, 5000, 0);
	const u32 key = (sink->stag & ~0xff) | 0x5a;
	struct ib_sge sge = { .addr = 0x7000, .length = 5000, .lkey = key };
	struct ib_rdma_wr read = {
		.wr = {
			.wr_id = 2, .opcode = IB_WR_RDMA_READ_WITH_INV, .sg_list = &sge,
			.num_sge = 1, .send_flags = IB_SEND_SIGNALED,
		},
		.remote_addr = 33,
		.rkey = src->stag,
	};
	struct ib_reg_wr reg = {
		.wr = { .wr_id = 1, .opcode = IB_WR_REG_MR, .next = &read.wr },
		.mr = &sink->ibmr,
		.key = key,
		.access = IB_ACCESS_LOCAL_WRITE,
	};

	sink->ibmr.iova = 0x7000;
	sink->ibmr.length = 5000;
	KUNIT_ASSERT_EQ(test, pair_post(&p->end[1], &reg.wr), 0);
	pair_run(p);
	pair_expect_wc(p, &p->end[1].scq, 2, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, memcmp(p->end[1].mem, p->end[0].mem + 33, 5000), 0);
	KUNIT_EXPECT_FALSE(test, sink->valid);
	pair_expect_fault(p, 1, SRNIC_ERR_NONE);
}

/*
 * post_send copies inline data: if the ULP changes its memory before srnic sends, the old data is
 * sent.
 */
/* Rules: R-5.5-14: the bytes that arrive are those of before the change */
static void stream_inline_copied_at_post(struct kunit *test)
{
	struct pair *p = stream_begin(test);
	struct ib_sge sge[] = { pair_sge(p->end[0].mem, 40), pair_sge(p->end[0].mem + 40, 40) };
	const struct ib_send_wr wr = {
		.opcode = IB_WR_SEND, .sg_list = sge, .num_sge = 2, .send_flags = IB_SEND_INLINE,
	};
	u8 before[80];

	memcpy(before, p->end[0].mem, 80);
	pair_post_recv(&p->end[1], 1, p->end[1].mem, 80);
	KUNIT_ASSERT_EQ(test, pair_post(&p->end[0], &wr), 0);
	memset(p->end[0].mem, 0, 80);
	pair_run(p);
	pair_expect_wc(p, &p->end[1].rcq, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, memcmp(p->end[1].mem, before, 80), 0);
	sge[1].length = 41;
	KUNIT_EXPECT_EQ(test, pair_post(&p->end[0], &wr), -EINVAL);
}

/* The MSN after 2^32 - 1 is 0 */
/* Rules: D-4.3-3: four Sends around 2^32 complete, and MSN 2 is next */
static void stream_msn_wraps(struct kunit *test)
{
	const struct ib_send_wr wr = { .opcode = IB_WR_SEND };
	struct pair *p = stream_begin(test);
	int i;

	p->end[0].qp->tx.msn[SRNIC_QN_SEND] = U32_MAX - 1;
	p->end[1].qp->rx.msn[SRNIC_QN_SEND] = U32_MAX - 1;
	for (i = 0; i < 4; i++) {
		pair_post_recv(&p->end[1], i, NULL, 0);
		KUNIT_ASSERT_EQ(test, pair_post(&p->end[0], &wr), 0);
	}
	pair_run(p);
	for (i = 0; i < 4; i++)
		pair_expect_wc(p, &p->end[1].rcq, i, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, p->end[0].qp->tx.msn[SRNIC_QN_SEND], 2);
}

/* Markers and CRCs that srnic sends are compared with those that the test calculates by RFC 5044 */
/*
 * Rules: F-4.3-1 F-4.3-2 F-4.3-3 F-4.3-4 F-4.3-5: place and value of each Marker, as calculated
 * word by word; F-4.4-2: each CRC, which covers the Markers
 */
static void stream_markers_and_crc_stand_where_the_rfc_has_them(struct kunit *test)
{
	static const struct pair_opts opts = {
		.crc = true, .emss = 1448, .ord = 1, .markers = { true, true },
	};
	struct pair *p = test->priv;
	struct pair_end *e = &p->end[0];
	u32 pos = 0;
	int i;

	pair_start(p, &opts);
	for (i = 0; i < PAIR_WRS; i++) {
		struct ib_sge sge = pair_sge(e->mem, i * 97);
		const struct ib_send_wr wr = {
			.opcode = IB_WR_SEND, .sg_list = &sge, .num_sge = 1,
		};

		KUNIT_ASSERT_EQ(test, pair_post(e, &wr), 0);
	}
	pair_send(p, 0);
	for (i = 0; pos < e->wire_len; i++) {
		u32 begin = pos, fpdu, left;

		if (pos % 512 == 0) {
			KUNIT_ASSERT_EQ(test, get_unaligned_be32(e->wire + pos), 0);
			pos += 4;
		}
		fpdu = pos;
		left = iw_mpa_fpdu_size(get_unaligned_be16(e->wire + pos));
		for (; left; left -= 4, pos += 4) {
			if (pos % 512 == 0 && pos != fpdu) {
				KUNIT_ASSERT_EQ(test, get_unaligned_be32(e->wire + pos),
						pos - fpdu);
				pos += 4;
			}
		}
		KUNIT_ASSERT_LE(test, pos, e->wire_len);
		KUNIT_ASSERT_EQ(test, ~crc32c(~0, e->wire + begin, pos - 4 - begin),
				get_unaligned_le32(e->wire + pos - 4));
	}
	KUNIT_EXPECT_EQ(test, pos, e->wire_len);
	KUNIT_EXPECT_EQ(test, i, PAIR_WRS + 1);		/* one has two segments */
}

/*
 * An RTR message by Send or Read uses an MSN, and one by Read counts as an open Read, but an RTR
 * message has no WQE and uses no receive.
 */
/*
 * Rules: R-5.2.1-6: a Read as RTR message counts as open until its response arrives, the next Read
 * has MSN 2, and no completion is made; R-5.3-7: a Send as RTR message makes no completion, and the
 * next Send completes the receive; E-9.2-8: the RTR message, of each type
 */
static void stream_rtr_uses_no_work_request(struct kunit *test)
{
	static const u8 types[] = { IW_MPA_RTR_WRITE, IW_MPA_RTR_SEND, IW_MPA_RTR_READ };
	const struct ib_send_wr wr = { .opcode = IB_WR_SEND };
	struct pair *p = stream_begin(test);
	struct pair_end *a = &p->end[0], *b = &p->end[1];
	int i;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		bool read = types[i] == IW_MPA_RTR_READ;
		struct srnic_upcalls up = {};

		a->qp->tx.msn[SRNIC_QN_SEND] = 1;
		b->qp->rx.msn[SRNIC_QN_SEND] = 1;
		b->qp->params.initiator = true;	/* no report to iw_mpa */
		b->qp->rx.first = true;
		b->qp->rx.rtr = types[i];
		KUNIT_ASSERT_EQ(test, srnic_send_rtr(a->qp, types[i]), 0);
		KUNIT_EXPECT_EQ(test, a->qp->sq.reads, read);
		/* What the sender does when TCP has the RTR message */
		memcpy(a->wire, page_address(a->qp->tx.batch.bv[0].bv_page) +
				a->qp->tx.batch.bv[0].bv_offset, a->qp->tx.batch.bv[0].bv_len);
		a->wire_len = a->qp->tx.batch.len;
		srnic_batch_reset(&a->qp->tx.batch);
		srnic_sq_sent(a->qp, &up);
		pair_deliver(p, 0);
		pair_run(p);
		KUNIT_EXPECT_EQ(test, a->qp->sq.reads, 0);
		pair_expect_no_wc(p, &a->scq);
		pair_expect_no_wc(p, &b->rcq);

		pair_post_recv(b, 7, NULL, 0);
		KUNIT_ASSERT_EQ(test, pair_post(a, &wr), 0);
		pair_run(p);
		pair_expect_wc(p, &b->rcq, 7, IB_WC_SUCCESS);
		pair_expect_fault(p, 1, SRNIC_ERR_NONE);
	}
	KUNIT_EXPECT_EQ(test, a->qp->tx.msn[SRNIC_QN_READ_REQ], 2);
}

/*
 * srnic has built several FPDUs, and TCP has accepted only some of their bytes, when RX finds an
 * error. srnic sends the rest of the FPDU of which TCP has a part, and then the Terminate message,
 * in place of the later FPDUs.
 */
/*
 * Rules: F-4.3-1: the Terminate message is read with its Markers, after the FPDU that was cut;
 * R-5.4-7: the Terminate message follows the FPDU of which TCP had got a part
 */
static void stream_terminate_behind_cut_batch_understood(struct kunit *test)
{
	static const struct pair_opts opts = {
		.crc = true, .emss = 1448, .ord = 1, .markers = { true, true },
	};
	struct pair *p = test->priv;
	struct pair_end *a = &p->end[0];
	struct ib_sge sge = pair_sge(a->mem, 300);
	const struct ib_send_wr wr = { .opcode = IB_WR_SEND, .sg_list = &sge, .num_sge = 1 };
	u32 len;
	int i;

	pair_start(p, &opts);
	pair_post_recv(&p->end[1], 7, p->end[1].mem, 300);
	for (i = 0; i < 4; i++)
		KUNIT_ASSERT_EQ(test, pair_post(a, &wr), 0);
	KUNIT_ASSERT_GT(test, srnic_send_fill(a->qp), 0);
	len = a->qp->tx.batch.len;
	a->qp->tx.batch.done = 10;
	srnic_fail(a->qp, SRNIC_ERR_CQ_FULL);
	srnic_batch_cut(&a->qp->tx);
	KUNIT_EXPECT_LT(test, a->qp->tx.batch.len, len);
	KUNIT_EXPECT_EQ(test, a->qp->tx.pos, a->qp->tx.batch.len);
	pair_push(p, a);
	KUNIT_ASSERT_EQ(test, srnic_send_term(a->qp), 0);
	pair_push(p, a);
	pair_deliver(p, 0);
	pair_expect_wc(p, &p->end[1].rcq, 7, IB_WC_SUCCESS);
	pair_expect_fault(p, 1, SRNIC_ERR_TERM_RECEIVED);
}

static struct kunit_case stream_cases[] = {
	KUNIT_CASE_PARAM(stream_send_any_length_arrives, stream_gen_params),
	KUNIT_CASE_PARAM(stream_send_of_pieces_to_pieces_arrives, stream_gen_params),
	KUNIT_CASE_PARAM(stream_dma_region_is_source_and_sink, stream_gen_params),
	KUNIT_CASE_PARAM(stream_write_any_offset_lands_there_alone, stream_gen_params),
	KUNIT_CASE_PARAM(stream_reads_beyond_ord_all_answered_in_order, stream_gen_params),
	KUNIT_CASE(stream_send_behind_read_completes_behind_it),
	KUNIT_CASE(stream_fenced_send_waits_for_reads),
	KUNIT_CASE(stream_send_inv_invalidates_and_tells),
	KUNIT_CASE(stream_reg_read_inv_chain_done_in_order),
	KUNIT_CASE(stream_inline_copied_at_post),
	KUNIT_CASE(stream_msn_wraps),
	KUNIT_CASE(stream_markers_and_crc_stand_where_the_rfc_has_them),
	KUNIT_CASE(stream_rtr_uses_no_work_request),
	KUNIT_CASE(stream_terminate_behind_cut_batch_understood),
	{}
};

static struct kunit_suite stream_suite = {
	.name = "srnic_stream",
	.init = pair_init,
	.exit = pair_exit,
	.test_cases = stream_cases,
};

kunit_test_suite(stream_suite);

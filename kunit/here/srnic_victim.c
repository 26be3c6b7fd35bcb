// SPDX-License-Identifier: GPL-2.0

#include "srnic_victim.h"
#include "srnic_pair_tcp.h"

#include <linux/string.h>
#include <linux/unaligned.h>

#include "../srnic/mem.h"	/* with a path, since user mode Linux has a mem.h, too */
#include "tx.h"
#include "fpdu.h"
#include "state.h"

static const struct pair_opts fault_opts = { .crc = true, .emss = 1448, .ord = 4 };

/*
 * Begin a stream, and register memory regions of the victim (the QP under test). Rows that describe
 * FPDUs refer to the regions by numbers of enum fault_stag.
 */
struct fault_world *fault_begin(struct kunit *test)
{
	struct fault_world *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);
	struct pair *p = test->priv;
	struct srnic_mr *dead;
	struct ib_mr *local;
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
	KUNIT_ASSERT_EQ(test, srnic_stag_invalidate(p->dev, &p->pd, dead->stag, false), 0);
	w->stags[STAG_KEY] = w->stags[STAG_WRITE] ^ 1;
	w->stags[STAG_INDEX] = w->stags[STAG_WRITE] ^ 0x100;
	w->stags[STAG_DMA] = SRNIC_LOCAL_DMA_LKEY;
	p->pd.device = &p->dev->ibdev;
	local = srnic_get_dma_mr(&p->pd, IB_ACCESS_LOCAL_WRITE);
	KUNIT_ASSERT_FALSE(test, IS_ERR(local));
	w->stags[STAG_LOCAL] = local->rkey;
	return w;
}

/*
 * Make, in @ulpdu, the ULPDU of the FPDU that @row describes. @ulpdu has room for a header and
 * row->len bytes, and for 256 bytes at least. Return the ULPDU's length.
 */
u16 fault_ulpdu(const struct fault_world *w, const struct fault_row *row, u8 *ulpdu)
{
	/* In the region of get_dma_mr() an offset is a virtual address of the kernel. */
	u64 to = row->stag == STAG_LOCAL ? (uintptr_t)w->mem : row->to;
	u8 *payload = ulpdu + (row->ddp & 0x80 ? 14 : 18);

	memset(ulpdu, 0, 256);
	ulpdu[0] = row->ddp;
	ulpdu[1] = row->rdmap;
	if (row->ddp & 0x80) {
		put_unaligned_be32(w->stags[row->stag], ulpdu + 2);
		put_unaligned_be64(to, ulpdu + 6);
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
		put_unaligned_be64(to, payload + 20);
	}
	return payload - ulpdu + row->len;
}

/*
 * Have the victim (the QP under test) build its Terminate message. Copy the message's payload to
 * @payload, of SRNIC_TERM_MAX bytes, and return the payload's length.
 */
u32 fault_term(struct pair *p, u8 *payload)
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

/*
 * Check that the Terminate message of the victim (the QP under test) has the contents that @row
 * expects, and length and headers of the ULPDU in error: @ulpdu, of @len bytes.
 */
void fault_expect_term(struct pair *p, const struct fault_row *row, const u8 *ulpdu, u16 len)
{
	u32 copied = row->term_len - 6;
	struct iw_mpa_fault said;
	u8 term[SRNIC_TERM_MAX];

	if (srnic_errs[row->err].form == SRNIC_TERM_SILENT)
		return;
	KUNIT_ASSERT_EQ(p->test, fault_term(p, term), row->term_len);
	KUNIT_EXPECT_EQ(p->test, memcmp(term, row->term, 4), 0);
	KUNIT_EXPECT_EQ(p->test, get_unaligned_be16(term + 4), len);
	KUNIT_EXPECT_EQ(p->test, memcmp(term + 6, ulpdu, copied), 0);
	/* The description for iw_mpa's log has layer, type and code of the Terminate message. */
	said = srnic_fault_describe(p->end[1].qp, true);
	KUNIT_EXPECT_PTR_EQ(p->test, said.text, srnic_errs[row->err].text);
	KUNIT_EXPECT_TRUE(p->test, said.term && said.sent);
	KUNIT_EXPECT_EQ(p->test, said.layer, term[0] >> 4);
	KUNIT_EXPECT_EQ(p->test, said.etype, term[0] & 0xf);
	KUNIT_EXPECT_EQ(p->test, said.code, term[1]);
}

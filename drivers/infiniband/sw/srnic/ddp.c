// SPDX-License-Identifier: GPL-2.0
/* Headers of DDP segments: checked, read, written. Pure. */

#include "ddp.h"

#include <linux/build_bug.h>
#include <linux/string.h>
#include <asm/byteorder.h>

/* RFC 5040 fig. 4: how each opcode travels */
static const struct {
	bool	tagged;
	u8	qn;
} ddp_ops[SRNIC_OP_COUNT] = {
	[SRNIC_OP_WRITE]	= { .tagged = true },
	[SRNIC_OP_READ_REQ]	= { .qn = SRNIC_QN_READ_REQ },
	[SRNIC_OP_READ_RESP]	= { .tagged = true },
	[SRNIC_OP_SEND]		= { .qn = SRNIC_QN_SEND },
	[SRNIC_OP_SEND_INV]	= { .qn = SRNIC_QN_SEND },
	[SRNIC_OP_SEND_SE]	= { .qn = SRNIC_QN_SEND },
	[SRNIC_OP_SEND_SE_INV]	= { .qn = SRNIC_QN_SEND },
	[SRNIC_OP_TERMINATE]	= { .qn = SRNIC_QN_TERMINATE },
};

static void ddp_get(const u8 *ulpdu, struct srnic_seg *seg)
{
	if (seg->tagged) {
		struct srnic_ddp_tagged hdr;

		memcpy(&hdr, ulpdu, sizeof(hdr));
		seg->stag = be32_to_cpu(hdr.stag);
		seg->to = be64_to_cpu(hdr.to);
	} else {
		struct srnic_ddp_untagged hdr;

		memcpy(&hdr, ulpdu, sizeof(hdr));
		seg->stag = be32_to_cpu(hdr.inv_stag);
		seg->qn = be32_to_cpu(hdr.qn);
		seg->msn = be32_to_cpu(hdr.msn);
		seg->mo = be32_to_cpu(hdr.mo);
	}
}

/*
 * What can be told to be a Terminate message, by version and opcode, is never answered by another
 * one, even if it is malformed (RFC 5040 4.8).
 */
static enum srnic_err ddp_misplaced(const struct srnic_seg *seg)
{
	if (seg->op == SRNIC_OP_TERMINATE)
		return SRNIC_ERR_TERM_BAD;
	if (seg->tagged != ddp_ops[seg->op].tagged)
		return SRNIC_ERR_OPCODE;
	return seg->qn < SRNIC_QN_COUNT ? SRNIC_ERR_OPCODE : SRNIC_ERR_QN;
}

/**
 * srnic_ddp_parse - read the header of a segment
 * @ulpdu: the first octets of a ULPDU, as many as its DDP header has or as there are
 * @ulpdu_len: ULPDU_Length
 * @seg: result; on error it is filled as far as the header was read, at least @hdr_len
 *
 * The order of checks is fixed, so that two faults in one segment have one answer: room for the
 * header, DV, RV, opcode, T, QN.
 *
 * Return: SRNIC_ERR_NONE, or the first error.
 */
enum srnic_err srnic_ddp_parse(const u8 *ulpdu, u16 ulpdu_len, struct srnic_seg *seg)
{
	BUILD_BUG_ON(sizeof(struct srnic_ddp_tagged) != SRNIC_DDP_TAGGED_LEN);
	BUILD_BUG_ON(sizeof(struct srnic_ddp_untagged) != SRNIC_DDP_UNTAGGED_LEN);

	memset(seg, 0, sizeof(*seg));
	if (!ulpdu_len || ulpdu_len < srnic_ddp_hdr_len(ulpdu[0]))
		return SRNIC_ERR_SHORT;
	seg->hdr_len = srnic_ddp_hdr_len(ulpdu[0]);
	seg->tagged = ulpdu[0] & SRNIC_DDP_T;
	seg->last = ulpdu[0] & SRNIC_DDP_L;
	seg->len = ulpdu_len - seg->hdr_len;
	seg->op = ulpdu[1] & SRNIC_RDMAP_OPCODE;
	ddp_get(ulpdu, seg);

	if ((ulpdu[0] & SRNIC_DDP_DV) != SRNIC_DDP_VERSION)
		return seg->tagged ? SRNIC_ERR_DV_TAGGED : SRNIC_ERR_DV_UNTAGGED;
	if ((ulpdu[1] & SRNIC_RDMAP_RV) > SRNIC_RDMAP_VERSION)
		return SRNIC_ERR_RV;
	if (seg->op >= SRNIC_OP_COUNT)
		return SRNIC_ERR_OPCODE;
	if (seg->tagged != ddp_ops[seg->op].tagged || seg->qn != ddp_ops[seg->op].qn)
		return ddp_misplaced(seg);
	return SRNIC_ERR_NONE;
}

/**
 * srnic_ddp_put_tagged - write the header of a tagged segment
 * @hdr: room for it
 * @op: SRNIC_OP_WRITE or SRNIC_OP_READ_RESP
 * @last: the last segment of its message
 * @stag: STag of the sink
 * @to: tagged offset of the segment's first octet
 */
void srnic_ddp_put_tagged(u8 hdr[SRNIC_DDP_TAGGED_LEN], enum srnic_opcode op, bool last,
			  u32 stag, u64 to)
{
	const struct srnic_ddp_tagged wire = {
		.ddp	= SRNIC_DDP_T | SRNIC_DDP_VERSION | (last ? SRNIC_DDP_L : 0),
		.rdmap	= SRNIC_RDMAP_VERSION | op,
		.stag	= cpu_to_be32(stag),
		.to	= cpu_to_be64(to),
	};

	memcpy(hdr, &wire, sizeof(wire));
}

/**
 * srnic_ddp_put_untagged - write the header of an untagged segment
 * @hdr: room for it
 * @op: any other opcode, which says what the queue is
 * @last: the last segment of its message
 * @inv_stag: STag to invalidate, 0 if there is none
 * @msn: message sequence number
 * @mo: octets of the message that went before
 */
void srnic_ddp_put_untagged(u8 hdr[SRNIC_DDP_UNTAGGED_LEN], enum srnic_opcode op, bool last,
			    u32 inv_stag, u32 msn, u32 mo)
{
	const struct srnic_ddp_untagged wire = {
		.ddp		= SRNIC_DDP_VERSION | (last ? SRNIC_DDP_L : 0),
		.rdmap		= SRNIC_RDMAP_VERSION | op,
		.inv_stag	= cpu_to_be32(inv_stag),
		.qn		= cpu_to_be32(ddp_ops[op].qn),
		.msn		= cpu_to_be32(msn),
		.mo		= cpu_to_be32(mo),
	};

	memcpy(hdr, &wire, sizeof(wire));
}

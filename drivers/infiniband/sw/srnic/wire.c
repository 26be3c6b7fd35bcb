// SPDX-License-Identifier: GPL-2.0
/* Headers of DDP and RDMAP, and Markers: see wire.h. No side effects */

#include "wire.h"

#include <linux/build_bug.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <asm/byteorder.h>

/* T bit and queue number of each opcode (RFC 5040 fig. 4) */
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
		const struct srnic_ddp_tagged *hdr = (const void *)ulpdu;

		seg->stag = be32_to_cpu(hdr->stag);
		seg->to = be64_to_cpu(hdr->to);
		seg->qn = 0;
		seg->msn = 0;
		seg->mo = 0;
	} else {
		const struct srnic_ddp_untagged *hdr = (const void *)ulpdu;

		seg->stag = be32_to_cpu(hdr->inv_stag);
		seg->to = 0;
		seg->qn = be32_to_cpu(hdr->qn);
		seg->msn = be32_to_cpu(hdr->msn);
		seg->mo = be32_to_cpu(hdr->mo);
	}
}

/*
 * The error of a segment whose T bit or queue number does not fit its opcode. A
 * segment that is a Terminate message by version and opcode is not answered by
 * another Terminate message, even if it is malformed (RFC 5040 4.8).
 */
static enum srnic_err ddp_misplaced(const struct srnic_seg *seg)
{
	if (seg->op == SRNIC_OP_TERMINATE)
		return SRNIC_ERR_TERM_BAD;
	if (seg->tagged != ddp_ops[seg->op].tagged)
		return SRNIC_ERR_OPCODE;
	return seg->qn < SRNIC_QN_COUNT ? SRNIC_ERR_OPCODE : SRNIC_ERR_QN;
}

/*
 * Parse and check a DDP header. If it has several errors, the order of checks
 * decides which of them the Terminate message reports: room for the header, DDP
 * version, RDMAP version, opcode, T bit, queue number.
 */
enum srnic_err srnic_ddp_parse(const u8 *ulpdu, u16 ulpdu_len,
			       struct srnic_seg *seg)
{
	BUILD_BUG_ON(sizeof(struct srnic_ddp_tagged) != SRNIC_DDP_TAGGED_LEN);
	BUILD_BUG_ON(sizeof(struct srnic_ddp_untagged) !=
		     SRNIC_DDP_UNTAGGED_LEN);

	seg->hdr_len = 0;
	if (!ulpdu_len || ulpdu_len < srnic_ddp_hdr_len(ulpdu[0]))
		return SRNIC_ERR_SHORT;
	seg->hdr_len = srnic_ddp_hdr_len(ulpdu[0]);
	seg->tagged = ulpdu[0] & SRNIC_DDP_T;
	seg->last = ulpdu[0] & SRNIC_DDP_L;
	seg->len = ulpdu_len - seg->hdr_len;
	seg->op = ulpdu[1] & SRNIC_RDMAP_OPCODE;
	ddp_get(ulpdu, seg);

	if ((ulpdu[0] & SRNIC_DDP_DV) != SRNIC_DDP_VERSION)
		return seg->tagged ? SRNIC_ERR_DV_TAGGED :
				     SRNIC_ERR_DV_UNTAGGED;
	if ((ulpdu[1] & SRNIC_RDMAP_RV) > SRNIC_RDMAP_VERSION)
		return SRNIC_ERR_RV;
	if (seg->op >= SRNIC_OP_COUNT)
		return SRNIC_ERR_OPCODE;
	if (seg->tagged != ddp_ops[seg->op].tagged ||
	    seg->qn != ddp_ops[seg->op].qn)
		return ddp_misplaced(seg);
	return SRNIC_ERR_NONE;
}

void srnic_ddp_put_tagged(u8 hdr[SRNIC_DDP_TAGGED_LEN], enum srnic_opcode op,
			  bool last, u32 stag, u64 to)
{
	const struct srnic_ddp_tagged wire = {
		.ddp	= SRNIC_DDP_T | SRNIC_DDP_VERSION |
			  (last ? SRNIC_DDP_L : 0),
		.rdmap	= SRNIC_RDMAP_VERSION | op,
		.stag	= cpu_to_be32(stag),
		.to	= cpu_to_be64(to),
	};

	memcpy(hdr, &wire, sizeof(wire));
}

void srnic_ddp_put_untagged(u8 hdr[SRNIC_DDP_UNTAGGED_LEN],
			    enum srnic_opcode op, bool last, u32 inv_stag,
			    u32 msn, u32 mo)
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

void srnic_read_get(const u8 wire[SRNIC_READ_REQ_LEN], struct srnic_read *read)
{
	struct srnic_read_wire hdr;

	BUILD_BUG_ON(sizeof(hdr) != SRNIC_READ_REQ_LEN);
	memcpy(&hdr, wire, sizeof(hdr));
	*read = (struct srnic_read) {
		.sink_stag	= be32_to_cpu(hdr.sink_stag),
		.sink_to	= be64_to_cpu(hdr.sink_to),
		.size		= be32_to_cpu(hdr.size),
		.src_stag	= be32_to_cpu(hdr.src_stag),
		.src_to		= be64_to_cpu(hdr.src_to),
	};
}

void srnic_read_put(u8 wire[SRNIC_READ_REQ_LEN], const struct srnic_read *read)
{
	const struct srnic_read_wire hdr = {
		.sink_stag	= cpu_to_be32(read->sink_stag),
		.sink_to	= cpu_to_be64(read->sink_to),
		.size		= cpu_to_be32(read->size),
		.src_stag	= cpu_to_be32(read->src_stag),
		.src_to		= cpu_to_be64(read->src_to),
	};

	memcpy(wire, &hdr, sizeof(hdr));
}

/* Skip the part of a Read that was answered, for a Terminate (RFC 5040 4.8). */
void srnic_read_advance(struct srnic_read *read, u32 done)
{
	read->sink_to += done;
	read->src_to += done;
	read->size -= done;
}

enum srnic_err srnic_read_check(const struct srnic_seg *seg)
{
	if (seg->mo)
		return SRNIC_ERR_MO;
	if (seg->len > SRNIC_READ_REQ_LEN)
		return SRNIC_ERR_TOO_LONG;
	if (seg->len < SRNIC_READ_REQ_LEN || !seg->last)
		return SRNIC_ERR_READ_FORM;
	return SRNIC_ERR_NONE;
}

/* Bytes between two Markers */
#define MARKER_DATA	(SRNIC_MARKER_STEP - SRNIC_MARKER_LEN)

/*
 * Returns MULPDU: the longest ULPDU whose FPDU, with length, CRC and Markers,
 * fits into a TCP segment of @emss bytes and needs no padding (RFC 5044 4.5).
 * MULPDU is at least 128, even if @emss is too small for that, and at most
 * 64768.
 */
u16 srnic_mulpdu(u32 emss, bool markers)
{
	u32 overhead = SRNIC_FPDU_OVERHEAD + emss % 4;

	if (markers)
		overhead += SRNIC_MARKER_LEN * ((emss + SRNIC_MARKER_STEP - 1) /
						SRNIC_MARKER_STEP);
	if (emss < SRNIC_MULPDU_MIN + overhead)
		return SRNIC_MULPDU_MIN;
	return min_t(u32, emss - overhead, SRNIC_MULPDU_MAX);
}

/* Count Markers in an FPDU; one directly after it belongs to the next FPDU. */
u32 srnic_marker_count(u32 pos, u32 len)
{
	u32 gap = srnic_marker_gap(pos);

	if (len <= gap)
		return 0;
	return (len - gap + MARKER_DATA - 1) / MARKER_DATA;
}

/* FPDUPTR: bytes from ULPDU_Length to the Marker; 0: the Marker is before it */
static u16 marker_ptr(u32 fpdu_pos, u32 marker_pos)
{
	return marker_pos + SRNIC_MARKER_LEN == fpdu_pos ?
	       0 : marker_pos - fpdu_pos;
}

void srnic_marker_put(u8 marker[SRNIC_MARKER_LEN], u32 fpdu_pos,
		      u32 marker_pos)
{
	u16 ptr = marker_ptr(fpdu_pos, marker_pos);

	marker[0] = 0;
	marker[1] = 0;
	marker[2] = ptr >> 8;
	marker[3] = ptr;
}

/*
 * True if FPDUPTR is right. The Marker's upper half is reserved, and not
 * checked; the two low bits of FPDUPTR count as 0 (RFC 5044 4.2).
 */
bool srnic_marker_is_good(const u8 marker[SRNIC_MARKER_LEN], u32 fpdu_pos,
			  u32 marker_pos)
{
	u16 ptr = marker[2] << 8 | (marker[3] & ~3);

	return ptr == marker_ptr(fpdu_pos, marker_pos);
}

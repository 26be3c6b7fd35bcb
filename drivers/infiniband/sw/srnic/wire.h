/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Formats on the wire: headers of DDP segments (RFC 5041) and of Read Requests
 * (RFC 5040), sizes of segments, and Markers (RFC 5044 4.3). Pure functions: no
 * locks, no side effects.
 *
 * Positions count bytes of the TCP stream, Markers included, from SeqStart, the
 * first byte of Full Operation in the same direction. A Marker is at each
 * multiple of 512. Positions are used only modulo 512, so may wrap at 2^32.
 */
#ifndef _SRNIC_WIRE_H
#define _SRNIC_WIRE_H

#include "term.h"

#include <linux/minmax.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <linux/types.h>
#include <linux/unaligned.h>

/* DDP control byte */
#define SRNIC_DDP_T		0x80	/* tagged */
#define SRNIC_DDP_L		0x40	/* last segment of its message */
#define SRNIC_DDP_DV		0x03	/* DDP version */
#define SRNIC_DDP_VERSION	0x01
/* RDMAP control byte */
#define SRNIC_RDMAP_RV		0xc0	/* RDMAP version; 0 is accepted, too */
#define SRNIC_RDMAP_VERSION	0x40
#define SRNIC_RDMAP_OPCODE	0x0f

#define SRNIC_DDP_TAGGED_LEN	14
#define SRNIC_DDP_UNTAGGED_LEN	18
#define SRNIC_DDP_HDR_MAX	SRNIC_DDP_UNTAGGED_LEN

/* RDMAP opcodes, as on the wire */
enum srnic_opcode {
	SRNIC_OP_WRITE,
	SRNIC_OP_READ_REQ,
	SRNIC_OP_READ_RESP,
	SRNIC_OP_SEND,
	SRNIC_OP_SEND_INV,
	SRNIC_OP_SEND_SE,
	SRNIC_OP_SEND_SE_INV,
	SRNIC_OP_TERMINATE,
	SRNIC_OP_COUNT
};

/* Queue numbers of untagged messages (RFC 5040 4.2) */
enum srnic_qn {
	SRNIC_QN_SEND,
	SRNIC_QN_READ_REQ,
	SRNIC_QN_TERMINATE,
	SRNIC_QN_COUNT
};

struct srnic_ddp_tagged {
	u8	ddp;	/* T, L, DV */
	u8	rdmap;	/* RV, opcode */
	__be32	stag;
	__be64	to;	/* tagged offset */
} __packed;

struct srnic_ddp_untagged {
	u8	ddp;		/* L, DV */
	u8	rdmap;		/* RV, opcode */
	__be32	inv_stag;	/* Invalidate STag, in opcodes 4 and 6 */
	__be32	qn;		/* queue number */
	__be32	msn;		/* message sequence number */
	__be32	mo;		/* message offset */
} __packed;

/* A segment's header in host byte order; valid unless @hdr_len is 0 */
struct srnic_seg {
	u8	op;	/* enum srnic_opcode */
	u8	hdr_len; /* DDP header: 14 or 18; 0: the ULPDU is too short */
	bool	tagged;	/* T */
	bool	last;	/* L */
	u32	len;	/* bytes of the ULPDU after the DDP header */
	u32	stag;	/* STag, or Invalidate STag */
	u64	to;	/* tagged offset; 0 if not @tagged */
	u32	qn;	/* queue number; 0 if @tagged */
	u32	msn;	/* message sequence number; 0 if @tagged */
	u32	mo;	/* message offset; 0 if @tagged */
};

static inline u8 srnic_ddp_hdr_len(u8 ddp)
{
	return ddp & SRNIC_DDP_T ? SRNIC_DDP_TAGGED_LEN :
				   SRNIC_DDP_UNTAGGED_LEN;
}

enum srnic_err srnic_ddp_parse(const u8 *ulpdu, u16 ulpdu_len,
			       struct srnic_seg *seg);
void srnic_ddp_put_tagged(u8 hdr[SRNIC_DDP_TAGGED_LEN], enum srnic_opcode op,
			  bool last, u32 stag, u64 to);
void srnic_ddp_put_untagged(u8 hdr[SRNIC_DDP_UNTAGGED_LEN],
			    enum srnic_opcode op, bool last, u32 inv_stag,
			    u32 msn, u32 mo);

/* Where a tagged header has its TO, and an untagged one its MO */
#define SRNIC_DDP_TO	offsetof(struct srnic_ddp_tagged, to)
#define SRNIC_DDP_MO	offsetof(struct srnic_ddp_untagged, mo)

/* DDP headers of a message's segments differ only in L and in TO or MO. */
static inline void srnic_ddp_put_last(u8 *hdr, bool last)
{
	hdr[0] = (hdr[0] & ~SRNIC_DDP_L) | (last ? SRNIC_DDP_L : 0);
}

static inline void srnic_ddp_put_off(u8 *hdr, u64 off)
{
	if (hdr[0] & SRNIC_DDP_T)
		put_unaligned_be64(off, hdr + SRNIC_DDP_TO);
	else
		put_unaligned_be32(off, hdr + SRNIC_DDP_MO);
}

/* Compare ULPDU_Length and DDP header, with which @fpdu and @head begin. */
static inline bool srnic_fpdu_begins_with(const u8 *fpdu, const u8 *head)
{
	if (head[2] & SRNIC_DDP_T)
		return !memcmp(fpdu, head, 2 + SRNIC_DDP_TAGGED_LEN);
	return !memcmp(fpdu, head, 2 + SRNIC_DDP_UNTAGGED_LEN);
}

#define SRNIC_READ_REQ_LEN	28
#define SRNIC_READ_ULPDU	(SRNIC_DDP_UNTAGGED_LEN + SRNIC_READ_REQ_LEN)

struct srnic_read_wire {
	__be32	sink_stag;
	__be64	sink_to;
	__be32	size;
	__be32	src_stag;
	__be64	src_to;
} __packed;

/* A Read Request in host order */
struct srnic_read {
	u32	sink_stag;	/* the requester's, as @sink_to */
	u32	size;		/* bytes to read, 0..2^32-1 */
	u64	sink_to;
	u64	src_to;
	u32	src_stag;
};

void srnic_read_get(const u8 wire[SRNIC_READ_REQ_LEN], struct srnic_read *read);
void srnic_read_put(u8 wire[SRNIC_READ_REQ_LEN], const struct srnic_read *read);
void srnic_read_advance(struct srnic_read *read, u32 done);
enum srnic_err srnic_read_check(const struct srnic_seg *seg);

static inline bool srnic_op_is_send(u8 op)
{
	return op >= SRNIC_OP_SEND && op <= SRNIC_OP_SEND_SE_INV;
}

static inline bool srnic_op_has_inv(u8 op)
{
	return op == SRNIC_OP_SEND_INV || op == SRNIC_OP_SEND_SE_INV;
}

static inline bool srnic_op_has_se(u8 op)
{
	return op == SRNIC_OP_SEND_SE || op == SRNIC_OP_SEND_SE_INV;
}

static inline enum srnic_opcode srnic_op_of_send(bool solicited, bool inv)
{
	return SRNIC_OP_SEND + (solicited ? 2 : 0) + (inv ? 1 : 0);
}

#define SRNIC_MARKER_LEN	4
#define SRNIC_MARKER_STEP	512
#define SRNIC_MULPDU_MIN	128
#define SRNIC_MULPDU_MAX	64768
#define SRNIC_CRC_LEN		4
#define SRNIC_FPDU_OVERHEAD	(2 + SRNIC_CRC_LEN)	/* ULPDU_Length, CRC */

u16 srnic_mulpdu(u32 emss, bool markers);

/* Payload bytes of the next segment: all of @left if it is the last one */
static inline u32 srnic_segment_len(u32 left, u16 mulpdu, u8 hdr_len)
{
	return min_t(u32, left, mulpdu - hdr_len);
}

/* Bytes from @pos to the next Marker, 0..511; 0 if a Marker is at @pos */
static inline u32 srnic_marker_gap(u32 pos)
{
	return -pos % SRNIC_MARKER_STEP;
}

u32 srnic_marker_count(u32 pos, u32 len);
void srnic_marker_put(u8 marker[SRNIC_MARKER_LEN], u32 fpdu_pos,
		      u32 marker_pos);
bool srnic_marker_is_good(const u8 marker[SRNIC_MARKER_LEN], u32 fpdu_pos,
			  u32 marker_pos);

#endif /* _SRNIC_WIRE_H */

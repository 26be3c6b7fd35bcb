/* SPDX-License-Identifier: GPL-2.0 */
/*
 * DDP segments with their RDMAP control octet (RFC 5041 4, RFC 5040 4.1). Pure.
 */
#ifndef _SRNIC_DDP_H
#define _SRNIC_DDP_H

#include "term.h"

#include <linux/types.h>

/* DDP control octet */
#define SRNIC_DDP_T		0x80	/* tagged */
#define SRNIC_DDP_L		0x40	/* last segment of its message */
#define SRNIC_DDP_DV		0x03	/* DDP version */
#define SRNIC_DDP_VERSION	0x01
/* RDMAP control octet */
#define SRNIC_RDMAP_RV		0xc0	/* RDMAP version that is sent; 0 is accepted, too */
#define SRNIC_RDMAP_VERSION	0x40
#define SRNIC_RDMAP_OPCODE	0x0f

#define SRNIC_DDP_TAGGED_LEN	14
#define SRNIC_DDP_UNTAGGED_LEN	18
#define SRNIC_DDP_HDR_MAX	SRNIC_DDP_UNTAGGED_LEN
#define SRNIC_MO_MAX		U32_MAX

/* enum srnic_opcode - RDMAP opcodes, as on the wire */
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

/**
 * struct srnic_ddp_tagged - header of a tagged segment on the wire
 * @ddp: T, L, DV
 * @rdmap: RV, opcode
 * @stag: STag of the buffer
 * @to: tagged offset
 */
struct srnic_ddp_tagged {
	u8	ddp;
	u8	rdmap;
	__be32	stag;
	__be64	to;
} __packed;

/**
 * struct srnic_ddp_untagged - header of an untagged segment on the wire
 * @ddp: L, DV
 * @rdmap: RV, opcode
 * @inv_stag: Invalidate STag, in opcodes 4 and 6
 * @qn: queue number
 * @msn: message sequence number
 * @mo: message offset
 */
struct srnic_ddp_untagged {
	u8	ddp;
	u8	rdmap;
	__be32	inv_stag;
	__be32	qn;
	__be32	msn;
	__be32	mo;
} __packed;

/**
 * struct srnic_seg - header of a segment in host order
 * @op: enum srnic_opcode
 * @hdr_len: octets of the DDP header: 14 or 18; 0 if there was no room for one
 * @tagged: T
 * @last: L
 * @len: octets of the ULPDU behind the DDP header
 * @stag: STag, or Invalidate STag
 * @to: tagged offset; 0 if not @tagged
 * @qn: queue number; 0 if @tagged
 * @msn: message sequence number; 0 if @tagged
 * @mo: message offset; 0 if @tagged
 */
struct srnic_seg {
	u8	op;
	u8	hdr_len;
	bool	tagged;
	bool	last;
	u32	len;
	u32	stag;
	u64	to;
	u32	qn;
	u32	msn;
	u32	mo;
};

/**
 * srnic_ddp_hdr_len - how long is the header of a segment?
 * @ddp: its first octet
 *
 * Return: 14 or 18.
 */
static inline u8 srnic_ddp_hdr_len(u8 ddp)
{
	return ddp & SRNIC_DDP_T ? SRNIC_DDP_TAGGED_LEN : SRNIC_DDP_UNTAGGED_LEN;
}

enum srnic_err srnic_ddp_parse(const u8 *ulpdu, u16 ulpdu_len, struct srnic_seg *seg);
void srnic_ddp_put_tagged(u8 hdr[SRNIC_DDP_TAGGED_LEN], enum srnic_opcode op, bool last,
			  u32 stag, u64 to);
void srnic_ddp_put_untagged(u8 hdr[SRNIC_DDP_UNTAGGED_LEN], enum srnic_opcode op, bool last,
			    u32 inv_stag, u32 msn, u32 mo);

#endif /* _SRNIC_DDP_H */

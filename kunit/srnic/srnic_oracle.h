/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What has to stand on the wire, made as simply as can be: byte by byte, in the
 * words of RFC 5044 and RFC 5041. It shares nothing with srnic, so what it
 * makes judges what srnic sends, and what a test says of it judges what srnic
 * receives.
 */
#ifndef _SRNIC_ORACLE_H
#define _SRNIC_ORACLE_H

#include <linux/types.h>

#define ORACLE_TAGGED	14	/* bytes of a DDP header */
#define ORACLE_UNTAGGED	18

#define ORACLE_FPDUS	64

/**
 * struct oracle - one direction of a stream
 * @to: what is on the wire
 * @size: room there
 * @len: bytes there
 * @pos: bytes since SeqStart
 * @crc: FPDUs have a CRC
 * @markers: FPDUs have Markers
 * @mulpdu: the longest ULPDU
 * @ends: where the first ORACLE_FPDUS FPDUs end in @to
 * @fpdus: how many of these there are
 */
struct oracle {
	u8	*to;
	u32	size;
	u32	len;
	u32	pos;
	bool	crc;
	bool	markers;
	u32	mulpdu;
	u32	ends[ORACLE_FPDUS];
	u32	fpdus;
};

/* RDMAP opcodes (RFC 5040 4.3) */
enum {
	ORACLE_WRITE		= 0,
	ORACLE_READ_REQ		= 1,
	ORACLE_READ_RESP	= 2,
	ORACLE_SEND		= 3,
	ORACLE_SEND_INV		= 4,
	ORACLE_TERMINATE	= 7,
};

/**
 * struct oracle_msg - a message
 * @op: RDMAP opcode, which says whether it is tagged
 * @stag: where to, or what to invalidate
 * @to: tagged: offset
 * @qn: untagged: queue number
 * @msn: untagged: message sequence number
 * @payload: the message
 * @len: bytes
 * @begun: bytes of it that go out, if it ends too early; what comes after the last whole segment of
 *	these does not go out
 */
struct oracle_msg {
	u8		op;
	u32		stag;
	u64		to;
	u32		qn;
	u32		msn;
	const u8	*payload;
	u32		len;
	u32		begun;
};

u32 oracle_crc(const u8 *bytes, u32 len);
u32 oracle_mulpdu(u32 emss, bool markers);
void oracle_fpdu(struct oracle *o, const u8 *ulpdu, u32 len);
void oracle_message(struct oracle *o, const struct oracle_msg *msg);
void oracle_begin_message(struct oracle *o, const struct oracle_msg *msg);
bool oracle_is_end(const struct oracle *o, u32 len);

#endif /* _SRNIC_ORACLE_H */

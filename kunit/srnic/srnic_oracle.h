/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A simple generator of the bytes that have to be on the wire, byte by byte, in the terms of RFC
 * 5044 and RFC 5041. It shares no code with srnic, so its bytes are compared with those that srnic
 * sends, and are input for srnic's RX.
 */
#ifndef _SRNIC_ORACLE_H
#define _SRNIC_ORACLE_H

#include <linux/types.h>

#define ORACLE_TAGGED	14	/* bytes of a DDP header */
#define ORACLE_UNTAGGED	18

#define ORACLE_FPDUS	64

/* Generator of one direction of a stream */
struct oracle {
	u8	*to;			/* bytes on the wire */
	u32	size;			/* size of @to */
	u32	len;			/* number of bytes in @to */
	u32	pos;			/* position in the stream */
	bool	crc;			/* FPDUs have a CRC */
	bool	markers;
	u32	mulpdu;			/* length of the longest ULPDU */
	u32	ends[ORACLE_FPDUS];	/* where the first ORACLE_FPDUS FPDUs end in @to */
	u32	fpdus;			/* number of elements of @ends */
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

/* A message to be generated */
struct oracle_msg {
	u8		op;	/* RDMAP opcode, which decides whether the message is tagged */
	u32		stag;	/* STag of a tagged message, or the one to be invalidated */
	u64		to;		/* tagged offset of a tagged message */
	u32		qn;		/* queue number of an untagged message */
	u32		msn;		/* message sequence number of an untagged message */
	const u8	*payload;	/* bytes of the message */
	u32		len;		/* number of bytes */
	/*
	 * if the message ends too early: number of bytes of it that exist; those after the last
	 * whole segment are not sent
	 */
	u32		begun;
};

u32 oracle_crc(const u8 *bytes, u32 len);
u32 oracle_mulpdu(u32 emss, bool markers);
void oracle_fpdu(struct oracle *o, const u8 *ulpdu, u32 len);
void oracle_message(struct oracle *o, const struct oracle_msg *msg);
void oracle_begin_message(struct oracle *o, const struct oracle_msg *msg);
bool oracle_is_end(const struct oracle *o, u32 len);

#endif /* _SRNIC_ORACLE_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The errors of a stream, and the Terminate message that reports them to the
 * peer (RFC 5040 4.8). Pure functions: no locks, no side effects.
 */
#ifndef _SRNIC_TERM_H
#define _SRNIC_TERM_H

#include <linux/types.h>

/* Third byte of Terminate Control: which headers the message contains */
#define SRNIC_TERM_M		0x80	/* DDP Segment Length */
#define SRNIC_TERM_D		0x40	/* DDP header */
#define SRNIC_TERM_R		0x20	/* RDMAP header of a Read Request */

#define SRNIC_TERM_CTRL		4
#define SRNIC_TERM_DDP_MAX	18
#define SRNIC_TERM_RDMAP	28
#define SRNIC_TERM_MAX		(SRNIC_TERM_CTRL + 2 + SRNIC_TERM_DDP_MAX + \
				 SRNIC_TERM_RDMAP)

/* Contents of a Terminate message */
enum srnic_term_form {
	SRNIC_TERM_SILENT,	/* no message */
	SRNIC_TERM_BARE,	/* Terminate Control only */
	/* also DDP Segment Length and a DDP header, if there is a segment */
	SRNIC_TERM_MD,
	SRNIC_TERM_MDR, /* SRNIC_TERM_MD and the Read Request's header */
};

/* Which asynchronous event reports an error to the ULP */
enum srnic_tell {
	SRNIC_TELL_NONE,
	SRNIC_TELL_FATAL,	/* IB_EVENT_QP_FATAL */
	SRNIC_TELL_REQ,		/* IB_EVENT_QP_REQ_ERR: invalid request */
	SRNIC_TELL_ACCESS,	/* IB_EVENT_QP_ACCESS_ERR: no right */
};

/*
 * All errors of a stream: name, layer and error type, error code, form of the
 * Terminate message (enum srnic_term_form), event (enum srnic_tell), meaning.
 * Counters and trace events have the same names.
 */
#define SRNIC_ERRORS(X)							\
	X(NONE,		0x00, 0x00, SILENT, NONE,   "no error")		\
	X(CRC,		0x20, 0x02, BARE,   FATAL,  "wrong CRC")	\
	X(MARKER,	0x20, 0x03, BARE,   FATAL,  "Marker and length disagree") \
	X(URGENT,	0x00, 0x00, BARE,   FATAL,  "urgent data in the stream") \
	X(UNREADABLE,	0x00, 0x00, BARE,   FATAL,  "bytes that the host cannot read") \
	X(STREAM,	0x00, 0x00, SILENT, FATAL,  "TCP failed, or the peer closed too early") \
	X(SHORT,	0x02, 0xff, BARE,   REQ,    "ULPDU shorter than its header") \
	X(DV_TAGGED,	0x11, 0x04, MD,     REQ,    "wrong DDP version, tagged segment") \
	X(DV_UNTAGGED,	0x12, 0x06, MD,     REQ,    "wrong DDP version, untagged segment") \
	X(RV,		0x02, 0x05, MD,     REQ,    "wrong RDMAP version") \
	X(OPCODE,	0x02, 0x06, MD,     REQ,    "wrong opcode, or wrong queue or T bit") \
	X(QN,		0x12, 0x01, MD,     REQ,    "wrong queue number") \
	X(NO_BUFFER,	0x12, 0x02, MD,     REQ,    "no receive buffer, or IRD exceeded") \
	X(MSN,		0x12, 0x03, MD,     REQ,    "wrong message sequence number") \
	X(MO,		0x12, 0x04, MD,     REQ,    "wrong message offset") \
	X(TOO_LONG,	0x12, 0x05, MD,     REQ,    "message longer than its buffer") \
	X(WRITE_STAG,	0x11, 0x00, MD,     ACCESS, "Write: invalid STag") \
	X(WRITE_RIGHT,	0x11, 0x00, MD,     ACCESS, "Write: no right")	\
	X(WRITE_BOUNDS,	0x11, 0x01, MD,     ACCESS, "Write: out of bounds") \
	X(WRITE_PD,	0x11, 0x02, MD,     ACCESS, "Write: STag of another stream") \
	X(WRITE_WRAP,	0x11, 0x03, MD,     ACCESS, "Write: offset wraps") \
	X(RESP_STAG,	0x11, 0x00, MD,     ACCESS, "Read Response: STag is not the sink's") \
	X(RESP_BOUNDS,	0x11, 0x01, MD,     ACCESS, "Read Response: wrong offset or size") \
	X(RESP_PD,	0x11, 0x02, MD,     ACCESS, "Read Response: sink of another stream") \
	X(RESP_NONE,	0x02, 0x06, MD,     REQ,    "Read Response without a Read") \
	X(READ_STAG,	0x01, 0x00, MDR,    ACCESS, "Read: invalid STag") \
	X(READ_BOUNDS,	0x01, 0x01, MDR,    ACCESS, "Read: out of bounds") \
	X(READ_RIGHT,	0x01, 0x02, MDR,    ACCESS, "Read: no right")	\
	X(READ_PD,	0x01, 0x03, MDR,    ACCESS, "Read: STag of another stream") \
	X(READ_WRAP,	0x01, 0x04, MDR,    ACCESS, "Read: offset wraps") \
	X(READ_FORM,	0x02, 0xff, MD,     REQ,    "Read Request cut short") \
	X(INV_FOREIGN,	0x01, 0x09, MD,     ACCESS, "Invalidate: STag of another stream") \
	X(INV_STAG,	0x02, 0x09, MD,     ACCESS, "Invalidate: STag invalid or shared") \
	X(TERM_BAD,	0x00, 0x00, SILENT, FATAL,  "malformed Terminate message") \
	X(TERM_RECEIVED, 0x00, 0x00, SILENT, FATAL, "Terminate message received") \
	X(LOCAL,	0x00, 0x00, BARE,   FATAL,  "local work request in error") \
	X(CQ_FULL,	0x02, 0x07, MD,     FATAL,  "completion queue overflow")

enum srnic_err {
#define X(name, type, code, form, tell, text) SRNIC_ERR_##name,
	SRNIC_ERRORS(X)
#undef X
	SRNIC_ERR_COUNT
};

/* A row of SRNIC_ERRORS */
struct srnic_err_row {
	const char	*name;
	const char	*text;
	u8		type;	/* layer and error type, as on the wire */
	u8		code;
	u8		form;	/* enum srnic_term_form */
	u8		tell;	/* enum srnic_tell */
};

extern const struct srnic_err_row srnic_errs[SRNIC_ERR_COUNT];

/* Reasons to refuse an access to memory, in the order of the checks */
enum srnic_mem_fault {
	SRNIC_MEM_OK,
	SRNIC_MEM_STAG,		/* no such STag, wrong key, or not valid now */
	SRNIC_MEM_PD,		/* the STag is of another protection domain */
	SRNIC_MEM_RIGHT,	/* the right is missing */
	SRNIC_MEM_WRAP,		/* the range wraps at 2^64 */
	SRNIC_MEM_BOUNDS,	/* outside of the region */
};

/* Why memory is accessed */
enum srnic_mem_use {
	SRNIC_USE_WRITE,	/* an RDMA Write arrives */
	SRNIC_USE_RESP,		/* a Read Response arrives */
	SRNIC_USE_READ,		/* a peer reads */
};

enum srnic_err srnic_err_of_mem(enum srnic_mem_use use,
				enum srnic_mem_fault fault);

/*
 * Is [@addr, @addr + @len) in a region? No sum here can wrap. The last byte of
 * the address space cannot be accessed, since a range that ends at 2^64 counts
 * as wrapped (RFC 5041 7.1).
 */
static inline enum srnic_mem_fault srnic_range_check(u64 base, u64 size,
						     u64 addr, u32 len)
{
	u64 off = addr - base;

	if (!len)
		return SRNIC_MEM_OK;
	if (len > ~addr)
		return SRNIC_MEM_WRAP;
	if (addr < base || off > size || len > size - off)
		return SRNIC_MEM_BOUNDS;
	return SRNIC_MEM_OK;
}

/* The first error of a stream, with what its Terminate message needs */
struct srnic_fault {
	enum srnic_err	err;
	bool		silent;	/* no Terminate, whatever @err's form is */
	/* found by the sender: its batch precedes the error, and is sent */
	bool		own;
	u16		ulpdu_len; /* of the FPDU at fault, host order */
	u8		ddp_len; /* bytes of DDP header in @hdr: 0, 14 or 18 */
	/* DDP header as received, then a Read Request's RDMAP header */
	u8		hdr[SRNIC_TERM_DDP_MAX + SRNIC_TERM_RDMAP];
};

size_t srnic_term_build(const struct srnic_fault *fault,
			u8 payload[SRNIC_TERM_MAX]);

/* A Terminate message that was received */
struct srnic_term {
	u8		layer;	/* 0 RDMAP, 1 DDP, 2 LLP, others as received */
	u8		etype;	/* error type, 0..15 */
	u8		code;	/* error code, 0..255 */
	u8		hdrct;	/* SRNIC_TERM_M, D and R as received */
	u8		ddp_len; /* bytes of @ddp: 0, 14 or 18 */
	const u8	*ddp;	/* DDP header in the message, or NULL */
};

bool srnic_term_parse(const u8 *payload, size_t len, struct srnic_term *term);

#endif /* _SRNIC_TERM_H */

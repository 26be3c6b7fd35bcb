// SPDX-License-Identifier: GPL-2.0
/*
 * The FPDUs of the startup phase: zero-length RTR messages (RFC 6581 9.2) and
 * the Terminate message (RFC 5040 4.8, RFC 6581 8). Each is one unsegmented
 * RDMAP message, without Markers.
 */

#include <rdma/iw_mpa_proto.h>

#include <linux/build_bug.h>
#include <linux/crc32c.h>
#include <linux/export.h>
#include <linux/string.h>
#include <asm/byteorder.h>

/* DDP control byte (RFC 5041 4.1): Tagged, Last, version 1 */
#define FPDU_DDP_TAGGED		0x80
#define FPDU_DDP_LAST_V1	0x41
/* RDMAP control byte (RFC 5040 4.1): version 1, opcode */
#define FPDU_RDMAP_WRITE	0x40
#define FPDU_RDMAP_READ_REQ	0x41
#define FPDU_RDMAP_SEND		0x43
#define FPDU_RDMAP_TERM		0x47
/* DDP queues (RFC 5040 4.2) */
#define FPDU_QN_SEND		0
#define FPDU_QN_READ_REQ	1
#define FPDU_QN_TERM		2

#define FPDU_LAYER_LLP		0x20	/* layer 2, error type 0: MPA */

struct fpdu_tagged {
	__be16	ulpdu_len;
	u8	ddp;
	u8	rdmap;
	__be32	stag;
	__be64	to;
} __packed;

struct fpdu_untagged {
	__be16	ulpdu_len;
	u8	ddp;
	u8	rdmap;
	__be32	invalidate_stag;
	__be32	qn;
	__be32	msn;
	__be32	mo;
} __packed;

struct fpdu_read_req {
	struct fpdu_untagged	hdr;
	__be32			sink_stag;
	__be64			sink_to;
	__be32			size;
	__be32			source_stag;
	__be64			source_to;
} __packed;

struct fpdu_term {
	struct fpdu_untagged	hdr;
	u8			layer_etype;
	u8			code;
	u8			hdrct;
	u8			reserved;
} __packed;

/* RFC 5044 4.4: if CRC is off its field is still sent, with any value. */
static size_t fpdu_seal(u8 *fpdu, size_t len, bool crc)
{
	__be16 ulpdu_len = cpu_to_be16(len - 2);
	__le32 sum = 0;

	memcpy(fpdu, &ulpdu_len, sizeof(ulpdu_len));
	if (crc)
		sum = cpu_to_le32(~crc32c(~0, fpdu, len));
	memcpy(fpdu + len, &sum, sizeof(sum));
	return len + sizeof(sum);
}

static void fpdu_untagged_init(struct fpdu_untagged *hdr, u8 rdmap, u32 qn)
{
	hdr->ddp = FPDU_DDP_LAST_V1;
	hdr->rdmap = rdmap;
	hdr->qn = cpu_to_be32(qn);
	hdr->msn = cpu_to_be32(1);	/* first message of its DDP queue */
}

/**
 * iw_mpa_fpdu_rtr - make an RTR message
 * @rtr: one of IW_MPA_RTR_SEND, IW_MPA_RTR_WRITE, IW_MPA_RTR_READ
 * @crc: fill in the CRC field; otherwise it is 0
 * @fpdu: room for the FPDU; all of it is written
 *
 * This is for drivers of devices that do not make the RTR message themselves.
 *
 * Context: any.
 *
 * Return: size of the FPDU in bytes; 0 if @rtr is not exactly one RTR type.
 */
size_t iw_mpa_fpdu_rtr(u8 rtr, bool crc, u8 fpdu[IW_MPA_FPDU_MAX])
{
	struct fpdu_read_req *rd = (struct fpdu_read_req *)fpdu;
	struct fpdu_tagged *wr = (struct fpdu_tagged *)fpdu;

	BUILD_BUG_ON(sizeof(rd->hdr) + 4 != 24);
	BUILD_BUG_ON(sizeof(*wr) + 4 != IW_MPA_FPDU_WRITE_SIZE);
	BUILD_BUG_ON(sizeof(*rd) + 4 != IW_MPA_FPDU_MAX);
	memset(fpdu, 0, IW_MPA_FPDU_MAX);
	switch (rtr) {
	case IW_MPA_RTR_SEND:
		fpdu_untagged_init(&rd->hdr, FPDU_RDMAP_SEND, FPDU_QN_SEND);
		return fpdu_seal(fpdu, sizeof(rd->hdr), crc);
	case IW_MPA_RTR_WRITE:
		wr->ddp = FPDU_DDP_TAGGED | FPDU_DDP_LAST_V1;
		wr->rdmap = FPDU_RDMAP_WRITE;
		wr->stag = cpu_to_be32(IW_MPA_FPDU_STAG);
		return fpdu_seal(fpdu, sizeof(*wr), crc);
	case IW_MPA_RTR_READ:
		fpdu_untagged_init(&rd->hdr, FPDU_RDMAP_READ_REQ,
				   FPDU_QN_READ_REQ);
		rd->sink_stag = cpu_to_be32(IW_MPA_FPDU_STAG);
		rd->source_stag = cpu_to_be32(IW_MPA_FPDU_STAG);
		return fpdu_seal(fpdu, sizeof(*rd), crc);
	}
	return 0;
}
EXPORT_SYMBOL_GPL(iw_mpa_fpdu_rtr);

/**
 * iw_mpa_fpdu_term - make a Terminate message of the startup phase
 * @code: MPA error code (RFC 6581 8): 5 local catastrophic error,
 *	6 insufficient IRD, 7 no matching RTR type
 * @crc: fill in the CRC field; otherwise it is 0
 * @fpdu: room for the FPDU; all of it is written
 *
 * The message has layer 2 (LLP), error type 0 (MPA), and no attached header.
 *
 * Context: any.
 *
 * Return: size of the FPDU in bytes.
 */
size_t iw_mpa_fpdu_term(u8 code, bool crc, u8 fpdu[IW_MPA_FPDU_MAX])
{
	struct fpdu_term *term = (struct fpdu_term *)fpdu;

	BUILD_BUG_ON(sizeof(*term) + 4 != IW_MPA_FPDU_TERM_SIZE);
	memset(fpdu, 0, IW_MPA_FPDU_MAX);
	fpdu_untagged_init(&term->hdr, FPDU_RDMAP_TERM, FPDU_QN_TERM);
	term->layer_etype = FPDU_LAYER_LLP;
	term->code = code;
	return fpdu_seal(fpdu, sizeof(*term), crc);
}
EXPORT_SYMBOL_GPL(iw_mpa_fpdu_term);

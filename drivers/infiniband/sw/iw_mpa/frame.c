// SPDX-License-Identifier: GPL-2.0
/*
 * MPA Request and Reply: conversion between bytes and struct iw_mpa_frame; and
 * the reader, which collects a frame from a stream (RFC 5044 7.1.1, RFC 6581 6
 * and 9).
 */

#include <rdma/iw_mpa_proto.h>

#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <asm/byteorder.h>

#include "frame.h"

#define FRAME_KEY_REQ	"MPA ID Req Frame"
#define FRAME_KEY_REP	"MPA ID Rep Frame"

/**
 * struct frame_hdr - fixed part of an MPA Request or Reply
 * @key: FRAME_KEY_REQ or FRAME_KEY_REP, without the NUL
 * @flags: set of FRAME_*; the low four bits are reserved: they are not checked
 *	on receipt, and are sent as 0, except FRAME_REQ_LARGE, FRAME_REP_LARGE
 * @rev: MPA revision of the sender
 * @pd_length: bytes of private data that follow, 0..512, RFC 6581 data included
 */
struct frame_hdr {
	u8	key[IW_MPA_KEY_SIZE];
	u8	flags;
	u8	rev;
	__be16	pd_length;
};

/* Flags of the header, RFC 5044 7.1.1 and RFC 6581 6 */
#define FRAME_M		BIT(7)	/* sender wants Markers in what it receives */
#define FRAME_C		BIT(6)	/* sender wants CRC */
#define FRAME_R		BIT(5)	/* Reply only: connection rejected */
#define FRAME_S		BIT(4)	/* private data begins with RFC 6581 data */

/*
 * An extension of MPA: the sender of a Request allows FPDUs of more than one
 * TCP segment by FRAME_REQ_LARGE, the sender of a Reply by FRAME_REP_LARGE. The
 * bits differ, since a responder may copy the reserved bits of the Request into
 * its Reply.
 */
#define FRAME_REQ_LARGE	BIT(3)
#define FRAME_REP_LARGE	BIT(2)

/* RFC 6581 data at the start of the private data */
struct frame_enhanced {
	__be16	ird;	/* control flags A and B, then 14 bits of IRD */
	__be16	ord;	/* control flags C and D, then 14 bits of ORD */
};

#define FRAME_ENH_A	BIT(15)	/* in @ird: peer-to-peer model */
#define FRAME_ENH_B	BIT(14)	/* in @ird: RTR by zero-length Send */
#define FRAME_ENH_C	BIT(15)	/* in @ord: RTR by zero-length Write */
#define FRAME_ENH_D	BIT(14)	/* in @ord: RTR by zero-length Read */

static const char *frame_key(bool reply)
{
	return reply ? FRAME_KEY_REP : FRAME_KEY_REQ;
}

/*
 * Each byte of the key is checked as it arrives, to reject early a stream that
 * is not MPA. But only a whole key, that of a Request in place of a Reply or
 * the reverse, shows that the peer has this end's role (SAME_ROLE).
 */
static enum iw_mpa_reason frame_check_key(const u8 *buf, size_t len, bool reply)
{
	size_t n = len < IW_MPA_KEY_SIZE ? len : IW_MPA_KEY_SIZE;

	if (!memcmp(buf, frame_key(reply), n))
		return IW_MPA_R_OK;
	if (memcmp(buf, frame_key(!reply), n))
		return IW_MPA_R_BAD_KEY;
	return n == IW_MPA_KEY_SIZE ? IW_MPA_R_SAME_ROLE : IW_MPA_R_OK;
}

/* In revision 1 the S bit is reserved, and reserved bits are not checked. */
static bool frame_is_enhanced(const struct frame_hdr *hdr)
{
	return hdr->rev >= IW_MPA_REV_2 && (hdr->flags & FRAME_S);
}

static enum iw_mpa_reason frame_check_hdr(const struct frame_hdr *hdr)
{
	u16 pd_length = be16_to_cpu(hdr->pd_length);

	if (hdr->rev < IW_MPA_REV_1 || hdr->rev > IW_MPA_REV_2)
		return IW_MPA_R_BAD_REV;
	if (pd_length > IW_MPA_PD_MAX)
		return IW_MPA_R_BAD_PD_LENGTH;
	if (frame_is_enhanced(hdr) && pd_length < IW_MPA_ENHANCED_SIZE)
		return IW_MPA_R_SHORT_ENHANCED;
	return IW_MPA_R_OK;
}

/* Return: IW_MPA_R_OK, or why the part of the frame received so far is bad. */
static enum iw_mpa_reason reader_verdict(const struct iw_mpa_reader *rd)
{
	enum iw_mpa_reason reason;

	reason = frame_check_key(rd->buf, rd->have, rd->reply);

	if (reason || rd->have < IW_MPA_HDR_SIZE)
		return reason;
	return frame_check_hdr((const struct frame_hdr *)rd->buf);
}

/*
 * The caller has put @n more bytes of the frame into the buffer, @rd->need at
 * most. Return: IW_MPA_R_OK, or why the frame is bad: see iw_mpa_reader_feed()
 */
enum iw_mpa_reason iw_mpa_reader_filled(struct iw_mpa_reader *rd, size_t n)
{
	const struct frame_hdr *hdr = (const struct frame_hdr *)rd->buf;
	bool in_hdr = rd->have < IW_MPA_HDR_SIZE;
	enum iw_mpa_reason reason;

	BUILD_BUG_ON(sizeof(*hdr) != IW_MPA_HDR_SIZE);
	rd->have += n;
	rd->need -= n;
	if (!in_hdr)
		return IW_MPA_R_OK;
	reason = reader_verdict(rd);
	if (!reason && !rd->need)
		rd->need = be16_to_cpu(hdr->pd_length);
	return reason;
}

/**
 * iw_mpa_reader_feed - consume the bytes of a buffer that belong to the frame
 * @rd: reader; its buffer has room for a frame, or @len is at most @rd->need
 * @octets: received bytes, in the driver's buffer
 * @len: bytes at @octets
 * @reason: result: IW_MPA_R_OK while the frame may still be valid, or why it is
 *	not: BAD_KEY, SAME_ROLE, BAD_REV, BAD_PD_LENGTH, SHORT_ENHANCED
 *
 * The result does not depend on how many calls bring the bytes of the frame. If
 * the frame is bad a further call gives the same reason, and consumes no byte.
 *
 * Context: any.
 *
 * Return: bytes consumed, 0..@len. The frame is complete if @reason is
 * IW_MPA_R_OK and @rd->need is 0; the bytes left in the buffer are FPDUs then.
 */
size_t iw_mpa_reader_feed(struct iw_mpa_reader *rd, const void *octets,
			  size_t len, enum iw_mpa_reason *reason)
{
	const u8 *from = octets;
	size_t n, used = 0;

	*reason = reader_verdict(rd);
	while (!*reason && used < len && rd->need) {
		n = min_t(size_t, rd->need, len - used);
		memcpy(rd->buf + rd->have, from + used, n);
		used += n;
		*reason = iw_mpa_reader_filled(rd, n);
	}
	return used;
}
EXPORT_SYMBOL_GPL(iw_mpa_reader_feed);

void iw_mpa_enhanced_decode(const u8 *pd, struct iw_mpa_frame *frame)
{
	struct frame_enhanced enh;
	u16 ird, ord;

	BUILD_BUG_ON(sizeof(enh) != IW_MPA_ENHANCED_SIZE);

	memcpy(&enh, pd, sizeof(enh));
	ird = be16_to_cpu(enh.ird);
	ord = be16_to_cpu(enh.ord);

	frame->ird = ird & IW_MPA_DEPTH_ULP;
	frame->ord = ord & IW_MPA_DEPTH_ULP;
	frame->p2p = ird & FRAME_ENH_A;
	if (!frame->p2p)
		return;		/* RFC 6581 9.2: without A, ignore B, C and D */
	if (ird & FRAME_ENH_B)
		frame->rtr |= IW_MPA_RTR_SEND;
	if (ord & FRAME_ENH_C)
		frame->rtr |= IW_MPA_RTR_WRITE;
	if (ord & FRAME_ENH_D)
		frame->rtr |= IW_MPA_RTR_READ;
}

static u8 frame_large_bit(bool reply)
{
	return reply ? FRAME_REP_LARGE : FRAME_REQ_LARGE;
}

/*
 * Read the header of a frame, IW_MPA_HDR_SIZE bytes that were found valid. IRD,
 * ORD, RTR types and private data are not in the header: @frame gets an IRD and
 * ORD of 0, no RTR types and no private data.
 */
void iw_mpa_frame_decode_head(const void *buf, bool reply,
			      struct iw_mpa_frame *frame)
{
	const struct frame_hdr *hdr = buf;

	memset(frame, 0, sizeof(*frame));
	frame->reply = reply;
	frame->rev = hdr->rev;
	frame->markers = hdr->flags & FRAME_M;
	frame->crc = hdr->flags & FRAME_C;
	frame->reject = reply && (hdr->flags & FRAME_R);
	frame->enhanced = frame_is_enhanced(hdr);
	frame->large_fpdu = hdr->flags & frame_large_bit(reply);
}

/**
 * iw_mpa_frame_decode - read a whole startup frame
 * @buf: the frame
 * @len: bytes at @buf
 * @reply: expect an MPA Reply if true, an MPA Request if false
 * @frame: result; @frame->pd points into @buf
 *
 * Context: any.
 *
 * Return: IW_MPA_R_OK, or why @buf is not such a frame: BAD_KEY, SAME_ROLE,
 * BAD_REV, BAD_PD_LENGTH (also if the length of the private data does not fit
 * @len), SHORT_ENHANCED, TRUNCATED if @len is shorter than a header.
 */
enum iw_mpa_reason iw_mpa_frame_decode(const void *buf, size_t len, bool reply,
				       struct iw_mpa_frame *frame)
{
	struct frame_hdr hdr;
	enum iw_mpa_reason reason;
	const u8 *pd = (const u8 *)buf + sizeof(hdr);
	u16 pd_len;

	memset(frame, 0, sizeof(*frame));
	if (len < sizeof(hdr))
		return IW_MPA_R_TRUNCATED;
	memcpy(&hdr, buf, sizeof(hdr));

	reason = frame_check_key(hdr.key, sizeof(hdr.key), reply);
	if (!reason)
		reason = frame_check_hdr(&hdr);
	if (reason)
		return reason;
	pd_len = be16_to_cpu(hdr.pd_length);
	if (pd_len != len - sizeof(hdr))
		return IW_MPA_R_BAD_PD_LENGTH;

	iw_mpa_frame_decode_head(&hdr, reply, frame);
	if (frame->enhanced) {
		iw_mpa_enhanced_decode(pd, frame);
		pd += IW_MPA_ENHANCED_SIZE;
		pd_len -= IW_MPA_ENHANCED_SIZE;
	}
	frame->pd_len = pd_len;
	frame->pd = pd_len ? pd : NULL;
	return IW_MPA_R_OK;
}
EXPORT_SYMBOL_GPL(iw_mpa_frame_decode);

void iw_mpa_enhanced_encode(const struct iw_mpa_frame *frame, u8 *pd)
{
	u16 ird = frame->ird & IW_MPA_DEPTH_ULP;
	u16 ord = frame->ord & IW_MPA_DEPTH_ULP;
	struct frame_enhanced enh;

	if (frame->p2p) {
		ird |= FRAME_ENH_A;
		if (frame->rtr & IW_MPA_RTR_SEND)
			ird |= FRAME_ENH_B;
		if (frame->rtr & IW_MPA_RTR_WRITE)
			ord |= FRAME_ENH_C;
		if (frame->rtr & IW_MPA_RTR_READ)
			ord |= FRAME_ENH_D;
	}
	enh.ird = cpu_to_be16(ird);
	enh.ord = cpu_to_be16(ord);
	memcpy(pd, &enh, sizeof(enh));
}

static void frame_put_hdr(const struct iw_mpa_frame *frame, u16 pd_length,
			  u8 *buf)
{
	struct frame_hdr hdr = {};

	memcpy(hdr.key, frame_key(frame->reply), sizeof(hdr.key));
	if (frame->markers)
		hdr.flags |= FRAME_M;
	if (frame->crc)
		hdr.flags |= FRAME_C;
	if (frame->reply && frame->reject)
		hdr.flags |= FRAME_R;
	if (frame->enhanced)
		hdr.flags |= FRAME_S;
	if (frame->large_fpdu)
		hdr.flags |= frame_large_bit(frame->reply);
	hdr.rev = frame->rev;
	hdr.pd_length = cpu_to_be16(pd_length);
	memcpy(buf, &hdr, sizeof(hdr));
}

/**
 * iw_mpa_frame_encode - write a startup frame
 * @frame: what to write; @frame->pd may be NULL only if @frame->pd_len is 0
 * @buf: room for the frame; nothing is written on error
 * @size: bytes at @buf; IW_MPA_FRAME_MAX always suffices
 *
 * Context: any.
 *
 * Return: bytes written; -ENOSPC if @size is too small; -EMSGSIZE if the
 * private data exceeds 512 bytes, 508 with RFC 6581 data; -EINVAL if
 * @frame->enhanced is set and the revision is below 2.
 */
int iw_mpa_frame_encode(const struct iw_mpa_frame *frame, void *buf,
			size_t size)
{
	size_t len = IW_MPA_HDR_SIZE + frame->pd_len;
	u8 *pd = (u8 *)buf + IW_MPA_HDR_SIZE;

	if (frame->enhanced)
		len += IW_MPA_ENHANCED_SIZE;
	if (frame->enhanced && frame->rev < IW_MPA_REV_2)
		return -EINVAL;
	if (len > IW_MPA_FRAME_MAX)
		return -EMSGSIZE;
	if (len > size)
		return -ENOSPC;
	frame_put_hdr(frame, len - IW_MPA_HDR_SIZE, buf);
	if (frame->enhanced) {
		iw_mpa_enhanced_encode(frame, pd);
		pd += IW_MPA_ENHANCED_SIZE;
	}
	if (frame->pd_len)
		memcpy(pd, frame->pd, frame->pd_len);
	return len;
}
EXPORT_SYMBOL_GPL(iw_mpa_frame_encode);

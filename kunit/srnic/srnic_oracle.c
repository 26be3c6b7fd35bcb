// SPDX-License-Identifier: GPL-2.0
/* A simple generator of FPDUs, see srnic_oracle.h */

#include "srnic_oracle.h"

#include <linux/bug.h>
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/unaligned.h>

#define ORACLE_STEP	512		/* from one Marker to the next */
#define ORACLE_ULPDU	(64 * 1024)

/* CRC32c, bit by bit */
u32 oracle_crc(const u8 *bytes, u32 len)
{
	u32 crc = ~0;
	int bit;

	while (len--) {
		crc ^= *bytes++;
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
	}
	return ~crc;
}

/* MULPDU by RFC 5044 4.5; without Markers no space is reserved for them. */
u32 oracle_mulpdu(u32 emss, bool markers)
{
	return emss - (6 + (markers ? 4 * DIV_ROUND_UP(emss, ORACLE_STEP) : 0) + emss % 4);
}

static void oracle_put(struct oracle *o, u8 byte)
{
	if (WARN_ON_ONCE(o->len == o->size))
		return;
	o->to[o->len++] = byte;
	o->pos++;
}

/* Put a Marker if one is due. FPDUPTR is @back, the distance from the beginning of the FPDU. */
static void oracle_mark(struct oracle *o, u32 back)
{
	if (!o->markers || o->pos % ORACLE_STEP)
		return;
	oracle_put(o, 0);
	oracle_put(o, 0);
	oracle_put(o, back >> 8);
	oracle_put(o, back);
}

/* Make an FPDU of a ULPDU of @len bytes */
void oracle_fpdu(struct oracle *o, const u8 *ulpdu, u32 len)
{
	u32 first = o->len, begin, i, sum = 0;

	oracle_mark(o, 0);
	begin = o->pos;
	oracle_put(o, len >> 8);
	oracle_put(o, len);
	for (i = 0; i < len || (2 + i) % 4; i++) {
		oracle_mark(o, o->pos - begin);
		oracle_put(o, i < len ? ulpdu[i] : 0);
	}
	oracle_mark(o, o->pos - begin);
	if (o->crc)
		sum = oracle_crc(o->to + first, o->len - first);
	for (i = 0; i < 4; i++)
		oracle_put(o, sum >> 8 * i);
	if (o->fpdus < ORACLE_FPDUS)
		o->ends[o->fpdus++] = o->len;
}

/* Does an FPDU end after the first @len bytes? */
bool oracle_is_end(const struct oracle *o, u32 len)
{
	u32 i;

	for (i = 0; i < o->fpdus; i++)
		if (o->ends[i] == len)
			return true;
	return !len;
}

/* Make the DDP header of the segment at @off; return its length. */
static u32 oracle_put_hdr(u8 *hdr, const struct oracle_msg *msg, u32 off, bool last)
{
	bool tagged = msg->op == ORACLE_WRITE || msg->op == ORACLE_READ_RESP;

	hdr[0] = (tagged ? 0x80 : 0) | (last ? 0x40 : 0) | 1;
	hdr[1] = 0x40 | msg->op;
	put_unaligned_be32(msg->stag, hdr + 2);
	if (tagged) {
		put_unaligned_be64(msg->to + off, hdr + 6);
		return ORACLE_TAGGED;
	}
	put_unaligned_be32(msg->qn, hdr + 6);
	put_unaligned_be32(msg->msn, hdr + 10);
	put_unaligned_be32(off, hdr + 14);
	return ORACLE_UNTAGGED;
}

/* Make the FPDUs of a message, but only those that end within its first @msg->begun bytes */
void oracle_begin_message(struct oracle *o, const struct oracle_msg *msg)
{
	static u8 ulpdu[ORACLE_ULPDU];
	u32 off = 0, hdr_len, n;

	do {
		hdr_len = oracle_put_hdr(ulpdu, msg, off, false);
		n = min(msg->len - off, o->mulpdu - hdr_len);
		if (off + n > msg->begun)
			return;
		oracle_put_hdr(ulpdu, msg, off, off + n == msg->len);
		memcpy(ulpdu + hdr_len, msg->payload + off, n);
		oracle_fpdu(o, ulpdu, hdr_len + n);
		off += n;
	} while (off < msg->len);
}

void oracle_message(struct oracle *o, const struct oracle_msg *msg)
{
	struct oracle_msg whole = *msg;

	whole.begun = msg->len;
	oracle_begin_message(o, &whole);
}

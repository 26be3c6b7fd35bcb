/* SPDX-License-Identifier: GPL-2.0 */
/* FPDUs are written into a batch: length, octets, Markers, padding, CRC. */
#ifndef _SRNIC_FPDU_H
#define _SRNIC_FPDU_H

#include "mem.h"
#include "srnic.h"

#include <linux/crc32c.h>
#include <linux/minmax.h>
#include <linux/mm_types.h>
#include <linux/string.h>
#include <linux/unaligned.h>

/* If a fragment has fewer octets left than this, a writer takes another fragment. */
#define SRNIC_FRAG_MIN	64

void srnic_frag_take(struct page_frag *frag);
void srnic_frag_give(struct page_frag *frag);
bool srnic_frag_refill(struct page_frag *frag, gfp_t gfp);
void srnic_frag_exit(void);

/* A CRC is computed over what is still in the first-level cache. */
#define SRNIC_FPDU_PIECE	8192

/* ULPDU_Length and the longest header */
#define SRNIC_FPDU_HEAD		(2 + SRNIC_DDP_HDR_MAX)

/*
 * struct srnic_writer - the end of a batch
 *
 * FPDUs, Markers and fragments begin and end at multiples of 4 bytes, in memory and in the stream.
 * So Marker, padding and CRC are in a row each.
 */
struct srnic_writer {
	struct srnic_batch	*batch;
	struct page_frag	frag;	/* its offset is where a piece began, or will begin */
	gfp_t			gfp;
	struct srnic_hold	hold;	/* where the payload comes from */
	u8			pieces;	/* that an FPDU may need */
	u32			full;	/* a batch of so many bytes is full */
	bool			crc;	/* FPDUs have a CRC */
	bool			markers;	/* Markers are inserted */

	u8			*at;	/* next byte; NULL: there is no piece */
	u8			*stop;	/* where srnic_fpdu_more() is due */
	u8			*end;	/* of the fragment */

	u8			*start;	/* of the batch's last piece */
	u32			len;	/* bytes of the batch up to @start */
	u32			pos;	/* position of the batch's first byte */

	u8			*from;	/* bytes from here on are not in the CRC */
	u32			sum;	/* CRC so far */
	u32			fpdu;	/* position of ULPDU_Length */

	/* for srnic_fpdu_undo(): where the FPDU began; if that is in another
	 * fragment, how many pieces there were, and the length of the last
	 */
	u8			*begin;
	bool			moved;
	u8			nbv;
	u32			last;
};

void srnic_writer_open(struct srnic_writer *w, struct srnic_tx *tx, u16 mulpdu, u32 full,
		       gfp_t gfp);
void srnic_writer_close(struct srnic_writer *w, struct srnic_tx *tx);
int srnic_fpdu_more(struct srnic_writer *w);
void srnic_fpdu_begin_marked(struct srnic_writer *w);
int srnic_fpdu_put(struct srnic_writer *w, const u8 *bytes, u32 len);
void srnic_fpdu_put_crc(struct srnic_writer *w);
void srnic_fpdu_undo(struct srnic_writer *w);

static inline u32 srnic_writer_len(const struct srnic_writer *w)
{
	return w->len + (w->at - w->start);
}

/* An empty batch has room for any FPDU. */
static inline bool srnic_writer_has_room(const struct srnic_writer *w)
{
	const struct srnic_batch *batch = w->batch;

	return batch->fpdus < SRNIC_BATCH_FPDUS && srnic_writer_len(w) < w->full &&
	       batch->nbv + w->pieces <= SRNIC_BATCH_BVECS;
}

/* How many FPDUs of @size a batch has room for, whatever pieces they are in; at least one */
static inline u32 srnic_writer_room(const struct srnic_writer *w, u32 size)
{
	u32 len = srnic_writer_len(w);

	return min_t(u32, SRNIC_BATCH_FPDUS - w->batch->fpdus, (w->full - len - 1) / size + 1);
}

/*
 * Begin with @len bytes of ULPDU_Length and header; @head has room for SRNIC_FPDU_HEAD. If a
 * Marker is due here, it belongs to this FPDU.
 *
 * Returns 0; -ENOMEM.
 */
static __always_inline int srnic_fpdu_begin(struct srnic_writer *w, const u8 *head, u32 len)
{
	w->begin = w->at;
	w->moved = false;
	if (w->markers) {
		srnic_fpdu_begin_marked(w);
	} else if (w->crc) {
		w->from = w->at;
		w->sum = ~0;
		w->stop = min_t(u8 *, w->end, w->at + SRNIC_FPDU_PIECE);
	}
	if (unlikely(w->stop - w->at < SRNIC_FPDU_HEAD))
		return srnic_fpdu_put(w, head, len);
	/* The longest, as its size is a constant: payload goes over what is too much. */
	memcpy(w->at, head, SRNIC_FPDU_HEAD);
	w->at += len;
	return 0;
}

/*
 * The CRC field is also there if CRC is off, and is 0 then (RFC 5044 4.4). A Marker between
 * padding and CRC counts for the CRC.
 *
 * Returns 0; -ENOMEM.
 */
static __always_inline int srnic_fpdu_end(struct srnic_writer *w, u16 ulpdu_len)
{
	struct srnic_batch *batch = w->batch;
	u32 padding = -(ulpdu_len + 2) & 3;

	for (; padding; padding--)
		*w->at++ = 0;
	if (w->at == w->stop && srnic_fpdu_more(w))
		return -ENOMEM;
	if (w->crc)
		srnic_fpdu_put_crc(w);
	else
		put_unaligned_le32(0, w->at);
	w->at += SRNIC_CRC_LEN;
	batch->ends[batch->fpdus++] = srnic_writer_len(w) / 4;
	return 0;
}

/*
 * An FPDU of @size bytes is at @at, but for its end: the bytes up to padding are @len. There are no
 * Markers, and all of it is in a row.
 */
static __always_inline void srnic_fpdu_close(struct srnic_writer *w, u32 len, u32 size)
{
	struct srnic_batch *batch = w->batch;

	/* Padding is shorter than this. */
	put_unaligned_le32(0, w->at + len);
	put_unaligned_le32(w->crc ? ~crc32c(~0, w->at, size - SRNIC_CRC_LEN) : 0,
			   w->at + size - SRNIC_CRC_LEN);
	w->at += size;
	batch->ends[batch->fpdus++] = srnic_writer_len(w) / 4;
}

void srnic_batch_reset(struct srnic_batch *batch);
void srnic_batch_cut(struct srnic_tx *tx);

#endif /* _SRNIC_FPDU_H */

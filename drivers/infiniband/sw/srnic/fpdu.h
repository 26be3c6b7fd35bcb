/* SPDX-License-Identifier: GPL-2.0 */
/* FPDUs (RFC 5044 4) in a batch: length, ULPDU, Markers, padding, CRC */
#ifndef _SRNIC_FPDU_H
#define _SRNIC_FPDU_H

#include "mem.h"
#include "srnic.h"

#include <linux/crc32c.h>
#include <linux/minmax.h>
#include <linux/mm_types.h>
#include <linux/string.h>
#include <linux/unaligned.h>

/* A writer takes another fragment if its own has fewer bytes left than this. */
#define SRNIC_FRAG_MIN	64

void srnic_frag_take(struct page_frag *frag);
void srnic_frag_give(struct page_frag *frag);
bool srnic_frag_refill(struct page_frag *frag);
void srnic_frag_exit(void);

/* Bytes per call of crc32c(): few enough to be in the first-level data cache */
#define SRNIC_FPDU_PIECE	8192

/* ULPDU_Length and the longest header */
#define SRNIC_FPDU_HEAD		(2 + SRNIC_DDP_HDR_MAX)

/*
 * A writer adds FPDUs at the end of a batch, the bvec entries that the sender
 * passes to TCP at once. What it writes itself goes into page fragments. FPDUs,
 * Markers and page fragments begin and end at multiples of 4 bytes, in memory
 * and in the stream, so no Marker, padding or CRC is split between two of them.
 */
struct srnic_writer {
	struct srnic_batch	*batch;
	struct page_frag	frag;	/* offset: of its bvec entry */
	struct srnic_hold	hold;	/* the region of the payload */
	u8			pieces;	/* bvec entries that an FPDU may need */
	u32			full;	/* bytes at which the batch is full */
	bool			crc;
	bool			markers;

	u8			*at;	/* next byte; NULL: no fragment */
	u8			*stop;	/* call srnic_fpdu_more() there */
	u8			*end;	/* of the fragment */

	u8			*start;	/* of the last bvec entry */
	u32			len;	/* bytes of the batch up to @start */
	u32			pos;	/* batch's stream position: wire.h */

	u8			*from;	/* @sum covers the bytes before it */
	u32			sum;	/* CRC so far */
	u32			fpdu;	/* position of ULPDU_Length */

	/*
	 * For srnic_fpdu_undo(): @begin is the FPDU's first byte. If the FPDU
	 * goes on in another fragment (@moved), @nbv is the number of bvec
	 * entries with earlier FPDUs, and @last how many bytes of these are
	 * before @begin in its bvec entry.
	 */
	u8			*begin;
	bool			moved;
	u8			nbv;
	u32			last;
};

void srnic_writer_open(struct srnic_writer *w, struct srnic_qp *qp, u16 mulpdu,
		       u32 full);
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

/* False if the batch is full; an empty batch has room for any FPDU. */
static inline bool srnic_writer_has_room(const struct srnic_writer *w)
{
	const struct srnic_batch *batch = w->batch;

	return batch->fpdus < SRNIC_BATCH_FPDUS &&
	       srnic_writer_len(w) < w->full &&
	       batch->nbv + w->pieces <= SRNIC_BATCH_BVECS;
}

/* FPDUs of @size that SRNIC_BATCH_FPDUS and @w->full allow, at least 1 */
static inline u32 srnic_writer_room(const struct srnic_writer *w, u32 size)
{
	u32 len = srnic_writer_len(w);

	return min_t(u32, SRNIC_BATCH_FPDUS - w->batch->fpdus,
		     (w->full - len - 1) / size + 1);
}

/*
 * Begin an FPDU with the first @len bytes of @head: ULPDU_Length and DDP
 * header. @head must have SRNIC_FPDU_HEAD bytes, since all may be copied. A
 * Marker that is due at the FPDU's first byte belongs to this FPDU. Returns 0
 * or -ENOMEM.
 */
static __always_inline int srnic_fpdu_begin(struct srnic_writer *w,
					    const u8 *head, u32 len)
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
	/* A constant size is faster; payload overwrites bytes after @len. */
	memcpy(w->at, head, SRNIC_FPDU_HEAD);
	w->at += len;
	return 0;
}

/*
 * End an FPDU: write its padding, and its CRC, or 0 if CRC is off (RFC 5044
 * 4.4). The CRC covers a Marker between padding and CRC. Returns 0 or -ENOMEM.
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
 * End an FPDU of @size bytes, padding and CRC included, which begins at @w->at.
 * The caller has written its first @len bytes, those before the padding. The
 * FPDU is contiguous and without Markers.
 */
static __always_inline void srnic_fpdu_close(struct srnic_writer *w, u32 len,
					     u32 size)
{
	struct srnic_batch *batch = w->batch;

	/* At most 3 of the zeroes are padding; the CRC overwrites the rest. */
	put_unaligned_le32(0, w->at + len);
	put_unaligned_le32(w->crc ? ~crc32c(~0, w->at, size - SRNIC_CRC_LEN) :
				    0,
			   w->at + size - SRNIC_CRC_LEN);
	w->at += size;
	batch->ends[batch->fpdus++] = srnic_writer_len(w) / 4;
}

void srnic_batch_reset(struct srnic_batch *batch);
void srnic_batch_cut(struct srnic_tx *tx);

#endif /* _SRNIC_FPDU_H */

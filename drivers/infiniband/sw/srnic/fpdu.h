/* SPDX-License-Identifier: GPL-2.0 */
/* FPDUs are written into a batch: length, octets, Markers, padding, CRC. */
#ifndef _SRNIC_FPDU_H
#define _SRNIC_FPDU_H

#include "mem.h"
#include "srnic.h"

#include <linux/mm_types.h>
#include <linux/types.h>

/* If a fragment has fewer octets left than this, a writer takes another fragment. */
#define SRNIC_FRAG_MIN	64

void srnic_frag_take(struct page_frag *frag);
void srnic_frag_give(struct page_frag *frag);
bool srnic_frag_refill(struct page_frag *frag, gfp_t gfp);
void srnic_frag_exit(void);

/**
 * struct srnic_writer - the end of a batch
 * @batch: the batch
 * @frag: memory that is written to; its offset is that of the last refill
 * @gfp: how to get more
 * @hold: the region that the payload comes from; dropped before memory is asked for
 * @pieces: pieces that an FPDU may need
 * @full: a batch of so many bytes is full
 * @at: next byte
 * @end: end of the fragment
 * @left: bytes that can be written at @at before srnic_fpdu_more()
 * @from: bytes of the FPDU from here to @at are neither counted nor in the CRC yet
 * @sum: CRC so far
 * @pos: position of @from in the stream (wire.h)
 * @fpdu: position of the FPDU's ULPDU_Length
 * @crc: FPDUs have a CRC
 * @markers: Markers are inserted
 * @begin: how all was before the FPDU, for srnic_fpdu_undo()
 * @begin.at: @at, NULL if the fragment is another one now
 * @begin.last: bytes of the batch's last piece
 * @begin.len: bytes of the batch
 * @begin.pos: @pos
 * @begin.nbv: pieces of the batch
 *
 * FPDUs, Markers and fragments begin and end at multiples of 4 bytes, in memory and in the stream.
 * So Marker, padding and CRC are in a row each.
 */
struct srnic_writer {
	struct srnic_batch	*batch;
	struct page_frag	frag;
	gfp_t			gfp;
	struct srnic_hold	hold;
	u8			pieces;
	u32			full;
	u8			*at;
	u8			*end;
	u32			left;
	u8			*from;
	u32			sum;
	u32			pos;
	u32			fpdu;
	bool			crc;
	bool			markers;
	struct {
		u8		*at;
		u32		last;
		u32		len;
		u32		pos;
		u8		nbv;
	} begin;
};

void srnic_writer_open(struct srnic_writer *w, struct srnic_tx *tx, u16 mulpdu, u32 full,
		       gfp_t gfp);
void srnic_writer_close(struct srnic_writer *w, struct srnic_tx *tx);
int srnic_fpdu_begin(struct srnic_writer *w, const u8 *head, u32 len);
int srnic_fpdu_more(struct srnic_writer *w);
int srnic_fpdu_put(struct srnic_writer *w, const u8 *bytes, u32 len);
int srnic_fpdu_end(struct srnic_writer *w, u16 ulpdu_len);
void srnic_fpdu_undo(struct srnic_writer *w);

/* An empty batch has room for any FPDU. */
static inline bool srnic_writer_has_room(const struct srnic_writer *w)
{
	const struct srnic_batch *batch = w->batch;

	return batch->fpdus < SRNIC_BATCH_FPDUS && batch->len < w->full &&
	       batch->nbv + w->pieces <= SRNIC_BATCH_BVECS;
}

void srnic_batch_reset(struct srnic_batch *batch);
void srnic_batch_cut(struct srnic_tx *tx);

#endif /* _SRNIC_FPDU_H */

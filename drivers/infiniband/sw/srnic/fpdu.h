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
 * @frag: memory that is written to
 * @gfp: how to get more
 * @hold: the region that the payload comes from; dropped before memory is asked for
 * @pos: position of the next octet (segment.h)
 * @fpdu: position of the FPDU's ULPDU_Length
 * @from: CRC: octets of @frag up to here are in @sum, or do not count
 * @sum: CRC so far
 * @crc: FPDUs have a CRC
 * @markers: Markers are inserted
 */
struct srnic_writer {
	struct srnic_batch	*batch;
	struct page_frag	frag;
	gfp_t			gfp;
	struct srnic_hold	hold;
	u32			pos;
	u32			fpdu;
	u32			from;
	u32			sum;
	bool			crc;
	bool			markers;
};

/**
 * struct srnic_mark - where a batch ended, to go back to
 * @nbv: pieces
 * @last: octets of the last piece
 * @len: octets of the batch
 * @pos: position
 */
struct srnic_mark {
	u8	nbv;
	u32	last;
	u32	len;
	u32	pos;
};

void srnic_writer_open(struct srnic_writer *w, struct srnic_tx *tx, gfp_t gfp);
void srnic_writer_close(struct srnic_writer *w, struct srnic_tx *tx);

struct srnic_mark srnic_writer_mark(const struct srnic_writer *w);
void srnic_writer_rewind(struct srnic_writer *w, struct srnic_mark mark);
bool srnic_writer_has_room(const struct srnic_batch *batch, u32 ulpdu_len);
int srnic_writer_begin(struct srnic_writer *w, u16 ulpdu_len, const u8 *hdr, u8 hdr_len);
void *srnic_writer_piece(struct srnic_writer *w, u32 want, u32 *len);
void srnic_writer_commit(struct srnic_writer *w, u32 len);
int srnic_writer_put(struct srnic_writer *w, const void *octets, u32 len);
int srnic_writer_end(struct srnic_writer *w, u16 ulpdu_len);

void srnic_batch_reset(struct srnic_batch *batch);
void srnic_batch_cut(struct srnic_tx *tx);

#endif /* _SRNIC_FPDU_H */

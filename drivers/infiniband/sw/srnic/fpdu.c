// SPDX-License-Identifier: GPL-2.0
/*
 * Build FPDUs in pages that TCP sends without a copy.
 *
 * A batch is a sequence of whole FPDUs, in page fragments. While the sender
 * builds a batch, a writer (struct srnic_writer) owns one fragment; afterwards
 * the fragment goes to the CPU's cache of fragments, so an idle QP keeps no
 * fragment. Each bvec entry of a batch has a reference on its page. TCP takes
 * references of its own, until the peer has acknowledged the bytes. The writer
 * computes the CRC of bytes soon after it wrote them, while they are in the
 * data cache, and of as many contiguous bytes as it can, since a call of
 * crc32c() costs more than the CRC of 64 bytes.
 *
 * Each CPU caches a few fragments, the oldest first. A writer takes the newest
 * one, which may have room left. When that is full, the writer takes the oldest
 * one if the cache has the only reference on it. So a CPU that sends all the
 * time, to peers that acknowledge, neither allocates nor clears pages, and
 * writes to memory that is still in its caches.
 *
 * The cache does not keep a page of the emergency reserves, which are for work
 * that frees memory, nor a single page, which was used only because memory was
 * fragmented.
 */

#include "fpdu.h"
#include "wire.h"

#include <linux/crc32c.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/string.h>
#include <net/sock.h>

#define FRAG_ROW	8	/* 256 KiB for each CPU */

/* NOIO: storage may wait for the sender. NORETRY: tx.retry tries again. */
#define FRAG_GFP	(GFP_NOIO | __GFP_NORETRY | __GFP_NOWARN)

/* Fragments that a CPU caches, the oldest first */
struct frag_row {
	struct page_frag	frag[FRAG_ROW];
	unsigned int		n;
};

static DEFINE_PER_CPU(struct frag_row, frag_rows);

static void row_take_oldest(struct frag_row *row, struct page_frag *frag)
{
	*frag = row->frag[0];
	row->n--;
	memmove(row->frag, row->frag + 1, row->n * sizeof(row->frag[0]));
}

/* True if a CPU caches the fragment: full size, not of the reserves */
static bool frag_is_worth_keeping(const struct page_frag *frag)
{
	return frag->size == PAGE_SIZE << SKB_FRAG_PAGE_ORDER &&
	       !page_is_pfmemalloc(frag->page);
}

/* Page count 1 stays 1: only the fragment's owner, the caller, raises it. */
static bool frag_is_free(const struct page_frag *frag)
{
	return page_ref_count(frag->page) == 1;
}

static void frag_put(struct page_frag *frag)
{
	if (frag->page)
		put_page(frag->page);
	frag->page = NULL;
}

void srnic_frag_take(struct page_frag *frag)
{
	struct frag_row *row = get_cpu_ptr(&frag_rows);

	frag->page = NULL;
	if (row->n)
		*frag = row->frag[--row->n];
	put_cpu_ptr(&frag_rows);
}

void srnic_frag_give(struct page_frag *frag)
{
	struct page_frag oldest = {};
	struct frag_row *row;

	if (!frag->page || !frag_is_worth_keeping(frag)) {
		frag_put(frag);
		return;
	}
	row = get_cpu_ptr(&frag_rows);
	if (row->n == FRAG_ROW)
		row_take_oldest(row, &oldest);
	row->frag[row->n++] = *frag;
	put_cpu_ptr(&frag_rows);
	frag->page = NULL;
	frag_put(&oldest);
}

/* Swap a full fragment for the CPU's oldest, or for none if skbs use that. */
static void frag_swap(struct page_frag *frag)
{
	struct page_frag oldest = {};
	struct frag_row *row = get_cpu_ptr(&frag_rows);

	if (row->n && frag_is_free(&row->frag[0]))
		row_take_oldest(row, &oldest);
	put_cpu_ptr(&frag_rows);
	srnic_frag_give(frag);
	*frag = oldest;
}

static bool frag_has_room(const struct page_frag *frag)
{
	return frag->size - frag->offset >= SRNIC_FRAG_MIN;
}

/*
 * Ensure that the writer has a page fragment with room for SRNIC_FRAG_MIN
 * bytes. From the emergency reserves a sender with PF_MEMALLOC takes only a
 * single page. The CPU's cache of fragments keeps no memory of the reserves, so
 * no other sender could use the rest of a larger fragment until the peer has
 * acknowledged the batch. Returns false if there is no memory.
 */
bool srnic_frag_refill(struct page_frag *frag)
{
	if (frag->page && !frag_has_room(frag) && !frag_is_free(frag))
		frag_swap(frag);
	if (skb_page_frag_refill(SRNIC_FRAG_MIN, frag,
				 FRAG_GFP | __GFP_NOMEMALLOC))
		return true;
	if (!(current->flags & PF_MEMALLOC))
		return false;
	*frag = (struct page_frag) {
		.page = alloc_page(FRAG_GFP),
		.size = PAGE_SIZE,
	};
	return frag->page;
}

void srnic_frag_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		struct frag_row *row = per_cpu_ptr(&frag_rows, cpu);

		while (row->n)
			frag_put(&row->frag[--row->n]);
	}
}

/*
 * Returns the most bvec entries that an FPDU with a ULPDU of @mulpdu bytes
 * needs: while memory is fragmented, each page fragment is a single page.
 * A 64th of @mulpdu is added for Markers, which are 4 of every 512 bytes of the
 * stream.
 */
static u8 writer_pieces(u32 mulpdu)
{
	return (mulpdu + mulpdu / 64) / (PAGE_SIZE - SRNIC_FRAG_MIN) + 2;
}

/* Begin a bvec entry for the bytes that will be written to @w->frag. */
static void writer_begin_piece(struct srnic_writer *w)
{
	struct srnic_batch *batch = w->batch;
	struct page_frag *frag = &w->frag;

	get_page(frag->page);
	batch->bv[batch->nbv++] = (struct bio_vec) {
		.bv_page	= frag->page,
		.bv_offset	= frag->offset,
	};
	w->at = page_address(frag->page) + frag->offset;
	w->start = w->at;
	w->from = w->at;
	w->end = page_address(frag->page) + frag->size;
}

void srnic_writer_open(struct srnic_writer *w, struct srnic_qp *qp, u16 mulpdu,
		       u32 full)
{
	struct srnic_tx *tx = &qp->tx;

	*w = (struct srnic_writer) {
		.batch		= &tx->batch,
		.pieces		= writer_pieces(mulpdu),
		.full		= full,
		.crc		= qp->params.crc,
		.markers	= qp->params.tx_markers,
		.len		= tx->batch.len,
		.pos		= tx->pos - tx->batch.len,
	};
	srnic_frag_take(&w->frag);
	/* srnic_frag_refill() allocates nothing here; srnic_fpdu_more() may. */
	if (w->frag.page &&
	    (frag_is_free(&w->frag) || frag_has_room(&w->frag)) &&
	    srnic_frag_refill(&w->frag)) {
		writer_begin_piece(w);
		w->stop = w->end;
	}
}

static void writer_end_piece(struct srnic_writer *w)
{
	struct srnic_batch *batch = w->batch;

	if (!w->at)
		return;
	w->frag.offset = ALIGN(w->at - (u8 *)page_address(w->frag.page), 4);
	if (w->at == w->start) {
		put_page(batch->bv[--batch->nbv].bv_page);
	} else {
		batch->bv[batch->nbv - 1].bv_len = w->at - w->start;
		w->len = srnic_writer_len(w);
	}
	w->at = NULL;
	w->start = NULL;
	w->from = NULL;
	w->end = NULL;
}

void srnic_writer_close(struct srnic_writer *w, struct srnic_tx *tx)
{
	srnic_hold_drop(&w->hold);
	writer_end_piece(w);
	w->batch->len = w->len;
	tx->pos = w->pos + w->len;
	srnic_frag_give(&w->frag);
}

void srnic_batch_reset(struct srnic_batch *batch)
{
	while (batch->nbv)
		put_page(batch->bv[--batch->nbv].bv_page);
	batch->fpdus = 0;
	batch->len = 0;
	batch->done = 0;
}

/*
 * After an error, drop the FPDUs of which TCP has no byte. If TCP has a part of
 * an FPDU, the rest must follow, or the peer could not find where the next one
 * begins. tx->pos, by which Markers are placed, becomes the batch's new end.
 */
void srnic_batch_cut(struct srnic_tx *tx)
{
	struct srnic_batch *batch = &tx->batch;
	u32 end = 0, fpdus = 0;

	while (end < batch->done)
		end = batch->ends[fpdus++] * 4;
	tx->pos -= batch->len - end;
	batch->len = end;
	batch->fpdus = fpdus;
}

/* Record for srnic_fpdu_undo() where the FPDU leaves its first fragment. */
static void fpdu_leave(struct srnic_writer *w)
{
	if (w->moved)
		return;
	w->moved = true;
	w->last = w->begin - w->start;
	w->nbv = w->batch->nbv - (w->at && !w->last);
}

/* The sender allocates only here, after it has dropped its held region. */
static int fpdu_refill(struct srnic_writer *w)
{
	srnic_hold_drop(&w->hold);
	might_sleep();
	fpdu_leave(w);
	writer_end_piece(w);
	if (WARN_ON_ONCE(w->batch->nbv == SRNIC_BATCH_BVECS) ||
	    !srnic_frag_refill(&w->frag))
		return -ENOMEM;
	writer_begin_piece(w);
	return 0;
}

static void fpdu_sum(struct srnic_writer *w)
{
	if (w->crc && w->at != w->from)
		w->sum = crc32c(w->sum, w->from, w->at - w->from);
	w->from = w->at;
}

static u32 fpdu_pos(const struct srnic_writer *w)
{
	return w->pos + srnic_writer_len(w);
}

/* Set @stop to the next place for a Marker, a CRC update or a new fragment. */
static void fpdu_set_stop(struct srnic_writer *w)
{
	w->stop = w->end;
	if (w->crc)
		w->stop = min_t(u8 *, w->stop, w->from + SRNIC_FPDU_PIECE);
	if (w->markers)
		w->stop = min_t(u8 *, w->stop,
				w->at + srnic_marker_gap(fpdu_pos(w)));
}

/*
 * The writer has reached @w->stop. Do what is due there: update the CRC, take
 * another fragment, write a Marker. Returns 0 or -ENOMEM.
 */
int srnic_fpdu_more(struct srnic_writer *w)
{
	do {
		if (w->at == w->end || w->at - w->from >= SRNIC_FPDU_PIECE)
			fpdu_sum(w);
		if (w->at == w->end && fpdu_refill(w))
			return -ENOMEM;
		if (w->markers && !srnic_marker_gap(fpdu_pos(w))) {
			srnic_marker_put(w->at, w->fpdu, fpdu_pos(w));
			w->at += SRNIC_MARKER_LEN;
		}
		fpdu_set_stop(w);
	} while (w->at == w->stop);
	return 0;
}

void srnic_fpdu_begin_marked(struct srnic_writer *w)
{
	w->from = w->at;
	w->sum = ~0;
	w->fpdu = fpdu_pos(w);
	if (!srnic_marker_gap(w->fpdu))
		w->fpdu += SRNIC_MARKER_LEN;
	fpdu_set_stop(w);
}

int srnic_fpdu_put(struct srnic_writer *w, const u8 *bytes, u32 len)
{
	while (len) {
		u32 n;

		if (w->at == w->stop && srnic_fpdu_more(w))
			return -ENOMEM;
		n = min_t(u32, len, w->stop - w->at);
		memcpy(w->at, bytes, n);
		w->at += n;
		bytes += n;
		len -= n;
	}
	return 0;
}

void srnic_fpdu_put_crc(struct srnic_writer *w)
{
	fpdu_sum(w);
	put_unaligned_le32(~w->sum, w->at);
}

/*
 * Remove from the batch the FPDU that is being written. If it began in an
 * earlier fragment, the writer does not own that fragment any more, so the next
 * FPDU begins a new bvec entry.
 */
void srnic_fpdu_undo(struct srnic_writer *w)
{
	struct srnic_batch *batch = w->batch;

	if (!w->moved) {
		w->at = w->begin;
		return;
	}
	while (batch->nbv > w->nbv) {
		batch->nbv--;
		w->len -= batch->bv[batch->nbv].bv_len;
		put_page(batch->bv[batch->nbv].bv_page);
	}
	if (w->last) {
		w->len -= batch->bv[batch->nbv - 1].bv_len - w->last;
		batch->bv[batch->nbv - 1].bv_len = w->last;
	}
	w->at = NULL;
	w->start = NULL;
	w->stop = NULL;
	w->end = NULL;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * FPDUs in memory that TCP gets as it is.
 *
 * A batch is made of whole FPDUs in a row, in page fragments. While a batch is built the fragment
 * belongs to the writer. In between it belongs to the CPU, so an idle QP has no memory of this kind.
 * Each piece of a batch has a reference on its page, until the peer has acknowledged its octets.
 * Octets are added to the CRC soon after they were written, and as many at once as are in a row,
 * since a call costs more than 64 octets.
 *
 * Each CPU keeps a few fragments in a row, the oldest first. A writer takes the newest, which may
 * have room left. When that is full, the oldest is used again if nobody else has a reference on it.
 * So a CPU that sends all the time, to peers that answer, neither allocates nor clears pages, and
 * writes to memory that its caches know.
 *
 * A fragment in a row belongs to that row, and any other to its writer. A page of the emergency
 * reserves goes back at once, and so does a single page: it was taken because memory is in pieces,
 * which may be over.
 */

#include "fpdu.h"
#include "wire.h"

#include <linux/crc32c.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/string.h>
#include <net/sock.h>
#include <asm/byteorder.h>

#define FRAG_ROW	4	/* 128 KiB for each CPU */

/**
 * struct frag_row - fragments of one CPU
 * @frag: the fragments, the oldest first
 * @n: how many
 */
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

/* A page of the emergency reserves is for those whose work frees memory. */
static bool frag_is_worth_keeping(const struct page_frag *frag)
{
	return frag->size == PAGE_SIZE << SKB_FRAG_PAGE_ORDER && !page_is_pfmemalloc(frag->page);
}

/* Nobody else has a reference. Nobody can get one, since only a writer gives references away. */
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

/* Swap a full fragment for the oldest of this CPU, or for none if that is still in use. */
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

bool srnic_frag_refill(struct page_frag *frag, gfp_t gfp)
{
	if (frag->page && frag->size - frag->offset < SRNIC_FRAG_MIN && !frag_is_free(frag))
		frag_swap(frag);
	return skb_page_frag_refill(SRNIC_FRAG_MIN, frag, gfp);
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

/* CRC over what is still in the first-level cache */
#define WRITER_PIECE	8192

void srnic_writer_open(struct srnic_writer *w, struct srnic_tx *tx, gfp_t gfp)
{
	*w = (struct srnic_writer) {
		.batch		= &tx->batch,
		.gfp		= gfp,
		.pos		= tx->pos,
		.crc		= tx->crc,
		.markers	= tx->markers,
	};
	srnic_frag_take(&w->frag);
}

void srnic_writer_close(struct srnic_writer *w, struct srnic_tx *tx)
{
	srnic_hold_drop(&w->hold);
	tx->pos = w->pos;
	srnic_frag_give(&w->frag);
}

static void batch_put_page(struct bio_vec *bv)
{
	put_page(bv->bv_page);
}

void srnic_batch_reset(struct srnic_batch *batch)
{
	while (batch->nbv)
		batch_put_page(&batch->bv[--batch->nbv]);
	batch->fpdus = 0;
	batch->len = 0;
	batch->done = 0;
}

/* Octets of a batch up to the end of an FPDU */
static u32 batch_end(const struct srnic_batch *batch, u8 fpdu)
{
	return batch->ends[fpdu] * 4;
}

/*
 * If TCP has a part of an FPDU, its rest has to go out. The next octet of the stream stands behind
 * that, and Markers are counted from there.
 */
void srnic_batch_cut(struct srnic_tx *tx)
{
	struct srnic_batch *batch = &tx->batch;
	u32 len = batch->len;
	u8 n = 0;

	while (n < batch->fpdus && batch_end(batch, n) < batch->done)
		n++;
	batch->len = batch->done && n < batch->fpdus ? batch_end(batch, n) : batch->done;
	tx->pos -= len - batch->len;
	batch->fpdus = 0;
}

struct srnic_mark srnic_writer_mark(const struct srnic_writer *w)
{
	const struct srnic_batch *batch = w->batch;

	return (struct srnic_mark) {
		.nbv	= batch->nbv,
		.last	= batch->nbv ? batch->bv[batch->nbv - 1].bv_len : 0,
		.len	= batch->len,
		.pos	= w->pos,
	};
}

void srnic_writer_rewind(struct srnic_writer *w, struct srnic_mark mark)
{
	struct srnic_batch *batch = w->batch;

	while (batch->nbv > mark.nbv)
		batch_put_page(&batch->bv[--batch->nbv]);
	if (batch->nbv)
		batch->bv[batch->nbv - 1].bv_len = mark.last;
	batch->len = mark.len;
	w->pos = mark.pos;
}

/* If memory is short, fragments are single pages. */
static u32 writer_pieces(u32 octets)
{
	return octets / (PAGE_SIZE - SRNIC_FRAG_MIN) + 2;
}

/* Returns true if so; an empty batch has room for any. */
bool srnic_writer_has_room(const struct srnic_batch *batch, u32 ulpdu_len)
{
	return batch->fpdus < SRNIC_BATCH_FPDUS && batch->len < SRNIC_BATCH_OCTETS &&
	       batch->nbv + writer_pieces(ulpdu_len + ulpdu_len / 64) <= SRNIC_BATCH_BVECS;
}

/* Does the batch end where the fragment goes on? */
static bool writer_is_joined(const struct srnic_writer *w)
{
	const struct srnic_batch *batch = w->batch;
	const struct bio_vec *bv;

	if (!batch->nbv)
		return false;
	bv = &batch->bv[batch->nbv - 1];
	return bv->bv_page == w->frag.page && bv->bv_offset + bv->bv_len == w->frag.offset;
}

static bool writer_refill(struct srnic_writer *w)
{
	struct srnic_batch *batch = w->batch;
	struct page_frag *frag = &w->frag;

	srnic_hold_drop(&w->hold);
	might_sleep();
	if (!srnic_frag_refill(frag, w->gfp))
		return false;
	if (writer_is_joined(w))
		return true;
	if (WARN_ON_ONCE(batch->nbv == SRNIC_BATCH_BVECS))
		return false;
	get_page(frag->page);
	batch->bv[batch->nbv++] = (struct bio_vec) {
		.bv_page	= frag->page,
		.bv_offset	= frag->offset,
	};
	return true;
}

/* Add what was written to the CRC. The fragment does not change before all of it was added. */
static void writer_sum(struct srnic_writer *w)
{
	u32 len = w->frag.offset - w->from;

	if (w->crc && len)
		w->sum = crc32c(w->sum, page_address(w->frag.page) + w->from, len);
	w->from = w->frag.offset;
}

/* Find memory in a row for at most @want octets. Markers do not count. */
static void *writer_room(struct srnic_writer *w, u32 want, u32 *len)
{
	struct page_frag *frag = &w->frag;

	if (!frag->page || frag->offset == frag->size || !writer_is_joined(w)) {
		writer_sum(w);
		if (!writer_refill(w))
			return NULL;
		w->from = frag->offset;
	}
	*len = min(want, frag->size - frag->offset);
	if (w->crc)
		*len = min_t(u32, *len, WRITER_PIECE);
	return page_address(frag->page) + frag->offset;
}

static void writer_advance(struct srnic_writer *w, u32 len)
{
	struct srnic_batch *batch = w->batch;

	w->frag.offset += len;
	batch->bv[batch->nbv - 1].bv_len += len;
	batch->len += len;
	w->pos += len;
}

/* Write a few raw octets. */
static int writer_put_raw(struct srnic_writer *w, const u8 *octets, u32 len)
{
	while (len) {
		u32 n;
		void *to = writer_room(w, len, &n);

		if (!to)
			return -ENOMEM;
		memcpy(to, octets, n);
		writer_advance(w, n);
		octets += n;
		len -= n;
	}
	return 0;
}

static int writer_put_marker(struct srnic_writer *w)
{
	u8 marker[SRNIC_MARKER_LEN];

	srnic_marker_put(marker, w->fpdu, w->pos);
	return writer_put_raw(w, marker, sizeof(marker));
}

/* Returns memory, for srnic_writer_commit(); NULL if there is none. */
void *srnic_writer_piece(struct srnic_writer *w, u32 want, u32 *len)
{
	if (w->markers) {
		if (!srnic_marker_gap(w->pos) && writer_put_marker(w))
			return NULL;
		want = min(want, srnic_marker_gap(w->pos));
	}
	return writer_room(w, want, len);
}

void srnic_writer_commit(struct srnic_writer *w, u32 len)
{
	writer_advance(w, len);
	if (w->frag.offset - w->from >= WRITER_PIECE)
		writer_sum(w);
}

int srnic_writer_put(struct srnic_writer *w, const void *octets, u32 len)
{
	while (len) {
		u32 n;
		void *to = srnic_writer_piece(w, len, &n);

		if (!to)
			return -ENOMEM;
		memcpy(to, octets, n);
		srnic_writer_commit(w, n);
		octets += n;
		len -= n;
	}
	return 0;
}

/* If a Marker is due here, it belongs to this FPDU. */
int srnic_writer_begin(struct srnic_writer *w, u16 ulpdu_len, const u8 *hdr, u8 hdr_len)
{
	u8 head[2 + SRNIC_DDP_HDR_MAX] = { ulpdu_len >> 8, ulpdu_len };

	w->sum = ~0;
	w->from = w->frag.offset;
	w->fpdu = w->pos;
	if (w->markers && !srnic_marker_gap(w->pos))
		w->fpdu += SRNIC_MARKER_LEN;
	memcpy(head + 2, hdr, hdr_len);
	return srnic_writer_put(w, head, 2 + hdr_len);
}

/*
 * The CRC field is also there if CRC is off, and is 0 then (RFC 5044 4.4). A Marker between
 * padding and CRC counts for the CRC.
 */
int srnic_writer_end(struct srnic_writer *w, u16 ulpdu_len)
{
	struct srnic_batch *batch = w->batch;
	static const u8 padding[3];
	__le32 sum;

	if (srnic_writer_put(w, padding, -(ulpdu_len + 2) & 3))
		return -ENOMEM;
	if (w->markers && !srnic_marker_gap(w->pos) && writer_put_marker(w))
		return -ENOMEM;
	writer_sum(w);
	sum = cpu_to_le32(w->crc ? ~w->sum : 0);
	if (writer_put_raw(w, (const u8 *)&sum, sizeof(sum)))
		return -ENOMEM;
	batch->ends[batch->fpdus++] = batch->len / 4;
	return 0;
}

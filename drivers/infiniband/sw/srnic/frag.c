// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of FPDUs that are on their way.
 *
 * TCP gets page fragments as they are, and has a reference on each until the peer has
 * acknowledged its octets. Each CPU keeps a few fragments in a row, the oldest first. A
 * writer takes the newest, which may have room left. When that is full, the oldest is
 * used again if nobody else has a reference on it. So a CPU that sends all the time, to
 * peers that answer, neither allocates nor clears pages, and writes to memory that its
 * caches know.
 *
 * A fragment in a row belongs to that row, and any other to its writer. A page of the
 * emergency reserves goes back at once, and so does a single page: it was taken because
 * memory is in pieces, which may be over.
 */

#include "frag.h"

#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/string.h>
#include <net/sock.h>

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

/**
 * srnic_frag_take - have the fragment that was given back last on this CPU
 * @frag: result; without a page if there is none
 *
 * Context: process.
 */
void srnic_frag_take(struct page_frag *frag)
{
	struct frag_row *row = get_cpu_ptr(&frag_rows);

	frag->page = NULL;
	if (row->n)
		*frag = row->frag[--row->n];
	put_cpu_ptr(&frag_rows);
}

/**
 * srnic_frag_give - give a fragment back to this CPU, as the newest
 * @frag: a writer's; afterwards it has no page
 *
 * Context: process.
 */
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

/**
 * srnic_frag_refill - make sure that there is room
 * @frag: a writer's; its page may change
 * @gfp: how to get memory
 *
 * Context: process; as @gfp says.
 *
 * Return: true if at least SRNIC_FRAG_MIN octets can be written behind @frag's offset.
 */
bool srnic_frag_refill(struct page_frag *frag, gfp_t gfp)
{
	if (frag->page && frag->size - frag->offset < SRNIC_FRAG_MIN && !frag_is_free(frag))
		frag_swap(frag);
	return skb_page_frag_refill(SRNIC_FRAG_MIN, frag, gfp);
}

/**
 * srnic_frag_exit - give the fragments of all CPUs back
 *
 * Context: process; no QP is left.
 */
void srnic_frag_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		struct frag_row *row = per_cpu_ptr(&frag_rows, cpu);

		while (row->n)
			frag_put(&row->frag[--row->n]);
	}
}

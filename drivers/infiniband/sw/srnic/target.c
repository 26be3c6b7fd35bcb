// SPDX-License-Identifier: GPL-2.0
/*
 * The memory behind a region, piece by piece.
 *
 * The device has no DMA, so the RDMA core gives it virtual addresses in place of bus addresses, and
 * makes sure that there is no high memory. So every page has an address.
 */

#include "target.h"

#include <linux/scatterlist.h>

/* Pinned pages: blocks of one size, found by their number */
static void target_walk_user(const struct srnic_mr *mr, u64 off, u32 len, srnic_step_fn step,
			     void *arg)
{
	const u64 size = 1ULL << mr->block_shift;
	u64 pos = mr->block_off + off;

	while (len) {
		u64 within = pos & (size - 1);
		u32 n = min_t(u64, len, size - within);

		step(arg, ib_virt_dma_to_ptr(mr->blocks[pos >> mr->block_shift] + within), n);
		pos += n;
		len -= n;
	}
}

/* The first of a fast-registered region's pieces that ends behind @off */
static const struct srnic_extent *target_find(const struct srnic_mr *mr, u64 off)
{
	const struct srnic_extent *map = mr->map[mr->active];
	u32 low = 0, high = mr->extents[mr->active];

	while (low < high) {
		u32 middle = (low + high) / 2;

		if (map[middle].end <= off)
			low = middle + 1;
		else
			high = middle;
	}
	return &map[low];
}

static void target_walk_fast(const struct srnic_mr *mr, u64 off, u32 len, srnic_step_fn step,
			     void *arg)
{
	const struct srnic_extent *first = mr->map[mr->active];
	const struct srnic_extent *ext = target_find(mr, off);
	u64 begin = ext > first ? ext[-1].end : 0;

	while (len) {
		u32 n = min_t(u64, len, ext->end - off);

		step(arg, ext->va + (off - begin), n);
		off += n;
		len -= n;
		begin = ext->end;
		ext++;
	}
}

/**
 * srnic_target_walk - do something with a part of a region
 * @mr: region
 * @off: octets before the part
 * @len: octets of it; with @off within the region, as was checked under the same lock
 * @step: is called for each piece, in order
 * @arg: for @step
 *
 * Context: mr->lock is held.
 */
void srnic_target_walk(const struct srnic_mr *mr, u64 off, u32 len, srnic_step_fn step, void *arg)
{
	if (!len)
		return;
	switch (mr->kind) {
	case SRNIC_MR_DMA:
		step(arg, ib_virt_dma_to_ptr(off), len);
		break;
	case SRNIC_MR_USER:
		target_walk_user(mr, off, len, step, arg);
		break;
	case SRNIC_MR_FAST:
		target_walk_fast(mr, off, len, step, arg);
		break;
	}
}

/**
 * srnic_target_size - how much is mapped
 * @mr: fast-registered region
 * @table: which of its two tables
 *
 * Return: octets.
 */
u64 srnic_target_size(const struct srnic_mr *mr, u8 table)
{
	u32 n = mr->extents[table];

	return n ? mr->map[table][n - 1].end : 0;
}

/* If a piece begins where the one before ends, it needs no entry of its own. */
static bool target_append(struct srnic_extent *map, u32 *n, u32 max, void *va, u32 len)
{
	u64 before = *n ? map[*n - 1].end : 0;
	u64 begin = *n > 1 ? map[*n - 2].end : 0;

	if (*n && map[*n - 1].va + (before - begin) == va) {
		map[*n - 1].end += len;
		return true;
	}
	if (*n == max)
		return false;
	map[*n] = (struct srnic_extent) { .va = va, .end = before + len };
	++*n;
	return true;
}

/**
 * srnic_target_map - note the memory for the next registration
 * @mr: fast-registered region, valid or not
 * @sgl: pieces, mapped by ib_dma_map_sg()
 * @nents: how many
 * @off: octets of the first piece to leave out, NULL for 0; 0 on return
 *
 * A valid registration keeps the table that it has. Pieces may begin and end anywhere. In the
 * region they follow each other. The region begins at the first octet's place in its page, and not
 * at its address: ULPs tell their peers where it begins, and no peer has to know the kernel's
 * addresses.
 *
 * Context: any; not twice for one region at the same time.
 *
 * Return: pieces of @sgl that are mapped; -EINVAL if there is none, or @off is behind the first.
 */
int srnic_target_map(struct srnic_mr *mr, struct scatterlist *sgl, int nents, unsigned int *off)
{
	unsigned int skip = off ? *off : 0;
	u8 table = !mr->active;
	struct scatterlist *sg;
	u32 n = 0;
	int i;

	if (nents <= 0 || skip > sg_dma_len(sgl))
		return -EINVAL;
	mr->ibmr.iova = (sg_dma_address(sgl) + skip) % PAGE_SIZE;
	mr->ibmr.length = 0;
	for_each_sg(sgl, sg, nents, i) {
		u32 len = sg_dma_len(sg) - skip;

		if (len && !target_append(mr->map[table], &n, mr->max_extents,
					  ib_virt_dma_to_ptr(sg_dma_address(sg) + skip), len))
			break;
		mr->ibmr.length += len;
		skip = 0;
	}
	if (off)
		*off = 0;
	mr->extents[table] = n;
	mr->mapped = true;
	return i;
}

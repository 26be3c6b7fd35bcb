// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of memory regions: look-up by STag, walks through their memory, mapping, registration,
 * invalidation
 */

#include "srnic_pair.h"

#include <linux/scatterlist.h>
#include <linux/sizes.h>

#include "../srnic/mem.h"	/* srnic's, by its path: user mode Linux has a mem.h, too */

#define MEM_SGS		8
#define MEM_STEPS	10

/* The pieces of memory that a walk through a region has found */
struct mem_walk {
	int	n;
	void	*va[MEM_STEPS];
	size_t	len[MEM_STEPS];
	u64	total;
};

/* Record the pieces of memory that srnic_hold_piece() returns from the position of @hold on. */
static void mem_pieces(struct srnic_hold *hold, u32 len, struct mem_walk *walk)
{
	while (len) {
		u32 n = len;
		void *va = srnic_hold_piece(hold, &n);

		if (walk->n < MEM_STEPS) {
			walk->va[walk->n] = va;
			walk->len[walk->n] = n;
		}
		walk->n++;
		walk->total += n;
		len -= n;
	}
}

static void mem_walk(struct srnic_mr *mr, u64 off, u32 len, struct mem_walk *walk)
{
	struct srnic_hold hold = { .mr = mr };

	srnic_hold_seek(&hold, off);
	mem_pieces(&hold, len, walk);
}

static enum srnic_mem_fault mem_access(struct pair *p, const struct srnic_name *name, u64 addr,
				       u32 len, struct mem_walk *walk)
{
	struct srnic_hold hold = {};
	enum srnic_mem_fault fault = srnic_hold_at(p->dev, &hold, name, addr, len);

	if (!fault)
		mem_pieces(&hold, len, walk);
	srnic_hold_drop(&hold);
	return fault;
}

/* Return the address of byte @off of a region of pieces, by going through them one by one */
static u8 *mem_slow(const struct srnic_extent *pieces, const u32 *lens, int n, u64 off)
{
	int i;

	for (i = 0; i < n; i++) {
		if (off < lens[i])
			return pieces[i].va + off;
		off -= lens[i];
	}
	return NULL;
}

/* A peer must not be able to guess STags: neither indices nor keys follow a pattern. */
/* Rules: R-8.1.1-8: how many STags ascend, are near the last one, and have its key */
static void mem_stags_of_many_regions_no_pattern(struct kunit *test)
{
	struct pair *p = test->priv;
	u32 last = 0, step, ascending = 0, near = 0, same_key = 0;
	int i;

	for (i = 0; i < 1000; i++) {
		struct srnic_mr *mr = pair_reg(p, &p->pd, p->end[0].mem, 0, 1, 0);

		KUNIT_ASSERT_GE(test, mr->stag >> 8, 1);
		KUNIT_ASSERT_LE(test, mr->stag >> 8, SRNIC_STAG_MAX_INDEX);
		KUNIT_ASSERT_EQ(test, mr->ibmr.lkey, mr->stag);
		KUNIT_ASSERT_EQ(test, mr->ibmr.rkey, mr->stag);
		step = (mr->stag >> 8) - (last >> 8);
		ascending += (mr->stag >> 8) > (last >> 8);
		near += step + 16 <= 32;
		same_key += (u8)mr->stag == (u8)last;
		last = mr->stag;
	}
	KUNIT_EXPECT_GT(test, ascending, 350);
	KUNIT_EXPECT_LT(test, ascending, 650);
	KUNIT_EXPECT_LT(test, near, 10);
	KUNIT_EXPECT_LT(test, same_key, 50);
}

/* log2 of the sizes of blocks that an application's pinned memory may consist of */
static const u8 mem_shifts[] = { PAGE_SHIFT, 16, 21, 30 };

static void mem_shift_desc(const u8 *shift, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "2_%u", *shift);
}

KUNIT_ARRAY_PARAM(mem_shift, mem_shifts, mem_shift_desc);

#define MEM_BLOCKS	6

/*
 * A region of pinned blocks of equal size begins within its first block. A walk through any part of
 * the region finds the address of each byte. The addresses of the blocks are neither ascending nor
 * adjacent. There need not be memory at these addresses, since no byte is accessed.
 */
static void mem_walk_blocks_each_octet_where_it_is(struct kunit *test)
{
	const u64 size = 1ULL << *(const u8 *)test->param_value;
	struct srnic_mr *mr = kunit_kzalloc(test, sizeof(*mr), GFP_KERNEL);
	u64 blocks[MEM_BLOCKS], begin, pos;
	u32 len, i, n;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	mr->kind = SRNIC_MR_USER;
	mr->block_shift = ilog2(size);
	mr->block_off = 100;
	mr->blocks = blocks;
	/* No block is next to the one before. */
	for (i = 0; i < MEM_BLOCKS; i++)
		blocks[i] = (1 + (i * 5) % MEM_BLOCKS) * 2 * size;
	for (begin = 0; begin < 3 * size; begin += size / 8 + 1) {
		/* Up to 2^31 bytes: the walk has 32 bits for a length. */
		for (len = 0; len < min_t(u64, 2 * size, SZ_2G); len += size / 4 - 3) {
			struct mem_walk walk = {};

			mem_walk(mr, begin, len, &walk);
			KUNIT_ASSERT_EQ(test, walk.total, len);
			pos = begin + mr->block_off;
			n = len ? (pos + len - 1) / size - pos / size + 1 : 0;
			KUNIT_ASSERT_EQ(test, walk.n, n);
			for (i = 0; i < n; i++) {
				KUNIT_ASSERT_EQ(test, (uintptr_t)walk.va[i],
						(uintptr_t)(blocks[pos / size] + pos % size));
				pos += walk.len[i];
			}
		}
	}
}

/*
 * A region is mapped from pieces of any length with gaps between them, and begins within the first
 * piece: a walk through it finds each byte.
 */
static void mem_map_sg_any_pieces_walked_in_order(struct kunit *test)
{
	static const u32 lens[MEM_SGS] = { 1000, 4096, 1, 4096, 8192, 3, 4096, 500 };
	struct srnic_extent pieces[MEM_SGS];
	struct pair *p = test->priv;
	struct scatterlist sg[MEM_SGS];
	struct srnic_mr mr = { .kind = SRNIC_MR_FAST, .max_extents = MEM_SGS };
	unsigned int skip = 36;
	u32 left[MEM_SGS], total = 0, i;
	u64 off;

	mr.map[0] = kunit_kcalloc(test, MEM_SGS, sizeof(*mr.map[0]), GFP_KERNEL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr.map[0]);
	sg_init_table(sg, MEM_SGS);
	for (i = 0; i < MEM_SGS; i++) {
		pieces[i].va = p->end[0].mem + ((i * 3) % MEM_SGS) * 8192 + (i == 3 ? 0 : i);
		sg[i].dma_address = (uintptr_t)pieces[i].va;
		sg_dma_len(&sg[i]) = lens[i];
		left[i] = lens[i];
	}
	pieces[0].va += skip;
	left[0] -= skip;
	for (i = 0; i < MEM_SGS; i++)
		total += left[i];

	KUNIT_ASSERT_EQ(test, srnic_map_mr_sg(&mr.ibmr, sg, MEM_SGS, &skip), MEM_SGS);
	KUNIT_EXPECT_EQ(test, skip, 0);
	KUNIT_EXPECT_EQ(test, mr.ibmr.length, total);
	KUNIT_EXPECT_EQ(test, mr.ibmr.iova, offset_in_page(pieces[0].va));
	KUNIT_EXPECT_EQ(test, srnic_target_size(&mr, 0), total);
	KUNIT_EXPECT_EQ(test, srnic_target_size(&mr, 1), 0);
	for (off = 0; off < total; off++) {
		struct mem_walk walk = {};

		mem_walk(&mr, off, 1, &walk);
		KUNIT_ASSERT_EQ(test, walk.n, 1);
		KUNIT_ASSERT_PTR_EQ(test, (u8 *)walk.va[0], mem_slow(pieces, left, MEM_SGS, off));
	}
	for (off = 0; off < total; off += 777) {
		struct mem_walk walk = {};

		mem_walk(&mr, off, total - off, &walk);
		KUNIT_ASSERT_EQ(test, walk.total, total - off);
		KUNIT_ASSERT_PTR_EQ(test, (u8 *)walk.va[0], mem_slow(pieces, left, MEM_SGS, off));
	}
}

static void mem_map_sg_too_many_pieces_as_many_as_fit(struct kunit *test)
{
	struct pair *p = test->priv;
	struct srnic_mr *mr = pair_fast(p, p->end[0].mem, 100, 0);
	struct scatterlist sg[3];
	int i;

	sg_init_table(sg, 3);
	for (i = 0; i < 3; i++) {
		sg[i].dma_address = (uintptr_t)p->end[0].mem + i * 4096;
		sg_dma_len(&sg[i]) = i == 1 ? 10 : 4096;
	}
	/*
	 * The region can have only one extent. The first two pieces are adjacent, so they fit in
	 * one extent; the third piece is not adjacent to them.
	 */
	KUNIT_EXPECT_EQ(test, srnic_map_mr_sg(&mr->ibmr, sg, 3, NULL), 2);
	KUNIT_EXPECT_EQ(test, mr->ibmr.length, 4106);
}

/*
 * A region of 512 pieces, none of them adjacent to the one before: each piece is found, also the
 * last one. No region for more pieces can be made, and one for 512 does not accept more.
 */
/* Rules: R-8.1.2-1: EINVAL for one piece more than the device says that a region may have */
static void mem_fast_region_has_512_pieces(struct kunit *test)
{
	const u32 count = 512, size = PAIR_MEM / count / 2;
	struct pair *p = test->priv;
	struct scatterlist *sg = kunit_kcalloc(test, count + 1, sizeof(*sg), GFP_KERNEL);
	struct ib_mr *ibmr;
	struct srnic_mr *mr;
	u32 i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, sg);
	p->pd.device = &p->dev->ibdev;
	for (i = 0; i < 2; i++) {
		enum ib_mr_type type = i ? IB_MR_TYPE_SG_GAPS : IB_MR_TYPE_MEM_REG;

		KUNIT_EXPECT_EQ(test, PTR_ERR(srnic_alloc_mr(&p->pd, type, count + 1)), -EINVAL);
		KUNIT_EXPECT_EQ(test, PTR_ERR(srnic_alloc_mr(&p->pd, type, 0)), -EINVAL);
	}
	KUNIT_EXPECT_EQ(test, PTR_ERR(srnic_alloc_mr(&p->pd, IB_MR_TYPE_INTEGRITY, 1)),
			-EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, atomic_read(&p->dev->objects.mr), 0);
	ibmr = srnic_alloc_mr(&p->pd, IB_MR_TYPE_MEM_REG, count);
	KUNIT_ASSERT_FALSE(test, IS_ERR(ibmr));
	sg_init_table(sg, count + 1);
	for (i = 0; i <= count; i++) {
		sg[i].dma_address = (uintptr_t)p->end[0].mem + (i * 5) % count * 2 * size;
		sg_dma_len(&sg[i]) = size;
	}
	KUNIT_EXPECT_EQ(test, srnic_map_mr_sg(ibmr, sg, count + 1, NULL), (int)count);
	KUNIT_EXPECT_EQ(test, ibmr->length, count * size);
	KUNIT_ASSERT_EQ(test, pair_register(p, &p->pd, ibmr->rkey, 0, count * size, 0), 0);
	mr = to_srnic_mr(ibmr);
	for (i = 0; i < count; i++) {
		struct srnic_name name = { .pd = &p->pd, .stag = mr->stag };
		struct mem_walk walk = {};

		KUNIT_ASSERT_EQ(test, mem_access(p, &name, i * size + i % size, 1, &walk),
				SRNIC_MEM_OK);
		KUNIT_ASSERT_EQ(test, (uintptr_t)walk.va[0], sg[i].dma_address + i % size);
	}
	KUNIT_EXPECT_EQ(test, srnic_dereg_mr(ibmr, NULL), 0);
}

struct long_row {
	const char	*desc;
	u32		lens[3];
	bool		adjacent; /* pieces follow each other in memory */
	int		mapped;	/* how many pieces fit */
};

static const struct long_row long_rows[] = {
	{ "most", { SZ_2G, SZ_1G, SZ_1G - 1 }, false, 3 },
	{ "one_more", { SZ_2G, SZ_1G, SZ_1G }, false, 2 },
	{ "most_adjacent", { SZ_2G, SZ_1G, SZ_1G - 1 }, true, 3 },
	{ "one_more_adjacent", { SZ_2G, SZ_1G, SZ_1G }, true, 2 },
	{ "then_none", { U32_MAX, 0, 1 }, false, 2 },
	{ "twice_2_31", { SZ_2G, SZ_2G, 1 }, false, 1 },
};

KUNIT_ARRAY_PARAM_DESC(long, long_rows, desc);

/*
 * A fast-registered region has at most 2^32 - 1 bytes, of which each is found. If the pieces have
 * more ib_map_mr_sg() maps as many as fit. There need not be memory, since no byte is accessed.
 */
static void mem_map_sg_up_to_4_gib(struct kunit *test)
{
	const struct long_row *row = test->param_value;
	struct srnic_extent map[3], pieces[3];
	struct srnic_mr mr = { .kind = SRNIC_MR_FAST, .max_extents = 3, .map = { map } };
	struct scatterlist sg[3];
	uintptr_t va = PAGE_SIZE;
	struct mem_walk last = {};
	u64 total = 0, off;
	int i;

	if (row->adjacent)
		mr.max_extents = 1;
	sg_init_table(sg, 3);
	for (i = 0; i < 3; i++) {
		pieces[i].va = (void *)va;
		sg[i].dma_address = va;
		sg_dma_len(&sg[i]) = row->lens[i];
		va += row->lens[i] + (row->adjacent ? 0 : 1);
	}
	for (i = 0; i < row->mapped; i++)
		total += row->lens[i];
	KUNIT_ASSERT_EQ(test, srnic_map_mr_sg(&mr.ibmr, sg, 3, NULL), row->mapped);
	KUNIT_EXPECT_EQ(test, mr.ibmr.length, total);
	KUNIT_ASSERT_EQ(test, srnic_target_size(&mr, 0), total);
	for (off = 0; off < total; off += SZ_512M - 1) {
		struct mem_walk walk = {};

		mem_walk(&mr, off, total - off, &walk);
		KUNIT_EXPECT_EQ(test, walk.total, total - off);
		KUNIT_EXPECT_PTR_EQ(test, (u8 *)walk.va[0], mem_slow(pieces, row->lens, 3, off));
	}
	mem_walk(&mr, total - 1, 1, &last);
	KUNIT_EXPECT_PTR_EQ(test, (u8 *)last.va[0], mem_slow(pieces, row->lens, 3, total - 1));
}

/*
 * ib_map_mr_sg() has no effect on a registration that is valid. After LOCAL_INV a REG_MR uses the
 * scatterlist that was mapped last.
 */
static void mem_register_uses_what_was_mapped_last(struct kunit *test)
{
	struct pair *p = test->priv;
	struct srnic_mr *mr = pair_fast(p, p->end[0].mem, 100, 0);
	struct srnic_name name = { .pd = &p->pd };
	const u32 index = mr->stag & ~0xff;
	struct mem_walk walk = {};
	struct scatterlist sg;

	sg_init_table(&sg, 1);
	sg.dma_address = (uintptr_t)p->end[1].mem;
	sg_dma_len(&sg) = 200;
	KUNIT_ASSERT_EQ(test, pair_register(p, &p->pd, index | 1, 0, 100, 0), 0);
	KUNIT_ASSERT_EQ(test, srnic_map_mr_sg(&mr->ibmr, &sg, 1, NULL), 1);
	name.stag = index | 1;
	KUNIT_ASSERT_EQ(test, mem_access(p, &name, 0, 1, &walk), SRNIC_MEM_OK);
	KUNIT_EXPECT_PTR_EQ(test, walk.va[0], (void *)p->end[0].mem);

	KUNIT_EXPECT_EQ(test, pair_register(p, &p->pd, index | 2, 0, 200, 0), -EINVAL);
	KUNIT_ASSERT_EQ(test, srnic_stag_invalidate(p->dev, &p->pd, index | 1, false), 0);
	KUNIT_EXPECT_EQ(test, mem_access(p, &name, 0, 1, &walk), SRNIC_MEM_STAG);
	KUNIT_EXPECT_EQ(test, pair_register(p, &p->pd, index | 2, 0, 201, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, pair_register(p, &p->other_pd, index | 2, 0, 200, 0), -EINVAL);
	KUNIT_ASSERT_EQ(test, pair_register(p, &p->pd, index | 2, 0, 200, 0), 0);
	name.stag = index | 2;
	walk.n = 0;
	KUNIT_ASSERT_EQ(test, mem_access(p, &name, 0, 1, &walk), SRNIC_MEM_OK);
	KUNIT_EXPECT_PTR_EQ(test, walk.va[0], (void *)p->end[1].mem);

	KUNIT_ASSERT_EQ(test, srnic_stag_invalidate(p->dev, &p->pd, index | 2, false), 0);
	KUNIT_ASSERT_EQ(test, pair_register(p, &p->pd, index | 3, 0, 200, 0), 0);
	name.stag = index | 3;
	walk.n = 0;
	KUNIT_ASSERT_EQ(test, mem_access(p, &name, 0, 1, &walk), SRNIC_MEM_OK);
	KUNIT_EXPECT_PTR_EQ(test, walk.va[0], (void *)p->end[1].mem);
}

static int mem_map_one(struct srnic_mr *mr, void *va, u32 len)
{
	struct scatterlist sg;

	sg_init_table(&sg, 1);
	sg.dma_address = (uintptr_t)va;
	sg_dma_len(&sg) = len;
	return srnic_map_mr_sg(&mr->ibmr, &sg, 1, NULL);
}

/* Register @len bytes of @mr by the key @key, and expect to find @va there. */
static void mem_expect_registered(struct pair *p, struct srnic_mr *mr, u8 key, void *va, u32 len)
{
	const u32 stag = (mr->stag & ~0xff) | key;
	const struct srnic_name name = { .pd = &p->pd, .stag = stag };
	struct mem_walk walk = {};

	KUNIT_ASSERT_EQ(p->test, pair_register(p, &p->pd, stag, 0, len, 0), 0);
	KUNIT_ASSERT_EQ(p->test, mem_access(p, &name, 0, len, &walk), SRNIC_MEM_OK);
	KUNIT_EXPECT_PTR_EQ(p->test, walk.va[0], va);
	KUNIT_EXPECT_EQ(p->test, walk.total, len);
}

static void mem_invalidate(struct pair *p, struct srnic_mr *mr)
{
	KUNIT_ASSERT_EQ(p->test, srnic_stag_invalidate(p->dev, &p->pd, mr->stag, false), 0);
}

/*
 * A region whose ULP invalidates it before it maps other memory has one table of extents. The first
 * ib_map_mr_sg() on the valid region adds a second table, which is kept.
 */
static void mem_second_table_only_if_mapped_while_valid(struct kunit *test)
{
	struct pair *p = test->priv;
	u8 *mem = p->end[0].mem;
	struct srnic_mr *mr = pair_fast(p, mem, 100, 0);
	const struct srnic_extent *second;
	int i;

	for (i = 1; i <= 3; i++) {
		KUNIT_ASSERT_EQ(test, mem_map_one(mr, mem + i, 100 + i), 1);
		mem_expect_registered(p, mr, i, mem + i, 100 + i);
		mem_invalidate(p, mr);
	}
	KUNIT_EXPECT_NULL(test, mr->map[1]);

	mem_expect_registered(p, mr, 4, mem + 3, 103);
	KUNIT_ASSERT_EQ(test, mem_map_one(mr, mem + 5, 105), 1);
	second = mr->map[1];
	KUNIT_EXPECT_NOT_NULL(test, second);
	mem_invalidate(p, mr);
	mem_expect_registered(p, mr, 5, mem + 5, 105);

	/* Mapped while valid, and again when invalid: what was mapped last is registered. */
	KUNIT_ASSERT_EQ(test, mem_map_one(mr, mem + 6, 106), 1);
	mem_invalidate(p, mr);
	KUNIT_ASSERT_EQ(test, mem_map_one(mr, mem + 7, 107), 1);
	mem_expect_registered(p, mr, 7, mem + 7, 107);
	KUNIT_EXPECT_PTR_EQ(test, mr->map[1], second);
}

/*
 * If there is no memory for a second table, ib_map_mr_sg() on a valid region fails with ENOMEM. The
 * region keeps its memory, and can be mapped when it is invalid, or when there is memory again.
 */
static void mem_map_valid_region_without_memory_refused(struct kunit *test)
{
	struct pair *p = test->priv;
	u8 *mem = p->end[0].mem;
	struct srnic_mr *mr = pair_fast(p, mem, 100, 0);
	struct srnic_name name = { .pd = &p->pd };
	struct mem_walk walk = {};

	KUNIT_ASSERT_EQ(test, mem_map_one(mr, mem + 1, 101), 1);
	mem_expect_registered(p, mr, 1, mem + 1, 101);
	/* No allocation is that large. */
	mr->max_extents = U32_MAX;
	KUNIT_EXPECT_EQ(test, mem_map_one(mr, mem + 2, 102), -ENOMEM);
	KUNIT_EXPECT_EQ(test, mr->ibmr.length, 101);
	KUNIT_EXPECT_EQ(test, mr->ibmr.iova, offset_in_page(mem + 1));
	name.stag = mr->stag;
	KUNIT_EXPECT_EQ(test, mem_access(p, &name, 0, 101, &walk), SRNIC_MEM_OK);
	KUNIT_EXPECT_PTR_EQ(test, walk.va[0], (void *)(mem + 1));
	mr->max_extents = 1;

	mem_invalidate(p, mr);
	mem_expect_registered(p, mr, 2, mem + 1, 101);
	mem_invalidate(p, mr);
	KUNIT_ASSERT_EQ(test, mem_map_one(mr, mem + 3, 103), 1);
	mem_expect_registered(p, mr, 3, mem + 3, 103);
	KUNIT_EXPECT_NULL(test, mr->map[1]);
	KUNIT_ASSERT_EQ(test, mem_map_one(mr, mem + 4, 104), 1);
	mem_invalidate(p, mr);
	mem_expect_registered(p, mr, 4, mem + 4, 104);
}

/*
 * A REG_MR that was posted before the last ib_map_mr_sg() must not make memory accessible: not that
 * of its own mapping, which the ULP has taken back, nor that of the new one, to which its key gives
 * no right. The ULP may invalidate it, and register the new mapping by another key. In the first
 * case of two the region was valid before, so that a second table exists.
 */
static void mem_register_of_a_former_mapping_has_no_effect(struct kunit *test)
{
	struct pair *p = test->priv;
	struct srnic_mr *mr = pair_fast(p, p->end[0].mem, 100, 0);
	u8 *mem = p->end[1].mem, key = 1;
	int i;

	for (i = 0; i < 2; i++) {
		const u32 stag = (mr->stag & ~0xff) | (key + 1);
		const struct srnic_name name = { .pd = &p->pd, .stag = stag };
		struct mem_walk walk = {};
		u32 mapping;

		KUNIT_ASSERT_EQ(test, mem_map_one(mr, mem, 100), 1);
		if (!i) {
			mem_expect_registered(p, mr, key, mem, 100);
			KUNIT_ASSERT_EQ(test, mem_map_one(mr, mem + 8, 100), 1);
		}
		mapping = mr->mapping;
		KUNIT_ASSERT_EQ(test, mem_map_one(mr, mem + 16, 40), 1);
		mem_invalidate(p, mr);
		KUNIT_EXPECT_EQ(test, srnic_stag_register(p->dev, &p->pd, stag, 0, 100, 0, mapping),
				0);
		KUNIT_EXPECT_EQ(test, mem_access(p, &name, 0, 1, &walk), SRNIC_MEM_STAG);
		KUNIT_EXPECT_EQ(test, srnic_stag_invalidate(p->dev, &p->pd, stag, false), 0);
		mem_expect_registered(p, mr, key + 2, mem + 16, 40);
		mem_invalidate(p, mr);
		key += 3;
	}
}

/* REG_MR stores the rights local write, remote write and remote read; srnic ignores all others. */
static void mem_register_keeps_rights_with_an_effect(struct kunit *test)
{
	const u32 all = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ;
	struct pair *p = test->priv;
	struct srnic_mr *mr = pair_fast(p, p->end[0].mem, 100, 0);

	KUNIT_ASSERT_EQ(test, pair_register(p, &p->pd, mr->stag, 0, 100,
					    all | IB_ACCESS_REMOTE_ATOMIC |
					    IB_ACCESS_RELAXED_ORDERING), 0);
	KUNIT_EXPECT_EQ(test, mr->access, all);
}

/* Only kernel ULPs may use SRNIC_LOCAL_DMA_LKEY, the lkey of all kernel memory */
static void mem_local_dma_lkey_for_kernel_alone(struct kunit *test)
{
	struct pair *p = test->priv;
	struct srnic_name name = {
		.pd = &p->pd, .stag = SRNIC_LOCAL_DMA_LKEY, .rights = IB_ACCESS_LOCAL_WRITE,
	};
	const u64 addr = (uintptr_t)p->end[0].mem;
	struct mem_walk walk = {};

	KUNIT_EXPECT_EQ(test, mem_access(p, &name, addr, 8, &walk), SRNIC_MEM_STAG);
	KUNIT_EXPECT_EQ(test, walk.n, 0);
	name.kernel = true;
	KUNIT_EXPECT_EQ(test, mem_access(p, &name, addr, 8, &walk), SRNIC_MEM_OK);
	KUNIT_EXPECT_PTR_EQ(test, walk.va[0], (void *)p->end[0].mem);
	name.stag ^= 1;
	KUNIT_EXPECT_EQ(test, mem_access(p, &name, addr, 8, &walk), SRNIC_MEM_STAG);
}

/* srnic_get_dma_mr() makes a region of all kernel memory, to which no peer may have a right. */
/*
 * Rules: R-8.1.1-1: EOPNOTSUPP for each right but local write, alone and together with local write
 */
static void mem_dma_region_has_no_remote_right(struct kunit *test)
{
	struct pair *p = test->priv;
	struct ib_mr *ibmr;
	int right;

	p->pd.device = &p->dev->ibdev;
	for (right = 1; right <= IB_ACCESS_HUGETLB; right <<= 1) {
		if (right == IB_ACCESS_LOCAL_WRITE)
			continue;
		KUNIT_EXPECT_EQ_MSG(test, PTR_ERR(srnic_get_dma_mr(&p->pd, right)), -EOPNOTSUPP,
				    "%#x", right);
		ibmr = srnic_get_dma_mr(&p->pd, right | IB_ACCESS_LOCAL_WRITE);
		KUNIT_EXPECT_EQ_MSG(test, PTR_ERR(ibmr), -EOPNOTSUPP, "%#x", right);
	}
	KUNIT_EXPECT_EQ(test, atomic_read(&p->dev->objects.mr), 0);
	KUNIT_EXPECT_TRUE(test, xa_empty(&p->dev->mrs));
}

/* srnic_stag_remove() makes the region invalid, too: another CPU may have found it before. */
static void mem_removed_region_is_invalid(struct kunit *test)
{
	struct pair *p = test->priv;
	struct srnic_mr *mr = pair_reg(p, &p->pd, p->end[0].mem, 0, 100, 0);

	KUNIT_EXPECT_TRUE(test, mr->valid);
	srnic_stag_remove(p->dev, mr);
	KUNIT_EXPECT_FALSE(test, mr->valid);
	KUNIT_EXPECT_EQ(test, srnic_stag_invalidate(p->dev, &p->pd, mr->stag, false),
			SRNIC_ERR_INV_STAG);
	/* A REG_MR may have found the region in the table before it was removed */
	KUNIT_ASSERT_EQ(test, xa_err(xa_store(&p->dev->mrs, mr->stag >> 8, mr, GFP_KERNEL)), 0);
	KUNIT_EXPECT_EQ(test, pair_register(p, &p->pd, mr->stag, 0, 100, 0), -EINVAL);
	KUNIT_EXPECT_FALSE(test, mr->valid);
	xa_erase(&p->dev->mrs, mr->stag >> 8);
	kfree(mr->map[0]);
	kfree(mr->map[1]);
	kfree(mr);
}

/* Only fast-registered regions can be invalidated, not those of ibv_reg_mr(), nor DMA regions. */
/* Rules: R-8.1.1-7: the error, and that both regions stay valid */
static void mem_invalidate_user_and_dma_regions_refused(struct kunit *test)
{
	static const enum srnic_mr_kind kinds[] = { SRNIC_MR_DMA, SRNIC_MR_USER };
	const u32 all = IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE;
	struct pair *p = test->priv;
	int i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct srnic_mr *mr = pair_reg(p, &p->pd, p->end[0].mem, 0, 100, all);

		mr->kind = kinds[i];
		KUNIT_EXPECT_EQ(test, srnic_stag_invalidate(p->dev, &p->pd, mr->stag, true),
				SRNIC_ERR_INV_STAG);
		KUNIT_EXPECT_EQ(test, srnic_stag_invalidate(p->dev, &p->pd, mr->stag, false),
				SRNIC_ERR_INV_STAG);
		KUNIT_EXPECT_TRUE(test, mr->valid);
		mr->kind = SRNIC_MR_FAST;
	}
}

/*
 * LOCAL_INV of a region that the peer's Send has invalidated succeeds. It fails, as for a valid
 * region, if the key, the protection domain or the kind of region is wrong.
 */
static void mem_invalidate_what_is_invalid_succeeds(struct kunit *test)
{
	struct pair *p = test->priv;
	struct srnic_mr *mr = pair_reg(p, &p->pd, p->end[0].mem, 0, 100, IB_ACCESS_REMOTE_READ);

	KUNIT_ASSERT_EQ(test, srnic_stag_invalidate(p->dev, &p->pd, mr->stag, true),
			SRNIC_ERR_NONE);
	KUNIT_EXPECT_EQ(test, srnic_stag_invalidate(p->dev, &p->pd, mr->stag, false), 0);
	KUNIT_EXPECT_FALSE(test, mr->valid);
	KUNIT_EXPECT_EQ(test, srnic_stag_invalidate(p->dev, &p->pd, mr->stag ^ 1, false),
			SRNIC_ERR_INV_STAG);
	KUNIT_EXPECT_EQ(test, srnic_stag_invalidate(p->dev, &p->other_pd, mr->stag, false),
			SRNIC_ERR_INV_FOREIGN);
	/* A Send that invalidates a region which is invalid already is an error of the peer. */
	KUNIT_EXPECT_EQ(test, srnic_stag_invalidate(p->dev, &p->pd, mr->stag, true),
			SRNIC_ERR_INV_STAG);
}

/* If srnic_map_mr_sg() cannot map a list the region stays as it was. */
static void mem_map_sg_of_nothing_refused(struct kunit *test)
{
	struct pair *p = test->priv;
	struct srnic_mr *mr = pair_fast(p, p->end[0].mem, 100, 0);
	unsigned int skip = 101;
	struct scatterlist sg;

	sg_init_table(&sg, 1);
	sg.dma_address = (uintptr_t)p->end[0].mem;
	sg_dma_len(&sg) = 100;
	KUNIT_EXPECT_EQ(test, srnic_map_mr_sg(&mr->ibmr, &sg, 1, &skip), -EINVAL);
	KUNIT_EXPECT_EQ(test, srnic_map_mr_sg(&mr->ibmr, &sg, 0, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, srnic_map_mr_sg(&mr->ibmr, &sg, -1, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, srnic_target_size(mr, 0), 100);
	KUNIT_EXPECT_EQ(test, skip, 101);
	KUNIT_EXPECT_EQ(test, mr->ibmr.length, 0);
	skip = 100;
	KUNIT_EXPECT_EQ(test, srnic_map_mr_sg(&mr->ibmr, &sg, 1, &skip), 1);
	KUNIT_EXPECT_EQ(test, mr->ibmr.length, 0);
	skip = 99;
	KUNIT_EXPECT_EQ(test, srnic_map_mr_sg(&mr->ibmr, &sg, 1, &skip), 1);
	KUNIT_EXPECT_EQ(test, mr->ibmr.length, 1);
	KUNIT_EXPECT_EQ(test, srnic_target_size(mr, 0), 1);
}

/*
 * srnic_stag_is_possible() accepts the address and the length of an application's memory, of 64
 * bits each, if the last byte is at the greatest address of a kernel with 32 or 64 bits, or below.
 */
static void mem_of_an_application_where_it_can_be(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, srnic_stag_is_possible(0, 1, U32_MAX));
	KUNIT_EXPECT_TRUE(test, srnic_stag_is_possible(0x1000, 0xfffff000, U32_MAX));
	KUNIT_EXPECT_FALSE(test, srnic_stag_is_possible(0x1000, 0xfffff001, U32_MAX));
	KUNIT_EXPECT_FALSE(test, srnic_stag_is_possible(0x1000, 0x100001000, U32_MAX));
	KUNIT_EXPECT_TRUE(test, srnic_stag_is_possible(U32_MAX, 1, U32_MAX));
	KUNIT_EXPECT_FALSE(test, srnic_stag_is_possible(0x100000000, 1, U32_MAX));
	KUNIT_EXPECT_TRUE(test, srnic_stag_is_possible(0x100000000, 0x100001000, U64_MAX));
	KUNIT_EXPECT_TRUE(test, srnic_stag_is_possible(1, U64_MAX, U64_MAX));
	KUNIT_EXPECT_FALSE(test, srnic_stag_is_possible(2, U64_MAX, U64_MAX));
}

static struct kunit_case memory_cases[] = {
	KUNIT_CASE(mem_stags_of_many_regions_no_pattern),
	KUNIT_CASE_PARAM(mem_walk_blocks_each_octet_where_it_is, mem_shift_gen_params),
	KUNIT_CASE(mem_map_sg_any_pieces_walked_in_order),
	KUNIT_CASE(mem_map_sg_too_many_pieces_as_many_as_fit),
	KUNIT_CASE(mem_fast_region_has_512_pieces),
	KUNIT_CASE_PARAM(mem_map_sg_up_to_4_gib, long_gen_params),
	KUNIT_CASE(mem_register_uses_what_was_mapped_last),
	KUNIT_CASE(mem_second_table_only_if_mapped_while_valid),
	KUNIT_CASE(mem_map_valid_region_without_memory_refused),
	KUNIT_CASE(mem_register_of_a_former_mapping_has_no_effect),
	KUNIT_CASE(mem_register_keeps_rights_with_an_effect),
	KUNIT_CASE(mem_local_dma_lkey_for_kernel_alone),
	KUNIT_CASE(mem_dma_region_has_no_remote_right),
	KUNIT_CASE(mem_removed_region_is_invalid),
	KUNIT_CASE(mem_invalidate_user_and_dma_regions_refused),
	KUNIT_CASE(mem_invalidate_what_is_invalid_succeeds),
	KUNIT_CASE(mem_map_sg_of_nothing_refused),
	KUNIT_CASE(mem_of_an_application_where_it_can_be),
	{}
};

static struct kunit_suite memory_suite = {
	.name = "srnic_memory",
	.init = pair_init,
	.exit = pair_exit,
	.test_cases = memory_cases,
};

kunit_test_suite(memory_suite);

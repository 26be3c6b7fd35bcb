// SPDX-License-Identifier: GPL-2.0
/*
 * RX holds a region: it keeps the region found for one DDP segment, with the region's lock taken,
 * for the next DDP segments, so as not to look up their STag. These tests show that RX still checks
 * each segment, what ends a hold, and that nothing of a hold remains after its end.
 */

#include <kunit/test.h>

#include <linux/lockdep.h>
#include <linux/preempt.h>
#include <linux/scatterlist.h>
#include <linux/string.h>

#include "../srnic/mem.h"	/* srnic's, by its path: user mode Linux has a mem.h, too */
#include "srnic_pair.h"

#define HOLD_BASE	0x100000ULL
#define HOLD_SIZE	1000U
#define HOLD_RIGHT	IB_ACCESS_REMOTE_WRITE

/* A region whose lock RX keeps from one segment to the next */
struct hold_world {
	struct pair		*p;
	struct srnic_mr		*mr;
	struct srnic_name	name;	/* STag and rights by which the region was found */
	struct srnic_hold	hold;
};

static enum srnic_mem_fault hold_at(struct hold_world *w, u64 off, u32 len)
{
	return srnic_hold_at(w->p->dev, &w->hold, &w->name, HOLD_BASE + off, len);
}

static void hold_begin(struct kunit *test, struct hold_world *w)
{
	struct pair *p = test->priv;

	*w = (struct hold_world) { .p = p };
	w->mr = pair_reg(p, &p->pd, p->end[0].mem, HOLD_BASE, HOLD_SIZE, HOLD_RIGHT);
	w->name = (struct srnic_name) {
		.pd = &p->pd, .stag = w->mr->stag, .rights = HOLD_RIGHT,
	};
	KUNIT_ASSERT_EQ(test, hold_at(w, 0, 4), SRNIC_MEM_OK);
}

/* Expect that the hold, the region's lock and softirqs agree on whether the region is held. */
static void hold_expect(struct kunit *test, const struct hold_world *w, bool held)
{
	KUNIT_EXPECT_EQ(test, !!w->hold.mr, held);
	KUNIT_EXPECT_EQ(test, !!softirq_count(), held);
	if (IS_ENABLED(CONFIG_LOCKDEP))
		KUNIT_EXPECT_EQ(test, !!lockdep_is_held(&w->mr->lock), held);
}

static void hold_end(struct kunit *test, struct hold_world *w)
{
	srnic_hold_drop(&w->hold);
	srnic_hold_drop(&w->hold);
	hold_expect(test, w, false);
}

/* While RX holds a region, too, each range is checked. A range out of bounds ends the hold. */
static const struct hold_range {
	const char		*desc;
	u64			off;
	u32			len;
	enum srnic_mem_fault	fault;
} hold_ranges[] = {
	{ "all", 0, HOLD_SIZE, SRNIC_MEM_OK },
	{ "last byte", HOLD_SIZE - 1, 1, SRNIC_MEM_OK },
	{ "nothing at the end", HOLD_SIZE, 0, SRNIC_MEM_OK },
	{ "one too many", 0, HOLD_SIZE + 1, SRNIC_MEM_BOUNDS },
	{ "after", HOLD_SIZE, 1, SRNIC_MEM_BOUNDS },
	{ "before", -1ULL, 1, SRNIC_MEM_BOUNDS },
	{ "address wraps", -1ULL - HOLD_BASE, 2, SRNIC_MEM_WRAP },
};

KUNIT_ARRAY_PARAM_DESC(hold_range, hold_ranges, desc);

static void hold_range_of_each_segment(struct kunit *test)
{
	const struct hold_range *row = test->param_value;
	struct hold_world w;

	hold_begin(test, &w);
	hold_expect(test, &w, true);
	KUNIT_EXPECT_EQ(test, hold_at(&w, row->off, row->len), row->fault);
	hold_expect(test, &w, row->fault == SRNIC_MEM_OK);
	hold_end(test, &w);
}

/*
 * RX holds a region (keeps its lock) for later segments. For an access with another STag,
 * protection domain or other rights than those for which RX holds it, a region is looked up again.
 */
enum hold_differs {
	DIFFERS_STAG,
	DIFFERS_PD,
	DIFFERS_RIGHTS,
	DIFFERS_NOBODY,
};

static const struct hold_name {
	const char		*desc;
	enum hold_differs	differs;
	enum srnic_mem_fault	fault;
} hold_names[] = {
	{ "STag", DIFFERS_STAG, SRNIC_MEM_STAG },
	{ "protection domain", DIFFERS_PD, SRNIC_MEM_PD },
	{ "right", DIFFERS_RIGHTS, SRNIC_MEM_RIGHT },
	{ "none", DIFFERS_NOBODY, SRNIC_MEM_OK },
};

KUNIT_ARRAY_PARAM_DESC(hold_name, hold_names, desc);

static void hold_name_of_each_segment(struct kunit *test)
{
	const struct hold_name *row = test->param_value;
	struct hold_world w;

	hold_begin(test, &w);
	w.name.stag ^= row->differs == DIFFERS_STAG;
	if (row->differs == DIFFERS_PD)
		w.name.pd = &w.p->other_pd;
	if (row->differs == DIFFERS_RIGHTS)
		w.name.rights = IB_ACCESS_REMOTE_READ;
	KUNIT_EXPECT_EQ(test, hold_at(&w, 4, 4), row->fault);
	hold_expect(test, &w, row->fault == SRNIC_MEM_OK);
	hold_end(test, &w);
}

/*
 * SRNIC_LOCAL_DMA_LKEY, the lkey of all kernel memory, has no region, so for an access by it RX
 * holds (keeps locked) no region, and releases the one that it has held.
 */
static void hold_of_all_memory_holds_nothing(struct kunit *test)
{
	struct hold_world w;
	u8 byte = 0;

	hold_begin(test, &w);
	w.p->end[1].mem[7] = 0x5a;
	w.name.stag = SRNIC_LOCAL_DMA_LKEY;
	w.name.kernel = true;
	KUNIT_EXPECT_EQ(test, srnic_hold_at(w.p->dev, &w.hold, &w.name,
					    (uintptr_t)w.p->end[1].mem + 7, 1), SRNIC_MEM_OK);
	hold_expect(test, &w, false);
	srnic_hold_read(&w.hold, &byte, 1);
	KUNIT_EXPECT_EQ(test, byte, 0x5a);
	hold_end(test, &w);
}

/* Another CPU waits to change the region (@closed): even an FPDU without payload ends the hold. */
static void hold_ends_before_the_next_fpdu_for_a_change(struct kunit *test)
{
	struct hold_world w;

	hold_begin(test, &w);
	srnic_hold_yield(&w.hold, 0);
	hold_expect(test, &w, true);
	WRITE_ONCE(w.mr->closed, true);
	srnic_hold_yield(&w.hold, 0);
	hold_expect(test, &w, false);
	WRITE_ONCE(w.mr->closed, false);
	hold_end(test, &w);
}

/* Another CPU waits to change the region (@closed): the next access looks the region up again. */
static void hold_ends_before_the_next_access_for_a_change(struct kunit *test)
{
	struct hold_world w;

	hold_begin(test, &w);
	w.mr->valid = false;
	WRITE_ONCE(w.mr->closed, true);
	KUNIT_EXPECT_EQ(test, hold_at(&w, 4, 4), SRNIC_MEM_STAG);
	hold_expect(test, &w, false);
	WRITE_ONCE(w.mr->closed, false);
	hold_end(test, &w);
}

/*
 * RX holds (keeps locked) a region with softirqs off, so it releases the region after
 * SRNIC_MEM_HOLD bytes, counted from the first FPDU that uses the region. An FPDU that is shorter
 * than SRNIC_FPDU_COST bytes counts as SRNIC_FPDU_COST bytes.
 */
static const struct hold_quota {
	const char	*desc;
	u32		bytes;		/* of each FPDU */
	int		fpdus;		/* before the one that ends the hold */
} hold_quotas[] = {
	{ "empty", 0, SRNIC_MEM_HOLD / SRNIC_FPDU_COST - 2 },
	{ "one byte", 1, SRNIC_MEM_HOLD / SRNIC_FPDU_COST - 2 },
	{ "1 KiB", SZ_1K, SRNIC_MEM_HOLD / SZ_1K - 2 },
	{ "the longest", 65536, 0 },
};

KUNIT_ARRAY_PARAM_DESC(hold_quota, hold_quotas, desc);

/*
 * srnic_hold_spend() returns true if RX may use the region that it holds (keeps locked) for another
 * FPDU without a look-up. It returns false for the FPDU that uses up the bytes for which a region
 * may be held.
 */
static void hold_goes_on_as_long_as_the_quota(struct kunit *test)
{
	const struct hold_quota *row = test->param_value;
	const s32 cost = max_t(u32, row->bytes, SRNIC_FPDU_COST);
	struct hold_world w;
	int n;

	hold_begin(test, &w);
	srnic_hold_drop(&w.hold);
	srnic_hold_yield(&w.hold, row->bytes);
	KUNIT_ASSERT_EQ(test, hold_at(&w, 4, 4), SRNIC_MEM_OK);
	for (n = 0; n < row->fpdus; n++)
		KUNIT_ASSERT_TRUE(test, srnic_hold_spend(&w.hold, cost));
	KUNIT_EXPECT_FALSE(test, srnic_hold_spend(&w.hold, cost));
	hold_expect(test, &w, true);
	srnic_hold_yield(&w.hold, row->bytes);
	hold_expect(test, &w, false);
	hold_end(test, &w);
}

static void hold_does_not_go_on_behind_a_closed_gate(struct kunit *test)
{
	struct hold_world w;

	hold_begin(test, &w);
	KUNIT_EXPECT_TRUE(test, srnic_hold_spend(&w.hold, 4));
	WRITE_ONCE(w.hold.mr->closed, true);
	KUNIT_EXPECT_FALSE(test, srnic_hold_spend(&w.hold, 4));
	WRITE_ONCE(w.hold.mr->closed, false);
	KUNIT_EXPECT_TRUE(test, srnic_hold_spend(&w.hold, 4));
	hold_end(test, &w);
}

static void hold_ends_with_the_quota(struct kunit *test)
{
	const struct hold_quota *row = test->param_value;
	struct hold_world w;
	int n, round;

	hold_begin(test, &w);
	srnic_hold_drop(&w.hold);
	for (round = 0; round < 2; round++) {
		srnic_hold_yield(&w.hold, row->bytes);
		KUNIT_ASSERT_EQ(test, hold_at(&w, 4, 4), SRNIC_MEM_OK);
		for (n = 0; n < row->fpdus; n++) {
			srnic_hold_yield(&w.hold, row->bytes);
			KUNIT_ASSERT_EQ(test, hold_at(&w, 4, 4), SRNIC_MEM_OK);
		}
		hold_expect(test, &w, true);
		srnic_hold_yield(&w.hold, row->bytes);
		hold_expect(test, &w, false);
	}
	hold_end(test, &w);
}

/*
 * srnic releases a region that it held (kept locked), and the region is registered with other
 * memory under the same STag. A read at the address after the bytes that were read before must get
 * bytes of the new memory.
 */
static void hold_begins_anew_in_other_memory(struct kunit *test)
{
	struct hold_world w;
	struct scatterlist sg;
	u8 bytes[8];

	hold_begin(test, &w);
	memset(w.p->end[0].mem, 0x11, HOLD_SIZE);
	memset(w.p->end[1].mem, 0x22, HOLD_SIZE);
	srnic_hold_read(&w.hold, bytes, 4);
	KUNIT_ASSERT_EQ(test, hold_at(&w, 4, 4), SRNIC_MEM_OK);
	WRITE_ONCE(w.mr->closed, true);
	srnic_hold_yield(&w.hold, 4);
	WRITE_ONCE(w.mr->closed, false);
	hold_expect(test, &w, false);
	KUNIT_ASSERT_EQ(test, srnic_stag_invalidate(w.p->dev, &w.p->pd, w.name.stag, false), 0);
	sg_init_table(&sg, 1);
	sg.dma_address = (uintptr_t)w.p->end[1].mem;
	sg_dma_len(&sg) = HOLD_SIZE;
	KUNIT_ASSERT_EQ(test, srnic_map_mr_sg(&w.mr->ibmr, &sg, 1, NULL), 1);
	KUNIT_ASSERT_EQ(test, pair_register(w.p, &w.p->pd, w.name.stag, HOLD_BASE,
					    HOLD_SIZE, HOLD_RIGHT), 0);
	KUNIT_ASSERT_EQ(test, hold_at(&w, 4, 4), SRNIC_MEM_OK);
	srnic_hold_read(&w.hold, bytes + 4, 4);
	hold_end(test, &w);
	KUNIT_EXPECT_PTR_EQ(test, memchr_inv(bytes, 0x11, 4), NULL);
	KUNIT_EXPECT_PTR_EQ(test, memchr_inv(bytes + 4, 0x22, 4), NULL);
}

static struct kunit_case hold_cases[] = {
	KUNIT_CASE_PARAM(hold_range_of_each_segment, hold_range_gen_params),
	KUNIT_CASE_PARAM(hold_name_of_each_segment, hold_name_gen_params),
	KUNIT_CASE(hold_of_all_memory_holds_nothing),
	KUNIT_CASE(hold_ends_before_the_next_fpdu_for_a_change),
	KUNIT_CASE(hold_ends_before_the_next_access_for_a_change),
	KUNIT_CASE_PARAM(hold_ends_with_the_quota, hold_quota_gen_params),
	KUNIT_CASE_PARAM(hold_goes_on_as_long_as_the_quota, hold_quota_gen_params),
	KUNIT_CASE(hold_does_not_go_on_behind_a_closed_gate),
	KUNIT_CASE(hold_begins_anew_in_other_memory),
	{}
};

static struct kunit_suite hold_suite = {
	.name = "srnic_hold",
	.init = pair_init,
	.exit = pair_exit,
	.test_cases = hold_cases,
};

kunit_test_suite(hold_suite);

// SPDX-License-Identifier: GPL-2.0
/* Page fragments in which srnic builds FPDUs: when one can be used again, and when it is freed */

#include <kunit/test.h>

#include <linux/mm.h>
#include <net/sock.h>

#include "fpdu.h"

#define FRAG_ROW	8	/* as in fpdu.c: fragments that each CPU caches */

/* Page fragments of a test */
struct frag_test {
	struct page_frag	frag;	/* the fragment in which the sender builds FPDUs */
	/* pages on which TCP would have a reference */
	struct page		*held[FRAG_ROW + 2];
	unsigned int		n;	/* number of elements of @held */
};

static int frag_init(struct kunit *test)
{
	struct frag_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, t);
	srnic_frag_exit();
	test->priv = t;
	return 0;
}

static void frag_exit(struct kunit *test)
{
	struct frag_test *t = test->priv;

	while (t && t->n)
		put_page(t->held[--t->n]);
	srnic_frag_exit();
}

/* Use up a whole fragment, and take a reference on its page, as TCP does for retransmissions. */
static struct page *frag_fill(struct kunit *test)
{
	struct frag_test *t = test->priv;

	KUNIT_ASSERT_TRUE(test, srnic_frag_refill(&t->frag));
	KUNIT_ASSERT_EQ(test, t->frag.offset, 0);
	KUNIT_ASSERT_EQ(test, t->frag.size, PAGE_SIZE << SKB_FRAG_PAGE_ORDER);
	t->frag.offset = t->frag.size;
	get_page(t->frag.page);
	t->held[t->n++] = t->frag.page;
	return t->frag.page;
}

/* Drop the references that TCP would have until the peer has acknowledged all bytes. */
static void frag_acked(struct kunit *test)
{
	struct frag_test *t = test->priv;

	while (t->n)
		put_page(t->held[--t->n]);
}

static void frag_is_used_again_when_it_is_free(struct kunit *test)
{
	struct frag_test *t = test->priv;
	struct page *page[3];
	int i;

	for (i = 0; i < 3; i++)
		page[i] = frag_fill(test);
	KUNIT_EXPECT_PTR_NE(test, page[0], page[1]);
	KUNIT_EXPECT_PTR_NE(test, page[0], page[2]);
	KUNIT_EXPECT_PTR_NE(test, page[1], page[2]);

	frag_acked(test);
	/*
	 * All three page fragments are free. The sender first uses its current fragment, page[2],
	 * again; then the others, the oldest first.
	 */
	KUNIT_EXPECT_PTR_EQ(test, frag_fill(test), page[2]);
	KUNIT_EXPECT_PTR_EQ(test, frag_fill(test), page[0]);
	KUNIT_EXPECT_PTR_EQ(test, frag_fill(test), page[1]);
	srnic_frag_give(&t->frag);
}

static void frag_waits_for_the_oldest(struct kunit *test)
{
	struct frag_test *t = test->priv;
	struct page *page[3], *next;
	int i;

	for (i = 0; i < 3; i++)
		page[i] = frag_fill(test);
	/* The peer has acknowledged the bytes in the second page, but not those in the first. */
	put_page(page[1]);
	t->held[1] = page[2];
	t->n = 2;
	next = frag_fill(test);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_PTR_NE(test, next, page[i]);
	srnic_frag_give(&t->frag);
}

static void frag_row_gives_back_the_oldest(struct kunit *test)
{
	struct frag_test *t = test->priv;
	struct page *first = frag_fill(test);
	int i;

	for (i = 0; i < FRAG_ROW; i++)
		frag_fill(test);
	KUNIT_EXPECT_EQ(test, page_ref_count(first), 2);
	srnic_frag_give(&t->frag);
	KUNIT_EXPECT_EQ(test, page_ref_count(first), 1);
	KUNIT_EXPECT_PTR_EQ(test, t->frag.page, NULL);
}

static void frag_newest_goes_on(struct kunit *test)
{
	struct frag_test *t = test->priv;
	struct page *page;

	frag_fill(test);
	page = frag_fill(test);
	t->frag.offset = 1000;
	srnic_frag_give(&t->frag);
	srnic_frag_take(&t->frag);
	KUNIT_EXPECT_PTR_EQ(test, t->frag.page, page);
	KUNIT_EXPECT_EQ(test, t->frag.offset, 1000);
	KUNIT_ASSERT_TRUE(test, srnic_frag_refill(&t->frag));
	KUNIT_EXPECT_EQ(test, t->frag.offset, 1000);
	srnic_frag_give(&t->frag);
}

static void frag_of_reserves_is_not_kept(struct kunit *test)
{
	struct frag_test *t = test->priv;
	struct page *page = frag_fill(test);

	set_page_pfmemalloc(page);
	srnic_frag_give(&t->frag);
	KUNIT_EXPECT_EQ(test, page_ref_count(page), 1);
	clear_page_pfmemalloc(page);
	srnic_frag_take(&t->frag);
	KUNIT_EXPECT_PTR_EQ(test, t->frag.page, NULL);
}

static void frag_of_one_page_is_not_kept(struct kunit *test)
{
	struct frag_test *t = test->priv;
	struct page *page = alloc_page(GFP_KERNEL);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, page);
	get_page(page);
	t->held[t->n++] = page;
	t->frag = (struct page_frag) { .page = page, .size = PAGE_SIZE };
	srnic_frag_give(&t->frag);
	KUNIT_EXPECT_EQ(test, page_ref_count(page), 1);
	srnic_frag_take(&t->frag);
	KUNIT_EXPECT_PTR_EQ(test, t->frag.page, NULL);
}

static struct kunit_case frag_cases[] = {
	KUNIT_CASE(frag_is_used_again_when_it_is_free),
	KUNIT_CASE(frag_waits_for_the_oldest),
	KUNIT_CASE(frag_row_gives_back_the_oldest),
	KUNIT_CASE(frag_newest_goes_on),
	KUNIT_CASE(frag_of_reserves_is_not_kept),
	KUNIT_CASE(frag_of_one_page_is_not_kept),
	{}
};

static struct kunit_suite frag_suite = {
	.name		= "srnic_frag",
	.init		= frag_init,
	.exit		= frag_exit,
	.test_cases	= frag_cases,
};

kunit_test_suite(frag_suite);

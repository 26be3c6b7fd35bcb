// SPDX-License-Identifier: GPL-2.0
/*
 * srnic checks the memory region of a message for each segment anew. In the middle of a message the
 * ULP invalidates or deregisters the region, or registers it again with other memory, another key,
 * right or size: after that srnic accesses no byte of the region's old memory.
 */

#include <kunit/test.h>

#include <linux/scatterlist.h>
#include <linux/string.h>
#include <linux/unaligned.h>

#include "state.h"
#include "rq.h"
#include "srnic_oracle.h"
#include "srnic_pair_tcp.h"
#include "../srnic/mem.h"	/* with a path, since user mode Linux has a mem.h, too */

#define RIGHTS_BASE	0x123400000000ULL
#define RIGHTS_LEN	30000U	/* bytes of a message, and of each piece of memory */
#define RIGHTS_EMSS	134U		/* so the message needs more than one batch */
#define RIGHTS_SIZE	300U		/* bytes of the region after CHANGE_SIZE */
#define RIGHTS_FPDUS	10		/* FPDUs that arrive before the change */
#define RIGHTS_ALL	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ)
#define RIGHTS_UNTOUCHED 0xee
#define RIGHTS_REFILLED	0xdd

static const struct pair_opts rights_opts = { .crc = true, .emss = RIGHTS_EMSS, .ord = 2 };

/* Changes of the memory region in the middle of the message */
enum rights_change {
	CHANGE_INVALID,		/* invalidated */
	CHANGE_KEY,		/* invalidated, and registered with another key */
	CHANGE_RIGHT,		/* invalidated, and registered without the needed right */
	CHANGE_SIZE,		/* invalidated, and registered with a smaller size */
	CHANGE_MAP,		/* invalidated, and registered with other memory */
	CHANGE_PD,		/* the region is of another protection domain */
	CHANGE_GONE,		/* deregistered */
	CHANGE_COUNT
};

/* What a message uses the memory region for. Its payload goes from end 0 to end 1 of the pair. */
enum rights_use {
	USE_WRITE,		/* the target of a Write */
	USE_RECV,		/* the receive of a Send */
	USE_SINK,		/* the sink of a Read */
	USE_SOURCE,		/* the source of a Read */
	USE_SEND,		/* an SGE of a Send */
	USE_COUNT
};

static bool rights_use_is_rx(enum rights_use use)
{
	return use <= USE_SINK;
}

/*
 * Expected errors, one for each pair of enum rights_use and enum rights_change. An SGE of a Send
 * needs no access right, so for USE_SEND the change CHANGE_RIGHT is no error.
 */
static const u8 rights_errs[USE_COUNT * CHANGE_COUNT] = {
	/* Write */
	SRNIC_ERR_WRITE_STAG, SRNIC_ERR_WRITE_STAG, SRNIC_ERR_WRITE_RIGHT,
	SRNIC_ERR_WRITE_BOUNDS, SRNIC_ERR_NONE, SRNIC_ERR_WRITE_PD,
	SRNIC_ERR_WRITE_STAG,
	/* receive */
	SRNIC_ERR_LOCAL, SRNIC_ERR_LOCAL, SRNIC_ERR_LOCAL, SRNIC_ERR_LOCAL,
	SRNIC_ERR_NONE, SRNIC_ERR_LOCAL, SRNIC_ERR_LOCAL,
	/* sink */
	SRNIC_ERR_RESP_STAG, SRNIC_ERR_RESP_STAG, SRNIC_ERR_RESP_STAG,
	SRNIC_ERR_RESP_BOUNDS, SRNIC_ERR_NONE, SRNIC_ERR_RESP_PD, SRNIC_ERR_RESP_STAG,
	/* source */
	SRNIC_ERR_READ_STAG, SRNIC_ERR_READ_STAG, SRNIC_ERR_READ_RIGHT,
	SRNIC_ERR_READ_BOUNDS, SRNIC_ERR_NONE, SRNIC_ERR_READ_PD, SRNIC_ERR_READ_STAG,
	/* Send */
	SRNIC_ERR_LOCAL, SRNIC_ERR_LOCAL, SRNIC_ERR_NONE, SRNIC_ERR_LOCAL,
	SRNIC_ERR_NONE, SRNIC_ERR_LOCAL, SRNIC_ERR_LOCAL,
};

/* A region, and the memory at the other end of the message */
struct rights {
	struct pair	*p;
	enum rights_use	use;	/* what the message uses the region for */
	struct ib_mr	*mr;
	u32		key;	/* STag of the region */
	u8		*old;	/* memory of the region before the change */
	/* memory of the region after CHANGE_MAP */
	u8		*new;
	u8		*far;	/* memory of the message at the other end */
};

static void rights_fill(u8 *mem, u8 seed)
{
	u32 i;

	for (i = 0; i < RIGHTS_LEN; i++)
		mem[i] = (i * 7 + (i >> 8)) ^ seed;
}

/* Post REG_MR or LOCAL_INV at end 1, which is not sending the message, and execute it */
static void rights_do(struct rights *r, const struct ib_send_wr *wr)
{
	KUNIT_ASSERT_EQ(r->p->test, pair_post(&r->p->end[1], wr), 0);
	pair_send(r->p, 1);
}

static void rights_register(struct rights *r, u32 key, u8 *mem, u32 len, int access)
{
	struct ib_reg_wr reg = {
		.wr = { .opcode = IB_WR_REG_MR }, .mr = r->mr, .key = key, .access = access,
	};
	struct scatterlist sg;

	sg_init_table(&sg, 1);
	sg.dma_address = (uintptr_t)mem;
	sg_dma_len(&sg) = len;
	KUNIT_ASSERT_EQ(r->p->test, srnic_verbs.map_mr_sg(r->mr, &sg, 1, NULL), 1);
	r->mr->iova = RIGHTS_BASE;
	rights_do(r, &reg.wr);
}

static void rights_invalidate(struct rights *r)
{
	const struct ib_send_wr inv = {
		.opcode = IB_WR_LOCAL_INV, .ex.invalidate_rkey = r->key,
	};

	rights_do(r, &inv);
}

/*
 * Change the memory region as the ULP might do on another CPU, in the middle of a message. Then
 * fill the region's old memory with other bytes, as its new owner would, unless a Send may still
 * read it.
 */
static void rights_change(struct rights *r, enum rights_change change)
{
	if (change == CHANGE_PD) {
		r->mr->pd = &r->p->other_pd;
	} else if (change == CHANGE_GONE) {
		KUNIT_ASSERT_EQ(r->p->test, srnic_verbs.dereg_mr(r->mr, NULL), 0);
	} else {
		rights_invalidate(r);
		if (change != CHANGE_INVALID)
			rights_register(r, r->key ^ (change == CHANGE_KEY),
					change == CHANGE_MAP ? r->new : r->old,
					change == CHANGE_SIZE ? RIGHTS_SIZE : RIGHTS_LEN,
					change == CHANGE_RIGHT ? 0 : RIGHTS_ALL);
	}
	if (r->use != USE_SEND || change != CHANGE_RIGHT)
		memset(r->old, RIGHTS_REFILLED, RIGHTS_LEN);
}

static struct rights *rights_begin(struct kunit *test, enum rights_use use)
{
	struct rights *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);
	struct pair *p = test->priv;
	bool rx = rights_use_is_rx(use);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, r);
	pair_start(p, &rights_opts);
	p->pd.device = &p->dev->ibdev;
	r->p = p;
	r->use = use;
	r->mr = srnic_verbs.alloc_mr(&p->pd, IB_MR_TYPE_MEM_REG, 1);
	KUNIT_ASSERT_FALSE(test, IS_ERR(r->mr));
	r->key = r->mr->rkey;
	r->old = p->end[rx].mem;
	r->new = r->old + RIGHTS_LEN;
	r->far = p->end[!rx].mem;
	rights_register(r, r->key, r->old, RIGHTS_LEN, RIGHTS_ALL);
	memset(p->end[1].mem, RIGHTS_UNTOUCHED, PAIR_MEM);
	if (rx) {
		rights_fill(r->far, 0);
	} else {
		rights_fill(r->old, 0);
		rights_fill(r->new, 0xff);
	}
	return r;
}

static struct ib_sge rights_sge(const struct rights *r)
{
	return (struct ib_sge) { .addr = RIGHTS_BASE, .length = RIGHTS_LEN, .lkey = r->key };
}

static struct ib_sge rights_far_sge(const struct rights *r)
{
	return pair_sge(r->far, RIGHTS_LEN);
}

static void rights_post_recv(struct pair_end *e, u64 id, struct ib_sge *sge)
{
	const struct ib_recv_wr recv = { .wr_id = id, .sg_list = sge, .num_sge = 1 }, *bad;

	WARN_ON(srnic_rq_post(&e->qp->rq, &recv, 1, &bad));
}

/* Post a message that uses the region as @r->use says */
static void rights_post(struct rights *r, u64 id)
{
	struct ib_sge sge = rights_sge(r), far = rights_far_sge(r);
	bool reads = r->use == USE_SINK || r->use == USE_SOURCE;
	struct pair *p = r->p;
	struct ib_rdma_wr wr = {
		.wr = { .wr_id = id, .num_sge = 1, .send_flags = IB_SEND_SIGNALED },
		.remote_addr = RIGHTS_BASE, .rkey = r->key,
	};

	wr.wr.sg_list = r->use == USE_SINK || r->use == USE_SEND ? &sge : &far;
	wr.wr.opcode = reads ? IB_WR_RDMA_READ : IB_WR_SEND;
	if (r->use == USE_WRITE)
		wr.wr.opcode = IB_WR_RDMA_WRITE;
	if (r->use == USE_SINK) {
		wr.rkey = pair_reg(p, &p->pd, r->far, RIGHTS_BASE, RIGHTS_LEN,
				   IB_ACCESS_REMOTE_READ)->stag;
	}
	if (r->use == USE_RECV)
		rights_post_recv(&p->end[1], id, &sge);
	if (r->use == USE_SEND)
		rights_post_recv(&p->end[1], id, &far);
	KUNIT_ASSERT_EQ(p->test, pair_post(&p->end[reads], &wr.wr), 0);
	if (!reads)
		return;
	pair_send(p, 1);
	pair_deliver(p, 1);
}

/*
 * Return the number of bytes of the first @n FPDUs on the wire, or of all FPDUs if @n is -1.
 * @payload is set to the number of bytes of payload in them.
 */
static u32 rights_measure(const struct rights *r, int n, u32 *payload)
{
	const struct pair_end *e = &r->p->end[0];
	bool tagged = r->use != USE_RECV && r->use != USE_SEND;
	u32 at = 0, len;

	for (*payload = 0; n-- && at < e->wire_len; at += iw_mpa_fpdu_size(len)) {
		len = get_unaligned_be16(e->wire + at);
		*payload += len - (tagged ? ORACLE_TAGGED : ORACLE_UNTAGGED);
	}
	return at;
}

static void rights_expect_bytes(struct rights *r, const u8 *mem, u32 from, u32 to, u8 byte)
{
	KUNIT_EXPECT_PTR_EQ(r->p->test, memchr_inv(mem + from, byte, to - from), NULL);
}

/* If a work request uses the region by its lkey, expect that it completes, in error if @err */
static void rights_expect_completion(struct rights *r, enum srnic_err err)
{
	struct pair *p = r->p;

	if (r->use == USE_RECV)
		pair_expect_wc(p, &p->end[1].rcq, 1, err ? IB_WC_LOC_PROT_ERR : IB_WC_SUCCESS);
	if (r->use == USE_SINK)
		pair_expect_wc(p, &p->end[1].scq, 1, err ? IB_WC_LOC_PROT_ERR : IB_WC_SUCCESS);
	if (r->use == USE_SEND)
		pair_expect_wc(p, &p->end[0].scq, 1, err ? IB_WC_LOC_PROT_ERR : IB_WC_SUCCESS);
}

static void rights_desc(const u8 *row, char *desc)
{
	static const char * const uses[] = { "Write", "receive", "sink", "source", "Send" };
	static const char * const changes[] = {
		"invalid", "other key", "no right", "smaller", "other memory", "other PD", "gone",
	};
	u32 at = row - rights_errs;

	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s: %s", uses[at / CHANGE_COUNT],
		 changes[at % CHANGE_COUNT]);
}

KUNIT_ARRAY_PARAM(rights, rights_errs, rights_desc);

/* Change the memory region after RX has placed the first segments, and before others arrive. */
static void rights_change_between_arrivals(struct rights *r, enum rights_change change,
					   enum srnic_err err)
{
	struct pair *p = r->p;
	u32 placed, len;

	pair_send(p, 0);
	len = rights_measure(r, RIGHTS_FPDUS, &placed);
	pair_deliver_some(p, 0, len);
	KUNIT_EXPECT_EQ(p->test, memcmp(r->old, r->far, placed), 0);
	rights_expect_bytes(r, r->old, placed, RIGHTS_LEN, RIGHTS_UNTOUCHED);
	rights_change(r, change);
	pair_deliver(p, 0);
	pair_expect_fault(p, 1, err);
	rights_expect_bytes(r, r->old, 0, RIGHTS_LEN, RIGHTS_REFILLED);
	rights_expect_bytes(r, r->new, 0, err ? RIGHTS_LEN : placed, RIGHTS_UNTOUCHED);
	if (!err)
		KUNIT_EXPECT_EQ(p->test, memcmp(r->new + placed, r->far + placed,
						RIGHTS_LEN - placed), 0);
}

/*
 * Change the memory region after the first batch of FPDUs was sent, and before the next is built.
 */
static void rights_change_between_batches(struct rights *r, enum rights_change change,
					  enum srnic_err err)
{
	struct pair *p = r->p;
	u32 sent, wire;
	const u8 *rest;

	KUNIT_ASSERT_GT(p->test, pair_send_batch(p, 0), 0);
	wire = rights_measure(r, -1, &sent);
	KUNIT_ASSERT_GT(p->test, sent, RIGHTS_SIZE);
	KUNIT_ASSERT_LT(p->test, sent, RIGHTS_LEN);
	rights_change(r, change);
	pair_send(p, 0);
	pair_expect_fault(p, 0, err);
	if (err) {
		KUNIT_EXPECT_EQ(p->test, p->end[0].wire_len, wire);
		return;
	}
	pair_deliver(p, 0);
	pair_expect_fault(p, 1, SRNIC_ERR_NONE);
	rights_fill(r->old, 0);
	rest = change == CHANGE_MAP ? r->new : r->old;
	KUNIT_EXPECT_EQ(p->test, memcmp(r->far, r->old, sent), 0);
	KUNIT_EXPECT_EQ(p->test, memcmp(r->far + sent, rest + sent, RIGHTS_LEN - sent), 0);
}

static void rights_of_each_segment_checked(struct kunit *test)
{
	const u8 *row = test->param_value;
	u32 at = row - rights_errs;
	enum rights_use use = at / CHANGE_COUNT;
	enum rights_change change = at % CHANGE_COUNT;
	struct rights *r = rights_begin(test, use);

	rights_post(r, 1);
	if (rights_use_is_rx(use))
		rights_change_between_arrivals(r, change, *row);
	else
		rights_change_between_batches(r, change, *row);
	rights_expect_completion(r, *row);
}

/* --- in the middle of a segment --- */

static struct {
	struct rights		*r;
	enum rights_change	change;
	unsigned int		left;	/* page fragments until the change */
} rights_soon;

/* srnic's sender needs a page fragment, and holds no region: change it, as another CPU could. */
static void rights_wants_page(void)
{
	if (rights_soon.left && !--rights_soon.left)
		rights_change(rights_soon.r, rights_soon.change);
}

static const struct rights_piece {
	const char		*desc;
	enum rights_use		use;
	enum rights_change	change;
	enum srnic_err		err;
} rights_pieces[] = {
	{ "response, other memory", USE_SOURCE, CHANGE_MAP, SRNIC_ERR_NONE },
	{ "response, invalid", USE_SOURCE, CHANGE_INVALID, SRNIC_ERR_READ_STAG },
	{ "response, no right", USE_SOURCE, CHANGE_RIGHT, SRNIC_ERR_READ_RIGHT },
	{ "response, gone", USE_SOURCE, CHANGE_GONE, SRNIC_ERR_READ_STAG },
	{ "Send, other memory", USE_SEND, CHANGE_MAP, SRNIC_ERR_NONE },
	{ "Send, invalid", USE_SEND, CHANGE_INVALID, SRNIC_ERR_LOCAL },
	{ "Send, gone", USE_SEND, CHANGE_GONE, SRNIC_ERR_LOCAL },
};

static const unsigned int rights_moments[] = { 1, 2, 3, 4, 5, 6, 40 };

#define MOMENTS		ARRAY_SIZE(rights_moments)

/* One element for each of rights_pieces at each of rights_moments; values are not used */
static const u8 rights_amid[ARRAY_SIZE(rights_pieces) * MOMENTS];

static void rights_amid_desc(const u8 *row, char *desc)
{
	u32 at = row - rights_amid;

	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s: page %u", rights_pieces[at / MOMENTS].desc,
		 rights_moments[at % MOMENTS]);
}

KUNIT_ARRAY_PARAM(rights_amid, rights_amid, rights_amid_desc);

/*
 * Check that the peer has received bytes of the region's old memory first, and after them only
 * bytes of the new memory, or no further bytes if @ends.
 */
static void rights_expect_old_then_new(struct rights *r, bool ends)
{
	struct kunit *test = r->p->test;
	u32 n = 0;

	rights_fill(r->old, 0);
	while (n < RIGHTS_LEN && r->far[n] == r->old[n])
		n++;
	KUNIT_EXPECT_LT(test, n, RIGHTS_LEN);
	if (ends)
		rights_expect_bytes(r, r->far, n, RIGHTS_LEN, RIGHTS_UNTOUCHED);
	else
		KUNIT_EXPECT_EQ(test, memcmp(r->far + n, r->new + n, RIGHTS_LEN - n), 0);
}

static void rights_changed_amid_segment(struct kunit *test)
{
	u32 at = (const u8 *)test->param_value - rights_amid;
	const struct rights_piece *row = &rights_pieces[at / MOMENTS];
	struct rights *r = rights_begin(test, row->use);
	struct pair *p = r->p;

	rights_post(r, 1);
	rights_soon.r = r;
	rights_soon.change = row->change;
	rights_soon.left = rights_moments[at % MOMENTS];
	pair_tcp.wants_page = rights_wants_page;
	pair_tcp_pages(100, UINT_MAX);
	pair_send(p, 0);
	KUNIT_EXPECT_EQ(test, rights_soon.left, 0);
	pair_expect_fault(p, 0, row->err);
	pair_deliver(p, 0);
	pair_expect_fault(p, 1, SRNIC_ERR_NONE);
	rights_expect_old_then_new(r, row->err);
}

/*
 * srnic's sender builds a Send of the ULP, and then a Read Response from the same region, in one
 * batch. The region has lost its remote rights, so the peer's Read fails, but the Send does not:
 * that the Send may access the region must not make the Read succeed.
 */
static void rights_of_the_ulp_are_not_the_peers(struct kunit *test)
{
	struct rights *r = rights_begin(test, USE_SOURCE);
	struct pair *p = r->p;
	struct ib_sge near = { .addr = RIGHTS_BASE, .length = 8, .lkey = r->key };
	struct ib_sge far = rights_far_sge(r);
	const struct ib_send_wr send = { .opcode = IB_WR_SEND, .sg_list = &near, .num_sge = 1 };
	u32 other = pair_reg(p, &p->pd, r->new, RIGHTS_BASE, 8, IB_ACCESS_REMOTE_READ)->stag;
	int i;

	far.length = 8;
	for (i = 0; i < 2; i++) {
		pair_post_rdma(p, 1, 0, IB_WR_RDMA_READ, &far, RIGHTS_BASE, i ? r->key : other);
		KUNIT_ASSERT_EQ(test, pair_post(&p->end[0], &send), 0);
		pair_post_recv(&p->end[1], i, r->far + 100, 8);
	}
	pair_send(p, 1);
	pair_deliver(p, 1);
	rights_change(r, CHANGE_RIGHT);
	pair_send(p, 0);
	pair_expect_fault(p, 0, SRNIC_ERR_READ_RIGHT);
	pair_deliver(p, 0);
	pair_expect_fault(p, 1, SRNIC_ERR_NONE);
	pair_expect_wc(p, &p->end[1].rcq, 0, IB_WC_SUCCESS);
	pair_expect_wc(p, &p->end[1].scq, 0, IB_WC_SUCCESS);
	pair_expect_no_wc(p, &p->end[1].scq);
	KUNIT_EXPECT_EQ(test, memcmp(r->far, r->new, 8), 0);
	rights_expect_bytes(r, r->far, 100, 108, RIGHTS_REFILLED);
}

static void rights_exit(struct kunit *test)
{
	pair_tcp = (struct pair_tcp) {};
	pair_exit(test);
}

static struct kunit_case rights_cases[] = {
	KUNIT_CASE_PARAM(rights_of_each_segment_checked, rights_gen_params),
	KUNIT_CASE_PARAM(rights_changed_amid_segment, rights_amid_gen_params),
	KUNIT_CASE(rights_of_the_ulp_are_not_the_peers),
	{}
};

static struct kunit_suite rights_suite = {
	.name = "srnic_rights",
	.init = pair_init,
	.exit = rights_exit,
	.test_cases = rights_cases,
};

kunit_test_suite(rights_suite);

// SPDX-License-Identifier: GPL-2.0
/*
 * Limits of the number of objects (QPs, CQs and others): a device allows as many of each kind as it
 * reports, not one more. An object that is destroyed, or could not be made, does not count.
 */

#include "iw_mpa_no_core.h"
#include "srnic_single.h"

#include <linux/slab.h>
#include <rdma/uverbs_ioctl.h>

#include "qp.h"
#include "ring.h"
#include "rq.h"
#include "sq.h"

/* One object of each kind; a test makes some of them */
struct thing {
	/* protection domain of the memory region */
	struct ib_pd			pd;
	struct srnic_cq			cq;
	struct srnic_srq		srq;
	struct srnic_qp			qp;
	struct ib_mr			*mr;	/* memory region, NULL if none could be made */
	struct ib_ucontext		ctx;	/* context of an application */
	struct uverbs_attr_bundle	attrs;	/* attributes of the application's calls */
};

static struct thing *thing_new(struct kunit *test)
{
	struct thing *thing = kunit_kzalloc(test, sizeof(*thing), GFP_KERNEL);
	struct ib_device *ibdev = &single.p->dev->ibdev;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, thing);
	thing->pd.device = ibdev;
	thing->cq.ibcq.device = ibdev;
	thing->srq.ibsrq.device = ibdev;
	thing->qp.ibqp.device = ibdev;
	thing->attrs.context = &thing->ctx;
	/* No application has memory at this address: to copy a response to it fails. */
	thing->attrs.driver_udata.outbuf = (void __user *)-PAGE_SIZE;
	thing->attrs.driver_udata.outlen = 1024;
	return thing;
}

/* These functions create an object for an application if @attrs is given, else for a kernel ULP. */
static int create_pd(struct thing *thing, struct uverbs_attr_bundle *attrs)
{
	return srnic_verbs.alloc_pd(&thing->pd, attrs ? &attrs->driver_udata : NULL);
}

static int create_cq(struct thing *thing, struct uverbs_attr_bundle *attrs)
{
	const struct ib_cq_init_attr attr = { .cqe = 3 };

	return srnic_create_cq(&thing->cq.ibcq, &attr, attrs);
}

static int create_srq(struct thing *thing, struct uverbs_attr_bundle *attrs)
{
	struct ib_srq_init_attr init = { .attr = { .max_wr = 1, .max_sge = 1 } };
	struct ib_udata *udata = attrs ? &attrs->driver_udata : NULL;

	return srnic_verbs.create_srq(&thing->srq.ibsrq, &init, udata);
}

static int create_qp_with(struct thing *thing, u32 sges, struct uverbs_attr_bundle *attrs)
{
	struct ib_qp_init_attr init = {
		.send_cq	= &single.p->end[0].scq.ibcq,
		.recv_cq	= &single.p->end[0].rcq.ibcq,
		.qp_type	= IB_QPT_RC,
		.cap		= { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = sges },
	};

	return srnic_verbs.create_qp(&thing->qp.ibqp, &init, attrs ? &attrs->driver_udata : NULL);
}

static int create_qp(struct thing *thing, struct uverbs_attr_bundle *attrs)
{
	return create_qp_with(thing, 1, attrs);
}

static int mr_made(struct thing *thing, struct ib_mr *mr)
{
	thing->mr = IS_ERR(mr) ? NULL : mr;
	return PTR_ERR_OR_ZERO(mr);
}

static int create_dma_mr(struct thing *thing, struct uverbs_attr_bundle *attrs)
{
	return mr_made(thing, srnic_verbs.get_dma_mr(&thing->pd, IB_ACCESS_LOCAL_WRITE));
}

static int create_fast_mr(struct thing *thing, struct uverbs_attr_bundle *attrs)
{
	return mr_made(thing, srnic_verbs.alloc_mr(&thing->pd, IB_MR_TYPE_MEM_REG, 1));
}

static int destroy_pd(struct thing *thing)
{
	return srnic_verbs.dealloc_pd(&thing->pd, NULL);
}

static int destroy_cq(struct thing *thing)
{
	return srnic_verbs.destroy_cq(&thing->cq.ibcq, NULL);
}

static int destroy_srq(struct thing *thing)
{
	return srnic_verbs.destroy_srq(&thing->srq.ibsrq, NULL);
}

static int destroy_qp(struct thing *thing)
{
	return srnic_verbs.destroy_qp(&thing->qp.ibqp, NULL);
}

static int destroy_mr(struct thing *thing)
{
	return srnic_verbs.dereg_mr(thing->mr, NULL);
}

static const struct kind {
	const char	*desc;
	size_t		count;		/* offset in struct srnic_dev */
	int		most;
	int		(*create)(struct thing *thing, struct uverbs_attr_bundle *attrs);
	int		(*destroy)(struct thing *thing);
} kinds[] = {
#define OF(name)	offsetof(struct srnic_dev, objects.name)
	/* objects that have rings if an application creates them */
	{ "cq", OF(cq), SRNIC_MAX_CQ, create_cq, destroy_cq },
	{ "srq", OF(srq), SRNIC_MAX_SRQ, create_srq, destroy_srq },
	{ "qp", OF(qp), SRNIC_MAX_QP, create_qp, destroy_qp },
#define SHARED	3
	/* objects without rings */
	{ "pd", OF(pd), SRNIC_MAX_PD, create_pd, destroy_pd },
	{ "dma_mr", OF(mr), SRNIC_MAX_MR, create_dma_mr, destroy_mr },
	{ "fast_mr", OF(mr), SRNIC_MAX_MR, create_fast_mr, destroy_mr },
#undef OF
};

KUNIT_ARRAY_PARAM_DESC(kind, kinds, desc);

static atomic_t *count_of(const struct kind *kind)
{
	return (void *)single.p->dev + kind->count;
}

/*
 * Rules: R-8.1.2-1: ENOMEM for one object more of each kind than the device reports, not for the
 * last one that it allows, and not after another one was destroyed
 */
static void verbs_past_the_number_refused(struct kunit *test)
{
	const struct kind *kind = test->param_value;
	atomic_t *count = count_of(kind);
	struct thing *last = thing_new(test), *more = thing_new(test);

	atomic_set(count, kind->most - 1);
	KUNIT_ASSERT_EQ(test, kind->create(last, NULL), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(count), kind->most);
	KUNIT_EXPECT_EQ(test, kind->create(more, NULL), -ENOMEM);
	KUNIT_EXPECT_EQ(test, atomic_read(count), kind->most);
	KUNIT_EXPECT_EQ(test, kind->destroy(last), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(count), kind->most - 1);
	KUNIT_ASSERT_EQ(test, kind->create(more, NULL), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(count), kind->most);
	KUNIT_EXPECT_EQ(test, kind->destroy(more), 0);
	atomic_set(count, 0);
}

static void expect_none(struct kunit *test, const struct kind *kind)
{
	KUNIT_EXPECT_EQ_MSG(test, atomic_read(count_of(kind)), 0, "%s", kind->desc);
	KUNIT_EXPECT_TRUE(test, xa_empty(&single.p->dev->qps));
}

/* Rules: R-8.1.2-1: the number of objects, after one that could not be made */
static void verbs_that_fail_count_nothing(struct kunit *test)
{
	const struct kind *kind;
	struct mm_struct *mm;
	struct thing *thing;
	s64 before;

	no_core.mmap_free = srnic_ring_mmap_free;
	for (kind = kinds; kind < kinds + SHARED; kind++) {
		/* The RDMA core has no mmap() key for a ring. */
		thing = thing_new(test);
		no_core.insert_err = -EBUSY;
		no_core_process_begin();
		KUNIT_EXPECT_EQ(test, kind->create(thing, &thing->attrs), -EBUSY);
		no_core_process_end();
		no_core.insert_err = 0;
		expect_none(test, kind);
		/* The application's buffer is too short for the response of the verb. */
		thing = thing_new(test);
		thing->attrs.driver_udata.outlen = 1;
		KUNIT_EXPECT_EQ(test, kind->create(thing, &thing->attrs), -EINVAL);
		expect_none(test, kind);
		/* To copy the response fails: all rings are freed, of which a QP has two. */
		thing = thing_new(test);
		mm = no_core_process_begin();
		before = atomic64_read(&mm->pinned_vm);
		KUNIT_EXPECT_EQ(test, kind->create(thing, &thing->attrs), -EFAULT);
		no_core_process_end();
		expect_none(test, kind);
		KUNIT_EXPECT_EQ_MSG(test, atomic64_read(&mm->pinned_vm), before, "%s", kind->desc);
	}
	no_core.mmap_free = NULL;
}

/* In a kernel without CONFIG_INFINIBAND no memory can be pinned, so the registration fails. */
static void verbs_region_that_cannot_be_pinned_counts_nothing(struct kunit *test)
{
	struct thing *thing = thing_new(test);
	struct ib_mr *mr = srnic_reg_user_mr(&thing->pd, 0, 1, 0, 0, NULL, NULL);

	KUNIT_EXPECT_EQ(test, mr_made(thing, mr), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, atomic_read(&single.p->dev->objects.mr), 0);
}

/*
 * A device has one counter for each kind of object. When an object is destroyed, its counter is
 * decremented, and its QP number or STag index is free again.
 */
static void verbs_kinds_are_counted_apart(struct kunit *test)
{
	struct thing *thing = thing_new(test);
	int i, k;

	for (k = 0; k < ARRAY_SIZE(kinds); k++) {
		KUNIT_ASSERT_EQ(test, kinds[k].create(thing, NULL), 0);
		for (i = 0; i < ARRAY_SIZE(kinds); i++)
			KUNIT_EXPECT_EQ_MSG(test, atomic_read(count_of(&kinds[i])),
					    kinds[i].count == kinds[k].count, "%s, with one %s",
					    kinds[i].desc, kinds[k].desc);
		KUNIT_EXPECT_EQ(test, kinds[k].destroy(thing), 0);
		KUNIT_EXPECT_EQ(test, atomic_read(count_of(&kinds[k])), 0);
	}
	KUNIT_EXPECT_TRUE(test, xa_empty(&single.p->dev->qps));
	KUNIT_EXPECT_TRUE(test, xa_empty(&single.p->dev->mrs));
}

/* A Send of a kernel ULP may have more SGEs than an application's, which libsiw's rings limit. */
static void verbs_pieces_of_a_send(struct kunit *test)
{
	struct thing *thing = thing_new(test);

	KUNIT_EXPECT_EQ(test, create_qp_with(thing, SRNIC_MAX_SEND_SGE + 1, NULL), -EINVAL);
	KUNIT_ASSERT_EQ(test, create_qp_with(thing, SRNIC_MAX_SEND_SGE, NULL), 0);
	KUNIT_EXPECT_EQ(test, thing->qp.cap.max_send_sge, SRNIC_MAX_SEND_SGE);
	KUNIT_EXPECT_EQ(test, destroy_qp(thing), 0);
	thing = thing_new(test);
	KUNIT_EXPECT_EQ(test, create_qp_with(thing, SIW_MAX_SGE + 1, &thing->attrs), -EINVAL);
	/* -EBUSY of the fake RDMA core shows that the number of SGEs was accepted. */
	no_core.insert_err = -EBUSY;
	no_core_process_begin();
	KUNIT_EXPECT_EQ(test, create_qp_with(thing, SIW_MAX_SGE, &thing->attrs), -EBUSY);
	no_core_process_end();
	no_core.insert_err = 0;
}

static int create_qp_of(struct thing *thing, u32 sends, u32 recvs)
{
	struct ib_qp_init_attr init = {
		.send_cq	= &thing->cq.ibcq,
		.recv_cq	= &thing->cq.ibcq,
		.qp_type	= IB_QPT_RC,
		.cap		= { .max_send_wr = sends, .max_recv_wr = recvs, .max_send_sge = 1 },
	};

	return srnic_verbs.create_qp(&thing->qp.ibqp, &init, NULL);
}

/*
 * A kernel ULP asks for a completion queue of few entries, since it signals few work requests. But
 * a flush completes all work requests, signaled or not, so create_qp makes room for all of them:
 * ib_drain_qp() waits for the last completion, and would never return if that was lost.
 */
static void verbs_flush_loses_no_completion(struct kunit *test)
{
	const u32 sends = 32, recvs = 16;
	struct thing *thing = thing_new(test);
	struct ib_send_wr send = { .opcode = IB_WR_SEND };
	struct ib_recv_wr recv = {};
	const struct ib_send_wr *bad;
	const struct ib_recv_wr *bad_recv;
	struct srnic_qp *qp = &thing->qp;
	u32 i, next[2] = { 0, sends };
	struct ib_wc wc;

	KUNIT_ASSERT_EQ(test, create_cq(thing, NULL), 0);
	KUNIT_ASSERT_EQ(test, create_qp_of(thing, sends, recvs), 0);
	KUNIT_EXPECT_EQ(test, srnic_sq_post(qp, &send, &bad), -EINVAL);
	qp->state = SRNIC_RTS;
	for (i = 0; i < sends; i++) {
		send.wr_id = i;
		if (i == sends - 1)
			send.send_flags = IB_SEND_SIGNALED;
		KUNIT_ASSERT_EQ(test, srnic_sq_post(qp, &send, &bad), 0);
	}
	for (; i < sends + recvs; i++) {
		recv.wr_id = i;
		KUNIT_ASSERT_EQ(test, srnic_verbs.post_recv(&qp->ibqp, &recv, &bad_recv), 0);
	}
	qp->state = SRNIC_ERROR;
	srnic_qp_flush_soon(qp);
	flush_delayed_work(&qp->flush_work);
	for (i = 0; i < sends + recvs; i++) {
		KUNIT_ASSERT_EQ(test, pair_poll(&thing->cq, &wc), 1);
		KUNIT_EXPECT_EQ(test, wc.status, IB_WC_WR_FLUSH_ERR);
		KUNIT_EXPECT_EQ(test, wc.wr_id, next[wc.opcode == IB_WC_RECV]++);
	}
	KUNIT_EXPECT_EQ(test, pair_poll(&thing->cq, &wc), 0);
	KUNIT_EXPECT_EQ(test, pair_count(single.p, SRNIC_CNT_cqe_lost), 0);
	KUNIT_EXPECT_EQ(test, destroy_qp(thing), 0);
	KUNIT_EXPECT_EQ(test, destroy_cq(thing), 0);
}

/* ib_drain_qp() posts one more, for which a ULP that has asked for the most has asked no room. */
static void verbs_longest_queue_of_a_ulp_has_room_to_drain(struct kunit *test)
{
	struct thing *thing = thing_new(test);

	KUNIT_ASSERT_EQ(test, create_cq(thing, NULL), 0);
	KUNIT_ASSERT_EQ(test, create_qp_of(thing, SRNIC_MAX_WR, SRNIC_MAX_WR), 0);
	KUNIT_EXPECT_GT(test, thing->qp.sq.size, SRNIC_MAX_WR);
	KUNIT_EXPECT_GT(test, thing->qp.rq.size, SRNIC_MAX_WR);
	KUNIT_EXPECT_EQ(test, destroy_qp(thing), 0);
	KUNIT_EXPECT_EQ(test, destroy_cq(thing), 0);
	KUNIT_EXPECT_EQ(test, create_qp_of(thing, SRNIC_MAX_WR + 1, 1), -EINVAL);
}

/* If one completion queue cannot grow for what the QP can flush, neither counts the QP as user. */
static void verbs_qp_past_the_room_of_a_queue_refused(struct kunit *test)
{
	struct srnic_cq *cqs[] = { &single.p->end[0].scq, &single.p->end[0].rcq };
	struct thing *thing = thing_new(test);
	int i;

	for (i = 0; i < ARRAY_SIZE(cqs); i++) {
		cqs[i]->extra = SRNIC_MAX_CQE;
		KUNIT_EXPECT_EQ(test, create_qp(thing, NULL), -ENOMEM);
		cqs[i]->extra = 0;
		KUNIT_EXPECT_EQ(test, cqs[!i]->extra, 0);
		KUNIT_EXPECT_EQ(test, atomic_read(&cqs[0]->users), 0);
		KUNIT_EXPECT_EQ(test, atomic_read(&cqs[1]->users), 0);
		expect_none(test, &kinds[SHARED - 1]);
	}
}

/* Set up the device's table of QPs as device_setup() does. */
static int verbs_init(struct kunit *test)
{
	int err = single_init(test);

	if (!err)
		xa_init_flags(&single.p->dev->qps, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_IRQ);
	return err;
}

static struct kunit_case verbs_cases[] = {
	KUNIT_CASE_PARAM(verbs_past_the_number_refused, kind_gen_params),
	KUNIT_CASE(verbs_that_fail_count_nothing),
	KUNIT_CASE(verbs_region_that_cannot_be_pinned_counts_nothing),
	KUNIT_CASE(verbs_kinds_are_counted_apart),
	KUNIT_CASE(verbs_pieces_of_a_send),
	KUNIT_CASE(verbs_flush_loses_no_completion),
	KUNIT_CASE(verbs_longest_queue_of_a_ulp_has_room_to_drain),
	KUNIT_CASE(verbs_qp_past_the_room_of_a_queue_refused),
	{}
};

static struct kunit_suite verbs_suite = {
	.name = "srnic_verbs",
	.init = verbs_init,
	.exit = single_exit,
	.test_cases = verbs_cases,
};

kunit_test_suite(verbs_suite);

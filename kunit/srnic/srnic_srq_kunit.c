// SPDX-License-Identifier: GPL-2.0
/* Tests of SRQs: how many a device has at most, an SRQ's limit and its event, a QP with an SRQ */

#include "srnic_single.h"

#include <linux/workqueue.h>

#include "qp.h"
#include "rq.h"

static struct srnic_srq *srq_new(struct kunit *test)
{
	struct srnic_srq *srq = kunit_kzalloc(test, sizeof(*srq), GFP_KERNEL);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, srq);
	srq->ibsrq.device = &single.p->dev->ibdev;
	srq->ibsrq.event_handler = single_handler;
	return srq;
}

static const struct srq_row {
	const char	*desc;
	u8		type;
	u32		max_wr;
	u32		max_sge;
	int		err;
} srq_rows[] = {
	{ "smallest",		IB_SRQT_BASIC, 1, 0, 0 },
	{ "largest",		IB_SRQT_BASIC, SRNIC_MAX_WR, SRNIC_MAX_SGE, 0 },
	{ "no entries",		IB_SRQT_BASIC, 0, 1, -EINVAL },
	{ "too many entries",	IB_SRQT_BASIC, SRNIC_MAX_WR + 1, 1, -EINVAL },
	{ "too many SGEs",	IB_SRQT_BASIC, 1, SRNIC_MAX_SGE + 1, -EINVAL },
	{ "another type",	IB_SRQT_XRC, 1, 1, -EOPNOTSUPP },
};

KUNIT_ARRAY_PARAM_DESC(srq_row, srq_rows, desc);

static void srq_created_within_limits(struct kunit *test)
{
	const struct srq_row *row = test->param_value;
	struct srnic_srq *srq = srq_new(test);
	struct ib_srq_init_attr init = {
		.srq_type = row->type, .attr = { .max_wr = row->max_wr, .max_sge = row->max_sge },
	};

	KUNIT_EXPECT_EQ(test, srnic_create_srq(&srq->ibsrq, &init, NULL), row->err);
	KUNIT_EXPECT_EQ(test, atomic_read(&single.p->dev->objects.srq), !row->err);
	if (row->err)
		return;
	KUNIT_EXPECT_GE(test, init.attr.max_wr, row->max_wr);
	KUNIT_EXPECT_GE(test, init.attr.max_sge, max(row->max_sge, 1U));
	KUNIT_EXPECT_EQ(test, srnic_destroy_srq(&srq->ibsrq, NULL), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&single.p->dev->objects.srq), 0);
}

/* Rules: R-8.1.2-1: ENOMEM for one SRQ more than the device's limit, and success with one fewer */
static void srq_past_the_number_refused(struct kunit *test)
{
	struct srnic_srq *srq = srq_new(test);
	struct ib_srq_init_attr init = { .attr = { .max_wr = 1, .max_sge = 1 } };
	atomic_t *count = &single.p->dev->objects.srq;

	atomic_set(count, SRNIC_MAX_SRQ);
	KUNIT_EXPECT_EQ(test, srnic_create_srq(&srq->ibsrq, &init, NULL), -ENOMEM);
	KUNIT_EXPECT_EQ(test, atomic_read(count), SRNIC_MAX_SRQ);
	atomic_dec(count);
	KUNIT_EXPECT_EQ(test, srnic_create_srq(&srq->ibsrq, &init, NULL), 0);
	KUNIT_EXPECT_EQ(test, srnic_destroy_srq(&srq->ibsrq, NULL), 0);
	atomic_set(count, 0);
}

static struct srnic_srq *srq_begin(struct kunit *test, u32 limit)
{
	struct srnic_srq *srq = srq_new(test);
	struct ib_srq_init_attr init = {
		.srq_type = IB_SRQT_BASIC,
		.attr = { .max_wr = 3, .max_sge = 2, .srq_limit = limit },
	};

	KUNIT_ASSERT_EQ(test, srnic_create_srq(&srq->ibsrq, &init, NULL), 0);
	KUNIT_EXPECT_EQ(test, init.attr.max_wr, 4);
	KUNIT_EXPECT_EQ(test, init.attr.max_sge, 2);
	return srq;
}

static u32 srq_limit(struct kunit *test, struct srnic_srq *srq)
{
	struct ib_srq_attr attr = {};

	KUNIT_EXPECT_EQ(test, srnic_query_srq(&srq->ibsrq, &attr), 0);
	KUNIT_EXPECT_EQ(test, attr.max_wr, 4);
	KUNIT_EXPECT_EQ(test, attr.max_sge, 2);
	return attr.srq_limit;
}

static void srq_post(struct kunit *test, struct srnic_srq *srq, u32 count)
{
	const struct ib_recv_wr recv = {};
	const struct ib_recv_wr *bad;

	while (count--)
		KUNIT_ASSERT_EQ(test, srnic_post_srq_recv(&srq->ibsrq, &recv, &bad), 0);
}

/* modify_srq can set the limit of an SRQ, up to the SRQ's size, and nothing else. */
static void srq_limit_modified(struct kunit *test)
{
	struct ib_srq_attr attr = { .srq_limit = 4, .max_wr = 8 };
	struct srnic_srq *srq = srq_begin(test, 3);	/* ibv_create_srq(3): ignored */

	srq_post(test, srq, 4);
	KUNIT_EXPECT_EQ(test, srq_limit(test, srq), 0);
	KUNIT_EXPECT_EQ(test, srnic_modify_srq(&srq->ibsrq, &attr,
					       IB_SRQ_LIMIT | IB_SRQ_MAX_WR, NULL), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, srnic_modify_srq(&srq->ibsrq, &attr, IB_SRQ_LIMIT << 1, NULL),
			-EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, srnic_modify_srq(&srq->ibsrq, &attr, 0, NULL), 0);
	KUNIT_EXPECT_EQ(test, srq_limit(test, srq), 0);
	KUNIT_EXPECT_EQ(test, srnic_modify_srq(&srq->ibsrq, &attr, IB_SRQ_LIMIT, NULL), 0);
	KUNIT_EXPECT_EQ(test, srq_limit(test, srq), 4);
	attr.srq_limit = 5;
	KUNIT_EXPECT_EQ(test, srnic_modify_srq(&srq->ibsrq, &attr, IB_SRQ_LIMIT, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, srq_limit(test, srq), 4);
	srnic_destroy_srq(&srq->ibsrq, NULL);
}

/* SRQ_LIMIT_REACHED is reported once, when a Send leaves fewer receives than the SRQ's limit. */
static void srq_limit_told_when_fewer_are_left(struct kunit *test)
{
	static const struct pair_opts opts = { .crc = true, .emss = 1448, .ord = 2 };
	const struct ib_send_wr send = { .opcode = IB_WR_SEND };
	struct srnic_srq *srq = srq_begin(test, 0);
	struct ib_srq_attr attr = { .srq_limit = 2 };
	int i;

	srq_post(test, srq, 3);
	KUNIT_ASSERT_EQ(test, srnic_modify_srq(&srq->ibsrq, &attr, IB_SRQ_LIMIT, NULL), 0);
	pair_start(single.p, &opts);
	single.qp->srq = srq;
	for (i = 0; i < 3; i++) {
		KUNIT_ASSERT_EQ(test, pair_post(&single.p->end[1], &send), 0);
		pair_send(single.p, 1);
		pair_deliver(single.p, 1);
		flush_work(&srq->event_work);
		KUNIT_EXPECT_EQ(test, single.n, i >= 1);
	}
	KUNIT_EXPECT_EQ(test, single.events[0], IB_EVENT_SRQ_LIMIT_REACHED);
	KUNIT_EXPECT_EQ(test, single.p->end[0].rcq.put, 3);
	srnic_destroy_srq(&srq->ibsrq, NULL);
}

/*
 * If fewer receives than the new limit are left already, IB_EVENT_SRQ_LIMIT_REACHED is reported at
 * once, since a ULP may post receives only when it gets this event.
 */
static void srq_limit_told_at_once(struct kunit *test)
{
	struct srnic_srq *srq = srq_begin(test, 0);
	struct ib_srq_attr attr = { .srq_limit = 2 };
	int i;

	for (i = 1; i <= 2; i++) {
		KUNIT_EXPECT_EQ(test, srnic_modify_srq(&srq->ibsrq, &attr, IB_SRQ_LIMIT, NULL), 0);
		flush_work(&srq->event_work);
		KUNIT_EXPECT_EQ(test, single.n, i);
		KUNIT_EXPECT_EQ(test, single.events[i - 1], IB_EVENT_SRQ_LIMIT_REACHED);
		KUNIT_EXPECT_EQ(test, srq_limit(test, srq), 0);
		KUNIT_EXPECT_EQ(test, pair_count(single.p, SRNIC_CNT_srq_limit_events), i);
		srq_post(test, srq, 1);
	}
	KUNIT_EXPECT_EQ(test, srnic_modify_srq(&srq->ibsrq, &attr, IB_SRQ_LIMIT, NULL), 0);
	KUNIT_EXPECT_EQ(test, srq_limit(test, srq), 2);
	srnic_destroy_srq(&srq->ibsrq, NULL);
}

/* Receives that are left when a QP is destroyed stay in the SRQ. */
static void srq_outlives_its_qp(struct kunit *test)
{
	struct ib_sge sge[3] = {};
	struct ib_recv_wr wrs[3] = {
		{ .next = &wrs[1], .sg_list = sge, .num_sge = 2 },
		{ .next = &wrs[2], .sg_list = sge, .num_sge = 2 },
		{ .sg_list = sge, .num_sge = 3 },
	};
	const struct ib_recv_wr *bad = NULL;
	struct srnic_srq *srq = srq_begin(test, 0);

	KUNIT_EXPECT_EQ(test, srnic_post_srq_recv(&srq->ibsrq, wrs, &bad), -EINVAL);
	KUNIT_EXPECT_PTR_EQ(test, bad, (const struct ib_recv_wr *)&wrs[2]);
	KUNIT_EXPECT_EQ(test, srq->rq.put, 2);
	single.qp->srq = srq;
	single.qp->state = SRNIC_ERROR;
	srnic_qp_forget(single.qp);
	KUNIT_EXPECT_EQ(test, srq->rq.get, 0);
	pair_expect_no_wc(single.p, &single.p->end[0].rcq);
	queue_work(srnic_event_wq, &srq->event_work);
	flush_work(&srq->event_work);
	KUNIT_EXPECT_EQ(test, single.n, 1);
	KUNIT_EXPECT_EQ(test, single.events[0], IB_EVENT_SRQ_LIMIT_REACHED);
	/* post_srq_recv is for kernel ULPs: an application posts to its ring without a verb. */
	srq->rq.uring = (struct siw_rqe *)sge;
	bad = NULL;
	KUNIT_EXPECT_EQ(test, srnic_post_srq_recv(&srq->ibsrq, wrs, &bad), -EINVAL);
	KUNIT_EXPECT_PTR_EQ(test, bad, (const struct ib_recv_wr *)wrs);
	srq->rq.uring = NULL;
	srnic_destroy_srq(&srq->ibsrq, NULL);
}

static struct kunit_case srq_cases[] = {
	KUNIT_CASE_PARAM(srq_created_within_limits, srq_row_gen_params),
	KUNIT_CASE(srq_past_the_number_refused),
	KUNIT_CASE(srq_limit_modified),
	KUNIT_CASE(srq_limit_told_when_fewer_are_left),
	KUNIT_CASE(srq_limit_told_at_once),
	KUNIT_CASE(srq_outlives_its_qp),
	{}
};

static struct kunit_suite srq_suite = {
	.name = "srnic_srq",
	.init = single_init,
	.exit = single_exit,
	.test_cases = srq_cases,
};

kunit_test_suite(srq_suite);

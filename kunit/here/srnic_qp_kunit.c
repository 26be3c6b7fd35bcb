// SPDX-License-Identifier: GPL-2.0
/* QPs without a stream: modify_qp, the flush of work requests, events and destruction */

#include "srnic_single.h"

#include <linux/delay.h>
#include <rdma/uverbs_ioctl.h>

#include "qp.h"
#include "rq.h"
#include "sq.h"
#include "tx.h"

#define QP_WRS		3
#define QP_CROWD	200
#define QP_FINDS	100
#define QP_SHORT_MS	50

/* A reference on the QP that a work item drops later, while srnic_qp_end() waits for that */
struct qp_late {
	struct delayed_work	work;		/* work item that drops the reference */
	bool			dropped;	/* the reference was dropped */
};

static void qp_drop(struct work_struct *work)
{
	struct qp_late *late = container_of(to_delayed_work(work), struct qp_late, work);

	WRITE_ONCE(late->dropped, true);
	srnic_qp_put(single.qp);
}

static int qp_modify(struct srnic_qp *qp, enum ib_qp_state state)
{
	struct ib_qp_attr attr = { .qp_state = state };

	return srnic_modify_qp(&qp->ibqp, &attr, IB_QP_STATE, NULL);
}

/* modify_qp by a process: the RDMA core calls it with an ib_udata */
static int qp_modify_by_a_process(struct srnic_qp *qp, enum ib_qp_state state)
{
	struct ib_qp_attr attr = { .qp_state = state };
	struct uverbs_attr_bundle attrs = {};

	/* The test has no memory of a process: nothing can be copied from this address. */
	attrs.driver_udata.inbuf = (void __user *)-PAGE_SIZE;
	return srnic_modify_qp(&qp->ibqp, &attr, IB_QP_STATE, &attrs.driver_udata);
}

static void qp_post_recvs(void)
{
	int i;

	for (i = 0; i < QP_WRS; i++)
		pair_post_recv(&single.p->end[0], 100 + i, single.p->end[0].mem, 8);
}

/* Post Sends with the wr_ids 0, 1 and so on, and receives with the wr_ids 100, 101 and so on */
static void qp_post_all(struct kunit *test)
{
	int i;

	for (i = 0; i < QP_WRS; i++) {
		const struct ib_send_wr wr = {
			.wr_id = i, .opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED,
		};

		KUNIT_ASSERT_EQ(test, pair_post(&single.p->end[0], &wr), 0);
	}
	qp_post_recvs();
}

/* Expect that what qp_post_all() has posted is flushed once, in the order of posting */
static void qp_expect_flushed(void)
{
	struct pair_end *e = &single.p->end[0];
	int i;

	for (i = 0; i < QP_WRS; i++) {
		pair_expect_wc(single.p, &e->scq, i, IB_WC_WR_FLUSH_ERR);
		pair_expect_wc(single.p, &e->rcq, 100 + i, IB_WC_WR_FLUSH_ERR);
	}
	pair_expect_no_wc(single.p, &e->scq);
	pair_expect_no_wc(single.p, &e->rcq);
}

/* --- the table of states --- */

/*
 * Calls of modify_qp by a kernel ULP: srnic's state, the state asked for, the errno, the state
 * afterwards
 */
static const struct qp_row {
	const char		*desc;
	u8			from;
	u8			to;
	int			err;
	u8			is;		/* state afterwards, as query_qp reports it */
} qp_rows[] = {
	{ "idle, RESET",	SRNIC_IDLE, IB_QPS_RESET, 0, IB_QPS_RESET },
	{ "idle, INIT",		SRNIC_IDLE, IB_QPS_INIT, 0, IB_QPS_INIT },
	{ "idle, RTR",		SRNIC_IDLE, IB_QPS_RTR, 0, IB_QPS_RTR },
	{ "idle, RTS",		SRNIC_IDLE, IB_QPS_RTS, -EINVAL, IB_QPS_INIT },
	{ "idle, SQD",		SRNIC_IDLE, IB_QPS_SQD, -EINVAL, IB_QPS_INIT },
	{ "idle, SQE",		SRNIC_IDLE, IB_QPS_SQE, -EINVAL, IB_QPS_INIT },
	{ "idle, ERR",		SRNIC_IDLE, IB_QPS_ERR, 0, IB_QPS_ERR },
	{ "rts, RESET",		SRNIC_RTS, IB_QPS_RESET, -EINVAL, IB_QPS_RTS },
	{ "rts, INIT",		SRNIC_RTS, IB_QPS_INIT, 0, IB_QPS_RTS },
	{ "rts, RTR",		SRNIC_RTS, IB_QPS_RTR, 0, IB_QPS_RTS },
	{ "rts, RTS",		SRNIC_RTS, IB_QPS_RTS, 0, IB_QPS_RTS },
	{ "rts, SQD",		SRNIC_RTS, IB_QPS_SQD, 0, IB_QPS_SQD },
	{ "rts, ERR",		SRNIC_RTS, IB_QPS_ERR, 0, IB_QPS_ERR },
	{ "closing, RESET",	SRNIC_CLOSING, IB_QPS_RESET, -EINVAL, IB_QPS_SQD },
	{ "closing, RTR",	SRNIC_CLOSING, IB_QPS_RTR, 0, IB_QPS_SQD },
	{ "closing, RTS",	SRNIC_CLOSING, IB_QPS_RTS, -EINVAL, IB_QPS_SQD },
	{ "closing, SQD",	SRNIC_CLOSING, IB_QPS_SQD, 0, IB_QPS_SQD },
	{ "closing, ERR",	SRNIC_CLOSING, IB_QPS_ERR, 0, IB_QPS_ERR },
	{ "terminate, RESET",	SRNIC_TERMINATE, IB_QPS_RESET, -EINVAL, IB_QPS_SQE },
	{ "terminate, RTR",	SRNIC_TERMINATE, IB_QPS_RTR, 0, IB_QPS_SQE },
	{ "terminate, RTS",	SRNIC_TERMINATE, IB_QPS_RTS, -EINVAL, IB_QPS_SQE },
	{ "terminate, SQD",	SRNIC_TERMINATE, IB_QPS_SQD, 0, IB_QPS_SQE },
	{ "terminate, ERR",	SRNIC_TERMINATE, IB_QPS_ERR, 0, IB_QPS_ERR },
	{ "aborted, RESET",	SRNIC_ABORTED, IB_QPS_RESET, -EINVAL, IB_QPS_ERR },
	{ "aborted, RTR",	SRNIC_ABORTED, IB_QPS_RTR, 0, IB_QPS_ERR },
	{ "aborted, SQD",	SRNIC_ABORTED, IB_QPS_SQD, 0, IB_QPS_ERR },
	{ "aborted, ERR",	SRNIC_ABORTED, IB_QPS_ERR, 0, IB_QPS_ERR },
	{ "ending, RESET",	SRNIC_ENDING, IB_QPS_RESET, -EINVAL, IB_QPS_ERR },
	{ "ending, INIT",	SRNIC_ENDING, IB_QPS_INIT, 0, IB_QPS_ERR },
	{ "ending, RTR",	SRNIC_ENDING, IB_QPS_RTR, 0, IB_QPS_ERR },
	{ "ending, RTS",	SRNIC_ENDING, IB_QPS_RTS, -EINVAL, IB_QPS_ERR },
	{ "ending, SQD",	SRNIC_ENDING, IB_QPS_SQD, 0, IB_QPS_ERR },
	{ "ending, ERR",	SRNIC_ENDING, IB_QPS_ERR, 0, IB_QPS_ERR },
	{ "error, RESET",	SRNIC_ERROR, IB_QPS_RESET, 0, IB_QPS_RESET },
	{ "error, INIT",	SRNIC_ERROR, IB_QPS_INIT, 0, IB_QPS_INIT },
	{ "error, RTR",		SRNIC_ERROR, IB_QPS_RTR, 0, IB_QPS_ERR },
	{ "error, RTS",		SRNIC_ERROR, IB_QPS_RTS, -EINVAL, IB_QPS_ERR },
	{ "error, SQD",		SRNIC_ERROR, IB_QPS_SQD, 0, IB_QPS_ERR },
	{ "error, ERR",		SRNIC_ERROR, IB_QPS_ERR, 0, IB_QPS_ERR },
};

KUNIT_ARRAY_PARAM_DESC(qp_row, qp_rows, desc);

static void qp_modified_by_the_table(struct kunit *test)
{
	const struct qp_row *row = test->param_value;
	struct srnic_qp *qp = single.qp;

	qp->state = row->from;
	KUNIT_EXPECT_EQ(test, qp_modify(qp, row->to), row->err);
	KUNIT_EXPECT_EQ(test, srnic_qp_state(qp), (enum ib_qp_state)row->is);
	/* A ULP cannot ask for SQE; and neither call has left tx.lock held. */
	KUNIT_EXPECT_EQ(test, qp_modify(qp, IB_QPS_SQE), -EINVAL);
	KUNIT_EXPECT_FALSE(test, mutex_is_locked(&qp->tx.lock));
}

/*
 * A process is told that its QP cannot begin a connection: it has one, or it is in ERROR and RTR is
 * asked for.
 */
static void qp_modified_by_a_process(struct kunit *test)
{
	struct srnic_qp *qp = single.qp;
	enum ib_qp_state to;

	for (to = IB_QPS_RESET; to <= IB_QPS_RTR; to++) {
		for (qp->state = SRNIC_RTS; qp->state < SRNIC_ERROR; qp->state++)
			KUNIT_EXPECT_EQ(test, qp_modify_by_a_process(qp, to), -EINVAL);
	}
	KUNIT_EXPECT_EQ(test, qp_modify_by_a_process(qp, IB_QPS_RTR), -EINVAL);
	KUNIT_EXPECT_EQ(test, qp_modify_by_a_process(qp, IB_QPS_INIT), 0);
}

/* modify_qp with a wrong cur_qp_state fails, and without IB_QP_STATE it changes nothing. */
static void qp_modified_by_mask(struct kunit *test)
{
	struct srnic_qp *qp = single.qp;
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RESET, .cur_qp_state = IB_QPS_RTR };

	KUNIT_EXPECT_EQ(test, srnic_modify_qp(&qp->ibqp, &attr, IB_QP_STATE | IB_QP_CUR_STATE,
					      NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, srnic_modify_qp(&qp->ibqp, &attr, IB_QP_ACCESS_FLAGS, NULL), 0);
	KUNIT_EXPECT_EQ(test, srnic_qp_state(qp), IB_QPS_INIT);
	attr.cur_qp_state = IB_QPS_INIT;
	KUNIT_EXPECT_EQ(test, srnic_modify_qp(&qp->ibqp, &attr, IB_QP_STATE | IB_QP_CUR_STATE,
					      NULL), 0);
	KUNIT_EXPECT_EQ(test, srnic_qp_state(qp), IB_QPS_RESET);
}

/* A new QP is in INIT, as with other RNICs, so a ULP can post receives before it connects. */
static void qp_that_is_new_says_init(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, srnic_qp_state(single.qp), IB_QPS_INIT);
}

/* --- work without a stream --- */

/*
 * Before a QP has a connection, modify_qp to RESET discards its posted work requests, without
 * completions. While the QP has a connection, modify_qp to RESET fails, and discards nothing.
 */
static void qp_reset_forgets_what_was_posted(struct kunit *test)
{
	qp_post_recvs();
	KUNIT_EXPECT_EQ(test, qp_modify(single.qp, IB_QPS_INIT), 0);
	KUNIT_EXPECT_EQ(test, single.qp->rq.put - single.qp->rq.get, QP_WRS);
	single.qp->state = SRNIC_RTS;
	KUNIT_EXPECT_EQ(test, qp_modify(single.qp, IB_QPS_RESET), -EINVAL);
	KUNIT_EXPECT_EQ(test, single.qp->rq.put - single.qp->rq.get, QP_WRS);
	single.qp->state = SRNIC_IDLE;
	KUNIT_EXPECT_EQ(test, qp_modify(single.qp, IB_QPS_RESET), 0);
	KUNIT_EXPECT_EQ(test, single.qp->rq.put - single.qp->rq.get, 0);
	pair_expect_no_wc(single.p, &single.p->end[0].rcq);
}

/* In ERR posted work requests are flushed in order, and none is left when the QP enters INIT. */
static void qp_error_flushes_in_order(struct kunit *test)
{
	single.qp->state = SRNIC_ERROR;
	qp_post_all(test);
	srnic_qp_flush_soon(single.qp);
	flush_delayed_work(&single.qp->flush_work);
	qp_expect_flushed();
	qp_post_all(test);
	KUNIT_EXPECT_EQ(test, qp_modify(single.qp, IB_QPS_INIT), 0);
	qp_expect_flushed();
	KUNIT_EXPECT_EQ(test, pair_count(single.p, SRNIC_CNT_wr_flushed), 2 * 2 * QP_WRS);
}

/*
 * srnic returns an element of an application's ring when TCP has accepted the message of the work
 * request, which may complete later. So when the QP enters ERR, srnic may have copied a whole ring
 * of work requests that are not complete, while the application has filled all elements of the ring
 * again. modify_qp to INIT has to flush the copied ones and those in the ring: none may be left for
 * the QP's next connection.
 */
static void qp_error_flushes_what_was_posted_twice_around(struct kunit *test)
{
	static const struct pair_opts opts = { .crc = true, .emss = 1448, .ord = 2 };
	struct pair_end *e = pair_user(single.p, &opts);
	struct srnic_sq *sq = &e->qp->sq;
	int i;

	e->qp->state = SRNIC_ERROR;
	for (i = 0; i < 2 * PAIR_WRS; i++) {
		sq->uring[i % PAIR_WRS] = (struct siw_sqe) {
			.id = i, .opcode = SIW_OP_SEND, .flags = SIW_WQE_VALID | SIW_WQE_SIGNALLED,
		};
		if (i >= PAIR_WRS)
			continue;
		KUNIT_ASSERT_TRUE(test, srnic_sq_fetch(e->qp));
		sq->sent = sq->put;
	}
	KUNIT_EXPECT_EQ(test, qp_modify(e->qp, IB_QPS_INIT), 0);
	for (i = 0; i < 2 * PAIR_WRS; i++)
		pair_expect_wc(single.p, &e->scq, i, IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_FALSE(test, srnic_sq_has_more(e->qp));
	cancel_delayed_work_sync(&e->qp->flush_work);
	e->qp->user = false;
}

static struct task_struct *qp_called_by;
static bool qp_called_with_the_lock;

static void qp_note_caller(struct ib_cq *cq, void *unused)
{
	qp_called_by = current;
	qp_called_with_the_lock = mutex_is_locked(&single.qp->tx.lock);
}

/*
 * While stop() runs (state ENDING) only srnic_qp_forget(), called at the end of stop(), flushes
 * work requests: a ULP that has all completions may use the QP for another connection, but until
 * its end stop() accesses the QP.
 */
static void qp_flushed_by_the_end_of_the_stream_alone(struct kunit *test)
{
	struct srnic_cq *cq = &single.p->end[0].rcq;

	single.qp->state = SRNIC_ENDING;
	qp_post_all(test);
	srnic_qp_flush_soon(single.qp);
	flush_delayed_work(&single.qp->flush_work);
	KUNIT_EXPECT_EQ(test, qp_modify(single.qp, IB_QPS_RESET), -EINVAL);
	pair_expect_no_wc(single.p, &single.p->end[0].scq);
	pair_expect_no_wc(single.p, cq);
	qp_called_by = NULL;
	cq->ibcq.comp_handler = qp_note_caller;
	srnic_req_notify_cq(&cq->ibcq, IB_CQ_NEXT_COMP);
	srnic_qp_forget(single.qp);
	KUNIT_EXPECT_EQ(test, (int)single.qp->state, SRNIC_ERROR);
	/* The completion handler is called without tx.lock, so no sender has to wait for it. */
	KUNIT_EXPECT_PTR_EQ(test, qp_called_by, current);
	KUNIT_EXPECT_FALSE(test, qp_called_with_the_lock);
	qp_expect_flushed();
	KUNIT_EXPECT_EQ(test, qp_modify(single.qp, IB_QPS_INIT), 0);
	KUNIT_EXPECT_EQ(test, pair_count(single.p, SRNIC_CNT_wr_flushed), 2 * QP_WRS);
}

/*
 * modify_qp must not call the ULP's completion handler: the ULP may hold a lock that its handler
 * takes.
 */
static void qp_handler_not_called_from_within_modify(struct kunit *test)
{
	struct srnic_cq *cq = &single.p->end[0].rcq;

	qp_called_by = NULL;
	cq->ibcq.comp_handler = qp_note_caller;
	single.qp->state = SRNIC_ERROR;
	qp_post_recvs();
	srnic_req_notify_cq(&cq->ibcq, IB_CQ_NEXT_COMP);
	KUNIT_EXPECT_EQ(test, qp_modify(single.qp, IB_QPS_INIT), 0);
	flush_work(&cq->event_work);
	KUNIT_EXPECT_NOT_NULL(test, qp_called_by);
	KUNIT_EXPECT_PTR_NE(test, qp_called_by, current);
	KUNIT_EXPECT_FALSE(test, cq->overflowed);
}

/* A QP without a connection is flushed when the ULP modifies it to ERR. */
static void qp_to_err_flushes_soon(struct kunit *test)
{
	qp_post_recvs();
	KUNIT_EXPECT_EQ(test, qp_modify(single.qp, IB_QPS_ERR), 0);
	flush_delayed_work(&single.qp->flush_work);
	KUNIT_EXPECT_EQ(test, single.p->end[0].rcq.put, QP_WRS);
}

/*
 * The first modify to SQD sets the limit of what is still sent. What is posted later is not sent,
 * even if the QP is modified to SQD again before srnic's sender runs.
 */
/* Rules: D-6.2.1-1: the limit is what was posted before the close, not what was posted later */
static void qp_closing_bounds_what_goes_out(struct kunit *test)
{
	struct srnic_qp *qp = single.qp;

	qp->state = SRNIC_RTS;
	qp_post_all(test);
	KUNIT_EXPECT_EQ(test, qp_modify(qp, IB_QPS_SQD), 0);
	qp_post_all(test);
	KUNIT_EXPECT_EQ(test, qp_modify(qp, IB_QPS_SQD), 0);
	srnic_sq_limit(qp);
	KUNIT_EXPECT_EQ(test, qp->sq.put, 2 * QP_WRS);
	KUNIT_EXPECT_TRUE(test, qp->sq.limited);
	KUNIT_EXPECT_EQ(test, qp->sq.limit, QP_WRS);
}

/* --- events for the ULP --- */

/*
 * The ULP's event_handler gets each asynchronous event of a QP once, and none that occurs after
 * destroy_qp has begun. It gets LAST_WQE_REACHED before the event that shows why the stream has
 * ended.
 */
static void qp_events_told_once(struct kunit *test)
{
	srnic_qp_tell(single.qp, BIT(IB_EVENT_QP_ACCESS_ERR) | BIT(IB_EVENT_QP_LAST_WQE_REACHED));
	single_expect_events(test, 2);
	KUNIT_EXPECT_EQ(test, single.events[0], IB_EVENT_QP_LAST_WQE_REACHED);
	KUNIT_EXPECT_EQ(test, single.events[1], IB_EVENT_QP_ACCESS_ERR);
	srnic_qp_tell(single.qp, 0);
	single_expect_events(test, 2);
	srnic_qp_tell(single.qp, BIT(IB_EVENT_QP_FATAL));
	single_expect_events(test, 3);
	KUNIT_EXPECT_EQ(test, single.events[2], IB_EVENT_QP_FATAL);
	srnic_qp_tell(single.qp, BIT(IB_EVENT_QP_REQ_ERR));
	single_expect_events(test, 4);
	KUNIT_EXPECT_EQ(test, single.events[3], IB_EVENT_QP_REQ_ERR);
	single.qp->dying = true;
	srnic_qp_tell(single.qp, BIT(IB_EVENT_QP_FATAL));
	single_expect_events(test, 4);
}

/* If a QP has no event handler, srnic drops the QP's events. */
static void qp_without_handler_told_nothing(struct kunit *test)
{
	single.qp->ibqp.event_handler = NULL;
	srnic_qp_tell(single.qp, BIT(IB_EVENT_QP_FATAL));
	single_expect_events(test, 0);
	KUNIT_EXPECT_EQ(test, single.qp->events, 0);
}

/*
 * If a QP has an SRQ and no connection, modify_qp to ERR raises LAST_WQE_REACHED, for which
 * ib_drain_qp() waits. Without an SRQ there is no such event.
 */
static void qp_to_err_tells_of_the_last_wqe(struct kunit *test)
{
	struct srnic_srq *srq = kunit_kzalloc(test, sizeof(*srq), GFP_KERNEL);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, srq);
	KUNIT_EXPECT_EQ(test, qp_modify(single.qp, IB_QPS_ERR), 0);
	single_expect_events(test, 0);
	KUNIT_EXPECT_EQ(test, qp_modify(single.qp, IB_QPS_RESET), 0);
	single.qp->srq = srq;
	KUNIT_EXPECT_EQ(test, qp_modify(single.qp, IB_QPS_ERR), 0);
	single_expect_events(test, 1);
	KUNIT_EXPECT_EQ(test, single.events[0], IB_EVENT_QP_LAST_WQE_REACHED);
	/* The QP is in ERR already, so there is no second event. */
	KUNIT_EXPECT_EQ(test, qp_modify(single.qp, IB_QPS_ERR), 0);
	single_expect_events(test, 1);
}

/* --- destruction --- */

/*
 * srnic_qp_end(), for destroy_qp, hides the QP from srnic_qp_find(), and waits until the last
 * reference on the QP is dropped.
 */
static void qp_end_waits_for_references(struct kunit *test)
{
	struct srnic_dev *dev = single.p->dev;
	struct srnic_qp *qp = single.qp;
	struct qp_late late = {};

	KUNIT_ASSERT_EQ(test, xa_err(xa_store_irq(&dev->qps, 7, qp, GFP_KERNEL)), 0);
	KUNIT_EXPECT_NULL(test, srnic_qp_find(dev, 8));
	KUNIT_ASSERT_PTR_EQ(test, srnic_qp_find(dev, 7), qp);
	kref_get(&qp->ref);
	INIT_DELAYED_WORK_ONSTACK(&late.work, qp_drop);
	queue_delayed_work(srnic_wq, &late.work, msecs_to_jiffies(QP_SHORT_MS));
	srnic_qp_end(qp);
	KUNIT_EXPECT_TRUE(test, late.dropped);
	cancel_delayed_work_sync(&late.work);
	destroy_delayed_work_on_stack(&late.work);
	KUNIT_EXPECT_NULL(test, srnic_qp_find(dev, 7));
	KUNIT_EXPECT_EQ(test, srnic_qp_state(qp), IB_QPS_ERR);
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&qp->flush_work));
	xa_erase_irq(&dev->qps, 7);
}

/*
 * A new QP does not get the number of the QP that was freed last: an application might take that
 * QP's completions for the new QP's. But numbers stay low, to use few nodes of an XArray.
 */
static void qp_numbers_in_turn_and_low(struct kunit *test)
{
	struct srnic_dev *dev = single.p->dev;
	u32 i, qpn, before = 0;

	xa_init_flags(&dev->qps, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_IRQ);
	atomic_set(&dev->objects.qp, 1);
	for (i = 0; i < 3 * XA_CHUNK_SIZE; i++) {
		KUNIT_ASSERT_EQ(test, srnic_qp_take_number(dev, &qpn), 0);
		KUNIT_EXPECT_NE(test, qpn, before);
		KUNIT_EXPECT_GE(test, qpn, 1);
		KUNIT_EXPECT_LT(test, qpn, XA_CHUNK_SIZE);
		xa_erase_irq(&dev->qps, qpn);
		before = qpn;
	}
	atomic_set(&dev->objects.qp, 0);
	/* With many live QPs, too, the next new number is not the one that was freed last. */
	for (i = 1; i <= QP_CROWD; i++) {
		atomic_inc(&dev->objects.qp);
		KUNIT_ASSERT_EQ(test, srnic_qp_take_number(dev, &qpn), 0);
		KUNIT_EXPECT_LT(test, qpn, max_t(u32, XA_CHUNK_SIZE, 8 * i));
		if (i % 2) {
			before = qpn;
			xa_erase_irq(&dev->qps, qpn);
			KUNIT_ASSERT_EQ(test, srnic_qp_take_number(dev, &qpn), 0);
			KUNIT_EXPECT_NE(test, qpn, before);
		}
	}
	xa_destroy(&dev->qps);
	/* All numbers below the limit are given out, even if it ends an XArray node. */
	xa_init_flags(&dev->qps, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_IRQ);
	dev->next_qpn = 0;
	atomic_set(&dev->objects.qp, XA_CHUNK_SIZE / 4 + 1);
	for (i = 1; i < 2 * XA_CHUNK_SIZE; i++) {
		KUNIT_ASSERT_EQ(test, srnic_qp_take_number(dev, &qpn), 0);
		KUNIT_EXPECT_EQ(test, qpn, i);
	}
	KUNIT_EXPECT_EQ(test, srnic_qp_take_number(dev, &qpn), -ENOMEM);
	xa_destroy(&dev->qps);
	atomic_set(&dev->objects.qp, 0);
}

/*
 * A ULP may accept a connection any number of times. At each further accept iw_cm takes another
 * reference on the QP, and never drops the one of the accept before. iw_mpa drops that one, and
 * calls iw_get_qp to find the QP. So iw_get_qp may be called any number of times: it changes
 * nothing in the QP except srnic_qp.found, which records an RCU grace period.
 */
static void qp_found_without_a_reference_leaves_no_trace(struct kunit *test)
{
	struct srnic_dev *dev = single.p->dev;
	struct srnic_qp *qp = single.qp;
	struct srnic_qp *before = kunit_kzalloc(test, sizeof(*before), GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, before);
	KUNIT_ASSERT_EQ(test, xa_err(xa_store_irq(&dev->qps, 7, qp, GFP_KERNEL)), 0);
	/* The first call lets lockdep write the class of qp->lock into the QP. */
	KUNIT_ASSERT_PTR_EQ(test, srnic_qp_find(dev, 7), qp);
	memcpy(before, qp, sizeof(*qp));
	for (i = 0; i < QP_FINDS; i++)
		KUNIT_ASSERT_PTR_EQ(test, srnic_qp_find(dev, 7), qp);
	before->found = qp->found;
	KUNIT_EXPECT_EQ(test, memcmp(before, qp, sizeof(*qp)), 0);
	xa_erase_irq(&dev->qps, 7);
}

static bool qp_is_found(void)
{
	return srnic_qp_find(single.p->dev, 7);
}

/*
 * srnic_qp_find() returns a QP that has a connection only if this end is the responder, and only
 * until SRNIC_FOUND_S seconds after open_tx(): until then iw_cm may let the ULP accept once more
 * with the same QP.
 */
static void qp_with_a_connection_is_not_found(struct kunit *test)
{
	struct srnic_dev *dev = single.p->dev;
	struct srnic_qp *qp = single.qp;

	KUNIT_ASSERT_EQ(test, xa_err(xa_store_irq(&dev->qps, 7, qp, GFP_KERNEL)), 0);
	qp->state = SRNIC_RTS;
	qp->tx.state = SRNIC_TX_SHUT;
	qp->params.initiator = true;
	KUNIT_EXPECT_FALSE(test, qp_is_found());
	qp->params.initiator = false;
	KUNIT_EXPECT_TRUE(test, qp_is_found());
	srnic_tx_open(&qp->ibqp);
	qp->tx.opened -= SRNIC_FOUND_S - 10;
	KUNIT_EXPECT_TRUE(test, qp_is_found());
	qp->tx.opened -= 11;
	KUNIT_EXPECT_FALSE(test, qp_is_found());
	qp->state = SRNIC_ENDING;
	KUNIT_EXPECT_FALSE(test, qp_is_found());
	qp->state = SRNIC_ERROR;
	KUNIT_EXPECT_TRUE(test, qp_is_found());
	xa_erase_irq(&dev->qps, 7);
}

static struct kunit_case qp_cases[] = {
	KUNIT_CASE_PARAM(qp_modified_by_the_table, qp_row_gen_params),
	KUNIT_CASE(qp_modified_by_a_process),
	KUNIT_CASE(qp_modified_by_mask),
	KUNIT_CASE(qp_that_is_new_says_init),
	KUNIT_CASE(qp_reset_forgets_what_was_posted),
	KUNIT_CASE(qp_error_flushes_in_order),
	KUNIT_CASE(qp_error_flushes_what_was_posted_twice_around),
	KUNIT_CASE(qp_flushed_by_the_end_of_the_stream_alone),
	KUNIT_CASE(qp_handler_not_called_from_within_modify),
	KUNIT_CASE(qp_to_err_flushes_soon),
	KUNIT_CASE(qp_closing_bounds_what_goes_out),
	KUNIT_CASE(qp_events_told_once),
	KUNIT_CASE(qp_without_handler_told_nothing),
	KUNIT_CASE(qp_to_err_tells_of_the_last_wqe),
	KUNIT_CASE(qp_end_waits_for_references),
	KUNIT_CASE(qp_numbers_in_turn_and_low),
	KUNIT_CASE(qp_found_without_a_reference_leaves_no_trace),
	KUNIT_CASE(qp_with_a_connection_is_not_found),
	{}
};

static struct kunit_suite qp_suite = {
	.name = "srnic_qp",
	.init = single_init,
	.exit = single_exit,
	.test_cases = qp_cases,
};

kunit_test_suite(qp_suite);

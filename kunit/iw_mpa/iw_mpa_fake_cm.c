// SPDX-License-Identifier: GPL-2.0
/* The fake iw_cm: see iw_mpa_fakes.h. */

#include "iw_mpa_fakes.h"

#include <linux/kthread.h>
#include <linux/slab.h>
#include <linux/string.h>

#define FAKE_BUDGET_ACTIVE	4	/* work items that iw_cm_connect() allocates */
#define FAKE_BUDGET_PASSIVE	3	/* the same for cm_conn_req_handler() */

static struct fake_id *fake_id_of(struct iw_cm_id *id)
{
	return container_of(id, struct fake_id, id);
}

static void fake_id_count(struct fake_id *fid, int change)
{
	unsigned long flags;

	spin_lock_irqsave(&fid->f->lock, flags);
	if (fid->refs < 1)
		fake_fault(fid->f, "a cm_id was used after its last reference");
	fid->refs += change;
	spin_unlock_irqrestore(&fid->f->lock, flags);
	wake_up_all(&fid->f->wake);
}

static void fake_add_ref(struct iw_cm_id *id)
{
	fake_id_count(fake_id_of(id), 1);
}

static void fake_rem_ref(struct iw_cm_id *id)
{
	fake_id_count(fake_id_of(id), -1);
}

static struct ib_qp *fake_id_take_qp(struct fake_id *fid)
{
	struct ib_qp *qp = fid->qp;

	fid->qp = NULL;
	return qp;
}

static int fake_id_hold_qp(struct fake_id *fid, u32 qpn)
{
	struct ib_device *ibdev = fid->id.device;
	struct ib_qp *qp = ibdev->ops.iw_get_qp(ibdev, qpn);

	if (!qp)
		return -EINVAL;
	ibdev->ops.iw_add_ref(qp);
	fid->qp = qp;
	if (fid->hide_qp)
		WRITE_ONCE(fake_qp_of(qp)->hidden, true);
	if (fid->destroy_qp)
		fake_qp_gone(fake_qp_of(qp));
	return 0;
}

static void fake_id_drop_qp(struct fake_id *fid)
{
	struct ib_qp *qp;

	spin_lock_irq(&fid->f->lock);
	qp = fake_id_take_qp(fid);
	spin_unlock_irq(&fid->f->lock);
	if (qp)
		fid->id.device->ops.iw_rem_ref(qp);
}

/* Check the fields of an event that iw_cm copies, and those that rdma_cm reads without a check. */
static void fake_check_fields(struct fake_id *fid, const struct iw_cm_event *event)
{
	bool has_data = event->event == IW_CM_EVENT_CONNECT_REQUEST ||
			event->event == IW_CM_EVENT_CONNECT_REPLY;

	if (event->private_data_len && !event->private_data)
		fake_fault(fid->f, "an event has a length but no private data");
	if (!has_data && (event->private_data || event->private_data_len))
		fake_fault(fid->f, "private data that iw_cm does not copy");
	if (event->event == IW_CM_EVENT_CONNECT_REQUEST &&
	    (!event->local_addr.ss_family || !event->remote_addr.ss_family))
		fake_fault(fid->f, "CONNECT_REQUEST without addresses");
	if (event->event == IW_CM_EVENT_CONNECT_REQUEST && !event->provider_data)
		fake_fault(fid->f, "CONNECT_REQUEST without provider_data");
}

/*
 * As process_event() of iwcm.c, but where that function has a BUG(), this one records a fault,
 * which fails the test.
 */
static void fake_step(struct fake_id *fid, const struct iw_cm_event *event,
		      struct ib_qp **qp)
{
	struct fakes *f = fid->f;

	switch (event->event) {
	case IW_CM_EVENT_CONNECT_REQUEST:
		if (event->status)
			fake_fault(f, "BUG: CONNECT_REQUEST with a status");
		if (fid->state != FAKE_LISTEN && fid->state != FAKE_DESTROYING)
			fake_fault(f, "CONNECT_REQUEST on no listener");
		break;
	case IW_CM_EVENT_CONNECT_REPLY:
		if (fid->state != FAKE_CONN_SENT)
			fake_fault(f, "BUG: CONNECT_REPLY not in CONN_SENT");
		fid->state = event->status ? FAKE_IDLE : FAKE_ESTABLISHED;
		if (event->status)
			*qp = fake_id_take_qp(fid);
		break;
	case IW_CM_EVENT_ESTABLISHED:
		if (fid->state != FAKE_CONN_RECV)
			fake_fault(f, "BUG: ESTABLISHED not in CONN_RECV");
		fid->state = FAKE_ESTABLISHED;
		break;
	case IW_CM_EVENT_DISCONNECT:
		if (fid->state == FAKE_ESTABLISHED)
			fid->state = FAKE_CLOSING;
		break;
	case IW_CM_EVENT_CLOSE:
		if (fid->state != FAKE_ESTABLISHED &&
		    fid->state != FAKE_CLOSING)
			fake_fault(f, "BUG: CLOSE in IDLE, CONN_RECV or CONN_SENT");
		fid->state = FAKE_IDLE;
		*qp = fake_id_take_qp(fid);
		break;
	default:
		fake_fault(f, "BUG: unknown event");
	}
}

static void fake_record(struct fake_id *fid, const struct iw_cm_event *event)
{
	struct fake_event *fe;

	if (fid->nr_events == FAKE_EVENTS) {
		fake_fault(fid->f, "too many events");
		return;
	}
	fe = &fid->events[fid->nr_events];
	fe->type = event->event;
	fe->status = event->status;
	fe->ird = event->ird;
	fe->ord = event->ord;
	fe->pd_len = event->private_data_len;
	if (event->private_data)
		memcpy(fe->pd, event->private_data, fe->pd_len);
	fe->local = event->local_addr;
	fe->remote = event->remote_addr;
	/* Pairs with fake_next_event(). */
	smp_store_release(&fid->nr_events, fid->nr_events + 1);
}

/* Has iw_cm a work item for the event, and memory for a copy of its private data? */
static bool fake_has_room(struct fake_id *fid, const struct iw_cm_event *event)
{
	if (!fid->budget)
		return false;
	if (fid->fail_events) {
		fid->fail_events--;
		return false;
	}
	if (fid->fail_copies && event->private_data_len) {
		fid->fail_copies--;
		return false;
	}
	return true;
}

static struct fake_id *fake_id_alloc(struct fakes *f)
{
	struct fake_id *fid = kzalloc_obj(*fid, GFP_KERNEL);

	if (fid) {
		fid->f = f;
		fid->refs = 1;
		fid->budget = FAKE_BUDGET_ACTIVE;
		fid->id.device = f->ibdev;
	}
	return fid;
}

static int fake_answer_thread(void *data)
{
	struct fake_id *child = data;

	child->answered = child->listener->answer(child);
	/* Pairs with fake_answer_of() */
	smp_store_release(&child->has_answered, true);
	wake_up_all(&child->f->wake);
	return 0;
}

/*
 * Wait until the accept or reject of @child in another thread has returned. Return its result, 0 or
 * a negative errno.
 */
int fake_answer_of(struct fake_id *child)
{
	/* Pairs with the smp_store_release() that follows the store to @answered */
	FAKE_WAIT(child->f, smp_load_acquire(&child->has_answered));
	return child->answered;
}

static int fake_event_handler(struct iw_cm_id *id, struct iw_cm_event *event);

/*
 * Make the cm_id for a CONNECT_REQUEST, as cm_conn_req_handler() of iwcm.c does. It has a single
 * reference, which is iw_cm's.
 */
static struct fake_id *fake_child(struct fake_id *lis,
				  const struct iw_cm_event *event)
{
	struct fake_id *child = fake_id_alloc(lis->f);

	if (!child) {
		fake_fault(lis->f, "out of memory");
		return NULL;
	}
	child->listener = lis;
	child->state = FAKE_CONN_RECV;
	child->budget = FAKE_BUDGET_PASSIVE;
	child->id.event_handler = fake_event_handler;
	child->id.add_ref = fake_add_ref;
	child->id.rem_ref = fake_rem_ref;
	child->id.provider_data = event->provider_data;
	child->id.local_addr = event->local_addr;
	child->id.remote_addr = event->remote_addr;
	child->id.m_local_addr = event->local_addr;
	child->id.m_remote_addr = event->remote_addr;
	return child;
}

/* The event handler of the fake iw_cm, which iw_mpa calls in any context */
static int fake_event_handler(struct iw_cm_id *id, struct iw_cm_event *event)
{
	struct fake_id *child = NULL, *fid = fake_id_of(id);
	struct fakes *f = fid->f;
	struct ib_qp *qp = NULL;
	unsigned long flags;
	bool room, dropped;

	if (event->event == IW_CM_EVENT_CONNECT_REQUEST)
		child = fake_child(fid, event);

	spin_lock_irqsave(&f->lock, flags);
	if (fid->refs < 2 - fid->destroyed)
		fake_fault(f, "an event on a cm_id without a reference");
	fake_check_fields(fid, event);
	room = fake_has_room(fid, event);
	dropped = fid->destroyed || (child && fid->drop_requests);
	fid->nr_dropped += room && dropped;
	if (room && !dropped && fid->late && fid->nr_held < ARRAY_SIZE(fid->held)) {
		fid->budget--;
		fid->held[fid->nr_held++] = *event;
	} else if (room && !dropped) {
		/* iw_cm reuses a listener's work items, so CONNECT_REQUEST does not use one up. */
		fid->budget -= !child;
		fake_step(fid, event, &qp);
		fake_record(fid, event);
		if (child)
			list_add_tail(&child->node, &f->ids);
	}
	spin_unlock_irqrestore(&f->lock, flags);

	if (qp)
		id->device->ops.iw_rem_ref(qp);
	if (child && (!room || dropped))
		kfree(child);
	else if (child && fid->answer)
		kthread_run(fake_answer_thread, child, "iw_mpa_fake");
	wake_up_all(&f->wake);
	if (!room && !in_softirq())
		wait_event_timeout(f->wake, !READ_ONCE(fid->frozen),
				   msecs_to_jiffies(FAKE_WAIT_MS));
	/*
	 * Sleep for a tick, so that the ULP may answer in another thread before the event handler
	 * has returned. In a softirq this is not possible.
	 */
	if (!in_softirq())
		schedule_timeout_uninterruptible(1);
	return room ? 0 : -ENOMEM;
}

/* Handle the events in @fid->held, which were queued while @fid->late was set, and clear @late. */
void fake_catch_up(struct fake_id *fid)
{
	struct ib_qp *qp = NULL;
	int i;

	spin_lock_irq(&fid->f->lock);
	for (i = 0; i < fid->nr_held; i++) {
		fake_step(fid, &fid->held[i], &qp);
		fake_record(fid, &fid->held[i]);
	}
	fid->late = false;
	spin_unlock_irq(&fid->f->lock);
	if (qp)
		fid->id.device->ops.iw_rem_ref(qp);
	wake_up_all(&fid->f->wake);
}

/* Return a new cm_id for 127.0.0.1, with one reference; a failure ends the test. */
struct fake_id *fake_id_create(struct fakes *f)
{
	struct sockaddr_in sin = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	struct fake_id *fid = fake_id_alloc(f);

	KUNIT_ASSERT_NOT_NULL(f->test, fid);
	fid->id.event_handler = fake_event_handler;
	fid->id.add_ref = fake_add_ref;
	fid->id.rem_ref = fake_rem_ref;
	memcpy(&fid->id.local_addr, &sin, sizeof(sin));
	fid->id.remote_addr = fid->id.local_addr;
	fid->id.m_local_addr = fid->id.local_addr;
	fid->id.m_remote_addr = fid->id.local_addr;
	fake_live_here(fid);
	spin_lock_irq(&f->lock);
	list_add_tail(&fid->node, &f->ids);
	spin_unlock_irq(&f->lock);
	return fid;
}

/*
 * As iw_cm_connect(), except that iw_connect is called even if no QP has the number @param->qpn:
 * iw_mpa has to check that.
 */
int fake_connect(struct fake_id *fid, const struct iw_cm_conn_param *param)
{
	struct iw_cm_conn_param copy = *param;
	int err;

	fid->state = FAKE_CONN_SENT;
	fake_id_hold_qp(fid, param->qpn);
	err = fid->id.device->ops.iw_connect(&fid->id, &copy);
	if (!err)
		return 0;
	if (fid->state != FAKE_CONN_SENT || fid->nr_events)
		fake_fault(fid->f, "an event of an iw_connect that failed");
	if (fid->refs != 1)
		fake_fault(fid->f, "iw_connect failed and kept the cm_id");
	fid->state = FAKE_IDLE;
	fake_id_drop_qp(fid);
	return err;
}

/* iw_cm_listen() */
int fake_listen(struct fake_id *fid)
{
	int err;

	fid->state = FAKE_LISTEN;
	fid->budget = fid->f->backlog;
	err = fid->id.device->ops.iw_create_listen(&fid->id, fid->f->backlog);
	if (!err)
		return 0;
	if (fid->refs != 1)
		fake_fault(fid->f, "iw_create_listen failed and kept the cm_id");
	fid->state = FAKE_IDLE;
	return err;
}

/*
 * As iw_cm_accept(), except that iw_accept is called even if no QP has the number @param->qpn:
 * iw_mpa has to check that.
 */
int fake_accept(struct fake_id *fid, const struct iw_cm_conn_param *param)
{
	struct iw_cm_conn_param copy = *param;
	int err;

	if (fid->state != FAKE_CONN_RECV)
		fake_fault(fid->f, "the test accepts what it cannot");
	fake_id_hold_qp(fid, param->qpn);
	err = fid->id.device->ops.iw_accept(&fid->id, &copy);
	if (!err)
		return 0;
	if (fid->state != FAKE_CONN_RECV)
		fake_fault(fid->f, "BUG: an error from accept after an event");
	if (fid->refs != 1)
		fake_fault(fid->f, "iw_accept failed and kept the cm_id");
	fid->state = FAKE_IDLE;
	fake_id_drop_qp(fid);
	return err;
}

/* Accept, if the cm_id is in CONN_RECV; as in iw_cm, iw_mpa is not called in other states. */
int fake_try_accept(struct fake_id *fid, const struct iw_cm_conn_param *param)
{
	return READ_ONCE(fid->state) == FAKE_CONN_RECV && !fid->destroyed ?
	       fake_accept(fid, param) : -EINVAL;
}

/* Reject, if the cm_id is in CONN_RECV; as in iw_cm, iw_mpa is not called in other states. */
int fake_try_reject(struct fake_id *fid)
{
	if (READ_ONCE(fid->state) != FAKE_CONN_RECV || fid->destroyed)
		return -EINVAL;
	fid->state = FAKE_IDLE;
	return fid->id.device->ops.iw_reject(&fid->id, NULL, 0);
}

static int fake_reject_thread(void *data)
{
	struct fake_id *fid = data;

	fid->answered = fake_try_reject(fid);
	/* Pairs with fake_answer_of() */
	smp_store_release(&fid->has_answered, true);
	wake_up_all(&fid->f->wake);
	return 0;
}

/*
 * Have the ULP reject a passive cm_id in another thread. Return after 100 ms, while iw_reject may
 * still be waiting; fake_answer_of() returns its result.
 */
void fake_reject_beside(struct fake_id *fid)
{
	kthread_run(fake_reject_thread, fid, "iw_mpa_fake");
	schedule_timeout_uninterruptible(HZ / 10);
}

/* iw_cm_reject() */
int fake_reject(struct fake_id *fid, const void *pd, u8 pd_len)
{
	int err;

	if (fid->state != FAKE_CONN_RECV)
		fake_fault(fid->f, "the test rejects what it cannot");
	fid->state = FAKE_IDLE;
	err = fid->id.device->ops.iw_reject(&fid->id, pd, pd_len);
	if (fid->refs != 1)
		fake_fault(fid->f, "iw_reject kept the cm_id");
	return err;
}

/* destroy_cm_id() */
void fake_destroy(struct fake_id *fid)
{
	const struct ib_device_ops *ops = &fid->id.device->ops;
	enum fake_state state;
	struct ib_qp *qp;

	spin_lock_irq(&fid->f->lock);
	fid->destroyed = true;
	state = fid->state;
	fid->state = FAKE_DESTROYING;
	qp = fake_id_take_qp(fid);
	spin_unlock_irq(&fid->f->lock);

	switch (state) {
	case FAKE_LISTEN:
		ops->iw_destroy_listen(&fid->id);
		break;
	case FAKE_ESTABLISHED:
		if (qp)
			fake_qp_disconnect(fake_qp_of(qp), true);
		break;
	case FAKE_CONN_RECV:
		ops->iw_reject(&fid->id, NULL, 0);
		break;
	case FAKE_CONN_SENT:
	case FAKE_DESTROYING:
		fake_fault(fid->f, "BUG: destroy waits for CONNECT_REPLY for ever");
		break;
	case FAKE_IDLE:
	case FAKE_CLOSING:
		break;
	}
	if (qp)
		ops->iw_rem_ref(qp);
	fake_id_count(fid, -1);
}

/* As iw_cm_disconnect(): modify the QP to SQD, which is not abrupt, and report no event */
void fake_disconnect(struct fake_id *fid)
{
	struct ib_qp *qp = NULL;

	spin_lock_irq(&fid->f->lock);
	if (fid->state == FAKE_ESTABLISHED) {
		fid->state = FAKE_CLOSING;
		qp = fid->qp;
	}
	spin_unlock_irq(&fid->f->lock);
	if (qp)
		fake_qp_disconnect(fake_qp_of(qp), false);
}

/* Return the cm_id of the oldest CONNECT_REQUEST that no earlier call has returned, or NULL. */
struct fake_id *fake_try_request(struct fake_id *listener)
{
	struct fake_id *fid, *found = NULL;

	spin_lock_irq(&listener->f->lock);
	list_for_each_entry(fid, &listener->f->ids, node) {
		if (fid->listener == listener && !fid->taken) {
			fid->taken = true;
			found = fid;
			break;
		}
	}
	spin_unlock_irq(&listener->f->lock);
	return found;
}

/*
 * Wait for a CONNECT_REQUEST, and return its cm_id: the oldest that no earlier call has returned.
 */
struct fake_id *fake_next_request(struct fake_id *listener)
{
	struct fake_id *child = NULL;

	FAKE_WAIT(listener->f, (child = fake_try_request(listener)));
	return child;
}

/* Wait for event @nr of a cm_id, counted from 0, and return it. */
const struct fake_event *fake_next_event(struct fake_id *fid, int nr)
{
	/* Pairs with fake_record(). */
	FAKE_WAIT(fid->f, smp_load_acquire(&fid->nr_events) > nr);
	return &fid->events[nr];
}

/* Wait for event @nr of a cm_id, counted from 0, and check its type and status. */
void fake_expect_event(struct fake_id *fid, int nr, enum iw_cm_event_type type,
		       int status)
{
	const struct fake_event *event = fake_next_event(fid, nr);

	KUNIT_EXPECT_EQ(fid->f->test, event->type, type);
	KUNIT_EXPECT_EQ(fid->f->test, event->status, status);
}

/*
 * Wait until iw_mpa has no reference on the cm_id, and expect that it has reported @nr_events
 * events.
 */
void fake_expect_closed(struct fake_id *fid, int nr_events)
{
	FAKE_WAIT(fid->f, READ_ONCE(fid->refs) == 1);
	KUNIT_EXPECT_EQ(fid->f->test, fid->nr_events, nr_events);
}

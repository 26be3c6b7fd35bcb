// SPDX-License-Identifier: GPL-2.0
/*
 * A hash table, shared by all devices, finds endpoints by the numbers of their
 * QPs. An XArray would allocate and free a node for each connection whose QP
 * number has no neighbours.
 */

#include "ep.h"
#include "device.h"
#include "iwcm.h"

#include <linux/export.h>
#include <linux/hash.h>
#include <linux/list_bl.h>
#include <linux/sched.h>
#include <linux/wait_bit.h>
#include <rdma/ib_verbs.h>

/* With 100,000 endpoints each bucket has 12 of them on average. */
#define QP_TABLE_BITS	13

static struct hlist_bl_head qp_table[BIT(QP_TABLE_BITS)];

/* Hash QP numbers: those of a driver may be multiples of a power of two. */
static struct hlist_bl_head *qp_bucket(u32 qpn)
{
	return &qp_table[hash_32(qpn, QP_TABLE_BITS)];
}

/* Return: the endpoint to which a QP is bound, or NULL. Bucket is locked. */
static struct iw_mpa_ep *qp_owner(struct hlist_bl_head *bucket,
				  const struct iw_mpa_device *dev, u32 qpn)
{
	struct hlist_bl_node *node;
	struct iw_mpa_ep *ep;

	hlist_bl_for_each_entry(ep, node, bucket, bound) {
		if (ep->off.qpn == qpn && ep->dev == dev)
			return ep;
	}
	return NULL;
}

/* Return: false if the QP is bound to another endpoint. */
static bool qp_set_taken(struct iw_mpa_ep *ep, u32 qpn)
{
	struct hlist_bl_head *bucket = qp_bucket(qpn);
	bool vacant;

	hlist_bl_lock(bucket);
	vacant = !qp_owner(bucket, ep->dev, qpn);
	if (vacant) {
		ep->off.qpn = qpn;
		hlist_bl_add_head(&ep->bound, bucket);
	}
	hlist_bl_unlock(bucket);
	return vacant;
}

static void qp_set_free(struct iw_mpa_ep *ep)
{
	struct hlist_bl_head *bucket = qp_bucket(ep->off.qpn);

	hlist_bl_lock(bucket);	/* pairs with qp_is_unbound() */
	hlist_bl_del_init(&ep->bound);
	hlist_bl_unlock(bucket);
	wake_up_var(&ep->off);
}

/* Return: 0; -EINVAL if there is no such QP, -EBUSY if it has a connection. */
int iw_mpa_qp_bind(struct iw_mpa_ep *ep, u32 qpn)
{
	if (!qp_set_taken(ep, qpn))
		return -EBUSY;
	/* If destroy_qp has begun, get_qp() fails or qp_end() finds @ep. */
	ep->off.qp = ep->dev->get_qp(ep->dev->ibdev, qpn);
	if (!ep->off.qp) {
		qp_set_free(ep);
		ep->off.qpn = 0;
		return -EINVAL;
	}
	/* The caller of iw_connect or iw_accept has a reference on the QP. */
	ep->dev->ibdev->ops.iw_add_ref(ep->off.qp);
	ep->user = ep->off.qp->uobject;
	/*
	 * If the work item was queued before ep->user was set, it is in
	 * iw_mpa_wq, as those of storage are. There it might run for a later
	 * event, wait for the application, and hold up storage. So cancel it:
	 * this context, within iw_connect or iw_accept, handles the pending
	 * events, or queues the work item again, in iw_mpa_user_wq.
	 */
	if (ep->user && cancel_work(&ep->work))
		iw_mpa_ep_drop(ep);
	return 0;
}

/* Unbind the QP, once the driver does not use the endpoint any more. */
void iw_mpa_qp_unbind(struct iw_mpa_ep *ep)
{
	struct ib_qp *qp = ep->off.qp;

	if (qp) {
		/* Pairs with iw_mpa_ep_check_call() */
		WRITE_ONCE(ep->off.qp, NULL);
		qp->device->ops.iw_rem_ref(qp);
		qp_set_free(ep);
	}
}

/*
 * wake_up_var() checks for waiters without a barrier. qp_set_free() and this
 * function take the lock of the same bucket, which serves as the barrier:
 * either this function finds the endpoint unbound, or wake_up_var() finds the
 * task that waits for that.
 */
static bool qp_is_unbound(struct hlist_bl_head *bucket,
			  const struct iw_mpa_ep *ep)
{
	bool unbound;

	hlist_bl_lock(bucket);
	unbound = hlist_bl_unhashed(&ep->bound);
	hlist_bl_unlock(bucket);
	return unbound;
}

/* End the connection of a QP, and wait until the QP is unbound. */
static void qp_end(struct iw_mpa_device *dev, const struct ib_qp *qp)
{
	struct hlist_bl_head *bucket = qp_bucket(qp->qp_num);
	struct iw_mpa_ep *ep;
	bool within;

	hlist_bl_lock(bucket);
	ep = qp_owner(bucket, dev, qp->qp_num);
	if (ep)
		iw_mpa_ep_hold(ep);
	hlist_bl_unlock(bucket);
	within = ep && READ_ONCE(ep->runner) == current;
	if (!within)
		iw_mpa_event_may_wait();
	if (!ep)
		return;
	iw_mpa_raise(ep, IW_MPA_EV_QP_GONE);
	if (within)
		iw_mpa_blame("%s: connection %lu: iw_mpa_qp_gone() waits for the op that calls it",
			     dev_name(&qp->device->dev), ep->id);
	else
		wait_var_event(&ep->off, qp_is_unbound(bucket, ep));
	iw_mpa_ep_drop(ep);
}

/**
 * iw_mpa_qp_gone - end the connection of a QP that is being destroyed
 * @qp: the QP
 * @end: memory for iw_mpa, until iw_mpa_qp_freed()
 *
 * destroy_qp calls this once iw_get_qp returns NULL for the QP, and all callers
 * that found the QP before have taken their references: a grace period of RCU
 * ensures that. If the QP has a connection, it ends, whatever its state is.
 * After return no op of the driver runs or will run for the QP, and iw_mpa has
 * no reference on it. iw_cm drops its own reference when it handles the last
 * event.
 *
 * Context: process; sleeps. No lock that an op of the driver takes may be held.
 */
void iw_mpa_qp_gone(struct ib_qp *qp, struct iw_mpa_qp_end *end)
{
	end->qp = qp;
	end->dev = iw_mpa_device_get(qp->device);
	if (!end->dev) {
		iw_mpa_event_may_wait();
		return;
	}
	if (end->dev->get_qp(qp->device, qp->qp_num) == qp)
		iw_mpa_blame("%s: iw_get_qp finds the QP %u, which is being destroyed",
			     dev_name(&qp->device->dev), qp->qp_num);
	qp_end(end->dev, qp);
	iw_mpa_iwcm_qp_gone(end);
}
EXPORT_SYMBOL_GPL(iw_mpa_qp_gone);

/**
 * iw_mpa_qp_freed - the last reference on a QP was dropped
 * @end: as passed to iw_mpa_qp_gone()
 *
 * destroy_qp calls this after its wait for references, before each return.
 *
 * Context: process; does not sleep.
 */
void iw_mpa_qp_freed(struct iw_mpa_qp_end *end)
{
	struct iw_mpa_device *dev = end->dev;

	if (!dev)
		return;
	iw_mpa_iwcm_qp_freed(end);
	iw_mpa_device_put(dev);
}
EXPORT_SYMBOL_GPL(iw_mpa_qp_freed);

// SPDX-License-Identifier: GPL-2.0
/*
 * Which endpoint has which QP. A table that all devices share has the endpoints by the numbers of
 * their QPs. An XArray would grow a node for a lone QP, and free it again, in each connection.
 *
 * iw_cm may forget a reference on a QP: see cm.c. The driver waits for this reference before
 * it frees the QP. iw_get_qp may not find the QP any more. If the driver has called
 * iw_mpa_qp_gone(), the QP is in a list until it is freed, so it is found, and the reference is
 * given back. If not, the library notes a debt, and pays it when the driver calls.
 */

#include "qp.h"
#include "device.h"
#include "ep.h"
#include "event.h"
#include "offload.h"

#include <linux/export.h>
#include <linux/hash.h>
#include <linux/list_bl.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include <rdma/ib_verbs.h>

/**
 * struct qp_debt - a reference of iw_cm that nobody can give back yet
 * @node: in the device's list, under its lock
 * @qpn: number of the QP, for which the driver is going to call iw_mpa_qp_gone()
 */
struct qp_debt {
	struct list_head	node;
	u32			qpn;
};

/* With 100,000 endpoints a bucket has 12. */
#define QP_TABLE_BITS	13

static struct hlist_bl_head qp_table[BIT(QP_TABLE_BITS)];

/* Numbers of one driver may be multiples of a power of two. */
static struct hlist_bl_head *qp_bucket(u32 qpn)
{
	return &qp_table[hash_32(qpn, QP_TABLE_BITS)];
}

/* The endpoint that has a QP, or NULL. The bucket is locked. */
static struct iw_mpa_ep *qp_owner(struct hlist_bl_head *bucket, const struct iw_mpa_device *dev,
				  u32 qpn)
{
	struct hlist_bl_node *node;
	struct iw_mpa_ep *ep;

	hlist_bl_for_each_entry(ep, node, bucket, bound) {
		if (ep->off.qpn == qpn && ep->dev == dev)
			return ep;
	}
	return NULL;
}

/* Return: false if another endpoint has the QP. */
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
	/* If the QP is being destroyed, it is not found, or qp_end() finds the endpoint. */
	ep->off.qp = iw_mpa_offload_get_qp(ep->dev->ibdev, qpn);
	if (!ep->off.qp) {
		qp_set_free(ep);
		ep->off.qpn = 0;
		return -EINVAL;
	}
	ep->user = ep->off.qp->uobject;
	return 0;
}

/* The driver does not use the endpoint any more. */
void iw_mpa_qp_unbind(struct iw_mpa_ep *ep)
{
	struct ib_qp *qp = ep->off.qp;

	if (qp) {
		ep->off.qp = NULL;
		iw_mpa_offload_put_qp(qp);
		qp_set_free(ep);
	}
}

/*
 * The QP is being destroyed, or its driver hides it.
 *
 * A debt must not be lost, and iw_accept has no way to fail: see cm.c. Memory for it cannot
 * be set aside with the QP of a connection, since iw_cm may forget any number of references on a
 * QP, also on one that never had a connection. So the allocation waits until there is memory.
 */
static void qp_owe(struct iw_mpa_device *dev, u32 qpn)
{
	struct qp_debt *debt = kmalloc_obj(*debt, GFP_NOIO | __GFP_NOFAIL);
	struct iw_mpa_qp_end *end;
	struct ib_qp *qp = NULL;

	debt->qpn = qpn;
	spin_lock(&dev->lock);
	list_for_each_entry(end, &dev->ending_qps, node) {
		if (end->qp->qp_num == qpn)
			qp = end->qp;
	}
	if (!qp)
		list_add(&debt->node, &dev->debts);
	spin_unlock(&dev->lock);
	if (qp) {	/* destroy_qp waits for the reference: so the QP is still there */
		kfree(debt);
		iw_mpa_offload_put_qp(qp);
	}
}

/*
 * iw_cm has forgotten a reference on the QP, which keeps its number as long as there is the
 * reference. It is dropped at once, or as soon as the driver calls iw_mpa_qp_gone(). This sleeps.
 */
void iw_mpa_qp_give_back(struct iw_mpa_device *dev, u32 qpn)
{
	struct ib_qp *qp = iw_mpa_offload_find_qp(dev->ibdev, qpn);

	if (qp)
		iw_mpa_offload_put_qp(qp);
	else
		qp_owe(dev, qpn);
}

/* Give back what iw_cm has forgotten of the QP. From now on qp_owe() finds the QP. */
static void qp_pay_debts(struct iw_mpa_device *dev, struct iw_mpa_qp_end *end)
{
	struct qp_debt *debt, *next;
	LIST_HEAD(paid);

	spin_lock(&dev->lock);
	list_add(&end->node, &dev->ending_qps);
	list_for_each_entry_safe(debt, next, &dev->debts, node) {
		if (debt->qpn == end->qp->qp_num)
			list_move(&debt->node, &paid);
	}
	spin_unlock(&dev->lock);
	list_for_each_entry_safe(debt, next, &paid, node) {
		iw_mpa_offload_put_qp(end->qp);
		kfree(debt);
	}
}

/*
 * wake_up_var() looks for waiters without a barrier. qp_set_free() and this function take the same
 * lock, which serves as the barrier: either the endpoint is gone here, or the waker finds the
 * waiter.
 */
static bool qp_is_unbound(struct hlist_bl_head *bucket, const struct iw_mpa_ep *ep)
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

	hlist_bl_lock(bucket);
	ep = qp_owner(bucket, dev, qp->qp_num);
	if (ep)
		iw_mpa_ep_get(ep);
	hlist_bl_unlock(bucket);
	if (!ep)
		return;
	iw_mpa_raise(ep, IW_MPA_EV_QP_GONE);
	wait_var_event(&ep->off, qp_is_unbound(bucket, ep));
	iw_mpa_ep_put(ep);
}

/**
 * iw_mpa_qp_gone - wait until no connection uses a QP
 * @qp: the QP
 * @end: room for the library's notes, until iw_mpa_qp_freed()
 *
 * destroy_qp calls this when iw_get_qp returns NULL for the QP, and whoever has found the QP before
 * that has taken a reference: a grace period of RCU is enough. A connection of the QP ends, in
 * whatever state it is. After return no op runs or will run for the QP, and the library
 * has no reference on it. iw_cm drops its reference when it handles the event. If iw_cm forgets a
 * reference the library gives it back.
 *
 * Context: process, sleeps; no lock that an op takes may be held.
 */
void iw_mpa_qp_gone(struct ib_qp *qp, struct iw_mpa_qp_end *end)
{
	iw_mpa_event_may_wait();
	end->qp = qp;
	end->dev = iw_mpa_device_get(qp->device);
	if (!end->dev)
		return;
	qp_end(end->dev, qp);
	qp_pay_debts(end->dev, end);
}
EXPORT_SYMBOL_GPL(iw_mpa_qp_gone);

/**
 * iw_mpa_qp_freed - nobody has a reference on a QP any more
 * @end: of iw_mpa_qp_gone()
 *
 * destroy_qp calls this when it has waited for the last reference, and on every other way out.
 *
 * Context: process, does not sleep.
 */
void iw_mpa_qp_freed(struct iw_mpa_qp_end *end)
{
	struct iw_mpa_device *dev = end->dev;

	if (!dev)
		return;
	spin_lock(&dev->lock);
	list_del(&end->node);
	spin_unlock(&dev->lock);
	iw_mpa_device_put(dev);
}
EXPORT_SYMBOL_GPL(iw_mpa_qp_freed);

/* The device goes, with all its QPs. */
void iw_mpa_qp_forget_debts(struct iw_mpa_device *dev)
{
	struct qp_debt *debt, *next;

	list_for_each_entry_safe(debt, next, &dev->debts, node)
		kfree(debt);
}

// SPDX-License-Identifier: GPL-2.0
/* Which endpoint has which QP. */

#include "qp.h"
#include "ep.h"
#include "event.h"
#include "offload.h"
#include "rnic.h"

#include <linux/slab.h>
#include <linux/wait_bit.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

/**
 * struct qp_debt - a reference of iw_cm that nobody can give back yet
 * @node: in the device's list, under its lock
 * @qpn: number of the QP, which is being destroyed, and waits for the reference
 */
struct qp_debt {
	struct list_head	node;
	u32			qpn;
};

/**
 * iw_mpa_qp_bind - give an endpoint its QP
 * @ep: endpoint without one
 * @qpn: number of the QP
 *
 * Context: the runner.
 *
 * Return: 0; -EINVAL if there is no such QP, -EBUSY if it has a connection,
 * -ENOMEM.
 */
int iw_mpa_qp_bind(struct iw_mpa_ep *ep, u32 qpn)
{
	struct iw_mpa_device *dev = ep->dev;
	int err;

	err = xa_insert(&dev->qps, qpn, ep, GFP_NOIO);
	if (err)
		return err;
	/*
	 * iw_cm has a reference on it. If it is being destroyed, either we do
	 * not get it any more, or iw_mpa_qp_end() finds us.
	 */
	err = iw_mpa_offload_bind(&ep->off, dev->ibdev, qpn);
	if (err) {
		xa_erase(&dev->qps, qpn);	/* pairs with qp_is_unbound() */
		wake_up_var(&ep->off);
	}
	return err;
}

/**
 * iw_mpa_qp_unbind - take an endpoint's QP away, if it has one
 * @ep: endpoint that the driver does not use any more
 *
 * Context: the runner.
 */
void iw_mpa_qp_unbind(struct iw_mpa_ep *ep)
{
	if (!ep->off.qp)
		return;
	iw_mpa_offload_unbind(&ep->off);
	xa_erase(&ep->dev->qps, ep->off.qpn);	/* pairs with qp_is_unbound() */
	wake_up_var(&ep->off);
}

/**
 * iw_mpa_qp_find - the endpoint that was accepted for a cm_id, while it has a QP
 * @dev: its device
 * @id: the cm_id
 *
 * This looks at all QPs that are bound: it is for ULPs that answer twice.
 *
 * Context: process.
 *
 * Return: the endpoint with a reference, or NULL.
 */
struct iw_mpa_ep *iw_mpa_qp_find(struct iw_mpa_device *dev, const struct iw_cm_id *id)
{
	struct iw_mpa_ep *ep;
	unsigned long qpn;

	xa_for_each(&dev->qps, qpn, ep) {
		bool found = false;

		xa_lock(&dev->qps);
		/* The endpoint holds the cm_id: no other can have its address. */
		if (xa_load(&dev->qps, qpn) == ep && READ_ONCE(ep->up.cm_id) == id) {
			iw_mpa_ep_get(ep);
			found = true;
		}
		xa_unlock(&dev->qps);
		if (found)
			return ep;
	}
	return NULL;
}

/* Give back what iw_cm has forgotten of a QP that nobody could find then. */
static void qp_pay_debts(struct iw_mpa_device *dev, struct ib_qp *qp)
{
	struct qp_debt *debt, *next;
	LIST_HEAD(paid);

	spin_lock(&dev->lock);
	list_for_each_entry_safe(debt, next, &dev->debts, node) {
		if (debt->qpn == qp->qp_num)
			list_move(&debt->node, &paid);
	}
	spin_unlock(&dev->lock);
	list_for_each_entry_safe(debt, next, &paid, node) {
		iw_mpa_offload_put_qp(qp);
		kfree(debt);
	}
}

/**
 * iw_mpa_qp_owe - iw_cm has forgotten a reference on a QP that cannot be found
 * @dev: device
 * @qpn: number of the QP, which is being destroyed: it keeps the number until it has the
 *	reference back
 *
 * Its driver is going to call iw_mpa_qp_gone(), which gives it back.
 *
 * Context: process.
 */
void iw_mpa_qp_owe(struct iw_mpa_device *dev, u32 qpn)
{
	struct qp_debt *debt = kmalloc(sizeof(*debt), GFP_NOIO | __GFP_NOFAIL);

	debt->qpn = qpn;
	spin_lock(&dev->lock);
	list_add(&debt->node, &dev->debts);
	spin_unlock(&dev->lock);
}

/*
 * wake_up_var() looks for waiters without a barrier. The lock, which xa_erase() takes too, stands
 * in for one: either the endpoint is found to be gone here, or the waker finds us waiting.
 */
static bool qp_is_unbound(struct iw_mpa_device *dev, u32 qpn, const struct iw_mpa_ep *ep)
{
	bool unbound;

	xa_lock(&dev->qps);
	unbound = xa_load(&dev->qps, qpn) != ep;
	xa_unlock(&dev->qps);
	return unbound;
}

/**
 * iw_mpa_qp_end - end the connection of a QP and wait until it is unbound
 * @dev: device
 * @qp: the QP
 *
 * Context: process, sleeps.
 */
void iw_mpa_qp_end(struct iw_mpa_device *dev, struct ib_qp *qp)
{
	struct iw_mpa_ep *ep;

	xa_lock(&dev->qps);
	ep = xa_load(&dev->qps, qp->qp_num);
	if (ep)
		iw_mpa_ep_get(ep);
	xa_unlock(&dev->qps);
	if (ep) {
		iw_mpa_raise(ep, IW_MPA_EV_QP_GONE);
		wait_var_event(&ep->off, qp_is_unbound(dev, qp->qp_num, ep));
		iw_mpa_ep_put(ep);
	}
	if (!list_empty_careful(&dev->debts))
		qp_pay_debts(dev, qp);
}

/**
 * iw_mpa_qp_forget_debts - the device goes, with all its QPs
 * @dev: device
 *
 * Context: process; nobody else uses @dev.
 */
void iw_mpa_qp_forget_debts(struct iw_mpa_device *dev)
{
	struct qp_debt *debt, *next;

	list_for_each_entry_safe(debt, next, &dev->debts, node)
		kfree(debt);
}

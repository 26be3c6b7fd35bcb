// SPDX-License-Identifier: GPL-2.0
/* iw_connect, iw_accept, iw_reject: what iw_cm asks of a connection. */

#include "connect.h"
#include "action.h"
#include "config.h"
#include "device.h"
#include "ep.h"
#include "rnic.h"
#include "run.h"

#include <linux/jiffies.h>
#include <rdma/ib_verbs.h>
#include <rdma/iw_cm.h>

/*
 * What the ULP asks for, within what the device can: rdma_cm hands on 255 for
 * "as much as you have", and what the peer offered.
 */
static int connect_set_depths(struct iw_mpa_ep *ep,
			      const struct iw_cm_conn_param *param)
{
	struct iw_mpa_local *local = &ep->local;

	if (local->strict &&
	    (param->ird > local->max_ird || param->ord > local->max_ord))
		return -EINVAL;
	local->ird = min_t(u32, param->ird, local->max_ird);
	local->ord = min_t(u32, param->ord, local->max_ord);
	return 0;
}

/* By the application's ports, not by those that a port mapper put in their place. */
static bool connect_peer_to_peer(const struct iw_mpa_ep *ep,
				 struct iw_cm_id *id)
{
	u16 local = ntohs(*iw_mpa_sock_port(&id->local_addr));
	u16 remote = ntohs(*iw_mpa_sock_port(&id->remote_addr));

	return iw_mpa_config_peer_to_peer(iw_mpa_ep_config(ep),
					  READ_ONCE(ep->dev->peer_to_peer),
					  local, remote);
}

static u16 connect_pd_len(const struct iw_cm_conn_param *param)
{
	return param->private_data ? param->private_data_len : 0;
}

static u16 connect_pd_max(const struct iw_mpa_ep *ep, bool enhanced)
{
	return IW_MPA_PD_MAX - ep->dev->attr.pd_size -
	       (enhanced ? IW_MPA_ENHANCED_SIZE : 0);
}

/*
 * A second try, with revision 1, has what the first has left of the time for TCP and the Reply:
 * a program that ends waits for its connection, and not twice.
 */
static unsigned long connect_deadline(const struct iw_mpa_ep *ep)
{
	const struct iw_mpa_config *config = iw_mpa_ep_config(ep);

	return (jiffies + msecs_to_jiffies(READ_ONCE(config->connect_timeout_ms)) +
		msecs_to_jiffies(READ_ONCE(config->reply_timeout_ms))) | 1;
}

/*
 * Start an initiator that has its device but is not linked yet. On error
 * nothing is left of it but its memory.
 */
static int connect_start(struct iw_mpa_ep *ep, struct iw_cm_id *id, u32 qpn)
{
	int err;

	err = iw_mpa_ep_bind_qp(ep, qpn);
	if (err)
		return err;
	iw_mpa_upcall_connecting(&ep->up, id);
	err = iw_mpa_act_open(ep);
	if (!err) {
		err = iw_mpa_ep_link(ep, NULL, NULL);
		if (err)
			iw_mpa_sock_release(&ep->sock);
	}
	if (err) {
		iw_mpa_upcall_cancel(&ep->up);
		iw_mpa_ep_unbind_qp(ep);
	}
	return err;
}

/**
 * iw_mpa_connect - iw_cm's iw_connect
 * @id: new cm_id, with its mapped addresses set
 * @param: the ULP's wishes; not kept
 *
 * Context: process; does not wait for the peer.
 *
 * Return: 0, then exactly one CONNECT_REPLY follows, maybe before the return; or a
 * negative errno, then no event follows: -EINVAL for private data that is too
 * long, for a QP that does not exist and, with strict_ird_ord, for depths above
 * the device's; -EBUSY if the QP has a connection; -EADDRINUSE if TCP uses the
 * source port and may not choose another; -ENETUNREACH and others of TCP; -ENODEV;
 * -ENOMEM.
 */
int iw_mpa_connect(struct iw_cm_id *id, struct iw_cm_conn_param *param)
{
	struct iw_mpa_device *dev;
	struct iw_mpa_ep *ep;
	int err = -EINVAL;

	dev = iw_mpa_device_get(id->device);
	if (!dev)
		return -ENODEV;
	if (param->private_data_len > IW_MPA_PD_MAX)
		goto put_dev;
	ep = iw_mpa_ep_alloc(dev, true, param->private_data,
			     connect_pd_len(param));
	if (!ep) {
		err = -ENOMEM;
		goto put_dev;
	}
	if (param->private_data_len >
	    connect_pd_max(ep, ep->local.rev >= IW_MPA_REV_2))
		goto put_ep;
	err = connect_set_depths(ep, param);
	if (err)
		goto put_ep;
	ep->local.p2p = connect_peer_to_peer(ep, id);
	ep->fallback = ep->local.rev > IW_MPA_REV_1 &&
		       READ_ONCE(iw_mpa_ep_config(ep)->v1_fallback);
	ep->connect_by = connect_deadline(ep);

	err = connect_start(ep, id, param->qpn);
	if (err)
		goto put_ep;
	iw_mpa_ep_get(ep);
	iw_mpa_run_event(ep, IW_MPA_EV_CONNECTING);
	/* To an address of this host TCP is up already: no hop to the work item. */
	iw_mpa_run(ep, true);
	iw_mpa_ep_put(ep);
	iw_mpa_device_put(dev);
	return 0;

put_ep:
	iw_mpa_ep_put(ep);
put_dev:
	iw_mpa_device_put(dev);
	return err;
}

static int accept_start(struct iw_mpa_ep *ep, struct iw_cm_id *id,
			const struct iw_cm_conn_param *param)
{
	int err;

	if (param->private_data_len > connect_pd_max(ep, ep->peer.enhanced))
		return -EINVAL;
	err = connect_set_depths(ep, param);
	if (err)
		return err;
	err = iw_mpa_ep_bind_qp(ep, param->qpn);
	if (err)
		return err;
	iw_mpa_ep_note_accept(ep, ep->off.qp);
	iw_mpa_upcall_accepting(&ep->up, id);
	return 0;
}

/*
 * Another iw_accept, before iw_cm has come to handle ESTABLISHED. It has replaced the
 * QP reference that it took for the one before, and forgotten it: give it back. An
 * error would have iw_cm believe that nothing follows, so the call does nothing, with
 * success. The connection may even have ended: @ep is NULL then.
 */
static int accept_again(struct iw_mpa_ep *ep, struct iw_cm_id *id, u32 qpn)
{
	const struct ib_device_ops *ops = &id->device->ops;
	struct ib_qp *qp = ops->iw_get_qp(id->device, qpn);
	struct ib_qp *before = NULL;

	if (ep)
		before = iw_mpa_ep_note_accept(ep, qp);
	if (!before)
		before = iw_mpa_ep_note_late_accept(id, qp);
	if (!before && !ep)
		return -ECONNRESET;
	pr_warn_ratelimited("iw_mpa: QP %u: accept of an accepted connection\n",
			    qpn);
	if (before)
		ops->iw_rem_ref(before);
	return 0;
}

static bool accept_is_first(struct iw_mpa_ep *ep)
{
	bool first;

	spin_lock_irq(&ep->lock);
	first = !ep->accepted;
	ep->accepted = true;
	spin_unlock_irq(&ep->lock);
	return first;
}

/**
 * iw_mpa_accept - iw_cm's iw_accept
 * @id: the new connection's cm_id; its provider_data is the endpoint
 * @param: the ULP's wishes; not kept
 *
 * The hand-off is done in the caller's context. An error tells the peer too: it
 * gets a Reject. iw_cm lets a ULP call again until it has handled ESTABLISHED: each
 * further call returns 0, and gives back iw_cm's reference on the QP of the one before.
 *
 * Context: process; does not wait for the peer.
 *
 * Return: 0, then exactly one ESTABLISHED follows, maybe before the return; or a
 * negative errno, then no event follows: -ECONNRESET if the connection has ended
 * meanwhile; -EINVAL, -EBUSY, -ENOMEM as for iw_mpa_connect(); others as the
 * hand-off failed.
 */
int iw_mpa_accept(struct iw_cm_id *id, struct iw_cm_conn_param *param)
{
	struct iw_mpa_ep *ep = iw_mpa_ep_of_id(id);
	int err;

	if (!ep)
		return accept_again(NULL, id, param->qpn);
	if (!accept_is_first(ep)) {
		err = accept_again(ep, id, param->qpn);
		goto put_ep;
	}
	if (!iw_mpa_run_claim(ep, IW_MPA_ST_REQ_INDICATED)) {
		err = -ECONNRESET;
		goto leave_id;
	}

	err = accept_start(ep, id, param);
	if (err) {
		iw_mpa_run_set_error(ep, IW_MPA_R_LOCAL, err);
		iw_mpa_run_event(ep, IW_MPA_EV_ACCEPT_FAILED);
	} else {
		ep->reply_pd = param->private_data;
		ep->reply_pd_len = connect_pd_len(param);
		iw_mpa_run_event(ep, IW_MPA_EV_ULP_ACCEPTED);
		ep->reply_pd = NULL;
		ep->reply_pd_len = 0;
		/* Once an event told of the failure, accept has succeeded. */
		if (ep->up.phase != IW_MPA_UP_SILENT)
			err = iw_mpa_reason_errno(ep->reason);
	}
	if (err)
		iw_mpa_upcall_cancel(&ep->up);
	iw_mpa_run_unclaim(ep);
leave_id:
	if (err)
		iw_mpa_ep_leave_id(ep, id);
put_ep:
	iw_mpa_ep_put(ep);
	return err;
}

/* Somebody else is the runner, and about to raise an event that iw_cm now takes for a bug. */
static void reject_later(struct iw_mpa_ep *ep)
{
	spin_lock_irq(&ep->lock);
	ep->rejected = true;
	spin_unlock_irq(&ep->lock);
}

/**
 * iw_mpa_reject - iw_cm's iw_reject
 * @id: the new connection's cm_id; its provider_data is the endpoint
 * @pd: private data, or NULL; not kept
 * @pd_len: octets at @pd
 *
 * A connection that was accepted, and waits for the RTR message, is ended; iw_cm
 * does not expect an event any more then.
 *
 * Context: process; does not wait for the peer.
 *
 * Return: 0, or -ECONNRESET if the connection has ended meanwhile. No event
 * follows.
 */
int iw_mpa_reject(struct iw_cm_id *id, const void *pd, u8 pd_len)
{
	struct iw_mpa_ep *ep = iw_mpa_ep_of_id(id);
	int err = 0;

	if (!ep)
		return -ECONNRESET;
	if (iw_mpa_run_claim(ep, IW_MPA_ST_REQ_INDICATED)) {
		ep->reply_pd = pd;
		ep->reply_pd_len = pd ? pd_len : 0;
		iw_mpa_run_event(ep, IW_MPA_EV_ULP_REJECTED);
		ep->reply_pd = NULL;
		ep->reply_pd_len = 0;
		iw_mpa_run_unclaim(ep);
	} else if (iw_mpa_run_claim(ep, IW_MPA_ST_AWAIT_RTR)) {
		iw_mpa_upcall_cancel(&ep->up);
		iw_mpa_run_event(ep, IW_MPA_EV_ULP_CLOSED);
		iw_mpa_run_unclaim(ep);
	} else {
		reject_later(ep);
		err = -ECONNRESET;
	}
	iw_mpa_ep_leave_id(ep, id);
	iw_mpa_ep_put(ep);
	return err;
}

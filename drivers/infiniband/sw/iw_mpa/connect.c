// SPDX-License-Identifier: GPL-2.0
/* iw_connect, iw_accept, iw_reject: what iw_cm asks of a connection. */

#include "connect.h"
#include "config.h"
#include "device.h"
#include "ep.h"
#include "event.h"
#include "question.h"
#include "rnic.h"
#include "run.h"
#include "stats.h"

#include <linux/jiffies.h>
#include <rdma/ib_verbs.h>
#include <rdma/iw_cm.h>

/* By the application's ports, not by those that a port mapper put in their place. */
static bool connect_peer_to_peer(const struct iw_mpa_ep *ep,
				 struct iw_cm_id *id)
{
	u16 local = ntohs(*iw_mpa_addr_port(iw_mpa_addr(&id->local_addr)));
	u16 remote = ntohs(*iw_mpa_addr_port(iw_mpa_addr(&id->remote_addr)));

	return iw_mpa_config_peer_to_peer(ep->config,
					  READ_ONCE(ep->dev->peer_to_peer),
					  local, remote);
}

/*
 * A second try, with revision 1, has what the first has left of the time for TCP and the Reply:
 * a program that ends waits for its connection, and not twice.
 */
static unsigned long connect_deadline(const struct iw_mpa_ep *ep)
{
	return (jiffies + msecs_to_jiffies(READ_ONCE(ep->config->connect_timeout_ms)) +
		msecs_to_jiffies(READ_ONCE(ep->config->reply_timeout_ms))) | 1;
}

static u16 connect_pd_len(const struct iw_cm_conn_param *param)
{
	return param->private_data ? param->private_data_len : 0;
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
	struct iw_mpa_call call = { .id = id, .param = param };
	struct iw_mpa_device *dev;
	struct iw_mpa_ep *ep;
	struct net *net;
	int err;

	if (param->private_data_len > IW_MPA_PD_MAX)
		return -EINVAL;
	dev = iw_mpa_device_get(id->device);
	if (!dev)
		return -ENODEV;
	net = iw_mpa_device_get_net(dev);
	if (!net) {
		err = -ENODEV;
		goto put_device;
	}
	ep = iw_mpa_ep_alloc(dev, net, true, param->private_data, connect_pd_len(param));
	put_net(net);
	if (!ep) {
		err = -ENOMEM;
		goto put_device;
	}
	iw_mpa_event_setup(ep);
	err = iw_mpa_ep_register(ep);
	if (err)
		goto put;

	ep->local.p2p = connect_peer_to_peer(ep, id);
	ep->fallback = ep->local.rev > IW_MPA_REV_1 && READ_ONCE(ep->config->v1_fallback);
	ep->try_until = connect_deadline(ep);
	ep->call = &call;
	iw_mpa_ep_get(ep);
	/* To an address of this host TCP is up at once: no hop to the work item. */
	iw_mpa_run(ep, IW_MPA_EV_ULP_CONNECTS);
	err = call.err;
put:
	iw_mpa_ep_put(ep);
put_device:
	iw_mpa_device_put(dev);
	return err;
}

/*
 * Another iw_accept, before iw_cm has come to handle ESTABLISHED. It has replaced the reference
 * that it took on the QP of the one before, and forgotten it. If that is another QP than the
 * connection's, iw_cm would close the wrong one from now on, and its reference would keep that one
 * as long as the connection lives. So the connection ends, and iw_cm gives the reference back.
 */
static int accept_again(struct iw_cm_id *id, const struct iw_cm_conn_param *param)
{
	struct iw_mpa_device *dev = iw_mpa_device_get(id->device);
	struct iw_mpa_ep *ep;

	if (!dev)
		return 0;	/* removed: iw_cm must not even call */
	iw_mpa_count_for(dev->stats, IW_MPA_CNT_accepted_again);
	iw_mpa_question_replace(dev, id, param->qpn);
	ep = iw_mpa_ep_find_cm_id(id);
	if (ep && ep->off.qpn != param->qpn)
		iw_mpa_raise(ep, IW_MPA_EV_ULP_ABORTED);
	if (ep)
		iw_mpa_ep_put(ep);
	iw_mpa_device_put(dev);
	return 0;
}

/**
 * iw_mpa_accept - iw_cm's iw_accept
 * @id: the new connection's cm_id
 * @param: the ULP's wishes; not kept
 *
 * The hand-off is done in the caller's context. An error tells the peer too: it
 * gets a Reject. iw_cm lets a ULP call again until it has handled ESTABLISHED: a further
 * call with the same QP changes nothing, one with another QP ends the connection.
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
	struct iw_mpa_call call = {
		.id = id, .param = param,
		.pd = param->private_data, .pd_len = connect_pd_len(param),
	};
	struct iw_mpa_ep *ep;

	if (iw_mpa_question_is_accepted(id))
		return accept_again(id, param);
	ep = iw_mpa_question_answer(&call, IW_MPA_EV_ULP_ACCEPTED);
	if (!ep)
		return -ECONNRESET;
	iw_mpa_run(ep, IW_MPA_EV_ULP_ACCEPTED);
	iw_mpa_ep_put(ep);
	if (call.err)
		iw_mpa_question_void(id);
	return call.err;
}

/**
 * iw_mpa_reject - iw_cm's iw_reject
 * @id: the new connection's cm_id
 * @pd: private data, or NULL; not kept
 * @pd_len: octets at @pd
 *
 * A connection that was accepted, and waits for the RTR message, is ended; iw_cm
 * does not expect an event any more then.
 *
 * Context: process; does not wait for the peer.
 *
 * Return: 0, or -ECONNRESET if the connection has ended meanwhile, or is going to. No event
 * follows.
 */
int iw_mpa_reject(struct iw_cm_id *id, const void *pd, u8 pd_len)
{
	struct iw_mpa_call call = { .id = id, .pd = pd, .pd_len = pd ? pd_len : 0 };
	struct iw_mpa_ep *ep;

	if (iw_mpa_question_is_accepted(id))
		ep = iw_mpa_question_withdraw(&call);
	else
		ep = iw_mpa_question_answer(&call, IW_MPA_EV_ULP_REJECTED);
	if (!ep)
		return -ECONNRESET;
	iw_mpa_run(ep, IW_MPA_EV_ULP_REJECTED);
	iw_mpa_ep_put(ep);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * The calls of iw_cm about a connection: iw_connect, iw_accept and iw_reject.
 *
 * The state table in fsm.c says whether a CONNECT_REQUEST waits for its answer.
 * This file finds the connection that an answer is for: until iw_accept has
 * returned, provider_data of a passive cm_id is the connection's number. The
 * number is odd: 0 and even numbers stand for no connection. A pointer would
 * need a reference, which nothing would drop: iw_cm sometimes does not deliver
 * a CONNECT_REQUEST, and never reports that it frees a cm_id. And an answer may
 * come after the connection has ended. The number finds the endpoint as long as
 * the endpoint is live, and never finds another one.
 */

#include "main.h"
#include "config.h"
#include "device.h"
#include "ep.h"
#include "iwcm.h"

#include <linux/err.h>
#include <linux/jiffies.h>
#include <rdma/ib_verbs.h>
#include <rdma/iw_cm.h>

/* Whether to ask for peer-to-peer depends on the ports before port mapping. */
static void cm_choose_model(struct iw_mpa_ep *ep, struct iw_cm_id *id)
{
	u16 local = ntohs(*iw_mpa_addr_port(iw_mpa_addr(&id->local_addr)));
	u16 remote = ntohs(*iw_mpa_addr_port(iw_mpa_addr(&id->remote_addr)));

	ep->local.p2p =
		iw_mpa_config_peer_to_peer(ep->config, &ep->dev->config,
					   local, remote, &ep->fallback);
}

/*
 * iw_cm's iw_connect. This function does not wait for the peer.
 *
 * Return: 0, and exactly one CONNECT_REPLY is raised, before or after the
 * return; or a negative errno, and no event is raised: -EINVAL for private data
 * that is too long, for a QP that does not exist and, with strict_ird_ord, for
 * an IRD or ORD above the device's limit; -EBUSY if the QP has a connection;
 * -EADDRINUSE if TCP uses the source port and must not choose another port;
 * -EADDRNOTAVAIL if the ULP's network namespace does not have the source
 * address; -ENETUNREACH and other errors of TCP; -ENODEV; -ENOMEM.
 */
int iw_mpa_connect(struct iw_cm_id *id, struct iw_cm_conn_param *param)
{
	struct iw_mpa_call call = { .id = id, .param = param };
	u16 pd_len = param->private_data ? param->private_data_len : 0;
	unsigned int tcp_ms, reply_ms;
	struct iw_mpa_device *dev;
	struct iw_mpa_ep *ep;
	struct net *net;
	int err;

	if (param->private_data_len > IW_MPA_PD_MAX)
		return -EINVAL;
	dev = iw_mpa_device_get(id->device);
	if (!dev)
		return -ENODEV;
	err = -ENODEV;
	net = iw_mpa_iwcm_get_net(dev, id);
	if (!net)
		goto put_device;
	ep = iw_mpa_run_create(dev, net, true, param->private_data, pd_len);
	err = PTR_ERR_OR_ZERO(ep);
	if (err)
		goto put_net;
	ep->ifindex = iw_mpa_iwcm_ifindex(id);
	cm_choose_model(ep, id);
	/*
	 * An initiator may connect again, to offer revision 2 once more, or
	 * revision 1. All its attempts share one time limit, the sum of those
	 * for TCP and for the Reply: a program that is killed waits until the
	 * last attempt has ended, and must not wait for several such sums.
	 */
	tcp_ms = READ_ONCE(ep->config->connect_timeout_ms);
	reply_ms = READ_ONCE(ep->config->reply_timeout_ms);
	ep->until = (jiffies + msecs_to_jiffies(tcp_ms) +
		     msecs_to_jiffies(reply_ms)) | 1;
	ep->call = &call;
	/* Within one host TCP connects at once: the Request is sent here. */
	iw_mpa_run(ep, IW_MPA_EV_ULP_CONNECTS, IW_MPA_BORROWED);
	err = call.err;
put_net:
	put_net(net);
put_device:
	iw_mpa_device_put(dev);
	return err;
}

/*
 * iw_cm's iw_accept. The stream is handed to the driver in the caller's
 * context, without a wait for the peer. If the hand-off fails the peer gets a
 * Reject. Until iw_cm has handled ESTABLISHED it lets a ULP call iw_accept
 * again: a further call with the same QP changes nothing, one with another QP
 * ends the connection.
 *
 * Return: 0, and exactly one ESTABLISHED is raised, before or after the return,
 * but none after or during iw_reject; or a negative errno, and no event is
 * raised: -ECONNRESET if the connection has ended; -EINVAL, -EBUSY, -ENOMEM as
 * for iw_mpa_connect(); other errors of the hand-off.
 */
int iw_mpa_accept(struct iw_cm_id *id, struct iw_cm_conn_param *param)
{
	struct iw_mpa_call call = {
		.id = id, .param = param,
		.pd = param->private_data,
		.pd_len = param->private_data ? param->private_data_len : 0,
	};
	unsigned long word = (unsigned long)READ_ONCE(id->provider_data);
	struct iw_mpa_ep *ep;

	if (!(word & 1))
		return iw_mpa_iwcm_accept_again(id, word, param->qpn);
	/* Hold the cm_id: the last event may drop the endpoint's reference. */
	id->add_ref(id);
	ep = iw_mpa_ep_find(word);
	if (!ep || !iw_mpa_run_answer(ep, &call, IW_MPA_EV_ULP_ACCEPTED))
		call.err = -ECONNRESET;
	call.err = iw_mpa_iwcm_accepted(id, word, call.err, param->qpn);
	id->rem_ref(id);
	return call.err;
}

/*
 * iw_cm's iw_reject. A connection that was accepted is ended; iw_cm expects no
 * event any more then. On return iw_mpa does not use the cm_id: iw_cm may free
 * it in its work queue, which would wait for itself if it waited for a user of
 * the cm_id. So this function waits for the context that handles the
 * connection's events (the runner), which may be within an op of the driver.
 *
 * Return: 0; -ECONNRESET if the connection has ended. No event follows.
 */
int iw_mpa_reject(struct iw_cm_id *id, const void *pd, u8 pd_len)
{
	struct iw_mpa_call call = {
		.id = id, .pd = pd, .pd_len = pd ? pd_len : 0,
	};
	struct iw_mpa_ep *ep = iw_mpa_iwcm_find(id);

	if (!ep)
		return -ECONNRESET;
	WRITE_ONCE(ep->up.rejected, true);
	if (!iw_mpa_run_answer(ep, &call, IW_MPA_EV_ULP_REJECTED))
		return -ECONNRESET;
	return 0;
}

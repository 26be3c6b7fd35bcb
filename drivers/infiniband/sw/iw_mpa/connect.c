// SPDX-License-Identifier: GPL-2.0
/* iw_connect: an initiator gets an endpoint, which begins to connect. */

#include "connect.h"
#include "config.h"
#include "ep.h"
#include "event.h"
#include "rnic.h"
#include "upcall.h"

#include <linux/jiffies.h>
#include <rdma/ib_verbs.h>
#include <rdma/iw_cm.h>

/* The ports of the application count, not those that a port mapper has put in their place. */
static void connect_choose_model(struct iw_mpa_ep *ep, struct iw_cm_id *id)
{
	u16 local = ntohs(*iw_mpa_addr_port(iw_mpa_addr(&id->local_addr)));
	u16 remote = ntohs(*iw_mpa_addr_port(iw_mpa_addr(&id->remote_addr)));

	ep->local.p2p = iw_mpa_config_peer_to_peer(ep->config, READ_ONCE(ep->dev->peer_to_peer),
						   local, remote);
	ep->fallback = iw_mpa_config_fall_back(ep->config, READ_ONCE(ep->dev->peer_to_peer),
					       local, remote);
}

/*
 * A further try gets what those before have left of the time for TCP and the Reply: a program that
 * ends waits for its connection, and must not wait several times as long.
 */
static unsigned long connect_deadline(const struct iw_mpa_ep *ep)
{
	return (jiffies + msecs_to_jiffies(READ_ONCE(ep->config->connect_timeout_ms)) +
		msecs_to_jiffies(READ_ONCE(ep->config->reply_timeout_ms))) | 1;
}

/**
 * iw_mpa_connect - iw_cm's iw_connect
 * @id: new cm_id, with its mapped addresses set
 * @param: the ULP's wishes; not kept
 *
 * Context: process; does not wait for the peer.
 *
 * Return: 0, then exactly one CONNECT_REPLY follows, maybe before the return; or a negative errno,
 * then no event follows: -EINVAL for private data that is too long, for a QP that does not exist
 * and, with strict_ird_ord, for depths above the device's; -EBUSY if the QP has a connection;
 * -EADDRINUSE if TCP uses the source port and may not choose another; -EADDRNOTAVAIL if the ULP's
 * network namespace does not have the source address; -ENETUNREACH and others of TCP; -ENODEV;
 * -ENOMEM.
 */
int iw_mpa_connect(struct iw_cm_id *id, struct iw_cm_conn_param *param)
{
	struct iw_mpa_call call = { .id = id, .param = param };
	u16 pd_len = param->private_data ? param->private_data_len : 0;
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
	net = iw_mpa_device_get_net_for(dev, id);
	if (!net)
		goto put_device;
	err = -ENOMEM;
	ep = iw_mpa_ep_alloc(dev, net, true, param->private_data, pd_len);
	if (!ep)
		goto put_net;
	iw_mpa_event_setup(ep);
	err = iw_mpa_ep_register(ep);
	if (err) {
		iw_mpa_ep_put(ep);
		goto put_net;
	}

	ep->ifindex = iw_mpa_upcall_ifindex(id);
	connect_choose_model(ep, id);
	ep->until = connect_deadline(ep);
	ep->call = &call;
	/* TCP to an address of this host is up at once. Then the Request goes out from here. */
	iw_mpa_event_run(iw_mpa_ep_get(ep), IW_MPA_EV_ULP_CONNECTS);
	err = call.err;
put_net:
	put_net(net);
put_device:
	iw_mpa_device_put(dev);
	return err;
}

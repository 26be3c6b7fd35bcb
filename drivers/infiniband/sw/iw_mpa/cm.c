// SPDX-License-Identifier: GPL-2.0
/*
 * The calls of iw_cm about a connection: iw_connect, iw_accept and iw_reject.
 *
 * The state table says whether a CONNECT_REQUEST waits for its answer. This file says which
 * connection an answer is for. It alone reads and writes provider_data of a passive cm_id, which is
 * a number:
 *
 *	of the connection, odd		until iw_accept has returned
 *	of a QP, even			from then on: the QP of the last iw_accept
 *	0				if iw_accept has failed, or has not returned when iw_reject
 *					begins
 *
 * A number needs no reference. This matters since iw_cm may drop a CONNECT_REQUEST silently, may
 * answer one that is void, and does not say when it frees a cm_id. The number of a connection leads
 * to its endpoint while that lives, and never to another one. The number of a QP leads to the
 * reference that iw_cm has on it. While there is this reference, no other QP can get the number.
 *
 * iw_cm lets a ULP accept again until it has handled ESTABLISHED. It then takes a reference on the
 * QP of the new call, and forgets the reference of the call before. If iw_accept returned an error,
 * iw_cm would believe that no event follows, and crash on the event. So a further iw_accept returns
 * success, and drops the forgotten reference, even if the connection has ended and the endpoint is
 * gone.
 *
 * Accepts of one cm_id do not overlap: the callers of rdma_cm ensure that. iw_reject may overlap
 * with iw_accept. When iw_cm calls iw_reject it has left CONN_RECV, the only state in which it
 * takes an error of iw_accept; in any other the error is a BUG there. So iw_reject clears the
 * number first, and an iw_accept that finds its number gone returns 0. iw_cm then expects no event.
 *
 * That covers an iw_reject that begins before iw_accept has settled the number. It cannot cover one
 * that begins later, while iw_accept returns an error. rdma_ucm has one mutex for both calls, and
 * iw_cm waits for the end of iw_accept before it destroys a cm_id. So this concerns a ULP in the
 * kernel alone: it must not reject a connection while its own rdma_accept() of it runs.
 */

#include "cm.h"
#include "config.h"
#include "device.h"
#include "ep.h"
#include "event.h"
#include "qp.h"
#include "run.h"
#include "stats.h"
#include "upcall.h"

#include <linux/err.h>
#include <linux/jiffies.h>
#include <rdma/ib_verbs.h>
#include <rdma/iw_cm.h>

/* The ports of the application count, not those that a port mapper has put in their place. */
static void cm_choose_model(struct iw_mpa_ep *ep, struct iw_cm_id *id)
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
static unsigned long cm_deadline(const struct iw_mpa_ep *ep)
{
	return (jiffies + msecs_to_jiffies(READ_ONCE(ep->config->connect_timeout_ms)) +
		msecs_to_jiffies(READ_ONCE(ep->config->reply_timeout_ms))) | 1;
}

/*
 * iw_cm's iw_connect. It does not wait for the peer.
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
	ep = iw_mpa_run_create(dev, net, true, param->private_data, pd_len);
	err = PTR_ERR_OR_ZERO(ep);
	if (err)
		goto put_net;
	ep->ifindex = iw_mpa_upcall_ifindex(id);
	cm_choose_model(ep, id);
	ep->until = cm_deadline(ep);
	ep->call = &call;
	/* TCP to an address of this host is up at once. Then the Request goes out from here. */
	iw_mpa_run(ep, IW_MPA_EV_ULP_CONNECTS);
	err = call.err;
put_net:
	put_net(net);
put_device:
	iw_mpa_device_put(dev);
	return err;
}

static unsigned long cm_word(const struct iw_cm_id *id)
{
	return (unsigned long)READ_ONCE(id->provider_data);
}

/* Return: false if provider_data is not @from any more. */
static bool cm_change_word(struct iw_cm_id *id, unsigned long from, unsigned long to)
{
	return cmpxchg(&id->provider_data, (void *)from, (void *)to) == (void *)from;
}

static bool cm_is_connection(unsigned long word)
{
	return word & 1;
}

/* Numbers of QPs have 24 bits. */
static unsigned long cm_of_qp(u32 qpn)
{
	return ((unsigned long)qpn + 1) << 1;
}

static u32 cm_qpn(unsigned long word)
{
	return (word >> 1) - 1;
}

/*
 * @word: what provider_data is, or was when the answer began
 *
 * Return: the connection of a passive cm_id, with a reference; NULL if it has ended.
 */
static struct iw_mpa_ep *cm_find(const struct iw_cm_id *id, unsigned long word)
{
	if (cm_is_connection(word))
		return iw_mpa_ep_find(word);
	return word ? iw_mpa_ep_find_cm_id(id) : NULL;
}

static bool cm_answer(struct iw_mpa_call *call, unsigned long word, enum iw_mpa_event answer)
{
	struct iw_mpa_ep *ep = cm_find(call->id, word);

	if (!ep)
		return false;
	if (answer == IW_MPA_EV_ULP_REJECTED)
		iw_mpa_upcall_rejected(ep);
	return iw_mpa_run_answer(ep, call, answer);
}

/*
 * iw_cm has replaced its reference on the QP that @word names by one on the QP of number @qpn. With
 * the QP of the connection a further iw_accept says nothing new. With another one the connection
 * ends: iw_cm would close that QP from now on, and keep it as long as the connection lives.
 */
static int cm_accept_again(struct iw_cm_id *id, unsigned long word, u32 qpn)
{
	struct iw_mpa_device *dev = iw_mpa_device_get(id->device);
	struct iw_mpa_ep *ep;

	if (!dev)
		return 0;	/* removed: iw_cm must not even call */
	iw_mpa_count_for(dev->stats, IW_MPA_CNT_accepted_again);
	cm_change_word(id, word, cm_of_qp(qpn));
	iw_mpa_qp_give_back(dev, cm_qpn(word));
	ep = cm_find(id, word);
	if (ep && ep->off.qpn != qpn)
		iw_mpa_raise(ep, IW_MPA_EV_ULP_ABORTED);
	if (ep)
		iw_mpa_ep_put(ep);
	iw_mpa_device_put(dev);
	return 0;
}

/*
 * iw_cm's iw_accept. The hand-off is done in the caller's context; this does not wait for the peer.
 * If the hand-off fails the peer gets a Reject. iw_cm lets a ULP call again until it has handled
 * ESTABLISHED: a further call with the same QP changes nothing, one with another QP ends the
 * connection.
 *
 * Return: 0, then exactly one ESTABLISHED follows, maybe before the return, but none after or
 * beside iw_reject; or a negative errno, then no event follows: -ECONNRESET if the connection has
 * ended; -EINVAL, -EBUSY, -ENOMEM as for iw_mpa_connect(); others as the hand-off failed.
 */
int iw_mpa_accept(struct iw_cm_id *id, struct iw_cm_conn_param *param)
{
	struct iw_mpa_call call = {
		.id = id, .param = param,
		.pd = param->private_data,
		.pd_len = param->private_data ? param->private_data_len : 0,
	};
	unsigned long word = cm_word(id);

	if (!word)	/* iw_reject has begun */
		return 0;
	if (!cm_is_connection(word))
		return cm_accept_again(id, word, param->qpn);
	/* With the last event of the connection its reference on the cm_id goes. */
	id->add_ref(id);
	if (!cm_answer(&call, word, IW_MPA_EV_ULP_ACCEPTED))
		call.err = -ECONNRESET;
	if (!cm_change_word(id, word, call.err ? 0 : cm_of_qp(param->qpn)))
		call.err = 0;
	id->rem_ref(id);
	return call.err;
}

/*
 * iw_cm's iw_reject. A connection that was accepted is ended; iw_cm expects no event any more then.
 * On return nobody uses the cm_id: iw_cm may free it in its work queue, which would wait for itself
 * if it had to wait for a user. So this waits for the runner, which may be within an op.
 *
 * Return: 0; -ECONNRESET if the connection has ended. No event follows.
 */
int iw_mpa_reject(struct iw_cm_id *id, const void *pd, u8 pd_len)
{
	struct iw_mpa_call call = { .id = id, .pd = pd, .pd_len = pd ? pd_len : 0 };
	unsigned long word = cm_word(id);

	/* Pairs with iw_mpa_accept(). */
	if (cm_is_connection(word) && !cm_change_word(id, word, 0))
		word = cm_word(id);
	return cm_answer(&call, word, IW_MPA_EV_ULP_REJECTED) ? 0 : -ECONNRESET;
}

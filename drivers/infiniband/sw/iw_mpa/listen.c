// SPDX-License-Identifier: GPL-2.0
/* iw_create_listen, iw_destroy_listen, and taking connections. */

#include "listen.h"
#include "config.h"
#include "device.h"
#include "ep.h"
#include "rnic.h"
#include "run.h"
#include "sock.h"
#include "stats.h"

#include <linux/jiffies.h>
#include <linux/netdevice.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include <rdma/iw_cm.h>
#include <rdma/rdma_cm.h>

/* Connections taken before another listener gets its turn. */
#define LISTEN_BATCH		64
/* How long to leave connections to TCP when memory is short. */
#define LISTEN_RETRY_MS		100

static struct workqueue_struct *listen_wq;

static struct iw_mpa_sock_opts listen_opts(const struct iw_mpa_listener *lis)
{
	return (struct iw_mpa_sock_opts) {
		.net		= dev_net(lis->dev->netdev),
		.local		= &lis->id->m_local_addr,
		.ifindex	= lis->dev->netdev->ifindex,
		.tos		= lis->id->tos,
		.tos_set	= lis->id->tos_set,
		.afonly		= lis->id->afonly,
	};
}

/*
 * rdma_cm makes a wildcard listener listen on every device, in whichever network namespace that
 * is, and on each device that is added later, in the context of whoever adds it. So neither the
 * device nor the caller tells whose listener it is. iw_cm has one client, rdma_cm, and its context
 * is an rdma_cm_id, which knows its namespace. A context that does not look like one is not
 * believed: the listener then belongs to the device's namespace.
 */
static bool listen_is_foreign(const struct iw_mpa_listener *lis)
{
	const struct rdma_cm_id *owner = lis->id->context;
	const struct sockaddr_storage *addr = &lis->id->local_addr;

	if (!iw_mpa_sock_addr_is_any(addr) || !owner || owner->device != lis->id->device ||
	    memcmp(&owner->route.addr.src_addr, addr, iw_mpa_sock_addr_len(addr)))
		return false;
	return !net_eq(owner->route.addr.dev_addr.net, dev_net(lis->dev->netdev));
}

/* The Request is often there already: then the ULP is asked without another hop. */
static int listen_adopt(struct iw_mpa_listener *lis, struct socket *sock)
{
	struct iw_mpa_sock_opts opts = listen_opts(lis);
	struct iw_mpa_ep *ep;
	int err;

	ep = iw_mpa_ep_alloc(lis->dev, false, NULL, 0);
	if (!ep) {
		iw_mpa_sock_drop(sock);
		return -ENOMEM;
	}
	err = iw_mpa_ep_link(ep, lis->id, lis->half_open);
	if (err) {
		iw_mpa_sock_drop(sock);
		iw_mpa_ep_put(ep);
		return err;
	}
	iw_mpa_ep_get(ep);
	err = iw_mpa_sock_adopt(&ep->sock, sock, &lis->sock, &iw_mpa_run_sock_ops,
				&opts);
	if (err) {
		iw_mpa_sock_drop(sock);
		iw_mpa_run_set_error(ep, IW_MPA_R_TCP_ERROR, err);
		iw_mpa_run_event(ep, IW_MPA_EV_FRAME_BAD);
	} else {
		iw_mpa_ep_note_tuple(ep);
		iw_mpa_run_event(ep, IW_MPA_EV_TCP_ACCEPTED);
		iw_mpa_sock_check(&ep->sock);
	}
	iw_mpa_run(ep, true);
	iw_mpa_ep_put(ep);
	return 0;
}

static void iw_mpa_listen_work(struct work_struct *work)
{
	struct iw_mpa_listener *lis = container_of(to_delayed_work(work),
						   struct iw_mpa_listener, work);
	struct socket *sock;
	int i, err = 0;

	for (i = 0; i < LISTEN_BATCH; i++) {
		err = iw_mpa_sock_accept(&lis->sock, &sock);
		if (err == -ECONNABORTED)
			continue;
		if (!err)
			err = listen_adopt(lis, sock);
		if (err)
			break;
	}
	if (err == -EAGAIN || err == -ENODEV || err == -EINVAL)
		return;
	queue_delayed_work(listen_wq, &lis->work,
			   err ? msecs_to_jiffies(LISTEN_RETRY_MS) : 0);
}

static void listen_sock_readable(struct iw_mpa_sock *ms)
{
	struct iw_mpa_listener *lis = container_of(ms, struct iw_mpa_listener,
						   sock);

	queue_delayed_work(listen_wq, &lis->work, 0);
}

static void listen_sock_ignore(struct iw_mpa_sock *ms)
{
}

static void listen_sock_failed(struct iw_mpa_sock *ms, int err)
{
}

static const struct iw_mpa_sock_ops listen_sock_ops = {
	.connected	= listen_sock_ignore,
	.readable	= listen_sock_readable,
	.closed		= listen_sock_ignore,
	.failed		= listen_sock_failed,
};

/**
 * iw_mpa_create_listen - iw_cm's iw_create_listen
 * @id: cm_id, with its mapped address set
 * @backlog: connections that may wait in TCP, > 0
 *
 * A wildcard listener on a device of another network namespace has no socket.
 *
 * Context: process. CONNECT_REQUEST may be raised before the return.
 *
 * Return: 0 or a negative errno: -EOPNOTSUPP if the device cannot hold its TX
 * back as a responder must, and the setting fence asks for it; -EAFNOSUPPORT,
 * -EADDRINUSE, -ENODEV, -ENOMEM.
 */
int iw_mpa_create_listen(struct iw_cm_id *id, int backlog)
{
	struct iw_mpa_listener *lis;
	struct iw_mpa_sock_opts opts;
	struct iw_mpa_device *dev;
	int err;

	dev = iw_mpa_device_get(id->device);
	if (!dev)
		return -ENODEV;
	if (!(dev->attr.caps & IW_MPA_CAP_TX_FENCE) &&
	    READ_ONCE(iw_mpa_config(dev_net(dev->netdev))->fence)) {
		err = -EOPNOTSUPP;
		goto put_dev;
	}
	lis = kzalloc(sizeof(*lis), GFP_KERNEL);
	if (!lis) {
		err = -ENOMEM;
		goto put_dev;
	}
	lis->half_open = iw_mpa_half_open_alloc();
	if (!lis->half_open) {
		err = -ENOMEM;
		goto free_lis;
	}
	INIT_DELAYED_WORK(&lis->work, iw_mpa_listen_work);
	lis->dev = dev;
	lis->id = id;
	lis->backlog = backlog;
	id->add_ref(id);
	id->provider_data = lis;

	/* Without a socket it takes no port, gets no connection, and holds no namespace. */
	if (!listen_is_foreign(lis)) {
		opts = listen_opts(lis);
		err = iw_mpa_sock_listen(&lis->sock, &listen_sock_ops, &opts, backlog);
		if (err)
			goto put_half_open;
	}
	spin_lock(&dev->lock);
	list_add_tail(&lis->node, &dev->listeners);
	spin_unlock(&dev->lock);
	iw_mpa_count(IW_MPA_CNT_listener_created);
	return 0;

put_half_open:
	id->provider_data = NULL;
	id->rem_ref(id);
	iw_mpa_half_open_put(lis->half_open);
free_lis:
	kfree(lis);
put_dev:
	iw_mpa_device_put(dev);
	return err;
}

/* Connections whose Request has not come cannot be announced any more. */
static void listen_end_half_open(struct iw_mpa_device *dev,
				 const struct iw_cm_id *id)
{
	struct iw_mpa_ep *ep;

	spin_lock(&dev->lock);
	list_for_each_entry(ep, &dev->half_open, node) {
		/* What was refused unasked has it, too, and ignores the event. */
		if (READ_ONCE(ep->listen_id) == id)
			iw_mpa_raise(ep, IW_MPA_EV_LISTENER_GONE);
	}
	spin_unlock(&dev->lock);
}

/**
 * iw_mpa_destroy_listen - iw_cm's iw_destroy_listen
 * @id: listening cm_id
 *
 * First stop: no callback is left after unhook, no work after cancel. Then
 * wait: there is nothing to wait for but that work. Connections that the ULP was
 * asked about live on.
 *
 * Context: process, sleeps.
 *
 * Return: 0
 */
int iw_mpa_destroy_listen(struct iw_cm_id *id)
{
	struct iw_mpa_listener *lis = id->provider_data;
	struct iw_mpa_device *dev;

	if (!lis)
		return 0;
	dev = lis->dev;
	id->provider_data = NULL;
	spin_lock(&dev->lock);
	list_del(&lis->node);
	spin_unlock(&dev->lock);
	iw_mpa_sock_unhook(&lis->sock);
	cancel_delayed_work_sync(&lis->work);
	iw_mpa_sock_release(&lis->sock);
	listen_end_half_open(dev, id);
	iw_mpa_half_open_put(lis->half_open);
	kfree(lis);
	iw_mpa_count(IW_MPA_CNT_listener_destroyed);
	id->rem_ref(id);
	iw_mpa_device_put(dev);
	return 0;
}

/**
 * iw_mpa_listen_init - make listeners possible
 *
 * Return: 0 or -ENOMEM.
 */
int iw_mpa_listen_init(void)
{
	listen_wq = alloc_workqueue("iw_mpa_listen",
				    WQ_MEM_RECLAIM, 0);
	return listen_wq ? 0 : -ENOMEM;
}

/** iw_mpa_listen_exit - undo iw_mpa_listen_init() */
void iw_mpa_listen_exit(void)
{
	destroy_workqueue(listen_wq);
}

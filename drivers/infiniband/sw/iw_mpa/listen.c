// SPDX-License-Identifier: GPL-2.0
/* iw_create_listen and iw_destroy_listen; listeners accept TCP connections. */

#include "main.h"
#include "backlog.h"
#include "config.h"
#include "device.h"
#include "ep.h"
#include "iwcm.h"
#include "sock.h"
#include "stats.h"

#include <linux/err.h>
#include <linux/if_vlan.h>
#include <linux/inetdevice.h>
#include <linux/jiffies.h>
#include <linux/netdevice.h>
#include <linux/ratelimit.h>
#include <linux/rculist.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <net/addrconf.h>
#include <net/l3mdev.h>
#include <rdma/ib_verbs.h>
#include <rdma/iw_cm.h>

/* Connections that a listener accepts before another listener has its turn */
#define LISTEN_BATCH		64
/* Time until a listener accepts again if memory was short, in ms */
#define LISTEN_RETRY_MS		100
/* Time until a listener accepts again if its backlog was full, in ms */
#define LISTEN_ROOM_MS		10

static struct iw_mpa_sock_opts listen_opts(const struct iw_mpa_listener *lis,
					   struct net *net)
{
	return (struct iw_mpa_sock_opts) {
		.net		= net,
		.local		= &lis->addr,
		.ifindex	= lis->ifindex,
		.tos		= lis->cm_id->tos,
		.tos_set	= lis->cm_id->tos_set,
		.afonly		= lis->cm_id->afonly,
		.fast_open	= READ_ONCE(iw_mpa_config(net)->fast_open),
	};
}

static bool listen_is_wildcard(struct iw_cm_id *id)
{
	const union iw_mpa_addr *addr = iw_mpa_addr(&id->local_addr);

	return iw_mpa_addr_is_known(addr) && iw_mpa_addr_is_any(addr);
}

/* Does a network interface have this address? Under rcu_read_lock(). */
static bool listen_netdev_has(const struct net_device *netdev,
			      const union iw_mpa_addr *addr)
{
	const struct in_device *in_dev;
	const struct in_ifaddr *ifa;

#if IS_ENABLED(CONFIG_IPV6)
	if (addr->sa.sa_family == AF_INET6)
		return ipv6_chk_addr(dev_net(netdev), &addr->in6.sin6_addr,
				     netdev, 1);
#endif
	in_dev = __in_dev_get_rcu(netdev);
	if (!in_dev)
		return false;
	in_dev_for_each_ifa_rcu(ifa, in_dev) {
		if (ifa->ifa_local == addr->in.sin_addr.s_addr)
			return true;
	}
	return false;
}

/*
 * Return: -EXDEV if the interface of device @other has the local address of the
 * connection (@arg), and is no VLAN of the interface of the connection's
 * device; else 0.
 */
static int listen_look_at_other(struct iw_mpa_device *other, void *arg)
{
	const struct net_device *netdev = other->netdev;
	const struct iw_mpa_ep *ep = arg;
	bool theirs;

	if (is_vlan_dev(netdev) && vlan_dev_real_dev(netdev) == ep->dev->netdev)
		return 0;
	rcu_read_lock();
	theirs = net_eq(dev_net(netdev), ep->net) &&
		 listen_netdev_has(netdev, &ep->tuple.local);
	rcu_read_unlock();
	return theirs ? -EXDEV : 0;
}

/*
 * A host accepts packets for each of its addresses from any interface. So a
 * socket that is bound to the interface of one device may get a connection for
 * an address of another device. rdma_cm finds a connection's device by its
 * address. A wildcard listener does not report such a connection: its cm_id
 * belongs to the device of the interface. The peer gets a Reject: without an
 * answer it would assume that this host lacks revision 2. Connections for all
 * other addresses are accepted: for those of the interface, even if another
 * device has them, too; for those of its VLANs; and for those of interfaces on
 * which iw_mpa has no device: often lo, a bridge or a VRF device.
 */
static bool listen_is_for_other(const struct iw_mpa_listener *lis,
				struct iw_mpa_ep *ep)
{
	bool ours;

	if (!listen_is_wildcard(lis->cm_id))
		return false;
	rcu_read_lock();
	ours = listen_netdev_has(ep->dev->netdev, &ep->tuple.local);
	rcu_read_unlock();
	return !ours &&
	       iw_mpa_device_for_each(listen_look_at_other, ep) == -EXDEV;
}

/*
 * Make an endpoint for an accepted connection, in the network namespace of the
 * listener; the device may have been moved to another one since. Often the
 * Request has already arrived: then CONNECT_REQUEST is raised within this call.
 */
static int listen_adopt(struct iw_mpa_listener *lis, struct socket *sock)
{
	struct net *net = sock_net(sock->sk);
	struct iw_mpa_sock_opts opts = listen_opts(lis, net);
	enum iw_mpa_event event = IW_MPA_EV_TCP_ACCEPTED;
	struct iw_mpa_ep *ep;
	int err;

	ep = iw_mpa_run_create(lis->dev, net, false, NULL, 0);
	if (IS_ERR(ep)) {
		iw_mpa_sock_drop(sock, &lis->sock);
		return PTR_ERR(ep);
	}
	iw_mpa_sock_tuple(sock, &ep->tuple);
	ep->stray = listen_is_for_other(lis, ep);
	iw_mpa_backlog_enter(ep, lis);
	err = iw_mpa_sock_adopt(&ep->sock, sock, &lis->sock, &opts);
	if (err) {
		iw_mpa_sock_drop(sock, &lis->sock);
		WRITE_ONCE(ep->tcp_err, -err);
		event = IW_MPA_EV_TCP_FAILED;
	}
	iw_mpa_run(ep, event, IW_MPA_BORROWED);
	return 0;
}

/*
 * Accept connections of a listener. Return: after how many ms to call this
 * again; < 0: not before the listener's socket reports the next connection.
 */
static int listen_take(struct iw_mpa_listener *lis)
{
	const struct iw_mpa_config *config =
		iw_mpa_config(sock_net(lis->sock.sock->sk));
	struct socket *sock;
	int i, err;

	for (i = 0; i < LISTEN_BATCH; i++) {
		if (iw_mpa_backlog_is_full(lis, config))
			return LISTEN_ROOM_MS;
		err = iw_mpa_sock_accept(&lis->sock, &sock);
		if (err == -ECONNABORTED)
			continue;
		if (err == -EAGAIN || err == -EINVAL)
			return -1;
		if (err || listen_adopt(lis, sock))
			return LISTEN_RETRY_MS;
	}
	return 0;
}

static void iw_mpa_listen_work(struct work_struct *work)
{
	struct iw_mpa_listener *lis = container_of(to_delayed_work(work),
						   struct iw_mpa_listener,
						   work);
	unsigned int noio = memalloc_noio_save();
	int ms = listen_take(lis);

	if (ms >= 0)
		queue_delayed_work(iw_mpa_wq, &lis->work, msecs_to_jiffies(ms));
	memalloc_noio_restore(noio);
}

/*
 * The socket of a listener reports an event. All but READABLE are ignored: if
 * TCP has failed, no more connections arrive.
 */
static void listen_of_sock(struct iw_mpa_sock *ms, enum iw_mpa_event event,
			   int err)
{
	struct iw_mpa_listener *lis =
		container_of(ms, struct iw_mpa_listener, sock);

	if (event == IW_MPA_EV_READABLE)
		queue_delayed_work(iw_mpa_wq, &lis->work, 0);
}

static struct iw_mpa_listener *listen_alloc(struct iw_mpa_device *dev,
					    const struct net *net,
					    struct iw_cm_id *id, int depth)
{
	struct iw_mpa_listener *lis = kzalloc_obj(*lis, GFP_KERNEL);

	if (!lis)
		return NULL;
	INIT_DELAYED_WORK(&lis->work, iw_mpa_listen_work);
	lis->sock.report = listen_of_sock;
	lis->id = iw_mpa_new_id();
	lis->dev = dev;
	lis->cm_id = id;
	lis->depth = depth;
	lis->addr = *iw_mpa_addr(&id->m_local_addr);
	if (!iw_mpa_backlog_open(lis, net)) {
		kfree(lis);
		return NULL;
	}
	id->add_ref(id);
	return lis;
}

static void listen_free(struct iw_mpa_listener *lis)
{
	lis->cm_id->rem_ref(lis->cm_id);
	iw_mpa_backlog_close(lis);
}

/*
 * Return: -EEXIST if the device @other, on the same interface, has a socket for
 * the wildcard address and the port of the listener @arg; else 0.
 */
static int listen_look_for_socket(struct iw_mpa_device *other, void *arg)
{
	struct iw_mpa_listener *lis = arg, *theirs;
	bool found = false;

	if (other == lis->dev || other->netdev != lis->dev->netdev)
		return 0;
	spin_lock(&other->lock);
	list_for_each_entry(theirs, &other->listeners, node) {
		if (theirs->sock.sock && iw_mpa_addr_is_any(&theirs->addr) &&
		    net_eq(sock_net(theirs->sock.sock->sk),
			   dev_net(lis->dev->netdev)) &&
		    theirs->addr.sa.sa_family == lis->addr.sa.sa_family &&
		    *iw_mpa_addr_port(&theirs->addr) ==
		    *iw_mpa_addr_port(&lis->addr))
			found = true;
	}
	spin_unlock(&other->lock);
	return found ? -EEXIST : 0;
}

static void listen_log_no_socket(struct iw_mpa_listener *lis, int err)
{
	if (___ratelimit(&lis->dev->log_limit, "iw_mpa"))
		pr_notice("iw_mpa: %s: a wildcard listener has no socket for port %u on %s, errno %d\n",
			  dev_name(&lis->dev->ibdev->dev),
			  ntohs(*iw_mpa_addr_port(&lis->addr)),
			  netdev_name(lis->dev->netdev), err);
}

/*
 * rdma_cm makes one wildcard listener per device: so each of these is bound to
 * the interface of its device. A listener at an address gets packets from any
 * interface, and sends by the host's routes; but if the address is in a VRF,
 * its socket is bound to the VRF device, and sends by the routes of the VRF.
 */
static int listen_ifindex(const struct iw_mpa_listener *lis, struct net *net)
{
	if (listen_is_wildcard(lis->cm_id))
		return lis->dev->netdev->ifindex;
	return l3mdev_master_ifindex_by_index(net,
					      iw_mpa_iwcm_ifindex(lis->cm_id));
}

/*
 * Open the listener's socket, if it needs one.
 *
 * If one device refuses a wildcard listener, rdma_cm removes that listener from
 * all devices. If a device that is being added refuses one, rdma_cm does not
 * attach the device: then no ULP could use it, only because some process has a
 * TCP port. So a wildcard listener has no socket, and is not refused, on
 *  - a device that cannot be responder, since the setting fence is on and the
 *    device lacks IW_MPA_CAP_TX_FENCE, or that is not in the ULP's namespace;
 *  - the second device of an interface: rdma_cm listens on both, and only one
 *    socket can have the port on the interface, so that socket accepts the
 *    connections of both;
 *  - a device that is being added, if TCP already uses the port on its
 *    interface; the log says so. A ULP that listens later gets the error. A
 *    device counts as added once the RDMA core has called its client iw_mpa.
 *    The core calls its client rdma_cm, which makes these listeners, before
 *    iw_mpa, if rdma_cm was loaded first, as modprobe does it.
 */
static int listen_open(struct iw_mpa_listener *lis, struct net *net)
{
	/* No @net: it is being destroyed, and no peer can connect anyway. */
	bool fence = net && READ_ONCE(iw_mpa_config(net)->fence);
	bool possible = iw_mpa_device_may_respond(lis->dev, fence);
	bool wildcard = listen_is_wildcard(lis->cm_id);
	struct iw_mpa_sock_opts opts;
	int err;

	if (wildcard && (!possible || iw_mpa_iwcm_is_foreign(lis->cm_id, net)))
		return 0;
	if (!net)
		return -ENODEV;
	if (!possible)
		return -EOPNOTSUPP;
	iw_mpa_iwcm_keep_requests(lis->cm_id);
	lis->ifindex = listen_ifindex(lis, net);
	opts = listen_opts(lis, net);
	err = iw_mpa_sock_listen(&lis->sock, &opts, lis->depth);
	if (err != -EADDRINUSE || !wildcard)
		return err;
	if (iw_mpa_device_for_each(listen_look_for_socket, lis) == -EEXIST)
		return 0;
	if (READ_ONCE(lis->dev->attached))
		return err;
	listen_log_no_socket(lis, err);
	return 0;
}

/*
 * iw_cm's iw_create_listen. @backlog (> 0) is how many Requests the ULP has
 * room for, and how many connections may wait in TCP. CONNECT_REQUEST may be
 * raised before this returns.
 *
 * A wildcard listener without a socket (see listen_open()) occupies no port,
 * gets no connection, and has no reference on a network namespace.
 *
 * Return: 0 or a negative errno: -EOPNOTSUPP if the setting fence is on, the
 * device cannot hold FPDUs back (IW_MPA_CAP_TX_FENCE), and the address is not
 * the wildcard; -EADDRNOTAVAIL if the ULP's network namespace does not have the
 * address; -EAFNOSUPPORT, -EADDRINUSE, -ENODEV, -ENOMEM.
 */
int iw_mpa_create_listen(struct iw_cm_id *id, int backlog)
{
	struct iw_mpa_listener *lis;
	struct iw_mpa_device *dev;
	struct net *net;
	int err;

	dev = iw_mpa_device_get(id->device);
	if (!dev)
		return -ENODEV;
	/* A wildcard listener is bound to the device's interface. */
	if (listen_is_wildcard(id))
		net = iw_mpa_device_get_net(dev);
	else
		net = iw_mpa_iwcm_get_net(dev, id);
	err = -ENOMEM;
	lis = listen_alloc(dev, net, id, backlog);
	if (!lis)
		goto put_net;
	err = listen_open(lis, net);
	if (err) {
		listen_free(lis);
		goto put_net;
	}
	spin_lock(&dev->lock);
	list_add_tail_rcu(&lis->node, &dev->listeners);
	spin_unlock(&dev->lock);
	iw_mpa_count(IW_MPA_CNT_listener_created);
put_net:
	if (net)
		put_net(net);
	if (err)
		iw_mpa_device_put(dev);
	return err;
}

/* Remove @id's listener (any one if @id is NULL) from the device's list. */
static struct iw_mpa_listener *listen_remove(struct iw_mpa_device *dev,
					     struct iw_cm_id *id)
{
	struct iw_mpa_listener *lis, *found = NULL;

	spin_lock(&dev->lock);
	list_for_each_entry(lis, &dev->listeners, node) {
		if (!id || lis->cm_id == id) {
			list_del_rcu(&lis->node);
			found = lis;
			break;
		}
	}
	spin_unlock(&dev->lock);
	return found;
}

/*
 * End a listener. After iw_mpa_sock_unhook() no callback queues lis->work,
 * which accepts connections, and lis->work does not queue itself while it is
 * cancelled. Once it has ended, no connection enters the backlog any more. So
 * iw_mpa_backlog_stop() ends all connections whose Request the ULP did not get;
 * it also cancels lis->look. This sleeps.
 *
 * Return: false if the device has no such listener.
 */
static bool listen_end(struct iw_mpa_device *dev, struct iw_cm_id *id)
{
	struct iw_mpa_listener *lis = listen_remove(dev, id);

	if (!lis)
		return false;
	iw_mpa_sock_unhook(&lis->sock);
	cancel_delayed_work_sync(&lis->work);
	iw_mpa_backlog_stop(lis);
	iw_mpa_sock_release(&lis->sock);
	listen_free(lis);
	iw_mpa_count(IW_MPA_CNT_listener_destroyed);
	iw_mpa_device_put(dev);
	return true;
}

int iw_mpa_destroy_listen(struct iw_cm_id *id)
{
	struct iw_mpa_device *dev = iw_mpa_device_get(id->device);

	if (!dev)
		return 0;
	listen_end(dev, id);
	iw_mpa_device_put(dev);
	return 0;
}

/* End all listeners of a device that is being removed; iw_cm cannot. Sleeps. */
void iw_mpa_listen_end(struct iw_mpa_device *dev)
{
	while (listen_end(dev, NULL))
		;
}

// SPDX-License-Identifier: GPL-2.0
/* Registration of devices by their drivers; settings of a device in sysfs */

#include "main.h"
#include "config.h"
#include "device.h"
#include "ep.h"
#include "iwcm.h"
#include "offload.h"
#include "stats.h"
#include "takeover/takeover.h"

#include <linux/export.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/percpu.h>
#include <linux/ratelimit.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/stringify.h>
#include <linux/sysfs.h>
#include <net/net_namespace.h>
#include <rdma/ib_verbs.h>

/* Seconds after which the log says that a driver delays unregistration */
#define DEVICE_GRACE	15

/* Return: NULL if what a driver registers is valid; else what is wrong. */
static const char *device_check(const struct ib_device *ibdev,
				const struct net_device *netdev,
				const struct iw_mpa_driver_ops *ops,
				const struct iw_mpa_device_attr *attr,
				unsigned int api)
{
	/* First, since the structures may be others, too. */
	if (api != IW_MPA_API)
		return "it is compiled for another IW_MPA_API than "
		       __stringify(IW_MPA_API) ", which this iw_mpa has";
	if (!netdev)
		return "the network device is missing";
	if (!ibdev->ops.iw_get_qp)
		return "ib_device_ops.iw_get_qp is missing";
	if (!ibdev->ops.iw_add_ref)
		return "ib_device_ops.iw_add_ref is missing";
	if (!ibdev->ops.iw_rem_ref)
		return "ib_device_ops.iw_rem_ref is missing";
	if (ibdev->ops.iw_connect != iw_mpa_connect ||
	    ibdev->ops.iw_accept != iw_mpa_accept ||
	    ibdev->ops.iw_reject != iw_mpa_reject ||
	    ibdev->ops.iw_create_listen != iw_mpa_create_listen ||
	    ibdev->ops.iw_destroy_listen != iw_mpa_destroy_listen)
		return "ib_device_ops has not the verbs of iw_mpa_ib_device_ops, or has others";
	if (refcount_read(&ibdev->refcount))
		return "ib_register_device() was called before iw_mpa_register_device()";
	if (!iw_mpa_show_check(&ibdev->ops))
		return "ib_device_ops.get_hw_stats and alloc_hw_port_stats belong together";
	return iw_mpa_offload_check(ops, attr);
}

static int device_begin_takeovers(struct iw_mpa_device *dev)
{
	if (!dev->attr.takeover)
		return 0;
	if (IS_ENABLED(CONFIG_IW_MPA_TAKEOVER))
		return iw_mpa_takeovers_begin(dev);
	pr_notice("iw_mpa: %s: built without CONFIG_IW_MPA_TAKEOVER: TCP connections stay with the host\n",
		  netdev_name(dev->netdev));
	return 0;
}

/* Free a device that no connection and no list has any more. */
static void device_free(struct iw_mpa_device *dev)
{
	if (iw_mpa_takeover_is_due(dev))
		iw_mpa_takeovers_end(dev);
	iw_mpa_iwcm_device_gone(dev);
	netdev_put(dev->netdev, &dev->netdev_tracker);
	free_percpu(dev->stats);
	iw_mpa_device_drop(dev);
}

/**
 * __iw_mpa_register_device - let iw_mpa manage a device's connections
 * @ibdev: the device, with the driver's iw_get_qp, iw_add_ref and iw_rem_ref;
 *	the other iw_* ops are set by ib_set_device_ops() with
 *	&iw_mpa_ib_device_ops
 * @netdev: its network device, referenced until iw_mpa_unregister_device()
 * @ops: the driver's functions; must exist until iw_mpa_unregister_device()
 * @attr: what the device can do; copied
 * @api: IW_MPA_API of the header that the driver is compiled with:
 *	iw_mpa_register_device() adds it
 *
 * A driver calls this before ib_register_device(), which may make listeners.
 * iw_mpa replaces iw_get_qp of @ibdev by a function that calls the driver's,
 * and finds only QPs that the current task may connect.
 * iw_mpa_unregister_device() restores the driver's iw_get_qp.
 *
 * Context: process; sleeps. No lock that iw_get_qp or an op takes may be held.
 *
 * Return: 0; -EINVAL, with a message that says what is missing, or that the
 * driver is compiled for another IW_MPA_API; -EEXIST if registered; -ENOMEM.
 */
int __iw_mpa_register_device(struct ib_device *ibdev, struct net_device *netdev,
			     const struct iw_mpa_driver_ops *ops,
			     const struct iw_mpa_device_attr *attr,
			     unsigned int api)
{
	const char *problem = device_check(ibdev, netdev, ops, attr, api);
	struct iw_mpa_device *dev;
	int err;

	if (problem) {
		pr_err("iw_mpa: a driver was refused: %s (IW_MPA_API %u), network device %s: %s\n",
		       module_name(ibdev->ops.owner), api,
		       netdev ? netdev->name : "none", problem);
		return -EINVAL;
	}
	dev = kzalloc_obj(*dev, GFP_KERNEL);
	if (!dev)
		return -ENOMEM;
	dev->ibdev = ibdev;
	dev->netdev = netdev;
	netdev_hold(netdev, &dev->netdev_tracker, GFP_KERNEL);
	dev->ops = ops;
	dev->get_qp = ibdev->ops.iw_get_qp;
	dev->attr = *attr;
	/* The device has no settings of its own until sysfs sets one. */
	memset(&dev->config, IW_MPA_DEFAULT, sizeof(dev->config));
	ratelimit_state_init(&dev->log_limit, DEFAULT_RATELIMIT_INTERVAL,
			     DEFAULT_RATELIMIT_BURST);
	refcount_set(&dev->held, 1);
	refcount_set(&dev->users, 1);
	init_completion(&dev->unused);
	spin_lock_init(&dev->lock);
	INIT_LIST_HEAD(&dev->crowds);
	INIT_LIST_HEAD(&dev->listeners);
	dev->stats = alloc_percpu(struct iw_mpa_stats);
	err = dev->stats ? device_begin_takeovers(dev) : -ENOMEM;
	if (!err)
		err = iw_mpa_device_add(dev);
	if (err)
		device_free(dev);
	else
		ibdev->ops.iw_get_qp = iw_mpa_device_get_qp;
	return err;
}
EXPORT_SYMBOL_GPL(__iw_mpa_register_device);

static void device_end_endpoint(struct iw_mpa_ep *ep, void *dev)
{
	if (ep->dev == dev)
		iw_mpa_raise(ep, IW_MPA_EV_DEV_GONE);
}

/*
 * End a connection that is coming up or ending; it also ends if it becomes
 * established while this function runs. A connection that begins to end later
 * has less time, since dev->dying is set: see run_end_until().
 */
static void device_end_unless_up(struct iw_mpa_ep *ep, void *dev)
{
	if (ep->dev == dev)
		iw_mpa_raise_unless_up(ep, IW_MPA_EV_DEV_GONE);
}

static void device_end_endpoints(struct iw_mpa_device *dev,
				 void (*end)(struct iw_mpa_ep *ep, void *dev))
{
	unsigned int i;

	/*
	 * Pairs with READ_ONCE() in ep_register(), which refuses an endpoint
	 * that is added too late to be found here. No reference on an endpoint
	 * is needed: iw_mpa_raise() queues work only for one that is live.
	 */
	WRITE_ONCE(dev->dying, true);
	for (i = 0; i < IW_MPA_EP_BUCKETS; i++)
		iw_mpa_ep_look(i, end, dev);
}

/* rdma_cm searches its devices in the order in which they were attached. */
static int device_look_for_first(struct iw_mpa_device *first, void *arg)
{
	const struct iw_mpa_device *dev = arg;
	bool passes;

	if (first == dev || !READ_ONCE(first->attached))
		return 0;
	rcu_read_lock();
	passes = iw_mpa_device_passes_for(first, dev);
	rcu_read_unlock();
	if (!passes)
		return 0;
	pr_notice("iw_mpa: %s: rdma_cm takes %s, which was added before, for the addresses of %s\n",
		  dev_name(&dev->ibdev->dev), dev_name(&first->ibdev->dev),
		  netdev_name(dev->netdev));
	return -EEXIST;
}

/*
 * Log what may surprise an administrator of a new device: rdma_cm takes another
 * device for the addresses of the new device's interface; or the interface is a
 * port of a bridge, bond or team, which has the addresses; or a program that
 * connects has to choose its source address, since the interface is in a VRF.
 */
static void device_tell_surprises(struct iw_mpa_device *dev)
{
	struct net_device *netdev = dev->netdev;
	struct net_device *master;

	iw_mpa_device_for_each(device_look_for_first, dev);
	rcu_read_lock();
	master = netdev_master_upper_dev_get_rcu(netdev);
	if (master &&
	    (netif_is_bridge_port(netdev) || netif_is_lag_port(netdev)))
		pr_notice("iw_mpa: %s: %s is a port of %s, which has the addresses: add a device there\n",
			  dev_name(&dev->ibdev->dev), netdev_name(netdev),
			  netdev_name(master));
	else if (master && netif_is_l3_slave(netdev))
		pr_notice("iw_mpa: %s: %s is in the VRF %s: a program that connects has to choose its source address\n",
			  dev_name(&dev->ibdev->dev), netdev_name(netdev),
			  netdev_name(master));
	rcu_read_unlock();
}

/*
 * When a device is removed, the RDMA core removes it from its clients, in the
 * reverse order of their registration. rdma_cm then destroys its cm_ids, and
 * iw_cm waits for each connection that is coming up: with a silent peer that
 * may take minutes. ULPs wait for closes by FIN, too. Only after that are the
 * QPs destroyed and is the driver called. So iw_mpa is a client, too: it ends
 * at once the connections that are coming up or ending, and refuses new ones.
 * Established connections end when their ULPs close them: a close then takes
 * linger_timeout_ms at most. A client that registered after iw_mpa is called
 * before iw_mpa, and may still wait up to finish_timeout_ms for a close by FIN:
 * so load rdma_cm before iw_mpa.
 *
 * A device that is moved to another network namespace is removed from its
 * clients and added again.
 */
static int device_client_add(struct ib_device *ibdev)
{
	struct iw_mpa_device *dev = iw_mpa_device_get(ibdev);

	if (!dev)
		return -EOPNOTSUPP;
	device_tell_surprises(dev);
	WRITE_ONCE(dev->dying, false);
	WRITE_ONCE(dev->attached, true);
	iw_mpa_device_put(dev);
	return 0;
}

static void device_client_remove(struct ib_device *ibdev, void *unused)
{
	struct iw_mpa_device *dev = iw_mpa_device_get(ibdev);

	if (!dev)
		return;
	WRITE_ONCE(dev->attached, false);
	device_end_endpoints(dev, device_end_unless_up);
	iw_mpa_device_put(dev);
}

struct ib_client iw_mpa_device_client = {
	.name	= "iw_mpa",
	.add	= device_client_add,
	.remove	= device_client_remove,
};

/*
 * Wait for the last user of a device. Connections end at once, so only the
 * driver can prolong the wait. There are listeners only if the driver
 * unregisters too early, which is logged: iw_cm may then be creating another
 * one at this time.
 */
static void device_wait(struct iw_mpa_device *dev, bool early)
{
	int seconds;

	for (seconds = 1;; seconds++) {
		if (early)
			iw_mpa_listen_end(dev);
		if (wait_for_completion_timeout(&dev->unused, HZ))
			return;
		if (!early && seconds % DEVICE_GRACE == 0)
			iw_mpa_blame("%s: unregistration waits for an op, or iw_mpa_qp_freed()",
				     dev_name(&dev->ibdev->dev));
	}
}

/**
 * iw_mpa_unregister_device - end and forget all connections of a device
 * @ibdev: the device, registered or not
 *
 * A driver calls this from dealloc_driver or after ib_unregister_device(), when
 * iw_cm makes no more calls, and the driver has no reference on an endpoint.
 * iw_mpa refuses new connections, ends the existing ones, and waits for them.
 * After return no op runs, and no socket of the device is open, not even a
 * socket whose TCP connection the device had taken over.
 *
 * Context: process; sleeps. No lock that an op takes may be held.
 */
void iw_mpa_unregister_device(struct ib_device *ibdev)
{
	struct iw_mpa_device *dev = iw_mpa_device_remove(ibdev);
	bool early = refcount_read(&ibdev->refcount);

	iw_mpa_event_may_wait();
	if (!dev)
		return;

	if (early)
		iw_mpa_blame("%s: unregistered before ib_unregister_device()",
			     dev_name(&ibdev->dev));
	device_end_endpoints(dev, device_end_endpoint);
	iw_mpa_device_put(dev);
	device_wait(dev, early);
	if (refcount_read(&dev->held) > 1)
		iw_mpa_blame("%s: unregistered while %u of iw_mpa_ep_get() are held",
			     dev_name(&ibdev->dev),
			     refcount_read(&dev->held) - 1);
	ibdev->ops.iw_get_qp = dev->get_qp;
	device_free(dev);
}
EXPORT_SYMBOL_GPL(iw_mpa_unregister_device);

static ssize_t device_show(struct device *device, struct device_attribute *attr,
			   char *buf)
{
	struct iw_mpa_device *dev =
		iw_mpa_device_get(rdma_device_to_ibdev(device));
	ssize_t len;

	if (!dev)
		return -ENODEV;
	len = iw_mpa_config_show(&dev->config, attr->attr.name, buf);
	iw_mpa_device_put(dev);
	return len;
}

static ssize_t device_store(struct device *device,
			    struct device_attribute *attr, const char *buf,
			    size_t len)
{
	struct iw_mpa_device *dev =
		iw_mpa_device_get(rdma_device_to_ibdev(device));
	int err;

	if (!dev)
		return -ENODEV;
	err = iw_mpa_config_store(&dev->config, attr->attr.name, buf);
	iw_mpa_device_put(dev);
	return err ?: len;
}

#define ATTR(name)							\
	static struct device_attribute device_attr_##name =		\
		__ATTR(name, 0644, device_show, device_store);
IW_MPA_DEVICE_SETTINGS(ATTR)
#undef ATTR

static struct attribute *device_attrs[] = {
#define ATTR(name)	&device_attr_##name.attr,
	IW_MPA_DEVICE_SETTINGS(ATTR)
#undef ATTR
	NULL
};

/* /sys/class/infiniband/DEVICE/iw_mpa */
const struct attribute_group iw_mpa_device_group = {
	.name	= "iw_mpa",
	.attrs	= device_attrs,
};

// SPDX-License-Identifier: GPL-2.0
/* The list of registered devices. Unregistration waits for the last user. */

#include "device.h"

#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/if_vlan.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/rculist.h>
#include <linux/sched/signal.h>
#include <net/net_namespace.h>
#include <rdma/ib_verbs.h>

static LIST_HEAD(device_list);
static DEFINE_MUTEX(device_mutex);	/* writers of device_list */

static struct iw_mpa_device *device_find(const struct ib_device *ibdev)
{
	struct iw_mpa_device *dev;

	list_for_each_entry_rcu(dev, &device_list, node,
				lockdep_is_held(&device_mutex)) {
		if (dev->ibdev == ibdev)
			return dev;
	}
	return NULL;
}

/* Return: 0; -EEXIST if the list already has this IB device. */
int iw_mpa_device_add(struct iw_mpa_device *dev)
{
	int err = 0;

	mutex_lock(&device_mutex);
	if (device_find(dev->ibdev))
		err = -EEXIST;
	else
		list_add_rcu(&dev->node, &device_list);
	mutex_unlock(&device_mutex);
	return err;
}

/* Return: the device, maybe still in use; NULL if it was not registered. */
struct iw_mpa_device *iw_mpa_device_remove(const struct ib_device *ibdev)
{
	struct iw_mpa_device *dev;

	mutex_lock(&device_mutex);
	dev = device_find(ibdev);
	if (dev)
		list_del_rcu(&dev->node);
	mutex_unlock(&device_mutex);
	return dev;
}

/* Return: device, with a reference; NULL if unknown or being unregistered. */
struct iw_mpa_device *iw_mpa_device_get(const struct ib_device *ibdev)
{
	struct iw_mpa_device *dev;

	rcu_read_lock();
	dev = device_find(ibdev);
	if (dev && !refcount_inc_not_zero(&dev->users))
		dev = NULL;
	rcu_read_unlock();
	return dev;
}

/*
 * May the current task connect this QP? Kernel threads may connect any QP. An
 * application's QP may be connected by the process that made it, and by
 * processes of the same user; a kernel ULP's QP by tasks with CAP_NET_ADMIN or
 * CAP_SYS_ADMIN. The latter is enough because mount.cifs drops all capabilities
 * except those needed for mounting.
 */
static bool device_lets_use(const struct ib_qp *qp)
{
	struct task_struct *maker = qp->res.task;

	if (current->flags & PF_KTHREAD)
		return true;
	if (!qp->uobject || !maker)
		return ns_capable_noaudit(&init_user_ns, CAP_NET_ADMIN) ||
		       ns_capable_noaudit(&init_user_ns, CAP_SYS_ADMIN);
	return same_thread_group(current, maker) ||
	       uid_eq(task_uid(maker), current_uid());
}

/*
 * This replaces the driver's iw_get_qp, to hide QPs that the current task must
 * not connect: rdma_cm and iw_cm identify the QP of a call by its number alone,
 * and an application can name any number. iw_cm calls this in the ULP's
 * context, under a spinlock, so that the RCU grace period for which destroy_qp
 * waits does not end: the QP is not freed.
 */
struct ib_qp *iw_mpa_device_get_qp(struct ib_device *ibdev, int qpn)
{
	struct iw_mpa_device *dev;
	struct ib_qp *qp = NULL;

	rcu_read_lock();
	dev = device_find(ibdev);
	if (dev)
		qp = dev->get_qp(ibdev, qpn);
	if (qp && !device_lets_use(qp))
		qp = NULL;
	rcu_read_unlock();
	return qp;
}

/*
 * The network device may be moved to another network namespace at any time. So
 * a connection or a listener calls this once, and keeps the namespace it got.
 *
 * Return: the network namespace, referenced; NULL if it is being destroyed.
 */
struct net *iw_mpa_device_get_net(struct iw_mpa_device *dev)
{
	struct net *net;

	/* A namespace is freed a grace period after its netdevs left it. */
	rcu_read_lock();
	net = maybe_get_net(dev_net(dev->netdev));
	rcu_read_unlock();
	return net;
}

/* Call @look, which may sleep, for each device until it returns an error. */
int iw_mpa_device_for_each(int (*look)(struct iw_mpa_device *dev, void *arg),
			   void *arg)
{
	struct iw_mpa_device *dev;
	int err = 0;

	mutex_lock(&device_mutex);
	list_for_each_entry(dev, &device_list, node) {
		err = look(dev, arg);
		if (err)
			break;
	}
	mutex_unlock(&device_mutex);
	return err;
}

/*
 * rdma_cm looks for the device of an address in the order in which devices were
 * registered. Return: true if rdma_cm would take @first for an address of the
 * interface of @dev, provided that @first was registered before @dev. The
 * caller has rcu_read_lock().
 */
bool iw_mpa_device_passes_for(const struct iw_mpa_device *first,
			      const struct iw_mpa_device *dev)
{
	const struct net_device *theirs = first->netdev, *ours = dev->netdev;

	if (!net_eq(dev_net(theirs), dev_net(ours)))
		return false;
	return theirs == ours ||
	       (is_vlan_dev(ours) && vlan_dev_real_dev(ours) == theirs) ||
	       (is_vlan_dev(theirs) && vlan_dev_real_dev(theirs) == ours);
}

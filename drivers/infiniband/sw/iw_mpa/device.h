/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IW_MPA_DEVICE_H
#define _IW_MPA_DEVICE_H

#include "config.h"

#include <linux/completion.h>
#include <linux/list.h>
#include <linux/netdevice.h>
#include <linux/printk.h>
#include <linux/ratelimit_types.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>

#include <rdma/iw_mpa.h>

struct iw_mpa_stats;
struct iw_mpa_takeovers;

/**
 * struct iw_mpa_device - a registered RNIC: what its endpoints share
 * @node: entry in the list of devices
 * @ibdev: its IB device
 * @netdev: its network device
 * @netdev_tracker: tracks the reference on @netdev
 * @ops: the driver's functions
 * @get_qp: the driver's iw_get_qp, which iw_mpa_device_get_qp() calls
 * @attr: what the device can do
 * @stats: the device's counters
 * @log_limit: limits the lines about its connections in the kernel's log
 * @config: its own settings, which override those of the network namespace
 * @users: one for the registration, one for each live endpoint and listener
 * @held: one for the registration, one for each reference of the driver on an
 *	endpoint: the last one frees the memory
 * @unused: completed when @users drops to 0
 * @lock: protects @listeners, @crowds and the backlogs in them; process context
 * @crowds: one &struct iw_mpa_crowd for each network namespace with listeners
 * @listeners: the listeners on this device
 * @lent: the log has said that another network namespace uses the device
 * @dying: refuse new endpoints; a connection that begins to end has less time
 * @attached: iw_mpa's client of the RDMA core has the device, so has rdma_cm,
 *	if its module was loaded before iw_mpa
 * @takeovers: TCP connections that it has taken over; NULL if it takes none
 * @rcu: frees the memory, for readers of the list of devices
 */
struct iw_mpa_device {
	struct list_head		node;
	struct ib_device		*ibdev;
	struct net_device		*netdev;
	netdevice_tracker		netdev_tracker;
	const struct iw_mpa_driver_ops	*ops;
	struct ib_qp *(*get_qp)(struct ib_device *ibdev, int qpn);
	struct iw_mpa_device_attr	attr;
	struct iw_mpa_stats __percpu	*stats;
	struct ratelimit_state		log_limit;
	struct iw_mpa_device_config	config;
	refcount_t			users;
	refcount_t			held;
	struct completion		unused;
	spinlock_t			lock;
	struct list_head		crowds;
	struct list_head		listeners;
	bool				lent;
	bool				dying;
	bool				attached;
	struct iw_mpa_takeovers		*takeovers;
	struct rcu_head			rcu;
};

/* Log a driver's mistake: iw_mpa_driver.rst has a table of these messages. */
#define iw_mpa_blame(fmt, ...)						\
	pr_err_ratelimited("iw_mpa: driver mistake: " fmt "\n", ##__VA_ARGS__)

/* Drop a reference on a device, which may then be freed. Context: any. */
static inline void iw_mpa_device_put(struct iw_mpa_device *dev)
{
	if (refcount_dec_and_test(&dev->users))
		complete(&dev->unused);
}

/* Drop a reference on a device's memory, which may be freed. Context: any. */
static inline void iw_mpa_device_drop(struct iw_mpa_device *dev)
{
	if (refcount_dec_and_test(&dev->held))
		kfree_rcu(dev, rcu);
}

/* @fence: no TX of a responder before the first FPDU (RFC 5044 7.1.2). */
static inline bool iw_mpa_device_may_respond(const struct iw_mpa_device *dev,
					     bool fence)
{
	return !fence || (dev->attr.caps & IW_MPA_CAP_TX_FENCE);
}

int iw_mpa_device_add(struct iw_mpa_device *dev);
struct iw_mpa_device *iw_mpa_device_remove(const struct ib_device *ibdev);
struct iw_mpa_device *iw_mpa_device_get(const struct ib_device *ibdev);
struct ib_qp *iw_mpa_device_get_qp(struct ib_device *ibdev, int qpn);
struct net *iw_mpa_device_get_net(struct iw_mpa_device *dev);
int iw_mpa_device_for_each(int (*look)(struct iw_mpa_device *dev, void *arg),
			   void *arg);
bool iw_mpa_device_passes_for(const struct iw_mpa_device *first,
			      const struct iw_mpa_device *dev);

#endif /* _IW_MPA_DEVICE_H */

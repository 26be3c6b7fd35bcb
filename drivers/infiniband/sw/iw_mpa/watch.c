// SPDX-License-Identifier: GPL-2.0
/*
 * Netevents tell of neighbours and routes. This is for devices that have TCP connections of their
 * own.
 *
 * A netevent comes in process context or softirq. Most netevents only say that a neighbour is
 * alive, and few say that it has moved. So a netevent only causes a look. takeover.c looks and
 * compares, in a work item.
 *
 * Locking: watch_lock is taken to change the list of devices. The notifier reads the list under
 * RCU, as netevents are notified within it. A host without such a device has next to
 * nothing to do, and processors do not wait for each other.
 */

#include "watch.h"
#include "offload.h"
#include "takeover.h"

#include <linux/notifier.h>
#include <linux/rculist.h>
#include <linux/spinlock.h>
#include <net/netevent.h>

static LIST_HEAD(watch_list);
static DEFINE_SPINLOCK(watch_lock);

static int watch_event(struct notifier_block *nb, unsigned long event, void *arg)
{
	struct iw_mpa_takeovers *all;

	if (event != NETEVENT_NEIGH_UPDATE && event != NETEVENT_REDIRECT)
		return NOTIFY_DONE;
	list_for_each_entry_rcu(all, &watch_list, node)
		iw_mpa_takeovers_stir(all);
	return NOTIFY_DONE;
}

static struct notifier_block watch_notifier = {
	.notifier_call	= watch_event,
};

/**
 * iw_mpa_watch_begin - have a driver told of the paths of its connections
 * @all: the device's; none yet
 * @drv: the driver's ops
 */
void iw_mpa_watch_begin(struct iw_mpa_takeovers *all, const struct iw_mpa_driver_ops *drv)
{
	all->tell = iw_mpa_offload_teller(drv);
	if (!all->tell)
		return;
	spin_lock(&watch_lock);
	list_add_rcu(&all->node, &watch_list);
	spin_unlock(&watch_lock);
}

/**
 * iw_mpa_watch_end - the device goes: nobody stirs it any more
 * @all: the device's, watched or not
 *
 * Context: process, sleeps until nobody stirs it.
 */
void iw_mpa_watch_end(struct iw_mpa_takeovers *all)
{
	if (!all->tell)
		return;
	spin_lock(&watch_lock);
	list_del_rcu(&all->node);
	spin_unlock(&watch_lock);
	synchronize_rcu();
}

/**
 * iw_mpa_watch_init - receive netevents
 *
 * Return: 0 or a negative errno.
 */
int iw_mpa_watch_init(void)
{
	return register_netevent_notifier(&watch_notifier);
}

/** iw_mpa_watch_exit - every device is gone */
void iw_mpa_watch_exit(void)
{
	unregister_netevent_notifier(&watch_notifier);
}

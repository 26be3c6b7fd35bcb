// SPDX-License-Identifier: GPL-2.0
/* Endpoints: memory, references, and the table of all that live, by number. */

#include "ep.h"
#include "config.h"
#include "rnic.h"
#include "stats.h"

#include <linux/export.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

static struct hlist_bl_head ep_table[IW_MPA_EP_BUCKETS];
static atomic_long_t ep_last_id = ATOMIC_LONG_INIT(-1);

/**
 * iw_mpa_new_id - a number for a connection or a listener
 *
 * Return: an odd number. Where a long has 32 bits the numbers begin again after 2^31 connections:
 * iw_mpa_ep_register() then skips a number that is in use.
 */
unsigned long iw_mpa_new_id(void)
{
	return atomic_long_add_return(2, &ep_last_id);
}

/* Numbers are consecutive, so they fill the buckets evenly without a hash function. */
static struct hlist_bl_head *ep_bucket(unsigned long id)
{
	return &ep_table[(id >> 1) % IW_MPA_EP_BUCKETS];
}

static void ep_free(struct kref *ref)
{
	struct iw_mpa_ep *ep = container_of(ref, struct iw_mpa_ep, ref);

	iw_mpa_count(IW_MPA_CNT_ep_destroyed);
	put_net_track(ep->net, &ep->net_tracker);
	kfree_rcu(ep, rcu);
}

/**
 * iw_mpa_ep_get - take a reference
 * @ep: endpoint, on which the caller has one or that is live
 *
 * Context: any.
 *
 * Return: @ep
 */
struct iw_mpa_ep *iw_mpa_ep_get(struct iw_mpa_ep *ep)
{
	kref_get(&ep->ref);
	return ep;
}
EXPORT_SYMBOL_GPL(iw_mpa_ep_get);

/**
 * iw_mpa_ep_put - drop a reference
 * @ep: endpoint
 *
 * Context: any.
 */
void iw_mpa_ep_put(struct iw_mpa_ep *ep)
{
	kref_put(&ep->ref, ep_free);
}
EXPORT_SYMBOL_GPL(iw_mpa_ep_put);

static void ep_init_local(struct iw_mpa_ep *ep)
{
	const struct iw_mpa_device_attr *attr = &ep->dev->attr;
	const struct iw_mpa_config *config = ep->config;
	struct iw_mpa_local *local = &ep->local;

	local->max_ird = attr->max_ird;
	local->max_ord = attr->max_ord;
	local->ird = attr->max_ird;
	local->ord = attr->max_ord;
	/* The setting limits what is offered. A responder takes each revision that it knows. */
	local->rev = ep->initiator ? READ_ONCE(config->mpa_rev) : IW_MPA_REV_2;
	local->rtr_send = attr->rtr_send;
	local->rtr_accept = attr->rtr_accept;
	local->crc = READ_ONCE(config->crc) || !(attr->caps & IW_MPA_CAP_NO_CRC);
	local->rx_markers = READ_ONCE(config->markers) && (attr->caps & IW_MPA_CAP_RX_MARKERS);
	local->tx_markers = attr->caps & IW_MPA_CAP_TX_MARKERS;
	local->strict = READ_ONCE(config->strict_ird_ord);
}

/* upcall.c and offload.c do not know the endpoint: they have copies for their trace events. */
static void ep_set_id(struct iw_mpa_ep *ep, unsigned long id)
{
	ep->id = id;
	ep->up.id = id;
	ep->off.id = id;
}

/**
 * iw_mpa_ep_alloc - allocate an endpoint
 * @dev: its device, which the caller uses
 * @net: its network namespace, on which the caller has a reference
 * @initiator: local role
 * @request_pd: initiator: private data for the Request, copied; else NULL
 * @request_pd_len: its length
 *
 * The caller has the only reference. It then calls iw_mpa_event_setup(), which makes it the runner,
 * and iw_mpa_ep_register(), which makes the endpoint known.
 *
 * Context: process, sleeps.
 *
 * Return: the endpoint in state IDLE, or NULL.
 */
struct iw_mpa_ep *iw_mpa_ep_alloc(struct iw_mpa_device *dev, struct net *net, bool initiator,
				  const void *request_pd, u16 request_pd_len)
{
	struct iw_mpa_ep *ep;

	ep = kzalloc(struct_size(ep, request_pd, request_pd_len), GFP_NOIO);
	if (!ep)
		return NULL;
	kref_init(&ep->ref);
	ep_set_id(ep, iw_mpa_new_id());
	ep->dev = dev;
	ep->net = get_net_track(net, &ep->net_tracker, GFP_NOIO);
	ep->config = iw_mpa_config(net);
	ep->off.drv = dev->ops;
	ep->off.attr = &dev->attr;
	ep->up.attr = &dev->attr;
	ep->off.takeovers = &dev->takeovers;
	ep->initiator = initiator;
	ep->born = get_jiffies_64();
	iw_mpa_reader_init(&ep->reader, initiator, ep->frame);
	ep_init_local(ep);
	ep->request_pd_len = request_pd_len;
	if (request_pd_len)
		memcpy(ep->request_pd, request_pd, request_pd_len);
	iw_mpa_count(IW_MPA_CNT_ep_created);
	return ep;
}

static bool ep_id_is_taken(struct hlist_bl_head *bucket, unsigned long id)
{
	struct hlist_bl_node *node;
	struct iw_mpa_ep *ep;

	if (IS_ENABLED(CONFIG_64BIT))
		return false;
	hlist_bl_for_each_entry(ep, node, bucket, registered) {
		if (ep->id == id)
			return true;
	}
	return false;
}

/**
 * iw_mpa_ep_register - make an endpoint live
 * @ep: new endpoint
 *
 * From now on others find the endpoint, and the state machine has to come to RELEASE.
 *
 * Context: process.
 *
 * Return: 0, or -ENODEV if the device is being removed: the endpoint is not live then.
 */
int iw_mpa_ep_register(struct iw_mpa_ep *ep)
{
	struct iw_mpa_device *dev = ep->dev;
	struct hlist_bl_head *bucket = ep_bucket(ep->id);

	refcount_inc(&dev->users);
	hlist_bl_lock(bucket);
	while (ep_id_is_taken(bucket, ep->id))
		ep_set_id(ep, ep->id + 2 * IW_MPA_EP_BUCKETS);
	hlist_bl_add_head_rcu(&ep->registered, bucket);
	hlist_bl_unlock(bucket);
	/*
	 * Whoever removes the device sets @dying before it takes the lock of each bucket, in
	 * iw_mpa_ep_look(). Either that function finds this endpoint in the bucket, or it had the
	 * lock before, and @dying is seen here.
	 */
	if (!READ_ONCE(dev->dying))
		return 0;
	iw_mpa_ep_unregister(ep);
	iw_mpa_device_put(dev);
	return -ENODEV;
}

/**
 * iw_mpa_ep_unregister - nobody finds the endpoint any more
 * @ep: live endpoint
 *
 * Context: process.
 */
void iw_mpa_ep_unregister(struct iw_mpa_ep *ep)
{
	struct hlist_bl_head *bucket = ep_bucket(ep->id);

	hlist_bl_lock(bucket);
	hlist_bl_del_rcu(&ep->registered);
	hlist_bl_unlock(bucket);
}

/* The endpoint in a bucket that has a number, which 0 is none, or raises events for a cm_id. */
static struct iw_mpa_ep *ep_find(struct hlist_bl_head *bucket, unsigned long id,
				 const struct iw_cm_id *cm_id)
{
	struct iw_mpa_ep *ep, *found = NULL;
	struct hlist_bl_node *node;

	rcu_read_lock();
	hlist_bl_for_each_entry_rcu(ep, node, bucket, registered) {
		/* Pairs with upcall.c. No other cm_id has the address while this one is held. */
		if (ep->id != id && (!cm_id || READ_ONCE(ep->up.cm_id) != cm_id))
			continue;
		if (kref_get_unless_zero(&ep->ref)) {
			found = ep;
			break;
		}
	}
	rcu_read_unlock();
	return found;
}

/**
 * iw_mpa_ep_find - the endpoint of a number
 * @id: the number
 *
 * Context: any.
 *
 * Return: the endpoint with a reference, or NULL if it is not live any more.
 */
struct iw_mpa_ep *iw_mpa_ep_find(unsigned long id)
{
	return ep_find(ep_bucket(id), id, NULL);
}

/**
 * iw_mpa_ep_find_cm_id - the endpoint that raises events for a cm_id
 * @id: the cm_id
 *
 * This looks at all endpoints. It is called only if a ULP answers twice.
 *
 * Context: process, may sleep.
 *
 * Return: the endpoint with a reference, or NULL if it has raised its last event.
 */
struct iw_mpa_ep *iw_mpa_ep_find_cm_id(const struct iw_cm_id *id)
{
	struct iw_mpa_ep *ep = NULL;
	unsigned int i;

	for (i = 0; i < IW_MPA_EP_BUCKETS && !ep; i++) {
		ep = ep_find(&ep_table[i], 0, id);
		cond_resched();
	}
	return ep;
}

/**
 * iw_mpa_ep_look - look at the endpoints of one bucket of the table
 * @bucket: its number, below IW_MPA_EP_BUCKETS
 * @look: is called for each endpoint; must not sleep. The memory of endpoint and device stays
 *	within the call, but both may be on their way out
 * @arg: for @look
 *
 * The lock of the bucket orders this with iw_mpa_ep_register(): an endpoint that is not found sees
 * what the caller has written before. The lock is a bit spinlock, within which no other lock can be
 * taken with PREEMPT_RT. So it is released before @look is called.
 *
 * Context: process.
 */
void iw_mpa_ep_look(unsigned int bucket, void (*look)(struct iw_mpa_ep *ep, void *arg), void *arg)
{
	struct hlist_bl_node *node;
	struct iw_mpa_ep *ep;

	hlist_bl_lock(&ep_table[bucket]);
	hlist_bl_unlock(&ep_table[bucket]);
	rcu_read_lock();
	hlist_bl_for_each_entry_rcu(ep, node, &ep_table[bucket], registered)
		look(ep, arg);
	rcu_read_unlock();
}

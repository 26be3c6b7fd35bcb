// SPDX-License-Identifier: GPL-2.0
/*
 * Endpoints: memory, references, and the table of live endpoints by number.
 * Also the reason why a connection ends, and lines in the kernel's log about
 * such ends, and about connections that lack a feature that this end asked for.
 */

#include "ep.h"
#include "config.h"
#include "device.h"
#include "negotiate.h"
#include "reason.h"
#include "stats.h"

#include <linux/err.h>
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/printk.h>
#include <linux/ratelimit.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <net/net_namespace.h>
#include <rdma/ib_verbs.h>

static struct hlist_bl_head ep_table[IW_MPA_EP_BUCKETS];
static atomic_long_t ep_last_id = ATOMIC_LONG_INIT(-1);

/*
 * A number for a connection or a listener. It is odd, and so never 0. Where a
 * long has 32 bits the numbers repeat after 2^31 of them: ep_register() then
 * skips a number that is in use.
 */
unsigned long iw_mpa_new_id(void)
{
	return atomic_long_add_return(2, &ep_last_id);
}

/* Consecutive numbers fill the buckets of the table evenly, without a hash. */
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

/* Take a reference for iw_mpa. The caller has one, or the endpoint is live. */
struct iw_mpa_ep *iw_mpa_ep_hold(struct iw_mpa_ep *ep)
{
	kref_get(&ep->ref);
	return ep;
}

void iw_mpa_ep_drop(struct iw_mpa_ep *ep)
{
	kref_put(&ep->ref, ep_free);
}

/**
 * iw_mpa_ep_get - take a driver's reference on an endpoint
 * @ep: endpoint that is live, or on which the caller has a reference
 *
 * Context: any.
 *
 * Return: @ep
 */
struct iw_mpa_ep *iw_mpa_ep_get(struct iw_mpa_ep *ep)
{
	atomic_inc(&ep->held);
	refcount_inc(&ep->dev->held);
	return iw_mpa_ep_hold(ep);
}
EXPORT_SYMBOL_GPL(iw_mpa_ep_get);

/**
 * iw_mpa_ep_put - drop a driver's reference on an endpoint
 * @ep: endpoint, from iw_mpa_ep_get()
 *
 * Context: any.
 */
void iw_mpa_ep_put(struct iw_mpa_ep *ep)
{
	struct iw_mpa_device *dev = ep->dev;

	if (atomic_dec_if_positive(&ep->held) < 0) {
		iw_mpa_blame("connection %lu: a put without iw_mpa_ep_get()",
			     ep->id);
		return;
	}
	iw_mpa_ep_drop(ep);
	iw_mpa_device_drop(dev);
}
EXPORT_SYMBOL_GPL(iw_mpa_ep_put);

/*
 * Return: false if a driver must not call iw_mpa about a connection: after
 * stop() the driver needs a reference on the endpoint, and has none. The call
 * is logged. The check works only until @ep is freed; what @ep points to may be
 * freed earlier, so it is not read.
 */
bool iw_mpa_ep_check_call(const struct iw_mpa_ep *ep, const char *call)
{
	if (READ_ONCE(ep->off.qp) || atomic_read(&ep->held))
		return true;
	iw_mpa_blame("connection %lu: %s() after stop, without iw_mpa_ep_get()",
		     ep->id, call);
	return false;
}

static void ep_init_local(struct iw_mpa_ep *ep)
{
	const struct iw_mpa_device_attr *attr = &ep->dev->attr;
	const struct iw_mpa_device_config *own = &ep->dev->config;
	const struct iw_mpa_config *config = ep->config;
	struct iw_mpa_local *local = &ep->local;

	local->max_ird = attr->max_ird;
	local->max_ord = attr->max_ord;
	local->ird = attr->max_ird;
	local->ord = attr->max_ord;
	/* mpa_rev limits an initiator's offer; a responder accepts 1 and 2. */
	local->rev = !ep->initiator ? IW_MPA_REV_2 :
		     iw_mpa_config_narrow(&own->mpa_rev, &config->mpa_rev);
	local->rtr_send = attr->rtr_send;
	local->rtr_accept = attr->rtr_accept;
	local->crc = iw_mpa_config_narrow(&own->crc, &config->crc) ||
		     !(attr->caps & IW_MPA_CAP_NO_CRC);
	local->rx_markers =
		iw_mpa_config_narrow(&own->markers, &config->markers) &&
		(attr->caps & IW_MPA_CAP_RX_MARKERS);
	local->tx_markers = attr->caps & IW_MPA_CAP_TX_MARKERS;
	local->strict = READ_ONCE(config->strict_ird_ord);
	local->large_fpdu =
		iw_mpa_config_narrow(&own->large_fpdu, &config->large_fpdu) &&
		(attr->caps & IW_MPA_CAP_LARGE_FPDU);
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

void iw_mpa_ep_unregister(struct iw_mpa_ep *ep)
{
	struct hlist_bl_head *bucket = ep_bucket(ep->id);

	hlist_bl_lock(bucket);
	hlist_bl_del_rcu(&ep->registered);
	hlist_bl_unlock(bucket);
}

/* Return: false if the device is being removed: @ep is not in the table. */
static bool ep_register(struct iw_mpa_ep *ep)
{
	struct iw_mpa_device *dev = ep->dev;
	struct hlist_bl_head *bucket = ep_bucket(ep->id);

	refcount_inc(&dev->users);
	hlist_bl_lock(bucket);
	while (ep_id_is_taken(bucket, ep->id))
		ep->id += 2 * IW_MPA_EP_BUCKETS;
	hlist_bl_add_head_rcu(&ep->registered, bucket);
	hlist_bl_unlock(bucket);
	/*
	 * device_end_endpoints() sets dev->dying before it takes the lock of
	 * each bucket, in iw_mpa_ep_look(). Either it finds this endpoint in
	 * the bucket, or it had the lock earlier: then dying is true here.
	 */
	if (!READ_ONCE(dev->dying))
		return true;
	iw_mpa_ep_unregister(ep);
	iw_mpa_device_put(dev);
	return false;
}

/*
 * For iw_mpa_run_create(). The caller ensures that @dev and @net are not freed;
 * an initiator's private data is copied.
 *
 * Return: a new endpoint in state IDLE. The caller is its runner, the one
 * context that handles its events. Other contexts can find the endpoint in the
 * table, so only the action RELEASE may end it. Or an error: -ENOMEM; -ENODEV
 * if the device is being removed.
 */
struct iw_mpa_ep *iw_mpa_ep_create(struct iw_mpa_device *dev, struct net *net,
				   bool initiator, const void *request_pd,
				   u16 request_pd_len)
{
	struct iw_mpa_ep *ep;

	ep = kzalloc(struct_size(ep, request_pd, request_pd_len), GFP_NOIO);
	if (!ep)
		return ERR_PTR(-ENOMEM);
	kref_init(&ep->ref);
	spin_lock_init(&ep->lock);
	ep->busy = true;
	ep->found = IW_MPA_EV_NONE;
	ep->id = iw_mpa_new_id();
	ep->dev = dev;
	ep->net = get_net_track(net, &ep->net_tracker, GFP_NOIO);
	ep->config = iw_mpa_config(net);
	ep->initiator = initiator;
	ep->born = get_jiffies_64();
	iw_mpa_reader_init(&ep->reader, initiator, ep->frame);
	ep_init_local(ep);
	ep->request_pd_len = request_pd_len;
	if (request_pd_len)
		memcpy(ep->request_pd, request_pd, request_pd_len);
	iw_mpa_count(IW_MPA_CNT_ep_created);
	if (ep_register(ep))
		return ep;
	iw_mpa_ep_drop(ep);
	return ERR_PTR(-ENODEV);
}

/* Return: a live endpoint by number, with a reference, or NULL. Any context. */
struct iw_mpa_ep *iw_mpa_ep_find(unsigned long id)
{
	struct iw_mpa_ep *ep, *found = NULL;
	struct hlist_bl_node *node;

	rcu_read_lock();
	hlist_bl_for_each_entry_rcu(ep, node, ep_bucket(id), registered) {
		if (ep->id == id && kref_get_unless_zero(&ep->ref)) {
			found = ep;
			break;
		}
	}
	rcu_read_unlock();
	return found;
}

/*
 * Visit the endpoints in one bucket of the table. @look must not sleep. Within
 * @look the memory of the endpoint and of its device is valid, but neither need
 * have a reference: both may be about to be freed.
 *
 * The lock of the bucket orders this with ep_register(): an endpoint that is
 * added too late to be found here reads what the caller wrote before the call.
 * The lock is a bit spinlock, under which no other lock can be taken with
 * PREEMPT_RT: so it is released before @look is called. Context: process.
 */
void iw_mpa_ep_look(unsigned int bucket,
		    void (*look)(struct iw_mpa_ep *ep, void *arg), void *arg)
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

static enum iw_mpa_reason ep_tcp_reason(const struct iw_mpa_ep *ep)
{
	switch (READ_ONCE(ep->tcp_err)) {
	case ECONNREFUSED:
		return IW_MPA_R_TCP_REFUSED;
	case ETIMEDOUT:
	case EHOSTUNREACH:
	case ENETUNREACH:
	case EHOSTDOWN:
	case ENETDOWN:
		return IW_MPA_R_TCP_UNREACHABLE;
	}
	return IW_MPA_R_TCP_ERROR;
}

/*
 * The log is for administrators. So the end of a connection is not logged if it
 * was caused by the ULP of either side or by the removal of the device, if the
 * port had no listener, or if a client closed or reset it before it had sent a
 * byte, as a port scanner does.
 */
static bool ep_is_news(const struct iw_mpa_ep *ep, bool up)
{
	switch (ep->reason) {
	case IW_MPA_R_OK:
	case IW_MPA_R_REJECTED:
	case IW_MPA_R_TCP_REFUSED:
	case IW_MPA_R_ULP_REJECT:
	case IW_MPA_R_ULP_CLOSE:
	case IW_MPA_R_QP_GONE:
	case IW_MPA_R_DEVICE_GONE:
	case IW_MPA_R_LISTENER_GONE:
		return false;
	case IW_MPA_R_PEER_CLOSED:
		return !up && (ep->initiator || ep->reader.have);
	case IW_MPA_R_PEER_RESET:
		return up || ep->initiator || ep->reader.have;
	default:
		return true;
	}
}

/*
 * Log one line about a connection. Each device has a rate limit of its own, so
 * that peers of one device cannot suppress the lines of another device.
 */
static void ep_log(const struct iw_mpa_ep *ep, const char *what,
		   const char *err, const char *why)
{
	if (!READ_ONCE(ep->config->log) ||
	    !___ratelimit(&ep->dev->log_limit, "iw_mpa"))
		return;
	pr_notice("iw_mpa: %s: connection %lu: %s %pISpc, peer %pISpc: %s%s (%s)\n",
		  dev_name(&ep->dev->ibdev->dev), ep->id,
		  ep->initiator ? "initiator" : "responder",
		  &ep->tuple.local.sa, &ep->tuple.remote.sa, what, err, why);
}

/* Describe why a connection ended; if it was @up, also ep->fault and bytes. */
static void ep_describe(const struct iw_mpa_ep *ep, bool up, char *buf,
			size_t size)
{
	struct iw_mpa_fault fault = { .text = iw_mpa_reason_text(ep->reason) };
	u64 sent, received;
	int len;

	if (up && ep->reason == IW_MPA_R_STREAM)
		fault = ep->fault;
	if (ep->reason == IW_MPA_R_TIMEOUT_RTR && ep->sock.sock &&
	    iw_mpa_sock_rcv_nxt(&ep->sock) != ep->off.rcv_nxt)
		fault.text = "bytes have come, and no iw_mpa_first_fpdu() of the driver";
	len = scnprintf(buf, size, "%s", fault.text);
	if (fault.term)
		len += scnprintf(buf + len, size - len,
				 "; Terminate %s: layer %u, type %u, code 0x%02x",
				 fault.sent ? "sent" : "received", fault.layer,
				 fault.etype, fault.code);
	/* After a takeover the device counts bytes, not the socket. */
	if (!up || !ep->sock.sock)
		return;
	iw_mpa_sock_bytes(&ep->sock, &sent, &received);
	scnprintf(buf + len, size - len, "; %llu bytes sent, %llu received",
		  sent, received);
}

static void ep_log_failure(const struct iw_mpa_ep *ep)
{
	char err[sizeof(", errno -2147483648")] = "";
	bool up = ep->up.phase == IW_MPA_UP_CLOSE;
	char why[160];

	/* If iw_connect fails at once, its caller gets the errno: no log. */
	if ((ep->initiator && ep->call && !up) || !ep_is_news(ep, up))
		return;
	if (ep->err)
		snprintf(err, sizeof(err), ", errno %d", ep->err);
	ep_describe(ep, up, why, sizeof(why));
	ep_log(ep, iw_mpa_reason_name(ep->reason), err, why);
}

/* Log the features that an initiator's connection lacks; ep->lost is not 0. */
void iw_mpa_ep_log_loss(const struct iw_mpa_ep *ep)
{
	static const char * const what[] = {
		[IW_MPA_LOST_P2P] =
			"comes up without the peer-to-peer model",
		[IW_MPA_LOST_DEPTHS] =
			"comes up without depths",
		[IW_MPA_LOST_ALL] =
			"comes up without the peer-to-peer model and depths",
	};
	const char *why = "its Reply declines";

	if (!ep->sent.enhanced)
		why = "it closed on revision 2";
	else if (!ep->peer.enhanced)
		why = "its Reply is not enhanced";
	ep_log(ep, what[ep->lost], "", why);
}

/* Only the first reason is kept. @err: its negative errno for the log, or 0. */
void iw_mpa_ep_set_reason(struct iw_mpa_ep *ep, enum iw_mpa_reason reason,
			  int err)
{
	if (ep->reason)
		return;
	ep->reason = reason;
	ep->err = err;
}

/* An action fails with @err < 0, for the reason of @event. Return: @event */
enum iw_mpa_event iw_mpa_ep_fail(struct iw_mpa_ep *ep, enum iw_mpa_event event,
				 int err)
{
	iw_mpa_ep_set_reason(ep, iw_mpa_fsm_reason(ep->state, event), err);
	return event;
}

/*
 * An event is about to end the connection: note why, before the state changes.
 * The reason is that of the event, unless an action has set a more exact one.
 */
void iw_mpa_ep_note_end(struct iw_mpa_ep *ep, enum iw_mpa_event event)
{
	enum iw_mpa_reason reason = iw_mpa_fsm_reason(ep->state, event);
	bool fails = iw_mpa_fsm_step(ep->state, event)->fails;
	int err = 0;

	if (event == IW_MPA_EV_TCP_FAILED && reason != IW_MPA_R_OK)
		reason = ep_tcp_reason(ep);
	if (event == IW_MPA_EV_TCP_FAILED || event == IW_MPA_EV_PEER_RESET)
		err = -READ_ONCE(ep->tcp_err);
	if (fails)
		ep->reason = IW_MPA_R_OK;
	iw_mpa_ep_set_reason(ep, reason, err);
	if (fails || iw_mpa_fsm_states[ep->state].phase != IW_MPA_PHASE_END)
		ep_log_failure(ep);
}

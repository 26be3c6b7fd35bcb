// SPDX-License-Identifier: GPL-2.0
/*
 * An endpoint's life: references, events, timer, and the one runner that looks
 * cells of the state table up. What the cells say is done in action.c.
 *
 * Why no context is left when an endpoint retires (RELEASE, always the last
 * action before DEAD):
 *  - socket callbacks and the driver's: unhooked under sk_callback_lock;
 *  - the driver: stop() has returned, and it calls with a reference only;
 *  - the timer: deleted, waiting for a handler that runs;
 *  - the work item: holds a reference while queued, and finds DEAD;
 *  - iw_accept and iw_reject: hold the ULP's reference, and find DEAD;
 *  - whoever ends it from outside: holds a reference or the device's lock.
 */

#include "ep.h"
#include "action.h"
#include "config.h"
#include "rnic.h"
#include "stats.h"
#include "trace.h"

#include <linux/export.h>
#include <linux/jiffies.h>
#include <linux/netdevice.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>
#include <rdma/iw_cm.h>

static struct workqueue_struct *ep_wq;

/**
 * iw_mpa_ep_config - the settings that hold for an endpoint
 * @ep: endpoint
 *
 * Return: the settings of its network namespace.
 */
const struct iw_mpa_config *iw_mpa_ep_config(const struct iw_mpa_ep *ep)
{
	return iw_mpa_config(dev_net(ep->dev->netdev));
}

static void ep_free(struct kref *ref)
{
	struct iw_mpa_ep *ep = container_of(ref, struct iw_mpa_ep, ref);

	iw_mpa_count(IW_MPA_CNT_ep_destroyed);
	kfree(ep);
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

static void ep_queue_work(struct iw_mpa_ep *ep)
{
	iw_mpa_ep_get(ep);
	if (!queue_work(ep_wq, &ep->work))
		iw_mpa_ep_put(ep);
}

/**
 * iw_mpa_ep_raise - an event happened
 * @ep: endpoint
 * @event: up to IW_MPA_EV_LAST_RAISED
 *
 * It is handled soon, once, after those raised before that the table ranks
 * higher; or never if the endpoint is dead by then.
 *
 * Context: any.
 */
void iw_mpa_ep_raise(struct iw_mpa_ep *ep, enum iw_mpa_event event)
{
	unsigned long flags;

	spin_lock_irqsave(&ep->lock, flags);
	if (ep->state != IW_MPA_ST_DEAD) {
		ep->events |= BIT(event);
		if (!ep->busy)
			ep_queue_work(ep);
	}
	spin_unlock_irqrestore(&ep->lock, flags);
}

static void iw_mpa_ep_timeout(struct timer_list *timer)
{
	struct iw_mpa_ep *ep = from_timer(ep, timer, timer);

	iw_mpa_ep_raise(ep, IW_MPA_EV_TIMED_OUT);
}

/**
 * iw_mpa_ep_claim - become the runner if the endpoint is in a state
 * @ep: endpoint
 * @state: where it has to be
 *
 * Return: true if it is there and nobody else runs it; the caller then has to
 * iw_mpa_ep_unclaim() it.
 */
bool iw_mpa_ep_claim(struct iw_mpa_ep *ep, enum iw_mpa_state state)
{
	bool claimed = false;

	spin_lock_irq(&ep->lock);
	if (ep->state == state && !ep->busy) {
		ep->busy = true;
		claimed = true;
	}
	spin_unlock_irq(&ep->lock);
	return claimed;
}

/**
 * iw_mpa_ep_unclaim - cease to be the runner
 * @ep: endpoint
 *
 * Events that came meanwhile are left to the work item.
 */
void iw_mpa_ep_unclaim(struct iw_mpa_ep *ep)
{
	spin_lock_irq(&ep->lock);
	ep->busy = false;
	if (ep->events && ep->state != IW_MPA_ST_DEAD)
		ep_queue_work(ep);
	spin_unlock_irq(&ep->lock);
}

/**
 * iw_mpa_ep_set_reason - say why the connection ends
 * @ep: endpoint
 * @reason: why; without effect if a reason was given before
 *
 * Context: the runner.
 */
void iw_mpa_ep_set_reason(struct iw_mpa_ep *ep, enum iw_mpa_reason reason)
{
	if (!ep->reason)
		ep->reason = reason;
}

static unsigned int ep_timeout_ms(const struct iw_mpa_ep *ep,
				  enum iw_mpa_timer timer)
{
	const struct iw_mpa_config *config = iw_mpa_ep_config(ep);

	switch (timer) {
	case IW_MPA_TMR_CONNECT:
		return READ_ONCE(config->connect_timeout_ms);
	case IW_MPA_TMR_REQUEST:
		return READ_ONCE(config->request_timeout_ms);
	case IW_MPA_TMR_VERDICT:
		return READ_ONCE(config->verdict_timeout_ms);
	case IW_MPA_TMR_REPLY:
		return READ_ONCE(config->reply_timeout_ms);
	case IW_MPA_TMR_RTR:
		return READ_ONCE(config->rtr_timeout_ms);
	case IW_MPA_TMR_LINGER:
		return READ_ONCE(config->linger_timeout_ms);
	case IW_MPA_TMR_NONE:
	case IW_MPA_TMR_COUNT:
		break;
	}
	return 0;
}

static void ep_set_timer(struct iw_mpa_ep *ep)
{
	unsigned int ms = ep_timeout_ms(ep, iw_mpa_fsm_timer(ep->state));

	if (!ms) {
		ep->deadline = 0;
		timer_delete(&ep->timer);
		return;
	}
	ep->deadline = (jiffies + msecs_to_jiffies(ms)) | 1;
	mod_timer(&ep->timer, ep->deadline);
}

static void ep_enter(struct iw_mpa_ep *ep, enum iw_mpa_state state)
{
	if (state == ep->state)
		return;
	spin_lock_irq(&ep->lock);
	ep->state = state;
	spin_unlock_irq(&ep->lock);
	if (state != IW_MPA_ST_DEAD)
		ep_set_timer(ep);
}

static enum iw_mpa_reason ep_timeout_reason(enum iw_mpa_state state)
{
	switch (iw_mpa_fsm_timer(state)) {
	case IW_MPA_TMR_CONNECT:
		return IW_MPA_R_TIMEOUT_CONNECT;
	case IW_MPA_TMR_REQUEST:
		return IW_MPA_R_TIMEOUT_REQUEST;
	case IW_MPA_TMR_VERDICT:
		return IW_MPA_R_TIMEOUT_VERDICT;
	case IW_MPA_TMR_REPLY:
		return IW_MPA_R_TIMEOUT_REPLY;
	case IW_MPA_TMR_RTR:
		return IW_MPA_R_TIMEOUT_RTR;
	case IW_MPA_TMR_LINGER:
	case IW_MPA_TMR_NONE:
	case IW_MPA_TMR_COUNT:
		break;
	}
	return IW_MPA_R_OK;
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
	case ECONNRESET:
	case EPIPE:
		return IW_MPA_R_PEER_RESET;
	}
	return IW_MPA_R_TCP_ERROR;
}

/* What an event says of why the connection ends, if it does. */
static enum iw_mpa_reason ep_event_reason(const struct iw_mpa_ep *ep,
					  enum iw_mpa_event event)
{
	switch (event) {
	case IW_MPA_EV_PEER_CLOSED:
		return ep->reader.have && iw_mpa_reader_want(&ep->reader) ?
		       IW_MPA_R_TRUNCATED : IW_MPA_R_PEER_CLOSED;
	case IW_MPA_EV_PEER_RESET:
		return ep_tcp_reason(ep);
	case IW_MPA_EV_TIMED_OUT:
		return ep_timeout_reason(ep->state);
	case IW_MPA_EV_STREAM_DOWN:
		return IW_MPA_R_STREAM;
	case IW_MPA_EV_INDICATE_FAILED:
		return IW_MPA_R_EVENT_LOST;
	case IW_MPA_EV_ULP_CLOSED:
		return IW_MPA_R_ULP_CLOSE;
	case IW_MPA_EV_QP_GONE:
		return IW_MPA_R_QP_GONE;
	case IW_MPA_EV_DEV_GONE:
		return IW_MPA_R_DEVICE_GONE;
	case IW_MPA_EV_LISTENER_GONE:
		return IW_MPA_R_LISTENER_GONE;
	case IW_MPA_EV_ULP_REJECTED:
		return IW_MPA_R_ULP_REJECT;
	case IW_MPA_EV_SEND_FAILED:
	case IW_MPA_EV_REPLY_FAILED:
		return IW_MPA_R_SEND;
	default:
		return IW_MPA_R_OK;
	}
}

/* RFC 6581 10: a responder that does not know revision 2 closes on it. */
static enum iw_mpa_event ep_refine(struct iw_mpa_ep *ep, enum iw_mpa_event event)
{
	if (ep->state == IW_MPA_ST_AWAIT_REP && ep->fallback &&
	    !ep->reader.have &&
	    (event == IW_MPA_EV_PEER_CLOSED || event == IW_MPA_EV_PEER_RESET))
		return IW_MPA_EV_V2_REFUSED;
	return event;
}

/**
 * iw_mpa_ep_handle - handle an event and what follows from it
 * @ep: endpoint
 * @event: any
 *
 * Context: the runner.
 */
void iw_mpa_ep_handle(struct iw_mpa_ep *ep, enum iw_mpa_event event)
{
	while (event != IW_MPA_EV_NONE) {
		struct iw_mpa_transition tr;

		event = ep_refine(ep, event);
		tr = iw_mpa_fsm_step(ep->state, event);
		if (!tr.defined)
			return;
		if (tr.next == IW_MPA_ST_LINGER || tr.next == IW_MPA_ST_DEAD)
			iw_mpa_ep_set_reason(ep, ep_event_reason(ep, event));
		trace_iw_mpa_state(ep, ep->state, event, tr.next, ep->reason);
		ep_enter(ep, tr.next);
		event = iw_mpa_act(ep, tr.actions);
	}
}

/* A timer that was set again, or for another state, may have fired late. */
static bool ep_is_void(const struct iw_mpa_ep *ep, enum iw_mpa_event event)
{
	return event == IW_MPA_EV_TIMED_OUT &&
	       (!ep->deadline || time_before(jiffies, ep->deadline));
}

/*
 * The ULP may answer on another CPU before the upcall returns. So it is the last
 * thing that this runner does; what it needs is collected before.
 *
 * Return: true if the caller is still the runner.
 */
static bool ep_indicate(struct iw_mpa_ep *ep)
{
	struct iw_mpa_indication ind;
	bool may;

	ep->indicate = false;
	if (iw_mpa_act_prepare_indication(ep, &ind)) {
		iw_mpa_ep_handle(ep, IW_MPA_EV_INDICATE_FAILED);
		return true;
	}
	spin_lock_irq(&ep->lock);
	may = !(ep->events & BIT(IW_MPA_EV_LISTENER_GONE));
	if (may)
		ep->busy = false;
	spin_unlock_irq(&ep->lock);

	if (!may) {
		iw_mpa_act_cancel_indication(ep, &ind);
		iw_mpa_ep_handle(ep, IW_MPA_EV_INDICATE_FAILED);
		return true;
	}
	if (iw_mpa_act_indicate(ep, &ind))
		iw_mpa_ep_raise(ep, IW_MPA_EV_INDICATE_FAILED);
	return false;
}

/**
 * iw_mpa_ep_run - handle the events that were raised
 * @ep: endpoint, on which the caller has a reference
 * @claimed: the caller is the runner, and ceases to be
 *
 * Returns at once if somebody else is the runner, who then sees to them.
 *
 * Context: process, may sleep.
 */
void iw_mpa_ep_run(struct iw_mpa_ep *ep, bool claimed)
{
	bool runner = claimed;

	spin_lock_irq(&ep->lock);
	if (runner)
		ep->busy = false;
	while (!ep->busy && ep->events && ep->state != IW_MPA_ST_DEAD) {
		enum iw_mpa_event event = __ffs(ep->events);

		ep->events &= ~BIT(event);
		ep->busy = true;
		spin_unlock_irq(&ep->lock);

		runner = true;
		if (!ep_is_void(ep, event))
			iw_mpa_ep_handle(ep, event);
		if (ep->indicate)
			runner = ep_indicate(ep);

		spin_lock_irq(&ep->lock);
		if (runner)
			ep->busy = false;
	}
	spin_unlock_irq(&ep->lock);
}

/**
 * iw_mpa_ep_forget_tcp - drop what a socket that is gone has reported
 * @ep: endpoint, its socket released
 *
 * Context: the runner.
 */
void iw_mpa_ep_forget_tcp(struct iw_mpa_ep *ep)
{
	spin_lock_irq(&ep->lock);
	ep->events &= ~(BIT(IW_MPA_EV_TCP_UP) | BIT(IW_MPA_EV_READABLE) |
			BIT(IW_MPA_EV_PEER_CLOSED) | BIT(IW_MPA_EV_PEER_RESET));
	spin_unlock_irq(&ep->lock);
	ep->tcp_err = 0;
}

static void iw_mpa_ep_work(struct work_struct *work)
{
	struct iw_mpa_ep *ep = container_of(work, struct iw_mpa_ep, work);

	iw_mpa_ep_run(ep, false);
	iw_mpa_ep_put(ep);
}

static struct iw_mpa_ep *ep_of(struct iw_mpa_sock *ms)
{
	return container_of(ms, struct iw_mpa_ep, sock);
}

static void ep_sock_connected(struct iw_mpa_sock *ms)
{
	iw_mpa_ep_raise(ep_of(ms), IW_MPA_EV_TCP_UP);
}

static void ep_sock_readable(struct iw_mpa_sock *ms)
{
	iw_mpa_ep_raise(ep_of(ms), IW_MPA_EV_READABLE);
}

static void ep_sock_closed(struct iw_mpa_sock *ms)
{
	iw_mpa_ep_raise(ep_of(ms), IW_MPA_EV_PEER_CLOSED);
}

static void ep_sock_failed(struct iw_mpa_sock *ms, int err)
{
	WRITE_ONCE(ep_of(ms)->tcp_err, err);
	iw_mpa_ep_raise(ep_of(ms), IW_MPA_EV_PEER_RESET);
}

const struct iw_mpa_sock_ops iw_mpa_ep_sock_ops = {
	.connected	= ep_sock_connected,
	.readable	= ep_sock_readable,
	.closed		= ep_sock_closed,
	.failed		= ep_sock_failed,
};

static void ep_init_local(struct iw_mpa_ep *ep)
{
	const struct iw_mpa_config *config = iw_mpa_ep_config(ep);
	const struct iw_mpa_driver_ops *drv = ep->dev->ops;
	struct iw_mpa_local *local = &ep->local;

	local->max_ird = drv->max_ird;
	local->max_ord = drv->max_ord;
	local->ird = drv->max_ird;
	local->ord = drv->max_ord;
	local->rev = READ_ONCE(config->mpa_rev);
	local->rtr_send = drv->rtr_send;
	local->rtr_accept = drv->rtr_accept;
	local->p2p = READ_ONCE(config->peer_to_peer);
	local->crc = READ_ONCE(config->crc) ||
		     !(drv->caps & IW_MPA_CAP_NO_CRC);
	local->rx_markers = drv->caps & IW_MPA_CAP_RX_MARKERS;
	local->tx_markers = drv->caps & IW_MPA_CAP_TX_MARKERS;
	local->strict = READ_ONCE(config->strict_ird_ord);
}

/**
 * iw_mpa_ep_alloc - allocate an endpoint
 * @dev: its device
 * @initiator: local role
 * @request_pd: initiator: private data for the Request, copied; else NULL
 * @request_pd_len: its length
 *
 * The caller is its runner and has the only reference; nobody else knows it
 * before iw_mpa_ep_link().
 *
 * Return: the endpoint in state IDLE, or NULL.
 */
struct iw_mpa_ep *iw_mpa_ep_alloc(struct iw_mpa_device *dev, bool initiator,
				  const void *request_pd, u16 request_pd_len)
{
	struct iw_mpa_ep *ep;

	ep = kzalloc(struct_size(ep, request_pd, request_pd_len), GFP_KERNEL);
	if (!ep)
		return NULL;
	kref_init(&ep->ref);
	spin_lock_init(&ep->lock);
	INIT_LIST_HEAD(&ep->node);
	INIT_WORK(&ep->work, iw_mpa_ep_work);
	timer_setup(&ep->timer, iw_mpa_ep_timeout, 0);
	ep->dev = dev;
	ep->off.drv = dev->ops;
	ep->initiator = initiator;
	ep->busy = true;
	iw_mpa_reader_init(&ep->reader, initiator);
	ep_init_local(ep);
	ep->request_pd_len = request_pd_len;
	if (request_pd_len)
		memcpy(ep->request_pd, request_pd, request_pd_len);
	iw_mpa_count(IW_MPA_CNT_ep_created);
	return ep;
}

/**
 * iw_mpa_ep_link - make an endpoint known to its device
 * @ep: new endpoint
 * @listen_id: responder: cm_id of the listener; a reference is taken
 *
 * From now on iw_mpa_ep_retire() is due.
 *
 * Return: 0, or -ENODEV if the device is being removed.
 */
int iw_mpa_ep_link(struct iw_mpa_ep *ep, struct iw_cm_id *listen_id)
{
	struct iw_mpa_device *dev = ep->dev;
	int err = 0;

	spin_lock(&dev->lock);
	if (dev->dying) {
		err = -ENODEV;
	} else {
		refcount_inc(&dev->users);
		list_add_tail(&ep->node, listen_id ? &dev->half_open : &dev->eps);
	}
	spin_unlock(&dev->lock);

	if (!err && listen_id) {
		listen_id->add_ref(listen_id);
		ep->listen_id = listen_id;
	}
	return err;
}

/**
 * iw_mpa_ep_bind_qp - give an endpoint its QP
 * @ep: endpoint without one
 * @qpn: number of the QP
 *
 * Context: the runner.
 *
 * Return: 0; -EINVAL if there is no such QP, -EBUSY if it has a connection,
 * -ENOMEM.
 */
int iw_mpa_ep_bind_qp(struct iw_mpa_ep *ep, u32 qpn)
{
	struct ib_device *ibdev = ep->dev->ibdev;
	struct ib_qp *qp;
	int err;

	/* iw_cm has a reference on it until the last event. */
	qp = ibdev->ops.iw_get_qp(ibdev, qpn);
	if (!qp)
		return -EINVAL;
	err = xa_insert(&ep->dev->qps, qpn, ep, GFP_KERNEL);
	if (err)
		return err;
	ibdev->ops.iw_add_ref(qp);
	ep->off.qp = qp;
	ep->qpn = qpn;
	return 0;
}

/**
 * iw_mpa_ep_unbind_qp - take an endpoint's QP away, if it has one
 * @ep: endpoint that the driver does not use any more
 *
 * Context: the runner.
 */
void iw_mpa_ep_unbind_qp(struct iw_mpa_ep *ep)
{
	struct iw_mpa_device *dev = ep->dev;
	struct ib_qp *qp = ep->off.qp;

	if (!qp)
		return;
	ep->off.qp = NULL;
	dev->ibdev->ops.iw_rem_ref(qp);
	xa_erase(&dev->qps, ep->qpn);
	wake_up_all(&dev->unbound);
}

/**
 * iw_mpa_ep_retire - release everything but the memory
 * @ep: linked endpoint; the reference of its being live is dropped
 *
 * Context: the runner, which has another reference; sleeps.
 */
void iw_mpa_ep_retire(struct iw_mpa_ep *ep)
{
	struct iw_mpa_device *dev = ep->dev;
	struct iw_cm_id *listen_id = ep->listen_id;

	iw_mpa_sock_release(&ep->sock);
	timer_delete_sync(&ep->timer);
	if (listen_id) {
		ep->listen_id = NULL;
		listen_id->rem_ref(listen_id);
	}
	spin_lock(&dev->lock);
	ep->retired = true;
	if (!ep->asked)
		list_del_init(&ep->node);
	spin_unlock(&dev->lock);

	iw_mpa_count_reason(ep->reason);
	iw_mpa_ep_put(ep);
	iw_mpa_device_put(dev);
}

/**
 * iw_mpa_ep_ask - the ULP is going to be asked
 * @ep: responder with a complete Request
 *
 * The ULP's reference is taken; it travels with CONNECT_REQUEST.
 *
 * Context: the runner.
 *
 * Return: the listener's cm_id, with the endpoint's reference on it.
 */
struct iw_cm_id *iw_mpa_ep_ask(struct iw_mpa_ep *ep)
{
	struct iw_cm_id *listen_id = ep->listen_id;
	struct iw_mpa_device *dev = ep->dev;

	ep->listen_id = NULL;
	iw_mpa_ep_get(ep);
	spin_lock(&dev->lock);
	ep->asked = true;
	list_move_tail(&ep->node, &dev->eps);
	spin_unlock(&dev->lock);
	return listen_id;
}

/**
 * iw_mpa_ep_answered - the ULP owes no answer any more
 * @ep: endpoint that it was asked about; its reference is dropped
 */
void iw_mpa_ep_answered(struct iw_mpa_ep *ep)
{
	struct iw_mpa_device *dev = ep->dev;

	spin_lock(&dev->lock);
	ep->asked = false;
	if (ep->retired)
		list_del_init(&ep->node);
	spin_unlock(&dev->lock);
	iw_mpa_ep_put(ep);
}

/**
 * iw_mpa_first_fpdu - the driver has validated one whole FPDU
 * @ep: endpoint, from the hand-off
 *
 * Opens a responder's TX and, in the peer-to-peer model, completes its accept
 * (RFC 5044 7.1.2, RFC 6581 9.2). Later calls are void.
 *
 * Context: any, also the driver's socket callbacks.
 */
void iw_mpa_first_fpdu(struct iw_mpa_ep *ep)
{
	iw_mpa_ep_raise(ep, IW_MPA_EV_FIRST_FPDU);
}
EXPORT_SYMBOL_GPL(iw_mpa_first_fpdu);

/**
 * iw_mpa_stream_down - the driver cannot go on with the stream
 * @ep: endpoint, from the hand-off
 *
 * After an FPDU that is in error, a Terminate message received, or a TCP error
 * that the device found. stop() follows, and the ULP's event.
 *
 * Context: any.
 */
void iw_mpa_stream_down(struct iw_mpa_ep *ep)
{
	iw_mpa_ep_raise(ep, IW_MPA_EV_STREAM_DOWN);
}
EXPORT_SYMBOL_GPL(iw_mpa_stream_down);

/**
 * iw_mpa_disconnect - the ULP closes the connection
 * @ep: endpoint, from the hand-off
 *
 * From modify_qp. stop() follows, and the ULP's event.
 *
 * Context: any; never waits, so the QP's locks may be held.
 */
void iw_mpa_disconnect(struct iw_mpa_ep *ep)
{
	iw_mpa_ep_raise(ep, IW_MPA_EV_ULP_CLOSED);
}
EXPORT_SYMBOL_GPL(iw_mpa_disconnect);

/**
 * iw_mpa_ep_end_qp - end the connection of a QP and wait until it is unbound
 * @dev: device
 * @qpn: number of the QP
 *
 * Context: process, sleeps.
 */
void iw_mpa_ep_end_qp(struct iw_mpa_device *dev, u32 qpn)
{
	struct iw_mpa_ep *ep;

	xa_lock(&dev->qps);
	ep = xa_load(&dev->qps, qpn);
	if (ep)
		iw_mpa_ep_get(ep);
	xa_unlock(&dev->qps);
	if (!ep)
		return;

	iw_mpa_ep_raise(ep, IW_MPA_EV_QP_GONE);
	wait_event(dev->unbound, xa_load(&dev->qps, qpn) != ep);
	iw_mpa_ep_put(ep);
}

/**
 * iw_mpa_ep_init - make endpoints possible
 *
 * Return: 0 or -ENOMEM.
 */
int iw_mpa_ep_init(void)
{
	/* Storage reconnects through us: the queue must make progress in reclaim. */
	ep_wq = alloc_workqueue("iw_mpa", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	return ep_wq ? 0 : -ENOMEM;
}

/** iw_mpa_ep_exit - wait for work that still holds a reference */
void iw_mpa_ep_exit(void)
{
	destroy_workqueue(ep_wq);
}

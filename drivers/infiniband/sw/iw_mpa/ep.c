// SPDX-License-Identifier: GPL-2.0
/*
 * An endpoint's life: references, device, QP, cm_id.
 *
 * Why no context is left when an endpoint retires (RELEASE, always the last
 * action before DEAD):
 *  - socket callbacks and the driver's: unhooked under sk_callback_lock;
 *  - the driver: stop() has returned, and it calls with a reference only;
 *  - the timer: deleted, waiting for a handler that runs;
 *  - the work item: holds a reference while queued, and finds DEAD;
 *  - iw_accept and iw_reject: take a reference by the cm_id's number, and find DEAD;
 *  - whoever ends it from outside: holds a reference or the device's lock.
 */

#include "ep.h"
#include "config.h"
#include "rnic.h"
#include "run.h"
#include "stats.h"

#include <linux/export.h>
#include <linux/netdevice.h>
#include <linux/slab.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>
#include <rdma/iw_cm.h>

/*
 * Endpoints that the ULP was asked about, by number. iw_cm may drop a question
 * without a word, and answer one that is void: a number leads to what lives. Its
 * low half is odd: the place in asked_eps, doubled, plus one. Its high half tells it from
 * those that had the place before. Where an accepted connection has ended it has no number,
 * but points to the QP: iw_cm may not know yet, and accept it again.
 */
#define ASKED_BITS	(BITS_PER_LONG / 2)
#define ASKED_LIMIT	XA_LIMIT(0, GENMASK(ASKED_BITS - 2, 0))

static DEFINE_XARRAY_ALLOC(asked_eps);
static atomic_long_t asked_before;

static bool asked_is_number(unsigned long asked)
{
	return asked & 1;
}

static unsigned long asked_place(unsigned long asked)
{
	return (asked & GENMASK(ASKED_BITS - 1, 0)) >> 1;
}

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
	if (ep->reader.buf != ep->frame)
		kfree(ep->reader.buf);
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
	const struct iw_mpa_config *config = iw_mpa_ep_config(ep);
	const struct iw_mpa_device_attr *attr = &ep->dev->attr;
	struct iw_mpa_local *local = &ep->local;

	local->max_ird = attr->max_ird;
	local->max_ord = attr->max_ord;
	local->ird = attr->max_ird;
	local->ord = attr->max_ord;
	local->rev = READ_ONCE(config->mpa_rev);
	local->rtr_send = attr->rtr_send;
	local->rtr_accept = attr->rtr_accept;
	local->crc = READ_ONCE(config->crc) ||
		     !(attr->caps & IW_MPA_CAP_NO_CRC);
	local->rx_markers = attr->caps & IW_MPA_CAP_RX_MARKERS;
	local->tx_markers = attr->caps & IW_MPA_CAP_TX_MARKERS;
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
	INIT_LIST_HEAD(&ep->node);
	iw_mpa_run_setup(ep);
	ep->dev = dev;
	ep->off.drv = dev->ops;
	ep->off.attr = &dev->attr;
	ep->initiator = initiator;
	ep->born = jiffies;
	iw_mpa_reader_init(&ep->reader, initiator, ep->frame);
	ep_init_local(ep);
	ep->request_pd_len = request_pd_len;
	if (request_pd_len)
		memcpy(ep->request_pd, request_pd, request_pd_len);
	iw_mpa_count(IW_MPA_CNT_ep_created);
	return ep;
}

/**
 * iw_mpa_ep_reset_reader - expect the peer's frame anew
 * @ep: endpoint
 *
 * Context: the runner.
 */
void iw_mpa_ep_reset_reader(struct iw_mpa_ep *ep)
{
	if (ep->reader.buf != ep->frame)
		kfree(ep->reader.buf);
	iw_mpa_reader_init(&ep->reader, ep->initiator, ep->frame);
}

/**
 * iw_mpa_ep_make_room - let what the reader wants next have its place
 * @ep: endpoint
 *
 * Context: the runner.
 *
 * Return: 0 or -ENOMEM.
 */
int iw_mpa_ep_make_room(struct iw_mpa_ep *ep)
{
	struct iw_mpa_reader *rd = &ep->reader;
	size_t size = rd->have + iw_mpa_reader_want(rd);
	u8 *buf;

	if (rd->buf != ep->frame || size <= sizeof(ep->frame))
		return 0;
	buf = kmalloc(size, GFP_KERNEL);
	if (!buf)
		return -ENOMEM;
	memcpy(buf, rd->buf, rd->have);
	rd->buf = buf;
	return 0;
}

/**
 * iw_mpa_half_open_alloc - for a new listener
 *
 * Return: without connections, the caller has the reference; or NULL.
 */
struct iw_mpa_half_open *iw_mpa_half_open_alloc(void)
{
	struct iw_mpa_half_open *half_open;

	half_open = kzalloc(sizeof(*half_open), GFP_KERNEL);
	if (half_open) {
		refcount_set(&half_open->ref, 1);
		INIT_LIST_HEAD(&half_open->eps);
	}
	return half_open;
}

/**
 * iw_mpa_half_open_put - drop a reference
 * @half_open: of a listener; may be NULL
 */
void iw_mpa_half_open_put(struct iw_mpa_half_open *half_open)
{
	if (half_open && refcount_dec_and_test(&half_open->ref))
		kfree(half_open);
}

static void ep_leave_half_open(struct iw_mpa_ep *ep)
{
	lockdep_assert_held(&ep->dev->lock);

	if (!ep->half_open)
		return;
	ep->half_open = false;
	ep->siblings->count--;
	list_del(&ep->sibling);
	ep->dev->half_open_count--;
	list_move_tail(&ep->node, &ep->dev->eps);
}

static void ep_yield(struct iw_mpa_ep *ep)
{
	ep_leave_half_open(ep);
	iw_mpa_raise(ep, IW_MPA_EV_YIELD);
}

/*
 * Where there are too many, the one that is there longest goes: a flood is at the cost
 * of its listener before it is at that of others.
 */
static void ep_enter_half_open(struct iw_mpa_ep *ep)
{
	const struct iw_mpa_config *config = iw_mpa_ep_config(ep);
	struct iw_mpa_half_open *siblings = ep->siblings;
	struct iw_mpa_device *dev = ep->dev;

	lockdep_assert_held(&dev->lock);

	if (siblings->count >= READ_ONCE(config->half_open_listener_max))
		ep_yield(list_first_entry(&siblings->eps, struct iw_mpa_ep,
					  sibling));
	else if (dev->half_open_count >= READ_ONCE(config->half_open_max))
		ep_yield(list_first_entry(&dev->half_open, struct iw_mpa_ep,
					  node));
	ep->half_open = true;
	siblings->count++;
	list_add_tail(&ep->sibling, &siblings->eps);
	dev->half_open_count++;
	list_move_tail(&ep->node, &dev->half_open);
}

/**
 * iw_mpa_ep_link - make an endpoint known to its device
 * @ep: new endpoint
 * @listen_id: responder: cm_id of the listener; a reference is taken
 * @siblings: responder: the listener's; a reference is taken
 *
 * From now on iw_mpa_ep_retire() is due.
 *
 * Return: 0, or -ENODEV if the device is being removed.
 */
int iw_mpa_ep_link(struct iw_mpa_ep *ep, struct iw_cm_id *listen_id,
		   struct iw_mpa_half_open *siblings)
{
	struct iw_mpa_device *dev = ep->dev;
	int err = 0;

	spin_lock(&dev->lock);
	if (dev->dying) {
		err = -ENODEV;
	} else if (listen_id) {
		refcount_inc(&dev->users);
		refcount_inc(&siblings->ref);
		ep->siblings = siblings;
		ep_enter_half_open(ep);
	} else {
		refcount_inc(&dev->users);
		list_add_tail(&ep->node, &dev->eps);
	}
	spin_unlock(&dev->lock);

	if (!err && listen_id) {
		listen_id->add_ref(listen_id);
		ep->listen_id = listen_id;
	}
	return err;
}

/**
 * iw_mpa_ep_refused - a responder that said no waits for the peer to close
 * @ep: linked endpoint
 *
 * It counts as half-open, so that Requests do not buy more room than silence does.
 *
 * Context: the runner.
 */
void iw_mpa_ep_refused(struct iw_mpa_ep *ep)
{
	spin_lock(&ep->dev->lock);
	if (ep->half_open) {		/* the ULP could not be asked */
		ep_leave_half_open(ep);
		iw_mpa_run_forget_yield(ep);
	}
	ep_enter_half_open(ep);
	spin_unlock(&ep->dev->lock);
}

/**
 * iw_mpa_ep_note_tuple - keep the socket's addresses for who lists endpoints
 * @ep: endpoint with an open socket
 *
 * Context: the runner.
 */
void iw_mpa_ep_note_tuple(struct iw_mpa_ep *ep)
{
	struct iw_mpa_tuple tuple;

	iw_mpa_sock_tuple(&ep->sock, &tuple);
	spin_lock(&ep->dev->lock);
	ep->tuple = tuple;
	spin_unlock(&ep->dev->lock);
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

	err = xa_insert(&ep->dev->qps, qpn, ep, GFP_KERNEL);
	if (err)
		return err;
	/*
	 * iw_cm has a reference on it. If it is being destroyed, either we do
	 * not get it any more, or iw_mpa_qp_gone() finds us.
	 */
	qp = ibdev->ops.iw_get_qp(ibdev, qpn);
	if (!qp) {
		xa_erase(&ep->dev->qps, qpn);
		wake_up_all(&ep->dev->unbound);
		return -EINVAL;
	}
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

/* The ULP's answer is not wanted any more. */
static void ep_forget_question(struct iw_mpa_ep *ep)
{
	struct iw_mpa_device *dev = ep->dev;
	unsigned long asked;

	spin_lock(&dev->lock);
	asked = ep->asked;
	WRITE_ONCE(ep->asked, 0);
	spin_unlock(&dev->lock);
	if (!asked)
		return;
	xa_erase(&asked_eps, asked_place(asked));
	iw_mpa_ep_put(ep);
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
	ep_forget_question(ep);
	spin_lock(&dev->lock);
	ep_leave_half_open(ep);
	list_del_init(&ep->node);
	spin_unlock(&dev->lock);
	iw_mpa_half_open_put(ep->siblings);
	ep->siblings = NULL;

	iw_mpa_count_reason(dev->stats, ep->reason);
	iw_mpa_ep_put(ep);
	iw_mpa_device_put(dev);
}

/**
 * iw_mpa_ep_ask - the ULP is going to be asked
 * @ep: responder with a complete Request
 * @listen_id: result: the listener's cm_id, with the endpoint's reference on it
 *
 * The device is held until the upcall has returned.
 *
 * Context: the runner.
 *
 * Return: 0, -ENOMEM, or -EBUSY: where a long has 32 bits, 32,768 are waited for.
 */
int iw_mpa_ep_ask(struct iw_mpa_ep *ep, struct iw_cm_id **listen_id)
{
	struct iw_mpa_device *dev = ep->dev;
	u32 place;
	int err;

	err = xa_alloc(&asked_eps, &place, ep, ASKED_LIMIT, GFP_KERNEL);
	if (err)
		return err;
	*listen_id = ep->listen_id;
	ep->listen_id = NULL;
	iw_mpa_ep_get(ep);
	spin_lock(&dev->lock);
	refcount_inc(&dev->users);
	WRITE_ONCE(ep->asked, 2ul * place + 1 +
		   (atomic_long_inc_return(&asked_before) << ASKED_BITS));
	ep_leave_half_open(ep);
	iw_mpa_run_forget_yield(ep);
	spin_unlock(&dev->lock);
	return 0;
}

/**
 * iw_mpa_ep_provider_data - what leads from a passive cm_id to its endpoint
 * @ep: endpoint that the ULP is asked about
 *
 * Return: for CONNECT_REQUEST; not NULL.
 */
void *iw_mpa_ep_provider_data(const struct iw_mpa_ep *ep)
{
	return (void *)ep->asked;
}

/**
 * iw_mpa_ep_of_id - the endpoint of a passive cm_id
 * @id: cm_id
 *
 * Return: the endpoint with a reference, or NULL if @id has none any more.
 */
struct iw_mpa_ep *iw_mpa_ep_of_id(const struct iw_cm_id *id)
{
	unsigned long asked = (uintptr_t)READ_ONCE(id->provider_data);
	struct iw_mpa_ep *ep;

	if (!asked_is_number(asked))
		return NULL;
	rcu_read_lock();
	ep = xa_load(&asked_eps, asked_place(asked));
	if (ep && (READ_ONCE(ep->asked) != asked ||
		   !kref_get_unless_zero(&ep->ref)))
		ep = NULL;
	rcu_read_unlock();
	return ep;
}

/**
 * iw_mpa_ep_leave_id - a passive cm_id does not lead to its endpoint any more
 * @ep: endpoint
 * @id: the cm_id, or NULL if there is none
 */
void iw_mpa_ep_leave_id(struct iw_mpa_ep *ep, struct iw_cm_id *id)
{
	spin_lock_irq(&ep->lock);
	/* The QP may be gone: only iw_cm's reference keeps it. */
	if (id)
		WRITE_ONCE(id->provider_data, ep->accepted_qp);
	ep->accepted_qp = NULL;
	spin_unlock_irq(&ep->lock);
	ep_forget_question(ep);
}

/**
 * iw_mpa_ep_note_accept - iw_cm has taken a QP reference for iw_accept
 * @ep: endpoint
 * @qp: of that call, the first or a further one
 *
 * Return: the QP whose reference iw_cm forgot with this one, or NULL.
 */
struct ib_qp *iw_mpa_ep_note_accept(struct iw_mpa_ep *ep, struct ib_qp *qp)
{
	struct ib_qp *before;

	spin_lock_irq(&ep->lock);
	before = ep->accepted_qp;
	if (before || READ_ONCE(ep->asked))
		ep->accepted_qp = qp;
	spin_unlock_irq(&ep->lock);
	return before;
}

/**
 * iw_mpa_ep_note_late_accept - the same for a further call, after the connection's end
 * @id: cm_id that does not lead to an endpoint; its accepts do not overlap
 * @qp: of that call
 *
 * Return: the QP whose reference iw_cm forgot with this one, or NULL if none was accepted.
 */
struct ib_qp *iw_mpa_ep_note_late_accept(struct iw_cm_id *id, struct ib_qp *qp)
{
	void *before = READ_ONCE(id->provider_data);

	if (!before || asked_is_number((uintptr_t)before))
		return NULL;
	WRITE_ONCE(id->provider_data, qp);
	return before;
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
	iw_mpa_raise(ep, IW_MPA_EV_FIRST_FPDU);
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
	iw_mpa_raise(ep, IW_MPA_EV_STREAM_DOWN);
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
	iw_mpa_raise(ep, IW_MPA_EV_ULP_CLOSED);
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

	iw_mpa_raise(ep, IW_MPA_EV_QP_GONE);
	wait_event(dev->unbound, xa_load(&dev->qps, qpn) != ep);
	iw_mpa_ep_put(ep);
}

// SPDX-License-Identifier: GPL-2.0
/* Events for iw_cm. No other file calls the event_handler of a cm_id. */

#include "ep.h"
#include "device.h"
#include "trace.h"

#include <linux/bug.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <rdma/iw_cm.h>

/*
 * iw_mpa calls iw_cm's event handler only by pointers in cm_ids, which hold no
 * reference on the module iw_cm. The variable below refers to a symbol of
 * iw_cm, so iw_cm stays loaded as long as iw_mpa is.
 */
static typeof(iw_create_cm_id) * const upcall_iw_cm __used = iw_create_cm_id;

static int upcall_raise(const struct iw_mpa_ep *ep, struct iw_cm_id *cm_id,
			struct iw_cm_event *event)
{
	int ret;

	/* After iw_reject iw_cm does not accept events of the connection. */
	if (READ_ONCE(ep->up.rejected))
		return 0;
	ret = cm_id->event_handler(cm_id, event);
	trace_iw_mpa_upcall(ep->id, event->event, event->status,
			    event->private_data_len, ret);
	return ret;
}

static void upcall_set_addresses(struct iw_cm_event *event,
				 const struct iw_mpa_tuple *tuple)
{
	memcpy(&event->local_addr, &tuple->local, sizeof(tuple->local));
	memcpy(&event->remote_addr, &tuple->remote, sizeof(tuple->remote));
}

/*
 * Copy the peer's IRD, ORD and private data into an event. A peer that sends no
 * IRD and ORD is assumed to match the device: its IRD is the device's ORD, and
 * its ORD the device's IRD. The event has 8 bits for each of the two, so 255 is
 * the maximum. iw_cm copies the private data of CONNECT_REQUEST and
 * CONNECT_REPLY, but not that of ESTABLISHED, so an ESTABLISHED gets none.
 */
static void upcall_set_peer(const struct iw_mpa_ep *ep,
			    struct iw_cm_event *event)
{
	const struct iw_mpa_device_attr *attr = &ep->dev->attr;
	const struct iw_mpa_frame *peer = &ep->peer;

	event->ird = min_t(u16, peer->enhanced ? peer->ird : attr->max_ord,
			   U8_MAX);
	event->ord = min_t(u16, peer->enhanced ? peer->ord : attr->max_ird,
			   U8_MAX);
	if (event->event == IW_CM_EVENT_ESTABLISHED)
		return;
	event->private_data = (void *)ep->peer.pd;
	event->private_data_len = min_t(u16, ep->peer.pd_len, U8_MAX);
}

static void upcall_end(struct iw_mpa_ep *ep)
{
	struct iw_cm_id *id = ep->up.cm_id;

	ep->up.phase = IW_MPA_UP_SILENT;
	WRITE_ONCE(ep->up.cm_id, NULL);
	id->rem_ref(id);
}

/* iw_connect or iw_accept will return 0: from now on iw_cm awaits an event. */
void iw_mpa_upcall_expect(struct iw_mpa_ep *ep, struct iw_cm_id *id)
{
	id->add_ref(id);
	/* Pairs with READ_ONCE() in readers that do not run the endpoint */
	WRITE_ONCE(ep->up.cm_id, id);
	ep->up.phase = ep->initiator ? IW_MPA_UP_REPLY : IW_MPA_UP_ESTABLISHED;
}

/* No event follows: iw_connect or iw_accept fails, or the ULP has rejected. */
void iw_mpa_upcall_cancel(struct iw_mpa_ep *ep)
{
	if (ep->up.phase != IW_MPA_UP_SILENT)
		upcall_end(ep);
}

/*
 * Raise CONNECT_REQUEST for a listener, on whose cm_id the caller has a
 * reference. iw_cm passes the endpoint's number, the event's provider_data, to
 * iw_accept or iw_reject, maybe before this returns.
 *
 * Return: 0; -ENOMEM if iw_cm has no room for the event: then it calls neither
 * iw_accept nor iw_reject.
 */
int iw_mpa_upcall_request(struct iw_mpa_ep *ep, struct iw_cm_id *listen_id)
{
	struct iw_cm_event event = {
		.event = IW_CM_EVENT_CONNECT_REQUEST,
		.provider_data = (void *)ep->id,
	};

	upcall_set_addresses(&event, &ep->tuple);
	upcall_set_peer(ep, &event);
	return upcall_raise(ep, listen_id, &event);
}

/*
 * Raise CONNECT_REPLY or ESTABLISHED, whichever is due, with status 0. Context:
 * any.
 *
 * Return: 0; -ENOMEM if iw_cm could not copy the private data: the caller then
 * ends the connection, whose last event is still due; -EINVAL if neither event
 * is due.
 */
int iw_mpa_upcall_up(struct iw_mpa_ep *ep)
{
	struct iw_cm_id *id = ep->up.cm_id;
	struct iw_cm_event event = {};
	int err;

	switch (ep->up.phase) {
	case IW_MPA_UP_REPLY:
		event.event = IW_CM_EVENT_CONNECT_REPLY;
		break;
	case IW_MPA_UP_ESTABLISHED:
		event.event = IW_CM_EVENT_ESTABLISHED;
		break;
	default:
		WARN_ONCE(1, "iw_mpa: connection %lu: no completion is due (%d)\n",
			  ep->id, ep->up.phase);
		return -EINVAL;
	}
	/* iw_cm copies the addresses of a CONNECT_REPLY into the cm_id. */
	event.local_addr = id->m_local_addr;
	event.remote_addr = id->m_remote_addr;
	if (ep->initiator)
		upcall_set_addresses(&event, &ep->tuple);
	/* iwpmd identifies a mapped connection by the port that it mapped. */
	if (id->mapped)
		event.local_addr = id->m_local_addr;
	upcall_set_peer(ep, &event);
	err = upcall_raise(ep, id, &event);
	if (!err)
		ep->up.phase = IW_MPA_UP_CLOSE;
	return err;
}

/*
 * Raise CONNECT_REPLY with a negative status. If the peer has rejected, the
 * event has the peer's private data, unless iw_cm cannot copy it. The event has
 * the addresses of the cm_id, since rdma_cm takes over the event's addresses
 * even if the status is an error.
 */
static void upcall_fail_reply(struct iw_mpa_ep *ep, int status)
{
	struct iw_cm_event event = {
		.event = IW_CM_EVENT_CONNECT_REPLY,
		.status = status,
		.local_addr = ep->up.cm_id->local_addr,
		.remote_addr = ep->up.cm_id->remote_addr,
	};
	int err;

	if (ep->reason == IW_MPA_R_REJECTED)
		upcall_set_peer(ep, &event);
	err = upcall_raise(ep, ep->up.cm_id, &event);
	if (err) {
		event.private_data = NULL;
		event.private_data_len = 0;
		err = upcall_raise(ep, ep->up.cm_id, &event);
	}
	WARN_ON_ONCE(err);
}

/*
 * Raise the events that are still due: CONNECT_REPLY with a negative status, or
 * ESTABLISHED with a negative status and then CLOSE, or CLOSE alone, or none.
 * Then drop the reference on the cm_id. No event can fail here: for each
 * connection iw_cm keeps room for more events than this file raises, and
 * private data that iw_cm cannot copy is left out.
 */
void iw_mpa_upcall_down(struct iw_mpa_ep *ep)
{
	int status = iw_mpa_reason_errno(ep->reason) ?: -EIO;
	struct iw_cm_event established = {
		.event = IW_CM_EVENT_ESTABLISHED, .status = status,
	};
	struct iw_cm_event close = { .event = IW_CM_EVENT_CLOSE };

	switch (ep->up.phase) {
	case IW_MPA_UP_SILENT:
		return;
	case IW_MPA_UP_REPLY:
		upcall_fail_reply(ep, status);
		break;
	case IW_MPA_UP_ESTABLISHED:
		WARN_ON_ONCE(upcall_raise(ep, ep->up.cm_id, &established));
		fallthrough;
	case IW_MPA_UP_CLOSE:
		WARN_ON_ONCE(upcall_raise(ep, ep->up.cm_id, &close));
	}
	upcall_end(ep);
}

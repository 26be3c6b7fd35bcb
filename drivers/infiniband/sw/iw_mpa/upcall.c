// SPDX-License-Identifier: GPL-2.0
/* iw_cm: the only caller of its event handler, and the only reader of what is behind a cm_id. */

#include "upcall.h"
#include "sock.h"
#include "trace.h"

#include <linux/bug.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <net/net_namespace.h>
#include <rdma/iw_cm.h>
#include <rdma/rdma_cm.h>

/*
 * The library calls iw_cm's event handler only by pointers of cm_ids. This reference to a symbol of
 * iw_cm keeps its module loaded as long as the library is.
 */
static typeof(iw_create_cm_id) * const upcall_iw_cm __used = iw_create_cm_id;

static int upcall_raise(const struct iw_mpa_upcall *up, struct iw_cm_id *cm_id,
			struct iw_cm_event *event)
{
	int ret;

	if (READ_ONCE(up->rejected))
		return 0;
	ret = cm_id->event_handler(cm_id, event);
	trace_iw_mpa_upcall(up->id, event->event, event->status, event->private_data_len, ret);
	return ret;
}

static void upcall_set_addresses(struct iw_cm_event *event, const struct iw_mpa_tuple *tuple)
{
	memcpy(&event->local_addr, &tuple->local, sizeof(tuple->local));
	memcpy(&event->remote_addr, &tuple->remote, sizeof(tuple->remote));
}

/* iw_cm copies the private data of a Request and of a Reply, but not of ESTABLISHED. */
static void upcall_set_peer(const struct iw_mpa_upcall *up, struct iw_cm_event *event,
			    const struct iw_mpa_frame *peer)
{
	struct iw_mpa_depths depths;

	if (!peer)
		return;
	depths = iw_mpa_event_depths(peer, up->attr->max_ird, up->attr->max_ord);
	event->ird = depths.ird;
	event->ord = depths.ord;
	if (event->event == IW_CM_EVENT_ESTABLISHED)
		return;
	event->private_data = (void *)peer->pd;
	event->private_data_len = min_t(u16, peer->pd_len, U8_MAX);
}

static void upcall_end(struct iw_mpa_upcall *up)
{
	struct iw_cm_id *id = up->cm_id;

	up->phase = IW_MPA_UP_SILENT;
	WRITE_ONCE(up->cm_id, NULL);
	id->rem_ref(id);
}

/**
 * iw_mpa_upcall_expect - iw_connect or iw_accept is going to return 0
 * @up: silent line
 * @id: its cm_id; a reference is taken
 * @phase: IW_MPA_UP_REPLY or IW_MPA_UP_ESTABLISHED
 */
void iw_mpa_upcall_expect(struct iw_mpa_upcall *up, struct iw_cm_id *id,
			  enum iw_mpa_upcall_phase phase)
{
	id->add_ref(id);
	/* Pairs with iw_mpa_ep_find_cm_id() */
	WRITE_ONCE(up->cm_id, id);
	up->phase = phase;
}

/**
 * iw_mpa_upcall_cancel - iw_connect or iw_accept is going to fail after all
 * @up: line in any phase; no event follows, the reference is dropped
 */
void iw_mpa_upcall_cancel(struct iw_mpa_upcall *up)
{
	if (up->phase != IW_MPA_UP_SILENT)
		upcall_end(up);
}

/**
 * iw_mpa_upcall_rejected - iw_reject was called
 * @up: line in any phase
 *
 * iw_cm has left the state in which it takes an event of the connection. So none is raised from now
 * on, as if iw_cm had dropped it. What the connection does is up to its state machine.
 *
 * Context: any; beside the runner.
 */
void iw_mpa_upcall_rejected(struct iw_mpa_upcall *up)
{
	WRITE_ONCE(up->rejected, true);
}

/**
 * iw_mpa_upcall_request - CONNECT_REQUEST
 * @up: silent line; its @id comes back in iw_accept or iw_reject, maybe before this returns
 * @listen_id: the listener's cm_id, on which the caller has a reference
 * @peer: the Request
 * @tuple: both addresses
 *
 * Context: process.
 *
 * Return: 0; -ENOMEM if iw_cm has no room: then it calls neither iw_accept nor iw_reject.
 */
int iw_mpa_upcall_request(struct iw_mpa_upcall *up, struct iw_cm_id *listen_id,
			  const struct iw_mpa_frame *peer, const struct iw_mpa_tuple *tuple)
{
	struct iw_cm_event event = {
		.event = IW_CM_EVENT_CONNECT_REQUEST,
		.provider_data = (void *)up->id,
	};

	upcall_set_addresses(&event, tuple);
	upcall_set_peer(up, &event, peer);
	return upcall_raise(up, listen_id, &event);
}

/**
 * iw_mpa_upcall_up - CONNECT_REPLY(0) or ESTABLISHED(0), whichever is due
 * @up: line on which one of them is due
 * @peer: the peer's frame, or NULL if none came
 * @tuple: both addresses, or NULL for those of the cm_id; the local one of a mapped cm_id stays
 *
 * Context: any.
 *
 * Return: 0; -ENOMEM if iw_cm could not copy the private data: the caller then brings the
 * connection down, which reports the failure; -EINVAL if nothing is due.
 */
int iw_mpa_upcall_up(struct iw_mpa_upcall *up, const struct iw_mpa_frame *peer,
		     const struct iw_mpa_tuple *tuple)
{
	struct iw_cm_event event = {};
	int err;

	switch (up->phase) {
	case IW_MPA_UP_REPLY:
		event.event = IW_CM_EVENT_CONNECT_REPLY;
		break;
	case IW_MPA_UP_ESTABLISHED:
		event.event = IW_CM_EVENT_ESTABLISHED;
		break;
	default:
		WARN_ONCE(1, "iw_mpa: connection %lu: no completion is due (%d)\n", up->id,
			  up->phase);
		return -EINVAL;
	}
	/* iw_cm takes the addresses of this event for those that TCP has. */
	event.local_addr = up->cm_id->m_local_addr;
	event.remote_addr = up->cm_id->m_remote_addr;
	if (tuple)
		upcall_set_addresses(&event, tuple);
	/* iwpmd knows a mapped connection by the port that was mapped, whatever port TCP has. */
	if (up->cm_id->mapped)
		event.local_addr = up->cm_id->m_local_addr;
	upcall_set_peer(up, &event, peer);
	err = upcall_raise(up, up->cm_id, &event);
	if (!err)
		up->phase = IW_MPA_UP_CLOSE;
	return err;
}

/* rdma_cm keeps the addresses of a failed CONNECT_REPLY: so the event has those of the cm_id. */
static void upcall_fail_reply(struct iw_mpa_upcall *up, int status, const struct iw_mpa_frame *peer)
{
	struct iw_cm_event event = {
		.event = IW_CM_EVENT_CONNECT_REPLY,
		.status = status,
		.local_addr = up->cm_id->local_addr,
		.remote_addr = up->cm_id->remote_addr,
	};
	int err;

	upcall_set_peer(up, &event, peer);
	err = upcall_raise(up, up->cm_id, &event);
	if (err) {
		event.private_data = NULL;
		event.private_data_len = 0;
		err = upcall_raise(up, up->cm_id, &event);
	}
	WARN_ON_ONCE(err);
}

/**
 * iw_mpa_upcall_down - the last event, whatever is due
 * @up: line in any phase
 * @status: negative errno, for a connection that never came up
 * @peer: the Reply of a peer that rejects; else NULL
 *
 * CONNECT_REPLY(@status), or ESTABLISHED(@status) and CLOSE, or CLOSE, or nothing. The cm_id's
 * reference is dropped. None of these events can fail: iw_cm keeps room for more events than this
 * file raises, and private data that iw_cm cannot copy is left out.
 *
 * Context: process.
 */
void iw_mpa_upcall_down(struct iw_mpa_upcall *up, int status, const struct iw_mpa_frame *peer)
{
	struct iw_cm_event established = { .event = IW_CM_EVENT_ESTABLISHED, .status = status };
	struct iw_cm_event close = { .event = IW_CM_EVENT_CLOSE };

	switch (up->phase) {
	case IW_MPA_UP_SILENT:
		return;
	case IW_MPA_UP_REPLY:
		upcall_fail_reply(up, status, peer);
		break;
	case IW_MPA_UP_ESTABLISHED:
		WARN_ON_ONCE(upcall_raise(up, up->cm_id, &established));
		fallthrough;
	case IW_MPA_UP_CLOSE:
		WARN_ON_ONCE(upcall_raise(up, up->cm_id, &close));
	}
	upcall_end(up);
}

/*
 * What rdma_cm has decided is not in the cm_id, and iw_cm has no function that tells it. But
 * iw_cm has one client, rdma_cm. The context of its cm_ids is the rdma_cm_id, which begins with
 * its public part. Before that is read, the device and the address of the rdma_cm_id are compared
 * with those of the cm_id, which rdma_cm has copied from it. If they differ, the context is not
 * an rdma_cm_id.
 *
 * This holds only within iw_connect and iw_create_listen: rdma_cm holds the rdma_cm_id until they
 * have returned.
 *
 * Return: the rdma_cm_id of a ULP that connects or listens; NULL if it is not known.
 */
static struct rdma_cm_id *upcall_owner(struct iw_cm_id *id)
{
	const union iw_mpa_addr *addr = iw_mpa_addr(&id->local_addr);
	size_t size = addr->sa.sa_family == AF_INET ? sizeof(addr->in) : sizeof(addr->in6);
	struct rdma_cm_id *owner = id->context;

	if (!iw_mpa_addr_is_known(addr) || !owner || owner->device != id->device ||
	    memcmp(&owner->route.addr.src_addr, addr, size))
		return NULL;
	return owner;
}

/**
 * iw_mpa_upcall_is_foreign - is the ULP in another network namespace than the device?
 * @id: listening cm_id
 * @net: namespace of the device; NULL if that is going
 *
 * rdma_cm makes a wildcard listener listen on the devices of all namespaces, also on a device
 * that is added later, in the context of the task that adds it. So neither the device nor the
 * caller tells the namespace of the ULP. If rdma_cm does not tell it either, the ULP is taken for
 * one of the device's namespace.
 *
 * Context: within iw_create_listen.
 *
 * Return: true if it is known to be in another one.
 */
bool iw_mpa_upcall_is_foreign(struct iw_cm_id *id, const struct net *net)
{
	const struct rdma_cm_id *owner = upcall_owner(id);

	return owner && !net_eq(owner->route.addr.dev_addr.net, net);
}

/**
 * iw_mpa_upcall_get_net - the network namespace of the ULP
 * @id: cm_id, with its local address set
 *
 * Context: within iw_connect and iw_create_listen.
 *
 * Return: the namespace with a reference, for put_net(), or NULL if it is not known.
 */
struct net *iw_mpa_upcall_get_net(struct iw_cm_id *id)
{
	const struct rdma_cm_id *owner = upcall_owner(id);

	/* rdma_cm has a reference, too. */
	return owner ? get_net(owner->route.addr.dev_addr.net) : NULL;
}

/**
 * iw_mpa_upcall_ifindex - the interface that rdma_cm has chosen
 * @id: cm_id, with its local address set
 *
 * It has the local address, or is that of the route. The device of the cm_id may be that of another
 * interface: one with the same hardware address, or a VLAN or its parent.
 *
 * Context: within iw_connect and iw_create_listen.
 *
 * Return: its index in the namespace of the ULP; 0 if it is not known, or there is none.
 */
int iw_mpa_upcall_ifindex(struct iw_cm_id *id)
{
	const struct rdma_cm_id *owner = upcall_owner(id);

	return owner ? owner->route.addr.dev_addr.bound_dev_if : 0;
}

/**
 * iw_mpa_upcall_keep_requests - have rdma_cm take a wildcard listener's Requests for its device's
 * @id: listening cm_id
 *
 * At a CONNECT_REQUEST rdma_cm looks for the device of the new connection. It begins with the
 * device and the port that the listener has, and goes on with all others that the local address
 * fits: with the same hardware address there may be several. The id that it makes for a wildcard
 * listener on each device lacks the number of the port. So it would begin with the others, and the
 * ULP's QP would be another device's. This sets the number.
 *
 * Context: within iw_create_listen, before the first Request.
 */
void iw_mpa_upcall_keep_requests(struct iw_cm_id *id)
{
	struct rdma_cm_id *owner = upcall_owner(id);

	if (owner && !owner->port_num && iw_mpa_addr_is_any(iw_mpa_addr(&id->local_addr)))
		owner->port_num = rdma_start_port(id->device);
}

/**
 * iw_mpa_upcall_device - the device that rdma_cm has chosen for a connection to a listener
 * @id: passive cm_id
 *
 * The QP that the ULP accepts with is one of this device. rdma_cm has copied both addresses of
 * the connection into the rdma_cm_id: if they differ, the context of @id is not an rdma_cm_id.
 * The ports do not count, as a port mapper may have changed them.
 *
 * Context: within iw_accept, while the ULP holds the rdma_cm_id. Within iw_reject it may be gone.
 *
 * Return: that device; the cm_id's own if it is not known.
 */
const struct ib_device *iw_mpa_upcall_device(struct iw_cm_id *id)
{
	struct rdma_cm_id *owner = id->context;
	struct rdma_addr *addr;

	if (!owner)
		return id->device;
	addr = &owner->route.addr;
	if (!iw_mpa_addr_is_same_host(iw_mpa_addr(&addr->src_addr),
				      iw_mpa_addr(&id->m_local_addr)) ||
	    !iw_mpa_addr_is_same_host(iw_mpa_addr(&addr->dst_addr),
				      iw_mpa_addr(&id->m_remote_addr)))
		return id->device;
	/* NULL if it is being removed */
	return READ_ONCE(owner->device) ?: id->device;
}

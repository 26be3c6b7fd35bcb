// SPDX-License-Identifier: GPL-2.0
/* Events to iw_cm: the only caller of its event handler. */

#include "upcall.h"
#include "sock.h"
#include "trace.h"

#include <linux/bug.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <rdma/iw_cm.h>

/*
 * iw_cm's event handler is reached by pointers of its cm_ids only. This reference to one of its
 * symbols keeps its module as long as ours is there.
 */
static typeof(iw_create_cm_id) * const upcall_iw_cm __used = iw_create_cm_id;

static int upcall_raise(struct iw_cm_id *cm_id, unsigned long id, struct iw_cm_event *event)
{
	int ret = cm_id->event_handler(cm_id, event);

	trace_iw_mpa_upcall(id, event->event, event->status,
			    event->private_data_len, ret);
	return ret;
}

static void upcall_fill(struct iw_cm_event *event,
			const struct iw_mpa_upcall_info *info)
{
	const struct iw_mpa_frame *peer = info->peer;
	struct iw_mpa_depths depths;

	if (info->tuple) {
		memcpy(&event->local_addr, &info->tuple->local, sizeof(info->tuple->local));
		memcpy(&event->remote_addr, &info->tuple->remote, sizeof(info->tuple->remote));
	}
	if (!peer)
		return;
	depths = iw_mpa_event_depths(peer, info->max_ird, info->max_ord);
	event->ird = depths.ird;
	event->ord = depths.ord;
	if (event->event == IW_CM_EVENT_ESTABLISHED)
		return;		/* iw_cm copies no private data for it */
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
 * iw_mpa_upcall_request - CONNECT_REQUEST
 * @listen_id: the listener's cm_id, on which the caller has a reference
 * @id: the connection's number, which comes back in iw_accept or iw_reject, maybe before
 *	this function returns
 * @info: the Request and both addresses
 *
 * Context: process.
 *
 * Return: 0; -ENOMEM if iw_cm has no room for it: then neither iw_accept nor
 * iw_reject will be called.
 */
int iw_mpa_upcall_request(struct iw_cm_id *listen_id, unsigned long id,
			  const struct iw_mpa_upcall_info *info)
{
	struct iw_cm_event event = {
		.event = IW_CM_EVENT_CONNECT_REQUEST,
		.provider_data = (void *)id,
	};

	upcall_fill(&event, info);
	return upcall_raise(listen_id, id, &event);
}

/**
 * iw_mpa_upcall_up - CONNECT_REPLY(0) or ESTABLISHED(0), whichever is due
 * @up: line on which one of them is due
 * @info: what to tell
 *
 * Context: any.
 *
 * Return: 0; -ENOMEM if iw_cm could not copy the private data: the connection
 * must then be brought down, which reports the failure; -EINVAL if nothing is
 * due.
 */
int iw_mpa_upcall_up(struct iw_mpa_upcall *up,
		     const struct iw_mpa_upcall_info *info)
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
		WARN_ONCE(1, "iw_mpa: no completion is due (%d)\n", up->phase);
		return -EINVAL;
	}
	/* iw_cm takes them for what TCP has; without better ones leave them. */
	event.local_addr = up->cm_id->m_local_addr;
	event.remote_addr = up->cm_id->m_remote_addr;
	upcall_fill(&event, info);
	err = upcall_raise(up->cm_id, up->id, &event);
	if (!err)
		up->phase = IW_MPA_UP_CLOSE;
	return err;
}

/**
 * iw_mpa_upcall_down - the last event, whatever is due
 * @up: line in any phase
 * @status: negative errno, for a connection that never came up
 * @info: what to tell in that case
 *
 * CONNECT_REPLY(@status), or ESTABLISHED(@status) and CLOSE, or CLOSE, or
 * nothing. The cm_id's reference is dropped. None of them can fail: iw_cm keeps
 * room for more events than this file raises, and private data that it cannot
 * copy is left out.
 *
 * Context: process.
 */
void iw_mpa_upcall_down(struct iw_mpa_upcall *up, int status,
			const struct iw_mpa_upcall_info *info)
{
	struct iw_cm_event event = { .status = status };
	int err;

	if (up->phase == IW_MPA_UP_SILENT)
		return;

	if (up->phase == IW_MPA_UP_REPLY) {
		event.event = IW_CM_EVENT_CONNECT_REPLY;
		/* rdma_cm takes the addresses of a failed CONNECT_REPLY as they are. */
		event.local_addr = up->cm_id->local_addr;
		event.remote_addr = up->cm_id->remote_addr;
		upcall_fill(&event, info);
		err = upcall_raise(up->cm_id, up->id, &event);
		if (err) {
			event.private_data = NULL;
			event.private_data_len = 0;
			err = upcall_raise(up->cm_id, up->id, &event);
		}
		WARN_ON_ONCE(err);
		upcall_end(up);
		return;
	}

	if (up->phase == IW_MPA_UP_ESTABLISHED) {
		event.event = IW_CM_EVENT_ESTABLISHED;
		WARN_ON_ONCE(upcall_raise(up->cm_id, up->id, &event));
	}
	memset(&event, 0, sizeof(event));
	event.event = IW_CM_EVENT_CLOSE;
	WARN_ON_ONCE(upcall_raise(up->cm_id, up->id, &event));
	upcall_end(up);
}

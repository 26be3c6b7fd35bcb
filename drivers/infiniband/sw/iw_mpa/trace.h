/* SPDX-License-Identifier: GPL-2.0 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM iw_mpa

#if !defined(_IW_MPA_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _IW_MPA_TRACE_H

#include <linux/socket.h>
#include <linux/tracepoint.h>

#include <rdma/iw_cm.h>
#include <rdma/iw_mpa_proto.h>

#include "fsm.h"
#include "negotiate.h"

/* The events of iw_cm: the kernel has their names only in an enum */
#define IW_CM_EVENTS(X) \
	X(CONNECT_REQUEST) X(CONNECT_REPLY) X(ESTABLISHED) X(DISCONNECT) \
	X(CLOSE)

/*
 * IW_MPA_STATES() and the other lists of names are used twice: here for
 * TRACE_DEFINE_ENUM(), from which programs that read raw traces get the
 * numbers, and further down for __print_symbolic().
 */
#undef X
#define X(name, timer, phase, limit, text) TRACE_DEFINE_ENUM(IW_MPA_ST_##name);
IW_MPA_STATES(X)
#undef X
#define X(name, reason) TRACE_DEFINE_ENUM(IW_MPA_EV_##name);
IW_MPA_EVENTS(X)
#undef X
#define X(name, err, term, text) TRACE_DEFINE_ENUM(IW_MPA_R_##name);
IW_MPA_REASONS(X)
#undef X
#define X(name) TRACE_DEFINE_ENUM(IW_CM_EVENT_##name);
IW_CM_EVENTS(X)
#undef X

#define X_STATE(name, timer, phase, limit, text) { IW_MPA_ST_##name, #name },
#define X_EVENT(name, reason)	{ IW_MPA_EV_##name, #name },
#define X_REASON(name, err, term, text) { IW_MPA_R_##name, #name },
#define X_UPCALL(name)		{ IW_CM_EVENT_##name, #name },

#define show_state(st)	__print_symbolic(st, IW_MPA_STATES(X_STATE) { -1, "?" })
#define show_event(ev)	__print_symbolic(ev, IW_MPA_EVENTS(X_EVENT) { -1, "?" })
#define show_reason(re) \
	__print_symbolic(re, IW_MPA_REASONS(X_REASON) { -1, "?" })
#define show_upcall(ev)	__print_symbolic(ev, IW_CM_EVENTS(X_UPCALL) { -1, "?" })

#define iw_mpa_show_rtr(rtr) \
	__print_flags(rtr, "|", { IW_MPA_RTR_SEND, "Send" }, \
		      { IW_MPA_RTR_WRITE, "Write" }, \
		      { IW_MPA_RTR_READ, "Read" })

TRACE_EVENT(iw_mpa_state,
	TP_PROTO(unsigned long id, enum iw_mpa_state from,
		 enum iw_mpa_event event, enum iw_mpa_state to,
		 enum iw_mpa_reason reason),
	TP_ARGS(id, from, event, to, reason),
	TP_STRUCT__entry(
		__field(unsigned long, id)
		__field(u8, from)
		__field(u8, event)
		__field(u8, to)
		__field(u8, reason)
	),
	TP_fast_assign(
		__entry->id = id;
		__entry->from = from;
		__entry->event = event;
		__entry->to = to;
		__entry->reason = reason;
	),
	TP_printk("id=%lu %s --%s--> %s reason=%s", __entry->id,
		  show_state(__entry->from), show_event(__entry->event),
		  show_state(__entry->to), show_reason(__entry->reason))
);

TRACE_EVENT(iw_mpa_frame,
	TP_PROTO(unsigned long id, bool sent, const struct iw_mpa_frame *frame),
	TP_ARGS(id, sent, frame),
	TP_STRUCT__entry(
		__field(unsigned long, id)
		__field(bool, sent)
		__field(bool, reply)
		__field(u8, rev)
		__field(bool, markers)
		__field(bool, crc)
		__field(bool, reject)
		__field(bool, enhanced)
		__field(bool, p2p)
		__field(bool, large_fpdu)
		__field(u8, rtr)
		__field(u16, ird)
		__field(u16, ord)
		__field(u16, pd_len)
	),
	TP_fast_assign(
		__entry->id = id;
		__entry->sent = sent;
		__entry->reply = frame->reply;
		__entry->rev = frame->rev;
		__entry->markers = frame->markers;
		__entry->crc = frame->crc;
		__entry->reject = frame->reject;
		__entry->enhanced = frame->enhanced;
		__entry->p2p = frame->p2p;
		__entry->large_fpdu = frame->large_fpdu;
		__entry->rtr = frame->rtr;
		__entry->ird = frame->ird;
		__entry->ord = frame->ord;
		__entry->pd_len = frame->pd_len;
	),
	TP_printk("id=%lu %s %s rev=%u M=%d C=%d R=%d S=%d A=%d L=%d rtr=%s ird=%u ord=%u pd_len=%u",
		  __entry->id, __entry->sent ? "sent" : "received",
		  __entry->reply ? "Reply" : "Request", __entry->rev,
		  __entry->markers, __entry->crc, __entry->reject,
		  __entry->enhanced, __entry->p2p, __entry->large_fpdu,
		  iw_mpa_show_rtr(__entry->rtr),
		  __entry->ird, __entry->ord, __entry->pd_len)
);

TRACE_EVENT(iw_mpa_retry,
	TP_PROTO(unsigned long id, u8 rev, bool read),
	TP_ARGS(id, rev, read),
	TP_STRUCT__entry(
		__field(unsigned long, id)
		__field(u8, rev)
		__field(bool, read)
	),
	TP_fast_assign(
		__entry->id = id;
		__entry->rev = rev;
		__entry->read = read;
	),
	TP_printk("id=%lu rev=%u read=%d", __entry->id, __entry->rev,
		  __entry->read)
);

TRACE_EVENT(iw_mpa_loss,
	TP_PROTO(unsigned long id, u8 rev, u8 lost),
	TP_ARGS(id, rev, lost),
	TP_STRUCT__entry(
		__field(unsigned long, id)
		__field(u8, rev)
		__field(u8, lost)
	),
	TP_fast_assign(
		__entry->id = id;
		__entry->rev = rev;
		__entry->lost = lost;
	),
	TP_printk("id=%lu rev=%u lost=%s", __entry->id, __entry->rev,
		  __print_flags(__entry->lost, ",", { IW_MPA_LOST_P2P, "p2p" },
				{ IW_MPA_LOST_DEPTHS, "depths" }))
);

TRACE_EVENT(iw_mpa_handoff,
	TP_PROTO(unsigned long id, const struct iw_mpa_params *params,
		 u32 snd_nxt, u32 rcv_nxt, int err),
	TP_ARGS(id, params, snd_nxt, rcv_nxt, err),
	TP_STRUCT__entry(
		__field(unsigned long, id)
		__field(bool, initiator)
		__field(u8, rev)
		__field(bool, crc)
		__field(u8, rtr)
		__field(u16, ird)
		__field(u16, ord)
		__field(u16, peer_ird)
		__field(u16, peer_ord)
		__field(u32, snd_nxt)
		__field(u32, rcv_nxt)
		__field(int, err)
	),
	TP_fast_assign(
		__entry->id = id;
		__entry->initiator = params->initiator;
		__entry->rev = params->rev;
		__entry->crc = params->crc;
		__entry->rtr = params->rtr;
		__entry->ird = params->ird;
		__entry->ord = params->ord;
		__entry->peer_ird = params->peer_ird;
		__entry->peer_ord = params->peer_ord;
		__entry->snd_nxt = snd_nxt;
		__entry->rcv_nxt = rcv_nxt;
		__entry->err = err;
	),
	TP_printk("id=%lu %s rev=%u crc=%d rtr=%s ird=%u ord=%u peer_ird=%u peer_ord=%u snd_nxt=%u rcv_nxt=%u err=%d",
		  __entry->id, __entry->initiator ? "initiator" : "responder",
		  __entry->rev, __entry->crc,
		  iw_mpa_show_rtr(__entry->rtr),
		  __entry->ird, __entry->ord, __entry->peer_ird,
		  __entry->peer_ord, __entry->snd_nxt, __entry->rcv_nxt,
		  __entry->err)
);

TRACE_EVENT(iw_mpa_upcall,
	TP_PROTO(unsigned long id, int event, int status, unsigned int pd_len,
		 int ret),
	TP_ARGS(id, event, status, pd_len, ret),
	TP_STRUCT__entry(
		__field(unsigned long, id)
		__field(int, event)
		__field(int, status)
		__field(unsigned int, pd_len)
		__field(int, ret)
	),
	TP_fast_assign(
		__entry->id = id;
		__entry->event = event;
		__entry->status = status;
		__entry->pd_len = pd_len;
		__entry->ret = ret;
	),
	TP_printk("id=%lu %s status=%d pd_len=%u ret=%d", __entry->id,
		  show_upcall(__entry->event), __entry->status,
		  __entry->pd_len, __entry->ret)
);

#endif /* _IW_MPA_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>

/* SPDX-License-Identifier: GPL-2.0 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM iw_mpa

#if !defined(_IW_MPA_TAKEOVER_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _IW_MPA_TAKEOVER_TRACE_H

#include <linux/tracepoint.h>

#include <rdma/iw_mpa_proto.h>
#include <rdma/iw_mpa_tcb.h>

/* TRACE_DEFINE_ENUM() for the reasons is in trace.h. */
#define X_TAKEOVER_REASON(name, err, term, text) { IW_MPA_R_##name, #name },
#define show_takeover_reason(re) \
	__print_symbolic(re, IW_MPA_REASONS(X_TAKEOVER_REASON) { -1, "?" })

TRACE_EVENT(iw_mpa_takeover,
	TP_PROTO(unsigned long id, const struct iw_mpa_tcb *tcb,
		 enum iw_mpa_reason reason),
	TP_ARGS(id, tcb, reason),
	TP_STRUCT__entry(
		__field(unsigned long, id)
		__field(u8, reason)
		__field(u8, options)
		__field(u32, snd_nxt)
		__field(u32, snd_wnd)
		__field(u32, rcv_nxt)
		__field(u32, rcv_wup)
		__field(u32, rcv_wnd)
		__field(u32, ts_val)
		__field(u32, ts_recent)
		__field(u32, rx_len)
		__field(u32, rx_dropped)
	),
	TP_fast_assign(
		__entry->id = id;
		__entry->reason = reason;
		__entry->options = tcb->options;
		__entry->snd_nxt = tcb->snd_nxt;
		__entry->snd_wnd = tcb->snd_wnd;
		__entry->rcv_nxt = tcb->rcv_nxt;
		__entry->rcv_wup = tcb->rcv_wup;
		__entry->rcv_wnd = tcb->rcv_wnd;
		__entry->ts_val = tcb->ts_val;
		__entry->ts_recent = tcb->ts_recent;
		__entry->rx_len = tcb->rx_len;
		__entry->rx_dropped = tcb->rx_dropped;
	),
	TP_printk("id=%lu reason=%s options=%s snd_nxt=%u snd_wnd=%u rcv_nxt=%u rcv_wup=%u rcv_wnd=%u ts_val=%u ts_recent=%u rx_len=%u rx_dropped=%u",
		  __entry->id, show_takeover_reason(__entry->reason),
		  __print_flags(__entry->options, "|",
				{ IW_MPA_TCP_TIMESTAMPS, "timestamps" },
				{ IW_MPA_TCP_WSCALE, "wscale" },
				{ IW_MPA_TCP_SACK, "sack" },
				{ IW_MPA_TCP_ECN, "ecn" }),
		  __entry->snd_nxt, __entry->snd_wnd, __entry->rcv_nxt,
		  __entry->rcv_wup, __entry->rcv_wnd, __entry->ts_val,
		  __entry->ts_recent, __entry->rx_len, __entry->rx_dropped)
);

#endif /* _IW_MPA_TAKEOVER_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH takeover
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace_takeover
#include <trace/define_trace.h>

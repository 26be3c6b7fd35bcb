/* SPDX-License-Identifier: GPL-2.0 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM srnic

#if !defined(_SRNIC_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _SRNIC_TRACE_H

#include <linux/tracepoint.h>

#include "srnic.h"

#undef X
#define X(name, type, code, form, tell, text)	\
	TRACE_DEFINE_ENUM(SRNIC_ERR_##name);
SRNIC_ERRORS(X)
#undef X

#define SRNIC_STATE_NAMES(X)						\
	X(IDLE) X(RTS) X(CLOSING) X(ABORTED) X(TERMINATE) X(ENDING) X(ERROR)
#define X(name) TRACE_DEFINE_ENUM(SRNIC_##name);
SRNIC_STATE_NAMES(X)
#undef X

#define X_ERR(name, type, code, form, tell, text) { SRNIC_ERR_##name, #name },
#define X_STATE(name) { SRNIC_##name, #name },

#define show_srnic_err(err)					\
	__print_symbolic(err, SRNIC_ERRORS(X_ERR) { -1, "?" })
#define show_srnic_state(state)					\
	__print_symbolic(state, SRNIC_STATE_NAMES(X_STATE) { -1, "?" })

TRACE_EVENT(srnic_state,
	TP_PROTO(const struct srnic_qp *qp, u8 from, u8 to),
	TP_ARGS(qp, from, to),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u8, from)
		__field(u8, to)
	),
	TP_fast_assign(
		__entry->qpn = qp->ibqp.qp_num;
		__entry->from = from;
		__entry->to = to;
	),
	TP_printk("qp=%u %s -> %s", __entry->qpn,
		  show_srnic_state(__entry->from),
		  show_srnic_state(__entry->to))
);

TRACE_EVENT(srnic_fault,
	TP_PROTO(const struct srnic_qp *qp, const struct srnic_fault *fault),
	TP_ARGS(qp, fault),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u32, err)
		__field(u16, ulpdu_len)
		__field(u8, ddp_len)
		__array(u8, hdr, SRNIC_READ_ULPDU)
	),
	TP_fast_assign(
		__entry->qpn = qp->ibqp.qp_num;
		__entry->err = fault->err;
		__entry->ulpdu_len = fault->ulpdu_len;
		__entry->ddp_len = fault->ddp_len;
		memcpy(__entry->hdr, fault->hdr, SRNIC_READ_ULPDU);
	),
	TP_printk("qp=%u err=%s ulpdu_len=%u ddp=%s", __entry->qpn,
		  show_srnic_err(__entry->err), __entry->ulpdu_len,
		  __print_hex(__entry->hdr, __entry->ddp_len))
);

TRACE_EVENT(srnic_terminate,
	TP_PROTO(const struct srnic_qp *qp, const struct srnic_term *term),
	TP_ARGS(qp, term),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u8, layer)
		__field(u8, etype)
		__field(u8, code)
		__field(u8, hdrct)
		__field(u8, ddp_len)
		__array(u8, ddp, SRNIC_DDP_HDR_MAX)
	),
	TP_fast_assign(
		__entry->qpn = qp->ibqp.qp_num;
		__entry->layer = term->layer;
		__entry->etype = term->etype;
		__entry->code = term->code;
		__entry->hdrct = term->hdrct;
		__entry->ddp_len = term->ddp_len;
		if (term->ddp)
			memcpy(__entry->ddp, term->ddp, term->ddp_len);
	),
	TP_printk("qp=%u layer=%u etype=%u code=0x%02x hdrct=0x%02x ddp=%s",
		  __entry->qpn, __entry->layer, __entry->etype, __entry->code,
		  __entry->hdrct, __print_hex(__entry->ddp, __entry->ddp_len))
);

#endif /* _SRNIC_TRACE_H */

#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>

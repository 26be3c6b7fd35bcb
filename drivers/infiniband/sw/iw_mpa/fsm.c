// SPDX-License-Identifier: GPL-2.0
/*
 * The state table of a connection. Each entry says which state and which
 * actions follow one event in one state. run.c looks the entries up and does
 * the actions; no other code changes the state of a connection.
 *
 * The table guarantees the following, and KUnit checks it for each entry and
 * each path. Names of actions, such as STOP, are explained in fsm.h.
 *  - after iw_connect or iw_accept has returned 0, each path has exactly one
 *    REPORT_DOWN, with at most one REPORT_UP before it; or CANCEL if the ULP
 *    has accepted the connection and then rejected it;
 *  - iw_connect and iw_accept return an errno exactly if FAIL_CALL is done, and
 *    then no event is reported to iw_cm;
 *  - STOP is done exactly once after prepare() has returned 0, and UNBIND
 *    before the report (REPORT_DOWN) after which the ULP may use the QP again;
 *  - FINISH_TX is done at most once, and only while the driver may transmit;
 *  - DEAD is entered only with RELEASE, and DEV_GONE leads to DEAD from every
 *    state in which the connection waits for an event;
 *  - every state that waits for the peer, the ULP or the driver, except that of
 *    an established connection, has a timer; and no order of events makes the
 *    states that share a time limit (TOTAL in fsm.h) exceed it together.
 */

#include "fsm.h"

#define GOTO(ev, st, act)						\
	[IW_MPA_EV_##ev] = { .next = IW_MPA_ST_##st, .defined = true,	\
			     .actions = (act) }

/*
 * An event that makes a close by FIN fail: bytes that this end has sent, or was
 * to send, cannot be delivered; or the driver has found an error. In state
 * PEER_FINISHED that error is within the last bytes before the peer's FIN: a
 * Terminate message, or an FPDU that is wrong or cut off. A driver may report
 * it only after it has read them all.
 */
#define GOTO_FAILED(ev, st, act)					\
	[IW_MPA_EV_##ev] = { .next = IW_MPA_ST_##st, .defined = true,	\
			     .fails = true, .actions = (act) }

#define DO(name) IW_MPA_DO_##name

/*
 * Actions that end a connection: FAIL_QUIETLY if iw_cm expects no event;
 * FAIL_CONNECT if iw_cm expects CONNECT_REPLY; CLOSE if the driver has the
 * stream: iw_cm then expects the event ESTABLISHED or CLOSE.
 */
#define FAIL_QUIETLY	DO(RELEASE)
#define FAIL_CONNECT	(DO(UNBIND) | DO(REPORT_DOWN) | DO(RELEASE))
#define CLOSE		(DO(STOP) | DO(UNBIND) | DO(REPORT_DOWN) | DO(RELEASE))
/* End after a hand-off, by FIN: an RST could discard what was sent last. */
#define CLOSE_GENTLY	(DO(STOP) | DO(UNBIND) | DO(REPORT_DOWN) | DO(SHUTDOWN))
/* End if the ULP rejects what it had accepted: iw_cm expects no event then. */
#define WITHDRAW	(DO(STOP) | DO(UNBIND) | DO(CANCEL) | DO(SHUTDOWN))

/* Transitions of both states in which an initiator waits for TCP to connect */
#define TCP_COMES							\
	GOTO(V2_SENT,		V2_OFFERED,	0),			\
	GOTO(REQ_SENT,		AWAIT_REP,	0),			\
	GOTO(SEND_FAILED,	DEAD,	FAIL_CONNECT),			\
	GOTO(PEER_CLOSED,	DEAD,	FAIL_CONNECT),			\
	GOTO(PEER_RESET,	DEAD,	FAIL_CONNECT),			\
	GOTO(TCP_FAILED,	DEAD,	FAIL_CONNECT),			\
	GOTO(TIMED_OUT,		DEAD,	FAIL_CONNECT),			\
	GOTO(QP_GONE,		DEAD,	FAIL_CONNECT),			\
	GOTO(DEV_GONE,		DEAD,	FAIL_CONNECT)

/* Transitions of both states in which an initiator waits for the MPA Reply */
#define REPLY_COMES							\
	GOTO(REP_GOOD,		HANDOFF,	DO(HANDOFF_ACTIVE)),	\
	GOTO(REP_REJECT,	DEAD,		FAIL_CONNECT),		\
	GOTO(FRAME_BAD,		DEAD,		FAIL_CONNECT),		\
	GOTO(FRAME_CUT,		DEAD,		FAIL_CONNECT),		\
	GOTO(TERM_DUE,		LINGER,					\
	     DO(SEND_TERM) | DO(UNBIND) | DO(REPORT_DOWN)),		\
	GOTO(TCP_FAILED,	DEAD,		FAIL_CONNECT),		\
	GOTO(TIMED_OUT,		DEAD,		FAIL_CONNECT),		\
	GOTO(QP_GONE,		DEAD,		FAIL_CONNECT),		\
	GOTO(DEV_GONE,		DEAD,		FAIL_CONNECT)

/* RST, or a failure of TCP, before a responder's ULP has answered a Request */
#define REQUEST_LOST							\
	GOTO(PEER_RESET,	DEAD,	FAIL_QUIETLY),			\
	GOTO(TCP_FAILED,	DEAD,	FAIL_QUIETLY)

/*
 * RFC 6581 10: if a responder reads a Request of revision 2 and closes without
 * a Reply, the initiator assumes that this responder supports revision 1 only.
 * So a responder whose device is being removed sends a Reject, but does not
 * wait until the peer has read the Reject.
 */
#define REJECT_AND_GO	(DO(SEND_REJECT) | DO(RELEASE))

/*
 * Actions after the peer's FIN if the driver has the stream. The driver reads
 * the bytes before the FIN (KICK_RX), then STREAM_ENDED is raised: all bytes
 * were read. An event that the driver raises while it reads, such as
 * STREAM_DOWN, is handled before STREAM_ENDED.
 */
#define LOOK_AGAIN	(DO(KICK_RX) | DO(END_STREAM))

/* A close by FIN goes on while bytes move, up to its limit iw_mpa_ep.until. */
#define LOOK_WHETHER_IT_MOVES	(DO(CHECK_PROGRESS) | DO(RESTART_TIMER))

/* Ends of a handed-off connection if this end cannot send more, or need not */
#define CUT_OFF								\
	GOTO(PEER_RESET,	DEAD,	CLOSE),				\
	GOTO(TCP_FAILED,	DEAD,	CLOSE),				\
	GOTO(QP_GONE,		DEAD,	CLOSE),				\
	GOTO(DEV_GONE,		DEAD,	CLOSE)

/* Ends: the driver sends last bytes (a Terminate), in stop() or before it */
#define BROKEN_OFF							\
	GOTO(STREAM_DOWN,	LINGER,	CLOSE_GENTLY),			\
	GOTO(ULP_ABORTED,	LINGER,	CLOSE_GENTLY)

/* The ULP rejects a connection that it has accepted. */
#define ANSWERED_AGAIN							\
	GOTO(ULP_REJECTED,	LINGER,	WITHDRAW)

/* Events that end a close by FIN before both sides have closed */
#define CUT_SHORT							\
	GOTO_FAILED(STALLED,	DEAD,	CLOSE),				\
	GOTO_FAILED(PEER_RESET,	DEAD,	CLOSE),				\
	GOTO_FAILED(TCP_FAILED,	DEAD,	CLOSE),				\
	GOTO(QP_GONE,		DEAD,	CLOSE),				\
	GOTO(DEV_GONE,		DEAD,	CLOSE)

/* As CUT_SHORT, with what can end a connection while the peer may still send */
#define BROKEN_SHORT							\
	GOTO_FAILED(STREAM_DOWN, LINGER, CLOSE_GENTLY),			\
	GOTO(ULP_ABORTED,	LINGER,	CLOSE_GENTLY),			\
	ANSWERED_AGAIN,							\
	CUT_SHORT

/* Ends of a connection while TX is fenced: posted work must not be sent */
#define FENCED_LOST							\
	ANSWERED_AGAIN,							\
	GOTO(ULP_CLOSED,	LINGER,	CLOSE_GENTLY),			\
	GOTO(STREAM_ENDED,	DEAD,	CLOSE),				\
	BROKEN_OFF,							\
	CUT_OFF

const struct iw_mpa_transition iw_mpa_fsm[IW_MPA_ST_COUNT][IW_MPA_EV_COUNT] = {
	[IW_MPA_ST_IDLE] = {
		GOTO(ULP_CONNECTS,	TCP_CONNECT,	DO(BIND) | DO(OPEN)),
		GOTO(TCP_ACCEPTED,	AWAIT_REQ,	DO(READ_REQ)),
		GOTO(TCP_FAILED,	DEAD,		FAIL_QUIETLY),
	},
	[IW_MPA_ST_TCP_CONNECT] = {
		GOTO(BIND_FAILED,	DEAD,		DO(FAIL_CALL) | DO(RELEASE)),
		GOTO(OPEN_FAILED,	DEAD,
		     DO(UNBIND) | DO(CANCEL) | DO(FAIL_CALL) | DO(RELEASE)),
		GOTO(TCP_UP,		TCP_CONNECT,	DO(SEND_REQ)),
		TCP_COMES,
	},
	[IW_MPA_ST_V2_OFFERED] = {
		GOTO(READABLE,		V2_OFFERED,	DO(READ_REP)),
		GOTO(PEER_CLOSED,	V2_OFFERED,	DO(READ_REP)),
		GOTO(REP_BEGUN,		AWAIT_REP,	0),
		GOTO(STREAM_ENDED,	TCP_RECONNECT,	DO(REOPEN)),
		GOTO(PEER_RESET,	TCP_RECONNECT,	DO(REOPEN)),
		REPLY_COMES,
	},
	[IW_MPA_ST_TCP_RECONNECT] = {
		GOTO(NO_REV_2,		DEAD,		FAIL_CONNECT),
		GOTO(OPEN_FAILED,	DEAD,		FAIL_CONNECT),
		GOTO(TCP_UP,		TCP_RECONNECT,	DO(SEND_REQ)),
		TCP_COMES,
	},
	[IW_MPA_ST_AWAIT_REP] = {
		GOTO(READABLE,		AWAIT_REP,	DO(READ_REP)),
		GOTO(PEER_CLOSED,	AWAIT_REP,	DO(READ_REP)),
		GOTO(REP_BEGUN,		AWAIT_REP,	0),
		GOTO(STREAM_ENDED,	DEAD,		FAIL_CONNECT),
		GOTO(PEER_RESET,	DEAD,		FAIL_CONNECT),
		REPLY_COMES,
	},
	[IW_MPA_ST_AWAIT_REQ] = {
		GOTO(READABLE,		AWAIT_REQ,	DO(READ_REQ)),
		GOTO(PEER_CLOSED,	AWAIT_REQ,	DO(READ_REQ)),
		GOTO(REQ_GOOD,		ASKING,		DO(CHECK_EARLY) | DO(ASK)),
		GOTO(TERM_DUE,		LINGER,		DO(SEND_REJECT)),
		GOTO(FRAME_BAD,		DEAD,		FAIL_QUIETLY),
		GOTO(FRAME_CUT,		DEAD,		FAIL_QUIETLY),
		GOTO(STREAM_ENDED,	DEAD,		FAIL_QUIETLY),
		GOTO(TIMED_OUT,		DEAD,		FAIL_QUIETLY),
		GOTO(LISTENER_GONE,	DEAD,		FAIL_QUIETLY),
		GOTO(YIELD,		DEAD,		FAIL_QUIETLY),
		GOTO(DEV_GONE,		DEAD,		FAIL_QUIETLY),
		REQUEST_LOST,
	},
	[IW_MPA_ST_ASKING] = {
		GOTO(ASKED,		AWAIT_VERDICT,	0),
		GOTO(NO_ROOM,		AWAIT_ROOM,	DO(QUEUE)),
		GOTO(FRAME_BAD,		DEAD,		FAIL_QUIETLY),
		GOTO(LISTENER_GONE,	LINGER,		DO(SEND_REJECT)),
	},
	[IW_MPA_ST_AWAIT_ROOM] = {
		GOTO(ROOM,		ASKING,		DO(ASK)),
		GOTO(READABLE,		AWAIT_ROOM,	DO(CHECK_EARLY)),
		GOTO(FRAME_BAD,		DEAD,		FAIL_QUIETLY),
		GOTO(TIMED_OUT,		LINGER,		DO(SEND_REJECT)),
		GOTO(LISTENER_GONE,	LINGER,		DO(SEND_REJECT)),
		GOTO(PEER_CLOSED,	DEAD,		FAIL_QUIETLY),
		GOTO(DEV_GONE,		DEAD,		REJECT_AND_GO),
		REQUEST_LOST,
	},
	[IW_MPA_ST_AWAIT_VERDICT] = {
		GOTO(ULP_ACCEPTED,	HANDOFF,	DO(BIND) | DO(HANDOFF_PASSIVE)),
		GOTO(ULP_REJECTED,	LINGER,		DO(SEND_REJECT)),
		GOTO(READABLE,		AWAIT_VERDICT,	DO(CHECK_EARLY)),
		GOTO(FRAME_BAD,		DEAD,		FAIL_QUIETLY),
		GOTO(TIMED_OUT,		LINGER,		DO(SEND_REJECT)),
		GOTO(PEER_CLOSED,	DEAD,		FAIL_QUIETLY),
		GOTO(DEV_GONE,		DEAD,		REJECT_AND_GO),
		REQUEST_LOST,
	},
	[IW_MPA_ST_HANDOFF] = {
		GOTO(HANDED_OFF,	OFFLOADED,	DO(REPORT_UP) | DO(KICK_RX)),
		GOTO(HANDED_OFF_QUIET,	UNANSWERED,	DO(REPORT_UP) | DO(KICK_RX)),
		GOTO(HANDED_OFF_FENCED,	FENCED,		DO(REPORT_UP) | DO(KICK_RX)),
		GOTO(HANDED_OFF_RTR,	AWAIT_RTR,	DO(KICK_RX)),
		GOTO(PREPARE_FAILED,	LINGER,
		     DO(SEND_TERM) | DO(UNBIND) | DO(REPORT_DOWN)),
		GOTO(RTR_FAILED,	LINGER,
		     DO(STOP) | DO(SEND_TERM) | DO(UNBIND) | DO(REPORT_DOWN)),
		GOTO(BIND_FAILED,	LINGER,		DO(SEND_REJECT) | DO(FAIL_CALL)),
		GOTO(ACCEPT_FAILED,	LINGER,
		     DO(SEND_REJECT) | DO(UNBIND) | DO(CANCEL) | DO(FAIL_CALL)),
		GOTO(REPLY_FAILED,	DEAD,
		     DO(STOP) | DO(UNBIND) | DO(CANCEL) | DO(FAIL_CALL) |
		     DO(RELEASE)),
	},
	[IW_MPA_ST_AWAIT_RTR] = {
		GOTO(FIRST_FPDU,	OFFLOADED,	DO(OPEN_TX) | DO(REPORT_UP)),
		GOTO(TIMED_OUT,		DEAD,		CLOSE),
		GOTO(PEER_CLOSED,	AWAIT_RTR,	LOOK_AGAIN),
		FENCED_LOST,
	},
	[IW_MPA_ST_FENCED] = {
		GOTO(FIRST_FPDU,	OFFLOADED,	DO(OPEN_TX)),
		GOTO(TIMED_OUT,		OFFLOADED,	DO(LIFT_FENCE)),
		GOTO(PEER_CLOSED,	FENCED,		LOOK_AGAIN),
		GOTO(EVENT_LOST,	LINGER,		CLOSE_GENTLY),
		FENCED_LOST,
	},
	[IW_MPA_ST_UNANSWERED] = {
		GOTO(TIMED_OUT,		UNANSWERED,
		     DO(CHECK_ANSWER) | DO(REPEAT_RTR) | DO(RESTART_TIMER)),
		GOTO(RTR_SETTLED,	OFFLOADED,	0),
		GOTO(PEER_CLOSED,	UNANSWERED,	LOOK_AGAIN),
		GOTO(STREAM_ENDED,	PEER_FINISHED,	DO(FINISH_TX)),
		GOTO(ULP_CLOSED,	FINISHING,	DO(REPEAT_RTR) | DO(FINISH_TX)),
		GOTO(EVENT_LOST,	LINGER,		CLOSE_GENTLY),
		BROKEN_OFF,
		CUT_OFF,
	},
	[IW_MPA_ST_OFFLOADED] = {
		GOTO(PEER_CLOSED,	OFFLOADED,	LOOK_AGAIN),
		GOTO(STREAM_ENDED,	PEER_FINISHED,	DO(FINISH_TX)),
		GOTO(ULP_CLOSED,	FINISHING,	DO(FINISH_TX)),
		GOTO(EVENT_LOST,	LINGER,		CLOSE_GENTLY),
		ANSWERED_AGAIN,
		BROKEN_OFF,
		CUT_OFF,
	},
	[IW_MPA_ST_FINISHING] = {
		GOTO(TX_FINISHED,	HALF_CLOSED,	DO(SHUTDOWN)),
		GOTO(CANNOT_FINISH,	LINGER,		CLOSE_GENTLY),
		GOTO(TIMED_OUT,		FINISHING,	LOOK_WHETHER_IT_MOVES),
		GOTO(PEER_CLOSED,	FINISHING,	LOOK_AGAIN),
		GOTO(STREAM_ENDED,	PEER_FINISHED,	0),
		BROKEN_SHORT,
	},
	[IW_MPA_ST_HALF_CLOSED] = {
		GOTO(PEER_CLOSED,	HALF_CLOSED,	LOOK_AGAIN),
		GOTO(STREAM_ENDED,	DEAD,		CLOSE),
		GOTO(TIMED_OUT,		HALF_CLOSED,	LOOK_WHETHER_IT_MOVES),
		BROKEN_SHORT,
	},
	[IW_MPA_ST_PEER_FINISHED] = {
		GOTO(TX_FINISHED,	DEAD,		CLOSE),
		GOTO(CANNOT_FINISH,	DEAD,		CLOSE),
		GOTO(ULP_REJECTED,	DEAD,
		     DO(STOP) | DO(UNBIND) | DO(CANCEL) | DO(RELEASE)),
		GOTO(TIMED_OUT,		PEER_FINISHED,	LOOK_WHETHER_IT_MOVES),
		GOTO_FAILED(STREAM_DOWN, DEAD,		CLOSE),
		GOTO(ULP_ABORTED,	DEAD,		CLOSE),
		CUT_SHORT,
	},
	[IW_MPA_ST_LINGER] = {
		GOTO(READABLE,		LINGER,		DO(DRAIN)),
		GOTO(PEER_CLOSED,	DEAD,		DO(RELEASE)),
		GOTO(STREAM_ENDED,	DEAD,		DO(RELEASE)),
		GOTO(PEER_RESET,	DEAD,		DO(RELEASE)),
		GOTO(TCP_FAILED,	DEAD,		DO(RELEASE)),
		GOTO(TIMED_OUT,		DEAD,		DO(RELEASE)),
		GOTO(DEV_GONE,		DEAD,		DO(RELEASE)),
		GOTO(YIELD_LINGER,	DEAD,		DO(RELEASE)),
	},
};

const struct iw_mpa_state_info iw_mpa_fsm_states[IW_MPA_ST_COUNT] = {
#define FSM_LIMIT_OWN	false
#define FSM_LIMIT_TOTAL	true
#define X(name, tmr, ph, limit, text)					\
	[IW_MPA_ST_##name] = { .timer = IW_MPA_TMR_##tmr,		\
			       .phase = IW_MPA_PHASE_##ph,		\
			       .total = FSM_LIMIT_##limit },
	IW_MPA_STATES(X)
#undef X
};

/* Return: why an event ends a connection; IW_MPA_R_OK if it gives no reason. */
enum iw_mpa_reason iw_mpa_fsm_reason(enum iw_mpa_state state,
				     enum iw_mpa_event event)
{
	static const u8 of_event[IW_MPA_EV_COUNT] = {
#define X(name, reason) [IW_MPA_EV_##name] = IW_MPA_R_##reason,
		IW_MPA_EVENTS(X)
#undef X
	};
	static const u8 of_timer[IW_MPA_TMR_COUNT] = {
#define X(name, setting, reason) [IW_MPA_TMR_##name] = IW_MPA_R_##reason,
		IW_MPA_TIMERS(X)
#undef X
	};

	if (event == IW_MPA_EV_TIMED_OUT)
		return of_timer[iw_mpa_fsm_states[state].timer];
	return of_event[event];
}

/* Return: the name of a state, for debugfs and KUnit. Context: any. */
const char *iw_mpa_state_name(enum iw_mpa_state state)
{
	static const char *const names[IW_MPA_ST_COUNT] = {
#define X(name, timer, phase, limit, text) [IW_MPA_ST_##name] = #name,
		IW_MPA_STATES(X)
#undef X
	};

	return state < IW_MPA_ST_COUNT ? names[state] : "?";
}

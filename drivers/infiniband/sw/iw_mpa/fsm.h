/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IW_MPA_FSM_H
#define _IW_MPA_FSM_H

#include <linux/bits.h>
#include <linux/types.h>

#include <rdma/iw_mpa_proto.h>

/*
 * The state machine of a connection, as data: lists of its states, timers,
 * events and actions. The table iw_mpa_fsm[] in fsm.c says which state and
 * which actions follow an event in a state. Trace events, debugfs and
 * Documentation/infiniband/iw_mpa.rst show the names in these lists.
 */

/* Timer; setting with its duration; reason if its expiry ends the connection */
#define IW_MPA_TIMERS(X)						\
	X(CONNECT,	connect_timeout_ms,	TIMEOUT_CONNECT)	\
	X(REPLY,	reply_timeout_ms,	TIMEOUT_REPLY)		\
	X(REQUEST,	request_timeout_ms,	TIMEOUT_REQUEST)	\
	X(ROOM,		verdict_timeout_ms,	EVENT_LOST)		\
	X(VERDICT,	verdict_timeout_ms,	TIMEOUT_VERDICT)	\
	X(RTR,		rtr_timeout_ms,		TIMEOUT_RTR)		\
	X(FENCE,	fence_timeout_ms,	OK)			\
	X(REPEAT,	rtr_repeat_ms,		OK)			\
	X(LINGER,	linger_timeout_ms,	OK)

/*
 * States, in the order of a connection's life. Columns: the state; its timer;
 * its phase; TOTAL if this and other states together have a time limit, too,
 * OWN if the state's timer alone limits the wait; and what the connection waits
 * for in the state.
 *
 * A close by FIN goes on while bytes move: a peer could prolong it for ever, by
 * one byte at a time. An initiator may connect more than once, and waits for a
 * Reply each time. A Request that a responder has received may wait for room
 * more than once. So there is one time limit for the whole close, one for all
 * attempts to connect, and one for all waits for room: see
 * iw_mpa_fsm_deadline(). State LINGER needs no such limit: its timer is never
 * restarted.
 */
#define IW_MPA_STATES(X)						\
	X(IDLE,		NONE,	START,	OWN,				\
	  "nothing: the endpoint is being set up")			\
	X(TCP_CONNECT,	CONNECT, START,	TOTAL,				\
	  "initiator: TCP to come up")					\
	X(V2_OFFERED,	REPLY,	START,	TOTAL,				\
	  "initiator: the Reply to revision 2, which may be a FIN")	\
	X(TCP_RECONNECT, CONNECT, START, TOTAL,				\
	  "initiator: TCP to come up once more")			\
	X(AWAIT_REP,	REPLY,	START,	TOTAL,				\
	  "initiator: the MPA Reply")					\
	X(AWAIT_REQ,	REQUEST, START,	OWN,				\
	  "responder: the MPA Request")					\
	X(ASKING,	NONE,	START,	OWN,				\
	  "nothing: iw_cm is being given the Request")			\
	X(AWAIT_ROOM,	ROOM,	START,	TOTAL,				\
	  "responder: iw_cm and the ULP to have room for the Request")	\
	X(AWAIT_VERDICT, VERDICT, START, OWN,				\
	  "responder: the ULP to accept or reject")			\
	X(HANDOFF,	NONE,	START,	OWN,				\
	  "nothing: the driver takes the stream")			\
	X(AWAIT_RTR,	RTR,	START,	OWN,				\
	  "responder: the RTR message, then ESTABLISHED is reported")	\
	X(FENCED,	FENCE,	UP,	OWN,				\
	  "responder, ESTABLISHED was reported: the first FPDU opens TX") \
	X(UNANSWERED,	REPEAT,	UP,	OWN,				\
	  "initiator, established: a peer that may have missed the RTR") \
	X(OFFLOADED,	NONE,	UP,	OWN,				\
	  "the end of the connection")					\
	X(FINISHING,	LINGER,	END,	TOTAL,				\
	  "the driver to let out what the ULP had posted before it closed") \
	X(HALF_CLOSED,	LINGER,	END,	TOTAL,				\
	  "the peer to close; this end has, and goes on receiving")	\
	X(PEER_FINISHED, LINGER, END,	TOTAL,				\
	  "the driver to let out what was posted; the peer has closed")	\
	X(LINGER,	LINGER,	END,	OWN,				\
	  "the peer to close after the last byte of this end")		\
	X(DEAD,		NONE,	END,	OWN,				\
	  "the last reference to go")

/*
 * Events, as past facts. Columns: event; its reason if it ends the connection.
 *
 * TCP, timers, drivers and iw_cm raise the events of this list, in any context.
 * A raised event is pending until the runner, the one context that handles an
 * endpoint's events, takes it. Of several pending events the runner takes the
 * one that is first in this list: so it reads the peer's bytes (READABLE)
 * before it handles the FIN that followed them (PEER_CLOSED).
 */
#define IW_MPA_RAISED_EVENTS(X)						\
	X(TCP_UP,	OK)		/* TCP is connected, or takes bytes for SYN (Fast Open) */ \
	X(READABLE,	OK)		/* TCP may have received bytes or a FIN */ \
	X(FIRST_FPDU,	OK)		/* the driver has validated one whole FPDU */ \
	X(STREAM_DOWN,	STREAM)		/* the driver cannot go on with the stream */ \
	X(TX_FINISHED,	OK)		/* driver: TCP has all that finish_tx() had to send */ \
	X(PEER_CLOSED,	PEER_CLOSED)	/* the peer sent FIN; bytes before it may be unread */ \
	X(STREAM_ENDED,	PEER_CLOSED)	/* the peer sent FIN, and all bytes before it were read */ \
	X(PEER_RESET,	PEER_RESET)	/* the peer sent RST */		\
	X(TCP_FAILED,	TCP_ERROR)	/* TCP failed for another cause: see iw_mpa_ep.tcp_err */ \
	X(TIMED_OUT,	OK)		/* the timer of the state expired: see IW_MPA_TIMERS() */ \
	X(ULP_CLOSED,	ULP_CLOSE)	/* the ULP closes: posted work is sent if possible */ \
	X(ULP_ABORTED,	ULP_CLOSE)	/* the ULP closes: posted work is dropped */ \
	X(QP_GONE,	QP_GONE)	/* the QP is being destroyed */	\
	X(DEV_GONE,	DEVICE_GONE)	/* the device is being removed */ \
	X(LISTENER_GONE, LISTENER_GONE)	/* the listener is being destroyed */ \
	X(YIELD,	OVERLOAD)	/* too many half-open connections: close this one */ \
	X(YIELD_LINGER,	OVERLOAD)	/* as YIELD, for one that lingers after a Reject */ \
	X(ROOM,		OK)		/* iw_cm or the ULP may have room for the Request */

/*
 * Calls of iw_cm, a new connection of a listener, and results of actions. The
 * context that handles an endpoint's events (the runner) takes such an event
 * before all pending ones of IW_MPA_RAISED_EVENTS().
 */
#define IW_MPA_FOUND_EVENTS(X)						\
	X(ULP_CONNECTS,	OK)		/* iw_connect */		\
	X(TCP_ACCEPTED,	OK)		/* a listener got a connection */ \
	X(ULP_ACCEPTED,	OK)		/* iw_accept */			\
	X(ULP_REJECTED,	ULP_REJECT)	/* iw_reject, maybe of a connection that was accepted */ \
	X(BIND_FAILED,	LOCAL)		/* no such QP, QP has a connection, or bad parameters */ \
	X(OPEN_FAILED,	TCP_ERROR)	/* TCP cannot begin to connect */ \
	X(V2_SENT,	OK)		/* a Request of revision 2 was sent */ \
	X(REQ_SENT,	OK)		/* a Request of revision 1 was sent */ \
	X(NO_REV_2,	NO_REV_2)	/* peer closed on revision 2; revision 1 is not allowed */ \
	X(SEND_FAILED,	SEND)		/* the Request could not be sent */ \
	X(REQ_GOOD,	OK)		/* a whole, well-formed Request has arrived */ \
	X(REP_BEGUN,	OK)		/* a part of the Reply has arrived */ \
	X(REP_GOOD,	OK)		/* the Reply is good: both ends agree on parameters */ \
	X(REP_REJECT,	REJECTED)	/* the peer's Reply is a Reject */ \
	X(FRAME_BAD,	LOCAL)		/* malformed frame, or too many bytes after a Request */ \
	X(FRAME_CUT,	TRUNCATED)	/* the peer sent FIN within its startup frame */ \
	X(TERM_DUE,	LOCAL)		/* negotiation failed, or no memory: Terminate is due */ \
	X(ASKED,	OK)		/* iw_cm has taken CONNECT_REQUEST */ \
	X(NO_ROOM,	OK)		/* iw_cm or the ULP has no room for CONNECT_REQUEST */ \
	X(HANDED_OFF,	OK)		/* the driver has the stream, and may transmit */ \
	X(HANDED_OFF_QUIET, OK)		/* as HANDED_OFF, but the peer may miss the RTR message */ \
	X(HANDED_OFF_FENCED, OK)	/* responder: handed off, no TX before the first FPDU */ \
	X(HANDED_OFF_RTR, OK)		/* responder: handed off, no TX before the RTR message */ \
	X(PREPARE_FAILED, DRIVER)	/* initiator: the driver did not take the stream */ \
	X(RTR_FAILED,	DRIVER)		/* initiator: driver has the stream, send_rtr() failed */ \
	X(ACCEPT_FAILED, LOCAL)		/* responder: hand-off failed before a Reply was sent */ \
	X(REPLY_FAILED,	SEND)		/* responder: driver has the stream, but no Reply sent */ \
	X(RTR_SETTLED,	OK)		/* the peer has sent bytes, or no RTR repeat is left */ \
	X(STALLED,	TIMEOUT_FINISH)	/* after a close: no byte moves, or time is up */ \
	X(CANNOT_FINISH, OK)		/* the driver has no finish_tx(): posted work is lost */ \
	X(EVENT_LOST,	EVENT_LOST)	/* iw_cm did not take CONNECT_REPLY or ESTABLISHED */

#define IW_MPA_EVENTS(X)	IW_MPA_RAISED_EVENTS(X) IW_MPA_FOUND_EVENTS(X)

/*
 * Actions. Those of one transition are done in the order of this list. An
 * action may return one of the events after "->": run.c then handles that event
 * at once, and skips the remaining actions of the transition.
 */
#define IW_MPA_ACTIONS(X)						\
	X(BIND)			/* take the QP; iw_cm now awaits an event -> BIND_FAILED */ \
	X(OPEN)			/* begin to connect by TCP -> OPEN_FAILED */ \
	X(REOPEN)		/* connect by TCP again, to offer revision 2 or 1 */ \
				/* -> NO_REV_2, OPEN_FAILED */		\
	X(SEND_REQ)		/* -> V2_SENT, REQ_SENT, SEND_FAILED; or TCP_UP is raised later */ \
	X(READ_REQ)		/* -> REQ_GOOD, TERM_DUE, FRAME_BAD, FRAME_CUT, STREAM_ENDED, */ \
				/* PEER_RESET, TCP_FAILED; part: no event */ \
	X(READ_REP)		/* Reply -> REP_GOOD, REP_REJECT; REP_BEGUN: only a part; */ \
				/* failures as READ_REQ; no bytes: no event */ \
	X(CHECK_EARLY)		/* are too many bytes queued after the Request? -> FRAME_BAD */ \
	X(ASK)			/* raise CONNECT_REQUEST -> ASKED, NO_ROOM, LISTENER_GONE */ \
	X(QUEUE)		/* let the Request wait for room, after earlier ones */ \
	X(HANDOFF_ACTIVE)	/* initiator -> HANDED_OFF*, PREPARE_FAILED, RTR_FAILED */ \
	X(HANDOFF_PASSIVE)	/* responder -> HANDED_OFF*, ACCEPT_FAILED, REPLY_FAILED */ \
	X(OPEN_TX)		/* call open_tx(): the driver may send the ULP's work */ \
	X(LIFT_FENCE)		/* OPEN_TX before an FPDU arrived: fence_timeout_ms is over */ \
	X(REPORT_UP)		/* raise CONNECT_REPLY(0) or ESTABLISHED(0) -> EVENT_LOST */ \
	X(CHECK_ANSWER)		/* peer has sent bytes, or no repeat is left? -> RTR_SETTLED */ \
	X(REPEAT_RTR)		/* call repeat_rtr(): one more zero-length RDMA Write */ \
	X(CHECK_PROGRESS)	/* close by FIN: no byte moved, or too late? -> STALLED */ \
	X(RESTART_TIMER)	/* start the timer of the present state again */ \
	X(KICK_RX)		/* call kick_rx(): the driver reads what TCP has received */ \
	X(END_STREAM)		/* raise STREAM_ENDED, handled after events of the driver */ \
	X(FINISH_TX)		/* call finish_tx(): send all posted work -> CANNOT_FINISH */ \
	X(STOP)			/* call stop(): the driver gives the stream up */ \
	X(SEND_TERM)							\
	X(SEND_REJECT)							\
	X(UNBIND)		/* drop the reference on the QP */	\
	X(CANCEL)		/* raise no event: iw_cm does not expect one any more */ \
	X(FAIL_CALL)		/* iw_connect or iw_accept returns the errno of ep->reason */ \
	X(REPORT_DOWN)		/* raise CONNECT_REPLY(<0); or ESTABLISHED(<0), CLOSE; or CLOSE */ \
	X(SHUTDOWN)		/* send FIN, and go on receiving */	\
	X(DRAIN)		/* read and drop bytes of a lingering peer -> STREAM_ENDED */ \
	X(RELEASE)		/* free socket and timer, drop references */

enum iw_mpa_timer {
	IW_MPA_TMR_NONE,
#define X(name, setting, reason) IW_MPA_TMR_##name,
	IW_MPA_TIMERS(X)
#undef X
	IW_MPA_TMR_COUNT
};

/* Phases of a connection's life */
enum iw_mpa_phase {
	IW_MPA_PHASE_START,	/* before CONNECT_REPLY(0) or ESTABLISHED(0) */
	IW_MPA_PHASE_UP,
	IW_MPA_PHASE_END,
};

enum iw_mpa_state {
#define X(name, timer, phase, limit, text) IW_MPA_ST_##name,
	IW_MPA_STATES(X)
#undef X
	IW_MPA_ST_COUNT
};

enum iw_mpa_event {
#define X(name, reason) IW_MPA_EV_##name,
	IW_MPA_RAISED_EVENTS(X)
	IW_MPA_EV_RAISED_COUNT,
	IW_MPA_EV_BEFORE_FOUND = IW_MPA_EV_RAISED_COUNT - 1,
	IW_MPA_FOUND_EVENTS(X)
#undef X
	IW_MPA_EV_COUNT,
	IW_MPA_EV_NONE = IW_MPA_EV_COUNT
};

enum iw_mpa_action_nr {
#define X(name) IW_MPA_ACT_##name,
	IW_MPA_ACTIONS(X)
#undef X
	IW_MPA_ACT_COUNT
};

enum iw_mpa_action {
#define X(name) IW_MPA_DO_##name = BIT(IW_MPA_ACT_##name),
	IW_MPA_ACTIONS(X)
#undef X
};

/**
 * struct iw_mpa_transition - what follows an event in a state
 * @next: the next state, entered before the first of @actions is done
 * @defined: the event can happen in the state; else it is too late, and dropped
 * @fails: a close by FIN fails: the event's reason replaces the former reason
 * @actions: set of IW_MPA_DO_*, done in the order of IW_MPA_ACTIONS()
 */
struct iw_mpa_transition {
	u8	next;
	bool	defined;
	bool	fails;
	u32	actions;
};

/* One row of IW_MPA_STATES() */
struct iw_mpa_state_info {
	u8	timer;		/* enum iw_mpa_timer */
	u8	phase;		/* enum iw_mpa_phase */
	bool	total;		/* iw_mpa_ep.until limits this wait, too */
};

extern const struct iw_mpa_transition
	iw_mpa_fsm[IW_MPA_ST_COUNT][IW_MPA_EV_COUNT];
extern const struct iw_mpa_state_info iw_mpa_fsm_states[IW_MPA_ST_COUNT];

enum iw_mpa_reason iw_mpa_fsm_reason(enum iw_mpa_state state,
				     enum iw_mpa_event event);
const char *iw_mpa_state_name(enum iw_mpa_state state);

/* Return: what follows the event in the state; not @defined if it is void. */
static inline const struct iw_mpa_transition *
iw_mpa_fsm_step(enum iw_mpa_state state, enum iw_mpa_event event)
{
	return &iw_mpa_fsm[state][event];
}

/* Actions that any context may do, if the driver's open_tx() does not sleep */
#define IW_MPA_PROMPT_ACTIONS	(IW_MPA_DO_OPEN_TX | IW_MPA_DO_REPORT_UP)

/* Actions that iw_mpa_close() may do in the context of the ULP's call */
#define IW_MPA_CLOSE_ACTIONS	(IW_MPA_DO_FINISH_TX | IW_MPA_DO_SHUTDOWN)

/* Can the event happen in the state, with no action outside of @actions? */
static inline bool iw_mpa_fsm_does_only(enum iw_mpa_state state,
					enum iw_mpa_event event, u32 actions)
{
	const struct iw_mpa_transition *tr = iw_mpa_fsm_step(state, event);

	return tr->defined && !(tr->actions & ~actions);
}

/*
 * Return: when the wait in a state has to end; 0 only if there is no limit.
 * @now may be in any unit, and may wrap. @wait is the duration of the state's
 * timer, 0 if it has none. @until is the time at which several waits together
 * have to end, or 0.
 */
static inline unsigned long iw_mpa_fsm_deadline(enum iw_mpa_state state,
						unsigned long now,
						unsigned long wait,
						unsigned long until)
{
	unsigned long deadline = (now + wait) | 1;

	if (!wait)
		return 0;
	if (until && iw_mpa_fsm_states[state].total &&
	    (long)(deadline - until) > 0)
		return until;
	return deadline;
}

#endif /* _IW_MPA_FSM_H */

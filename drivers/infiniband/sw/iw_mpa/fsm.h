/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IW_MPA_FSM_H
#define _IW_MPA_FSM_H

#include <linux/bits.h>
#include <linux/types.h>

#include <rdma/iw_mpa_proto.h>

/*
 * The state machine of a connection, as data: states, timers, events and
 * actions. The table in fsm.c joins them, and makes all decisions. Trace
 * events, debugfs and Documentation/infiniband/iw_mpa.rst have its names.
 */

/* Timers: setting with the time, and the reason if it ends the connection */
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
 * States, in the order of a connection's life: the timer; the phase; TOTAL if
 * the wait also ends at a limit that it shares with the waits of other states,
 * OWN if it ends by the timer alone; and what the state waits for.
 *
 * If a wait begins again when something arrives, a peer can prolong it for
 * ever, by one byte at a time. So all tries of a startup have one limit, and so
 * have all states of an orderly end: see iw_mpa_fsm_deadline(). The timer of
 * LINGER does not begin again.
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
 * Events, as past facts, with the reason if the event ends the connection.
 *
 * Events of this list are raised by other contexts, and may wait for the
 * runner. If several wait, the runner takes the one that comes first in the
 * list: so it reads bytes before it handles the close that followed them.
 */
#define IW_MPA_RAISED_EVENTS(X)						\
	X(TCP_UP,	OK)		/* connected, or bytes go with SYN */ \
	X(READABLE,	OK)		/* bytes or a FIN may be there */ \
	X(FIRST_FPDU,	OK)		/* driver: one whole FPDU was validated */ \
	X(STREAM_DOWN,	STREAM)		/* driver: cannot go on */	\
	X(TX_FINISHED,	OK)		/* driver: all that was posted is out */ \
	X(PEER_CLOSED,	PEER_CLOSED)	/* FIN; earlier bytes may be unread */ \
	X(STREAM_ENDED,	PEER_CLOSED)	/* nothing is left to read before the FIN */ \
	X(PEER_RESET,	PEER_RESET)	/* RST */			\
	X(TCP_FAILED,	TCP_ERROR)	/* TCP gave up; its errno says more */ \
	X(TIMED_OUT,	OK)		/* the state's timer; it has the reason */ \
	X(ULP_CLOSED,	ULP_CLOSE)	/* the ULP closes, in order */	\
	X(ULP_ABORTED,	ULP_CLOSE)	/* the ULP closes at once */	\
	X(QP_GONE,	QP_GONE)	/* the QP is being destroyed */	\
	X(DEV_GONE,	DEVICE_GONE)	/* the device is being removed */ \
	X(LISTENER_GONE, LISTENER_GONE)	/* the listener is being destroyed */ \
	X(YIELD,	OVERLOAD)	/* too many half-open: the oldest */ \
	X(YIELD_LINGER,	OVERLOAD)	/* the same, after a Reject */ \
	X(ROOM,		OK)		/* there may be room again */

/* Calls, and what an action has found. These events are handled at once. */
#define IW_MPA_FOUND_EVENTS(X)						\
	X(ULP_CONNECTS,	OK)		/* iw_connect */		\
	X(TCP_ACCEPTED,	OK)		/* a listener got a connection */ \
	X(ULP_ACCEPTED,	OK)		/* iw_accept */			\
	X(ULP_REJECTED,	ULP_REJECT)	/* iw_reject, also of what was accepted */ \
	X(BIND_FAILED,	LOCAL)		/* no such QP, or it is in use, or wrong arguments */ \
	X(OPEN_FAILED,	TCP_ERROR)	/* TCP refuses to begin */	\
	X(V2_SENT,	OK)		/* a Request of revision 2 */	\
	X(REQ_SENT,	OK)		/* a Request of revision 1 */	\
	X(NO_REV_2,	NO_REV_2)	/* there is no further try: revision 1 will not do */ \
	X(SEND_FAILED,	SEND)		/* the Request could not be sent */ \
	X(REQ_GOOD,	OK)		/* a well-formed Request is complete */ \
	X(REP_BEGUN,	OK)		/* a part of the Reply has arrived */ \
	X(REP_GOOD,	OK)		/* the Reply was negotiated with success */ \
	X(REP_REJECT,	REJECTED)	/* the Reply rejects */		\
	X(FRAME_BAD,	LOCAL)		/* malformed, or too much follows */ \
	X(FRAME_CUT,	TRUNCATED)	/* FIN within the frame */	\
	X(TERM_DUE,	LOCAL)		/* negotiation failed, or no memory */ \
	X(ASKED,	OK)		/* iw_cm has the Request */	\
	X(NO_ROOM,	OK)		/* iw_cm or the ULP has no room for it */	\
	X(HANDED_OFF,	OK)		/* the stream is the driver's, TX is open */ \
	X(HANDED_OFF_QUIET, OK)		/* TX open, but RTR may be missed */ \
	X(HANDED_OFF_FENCED, OK)	/* TX shut: responder without RTR */ \
	X(HANDED_OFF_RTR, OK)		/* TX shut: responder awaits RTR */ \
	X(PREPARE_FAILED, DRIVER)	/* initiator: the driver refused */ \
	X(RTR_FAILED,	DRIVER)		/* initiator: prepared, but no RTR message got out */ \
	X(ACCEPT_FAILED, LOCAL)		/* responder: nothing was sent yet */ \
	X(REPLY_FAILED,	SEND)		/* responder: prepared, but no Reply got out */ \
	X(RTR_SETTLED,	OK)		/* peer has sent, or no repeat left */ \
	X(STALLED,	TIMEOUT_FINISH)	/* nothing has moved, or the end takes too long */ \
	X(CANNOT_FINISH, OK)		/* driver cannot send posted work */ \
	X(EVENT_LOST,	EVENT_LOST)	/* iw_cm did not take an event */

#define IW_MPA_EVENTS(X)	IW_MPA_RAISED_EVENTS(X) IW_MPA_FOUND_EVENTS(X)

/*
 * Actions, as imperatives. The actions of a transition are done in this order.
 * An action may return one of the events after "->": that event is handled at
 * once, in place of the actions that are left.
 */
#define IW_MPA_ACTIONS(X)						\
	X(BIND)			/* the QP, and expect events -> BIND_FAILED */ \
	X(OPEN)			/* TCP -> OPEN_FAILED */		\
	X(REOPEN)		/* a new TCP connection, for either revision */ \
				/* -> NO_REV_2, OPEN_FAILED */		\
	X(SEND_REQ)		/* -> V2_SENT, REQ_SENT, SEND_FAILED; none: TCP_UP follows */ \
	X(READ_REQ)		/* -> REQ_GOOD, TERM_DUE, FRAME_BAD, FRAME_CUT, STREAM_ENDED, */ \
				/*    PEER_RESET, TCP_FAILED; none: go on */ \
	X(READ_REP)		/* -> REP_GOOD, REP_REJECT; REP_BEGUN: more is to come; */ \
				/*    none: nothing; failures: see READ_REQ */ \
	X(CHECK_EARLY)		/* too much after the Request? -> FRAME_BAD */ \
	X(ASK)			/* CONNECT_REQUEST -> ASKED, NO_ROOM, LISTENER_GONE */ \
	X(QUEUE)		/* wait after other Requests without room */ \
	X(HANDOFF_ACTIVE)	/* -> HANDED_OFF*, PREPARE_FAILED, RTR_FAILED */ \
	X(HANDOFF_PASSIVE)	/* -> HANDED_OFF*, ACCEPT_FAILED, REPLY_FAILED */ \
	X(OPEN_TX)		/* driver: send the ULP's work */	\
	X(LIFT_FENCE)		/* OPEN_TX, though no FPDU has arrived */ \
	X(REPORT_UP)		/* CONNECT_REPLY(0), ESTABLISHED(0) -> EVENT_LOST */ \
	X(CHECK_ANSWER)		/* has the peer sent something? -> RTR_SETTLED */ \
	X(REPEAT_RTR)		/* driver: one more zero-length RDMA Write */ \
	X(CHECK_PROGRESS)	/* does TCP move, in time? -> STALLED */ \
	X(RESTART_TIMER)	/* wait in the same state for another time */ \
	X(KICK_RX)		/* driver: poll the stream now */	\
	X(END_STREAM)		/* raise STREAM_ENDED, after driver events */ \
	X(FINISH_TX)		/* driver: send all posted -> CANNOT_FINISH */ \
	X(STOP)			/* driver: forget the stream */		\
	X(SEND_TERM)							\
	X(SEND_REJECT)							\
	X(UNBIND)		/* drop the QP */			\
	X(CANCEL)		/* iw_cm expects no event any more */	\
	X(FAIL_CALL)		/* iw_connect or iw_accept returns the reason's errno */ \
	X(REPORT_DOWN)		/* CONNECT_REPLY(<0), or ESTABLISHED(<0), CLOSE, or CLOSE */ \
	X(SHUTDOWN)		/* FIN, and go on receiving */		\
	X(DRAIN)		/* drop what a lingering peer sends -> STREAM_ENDED */ \
	X(RELEASE)		/* socket, timer, references */

enum iw_mpa_timer {
	IW_MPA_TMR_NONE,
#define X(name, setting, reason) IW_MPA_TMR_##name,
	IW_MPA_TIMERS(X)
#undef X
	IW_MPA_TMR_COUNT
};

/* Phases of a connection's life */
enum iw_mpa_phase {
	IW_MPA_PHASE_START,	/* CONNECT_REPLY or ESTABLISHED may be due */
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
 * struct iw_mpa_transition - one cell of the state table
 * @next: state to enter before @actions are done
 * @defined: the event can happen in the state; else it is dropped as too late
 * @fails: an orderly end fails: the event's reason replaces the former reason
 * @actions: set of IW_MPA_DO_*
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
	bool	total;		/* the limit of several waits counts, too */
};

extern const struct iw_mpa_transition
	iw_mpa_fsm[IW_MPA_ST_COUNT][IW_MPA_EV_COUNT];
extern const struct iw_mpa_state_info iw_mpa_fsm_states[IW_MPA_ST_COUNT];

enum iw_mpa_reason iw_mpa_fsm_reason(enum iw_mpa_state state,
				     enum iw_mpa_event event);
const char *iw_mpa_state_name(enum iw_mpa_state state);

/* Return: a cell; @defined is false for an event that is void in the state. */
static inline const struct iw_mpa_transition *
iw_mpa_fsm_step(enum iw_mpa_state state, enum iw_mpa_event event)
{
	return &iw_mpa_fsm[state][event];
}

/* Actions for any context, if the driver's open_tx does not sleep */
#define IW_MPA_PROMPT_ACTIONS	(IW_MPA_DO_OPEN_TX | IW_MPA_DO_REPORT_UP)

/* Actions that iw_mpa_close() may do in the ULP's context */
#define IW_MPA_CLOSE_ACTIONS	(IW_MPA_DO_FINISH_TX | IW_MPA_DO_SHUTDOWN)

/* Has the state a cell for the event, whose actions are all among @actions? */
static inline bool iw_mpa_fsm_does_only(enum iw_mpa_state state,
					enum iw_mpa_event event, u32 actions)
{
	const struct iw_mpa_transition *tr = iw_mpa_fsm_step(state, event);

	return tr->defined && !(tr->actions & ~actions);
}

/*
 * When a wait ends; 0 only if nothing ends it. @now may be in any unit, and may
 * wrap. @wait is how long the state's timer runs, 0 if it has none; @until is
 * when several waits together have to end, or 0.
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

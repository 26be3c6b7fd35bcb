// SPDX-License-Identifier: GPL-2.0
/*
 * The state table of an endpoint. Everything that can happen to a connection is
 * a cell here; run.c only looks cells up and does what they say.
 *
 * What the table guarantees, and KUnit checks for every cell:
 *  - after iw_connect, and after iw_accept, every path ends in exactly one
 *    REPORT_DOWN, with at most one REPORT_UP before it;
 *  - STOP is reached exactly once after the driver prepared, and UNBIND before
 *    the report that lets the ULP use the QP again;
 *  - DEAD is entered only with RELEASE, and DEV_GONE leads there from every
 *    state in which an event can wait;
 *  - every state that waits for the peer or the ULP before the connection is
 *    established has a timer.
 */

#include "fsm.h"

#define GOTO(ev, st, act)						\
	[IW_MPA_EV_##ev] = { .next = IW_MPA_ST_##st, .defined = true,	\
			     .actions = (act) }

#define DO(name) IW_MPA_DO_##name

/* The ends of a connection: before iw_cm or a driver knows of it, and after. */
#define FAIL_QUIETLY	DO(RELEASE)
#define FAIL_CONNECT	(DO(UNBIND) | DO(REPORT_DOWN) | DO(RELEASE))
#define CLOSE		(DO(STOP) | DO(UNBIND) | DO(REPORT_DOWN) | DO(RELEASE))
/* ... and where this end has said its last word, which an RST would take back */
#define CLOSE_GENTLY	(DO(STOP) | DO(UNBIND) | DO(REPORT_DOWN) | DO(SHUTDOWN))

/*
 * A FIN ends a connection that the driver has, but what came before it counts: the
 * driver is made to look once more, and what it finds is handled first.
 */
#define LOOK_AGAIN	(DO(KICK_RX) | DO(END_STREAM))

/* What ends such a connection without a last word of this end. */
#define CUT_OFF							\
	GOTO(STREAM_ENDED,	DEAD,	CLOSE),			\
	GOTO(PEER_RESET,	DEAD,	CLOSE),			\
	GOTO(QP_GONE,		DEAD,	CLOSE),			\
	GOTO(DEV_GONE,		DEAD,	CLOSE)

/* All that ends such a connection. */
#define LOST							\
	GOTO(STREAM_DOWN,	LINGER,	CLOSE_GENTLY),		\
	GOTO(ULP_CLOSED,	LINGER,	CLOSE_GENTLY),		\
	CUT_OFF

static const struct iw_mpa_transition
table[IW_MPA_ST_COUNT][IW_MPA_EV_COUNT] = {
	[IW_MPA_ST_IDLE] = {
		GOTO(CONNECTING,	TCP_CONNECT,	0),
		GOTO(TCP_ACCEPTED,	AWAIT_REQ,	0),
		GOTO(FRAME_BAD,		DEAD,		FAIL_QUIETLY),
	},
	[IW_MPA_ST_TCP_CONNECT] = {
		GOTO(TCP_UP,		AWAIT_REP,	DO(SEND_REQ)),
		GOTO(PEER_CLOSED,	DEAD,		FAIL_CONNECT),
		GOTO(PEER_RESET,	DEAD,		FAIL_CONNECT),
		GOTO(TIMED_OUT,		DEAD,		FAIL_CONNECT),
		GOTO(ULP_CLOSED,	DEAD,		FAIL_CONNECT),
		GOTO(QP_GONE,		DEAD,		FAIL_CONNECT),
		GOTO(DEV_GONE,		DEAD,		FAIL_CONNECT),
		GOTO(SEND_FAILED,	DEAD,		FAIL_CONNECT),
	},
	[IW_MPA_ST_AWAIT_REP] = {
		GOTO(READABLE,		AWAIT_REP,	DO(READ_REP)),
		GOTO(REP_GOOD,		HANDOFF,	DO(HANDOFF_ACTIVE)),
		GOTO(REP_REJECT,	DEAD,		FAIL_CONNECT),
		GOTO(FRAME_BAD,		DEAD,		FAIL_CONNECT),
		GOTO(TERM_DUE,		LINGER,
		     DO(SEND_TERM) | DO(UNBIND) | DO(REPORT_DOWN)),
		GOTO(V2_REFUSED,	TCP_CONNECT,	DO(RECONNECT)),
		GOTO(SEND_FAILED,	DEAD,		FAIL_CONNECT),
		GOTO(PEER_CLOSED,	AWAIT_REP,	DO(READ_REP)),
		GOTO(STREAM_ENDED,	DEAD,		FAIL_CONNECT),
		GOTO(PEER_RESET,	DEAD,		FAIL_CONNECT),
		GOTO(TIMED_OUT,		DEAD,		FAIL_CONNECT),
		GOTO(ULP_CLOSED,	DEAD,		FAIL_CONNECT),
		GOTO(QP_GONE,		DEAD,		FAIL_CONNECT),
		GOTO(DEV_GONE,		DEAD,		FAIL_CONNECT),
	},
	[IW_MPA_ST_AWAIT_REQ] = {
		GOTO(READABLE,		AWAIT_REQ,	DO(READ_REQ)),
		GOTO(REQ_GOOD,		REQ_INDICATED,	DO(INDICATE)),
		GOTO(FRAME_BAD,		DEAD,		FAIL_QUIETLY),
		GOTO(PEER_CLOSED,	AWAIT_REQ,	DO(READ_REQ)),
		GOTO(STREAM_ENDED,	DEAD,		FAIL_QUIETLY),
		GOTO(PEER_RESET,	DEAD,		FAIL_QUIETLY),
		GOTO(TIMED_OUT,		DEAD,		FAIL_QUIETLY),
		GOTO(DEV_GONE,		DEAD,		FAIL_QUIETLY),
		GOTO(LISTENER_GONE,	DEAD,		FAIL_QUIETLY),
		GOTO(YIELD,		DEAD,		FAIL_QUIETLY),
	},
	[IW_MPA_ST_REQ_INDICATED] = {
		GOTO(ULP_ACCEPTED,	HANDOFF,	DO(HANDOFF_PASSIVE)),
		GOTO(ACCEPT_FAILED,	LINGER,		DO(SEND_REJECT)),
		GOTO(ULP_REJECTED,	LINGER,		DO(SEND_REJECT)),
		GOTO(INDICATE_FAILED,	LINGER,		DO(SEND_REJECT)),
		GOTO(TIMED_OUT,		LINGER,		DO(SEND_REJECT)),
		GOTO(PEER_CLOSED,	DEAD,		FAIL_QUIETLY),
		GOTO(PEER_RESET,	DEAD,		FAIL_QUIETLY),
		GOTO(DEV_GONE,		DEAD,		FAIL_QUIETLY),
	},
	[IW_MPA_ST_HANDOFF] = {
		GOTO(HANDED_OFF,	OFFLOADED,	DO(REPORT_UP) | DO(KICK_RX)),
		GOTO(HANDED_OFF_FENCED,	FENCED,		DO(REPORT_UP) | DO(KICK_RX)),
		GOTO(HANDED_OFF_QUIET, UNANSWERED,	DO(REPORT_UP) | DO(KICK_RX)),
		GOTO(HANDED_OFF_RTR,	AWAIT_RTR,	DO(KICK_RX)),
		GOTO(PREPARE_FAILED,	LINGER,
		     DO(SEND_TERM) | DO(UNBIND) | DO(REPORT_DOWN)),
		GOTO(STREAM_DOWN,	DEAD,		CLOSE),
		GOTO(ACCEPT_FAILED,	LINGER,		DO(SEND_REJECT) | DO(UNBIND)),
		GOTO(REPLY_FAILED,	DEAD,
		     DO(STOP) | DO(UNBIND) | DO(RELEASE)),
	},
	[IW_MPA_ST_AWAIT_RTR] = {
		GOTO(FIRST_FPDU,	OFFLOADED,	DO(OPEN_TX) | DO(REPORT_UP)),
		GOTO(TIMED_OUT,		DEAD,		CLOSE),
		GOTO(PEER_CLOSED,	AWAIT_RTR,	LOOK_AGAIN),
		LOST,
	},
	[IW_MPA_ST_FENCED] = {
		GOTO(FIRST_FPDU,	OFFLOADED,	DO(OPEN_TX)),
		GOTO(TIMED_OUT,		OFFLOADED,	DO(LIFT_FENCE)),
		GOTO(PEER_CLOSED,	FENCED,	LOOK_AGAIN),
		LOST,
	},
	[IW_MPA_ST_UNANSWERED] = {
		GOTO(TIMED_OUT,		UNANSWERED,
		     DO(CHECK_ANSWER) | DO(REPEAT_RTR) | DO(RESTART_TIMER)),
		GOTO(RTR_SETTLED,	OFFLOADED,	0),
		GOTO(PEER_CLOSED,	UNANSWERED,	LOOK_AGAIN),
		GOTO(ULP_CLOSED,	LINGER,		DO(REPEAT_RTR) | CLOSE_GENTLY),
		GOTO(STREAM_DOWN,	LINGER,		CLOSE_GENTLY),
		CUT_OFF,
	},
	[IW_MPA_ST_OFFLOADED] = {
		GOTO(PEER_CLOSED,	OFFLOADED,	LOOK_AGAIN),
		LOST,
	},
	[IW_MPA_ST_LINGER] = {
		GOTO(READABLE,		LINGER,		DO(DRAIN)),
		GOTO(PEER_CLOSED,	DEAD,		DO(RELEASE)),
		GOTO(STREAM_ENDED,	DEAD,		DO(RELEASE)),
		GOTO(PEER_RESET,	DEAD,		DO(RELEASE)),
		GOTO(TIMED_OUT,		DEAD,		DO(RELEASE)),
		GOTO(DEV_GONE,		DEAD,		DO(RELEASE)),
		GOTO(YIELD,		DEAD,		DO(RELEASE)),
	},
};

/**
 * iw_mpa_fsm_step - look a cell of the state table up
 * @state: current state
 * @event: what happened
 *
 * Return: the transition; for an event that is void in @state one that stays
 * there and does nothing, with @defined false.
 */
struct iw_mpa_transition iw_mpa_fsm_step(enum iw_mpa_state state,
					 enum iw_mpa_event event)
{
	struct iw_mpa_transition stay = { .next = state };

	if (state >= IW_MPA_ST_COUNT || event >= IW_MPA_EV_COUNT ||
	    !table[state][event].defined)
		return stay;
	return table[state][event];
}

/**
 * iw_mpa_fsm_timer - the timer that bounds a state's wait
 * @state: any state
 *
 * Return: a timer, IW_MPA_TMR_NONE where the wait is not bounded.
 */
enum iw_mpa_timer iw_mpa_fsm_timer(enum iw_mpa_state state)
{
	static const u8 timers[IW_MPA_ST_COUNT] = {
#define X(name, timer) [IW_MPA_ST_##name] = IW_MPA_TMR_##timer,
		IW_MPA_STATES(X)
#undef X
	};

	return state < IW_MPA_ST_COUNT ? timers[state] : IW_MPA_TMR_NONE;
}

/**
 * iw_mpa_state_name - a state's name for traces
 * @state: any state
 *
 * Return: a constant string.
 */
const char *iw_mpa_state_name(enum iw_mpa_state state)
{
	static const char *const names[IW_MPA_ST_COUNT] = {
#define X(name, timer) [IW_MPA_ST_##name] = #name,
		IW_MPA_STATES(X)
#undef X
	};

	return state < IW_MPA_ST_COUNT ? names[state] : "?";
}

/**
 * iw_mpa_event_name - an event's name for traces
 * @event: any event
 *
 * Return: a constant string.
 */
const char *iw_mpa_event_name(enum iw_mpa_event event)
{
	static const char *const names[IW_MPA_EV_COUNT] = {
#define X(name) [IW_MPA_EV_##name] = #name,
		IW_MPA_EVENTS(X)
#undef X
	};

	return event < IW_MPA_EV_COUNT ? names[event] : "?";
}

/**
 * iw_mpa_action_name - an action's name for traces
 * @action: any action's number
 *
 * Return: a constant string.
 */
const char *iw_mpa_action_name(enum iw_mpa_action_nr action)
{
	static const char *const names[IW_MPA_ACT_COUNT] = {
#define X(name) [IW_MPA_ACT_##name] = #name,
		IW_MPA_ACTIONS(X)
#undef X
	};

	return action < IW_MPA_ACT_COUNT ? names[action] : "?";
}

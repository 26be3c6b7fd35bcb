/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IW_MPA_FSM_H
#define _IW_MPA_FSM_H

#include <linux/bits.h>
#include <linux/types.h>

/*
 * States of an endpoint, named after what it waits for, with the timer that
 * bounds the wait. Documentation/infiniband/iw_mpa.rst draws them.
 */
#define IW_MPA_STATES(X)						\
	X(IDLE,		NONE)	/* nothing: being set up */		\
	X(TCP_CONNECT,	CONNECT) /* initiator: TCP to come up */	\
	X(AWAIT_REP,	REPLY)	/* initiator: the MPA Reply */		\
	X(AWAIT_REQ,	REQUEST) /* responder: the MPA Request */	\
	X(REQ_INDICATED, VERDICT) /* responder: the ULP's verdict */	\
	X(HANDOFF,	NONE)	/* nothing: the driver takes the stream */ \
	X(AWAIT_RTR,	RTR)	/* responder: RTR, then ESTABLISHED */	\
	X(FENCED,	FENCE)	/* responder, ESTABLISHED: first FPDU opens TX */ \
	X(UNANSWERED,	REPEAT)	/* initiator, ESTABLISHED: an octet from the peer */ \
	X(OFFLOADED,	NONE)	/* the end of the connection */		\
	X(LINGER,	LINGER)	/* the peer to close after our last word */ \
	X(DEAD,		NONE)	/* the last reference */

/*
 * Events, as past facts. The first group is raised from outside and may wait in
 * an endpoint's mask; where several wait the first listed is handled first, so
 * that what arrived counts before the close that followed it. The second group
 * is what an action found out.
 */
#define IW_MPA_EVENTS(X)						\
	X(TCP_UP)		/* TCP is connected */			\
	X(READABLE)		/* the stream may have octets or a FIN */ \
	X(FIRST_FPDU)		/* driver: one whole FPDU was validated */ \
	X(STREAM_DOWN)		/* driver: cannot go on */		\
	X(PEER_CLOSED)		/* FIN; octets before it may be unread */ \
	X(STREAM_ENDED)		/* nothing is left to read before the FIN */ \
	X(PEER_RESET)		/* RST, or TCP gave up */		\
	X(TIMED_OUT)		/* the state's timer */			\
	X(INDICATE_FAILED)	/* iw_cm did not take CONNECT_REQUEST */ \
	X(ULP_CLOSED)		/* the ULP closed its QP */		\
	X(QP_GONE)		/* the QP is being destroyed */		\
	X(DEV_GONE)		/* the device is being removed */	\
	X(LISTENER_GONE)	/* the listener is being destroyed */	\
	X(YIELD)		/* too many like it, it is there longest */ \
	X(CONNECTING)		/* iw_connect started TCP */		\
	X(TCP_ACCEPTED)		/* a listener got a connection */	\
	X(ULP_ACCEPTED)		/* iw_accept */				\
	X(ULP_REJECTED)		/* iw_reject */				\
	X(REQ_GOOD)		/* a well-formed Request is complete */	\
	X(REP_GOOD)		/* the Reply was negotiated with success */ \
	X(REP_REJECT)		/* the Reply says no */			\
	X(FRAME_BAD)		/* improperly formatted: close at once */ \
	X(TERM_DUE)		/* negotiation failed: TERM and close */ \
	X(V2_REFUSED)		/* peer closed on the v2 Request: retry with v1 */ \
	X(SEND_FAILED)		/* the Request could not be sent */	\
	X(HANDED_OFF)		/* stream is the driver's, TX is open */ \
	X(HANDED_OFF_FENCED)	/* likewise, TX is closed: responder without RTR */ \
	X(HANDED_OFF_RTR)	/* likewise: responder that must await RTR */ \
	X(HANDED_OFF_QUIET) /* TX is open, and the peer may have missed the RTR */ \
	X(RTR_SETTLED)		/* the peer has sent something, or RTR was repeated enough */ \
	X(PREPARE_FAILED)	/* initiator: the driver refused */	\
	X(ACCEPT_FAILED)	/* responder: nothing sent yet, say no */ \
	X(REPLY_FAILED)		/* responder: prepared, but no Reply got out */

/*
 * Actions, as imperatives. A transition's actions are done in this order; one
 * that finds something out ends in another event, which is handled at once.
 */
#define IW_MPA_ACTIONS(X)						\
	X(RECONNECT)		/* new TCP connection, revision 1 */	\
	X(SEND_REQ)							\
	X(READ_REQ)		/* -> REQ_GOOD, FRAME_BAD, STREAM_ENDED */ \
	X(READ_REP)		/* -> REP_GOOD, REP_REJECT, TERM_DUE, ... */ \
	X(HANDOFF_ACTIVE)	/* -> HANDED_OFF, PREPARE_FAILED, STREAM_DOWN */ \
	X(HANDOFF_PASSIVE)	/* -> HANDED_OFF_*, ACCEPT_FAILED, REPLY_FAILED */ \
	X(OPEN_TX)		/* let the ULP's work out */		\
	X(LIFT_FENCE)		/* likewise, though no FPDU has come */	\
	X(REPORT_UP)		/* CONNECT_REPLY(0) or ESTABLISHED(0) */ \
	X(CHECK_ANSWER)		/* has the peer sent something? -> RTR_SETTLED */ \
	X(REPEAT_RTR)		/* driver: one more zero-length RDMA Write */ \
	X(RESTART_TIMER)	/* wait in the same state for another time */ \
	X(KICK_RX)		/* driver: look at the stream now */	\
	X(END_STREAM)		/* what was read counts first, then STREAM_ENDED */ \
	X(STOP)			/* driver: forget the stream */		\
	X(SEND_TERM)							\
	X(SEND_REJECT)							\
	X(UNBIND)		/* let go of the QP */			\
	X(REPORT_DOWN)		/* CONNECT_REPLY(<0), or ESTABLISHED(<0), CLOSE, or CLOSE */ \
	X(SHUTDOWN)		/* FIN, and go on receiving */		\
	X(INDICATE)		/* CONNECT_REQUEST */			\
	X(DRAIN)		/* drop what a lingering peer sends */	\
	X(RELEASE)		/* socket, timer, references */

enum iw_mpa_timer {
	IW_MPA_TMR_NONE,
	IW_MPA_TMR_CONNECT,
	IW_MPA_TMR_REQUEST,
	IW_MPA_TMR_VERDICT,
	IW_MPA_TMR_REPLY,
	IW_MPA_TMR_RTR,
	IW_MPA_TMR_LINGER,
	IW_MPA_TMR_FENCE,
	IW_MPA_TMR_REPEAT,
	IW_MPA_TMR_COUNT
};

enum iw_mpa_state {
#define X(name, timer) IW_MPA_ST_##name,
	IW_MPA_STATES(X)
#undef X
	IW_MPA_ST_COUNT
};

enum iw_mpa_event {
#define X(name) IW_MPA_EV_##name,
	IW_MPA_EVENTS(X)
#undef X
	IW_MPA_EV_COUNT,
	IW_MPA_EV_NONE = IW_MPA_EV_COUNT
};

/* the events that may be raised from outside */
#define IW_MPA_EV_LAST_RAISED	IW_MPA_EV_YIELD

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
 * @actions: set of IW_MPA_DO_*
 * @defined: the event can happen in the state; where it is false the event
 *	is late or void and is dropped
 */
struct iw_mpa_transition {
	u8	next;
	bool	defined;
	u32	actions;
};

struct iw_mpa_transition iw_mpa_fsm_step(enum iw_mpa_state state,
					 enum iw_mpa_event event);
enum iw_mpa_timer iw_mpa_fsm_timer(enum iw_mpa_state state);
const char *iw_mpa_state_name(enum iw_mpa_state state);
const char *iw_mpa_event_name(enum iw_mpa_event event);
const char *iw_mpa_action_name(enum iw_mpa_action_nr action);

#endif /* _IW_MPA_FSM_H */

// SPDX-License-Identifier: GPL-2.0
/*
 * The state table of fsm.c, cell by cell (a cell is what the table says for one event in one
 * state): which events each state handles, to which state they lead, and what limits each wait.
 * iw_mpa_fsm_walk_kunit.c checks the actions.
 */

#include <kunit/test.h>
#include <linux/bits.h>
#include <linux/string.h>

#include "fsm.h"
#include "fsm_names.h"

#define ST(name)	BIT(IW_MPA_ST_##name)

#define ST_ALL		(BIT(IW_MPA_ST_COUNT) - 1)
/*
 * States that the runner (the context that handles an endpoint's events) leaves without waiting for
 * an event, and states that wait for events of other contexts
 */
#define ST_PASSED	(ST(IDLE) | ST(ASKING) | ST(HANDOFF))
#define ST_WAITS	(ST_ALL & ~(ST_PASSED | ST(DEAD)))
/* An initiator that waits for the Reply */
#define ST_READS_REP	(ST(V2_OFFERED) | ST(AWAIT_REP))
#define ST_TCP		(ST(TCP_CONNECT) | ST(TCP_RECONNECT))
#define ST_DIALS	(ST_TCP | ST_READS_REP)
/* A responder whose Request is complete: it waits for room in iw_cm, or for the ULP's answer */
#define ST_ASKS		(ST(AWAIT_ROOM) | ST(AWAIT_VERDICT))
/* The driver has the stream: it must not send yet, or it may send, or a close by FIN has begun */
#define ST_CLOSED_TX	(ST(AWAIT_RTR) | ST(FENCED))
#define ST_OPEN_TX	(ST(UNANSWERED) | ST(OFFLOADED))
#define ST_ENDS		(ST(FINISHING) | ST(HALF_CLOSED) | ST(PEER_FINISHED))
#define ST_DRIVER	(ST_CLOSED_TX | ST_OPEN_TX | ST_ENDS)
/*
 * States in which the driver has the stream and the peer has not closed. If STREAM_DOWN or
 * ULP_ABORTED ends the connection, iw_mpa waits in LINGER for the peer's FIN: an RST could discard
 * what was sent last, such as a Terminate message.
 */
#define ST_SPEAKS	(ST_CLOSED_TX | ST_OPEN_TX | ST(FINISHING) | ST(HALF_CLOSED))

/* One row per transition: the state to which an event leads. Without a row the event is ignored. */

struct event_row {
	enum iw_mpa_event	event;
	u32			from;
	enum iw_mpa_state	to;	/* IW_MPA_ST_COUNT: no change */
};

#define LEG(ev, from, to)	{ IW_MPA_EV_##ev, from, IW_MPA_ST_##to }

static const struct event_row event_rows[] = {
	/* New connections */
	LEG(ULP_CONNECTS, ST(IDLE), TCP_CONNECT),
	LEG(TCP_ACCEPTED, ST(IDLE), AWAIT_REQ),
	/* An initiator up to the Reply */
	LEG(BIND_FAILED, ST(TCP_CONNECT), DEAD),
	LEG(OPEN_FAILED, ST_TCP, DEAD),
	LEG(TCP_UP, ST_TCP, COUNT),
	LEG(V2_SENT, ST_TCP, V2_OFFERED),
	LEG(REQ_SENT, ST_TCP, AWAIT_REP),
	LEG(NO_REV_2, ST(TCP_RECONNECT), DEAD),
	LEG(SEND_FAILED, ST_TCP, DEAD),
	LEG(REP_BEGUN, ST_READS_REP, AWAIT_REP),
	LEG(REP_GOOD, ST_READS_REP, HANDOFF),
	LEG(REP_REJECT, ST_READS_REP, DEAD),
	LEG(TERM_DUE, ST_READS_REP | ST(AWAIT_REQ), LINGER),
	/* A responder up to the ULP's answer */
	LEG(REQ_GOOD, ST(AWAIT_REQ), ASKING),
	LEG(ASKED, ST(ASKING), AWAIT_VERDICT),
	LEG(NO_ROOM, ST(ASKING), AWAIT_ROOM),
	LEG(ROOM, ST(AWAIT_ROOM), ASKING),
	LEG(ULP_ACCEPTED, ST(AWAIT_VERDICT), HANDOFF),
	LEG(ULP_REJECTED, ST(AWAIT_VERDICT), LINGER),
	LEG(LISTENER_GONE, ST(AWAIT_REQ), DEAD),
	LEG(LISTENER_GONE, ST(ASKING) | ST(AWAIT_ROOM), LINGER),
	LEG(YIELD, ST(AWAIT_REQ), DEAD),
	LEG(YIELD_LINGER, ST(LINGER), DEAD),
	/* Both roles, while they read a frame */
	LEG(READABLE, ST_READS_REP | ST(AWAIT_REQ) | ST_ASKS | ST(LINGER), COUNT),
	LEG(FRAME_BAD, ST_READS_REP | ST(AWAIT_REQ) | ST(ASKING) | ST_ASKS, DEAD),
	LEG(FRAME_CUT, ST_READS_REP | ST(AWAIT_REQ), DEAD),
	/* The hand-off */
	LEG(BIND_FAILED, ST(HANDOFF), LINGER),
	LEG(HANDED_OFF, ST(HANDOFF), OFFLOADED),
	LEG(HANDED_OFF_QUIET, ST(HANDOFF), UNANSWERED),
	LEG(HANDED_OFF_FENCED, ST(HANDOFF), FENCED),
	LEG(HANDED_OFF_RTR, ST(HANDOFF), AWAIT_RTR),
	LEG(PREPARE_FAILED, ST(HANDOFF), LINGER),
	LEG(RTR_FAILED, ST(HANDOFF), LINGER),
	LEG(ACCEPT_FAILED, ST(HANDOFF), LINGER),
	LEG(REPLY_FAILED, ST(HANDOFF), DEAD),
	/* After the hand-off */
	LEG(FIRST_FPDU, ST_CLOSED_TX, OFFLOADED),
	LEG(RTR_SETTLED, ST(UNANSWERED), OFFLOADED),
	LEG(EVENT_LOST, ST(FENCED) | ST_OPEN_TX, LINGER),
	LEG(ULP_REJECTED, ST_CLOSED_TX | ST(OFFLOADED) | ST(FINISHING) | ST(HALF_CLOSED), LINGER),
	LEG(ULP_REJECTED, ST(PEER_FINISHED), DEAD),
	/* Closes by FIN: this end closes, then the peer, or the other way round */
	LEG(ULP_CLOSED, ST_OPEN_TX, FINISHING),
	LEG(TX_FINISHED, ST(FINISHING), HALF_CLOSED),
	LEG(STREAM_ENDED, ST(FINISHING), PEER_FINISHED),
	LEG(STREAM_ENDED, ST_OPEN_TX, PEER_FINISHED),
	LEG(TX_FINISHED, ST(PEER_FINISHED), DEAD),
	LEG(STREAM_ENDED, ST(HALF_CLOSED), DEAD),
	/* Other ends; while TX is closed no posted work has to be sent first */
	LEG(ULP_CLOSED, ST_CLOSED_TX, LINGER),
	LEG(CANNOT_FINISH, ST(FINISHING), LINGER),
	LEG(CANNOT_FINISH, ST(PEER_FINISHED), DEAD),
	LEG(STREAM_DOWN, ST_SPEAKS, LINGER),
	LEG(STREAM_DOWN, ST_DRIVER, DEAD),
	LEG(ULP_ABORTED, ST_SPEAKS, LINGER),
	LEG(ULP_ABORTED, ST_DRIVER, DEAD),
	/*
	 * The peer's FIN: first iw_mpa reads the bytes before it. If there are none and revision 2
	 * was offered, the initiator connects once more.
	 */
	LEG(PEER_CLOSED, ST_READS_REP | ST(AWAIT_REQ), COUNT),
	LEG(PEER_CLOSED, ST_DRIVER & ~ST(PEER_FINISHED), COUNT),
	LEG(PEER_CLOSED, ST_TCP | ST_ASKS | ST(LINGER), DEAD),
	LEG(STREAM_ENDED, ST(V2_OFFERED), TCP_RECONNECT),
	LEG(STREAM_ENDED, ST(AWAIT_REP) | ST(AWAIT_REQ) | ST_CLOSED_TX | ST(LINGER), DEAD),
	LEG(PEER_RESET, ST(V2_OFFERED), TCP_RECONNECT),
	LEG(PEER_RESET, ST_WAITS, DEAD),
	LEG(TCP_FAILED, ST_WAITS | ST(IDLE), DEAD),
	/* Timers */
	LEG(TIMED_OUT, ST_ASKS, LINGER),
	LEG(TIMED_OUT, ST(FENCED), OFFLOADED),
	LEG(TIMED_OUT, ST(UNANSWERED), COUNT),
	LEG(TIMED_OUT, ST_ENDS, COUNT),
	LEG(TIMED_OUT, ST_WAITS & ~ST(OFFLOADED), DEAD),
	LEG(STALLED, ST_ENDS, DEAD),
	/* A QP or a device is removed while it has a connection. */
	LEG(QP_GONE, ST_DIALS | ST_DRIVER, DEAD),
	LEG(DEV_GONE, ST_WAITS, DEAD),
};

/*
 * Return the state to which @event leads from @state, or IW_MPA_ST_COUNT if @event is ignored
 * there.
 */
static enum iw_mpa_state leg_target(enum iw_mpa_state state, enum iw_mpa_event event)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(event_rows); i++) {
		const struct event_row *row = &event_rows[i];

		if (row->event == event && (row->from & BIT(state)))
			return row->to == IW_MPA_ST_COUNT ? state : row->to;
	}
	return IW_MPA_ST_COUNT;
}

struct cell {
	enum iw_mpa_state	state;
	enum iw_mpa_event	event;
};

/* All cells of the table, in its order */
static struct cell cells[IW_MPA_ST_COUNT * IW_MPA_EV_COUNT];

static int cells_fill(struct kunit_suite *suite)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(cells); i++) {
		cells[i].state = i / IW_MPA_EV_COUNT;
		cells[i].event = i % IW_MPA_EV_COUNT;
	}
	return 0;
}

static void cell_desc(struct cell *cell, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s_%s", iw_mpa_state_name(cell->state),
		 event_name(cell->event));
}

KUNIT_ARRAY_PARAM(cell, cells, cell_desc);

static void fsm_step_any_cell_leads_where_ruled(struct kunit *test)
{
	const struct cell *cell = test->param_value;
	enum iw_mpa_state target = leg_target(cell->state, cell->event);
	const struct iw_mpa_transition *tr = iw_mpa_fsm_step(cell->state, cell->event);

	if (target == IW_MPA_ST_COUNT) {
		KUNIT_EXPECT_FALSE(test, tr->defined);
		KUNIT_EXPECT_EQ(test, tr->actions, 0);
		return;
	}
	KUNIT_EXPECT_TRUE(test, tr->defined);
	KUNIT_EXPECT_EQ(test, tr->next, target);
	KUNIT_EXPECT_EQ(test, tr->actions & ~(u32)(BIT(IW_MPA_ACT_COUNT) - 1), 0);
}

/*
 * A close by FIN has a reason from its beginning. If it fails, by RST, an error or a stall, the
 * reason of that event replaces the former one.
 */
static void fsm_failed_end_has_another_reason(struct kunit *test)
{
	static const struct event_row rows[] = {
		{ IW_MPA_EV_STALLED, ST_ENDS },
		{ IW_MPA_EV_PEER_RESET, ST_ENDS },
		{ IW_MPA_EV_TCP_FAILED, ST_ENDS },
		{ IW_MPA_EV_STREAM_DOWN, ST_ENDS },
	};
	u32 from[IW_MPA_EV_COUNT] = {};
	int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		from[rows[i].event] = rows[i].from;
	for (i = 0; i < ARRAY_SIZE(cells); i++) {
		const struct cell *cell = &cells[i];

		KUNIT_EXPECT_EQ_MSG(test, iw_mpa_fsm_step(cell->state, cell->event)->fails,
				    !!(from[cell->event] & BIT(cell->state)), "%s: %s",
				    iw_mpa_state_name(cell->state), event_name(cell->event));
	}
}

/*
 * Each event leads to a later state in the order of IW_MPA_STATES(), or to the same state, so that
 * no connection goes through the same states for ever. There are two exceptions: the event ROOM
 * leads from AWAIT_ROOM back to ASKING, until the timer of AWAIT_ROOM expires; the event V2_SENT
 * leads back to V2_OFFERED when revision 2 is offered again, once, as iw_mpa_fsm_walk_kunit.c
 * checks.
 */
static void fsm_any_cell_goes_forward(struct kunit *test)
{
	int state, event;

	for (state = 0; state < IW_MPA_ST_COUNT; state++) {
		for (event = 0; event < IW_MPA_EV_COUNT; event++) {
			const struct iw_mpa_transition *tr = iw_mpa_fsm_step(state, event);

			if (tr->defined && event != IW_MPA_EV_ROOM && event != IW_MPA_EV_V2_SENT)
				KUNIT_EXPECT_GE_MSG(test, tr->next, state, "%s: %s",
						    iw_mpa_state_name(state),
						    event_name(event));
		}
	}
}

/*
 * Local errors during startup, and the states in which the peer gets neither a Reject nor a
 * Terminate message: RFC 6581 9.3.
 */
static const struct local_end {
	enum iw_mpa_event	event;
	u32			silent;
} local_ends[] = {
	/* Nothing has arrived that a Reject or Terminate message could answer. */
	{ IW_MPA_EV_BIND_FAILED,	ST(TCP_CONNECT) },
	{ IW_MPA_EV_OPEN_FAILED,	ST_TCP },
	{ IW_MPA_EV_NO_REV_2,		ST(TCP_RECONNECT) },
	{ IW_MPA_EV_QP_GONE,		ST_DIALS },
	{ IW_MPA_EV_TIMED_OUT,		ST_DIALS | ST(AWAIT_REQ) },
	{ IW_MPA_EV_LISTENER_GONE,	ST(AWAIT_REQ) },
	{ IW_MPA_EV_YIELD,		ST(AWAIT_REQ) },
	{ IW_MPA_EV_DEV_GONE,		ST_DIALS | ST(AWAIT_REQ) },
	/* The error is in the peer's frame, or in what the peer sends before the Reply. */
	{ IW_MPA_EV_FRAME_BAD,		ST_READS_REP | ST(AWAIT_REQ) | ST(ASKING) | ST_ASKS },
	/* TCP has refused to send a startup frame. */
	{ IW_MPA_EV_SEND_FAILED,	ST_TCP },
	{ IW_MPA_EV_REPLY_FAILED,	ST(HANDOFF) },
	/* After these events the peer gets a message, whatever the state is. */
	{ IW_MPA_EV_TERM_DUE },
	{ IW_MPA_EV_PREPARE_FAILED },
	{ IW_MPA_EV_RTR_FAILED },
	{ IW_MPA_EV_ACCEPT_FAILED },
	{ IW_MPA_EV_ULP_REJECTED },
};

/*
 * Rules: E-9.3-1: for each local error in each state of the startup, whether a Reject or a
 * Terminate message is sent
 */
static void fsm_local_end_of_a_startup_told_but_for_those(struct kunit *test)
{
	int state, i;

	for (state = 0; state <= IW_MPA_ST_HANDOFF; state++) {
		for (i = 0; i < ARRAY_SIZE(local_ends); i++) {
			const struct local_end *end = &local_ends[i];
			const struct iw_mpa_transition *tr = iw_mpa_fsm_step(state, end->event);
			u32 words = BIT(IW_MPA_ACT_SEND_TERM) | BIT(IW_MPA_ACT_SEND_REJECT);

			if (!tr->defined) {
				KUNIT_EXPECT_FALSE(test, end->silent & BIT(state));
				continue;
			}
			KUNIT_EXPECT_EQ_MSG(test, !(tr->actions & words),
					    !!(end->silent & BIT(state)), "%s: %s",
					    iw_mpa_state_name(state), event_name(end->event));
		}
	}
}

/*
 * The removal of a device waits for its connections: DEV_GONE has to end each of them, in each
 * state.
 */
static void fsm_device_ends_whatever_waits(struct kunit *test)
{
	int state;

	for (state = 0; state < IW_MPA_ST_COUNT; state++) {
		if (!(ST_WAITS & BIT(state)))
			continue;
		KUNIT_EXPECT_EQ_MSG(test, (int)iw_mpa_fsm_step(state, IW_MPA_EV_DEV_GONE)->next,
				    (int)IW_MPA_ST_DEAD, "%s", iw_mpa_state_name(state));
	}
}

/*
 * iw_mpa does the actions of a transition by ascending number, so their numbers must be in the
 * order in which they have to be done.
 */
static void fsm_actions_numbered_in_order_of_doing(struct kunit *test)
{
	static const u8 order[] = {
		IW_MPA_ACT_BIND, IW_MPA_ACT_OPEN, IW_MPA_ACT_READ_REQ, IW_MPA_ACT_CHECK_EARLY,
		IW_MPA_ACT_ASK, IW_MPA_ACT_HANDOFF_PASSIVE,
		IW_MPA_ACT_OPEN_TX, IW_MPA_ACT_REPORT_UP, IW_MPA_ACT_CHECK_ANSWER,
		IW_MPA_ACT_REPEAT_RTR, IW_MPA_ACT_CHECK_PROGRESS, IW_MPA_ACT_RESTART_TIMER,
		IW_MPA_ACT_KICK_RX,
		IW_MPA_ACT_END_STREAM, IW_MPA_ACT_FINISH_TX, IW_MPA_ACT_STOP,
		IW_MPA_ACT_SEND_TERM, IW_MPA_ACT_SEND_REJECT, IW_MPA_ACT_UNBIND,
		IW_MPA_ACT_CANCEL, IW_MPA_ACT_FAIL_CALL, IW_MPA_ACT_REPORT_DOWN,
		IW_MPA_ACT_SHUTDOWN, IW_MPA_ACT_RELEASE,
	};
	int i;

	for (i = 1; i < ARRAY_SIZE(order); i++)
		KUNIT_EXPECT_LT(test, order[i - 1], order[i]);
	KUNIT_EXPECT_EQ(test, IW_MPA_ACT_RELEASE, IW_MPA_ACT_COUNT - 1);
	KUNIT_EXPECT_LE(test, IW_MPA_ACT_COUNT, 32);	/* bits of actions */
	KUNIT_EXPECT_LE(test, IW_MPA_EV_RAISED_COUNT, 32);	/* bits of events */
	KUNIT_EXPECT_LE(test, IW_MPA_ST_COUNT, 32);	/* for ST() here */
}

/*
 * Of several waiting events the one with the lowest number is handled first, so READABLE has to be
 * below the events of a close: otherwise bytes before a FIN would be lost.
 */
static void fsm_events_raised_from_outside_numbered_by_urgency(struct kunit *test)
{
	static const u8 order[] = {
		IW_MPA_EV_READABLE, IW_MPA_EV_FIRST_FPDU,
		IW_MPA_EV_STREAM_DOWN, IW_MPA_EV_TX_FINISHED, IW_MPA_EV_PEER_CLOSED,
		IW_MPA_EV_STREAM_ENDED, IW_MPA_EV_PEER_RESET, IW_MPA_EV_TIMED_OUT,
		IW_MPA_EV_ULP_CLOSED, IW_MPA_EV_ULP_ABORTED,
		IW_MPA_EV_YIELD, IW_MPA_EV_ROOM,
	};
	int i;

	for (i = 1; i < ARRAY_SIZE(order); i++)
		KUNIT_EXPECT_LT(test, order[i - 1], order[i]);
	KUNIT_EXPECT_LT(test, IW_MPA_EV_ROOM, IW_MPA_EV_RAISED_COUNT);
	KUNIT_EXPECT_EQ(test, IW_MPA_EV_ULP_CONNECTS, IW_MPA_EV_RAISED_COUNT);
}

/*
 * A state with a timer handles its expiry. All states that wait have a timer that ends the
 * connection, except those of established connections.
 */
/* Rules: M-7.1.2-15 M-7.1.2-17: the timer of each state that waits */
static void fsm_timer_any_wait_bounded(struct kunit *test)
{
	static const u8 timers[IW_MPA_ST_COUNT] = {
		[IW_MPA_ST_TCP_CONNECT]		= IW_MPA_TMR_CONNECT,
		[IW_MPA_ST_V2_OFFERED]		= IW_MPA_TMR_REPLY,
		[IW_MPA_ST_TCP_RECONNECT]	= IW_MPA_TMR_CONNECT,
		[IW_MPA_ST_AWAIT_REP]		= IW_MPA_TMR_REPLY,
		[IW_MPA_ST_AWAIT_REQ]		= IW_MPA_TMR_REQUEST,
		[IW_MPA_ST_AWAIT_ROOM]		= IW_MPA_TMR_ROOM,
		[IW_MPA_ST_AWAIT_VERDICT]	= IW_MPA_TMR_VERDICT,
		[IW_MPA_ST_AWAIT_RTR]		= IW_MPA_TMR_RTR,
		[IW_MPA_ST_FENCED]		= IW_MPA_TMR_FENCE,
		[IW_MPA_ST_UNANSWERED]		= IW_MPA_TMR_REPEAT,
		[IW_MPA_ST_FINISHING]		= IW_MPA_TMR_LINGER,
		[IW_MPA_ST_HALF_CLOSED]		= IW_MPA_TMR_LINGER,
		[IW_MPA_ST_PEER_FINISHED]	= IW_MPA_TMR_LINGER,
		[IW_MPA_ST_LINGER]		= IW_MPA_TMR_LINGER,
	};
	const u32 untimed = ST_PASSED | ST(OFFLOADED) | ST(DEAD);
	int state;

	for (state = 0; state < IW_MPA_ST_COUNT; state++) {
		enum iw_mpa_timer timer = iw_mpa_fsm_states[state].timer;

		KUNIT_EXPECT_EQ_MSG(test, timer, timers[state], "%s", iw_mpa_state_name(state));
		KUNIT_EXPECT_EQ_MSG(test, timer == IW_MPA_TMR_NONE, !!(untimed & BIT(state)), "%s",
				    iw_mpa_state_name(state));
		KUNIT_EXPECT_EQ_MSG(test, timer != IW_MPA_TMR_NONE,
				    iw_mpa_fsm_step(state, IW_MPA_EV_TIMED_OUT)->defined, "%s",
				    iw_mpa_state_name(state));
	}
}

/* The phase of each state, and which states share one time limit */
static void fsm_phase_any_state_known(struct kunit *test)
{
	const u32 up = ST(FENCED) | ST(UNANSWERED) | ST(OFFLOADED);
	const u32 end = ST_ENDS | ST(LINGER) | ST(DEAD);
	const u32 total = ST(TCP_CONNECT) | ST(V2_OFFERED) | ST(TCP_RECONNECT) | ST(AWAIT_REP) |
			  ST(AWAIT_ROOM) | ST_ENDS;
	int state, event;

	for (state = 0; state < IW_MPA_ST_COUNT; state++) {
		const struct iw_mpa_state_info *info = &iw_mpa_fsm_states[state];

		KUNIT_EXPECT_EQ_MSG(test, info->phase, BIT(state) & end ? IW_MPA_PHASE_END :
						       BIT(state) & up ? IW_MPA_PHASE_UP :
									 IW_MPA_PHASE_START,
				    "%s", iw_mpa_state_name(state));
		KUNIT_EXPECT_EQ_MSG(test, info->total, !!(BIT(state) & total), "%s",
				    iw_mpa_state_name(state));
		/* No event leads back to an earlier phase. */
		for (event = 0; event < IW_MPA_EV_COUNT; event++) {
			const struct iw_mpa_transition *tr = iw_mpa_fsm_step(state, event);

			if (tr->defined)
				KUNIT_EXPECT_GE_MSG(test, iw_mpa_fsm_states[tr->next].phase,
						    info->phase, "%s in %s", event_name(event),
						    iw_mpa_state_name(state));
		}
	}
}

/* The reason of a timeout depends on the state; the reason of any other event does not */
static void fsm_reason_of_a_timeout_is_the_states(struct kunit *test)
{
	static const u8 reasons[IW_MPA_ST_COUNT] = {
		[IW_MPA_ST_TCP_CONNECT]		= IW_MPA_R_TIMEOUT_CONNECT,
		[IW_MPA_ST_V2_OFFERED]		= IW_MPA_R_TIMEOUT_REPLY,
		[IW_MPA_ST_TCP_RECONNECT]	= IW_MPA_R_TIMEOUT_CONNECT,
		[IW_MPA_ST_AWAIT_REP]		= IW_MPA_R_TIMEOUT_REPLY,
		[IW_MPA_ST_AWAIT_REQ]		= IW_MPA_R_TIMEOUT_REQUEST,
		[IW_MPA_ST_AWAIT_ROOM]		= IW_MPA_R_EVENT_LOST,
		[IW_MPA_ST_AWAIT_VERDICT]	= IW_MPA_R_TIMEOUT_VERDICT,
		[IW_MPA_ST_AWAIT_RTR]		= IW_MPA_R_TIMEOUT_RTR,
	};
	int state;

	for (state = 0; state < IW_MPA_ST_COUNT; state++) {
		KUNIT_EXPECT_EQ_MSG(test, (int)iw_mpa_fsm_reason(state, IW_MPA_EV_TIMED_OUT),
				    (int)reasons[state], "%s", iw_mpa_state_name(state));
		KUNIT_EXPECT_EQ(test, (int)iw_mpa_fsm_reason(state, IW_MPA_EV_PEER_RESET),
				(int)IW_MPA_R_PEER_RESET);
		KUNIT_EXPECT_EQ(test, (int)iw_mpa_fsm_reason(state, IW_MPA_EV_LISTENER_GONE),
				(int)IW_MPA_R_LISTENER_GONE);
	}
}

/*
 * A driver may call iw_mpa_first_fpdu() in a softirq. So FIRST_FPDU has only actions that do not
 * sleep, provided that the driver's open_tx does not. Events that end a connection have actions
 * that sleep.
 */
static void fsm_first_fpdu_alone_is_prompt(struct kunit *test)
{
	int state, event;

	for (state = 0; state < IW_MPA_ST_COUNT; state++) {
		KUNIT_EXPECT_EQ_MSG(test, iw_mpa_fsm_does_only(state, IW_MPA_EV_FIRST_FPDU,
							       IW_MPA_PROMPT_ACTIONS),
				    !!(BIT(state) & ST_CLOSED_TX), "%s", iw_mpa_state_name(state));
		for (event = 0; event < IW_MPA_EV_COUNT; event++)
			if (iw_mpa_fsm_states[iw_mpa_fsm_step(state, event)->next].phase ==
			    IW_MPA_PHASE_END && iw_mpa_fsm_step(state, event)->actions)
				KUNIT_EXPECT_FALSE_MSG(test,
						       iw_mpa_fsm_does_only(state, event,
									    IW_MPA_PROMPT_ACTIONS),
						       "%s in %s", event_name(event),
						       iw_mpa_state_name(state));
	}
}

/*
 * iw_mpa_close() may send FIN in the context of the ULP that closes, but not end the connection:
 * the endpoint's work item does that.
 */
static void fsm_close_leaves_ends_to_others(struct kunit *test)
{
	int state, event;

	for (state = 0; state < IW_MPA_ST_COUNT; state++) {
		KUNIT_EXPECT_EQ_MSG(test, iw_mpa_fsm_does_only(state, IW_MPA_EV_ULP_CLOSED,
							       IW_MPA_CLOSE_ACTIONS),
				    state == IW_MPA_ST_OFFLOADED, "%s", iw_mpa_state_name(state));
		KUNIT_EXPECT_EQ_MSG(test, iw_mpa_fsm_does_only(state, IW_MPA_EV_TX_FINISHED,
							       IW_MPA_CLOSE_ACTIONS),
				    state == IW_MPA_ST_FINISHING, "%s", iw_mpa_state_name(state));
		for (event = 0; event < IW_MPA_EV_COUNT; event++)
			if (iw_mpa_fsm_step(state, event)->actions &
			    (IW_MPA_DO_STOP | IW_MPA_DO_REPORT_DOWN | IW_MPA_DO_RELEASE))
				KUNIT_EXPECT_FALSE_MSG(test,
						       iw_mpa_fsm_does_only(state, event,
									    IW_MPA_CLOSE_ACTIONS),
						       "%s in %s", event_name(event),
						       iw_mpa_state_name(state));
	}
}

/*
 * iw_mpa_state_name() returns "?" for a number outside the enum, and does not read past its table.
 */
static void fsm_name_out_of_range_harmless(struct kunit *test)
{
	static const unsigned int wild[] = { IW_MPA_ST_COUNT, 64, 255, 0x7fffffff, 0xffffffff };
	int i;

	for (i = 0; i < ARRAY_SIZE(wild); i++)
		KUNIT_EXPECT_STREQ(test, iw_mpa_state_name(wild[i]), "?");
}

static struct kunit_case fsm_cases[] = {
	KUNIT_CASE_PARAM(fsm_step_any_cell_leads_where_ruled, cell_gen_params),
	KUNIT_CASE(fsm_failed_end_has_another_reason),
	KUNIT_CASE(fsm_any_cell_goes_forward),
	KUNIT_CASE(fsm_local_end_of_a_startup_told_but_for_those),
	KUNIT_CASE(fsm_device_ends_whatever_waits),
	KUNIT_CASE(fsm_actions_numbered_in_order_of_doing),
	KUNIT_CASE(fsm_events_raised_from_outside_numbered_by_urgency),
	KUNIT_CASE(fsm_timer_any_wait_bounded),
	KUNIT_CASE(fsm_phase_any_state_known),
	KUNIT_CASE(fsm_reason_of_a_timeout_is_the_states),
	KUNIT_CASE(fsm_first_fpdu_alone_is_prompt),
	KUNIT_CASE(fsm_close_leaves_ends_to_others),
	KUNIT_CASE(fsm_name_out_of_range_harmless),
	{}
};

static struct kunit_suite fsm_suite = {
	.name = "iw_mpa_fsm",
	.suite_init = cells_fill,
	.test_cases = fsm_cases,
};

kunit_test_suite(fsm_suite);

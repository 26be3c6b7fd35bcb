// SPDX-License-Identifier: GPL-2.0
/*
 * Guarantees of the state table of fsm.c. A walk visits every state with every history (PAST_*)
 * that can lead there, and follows each action to each event that it can return. Each action is
 * checked against the rules of iw_cm, of drivers, of RFC 5044 7.1.2 and of RFC 6581 9.
 */

#include <kunit/test.h>
#include <linux/bitmap.h>
#include <linux/bits.h>

#include "fsm.h"
#include "fsm_names.h"

#define ST(name)	BIT(IW_MPA_ST_##name)
#define EV(name)	BIT_ULL(IW_MPA_EV_##name)
#define DO(name)	IW_MPA_DO_##name

#define ST_ALL		(BIT(IW_MPA_ST_COUNT) - 1)
/* The runner (the context that handles an endpoint's events) does not wait in these states. */
#define ST_PASSED	(ST(IDLE) | ST(ASKING) | ST(HANDOFF))
#define ST_DIALS	(ST(TCP_CONNECT) | ST(V2_OFFERED) | ST(TCP_RECONNECT) | ST(AWAIT_REP))
#define ST_ASKS		(ST(AWAIT_REQ) | ST(ASKING) | ST(AWAIT_ROOM) | ST(AWAIT_VERDICT))
#define ST_READS_REP	(ST(V2_OFFERED) | ST(AWAIT_REP))
#define ST_ENDED	(ST(LINGER) | ST(DEAD))
#define ST_FINISHES	(ST(FINISHING) | ST(HALF_CLOSED) | ST(PEER_FINISHED))
#define ST_UP		(ST(FENCED) | ST(UNANSWERED) | ST(OFFLOADED) | ST_FINISHES)
#define ST_DRIVER	(ST_UP | ST(AWAIT_RTR))

/* What has happened to a connection before it entered its present state, as bits */
#define PAST_ACTIVE	BIT(0)
#define PAST_PASSIVE	BIT(1)
#define PAST_CALL	BIT(2)	/* iw_connect or iw_accept has not returned */
#define PAST_OPENED	BIT(3)	/* initiator: it has a socket */
#define PAST_REQ_SENT	BIT(4)
#define PAST_RETRIED	BIT(5)	/* initiator: it has connected again */
#define PAST_BOUND	BIT(6)	/* the QP is bound now */
#define PAST_EXPECTED	BIT(7)	/* iw_cm expects an event */
#define PAST_UP		BIT(8)
#define PAST_DOWN	BIT(9)
#define PAST_CANCELLED	BIT(10)
#define PAST_TAKEN	BIT(11)	/* the driver's prepare has returned 0 */
#define PAST_STOPPED	BIT(12)	/* the driver's stop was called */
#define PAST_TX_OPEN	BIT(13)	/* RFC 5044 7.1.2: FPDUs may be sent */
#define PAST_FINISHING	BIT(14)	/* finish_tx was called */
#define PAST_LAST_WORD	BIT(15)	/* TERM, Reject or FIN was sent */
#define PAST_ENDING	BIT(16)	/* STREAM_ENDED was raised and waits */
#define PAST_FAILED	BIT(17)	/* iw_connect or iw_accept returns an errno */
#define PAST_RELEASED	BIT(18)
#define PAST_LAST_TRY	BIT(19)	/* only revision 1 is left to try */

#define NODES_MAX	256

struct node {
	enum iw_mpa_state	state;
	u32			past;
};

struct walk {
	struct kunit	*test;
	unsigned int	count;
	struct node	nodes[NODES_MAX];
	DECLARE_BITMAP(cells, IW_MPA_ST_COUNT * IW_MPA_EV_COUNT);
};

static bool driver_has_stream(u32 past)
{
	return (past & PAST_TAKEN) && !(past & PAST_STOPPED);
}

/* The events that an action can return, according to fsm.h; @always: it always returns one */
static u64 action_outcomes(enum iw_mpa_action_nr action, u32 past, bool *always)
{
	const u64 read = EV(FRAME_BAD) | EV(FRAME_CUT) | EV(STREAM_ENDED) | EV(PEER_RESET) |
			 EV(TCP_FAILED);

	*always = false;
	switch (action) {
	case IW_MPA_ACT_BIND:
		return EV(BIND_FAILED);
	case IW_MPA_ACT_OPEN:
		return EV(OPEN_FAILED);
	case IW_MPA_ACT_REOPEN:
		return EV(OPEN_FAILED) | (past & PAST_RETRIED ? 0 : EV(NO_REV_2));
	case IW_MPA_ACT_SEND_REQ:
		return EV(REQ_SENT) | EV(SEND_FAILED) |
		       (past & PAST_LAST_TRY ? 0 : EV(V2_SENT));
	case IW_MPA_ACT_READ_REQ:
		return read | EV(REQ_GOOD) | EV(TERM_DUE);
	case IW_MPA_ACT_READ_REP:
		return read | EV(REP_BEGUN) | EV(REP_GOOD) | EV(REP_REJECT) | EV(TERM_DUE);
	case IW_MPA_ACT_CHECK_EARLY:
		return EV(FRAME_BAD);
	case IW_MPA_ACT_ASK:
		*always = true;
		return EV(ASKED) | EV(NO_ROOM) | EV(LISTENER_GONE);
	case IW_MPA_ACT_HANDOFF_ACTIVE:
		*always = true;
		return EV(HANDED_OFF) | EV(HANDED_OFF_QUIET) | EV(PREPARE_FAILED) | EV(RTR_FAILED);
	case IW_MPA_ACT_HANDOFF_PASSIVE:
		*always = true;
		return EV(HANDED_OFF) | EV(HANDED_OFF_FENCED) | EV(HANDED_OFF_RTR) |
		       EV(ACCEPT_FAILED) | EV(REPLY_FAILED);
	case IW_MPA_ACT_REPORT_UP:
		return EV(EVENT_LOST);
	case IW_MPA_ACT_CHECK_ANSWER:
		return EV(RTR_SETTLED);
	case IW_MPA_ACT_CHECK_PROGRESS:
		return EV(STALLED);
	case IW_MPA_ACT_FINISH_TX:
		return EV(CANNOT_FINISH);
	case IW_MPA_ACT_DRAIN:
		return EV(STREAM_ENDED);
	default:
		return 0;
	}
}

/*
 * Return the connection's history (bits PAST_*) after @action. @past is the history before @action,
 * and @outcome is the event that @action has returned, or IW_MPA_EV_NONE.
 */
static u32 action_done(u32 past, enum iw_mpa_action_nr action, enum iw_mpa_event outcome)
{
	bool well = outcome == IW_MPA_EV_NONE;

	switch (action) {
	case IW_MPA_ACT_BIND:
		return well ? past | PAST_BOUND | PAST_EXPECTED : past;
	case IW_MPA_ACT_OPEN:
		return well ? past | PAST_OPENED : past;
	case IW_MPA_ACT_REOPEN:
		if (outcome == IW_MPA_EV_NO_REV_2)
			return past;
		past &= ~(PAST_OPENED | PAST_REQ_SENT);
		past |= past & PAST_RETRIED ? PAST_LAST_TRY : PAST_RETRIED;
		return past | (well ? PAST_OPENED : 0);
	case IW_MPA_ACT_SEND_REQ:
		return outcome == IW_MPA_EV_SEND_FAILED || well ? past : past | PAST_REQ_SENT;
	case IW_MPA_ACT_HANDOFF_ACTIVE:
	case IW_MPA_ACT_HANDOFF_PASSIVE:
		if (outcome == IW_MPA_EV_PREPARE_FAILED || outcome == IW_MPA_EV_ACCEPT_FAILED)
			return past;
		if (outcome == IW_MPA_EV_HANDED_OFF || outcome == IW_MPA_EV_HANDED_OFF_QUIET)
			past |= PAST_TX_OPEN;
		return past | PAST_TAKEN;
	case IW_MPA_ACT_OPEN_TX:
	case IW_MPA_ACT_LIFT_FENCE:
		return past | PAST_TX_OPEN;
	case IW_MPA_ACT_REPORT_UP:
		return well ? past | PAST_UP : past;
	case IW_MPA_ACT_END_STREAM:
		return past | PAST_ENDING;
	case IW_MPA_ACT_FINISH_TX:
		return past | PAST_FINISHING;
	case IW_MPA_ACT_STOP:
		return past | PAST_STOPPED;
	case IW_MPA_ACT_SEND_TERM:
	case IW_MPA_ACT_SEND_REJECT:
	case IW_MPA_ACT_SHUTDOWN:
		return past | PAST_LAST_WORD;
	case IW_MPA_ACT_UNBIND:
		return past & ~PAST_BOUND;
	case IW_MPA_ACT_CANCEL:
		return (past & ~PAST_EXPECTED) | PAST_CANCELLED;
	case IW_MPA_ACT_FAIL_CALL:
		return past | PAST_FAILED;
	case IW_MPA_ACT_REPORT_DOWN:
		return (past & ~PAST_EXPECTED) | PAST_DOWN;
	case IW_MPA_ACT_RELEASE:
		return past | PAST_RELEASED;
	default:
		return past;
	}
}

/*
 * iw_cm expects no event if iw_connect or iw_accept fails, or if the ULP rejects after its accept.
 */
static bool event_is_withdrawn(u32 past, enum iw_mpa_event event)
{
	return event == IW_MPA_EV_ULP_REJECTED ||
	       ((past & PAST_CALL) && !(past & PAST_UP) && event != IW_MPA_EV_EVENT_LOST);
}

static bool action_is_allowed(u32 past, enum iw_mpa_action_nr action, enum iw_mpa_event event)
{
	switch (action) {
	case IW_MPA_ACT_BIND:
		return (past & PAST_CALL) && !(past & (PAST_BOUND | PAST_EXPECTED));
	case IW_MPA_ACT_OPEN:
		return (past & PAST_ACTIVE) && (past & PAST_EXPECTED) && !(past & PAST_OPENED);
	case IW_MPA_ACT_REOPEN:
		return (past & PAST_OPENED) && !(past & PAST_LAST_TRY);
	case IW_MPA_ACT_SEND_REQ:
		return (past & PAST_OPENED) && !(past & PAST_REQ_SENT);
	case IW_MPA_ACT_READ_REP:
		return (past & PAST_REQ_SENT) && !(past & PAST_TAKEN);
	case IW_MPA_ACT_READ_REQ:
	case IW_MPA_ACT_CHECK_EARLY:
	case IW_MPA_ACT_ASK:
	case IW_MPA_ACT_QUEUE:
		return (past & PAST_PASSIVE) && !(past & (PAST_BOUND | PAST_TAKEN));
	case IW_MPA_ACT_HANDOFF_ACTIVE:
		return (past & PAST_REQ_SENT) && (past & PAST_BOUND) && !(past & PAST_TAKEN);
	case IW_MPA_ACT_HANDOFF_PASSIVE:
		return (past & PAST_PASSIVE) && (past & PAST_BOUND) && !(past & PAST_TAKEN);
	case IW_MPA_ACT_OPEN_TX:
	case IW_MPA_ACT_LIFT_FENCE:
		return driver_has_stream(past) && !(past & PAST_TX_OPEN);
	case IW_MPA_ACT_REPORT_UP:
		return driver_has_stream(past) && (past & PAST_EXPECTED) && !(past & PAST_UP);
	case IW_MPA_ACT_CHECK_ANSWER:
	case IW_MPA_ACT_REPEAT_RTR:
		return driver_has_stream(past) && (past & PAST_TX_OPEN) && (past & PAST_ACTIVE) &&
		       !(past & PAST_FINISHING);
	case IW_MPA_ACT_CHECK_PROGRESS:
		return driver_has_stream(past) && (past & PAST_FINISHING);
	case IW_MPA_ACT_RESTART_TIMER:
		return driver_has_stream(past) && (past & PAST_TX_OPEN);
	case IW_MPA_ACT_KICK_RX:
	case IW_MPA_ACT_END_STREAM:
		return driver_has_stream(past);
	case IW_MPA_ACT_FINISH_TX:
		return driver_has_stream(past) && (past & PAST_TX_OPEN) &&
		       !(past & PAST_FINISHING);
	case IW_MPA_ACT_STOP:
		return driver_has_stream(past) && (past & PAST_BOUND);
	case IW_MPA_ACT_SEND_TERM:
		return (past & PAST_ACTIVE) && !driver_has_stream(past) &&
		       !(past & (PAST_TX_OPEN | PAST_LAST_WORD));
	case IW_MPA_ACT_SEND_REJECT:
		return (past & PAST_PASSIVE) && !(past & (PAST_TAKEN | PAST_LAST_WORD));
	case IW_MPA_ACT_SHUTDOWN:
		/* While the driver has the stream, FIN is sent only for TX_FINISHED, once. */
		return driver_has_stream(past) ? event == IW_MPA_EV_TX_FINISHED &&
						 !(past & PAST_LAST_WORD) :
						 !(past & PAST_BOUND);
	case IW_MPA_ACT_UNBIND:
		return (past & PAST_BOUND) && !driver_has_stream(past);
	case IW_MPA_ACT_CANCEL:
		return (past & PAST_EXPECTED) && !(past & PAST_BOUND) &&
		       event_is_withdrawn(past, event);
	case IW_MPA_ACT_FAIL_CALL:
		return (past & PAST_CALL) && !(past & (PAST_EXPECTED | PAST_FAILED));
	case IW_MPA_ACT_REPORT_DOWN:
		return (past & PAST_EXPECTED) && !(past & PAST_BOUND) &&
		       !event_is_withdrawn(past, event);
	case IW_MPA_ACT_DRAIN:
		return past & PAST_LAST_WORD;
	case IW_MPA_ACT_RELEASE:
		return !(past & (PAST_BOUND | PAST_EXPECTED | PAST_RELEASED)) &&
		       !driver_has_stream(past);
	default:
		return false;
	}
}

/* Check what must be true in a state, by whatever events it was reached. */
static bool state_is_sound(const struct node *node)
{
	u32 past = node->past, st = BIT(node->state);

	if (!(st & ST(DEAD)) != !(past & PAST_RELEASED))
		return false;
	/* STREAM_ENDED was raised: it must have an effect in the state. */
	if ((past & PAST_ENDING) && !(st & ST(DEAD)) &&
	    !iw_mpa_fsm_step(node->state, IW_MPA_EV_STREAM_ENDED)->defined)
		return false;
	if (st & ST_ENDED)	/* iw_cm has got the event that it expected */
		return !(past & (PAST_BOUND | PAST_EXPECTED)) && !driver_has_stream(past) &&
		       hweight32(past & (PAST_DOWN | PAST_CANCELLED)) <= 1 &&
		       (!(past & PAST_UP) || (past & (PAST_DOWN | PAST_CANCELLED)));
	if (st & ST_DIALS)
		return (past & PAST_ACTIVE) && (past & PAST_EXPECTED) && !(past & PAST_TAKEN);
	if (st & ST_ASKS)
		return (past & PAST_PASSIVE) && !(past & (PAST_EXPECTED | PAST_BOUND));
	if (!(st & ST_DRIVER))
		return true;
	return driver_has_stream(past) && (past & PAST_EXPECTED) && (past & PAST_BOUND) &&
	       !(st & ST_UP) == !(past & PAST_UP) &&
	       !(st & (ST(AWAIT_RTR) | ST(FENCED))) == !!(past & PAST_TX_OPEN) &&
	       !(st & ST_FINISHES) ==
	       !(past & PAST_FINISHING) &&
	       !(st & ST(HALF_CLOSED)) == !(past & PAST_LAST_WORD);
}

static void walk_add(struct walk *w, struct node node)
{
	int i;

	for (i = 0; i < w->count; i++)
		if (w->nodes[i].state == node.state && w->nodes[i].past == node.past)
			return;
	KUNIT_ASSERT_LT(w->test, w->count, NODES_MAX);
	w->nodes[w->count++] = node;
}

/* Return the bits PAST_* after an event, before any of its actions */
static u32 event_facts(u32 past, enum iw_mpa_event event)
{
	switch (event) {
	case IW_MPA_EV_ULP_CONNECTS:
		return past | PAST_ACTIVE | PAST_CALL;
	case IW_MPA_EV_TCP_ACCEPTED:
		return past | PAST_PASSIVE;
	case IW_MPA_EV_ULP_ACCEPTED:
		return past | PAST_CALL;
	case IW_MPA_EV_STREAM_ENDED:
		return past & ~PAST_ENDING;
	default:
		return past;
	}
}

/*
 * Each due_*() returns actions that a transition must have, by event, states and history (bits
 * PAST_*). due_actions() returns all of them: the transition must have no others.
 */

/*
 * The end of a connection has to undo what was done to it: for example STOP after a hand-off,
 * UNBIND after BIND, and a last event if iw_cm expects one.
 */
static u32 due_at_end(u32 past, enum iw_mpa_event event, enum iw_mpa_state next)
{
	u32 due = 0;

	if (driver_has_stream(past))
		due |= DO(STOP);
	if (past & PAST_BOUND)
		due |= DO(UNBIND);
	if ((past & PAST_CALL) && event_is_withdrawn(past, event))
		due |= DO(FAIL_CALL);
	if ((past & PAST_EXPECTED) && event_is_withdrawn(past, event))
		due |= DO(CANCEL);
	else if (past & PAST_EXPECTED)
		due |= DO(REPORT_DOWN);
	if (next == IW_MPA_ST_DEAD)
		due |= DO(RELEASE);
	else if (past & PAST_TAKEN && event != IW_MPA_EV_RTR_FAILED)
		due |= DO(SHUTDOWN);
	else
		due |= past & PAST_ACTIVE ? DO(SEND_TERM) : DO(SEND_REJECT);
	return due;
}

static u32 due_on_entry(u32 past, enum iw_mpa_state next)
{
	u32 due = 0;

	switch (next) {
	case IW_MPA_ST_TCP_RECONNECT:
		return DO(REOPEN);
	case IW_MPA_ST_ASKING:
		return DO(ASK);
	case IW_MPA_ST_AWAIT_ROOM:
		return DO(QUEUE);
	case IW_MPA_ST_HANDOFF:
		return past & PAST_ACTIVE ? DO(HANDOFF_ACTIVE) : DO(BIND) | DO(HANDOFF_PASSIVE);
	case IW_MPA_ST_FENCED:
	case IW_MPA_ST_UNANSWERED:
	case IW_MPA_ST_OFFLOADED:
		if (!(past & PAST_UP))
			due |= DO(REPORT_UP);
		if (next == IW_MPA_ST_OFFLOADED && !(past & PAST_TX_OPEN))
			due |= DO(OPEN_TX);
		return due;
	case IW_MPA_ST_FINISHING:
	case IW_MPA_ST_PEER_FINISHED:
		return past & PAST_FINISHING ? 0 : DO(FINISH_TX);
	case IW_MPA_ST_HALF_CLOSED:
		return DO(SHUTDOWN);
	default:
		return 0;
	}
}

static u32 due_on_readable(enum iw_mpa_state state)
{
	if (state == IW_MPA_ST_AWAIT_REQ)
		return DO(READ_REQ);
	if (BIT(state) & ST_ASKS)
		return DO(CHECK_EARLY);
	return state == IW_MPA_ST_LINGER ? DO(DRAIN) : DO(READ_REP);
}

static u32 due_actions(const struct node *from, enum iw_mpa_event event, enum iw_mpa_state next)
{
	u32 st = BIT(from->state), past = event_facts(from->past, event), due = 0;

	switch (event) {
	case IW_MPA_EV_ULP_CONNECTS:
		return DO(BIND) | DO(OPEN);
	case IW_MPA_EV_TCP_UP:
		return DO(SEND_REQ);
	case IW_MPA_EV_TCP_ACCEPTED:	/* the Request may have arrived */
		return DO(READ_REQ);
	case IW_MPA_EV_READABLE:
		return due_on_readable(from->state);
	case IW_MPA_EV_REQ_GOOD:	/* more may have arrived with the Request */
		due = DO(CHECK_EARLY);
		break;
	case IW_MPA_EV_PEER_CLOSED:	/* read what arrived before the FIN */
		if (st & (ST_READS_REP | ST(AWAIT_REQ)))
			return due_on_readable(from->state);
		if (st & ST_DRIVER)
			return DO(KICK_RX) | DO(END_STREAM);
		break;
	case IW_MPA_EV_TIMED_OUT:
		if (st & ST(UNANSWERED))
			return DO(CHECK_ANSWER) | DO(REPEAT_RTR) | DO(RESTART_TIMER);
		if (st & ST(FENCED))
			return DO(LIFT_FENCE);
		if (st & ST_FINISHES)
			return DO(CHECK_PROGRESS) | DO(RESTART_TIMER);
		break;
	case IW_MPA_EV_DEV_GONE:	/* a Request that was read gets a Reject */
		if (st & (ST(AWAIT_ROOM) | ST(AWAIT_VERDICT)))
			due = DO(SEND_REJECT);
		break;
	case IW_MPA_EV_ULP_CLOSED:	/* the peer may have missed the RTR message */
		if (st & ST(UNANSWERED))
			due = DO(REPEAT_RTR);
		break;
	case IW_MPA_EV_HANDED_OFF:
	case IW_MPA_EV_HANDED_OFF_FENCED:
	case IW_MPA_EV_HANDED_OFF_RTR:
	case IW_MPA_EV_HANDED_OFF_QUIET:
		due = DO(KICK_RX);	/* read what has arrived */
		break;
	default:
		break;
	}
	if (st & ST(LINGER))
		return DO(RELEASE);
	if (next == IW_MPA_ST_LINGER || next == IW_MPA_ST_DEAD)
		return due | due_at_end(past, event, next);
	return due | due_on_entry(past, next);
}

static void walk_actions(struct walk *w, struct node at, enum iw_mpa_event event, u32 actions,
			 int depth);

static void walk_event(struct walk *w, struct node from, enum iw_mpa_event event, int depth)
{
	const struct iw_mpa_transition *tr = iw_mpa_fsm_step(from.state, event);
	struct node to = { tr->next, event_facts(from.past, event) };

	KUNIT_EXPECT_TRUE_MSG(w->test, tr->defined, "%s, past 0x%x: %s is found, without a cell",
			      iw_mpa_state_name(from.state), from.past, event_name(event));
	KUNIT_ASSERT_LT(w->test, depth, 8);
	if (!tr->defined)
		return;
	KUNIT_EXPECT_EQ_MSG(w->test, tr->actions, due_actions(&from, event, tr->next),
			    "%s, past 0x%x: %s", iw_mpa_state_name(from.state), from.past,
			    event_name(event));
	set_bit(from.state * IW_MPA_EV_COUNT + event, w->cells);
	walk_actions(w, to, event, tr->actions, depth);
}

/*
 * Walk through the actions of one transition, and through every event that they can return. iw_mpa
 * handles such an event at once, so this function and walk_event() call each other. The recursion
 * is short, since few such events have actions that return a further event: walk_event() checks
 * its depth.
 */
static void walk_actions(struct walk *w, struct node at, enum iw_mpa_event event, u32 actions,
			 int depth)
{
	int nr, outcome;

	for (nr = 0; nr < IW_MPA_ACT_COUNT; nr++) {
		bool always;
		u64 outcomes;

		if (!(actions & BIT(nr)))
			continue;
		KUNIT_EXPECT_TRUE_MSG(w->test, action_is_allowed(at.past, nr, event),
				      "%s, past 0x%x: %s: %s", iw_mpa_state_name(at.state),
				      at.past, event_name(event), action_name(nr));
		outcomes = action_outcomes(nr, at.past, &always);
		for (outcome = 0; outcome < IW_MPA_EV_COUNT; outcome++) {
			struct node found = at;

			if (!(outcomes & BIT_ULL(outcome)))
				continue;
			found.past = action_done(at.past, nr, outcome);
			walk_event(w, found, outcome, depth + 1);
		}
		if (always) {	/* no action may follow, since it would not be done */
			KUNIT_EXPECT_EQ_MSG(w->test, actions >> nr, 1, "%s: %s",
					    event_name(event), action_name(nr));
			return;
		}
		at.past = action_done(at.past, nr, IW_MPA_EV_NONE);
	}
	/*
	 * All actions are done. If iw_connect or iw_accept has caused them, that call returns an
	 * errno, or else iw_cm has got an event of the connection or expects one.
	 */
	if (at.past & PAST_CALL)
		KUNIT_EXPECT_EQ_MSG(w->test, !(at.past & PAST_FAILED),
				    !!(at.past & (PAST_EXPECTED | PAST_DOWN)), "%s, past 0x%x",
				    iw_mpa_state_name(at.state), at.past);
	at.past &= ~PAST_CALL;
	KUNIT_EXPECT_TRUE_MSG(w->test, state_is_sound(&at), "%s, past 0x%x, after %s",
			      iw_mpa_state_name(at.state), at.past, event_name(event));
	KUNIT_EXPECT_FALSE_MSG(w->test, ST_PASSED & BIT(at.state), "stuck in %s after %s",
			       iw_mpa_state_name(at.state), event_name(event));
	walk_add(w, at);
}

/*
 * Can @event occur in the state of @node, raised by another context or by a call of iw_cm? Some
 * events are possible only in one role.
 */
static bool event_comes(const struct node *node, enum iw_mpa_event event)
{
	const u64 calls = EV(ULP_CONNECTS) | EV(TCP_ACCEPTED) | EV(ULP_ACCEPTED) |
			  EV(ULP_REJECTED);
	const u64 passive = EV(LISTENER_GONE) | EV(YIELD) | EV(YIELD_LINGER) | EV(ROOM) |
			    EV(ULP_REJECTED) | EV(ULP_ACCEPTED);

	if (event >= IW_MPA_EV_RAISED_COUNT && !(calls & BIT_ULL(event)))
		return false;
	if (node->state == IW_MPA_ST_IDLE)
		return event == IW_MPA_EV_ULP_CONNECTS || event == IW_MPA_EV_TCP_ACCEPTED ||
		       event == IW_MPA_EV_TCP_FAILED;
	/*
	 * While the driver has the stream, only the action END_STREAM raises STREAM_ENDED. In other
	 * states STREAM_ENDED is not raised: an action that reads the socket returns it.
	 */
	if (event == IW_MPA_EV_STREAM_ENDED)
		return node->past & PAST_ENDING;
	if (passive & BIT_ULL(event))
		return node->past & PAST_PASSIVE;
	return true;
}

/* Walk through all states that can be reached from IDLE, and check each transition. */
static struct walk *walk_all(struct kunit *test)
{
	struct walk *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);
	int i, event;

	KUNIT_ASSERT_NOT_NULL(test, w);
	w->test = test;
	walk_add(w, (struct node) { IW_MPA_ST_IDLE });
	for (i = 0; i < w->count; i++) {
		for (event = 0; event < IW_MPA_EV_COUNT; event++) {
			if (event_comes(&w->nodes[i], event) &&
			    iw_mpa_fsm_step(w->nodes[i].state, event)->defined)
				walk_event(w, w->nodes[i], event, 0);
		}
	}
	return w;
}

/*
 * Every path through the state table keeps these promises. If iw_connect or iw_accept returns an
 * errno there is no event. If it returns 0 there is one REPORT_DOWN at the end, or CANCEL if the
 * ULP has rejected, and at most one REPORT_UP before it. After a hand-off there is one STOP, before
 * UNBIND; UNBIND is before the report; RELEASE is last, and once. action_is_allowed() and
 * state_is_sound() check this at every step.
 */
/*
 * Rules: M-7.1.2-10 M-8-3: the order of the actions on each path through the state table; F-8-3:
 * the library sends no Terminate message once the driver has the stream, except when an RTR message
 * has failed
 */
static void fsm_any_path_keeps_promises(struct kunit *test)
{
	struct walk *w = walk_all(test);
	u32 reached = 0, ends = 0;
	int i;

	/* A walk that has not reached all states and transitions would prove nothing. */
	for (i = 0; i < w->count; i++) {
		reached |= BIT(w->nodes[i].state);
		ends += w->nodes[i].state == IW_MPA_ST_DEAD;
	}
	KUNIT_EXPECT_EQ(test, reached, ST_ALL & ~(ST(ASKING) | ST(HANDOFF)));
	KUNIT_EXPECT_GE(test, ends, 10);
	for (i = 0; i < IW_MPA_ST_COUNT * IW_MPA_EV_COUNT; i++) {
		enum iw_mpa_state state = i / IW_MPA_EV_COUNT;
		enum iw_mpa_event event = i % IW_MPA_EV_COUNT;

		KUNIT_EXPECT_EQ_MSG(test, test_bit(i, w->cells),
				    iw_mpa_fsm_step(state, event)->defined, "%s: %s",
				    iw_mpa_state_name(state), event_name(event));
	}
}

#define TICKS_WAIT	5	/* ticks of linger_timeout_ms */
#define TICKS_UNTIL	13	/* ticks of finish_timeout_ms, no multiple of TICKS_WAIT */

/* Return the jiffies at a tick; they wrap around during the test. */
static unsigned long at_tick(unsigned int tick)
{
	return -2UL * TICKS_UNTIL + 2 * tick;
}

/*
 * A close by FIN takes at most finish_timeout_ms, in whatever order events arrive. The test
 * simulates the time: at each tick it lets all events arrive that keep the connection in the states
 * of a close by FIN. No deadline may be later than the limit: then TIMED_OUT comes in time, and its
 * action CHECK_PROGRESS ends the connection.
 */
static void fsm_any_order_of_events_ends_in_time(struct kunit *test)
{
	const unsigned long until = at_tick(TICKS_UNTIL) | 1;
	unsigned long seen[TICKS_UNTIL + 1] = { ST_FINISHES };
	int tick, state, event, later;
	unsigned int visited = 0;

	for (tick = 0; tick <= TICKS_UNTIL; tick++) {
		for_each_set_bit(state, &seen[tick], IW_MPA_ST_COUNT) {
			unsigned long deadline =
				iw_mpa_fsm_deadline(state, at_tick(tick), 2 * TICKS_WAIT, until);

			visited++;
			KUNIT_EXPECT_NE_MSG(test, deadline, 0, "%s, tick %d",
					    iw_mpa_state_name(state), tick);
			KUNIT_EXPECT_LE_MSG(test, (long)(deadline - until), 0, "%s, tick %d",
					    iw_mpa_state_name(state), tick);
			KUNIT_EXPECT_TRUE_MSG(test, iw_mpa_fsm_step(state, IW_MPA_EV_TIMED_OUT)->
					      actions & DO(CHECK_PROGRESS), "%s",
					      iw_mpa_state_name(state));
			for (event = 0; event < IW_MPA_EV_COUNT; event++) {
				const struct iw_mpa_transition *tr = iw_mpa_fsm_step(state, event);

				if (!tr->defined || !(BIT(tr->next) & ST_FINISHES))
					continue;
				/*
				 * An event that leads to a state of a close by FIN may arrive at
				 * any tick before the deadline: at the deadline TIMED_OUT ends the
				 * wait.
				 */
				for (later = tick; (long)(at_tick(later) - deadline) < 0; later++)
					seen[later] |= BIT(tr->next);
			}
		}
	}
	KUNIT_EXPECT_GE(test, visited, 3 * TICKS_WAIT);
}

/*
 * The argument @until of iw_mpa_fsm_deadline() limits the wait only in states that share a time
 * limit. In other states only the state's own timer counts, for example in LINGER, which waits for
 * the peer's FIN after a Terminate message, a Reject or a FIN.
 */
static void fsm_deadline_is_limited_where_limits_are_shared(struct kunit *test)
{
	int state;

	for (state = 0; state < IW_MPA_ST_COUNT; state++) {
		bool total = iw_mpa_fsm_states[state].total;

		KUNIT_EXPECT_EQ(test, iw_mpa_fsm_deadline(state, 100, 0, 51), 0);
		KUNIT_EXPECT_EQ(test, iw_mpa_fsm_deadline(state, 100, 50, 0), 151);
		KUNIT_EXPECT_EQ(test, iw_mpa_fsm_deadline(state, 100, 50, 201), 151);
		KUNIT_EXPECT_EQ_MSG(test, iw_mpa_fsm_deadline(state, 100, 50, 121),
				    total ? 121 : 151, "%s", iw_mpa_state_name(state));
		/* The result is never 0, which would mean "no deadline". */
		KUNIT_EXPECT_NE(test, iw_mpa_fsm_deadline(state, -50UL, 50, 0), 0);
	}
	KUNIT_EXPECT_FALSE(test, iw_mpa_fsm_states[IW_MPA_ST_LINGER].total);
}

static struct kunit_case fsm_walk_cases[] = {
	KUNIT_CASE(fsm_any_path_keeps_promises),
	KUNIT_CASE(fsm_any_order_of_events_ends_in_time),
	KUNIT_CASE(fsm_deadline_is_limited_where_limits_are_shared),
	{}
};

static struct kunit_suite fsm_walk_suite = {
	.name = "iw_mpa_fsm_walk",
	.test_cases = fsm_walk_cases,
};

kunit_test_suite(fsm_walk_suite);

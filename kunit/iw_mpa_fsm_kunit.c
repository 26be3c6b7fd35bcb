// SPDX-License-Identifier: GPL-2.0
/*
 * The state table, judged by what it promises and not by what it says. A walk visits
 * every state together with every past that can lead there; each transition is held
 * against the rules of iw_cm, of drivers and of RFC 5044 7.1.2 and RFC 6581 9.
 */

#include <kunit/test.h>
#include <linux/bits.h>
#include <linux/bitmap.h>
#include <linux/module.h>
#include <linux/string.h>

#include "fsm.h"

#define ST(name)	BIT(IW_MPA_ST_##name)
#define EV(name)	BIT_ULL(IW_MPA_EV_##name)
#define DO(name)	IW_MPA_DO_##name

#define ST_ALL		(BIT(IW_MPA_ST_COUNT) - 1)
/* Nothing can happen: not yet, only what the hand-off finds out, or never again */
#define ST_DEAF		(ST(IDLE) | ST(HANDOFF) | ST(DEAD))
/* iw_cm knows the connection and its QP is bound */
#define ST_BOUND	(ST(TCP_CONNECT) | ST(AWAIT_REP) | ST_DRIVER)
/* The stream is the driver's */
#define ST_DRIVER	(ST(AWAIT_RTR) | ST(FENCED) | ST(UNANSWERED) | ST(OFFLOADED))
/* The runner reads a frame */
#define ST_READS	(ST(AWAIT_REP) | ST(AWAIT_REQ))
#define ST_ACTIVE	(ST(IDLE) | ST(TCP_CONNECT) | ST(AWAIT_REP) | ST(HANDOFF) | \
			 ST(UNANSWERED) | ST(OFFLOADED) | ST(LINGER) | ST(DEAD))
#define ST_PASSIVE	(ST_ALL & ~(ST(TCP_CONNECT) | ST(AWAIT_REP) | ST(UNANSWERED)))

/* Which events are void in which state, and where the others lead: one row a leg */

struct event_row {
	enum iw_mpa_event	event;
	u32			from;
	enum iw_mpa_state	to;	/* IW_MPA_ST_COUNT: it stays */
};

#define LEG(ev, from, to)	{ IW_MPA_EV_##ev, from, IW_MPA_ST_##to }

static const struct event_row event_rows[] = {
	LEG(TCP_UP, ST(TCP_CONNECT), AWAIT_REP),
	LEG(READABLE, ST(AWAIT_REP) | ST(AWAIT_REQ) | ST(LINGER), COUNT),
	LEG(FIRST_FPDU, ST(AWAIT_RTR) | ST(FENCED), OFFLOADED),
	LEG(STREAM_DOWN, ST(HANDOFF), DEAD),
	LEG(STREAM_DOWN, ST_DRIVER, LINGER),
	LEG(PEER_CLOSED, ST_READS | ST_DRIVER, COUNT),
	LEG(PEER_CLOSED, ST_ALL & ~ST_DEAF, DEAD),
	LEG(STREAM_ENDED, ST_READS | ST_DRIVER | ST(LINGER), DEAD),
	LEG(PEER_RESET, ST_ALL & ~ST_DEAF, DEAD),
	LEG(TIMED_OUT, ST(TCP_CONNECT) | ST(AWAIT_REP) | ST(AWAIT_REQ) | ST(AWAIT_RTR) |
		       ST(LINGER), DEAD),
	LEG(TIMED_OUT, ST(REQ_INDICATED), LINGER),
	LEG(TIMED_OUT, ST(FENCED), OFFLOADED),
	LEG(TIMED_OUT, ST(UNANSWERED), COUNT),
	LEG(RTR_SETTLED, ST(UNANSWERED), OFFLOADED),
	LEG(INDICATE_FAILED, ST(REQ_INDICATED), LINGER),
	LEG(ULP_CLOSED, ST_DRIVER, LINGER),
	LEG(ULP_CLOSED, ST_BOUND, DEAD),
	LEG(QP_GONE, ST_BOUND, DEAD),
	LEG(DEV_GONE, ST_ALL & ~ST_DEAF, DEAD),
	LEG(LISTENER_GONE, ST(AWAIT_REQ), DEAD),
	LEG(YIELD, ST(AWAIT_REQ) | ST(LINGER), DEAD),
	LEG(CONNECTING, ST(IDLE), TCP_CONNECT),
	LEG(TCP_ACCEPTED, ST(IDLE), AWAIT_REQ),
	LEG(ULP_ACCEPTED, ST(REQ_INDICATED), HANDOFF),
	LEG(ULP_REJECTED, ST(REQ_INDICATED), LINGER),
	LEG(REQ_GOOD, ST(AWAIT_REQ), REQ_INDICATED),
	LEG(REP_GOOD, ST(AWAIT_REP), HANDOFF),
	LEG(REP_REJECT, ST(AWAIT_REP), DEAD),
	LEG(FRAME_BAD, ST(IDLE) | ST(AWAIT_REP) | ST(AWAIT_REQ), DEAD),
	LEG(TERM_DUE, ST(AWAIT_REP), LINGER),
	LEG(V2_REFUSED, ST(AWAIT_REP), TCP_CONNECT),
	LEG(SEND_FAILED, ST(TCP_CONNECT) | ST(AWAIT_REP), DEAD),
	LEG(HANDED_OFF, ST(HANDOFF), OFFLOADED),
	LEG(HANDED_OFF_FENCED, ST(HANDOFF), FENCED),
	LEG(HANDED_OFF_RTR, ST(HANDOFF), AWAIT_RTR),
	LEG(HANDED_OFF_QUIET, ST(HANDOFF), UNANSWERED),
	LEG(PREPARE_FAILED, ST(HANDOFF), LINGER),
	LEG(ACCEPT_FAILED, ST(REQ_INDICATED) | ST(HANDOFF), LINGER),
	LEG(REPLY_FAILED, ST(HANDOFF), DEAD),
};

/* The target of a cell, IW_MPA_ST_COUNT if the event is void there */
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
static const void *cell_gen_params(const void *prev, char *desc)
{
	static struct cell cell;

	if (!prev) {
		cell = (struct cell) {};
	} else if (cell.event + 1 < IW_MPA_EV_COUNT) {
		cell.event++;
	} else {
		cell.event = 0;
		if (++cell.state == IW_MPA_ST_COUNT)
			return NULL;
	}
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s_%s", iw_mpa_state_name(cell.state),
		 iw_mpa_event_name(cell.event));
	return &cell;
}

static void fsm_step_any_cell_leads_where_ruled(struct kunit *test)
{
	const struct cell *cell = test->param_value;
	enum iw_mpa_state target = leg_target(cell->state, cell->event);
	struct iw_mpa_transition tr;

	/* Act */
	tr = iw_mpa_fsm_step(cell->state, cell->event);

	/* Assert */
	if (target == IW_MPA_ST_COUNT) {
		KUNIT_EXPECT_FALSE(test, tr.defined);
		KUNIT_EXPECT_EQ(test, tr.next, cell->state);
		KUNIT_EXPECT_EQ(test, tr.actions, 0);
		return;
	}
	KUNIT_EXPECT_TRUE(test, tr.defined);
	KUNIT_EXPECT_EQ(test, tr.next, target);
	KUNIT_EXPECT_EQ(test, tr.actions & ~(u32)(BIT(IW_MPA_ACT_COUNT) - 1), 0);
}

/*
 * Whoever looks at the stream may find nothing. A FIN is met once, and what it leads to is
 * the end of the stream or an event of the driver before.
 */
static bool event_only_looks(enum iw_mpa_state state, enum iw_mpa_event event)
{
	return event == IW_MPA_EV_READABLE ||
	       (event == IW_MPA_EV_PEER_CLOSED && (BIT(state) & (ST_READS | ST_DRIVER)));
}

/* The RTR message is repeated; how often is counted outside of the table. */
static bool event_repeats(enum iw_mpa_state state, enum iw_mpa_event event)
{
	return state == IW_MPA_ST_UNANSWERED && event == IW_MPA_EV_TIMED_OUT;
}

/* IW_MPA_ST_COUNT if the state does not hear of it */
static enum iw_mpa_state stream_end_leads_to(enum iw_mpa_state state)
{
	struct iw_mpa_transition tr = iw_mpa_fsm_step(state, IW_MPA_EV_STREAM_ENDED);

	return tr.defined ? tr.next : IW_MPA_ST_COUNT;
}

/*
 * Time passes: only to retry with revision 1 may a connection go back, and only while it
 * looks at the stream may it stay, until that ends. So every path ends; and where it can,
 * in DEAD.
 */
static void fsm_step_any_cell_goes_forward(struct kunit *test)
{
	int state, event;

	for (state = 0; state < IW_MPA_ST_COUNT; state++) {
		for (event = 0; event < IW_MPA_EV_COUNT; event++) {
			struct iw_mpa_transition tr = iw_mpa_fsm_step(state, event);

			if (!tr.defined || event == IW_MPA_EV_V2_REFUSED)
				continue;
			KUNIT_EXPECT_GE_MSG(test, tr.next, state, "%s: %s",
					    iw_mpa_state_name(state), iw_mpa_event_name(event));
			if (tr.next == state)
				KUNIT_EXPECT_EQ_MSG(test, stream_end_leads_to(state),
						    IW_MPA_ST_DEAD, "%s",
						    iw_mpa_state_name(state));
			KUNIT_EXPECT_EQ_MSG(test, tr.next == state,
					    event_only_looks(state, event) ||
					    event_repeats(state, event), "%s: %s",
					    iw_mpa_state_name(state), iw_mpa_event_name(event));
		}
	}
}

/*
 * An action that may end in an event has nothing behind it: the rest would not be done.
 * REPORT_UP ends in one only if iw_cm is out of memory, and then KICK_RX is idle; and
 * CHECK_ANSWER if there is nothing to repeat.
 */
static void fsm_step_any_cell_deciding_action_is_last(struct kunit *test)
{
	const u32 deciding = DO(RECONNECT) | DO(SEND_REQ) | DO(READ_REQ) | DO(READ_REP) |
			     DO(HANDOFF_ACTIVE) | DO(HANDOFF_PASSIVE) | DO(DRAIN);
	const u32 with_check = DO(CHECK_ANSWER) | DO(REPEAT_RTR) | DO(RESTART_TIMER);
	const u32 with_up = DO(OPEN_TX) | DO(REPORT_UP) | DO(KICK_RX);
	int state, event;

	for (state = 0; state < IW_MPA_ST_COUNT; state++) {
		for (event = 0; event < IW_MPA_EV_COUNT; event++) {
			u32 actions = iw_mpa_fsm_step(state, event).actions;

			if (actions & deciding)
				KUNIT_EXPECT_EQ_MSG(test, actions & (actions - 1), 0, "%s: %s",
						    iw_mpa_state_name(state),
						    iw_mpa_event_name(event));
			if (actions & DO(CHECK_ANSWER))
				KUNIT_EXPECT_EQ_MSG(test, actions, with_check, "%s: %s",
						    iw_mpa_state_name(state),
						    iw_mpa_event_name(event));
			if (actions & DO(REPORT_UP))
				KUNIT_EXPECT_EQ_MSG(test, actions & ~with_up, 0, "%s: %s",
						    iw_mpa_state_name(state),
						    iw_mpa_event_name(event));
		}
	}
}

/* The walk: what has happened to a connection on its way into a state */

#define PAST_ACTIVE	BIT(0)
#define PAST_PASSIVE	BIT(1)
#define PAST_BOUND	BIT(2)	/* the QP is bound now */
#define PAST_TAKEN	BIT(3)	/* a driver got the stream */
#define PAST_STOPPED	BIT(4)	/* and was told to forget it */
#define PAST_OWED	BIT(5)	/* iw_cm has to be told of the end */
#define PAST_UP		BIT(6)
#define PAST_DOWN	BIT(7)
#define PAST_TX_OPEN	BIT(8)	/* RFC 5044 7.1.2: FPDUs may be sent */
#define PAST_LAST_WORD	BIT(9)	/* TERM or Reject was sent */
#define PAST_RELEASED	BIT(10)
#define PAST_ENDING	BIT(11)	/* STREAM_ENDED was raised and waits */

#define NODES_MAX	128

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

/* Events that only one of the roles can meet: see fsm.h */
static bool event_is_possible(const struct node *node, enum iw_mpa_event event)
{
	const u64 active = EV(CONNECTING) | EV(TCP_UP) | EV(REP_GOOD) | EV(REP_REJECT) |
			   EV(TERM_DUE) | EV(V2_REFUSED) | EV(SEND_FAILED) |
			   EV(PREPARE_FAILED) | EV(HANDED_OFF_QUIET) | EV(RTR_SETTLED);
	const u64 passive = EV(TCP_ACCEPTED) | EV(REQ_GOOD) | EV(INDICATE_FAILED) |
			    EV(ULP_ACCEPTED) | EV(ULP_REJECTED) | EV(LISTENER_GONE) | EV(YIELD) |
			    EV(HANDED_OFF_FENCED) | EV(HANDED_OFF_RTR) | EV(ACCEPT_FAILED) |
			    EV(REPLY_FAILED);

	/* The runner is busy then: only what the initiator's own commit finds out */
	if (node->state == IW_MPA_ST_HANDOFF && event == IW_MPA_EV_STREAM_DOWN)
		return node->past & PAST_ACTIVE;
	/* Where the driver reads, only END_STREAM raises it; else a read finds it out */
	if (event == IW_MPA_EV_STREAM_ENDED && (BIT(node->state) & ST_DRIVER))
		return node->past & PAST_ENDING;
	if (BIT_ULL(event) & active)
		return !(node->past & PAST_PASSIVE);
	if (BIT_ULL(event) & passive)
		return !(node->past & PAST_ACTIVE);
	return true;
}

/* What the event itself says to have happened */
static u32 event_facts(enum iw_mpa_state state, enum iw_mpa_event event)
{
	switch (event) {
	case IW_MPA_EV_CONNECTING:
		return PAST_ACTIVE | PAST_BOUND | PAST_OWED;
	case IW_MPA_EV_TCP_ACCEPTED:
		return PAST_PASSIVE;
	case IW_MPA_EV_ULP_ACCEPTED:
		return PAST_BOUND;
	case IW_MPA_EV_HANDED_OFF:
	case IW_MPA_EV_HANDED_OFF_QUIET:
		return PAST_TAKEN | PAST_OWED | PAST_TX_OPEN;
	case IW_MPA_EV_HANDED_OFF_FENCED:
	case IW_MPA_EV_HANDED_OFF_RTR:
		return PAST_TAKEN | PAST_OWED;
	case IW_MPA_EV_REPLY_FAILED:
		return PAST_TAKEN;
	case IW_MPA_EV_STREAM_DOWN:
		return state == IW_MPA_ST_HANDOFF ? PAST_TAKEN : 0;
	default:
		return 0;
	}
}

static bool driver_has_stream(u32 past)
{
	return (past & PAST_TAKEN) && !(past & PAST_STOPPED);
}

/* Whether an action is allowed after @past; @effect: the facts that it adds */
static bool action_is_allowed(u32 past, enum iw_mpa_action_nr action, u32 *effect)
{
	*effect = 0;
	switch (action) {
	case IW_MPA_ACT_OPEN_TX:
	case IW_MPA_ACT_LIFT_FENCE:
		*effect = PAST_TX_OPEN;
		return driver_has_stream(past) && !(past & PAST_TX_OPEN);
	case IW_MPA_ACT_REPORT_UP:
		*effect = PAST_UP;
		return driver_has_stream(past) && (past & PAST_OWED) &&
		       !(past & (PAST_UP | PAST_DOWN));
	case IW_MPA_ACT_CHECK_ANSWER:
	case IW_MPA_ACT_REPEAT_RTR:
		return driver_has_stream(past) && (past & PAST_TX_OPEN) && (past & PAST_ACTIVE);
	case IW_MPA_ACT_KICK_RX:
		return driver_has_stream(past);
	case IW_MPA_ACT_END_STREAM:
		*effect = PAST_ENDING;
		return driver_has_stream(past);
	case IW_MPA_ACT_STOP:
		*effect = PAST_STOPPED;
		return driver_has_stream(past) && (past & PAST_BOUND);
	case IW_MPA_ACT_SEND_TERM:
		*effect = PAST_LAST_WORD;
		return (past & PAST_ACTIVE) && !(past & (PAST_TAKEN | PAST_LAST_WORD));
	case IW_MPA_ACT_SEND_REJECT:
		*effect = PAST_LAST_WORD;
		return (past & PAST_PASSIVE) && !(past & (PAST_TAKEN | PAST_LAST_WORD));
	case IW_MPA_ACT_SHUTDOWN:
		*effect = PAST_LAST_WORD;
		return (past & PAST_STOPPED) && !(past & (PAST_BOUND | PAST_LAST_WORD));
	case IW_MPA_ACT_UNBIND:
		return (past & PAST_BOUND) && !driver_has_stream(past);
	case IW_MPA_ACT_REPORT_DOWN:
		*effect = PAST_DOWN;
		return (past & PAST_OWED) && !(past & (PAST_DOWN | PAST_BOUND));
	case IW_MPA_ACT_RELEASE:
		*effect = PAST_RELEASED;
		return !(past & (PAST_BOUND | PAST_RELEASED)) && !driver_has_stream(past) &&
		       !!(past & PAST_OWED) == !!(past & PAST_DOWN);
	default:
		return !(past & PAST_RELEASED);
	}
}

/* What must hold in each state, whatever the past */
static bool state_is_sound(const struct node *node)
{
	u32 past = node->past;
	bool dead = node->state == IW_MPA_ST_DEAD;

	if (dead != !!(past & PAST_RELEASED))
		return false;
	/* What is handled before it must not make it void */
	if ((past & PAST_ENDING) && !dead && stream_end_leads_to(node->state) != IW_MPA_ST_DEAD)
		return false;
	if ((past & PAST_ACTIVE) && !(BIT(node->state) & ST_ACTIVE))
		return false;
	if ((past & PAST_PASSIVE) && !(BIT(node->state) & ST_PASSIVE))
		return false;

	switch (node->state) {
	case IW_MPA_ST_AWAIT_RTR:
		return driver_has_stream(past) && (past & PAST_OWED) &&
		       !(past & (PAST_UP | PAST_TX_OPEN));
	case IW_MPA_ST_FENCED:
		return driver_has_stream(past) && (past & PAST_UP) && !(past & PAST_TX_OPEN);
	case IW_MPA_ST_UNANSWERED:
	case IW_MPA_ST_OFFLOADED:
		return driver_has_stream(past) && (past & PAST_UP) && (past & PAST_TX_OPEN);
	case IW_MPA_ST_LINGER:
		return (past & PAST_LAST_WORD) && !(past & PAST_BOUND) &&
		       !!(past & PAST_OWED) == !!(past & PAST_DOWN);
	case IW_MPA_ST_DEAD:
		return true;
	default:
		return !(past & (PAST_TAKEN | PAST_UP | PAST_DOWN | PAST_LAST_WORD));
	}
}

static struct node walk_step(struct walk *w, const struct node *from, enum iw_mpa_event event)
{
	struct iw_mpa_transition tr = iw_mpa_fsm_step(from->state, event);
	struct node to = { tr.next, from->past | event_facts(from->state, event) };
	int action;
	u32 effect;

	for (action = 0; action < IW_MPA_ACT_COUNT; action++) {
		if (!(tr.actions & BIT(action)))
			continue;
		KUNIT_EXPECT_TRUE_MSG(w->test, action_is_allowed(to.past, action, &effect),
				      "%s, past 0x%x: %s: %s", iw_mpa_state_name(from->state),
				      from->past, iw_mpa_event_name(event),
				      iw_mpa_action_name(action));
		to.past |= effect;
		if (action == IW_MPA_ACT_UNBIND)
			to.past &= ~PAST_BOUND;
	}
	KUNIT_EXPECT_TRUE_MSG(w->test, state_is_sound(&to), "%s, past 0x%x: %s: %s, past 0x%x",
			      iw_mpa_state_name(from->state), from->past,
			      iw_mpa_event_name(event), iw_mpa_state_name(to.state), to.past);
	return to;
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

/* Everything that can be reached from IDLE, each step checked on the way */
static struct walk *walk_all(struct kunit *test)
{
	struct walk *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);
	int i, event;

	KUNIT_ASSERT_NOT_NULL(test, w);
	w->test = test;
	walk_add(w, (struct node) { IW_MPA_ST_IDLE });
	for (i = 0; i < w->count; i++) {
		for (event = 0; event < IW_MPA_EV_COUNT; event++) {
			struct node from = w->nodes[i];

			if (!event_is_possible(&from, event) ||
			    !iw_mpa_fsm_step(from.state, event).defined)
				continue;
			set_bit(from.state * IW_MPA_EV_COUNT + event, w->cells);
			walk_add(w, walk_step(w, &from, event));
		}
	}
	return w;
}

/*
 * The promises: one REPORT_DOWN at the end and at most one REPORT_UP before; STOP once
 * after a hand-off and before UNBIND; UNBIND before the report; RELEASE at last, once.
 * They are in action_is_allowed() and state_is_sound(), which every step goes through.
 */
/* Rules: M-7.1.2-10 M-8-3 */
static void fsm_step_any_path_keeps_promises(struct kunit *test)
{
	struct walk *w = walk_all(test);
	u32 reached = 0, ends = 0;
	int i;

	/* Assert: the walk saw all there is, so it has proved something */
	for (i = 0; i < w->count; i++) {
		reached |= BIT(w->nodes[i].state);
		ends += w->nodes[i].state == IW_MPA_ST_DEAD;
	}
	KUNIT_EXPECT_EQ(test, reached, ST_ALL);
	KUNIT_EXPECT_GE(test, ends, 6);
	for (i = 0; i < IW_MPA_ST_COUNT * IW_MPA_EV_COUNT; i++) {
		enum iw_mpa_state state = i / IW_MPA_EV_COUNT;
		enum iw_mpa_event event = i % IW_MPA_EV_COUNT;

		KUNIT_EXPECT_EQ_MSG(test, test_bit(i, w->cells),
				    iw_mpa_fsm_step(state, event).defined, "%s: %s",
				    iw_mpa_state_name(state), iw_mpa_event_name(event));
	}
}

/* What a transition owes to its past and its target: all of it, and nothing else */
static u32 due_at_end(u32 past, enum iw_mpa_state next)
{
	u32 due = 0;

	if (driver_has_stream(past))
		due |= DO(STOP);
	if (past & PAST_BOUND)
		due |= DO(UNBIND);
	if ((past & PAST_OWED) && !(past & PAST_DOWN))
		due |= DO(REPORT_DOWN);
	if (next == IW_MPA_ST_DEAD)
		due |= DO(RELEASE);
	else if (past & PAST_TAKEN)
		due |= DO(SHUTDOWN);
	else
		due |= past & PAST_ACTIVE ? DO(SEND_TERM) : DO(SEND_REJECT);
	return due;
}

static u32 due_on_entry(u32 past, enum iw_mpa_state next)
{
	u32 due = 0;

	switch (next) {
	case IW_MPA_ST_REQ_INDICATED:
		return DO(INDICATE);
	case IW_MPA_ST_HANDOFF:
		return past & PAST_ACTIVE ? DO(HANDOFF_ACTIVE) : DO(HANDOFF_PASSIVE);
	case IW_MPA_ST_FENCED:
	case IW_MPA_ST_UNANSWERED:
	case IW_MPA_ST_OFFLOADED:
		if (!(past & PAST_UP))
			due |= DO(REPORT_UP);
		if (next == IW_MPA_ST_OFFLOADED && !(past & PAST_TX_OPEN))
			due |= DO(OPEN_TX);
		return due;
	default:
		return 0;
	}
}

static u32 due_on_readable(enum iw_mpa_state state)
{
	switch (state) {
	case IW_MPA_ST_AWAIT_REQ:
		return DO(READ_REQ);
	case IW_MPA_ST_AWAIT_REP:
		return DO(READ_REP);
	default:
		return DO(DRAIN);
	}
}

static u32 due_actions(const struct node *from, enum iw_mpa_event event, enum iw_mpa_state next)
{
	u32 past = from->past | event_facts(from->state, event), due = 0;

	switch (event) {
	case IW_MPA_EV_READABLE:
		return due_on_readable(from->state);
	case IW_MPA_EV_PEER_CLOSED:	/* what came before the FIN counts */
		if (BIT(from->state) & ST_READS)
			return due_on_readable(from->state);
		if (BIT(from->state) & ST_DRIVER)
			return DO(KICK_RX) | DO(END_STREAM);
		break;
	case IW_MPA_EV_TCP_UP:
		return DO(SEND_REQ);
	case IW_MPA_EV_V2_REFUSED:
		return DO(RECONNECT);
	case IW_MPA_EV_HANDED_OFF:
	case IW_MPA_EV_HANDED_OFF_FENCED:
	case IW_MPA_EV_HANDED_OFF_RTR:
	case IW_MPA_EV_HANDED_OFF_QUIET:
		due = DO(KICK_RX);	/* what came meanwhile */
		break;
	case IW_MPA_EV_TIMED_OUT:
		if (from->state == IW_MPA_ST_UNANSWERED)
			return DO(CHECK_ANSWER) | DO(REPEAT_RTR) | DO(RESTART_TIMER);
		if (from->state == IW_MPA_ST_FENCED)
			return DO(LIFT_FENCE);
		break;
	case IW_MPA_EV_ULP_CLOSED:	/* the last chance to tell a peer that missed it */
		if (from->state == IW_MPA_ST_UNANSWERED)
			due = DO(REPEAT_RTR);
		break;
	default:
		break;
	}
	if (next == IW_MPA_ST_LINGER || next == IW_MPA_ST_DEAD)
		return due | due_at_end(past, next);
	return due | due_on_entry(past, next);
}

/* Rules: E-8-1 M-7.1.2-4 M-8-2 */
static void fsm_step_any_path_does_what_is_due(struct kunit *test)
{
	struct walk *w = walk_all(test);
	int i, event;

	for (i = 0; i < w->count; i++) {
		for (event = 0; event < IW_MPA_EV_COUNT; event++) {
			const struct node *from = &w->nodes[i];
			struct iw_mpa_transition tr = iw_mpa_fsm_step(from->state, event);

			if (!tr.defined || !event_is_possible(from, event))
				continue;
			KUNIT_EXPECT_EQ_MSG(test, tr.actions, due_actions(from, event, tr.next),
					    "%s, past 0x%x: %s", iw_mpa_state_name(from->state),
					    from->past, iw_mpa_event_name(event));
		}
	}
}

/* What a past implies about order depends on the order in which actions are done */
static void fsm_actions_numbered_in_order_of_doing(struct kunit *test)
{
	static const u8 order[] = {
		IW_MPA_ACT_OPEN_TX, IW_MPA_ACT_REPORT_UP, IW_MPA_ACT_CHECK_ANSWER,
		IW_MPA_ACT_REPEAT_RTR, IW_MPA_ACT_RESTART_TIMER, IW_MPA_ACT_KICK_RX,
		IW_MPA_ACT_END_STREAM, IW_MPA_ACT_STOP,
		IW_MPA_ACT_SEND_TERM, IW_MPA_ACT_SEND_REJECT, IW_MPA_ACT_UNBIND,
		IW_MPA_ACT_REPORT_DOWN, IW_MPA_ACT_SHUTDOWN, IW_MPA_ACT_RELEASE,
	};
	int i;

	for (i = 1; i < ARRAY_SIZE(order); i++)
		KUNIT_EXPECT_LT(test, order[i - 1], order[i]);
	KUNIT_EXPECT_EQ(test, IW_MPA_ACT_RELEASE, IW_MPA_ACT_COUNT - 1);
	KUNIT_EXPECT_LE(test, IW_MPA_ACT_COUNT, 32);
	KUNIT_EXPECT_LT(test, IW_MPA_EV_LAST_RAISED, 32);
	KUNIT_EXPECT_LE(test, IW_MPA_EV_COUNT, 64);	/* for EV() here */
}

/* Where events from outside meet, what arrived comes first, then who closed, then loss */
static void fsm_events_raised_from_outside_numbered_by_urgency(struct kunit *test)
{
	KUNIT_EXPECT_LT(test, IW_MPA_EV_READABLE, IW_MPA_EV_PEER_CLOSED);
	KUNIT_EXPECT_LT(test, IW_MPA_EV_FIRST_FPDU, IW_MPA_EV_PEER_CLOSED);
	KUNIT_EXPECT_LT(test, IW_MPA_EV_FIRST_FPDU, IW_MPA_EV_STREAM_DOWN);
	KUNIT_EXPECT_LT(test, IW_MPA_EV_READABLE, IW_MPA_EV_STREAM_ENDED);
	KUNIT_EXPECT_LT(test, IW_MPA_EV_FIRST_FPDU, IW_MPA_EV_STREAM_ENDED);
	KUNIT_EXPECT_LT(test, IW_MPA_EV_STREAM_DOWN, IW_MPA_EV_STREAM_ENDED);
	KUNIT_EXPECT_LT(test, IW_MPA_EV_STREAM_ENDED, IW_MPA_EV_TIMED_OUT);
	KUNIT_EXPECT_LT(test, IW_MPA_EV_PEER_CLOSED, IW_MPA_EV_TIMED_OUT);
	KUNIT_EXPECT_LT(test, IW_MPA_EV_READABLE, IW_MPA_EV_YIELD);
	KUNIT_EXPECT_LT(test, IW_MPA_EV_DEV_GONE, IW_MPA_EV_CONNECTING);
	KUNIT_EXPECT_EQ(test, IW_MPA_EV_LAST_RAISED + 1, IW_MPA_EV_CONNECTING);
}

/*
 * A state with a timer handles it; of those that wait, only what is established has none, or
 * one that ends nothing
 */
/* Rules: M-7.1.2-15 M-7.1.2-17 */
static void fsm_timer_any_wait_bounded(struct kunit *test)
{
	static const u8 timers[IW_MPA_ST_COUNT] = {
		[IW_MPA_ST_TCP_CONNECT]		= IW_MPA_TMR_CONNECT,
		[IW_MPA_ST_AWAIT_REP]		= IW_MPA_TMR_REPLY,
		[IW_MPA_ST_AWAIT_REQ]		= IW_MPA_TMR_REQUEST,
		[IW_MPA_ST_REQ_INDICATED]	= IW_MPA_TMR_VERDICT,
		[IW_MPA_ST_AWAIT_RTR]		= IW_MPA_TMR_RTR,
		[IW_MPA_ST_LINGER]		= IW_MPA_TMR_LINGER,
		[IW_MPA_ST_FENCED]		= IW_MPA_TMR_FENCE,
		[IW_MPA_ST_UNANSWERED]		= IW_MPA_TMR_REPEAT,
	};
	const u32 untimed = ST_DEAF | ST(OFFLOADED);
	int state;

	for (state = 0; state < IW_MPA_ST_COUNT; state++) {
		enum iw_mpa_timer timer = iw_mpa_fsm_timer(state);

		KUNIT_EXPECT_EQ_MSG(test, timer, timers[state], "%s", iw_mpa_state_name(state));
		KUNIT_EXPECT_EQ_MSG(test, timer == IW_MPA_TMR_NONE, !!(untimed & BIT(state)), "%s",
				    iw_mpa_state_name(state));
		KUNIT_EXPECT_EQ_MSG(test, timer != IW_MPA_TMR_NONE,
				    iw_mpa_fsm_step(state, IW_MPA_EV_TIMED_OUT).defined, "%s",
				    iw_mpa_state_name(state));
	}
}

/* Numbers that are no states, events or actions do no harm */

static const unsigned int wild[] = { 64, 127, 255, 0x7fffffff, 0xffffffff };

static void fsm_step_out_of_range_harmless(struct kunit *test)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(wild); i++) {
		struct iw_mpa_transition state = iw_mpa_fsm_step(wild[i], IW_MPA_EV_TCP_UP);
		struct iw_mpa_transition event = iw_mpa_fsm_step(IW_MPA_ST_OFFLOADED, wild[i]);

		KUNIT_EXPECT_FALSE(test, state.defined || state.actions);
		KUNIT_EXPECT_FALSE(test, event.defined || event.actions);
		KUNIT_EXPECT_EQ(test, event.next, IW_MPA_ST_OFFLOADED);
		KUNIT_EXPECT_EQ(test, iw_mpa_fsm_timer(wild[i]), IW_MPA_TMR_NONE);
		KUNIT_EXPECT_STREQ(test, iw_mpa_state_name(wild[i]), "?");
		KUNIT_EXPECT_STREQ(test, iw_mpa_event_name(wild[i]), "?");
		KUNIT_EXPECT_STREQ(test, iw_mpa_action_name(wild[i]), "?");
	}
}

static void fsm_step_first_behind_range_harmless(struct kunit *test)
{
	struct iw_mpa_transition tr = iw_mpa_fsm_step(IW_MPA_ST_COUNT, IW_MPA_EV_DEV_GONE);

	KUNIT_EXPECT_FALSE(test, tr.defined || tr.actions);
	KUNIT_EXPECT_EQ(test, tr.next, IW_MPA_ST_COUNT);
	tr = iw_mpa_fsm_step(IW_MPA_ST_IDLE, IW_MPA_EV_NONE);
	KUNIT_EXPECT_FALSE(test, tr.defined || tr.actions);
	KUNIT_EXPECT_EQ(test, tr.next, IW_MPA_ST_IDLE);
	KUNIT_EXPECT_EQ(test, iw_mpa_fsm_timer(IW_MPA_ST_COUNT), IW_MPA_TMR_NONE);
	KUNIT_EXPECT_STREQ(test, iw_mpa_state_name(IW_MPA_ST_COUNT), "?");
	KUNIT_EXPECT_STREQ(test, iw_mpa_event_name(IW_MPA_EV_COUNT), "?");
	KUNIT_EXPECT_STREQ(test, iw_mpa_action_name(IW_MPA_ACT_COUNT), "?");
}

/* Names: there for all, and each its own */

static const char *state_name(unsigned int nr)
{
	return iw_mpa_state_name(nr);
}

static const char *event_name(unsigned int nr)
{
	return iw_mpa_event_name(nr);
}

static const char *action_name(unsigned int nr)
{
	return iw_mpa_action_name(nr);
}

struct name_row {
	const char	*desc;
	const char	*(*name)(unsigned int nr);
	unsigned int	count;
};

static const struct name_row name_rows[] = {
	{ "states", state_name, IW_MPA_ST_COUNT },
	{ "events", event_name, IW_MPA_EV_COUNT },
	{ "actions", action_name, IW_MPA_ACT_COUNT },
};

static void name_desc(const struct name_row *row, char *desc)
{
	strscpy(desc, row->desc, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(name, name_rows, name_desc);

static void names_any_value_present_and_unique(struct kunit *test)
{
	const struct name_row *row = test->param_value;
	unsigned int i, j;

	for (i = 0; i < row->count; i++) {
		KUNIT_ASSERT_NOT_NULL(test, row->name(i));
		KUNIT_EXPECT_STRNEQ(test, row->name(i), "");
		KUNIT_EXPECT_STRNEQ(test, row->name(i), "?");
		for (j = 0; j < i; j++)
			KUNIT_EXPECT_STRNEQ(test, row->name(i), row->name(j));
	}
}

static struct kunit_case fsm_cases[] = {
	KUNIT_CASE_PARAM(fsm_step_any_cell_leads_where_ruled, cell_gen_params),
	KUNIT_CASE(fsm_step_any_cell_goes_forward),
	KUNIT_CASE(fsm_step_any_cell_deciding_action_is_last),
	KUNIT_CASE(fsm_step_any_path_keeps_promises),
	KUNIT_CASE(fsm_step_any_path_does_what_is_due),
	KUNIT_CASE(fsm_actions_numbered_in_order_of_doing),
	KUNIT_CASE(fsm_events_raised_from_outside_numbered_by_urgency),
	KUNIT_CASE(fsm_timer_any_wait_bounded),
	KUNIT_CASE(fsm_step_out_of_range_harmless),
	KUNIT_CASE(fsm_step_first_behind_range_harmless),
	KUNIT_CASE_PARAM(names_any_value_present_and_unique, name_gen_params),
	{}
};

static struct kunit_suite fsm_suite = {
	.name = "iw_mpa_fsm",
	.test_cases = fsm_cases,
};

kunit_test_suite(fsm_suite);

MODULE_LICENSE("GPL");

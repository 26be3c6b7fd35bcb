// SPDX-License-Identifier: GPL-2.0
/* The state table of a QP's sender (TX): each event in each state. */

#include <kunit/test.h>

#include "qp_state.h"

#define SRNIC_TX_SAME	SRNIC_TX_STATES
#define ROW(from, start, open, finish, answer, all_sent, term, close) \
	[SRNIC_TX_##from] = { SRNIC_TX_##start, SRNIC_TX_##open, SRNIC_TX_##finish, \
			      SRNIC_TX_##answer, SRNIC_TX_##all_sent, SRNIC_TX_##term, \
			      SRNIC_TX_##close }

static const enum srnic_tx_state tx_state_next[SRNIC_TX_STATES][SRNIC_TX_EVENTS] = {
	ROW(SHUT,      SAME, OPEN, SAME,      SAME,      SAME,     SAME, CLOSED),
	ROW(OPEN,      SHUT, SAME, FINISHING, SAME,      SAME,     TERM, CLOSED),
	ROW(FINISHING, SHUT, SAME, SAME,      ANSWERING, FINISHED, TERM, CLOSED),
	ROW(ANSWERING, SHUT, SAME, SAME,      SAME,      FINISHED, TERM, CLOSED),
	ROW(TERM,      SHUT, SAME, SAME,      SAME,      SAME,     SAME, CLOSED),
	ROW(FINISHED,  SHUT, SAME, SAME,      SAME,      SAME,     SAME, CLOSED),
	ROW(CLOSED,    SHUT, SAME, SAME,      SAME,      SAME,     SAME, SAME),
};

static void tx_state_table(struct kunit *test)
{
	enum srnic_tx_event event;
	enum srnic_tx_state from;

	for (from = 0; from < SRNIC_TX_STATES; from++) {
		for (event = 0; event < SRNIC_TX_EVENTS; event++) {
			enum srnic_tx_state want = tx_state_next[from][event];

			if (want == SRNIC_TX_SAME)
				want = from;
			KUNIT_EXPECT_EQ_MSG(test, srnic_tx_next(from, event), want,
					    "state %d, event %d", from, event);
		}
	}
}

/*
 * Within a stream the sender's state never goes back. A sender that was opened counts as opened to
 * the end of the stream; if it may not send any more, it may never send again.
 */
static void tx_state_never_goes_back(struct kunit *test)
{
	enum srnic_tx_event event;
	enum srnic_tx_state from;

	for (from = 0; from < SRNIC_TX_STATES; from++) {
		for (event = SRNIC_TX_EV_OPEN; event < SRNIC_TX_EVENTS; event++) {
			enum srnic_tx_state to = srnic_tx_next(from, event);

			KUNIT_EXPECT_GE(test, (int)to, (int)from);
			if (!srnic_tx_was_opened(from))
				continue;
			KUNIT_EXPECT_TRUE(test, srnic_tx_was_opened(to));
			if (!srnic_tx_may_send(from))
				KUNIT_EXPECT_FALSE(test, srnic_tx_may_send(to));
		}
	}
}

static void tx_state_who_may_send(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, srnic_tx_may_send(SRNIC_TX_SHUT));
	KUNIT_EXPECT_TRUE(test, srnic_tx_may_send(SRNIC_TX_OPEN));
	KUNIT_EXPECT_TRUE(test, srnic_tx_may_send(SRNIC_TX_FINISHING));
	KUNIT_EXPECT_TRUE(test, srnic_tx_may_send(SRNIC_TX_ANSWERING));
	KUNIT_EXPECT_TRUE(test, srnic_tx_may_send(SRNIC_TX_TERM));
	KUNIT_EXPECT_FALSE(test, srnic_tx_may_send(SRNIC_TX_FINISHED));
	KUNIT_EXPECT_FALSE(test, srnic_tx_may_send(SRNIC_TX_CLOSED));
	KUNIT_EXPECT_FALSE(test, srnic_tx_was_opened(SRNIC_TX_SHUT));
	KUNIT_EXPECT_TRUE(test, srnic_tx_was_opened(SRNIC_TX_OPEN));
	KUNIT_EXPECT_TRUE(test, srnic_tx_was_opened(SRNIC_TX_CLOSED));
	KUNIT_EXPECT_FALSE(test, srnic_tx_is_finishing(SRNIC_TX_OPEN));
	KUNIT_EXPECT_TRUE(test, srnic_tx_is_finishing(SRNIC_TX_FINISHING));
	KUNIT_EXPECT_TRUE(test, srnic_tx_is_finishing(SRNIC_TX_ANSWERING));
	KUNIT_EXPECT_FALSE(test, srnic_tx_is_finishing(SRNIC_TX_TERM));
}

static struct kunit_case tx_state_cases[] = {
	KUNIT_CASE(tx_state_table),
	KUNIT_CASE(tx_state_never_goes_back),
	KUNIT_CASE(tx_state_who_may_send),
	{}
};

static struct kunit_suite tx_state_suite = {
	.name		= "srnic_tx_state",
	.test_cases	= tx_state_cases,
};

kunit_test_suite(tx_state_suite);

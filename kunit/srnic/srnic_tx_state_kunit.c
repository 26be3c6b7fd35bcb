// SPDX-License-Identifier: GPL-2.0
/* States of a sender: each event in each state. */

#include <kunit/test.h>
#include <linux/module.h>

#include "qp_state.h"

#define NO_CHANGE SRNIC_TX_STATES

static const enum srnic_tx_state tx_state_next[SRNIC_TX_STATES][SRNIC_TX_EVENTS] = {
	[SRNIC_TX_SHUT] = {
		NO_CHANGE, SRNIC_TX_OPEN, NO_CHANGE,
		NO_CHANGE, NO_CHANGE, NO_CHANGE, SRNIC_TX_CLOSED,
	},
	[SRNIC_TX_OPEN] = {
		SRNIC_TX_SHUT, NO_CHANGE, SRNIC_TX_FINISHING,
		NO_CHANGE, NO_CHANGE, SRNIC_TX_TERM, SRNIC_TX_CLOSED,
	},
	[SRNIC_TX_FINISHING] = {
		SRNIC_TX_SHUT, NO_CHANGE, NO_CHANGE,
		SRNIC_TX_ANSWERING, SRNIC_TX_FINISHED, SRNIC_TX_TERM, SRNIC_TX_CLOSED,
	},
	[SRNIC_TX_ANSWERING] = {
		SRNIC_TX_SHUT, NO_CHANGE, NO_CHANGE,
		NO_CHANGE, SRNIC_TX_FINISHED, SRNIC_TX_TERM, SRNIC_TX_CLOSED,
	},
	[SRNIC_TX_TERM] = {
		SRNIC_TX_SHUT, NO_CHANGE, NO_CHANGE,
		NO_CHANGE, NO_CHANGE, NO_CHANGE, SRNIC_TX_CLOSED,
	},
	[SRNIC_TX_FINISHED] = {
		SRNIC_TX_SHUT, NO_CHANGE, NO_CHANGE,
		NO_CHANGE, NO_CHANGE, NO_CHANGE, SRNIC_TX_CLOSED,
	},
	[SRNIC_TX_CLOSED] = {
		SRNIC_TX_SHUT, NO_CHANGE, NO_CHANGE,
		NO_CHANGE, NO_CHANGE, NO_CHANGE, NO_CHANGE,
	},
};

static void tx_state_table(struct kunit *test)
{
	enum srnic_tx_event event;
	enum srnic_tx_state from;

	for (from = 0; from < SRNIC_TX_STATES; from++) {
		for (event = 0; event < SRNIC_TX_EVENTS; event++) {
			enum srnic_tx_state want = tx_state_next[from][event];

			if (want == NO_CHANGE)
				want = from;
			KUNIT_EXPECT_EQ_MSG(test, srnic_tx_next(from, event), want,
					    "state %d, event %d", from, event);
		}
	}
}

/* Without a new stream, what was opened stays so, and what may not send any more never does. */
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

MODULE_LICENSE("GPL");

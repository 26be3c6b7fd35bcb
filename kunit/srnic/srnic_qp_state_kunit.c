// SPDX-License-Identifier: GPL-2.0
/* The state table of a QP: each event in each state. */

#include <kunit/test.h>

#include "qp_state.h"

#define SRNIC_SAME	SRNIC_STATES
#define ROW(from, begin, close, abort, fault, stop, forget, reset) \
	[SRNIC_##from] = { SRNIC_##begin, SRNIC_##close, SRNIC_##abort, SRNIC_##fault, \
			   SRNIC_##stop, SRNIC_##forget, SRNIC_##reset }

static const enum srnic_state qp_state_next[SRNIC_STATES][SRNIC_EVENTS] = {
	ROW(IDLE,      RTS,  SAME,    ERROR,   SAME,      SAME,   SAME,  SAME),
	ROW(RTS,       SAME, CLOSING, ABORTED, TERMINATE, ENDING, SAME,  SAME),
	ROW(CLOSING,   SAME, SAME,    ABORTED, TERMINATE, ENDING, SAME,  SAME),
	ROW(ABORTED,   SAME, SAME,    SAME,    TERMINATE, ENDING, SAME,  SAME),
	ROW(TERMINATE, SAME, SAME,    SAME,    SAME,      ENDING, SAME,  SAME),
	ROW(ENDING,    SAME, SAME,    SAME,    SAME,      SAME,   ERROR, SAME),
	ROW(ERROR,     SAME, SAME,    SAME,    SAME,      SAME,   SAME,  IDLE),
};

static void qp_state_table(struct kunit *test)
{
	enum srnic_event event;
	enum srnic_state from;

	for (from = 0; from < SRNIC_STATES; from++) {
		for (event = 0; event < SRNIC_EVENTS; event++) {
			enum srnic_state want = qp_state_next[from][event];

			if (want == SRNIC_SAME)
				want = from;
			KUNIT_EXPECT_EQ_MSG(test, srnic_state_next(from, event), want,
					    "state %d, event %d", from, event);
		}
	}
}

/* Only the event RESET leads from a state to an earlier one. */
static void qp_state_never_goes_back(struct kunit *test)
{
	enum srnic_event event;
	enum srnic_state from;

	for (from = 0; from < SRNIC_STATES; from++) {
		for (event = 0; event < SRNIC_EV_RESET; event++)
			KUNIT_EXPECT_GE(test, (int)srnic_state_next(from, event), (int)from);
	}
}

/* Whether a QP has a stream is changed by the events BEGIN and FORGET alone. */
static void qp_state_has_a_stream_until_it_is_forgotten(struct kunit *test)
{
	enum srnic_event event;
	enum srnic_state from;

	for (from = 0; from < SRNIC_STATES; from++) {
		for (event = 0; event < SRNIC_EVENTS; event++) {
			bool has = srnic_state_has_stream(srnic_state_next(from, event));

			if (event == SRNIC_EV_BEGIN || event == SRNIC_EV_FORGET)
				continue;
			KUNIT_EXPECT_EQ(test, has, srnic_state_has_stream(from));
		}
	}
	KUNIT_EXPECT_FALSE(test, srnic_state_has_stream(SRNIC_IDLE));
	KUNIT_EXPECT_TRUE(test, srnic_state_has_stream(SRNIC_RTS));
	KUNIT_EXPECT_TRUE(test, srnic_state_has_stream(SRNIC_ENDING));
	KUNIT_EXPECT_FALSE(test, srnic_state_has_stream(SRNIC_ERROR));
}

static struct kunit_case qp_state_cases[] = {
	KUNIT_CASE(qp_state_table),
	KUNIT_CASE(qp_state_never_goes_back),
	KUNIT_CASE(qp_state_has_a_stream_until_it_is_forgotten),
	{}
};

static struct kunit_suite qp_state_suite = {
	.name		= "srnic_qp_state",
	.test_cases	= qp_state_cases,
};

kunit_test_suite(qp_state_suite);

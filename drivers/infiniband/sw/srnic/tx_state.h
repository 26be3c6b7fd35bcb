/* SPDX-License-Identifier: GPL-2.0 */
/* States of a QP's sender; no locks, no side effects. */
#ifndef _SRNIC_TX_STATE_H
#define _SRNIC_TX_STATE_H

#include <linux/types.h>

/* The order matters to the functions below. */
enum srnic_tx_state {
	SRNIC_TX_SHUT,		/* nothing may go out yet */
	SRNIC_TX_DENIED,	/* nor here, but a sender waits to be woken */
	SRNIC_TX_OPEN,		/* all that is posted goes out */
	SRNIC_TX_FINISHING,	/* what was posted before finish_tx goes out */
	SRNIC_TX_ANSWERING,	/* then the answers to Reads received so far */
	SRNIC_TX_TERM,		/* the batch ends with the Terminate message */
	SRNIC_TX_FINISHED,	/* TCP has it all, and iw_mpa sends the FIN */
	SRNIC_TX_CLOSED,	/* nothing goes out any more */
	SRNIC_TX_STATES
};

/* What changes the state */
enum srnic_tx_event {
	SRNIC_TX_EV_START,	/* prepare: the QP gets a stream */
	SRNIC_TX_EV_EARLY,	/* a sender has found TX shut */
	SRNIC_TX_EV_OPEN,	/* open_tx, send_rtr */
	SRNIC_TX_EV_FINISH,	/* finish_tx */
	SRNIC_TX_EV_ANSWER,	/* the last WQE was sent */
	SRNIC_TX_EV_ALL_SENT,	/* the last answer, too, or the peer closed */
	SRNIC_TX_EV_TERM,	/* the Terminate message is in the batch */
	SRNIC_TX_EV_CLOSE,	/* the sender has ended or given up; stop */
	SRNIC_TX_EVENTS
};

enum srnic_tx_state srnic_tx_next(enum srnic_tx_state state,
				  enum srnic_tx_event event);

static inline bool srnic_tx_was_opened(enum srnic_tx_state state)
{
	return state >= SRNIC_TX_OPEN;
}

static inline bool srnic_tx_is_finishing(enum srnic_tx_state state)
{
	return state == SRNIC_TX_FINISHING || state == SRNIC_TX_ANSWERING;
}

static inline bool srnic_tx_may_send(enum srnic_tx_state state)
{
	return state >= SRNIC_TX_OPEN && state <= SRNIC_TX_TERM;
}

#endif /* _SRNIC_TX_STATE_H */

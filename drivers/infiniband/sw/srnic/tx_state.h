/* SPDX-License-Identifier: GPL-2.0 */
/* What the sending half of a stream may send. Pure. */
#ifndef _SRNIC_TX_STATE_H
#define _SRNIC_TX_STATE_H

#include <linux/types.h>

/* enum srnic_tx_state - of the sender of a QP; the order matters to the functions below */
enum srnic_tx_state {
	SRNIC_TX_SHUT,		/* nothing may go out yet, or there is no stream */
	SRNIC_TX_DENIED,	/* the same, and a sender has come: who opens TX has to kick */
	SRNIC_TX_OPEN,		/* all that is posted goes out */
	SRNIC_TX_FINISHING,	/* what the ULP has posted so far goes out */
	SRNIC_TX_ANSWERING,	/* it is out: the Reads that have come so far are answered */
	SRNIC_TX_TERM,		/* the Terminate message is in the batch, and nothing behind it */
	SRNIC_TX_FINISHED,	/* TCP has all of that, and the library sends the FIN */
	SRNIC_TX_CLOSED,	/* nothing goes out any more */
	SRNIC_TX_STATES
};

/* enum srnic_tx_event - what changes the state */
enum srnic_tx_event {
	SRNIC_TX_EV_START,	/* prepare: the QP gets a stream */
	SRNIC_TX_EV_EARLY,	/* a sender has found TX shut */
	SRNIC_TX_EV_OPEN,	/* open_tx, send_rtr */
	SRNIC_TX_EV_FINISH,	/* finish_tx */
	SRNIC_TX_EV_ANSWER,	/* the sender has sent the last WQE before the limit */
	SRNIC_TX_EV_ALL_SENT,	/* and the last Read Response; or the peer has closed */
	SRNIC_TX_EV_TERM,	/* the sender has put the Terminate message into the batch */
	SRNIC_TX_EV_CLOSE,	/* the sender, behind the Terminate message or without one; stop */
	SRNIC_TX_EVENTS
};

enum srnic_tx_state srnic_tx_next(enum srnic_tx_state state, enum srnic_tx_event event);

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

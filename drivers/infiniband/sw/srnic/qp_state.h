/* SPDX-License-Identifier: GPL-2.0 */
/* The states of a QP, and of its sender; no locks, no side effects. */
#ifndef _SRNIC_QP_STATE_H
#define _SRNIC_QP_STATE_H

#include <linux/types.h>

/*
 * States of a QP; their order matters. RX places and the sender builds FPDUs in
 * RTS and CLOSING only. From RTS to ENDING there is a stream, and qp->ep is
 * valid.
 */
enum srnic_state {
	SRNIC_IDLE,		/* no stream: the ULP sets RESET, INIT or RTR */
	SRNIC_RTS,		/* the ULP may post; prepare opens the stream */
	SRNIC_CLOSING,		/* disconnected: what was posted goes out */
	SRNIC_ABORTED,		/* broken off: what was posted is flushed */
	SRNIC_TERMINATE,	/* failed: a Terminate message goes out */
	SRNIC_ENDING,		/* stop has begun */
	SRNIC_ERROR,		/* no stream: what is posted is flushed */
	SRNIC_STATES
};

/* What changes the state */
enum srnic_event {
	SRNIC_EV_BEGIN,		/* prepare: the QP gets a stream */
	SRNIC_EV_CLOSE,		/* modify to SQD */
	SRNIC_EV_ABORT,		/* modify to ERR; destroy_qp */
	SRNIC_EV_FAULT,		/* the first error of the stream */
	SRNIC_EV_STOP,		/* stop begins */
	SRNIC_EV_FORGET,	/* the stream has ended; the flush follows */
	SRNIC_EV_RESET,		/* modify to RESET or INIT */
	SRNIC_EVENTS
};

enum srnic_state srnic_state_next(enum srnic_state state,
				  enum srnic_event event);

static inline bool srnic_state_has_stream(enum srnic_state state)
{
	return state >= SRNIC_RTS && state <= SRNIC_ENDING;
}

/* States of the sender; their order matters. */
enum srnic_tx_state {
	SRNIC_TX_SHUT,		/* nothing may go out yet */
	SRNIC_TX_OPEN,		/* all that is posted goes out */
	SRNIC_TX_FINISHING,	/* what was posted before finish_tx goes out */
	SRNIC_TX_ANSWERING,	/* then the answers to Reads received so far */
	SRNIC_TX_TERM,		/* the batch ends with the Terminate message */
	SRNIC_TX_FINISHED,	/* TCP has it all, and iw_mpa sends the FIN */
	SRNIC_TX_CLOSED,	/* nothing goes out any more */
	SRNIC_TX_STATES
};

/* What changes the state of the sender */
enum srnic_tx_event {
	SRNIC_TX_EV_START,	/* prepare: the QP gets a stream */
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

#endif /* _SRNIC_QP_STATE_H */

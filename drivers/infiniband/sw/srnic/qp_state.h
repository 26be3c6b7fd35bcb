/* SPDX-License-Identifier: GPL-2.0 */
/* States of a QP and of its sender. No locks, no side effects */
#ifndef _SRNIC_QP_STATE_H
#define _SRNIC_QP_STATE_H

#include <linux/types.h>

/*
 * States of a QP; comparisons rely on their order. Only in RTS and CLOSING RX
 * places payload and the sender builds FPDUs other than the Terminate message.
 * From RTS to ENDING the QP has a stream, and qp->ep is valid.
 */
enum srnic_state {
	SRNIC_IDLE,		/* no stream; IB_QPS_RESET, INIT or RTR */
	SRNIC_RTS, /* handoff_prepare() has begun: the ULP may post */
	SRNIC_CLOSING,		/* modify to SQD: what was posted is sent */
	SRNIC_ABORTED,		/* modify to ERR: what was posted is not sent */
	SRNIC_TERMINATE,	/* stream failed: only a Terminate is built */
	SRNIC_ENDING,		/* stop has begun */
	SRNIC_ERROR,		/* no stream: what is posted is flushed */
	SRNIC_STATES
};

/* What changes the state */
enum srnic_event {
	SRNIC_EV_BEGIN,		/* handoff_prepare(): the QP gets a stream */
	SRNIC_EV_CLOSE,		/* modify to SQD */
	SRNIC_EV_ABORT,		/* modify to ERR; destroy_qp */
	SRNIC_EV_FAULT,		/* the first error of the stream */
	SRNIC_EV_STOP,		/* stop begins */
	SRNIC_EV_FORGET,	/* handoff_stop() ends, and flushes the QP */
	SRNIC_EV_RESET,		/* modify to RESET or INIT */
	SRNIC_EVENTS
};

enum srnic_state srnic_state_next(enum srnic_state state,
				  enum srnic_event event);

static inline bool srnic_state_has_stream(enum srnic_state state)
{
	return state >= SRNIC_RTS && state <= SRNIC_ENDING;
}

/* States of the sender; comparisons rely on their order. */
enum srnic_tx_state {
	SRNIC_TX_SHUT,		/* may send nothing yet */
	SRNIC_TX_OPEN,		/* sends all that is posted */
	SRNIC_TX_FINISHING,	/* sends what was posted before finish_tx */
	SRNIC_TX_ANSWERING, /* last WQE sent; answers Reads received so far */
	SRNIC_TX_TERM, /* pushes a batch that ends with the Terminate */
	SRNIC_TX_FINISHED,	/* sends nothing more; iw_mpa sends the FIN */
	SRNIC_TX_CLOSED,	/* sends nothing; may have no socket */
	SRNIC_TX_STATES
};

/* What changes the state of the sender */
enum srnic_tx_event {
	SRNIC_TX_EV_START,	/* handoff_prepare(): the QP gets a stream */
	SRNIC_TX_EV_OPEN,	/* open_tx, send_rtr */
	SRNIC_TX_EV_FINISH,	/* finish_tx */
	SRNIC_TX_EV_ANSWER,	/* the last WQE was sent */
	SRNIC_TX_EV_ALL_SENT,	/* last Read answered, or the peer closed */
	SRNIC_TX_EV_TERM,	/* the Terminate message is in the batch */
	SRNIC_TX_EV_CLOSE,	/* stop, or Terminate sent or given up */
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

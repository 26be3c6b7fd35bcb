/* SPDX-License-Identifier: GPL-2.0 */
/* The states of a QP; no locks, no side effects. */
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

#endif /* _SRNIC_QP_STATE_H */

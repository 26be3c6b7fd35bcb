// SPDX-License-Identifier: GPL-2.0
#include "qp_state.h"

/*
 * The next state of a QP, SRNIC_*, for each state and event, SRNIC_EV_*; a dot
 * means no change.
 *
 *		BEGIN	CLOSE	ABORT	FAULT		STOP	FORGET	RESET
 *  IDLE	RTS	.	ERROR	.		.	.	.
 *  RTS		.	CLOSING	ABORTED	TERMINATE	ENDING	.	.
 *  CLOSING	.	.	ABORTED	TERMINATE	ENDING	.	.
 *  ABORTED	.	.	.	TERMINATE	ENDING	.	.
 *  TERMINATE	.	.	.	.		ENDING	.	.
 *  ENDING	.	.	.	.		.	ERROR	.
 *  ERROR	.	.	.	.		.	.	IDLE
 */
enum srnic_state srnic_state_next(enum srnic_state state,
				  enum srnic_event event)
{
	switch (event) {
	case SRNIC_EV_BEGIN:
		return state == SRNIC_IDLE ? SRNIC_RTS : state;
	case SRNIC_EV_CLOSE:
		return state == SRNIC_RTS ? SRNIC_CLOSING : state;
	case SRNIC_EV_ABORT:
		if (state == SRNIC_IDLE)
			return SRNIC_ERROR;
		return state < SRNIC_ABORTED ? SRNIC_ABORTED : state;
	case SRNIC_EV_FAULT:
		return state >= SRNIC_RTS && state < SRNIC_TERMINATE ?
		       SRNIC_TERMINATE : state;
	case SRNIC_EV_STOP:
		return srnic_state_has_stream(state) ? SRNIC_ENDING : state;
	case SRNIC_EV_FORGET:
		return state == SRNIC_ENDING ? SRNIC_ERROR : state;
	default:
		return state == SRNIC_ERROR ? SRNIC_IDLE : state;
	}
}

/*
 * The next state of a QP's sender, SRNIC_TX_*, for each state and event,
 * SRNIC_TX_EV_*; a dot means no change.
 *
 *	     OPEN	FINISH	  ANSWER    ALL_SENT  TERM	CLOSE
 * SHUT	     OPEN	.	  .	    .	      .		CLOSED
 * OPEN	     .		FINISHING .	    .	      TERM	CLOSED
 * FINISHING .		.	  ANSWERING FINISHED  TERM	CLOSED
 * ANSWERING .		.	  .	    FINISHED  TERM	CLOSED
 * TERM	     .		.	  .	    .	      .		CLOSED
 * FINISHED  .		.	  .	    .	      .		CLOSED
 * CLOSED    .		.	  .	    .	      .		.
 *
 * A new QP is CLOSED. START leads from each state to SHUT. OPEN and FINISH may
 * find the sender CLOSED, since the sender may give up the stream at any time.
 *
 * An error of the stream changes qp->state, not this state: the sender then
 * builds only the Terminate message, and none before TX was opened or after the
 * FIN.
 */
enum srnic_tx_state srnic_tx_next(enum srnic_tx_state state,
				  enum srnic_tx_event event)
{
	switch (event) {
	case SRNIC_TX_EV_START:
		return SRNIC_TX_SHUT;
	case SRNIC_TX_EV_OPEN:
		return state == SRNIC_TX_SHUT ? SRNIC_TX_OPEN : state;
	case SRNIC_TX_EV_FINISH:
		return state == SRNIC_TX_OPEN ? SRNIC_TX_FINISHING : state;
	case SRNIC_TX_EV_ANSWER:
		return state == SRNIC_TX_FINISHING ? SRNIC_TX_ANSWERING : state;
	case SRNIC_TX_EV_ALL_SENT:
		return srnic_tx_is_finishing(state) ? SRNIC_TX_FINISHED : state;
	case SRNIC_TX_EV_TERM:
		return state == SRNIC_TX_OPEN || srnic_tx_is_finishing(state) ?
		       SRNIC_TX_TERM : state;
	default:
		return SRNIC_TX_CLOSED;
	}
}

// SPDX-License-Identifier: GPL-2.0
/*
 * The next state of a QP's sender for each state and event; a dot: no change.
 *
 *	     EARLY	OPEN	FINISH	  ANSWER    ALL_SENT  TERM	CLOSE
 * SHUT	     DENIED	OPEN	.	  .	    .	      .		CLOSED
 * DENIED    .		OPEN	.	  .	    .	      .		CLOSED
 * OPEN	     .		.	FINISHING .	    .	      TERM	CLOSED
 * FINISHING .		.	.	  ANSWERING FINISHED  TERM	CLOSED
 * ANSWERING .		.	.	  .	    FINISHED  TERM	CLOSED
 * TERM	     .		.	.	  .	    .	      .		CLOSED
 * FINISHED  .		.	.	  .	    .	      .		CLOSED
 * CLOSED    .		.	.	  .	    .	      .		.
 *
 * A new QP is CLOSED. START leads from each state to SHUT. OPEN and FINISH may
 * find CLOSED, since the sender may give up at any time.
 *
 * An error of the stream is a matter of qp->state. After one the sender sends
 * the Terminate message only, but not before TX was opened or after the FIN.
 */

#include "tx_state.h"

enum srnic_tx_state srnic_tx_next(enum srnic_tx_state state,
				  enum srnic_tx_event event)
{
	switch (event) {
	case SRNIC_TX_EV_START:
		return SRNIC_TX_SHUT;
	case SRNIC_TX_EV_EARLY:
		return state == SRNIC_TX_SHUT ? SRNIC_TX_DENIED : state;
	case SRNIC_TX_EV_OPEN:
		return srnic_tx_was_opened(state) ? state : SRNIC_TX_OPEN;
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

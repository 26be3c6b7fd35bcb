// SPDX-License-Identifier: GPL-2.0
/*
 * The next state for each state and event; a dot: no change.
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

#include "qp_state.h"

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

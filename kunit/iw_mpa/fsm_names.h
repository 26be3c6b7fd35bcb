/* SPDX-License-Identifier: GPL-2.0 */
/* Names of the events and actions of fsm.c's state machine, for messages of failed tests. */
#ifndef _FSM_NAMES_H
#define _FSM_NAMES_H

#include "fsm.h"

static inline const char *event_name(enum iw_mpa_event event)
{
	static const char * const names[] = {
#define X(name, reason) [IW_MPA_EV_##name] = #name,
		IW_MPA_EVENTS(X)
#undef X
		[IW_MPA_EV_NONE] = "none",
	};

	return names[event];
}

static inline const char *action_name(enum iw_mpa_action_nr action)
{
	static const char * const names[] = {
#define X(name) [IW_MPA_ACT_##name] = #name,
		IW_MPA_ACTIONS(X)
#undef X
	};

	return names[action];
}

#endif /* _FSM_NAMES_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IW_MPA_EVENT_H
#define _IW_MPA_EVENT_H

#include "fsm.h"

struct iw_mpa_ep;
struct iw_mpa_sock_ops;

extern const struct iw_mpa_sock_ops iw_mpa_event_sock_ops;

void iw_mpa_event_setup(struct iw_mpa_ep *ep);
void iw_mpa_raise(struct iw_mpa_ep *ep, enum iw_mpa_event event);
bool iw_mpa_event_claim(struct iw_mpa_ep *ep, enum iw_mpa_event event);
enum iw_mpa_event iw_mpa_event_next(struct iw_mpa_ep *ep, bool runner);
void iw_mpa_event_enter(struct iw_mpa_ep *ep, enum iw_mpa_state state);
void iw_mpa_event_restart_timer(struct iw_mpa_ep *ep);
bool iw_mpa_event_is_raised(struct iw_mpa_ep *ep, enum iw_mpa_event event);
void iw_mpa_event_forget_tcp(struct iw_mpa_ep *ep);
void iw_mpa_event_end(struct iw_mpa_ep *ep);

int iw_mpa_event_init(void (*run)(struct iw_mpa_ep *ep),
		      enum iw_mpa_event (*step)(struct iw_mpa_ep *ep, enum iw_mpa_event event));
void iw_mpa_event_exit(void);

#endif /* _IW_MPA_EVENT_H */

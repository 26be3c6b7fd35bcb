/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IW_MPA_EVENT_H
#define _IW_MPA_EVENT_H

#include "fsm.h"

struct iw_mpa_ep;
struct iw_mpa_sock_ops;
struct workqueue_struct;

extern struct workqueue_struct *iw_mpa_wq;
extern struct workqueue_struct *iw_mpa_user_wq;
extern const struct iw_mpa_sock_ops iw_mpa_event_sock_ops;

void iw_mpa_event_setup(struct iw_mpa_ep *ep);
void iw_mpa_raise(struct iw_mpa_ep *ep, enum iw_mpa_event event);
void iw_mpa_raise_unless_up(struct iw_mpa_ep *ep, enum iw_mpa_event event);
void iw_mpa_event_may_wait(void);
bool iw_mpa_event_claim(struct iw_mpa_ep *ep, enum iw_mpa_event event);
void iw_mpa_event_run(struct iw_mpa_ep *ep, enum iw_mpa_event event);
void iw_mpa_event_enter(struct iw_mpa_ep *ep, enum iw_mpa_state state);
void iw_mpa_event_forget_tcp(struct iw_mpa_ep *ep);
void iw_mpa_event_end(struct iw_mpa_ep *ep);

int iw_mpa_event_init(enum iw_mpa_event (*handle)(struct iw_mpa_ep *ep, enum iw_mpa_event event));
void iw_mpa_event_exit(void);

#endif /* _IW_MPA_EVENT_H */

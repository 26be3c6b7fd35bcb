/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IW_MPA_EVENT_H
#define _IW_MPA_EVENT_H

#include <linux/lockdep.h>

#include "fsm.h"

struct iw_mpa_ep;
struct iw_mpa_sock;
struct timer_list;
struct workqueue_struct;

extern struct workqueue_struct *iw_mpa_wq;
extern struct workqueue_struct *iw_mpa_user_wq;
#ifdef CONFIG_LOCKDEP
extern struct lockdep_map iw_mpa_runner_map;
#endif

void iw_mpa_raise(struct iw_mpa_ep *ep, enum iw_mpa_event event);
void iw_mpa_raise_unless_up(struct iw_mpa_ep *ep, enum iw_mpa_event event);
void iw_mpa_event_queue_work(struct iw_mpa_ep *ep);
void iw_mpa_event_timeout(struct timer_list *timer);
void iw_mpa_event_may_wait(void);
void iw_mpa_event_of_sock(struct iw_mpa_sock *ms, enum iw_mpa_event event, int err);

int iw_mpa_event_init(void);
void iw_mpa_event_exit(void);

#endif /* _IW_MPA_EVENT_H */

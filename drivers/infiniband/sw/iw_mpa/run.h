/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IW_MPA_RUN_H
#define _IW_MPA_RUN_H

#include <rdma/iw_mpa_proto.h>

#include "fsm.h"
#include "sock.h"

struct iw_mpa_ep;

void iw_mpa_run_setup(struct iw_mpa_ep *ep);
void iw_mpa_raise(struct iw_mpa_ep *ep, enum iw_mpa_event event);
bool iw_mpa_run_claim(struct iw_mpa_ep *ep, enum iw_mpa_state state);
void iw_mpa_run_unclaim(struct iw_mpa_ep *ep);
void iw_mpa_run_event(struct iw_mpa_ep *ep, enum iw_mpa_event event);
void iw_mpa_run(struct iw_mpa_ep *ep, bool claimed);
void iw_mpa_run_set_reason(struct iw_mpa_ep *ep, enum iw_mpa_reason reason);
void iw_mpa_run_set_error(struct iw_mpa_ep *ep, enum iw_mpa_reason reason,
			  int err);
void iw_mpa_run_restart_timer(struct iw_mpa_ep *ep);
void iw_mpa_run_forget_tcp(struct iw_mpa_ep *ep);
void iw_mpa_run_forget_yield(struct iw_mpa_ep *ep);

extern const struct iw_mpa_sock_ops iw_mpa_run_sock_ops;

int iw_mpa_run_init(void);
void iw_mpa_run_exit(void);

#endif /* _IW_MPA_RUN_H */

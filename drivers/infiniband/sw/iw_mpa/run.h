/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IW_MPA_RUN_H
#define _IW_MPA_RUN_H

#include "fsm.h"

struct iw_mpa_call;
struct iw_mpa_device;
struct iw_mpa_ep;
struct net;

struct iw_mpa_ep *iw_mpa_run_create(struct iw_mpa_device *dev, struct net *net, bool initiator,
				    const void *request_pd, u16 request_pd_len);
void iw_mpa_run(struct iw_mpa_ep *ep, enum iw_mpa_event event);
bool iw_mpa_run_claim(struct iw_mpa_ep *ep, enum iw_mpa_event event);
bool iw_mpa_run_answer(struct iw_mpa_ep *ep, struct iw_mpa_call *call, enum iw_mpa_event answer);

#endif /* _IW_MPA_RUN_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IW_MPA_RUN_H
#define _IW_MPA_RUN_H

#include "fsm.h"

struct iw_mpa_ep;

void iw_mpa_run(struct iw_mpa_ep *ep, enum iw_mpa_event event);
int iw_mpa_run_init(void);
void iw_mpa_run_exit(void);

#endif /* _IW_MPA_RUN_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IW_MPA_END_H
#define _IW_MPA_END_H

#include "fsm.h"

struct iw_mpa_ep;

void iw_mpa_end_set_reason(struct iw_mpa_ep *ep, enum iw_mpa_reason reason, int err);
void iw_mpa_end_log_loss(const struct iw_mpa_ep *ep);
void iw_mpa_end_note(struct iw_mpa_ep *ep, enum iw_mpa_event event);

#endif /* _IW_MPA_END_H */

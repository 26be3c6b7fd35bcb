/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IW_MPA_ACTION_H
#define _IW_MPA_ACTION_H

#include "fsm.h"

struct iw_mpa_ep;

enum iw_mpa_event iw_mpa_act(struct iw_mpa_ep *ep, enum iw_mpa_event event);

#endif /* _IW_MPA_ACTION_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IW_MPA_ACTION_H
#define _IW_MPA_ACTION_H

#include "fsm.h"

struct iw_mpa_ep;

extern enum iw_mpa_event (*const iw_mpa_actions[IW_MPA_ACT_COUNT])(struct iw_mpa_ep *ep);

#endif /* _IW_MPA_ACTION_H */

/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Function of cm_mpa.c for iw_cxgb4's files; iw_cxgb4.h includes this first. */
#ifndef _CXGB4_CM_MPA_H
#define _CXGB4_CM_MPA_H

#include "mpa.h"

struct c4iw_ep;

bool c4mpa_reset_is_final(struct c4iw_ep *ep, u8 status);

#endif /* _CXGB4_CM_MPA_H */

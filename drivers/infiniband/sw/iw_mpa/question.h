/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IW_MPA_QUESTION_H
#define _IW_MPA_QUESTION_H

#include "fsm.h"

struct iw_cm_conn_param;
struct iw_cm_id;
struct iw_mpa_ep;

enum iw_mpa_event iw_mpa_question_ask(struct iw_mpa_ep *ep);
int iw_mpa_accept(struct iw_cm_id *id, struct iw_cm_conn_param *param);
int iw_mpa_reject(struct iw_cm_id *id, const void *pd, u8 pd_len);

#endif /* _IW_MPA_QUESTION_H */

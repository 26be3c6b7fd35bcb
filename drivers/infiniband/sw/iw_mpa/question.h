/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IW_MPA_QUESTION_H
#define _IW_MPA_QUESTION_H

#include "fsm.h"

struct ib_qp;
struct iw_cm_id;
struct iw_mpa_call;
struct iw_mpa_device;
struct iw_mpa_ep;

enum iw_mpa_event iw_mpa_question_ask(struct iw_mpa_ep *ep);
struct iw_mpa_ep *iw_mpa_question_answer(struct iw_mpa_call *call, enum iw_mpa_event answer);
void iw_mpa_question_accepted(struct iw_cm_id *id, struct ib_qp *qp);
void iw_mpa_question_void(struct iw_cm_id *id);
bool iw_mpa_question_is_accepted(const struct iw_cm_id *id);
struct iw_mpa_ep *iw_mpa_question_withdraw(struct iw_mpa_call *call);
void iw_mpa_question_replace(struct iw_mpa_device *dev, struct iw_cm_id *id, u32 qpn);

#endif /* _IW_MPA_QUESTION_H */

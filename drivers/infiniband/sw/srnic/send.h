/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SRNIC_SEND_H
#define _SRNIC_SEND_H

#include "srnic.h"

int srnic_send_fill(struct srnic_qp *qp);
bool srnic_send_has_work(const struct srnic_qp *qp);
int srnic_send_term(struct srnic_qp *qp);
int srnic_send_rtr(struct srnic_qp *qp, u8 rtr);

#endif /* _SRNIC_SEND_H */

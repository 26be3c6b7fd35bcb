/* SPDX-License-Identifier: GPL-2.0 */
/* A batch goes to TCP. */
#ifndef _SRNIC_PUSH_H
#define _SRNIC_PUSH_H

#include "srnic.h"

void srnic_push_later(struct srnic_qp *qp);
bool srnic_push_has_room(struct srnic_qp *qp);
int srnic_push(struct srnic_qp *qp);

#endif /* _SRNIC_PUSH_H */

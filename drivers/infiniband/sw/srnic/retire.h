/* SPDX-License-Identifier: GPL-2.0 */
/* The end of work requests: sent, answered or flushed, then retired. */
#ifndef _SRNIC_RETIRE_H
#define _SRNIC_RETIRE_H

#include "cq.h"
#include "srnic.h"

void srnic_retire_left(struct srnic_qp *qp, struct srnic_upcalls *up);
void srnic_retire_sent(struct srnic_qp *qp, struct srnic_upcalls *up);
void srnic_retire_read(struct srnic_qp *qp, struct srnic_wqe *wqe, enum ib_wc_status status,
		       struct srnic_upcalls *up);
bool srnic_retire_flush(struct srnic_qp *qp, struct srnic_upcalls *up);
void srnic_retire_discard(struct srnic_qp *qp);

#endif /* _SRNIC_RETIRE_H */

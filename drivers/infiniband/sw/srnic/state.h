/* SPDX-License-Identifier: GPL-2.0 */
/* The state of a stream: has it failed, and why first? */
#ifndef _SRNIC_STATE_H
#define _SRNIC_STATE_H

#include "srnic.h"

bool srnic_fault_record(struct srnic_qp *qp, const struct srnic_fault *fault);
bool srnic_fault_note(struct srnic_qp *qp, enum srnic_err err);

/* Returns true if so; then qp->fault can be read. */
static inline bool srnic_faulty(const struct srnic_qp *qp)
{
	/* The fault was written before. */
	return smp_load_acquire(&qp->state) >= SRNIC_TERMINATE;
}

#endif /* _SRNIC_STATE_H */

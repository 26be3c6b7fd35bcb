/* SPDX-License-Identifier: GPL-2.0 */
/* The first error of a stream: recorded once. */
#ifndef _SRNIC_FAULT_H
#define _SRNIC_FAULT_H

#include "srnic.h"

bool srnic_fault_record(struct srnic_qp *qp, const struct srnic_fault *fault);
bool srnic_fault_note(struct srnic_qp *qp, enum srnic_err err);

/**
 * srnic_faulty - has a stream failed?
 * @qp: the QP
 *
 * Context: any. Without qp->lock the answer may be late, but does not change back before stop.
 *
 * Return: true if so; then qp->fault can be read.
 */
static inline bool srnic_faulty(const struct srnic_qp *qp)
{
	/* The fault was written before. */
	return smp_load_acquire(&qp->state) >= SRNIC_TERMINATE;
}

#endif /* _SRNIC_FAULT_H */

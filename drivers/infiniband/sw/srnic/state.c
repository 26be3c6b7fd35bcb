// SPDX-License-Identifier: GPL-2.0
/*
 * The first error of a stream, in either direction. Nobody is told of later errors (RFC 5040 7.1).
 */

#include "state.h"
#include "trace.h"

/* The caller, or the sender that it kicks, ends the stream. */
bool srnic_fault_record(struct srnic_qp *qp, const struct srnic_fault *fault)
{
	unsigned long flags;
	bool first = false;

	spin_lock_irqsave(&qp->lock, flags);
	if (qp->state == SRNIC_RTS || qp->state == SRNIC_CLOSING) {
		first = true;
		trace_srnic_state(qp, qp->state, SRNIC_TERMINATE);
		qp->fault = *fault;
		/* srnic_faulty() reads the state first: if it sees this state it sees the fault. */
		smp_store_release(&qp->state, SRNIC_TERMINATE);
	}
	spin_unlock_irqrestore(&qp->lock, flags);
	if (!first)
		return false;
	this_cpu_inc(qp->dev->stats->err[fault->err]);
	trace_srnic_fault(qp, fault);
	return true;
}

bool srnic_fault_note(struct srnic_qp *qp, enum srnic_err err)
{
	const struct srnic_fault fault = { .err = err };

	return srnic_fault_record(qp, &fault);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * A QP's state, which changes only here, by the table in qp_state.c; and the
 * first error of its stream in either direction, qp->fault, which is recorded
 * here. The ULP gets only the first error (RFC 5040 7.1).
 */

#include "state.h"
#include "trace.h"

/* Returns the previous state. */
enum srnic_state srnic_state_change(struct srnic_qp *qp, enum srnic_event event)
{
	enum srnic_state from = qp->state, to = srnic_state_next(from, event);

	lockdep_assert_held(&qp->lock);
	if (to != from) {
		trace_srnic_state(qp, from, to);
		/* Pairs with srnic_state(). */
		smp_store_release(&qp->state, to);
	}
	return from;
}

void srnic_state_event(struct srnic_qp *qp, enum srnic_event event)
{
	unsigned long flags;

	spin_lock_irqsave(&qp->lock, flags);
	srnic_state_change(qp, event);
	spin_unlock_irqrestore(&qp->lock, flags);
}

/* Record only the first error; the caller or the sender ends the stream. */
void srnic_fault_record(struct srnic_qp *qp, const struct srnic_fault *fault)
{
	unsigned long flags;
	bool first;

	spin_lock_irqsave(&qp->lock, flags);
	first = srnic_state_next(qp->state, SRNIC_EV_FAULT) != qp->state;
	if (first) {
		qp->fault = *fault;
		srnic_state_change(qp, SRNIC_EV_FAULT);
	}
	spin_unlock_irqrestore(&qp->lock, flags);
	if (first) {
		this_cpu_inc(qp->dev->stats->err[fault->err]);
		trace_srnic_fault(qp, fault);
	}
}

void srnic_fail(struct srnic_qp *qp, enum srnic_err err)
{
	const struct srnic_fault fault = { .err = err };

	srnic_fault_record(qp, &fault);
}

/* Returns true if the peer is to get a Terminate for the first error. */
bool srnic_term_is_due(const struct srnic_qp *qp)
{
	return srnic_errs[qp->fault.err].form != SRNIC_TERM_SILENT &&
	       !qp->fault.silent;
}

/*
 * Describe the stream's first error for iw_mpa's log. @sent: TCP has accepted
 * all of srnic's Terminate message.
 */
struct iw_mpa_fault srnic_fault_describe(const struct srnic_qp *qp, bool sent)
{
	const struct srnic_err_row *row = &srnic_errs[qp->fault.err];
	struct iw_mpa_fault why = { .text = row->text };

	if (qp->fault.err == SRNIC_ERR_TERM_RECEIVED) {
		why.text = "the peer found an error";
		why.term = true;
		why.layer = qp->rx.term.layer;
		why.etype = qp->rx.term.etype;
		why.code = qp->rx.term.code;
	} else if (sent) {
		why.term = true;
		why.sent = true;
		why.layer = row->type >> 4;
		why.etype = row->type & 0xf;
		why.code = row->code;
	}
	return why;
}

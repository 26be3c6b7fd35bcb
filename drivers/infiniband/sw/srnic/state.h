/* SPDX-License-Identifier: GPL-2.0 */
/* The state of a QP: read, and changed. */
#ifndef _SRNIC_STATE_H
#define _SRNIC_STATE_H

#include "srnic.h"

enum srnic_state srnic_state_change(struct srnic_qp *qp, enum srnic_event event);
void srnic_state_event(struct srnic_qp *qp, enum srnic_event event);
bool srnic_fault_record(struct srnic_qp *qp, const struct srnic_fault *fault);
bool srnic_fail(struct srnic_qp *qp, enum srnic_err err);

/* May be old by the time that it is used, unless qp->lock is held. */
static inline enum srnic_state srnic_state(const struct srnic_qp *qp)
{
	/* What was written before the state changed is seen: qp->fault, for one. */
	return smp_load_acquire(&qp->state);
}

/* Does RX place, and does the sender build FPDUs? Neither runs in SRNIC_IDLE. */
static inline bool srnic_is_flowing(const struct srnic_qp *qp)
{
	return srnic_state(qp) <= SRNIC_CLOSING;
}

/* Has the stream failed, or does it end? qp->fault does not change any more then. */
static inline bool srnic_has_failed(const struct srnic_qp *qp)
{
	return srnic_state(qp) >= SRNIC_TERMINATE;
}

#endif /* _SRNIC_STATE_H */

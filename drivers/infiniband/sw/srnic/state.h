/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SRNIC_STATE_H
#define _SRNIC_STATE_H

#include "srnic.h"

enum srnic_state srnic_state_change(struct srnic_qp *qp,
				    enum srnic_event event);
void srnic_state_event(struct srnic_qp *qp, enum srnic_event event);
void srnic_fault_record(struct srnic_qp *qp, const struct srnic_fault *fault);
void srnic_fail(struct srnic_qp *qp, enum srnic_err err);
bool srnic_term_is_due(const struct srnic_qp *qp);
struct iw_mpa_fault srnic_fault_describe(const struct srnic_qp *qp, bool sent);

/* Returns qp->state, which without qp->lock may change before it is used. */
static inline enum srnic_state srnic_state(const struct srnic_qp *qp)
{
	/* Acquire: the caller also reads earlier writes, as of qp->fault. */
	return smp_load_acquire(&qp->state);
}

/* True if RX may place and the sender build FPDUs; in IDLE neither runs. */
static inline bool srnic_is_flowing(const struct srnic_qp *qp)
{
	return srnic_state(qp) <= SRNIC_CLOSING;
}

/* True from TERMINATE on: qp->fault does not change any more. */
static inline bool srnic_has_failed(const struct srnic_qp *qp)
{
	return srnic_state(qp) >= SRNIC_TERMINATE;
}

#endif /* _SRNIC_STATE_H */

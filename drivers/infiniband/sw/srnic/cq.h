/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SRNIC_CQ_H
#define _SRNIC_CQ_H

#include "srnic.h"

#define SRNIC_UPCALLS	2	/* completion queues of a QP */

/* What functions that run under locks leave to their callers */
struct srnic_upcalls {
	struct srnic_cq	*cq[SRNIC_UPCALLS]; /* call their handlers; or NULL */
	bool		kick;	/* wake the sender */
	bool		full;	/* a completion was lost */
};

void srnic_cq_put(struct srnic_cq *cq, const struct srnic_cqe *cqe,
		  bool solicited, struct srnic_upcalls *up);
void srnic_cq_call_due(struct srnic_upcalls *up);
void srnic_cq_call_later(struct srnic_upcalls *up);
int srnic_cq_join(struct srnic_cq *cq, u32 entries);
void srnic_cq_leave(struct srnic_cq *cq, u32 entries);
void srnic_cq_forget(struct srnic_cq *cq, const struct ib_qp *qp);
void srnic_cq_setup(struct srnic_cq *cq);

int srnic_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		    struct uverbs_attr_bundle *attrs);
int srnic_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata);
int srnic_poll_cq(struct ib_cq *ibcq, int max, struct ib_wc *wc);
int srnic_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags);

static inline void srnic_cq_call(struct srnic_upcalls *up)
{
	if (up->cq[0])
		srnic_cq_call_due(up);
}

#endif /* _SRNIC_CQ_H */

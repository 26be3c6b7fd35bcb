/* SPDX-License-Identifier: GPL-2.0 */
/* The send queue: posted, taken, sent, answered, retired. */
#ifndef _SRNIC_SQ_H
#define _SRNIC_SQ_H

#include "cq.h"
#include "srnic.h"

int srnic_sq_post(struct srnic_qp *qp, const struct ib_send_wr *wr, const struct ib_send_wr **bad);
void srnic_sq_start(struct srnic_qp *qp);
struct srnic_wqe *srnic_sq_head(struct srnic_qp *qp);
void srnic_sq_limit(struct srnic_qp *qp);
bool srnic_sq_is_at_limit(struct srnic_qp *qp);
bool srnic_sq_may_read(struct srnic_qp *qp, const struct srnic_wqe *wqe);
void srnic_sq_taken(struct srnic_qp *qp, const struct srnic_wqe *wqe);
void srnic_sq_catch_up(struct srnic_qp *qp, struct srnic_upcalls *up);
void srnic_sq_sent(struct srnic_qp *qp, struct srnic_upcalls *up);
void srnic_sq_done(struct srnic_qp *qp, struct srnic_wqe *wqe, enum ib_wc_status status);
bool srnic_sq_expect_rtr(struct srnic_qp *qp);
struct srnic_wqe *srnic_sq_oldest_read(struct srnic_qp *qp, bool *rtr);
void srnic_sq_read_done(struct srnic_qp *qp, struct srnic_wqe *wqe, enum ib_wc_status status,
			struct srnic_upcalls *up);
bool srnic_sq_has_more(const struct srnic_qp *qp);
bool srnic_sq_flush(struct srnic_qp *qp, struct srnic_upcalls *up);
void srnic_sq_discard(struct srnic_qp *qp);
bool srnic_sq_has_reads(struct srnic_qp *qp);
bool srnic_sq_is_empty(struct srnic_qp *qp);

#endif /* _SRNIC_SQ_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SRNIC_SQ_H
#define _SRNIC_SQ_H

#include "cq.h"
#include "srnic.h"

static inline struct srnic_wqe *srnic_sq_wqe(struct srnic_sq *sq, u32 index)
{
	return sq->ring + (index & (sq->size - 1)) * sq->wqe_size;
}

/* Size of a WQE, with room for @sges SGEs and for inline data */
static inline u32 srnic_wqe_size(u32 sges)
{
	return max(sizeof(struct srnic_wqe),
		   offsetof(struct srnic_wqe, sge) +
		   sges * sizeof(struct ib_sge));
}

static inline bool srnic_wqe_is_read(const struct srnic_wqe *wqe)
{
	return wqe->op == SRNIC_WR_READ || wqe->op == SRNIC_WR_READ_INV;
}

int srnic_wqe_fill(const struct srnic_qp *qp, struct srnic_wqe *wqe,
		   const struct ib_send_wr *wr);
void srnic_wqe_fill_user(const struct srnic_qp *qp, struct srnic_wqe *wqe,
			 const struct siw_sqe *sqe);
int srnic_sq_create(struct srnic_sq *sq, u32 entries, u32 sges,
		    struct ib_ucontext *ctx, u64 *key);
void srnic_sq_destroy(struct srnic_sq *sq);
int srnic_sq_post(struct srnic_qp *qp, const struct ib_send_wr *wr,
		  const struct ib_send_wr **bad);
bool srnic_sq_fetch(struct srnic_qp *qp);
struct srnic_wqe *srnic_sq_next(struct srnic_qp *qp);
void srnic_sq_limit(struct srnic_qp *qp);
bool srnic_sq_is_at_limit(const struct srnic_qp *qp);
void srnic_sq_taken(struct srnic_qp *qp, const struct srnic_wqe *wqe);
void srnic_sq_done(struct srnic_qp *qp, struct srnic_wqe *wqe,
		   enum ib_wc_status status);
bool srnic_sq_expect_rtr(struct srnic_qp *qp);
struct srnic_wqe *srnic_sq_oldest_read(struct srnic_qp *qp, bool *rtr);
bool srnic_sq_has_more(const struct srnic_qp *qp);
bool srnic_sq_is_empty(struct srnic_qp *qp);

void srnic_sq_retire(struct srnic_qp *qp, struct srnic_upcalls *up);
void srnic_sq_sent(struct srnic_qp *qp, struct srnic_upcalls *up);
void srnic_retire_read(struct srnic_qp *qp, struct srnic_wqe *wqe,
		       enum ib_wc_status status, struct srnic_upcalls *up);
bool srnic_retire_flush(struct srnic_qp *qp, struct srnic_upcalls *up);
void srnic_retire_discard(struct srnic_qp *qp);

#endif /* _SRNIC_SQ_H */

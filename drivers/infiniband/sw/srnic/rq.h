/* SPDX-License-Identifier: GPL-2.0 */
/* Resources for a peer's Sends and Read Requests: receives and IRD slots */
#ifndef _SRNIC_RQ_H
#define _SRNIC_RQ_H

#include "cq.h"
#include "srnic.h"

int srnic_rq_post(struct srnic_rq *rq, const struct ib_recv_wr *wr,
		  u32 max_sge, const struct ib_recv_wr **bad);
int srnic_rq_take(struct srnic_rq *rq, struct srnic_rwqe *rwqe);
bool srnic_rq_has(const struct srnic_rq *rq, u32 n);
int srnic_recv_take(struct srnic_qp *qp, struct srnic_rwqe *rwqe);
void srnic_recv_complete(struct srnic_qp *qp, u64 id,
			 enum ib_wc_status status, struct srnic_upcalls *up);

static inline u64 srnic_rwqe_size(const struct srnic_rwqe *rwqe)
{
	u64 size = 0;
	u32 i;

	for (i = 0; i < rwqe->num_sge; i++)
		size += rwqe->sge[i].length;
	return size;
}

int srnic_irq_alloc(struct srnic_irq *irq, u16 ird);
void srnic_irq_free(struct srnic_irq *irq);
bool srnic_irq_is_full(const struct srnic_irq *irq);
void srnic_irq_put(struct srnic_irq *irq, const u8 hdr[SRNIC_READ_ULPDU]);
const struct srnic_irqe *srnic_irq_head(const struct srnic_qp *qp);
void srnic_irq_get(struct srnic_irq *irq);

int srnic_rq_create(struct srnic_rq *rq, u32 entries, struct ib_ucontext *ctx,
		    u64 *key);
void srnic_rq_destroy(struct srnic_rq *rq);

int srnic_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init,
		     struct ib_udata *udata);
int srnic_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		     enum ib_srq_attr_mask mask, struct ib_udata *udata);
int srnic_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr);
int srnic_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata);
int srnic_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
			const struct ib_recv_wr **bad);

#endif /* _SRNIC_RQ_H */

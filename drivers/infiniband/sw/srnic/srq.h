/* SPDX-License-Identifier: GPL-2.0 */
/* Shared receive queues, and what queues of all kinds are made of. */
#ifndef _SRNIC_SRQ_H
#define _SRNIC_SRQ_H

#include "srnic.h"

int srnic_rq_create(struct srnic_rq *rq, u32 entries, struct ib_ucontext *ctx, u64 *key);
void srnic_rq_destroy(struct srnic_rq *rq);

int srnic_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init,
		     struct ib_udata *udata);
int srnic_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		     enum ib_srq_attr_mask mask, struct ib_udata *udata);
int srnic_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr);
int srnic_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata);
int srnic_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
			const struct ib_recv_wr **bad);

#endif /* _SRNIC_SRQ_H */

/* SPDX-License-Identifier: GPL-2.0 */
/* Receive queues: posted to, taken from. */
#ifndef _SRNIC_RQ_H
#define _SRNIC_RQ_H

#include "srnic.h"

int srnic_rq_post(struct srnic_rq *rq, const struct ib_recv_wr *wr, u32 max_sge,
		  const struct ib_recv_wr **bad);
int srnic_rq_take(struct srnic_rq *rq, struct srnic_rwqe *rwqe);
bool srnic_rq_has(const struct srnic_rq *rq, u32 n);
void srnic_srq_look(struct srnic_srq *srq);

static inline u64 srnic_rwqe_size(const struct srnic_rwqe *rwqe)
{
	u64 size = 0;
	u32 i;

	for (i = 0; i < rwqe->num_sge; i++)
		size += rwqe->sge[i].length;
	return size;
}

#endif /* _SRNIC_RQ_H */

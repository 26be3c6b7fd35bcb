/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SRNIC_WQE_H
#define _SRNIC_WQE_H

#include "srnic.h"

int srnic_wqe_fill(const struct srnic_qp *qp, struct srnic_wqe *wqe,
		   const struct ib_send_wr *wr);
void srnic_wqe_fill_user(const struct srnic_qp *qp, struct srnic_wqe *wqe,
			 const struct siw_sqe *sqe);

static inline bool srnic_wqe_is_read(const struct srnic_wqe *wqe)
{
	return wqe->op == SRNIC_WR_READ || wqe->op == SRNIC_WR_READ_INV;
}

#endif /* _SRNIC_WQE_H */

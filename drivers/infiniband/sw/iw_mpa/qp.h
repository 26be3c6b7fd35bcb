/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IW_MPA_QP_H
#define _IW_MPA_QP_H

#include <rdma/ib_verbs.h>

struct iw_mpa_ep;

/* Return: the QP of a number, without a reference; NULL if there is none, or it is going. */
static inline struct ib_qp *iw_mpa_qp_find(struct ib_device *ibdev, u32 qpn)
{
	return ibdev->ops.iw_get_qp(ibdev, qpn);
}

static inline void iw_mpa_qp_put(struct ib_qp *qp)
{
	qp->device->ops.iw_rem_ref(qp);
}

int iw_mpa_qp_bind(struct iw_mpa_ep *ep, u32 qpn);
void iw_mpa_qp_unbind(struct iw_mpa_ep *ep);

#endif /* _IW_MPA_QP_H */

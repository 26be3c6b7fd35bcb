/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IW_MPA_QP_H
#define _IW_MPA_QP_H

#include <linux/types.h>

struct iw_mpa_ep;

int iw_mpa_qp_bind(struct iw_mpa_ep *ep, u32 qpn);
void iw_mpa_qp_unbind(struct iw_mpa_ep *ep);

#endif /* _IW_MPA_QP_H */

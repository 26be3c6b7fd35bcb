/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IW_MPA_QP_H
#define _IW_MPA_QP_H

#include <linux/types.h>

struct ib_qp;
struct iw_mpa_device;
struct iw_mpa_ep;

int iw_mpa_qp_bind(struct iw_mpa_ep *ep, u32 qpn);
void iw_mpa_qp_unbind(struct iw_mpa_ep *ep);
void iw_mpa_qp_give_back(struct iw_mpa_device *dev, u32 qpn);
void iw_mpa_qp_forget_debts(struct iw_mpa_device *dev);

#endif /* _IW_MPA_QP_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IW_MPA_QP_H
#define _IW_MPA_QP_H

#include <linux/types.h>

struct ib_qp;
struct iw_cm_id;
struct iw_mpa_device;
struct iw_mpa_ep;

int iw_mpa_qp_bind(struct iw_mpa_ep *ep, u32 qpn);
void iw_mpa_qp_unbind(struct iw_mpa_ep *ep);
struct iw_mpa_ep *iw_mpa_qp_find(struct iw_mpa_device *dev, const struct iw_cm_id *id);
void iw_mpa_qp_end(struct iw_mpa_device *dev, struct ib_qp *qp);
void iw_mpa_qp_owe(struct iw_mpa_device *dev, u32 qpn);
void iw_mpa_qp_forget_debts(struct iw_mpa_device *dev);

#endif /* _IW_MPA_QP_H */

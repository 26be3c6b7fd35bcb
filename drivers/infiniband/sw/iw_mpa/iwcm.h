/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Facts about a cm_id that iw_cm does not report: see iwcm_faults.c. With the
 * patches in scripts/test/series/iw_mpa iw_cm reports them, and the file iwcm.h
 * of that folder replaces this one.
 */
#ifndef _IW_MPA_IWCM_H
#define _IW_MPA_IWCM_H

#include "ep.h"

struct iw_cm_id;
struct iw_mpa_device;
struct iw_mpa_qp_end;
struct net;

int iw_mpa_iwcm_accept_again(struct iw_cm_id *id, unsigned long word, u32 qpn);
int iw_mpa_iwcm_accepted(struct iw_cm_id *id, unsigned long word, int err,
			 u32 qpn);
struct iw_mpa_ep *iw_mpa_iwcm_find(struct iw_cm_id *id);
void iw_mpa_iwcm_qp_gone(struct iw_mpa_qp_end *end);
void iw_mpa_iwcm_qp_freed(struct iw_mpa_qp_end *end);
void iw_mpa_iwcm_device_gone(const struct iw_mpa_device *dev);

bool iw_mpa_iwcm_is_foreign(struct iw_cm_id *id, const struct net *net);
struct net *iw_mpa_iwcm_get_net(struct iw_mpa_device *dev, struct iw_cm_id *id);
int iw_mpa_iwcm_ifindex(struct iw_cm_id *id);
void iw_mpa_iwcm_keep_requests(struct iw_cm_id *id);
int iw_mpa_iwcm_check_device(struct iw_mpa_ep *ep);

#endif /* _IW_MPA_IWCM_H */

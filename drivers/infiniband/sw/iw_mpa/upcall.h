/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IW_MPA_UPCALL_H
#define _IW_MPA_UPCALL_H

#include "ep.h"

struct ib_device;
struct iw_cm_id;
struct net;

void iw_mpa_upcall_expect(struct iw_mpa_ep *ep, struct iw_cm_id *id);
void iw_mpa_upcall_cancel(struct iw_mpa_ep *ep);
int iw_mpa_upcall_request(struct iw_mpa_ep *ep, struct iw_cm_id *listen_id);
int iw_mpa_upcall_up(struct iw_mpa_ep *ep);
void iw_mpa_upcall_down(struct iw_mpa_ep *ep);

bool iw_mpa_upcall_is_foreign(struct iw_cm_id *id, const struct net *net);
struct net *iw_mpa_upcall_get_net(struct iw_cm_id *id);
int iw_mpa_upcall_ifindex(struct iw_cm_id *id);
void iw_mpa_upcall_keep_requests(struct iw_cm_id *id);
const struct ib_device *iw_mpa_upcall_device(struct iw_cm_id *id);

#endif /* _IW_MPA_UPCALL_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IW_MPA_IWCM_FAULTS_H
#define _IW_MPA_IWCM_FAULTS_H

#include "ep.h"

struct ib_device;
struct iw_cm_id;
struct iw_mpa_device;
struct iw_mpa_qp_end;
struct net;

int iw_mpa_faults_accept(struct iw_cm_id *id, unsigned long word, u32 qpn);
int iw_mpa_faults_accepted(struct iw_cm_id *id, unsigned long word, int err, u32 qpn);
struct iw_mpa_ep *iw_mpa_faults_reject(struct iw_cm_id *id);
void iw_mpa_faults_qp_gone(struct iw_mpa_device *dev, struct iw_mpa_qp_end *end);
void iw_mpa_faults_qp_freed(struct iw_mpa_device *dev, struct iw_mpa_qp_end *end);
void iw_mpa_faults_forget_debts(struct iw_mpa_device *dev);

bool iw_mpa_faults_is_foreign(struct iw_cm_id *id, const struct net *net);
struct net *iw_mpa_faults_get_net(struct iw_mpa_device *dev, struct iw_cm_id *id);
int iw_mpa_faults_ifindex(struct iw_cm_id *id);
void iw_mpa_faults_keep_requests(struct iw_cm_id *id);
const struct ib_device *iw_mpa_faults_device(struct iw_cm_id *id);

/*
 * Was iw_reject called? Then iw_cm has left the state in which it takes an event of the connection.
 * So none is raised from now on, as if iw_cm had dropped it. What the connection does is up to its
 * state machine.
 */
static inline bool iw_mpa_faults_is_rejected(const struct iw_mpa_ep *ep)
{
	return READ_ONCE(ep->up.rejected);
}

#endif /* _IW_MPA_IWCM_FAULTS_H */

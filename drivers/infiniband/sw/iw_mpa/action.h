/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IW_MPA_ACTION_H
#define _IW_MPA_ACTION_H

#include <linux/socket.h>

#include "fsm.h"

struct iw_cm_id;
struct iw_mpa_ep;

/**
 * struct iw_mpa_indication - what CONNECT_REQUEST needs, collected by the runner
 * @listen_id: the listener's cm_id, held
 * @provider_data: for the new cm_id
 * @local: local address
 * @remote: remote address
 */
struct iw_mpa_indication {
	struct iw_cm_id		*listen_id;
	void			*provider_data;
	struct sockaddr_storage	local;
	struct sockaddr_storage	remote;
};

enum iw_mpa_event iw_mpa_act(struct iw_mpa_ep *ep, u32 actions);
int iw_mpa_act_open(struct iw_mpa_ep *ep);
int iw_mpa_act_prepare_indication(struct iw_mpa_ep *ep,
				  struct iw_mpa_indication *ind);
void iw_mpa_act_cancel_indication(struct iw_mpa_ep *ep,
				  struct iw_mpa_indication *ind);
int iw_mpa_act_indicate(struct iw_mpa_ep *ep, struct iw_mpa_indication *ind);

#endif /* _IW_MPA_ACTION_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IW_MPA_STARTUP_H
#define _IW_MPA_STARTUP_H

#include "fsm.h"

struct iw_mpa_ep;

enum iw_mpa_event iw_mpa_startup_send_request(struct iw_mpa_ep *ep);
enum iw_mpa_event iw_mpa_startup_read_request(struct iw_mpa_ep *ep);
enum iw_mpa_event iw_mpa_startup_read_reply(struct iw_mpa_ep *ep);
int iw_mpa_startup_make_reply(struct iw_mpa_ep *ep, u8 buf[IW_MPA_FRAME_MAX]);
void iw_mpa_startup_send_reject(struct iw_mpa_ep *ep);
void iw_mpa_startup_send_term(struct iw_mpa_ep *ep);
void iw_mpa_startup_end(struct iw_mpa_ep *ep);

#endif /* _IW_MPA_STARTUP_H */

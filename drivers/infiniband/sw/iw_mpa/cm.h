/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IW_MPA_CM_H
#define _IW_MPA_CM_H

#include <linux/types.h>

struct iw_cm_conn_param;
struct iw_cm_id;

int iw_mpa_connect(struct iw_cm_id *id, struct iw_cm_conn_param *param);
int iw_mpa_accept(struct iw_cm_id *id, struct iw_cm_conn_param *param);
int iw_mpa_reject(struct iw_cm_id *id, const void *pd, u8 pd_len);

#endif /* _IW_MPA_CM_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IW_MPA_CONNECT_H
#define _IW_MPA_CONNECT_H

struct iw_cm_conn_param;
struct iw_cm_id;

int iw_mpa_connect(struct iw_cm_id *id, struct iw_cm_conn_param *param);

#endif /* _IW_MPA_CONNECT_H */

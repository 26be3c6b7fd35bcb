/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IW_MPA_LISTEN_H
#define _IW_MPA_LISTEN_H

struct iw_cm_id;

int iw_mpa_create_listen(struct iw_cm_id *id, int backlog);
int iw_mpa_destroy_listen(struct iw_cm_id *id);
int iw_mpa_listen_init(void);
void iw_mpa_listen_exit(void);

#endif /* _IW_MPA_LISTEN_H */

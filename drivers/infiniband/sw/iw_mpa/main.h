/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IW_MPA_MAIN_H
#define _IW_MPA_MAIN_H

#include <linux/types.h>

struct attribute_group;
struct ib_client;
struct ib_device;
struct ib_device_ops;
struct iw_cm_conn_param;
struct iw_cm_id;
struct iw_mpa_device;
struct rdma_hw_stats;

/* cm.c */
int iw_mpa_connect(struct iw_cm_id *id, struct iw_cm_conn_param *param);
int iw_mpa_accept(struct iw_cm_id *id, struct iw_cm_conn_param *param);
int iw_mpa_reject(struct iw_cm_id *id, const void *pd, u8 pd_len);

/* show.c */
bool iw_mpa_show_check(const struct ib_device_ops *ops);
void iw_mpa_show_init(void);
void iw_mpa_show_exit(void);
struct rdma_hw_stats *iw_mpa_alloc_hw_port_stats(struct ib_device *ibdev,
						 u32 port_num);
int iw_mpa_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats,
			u32 port_num, int index);

/* register.c */
extern const struct attribute_group iw_mpa_device_group;
extern struct ib_client iw_mpa_device_client;

/* listen.c */
int iw_mpa_create_listen(struct iw_cm_id *id, int backlog);
int iw_mpa_destroy_listen(struct iw_cm_id *id);
void iw_mpa_listen_end(struct iw_mpa_device *dev);

#endif /* _IW_MPA_MAIN_H */

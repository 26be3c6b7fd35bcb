/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IW_MPA_SHOW_H
#define _IW_MPA_SHOW_H

#include <linux/types.h>

struct ib_device;
struct ib_device_ops;
struct rdma_hw_stats;

bool iw_mpa_show_check(const struct ib_device_ops *ops);
void iw_mpa_show_init(void);
void iw_mpa_show_exit(void);
struct rdma_hw_stats *iw_mpa_alloc_hw_port_stats(struct ib_device *ibdev,
						 u32 port_num);
int iw_mpa_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats,
			u32 port_num, int index);

#endif /* _IW_MPA_SHOW_H */

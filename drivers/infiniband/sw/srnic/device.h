/* SPDX-License-Identifier: GPL-2.0 */
/* RDMA devices: added to network devices, and following them. */
#ifndef _SRNIC_DEVICE_H
#define _SRNIC_DEVICE_H

int srnic_device_init(void);
void srnic_device_exit(void);

#endif /* _SRNIC_DEVICE_H */

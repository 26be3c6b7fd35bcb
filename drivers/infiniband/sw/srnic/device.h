/* SPDX-License-Identifier: GPL-2.0 */
/* Devices, and drivers that cannot be loaded beside this one. */
#ifndef _SRNIC_DEVICE_H
#define _SRNIC_DEVICE_H

int srnic_device_init(void);
void srnic_device_exit(void);

int srnic_rival_init(void);
void srnic_rival_exit(void);
int srnic_rival_look(void);

#endif /* _SRNIC_DEVICE_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IW_MPA_REGISTER_H
#define _IW_MPA_REGISTER_H

struct attribute_group;

extern const struct attribute_group iw_mpa_device_group;

int iw_mpa_device_init(void);
void iw_mpa_device_exit(void);

#endif /* _IW_MPA_REGISTER_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IW_MPA_DEVICE_H
#define _IW_MPA_DEVICE_H

struct attribute_group;

extern const struct attribute_group iw_mpa_device_group;

#endif /* _IW_MPA_DEVICE_H */

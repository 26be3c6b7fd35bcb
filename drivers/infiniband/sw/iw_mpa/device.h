/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IW_MPA_DEVICE_H
#define _IW_MPA_DEVICE_H

struct attribute_group;
struct ib_device;
struct iw_mpa_device;

extern const struct attribute_group iw_mpa_device_group;

struct iw_mpa_device *iw_mpa_device_get(const struct ib_device *ibdev);
int iw_mpa_device_for_each(int (*look)(struct iw_mpa_device *dev, void *arg),
			   void *arg);

#endif /* _IW_MPA_DEVICE_H */

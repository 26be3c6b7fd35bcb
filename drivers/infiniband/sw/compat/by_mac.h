/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Kbuild includes this before register.c for kernels whose rdma_cm finds a device by its GID, which
 * is the MAC address of its interface. Of several devices with the same MAC address such an rdma_cm
 * takes the first.
 */
#ifndef _COMPAT_BY_MAC_H
#define _COMPAT_BY_MAC_H

#include "../iw_mpa/device.h"

static inline bool compat_passes_for(const struct iw_mpa_device *first,
				     const struct iw_mpa_device *dev)
{
	const struct net_device *theirs = first->netdev, *ours = dev->netdev;

	return theirs->addr_len == ours->addr_len &&
	       !memcmp(theirs->dev_addr, ours->dev_addr, ours->addr_len);
}

#define iw_mpa_device_passes_for compat_passes_for

#endif /* _COMPAT_BY_MAC_H */

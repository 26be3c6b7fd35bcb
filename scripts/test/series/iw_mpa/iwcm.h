/* SPDX-License-Identifier: GPL-2.0 */
/* What iw_mpa reads from a cm_id of an iw_cm with this series' patches */
#ifndef _IW_MPA_IWCM_H
#define _IW_MPA_IWCM_H

#include "ep.h"

#include <net/net_namespace.h>
#include <rdma/iw_cm.h>

struct iw_mpa_device;

/* Return: the connection of a passive cm_id, or NULL if it has ended. */
static inline struct iw_mpa_ep *iw_mpa_iwcm_find(struct iw_cm_id *id)
{
	return iw_mpa_ep_find((unsigned long)READ_ONCE(id->provider_data));
}

/*
 * Is the ULP in another network namespace than @net, the device's? For a
 * wildcard listener rdma_cm makes a cm_id on each device, whatever its netns.
 */
static inline bool iw_mpa_iwcm_is_foreign(struct iw_cm_id *id,
					  const struct net *net)
{
	return !net_eq(id->net, net);
}

/* Return: the namespace of the ULP, with a reference. */
static inline struct net *iw_mpa_iwcm_get_net(struct iw_mpa_device *dev,
					      struct iw_cm_id *id)
{
	return get_net(id->net);
}

/* Return: the interface that rdma_cm has chosen; 0: any. */
static inline int iw_mpa_iwcm_ifindex(struct iw_cm_id *id)
{
	return id->bound_dev_if;
}

#endif /* _IW_MPA_IWCM_H */

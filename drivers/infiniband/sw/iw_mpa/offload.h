/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IW_MPA_OFFLOAD_H
#define _IW_MPA_OFFLOAD_H

#include "ep.h"
#include "device.h"

const char *iw_mpa_offload_check(const struct iw_mpa_driver_ops *drv,
				 const struct iw_mpa_device_attr *attr);
enum iw_mpa_event iw_mpa_offload_active(struct iw_mpa_ep *ep);
enum iw_mpa_event iw_mpa_offload_passive(struct iw_mpa_ep *ep, bool fence,
					 const void *reply, size_t len);
void iw_mpa_offload_open_tx(struct iw_mpa_ep *ep);
bool iw_mpa_offload_is_answered(const struct iw_mpa_ep *ep);
void iw_mpa_offload_repeat_rtr(struct iw_mpa_ep *ep);
void iw_mpa_offload_stop(struct iw_mpa_ep *ep, enum iw_mpa_reason why);
bool iw_mpa_offload_is_untouched(const struct iw_mpa_ep *ep);

/* Call kick_rx(), but not if the device runs TCP: it has the bytes itself. */
static inline void iw_mpa_offload_kick_rx(struct iw_mpa_ep *ep)
{
	if (ep->dev->ops->kick_rx && ep->sock.sock)
		ep->dev->ops->kick_rx(ep->off.qp);
}

/*
 * Have the driver send all posted work. Return: IW_MPA_EV_NONE, then the driver
 * calls iw_mpa_tx_finished() once TCP has all of it; or IW_MPA_EV_CANNOT_FINISH
 * if the driver has no finish_tx().
 */
static inline enum iw_mpa_event iw_mpa_offload_finish_tx(struct iw_mpa_ep *ep)
{
	if (!ep->dev->ops->finish_tx)
		return IW_MPA_EV_CANNOT_FINISH;
	ep->dev->ops->finish_tx(ep->off.qp);
	return IW_MPA_EV_NONE;
}

#endif /* _IW_MPA_OFFLOAD_H */

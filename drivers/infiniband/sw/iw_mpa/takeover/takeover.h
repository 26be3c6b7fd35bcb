/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For devices that take TCP connections over. Once a connection was taken over,
 * its struct iw_mpa_ep has no socket: the socket belongs to ep->takeover.
 */
#ifndef _IW_MPA_TAKEOVER_H
#define _IW_MPA_TAKEOVER_H

#include "../device.h"
#include "../ep.h"

/*
 * iw_mpa is built with or without takeover. Without it iw_mpa_takeover_is_due()
 * and iw_mpa_takeover_is_on() return false, and the compiler drops the calls
 * that depend on them.
 */
static inline bool iw_mpa_takeover_is_due(const struct iw_mpa_device *dev)
{
	return IS_ENABLED(CONFIG_IW_MPA_TAKEOVER) && dev->takeovers;
}

/* Return: true while TCP is shut off for a takeover, or the device has TCP. */
static inline bool iw_mpa_takeover_is_on(const struct iw_mpa_ep *ep)
{
	return IS_ENABLED(CONFIG_IW_MPA_TAKEOVER) && ep->takeover;
}

const char *iw_mpa_takeover_check(const struct iw_mpa_driver_ops *drv,
				  const struct iw_mpa_takeover_ops *ops);
int iw_mpa_takeovers_begin(struct iw_mpa_device *dev);
void iw_mpa_takeovers_end(struct iw_mpa_device *dev);

enum iw_mpa_reason iw_mpa_takeover_shut_off(struct iw_mpa_ep *ep,
					    struct iw_mpa_handoff *ho,
					    int *err);
void iw_mpa_takeover_settle(struct iw_mpa_ep *ep, bool taken);
int iw_mpa_takeover_send_reply(struct iw_mpa_ep *ep, const void *reply,
			       size_t len);
void iw_mpa_takeover_put(struct iw_mpa_ep *ep);

#endif /* _IW_MPA_TAKEOVER_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SRNIC_COMPAT_LINUX_SKBUFF_H
#define _SRNIC_COMPAT_LINUX_SKBUFF_H

#include_next <linux/skbuff.h>

/* Since Linux 6.12 bytes of an skb may be in memory of a device: unreadable. */
#ifndef SRNIC_HAS_FRAGS_READABLE
static inline bool skb_frags_readable(const struct sk_buff *skb)
{
	return true;
}
#endif

#endif /* _SRNIC_COMPAT_LINUX_SKBUFF_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _COMPAT_TRACE_EVENTS_SOCK_H
#define _COMPAT_TRACE_EVENTS_SOCK_H

#include_next <trace/events/sock.h>

#ifndef COMPAT_HAS_TRACE_DATA_READY
static inline void trace_sk_data_ready(const struct sock *sk)
{
}
#endif

#endif

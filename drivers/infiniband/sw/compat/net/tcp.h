/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _COMPAT_NET_TCP_H
#define _COMPAT_NET_TCP_H

#include_next <net/tcp.h>

/*
 * Older kernels have TCP time stamps in milliseconds only, and no flag tcp_usec_ts. A check of the
 * flag reads recvmsg_inq instead, which only an application can set: on iw_mpa's sockets it is 0.
 */
#ifndef COMPAT_HAS_TCP_CLOCK_TS
#define tcp_usec_ts recvmsg_inq

static inline u32 tcp_clock_ts(bool usec_ts)
{
	return tcp_time_stamp_raw();
}
#endif

/* In older kernels __tcp_send_ack() has no argument for flags of ECN. */
#ifndef COMPAT_HAS_TCP_SEND_ACK_FLAGS
#define __tcp_send_ack(sk, rcv_nxt, flags) __tcp_send_ack(sk, rcv_nxt)
#endif

/* Newer kernels have two modes of ECN, older ones one. */
#ifndef COMPAT_HAS_TCP_ECN_MODE
static inline bool tcp_ecn_mode_any(const struct tcp_sock *tp)
{
	return tp->ecn_flags & TCP_ECN_OK;
}
#endif

/* tcp_reset_keepalive_timer() has this name in older kernels. Only a KUnit suite sets the timer. */
#ifndef COMPAT_HAS_TCP_RESET_KEEPALIVE
#define tcp_reset_keepalive_timer inet_csk_reset_keepalive_timer
#endif

#endif

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For devices that take TCP connections over: the record of a connection that
 * leaves the host's TCP, functions of the driver, and functions that the driver
 * calls. <rdma/iw_mpa.h> includes this file.
 */
#ifndef _RDMA_IW_MPA_TCB_H
#define _RDMA_IW_MPA_TCB_H

#include <linux/bits.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/types.h>

struct dst_entry;
struct ib_qp;
struct iw_mpa_ep;
struct iw_mpa_takeover;
struct sock;

/* TCP options that both ends may have agreed on, as sets */
#define IW_MPA_TCP_TIMESTAMPS	BIT(0)	/* RFC 7323 3 */
#define IW_MPA_TCP_WSCALE	BIT(1)	/* RFC 7323 2 */
#define IW_MPA_TCP_SACK		BIT(2)	/* RFC 2018 */
#define IW_MPA_TCP_ECN		BIT(3)	/* RFC 3168, and what extends it */
#define IW_MPA_TCP_ALL		(IW_MPA_TCP_TIMESTAMPS | IW_MPA_TCP_WSCALE | \
				 IW_MPA_TCP_SACK | IW_MPA_TCP_ECN)

#define IW_MPA_TCP_CC_NAME	16	/* with its NUL */

/**
 * union iw_mpa_addr - an address and port
 * @sa: its family, AF_INET or AF_INET6
 * @in: IPv4
 * @in6: IPv6
 */
union iw_mpa_addr {
	struct sockaddr		sa;
	struct sockaddr_in	in;
	struct sockaddr_in6	in6;
};

/**
 * struct iw_mpa_path - the route of a connection's packets
 * @dst: the route, on which iw_mpa has a reference as long as the path is
 *	valid; NULL: there is no route any more, and the rest is zero
 * @ifindex: interface that the route leads to
 * @mtu: of the route, in bytes of an IP packet
 * @lladdr: link-layer address of the next hop, if @lladdr_known
 * @lladdr_known: @lladdr is known; otherwise the host is asking for it
 *
 * The path may change at any time: see path_changed of
 * &struct iw_mpa_takeover_ops.
 */
struct iw_mpa_path {
	struct dst_entry	*dst;
	int			ifindex;
	u32			mtu;
	u8			lladdr[ETH_ALEN];
	bool			lladdr_known;
};

/**
 * struct iw_mpa_tcb - a TCP connection as the host's TCP left it
 * @local: this end; an IPv4 connection of an IPv6 socket has IPv4 addresses
 * @remote: the peer
 *
 * @snd_una: sequence number of the first byte that is not acknowledged
 * @snd_nxt: sequence number of the next byte to be sent; equal to @snd_una:
 *	nothing is on its way, and nothing waits to be sent (Linux: write_seq)
 * @snd_wl1: sequence number of the segment that has updated @snd_wnd last
 *	(RFC 9293 3.10.7.4)
 * @snd_wnd: the peer's window after @snd_una, in bytes, scale applied
 * @snd_wnd_max: largest window that the peer has ever advertised, in bytes
 * @rcv_nxt: sequence number of the next byte of the peer: the one after @rx
 * @copied_seq: sequence number of the next byte that was not processed: the
 *	first of @rx, or @rcv_nxt
 * @rcv_wup: what was acknowledged last. If it differs from @rcv_nxt, which is
 *	rare, an acknowledgment is due, but no timer of the host runs for it
 * @rcv_wnd: window after @rcv_wup that the peer was granted, in bytes, scale
 *	applied. Its right edge, @rcv_wup + @rcv_wnd, must not move to the left
 *	(RFC 9293 3.8.6)
 * @snd_wscale: shift count of windows that the peer advertises, 0..14; 0
 *	without IW_MPA_TCP_WSCALE
 * @rcv_wscale: shift count of windows that are advertised to the peer
 * @options: what both ends agreed on, a set of IW_MPA_TCP_*
 *
 * @mss_clamp: largest segment that the peer accepts, by its MSS option, in
 *	bytes without headers and with TCP's options
 * @advmss: largest segment that this end accepts, by its own MSS option
 * @mss: bytes of payload of a full segment to be sent: it depends on path and
 *	options, and on @snd_wnd_max if that is small
 *
 * @ts_val: time stamp (TSval) that belongs to the moment of @sampled. Older
 *	time stamps have been sent: later ones must not be smaller (RFC 7323 5)
 * @ts_offset: what TCP adds to the host's clock to get a TSval, in its ticks
 * @ts_tick_us: a tick of the time stamp, in microseconds: 1000 or 1
 * @ts_recent: the peer's time stamp to echo (TSecr); 0 if none was seen
 * @ts_recent_age: age of @ts_recent, in seconds; not valid after 24 days
 * @sampled: time of the sample by ktime_get_ns(), in nanoseconds
 *
 * @cwnd: congestion window, in segments of @mss bytes
 * @ssthresh: slow start threshold, in segments; 0x7fffffff if there is none
 * @srtt_us: smoothed round-trip time, in microseconds; 0 if none was measured
 * @rttvar_us: its mean deviation, in microseconds
 * @rto_us: retransmission timeout, in microseconds
 * @cc: name of the congestion control
 *
 * @keepalive: probes are wanted
 * @keepidle_s: idle time before the first probe, in seconds
 * @keepintvl_s: time between two probes, in seconds
 * @keepcnt: how many probes without an answer end the connection
 * @user_timeout_ms: how long bytes may stay unacknowledged, in milliseconds; 0:
 *	the system's setting
 *
 * @tos: type of service or traffic class, with the bits of ECN 0
 * @ttl: time to live or hop limit
 * @flowlabel: IPv6 flow label of the socket; 0: the sender's to choose, or IPv4
 * @mark: of the socket, for routing and filters
 * @priority: of the socket, for queueing
 * @path: route and next hop
 *
 * @rx: bytes that the host has acknowledged and not processed, or NULL
 * @rx_len: how many
 * @rx_dropped: bytes that arrived after a gap. They are not in @rx: the peer
 *	has to send them again, and must be ready to do so (RFC 2018 8)
 *
 * The state is ESTABLISHED: no other is taken over. All numbers are in host
 * order, addresses and @flowlabel in network order. All members are sampled at
 * one moment, under the socket's lock, when the host's TCP is shut off.
 */
struct iw_mpa_tcb {
	union iw_mpa_addr	local;
	union iw_mpa_addr	remote;

	u32			snd_una;
	u32			snd_nxt;
	u32			snd_wl1;
	u32			snd_wnd;
	u32			snd_wnd_max;
	u32			rcv_nxt;
	u32			copied_seq;
	u32			rcv_wup;
	u32			rcv_wnd;
	u8			snd_wscale;
	u8			rcv_wscale;
	u8			options;

	u16			mss_clamp;
	u16			advmss;
	u32			mss;

	u32			ts_val;
	u32			ts_offset;
	u32			ts_tick_us;
	u32			ts_recent;
	u32			ts_recent_age;
	u64			sampled;

	u32			cwnd;
	u32			ssthresh;
	u32			srtt_us;
	u32			rttvar_us;
	u32			rto_us;
	char			cc[IW_MPA_TCP_CC_NAME];

	bool			keepalive;
	u32			keepidle_s;
	u32			keepintvl_s;
	u32			keepcnt;
	u32			user_timeout_ms;

	u8			tos;
	u8			ttl;
	__be32			flowlabel;
	u32			mark;
	u32			priority;
	struct iw_mpa_path	path;

	const u8		*rx;
	u32			rx_len;
	u32			rx_dropped;
};

/**
 * struct iw_mpa_takeover_ops - how a device takes TCP connections over
 * @tcp_options: TCP options that the device can go on with, a set of
 *	IW_MPA_TCP_*. A connection with another option stays on the socket if
 *	the driver has attach; else it fails (TCP_OPTION)
 * @hold: Have the device keep the packets of the connection of @sk, from now on
 *	until prepare or let_go. On return the network stack must have the
 *	packets that arrived before. Process context, may sleep, at most once
 *	per connection, before prepare. Return 0 or a negative errno. Optional:
 *	without it the host drops the packets that arrive until the device has
 *	the connection, and the peer has to repeat them.
 * @let_go: The host keeps the connection: pass it the packets that were held,
 *	and all that arrive. Process context, may sleep, once after a hold that
 *	returned 0, if there is no takeover or if prepare fails. Required with
 *	hold.
 * @send_reply: Send the bytes of the MPA Reply, then be ready for FPDUs.
 *	Process context, may sleep, once after prepare. Return 0 or -errno.
 * @path_changed: The path of a connection's packets has changed: @path, valid
 *	within the call, has the interface, the MTU and the next hop. This is
 *	for connections of iw_mpa_stream_watch(), and gets their @priv. It may
 *	be called until iw_mpa_stream_released(), also after stop, and at the
 *	same time as any other op. A lock of iw_mpa is held, and interrupts are
 *	off: must not sleep, and must not call iw_mpa. Optional.
 *
 * The device's attributes point to this structure, which must stay until
 * iw_mpa_unregister_device(). The rules of &struct iw_mpa_driver_ops hold for
 * all but path_changed.
 */
struct iw_mpa_takeover_ops {
	u8	tcp_options;
	int	(*hold)(struct ib_qp *qp, struct sock *sk);
	void	(*let_go)(struct ib_qp *qp);
	int	(*send_reply)(struct ib_qp *qp, const void *reply, size_t len);
	void	(*path_changed)(void *priv, const struct iw_mpa_path *path);
};

void iw_mpa_peer_closed(struct iw_mpa_ep *ep, int err);
void iw_mpa_stream_watch(struct iw_mpa_takeover *takeover, void *priv);
void iw_mpa_stream_released(struct iw_mpa_takeover *takeover);

#endif /* _RDMA_IW_MPA_TCB_H */

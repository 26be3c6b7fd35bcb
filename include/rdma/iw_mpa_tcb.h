/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For devices whose own TCP takes connections over from the host's TCP: the
 * record that describes such a connection, the functions of the driver that
 * iw_mpa calls, and those of iw_mpa that the driver calls. <rdma/iw_mpa.h>
 * includes this file.
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

/* TCP options that both ends of a connection may have agreed on, as sets */
#define IW_MPA_TCP_TIMESTAMPS	BIT(0)	/* RFC 7323 3 */
#define IW_MPA_TCP_WSCALE	BIT(1)	/* RFC 7323 2 */
#define IW_MPA_TCP_SACK		BIT(2)	/* RFC 2018 */
#define IW_MPA_TCP_ECN		BIT(3)	/* RFC 3168 and its extensions */
#define IW_MPA_TCP_ALL		(IW_MPA_TCP_TIMESTAMPS | IW_MPA_TCP_WSCALE | \
				 IW_MPA_TCP_SACK | IW_MPA_TCP_ECN)

#define IW_MPA_TCP_CC_NAME	16	/* with its NUL */

/**
 * union iw_mpa_addr - an address and port
 * @sa: the address family, AF_INET or AF_INET6
 * @in: address and port of IPv4
 * @in6: address and port of IPv6
 */
union iw_mpa_addr {
	struct sockaddr		sa;
	struct sockaddr_in	in;
	struct sockaddr_in6	in6;
};

/**
 * struct iw_mpa_path - the route of a connection's packets to the peer
 * @dst: the route, on which iw_mpa has a reference as long as the path is
 *	valid; NULL if there is no route any more: then the rest is zero
 * @ifindex: index of the interface that the route leads to
 * @mtu: MTU of the route, in bytes of an IP packet
 * @lladdr: link-layer address of the next hop, if @lladdr_known
 * @lladdr_known: false while the host resolves @lladdr, or without Ethernet
 *
 * The path may change at any time. After iw_mpa_stream_watch() iw_mpa reports
 * changes by path_changed of &struct iw_mpa_takeover_ops.
 */
struct iw_mpa_path {
	struct dst_entry	*dst;
	int			ifindex;
	u32			mtu;
	u8			lladdr[ETH_ALEN];
	bool			lladdr_known;
};

/**
 * struct iw_mpa_tcb - record of a TCP connection that the host's TCP gives up
 * @local: address and port of this end; an IPv4 connection of an IPv6 socket
 *	has IPv4 addresses here
 * @remote: address and port of the peer
 *
 * @snd_una: sequence number of the first byte not acknowledged by the peer
 * @snd_nxt: sequence number of the next byte to be sent; equal to @snd_una, as
 *	all sent bytes are acknowledged, and to write_seq of struct tcp_sock, as
 *	no byte waits to be sent
 * @snd_wl1: sequence number of the segment that has updated @snd_wnd last
 *	(RFC 9293 3.10.7.4)
 * @snd_wnd: the peer's window after @snd_una, in bytes, scale applied
 * @snd_wnd_max: largest window that the peer has advertised so far, in bytes
 * @rcv_nxt: sequence number of the next byte of the peer: the one after @rx
 * @copied_seq: sequence number of the first byte of @rx: received, but not
 *	read; equal to @rcv_nxt if there is none
 * @rcv_wup: sequence number that the last acknowledgment had. If it differs
 *	from @rcv_nxt, which is rare, the device has to acknowledge: no timer of
 *	the host will do so
 * @rcv_wnd: window after @rcv_wup that the peer was granted, in bytes, scale
 *	applied. Its right edge, @rcv_wup + @rcv_wnd, must not move to the left
 *	(RFC 9293 3.8.6)
 * @snd_wscale: shift count of windows that the peer advertises, 0..14; 0
 *	without IW_MPA_TCP_WSCALE
 * @rcv_wscale: shift count of windows that this end advertises, 0..14
 * @options: TCP options that both ends agreed on, a set of IW_MPA_TCP_*
 *
 * @mss_clamp: largest segment that the peer's MSS option allows, in bytes;
 *	headers do not count, but TCP's options do
 * @advmss: largest segment that this end's MSS option allows, in bytes
 * @mss: payload of a full segment to the peer, in bytes: it depends on path and
 *	options, and on @snd_wnd_max if that is less than two segments
 *
 * @ts_val: time stamp (TSval) that a segment sent at the time @sampled would
 *	have. The host has sent time stamps up to this one: later ones must not
 *	be smaller (RFC 7323 5)
 * @ts_offset: what TCP adds to the host's clock to get a TSval, in TSval ticks
 * @ts_tick_us: length of a TSval tick, in microseconds: 1000 or 1
 * @ts_recent: the peer's time stamp to echo (TSecr); 0 if the peer sent none
 * @ts_recent_age: age of @ts_recent, in seconds; after 24 days a segment is not
 *	to be checked against @ts_recent (RFC 7323 5.5)
 * @sampled: time at which the record was made: ktime_get_ns(), in nanoseconds
 *
 * @cwnd: congestion window, in segments of @mss bytes
 * @ssthresh: slow start threshold, in segments; 0x7fffffff if there is none
 * @srtt_us: smoothed round-trip time, in microseconds; 0 if none was measured
 * @rttvar_us: mean deviation of the round-trip time, in microseconds
 * @rto_us: retransmission timeout, in microseconds
 * @cc: name of the congestion control algorithm
 *
 * @keepalive: the device has to send keepalive probes
 * @keepidle_s: idle time before the first keepalive probe, in seconds
 * @keepintvl_s: time between two keepalive probes, in seconds
 * @keepcnt: after this many probes without an answer the connection ends
 * @user_timeout_ms: how long sent bytes may stay unacknowledged, in
 *	milliseconds (RFC 5482); 0: as long as the host's tcp_retries2 allows
 *
 * @tos: type of service or traffic class of packets; the bits of ECN are 0
 * @ttl: time to live or hop limit of packets
 * @flowlabel: IPv6 flow label of the socket; 0 if the device chooses one, or
 *	with IPv4
 * @mark: mark of the socket (SO_MARK), for routing and filters
 * @priority: priority of the socket (SO_PRIORITY), for queueing
 * @path: route and next hop of the packets to the peer
 *
 * @rx: bytes before @rcv_nxt that were not read, or NULL. The host's TCP has
 *	acknowledged those before @rcv_wup: the peer does not send them again
 * @rx_len: how many bytes @rx has
 * @rx_dropped: bytes that arrived after a gap, not in @rx. The peer must keep
 *	them even if SACK has reported them, and sends them again (RFC 2018 8)
 *
 * TCP's state is ESTABLISHED: iw_mpa takes no other connection over. All
 * numbers are in host order, addresses, ports and @flowlabel in network order.
 * iw_mpa samples all members at one time, under the socket's lock, as it stops
 * the host's TCP.
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
 * @tcp_options: TCP options that the device supports, a set of IW_MPA_TCP_*. A
 *	connection with another option stays on the socket if the driver has
 *	attach; else iw_mpa ends it (TCP_OPTION)
 * @hold: Have the device keep the packets that arrive for the connection of
 *	@sk, until prepare or let_go. On return the network stack must have the
 *	packets that arrived before. Process context, may sleep, at most once
 *	per connection, before prepare. Return 0 or a negative errno. Optional:
 *	without it the host drops packets that arrive before prepare returns,
 *	and the peer has to send them again.
 * @let_go: The connection stays with the host's TCP: pass the host the packets
 *	that were kept since hold, and all that arrive later. Process context,
 *	may sleep, once after a hold that returned 0, if iw_mpa does not take
 *	the connection over or prepare fails. Required with hold.
 * @send_reply: Send the bytes of a responder's MPA Reply by the device's TCP,
 *	then be ready for FPDUs. Process context, may sleep, once after prepare.
 *	Return 0 or a negative errno.
 * @path_changed: The path of a connection's packets has changed to @path, which
 *	is valid within the call. iw_mpa calls this for connections of
 *	iw_mpa_stream_watch(), with the @priv of that call, until
 *	iw_mpa_stream_released(): also after stop, and at the same time as any
 *	other op. A lock of iw_mpa is held, and interrupts are off: must not
 *	sleep, and must not call iw_mpa. Optional.
 *
 * struct iw_mpa_device_attr points to this structure, which must stay until
 * iw_mpa_unregister_device() has returned. The rules of &struct
 * iw_mpa_driver_ops hold for all functions but path_changed.
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

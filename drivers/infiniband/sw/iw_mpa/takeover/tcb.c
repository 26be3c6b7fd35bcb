// SPDX-License-Identifier: GPL-2.0
/*
 * This file reads the state of a TCP connection from the host's TCP, and does
 * not change it. Received bytes are copied out of the receive queue, since a
 * read from the socket would send a window update.
 */

#include "tcb.h"
#include "../sock.h"
#include "path.h"

#include <linux/errno.h>
#include <linux/ktime.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <net/dst.h>
#include <net/inet_connection_sock.h>
#include <net/ipv6.h>
#include <net/route.h>
#include <net/tcp.h>

/* TCP options that both ends agreed on; the handshake has fixed them. */
u8 iw_mpa_tcb_options(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u8 options = 0;

	if (tp->rx_opt.tstamp_ok)
		options |= IW_MPA_TCP_TIMESTAMPS;
	if (tp->rx_opt.wscale_ok)
		options |= IW_MPA_TCP_WSCALE;
	if (tp->rx_opt.sack_ok)
		options |= IW_MPA_TCP_SACK;
	if (tcp_ecn_mode_any(tp))
		options |= IW_MPA_TCP_ECN;
	return options;
}

/*
 * Can struct iw_mpa_tcb describe the whole connection? Not if the peer has not
 * acknowledged all bytes of this end, if either end has sent FIN, or if there
 * is urgent data. The socket is locked.
 */
bool iw_mpa_tcb_is_at_rest(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return sk->sk_state == TCP_ESTABLISHED &&
	       !(sk->sk_shutdown & RCV_SHUTDOWN) &&
	       tp->snd_una == tp->write_seq && !tp->urg_data;
}

static void tcb_read_seq(const struct sock *sk, struct iw_mpa_tcb *tcb)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	tcb->snd_una = tp->snd_una;
	tcb->snd_nxt = tp->snd_nxt;
	tcb->snd_wl1 = tp->snd_wl1;
	tcb->snd_wnd = tp->snd_wnd;
	tcb->snd_wnd_max = tp->max_window;
	tcb->rcv_nxt = tp->rcv_nxt;
	tcb->copied_seq = tp->copied_seq;
	tcb->rcv_wup = tp->rcv_wup;
	tcb->rcv_wnd = tp->rcv_wnd;
	tcb->snd_wscale = tp->rx_opt.wscale_ok ? tp->rx_opt.snd_wscale : 0;
	tcb->rcv_wscale = tp->rx_opt.wscale_ok ? tp->rx_opt.rcv_wscale : 0;
	tcb->mss_clamp = tp->rx_opt.mss_clamp;
	tcb->advmss = tp->advmss;
	tcb->mss = tp->mss_cache;
	tcb->options = iw_mpa_tcb_options(sk);
}

static void tcb_read_timestamps(const struct tcp_sock *tp,
				struct iw_mpa_tcb *tcb)
{
	bool us = tp->tcp_usec_ts;

	tcb->sampled = ktime_get_ns();
	tcb->ts_offset = tp->tsoffset;
	tcb->ts_tick_us = us ? 1 : USEC_PER_MSEC;
	tcb->ts_val = tcp_clock_ts(us) + tp->tsoffset;
	tcb->ts_recent = tp->rx_opt.ts_recent;
	if (tp->rx_opt.ts_recent_stamp)
		tcb->ts_recent_age = ktime_get_seconds() -
				     tp->rx_opt.ts_recent_stamp;
}

static void tcb_read_congestion(const struct sock *sk, struct iw_mpa_tcb *tcb)
{
	const struct inet_connection_sock *icsk = inet_csk(sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	BUILD_BUG_ON(IW_MPA_TCP_CC_NAME != TCP_CA_NAME_MAX);
	tcb->cwnd = tcp_snd_cwnd(tp);
	tcb->ssthresh = tp->snd_ssthresh;
	/* TCP has the smoothed RTT times 8, its deviation times 4. */
	tcb->srtt_us = tp->srtt_us >> 3;
	tcb->rttvar_us = tp->mdev_us >> 2;
	tcb->rto_us = jiffies_to_usecs(icsk->icsk_rto);
	strscpy(tcb->cc, icsk->icsk_ca_ops->name, sizeof(tcb->cc));
}

static void tcb_read_keepalive(const struct sock *sk, struct iw_mpa_tcb *tcb)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	tcb->keepalive = sock_flag(sk, SOCK_KEEPOPEN);
	tcb->keepidle_s = keepalive_time_when(tp) / HZ;
	tcb->keepintvl_s = keepalive_intvl_when(tp) / HZ;
	tcb->keepcnt = keepalive_probes(tp);
	tcb->user_timeout_ms = inet_csk(sk)->icsk_user_timeout;
}

/* If the socket has no TTL or hop limit of its own, use that of the route. */
static void tcb_read_ttl(struct iw_mpa_tcb *tcb)
{
	struct dst_entry *dst = tcb->path.dst;

	if (tcb->ttl || !dst)
		return;
	if (IS_ENABLED(CONFIG_IPV6) && tcb->remote.sa.sa_family == AF_INET6)
		tcb->ttl = ip6_dst_hoplimit(dst);
	else
		tcb->ttl = ip4_dst_hoplimit(dst);
}

static void tcb_read_ip(struct sock *sk, struct iw_mpa_tcb *tcb)
{
	const struct inet_sock *inet = inet_sk(sk);
	struct iw_mpa_tuple tuple;

	iw_mpa_sock_tuple(sk->sk_socket, &tuple);
	tcb->local = tuple.local;
	tcb->remote = tuple.remote;
	tcb->mark = READ_ONCE(sk->sk_mark);
	tcb->priority = READ_ONCE(sk->sk_priority);
	if (tcb->remote.sa.sa_family == AF_INET6) {
		const struct ipv6_pinfo *np = inet6_sk(sk);

		tcb->tos = np->tclass & ~INET_ECN_MASK;
		tcb->ttl = np->hop_limit > 0 ? np->hop_limit : 0;
		tcb->flowlabel = np->flow_label & IPV6_FLOWLABEL_MASK;
	} else {
		tcb->tos = inet->tos & ~INET_ECN_MASK;
		tcb->ttl = inet->uc_ttl > 0 ? inet->uc_ttl : 0;
	}
}

static u32 tcb_skb_bytes(const struct sk_buff *skb)
{
	return TCP_SKB_CB(skb)->end_seq - TCP_SKB_CB(skb)->seq;
}

static void tcb_count_dropped(const struct tcp_sock *tp, struct iw_mpa_tcb *tcb)
{
	struct rb_node *node;

	for (node = rb_first(&tp->out_of_order_queue); node;
	     node = rb_next(node))
		tcb->rx_dropped += tcb_skb_bytes(rb_to_skb(node));
}

/* Copy unread bytes: without FIN or urgent data rcv_nxt counts only bytes. */
static int tcb_copy_rx(struct sock *sk, struct iw_mpa_tcb *tcb)
{
	u32 len = tcb->rcv_nxt - tcb->copied_seq, done = 0;
	struct sk_buff *skb;
	u8 *rx;

	if (!len)
		return 0;
	rx = kvmalloc(len, GFP_NOIO);
	if (!rx)
		return -ENOMEM;
	skb_queue_walk(&sk->sk_receive_queue, skb) {
		u32 off = tcb->copied_seq + done - TCP_SKB_CB(skb)->seq;

		if (off >= skb->len)	/* its bytes were read */
			continue;
		if (skb->len - off > len - done ||
		    skb_copy_bits(skb, off, rx + done, skb->len - off))
			break;
		done += skb->len - off;
	}
	if (done != len) {
		kvfree(rx);
		return -EPROTO;
	}
	tcb->rx = rx;
	tcb->rx_len = len;
	return 0;
}

/*
 * Record the state of a connection for which iw_mpa_tcb_is_at_rest() is true;
 * iw_mpa_tcb_free() frees the record. The caller has locked the socket, and is
 * in a memalloc_noio scope. Sleeps only for memory.
 *
 * Return: 0; -ENOMEM; -EPROTO if the receive queue lacks bytes before rcv_nxt.
 */
int iw_mpa_tcb_read(struct sock *sk, struct iw_mpa_tcb *tcb)
{
	int err;

	memset(tcb, 0, sizeof(*tcb));
	tcb_read_seq(sk, tcb);
	err = tcb_copy_rx(sk, tcb);
	if (err)
		return err;
	tcb_count_dropped(tcp_sk(sk), tcb);
	tcb_read_timestamps(tcp_sk(sk), tcb);
	tcb_read_congestion(sk, tcb);
	tcb_read_keepalive(sk, tcb);
	tcb_read_ip(sk, tcb);
	iw_mpa_path_read(sk, &tcb->path);
	tcb_read_ttl(tcb);
	return 0;
}

/* Free what a record of iw_mpa_tcb_read(), or one of zeroes, points to. */
void iw_mpa_tcb_free(struct iw_mpa_tcb *tcb)
{
	kvfree(tcb->rx);
	tcb->rx = NULL;
	iw_mpa_path_put(&tcb->path);
}

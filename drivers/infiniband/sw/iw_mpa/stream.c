// SPDX-License-Identifier: GPL-2.0
/* Octets, sequence numbers and addresses of an open TCP socket. sock.c opens and closes it. */

#include "sock.h"

#include <linux/in.h>
#include <linux/in6.h>
#include <linux/net.h>
#include <linux/tcp.h>
#include <net/ipv6.h>
#include <net/tcp.h>

/* Octets that are handed over at a time. Most startup frames fit. */
#define STREAM_CHUNK		128
/* What sk_allocation is within a send */
#define STREAM_SEND_GFP		(GFP_KERNEL | __GFP_NORETRY)

struct stream_reading {
	iw_mpa_sock_taker	take;
	void			*arg;
};

static int stream_take(read_descriptor_t *desc, struct sk_buff *skb, unsigned int off, size_t len)
{
	const struct stream_reading *reading = desc->arg.data;
	u8 octets[STREAM_CHUNK];
	int err;

	len = min(len, sizeof(octets));
	err = skb_copy_bits(skb, off, octets, len);
	return err ?: reading->take(reading->arg, octets, len);
}

/*
 * This does what recvmsg() does, at half its cost. TCP stops at urgent data, which is an error: no
 * RNIC sends any.
 */
static int stream_read(struct sock *sk, read_descriptor_t *desc)
{
	int len = tcp_read_sock(sk, desc, stream_take);

	if (len)
		return len;
	if (sk->sk_err)
		return sock_error(sk);
	if (sk->sk_shutdown & RCV_SHUTDOWN)
		return 0;
	if (inet_sk_state_load(sk) == TCP_CLOSE)
		return -ENOTCONN;
	return skb_queue_empty(&sk->sk_receive_queue) ? -EAGAIN : -EPROTO;
}

/*
 * Hand over what has arrived, until @take takes less than it gets. This does not wait.
 *
 * @closed: result: the peer has sent FIN; bytes that @take has not taken may be in front of it
 *
 * Return: bytes taken, 0 if the peer closed, -EAGAIN if nothing is there, or another negative
 * errno.
 */
int iw_mpa_sock_read(struct iw_mpa_sock *ms, iw_mpa_sock_taker take, void *arg, bool *closed)
{
	struct stream_reading reading = { take, arg };
	read_descriptor_t desc = { .arg.data = &reading, .count = 1 };
	struct sock *sk = ms->sock->sk;
	int len;

	lock_sock(sk);
	len = stream_read(sk, &desc);
	/* An error shuts the socket down, too, and is not a FIN. Reading has reset sk_err. */
	*closed = (len >= 0 || len == -EAGAIN) &&
		  (sk->sk_shutdown & RCV_SHUTDOWN) && !sk->sk_err;
	release_sock(sk);
	return len;
}

/* As iw_mpa_sock_read(), for bytes dropped, @len > 0 at most. */
int iw_mpa_sock_discard(struct iw_mpa_sock *ms, size_t len)
{
	struct msghdr msg = {};

	if (!ms->sock)
		return 0;
	return kernel_recvmsg(ms->sock, &msg, NULL, 0, len, MSG_DONTWAIT | MSG_TRUNC);
}

/*
 * TCP copies octets into a page fragment. That of the socket has 32 KiB, which it keeps for its
 * life: 3 GiB for 100,000 connections whose drivers send pages of their own. That of the task costs
 * nothing. Nobody who calls is within a send of its own: no connection is made, and none ends, in
 * the task that has to reclaim memory.
 *
 * TCP uses the task's only if sk_allocation names __GFP_FS. The rule of IW_MPA_SOCK_GFP holds all
 * the same: in the runner's memalloc_noio scope TCP starts no I/O, and with __GFP_NORETRY it does
 * not wait for ever. A driver of storage may have let the socket use the reserves,
 * by sk_set_memalloc(): it may still.
 */
static int stream_send(struct sock *sk, const void *buf, size_t len, bool first)
{
	struct kvec iov = { .iov_base = (void *)buf, .iov_len = len };
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };
	gfp_t gfp;
	int sent;

	iov_iter_kvec(&msg.msg_iter, ITER_SOURCE, &iov, 1, len);
	lock_sock(sk);
	if (first)
		inet_csk_enter_pingpong_mode(sk);
	gfp = sk->sk_allocation;
	sk->sk_allocation = STREAM_SEND_GFP | (gfp & __GFP_MEMALLOC);
#ifndef COMPAT_LACKS_TASK_FRAG
	sk->sk_use_task_frag = true;
#endif
	sent = tcp_sendmsg_locked(sk, &msg, len);
#ifndef COMPAT_LACKS_TASK_FRAG
	sk->sk_use_task_frag = false;
#endif
	sk->sk_allocation = gfp;
	release_sock(sk);
	return sent;
}

/*
 * Send all of a startup frame or an FPDU, in a memalloc_noio scope. This does not wait: the send
 * buffer of a connection that is starting up has room for all that the library sends.
 *
 * Return: 0; -EAGAIN if TCP took nothing; -EPIPE if it took a part, if the stream has ended, or if
 * there is no socket; or another negative errno.
 */
int iw_mpa_sock_send(struct iw_mpa_sock *ms, const void *buf, size_t len)
{
	int sent;

	if (!ms->sock)
		return -EPIPE;
	sent = stream_send(ms->sock->sk, buf, len, false);
	if (sent < 0)
		return sent;
	return sent == len ? 0 : -EPIPE;
}

/*
 * Send the first bytes of an initiator, which is connected, or waits with its SYN for them. In a
 * memalloc_noio scope; does not wait.
 *
 * A SYN has room for one segment, and has no bytes if memory is short. The caller sends the rest
 * when the socket is connected. TCP itself repeats bytes that are lost, or that the peer's TCP does
 * not take with the SYN.
 *
 * Each startup message answers the one before, and acknowledges it, too. But TCP acknowledges at
 * once after it was connected, and after it began to listen. So this sets TCP_QUICKACK to 0, as
 * listeners do. Otherwise a connect takes three segments more, which are a tenth of its
 * instructions.
 *
 * If TCP was connected before the call nothing reports that it has room for more. So then it has to
 * take all.
 *
 * Return: what TCP has taken, less than @len only if @ops->connected follows; -ENOBUFS if TCP was
 * connected and has taken a part; or another negative errno.
 */
int iw_mpa_sock_send_first(struct iw_mpa_sock *ms, const void *buf, size_t len)
{
	bool up = iw_mpa_sock_is_up(ms);
	int sent = stream_send(ms->sock->sk, buf, len, true);

	if (sent == -EINPROGRESS)
		return 0;
	return up && sent >= 0 && sent < len ? -ENOBUFS : sent;
}

/*
 * How much has arrived that was not read? Unlike tcp_inq() this does not stop at urgent data. What
 * has a gap in front of it does not count, nor does a FIN, which has a sequence number until it is
 * read. The number may be a past one unless the socket is locked.
 */
u32 iw_mpa_sk_unread(const struct sock *sk)
{
	u32 unread = tcp_sk(sk)->rcv_nxt - tcp_sk(sk)->copied_seq;

	return unread && sock_flag(sk, SOCK_DONE) ? unread - 1 : unread;
}

u32 iw_mpa_sock_unread(struct iw_mpa_sock *ms)
{
	u32 unread;

	lock_sock(ms->sock->sk);
	unread = iw_mpa_sk_unread(ms->sock->sk);
	release_sock(ms->sock->sk);
	return unread;
}

/*
 * Where the stream is at the hand-off: sequence numbers of what is sent and read next; and has
 * something arrived from there on?
 */
void iw_mpa_sock_seq(struct iw_mpa_sock *ms, u32 *snd_nxt, u32 *rcv_nxt, bool *rx_queued)
{
	struct sock *sk = ms->sock->sk;

	lock_sock(sk);
	*snd_nxt = tcp_sk(sk)->write_seq;
	*rcv_nxt = tcp_sk(sk)->copied_seq;
	*rx_queued = iw_mpa_sk_unread(sk);
	release_sock(sk);
}

/*
 * How much went over a connection, for people: what the peer's TCP has acknowledged, and what has
 * come, also if nobody has read it. On 32 bits one half of a number may be older than the other.
 */
void iw_mpa_sock_bytes(const struct iw_mpa_sock *ms, u64 *sent, u64 *received)
{
	const struct tcp_sock *tp = tcp_sk(ms->sock->sk);

	/* TCP counts on, and some is as good as more. */
	*sent = data_race(tp->bytes_acked);
	/* as is that */
	*received = data_race(tp->bytes_received);
}

#if IS_ENABLED(CONFIG_IPV6)
static void stream_name_v6(const struct sock *sk, bool peer, struct sockaddr_in6 *name)
{
	const struct in6_addr *addr = peer ? &sk->sk_v6_daddr :
					     &sk->sk_v6_rcv_saddr;

	if (ipv6_addr_any(addr) && !peer)
		addr = &inet6_sk(sk)->saddr;
	*name = (struct sockaddr_in6) {
		.sin6_family	= AF_INET6,
		.sin6_port	= peer ? inet_sk(sk)->inet_dport :
					 inet_sk(sk)->inet_sport,
		.sin6_addr	= *addr,
		.sin6_scope_id	= ipv6_iface_scope_id(addr, sk->sk_bound_dev_if),
	};
}
#endif

static void stream_name_v4(const struct sock *sk, bool peer, struct sockaddr_in *name)
{
	const struct inet_sock *inet = inet_sk(sk);

	*name = (struct sockaddr_in) {
		.sin_family	= AF_INET,
		.sin_port	= peer ? inet->inet_dport : inet->inet_sport,
		.sin_addr	= { peer ? inet->inet_daddr :
				    inet->inet_rcv_saddr ?: inet->inet_saddr },
	};
}

/*
 * getsockname() and getpeername() take the socket's lock, which is not needed: the addresses of a
 * connection do not change. An IPv4 connection of an IPv6 socket gets IPv4 addresses here.
 */
static void stream_name(const struct sock *sk, bool peer, union iw_mpa_addr *name)
{
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6 && !ipv6_addr_v4mapped(&sk->sk_v6_daddr)) {
		stream_name_v6(sk, peer, &name->in6);
		return;
	}
#endif
	stream_name_v4(sk, peer, &name->in);
}

/*
 * Both addresses of a socket, connected or connecting, also of one that was not adopted yet. An
 * IPv4 connection of an IPv6 socket has IPv4 addresses.
 */
void iw_mpa_sock_tuple(const struct socket *sock, struct iw_mpa_tuple *tuple)
{
	stream_name(sock->sk, false, &tuple->local);
	stream_name(sock->sk, true, &tuple->remote);
}

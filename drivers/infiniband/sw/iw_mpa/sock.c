// SPDX-License-Identifier: GPL-2.0
/*
 * The life of kernel TCP sockets. What is done with an open socket is in stream.c. Other files do
 * not call TCP.
 *
 * connect, listen and accept open a socket and hook its callbacks. unhook gives the callbacks back
 * to TCP: after that none of the library's runs or will run. release unhooks and closes. No
 * function waits for the peer.
 */

#include "sock.h"
#include "stats.h"

#include <linux/in.h>
#include <linux/in6.h>
#include <linux/lockdep.h>
#include <linux/net.h>
#include <linux/tcp.h>
#include <net/ipv6.h>
#include <net/route.h>
#include <net/tcp.h>
#include <trace/events/sock.h>

static_assert(__alignof__(struct iw_mpa_stream) > ~SK_USER_DATA_PTRMASK);

/*
 * TCP does not copy a listener's sk_user_data to the connections that it makes. A connection that
 * is not accepted yet has the listener's callbacks, and no data, or data of BPF with BPF's flags.
 */
static struct iw_mpa_sock *sock_of(const struct sock *sk)
{
	struct iw_mpa_stream *stream;

	if ((uintptr_t)READ_ONCE(sk->sk_user_data) & (SK_USER_DATA_BPF | SK_USER_DATA_PSOCK))
		return NULL;
	stream = __locked_read_sk_user_data_with_flags(sk, 0);
	return stream ? container_of(stream, struct iw_mpa_sock, stream) : NULL;
}

/* TCP may have read the pointer before a driver replaced it: then the driver has to be called. */
static void iw_mpa_sk_data_ready(struct sock *sk)
{
	void (*now)(struct sock *sk);
	struct iw_mpa_sock *ms;

	trace_sk_data_ready(sk);
	read_lock_bh(&sk->sk_callback_lock);
	now = READ_ONCE(sk->sk_data_ready);
	ms = sock_of(sk);
	if (ms && now == iw_mpa_sk_data_ready)
		ms->ops->readable(ms);
	read_unlock_bh(&sk->sk_callback_lock);
	if (ms && now != iw_mpa_sk_data_ready)
		now(sk);
}

static void sock_report_state(struct iw_mpa_sock *ms)
{
	struct sock *sk = ms->sock->sk;
	int err = READ_ONCE(sk->sk_err);

	switch (inet_sk_state_load(sk)) {
	case TCP_SYN_SENT:
	case TCP_SYN_RECV:
	case TCP_LISTEN:
		break;
	case TCP_ESTABLISHED:
		ms->ops->connected(ms);
		break;
	case TCP_CLOSE_WAIT:
		WRITE_ONCE(ms->fin_ack, tcp_sk(sk)->snd_una);
		ms->ops->closed(ms);
		break;
	case TCP_CLOSE:
		if (err) {
			ms->ops->failed(ms, err);
			break;
		}
		fallthrough;
	case TCP_LAST_ACK:
	case TCP_CLOSING:
	case TCP_TIME_WAIT:
		ms->ops->closed(ms);
		break;
	case TCP_FIN_WAIT1:
	case TCP_FIN_WAIT2:
		break;
	}
}

static void iw_mpa_sk_state_change(struct sock *sk)
{
	struct iw_mpa_sock *ms;

	read_lock_bh(&sk->sk_callback_lock);
	ms = sock_of(sk);
	if (ms)
		sock_report_state(ms);
	read_unlock_bh(&sk->sk_callback_lock);
}

static void iw_mpa_sk_error_report(struct sock *sk)
{
	int err = READ_ONCE(sk->sk_err);
	struct iw_mpa_sock *ms;

	read_lock_bh(&sk->sk_callback_lock);
	ms = sock_of(sk);
	if (ms && err)
		ms->ops->failed(ms, err);
	read_unlock_bh(&sk->sk_callback_lock);
}

/* Return: 0; -EBUSY if somebody else uses the socket: BPF may have put it into a sockmap. */
static int sock_hook(struct iw_mpa_sock *ms, struct socket *sock,
		     const struct iw_mpa_sock_ops *ops, unsigned long flags)
{
	struct sock *sk = sock->sk;

	write_lock_bh(&sk->sk_callback_lock);
	if (sk->sk_user_data) {
		write_unlock_bh(&sk->sk_callback_lock);
		return -EBUSY;
	}
	ms->sock = sock;
	ms->ops = ops;
	ms->fin_ack = 0;
	ms->data_ready = sk->sk_data_ready;
	ms->state_change = sk->sk_state_change;
	ms->error_report = sk->sk_error_report;
	ms->stream.write_space = sk->sk_write_space;
	sk->sk_data_ready = iw_mpa_sk_data_ready;
	sk->sk_state_change = iw_mpa_sk_state_change;
	sk->sk_error_report = iw_mpa_sk_error_report;
	__rcu_assign_sk_user_data_with_flags(sk, &ms->stream, flags);
	write_unlock_bh(&sk->sk_callback_lock);
	iw_mpa_count(IW_MPA_CNT_sock_created);
	return 0;
}

/*
 * Take a socket's callbacks back from a driver. After return no callback of the driver runs; those
 * of the library go on.
 */
void iw_mpa_sock_detach(struct iw_mpa_sock *ms)
{
	struct sock *sk;

	if (!ms->sock) {
		ms->stream.qp = NULL;
		return;
	}
	sk = ms->sock->sk;
	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_data_ready = iw_mpa_sk_data_ready;
	sk->sk_write_space = ms->stream.write_space;
	ms->stream.qp = NULL;
	ms->stream.priv = NULL;
	write_unlock_bh(&sk->sk_callback_lock);
}

/*
 * Take a socket's callbacks back; it may be closed. No driver is attached. After return no callback
 * of the library runs. Once a socket is unhooked BPF may use it: what is BPF's stays.
 */
void iw_mpa_sock_unhook(struct iw_mpa_sock *ms)
{
	struct sock *sk;

	if (!ms->sock)
		return;
	sk = ms->sock->sk;
	write_lock_bh(&sk->sk_callback_lock);
	if (sock_of(sk) == ms) {
		rcu_assign_sk_user_data(sk, NULL);
		sk->sk_data_ready = ms->data_ready;
		sk->sk_state_change = ms->state_change;
		sk->sk_error_report = ms->error_report;
	}
	write_unlock_bh(&sk->sk_callback_lock);
}

/* Give a hooked socket to another owner: it reports to @ops from now on. No driver is attached. */
void iw_mpa_sock_move(struct iw_mpa_sock *from, struct iw_mpa_sock *to,
		      const struct iw_mpa_sock_ops *ops)
{
	struct sock *sk = from->sock->sk;

	write_lock_bh(&sk->sk_callback_lock);
	*to = *from;
	to->ops = ops;
	rcu_assign_sk_user_data(sk, &to->stream);
	from->sock = NULL;
	write_unlock_bh(&sk->sk_callback_lock);
}

static bool sock_fin_is_due(struct sock *sk)
{
	return (1 << inet_sk_state_load(sk)) & (TCPF_ESTABLISHED | TCPF_CLOSE_WAIT);
}

/*
 * If TCP finds no memory for a FIN, it forgets the FIN, and keeps the connection and its network
 * namespace for ever. So such a connection is aborted: the peer gets RST; a peer that has closed
 * first gets it for the next segment that it sends.
 */
static void sock_send_fin(struct socket *sock)
{
	struct sock *sk = sock->sk;
	u32 write_seq = READ_ONCE(tcp_sk(sk)->write_seq);
	bool due = sock_fin_is_due(sk);

	kernel_sock_shutdown(sock, SHUT_WR);
	if (due && READ_ONCE(tcp_sk(sk)->write_seq) == write_seq)
		tcp_abort(sk, ECONNABORTED);
}

/*
 * Send FIN, go on receiving. If there is no memory for a FIN the peer gets RST. While a driver had
 * the stream, TCP reported to the driver: what has arrived by then is reported now.
 *
 * If another owner has the socket, that sends FIN. After its driver was stopped nothing reports the
 * peer's FIN. So it is reported at once.
 */
void iw_mpa_sock_shutdown(struct iw_mpa_sock *ms)
{
	struct sock *sk;

	if (!ms->sock) {
		if (!ms->stream.qp)
			ms->ops->closed(ms);
		return;
	}
	sk = ms->sock->sk;
	sock_send_fin(ms->sock);
	read_lock_bh(&sk->sk_callback_lock);
	if (!skb_queue_empty_lockless(&sk->sk_receive_queue))
		ms->ops->readable(ms);
	if (inet_sk_state_load(sk) != TCP_ESTABLISHED)
		sock_report_state(ms);
	read_unlock_bh(&sk->sk_callback_lock);
}

static void sock_close(struct socket *sock)
{
	if (sock_fin_is_due(sock->sk) && !iw_mpa_sk_unread(sock->sk))
		sock_send_fin(sock);
	sock_release(sock);
}

/*
 * Unhook and close a socket, unless it is closed. TCP still delivers what was sent, and then sends
 * FIN; or RST if bytes have arrived that were not read, or if there is no memory for a FIN.
 */
void iw_mpa_sock_release(struct iw_mpa_sock *ms)
{
	if (!ms->sock)
		return;
	iw_mpa_sock_unhook(ms);
	sock_close(ms->sock);
	ms->sock = NULL;
	iw_mpa_count(IW_MPA_CNT_sock_destroyed);
}

/* Send RST, if there is a socket. It stays until it is released; @ops->failed is called. */
void iw_mpa_sock_reset(struct iw_mpa_sock *ms)
{
	if (ms->sock)
		tcp_abort(ms->sock->sk, ECONNABORTED);
}

/*
 * Unhook and close a socket so that its local port is free at once.
 * TCP sends RST, and forgets the connection: with the same port this end may connect to the same
 * peer again. After a FIN it could not until the peer has acknowledged that.
 */
void iw_mpa_sock_abort(struct iw_mpa_sock *ms)
{
	iw_mpa_sock_unhook(ms);
	iw_mpa_sock_reset(ms);
	iw_mpa_sock_release(ms);
}

/*
 * The library's sockets are locked while locks of rdma_cm are held. Other sockets are locked before
 * such locks are taken. So the library's sockets have a lockdep class of their own. The class is in
 * the module, so a socket with this class holds the module.
 */
#ifdef CONFIG_DEBUG_LOCK_ALLOC
static struct lock_class_key sock_keys[2], sock_spin_keys[2];
static const char * const sock_names[] = { "sk_lock-AF_INET-IW_MPA", "sk_lock-AF_INET6-IW_MPA" };

/* The spinlock keeps its name: see sock_classify_accepted(). */
static void sock_classify(struct sock *sk)
{
	const char *spin_name = sk->sk_lock.slock.dep_map.name;
	int v6 = sk->sk_family == AF_INET6;

	if (WARN_ON_ONCE(!sock_allow_reclassification(sk)))
		return;
	sock_lock_init_class_and_name(sk, spin_name, &sock_spin_keys[v6], sock_names[v6],
				      &sock_keys[v6]);
}

/*
 * TCP uses an accepted socket already: so its locks are held while their class changes. Another
 * processor that waits for the spinlock has told lockdep before, and may look its class up
 * meanwhile. lockdep warns if it finds the name of one class with the key of another. So all
 * spinlocks of the family have the name that kernel sockets have, and the key alone changes, in one
 * store.
 */
static void sock_classify_accepted(struct sock *sk)
{
#ifndef COMPAT_LACKS_SOCK_OWNER
	int v6 = sk->sk_family == AF_INET6;

	lock_sock(sk);
	sk_owner_set(sk, THIS_MODULE);
	lock_set_class(&sk->sk_lock.dep_map, sock_names[v6], &sock_keys[v6], 0, _RET_IP_);
	spin_lock_bh(&sk->sk_lock.slock);
	lock_set_class(&sk->sk_lock.slock.dep_map, sk->sk_lock.slock.dep_map.name,
		       &sock_spin_keys[v6], 0, _RET_IP_);
	spin_unlock_bh(&sk->sk_lock.slock);
	release_sock(sk);
#endif
}
#else
static void sock_classify(struct sock *sk)
{
}

static void sock_classify_accepted(struct sock *sk)
{
}
#endif

static int sock_set_int(struct socket *sock, int level, int name, int val)
{
	return sock->ops->setsockopt(sock, level, name, KERNEL_SOCKPTR(&val), sizeof(val));
}

/*
 * An IPv6 socket may carry an IPv4 connection. A connection inherits the TOS of its listener, but
 * not the priority that goes with it, and a TOS that does not change leaves the priority alone.
 */
static int sock_set_tos(struct socket *sock, u8 tos)
{
	ip_sock_set_tos(sock->sk, tos);
	sock_set_priority(sock->sk, rt_tos2priority(tos));
	if (sock->sk->sk_family == AF_INET6)
		return sock_set_int(sock, SOL_IPV6, IPV6_TCLASS, tos);
	return 0;
}

/*
 * A connection inherits all of this from its listener. Sending must not use the task's page
 * fragment, which the task may be using.
 */
static int sock_setup(struct socket *sock, const struct iw_mpa_sock_opts *opts)
{
	struct sock *sk = sock->sk;

	sock_classify(sk);
	lock_sock(sk);
	sk->sk_allocation = IW_MPA_SOCK_GFP;
#ifndef COMPAT_LACKS_TASK_FRAG
	sk->sk_use_task_frag = false;
#endif
	/*
	 * After a restart connections stay in TIME_WAIT for a minute. A server gets its port at
	 * once all the same, and so does a client with a port that rdma_cm chose. rdma_cm sees to
	 * it that two ULPs do not use one port.
	 */
	sk->sk_reuse = SK_CAN_REUSE;
	/* A short FPDU must not wait for the ACK of the startup frame, which may take 40 ms. */
	tcp_sk(sk)->nonagle |= TCP_NAGLE_OFF;
	/* The MPA Request acknowledges the peer's SYN: see iw_mpa_sock_send_first(). */
	inet_csk_enter_pingpong_mode(sk);
	release_sock(sk);
	return opts->tos_set ? sock_set_tos(sock, opts->tos) : 0;
}

static int sock_bind(struct socket *sock, const struct iw_mpa_sock_opts *opts)
{
	union iw_mpa_addr addr = *opts->local;

	if (opts->any_port) {
		*iw_mpa_addr_port(&addr) = 0;
		/* TCP then needs a port that is free for this remote address only. */
		sock_set_int(sock, SOL_IP, IP_BIND_ADDRESS_NO_PORT, 1);
	}
	return kernel_bind(sock, (struct sockaddr_unsized *)&addr, sizeof(addr));
}

static int sock_init(struct iw_mpa_sock *ms, struct socket *sock,
		     const struct iw_mpa_sock_ops *ops, const struct iw_mpa_sock_opts *opts)
{
	int err = sock_setup(sock, opts);

	if (!err && opts->afonly && opts->local->sa.sa_family == AF_INET6)
		err = ip6_sock_set_v6only(sock->sk);
	/* Once, for a second time would ask for a capability of the caller. */
	if (!err && (opts->way || opts->ifindex))
		err = sock_bindtoindex(sock->sk, opts->way ?: opts->ifindex, true);
	if (!err)
		err = sock_bind(sock, opts);
	if (err)
		return err;
	/*
	 * TCP may have to deliver octets after the socket is closed. Without a reference on the
	 * namespace close() stops the retransmission timers. Connections inherit the reference.
	 */
	sk_net_refcnt_upgrade(sock->sk);
	return sock_hook(ms, sock, ops, opts->remote ? 0 : SK_USER_DATA_NOCOPY);
}

static int sock_open(struct iw_mpa_sock *ms, const struct iw_mpa_sock_ops *ops,
		     const struct iw_mpa_sock_opts *opts)
{
	struct socket *sock;
	int err;

	if (!iw_mpa_addr_is_known(opts->local))
		return -EAFNOSUPPORT;
	err = sock_create_kern(opts->net, opts->local->sa.sa_family, SOCK_STREAM,
			       IPPROTO_TCP, &sock);
	if (err)
		return err;
	err = sock_init(ms, sock, ops, opts);
	if (err)
		sock_release(sock);
	return err;
}

/*
 * TCP has its route, and keeps it while it is valid. What the peer sends may come by any
 * interface of the host: after a change of routes, or since the peer has an old entry for this
 * address in its neighbour table. A socket that stays bound would not hear that. Nothing else has
 * to be told of the change: the tables in which TCP finds the socket do not go by the interface,
 * but by the L3 master, which stays. A SYN-ACK that comes by another interface before this is
 * refused; TCP then sends its SYN again.
 */
static void sock_forget_way(struct sock *sk, int ifindex)
{
	lock_sock(sk);
	/* Pairs with READ_ONCE() in TCP */
	WRITE_ONCE(sk->sk_bound_dev_if, ifindex);
	release_sock(sk);
}

/*
 * Start to connect. This does not wait for the peer: @ops->connected or @ops->failed follows.
 *
 * Return: 0; 1 with @opts->fast_open if TCP waits with its SYN for iw_mpa_sock_send_first(); or a
 * negative errno and no callback: -EADDRINUSE or -EADDRNOTAVAIL if TCP uses the local port already,
 * -ENETUNREACH and the like.
 */
int iw_mpa_sock_connect(struct iw_mpa_sock *ms,
			const struct iw_mpa_sock_ops *ops,
			const struct iw_mpa_sock_opts *opts)
{
	int err = sock_open(ms, ops, opts);

	if (err)
		return err;
	/* If an administrator has turned Fast Open off, TCP refuses, and connects as always. */
	if (opts->fast_open)
		sock_set_int(ms->sock, SOL_TCP, TCP_FASTOPEN_CONNECT, 1);
	err = kernel_connect(ms->sock, (struct sockaddr_unsized *)opts->remote,
			     sizeof(*opts->remote), O_NONBLOCK);
	if (opts->way)
		sock_forget_way(ms->sock->sk, opts->ifindex);
	if (err == -EINPROGRESS)
		return 0;
	if (err)
		iw_mpa_sock_release(ms);
	else if (!iw_mpa_sock_is_up(ms))
		return 1;
	return err;
}

/* @ops->readable is called when there is something to accept. */
int iw_mpa_sock_listen(struct iw_mpa_sock *ms,
		       const struct iw_mpa_sock_ops *ops,
		       const struct iw_mpa_sock_opts *opts, int backlog)
{
	int err = sock_open(ms, ops, opts);

	if (err)
		return err;
	err = kernel_listen(ms->sock, backlog);
	if (err) {
		iw_mpa_sock_release(ms);
		return err;
	}
	/* Connections inherit this. kernel_listen() has turned it off: see stream.c. */
	tcp_sock_set_quickack(ms->sock->sk, 0);
	if (opts->fast_open)
		sock_set_int(ms->sock, SOL_TCP, TCP_FASTOPEN, backlog);
	return 0;
}

/*
 * Take one connection from a listener, for iw_mpa_sock_adopt() or iw_mpa_sock_drop().
 *
 * Return: -EAGAIN if there is none, or another negative errno.
 */
int iw_mpa_sock_accept(struct iw_mpa_sock *listener, struct socket **sock)
{
	/* kernel_accept() would make a socket before it finds that, and free it again. */
	if (reqsk_queue_empty(&inet_csk(listener->sock->sk)->icsk_accept_queue))
		return -EAGAIN;
	return kernel_accept(listener->sock, sock, O_NONBLOCK);
}

/*
 * Hook an accepted connection. Bytes that have arrived before are not reported: the caller has to
 * read. An end of the connection is reported, maybe before the return.
 *
 * Return: 0; -EBUSY if the connection has another user: it is left to the caller, for
 * iw_mpa_sock_drop().
 */
int iw_mpa_sock_adopt(struct iw_mpa_sock *ms, struct socket *sock,
		      const struct iw_mpa_sock *listener,
		      const struct iw_mpa_sock_ops *ops,
		      const struct iw_mpa_sock_opts *opts)
{
	int err;

	sock_classify_accepted(sock->sk);
	/* TCP may have given it the TOS of the peer, and has given it no priority. */
	if (opts->tos_set)
		sock_set_tos(sock, opts->tos);
	err = sock_hook(ms, sock, ops, 0);
	if (err)
		return err;
	/* TCP's callbacks are those that the listener has saved. */
	ms->data_ready = listener->data_ready;
	ms->state_change = listener->state_change;
	ms->error_report = listener->error_report;
	/* The connection may have ended before it had sk_user_data: nobody was told. */
	read_lock_bh(&sock->sk->sk_callback_lock);
	if (inet_sk_state_load(sock->sk) != TCP_ESTABLISHED)
		sock_report_state(ms);
	read_unlock_bh(&sock->sk->sk_callback_lock);
	return 0;
}

/*
 * Close an accepted connection that was not adopted. TCP may go on with a closed connection after
 * the module is gone. So the callbacks that the connection has inherited from the listener go back
 * to TCP. A callback that BPF has installed stays.
 */
void iw_mpa_sock_drop(struct socket *sock, const struct iw_mpa_sock *listener)
{
	struct sock *sk = sock->sk;

	write_lock_bh(&sk->sk_callback_lock);
	if (sk->sk_data_ready == iw_mpa_sk_data_ready)
		sk->sk_data_ready = listener->data_ready;
	if (sk->sk_state_change == iw_mpa_sk_state_change)
		sk->sk_state_change = listener->state_change;
	if (sk->sk_error_report == iw_mpa_sk_error_report)
		sk->sk_error_report = listener->error_report;
	write_unlock_bh(&sk->sk_callback_lock);
	sock_close(sock);
}

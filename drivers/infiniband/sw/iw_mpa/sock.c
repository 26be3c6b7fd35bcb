// SPDX-License-Identifier: GPL-2.0
/*
 * Kernel TCP sockets: the only file that knows them.
 *
 * Life cycle: connect, listen or accept opens and hooks a socket; unhook takes
 * the callbacks back, after which none is running or will run; release unhooks
 * and closes. Nothing here blocks on the peer.
 */

#include "sock.h"
#include "stats.h"

#include <linux/in.h>
#include <linux/in6.h>
#include <linux/net.h>
#include <linux/sched/mm.h>
#include <linux/tcp.h>
#include <net/ipv6.h>
#include <net/tcp.h>

/*
 * A listener's sk_user_data is not copied to the connections that TCP makes of
 * it: until they are accepted they have the listener's callbacks and no data, or
 * the data of BPF, which marks them as its own.
 */
static struct iw_mpa_sock *sock_of(const struct sock *sk)
{
	struct iw_mpa_stream *stream;

	if ((uintptr_t)READ_ONCE(sk->sk_user_data) & (SK_USER_DATA_BPF | SK_USER_DATA_PSOCK))
		return NULL;
	stream = __locked_read_sk_user_data_with_flags(sk, 0);
	return stream ? container_of(stream, struct iw_mpa_sock, stream) : NULL;
}

/* TCP may have read the pointer before a driver changed it: then this is for the driver. */
static void iw_mpa_sk_data_ready(struct sock *sk)
{
	void (*now)(struct sock *sk);
	struct iw_mpa_sock *ms;

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
	case TCP_CLOSE:
		if (err) {
			ms->ops->failed(ms, err);
			break;
		}
		fallthrough;
	case TCP_CLOSE_WAIT:
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

/* Fails if somebody else uses the socket: BPF may have put a connection into a sockmap. */
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

/**
 * iw_mpa_sock_detach - take a socket's callbacks back from a driver
 * @ms: open socket
 *
 * After return none of the driver is running; ours go on.
 *
 * Context: process.
 */
void iw_mpa_sock_detach(struct iw_mpa_sock *ms)
{
	struct sock *sk = ms->sock->sk;

	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_data_ready = iw_mpa_sk_data_ready;
	sk->sk_write_space = ms->stream.write_space;
	ms->stream.qp = NULL;
	ms->stream.priv = NULL;
	write_unlock_bh(&sk->sk_callback_lock);
}

/**
 * iw_mpa_sock_unhook - take a socket's callbacks back
 * @ms: socket, open or not
 *
 * Idempotent. No driver is attached. After return no callback of ours is running.
 *
 * Context: process.
 */
void iw_mpa_sock_unhook(struct iw_mpa_sock *ms)
{
	struct sock *sk;

	if (!ms->sock)
		return;
	sk = ms->sock->sk;
	write_lock_bh(&sk->sk_callback_lock);
	if (sk->sk_user_data) {
		rcu_assign_sk_user_data(sk, NULL);
		sk->sk_data_ready = ms->data_ready;
		sk->sk_state_change = ms->state_change;
		sk->sk_error_report = ms->error_report;
	}
	write_unlock_bh(&sk->sk_callback_lock);
}

static bool sock_fin_is_due(struct sock *sk)
{
	return (1 << inet_sk_state_load(sk)) & (TCPF_ESTABLISHED | TCPF_CLOSE_WAIT);
}

/*
 * TCP forgets a FIN for which it finds no memory: the peer would never hear that it is
 * over, and TCP would keep the connection for ever. Then RST, if there is memory for that.
 */
static void sock_send_fin(struct socket *sock)
{
	struct sock *sk = sock->sk;
	u32 write_seq = READ_ONCE(tcp_sk(sk)->write_seq);
	bool due = sock_fin_is_due(sk);

	kernel_sock_shutdown(sock, SHUT_WR);
	if (!due || READ_ONCE(tcp_sk(sk)->write_seq) != write_seq)
		return;
	lock_sock(sk);
	/* Who has closed first still waits for us, but tcp_abort() thinks that we have, too. */
	if (sk->sk_state == TCP_LAST_ACK)
		tcp_set_state(sk, TCP_FIN_WAIT1);
	release_sock(sk);
	tcp_abort(sk, ECONNABORTED);
}

/* Close a connection that nobody looks at any more. */
static void sock_close(struct socket *sock)
{
	if (sock_fin_is_due(sock->sk) && !tcp_inq(sock->sk))
		sock_send_fin(sock);
	sock_release(sock);
}

/**
 * iw_mpa_sock_release - unhook and close a socket
 * @ms: socket, open or not
 *
 * Idempotent. What was sent is still delivered, then FIN; RST if octets were
 * received that nobody read, or if there is no memory for a FIN.
 *
 * Context: process.
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

/*
 * Keep the network namespace while TCP still has to deliver our last octets:
 * without the reference close() stops the retransmission timers. Connections get
 * it from their listener. SOCK_HAS_NET_UPGRADE is a probe of the Kbuild: a kernel socket
 * has a weaker reference there, which is to be given back.
 */
#ifdef SOCK_HAS_NET_UPGRADE
static void sock_hold_net(struct sock *sk)
{
	sk_net_refcnt_upgrade(sk);
}
#else
static void sock_hold_net(struct sock *sk)
{
	struct net *net = sock_net(sk);

	sk->sk_net_refcnt = 1;
	get_net_track(net, &sk->ns_tracker, GFP_KERNEL);
	sock_inuse_add(net, 1);
}
#endif

static int sock_set_int(struct socket *sock, int level, int name, int val)
{
	return sock->ops->setsockopt(sock, level, name, KERNEL_SOCKPTR(&val),
				     sizeof(val));
}

/* An IPv6 socket may carry an IPv4 connection. */
static int sock_set_tos(struct socket *sock, u8 tos)
{
	ip_sock_set_tos(sock->sk, tos);
	if (sock->sk->sk_family == AF_INET6)
		return sock_set_int(sock, SOL_IPV6, IPV6_TCLASS, tos);
	return 0;
}

/* From now on octets may come in bulk, and nothing goes the other way. */
static void sock_nothing_answers(struct sock *sk)
{
	inet_csk_exit_pingpong_mode(sk);
}

/*
 * Nobody else has the socket yet: no lock. The connections of a listener have all of
 * it from there.
 */
static int sock_setup(struct socket *sock, const struct iw_mpa_sock_opts *opts)
{
	struct sock *sk = sock->sk;

	/* Connections are made while file systems and swap wait for them. */
	sk->sk_allocation = GFP_NOIO;
	sk->sk_use_task_frag = false;
	sk->sk_reuse = SK_CAN_REUSE;
	tcp_sk(sk)->nonagle |= TCP_NAGLE_OFF;
	inet_csk_enter_pingpong_mode(sk);
	return opts->tos_set ? sock_set_tos(sock, opts->tos) : 0;
}

/**
 * iw_mpa_sock_addr_len - octets of an address
 * @addr: address
 *
 * Return: the length, or -EAFNOSUPPORT if it is neither IPv4 nor IPv6.
 */
int iw_mpa_sock_addr_len(const struct sockaddr_storage *addr)
{
	switch (addr->ss_family) {
	case AF_INET:
		return sizeof(struct sockaddr_in);
	case AF_INET6:
		return sizeof(struct sockaddr_in6);
	}
	return -EAFNOSUPPORT;
}

/**
 * iw_mpa_sock_addr_is_any - is an address the wildcard?
 * @addr: IPv4 or IPv6 address
 *
 * Return: true if it is.
 */
bool iw_mpa_sock_addr_is_any(const struct sockaddr_storage *addr)
{
	if (addr->ss_family == AF_INET)
		return !((const struct sockaddr_in *)addr)->sin_addr.s_addr;
	return ipv6_addr_any(&((const struct sockaddr_in6 *)addr)->sin6_addr);
}

static int sock_bind(struct socket *sock, const struct iw_mpa_sock_opts *opts)
{
	struct sockaddr_storage addr = *opts->local;

	if (opts->any_port) {
		if (addr.ss_family == AF_INET)
			((struct sockaddr_in *)&addr)->sin_port = 0;
		else
			((struct sockaddr_in6 *)&addr)->sin6_port = 0;
		/* Then the port need only be free for this remote address. */
		sock_set_int(sock, SOL_IP, IP_BIND_ADDRESS_NO_PORT, 1);
	}
	return kernel_bind(sock, (struct sockaddr *)&addr, iw_mpa_sock_addr_len(&addr));
}

static int sock_open(const struct iw_mpa_sock_opts *opts, struct socket **sock)
{
	int err = iw_mpa_sock_addr_len(opts->local);

	if (err < 0)
		return err;
	/* That of a listener's device may be on its way out. */
	if (!maybe_get_net(opts->net))
		return -ENODEV;
	err = sock_create_kern(opts->net, opts->local->ss_family, SOCK_STREAM,
			       IPPROTO_TCP, sock);
	if (err)
		goto put_net;
	err = sock_setup(*sock, opts);
	if (!err && opts->afonly && opts->local->ss_family == AF_INET6)
		err = ip6_sock_set_v6only((*sock)->sk);
	if (err)
		sock_release(*sock);
	else
		sock_hold_net((*sock)->sk);
put_net:
	put_net(opts->net);
	return err;
}

/**
 * iw_mpa_sock_connect - start to connect
 * @ms: closed socket
 * @ops: who is told; @ops->connected or @ops->failed follows
 * @opts: addresses and options
 *
 * Context: process; does not wait for the peer.
 *
 * Return: 0, or a negative errno and no callback: -EADDRINUSE or -EADDRNOTAVAIL
 * if TCP uses the local port already, -ENETUNREACH and the like.
 */
int iw_mpa_sock_connect(struct iw_mpa_sock *ms,
			const struct iw_mpa_sock_ops *ops,
			const struct iw_mpa_sock_opts *opts)
{
	struct socket *sock;
	int err;

	err = sock_open(opts, &sock);
	if (err)
		return err;
	err = sock_bind(sock, opts);
	if (!err)
		err = sock_hook(ms, sock, ops, 0);
	if (err) {
		sock_release(sock);
		return err;
	}
	err = kernel_connect(sock, (struct sockaddr *)opts->remote,
			     iw_mpa_sock_addr_len(opts->remote), O_NONBLOCK);
	if (err == -EINPROGRESS)
		return 0;
	if (err)
		iw_mpa_sock_release(ms);
	return err;
}

/**
 * iw_mpa_sock_listen - open a listening socket
 * @ms: closed socket
 * @ops: @ops->readable is called when there is something to accept
 * @opts: address and options
 * @backlog: connections that may wait to be accepted
 *
 * Context: process.
 *
 * Return: 0 or a negative errno.
 */
int iw_mpa_sock_listen(struct iw_mpa_sock *ms,
		       const struct iw_mpa_sock_ops *ops,
		       const struct iw_mpa_sock_opts *opts, int backlog)
{
	struct socket *sock;
	int err;

	err = sock_open(opts, &sock);
	if (err)
		return err;
	/* rdma_cm opens a wildcard listener once for every device. */
	if (iw_mpa_sock_addr_is_any(opts->local))
		err = sock_bindtoindex(sock->sk, opts->ifindex, true);
	if (!err)
		err = sock_bind(sock, opts);
	if (!err)
		err = sock_hook(ms, sock, ops, SK_USER_DATA_NOCOPY);
	if (err) {
		sock_release(sock);
		return err;
	}
	err = kernel_listen(sock, backlog);
	if (err)
		iw_mpa_sock_release(ms);
	else
		iw_mpa_sock_save_acks(ms);
	return err;
}

/**
 * iw_mpa_sock_accept - take one connection from a listener
 * @listener: listening socket
 * @sock: result, for iw_mpa_sock_adopt() or iw_mpa_sock_drop()
 *
 * Context: process; does not wait.
 *
 * Return: 0, -EAGAIN if there is none, or another negative errno.
 */
int iw_mpa_sock_accept(struct iw_mpa_sock *listener, struct socket **sock)
{
	return kernel_accept(listener->sock, sock, O_NONBLOCK);
}

/**
 * iw_mpa_sock_adopt - make an accepted connection ours
 * @ms: closed socket
 * @sock: from iw_mpa_sock_accept()
 * @listener: the socket that it came from
 * @ops: who is told
 * @opts: the listener's options
 *
 * What happened to the connection before is not reported: call
 * iw_mpa_sock_check() when its owner is ready.
 *
 * Context: process.
 *
 * Return: 0; -EBUSY if somebody else uses the connection: it is left to the caller, for
 * iw_mpa_sock_drop().
 */
int iw_mpa_sock_adopt(struct iw_mpa_sock *ms, struct socket *sock,
		      const struct iw_mpa_sock *listener,
		      const struct iw_mpa_sock_ops *ops,
		      const struct iw_mpa_sock_opts *opts)
{
	int err;

	/* TCP may have given it the TOS of the peer. */
	if (opts->tos_set)
		sock_set_tos(sock, opts->tos);
	err = sock_hook(ms, sock, ops, 0);
	if (err)
		return err;
	/* It inherited the listener's callbacks, not TCP's. */
	ms->data_ready = listener->data_ready;
	ms->state_change = listener->state_change;
	ms->error_report = listener->error_report;
	return 0;
}

/**
 * iw_mpa_sock_drop - close an accepted connection that was not adopted
 * @sock: from iw_mpa_sock_accept()
 */
void iw_mpa_sock_drop(struct socket *sock)
{
	sock_close(sock);
}

/**
 * iw_mpa_sock_check - report what has happened already
 * @ms: open socket
 *
 * For the time between accept and hook, in which callbacks went nowhere.
 *
 * Context: process.
 */
void iw_mpa_sock_check(struct iw_mpa_sock *ms)
{
	struct sock *sk = ms->sock->sk;

	read_lock_bh(&sk->sk_callback_lock);
	if (!skb_queue_empty_lockless(&sk->sk_receive_queue))
		ms->ops->readable(ms);
	if (inet_sk_state_load(sk) != TCP_ESTABLISHED)
		sock_report_state(ms);
	read_unlock_bh(&sk->sk_callback_lock);
}

static int sock_copy(read_descriptor_t *desc, struct sk_buff *skb,
		     unsigned int off, size_t len)
{
	u8 **to = desc->arg.data;
	int err;

	len = min(len, desc->count);
	err = skb_copy_bits(skb, off, *to, len);
	if (err)
		return err;
	*to += len;
	desc->count -= len;
	return len;
}

/*
 * Like recvmsg(), at half its cost. Urgent data, at which TCP stops here, are an
 * error: no RNIC sends any.
 */
static int sock_read(struct sock *sk, read_descriptor_t *desc)
{
	int len = tcp_read_sock(sk, desc, sock_copy);

	if (len)
		return len;
	if (sock_flag(sk, SOCK_DONE))
		return 0;
	if (sk->sk_err)
		return sock_error(sk);
	if (sk->sk_shutdown & RCV_SHUTDOWN)
		return 0;
	if (inet_sk_state_load(sk) == TCP_CLOSE)
		return -ENOTCONN;
	return skb_queue_empty(&sk->sk_receive_queue) ? -EAGAIN : -EPROTO;
}

/**
 * iw_mpa_sock_recv - read what is there
 * @ms: open socket
 * @buf: where to
 * @len: at most, > 0
 *
 * Context: process; does not wait.
 *
 * Return: octets read, 0 if the peer closed, -EAGAIN if nothing is there, or
 * another negative errno.
 */
int iw_mpa_sock_recv(struct iw_mpa_sock *ms, void *buf, size_t len)
{
	read_descriptor_t desc = { .arg.data = &buf, .count = len };
	struct sock *sk = ms->sock->sk;
	int got;

	lock_sock(sk);
	got = sock_read(sk, &desc);
	release_sock(sk);
	return got;
}

/**
 * iw_mpa_sock_discard - drop what is there
 * @ms: open socket
 * @len: at most, > 0
 *
 * Context: process; does not wait.
 *
 * Return: as iw_mpa_sock_recv().
 */
int iw_mpa_sock_discard(struct iw_mpa_sock *ms, size_t len)
{
	struct sock *sk = ms->sock->sk;
	struct msghdr msg = {};

	lock_sock(sk);
	sock_nothing_answers(sk);
	release_sock(sk);
	return kernel_recvmsg(ms->sock, &msg, NULL, 0, len,
			      MSG_DONTWAIT | MSG_TRUNC);
}

/**
 * iw_mpa_sock_save_acks - acknowledge with what is sent next
 * @ms: open socket
 *
 * Startup is question and answer: a segment for that alone is not needed. A socket
 * begins like that, but TCP forgets it when it connects, and when it listens;
 * connections have it from their listener. It ends with the hand-off.
 *
 * Context: process.
 */
void iw_mpa_sock_save_acks(struct iw_mpa_sock *ms)
{
	tcp_sock_set_quickack(ms->sock->sk, 0);
}

/**
 * iw_mpa_sock_begin_send - let a startup message use the task's page fragment
 * @ms: open socket, on which nobody else sends
 *
 * A fragment of the socket's own is 32 KiB that it keeps for its life. The task's
 * is not in use: no caller is within a send of its own. The scope does what GFP_NOIO
 * does for the driver, and TCP takes that for "not the task's".
 *
 * Context: process.
 *
 * Return: for iw_mpa_sock_end_send()
 */
unsigned int iw_mpa_sock_begin_send(struct iw_mpa_sock *ms)
{
	struct sock *sk = ms->sock->sk;

	sk->sk_allocation = GFP_KERNEL;
	sk->sk_use_task_frag = true;
	return memalloc_noio_save();
}

/**
 * iw_mpa_sock_end_send - the startup message has been sent
 * @ms: open socket
 * @scope: from iw_mpa_sock_begin_send()
 */
void iw_mpa_sock_end_send(struct iw_mpa_sock *ms, unsigned int scope)
{
	struct sock *sk = ms->sock->sk;

	memalloc_noio_restore(scope);
	sk->sk_use_task_frag = false;
	sk->sk_allocation = GFP_NOIO;
}

/**
 * iw_mpa_sock_send - send a startup frame or FPDU
 * @ms: open socket
 * @buf: what
 * @len: all of it
 *
 * Context: process; does not wait. The send buffer of a connection that is
 * starting up has room for all that the library sends.
 *
 * Return: 0, -EAGAIN if it did not fit after all, or another negative errno.
 */
int iw_mpa_sock_send(struct iw_mpa_sock *ms, const void *buf, size_t len)
{
	struct kvec iov = { .iov_base = (void *)buf, .iov_len = len };
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };
	struct sock *sk = ms->sock->sk;
	unsigned int scope;
	int sent;

	iov_iter_kvec(&msg.msg_iter, ITER_SOURCE, &iov, 1, len);
	scope = iw_mpa_sock_begin_send(ms);
	lock_sock(sk);
	sent = tcp_sendmsg_locked(sk, &msg, len);
	release_sock(sk);
	iw_mpa_sock_end_send(ms, scope);
	if (sent < 0)
		return sent;
	return sent == len ? 0 : -EAGAIN;
}

/**
 * iw_mpa_sock_shutdown - send FIN, go on receiving
 * @ms: open socket
 *
 * RST if there is no memory for a FIN.
 *
 * Context: process.
 */
void iw_mpa_sock_shutdown(struct iw_mpa_sock *ms)
{
	sock_send_fin(ms->sock);
}

/**
 * iw_mpa_sock_seq - where the stream stands as the driver takes it over
 * @ms: open socket
 * @snd_nxt: sequence number of the next octet to be sent
 * @rcv_nxt: sequence number of the next octet to be read
 * @rx_queued: octets from @rcv_nxt on have come already
 *
 * Context: process.
 */
void iw_mpa_sock_seq(struct iw_mpa_sock *ms, u32 *snd_nxt, u32 *rcv_nxt,
		     bool *rx_queued)
{
	struct sock *sk = ms->sock->sk;

	lock_sock(sk);
	*snd_nxt = tcp_sk(sk)->write_seq;
	*rcv_nxt = tcp_sk(sk)->copied_seq;
	*rx_queued = tcp_inq(sk) > 0;
	sock_nothing_answers(sk);
	release_sock(sk);
}

/**
 * iw_mpa_sock_local - the address that a socket is bound to
 * @ms: open socket
 * @local: result
 *
 * Context: process.
 *
 * Return: 0 or a negative errno.
 */
int iw_mpa_sock_local(struct iw_mpa_sock *ms, struct sockaddr_storage *local)
{
	int err = kernel_getsockname(ms->sock, (struct sockaddr *)local);

	return err < 0 ? err : 0;
}

static void sock_name_v6(const struct sock *sk, bool peer,
			 struct sockaddr_in6 *name)
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

static void sock_name_v4(const struct sock *sk, bool peer,
			 struct sockaddr_in *name)
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
 * As getsockname() and getpeername() do it, but without the lock: TCP does not change
 * the names of a connection. One of IPv4 has IPv4 names also on an IPv6 socket.
 */
static void sock_name(const struct sock *sk, bool peer, union iw_mpa_addr *name)
{
	if (sk->sk_family == AF_INET6 && !ipv6_addr_v4mapped(&sk->sk_v6_daddr))
		sock_name_v6(sk, peer, &name->in6);
	else
		sock_name_v4(sk, peer, &name->in);
}

/**
 * iw_mpa_sock_tuple - both addresses of a socket, connected or connecting
 * @ms: open socket
 * @tuple: result
 *
 * An IPv4 connection of an IPv6 socket has IPv4 addresses.
 *
 * Context: process.
 */
void iw_mpa_sock_tuple(struct iw_mpa_sock *ms, struct iw_mpa_tuple *tuple)
{
	memset(tuple, 0, sizeof(*tuple));
	sock_name(ms->sock->sk, false, &tuple->local);
	sock_name(ms->sock->sk, true, &tuple->remote);
}

/**
 * iw_mpa_sock_names - both addresses of a connection
 * @ms: open socket
 * @local: result
 * @remote: result
 *
 * As iw_mpa_sock_tuple().
 *
 * Context: process.
 *
 * Return: 0, or -ENOTCONN if TCP is gone.
 */
int iw_mpa_sock_names(struct iw_mpa_sock *ms, struct sockaddr_storage *local,
		      struct sockaddr_storage *remote)
{
	const struct sock *sk = ms->sock->sk;

	if (inet_sk_state_load(sk) == TCP_CLOSE)
		return -ENOTCONN;
	memset(local, 0, sizeof(*local));
	memset(remote, 0, sizeof(*remote));
	sock_name(sk, false, (union iw_mpa_addr *)local);
	sock_name(sk, true, (union iw_mpa_addr *)remote);
	return 0;
}

/**
 * iw_mpa_sock_lock_callbacks - keep the socket's callbacks out
 * @ms: open socket
 *
 * Context: process; softirqs are off until iw_mpa_sock_unlock_callbacks().
 */
void iw_mpa_sock_lock_callbacks(struct iw_mpa_sock *ms)
	__acquires(&ms->sock->sk->sk_callback_lock)
{
	write_lock_bh(&ms->sock->sk->sk_callback_lock);
}

/**
 * iw_mpa_sock_unlock_callbacks - let the socket's callbacks run again
 * @ms: open socket
 */
void iw_mpa_sock_unlock_callbacks(struct iw_mpa_sock *ms)
	__releases(&ms->sock->sk->sk_callback_lock)
{
	write_unlock_bh(&ms->sock->sk->sk_callback_lock);
}

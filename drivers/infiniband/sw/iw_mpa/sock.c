// SPDX-License-Identifier: GPL-2.0
/*
 * Kernel TCP sockets: opening and closing, reading and sending, sequence
 * numbers and addresses. Apart from the files in takeover/ no other file of
 * iw_mpa calls TCP.
 *
 * iw_mpa_sock_connect(), iw_mpa_sock_listen() and iw_mpa_sock_adopt() hook a
 * socket: they replace TCP's callbacks, such as sk_data_ready, by those of
 * iw_mpa. iw_mpa_sock_unhook() restores TCP's callbacks: after its return no
 * callback of iw_mpa runs or will run. iw_mpa_sock_release() unhooks and closes
 * a socket. No function here waits for the peer.
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

/* sk_allocation while iw_mpa sends: see sock_send() */
#define SOCK_SEND_GFP		(GFP_KERNEL | __GFP_NORETRY)

static_assert(__alignof__(struct iw_mpa_stream) > ~SK_USER_DATA_PTRMASK);

/*
 * TCP does not copy a listener's sk_user_data to the connections made from the
 * listener. So a connection that is not accepted yet has the listener's
 * callbacks, but its sk_user_data is NULL, or a pointer of BPF, with BPF's
 * flags in the low bits.
 */
static struct iw_mpa_sock *sock_of(const struct sock *sk)
{
	struct iw_mpa_stream *stream;

	if ((uintptr_t)READ_ONCE(sk->sk_user_data) &
	    (SK_USER_DATA_BPF | SK_USER_DATA_PSOCK))
		return NULL;
	stream = __locked_read_sk_user_data_with_flags(sk, 0);
	return stream ? container_of(stream, struct iw_mpa_sock, stream) : NULL;
}

/*
 * TCP may have read the address of this function from sk_data_ready before a
 * driver set its own callback there. In that case the bytes are for the driver:
 * call the driver's callback.
 */
static void iw_mpa_sk_data_ready(struct sock *sk)
{
	void (*now)(struct sock *sk);
	struct iw_mpa_sock *ms;

	trace_sk_data_ready(sk);
	read_lock_bh(&sk->sk_callback_lock);
	now = READ_ONCE(sk->sk_data_ready);
	ms = sock_of(sk);
	if (ms && now == iw_mpa_sk_data_ready)
		ms->report(ms, IW_MPA_EV_READABLE, 0);
	read_unlock_bh(&sk->sk_callback_lock);
	if (ms && now != iw_mpa_sk_data_ready)
		now(sk);
}

static void sock_report_state(struct iw_mpa_sock *ms)
{
	struct sock *sk = ms->sock->sk;
	int err = READ_ONCE(sk->sk_err);

	switch (inet_sk_state_load(sk)) {
	case TCP_ESTABLISHED:
		ms->report(ms, IW_MPA_EV_TCP_UP, 0);
		break;
	case TCP_CLOSE_WAIT:
		WRITE_ONCE(ms->fin_ack, tcp_sk(sk)->snd_una);
		fallthrough;
	case TCP_LAST_ACK:
	case TCP_CLOSING:
	case TCP_TIME_WAIT:
		ms->report(ms, IW_MPA_EV_PEER_CLOSED, 0);
		break;
	case TCP_CLOSE:
		ms->report(ms, iw_mpa_sock_end(err), err);
		break;
	default:	/* not connected yet, or the peer has not closed */
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
		ms->report(ms, iw_mpa_sock_end(err), err);
	read_unlock_bh(&sk->sk_callback_lock);
}

/* Return: 0; -EBUSY if sk_user_data is in use, such as by a sockmap of BPF */
static int sock_hook(struct iw_mpa_sock *ms, struct socket *sock,
		     unsigned long flags)
{
	struct sock *sk = sock->sk;

	write_lock_bh(&sk->sk_callback_lock);
	if (sk->sk_user_data) {
		write_unlock_bh(&sk->sk_callback_lock);
		return -EBUSY;
	}
	ms->sock = sock;
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
 * A driver must not change sk_error_report, sk_state_change and sk_user_data of
 * a hooked socket: restore them. The caller has sk_callback_lock write-held.
 *
 * Return: the name of a member of the socket that was wrong, or NULL. This
 * checks sk_data_ready, too, which has to be a driver's with @attached, and
 * iw_mpa's without it.
 */
const char *iw_mpa_sock_mend(struct iw_mpa_sock *ms, bool attached)
{
	struct sock *sk = ms->sock->sk;
	bool own = sk->sk_data_ready == iw_mpa_sk_data_ready;
	const char *name = NULL;

	if (own == attached)
		name = "sk_data_ready";
	if (sk->sk_error_report != iw_mpa_sk_error_report)
		name = "sk_error_report";
	if (sk->sk_state_change != iw_mpa_sk_state_change)
		name = "sk_state_change";
	if (sock_of(sk) != ms)
		name = "sk_user_data";
	sk->sk_error_report = iw_mpa_sk_error_report;
	sk->sk_state_change = iw_mpa_sk_state_change;
	rcu_assign_sk_user_data(sk, &ms->stream);
	return name;
}

/*
 * Replace a driver's socket callbacks by iw_mpa's. After the return no callback
 * of the driver runs.
 *
 * Return: the name of a member of the socket, other than sk_write_space, that
 * was not iw_mpa's before the call, or NULL.
 */
const char *iw_mpa_sock_detach(struct iw_mpa_sock *ms)
{
	const char *changed;
	struct sock *sk;

	if (!ms->sock) {
		ms->stream.qp = NULL;
		return NULL;
	}
	sk = ms->sock->sk;
	write_lock_bh(&sk->sk_callback_lock);
	changed = iw_mpa_sock_mend(ms, false);
	sk->sk_data_ready = iw_mpa_sk_data_ready;
	sk->sk_write_space = ms->stream.write_space;
	ms->stream.qp = NULL;
	ms->stream.priv = NULL;
	write_unlock_bh(&sk->sk_callback_lock);
	return changed;
}

/*
 * Restore TCP's callbacks of a socket, unless it is closed. The socket must not
 * have a driver attached. After the return no callback of iw_mpa runs. Nothing
 * is changed if sk_user_data does not point to @ms: then BPF may use the
 * socket.
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

/* Move a hooked socket, without a driver, to @to, whose report() is set. */
void iw_mpa_sock_move(struct iw_mpa_sock *from, struct iw_mpa_sock *to)
{
	typeof(to->report) report = to->report;
	struct sock *sk = from->sock->sk;

	write_lock_bh(&sk->sk_callback_lock);
	*to = *from;
	to->report = report;
	rcu_assign_sk_user_data(sk, &to->stream);
	from->sock = NULL;
	write_unlock_bh(&sk->sk_callback_lock);
}

static bool sock_fin_is_due(struct sock *sk)
{
	return (1 << inet_sk_state_load(sk)) &
	       (TCPF_ESTABLISHED | TCPF_CLOSE_WAIT);
}

/*
 * If there is no memory for a FIN, TCP does not send it later either, and keeps
 * the connection and its network namespace for ever. So in that case this
 * function aborts the connection: the peer gets RST; but a peer that has sent
 * FIN before gets RST only in answer to its next segment.
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
 * Send FIN, and go on receiving. If there is no memory for a FIN the peer gets
 * RST. While a driver was attached, TCP reported what arrived to the driver
 * alone. So bytes, a FIN or a failure that have arrived are reported to iw_mpa
 * now.
 *
 * If a device has taken the connection over, the device sends FIN, not this
 * function. Once the driver's stop() has returned, nothing reports the peer's
 * FIN any more: so PEER_CLOSED is then reported here, even if the peer has not
 * sent FIN.
 */
void iw_mpa_sock_shutdown(struct iw_mpa_sock *ms)
{
	struct sock *sk;

	if (!ms->sock) {
		if (!ms->stream.qp)
			ms->report(ms, IW_MPA_EV_PEER_CLOSED, 0);
		return;
	}
	sk = ms->sock->sk;
	sock_send_fin(ms->sock);
	read_lock_bh(&sk->sk_callback_lock);
	if (!skb_queue_empty_lockless(&sk->sk_receive_queue))
		ms->report(ms, IW_MPA_EV_READABLE, 0);
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
 * Restore TCP's callbacks of a socket and close the socket, unless it is closed
 * already. TCP still delivers the bytes that were sent before, and then sends
 * FIN. TCP sends RST instead of FIN if received bytes are unread, or if there
 * is no memory for a FIN.
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

/* Send RST, which TCP reports as an end. The socket exists until release(). */
void iw_mpa_sock_reset(struct iw_mpa_sock *ms)
{
	if (ms->sock)
		tcp_abort(ms->sock->sk, ECONNABORTED);
}

/*
 * Sockets of iw_mpa are locked while locks of rdma_cm are held. Other sockets
 * are locked before locks of rdma_cm are taken. So that lockdep does not report
 * a deadlock, iw_mpa's sockets have a lockdep class of their own. The class is
 * in the module, so a socket of this class has a reference on the module.
 */
#ifdef CONFIG_DEBUG_LOCK_ALLOC
static struct lock_class_key sock_keys[2], sock_spin_keys[2];
static const char * const sock_names[] = {
	"sk_lock-AF_INET-IW_MPA", "sk_lock-AF_INET6-IW_MPA"
};

/* sk_lock.slock keeps its lockdep name: see sock_classify_accepted(). */
static void sock_classify(struct sock *sk)
{
	const char *spin_name = sk->sk_lock.slock.dep_map.name;
	int v6 = sk->sk_family == AF_INET6;

	if (WARN_ON_ONCE(!sock_allow_reclassification(sk)))
		return;
	sock_lock_init_class_and_name(sk, spin_name, &sock_spin_keys[v6],
				      sock_names[v6], &sock_keys[v6]);
}

/*
 * TCP already uses an accepted socket: so the socket's locks, sk_lock and the
 * spinlock sk_lock.slock, are held while their lockdep classes change. But a
 * CPU that is to take the spinlock calls lockdep before it waits, so lockdep
 * may be looking up the class of the spinlock meanwhile. lockdep warns if it
 * finds the name of one class with the key of another. So the spinlock of each
 * iw_mpa socket has the name that the spinlocks of other kernel sockets have,
 * and only the key changes, in one store.
 */
static void sock_classify_accepted(struct sock *sk)
{
	int v6 = sk->sk_family == AF_INET6;

	lock_sock(sk);
	sk_owner_set(sk, THIS_MODULE);
	lock_set_class(&sk->sk_lock.dep_map, sock_names[v6], &sock_keys[v6], 0,
		       _RET_IP_);
	spin_lock_bh(&sk->sk_lock.slock);
	lock_set_class(&sk->sk_lock.slock.dep_map,
		       sk->sk_lock.slock.dep_map.name,
		       &sock_spin_keys[v6], 0, _RET_IP_);
	spin_unlock_bh(&sk->sk_lock.slock);
	release_sock(sk);
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
	return sock->ops->setsockopt(sock, level, name, KERNEL_SOCKPTR(&val),
				     sizeof(val));
}

/*
 * An IPv6 socket may carry an IPv4 connection, so both the TOS and the traffic
 * class are set. A connection inherits the TOS of its listener, but not
 * sk_priority, which belongs to the TOS. ip_sock_set_tos() does not set
 * sk_priority if the TOS stays the same: so sk_priority is set here.
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
 * A connection inherits from its listener what is set here, except the
 * priority: see sock_set_tos(). sk_use_task_frag is off since a driver may send
 * in a task that is filling the task's page fragment for another socket.
 */
static int sock_setup(struct socket *sock, const struct iw_mpa_sock_opts *opts)
{
	struct sock *sk = sock->sk;

	sock_classify(sk);
	lock_sock(sk);
	sk->sk_allocation = IW_MPA_SOCK_GFP;
	sk->sk_use_task_frag = false;
	/*
	 * Connections of a restarted server stay in TIME_WAIT for a minute.
	 * With SK_CAN_REUSE the server can bind to its port nevertheless, and a
	 * client to a port that rdma_cm has chosen. rdma_cm ensures that no two
	 * ULPs use the same port.
	 */
	sk->sk_reuse = SK_CAN_REUSE;
	/* A short FPDU must not wait 40 ms for the ACK of the startup frame. */
	tcp_sk(sk)->nonagle |= TCP_NAGLE_OFF;
	/*
	 * No pure ACK of the SYN-ACK: the MPA Request acknowledges the SYN-ACK,
	 * see iw_mpa_sock_send_first().
	 */
	inet_csk_enter_pingpong_mode(sk);
	release_sock(sk);
	return opts->tos_set ? sock_set_tos(sock, opts->tos) : 0;
}

static int sock_init(struct iw_mpa_sock *ms, struct socket *sock,
		     const struct iw_mpa_sock_opts *opts)
{
	union iw_mpa_addr addr = *opts->local;
	int err = sock_setup(sock, opts);

	if (!err && opts->afonly && opts->local->sa.sa_family == AF_INET6)
		err = ip6_sock_set_v6only(sock->sk);
	/* Bind only once: a second call needs a capability of the caller. */
	if (!err && (opts->way || opts->ifindex))
		err = sock_bindtoindex(sock->sk, opts->way ?: opts->ifindex,
				       true);
	if (err)
		return err;
	if (opts->any_port) {
		*iw_mpa_addr_port(&addr) = 0;
		/* TCP may take a port that is in use, but not with this peer */
		sock_set_int(sock, SOL_IP, IP_BIND_ADDRESS_NO_PORT, 1);
	}
	err = kernel_bind(sock, (struct sockaddr_unsized *)&addr, sizeof(addr));
	if (err)
		return err;
	/*
	 * TCP may have to deliver bytes after the socket was closed. Without a
	 * reference on the network namespace, close() would stop TCP's
	 * retransmission timers. Accepted connections inherit the reference.
	 */
	sk_net_refcnt_upgrade(sock->sk);
	return sock_hook(ms, sock, opts->remote ? 0 : SK_USER_DATA_NOCOPY);
}

static int sock_open(struct iw_mpa_sock *ms,
		     const struct iw_mpa_sock_opts *opts)
{
	struct socket *sock;
	int err;

	if (!iw_mpa_addr_is_known(opts->local))
		return -EAFNOSUPPORT;
	err = sock_create_kern(opts->net, opts->local->sa.sa_family,
			       SOCK_STREAM, IPPROTO_TCP, &sock);
	if (err)
		return err;
	err = sock_init(ms, sock, opts);
	if (err)
		sock_release(sock);
	return err;
}

/*
 * The socket was bound to an interface, by which TCP has chosen its route. Now
 * bind the socket to that interface's L3 master @ifindex, or to no interface if
 * @ifindex is 0: the peer's packets may arrive by any interface, after a change
 * of routes, or if the peer's neighbour table is old. TCP keeps its route as
 * long as that is valid. TCP's tables find the socket by the L3 master, so they
 * need no change. A SYN-ACK that arrives by another interface before this call
 * is refused; TCP then sends its SYN again.
 */
static void sock_forget_way(struct sock *sk, int ifindex)
{
	lock_sock(sk);
	/* Pairs with READ_ONCE() in TCP */
	WRITE_ONCE(sk->sk_bound_dev_if, ifindex);
	release_sock(sk);
}

/*
 * Begin to connect, without waiting. ms->report() gets TCP_UP or a failure; if
 * the peer is on the same host, maybe before this returns.
 *
 * Return: 0; 1 if, with @opts->fast_open, TCP sends its SYN only when it gets
 * bytes from iw_mpa_sock_send_first(); or a negative errno, and nothing is
 * reported: -EADDRINUSE from bind() or -EADDRNOTAVAIL from connect() if TCP
 * already uses the local port; -ENETUNREACH if there is no route; or another.
 */
int iw_mpa_sock_connect(struct iw_mpa_sock *ms,
			const struct iw_mpa_sock_opts *opts)
{
	int err = sock_open(ms, opts);

	if (err)
		return err;
	/* If Fast Open is off this option is refused: TCP connects as usual. */
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

/* Open a listening socket. READABLE is reported when a connection waits. */
int iw_mpa_sock_listen(struct iw_mpa_sock *ms,
		       const struct iw_mpa_sock_opts *opts, int backlog)
{
	int err = sock_open(ms, opts);

	if (err)
		return err;
	err = kernel_listen(ms->sock, backlog);
	if (err) {
		iw_mpa_sock_release(ms);
		return err;
	}
	/*
	 * kernel_listen() has set TCP_QUICKACK to 1. Accepted connections
	 * inherit it, and need 0: see iw_mpa_sock_send_first().
	 */
	tcp_sock_set_quickack(ms->sock->sk, 0);
	if (opts->fast_open)
		sock_set_int(ms->sock, SOL_TCP, TCP_FASTOPEN, backlog);
	return 0;
}

/*
 * Accept one connection of a listener. The caller has to pass the new socket to
 * iw_mpa_sock_adopt() or iw_mpa_sock_drop().
 *
 * Return: 0; -EAGAIN if no connection waits; or another negative errno.
 */
int iw_mpa_sock_accept(struct iw_mpa_sock *listener, struct socket **sock)
{
	/* Without this check kernel_accept() would make a socket in vain. */
	if (reqsk_queue_empty(&inet_csk(listener->sock->sk)->icsk_accept_queue))
		return -EAGAIN;
	return kernel_accept(listener->sock, sock, O_NONBLOCK);
}

/*
 * Hook an accepted connection: from now on its socket callbacks report to @ms.
 * Bytes that arrived before the call are not reported: the caller has to read
 * them. FIN, RST or a failure of TCP is reported even if it came before the
 * call; the report may come before this returns.
 *
 * Return: 0; -EBUSY if sk_user_data of the connection is in use: the caller has
 * to call iw_mpa_sock_drop().
 */
int iw_mpa_sock_adopt(struct iw_mpa_sock *ms, struct socket *sock,
		      const struct iw_mpa_sock *listener,
		      const struct iw_mpa_sock_opts *opts)
{
	int err;

	sock_classify_accepted(sock->sk);
	/* TCP may have copied the peer's TOS (tcp_reflect_tos), no priority. */
	if (opts->tos_set)
		sock_set_tos(sock, opts->tos);
	err = sock_hook(ms, sock, 0);
	if (err)
		return err;
	/* For unhook(): TCP's own callbacks, which the listener has saved */
	ms->data_ready = listener->data_ready;
	ms->state_change = listener->state_change;
	ms->error_report = listener->error_report;
	/* An end of the connection before sock_hook() was not reported. */
	read_lock_bh(&sock->sk->sk_callback_lock);
	if (inet_sk_state_load(sock->sk) != TCP_ESTABLISHED)
		sock_report_state(ms);
	read_unlock_bh(&sock->sk->sk_callback_lock);
	return 0;
}

/*
 * Close an accepted connection that iw_mpa_sock_adopt() did not hook. TCP may
 * use the closed connection for longer than the module is loaded. So iw_mpa's
 * callbacks, inherited from the listener, are replaced by TCP's. A callback
 * that BPF has installed is left as it is.
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

/* Copy @desc->count bytes at most; tcp_read_sock() stops if this returns 0. */
static int sock_take(read_descriptor_t *desc, struct sk_buff *skb,
		     unsigned int off, size_t len)
{
	int err;

	len = min(len, desc->count);
	err = skb_copy_bits(skb, off, desc->arg.data, len);
	if (err)
		return err;
	desc->arg.data += len;
	desc->count -= len;
	return len;
}

/*
 * Read as recvmsg() does, but by tcp_read_sock(), at half the cost.
 * tcp_read_sock() stops at urgent data: an error, since no RNIC sends any.
 */
static int sock_read_all(struct sock *sk, read_descriptor_t *desc)
{
	int len = tcp_read_sock(sk, desc, sock_take);

	if (len)
		return len;
	/* Do not clear sk_err: the next read has to return it, too. */
	if (sk->sk_err)
		return -sk->sk_err;
	if (sk->sk_shutdown & RCV_SHUTDOWN)
		return 0;
	if (inet_sk_state_load(sk) == TCP_CLOSE)
		return -ENOTCONN;
	return skb_queue_empty(&sk->sk_receive_queue) ? -EAGAIN : -EPROTO;
}

/*
 * Read at most @len (> 0) bytes that TCP has received. This does not wait.
 *
 * @closed: result: the peer has sent FIN, maybe after bytes that are unread
 *
 * Return: bytes read; 0 if the peer has sent FIN and no byte is left; -EAGAIN
 * if nothing has arrived; or another negative errno.
 */
int iw_mpa_sock_read(struct iw_mpa_sock *ms, void *buf, size_t len,
		     bool *closed)
{
	read_descriptor_t desc = { .arg.data = buf, .count = len };
	struct sock *sk = ms->sock->sk;
	int ret;

	lock_sock(sk);
	ret = sock_read_all(sk, &desc);
	/* An error sets RCV_SHUTDOWN, too, and is not a FIN. */
	*closed = (ret >= 0 || ret == -EAGAIN) &&
		  (sk->sk_shutdown & RCV_SHUTDOWN) && !sk->sk_err;
	release_sock(sk);
	return ret;
}

/* Drop at most @len (> 0) received bytes; otherwise as iw_mpa_sock_read(). */
int iw_mpa_sock_discard(struct iw_mpa_sock *ms, size_t len)
{
	struct msghdr msg = {};

	if (!ms->sock)
		return 0;
	return kernel_recvmsg(ms->sock, &msg, NULL, 0, len,
			      MSG_DONTWAIT | MSG_TRUNC);
}

/*
 * TCP copies the bytes into a page fragment. A socket's own fragment takes 32
 * KiB as long as the socket exists: 3 GiB for 100,000 connections, though their
 * drivers send from other pages. So the fragment of the current task is used,
 * which serves all sockets on which this task sends. No other send of the task,
 * which might be using the fragment, is in progress: no connection starts or
 * ends in a task that reclaims memory.
 *
 * Older kernels use the task's fragment only if sk_allocation has __GFP_FS, so
 * this function sets that flag. Even so a send does not wait for storage: in
 * the caller's memalloc_noio scope TCP starts no I/O, and with __GFP_NORETRY it
 * does not wait for memory without end. If a driver has called
 * sk_set_memalloc(), __GFP_MEMALLOC stays set.
 */
static int sock_send(struct sock *sk, const void *buf, size_t len, bool first)
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
	sk->sk_allocation = SOCK_SEND_GFP | (gfp & __GFP_MEMALLOC);
	sk->sk_use_task_frag = true;
	sent = tcp_sendmsg_locked(sk, &msg, len);
	sk->sk_use_task_frag = false;
	sk->sk_allocation = gfp;
	release_sock(sk);
	return sent;
}

/*
 * Send all of a startup frame or an FPDU. The caller is in a memalloc_noio
 * scope. This does not wait: during startup TCP's send buffer has room for all
 * that iw_mpa sends.
 *
 * Return: 0; -EAGAIN if TCP took no byte; -EPIPE if TCP took only a part, if
 * the connection cannot send any more, or if there is no socket; or another
 * negative errno.
 */
int iw_mpa_sock_send(struct iw_mpa_sock *ms, const void *buf, size_t len)
{
	int sent;

	if (!ms->sock)
		return -EPIPE;
	sent = sock_send(ms->sock->sk, buf, len, false);
	if (sent < 0)
		return sent;
	return sent == len ? 0 : -EPIPE;
}

/*
 * Send an initiator's first bytes, the MPA Request, if TCP is connected, or if
 * TCP, with Fast Open, waits for bytes before it sends its SYN. The caller is
 * in a memalloc_noio scope.
 *
 * A SYN carries the bytes of one segment at most, and none if memory is short.
 * The caller sends the rest when the socket is connected. If bytes in the SYN
 * are lost, or the peer's TCP does not accept them, TCP itself sends them
 * again.
 *
 * Each startup message answers the message before, and can also carry the ACK
 * of that message. sock_setup() has set TCP_QUICKACK to 0, but that saves only
 * the ACK of the SYN-ACK: when the SYN-ACK arrives TCP sets TCP_QUICKACK to 1,
 * and then sends each ACK at once. So this function sets TCP_QUICKACK to 0
 * again. With TCP_QUICKACK 1 a connect takes three segments more, which cost a
 * tenth of the connect's instructions.
 *
 * If TCP was connected before the call, no event reports when TCP has room for
 * more bytes. So in that case TCP has to accept all @len bytes at once.
 *
 * Return: bytes that TCP accepted, less than @len only if TCP_UP is still to be
 * reported; -ENOBUFS if TCP was connected and accepted only a part; or another
 * negative errno.
 */
int iw_mpa_sock_send_first(struct iw_mpa_sock *ms, const void *buf, size_t len)
{
	bool up = iw_mpa_sock_is_up(ms);
	int sent = sock_send(ms->sock->sk, buf, len, true);

	if (sent == -EINPROGRESS)
		return 0;
	return up && sent >= 0 && sent < len ? -ENOBUFS : sent;
}

/*
 * Return: how many bytes TCP has received in order that were not read. Unlike
 * tcp_inq() this counts bytes after urgent data. It does not count bytes after
 * a gap, nor a FIN, though a FIN has a sequence number. Unless the socket is
 * locked the result may be out of date.
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
 * Where the stream is at the hand-off to the driver: the sequence numbers of
 * the next byte to send and of the next byte to read, and whether bytes to read
 * have arrived.
 */
void iw_mpa_sock_seq(struct iw_mpa_sock *ms, u32 *snd_nxt, u32 *rcv_nxt,
		     bool *rx_queued)
{
	struct sock *sk = ms->sock->sk;

	lock_sock(sk);
	*snd_nxt = tcp_sk(sk)->write_seq;
	*rcv_nxt = tcp_sk(sk)->copied_seq;
	*rx_queued = iw_mpa_sk_unread(sk);
	release_sock(sk);
}

/*
 * How many bytes a connection has carried, for the log and debugfs: @sent were
 * acknowledged by the peer's TCP, @received have arrived, read or not. A 32-bit
 * machine may read the two halves of a 64-bit number at different times.
 */
void iw_mpa_sock_bytes(const struct iw_mpa_sock *ms, u64 *sent, u64 *received)
{
	const struct tcp_sock *tp = tcp_sk(ms->sock->sk);

	/* TCP may be changing the counter: a slightly old value will do. */
	*sent = data_race(tp->bytes_acked);
	/* bytes_received may be slightly old, too. */
	*received = data_race(tp->bytes_received);
}

#if IS_ENABLED(CONFIG_IPV6)
static void sock_name_v6(const struct sock *sk, const struct in6_addr *addr,
			 __be16 port, union iw_mpa_addr *name)
{
	name->in6 = (struct sockaddr_in6) {
		.sin6_family	= AF_INET6,
		.sin6_port	= port,
		.sin6_addr	= *addr,
		.sin6_scope_id	= ipv6_iface_scope_id(addr,
						      sk->sk_bound_dev_if),
	};
}
#endif

static void sock_name_v4(__be32 addr, __be16 port, union iw_mpa_addr *name)
{
	name->in = (struct sockaddr_in) {
		.sin_family	= AF_INET,
		.sin_port	= port,
		.sin_addr	= { addr },
	};
}

/*
 * Both addresses of a connected or connecting socket, before or after
 * iw_mpa_sock_adopt(). An IPv4 connection of an IPv6 socket gets IPv4
 * addresses. getsockname() and getpeername() would lock the socket, which is
 * not needed: the addresses of a connection do not change.
 */
void iw_mpa_sock_tuple(const struct socket *sock, struct iw_mpa_tuple *tuple)
{
	const struct sock *sk = sock->sk;
	const struct inet_sock *inet = inet_sk(sk);

#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6 &&
	    !ipv6_addr_v4mapped(&sk->sk_v6_daddr)) {
		sock_name_v6(sk, &sk->sk_v6_rcv_saddr, inet->inet_sport,
			     &tuple->local);
		sock_name_v6(sk, &sk->sk_v6_daddr, inet->inet_dport,
			     &tuple->remote);
		return;
	}
#endif
	sock_name_v4(inet->inet_rcv_saddr, inet->inet_sport, &tuple->local);
	sock_name_v4(inet->inet_daddr, inet->inet_dport, &tuple->remote);
}

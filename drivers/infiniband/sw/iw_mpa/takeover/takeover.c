// SPDX-License-Identifier: GPL-2.0
/*
 * Takeover: a TCP connection is moved from the host's TCP to a device. Its
 * socket is kept, but can neither receive nor send.
 *
 * The socket of a connection that was taken over stays in TCP's tables. So the
 * port and the 4-tuple are in use, and a segment that reaches the host in spite
 * of the device is for this socket, not for a listener that would answer with
 * RST. Two gates keep the socket from receiving and sending:
 *
 *  - in: a socket filter that passes nothing. TCP runs the filter before it
 *    handles a segment, and drops the segment silently.
 *  - out: the socket's icsk_af_ops, the functions by which TCP reaches IP, is a
 *    copy whose queue_xmit drops and counts. All that TCP sends for a socket
 *    goes through queue_xmit: acknowledgments, probes, FIN, and the RST of an
 *    administrator's "ss -K".
 *
 * States of a takeover, and the functions that enter them:
 *
 *	OPEN	the gates are open; TCP has the connection
 *	HELD	iw_mpa_takeover_begin(): TCP gets no more packets: the device
 *		keeps them, or gate "in" drops them. TCP may still send
 *		acknowledgments, and its packets leave the host's queues
 *	FROZEN	iw_mpa_takeover_freeze(): both gates are shut, no timer runs,
 *		and struct iw_mpa_tcb has TCP's state (the record), all under
 *		one hold of the socket's lock
 *	GIVEN	takeover_give(): the driver is about to get the connection
 *	TAKEN	prepare() has returned 0: the endpoint has no socket any more
 *	FREE	endpoint and driver have dropped their references: the socket is
 *		closed
 *
 * iw_mpa_takeover_undo() leads back to state OPEN: from HELD, from FROZEN, and
 * from GIVEN if the driver's prepare() has refused the connection.
 *
 * References on a takeover: until GIVEN the endpoint has the only one, which it
 * drops in iw_mpa_takeover_put(). From GIVEN on the driver has one, too, until
 * iw_mpa_stream_released() or the removal of the device. After the last
 * reference a work item closes the socket, since the driver may drop its
 * reference in any context. While the endpoint has a reference, it gets an
 * event if an administrator ends the TCP connection by "ss -K".
 *
 * Locking: the socket's lock protects both gates (sk_filter and icsk_af_ops).
 * TCP reads them under that lock, or under RCU, so their memory is freed a
 * grace period after the gates were opened. No other lock of iw_mpa is taken
 * under iw_mpa_takeovers.lock, the lock of the device's list. Functions that
 * take a connection off the list wait for the mutex iw_mpa_takeovers.looking
 * before they use the connection's socket.
 *
 * TCP runs the socket filter under RCU, before it takes the socket's lock. So a
 * grace period passes between the installation of the filter and the record of
 * TCP's state: otherwise a segment that TCP had checked before the filter was
 * there could be handled after the record.
 *
 * A work item checks the path of each connection that the driver watches: after
 * a netevent, and once a second, since some changes of routes have no notifier.
 * Most netevents only report that a neighbour is alive, few that its address
 * has changed. So a netevent only starts a check, which compares paths.
 * path_changed() is called under the lock of the device's list: once
 * iw_mpa_stream_released() has returned, in whatever context, it is not called
 * any more.
 *
 * tp->repair, which TCP_REPAIR sets, makes TCP close without FIN and RST. It is
 * the only member that this file sets of those that struct tcp_sock adds to
 * struct inet_connection_sock.
 */

#include "takeover.h"
#include "../sock.h"
#include "path.h"
#include "takeovers.h"
#include "tcb.h"

#define CREATE_TRACE_POINTS
#include "trace_takeover.h"

#include <linux/delay.h>
#include <linux/export.h>
#include <linux/filter.h>
#include <linux/hrtimer.h>
#include <linux/kref.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <net/inet_connection_sock.h>
#include <net/netevent.h>
#include <net/tcp.h>

/* How often and how long a takeover waits for the host to send TCP's packets */
#define TAKEOVER_WAITS		40
#define TAKEOVER_WAIT_US	500

/* Interval of path checks; delay after netevents, so that many share a check */
#define TAKEOVER_LOOK_EACH	HZ
#define TAKEOVER_LOOK_SOON	msecs_to_jiffies(20)

/**
 * struct iw_mpa_takeover - a connection that the device has, or is about to get
 * @node: entry in the list of @all, from just before prepare() until the driver
 *	releases the connection
 * @all: all takeovers of the device
 * @users: references: that of the endpoint and, from just before prepare() on,
 *	that of the driver
 * @ep: the endpoint; valid as long as the endpoint has its reference
 * @ms: once prepare() has returned 0: the socket; its callbacks report to @ep
 * @tcb: record of TCP's state, until prepare() has returned
 * @af_ops: keeps the socket from sending: a copy of @tcp_af_ops whose
 *	queue_xmit drops all packets
 * @tcp_af_ops: TCP's own functions, saved when @af_ops took their place
 * @filter: keeps the socket from receiving: a socket filter that passes nothing
 * @keepalive: keepalive was on when @af_ops was installed
 * @work: closes the socket
 * @rcu: for readers of @filter and @af_ops
 * @watched: iw_mpa_stream_watch() was called; under the list's lock
 * @taken: prepare() has returned 0: @priv is valid until the driver releases
 *	the connection; under the list's lock
 * @priv: the driver's argument for path_changed()
 * @path: the path that the driver got last; its route may be freed already
 * @round: number of the last run of the work item that checked this connection
 */
struct iw_mpa_takeover {
	struct list_head				node;
	struct iw_mpa_takeovers				*all;
	struct kref					users;
	struct iw_mpa_ep				*ep;
	struct iw_mpa_sock				ms;
	struct iw_mpa_tcb				tcb;
	struct inet_connection_sock_af_ops		af_ops;
	const struct inet_connection_sock_af_ops	*tcp_af_ops;
	struct sk_filter				filter;
	bool						keepalive;
	struct work_struct				work;
	struct rcu_head					rcu;
	bool						watched;
	bool						taken;
	void						*priv;
	struct iw_mpa_path				path;
	unsigned int					round;
};

static DEFINE_MUTEX(takeover_mutex);
/* takeover_mutex protects these; the last two are set while a device exists. */
static unsigned int takeover_devices;
static struct bpf_prog *takeover_drop_all;
static struct workqueue_struct *takeover_wq;

/* The gate out: drop and count a packet, and report to TCP that it was sent. */
static int takeover_xmit(struct sock *sk, struct sk_buff *skb, struct flowi *fl)
{
	const struct iw_mpa_takeover *t =
		container_of(inet_csk(sk)->icsk_af_ops,
			     const struct iw_mpa_takeover, af_ops);

	iw_mpa_count_for(t->all->stats, IW_MPA_CNT_held_back);
	kfree_skb(skb);
	return 0;
}

/* Shut the gate in. No process has a descriptor, to change the filter. */
static void takeover_shut_in(struct iw_mpa_takeover *t, struct sock *sk)
{
	sock_set_flag(sk, SOCK_FILTER_LOCKED);
	rcu_assign_pointer(sk->sk_filter, &t->filter);
}

/*
 * Newer kernels do not export inet_csk_clear_xmit_timers() to modules. The
 * timers for retransmission and delayed ACKs may still fire, but their handlers
 * find nothing to do. If the handler of the keepalive timer has begun, it finds
 * the socket locked, and starts its timer again; the next time the handler does
 * nothing, since SOCK_KEEPOPEN is off.
 */
static void takeover_stop_timers(struct iw_mpa_takeover *t, struct sock *sk)
{
	inet_csk_clear_xmit_timer(sk, ICSK_TIME_RETRANS);
	inet_csk_clear_xmit_timer(sk, ICSK_TIME_DACK);
	t->keepalive = sock_flag(sk, SOCK_KEEPOPEN);
	sk->sk_prot->keepalive(sk, 0);
	sock_reset_flag(sk, SOCK_KEEPOPEN);
	if (hrtimer_try_to_cancel(&tcp_sk(sk)->pacing_timer) == 1)
		__sock_put(sk);
	if (hrtimer_try_to_cancel(&tcp_sk(sk)->compressed_ack_timer) == 1)
		__sock_put(sk);
}

static void takeover_shut_out(struct iw_mpa_takeover *t, struct sock *sk)
{
	t->tcp_af_ops = inet_csk(sk)->icsk_af_ops;
	t->af_ops = *t->tcp_af_ops;
	t->af_ops.queue_xmit = takeover_xmit;
	WRITE_ONCE(inet_csk(sk)->icsk_af_ops, &t->af_ops);
	takeover_stop_timers(t, sk);
}

/* sk_prot->keepalive() starts the timer only if SOCK_KEEPOPEN is off. */
static void takeover_start_timers(const struct iw_mpa_takeover *t,
				  struct sock *sk)
{
	if (!t->keepalive)
		return;
	sk->sk_prot->keepalive(sk, 1);
	sock_set_flag(sk, SOCK_KEEPOPEN);
}

static void takeover_open(struct iw_mpa_takeover *t, struct sock *sk)
{
	sock_owned_by_me(sk);
	if (t->tcp_af_ops)
		WRITE_ONCE(inet_csk(sk)->icsk_af_ops, t->tcp_af_ops);
	if (rcu_access_pointer(sk->sk_filter) == &t->filter)
		RCU_INIT_POINTER(sk->sk_filter, NULL);
	sock_reset_flag(sk, SOCK_FILTER_LOCKED);
}

/* A connection is off the list: wait until all->look does not use it. */
static void takeover_unlooked(struct iw_mpa_takeovers *all)
{
	mutex_lock(&all->looking);
	mutex_unlock(&all->looking);
}

/*
 * Close the socket, without a packet to the peer. While it closes, t->filter
 * and t->af_ops keep it from receiving and sending. Then both are removed: a
 * packet may hold the struct sock for longer than @t exists, and TCP would free
 * a filter that is still set.
 */
static void takeover_close(struct work_struct *work)
{
	struct iw_mpa_takeover *t =
		container_of(work, struct iw_mpa_takeover, work);
	struct sock *sk = t->ms.sock->sk;

	takeover_unlooked(t->all);
	sock_hold(sk);
	lock_sock(sk);
	tcp_sk(sk)->repair = 1;
	release_sock(sk);
	sock_release(t->ms.sock);
	lock_sock(sk);
	takeover_open(t, sk);
	release_sock(sk);
	sock_put(sk);
	iw_mpa_count(IW_MPA_CNT_sock_destroyed);
	iw_mpa_count_for(t->all->stats, IW_MPA_CNT_tcp_released);
	kfree_rcu(t, rcu);
}

static void takeover_free(struct kref *users)
{
	struct iw_mpa_takeover *t =
		container_of(users, struct iw_mpa_takeover, users);

	queue_work(takeover_wq, &t->work);
}

/* Send an ACK that is due: the device may send one too late for the peer. */
static void takeover_acknowledge(struct sock *sk)
{
	lock_sock(sk);
	if (sk->sk_state == TCP_ESTABLISHED &&
	    tcp_sk(sk)->rcv_wup != tcp_sk(sk)->rcv_nxt)
		__tcp_send_ack(sk, tcp_sk(sk)->rcv_nxt, 0);
	release_sock(sk);
}

/* Start a check of paths soon: one may have changed. Context: any. */
static void takeovers_stir(struct iw_mpa_takeovers *all)
{
	if (all->ops->path_changed && !list_empty_careful(&all->list) &&
	    !xchg(&all->stirred, 1))
		mod_delayed_work(takeover_wq, &all->look,
				 TAKEOVER_LOOK_SOON + READ_ONCE(all->took));
}

/*
 * Stop input of the host's TCP. When this function returns, TCP has received
 * and acknowledged the packets that reached the host before the call. Later
 * packets do not reach TCP, even if the device passes them to the host.
 * @held: the device has begun to keep packets that arrive; otherwise the host
 *	drops them from now on.
 *
 * Sleeps for one grace period, or for two with @held.
 *
 * Return: 0, then iw_mpa_takeover_freeze() or iw_mpa_takeover_undo() has to
 * follow; -ENOMEM; -EBUSY if the socket has a filter or a ULP of TCP already.
 */
int iw_mpa_takeover_begin(struct iw_mpa_ep *ep, bool held)
{
	struct sock *sk = ep->sock.sock->sk;
	struct iw_mpa_takeover *t;
	int err = 0;

	t = kzalloc_obj(*t, GFP_NOIO);
	if (!t)
		return -ENOMEM;
	INIT_LIST_HEAD(&t->node);
	INIT_WORK(&t->work, takeover_close);
	kref_init(&t->users);
	refcount_set(&t->filter.refcnt, 1);
	t->filter.prog = takeover_drop_all;
	t->all = ep->dev->takeovers;
	t->ep = ep;

	if (held)
		synchronize_rcu_expedited();
	lock_sock(sk);
	if (rcu_access_pointer(sk->sk_filter) || inet_csk(sk)->icsk_ulp_ops)
		err = -EBUSY;
	else
		takeover_shut_in(t, sk);
	release_sock(sk);
	if (err) {
		kfree(t);
		return err;
	}
	ep->takeover = t;
	synchronize_rcu_expedited();
	takeover_acknowledge(sk);
	return 0;
}

/* Wait until TCP's packets, which sk_wmem_alloc counts, have left the host. */
static bool takeover_is_sent(struct sock *sk)
{
	int i;

	for (i = 0; i < TAKEOVER_WAITS && sk_wmem_alloc_get(sk); i++)
		usleep_range(TAKEOVER_WAIT_US / 2, TAKEOVER_WAIT_US);
	return !sk_wmem_alloc_get(sk);
}

static enum iw_mpa_reason takeover_freeze(struct iw_mpa_takeover *t,
					  struct sock *sk)
{
	if (!iw_mpa_tcb_is_at_rest(sk))
		return IW_MPA_R_TCP_BUSY;
	if (iw_mpa_tcb_read(sk, &t->tcb))
		return IW_MPA_R_LOCAL;
	t->path = t->tcb.path;
	takeover_shut_out(t, sk);
	return IW_MPA_R_OK;
}

/*
 * Shut the host's TCP off for a connection, and put a record of the
 * connection's TCP state into @ho. Called after iw_mpa_takeover_begin(). Waits
 * until TCP's packets have left the host, 20 ms at most.
 *
 * Return: IW_MPA_R_OK; or IW_MPA_R_TCP_BUSY, or IW_MPA_R_LOCAL for lack of
 * memory: with these two nothing has changed.
 */
enum iw_mpa_reason iw_mpa_takeover_freeze(struct iw_mpa_ep *ep,
					  struct iw_mpa_handoff *ho)
{
	struct iw_mpa_takeover *t = ep->takeover;
	struct sock *sk = ep->sock.sock->sk;
	enum iw_mpa_reason why;

	if (!takeover_is_sent(sk))
		return IW_MPA_R_TCP_BUSY;
	lock_sock(sk);
	why = takeover_freeze(t, sk);
	release_sock(sk);
	if (why)
		return why;
	ho->rx_queued = t->tcb.rx_len;
	ho->tcb = &t->tcb;
	ho->takeover = t;
	return IW_MPA_R_OK;
}

/* Take a connection off the list. Return: false if it was off already. */
static bool takeover_take_back(struct iw_mpa_takeovers *all,
			       struct iw_mpa_takeover *t)
{
	unsigned long flags;
	bool had;

	spin_lock_irqsave(&all->lock, flags);
	had = !list_empty(&t->node);
	list_del_init(&t->node);
	spin_unlock_irqrestore(&all->lock, flags);
	return had;
}

/*
 * Return a connection to the host's TCP: the takeover has failed, or the driver
 * has refused the connection. TCP goes on as before: it sends acknowledgments
 * that are due, and restarts its keepalive timer. The peer has to repeat what
 * has arrived since iw_mpa_takeover_begin(), unless the device has kept it.
 */
void iw_mpa_takeover_undo(struct iw_mpa_ep *ep)
{
	struct iw_mpa_takeover *t = ep->takeover;
	struct sock *sk = ep->sock.sock->sk;

	if (takeover_take_back(t->all, t))
		takeover_unlooked(t->all);
	iw_mpa_tcb_free(&t->tcb);
	lock_sock(sk);
	takeover_open(t, sk);
	takeover_start_timers(t, sk);
	release_sock(sk);
	takeover_acknowledge(sk);
	ep->takeover = NULL;
	kfree_rcu(t, rcu);
}

/* Call before prepare(): the driver may release as soon as that returns. */
static void takeover_give(struct iw_mpa_takeover *t)
{
	kref_get(&t->users);
	spin_lock_irq(&t->all->lock);
	list_add_tail(&t->node, &t->all->list);
	spin_unlock_irq(&t->all->lock);
}

static void takeover_let_go(const struct iw_mpa_ep *ep)
{
	const struct iw_mpa_takeover_ops *ops = ep->dev->takeovers->ops;

	if (ops->hold)
		ops->let_go(ep->off.qp);
}

static enum iw_mpa_reason takeover_begin_and_freeze(struct iw_mpa_ep *ep,
						    struct iw_mpa_handoff *ho,
						    int *err)
{
	enum iw_mpa_reason why;

	*err = iw_mpa_takeover_begin(ep, ep->dev->takeovers->ops->hold);
	if (*err)
		return *err == -EBUSY ? IW_MPA_R_TCP_BUSY : IW_MPA_R_LOCAL;
	why = iw_mpa_takeover_freeze(ep, ho);
	if (why)
		iw_mpa_takeover_undo(ep);
	return why;
}

/*
 * First stop the connection's input in the host's TCP, then let the host handle
 * the packets that it has received, then record the connection's TCP state and
 * stop TCP's output and timers.
 */
static enum iw_mpa_reason takeover_shut_off(struct iw_mpa_ep *ep,
					    struct iw_mpa_handoff *ho, int *err)
{
	const struct iw_mpa_takeover_ops *ops = ep->dev->takeovers->ops;
	struct sock *sk = ep->sock.sock->sk;
	enum iw_mpa_reason why;

	if (iw_mpa_tcb_options(sk) & ~ops->tcp_options)
		return IW_MPA_R_TCP_OPTION;
	*err = ops->hold ? ops->hold(ep->off.qp, sk) : 0;
	if (*err)
		return IW_MPA_R_DRIVER;
	why = takeover_begin_and_freeze(ep, ho, err);
	if (why)
		takeover_let_go(ep);
	return why;
}

/*
 * Take the connection from the host's TCP, before prepare(), for a device with
 * takeover. If this fails, TCP goes on as before, and @ho has no record of
 * TCP's state: a driver that also works on a socket (attach) then gets the
 * stream on the socket, other drivers do not get it.
 *
 * Return: IW_MPA_R_OK if the driver gets the stream; else why it does not, with
 * a negative errno, or 0, in *@err.
 */
enum iw_mpa_reason iw_mpa_takeover_shut_off(struct iw_mpa_ep *ep,
					    struct iw_mpa_handoff *ho, int *err)
{
	static const struct iw_mpa_tcb none;
	enum iw_mpa_reason why = takeover_shut_off(ep, ho, err);

	trace_iw_mpa_takeover(ep->id, why ? &none : ho->tcb, why);
	if (!why) {
		takeover_give(ep->takeover);
		return IW_MPA_R_OK;
	}
	if (!ep->dev->ops->attach)
		return why;
	iw_mpa_count_for(ep->dev->stats, IW_MPA_CNT_tcp_kept);
	*err = 0;
	return IW_MPA_R_OK;
}

/* Report only the end of the connection: the device receives its bytes. */
static void takeover_of_sock(struct iw_mpa_sock *ms, enum iw_mpa_event event,
			     int err)
{
	struct iw_mpa_ep *ep = container_of(ms, struct iw_mpa_takeover, ms)->ep;

	if (event != IW_MPA_EV_TCP_UP && event != IW_MPA_EV_READABLE)
		ep->sock.report(&ep->sock, event, err);
}

/* After prepare(). @taken: it returned 0; the endpoint then has no socket. */
void iw_mpa_takeover_settle(struct iw_mpa_ep *ep, bool taken)
{
	struct iw_mpa_takeover *t = ep->takeover;

	if (!taken) {
		iw_mpa_takeover_undo(ep);
		takeover_let_go(ep);
		return;
	}
	iw_mpa_tcb_free(&t->tcb);
	t->ms.report = takeover_of_sock;
	iw_mpa_sock_move(&ep->sock, &t->ms);
	spin_lock_irq(&t->all->lock);
	t->taken = true;
	spin_unlock_irq(&t->all->lock);
	takeovers_stir(t->all);
	iw_mpa_count_for(ep->dev->stats, IW_MPA_CNT_tcp_taken_over);
}

/* Have the device send the Reply. Return: what send_reply() returns. */
int iw_mpa_takeover_send_reply(struct iw_mpa_ep *ep, const void *reply,
			       size_t len)
{
	return ep->dev->takeovers->ops->send_reply(ep->off.qp, reply, len);
}

/* An endpoint that ends drops its reference on the takeover. */
void iw_mpa_takeover_put(struct iw_mpa_ep *ep)
{
	struct iw_mpa_takeover *t = ep->takeover;

	iw_mpa_sock_unhook(&t->ms);
	ep->takeover = NULL;
	kref_put(&t->users, takeover_free);
}

/**
 * iw_mpa_peer_closed - the device found the peer's FIN, or that TCP has failed
 * @ep: endpoint of a connection that was taken over, from prepare() until
 *	stop()
 * @err: 0 for a FIN, after all bytes before it were handled; else a positive
 *	errno as in sk_err: ECONNRESET, ETIMEDOUT and the like
 *
 * The host's TCP gets neither the FIN nor the error. After a FIN iw_mpa calls
 * finish_tx() and stop(); after an error only stop().
 *
 * Context: any.
 */
void iw_mpa_peer_closed(struct iw_mpa_ep *ep, int err)
{
	if (iw_mpa_ep_check_call(ep, __func__))
		ep->sock.report(&ep->sock, iw_mpa_sock_end(err), err);
}
EXPORT_SYMBOL_GPL(iw_mpa_peer_closed);

/**
 * iw_mpa_stream_released - the device does not need a TCP connection any more
 * @takeover: of struct iw_mpa_handoff; must not be used after this call
 *
 * A driver calls this once for each prepare() that got a record (@tcb) and
 * returned 0: when both ends have closed and TIME_WAIT is over, or when the
 * connection was reset. This may be long after stop(), or before it. After the
 * call the host may use the 4-tuple again. Connections that the driver never
 * releases are released by iw_mpa_unregister_device().
 *
 * Context: any.
 */
void iw_mpa_stream_released(struct iw_mpa_takeover *takeover)
{
	if (takeover_take_back(takeover->all, takeover))
		kref_put(&takeover->users, takeover_free);
}
EXPORT_SYMBOL_GPL(iw_mpa_stream_released);

/**
 * iw_mpa_stream_watch - have path_changed() called for a connection
 * @takeover: of struct iw_mpa_handoff
 * @priv: argument for path_changed()
 *
 * A driver calls this in prepare() or later. From then on, until
 * iw_mpa_stream_released(), iw_mpa calls path_changed() whenever the path
 * differs from that in the record (@tcb), or from that of the last call of
 * path_changed(). There is no call before prepare() has returned 0, so a
 * prepare() that fails may free @priv. Without path_changed() this has no
 * effect.
 *
 * Context: any, but not within path_changed().
 */
void iw_mpa_stream_watch(struct iw_mpa_takeover *takeover, void *priv)
{
	struct iw_mpa_takeovers *all = takeover->all;
	unsigned long flags;

	spin_lock_irqsave(&all->lock, flags);
	takeover->priv = priv;
	takeover->watched = all->ops->path_changed;
	spin_unlock_irqrestore(&all->lock, flags);
	takeovers_stir(all);
}
EXPORT_SYMBOL_GPL(iw_mpa_stream_watch);

/*
 * Connections that the present run of the work item all->look has checked are
 * at the end of the list. Return: the next watched connection that this run has
 * not checked, or NULL
 */
static struct iw_mpa_takeover *takeover_next(struct iw_mpa_takeovers *all)
{
	struct iw_mpa_takeover *t;
	bool found = false;

	spin_lock_irq(&all->lock);
	while (!found) {
		t = list_first_entry_or_null(&all->list, struct iw_mpa_takeover,
					     node);
		if (!t || t->round == all->round)
			break;
		t->round = all->round;
		list_move_tail(&t->node, &all->list);
		found = t->watched && t->taken;
	}
	spin_unlock_irq(&all->lock);
	return found ? t : NULL;
}

static void takeover_look(struct iw_mpa_takeovers *all,
			  struct iw_mpa_takeover *t)
{
	struct iw_mpa_path path;

	iw_mpa_path_refresh(t->ms.sock->sk, &path);
	spin_lock_irq(&all->lock);
	if (!list_empty(&t->node) && iw_mpa_path_differs(&path, &t->path)) {
		t->path = path;
		all->ops->path_changed(t->priv, &path);
	}
	spin_unlock_irq(&all->lock);
	iw_mpa_path_put(&path);
}

/* Check the path of one connection. Return: false if all were checked */
static bool takeovers_look_at_one(struct iw_mpa_takeovers *all)
{
	struct iw_mpa_takeover *t;

	mutex_lock(&all->looking);
	t = takeover_next(all);
	if (t)
		takeover_look(all, t);
	mutex_unlock(&all->looking);
	return t;
}

static void takeovers_look(struct work_struct *work)
{
	struct iw_mpa_takeovers *all = container_of(to_delayed_work(work),
						    struct iw_mpa_takeovers,
						    look);
	unsigned long began = jiffies;
	bool any = false;

	xchg(&all->stirred, 0);	/* before the checks below */
	all->round++;
	while (takeovers_look_at_one(all)) {
		any = true;
		cond_resched();
	}
	/* If netevents never stop, checks take half of the time at most. */
	WRITE_ONCE(all->took, jiffies - began);
	if (any)
		queue_delayed_work(takeover_wq, &all->look, TAKEOVER_LOOK_EACH);
}

/* Context: process or softirq. */
static int takeovers_netevent(struct notifier_block *nb, unsigned long event,
			      void *arg)
{
	struct iw_mpa_takeovers *all;

	all = container_of(nb, struct iw_mpa_takeovers, netevent);
	if (event == NETEVENT_NEIGH_UPDATE || event == NETEVENT_REDIRECT)
		takeovers_stir(all);
	return NOTIFY_DONE;
}

static int takeover_set_up(void)
{
	struct sock_filter drop = BPF_STMT(BPF_RET | BPF_K, 0);
	struct sock_fprog_kern prog = { .len = 1, .filter = &drop };
	int err = bpf_prog_create(&takeover_drop_all, &prog);

	if (err)
		return err;
	takeover_wq = alloc_workqueue("iw_mpa_takeover",
				      WQ_MEM_RECLAIM | WQ_PERCPU, 0);
	if (takeover_wq)
		return 0;
	bpf_prog_destroy(takeover_drop_all);
	return -ENOMEM;
}

static void takeover_tear_down(void)
{
	destroy_workqueue(takeover_wq);
	synchronize_rcu();	/* TCP may still be running the filter */
	bpf_prog_destroy(takeover_drop_all);
}

static int takeover_add_device(void)
{
	int err = 0;

	mutex_lock(&takeover_mutex);
	if (!takeover_devices)
		err = takeover_set_up();
	if (!err)
		takeover_devices++;
	mutex_unlock(&takeover_mutex);
	return err;
}

static void takeover_remove_device(void)
{
	mutex_lock(&takeover_mutex);
	if (!--takeover_devices)
		takeover_tear_down();
	mutex_unlock(&takeover_mutex);
}

/* Return: NULL if a driver's ops for takeover are valid; else the problem */
const char *iw_mpa_takeover_check(const struct iw_mpa_driver_ops *drv,
				  const struct iw_mpa_takeover_ops *ops)
{
	if (!ops->send_reply)
		return "takeover needs send_reply";
	if (drv->repeat_rtr)
		return "takeover cannot have repeat_rtr";
	if (ops->hold && !ops->let_go)
		return "hold needs let_go";
	if (ops->tcp_options & ~IW_MPA_TCP_ALL)
		return "tcp_options has an unknown TCP option";
	return NULL;
}

/* Set up takeovers of a new device. Return: 0 or a negative errno. */
int iw_mpa_takeovers_begin(struct iw_mpa_device *dev)
{
	const struct iw_mpa_takeover_ops *ops = dev->attr.takeover;
	struct iw_mpa_takeovers *all;
	int err;

	all = kzalloc_obj(*all, GFP_KERNEL);
	if (!all)
		return -ENOMEM;
	err = takeover_add_device();
	if (err) {
		kfree(all);
		return err;
	}
	spin_lock_init(&all->lock);
	INIT_LIST_HEAD(&all->list);
	INIT_DELAYED_WORK(&all->look, takeovers_look);
	mutex_init(&all->looking);
	all->ops = ops;
	all->stats = dev->stats;
	all->netevent.notifier_call = takeovers_netevent;
	dev->takeovers = all;
	if (ops->path_changed)
		register_netevent_notifier(&all->netevent);
	return 0;
}

static struct iw_mpa_takeover *takeover_first(struct iw_mpa_takeovers *all)
{
	struct iw_mpa_takeover *t;

	spin_lock_irq(&all->lock);
	t = list_first_entry_or_null(&all->list, struct iw_mpa_takeover, node);
	spin_unlock_irq(&all->lock);
	return t;
}

/*
 * The device is being removed: no endpoint uses its connections, and the driver
 * makes no more calls. Release the connections that the driver has not
 * released. Sleeps until the last socket is closed.
 */
void iw_mpa_takeovers_end(struct iw_mpa_device *dev)
{
	struct iw_mpa_takeovers *all = dev->takeovers;
	struct iw_mpa_takeover *t;

	if (all->ops->path_changed)
		/* Waits for calls of takeovers_netevent() that are running */
		unregister_netevent_notifier(&all->netevent);
	cancel_delayed_work_sync(&all->look);
	while ((t = takeover_first(all)))
		iw_mpa_stream_released(t);
	flush_workqueue(takeover_wq);
	dev->takeovers = NULL;
	takeover_remove_device();
	kfree(all);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Takeover: a TCP connection leaves the host's TCP for a device. Its socket stays behind, frozen.
 *
 * The socket stays where TCP looks for sockets. So the port and the 4-tuple are in use, and a
 * segment that comes in spite of the device meets this socket, not a listener that answers it with
 * RST. Two gates of its own keep it quiet:
 *
 *  - in: a socket filter that lets nothing through. TCP asks it before it looks at a segment, and
 *    drops the segment without a word.
 *  - out: the table of functions by which TCP reaches IP is a copy whose queue_xmit drops and
 *    counts. All that TCP sends for a socket goes through it: acknowledgments, probes, FIN, and the
 *    RST of an administrator's "ss -K".
 *
 * States, and who moves on:
 *
 *	OPEN	the gates are open; TCP has the connection
 *	HELD	iw_mpa_takeover_begin(): nothing comes in any more: the device holds it back, or the
 *		gate in drops it. TCP may still send: it acknowledges what it owes, and what is in
 *		the host goes its way
 *	FROZEN	iw_mpa_takeover_freeze(): both gates are shut, no timer runs, and the record is
 *		made, all under one hold of the socket's lock
 *	GIVEN	iw_mpa_takeover_give(): the driver gets it
 *	FREE	the endpoint has put it, and the driver has released it: the socket is closed
 *
 * iw_mpa_takeover_undo() leads from HELD, FROZEN and a GIVEN that prepare refused back to OPEN.
 *
 * Ownership: until GIVEN, the endpoint's. Then there are two users: the endpoint, until
 * iw_mpa_takeover_put(), and the driver, until iw_mpa_stream_released() or the end of the device.
 * The last has the socket closed, by a work item: the driver may call from any context.
 *
 * Locking: the socket's lock protects both gates. TCP reads them under that lock, or within RCU, so
 * the memory is freed a grace period after the gates were opened. The lock of the list is a leaf.
 * Whoever takes a connection off the list waits for the mutex "looking" before it touches the
 * socket.
 *
 * TCP asks the filter before it takes the socket's lock, within RCU. So there is a grace period
 * between the gate in and the record: otherwise a segment that the filter let through could reach
 * TCP behind the record.
 *
 * A work item looks at the path of a connection that the driver watches: when a netevent says that
 * something has changed, and once in a second, since some changes of routes have no notifier. The
 * driver is told under the lock of the list. So it is not told any more once
 * iw_mpa_stream_released() has returned, in whatever context it was called.
 *
 * The flag of TCP_REPAIR makes TCP close without FIN and RST. Nothing else is written into a
 * tcp_sock.
 */

#include "takeover.h"
#include "path.h"
#include "sock.h"
#include "stats.h"
#include "tcb.h"

#include <linux/delay.h>
#include <linux/filter.h>
#include <linux/hrtimer.h>
#include <linux/kref.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <net/inet_connection_sock.h>
#include <net/tcp.h>

/* How often and how long a takeover waits for the host to send what TCP has given to it */
#define TAKEOVER_WAITS		40
#define TAKEOVER_WAIT_US	500

/* How often paths are looked at; and how long after a change, so that many changes cost one look */
#define TAKEOVER_LOOK_EACH	HZ
#define TAKEOVER_LOOK_SOON	msecs_to_jiffies(20)

/**
 * struct iw_mpa_takeover - a connection that the device has, or is about to get
 * @node: in the list of @all, while the driver has it
 * @all: the list
 * @users: the endpoint, and the driver
 * @sock: the socket
 * @af_ops: the gate out
 * @tcp_af_ops: TCP's own, of which @af_ops is a copy
 * @filter: the gate in
 * @keepalive: probes were wanted when the gate out was shut
 * @work: closes @sock
 * @rcu: for readers of @filter and @af_ops
 * @watched: the driver wants to know of @path; under the list's lock
 * @taken: prepare has succeeded, so @priv is valid until the driver releases it; likewise
 * @priv: the driver's, for that
 * @path: the path that the driver knows; the route itself may be gone
 * @round: of the last look at this connection
 */
struct iw_mpa_takeover {
	struct list_head				node;
	struct iw_mpa_takeovers				*all;
	struct kref					users;
	struct socket					*sock;
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

static struct bpf_prog *takeover_drop_all;
static struct workqueue_struct *takeover_wq;

/* TCP believes that the segment is on its way. It is dropped and counted. */
static int takeover_xmit(struct sock *sk, struct sk_buff *skb, struct flowi *fl)
{
	const struct iw_mpa_takeover *t = container_of(inet_csk(sk)->icsk_af_ops,
						       const struct iw_mpa_takeover, af_ops);

	iw_mpa_count_for(t->all->stats, IW_MPA_CNT_held_back);
	kfree_skb(skb);
	return 0;
}

/* Nobody else can change the filter: no program has a descriptor of the socket. */
static void takeover_shut_in(struct iw_mpa_takeover *t, struct sock *sk)
{
	sock_set_flag(sk, SOCK_FILTER_LOCKED);
	rcu_assign_pointer(sk->sk_filter, &t->filter);
}

/*
 * The kernel's own inet_csk_clear_xmit_timers() is not for modules in newer releases. The first
 * three timers may still fire, and find nothing to do. A handler of the third, keepalive, that has
 * begun finds the socket in use, and starts its timer again. It finds nothing to do later because
 * SOCK_KEEPOPEN is off.
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

/* TCP starts the timer only if the flag is not set yet, and the connection is not closed. */
static void takeover_start_timers(const struct iw_mpa_takeover *t, struct sock *sk)
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

/* Wait until nobody looks at a connection that is off the list. */
static void takeover_unlooked(struct iw_mpa_takeovers *all)
{
	mutex_lock(&all->looking);
	mutex_unlock(&all->looking);
}

/*
 * Close the socket, and send nothing to the peer. The gates stay shut while the socket closes. Then
 * they are opened: a packet may hold the sock for longer, and TCP would free a filter that it
 * finds.
 */
static void takeover_close(struct work_struct *work)
{
	struct iw_mpa_takeover *t = container_of(work, struct iw_mpa_takeover, work);
	struct sock *sk = t->sock->sk;

	takeover_unlooked(t->all);
	sock_hold(sk);
	lock_sock(sk);
	tcp_sk(sk)->repair = 1;
	release_sock(sk);
	sock_release(t->sock);
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
	struct iw_mpa_takeover *t = container_of(users, struct iw_mpa_takeover, users);

	queue_work(takeover_wq, &t->work);
}

/* The device may take longer than the peer waits for an acknowledgment. */
static void takeover_acknowledge(struct sock *sk)
{
	lock_sock(sk);
	if (sk->sk_state == TCP_ESTABLISHED && tcp_sk(sk)->rcv_wup != tcp_sk(sk)->rcv_nxt)
		__tcp_send_ack(sk, tcp_sk(sk)->rcv_nxt, 0);
	release_sock(sk);
}

/**
 * iw_mpa_takeover_begin - let nothing more come to the host's TCP
 * @ms: open socket, not taken over
 * @all: the device's
 * @held: the device has begun to hold back what comes; otherwise it is dropped from now on
 *
 * What the host has received before is with TCP when this returns, and TCP has acknowledged it.
 * What comes later does not reach TCP, even if the device lets it through.
 *
 * Context: process, sleeps for one grace period, or for two with @held.
 *
 * Return: 0, for iw_mpa_takeover_freeze() or iw_mpa_takeover_undo(); -ENOMEM; -EBUSY if somebody
 * else uses the socket.
 */
int iw_mpa_takeover_begin(struct iw_mpa_sock *ms, struct iw_mpa_takeovers *all, bool held)
{
	struct sock *sk = ms->sock->sk;
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
	t->all = all;
	t->sock = ms->sock;

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
	ms->takeover = t;
	synchronize_rcu_expedited();
	takeover_acknowledge(sk);
	return 0;
}

/* What TCP has sent is counted until it has left the host. */
static bool takeover_is_sent(struct sock *sk)
{
	int i;

	for (i = 0; i < TAKEOVER_WAITS && sk_wmem_alloc_get(sk); i++)
		usleep_range(TAKEOVER_WAIT_US / 2, TAKEOVER_WAIT_US);
	return !sk_wmem_alloc_get(sk);
}

static enum iw_mpa_reason takeover_freeze(struct iw_mpa_takeover *t, struct sock *sk,
					  struct iw_mpa_tcb *tcb)
{
	if (!iw_mpa_tcb_is_at_rest(sk))
		return IW_MPA_R_TCP_BUSY;
	if (iw_mpa_tcb_read(sk, tcb))
		return IW_MPA_R_LOCAL;
	t->path = tcb->path;
	takeover_shut_out(t, sk);
	return IW_MPA_R_OK;
}

/**
 * iw_mpa_takeover_freeze - shut the host's TCP off, and say how it left the connection
 * @ms: socket, after iw_mpa_takeover_begin()
 * @tcb: result, for iw_mpa_tcb_free(); zeroes on failure
 *
 * Context: process, in a memalloc_noio scope; waits for the host's own packets, 20 ms at the most.
 *
 * Return: IW_MPA_R_OK; IW_MPA_R_TCP_BUSY, or IW_MPA_R_LOCAL for lack of memory: then nothing has
 * changed.
 */
enum iw_mpa_reason iw_mpa_takeover_freeze(struct iw_mpa_sock *ms, struct iw_mpa_tcb *tcb)
{
	struct sock *sk = ms->sock->sk;
	enum iw_mpa_reason why;

	memset(tcb, 0, sizeof(*tcb));
	if (!takeover_is_sent(sk))
		return IW_MPA_R_TCP_BUSY;
	lock_sock(sk);
	why = takeover_freeze(ms->takeover, sk, tcb);
	release_sock(sk);
	return why;
}

/* Return: false if the driver does not have it any more */
static bool takeover_take_back(struct iw_mpa_takeovers *all, struct iw_mpa_takeover *t)
{
	unsigned long flags;
	bool had;

	spin_lock_irqsave(&all->lock, flags);
	had = !list_empty(&t->node);
	list_del_init(&t->node);
	spin_unlock_irqrestore(&all->lock, flags);
	return had;
}

/**
 * iw_mpa_takeover_undo - give the connection back to the host's TCP
 * @ms: socket, after iw_mpa_takeover_begin(); the driver does not want it, if it was given
 *
 * TCP goes on as before: it acknowledges what it owes, and keepalive begins anew. The peer has to
 * repeat what has come meanwhile.
 *
 * Context: process.
 */
void iw_mpa_takeover_undo(struct iw_mpa_sock *ms)
{
	struct iw_mpa_takeover *t = ms->takeover;
	struct sock *sk = ms->sock->sk;

	if (takeover_take_back(t->all, t))
		takeover_unlooked(t->all);
	lock_sock(sk);
	takeover_open(t, sk);
	takeover_start_timers(t, sk);
	release_sock(sk);
	takeover_acknowledge(sk);
	ms->takeover = NULL;
	kfree_rcu(t, rcu);
}

/**
 * iw_mpa_takeover_give - the driver gets the connection
 * @ms: frozen socket
 *
 * This comes before prepare, since the driver may call iw_mpa_stream_released() as soon as prepare
 * returns.
 *
 * Context: process.
 */
void iw_mpa_takeover_give(struct iw_mpa_sock *ms)
{
	struct iw_mpa_takeover *t = ms->takeover;

	kref_get(&t->users);
	spin_lock_irq(&t->all->lock);
	list_add_tail(&t->node, &t->all->list);
	spin_unlock_irq(&t->all->lock);
}

/**
 * iw_mpa_takeover_taken - the driver has taken the connection: it may be told of the path
 * @ms: frozen socket that it was given
 *
 * Context: process.
 */
void iw_mpa_takeover_taken(struct iw_mpa_sock *ms)
{
	struct iw_mpa_takeover *t = ms->takeover;

	spin_lock_irq(&t->all->lock);
	t->taken = true;
	spin_unlock_irq(&t->all->lock);
	iw_mpa_takeovers_stir(t->all);
}

/**
 * iw_mpa_takeover_put - the endpoint does not need the socket any more
 * @ms: frozen socket that the driver was given; closed on return
 *
 * Context: any.
 */
void iw_mpa_takeover_put(struct iw_mpa_sock *ms)
{
	kref_put(&ms->takeover->users, takeover_free);
	ms->takeover = NULL;
	ms->sock = NULL;
}

/**
 * iw_mpa_stream_released - the device is done with a TCP connection
 * @takeover: of struct iw_mpa_handoff; not valid any more on return
 *
 * A driver calls this once for each prepare that got a record and returned 0: when both ends have
 * closed and TIME_WAIT is over, or the connection was reset. This may be long after stop, or before
 * it. Then the host may use the 4-tuple again. What a driver has not released is released with its
 * device.
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
 * iw_mpa_stream_watch - have path_changed told of a connection's path
 * @takeover: of struct iw_mpa_handoff
 * @priv: for path_changed
 *
 * A driver calls this in prepare or later. From then on, until iw_mpa_stream_released(), the
 * library calls path_changed whenever the path is not the one that the driver knows: that of the
 * record, or of the last call. There is no call before prepare has returned 0, so a prepare that
 * fails may free @priv. Without path_changed this does nothing.
 *
 * Context: any but path_changed.
 */
void iw_mpa_stream_watch(struct iw_mpa_takeover *takeover, void *priv)
{
	struct iw_mpa_takeovers *all = takeover->all;
	unsigned long flags;

	spin_lock_irqsave(&all->lock, flags);
	takeover->priv = priv;
	takeover->watched = all->tell;
	spin_unlock_irqrestore(&all->lock, flags);
	iw_mpa_takeovers_stir(all);
}
EXPORT_SYMBOL_GPL(iw_mpa_stream_watch);

/**
 * iw_mpa_takeovers_stir - something in the network has changed
 * @all: the device's
 *
 * Context: any.
 */
void iw_mpa_takeovers_stir(struct iw_mpa_takeovers *all)
{
	if (all->tell && !list_empty_careful(&all->list) && !xchg(&all->stirred, 1))
		mod_delayed_work(takeover_wq, &all->look,
				 TAKEOVER_LOOK_SOON + READ_ONCE(all->took));
}

/*
 * Connections that this round has looked at are at the end of the list. Return: a watched one
 * before these, or NULL
 */
static struct iw_mpa_takeover *takeover_next(struct iw_mpa_takeovers *all)
{
	struct iw_mpa_takeover *t;
	bool found = false;

	spin_lock_irq(&all->lock);
	while (!found) {
		t = list_first_entry_or_null(&all->list, struct iw_mpa_takeover, node);
		if (!t || t->round == all->round)
			break;
		t->round = all->round;
		list_move_tail(&t->node, &all->list);
		found = t->watched && t->taken;
	}
	spin_unlock_irq(&all->lock);
	return found ? t : NULL;
}

static void takeover_look(struct iw_mpa_takeovers *all, struct iw_mpa_takeover *t)
{
	struct iw_mpa_path path;

	iw_mpa_path_refresh(t->sock->sk, &path);
	spin_lock_irq(&all->lock);
	if (!list_empty(&t->node) && iw_mpa_path_differs(&path, &t->path)) {
		t->path = path;
		all->tell(t->priv, &path);
	}
	spin_unlock_irq(&all->lock);
	iw_mpa_path_put(&path);
}

/* Return: false if there was none left */
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
	struct iw_mpa_takeovers *all = container_of(to_delayed_work(work), struct iw_mpa_takeovers,
						    look);
	unsigned long began = jiffies;
	bool any = false;

	xchg(&all->stirred, 0);	/* before the looks below */
	all->round++;
	while (takeovers_look_at_one(all)) {
		any = true;
		cond_resched();
	}
	/* If neighbours change all the time, looking takes at most half of the time. */
	WRITE_ONCE(all->took, jiffies - began);
	if (any)
		queue_delayed_work(takeover_wq, &all->look, TAKEOVER_LOOK_EACH);
}

/**
 * iw_mpa_takeovers_init - no connection yet
 * @all: the device's
 * @stats: its counters
 */
void iw_mpa_takeovers_init(struct iw_mpa_takeovers *all, struct iw_mpa_stats __percpu *stats)
{
	spin_lock_init(&all->lock);
	INIT_LIST_HEAD(&all->list);
	INIT_DELAYED_WORK(&all->look, takeovers_look);
	mutex_init(&all->looking);
	all->stats = stats;
}

static struct iw_mpa_takeover *takeover_first(struct iw_mpa_takeovers *all)
{
	struct iw_mpa_takeover *t;

	spin_lock_irq(&all->lock);
	t = list_first_entry_or_null(&all->list, struct iw_mpa_takeover, node);
	spin_unlock_irq(&all->lock);
	return t;
}

/**
 * iw_mpa_takeovers_end - release what the driver of a device that goes has not released
 * @all: the device's; no endpoint uses a connection of it, the driver does not call any more, and
 *	nobody stirs it
 *
 * Context: process, sleeps until the last socket is closed.
 */
void iw_mpa_takeovers_end(struct iw_mpa_takeovers *all)
{
	struct iw_mpa_takeover *t;

	cancel_delayed_work_sync(&all->look);
	while ((t = takeover_first(all)))
		iw_mpa_stream_released(t);
	flush_workqueue(takeover_wq);
}

/**
 * iw_mpa_takeover_init - make takeovers possible
 *
 * Return: 0 or -ENOMEM.
 */
int iw_mpa_takeover_init(void)
{
	struct sock_filter drop = BPF_STMT(BPF_RET | BPF_K, 0);
	struct sock_fprog_kern prog = { .len = 1, .filter = &drop };
	int err = bpf_prog_create(&takeover_drop_all, &prog);

	if (err)
		return err;
	takeover_wq = alloc_workqueue("iw_mpa_takeover", WQ_MEM_RECLAIM | WQ_PERCPU, 0);
	if (takeover_wq)
		return 0;
	bpf_prog_destroy(takeover_drop_all);
	return -ENOMEM;
}

/** iw_mpa_takeover_exit - every device is gone */
void iw_mpa_takeover_exit(void)
{
	destroy_workqueue(takeover_wq);
	synchronize_rcu();	/* TCP may still be in the filter */
	bpf_prog_destroy(takeover_drop_all);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * The way of a batch to TCP: as far as TCP has room, and as there is memory.
 *
 * A sender without memory waits for the timer, and for nothing else (tx.starved). If TCP refuses
 * octets for want of memory while nothing is on its way, it calls write_space at once. A sender
 * that came back then would be refused again, without end.
 */

#include "push.h"
#include "writer.h"

#include <linux/bvec.h>
#include <linux/jiffies.h>
#include <linux/net.h>
#include <linux/uio.h>
#include <net/tcp.h>

/**
 * srnic_push_later - there is no memory, for the sender or for TCP
 * @qp: the QP
 *
 * Nobody tries again before the timer.
 *
 * Context: process; the caller is the sender.
 */
void srnic_push_later(struct srnic_qp *qp)
{
	srnic_count(qp->dev, tx_no_memory);
	/* This comes before the timer, which clears it. */
	WRITE_ONCE(qp->tx.starved, true);
	qp->tx.delayed = true;
	mod_delayed_work(srnic_qp_wq(qp), &qp->tx.retry, msecs_to_jiffies(SRNIC_RETRY_MS));
}

/**
 * srnic_push_has_room - can TCP take more?
 * @qp: the QP
 *
 * When there is room again TCP calls write_space, if it knows that somebody waits.
 *
 * Context: process; the caller is the sender.
 *
 * Return: true if so; else the sender will be kicked.
 */
bool srnic_push_has_room(struct srnic_qp *qp)
{
	struct sock *sk = qp->sock->sk;

	if (sk_stream_memory_free(sk))
		return true;
	set_bit(SOCK_NOSPACE, &qp->sock->flags);
	/* Pairs with the barrier of tcp_check_space(): TCP sees the bit, or this sees the room. */
	smp_mb__after_atomic();
	if (sk_stream_memory_free(sk))
		return true;
	srnic_count(qp->dev, tx_no_room);
	return false;
}

/*
 * Give pages to TCP without a copy: octets [@skip, @skip + @len) of @bv. Does not wait.
 * Returns octets that TCP has accepted, maybe fewer, or a negative errno. No security module is
 * asked what the process may do that happens to send: the stream is not its own.
 */
#ifndef COMPAT_TCP_SPLICE
static int tcp_splice(struct socket *sock, struct bio_vec *bv, unsigned int nbv, u32 skip, u32 len)
{
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL | MSG_SPLICE_PAGES };
	int sent;

	iov_iter_bvec(&msg.msg_iter, ITER_SOURCE, bv, nbv, skip + len);
	iov_iter_advance(&msg.msg_iter, skip);
	lock_sock(sock->sk);
	sent = tcp_sendmsg_locked(sock->sk, &msg, len);
	release_sock(sock->sk);
	return sent;
}
#endif

/*
 * Give TCP as many octets as it takes. TCP returns -EAGAIN if it has no room, and also if it has no
 * memory. Room may have come meanwhile. So only if TCP refuses twice though there is room, memory
 * is short.
 */
static int push_splice(struct srnic_qp *qp)
{
	struct srnic_batch *batch = &qp->tx.batch;
	int n, tries;

	for (tries = 0; tries < 2; tries++) {
		n = tcp_splice(qp->sock, batch->bv, batch->nbv, batch->done,
			       batch->len - batch->done);
		if (n != -EAGAIN || !sk_stream_memory_free(qp->sock->sk))
			return n;
	}
	return -ENOMEM;
}

/**
 * srnic_push - give TCP what is in the batch
 * @qp: the QP
 *
 * TCP may run RX for its backlog meanwhile.
 *
 * Context: process; the caller is the sender.
 *
 * Return: 0 if TCP has all, and the batch is empty; -EAGAIN if TCP has no room, and will call
 * write_space, or if memory is short, and the timer runs; any other error if the stream has failed,
 * as TCP tells the library, too.
 */
int srnic_push(struct srnic_qp *qp)
{
	struct srnic_batch *batch = &qp->tx.batch;

	if (READ_ONCE(qp->tx.starved))
		return -EAGAIN;
	while (batch->done < batch->len) {
		int n = push_splice(qp);

		if (n == -ENOMEM || n == -ENOBUFS) {
			srnic_push_later(qp);
			return -EAGAIN;
		}
		if (n == -EAGAIN || n == -EINTR || !n) {
			srnic_count(qp->dev, tx_no_room);
			return -EAGAIN;
		}
		if (n < 0)
			return n;
		batch->done += n;
	}
	if (batch->len)
		srnic_count(qp->dev, tx_batches);
	srnic_batch_reset(batch);
	return 0;
}

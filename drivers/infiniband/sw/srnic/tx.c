// SPDX-License-Identifier: GPL-2.0
/*
 * A QP's sender is the holder of tx.lock. It pushes a batch of FPDUs to TCP,
 * builds the next, and so on until there is nothing to send, nothing can be
 * sent, or its quota is used up. A poster that finds tx.lock taken queues
 * tx.work, a work item that waits for the lock: so nothing that was posted is
 * overlooked. A table in srnic_design.rst lists why a sender may stop with work
 * left, and what starts it again.
 *
 * When the sender calls TCP, TCP may run RX for its backlog, in the sender's
 * task. So RX takes no lock that the sender holds.
 *
 * After a failed allocation the sender does nothing until its timer, tx.retry,
 * has expired (tx.starved). TCP calls write_space at once if it lacks memory
 * while it has nothing in flight. A sender that tried again then would get the
 * same error and the same call, without end.
 */

#include "tx.h"
#include "cq.h"
#include "fpdu.h"
#include "rq.h"
#include "sq.h"
#include "state.h"
#include "trace.h"

#include <linux/bvec.h>
#include <linux/jiffies.h>
#include <linux/net.h>
#include <linux/sched/mm.h>
#include <linux/uio.h>
#include <net/tcp.h>

/* Retry after a failed allocation; until then the sender does nothing. */
static void tx_push_later(struct srnic_qp *qp)
{
	srnic_count(qp->dev, tx_no_memory);
	/* Set this first: the timer clears it, and may expire at once. */
	WRITE_ONCE(qp->tx.starved, true);
	mod_delayed_work(srnic_qp_wq(qp), &qp->tx.retry,
			 msecs_to_jiffies(SRNIC_RETRY_MS));
}

/* False: TCP's send buffer is full; write_space follows when it has room. */
static bool tx_ask_for_room(struct srnic_qp *qp)
{
	struct sock *sk = qp->tx.sock->sk;

	if (sk_stream_memory_free(sk))
		return true;
	set_bit(SOCK_NOSPACE, &qp->tx.sock->flags);
	/* Pairs with tcp_check_space(): TCP reads the bit, or this the room. */
	smp_mb__after_atomic();
	if (sk_stream_memory_free(sk))
		return true;
	srnic_count(qp->dev, tx_no_room);
	return false;
}

/*
 * Pass bytes [@skip, @skip + @len) of @bv to TCP without a copy, and do not
 * wait. srnic does not write to these bytes while TCP has them, so the network
 * stack need not copy them before it computes a checksum (MSG_NO_SHARED_FRAGS).
 * Returns how many bytes TCP has accepted, or a negative errno. No security
 * module checks the current process, since the stream need not belong to that
 * process.
 */
static int tcp_splice(struct socket *sock, struct bio_vec *bv,
		      unsigned int nbv, u32 skip, u32 len)
{
	struct msghdr msg = {
		.msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL | MSG_SPLICE_PAGES |
			     MSG_NO_SHARED_FRAGS,
	};
	int sent;

	iov_iter_bvec(&msg.msg_iter, ITER_SOURCE, bv, nbv, skip + len);
	iov_iter_advance(&msg.msg_iter, skip);
	lock_sock(sock->sk);
	sent = tcp_sendmsg_locked(sock->sk, &msg, len);
	release_sock(sock->sk);
	return sent;
}

/*
 * TCP returns -EAGAIN if its send buffer has no room, and also if memory is
 * short. If the buffer has room after the first -EAGAIN, that room may have
 * been made meanwhile, so try again. If TCP refuses again although there is
 * room, memory is short: -ENOMEM.
 */
static int push_splice(struct srnic_qp *qp)
{
	struct srnic_batch *batch = &qp->tx.batch;
	int n, tries;

	for (tries = 0; tries < 2; tries++) {
		n = tcp_splice(qp->tx.sock, batch->bv, batch->nbv, batch->done,
			       batch->len - batch->done);
		if (n != -EAGAIN || !sk_stream_memory_free(qp->tx.sock->sk))
			return n;
	}
	return -ENOMEM;
}

/*
 * Push the batch of FPDUs to TCP, which may run RX for its backlog in here.
 * Returns 0 if TCP has accepted all of it, and the batch is empty; -EAGAIN if
 * TCP has no room (it will call write_space), or if memory is short (the timer
 * tx.retry is set); another error if the stream has failed, which TCP reports
 * to iw_mpa, too.
 */
static int tx_push(struct srnic_qp *qp)
{
	struct srnic_batch *batch = &qp->tx.batch;

	while (batch->done < batch->len) {
		int n = push_splice(qp);

		if (n == -ENOMEM || n == -ENOBUFS || !n) {
			tx_push_later(qp);
			return -EAGAIN;
		}
		if (n == -EAGAIN || n == -EINTR) {
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

/* Bytes that each turn counts beside those that it sends: REG_MR sends none. */
#define TX_TURN_COST	SZ_16K

/* How a turn of the sender, tx_turn(), has ended */
enum tx_next {
	TX_GO_ON,	/* there may be more to do */
	TX_WAIT,	/* the sender will be kicked */
};

static enum srnic_tx_state tx_state(const struct srnic_qp *qp)
{
	return READ_ONCE(qp->tx.state);
}

/*
 * All changes of tx.state are made here, by the table in qp_state.c. The caller
 * holds tx.lock, except for SRNIC_TX_EV_OPEN, since RX may open TX. Returns the
 * previous state.
 */
static enum srnic_tx_state tx_event(struct srnic_qp *qp,
				    enum srnic_tx_event event)
{
	enum srnic_tx_state from, to;
	unsigned long flags;

	if (event != SRNIC_TX_EV_OPEN)
		lockdep_assert_held(&qp->tx.lock);
	spin_lock_irqsave(&qp->lock, flags);
	from = qp->tx.state;
	to = srnic_tx_next(from, event);
	if (srnic_tx_was_opened(to) && !srnic_tx_was_opened(from))
		qp->tx.opened = ktime_get_seconds();
	WRITE_ONCE(qp->tx.state, to);
	spin_unlock_irqrestore(&qp->lock, flags);
	return from;
}

void srnic_tx_kick(struct srnic_qp *qp)
{
	queue_work(srnic_qp_wq(qp), &qp->tx.work);
}

/* Returns true if TCP has accepted all of the Terminate message. */
static bool tx_term_is_out(const struct srnic_qp *qp)
{
	return tx_state(qp) == SRNIC_TX_TERM && !qp->tx.batch.len;
}

/* End the stream: iw_mpa closes the connection, and logs the first error. */
static enum tx_next tx_close(struct srnic_qp *qp)
{
	struct iw_mpa_fault why = srnic_fault_describe(qp, tx_term_is_out(qp));

	tx_event(qp, SRNIC_TX_EV_CLOSE);
	srnic_batch_reset(&qp->tx.batch);
	iw_mpa_stream_down(qp->ep, &why);
	return TX_WAIT;
}

/* Push the rest of the batch, then the Terminate. Returns as tx_push(). */
static int tx_put_term(struct srnic_qp *qp, struct srnic_upcalls *up)
{
	int err = tx_push(qp);

	if (err || tx_state(qp) == SRNIC_TX_TERM)
		return err;
	if (qp->fault.own)
		srnic_sq_sent(qp, up);
	if (!srnic_term_is_due(qp))
		return 0;
	if (srnic_send_term(qp)) {
		tx_push_later(qp);
		return -EAGAIN;
	}
	tx_event(qp, SRNIC_TX_EV_TERM);
	return tx_push(qp);
}

static void tx_term_gone(struct srnic_qp *qp)
{
	if (!srnic_term_is_due(qp))
		return;
	if (tx_term_is_out(qp))
		srnic_count(qp->dev, tx_terminates);
	else
		srnic_count(qp->dev, tx_terminates_lost);
}

/* Extend the deadline while the peer acks: it may still get the Terminate. */
static void tx_extend_deadline(struct srnic_qp *qp)
{
	u32 acked = READ_ONCE(tcp_sk(qp->tx.sock->sk)->snd_una);
	struct srnic_tx *tx = &qp->tx;

	if (!tx->deadline)
		tx->give_up = jiffies + msecs_to_jiffies(SRNIC_TERM_MAX_MS);
	else if (tx->acked == acked)
		return;
	tx->acked = acked;
	tx->deadline = jiffies + msecs_to_jiffies(SRNIC_TERM_MS);
	if (time_after(tx->deadline, tx->give_up))
		tx->deadline = tx->give_up;
	tx->deadline |= 1;
}

/*
 * End a failed stream. If the sender itself has found a work request or Read
 * Response that cannot be sent, the FPDUs in the batch precede it, and are
 * sent. Otherwise the batch is cut after the FPDU of which TCP has a part.
 */
static enum tx_next tx_terminate(struct srnic_qp *qp, struct srnic_upcalls *up)
{
	struct srnic_tx *tx = &qp->tx;
	int err = -EAGAIN;
	long left;

	if (!tx->deadline && !qp->fault.own)
		srnic_batch_cut(tx);
	tx_extend_deadline(qp);
	if (tx_state(qp) == SRNIC_TX_FINISHED)
		err = 0;
	else if (srnic_tx_was_opened(tx_state(qp)))
		err = READ_ONCE(tx->starved) ? -EAGAIN : tx_put_term(qp, up);
	else if (!srnic_term_is_due(qp))
		err = 0;
	left = tx->deadline - jiffies;
	if (err == -EAGAIN && left > 0) {
		/* A timer that was set after ENOMEM expires earlier. */
		queue_delayed_work(srnic_qp_wq(qp), &tx->retry, left + 1);
		return TX_WAIT;
	}
	tx_term_gone(qp);
	return tx_close(qp);
}

/*
 * Nothing is left to send, so have iw_mpa send the FIN; RX goes on. But if RX
 * has found an error by now, return TX_GO_ON, so that the peer gets the
 * Terminate message before the FIN.
 */
static enum tx_next tx_finish(struct srnic_qp *qp)
{
	if (srnic_has_failed(qp))
		return TX_GO_ON;
	tx_event(qp, SRNIC_TX_EV_ALL_SENT);
	iw_mpa_tx_finished(qp->ep);
	return TX_WAIT;
}

static bool tx_is_done(const struct srnic_qp *qp)
{
	return tx_state(qp) == SRNIC_TX_ANSWERING &&
	       qp->tx.msg.kind == SRNIC_MSG_NONE && !srnic_irq_head(qp);
}

/* Build a batch. TX_GO_ON: one was built, or WQEs without FPDUs were done. */
static enum tx_next tx_build(struct srnic_qp *qp)
{
	bool ended;
	int n;

	/*
	 * While work that the ULP posted before its close waits for answers to
	 * Reads, the peer's Reads are answered, too: the peer may wait in the
	 * same way. When the sender has made FPDUs of all that work, only
	 * Reads of the peer that have arrived by then are answered.
	 */
	if (tx_state(qp) == SRNIC_TX_FINISHING && srnic_sq_is_at_limit(qp)) {
		qp->irq.limit = READ_ONCE(qp->irq.put);
		tx_event(qp, SRNIC_TX_EV_ANSWER);
	}
	if (tx_is_done(qp))
		return tx_finish(qp);
	/* After the ULP's abort no batch is built; handoff_stop() flushes. */
	if (!srnic_is_flowing(qp) || !tx_ask_for_room(qp))
		return TX_WAIT;
	/* Read before the queues: after its FIN the peer answers no Read. */
	ended = smp_load_acquire(&qp->rx.ended);
	n = srnic_send_fill(qp);
	if (n > 0 || srnic_has_failed(qp))
		return TX_GO_ON;
	if (n == -ENOMEM) {
		tx_push_later(qp);
		return TX_WAIT;
	}
	return ended && srnic_tx_is_finishing(tx_state(qp)) ? tx_finish(qp) :
							      TX_WAIT;
}

/* Build a batch, push it, and retire its WQEs. @spent counts bytes. */
static enum tx_next tx_turn(struct srnic_qp *qp, struct srnic_upcalls *up,
			    u32 *spent)
{
	enum srnic_tx_state state = tx_state(qp);
	struct srnic_tx *tx = &qp->tx;
	int err;

	if (state == SRNIC_TX_CLOSED)
		return TX_WAIT;
	/* Retire WQEs that RX has left, even if nothing can be sent now. */
	srnic_sq_retire(qp, up);
	if (up->full)
		srnic_fail(qp, SRNIC_ERR_CQ_FULL);
	if (srnic_has_failed(qp))
		return tx_terminate(qp, up);
	if (!srnic_tx_may_send(state) || READ_ONCE(tx->starved))
		return TX_WAIT;
	if (!tx->batch.len && tx_build(qp) == TX_WAIT)
		return TX_WAIT;
	/* After an error tx_terminate() pushes the batch, with a deadline. */
	if (srnic_has_failed(qp))
		return TX_GO_ON;
	*spent += tx->batch.len - tx->batch.done;
	err = tx_push(qp);
	if (err == -EAGAIN)
		return TX_WAIT;
	if (err) {
		srnic_fail(qp, SRNIC_ERR_STREAM);
		return TX_GO_ON;
	}
	srnic_sq_sent(qp, up);
	if (up->full)
		srnic_fail(qp, SRNIC_ERR_CQ_FULL);
	if (!srnic_is_flowing(qp) || state != SRNIC_TX_OPEN)
		return TX_GO_ON;
	return srnic_send_has_work(qp) ? TX_GO_ON : TX_WAIT;
}

/*
 * Send until there is nothing to do, or SRNIC_TX_QUOTA is used up: then the
 * work item tx.work goes on. Completion handlers are called after each
 * tx_turn(), when tx.lock is released.
 */
static void tx_run(struct srnic_qp *qp)
{
	u32 spent = 0;

	for (;;) {
		bool reserves = srnic_tx_has_reserves(qp);
		struct srnic_upcalls up = {};
		unsigned int noreclaim = 0;
		enum tx_next next;

		if (reserves)
			noreclaim = memalloc_noreclaim_save();
		next = tx_turn(qp, &up, &spent);
		if (reserves)
			memalloc_noreclaim_restore(noreclaim);
		mutex_unlock(&qp->tx.lock);
		srnic_cq_call(&up);
		if (next == TX_WAIT)
			return;
		spent += TX_TURN_COST;
		if (spent >= SRNIC_TX_QUOTA) {
			srnic_tx_kick(qp);
			return;
		}
		cond_resched();
		mutex_lock(&qp->tx.lock);
	}
}

/* Send in the poster's context, unless another task is the sender already. */
void srnic_tx_doorbell(struct srnic_qp *qp)
{
	if (!mutex_trylock(&qp->tx.lock)) {
		srnic_tx_kick(qp);
		return;
	}
	srnic_count(qp->dev, tx_doorbells);
	tx_run(qp);
}

/* No I/O to get memory in here: storage may wait for this work item. */
static void srnic_tx_work(struct work_struct *work)
{
	struct srnic_qp *qp = container_of(work, struct srnic_qp, tx.work);
	unsigned int noio = memalloc_noio_save();

	srnic_count(qp->dev, tx_work);
	mutex_lock(&qp->tx.lock);
	tx_run(qp);
	memalloc_noio_restore(noio);
}

static void srnic_tx_retry(struct work_struct *work)
{
	struct srnic_qp *qp = container_of(to_delayed_work(work),
					   struct srnic_qp, tx.retry);

	WRITE_ONCE(qp->tx.starved, false);
	srnic_tx_kick(qp);
}

void srnic_tx_setup(struct srnic_qp *qp)
{
	mutex_init(&qp->tx.lock);
	qp->tx.state = SRNIC_TX_CLOSED;
	INIT_WORK(&qp->tx.work, srnic_tx_work);
	INIT_DELAYED_WORK(&qp->tx.retry, srnic_tx_retry);
}

void srnic_tx_start(struct srnic_qp *qp, struct socket *sock)
{
	struct srnic_tx *tx = &qp->tx;
	int qn;

	mutex_lock(&tx->lock);
	tx->sock = sock;
	WRITE_ONCE(tx->starved, false);
	tx->deadline = 0;
	tx->pos = 0;
	for (qn = 0; qn < SRNIC_QN_COUNT; qn++)
		tx->msn[qn] = 1;
	tx->msg.kind = SRNIC_MSG_NONE;
	tx->msg.last = SRNIC_MSG_WR;
	tx_event(qp, SRNIC_TX_EV_START);
	mutex_unlock(&tx->lock);
}

/*
 * Open TX. A sender that ran before has found TX shut, and sent nothing, so
 * kick it if there is work. tx.lock is not taken, since RX may call this from
 * within the sender's call of TCP.
 */
void srnic_tx_open(struct ib_qp *ibqp)
{
	struct srnic_qp *qp = to_srnic_qp(ibqp);

	if (tx_event(qp, SRNIC_TX_EV_OPEN) != SRNIC_TX_SHUT)
		return;
	/*
	 * Pairs with the barrier of a poster, or of RX's queue_work(): either
	 * a sender, started by the poster or RX, reads that TX is open, or this
	 * function reads that there is work.
	 */
	smp_mb();
	/* Only a hint: a sender that runs by now finds the work itself. */
	if (data_race(srnic_send_has_work(qp)) || srnic_has_failed(qp))
		srnic_tx_kick(qp);
}

/* True if TX is open, and TCP has accepted all messages that have begun. */
static bool tx_is_idle(struct srnic_qp *qp)
{
	return tx_state(qp) == SRNIC_TX_OPEN && !srnic_has_failed(qp) &&
	       !qp->tx.batch.len && qp->tx.msg.kind == SRNIC_MSG_NONE;
}

/* A disk may reconnect so that memory can be freed: use the reserves, too. */
static int tx_make_rtr(struct srnic_qp *qp, u8 rtr)
{
	bool reserves = srnic_tx_has_reserves(qp);
	unsigned int noreclaim = 0;
	int err;

	if (reserves)
		noreclaim = memalloc_noreclaim_save();
	err = srnic_send_rtr(qp, rtr);
	if (reserves)
		memalloc_noreclaim_restore(noreclaim);
	if (err == -ENOMEM)
		srnic_count(qp->dev, tx_no_memory);
	return err;
}

static int tx_send_rtr(struct srnic_qp *qp, u8 rtr, bool repeat)
{
	int err = -EBUSY;

	mutex_lock(&qp->tx.lock);
	if (!repeat || tx_is_idle(qp))
		err = tx_make_rtr(qp, rtr);
	if (!err)
		tx_event(qp, SRNIC_TX_EV_OPEN);
	mutex_unlock(&qp->tx.lock);
	if (!err)
		srnic_tx_doorbell(qp);
	return err;
}

/* Returns 0; -ENOMEM; -EIO if no RTR message is possible (Read, ORD 0). */
int srnic_tx_send_rtr(struct ib_qp *ibqp, u8 rtr)
{
	return tx_send_rtr(to_srnic_qp(ibqp), rtr, false);
}

/* Returns 0; -EBUSY if FPDUs are being sent or the stream ends; -ENOMEM. */
int srnic_tx_repeat_rtr(struct ib_qp *ibqp)
{
	return tx_send_rtr(to_srnic_qp(ibqp), IW_MPA_RTR_WRITE, true);
}

/*
 * The op finish_tx: iw_mpa_tx_finished() follows, or iw_mpa_stream_down() if
 * the stream fails first. Work requests that wait for answers to Reads are
 * sent, too, unless the peer closes first.
 */
void srnic_tx_finish(struct ib_qp *ibqp)
{
	struct srnic_qp *qp = to_srnic_qp(ibqp);

	mutex_lock(&qp->tx.lock);
	srnic_sq_limit(qp);
	tx_event(qp, SRNIC_TX_EV_FINISH);
	mutex_unlock(&qp->tx.lock);
	srnic_tx_doorbell(qp);
}

/* Try once to send the rest of an FPDU, and a Terminate that is due. */
void srnic_tx_stop(struct srnic_qp *qp)
{
	struct srnic_tx *tx = &qp->tx;
	struct srnic_upcalls up = {};

	mutex_lock(&tx->lock);
	/* Memory may still be short, but there will be no later try. */
	WRITE_ONCE(tx->starved, false);
	if (srnic_tx_may_send(tx_state(qp))) {
		if (!tx->deadline && !qp->fault.own)
			srnic_batch_cut(tx);
		tx_put_term(qp, &up);
		tx_term_gone(qp);
	}
	srnic_batch_reset(&tx->batch);
	tx->msg.kind = SRNIC_MSG_NONE;
	tx_event(qp, SRNIC_TX_EV_CLOSE);
	tx->sock = NULL;
	mutex_unlock(&tx->lock);
	srnic_cq_call(&up);
	cancel_delayed_work_sync(&tx->retry);
}

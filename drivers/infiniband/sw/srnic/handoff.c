// SPDX-License-Identifier: GPL-2.0
/*
 * srnic's ops for iw_mpa, by which a QP gets a stream, and loses it again.
 *
 * States of the QP and of its sender, in the order in which iw_mpa calls the
 * ops:
 *
 *	prepare		qp->state is RTS: the ULP may post
 *	prepare, end	qp->tx.state is SHUT: the sender has a socket
 *	open_tx		qp->tx.state is OPEN: the sender may send
 *	stop		qp->state is ENDING: what is posted will be flushed
 *	stop		qp->tx.state is CLOSED: no sender uses the socket
 *	stop, end	qp->state is ERROR: what is posted is flushed; the QP
 *			may get another stream after a modify to RESET or INIT
 *
 * A ULP may post before the sender may send. For such work requests
 * srnic_tx_open() wakes the sender.
 */

#include "qp.h"
#include "rq.h"
#include "rx.h"
#include "sq.h"
#include "srnic.h"
#include "state.h"
#include "tx.h"

#include <linux/jump_label.h>
#include <linux/net.h>
#include <linux/workqueue.h>
#include <net/sock.h>
#include <trace/events/sock.h>

/*
 * Begin a stream on an idle QP. tx.lock excludes a modify to RESET, which
 * discards posted work requests. Asynchronous events of the previous stream
 * that were not yet reported are dropped, since the ULP would attribute them to
 * the new stream.
 */
static int handoff_claim(struct srnic_qp *qp, const struct iw_mpa_handoff *ho)
{
	int err = -EINVAL;

	mutex_lock(&qp->tx.lock);
	spin_lock_irq(&qp->lock);
	if (qp->state == SRNIC_IDLE && !qp->dying) {
		WRITE_ONCE(qp->broken_off, false);
		qp->params = *ho->params;
		qp->ep = ho->ep;
		qp->events = 0;
		qp->fault = (struct srnic_fault) { .err = SRNIC_ERR_NONE };
		qp->sq.limited = false;
		/*
		 * A ULP may accept again until TX is opened. Until then
		 * iw_get_qp must find the QP, so qp_is_taken() must be false.
		 * But until srnic_tx_start() tx.state is CLOSED, which counts
		 * as opened. So set tx.opened to the present time: then
		 * qp_is_taken() is false nevertheless.
		 */
		qp->tx.opened = ktime_get_seconds();
		srnic_state_change(qp, SRNIC_EV_BEGIN);
		err = 0;
	}
	spin_unlock_irq(&qp->lock);
	mutex_unlock(&qp->tx.lock);
	return err;
}

/*
 * Turn on memalloc_socks_key, without which TCP ignores SOCK_MEMALLOC. The key
 * cannot be changed while a CPU goes offline. A CPU that goes offline waits for
 * its block I/O, which may wait until a storage connection has ended, or is
 * made again. So no connection waits for the key: a work item turns it on, once
 * for each device, and it stays on until the device is removed.
 */
static void handoff_open_reserves(struct work_struct *work)
{
	struct srnic_dev *dev = container_of(work, struct srnic_dev, reserves);

	if (dev->has_reserves)
		return;
	static_branch_inc(&memalloc_socks_key);
	WRITE_ONCE(dev->has_reserves, true);
}

void srnic_reserves_setup(struct srnic_dev *dev)
{
	INIT_WORK(&dev->reserves, handoff_open_reserves);
}

/* Called when the device has no QP: nothing queues @dev->reserves then. */
void srnic_reserves_end(struct srnic_dev *dev)
{
	cancel_work_sync(&dev->reserves);
	if (dev->has_reserves)
		static_branch_dec(&memalloc_socks_key);
}

/*
 * The sender of a QP that may serve storage may use the emergency reserves of
 * memory. The peer's answers then arrive in memory of the reserves, and TCP
 * must accept them: see "Memory reclaim" in srnic_design.rst.
 *
 * SOCK_MEMALLOC stays on the socket when the stream ends. TCP checks the flag
 * before it checks whether the socket is locked. A packet in memory of the
 * reserves may then wait for the lock. If the flag is clear when TCP handles
 * the packet, a BUG_ON() triggers.
 */
static void handoff_share_reserves(const struct srnic_qp *qp, struct sock *sk)
{
	struct srnic_dev *dev = to_srnic_dev(qp->ibqp.device);

	if (!srnic_tx_has_reserves(qp))
		return;
	if (!READ_ONCE(dev->has_reserves))
		schedule_work(&dev->reserves);
	lock_sock(sk);
	sock_set_flag(sk, SOCK_MEMALLOC);
	sk->sk_allocation |= __GFP_MEMALLOC;
	release_sock(sk);
}

static int handoff_prepare(struct ib_qp *ibqp, const struct iw_mpa_handoff *ho)
{
	struct srnic_qp *qp = to_srnic_qp(ibqp);
	struct srnic_irq irq;
	int err;

	err = srnic_irq_alloc(&irq, ho->params->ird);
	if (err)
		return err;
	err = handoff_claim(qp, ho);
	if (err) {
		srnic_irq_free(&irq);
		return err;
	}
	qp->irq = irq;
	handoff_share_reserves(qp, ho->sock->sk);
	srnic_rx_start(qp, ho);
	srnic_tx_start(qp, ho->sock);
	return 0;
}

static void srnic_sk_data_ready(struct sock *sk)
{
	struct iw_mpa_stream *stream;

	trace_sk_data_ready(sk);
	read_lock_bh(&sk->sk_callback_lock);
	stream = iw_mpa_sk_stream(sk);
	if (stream && stream->priv)
		srnic_rx_run(stream->priv, sk, SRNIC_RX_BUDGET);
	read_unlock_bh(&sk->sk_callback_lock);
}

/* Check for room first: if there is any, TCP's callback clears SOCK_NOSPACE. */
static void srnic_sk_write_space(struct sock *sk)
{
	struct iw_mpa_stream *stream;

	read_lock_bh(&sk->sk_callback_lock);
	stream = iw_mpa_sk_stream(sk);
	if (stream && stream->priv) {
		bool room = sk_stream_is_writeable(sk);

		stream->write_space(sk);
		if (room)
			srnic_tx_kick(stream->priv);
	}
	read_unlock_bh(&sk->sk_callback_lock);
}

static void handoff_attach(struct ib_qp *ibqp, struct sock *sk,
			   struct iw_mpa_stream *stream)
{
	stream->priv = to_srnic_qp(ibqp);
	sk->sk_data_ready = srnic_sk_data_ready;
	sk->sk_write_space = srnic_sk_write_space;
}

/*
 * Returns true if the peer closed, or stopped responding, within an FPDU or a
 * message, or before it had answered all Reads of this end.
 */
static bool handoff_is_cut(struct srnic_qp *qp)
{
	struct sock *sk = qp->rx.sk;
	bool cut;

	if (!srnic_is_flowing(qp))
		return false;
	lock_sock(sk);
	cut = srnic_rx_is_cut(qp);
	release_sock(sk);
	/* A hint, read without sq.lock: the sender may be adding a Read. */
	return cut || data_race(qp->sq.reads);
}

/* Returns true if the stream's end is an error (RFC 5044 8, code 1). */
static bool handoff_is_abort(struct srnic_qp *qp, enum iw_mpa_reason why)
{
	switch (why) {
	case IW_MPA_R_PEER_RESET:
	case IW_MPA_R_TCP_ERROR:
	case IW_MPA_R_TCP_UNREACHABLE:
	case IW_MPA_R_TCP_REFUSED:
		return true;
	case IW_MPA_R_PEER_CLOSED:
	case IW_MPA_R_TIMEOUT_FINISH:
		return handoff_is_cut(qp);
	case IW_MPA_R_ULP_CLOSE:
		return qp->rx.ended && handoff_is_cut(qp);
	default:
		return false;
	}
}

static unsigned long handoff_events(const struct srnic_qp *qp)
{
	static const unsigned long events[] = {
		[SRNIC_TELL_NONE]	= 0,
		[SRNIC_TELL_FATAL]	= BIT(IB_EVENT_QP_FATAL),
		[SRNIC_TELL_REQ]	= BIT(IB_EVENT_QP_REQ_ERR),
		[SRNIC_TELL_ACCESS]	= BIT(IB_EVENT_QP_ACCESS_ERR),
	};
	unsigned long set = events[srnic_errs[qp->fault.err].tell];

	if (qp->srq)
		set |= BIT(IB_EVENT_QP_LAST_WQE_REACHED);
	return set;
}

/*
 * The op stop: iw_mpa has restored the socket's callbacks, so RX runs only in
 * its work item, qp->rx.work. That ends first; then the sender, after its last
 * try to send a Terminate message; then the state becomes ERROR, from which the
 * ULP may reset the QP, and posted work is flushed; then the ULP gets its
 * asynchronous events. If the flush came earlier, RX or the sender could still
 * use what is flushed.
 */
static void handoff_stop(struct ib_qp *ibqp, enum iw_mpa_reason why)
{
	struct srnic_qp *qp = to_srnic_qp(ibqp);
	unsigned long events;
	bool abort;

	cancel_delayed_work_sync(&qp->rx.work);
	abort = handoff_is_abort(qp, why);
	srnic_rx_stop(qp);
	if (abort)
		srnic_fail(qp, SRNIC_ERR_STREAM);
	srnic_state_event(qp, SRNIC_EV_STOP);
	srnic_tx_stop(qp);
	srnic_irq_free(&qp->irq);
	events = handoff_events(qp);
	srnic_qp_forget(qp);
	srnic_qp_tell(qp, events);
}

const struct iw_mpa_device_attr srnic_device_attr = {
	.caps		= IW_MPA_CAP_TX_MARKERS | IW_MPA_CAP_RX_MARKERS |
			  IW_MPA_CAP_NO_CRC | IW_MPA_CAP_EARLY_RX |
			  IW_MPA_CAP_TX_FENCE | IW_MPA_CAP_ATOMIC_OPEN |
			  IW_MPA_CAP_LARGE_FPDU,
	.rtr_send	= IW_MPA_RTR_ALL,
	.rtr_accept	= IW_MPA_RTR_ALL,
	.max_ird	= SRNIC_MAX_DEPTH,
	.max_ord	= SRNIC_MAX_DEPTH,
};

const struct iw_mpa_driver_ops srnic_driver_ops = {
	.prepare	= handoff_prepare,
	.attach		= handoff_attach,
	.kick_rx	= srnic_rx_look,
	.send_rtr	= srnic_tx_send_rtr,
	.repeat_rtr	= srnic_tx_repeat_rtr,
	.open_tx	= srnic_tx_open,
	.finish_tx	= srnic_tx_finish,
	.stop		= handoff_stop,
};

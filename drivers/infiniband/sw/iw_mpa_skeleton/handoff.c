// SPDX-License-Identifier: GPL-2.0
/*
 * What iw_mpa asks of a driver: struct iw_mpa_driver_ops. A QP gets a stream, and gives it back.
 * Documentation/infiniband/iw_mpa_driver.rst quotes and explains it.
 *
 * Each function runs in process context and may sleep, but attach. The functions of one connection
 * never run at the same time. But the engine, verbs and callbacks of the socket run beside them.
 *
 * This device reads the TCP stream from the kernel's socket. A device that takes TCP over has a
 * struct iw_mpa_takeover_ops in its attributes, leaves attach and kick_rx out, sends Reply, RTR
 * message and FIN itself, and has all that it needs of the connection in prepare: @ho->tcb.
 */

#include "skel.h"

#include <linux/slab.h>
#include <net/tcp.h>
#include <trace/events/sock.h>

static void handoff_start(struct skel_qp *qp, const struct iw_mpa_params *params)
{
	int qn;

	qp->irq = (struct skel_irq) { .ird = params->ird };
	qp->rx.have = 0;
	qp->rx.crc = params->crc;
	qp->rx.responder = !params->initiator;
	qp->rx.first = true;
	qp->rx.ended = false;
	qp->rx.write_busy = false;
	qp->rx.send_busy = false;
	qp->rx.read_len = 0;
	qp->tx = (struct skel_tx) { .buf = qp->tx.buf, .crc = params->crc, .ord = params->ord };
	qp->sq.failed = false;
	/* RFC 5041 4.2: the first message of a queue has number 1. */
	for (qn = 0; qn < SKEL_QN_COUNT; qn++) {
		qp->rx.msn[qn] = 1;
		qp->tx.msn[qn] = 1;
	}
}

static void handoff_free(struct skel_qp *qp)
{
	kvfree(qp->rx.buf);
	kvfree(qp->tx.buf);
	qp->rx.buf = NULL;
	qp->tx.buf = NULL;
}

/*
 * Take the stream: FPDUs may come from now on, and none goes. All memory of the stream is allocated
 * here, so that nothing later fails for lack of it. A QP with another stream, or in error, is
 * refused.
 */
static int skel_prepare(struct ib_qp *ibqp, const struct iw_mpa_handoff *ho)
{
	struct skel_qp *qp = to_skel_qp(ibqp);
	int err = 0;

	mutex_lock(&qp->run);
	if (qp->sock || READ_ONCE(qp->state) > IB_QPS_RTR) {
		mutex_unlock(&qp->run);
		return -EINVAL;
	}
	qp->rx.buf = kvmalloc(SKEL_FPDU_MAX, GFP_KERNEL);
	qp->tx.buf = kvmalloc(iw_mpa_fpdu_size(SKEL_ULPDU_MAX), GFP_KERNEL);
	if (!qp->rx.buf || !qp->tx.buf)
		err = -ENOMEM;
	spin_lock_irq(&qp->lock);
	if (!err && qp->state > IB_QPS_RTR)	/* the ULP was faster */
		err = -EINVAL;
	if (!err) {
		handoff_start(qp, ho->params);
		qp->fault = (struct skel_fault) {};
		qp->events = 0;
		qp->ep = ho->ep;
		qp->sock = ho->sock;
		WRITE_ONCE(qp->state, IB_QPS_RTS);
	}
	spin_unlock_irq(&qp->lock);
	if (err)
		handoff_free(qp);
	mutex_unlock(&qp->run);
	return err;
}

/* Softirq, with the socket's spinlock; or process context, with the socket owned */
static void skel_data_ready(struct sock *sk)
{
	struct iw_mpa_stream *stream;

	trace_sk_data_ready(sk);
	read_lock_bh(&sk->sk_callback_lock);
	stream = iw_mpa_sk_stream(sk);
	if (stream && stream->priv)
		skel_kick(stream->priv, 0);
	read_unlock_bh(&sk->sk_callback_lock);
}

/* TCP calls this if somebody was told -EAGAIN. It may have others to tell. */
static void skel_write_space(struct sock *sk)
{
	struct iw_mpa_stream *stream;

	read_lock_bh(&sk->sk_callback_lock);
	stream = iw_mpa_sk_stream(sk);
	if (stream && stream->priv) {
		stream->write_space(sk);
		skel_kick(stream->priv, 0);
	}
	read_unlock_bh(&sk->sk_callback_lock);
}

/* The socket's callbacks. Must not sleep: sk_callback_lock is held. */
static void skel_attach(struct ib_qp *ibqp, struct sock *sk,
			struct iw_mpa_stream *stream)
{
	stream->priv = to_skel_qp(ibqp);
	sk->sk_data_ready = skel_data_ready;
	sk->sk_write_space = skel_write_space;
}

/* Octets may have come before attach; and those before the peer's FIN count. */
static void skel_kick_rx(struct ib_qp *ibqp)
{
	struct skel_qp *qp = to_skel_qp(ibqp);
	int queued;

	mutex_lock(&qp->run);
	lock_sock(qp->sock->sk);
	queued = tcp_inq(qp->sock->sk);
	release_sock(qp->sock->sk);
	skel_rx(qp, max(queued, 0));
	mutex_unlock(&qp->run);
	skel_kick(qp, 0);
}

/*
 * The initiator's first FPDU in the peer-to-peer model (RFC 6581 9.2). Nothing is in @tx.buf yet,
 * so nothing that the ULP has posted overtakes it.
 */
static int skel_send_rtr(struct ib_qp *ibqp, u8 rtr)
{
	struct skel_qp *qp = to_skel_qp(ibqp);

	mutex_lock(&qp->run);
	qp->tx.len = iw_mpa_fpdu_rtr(rtr, qp->tx.crc, qp->tx.buf);
	qp->tx.msg = SKEL_MSG_ALONE;
	qp->tx.open = true;
	mutex_unlock(&qp->run);
	skel_kick(qp, 0);
	return 0;
}

/* Let out what the ULP has posted since prepare. */
static void skel_open_tx(struct ib_qp *ibqp)
{
	struct skel_qp *qp = to_skel_qp(ibqp);

	mutex_lock(&qp->run);
	qp->tx.open = true;
	mutex_unlock(&qp->run);
	skel_kick(qp, 0);
}

/*
 * The stream ends in order (RFC 5041 6.2.1): what is posted now still goes out, and the Read
 * Responses that are owed. The engine calls iw_mpa_tx_finished() when that is done.
 */
static void skel_finish_tx(struct ib_qp *ibqp)
{
	struct skel_qp *qp = to_skel_qp(ibqp);

	mutex_lock(&qp->run);
	spin_lock_irq(&qp->lock);
	qp->sq.limit = qp->sq.put;
	spin_unlock_irq(&qp->lock);
	qp->tx.finishing = true;
	mutex_unlock(&qp->run);
	skel_kick(qp, 0);
}

/* Did TCP end by itself? Then the ULP is told of an error (RFC 5044 8, code 1). */
static bool handoff_is_abort(enum iw_mpa_reason why)
{
	return why == IW_MPA_R_PEER_RESET || why == IW_MPA_R_TCP_ERROR ||
	       why == IW_MPA_R_TCP_REFUSED || why == IW_MPA_R_TCP_UNREACHABLE;
}

/*
 * Give the stream back. The library has taken the callbacks back already. While @run is held the
 * engine is not running, and after that it finds no socket. What is posted is flushed; then the ULP
 * may connect again.
 */
static void skel_stop(struct ib_qp *ibqp, enum iw_mpa_reason why)
{
	struct skel_qp *qp = to_skel_qp(ibqp);

	mutex_lock(&qp->run);
	if (handoff_is_abort(why))
		skel_fail(qp, SKEL_E_STREAM, NULL);
	skel_tx_terminate(qp, true);
	spin_lock_irq(&qp->lock);
	qp->ep = NULL;
	qp->sock = NULL;
	WRITE_ONCE(qp->state, IB_QPS_ERR);
	spin_unlock_irq(&qp->lock);
	handoff_free(qp);
	skel_flush(qp);
	mutex_unlock(&qp->run);
	skel_kick(qp, 0);	/* it tells the ULP */
}

const struct iw_mpa_driver_ops skel_driver_ops = {
	.prepare	= skel_prepare,
	.attach		= skel_attach,
	.kick_rx	= skel_kick_rx,
	.send_rtr	= skel_send_rtr,
	.open_tx	= skel_open_tx,
	.finish_tx	= skel_finish_tx,
	.stop		= skel_stop,
};

/* No Markers: the library refuses a peer that wants them. */
const struct iw_mpa_device_attr skel_device_attr = {
	.caps		= IW_MPA_CAP_NO_CRC | IW_MPA_CAP_EARLY_RX |
			  IW_MPA_CAP_TX_FENCE,
	.rtr_send	= IW_MPA_RTR_WRITE,
	.rtr_accept	= IW_MPA_RTR_WRITE | IW_MPA_RTR_READ,
	.max_ird	= SKEL_MAX_DEPTH,
	.max_ord	= SKEL_MAX_DEPTH,
};

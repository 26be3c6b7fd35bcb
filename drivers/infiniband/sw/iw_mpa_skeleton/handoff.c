// SPDX-License-Identifier: GPL-2.0
/*
 * The driver's half of the hand-off: struct iw_mpa_driver_ops. A QP gets a
 * stream, and loses it: see Documentation/infiniband/iw_mpa_driver.rst.
 *
 * Each function but attach runs in process context and may sleep. The functions
 * of one connection never run at the same time. But the engine, verbs and
 * callbacks of the socket may run at the same time.
 *
 * This device reads the TCP stream from the kernel's socket. A device that
 * takes TCP over has a struct iw_mpa_takeover_ops in its attributes, leaves
 * attach and kick_rx out, sends Reply, RTR message and FIN itself, and has all
 * that it needs of the connection in prepare: @ho->tcb.
 */

#include "skel.h"

#include <net/tcp.h>
#include <trace/events/sock.h>

/*
 * Take the stream: FPDUs may arrive from now on, and none is sent yet. A QP
 * with another stream, or in error, is refused.
 */
static int skel_prepare(struct ib_qp *ibqp, const struct iw_mpa_handoff *ho)
{
	struct skel_qp *qp = to_skel_qp(ibqp);
	int err = -EINVAL;

	mutex_lock(&qp->dev->lock);
	spin_lock_irq(&qp->dev->spin);
	if (!qp->ep && qp->state <= IB_QPS_RTR) {
		qp->rx = (struct skel_rx) {};
		qp->tx = (struct skel_tx) {};
		qp->irq.put = 0;
		qp->irq.get = 0;
		qp->err = SKEL_OK;
		qp->event = 0;
		qp->params = ho->params;
		qp->sock = ho->sock;
		qp->ep = ho->ep;
		WRITE_ONCE(qp->state, IB_QPS_RTS);
		err = 0;
	}
	spin_unlock_irq(&qp->dev->spin);
	mutex_unlock(&qp->dev->lock);
	return err;
}

/* Softirq, with the socket's spinlock; or process context, the socket owned */
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

/* TCP calls this after -EAGAIN, which another sender may have got. */
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

/* Set the socket's callbacks. Must not sleep: sk_callback_lock is held. */
static void skel_attach(struct ib_qp *ibqp, struct sock *sk,
			struct iw_mpa_stream *stream)
{
	stream->priv = to_skel_qp(ibqp);
	sk->sk_data_ready = skel_data_ready;
	sk->sk_write_space = skel_write_space;
}

/*
 * Bytes may have arrived before attach, and all bytes before the peer's FIN
 * count. rcv_nxt may include the FIN, which only one more read finds. dev->lock
 * is dropped at times for other QPs.
 */
static void skel_kick_rx(struct ib_qp *ibqp)
{
	struct skel_qp *qp = to_skel_qp(ibqp);
	const struct tcp_sock *tp;
	int steps = 0;
	u32 end;

	mutex_lock(&qp->dev->lock);
	qp->rx.open = true;
	tp = tcp_sk(qp->sock->sk);
	end = READ_ONCE(tp->rcv_nxt);
	while (before(READ_ONCE(tp->copied_seq), end) && skel_rx(qp)) {
		if (++steps % SKEL_STEPS)
			continue;
		mutex_unlock(&qp->dev->lock);
		mutex_lock(&qp->dev->lock);
	}
	skel_rx(qp);
	mutex_unlock(&qp->dev->lock);
	skel_kick(qp, 0);
}

/*
 * The initiator's first FPDU in the peer-to-peer model (RFC 6581 9.2). Nothing
 * is in @tx_buf yet, so nothing that the ULP has posted overtakes it.
 */
static int skel_send_rtr(struct ib_qp *ibqp, u8 rtr)
{
	struct skel_qp *qp = to_skel_qp(ibqp);

	mutex_lock(&qp->dev->lock);
	qp->tx.len = iw_mpa_fpdu_rtr(rtr, qp->params->crc, qp->tx_buf);
	qp->tx.msg = SKEL_MSG_ALONE;
	qp->tx.open = true;
	mutex_unlock(&qp->dev->lock);
	skel_kick(qp, 0);
	return 0;
}

/* Send what the ULP has posted since prepare. */
static void skel_open_tx(struct ib_qp *ibqp)
{
	struct skel_qp *qp = to_skel_qp(ibqp);

	mutex_lock(&qp->dev->lock);
	qp->tx.open = true;
	mutex_unlock(&qp->dev->lock);
	skel_kick(qp, 0);
}

/*
 * The stream ends in order (RFC 5041 6.2.1): the engine sends all that is
 * posted by now, and the Read Responses that are due, then calls
 * iw_mpa_tx_finished().
 */
static void skel_finish_tx(struct ib_qp *ibqp)
{
	struct skel_qp *qp = to_skel_qp(ibqp);

	mutex_lock(&qp->dev->lock);
	spin_lock_irq(&qp->dev->spin);
	qp->tx.limit = qp->sq.put;
	spin_unlock_irq(&qp->dev->spin);
	qp->tx.finishing = true;
	mutex_unlock(&qp->dev->lock);
	skel_kick(qp, 0);
}

/* Did TCP end by itself? Then the ULP gets an error (RFC 5044 8, code 1). */
static bool handoff_is_abort(enum iw_mpa_reason why)
{
	return why == IW_MPA_R_PEER_RESET || why == IW_MPA_R_TCP_ERROR ||
	       why == IW_MPA_R_TCP_REFUSED || why == IW_MPA_R_TCP_UNREACHABLE;
}

/*
 * Forget the stream. The library has restored the callbacks already. While
 * dev->lock is held the engine is not running, and when it runs again it finds
 * no socket. Work requests are flushed; then the ULP may connect again.
 */
static void skel_stop(struct ib_qp *ibqp, enum iw_mpa_reason why)
{
	struct skel_qp *qp = to_skel_qp(ibqp);

	mutex_lock(&qp->dev->lock);
	if (handoff_is_abort(why))
		skel_fail(qp, SKEL_E_STREAM, NULL, 0);
	skel_tx_terminate(qp, true);
	spin_lock_irq(&qp->dev->spin);
	qp->ep = NULL;
	qp->sock = NULL;
	WRITE_ONCE(qp->state, IB_QPS_ERR);
	spin_unlock_irq(&qp->dev->spin);
	skel_flush(qp);
	mutex_unlock(&qp->dev->lock);
	skel_kick(qp, 0);	/* for qp_report() */
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

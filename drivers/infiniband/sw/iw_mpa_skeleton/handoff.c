// SPDX-License-Identifier: GPL-2.0
/*
 * The ops by which iw_mpa gives a QP a stream after the MPA startup, and takes
 * it back: see struct iw_mpa_driver_ops, and
 * Documentation/infiniband/iw_mpa_driver.rst.
 *
 * Each op but attach runs in process context and may sleep; ops of one
 * connection never run at the same time. But the engine (the QP's work item),
 * verbs and the socket's callbacks may run during an op: hence dev->lock and
 * dev->spin.
 *
 * This device uses the kernel's TCP socket. The driver of a device that takes
 * TCP connections over has struct iw_mpa_takeover_ops in its attributes, and no
 * attach and kick_rx; its prepare gets the state of TCP in @ho->tcb, and the
 * device sends Reply, RTR message and FIN itself.
 */

#include "skel.h"

#include <net/tcp.h>
#include <trace/events/sock.h>

/*
 * prepare: bind the QP to the stream (RFC 5041 6.1). FPDUs may arrive from now
 * on; ULPs may post, but tx.c sends nothing before send_rtr or open_tx, since
 * @tx.open is false. A QP that has a stream, or is in SQD, SQE or ERR, is
 * refused.
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

/* TCP has bytes or a FIN. In softirq with sk_lock.slock, or socket owned. */
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

/* TCP has room again, after an -EAGAIN. Its own callback has to run, too. */
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

/*
 * attach: set callbacks. From now on all bytes that arrive are FPDUs (RFC 5044
 * 7.1.2). Must not sleep: iw_mpa holds sk_callback_lock.
 */
static void skel_attach(struct ib_qp *ibqp, struct sock *sk,
			struct iw_mpa_stream *stream)
{
	stream->priv = to_skel_qp(ibqp);
	sk->sk_data_ready = skel_data_ready;
	sk->sk_write_space = skel_write_space;
}

/*
 * kick_rx: read what TCP had received before this call: no callback has run for
 * FPDUs that arrived before attach (RFC 5044 7.1.2), and what the peer sent
 * before its FIN must be placed. When the last byte is read TCP may already
 * count the FIN as read, but only a further skel_rx() finds the FIN: hence the
 * call after the loop. After every SKEL_STEPS calls of skel_rx() dev->lock is
 * dropped for other QPs.
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
 * send_rtr: the RTR message is the first FPDU of an initiator in the
 * peer-to-peer model (RFC 6581 9.2). @tx.open was false until now, so no FPDU
 * was made and @tx_buf is empty. Work requests follow the message.
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

/*
 * open_tx: let the QP's work item send what the ULP has posted since prepare.
 * For a responder iw_mpa calls this after iw_mpa_first_fpdu() (RFC 5044 7.1.2),
 * but in the client-server model earlier if iw_mpa's setting "fence" is off, or
 * when fence_timeout_ms, if not 0, have passed.
 */
static void skel_open_tx(struct ib_qp *ibqp)
{
	struct skel_qp *qp = to_skel_qp(ibqp);

	mutex_lock(&qp->dev->lock);
	qp->tx.open = true;
	mutex_unlock(&qp->dev->lock);
	skel_kick(qp, 0);
}

/*
 * finish_tx: ULP or peer closes gracefully (RFC 5041 6.2.1). The QP's work item
 * sends the work requests posted before this call, and the Read Responses that
 * are due, then calls iw_mpa_tx_finished(), and iw_mpa sends FIN.
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

/* Did TCP end without FIN? The ULP gets an error event (RFC 5044 8, code 1). */
static bool handoff_is_abort(enum iw_mpa_reason why)
{
	return why == IW_MPA_R_PEER_RESET || why == IW_MPA_R_TCP_ERROR ||
	       why == IW_MPA_R_TCP_REFUSED || why == IW_MPA_R_TCP_UNREACHABLE;
}

/*
 * stop: forget the stream (RFC 5041 6.2). iw_mpa has already removed the
 * driver's callbacks from the stream's socket. With dev->lock held the QP's
 * work item does not run; its next run finds no socket. Once work requests are
 * flushed the ULP may connect the QP again.
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
	skel_kick(qp, 0);	/* calls qp_report() */
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

/* No capability for Markers: iw_mpa refuses a peer that asks for them. */
const struct iw_mpa_device_attr skel_device_attr = {
	.caps		= IW_MPA_CAP_NO_CRC | IW_MPA_CAP_EARLY_RX |
			  IW_MPA_CAP_TX_FENCE,
	.rtr_send	= IW_MPA_RTR_WRITE,
	.rtr_accept	= IW_MPA_RTR_WRITE | IW_MPA_RTR_READ,
	.max_ird	= SKEL_MAX_DEPTH,
	.max_ord	= SKEL_MAX_DEPTH,
};

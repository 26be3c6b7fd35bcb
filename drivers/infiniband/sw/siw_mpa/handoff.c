// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The ops of struct iw_mpa_driver_ops for siw's QPs: iw_mpa calls them to give
 * a QP a stream after the MPA startup, and to take it back.
 *
 * Between prepare and send_rtr or open_tx no FPDU may be sent: TX is fenced.
 * siw can send one WQE at a time, that of tx_wqe(). A Read Response that is
 * never sent occupies tx_wqe(), so post_send only queues work requests;
 * tx_suspend keeps siw's TX thread from sending the Read Response.
 *
 * qp->cep, the QP's connection, is set in prepare and cleared in stop. The
 * verbs of port.c prevent siw from clearing qp->cep between these two.
 */

#define SIW_MPA_OWN_FILE

#include "siw/siw.h"
#include "siw/siw_verbs.h"
#include "crc.h"
#include "siw_cm.h"

#include <linux/log2.h>
#include <linux/slab.h>

/*
 * Returns the size of the first FPDU, which its first four bytes determine; 0
 * if its opcode is unknown, or its ULPDU is shorter than the header of that
 * opcode, since siw would read later bytes as the rest of that header.
 */
static u32 handoff_fpdu_size(const u8 head[4])
{
	u16 ulpdu_len = head[0] << 8 | head[1];
	u8 opcode = head[3] & 0xf;

	if (opcode > RDMAP_TERMINATE ||
	    ulpdu_len + MPA_HDR_SIZE < iwarp_pktinfo[opcode].hdr_len)
		return 0;
	return iw_mpa_fpdu_size(ulpdu_len);
}

/* Count received bytes until the first FPDU is whole; @len may go beyond it. */
static void handoff_note_rx(struct siw_cep *cep, u32 len)
{
	if (cep->rx_seen < cep->rx_size)
		cep->rx_seen += len;
}

static bool handoff_first_is_whole(const struct siw_cep *cep)
{
	return cep->rx_size && cep->rx_seen >= cep->rx_size;
}

static int handoff_rx_release(read_descriptor_t *desc, struct siw_cep *cep)
{
	int err = siw_mpa_rx_octets(desc, cep->rx_head, cep->rx_held);

	if (err)
		return err;
	handoff_note_rx(cep, cep->rx_held);
	cep->rx_held = 0;
	return 0;
}

/* Keep bytes from siw until there are four, which show the FPDU's length. */
static int handoff_rx_hold(read_descriptor_t *desc, struct sk_buff *skb,
			   unsigned int off, size_t len)
{
	struct siw_qp *qp = desc->arg.data;
	struct siw_cep *cep = qp->cep;
	int used = min_t(size_t, len, sizeof(cep->rx_head) - cep->rx_held);

	skb_copy_bits(skb, off, cep->rx_head + cep->rx_held, used);
	cep->rx_held += used;
	if (cep->rx_held < sizeof(cep->rx_head))
		return used;
	cep->rx_size = handoff_fpdu_size(cep->rx_head);
	if (!cep->rx_size || handoff_rx_release(desc, cep))
		siw_qp_cm_drop(qp, 1);
	return used;
}

static int handoff_rx_first(read_descriptor_t *desc, struct sk_buff *skb,
			    unsigned int off, size_t len)
{
	struct siw_qp *qp = desc->arg.data;
	struct siw_cep *cep = qp->cep;
	int used;

	if (qp->rx_stream.rx_suspend)
		return len;
	if (!cep->rx_size && !cep->rx_held && len >= sizeof(cep->rx_head)) {
		skb_copy_bits(skb, off, cep->rx_head, sizeof(cep->rx_head));
		cep->rx_size = handoff_fpdu_size(cep->rx_head);
	}
	if (!cep->rx_size)
		return handoff_rx_hold(desc, skb, off, len);

	used = siw_mpa_rx_data(desc, skb, off, len);
	handoff_note_rx(cep, used);
	return used;
}

/*
 * A socket callback cannot wait for the QP's state_lock. If another context has
 * the lock, the callback sets rx_missed. When that context has released the
 * lock it checks rx_missed, and reads the stream if it is set: see
 * siw_mpa_look_again(). That check may have come just before rx_missed was set.
 * So the callback tries once more: either it gets the lock, or the context that
 * has the lock will check rx_missed.
 */
static bool handoff_try_lock(struct siw_cep *cep)
{
	if (down_read_trylock(&cep->qp->state_lock))
		return true;
	atomic_set(&cep->rx_missed, 1);
	/* Pairs with siw_mpa_look_again() */
	smp_mb__after_atomic();
	if (!down_read_trylock(&cep->qp->state_lock))
		return false;
	atomic_set(&cep->rx_missed, 0);
	return true;
}

/* Did siw leave bytes because the state_lock was taken, and is it free now? */
static bool handoff_can_retry(struct sock *sk)
{
	struct iw_mpa_stream *stream;
	bool retry = false;

	read_lock(&sk->sk_callback_lock);
	stream = iw_mpa_sk_stream(sk);
	if (stream && stream->priv) {
		struct siw_cep *cep = stream->priv;

		retry = !cep->qp->rx_stream.rx_suspend &&
			handoff_try_lock(cep);
		if (retry)
			up_read(&cep->qp->state_lock);
	}
	read_unlock(&sk->sk_callback_lock);
	return retry;
}

/*
 * siw's callbacks take sk_callback_lock by read_lock(), which needs softirqs
 * off, since a softirq may write-lock it. TCP may call the callbacks from
 * release_sock(), with softirqs on: so turn softirqs off first.
 */
static void siw_mpa_data_ready(struct sock *sk)
{
	local_bh_disable();
	siw_qp_llp_data_ready(sk);
	if (unlikely(!skb_queue_empty(&sk->sk_receive_queue)) &&
	    handoff_can_retry(sk))
		siw_qp_llp_data_ready(sk);
	local_bh_enable();
}

static void siw_mpa_write_space(struct sock *sk)
{
	local_bh_disable();
	siw_qp_llp_write_space(sk);
	local_bh_enable();
}

static void siw_mpa_first_data_ready(struct sock *sk);

/*
 * A responder receives by this function until its first FPDU is good: siw has
 * all of it, and has found no error. All callers hold the QP's state_lock for
 * reading, but the caller handoff_read() does not hold sk_callback_lock: so
 * iw_mpa may already have set its own sk_data_ready, which must not be
 * overwritten, hence cmpxchg().
 */
static void handoff_rx_until_first(struct siw_qp *qp, struct sock *sk)
{
	read_descriptor_t desc = { .arg.data = qp, .count = 1 };

	tcp_read_sock(sk, &desc, handoff_rx_first);
	if (!handoff_first_is_whole(qp->cep) || qp->rx_stream.rx_suspend)
		return;
	cmpxchg(&sk->sk_data_ready, siw_mpa_first_data_ready,
		siw_mpa_data_ready);
	WRITE_ONCE(qp->cep->validated, true);
	iw_mpa_first_fpdu(qp->cep->ep);
}

static void siw_mpa_first_data_ready(struct sock *sk)
{
	struct iw_mpa_stream *stream;
	struct siw_qp *qp;

	read_lock_bh(&sk->sk_callback_lock);
	stream = iw_mpa_sk_stream(sk);
	if (!stream || !stream->qp)
		goto unlock;
	qp = to_siw_qp(stream->qp);
	if (qp->rx_stream.rx_suspend || !handoff_try_lock(stream->priv))
		goto unlock;
	if (qp->attrs.state == SIW_QP_STATE_RTS)
		handoff_rx_until_first(qp, sk);
	up_read(&qp->state_lock);
unlock:
	read_unlock_bh(&sk->sk_callback_lock);
}

static struct siw_cep *handoff_alloc(struct siw_qp *qp,
				     const struct iw_mpa_handoff *ho)
{
	struct siw_cep *cep = kzalloc(sizeof(*cep), GFP_KERNEL);

	if (!cep)
		return NULL;
	kref_init(&cep->ref);
	mutex_init(&cep->tx_lock);
	cep->ep = iw_mpa_ep_get(ho->ep);
	cep->qp = qp;
	cep->sock = ho->sock;
	cep->responder = !ho->params->initiator;
	return cep;
}

static int handoff_modify_to_rts(struct siw_qp *qp,
				 const struct iw_mpa_handoff *ho)
{
	const struct iw_mpa_params *params = ho->params;
	struct siw_qp_attrs attrs = {
		.state = SIW_QP_STATE_RTS,
		.flags = params->crc ? SIW_MPA_CRC : 0,
		.irq_size = params->ird,
		/* siw would round up, to more than the peer's IRD. */
		.orq_size = params->ord ? rounddown_pow_of_two(params->ord) : 0,
		.sk = ho->sock,
	};
	int err;

	err = siw_qp_modify(qp, &attrs,
			    SIW_QP_ATTR_STATE | SIW_QP_ATTR_LLP_HANDLE |
			    SIW_QP_ATTR_ORD | SIW_QP_ATTR_IRD |
			    SIW_QP_ATTR_MPA);
	if (!err)
		return 0;
	/* siw would leak CRC state, IRQ or ORQ when the QP is used again. */
	siw_mpa_crc_off(qp);
	qp->irq = NULL;
	qp->orq = NULL;
	return err;
}

/*
 * Fence TX: tx_wqe() gets a Read Response that is never sent, so that post_send
 * only queues WQEs. The caller holds the QP's sq_lock.
 */
static void handoff_close_fence(struct siw_qp *qp)
{
	struct siw_wqe *wqe = tx_wqe(qp);

	qp->tx_ctx.tx_suspend = 1;
	memset(wqe->mem, 0, sizeof(wqe->mem));
	wqe->sqe.opcode = SIW_OP_READ_RESPONSE;
	wqe->sqe.flags = 0;
	wqe->sqe.num_sge = 0;
	wqe->wr_status = SIW_WR_QUEUED;
}

static void handoff_fence(struct siw_qp *qp)
{
	unsigned long flags;

	qp->rx_stream.rx_suspend = 0;
	spin_lock_irqsave(&qp->sq_lock, flags);
	handoff_close_fence(qp);
	spin_unlock_irqrestore(&qp->sq_lock, flags);
}

static int handoff_prepare(struct ib_qp *base_qp,
			   const struct iw_mpa_handoff *ho)
{
	struct siw_qp *qp = to_siw_qp(base_qp);
	struct siw_cep *cep = handoff_alloc(qp, ho);
	int err = -EINVAL;

	if (!cep)
		return -ENOMEM;

	down_write(&qp->state_lock);
	if (qp->attrs.state <= SIW_QP_STATE_RTR && !qp->cep &&
	    !(qp->attrs.flags & SIW_QP_IN_DESTROY))
		err = handoff_modify_to_rts(qp, ho);
	if (!err) {
		WRITE_ONCE(qp->cep, cep);
		handoff_fence(qp);
	}
	up_write(&qp->state_lock);

	if (err)
		siw_cep_put(cep);
	return err;
}

static void handoff_attach(struct ib_qp *base_qp, struct sock *sk,
			   struct iw_mpa_stream *stream)
{
	struct siw_cep *cep = to_siw_qp(base_qp)->cep;

	cep->sk_write_space = stream->write_space;
	stream->priv = cep;
	sk->sk_data_ready = cep->responder ? siw_mpa_first_data_ready :
					     siw_mpa_data_ready;
	sk->sk_write_space = siw_mpa_write_space;
}

/* tcp_read_sock() needs the socket locked, siw_tcp_rx_data() softirqs off. */
static void handoff_read(struct siw_qp *qp, struct sock *sk)
{
	lock_sock(sk);
	local_bh_disable();
	if (qp->cep->responder && !qp->cep->validated) {
		handoff_rx_until_first(qp, sk);
	} else {
		read_descriptor_t desc = { .arg.data = qp, .count = 1 };

		tcp_read_sock(sk, &desc, siw_mpa_rx_data);
	}
	local_bh_enable();
	release_sock(sk);
}

/*
 * Read the socket. The socket exists while qp->cep is set: stop clears qp->cep
 * with the state_lock held for writing.
 */
static void handoff_look(struct siw_qp *qp, struct siw_cep *cep)
{
	down_read(&qp->state_lock);
	if (qp->cep == cep && qp->attrs.state == SIW_QP_STATE_RTS &&
	    !qp->rx_stream.rx_suspend)
		handoff_read(qp, cep->sock->sk);
	up_read(&qp->state_lock);
}

/*
 * kick_rx: read the bytes that arrived before attach. For later bytes TCP calls
 * the callbacks that attach has set, so this check of the receive queue needs
 * no lock.
 */
static void handoff_kick_rx(struct ib_qp *base_qp)
{
	struct siw_qp *qp = to_siw_qp(base_qp);

	if (!skb_queue_empty_lockless(&qp->cep->sock->sk->sk_receive_queue))
		handoff_look(qp, qp->cep);
}

/*
 * Called after the QP's state_lock was held for writing: read the bytes for
 * which handoff_try_lock() has set rx_missed in that time. Process context,
 * without a lock of the QP.
 */
void siw_mpa_look_again(struct siw_qp *qp)
{
	struct siw_cep *cep = siw_cep_get_of_qp(qp);

	if (!cep)
		return;
	/* Pairs with handoff_try_lock() */
	smp_mb();
	if (atomic_xchg(&cep->rx_missed, 0))
		handoff_look(qp, cep);
	siw_cep_put(cep);
}

static void handoff_open_tx(struct ib_qp *base_qp)
{
	struct siw_qp *qp = to_siw_qp(base_qp);
	unsigned long flags;
	int ret = 0;

	down_read(&qp->state_lock);
	spin_lock_irqsave(&qp->sq_lock, flags);
	if (qp->attrs.state == SIW_QP_STATE_RTS) {
		tx_wqe(qp)->wr_status = SIW_WR_IDLE;
		qp->tx_ctx.tx_suspend = 0;
		qp->cep->tx_open = true;
		ret = siw_activate_tx(qp);
	}
	spin_unlock_irqrestore(&qp->sq_lock, flags);
	if (ret > 0)
		ret = siw_sq_start(qp);
	if (ret < 0)
		siw_qp_cm_drop(qp, 1);
	up_read(&qp->state_lock);
}

/*
 * A flag of ORQ entries; siw itself does not use this bit. It marks the entry
 * of an RTR message by RDMA Read: no ULP has posted that Read, so there is no
 * completion. An application that sets the flag in an SQE of its own loses only
 * that SQE's completion.
 */
#define HANDOFF_RTR	BIT(15)

/* An RTR message by RDMA Read needs an ORQ entry for its Read Response. */
static int handoff_expect_read(struct siw_qp *qp)
{
	struct siw_sqe rtr = { .opcode = SIW_OP_READ, .flags = HANDOFF_RTR };
	struct siw_sqe *rreq = NULL;
	unsigned long flags;

	rtr.sge[0].lkey = IW_MPA_FPDU_STAG;
	spin_lock_irqsave(&qp->orq_lock, flags);
	if (qp->attrs.orq_size)
		rreq = orq_get_free(qp);
	if (rreq) {
		siw_read_to_orq(rreq, &rtr);
		qp->orq_put++;
		qp->tx_ctx.ddp_msn[RDMAP_UNTAGGED_QN_RDMA_READ]++;
	}
	spin_unlock_irqrestore(&qp->orq_lock, flags);
	return rreq ? 0 : -EIO;
}

/* Send an RTR message. -EAGAIN: nothing sent; -EPIPE: a part, or TCP ended. */
static int handoff_put_rtr(struct siw_cep *cep, u8 rtr, bool crc)
{
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };
	u8 fpdu[IW_MPA_FPDU_MAX];
	struct kvec vec = {
		.iov_base	= fpdu,
		.iov_len	= iw_mpa_fpdu_rtr(rtr, crc, fpdu),
	};
	int sent = kernel_sendmsg(cep->sock, &msg, &vec, 1, vec.iov_len);

	if (sent < 0)
		return sent;
	return sent == vec.iov_len ? 0 : -EPIPE;
}

/*
 * send_rtr: the RTR message is not posted to siw's SQ: siw completes a WQE of
 * the SQ that fails or is flushed, even if unsignalled; but no ULP has posted
 * this message, so there must be no completion.
 */
static int handoff_send_rtr(struct ib_qp *base_qp, u8 rtr)
{
	struct siw_qp *qp = to_siw_qp(base_qp);
	int err = -ENOTCONN;

	down_read(&qp->state_lock);
	if (qp->attrs.state == SIW_QP_STATE_RTS) {
		err = rtr == IW_MPA_RTR_READ ? handoff_expect_read(qp) : 0;
		if (!err)
			err = handoff_put_rtr(qp->cep, rtr,
					      siw_mpa_crc_is_on(qp));
	}
	up_read(&qp->state_lock);
	if (!err)
		handoff_open_tx(base_qp);
	return err;
}

/* Fence TX unless siw is sending: then post_send only queues WQEs. */
static bool handoff_fence_if_idle(struct siw_qp *qp)
{
	unsigned long flags;
	bool idle;

	spin_lock_irqsave(&qp->sq_lock, flags);
	idle = qp->attrs.state == SIW_QP_STATE_RTS && !qp->tx_ctx.tx_suspend &&
	       tx_wqe(qp)->wr_status == SIW_WR_IDLE;
	if (idle)
		handoff_close_fence(qp);
	spin_unlock_irqrestore(&qp->sq_lock, flags);
	return idle;
}

/* repeat_rtr: -EBUSY if siw is sending, since the peer then receives FPDUs. */
static int handoff_repeat_rtr(struct ib_qp *base_qp)
{
	struct siw_qp *qp = to_siw_qp(base_qp);
	struct siw_cep *cep = qp->cep;
	int err = -EBUSY;
	bool fenced;

	siw_mpa_tx_begin(cep);
	down_read(&qp->state_lock);
	fenced = handoff_fence_if_idle(qp);
	if (fenced)
		err = handoff_put_rtr(cep, IW_MPA_RTR_WRITE,
				      siw_mpa_crc_is_on(qp));
	if (err == -EPIPE)
		siw_qp_cm_drop(qp, 1);
	up_read(&qp->state_lock);
	if (fenced && err != -EPIPE)
		handoff_open_tx(base_qp);
	siw_mpa_tx_end(cep);
	return err;
}

/*
 * siw is about to flush the QP, and would complete the Read of an RTR message:
 * remove its entry from the ORQ. The caller holds the QP's state_lock for
 * writing.
 */
static void handoff_forget_rtr(struct siw_qp *qp)
{
	struct siw_sqe *orqe;

	if (!qp->attrs.orq_size)
		return;
	orqe = &qp->orq[qp->orq_get % qp->attrs.orq_size];
	if (!(READ_ONCE(orqe->flags) & HANDOFF_RTR))
		return;
	WRITE_ONCE(orqe->flags, 0);
	qp->orq_get++;
}

/*
 * siw's verbs and its notifier call this in place of siw_qp_modify(), with the
 * QP's state_lock held for writing. siw_qp_modify() may flush the QP: see
 * handoff_forget_rtr().
 */
int siw_mpa_qp_modify(struct siw_qp *qp, struct siw_qp_attrs *attrs,
		      enum siw_qp_attr_mask mask)
{
	if ((mask & SIW_QP_ATTR_STATE) && attrs->state > SIW_QP_STATE_RTS)
		handoff_forget_rtr(qp);
	return siw_qp_modify(qp, attrs, mask);
}

/*
 * siw's receive path calls this in place of siw_sqe_complete(). siw completes a
 * Read that fails, even if unsignalled; but no ULP has posted the Read of an
 * RTR message, so that Read gets no completion.
 */
int siw_mpa_sqe_complete(struct siw_qp *qp, struct siw_sqe *sqe, u32 bytes,
			 enum siw_wc_status status)
{
	if (sqe->flags & HANDOFF_RTR)
		return 0;
	return siw_sqe_complete(qp, sqe, bytes, status);
}

/*
 * stop: send siw's Terminate message, unless TX was never opened: a responder
 * must not send before it has received a good FPDU (RFC 5044 7.1.2).
 */
static void handoff_stop(struct ib_qp *base_qp, enum iw_mpa_reason why)
{
	struct siw_qp *qp = to_siw_qp(base_qp);
	struct siw_cep *cep = qp->cep;

	down_write(&qp->state_lock);
	qp->rx_stream.rx_suspend = 1;
	qp->tx_ctx.tx_suspend = 1;
	if (iw_mpa_reason_term_code(why))
		siw_init_terminate(qp, TERM_ERROR_LAYER_LLP, LLP_ETYPE_MPA,
				   iw_mpa_reason_term_code(why), 0);
	if (cep->tx_open)
		siw_send_terminate(qp);
	handoff_forget_rtr(qp);
	qp->term_info.valid = 0;
	WRITE_ONCE(qp->cep, NULL);
	up_write(&qp->state_lock);

	siw_qp_llp_close(qp);
	siw_cep_put(cep);
}

const struct iw_mpa_device_attr siw_mpa_device_attr = {
	.caps		= IW_MPA_CAP_NO_CRC | IW_MPA_CAP_EARLY_RX |
			  IW_MPA_CAP_TX_FENCE,
	.rtr_send	= IW_MPA_RTR_WRITE | IW_MPA_RTR_READ,
	.rtr_accept	= IW_MPA_RTR_WRITE | IW_MPA_RTR_READ,
	.max_ird	= SIW_MAX_IRD_QP,
	.max_ord	= SIW_MAX_ORD_QP,
};

const struct iw_mpa_driver_ops siw_mpa_driver_ops = {
	.prepare	= handoff_prepare,
	.attach		= handoff_attach,
	.kick_rx	= handoff_kick_rx,
	.send_rtr	= handoff_send_rtr,
	.repeat_rtr	= handoff_repeat_rtr,
	.open_tx	= handoff_open_tx,
	.stop		= handoff_stop,
};

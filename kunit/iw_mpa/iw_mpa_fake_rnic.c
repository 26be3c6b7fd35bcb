// SPDX-License-Identifier: GPL-2.0
/* The fake driver: see iw_mpa_fakes.h. */

#include "iw_mpa_fakes.h"

#include <linux/crc32c.h>
#include <linux/sched.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <net/tcp.h>

/* What the fake driver passes to iw_mpa_stream_down() */
const struct iw_mpa_fault fake_broken = { .text = "an FPDU in error" };

struct fake_qp *fake_qp_of(struct ib_qp *qp)
{
	return container_of(qp, struct fake_qp, ib);
}

static struct ib_qp *fake_get_qp(struct ib_device *ibdev, int qpn)
{
	struct fakes *f = dev_get_drvdata(&ibdev->dev);

	if (qpn < 1 || qpn > FAKE_QPS || READ_ONCE(f->qps[qpn - 1].hidden))
		return NULL;
	return &f->qps[qpn - 1].ib;
}

static void fake_qp_count(struct ib_qp *ib, int change)
{
	struct fake_qp *qp = fake_qp_of(ib);
	unsigned long flags;

	spin_lock_irqsave(&qp->f->lock, flags);
	qp->refs += change;
	if (qp->refs < 1)
		fake_fault(qp->f, "a QP's last reference was dropped");
	spin_unlock_irqrestore(&qp->f->lock, flags);
	wake_up_all(&qp->f->wake);
}

static void fake_qp_add_ref(struct ib_qp *ib)
{
	fake_qp_count(ib, 1);
}

static void fake_qp_rem_ref(struct ib_qp *ib)
{
	struct fake_qp *qp = fake_qp_of(ib);
	struct fake_id *fid = qp->reject;

	qp->reject = NULL;
	if (qp->slow_put) {
		qp->slow_put = false;
		schedule_timeout_uninterruptible(HZ / 10);
	}
	fake_qp_count(ib, -1);
	if (fid)
		fake_reject_beside(fid);
}

static void fake_op_check(const struct fake_qp *qp, enum fake_op op)
{
	if (qp->busy)
		fake_fault(qp->f, "two ops of one connection at the same time");
	if (!qp->in_rx && !(current->flags & PF_MEMALLOC_NOIO))
		fake_fault(qp->f, "an op that may wait for storage to be written");
	if (op == FAKE_PREPARE && qp->prepared)
		fake_fault(qp->f, "prepare twice");
	if (op != FAKE_PREPARE && !qp->prepared)
		fake_fault(qp->f, "an op before prepare or after stop");
	if (op == FAKE_ATTACH && qp->attached)
		fake_fault(qp->f, "attach twice");
	if (op > FAKE_ATTACH && op < FAKE_STOP && !qp->attached)
		fake_fault(qp->f, "an op before attach");
	if ((op == FAKE_OPEN_TX || op == FAKE_SEND_RTR) && qp->tx_open)
		fake_fault(qp->f, "TX is opened twice");
	if ((op == FAKE_REPEAT_RTR || op == FAKE_FINISH_TX) && !qp->tx_open)
		fake_fault(qp->f, "repeat_rtr or finish_tx while TX is closed");
	if ((op == FAKE_REPEAT_RTR || op == FAKE_FINISH_TX) && qp->finishing)
		fake_fault(qp->f, "repeat_rtr or finish_tx behind finish_tx");
}

/* Check and log the call of an op, which is busy until fake_op_end(). */
static struct fake_qp *fake_op_begin(struct ib_qp *ib, enum fake_op op)
{
	static const char *const names[FAKE_OPS] = {
		[FAKE_PREPARE]		= "prepare",
		[FAKE_ATTACH]		= "attach",
		[FAKE_KICK_RX]		= "kick_rx",
		[FAKE_SEND_RTR]		= "send_rtr",
		[FAKE_REPEAT_RTR]	= "repeat_rtr",
		[FAKE_OPEN_TX]		= "open_tx",
		[FAKE_FINISH_TX]	= "finish_tx",
		[FAKE_STOP]		= "stop",
	};
	struct fake_qp *qp = fake_qp_of(ib);
	unsigned long flags;

	spin_lock_irqsave(&qp->f->lock, flags);
	fake_op_check(qp, op);
	qp->busy = true;
	if (qp->log[0])
		strlcat(qp->log, " ", sizeof(qp->log));
	strlcat(qp->log, names[op], sizeof(qp->log));
	spin_unlock_irqrestore(&qp->f->lock, flags);
	return qp;
}

static void fake_op_end(struct fake_qp *qp)
{
	WRITE_ONCE(qp->busy, false);
	wake_up_all(&qp->f->wake);
}

/* Ops that may sleep do sleep, so that an op that is called too early finds @busy set. */
static int fake_op_sleep(struct ib_qp *ib, enum fake_op op)
{
	struct fake_qp *qp = fake_op_begin(ib, op);
	int ticks = msecs_to_jiffies(FAKE_WAIT_MS);

	while ((READ_ONCE(qp->held) & BIT(op)) && ticks--)
		schedule_timeout_uninterruptible(1);
	schedule_timeout_uninterruptible(1 + qp->nap[op]);
	return qp->fail[op];
}

static int fake_prepare(struct ib_qp *ib, const struct iw_mpa_handoff *ho)
{
	struct fake_qp *qp = fake_qp_of(ib);
	int err = fake_op_sleep(ib, FAKE_PREPARE);

	qp->ho = *ho;
	qp->params = *ho->params;
	qp->ho.params = &qp->params;
	qp->prepared = !err;
	if (qp->speak)
		peer_send(qp->f, qp->speak, "x", 1);
	fake_op_end(qp);
	return err;
}

static void fake_take_fpdu(struct fake_qp *qp, u32 size)
{
	__le32 sum = cpu_to_le32(~crc32c(~0, qp->rx, size - sizeof(sum)));

	qp->rx_have = 0;
	if (memcmp(qp->rx + size - sizeof(sum), &sum, sizeof(sum))) {
		qp->stop_rx = true;
		iw_mpa_stream_down(qp->ho.ep, &fake_broken);
		return;
	}
	qp->nr_fpdus++;
	iw_mpa_first_fpdu(qp->ho.ep);
	wake_up_all(&qp->f->wake);
}

/*
 * Return how many bytes of the FPDU in @qp->rx, or of its length field, have not arrived; 0 if the
 * FPDU is complete, or longer than @qp->rx.
 */
static u32 fake_rx_need(const struct fake_qp *qp)
{
	u32 size;

	if (qp->rx_have < 2)
		return 2 - qp->rx_have;
	size = iw_mpa_fpdu_size(qp->rx[0] << 8 | qp->rx[1]);
	return size > sizeof(qp->rx) ? 0 : size - qp->rx_have;
}

static int fake_recv_skb(read_descriptor_t *desc, struct sk_buff *skb,
			 unsigned int offset, size_t len)
{
	struct fake_qp *qp = desc->arg.data;
	size_t done = 0;

	while (done < len && !qp->stop_rx) {
		u32 n = fake_rx_need(qp);

		if (!n) {
			qp->stop_rx = true;
			iw_mpa_stream_down(qp->ho.ep, &fake_broken);
			break;
		}
		n = min_t(size_t, n, len - done);
		skb_copy_bits(skb, offset + done, qp->rx + qp->rx_have, n);
		qp->rx_have += n;
		done += n;
		if (qp->rx_have > 2 && !fake_rx_need(qp))
			fake_take_fpdu(qp, qp->rx_have);
	}
	return done;
}

/* Read what TCP has received. The caller, sk_data_ready or kick_rx, has the socket locked. */
static void fake_rx(struct fake_qp *qp, struct sock *sk)
{
	read_descriptor_t desc = { .arg.data = qp, .count = 1 };

	if (!qp->stop_rx)
		tcp_read_sock(sk, &desc, fake_recv_skb);
}

static void fake_sk_data_ready(struct sock *sk)
{
	struct iw_mpa_stream *stream;
	struct fake_qp *qp;

	read_lock_bh(&sk->sk_callback_lock);
	stream = iw_mpa_sk_stream(sk);
	if (stream) {
		qp = stream->priv;
		qp->in_rx = true;
		fake_rx(qp, sk);
		qp->in_rx = false;
	}
	read_unlock_bh(&sk->sk_callback_lock);
}

static void fake_attach(struct ib_qp *ib, struct sock *sk,
			struct iw_mpa_stream *stream)
{
	struct fake_qp *qp = fake_op_begin(ib, FAKE_ATTACH);

	lockdep_assert_held_write(&sk->sk_callback_lock);
	if (stream->qp != ib || !stream->write_space)
		fake_fault(qp->f, "attach: the stream is not set up");
	if (!qp->params.initiator && tcp_sk(sk)->write_seq == qp->ho.snd_nxt)
		fake_fault(qp->f, "attach: the Reply was sent before");
	stream->priv = qp;
	sk->sk_data_ready = fake_sk_data_ready;
	qp->sk = sk;
	qp->attached = true;
	fake_op_end(qp);
}

static void fake_kick_rx(struct ib_qp *ib)
{
	struct fake_qp *qp = fake_qp_of(ib);

	fake_op_sleep(ib, FAKE_KICK_RX);
	lock_sock(qp->sk);
	fake_rx(qp, qp->sk);
	release_sock(qp->sk);
	fake_op_end(qp);
}

static int fake_put_rtr(struct fake_qp *qp, u8 rtr)
{
	u8 fpdu[IW_MPA_FPDU_MAX];
	size_t len = iw_mpa_fpdu_rtr(rtr, qp->params.crc, fpdu);
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };
	struct kvec vec = { .iov_base = fpdu, .iov_len = len };
	int sent = kernel_sendmsg(qp->ho.sock, &msg, &vec, 1, len);

	if (sent < 0)
		return sent;
	return sent == len ? 0 : -EPIPE;
}

static int fake_send_rtr(struct ib_qp *ib, u8 rtr)
{
	struct fake_qp *qp = fake_qp_of(ib);
	int err = fake_op_sleep(ib, FAKE_SEND_RTR);

	qp->rtr = rtr;
	if (!err)
		err = fake_put_rtr(qp, rtr);
	qp->tx_open = !err;
	fake_op_end(qp);
	return err;
}

static int fake_repeat_rtr(struct ib_qp *ib)
{
	struct fake_qp *qp = fake_qp_of(ib);
	int err = fake_op_sleep(ib, FAKE_REPEAT_RTR);

	if (!err)
		err = fake_put_rtr(qp, IW_MPA_RTR_WRITE);
	fake_op_end(qp);
	return err;
}

/* Give the driver the op repeat_rtr. */
void fake_have_repeat_rtr(struct fakes *f)
{
	f->drv.repeat_rtr = fake_repeat_rtr;
}

static void fake_open_tx(struct ib_qp *ib)
{
	struct fake_qp *qp = fake_qp_of(ib);

	if (qp->f->attr.caps & IW_MPA_CAP_ATOMIC_OPEN)
		fake_op_begin(ib, FAKE_OPEN_TX);
	else
		fake_op_sleep(ib, FAKE_OPEN_TX);
	qp->tx_open = true;
	qp->opened_in_rx = qp->in_rx;
	if (qp->down_in_open)
		iw_mpa_stream_down(qp->ho.ep, &fake_broken);
	fake_op_end(qp);
}

static void fake_finish_tx(struct ib_qp *ib)
{
	struct fake_qp *qp = fake_qp_of(ib);

	fake_op_sleep(ib, FAKE_FINISH_TX);
	qp->finishing = true;
	/*
	 * The peer has closed within an FPDU: the stream has failed, so finish_tx cannot succeed.
	 */
	if (qp->rx_have && iw_mpa_sk_stream(qp->sk) && (qp->sk->sk_shutdown & RCV_SHUTDOWN))
		iw_mpa_stream_down(qp->ho.ep, &fake_broken);
	else if (!qp->slow_finish)
		iw_mpa_tx_finished(qp->ho.ep);
	fake_op_end(qp);
}

/* Give the driver the op finish_tx. */
void fake_have_finish_tx(struct fakes *f)
{
	f->drv.finish_tx = fake_finish_tx;
}

static int fake_hold_busy(struct ib_qp *ib, struct sock *sk)
{
	refcount_add(FAKE_BUSY, &sk->sk_wmem_alloc);
	fake_qp_of(ib)->busy_sk = sk;
	return 0;
}

static void fake_let_busy_go(struct ib_qp *ib)
{
	struct fake_qp *qp = fake_qp_of(ib);

	WARN_ON(refcount_sub_and_test(FAKE_BUSY, &qp->busy_sk->sk_wmem_alloc));
	qp->busy_sk = NULL;
}

static int fake_send_no_reply(struct ib_qp *ib, const void *reply, size_t len)
{
	return -EIO;
}

/* Let the device take TCP connections over, with any TCP options; it cannot use sockets. */
void fake_have_takeover(struct fakes *f)
{
	f->drv.attach = NULL;
	f->drv.kick_rx = NULL;
	f->takeover.tcp_options = IW_MPA_TCP_ALL;
	f->takeover.send_reply = fake_send_no_reply;
	f->attr.takeover = &f->takeover;
	fake_register_again(f);
}

/*
 * As fake_have_takeover(), but a segment of the host's TCP seems to stay in the host. So iw_mpa
 * refuses the takeover, with TCP_BUSY.
 */
void fake_have_busy_tcp(struct fakes *f)
{
	fake_have_takeover(f);
	f->takeover.hold = fake_hold_busy;
	f->takeover.let_go = fake_let_busy_go;
}

static void fake_stop(struct ib_qp *ib, enum iw_mpa_reason why)
{
	struct fake_qp *qp = fake_qp_of(ib);

	fake_op_sleep(ib, FAKE_STOP);
	if (qp->sk && ((iw_mpa_sk_stream(qp->sk) && iw_mpa_sk_stream(qp->sk)->qp) ||
		       qp->sk->sk_data_ready == fake_sk_data_ready))
		fake_fault(qp->f, "stop: the callbacks were not taken back");
	spin_lock_irq(&qp->f->lock);
	qp->why = why;
	qp->sk = NULL;
	qp->prepared = false;
	qp->attached = false;
	qp->tx_open = false;
	qp->finishing = false;
	spin_unlock_irq(&qp->f->lock);
	fake_op_end(qp);
}

static const struct iw_mpa_device_attr fake_attr = {
	.caps		= IW_MPA_CAP_TX_FENCE,
	.rtr_send	= IW_MPA_RTR_WRITE | IW_MPA_RTR_READ,
	.rtr_accept	= IW_MPA_RTR_ALL,
	.max_ird	= 32,
	.max_ord	= 16,
};

static const struct iw_mpa_driver_ops fake_driver = {
	.prepare	= fake_prepare,
	.attach		= fake_attach,
	.kick_rx	= fake_kick_rx,
	.send_rtr	= fake_send_rtr,
	.open_tx	= fake_open_tx,
	.stop		= fake_stop,
};

struct iw_mpa_ep *fake_qp_ep(struct fake_qp *qp)
{
	struct iw_mpa_ep *ep = NULL;

	spin_lock_irq(&qp->f->lock);
	if (qp->prepared)
		ep = iw_mpa_ep_get(qp->ho.ep);
	spin_unlock_irq(&qp->f->lock);
	return ep;
}

/*
 * What a driver does in modify_qp: end the QP's stream, at once for ERR (@abrupt), by FIN for SQD
 */
void fake_qp_disconnect(struct fake_qp *qp, bool abrupt)
{
	struct iw_mpa_ep *ep = fake_qp_ep(qp);

	if (!ep)
		return;
	if (qp->closes && !abrupt)
		iw_mpa_close(ep);
	else
		iw_mpa_disconnect(ep, abrupt);
	iw_mpa_ep_put(ep);
}

/* End the wait of all ops that @qp->held has stopped. They return at the next tick or later. */
void fake_qp_go_on(struct fake_qp *qp)
{
	WRITE_ONCE(qp->held, 0);
}

/* Call iw_mpa_tx_finished(): the driver has sent all that was posted before finish_tx. */
void fake_qp_tx_finished(struct fake_qp *qp)
{
	struct iw_mpa_ep *ep = fake_qp_ep(qp);

	if (!ep)
		return;
	iw_mpa_tx_finished(ep);
	iw_mpa_ep_put(ep);
}

/* Call iw_mpa_stream_down(), as a device may do while no bytes arrive. */
void fake_qp_stream_down(struct fake_qp *qp)
{
	struct iw_mpa_ep *ep = fake_qp_ep(qp);

	if (!ep)
		return;
	iw_mpa_stream_down(ep, &fake_broken);
	iw_mpa_ep_put(ep);
}

/* Make the fake device and its QPs. Return 0 or -ENOMEM. */
int fake_rnic_init(struct fakes *f)
{
	int i;

	f->ibdev = kzalloc_obj(*f->ibdev, GFP_KERNEL);
	if (!f->ibdev)
		return -ENOMEM;
	f->drv = fake_driver;
	f->attr = fake_attr;
	f->ibdev->ops = iw_mpa_ib_device_ops;
	f->ibdev->ops.iw_get_qp = fake_get_qp;
	f->ibdev->ops.iw_add_ref = fake_qp_add_ref;
	f->ibdev->ops.iw_rem_ref = fake_qp_rem_ref;
	dev_set_drvdata(&f->ibdev->dev, f);
	for (i = 0; i < FAKE_QPS; i++) {
		f->qps[i].f = f;
		f->qps[i].refs = 1;
		f->qps[i].ib.device = f->ibdev;
		f->qps[i].ib.qp_num = i + 1;
	}
	return 0;
}

// SPDX-License-Identifier: GPL-2.0
/* Fill the receive queue of a QP's socket, see srnic_feed.h */

#include "srnic_feed.h"

#include <linux/bottom_half.h>
#include <linux/mm.h>
#include <linux/skbuff.h>
#include <linux/string.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "qp.h"

#define FEED_FRAGS	5	/* most fragments of a segment */
#define FEED_GARBAGE	0xbd

struct feed_world feed_world;

u32 feed_random(u32 below)
{
	return prandom_u32_state(&feed_world.rnd) % below;
}

u8 *feed_region(int i)
{
	return single.p->end[0].mem + i * FEED_REGION;
}

u8 *feed_recv(int i)
{
	return feed_region(FEED_REGIONS + i);
}

int feed_init(struct kunit *test)
{
	struct feed_world *w = &feed_world;
	int i;

	memset(w, 0, sizeof(*w));
	w->page = alloc_pages(GFP_KERNEL | __GFP_COMP, FEED_ORDER);
	KUNIT_ASSERT_NOT_NULL(test, w->page);
	if (single_init(test))
		return -ENOMEM;
	for (i = 0; i < FEED_REGIONS; i++)
		w->mr[i] = pair_reg(single.p, &single.p->pd, feed_region(i), FEED_BASE, FEED_REGION,
				    IB_ACCESS_REMOTE_WRITE);
	return 0;
}

/*
 * Keep srnic's sender from running: after a fault of the stream it would pass the QP's endpoint to
 * iw_mpa_stream_down(), and in these tests the QP has no endpoint.
 */
static void feed_silence_sender(struct srnic_qp *qp)
{
	mutex_lock(&qp->tx.lock);
	WRITE_ONCE(qp->tx.state, SRNIC_TX_CLOSED);
	mutex_unlock(&qp->tx.lock);
}

/* Give the QP a stream by prepare and attach, as iw_mpa does, with a receive window of 512 MiB. */
void feed_begin(struct kunit *test, bool crc, bool markers)
{
	const struct iw_mpa_params params = {
		.initiator = true, .crc = crc, .ird = PAIR_IRD, .ord = 1, .rx_markers = markers,
	};
	struct sock *sk = single.p->sock->sk;
	const struct iw_mpa_handoff ho = {
		.params = &params, .sock = single.p->sock, .rcv_nxt = tcp_sk(sk)->rcv_nxt,
	};
	struct feed_world *w = &feed_world;

	w->at = 0;
	w->o = (struct oracle) {
		.to = page_address(w->page), .size = FEED_STREAM, .crc = crc, .markers = markers,
		.mulpdu = oracle_mulpdu(1448, markers),
	};
	memset(single.p->end[0].mem, FEED_UNTOUCHED, FEED_USED);
	tcp_sk(sk)->rcv_wnd = 1 << 29;
	KUNIT_ASSERT_EQ(test, srnic_driver_ops.prepare(&single.qp->ibqp, &ho), 0);
	write_lock_bh(&sk->sk_callback_lock);
	w->user_data = sk->sk_user_data;
	w->data_ready = sk->sk_data_ready;
	w->write_space = sk->sk_write_space;
	w->stream = (struct iw_mpa_stream) {
		.qp = &single.qp->ibqp, .write_space = w->write_space,
	};
	sk->sk_user_data = &w->stream;
	srnic_driver_ops.attach(&single.qp->ibqp, sk, &w->stream);
	write_unlock_bh(&sk->sk_callback_lock);
	feed_silence_sender(single.qp);
}

/* End the stream as iw_mpa does: remove srnic's callbacks from the socket, then call stop. */
static void feed_stop(void)
{
	struct sock *sk = single.p->sock->sk;
	struct feed_world *w = &feed_world;

	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_user_data = w->user_data;
	sk->sk_data_ready = w->data_ready;
	sk->sk_write_space = w->write_space;
	w->stream.priv = NULL;
	write_unlock_bh(&sk->sk_callback_lock);
	srnic_driver_ops.stop(&single.qp->ibqp, IW_MPA_R_ULP_CLOSE);
	__skb_queue_purge(&sk->sk_receive_queue);
	tcp_sk(sk)->copied_seq = tcp_sk(sk)->rcv_nxt;
}

/* End the stream, and bring the QP to INIT, so that it can have another stream. */
void feed_end(struct kunit *test)
{
	struct ib_qp_attr init = { .qp_state = IB_QPS_INIT };
	struct ib_wc wc;

	feed_stop();
	KUNIT_ASSERT_EQ(test, srnic_modify_qp(&single.qp->ibqp, &init, IB_QP_STATE, NULL), 0);
	while (pair_poll(&single.p->end[0].rcq, &wc))
		;
}

void feed_exit(struct kunit *test)
{
	if (single.qp && feed_world.stream.priv)
		feed_stop();
	single_exit(test);
	if (feed_world.page)
		__free_pages(feed_world.page, FEED_ORDER);
}

/* --- TCP's receive queue --- */

static u32 feed_piece(const struct feed_cut *cut)
{
	u32 len = cut->piece ?: 1 + feed_random(feed_random(4) ? 40 : 1500);

	return min(len, cut->end - feed_world.at);
}

/*
 * Make an skb: @twice bytes of garbage, at positions of the stream that TCP has received before,
 * then the next bytes of the stream, some of these in the linear part if @head, the others in up to
 * @frags page fragments.
 */
static struct sk_buff *feed_buffer(struct kunit *test, const struct feed_cut *cut, u32 twice,
				   bool head, int frags)
{
	struct feed_world *w = &feed_world;
	u32 linear = head ? feed_piece(cut) : 0, n;
	struct sk_buff *skb = alloc_skb(twice + linear, GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, skb);
	memset(skb_put(skb, twice), FEED_GARBAGE, twice);
	skb_put_data(skb, w->o.to + w->at, linear);
	w->at += linear;
	for (i = 0; i < frags && w->at < cut->end; i++) {
		n = feed_piece(cut);
		get_page(w->page);
		skb_add_rx_frag(skb, i, w->page, w->at, n, n);
		w->at += n;
	}
	return skb;
}

static void feed_append(struct sk_buff *skb, struct sk_buff **last, struct sk_buff *part)
{
	if (*last)
		(*last)->next = part;
	else
		skb_shinfo(skb)->frag_list = part;
	*last = part;
	skb->len += part->len;
	skb->data_len += part->len;
	skb->truesize += part->truesize;
}

static struct sk_buff *feed_segment_of(struct kunit *test, const struct feed_cut *cut, u32 twice)
{
	struct sk_buff *skb, *last = NULL;
	enum feed_shape shape = cut->shape;
	int parts;

	if (shape == SHAPE_RANDOM)
		shape = feed_random(SHAPE_RANDOM);
	if (shape == SHAPE_LINEAR)
		return feed_buffer(test, cut, twice, true, 0);
	skb = feed_buffer(test, cut, twice, feed_world.at & 1, FEED_FRAGS);
	for (parts = 0; shape == SHAPE_LIST && parts < 3 && feed_world.at < cut->end; parts++)
		feed_append(skb, &last, feed_buffer(test, cut, 0, parts & 1, parts));
	return skb;
}

/* Put a segment into TCP's receive queue; its first @twice bytes repeat bytes that TCP has. */
void feed_queue(struct sk_buff *skb, u32 twice)
{
	struct sock *sk = single.p->sock->sk;
	struct tcp_sock *tp = tcp_sk(sk);

	TCP_SKB_CB(skb)->seq = tp->rcv_nxt - twice;
	tp->rcv_nxt += skb->len - twice;
	TCP_SKB_CB(skb)->end_seq = tp->rcv_nxt;
	__skb_queue_tail(&sk->sk_receive_queue, skb);
}

/*
 * Queue the bytes of the stream up to @cut->end, then call srnic's sk_data_ready once, as TCP does.
 */
void feed_arrive(struct kunit *test, const struct feed_cut *cut)
{
	struct sock *sk = single.p->sock->sk;

	while (feed_world.at < cut->end) {
		/*
		 * A peer may send bytes again that TCP has received, and that srnic's RX may have
		 * read.
		 */
		u32 twice = cut->shape == SHAPE_RANDOM ? feed_random(4) : 0;

		feed_queue(feed_segment_of(test, cut, twice), twice);
	}
	lock_sock(sk);
	local_bh_disable();
	sk->sk_data_ready(sk);
	local_bh_enable();
	release_sock(sk);
}

/* Return the error with which srnic has ended the stream, or SRNIC_ERR_NONE. */
enum srnic_err feed_err(void)
{
	return single.qp->fault.err;
}

// SPDX-License-Identifier: GPL-2.0
/* See srnic_pair_tcp.h. */

#include "srnic_pair_tcp.h"

#include <linux/delay.h>
#include <linux/mm.h>
#include <linux/net.h>
#include <linux/skbuff.h>
#include <net/sock.h>

#include "sq.h"
#include "../srnic/mem.h"	/* user mode Linux has a mem.h, too */
#include "tx.h"

struct pair_tcp pair_tcp;

/* As TCP, which calls write_space when it refuses octets and nothing is on its way */
int pair_kernel_sendpage_locked(struct sock *sk, struct page *page, int offset, size_t size,
				int flags)
{
	struct pair_end *e = pair_tcp.to;

	pair_tcp.calls++;
	pair_tcp.task_flags = current->flags;
	if (pair_tcp.err) {
		if (pair_tcp.err == -EAGAIN && sk_stream_memory_free(sk))
			srnic_tx_kick(e->qp);
		return pair_tcp.err;
	}
	memcpy(e->wire + e->wire_len, page_address(page) + offset, size);
	e->wire_len += size;
	return size;
}

/* A test's endpoint is a pointer and no more. */
struct iw_mpa_ep *pair_iw_mpa_ep_get(struct iw_mpa_ep *ep)
{
	return ep;
}

void pair_iw_mpa_ep_put(struct iw_mpa_ep *ep)
{
}

void pair_iw_mpa_close(struct iw_mpa_ep *ep)
{
	pair_tcp.closes++;
}

void pair_iw_mpa_disconnect(struct iw_mpa_ep *ep, bool abrupt)
{
	pair_tcp.disconnects++;
}

void pair_iw_mpa_stream_down(struct iw_mpa_ep *ep)
{
	pair_tcp.downs++;
}

void pair_iw_mpa_tx_finished(struct iw_mpa_ep *ep)
{
	pair_tcp.finishes++;
}

bool pair_skb_page_frag_refill(unsigned int sz, struct page_frag *frag, gfp_t gfp)
{
	if (!pair_tcp.piece)
		return skb_page_frag_refill(sz, frag, gfp);
	if (!pair_tcp.pieces)
		return false;
	pair_tcp.pieces--;
	if (frag->page)
		put_page(frag->page);
	frag->page = alloc_page(gfp);
	frag->offset = PAGE_SIZE - pair_tcp.piece;
	frag->size = PAGE_SIZE;
	return frag->page;
}

void pair_sk_clear_memalloc(struct sock *sk)
{
	if (pair_tcp.clear_memalloc)
		pair_tcp.clear_memalloc(sk);
	sk_clear_memalloc(sk);
}

#define PAIR_TCP_PATIENCE_MS	2000

/* A suite's init: end 0 sends, and what TCP takes comes to its wire. */
int pair_tcp_init(struct kunit *test)
{
	srnic_wq = alloc_workqueue("srnic_pair_tcp", WQ_MEM_RECLAIM | WQ_PERCPU, 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, srnic_wq);
	srnic_user_wq = alloc_ordered_workqueue("srnic_pair_tcp_user", WQ_MEM_RECLAIM);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, srnic_user_wq);
	if (pair_init(test))
		return -ENOMEM;
	pair_tcp = (struct pair_tcp) { .to = &((struct pair *)test->priv)->end[0] };
	return 0;
}

void pair_tcp_exit(struct kunit *test)
{
	struct pair *p = test->priv;
	int i;

	for (i = 0; p && i < 2; i++) {
		srnic_tx_stop(p->end[i].qp);
		/* It finds no stream, but needs the QP. */
		cancel_work_sync(&p->end[i].qp->tx.work);
	}
	pair_exit(test);
	pair_tcp = (struct pair_tcp) {};
	destroy_workqueue(srnic_user_wq);
	destroy_workqueue(srnic_wq);
	srnic_user_wq = NULL;
	srnic_wq = NULL;
}

/* A stream of the pair; end 0 may send. */
struct srnic_qp *pair_tcp_begin(struct kunit *test, const struct pair_opts *opts)
{
	struct pair *p = test->priv;

	pair_start(p, opts);
	srnic_tx_open(p->end[0].qp);
	return p->end[0].qp;
}

/* A Send of PAIR_TCP_LEN octets, and a receive for it */
void pair_tcp_post(struct kunit *test, u64 id)
{
	struct pair *p = test->priv;
	struct ib_sge sge = {
		.addr	= (uintptr_t)p->end[0].mem,
		.length	= PAIR_TCP_LEN,
		.lkey	= SRNIC_LOCAL_DMA_LKEY,
	};
	const struct ib_send_wr wr = {
		.wr_id = id, .opcode = IB_WR_SEND, .sg_list = &sge, .num_sge = 1,
		.send_flags = IB_SEND_SIGNALED,
	};

	pair_post_recv(&p->end[1], id, p->end[1].mem, PAIR_TCP_LEN);
	KUNIT_ASSERT_EQ(test, pair_post(&p->end[0], &wr), 0);
}

/* Does it come to that? */
bool pair_tcp_poll(const unsigned int *value, unsigned int want)
{
	int ms;

	for (ms = 0; ms < PAIR_TCP_PATIENCE_MS && READ_ONCE(*value) != want; ms += 20)
		msleep(20);
	return *value == want;
}

/* All that was posted arrives. */
void pair_tcp_expect_arrival(struct kunit *test, u64 id)
{
	struct pair *p = test->priv;

	pair_deliver(p, 0);
	pair_expect_wc(p, &p->end[1].rcq, id, IB_WC_SUCCESS);
	pair_expect_wc(p, &p->end[0].scq, id, IB_WC_SUCCESS);
	pair_expect_fault(p, 1, SRNIC_ERR_NONE);
}

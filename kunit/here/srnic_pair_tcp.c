// SPDX-License-Identifier: GPL-2.0
/* See srnic_pair_tcp.h. */

#include "srnic_pair_tcp.h"

#include <linux/bottom_half.h>
#include <linux/crc32c.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/net.h>
#include <linux/skbuff.h>
#include <linux/uio.h>
#include <net/sock.h>

#include "fpdu.h"
#include "sq.h"
#include "../srnic/mem.h"	/* with a path, since user mode Linux has a mem.h, too */
#include "tx.h"

struct pair_tcp pair_tcp;

/* Memory that srnic's sender has passed to the fake TCP, which keeps it until pair_tcp_acked() */
struct pair_kept {
	struct page	*page;	/* the page, with a reference */
	u32		offset;	/* offset of the memory in @page */
	u32		len;	/* its length in bytes */
	u32		sum;	/* CRC of its bytes when they were passed, to find later changes */
};

#define PAIR_TCP_KEPT	512

static struct pair_kept pair_kept[PAIR_TCP_KEPT];
static unsigned int pair_nkept;

/* Make TCP's send buffer full: srnic's sender then sends nothing until TCP calls write_space. */
static void tcp_is_full(struct sock *sk)
{
	sk->sk_wmem_queued = sk->sk_sndbuf;
}

/*
 * Return the error with which the fake TCP refuses bytes, or 0. If that is -EAGAIN while the send
 * buffer is not full, queue the sender's work item, as a call of write_space by TCP would.
 */
static int tcp_refuses(struct sock *sk, int flags)
{
	/*
	 * MSG_NO_SHARED_FRAGS means that srnic's sender does not write to pages while TCP has them:
	 * pair_tcp_acked() checks that.
	 */
	WARN_ON_ONCE(!(flags & MSG_NO_SHARED_FRAGS));
	pair_tcp.calls++;
	pair_tcp.task_flags = current->flags;
	if (pair_tcp.asked)
		pair_tcp.asked();
	if (pair_tcp.limited && !pair_tcp.room) {
		tcp_is_full(sk);
		return -EAGAIN;
	}
	if (pair_tcp.err == -EAGAIN && sk_stream_memory_free(sk))
		srnic_tx_kick(pair_tcp.to->qp);
	return pair_tcp.err;
}

static void tcp_keep(struct page *page, u32 offset, u32 len)
{
	if (!pair_tcp.keeps || WARN_ON_ONCE(pair_nkept == PAIR_TCP_KEPT))
		return;
	get_page(page);
	pair_kept[pair_nkept++] = (struct pair_kept) {
		.page = page, .offset = offset, .len = len,
		.sum = crc32c(0, page_address(page) + offset, len),
	};
}

/* Accept @len bytes of @page, or as many as pair_tcp.room allows; return their number */
static int tcp_take(struct sock *sk, struct page *page, u32 offset, u32 len)
{
	struct pair_end *e = pair_tcp.to;

	if (pair_tcp.limited) {
		len = min(len, pair_tcp.room);
		pair_tcp.room -= len;
		if (!pair_tcp.room)
			tcp_is_full(sk);
	}
	if (e && !WARN_ON_ONCE(e->wire_len + len > PAIR_WIRE)) {
		memcpy(e->wire + e->wire_len, page_address(page) + offset, len);
		e->wire_len += len;
	}
	tcp_keep(page, offset, len);
	pair_tcp.taken += len;
	return len;
}

/* On kernels before Linux 6.5 srnic's sender calls this in place of kernel_sendpage_locked(). */
int pair_kernel_sendpage_locked(struct sock *sk, struct page *page, int offset, size_t size,
				int flags)
{
	return tcp_refuses(sk, flags) ?: tcp_take(sk, page, offset, size);
}

/* On kernels since Linux 6.5 srnic's sender calls this in place of tcp_sendmsg_locked(). */
int pair_tcp_sendmsg_locked(struct sock *sk, struct msghdr *msg, size_t size)
{
	struct iov_iter *iter = &msg->msg_iter;
	int err = tcp_refuses(sk, msg->msg_flags), sent = 0;

	if (err)
		return err;
	while (sent < size) {
		const struct bio_vec *bv = iter->bvec;
		u32 skip = iter->iov_offset;
		u32 len = min_t(u32, size - sent, bv->bv_len - skip);
		u32 n = tcp_take(sk, bv->bv_page, bv->bv_offset + skip, len);

		iov_iter_advance(iter, n);
		sent += n;
		if (n < len)
			break;
	}
	return sent;
}

/*
 * As if the peer had acknowledged all bytes: drop the pages that the fake TCP kept, and check that
 * their bytes have not changed, since TCP might have had to send them again.
 */
void pair_tcp_acked(struct kunit *test)
{
	while (pair_nkept) {
		struct pair_kept *kept = &pair_kept[--pair_nkept];
		const u8 *bytes = page_address(kept->page) + kept->offset;

		KUNIT_EXPECT_EQ(test, crc32c(0, bytes, kept->len), kept->sum);
		put_page(kept->page);
	}
}

/* These suites have no endpoint of iw_mpa, so @ep may be any pointer, and is not dereferenced. */
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

void pair_iw_mpa_stream_down(struct iw_mpa_ep *ep, const struct iw_mpa_fault *fault)
{
	pair_tcp.fault = *fault;
	pair_tcp.downs++;
}

void pair_iw_mpa_tx_finished(struct iw_mpa_ep *ep)
{
	pair_tcp.finishes++;
}

bool pair_skb_page_frag_refill(unsigned int sz, struct page_frag *frag, gfp_t gfp)
{
	unsigned int order = pair_tcp.whole ? SKB_FRAG_PAGE_ORDER : 0;

	/*
	 * The real skb_page_frag_refill() may sleep, so srnic's sender must not call it while it
	 * holds a memory region, with softirqs off. User mode Linux has no DEBUG_ATOMIC_SLEEP to
	 * detect that.
	 */
	WARN_ON(softirq_count());
	if (pair_tcp.wants_page)
		pair_tcp.wants_page();
	if (!pair_tcp.piece)
		return skb_page_frag_refill(sz, frag, gfp);
	if (frag->page && frag->offset + sz <= frag->size)
		return true;
	if (frag->page)
		put_page(frag->page);
	frag->page = NULL;
	if (!pair_tcp.pieces)
		return false;
	pair_tcp.pieces--;
	frag->page = alloc_pages(gfp | __GFP_COMP, order);
	if (!frag->page)
		return false;
	frag->size = PAGE_SIZE << order;
	frag->offset = frag->size - pair_tcp.piece;
	/* Tests find 0xa5 on the wire if srnic's sender sends bytes that it did not write. */
	memset(page_address(frag->page), 0xa5, frag->size);
	return true;
}

#define PAIR_TCP_PATIENCE_MS	2000

/* The init function of suites: end 0 sends, and the fake TCP puts the bytes on end 0's wire. */
int pair_tcp_init(struct kunit *test)
{
	srnic_wq = alloc_workqueue("srnic_pair_tcp", WQ_MEM_RECLAIM | WQ_PERCPU, 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, srnic_wq);
	srnic_user_wq = alloc_ordered_workqueue("srnic_pair_tcp_user", WQ_MEM_RECLAIM);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, srnic_user_wq);
	if (pair_init(test))
		return -ENOMEM;
	pair_nkept = 0;
	pair_tcp = (struct pair_tcp) { .to = &((struct pair *)test->priv)->end[0] };
	return 0;
}

void pair_tcp_exit(struct kunit *test)
{
	struct pair *p = test->priv;
	int i;

	pair_tcp.asked = NULL;
	pair_tcp.wants_page = NULL;
	for (i = 0; p && i < 2; i++) {
		srnic_tx_stop(p->end[i].qp);
		/* The sender's work item may be queued, and must not run after the QP is freed. */
		cancel_work_sync(&p->end[i].qp->tx.work);
	}
	pair_tcp_acked(test);
	if (p)
		p->sock->sk->sk_wmem_queued = 0;
	pair_exit(test);
	pair_tcp = (struct pair_tcp) {};
	destroy_workqueue(srnic_user_wq);
	destroy_workqueue(srnic_wq);
	srnic_user_wq = NULL;
	srnic_wq = NULL;
}

/* Begin a stream between both ends, and call open_tx() for end 0, whose sender may send then. */
struct srnic_qp *pair_tcp_begin(struct kunit *test, const struct pair_opts *opts)
{
	struct pair *p = test->priv;

	pair_start(p, opts);
	srnic_tx_open(&p->end[0].qp->ibqp);
	return p->end[0].qp;
}

/* Post a Send of PAIR_TCP_LEN bytes at end 0 and a receive at end 1, both with the wr_id @id */
void pair_tcp_post(struct kunit *test, u64 id)
{
	struct pair *p = test->priv;
	struct ib_sge sge = pair_sge(p->end[0].mem, PAIR_TCP_LEN);
	const struct ib_send_wr wr = {
		.wr_id = id, .opcode = IB_WR_SEND, .sg_list = &sge, .num_sge = 1,
		.send_flags = IB_SEND_SIGNALED,
	};

	pair_post_recv(&p->end[1], id, p->end[1].mem, PAIR_TCP_LEN);
	KUNIT_ASSERT_EQ(test, pair_post(&p->end[0], &wr), 0);
}

/* Queue the sender's work item, as a post does, and wait until it is not queued any more */
void pair_tcp_run(struct srnic_qp *qp)
{
	srnic_tx_kick(qp);
	while (flush_work(&qp->tx.work))
		;
}

/* Pass the bytes that end 1 has sent to RX of end 0, and run end 0's sender if RX asks for that. */
void pair_tcp_arrive(struct pair *p)
{
	if (pair_deliver(p, 1))
		pair_tcp_run(p->end[0].qp);
}

/* Give TCP room for @len bytes, U32_MAX for any number, and run srnic's sender like write_space */
void pair_tcp_give_room(struct pair *p, u32 len)
{
	pair_tcp.limited = len != U32_MAX;
	pair_tcp.room = len;
	p->sock->sk->sk_wmem_queued = 0;
	pair_tcp_run(p->end[0].qp);
}

/*
 * From now on the fake page allocator has just @pieces page fragments, each of @piece bytes, which
 * is a multiple of 4 as in the kernel. Fragments that srnic has cached for each CPU are dropped.
 */
void pair_tcp_pages(unsigned int piece, unsigned int pieces)
{
	srnic_frag_exit();
	pair_tcp.piece = piece;
	pair_tcp.pieces = pieces;
}

#define PAIR_TCP_STEPS	20

/*
 * Advance jiffies by @ms milliseconds without waiting, in steps, and run the timers that are due
 * after each step. There is only one CPU, so no other CPU writes jiffies.
 */
void pair_tcp_pass(unsigned int ms)
{
	unsigned long step = msecs_to_jiffies(ms) / PAIR_TCP_STEPS + 1;
	unsigned long end = jiffies + msecs_to_jiffies(ms);
	unsigned long flags;

	while (time_before(jiffies, end)) {
		local_irq_save(flags);
		jiffies_64 += min(step, end - jiffies) - 1;	/* one tick passes below */
		local_irq_restore(flags);
		schedule_timeout_uninterruptible(1);
		flush_workqueue(srnic_wq);
		flush_workqueue(srnic_user_wq);
	}
}

/* Wait until another context sets *@value to @want. Return false if that takes too long. */
bool pair_tcp_poll(const unsigned int *value, unsigned int want)
{
	int ms;

	for (ms = 0; ms < PAIR_TCP_PATIENCE_MS && READ_ONCE(*value) != want; ms += 20)
		msleep(20);
	return *value == want;
}

/* Deliver all bytes of end 0 to end 1, and expect that the Send @id completes at both ends. */
void pair_tcp_expect_arrival(struct kunit *test, u64 id)
{
	struct pair *p = test->priv;

	pair_deliver(p, 0);
	pair_expect_wc(p, &p->end[1].rcq, id, IB_WC_SUCCESS);
	pair_expect_wc(p, &p->end[0].scq, id, IB_WC_SUCCESS);
	pair_expect_fault(p, 1, SRNIC_ERR_NONE);
}

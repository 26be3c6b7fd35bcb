// SPDX-License-Identifier: GPL-2.0
/* Two QPs that are connected by memory, see srnic_pair.h */

#include "srnic_pair.h"

#include <linux/net.h>
#include <linux/slab.h>
#include <net/tcp.h>

#include "cursor.h"
#include "fpdu.h"
#include "sq.h"
#include "rq.h"
#include "rx.h"
#include "tx.h"
#include "../srnic/mem.h"	/* srnic's, by its path: user mode Linux has a mem.h, too */

static void pair_cq_init(struct pair *p, struct srnic_cq *cq)
{
	srnic_cq_setup(cq);
	cq->size = PAIR_CQES;
	cq->kring = kunit_kcalloc(p->test, PAIR_CQES, sizeof(*cq->kring), GFP_KERNEL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(p->test, cq->kring);
}

static void pair_qp_init(struct pair *p, struct pair_end *e, u32 qpn)
{
	struct kunit *test = p->test;
	struct srnic_qp *qp;

	qp = kunit_kzalloc(test, sizeof(*qp), GFP_KERNEL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, qp);
	e->qp = qp;
	qp->dev = p->dev;
	qp->ibqp.pd = &p->pd;
	qp->ibqp.qp_num = qpn;
	spin_lock_init(&qp->lock);
	spin_lock_init(&qp->sq.lock);
	spin_lock_init(&qp->rq.lock);
	srnic_rx_setup(qp);
	srnic_tx_setup(qp);
	qp->cap.max_send_sge = SRNIC_MAX_SGE;
	qp->cap.max_recv_sge = SRNIC_MAX_SGE;
	qp->sq.size = PAIR_WRS;
	qp->sq.wqe_size = srnic_wqe_size(SRNIC_MAX_SEND_SGE);
	qp->sq.ring = kunit_kcalloc(test, PAIR_WRS, qp->sq.wqe_size, GFP_KERNEL);
	qp->rq.size = PAIR_WRS;
	qp->rq.kring = kunit_kcalloc(test, PAIR_WRS, sizeof(*qp->rq.kring), GFP_KERNEL);
	e->mem = kunit_kzalloc(test, PAIR_MEM, GFP_KERNEL);
	e->wire = kunit_kzalloc(test, PAIR_WIRE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, qp->sq.ring);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, qp->rq.kring);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, e->mem);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, e->wire);
	pair_cq_init(p, &e->scq);
	pair_cq_init(p, &e->rcq);
	qp->scq = &e->scq;
	qp->rcq = &e->rcq;
}

int pair_init(struct kunit *test)
{
	struct pair *p = kunit_kzalloc(test, sizeof(*p), GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, p);
	test->priv = p;
	p->test = test;
	p->dev = kunit_kzalloc(test, sizeof(*p->dev), GFP_KERNEL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, p->dev);
	xa_init(&p->dev->mrs);
	p->dev->stats = alloc_percpu(struct srnic_stats);
	KUNIT_ASSERT_TRUE(test, !!p->dev->stats);
	KUNIT_ASSERT_EQ(test, sock_create_kern(&init_net, AF_INET, SOCK_STREAM, IPPROTO_TCP,
					       &p->sock), 0);
	for (i = 0; i < 2; i++)
		pair_qp_init(p, &p->end[i], i + 1);
	return 0;
}

void pair_exit(struct kunit *test)
{
	struct pair *p = test->priv;
	struct srnic_mr *mr;
	unsigned long index;
	int i;

	for (i = 0; i < 2; i++) {
		srnic_batch_reset(&p->end[i].qp->tx.batch);
		srnic_irq_free(&p->end[i].qp->irq);
	}
	xa_for_each(&p->dev->mrs, index, mr) {
		srnic_stag_remove(p->dev, mr);
		kfree(mr->map[0]);
		kfree(mr->map[1]);
		kfree(mr);
	}
	xa_destroy(&p->dev->mrs);
	free_percpu(p->dev->stats);
	sock_release(p->sock);
	srnic_frag_exit();
}

/* Bring both QPs to the state after prepare and first FPDU, without iw_mpa and memory reserves. */
void pair_start(struct pair *p, const struct pair_opts *opts)
{
	int i;

	tcp_sk(p->sock->sk)->mss_cache = opts->emss;
	p->portion = opts->portion;
	for (i = 0; i < 2; i++) {
		const struct iw_mpa_params params = {
			.crc		= opts->crc,
			.ird		= PAIR_IRD,
			.ord		= opts->ord,
			.tx_markers	= opts->markers[i],
			.rx_markers	= opts->markers[!i],
		};
		const struct iw_mpa_handoff ho = { .params = &params, .sock = p->sock };
		struct srnic_qp *qp = p->end[i].qp;

		KUNIT_ASSERT_EQ(p->test, srnic_irq_alloc(&qp->irq, PAIR_IRD), 0);
		qp->params = params;
		srnic_rx_start(qp, &ho);
		qp->rx.first = false;
		srnic_tx_start(qp, p->sock);
		qp->state = SRNIC_RTS;
	}
}

struct srnic_mr *pair_fast(struct pair *p, void *va, u64 size, u32 access)
{
	struct srnic_mr *mr = kzalloc_obj(*mr, GFP_KERNEL);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(p->test, mr);
	rwlock_init(&mr->lock);
	spin_lock_init(&mr->gate);
	mr->kind = SRNIC_MR_FAST;
	mr->ibmr.pd = &p->pd;
	mr->max_extents = 1;
	mr->map[0] = kzalloc_obj(*mr->map[0], GFP_KERNEL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(p->test, mr->map[0]);
	mr->map[0][0] = (struct srnic_extent) { .va = va, .end = size };
	mr->extents[0] = 1;
	mr->base = (uintptr_t)va;
	mr->size = size;
	mr->access = access;
	KUNIT_ASSERT_EQ(p->test, srnic_stag_add(p->dev, mr), 0);
	return mr;
}

/* Execute a REG_MR that was posted after the region's last ib_map_mr_sg(). */
int pair_register(struct pair *p, const struct ib_pd *pd, u32 stag, u64 base, u64 size, u32 access)
{
	const struct srnic_mr *mr = xa_load(&p->dev->mrs, stag >> 8);

	return srnic_stag_register(p->dev, pd, stag, base, size, access, mr ? mr->mapping : 0);
}

/* Make a valid region of @pd, of @size bytes at @va; peers address its first byte by @base. */
struct srnic_mr *pair_reg(struct pair *p, struct ib_pd *pd, void *va, u64 base, u64 size,
			  u32 access)
{
	struct srnic_mr *mr = pair_fast(p, va, size, access);

	mr->ibmr.pd = pd;
	mr->base = base;
	mr->valid = true;
	return mr;
}

/* Return an SGE for memory of the kernel, with the lkey that needs no region. */
struct ib_sge pair_sge(const void *va, u32 len)
{
	return (struct ib_sge) {
		.addr = (uintptr_t)va, .length = len, .lkey = SRNIC_LOCAL_DMA_LKEY,
	};
}

int pair_post(struct pair_end *e, const struct ib_send_wr *wr)
{
	const struct ib_send_wr *bad;

	return srnic_sq_post(e->qp, wr, &bad);
}

/* Post a signaled Write or Read with the SGE @sge or none; @addr and @rkey: the peer's memory */
void pair_post_rdma(struct pair *p, int end, u64 id, enum ib_wr_opcode opcode, struct ib_sge *sge,
		    u64 addr, u32 rkey)
{
	const struct ib_rdma_wr wr = {
		.wr = {
			.wr_id = id, .opcode = opcode, .sg_list = sge, .num_sge = !!sge,
			.send_flags = IB_SEND_SIGNALED,
		},
		.remote_addr = addr,
		.rkey = rkey,
	};

	KUNIT_ASSERT_EQ(p->test, pair_post(&p->end[end], &wr.wr), 0);
}

void pair_post_recv(struct pair_end *e, u64 id, void *va, u32 len)
{
	struct ib_sge sge = pair_sge(va, len);
	const struct ib_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 }, *bad;

	WARN_ON(srnic_rq_post(&e->qp->rq, &wr, SRNIC_MAX_SGE, &bad));
}

/* Take the bytes that the sender has prepared for TCP (its batch), and put them on the wire. */
void pair_push(struct pair *p, struct pair_end *e)
{
	struct srnic_batch *batch = &e->qp->tx.batch;
	u32 left = batch->len;
	int i;

	for (i = 0; i < batch->nbv && left; i++) {
		const struct bio_vec *bv = &batch->bv[i];
		u32 n = min(bv->bv_len, left);

		KUNIT_ASSERT_LE(p->test, e->wire_len + n, (u32)PAIR_WIRE);
		memcpy(e->wire + e->wire_len, page_address(bv->bv_page) + bv->bv_offset, n);
		e->wire_len += n;
		left -= n;
	}
	srnic_batch_reset(batch);
}

/*
 * Let the sender of p->end[@from] make one batch of bytes for TCP, and append them to the buffer
 * p->end[@from].wire. Return 0 if the sender had nothing to send.
 */
int pair_send_batch(struct pair *p, int from)
{
	struct pair_end *e = &p->end[from];
	struct srnic_upcalls up = {};
	int steps = srnic_send_fill(e->qp);

	KUNIT_ASSERT_GE(p->test, steps, 0);
	pair_push(p, e);
	srnic_sq_sent(e->qp, &up);
	return steps;
}

/* Send until there is nothing to send, or the stream has failed */
void pair_send(struct pair *p, int from)
{
	while (pair_send_batch(p, from) && p->end[from].qp->state == SRNIC_RTS)
		;
}

static u32 pair_take(struct pair *p, int from, u32 avail, struct srnic_upcalls *up)
{
	struct pair_end *e = &p->end[from];
	struct srnic_qp *to = p->end[!from].qp;
	struct srnic_cursor cur = { .markers = to->params.rx_markers, .pos = e->wire_pos };
	u32 used;

	srnic_cursor_at_memory(&cur, e->wire, avail);
	used = srnic_rx_take(to, &cur, avail, U32_MAX, up);
	memmove(e->wire, e->wire + used, e->wire_len - used);
	e->wire_len -= used;
	e->wire_pos += used;
	return used;
}

/* Call RX of the other end once, with the first @len bytes on the wire of end @from. */
void pair_deliver_some(struct pair *p, int from, u32 len)
{
	struct srnic_upcalls up = {};

	KUNIT_ASSERT_LE(p->test, len, p->end[from].wire_len);
	pair_take(p, from, len, &up);
}

/*
 * Pass the bytes in p->end[@from].wire to RX of the other end. Each call of RX gets the bytes that
 * the call before has left, and p->portion (0: all) more. If RX finds an error the rest of the
 * bytes is dropped. Return true if RX has asked for a run of the sender of its own QP.
 */
bool pair_deliver(struct pair *p, int from)
{
	struct pair_end *e = &p->end[from];
	struct srnic_qp *to = p->end[!from].qp;
	struct srnic_upcalls up = {};
	u32 there = 0;

	while (e->wire_len && to->state < SRNIC_TERMINATE) {
		there = p->portion ? min(there + p->portion, e->wire_len) : e->wire_len;
		there -= pair_take(p, from, there, &up);
		if (there == e->wire_len)
			break;
	}
	if (to->state >= SRNIC_TERMINATE)
		e->wire_len = 0;
	return up.kick;
}

void pair_run(struct pair *p)
{
	int rounds;

	for (rounds = 0; rounds < 100; rounds++) {
		pair_send(p, 0);
		pair_deliver(p, 0);
		pair_send(p, 1);
		if (!p->end[1].wire_len)
			return;
		pair_deliver(p, 1);
	}
	KUNIT_FAIL(p->test, "it does not come to rest");
}

/* Put an FPDU with the ULPDU @ulpdu on the wire of end @from, as a malicious peer could. */
void pair_put_ulpdu(struct pair *p, int from, const void *ulpdu, u16 len)
{
	struct pair_end *e = &p->end[from];
	const u8 head[SRNIC_FPDU_HEAD] = { len >> 8, len };
	struct srnic_writer w;

	srnic_writer_open(&w, e->qp, len, SRNIC_BATCH_BYTES);
	KUNIT_ASSERT_EQ(p->test, srnic_fpdu_begin(&w, head, 2), 0);
	KUNIT_ASSERT_EQ(p->test, srnic_fpdu_put(&w, ulpdu, len), 0);
	KUNIT_ASSERT_EQ(p->test, srnic_fpdu_end(&w, len), 0);
	srnic_writer_close(&w, &e->qp->tx);
	pair_push(p, e);
}

int pair_poll(struct srnic_cq *cq, struct ib_wc *wc)
{
	return srnic_poll_cq(&cq->ibcq, 1, wc);
}

void pair_expect_wc(struct pair *p, struct srnic_cq *cq, u64 id, enum ib_wc_status status)
{
	struct ib_wc wc = {};

	KUNIT_ASSERT_EQ(p->test, pair_poll(cq, &wc), 1);
	KUNIT_EXPECT_EQ(p->test, wc.wr_id, id);
	KUNIT_EXPECT_EQ(p->test, wc.status, status);
}

void pair_expect_no_wc(struct pair *p, struct srnic_cq *cq)
{
	struct ib_wc wc;

	KUNIT_EXPECT_EQ(p->test, pair_poll(cq, &wc), 0);
}

void pair_expect_fault(struct pair *p, int end, enum srnic_err err)
{
	struct srnic_qp *qp = p->end[end].qp;

	KUNIT_EXPECT_STREQ(p->test, srnic_errs[qp->fault.err].name, srnic_errs[err].name);
	KUNIT_EXPECT_EQ(p->test, qp->state == SRNIC_TERMINATE, !!err);
}

/* Make the QP an application's, whose queues are rings that the test writes to. */
void pair_rings(struct pair *p, struct pair_end *e)
{
	struct srnic_qp *qp = e->qp;

	qp->user = true;
	qp->sq.uring = kunit_kcalloc(p->test, PAIR_WRS, sizeof(*qp->sq.uring), GFP_KERNEL);
	qp->rq.uring = kunit_kcalloc(p->test, PAIR_WRS, sizeof(*qp->rq.uring), GFP_KERNEL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(p->test, qp->sq.uring);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(p->test, qp->rq.uring);
}

/* Post @sqe like an application, without a doorbell; @n elements were posted before. */
void pair_post_user(struct pair_end *e, u32 n, const struct siw_sqe *sqe)
{
	struct siw_sqe *slot = &e->qp->sq.uring[n % PAIR_WRS];

	*slot = *sqe;
	/* Write the flags last, as applications do: the element is valid then */
	smp_store_release(&slot->flags, sqe->flags | SIW_WQE_VALID);
}

/* Begin a stream in which end 0 is an application's QP */
struct pair_end *pair_user(struct pair *p, const struct pair_opts *opts)
{
	struct pair_end *e = &p->end[0];

	pair_start(p, opts);
	pair_rings(p, e);
	return e;
}

/*
 * Make @cq an application's CQ: from now on srnic writes completions to a ring of PAIR_CQES
 * elements, like one that it shares with an application, and *@word arms the CQ. Return the ring.
 */
struct siw_cqe *pair_user_cq(struct kunit *test, struct srnic_cq *cq, u32 *word)
{
	cq->uring = kunit_kcalloc(test, PAIR_CQES, sizeof(*cq->uring), GFP_KERNEL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, cq->uring);
	cq->notify = word;
	return cq->uring;
}

/* Return the sum of a counter over all CPUs; it counts for both ends */
u64 pair_count(const struct pair *p, enum srnic_counter counter)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += per_cpu_ptr(p->dev->stats, cpu)->counter[counter];
	return sum;
}

u64 pair_count_err(const struct pair *p, enum srnic_err err)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += per_cpu_ptr(p->dev->stats, cpu)->err[err];
	return sum;
}

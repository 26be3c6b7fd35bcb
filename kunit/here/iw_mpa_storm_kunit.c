// SPDX-License-Identifier: GPL-2.0
/*
 * The ULP, the driver and the peer of a connection act at random. The message of a failure has the
 * number of the sequence of actions. This number seeds all random numbers, so the sequence can be
 * run again.
 */

#include "iw_mpa_fakes.h"

#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/prandom.h>

#define STORMS		48
#define STEPS		7	/* most steps of the peer, and of ULP and driver together */

/* One random sequence of actions */
struct storm {
	struct fakes		*f;	/* the fakes of iw_cm, the driver and the peer */
	int			seed;	/* seed of the random numbers */
	struct fake_conn	*c;
	/*
	 * if iw_mpa is the responder: the cm_id of the CONNECT_REQUEST, once that was raised; else
	 * NULL
	 */
	struct fake_id		*child;
	struct completion	done;	/* completed when the peer has done all its actions */
};

static u32 below(struct rnd_state *rnd, u32 limit)
{
	return prandom_u32_state(rnd) % limit;
}

static void pause_a_little(struct rnd_state *rnd)
{
	if (below(rnd, 2))
		schedule_timeout_uninterruptible(1 + below(rnd, 4));
}

/* Send as the peer, without waiting. Errors are ignored: the connection may have ended. */
static void storm_send(struct socket *sock, const void *buf, size_t len)
{
	struct kvec iov = { .iov_base = (void *)buf, .iov_len = len };
	struct msghdr msg = { .msg_flags = MSG_NOSIGNAL | MSG_DONTWAIT };

	kernel_sendmsg(sock, &msg, &iov, 1, len);
}

static void storm_drain(struct socket *sock)
{
	struct msghdr msg = {};
	struct kvec iov;
	u8 buf[64];

	do {
		iov = (struct kvec) { .iov_base = buf, .iov_len = sizeof(buf) };
	} while (kernel_recvmsg(sock, &msg, &iov, 1, sizeof(buf), MSG_DONTWAIT) > 0);
}

static void storm_make_frame(struct storm *s, struct rnd_state *rnd, struct peer_frame *frame,
			     bool reply)
{
	u16 a = below(rnd, 3) ? MPA_A : 0;
	u8 flags = MPA_C | (reply && !below(rnd, 6) ? MPA_R : 0);

	switch (below(rnd, 8)) {
	case 0:
		peer_make(frame, reply, flags, 1, "one", 3);
		break;
	case 1:
		peer_make(frame, !reply, flags, 1, NULL, 0);
		break;
	default:
		peer_make_v2(frame, reply, flags, a | below(rnd, 9), MPA_CW | below(rnd, 4),
			     "two", 3);
	}
	if (!below(rnd, 5))
		frame->len = 1 + below(rnd, frame->len);
}

/* The peer: it sends a startup frame, FPDUs, FIN and RST at random, even against the protocol. */
static int storm_peer(void *data)
{
	struct storm *s = data;
	struct socket *sock = s->c->peer;
	struct peer_frame *frame = &s->c->frame;
	struct rnd_state rnd;
	u8 fpdu[IW_MPA_FPDU_MAX];
	size_t len;
	int i, steps;

	prandom_seed_state(&rnd, 2 * s->seed + 1);
	storm_make_frame(s, &rnd, frame, !s->c->lis);
	if (below(&rnd, 12))
		storm_send(sock, frame->buf, frame->len);
	steps = below(&rnd, STEPS);
	for (i = 0; i < steps; i++) {
		pause_a_little(&rnd);
		len = peer_make_rtr_write(fpdu);
		switch (below(&rnd, 8)) {
		case 0:
			fpdu[3] ^= 1;
			fallthrough;
		case 1:
		case 2:
			storm_send(sock, fpdu, len);
			break;
		case 3:
			storm_send(sock, fpdu, 1 + below(&rnd, len));
			break;
		case 4:
			peer_fin(sock);
			break;
		case 5:
			storm_drain(sock);
			break;
		default:
			break;
		}
	}
	if (below(&rnd, 2))
		peer_rst(s->f, sock);
	else
		peer_fin(sock);
	complete(&s->done);
	return 0;
}

/* One random action of the ULP or of the driver, within the rules of rdma_cm and iw_cm */
static void storm_ulp_step(struct storm *s, struct rnd_state *rnd, struct fake_id *fid)
{
	struct fake_qp *qp = &s->f->qps[below(rnd, FAKE_QPS)];

	switch (below(rnd, 9)) {
	case 0:
	case 1:
	case 2:
		s->c->param.qpn = 1 + below(rnd, FAKE_QPS);
		if (s->child)
			fake_try_accept(fid, &s->c->param);
		break;
	case 3:
		if (s->child)
			fake_try_reject(fid);
		break;
	case 4:
		fake_disconnect(fid);
		break;
	case 5:
		fake_qp_disconnect(qp, true);
		break;
	case 6:
		fake_qp_gone(qp);
		break;
	case 7:
		fake_qp_tx_finished(qp);
		break;
	default:
		fake_qp_stream_down(qp);
	}
}

static void storm_ulp(struct storm *s, struct rnd_state *rnd)
{
	int i, steps = 1 + below(rnd, STEPS);
	struct fake_id *fid;

	for (i = 0; i < steps; i++) {
		pause_a_little(rnd);
		if (s->c->lis && !s->child)
			s->child = fake_try_request(s->c->lis);
		fid = s->child ?: s->c->fid;
		if (fid)
			storm_ulp_step(s, rnd, fid);
		else if (!below(rnd, 8))
			fake_destroy(s->c->lis);
		if (s->c->lis && s->c->lis->destroyed)
			break;
	}
}

/* Set random timeouts of iw_mpa, and random failures and delays of the driver's ops. */
static void storm_set_up(struct storm *s, struct rnd_state *rnd)
{
	struct iw_mpa_config *config = s->f->config;
	unsigned int ms[] = { 20, 60, 20000 };
	int i;

	config->verdict_timeout_ms = ms[below(rnd, 3)];
	config->rtr_timeout_ms = ms[below(rnd, 3)];
	config->reply_timeout_ms = ms[below(rnd, 3)];
	config->request_timeout_ms = ms[below(rnd, 3)];
	config->linger_timeout_ms = ms[below(rnd, 2)];
	config->rtr_repeat_ms = below(rnd, 3) * 10;
	config->fence = below(rnd, 3);
	config->v1_fallback = below(rnd, 2);
	config->log = 0;
	for (i = 0; i < FAKE_QPS; i++) {
		struct fake_qp *qp = &s->f->qps[i];

		memset(qp->fail, 0, sizeof(qp->fail));
		memset(qp->nap, 0, sizeof(qp->nap));
		qp->log[0] = '\0';
		qp->stop_rx = false;
		qp->rx_have = 0;
		qp->slow_finish = below(rnd, 2);
		qp->closes = below(rnd, 2);
		if (!below(rnd, 3))
			qp->fail[below(rnd, FAKE_OPS)] = -ENOBUFS;
		qp->nap[below(rnd, FAKE_OPS)] = below(rnd, 4);
	}
}

static void storm_begin(struct storm *s, struct rnd_state *rnd)
{
	if (below(rnd, 5) < 3) {
		conn_listen(s->c);
		s->c->lis->fail_events = below(rnd, 4) ? 0 : 3;
		s->c->peer = peer_connect(s->f, s->c->lis);
		return;
	}
	conn_dial(s->c);
	s->c->fid->fail_events = below(rnd, 6) ? 0 : 1;
}

/* Destroy listener, QPs and cm_ids, as the RDMA core does; no endpoint or reference may be left. */
static void storm_end(struct storm *s)
{
	struct fakes *f = s->f;
	struct fake_id *fid;
	int i;

	wait_for_completion(&s->done);
	if (s->c->lis && !s->c->lis->destroyed)
		fake_destroy(s->c->lis);
	for (i = 0; i < FAKE_QPS; i++)
		fake_qp_gone(&f->qps[i]);
	list_for_each_entry(fid, &f->ids, node) {
		FAKE_WAIT(f, READ_ONCE(fid->state) != FAKE_CONN_SENT);
		if (!fid->destroyed)
			fake_destroy(fid);
	}
	FAKE_POLL(f, fakes_has_no_endpoint());
	for (i = 0; i < FAKE_QPS; i++)
		KUNIT_EXPECT_EQ_MSG(f->test, f->qps[i].refs, 1, "sequence %d, QP %d", s->seed,
				    i + 1);
	KUNIT_ASSERT_EQ_MSG(f->test, f->nr_faults, 0, "sequence %d: %s", s->seed, f->faults[0]);
	for (i = 0; i < f->nr_socks; i++)
		if (f->socks[i])
			sock_release(f->socks[i]);
	f->nr_socks = 0;
}

static void storm_any_sequence_is_borne(struct kunit *test)
{
	struct storm *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);
	struct fakes *f = test->priv;
	struct rnd_state rnd;

	KUNIT_ASSERT_NOT_NULL(test, s);
	fake_have_finish_tx(f);
	fake_have_repeat_rtr(f);
	fake_set_caps(f, f->attr.caps | IW_MPA_CAP_EARLY_RX);
	s->f = f;
	s->c = conn_new(test);
	for (s->seed = 0; s->seed < STORMS; s->seed++) {
		if (s->seed == STORMS / 2)
			fake_set_caps(f, f->attr.caps | IW_MPA_CAP_ATOMIC_OPEN);
		prandom_seed_state(&rnd, 2 * s->seed);
		init_completion(&s->done);
		s->child = NULL;
		storm_set_up(s, &rnd);
		storm_begin(s, &rnd);
		kthread_run(storm_peer, s, "iw_mpa_peer");
		storm_ulp(s, &rnd);
		storm_end(s);
	}
}

static struct kunit_case storm_cases[] = {
	KUNIT_CASE(storm_any_sequence_is_borne),
	{}
};

static struct kunit_suite storm_suite = {
	.name = "iw_mpa_storm",
	.init = fakes_init,
	.exit = fakes_exit,
	.test_cases = storm_cases,
};

kunit_test_suite(storm_suite);

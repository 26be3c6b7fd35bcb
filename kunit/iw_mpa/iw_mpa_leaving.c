// SPDX-License-Identifier: GPL-2.0
/* A TCP connection, and a fake driver whose device takes it over: for suites of takeover/ */

#include "iw_mpa_leaving.h"
#include "sock.h"

#include <linux/sched/mm.h>
#include <net/tcp.h>

/* The connection of the running test, for the driver's ops: these get only the QP. */
static struct leaving *now;

static void leaving_of_sock(struct iw_mpa_sock *ms, enum iw_mpa_event event, int err)
{
	if (event == IW_MPA_EV_PEER_CLOSED)
		now->closed++;
	if (err)
		now->failed = err;
}

int leaving_connect(struct leaving *lv, struct iw_mpa_sock *ms)
{
	ms->report = leaving_of_sock;
	return fake_sock_connect(lv->fid, ms);
}

static void leaving_noted(const char *op)
{
	if (now->log[0])
		strlcat(now->log, " ", sizeof(now->log));
	strlcat(now->log, op, sizeof(now->log));
}

static int leaving_hold(struct ib_qp *qp, struct sock *sk)
{
	leaving_noted("hold");
	return 0;
}

/*
 * When iw_mpa calls let_go the device passes packets to the host again. The host's TCP has to get
 * them, so iw_mpa must have removed the socket filter that drops them.
 */
static void leaving_let_go(struct ib_qp *qp)
{
	leaving_noted(rcu_access_pointer(now->sk->sk_filter) ? "let_go_too_early" : "let_go");
}

static int leaving_prepare(struct ib_qp *qp, const struct iw_mpa_handoff *ho)
{
	leaving_noted(ho->tcb ? "prepare" : "prepare_on_socket");
	if (ho->tcb) {
		now->tcb = *ho->tcb;
		memcpy(now->rx, ho->tcb->rx, min_t(u32, ho->tcb->rx_len, RX_MAX));
		now->takeover = ho->takeover;
		if (now->watch)
			iw_mpa_stream_watch(ho->takeover, now);
	}
	if (now->within)
		now->within();
	return now->fail;
}

static void leaving_data_ready(struct sock *sk)
{
}

void leaving_attach(struct ib_qp *qp, struct sock *sk, struct iw_mpa_stream *stream)
{
	leaving_noted("attach");
	sk->sk_data_ready = leaving_data_ready;
}

static int leaving_send_reply(struct ib_qp *qp, const void *reply, size_t len)
{
	leaving_noted("send_reply");
	return 0;
}

static int leaving_send_rtr(struct ib_qp *qp, u8 rtr)
{
	leaving_noted("send_rtr");
	now->rtr = rtr;
	return 0;
}

static void leaving_open_tx(struct ib_qp *qp)
{
	leaving_noted("open_tx");
}

static void leaving_stop(struct ib_qp *qp, enum iw_mpa_reason why)
{
	leaving_noted("stop");
}

static void leaving_path_changed(void *priv, const struct iw_mpa_path *path)
{
	struct leaving *lv = priv;

	lv->path = *path;
	/* Pairs with leaving_told() */
	smp_store_release(&lv->told, lv->told + 1);
}

static const struct iw_mpa_driver_ops leaving_driver = {
	.prepare	= leaving_prepare,
	.send_rtr	= leaving_send_rtr,
	.open_tx	= leaving_open_tx,
	.stop		= leaving_stop,
};

static const struct iw_mpa_takeover_ops leaving_takeover = {
	.tcp_options	= IW_MPA_TCP_ALL,
	.hold		= leaving_hold,
	.let_go		= leaving_let_go,
	.send_reply	= leaving_send_reply,
	.path_changed	= leaving_path_changed,
};

/*
 * Make a connection, and a device that can take it over from the host's TCP. The suite has to have
 * fakes_init() as its init.
 */
struct leaving *leaving_open(struct kunit *test)
{
	struct leaving *lv = kunit_kzalloc(test, sizeof(*lv), GFP_KERNEL);
	struct fakes *f = test->priv;

	memalloc_noio_save();	/* iw_mpa calls TCP in such a scope; it ends with the task */
	KUNIT_ASSERT_NOT_NULL(test, lv);
	lv->ms = &lv->ep.sock;
	now = lv;
	lv->fid = fake_id_create(f);
	lv->listener = peer_listen(f, lv->fid, AF_INET);
	lv->dev.stats = alloc_percpu(struct iw_mpa_stats);
	KUNIT_ASSERT_TRUE(test, !!lv->dev.stats);
	fake_ep_setup(&lv->ep);
	KUNIT_ASSERT_EQ(test, 0, leaving_connect(lv, lv->ms));
	lv->sk = lv->ms->sock->sk;
	lv->peer = peer_accept(f, lv->listener);
	f->drv = leaving_driver;
	lv->dev.ibdev = f->ibdev;
	lv->dev.ops = &f->drv;
	lv->dev.attr = f->attr;
	lv->ops = leaving_takeover;
	lv->dev.attr.takeover = &lv->ops;
	KUNIT_ASSERT_EQ(test, 0, iw_mpa_takeovers_begin(&lv->dev));
	lv->ep.dev = &lv->dev;
	lv->ep.config = f->config;
	lv->ep.off.qp = &f->qps[0].ib;
	return lv;
}

/* Release the endpoint's socket and its takeover, as iw_mpa does at the end of a connection. */
void leaving_release(struct leaving *lv)
{
	iw_mpa_sock_release(lv->ms);
	if (lv->ep.takeover)
		iw_mpa_takeover_put(&lv->ep);
}

void leaving_end_device(struct leaving *lv)
{
	if (lv->dev.takeovers)
		iw_mpa_takeovers_end(&lv->dev);
}

/*
 * End the takeover and the connection. leaving_exit() does this after a test, unless the test has
 * called this function to check what remains, or to open another connection.
 */
void leaving_close(struct leaving *lv)
{
	if (lv->ep.takeover && lv->ms->sock)	/* host's TCP stopped, no prepare yet */
		iw_mpa_takeover_undo(&lv->ep);
	if (lv->ep.sock.stream.qp)
		iw_mpa_offload_stop(&lv->ep, IW_MPA_R_ULP_CLOSE);
	leaving_release(lv);
	leaving_end_device(lv);
	free_percpu(lv->dev.stats);
	now = NULL;
}

void leaving_exit(struct kunit *test)
{
	if (now)
		leaving_close(now);
	fakes_exit(test);
}

enum iw_mpa_reason leaving_record(struct leaving *lv)
{
	struct iw_mpa_handoff ho = {};
	enum iw_mpa_reason why = iw_mpa_takeover_freeze(&lv->ep, &ho);

	if (!why)
		lv->tcb = *ho.tcb;
	return why;
}

enum iw_mpa_reason leaving_freeze(struct leaving *lv)
{
	int err = iw_mpa_takeover_begin(&lv->ep, false);

	return err ? IW_MPA_R_LOCAL : leaving_record(lv);
}

unsigned long leaving_count(const struct leaving *lv, enum iw_mpa_counter counter)
{
	return iw_mpa_count_read(lv->dev.stats, counter);
}

void leaving_read(struct leaving *lv, size_t len)
{
	iw_mpa_sock_discard(lv->ms, len);
}

/* Have iw_mpa's socket and the peer exchange bytes, so that sequence numbers have moved. */
void leaving_talk(struct leaving *lv, struct kunit *test)
{
	struct fakes *f = test->priv;
	u8 buf[7];

	KUNIT_ASSERT_EQ(test, 0, iw_mpa_sock_send(lv->ms, "request", 7));
	peer_recv(f, lv->peer, buf, 7);
	peer_send(f, lv->peer, "the reply", 9);
	FAKE_POLL(f, tcp_inq(lv->sk) == 9);
	leaving_read(lv, 9);
}

int leaving_told(const struct leaving *lv)
{
	/* Pairs with leaving_path_changed() */
	return smp_load_acquire(&lv->told);
}

// SPDX-License-Identifier: GPL-2.0
/* The responder: how connections come up, and what iw_accept refuses. */

#include "iw_mpa_fakes.h"

#include <linux/in.h>
#include <linux/in6.h>
#include <linux/module.h>
#include <linux/tcp.h>
#include <rdma/rdma_cm.h>

/*
 * Rules: E-9.1-1: the depths of CONNECT_REQUEST and ESTABLISHED; E-9.2-4 E-9.2-5 E-9.2-6: the
 * two words of the Reply; E-10-1: revision and S of the Reply; M-7.1-2: prepare and attach come
 * before send_reply; M-7.1.1-3: the key of the Reply; M-7.1.2-5: flags of the Reply;
 * M-7.1.2-10: no event and no open_tx before the RTR message
 */
static void accept_v2_p2p_comes_up_after_rtr(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct fakes *f = test->priv;
	const struct fake_event *event;

	conn_call(c, f);
	fake_expect_event(c->lis, 0, IW_CM_EVENT_CONNECT_REQUEST, 0);
	event = &c->lis->events[0];
	KUNIT_EXPECT_EQ(test, event->ird, CONN_PEER_IRD);
	KUNIT_EXPECT_EQ(test, event->ord, CONN_PEER_ORD);
	KUNIT_EXPECT_EQ(test, event->pd_len, 5);
	KUNIT_EXPECT_EQ(test, memcmp(event->pd, "world", 5), 0);
	KUNIT_EXPECT_EQ(test, memcmp(&event->local, &c->lis->id.local_addr,
				     sizeof(struct sockaddr_in)), 0);

	KUNIT_EXPECT_EQ(test, fake_accept(c->fid, &c->param), 0);
	peer_recv_frame(f, c->peer, &c->frame);
	KUNIT_EXPECT_EQ(test, memcmp(c->frame.buf, "MPA ID Rep Frame", 16), 0);
	KUNIT_EXPECT_EQ(test, peer_frame_flags(&c->frame), MPA_C | MPA_S);
	KUNIT_EXPECT_EQ(test, peer_frame_rev(&c->frame), 2);
	KUNIT_EXPECT_EQ(test, peer_frame_pd_len(&c->frame), 4 + 5);
	KUNIT_EXPECT_EQ(test, peer_frame_word(&c->frame, 0),
			MPA_A | MPA_B | CONN_IRD);
	KUNIT_EXPECT_EQ(test, peer_frame_word(&c->frame, 1),
			MPA_CW | MPA_D | CONN_ORD);
	KUNIT_EXPECT_EQ(test, memcmp(c->frame.buf + 24, "hello", 5), 0);
	KUNIT_EXPECT_EQ(test, c->qp->ho.snd_nxt, tcp_sk(c->peer->sk)->rcv_nxt);
	KUNIT_EXPECT_EQ(test, c->qp->ho.rcv_nxt, tcp_sk(c->peer->sk)->write_seq);
	KUNIT_EXPECT_FALSE(test, c->qp->params.initiator);
	KUNIT_EXPECT_EQ(test, c->qp->params.rtr, IW_MPA_RTR_ALL);

	KUNIT_EXPECT_EQ(test, c->fid->nr_events, 0);
	KUNIT_EXPECT_STREQ(test, c->qp->log, "prepare attach send_reply kick_rx");
	conn_send_rtr(c);
	fake_expect_event(c->fid, 0, IW_CM_EVENT_ESTABLISHED, 0);
	KUNIT_EXPECT_EQ(test, c->fid->events[0].ird, CONN_PEER_IRD);
	KUNIT_EXPECT_EQ(test, c->fid->events[0].ord, CONN_PEER_ORD);
	KUNIT_EXPECT_STREQ(test, c->qp->log,
			   "prepare attach send_reply kick_rx open_tx");

	peer_fin(c->peer);
	fake_expect_event(c->fid, 1, IW_CM_EVENT_CLOSE, 0);
	fake_expect_closed(c->fid, 2);
	KUNIT_EXPECT_EQ(test, c->qp->why, IW_MPA_R_PEER_CLOSED);
	peer_expect_eof(f, c->peer);
}

static void accept_driver_pd_is_not_the_ulps(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct fakes *f = test->priv;

	fake_have_driver_pd(f);
	conn_call(c, f);
	KUNIT_EXPECT_EQ(test, c->lis->events[0].pd_len, 1);
	KUNIT_EXPECT_EQ(test, c->lis->events[0].pd[0], 'd');
	KUNIT_EXPECT_EQ(test, fake_accept(c->fid, &c->param), 0);
	peer_recv_frame(f, c->peer, &c->frame);
	KUNIT_EXPECT_EQ(test, peer_frame_pd_len(&c->frame), 4 + 4 + 5);
	KUNIT_EXPECT_EQ(test, memcmp(c->frame.buf + 24, "minehello", 9), 0);
	KUNIT_EXPECT_EQ(test, memcmp(c->qp->peer_pd, "worl", 4), 0);
	KUNIT_EXPECT_EQ(test, c->qp->ho.snd_nxt, tcp_sk(c->peer->sk)->rcv_nxt);
}

static void reject_has_zeroes_for_driver_pd(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct fakes *f = test->priv;

	fake_have_driver_pd(f);
	conn_call(c, f);
	KUNIT_EXPECT_EQ(test, fake_reject(c->fid, "no", 2), 0);
	peer_recv_frame(f, c->peer, &c->frame);
	KUNIT_EXPECT_EQ(test, peer_frame_pd_len(&c->frame), 4 + 4 + 2);
	KUNIT_EXPECT_EQ(test, memcmp(c->frame.buf + 24, "\0\0\0\0no", 6), 0);
}

/* TX opens and ESTABLISHED comes once, however many FPDUs there are. */
static void accept_later_fpdus_change_nothing(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	conn_passive_up(c, test->priv);
	conn_send_rtr(c);
	conn_send_rtr(c);
	FAKE_WAIT(c->f, c->qp->nr_fpdus == 3);
	fake_disconnect(c->fid);
	fake_expect_event(c->fid, 1, IW_CM_EVENT_CLOSE, 0);
	fake_expect_closed(c->fid, 2);
	KUNIT_EXPECT_STREQ(test, c->qp->log,
			   "prepare attach send_reply kick_rx open_tx stop");
}

struct plain_case {
	const char	*desc;
	u8		rev;
	u8		flags;
};

static const struct plain_case plain_cases[] = {
	{ "rfc6581_9_2_a_0", 2, MPA_C | MPA_S },
	{ "rfc6581_9_v2_without_s", 2, MPA_C },
	{ "rfc5044_v1", 1, MPA_C },
	{ "rfc5044_v1_without_crc", 1, 0 },
};

static void plain_desc(const struct plain_case *c, char *desc)
{
	strscpy(desc, c->desc, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(plain, plain_cases, plain_desc);

/* RFC 5044 7.1.2: established at once, but silent until the first FPDU. */
/*
 * Rules: E-6-3 E-10-4: ESTABLISHED; E-9.2-11: A of the Reply; E-10-2: revision and flags of the
 * Reply; M-7.1.1-8: C of the Reply; M-7.1.2-10: open_tx comes behind the first FPDU
 */
static void accept_client_server_opens_tx_after_first_fpdu(struct kunit *test)
{
	static const u8 pd[] = { 0, 3, 0, 2, 'p', 'd' };
	const struct plain_case *pc = test->param_value;
	bool enhanced = pc->flags & MPA_S;
	struct fake_conn *c = conn_new(test);
	struct fakes *f = test->priv;

	conn_listen(c, f);
	c->peer = peer_connect(f, c->lis);
	peer_make(&c->frame, false, pc->flags, pc->rev, pd, sizeof(pd));
	peer_send_frame(f, c->peer, &c->frame);
	c->fid = fake_next_request(c->lis);
	KUNIT_EXPECT_EQ(test, c->lis->events[0].pd_len, enhanced ? 2 : 6);
	KUNIT_EXPECT_EQ(test, c->lis->events[0].ird,
			enhanced ? 3 : f->attr.max_ord);

	KUNIT_ASSERT_EQ(test, fake_accept(c->fid, &c->param), 0);
	KUNIT_EXPECT_EQ(test, c->fid->nr_events, 1);
	fake_expect_event(c->fid, 0, IW_CM_EVENT_ESTABLISHED, 0);
	peer_recv_frame(f, c->peer, &c->frame);
	KUNIT_EXPECT_EQ(test, peer_frame_rev(&c->frame), pc->rev);
	KUNIT_EXPECT_EQ(test, peer_frame_flags(&c->frame), MPA_C | pc->flags);
	KUNIT_EXPECT_EQ(test, peer_frame_pd_len(&c->frame), enhanced ? 9 : 5);
	if (enhanced)
		KUNIT_EXPECT_EQ(test, peer_frame_word(&c->frame, 0) & MPA_A, 0);
	KUNIT_EXPECT_STREQ(test, c->qp->log, "prepare attach send_reply kick_rx");

	conn_send_rtr(c);
	FAKE_WAIT(f, strstr(c->qp->log, "open_tx") && !c->qp->busy);
	KUNIT_EXPECT_EQ(test, c->fid->nr_events, 1);
}

struct split_case {
	const char	*desc;
	size_t		first;	/* octets sent at first, 0 for one by one */
};

static const struct split_case split_cases[] = {
	{ "octet_by_octet", 0 },
	{ "within_key", 7 },
	{ "behind_key", 16 },
	{ "behind_flags", 17 },
	{ "behind_rev", 18 },
	{ "within_pd_length", 19 },
	{ "behind_header", 20 },
	{ "within_rfc6581_data", 22 },
	{ "behind_rfc6581_data", 24 },
	{ "within_private_data", 26 },
	{ "before_last_octet", 28 },
};

static void split_desc(const struct split_case *c, char *desc)
{
	strscpy(desc, c->desc, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(split, split_cases, split_desc);

/* Rules: M-7.1.2-2: no event before the last octet of the Request */
static void accept_request_in_parts_comes_up(struct kunit *test)
{
	const struct split_case *sc = test->param_value;
	struct fake_conn *c = conn_new(test);
	struct fakes *f = test->priv;
	size_t n, sent;

	conn_listen(c, f);
	c->peer = peer_connect(f, c->lis);
	conn_make_good_request(c);
	for (sent = 0; sent < c->frame.len; sent += n) {
		n = sc->first ?: 1;
		n = min(n, c->frame.len - sent);
		KUNIT_EXPECT_EQ(test, c->lis->nr_events, 0);
		peer_send(f, c->peer, c->frame.buf + sent, n);
		/* time to read too much */
		schedule_timeout_uninterruptible(sc->first ? 2 : sent % 2);
	}
	c->fid = fake_next_request(c->lis);
	KUNIT_EXPECT_EQ(test, c->lis->events[0].pd_len, 5);
	KUNIT_ASSERT_EQ(test, fake_accept(c->fid, &c->param), 0);
	conn_send_rtr(c);
	fake_expect_event(c->fid, 0, IW_CM_EVENT_ESTABLISHED, 0);
}

/* The RTR came with the Request: not one octet of it was read by the library. */
/* Rules: M-7.1-1 M-7.1.5-2: the octets behind the Request are still in the socket */
static void accept_glued_fpdu_is_left_to_the_driver(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct fakes *f = test->priv;

	fake_set_caps(f, f->attr.caps | IW_MPA_CAP_EARLY_RX);
	conn_listen(c, f);
	c->peer = peer_connect(f, c->lis);
	conn_make_good_request(c);
	c->frame.len += peer_make_rtr_write(c->frame.buf + c->frame.len);
	peer_send_frame(f, c->peer, &c->frame);
	c->fid = fake_next_request(c->lis);
	KUNIT_ASSERT_EQ(test, fake_accept(c->fid, &c->param), 0);
	KUNIT_EXPECT_TRUE(test, c->qp->ho.rx_queued);
	KUNIT_EXPECT_EQ(test, c->qp->ho.rcv_nxt + IW_MPA_FPDU_WRITE_SIZE,
			tcp_sk(c->peer->sk)->write_seq);
	fake_expect_event(c->fid, 0, IW_CM_EVENT_ESTABLISHED, 0);
	KUNIT_EXPECT_EQ(test, c->qp->nr_fpdus, 1);
}

static int answer_accept(struct fake_id *child)
{
	const struct iw_cm_conn_param param = { .ird = 1, .ord = 1, .qpn = 1 };

	return fake_accept(child, &param);
}

static int answer_reject(struct fake_id *child)
{
	return fake_reject(child, "no", 2);
}

/* On another CPU the ULP is faster than the return from the upcall. */
static void accept_before_the_upcall_returns_comes_up(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct fakes *f = test->priv;

	conn_listen(c, f);
	c->lis->answer = answer_accept;
	c->peer = peer_connect(f, c->lis);
	conn_make_good_request(c);
	peer_send_frame(f, c->peer, &c->frame);
	c->fid = fake_next_request(c->lis);
	peer_recv_frame(f, c->peer, &c->frame);
	conn_send_rtr(c);
	fake_expect_event(c->fid, 0, IW_CM_EVENT_ESTABLISHED, 0);
	KUNIT_EXPECT_EQ(test, fake_answer_of(c->fid), 0);
}

/* Rules: M-7.1.2-12: R of the Reply */
static void reject_before_the_upcall_returns_is_sent(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct fakes *f = test->priv;

	conn_listen(c, f);
	c->lis->answer = answer_reject;
	c->peer = peer_connect(f, c->lis);
	conn_make_good_request(c);
	peer_send_frame(f, c->peer, &c->frame);
	c->fid = fake_next_request(c->lis);
	peer_recv_frame(f, c->peer, &c->frame);
	KUNIT_EXPECT_EQ(test, peer_frame_flags(&c->frame) & MPA_R, MPA_R);
	KUNIT_EXPECT_EQ(test, peer_frame_pd_len(&c->frame), 4 + 2);
	KUNIT_EXPECT_EQ(test, fake_answer_of(c->fid), 0);
	peer_fin(c->peer);
	peer_expect_eof(f, c->peer);
}

/* An event that means nothing while the ULP thinks does not spoil its answer. */
static void accept_after_octets_that_come_early_comes_up(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct fakes *f = test->priv;

	fake_set_caps(f, f->attr.caps | IW_MPA_CAP_EARLY_RX);
	conn_call(c, f);
	conn_send_rtr(c);
	KUNIT_ASSERT_EQ(test, fake_accept(c->fid, &c->param), 0);
	fake_expect_event(c->fid, 0, IW_CM_EVENT_ESTABLISHED, 0);
	KUNIT_EXPECT_EQ(test, c->fid->nr_events, 1);
}

/* What came before the FIN counts. */
/* Rules: M-7.2-1: ESTABLISHED, then CLOSE */
static void accept_rtr_and_fin_is_established_and_closed(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	conn_call(c, test->priv);
	KUNIT_ASSERT_EQ(test, fake_accept(c->fid, &c->param), 0);
	conn_send_rtr(c);
	peer_fin(c->peer);
	fake_expect_event(c->fid, 0, IW_CM_EVENT_ESTABLISHED, 0);
	fake_expect_event(c->fid, 1, IW_CM_EVENT_CLOSE, 0);
	fake_expect_closed(c->fid, 2);
}

/* iw_cm takes another QP reference and overwrites its pointer to the first. */
static void accept_twice_is_accepted_once(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	conn_call(c, test->priv);
	KUNIT_ASSERT_EQ(test, fake_accept(c->fid, &c->param), 0);
	KUNIT_EXPECT_EQ(test, fake_accept(c->fid, &c->param), 0);
	conn_send_rtr(c);
	fake_expect_event(c->fid, 0, IW_CM_EVENT_ESTABLISHED, 0);
	peer_fin(c->peer);
	fake_expect_event(c->fid, 1, IW_CM_EVENT_CLOSE, 0);
	fake_expect_closed(c->fid, 2);
	KUNIT_EXPECT_EQ(test, c->qp->refs, 1);
}

static int accept_with(struct fake_conn *c, u32 qpn)
{
	c->param.qpn = qpn;
	return fake_accept(c->fid, &c->param);
}

/* Of each QP whoever made it has one. */
static void closed_with_references(struct fake_conn *c, int nr_qps)
{
	struct fakes *f = c->fid->f;
	int i;

	fake_expect_event(c->fid, 1, IW_CM_EVENT_CLOSE, 0);
	fake_expect_closed(c->fid, 2);
	for (i = 0; i < nr_qps; i++)
		KUNIT_EXPECT_EQ(f->test, f->qps[i].refs, 1);
}

/* Each call makes iw_cm forget the reference of the call before. */
static void accept_of_other_qps_keeps_their_references(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct fakes *f = test->priv;
	int i;

	conn_call(c, f);
	KUNIT_ASSERT_EQ(test, accept_with(c, 1), 0);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, accept_with(c, 2), 0);
	KUNIT_EXPECT_EQ(test, accept_with(c, 3), 0);
	conn_send_rtr(c);
	fake_expect_event(c->fid, 0, IW_CM_EVENT_ESTABLISHED, 0);
	peer_fin(c->peer);
	closed_with_references(c, 3);
}

/* The connection of QP 1 ends, and iw_cm does not know; the QP has the number @qpn then. */
static void accept_and_end_late(struct fake_conn *c, struct fakes *f, u32 qpn)
{
	conn_call(c, f);
	c->fid->late = true;
	KUNIT_ASSERT_EQ(f->test, accept_with(c, 1), 0);
	c->qp->ib.qp_num = qpn;
	peer_rst(f, c->peer);
	FAKE_WAIT(f, c->fid->nr_held == 2 && c->fid->refs == 1);
}

/* An error would have iw_cm go to IDLE, and BUG when it comes to ESTABLISHED. */
static void accept_behind_the_end_is_void(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	accept_and_end_late(c, test->priv, 1);
	KUNIT_EXPECT_EQ(test, accept_with(c, 2), 0);
	KUNIT_EXPECT_EQ(test, accept_with(c, 2), 0);
	KUNIT_EXPECT_EQ(test, accept_with(c, 1), 0);
	fake_catch_up(c->fid);
	fake_expect_event(c->fid, 0, IW_CM_EVENT_ESTABLISHED, -ECONNRESET);
	closed_with_references(c, 2);
}

/* Of a QP that is being destroyed only the reference is left that iw_cm forgets. */
static void accept_behind_the_end_of_its_qp_is_void(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	accept_and_end_late(c, test->priv, FAKE_QPS + 1);
	KUNIT_EXPECT_EQ(test, accept_with(c, 2), 0);
	fake_catch_up(c->fid);
	fake_expect_event(c->fid, 0, IW_CM_EVENT_ESTABLISHED, -ECONNRESET);
	closed_with_references(c, 2);
}

static void expect_references(struct fakes *f)
{
	int i;

	for (i = 0; i < FAKE_QPS; i++)
		KUNIT_EXPECT_EQ_MSG(f->test, f->qps[i].refs, 1, "QP %d", i + 1);
}

/*
 * iw_cm has found the QP, and has a reference, but nobody finds it any more. Whatever the second
 * accept returns, nothing is lost and iw_cm gets no event that it cannot bear.
 */
static void accept_again_with_a_qp_that_is_being_destroyed(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct fakes *f = test->priv;
	int err;

	conn_call(c, f);
	KUNIT_ASSERT_EQ(test, accept_with(c, 1), 0);
	c->fid->hide_qp = true;
	err = accept_with(c, 2);
	c->fid->hide_qp = false;
	if (!err)
		KUNIT_EXPECT_EQ(test, accept_with(c, 3), 0);
	fake_qp_gone(&f->qps[1]);
	peer_rst(f, c->peer);
	FAKE_POLL(f, fakes_has_no_endpoint());
	fake_expect_closed(c->fid, err ? 0 : 2);
	expect_references(f);
}

static void accept_behind_the_end_with_a_qp_that_is_being_destroyed(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct fakes *f = test->priv;

	accept_and_end_late(c, f, 1);
	c->fid->hide_qp = true;
	KUNIT_EXPECT_EQ(test, accept_with(c, 2), 0);
	c->fid->hide_qp = false;
	KUNIT_EXPECT_EQ(test, accept_with(c, 3), 0);
	fake_qp_gone(&f->qps[1]);
	fake_catch_up(c->fid);
	fake_expect_event(c->fid, 0, IW_CM_EVENT_ESTABLISHED, -ECONNRESET);
	fake_expect_event(c->fid, 1, IW_CM_EVENT_CLOSE, 0);
	expect_references(f);
}

static void accept_of_a_qp_that_is_being_destroyed_is_refused(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct fakes *f = test->priv;

	conn_call(c, f);
	c->fid->hide_qp = true;
	KUNIT_EXPECT_EQ(test, accept_with(c, 1), -EINVAL);
	expect_references(f);
}

static void listen_takes_several_connections(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct fakes *f = test->priv;
	struct fake_id *children[3];
	struct socket *peers[3];
	u8 rtr[IW_MPA_FPDU_MAX];
	int i;

	conn_listen(c, f);
	conn_make_good_request(c);
	for (i = 0; i < 3; i++)
		peers[i] = peer_connect(f, c->lis);
	for (i = 0; i < 3; i++) {
		peer_send_frame(f, peers[i], &c->frame);
		children[i] = fake_next_request(c->lis);
	}
	for (i = 0; i < 3; i++) {
		c->param.qpn = i + 1;
		KUNIT_ASSERT_EQ(test, fake_accept(children[i], &c->param), 0);
		peer_send(f, peers[i], rtr, peer_make_rtr_write(rtr));
	}
	for (i = 0; i < 3; i++)
		fake_expect_event(children[i], 0, IW_CM_EVENT_ESTABLISHED, 0);
}

/* A wildcard listener, on both protocols: the ULP is told concrete addresses. */
static void listen_wildcard(struct kunit *test, int family, int peer_family)
{
	struct fake_conn *c = conn_new(test);
	struct fakes *f = test->priv;
	struct fake_id *lis = fake_id_create(f);
	struct sockaddr_storage addr = {};
	const struct fake_event *event;
	__be16 port;

	conn_listen(c, f);	/* for a port */
	port = ((struct sockaddr_in *)&c->lis->id.local_addr)->sin_port;
	fake_destroy(c->lis);
	addr.ss_family = family;
	((struct sockaddr_in *)&addr)->sin_port = port;
	lis->id.local_addr = addr;
	lis->id.m_local_addr = addr;
	KUNIT_ASSERT_EQ(test, fake_listen(lis), 0);

	c->lis = fake_id_create(f);
	c->lis->id.m_local_addr.ss_family = peer_family;
	((struct sockaddr_in *)&c->lis->id.m_local_addr)->sin_port = port;
	if (peer_family == AF_INET6)
		((struct sockaddr_in6 *)&c->lis->id.m_local_addr)->sin6_addr =
			in6addr_loopback;
	c->peer = peer_connect(f, c->lis);
	conn_make_good_request(c);
	peer_send_frame(f, c->peer, &c->frame);
	fake_next_request(lis);
	event = &lis->events[0];
	KUNIT_EXPECT_EQ(test, event->local.ss_family, peer_family);
	KUNIT_EXPECT_EQ(test, event->remote.ss_family, peer_family);
	if (peer_family == AF_INET)
		KUNIT_EXPECT_EQ(test, htonl(INADDR_LOOPBACK),
				((struct sockaddr_in *)&event->local)->sin_addr.s_addr);
	else
		KUNIT_EXPECT_TRUE(test,
				  ipv6_addr_loopback(&((struct sockaddr_in6 *)
						       &event->local)->sin6_addr));
	KUNIT_EXPECT_EQ(test, ((struct sockaddr_in *)&event->local)->sin_port,
			port);
}

static void listen_wildcard_ipv4_tells_concrete_addresses(struct kunit *test)
{
	listen_wildcard(test, AF_INET, AF_INET);
}

static void listen_wildcard_ipv6_tells_concrete_addresses(struct kunit *test)
{
	listen_wildcard(test, AF_INET6, AF_INET6);
}

static void listen_wildcard_ipv6_tells_ipv4_as_ipv4(struct kunit *test)
{
	listen_wildcard(test, AF_INET6, AF_INET);
}

/* Rules: M-4.3-1 M-7.1.1-5 M-7.1.1-6 M-7.1.2-13: tx_markers that the driver is given */
static void accept_markers_of_the_peer_are_told_the_driver(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct fakes *f = test->priv;

	fake_set_caps(f, f->attr.caps | IW_MPA_CAP_TX_MARKERS);
	conn_listen(c, f);
	c->peer = peer_connect(f, c->lis);
	peer_make_v2(&c->frame, false, MPA_C | MPA_M, CONN_PEER_IRD, CONN_PEER_ORD, NULL, 0);
	peer_send_frame(f, c->peer, &c->frame);
	c->fid = fake_next_request(c->lis);
	KUNIT_ASSERT_EQ(test, fake_accept(c->fid, &c->param), 0);
	peer_recv_frame(f, c->peer, &c->frame);

	KUNIT_EXPECT_EQ(test, peer_frame_flags(&c->frame), MPA_C | MPA_S);
	KUNIT_EXPECT_TRUE(test, c->qp->params.tx_markers);
	KUNIT_EXPECT_FALSE(test, c->qp->params.rx_markers);
	KUNIT_EXPECT_EQ(test, c->qp->ho.snd_nxt, tcp_sk(c->peer->sk)->rcv_nxt);
}

/* Rules: M-7.1.1-5 M-7.1.1-6: M of the Reply, and rx_markers that the driver is given */
static void accept_asks_for_markers_if_set_so(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct fakes *f = test->priv;

	fake_set_caps(f, f->attr.caps | IW_MPA_CAP_RX_MARKERS);
	f->config->markers = 1;
	conn_listen(c, f);
	c->peer = peer_connect(f, c->lis);
	peer_make_v2(&c->frame, false, MPA_C, CONN_PEER_IRD, CONN_PEER_ORD, NULL, 0);
	peer_send_frame(f, c->peer, &c->frame);
	c->fid = fake_next_request(c->lis);
	KUNIT_ASSERT_EQ(test, fake_accept(c->fid, &c->param), 0);
	peer_recv_frame(f, c->peer, &c->frame);

	KUNIT_EXPECT_EQ(test, peer_frame_flags(&c->frame), MPA_C | MPA_M | MPA_S);
	KUNIT_EXPECT_TRUE(test, c->qp->params.rx_markers);
	KUNIT_EXPECT_FALSE(test, c->qp->params.tx_markers);
}

/* As ib_core reads them */
static u64 stat_of(struct kunit *test, const char *name)
{
	struct ib_device *ibdev = ((struct fakes *)test->priv)->ibdev;
	struct rdma_hw_stats *stats = ibdev->ops.alloc_hw_port_stats(ibdev, 1);
	int i, n;
	u64 value = -1;

	KUNIT_ASSERT_NOT_NULL(test, stats);
	n = ibdev->ops.get_hw_stats(ibdev, stats, 1, stats->num_counters);
	KUNIT_EXPECT_EQ(test, n, stats->num_counters);
	for (i = 0; i < n; i++) {
		KUNIT_EXPECT_NOT_NULL(test, stats->descs[i].name);
		if (!strcmp(stats->descs[i].name, name))
			value = stats->value[i];
	}
	kfree(stats);
	return value;
}

/* Counted behind the event that a test waits for */
static void expect_stat(struct kunit *test, const char *name, u64 value)
{
	int i;

	for (i = 0; i < FAKE_WAIT_MS / 20 && stat_of(test, name) != value; i++)
		msleep(20);
	KUNIT_EXPECT_EQ(test, stat_of(test, name), value);
}

static void statistics_count_for_the_device(struct kunit *test)
{
	struct fake_conn *c = conn_new(test), *bad = conn_new(test);
	struct fakes *f = test->priv;

	KUNIT_EXPECT_EQ(test, stat_of(test, "established"), 0);
	conn_call(c, f);
	KUNIT_EXPECT_EQ(test, fake_accept(c->fid, &c->param), 0);
	peer_recv_frame(f, c->peer, &c->frame);
	conn_send_rtr(c);
	fake_expect_event(c->fid, 0, IW_CM_EVENT_ESTABLISHED, 0);
	expect_stat(test, "established", 1);
	KUNIT_EXPECT_EQ(test, stat_of(test, "closed"), 0);
	peer_fin(c->peer);
	fake_expect_closed(c->fid, 2);

	conn_listen(bad, f);
	bad->peer = peer_connect(f, bad->lis);
	peer_send(f, bad->peer, "garbage", 7);
	peer_expect_eof(f, bad->peer);
	expect_stat(test, "closed", 1);
	expect_stat(test, "PEER_CLOSED", 1);
	expect_stat(test, "BAD_KEY", 1);
}

/*
 * rdma_cm has a wildcard listener listen on each device there is, also on those of other network
 * namespaces. There it takes no port, and gets no connection.
 */
static void listen_wildcard_of_another_namespace_has_no_socket(struct kunit *test)
{
	struct rdma_cm_id *owner = kunit_kzalloc(test, sizeof(*owner), GFP_KERNEL);
	struct fake_conn *c = conn_new(test);
	struct fakes *f = test->priv;
	struct fake_id *lis = fake_id_create(f);
	struct sockaddr_in *sin = (struct sockaddr_in *)&lis->id.local_addr;

	conn_listen(c, f);
	sin->sin_addr.s_addr = htonl(INADDR_ANY);
	sin->sin_port = ((struct sockaddr_in *)&c->lis->id.local_addr)->sin_port;
	lis->id.m_local_addr = lis->id.local_addr;
	KUNIT_ASSERT_NOT_NULL(test, owner);
	owner->device = f->ibdev;
	owner->route.addr.src_addr = lis->id.local_addr;
	owner->route.addr.dev_addr.net = (struct net *)owner;	/* none that we know */
	lis->id.context = owner;
	KUNIT_EXPECT_EQ(test, fake_listen(lis), 0);

	c->peer = peer_connect(f, c->lis);
	conn_make_good_request(c);
	peer_send_frame(f, c->peer, &c->frame);
	fake_next_request(c->lis);
	KUNIT_EXPECT_EQ(test, lis->nr_events, 0);
}

/* Rules: M-7.1.2-10: the errno for a driver that cannot hold TX back */
static void listen_without_fence_is_refused(struct kunit *test)
{
	struct fakes *f = test->priv;

	fake_set_caps(f, f->attr.caps & ~IW_MPA_CAP_TX_FENCE);
	KUNIT_EXPECT_EQ(test, fake_listen(fake_id_create(f)), -EOPNOTSUPP);
	f->config->fence = 0;
	KUNIT_EXPECT_EQ(test, fake_listen(fake_id_create(f)), 0);
}

static void listen_without_device_is_refused(struct kunit *test)
{
	struct fakes *f = test->priv;

	fake_unregister(f);
	KUNIT_EXPECT_EQ(test, fake_listen(fake_id_create(f)), -ENODEV);
}

static void listen_on_a_port_in_use_is_refused(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct fakes *f = test->priv;
	struct fake_id *second = fake_id_create(f);

	conn_listen(c, f);
	second->id.m_local_addr = c->lis->id.m_local_addr;
	KUNIT_EXPECT_EQ(test, fake_listen(second), -EADDRINUSE);
}

static struct kunit_case accept_cases[] = {
	KUNIT_CASE(accept_v2_p2p_comes_up_after_rtr),
	KUNIT_CASE(accept_driver_pd_is_not_the_ulps),
	KUNIT_CASE(reject_has_zeroes_for_driver_pd),
	KUNIT_CASE(accept_later_fpdus_change_nothing),
	KUNIT_CASE_PARAM(accept_client_server_opens_tx_after_first_fpdu,
			 plain_gen_params),
	KUNIT_CASE_PARAM(accept_request_in_parts_comes_up, split_gen_params),
	KUNIT_CASE(accept_glued_fpdu_is_left_to_the_driver),
	KUNIT_CASE(accept_before_the_upcall_returns_comes_up),
	KUNIT_CASE(reject_before_the_upcall_returns_is_sent),
	KUNIT_CASE(accept_after_octets_that_come_early_comes_up),
	KUNIT_CASE(accept_rtr_and_fin_is_established_and_closed),
	KUNIT_CASE(accept_twice_is_accepted_once),
	KUNIT_CASE(accept_of_other_qps_keeps_their_references),
	KUNIT_CASE(accept_behind_the_end_is_void),
	KUNIT_CASE(accept_behind_the_end_of_its_qp_is_void),
	KUNIT_CASE(accept_again_with_a_qp_that_is_being_destroyed),
	KUNIT_CASE(accept_behind_the_end_with_a_qp_that_is_being_destroyed),
	KUNIT_CASE(accept_of_a_qp_that_is_being_destroyed_is_refused),
	KUNIT_CASE(listen_takes_several_connections),
	KUNIT_CASE(listen_wildcard_ipv4_tells_concrete_addresses),
	KUNIT_CASE(listen_wildcard_ipv6_tells_concrete_addresses),
	KUNIT_CASE(listen_wildcard_ipv6_tells_ipv4_as_ipv4),
	KUNIT_CASE(accept_markers_of_the_peer_are_told_the_driver),
	KUNIT_CASE(accept_asks_for_markers_if_set_so),
	KUNIT_CASE(statistics_count_for_the_device),
	KUNIT_CASE(listen_wildcard_of_another_namespace_has_no_socket),
	KUNIT_CASE(listen_without_fence_is_refused),
	KUNIT_CASE(listen_without_device_is_refused),
	KUNIT_CASE(listen_on_a_port_in_use_is_refused),
	{}
};

static struct kunit_suite accept_suite = {
	.name = "iw_mpa_accept",
	.init = fakes_init,
	.exit = fakes_exit,
	.test_cases = accept_cases,
};

kunit_test_suite(accept_suite);

MODULE_LICENSE("GPL");

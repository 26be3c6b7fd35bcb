// SPDX-License-Identifier: GPL-2.0
/* Tests of the MPA responder: connections that are established, and the device's statistics. */

#include "iw_mpa_crc_cases.h"
#include "iw_mpa_fakes.h"
#include "iw_mpa_quiet.h"

#include <linux/in.h>
#include <linux/in6.h>
#include <linux/tcp.h>

/*
 * Rules: E-9.1-1: IRD and ORD of CONNECT_REQUEST and ESTABLISHED; E-9.2-4 E-9.2-5 E-9.2-6: the IRD
 * word and the ORD word of the Reply; E-10-1: revision and bit S of the Reply; M-7.1-2: the
 * driver's prepare and attach are called before the Reply is sent; M-7.1.1-3: the key of the Reply;
 * M-7.1.2-5: flags of the Reply; M-7.1.2-10: no event is reported and open_tx is not called before
 * the RTR message arrives
 */
static void accept_v2_p2p_comes_up_after_rtr(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	const struct fake_event *event;

	conn_call(c);
	fake_expect_event(c->lis, 0, IW_CM_EVENT_CONNECT_REQUEST, 0);
	event = &c->lis->events[0];
	KUNIT_EXPECT_EQ(test, event->ird, CONN_PEER_IRD);
	KUNIT_EXPECT_EQ(test, event->ord, CONN_PEER_ORD);
	KUNIT_EXPECT_EQ(test, event->pd_len, 5);
	KUNIT_EXPECT_EQ(test, memcmp(event->pd, "world", 5), 0);
	KUNIT_EXPECT_EQ(test, memcmp(&event->local, &c->lis->id.local_addr,
				     sizeof(struct sockaddr_in)), 0);

	KUNIT_EXPECT_EQ(test, fake_accept(c->fid, &c->param), 0);
	peer_recv_frame(c->f, c->peer, &c->frame);
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

	iw_mpa_quiet(IW_MPA_QUIET_MS);
	KUNIT_EXPECT_EQ(test, c->fid->nr_events, 0);
	KUNIT_EXPECT_STREQ(test, c->qp->log, "prepare attach kick_rx");
	conn_establish(c);
	KUNIT_EXPECT_EQ(test, c->fid->events[0].ird, CONN_PEER_IRD);
	KUNIT_EXPECT_EQ(test, c->fid->events[0].ord, CONN_PEER_ORD);
	KUNIT_EXPECT_STREQ(test, c->qp->log,
			   "prepare attach kick_rx open_tx");

	peer_fin(c->peer);
	conn_expect_closed(c, IW_MPA_R_PEER_CLOSED);
	peer_expect_eof(c->f, c->peer);
}

/*
 * Rules: E-9-1: the IRD word and the ORD word of the Reply; E-9.1-2a E-9.1-2b: ORD of the Reply,
 * and the ORD that the driver gets; E-9.1-13: IRD and ORD of the Reply, and those that the driver
 * gets, if the ULP asks for 0x3FFF
 */
static void accept_depths_are_left_to_the_ulps(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct fakes *f = test->priv;
	u16 ord = min_t(u16, CONN_PEER_IRD, f->attr.max_ord);

	conn_call(c);
	c->param.ird = IW_MPA_DEPTH_ULP;
	c->param.ord = IW_MPA_DEPTH_ULP;
	conn_accept(c);
	KUNIT_EXPECT_EQ(test, peer_frame_word(&c->frame, 0) & 0x3fff, f->attr.max_ird);
	KUNIT_EXPECT_EQ(test, peer_frame_word(&c->frame, 1) & 0x3fff, ord);
	KUNIT_EXPECT_EQ(test, c->qp->params.ird, f->attr.max_ird);
	KUNIT_EXPECT_EQ(test, c->qp->params.ord, ord);
}

/* Rules: E-7-4 M-7.1.1-14: PD_Length of the Reply, and each byte that it counts */
static void accept_with_most_private_data_is_sent(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	static u8 pd[IW_MPA_PD_MAX - 4];
	int i;

	for (i = 0; i < ARRAY_SIZE(pd); i++)
		pd[i] = 1 + i % 251;
	conn_call(c);
	c->param.private_data = pd;
	c->param.private_data_len = sizeof(pd);
	conn_accept(c);
	KUNIT_EXPECT_EQ(test, peer_frame_pd_len(&c->frame), IW_MPA_PD_MAX);
	KUNIT_EXPECT_EQ(test, memcmp(c->frame.buf + 24, pd, sizeof(pd)), 0);
}

/* Only the first FPDU of the peer makes iw_mpa call open_tx and report ESTABLISHED. */
static void accept_later_fpdus_change_nothing(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	conn_passive_up(c);
	conn_send_rtr(c);
	conn_send_rtr(c);
	FAKE_WAIT(c->f, c->qp->nr_fpdus == 3);
	fake_disconnect(c->fid);
	conn_expect_closed(c, IW_MPA_R_ULP_CLOSE);
	KUNIT_EXPECT_STREQ(test, c->qp->log,
			   "prepare attach kick_rx open_tx stop");
}

static const struct plain_case {
	const char	*desc;
	u8		rev;
	u8		flags;
} plain_cases[] = {
	{ "rfc6581_9_2_a_0", 2, MPA_C | MPA_S },
	{ "rfc6581_9_v2_without_s", 2, MPA_C },
	{ "rfc5044_v1", 1, MPA_C },
	{ "rfc5044_v1_without_crc", 1, 0 },
};

KUNIT_ARRAY_PARAM_DESC(plain, plain_cases, desc);

/*
 * RFC 5044 7.1.2: in the client-server model iw_accept reports ESTABLISHED, but the responder must
 * send nothing before the first FPDU: iw_mpa calls open_tx when that has arrived.
 */
/*
 * Rules: E-6-3 E-10-4: the event ESTABLISHED; E-9.2-11: the bit A of the Reply; E-10-2: revision
 * and flags of the Reply; M-7.1.1-8: the bit C of the Reply; M-7.1.2-10: the driver's open_tx is
 * called after the first FPDU has arrived
 */
static void accept_client_server_opens_tx_after_first_fpdu(struct kunit *test)
{
	static const u8 pd[] = { 0, 3, 0, 2, 'p', 'd' };
	const struct plain_case *pc = test->param_value;
	bool enhanced = pc->flags & MPA_S;
	struct fake_conn *c = conn_new(test);

	conn_listen(c);
	peer_make(&c->frame, false, pc->flags, pc->rev, pd, sizeof(pd));
	conn_ask(c);
	KUNIT_EXPECT_EQ(test, c->lis->events[0].pd_len, enhanced ? 2 : 6);
	KUNIT_EXPECT_EQ(test, c->lis->events[0].ird,
			enhanced ? 3 : c->f->attr.max_ord);

	KUNIT_ASSERT_EQ(test, fake_accept(c->fid, &c->param), 0);
	KUNIT_EXPECT_EQ(test, c->fid->nr_events, 1);
	fake_expect_event(c->fid, 0, IW_CM_EVENT_ESTABLISHED, 0);
	peer_recv_frame(c->f, c->peer, &c->frame);
	KUNIT_EXPECT_EQ(test, peer_frame_rev(&c->frame), pc->rev);
	KUNIT_EXPECT_EQ(test, peer_frame_flags(&c->frame), MPA_C | pc->flags);
	KUNIT_EXPECT_EQ(test, peer_frame_pd_len(&c->frame), enhanced ? 9 : 5);
	if (enhanced)
		KUNIT_EXPECT_EQ(test, peer_frame_word(&c->frame, 0) & MPA_A, 0);
	iw_mpa_quiet(IW_MPA_QUIET_MS);
	KUNIT_EXPECT_STREQ(test, c->qp->log, "prepare attach kick_rx");

	conn_send_rtr(c);
	FAKE_WAIT(c->f, strstr(c->qp->log, "open_tx") && !c->qp->busy);
	KUNIT_EXPECT_EQ(test, c->fid->nr_events, 1);
}

static const struct split_case {
	const char	*desc;
	size_t		first;	/* bytes of each send; 0: one byte */
} split_cases[] = {
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

KUNIT_ARRAY_PARAM_DESC(split, split_cases, desc);

/* Rules: M-7.1.2-2: silence as long as the last byte of the Request is missing */
static void accept_request_in_parts_comes_up(struct kunit *test)
{
	const struct split_case *sc = test->param_value;
	struct fake_conn *c = conn_new(test);
	size_t n, sent;

	conn_listen(c);
	c->peer = peer_connect(c->f, c->lis);
	conn_make_good_request(c);
	for (sent = 0; sent < c->frame.len; sent += n) {
		n = sc->first ?: 1;
		n = min(n, c->frame.len - sent);
		/* wait for a wrong event before the last byte, and after each part */
		if (sent == c->frame.len - 1 || (sc->first && sent))
			iw_mpa_quiet(IW_MPA_QUIET_MS);
		KUNIT_EXPECT_EQ(test, c->lis->nr_events, 0);
		peer_send(c->f, c->peer, c->frame.buf + sent, n);
		/* let iw_mpa run between two sends */
		schedule_timeout_uninterruptible(sent % 2);
	}
	c->fid = fake_next_request(c->lis);
	KUNIT_EXPECT_EQ(test, c->lis->events[0].pd_len, 5);
	KUNIT_ASSERT_EQ(test, fake_accept(c->fid, &c->param), 0);
	conn_establish(c);
}

/* The RTR message arrives together with the Request: iw_mpa must leave its bytes to the driver. */
/* Rules: M-7.1-1 M-7.1.5-2: the bytes after the Request are still in the socket */
static void accept_glued_fpdu_is_left_to_the_driver(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	fake_set_caps(c->f, c->f->attr.caps | IW_MPA_CAP_EARLY_RX);
	conn_listen(c);
	conn_make_good_request(c);
	c->frame.len += peer_make_rtr_write(c->frame.buf + c->frame.len);
	conn_ask(c);
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

/* The ULP accepts in another thread before iw_cm's event handler for CONNECT_REQUEST returns. */
static void accept_before_the_upcall_returns_comes_up(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	conn_listen(c);
	c->lis->answer = answer_accept;
	conn_make_good_request(c);
	conn_ask(c);
	peer_recv_frame(c->f, c->peer, &c->frame);
	conn_establish(c);
	KUNIT_EXPECT_EQ(test, fake_answer_of(c->fid), 0);
}

/* Rules: M-7.1.2-12: R of the Reply */
static void reject_before_the_upcall_returns_is_sent(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	conn_listen(c);
	c->lis->answer = answer_reject;
	conn_make_good_request(c);
	conn_ask(c);
	peer_recv_frame(c->f, c->peer, &c->frame);
	KUNIT_EXPECT_EQ(test, peer_frame_flags(&c->frame) & MPA_R, MPA_R);
	KUNIT_EXPECT_EQ(test, peer_frame_pd_len(&c->frame), 4 + 2);
	KUNIT_EXPECT_EQ(test, fake_answer_of(c->fid), 0);
	peer_fin(c->peer);
	peer_expect_eof(c->f, c->peer);
}

/*
 * If the RTR message arrives before the ULP's answer, iw_mpa reports ESTABLISHED as soon as the ULP
 * has accepted.
 */
static void accept_after_octets_that_come_early_comes_up(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	fake_set_caps(c->f, c->f->attr.caps | IW_MPA_CAP_EARLY_RX);
	conn_call(c);
	conn_send_rtr(c);
	KUNIT_ASSERT_EQ(test, fake_accept(c->fid, &c->param), 0);
	fake_expect_event(c->fid, 0, IW_CM_EVENT_ESTABLISHED, 0);
	KUNIT_EXPECT_EQ(test, c->fid->nr_events, 1);
}

/* The peer sends an RTR message, then FIN: iw_mpa reports ESTABLISHED before it reports CLOSE. */
/* Rules: M-7.2-1: ESTABLISHED, then CLOSE */
static void accept_rtr_and_fin_is_established_and_closed(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	conn_call(c);
	KUNIT_ASSERT_EQ(test, fake_accept(c->fid, &c->param), 0);
	conn_send_rtr(c);
	peer_fin(c->peer);
	fake_expect_event(c->fid, 0, IW_CM_EVENT_ESTABLISHED, 0);
	conn_expect_closed(c, IW_MPA_R_PEER_CLOSED);
}

/* Rules: M-4.3-1 M-7.1.1-5 M-7.1.1-6 M-7.1.2-13: tx_markers that the driver is given */
static void accept_markers_of_the_peer_are_told_the_driver(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	fake_set_caps(c->f, c->f->attr.caps | IW_MPA_CAP_TX_MARKERS);
	conn_call_v2(c, MPA_C | MPA_M);
	conn_accept(c);

	KUNIT_EXPECT_EQ(test, peer_frame_flags(&c->frame), MPA_C | MPA_S);
	KUNIT_EXPECT_TRUE(test, c->qp->params.tx_markers);
	KUNIT_EXPECT_FALSE(test, c->qp->params.rx_markers);
	KUNIT_EXPECT_EQ(test, c->qp->ho.snd_nxt, tcp_sk(c->peer->sk)->rcv_nxt);
}

/* Rules: M-7.1.1-5: tx_markers is off if M of the peer is clear, though this end sets M */
static void accept_asks_for_markers_if_set_so(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	fake_set_caps(c->f, c->f->attr.caps | IW_MPA_CAP_RX_MARKERS);
	c->f->config->markers = 1;
	conn_call_v2(c, MPA_C);
	conn_accept(c);

	KUNIT_EXPECT_EQ(test, peer_frame_flags(&c->frame), MPA_C | MPA_M | MPA_S);
	KUNIT_EXPECT_TRUE(test, c->qp->params.rx_markers);
	KUNIT_EXPECT_FALSE(test, c->qp->params.tx_markers);
}

/* The peer's Request has the bit C clear, so only this end decides whether CRC is used. */
/*
 * Rules: M-4.4-1 M-7.1.1-7: the bit C of the Reply, and whether the driver is to use CRC, if the
 * setting crc is 0, for a device that can work without CRC and for one that cannot
 */
static void accept_asks_for_crc_unless_it_need_not(struct kunit *test)
{
	const struct crc_case *cc = test->param_value;
	struct fake_conn *c = conn_new(test);

	fake_set_caps(c->f, c->f->attr.caps | cc->caps);
	c->f->config->crc = cc->setting;
	conn_call_v2(c, 0);
	conn_accept(c);
	KUNIT_EXPECT_EQ(test, !!(peer_frame_flags(&c->frame) & MPA_C), cc->asked);
	KUNIT_EXPECT_EQ(test, c->qp->params.crc, cc->asked);
}

/* Return a statistic of the device, read as ib_core does. */
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

/* Poll a statistic: iw_mpa may update it after it has reported the event that a test waits for. */
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
	conn_call(c);
	KUNIT_EXPECT_EQ(test, fake_accept(c->fid, &c->param), 0);
	peer_recv_frame(f, c->peer, &c->frame);
	conn_establish(c);
	expect_stat(test, "established", 1);
	KUNIT_EXPECT_EQ(test, stat_of(test, "closed"), 0);
	peer_fin(c->peer);
	fake_expect_closed(c->fid, 2);

	conn_listen(bad);
	bad->peer = peer_connect(f, bad->lis);
	peer_send(f, bad->peer, "garbage", 7);
	peer_expect_eof(f, bad->peer);
	expect_stat(test, "closed", 1);
	expect_stat(test, "PEER_CLOSED", 1);
	expect_stat(test, "BAD_KEY", 1);
}

static struct kunit_case accept_cases[] = {
	KUNIT_CASE(accept_v2_p2p_comes_up_after_rtr),
	KUNIT_CASE(accept_depths_are_left_to_the_ulps),
	KUNIT_CASE(accept_with_most_private_data_is_sent),
	KUNIT_CASE(accept_later_fpdus_change_nothing),
	KUNIT_CASE_PARAM(accept_client_server_opens_tx_after_first_fpdu,
			 plain_gen_params),
	KUNIT_CASE_PARAM(accept_request_in_parts_comes_up, split_gen_params),
	KUNIT_CASE(accept_glued_fpdu_is_left_to_the_driver),
	KUNIT_CASE(accept_before_the_upcall_returns_comes_up),
	KUNIT_CASE(reject_before_the_upcall_returns_is_sent),
	KUNIT_CASE(accept_after_octets_that_come_early_comes_up),
	KUNIT_CASE(accept_rtr_and_fin_is_established_and_closed),
	KUNIT_CASE(accept_markers_of_the_peer_are_told_the_driver),
	KUNIT_CASE(accept_asks_for_markers_if_set_so),
	KUNIT_CASE_PARAM(accept_asks_for_crc_unless_it_need_not, crc_gen_params),
	KUNIT_CASE(statistics_count_for_the_device),
	{}
};

static struct kunit_suite accept_suite = {
	.name = "iw_mpa_accept",
	.init = fakes_init,
	.exit = fakes_exit,
	.test_cases = accept_cases,
};

kunit_test_suite(accept_suite);

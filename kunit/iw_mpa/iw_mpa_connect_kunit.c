// SPDX-License-Identifier: GPL-2.0
/* Tests of the MPA initiator: connections that are established, and parameters that are refused. */

#include "iw_mpa_crc_cases.h"
#include "iw_mpa_fakes.h"
#include "iw_mpa_quiet.h"

#include <linux/in.h>
#include <linux/in6.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <net/inet_sock.h>

#define CONN_TOS	0x28	/* without the bits of ECN, which are TCP's */

static void connect_p2p_comes_up_on(struct kunit *test, int family)
{
	struct fake_conn *c = conn_new(test);

	conn_aim(c, family);
	KUNIT_ASSERT_EQ(test, 0, fake_connect(c->fid, &c->param));
	conn_answer_dial(c);

	KUNIT_EXPECT_EQ(test, peer_frame_flags(&c->frame), MPA_C | MPA_S);
	KUNIT_EXPECT_EQ(test, peer_frame_rev(&c->frame), 2);
	KUNIT_EXPECT_EQ(test, peer_frame_pd_len(&c->frame), 4 + 5);
	KUNIT_EXPECT_EQ(test, peer_frame_word(&c->frame, 0), MPA_A | 8);
	KUNIT_EXPECT_EQ(test, peer_frame_word(&c->frame, 1), MPA_CW | MPA_D | 4);
	KUNIT_EXPECT_EQ(test, memcmp(c->frame.buf + 24, "hello", 5), 0);

	conn_connect(c);
	KUNIT_EXPECT_EQ(test, c->fid->events[0].ird, CONN_PEER_IRD);
	KUNIT_EXPECT_EQ(test, c->fid->events[0].ord, CONN_PEER_ORD);
	KUNIT_EXPECT_EQ(test, c->fid->events[0].pd_len, 5);
	KUNIT_EXPECT_EQ(test, memcmp(c->fid->events[0].pd, "world", 5), 0);
	KUNIT_EXPECT_EQ(test, c->fid->events[0].local.ss_family, family);
	KUNIT_EXPECT_EQ(test, memcmp(&c->fid->events[0].remote,
				     &c->fid->id.m_remote_addr,
				     offsetof(struct sockaddr_in6, sin6_flowinfo)), 0);
	peer_recv_rtr(c->f, c->peer, IW_MPA_RTR_WRITE);

	KUNIT_EXPECT_TRUE(test, c->qp->params.initiator);
	KUNIT_EXPECT_TRUE(test, c->qp->params.p2p);
	KUNIT_EXPECT_TRUE(test, c->qp->params.crc);
	KUNIT_EXPECT_EQ(test, c->qp->params.rtr, IW_MPA_RTR_WRITE);
	KUNIT_EXPECT_EQ(test, c->qp->params.ird, 8);
	KUNIT_EXPECT_EQ(test, c->qp->params.ord, 4);
	KUNIT_EXPECT_EQ(test, c->qp->ho.snd_nxt + IW_MPA_FPDU_WRITE_SIZE,
			tcp_sk(c->peer->sk)->rcv_nxt);
	KUNIT_EXPECT_EQ(test, c->qp->ho.rcv_nxt, tcp_sk(c->peer->sk)->write_seq);

	peer_fin(c->peer);
	conn_expect_closed(c, IW_MPA_R_PEER_CLOSED);
	KUNIT_EXPECT_STREQ(test, c->qp->log,
			   "prepare attach send_rtr kick_rx kick_rx stop");
	peer_expect_eof(c->f, c->peer);
}

/* Packets of an initiator have the TOS that the ULP has set by rdma_set_option(). */
static void connect_tos_is_the_sockets(struct kunit *test)
{
	static const int families[] = { AF_INET, AF_INET6 };
	int i;

	for (i = 0; i < ARRAY_SIZE(families); i++) {
		struct fake_conn *c = conn_new(test);

		conn_aim(c, families[i]);
		c->qp = &c->f->qps[i];
		c->param.qpn = i + 1;
		c->fid->id.tos = CONN_TOS;
		c->fid->id.tos_set = true;
		KUNIT_ASSERT_EQ(test, 0, fake_connect(c->fid, &c->param));
		conn_answer_dial(c);
		conn_connect(c);
		KUNIT_ASSERT_NOT_NULL(test, c->qp->sk);
		KUNIT_EXPECT_EQ(test, inet_sk(c->qp->sk)->tos, CONN_TOS);
		if (families[i] == AF_INET6)
			KUNIT_EXPECT_EQ(test, inet6_sk(c->qp->sk)->tclass, CONN_TOS);
		peer_fin(c->peer);
		fake_expect_event(c->fid, 1, IW_CM_EVENT_CLOSE, 0);
	}
}

/*
 * Rules: E-5-2: the driver's send_rtr is called in place of open_tx; E-9.1-1: IRD and ORD of
 * CONNECT_REPLY; E-9.2-1 E-9.2-2: the IRD word and the ORD word of the Request; E-9.2-8: the bytes
 * of the RTR message; M-7.1-1: the sequence numbers that the driver gets; M-7.1.1-1 M-7.1.2-1: each
 * field of the Request; M-7.1.2-9: the status of CONNECT_REPLY
 */
static void connect_v2_p2p_ipv4_comes_up(struct kunit *test)
{
	connect_p2p_comes_up_on(test, AF_INET);
}

/*
 * Rules: E-5-2: the driver's send_rtr is called in place of open_tx; E-9.1-1: IRD and ORD of
 * CONNECT_REPLY; E-9.2-1 E-9.2-2: the IRD word and the ORD word of the Request; E-9.2-8: the bytes
 * of the RTR message; M-7.1-1: the sequence numbers that the driver gets; M-7.1.1-1 M-7.1.2-1: each
 * field of the Request; M-7.1.2-9: the status of CONNECT_REPLY
 */
static void connect_v2_p2p_ipv6_comes_up(struct kunit *test)
{
	connect_p2p_comes_up_on(test, AF_INET6);
}

/* Rules: E-9.1-6: ORD that the driver is given; E-9.2-10 E-9.2-12: the two words of the Request */
static void connect_client_server_sends_no_rtr(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	c->f->config->peer_to_peer = 0;
	conn_dial(c);
	KUNIT_EXPECT_EQ(test, peer_frame_word(&c->frame, 0), 8);
	KUNIT_EXPECT_EQ(test, peer_frame_word(&c->frame, 1), 4);
	peer_make_v2(&c->frame, true, MPA_C, 3, 2, NULL, 0);
	peer_send_frame(c->f, c->peer, &c->frame);
	fake_expect_event(c->fid, 0, IW_CM_EVENT_CONNECT_REPLY, 0);
	KUNIT_EXPECT_EQ(test, c->qp->params.ord, 3);
	FAKE_WAIT(c->f, strstr(c->qp->log, "kick_rx"));
	KUNIT_EXPECT_STREQ(test, c->qp->log, "prepare attach open_tx kick_rx");
}

/*
 * Rules: E-9-1: the IRD word and the ORD word of the Request; E-9.1-6 E-9.1-10: ORD that the driver
 * gets; E-9.1-5 E-9.1-12: IRD that the driver gets; E-9.1-13: 0x3FFF in both words of the Request,
 * and IRD and ORD that the driver gets for each answer of the peer
 */
static void connect_depths_are_left_to_the_ulps(struct kunit *test)
{
	const u16 peer_ird[] = { IW_MPA_DEPTH_ULP, 3 }, peer_ord[] = { IW_MPA_DEPTH_ULP, 2 };
	int i;

	for (i = 0; i < ARRAY_SIZE(peer_ird); i++) {
		struct fake_conn *c = conn_new(test);
		struct fakes *f = test->priv;

		conn_aim(c, AF_INET);
		c->qp = &f->qps[i];
		c->param.ird = IW_MPA_DEPTH_ULP;
		c->param.ord = IW_MPA_DEPTH_ULP;
		c->param.qpn = i + 1;
		KUNIT_ASSERT_EQ(test, fake_connect(c->fid, &c->param), 0);
		conn_answer_dial(c);
		KUNIT_EXPECT_EQ(test, peer_frame_word(&c->frame, 0), MPA_A | IW_MPA_DEPTH_ULP);
		KUNIT_EXPECT_EQ(test, peer_frame_word(&c->frame, 1),
				MPA_CW | MPA_D | IW_MPA_DEPTH_ULP);

		peer_make_v2(&c->frame, true, MPA_C, MPA_A | peer_ird[i], MPA_CW | peer_ord[i],
			     NULL, 0);
		peer_send_frame(f, c->peer, &c->frame);
		fake_expect_event(c->fid, 0, IW_CM_EVENT_CONNECT_REPLY, 0);
		KUNIT_EXPECT_EQ(test, c->qp->params.ird, f->attr.max_ird);
		KUNIT_EXPECT_EQ(test, c->qp->params.ord, min(peer_ird[i], f->attr.max_ord));
	}
}

static void connect_reply_without_a_sends_no_rtr(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	conn_dial(c);
	peer_make_v2(&c->frame, true, MPA_C, 3, 2, NULL, 0);
	peer_send_frame(c->f, c->peer, &c->frame);
	fake_expect_event(c->fid, 0, IW_CM_EVENT_CONNECT_REPLY, 0);
	FAKE_WAIT(c->f, strstr(c->qp->log, "kick_rx"));
	KUNIT_EXPECT_STREQ(test, c->qp->log, "prepare attach open_tx kick_rx");
}

/*
 * Connect with a driver that can send all RTR types. The Reply names some of them in @ird (bits A
 * and B) and @ord (bits C and D); expect that the driver sends the type @rtr.
 */
static void expect_rtr(struct kunit *test, u16 ird, u16 ord, u8 rtr)
{
	struct fake_conn *c = conn_new(test);
	struct fakes *f = test->priv;

	f->attr.rtr_send = IW_MPA_RTR_ALL;
	fake_register_again(f);
	conn_dial(c);
	peer_make_v2(&c->frame, true, MPA_C, ird, ord, NULL, 0);
	peer_send_frame(f, c->peer, &c->frame);
	fake_expect_event(c->fid, 0, IW_CM_EVENT_CONNECT_REPLY, 0);
	peer_recv_rtr(f, c->peer, rtr);
	KUNIT_EXPECT_EQ(test, c->qp->rtr, rtr);
}

/* Rules: E-9.2-8: the type that the driver is told to send, and each byte of the message */
static void connect_rtr_is_read_if_that_is_common(struct kunit *test)
{
	expect_rtr(test, MPA_A | MPA_B | 1, MPA_D, IW_MPA_RTR_READ);
}

/* Rules: E-9.2-8: the type that the driver is told to send, and each byte of the message */
static void connect_rtr_is_send_if_that_is_common(struct kunit *test)
{
	expect_rtr(test, MPA_A | MPA_B | 1, 2, IW_MPA_RTR_SEND);
}

/* Rules: E-10-3: no enhanced data in the Request; M-7.1.1-11: Rev of the Request */
static void connect_v1_sends_and_takes_v1(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct fakes *f = test->priv;

	f->config->mpa_rev = 1;
	conn_dial(c);
	KUNIT_EXPECT_EQ(test, peer_frame_flags(&c->frame), MPA_C);
	KUNIT_EXPECT_EQ(test, peer_frame_rev(&c->frame), 1);
	KUNIT_EXPECT_EQ(test, peer_frame_pd_len(&c->frame), 5);
	peer_make(&c->frame, true, 0, 1, "world", 5);
	peer_send_frame(f, c->peer, &c->frame);
	fake_expect_event(c->fid, 0, IW_CM_EVENT_CONNECT_REPLY, 0);
	KUNIT_EXPECT_EQ(test, c->fid->events[0].pd_len, 5);
	/* a Reply without IRD and ORD: the event has the limits of our own device */
	KUNIT_EXPECT_EQ(test, c->fid->events[0].ird, f->attr.max_ord);
	KUNIT_EXPECT_EQ(test, c->fid->events[0].ord, f->attr.max_ird);
	KUNIT_EXPECT_FALSE(test, c->qp->params.enhanced);
	KUNIT_EXPECT_TRUE(test, c->qp->params.crc);
	FAKE_WAIT(f, strstr(c->qp->log, "kick_rx"));
	KUNIT_EXPECT_STREQ(test, c->qp->log, "prepare attach open_tx kick_rx");
}

/* Rules: M-7.1.2-6: silence as long as the last byte of the Reply is missing */
static void connect_reply_octet_by_octet_comes_up(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	size_t i;

	conn_dial(c);
	peer_make_v2(&c->frame, true, MPA_C, MPA_A | 6, MPA_CW | 2, "world", 5);
	for (i = 0; i < c->frame.len; i++) {
		peer_send(c->f, c->peer, c->frame.buf + i, 1);
		/* let iw_mpa run between two bytes */
		schedule_timeout_uninterruptible(i % 3 == 0);
		if (i == c->frame.len - 2)
			iw_mpa_quiet(IW_MPA_QUIET_MS);
		if (i < c->frame.len - 1)
			KUNIT_EXPECT_EQ(test, c->fid->nr_events, 0);
	}
	fake_expect_event(c->fid, 0, IW_CM_EVENT_CONNECT_REPLY, 0);
	KUNIT_EXPECT_EQ(test, c->fid->events[0].pd_len, 5);
}

/* Rules: M-7.1-1 M-7.1.5-2: the bytes after the Reply are still in the socket */
static void connect_fpdu_behind_reply_is_left_to_the_driver(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct fakes *f = test->priv;

	fake_set_caps(f, f->attr.caps | IW_MPA_CAP_EARLY_RX);
	conn_dial(c);
	peer_make_v2(&c->frame, true, MPA_C, MPA_A | 6, MPA_CW | 2, NULL, 0);
	c->frame.len += peer_make_rtr_write(c->frame.buf + c->frame.len);
	peer_send_frame(f, c->peer, &c->frame);
	fake_expect_event(c->fid, 0, IW_CM_EVENT_CONNECT_REPLY, 0);
	FAKE_WAIT(f, c->qp->nr_fpdus == 1);
	KUNIT_EXPECT_TRUE(test, c->qp->ho.rx_queued);
	KUNIT_EXPECT_EQ(test, c->qp->ho.rcv_nxt + IW_MPA_FPDU_WRITE_SIZE,
			tcp_sk(c->peer->sk)->write_seq);
}

static void connect_fpdus_after_hand_off_reach_the_driver(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	int i;

	conn_active_up(c);
	for (i = 0; i < 3; i++)
		conn_send_rtr(c);
	FAKE_WAIT(c->f, c->qp->nr_fpdus == 3);
	KUNIT_EXPECT_EQ(test, c->fid->nr_events, 1);
}

static void connect_disconnect_closes(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	conn_active_up(c);
	fake_disconnect(c->fid);
	conn_expect_closed(c, IW_MPA_R_ULP_CLOSE);
	peer_expect_eof(c->f, c->peer);
}

static void connect_destroy_of_established_closes(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	conn_active_up(c);
	fake_destroy(c->fid);
	FAKE_WAIT(c->f, !c->fid->refs);
	peer_expect_eof(c->f, c->peer);
}

static u8 long_pd[IW_MPA_PD_MAX + 1];	/* period 251: a shifted copy differs */

static const struct refuse_case {
	const char		*desc;
	int			err;
	struct iw_cm_conn_param	param;
	u8			rev;
	bool			strict;
} refuse_cases[] = {
	{ "no_such_qp", -EINVAL, { .qpn = 77 }, 2 },
	{ "rfc6581_9_pd_509", -EINVAL,
	  { .private_data = long_pd, .private_data_len = 509, .qpn = 1 }, 2 },
	{ "rfc5044_7_1_1_pd_513", -EINVAL,
	  { .private_data = long_pd, .private_data_len = 513, .qpn = 1 }, 1 },
	{ "strict_ird_above_device", -EINVAL, { .ird = 33, .qpn = 1 }, 2, true },
	{ "strict_ord_above_device", -EINVAL, { .ord = 17, .qpn = 1 }, 2, true },
	{ "rfc6581_9_pd_508_fits", 0,
	  { .private_data = long_pd, .private_data_len = 508, .qpn = 1 }, 2 },
	{ "rfc5044_7_1_1_pd_512_fits", 0,
	  { .private_data = long_pd, .private_data_len = 512, .qpn = 1 }, 1 },
	{ "depths_above_device_are_cut", 0,
	  { .ird = 255, .ord = 255, .qpn = 1 }, 2 },
};

KUNIT_ARRAY_PARAM_DESC(refuse, refuse_cases, desc);

/*
 * Rules: E-7-4: the errno of iw_connect; M-7.1.1-14 M-7.1.1-16: PD_Length of the Request, and each
 * byte of private data that it counts
 */
static void connect_refuses_what_it_cannot(struct kunit *test)
{
	const struct refuse_case *rc = test->param_value;
	struct fake_conn *c = conn_new(test);
	int i;

	for (i = 0; i < ARRAY_SIZE(long_pd); i++)
		long_pd[i] = 1 + i % 251;
	c->f->config->mpa_rev = rc->rev;
	c->f->config->strict_ird_ord = rc->strict;
	conn_aim(c, AF_INET);
	KUNIT_EXPECT_EQ(test, fake_connect(c->fid, &rc->param), rc->err);
	if (rc->err) {
		KUNIT_EXPECT_EQ(test, c->fid->nr_events, 0);
		return;
	}
	conn_answer_dial(c);
	KUNIT_EXPECT_EQ(test, peer_frame_pd_len(&c->frame),
			rc->param.private_data_len + (rc->rev == 2 ? 4 : 0));
	KUNIT_EXPECT_EQ(test, 0, memcmp(c->frame.buf + 20 + (rc->rev == 2 ? 4 : 0), long_pd,
					rc->param.private_data_len));
	if (rc->rev == 2) {
		KUNIT_EXPECT_EQ(test, peer_frame_word(&c->frame, 0) & 0x3fff,
				min_t(u32, rc->param.ird, 32));
		KUNIT_EXPECT_EQ(test, peer_frame_word(&c->frame, 1) & 0x3fff,
				min_t(u32, rc->param.ord, 16));
	}
}

static const struct markers_case {
	const char	*desc;
	u32		caps;
	u8		setting;
	bool		asked;
} markers_cases[] = {
	{ "off", IW_MPA_CAP_RX_MARKERS, 0, false },
	{ "on", IW_MPA_CAP_RX_MARKERS, 1, true },
	{ "on_and_the_device_cannot", IW_MPA_CAP_TX_MARKERS, 1, false },
};

KUNIT_ARRAY_PARAM_DESC(markers, markers_cases, desc);

/* Rules: M-7.1.1-5: tx_markers is off if M of the peer is clear, whether or not this end sets M */
static void connect_asks_for_markers_if_set_so(struct kunit *test)
{
	const struct markers_case *mc = test->param_value;
	struct fake_conn *c = conn_new(test);
	struct fakes *f = test->priv;

	fake_set_caps(f, f->attr.caps | mc->caps);
	f->config->markers = mc->setting;
	conn_dial(c);
	KUNIT_EXPECT_EQ(test, !!(peer_frame_flags(&c->frame) & MPA_M), mc->asked);
	peer_make_v2(&c->frame, true, MPA_C, CONN_PEER_IRD, CONN_PEER_ORD, NULL, 0);
	peer_send_frame(f, c->peer, &c->frame);
	fake_expect_event(c->fid, 0, IW_CM_EVENT_CONNECT_REPLY, 0);
	KUNIT_EXPECT_EQ(test, c->qp->params.rx_markers, mc->asked);
	KUNIT_EXPECT_FALSE(test, c->qp->params.tx_markers);
}

/* The peer's Reply has the bit C clear, so only this end decides whether CRC is used. */
/*
 * Rules: M-4.4-1 M-7.1.1-7: the bit C of the Request, and whether the driver is to use CRC, if the
 * setting crc is 0, for a device that can work without CRC and for one that cannot
 */
static void connect_asks_for_crc_unless_it_need_not(struct kunit *test)
{
	const struct crc_case *cc = test->param_value;
	struct fake_conn *c = conn_new(test);
	struct fakes *f = test->priv;

	fake_set_caps(f, f->attr.caps | cc->caps);
	f->config->crc = cc->setting;
	conn_dial(c);
	KUNIT_EXPECT_EQ(test, !!(peer_frame_flags(&c->frame) & MPA_C), cc->asked);
	peer_make_v2(&c->frame, true, 0, CONN_PEER_IRD, CONN_PEER_ORD, NULL, 0);
	peer_send_frame(f, c->peer, &c->frame);
	fake_expect_event(c->fid, 0, IW_CM_EVENT_CONNECT_REPLY, 0);
	KUNIT_EXPECT_EQ(test, c->qp->params.crc, cc->asked);
}

#define MPA_LARGE	0x08

/*
 * A setting has one value for a device and another for the device's network namespace: that of the
 * device counts, unless it is "default".
 */
static const struct device_case {
	const char	*desc;
	const char	*name;
	const char	*device;
	size_t		setting;	/* in struct iw_mpa_config */
	u8		net;
	u8		flags;		/* of the Request */
	u8		rev;
} device_cases[] = {
#define CASE(text, which, own, wide, ...) \
	{ .desc = text, .name = #which, .device = own, .net = wide, \
	  .setting = offsetof(struct iw_mpa_config, which), __VA_ARGS__ }
	CASE("crc_off", crc, "0", 1, .flags = MPA_S, .rev = 2),
	CASE("crc_on", crc, "1", 0, .flags = MPA_S | MPA_C, .rev = 2),
	CASE("crc_default", crc, "default", 0, .flags = MPA_S, .rev = 2),
	CASE("markers_on", markers, "1", 0, .flags = MPA_S | MPA_C | MPA_M, .rev = 2),
	CASE("markers_off", markers, "0", 1, .flags = MPA_S | MPA_C, .rev = 2),
	CASE("large_fpdu_on", large_fpdu, "1", 0, .flags = MPA_S | MPA_C | MPA_LARGE, .rev = 2),
	CASE("large_fpdu_off", large_fpdu, "0", 1, .flags = MPA_S | MPA_C, .rev = 2),
	CASE("mpa_rev_1", mpa_rev, "1", 2, .flags = MPA_C, .rev = 1),
	CASE("mpa_rev_2", mpa_rev, "2", 1, .flags = MPA_S | MPA_C, .rev = 2),
};

#undef CASE

KUNIT_ARRAY_PARAM_DESC(device, device_cases, desc);

static void connect_setting_of_the_device_comes_first(struct kunit *test)
{
	const struct device_case *dc = test->param_value;
	struct fake_conn *c = conn_new(test);
	struct fakes *f = test->priv;

	fake_set_caps(f, f->attr.caps | IW_MPA_CAP_NO_CRC | IW_MPA_CAP_RX_MARKERS |
			 IW_MPA_CAP_LARGE_FPDU);
	f->config->v1_fallback = 0;
	*((u8 *)f->config + dc->setting) = dc->net;
	fake_set_device(f, dc->name, dc->device);
	conn_dial(c);
	KUNIT_EXPECT_EQ(test, peer_frame_flags(&c->frame), dc->flags);
	KUNIT_EXPECT_EQ(test, peer_frame_rev(&c->frame), dc->rev);
	peer_rst(f, c->peer);
	fake_expect_event(c->fid, 0, IW_CM_EVENT_CONNECT_REPLY, -ECONNRESET);
}

static void connect_without_device_is_enodev(struct kunit *test)
{
	struct iw_cm_conn_param param = { .qpn = 1 };
	struct fakes *f = test->priv;

	fake_unregister(f);
	KUNIT_EXPECT_EQ(test, fake_connect(fake_id_create(f), &param), -ENODEV);
}

/*
 * The ULP is in another network namespace than the device and the peer's listener: TCP connects in
 * the ULP's namespace, in which no socket listens on the port.
 */
static void connect_from_another_namespace_is_there(struct kunit *test)
{
	struct iw_cm_conn_param param = { .qpn = 1 };
	struct fakes *f = test->priv;
	struct fake_id *fid = fake_id_create(f);

	peer_listen(f, fid, AF_INET);	/* in the device's namespace */
	fake_live_elsewhere(fid);
	KUNIT_EXPECT_EQ(test, fake_connect(fid, &param), 0);
	fake_expect_event(fid, 0, IW_CM_EVENT_CONNECT_REPLY,
			  iw_mpa_reason_errno(IW_MPA_R_TCP_REFUSED));
	KUNIT_EXPECT_EQ(test, f->qps[0].refs, 1);
}

static void connect_unknown_family_is_refused(struct kunit *test)
{
	struct iw_cm_conn_param param = { .qpn = 1 };
	struct fakes *f = test->priv;
	struct fake_id *fid = fake_id_create(f);

	fid->id.m_local_addr.ss_family = AF_UNIX;
	KUNIT_EXPECT_EQ(test, fake_connect(fid, &param), -EAFNOSUPPORT);
	KUNIT_EXPECT_EQ(test, f->qps[0].refs, 1);
}

/* if addresses are mapped, TCP connects to the mapped address */
static void connect_goes_to_the_mapped_address(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct sockaddr_in *sin;

	conn_aim(c, AF_INET);
	sin = (struct sockaddr_in *)&c->fid->id.remote_addr;
	sin->sin_port = htons(9);
	KUNIT_ASSERT_EQ(test, fake_connect(c->fid, &c->param), 0);
	conn_answer_dial(c);
}

/*
 * iw_mpa sends no Terminate message to a peer that asks for Markers: iw_mpa makes FPDUs without
 * Markers, which that peer could not parse.
 */
/* Rules: E-8-1 E-9.3-1: FIN, and no byte before it, even if the device can insert Markers */
static void connect_refusal_with_markers_is_fin_alone(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct fakes *f = test->priv;

	fake_set_caps(f, f->attr.caps | IW_MPA_CAP_TX_MARKERS);
	conn_dial(c);
	peer_make_v2(&c->frame, true, MPA_M | MPA_C, MPA_A | 8, 1, NULL, 0);
	peer_send_frame(f, c->peer, &c->frame);
	conn_expect_failed(c, -EPROTO);
	peer_expect_eof(f, c->peer);
}

static struct kunit_case connect_cases[] = {
	KUNIT_CASE(connect_v2_p2p_ipv4_comes_up),
	KUNIT_CASE(connect_v2_p2p_ipv6_comes_up),
	KUNIT_CASE(connect_tos_is_the_sockets),
	KUNIT_CASE(connect_client_server_sends_no_rtr),
	KUNIT_CASE(connect_reply_without_a_sends_no_rtr),
	KUNIT_CASE(connect_depths_are_left_to_the_ulps),
	KUNIT_CASE(connect_rtr_is_read_if_that_is_common),
	KUNIT_CASE(connect_rtr_is_send_if_that_is_common),
	KUNIT_CASE(connect_v1_sends_and_takes_v1),
	KUNIT_CASE(connect_reply_octet_by_octet_comes_up),
	KUNIT_CASE(connect_fpdu_behind_reply_is_left_to_the_driver),
	KUNIT_CASE(connect_fpdus_after_hand_off_reach_the_driver),
	KUNIT_CASE(connect_disconnect_closes),
	KUNIT_CASE(connect_destroy_of_established_closes),
	KUNIT_CASE_PARAM(connect_refuses_what_it_cannot, refuse_gen_params),
	KUNIT_CASE_PARAM(connect_asks_for_markers_if_set_so, markers_gen_params),
	KUNIT_CASE_PARAM(connect_asks_for_crc_unless_it_need_not, crc_gen_params),
	KUNIT_CASE_PARAM(connect_setting_of_the_device_comes_first, device_gen_params),
	KUNIT_CASE(connect_without_device_is_enodev),
	KUNIT_CASE(connect_from_another_namespace_is_there),
	KUNIT_CASE(connect_unknown_family_is_refused),
	KUNIT_CASE(connect_goes_to_the_mapped_address),
	KUNIT_CASE(connect_refusal_with_markers_is_fin_alone),
	{}
};

static struct kunit_suite connect_suite = {
	.name = "iw_mpa_connect",
	.init = fakes_init,
	.exit = fakes_exit,
	.test_cases = connect_cases,
};

kunit_test_suite(connect_suite);

// SPDX-License-Identifier: GPL-2.0
/*
 * TCP Fast Open (RFC 7413): if both ends have enabled it, the initiator sends its Request with the
 * SYN. If an end has not, or TCP has no cookie yet, the Request follows after the handshake of TCP.
 */

#include "iw_mpa_fakes.h"

#include <linux/in.h>
#include <linux/tcp.h>
#include <net/tcp.h>

/* Set net.ipv4.tcp_fastopen for both ends: they are in one network namespace. */
static int fast_open_init(struct kunit *test)
{
	int err = fakes_init(test);
	struct fakes *f = test->priv;

	if (err)
		return err;
	init_net.ipv4.sysctl_tcp_fastopen = TFO_CLIENT_ENABLE | TFO_SERVER_ENABLE;
	f->config->fast_open = 1;
	f->fast_open = true;
	return 0;
}

static void fast_open_exit(struct kunit *test)
{
	init_net.ipv4.sysctl_tcp_fastopen = TFO_CLIENT_ENABLE;
	fakes_exit(test);
}

/* Did the SYN carry data, and has the TCP that received the SYN accepted them? */
static bool came_with_the_syn(const struct socket *sock)
{
	return tcp_sk(sock->sk)->syn_data_acked;
}

static void hang_up(struct fake_conn *c)
{
	conn_connect(c);
	peer_fin(c->peer);
	conn_expect_closed(c, IW_MPA_R_PEER_CLOSED);
}

/* Make a first connection, with which TCP gets a Fast Open cookie for the peer's address. */
static void get_cookie(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	conn_dial(c);
	hang_up(c);
}

static void fast_open_request_goes_with_the_syn(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	get_cookie(test);
	conn_dial(c);
	KUNIT_EXPECT_TRUE(test, came_with_the_syn(c->peer));
	hang_up(c);
}

static void fast_open_off_means_off(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	get_cookie(test);
	c->f->config->fast_open = 0;
	conn_dial(c);
	KUNIT_EXPECT_FALSE(test, came_with_the_syn(c->peer));
	hang_up(c);
}

/* The peer acknowledges the SYN, but not the Request with it, so TCP sends the Request again. */
static void fast_open_unwanted_by_the_peer_comes_up(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	get_cookie(test);
	c->f->fast_open = false;
	conn_dial(c);
	KUNIT_EXPECT_FALSE(test, came_with_the_syn(c->peer));
	hang_up(c);
}

/* The SYN with the Request goes to a closed port: the errno is the same as without Fast Open. */
static void fast_open_refused_is_told(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	get_cookie(test);
	c->param.qpn = 1;
	c->fid = fake_id_create(c->f);
	c->listener = peer_listen(c->f, c->fid, AF_INET);
	kernel_sock_shutdown(c->listener, SHUT_RDWR);
	KUNIT_ASSERT_EQ(test, fake_connect(c->fid, &c->param), 0);
	conn_expect_failed(c, -ECONNRESET);
}

/* After a FIN in place of a Reply the next SYN carries the Request of revision 1. */
static void fast_open_falls_back_to_revision_1(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	get_cookie(test);
	conn_dial(c);
	KUNIT_EXPECT_EQ(test, peer_frame_rev(&c->frame), 2);
	peer_fin(c->peer);
	conn_answer_dial(c);
	KUNIT_EXPECT_TRUE(test, came_with_the_syn(c->peer));
	KUNIT_EXPECT_EQ(test, peer_frame_rev(&c->frame), 1);
	peer_make(&c->frame, true, MPA_C, 1, NULL, 0);
	peer_send_frame(c->f, c->peer, &c->frame);
	fake_expect_event(c->fid, 0, IW_CM_EVENT_CONNECT_REPLY, 0);
}

/*
 * Have the peer connect by Fast Open, with its Request in the SYN if it has a cookie. Then have the
 * ULP accept, and wait for ESTABLISHED.
 */
static void call_with_the_syn(struct fake_conn *c, struct fakes *f)
{
	conn_listen(c);
	conn_make_good_request(c);
	c->peer = peer_connect_and_send(f, c->lis, c->frame.buf, c->frame.len);
	c->fid = fake_next_request(c->lis);
	conn_accept(c);
	conn_establish(c);
}

static void fast_open_listener_takes_the_request(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	get_cookie(test);
	call_with_the_syn(c, test->priv);
	KUNIT_EXPECT_TRUE(test, came_with_the_syn(c->peer));
}

static void fast_open_off_listener_takes_no_octets_with_the_syn(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	get_cookie(test);
	c->f->config->fast_open = 0;
	call_with_the_syn(c, c->f);
	KUNIT_EXPECT_FALSE(test, came_with_the_syn(c->peer));
}

static struct kunit_case fast_open_cases[] = {
	KUNIT_CASE(fast_open_request_goes_with_the_syn),
	KUNIT_CASE(fast_open_off_means_off),
	KUNIT_CASE(fast_open_unwanted_by_the_peer_comes_up),
	KUNIT_CASE(fast_open_refused_is_told),
	KUNIT_CASE(fast_open_falls_back_to_revision_1),
	KUNIT_CASE(fast_open_listener_takes_the_request),
	KUNIT_CASE(fast_open_off_listener_takes_no_octets_with_the_syn),
	{}
};

static struct kunit_suite fast_open_suite = {
	.name = "iw_mpa_fast_open",
	.init = fast_open_init,
	.exit = fast_open_exit,
	.test_cases = fast_open_cases,
};

kunit_test_suite(fast_open_suite);

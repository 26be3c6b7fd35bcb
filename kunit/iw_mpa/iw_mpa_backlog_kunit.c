// SPDX-License-Identifier: GPL-2.0
/*
 * A listener reports at most as many unanswered Requests to the ULP as the backlog that the ULP has
 * passed to rdma_listen(), but more of them if the ULP answers none for a while. Further Requests
 * wait, in iw_mpa or TCP, until the ULP answers a reported one, or the peer of a reported one
 * closes.
 */

#include "backlog.h"
#include "device.h"
#include "ep.h"
#include "iw_mpa_fakes.h"
#include "stats.h"

#include <linux/jiffies.h>

#define PEERS	5
#define SAID	2	/* backlog that the ULP passes to rdma_listen() */

/* Connect PEERS clients, one after the other, each with a good Request. */
static void crowd(struct fake_conn *c, struct fakes *f, struct socket **peers)
{
	int i;

	f->backlog = SAID;
	f->config->verdict_timeout_ms = 3600000;	/* a silent ULP gets more after 72 s */
	conn_listen(c);
	conn_make_good_request(c);
	for (i = 0; i < PEERS; i++) {
		peers[i] = peer_connect(f, c->lis);
		peer_send_frame(f, peers[i], &c->frame);
	}
}

/*
 * Return the listener of a Request that is not answered yet. No reference is taken: the listener
 * exists until its cm_id is destroyed.
 */
static struct iw_mpa_listener *listener_of(struct fake_id *child)
{
	struct iw_mpa_ep *ep = iw_mpa_ep_find((unsigned long)child->id.provider_data);
	struct iw_mpa_listener *lis;

	KUNIT_ASSERT_NOT_NULL(child->f->test, ep);
	lis = ep->listener;
	iw_mpa_ep_drop(ep);
	return lis;
}

static bool so_many_wait(const struct iw_mpa_listener *lis, unsigned int count)
{
	/* A stale value is harmless: the caller polls until the value fits. */
	return data_race(lis->no_room_count) == count;
}

static void look_again_later(struct iw_mpa_listener *lis)
{
	spin_lock_bh(&lis->dev->lock);
	lis->moved = jiffies - 100 * HZ;
	spin_unlock_bh(&lis->dev->lock);
}

/* as many Requests are reported at first as the backlog, one more for each answer */
static void backlog_asks_as_many_as_the_ulp_said_in_order(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct fake_id *ids[PEERS];
	struct socket *peers[PEERS];
	int i;

	crowd(c, c->f, peers);
	for (i = 0; i < SAID; i++)
		ids[i] = fake_next_request(c->lis);
	FAKE_POLL(c->f, so_many_wait(listener_of(ids[0]), PEERS - SAID));
	KUNIT_EXPECT_EQ(test, READ_ONCE(c->lis->nr_events), SAID);
	for (i = 0; i < PEERS; i++) {
		if (i >= SAID)
			ids[i] = fake_next_request(c->lis);
		KUNIT_EXPECT_LE(test, READ_ONCE(c->lis->nr_events), SAID + i);
		KUNIT_EXPECT_EQ(test, fake_reject(ids[i], NULL, 0), 0);
		peer_recv_frame(c->f, peers[i], &c->frame);
	}
}

/* another Request is reported after an accept, and after a peer's RST */
static void backlog_accept_and_a_peer_that_leaves_make_room(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct fakes *f = test->priv;
	struct socket *peers[PEERS];
	struct fake_id *ids[PEERS];
	u8 rtr[IW_MPA_FPDU_MAX];
	int i;

	crowd(c, f, peers);
	for (i = 0; i < SAID; i++)
		ids[i] = fake_next_request(c->lis);
	c->param.qpn = 1;
	KUNIT_ASSERT_EQ(test, fake_accept(ids[0], &c->param), 0);
	peer_send(f, peers[0], rtr, peer_make_rtr_write(rtr));
	ids[SAID] = fake_next_request(c->lis);
	peer_rst(f, peers[1]);
	ids[SAID + 1] = fake_next_request(c->lis);
	FAKE_POLL(f, so_many_wait(listener_of(ids[SAID]), PEERS - SAID - 2));
	KUNIT_EXPECT_EQ(test, READ_ONCE(c->lis->nr_events), SAID + 2);
	fake_expect_event(ids[0], 0, IW_CM_EVENT_ESTABLISHED, 0);
}

/* a Request that waits is never reported if its peer resets the connection */
static void backlog_peer_that_leaves_while_it_waits_is_forgotten(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct fakes *f = test->priv;
	struct socket *peers[PEERS];
	struct fake_id *ids[SAID], *next;
	int i;

	crowd(c, f, peers);
	for (i = 0; i < SAID; i++)
		ids[i] = fake_next_request(c->lis);
	FAKE_POLL(f, so_many_wait(listener_of(ids[0]), PEERS - SAID));
	peer_rst(f, peers[SAID]);
	FAKE_POLL(f, so_many_wait(listener_of(ids[0]), PEERS - SAID - 1));
	KUNIT_EXPECT_EQ(test, READ_ONCE(c->lis->nr_events), SAID);
	KUNIT_EXPECT_EQ(test, fake_reject(ids[0], NULL, 0), 0);
	next = fake_next_request(c->lis);
	KUNIT_EXPECT_EQ(test, fake_reject(next, NULL, 0), 0);
	peer_recv_frame(f, peers[SAID + 1], &c->frame);
}

/* when the listener is destroyed each Request that waits in its backlog is rejected */
static void backlog_listener_that_goes_refuses_all_that_wait(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct socket *peers[PEERS];
	struct fake_id *id;
	int i;

	crowd(c, c->f, peers);
	for (i = 0; i < SAID; i++)
		id = fake_next_request(c->lis);
	FAKE_POLL(c->f, so_many_wait(listener_of(id), PEERS - SAID));
	fake_destroy(c->lis);
	for (i = SAID; i < PEERS; i++) {
		peer_recv_frame(c->f, peers[i], &c->frame);
		KUNIT_EXPECT_TRUE(test, peer_frame_flags(&c->frame) & MPA_R);
	}
}

/* a ULP that does not answer gets more Requests after a time, beyond its backlog */
static void backlog_ulp_that_does_not_answer_is_asked_again(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct iw_mpa_listener *lis;
	struct socket *peers[PEERS];
	int i;

	crowd(c, c->f, peers);
	for (i = 0; i < SAID; i++)
		lis = listener_of(fake_next_request(c->lis));
	FAKE_POLL(c->f, so_many_wait(lis, PEERS - SAID));
	look_again_later(lis);
	for (i = 0; i < SAID; i++)
		fake_next_request(c->lis);
	FAKE_POLL(c->f, so_many_wait(lis, PEERS - 2 * SAID));
	KUNIT_EXPECT_EQ(test, READ_ONCE(c->lis->nr_events), 2 * SAID);
	look_again_later(lis);
	fake_next_request(c->lis);
}

/* while half_open_listener_max Requests wait, TCP keeps further connections */
static void backlog_too_many_wait_in_tcp(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct fakes *f = test->priv;
	struct iw_mpa_listener *lis;
	struct socket *peers[PEERS];
	struct fake_id *ids[SAID];
	int i;

	f->config->half_open_listener_max = 1;
	crowd(c, f, peers);
	for (i = 0; i < SAID; i++)
		ids[i] = fake_next_request(c->lis);
	lis = listener_of(ids[0]);
	FAKE_POLL(f, so_many_wait(lis, 1));
	peer_expect_quiet(f, peers[PEERS - 1]);
	KUNIT_EXPECT_EQ(test, iw_mpa_count_read(NULL, IW_MPA_CNT_ep_created) -
			      iw_mpa_count_read(NULL, IW_MPA_CNT_ep_destroyed), (u64)SAID + 1);
	for (i = 0; i < SAID; i++)
		KUNIT_EXPECT_EQ(test, fake_reject(ids[i], NULL, 0), 0);
	for (i = SAID; i < PEERS; i++) {
		KUNIT_EXPECT_EQ(test, fake_reject(fake_next_request(c->lis), NULL, 0), 0);
		peer_recv_frame(f, peers[i], &c->frame);
	}
}

static struct kunit_case backlog_cases[] = {
	KUNIT_CASE(backlog_asks_as_many_as_the_ulp_said_in_order),
	KUNIT_CASE(backlog_accept_and_a_peer_that_leaves_make_room),
	KUNIT_CASE(backlog_peer_that_leaves_while_it_waits_is_forgotten),
	KUNIT_CASE(backlog_listener_that_goes_refuses_all_that_wait),
	KUNIT_CASE(backlog_ulp_that_does_not_answer_is_asked_again),
	KUNIT_CASE(backlog_too_many_wait_in_tcp),
	{}
};

static struct kunit_suite backlog_suite = {
	.name = "iw_mpa_backlog",
	.init = fakes_init,
	.exit = fakes_exit,
	.test_cases = backlog_cases,
};

kunit_test_suite(backlog_suite);

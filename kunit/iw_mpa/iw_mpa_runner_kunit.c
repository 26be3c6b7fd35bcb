// SPDX-License-Identifier: GPL-2.0
/*
 * How many events a call of iw_cm (iw_accept or iw_reject) handles while events arrive faster than
 * they are handled. iw_cm has a single worker for all connections of the host, which calls
 * iw_reject: a peer that sends one byte after the other must not keep that worker busy.
 *
 * The runner is the context that handles an endpoint's events: a work item, or a call of iw_cm. The
 * tests replace the recvmsg of the endpoint's socket: each time the runner reads, a further byte
 * has arrived.
 *
 * The last tests are about a TIMED_OUT that was raised for an earlier wait, and about an event that
 * is left to another runner.
 */

#include "ep.h"
#include "iw_mpa_fakes.h"

#include <linux/net.h>

/* Events that one call of iw_cm handles at most: its own, and IW_MPA_BORROWED more */
#define RUNNER_EVENTS	5
/* Bytes of a flood. It is finite, so that a test whose runner handles all of it fails, and ends. */
#define RUNNER_FLOOD	200

/* Bytes that a peer sends to a lingering endpoint, one after the other */
struct flood {
	struct iw_mpa_ep	*ep;
	struct sock		*peer;	/* the peer's end of the connection */
	struct proto_ops	ops;	/* ops of the endpoint's socket, with another recvmsg */
	int			found;	/* result of recvmsg */
	int			reads;	/* how often the runner has read */
	/* how often the runner has read while a call of iw_cm waited to be the runner */
	int			awaited;
	/* data_ready of the peer's socket */
	void			(*data_ready)(struct sock *sk);
};

static struct flood *flood;

/* In place of recvmsg: raise READABLE for one more byte, and sleep, so that other tasks can run. */
static int flood_recvmsg(struct socket *sock, struct msghdr *msg, size_t len, int flags)
{
	if (READ_ONCE(flood->ep->awaited))
		flood->awaited++;
	if (flood->reads == RUNNER_FLOOD)
		return -EAGAIN;
	WRITE_ONCE(flood->reads, flood->reads + 1);
	iw_mpa_raise(flood->ep, IW_MPA_EV_READABLE);
	schedule_timeout_uninterruptible(1);
	return flood->found;
}

/*
 * In place of sk_data_ready of the peer's socket, called when the Reject arrives: raise READABLE
 * for the endpoint while iw_reject runs.
 */
static void flood_peer_ready(struct sock *sk)
{
	iw_mpa_raise(flood->ep, IW_MPA_EV_READABLE);
	flood->data_ready(sk);
}

static void flood_begin(struct kunit *test, struct fake_conn *c, int found)
{
	struct socket *sock;

	flood = kunit_kzalloc(test, sizeof(*flood), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, flood);
	flood->ep = iw_mpa_ep_find((unsigned long)c->fid->id.provider_data);
	KUNIT_ASSERT_NOT_NULL(test, flood->ep);
	flood->found = found;
	sock = flood->ep->sock.sock;
	flood->ops = *sock->ops;
	flood->ops.recvmsg = flood_recvmsg;
	sock->ops = &flood->ops;
}

static void flood_hook_peer(struct fake_conn *c)
{
	flood->peer = c->peer->sk;
	write_lock_bh(&flood->peer->sk_callback_lock);
	flood->data_ready = flood->peer->sk_data_ready;
	flood->peer->sk_data_ready = flood_peer_ready;
	write_unlock_bh(&flood->peer->sk_callback_lock);
}

static void flood_unhook_peer(void)
{
	write_lock_bh(&flood->peer->sk_callback_lock);
	flood->peer->sk_data_ready = flood->data_ready;
	write_unlock_bh(&flood->peer->sk_callback_lock);
}

/* Check that no event was lost: the flood was read to its end, and then the peer's FIN. */
static void flood_end(struct fake_conn *c)
{
	FAKE_POLL(c->f, READ_ONCE(flood->reads) == RUNNER_FLOOD);
	peer_fin(c->peer);
	FAKE_POLL(c->f, READ_ONCE(flood->ep->state) == IW_MPA_ST_DEAD);
	flush_work(&flood->ep->work);
	iw_mpa_ep_drop(flood->ep);
}

/* Make a responder whose ULP has not answered in time, and whose peer sends byte after byte. */
static struct fake_conn *flood_after_the_verdict(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct fakes *f = test->priv;

	f->config->verdict_timeout_ms = FAKE_SHORT_MS;
	f->config->linger_timeout_ms = 600000;
	conn_call(c);
	flood_begin(test, c, -EAGAIN);
	peer_recv_frame(f, c->peer, &c->frame);
	FAKE_POLL(f, READ_ONCE(flood->ep->state) == IW_MPA_ST_LINGER);
	peer_send(f, c->peer, "x", 1);
	FAKE_POLL(f, READ_ONCE(flood->reads));
	return c;
}

static void runner_lets_a_reject_in(struct kunit *test)
{
	struct fake_conn *c = flood_after_the_verdict(test);

	KUNIT_EXPECT_EQ(test, fake_reject(c->fid, NULL, 0), -ECONNRESET);
	KUNIT_EXPECT_LE(test, flood->awaited, RUNNER_EVENTS);
	flood_end(c);
}

static void runner_lets_an_accept_in(struct kunit *test)
{
	struct fake_conn *c = flood_after_the_verdict(test);

	KUNIT_EXPECT_EQ(test, fake_accept(c->fid, &c->param), -ECONNRESET);
	KUNIT_EXPECT_LE(test, flood->awaited, RUNNER_EVENTS);
	flood_end(c);
}

/* iw_reject handles the endpoint's events itself, and may call recvmsg at most @reads times. */
static void runner_reject(struct kunit *test, int found, int reads)
{
	struct fake_conn *c = conn_new(test);
	int done;

	c->f->config->linger_timeout_ms = 600000;
	conn_call(c);
	flood_begin(test, c, found);
	flood_hook_peer(c);
	KUNIT_EXPECT_EQ(test, fake_reject(c->fid, NULL, 0), 0);
	done = READ_ONCE(flood->reads);
	KUNIT_EXPECT_GT(test, done, 0);
	KUNIT_EXPECT_LE(test, done, reads);
	peer_recv_frame(c->f, c->peer, &c->frame);
	flood_unhook_peer();
	flood_end(c);
}

static void runner_of_a_reject_stops_at_its_budget(struct kunit *test)
{
	runner_reject(test, -EAGAIN, RUNNER_EVENTS);
}

/*
 * Here recvmsg returns a byte at each call. After a read that returns bytes iw_mpa reads once more
 * for the same event, so iw_reject may read twice for each of the RUNNER_EVENTS events.
 */
static void runner_of_a_reject_reads_in_turns(struct kunit *test)
{
	runner_reject(test, 1, 2 * RUNNER_EVENTS);
}

/* Return an endpoint, with a reference, that waits for the ULP's answer and handles no event. */
static struct iw_mpa_ep *runner_of_none(struct kunit *test, struct fake_conn *c)
{
	struct iw_mpa_ep *ep;

	conn_call(c);
	ep = iw_mpa_ep_find((unsigned long)c->fid->id.provider_data);
	KUNIT_ASSERT_NOT_NULL(test, ep);
	FAKE_POLL(c->f, READ_ONCE(ep->state) == IW_MPA_ST_AWAIT_VERDICT && !READ_ONCE(ep->busy));
	return ep;
}

/* TIMED_OUT was raised for an earlier wait: it must not end the present wait. */
static void runner_drops_the_end_of_an_earlier_wait(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct iw_mpa_ep *ep = runner_of_none(test, c);

	iw_mpa_raise(ep, IW_MPA_EV_TIMED_OUT);
	flush_work(&ep->work);
	KUNIT_EXPECT_EQ(test, (int)READ_ONCE(ep->state), (int)IW_MPA_ST_AWAIT_VERDICT);
	iw_mpa_ep_drop(ep);
	conn_accept(c);
	conn_establish(c);
}

/* The work item starts while iw_accept handles events: it must leave PEER_CLOSED to iw_accept. */
static void runner_that_is_late_leaves_all_to_the_other(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct iw_mpa_ep *ep = runner_of_none(test, c);

	c->qp->nap[FAKE_PREPARE] = HZ / 10;
	/* The queued work item has not begun when iw_accept becomes the runner. */
	iw_mpa_raise(ep, IW_MPA_EV_PEER_CLOSED);
	KUNIT_EXPECT_EQ(test, fake_accept(c->fid, &c->param), 0);
	iw_mpa_ep_drop(ep);
	fake_expect_event(c->fid, 0, IW_CM_EVENT_ESTABLISHED, -ECONNRESET);
}

static struct kunit_case runner_cases[] = {
	KUNIT_CASE(runner_lets_a_reject_in),
	KUNIT_CASE(runner_lets_an_accept_in),
	KUNIT_CASE(runner_of_a_reject_stops_at_its_budget),
	KUNIT_CASE(runner_of_a_reject_reads_in_turns),
	KUNIT_CASE(runner_drops_the_end_of_an_earlier_wait),
	KUNIT_CASE(runner_that_is_late_leaves_all_to_the_other),
	{}
};

static struct kunit_suite runner_suite = {
	.name = "iw_mpa_runner",
	.init = fakes_init,
	.exit = fakes_exit,
	.test_cases = runner_cases,
};

kunit_test_suite(runner_suite);

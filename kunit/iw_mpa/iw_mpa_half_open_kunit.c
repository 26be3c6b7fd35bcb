// SPDX-License-Identifier: GPL-2.0
/*
 * Limits of a responder for half-open connections: those without a whole Request, and those that
 * wait after a Reject for the peer to close
 */

#include "backlog.h"
#include "device.h"
#include "ep.h"
#include "iw_mpa_fakes.h"
#include "iw_mpa_quiet.h"
#include "main.h"
#include "stats.h"

#include <linux/kthread.h>
#include <linux/workqueue.h>

/* beyond half_open_max the oldest half-open connection is closed */
static void half_open_too_many_oldest_yields(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct fakes *f = test->priv;
	struct socket *peers[3];
	int i;

	f->config->half_open_max = 2;
	conn_listen(c);
	for (i = 0; i < 3; i++)
		peers[i] = peer_connect(f, c->lis);
	peer_expect_eof(f, peers[0]);
	conn_make_good_request(c);
	peer_send_frame(f, peers[1], &c->frame);
	fake_next_request(c->lis);
	peer_send_frame(f, peers[2], &c->frame);
	fake_next_request(c->lis);
}

/* beyond half_open_listener_max the listener's own oldest one is closed */
static void half_open_listener_yields_its_own(struct kunit *test)
{
	struct fake_conn *other = conn_new(test), *c = conn_new(test);
	struct fakes *f = test->priv;
	struct socket *peers[3], *old;
	int i;

	f->config->half_open_listener_max = 2;
	conn_listen(other);
	old = peer_connect(f, other->lis);
	conn_listen(c);
	for (i = 0; i < 3; i++)
		peers[i] = peer_connect(f, c->lis);
	peer_expect_eof(f, peers[0]);
	conn_make_good_request(c);
	peer_send_frame(f, peers[1], &c->frame);
	fake_next_request(c->lis);
	peer_send_frame(f, old, &c->frame);
	fake_next_request(other->lis);
}

/* another network namespace's limit closes none of this one's connections. */
static void half_open_of_another_namespace_does_not_yield(struct kunit *test)
{
	struct fake_conn *c = conn_new(test), *other = conn_new(test);
	struct fakes *f = test->priv;
	struct socket *theirs[2];
	struct fake_id *lis;
	int i;

	conn_listen(c);
	c->peer = peer_connect(f, c->lis);
	lis = fake_id_create(f);
	lis->id.local_addr = c->lis->id.local_addr;
	lis->id.m_local_addr = c->lis->id.m_local_addr;
	fake_live_elsewhere(lis);
	((struct iw_mpa_config *)iw_mpa_config(f->elsewhere))->half_open_max = 1;
	KUNIT_ASSERT_EQ(test, fake_listen(lis), 0);
	f->peers_net = f->elsewhere;
	for (i = 0; i < ARRAY_SIZE(theirs); i++)
		theirs[i] = peer_connect(f, lis);
	peer_expect_eof(f, theirs[0]);

	conn_make_good_request(other);
	peer_send_frame(f, c->peer, &other->frame);
	fake_next_request(c->lis);
	peer_send_frame(f, theirs[1], &other->frame);
	fake_next_request(lis);
}

static bool endpoints_are(u64 count)
{
	return iw_mpa_count_read(NULL, IW_MPA_CNT_ep_created) -
	       iw_mpa_count_read(NULL, IW_MPA_CNT_ep_destroyed) == count;
}

/*
 * Return the number of half-open connections of @dev (without a whole Request, or rejected and not
 * closed by the peer) in one network namespace: tests that call this function use no other.
 */
static unsigned int half_opens(struct iw_mpa_device *dev)
{
	struct iw_mpa_crowd *crowd = list_first_entry(&dev->crowds, struct iw_mpa_crowd, node);

	return READ_ONCE(crowd->half_open_count);
}

/* the limit counts rejected connections, too, if their peers do not close */
static void refused_too_many_oldest_yields(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct fakes *f = test->priv;
	struct iw_mpa_device *dev;
	struct socket *peers[3];
	struct fake_id *ids[3];
	int i;

	f->config->half_open_max = 2;
	f->config->linger_timeout_ms = 600000;
	conn_listen(c);
	conn_make_good_request(c);
	for (i = 0; i < 3; i++) {
		peers[i] = peer_connect(f, c->lis);
		peer_send_frame(f, peers[i], &c->frame);
		ids[i] = fake_next_request(c->lis);
	}
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, fake_reject(ids[i], NULL, 0), 0);
		peer_recv_frame(f, peers[i], &c->frame);
	}
	peer_expect_rst_on_send(f, peers[0]);
	FAKE_POLL(f, endpoints_are(2));
	peer_fin(peers[1]);
	FAKE_POLL(f, endpoints_are(1));
	dev = iw_mpa_device_get(f->ibdev);
	KUNIT_EXPECT_EQ(test, half_opens(dev), 1);
	iw_mpa_device_put(dev);
	peer_fin(peers[2]);
}

#define HALF	10	/* bytes of a Request */

static void half_open(struct fake_conn *c, struct fakes *f)
{
	struct iw_mpa_device *dev = iw_mpa_device_get(f->ibdev);

	conn_listen(c);
	c->peer = peer_connect(f, c->lis);
	peer_send(f, c->peer, "MPA ID Req", HALF);
	FAKE_POLL(f, half_opens(dev) == 1);
	iw_mpa_device_put(dev);
}

static int reject_at_once(struct fake_id *child)
{
	return fake_reject(child, NULL, 0);
}

/* Return the only half-open endpoint, with a reference. */
static struct iw_mpa_ep *the_half_open(struct fake_id *lis)
{
	struct iw_mpa_device *dev = iw_mpa_device_get(lis->id.device);
	struct iw_mpa_crowd *crowd;
	struct iw_mpa_ep *ep;

	FAKE_POLL(lis->f, half_opens(dev) == 1);
	spin_lock_irq(&dev->lock);
	crowd = list_first_entry(&dev->crowds, struct iw_mpa_crowd, node);
	ep = iw_mpa_ep_hold(list_first_entry(&crowd->half_open, struct iw_mpa_ep, queued_crowd));
	spin_unlock_irq(&dev->lock);
	iw_mpa_device_put(dev);
	return ep;
}

/*
 * To make room for a newer connection the event YIELD closes a half-open one, whose Request is not
 * complete. It is raised while the Request is being read. The ULP rejects before YIELD is handled:
 * then YIELD has no effect, so that the peer has time to read the Reject.
 */
/* YIELD has no effect once the ULP has rejected */
static void half_open_yield_after_the_request_is_void(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct fakes *f = test->priv;
	struct iw_mpa_ep *ep;

	f->config->linger_timeout_ms = 600000;
	half_open(c, f);
	c->lis->answer = reject_at_once;
	ep = the_half_open(c->lis);
	FAKE_POLL(f, iw_mpa_run_claim(ep, IW_MPA_EV_YIELD));
	conn_make_good_request(c);
	peer_send(f, c->peer, c->frame.buf + HALF, c->frame.len - HALF);
	/* READABLE may have been for the first part: poll for the whole Request. */
	FAKE_POLL(f, ep->reader.have + iw_mpa_sock_unread(&ep->sock) == c->frame.len);
	iw_mpa_raise(ep, IW_MPA_EV_YIELD);
	iw_mpa_run(iw_mpa_ep_hold(ep), IW_MPA_EV_READABLE, IW_MPA_BORROWED);

	fake_next_request(c->lis);
	peer_recv_frame(f, c->peer, &c->frame);
	flush_work(&ep->work);
	KUNIT_EXPECT_EQ(test, (int)READ_ONCE(ep->state), (int)IW_MPA_ST_LINGER);
	iw_mpa_ep_drop(ep);
	peer_fin(c->peer);
	FAKE_POLL(f, endpoints_are(0));
}

/* half-open connections end when their listener is destroyed */
static void listener_gone_half_open_is_closed(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	half_open(c, test->priv);
	fake_destroy(c->lis);
	peer_expect_end(c->f, c->peer);
	FAKE_WAIT(c->f, !READ_ONCE(c->lis->refs));
}

/*
 * While Requests wait until iw_cm has memory for their events, a work item of the listener polls
 * for that. Once iw_mpa_backlog_stop() has cancelled the work item, it must not be queued again:
 * the listener's memory is freed.
 */
static void listener_gone_looks_no_more(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct iw_cm_id *id;
	struct iw_mpa_ep *ep;

	half_open(c, test->priv);
	ep = the_half_open(c->lis);
	FAKE_POLL(c->f, iw_mpa_run_claim(ep, IW_MPA_EV_YIELD));
	KUNIT_ASSERT_EQ(test, iw_mpa_backlog_turn(ep, &id), IW_MPA_EV_NONE);
	id->rem_ref(id);
	iw_mpa_backlog_stop(ep->listener);
	iw_mpa_backlog_queue(ep);
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&ep->listener->look));
	iw_mpa_run(iw_mpa_ep_hold(ep), IW_MPA_EV_YIELD, IW_MPA_BORROWED);
	iw_mpa_ep_drop(ep);
}

/*
 * iw_destroy_listen is called while iw_cm refuses CONNECT_REQUEST for lack of memory: iw_mpa does
 * not report the Request again, and the peer gets a Reject.
 */
/* Rules: E-9.3-1: nothing after the Reject, and no FIN before the peer's */
static void listener_gone_while_it_is_asked(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct fakes *f = test->priv;
	struct iw_mpa_device *dev;

	conn_listen(c);
	c->lis->fail_events = 1;
	c->lis->frozen = true;
	c->peer = peer_connect(f, c->lis);
	/*
	 * iw_destroy_listen waits for the work item that accepts connections. So the Request is
	 * sent after the accept: then the endpoint's work item reports it.
	 */
	dev = iw_mpa_device_get(f->ibdev);
	FAKE_POLL(f, half_opens(dev) == 1);
	iw_mpa_device_put(dev);
	peer_make_v2(&c->frame, false, MPA_C, CONN_PEER_IRD, CONN_PEER_ORD, "a", 1);
	peer_send_frame(f, c->peer, &c->frame);
	FAKE_WAIT(f, !READ_ONCE(c->lis->fail_events));
	fake_destroy(c->lis);
	/* iw_mpa holds the listener's cm_id until iw_cm's event handler returns. */
	KUNIT_EXPECT_EQ(test, READ_ONCE(c->lis->refs), 1);
	WRITE_ONCE(c->lis->frozen, false);
	wake_up_all(&f->wake);
	conn_expect_refusal(c, "", 0);
	FAKE_WAIT(f, !READ_ONCE(c->lis->refs));
}

/*
 * iw_destroy_listen is called while a Request waits until iw_cm has memory for its event: the peer
 * gets a Reject.
 */
/* Rules: E-9.3-1: nothing after the Reject, and no FIN before the peer's */
static void listener_gone_while_room_is_awaited(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	conn_listen(c);
	c->lis->fail_events = INT_MAX;
	conn_send_request(c);
	/* iw_mpa has reported the Request a second time: so it waits until iw_cm has memory. */
	FAKE_POLL(c->f, READ_ONCE(c->lis->fail_events) < INT_MAX - 1);
	fake_destroy(c->lis);
	conn_expect_refusal(c, "", 0);
	FAKE_WAIT(c->f, !READ_ONCE(c->lis->refs));
}

/* Rules: E-10-1 E-9.2-4: R, revision, S and A of the Reply when the device is removed */
static void device_gone_indicated_is_rejected(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	conn_call(c);
	fake_destroy(c->lis);
	fake_unregister(c->f);
	conn_expect_reject_and_fin(c);
	fake_reject(c->fid, NULL, 0);
}

/* Rules: E-10-2: R, revision and S of the Reply to revision 1 when the device is removed */
static void device_gone_indicated_v1_is_rejected(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	conn_call_v1(c);
	fake_destroy(c->lis);
	fake_unregister(c->f);
	peer_recv_frame(c->f, c->peer, &c->frame);
	KUNIT_EXPECT_EQ(test, peer_frame_rev(&c->frame), 1);
	KUNIT_EXPECT_EQ(test, peer_frame_flags(&c->frame), MPA_C | MPA_R);
	peer_expect_eof(c->f, c->peer);
	fake_reject(c->fid, NULL, 0);
}

/* a Request that was reported can be accepted after its listener was destroyed */
static void listener_gone_indicated_lives_on(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	conn_call(c);
	fake_destroy(c->lis);
	FAKE_WAIT(c->f, !READ_ONCE(c->lis->refs));
	KUNIT_ASSERT_EQ(test, fake_accept(c->fid, &c->param), 0);
	conn_establish(c);
}

static void listener_gone_with_connections_in_tcp(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	int i;

	conn_listen(c);
	conn_make_good_request(c);
	for (i = 0; i < 8; i++) {
		c->peer = peer_connect(c->f, c->lis);
		peer_send_frame(c->f, c->peer, &c->frame);
	}
	fake_destroy(c->lis);
	FAKE_WAIT(c->f, !READ_ONCE(c->lis->refs));
}

static int destroy_thread(void *fid)
{
	fake_destroy(fid);
	return 0;
}

static struct iw_mpa_listener *the_listener(struct fake_id *fid)
{
	struct iw_mpa_device *dev = iw_mpa_device_get(fid->id.device);
	struct iw_mpa_listener *lis = list_first_entry(&dev->listeners, struct iw_mpa_listener,
						       node);

	iw_mpa_device_put(dev);
	return lis;
}

/* connections end if the listener is destroyed while it accepts them from TCP */
static void listener_gone_while_it_accepts(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct fakes *f = test->priv;
	struct iw_mpa_listener *lis;
	struct socket *peers[2];
	struct sock *sk;
	int i;

	f->config->request_timeout_ms = 600000;
	conn_listen(c);
	lis = the_listener(c->lis);
	sk = lis->sock.sock->sk;
	lock_sock(sk);		/* accept() waits for this lock; TCP connects the peers */
	for (i = 0; i < ARRAY_SIZE(peers); i++)
		peers[i] = peer_connect(f, c->lis);
	for (i = 0; i < HZ && !(work_busy(&lis->work.work) & WORK_BUSY_RUNNING); i++)
		schedule_timeout_uninterruptible(1);
	kthread_run(destroy_thread, c->lis, "iw_mpa_fake");
	iw_mpa_quiet(50);
	release_sock(sk);
	KUNIT_EXPECT_LT(test, i, HZ);
	FAKE_WAIT(f, !READ_ONCE(c->lis->refs));
	FAKE_POLL(f, endpoints_are(0));
	for (i = 0; i < ARRAY_SIZE(peers); i++)
		peer_expect_end(f, peers[i]);
}

static void device_gone_half_open_is_closed(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	half_open(c, test->priv);
	fake_destroy(c->lis);
	fake_unregister(c->f);
	peer_expect_end(c->f, c->peer);
}

#define CROWD	6

/*
 * iw_cm refuses events for a while, for lack of memory. No client is rejected: iw_mpa reports the
 * Requests later, in the order in which they have arrived.
 */
static void no_room_in_iw_cm_holds_requests_back(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct socket *peers[CROWD];
	struct fake_id *ids[CROWD];
	int i;

	conn_listen(c);
	c->lis->fail_events = 4;
	for (i = 0; i < CROWD; i++) {
		char pd[] = { 'a' + i };

		peers[i] = peer_connect(c->f, c->lis);
		peer_make_v2(&c->frame, false, MPA_C, CONN_PEER_IRD, CONN_PEER_ORD, pd, 1);
		peer_send_frame(c->f, peers[i], &c->frame);
		schedule_timeout_uninterruptible(1);
	}
	for (i = 0; i < CROWD; i++) {
		ids[i] = fake_next_request(c->lis);
		KUNIT_EXPECT_EQ(test, c->lis->events[i].pd[0], 'a' + i);
		KUNIT_EXPECT_EQ(test, fake_reject(ids[i], NULL, 0), 0);
		peer_recv_frame(c->f, peers[i], &c->frame);
		peer_fin(peers[i]);
	}
}

static struct kunit_case half_open_cases[] = {
	KUNIT_CASE(half_open_too_many_oldest_yields),
	KUNIT_CASE(half_open_listener_yields_its_own),
	KUNIT_CASE(half_open_of_another_namespace_does_not_yield),
	KUNIT_CASE(half_open_yield_after_the_request_is_void),
	KUNIT_CASE(refused_too_many_oldest_yields),
	KUNIT_CASE(no_room_in_iw_cm_holds_requests_back),
	KUNIT_CASE(listener_gone_half_open_is_closed),
	KUNIT_CASE(listener_gone_looks_no_more),
	KUNIT_CASE(listener_gone_while_it_is_asked),
	KUNIT_CASE(listener_gone_while_room_is_awaited),
	KUNIT_CASE(listener_gone_indicated_lives_on),
	KUNIT_CASE(listener_gone_with_connections_in_tcp),
	KUNIT_CASE(listener_gone_while_it_accepts),
	KUNIT_CASE(device_gone_half_open_is_closed),
	KUNIT_CASE(device_gone_indicated_is_rejected),
	KUNIT_CASE(device_gone_indicated_v1_is_rejected),
	{}
};

static struct kunit_suite half_open_suite = {
	.name = "iw_mpa_half_open",
	.init = fakes_init,
	.exit = fakes_exit,
	.test_cases = half_open_cases,
};

kunit_test_suite(half_open_suite);

// SPDX-License-Identifier: GPL-2.0
/*
 * When a device is removed, or moved to another network namespace, the RDMA core calls remove() of
 * its clients, among them rdma_cm and iw_mpa. rdma_cm's remove() waits for each connection that is
 * being set up, which may take minutes if the peer is silent. So iw_mpa's remove() ends these
 * connections.
 */

#include "iw_mpa_fakes.h"
#include "iw_mpa_no_core.h"
#include "main.h"

#include <rdma/ib_verbs.h>

static void going_expect_connect_refused(struct fake_conn *c, struct fakes *f)
{
	c->param.qpn = 2;
	KUNIT_EXPECT_EQ(f->test, fake_connect(fake_id_create(f), &c->param), -ENODEV);
}

/* Rules: L-02: the removal of the device ends an initiator that awaits its Reply */
static void going_connect_that_awaits_a_reply_ends(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	conn_dial(c);
	no_core.client->remove(c->f->ibdev, NULL);
	conn_expect_failed(c, -ECONNABORTED);
	peer_expect_end(c->f, c->peer);
	going_expect_connect_refused(c, c->f);
}

/* Rules: L-02: the removal of the device ends a responder that awaits the RTR message */
static void going_accept_that_awaits_the_rtr_ends(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	conn_call(c);
	conn_accept(c);
	no_core.client->remove(c->f->ibdev, NULL);
	fake_expect_event(c->fid, 0, IW_CM_EVENT_ESTABLISHED, -ECONNABORTED);
	conn_expect_closed(c, IW_MPA_R_DEVICE_GONE);
	peer_expect_end(c->f, c->peer);
}

/* Rules: L-02; E-10-1: R, revision and S of the Reply when the device is removed */
static void going_request_that_awaits_its_verdict_is_rejected(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	conn_call(c);
	no_core.client->remove(c->f->ibdev, NULL);
	conn_expect_reject_and_fin(c);
	fake_reject(c->fid, NULL, 0);
}

/* Rules: L-02; E-10-1: R, revision and S of the Reply when the device is removed */
static void going_request_that_awaits_room_is_rejected(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	conn_listen(c);
	c->lis->fail_events = INT_MAX;
	conn_send_request(c);
	/* iw_cm has refused CONNECT_REQUEST twice: the endpoint has entered AWAIT_ROOM. */
	FAKE_POLL(c->f, READ_ONCE(c->lis->fail_events) < INT_MAX - 1);
	no_core.client->remove(c->f->ibdev, NULL);
	conn_expect_reject_and_fin(c);
}

/* Rules: L-02: the removal leaves an established connection to its ULP, which has to end it */
static void going_established_connection_stays(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	conn_active_up(c);
	no_core.client->remove(c->f->ibdev, NULL);
	peer_expect_quiet(c->f, c->peer);
	KUNIT_EXPECT_EQ(test, c->fid->nr_events, 1);
	KUNIT_EXPECT_NULL(test, strstr(c->qp->log, "stop"));
	going_expect_connect_refused(c, c->f);
}

static void moved_device_connects(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	no_core.client->remove(c->f->ibdev, NULL);
	KUNIT_ASSERT_EQ(test, no_core.client->add(c->f->ibdev), 0);
	conn_active_up(c);
}

/*
 * When a device is moved to another network namespace, rdma_cm creates its wildcard listeners on it
 * anew, after remove() and before add() of iw_mpa. If the TCP port of such a listener is in use,
 * iw_create_listen must return 0 at that time, without a socket: after an error rdma_cm would not
 * use the device at all.
 */
static void moved_device_is_attached_where_a_port_is_taken(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct fake_id *lis[3];
	int i;

	conn_listen(c);
	for (i = 0; i < ARRAY_SIZE(lis); i++)
		lis[i] = conn_wildcard(c, c->f);
	KUNIT_EXPECT_EQ(test, fake_listen(lis[0]), -EADDRINUSE);
	no_core.client->remove(c->f->ibdev, NULL);
	KUNIT_EXPECT_EQ(test, fake_listen(lis[1]), 0);
	KUNIT_ASSERT_EQ(test, no_core.client->add(c->f->ibdev), 0);
	KUNIT_EXPECT_EQ(test, fake_listen(lis[2]), -EADDRINUSE);
}

/*
 * When a device is moved to another network namespace the RDMA core calls remove() and then add()
 * of iw_mpa. A TCP connection that is made to a listener between these calls is closed. After add()
 * the listener accepts connections again.
 */
static void moved_device_serves_who_came_meanwhile(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct fakes *f = test->priv;

	conn_listen(c);
	conn_make_good_request(c);
	no_core.client->remove(f->ibdev, NULL);
	peer_expect_end(f, peer_connect(f, c->lis));
	KUNIT_ASSERT_EQ(test, no_core.client->add(f->ibdev), 0);
	c->peer = peer_connect(f, c->lis);
	peer_send_frame(f, c->peer, &c->frame);
	fake_next_request(c->lis);
}

static void foreign_device_is_left_alone(struct kunit *test)
{
	struct fakes *f = test->priv;

	fake_unregister(f);
	KUNIT_EXPECT_EQ(test, no_core.client->add(f->ibdev), -EOPNOTSUPP);
	no_core.client->remove(f->ibdev, NULL);
}

/* A module that was compiled for another version of the contract is refused. */
static void register_refuses_another_api(struct kunit *test)
{
	struct fakes *f = test->priv;
	unsigned int api;

	fake_unregister(f);
	for (api = IW_MPA_API - 1; api <= IW_MPA_API + 1; api += 2) {
		int err = __iw_mpa_register_device(f->ibdev, init_net.loopback_dev, &f->drv,
						   &f->attr, api);

		KUNIT_EXPECT_EQ(test, err, -EINVAL);
	}
	KUNIT_EXPECT_EQ(test, fake_register(f), 0);
}

/*
 * When iw_mpa is unloaded it must unregister as a client of the RDMA core. Otherwise the core would
 * call functions of a module that is not loaded any more.
 */
static void library_that_goes_is_no_client(struct kunit *test)
{
	ib_unregister_client(&iw_mpa_device_client);
	KUNIT_EXPECT_NULL(test, no_core.client);
	KUNIT_ASSERT_EQ(test, ib_register_client(&iw_mpa_device_client), 0);
	KUNIT_EXPECT_NOT_NULL(test, no_core.client);
}

static struct kunit_case going_cases[] = {
	KUNIT_CASE(going_connect_that_awaits_a_reply_ends),
	KUNIT_CASE(going_accept_that_awaits_the_rtr_ends),
	KUNIT_CASE(going_request_that_awaits_its_verdict_is_rejected),
	KUNIT_CASE(going_request_that_awaits_room_is_rejected),
	KUNIT_CASE(going_established_connection_stays),
	KUNIT_CASE(moved_device_connects),
	KUNIT_CASE(moved_device_is_attached_where_a_port_is_taken),
	KUNIT_CASE(moved_device_serves_who_came_meanwhile),
	KUNIT_CASE(foreign_device_is_left_alone),
	KUNIT_CASE(register_refuses_another_api),
	KUNIT_CASE(library_that_goes_is_no_client),
	{}
};

static struct kunit_suite going_suite = {
	.name = "iw_mpa_going",
	.init = fakes_init,
	.exit = fakes_exit,
	.test_cases = going_cases,
};

kunit_test_suite(going_suite);

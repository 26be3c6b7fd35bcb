// SPDX-License-Identifier: GPL-2.0
/* Listeners: the connections that they accept, and calls that iw_create_listen refuses. */

#include "device.h"
#include "iw_mpa_fakes.h"
#include "backlog.h"
#include "stats.h"

#include <linux/in.h>
#include <linux/in6.h>
#include <linux/pkt_sched.h>
#include <net/inet_sock.h>

#define LISTEN_TOS	0x10	/* TC_PRIO_INTERACTIVE */
#define LISTEN_CROWD	130	/* more than twice LISTEN_BATCH of listen.c */

static void listen_takes_several_connections(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct fake_id *children[3];
	struct socket *peers[3];
	u8 rtr[IW_MPA_FPDU_MAX];
	int i;

	conn_listen(c);
	conn_make_good_request(c);
	for (i = 0; i < 3; i++)
		peers[i] = peer_connect(c->f, c->lis);
	for (i = 0; i < 3; i++) {
		peer_send_frame(c->f, peers[i], &c->frame);
		children[i] = fake_next_request(c->lis);
	}
	for (i = 0; i < 3; i++) {
		c->param.qpn = i + 1;
		KUNIT_ASSERT_EQ(test, fake_accept(children[i], &c->param), 0);
		peer_send(c->f, peers[i], rtr, peer_make_rtr_write(rtr));
	}
	for (i = 0; i < 3; i++)
		fake_expect_event(children[i], 0, IW_CM_EVENT_ESTABLISHED, 0);
}

/*
 * Many connections wait in TCP before the listener accepts the first. TCP does not call data_ready
 * for them again, so the listener has to accept until the queue is empty.
 */
static void listen_takes_all_of_a_crowd(struct kunit *test)
{
	static struct socket *peers[LISTEN_CROWD];
	struct fake_conn *c = conn_new(test);
	struct sockaddr_storage *addr;
	struct iw_mpa_device *dev;
	struct iw_mpa_listener *lis;
	int i;

	c->f->backlog = LISTEN_CROWD;
	conn_listen(c);
	addr = &c->lis->id.m_local_addr;
	dev = iw_mpa_device_get(c->lis->id.device);
	lis = list_first_entry(&dev->listeners, struct iw_mpa_listener, node);
	iw_mpa_device_put(dev);
	/*
	 * accept() waits for the lock of the socket: the first connection is accepted after
	 * release_sock().
	 */
	lock_sock(lis->sock.sock->sk);
	for (i = 0; i < LISTEN_CROWD; i++) {
		KUNIT_EXPECT_EQ(test, 0, sock_create_kern(&init_net, AF_INET, SOCK_STREAM,
							  IPPROTO_TCP, &peers[i]));
		KUNIT_EXPECT_EQ(test, 0, kernel_connect(peers[i], (struct sockaddr_unsized *)addr,
							sizeof(struct sockaddr_in), 0));
	}
	release_sock(lis->sock.sock->sk);
	/* half_open_count may be stale: FAKE_POLL() reads it again. */
	FAKE_POLL(c->f, data_race(lis->half_open_count) == LISTEN_CROWD);
	for (i = 0; i < LISTEN_CROWD; i++)
		sock_release(peers[i]);
}

/*
 * Make a wildcard listener of @family, to which a peer of @peer_family sends a Request. Return its
 * cm_id.
 */
static struct fake_id *call_wildcard(struct fake_conn *c, struct fakes *f, int family,
				     int peer_family)
{
	struct fake_id *lis = fake_id_create(f);
	struct sockaddr_storage addr = {};
	__be16 port;

	conn_listen(c);	/* to get a free port */
	port = ((struct sockaddr_in *)&c->lis->id.local_addr)->sin_port;
	fake_destroy(c->lis);
	addr.ss_family = family;
	((struct sockaddr_in *)&addr)->sin_port = port;
	lis->id.local_addr = addr;
	lis->id.m_local_addr = addr;
	lis->id.tos = LISTEN_TOS;
	lis->id.tos_set = true;
	KUNIT_ASSERT_EQ(f->test, fake_listen(lis), 0);

	c->lis = fake_id_create(f);
	c->lis->id.m_local_addr.ss_family = peer_family;
	((struct sockaddr_in *)&c->lis->id.m_local_addr)->sin_port = port;
	if (peer_family == AF_INET6)
		((struct sockaddr_in6 *)&c->lis->id.m_local_addr)->sin6_addr =
			in6addr_loopback;
	conn_send_request(c);
	c->fid = fake_next_request(lis);
	return lis;
}

/* CONNECT_REQUEST has the connection's addresses, not the wildcard of the listener. */
static void listen_wildcard(struct kunit *test, int family, int peer_family)
{
	struct fake_conn *c = conn_new(test);
	const struct fake_id *lis = call_wildcard(c, test->priv, family, peer_family);
	const struct fake_event *event = &lis->events[0];

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
			((struct sockaddr_in *)&lis->id.local_addr)->sin_port);
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

/*
 * Packets of a responder have the TOS that the ULP of its listener has set by rdma_set_option().
 * The socket has the priority that follows from the TOS: queueing disciplines and VLANs use only
 * the priority.
 */
static void listen_tos_and_priority_are_those_of_its_connections(struct kunit *test)
{
	static const int families[][2] = {
		{ AF_INET, AF_INET }, { AF_INET6, AF_INET6 }, { AF_INET6, AF_INET },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(families); i++) {
		struct fake_conn *c = conn_new(test);
		const struct sock *sk;

		call_wildcard(c, c->f, families[i][0], families[i][1]);
		c->param.qpn = i + 1;
		KUNIT_ASSERT_EQ(test, fake_accept(c->fid, &c->param), 0);
		peer_recv_frame(c->f, c->peer, &c->frame);
		conn_establish(c);
		sk = c->f->qps[i].sk;
		KUNIT_ASSERT_NOT_NULL(test, sk);
		KUNIT_EXPECT_EQ(test, inet_sk(sk)->tos, LISTEN_TOS);
		KUNIT_EXPECT_EQ_MSG(test, sk->sk_priority, TC_PRIO_INTERACTIVE, "case %d", i);
	}
}

/* Expect that @lis listens without error, but that @c->lis alone gets connections to the port. */
static void expect_no_socket(struct fake_conn *c, struct fakes *f, struct fake_id *lis)
{
	struct kunit *test = f->test;

	KUNIT_EXPECT_EQ(test, fake_listen(lis), 0);
	conn_send_request(c);
	fake_next_request(c->lis);
	KUNIT_EXPECT_EQ(test, lis->nr_events, 0);
}

/*
 * For a wildcard listener rdma_cm listens on each device, also on those of other network
 * namespaces. On these iw_mpa must use no port and accept no connection for the listener.
 */
static void listen_wildcard_of_another_namespace_has_no_socket(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct fake_id *lis;

	conn_listen(c);
	lis = conn_wildcard(c, c->f);
	fake_live_elsewhere(lis);
	expect_no_socket(c, c->f, lis);
}

/*
 * An interface in another namespace may have the same IP and hardware addresses as the device.
 * If one listener is in each namespace, neither gets connections of the other one's namespace, and
 * both can use the same port.
 */
static void listen_on_an_address_of_another_namespace_is_there(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct fake_id *lis;

	conn_listen(c);
	lis = fake_id_create(c->f);
	lis->id.local_addr = c->lis->id.local_addr;
	lis->id.m_local_addr = c->lis->id.m_local_addr;
	fake_live_elsewhere(lis);
	expect_no_socket(c, c->f, lis);
}

static u64 wrong_devices(void)
{
	return iw_mpa_count_read(NULL, IW_MPA_CNT_REASON + IW_MPA_R_WRONG_DEVICE - 1);
}

/* A client connects to an address of this host, on the port of @c->lis, and sends a Request. */
static struct socket *call_address(struct fake_conn *c, struct fakes *f, __be32 address)
{
	struct fake_id *whom = conn_wildcard(c, f);
	struct socket *peer;

	((struct sockaddr_in *)&whom->id.m_local_addr)->sin_addr.s_addr = address;
	peer = peer_connect(f, whom);
	conn_make_good_request(c);
	peer_send_frame(f, peer, &c->frame);
	return peer;
}

/*
 * Unbind a listener's socket from its interface. Packets of the host to itself arrive by lo, or by
 * the interface that has their destination address; in this test all have to reach the same
 * listener.
 */
static void listen_to_each_interface(struct fake_id *fid)
{
	struct iw_mpa_device *dev = iw_mpa_device_get(fid->id.device);
	struct iw_mpa_listener *lis = list_first_entry(&dev->listeners, struct iw_mpa_listener,
						       node);

	WRITE_ONCE(lis->sock.sock->sk->sk_bound_dev_if, 0);
	iw_mpa_device_put(dev);
}

/*
 * A wildcard listener accepts only connections to addresses of its own device, or of no device. It
 * rejects those to the address of another device, even if they arrive by its own device's
 * interface.
 */
/* Rules: E-9.3-1: the Terminate message after the Reject of such a connection */
static void listen_wildcard_leaves_addresses_of_other_devices_alone(struct kunit *test)
{
	struct ib_device *other = kunit_kzalloc(test, sizeof(*other), GFP_KERNEL);
	const __be32 address = htonl(0x0a4d0001);	/* 10.77.0.1 */
	struct fake_conn *c = conn_new(test);
	u64 before = wrong_devices();
	struct fakes *f = test->priv;
	struct net_device *netdev;
	struct fake_id *lis;
	struct socket *peer;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, other);
	other->ops = f->ibdev->ops;
	conn_listen(c);	/* to get a free port */
	lis = conn_wildcard(c, f);
	fake_destroy(c->lis);
	KUNIT_ASSERT_EQ(test, fake_listen(lis), 0);
	listen_to_each_interface(lis);
	netdev = fake_netdev_add(test, address);
	peer = call_address(c, f, address);
	KUNIT_EXPECT_EQ(test, fake_reject(fake_next_request(lis), NULL, 0), 0);
	peer_recv_frame(f, peer, &c->frame);
	peer_fin(peer);		/* before the interface and its route are removed */
	peer_expect_eof(f, peer);
	KUNIT_EXPECT_EQ(test, wrong_devices(), before);

	KUNIT_EXPECT_EQ(test, iw_mpa_register_device(other, netdev, &f->drv, &f->attr), 0);
	c->peer = call_address(c, f, address);
	conn_expect_refusal(c, "", 5);
	for (i = 0; i < HZ && wrong_devices() == before; i++)
		schedule_timeout_uninterruptible(1);
	KUNIT_EXPECT_EQ(test, wrong_devices(), before + 1);
	KUNIT_EXPECT_EQ(test, lis->nr_events, 1);
	call_address(c, f, htonl(INADDR_LOOPBACK));
	call_address(c, f, htonl(INADDR_LOOPBACK + 1));	/* routed to lo, not assigned to it */
	fake_next_request(lis);
	fake_next_request(lis);
	KUNIT_EXPECT_EQ(test, wrong_devices(), before + 1);
	iw_mpa_unregister_device(other);
	fake_netdev_remove(netdev);
}

/*
 * A wildcard listener succeeds without a socket on a device that cannot be responder, since an
 * error would end the listener on all devices.
 */
static void listen_wildcard_without_fence_has_no_socket(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct fakes *f = test->priv;
	struct fake_id *lis, *foreign;

	fake_set_caps(f, f->attr.caps & ~IW_MPA_CAP_TX_FENCE);
	f->config->fence = 0;
	conn_listen(c);
	lis = conn_wildcard(c, f);
	KUNIT_EXPECT_EQ(test, fake_listen(lis), -EADDRINUSE);
	f->config->fence = 1;
	expect_no_socket(c, f, lis);
	foreign = conn_wildcard(c, f);
	fake_live_elsewhere(foreign);
	KUNIT_EXPECT_EQ(test, fake_listen(foreign), 0);
}

/* Two devices are on one interface: for each port only one of them can have a listening socket. */
static void listen_wildcard_on_a_second_device_of_an_interface(struct kunit *test)
{
	struct ib_device *other = kunit_kzalloc(test, sizeof(*other), GFP_KERNEL);
	struct fake_conn *c = conn_new(test);
	struct fake_id *first, *second;
	struct fakes *f = test->priv;

	KUNIT_ASSERT_NOT_NULL(test, other);
	other->ops = f->ibdev->ops;
	KUNIT_ASSERT_EQ(test, iw_mpa_register_device(other, init_net.loopback_dev, &f->drv,
						     &f->attr), 0);
	fake_attach_device(other, true);
	conn_listen(c);
	second = conn_wildcard(c, f);
	second->id.device = other;
	KUNIT_EXPECT_EQ(test, fake_listen(second), -EADDRINUSE);
	fake_destroy(c->lis);
	first = conn_wildcard(c, f);
	KUNIT_EXPECT_EQ(test, fake_listen(first), 0);
	KUNIT_EXPECT_EQ(test, fake_listen(conn_wildcard(c, f)), -EADDRINUSE);
	KUNIT_EXPECT_EQ(test, fake_listen(second), 0);
	call_address(c, f, htonl(INADDR_LOOPBACK));
	fake_next_request(first);
	KUNIT_EXPECT_EQ(test, second->nr_events, 0);
	fake_destroy(second);
	FAKE_WAIT(f, !READ_ONCE(second->refs));
	iw_mpa_unregister_device(other);
}

/*
 * rdma_cm repeats its wildcard listeners on a new device. If one fails, rdma_cm does not use the
 * device at all. So iw_mpa reports success even if another process occupies the TCP port; a ULP
 * that listens later gets the error.
 */
static void listen_wildcard_of_a_new_device_leaves_a_port_to_tcp(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct fakes *f = test->priv;
	struct fake_id *second;

	conn_listen(c);
	fake_attach_device(f->ibdev, false);
	expect_no_socket(c, f, conn_wildcard(c, f));
	second = fake_id_create(f);
	second->id.m_local_addr = c->lis->id.m_local_addr;
	second->id.local_addr = c->lis->id.local_addr;
	KUNIT_EXPECT_EQ(test, fake_listen(second), -EADDRINUSE);
	fake_attach_device(f->ibdev, true);
	KUNIT_EXPECT_EQ(test, fake_listen(conn_wildcard(c, f)), -EADDRINUSE);
}

/* The setting fence (a responder holds TX back) is turned on after iw_create_listen. */
/* Rules: M-7.1.2-10: a driver that cannot hold TX back gets no stream */
static void accept_without_fence_is_refused(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct fakes *f = test->priv;

	fake_set_caps(f, f->attr.caps & ~IW_MPA_CAP_TX_FENCE);
	f->config->fence = 0;
	conn_call(c);
	f->config->fence = 1;
	KUNIT_EXPECT_EQ(test, fake_accept(c->fid, &c->param), -EOPNOTSUPP);
	conn_expect_refusal(c, "", 5);
	fake_expect_closed(c->fid, 0);
	KUNIT_EXPECT_STREQ(test, c->qp->log, "");
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
	struct fake_id *second = fake_id_create(c->f);

	conn_listen(c);
	second->id.m_local_addr = c->lis->id.m_local_addr;
	KUNIT_EXPECT_EQ(test, fake_listen(second), -EADDRINUSE);
}

static struct kunit_case listen_cases[] = {
	KUNIT_CASE(listen_takes_several_connections),
	KUNIT_CASE(listen_takes_all_of_a_crowd),
	KUNIT_CASE(listen_wildcard_ipv4_tells_concrete_addresses),
	KUNIT_CASE(listen_wildcard_ipv6_tells_concrete_addresses),
	KUNIT_CASE(listen_wildcard_ipv6_tells_ipv4_as_ipv4),
	KUNIT_CASE(listen_tos_and_priority_are_those_of_its_connections),
	KUNIT_CASE(listen_wildcard_of_another_namespace_has_no_socket),
	KUNIT_CASE(listen_on_an_address_of_another_namespace_is_there),
	KUNIT_CASE(listen_wildcard_leaves_addresses_of_other_devices_alone),
	KUNIT_CASE(listen_wildcard_without_fence_has_no_socket),
	KUNIT_CASE(listen_wildcard_on_a_second_device_of_an_interface),
	KUNIT_CASE(listen_wildcard_of_a_new_device_leaves_a_port_to_tcp),
	KUNIT_CASE(accept_without_fence_is_refused),
	KUNIT_CASE(listen_without_fence_is_refused),
	KUNIT_CASE(listen_without_device_is_refused),
	KUNIT_CASE(listen_on_a_port_in_use_is_refused),
	{}
};

static struct kunit_suite listen_suite = {
	.name = "iw_mpa_listen",
	.init = fakes_init,
	.exit = fakes_exit,
	.test_cases = listen_cases,
};

kunit_test_suite(listen_suite);

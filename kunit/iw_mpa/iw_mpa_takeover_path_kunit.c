// SPDX-License-Identifier: GPL-2.0
/* Calls of the driver's op path_changed, when the path of a taken-over TCP connection changes */

#include "iw_mpa_leaving.h"
#include "takeover/path.h"
#include "sock.h"

#include <linux/etherdevice.h>
#include <linux/rtnetlink.h>
#include <linux/string.h>
#include <net/neighbour.h>
#include <net/netevent.h>
#include <net/sock.h>

static struct leaving *leaving_open_watched(struct kunit *test)
{
	struct leaving *lv = leaving_open(test);

	lv->watch = true;
	KUNIT_ASSERT_EQ(test, iw_mpa_offload_active(&lv->ep),
			IW_MPA_EV_HANDED_OFF);
	return lv;
}

/* Set the link-layer address of the next hop for packets over the loopback device. */
static void neighbour_moves(struct kunit *test, const struct dst_entry *dst, const u8 *to)
{
	struct neighbour *neigh = dst_neigh_lookup(dst, &(__be32){ htonl(INADDR_LOOPBACK) });

	KUNIT_ASSERT_NOT_NULL(test, neigh);
	KUNIT_EXPECT_EQ(test, 0, neigh_update(neigh, to, NUD_PERMANENT,
					      NEIGH_UPDATE_F_OVERRIDE | NEIGH_UPDATE_F_ADMIN, 0));
	neigh_release(neigh);
}

/* path_changed is called, also after stop, until the driver calls iw_mpa_stream_released(). */
static void driver_is_told_of_a_neighbour_that_moves(struct kunit *test)
{
	static const u8 home[ETH_ALEN], away[ETH_ALEN] = { 2, 0, 0, 0, 0, 1 };
	struct leaving *lv = leaving_open_watched(test);
	struct fakes *f = test->priv;
	struct dst_entry *dst = sk_dst_get(lv->sk);

	KUNIT_ASSERT_NOT_NULL(test, dst);
	neighbour_moves(test, dst, away);
	FAKE_POLL(f, leaving_told(lv) == 1);
	KUNIT_EXPECT_TRUE(test, ether_addr_equal_unaligned(lv->path.lladdr, away));
	KUNIT_EXPECT_TRUE(test, lv->path.lladdr_known);
	KUNIT_EXPECT_EQ(test, lv->path.mtu, lv->tcb.path.mtu);
	KUNIT_EXPECT_EQ(test, lv->path.ifindex, lv->tcb.path.ifindex);

	/* The same link-layer address is set again: this is not reported. */
	neighbour_moves(test, dst, away);
	iw_mpa_quiet(QUIET_MS);
	KUNIT_EXPECT_EQ(test, leaving_told(lv), 1);

	iw_mpa_offload_stop(&lv->ep, IW_MPA_R_ULP_CLOSE);
	neighbour_moves(test, dst, home);
	FAKE_POLL(f, leaving_told(lv) == 2);
	KUNIT_EXPECT_TRUE(test, ether_addr_equal_unaligned(lv->path.lladdr, home));

	iw_mpa_stream_released(lv->takeover);
	neighbour_moves(test, dst, away);
	iw_mpa_quiet(QUIET_MS);
	neighbour_moves(test, dst, home);
	KUNIT_EXPECT_EQ(test, leaving_told(lv), 2);
	dst_release(dst);
}

/* The driver releases the connection while iw_mpa checks its path: path_changed is not called. */
static void driver_that_releases_amid_a_look_is_told_nothing(struct kunit *test)
{
	static const u8 home[ETH_ALEN], away[ETH_ALEN] = { 2, 0, 0, 0, 0, 1 };
	struct leaving *lv = leaving_open_watched(test);
	struct dst_entry *dst = sk_dst_get(lv->sk);
	struct fakes *f = test->priv;

	KUNIT_ASSERT_NOT_NULL(test, dst);
	lock_sock(lv->sk);	/* the check of the path waits for this lock */
	neighbour_moves(test, dst, away);
	FAKE_POLL(f, mutex_is_locked(&lv->dev.takeovers->looking));
	iw_mpa_stream_released(lv->takeover);
	release_sock(lv->sk);
	iw_mpa_quiet(QUIET_MS);
	KUNIT_EXPECT_EQ(test, leaving_told(lv), 0);
	neighbour_moves(test, dst, home);
	dst_release(dst);
}

static void loopback_mtu(struct kunit *test, int mtu)
{
	rtnl_lock();
	KUNIT_EXPECT_EQ(test, 0, dev_set_mtu(init_net.loopback_dev, mtu));
	rtnl_unlock();
}

/*
 * No netevent reports that the MTU of a route has changed. iw_mpa finds that when it checks, once a
 * second, the paths of the connections for which a driver has called iw_mpa_stream_watch().
 */
static void driver_is_told_of_a_route_that_changes(struct kunit *test)
{
	int mtu = init_net.loopback_dev->mtu;
	struct leaving *lv = leaving_open_watched(test);
	struct fakes *f = test->priv;

	loopback_mtu(test, 9000);
	FAKE_POLL(f, leaving_told(lv) == 1);
	KUNIT_EXPECT_EQ(test, lv->path.mtu, 9000);
	loopback_mtu(test, mtu);
	FAKE_POLL(f, leaving_told(lv) == 2);
	KUNIT_EXPECT_EQ(test, lv->path.mtu, lv->tcb.path.mtu);
}

/*
 * Return whether a netevent starts a check of paths. It does so by setting the flag stirred, which
 * the check's work item clears: that work item cannot run while preemption is off.
 */
static bool event_stirs(struct leaving *lv, unsigned long event, void *arg)
{
	bool stirs;

	preempt_disable();
	call_netevent_notifiers(event, arg);
	stirs = READ_ONCE(lv->dev.takeovers->stirred);
	preempt_enable();
	return stirs;
}

/* A netevent for a redirect starts a check of the path; one for the multipath hash does not. */
static void redirect_has_the_path_looked_at(struct kunit *test)
{
	struct leaving *lv = leaving_open_watched(test);
	struct netevent_redirect redirect = {};
	struct fakes *f = test->priv;
	unsigned int round;

	/* iw_mpa_stream_watch() in prepare starts a check, too: wait until this has begun. */
	FAKE_POLL(f, READ_ONCE(lv->dev.takeovers->round) && !READ_ONCE(lv->dev.takeovers->stirred));
	KUNIT_EXPECT_FALSE(test, event_stirs(lv, NETEVENT_IPV4_MPATH_HASH_UPDATE, &init_net));
	round = READ_ONCE(lv->dev.takeovers->round);
	KUNIT_EXPECT_TRUE(test, event_stirs(lv, NETEVENT_REDIRECT, &redirect));
	FAKE_POLL(f, READ_ONCE(lv->dev.takeovers->round) != round);
	KUNIT_EXPECT_EQ(test, leaving_told(lv), 0);
}

/* Change the MTU of the path, and wait until path_changed would have been called. */
static void path_changes_within_prepare(void)
{
	rtnl_lock();
	dev_set_mtu(init_net.loopback_dev, 9000);
	rtnl_unlock();
	iw_mpa_quiet(QUIET_MS);
}

/*
 * prepare may call iw_mpa_stream_watch() with an argument for path_changed. If prepare fails it may
 * free that argument. So path_changed must not be called before prepare has returned 0.
 */
static void driver_is_told_nothing_before_it_has_prepared(struct kunit *test)
{
	int mtu = init_net.loopback_dev->mtu;
	struct leaving *lv = leaving_open(test);

	lv->watch = true;
	lv->within = path_changes_within_prepare;
	lv->fail = -ENOSPC;
	KUNIT_EXPECT_EQ(test, iw_mpa_offload_active(&lv->ep),
			IW_MPA_EV_PREPARE_FAILED);
	KUNIT_EXPECT_EQ(test, leaving_told(lv), 0);
	loopback_mtu(test, mtu);
}

static void driver_is_told_when_it_has_prepared(struct kunit *test)
{
	int mtu = init_net.loopback_dev->mtu;
	struct leaving *lv = leaving_open(test);
	struct fakes *f = test->priv;

	lv->watch = true;
	lv->within = path_changes_within_prepare;
	KUNIT_EXPECT_EQ(test, iw_mpa_offload_active(&lv->ep),
			IW_MPA_EV_HANDED_OFF);
	FAKE_POLL(f, leaving_told(lv) == 1);
	KUNIT_EXPECT_EQ(test, lv->path.mtu, 9000);
	loopback_mtu(test, mtu);
}

/* path_changed is not called for a driver whose prepare has asked for it, and then failed. */
static void driver_that_refuses_is_told_nothing(struct kunit *test)
{
	int mtu = init_net.loopback_dev->mtu;
	struct leaving *lv = leaving_open(test);

	lv->watch = true;
	lv->fail = -ENOSPC;
	KUNIT_EXPECT_EQ(test, iw_mpa_offload_active(&lv->ep),
			IW_MPA_EV_PREPARE_FAILED);
	loopback_mtu(test, 9000);
	iw_mpa_quiet(QUIET_MS);
	loopback_mtu(test, mtu);
	KUNIT_EXPECT_EQ(test, leaving_told(lv), 0);
}

/*
 * Two paths (route and next hop of a connection) differ by interface, MTU or link-layer address of
 * the next hop, or if only one of them has a route. Which route a path has (the pointer dst) makes
 * no difference.
 */
static void path_differs_in_one_thing(struct kunit *test)
{
	static const struct dst_entry routes[2];
	const struct iw_mpa_path one = {
		.dst = (struct dst_entry *)&routes[0], .ifindex = 1, .mtu = 1500,
		.lladdr_known = true, .lladdr = { 2 },
	};
	struct iw_mpa_path other = one;

	other.dst = (struct dst_entry *)&routes[1];
	KUNIT_EXPECT_FALSE(test, iw_mpa_path_differs(&one, &other));
	other.dst = NULL;
	KUNIT_EXPECT_TRUE(test, iw_mpa_path_differs(&one, &other));
	other = one;
	other.ifindex++;
	KUNIT_EXPECT_TRUE(test, iw_mpa_path_differs(&one, &other));
	other = one;
	other.mtu--;
	KUNIT_EXPECT_TRUE(test, iw_mpa_path_differs(&one, &other));
	other = one;
	other.lladdr_known = false;
	KUNIT_EXPECT_TRUE(test, iw_mpa_path_differs(&one, &other));
	other = one;
	other.lladdr[ETH_ALEN - 1]++;
	KUNIT_EXPECT_TRUE(test, iw_mpa_path_differs(&one, &other));
}

/* The path of a next hop whose neighbour entry has no address, and the path of a closed socket */
static void path_that_is_not_known(struct kunit *test)
{
	static const u8 home[ETH_ALEN];
	struct leaving *lv = leaving_open(test);
	struct sock *sk = lv->sk;
	struct dst_entry *dst = sk_dst_get(sk);
	struct iw_mpa_path path;
	struct neighbour *neigh;
	struct socket *closed;

	KUNIT_ASSERT_NOT_NULL(test, dst);
	neighbour_moves(test, dst, home);
	neigh = dst_neigh_lookup(dst, &(__be32){ htonl(INADDR_LOOPBACK) });
	KUNIT_ASSERT_NOT_NULL(test, neigh);
	neigh_update(neigh, NULL, NUD_FAILED, NEIGH_UPDATE_F_OVERRIDE | NEIGH_UPDATE_F_ADMIN, 0);
	neigh_release(neigh);
	lock_sock(sk);
	iw_mpa_path_read(sk, &path);
	release_sock(sk);
	KUNIT_EXPECT_FALSE(test, path.lladdr_known);
	KUNIT_EXPECT_EQ(test, path.ifindex, dst->dev->ifindex);
	iw_mpa_path_put(&path);
	neighbour_moves(test, dst, home);
	dst_release(dst);
	leaving_close(lv);

	KUNIT_ASSERT_EQ(test, 0, sock_create_kern(&init_net, AF_INET, SOCK_STREAM, IPPROTO_TCP,
						  &closed));
	memset(&path, 0xff, sizeof(path));
	iw_mpa_path_refresh(closed->sk, &path);
	KUNIT_EXPECT_PTR_EQ(test, memchr_inv(&path, 0, sizeof(path)), NULL);
	sock_release(closed);
}

/*
 * iw_mpa records how long a round of path checks takes. If a netevent starts the next round, iw_mpa
 * delays it by as much. Otherwise the checks could occupy the CPU if neighbour entries change all
 * the time.
 */
static void look_that_takes_long_is_measured(struct kunit *test)
{
	static const u8 home[ETH_ALEN], away[ETH_ALEN] = { 2, 0, 0, 0, 0, 1 };
	struct leaving *lv = leaving_open_watched(test);
	struct dst_entry *dst = sk_dst_get(lv->sk);
	struct fakes *f = test->priv;
	unsigned long start, took;

	KUNIT_ASSERT_NOT_NULL(test, dst);
	FAKE_POLL(f, READ_ONCE(lv->dev.takeovers->round) && !READ_ONCE(lv->dev.takeovers->stirred));
	mutex_lock(&lv->dev.takeovers->looking);
	neighbour_moves(test, dst, away);
	FAKE_POLL(f, !READ_ONCE(lv->dev.takeovers->stirred));	/* the round has begun */
	start = jiffies;
	iw_mpa_quiet(QUIET_MS);
	took = jiffies - start;
	mutex_unlock(&lv->dev.takeovers->looking);
	FAKE_POLL(f, leaving_told(lv) == 1 && READ_ONCE(lv->dev.takeovers->took) >= took);
	neighbour_moves(test, dst, home);
	dst_release(dst);
}

static struct kunit_case path_cases[] = {
	KUNIT_CASE(look_that_takes_long_is_measured),
	KUNIT_CASE(driver_is_told_of_a_neighbour_that_moves),
	KUNIT_CASE(driver_that_releases_amid_a_look_is_told_nothing),
	KUNIT_CASE(driver_is_told_of_a_route_that_changes),
	KUNIT_CASE(redirect_has_the_path_looked_at),
	KUNIT_CASE(driver_is_told_nothing_before_it_has_prepared),
	KUNIT_CASE(driver_is_told_when_it_has_prepared),
	KUNIT_CASE(driver_that_refuses_is_told_nothing),
	KUNIT_CASE(path_differs_in_one_thing),
	KUNIT_CASE(path_that_is_not_known),
	{}
};

static struct kunit_suite path_suite = {
	.name = "iw_mpa_takeover_path",
	.init = fakes_init,
	.exit = leaving_exit,
	.test_cases = path_cases,
};

kunit_test_suite(path_suite);

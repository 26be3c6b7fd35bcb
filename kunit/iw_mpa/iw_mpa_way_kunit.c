// SPDX-License-Identifier: GPL-2.0
/* When iw_mpa binds a connection's socket to the interface that rdma_cm has chosen. */

#include "iw_mpa_fakes.h"
#include "sock.h"
#include "way.h"

#include <linux/netdevice.h>
#include <linux/rtnetlink.h>

#define ETH0	2
#define ETH1	3
#define TUNNEL	4
#define MAIN	254

/*
 * rdma_cm has chosen eth1, whose best route to the peer is @chosen; a socket that is bound to no
 * interface would use the route @host. @tie: the routing tables rank both routes alike, so iw_mpa
 * may bind the socket to eth1.
 */
static const struct way_case {
	const char		*desc;
	struct iw_mpa_route	host;
	struct iw_mpa_route	chosen;
	bool			tie;
} way_cases[] = {
	{ "two_cards_on_a_network", { ETH0, MAIN, 0, 24 }, { ETH1, MAIN, 0, 24 }, true },
	{ "two_default_routes", { ETH0, MAIN, 7, 0 }, { ETH1, MAIN, 7, 0 }, true },
	{ "several_next_hops", { ETH0, MAIN, 0, 8, .many = true },
	  { ETH1, MAIN, 0, 8, .many = true }, true },
	{ "several_next_hops_the_first_is_its_own", { ETH1, MAIN, 0, 8, .many = true },
	  { ETH1, MAIN, 0, 8, .many = true }, true },
	{ "tcp_goes_there_anyway", { ETH1, MAIN, 0, 24 }, { ETH1, MAIN, 0, 24 }, false },
	{ "tunnel_by_a_longer_prefix", { TUNNEL, MAIN, 0, 32 }, { ETH1, MAIN, 0, 0 }, false },
	{ "tunnel_by_half_of_the_internet", { TUNNEL, MAIN, 0, 1 }, { ETH1, MAIN, 0, 0 }, false },
	{ "tunnel_by_a_rule", { TUNNEL, 100, 0, 0 }, { ETH1, MAIN, 0, 0 }, false },
	{ "tunnel_by_its_metric", { TUNNEL, MAIN, 50, 0 }, { ETH1, MAIN, 100, 0 }, false },
	{ "route_for_some_sources", { ETH0, MAIN, 0, 24, .source_len = 64 },
	  { ETH1, MAIN, 0, 24 }, false },
	{ "own_host", { 1, 255, 0, 32, .local = true }, { 1, 255, 0, 32, .local = true }, false },
	{ "own_host_ranked_alike", { ETH0, 255, 0, 32, .local = true }, { ETH1, 255, 0, 32 },
	  false },
	{ "no_route_there", { ETH0, MAIN, 0, 24 }, {}, false },
	{ "route_there_leaves_elsewhere", { ETH0, MAIN, 0, 24 }, { ETH0, MAIN, 0, 24 }, false },
	{ "no_route_but_by_a_rule_for_the_interface", {}, { ETH1, 100, 0, 0 }, false },
	{ "no_route_at_all", {}, {}, false },
};

KUNIT_ARRAY_PARAM_DESC(way, way_cases, desc);

static void way_is_tie_as_the_tables_rank(struct kunit *test)
{
	const struct way_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, iw_mpa_way_is_tie(&c->host, &c->chosen, ETH1), c->tie);
}

/*
 * rdma_cm has chosen @netdev (NULL: none) for a connection from @local to @remote: return the index
 * of the interface to which iw_mpa binds the socket, or 0 if TCP may choose the interface.
 */
static int way_of(__be32 local, __be32 remote, const struct net_device *netdev)
{
	union iw_mpa_addr from = { .in = { .sin_family = AF_INET, .sin_addr.s_addr = local } };
	union iw_mpa_addr to = { .in = { .sin_family = AF_INET, .sin_addr.s_addr = remote } };
	struct iw_mpa_sock_opts opts = { .net = &init_net, .local = &from, .remote = &to };

	return iw_mpa_way(&opts, netdev ? netdev->ifindex : 0);
}

/* Two interfaces are in the peer's network, and TCP would always use eth0: rdma_cm decides. */
static void way_of_two_cards_is_what_rdma_cm_chose(struct kunit *test)
{
	const __be32 first = htonl(0x0a4d0001), second = htonl(0x0a4d0002);
	const __be32 peer = htonl(0x0a4d0009), stranger = htonl(0x0b000001);
	struct net_device *eth0 = fake_netdev_add(test, first);
	struct net_device *eth1 = fake_netdev_add(test, second);

	KUNIT_EXPECT_EQ(test, way_of(second, peer, eth1), eth1->ifindex);
	KUNIT_EXPECT_EQ(test, way_of(first, peer, eth0), 0);
	KUNIT_EXPECT_EQ(test, way_of(second, peer, NULL), 0);
	KUNIT_EXPECT_EQ(test, way_of(second, first, eth1), 0);	/* over lo */
	KUNIT_EXPECT_EQ(test, way_of(second, stranger, eth1), 0);
	rtnl_lock();
	dev_close(eth1);
	rtnl_unlock();
	KUNIT_EXPECT_EQ(test, way_of(second, peer, eth1), 0);
	fake_netdev_remove(eth1);
	fake_netdev_remove(eth0);
}

/* A link-local address has a scope id, by which TCP finds the interface: no binding is needed. */
static void way_of_a_link_local_address_is_tcps(struct kunit *test)
{
	union iw_mpa_addr local = { .in6 = { .sin6_family = AF_INET6, .sin6_scope_id = 1 } };
	struct iw_mpa_sock_opts opts = { .net = &init_net, .local = &local, .remote = &local };

	local.in6.sin6_addr.s6_addr[0] = 0xfe;
	local.in6.sin6_addr.s6_addr[1] = 0x80;
	KUNIT_EXPECT_EQ(test, iw_mpa_way(&opts, 1), 0);
}

static struct kunit_case way_kunit_cases[] = {
	KUNIT_CASE_PARAM(way_is_tie_as_the_tables_rank, way_gen_params),
	KUNIT_CASE(way_of_two_cards_is_what_rdma_cm_chose),
	KUNIT_CASE(way_of_a_link_local_address_is_tcps),
	{}
};

static struct kunit_suite way_suite = {
	.name = "iw_mpa_way",
	.init = fakes_init,
	.exit = fakes_exit,
	.test_cases = way_kunit_cases,
};

kunit_test_suite(way_suite);

// SPDX-License-Identifier: GPL-2.0
/*
 * Settings that decide whether an initiator asks for an RTR message (RFC 6581 5), and whether MPA
 * revision 1 is allowed (RFC 6581 10).
 */

#include "config.h"

#include <kunit/test.h>
#include <linux/bitmap.h>

#define PORTS	65536

struct policy_case {
	const char		*desc;
	u8			net;		/* net.iw_mpa.peer_to_peer */
	s8			device;
	int			yes;		/* peer_to_peer_ports */
	int			no;		/* client_server_ports */
	bool			p2p;
};

/* Each case is a connection from local port 1111 to remote port 2222. */
static const struct policy_case policy_cases[] = {
	{ "namespace_off", 0, IW_MPA_DEFAULT, -1, -1, false },
	{ "namespace_on", 1, IW_MPA_DEFAULT, -1, -1, true },
	{ "device_off", 1, 0, -1, -1, false },
	{ "device_on", 0, 1, -1, -1, true },
	{ "remote_port_on", 0, 0, 2222, -1, true },
	{ "local_port_on", 0, 0, 1111, -1, true },
	{ "remote_port_off", 1, 1, -1, 2222, false },
	{ "local_port_off", 1, 1, -1, 1111, false },
	{ "both_lists", 0, IW_MPA_DEFAULT, 1111, 2222, true },
	{ "another_port_on", 0, IW_MPA_DEFAULT, 2223, -1, false },
	{ "another_port_off", 1, IW_MPA_DEFAULT, -1, 65535, true },
};

KUNIT_ARRAY_PARAM_DESC(policy, policy_cases, desc);

static unsigned long *port_list(struct kunit *test, int port)
{
	unsigned long *ports = kunit_kzalloc(test, BITS_TO_LONGS(PORTS) * sizeof(long),
					     GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, ports);
	if (port >= 0)
		__set_bit(port, ports);
	return ports;
}

/* Rules: E-5-1: whether an initiator asks for an RTR message, by port, device and namespace */
static void config_narrower_rtr_policy_wins(struct kunit *test)
{
	const struct policy_case *c = test->param_value;
	struct iw_mpa_config config = {
		.peer_to_peer		= c->net,
		.peer_to_peer_ports	= port_list(test, c->yes),
		.client_server_ports	= port_list(test, c->no),
	};
	struct iw_mpa_device_config device = { .peer_to_peer = c->device };
	bool will_do;

	KUNIT_EXPECT_EQ(test, c->p2p,
			iw_mpa_config_peer_to_peer(&config, &device, 1111, 2222, &will_do));
}

static const struct fall_back_case {
	const char		*desc;
	u8			v1_fallback;
	u8			strict;
	u8			net;		/* net.iw_mpa.peer_to_peer */
	s8			device;
	int			yes;		/* peer_to_peer_ports */
	int			no;		/* client_server_ports */
	bool			will_do;
} fall_back_cases[] = {
	/* net.iw_mpa.peer_to_peer is not about one application, so it never bars revision 1. */
	{ "defaults", 1, 0, 1, IW_MPA_DEFAULT, -1, -1, true },
	{ "namespace_off", 1, 0, 0, IW_MPA_DEFAULT, -1, -1, true },
	{ "turned_off", 0, 0, 0, IW_MPA_DEFAULT, -1, -1, false },
	{ "turned_off_for_client_server", 0, 0, 0, 0, -1, 2222, false },
	{ "strict", 1, 1, 0, IW_MPA_DEFAULT, -1, -1, false },
	{ "strict_client_server", 1, 1, 0, 0, -1, 2222, false },
	{ "device_on", 1, 0, 0, 1, -1, -1, false },
	{ "device_off", 1, 0, 1, 0, -1, -1, true },
	{ "remote_port_on", 1, 0, 0, 0, 2222, -1, false },
	{ "local_port_on", 1, 0, 0, IW_MPA_DEFAULT, 1111, -1, false },
	{ "remote_port_off_of_a_device_that_is_on", 1, 0, 1, 1, -1, 2222, true },
	{ "both_lists", 1, 0, 0, IW_MPA_DEFAULT, 2222, 1111, false },
	{ "another_port_on", 1, 0, 1, IW_MPA_DEFAULT, 2223, -1, true },
};

KUNIT_ARRAY_PARAM_DESC(fall_back, fall_back_cases, desc);

/* Rules: E-10-6: whether revision 1 is allowed, by setting, depths, port and device */
static void config_revision_1_does_not_do_where_more_is_asked_for(struct kunit *test)
{
	const struct fall_back_case *c = test->param_value;
	struct iw_mpa_config config = {
		.v1_fallback		= c->v1_fallback,
		.strict_ird_ord		= c->strict,
		.peer_to_peer		= c->net,
		.peer_to_peer_ports	= port_list(test, c->yes),
		.client_server_ports	= port_list(test, c->no),
	};
	struct iw_mpa_device_config device = { .peer_to_peer = c->device };
	bool will_do;

	iw_mpa_config_peer_to_peer(&config, &device, 1111, 2222, &will_do);
	KUNIT_EXPECT_EQ(test, will_do, c->will_do);
}

static struct kunit_case config_cases[] = {
	KUNIT_CASE_PARAM(config_narrower_rtr_policy_wins, policy_gen_params),
	KUNIT_CASE_PARAM(config_revision_1_does_not_do_where_more_is_asked_for,
			 fall_back_gen_params),
	{}
};

static struct kunit_suite config_suite = {
	.name = "iw_mpa_config",
	.test_cases = config_cases,
};

kunit_test_suite(config_suite);

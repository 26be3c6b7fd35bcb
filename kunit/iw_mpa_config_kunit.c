// SPDX-License-Identifier: GPL-2.0
/* Settings: who decides whether an initiator asks for an RTR message (RFC 6581 5). */

#include "config.h"

#include <kunit/test.h>
#include <linux/bitmap.h>
#include <linux/module.h>

#define PORTS	65536

struct policy_case {
	const char		*desc;
	u8			net;		/* net.iw_mpa.peer_to_peer */
	enum iw_mpa_choice	device;
	int			yes;		/* peer_to_peer_ports */
	int			no;		/* client_server_ports */
	bool			p2p;
};

/* The connection is from port 1111 to port 2222. */
static const struct policy_case policy_cases[] = {
	{ "namespace_off", 0, IW_MPA_CHOICE_DEFAULT, -1, -1, false },
	{ "namespace_on", 1, IW_MPA_CHOICE_DEFAULT, -1, -1, true },
	{ "device_off", 1, IW_MPA_CHOICE_OFF, -1, -1, false },
	{ "device_on", 0, IW_MPA_CHOICE_ON, -1, -1, true },
	{ "remote_port_on", 0, IW_MPA_CHOICE_OFF, 2222, -1, true },
	{ "local_port_on", 0, IW_MPA_CHOICE_OFF, 1111, -1, true },
	{ "remote_port_off", 1, IW_MPA_CHOICE_ON, -1, 2222, false },
	{ "local_port_off", 1, IW_MPA_CHOICE_ON, -1, 1111, false },
	{ "both_lists", 0, IW_MPA_CHOICE_DEFAULT, 1111, 2222, true },
	{ "another_port_on", 0, IW_MPA_CHOICE_DEFAULT, 2223, -1, false },
	{ "another_port_off", 1, IW_MPA_CHOICE_DEFAULT, -1, 65535, true },
};

static void policy_desc(const struct policy_case *c, char *desc)
{
	strscpy(desc, c->desc, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(policy, policy_cases, policy_desc);

static unsigned long *port_list(struct kunit *test, int port)
{
	unsigned long *ports = kunit_kzalloc(test, BITS_TO_LONGS(PORTS) * sizeof(long),
					     GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, ports);
	if (port >= 0)
		__set_bit(port, ports);
	return ports;
}

/* Rules: E-5-1: the policy, by port, device and namespace */
static void config_narrower_rtr_policy_wins(struct kunit *test)
{
	const struct policy_case *c = test->param_value;
	struct iw_mpa_config config = {
		.peer_to_peer		= c->net,
		.peer_to_peer_ports	= port_list(test, c->yes),
		.client_server_ports	= port_list(test, c->no),
	};

	KUNIT_EXPECT_EQ(test, iw_mpa_config_peer_to_peer(&config, c->device, 1111, 2222),
			c->p2p);
}

static struct kunit_case config_cases[] = {
	KUNIT_CASE_PARAM(config_narrower_rtr_policy_wins, policy_gen_params),
	{}
};

static struct kunit_suite config_suite = {
	.name = "iw_mpa_config",
	.test_cases = config_cases,
};

kunit_test_suite(config_suite);

MODULE_LICENSE("GPL");

// SPDX-License-Identifier: GPL-2.0
/* What a driver must bring to its registration. */

#include "iw_mpa_fakes.h"
#include "main.h"
#include "offload.h"

#include <linux/device.h>
#include <linux/gfp.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/percpu.h>
#include <linux/string.h>

/* What a driver brings to its registration */
struct brought {
	struct iw_mpa_driver_ops	drv;
	struct iw_mpa_device_attr	attr;
};

struct check_case {
	const char	*desc;
	const char	*problem;	/* a word of it, or NULL if all is well */
	void		(*spoil)(struct brought *b);
};

static void spoil_nothing(struct brought *b)
{
}

static void spoil_prepare(struct brought *b)
{
	b->drv.prepare = NULL;
}

static void spoil_open_tx(struct brought *b)
{
	b->drv.open_tx = NULL;
}

static void spoil_stop(struct brought *b)
{
	b->drv.stop = NULL;
}

static void spoil_kick_rx(struct brought *b)
{
	b->drv.kick_rx = NULL;
}

static void spoil_send_rtr(struct brought *b)
{
	b->drv.send_rtr = NULL;
}

static void spoil_rtr_accept(struct brought *b)
{
	b->attr.rtr_accept = 0;
}

static void spoil_read_alone(struct brought *b)
{
	b->attr.rtr_accept = IW_MPA_RTR_READ;
	b->attr.max_ird = 0;
}

static void spoil_unknown_rtr(struct brought *b)
{
	b->attr.rtr_accept |= BIT(3);
}

static void spoil_unknown_rtr_send(struct brought *b)
{
	b->attr.rtr_send |= BIT(3);
}

static void spoil_max_ird(struct brought *b)
{
	b->attr.max_ird = 0x3fff;
}

static void spoil_max_ord(struct brought *b)
{
	b->attr.max_ord = 0x3fff;
}

static void spoil_caps(struct brought *b)
{
	b->attr.caps |= BIT(31);
}

static int never_repeat_rtr(struct ib_qp *qp)
{
	return -EAGAIN;
}

static int never_hold(struct ib_qp *qp, struct sock *sk)
{
	return -EAGAIN;
}

static int never_send_reply(struct ib_qp *qp, const void *reply, size_t len)
{
	return -EAGAIN;
}

static const struct iw_mpa_takeover_ops takeover_without_send_reply;

static const struct iw_mpa_takeover_ops takeover_alone = {
	.send_reply = never_send_reply,
};

static const struct iw_mpa_takeover_ops takeover_without_let_go = {
	.send_reply = never_send_reply, .hold = never_hold,
};

static const struct iw_mpa_takeover_ops takeover_of_unknown = {
	.send_reply = never_send_reply, .tcp_options = BIT(7),
};

static void __maybe_unused spoil_takeover_reply(struct brought *b)
{
	b->attr.takeover = &takeover_without_send_reply;
}

static void __maybe_unused spoil_takeover_repeat(struct brought *b)
{
	b->attr.takeover = &takeover_alone;
	b->drv.repeat_rtr = never_repeat_rtr;
}

static void __maybe_unused spoil_let_go(struct brought *b)
{
	b->attr.takeover = &takeover_without_let_go;
}

static void __maybe_unused spoil_tcp_options(struct brought *b)
{
	b->attr.takeover = &takeover_of_unknown;
}

static void make_takeover(struct brought *b)
{
	b->attr.takeover = &takeover_alone;
	b->drv.attach = NULL;
	b->drv.kick_rx = NULL;
}

static void make_either(struct brought *b)
{
	b->attr.takeover = &takeover_alone;
}

static void make_toe(struct brought *b)
{
	b->drv.attach = NULL;
	b->drv.kick_rx = NULL;
	b->attr.rtr_send = 0;
	b->drv.send_rtr = NULL;
}

static void make_deepest(struct brought *b)
{
	b->attr.max_ird = 0x3ffe;
	b->attr.max_ord = 0x3ffe;
}

static void make_read_alone(struct brought *b)
{
	b->attr.rtr_accept = IW_MPA_RTR_READ;
	b->attr.max_ird = 1;
}

static const struct check_case check_cases[] = {
	{ "complete", NULL, spoil_nothing },
	{ "toe_needs_least", NULL, make_toe },
#if IS_ENABLED(CONFIG_IW_MPA_TAKEOVER)
	{ "takeover_needs_no_attach", NULL, make_takeover },
	{ "takeover_without_send_reply", "send_reply", spoil_takeover_reply },
	{ "takeover_with_repeat_rtr", "repeat_rtr", spoil_takeover_repeat },
	{ "hold_without_let_go", "let_go", spoil_let_go },
	{ "unknown_tcp_option", "tcp_options", spoil_tcp_options },
#else
	{ "takeover_is_not_built", "CONFIG_IW_MPA_TAKEOVER", make_takeover },
#endif
	{ "takeover_or_a_socket", NULL, make_either },
	{ "rfc6581_9_1_largest_depths", NULL, make_deepest },
	{ "rfc6581_9_2_read_alone_with_ird", NULL, make_read_alone },
	{ "no_prepare", "prepare", spoil_prepare },
	{ "no_open_tx", "open_tx", spoil_open_tx },
	{ "no_stop", "stop", spoil_stop },
	{ "attach_without_kick_rx", "kick_rx", spoil_kick_rx },
	{ "rtr_send_without_send_rtr", "send_rtr", spoil_send_rtr },
	{ "rfc6581_9_2_no_rtr_accept", "rtr_accept", spoil_rtr_accept },
	{ "rfc6581_9_2_read_alone_without_ird", "max_ird", spoil_read_alone },
	{ "unknown_rtr_accept", "rtr_accept", spoil_unknown_rtr },
	{ "unknown_rtr_send", "rtr_send", spoil_unknown_rtr_send },
	{ "max_ird_is_no_number", "max_ird", spoil_max_ird },
	{ "max_ord_is_no_number", "max_ord", spoil_max_ord },
	{ "unknown_cap", "caps", spoil_caps },
};

static void check_desc(const struct check_case *c, char *desc)
{
	strscpy(desc, c->desc, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(check, check_cases, check_desc);

/* Rules: E-9.2-3: what is said of a driver that takes no type */
static void offload_check_names_what_is_wrong(struct kunit *test)
{
	const struct check_case *c = test->param_value;
	struct fakes *f = test->priv;
	struct brought b = { f->drv, f->attr };
	const char *problem;

	c->spoil(&b);
	problem = iw_mpa_offload_check(&b.drv, &b.attr);
	if (!c->problem) {
		KUNIT_EXPECT_NULL(test, problem);
		return;
	}
	KUNIT_ASSERT_NOT_NULL(test, problem);
	KUNIT_EXPECT_TRUE_MSG(test, strstr(problem, c->problem), "%s", problem);
}

static void register_refuses_what_check_refuses(struct kunit *test)
{
	struct fakes *f = test->priv;

	fake_unregister(f);
	f->drv.stop = NULL;
	KUNIT_EXPECT_EQ(test, fake_register(f), -EINVAL);
}

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

static void register_refuses_no_netdev(struct kunit *test)
{
	struct fakes *f = test->priv;

	fake_unregister(f);
	KUNIT_EXPECT_EQ(test, iw_mpa_register_device(f->ibdev, NULL, &f->drv, &f->attr), -EINVAL);
}

static void register_refuses_missing_verbs(struct kunit *test)
{
	struct fakes *f = test->priv;
	struct ib_device_ops *ops = &f->ibdev->ops;
	struct ib_device_ops all = *ops;

	fake_unregister(f);
	ops->iw_get_qp = NULL;
	KUNIT_EXPECT_EQ(test, fake_register(f), -EINVAL);
	*ops = all;
	ops->iw_add_ref = NULL;
	KUNIT_EXPECT_EQ(test, fake_register(f), -EINVAL);
	*ops = all;
	ops->iw_rem_ref = NULL;
	KUNIT_EXPECT_EQ(test, fake_register(f), -EINVAL);
	*ops = all;
}

/* What is not set here is the library's. */
static void register_refuses_half_of_the_statistics(struct kunit *test)
{
	struct fakes *f = test->priv;
	struct ib_device_ops *ops = &f->ibdev->ops;
	struct ib_device_ops all = *ops;

	fake_unregister(f);
	ops->get_hw_stats = NULL;
	KUNIT_EXPECT_EQ(test, fake_register(f), -EINVAL);
	*ops = all;
	ops->alloc_hw_port_stats = NULL;
	KUNIT_EXPECT_EQ(test, fake_register(f), -EINVAL);
	ops->get_hw_stats = NULL;
	KUNIT_EXPECT_EQ(test, fake_register(f), 0);
	fake_unregister(f);
	*ops = all;
}

static void register_twice_is_refused(struct kunit *test)
{
	struct fakes *f = test->priv;

	KUNIT_EXPECT_EQ(test, fake_register(f), -EEXIST);
	f->registered = true;	/* the first time */
}

static void unregister_twice_is_harmless(struct kunit *test)
{
	struct fakes *f = test->priv;

	fake_unregister(f);
	fake_unregister(f);
	KUNIT_EXPECT_EQ(test, fake_register(f), 0);
	f->registered = true;
}

/* Refused again and again, and no page more is used for counters */
static void register_refused_leaves_nothing(struct kunit *test)
{
	struct fakes *f = test->priv;
	unsigned long pages = 0;
	int i;

	for (i = 0; i < 3000; i++) {
		if (i == 1000)
			pages = pcpu_nr_pages();
		KUNIT_ASSERT_EQ(test, iw_mpa_register_device(f->ibdev, init_net.loopback_dev,
							     &f->drv, &f->attr), -EEXIST);
	}
	KUNIT_EXPECT_LE(test, pcpu_nr_pages(), pages);
}

struct setting_case {
	const char	*desc;	/* its name */
	const char	*least;
	const char	*greatest;
	const char	*below;
	const char	*above;
};

static const struct setting_case setting_cases[] = {
	{ "crc", "0\n", "1\n", "-2\n", "2\n" },
	{ "markers", "0\n", "1\n", "-2\n", "2\n" },
	{ "large_fpdu", "0\n", "1\n", "-2\n", "2\n" },
	{ "mpa_rev", "1\n", "2\n", "0\n", "3\n" },
	{ "peer_to_peer", "0\n", "1\n", "-2\n", "2\n" },
};

static void setting_desc(const struct setting_case *c, char *desc)
{
	strscpy(desc, c->desc, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(setting, setting_cases, setting_desc);

/* /sys/class/infiniband/DEVICE/iw_mpa/..., as a person writes and reads it */
static void register_device_has_settings(struct kunit *test)
{
	const struct setting_case *c = test->param_value;
	const char *const good[] = { c->least, c->greatest, "default\n" };
	const char *const bad[] = { c->below, c->above, "-1\n", "257\n", "\n", "defaults\n",
				    "1x\n" };
	struct fakes *f = test->priv;
	struct device *device = &f->ibdev->dev;
	struct device_attribute *attr = fake_device_attr(f, c->desc);
	char *page = (char *)get_zeroed_page(GFP_KERNEL);
	int i, j;

	KUNIT_ASSERT_NOT_NULL(test, attr);
	KUNIT_ASSERT_NOT_NULL(test, page);
	KUNIT_EXPECT_EQ(test, attr->show(device, attr, page), 8);
	KUNIT_EXPECT_STREQ(test, page, "default\n");
	for (i = 0; i < ARRAY_SIZE(good); i++) {
		fake_set_device(f, c->desc, good[i]);
		for (j = 0; j < ARRAY_SIZE(bad); j++)
			KUNIT_EXPECT_EQ(test, attr->store(device, attr, bad[j], strlen(bad[j])),
					-EINVAL);
		KUNIT_EXPECT_EQ(test, attr->show(device, attr, page), strlen(good[i]));
		KUNIT_EXPECT_STREQ(test, page, good[i]);
	}
	fake_unregister(f);
	KUNIT_EXPECT_EQ(test, attr->show(device, attr, page), -ENODEV);
	KUNIT_EXPECT_EQ(test, attr->store(device, attr, "1\n", 2), -ENODEV);
	free_page((unsigned long)page);
}

static struct kunit_case register_cases[] = {
	KUNIT_CASE_PARAM(offload_check_names_what_is_wrong, check_gen_params),
	KUNIT_CASE(register_refuses_what_check_refuses),
	KUNIT_CASE(register_refuses_another_api),
	KUNIT_CASE(register_refuses_no_netdev),
	KUNIT_CASE(register_refuses_missing_verbs),
	KUNIT_CASE(register_refuses_half_of_the_statistics),
	KUNIT_CASE(register_twice_is_refused),
	KUNIT_CASE(unregister_twice_is_harmless),
	KUNIT_CASE(register_refused_leaves_nothing),
	KUNIT_CASE_PARAM(register_device_has_settings, setting_gen_params),
	{}
};

static struct kunit_suite register_suite = {
	.name = "iw_mpa_register",
	.init = fakes_init,
	.exit = fakes_exit,
	.test_cases = register_cases,
};

kunit_test_suite(register_suite);

MODULE_LICENSE("GPL");

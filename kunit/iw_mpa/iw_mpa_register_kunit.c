// SPDX-License-Identifier: GPL-2.0
/*
 * What iw_mpa checks when a driver registers a device, the settings of a device, and which process
 * may use which QP.
 */

#include "iw_mpa_fakes.h"
#include "main.h"
#include "offload.h"

#include <linux/device.h>
#include <linux/gfp.h>
#include <linux/netdevice.h>
#include <linux/percpu.h>
#include <linux/string.h>

/* What a driver passes to its registration */
struct brought {
	struct iw_mpa_driver_ops	drv;
	struct iw_mpa_device_attr	attr;
};

static int __maybe_unused never_repeat_rtr(struct ib_qp *qp)
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

static const struct iw_mpa_takeover_ops takeover_alone = {
	.send_reply = never_send_reply,
};

static const struct iw_mpa_takeover_ops __maybe_unused takeover_without_send_reply,
	takeover_without_let_go = { .send_reply = never_send_reply, .hold = never_hold },
	takeover_of_unknown = { .send_reply = never_send_reply, .tcp_options = BIT(7) };

/* A change of a case: the member of struct brought, and its new value; @size 0: no change */
struct change {
	size_t		offset;
	size_t		size;
	unsigned long	value;
};

#define SET(member, to)	{ \
	.offset = offsetof(struct brought, member), \
	.size = sizeof_field(struct brought, member), \
	.value = (unsigned long)(to), \
}

#define NO(op)		SET(drv.op, NULL)

static void make_change(struct brought *b, const struct change *change)
{
	void *member = (void *)b + change->offset;

	if (change->size == sizeof(u8))
		*(u8 *)member = change->value;
	else if (change->size == sizeof(u16))
		*(u16 *)member = change->value;
	else if (change->size == sizeof(u32))
		*(u32 *)member = change->value;
	else if (change->size == sizeof(void *))
		*(unsigned long *)member = change->value;
	else
		WARN_ON(change->size);
}

static const struct check_case {
	const char	*desc;
	const char	*problem;	/* a word of the message, or NULL for no problem */
	struct change	changes[4];
} check_cases[] = {
	{ "complete", NULL },
	{ "toe_needs_least", NULL,
	  { NO(attach), NO(kick_rx), SET(attr.rtr_send, 0), NO(send_rtr) } },
#if IS_ENABLED(CONFIG_IW_MPA_TAKEOVER)
	{ "takeover_needs_no_attach", NULL,
	  { SET(attr.takeover, &takeover_alone), NO(attach), NO(kick_rx) } },
	{ "takeover_without_send_reply", "send_reply",
	  { SET(attr.takeover, &takeover_without_send_reply) } },
	{ "takeover_with_repeat_rtr", "repeat_rtr",
	  { SET(attr.takeover, &takeover_alone), SET(drv.repeat_rtr, never_repeat_rtr) } },
	{ "hold_without_let_go", "let_go", { SET(attr.takeover, &takeover_without_let_go) } },
	{ "unknown_tcp_option", "tcp_options", { SET(attr.takeover, &takeover_of_unknown) } },
#else
	{ "takeover_is_not_built", "CONFIG_IW_MPA_TAKEOVER",
	  { SET(attr.takeover, &takeover_alone), NO(attach), NO(kick_rx) } },
#endif
	{ "takeover_or_a_socket", NULL, { SET(attr.takeover, &takeover_alone) } },
	{ "rfc6581_9_1_largest_depths", NULL,
	  { SET(attr.max_ird, 0x3ffe), SET(attr.max_ord, 0x3ffe) } },
	{ "rfc6581_9_2_read_alone_with_ird", NULL,
	  { SET(attr.rtr_accept, IW_MPA_RTR_READ), SET(attr.max_ird, 1) } },
	{ "no_prepare", "prepare", { NO(prepare) } },
	{ "no_open_tx", "open_tx", { NO(open_tx) } },
	{ "no_stop", "stop", { NO(stop) } },
	{ "attach_without_kick_rx", "kick_rx", { NO(kick_rx) } },
	{ "rtr_send_without_send_rtr", "send_rtr", { NO(send_rtr) } },
	{ "rfc6581_9_2_no_rtr_accept", "rtr_accept", { SET(attr.rtr_accept, 0) } },
	{ "rfc6581_9_2_read_alone_without_ird", "max_ird",
	  { SET(attr.rtr_accept, IW_MPA_RTR_READ), SET(attr.max_ird, 0) } },
	{ "unknown_rtr_accept", "rtr_accept", { SET(attr.rtr_accept, IW_MPA_RTR_ALL | BIT(3)) } },
	{ "unknown_rtr_send", "rtr_send", { SET(attr.rtr_send, IW_MPA_RTR_ALL | BIT(3)) } },
	{ "max_ird_is_no_number", "max_ird", { SET(attr.max_ird, 0x3fff) } },
	{ "max_ord_is_no_number", "max_ord", { SET(attr.max_ord, 0x3fff) } },
	{ "unknown_cap", "caps", { SET(attr.caps, IW_MPA_CAP_TX_FENCE | BIT(31)) } },
};

KUNIT_ARRAY_PARAM_DESC(check, check_cases, desc);

/* Rules: E-9.2-3: the message about a driver that accepts no RTR type */
static void offload_check_names_what_is_wrong(struct kunit *test)
{
	const struct check_case *c = test->param_value;
	struct fakes *f = test->priv;
	struct brought b = { f->drv, f->attr };
	const char *problem;
	int i;

	for (i = 0; i < ARRAY_SIZE(c->changes); i++)
		make_change(&b, &c->changes[i]);
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

/*
 * A driver that sets neither get_hw_stats nor alloc_hw_port_stats gets those of iw_mpa; a driver
 * that sets only one of them is refused.
 */
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
	f->registered = true;	/* the first registration is still valid */
}

static void unregister_twice_is_harmless(struct kunit *test)
{
	struct fakes *f = test->priv;

	fake_unregister(f);
	fake_unregister(f);
	KUNIT_EXPECT_EQ(test, fake_register(f), 0);
	f->registered = true;
}

/* Refused registrations leak no per-CPU counters: the number of per-CPU pages does not grow. */
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

static const struct setting_case {
	const char	*desc;	/* name of the setting */
	const char	*least;
	const char	*greatest;
	const char	*below;
	const char	*above;
} setting_cases[] = {
	{ "crc", "0\n", "1\n", "-2\n", "2\n" },
	{ "markers", "0\n", "1\n", "-2\n", "2\n" },
	{ "large_fpdu", "0\n", "1\n", "-2\n", "2\n" },
	{ "mpa_rev", "1\n", "2\n", "0\n", "3\n" },
	{ "peer_to_peer", "0\n", "1\n", "-2\n", "2\n" },
};

KUNIT_ARRAY_PARAM_DESC(setting, setting_cases, desc);

/* Settings in /sys/class/infiniband/DEVICE/iw_mpa: which texts can be written, and what is read */
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

/* Return what iw_get_qp finds for the number of @qp if a process with @cred calls iw_connect. */
static struct ib_qp *named_by_process(const struct ib_qp *qp, const struct cred *cred)
{
	const struct cred *before = override_creds(cred);
	struct ib_qp *found;

	current->flags &= ~PF_KTHREAD;
	found = qp->device->ops.iw_get_qp(qp->device, qp->qp_num);
	current->flags |= PF_KTHREAD;
	revert_creds(before);
	return found;
}

/* A QP number is easily guessed: a process must not use the QP of another user. */
static void qp_is_for_its_own_user(struct kunit *test)
{
	/* only compared with NULL: a uobject marks an application's QP */
	static struct ib_uqp_object *const object = (void *)1;
	struct fakes *f = test->priv;
	struct ib_qp *qp = &f->qps[0].ib;
	struct cred *root = prepare_creds(), *other = prepare_creds();

	KUNIT_ASSERT_NOT_NULL(test, root);
	KUNIT_ASSERT_NOT_NULL(test, other);
	other->uid = KUIDT_INIT(1000);
	cap_clear(other->cap_effective);
	/* a QP of a ULP of the kernel */
	KUNIT_EXPECT_PTR_EQ(test, qp->device->ops.iw_get_qp(qp->device, qp->qp_num), qp);
	KUNIT_EXPECT_PTR_EQ(test, named_by_process(qp, root), qp);
	KUNIT_EXPECT_NULL(test, named_by_process(qp, other));
	/* with CAP_SYS_ADMIN, as mount.cifs has it */
	cap_raise(other->cap_effective, CAP_SYS_ADMIN);
	KUNIT_EXPECT_PTR_EQ(test, named_by_process(qp, other), qp);
	cap_clear(other->cap_effective);
	/* a QP of an application, of root, and then of the current process */
	qp->uobject = object;
	qp->res.task = &init_task;
	KUNIT_EXPECT_PTR_EQ(test, named_by_process(qp, root), qp);
	KUNIT_EXPECT_NULL(test, named_by_process(qp, other));
	qp->res.task = current;
	KUNIT_EXPECT_PTR_EQ(test, named_by_process(qp, other), qp);
	qp->uobject = NULL;
	qp->res.task = NULL;
	put_cred(root);
	put_cred(other);
}

static struct kunit_case register_cases[] = {
	KUNIT_CASE_PARAM(offload_check_names_what_is_wrong, check_gen_params),
	KUNIT_CASE(register_refuses_what_check_refuses),
	KUNIT_CASE(register_refuses_no_netdev),
	KUNIT_CASE(register_refuses_missing_verbs),
	KUNIT_CASE(register_refuses_half_of_the_statistics),
	KUNIT_CASE(register_twice_is_refused),
	KUNIT_CASE(unregister_twice_is_harmless),
	KUNIT_CASE(register_refused_leaves_nothing),
	KUNIT_CASE_PARAM(register_device_has_settings, setting_gen_params),
	KUNIT_CASE(qp_is_for_its_own_user),
	{}
};

static struct kunit_suite register_suite = {
	.name = "iw_mpa_register",
	.init = fakes_init,
	.exit = fakes_exit,
	.test_cases = register_cases,
};

kunit_test_suite(register_suite);

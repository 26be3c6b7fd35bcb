// SPDX-License-Identifier: GPL-2.0
/*
 * iw_mpa reads fields of rdma_cm's id (struct rdma_cm_id), to which the member context of iw_cm's
 * cm_id points, and sets port_num in it. If the context is something else, iw_mpa must not change
 * it.
 */

#include "device.h"
#include "ep.h"
#include "iw_mpa_fake_ulp.h"
#include "iw_mpa_fakes.h"
#include "iwcm.h"

#include <linux/in.h>
#include <linux/string.h>
#include <rdma/rdma_cm.h>

/* Contents of the struct rdma_cm_id that is a cm_id's context; or a context that is none */
static const struct owner_case {
	const char	*desc;
	bool		none;		/* the cm_id has no context */
	bool		other_device;
	__be32		src;		/* if not 0: local address, other than the cm_id's */
	__be32		dst;
	sa_family_t	family;
	bool		wildcard;
	u32		port;
	u32		want_port;	/* expected port_num of a listener's rdma_cm_id */
	bool		want_other;	/* iw_mpa finds that rdma_cm chose the other device */
} owner_cases[] = {
	{ "wildcard_gets_its_port", .wildcard = true, .want_port = 1 },
	{ "wildcard_with_a_port_keeps_it", .wildcard = true, .port = 2, .want_port = 2 },
	{ "address_has_what_rdma_cm_says" },
	{ "no_context", .none = true, .wildcard = true },
	{ "foreign_by_its_device", .other_device = true, .wildcard = true, .want_other = true },
	{ "other_device_of_a_connection", .other_device = true, .want_other = true },
	{ "foreign_by_its_local_address", .src = cpu_to_be32(0x7f000002), .wildcard = true },
	{ "foreign_by_both", .src = cpu_to_be32(0x7f000002), .other_device = true },
	{ "foreign_by_its_remote_address", .dst = cpu_to_be32(0x7f000002), .other_device = true },
	{ "foreign_by_its_family", .family = AF_INET6, .other_device = true, .wildcard = true },
};

KUNIT_ARRAY_PARAM_DESC(owner, owner_cases, desc);

static struct rdma_cm_id *owner_of(const struct owner_case *c, struct fake_id *fid,
				   struct ib_device *other)
{
	struct rdma_cm_id *owner = fake_own(fid);
	struct rdma_addr *addr = &owner->route.addr;

	if (c->none)
		fid->id.context = NULL;
	if (c->other_device)
		owner->device = other;
	if (c->src)
		((struct sockaddr_in *)&addr->src_addr)->sin_addr.s_addr = c->src;
	if (c->dst)
		((struct sockaddr_in *)&addr->dst_addr)->sin_addr.s_addr = c->dst;
	if (c->family)
		addr->src_addr.ss_family = c->family;
	owner->port_num = c->port;
	return owner;
}

/*
 * Listening: if the listener is a wildcard, and port_num (the RDMA device's port) in the struct
 * rdma_cm_id is 0, iw_mpa sets it. A context that is no struct rdma_cm_id is not changed.
 */
static void owner_keep_requests_sets_the_port(struct kunit *test)
{
	struct ib_device *other = kunit_kzalloc(test, sizeof(*other), GFP_KERNEL);
	const struct owner_case *c = test->param_value;
	struct fake_id *fid = fake_id_create(test->priv);
	const struct rdma_cm_id *owner;

	KUNIT_ASSERT_NOT_NULL(test, other);
	if (c->wildcard)
		((struct sockaddr_in *)&fid->id.local_addr)->sin_addr.s_addr = 0;
	owner = owner_of(c, fid, other);
	iw_mpa_iwcm_keep_requests(&fid->id);
	KUNIT_EXPECT_EQ(test, owner->port_num, c->want_port);
}

/*
 * Accepting: iw_mpa takes the cm_id's context for a struct rdma_cm_id if both have the same IP
 * addresses. The TCP ports may differ, since a port mapper (iwpmd) may have changed them.
 */
static void owner_device_is_what_rdma_cm_chose(struct kunit *test)
{
	struct ib_device *other = kunit_kzalloc(test, sizeof(*other), GFP_KERNEL);
	const struct owner_case *c = test->param_value;
	struct iw_mpa_ep *ep = kunit_kzalloc(test, sizeof(*ep), GFP_KERNEL);
	struct fake_id *fid = fake_id_create(test->priv);
	struct iw_mpa_call call = { .id = &fid->id };
	struct rdma_cm_id *owner;

	KUNIT_ASSERT_NOT_NULL(test, other);
	KUNIT_ASSERT_NOT_NULL(test, ep);
	owner = owner_of(c, fid, other);
	((struct sockaddr_in *)&owner->route.addr.src_addr)->sin_port = htons(1);
	((struct sockaddr_in *)&owner->route.addr.dst_addr)->sin_port = htons(2);
	ep->dev = iw_mpa_device_get(fid->id.device);
	KUNIT_ASSERT_NOT_NULL(test, ep->dev);
	ep->config = fid->f->config;
	ep->call = &call;
	KUNIT_EXPECT_EQ(test, iw_mpa_iwcm_check_device(ep), c->want_other ? -EINVAL : 0);
	KUNIT_EXPECT_EQ(test, ep->reason, c->want_other ? IW_MPA_R_WRONG_DEVICE : IW_MPA_R_OK);
	owner->device = NULL;
	KUNIT_EXPECT_EQ(test, iw_mpa_iwcm_check_device(ep), 0);
	iw_mpa_device_put(ep->dev);
}

/*
 * rdma_cm has chosen another device than the listener's for the connection, and the ULP has made
 * its QP there. So iw_mpa refuses iw_accept: on the listener's device the QP with the number that
 * the ULP gives may belong to another ULP.
 */
static void accept_with_a_qp_of_another_device_is_refused(struct kunit *test)
{
	struct ib_device *other = kunit_kzalloc(test, sizeof(*other), GFP_KERNEL);
	struct fake_conn *c = conn_new(test);

	KUNIT_ASSERT_NOT_NULL(test, other);
	conn_call(c);
	fake_own(c->fid)->device = other;
	KUNIT_EXPECT_EQ(test, fake_accept(c->fid, &c->param), -EINVAL);
	conn_expect_refusal(c, "", 5);
	fake_expect_closed(c->fid, 0);
	KUNIT_EXPECT_STREQ(test, c->qp->log, "");
	KUNIT_EXPECT_EQ(test, c->qp->refs, 1);
}

/* rdma_cm has chosen the listener's device for the connection, so that device has the ULP's QP. */
static void accept_with_a_qp_of_the_device_comes_up(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	conn_call(c);
	fake_own(c->fid);
	KUNIT_EXPECT_EQ(test, fake_accept(c->fid, &c->param), 0);
	peer_recv_frame(c->f, c->peer, &c->frame);
	conn_establish(c);
}

static struct kunit_case owner_kunit_cases[] = {
	KUNIT_CASE_PARAM(owner_keep_requests_sets_the_port, owner_gen_params),
	KUNIT_CASE_PARAM(owner_device_is_what_rdma_cm_chose, owner_gen_params),
	KUNIT_CASE(accept_with_a_qp_of_another_device_is_refused),
	KUNIT_CASE(accept_with_a_qp_of_the_device_comes_up),
	{}
};

static struct kunit_suite owner_suite = {
	.name = "iw_mpa_owner",
	.init = fakes_init,
	.exit = fakes_exit,
	.test_cases = owner_kunit_cases,
};

kunit_test_suite(owner_suite);

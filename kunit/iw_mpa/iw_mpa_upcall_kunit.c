// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of upcall.c, which reports events to iw_cm: each function, in each phase of a connection,
 * and the fields of the events
 */

#include "device.h"
#include "ep.h"
#include "iw_mpa_fakes.h"

#include <linux/in.h>

static const u8 some_pd[IW_MPA_PD_MAX] = { 1, 2, 3, [254] = 5, [255] = 6 };

/* An endpoint of which only the fields for events to iw_cm are used */
struct line {
	struct iw_mpa_ep	ep;
	struct iw_mpa_device	dev;
};

static struct iw_mpa_ep *line_new(struct kunit *test)
{
	struct line *line = kunit_kzalloc(test, sizeof(*line), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, line);
	line->dev.attr.max_ird = 300;
	line->dev.attr.max_ord = 100;
	line->ep.dev = &line->dev;
	line->ep.id = 77;
	return &line->ep;
}

/*
 * Make an endpoint in @phase, which it has after iw_connect (IW_MPA_UP_REPLY) or iw_accept
 * (IW_MPA_UP_ESTABLISHED). Return the fake cm_id of the endpoint.
 */
static struct fake_id *line_up(struct kunit *test, struct iw_mpa_ep **ep,
			       enum iw_mpa_upcall_phase phase)
{
	struct fake_id *fid = fake_id_create(test->priv);

	*ep = line_new(test);
	(*ep)->initiator = phase == IW_MPA_UP_REPLY;
	fid->state = phase == IW_MPA_UP_ESTABLISHED ? FAKE_CONN_RECV : FAKE_CONN_SENT;
	iw_mpa_upcall_expect(*ep, &fid->id);
	KUNIT_EXPECT_EQ(test, fid->refs, 2);
	KUNIT_EXPECT_EQ(test, (*ep)->up.phase, phase);
	return fid;
}

static int line_request(struct iw_mpa_ep *ep, struct fake_id *lis, const struct iw_mpa_frame *peer,
			const struct iw_mpa_tuple *tuple)
{
	ep->peer = *peer;
	ep->tuple = *tuple;
	return iw_mpa_upcall_request(ep, &lis->id);
}

static int line_is_up(struct iw_mpa_ep *ep, const struct iw_mpa_frame *peer,
		      const struct iw_mpa_tuple *tuple)
{
	if (peer)
		ep->peer = *peer;
	if (tuple)
		ep->tuple = *tuple;
	return iw_mpa_upcall_up(ep);
}

static void line_is_down(struct iw_mpa_ep *ep, enum iw_mpa_reason reason,
			 const struct iw_mpa_frame *peer)
{
	if (peer)
		ep->peer = *peer;
	ep->reason = reason;
	iw_mpa_upcall_down(ep);
}

static struct iw_mpa_frame reply_with(const void *pd, u16 pd_len)
{
	return (struct iw_mpa_frame) {
		.reply = true, .rev = 2, .enhanced = true, .ird = 7, .ord = 9,
		.pd = pd, .pd_len = pd_len,
	};
}

static const struct depth_case {
	const char	*desc;
	bool		enhanced;
	u16		ird;
	u16		ord;
	u8		want_ird;
	u8		want_ord;
} depth_cases[] = {
	{ "peer_ird_and_ord_not_swapped", true, 1, 2, 1, 2 },
	{ "zero_kept", true, 0, 0, 0, 0 },
	{ "255_kept", true, 255, 254, 255, 254 },
	{ "256_clamped", true, 256, 257, 255, 255 },
	{ "rfc6581_9_1_largest_clamped", true, 0x3ffe, 0x3ffe, 255, 255 },
	{ "rfc6581_9_1_3fff_is_255", true, 0x3fff, 0x3fff, 255, 255 },
	{ "rfc5044_frame_stands_for_own_limits", false, 0, 0, 100, 255 },
};

KUNIT_ARRAY_PARAM_DESC(depth, depth_cases, desc);

/* Rules: E-9.1-1: the depths of the event */
static void upcall_up_tells_the_peers_depths(struct kunit *test)
{
	const struct depth_case *c = test->param_value;
	struct iw_mpa_frame peer = {
		.enhanced = c->enhanced, .ird = c->ird, .ord = c->ord,
	};
	static const enum iw_mpa_upcall_phase phases[] = {
		IW_MPA_UP_REPLY, IW_MPA_UP_ESTABLISHED,
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(phases); i++) {
		const struct fake_event *event;
		struct iw_mpa_ep *ep;
		struct fake_id *fid = line_up(test, &ep, phases[i]);

		KUNIT_EXPECT_EQ(test, line_is_up(ep, &peer, NULL), 0);
		event = fake_next_event(fid, 0);
		KUNIT_EXPECT_EQ(test, event->ird, c->want_ird);
		KUNIT_EXPECT_EQ(test, event->ord, c->want_ord);
		line_is_down(ep, IW_MPA_R_LOCAL, &peer);
	}
}

static const struct pd_case {
	const char	*desc;
	u16		len;
	u8		want;
} pd_cases[] = {
	{ "none", 0, 0 },
	{ "one", 1, 1 },
	{ "u8_max", 255, 255 },
	{ "u8_wrap_clamped", 256, 255 },
	{ "rfc6581_most_clamped", 508, 255 },
	{ "rfc5044_most_clamped", 512, 255 },
};

KUNIT_ARRAY_PARAM_DESC(pd, pd_cases, desc);

static void upcall_up_hands_on_private_data(struct kunit *test)
{
	const struct pd_case *c = test->param_value;
	struct iw_mpa_frame peer = reply_with(c->len ? some_pd : NULL, c->len);
	const struct fake_event *event;
	struct iw_mpa_ep *ep;
	struct fake_id *fid = line_up(test, &ep, IW_MPA_UP_REPLY);

	KUNIT_EXPECT_EQ(test, line_is_up(ep, &peer, NULL), 0);
	event = fake_next_event(fid, 0);
	KUNIT_EXPECT_EQ(test, event->pd_len, c->want);
	KUNIT_EXPECT_EQ(test, memcmp(event->pd, some_pd, c->want), 0);
	line_is_down(ep, IW_MPA_R_OK, &peer);
}

/*
 * iw_cm does not copy the private data of ESTABLISHED before it queues the event, so iw_mpa must
 * pass none. The fake iw_cm checks this, too.
 */
static void upcall_up_established_has_no_private_data(struct kunit *test)
{
	struct iw_mpa_frame peer = reply_with(some_pd, 20);
	struct iw_mpa_ep *ep;
	struct fake_id *fid = line_up(test, &ep, IW_MPA_UP_ESTABLISHED);

	KUNIT_EXPECT_EQ(test, line_is_up(ep, &peer, NULL), 0);
	fake_expect_event(fid, 0, IW_CM_EVENT_ESTABLISHED, 0);
	KUNIT_EXPECT_EQ(test, fid->events[0].pd_len, 0);
	line_is_down(ep, IW_MPA_R_LOCAL, &peer);
}

static void upcall_active_reply_then_close(struct kunit *test)
{
	struct iw_mpa_frame peer = reply_with(NULL, 0);
	const struct iw_mpa_tuple tuple = {
		.local.sa.sa_family = AF_INET, .remote.sa.sa_family = AF_INET6,
	};
	struct iw_mpa_ep *ep;
	struct fake_id *fid = line_up(test, &ep, IW_MPA_UP_REPLY);

	KUNIT_EXPECT_EQ(test, line_is_up(ep, &peer, &tuple), 0);
	fake_expect_event(fid, 0, IW_CM_EVENT_CONNECT_REPLY, 0);
	KUNIT_EXPECT_EQ(test, fid->events[0].local.ss_family, AF_INET);
	KUNIT_EXPECT_EQ(test, fid->events[0].remote.ss_family, AF_INET6);
	KUNIT_EXPECT_EQ(test, ep->up.phase, IW_MPA_UP_CLOSE);

	line_is_down(ep, IW_MPA_R_PEER_RESET, &peer);
	fake_expect_event(fid, 1, IW_CM_EVENT_CLOSE, 0);
	fake_expect_closed(fid, 2);
	KUNIT_EXPECT_EQ(test, ep->up.phase, IW_MPA_UP_SILENT);
}

static void upcall_passive_established_then_close(struct kunit *test)
{
	struct iw_mpa_ep *ep;
	struct fake_id *fid = line_up(test, &ep, IW_MPA_UP_ESTABLISHED);

	KUNIT_EXPECT_EQ(test, line_is_up(ep, NULL, NULL), 0);
	line_is_down(ep, IW_MPA_R_PEER_RESET, NULL);
	fake_expect_event(fid, 0, IW_CM_EVENT_ESTABLISHED, 0);
	fake_expect_event(fid, 1, IW_CM_EVENT_CLOSE, 0);
	fake_expect_closed(fid, 2);
}

/* Rules: E-9.1-8: the depths of the event, which are those of the Reject */
static void upcall_active_down_is_a_failed_reply(struct kunit *test)
{
	struct iw_mpa_frame peer = reply_with(some_pd, 3);
	const struct fake_event *event;
	struct iw_mpa_ep *ep;
	struct fake_id *fid = line_up(test, &ep, IW_MPA_UP_REPLY);

	line_is_down(ep, IW_MPA_R_REJECTED, &peer);
	fake_expect_event(fid, 0, IW_CM_EVENT_CONNECT_REPLY, -ECONNREFUSED);
	event = &fid->events[0];
	KUNIT_EXPECT_EQ(test, event->ird, 7);
	KUNIT_EXPECT_EQ(test, event->ord, 9);
	KUNIT_EXPECT_EQ(test, event->pd_len, 3);
	KUNIT_EXPECT_EQ(test, memcmp(event->pd, some_pd, 3), 0);
	/* rdma_cm takes its addresses from the event, so the event has those of the cm_id. */
	KUNIT_EXPECT_EQ(test, memcmp(&event->local, &fid->id.local_addr,
				     sizeof(event->local)), 0);
	KUNIT_EXPECT_EQ(test, memcmp(&event->remote, &fid->id.remote_addr,
				     sizeof(event->remote)), 0);
	fake_expect_closed(fid, 1);
}

static void upcall_passive_down_is_established_and_close(struct kunit *test)
{
	struct iw_mpa_ep *ep;
	struct fake_id *fid = line_up(test, &ep, IW_MPA_UP_ESTABLISHED);

	line_is_down(ep, IW_MPA_R_TIMEOUT_RTR, NULL);
	fake_expect_event(fid, 0, IW_CM_EVENT_ESTABLISHED, -ETIMEDOUT);
	fake_expect_event(fid, 1, IW_CM_EVENT_CLOSE, 0);
	fake_expect_closed(fid, 2);
}

/* iw_mpa_upcall_down() reports the end once, even if it is called twice */
static void upcall_down_twice_is_down_once(struct kunit *test)
{
	struct iw_mpa_ep *ep;
	struct fake_id *fid = line_up(test, &ep, IW_MPA_UP_REPLY);

	line_is_down(ep, IW_MPA_R_LOCAL, NULL);
	line_is_down(ep, IW_MPA_R_LOCAL, NULL);
	iw_mpa_upcall_cancel(ep);
	fake_expect_closed(fid, 1);
}

static void upcall_up_after_down_is_refused(struct kunit *test)
{
	struct iw_mpa_ep *ep;
	struct fake_id *fid = line_up(test, &ep, IW_MPA_UP_REPLY);

	line_is_down(ep, IW_MPA_R_LOCAL, NULL);
	kunit_info(test, "expect-splat: no completion is due\n");
	KUNIT_EXPECT_EQ(test, line_is_up(ep, NULL, NULL), -EINVAL);
	fake_expect_closed(fid, 1);
}

static void upcall_cancel_is_silent(struct kunit *test)
{
	struct iw_mpa_ep *ep;
	struct fake_id *fid = line_up(test, &ep, IW_MPA_UP_ESTABLISHED);

	iw_mpa_upcall_cancel(ep);
	iw_mpa_upcall_cancel(ep);
	fake_expect_closed(fid, 0);
	KUNIT_EXPECT_EQ(test, ep->up.phase, IW_MPA_UP_SILENT);
	fid->state = FAKE_IDLE;		/* as after an iw_accept that has failed */
}

/* After a reject iw_cm is in IDLE, where an event is a BUG(): iw_mpa must report none. */
static void upcall_rejected_is_silent(struct kunit *test)
{
	struct iw_mpa_ep *ep;
	struct fake_id *fid = line_up(test, &ep, IW_MPA_UP_ESTABLISHED);

	fid->state = FAKE_IDLE;
	ep->up.rejected = true;
	KUNIT_EXPECT_EQ(test, line_is_up(ep, NULL, NULL), 0);
	line_is_down(ep, IW_MPA_R_LOCAL, NULL);
	fake_expect_closed(fid, 0);
	KUNIT_EXPECT_EQ(test, ep->up.phase, IW_MPA_UP_SILENT);
}

/* If iw_cm refuses the event of iw_mpa_upcall_up(), iw_mpa_upcall_down() reports the failure. */
static void upcall_up_enomem_is_reported_by_down(struct kunit *test)
{
	struct iw_mpa_frame peer = reply_with(some_pd, 3);
	struct iw_mpa_ep *ep;
	struct fake_id *fid = line_up(test, &ep, IW_MPA_UP_REPLY);

	fid->fail_copies = 1;
	KUNIT_EXPECT_EQ(test, line_is_up(ep, &peer, NULL), -ENOMEM);
	KUNIT_EXPECT_EQ(test, ep->up.phase, IW_MPA_UP_REPLY);
	line_is_down(ep, IW_MPA_R_EVENT_LOST, NULL);
	fake_expect_event(fid, 0, IW_CM_EVENT_CONNECT_REPLY, -ENOMEM);
	fake_expect_closed(fid, 1);
}

static void upcall_down_enomem_drops_private_data(struct kunit *test)
{
	struct iw_mpa_frame peer = reply_with(some_pd, 200);
	struct iw_mpa_ep *ep;
	struct fake_id *fid = line_up(test, &ep, IW_MPA_UP_REPLY);

	fid->fail_copies = 1;
	line_is_down(ep, IW_MPA_R_REJECTED, &peer);
	fake_expect_event(fid, 0, IW_CM_EVENT_CONNECT_REPLY, -ECONNREFUSED);
	KUNIT_EXPECT_EQ(test, fid->events[0].pd_len, 0);
	fake_expect_closed(fid, 1);
}

/* Rules: E-9.1-1: the depths of the event */
static void upcall_request_makes_a_passive_id(struct kunit *test)
{
	const struct iw_mpa_tuple tuple = {
		.local.sa.sa_family = AF_INET, .remote.sa.sa_family = AF_INET6,
	};
	struct iw_mpa_frame peer = reply_with(some_pd, 300);
	struct iw_mpa_ep *ep = line_new(test);
	struct fakes *f = test->priv;
	struct fake_id *lis = fake_id_create(f);
	const struct fake_event *event;
	struct fake_id *child;

	lis->state = FAKE_LISTEN;
	lis->id.add_ref(&lis->id);
	KUNIT_EXPECT_EQ(test, line_request(ep, lis, &peer, &tuple), 0);
	fake_expect_event(lis, 0, IW_CM_EVENT_CONNECT_REQUEST, 0);
	event = &lis->events[0];
	KUNIT_EXPECT_EQ(test, event->local.ss_family, AF_INET);
	KUNIT_EXPECT_EQ(test, event->remote.ss_family, AF_INET6);
	KUNIT_EXPECT_EQ(test, event->pd_len, 255);
	KUNIT_EXPECT_EQ(test, event->ird, 7);
	KUNIT_EXPECT_EQ(test, event->ord, 9);
	child = fake_next_request(lis);
	KUNIT_EXPECT_PTR_EQ(test, child->id.provider_data, (void *)77);
	KUNIT_EXPECT_EQ(test, child->refs, 1);

	/* Neither cm_id has a connection or listener in iw_mpa that fakes_exit() could end. */
	child->state = FAKE_IDLE;
	lis->state = FAKE_IDLE;
	lis->id.rem_ref(&lis->id);
}

static void upcall_request_enomem_is_returned(struct kunit *test)
{
	const struct iw_mpa_tuple tuple = {
		.local.sa.sa_family = AF_INET, .remote.sa.sa_family = AF_INET,
	};
	struct iw_mpa_frame peer = reply_with(some_pd, 3);
	struct iw_mpa_ep *ep = line_new(test);
	struct fakes *f = test->priv;
	struct fake_id *lis = fake_id_create(f);

	lis->state = FAKE_LISTEN;
	lis->id.add_ref(&lis->id);
	lis->fail_copies = 1;
	KUNIT_EXPECT_EQ(test, line_request(ep, lis, &peer, &tuple), -ENOMEM);
	lis->budget = 0;
	KUNIT_EXPECT_EQ(test, line_request(ep, lis, &peer, &tuple), -ENOMEM);
	KUNIT_EXPECT_EQ(test, lis->nr_events, 0);
	lis->state = FAKE_IDLE;
	lis->id.rem_ref(&lis->id);
}

static struct kunit_case upcall_cases[] = {
	KUNIT_CASE_PARAM(upcall_up_tells_the_peers_depths, depth_gen_params),
	KUNIT_CASE_PARAM(upcall_up_hands_on_private_data, pd_gen_params),
	KUNIT_CASE(upcall_up_established_has_no_private_data),
	KUNIT_CASE(upcall_active_reply_then_close),
	KUNIT_CASE(upcall_passive_established_then_close),
	KUNIT_CASE(upcall_active_down_is_a_failed_reply),
	KUNIT_CASE(upcall_passive_down_is_established_and_close),
	KUNIT_CASE(upcall_down_twice_is_down_once),
	KUNIT_CASE(upcall_up_after_down_is_refused),
	KUNIT_CASE(upcall_cancel_is_silent),
	KUNIT_CASE(upcall_rejected_is_silent),
	KUNIT_CASE(upcall_up_enomem_is_reported_by_down),
	KUNIT_CASE(upcall_down_enomem_drops_private_data),
	KUNIT_CASE(upcall_request_makes_a_passive_id),
	KUNIT_CASE(upcall_request_enomem_is_returned),
	{}
};

static struct kunit_suite upcall_suite = {
	.name = "iw_mpa_upcall",
	.init = fakes_init,
	.exit = fakes_exit,
	.test_cases = upcall_cases,
};

kunit_test_suite(upcall_suite);

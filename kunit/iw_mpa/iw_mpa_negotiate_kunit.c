// SPDX-License-Identifier: GPL-2.0
/*
 * Negotiation of IRD, ORD and RTR types. Rows of tables and cases are named after the rules
 * that they test: E-9.1-5 is the fifth of RFC 6581 9.1, and M- stands for RFC
 * 5044. A device has the limits MAX_IRD and MAX_ORD unless a row has others.
 */

#include <kunit/test.h>
#include <linux/string.h>
#include <rdma/iw_mpa_proto.h>

#define MAX_IRD	16
#define MAX_ORD	12
#define OWN	8	/* IRD and ORD that our ULP asks for, unless a row has others */
#define ULP	IW_MPA_DEPTH_ULP

#define S	IW_MPA_RTR_SEND
#define W	IW_MPA_RTR_WRITE
#define R	IW_MPA_RTR_READ

static const struct iw_mpa_local local_plain = {
	.ird		= OWN,
	.ord		= OWN,
	.max_ird	= MAX_IRD,
	.max_ord	= MAX_ORD,
	.rev		= 2,
	.rtr_send	= S | W | R,
	.rtr_accept	= S | W | R,
};

/* A peer's frame: RFC 6581 data, client-server model */
static struct iw_mpa_frame peer_frame(bool reply, u16 ird, u16 ord)
{
	return (struct iw_mpa_frame) {
		.rev = 2, .reply = reply, .enhanced = true, .ird = ird, .ord = ord,
	};
}

/* IRD and ORD, responder */

struct depth_row {
	const char		*desc;
	bool			strict;
	u16			own_ird, own_ord;
	u16			peer_ird, peer_ord;
	/* expected: IRD and ORD to program into the device */
	u16			ird, ord;
	/* responder: IRD and ORD of the Reply */
	u16			rep_ird, rep_ord;
	enum iw_mpa_reason	reason;
};

#define OK	IW_MPA_R_OK
#define FEW	IW_MPA_R_INSUFFICIENT_IRD

static const struct depth_row responder_rows[] = {
	/* ORD: at most the initiator's IRD, at most what our ULP asks for */
	{ "E-9.1-2b_ird_0", 0, 8, 8, 0, 8, 8, 0, 8, 0, OK },
	{ "E-9.1-2b_ird_1", 0, 8, 8, 1, 8, 8, 1, 8, 1, OK },
	{ "E-9.1-2b_ird_below_own_ord", 0, 8, 8, 7, 8, 8, 7, 8, 7, OK },
	{ "E-9.1-2b_ird_limit", 0, 8, 12, 12, 8, 8, 12, 8, 12, OK },
	{ "E-9.1-2b_ird_limit_1", 0, 8, 12, 13, 8, 8, 12, 8, 12, OK },
	{ "E-9.1-2b_ird_limit_own_ord_stays", 0, 8, 8, 12, 8, 8, 8, 8, 8, OK },
	{ "E-9.1-2b_ird_3ffe", 0, 8, 8, 0x3ffe, 8, 8, 8, 8, 8, OK },
	{ "E-9.1-11_ird_3fff_ord_kept", 0, 8, 8, ULP, 8, 8, 8, 8, ULP, OK },
	{ "E-9.1-11_ird_3fff_ord_0_kept", 0, 8, 0, ULP, 8, 8, 0, 8, ULP, OK },
	{ "E-9.1-2b_own_ord_0", 0, 8, 0, 8, 8, 8, 0, 8, 0, OK },
	{ "E-9.1-13_own_ord_3fff", 0, 8, ULP, 5, 8, 8, 5, 8, 5, OK },
	{ "E-9.1-13_own_ord_3fff_limited", 0, 8, ULP, 0x3ffe, 8, 8, 12, 8, 12, OK },
	/*
	 * The responder's IRD: the initiator's ORD, up to the device's limit, but not below what
	 * the responder's ULP asks for
	 */
	{ "E-9.1-3_ord_0", 0, 8, 8, 8, 0, 8, 8, 8, 8, OK },
	{ "E-9.1-3_ord_0_own_ird_0", 0, 0, 8, 8, 0, 0, 8, 0, 8, OK },
	{ "E-9.1-3_ord_1", 0, 0, 8, 8, 1, 1, 8, 1, 8, OK },
	{ "E-9.1-3_ord_limit", 0, 8, 8, 8, 16, 16, 8, 16, 8, OK },
	{ "E-9.1-3_ord_limit_1", 0, 8, 8, 8, 17, 16, 8, 16, 8, OK },
	{ "E-9.1-3_ord_3ffe", 0, 8, 8, 8, 0x3ffe, 16, 8, 16, 8, OK },
	{ "E-9.1-9_ord_3fff_kept", 0, 8, 8, 8, ULP, 8, 8, ULP, 8, OK },
	{ "E-9.1-9_ord_3fff_ird_0_kept", 0, 0, 8, 8, ULP, 0, 8, ULP, 8, OK },
	{ "E-9.1-13_own_ird_3fff", 0, ULP, 8, 8, 1, 16, 8, 16, 8, OK },
	{ "E-9.1-9_E-9.1-11_both_3fff_both_kept", 0, 3, 4, ULP, ULP, 3, 4, ULP, ULP, OK },
	/* with strict_ird_ord: what our ULP asks for is not changed */
	{ "E-9.1-2b_strict_ird_enough", 1, 8, 8, 8, 8, 8, 8, 8, 8, OK },
	{ "E-9.1-2b_strict_ird_more", 1, 8, 8, 9, 8, 8, 8, 8, 8, OK },
	{ "E-9.1-4_strict_ird_short_required_ord_told", 1, 8, 8, 7, 8, 0, 0, 8, 8, FEW },
	{ "E-9.1-4_strict_ird_0_required_ord_told", 1, 8, 8, 0, 8, 0, 0, 8, 8, FEW },
	{ "E-9.1-4_strict_ird_short_of_ord_not_of_ird", 1, 4, 8, 7, 8, 0, 0, 4, 8, FEW },
	{ "E-9.1-11_strict_ird_3fff_ord_kept", 1, 8, 8, ULP, 8, 8, 8, 8, ULP, OK },
	{ "E-9.1-3_strict_ord_more_ird_stays", 1, 8, 8, 8, 9, 8, 8, 8, 8, OK },
	{ "E-9.1-9_strict_ord_3fff_kept", 1, 8, 8, 8, ULP, 8, 8, ULP, 8, OK },
	{ "E-9.1-13_strict_own_ord_3fff_is_the_limit", 1, 8, ULP, 12, 8, 8, 12, 8, 12, OK },
	{ "E-9.1-13_strict_own_ord_3fff_ird_short", 1, 8, ULP, 11, 8, 0, 0, 8, 12, FEW },
};

/* Rows for the initiator: the peer's columns are those of the Reply, rep_* are not used */
static const struct depth_row initiator_rows[] = {
	/* ORD: at most the responder's IRD */
	{ "E-9.1-6_ird_0", 0, 8, 8, 0, 8, 8, 0, 0, 0, OK },
	{ "E-9.1-6_ird_1", 0, 8, 8, 1, 8, 8, 1, 0, 0, OK },
	{ "E-9.1-6_ird_as_asked", 0, 8, 8, 8, 8, 8, 8, 0, 0, OK },
	{ "E-9.1-6_ird_limit_ord_not_raised", 0, 8, 8, 12, 8, 8, 8, 0, 0, OK },
	{ "E-9.1-6_ird_limit_1_ord_within_device", 0, 8, 12, 13, 8, 8, 12, 0, 0, OK },
	{ "E-9.1-6_ird_3ffe_ord_not_raised", 0, 8, 8, 0x3ffe, 8, 8, 8, 0, 0, OK },
	{ "E-9.1-10_ird_3fff_ord_kept", 0, 8, 8, ULP, 8, 8, 8, 0, 0, OK },
	{ "E-9.1-10_ird_3fff_ord_0_kept", 0, 8, 0, ULP, 8, 8, 0, 0, 0, OK },
	{ "E-9.1-13_own_ord_3fff", 0, 8, ULP, ULP, 8, 8, 12, 0, 0, OK },
	{ "E-9.1-13_own_ord_3fff_answered_by_number", 0, 8, ULP, 5, 8, 8, 5, 0, 0, OK },
	/* IRD: at least the responder's ORD */
	{ "E-9.1-5_ord_0", 0, 8, 8, 8, 0, 8, 8, 0, 0, OK },
	{ "E-9.1-5_ord_1", 0, 0, 8, 8, 1, 1, 8, 0, 0, OK },
	{ "E-9.1-5_ord_above_request", 0, 8, 8, 8, 9, 9, 8, 0, 0, OK },
	{ "E-9.1-5_ord_limit", 0, 8, 8, 8, 16, 16, 8, 0, 0, OK },
	{ "E-9.1-7_ord_limit_1", 0, 8, 8, 8, 17, 0, 0, 0, 0, FEW },
	{ "E-9.1-7_ord_3ffe", 0, 8, 8, 8, 0x3ffe, 0, 0, 0, 0, FEW },
	{ "E-9.1-12_ord_3fff_ird_kept", 0, 8, 8, 8, ULP, 8, 8, 0, 0, OK },
	{ "E-9.1-12_ord_3fff_ird_0_kept", 0, 0, 8, 8, ULP, 0, 8, 0, 0, OK },
	{ "E-9.1-13_own_ird_3fff", 0, ULP, 8, 8, ULP, 16, 8, 0, 0, OK },
	{ "E-9.1-13_own_ird_3fff_answered_by_number", 0, ULP, 8, 8, 5, 16, 8, 0, 0, OK },
	{ "E-9.1-13_own_ird_3fff_limit_1", 0, ULP, 8, 8, 17, 0, 0, 0, 0, FEW },
	/* strict */
	{ "E-9.1-5_E-9.1-6_strict_as_asked", 1, 8, 8, 8, 8, 8, 8, 0, 0, OK },
	{ "E-9.1-6_strict_ird_more", 1, 8, 8, 9, 7, 8, 8, 0, 0, OK },
	{ "E-9.1-7_strict_ird_short", 1, 8, 8, 7, 8, 0, 0, 0, 0, FEW },
	{ "E-9.1-7_strict_ird_short_of_ord_not_of_ird", 1, 4, 8, 7, 4, 0, 0, 0, 0, FEW },
	{ "E-9.1-10_strict_ird_3fff_ord_kept", 1, 8, 8, ULP, 8, 8, 8, 0, 0, OK },
	{ "E-9.1-7_strict_ord_above_request", 1, 8, 8, 8, 9, 0, 0, 0, 0, FEW },
	{ "E-9.1-12_strict_ord_3fff_ird_kept", 1, 8, 8, 8, ULP, 8, 8, 0, 0, OK },
	{ "E-9.1-13_strict_own_ord_3fff_is_the_limit", 1, 8, ULP, 12, 8, 8, 12, 0, 0, OK },
	{ "E-9.1-13_strict_own_ord_3fff_ird_short", 1, 8, ULP, 11, 8, 0, 0, 0, 0, FEW },
};

KUNIT_ARRAY_PARAM_DESC(responder, responder_rows, desc);
KUNIT_ARRAY_PARAM_DESC(initiator, initiator_rows, desc);

static struct iw_mpa_local depth_local(const struct depth_row *row)
{
	struct iw_mpa_local local = local_plain;

	local.ird = row->own_ird;
	local.ord = row->own_ord;
	local.strict = row->strict;
	return local;
}

/*
 * Rules: E-9.1-1 E-9.1-2a E-9.1-2b E-9.1-3 E-9.1-4 E-9.1-9 E-9.1-11 E-9.1-13: IRD and ORD of the
 * Reply, and those that the device is to be programmed with
 */
static void negotiate_request_any_depths_as_ruled(struct kunit *test)
{
	const struct depth_row *row = test->param_value;
	struct iw_mpa_local local = depth_local(row);
	struct iw_mpa_frame req = peer_frame(false, row->peer_ird, row->peer_ord), rep;
	struct iw_mpa_params params;
	enum iw_mpa_reason reason;

	/* Act */
	reason = iw_mpa_negotiate_request(&local, &req, &rep, &params);

	/* Assert */
	KUNIT_EXPECT_EQ(test, reason, row->reason);
	KUNIT_EXPECT_EQ(test, rep.reject, row->reason != OK);
	KUNIT_EXPECT_EQ(test, rep.ird, row->rep_ird);
	KUNIT_EXPECT_EQ(test, rep.ord, row->rep_ord);
	KUNIT_EXPECT_EQ(test, params.peer_ird, row->peer_ird);
	KUNIT_EXPECT_EQ(test, params.peer_ord, row->peer_ord);
	if (reason)
		return;
	KUNIT_EXPECT_EQ(test, params.ird, row->ird);
	KUNIT_EXPECT_EQ(test, params.ord, row->ord);
}

/*
 * If a Request is refused for several reasons, the reported one is the first in this order: MPA
 * revision, Markers, IRD and ORD.
 */
static void negotiate_request_graver_reason_told(struct kunit *test)
{
	struct iw_mpa_frame req = peer_frame(false, 7, 8), rep;
	struct iw_mpa_local local = local_plain;
	struct iw_mpa_params params;

	/* Arrange */
	local.strict = true;
	local.ord = 8;
	req.markers = true;

	/* Act, Assert */
	KUNIT_EXPECT_EQ(test, iw_mpa_negotiate_request(&local, &req, &rep, &params),
			IW_MPA_R_MARKERS);
	req.rev = local.rev + 1;
	KUNIT_EXPECT_EQ(test, iw_mpa_negotiate_request(&local, &req, &rep, &params),
			IW_MPA_R_BAD_REV);
}

/*
 * Rules: E-9.1-1 E-9.1-5 E-9.1-6 E-9.1-7 E-9.1-10 E-9.1-12 E-9.1-13: IRD and ORD that the device is
 * to be programmed with, or the reason for the failure
 */
static void negotiate_reply_any_depths_as_ruled(struct kunit *test)
{
	const struct depth_row *row = test->param_value;
	struct iw_mpa_local local = depth_local(row);
	struct iw_mpa_frame rep = peer_frame(true, row->peer_ird, row->peer_ord), req;
	struct iw_mpa_params params;
	enum iw_mpa_reason reason;

	/* Arrange */
	iw_mpa_make_request(&local, &req);

	/* Act */
	reason = iw_mpa_negotiate_reply(&local, &req, &rep, &params);

	/* Assert */
	KUNIT_EXPECT_EQ(test, reason, row->reason);
	KUNIT_EXPECT_EQ(test, params.peer_ird, row->peer_ird);
	KUNIT_EXPECT_EQ(test, params.peer_ord, row->peer_ord);
	if (reason)
		return;
	KUNIT_EXPECT_EQ(test, params.ird, row->ird);
	KUNIT_EXPECT_EQ(test, params.ord, row->ord);
}

/* RTR types, responder: all eight offers of an initiator to one device, some to two others */

static const struct offer_row {
	const char	*desc;
	u8		offer;
	u8		accept;
	u8		named;	/* RTR types that the Reply names */
} offer_rows[] = {
	{ "E-9.2-7_offer_none_own_named", 0, W | R, W | R },
	{ "E-9.2-7_offer_b_only_own_named", S, W | R, W | R },
	{ "E-9.2-5_offer_c", W, W | R, W },
	{ "E-9.2-5_offer_d", R, W | R, R },
	{ "E-9.2-5_offer_b_c", S | W, W | R, W },
	{ "E-9.2-5_offer_b_d", S | R, W | R, R },
	{ "E-9.2-5_E-9.2-6_offer_c_d_each_named", W | R, W | R, W | R },
	{ "E-9.2-5_E-9.2-6_offer_b_c_d_each_common_named", S | W | R, W | R, W | R },
	{ "E-9.2-7_offer_none_to_b", 0, S, S },
	{ "E-9.2-5_offer_b_to_b", S, S, S },
	{ "E-9.2-7_offer_c_to_b", W, S, S },
	{ "E-9.2-7_offer_d_to_b", R, S, S },
	{ "E-9.2-7_offer_c_d_to_b", W | R, S, S },
	{ "E-9.2-5_offer_b_c_d_to_b", S | W | R, S, S },
	{ "E-9.2-7_offer_none_to_all", 0, S | W | R, S | W | R },
	{ "E-9.2-5_E-9.2-6_offer_b_d_to_all", S | R, S | W | R, S | R },
	{ "E-9.2-5_E-9.2-6_offer_b_c_d_to_all", S | W | R, S | W | R, S | W | R },
};

KUNIT_ARRAY_PARAM_DESC(offer, offer_rows, desc);

/* Rules: E-9.2-4 E-9.2-5 E-9.2-6 E-9.2-7: A and the types of the Reply */
static void negotiate_request_any_offer_answered(struct kunit *test)
{
	const struct offer_row *row = test->param_value;
	struct iw_mpa_frame req = peer_frame(false, 8, 8), rep;
	struct iw_mpa_local local = local_plain;
	struct iw_mpa_params params;

	/* Arrange */
	local.rtr_accept = row->accept;
	req.p2p = true;
	req.rtr = row->offer;

	/* Act */
	KUNIT_ASSERT_EQ(test, iw_mpa_negotiate_request(&local, &req, &rep, &params), OK);

	/* Assert: the Reply has A, too, and the driver gets the RTR types that may arrive */
	KUNIT_EXPECT_TRUE(test, rep.p2p);
	KUNIT_EXPECT_TRUE(test, params.p2p);
	KUNIT_EXPECT_EQ(test, rep.rtr, row->named);
	KUNIT_EXPECT_EQ(test, params.rtr, row->named);
}

/*
 * RFC 6581 9.1: an RTR message by Read needs a responder whose IRD is not 0. The responder may
 * raise its IRD, or not name Read.
 */

static const struct read_rtr_row {
	const char	*desc;
	u16		own_ird, max_ird, peer_ord;
	u8		offer;
	u16		ird;
	u8		named;
} read_rtr_rows[] = {
	{ "E-9.1-3_ord_0_read_ird_raised", 0, 16, 0, R, 1, R },
	{ "E-9.1-3_ord_0_read_among_others_ird_raised", 0, 16, 0, S | W | R, 1, S | W | R },
	{ "E-9.1-3_ord_0_write_ird_stays_0", 0, 16, 0, W, 0, W },
	{ "E-9.1-3_ord_1_read_no_more_than_1", 0, 16, 1, R, 1, R },
	{ "E-9.1-3_ord_0_read_own_ird_stays", 5, 16, 0, R, 5, R },
	{ "E-9.2-5_device_without_ird_read_not_named", 0, 0, 4, W | R, 0, W },
	{ "E-9.2-7_device_without_ird_only_read_offered", 0, 0, 4, R, 0, S | W },
	{ "E-9.1-9_ord_3fff_read_own_ird_kept", 5, 16, ULP, R, 5, R },
};

KUNIT_ARRAY_PARAM_DESC(read_rtr, read_rtr_rows, desc);

/* Rules: E-9.1-3 E-9.1-9: IRD to be programmed; E-9.2-5 E-9.2-7: the types of the Reply */
static void negotiate_request_read_rtr_has_ird(struct kunit *test)
{
	const struct read_rtr_row *row = test->param_value;
	struct iw_mpa_frame req = peer_frame(false, 8, row->peer_ord), rep;
	struct iw_mpa_local local = local_plain;
	struct iw_mpa_params params;

	/* Arrange */
	local.ird = row->own_ird;
	local.max_ird = row->max_ird;
	req.p2p = true;
	req.rtr = row->offer;

	/* Act */
	KUNIT_ASSERT_EQ(test, iw_mpa_negotiate_request(&local, &req, &rep, &params), OK);

	/* Assert */
	KUNIT_EXPECT_EQ(test, params.ird, row->ird);
	KUNIT_EXPECT_EQ(test, rep.ird, row->peer_ord == ULP ? ULP : row->ird);
	KUNIT_EXPECT_EQ(test, rep.rtr, row->named);
}

/*
 * RFC 6581 9.1: if the initiator's ORD is 0x3fff the responder MUST leave its IRD unchanged. Only
 * for other values of ORD does the RFC say that the responder MAY raise an IRD that is too small.
 * So the IRD stays 0, and the Reply names Write, which both ends can use.
 */
/* Rules: E-9.1-9: IRD to be programmed */
static void negotiate_request_ord_3fff_offer_with_read_ird_0_kept(struct kunit *test)
{
	struct iw_mpa_frame req = peer_frame(false, 8, ULP), rep;
	struct iw_mpa_local local = local_plain;
	struct iw_mpa_params params;

	/* Arrange */
	local.ird = 0;
	req.p2p = true;
	req.rtr = W | R;

	/* Act */
	KUNIT_ASSERT_EQ(test, iw_mpa_negotiate_request(&local, &req, &rep, &params), OK);

	/* Assert */
	KUNIT_EXPECT_EQ(test, params.ird, 0);
	KUNIT_EXPECT_EQ(test, rep.ird, ULP);
	KUNIT_EXPECT_TRUE(test, rep.rtr & W);
}

/*
 * RFC 6581 9.2: a Request without bit A gets a Reply without bit A; bits B, C and D of the Request
 * are ignored.
 */
/* Rules: E-9.2-11 E-9.2-12: A and the types of the Reply; E-9.2-13: the same with B, C and D set */
static void negotiate_request_without_a_client_server(struct kunit *test)
{
	struct iw_mpa_frame req = peer_frame(false, 8, 0), rep;
	struct iw_mpa_local local = local_plain;
	struct iw_mpa_params params;

	/* Arrange */
	local.p2p = true;
	local.ird = 0;
	req.rtr = S | W | R;

	/* Act */
	KUNIT_ASSERT_EQ(test, iw_mpa_negotiate_request(&local, &req, &rep, &params), OK);

	/* Assert */
	KUNIT_EXPECT_FALSE(test, rep.p2p);
	KUNIT_EXPECT_EQ(test, rep.rtr, 0);
	KUNIT_EXPECT_FALSE(test, params.p2p);
	KUNIT_EXPECT_EQ(test, params.rtr, 0);
	KUNIT_EXPECT_EQ(test, params.ird, 0);
}

/* RTR types, initiator */

struct rtr_row {
	const char		*desc;
	u8			send;	/* types that our device can send */
	u8			named;	/* RTR types that the Reply names */
	u16			own_ord, max_ord, peer_ird;
	u8			rtr;	/* type that is sent */
	u16			ord;
	enum iw_mpa_reason	reason;
};

#define NONE	IW_MPA_R_NO_RTR

static const struct rtr_row rtr_rows[] = {
	{ "E-9.2-8_write", S | W | R, W, 8, 16, 8, W, 8, OK },
	{ "E-9.2-8_read", S | W | R, R, 8, 16, 8, R, 8, OK },
	{ "E-9.2-8_send", S | W | R, S, 8, 16, 8, S, 8, OK },
	{ "E-9.2-8_one_of_all", S | W | R, S | W | R, 8, 16, 8, W, 8, OK },
	{ "E-9.2-8_one_of_read_send", S | W | R, S | R, 8, 16, 8, R, 8, OK },
	{ "E-9.2-8_only_what_device_can", R, S | W | R, 8, 16, 8, R, 8, OK },
	{ "E-9.2-9_nothing_named", S | W | R, 0, 8, 16, 8, 0, 0, NONE },
	{ "E-9.2-9_write_to_read_only", W, R, 8, 16, 8, 0, 0, NONE },
	{ "E-9.2-9_write_read_to_send_only", W | R, S, 8, 16, 8, 0, 0, NONE },
	{ "E-9.2-9_send_to_write_read", S, W | R, 8, 16, 8, 0, 0, NONE },
	/* a Read needs ORD at its sender, and IRD at the peer */
	{ "E-9.1-6_E-9.2-8_read_ord_0_raised_to_peer_ird", R, R, 0, 16, 1, R, 1, OK },
	{ "E-9.2-8_write_ord_0_stays", W, W | R, 0, 16, 1, W, 0, OK },
	{ "E-9.1-6_E-9.2-9_read_peer_ird_0", R, R, 8, 16, 0, 0, 0, NONE },
	{ "E-9.1-6_E-9.2-8_read_peer_ird_0_send_instead", S | R, S | R, 8, 16, 0, S, 0, OK },
	{ "E-9.2-2_read_device_without_ord_asks_for_none", R, R, 0, 0, 8, 0, 0, OK },
	{ "E-9.2-9_read_write_device_without_ord", W | R, R, 0, 0, 8, 0, 0, NONE },
	{ "E-9.2-8_read_ird_3fff", R, R, 8, 16, ULP, R, 8, OK },
	{ "E-9.1-10_E-9.2-9_read_ird_3fff_ord_0_kept", R, R, 0, 16, ULP, 0, 0, NONE },
};

KUNIT_ARRAY_PARAM_DESC(rtr, rtr_rows, desc);

/* Rules: E-9.1-6 E-9.1-10: ORD to be programmed; E-9.2-2 E-9.2-8: the type; E-9.2-9: the reason */
static void negotiate_reply_with_a_one_rtr_chosen(struct kunit *test)
{
	const struct rtr_row *row = test->param_value;
	struct iw_mpa_frame rep = peer_frame(true, row->peer_ird, 0), req;
	struct iw_mpa_local local = local_plain;
	struct iw_mpa_params params;
	enum iw_mpa_reason reason;

	/* Arrange */
	local.p2p = true;
	local.rtr_send = row->send;
	local.ord = row->own_ord;
	local.max_ord = row->max_ord;
	iw_mpa_make_request(&local, &req);
	rep.p2p = true;
	rep.rtr = row->named;

	/* Act */
	reason = iw_mpa_negotiate_reply(&local, &req, &rep, &params);

	/* Assert */
	KUNIT_ASSERT_EQ(test, reason, row->reason);
	if (reason)
		return;
	KUNIT_EXPECT_EQ(test, params.p2p, !!row->rtr);
	KUNIT_EXPECT_EQ(test, params.rtr, row->rtr);
	KUNIT_EXPECT_EQ(test, params.ord, row->ord);
}

/*
 * RFC 6581 9.2 does not say what a bit A in only one of Request and Reply means. iw_mpa then sends
 * no RTR message.
 */
/* Rules: E-9.2-13: no RTR type is chosen */
static void negotiate_reply_a_on_one_side_no_rtr(struct kunit *test)
{
	struct iw_mpa_frame rep = peer_frame(true, 8, 8), req;
	struct iw_mpa_local local = local_plain;
	struct iw_mpa_params params;
	int asked;

	for (asked = 0; asked < 2; asked++) {
		/* Arrange */
		local.p2p = asked;
		iw_mpa_make_request(&local, &req);
		rep.p2p = !asked;
		rep.rtr = S | W | R;

		/* Act, Assert */
		KUNIT_ASSERT_EQ(test, iw_mpa_negotiate_reply(&local, &req, &rep, &params), OK);
		KUNIT_EXPECT_FALSE(test, params.p2p);
		KUNIT_EXPECT_EQ(test, params.rtr, 0);
		KUNIT_EXPECT_TRUE(test, params.enhanced);
	}
}

/* The Request */

static const struct request_row {
	const char		*desc;
	struct iw_mpa_local	local;
	struct iw_mpa_frame	want;
} request_rows[] = {
	{ "E-10-3_M-7.1.1-11_v1_plain",
	  { .rev = 1, .ird = 3, .ord = 4, .p2p = true, .rtr_send = W }, { .rev = 1 } },
	{ "M-7.1.1-8_v1_crc", { .rev = 1, .crc = true }, { .rev = 1, .crc = true } },
	{ "rfc5044_7_1_1_v1_markers", { .rev = 1, .rx_markers = true },
	  { .rev = 1, .markers = true } },
	{ "rfc5044_7_1_1_tx_markers_not_asked_for", { .rev = 1, .tx_markers = true },
	  { .rev = 1 } },
	{ "E-9-1_depths", { .rev = 2, .ird = 3, .ord = 4, .max_ird = 16, .max_ord = 16 },
	  { .rev = 2, .enhanced = true, .ird = 3, .ord = 4 } },
	{ "E-9.1-13_depths_3fff", { .rev = 2, .ird = ULP, .ord = ULP, .max_ird = 16 },
	  { .rev = 2, .enhanced = true, .ird = ULP, .ord = ULP } },
	{ "E-9.1-13_ird_alone_3fff",
	  { .rev = 2, .ird = ULP, .ord = 4, .max_ird = 16, .max_ord = 16 },
	  { .rev = 2, .enhanced = true, .ird = ULP, .ord = 4 } },
	{ "E-9.1-13_ord_alone_3fff",
	  { .rev = 2, .ird = 3, .ord = ULP, .max_ird = 16, .max_ord = 16 },
	  { .rev = 2, .enhanced = true, .ird = 3, .ord = ULP } },
	{ "E-9.2-10_E-9.2-12_client_server_without_abcd",
	  { .rev = 2, .rtr_send = S | W | R, .rtr_accept = W }, { .rev = 2, .enhanced = true } },
	{ "E-9.2-1_E-9.2-2_p2p_each_supported",
	  { .rev = 2, .p2p = true, .rtr_send = S | W | R, .max_ord = 16, .rtr_accept = W },
	  { .rev = 2, .enhanced = true, .p2p = true, .rtr = S | W | R } },
	{ "E-9.2-1_E-9.2-2_p2p_write_read",
	  { .rev = 2, .p2p = true, .rtr_send = W | R, .max_ord = 16, .rtr_accept = S },
	  { .rev = 2, .enhanced = true, .p2p = true, .rtr = W | R } },
	{ "E-9.2-2_p2p_device_without_rtr", { .rev = 2, .p2p = true, .rtr_accept = W },
	  { .rev = 2, .enhanced = true } },
	{ "M-7.1.1-8_v2_crc_markers", { .rev = 2, .crc = true, .rx_markers = true },
	  { .rev = 2, .enhanced = true, .crc = true, .markers = true } },
};

KUNIT_ARRAY_PARAM_DESC(request, request_rows, desc);

/*
 * Rules: E-9-1 E-9.1-13 E-9.2-1 E-9.2-2 E-9.2-10 E-9.2-12 E-10-3 M-7.1.1-8 M-7.1.1-11: each field
 * of the Request
 */
static void make_request_any_wish_told(struct kunit *test)
{
	const struct request_row *row = test->param_value;
	struct iw_mpa_frame req;

	/* Arrange */
	memset(&req, 0xff, sizeof(req));

	/* Act */
	iw_mpa_make_request(&row->local, &req);

	/* Assert */
	KUNIT_EXPECT_EQ(test, req.rev, row->want.rev);
	KUNIT_EXPECT_EQ(test, req.enhanced, row->want.enhanced);
	KUNIT_EXPECT_EQ(test, req.ird, row->want.ird);
	KUNIT_EXPECT_EQ(test, req.ord, row->want.ord);
	KUNIT_EXPECT_EQ(test, req.p2p, row->want.p2p);
	KUNIT_EXPECT_EQ(test, req.rtr, row->want.rtr);
	KUNIT_EXPECT_EQ(test, req.crc, row->want.crc);
	KUNIT_EXPECT_EQ(test, req.markers, row->want.markers);
	KUNIT_EXPECT_FALSE(test, req.reply || req.reject);
	KUNIT_EXPECT_NULL(test, req.pd);
	KUNIT_EXPECT_EQ(test, req.pd_len, 0);
}

/*
 * RFC 6581 9.1: IRD and ORD of a Reject are reported to the ULP. The negotiation ignores the other
 * fields of the Reject, such as bit M.
 */
/* Rules: E-9.1-8: the peer's depths */
static void negotiate_reply_reject_depths_passed(struct kunit *test)
{
	struct iw_mpa_frame rep = peer_frame(true, 3, 0x3ffe), req;
	struct iw_mpa_local local = local_plain;
	struct iw_mpa_params params;

	/* Arrange */
	local.p2p = true;
	iw_mpa_make_request(&local, &req);
	rep.reject = true;
	rep.markers = true;

	/* Act, Assert */
	KUNIT_EXPECT_EQ(test, iw_mpa_negotiate_reply(&local, &req, &rep, &params),
			IW_MPA_R_REJECTED);
	KUNIT_EXPECT_EQ(test, params.peer_ird, 3);
	KUNIT_EXPECT_EQ(test, params.peer_ord, 0x3ffe);
}

static struct kunit_case negotiate_cases[] = {
	KUNIT_CASE_PARAM(make_request_any_wish_told, request_gen_params),
	KUNIT_CASE_PARAM(negotiate_request_any_depths_as_ruled, responder_gen_params),
	KUNIT_CASE(negotiate_request_graver_reason_told),
	KUNIT_CASE_PARAM(negotiate_reply_any_depths_as_ruled, initiator_gen_params),
	KUNIT_CASE_PARAM(negotiate_request_any_offer_answered, offer_gen_params),
	KUNIT_CASE_PARAM(negotiate_request_read_rtr_has_ird, read_rtr_gen_params),
	KUNIT_CASE(negotiate_request_ord_3fff_offer_with_read_ird_0_kept),
	KUNIT_CASE(negotiate_request_without_a_client_server),
	KUNIT_CASE_PARAM(negotiate_reply_with_a_one_rtr_chosen, rtr_gen_params),
	KUNIT_CASE(negotiate_reply_a_on_one_side_no_rtr),
	KUNIT_CASE(negotiate_reply_reject_depths_passed),
	{}
};

static struct kunit_suite negotiate_suite = {
	.name = "iw_mpa_negotiate",
	.test_cases = negotiate_cases,
};

kunit_test_suite(negotiate_suite);

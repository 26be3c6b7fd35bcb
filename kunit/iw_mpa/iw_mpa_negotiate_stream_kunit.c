// SPDX-License-Identifier: GPL-2.0
/*
 * Negotiation of the stream between ends of either revision: CRC, Markers, and the format of the
 * frames.
 */

#include <kunit/test.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "negotiate.h"

#define OWN	8	/* IRD and ORD that our ULP asks for */
#define OK	IW_MPA_R_OK

static const struct iw_mpa_local local_plain = {
	.ird		= OWN,
	.ord		= OWN,
	.max_ird	= 16,
	.max_ord	= 12,
	.rev		= 2,
	.rtr_send	= IW_MPA_RTR_ALL,
	.rtr_accept	= IW_MPA_RTR_ALL,
};

/* CRC and Markers: one row is one pair of ends, seen from both roles */

static const struct stream_row {
	const char		*desc;
	bool			own, own_can, peer;	/* @own_can: we can send Markers */
	bool			on;
	enum iw_mpa_reason	reason;
} crc_rows[] = {
	{ "M-7.1.1-7_crc_nobody_off", 0, 0, 0, 0, OK },
	{ "M-7.1.1-8_crc_peer_on", 0, 0, 1, 1, OK },
	{ "M-7.1.1-8_crc_own_on", 1, 0, 0, 1, OK },
	{ "M-4.4-2_crc_both_on", 1, 0, 1, 1, OK },
};

static const struct stream_row marker_rows[] = {
	{ "M-7.1.1-5_markers_nobody", 0, 0, 0, 0, OK },
	{ "M-7.1.1-5_markers_own_can_but_peer_off", 0, 1, 0, 0, OK },
	{ "M-7.1.1-5_markers_own_wish_is_not_peers", 1, 1, 0, 0, OK },
	{ "M-7.1.1-6_markers_peer_on", 0, 1, 1, 1, OK },
	{ "M-7.1.1-6_markers_both_on", 1, 1, 1, 1, OK },
	{ "M-4.3-1_markers_peer_on_own_cannot", 0, 0, 1, 0, IW_MPA_R_MARKERS },
	{ "M-4.3-1_markers_peer_on_own_only_receives", 1, 0, 1, 0, IW_MPA_R_MARKERS },
};

/* Large FPDUs: which ends allow them, and which ends ask for Markers */
static const struct large_row {
	const char	*desc;
	bool		own, peer, own_markers, peer_markers;
	bool		on;
} large_rows[] = {
	{ "large_nobody", 0, 0, 0, 0, 0 },
	{ "large_own_alone", 1, 0, 0, 0, 0 },
	{ "large_peer_alone", 0, 1, 0, 0, 0 },
	{ "large_both", 1, 1, 0, 0, 1 },
	{ "large_both_but_own_markers", 1, 1, 1, 0, 0 },
	{ "large_both_but_peers_markers", 1, 1, 0, 1, 0 },
	{ "large_both_but_markers", 1, 1, 1, 1, 0 },
};

KUNIT_ARRAY_PARAM_DESC(large, large_rows, desc);

KUNIT_ARRAY_PARAM_DESC(crc, crc_rows, desc);
KUNIT_ARRAY_PARAM_DESC(marker, marker_rows, desc);

/* The MPA revision has no influence on whether CRC is used. */
/* Rules: M-4.4-2 M-7.1.1-7 M-7.1.1-8: whether CRC is on */
static void negotiate_either_role_crc_if_one_asks(struct kunit *test)
{
	const struct stream_row *row = test->param_value;
	struct iw_mpa_local local = local_plain;
	struct iw_mpa_frame peer, own;
	struct iw_mpa_params params;
	int enhanced;

	local.crc = row->own;
	for (enhanced = 0; enhanced < 2; enhanced++) {
		/* Arrange */
		peer = (struct iw_mpa_frame) { .rev = 1 + enhanced, .enhanced = enhanced,
					       .crc = row->peer };
		local.rev = peer.rev;

		/* Act, Assert: responder; its Reply has C set if CRC is on */
		KUNIT_EXPECT_EQ(test, iw_mpa_negotiate_request(&local, &peer, &own, &params), OK);
		KUNIT_EXPECT_EQ(test, params.crc, row->on);
		KUNIT_EXPECT_EQ(test, own.crc, row->on);

		/* Act, Assert: initiator */
		iw_mpa_make_request(&local, &own);
		peer.reply = true;
		KUNIT_EXPECT_EQ(test, iw_mpa_negotiate_reply(&local, &own, &peer, &params), OK);
		KUNIT_EXPECT_EQ(test, params.crc, row->on);
	}
}

/* Rules: M-4.3-1 M-7.1.1-5 M-7.1.1-6: Markers in either direction, or the reason */
static void negotiate_either_role_markers_as_receiver_asks(struct kunit *test)
{
	const struct stream_row *row = test->param_value;
	struct iw_mpa_frame peer = { .rev = 1, .markers = row->peer }, own;
	struct iw_mpa_local local = local_plain;
	struct iw_mpa_params params;
	enum iw_mpa_reason reason;

	/* Arrange */
	local.rev = 1;
	local.rx_markers = row->own;
	local.tx_markers = row->own_can;

	/* Act, Assert: responder */
	reason = iw_mpa_negotiate_request(&local, &peer, &own, &params);
	KUNIT_EXPECT_EQ(test, reason, row->reason);
	KUNIT_EXPECT_EQ(test, own.reject, row->reason != OK);
	KUNIT_EXPECT_EQ(test, own.markers, row->own);
	if (!reason) {
		KUNIT_EXPECT_EQ(test, params.tx_markers, row->on);
		KUNIT_EXPECT_EQ(test, params.rx_markers, row->own);
	}

	/* Act, Assert: initiator */
	iw_mpa_make_request(&local, &own);
	peer.reply = true;
	reason = iw_mpa_negotiate_reply(&local, &own, &peer, &params);
	KUNIT_EXPECT_EQ(test, reason, row->reason);
	if (!reason) {
		KUNIT_EXPECT_EQ(test, params.tx_markers, row->on);
		KUNIT_EXPECT_EQ(test, params.rx_markers, row->own);
	}
}

/* FPDUs beyond one TCP segment are used if both ends allow that, and neither asks for Markers. */
static void negotiate_either_role_large_fpdu_if_both_say_so(struct kunit *test)
{
	const struct large_row *row = test->param_value;
	struct iw_mpa_local local = local_plain;
	struct iw_mpa_frame peer, own;
	struct iw_mpa_params params;
	int enhanced;

	local.tx_markers = true;
	local.rx_markers = row->own_markers;
	local.large_fpdu = row->own;
	for (enhanced = 0; enhanced < 2; enhanced++) {
		peer = (struct iw_mpa_frame) { .rev = 1 + enhanced, .enhanced = enhanced,
					       .markers = row->peer_markers,
					       .large_fpdu = row->peer };
		local.rev = peer.rev;

		KUNIT_EXPECT_EQ(test, iw_mpa_negotiate_request(&local, &peer, &own, &params), OK);
		KUNIT_EXPECT_EQ(test, params.large_fpdu, row->on);
		KUNIT_EXPECT_EQ(test, own.large_fpdu, row->on);

		iw_mpa_make_request(&local, &own);
		KUNIT_EXPECT_EQ(test, own.large_fpdu, row->own && !row->own_markers);
		peer.reply = true;
		KUNIT_EXPECT_EQ(test, iw_mpa_negotiate_reply(&local, &own, &peer, &params), OK);
		KUNIT_EXPECT_EQ(test, params.large_fpdu, row->on);
	}
}

/* RFC 6581 10: ends of different MPA revisions. @req_* describes the Request, @rep_* the Reply. */

static const struct interop_row {
	const char		*desc;
	u8			req_rev;
	bool			req_enhanced;
	u8			rep_rev;
	bool			rep_enhanced;
	enum iw_mpa_reason	reason;	/* of the initiator */
} interop_rows[] = {
	{ "E-6-3_E-10-2_v1_to_v1", 1, 0, 1, 0, OK },
	{ "E-10-2_E-10-4_v2_without_s_to_same", 2, 0, 2, 0, OK },
	{ "E-10-1_enhanced_to_enhanced", 2, 1, 2, 1, OK },
	{ "E-10-1_enhanced_answered_by_v1", 2, 1, 1, 0, OK },
	{ "E-10-1_enhanced_answered_without_s", 2, 1, 2, 0, OK },
	{ "E-10-2_v1_answered_by_enhanced", 1, 0, 2, 1, IW_MPA_R_BAD_REV },
	{ "E-10-2_v2_without_s_answered_by_enhanced", 2, 0, 2, 1, IW_MPA_R_BAD_REV },
};

KUNIT_ARRAY_PARAM_DESC(interop, interop_rows, desc);

/*
 * An end that gets no RFC 6581 data uses the IRD and ORD of its own ULP, and sends no RTR message.
 */
static void expect_unenhanced(struct kunit *test, const struct iw_mpa_params *params)
{
	KUNIT_EXPECT_FALSE(test, params->enhanced);
	KUNIT_EXPECT_FALSE(test, params->p2p);
	KUNIT_EXPECT_EQ(test, params->rtr, 0);
	KUNIT_EXPECT_EQ(test, params->ird, OWN);
	KUNIT_EXPECT_EQ(test, params->ord, OWN);
	KUNIT_EXPECT_EQ(test, params->peer_ird, 0);
	KUNIT_EXPECT_EQ(test, params->peer_ord, 0);
}

/* Rules: E-6-3 E-10-1 E-10-2 E-10-4: revision and S of the Reply */
static void negotiate_request_any_format_answered_in_same(struct kunit *test)
{
	const struct interop_row *row = test->param_value;
	struct iw_mpa_frame req = { .rev = row->req_rev, .enhanced = row->req_enhanced }, rep;
	struct iw_mpa_local local = local_plain;
	struct iw_mpa_params params;

	/* Arrange: own revision and strict_ird_ord have no effect without enhanced data */
	local.rev = max(row->req_rev, row->rep_rev);
	local.strict = !row->req_enhanced;

	/* Act */
	KUNIT_ASSERT_EQ(test, iw_mpa_negotiate_request(&local, &req, &rep, &params), OK);

	/* Assert */
	KUNIT_EXPECT_TRUE(test, rep.reply);
	KUNIT_EXPECT_FALSE(test, rep.reject);
	KUNIT_EXPECT_FALSE(test, params.initiator);
	KUNIT_EXPECT_EQ(test, rep.rev, row->req_rev);
	KUNIT_EXPECT_EQ(test, rep.enhanced, row->req_enhanced);
	KUNIT_EXPECT_EQ(test, params.rev, row->req_rev);
	KUNIT_EXPECT_EQ(test, params.enhanced, row->req_enhanced);
	if (!row->req_enhanced)
		expect_unenhanced(test, &params);
}

/* Rules: E-6-3 E-10-4: revision and S that both ends use from then on */
static void negotiate_reply_any_format_taken_for_what_it_is(struct kunit *test)
{
	const struct interop_row *row = test->param_value;
	struct iw_mpa_frame rep = {
		.rev = 2, .reply = true, .enhanced = true, .ird = 8, .ord = 8,
	};
	struct iw_mpa_frame req;
	struct iw_mpa_local local = local_plain;
	struct iw_mpa_params params;

	/* Arrange */
	local.p2p = true;
	iw_mpa_make_request(&local, &req);
	req.rev = row->req_rev;
	req.enhanced = row->req_enhanced;
	rep.rev = row->rep_rev;
	rep.enhanced = row->rep_enhanced;

	/* Act */
	KUNIT_EXPECT_EQ(test, iw_mpa_negotiate_reply(&local, &req, &rep, &params), row->reason);

	/* Assert */
	KUNIT_EXPECT_TRUE(test, params.initiator);
	KUNIT_EXPECT_EQ(test, params.rev, row->rep_rev);
	if (!row->rep_enhanced)
		expect_unenhanced(test, &params);
}

static const struct lost_row {
	const char	*desc;
	bool		req_enhanced, req_p2p;	/* the first Request */
	bool		enhanced, p2p;		/* what was agreed */
	u8		lost;
} lost_rows[] = {
	{ "all_granted", true, true, true, true, 0 },
	{ "all_lost", true, true, false, false, IW_MPA_LOST_ALL },
	{ "E-9.2-4_reply_without_a", true, true, true, false, IW_MPA_LOST_P2P },
	{ "client_server_lost", true, false, false, false, IW_MPA_LOST_DEPTHS },
	{ "client_server_granted", true, false, true, false, 0 },
	{ "unenhanced_asks_for_nothing", false, false, false, false, 0 },
};

KUNIT_ARRAY_PARAM_DESC(lost, lost_rows, desc);

/* Rules: E-10-6: what log and debugfs report as lost */
static void negotiate_lost_is_what_was_asked_for_in_vain(struct kunit *test)
{
	const struct lost_row *row = test->param_value;
	const struct iw_mpa_frame req = { .enhanced = row->req_enhanced, .p2p = row->req_p2p };
	const struct iw_mpa_params params = { .enhanced = row->enhanced, .p2p = row->p2p };

	KUNIT_EXPECT_EQ(test, iw_mpa_lost(&req, &params), row->lost);
}

static struct kunit_case negotiate_stream_cases[] = {
	KUNIT_CASE_PARAM(negotiate_either_role_crc_if_one_asks, crc_gen_params),
	KUNIT_CASE_PARAM(negotiate_either_role_markers_as_receiver_asks, marker_gen_params),
	KUNIT_CASE_PARAM(negotiate_either_role_large_fpdu_if_both_say_so, large_gen_params),
	KUNIT_CASE_PARAM(negotiate_request_any_format_answered_in_same, interop_gen_params),
	KUNIT_CASE_PARAM(negotiate_reply_any_format_taken_for_what_it_is, interop_gen_params),
	KUNIT_CASE_PARAM(negotiate_lost_is_what_was_asked_for_in_vain, lost_gen_params),
	{}
};

static struct kunit_suite negotiate_stream_suite = {
	.name = "iw_mpa_negotiate_stream",
	.test_cases = negotiate_stream_cases,
};

kunit_test_suite(negotiate_stream_suite);

// SPDX-License-Identifier: GPL-2.0
/*
 * Functions of iw_mpa_proto.h, for drivers whose device has a TCP of its own: the reader that such
 * a driver feeds with received bytes, and the negotiation of MPA revision, IRD, ORD and RTR types.
 */

#include "raw_frame.h"

#include <kunit/test.h>
#include <linux/errno.h>
#include <linux/string.h>

#define S	IW_MPA_RTR_SEND
#define W	IW_MPA_RTR_WRITE
#define R	IW_MPA_RTR_READ
#define ULP	IW_MPA_DEPTH_ULP
#define OK	IW_MPA_R_OK

static const struct iw_mpa_local local_plain = {
	.ird		= 8,
	.ord		= 8,
	.max_ird	= 16,
	.max_ord	= 12,
	.rev		= 2,
	.rtr_send	= S | W | R,
	.rtr_accept	= S | W | R,
};

static struct iw_mpa_frame peer_frame(bool reply, u8 rtr)
{
	return (struct iw_mpa_frame) {
		.rev = 2, .reply = reply, .enhanced = true, .p2p = true, .rtr = rtr,
		.ird = 8, .ord = 8,
	};
}

/* Readers fed from a driver's buffer */

#define BEHIND	37	/* bytes after the frame, which stand for FPDUs */

/*
 * Pass @len bytes to the reader @rd, in pieces of at most @piece bytes. Return the number of bytes
 * that the reader has taken; @reason is set to the result of the last call.
 */
static size_t feed(struct iw_mpa_reader *rd, const u8 *octets, size_t len, size_t piece,
		   enum iw_mpa_reason *reason)
{
	size_t done = 0, n, used;

	do {
		n = min(piece, len - done);
		used = iw_mpa_reader_feed(rd, octets + done, n, reason);
		done += used;
	} while (used == n && n && !*reason && done < len);
	return done;
}

static const size_t pieces[] = { 1, 7, 20, 24, 4096 };

static void engine_reader_takes_the_frame_and_no_more(struct kunit *test)
{
	const struct good_row *row = test->param_value;
	size_t len = raw_len(&row->raw), i;
	u8 buf[IW_MPA_FRAME_MAX] __aligned(2);
	struct iw_mpa_frame frame;
	struct iw_mpa_reader rd;
	enum iw_mpa_reason reason;
	u8 *octets;

	octets = kunit_kzalloc(test, len + BEHIND, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, octets);
	raw_put(&row->raw, octets);
	for (i = 0; i < ARRAY_SIZE(pieces); i++) {
		iw_mpa_reader_init(&rd, row->want.reply, buf);
		KUNIT_EXPECT_EQ(test, feed(&rd, octets, len + BEHIND, pieces[i], &reason), len);
		KUNIT_ASSERT_EQ(test, reason, OK);
		KUNIT_EXPECT_EQ(test, rd.need, 0);
		KUNIT_EXPECT_EQ(test, memcmp(buf, octets, len), 0);
		KUNIT_EXPECT_EQ(test, iw_mpa_frame_decode(rd.buf, rd.have, rd.reply, &frame), OK);
		KUNIT_EXPECT_EQ(test, frame.pd_len, row->want.pd_len);
		/* the frame is complete: the reader takes no further byte */
		KUNIT_EXPECT_EQ(test, iw_mpa_reader_feed(&rd, octets, 1, &reason), 0);
		KUNIT_EXPECT_EQ(test, reason, OK);
	}
}

static void engine_reader_of_a_bad_frame_says_so_for_good(struct kunit *test)
{
	const struct bad_row *row = test->param_value;
	size_t len = raw_len(&row->raw), used, i;
	u8 buf[IW_MPA_FRAME_MAX] __aligned(2);
	struct iw_mpa_reader rd;
	enum iw_mpa_reason reason;
	u8 *octets = raw_alloc(test, &row->raw);

	for (i = 0; i < ARRAY_SIZE(pieces); i++) {
		iw_mpa_reader_init(&rd, row->reply, buf);
		used = feed(&rd, octets, len, pieces[i], &reason);
		KUNIT_EXPECT_EQ(test, reason, row->reason);
		KUNIT_EXPECT_LE(test, used, IW_MPA_HDR_SIZE);
		KUNIT_EXPECT_EQ(test, iw_mpa_reader_feed(&rd, octets, len, &reason), 0);
		KUNIT_EXPECT_EQ(test, reason, row->reason);
		KUNIT_EXPECT_EQ(test, rd.have, used);
	}
}

/* The highest MPA revision that a driver allows */

static void engine_responder_takes_no_revision_above_its_own(struct kunit *test)
{
	struct iw_mpa_frame v1 = { .rev = 1 }, v2 = { .rev = 2 }, rep;
	struct iw_mpa_frame enhanced = peer_frame(false, W);
	struct iw_mpa_local local = local_plain;
	struct iw_mpa_params params;

	KUNIT_EXPECT_EQ(test, iw_mpa_negotiate_request(&local, &v2, &rep, &params), OK);
	local.rev = 1;
	KUNIT_EXPECT_EQ(test, iw_mpa_negotiate_request(&local, &v1, &rep, &params), OK);
	KUNIT_EXPECT_FALSE(test, rep.reject);
	KUNIT_EXPECT_EQ(test, iw_mpa_negotiate_request(&local, &v2, &rep, &params),
			IW_MPA_R_BAD_REV);
	KUNIT_EXPECT_TRUE(test, rep.reject);
	/* of two errors in a Request, the revision is reported, not Markers */
	enhanced.markers = true;
	KUNIT_EXPECT_EQ(test, iw_mpa_negotiate_request(&local, &enhanced, &rep, &params),
			IW_MPA_R_BAD_REV);
}

/* RTR types */

static const struct choice_row {
	const char	*desc;
	u8		peer;		/* types in the Reply */
	u8		sent;		/* type that an initiator sends */
} choice_rows[] = {
	{ "all", S | W | R, W },
	{ "read_or_send", S | R, R },
	{ "write_or_send", S | W, W },
	{ "send", S, S },
};

KUNIT_ARRAY_PARAM_DESC(choice, choice_rows, desc);

static void engine_rtr_type_is_write_read_or_send(struct kunit *test)
{
	const struct choice_row *row = test->param_value;
	struct iw_mpa_frame req, rep, peer_req = peer_frame(false, row->peer);
	struct iw_mpa_frame peer_rep = peer_frame(true, row->peer);
	struct iw_mpa_local local = local_plain;
	struct iw_mpa_params params;

	local.p2p = true;
	iw_mpa_make_request(&local, &req);
	KUNIT_EXPECT_TRUE(test, req.p2p);
	KUNIT_EXPECT_EQ(test, req.rtr, S | W | R);
	KUNIT_ASSERT_EQ(test, iw_mpa_negotiate_request(&local, &peer_req, &rep, &params), OK);
	KUNIT_EXPECT_EQ(test, rep.rtr, row->peer);
	KUNIT_EXPECT_EQ(test, params.rtr, row->peer);
	KUNIT_ASSERT_EQ(test, iw_mpa_negotiate_reply(&local, &req, &peer_rep, &params), OK);
	KUNIT_EXPECT_EQ(test, params.rtr, row->sent);
}

/* A device that can send no RTR message does not ask for one. */
static void engine_device_without_rtr_asks_for_none(struct kunit *test)
{
	struct iw_mpa_local local = local_plain;
	struct iw_mpa_frame req;

	local.p2p = true;
	local.rtr_send = 0;
	iw_mpa_make_request(&local, &req);
	KUNIT_EXPECT_FALSE(test, req.p2p);
	KUNIT_EXPECT_EQ(test, req.rtr, 0);
}

/* Whatever IRD and ORD the ULP and the peer ask for, the results are within the device's limits. */

static void engine_read_alone_without_ird_stays_within_the_limits(struct kunit *test)
{
	struct iw_mpa_frame req = peer_frame(false, R), rep;
	struct iw_mpa_local local = local_plain;
	struct iw_mpa_params params;

	local.rtr_accept = R;
	local.ird = 0;
	local.max_ird = 0;
	KUNIT_ASSERT_EQ(test, iw_mpa_negotiate_request(&local, &req, &rep, &params), OK);
	KUNIT_EXPECT_EQ(test, params.ird, 0);
	KUNIT_EXPECT_EQ(test, rep.ird, 0);
	KUNIT_EXPECT_EQ(test, rep.rtr, R);
}

/*
 * After the errors NO_RTR and INSUFFICIENT_IRD a Terminate message is due. Some devices can send it
 * only when the QP is in RTS. So the parameters of a failed negotiation, with which such a QP is
 * brought to RTS, have to be within the limits of the device, too.
 */
static void engine_params_of_an_error_can_be_programmed(struct kunit *test)
{
	struct iw_mpa_frame rep = peer_frame(true, S), req;
	struct iw_mpa_local local = local_plain;
	struct iw_mpa_params params;

	local.p2p = true;
	local.rtr_send = W | R;
	iw_mpa_make_request(&local, &req);
	KUNIT_EXPECT_EQ(test, iw_mpa_negotiate_reply(&local, &req, &rep, &params),
			IW_MPA_R_NO_RTR);
	KUNIT_EXPECT_EQ(test, params.ird, 8);
	KUNIT_EXPECT_EQ(test, params.ord, 8);
	KUNIT_EXPECT_EQ(test, params.rtr, 0);
	KUNIT_EXPECT_FALSE(test, params.p2p);

	rep.ord = IW_MPA_DEPTH_MAX;
	KUNIT_EXPECT_EQ(test, iw_mpa_negotiate_reply(&local, &req, &rep, &params),
			IW_MPA_R_INSUFFICIENT_IRD);
	KUNIT_EXPECT_EQ(test, params.ird, 8);
	KUNIT_EXPECT_EQ(test, params.ord, 8);
	KUNIT_EXPECT_EQ(test, params.peer_ord, IW_MPA_DEPTH_MAX);
}

static struct kunit_case engine_cases[] = {
	KUNIT_CASE_PARAM(engine_reader_takes_the_frame_and_no_more, good_gen_params),
	KUNIT_CASE_PARAM(engine_reader_of_a_bad_frame_says_so_for_good, bad_gen_params),
	KUNIT_CASE(engine_responder_takes_no_revision_above_its_own),
	KUNIT_CASE_PARAM(engine_rtr_type_is_write_read_or_send, choice_gen_params),
	KUNIT_CASE(engine_device_without_rtr_asks_for_none),
	KUNIT_CASE(engine_read_alone_without_ird_stays_within_the_limits),
	KUNIT_CASE(engine_params_of_an_error_can_be_programmed),
	{}
};

static struct kunit_suite engine_suite = {
	.name = "iw_mpa_engine",
	.test_cases = engine_cases,
};

kunit_test_suite(engine_suite);

// SPDX-License-Identifier: GPL-2.0
/*
 * Reasons why a connection ends: each has an errno for the ULP, a code for a Terminate message to
 * the peer (0: none) and a text for the log. RFC 5044 8 requires that the TCP connection is closed
 * at once on a bad frame; RFC 6581 8 and 9 say when a Terminate message is to be sent.
 */

#include <kunit/test.h>
#include <linux/err.h>
#include <linux/string.h>

#include "reason.h"

struct reason_row {
	const char		*desc;
	enum iw_mpa_reason	reason;
	int			err;
	u8			term;
};

/* All values of enum iw_mpa_reason, in its order */
static const struct reason_row reason_rows[] = {
	{ "no_error", IW_MPA_R_OK, 0, 0 },
	{ "M-8-2_bad_key_no_term", IW_MPA_R_BAD_KEY, -EPROTO, 0 },
	{ "M-8-2_same_role_no_term", IW_MPA_R_SAME_ROLE, -EPROTO, 0 },
	{ "M-8-2_bad_rev_no_term", IW_MPA_R_BAD_REV, -EPROTO, 0 },
	{ "M-8-2_bad_pd_length_no_term", IW_MPA_R_BAD_PD_LENGTH, -EPROTO, 0 },
	{ "M-8-2_short_enhanced_no_term", IW_MPA_R_SHORT_ENHANCED, -EPROTO, 0 },
	{ "M-8-2_truncated", IW_MPA_R_TRUNCATED, -ECONNRESET, 0 },
	{ "M-4.3-1_markers_no_term", IW_MPA_R_MARKERS, -EPROTO, 0 },
	{ "E-9.3-1_local_error", IW_MPA_R_LOCAL, -EIO, 5 },
	{ "E-9.1-7_insufficient_ird", IW_MPA_R_INSUFFICIENT_IRD, -EPROTO, 6 },
	{ "E-9.2-9_no_rtr", IW_MPA_R_NO_RTR, -EPROTO, 7 },
	{ "E-10-6_no_rev_2", IW_MPA_R_NO_REV_2, -ECONNRESET, 0 },
	{ "M-7.1.2-8_rejected", IW_MPA_R_REJECTED, -ECONNREFUSED, 0 },
	{ "tcp_refused", IW_MPA_R_TCP_REFUSED, -ECONNRESET, 0 },
	{ "tcp_unreachable", IW_MPA_R_TCP_UNREACHABLE, -ETIMEDOUT, 0 },
	{ "tcp_error", IW_MPA_R_TCP_ERROR, -EIO, 0 },
	{ "peer_closed", IW_MPA_R_PEER_CLOSED, -ECONNRESET, 0 },
	{ "peer_reset", IW_MPA_R_PEER_RESET, -ECONNRESET, 0 },
	{ "timeout_connect", IW_MPA_R_TIMEOUT_CONNECT, -ETIMEDOUT, 0 },
	{ "timeout_request", IW_MPA_R_TIMEOUT_REQUEST, -ETIMEDOUT, 0 },
	{ "E-9.3-1_timeout_verdict", IW_MPA_R_TIMEOUT_VERDICT, -ETIMEDOUT, 5 },
	{ "timeout_reply", IW_MPA_R_TIMEOUT_REPLY, -ETIMEDOUT, 0 },
	{ "timeout_rtr", IW_MPA_R_TIMEOUT_RTR, -ETIMEDOUT, 0 },
	{ "timeout_finish", IW_MPA_R_TIMEOUT_FINISH, -ETIMEDOUT, 0 },
	{ "ulp_reject", IW_MPA_R_ULP_REJECT, -ECONNREFUSED, 0 },
	{ "ulp_close", IW_MPA_R_ULP_CLOSE, -ECONNABORTED, 0 },
	{ "stream", IW_MPA_R_STREAM, -ECONNABORTED, 0 },
	{ "E-9.3-1_driver", IW_MPA_R_DRIVER, -EIO, 5 },
	{ "E-9.3-1_early_data", IW_MPA_R_EARLY_DATA, -EIO, 5 },
	{ "E-9.3-1_tcp_option", IW_MPA_R_TCP_OPTION, -EIO, 5 },
	{ "E-9.3-1_tcp_busy", IW_MPA_R_TCP_BUSY, -EIO, 5 },
	{ "qp_gone", IW_MPA_R_QP_GONE, -ECONNABORTED, 0 },
	{ "device_gone", IW_MPA_R_DEVICE_GONE, -ECONNABORTED, 0 },
	{ "listener_gone", IW_MPA_R_LISTENER_GONE, -ECONNABORTED, 0 },
	{ "overload", IW_MPA_R_OVERLOAD, -ECONNABORTED, 0 },
	{ "E-9.3-1_event_lost", IW_MPA_R_EVENT_LOST, -ENOMEM, 5 },
	{ "send", IW_MPA_R_SEND, -EIO, 0 },
	{ "E-9.3-1_wrong_device", IW_MPA_R_WRONG_DEVICE, -ECONNABORTED, 5 },
};

KUNIT_ARRAY_PARAM_DESC(reason, reason_rows, desc);

/* Rules: E-9.1-7 E-9.2-9 E-9.3-1: errno and code of each reason */
static void reason_known_told_as_ruled(struct kunit *test)
{
	const struct reason_row *row = test->param_value;

	KUNIT_EXPECT_EQ(test, iw_mpa_reason_errno(row->reason), row->err);
	KUNIT_EXPECT_EQ(test, iw_mpa_reason_term_code(row->reason), row->term);
}

/* Rules: E-8-1 M-8-1: each reason has an errno, and no code, or one from 5 to 7 */
static void reason_any_errno_and_term_in_range(struct kunit *test)
{
	int reason, timeouts = 0;

	KUNIT_ASSERT_EQ(test, (int)ARRAY_SIZE(reason_rows), IW_MPA_R_COUNT);
	for (reason = 0; reason < IW_MPA_R_COUNT; reason++) {
		const char *name = iw_mpa_reason_name(reason);
		int err = iw_mpa_reason_errno(reason);
		u8 term = iw_mpa_reason_term_code(reason);

		KUNIT_EXPECT_EQ_MSG(test, (int)reason_rows[reason].reason, reason, "%s", name);
		KUNIT_EXPECT_EQ_MSG(test, err == 0, reason == IW_MPA_R_OK, "%s", name);
		KUNIT_EXPECT_LE_MSG(test, err, 0, "%s", name);
		KUNIT_EXPECT_GE_MSG(test, err, -MAX_ERRNO, "%s", name);
		KUNIT_EXPECT_TRUE_MSG(test, !term || (term >= 5 && term <= 7), "%s", name);
		if (strncmp(name, "TIMEOUT_", 8))
			continue;
		timeouts++;
		KUNIT_EXPECT_EQ_MSG(test, err, -ETIMEDOUT, "%s", name);
		/*
		 * Of the timeouts only a late answer of the ULP is a local error, for which the
		 * peer gets a Terminate message, with error code 5 of layer 2 (RFC 6581 9.3). After
		 * other timeouts iw_mpa sends no Terminate message.
		 */
		KUNIT_EXPECT_EQ_MSG(test, term, reason == IW_MPA_R_TIMEOUT_VERDICT ? 5 : 0, "%s",
				    name);
	}
	KUNIT_EXPECT_EQ(test, timeouts, 6);
}

/* rdma_cm takes -ECONNREFUSED for a Reject by a ULP: only the two reasons for that may have it. */
static void reason_any_refused_only_by_consumer(struct kunit *test)
{
	int reason;

	for (reason = 0; reason < IW_MPA_R_COUNT; reason++)
		KUNIT_EXPECT_EQ_MSG(test, iw_mpa_reason_errno(reason) == -ECONNREFUSED,
				    reason == IW_MPA_R_REJECTED || reason == IW_MPA_R_ULP_REJECT,
				    "%s", iw_mpa_reason_name(reason));
}

static void reason_any_name_present_and_unique(struct kunit *test)
{
	int i, j;

	for (i = 0; i < IW_MPA_R_COUNT; i++) {
		KUNIT_ASSERT_NOT_NULL(test, iw_mpa_reason_name(i));
		KUNIT_ASSERT_NOT_NULL(test, iw_mpa_reason_text(i));
		KUNIT_EXPECT_STRNEQ(test, iw_mpa_reason_name(i), "");
		KUNIT_EXPECT_STRNEQ(test, iw_mpa_reason_name(i), "?");
		KUNIT_EXPECT_STRNEQ(test, iw_mpa_reason_text(i), "");
		KUNIT_EXPECT_STRNEQ(test, iw_mpa_reason_text(i), "unknown");
		for (j = 0; j < i; j++) {
			KUNIT_EXPECT_STRNEQ(test, iw_mpa_reason_name(i), iw_mpa_reason_name(j));
			KUNIT_EXPECT_STRNEQ(test, iw_mpa_reason_text(i), iw_mpa_reason_text(j));
		}
	}
}

static void reason_out_of_range_harmless(struct kunit *test)
{
	static const unsigned int wild[] = {
		IW_MPA_R_COUNT, IW_MPA_R_COUNT + 1, 255, 256, 0x7fffffff, 0x80000000, 0xffffffff,
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(wild); i++) {
		KUNIT_EXPECT_STREQ(test, iw_mpa_reason_name(wild[i]), "?");
		KUNIT_EXPECT_STREQ(test, iw_mpa_reason_text(wild[i]), "unknown");
		KUNIT_EXPECT_EQ(test, iw_mpa_reason_errno(wild[i]), -EIO);
		KUNIT_EXPECT_EQ(test, iw_mpa_reason_term_code(wild[i]), 0);
	}
}

static struct kunit_case reason_cases[] = {
	KUNIT_CASE_PARAM(reason_known_told_as_ruled, reason_gen_params),
	KUNIT_CASE(reason_any_errno_and_term_in_range),
	KUNIT_CASE(reason_any_refused_only_by_consumer),
	KUNIT_CASE(reason_any_name_present_and_unique),
	KUNIT_CASE(reason_out_of_range_harmless),
	{}
};

static struct kunit_suite reason_suite = {
	.name = "iw_mpa_reason",
	.test_cases = reason_cases,
};

kunit_test_suite(reason_suite);

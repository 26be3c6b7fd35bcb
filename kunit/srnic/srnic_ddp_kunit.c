// SPDX-License-Identifier: GPL-2.0
/* Tests of srnic's decoder and encoder of DDP segment headers: RFC 5041 4, RFC 5040 4.1. */

#include <kunit/test.h>
#include <linux/string.h>

#include "wire.h"

struct parse_row {
	const char	*desc;
	u16		len;		/* ULPDU_Length */
	enum srnic_err	err;
	u8		octets[SRNIC_DDP_HDR_MAX];
};

#define TAGGED(ddp, rdmap) \
	{ ddp, rdmap, 1, 2, 3, 4, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18 }
#define UNTAGGED(ddp, rdmap, qn) \
	{ ddp, rdmap, 1, 2, 3, 4, 0, 0, 0, qn, 5, 6, 7, 8, 9, 10, 11, 12 }

static const struct parse_row parse_rows[] = {
	{ "R-4.1-3_write", 14, SRNIC_ERR_NONE, TAGGED(0xc1, 0x40) },
	{ "R-4.1-3_read_response", 20, SRNIC_ERR_NONE, TAGGED(0xc1, 0x42) },
	{ "R-4.1-3_read_request", 46, SRNIC_ERR_NONE, UNTAGGED(0x41, 0x41, 1) },
	{ "R-4.1-3_send", 18, SRNIC_ERR_NONE, UNTAGGED(0x41, 0x43, 0) },
	{ "R-4.1-3_send_not_last", 1000, SRNIC_ERR_NONE, UNTAGGED(0x01, 0x43, 0) },
	{ "R-4.1-3_sinv", 18, SRNIC_ERR_NONE, UNTAGGED(0x41, 0x44, 0) },
	{ "R-4.1-3_sse", 18, SRNIC_ERR_NONE, UNTAGGED(0x41, 0x45, 0) },
	{ "R-4.1-3_sse_inv", 65535, SRNIC_ERR_NONE, UNTAGGED(0x41, 0x46, 0) },
	{ "R-4.1-3_terminate", 22, SRNIC_ERR_NONE, UNTAGGED(0x41, 0x47, 2) },
	{ "R-4.1-1_rv_0", 14, SRNIC_ERR_NONE, TAGGED(0xc1, 0x00) },
	{ "R-4.1-1_rv_2", 14, SRNIC_ERR_RV, TAGGED(0xc1, 0x80) },
	{ "R-4.1-1_rv_3", 18, SRNIC_ERR_RV, UNTAGGED(0x41, 0xc3, 0) },
	{ "R-4.1-2_reserved_bits", 14, SRNIC_ERR_NONE, TAGGED(0xc1, 0x70) },
	{ "D-4.1-2_reserved_bits", 18, SRNIC_ERR_NONE, UNTAGGED(0x7d, 0x43, 0) },
	{ "F-4.1-5_length_0", 0, SRNIC_ERR_SHORT, TAGGED(0xc1, 0x40) },
	{ "F-4.1-5_length_1", 1, SRNIC_ERR_SHORT, TAGGED(0xc1, 0x40) },
	{ "F-4.1-5_length_2", 2, SRNIC_ERR_SHORT, TAGGED(0xc1, 0x40) },
	{ "F-4.1-5_tagged_13", 13, SRNIC_ERR_SHORT, TAGGED(0xc1, 0x40) },
	{ "F-4.1-5_untagged_14", 14, SRNIC_ERR_SHORT, UNTAGGED(0x41, 0x43, 0) },
	{ "F-4.1-5_untagged_17", 17, SRNIC_ERR_SHORT, UNTAGGED(0x41, 0x43, 0) },
	{ "D-4.1-3_dv_0_tagged", 14, SRNIC_ERR_DV_TAGGED, TAGGED(0xc0, 0x40) },
	{ "D-4.1-3_dv_2_tagged", 14, SRNIC_ERR_DV_TAGGED, TAGGED(0xc2, 0x40) },
	{ "D-4.1-3_dv_3_untagged", 18, SRNIC_ERR_DV_UNTAGGED, UNTAGGED(0x43, 0x43, 0) },
	{ "D-4.1-3_dv_before_rv", 18, SRNIC_ERR_DV_UNTAGGED, UNTAGGED(0x40, 0xff, 9) },
	{ "R-4.1-5_opcode_8", 14, SRNIC_ERR_OPCODE, TAGGED(0xc1, 0x48) },
	{ "R-4.1-5_opcode_8_untagged", 18, SRNIC_ERR_OPCODE, UNTAGGED(0x41, 0x48, 0) },
	{ "R-4.1-5_opcode_15_qn_7", 18, SRNIC_ERR_OPCODE, UNTAGGED(0x41, 0x4f, 7) },
	{ "R-4.1-3_write_untagged", 18, SRNIC_ERR_OPCODE, UNTAGGED(0x41, 0x40, 0) },
	{ "R-4.1-3_write_untagged_qn_7", 18, SRNIC_ERR_OPCODE, UNTAGGED(0x41, 0x40, 7) },
	{ "R-4.1-3_send_tagged", 18, SRNIC_ERR_OPCODE, TAGGED(0xc1, 0x43) },
	{ "R-4.1-3_read_request_tagged", 46, SRNIC_ERR_OPCODE, TAGGED(0xc1, 0x41) },
	{ "R-4.1-4_send_on_1", 18, SRNIC_ERR_OPCODE, UNTAGGED(0x41, 0x43, 1) },
	{ "R-4.1-4_send_on_2", 18, SRNIC_ERR_OPCODE, UNTAGGED(0x41, 0x43, 2) },
	{ "R-4.1-4_read_on_0", 46, SRNIC_ERR_OPCODE, UNTAGGED(0x41, 0x41, 0) },
	{ "D-7.1-1_qn_3", 18, SRNIC_ERR_QN, UNTAGGED(0x41, 0x43, 3) },
	{ "D-7.1-1_qn_255", 46, SRNIC_ERR_QN, UNTAGGED(0x41, 0x41, 255) },
	{ "R-5.4-6_terminate_tagged", 22, SRNIC_ERR_TERM_BAD, TAGGED(0xc1, 0x47) },
	{ "R-5.4-6_terminate_on_0", 22, SRNIC_ERR_TERM_BAD, UNTAGGED(0x41, 0x47, 0) },
	{ "R-5.4-6_terminate_on_3", 22, SRNIC_ERR_TERM_BAD, UNTAGGED(0x41, 0x47, 3) },
};

KUNIT_ARRAY_PARAM_DESC(parse, parse_rows, desc);

static void ddp_parse_any_header_judged(struct kunit *test)
{
	const struct parse_row *row = test->param_value;
	bool tagged = row->octets[0] & 0x80;
	struct srnic_seg seg;

	KUNIT_EXPECT_EQ(test, srnic_ddp_parse(row->octets, row->len, &seg), row->err);
	if (row->err == SRNIC_ERR_SHORT) {
		KUNIT_EXPECT_EQ(test, seg.hdr_len, 0);
		return;
	}
	KUNIT_EXPECT_EQ(test, seg.hdr_len, tagged ? 14 : 18);
	KUNIT_EXPECT_EQ(test, seg.len, row->len - seg.hdr_len);
	KUNIT_EXPECT_EQ(test, seg.tagged, tagged);
	KUNIT_EXPECT_EQ(test, seg.last, !!(row->octets[0] & 0x40));
	KUNIT_EXPECT_EQ(test, seg.op, row->octets[1] & 0xf);
	KUNIT_EXPECT_EQ(test, seg.stag, 0x01020304);
	KUNIT_EXPECT_EQ(test, seg.to, tagged ? 0x1112131415161718ULL : 0);
	KUNIT_EXPECT_EQ(test, seg.qn, tagged ? 0 : row->octets[9]);
	KUNIT_EXPECT_EQ(test, seg.msn, tagged ? 0 : 0x05060708);
	KUNIT_EXPECT_EQ(test, seg.mo, tagged ? 0 : 0x090a0b0c);
}

/* The decoder checks all 32 bits of the queue number (QN), not only the lowest byte. */
/* Rules: D-7.1-1: the error for a QN whose upper bytes are not 0 */
static void ddp_parse_qn_upper_octets_count(struct kunit *test)
{
	u8 octets[SRNIC_DDP_HDR_MAX] = UNTAGGED(0x41, 0x43, 0);
	struct srnic_seg seg;
	int i;

	for (i = 6; i < 9; i++) {
		octets[i] = 1;
		KUNIT_EXPECT_EQ(test, srnic_ddp_parse(octets, 18, &seg), SRNIC_ERR_QN);
		octets[i] = 0;
	}
	memset(octets + 6, 0xff, 4);
	KUNIT_EXPECT_EQ(test, srnic_ddp_parse(octets, 18, &seg), SRNIC_ERR_QN);
}

/* The buffer has exactly the ULPDU's size, so that KASAN reports a read beyond a short ULPDU. */
static void ddp_parse_short_ulpdu_not_overread(struct kunit *test)
{
	struct srnic_seg seg;
	size_t len;

	for (len = 1; len < SRNIC_DDP_HDR_MAX; len++) {
		u8 *octets = kunit_kzalloc(test, len, GFP_KERNEL);

		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, octets);
		octets[0] = 0x41;
		KUNIT_EXPECT_EQ(test, srnic_ddp_parse(octets, len, &seg), SRNIC_ERR_SHORT);
		octets[0] = 0xc1;
		KUNIT_EXPECT_EQ(test, srnic_ddp_parse(octets, len, &seg),
				len < 14 ? SRNIC_ERR_SHORT : SRNIC_ERR_NONE);
	}
}

static void ddp_put_tagged_octets_exact(struct kunit *test)
{
	static const u8 last[] = TAGGED(0xc1, 0x40);
	static const u8 more[] = TAGGED(0x81, 0x42);
	u8 hdr[SRNIC_DDP_TAGGED_LEN];

	srnic_ddp_put_tagged(hdr, SRNIC_OP_WRITE, true, 0x01020304, 0x1112131415161718);
	KUNIT_EXPECT_EQ(test, memcmp(hdr, last, sizeof(hdr)), 0);
	srnic_ddp_put_tagged(hdr, SRNIC_OP_READ_RESP, false, 0x01020304, 0x1112131415161718);
	KUNIT_EXPECT_EQ(test, memcmp(hdr, more, sizeof(hdr)), 0);
}

static void ddp_put_untagged_octets_exact(struct kunit *test)
{
	static const struct {
		enum srnic_opcode op;
		u8 rdmap, qn;
	} rows[] = {
		{ SRNIC_OP_READ_REQ, 0x41, 1 }, { SRNIC_OP_SEND, 0x43, 0 },
		{ SRNIC_OP_SEND_INV, 0x44, 0 }, { SRNIC_OP_SEND_SE, 0x45, 0 },
		{ SRNIC_OP_SEND_SE_INV, 0x46, 0 }, { SRNIC_OP_TERMINATE, 0x47, 2 },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const u8 last[] = UNTAGGED(0x41, rows[i].rdmap, rows[i].qn);
		const u8 more[] = UNTAGGED(0x01, rows[i].rdmap, rows[i].qn);
		u8 hdr[SRNIC_DDP_UNTAGGED_LEN];

		srnic_ddp_put_untagged(hdr, rows[i].op, true, 0x01020304, 0x05060708, 0x090a0b0c);
		KUNIT_EXPECT_EQ(test, memcmp(hdr, last, sizeof(hdr)), 0);
		srnic_ddp_put_untagged(hdr, rows[i].op, false, 0x01020304, 0x05060708, 0x090a0b0c);
		KUNIT_EXPECT_EQ(test, memcmp(hdr, more, sizeof(hdr)), 0);
	}
}

static struct kunit_case ddp_cases[] = {
	KUNIT_CASE_PARAM(ddp_parse_any_header_judged, parse_gen_params),
	KUNIT_CASE(ddp_parse_qn_upper_octets_count),
	KUNIT_CASE(ddp_parse_short_ulpdu_not_overread),
	KUNIT_CASE(ddp_put_tagged_octets_exact),
	KUNIT_CASE(ddp_put_untagged_octets_exact),
	{}
};

static struct kunit_suite ddp_suite = {
	.name = "srnic_ddp",
	.test_cases = ddp_cases,
};

kunit_test_suite(ddp_suite);

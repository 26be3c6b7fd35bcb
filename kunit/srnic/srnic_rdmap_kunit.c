// SPDX-License-Identifier: GPL-2.0
/* Tests of srnic's functions for Read Requests and RDMAP opcodes: RFC 5040 4.4, 5. */

#include <kunit/test.h>
#include <linux/string.h>

#include "wire.h"

/* R-4.4-1: all fields in network order */
static const u8 read_octets[SRNIC_READ_REQ_LEN] = {
	0x00, 0x00, 0x0a, 0x01,				/* SinkSTag */
	0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08,	/* SinkTO */
	0xff, 0xff, 0xff, 0xfe,				/* RDMARDSZ */
	0x00, 0x00, 0x0b, 0x02,				/* SrcSTag */
	0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7, 0xf8,	/* SrcTO */
};

static const struct srnic_read read_fields = {
	.sink_stag	= 0xa01,
	.sink_to	= 0x0102030405060708,
	.size		= 0xfffffffe,
	.src_stag	= 0xb02,
	.src_to		= 0xf1f2f3f4f5f6f7f8,
};

static void read_expect(struct kunit *test, const struct srnic_read *a,
			const struct srnic_read *b)
{
	KUNIT_EXPECT_EQ(test, a->sink_stag, b->sink_stag);
	KUNIT_EXPECT_EQ(test, a->sink_to, b->sink_to);
	KUNIT_EXPECT_EQ(test, a->size, b->size);
	KUNIT_EXPECT_EQ(test, a->src_stag, b->src_stag);
	KUNIT_EXPECT_EQ(test, a->src_to, b->src_to);
}

static void read_get_octets_fields(struct kunit *test)
{
	struct srnic_read read;

	srnic_read_get(read_octets, &read);
	read_expect(test, &read, &read_fields);
}

static void read_put_fields_octets(struct kunit *test)
{
	u8 octets[SRNIC_READ_REQ_LEN];

	srnic_read_put(octets, &read_fields);
	KUNIT_EXPECT_EQ(test, memcmp(octets, read_octets, sizeof(octets)), 0);
}

/* Rules: R-4.8-6: SinkTO, SourceTO and size after a part was sent */
static void read_advance_part_done_rest_left(struct kunit *test)
{
	struct srnic_read read = {
		.sink_stag = 1, .sink_to = 4096, .size = 1000, .src_stag = 2, .src_to = 8192,
	};
	const struct srnic_read rest = {
		.sink_stag = 1, .sink_to = 4796, .size = 300, .src_stag = 2, .src_to = 8892,
	};

	srnic_read_advance(&read, 700);
	read_expect(test, &read, &rest);
}

static const struct check_row {
	const char	*desc;
	u32		mo;
	u32		len;
	bool		last;
	enum srnic_err	err;
} check_rows[] = {
	{ "R-4.4-2_good", 0, 28, true, SRNIC_ERR_NONE },
	{ "R-4.4-2_mo_4", 4, 28, true, SRNIC_ERR_MO },
	{ "R-4.4-2_mo_before_length", 4, 29, false, SRNIC_ERR_MO },
	{ "R-4.4-2_29_octets", 0, 29, true, SRNIC_ERR_TOO_LONG },
	{ "R-4.4-2_60_octets_not_last", 0, 60, false, SRNIC_ERR_TOO_LONG },
	{ "R-4.4-2_0_octets", 0, 0, true, SRNIC_ERR_READ_FORM },
	{ "R-4.4-2_27_octets", 0, 27, true, SRNIC_ERR_READ_FORM },
	{ "R-4.4-2_not_last", 0, 28, false, SRNIC_ERR_READ_FORM },
};

KUNIT_ARRAY_PARAM_DESC(check, check_rows, desc);

static void read_check_any_form_judged(struct kunit *test)
{
	const struct check_row *row = test->param_value;
	const struct srnic_seg seg = {
		.op = SRNIC_OP_READ_REQ, .mo = row->mo, .len = row->len, .last = row->last,
	};

	KUNIT_EXPECT_EQ(test, srnic_read_check(&seg), row->err);
}

static void op_each_classified(struct kunit *test)
{
	static const struct {
		u8	op;
		bool	send, inv, se;
	} rows[] = {
		{ SRNIC_OP_WRITE,	false, false, false },
		{ SRNIC_OP_READ_REQ,	false, false, false },
		{ SRNIC_OP_READ_RESP,	false, false, false },
		{ SRNIC_OP_SEND,	true,  false, false },
		{ SRNIC_OP_SEND_INV,	true,  true,  false },
		{ SRNIC_OP_SEND_SE,	true,  false, true },
		{ SRNIC_OP_SEND_SE_INV,	true,  true,  true },
		{ SRNIC_OP_TERMINATE,	false, false, false },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		KUNIT_EXPECT_EQ(test, srnic_op_is_send(rows[i].op), rows[i].send);
		KUNIT_EXPECT_EQ(test, srnic_op_has_inv(rows[i].op), rows[i].inv);
		KUNIT_EXPECT_EQ(test, srnic_op_has_se(rows[i].op), rows[i].se);
		if (rows[i].send)
			KUNIT_EXPECT_EQ(test, srnic_op_of_send(rows[i].se, rows[i].inv),
					rows[i].op);
	}
}

static struct kunit_case rdmap_cases[] = {
	KUNIT_CASE(read_get_octets_fields),
	KUNIT_CASE(read_put_fields_octets),
	KUNIT_CASE(read_advance_part_done_rest_left),
	KUNIT_CASE_PARAM(read_check_any_form_judged, check_gen_params),
	KUNIT_CASE(op_each_classified),
	{}
};

static struct kunit_suite rdmap_suite = {
	.name = "srnic_rdmap",
	.test_cases = rdmap_cases,
};

kunit_test_suite(rdmap_suite);

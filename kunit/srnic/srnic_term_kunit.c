// SPDX-License-Identifier: GPL-2.0
/* Tests of srnic's errors, and of Terminate messages: RFC 5040 4.8, 7, RFC 5041 7. */

#include <kunit/test.h>
#include <linux/string.h>

#include "wire.h"
#include "term.h"

static const struct code_row {
	const char		*desc;
	enum srnic_err		err;
	u8			octets[3];
	enum srnic_term_form	form;
} code_rows[] = {
	{ "R-7.1-1_local", SRNIC_ERR_LOCAL, { 0x00, 0x00, 0x00 }, SRNIC_TERM_BARE },
	{ "R-6.2.1-1_urgent", SRNIC_ERR_URGENT, { 0x00, 0x00, 0x00 }, SRNIC_TERM_BARE },
	{ "D-7.2-1_unreadable", SRNIC_ERR_UNREADABLE, { 0x00, 0x00, 0x00 }, SRNIC_TERM_BARE },
	{ "R-7.2-1_read_stag", SRNIC_ERR_READ_STAG, { 0x01, 0x00, 0xe0 }, SRNIC_TERM_MDR },
	{ "R-7.2-4_read_bounds", SRNIC_ERR_READ_BOUNDS, { 0x01, 0x01, 0xe0 }, SRNIC_TERM_MDR },
	{ "R-7.2-3_read_right", SRNIC_ERR_READ_RIGHT, { 0x01, 0x02, 0xe0 }, SRNIC_TERM_MDR },
	{ "R-7.2-2_read_pd", SRNIC_ERR_READ_PD, { 0x01, 0x03, 0xe0 }, SRNIC_TERM_MDR },
	{ "R-7.2-5_read_wrap", SRNIC_ERR_READ_WRAP, { 0x01, 0x04, 0xe0 }, SRNIC_TERM_MDR },
	{ "R-5.3-4_inv_foreign", SRNIC_ERR_INV_FOREIGN, { 0x01, 0x09, 0xc0 }, SRNIC_TERM_MD },
	{ "R-5.3-5_inv_stag", SRNIC_ERR_INV_STAG, { 0x02, 0x09, 0xc0 }, SRNIC_TERM_MD },
	{ "R-4.1-1_rv", SRNIC_ERR_RV, { 0x02, 0x05, 0xc0 }, SRNIC_TERM_MD },
	{ "R-4.1-5_opcode", SRNIC_ERR_OPCODE, { 0x02, 0x06, 0xc0 }, SRNIC_TERM_MD },
	{ "R-5.2.2-1_resp_none", SRNIC_ERR_RESP_NONE, { 0x02, 0x06, 0xc0 }, SRNIC_TERM_MD },
	{ "R-8.1.1-10_cq_full", SRNIC_ERR_CQ_FULL, { 0x02, 0x07, 0xc0 }, SRNIC_TERM_MD },
	{ "F-4.1-5_short", SRNIC_ERR_SHORT, { 0x02, 0xff, 0x00 }, SRNIC_TERM_BARE },
	{ "R-4.4-2_read_form", SRNIC_ERR_READ_FORM, { 0x02, 0xff, 0xc0 }, SRNIC_TERM_MD },
	{ "D-7.1-7_write_stag", SRNIC_ERR_WRITE_STAG, { 0x11, 0x00, 0xc0 }, SRNIC_TERM_MD },
	{ "D-7.1-9_write_right", SRNIC_ERR_WRITE_RIGHT, { 0x11, 0x00, 0xc0 }, SRNIC_TERM_MD },
	{ "D-7.1-10_write_bounds", SRNIC_ERR_WRITE_BOUNDS, { 0x11, 0x01, 0xc0 }, SRNIC_TERM_MD },
	{ "D-7.1-8_write_pd", SRNIC_ERR_WRITE_PD, { 0x11, 0x02, 0xc0 }, SRNIC_TERM_MD },
	{ "D-7.1-11_write_wrap", SRNIC_ERR_WRITE_WRAP, { 0x11, 0x03, 0xc0 }, SRNIC_TERM_MD },
	{ "D-4.1-3_dv_tagged", SRNIC_ERR_DV_TAGGED, { 0x11, 0x04, 0xc0 }, SRNIC_TERM_MD },
	{ "R-5.2.2-2_resp_stag", SRNIC_ERR_RESP_STAG, { 0x11, 0x00, 0xc0 }, SRNIC_TERM_MD },
	{ "R-5.2.2-3_resp_bounds", SRNIC_ERR_RESP_BOUNDS, { 0x11, 0x01, 0xc0 }, SRNIC_TERM_MD },
	{ "D-7.1-8_resp_pd", SRNIC_ERR_RESP_PD, { 0x11, 0x02, 0xc0 }, SRNIC_TERM_MD },
	{ "D-7.1-1_qn", SRNIC_ERR_QN, { 0x12, 0x01, 0xc0 }, SRNIC_TERM_MD },
	{ "D-7.1-2_no_buffer", SRNIC_ERR_NO_BUFFER, { 0x12, 0x02, 0xc0 }, SRNIC_TERM_MD },
	{ "D-7.1-3_msn", SRNIC_ERR_MSN, { 0x12, 0x03, 0xc0 }, SRNIC_TERM_MD },
	{ "D-7.1-4_mo", SRNIC_ERR_MO, { 0x12, 0x04, 0xc0 }, SRNIC_TERM_MD },
	{ "D-7.1-5_too_long", SRNIC_ERR_TOO_LONG, { 0x12, 0x05, 0xc0 }, SRNIC_TERM_MD },
	{ "D-4.1-3_dv_untagged", SRNIC_ERR_DV_UNTAGGED, { 0x12, 0x06, 0xc0 }, SRNIC_TERM_MD },
	{ "F-4.4-3_crc", SRNIC_ERR_CRC, { 0x20, 0x02, 0x00 }, SRNIC_TERM_BARE },
	{ "F-8-2_marker", SRNIC_ERR_MARKER, { 0x20, 0x03, 0x00 }, SRNIC_TERM_BARE },
};

KUNIT_ARRAY_PARAM_DESC(code, code_rows, desc);

/*
 * Rules: D-7.2-1 R-4.8-7: layer, type, code and bits for each error, as constants; R-4.8-1: three
 * bytes of Terminate Control, and a fourth of 0; R-4.8-5: the length of the payload; T-3: the bytes
 * of Terminate Control, on machines of both byte orders; F-8-3: no error has a code of MPA above 3
 */
static void term_build_each_error_octets_exact(struct kunit *test)
{
	const struct code_row *row = test->param_value;
	static const size_t sizes[] = {
		[SRNIC_TERM_BARE] = 4, [SRNIC_TERM_MD] = 20, [SRNIC_TERM_MDR] = 52,
	};
	struct srnic_fault fault = { .err = row->err, .ulpdu_len = 0xabcd, .ddp_len = 14 };
	u8 payload[SRNIC_TERM_MAX];
	size_t size;

	KUNIT_EXPECT_EQ(test, srnic_errs[row->err].form, row->form);
	if (row->form == SRNIC_TERM_MDR)
		fault.ddp_len = 18;
	memset(fault.hdr, 0x5c, sizeof(fault.hdr));
	memset(payload, 0xee, sizeof(payload));
	size = srnic_term_build(&fault, payload);
	KUNIT_EXPECT_EQ(test, size, sizes[row->form]);
	KUNIT_EXPECT_EQ(test, memcmp(payload, row->octets, 3), 0);
	KUNIT_EXPECT_EQ(test, payload[3], 0);
	KUNIT_EXPECT_EQ(test, srnic_errs[row->err].type, row->octets[0]);
	KUNIT_EXPECT_EQ(test, srnic_errs[row->err].code, row->octets[1]);
	/* Error codes of MPA above 3 are for the startup phase (RFC 5044 8, RFC 6581 8). */
	if (payload[0] >> 4 == 2)
		KUNIT_EXPECT_LE(test, payload[1], 3);
	if (row->form != SRNIC_TERM_BARE) {
		KUNIT_EXPECT_EQ(test, payload[4], 0xab);
		KUNIT_EXPECT_EQ(test, payload[5], 0xcd);
		KUNIT_EXPECT_PTR_EQ(test, memchr_inv(payload + 6, 0x5c, size - 6), NULL);
	}
	KUNIT_EXPECT_PTR_EQ(test, memchr_inv(payload + size, 0xee, SRNIC_TERM_MAX - size), NULL);
}

/* Rules: R-4.8-7: bits M and D are 0, and nothing is copied, if the sender has found the error */
static void term_build_without_a_segment(struct kunit *test)
{
	const struct srnic_fault fault = { .err = SRNIC_ERR_CQ_FULL };
	u8 payload[SRNIC_TERM_MAX];

	KUNIT_EXPECT_EQ(test, srnic_term_build(&fault, payload), 4);
	KUNIT_EXPECT_EQ(test, memcmp(payload, "\x02\x07\0\0", 4), 0);
}

/* The errors in @silent have no Terminate message; all others have one */
static void err_form_silent_ones_known(struct kunit *test)
{
	static const enum srnic_err silent[] = {
		SRNIC_ERR_NONE, SRNIC_ERR_STREAM, SRNIC_ERR_TERM_BAD, SRNIC_ERR_TERM_RECEIVED,
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(silent); i++)
		KUNIT_EXPECT_EQ(test, srnic_errs[silent[i]].form, SRNIC_TERM_SILENT);
	KUNIT_EXPECT_EQ(test, ARRAY_SIZE(silent) + ARRAY_SIZE(code_rows), SRNIC_ERR_COUNT);
}

static void err_each_named_and_told(struct kunit *test)
{
	int err;

	for (err = 0; err < SRNIC_ERR_COUNT; err++) {
		KUNIT_EXPECT_GT(test, strlen(srnic_errs[err].name), 0);
		KUNIT_EXPECT_GT(test, strlen(srnic_errs[err].text), 0);
		KUNIT_EXPECT_EQ(test, srnic_errs[err].tell == SRNIC_TELL_NONE,
				err == SRNIC_ERR_NONE);
	}
	KUNIT_EXPECT_STREQ(test, srnic_errs[SRNIC_ERR_CRC].name, "CRC");
	KUNIT_EXPECT_EQ(test, srnic_errs[SRNIC_ERR_CRC].tell, SRNIC_TELL_FATAL);
	KUNIT_EXPECT_EQ(test, srnic_errs[SRNIC_ERR_TERM_RECEIVED].tell, SRNIC_TELL_FATAL);
	KUNIT_EXPECT_EQ(test, srnic_errs[SRNIC_ERR_WRITE_STAG].tell, SRNIC_TELL_ACCESS);
	KUNIT_EXPECT_EQ(test, srnic_errs[SRNIC_ERR_MSN].tell, SRNIC_TELL_REQ);
}

/*
 * srnic_term_build() makes the payloads of two Terminate messages, compared byte by byte with
 * constants
 */
static void term_build_vectors_exact(struct kunit *test)
{
	static const u8 write_16[] = {
		0x11, 0x00, 0xc0, 0x00, 0x00, 0x1e, 0xc1, 0x40, 0x12, 0x34, 0x56, 0x78,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x10, 0x00,
	};
	static const u8 read_4096[] = {
		0x01, 0x02, 0xe0, 0x00, 0x00, 0x2e, 0x41, 0x41, 0x00, 0x00, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x03, 0x00, 0x00, 0x00, 0x00,
		0x00, 0x00, 0x0a, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x10, 0x00,
		0x00, 0x00, 0x10, 0x00, 0x00, 0x00, 0x0b, 0x02, 0x00, 0x00, 0x00, 0x00,
		0x00, 0x00, 0x20, 0x00,
	};
	const struct srnic_read read = {
		.sink_stag = 0xa01, .sink_to = 0x1000, .size = 0x1000,
		.src_stag = 0xb02, .src_to = 0x2000,
	};
	struct srnic_fault fault = { SRNIC_ERR_WRITE_STAG, .ulpdu_len = 30, .ddp_len = 14 };
	u8 payload[SRNIC_TERM_MAX];

	srnic_ddp_put_tagged(fault.hdr, SRNIC_OP_WRITE, true, 0x12345678, 0x1000);
	KUNIT_EXPECT_EQ(test, srnic_term_build(&fault, payload), sizeof(write_16));
	KUNIT_EXPECT_EQ(test, memcmp(payload, write_16, sizeof(write_16)), 0);

	fault = (struct srnic_fault) {
		SRNIC_ERR_READ_RIGHT, .ulpdu_len = 46, .ddp_len = 18,
	};
	srnic_ddp_put_untagged(fault.hdr, SRNIC_OP_READ_REQ, true, 0, 3, 0);
	srnic_read_put(fault.hdr + 18, &read);
	KUNIT_EXPECT_EQ(test, srnic_term_build(&fault, payload), sizeof(read_4096));
	KUNIT_EXPECT_EQ(test, memcmp(payload, read_4096, sizeof(read_4096)), 0);
}

static const struct term_parse_row {
	const char	*desc;
	size_t		len;
	u8		ddp_len;
	u8		octets[SRNIC_TERM_MAX + 4];
} term_parse_rows[] = {
	{ "R-4.8-8_bare", 4, 0, { 0x20, 0x02, 0x00, 0x00 } },
	{ "R-4.8-8_d_in_4_octets", 4, 0, { 0x11, 0x00, 0xc0, 0x00 } },
	{ "R-4.8-8_d_without_m", 24, 0, { 0x11, 0x00, 0x40, 0x00, 0, 0, 0xc1 } },
	{ "R-4.8-8_m_without_d", 24, 0, { 0x11, 0x00, 0x80, 0x00, 0, 0, 0xc1 } },
	{ "R-4.8-8_6_octets", 6, 0, { 0x11, 0x00, 0xc0, 0x00, 0, 0x1e } },
	{ "R-4.8-8_tagged_cut", 19, 0, { 0x11, 0x00, 0xc0, 0x00, 0, 0x1e, 0xc1 } },
	{ "R-4.8-8_tagged", 20, 14, { 0x11, 0x00, 0xc0, 0x00, 0, 0x1e, 0xc1 } },
	{ "R-4.8-8_untagged_cut", 23, 0, { 0x12, 0x02, 0xc0, 0x00, 0, 0x1e, 0x41 } },
	{ "R-4.8-8_untagged", 24, 18, { 0x12, 0x02, 0xc0, 0x00, 0, 0x1e, 0x41 } },
	{ "R-4.8-8_trailing_octets", 56, 18, { 0x01, 0x02, 0xe0, 0x00, 0, 0x2e, 0x41 } },
	{ "R-4.8-8_unknown_codes", 4, 0, { 0xfe, 0x77, 0x1f, 0xff } },
};

KUNIT_ARRAY_PARAM_DESC(term_parse, term_parse_rows, desc);

/*
 * Rules: R-4.8-8: each field of a received Terminate message, and the copied header if it is
 * complete; T-3: each field decoded from given bytes, on machines of both byte orders
 */
static void term_parse_any_payload_believed_within_length(struct kunit *test)
{
	const struct term_parse_row *row = test->param_value;
	u8 *payload = kunit_kmalloc(test, row->len, GFP_KERNEL);
	struct srnic_term term;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, payload);
	memcpy(payload, row->octets, row->len);
	KUNIT_ASSERT_TRUE(test, srnic_term_parse(payload, row->len, &term));
	KUNIT_EXPECT_EQ(test, term.layer, row->octets[0] >> 4);
	KUNIT_EXPECT_EQ(test, term.etype, row->octets[0] & 0xf);
	KUNIT_EXPECT_EQ(test, term.code, row->octets[1]);
	KUNIT_EXPECT_EQ(test, term.hdrct, row->octets[2] & 0xe0);
	KUNIT_EXPECT_EQ(test, term.ddp_len, row->ddp_len);
	KUNIT_EXPECT_PTR_EQ(test, term.ddp, row->ddp_len ? (const u8 *)payload + 6 : NULL);
}

/* Rules: R-5.4-6: no result for 0 to 3 bytes */
static void term_parse_less_than_control_refused(struct kunit *test)
{
	static const u8 payload[3] = { 0x20, 0x02, 0x00 };
	struct srnic_term term;
	size_t len;

	for (len = 0; len < 4; len++)
		KUNIT_EXPECT_FALSE(test, srnic_term_parse(payload, len, &term));
}

struct range_row {
	const char		*desc;
	u64			base, size, addr;
	u32			len;
	enum srnic_mem_fault	fault;
};

#define TOP	0xfffffffffffffff8ULL

static const struct range_row range_rows[] = {
	{ "D-7.1-10_all", 4096, 100, 4096, 100, SRNIC_MEM_OK },
	{ "D-7.1-10_last_octet", 4096, 100, 4195, 1, SRNIC_MEM_OK },
	{ "D-7.1-10_base_minus_1", 4096, 100, 4095, 1, SRNIC_MEM_BOUNDS },
	{ "D-7.1-10_one_over", 4096, 100, 4096, 101, SRNIC_MEM_BOUNDS },
	{ "D-7.1-10_end", 4096, 100, 4196, 1, SRNIC_MEM_BOUNDS },
	{ "D-7.1-10_behind_end", 4096, 100, 4197, 1, SRNIC_MEM_BOUNDS },
	{ "D-7.1-10_before_a_region_of_all", 4096, U64_MAX, 0, 1, SRNIC_MEM_BOUNDS },
	{ "D-7.1-10_top", TOP, 8, TOP, 7, SRNIC_MEM_OK },
	{ "D-7.1-11_sum_is_zero", TOP, 8, TOP, 8, SRNIC_MEM_WRAP },
	{ "D-7.1-11_wraps", TOP, 8, TOP, 16, SRNIC_MEM_WRAP },
	{ "D-7.1-11_wraps_before_bounds", 4096, 100, TOP, 16, SRNIC_MEM_WRAP },
	{ "D-7.1-11_longest", 0, U64_MAX, 0xffffffff00000001ULL, U32_MAX, SRNIC_MEM_WRAP },
	{ "D-7.1-11_all_memory", 0, U64_MAX, 0xffffffff00000000ULL, U32_MAX, SRNIC_MEM_OK },
	{ "D-5.2-5_length_0_anywhere", 4096, 100, U64_MAX, 0, SRNIC_MEM_OK },
	{ "R-4.4-4_2_31", 0, 4096, 0, 0x80000000, SRNIC_MEM_BOUNDS },
	{ "R-4.4-4_2_32_minus_1", 0, 4096, 0, U32_MAX, SRNIC_MEM_BOUNDS },
};

KUNIT_ARRAY_PARAM_DESC(range, range_rows, desc);

static void range_check_octet_exact(struct kunit *test)
{
	const struct range_row *row = test->param_value;

	KUNIT_EXPECT_EQ(test, srnic_range_check(row->base, row->size, row->addr, row->len),
			row->fault);
}

static void err_of_mem_each_use_and_fault_mapped(struct kunit *test)
{
	/*
	 * Columns, the faults of an access to memory: none, no such STag, other protection domain,
	 * no right, address wraps, out of bounds
	 */
	static const enum srnic_err errs[][SRNIC_MEM_BOUNDS + 1] = {
		[SRNIC_USE_WRITE] = {
			SRNIC_ERR_NONE, SRNIC_ERR_WRITE_STAG, SRNIC_ERR_WRITE_PD,
			SRNIC_ERR_WRITE_RIGHT, SRNIC_ERR_WRITE_WRAP, SRNIC_ERR_WRITE_BOUNDS,
		},
		[SRNIC_USE_RESP] = {
			SRNIC_ERR_NONE, SRNIC_ERR_RESP_STAG, SRNIC_ERR_RESP_PD,
			SRNIC_ERR_RESP_STAG, SRNIC_ERR_RESP_BOUNDS, SRNIC_ERR_RESP_BOUNDS,
		},
		[SRNIC_USE_READ] = {
			SRNIC_ERR_NONE, SRNIC_ERR_READ_STAG, SRNIC_ERR_READ_PD,
			SRNIC_ERR_READ_RIGHT, SRNIC_ERR_READ_WRAP, SRNIC_ERR_READ_BOUNDS,
		},
	};
	int use, fault;

	for (use = 0; use < ARRAY_SIZE(errs); use++)
		for (fault = SRNIC_MEM_OK; fault <= SRNIC_MEM_BOUNDS; fault++)
			KUNIT_EXPECT_STREQ(test, srnic_errs[srnic_err_of_mem(use, fault)].name,
					   srnic_errs[errs[use][fault]].name);
}

static struct kunit_case term_cases[] = {
	KUNIT_CASE_PARAM(term_build_each_error_octets_exact, code_gen_params),
	KUNIT_CASE(term_build_without_a_segment),
	KUNIT_CASE(err_form_silent_ones_known),
	KUNIT_CASE(err_each_named_and_told),
	KUNIT_CASE(term_build_vectors_exact),
	KUNIT_CASE_PARAM(term_parse_any_payload_believed_within_length, term_parse_gen_params),
	KUNIT_CASE(term_parse_less_than_control_refused),
	KUNIT_CASE_PARAM(range_check_octet_exact, range_gen_params),
	KUNIT_CASE(err_of_mem_each_use_and_fault_mapped),
	{}
};

static struct kunit_suite term_suite = {
	.name = "srnic_term",
	.test_cases = term_cases,
};

kunit_test_suite(term_suite);

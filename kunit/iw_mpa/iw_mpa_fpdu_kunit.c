// SPDX-License-Identifier: GPL-2.0
/*
 * The FPDUs of the startup phase (RTR and Terminate messages), byte by byte: RFC 5041 4 (DDP
 * headers), RFC 5040 4 (RDMAP headers, Terminate), RFC 5044 4 (FPDU, CRC), RFC 6581 8 and 9.2.
 */

#include <kunit/test.h>
#include <linux/string.h>
#include <linux/unaligned.h>
#include <rdma/iw_mpa_proto.h>

#define GUARD	32	/* guard bytes on each side of a buffer */

/* CRC32c, bit by bit: independent of the crc32c() that iw_mpa uses */
static u32 slow_crc32c(const u8 *octets, size_t len)
{
	u32 crc = 0xffffffff;
	size_t i;
	int bit;

	for (i = 0; i < len; i++) {
		crc ^= octets[i];
		for (bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ 0x82f63b78 : crc >> 1;
	}
	return ~crc;
}

/* RFC 5044 4.4, figure 5: an FPDU with its Marker; the last four bytes are the CRC field */
static const u8 figure_5[52] = {
	0x00, 0x00, 0x00, 0x00, 0x00, 0x2a, 0x41, 0x43,
	[19] = 0x01,
	[48] = 0x52, 0x23, 0x99, 0x83,
};

static void slow_crc32c_rfc5044_figure_5_matches(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, slow_crc32c(figure_5, 48), get_unaligned_le32(figure_5 + 48));
}

static const struct fpdu_row {
	const char	*desc;
	u8		rtr;	/* RTR type; 0 if the row is a Terminate message */
	u8		term;	/* error code of the Terminate message */
	size_t		len;
	u8		octets[IW_MPA_FPDU_MAX];
} fpdu_rows[] = {
	{ "E-9.2-8_rtr_write", .rtr = IW_MPA_RTR_WRITE, .len = 20, .octets = {
		0x00, 0x0e,				/* ULPDU: 14 bytes */
		0xc1,					/* DDP: Tagged, Last, version 1 */
		0x40,					/* RDMAP: version 1, Write */
		0x00, 0x00, 0x00, 0x01,			/* STag */
		0x00, 0x00, 0x00, 0x00,			/* Tagged Offset */
		0x00, 0x00, 0x00, 0x00,
		0xeb, 0xd3, 0x4c, 0x5f,			/* CRC */
	} },
	{ "E-9.2-8_rtr_read", .rtr = IW_MPA_RTR_READ, .len = 52, .octets = {
		0x00, 0x2e,				/* ULPDU: 46 bytes */
		0x41,					/* DDP: Untagged, Last, version 1 */
		0x41,					/* RDMAP: version 1, Read Request */
		0x00, 0x00, 0x00, 0x00,			/* reserved */
		0x00, 0x00, 0x00, 0x01,			/* Queue 1 */
		0x00, 0x00, 0x00, 0x01,			/* MSN */
		0x00, 0x00, 0x00, 0x00,			/* MO */
		0x00, 0x00, 0x00, 0x01,			/* Sink STag */
		0x00, 0x00, 0x00, 0x00,			/* Sink TO */
		0x00, 0x00, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x00,			/* Read Message Size */
		0x00, 0x00, 0x00, 0x01,			/* Source STag */
		0x00, 0x00, 0x00, 0x00,			/* Source TO */
		0x00, 0x00, 0x00, 0x00,
		0x27, 0xdb, 0xd7, 0xe7,			/* CRC */
	} },
	{ "E-9.2-8_rtr_send", .rtr = IW_MPA_RTR_SEND, .len = 24, .octets = {
		0x00, 0x12,				/* ULPDU: 18 bytes */
		0x41,					/* DDP: Untagged, Last, version 1 */
		0x43,					/* RDMAP: version 1, Send */
		0x00, 0x00, 0x00, 0x00,			/* reserved */
		0x00, 0x00, 0x00, 0x00,			/* Queue 0 */
		0x00, 0x00, 0x00, 0x01,			/* MSN */
		0x00, 0x00, 0x00, 0x00,			/* MO */
		0x58, 0x7b, 0xe8, 0xc4,			/* CRC */
	} },
#define TERM(name, error, ...)							\
	{ name, .term = error, .len = 28, .octets = {				\
		0x00, 0x16,				/* ULPDU: 22 bytes */	\
		0x41,					/* DDP: Untagged, Last, version 1 */ \
		0x47,					/* RDMAP: version 1, Terminate */ \
		0x00, 0x00, 0x00, 0x00,			/* reserved */		\
		0x00, 0x00, 0x00, 0x02,			/* Queue 2 */		\
		0x00, 0x00, 0x00, 0x01,			/* MSN */		\
		0x00, 0x00, 0x00, 0x00,			/* MO */		\
		0x20, error, 0x00, 0x00,		/* LLP, MPA; code; no headers */ \
		__VA_ARGS__				/* CRC */		\
	} }
	TERM("E-9.3-1_term_local_catastrophic", 0x05, 0x16, 0x80, 0xd5, 0xf1),
	TERM("E-9.1-7_term_insufficient_ird", 0x06, 0x65, 0x40, 0xfb, 0x1b),
	TERM("E-9.2-9_term_no_matching_rtr", 0x07, 0x1b, 0xd2, 0xba, 0xbe),
#undef TERM
};

KUNIT_ARRAY_PARAM_DESC(fpdu, fpdu_rows, desc);

/* A buffer of IW_MPA_FPDU_MAX bytes, with guard bytes of @fill on both sides */
static u8 *room_alloc(struct kunit *test, u8 fill)
{
	u8 *room = kunit_kmalloc(test, IW_MPA_FPDU_MAX + 2 * GUARD, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, room);
	memset(room, fill, IW_MPA_FPDU_MAX + 2 * GUARD);
	return room + GUARD;
}

static void expect_guarded(struct kunit *test, const u8 *fpdu, u8 fill)
{
	KUNIT_EXPECT_NULL(test, memchr_inv(fpdu - GUARD, fill, GUARD));
	KUNIT_EXPECT_NULL(test, memchr_inv(fpdu + IW_MPA_FPDU_MAX, fill, GUARD));
}

static size_t fpdu_make(const struct fpdu_row *row, bool crc, u8 *fpdu)
{
	return row->rtr ? iw_mpa_fpdu_rtr(row->rtr, crc, fpdu) :
			  iw_mpa_fpdu_term(row->term, crc, fpdu);
}

/*
 * Rules: E-8-1 E-9.1-7 E-9.2-8 E-9.2-9 E-9.3-1: each byte of the Terminate and RTR messages;
 * M-4.4-1: the CRC of these messages
 */
static void fpdu_with_crc_octets_exact(struct kunit *test)
{
	const struct fpdu_row *row = test->param_value;
	u8 *fpdu = room_alloc(test, 0xa5);
	size_t len, i;

	/* Act */
	len = fpdu_make(row, true, fpdu);

	/* Assert */
	KUNIT_ASSERT_EQ(test, len, row->len);
	for (i = 0; i < len; i++)
		KUNIT_EXPECT_EQ_MSG(test, fpdu[i], row->octets[i], "octet %zu", i);
	KUNIT_EXPECT_EQ(test, get_unaligned_le32(fpdu + len - 4), slow_crc32c(fpdu, len - 4));
	expect_guarded(test, fpdu, 0xa5);
}

/*
 * RFC 5044 4.4: an FPDU without CRC has a CRC field, too, whose value is free. iw_mpa sends 0 in
 * it, so that no old contents of the buffer reach the peer.
 */
/* Rules: E-9.1-7 E-9.2-8 E-9.2-9 E-9.3-1 M-7.1.1-7: each byte of the Terminate and RTR messages */
static void fpdu_without_crc_field_is_zero(struct kunit *test)
{
	const struct fpdu_row *row = test->param_value;
	u8 *fpdu = room_alloc(test, 0xa5);
	size_t len;

	/* Act */
	len = fpdu_make(row, false, fpdu);

	/* Assert */
	KUNIT_ASSERT_EQ(test, len, row->len);
	KUNIT_EXPECT_EQ(test, memcmp(fpdu, row->octets, len - 4), 0);
	KUNIT_EXPECT_EQ(test, get_unaligned_le32(fpdu + len - 4), 0);
	expect_guarded(test, fpdu, 0xa5);
}

/*
 * The same FPDU is made in two buffers with different old contents: if each byte is written, both
 * are equal.
 */
static void fpdu_any_room_all_octets_written(struct kunit *test)
{
	const struct fpdu_row *row = test->param_value;
	u8 *one = room_alloc(test, 0x00), *other = room_alloc(test, 0xff);

	/* Act */
	fpdu_make(row, true, one);
	fpdu_make(row, true, other);

	/* Assert */
	KUNIT_EXPECT_EQ(test, memcmp(one, other, IW_MPA_FPDU_MAX), 0);
	KUNIT_EXPECT_NULL(test, memchr_inv(one + row->len, 0, IW_MPA_FPDU_MAX - row->len));
	expect_guarded(test, one, 0x00);
	expect_guarded(test, other, 0xff);
}

/* For the ULPDU_Length of an FPDU that iw_mpa makes, iw_mpa_fpdu_size() returns the FPDU's size. */
static void fpdu_size_own_fpdus_agrees(struct kunit *test)
{
	const struct fpdu_row *row = test->param_value;

	KUNIT_EXPECT_EQ(test, iw_mpa_fpdu_size(get_unaligned_be16(row->octets)), row->len);
}

/* iw_mpa_fpdu_rtr() makes a message only for exactly one RTR type, not for none or several. */
static void fpdu_rtr_not_one_type_refused(struct kunit *test)
{
	u8 *fpdu = room_alloc(test, 0xa5);
	unsigned int rtr;

	for (rtr = 0; rtr <= U8_MAX; rtr++) {
		bool one = rtr == IW_MPA_RTR_SEND || rtr == IW_MPA_RTR_WRITE ||
			   rtr == IW_MPA_RTR_READ;

		KUNIT_EXPECT_EQ_MSG(test, iw_mpa_fpdu_rtr(rtr, true, fpdu) != 0, one,
				    "set 0x%02x", rtr);
	}
	expect_guarded(test, fpdu, 0xa5);
}

static const struct size_row {
	const char	*desc;
	u16		ulpdu_len;
	u32		size;
} size_rows[] = {
	{ "rfc5044_4_1_ulpdu_0_pad_2", 0, 8 },
	{ "rfc5044_4_1_ulpdu_1_pad_1", 1, 8 },
	{ "rfc5044_4_1_ulpdu_2_no_pad", 2, 8 },
	{ "rfc5044_4_1_ulpdu_3_pad_3", 3, 12 },
	{ "rfc5044_4_1_ulpdu_14_write", 14, 20 },
	{ "rfc5044_4_1_ulpdu_18_send", 18, 24 },
	{ "rfc5044_4_1_ulpdu_22_term", 22, 28 },
	{ "rfc5044_4_4_ulpdu_42_figure_5", 42, 48 },
	{ "rfc5044_4_1_ulpdu_46_read", 46, 52 },
	{ "rfc5044_4_1_ulpdu_65534_no_pad", 65534, 65540 },
	{ "rfc5044_4_1_ulpdu_65535_pad_3", 65535, 65544 },
};

KUNIT_ARRAY_PARAM_DESC(size, size_rows, desc);

static void fpdu_size_any_length_padded(struct kunit *test)
{
	const struct size_row *row = test->param_value;

	KUNIT_EXPECT_EQ(test, iw_mpa_fpdu_size(row->ulpdu_len), row->size);
}

static struct kunit_case fpdu_cases[] = {
	KUNIT_CASE(slow_crc32c_rfc5044_figure_5_matches),
	KUNIT_CASE_PARAM(fpdu_with_crc_octets_exact, fpdu_gen_params),
	KUNIT_CASE_PARAM(fpdu_without_crc_field_is_zero, fpdu_gen_params),
	KUNIT_CASE_PARAM(fpdu_any_room_all_octets_written, fpdu_gen_params),
	KUNIT_CASE_PARAM(fpdu_size_own_fpdus_agrees, fpdu_gen_params),
	KUNIT_CASE(fpdu_rtr_not_one_type_refused),
	KUNIT_CASE_PARAM(fpdu_size_any_length_padded, size_gen_params),
	{}
};

static struct kunit_suite fpdu_suite = {
	.name = "iw_mpa_fpdu",
	.test_cases = fpdu_cases,
};

kunit_test_suite(fpdu_suite);

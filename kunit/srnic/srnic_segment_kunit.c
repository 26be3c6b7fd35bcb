// SPDX-License-Identifier: GPL-2.0
/* Tests of MULPDU, of lengths of DDP segments, and of Markers: RFC 5044 4.3, 4.5. */

#include <kunit/test.h>
#include <linux/string.h>

#include "wire.h"

static const struct mulpdu_row {
	const char	*desc;
	u32		emss;
	bool		markers;
	u16		mulpdu;
} mulpdu_rows[] = {
	{ "F-4.5-1_1448", 1448, false, 1442 },
	{ "F-4.5-1_1447", 1447, false, 1438 },
	{ "F-4.5-1_1460", 1460, false, 1454 },
	{ "F-4.5-2_1448", 1448, true, 1430 },
	{ "F-4.5-2_8948", 8948, true, 8870 },
	{ "F-4.5-2_512_one_marker", 512, true, 502 },
	{ "F-4.5-2_513_two_markers", 513, true, 498 },
	{ "F-4.5-3_100", 100, false, 128 },
	{ "F-4.5-3_0", 0, false, 128 },
	{ "F-4.5-3_0_markers", 0, true, 128 },
	{ "F-4.5-3_133", 133, false, 128 },
	{ "F-4.5-3_134", 134, false, 128 },
	{ "F-4.5-3_136", 136, false, 130 },
	{ "F-3-2_65483", 65483, false, 64768 },
	{ "F-3-2_64774", 64774, false, 64766 },
	{ "F-3-2_64776", 64776, false, 64768 },
	{ "F-3-2_largest", U32_MAX, true, 64768 },
};

KUNIT_ARRAY_PARAM_DESC(mulpdu, mulpdu_rows, desc);

static void mulpdu_follows_emss(struct kunit *test)
{
	const struct mulpdu_row *row = test->param_value;

	KUNIT_EXPECT_EQ(test, srnic_mulpdu(row->emss, row->markers), row->mulpdu);
}

/* A message of 2048 bytes at MULPDU 1500 has two segments, with MO 0 and 1482. */
/* Rules: D-4.3-4: 1482 bytes, then 566, so that the second MO is 1482 */
static void segment_len_2048_two_segments(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, srnic_segment_len(2048, 1500, 18), 1482);
	KUNIT_EXPECT_EQ(test, srnic_segment_len(2048 - 1482, 1500, 18), 566);
	KUNIT_EXPECT_EQ(test, srnic_segment_len(0, 1500, 14), 0);
	KUNIT_EXPECT_EQ(test, srnic_segment_len(U32_MAX, 64768, 14), 64754);
}

/* Count the Markers in @len bytes from position @pos on, position by position (RFC 5044 4.3) */
static u32 slow_marker_count(u32 pos, u32 len)
{
	u32 count = 0;

	while (len) {
		if (pos % 512 == 0) {
			count++;
			pos += 4;
		}
		pos++;
		len--;
	}
	return count;
}

static void marker_count_any_position_as_octet_by_octet(struct kunit *test)
{
	static const u32 lens[] = {
		1, 4, 20, 28, 504, 507, 508, 509, 512, 1016, 1017, 1448, 4096, 64774, 65540
	};
	u32 pos;
	int i;

	for (i = 0; i < ARRAY_SIZE(lens); i++)
		for (pos = 0; pos < 1024; pos += 4)
			KUNIT_ASSERT_EQ(test, srnic_marker_count(pos, lens[i]),
					slow_marker_count(pos, lens[i]));
}

/* The position in the stream may wrap at 2^32. */
/* Rules: F-4.3-3: gaps and counts around position 2^32 */
static void marker_count_at_wrap_goes_on(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, srnic_marker_gap(U32_MAX - 3), 4);
	KUNIT_EXPECT_EQ(test, srnic_marker_count(U32_MAX - 3, 4), 0);
	KUNIT_EXPECT_EQ(test, srnic_marker_count(U32_MAX - 3, 8), 1);
	KUNIT_EXPECT_EQ(test, srnic_marker_gap(0), 0);
	KUNIT_EXPECT_EQ(test, srnic_marker_gap(1), 511);
	KUNIT_EXPECT_EQ(test, srnic_marker_gap(512), 0);
}

static const struct marker_row {
	const char	*desc;
	u32		fpdu_pos;
	u32		marker_pos;
	u8		octets[4];
} marker_rows[] = {
	{ "F-4.3-2_at_seqstart_zero", 4, 0, { 0, 0, 0, 0 } },
	{ "F-4.3-5_between_fpdus_zero", 1028, 1024, { 0, 0, 0, 0 } },
	{ "F-4.3-3_first_inside", 4, 512, { 0, 0, 0x01, 0xfc } },
	{ "F-4.3-3_second_inside", 4, 1024, { 0, 0, 0x03, 0xfc } },
	{ "F-4.3-4_small_fpdu", 508, 512, { 0, 0, 0, 4 } },
	{ "F-4.3-3_wrap", U32_MAX - 7, 0, { 0, 0, 0, 8 } },
	{ "F-4.3-3_farthest", 4, 65024, { 0, 0, 0xfd, 0xfc } },
};

KUNIT_ARRAY_PARAM_DESC(marker, marker_rows, desc);

static void marker_put_points_to_fpdu(struct kunit *test)
{
	const struct marker_row *row = test->param_value;
	u8 marker[6] = { 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa };

	srnic_marker_put(marker + 1, row->fpdu_pos, row->marker_pos);
	KUNIT_EXPECT_EQ(test, memcmp(marker + 1, row->octets, 4), 0);
	KUNIT_EXPECT_EQ(test, marker[0], 0xaa);
	KUNIT_EXPECT_EQ(test, marker[5], 0xaa);
}

/* srnic_marker_is_good() ignores the reserved bits of a Marker, and checks all others */
/* Rules: F-4.2-1 F-4.2-2: a flipped bit is ignored if it is reserved, and is found if it is not */
static void marker_is_good_each_bit_flipped_judged(struct kunit *test)
{
	const struct marker_row *row = test->param_value;
	int bit;

	KUNIT_EXPECT_TRUE(test, srnic_marker_is_good(row->octets, row->fpdu_pos,
						     row->marker_pos));
	for (bit = 0; bit < 32; bit++) {
		u8 marker[4];
		bool reserved = bit < 16 || bit == 24 || bit == 25;

		memcpy(marker, row->octets, 4);
		marker[bit / 8] ^= 1 << bit % 8;
		KUNIT_EXPECT_EQ(test, srnic_marker_is_good(marker, row->fpdu_pos,
							   row->marker_pos), reserved);
	}
}

static struct kunit_case segment_cases[] = {
	KUNIT_CASE_PARAM(mulpdu_follows_emss, mulpdu_gen_params),
	KUNIT_CASE(segment_len_2048_two_segments),
	KUNIT_CASE(marker_count_any_position_as_octet_by_octet),
	KUNIT_CASE(marker_count_at_wrap_goes_on),
	KUNIT_CASE_PARAM(marker_put_points_to_fpdu, marker_gen_params),
	KUNIT_CASE_PARAM(marker_is_good_each_bit_flipped_judged, marker_gen_params),
	{}
};

static struct kunit_suite segment_suite = {
	.name = "srnic_segment",
	.test_cases = segment_cases,
};

kunit_test_suite(segment_suite);

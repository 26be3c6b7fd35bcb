// SPDX-License-Identifier: GPL-2.0
/*
 * Encoding and decoding of MPA startup frames. Layout and rules: RFC 5044 7.1.1, RFC 6581 6 and 9.
 */

#include <kunit/test.h>
#include <linux/errno.h>
#include <linux/prandom.h>
#include <linux/string.h>
#include <linux/unaligned.h>
#include <rdma/iw_mpa_proto.h>

#include "frame.h"
#include "raw_frame.h"

#define GUARD		32	/* guard bytes on each side of a buffer */
#define SEED		6581

static void expect_frame(struct kunit *test, const struct iw_mpa_frame *got,
			 const struct iw_mpa_frame *want)
{
	KUNIT_EXPECT_EQ(test, got->pd_len, want->pd_len);
	KUNIT_EXPECT_EQ(test, got->ird, want->ird);
	KUNIT_EXPECT_EQ(test, got->ord, want->ord);
	KUNIT_EXPECT_EQ(test, got->rev, want->rev);
	KUNIT_EXPECT_EQ(test, got->rtr, want->rtr);
	KUNIT_EXPECT_EQ(test, got->reply, want->reply);
	KUNIT_EXPECT_EQ(test, got->markers, want->markers);
	KUNIT_EXPECT_EQ(test, got->crc, want->crc);
	KUNIT_EXPECT_EQ(test, got->reject, want->reject);
	KUNIT_EXPECT_EQ(test, got->enhanced, want->enhanced);
	KUNIT_EXPECT_EQ(test, got->p2p, want->p2p);
	KUNIT_EXPECT_EQ(test, got->large_fpdu, want->large_fpdu);
}

/*
 * Rules: E-6-1 E-6-2 E-6-4 E-9-1 E-9.2-13 E-10-4 M-7.1.1-9 M-7.1.1-10 M-7.1.1-12 M-7.1.1-16: each
 * field that is decoded from a frame of given bytes
 */
static void frame_decode_good_fields_read(struct kunit *test)
{
	const struct good_row *row = test->param_value;
	size_t len = raw_len(&row->raw), i;
	size_t off = len - row->want.pd_len;
	struct iw_mpa_frame got;
	enum iw_mpa_reason reason;
	u8 *buf;

	/* Arrange */
	buf = raw_alloc(test, &row->raw);
	memset(&got, 0xff, sizeof(got));

	/* Act */
	reason = iw_mpa_frame_decode(buf, len, row->want.reply, &got);

	/* Assert */
	KUNIT_ASSERT_EQ(test, reason, IW_MPA_R_OK);
	expect_frame(test, &got, &row->want);
	if (!row->want.pd_len) {
		KUNIT_EXPECT_NULL(test, got.pd);
		return;
	}
	KUNIT_ASSERT_PTR_EQ(test, got.pd, (const u8 *)buf + off);
	for (i = row->want.enhanced ? 0 : 4; i < got.pd_len; i++)
		KUNIT_ASSERT_EQ(test, got.pd[i], raw_pd(off - IW_MPA_HDR_SIZE + i));
}

/* iw_mpa_frame_decode_head() reads the header alone: fields that are not in the header are 0. */
static void frame_decode_head_fields_read(struct kunit *test)
{
	const struct good_row *row = test->param_value;
	struct iw_mpa_frame want = row->want, got;
	u8 *buf = raw_alloc(test, &row->raw);
	u8 *head = kunit_kmalloc(test, IW_MPA_HDR_SIZE, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, head);
	memcpy(head, buf, IW_MPA_HDR_SIZE);
	memset(&got, 0xff, sizeof(got));

	iw_mpa_frame_decode_head(head, want.reply, &got);

	want.p2p = false;
	want.rtr = 0;
	want.ird = 0;
	want.ord = 0;
	want.pd_len = 0;
	expect_frame(test, &got, &want);
	KUNIT_EXPECT_NULL(test, got.pd);
}

/* Rules: E-6-4 E-7-4 M-7.1.1-2 M-7.1.1-4 M-7.1.1-12 M-7.1.1-15 M-7.1.2-14: the reason */
static void frame_decode_malformed_reason_named(struct kunit *test)
{
	const struct bad_row *row = test->param_value;
	struct iw_mpa_frame got, none = {};
	enum iw_mpa_reason reason;
	u8 *buf;

	/* Arrange */
	buf = raw_alloc(test, &row->raw);
	memset(&got, 0xff, sizeof(got));

	/* Act */
	reason = iw_mpa_frame_decode(buf, raw_len(&row->raw), row->reply, &got);

	/* Assert: the reason, and neither fields nor private data */
	KUNIT_EXPECT_EQ(test, reason, row->reason);
	KUNIT_EXPECT_NULL(test, got.pd);
	expect_frame(test, &got, &none);
}

/* Wrong lengths that can be detected only when the whole frame is in the buffer */

static const struct bad_row length_rows[] = {
	{ "M-7.1.1-15_pd_length_above", { REQ, 0, 1, 4, 3 }, false, IW_MPA_R_BAD_PD_LENGTH },
	{ "M-7.1.1-15_pd_length_below", { REQ, 0, 1, 4, 5 }, false, IW_MPA_R_BAD_PD_LENGTH },
	{ "M-7.1.1-15_pd_missing", { REP, 0, 1, 512, 0 }, true, IW_MPA_R_BAD_PD_LENGTH },
	{ "M-7.1.1-15_pd_surplus", { REP, 0, 1, 0, 1 }, true, IW_MPA_R_BAD_PD_LENGTH },
	{ "M-7.1.1-15_pd_surplus_65535", { REQ, 0, 1, 0, 0xffff }, false,
	  IW_MPA_R_BAD_PD_LENGTH },
	{ "M-7.1.2-16_s_cut_within_depths", { REQ, 0x10, 2, 4, 2 }, false, IW_MPA_R_BAD_PD_LENGTH },
};

KUNIT_ARRAY_PARAM_DESC(length, length_rows, desc);

/* Rules: M-7.1.1-15 M-7.1.2-16: the reason, for each length */
static void frame_decode_wrong_length_reason_named(struct kunit *test)
{
	frame_decode_malformed_reason_named(test);
}

/*
 * A frame that is cut within its header. The buffer ends at the cut, so that KASAN detects a read
 * after it.
 */
/* Rules: M-7.1.2-16: the reason, for each length */
static void frame_decode_short_of_header_truncated(struct kunit *test)
{
	const struct raw raw = { REQ, 0, 1, 0, 0 };
	struct iw_mpa_frame got;
	size_t len;
	u8 *whole, *buf;

	whole = raw_alloc(test, &raw);
	for (len = 1; len < IW_MPA_HDR_SIZE; len++) {
		/* Arrange */
		buf = kunit_kmalloc(test, len, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, buf);
		memcpy(buf, whole, len);

		/* Act, Assert */
		KUNIT_EXPECT_EQ(test, iw_mpa_frame_decode(buf, len, false, &got),
				IW_MPA_R_TRUNCATED);
	}
	KUNIT_EXPECT_EQ(test, iw_mpa_frame_decode(whole, 0, false, &got), IW_MPA_R_TRUNCATED);
}

/* Encoding, byte by byte */

static const u8 vec_request[] = {
	0x4d, 0x50, 0x41, 0x20, 0x49, 0x44, 0x20, 0x52,
	0x65, 0x71, 0x20, 0x46, 0x72, 0x61, 0x6d, 0x65,
	0xd0, 0x02, 0x00, 0x07,		/* M, C, S; revision 2; 7 bytes */
	0x80, 0x05, 0xc0, 0x09,		/* A, IRD 5; C, D, ORD 9 */
	'a', 'b', 'c',
};

static const u8 vec_reply[] = {
	0x4d, 0x50, 0x41, 0x20, 0x49, 0x44, 0x20, 0x52,
	0x65, 0x70, 0x20, 0x46, 0x72, 0x61, 0x6d, 0x65,
	0x30, 0x02, 0x00, 0x04,		/* R, S; revision 2; 4 bytes */
	0xff, 0xff, 0x3f, 0xfe,		/* A, B, IRD 0x3fff; ORD 0x3ffe */
};

static const u8 vec_request_v1[] = {
	0x4d, 0x50, 0x41, 0x20, 0x49, 0x44, 0x20, 0x52,
	0x65, 0x71, 0x20, 0x46, 0x72, 0x61, 0x6d, 0x65,
	0x00, 0x01, 0x00, 0x00,
};

static const u8 vec_reply_depth[] = {
	0x4d, 0x50, 0x41, 0x20, 0x49, 0x44, 0x20, 0x52,
	0x65, 0x70, 0x20, 0x46, 0x72, 0x61, 0x6d, 0x65,
	0x50, 0x02, 0x00, 0x04,
	0x3f, 0xff, 0x12, 0x34,
};

static const u8 vec_request_large[] = {
	0x4d, 0x50, 0x41, 0x20, 0x49, 0x44, 0x20, 0x52,
	0x65, 0x71, 0x20, 0x46, 0x72, 0x61, 0x6d, 0x65,
	0x08, 0x01, 0x00, 0x00,
};

static const u8 vec_reply_large[] = {
	0x4d, 0x50, 0x41, 0x20, 0x49, 0x44, 0x20, 0x52,
	0x65, 0x70, 0x20, 0x46, 0x72, 0x61, 0x6d, 0x65,
	0x44, 0x01, 0x00, 0x00,
};

static const struct vec_row {
	const char		*desc;
	struct iw_mpa_frame	frame;
	const u8		*octets;
	size_t			len;
} vec_rows[] = {
	{ "E-9-1_M-7.1.1-1_request",
	  ENH(.markers = true, .crc = true, .p2p = true, .ird = 5, .ord = 9, .pd = "abc",
	      .rtr = IW_MPA_RTR_WRITE | IW_MPA_RTR_READ, .pd_len = 3),
	  vec_request, sizeof(vec_request) },
	{ "E-9-1_M-7.1.1-3_reply",
	  ENH(.reply = true, .reject = true, .p2p = true, .rtr = IW_MPA_RTR_SEND, .ird = 0x3fff,
	      .ord = 0x3ffe),
	  vec_reply, sizeof(vec_reply) },
	{ "M-7.1.1-9_request_v1_without_r", V1(.reject = true), vec_request_v1,
	  sizeof(vec_request_v1) },
	{ "E-6-2_request_v1_without_depths",
	  V1(.p2p = true, .rtr = IW_MPA_RTR_ALL, .ird = 1, .ord = 1), vec_request_v1,
	  sizeof(vec_request_v1) },
	{ "E-9.2-12_without_a_no_bcd",
	  ENH(.reply = true, .crc = true, .rtr = IW_MPA_RTR_ALL, .ird = 0x3fff, .ord = 0x1234),
	  vec_reply_depth, sizeof(vec_reply_depth) },
	{ "E-9-1_depths_do_not_spill",
	  ENH(.reply = true, .crc = true, .ird = 0xffff, .ord = 0xd234),
	  vec_reply_depth, sizeof(vec_reply_depth) },
	{ "large_request", V1(.large_fpdu = true), vec_request_large, sizeof(vec_request_large) },
	{ "large_reply", V1(.reply = true, .crc = true, .large_fpdu = true), vec_reply_large,
	  sizeof(vec_reply_large) },
};

KUNIT_ARRAY_PARAM_DESC(vec, vec_rows, desc);

/*
 * Rules: E-6-1 E-6-2 E-9-1 E-9.2-12 M-7.1.1-1 M-7.1.1-3 M-7.1.1-9 M-7.1.1-10 M-7.1.1-14: each byte
 * of an encoded frame
 */
static void frame_encode_good_octets_exact(struct kunit *test)
{
	const struct vec_row *row = test->param_value;
	u8 *buf;
	int len;

	/* Arrange: a buffer of the exact size of the frame */
	buf = kunit_kmalloc(test, row->len, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, buf);
	memset(buf, 0xa5, row->len);

	/* Act */
	len = iw_mpa_frame_encode(&row->frame, buf, row->len);

	/* Assert */
	KUNIT_ASSERT_EQ(test, len, (int)row->len);
	KUNIT_EXPECT_EQ(test, memcmp(buf, row->octets, row->len), 0);
}

struct refuse_row {
	const char		*desc;
	struct iw_mpa_frame	frame;
	size_t			size;
	int			err;
};

#define ROOM	(2 * IW_MPA_FRAME_MAX)

static const struct refuse_row refuse_rows[] = {
	{ "M-7.1.1-16_pd_513", V1(.pd_len = 513), ROOM, -EMSGSIZE },
	{ "M-7.1.1-16_pd_65535", V1(.pd_len = 0xffff), ROOM, -EMSGSIZE },
	{ "E-7-4_ulp_pd_509", ENH(.pd_len = 509), ROOM, -EMSGSIZE },
	{ "E-7-4_ulp_pd_65532", ENH(.pd_len = 0xfffc), ROOM, -EMSGSIZE },
	{ "E-6-2_enhanced_in_v1", V1(.enhanced = true), ROOM, -EINVAL },
	{ "E-6-2_enhanced_in_v0", { .enhanced = true }, ROOM, -EINVAL },
	{ "no_room_at_all", V1(), 0, -ENOSPC },
	{ "no_room_for_header", V1(), 19, -ENOSPC },
	{ "no_room_for_depths", ENH(), 23, -ENOSPC },
	{ "no_room_for_pd", ENH(.pd_len = 9), 32, -ENOSPC },
	{ "no_room_for_longest", V1(.pd_len = 512), 531, -ENOSPC },
};

KUNIT_ARRAY_PARAM_DESC(refuse, refuse_rows, desc);

/* Rules: E-6-2 E-7-4 M-7.1.1-16: the errno, and an unchanged buffer */
static void frame_encode_impossible_nothing_written(struct kunit *test)
{
	const struct refuse_row *row = test->param_value;
	struct iw_mpa_frame frame = row->frame;
	u8 *buf;
	int err;

	/* Arrange */
	frame.pd = kunit_kzalloc(test, frame.pd_len + 1, GFP_KERNEL);
	buf = kunit_kmalloc(test, ROOM, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, frame.pd);
	KUNIT_ASSERT_NOT_NULL(test, buf);
	memset(buf, 0xa5, ROOM);

	/* Act */
	err = iw_mpa_frame_encode(&frame, buf, row->size);

	/* Assert */
	KUNIT_EXPECT_EQ(test, err, row->err);
	KUNIT_EXPECT_NULL(test, memchr_inv(buf, 0xa5, ROOM));
}

/* Properties */

/* Make a random valid frame. @pd has IW_MPA_PD_MAX bytes, the most private data of a frame. */
static void random_frame(struct rnd_state *rnd, const u8 *pd, struct iw_mpa_frame *frame)
{
	u32 bits = prandom_u32_state(rnd);

	memset(frame, 0, sizeof(*frame));
	frame->rev = bits & BIT(0) ? 1 : 2;
	frame->reply = bits & BIT(1);
	frame->markers = bits & BIT(2);
	frame->crc = bits & BIT(3);
	frame->reject = frame->reply && (bits & BIT(4));
	frame->large_fpdu = bits & BIT(16);
	frame->enhanced = frame->rev == 2 && (bits & BIT(5));
	if (frame->enhanced) {
		frame->ird = prandom_u32_state(rnd) & 0x3fff;
		frame->ord = prandom_u32_state(rnd) & 0x3fff;
		frame->p2p = bits & BIT(6);
		frame->rtr = frame->p2p ? (bits >> 8) & IW_MPA_RTR_ALL : 0;
	}
	frame->pd_len = prandom_u32_state(rnd) % (frame->enhanced ? 509 : 513);
	if (bits & BIT(7))
		frame->pd_len %= 8;
	frame->pd = frame->pd_len ? pd : NULL;
}

static bool frame_is_same(const struct iw_mpa_frame *a, const struct iw_mpa_frame *b)
{
	return a->pd_len == b->pd_len && a->ird == b->ird && a->ord == b->ord &&
	       a->rev == b->rev && a->rtr == b->rtr && a->reply == b->reply &&
	       a->markers == b->markers && a->crc == b->crc && a->reject == b->reject &&
	       a->enhanced == b->enhanced && a->p2p == b->p2p && a->large_fpdu == b->large_fpdu;
}

#define HOLDS(cond)	KUNIT_ASSERT_TRUE_MSG(test, cond, "seed %u, round %d", SEED, round)

/* Rules: M-7.1.1-14: each field, and up to 512 bytes of private data, encoded and decoded again */
static void frame_encode_random_decodes_to_same(struct kunit *test)
{
	u8 *room[2], *pd;
	struct iw_mpa_frame frame, got;
	struct rnd_state rnd;
	int round, i, len[2];

	prandom_seed_state(&rnd, SEED);
	pd = kunit_kmalloc(test, IW_MPA_PD_MAX, GFP_KERNEL);
	room[0] = kunit_kmalloc(test, IW_MPA_FRAME_MAX + 2 * GUARD, GFP_KERNEL);
	room[1] = kunit_kmalloc(test, IW_MPA_FRAME_MAX + 2 * GUARD, GFP_KERNEL);
	KUNIT_ASSERT_TRUE(test, pd && room[0] && room[1]);
	prandom_bytes_state(&rnd, pd, IW_MPA_PD_MAX);

	for (round = 0; round < 5000; round++) {
		/* Arrange: two buffers with different old contents */
		random_frame(&rnd, pd, &frame);
		memset(room[0], 0x5a, IW_MPA_FRAME_MAX + 2 * GUARD);
		memset(room[1], 0xa5, IW_MPA_FRAME_MAX + 2 * GUARD);

		/* Act */
		for (i = 0; i < 2; i++)
			len[i] = iw_mpa_frame_encode(&frame, room[i] + GUARD, IW_MPA_FRAME_MAX);

		/*
		 * Assert: both buffers have the same frame, though their old contents differ, so
		 * each byte of it was written; no byte beyond it was written; and it decodes to the
		 * frame that was encoded
		 */
		HOLDS(len[0] == IW_MPA_HDR_SIZE + (frame.enhanced ? 4 : 0) + frame.pd_len);
		HOLDS(len[0] == len[1]);
		HOLDS(!memcmp(room[0] + GUARD, room[1] + GUARD, len[0]));
		HOLDS(!memchr_inv(room[0], 0x5a, GUARD));
		HOLDS(!memchr_inv(room[0] + GUARD + len[0], 0x5a,
				  IW_MPA_FRAME_MAX - len[0] + GUARD));
		HOLDS(iw_mpa_frame_decode(room[0] + GUARD, len[0], frame.reply, &got) ==
		      IW_MPA_R_OK);
		HOLDS(frame_is_same(&got, &frame));
		HOLDS(!got.pd == !frame.pd_len);
		HOLDS(!frame.pd_len || !memcmp(got.pd, pd, frame.pd_len));
	}
}

#undef HOLDS

/*
 * Expected result of iw_mpa_frame_decode() for a valid frame with one bit inverted, in byte @octet
 */
static enum iw_mpa_reason flip_reason(const u8 *flipped, size_t octet)
{
	u16 pd_length = get_unaligned_be16(flipped + 18);
	u8 rev = flipped[17];

	if (octet == KEY_ROLE_AT && (flipped[octet] == 'p' || flipped[octet] == 'q'))
		return IW_MPA_R_SAME_ROLE;
	if (octet < IW_MPA_KEY_SIZE)
		return IW_MPA_R_BAD_KEY;
	if (rev != 1 && rev != 2)
		return IW_MPA_R_BAD_REV;
	if (pd_length > 512)
		return IW_MPA_R_BAD_PD_LENGTH;
	if (rev == 2 && (flipped[16] & 0x10) && pd_length < 4)
		return IW_MPA_R_SHORT_ENHANCED;
	return octet == 18 || octet == 19 ? IW_MPA_R_BAD_PD_LENGTH : IW_MPA_R_OK;
}

static void frame_decode_any_bit_inverted_named_or_good(struct kunit *test)
{
	const struct good_row *row = test->param_value;
	size_t len = raw_len(&row->raw), bit;
	struct iw_mpa_frame got;
	u8 *buf;

	/* Arrange */
	buf = raw_alloc(test, &row->raw);

	for (bit = 0; bit < 8 * len; bit++) {
		/* Act, Assert */
		buf[bit / 8] ^= BIT(bit % 8);
		KUNIT_EXPECT_EQ_MSG(test,
				    iw_mpa_frame_decode(buf, len, row->want.reply, &got),
				    flip_reason(buf, bit / 8), "bit %zu of octet %zu", bit % 8,
				    bit / 8);
		buf[bit / 8] ^= BIT(bit % 8);
	}
}

static struct kunit_case frame_cases[] = {
	KUNIT_CASE_PARAM(frame_decode_good_fields_read, good_gen_params),
	KUNIT_CASE_PARAM(frame_decode_head_fields_read, good_gen_params),
	KUNIT_CASE_PARAM(frame_decode_malformed_reason_named, bad_gen_params),
	KUNIT_CASE_PARAM(frame_decode_wrong_length_reason_named, length_gen_params),
	KUNIT_CASE(frame_decode_short_of_header_truncated),
	KUNIT_CASE_PARAM(frame_decode_any_bit_inverted_named_or_good, good_gen_params),
	KUNIT_CASE_PARAM(frame_encode_good_octets_exact, vec_gen_params),
	KUNIT_CASE_PARAM(frame_encode_impossible_nothing_written, refuse_gen_params),
	KUNIT_CASE(frame_encode_random_decodes_to_same),
	{}
};

static struct kunit_suite frame_suite = {
	.name = "iw_mpa_frame",
	.test_cases = frame_cases,
};

kunit_test_suite(frame_suite);

// SPDX-License-Identifier: GPL-2.0
/*
 * The reader of iw_mpa_proto.h, which collects a startup frame from a stream (RFC 5044 7.1.1):
 * however TCP splits a frame, the result is the same, and bytes after the frame are left for the
 * RNIC.
 */

#include <kunit/test.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/prandom.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <rdma/iw_mpa_proto.h>

#include "raw_frame.h"
#include "reason.h"

#define SEED	6581

/*
 * Pass @len bytes of a stream to a reader: in each call at most @chunk, or with @cuts a random
 * number up to @chunk, but never more than the reader asks for. Return the last result of the
 * reader; @used is set to the number of bytes that the reader has taken.
 */
static enum iw_mpa_reason feed_cut(struct kunit *test, struct iw_mpa_reader *rd, bool reply,
				   const u8 *stream, size_t len, size_t chunk,
				   struct rnd_state *cuts, size_t *used)
{
	enum iw_mpa_reason reason = IW_MPA_R_OK;
	size_t n;

	iw_mpa_reader_init(rd, reply, rd->buf);
	*used = 0;
	while (!reason && rd->need && *used < len) {
		n = cuts ? 1 + prandom_u32_state(cuts) % chunk : chunk;
		n = min3((size_t)rd->need, n, len - *used);
		KUNIT_ASSERT_LE(test, rd->have + n, IW_MPA_FRAME_MAX);
		KUNIT_ASSERT_EQ(test, iw_mpa_reader_feed(rd, stream + *used, n, &reason), n);
		*used += n;
	}
	return reason;
}

static enum iw_mpa_reason feed(struct kunit *test, struct iw_mpa_reader *rd, bool reply,
			       const u8 *stream, size_t len, size_t chunk, size_t *used)
{
	return feed_cut(test, rd, reply, stream, len, chunk, NULL, used);
}

static struct iw_mpa_reader *reader_alloc(struct kunit *test)
{
	struct iw_mpa_reader *rd = kunit_kzalloc(test, sizeof(*rd), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, rd);
	rd->buf = kunit_kzalloc(test, IW_MPA_FRAME_MAX, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, rd->buf);
	return rd;
}

/* Each valid frame is passed to the reader in chunks of every size, up to the whole frame. */
/* Rules: M-7.1.2-16: each byte of the frame, for each cut */
static void reader_feed_good_any_chunk_taken_whole(struct kunit *test)
{
	const struct good_row *row = test->param_value;
	size_t len = raw_len(&row->raw), chunk, used;
	struct iw_mpa_reader *rd;
	u8 *buf;

	/* Arrange */
	rd = reader_alloc(test);
	buf = raw_alloc(test, &row->raw);

	for (chunk = 1; chunk <= len; chunk++) {
		/* Act */
		enum iw_mpa_reason reason = feed(test, rd, row->want.reply, buf, len, chunk, &used);

		/* Assert */
		KUNIT_ASSERT_EQ(test, reason, IW_MPA_R_OK);
		KUNIT_ASSERT_EQ(test, rd->need, 0);
		KUNIT_ASSERT_EQ(test, used, len);
		KUNIT_ASSERT_EQ(test, rd->have, len);
		KUNIT_ASSERT_EQ(test, memcmp(rd->buf, buf, len), 0);
	}
}

/*
 * Rules: E-6-4 E-7-4 M-7.1.1-2 M-7.1.1-4 M-7.1.1-12 M-7.1.1-15 M-7.1.2-14: the reason of the
 * failure, at whatever byte the stream is cut
 */
static void reader_feed_malformed_any_chunk_same_reason(struct kunit *test)
{
	const struct bad_row *row = test->param_value;
	struct iw_mpa_reader *rd;
	size_t chunk, used;
	u8 *buf;

	/* Arrange */
	rd = reader_alloc(test);
	buf = raw_alloc(test, &row->raw);

	for (chunk = 1; chunk <= IW_MPA_HDR_SIZE + 1; chunk++) {
		/* Act */
		enum iw_mpa_reason reason = feed(test, rd, row->reply, buf, raw_len(&row->raw),
						 chunk, &used);

		/*
		 * Assert: the reason is the same for each number of bytes per call, and no byte
		 * after the header is taken
		 */
		KUNIT_ASSERT_EQ_MSG(test, reason, row->reason, "chunks of %zu", chunk);
		KUNIT_EXPECT_LE(test, used, IW_MPA_HDR_SIZE);
	}
}

/* However TCP splits the other role's key with a wrong byte, the reader gives the same reason. */
/* Rules: M-7.1.2-14: the reason, for each cut */
static void reader_feed_other_role_garbled_any_chunk_same_reason(struct kunit *test)
{
	const struct raw raw = { REP, 0, 1, 0, 0 };
	enum iw_mpa_reason whole, split;
	struct iw_mpa_reader *rd;
	size_t i, chunk, used;
	u8 *buf;

	rd = reader_alloc(test);
	for (i = KEY_ROLE_AT + 1; i < IW_MPA_KEY_SIZE; i++) {
		/* Arrange */
		buf = raw_alloc(test, &raw);
		buf[i] ^= 0x20;

		/* Act */
		whole = feed(test, rd, false, buf, raw_len(&raw), IW_MPA_HDR_SIZE, &used);
		for (chunk = 1; chunk < IW_MPA_HDR_SIZE; chunk++) {
			split = feed(test, rd, false, buf, raw_len(&raw), chunk, &used);

			/* Assert */
			KUNIT_ASSERT_EQ_MSG(test, split, whole, "octet %zu, chunks of %zu", i,
					    chunk);
		}
	}
}

/* The reader refuses garbage at the first byte that fits no key, not only after a whole key. */
/* Rules: M-7.1.2-11 M-8-2: the reason, at the first byte that is wrong */
static void reader_feed_garbage_known_at_once(struct kunit *test)
{
	const struct raw raw = { REQ, 0, 1, 0, 0 };
	struct iw_mpa_reader *rd;
	size_t i, used;
	u8 *buf;

	/* Arrange */
	rd = reader_alloc(test);
	buf = raw_alloc(test, &raw);

	for (i = 0; i < IW_MPA_KEY_SIZE; i++) {
		/* Act, Assert */
		buf[i] ^= 0x20;
		KUNIT_EXPECT_EQ(test, feed(test, rd, false, buf, raw_len(&raw), 1, &used),
				IW_MPA_R_BAD_KEY);
		KUNIT_EXPECT_EQ_MSG(test, used, i + 1, "octet %zu", i);
		buf[i] ^= 0x20;
	}
}

/*
 * A frame and an FPDU in one stream, as fast peers send them: the FPDU must be left for the RNIC.
 */
/* Rules: M-7.1-1 M-7.1.2-16: how many bytes the reader asks for */
static void reader_want_any_length_never_behind_frame(struct kunit *test)
{
	enum iw_mpa_reason reason;
	const size_t fpdu = 52;
	struct raw raw = { REP, 0, 1 };
	struct iw_mpa_reader *rd;
	struct rnd_state rnd;
	size_t len, used, n;
	u8 *stream;

	prandom_seed_state(&rnd, SEED);
	rd = reader_alloc(test);
	for (raw.pd_length = 0; raw.pd_length <= IW_MPA_PD_MAX; raw.pd_length++) {
		/* Arrange */
		raw.pd_octets = raw.pd_length + fpdu;
		len = IW_MPA_HDR_SIZE + raw.pd_length;
		stream = raw_alloc(test, &raw);

		/* Act: random chunks */
		iw_mpa_reader_init(rd, true, rd->buf);
		for (used = 0; rd->need; used += n) {
			/* Assert */
			KUNIT_ASSERT_LE_MSG(test, rd->need, len - used,
					    "seed %u, %u octets", SEED, raw.pd_length);
			n = 1 + prandom_u32_state(&rnd) % rd->need;
			KUNIT_ASSERT_EQ(test, iw_mpa_reader_feed(rd, stream + used, n, &reason), n);
			KUNIT_ASSERT_EQ_MSG(test, reason, IW_MPA_R_OK,
					    "seed %u, %u octets", SEED, raw.pd_length);
		}
		KUNIT_ASSERT_EQ(test, used, len);
		KUNIT_ASSERT_EQ(test, memcmp(rd->buf, stream, len), 0);
		kunit_kfree(test, stream);
	}
}

/* Invert any bit before PD_Length: the reader and iw_mpa_frame_decode() give the same reason. */
static void reader_feed_any_bit_inverted_agrees_with_decode(struct kunit *test)
{
	const struct good_row *row = test->param_value;
	size_t len = raw_len(&row->raw), octet, used;
	struct iw_mpa_reader *rd;
	struct iw_mpa_frame got;
	int bit;
	u8 *buf;

	/* Arrange */
	rd = reader_alloc(test);
	buf = raw_alloc(test, &row->raw);

	for (octet = 0; octet < 18; octet++) {
		for (bit = 0; bit < 8; bit++) {
			/* Act, Assert */
			buf[octet] ^= BIT(bit);
			KUNIT_EXPECT_EQ_MSG(test,
					    feed(test, rd, row->want.reply, buf, len, 1, &used),
					    iw_mpa_frame_decode(buf, len, row->want.reply, &got),
					    "bit %d of octet %zu", bit, octet);
			buf[octet] ^= BIT(bit);
		}
	}
}

/* Make a random header after a valid key; some have a bit inverted, some a valid PD_Length. */
static void random_header(struct rnd_state *rnd, bool reply, u8 *buf)
{
	u32 bit = prandom_u32_state(rnd) % (4 * 8 * IW_MPA_HDR_SIZE);

	prandom_bytes_state(rnd, buf, IW_MPA_FRAME_MAX);
	memcpy(buf, reply ? REP : REQ, IW_MPA_KEY_SIZE);
	buf[17] %= 4;
	buf[18] %= 3;
	if (bit & 1)
		buf[19] %= 8;
	if (bit < 8 * IW_MPA_HDR_SIZE)
		buf[bit / 8] ^= BIT(bit % 8);
}

#define HOLDS(cond)	KUNIT_ASSERT_TRUE_MSG(test, cond, "seed %u, round %d", SEED, round)

/* Whole or split, a random header gives the same reason, which iw_mpa_frame_decode() gives, too. */
static void reader_feed_random_header_any_split_same_result(struct kunit *test)
{
	unsigned int seen[IW_MPA_R_COUNT] = {};
	enum iw_mpa_reason whole, split;
	struct iw_mpa_reader *rd;
	struct iw_mpa_frame got;
	struct rnd_state rnd;
	size_t used, taken;
	int round, i;
	u8 *buf;

	prandom_seed_state(&rnd, SEED);
	rd = reader_alloc(test);
	buf = kunit_kzalloc(test, IW_MPA_FRAME_MAX, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, buf);

	for (round = 0; round < 5000; round++) {
		/* Arrange */
		bool reply = prandom_u32_state(&rnd) & 1;
		size_t chunk = 1 + prandom_u32_state(&rnd) % 40;

		random_header(&rnd, reply, buf);

		/* Act */
		whole = feed(test, rd, reply, buf, IW_MPA_FRAME_MAX, IW_MPA_FRAME_MAX, &used);
		split = feed_cut(test, rd, reply, buf, IW_MPA_FRAME_MAX, chunk, &rnd, &taken);

		/*
		 * Assert: if the reader gets the frame in pieces, it may find a bad key at an
		 * earlier byte; it finds any other result at the same byte as in the whole frame
		 */
		seen[whole]++;
		HOLDS(split == whole);
		HOLDS(memcmp(buf, reply ? REP : REQ, IW_MPA_KEY_SIZE) ? taken <= used :
									taken == used);
		HOLDS(iw_mpa_frame_decode(buf, used, reply, &got) == whole);
		HOLDS(used == IW_MPA_HDR_SIZE + (whole ? 0 : get_unaligned_be16(buf + 18)));
	}
	for (i = IW_MPA_R_OK; i <= IW_MPA_R_SHORT_ENHANCED; i++)
		KUNIT_EXPECT_GT_MSG(test, seen[i], 0, "%s", iw_mpa_reason_name(i));
}

#undef HOLDS

/* The caller begins with a buffer for the header, and gives a larger one for the private data. */
static void reader_buffer_replaced_frame_goes_on(struct kunit *test)
{
	u8 stream[IW_MPA_HDR_SIZE + 8] = REQ "\x40\x02\x00\x08lateroom";
	enum iw_mpa_reason reason;
	u8 small[IW_MPA_HDR_SIZE] __aligned(2);
	struct iw_mpa_reader rd;
	u8 *large;

	/* Arrange */
	large = kunit_kzalloc(test, sizeof(stream), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, large);
	iw_mpa_reader_init(&rd, false, small);

	/* Act: the header, then the private data into the larger buffer */
	KUNIT_ASSERT_EQ(test, rd.need, sizeof(small));
	KUNIT_ASSERT_EQ(test, iw_mpa_reader_feed(&rd, stream, sizeof(small), &reason),
			sizeof(small));
	KUNIT_ASSERT_EQ(test, reason, IW_MPA_R_OK);
	memcpy(large, rd.buf, rd.have);
	rd.buf = large;
	KUNIT_ASSERT_EQ(test, rd.have + rd.need, sizeof(stream));
	KUNIT_ASSERT_EQ(test, iw_mpa_reader_feed(&rd, stream + sizeof(small),
						 sizeof(stream) - sizeof(small), &reason),
			sizeof(stream) - sizeof(small));

	/* Assert */
	KUNIT_ASSERT_EQ(test, reason, IW_MPA_R_OK);
	KUNIT_EXPECT_EQ(test, rd.need, 0);
	KUNIT_EXPECT_EQ(test, memcmp(large, stream, sizeof(stream)), 0);
}

static struct kunit_case reader_cases[] = {
	KUNIT_CASE_PARAM(reader_feed_good_any_chunk_taken_whole, good_gen_params),
	KUNIT_CASE_PARAM(reader_feed_malformed_any_chunk_same_reason, bad_gen_params),
	KUNIT_CASE(reader_feed_other_role_garbled_any_chunk_same_reason),
	KUNIT_CASE(reader_feed_garbage_known_at_once),
	KUNIT_CASE_PARAM(reader_feed_any_bit_inverted_agrees_with_decode, good_gen_params),
	KUNIT_CASE(reader_feed_random_header_any_split_same_result),
	KUNIT_CASE(reader_want_any_length_never_behind_frame),
	KUNIT_CASE(reader_buffer_replaced_frame_goes_on),
	{}
};

static struct kunit_suite reader_suite = {
	.name = "iw_mpa_reader",
	.test_cases = reader_cases,
};

kunit_test_suite(reader_suite);

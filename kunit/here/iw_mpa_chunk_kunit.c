// SPDX-License-Identifier: GPL-2.0
/*
 * Encoding and decoding of chunks of DDP over SCTP. The expected bytes were written by hand from
 * RFC 5043 5.2 and RFC 6581 7 and 9. Names of rules: S-5.2.1-1 is the first rule of section 5.2.1
 * of RFC 5043, E-7-1 the first rule of section 7 of RFC 6581.
 */

#include <kunit/test.h>
#include <linux/errno.h>
#include <linux/prandom.h>
#include <linux/string.h>

#include "session.h"

#define SEED	5043

/* Well-formed control chunks, and each byte that they are encoded to */

struct vec_row {
	const char		*desc;
	enum iw_mpa_chunk_code	code;
	u16			ssn;
	struct iw_mpa_frame	frame;
	u8			bytes[20];
	size_t			len;
};

#define V1(...)		{ .rev = 1, __VA_ARGS__ }
#define V2(...)		{ .rev = 2, .enhanced = true, __VA_ARGS__ }
#define BYTES(...)	.bytes = { __VA_ARGS__ }, .len = sizeof((u8 []){ __VA_ARGS__ })

static const struct vec_row vec_rows[] = {
	{ "S-5.2.3-2_initiate", IW_MPA_CHUNK_INITIATE, 0, V1(),
	  BYTES(0, 0, 0, 1) },
	{ "S-5.2.3-3_initiate_pd", IW_MPA_CHUNK_INITIATE, 0,
	  V1(.pd = "abc", .pd_len = 3),
	  BYTES(0, 0, 0, 1, 'a', 'b', 'c') },
	{ "S-5.2.3-2_accept", IW_MPA_CHUNK_ACCEPT, 0, V1(.reply = true),
	  BYTES(0, 0, 0, 2) },
	{ "S-5.2.3-3_accept_pd", IW_MPA_CHUNK_ACCEPT, 0,
	  V1(.reply = true, .pd = "x", .pd_len = 1),
	  BYTES(0, 0, 0, 2, 'x') },
	{ "S-5.2.3-3_reject_pd", IW_MPA_CHUNK_REJECT, 0,
	  V1(.reply = true, .reject = true, .pd = "no", .pd_len = 2),
	  BYTES(0, 0, 0, 3, 'n', 'o') },
	{ "S-5.2.3-5_terminate", IW_MPA_CHUNK_TERMINATE, 0x0102, {},
	  BYTES(1, 2, 0, 4) },
	{ "S-5.2.1-1_last_ssn", IW_MPA_CHUNK_TERMINATE, 0xffff, {},
	  BYTES(0xff, 0xff, 0, 4) },
	{ "E-9-1_initiate_a_c", IW_MPA_CHUNK_ENH_INITIATE, 0,
	  V2(.p2p = true, .rtr = IW_MPA_RTR_WRITE, .ird = 16, .ord = 16),
	  BYTES(0, 0, 0, 5, 0x80, 0x10, 0x80, 0x10) },
	{ "E-7-3_initiate_pd", IW_MPA_CHUNK_ENH_INITIATE, 0,
	  V2(.ird = 1, .ord = 0x102, .pd = "pd", .pd_len = 2),
	  BYTES(0, 0, 0, 5, 0, 1, 1, 2, 'p', 'd') },
	{ "E-7-3_accept_pd", IW_MPA_CHUNK_ENH_ACCEPT, 0,
	  V2(.reply = true, .p2p = true, .rtr = IW_MPA_RTR_SEND, .ird = 5,
	     .ord = 6, .pd = "q", .pd_len = 1),
	  BYTES(0, 0, 0, 6, 0xc0, 5, 0, 6, 'q') },
	{ "E-7-2_reject_pd", IW_MPA_CHUNK_ENH_REJECT, 0,
	  V2(.reply = true, .reject = true, .p2p = true, .rtr = IW_MPA_RTR_READ,
	     .ird = 0x3fff, .ord = 0x3ffe, .pd = "r", .pd_len = 1),
	  BYTES(0, 0, 0, 7, 0xbf, 0xff, 0x7f, 0xfe, 'r') },
};

KUNIT_ARRAY_PARAM_DESC(vec, vec_rows, desc);

static const struct iw_mpa_frame *vec_frame(const struct vec_row *row)
{
	return row->code == IW_MPA_CHUNK_TERMINATE ? NULL : &row->frame;
}

/*
 * Rules: S-5.2.1-1: the first two bytes of an encoded chunk; S-5.2.3-1: each byte of an encoded
 * chunk, and how many there are; S-5.2.3-2: the function code in an encoded chunk; S-5.2.3-3 E-7-2:
 * the private data at the end of an encoded chunk; S-5.2.3-5 E-7-5: the four bytes of an encoded
 * Terminate; E-7-3: the enhanced data comes before the private data; E-7-7: the function code of an
 * enhanced chunk; E-9-1: each byte of the enhanced data
 */
static void chunk_encode_good_each_byte(struct kunit *test)
{
	const struct vec_row *row = test->param_value;
	u8 buf[sizeof(row->bytes) + 1];
	int len;

	/* Arrange */
	memset(buf, 0xa5, sizeof(buf));

	/* Act: the buffer has room for exactly this chunk */
	len = iw_mpa_chunk_encode(row->ssn, vec_frame(row), buf, row->len);

	/* Assert */
	KUNIT_ASSERT_EQ(test, len, (int)row->len);
	KUNIT_EXPECT_EQ(test, 0, memcmp(buf, row->bytes, row->len));
	KUNIT_EXPECT_EQ(test, buf[row->len], 0xa5);
	KUNIT_EXPECT_EQ(test, iw_mpa_chunk_code(vec_frame(row)), row->code);
}

/* Copy @len bytes to a buffer of exactly this size, so that KASAN detects a read beyond its end */
static u8 *exact(struct kunit *test, const u8 *bytes, size_t len)
{
	u8 *buf = kunit_kmalloc(test, len, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, buf);
	memcpy(buf, bytes, len);
	return buf;
}

static void decode(u32 ppid, const u8 *bytes, size_t len,
		   struct iw_mpa_chunk *chunk)
{
	memset(chunk, 0xff, sizeof(*chunk));
	iw_mpa_chunk_decode(ppid, bytes, len, chunk);
}

static void expect_frame(struct kunit *test, const struct iw_mpa_frame *got,
			 const struct iw_mpa_frame *want)
{
	KUNIT_EXPECT_EQ(test, got->pd_len, want->pd_len);
	KUNIT_EXPECT_EQ(test, got->ird, want->ird);
	KUNIT_EXPECT_EQ(test, got->ord, want->ord);
	KUNIT_EXPECT_EQ(test, got->rev, want->rev);
	KUNIT_EXPECT_EQ(test, got->rtr, want->rtr);
	KUNIT_EXPECT_EQ(test, got->reply, want->reply);
	KUNIT_EXPECT_EQ(test, got->reject, want->reject);
	KUNIT_EXPECT_EQ(test, got->enhanced, want->enhanced);
	KUNIT_EXPECT_EQ(test, got->p2p, want->p2p);
	KUNIT_EXPECT_FALSE(test, got->markers);
	KUNIT_EXPECT_FALSE(test, got->crc);
}

/*
 * Rules: S-5.2.1-1: the DDP-SSN that is decoded; S-5.2.3-1: length and place of the private data
 * that is decoded; S-5.2.3-2: the function code that is decoded; S-5.2.3-3 S-5.2.3-6 E-7-2: the
 * private data is what was sent; E-7-3: where the private data begins; E-9-1: the bits A, B, C and
 * D, IRD and ORD that are decoded
 */
static void chunk_decode_good_each_field(struct kunit *test)
{
	const struct vec_row *row = test->param_value;
	u8 *buf = exact(test, row->bytes, row->len);
	struct iw_mpa_chunk chunk;

	decode(IW_MPA_PPID_CONTROL, buf, row->len, &chunk);

	KUNIT_EXPECT_EQ(test, chunk.reason, IW_MPA_R_OK);
	KUNIT_EXPECT_EQ(test, chunk.code, row->code);
	KUNIT_EXPECT_EQ(test, chunk.ssn, row->ssn);
	expect_frame(test, &chunk.frame, &row->frame);
	if (!row->frame.pd_len) {
		KUNIT_EXPECT_NULL(test, chunk.frame.pd);
		return;
	}
	KUNIT_ASSERT_PTR_EQ(test, chunk.frame.pd,
			    (const u8 *)buf + row->len - row->frame.pd_len);
}

/* Chunks that a sender should not send, but that a receiver accepts */

/* Rules: S-5.2.3-5: the code of a Terminate with private data, which is not passed on */
static void chunk_decode_terminate_with_data_ignored(struct kunit *test)
{
	static const u8 bytes[] = { 0, 9, 0, 4, 'x', 'y' };
	const struct iw_mpa_frame none = {};
	struct iw_mpa_chunk chunk;

	decode(IW_MPA_PPID_CONTROL, bytes, sizeof(bytes), &chunk);

	KUNIT_EXPECT_EQ(test, chunk.reason, IW_MPA_R_OK);
	KUNIT_EXPECT_EQ(test, chunk.code, IW_MPA_CHUNK_TERMINATE);
	KUNIT_EXPECT_EQ(test, chunk.ssn, 9);
	KUNIT_EXPECT_NULL(test, chunk.frame.pd);
	expect_frame(test, &chunk.frame, &none);
}

/* Rules: E-9.2-13: B, C and D without A, in a session message, are no RTR types */
static void chunk_decode_bcd_without_a_ignored(struct kunit *test)
{
	static const u8 bytes[] = { 0, 0, 0, 6, 0x40, 1, 0xc0, 2 };
	const struct iw_mpa_frame want = V2(.reply = true, .ird = 1, .ord = 2);
	struct iw_mpa_chunk chunk;

	decode(IW_MPA_PPID_CONTROL, bytes, sizeof(bytes), &chunk);

	KUNIT_EXPECT_EQ(test, chunk.code, IW_MPA_CHUNK_ENH_ACCEPT);
	expect_frame(test, &chunk.frame, &want);
}

/* Malformed chunks, and the reason that the decoder returns for each */

static const struct bad_row {
	const char		*desc;
	u32			ppid;
	u16			ssn;
	u16			code;
	size_t			len;	/* of the chunk: header of 4 bytes, private data */
	enum iw_mpa_reason	reason;
} bad_rows[] = {
	{ "S-5.1-2_ppid_0", 0, 1, 1, 4, IW_MPA_R_BAD_KEY },
	{ "S-5.2-1_ppid_15", 15, 1, 1, 4, IW_MPA_R_BAD_KEY },
	{ "S-5.2-1_ppid_18", 18, 1, 1, 4, IW_MPA_R_BAD_KEY },
	{ "S-5.2-1_ppid_17_swapped", 0x11000000, 1, 1, 4, IW_MPA_R_BAD_KEY },
	{ "S-5.2.1-1_segment_empty", 16, 0, 0, 0, IW_MPA_R_TRUNCATED },
	{ "S-5.2.1-1_segment_half_ssn", 16, 0, 0, 1, IW_MPA_R_TRUNCATED },
	{ "S-5.2.1-1_empty", 17, 0, 0, 0, IW_MPA_R_TRUNCATED },
	{ "S-5.2.1-1_half_ssn", 17, 0, 0, 1, IW_MPA_R_TRUNCATED },
	{ "S-5.2.3-1_no_code", 17, 3, 0, 2, IW_MPA_R_TRUNCATED },
	{ "S-5.2.3-1_half_code", 17, 3, 1, 3, IW_MPA_R_TRUNCATED },
	{ "S-5.2.3-2_code_0", 17, 4, 0, 4, IW_MPA_R_BAD_KEY },
	{ "S-5.2.3-2_code_8", 17, 4, 8, 8, IW_MPA_R_BAD_KEY },
	{ "S-5.2.3-2_code_swapped", 17, 4, 0x100, 4, IW_MPA_R_BAD_KEY },
	{ "S-5.2.3-2_experimental", 17, 4, 0xffff, 4, IW_MPA_R_BAD_KEY },
	{ "S-5.2.3-2_code_before_length", 17, 4, 8, 600, IW_MPA_R_BAD_KEY },
	{ "S-5.2.3-4_initiate_513", 17, 0, 1, 517, IW_MPA_R_BAD_PD_LENGTH },
	{ "S-5.2.3-4_accept_513", 17, 0, 2, 517, IW_MPA_R_BAD_PD_LENGTH },
	{ "S-5.2.3-4_reject_65532", 17, 0, 3, 65536, IW_MPA_R_BAD_PD_LENGTH },
	{ "S-5.2.3-4_terminate_513", 17, 7, 4, 517, IW_MPA_R_BAD_PD_LENGTH },
	{ "E-7-4_initiate_513", 17, 0, 5, 517, IW_MPA_R_BAD_PD_LENGTH },
	{ "E-7-4_accept_513", 17, 0, 6, 517, IW_MPA_R_BAD_PD_LENGTH },
	{ "E-7-4_reject_513", 17, 0, 7, 517, IW_MPA_R_BAD_PD_LENGTH },
	{ "E-7-2_initiate_without", 17, 0, 5, 4, IW_MPA_R_SHORT_ENHANCED },
	{ "E-7-2_accept_1", 17, 0, 6, 5, IW_MPA_R_SHORT_ENHANCED },
	{ "E-7-2_reject_3", 17, 0, 7, 7, IW_MPA_R_SHORT_ENHANCED },
};

KUNIT_ARRAY_PARAM_DESC(bad, bad_rows, desc);

/*
 * Rules: S-5.1-2 S-5.2-1: the error BAD_KEY for each other PPID; S-5.2.1-1 S-5.2.3-1: the error
 * TRUNCATED for a chunk that ends within DDP-SSN or function code; S-5.2.3-2: the error BAD_KEY for
 * each other function code; S-5.2.3-4 E-7-4: the error BAD_PD_LENGTH; E-7-2: the error
 * SHORT_ENHANCED
 */
static void chunk_decode_bad_reason_named(struct kunit *test)
{
	const struct bad_row *row = test->param_value;
	const struct iw_mpa_frame none = {};
	const u8 head[] = { row->ssn >> 8, row->ssn, row->code >> 8, row->code };
	u8 *buf = kunit_kzalloc(test, row->len ?: 1, GFP_KERNEL);
	struct iw_mpa_chunk chunk;

	KUNIT_ASSERT_NOT_NULL(test, buf);
	memcpy(buf, head, min(sizeof(head), row->len));

	decode(row->ppid, buf, row->len, &chunk);

	/* Of a malformed chunk only the DDP-SSN is returned: it breaks the session at its turn. */
	KUNIT_EXPECT_EQ(test, chunk.reason, row->reason);
	KUNIT_EXPECT_EQ(test, chunk.code, IW_MPA_CHUNK_BAD);
	KUNIT_EXPECT_EQ(test, chunk.ssn, row->ssn);
	KUNIT_EXPECT_NULL(test, chunk.frame.pd);
	expect_frame(test, &chunk.frame, &none);
}

/* The most private data */

static void most(struct kunit *test, bool enhanced, u16 pd_len)
{
	static u8 buf[IW_MPA_CONTROL_MAX + 1];
	struct iw_mpa_frame frame = {
		.rev = enhanced ? 2 : 1, .enhanced = enhanced, .pd_len = pd_len,
	};
	struct iw_mpa_chunk chunk;
	u8 *pd = kunit_kmalloc(test, pd_len + 1, GFP_KERNEL);
	size_t i;

	KUNIT_ASSERT_NOT_NULL(test, pd);
	for (i = 0; i < pd_len + 1; i++)
		pd[i] = 0x80 + 7 * i;
	frame.pd = pd;

	/* If the buffer is one byte too short the encoder writes nothing. */
	memset(buf, 0xa5, sizeof(buf));
	KUNIT_EXPECT_EQ(test, -ENOSPC,
			iw_mpa_chunk_encode(0, &frame, buf,
					    IW_MPA_CONTROL_MAX - 1));
	KUNIT_EXPECT_NULL(test, memchr_inv(buf, 0xa5, sizeof(buf)));

	KUNIT_ASSERT_EQ(test, 516,
			iw_mpa_chunk_encode(0, &frame, buf, sizeof(buf)));
	decode(IW_MPA_PPID_CONTROL, buf, 516, &chunk);
	KUNIT_EXPECT_EQ(test, chunk.reason, IW_MPA_R_OK);
	KUNIT_ASSERT_EQ(test, chunk.frame.pd_len, pd_len);
	KUNIT_EXPECT_EQ(test, 0, memcmp(chunk.frame.pd, pd, pd_len));

	/* One byte more of private data is refused, and nothing is written. */
	memset(buf, 0xa5, sizeof(buf));
	frame.pd_len++;
	KUNIT_EXPECT_EQ(test, -EMSGSIZE,
			iw_mpa_chunk_encode(0, &frame, buf, sizeof(buf)));
	KUNIT_EXPECT_NULL(test, memchr_inv(buf, 0xa5, sizeof(buf)));
}

/* Rules: S-5.2.3-4: 512 bytes are sent and received, 513 are refused */
static void chunk_512_bytes_of_private_data(struct kunit *test)
{
	most(test, false, 512);
}

/* Rules: E-7-4: 508 bytes after enhanced data are sent and received, 509 are refused */
static void chunk_508_bytes_after_enhanced_data(struct kunit *test)
{
	most(test, true, 508);
}

/*
 * Encode random frames both as an MPA Request or Reply and as a DDP Stream Session Control chunk of
 * SCTP. Only the headers differ, 20 bytes in MPA and 4 in the chunk: RFC 6581 9 has one format for
 * the rest.
 */
/* Rules: E-9-1: enhanced data and private data of random frames are those of an MPA frame */
static void chunk_encode_random_same_as_mpa(struct kunit *test)
{
	u8 *mpa = kunit_kzalloc(test, IW_MPA_FRAME_MAX, GFP_KERNEL);
	u8 buf[IW_MPA_CONTROL_MAX];
	struct iw_mpa_frame frame;
	struct iw_mpa_chunk chunk;
	struct rnd_state rnd;
	int i, len;
	u32 bits;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mpa);
	prandom_seed_state(&rnd, SEED);
	for (i = 0; i < 2000; i++) {
		bits = prandom_u32_state(&rnd);
		memset(&frame, 0, sizeof(frame));
		frame.enhanced = bits & 1;
		frame.rev = frame.enhanced ? 2 : 1;
		frame.reply = bits & 2;
		frame.reject = frame.reply && (bits & 4);
		if (frame.enhanced) {
			frame.ird = bits >> 8 & 0x3fff;
			frame.ord = bits >> 18;
			frame.p2p = bits & 8;
			frame.rtr = frame.p2p ? bits >> 4 & 7 : 0;
		}
		frame.pd = "private data";
		frame.pd_len = bits % 13;

		len = iw_mpa_chunk_encode(i, &frame, buf, sizeof(buf));
		KUNIT_ASSERT_EQ(test, len + 16,
				iw_mpa_frame_encode(&frame, mpa, IW_MPA_FRAME_MAX));
		KUNIT_ASSERT_EQ(test, 0, memcmp(buf + 4, mpa + 20, len - 4));

		decode(IW_MPA_PPID_CONTROL, buf, len, &chunk);
		KUNIT_ASSERT_EQ(test, chunk.reason, IW_MPA_R_OK);
		KUNIT_ASSERT_EQ(test, chunk.ssn, i);
		KUNIT_ASSERT_EQ(test, chunk.code, iw_mpa_chunk_code(&frame));
		expect_frame(test, &chunk.frame, &frame);
	}
}

/*
 * DDP Segment chunks (DDP over SCTP, RFC 5043 5.2.2) that carry an RTR or Terminate message (RFC
 * 5040 4): the DDP-SSN replaces the length field of the FPDU, and there is neither padding nor CRC.
 */

static const struct segment_row {
	const char	*desc;
	u8		rtr;		/* RTR type, or 0 for a Terminate message */
	u8		term;
	u16		ssn;
	u8		bytes[IW_MPA_FPDU_MAX];
	size_t		len;
} segment_rows[] = {
	{ "write", IW_MPA_RTR_WRITE, 0, 1,
	  BYTES(0, 1, 0xc1, 0x40, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0) },
	{ "send", IW_MPA_RTR_SEND, 0, 0x1234,
	  BYTES(0x12, 0x34, 0x41, 0x43, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1,
		0, 0, 0, 0) },
	{ "read", IW_MPA_RTR_READ, 0, 2,
	  BYTES(0, 2, 0x41, 0x41, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1,
		0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0) },
	{ "terminate_2_0_7", 0, 7, 1,
	  BYTES(0, 1, 0x41, 0x47, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1,
		0, 0, 0, 0, 0x20, 7, 0, 0) },
};

KUNIT_ARRAY_PARAM_DESC(segment, segment_rows, desc);

/* Rules: S-5.2.2-1: each byte of the chunk, and their number; S-5.2.1-1: the DDP-SSN as read */
static void chunk_segment_each_byte(struct kunit *test)
{
	const struct segment_row *row = test->param_value;
	u8 fpdu[IW_MPA_FPDU_MAX];
	struct iw_mpa_chunk chunk;
	size_t len;

	if (row->rtr)
		iw_mpa_fpdu_rtr(row->rtr, true, fpdu);
	else
		iw_mpa_fpdu_term(row->term, true, fpdu);

	len = iw_mpa_chunk_segment(row->ssn, fpdu);

	KUNIT_ASSERT_EQ(test, len, row->len);
	KUNIT_EXPECT_EQ(test, 0, memcmp(fpdu, row->bytes, len));
	decode(IW_MPA_PPID_SEGMENT, fpdu, len, &chunk);
	KUNIT_EXPECT_EQ(test, chunk.reason, IW_MPA_R_OK);
	KUNIT_EXPECT_EQ(test, chunk.code, IW_MPA_CHUNK_SEGMENT);
	KUNIT_EXPECT_EQ(test, chunk.ssn, row->ssn);
}

static struct kunit_case chunk_cases[] = {
	KUNIT_CASE_PARAM(chunk_encode_good_each_byte, vec_gen_params),
	KUNIT_CASE_PARAM(chunk_decode_good_each_field, vec_gen_params),
	KUNIT_CASE(chunk_decode_terminate_with_data_ignored),
	KUNIT_CASE(chunk_decode_bcd_without_a_ignored),
	KUNIT_CASE_PARAM(chunk_decode_bad_reason_named, bad_gen_params),
	KUNIT_CASE(chunk_512_bytes_of_private_data),
	KUNIT_CASE(chunk_508_bytes_after_enhanced_data),
	KUNIT_CASE(chunk_encode_random_same_as_mpa),
	KUNIT_CASE_PARAM(chunk_segment_each_byte, segment_gen_params),
	{}
};

static struct kunit_suite chunk_suite = {
	.name = "iw_mpa_chunk",
	.test_cases = chunk_cases,
};

kunit_test_suite(chunk_suite);

// SPDX-License-Identifier: GPL-2.0
/*
 * Any stream, in segments of any shape: RX has to give the same result as a simple reader that
 * reads the stream byte by byte, and shares no code with RX.
 */

#include "srnic_feed.h"

#include <linux/string.h>
#include <linux/unaligned.h>
#include <net/sock.h>
#include <net/tcp.h>

/* --- a reader that goes byte by byte --- */

/* State and memory of the simple reader */
struct plain {
	bool		markers;
	bool		crc;		/* FPDUs have a CRC */
	u32		at;		/* bytes that the reader has consumed */
	enum srnic_err	err;		/* error at which the reader has stopped */
	u32		fpdus;		/* number of good FPDUs */
	u32		octets;		/* number of bytes of their ULPDUs */
	u8		mem[FEED_USED];	/* memory of regions and receives */
	u32		msn;	/* MSN of the next Send, or of the one that is incomplete */
	u32		send_len;	/* bytes of the incomplete Send so far */
	bool		busy;		/* a Send is incomplete */
	int		taken;		/* number of receives that Sends have used */
	/* for each completed receive: bytes of its Send, or -1 if the receive was too short */
	int		wc[FEED_RECVS];
	int		nwc;		/* number of elements of @wc */
};

/* An FPDU that the simple reader has read */
struct plain_fpdu {
	u32	at;		/* position of the next byte of the stream */
	u32	end;		/* number of bytes of the stream that have arrived */
	u32	begin;		/* position of ULPDU_Length */
	bool	cut;		/* the FPDU is not complete */
	bool	marker;		/* a Marker does not point to this FPDU */
	u8	ulpdu[2048];	/* the ULPDU, without Markers */
	u32	len;		/* its ULPDU_Length */
};

/* Return the next byte of the stream that is no part of a Marker, or 0 if it has not arrived */
static u8 plain_byte(const struct plain *r, struct plain_fpdu *f)
{
	const u8 *bytes = feed_world.o.to;

	if (r->markers && f->at % 512 == 0) {
		f->cut |= f->at + 4 > f->end;
		if (f->cut)
			return 0;
		f->marker |= (bytes[f->at + 2] << 8 | (bytes[f->at + 3] & 0xfc)) !=
			     (f->begin == f->at ? 0 : f->at - f->begin);
		if (f->begin == f->at)
			f->begin += 4;
		f->at += 4;
	}
	f->cut |= f->at >= f->end;
	return f->cut ? 0 : bytes[f->at++];
}

/* Read one FPDU; return false if it has not arrived completely */
static bool plain_read(struct plain *r, struct plain_fpdu *f, u32 end)
{
	u32 i;

	*f = (struct plain_fpdu) { .at = r->at, .end = end, .begin = r->at };
	f->len = plain_byte(r, f) << 8;
	f->len |= plain_byte(r, f);
	for (i = 0; !f->cut && i < f->len + 4 + (-(f->len + 2) & 3); i++) {
		u8 byte = plain_byte(r, f);

		if (i < f->len && i < sizeof(f->ulpdu))
			f->ulpdu[i] = byte;
	}
	if (f->cut)
		return false;
	if (r->crc && get_unaligned_le32(feed_world.o.to + f->at - 4) !=
	    oracle_crc(feed_world.o.to + r->at, f->at - 4 - r->at))
		r->err = SRNIC_ERR_CRC;
	else if (f->marker)
		r->err = SRNIC_ERR_MARKER;
	r->at = f->at;
	r->fpdus += !r->err;
	r->octets += r->err ? 0 : f->len;
	return true;
}

static void plain_write(struct plain *r, const struct plain_fpdu *f)
{
	u32 stag = get_unaligned_be32(f->ulpdu + 2), len = f->len - ORACLE_TAGGED;
	u64 off = get_unaligned_be64(f->ulpdu + 6) - FEED_BASE;
	int i;

	for (i = 0; i < FEED_REGIONS && feed_world.mr[i]->stag != stag; i++)
		;
	if (!len)
		return;
	if (i == FEED_REGIONS)
		r->err = SRNIC_ERR_WRITE_STAG;
	else if (off + len > FEED_REGION)
		r->err = SRNIC_ERR_WRITE_BOUNDS;
	else
		memcpy(r->mem + i * FEED_REGION + off, f->ulpdu + ORACLE_TAGGED, len);
}

static void plain_send(struct plain *r, const struct plain_fpdu *f)
{
	u32 mo = get_unaligned_be32(f->ulpdu + 14), len = f->len - ORACLE_UNTAGGED;

	if (get_unaligned_be32(f->ulpdu + 10) != r->msn) {
		r->err = SRNIC_ERR_MSN;
		return;
	}
	if (!r->busy && r->taken == FEED_RECVS) {
		r->err = SRNIC_ERR_NO_BUFFER;
		return;
	}
	r->taken += !r->busy;
	r->busy = true;
	if (mo != r->send_len) {
		r->err = SRNIC_ERR_MO;
		return;
	}
	if (mo + len > FEED_RECV) {
		r->err = SRNIC_ERR_TOO_LONG;
		r->wc[r->nwc++] = -1;
		return;
	}
	memcpy(r->mem + (FEED_REGIONS + r->taken - 1) * FEED_REGION + mo,
	       f->ulpdu + ORACLE_UNTAGGED, len);
	r->send_len += len;
	if (!(f->ulpdu[0] & 0x40))
		return;
	r->wc[r->nwc++] = r->send_len;
	r->send_len = 0;
	r->busy = false;
	r->msn++;
}

/* Have the simple reader read the stream up to @end. */
static void plain_run(struct plain *r, u32 end)
{
	static struct plain_fpdu f;

	while (!r->err && plain_read(r, &f, end)) {
		if (r->err)
			return;
		if (f.ulpdu[0] & 0x80)
			plain_write(r, &f);
		else
			plain_send(r, &f);
	}
}

/* --- any stream --- */

#define ANY_ROUNDS	600
#define ANY_MESSAGES	6

/* Kinds of errors in a message of a stream */
enum any_fault {
	ANY_NOTHING,
	ANY_STAG,
	ANY_BOUNDS,
	ANY_MSN,
	ANY_LENGTH,
	ANY_BIT,		/* a flipped bit, anywhere in the stream */
	ANY_COUNT
};

static void any_write(enum any_fault fault)
{
	static u8 payload[FEED_REGION];
	struct oracle_msg msg = { .op = ORACLE_WRITE, .payload = payload };
	u32 off = feed_random(FEED_REGION);

	prandom_bytes_state(&feed_world.rnd, payload, sizeof(payload));
	msg.stag = feed_world.mr[feed_random(FEED_REGIONS)]->stag ^ (fault == ANY_STAG);
	msg.len = feed_random(FEED_REGION - off);
	if (fault == ANY_BOUNDS)
		msg.len = FEED_REGION - off + 1;
	msg.to = FEED_BASE + off;
	oracle_message(&feed_world.o, &msg);
}

static void any_send(enum any_fault fault, u32 *msn)
{
	static u8 payload[FEED_RECV + 1];
	struct oracle_msg msg = { .op = ORACLE_SEND, .payload = payload };

	prandom_bytes_state(&feed_world.rnd, payload, sizeof(payload));
	msg.msn = ++*msn + (fault == ANY_MSN);
	msg.len = fault == ANY_LENGTH ? FEED_RECV + 1 : feed_random(FEED_RECV + 1);
	oracle_message(&feed_world.o, &msg);
}

static void any_make(bool crc)
{
	u32 messages = 1 + feed_random(ANY_MESSAGES), bad = feed_random(messages), msn = 0, i;
	enum any_fault fault = feed_random(ANY_COUNT);
	struct oracle *o = &feed_world.o;

	o->mulpdu = 100 + feed_random(1300);
	for (i = 0; i < messages; i++) {
		enum any_fault now = i == bad ? fault : ANY_NOTHING;

		if (feed_random(2))
			any_write(now);
		else
			any_send(now, &msn);
	}
	if (crc && fault == ANY_BIT)
		o->to[feed_random(o->len)] ^= BIT(feed_random(8));
}

static void any_expect(struct kunit *test, const struct plain *r, int round)
{
	struct pair_end *e = &single.p->end[0];
	struct ib_wc wc;
	int i;

	KUNIT_ASSERT_STREQ_MSG(test, srnic_errs[feed_err()].name, srnic_errs[r->err].name,
			       "round %d", round);
	KUNIT_ASSERT_EQ_MSG(test, memcmp(e->mem, r->mem, FEED_USED), 0, "round %d", round);
	KUNIT_ASSERT_EQ_MSG(test, tcp_inq(single.p->sock->sk),
			    r->err ? 0 : (int)(feed_world.at - r->at), "round %d", round);
	for (i = 0; i < r->nwc; i++) {
		enum ib_wc_status status = r->wc[i] < 0 ? IB_WC_LOC_LEN_ERR : IB_WC_SUCCESS;

		KUNIT_ASSERT_EQ_MSG(test, pair_poll(&e->rcq, &wc), 1, "round %d", round);
		KUNIT_EXPECT_EQ_MSG(test, wc.wr_id, i, "round %d", round);
		KUNIT_EXPECT_EQ_MSG(test, wc.status, status, "round %d", round);
		if (r->wc[i] >= 0)
			KUNIT_EXPECT_EQ_MSG(test, wc.byte_len, r->wc[i], "round %d", round);
	}
	KUNIT_ASSERT_EQ_MSG(test, pair_poll(&e->rcq, &wc), 0, "round %d", round);
}

/*
 * A random stream arrives up to a random byte, and then the rest of it, in pieces of any size. At
 * the end RX must have the same bytes in memory, completions and error as the test's own reader,
 * which reads the stream byte by byte.
 */
static void rx_any_stream_as_a_plain_reader_has_it(struct kunit *test)
{
	struct plain *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);
	u64 fpdus = 0, octets = 0;
	int round, i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, r);
	for (round = 0; round < ANY_ROUNDS; round++) {
		struct feed_cut cut = { .shape = SHAPE_RANDOM };

		prandom_seed_state(&feed_world.rnd, round);
		*r = (struct plain) { .crc = feed_random(2), .markers = feed_random(2), .msn = 1 };
		feed_begin(test, r->crc, r->markers);
		memset(r->mem, FEED_UNTOUCHED, FEED_USED);
		for (i = 0; i < FEED_RECVS; i++)
			pair_post_recv(&single.p->end[0], i, feed_recv(i), FEED_RECV);
		any_make(r->crc);
		for (i = 0; i < 2; i++) {
			cut.end = i ? feed_world.o.len : feed_random(feed_world.o.len + 1);
			feed_arrive(test, &cut);
			plain_run(r, cut.end);
		}
		any_expect(test, r, round);
		fpdus += r->fpdus;
		KUNIT_ASSERT_EQ_MSG(test, pair_count(single.p, SRNIC_CNT_rx_fpdus), fpdus,
				    "round %d", round);
		octets += r->octets;
		KUNIT_ASSERT_EQ_MSG(test, pair_count(single.p, SRNIC_CNT_rx_octets), octets,
				    "round %d", round);
		feed_end(test);
	}
}

static struct kunit_case any_cases[] = {
	KUNIT_CASE(rx_any_stream_as_a_plain_reader_has_it),
	{}
};

static struct kunit_suite any_suite = {
	.name = "srnic_rx_any",
	.init = feed_init,
	.exit = feed_exit,
	.test_cases = any_cases,
};

kunit_test_suite(any_suite);

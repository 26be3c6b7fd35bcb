// SPDX-License-Identifier: GPL-2.0
/*
 * One call of srnic's RX handles many FPDUs: one of them is bad, or an STag is invalidated during
 * the call.
 */

#include "srnic_feed.h"

#include <linux/skbuff.h>
#include <linux/string.h>
#include <linux/timer.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "../srnic/mem.h"	/* srnic's, by its path: user mode Linux has a mem.h, too */

/* --- a bad FPDU between good ones --- */

#define MIDDLE_WRITES	8
#define MIDDLE_BAD	4	/* index of the fifth FPDU */
#define MIDDLE_LEN	60U

static const struct middle_row {
	const char	*desc;
	bool		markers;
	u32		fpdus;		/* number of FPDUs of each Write */
} middle_rows[] = {
	{ "a Write each",		false, 1 },
	{ "a Write each, Markers",	true, 1 },
	{ "all of one Write",		false, MIDDLE_WRITES },
	{ "all of one Write, Markers",	true, MIDDLE_WRITES },
};

KUNIT_ARRAY_PARAM_DESC(middle, middle_rows, desc);

/* Make eight FPDUs, in Writes of @fpdus FPDUs each, whose bytes are side by side from @to on */
static void middle_make(u64 to, u32 fpdus)
{
	struct feed_world *w = &feed_world;
	u8 payload[MIDDLE_WRITES * MIDDLE_LEN];
	int i;

	memset(payload, 0x55, sizeof(payload));
	w->o.mulpdu = ORACLE_TAGGED + MIDDLE_LEN;
	for (i = 0; i < MIDDLE_WRITES; i += fpdus)
		oracle_message(&w->o, &(struct oracle_msg) {
			.op = ORACLE_WRITE, .stag = w->mr[0]->stag,
			.to = to + i * MIDDLE_LEN, .payload = payload,
			.len = fpdus * MIDDLE_LEN,
		});
}

/*
 * The CRC of the fifth FPDU is wrong. The stream arrives in segments of any size and layout: RX,
 * called once, places the FPDUs before that one, and no byte after them.
 */
static void rx_bad_crc_in_the_middle(struct kunit *test)
{
	const struct middle_row *row = test->param_value;
	const u32 good = MIDDLE_BAD * MIDDLE_LEN;
	u64 fpdus = 0;
	struct feed_cut cut = { .piece = 1 };

	do {
		for (cut.shape = 0; cut.shape < SHAPE_RANDOM; cut.shape++) {
			feed_begin(test, true, row->markers);
			middle_make(FEED_BASE, row->fpdus);
			feed_world.o.to[feed_world.o.ends[MIDDLE_BAD] - 1] ^= 0x80;
			cut.end = feed_world.o.len;
			feed_arrive(test, &cut);
			KUNIT_ASSERT_EQ(test, feed_err(), SRNIC_ERR_CRC);
			KUNIT_ASSERT_PTR_EQ(test, memchr_inv(feed_region(0), 0x55, good), NULL);
			KUNIT_ASSERT_PTR_EQ(test, memchr_inv(feed_region(0) + good, FEED_UNTOUCHED,
							     FEED_REGION - good), NULL);
			KUNIT_ASSERT_EQ(test, tcp_inq(single.p->sock->sk), 0);
			fpdus += MIDDLE_BAD;
			KUNIT_ASSERT_EQ(test, pair_count(single.p, SRNIC_CNT_rx_fpdus), fpdus);
			feed_end(test);
		}
	} while (cut.piece++ < cut.end);
}

/*
 * The region ends where the payload of the fifth FPDU begins, or in the middle of that payload: RX
 * places the payload of the four FPDUs before, and nothing else.
 */
static void rx_region_ends_in_the_middle(struct kunit *test)
{
	const struct middle_row *row = test->param_value;
	const u32 good = MIDDLE_BAD * MIDDLE_LEN;
	struct feed_cut cut = { .piece = 1 };
	const u8 *region;

	do {
		const u32 over = cut.piece & 2 ? MIDDLE_LEN / 2 : 0;
		const u32 at = FEED_REGION - good - over;

		for (cut.shape = 0; cut.shape < SHAPE_RANDOM; cut.shape++) {
			feed_begin(test, cut.piece & 1, row->markers);
			middle_make(FEED_BASE + at, row->fpdus);
			cut.end = feed_world.o.len;
			feed_arrive(test, &cut);
			KUNIT_ASSERT_EQ(test, feed_err(), SRNIC_ERR_WRITE_BOUNDS);
			region = feed_region(0);
			KUNIT_ASSERT_PTR_EQ(test, memchr_inv(region, FEED_UNTOUCHED, at), NULL);
			KUNIT_ASSERT_PTR_EQ(test, memchr_inv(region + at, 0x55, good), NULL);
			KUNIT_ASSERT_PTR_EQ(test, memchr_inv(region + at + good, FEED_UNTOUCHED,
							     over), NULL);
			KUNIT_ASSERT_PTR_EQ(test, memchr_inv(feed_region(1), FEED_UNTOUCHED,
							     FEED_REGION), NULL);
			feed_end(test);
		}
	} while (cut.piece++ < cut.end);
}

/* --- an invalidation during a call of RX --- */

#define LATE_FRAGS	16	/* fragments of each segment, all of the same memory */
#define LATE_SEGMENTS	4	/* segments of a stream, at first */
#define LATE_SEGMENTS_MOST	4096
#define LATE_RUNS	5
#define LATE_PUT_OFF	50	/* most runs that may be repeated */
#define LATE_TICKS	2	/* ticks until the invalidation is due */
#define LATE_REFILLED	0xdd

/*
 * A timer whose handler, in a softirq, invalidates the region's STag. RX has softirqs off while it
 * holds the region's lock, which delays the handler, as the lock would on another CPU.
 */
struct late {
	struct timer_list	timer;		/* timer of the softirq */
	bool			in_call;	/* a call of RX is running */
	/* a call of RX was running when the invalidation came */
	bool			amid;
	bool			placed;		/* bytes were placed before the invalidation */
	long			ticks;	/* delay of the invalidation, in ticks */
};

static struct late late;

static void late_comes(struct timer_list *timer)
{
	late.ticks = jiffies - timer->expires;
	late.amid = READ_ONCE(late.in_call);
	late.placed = *feed_region(0) == 0x55;
	srnic_stag_invalidate(single.p->dev, &single.p->pd, feed_world.mr[0]->stag, false);
	memset(feed_region(0), LATE_REFILLED, FEED_REGION);
}

/*
 * Queue @segments segments that are full of Writes. One in @each Writes has a byte of payload, the
 * others have none.
 */
static void late_make(struct kunit *test, u32 each, u32 segments)
{
	struct oracle *o = &feed_world.o;
	u32 i, n;

	for (i = 0; o->len + 24 <= o->size; i++)
		oracle_message(o, &(struct oracle_msg) {
			.op = ORACLE_WRITE, .stag = feed_world.mr[0]->stag,
			.to = FEED_BASE + i / each % FEED_REGION, .payload = "\x55",
			.len = i % each == 0,
		});
	for (n = 0; n < segments; n++) {
		struct sk_buff *skb = alloc_skb(0, GFP_KERNEL);

		KUNIT_ASSERT_NOT_NULL(test, skb);
		for (i = 0; i < LATE_FRAGS; i++) {
			get_page(feed_world.page);
			skb_add_rx_frag(skb, i, feed_world.page, 0, o->len, o->len);
		}
		feed_queue(skb, 0);
	}
}

static const u32 late_eachs[] = { 1, 64 };

static void late_desc(const u32 *each, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "one of %u has a byte", *each);
}

KUNIT_ARRAY_PARAM(late, late_eachs, late_desc);

/*
 * Let RX read @segments segments in one call, while a timer is set to invalidate the region's STag.
 * Return 1 if the invalidation ran during the call; 0 if the call ended before the invalidation was
 * due, since a timer runs one tick later at the earliest. Return -EAGAIN if the invalidation ran
 * before the call, as the host had taken the processor away; or if it was due, but did not run by
 * the end of the call, since softirqs were left to ksoftirqd, which waits for this thread.
 */
static int late_run(struct kunit *test, u32 segments)
{
	unsigned long end;
	bool pending;

	late = (struct late) {};
	feed_begin(test, false, false);
	/* After a long read TCP divides by rcv_mss, so it must not be 0. */
	inet_csk(single.p->sock->sk)->icsk_ack.rcv_mss = TCP_MSS_DEFAULT;
	late_make(test, *(const u32 *)test->param_value, segments);
	timer_setup(&late.timer, late_comes, 0);
	mod_timer(&late.timer, jiffies + LATE_TICKS);
	WRITE_ONCE(late.in_call, true);
	srnic_driver_ops.kick_rx(&single.qp->ibqp);
	end = jiffies;
	WRITE_ONCE(late.in_call, false);
	pending = timer_delete_sync(&late.timer);
	if (late.amid)
		return 1;
	return pending && !time_after(end, late.timer.expires + 1) ? 0 : -EAGAIN;
}

/*
 * Repeat late_run() until its timer invalidates the STag during a call of RX. If RX returns before
 * the timer is due, repeat with a stream of twice the length.
 */
static void late_run_amid(struct kunit *test)
{
	u32 segments = LATE_SEGMENTS;
	int came, put_off = 0;

	for (came = late_run(test, segments); came <= 0; came = late_run(test, segments)) {
		feed_end(test);
		if (came)
			put_off++;
		else
			segments *= 2;
		KUNIT_ASSERT_LE(test, segments, LATE_SEGMENTS_MOST);
		KUNIT_ASSERT_LE(test, put_off, LATE_PUT_OFF);
		schedule_timeout_uninterruptible(1);
	}
}

/*
 * A call of RX in process context reads all FPDUs that have arrived. However short the Writes are,
 * an invalidation of their STag must not wait for the end of the call, and nothing is placed after
 * it. RX delays the invalidation by the same time in each run, so the shortest delay counts: in
 * other runs the host may have taken the processor away.
 */
static void rx_short_writes_do_not_hold_off_an_invalidation(struct kunit *test)
{
	int runs;

	late_run_amid(test);
	for (runs = 1; runs < LATE_RUNS && late.ticks > 1; runs++) {
		feed_end(test);
		late_run_amid(test);
	}
	KUNIT_EXPECT_TRUE(test, late.amid);
	KUNIT_EXPECT_TRUE(test, late.placed);
	KUNIT_EXPECT_LE(test, late.ticks, 1);
	KUNIT_EXPECT_EQ(test, feed_err(), SRNIC_ERR_WRITE_STAG);
	KUNIT_EXPECT_PTR_EQ(test, memchr_inv(feed_region(0), LATE_REFILLED, FEED_REGION), NULL);
	feed_end(test);
}

static struct kunit_case rx_cases[] = {
	KUNIT_CASE_PARAM(rx_bad_crc_in_the_middle, middle_gen_params),
	KUNIT_CASE_PARAM(rx_region_ends_in_the_middle, middle_gen_params),
	KUNIT_CASE_PARAM(rx_short_writes_do_not_hold_off_an_invalidation, late_gen_params),
	{}
};

static struct kunit_suite rx_suite = {
	.name = "srnic_rx",
	.init = feed_init,
	.exit = feed_exit,
	.test_cases = rx_cases,
};

kunit_test_suite(rx_suite);

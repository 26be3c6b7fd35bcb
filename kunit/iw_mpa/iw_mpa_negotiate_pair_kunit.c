// SPDX-License-Identifier: GPL-2.0
/*
 * Two ends negotiate with each other, over the wire format, with random parameters: the results of
 * both must fit together (RFC 6581 9.1 and 9.2, RFC 5044 7.1.1).
 */

#include <kunit/test.h>
#include <linux/bitops.h>
#include <linux/prandom.h>
#include <linux/string.h>

#include "reason.h"

#define ULP	IW_MPA_DEPTH_ULP
#define SEED	6581
#define ROUNDS	20000

/* One negotiation: two ends, the frames as each received them, and the results */
struct pair {
	struct kunit		*test;
	struct iw_mpa_local	ini, res;
	struct iw_mpa_frame	req, rep;
	struct iw_mpa_params	ini_got, res_got;
	enum iw_mpa_reason	ini_says, res_says;
	unsigned int		round;
	unsigned int		raised;	/* rounds in which a Read raised IRD from 0 */
	u8			buf[IW_MPA_FRAME_MAX];
};

#define EXPECT(cond)	KUNIT_ASSERT_TRUE_MSG(p->test, cond, "seed %u, round %u", SEED, p->round)
#define IMPLIES(a, b)	(!(a) || (b))

static u16 random_limit(struct rnd_state *rnd)
{
	static const u16 limits[] = { 0, 1, 2, 16, 128, IW_MPA_DEPTH_MAX };

	return limits[prandom_u32_state(rnd) % ARRAY_SIZE(limits)];
}

/*
 * A random IRD or ORD from 0 to @limit, of which 0 and @limit are more frequent; or 0x3fff, by
 * which an end leaves the value to the ULPs (RFC 6581 9.1)
 */
static u16 random_depth(struct rnd_state *rnd, u16 limit)
{
	switch (prandom_u32_state(rnd) % 8) {
	case 0:
		return 0;
	case 1:
		return limit;
	case 2:
		return ULP;
	}
	return prandom_u32_state(rnd) % (limit + 1);
}

/*
 * Random parameters that iw_mpa_proto.h allows. A device whose max_ird is 0 has to accept an RTR
 * type other than Read.
 */
static void random_local(struct rnd_state *rnd, struct iw_mpa_local *local)
{
	u32 bits = prandom_u32_state(rnd);

	memset(local, 0, sizeof(*local));
	local->max_ird = random_limit(rnd);
	local->max_ord = random_limit(rnd);
	local->ird = random_depth(rnd, local->max_ird);
	local->ord = random_depth(rnd, local->max_ord);
	local->rev = bits & 7 ? 2 : 1;
	local->rtr_send = (bits >> 3) & IW_MPA_RTR_ALL;
	local->rtr_accept = (bits >> 6) & IW_MPA_RTR_ALL;
	if (!(local->rtr_accept & ~(local->max_ird ? 0 : IW_MPA_RTR_READ)))
		local->rtr_accept |= IW_MPA_RTR_WRITE;
	local->p2p = bits & BIT(9);
	local->crc = bits & BIT(10);
	local->rx_markers = (bits & BIT(11)) && (bits & BIT(12));
	local->tx_markers = bits & BIT(13);
	local->strict = (bits & BIT(14)) && (bits & BIT(15));
}

/* Encode @sent, and decode the bytes as the other end does. */
static void over_the_wire(struct pair *p, const struct iw_mpa_frame *sent,
			  struct iw_mpa_frame *received)
{
	int len = iw_mpa_frame_encode(sent, p->buf, sizeof(p->buf));

	EXPECT(len > 0);
	EXPECT(iw_mpa_frame_decode(p->buf, len, sent->reply, received) == IW_MPA_R_OK);
}

static void pair_negotiate(struct pair *p)
{
	struct iw_mpa_frame req, rep;

	iw_mpa_make_request(&p->ini, &req);
	over_the_wire(p, &req, &p->req);
	p->res_says = iw_mpa_negotiate_request(&p->res, &p->req, &rep, &p->res_got);
	over_the_wire(p, &rep, &p->rep);
	p->ini_says = iw_mpa_negotiate_reply(&p->ini, &req, &p->rep, &p->ini_got);
}

/* Also after a failed negotiation IRD, ORD and RTR types are within the limits of the device. */
static void expect_limits(struct pair *p, const struct iw_mpa_local *local,
			  const struct iw_mpa_params *params)
{
	EXPECT(params->ird <= local->max_ird && params->ord <= local->max_ord);
	EXPECT(!(params->rtr & ~(params->initiator ? local->rtr_send : local->rtr_accept)));
}

static void expect_same_stream(struct pair *p)
{
	const struct iw_mpa_params *i = &p->ini_got, *r = &p->res_got;

	EXPECT(i->crc == r->crc);
	EXPECT(i->crc == (p->ini.crc || p->res.crc));
	EXPECT(i->tx_markers == r->rx_markers && i->rx_markers == r->tx_markers);
	EXPECT(IMPLIES(i->tx_markers, p->ini.tx_markers));
	EXPECT(IMPLIES(r->tx_markers, p->res.tx_markers));
	EXPECT(i->rev == r->rev && i->rev <= p->ini.rev);
	EXPECT(i->enhanced == r->enhanced && i->enhanced == (p->ini.rev == 2));
	EXPECT(i->initiator && !r->initiator);
}

static void expect_fitting_depths(struct pair *p)
{
	const struct iw_mpa_params *i = &p->ini_got, *r = &p->res_got;

	if (!i->enhanced)
		return;

	EXPECT(p->req.ord == ULP || i->ord <= r->ird);
	EXPECT(p->req.ird == ULP || r->ord <= i->ird);
	EXPECT((p->req.ord == ULP) == (p->rep.ird == ULP));
	EXPECT((p->req.ird == ULP) == (p->rep.ord == ULP));
	EXPECT(r->peer_ird == p->req.ird && r->peer_ord == p->req.ord);
	EXPECT(i->peer_ird == p->rep.ird && i->peer_ord == p->rep.ord);
}

/* RTR types that the initiator can send */
static u8 can_send(const struct pair *p)
{
	return p->ini.rtr_send & (p->ini.max_ord ? IW_MPA_RTR_ALL : ~IW_MPA_RTR_READ);
}

/*
 * RTR types that the responder can accept. Read needs an IRD above 0. If the Request's ORD is
 * 0x3fff, an IRD of 0 is raised only if the responder accepts no other type than Read.
 */
static u8 can_take(const struct pair *p)
{
	bool kept_at_0 = !p->res.ird && p->req.ord == ULP;
	u8 others = p->res.rtr_accept & ~IW_MPA_RTR_READ;

	return others && (kept_at_0 || !p->res.max_ird) ? others : p->res.rtr_accept;
}

/*
 * A Request names the RTR types that the initiator can send. A Reply names those of them that the
 * responder accepts; if it accepts none of them, all that it accepts.
 */
static void expect_rtr_named(struct pair *p)
{
	u8 both = p->req.rtr & can_take(p);

	EXPECT(p->req.rtr == (p->req.p2p ? can_send(p) : 0));
	EXPECT(p->req.p2p == (p->req.enhanced && p->ini.p2p && can_send(p)));
	EXPECT(p->rep.p2p == p->req.p2p && p->res_got.p2p == p->req.p2p);
	EXPECT(p->rep.rtr == p->res_got.rtr);
	if (!p->req.p2p) {
		EXPECT(!p->rep.rtr);
		return;
	}
	EXPECT(p->rep.rtr == (both ?: can_take(p)));
	if (!(p->rep.rtr & IW_MPA_RTR_READ))
		return;
	EXPECT(p->res_got.ird);
	if (p->res.ird || p->req.ord != ULP)
		return;
	EXPECT(p->rep.rtr == IW_MPA_RTR_READ && p->res_got.ird == 1);
	p->raised++;
}

static void expect_common_rtr(struct pair *p)
{
	const struct iw_mpa_params *i = &p->ini_got, *r = &p->res_got;

	EXPECT(i->p2p == r->p2p);
	EXPECT(i->p2p == (i->enhanced && p->ini.p2p && can_send(p)));
	if (!i->p2p) {
		EXPECT(!i->rtr && !r->rtr);
		return;
	}
	EXPECT(hweight8(i->rtr) == 1);
	EXPECT(i->rtr & r->rtr);
	EXPECT(i->rtr & p->ini.rtr_send);
	EXPECT(i->rtr & p->res.rtr_accept);
	EXPECT(!(r->rtr & ~p->res.rtr_accept));
	EXPECT(IMPLIES(i->rtr == IW_MPA_RTR_READ, i->ord && r->ird));
}

/*
 * A Reject gives the initiator the reason REJECTED. Its format (with or without RFC 6581 data) and
 * its bit A follow the Request, as in other Replies.
 */
static void expect_rejected(struct pair *p)
{
	EXPECT(p->rep.reject);
	EXPECT(p->ini_says == IW_MPA_R_REJECTED);
	EXPECT(p->rep.enhanced == p->req.enhanced);
	EXPECT(p->rep.p2p == p->req.p2p);
	if (p->res_says == IW_MPA_R_BAD_REV) {
		EXPECT(p->req.rev == 2 && p->res.rev == 1);
		return;
	}
	if (p->res_says == IW_MPA_R_MARKERS) {
		EXPECT(p->ini.rx_markers && !p->res.tx_markers);
		return;
	}
	EXPECT(p->res_says == IW_MPA_R_INSUFFICIENT_IRD);
	EXPECT(p->res.strict && p->rep.ord > p->req.ird);
}

/*
 * Check that an initiator which refuses a Reply without bit R (Reject) has a reason to. A Terminate
 * message follows, so both ends must agree on whether FPDUs have a CRC.
 */
static void expect_refused(struct pair *p)
{
	EXPECT(p->ini_got.crc == p->res_got.crc);
	switch (p->ini_says) {
	case IW_MPA_R_MARKERS:
		EXPECT(p->res.rx_markers && !p->ini.tx_markers);
		return;
	case IW_MPA_R_INSUFFICIENT_IRD:
		EXPECT(p->ini.strict);
		return;
	case IW_MPA_R_NO_RTR:
		EXPECT(!(can_send(p) & p->rep.rtr));
		EXPECT(!(can_send(p) & can_take(p)));
		return;
	default:
		KUNIT_FAIL(p->test, "seed %u, round %u: initiator: %s", SEED, p->round,
			   iw_mpa_reason_name(p->ini_says));
	}
}

/*
 * Rules: E-9.1-2b E-9.1-5 E-9.1-6 E-9.1-9 E-9.1-11: IRD and ORD of both ends; E-9.2-4: the bit A of
 * each Reply that rejects; E-9.2-8: both ends choose the same RTR type; M-4.4-2 M-7.1.1-8: both
 * ends use CRC, or neither does
 */
static void negotiate_random_pair_ends_fit(struct kunit *test)
{
	unsigned int seen[IW_MPA_R_COUNT] = {}, models[2] = {};
	struct rnd_state rnd;
	struct pair *p;

	prandom_seed_state(&rnd, SEED);
	p = kunit_kzalloc(test, sizeof(*p), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, p);
	p->test = test;

	for (p->round = 0; p->round < ROUNDS; p->round++) {
		/* Arrange */
		random_local(&rnd, &p->ini);
		random_local(&rnd, &p->res);

		/* Act */
		pair_negotiate(p);

		/* Assert */
		expect_limits(p, &p->ini, &p->ini_got);
		expect_limits(p, &p->res, &p->res_got);
		seen[p->res_says ?: p->ini_says]++;
		if (p->res_says) {
			expect_rejected(p);
			continue;
		}
		EXPECT(!p->rep.reject);
		expect_rtr_named(p);
		if (p->ini_says) {
			expect_refused(p);
			continue;
		}
		expect_same_stream(p);
		expect_fitting_depths(p);
		expect_common_rtr(p);
		models[p->ini_got.p2p]++;
	}

	/* Assert: each result has occurred, otherwise the checks of it would prove nothing */
	KUNIT_EXPECT_GT(test, seen[IW_MPA_R_OK], ROUNDS / 4);
	KUNIT_EXPECT_GT(test, seen[IW_MPA_R_BAD_REV], 100);
	KUNIT_EXPECT_GT(test, seen[IW_MPA_R_MARKERS], 100);
	KUNIT_EXPECT_GT(test, seen[IW_MPA_R_INSUFFICIENT_IRD], 100);
	KUNIT_EXPECT_GT(test, seen[IW_MPA_R_NO_RTR], 100);
	KUNIT_EXPECT_GT(test, p->raised, 10);
	KUNIT_EXPECT_GT(test, models[0], 1000);
	KUNIT_EXPECT_GT(test, models[1], 1000);
}

static struct kunit_case negotiate_pair_cases[] = {
	KUNIT_CASE(negotiate_random_pair_ends_fit),
	{}
};

static struct kunit_suite negotiate_pair_suite = {
	.name = "iw_mpa_negotiate_pair",
	.test_cases = negotiate_pair_cases,
};

kunit_test_suite(negotiate_pair_suite);

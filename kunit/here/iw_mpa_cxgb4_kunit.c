// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of cxgb4_mpa, the MPA startup code for iw_cxgb4, with a fake adapter: every kind of startup
 * frame, well-formed or not, in both roles, received in pieces. The tests check the bytes of frames
 * that cxgb4_mpa sends, and do not decode them: iw_mpa's decoder might share a fault with iw_mpa's
 * encoder, which built the frames.
 */

#include "cxgb4_adapter.h"

#include <linux/unaligned.h>

#define OK	IW_MPA_R_OK

/* Return the next well-formed frame of good_rows that is a Reply if @reply, else a Request. */
static const void *good_of(const void *prev, char *desc, bool reply)
{
	const struct good_row *row = prev;

	do {
		row = good_gen_params(row, desc);
	} while (row && row->want.reply != reply);
	return row;
}

static const void *good_request_gen_params(const void *prev, char *desc)
{
	return good_of(prev, desc, false);
}

static const void *good_reply_gen_params(const void *prev, char *desc)
{
	return good_of(prev, desc, true);
}

/*
 * Expect in @event the private data of the frame @octets, cut to 255 bytes, since private_data_len
 * of struct iw_cm_event has 8 bits.
 */
static void expect_pd(struct kunit *test, const struct c4mpa_event *event,
		      const struct iw_mpa_frame *peer, const u8 *octets)
{
	KUNIT_ASSERT_EQ(test, event->pd_len, min_t(u16, peer->pd_len, 255));
	octets += peer->enhanced ? 24 : 20;
	if (peer->pd_len)
		KUNIT_EXPECT_EQ(test, memcmp(event->pd, octets, event->pd_len), 0);
}

static void expect_depths(struct kunit *test, const struct c4mpa_event *event,
			  const struct iw_mpa_frame *peer)
{
	u16 ird = peer->enhanced ? peer->ird : MAX_ORD, ord = peer->enhanced ? peer->ord : MAX_IRD;

	KUNIT_EXPECT_EQ(test, event->depths.ird, min_t(u16, ird, 255));
	KUNIT_EXPECT_EQ(test, event->depths.ord, min_t(u16, ord, 255));
}

/* Responder */

static void expect_asked(struct kunit *test, const struct adapter *a,
			 const struct iw_mpa_frame *req, const u8 *octets)
{
	KUNIT_ASSERT_EQ(test, a->events, 1);
	KUNIT_EXPECT_EQ(test, a->event[0].type, C4MPA_CONNECT_REQUEST);
	KUNIT_EXPECT_EQ(test, a->event[0].status, 0);
	expect_depths(test, &a->event[0], req);
	expect_pd(test, &a->event[0], req, octets);
	KUNIT_EXPECT_EQ(test, a->out_len, 0);
	KUNIT_EXPECT_EQ(test, a->starts, 0);
	KUNIT_EXPECT_TRUE(test, a->armed);
}

/*
 * Return the one RTR type that a responder's device awaits, or 0. For a Request of revision 1 it is
 * Read, as the device's settings say. For a Request of revision 2 it is 0 if the Request asks for
 * no RTR message, Write if the Request names Write and not Read, and Read in all other cases.
 */
static u8 rtr_awaited(const struct iw_mpa_frame *req)
{
	if (!req->enhanced)
		return req->rev == 1 ? R : 0;
	if (!req->p2p)
		return 0;
	return (req->rtr & (W | R)) == W ? W : R;
}

/* Expect a Reply in @a->out: key, flags, revision, length, RFC 6581 data, private data @pd */
static void expect_reply(struct kunit *test, const struct adapter *a,
			 const struct iw_mpa_frame *req, bool reject, const char *pd)
{
	size_t enh = req->enhanced ? 4 : 0, len = strlen(pd);
	u8 flags = 0x40 | (req->enhanced ? 0x10 : 0) | (reject ? 0x20 : 0);
	u16 first, second;

	KUNIT_ASSERT_EQ(test, a->out_len, 20 + enh + len);
	KUNIT_EXPECT_EQ(test, memcmp(a->out, REP, 16), 0);
	KUNIT_EXPECT_EQ(test, a->out[16], flags);
	KUNIT_EXPECT_EQ(test, a->out[17], req->rev);
	KUNIT_EXPECT_EQ(test, get_unaligned_be16(a->out + 18), enh + len);
	KUNIT_EXPECT_EQ(test, memcmp(a->out + 20 + enh, pd, len), 0);
	if (!enh)
		return;
	first = get_unaligned_be16(a->out + 20);
	second = get_unaligned_be16(a->out + 22);
	KUNIT_EXPECT_EQ(test, !!(first & 0x8000), req->p2p);
	KUNIT_EXPECT_EQ(test, first & 0x4000, 0);
	KUNIT_EXPECT_EQ(test, !!(second & 0x8000), req->p2p && rtr_awaited(req) == W);
	KUNIT_EXPECT_EQ(test, !!(second & 0x4000), req->p2p && rtr_awaited(req) == R);
	if (req->ord == 0x3fff)
		KUNIT_EXPECT_EQ(test, first & 0x3fff, 0x3fff);
	else
		KUNIT_EXPECT_LE(test, first & 0x3fff, MAX_IRD);
	if (req->ird == 0x3fff)
		KUNIT_EXPECT_EQ(test, second & 0x3fff, 0x3fff);
	else
		KUNIT_EXPECT_LE(test, second & 0x3fff, min_t(u16, req->ird, MAX_ORD));
}

static void expect_accepted(struct kunit *test, const struct adapter *a,
			    const struct iw_mpa_frame *req)
{
	const struct iw_mpa_params *p = &a->program;

	KUNIT_EXPECT_EQ(test, a->starts, 1);
	KUNIT_EXPECT_FALSE(test, p->initiator);
	KUNIT_EXPECT_TRUE(test, p->crc);
	KUNIT_EXPECT_EQ(test, p->tx_markers, req->markers);
	KUNIT_EXPECT_FALSE(test, p->rx_markers);
	KUNIT_EXPECT_EQ(test, p->rev, req->rev);
	KUNIT_EXPECT_EQ(test, p->enhanced, req->enhanced);
	KUNIT_EXPECT_EQ(test, p->rtr, rtr_awaited(req));
	KUNIT_EXPECT_LE(test, p->ird, MAX_IRD);
	KUNIT_EXPECT_LE(test, p->ord, req->enhanced ? min_t(u16, req->ird, MAX_ORD) : MAX_ORD);
	KUNIT_ASSERT_EQ(test, a->events, 2);
	KUNIT_EXPECT_EQ(test, a->event[1].type, C4MPA_ESTABLISHED);
	KUNIT_EXPECT_EQ(test, a->event[1].status, 0);
	KUNIT_EXPECT_EQ(test, a->event[1].pd_len, 0);
	expect_depths(test, &a->event[1], req);
	KUNIT_EXPECT_EQ(test, a->conn.why, OK);
}

static void cxgb4_good_request_is_asked_about_and_answered(struct kunit *test)
{
	const struct good_row *row = test->param_value;
	struct adapter *a = adapter_new(test, false);
	u8 *octets = raw_alloc(test, &row->raw);
	enum c4mpa_verdict verdict;
	size_t i;

	for (i = 0; i < 2 * ARRAY_SIZE(pieces); i++) {
		adapter_reset(a, &settings_plain, false);
		verdict = adapter_rx(test, a, octets, raw_len(&row->raw), pieces[i / 2]);
		KUNIT_ASSERT_EQ(test, verdict, C4MPA_GO_ON);
		expect_asked(test, a, &row->want, octets);
		if (i % 2) {
			KUNIT_ASSERT_EQ(test, c4mpa_accept(&a->conn, 4, 2, "welcome", 7), 0);
			expect_reply(test, a, &row->want, false, "welcome");
			expect_accepted(test, a, &row->want);
		} else {
			KUNIT_ASSERT_EQ(test, c4mpa_reject(&a->conn, "no", 2), 0);
			expect_reply(test, a, &row->want, true, "no");
			KUNIT_EXPECT_EQ(test, a->starts, 0);
			KUNIT_EXPECT_EQ(test, a->events, 1);
			KUNIT_EXPECT_EQ(test, a->conn.why, IW_MPA_R_ULP_REJECT);
		}
	}
}

/* Initiator */

/* Does a Reply have bit A, but no RTR type that the device can send? */
static bool no_rtr(const struct iw_mpa_frame *rep)
{
	return rep->enhanced && rep->p2p && !(rep->rtr & (W | R));
}

static void expect_term(struct kunit *test, const struct adapter *a, u8 code)
{
	u8 term[IW_MPA_FPDU_MAX];

	KUNIT_ASSERT_EQ(test, a->out_len, IW_MPA_FPDU_TERM_SIZE);
	KUNIT_EXPECT_EQ(test, memcmp(a->out, term, iw_mpa_fpdu_term(code, true, term)), 0);
	KUNIT_EXPECT_EQ(test, a->out[20], 0x20);
	KUNIT_EXPECT_EQ(test, a->out[21], code);
	KUNIT_EXPECT_EQ(test, a->starts, 0);
}

static void expect_up(struct kunit *test, const struct adapter *a, const struct iw_mpa_frame *rep)
{
	const struct iw_mpa_params *p = &a->program;
	u8 rtr = rep->rev == 1 ? R : rep->p2p ? (rep->rtr & R) ?: W : 0;

	KUNIT_EXPECT_EQ(test, a->out_len, 0);
	KUNIT_EXPECT_EQ(test, a->starts, 1);
	KUNIT_EXPECT_TRUE(test, p->initiator);
	KUNIT_EXPECT_TRUE(test, p->crc);
	KUNIT_EXPECT_EQ(test, p->tx_markers, rep->markers);
	KUNIT_EXPECT_EQ(test, p->rtr, rtr);
	KUNIT_EXPECT_LE(test, p->ird, MAX_IRD);
	KUNIT_EXPECT_LE(test, p->ord, MAX_ORD);
	if (rtr == R)
		KUNIT_EXPECT_GE(test, p->ord, 1);
}

static void expect_answered(struct kunit *test, const struct adapter *a,
			    const struct iw_mpa_frame *rep, int status, const u8 *octets)
{
	KUNIT_ASSERT_EQ(test, a->events, 1);
	KUNIT_EXPECT_EQ(test, a->event[0].type, C4MPA_CONNECT_REPLY);
	KUNIT_EXPECT_EQ(test, a->event[0].status, status);
	expect_depths(test, &a->event[0], rep);
	if (octets)
		expect_pd(test, &a->event[0], rep, octets);
	else
		KUNIT_EXPECT_EQ(test, a->event[0].pd_len, 0);
	KUNIT_EXPECT_FALSE(test, a->armed);
}

static void expect_outcome(struct kunit *test, const struct adapter *a,
			   const struct iw_mpa_frame *rep, const u8 *octets,
			   enum c4mpa_verdict verdict)
{
	if (rep->reject) {
		KUNIT_EXPECT_EQ(test, verdict, C4MPA_CLOSE);
		KUNIT_EXPECT_EQ(test, a->starts, 0);
		expect_answered(test, a, rep, -ECONNREFUSED, octets);
	} else if (no_rtr(rep)) {
		KUNIT_EXPECT_EQ(test, verdict, C4MPA_CLOSE);
		expect_term(test, a, 7);
		expect_answered(test, a, rep, -EPROTO, NULL);
	} else {
		KUNIT_EXPECT_EQ(test, verdict, C4MPA_GO_ON);
		expect_up(test, a, rep);
		expect_answered(test, a, rep, 0, octets);
	}
}

static void take_reply(struct kunit *test)
{
	const struct good_row *row = test->param_value;
	struct adapter *a = adapter_new(test, true);
	u8 *octets = raw_alloc(test, &row->raw);
	enum c4mpa_verdict verdict;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(pieces); i++) {
		adapter_reset(a, &settings_plain, true);
		adapter_connect(test, a);
		verdict = adapter_rx(test, a, octets, raw_len(&row->raw), pieces[i]);
		expect_outcome(test, a, &row->want, octets, verdict);
	}
}

static void cxgb4_good_reply_is_taken_for_what_it_is(struct kunit *test)
{
	take_reply(test);
}

/* Replies to an enhanced Request with bit A, RTR type Read, IRD 4 and ORD 2 */
#define ANSWER(...)	ENH(.reply = true, .p2p = true, .ird = 4, .ord = 2, __VA_ARGS__)

static const struct good_row reply_rows[] = {
	{ "E-9.2-8_read", { REP, 0x50, 2, 4, 4, 0x8004, 0x4002 },
	  ANSWER(.rtr = R) },
	{ "E-9.2-8_write", { REP, 0x50, 2, 7, 7, 0x8004, 0x8002 },
	  ANSWER(.rtr = W, .pd_len = 3) },
	{ "E-9.2-8_write_and_read", { REP, 0x50, 2, 4, 4, 0x8004, 0xc002 },
	  ANSWER(.rtr = W | R) },
	{ "E-9.2-9_send", { REP, 0x50, 2, 4, 4, 0xc004, 0x0002 },
	  ANSWER(.rtr = IW_MPA_RTR_SEND) },
	{ "E-9.2-9_none", { REP, 0x50, 2, 4, 4, 0x8004, 0x0002 },
	  ANSWER() },
	{ "E-9.2-13_without_a", { REP, 0x50, 2, 4, 4, 0x0004, 0x0002 },
	  ENH(.reply = true, .ird = 4, .ord = 2) },
	{ "E-10-1_v2_without_s", { REP, 0x40, 2, 2, 2 }, V2(.reply = true, .pd_len = 2) },
	{ "E-10-1_v1", { REP, 0x40, 1, 0, 0 }, V1(.reply = true) },
	{ "reject_v1", { REP, 0x60, 1, 512, 512 },
	  V1(.reply = true, .reject = true, .pd_len = 512) },
	{ "reject_v2_without_s", { REP, 0x60, 2, 0, 0 }, V2(.reply = true, .reject = true) },
	{ "reject_v2_with_pd", { REP, 0x70, 2, 12, 12, 0x8004, 0x4002 },
	  ANSWER(.reject = true, .rtr = R, .pd_len = 8) },
};

KUNIT_ARRAY_PARAM_DESC(reply, reply_rows, desc);

static void cxgb4_reply_that_fits_the_request_or_not_is_taken(struct kunit *test)
{
	take_reply(test);
}

/* IRD and ORD of a Reply; the expected reason; and IRD and ORD that the QP is programmed with */
static const struct depth_row {
	const char		*desc;
	u16			ird, ord;	/* of the Reply */
	enum iw_mpa_reason	reason;
	u16			want_ird, want_ord;
} depth_rows[] = {
	{ "E-9.1-6_as_asked", 2, 4, OK, 4, 2 },
	{ "E-9.1-6_ird_1", 1, 4, OK, 4, 1 },
	{ "E-9.1-5_ord_above_request", 2, 16, OK, 16, 2 },
	{ "E-9.1-7_ord_above_device", 2, 17, IW_MPA_R_INSUFFICIENT_IRD, 0, 0 },
	{ "E-9.1-7_ord_3ffe", 2, 0x3ffe, IW_MPA_R_INSUFFICIENT_IRD, 0, 0 },
	{ "E-9.1-10_E-9.1-12_3fff", 0x3fff, 0x3fff, OK, 4, 2 },
	{ "E-9.2-9_read_without_ird", 0, 4, IW_MPA_R_NO_RTR, 0, 0 },
};

KUNIT_ARRAY_PARAM_DESC(depth, depth_rows, desc);

static void cxgb4_depths_of_a_reply_are_programmed_or_terminated(struct kunit *test)
{
	const struct depth_row *row = test->param_value;
	const struct raw raw = { REP, 0x50, 2, 4, 4, 0x8000 | row->ird, 0x4000 | row->ord };
	struct adapter *a = adapter_new(test, true);
	u8 *octets = raw_alloc(test, &raw);
	enum c4mpa_verdict verdict;

	adapter_connect(test, a);
	verdict = adapter_rx(test, a, octets, raw_len(&raw), OUT_SIZE);
	KUNIT_EXPECT_EQ(test, a->conn.why, row->reason);
	if (row->reason) {
		KUNIT_EXPECT_EQ(test, verdict, C4MPA_CLOSE);
		expect_term(test, a, row->reason == IW_MPA_R_NO_RTR ? 7 : 6);
		return;
	}
	KUNIT_EXPECT_EQ(test, verdict, C4MPA_GO_ON);
	KUNIT_ASSERT_EQ(test, a->starts, 1);
	KUNIT_EXPECT_EQ(test, a->program.ird, row->want_ird);
	KUNIT_EXPECT_EQ(test, a->program.ord, row->want_ord);
	KUNIT_EXPECT_EQ(test, a->program.rtr, R);
}

/* Compare Requests for several settings, byte by byte up to the first byte of private data. */
static void cxgb4_request_names_one_rtr_type(struct kunit *test)
{
	static const u8 read[] = { 0x50, 2, 0, 9, 0x80, 4, 0x40, 2, 'h' };
	static const u8 write[] = { 0x50, 2, 0, 9, 0x80, 4, 0x80, 2, 'h' };
	static const u8 client_server[] = { 0x90, 2, 0, 9, 0, 4, 0, 2, 'h' };
	static const u8 v1[] = { 0x40, 1, 0, 5, 'h' };
	struct c4mpa_settings settings = settings_plain;
	struct adapter *a = adapter_new(test, true);

#define EXPECT_REQUEST(octets)							\
	do {									\
		adapter_reset(a, &settings, true);				\
		KUNIT_ASSERT_EQ(test, c4mpa_connect(&a->conn, 4, 2, "hello", 5), 0); \
		KUNIT_EXPECT_EQ(test, memcmp(a->out, REQ, 16), 0);		\
		KUNIT_EXPECT_EQ(test, memcmp(a->out + 16, octets, sizeof(octets)), 0); \
		KUNIT_EXPECT_EQ(test, a->out_len, 16 + sizeof(octets) + 4);	\
	} while (0)

	EXPECT_REQUEST(read);
	settings.rtr = W;
	EXPECT_REQUEST(write);
	settings.p2p = false;
	settings.crc = false;
	settings.markers = true;
	EXPECT_REQUEST(client_server);
	settings = settings_plain;
	settings.rev = 1;
	EXPECT_REQUEST(v1);
}

/* A malformed frame, in either role, makes cxgb4_mpa abort the connection and send nothing. */
static void cxgb4_bad_frame_is_aborted(struct kunit *test)
{
	const struct bad_row *row = test->param_value;
	struct adapter *a = adapter_new(test, row->reply);
	u8 *octets = raw_alloc(test, &row->raw);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(pieces); i++) {
		adapter_reset(a, &settings_plain, row->reply);
		if (row->reply)
			adapter_connect(test, a);
		KUNIT_EXPECT_EQ(test, adapter_rx(test, a, octets, raw_len(&row->raw), pieces[i]),
				C4MPA_ABORT);
		KUNIT_EXPECT_EQ(test, a->conn.why, row->reason);
		KUNIT_EXPECT_EQ(test, a->out_len, 0);
		KUNIT_EXPECT_EQ(test, a->starts, 0);
		KUNIT_EXPECT_FALSE(test, a->armed);
		/* A ULP that listens gets no event, one that connects gets an error. */
		KUNIT_ASSERT_EQ(test, a->events, row->reply);
		if (!row->reply)
			continue;
		KUNIT_EXPECT_EQ(test, a->event[0].type, C4MPA_CONNECT_REPLY);
		KUNIT_EXPECT_EQ(test, a->event[0].status, -EPROTO);
		KUNIT_EXPECT_EQ(test, a->event[0].pd_len, 0);
	}
}

static struct kunit_case cxgb4_cases[] = {
	KUNIT_CASE_PARAM(cxgb4_good_request_is_asked_about_and_answered,
			 good_request_gen_params),
	KUNIT_CASE_PARAM(cxgb4_good_reply_is_taken_for_what_it_is, good_reply_gen_params),
	KUNIT_CASE_PARAM(cxgb4_reply_that_fits_the_request_or_not_is_taken, reply_gen_params),
	KUNIT_CASE_PARAM(cxgb4_depths_of_a_reply_are_programmed_or_terminated, depth_gen_params),
	KUNIT_CASE(cxgb4_request_names_one_rtr_type),
	KUNIT_CASE_PARAM(cxgb4_bad_frame_is_aborted, bad_gen_params),
	{}
};

static struct kunit_suite cxgb4_suite = {
	.name = "iw_mpa_cxgb4",
	.test_cases = cxgb4_cases,
};

kunit_test_suite(cxgb4_suite);

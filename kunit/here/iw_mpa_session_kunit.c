// SPDX-License-Identifier: GPL-2.0
/*
 * Sessions of DDP over SCTP: which chunk is legal in which state (RFC 5043 6 and RFC 6581 7), and
 * that chunks are checked in the order of their DDP-SSNs. Names of rules: S-6.1-1 is the first rule
 * of section 6.1 of RFC 5043, E-7-1 the first rule of section 7 of RFC 6581.
 */

#include <kunit/test.h>
#include <linux/ctype.h>
#include <linux/errno.h>
#include <linux/string.h>

#include "reason.h"
#include "session.h"

static void decode(u32 ppid, const u8 *bytes, size_t len,
		   struct iw_mpa_chunk *chunk)
{
	memset(chunk, 0xff, sizeof(*chunk));
	iw_mpa_chunk_decode(ppid, bytes, len, chunk);
}

/*
 * A sequence of chunks is written as a string with a letter for each chunk, a capital one if the
 * active side sends it: s Segment, i Initiate, a Accept, r Reject, t Terminate, e Enhanced
 * Initiate, c Enhanced Accept, x Enhanced Reject; b is a malformed chunk.
 */
static const char letters[] = "siartecxb";

static enum iw_mpa_chunk_code code_of(char letter)
{
	return strchr(letters, tolower(letter)) - letters;
}

static int may_send(const struct iw_mpa_session *session, char letter)
{
	return iw_mpa_session_may_send(session, code_of(letter));
}

/*
 * Receive a chunk with the DDP-SSN that the session expects next. The chunk may be illegal in the
 * session's state, or malformed.
 */
static enum iw_mpa_reason receive(struct iw_mpa_session *session, char letter)
{
	u8 bytes[8] = {};
	struct iw_mpa_chunk chunk;

	bytes[0] = session->rx_ssn >> 8;
	bytes[1] = session->rx_ssn;
	bytes[3] = code_of(letter);
	decode(tolower(letter) == 's' ? IW_MPA_PPID_SEGMENT :
					IW_MPA_PPID_CONTROL,
	       bytes, sizeof(bytes), &chunk);
	return iw_mpa_session_received(session, &chunk);
}

/*
 * Bring a new session, as its active or passive end, to the state after a legal sequence of chunks:
 * send those of this end, and receive those of the peer.
 */
static void walk(struct kunit *test, struct iw_mpa_session *session,
		 bool active, const char *sequence)
{
	u16 tx = 0, rx = 0;

	iw_mpa_session_init(session, active);
	for (; *sequence; sequence++) {
		enum iw_mpa_chunk_code code = code_of(*sequence);

		if (!!isupper(*sequence) != active) {
			KUNIT_ASSERT_EQ_MSG(test, receive(session, *sequence),
					    IW_MPA_R_OK, "at %s", sequence);
			rx++;
		} else {
			KUNIT_ASSERT_EQ_MSG(test, 0,
					    may_send(session, *sequence),
					    "at %s", sequence);
			iw_mpa_session_sent(session, code);
			iw_mpa_session_acked(session);
			tx++;
		}
		KUNIT_ASSERT_EQ(test, session->tx_ssn, tx);
		KUNIT_ASSERT_EQ(test, session->rx_ssn, rx);
	}
}

struct step_row {
	const char	*desc;
	const char	*before;	/* a legal sequence of chunks */
	const char	*next;		/* all chunks that are legal after @before */
};

/* For each state of a session: chunks that lead to it, and chunks that are legal in it */
static const struct step_row step_rows[] = {
	{ "S-6.2-1_nothing", "", "IE" },
	{ "S-6.2-1_initiate", "I", "art" },
	{ "S-6.2-1_accept", "Ia", "SsTt" },
	{ "S-6.2-1_segments", "IaSssS", "SsTt" },
	{ "S-6.2-2_active_terminate", "IaSTs", "st" },
	{ "S-6.2-2_passive_terminate", "IastS", "ST" },
	{ "S-6.2-2_active_first", "IaTst", "" },
	{ "S-6.2-2_passive_first", "IatST", "" },
	{ "S-6.3-1_reject", "Ir", "" },
	{ "S-6.4-1_terminate", "It", "" },
	{ "E-7-1_enhanced_initiate", "E", "cxt" },
	{ "E-7-1_enhanced_accept", "Ec", "SsTt" },
	{ "E-7-1_enhanced_segments", "EcSsSs", "SsTt" },
	{ "E-7-7_enhanced_active", "EcTs", "st" },
	{ "E-7-7_enhanced_passive", "EctS", "ST" },
	{ "E-7-7_enhanced_end", "EcTt", "" },
	{ "E-7-1_enhanced_reject", "Ex", "" },
	{ "E-7-7_enhanced_terminate", "Et", "" },
};

KUNIT_ARRAY_PARAM_DESC(step, step_rows, desc);

/*
 * Return the state of an end after an illegal chunk from its peer: BROKEN if this end may still
 * send a Terminate, OVER if it has sent its last chunk or the session has ended.
 */
static enum iw_mpa_session_state broken(const struct step_row *row, bool active)
{
	bool ended = strpbrk(row->before, active ? "T" : "trx");

	return ended || !*row->next ? IW_MPA_SESSION_OVER :
				      IW_MPA_SESSION_BROKEN;
}

static void send_step(struct kunit *test, const struct step_row *row,
		      bool active, char letter)
{
	struct iw_mpa_session session;
	bool legal = strchr(row->next, letter);

	walk(test, &session, active, row->before);
	KUNIT_EXPECT_EQ_MSG(test, legal ? 0 : -EPROTO,
			    may_send(&session, letter),
			    "%c", letter);
}

static void receive_step(struct kunit *test, const struct step_row *row,
			 bool active, char letter)
{
	struct iw_mpa_session session;
	enum iw_mpa_reason reason;
	bool legal = strchr(row->next, letter);

	/* A plain Reject of an Enhanced Initiate is accepted, but this end never sends one. */
	legal |= letter == 'r' && !strcmp(row->before, "E");
	walk(test, &session, active, row->before);

	reason = receive(&session, letter);

	KUNIT_EXPECT_EQ_MSG(test, legal, !reason, "%c", letter);
	if (legal)
		KUNIT_EXPECT_NE_MSG(test, session.state, IW_MPA_SESSION_BROKEN,
				    "%c", letter);
	else
		KUNIT_EXPECT_EQ_MSG(test, session.state, broken(row, active),
				    "%c", letter);
}

/*
 * Rules: S-6.1-1: the DDP-SSNs of each direction, which are counted from 0; S-6.1-2 S-6.2-1
 * S-6.5-1: for each chunk, each side and each point of a session whether the chunk may be sent, and
 * whether it is accepted; S-6.1-3: an illegal chunk ends the session with an error; E-7-1 E-7-7:
 * for each enhanced chunk and each point of a session whether the chunk may be sent, and whether it
 * is accepted
 */
static void session_each_chunk_at_each_point(struct kunit *test)
{
	size_t i;

	for (i = 0; i < sizeof(letters) - 1; i++) {
		send_step(test, test->param_value, true, toupper(letters[i]));
		send_step(test, test->param_value, false, letters[i]);
		receive_step(test, test->param_value, false, toupper(letters[i]));
		receive_step(test, test->param_value, true, letters[i]);
	}
}

/*
 * A peer may answer an Enhanced Initiate by a Reject of RFC 5043, which ends the session like an
 * Enhanced Reject: RFC 6581 7 demands an Enhanced Reject only if the enhanced data is the reason,
 * not if the peer's ULP refuses.
 */
static void session_reject_of_enhanced_taken(struct kunit *test)
{
	struct iw_mpa_session session;

	walk(test, &session, true, "E");

	KUNIT_EXPECT_EQ(test, receive(&session, 'r'), IW_MPA_R_OK);
	KUNIT_EXPECT_EQ(test, session.state, IW_MPA_SESSION_OVER);
}

/* Illegal chunks, and the reason that is returned for each */

static const struct fault_row {
	const char		*desc;
	bool			active;		/* the active end receives @fault */
	const char		*before;
	char			fault;
	enum iw_mpa_reason	reason;
} fault_rows[] = {
	{ "segment_first", false, "", 'S', IW_MPA_R_BAD_KEY },
	{ "terminate_first", false, "", 'T', IW_MPA_R_BAD_KEY },
	{ "accept_first", false, "", 'A', IW_MPA_R_SAME_ROLE },
	{ "reject_first", false, "", 'X', IW_MPA_R_SAME_ROLE },
	{ "unasked_accept", true, "", 'a', IW_MPA_R_BAD_KEY },
	{ "initiate_twice", false, "I", 'I', IW_MPA_R_BAD_KEY },
	{ "enhanced_initiate_twice", false, "E", 'E', IW_MPA_R_BAD_KEY },
	{ "segment_before_accept", false, "I", 'S', IW_MPA_R_BAD_KEY },
	{ "two_initiators", true, "I", 'i', IW_MPA_R_SAME_ROLE },
	{ "two_enhanced_initiators", true, "E", 'e', IW_MPA_R_SAME_ROLE },
	{ "two_initiators_at_once", true, "", 'i', IW_MPA_R_SAME_ROLE },
	{ "segment_for_an_answer", true, "I", 's', IW_MPA_R_BAD_KEY },
	{ "enhanced_accept", true, "I", 'c', IW_MPA_R_BAD_REV },
	{ "enhanced_reject", true, "I", 'x', IW_MPA_R_BAD_REV },
	{ "unenhanced_accept", true, "E", 'a', IW_MPA_R_BAD_REV },
	{ "accept_twice", true, "Ia", 'a', IW_MPA_R_BAD_KEY },
	{ "reject_after_accept", true, "Ec", 'x', IW_MPA_R_BAD_KEY },
	{ "initiate_after_accept", false, "Ia", 'I', IW_MPA_R_BAD_KEY },
	{ "segment_after_terminate", false, "IaT", 'S', IW_MPA_R_BAD_KEY },
	{ "terminate_twice", true, "Iat", 't', IW_MPA_R_BAD_KEY },
	{ "segment_after_the_end", true, "Ir", 's', IW_MPA_R_BAD_KEY },
	{ "short_enhanced", false, "", 'b', IW_MPA_R_BAD_KEY },
};

KUNIT_ARRAY_PARAM_DESC(fault, fault_rows, desc);

/*
 * Rules: S-6.1-3: the reason that is returned for an illegal chunk; E-7-1: the reason BAD_REV for a
 * plain answer to an enhanced request, and for an enhanced answer to a plain one
 */
static void session_fault_reason_named(struct kunit *test)
{
	const struct fault_row *row = test->param_value;
	struct iw_mpa_session session;

	walk(test, &session, row->active, row->before);

	KUNIT_EXPECT_EQ(test, receive(&session, row->fault), row->reason);
}

/*
 * Rules: S-6.1-3 S-5.2.3-4: a malformed chunk breaks the session with the decoder's reason, when
 * its DDP-SSN is the next one
 */
static void session_bad_chunk_breaks_in_its_turn(struct kunit *test)
{
	static const u8 short_enhanced[] = { 0, 0, 0, 5, 0, 1 };
	struct iw_mpa_session session;
	struct iw_mpa_chunk chunk;

	iw_mpa_session_init(&session, false);
	decode(IW_MPA_PPID_CONTROL, short_enhanced, sizeof(short_enhanced),
	       &chunk);

	KUNIT_EXPECT_EQ(test, iw_mpa_session_place(&session, chunk.ssn, 8),
			IW_MPA_PLACE_NEXT);
	KUNIT_EXPECT_EQ(test, iw_mpa_session_received(&session, &chunk),
			IW_MPA_R_SHORT_ENHANCED);
	KUNIT_EXPECT_EQ(test, session.state, IW_MPA_SESSION_BROKEN);
}

static const struct side_row {
	const char	*desc;
	bool		active;		/* this end is the active one */
	const char	*letters;	/* the peer's chunks: two illegal ones, Terminate */
} side_rows[] = {
	{ "active", true, "ast" },
	{ "passive", false, "IST" },
};

KUNIT_ARRAY_PARAM_DESC(side, side_rows, desc);

/*
 * Rules: S-6.1-3: after a violation nothing may be sent but one Terminate; S-6.2-2: the Terminate
 * is due until it is sent, or the peer's has arrived
 */
static void session_broken_one_terminate(struct kunit *test)
{
	const struct side_row *row = test->param_value;
	struct iw_mpa_session session;
	size_t i;

	walk(test, &session, row->active, "Ia");
	KUNIT_ASSERT_NE(test, receive(&session, row->letters[0]), IW_MPA_R_OK);

	for (i = 0; i < sizeof(letters) - 1; i++)
		KUNIT_EXPECT_EQ_MSG(test, letters[i] == 't' ? 0 : -EPROTO,
				    may_send(&session, letters[i]),
				    "%c", letters[i]);
	KUNIT_EXPECT_TRUE(test, iw_mpa_session_owes_terminate(&session));
	KUNIT_EXPECT_EQ(test, receive(&session, row->letters[1]),
			IW_MPA_R_BAD_KEY);
	KUNIT_EXPECT_EQ(test, session.state, IW_MPA_SESSION_BROKEN);

	iw_mpa_session_sent(&session, IW_MPA_CHUNK_TERMINATE);

	KUNIT_EXPECT_EQ(test, session.state, IW_MPA_SESSION_OVER);
	KUNIT_EXPECT_FALSE(test, iw_mpa_session_owes_terminate(&session));
	KUNIT_EXPECT_EQ(test, -EPROTO, may_send(&session, 't'));
	KUNIT_EXPECT_EQ(test, receive(&session, row->letters[2]),
			IW_MPA_R_BAD_KEY);
	KUNIT_EXPECT_EQ(test, session.state, IW_MPA_SESSION_OVER);
}

/*
 * After an illegal chunk of the peer this end has to send a Terminate. If a Terminate of the peer
 * arrives first, the session is over, and this end does not have to send one any more.
 */
static void session_broken_peer_terminates(struct kunit *test)
{
	const struct side_row *row = test->param_value;
	struct iw_mpa_session session;

	walk(test, &session, row->active, "Ia");
	KUNIT_ASSERT_NE(test, receive(&session, row->letters[0]), IW_MPA_R_OK);

	KUNIT_EXPECT_EQ(test, receive(&session, row->letters[2]), IW_MPA_R_OK);
	KUNIT_EXPECT_FALSE(test, iw_mpa_session_owes_terminate(&session));
	KUNIT_EXPECT_EQ(test, session.state, IW_MPA_SESSION_OVER);
}

/*
 * Rules: S-10-4: the state if a receiver breaks the session, as it may for a DDP-SSN beyond the
 * window
 */
static void session_break_state(struct kunit *test)
{
	struct iw_mpa_session session;

	walk(test, &session, true, "Ia");
	iw_mpa_session_break(&session);
	KUNIT_EXPECT_EQ(test, session.state, IW_MPA_SESSION_BROKEN);

	walk(test, &session, true, "IaT");
	iw_mpa_session_break(&session);
	KUNIT_EXPECT_EQ(test, session.state, IW_MPA_SESSION_OVER);

	walk(test, &session, true, "Iat");
	iw_mpa_session_break(&session);
	KUNIT_EXPECT_EQ(test, session.state, IW_MPA_SESSION_BROKEN);
}

/* Which received chunk is the next by its DDP-SSN, and which DDP-SSN the next sent chunk gets */

static const struct place_row {
	const char			*desc;
	u16				expected;
	u16				ssn;
	u16				window;
	enum iw_mpa_session_place	place;
} place_rows[] = {
	{ "S-6.1-1_first", 0, 0, 1, IW_MPA_PLACE_NEXT },
	{ "next", 77, 77, 1, IW_MPA_PLACE_NEXT },
	{ "S-5.2.1-2_2_before_1", 1, 2, 64, IW_MPA_PLACE_AHEAD },
	{ "last_of_the_window", 1, 64, 64, IW_MPA_PLACE_AHEAD },
	{ "S-10-4_after_the_window", 1, 65, 64, IW_MPA_PLACE_INVALID },
	{ "S-10-4_40000", 1, 40000, 64, IW_MPA_PLACE_INVALID },
	{ "S-10-4_nothing_is_kept", 1, 2, 1, IW_MPA_PLACE_INVALID },
	{ "S-6-1_repeated", 5, 4, 64, IW_MPA_PLACE_INVALID },
	{ "wrap", 0xffff, 0, 64, IW_MPA_PLACE_AHEAD },
	{ "wrap_next", 0, 0, 64, IW_MPA_PLACE_NEXT },
	{ "wrap_repeated", 0, 0xffff, 64, IW_MPA_PLACE_INVALID },
	{ "S-10-4_32767_in_flight", 3, 32770, IW_MPA_SSN_WINDOW_MAX,
	  IW_MPA_PLACE_AHEAD },
	{ "S-10-4_32768_in_flight", 3, 32771, IW_MPA_SSN_WINDOW_MAX,
	  IW_MPA_PLACE_INVALID },
};

KUNIT_ARRAY_PARAM_DESC(place, place_rows, desc);

/* Rules: S-5.2.1-2 S-6-1 S-10-4: by its DDP-SSN a chunk is the next one, ahead of it, or invalid */
static void session_place_each(struct kunit *test)
{
	const struct place_row *row = test->param_value;
	const struct iw_mpa_session session = { .rx_ssn = row->expected };

	KUNIT_EXPECT_EQ(test, iw_mpa_session_place(&session, row->ssn, row->window),
			row->place);
}

/* The active side's chunks as bytes, indexed by DDP-SSN: Initiate, three Segments, Terminate */
static const u8 sent_chunks[][4] = {
	{ 0, 0, 0, 1 }, { 0, 1 }, { 0, 2 }, { 0, 3 }, { 0, 4, 0, 4 },
};

static void arrives(struct iw_mpa_session *session, bool *held, size_t i)
{
	struct iw_mpa_chunk chunk;
	bool control = !i || i == ARRAY_SIZE(sent_chunks) - 1;

	decode(control ? IW_MPA_PPID_CONTROL : IW_MPA_PPID_SEGMENT,
	       sent_chunks[i], sizeof(sent_chunks[i]), &chunk);
	if (iw_mpa_session_place(session, chunk.ssn, 8) != IW_MPA_PLACE_NEXT) {
		held[i] = true;
		return;
	}
	iw_mpa_session_received(session, &chunk);
	held[i] = false;
}

/* Rules: S-6.1-2 S-5.2.1-2: the state at the end, and the next DDP-SSN, for chunks in any order */
static void session_reordered_judged_in_order(struct kunit *test)
{
	static const u8 orders[][4] = {
		{ 1, 2, 3, 4 }, { 4, 3, 2, 1 }, { 2, 1, 4, 3 }, { 3, 4, 1, 2 },
		{ 4, 1, 2, 3 }, { 2, 3, 4, 1 }, { 1, 4, 3, 2 },
	};
	struct iw_mpa_session session;
	size_t i, j, k;

	for (i = 0; i < ARRAY_SIZE(orders); i++) {
		bool held[ARRAY_SIZE(sent_chunks)] = {};

		walk(test, &session, false, "Ia");
		for (j = 0; j < ARRAY_SIZE(orders[i]); j++) {
			arrives(&session, held, orders[i][j]);
			for (k = 1; k < ARRAY_SIZE(held); k++)
				if (held[k])
					arrives(&session, held, k);
		}
		KUNIT_EXPECT_EQ_MSG(test, session.state,
				    IW_MPA_SESSION_ACTIVE_DONE, "order %zu", i);
		KUNIT_EXPECT_EQ(test, session.rx_ssn, 5);
	}
}

/* Rules: S-6-1: the DDP-SSN of a chunk that SCTP refuses is used for the next one, without a gap */
static void session_ssn_taken_when_sent(struct kunit *test)
{
	struct iw_mpa_session session;
	u32 i;

	walk(test, &session, false, "Ia");
	for (i = 1; i < 0x10010; i++) {
		KUNIT_ASSERT_EQ(test, session.tx_ssn, (u16)i);
		KUNIT_ASSERT_EQ(test, 0, may_send(&session, 's'));
		/* As if SCTP had refused the chunk: only iw_mpa_session_sent() takes a DDP-SSN. */
		if (i & 1)
			KUNIT_ASSERT_EQ(test, 0, may_send(&session, 's'));
		iw_mpa_session_sent(&session, IW_MPA_CHUNK_SEGMENT);
	}
	KUNIT_EXPECT_EQ(test, session.state, IW_MPA_SESSION_OPEN);
}

/* Rules: S-6.1-1: the DDP-SSNs of a further session */
static void session_ssn_restarts_with_a_session(struct kunit *test)
{
	struct iw_mpa_session session;

	walk(test, &session, true, "IaSsTt");
	iw_mpa_session_init(&session, true);

	KUNIT_EXPECT_EQ(test, session.tx_ssn, 0);
	KUNIT_EXPECT_EQ(test, session.rx_ssn, 0);
	KUNIT_EXPECT_EQ(test, session.state, IW_MPA_SESSION_NONE);
}

/* Which chunk waits for an acknowledgment or an answer, since SCTP may reorder chunks */

/* Rules: S-6.6-1: no Terminate until the Accept was acknowledged, while Segments may be sent */
static void session_terminate_waits_for_ack(struct kunit *test)
{
	struct iw_mpa_session session;

	walk(test, &session, false, "I");
	iw_mpa_session_sent(&session, IW_MPA_CHUNK_ACCEPT);

	KUNIT_EXPECT_EQ(test, -EAGAIN, may_send(&session, 't'));
	KUNIT_EXPECT_EQ(test, 0, may_send(&session, 's'));
	iw_mpa_session_sent(&session, IW_MPA_CHUNK_SEGMENT);
	KUNIT_EXPECT_EQ(test, -EAGAIN, may_send(&session, 't'));

	iw_mpa_session_acked(&session);

	KUNIT_EXPECT_EQ(test, 0, may_send(&session, 't'));
}

/*
 * Rules: S-6.6-1: a legal chunk of the peer shows that the Accept has arrived; an illegal one does
 * not
 */
static void session_terminate_waits_for_answer(struct kunit *test)
{
	struct iw_mpa_session session;

	walk(test, &session, false, "I");
	iw_mpa_session_sent(&session, IW_MPA_CHUNK_ACCEPT);
	receive(&session, 'S');
	KUNIT_EXPECT_EQ(test, 0, may_send(&session, 't'));

	walk(test, &session, false, "I");
	iw_mpa_session_sent(&session, IW_MPA_CHUNK_ACCEPT);
	receive(&session, 'I');
	KUNIT_EXPECT_EQ(test, -EAGAIN, may_send(&session, 't'));
}

/* Rules: S-6.6-2: no Segment before the Accept, even if SCTP has acknowledged the Initiate */
static void session_segment_waits_for_accept(struct kunit *test)
{
	struct iw_mpa_session session;

	iw_mpa_session_init(&session, true);
	iw_mpa_session_sent(&session, IW_MPA_CHUNK_INITIATE);
	KUNIT_EXPECT_EQ(test, -EPROTO, may_send(&session, 's'));
	iw_mpa_session_acked(&session);
	KUNIT_EXPECT_EQ(test, -EPROTO, may_send(&session, 's'));
	receive(&session, 'a');
	KUNIT_EXPECT_EQ(test, 0, may_send(&session, 's'));
}

/* Which end has to send a Terminate before it gives the session up */

static const struct owe_row {
	const char	*before;
	bool		active;
	bool		passive;
} owe_rows[] = {
	{ "", false, false },
	{ "I", false, true },
	{ "E", false, true },
	{ "Ia", true, true },
	{ "EcSs", true, true },
	{ "IaT", false, false },
	{ "Iat", false, false },
	{ "IaTt", false, false },
	{ "Ir", false, false },
	{ "It", false, false },
	{ "Ex", false, false },
};

KUNIT_ARRAY_PARAM_DESC(owe, owe_rows, before);

/* Rules: S-6.2-2: which side has to send a Terminate if it ends the session at each point */
static void session_owes_terminate(struct kunit *test)
{
	const struct owe_row *row = test->param_value;
	struct iw_mpa_session session;

	walk(test, &session, true, row->before);
	KUNIT_EXPECT_EQ(test, iw_mpa_session_owes_terminate(&session), row->active);
	walk(test, &session, false, row->before);
	KUNIT_EXPECT_EQ(test, iw_mpa_session_owes_terminate(&session), row->passive);
}

/*
 * Rules: S-6.3-1: the reasons that lead to a Reject; S-5.2.3-7 S-6.4-2: a Terminate if there are
 * too many requests; E-7-1: an Enhanced Reject if the enhanced data was the reason
 */
static void session_refusal_each_reason(struct kunit *test)
{
	unsigned int i;

	for (i = 1; i < IW_MPA_R_COUNT; i++) {
		enum iw_mpa_chunk_code plain = IW_MPA_CHUNK_TERMINATE;
		enum iw_mpa_chunk_code enhanced = IW_MPA_CHUNK_TERMINATE;

		if (i == IW_MPA_R_ULP_REJECT)
			plain = IW_MPA_CHUNK_REJECT;
		if (i == IW_MPA_R_ULP_REJECT || i == IW_MPA_R_NO_RTR ||
		    i == IW_MPA_R_INSUFFICIENT_IRD)
			enhanced = IW_MPA_CHUNK_ENH_REJECT;

		KUNIT_EXPECT_EQ_MSG(test, iw_mpa_session_refusal(i, false), plain,
				    "%s", iw_mpa_reason_name(i));
		KUNIT_EXPECT_EQ_MSG(test, iw_mpa_session_refusal(i, true), enhanced,
				    "%s", iw_mpa_reason_name(i));
	}
	KUNIT_EXPECT_EQ(test, iw_mpa_session_refusal(IW_MPA_R_OVERLOAD, true),
			IW_MPA_CHUNK_TERMINATE);
}

/* Negotiation over session messages */

static void cross(struct kunit *test, u16 ssn, const struct iw_mpa_frame *sent,
		  u8 *buf, struct iw_mpa_chunk *chunk)
{
	int len = iw_mpa_chunk_encode(ssn, sent, buf, IW_MPA_CONTROL_MAX);

	KUNIT_ASSERT_GT(test, len, 0);
	decode(IW_MPA_PPID_CONTROL, buf, len, chunk);
	KUNIT_ASSERT_EQ(test, chunk->reason, IW_MPA_R_OK);
}

/*
 * Rules: E-7-1: a strict responder sends an Enhanced Reject, with the ORD that it needs; E-7-6: the
 * depths and RTR types of Initiate and Accept, as the other end negotiates them
 */
static void session_negotiated_like_mpa(struct kunit *test)
{
	const struct iw_mpa_local initiator = {
		.ird = 4, .ord = 8, .max_ird = 16, .max_ord = 16, .rev = 2,
		.rtr_send = IW_MPA_RTR_WRITE, .rtr_accept = IW_MPA_RTR_ALL,
		.p2p = true,
	};
	struct iw_mpa_local responder = {
		.ird = 2, .ord = 5, .max_ird = 16, .max_ord = 16, .rev = 2,
		.rtr_send = IW_MPA_RTR_ALL,
		.rtr_accept = IW_MPA_RTR_READ | IW_MPA_RTR_WRITE,
	};
	struct iw_mpa_frame req, rep;
	struct iw_mpa_chunk asked, answer;
	struct iw_mpa_params params;
	u8 (*buf)[IW_MPA_CONTROL_MAX];

	buf = kunit_kcalloc(test, 2, sizeof(*buf), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, buf);
	iw_mpa_make_request(&initiator, &req);
	cross(test, 0, &req, buf[0], &asked);
	KUNIT_ASSERT_EQ(test, asked.code, IW_MPA_CHUNK_ENH_INITIATE);

	KUNIT_ASSERT_EQ(test, IW_MPA_R_OK,
			iw_mpa_negotiate_request(&responder, &asked.frame, &rep,
						 &params));
	KUNIT_EXPECT_EQ(test, params.ird, 8);
	KUNIT_EXPECT_EQ(test, params.ord, 4);
	cross(test, 0, &rep, buf[1], &answer);
	KUNIT_ASSERT_EQ(test, answer.code, IW_MPA_CHUNK_ENH_ACCEPT);
	KUNIT_ASSERT_EQ(test, IW_MPA_R_OK,
			iw_mpa_negotiate_reply(&initiator, &req, &answer.frame,
					       &params));
	KUNIT_EXPECT_EQ(test, params.ird, 4);
	KUNIT_EXPECT_EQ(test, params.ord, 8);
	KUNIT_EXPECT_EQ(test, params.rtr, IW_MPA_RTR_WRITE);

	responder.strict = true;
	KUNIT_ASSERT_EQ(test, IW_MPA_R_INSUFFICIENT_IRD,
			iw_mpa_negotiate_request(&responder, &asked.frame, &rep,
						 &params));
	cross(test, 0, &rep, buf[1], &answer);
	KUNIT_EXPECT_EQ(test, answer.code,
			iw_mpa_session_refusal(IW_MPA_R_INSUFFICIENT_IRD, true));
	KUNIT_EXPECT_EQ(test, answer.frame.ord, 5);
	KUNIT_EXPECT_EQ(test, IW_MPA_R_REJECTED,
			iw_mpa_negotiate_reply(&initiator, &req, &answer.frame,
					       &params));
}

static struct kunit_case session_cases[] = {
	KUNIT_CASE_PARAM(session_each_chunk_at_each_point, step_gen_params),
	KUNIT_CASE(session_reject_of_enhanced_taken),
	KUNIT_CASE_PARAM(session_fault_reason_named, fault_gen_params),
	KUNIT_CASE(session_bad_chunk_breaks_in_its_turn),
	KUNIT_CASE_PARAM(session_broken_one_terminate, side_gen_params),
	KUNIT_CASE_PARAM(session_broken_peer_terminates, side_gen_params),
	KUNIT_CASE(session_break_state),
	KUNIT_CASE_PARAM(session_place_each, place_gen_params),
	KUNIT_CASE(session_reordered_judged_in_order),
	KUNIT_CASE(session_ssn_taken_when_sent),
	KUNIT_CASE(session_ssn_restarts_with_a_session),
	KUNIT_CASE(session_terminate_waits_for_ack),
	KUNIT_CASE(session_terminate_waits_for_answer),
	KUNIT_CASE(session_segment_waits_for_accept),
	KUNIT_CASE_PARAM(session_owes_terminate, owe_gen_params),
	KUNIT_CASE(session_refusal_each_reason),
	KUNIT_CASE(session_negotiated_like_mpa),
	{}
};

static struct kunit_suite session_suite = {
	.name = "iw_mpa_session",
	.test_cases = session_cases,
};

kunit_test_suite(session_suite);

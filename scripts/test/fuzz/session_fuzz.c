// SPDX-License-Identifier: GPL-2.0
/*
 * Session control of DDP over SCTP under libFuzzer. What must hold:
 * - a chunk that can be decoded can be encoded, to the same bytes except for those that a receiver
 *   ignores;
 * - two ends that ask session control before they send never break a session, and no control
 *   chunk of an end can overtake another, in whatever order SCTP delivers their chunks;
 * - whatever chunks an end receives, its state is one of enum iw_mpa_session_state, and after a
 *   violation it sends at most one Terminate.
 * The sanitizers find other errors.
 *
 * Input: byte 0 chooses one of these three. The rest is a PPID and a chunk for the first; a byte
 * for each event for the second; a length, a PPID and a chunk for each event for the third.
 */

#include "session.h"

#include <stdlib.h>

#define FLIGHT	16	/* chunks in flight, of each side */

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

static void must(bool cond)
{
	if (!cond)
		abort();
}

static u32 ppid_of(u8 byte)
{
	return byte < 192 ? IW_MPA_PPID_SEGMENT + (byte & 1) : byte;
}

/* --- chunks */

/* RFC 6581 9.2: a receiver ignores the bits B, C and D if A is 0. */
static void mask_ignored(u8 *chunk)
{
	if (chunk[4] & 0x80)
		return;
	chunk[4] &= 0x3f;
	chunk[6] &= 0x3f;
}

static void check_control(const u8 *bytes, size_t size, const struct iw_mpa_chunk *chunk)
{
	bool terminate = chunk->code == IW_MPA_CHUNK_TERMINATE;
	u8 buf[IW_MPA_CONTROL_MAX], want[IW_MPA_CONTROL_MAX];
	int len;

	must(size <= IW_MPA_CONTROL_MAX);
	must(terminate || iw_mpa_chunk_code(&chunk->frame) == chunk->code);
	must(!chunk->frame.pd_len || (chunk->frame.pd > bytes &&
				      chunk->frame.pd + chunk->frame.pd_len == bytes + size));
	len = iw_mpa_chunk_encode(chunk->ssn, terminate ? NULL : &chunk->frame, buf, sizeof(buf));
	must(len == (terminate ? IW_MPA_CONTROL_HDR_SIZE : size));
	memcpy(want, bytes, len);
	if (chunk->frame.enhanced)
		mask_ignored(want);
	must(!memcmp(buf, want, len));
}

static void fuzz_chunk(const u8 *data, size_t size)
{
	struct iw_mpa_chunk chunk;
	u32 ppid;

	if (!size)
		return;
	ppid = ppid_of(*data++);
	size--;
	iw_mpa_chunk_decode(ppid, data, size, &chunk);
	must(chunk.code < IW_MPA_CHUNK_CODES);
	must((chunk.code == IW_MPA_CHUNK_BAD) == (chunk.reason != IW_MPA_R_OK));
	must(size < IW_MPA_SSN_SIZE || chunk.ssn == (data[0] << 8 | data[1]));
	must((chunk.code == IW_MPA_CHUNK_SEGMENT) ==
	     (ppid == IW_MPA_PPID_SEGMENT && size >= IW_MPA_SSN_SIZE));
	if (chunk.code >= IW_MPA_CHUNK_INITIATE && chunk.code <= IW_MPA_CHUNK_ENH_REJECT)
		check_control(data, size, &chunk);
	else
		must(!chunk.frame.pd && !chunk.frame.pd_len);
}

/* --- two ends that keep the rules */

struct end {
	struct iw_mpa_session	session;
	u8	code[FLIGHT];		/* of chunks sent, by DDP-SSN */
	bool	on_wire[FLIGHT];
	bool	held[FLIGHT];		/* has arrived, but an earlier chunk has not */
	u16	last_control;		/* DDP-SSN after the last control chunk that has arrived */
};

static void send_chunk(struct end *from, const struct end *to, u8 code)
{
	u16 ssn = from->session.tx_ssn;

	if ((u16)(ssn - to->session.rx_ssn) >= FLIGHT ||
	    iw_mpa_session_may_send(&from->session, code))
		return;
	from->code[ssn % FLIGHT] = code;
	from->on_wire[ssn % FLIGHT] = true;
	iw_mpa_session_sent(&from->session, code);
	must(from->session.state != IW_MPA_SESSION_BROKEN);
}

/* Let @to receive the next chunk of @from. If the chunk has enhanced data, this is 0. */
static void take(struct end *from, struct end *to)
{
	u16 ssn = to->session.rx_ssn;
	const u8 bytes[8] = { ssn >> 8, ssn, 0, from->code[ssn % FLIGHT] };
	struct iw_mpa_chunk chunk;

	iw_mpa_chunk_decode(bytes[3] ? IW_MPA_PPID_CONTROL : IW_MPA_PPID_SEGMENT, bytes,
			    sizeof(bytes), &chunk);
	must(chunk.code == bytes[3]);
	must(iw_mpa_session_place(&to->session, chunk.ssn, FLIGHT) == IW_MPA_PLACE_NEXT);
	must(iw_mpa_session_received(&to->session, &chunk) == IW_MPA_R_OK);
}

static void arrive(struct end *from, struct end *to, unsigned int ahead)
{
	u16 ssn = to->session.rx_ssn + ahead;
	unsigned int slot = ssn % FLIGHT;

	if (!from->on_wire[slot])
		return;
	from->on_wire[slot] = false;
	must(iw_mpa_session_place(&to->session, ssn, FLIGHT) ==
	     (ahead ? IW_MPA_PLACE_AHEAD : IW_MPA_PLACE_NEXT));
	if (from->code[slot] != IW_MPA_CHUNK_SEGMENT) {
		must((u16)(ssn - from->last_control) < 0x8000);
		from->last_control = ssn + 1;
	} else {
		/* RFC 5043 6.6: no Segment of the active side arrives before its Initiate. */
		must(!from->session.active || from->last_control);
	}
	from->held[slot] = true;
	while (from->held[to->session.rx_ssn % FLIGHT]) {
		from->held[to->session.rx_ssn % FLIGHT] = false;
		take(from, to);
	}
}

static bool all_arrived(const struct end *end)
{
	int i;

	for (i = 0; i < FLIGHT; i++)
		if (end->on_wire[i])
			return false;
	return true;
}

/*
 * Each byte of the input is an event: bit 7 chooses the end, bits 5 and 6 the kind of event, bits 0
 * to 3 a function code or a chunk in flight.
 */
static void fuzz_pair(const u8 *data, size_t size)
{
	struct end ends[2] = {};
	int i;

	iw_mpa_session_init(&ends[0].session, false);
	iw_mpa_session_init(&ends[1].session, true);
	for (; size; size--, data++) {
		struct end *end = &ends[*data >> 7], *peer = &ends[!(*data >> 7)];

		switch (*data >> 5 & 3) {
		case 0:
		case 1:
			if ((*data & 15) < IW_MPA_CHUNK_CODES)
				send_chunk(end, peer, *data & 15);
			break;
		case 2:
			arrive(end, peer, *data & 15);
			break;
		case 3:
			if (all_arrived(end))
				iw_mpa_session_acked(&end->session);
			break;
		}
	}
	while (!all_arrived(&ends[0]) || !all_arrived(&ends[1]))
		for (i = 0; i < FLIGHT; i++) {
			arrive(&ends[0], &ends[1], i);
			arrive(&ends[1], &ends[0], i);
		}
	must(ends[0].session.state == ends[1].session.state);
	must(ends[0].session.tx_ssn == ends[1].session.rx_ssn);
	must(ends[1].session.tx_ssn == ends[0].session.rx_ssn);
}

/* --- one end, and any chunks */

static void check_broken(struct iw_mpa_session *session)
{
	int code;

	must(session->state == IW_MPA_SESSION_BROKEN || session->state == IW_MPA_SESSION_OVER);
	must(iw_mpa_session_owes_terminate(session) == (session->state == IW_MPA_SESSION_BROKEN));
	for (code = 0; code < IW_MPA_CHUNK_CODES; code++)
		must(session->state == IW_MPA_SESSION_BROKEN && code == IW_MPA_CHUNK_TERMINATE ?
		     iw_mpa_session_may_send(session, code) != -EPROTO :
		     iw_mpa_session_may_send(session, code) == -EPROTO);
}

/* RFC 5043 allows an end to send no chunk after its own Reject or Terminate. */
static bool is_last(u8 code)
{
	return code == IW_MPA_CHUNK_REJECT || code == IW_MPA_CHUNK_ENH_REJECT ||
	       code == IW_MPA_CHUNK_TERMINATE;
}

static void fuzz_hostile(bool active, const u8 *data, size_t size)
{
	struct iw_mpa_session session;
	struct iw_mpa_chunk chunk;
	bool ended = false;
	size_t len;
	u16 taken;

	iw_mpa_session_init(&session, active);
	while (size > 2) {
		/* Send a chunk, if its code is legal */
		if (*data >> 5 && !iw_mpa_session_may_send(&session, *data >> 5)) {
			must(!ended);
			ended = is_last(*data >> 5);
			iw_mpa_session_sent(&session, *data >> 5);
		}
		if (*data & 16)
			iw_mpa_session_acked(&session);
		len = min((size_t)(*data & 15), size - 2);
		iw_mpa_chunk_decode(ppid_of(data[1]), data + 2, len, &chunk);
		data += 2 + len;
		size -= 2 + len;

		taken = session.rx_ssn;
		switch (iw_mpa_session_place(&session, chunk.ssn, FLIGHT)) {
		case IW_MPA_PLACE_AHEAD:
			must(chunk.ssn != taken);
			continue;
		case IW_MPA_PLACE_INVALID:
			must((u16)(chunk.ssn - taken) >= FLIGHT);
			iw_mpa_session_break(&session);
			check_broken(&session);
			continue;
		case IW_MPA_PLACE_NEXT:
			break;
		}
		if (iw_mpa_session_received(&session, &chunk))
			check_broken(&session);
		must(session.rx_ssn == (u16)(taken + 1));
		must(session.state < IW_MPA_SESSION_STATES);
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	if (!size)
		return 0;
	switch (data[0] & 3) {
	case 0:
		fuzz_chunk(data + 1, size - 1);
		break;
	case 1:
		fuzz_pair(data + 1, size - 1);
		break;
	default:
		fuzz_hostile(data[0] & 1, data + 1, size - 1);
	}
	return 0;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Session control of DDP over SCTP: RFC 5043 5.2 and 6, RFC 6581 7.
 *
 * SCTP delivers the chunks of a session in any order; each chunk begins with
 * its sequence number, the DDP-SSN. So the receiver first decodes a chunk, then
 * gets the place of the chunk in the order from iw_mpa_session_place(), and
 * passes the chunk to iw_mpa_session_received() after all chunks that precede
 * it in that order. The sender calls iw_mpa_session_may_send(), encodes the
 * chunk with session->tx_ssn as its DDP-SSN, and calls iw_mpa_session_sent()
 * once SCTP has accepted the chunk for sending.
 */

#include "session.h"

#include "frame.h"

#include <linux/errno.h>
#include <linux/string.h>
#include <linux/unaligned.h>

/* The enhanced codes (RFC 6581) are in the same order as those of RFC 5043. */
#define SESSION_ENHANCED (IW_MPA_CHUNK_ENH_INITIATE - IW_MPA_CHUNK_INITIATE)

/* Index of a side of the session in session_steps[] */
enum { PASSIVE, ACTIVE, SIDES };

/*
 * The legal sequences of chunks, RFC 5043 6.2 to 6.4 and RFC 6581 7. The entry
 * of any other chunk is 0, IW_MPA_SESSION_BROKEN. After an Enhanced Initiate
 * this end may receive a Reject (function code 3), but not send one: RFC 6581
 * demands an Enhanced Reject (function code 7) only if the enhanced data is the
 * cause of the refusal, so a peer may send a Reject if its ULP refuses.
 */
static const u8
session_steps[IW_MPA_SESSION_STATES][SIDES][IW_MPA_CHUNK_CODES] = {
	[IW_MPA_SESSION_NONE][ACTIVE] = {
		[IW_MPA_CHUNK_INITIATE]		= IW_MPA_SESSION_ASKED,
		[IW_MPA_CHUNK_ENH_INITIATE]	= IW_MPA_SESSION_ENH_ASKED,
	},
	[IW_MPA_SESSION_ASKED][PASSIVE] = {
		[IW_MPA_CHUNK_ACCEPT]		= IW_MPA_SESSION_OPEN,
		[IW_MPA_CHUNK_REJECT]		= IW_MPA_SESSION_OVER,
		[IW_MPA_CHUNK_TERMINATE]	= IW_MPA_SESSION_OVER,
	},
	[IW_MPA_SESSION_ENH_ASKED][PASSIVE] = {
		[IW_MPA_CHUNK_ENH_ACCEPT]	= IW_MPA_SESSION_OPEN,
		[IW_MPA_CHUNK_ENH_REJECT]	= IW_MPA_SESSION_OVER,
		[IW_MPA_CHUNK_REJECT]		= IW_MPA_SESSION_OVER,
		[IW_MPA_CHUNK_TERMINATE]	= IW_MPA_SESSION_OVER,
	},
	[IW_MPA_SESSION_OPEN][ACTIVE] = {
		[IW_MPA_CHUNK_SEGMENT]		= IW_MPA_SESSION_OPEN,
		[IW_MPA_CHUNK_TERMINATE]	= IW_MPA_SESSION_ACTIVE_DONE,
	},
	[IW_MPA_SESSION_OPEN][PASSIVE] = {
		[IW_MPA_CHUNK_SEGMENT]		= IW_MPA_SESSION_OPEN,
		[IW_MPA_CHUNK_TERMINATE]	= IW_MPA_SESSION_PASSIVE_DONE,
	},
	[IW_MPA_SESSION_ACTIVE_DONE][PASSIVE] = {
		[IW_MPA_CHUNK_SEGMENT]		= IW_MPA_SESSION_ACTIVE_DONE,
		[IW_MPA_CHUNK_TERMINATE]	= IW_MPA_SESSION_OVER,
	},
	[IW_MPA_SESSION_PASSIVE_DONE][ACTIVE] = {
		[IW_MPA_CHUNK_SEGMENT]		= IW_MPA_SESSION_PASSIVE_DONE,
		[IW_MPA_CHUNK_TERMINATE]	= IW_MPA_SESSION_OVER,
	},
	[IW_MPA_SESSION_BROKEN][ACTIVE] = {
		[IW_MPA_CHUNK_TERMINATE]	= IW_MPA_SESSION_OVER,
	},
	[IW_MPA_SESSION_BROKEN][PASSIVE] = {
		[IW_MPA_CHUNK_TERMINATE]	= IW_MPA_SESSION_OVER,
	},
};

static enum iw_mpa_session_state
session_own_step(const struct iw_mpa_session *session,
		 enum iw_mpa_chunk_code code)
{
	return session_steps[session->state][session->active][code];
}

static enum iw_mpa_session_state
session_peer_step(const struct iw_mpa_session *session,
		  enum iw_mpa_chunk_code code)
{
	return session_steps[session->state][!session->active][code];
}

static enum iw_mpa_session_state session_done(bool active)
{
	return active ? IW_MPA_SESSION_ACTIVE_DONE :
			IW_MPA_SESSION_PASSIVE_DONE;
}

enum iw_mpa_chunk_code iw_mpa_chunk_code(const struct iw_mpa_frame *frame)
{
	enum iw_mpa_chunk_code code = IW_MPA_CHUNK_INITIATE;

	if (!frame)
		return IW_MPA_CHUNK_TERMINATE;
	if (frame->reply)
		code = frame->reject ? IW_MPA_CHUNK_REJECT :
				       IW_MPA_CHUNK_ACCEPT;
	return frame->enhanced ? code + SESSION_ENHANCED : code;
}

/*
 * Encode a control chunk. IW_MPA_CONTROL_MAX bytes at @buf always suffice. SCTP
 * pads a chunk and carries its length, so the chunk itself has no length field
 * and no padding.
 *
 * Return: bytes written; -ENOSPC if @size is too small; -EMSGSIZE if the
 * private data exceeds 512 bytes, or 508 if enhanced data precedes it.
 */
int iw_mpa_chunk_encode(u16 ssn, const struct iw_mpa_frame *frame, void *buf,
			size_t size)
{
	size_t enhanced = frame && frame->enhanced ? IW_MPA_ENHANCED_SIZE : 0;
	size_t pd_len = frame ? frame->pd_len : 0;
	size_t len = IW_MPA_CONTROL_HDR_SIZE + enhanced + pd_len;
	u8 *to = buf;

	if (len > IW_MPA_CONTROL_MAX)
		return -EMSGSIZE;
	if (len > size)
		return -ENOSPC;

	put_unaligned_be16(ssn, to);
	put_unaligned_be16(iw_mpa_chunk_code(frame), to + IW_MPA_SSN_SIZE);
	to += IW_MPA_CONTROL_HDR_SIZE;
	if (enhanced)
		iw_mpa_enhanced_encode(frame, to);
	if (pd_len)
		memcpy(to + enhanced, frame->pd, pd_len);
	return len;
}

/*
 * Turn an FPDU without Markers into a DDP Segment Chunk: the DDP-SSN replaces
 * the length field; padding and CRC are left out. @fpdu is overwritten.
 *
 * Return: size of the chunk at @fpdu in bytes.
 */
size_t iw_mpa_chunk_segment(u16 ssn, u8 *fpdu)
{
	size_t ulpdu_len = get_unaligned_be16(fpdu);

	put_unaligned_be16(ssn, fpdu);
	return IW_MPA_SSN_SIZE + ulpdu_len;
}

/* Decode a control chunk. @pd: the bytes that follow the function code */
static enum iw_mpa_reason chunk_decode_frame(const u8 *pd, size_t len,
					     struct iw_mpa_chunk *chunk)
{
	bool enhanced = chunk->code >= IW_MPA_CHUNK_ENH_INITIATE;
	struct iw_mpa_frame *frame = &chunk->frame;

	if (enhanced && len < IW_MPA_ENHANCED_SIZE)
		return IW_MPA_R_SHORT_ENHANCED;

	frame->rev = enhanced ? IW_MPA_REV_2 : IW_MPA_REV_1;
	frame->enhanced = enhanced;
	frame->reply = chunk->code != IW_MPA_CHUNK_INITIATE &&
		       chunk->code != IW_MPA_CHUNK_ENH_INITIATE;
	frame->reject = chunk->code == IW_MPA_CHUNK_REJECT ||
			chunk->code == IW_MPA_CHUNK_ENH_REJECT;
	if (enhanced) {
		iw_mpa_enhanced_decode(pd, frame);
		pd += IW_MPA_ENHANCED_SIZE;
		len -= IW_MPA_ENHANCED_SIZE;
	}
	frame->pd_len = len;
	frame->pd = len ? pd : NULL;
	return IW_MPA_R_OK;
}

static enum iw_mpa_reason chunk_decode(u32 ppid, const u8 *buf, size_t len,
				       struct iw_mpa_chunk *chunk)
{
	u16 code;

	if (len < IW_MPA_SSN_SIZE)
		return IW_MPA_R_TRUNCATED;
	chunk->ssn = get_unaligned_be16(buf);
	if (ppid == IW_MPA_PPID_SEGMENT) {
		chunk->code = IW_MPA_CHUNK_SEGMENT;
		return IW_MPA_R_OK;
	}
	if (ppid != IW_MPA_PPID_CONTROL)
		return IW_MPA_R_BAD_KEY;
	if (len < IW_MPA_CONTROL_HDR_SIZE)
		return IW_MPA_R_TRUNCATED;

	code = get_unaligned_be16(buf + IW_MPA_SSN_SIZE);
	if (code < IW_MPA_CHUNK_INITIATE || code > IW_MPA_CHUNK_ENH_REJECT)
		return IW_MPA_R_BAD_KEY;
	if (len > IW_MPA_CONTROL_MAX)
		return IW_MPA_R_BAD_PD_LENGTH;
	chunk->code = code;
	/* RFC 5043 forbids to send data in a Terminate, not to receive it. */
	if (code == IW_MPA_CHUNK_TERMINATE)
		return IW_MPA_R_OK;
	return chunk_decode_frame(buf + IW_MPA_CONTROL_HDR_SIZE,
				  len - IW_MPA_CONTROL_HDR_SIZE, chunk);
}

/*
 * Decode a received chunk. In a Segment chunk the DDP segment is all that
 * follows the DDP-SSN. A chunk that is not well-formed gets the code
 * IW_MPA_CHUNK_BAD. Its DDP-SSN (0 if it has none) still gives its place in the
 * order: it breaks the session once the chunks that precede it were handled.
 */
void iw_mpa_chunk_decode(u32 ppid, const void *buf, size_t len,
			 struct iw_mpa_chunk *chunk)
{
	memset(chunk, 0, sizeof(*chunk));
	chunk->reason = chunk_decode(ppid, buf, len, chunk);
	if (chunk->reason)
		chunk->code = IW_MPA_CHUNK_BAD;
}

void iw_mpa_session_init(struct iw_mpa_session *session, bool active)
{
	memset(session, 0, sizeof(*session));
	session->state = IW_MPA_SESSION_NONE;
	session->active = active;
}

/*
 * May a chunk be sent now? SCTP delivers chunks in any order, so a control
 * chunk waits until it is certain that the peer has received the control chunk
 * before it (RFC 5043 6.6). Segments need not wait: the Accept shows that the
 * Initiate was received, and the peer puts Segments in order by their DDP-SSNs.
 *
 * Return: 0; -EAGAIN if @code has to wait, until iw_mpa_session_acked() is
 * called or a legal chunk of the peer is handled; -EPROTO if @code is not legal
 * in the present state.
 */
int iw_mpa_session_may_send(const struct iw_mpa_session *session,
			    enum iw_mpa_chunk_code code)
{
	if (!session_own_step(session, code))
		return -EPROTO;
	if (session->state == IW_MPA_SESSION_ENH_ASKED &&
	    code == IW_MPA_CHUNK_REJECT)
		return -EPROTO;
	if (session->unsettled && code != IW_MPA_CHUNK_SEGMENT)
		return -EAGAIN;
	return 0;
}

/*
 * Call this when SCTP has accepted a legal chunk for sending. Only then is the
 * chunk's DDP-SSN used up: a chunk that SCTP refuses must not leave a gap in
 * the DDP-SSNs.
 */
void iw_mpa_session_sent(struct iw_mpa_session *session,
			 enum iw_mpa_chunk_code code)
{
	session->state = session_own_step(session, code);
	session->tx_ssn++;
	if (code != IW_MPA_CHUNK_SEGMENT)
		session->unsettled = true;
}

/* Call this when SCTP has acknowledgments for all chunks that were sent. */
void iw_mpa_session_acked(struct iw_mpa_session *session)
{
	session->unsettled = false;
}

/*
 * Return: whether a received chunk is the next one in the order of DDP-SSNs, or
 * ahead of chunks that are missing. A chunk with IW_MPA_PLACE_INVALID must be
 * dropped: it repeats a DDP-SSN, or is not within @window.
 *
 * @window: how many DDP-SSNs the receiver accepts, from the next expected one
 *	on; at most IW_MPA_SSN_WINDOW_MAX (RFC 5043 10)
 */
enum iw_mpa_session_place
iw_mpa_session_place(const struct iw_mpa_session *session, u16 ssn, u16 window)
{
	u16 ahead = ssn - session->rx_ssn;

	if (!ahead)
		return IW_MPA_PLACE_NEXT;
	return ahead < window ? IW_MPA_PLACE_AHEAD : IW_MPA_PLACE_INVALID;
}

/*
 * Return: why a chunk is not legal. No value of enum iw_mpa_reason says that a
 * chunk is merely out of turn: such a chunk gets IW_MPA_R_BAD_KEY.
 */
static enum iw_mpa_reason session_fault(const struct iw_mpa_session *session,
					const struct iw_mpa_chunk *chunk)
{
	if (chunk->reason)
		return chunk->reason;
	if (chunk->code == IW_MPA_CHUNK_SEGMENT ||
	    chunk->code == IW_MPA_CHUNK_TERMINATE)
		return IW_MPA_R_BAD_KEY;
	if (chunk->frame.reply != session->active)
		return IW_MPA_R_SAME_ROLE;
	/* An enhanced answer to a plain Initiate, or the reverse */
	if (session->active && (session->state == IW_MPA_SESSION_ASKED ||
				session->state == IW_MPA_SESSION_ENH_ASKED))
		return IW_MPA_R_BAD_REV;
	return IW_MPA_R_BAD_KEY;
}

/* The session has to be terminated, unless this end has sent its last chunk. */
void iw_mpa_session_break(struct iw_mpa_session *session)
{
	if (session->state == IW_MPA_SESSION_OVER ||
	    session->state == session_done(session->active))
		session->state = IW_MPA_SESSION_OVER;
	else
		session->state = IW_MPA_SESSION_BROKEN;
}

/*
 * Handle @chunk, the next one in order. If @chunk is legal the peer has
 * received the Initiate or Accept, if any, that this end has sent: without it
 * the peer could not have sent @chunk.
 *
 * Return: IW_MPA_R_OK, or why the session was broken: chunk->reason if @chunk
 * is not well-formed; IW_MPA_R_SAME_ROLE for an Initiate to the active side or
 * an answer to the passive side; IW_MPA_R_BAD_REV for an enhanced answer to a
 * plain Initiate, or a plain Accept of an Enhanced Initiate; IW_MPA_R_BAD_KEY
 * for any other chunk that is not legal in the present state.
 */
enum iw_mpa_reason
iw_mpa_session_received(struct iw_mpa_session *session,
			const struct iw_mpa_chunk *chunk)
{
	enum iw_mpa_session_state next;
	enum iw_mpa_reason reason;

	session->rx_ssn++;
	next = session_peer_step(session, chunk->code);
	if (!next) {
		reason = session_fault(session, chunk);
		iw_mpa_session_break(session);
		return reason;
	}
	session->state = next;
	session->unsettled = false;
	return IW_MPA_R_OK;
}

/*
 * At least one side has to end an accepted session by a Terminate. The passive
 * side must answer the Initiate, at least by a Terminate (RFC 5043 6.2, 6.4).
 *
 * Return: true if this end must not leave the session without a Terminate.
 */
bool iw_mpa_session_owes_terminate(const struct iw_mpa_session *session)
{
	return session_own_step(session, IW_MPA_CHUNK_TERMINATE) &&
	       session->state != session_done(!session->active);
}

/*
 * Return: the code of the chunk by which the passive side refuses a session,
 * for @reason: a Reject if the ULP refuses (RFC 5043 6.3), otherwise a
 * Terminate. With enhanced messages (RFC 6581 7) an Enhanced Reject replaces
 * the Reject. An Enhanced Reject is also sent for lack of IRD or of a common
 * RTR type, with what this end would have accepted.
 */
enum iw_mpa_chunk_code iw_mpa_session_refusal(enum iw_mpa_reason reason,
					      bool enhanced)
{
	switch (reason) {
	case IW_MPA_R_ULP_REJECT:
		return enhanced ? IW_MPA_CHUNK_ENH_REJECT : IW_MPA_CHUNK_REJECT;
	case IW_MPA_R_INSUFFICIENT_IRD:
	case IW_MPA_R_NO_RTR:
		return enhanced ? IW_MPA_CHUNK_ENH_REJECT :
				  IW_MPA_CHUNK_TERMINATE;
	default:
		return IW_MPA_CHUNK_TERMINATE;
	}
}

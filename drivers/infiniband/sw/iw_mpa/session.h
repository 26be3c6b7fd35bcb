/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Session control of DDP over SCTP (RFC 5043 5.2 and 6, RFC 6581 7): the format
 * of the chunks, their order, and which sequences of chunks are legal. No code
 * that has an SCTP socket calls these functions yet.
 *
 * No function here takes a lock, sleeps or allocates. The caller serializes the
 * calls for one session.
 */
#ifndef _IW_MPA_SESSION_H
#define _IW_MPA_SESSION_H

#include <rdma/iw_mpa_proto.h>

#include <linux/types.h>

/* Payload protocol identifiers of a DATA chunk, in host order */
#define IW_MPA_PPID_SEGMENT	16	/* DDP Segment Chunk */
#define IW_MPA_PPID_CONTROL	17	/* DDP Stream Session Control */

#define IW_MPA_SSN_SIZE		2	/* DDP-SSN: begins each chunk */
#define IW_MPA_CONTROL_HDR_SIZE	4	/* DDP-SSN and function code */
#define IW_MPA_CONTROL_MAX	(IW_MPA_CONTROL_HDR_SIZE + IW_MPA_PD_MAX)

/* RFC 5043 10: a chunk in flight is at most 32767 chunks ahead. */
#define IW_MPA_SSN_WINDOW_MAX	32768

/* Kinds of chunks; 1 to 7 are the function codes of control chunks */
enum iw_mpa_chunk_code {
	IW_MPA_CHUNK_SEGMENT,
	IW_MPA_CHUNK_INITIATE,
	IW_MPA_CHUNK_ACCEPT,
	IW_MPA_CHUNK_REJECT,
	IW_MPA_CHUNK_TERMINATE,
	IW_MPA_CHUNK_ENH_INITIATE,
	IW_MPA_CHUNK_ENH_ACCEPT,
	IW_MPA_CHUNK_ENH_REJECT,
	IW_MPA_CHUNK_BAD,		/* a chunk that no RFC defines */
	IW_MPA_CHUNK_CODES
};

/*
 * A received chunk. For an Initiate, an Accept or a Reject @frame has the
 * contents of the corresponding MPA Request or Reply, with private data in the
 * caller's buffer; for other chunks it is zeroes. @reason says why @code is
 * IW_MPA_CHUNK_BAD.
 */
struct iw_mpa_chunk {
	struct iw_mpa_frame		frame;
	enum iw_mpa_chunk_code	code;
	enum iw_mpa_reason		reason;
	u16				ssn;
};

/* States of a session, as RFC 5043 6.2 to 6.4 imply them */
enum iw_mpa_session_state {
	IW_MPA_SESSION_BROKEN,		/* only a Terminate may follow */
	IW_MPA_SESSION_NONE,		/* no chunk yet */
	IW_MPA_SESSION_ASKED,		/* Initiate */
	IW_MPA_SESSION_ENH_ASKED,	/* Enhanced Initiate */
	IW_MPA_SESSION_OPEN,		/* Accept: Segments both ways */
	IW_MPA_SESSION_ACTIVE_DONE,	/* the active side sent Terminate */
	IW_MPA_SESSION_PASSIVE_DONE,	/* the passive side sent Terminate */
	IW_MPA_SESSION_OVER,
	IW_MPA_SESSION_STATES
};

struct iw_mpa_session {
	enum iw_mpa_session_state	state;
	u16	tx_ssn;		/* DDP-SSN of the next chunk to send */
	u16	rx_ssn;		/* DDP-SSN of the next chunk to take */
	bool	active;		/* this end sends the Initiate */
	bool	unsettled;	/* last control chunk sent may be in flight */
};

/* The place of a received chunk in the order of its session */
enum iw_mpa_session_place {
	IW_MPA_PLACE_NEXT,		/* take it now */
	IW_MPA_PLACE_AHEAD,		/* keep it: earlier ones are missing */
	IW_MPA_PLACE_INVALID,		/* drop it: repeated or too far ahead */
};

/* Encode and decode chunks. @frame is NULL for a Terminate. */
enum iw_mpa_chunk_code iw_mpa_chunk_code(const struct iw_mpa_frame *frame);
int iw_mpa_chunk_encode(u16 ssn, const struct iw_mpa_frame *frame, void *buf,
			size_t size);
size_t iw_mpa_chunk_segment(u16 ssn, u8 *fpdu);
void iw_mpa_chunk_decode(u32 ppid, const void *buf, size_t len,
			 struct iw_mpa_chunk *chunk);

/* Which chunk may be sent, and which was received */
void iw_mpa_session_init(struct iw_mpa_session *session, bool active);
int iw_mpa_session_may_send(const struct iw_mpa_session *session,
			    enum iw_mpa_chunk_code code);
void iw_mpa_session_sent(struct iw_mpa_session *session,
			 enum iw_mpa_chunk_code code);
void iw_mpa_session_acked(struct iw_mpa_session *session);
enum iw_mpa_session_place
iw_mpa_session_place(const struct iw_mpa_session *session, u16 ssn, u16 window);
enum iw_mpa_reason
iw_mpa_session_received(struct iw_mpa_session *session,
			const struct iw_mpa_chunk *chunk);
void iw_mpa_session_break(struct iw_mpa_session *session);
bool iw_mpa_session_owes_terminate(const struct iw_mpa_session *session);
enum iw_mpa_chunk_code iw_mpa_session_refusal(enum iw_mpa_reason reason,
					      bool enhanced);

#endif /* _IW_MPA_SESSION_H */

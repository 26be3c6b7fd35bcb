/* SPDX-License-Identifier: GPL-2.0 */
/*
 * MPA startup: coding and decoding of startup frames (MPA Request and Reply),
 * and negotiation, without any I/O.
 *
 * No function here takes a lock, sleeps, allocates, or uses a socket. So each
 * may be called in any context. The caller owns what struct iw_mpa_frame or
 * struct iw_mpa_reader points to. If the TCP of a device makes connections, and
 * its driver has a connection manager of its own, the driver needs only this
 * header.
 *
 * References: RFC 5044 (MPA), RFC 6581 (enhanced MPA).
 */
#ifndef _RDMA_IW_MPA_PROTO_H
#define _RDMA_IW_MPA_PROTO_H

#include <linux/bits.h>
#include <linux/types.h>

#define IW_MPA_REV_1		1	/* RFC 5044 */
#define IW_MPA_REV_2		2	/* RFC 6581 */

#define IW_MPA_PD_MAX		512	/* most private data: RFC 5044 7.1.1 */
#define IW_MPA_ENHANCED_SIZE	4	/* RFC 6581 9; of those 512 bytes */

#define IW_MPA_DEPTH_MAX	0x3ffe	/* largest number of Reads */
#define IW_MPA_DEPTH_ULP	0x3fff	/* the ULP negotiates: RFC 6581 9.1 */

#define IW_MPA_KEY_SIZE		16	/* the header begins with the key */
#define IW_MPA_HDR_SIZE		20	/* RFC 5044 7.1.1 */
#define IW_MPA_FRAME_MAX	(IW_MPA_HDR_SIZE + IW_MPA_PD_MAX)

/*
 * Types of RTR messages: each is a bit of a set. In a startup frame they are,
 * in this order, the control flags B, C and D of RFC 6581 9.
 */
#define IW_MPA_RTR_SEND		BIT(0)
#define IW_MPA_RTR_WRITE	BIT(1)
#define IW_MPA_RTR_READ		BIT(2)
#define IW_MPA_RTR_ALL		(IW_MPA_RTR_SEND | IW_MPA_RTR_WRITE | \
				 IW_MPA_RTR_READ)

/*
 * Reasons for the end of a startup or of a connection: name; errno that the ULP
 * gets; error code of the Terminate message (layer 2, error type 0) or 0 if
 * none is sent; text for the kernel's log. Counters and trace events use the
 * same names.
 */
#define IW_MPA_REASONS(X)						\
	X(OK,			0,		0, "no error")			\
	X(BAD_KEY,		-EPROTO,	0, "not an MPA startup frame")	\
	X(SAME_ROLE,		-EPROTO,	0, "the peer has our own role") \
	X(BAD_REV,		-EPROTO,	0, "MPA revision that we do not speak") \
	X(BAD_PD_LENGTH,	-EPROTO,	0, "more than 512 octets of private data") \
	X(SHORT_ENHANCED,	-EPROTO,	0, "S is set but the RFC 6581 data is missing") \
	X(TRUNCATED,		-ECONNRESET,	0, "peer closed within its startup frame") \
	X(MARKERS,		-EPROTO,	0, "peer requires Markers, the device has none") \
	X(LOCAL,		-EIO,		5, "local error during startup") \
	X(INSUFFICIENT_IRD,	-EPROTO,	6, "not enough inbound Read resources") \
	X(NO_RTR,		-EPROTO,	7, "no RTR message in common")	\
	X(NO_REV_2,		-ECONNRESET,	0, "no answer of revision 2, and 1 will not do") \
	X(REJECTED,		-ECONNREFUSED,	0, "peer rejected the connection") \
	X(TCP_REFUSED,		-ECONNRESET,	0, "nobody listens at the peer") \
	X(TCP_UNREACHABLE,	-ETIMEDOUT,	0, "no route or no answer from the peer") \
	X(TCP_ERROR,		-EIO,		0, "TCP failed for another reason") \
	X(PEER_CLOSED,		-ECONNRESET,	0, "peer closed the connection") \
	X(PEER_RESET,		-ECONNRESET,	0, "peer reset the connection")	\
	X(TIMEOUT_CONNECT,	-ETIMEDOUT,	0, "TCP did not connect in time") \
	X(TIMEOUT_REQUEST,	-ETIMEDOUT,	0, "no MPA Request in time")	\
	X(TIMEOUT_VERDICT,	-ETIMEDOUT,	5, "ULP neither accepted nor rejected in time") \
	X(TIMEOUT_REPLY,	-ETIMEDOUT,	0, "no MPA Reply in time")	\
	X(TIMEOUT_RTR,		-ETIMEDOUT,	0, "no RTR message in time")	\
	X(TIMEOUT_FINISH,	-ETIMEDOUT,	0, "the orderly end halted, or took too long")	\
	X(ULP_REJECT,		-ECONNREFUSED,	0, "rejected by the local ULP")	\
	X(ULP_CLOSE,		-ECONNABORTED,	0, "closed by the local ULP")	\
	X(STREAM,		-ECONNABORTED,	0, "the driver gave the stream up") \
	X(DRIVER,		-EIO,		5, "the driver refused the hand-off") \
	X(EARLY_DATA,		-EIO,		5, "octets queued that the device cannot take") \
	X(TCP_OPTION,		-EIO,		5, "TCP has an option that the device lacks") \
	X(TCP_BUSY,		-EIO,		5, "TCP did not come to rest before the takeover") \
	X(QP_GONE,		-ECONNABORTED,	0, "the QP was destroyed")	\
	X(DEVICE_GONE,		-ECONNABORTED,	0, "the device was removed")	\
	X(LISTENER_GONE,	-ECONNABORTED,	0, "the listener was destroyed") \
	X(OVERLOAD,		-ECONNABORTED,	0, "too many half-open, the oldest yields") \
	X(EVENT_LOST,		-ENOMEM,	5, "iw_cm could not take the event") \
	X(SEND,			-EIO,		0, "a startup frame could not be sent") \
	X(WRONG_DEVICE,		-ECONNABORTED,	5, "the address belongs to another device")

/* enum iw_mpa_reason - see IW_MPA_REASONS() */
enum iw_mpa_reason {
#define X(name, err, term, text) IW_MPA_R_##name,
	IW_MPA_REASONS(X)
#undef X
	IW_MPA_R_COUNT
};

int iw_mpa_reason_errno(enum iw_mpa_reason reason);
u8 iw_mpa_reason_term_code(enum iw_mpa_reason reason);

/**
 * struct iw_mpa_frame - an MPA Request or Reply, in host byte order
 * @pd: private data of the ULP, or NULL; the frame does not own the memory
 * @pd_len: bytes at @pd: 0..512, 0..508 if @enhanced
 * @ird: IRD of the frame's sender, 0..0x3fff; valid if @enhanced
 * @ord: ORD of the frame's sender, 0..0x3fff; valid if @enhanced
 * @rev: MPA revision
 * @rtr: set of IW_MPA_RTR_*: flags B, C and D of RFC 6581; valid if @p2p
 * @reply: MPA Reply if true, MPA Request if false
 * @markers: flag M: the sender asks for Markers in what it receives
 * @crc: flag C: the sender asks for CRC
 * @reject: flag R: the sender rejects the connection; Reply only
 * @enhanced: flag S of revision 2: the frame has @ird, @ord and control flags
 * @p2p: control flag A: peer-to-peer model; valid if @enhanced
 * @large_fpdu: the sender allows FPDUs of more than one TCP segment
 */
struct iw_mpa_frame {
	const u8	*pd;
	u16		pd_len;
	u16		ird;
	u16		ord;
	u8		rev;
	u8		rtr;
	bool		reply;
	bool		markers;
	bool		crc;
	bool		reject;
	bool		enhanced;
	bool		p2p;
	bool		large_fpdu;
};

/**
 * struct iw_mpa_reader - collects one startup frame from a TCP stream
 * @buf: the frame as received
 * @have: bytes in @buf
 * @need: bytes missing of the header or, once that is complete, of the frame; 0
 *	once the frame is complete
 * @reply: collects a Reply if true, a Request if false
 *
 * The reader never consumes a byte after the frame: what follows are FPDUs,
 * which the RNIC has to receive. It first collects IW_MPA_HDR_SIZE bytes, the
 * header, which has the length of the private data. Then the caller may replace
 * @buf by a buffer of the frame's size, with @have bytes copied.
 */
struct iw_mpa_reader {
	u8	*buf;
	u16	have;
	u16	need;
	bool	reply;
};

/**
 * iw_mpa_reader_init - start to collect a frame
 * @rd: reader to initialize
 * @reply: expect an MPA Reply if true, an MPA Request if false
 * @buf: for the frame; aligned to 2 bytes, with room for IW_MPA_FRAME_MAX
 *	bytes, or for IW_MPA_HDR_SIZE if the caller replaces it after the header
 */
static inline void iw_mpa_reader_init(struct iw_mpa_reader *rd, bool reply,
				      void *buf)
{
	*rd = (struct iw_mpa_reader) {
		.buf	= buf,
		.need	= IW_MPA_HDR_SIZE,
		.reply	= reply,
	};
}

size_t iw_mpa_reader_feed(struct iw_mpa_reader *rd, const void *octets,
			  size_t len, enum iw_mpa_reason *reason);

enum iw_mpa_reason iw_mpa_frame_decode(const void *buf, size_t len, bool reply,
				       struct iw_mpa_frame *frame);
int iw_mpa_frame_encode(const struct iw_mpa_frame *frame, void *buf,
			size_t size);

/**
 * struct iw_mpa_local - what this end offers and asks for, for one connection
 * @ird: IRD that the ULP asks for, 0..@max_ird, or IW_MPA_DEPTH_ULP if the ULPs
 *	negotiate it by themselves
 * @ord: ORD that the ULP asks for, 0..@max_ord, or IW_MPA_DEPTH_ULP as for @ird
 * @max_ird: the device's limit, 0..IW_MPA_DEPTH_MAX
 * @max_ord: the device's limit, 0..IW_MPA_DEPTH_MAX
 * @rev: highest MPA revision, IW_MPA_REV_1 or IW_MPA_REV_2: an initiator offers
 *	it, a responder refuses Requests with a higher one
 * @rtr_send: RTR types that the device can generate; of several that the peer
 *	accepts an initiator chooses Write before Read before Send
 * @rtr_accept: RTR types that the device accepts, not empty (RFC 6581 9.2)
 * @p2p: initiator: ask for the peer-to-peer model of RFC 6581
 * @crc: ask for CRC
 * @rx_markers: ask the peer for Markers in the FPDUs that it sends
 * @tx_markers: the device can insert Markers into FPDUs that it sends
 * @strict: refuse a connection rather than adjust its IRD and ORD
 * @large_fpdu: allow FPDUs of more than one TCP segment, in both directions
 */
struct iw_mpa_local {
	u16	ird;
	u16	ord;
	u16	max_ird;
	u16	max_ord;
	u8	rev;
	u8	rtr_send;
	u8	rtr_accept;
	bool	p2p;
	bool	crc;
	bool	rx_markers;
	bool	tx_markers;
	bool	strict;
	bool	large_fpdu;
};

/**
 * struct iw_mpa_params - the parameters that both ends have agreed on
 * @ird: most RDMA Reads of the peer at once, 0..max_ird
 * @ord: most RDMA Reads of this end at once, 0..max_ord
 * @peer_ird: IRD of the peer's frame; 0 if not @enhanced
 * @peer_ord: ORD of the peer's frame; 0 if not @enhanced
 * @rev: MPA revision of the Reply
 * @rtr: initiator: the one RTR type to send; responder: set of RTR types, of
 *	which the peer sends one first; 0 if not @p2p
 * @initiator: this end has sent the Request
 * @enhanced: Request and Reply have RFC 6581 data
 * @p2p: peer-to-peer model: the initiator sends an RTR message first
 * @rtr_single: initiator with @p2p: the Reply names one RTR type only
 * @crc: FPDUs have a valid CRC32c, which the receiver has to check
 * @tx_markers: FPDUs of this end have Markers
 * @rx_markers: FPDUs of the peer have Markers
 * @large_fpdu: FPDUs may have more than one TCP segment, in both directions;
 *	never with Markers
 *
 * After a failed negotiation, too, @ird and @ord are within the limits of
 * &struct iw_mpa_local, and @rtr has only types that the device supports. So a
 * device that can send a Terminate message only once its QP has a stream may be
 * programmed with these values, to send that message.
 */
struct iw_mpa_params {
	u16	ird;
	u16	ord;
	u16	peer_ird;
	u16	peer_ord;
	u8	rev;
	u8	rtr;
	bool	initiator;
	bool	enhanced;
	bool	p2p;
	bool	rtr_single;
	bool	crc;
	bool	tx_markers;
	bool	rx_markers;
	bool	large_fpdu;
};

void iw_mpa_make_request(const struct iw_mpa_local *local,
			 struct iw_mpa_frame *req);
enum iw_mpa_reason iw_mpa_negotiate_request(const struct iw_mpa_local *local,
					    const struct iw_mpa_frame *req,
					    struct iw_mpa_frame *rep,
					    struct iw_mpa_params *params);
enum iw_mpa_reason iw_mpa_negotiate_reply(const struct iw_mpa_local *local,
					  const struct iw_mpa_frame *req,
					  const struct iw_mpa_frame *rep,
					  struct iw_mpa_params *params);

/* Sizes of FPDUs that iw_mpa_fpdu_rtr() and iw_mpa_fpdu_term() make */
#define IW_MPA_FPDU_WRITE_SIZE	20
#define IW_MPA_FPDU_TERM_SIZE	28
#define IW_MPA_FPDU_MAX		52	/* an RDMA Read Request */
/* STag in RTR messages: some RNICs refuse 0 even if no byte is placed. */
#define IW_MPA_FPDU_STAG	1

/**
 * iw_mpa_fpdu_size - bytes of a whole FPDU on the wire, without Markers
 * @ulpdu_len: ULPDU_Length, the FPDU's first two bytes, in host byte order
 *
 * Return: bytes of length field, ULPDU, padding and CRC field (RFC 5044 4.1).
 */
static inline u32 iw_mpa_fpdu_size(u16 ulpdu_len)
{
	return ((2 + (u32)ulpdu_len + 3) & ~3u) + 4;
}

size_t iw_mpa_fpdu_rtr(u8 rtr, bool crc, u8 fpdu[IW_MPA_FPDU_MAX]);
size_t iw_mpa_fpdu_term(u8 code, bool crc, u8 fpdu[IW_MPA_FPDU_MAX]);

#endif /* _RDMA_IW_MPA_PROTO_H */

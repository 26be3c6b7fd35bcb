/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * MPA startup for iw_cxgb4, by the protocol functions of iw_mpa, without I/O.
 * struct c4mpa_ops has functions of the device and of iw_cm: those of cm_mpa.c
 * call iw_cxgb4's cm.c; the KUnit suite kunit/here/iw_mpa_cxgb4_kunit.c has
 * others.
 *
 * iw_cxgb4 has a connection's state (com.state of struct c4iw_ep), its timer,
 * and its lock com.mutex, which every caller holds. The functions here only
 * keep startup frames. Each is called in the state on the left. On the right is
 * the next state, with the op that enters it, or how cm.c ends the connection:
 *
 *   com.state     call                   leads to
 *   CONNECTING    c4mpa_connect()        MPA_REQ_SENT
 *   MPA_REQ_SENT  c4mpa_rx_reply()       FPDU_MODE within start; close; abort
 *   MPA_REQ_SENT  c4mpa_may_fall_back()  reset by the peer: CONNECTING, or end
 *   MPA_REQ_SENT  c4mpa_rx_fin()         closed: ABORTING within abort, or end
 *   ABORTING      c4mpa_take_again()     the device is done: CONNECTING, or end
 *   MPA_REQ_WAIT  c4mpa_rx_request()     MPA_REQ_RCVD within event; or abort
 *   MPA_REQ_RCVD  c4mpa_rx_request()     more bytes: abort
 *   MPA_REQ_RCVD  c4mpa_accept()         FPDU_MODE; or abort
 *   MPA_REQ_RCVD  c4mpa_reject()         close
 */
#ifndef _CXGB4_MPA_H
#define _CXGB4_MPA_H

#include <linux/types.h>
#include <rdma/iw_mpa_proto.h>

struct c4mpa_conn;

/* What cm.c has to do with a connection, as return values for its rx_data() */
enum c4mpa_verdict {
	C4MPA_GO_ON	= 0,
	C4MPA_CLOSE	= 1,	/* FIN */
	C4MPA_ABORT	= 2,	/* RST */
};

/* What a FIN means that an initiator receives in place of the Reply */
enum c4mpa_fin {
	C4MPA_FIN_ENDS,		/* the connection ends */
	C4MPA_FIN_AGAIN,	/* aborted; c4mpa_take_again() follows */
	C4MPA_FIN_LOST,		/* abort failed; CONNECT_REPLY raised */
};

enum c4mpa_event_type {
	C4MPA_CONNECT_REQUEST,
	C4MPA_CONNECT_REPLY,
	C4MPA_ESTABLISHED,
};

/**
 * struct c4mpa_event - an event of a connection, for iw_cm
 * @type: which event
 * @status: 0 or a negative errno
 * @depths: IRD and ORD, 0..255: the peer's or, if its frame has none, the
 *	device's limit of ORD as IRD, and its limit of IRD as ORD
 * @pd: private data of the peer's frame, or NULL; it is in @rx of &struct
 *	c4mpa_conn, and valid as long as that structure
 * @pd_len: bytes of @pd
 */
struct c4mpa_event {
	enum c4mpa_event_type	type;
	int			status;
	struct {
		u8	ird;
		u8	ord;
	} depths;
	const u8		*pd;
	u8			pd_len;
};

/**
 * struct c4mpa_ops - functions of the device, the timer and iw_cm
 * @send: send the bytes of @head, then those of @pd, which may be NULL, as they
 *	are: the device does not make FPDUs of them; 0 or a negative errno
 * @start: bind the QP to the connection, and program it with @params of &struct
 *	c4mpa_conn: the device takes FPDUs from now on, and for an initiator
 *	sends the RTR message by itself; 0 or a negative errno
 * @event: raise an event; 0, or a negative errno if iw_cm has no memory for it,
 *	or the listener is being destroyed
 * @disarm: stop the timer; false if it has expired already: then its handler
 *	ends the connection
 * @abort: send RST; 0: the device reports when it has closed the connection; or
 *	a negative errno: it reports nothing
 */
struct c4mpa_ops {
	int	(*send)(struct c4mpa_conn *conn, const void *head,
			size_t head_len, const void *pd, size_t pd_len);
	int	(*start)(struct c4mpa_conn *conn);
	int	(*event)(struct c4mpa_conn *conn,
			 const struct c4mpa_event *event);
	bool	(*disarm)(struct c4mpa_conn *conn);
	int	(*abort)(struct c4mpa_conn *conn);
};

/**
 * struct c4mpa_settings - parameters of the module and limits of the device
 * @max_ird: limit of the device, 0..IW_MPA_DEPTH_MAX
 * @max_ord: limit of the device, 0..IW_MPA_DEPTH_MAX
 * @rev: highest MPA revision, IW_MPA_REV_1 or IW_MPA_REV_2
 * @rtr: RTR type to prefer, IW_MPA_RTR_WRITE or IW_MPA_RTR_READ
 * @p2p: ask for the peer-to-peer model; with revision 1, whose frames cannot
 *	ask, assume that the peer has the same setting
 * @crc: ask for CRC
 * @markers: ask for Markers
 */
struct c4mpa_settings {
	u16	max_ird;
	u16	max_ord;
	u8	rev;
	u8	rtr;
	bool	p2p;
	bool	crc;
	bool	markers;
};

/**
 * struct c4mpa_conn - the startup of one connection
 * @ops: functions of the device and iw_cm; NULL before c4mpa_init()
 * @local: what this end offers and asks for
 * @rtr: RTR type of the settings
 * @v1_rtr: RTR type of a connection with revision 1, or 0
 * @reader: collects the peer's startup frame in @rx
 * @rx: bytes of the peer's startup frame
 * @sent: the startup frame that was sent, without private data
 * @peer: the peer's startup frame; its private data is in @rx
 * @params: the negotiated parameters, for @start of &struct c4mpa_ops
 * @again: TCP was aborted, to connect again with revision 1
 * @why: why the startup failed
 */
struct c4mpa_conn {
	const struct c4mpa_ops	*ops;
	struct iw_mpa_local	local;
	u8			rtr;
	u8			v1_rtr;
	struct iw_mpa_reader	reader;
	u8			rx[IW_MPA_FRAME_MAX] __aligned(2);
	struct iw_mpa_frame	sent;
	struct iw_mpa_frame	peer;
	struct iw_mpa_params	params;
	bool			again;
	enum iw_mpa_reason	why;
};

void c4mpa_init(struct c4mpa_conn *conn, const struct c4mpa_ops *ops,
		const struct c4mpa_settings *settings, bool initiator);
int c4mpa_connect(struct c4mpa_conn *conn, u16 ird, u16 ord, const void *pd,
		  u16 pd_len);
enum c4mpa_verdict c4mpa_rx_reply(struct c4mpa_conn *conn, const void *octets,
				  size_t len);
enum c4mpa_verdict c4mpa_rx_request(struct c4mpa_conn *conn, const void *octets,
				    size_t len);
int c4mpa_accept(struct c4mpa_conn *conn, u16 ird, u16 ord, const void *pd,
		 u16 pd_len);
int c4mpa_reject(struct c4mpa_conn *conn, const void *pd, u16 pd_len);
bool c4mpa_may_fall_back(const struct c4mpa_conn *conn);
enum c4mpa_fin c4mpa_rx_fin(struct c4mpa_conn *conn);
bool c4mpa_take_again(struct c4mpa_conn *conn);

#endif /* _CXGB4_MPA_H */

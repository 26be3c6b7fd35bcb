/* SPDX-License-Identifier: GPL-2.0 */
/* MPA startup for a device that makes TCP connections: see iw_mpa_toe.c. */
#ifndef _IW_MPA_TOE_H
#define _IW_MPA_TOE_H

#include <linux/types.h>
#include <rdma/iw_mpa_proto.h>

struct toe_conn;

/**
 * struct toe_hw - functions of the device, and of the rest of its driver
 * @send: send bytes on the TCP connection; returns 0 or a negative errno
 * @start: program the QP with @conn->params, to take FPDUs from now on. An
 *	initiator's RTR message, if one was agreed, is sent next, before the
 *	ULP's work requests
 * @ask: pass the Request, with its private data @conn->peer.pd, to the ULP,
 *	which then calls toe_accept() or toe_reject()
 * @close: close the TCP connection, for the reason @why
 */
struct toe_hw {
	int	(*send)(struct toe_conn *conn, const void *buf, size_t len);
	int	(*start)(struct toe_conn *conn);
	void	(*ask)(struct toe_conn *conn);
	void	(*close)(struct toe_conn *conn, enum iw_mpa_reason why);
};

enum toe_state {
	TOE_AWAIT_REQ,		/* responder: no Request yet */
	TOE_ASKED,		/* responder: no answer of the ULP yet */
	TOE_AWAIT_REP,		/* initiator: no Reply yet */
	TOE_STARTED,		/* the device has the stream: FPDUs */
	TOE_CLOSED,
};

/**
 * struct toe_conn - one connection; one context at a time calls toe_*() for it
 * @hw: the device's functions
 * @local: what this end offers and asks for
 * @state: state of the startup
 * @reader: collects the bytes of the peer's startup frame
 * @rx_buf: the buffer of @reader
 * @sent: the startup frame that was sent, without private data
 * @peer: the peer's startup frame; its private data is in @rx_buf
 * @params: the negotiated parameters
 */
struct toe_conn {
	const struct toe_hw	*hw;
	struct iw_mpa_local	local;
	enum toe_state		state;
	struct iw_mpa_reader	reader;
	u8			rx_buf[IW_MPA_FRAME_MAX] __aligned(2);
	struct iw_mpa_frame	sent;
	struct iw_mpa_frame	peer;
	struct iw_mpa_params	params;
};

int toe_connect(struct toe_conn *conn, const void *pd, u16 pd_len);
void toe_listen(struct toe_conn *conn);
size_t toe_rx(struct toe_conn *conn, const void *buf, size_t len);
int toe_accept(struct toe_conn *conn, const void *pd, u16 pd_len);
int toe_reject(struct toe_conn *conn, const void *pd, u16 pd_len);

#endif /* _IW_MPA_TOE_H */

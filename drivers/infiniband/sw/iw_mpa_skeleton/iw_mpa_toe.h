/* SPDX-License-Identifier: GPL-2.0 */
/* MPA startup for a device that makes TCP connections: see iw_mpa_toe.c. */
#ifndef _IW_MPA_TOE_H
#define _IW_MPA_TOE_H

#include <linux/types.h>
#include <rdma/iw_mpa_proto.h>

struct toe_conn;

/**
 * struct toe_hw - the rest of the driver, and the device
 * @send: send bytes on the TCP connection; 0 or a negative errno
 * @start: program the QP with @conn->params; FPDUs are taken from now on. An
 *	initiator's RTR message follows, and then TX is open
 * @ask: the ULP is to call toe_accept() or toe_reject(); its data is
 *	@conn->peer.pd
 * @close: close the TCP connection; @why is the reason
 */
struct toe_hw {
	int	(*send)(struct toe_conn *conn, const void *buf, size_t len);
	int	(*start)(struct toe_conn *conn);
	void	(*ask)(struct toe_conn *conn);
	void	(*close)(struct toe_conn *conn, enum iw_mpa_reason why);
};

enum toe_state {
	TOE_AWAIT_REQ,		/* responder: the Request */
	TOE_ASKED,		/* responder: the ULP's verdict */
	TOE_AWAIT_REP,		/* initiator: the Reply */
	TOE_STARTED,		/* the stream is the FPDU engine's */
	TOE_CLOSED,
};

/**
 * struct toe_conn - one connection; the caller serializes all calls
 * @hw: the device's functions
 * @local: what this end can do and wants
 * @state: state of the startup
 * @reader: collects the peer's frame
 * @rx_buf: the buffer of @reader
 * @sent: the frame that was sent
 * @peer: the peer's frame; its private data is in @rx_buf
 * @params: what was agreed
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

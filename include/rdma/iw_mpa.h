/* SPDX-License-Identifier: GPL-2.0 */
/*
 * iw_mpa: one iWARP connection manager for all RNIC drivers.
 *
 * Of iw_mpa's headers a driver includes only this one. The contract of iw_mpa
 * and drivers in prose, with the order of calls and an example, is
 * Documentation/infiniband/iw_mpa_driver.rst.
 */
#ifndef _RDMA_IW_MPA_H
#define _RDMA_IW_MPA_H

#include <rdma/iw_mpa_proto.h>
#include <rdma/iw_mpa_tcb.h>

#include <linux/types.h>
#include <net/sock.h>

#define IW_MPA_VERSION	"0.2"	/* of iw_mpa, and of drivers in its tree */
#define IW_MPA_API	3	/* see "Stability" in iw_mpa_driver.rst */

struct ib_device;
struct ib_device_ops;
struct ib_qp;
struct iw_mpa_device;
struct iw_mpa_ep;
struct net_device;

/**
 * enum iw_mpa_cap - what a device can do beyond the minimum
 * @IW_MPA_CAP_TX_MARKERS: it can insert Markers into its FPDUs; without this
 *	iw_mpa refuses a peer that asks for them
 * @IW_MPA_CAP_RX_MARKERS: it can receive FPDUs with Markers; the setting
 *	"markers" says whether iw_mpa asks the peer for them
 * @IW_MPA_CAP_NO_CRC: it also works with CRC off, which both ends have to agree
 *	on; without this iw_mpa always asks for CRC
 * @IW_MPA_CAP_EARLY_RX: it takes a stream with bytes queued after the peer's
 *	startup frame; without this iw_mpa ends such a connection (EARLY_DATA)
 * @IW_MPA_CAP_TX_FENCE: it sends no FPDU from prepare to open_tx; otherwise it
 *	cannot be responder (RFC 5044 7.1.2), unless the setting "fence" is off
 * @IW_MPA_CAP_ATOMIC_OPEN: open_tx does not sleep, so iw_mpa_first_fpdu() may
 *	call it, with all locks that the driver holds around that call; a
 *	responder's ULP then gets ESTABLISHED one work item earlier
 * @IW_MPA_CAP_LARGE_FPDU: it can send and receive FPDUs of more than one TCP
 *	segment; the setting "large_fpdu" says whether the peer is offered them
 */
enum iw_mpa_cap {
	IW_MPA_CAP_TX_MARKERS	= BIT(0),
	IW_MPA_CAP_RX_MARKERS	= BIT(1),
	IW_MPA_CAP_NO_CRC	= BIT(2),
	IW_MPA_CAP_EARLY_RX	= BIT(3),
	IW_MPA_CAP_TX_FENCE	= BIT(4),
	IW_MPA_CAP_ATOMIC_OPEN	= BIT(5),
	IW_MPA_CAP_LARGE_FPDU	= BIT(6),
};

/**
 * struct iw_mpa_stream - what sk_user_data of a connection's socket points to
 * @qp: the connection's QP, from attach until stop; NULL before and after
 * @priv: any pointer of the driver, set in attach; NULL when @qp is NULL
 * @write_space: TCP's own sk_write_space, which the driver's has to call
 *
 * A driver's socket callbacks get it from iw_mpa_sk_stream(). It is aligned to
 * 8 bytes since sk_user_data has three flags of the kernel in its low bits.
 */
struct iw_mpa_stream {
	struct ib_qp	*qp;
	void		*priv;
	void		(*write_space)(struct sock *sk);
} __aligned(8);

/**
 * struct iw_mpa_handoff - what prepare gets: the stream where FPDUs begin
 * @ep: endpoint (iw_mpa's object of a connection), argument of calls to iw_mpa;
 *	valid until stop has returned, longer with iw_mpa_ep_get()
 * @sock: TCP socket, owned by iw_mpa; the driver may receive from attach on,
 *	and send from send_rtr or open_tx on, until stop has returned
 * @params: the negotiated parameters; valid as long as @ep
 * @snd_nxt: TCP sequence number of the first byte of the driver's first FPDU;
 *	for a responder the one after the Reply, which is not sent yet
 * @rcv_nxt: TCP sequence number of the byte after the peer's startup frame
 * @rx_queued: the socket's receive queue has bytes from @rcv_nxt on already
 * @tcb: record of a TCP connection that the device takes over; with all that it
 *	points to valid until prepare returns; NULL if TCP stays on @sock
 * @takeover: argument of iw_mpa_stream_watch() and iw_mpa_stream_released();
 *	NULL without @tcb
 *
 * The structure itself is valid until prepare returns. iw_mpa samples the
 * sequence numbers under lock_sock(). It has sent all startup frames except a
 * responder's Reply, and has read no byte after the peer's startup frame: those
 * are FPDUs.
 */
struct iw_mpa_handoff {
	struct iw_mpa_ep		*ep;
	struct socket			*sock;
	const struct iw_mpa_params	*params;
	u32				snd_nxt;
	u32				rcv_nxt;
	bool				rx_queued;
	const struct iw_mpa_tcb		*tcb;
	struct iw_mpa_takeover		*takeover;
};

/**
 * struct iw_mpa_device_attr - what one device can do
 * @caps: set of &enum iw_mpa_cap
 * @rtr_send: RTR types that the device can generate, a set of IW_MPA_RTR_*;
 *	with 0 its initiators connect in the client-server model only
 * @rtr_accept: RTR types that the device accepts; not 0 (RFC 6581 9.2), and not
 *	Read alone if @max_ird is 0: the device then takes no Read of the peer
 * @max_ird: most RDMA Reads of the peer at once per QP, 0..IW_MPA_DEPTH_MAX
 * @max_ord: most RDMA Reads of this end at once per QP, 0..IW_MPA_DEPTH_MAX
 * @takeover: functions of a device whose own TCP goes on with each connection,
 *	from the record @tcb of &struct iw_mpa_handoff: before prepare iw_mpa
 *	stops the host's TCP; NULL for a device that uses the socket
 *
 * iw_mpa_register_device() copies this, but not what @takeover points to.
 */
struct iw_mpa_device_attr {
	u32	caps;
	u8	rtr_send;
	u8	rtr_accept;
	u16	max_ird;
	u16	max_ord;
	const struct iw_mpa_takeover_ops *takeover;
};

/**
 * struct iw_mpa_driver_ops - what iw_mpa calls for a QP's connection
 * @prepare: Bind the QP to the stream. From the return on the QP accepts
 *	inbound FPDUs; ULPs may post, but the QP transmits nothing before
 *	send_rtr or open_tx. If @params->rtr is set an initiator's first FPDU
 *	has to be the RTR message. Process context, may sleep, may take the QP's
 *	locks. At most once per connection. Return 0, or a negative errno with
 *	the QP unchanged: then no other op follows.
 * @attach: Set sk_data_ready and, if wanted, sk_write_space of the socket, and
 *	@priv of the stream, nothing else. Called with sk_callback_lock
 *	write-held and softirqs off, once after prepare; must not sleep, cannot
 *	fail. Optional: a device that takes TCP over does not need it.
 * @kick_rx: Read what the socket's receive queue has, and then a FIN, before
 *	the return: no callback of the driver has run for bytes before attach.
 *	iw_mpa also calls this when the peer has closed, and finish_tx or stop
 *	after it. Process context, softirqs on, may sleep, must not wait for the
 *	peer, may be called more than once between attach and stop. Required
 *	with attach.
 * @send_rtr: Initiator in the peer-to-peer model (RFC 6581 9.2): send the RTR
 *	message, of the type @params->rtr, as the first FPDU, then what the ULP
 *	has posted and will post. Process context, may sleep, once, instead of
 *	open_tx. Return 0 or a negative errno. Required if the device's rtr_send
 *	is not 0.
 * @repeat_rtr: Initiator in the peer-to-peer model: send a zero-length RDMA
 *	Write after a whole FPDU, for a responder that reads its stream only
 *	when bytes follow the RTR message; nothing if other FPDUs are
 *	unacknowledged, since these serve as well. Process context, may sleep, a
 *	few times at most between send_rtr and stop. Return 0, or a negative
 *	errno if nothing was sent. Optional.
 * @open_tx: Send what the ULP has posted since prepare, and all that it posts
 *	later. Process context, may sleep, at most once: for an initiator in the
 *	client-server model after attach, for a responder after
 *	iw_mpa_first_fpdu() (with IW_MPA_CAP_ATOMIC_OPEN within that call, in
 *	its context, or else in a work item). In the client-server model a
 *	responder may get it without an FPDU: after the Reply if the setting
 *	"fence" is off, or when fence_timeout_ms, if not 0, have passed.
 * @finish_tx: The ULP or the peer has closed gracefully (RFC 5041 6.2.1). Send
 *	what the ULP had posted before this call, and the Read Responses that
 *	are due, nothing else, then call iw_mpa_tx_finished(), from here or
 *	later, for iw_mpa to send FIN. If the peer's FIN comes within an FPDU
 *	call iw_mpa_stream_down() instead. Process context, may sleep, must
 *	not wait for the peer, at most once, after open_tx or send_rtr.
 *	kick_rx and the socket's callbacks may run until stop. Optional:
 *	without it unsent work requests are lost when the connection closes.
 * @stop: Forget the stream, flush the QP's work requests, bring it to the error
 *	state, and do not use the socket after the return, in any context.
 *	iw_mpa has already removed the driver's callbacks. Process context, may
 *	sleep, exactly once after a prepare that returned 0. @why: the reason.
 *
 * No lock of iw_mpa is held in any op but attach. Ops of one connection never
 * run at the same time; ops of different connections do. A responder's prepare
 * and attach run within iw_accept, and any op may run within iw_connect,
 * iw_accept or iw_reject. iw_cm may call iw_accept from its one ordered work
 * queue: a slow op there delays the connections of the whole host.
 */
struct iw_mpa_driver_ops {
	int	(*prepare)(struct ib_qp *qp, const struct iw_mpa_handoff *ho);
	void	(*attach)(struct ib_qp *qp, struct sock *sk,
			  struct iw_mpa_stream *stream);
	void	(*kick_rx)(struct ib_qp *qp);
	int	(*send_rtr)(struct ib_qp *qp, u8 rtr);
	int	(*repeat_rtr)(struct ib_qp *qp);
	void	(*open_tx)(struct ib_qp *qp);
	void	(*finish_tx)(struct ib_qp *qp);
	void	(*stop)(struct ib_qp *qp, enum iw_mpa_reason why);
};

/**
 * struct iw_mpa_qp_end - a QP that is being destroyed
 * @qp: the QP
 * @dev: iw_mpa's object of the QP's device, with a reference; NULL if the
 *	device is not registered with iw_mpa
 * @node: in iw_mpa's list of QPs that are being destroyed
 *
 * The driver's destroy_qp has it on its stack from iw_mpa_qp_gone() until
 * iw_mpa_qp_freed(). Drivers do not use its members.
 */
struct iw_mpa_qp_end {
	struct ib_qp		*qp;
	struct iw_mpa_device	*dev;
	struct list_head	node;
};

/**
 * struct iw_mpa_fault - why a driver ends a stream, for the kernel's log
 * @text: what went wrong, a constant string; not NULL
 * @term: a Terminate message was sent or received: the rest describes it
 * @sent: the driver has sent the message (TCP has all of it); false if the peer
 *	has
 * @layer: layer in the message: 0 RDMAP, 1 DDP, 2 LLP
 * @etype: error type in the message
 * @code: error code in the message
 *
 * The driver fills it in for iw_mpa_stream_down(), which copies it. It is in
 * the log if the connection was up, and ended because of that call.
 */
struct iw_mpa_fault {
	const char	*text;
	bool		term;
	bool		sent;
	u8		layer;
	u8		etype;
	u8		code;
};

int __iw_mpa_register_device(struct ib_device *ibdev, struct net_device *netdev,
			     const struct iw_mpa_driver_ops *ops,
			     const struct iw_mpa_device_attr *attr,
			     unsigned int api);

/*
 * Drivers register by this macro: it passes the IW_MPA_API that the driver was
 * compiled with, and iw_mpa refuses another one than its own.
 */
#define iw_mpa_register_device(ibdev, netdev, ops, attr)	\
	__iw_mpa_register_device(ibdev, netdev, ops, attr, IW_MPA_API)

void iw_mpa_unregister_device(struct ib_device *ibdev);
extern const struct ib_device_ops iw_mpa_ib_device_ops;

void iw_mpa_first_fpdu(struct iw_mpa_ep *ep);
void iw_mpa_stream_down(struct iw_mpa_ep *ep, const struct iw_mpa_fault *fault);
void iw_mpa_disconnect(struct iw_mpa_ep *ep, bool abrupt);
void iw_mpa_close(struct iw_mpa_ep *ep);
void iw_mpa_tx_finished(struct iw_mpa_ep *ep);
void iw_mpa_qp_gone(struct ib_qp *qp, struct iw_mpa_qp_end *end);
void iw_mpa_qp_freed(struct iw_mpa_qp_end *end);

struct iw_mpa_ep *iw_mpa_ep_get(struct iw_mpa_ep *ep);
void iw_mpa_ep_put(struct iw_mpa_ep *ep);

/**
 * iw_mpa_sk_stream - the stream of a socket, with the driver's QP
 * @sk: TCP socket of a connection
 *
 * Context: the driver's socket callbacks, with sk_callback_lock held.
 *
 * Return: NULL, or the stream, whose qp and priv are NULL once iw_mpa has
 * removed the driver's callbacks. A callback may still run then, so it has to
 * check the stream and its priv or qp for NULL.
 */
static inline struct iw_mpa_stream *iw_mpa_sk_stream(const struct sock *sk)
{
	return (struct iw_mpa_stream *)sk->sk_user_data;
}

#endif /* _RDMA_IW_MPA_H */

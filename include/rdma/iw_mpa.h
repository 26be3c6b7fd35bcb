/* SPDX-License-Identifier: GPL-2.0 */
/*
 * iw_mpa: one iWARP connection manager for all RNIC drivers.
 *
 * A driver includes only this header.
 * Documentation/infiniband/iw_mpa_driver.rst has the contract in prose, with
 * the order of calls and an example.
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
 * @IW_MPA_CAP_TX_MARKERS: can insert Markers if the peer requires them
 * @IW_MPA_CAP_RX_MARKERS: can receive Markers; the setting "markers" says
 *	whether the peer is asked for them
 * @IW_MPA_CAP_NO_CRC: also works without CRC, which both ends have to turn off
 * @IW_MPA_CAP_EARLY_RX: can start on a stream on which bytes are queued after
 *	the startup frame; without this such a connection fails (EARLY_DATA)
 * @IW_MPA_CAP_TX_FENCE: holds back all FPDUs from prepare to open_tx; without
 *	this a device cannot be responder, unless the setting "fence" is off
 * @IW_MPA_CAP_ATOMIC_OPEN: open_tx does not sleep, and may be called within
 *	iw_mpa_first_fpdu(), with all locks that the driver holds there; a
 *	responder's ULP then gets ESTABLISHED one work item earlier
 * @IW_MPA_CAP_LARGE_FPDU: can receive FPDUs of more than one TCP segment, and
 *	send them; the setting "large_fpdu" says whether the peer is offered
 *	them
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
 * @qp: the QP, from attach until stop
 * @priv: the driver's own, set in attach, NULL from stop on
 * @write_space: TCP's own callback, which a driver's write_space must call
 *
 * A driver's socket callbacks read it with iw_mpa_sk_stream(). It is aligned to
 * 8 bytes, so that a pointer to it leaves room for the three flags that the
 * kernel keeps in the low bits of sk_user_data.
 */
struct iw_mpa_stream {
	struct ib_qp	*qp;
	void		*priv;
	void		(*write_space)(struct sock *sk);
} __aligned(8);

/**
 * struct iw_mpa_handoff - the stream at the start of Full Operation
 * @ep: the endpoint, for iw_mpa_first_fpdu() and other calls; valid until stop
 *	returned, longer with iw_mpa_ep_get()
 * @sock: the connected TCP socket, owned by iw_mpa; the driver may receive on
 *	it from attach on, send from send_rtr or open_tx on, until stop returned
 * @params: what was negotiated; valid as long as @ep
 * @snd_nxt: TCP sequence number of the first byte of Full Operation that the
 *	driver sends; responder: after the Reply, which is still to be sent
 * @rcv_nxt: TCP sequence number of the first byte that the driver receives
 * @rx_queued: bytes from @rcv_nxt on are in the socket's queue already
 * @tcb: record of the TCP connection, which belongs to the device from now on;
 *	NULL if it stays on the socket. The record and what it points to are
 *	valid within prepare
 * @takeover: with @tcb: for iw_mpa_stream_watch() and iw_mpa_stream_released()
 *
 * The structure itself is valid only within prepare. The sequence numbers are
 * sampled under lock_sock. All startup frames were sent except a responder's
 * Reply. No byte after the peer's startup frame was read.
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
 *	with 0 an initiator connects in the client-server model only
 * @rtr_accept: RTR types that the device accepts; not 0 (RFC 6581 9.2), and not
 *	Read alone if @max_ird is 0
 * @max_ird: most inbound Reads per connection, 0..IW_MPA_DEPTH_MAX
 * @max_ord: most outbound Reads per connection, 0..IW_MPA_DEPTH_MAX
 * @takeover: for a device that takes the TCP connection itself over, as the
 *	record @tcb of &struct iw_mpa_handoff describes it: the host's TCP is
 *	shut off before prepare; else NULL
 *
 * iw_mpa_register_device() copies the structure.
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
 * struct iw_mpa_driver_ops - the driver's half of the hand-off
 * @prepare: Bind the QP to the stream: it must accept inbound FPDUs from now on
 *	and must not transmit. An initiator that is to send an RTR message
 *	(@params->rtr) must send it before all that the ULP posts. Process
 *	context, may sleep, may take the QP's locks. At most once per
 *	connection. Return 0, or a negative errno with the QP unchanged.
 * @attach: Install sk_data_ready and, if wanted, sk_write_space of the socket
 *	and set the stream's @priv. Called with sk_callback_lock write-held and
 *	softirqs off, once after prepare; must not sleep, cannot fail. Optional:
 *	a device that takes the TCP stream into hardware does not need it.
 * @kick_rx: Poll the stream now: bytes may have arrived before attach. Process
 *	context, softirqs on, may be called more than once between attach and
 *	stop. Required with attach.
 * @send_rtr: Initiator in the peer-to-peer model: send the RTR message
 *	(@params->rtr of prepare) as first FPDU, then what the ULP posts.
 *	Process context, may sleep, once, instead of open_tx. Return 0 or a
 *	negative errno. Required if the device's rtr_send is not 0.
 * @repeat_rtr: Initiator in the peer-to-peer model: send one zero-length RDMA
 *	Write between two FPDUs, unless other FPDUs are on their way anyway.
 *	Process context, may sleep, a few times at most between send_rtr and
 *	stop, for a peer that may have missed the RTR message. Return 0, or a
 *	negative errno if nothing was sent. Optional.
 * @open_tx: Send what the ULP has posted, and all that it posts from now on.
 *	Process context, may sleep, once: for an initiator in the client-server
 *	model at once, for a responder after iw_mpa_first_fpdu(), or, with
 *	IW_MPA_CAP_ATOMIC_OPEN, within that call, in its context. For a
 *	responder in the client-server model no FPDU need have arrived: open_tx
 *	follows the Reply if the setting "fence" is off, and comes after
 *	fence_timeout_ms if that is not 0.
 * @finish_tx: Send what the ULP had posted before this call, answer the Reads
 *	that have arrived, send nothing else, then call iw_mpa_tx_finished(),
 *	from here or later. A driver that holds a part of an FPDU when the peer
 *	has closed calls iw_mpa_stream_down() instead. Process context, may
 *	sleep, must not wait for the peer, at most once, after open_tx or
 *	send_rtr. kick_rx and the socket's callbacks may run until then.
 *	Optional: without it work that was posted, but not sent, is lost when
 *	the connection closes.
 * @stop: Forget the stream and bring the QP to the error state. iw_mpa has
 *	already restored the socket's callbacks. Process context, may sleep,
 *	exactly once after a prepare that returned 0. @why: the reason.
 *
 * No lock of iw_mpa is held in any op but attach. Ops of one connection never
 * run at the same time; ops of different connections do. A responder's hand-off
 * runs within iw_accept, and any op may run within iw_connect, iw_accept or
 * iw_reject. iw_cm may call iw_accept from its one ordered work queue: a slow
 * op there holds up the connections of the whole host.
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
 * @dev: its device, with a reference; NULL if iw_mpa does not know it
 * @node: in the device's list
 *
 * It is on the stack of destroy_qp, from iw_mpa_qp_gone() to iw_mpa_qp_freed().
 * Drivers do not use its members.
 */
struct iw_mpa_qp_end {
	struct ib_qp		*qp;
	struct iw_mpa_device	*dev;
	struct list_head	node;
};

/**
 * struct iw_mpa_fault - why a stream is given up, for the log
 * @text: what went wrong, a constant string; not NULL
 * @term: there is a Terminate message
 * @sent: the driver has sent it, not the peer
 * @layer: of the message: 0 RDMAP, 1 DDP, 2 LLP
 * @etype: its error type
 * @code: its error code
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

/* What a driver calls: one compiled for another IW_MPA_API is refused. */
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
 * @sk: socket of a connection
 *
 * Context: the driver's socket callbacks, with sk_callback_lock held.
 *
 * Return: the stream, whose @qp and @priv are NULL once iw_mpa has restored the
 * callbacks; or NULL.
 */
static inline struct iw_mpa_stream *iw_mpa_sk_stream(const struct sock *sk)
{
	return (struct iw_mpa_stream *)sk->sk_user_data;
}

#endif /* _RDMA_IW_MPA_H */

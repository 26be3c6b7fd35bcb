/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IW_MPA_OFFLOAD_H
#define _IW_MPA_OFFLOAD_H

#include <rdma/iw_mpa.h>

#include "fsm.h"
#include "takeover.h"

struct ib_device;
struct iw_mpa_sock;

/**
 * struct iw_mpa_offload - an endpoint's line to the driver
 * @id: the connection's number
 * @drv: the driver's ops
 * @attr: what the device can do
 * @takeovers: TCP connections that the device has
 * @qp: the QP, with a reference; NULL while none is bound
 * @qpn: number of the QP, also after it was unbound
 * @started: prepare returned 0 and stop was not called
 * @taken: prepare has returned 0
 * @takeover: the device has the TCP connection itself
 * @why: why the hand-off failed
 * @err: errno of the op that failed
 * @snd_nxt: TCP sequence number of the first octet that the driver sends
 * @rcv_nxt: TCP sequence number of the first octet that the driver receives
 * @rtr_end: TCP sequence number behind the RTR message, or behind its last repeat
 * @peer_pd: private data of the peer's driver, in the endpoint's reader, or NULL
 *
 * There is no lock: only the endpoint's runner calls these functions.
 */
struct iw_mpa_offload {
	unsigned long			id;
	const struct iw_mpa_driver_ops	*drv;
	const struct iw_mpa_device_attr	*attr;
	struct iw_mpa_takeovers		*takeovers;
	struct ib_qp			*qp;
	u32				qpn;
	bool				started;
	bool				taken;
	bool				takeover;
	u8				why;
	int				err;
	u32				snd_nxt;
	u32				rcv_nxt;
	u32				rtr_end;
	const void			*peer_pd;
};

const char *iw_mpa_offload_check(const struct iw_mpa_driver_ops *drv,
				 const struct iw_mpa_device_attr *attr);
struct ib_qp *iw_mpa_offload_find_qp(struct ib_device *ibdev, u32 qpn);
struct ib_qp *iw_mpa_offload_get_qp(struct ib_device *ibdev, u32 qpn);
void iw_mpa_offload_put_qp(struct ib_qp *qp);

void iw_mpa_offload_put_pd(struct iw_mpa_offload *off, void *pd, bool reject);
enum iw_mpa_event iw_mpa_offload_active(struct iw_mpa_offload *off, struct iw_mpa_ep *ep,
					struct iw_mpa_sock *ms,
					const struct iw_mpa_params *params, bool repeat);
enum iw_mpa_event iw_mpa_offload_passive(struct iw_mpa_offload *off, struct iw_mpa_ep *ep,
					 struct iw_mpa_sock *ms,
					 const struct iw_mpa_params *params, bool fence,
					 const void *reply, size_t len);
bool iw_mpa_offload_is_answered(const struct iw_mpa_offload *off,
				const struct iw_mpa_sock *ms);
bool iw_mpa_offload_repeat_rtr(struct iw_mpa_offload *off, struct iw_mpa_sock *ms, bool behind);
void iw_mpa_offload_stop(struct iw_mpa_offload *off, struct iw_mpa_sock *ms,
			 enum iw_mpa_reason why);
bool iw_mpa_offload_is_untouched(const struct iw_mpa_offload *off,
				 const struct iw_mpa_sock *ms);
iw_mpa_takeover_tell *iw_mpa_offload_teller(const struct iw_mpa_driver_ops *drv);

/* Let the ULP's work out. In any context with IW_MPA_CAP_ATOMIC_OPEN; else it may sleep. */
static inline void iw_mpa_offload_open_tx(struct iw_mpa_offload *off)
{
	off->drv->open_tx(off->qp);
}

/* A device that has taken TCP over needs no kick: it has the bytes itself. */
static inline void iw_mpa_offload_kick_rx(struct iw_mpa_offload *off)
{
	if (off->drv->kick_rx && !off->takeover)
		off->drv->kick_rx(off->qp);
}

/* Return: true if iw_mpa_tx_finished() follows; false if the driver cannot do that. */
static inline bool iw_mpa_offload_finish_tx(struct iw_mpa_offload *off)
{
	if (!off->drv->finish_tx)
		return false;
	off->drv->finish_tx(off->qp);
	return true;
}

#endif /* _IW_MPA_OFFLOAD_H */

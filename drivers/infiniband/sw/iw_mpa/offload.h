/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IW_MPA_OFFLOAD_H
#define _IW_MPA_OFFLOAD_H

#include <rdma/iw_mpa.h>

struct iw_mpa_sock;

/**
 * struct iw_mpa_offload - an endpoint's line to the driver
 * @drv: the driver's ops
 * @attr: what the device can do
 * @qp: the QP, NULL while none is bound; the owner holds a reference
 * @started: prepare returned 0 and stop was not called
 * @err: what the driver's op returned that failed
 * @rcv_nxt: TCP sequence number of the first octet that was the driver's
 * @rtr_end: likewise of the first octet behind the RTR message, or the last repeat of it
 * @peer_pd: the peer's driver's octets, in the endpoint's reader, or NULL
 *
 * Not locked: only the endpoint's one runner calls in.
 */
struct iw_mpa_offload {
	const struct iw_mpa_driver_ops	*drv;
	const struct iw_mpa_device_attr	*attr;
	struct ib_qp			*qp;
	bool				started;
	int				err;
	u32				rcv_nxt;
	u32				rtr_end;
	const void			*peer_pd;
};

void iw_mpa_offload_put_pd(struct iw_mpa_offload *off, void *pd, bool reject);
enum iw_mpa_reason iw_mpa_offload_start(struct iw_mpa_offload *off,
					struct iw_mpa_ep *ep,
					struct iw_mpa_sock *ms,
					const struct iw_mpa_params *params,
					size_t reply_len);
int iw_mpa_offload_send_reply(struct iw_mpa_offload *off,
			      struct iw_mpa_sock *ms, const void *reply,
			      size_t len);
int iw_mpa_offload_open(struct iw_mpa_offload *off, struct iw_mpa_sock *ms,
			const struct iw_mpa_params *params);
bool iw_mpa_offload_may_repeat(const struct iw_mpa_offload *off,
			       const struct iw_mpa_params *params);
bool iw_mpa_offload_is_answered(const struct iw_mpa_offload *off,
				const struct iw_mpa_sock *ms);
bool iw_mpa_offload_is_quiet(const struct iw_mpa_offload *off,
			     const struct iw_mpa_sock *ms);
int iw_mpa_offload_repeat_rtr(struct iw_mpa_offload *off,
			      struct iw_mpa_sock *ms);
void iw_mpa_offload_kick(struct iw_mpa_offload *off);
void iw_mpa_offload_stop(struct iw_mpa_offload *off, struct iw_mpa_sock *ms,
			 enum iw_mpa_reason why);
int iw_mpa_offload_check(const struct iw_mpa_driver_ops *drv,
			 const struct iw_mpa_device_attr *attr,
			 const char **problem);

#endif /* _IW_MPA_OFFLOAD_H */

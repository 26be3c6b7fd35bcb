/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IW_MPA_UPCALL_H
#define _IW_MPA_UPCALL_H

#include <rdma/iw_mpa_proto.h>

#include <linux/types.h>

struct ib_device;
struct iw_cm_id;
struct iw_mpa_device_attr;
struct iw_mpa_tuple;
struct net;

/**
 * enum iw_mpa_upcall_phase - the event that iw_cm expects next
 * @IW_MPA_UP_SILENT: nothing: no connect or accept has returned 0
 * @IW_MPA_UP_REPLY: one CONNECT_REPLY
 * @IW_MPA_UP_ESTABLISHED: one ESTABLISHED
 * @IW_MPA_UP_CLOSE: one CLOSE
 */
enum iw_mpa_upcall_phase {
	IW_MPA_UP_SILENT,
	IW_MPA_UP_REPLY,
	IW_MPA_UP_ESTABLISHED,
	IW_MPA_UP_CLOSE,
};

/**
 * struct iw_mpa_upcall - an endpoint's line to iw_cm
 * @id: the connection's number
 * @attr: what the device can do: its limits stand in for depths that the peer does not name
 * @cm_id: with a reference, from connecting or accepting until the last event
 * @phase: what is due; an event that is not due cannot be raised
 * @rejected: iw_reject was called: iw_cm expects no event any more
 *
 * iw_cm crashes the kernel on an event out of order. The phase allows these sequences alone:
 * CONNECT_REPLY(0), CLOSE; CONNECT_REPLY(<0); ESTABLISHED, CLOSE; and a part of the last one if the
 * ULP rejects what it has accepted. There is no lock: only the endpoint's runner calls these
 * functions, but for iw_mpa_upcall_rejected().
 */
struct iw_mpa_upcall {
	unsigned long			id;
	const struct iw_mpa_device_attr	*attr;
	struct iw_cm_id			*cm_id;
	enum iw_mpa_upcall_phase	phase;
	bool				rejected;
};

void iw_mpa_upcall_expect(struct iw_mpa_upcall *up, struct iw_cm_id *id,
			  enum iw_mpa_upcall_phase phase);
void iw_mpa_upcall_cancel(struct iw_mpa_upcall *up);
void iw_mpa_upcall_rejected(struct iw_mpa_upcall *up);
int iw_mpa_upcall_request(struct iw_mpa_upcall *up, struct iw_cm_id *listen_id,
			  const struct iw_mpa_frame *peer, const struct iw_mpa_tuple *tuple);
int iw_mpa_upcall_up(struct iw_mpa_upcall *up, const struct iw_mpa_frame *peer,
		     const struct iw_mpa_tuple *tuple);
void iw_mpa_upcall_down(struct iw_mpa_upcall *up, int status, const struct iw_mpa_frame *peer);

bool iw_mpa_upcall_is_foreign(struct iw_cm_id *id, const struct net *net);
struct net *iw_mpa_upcall_get_net(struct iw_cm_id *id);
int iw_mpa_upcall_ifindex(struct iw_cm_id *id);
void iw_mpa_upcall_keep_requests(struct iw_cm_id *id);
const struct ib_device *iw_mpa_upcall_device(struct iw_cm_id *id);

#endif /* _IW_MPA_UPCALL_H */

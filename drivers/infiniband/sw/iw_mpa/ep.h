/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IW_MPA_EP_H
#define _IW_MPA_EP_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/workqueue.h>

#include <rdma/iw_mpa.h>

#include "fsm.h"
#include "offload.h"
#include "sock.h"
#include "upcall.h"

struct iw_cm_id;
struct iw_mpa_config;
struct iw_mpa_device;

/* Room for most peers' frame. With it a responder takes no more than 512 octets. */
#define IW_MPA_EP_FRAME		40

/**
 * struct iw_mpa_half_open - the half-open connections of one listener
 * @ref: the listener's, and one for each live endpoint that came from it
 * @eps: the oldest first; under the device's lock, like @count
 * @count: how many
 */
struct iw_mpa_half_open {
	refcount_t		ref;
	struct list_head	eps;
	unsigned int		count;
};

/**
 * struct iw_mpa_ep - one connection, from its first SYN to its last event
 * @sock: its TCP socket
 * @up: its line to iw_cm
 * @off: its line to the driver
 * @dev: its device; held while the endpoint is live
 * @listen_id: cm_id of the listener it came from, until the ULP was asked; held
 * @node: in a list of @dev, under @dev's lock
 * @siblings: those of its listener; held while a responder is live
 * @sibling: in @siblings while @half_open, under @dev's lock
 * @ref: 1 while live, 1 while @asked, 1 while @work is queued, and what drivers
 *	take
 * @rcu: for who has its number, and takes a reference if there is one left; when
 *	there is none, and @sibling is in no list
 * @lock: protects @events, @busy, @deadline, setting @timer, and writing @state;
 *	taken in softirq
 * @events: set of events raised and not yet handled
 * @state: written by the runner only
 * @busy: somebody is the runner
 * @tuple: its addresses, for people; under @dev's lock
 * @born: when it came to be, in jiffies
 * @initiator: local role
 * @accepted: iw_accept was called; under @lock
 * @rejected: iw_reject, too, and no event must follow; under @lock
 * @asked: its number in the provider_data of a passive cm_id, 0 if the ULP has
 *	not been asked, or has nothing to answer any more; under @dev's lock
 * @half_open: in the lists of that name of @dev and @siblings; under @dev's lock
 * @indicate: the runner has to raise CONNECT_REQUEST
 * @fallback: a v2 Request may be tried again with v1
 * @reason: why it ended, or ends; the first cause counts
 * @err: the errno behind @reason, for people, or 0
 * @drained: octets dropped while lingering
 * @repeats: how often the RTR message was repeated
 * @accepted_qp: the QP of the last iw_accept, until the cm_id is left; under @lock
 * @tcp_err: the sk_err that TCP failed with
 * @qpn: number of the bound QP
 * @deadline: when the wait in the state ends, in jiffies; 0 if never
 * @connect_by: initiator: when it has to be connected, in jiffies, however often it
 *	tries; 0 for a responder
 * @timer: raises TIMED_OUT at @deadline; may fire before
 * @work: runs the endpoint
 * @local: what this end can and wants
 * @sent: the Request or Reply that was sent, without private data
 * @peer: the frame received; its private data is in @reader's buffer
 * @params: what was agreed
 * @reader: collects the peer's frame
 * @reply_pd: private data for the Reply; valid within iw_accept and iw_reject
 * @reply_pd_len: its length
 * @request_pd_len: length of @request_pd
 * @frame: of @reader, unless the peer's frame is longer
 * @request_pd: of the initiator: the ULP's private data
 *
 * Running: whoever handles an endpoint's events is its runner. There is one at a
 * time, in process context: the work item, or iw_connect, iw_accept, iw_reject
 * and a listener's work item, which need no hop to it. Socket callbacks,
 * timers and drivers only raise events. What the runner does is done without a
 * lock; an event that comes meanwhile waits in @events, and who ceases to be
 * the runner queues the work for it. Nobody ever waits to become the runner.
 * Fields without another rule belong to the runner.
 *
 * Lock order: sk_callback_lock, then @lock. @lock is a leaf.
 */
struct iw_mpa_ep {
	struct iw_mpa_sock	sock;
	struct iw_mpa_upcall	up;
	struct iw_mpa_offload	off;
	struct iw_mpa_device	*dev;
	struct iw_cm_id		*listen_id;
	struct list_head	node;
	struct iw_mpa_half_open	*siblings;
	union {
		struct list_head	sibling;
		struct rcu_head		rcu;
	};
	struct iw_mpa_tuple	tuple;
	unsigned long		born;
	struct kref		ref;

	spinlock_t		lock;
	u32			events;
	u8			state;
	bool			busy;

	bool			initiator;
	bool			accepted:1;
	bool			rejected:1;
	bool			half_open;
	bool			indicate;
	bool			fallback;
	u8			reason;
	s16			err;
	s16			tcp_err;
	u32			drained;
	u8			repeats;
	u32			qpn;
	unsigned long		asked;
	struct ib_qp		*accepted_qp;
	unsigned long		deadline;
	unsigned long		connect_by;
	struct timer_list	timer;
	struct work_struct	work;

	struct iw_mpa_local	local;
	struct iw_mpa_frame	sent;
	struct iw_mpa_frame	peer;
	struct iw_mpa_params	params;
	struct iw_mpa_reader	reader;

	const void		*reply_pd;
	u16			reply_pd_len;
	u16			request_pd_len;
	u8			frame[IW_MPA_EP_FRAME] __aligned(2);
	u8			request_pd[];
};

struct iw_mpa_ep *iw_mpa_ep_alloc(struct iw_mpa_device *dev, bool initiator,
				  const void *request_pd, u16 request_pd_len);
void iw_mpa_ep_note_tuple(struct iw_mpa_ep *ep);
int iw_mpa_ep_link(struct iw_mpa_ep *ep, struct iw_cm_id *listen_id,
		   struct iw_mpa_half_open *siblings);
void iw_mpa_ep_refused(struct iw_mpa_ep *ep);
struct iw_mpa_half_open *iw_mpa_half_open_alloc(void);
void iw_mpa_half_open_put(struct iw_mpa_half_open *half_open);
int iw_mpa_ep_bind_qp(struct iw_mpa_ep *ep, u32 qpn);
void iw_mpa_ep_unbind_qp(struct iw_mpa_ep *ep);
void iw_mpa_ep_end_qp(struct iw_mpa_device *dev, u32 qpn);
void iw_mpa_ep_retire(struct iw_mpa_ep *ep);
void iw_mpa_ep_reset_reader(struct iw_mpa_ep *ep);
int iw_mpa_ep_make_room(struct iw_mpa_ep *ep);
int iw_mpa_ep_ask(struct iw_mpa_ep *ep, struct iw_cm_id **listen_id);
void *iw_mpa_ep_provider_data(const struct iw_mpa_ep *ep);
struct iw_mpa_ep *iw_mpa_ep_of_id(const struct iw_cm_id *id);
void iw_mpa_ep_leave_id(struct iw_mpa_ep *ep, struct iw_cm_id *id);
struct ib_qp *iw_mpa_ep_note_accept(struct iw_mpa_ep *ep, struct ib_qp *qp);
struct ib_qp *iw_mpa_ep_note_late_accept(struct iw_cm_id *id, struct ib_qp *qp);

const struct iw_mpa_config *iw_mpa_ep_config(const struct iw_mpa_ep *ep);

#endif /* _IW_MPA_EP_H */

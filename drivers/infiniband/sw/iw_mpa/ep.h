/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IW_MPA_EP_H
#define _IW_MPA_EP_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/rculist_bl.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/workqueue.h>

#include <net/net_namespace.h>
#include <rdma/iw_mpa.h>

#include "fsm.h"
#include "sock.h"

struct iw_cm_conn_param;
struct iw_cm_id;
struct iw_mpa_config;
struct iw_mpa_device;
struct iw_mpa_listener;

/* Room for the frames of most peers */
#define IW_MPA_EP_FRAME		40

/* The list of its listener that a responder is in */
enum iw_mpa_queue {
	IW_MPA_Q_NONE,
	IW_MPA_Q_REQUEST,	/* half-open: it waits for the MPA Request */
	IW_MPA_Q_LINGER,	/* half-open: refused, until the peer closes */
	IW_MPA_Q_ROOM,		/* the Request waits for room in iw_cm or ULP */
};

/* The event that iw_cm expects next */
enum iw_mpa_upcall_phase {
	IW_MPA_UP_SILENT,	/* none: no connect or accept has returned 0 */
	IW_MPA_UP_REPLY,	/* one CONNECT_REPLY */
	IW_MPA_UP_ESTABLISHED,
	IW_MPA_UP_CLOSE,
};

/**
 * struct iw_mpa_upcall - the events that an endpoint raises at iw_cm
 * @cm_id: with a reference, from connecting or accepting until the last event
 * @phase: the event that is due; no other can be raised
 * @rejected: iw_reject was called: iw_cm expects no event any more
 *
 * iw_cm crashes the kernel on an event out of order. The phase allows these
 * sequences alone: CONNECT_REPLY(0), CLOSE; CONNECT_REPLY(<0); ESTABLISHED,
 * CLOSE; and a part of the last one if the ULP rejects what it has accepted. No
 * lock is needed: only the endpoint's runner writes the members, except
 * @rejected.
 */
struct iw_mpa_upcall {
	struct iw_cm_id			*cm_id;
	enum iw_mpa_upcall_phase	phase;
	bool				rejected;
};

/**
 * struct iw_mpa_offload - an endpoint's QP, and its hand-off to the driver
 * @qp: the QP, with a reference; NULL while none is bound
 * @qpn: number of the QP, also after it was unbound
 * @taken: prepare has returned 0
 * @snd_nxt: TCP sequence number of the first byte that the driver sends
 * @rcv_nxt: TCP sequence number of the first byte that the driver receives
 * @rtr_end: TCP sequence number after the RTR message, or after its last repeat
 *
 * No lock is needed: only the endpoint's runner writes the members. Other
 * contexts may check whether @qp is NULL, and read @qpn.
 */
struct iw_mpa_offload {
	struct ib_qp			*qp;
	u32				qpn;
	bool				taken;
	u32				snd_nxt;
	u32				rcv_nxt;
	u32				rtr_end;
};

/**
 * struct iw_mpa_call - a call of iw_cm that an endpoint is handling
 * @id: the cm_id that iw_connect, iw_accept or iw_reject was called for
 * @param: what the ULP asks for; NULL in iw_reject
 * @pd: private data for the Reply; valid during the call only
 * @pd_len: its length
 * @err: result: what the call returns
 */
struct iw_mpa_call {
	struct iw_cm_id			*id;
	const struct iw_cm_conn_param	*param;
	const void			*pd;
	u16				pd_len;
	int				err;
};

/**
 * struct iw_mpa_ep - one connection, from its first SYN to its last event
 * @id: the connection's number: in traces, logs and debugfs, and for a
 *	responder in the provider_data of its cm_id; odd, and unique among live
 *	connections
 * @registered: in the table of all endpoints, under the lock of its bucket
 * @bound: in the table of qp.c while it has a QP, under the lock of its bucket
 * @ref: 1 while live, 1 while @work is queued, and those of drivers
 * @held: how many of @ref are the driver's
 * @dev: its device; held while the endpoint is live
 * @net: its network namespace, that of each of its sockets; held until the end
 * @net_tracker: of the reference on @net
 * @config: the settings of @net
 * @ifindex: initiator: the interface that rdma_cm has chosen, or 0
 * @initiator: local role
 * @user: the QP that it has, or had last, is an application's; read under
 *	@lock, and written by the runner
 * @born: when it was created, in jiffies of 64 bits
 *
 * @lock: for event.c and run.c alone: protects @events, @busy, @found,
 *	@awaited, @deadline, setting @timer, and writing @state; taken in
 *	softirq
 * @events: set of events raised and not yet handled
 * @state: written by the runner only
 * @busy: there is a runner
 * @runner: the task that the runner runs in, or has interrupted, so that a task
 *	does not wait for itself: a runner that interrupts a task clears this
 *	before the task goes on
 * @found: event that a runner in atomic context has left to the work item,
 *	which is the runner then; or IW_MPA_EV_NONE
 * @awaited: a call of iw_cm waits to be the runner, and is the next one; the
 *	call itself clears this
 * @deadline: when the wait in the present state ends, in jiffies; 0 if never
 * @until: limit of several waits together, in jiffies: an initiator's tries for
 *	a Reply, a responder's for room in iw_cm, and from the first state of
 *	the phase END on an orderly end; 0 if there is none; for the runner
 * @timer: raises TIMED_OUT at @deadline; may fire earlier
 * @work: runs the endpoint
 *
 * @listener: responder: its listener; held while the endpoint is live
 * @queue: the list of @listener that it is in; under the device's lock
 * @queued: entry in the list @queue; under the device's lock
 * @queued_crowd: half-open: entry in its crowd's list; under the device's lock
 * @asked: the ULP has not answered CONNECT_REQUEST; under the device's lock
 * @stray: responder: the address is another device's: the answer is a Reject
 * @rcu: frees the memory after a grace period, for readers of the table. An
 *	endpoint without references is in no list, so @queued_crowd is free
 *
 * @sock: its TCP socket; none before TCP opens it, and none any more once the
 *	device has taken the connection over
 * @takeover: the device has taken TCP over, or is about to; else NULL
 * @up: its events to iw_cm
 * @off: its QP, and its hand-off to the driver
 * @tuple: its addresses, for log and debugfs; family 0 until they are known
 * @call: the ULP's call that is being handled, or NULL
 * @reason: why the connection ended or ends; the first cause counts, except if
 *	an orderly end fails
 * @repeats: how often the RTR message was repeated
 * @fallback: initiator: a connection of revision 1 will do, too
 * @v2_again: initiator: revision 2 was offered a second time
 * @lost: initiator: what the first Request asked for in vain, IW_MPA_LOST_*
 * @err: the errno that explains @reason in the log, or 0
 * @tcp_err: the sk_err that TCP failed with
 * @fault: why the driver gave the stream up; written under @lock, before
 *	STREAM_DOWN is raised
 * @drained: bytes dropped while lingering
 * @progress: iw_mpa_sock_progress() at the last check, in an orderly end
 * @local: what this end can and wants
 * @sent: the Request or Reply that was sent, without private data
 * @peer: the frame received; its private data is in @reader's buffer
 * @params: what was agreed
 * @reader: collects the peer's frame
 * @request_out: TCP has taken the whole Request
 * @request_sent: bytes of the Request that TCP has taken
 * @request_pd_len: length of @request_pd
 * @frame: buffer of @reader, unless the peer's frame is longer: see startup.c
 * @request_pd: initiator: the ULP's private data for the Request
 *
 * The runner handles an endpoint's events. One context at a time is the runner,
 * in process context: the work item; or iw_connect, iw_accept, iw_reject, a
 * listener's work item, or a ULP that closes, so that no hop to the endpoint's
 * work item is needed. Socket callbacks, timers and drivers only raise events.
 * There is one exception: iw_mpa_first_fpdu() is the runner in any context, if
 * the driver's open_tx does not sleep. The runner holds no lock. An event that
 * is raised while it runs waits in @events, which the runner checks before it
 * stops. Members without another rule are the runner's.
 *
 * Lock order: sk_callback_lock, or the device's lock, before @lock. @lock and
 * the lock of a bucket of either table are leaves.
 */
struct iw_mpa_ep {
	unsigned long		id;
	struct hlist_bl_node	registered;
	struct hlist_bl_node	bound;
	struct kref		ref;
	atomic_t		held;
	struct iw_mpa_device	*dev;
	struct net		*net;
	netns_tracker		net_tracker;
	const struct iw_mpa_config *config;
	u64			born;
	int			ifindex;

	spinlock_t		lock;
	u32			events;
	u8			state;
	u8			found;
	bool			busy;
	bool			awaited;
	bool			initiator;
	bool			user;
	const struct task_struct *runner;
	unsigned long		deadline;
	unsigned long		until;
	struct timer_list	timer;
	struct work_struct	work;

	struct iw_mpa_listener	*listener;
	struct list_head	queued;
	union {
		struct list_head	queued_crowd;
		struct rcu_head		rcu;
	};
	u8			queue;
	bool			asked;
	bool			stray;

	u8			reason;
	u8			repeats;
	bool			fallback;
	bool			v2_again;
	u8			lost;
	bool			request_out;
	s16			err;
	s16			tcp_err;
	u32			drained;
	u32			progress;
	struct iw_mpa_fault	fault;

	struct iw_mpa_sock	sock;
	struct iw_mpa_takeover	*takeover;
	struct iw_mpa_upcall	up;
	struct iw_mpa_offload	off;
	struct iw_mpa_tuple	tuple;
	struct iw_mpa_call	*call;

	struct iw_mpa_local	local;
	struct iw_mpa_frame	sent;
	struct iw_mpa_frame	peer;
	struct iw_mpa_params	params;
	struct iw_mpa_reader	reader;

	u16			request_sent;
	u16			request_pd_len;
	u8			frame[IW_MPA_EP_FRAME] __aligned(2);
	u8			request_pd[];
};

/* There is no runner, and none is due: see @awaited. */
static inline bool iw_mpa_ep_is_idle(const struct iw_mpa_ep *ep)
{
	lockdep_assert_held(&ep->lock);

	return !ep->busy && !ep->awaited;
}

/* ep.c */
#define IW_MPA_EP_BUCKETS	4096	/* of the table of endpoints */

unsigned long iw_mpa_new_id(void);
struct iw_mpa_ep *iw_mpa_ep_create(struct iw_mpa_device *dev, struct net *net,
				   bool initiator, const void *request_pd,
				   u16 request_pd_len);
void iw_mpa_ep_unregister(struct iw_mpa_ep *ep);
struct iw_mpa_ep *iw_mpa_ep_find(unsigned long id);
struct iw_mpa_ep *iw_mpa_ep_hold(struct iw_mpa_ep *ep);
void iw_mpa_ep_drop(struct iw_mpa_ep *ep);
bool iw_mpa_ep_check_call(const struct iw_mpa_ep *ep, const char *call);
void iw_mpa_ep_set_reason(struct iw_mpa_ep *ep, enum iw_mpa_reason reason,
			  int err);
enum iw_mpa_event iw_mpa_ep_fail(struct iw_mpa_ep *ep, enum iw_mpa_event event,
				 int err);
void iw_mpa_ep_log_loss(const struct iw_mpa_ep *ep);
void iw_mpa_ep_note_end(struct iw_mpa_ep *ep, enum iw_mpa_event event);
void iw_mpa_ep_look(unsigned int bucket,
		    void (*look)(struct iw_mpa_ep *ep, void *arg), void *arg);

/* upcall.c */
void iw_mpa_upcall_expect(struct iw_mpa_ep *ep, struct iw_cm_id *id);
void iw_mpa_upcall_cancel(struct iw_mpa_ep *ep);
int iw_mpa_upcall_request(struct iw_mpa_ep *ep, struct iw_cm_id *listen_id);
int iw_mpa_upcall_up(struct iw_mpa_ep *ep);
void iw_mpa_upcall_down(struct iw_mpa_ep *ep);

/* event.c */
extern struct workqueue_struct *iw_mpa_wq;
extern struct workqueue_struct *iw_mpa_user_wq;
#ifdef CONFIG_LOCKDEP
extern struct lockdep_map iw_mpa_runner_map;
#endif

void iw_mpa_raise(struct iw_mpa_ep *ep, enum iw_mpa_event event);
void iw_mpa_raise_unless_up(struct iw_mpa_ep *ep, enum iw_mpa_event event);
void iw_mpa_event_queue_work(struct iw_mpa_ep *ep);
void iw_mpa_event_timeout(struct timer_list *timer);
void iw_mpa_event_may_wait(void);
void iw_mpa_event_of_sock(struct iw_mpa_sock *ms, enum iw_mpa_event event,
			  int err);
int iw_mpa_event_init(void);
void iw_mpa_event_exit(void);

/* qp.c */
int iw_mpa_qp_bind(struct iw_mpa_ep *ep, u32 qpn);
void iw_mpa_qp_unbind(struct iw_mpa_ep *ep);

/* startup.c */
enum iw_mpa_event iw_mpa_startup_send_request(struct iw_mpa_ep *ep);
enum iw_mpa_event iw_mpa_startup_read_request(struct iw_mpa_ep *ep);
enum iw_mpa_event iw_mpa_startup_read_reply(struct iw_mpa_ep *ep);
int iw_mpa_startup_make_reply(struct iw_mpa_ep *ep, u8 buf[IW_MPA_FRAME_MAX]);
void iw_mpa_startup_send_reject(struct iw_mpa_ep *ep);
void iw_mpa_startup_send_term(struct iw_mpa_ep *ep);
void iw_mpa_startup_end(struct iw_mpa_ep *ep);

/* run.c */
#define IW_MPA_BORROWED		4	/* more events that a call handles */

struct iw_mpa_ep *iw_mpa_run_create(struct iw_mpa_device *dev, struct net *net,
				    bool initiator, const void *request_pd,
				    u16 request_pd_len);
void iw_mpa_run(struct iw_mpa_ep *ep, enum iw_mpa_event event,
		unsigned int budget);
bool iw_mpa_run_claim(struct iw_mpa_ep *ep, enum iw_mpa_event event);
bool iw_mpa_run_answer(struct iw_mpa_ep *ep, struct iw_mpa_call *call,
		       enum iw_mpa_event answer);

#endif /* _IW_MPA_EP_H */

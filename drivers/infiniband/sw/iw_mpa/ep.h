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

/* Bytes of an endpoint's buffer: most peers' startup frames fit into it */
#define IW_MPA_EP_FRAME		40

/* Which list of its listener a responder's endpoint is in */
enum iw_mpa_queue {
	IW_MPA_Q_NONE,
	IW_MPA_Q_REQUEST,	/* half-open: it waits for the MPA Request */
	IW_MPA_Q_LINGER,	/* half-open: rejected, peer has not closed */
	IW_MPA_Q_ROOM,		/* the Request waits for room in iw_cm or ULP */
};

/* The event that iw_cm expects next of an endpoint */
enum iw_mpa_upcall_phase {
	IW_MPA_UP_SILENT,	/* none yet, or the last one was raised */
	IW_MPA_UP_REPLY,	/* one CONNECT_REPLY */
	IW_MPA_UP_ESTABLISHED,
	IW_MPA_UP_CLOSE,
};

/**
 * struct iw_mpa_upcall - the events that an endpoint raises at iw_cm
 * @cm_id: gets the events; referenced from connect or accept to the last event
 * @phase: the event that iw_cm expects next; no other can be raised
 * @rejected: iw_reject was called: iw_cm expects no event any more
 *
 * An event out of order makes iw_cm crash the kernel. @phase and @rejected
 * allow only these sequences for a connection, with the event's status in
 * parentheses: CONNECT_REPLY(0), CLOSE; CONNECT_REPLY(<0); ESTABLISHED, CLOSE;
 * and, if the ULP rejects what it has accepted, ESTABLISHED alone, or no event.
 * No lock is needed: the context that handles the endpoint's events (the
 * runner) alone writes the members, except @rejected, which is set within
 * iw_reject.
 */
struct iw_mpa_upcall {
	struct iw_cm_id			*cm_id;
	enum iw_mpa_upcall_phase	phase;
	bool				rejected;
};

/**
 * struct iw_mpa_offload - an endpoint's QP, and its hand-off to the driver
 * @qp: the QP, with a reference; NULL while no QP is bound to the endpoint
 * @qpn: number of that QP, which stays here after the QP was unbound
 * @taken: the driver's prepare() has returned 0: the driver has, or had, the
 *	stream
 * @snd_nxt: TCP sequence number of the first byte that the driver sends
 * @rcv_nxt: TCP sequence number of the first byte that the driver receives
 * @rtr_end: TCP sequence number after the RTR message, or after its last repeat
 *
 * No lock is needed: the context that handles the endpoint's events (the
 * runner) alone writes the members. Other contexts may check whether @qp is
 * NULL, and read @qpn.
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
 * @param: the ULP's parameters; NULL in iw_reject
 * @pd: private data for the Reply; valid during the call only
 * @pd_len: bytes at @pd
 * @err: result: the errno that the call returns, or 0
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
 * @registered: entry in the table of all endpoints; under its bucket's lock
 * @bound: entry in the table of qp.c while it has a QP; under the bucket's lock
 * @ref: 1 while live, 1 while @work is queued, and those of drivers and callers
 * @held: how many of the references in @ref are the driver's
 * @dev: its device; held while the endpoint is live
 * @net: network namespace of all its sockets; held until the endpoint is freed
 * @net_tracker: tracks the reference on @net
 * @config: the settings of @net
 * @ifindex: initiator: index of the interface that rdma_cm has chosen, or 0
 * @initiator: local role: this end connects
 * @user: the QP that it has, or had last, is an application's, not a kernel
 *	ULP's; read under @lock, written by the runner
 * @born: when it was created, in jiffies of 64 bits
 *
 * @lock: taken in event.c and run.c alone, also in softirq; protects @events,
 *	@busy, @found, @awaited, @deadline, setting of @timer, and writing of
 *	@state
 * @events: set of events raised and not yet handled
 * @state: written by the runner only
 * @busy: some context is the runner
 * @runner: the task in which the runner runs, or which it has interrupted; NULL
 *	without a runner. iw_mpa_qp_gone() in this task must not wait for the
 *	runner: it would wait for itself. A runner that interrupts a task clears
 *	this before the task goes on
 * @found: event that an action in iw_mpa_first_fpdu() or iw_mpa_close() has
 *	returned, left to @work, which is the runner then; or IW_MPA_EV_NONE
 * @awaited: iw_accept or iw_reject waits to be the runner, and no other context
 *	becomes it; the waiting call clears this
 * @deadline: when the wait in the present state ends, in jiffies; 0 if never
 * @until: time limit of several states together, in jiffies: of an initiator's
 *	attempts to get a Reply, of a responder's wait for room in iw_cm or the
 *	ULP, or of a close by FIN as a whole; 0 if there is none; for the runner
 * @timer: raises TIMED_OUT at @deadline; if it fires earlier it starts again
 * @work: the work item in which the endpoint's events are handled
 *
 * @listener: responder: its listener; held while the endpoint is live
 * @queue: which list of @listener has the endpoint; under the device's lock
 * @queued: entry in that list of @listener; under the device's lock
 * @queued_crowd: if @queue is IW_MPA_Q_REQUEST or IW_MPA_Q_LINGER: entry in
 *	@half_open of &struct iw_mpa_crowd; under the device's lock
 * @asked: CONNECT_REQUEST was raised, and not answered; under the device's lock
 * @stray: responder: the local address is another device's: send a Reject
 * @rcu: frees the memory after a grace period, for readers of the table of all
 *	endpoints. It may take the place of @queued_crowd: an endpoint is freed
 *	when it is in no list
 *
 * @sock: the connection's TCP socket; none before TCP opens it, and none after
 *	a device has taken the TCP connection over
 * @takeover: the device has taken TCP over, or is about to; else NULL
 * @up: the endpoint's events to iw_cm
 * @off: the endpoint's QP, and its hand-off to the driver
 * @tuple: the connection's addresses, for log and debugfs; family 0: not known
 * @call: the call of iw_cm that is being handled, or NULL
 * @reason: why the connection ends or has ended: the first cause, or the
 *	failure of a close by FIN
 * @repeats: how often the RTR message was repeated
 * @fallback: initiator: revision 1 is allowed if the peer lacks revision 2
 * @v2_again: initiator: revision 2 was offered a second time
 * @lost: initiator: what the first Request asked for and did not get,
 *	IW_MPA_LOST_*
 * @err: the errno that explains @reason in the log, or 0
 * @tcp_err: the sk_err, a positive errno, with which TCP failed
 * @fault: why the driver gave the stream up; written under @lock, before
 *	STREAM_DOWN is raised
 * @drained: bytes of the peer that were dropped in state LINGER
 * @progress: iw_mpa_sock_progress() at the last check of a close by FIN
 * @local: what this end's device can do, and what its ULP asks for
 * @sent: the Request or Reply that this end has sent, without private data
 * @peer: the peer's Request or Reply; its private data is in @reader's buffer
 * @params: the parameters that both ends agreed on
 * @reader: collects the peer's startup frame
 * @request_out: TCP has taken the whole Request
 * @request_sent: bytes of the Request that TCP has taken
 * @request_pd_len: length of @request_pd
 * @frame: buffer of @reader; a longer frame gets another: startup_make_room()
 * @request_pd: initiator: the ULP's private data for the Request
 *
 * The runner is the one context at a time that handles the endpoint's events:
 * @work; or, to save the delay of a work item, a call of iw_connect, iw_accept
 * or iw_reject, a listener's work item, or iw_mpa_close(). All these are in
 * process context. Only iw_mpa_first_fpdu() may be the runner in any context,
 * if the driver's open_tx() does not sleep. Socket callbacks, timers and
 * drivers only raise events. The runner holds no lock. An event that is raised
 * while there is a runner stays in @events, which the runner checks before it
 * stops. The runner alone uses the members for which no other rule is given.
 *
 * Lock order: sk_callback_lock of the socket, or the device's lock, is taken
 * before @lock. Under @lock, or the lock of a bucket of a table, no other lock
 * of iw_mpa is taken.
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

/* Return: true if no context is the endpoint's runner, or waits to be it. */
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
#define IW_MPA_BORROWED		4	/* raised events per call of iw_cm */

struct iw_mpa_ep *iw_mpa_run_create(struct iw_mpa_device *dev, struct net *net,
				    bool initiator, const void *request_pd,
				    u16 request_pd_len);
void iw_mpa_run(struct iw_mpa_ep *ep, enum iw_mpa_event event,
		unsigned int budget);
bool iw_mpa_run_claim(struct iw_mpa_ep *ep, enum iw_mpa_event event);
bool iw_mpa_run_answer(struct iw_mpa_ep *ep, struct iw_mpa_call *call,
		       enum iw_mpa_event answer);

#endif /* _IW_MPA_EP_H */

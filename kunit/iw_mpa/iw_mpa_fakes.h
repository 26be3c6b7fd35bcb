/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Fakes of what surrounds iw_mpa: iw_cm, an RNIC driver, and a TCP peer that makes and parses MPA
 * frames as bytes, without the code of iw_mpa.
 *
 * The fakes also check iw_mpa. If it makes a call that iw_cm or a driver must never get, for
 * example an event after the last reference on a cm_id, fake_fault() records that, in any context,
 * and fakes_exit() fails the test. So no test has to check for such calls itself.
 */
#ifndef _IW_MPA_FAKES_H
#define _IW_MPA_FAKES_H

#include <kunit/test.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <net/net_namespace.h>
#include <rdma/ib_verbs.h>
#include <rdma/iw_cm.h>
#include <rdma/iw_mpa.h>

#include "config.h"
#include "fsm.h"

#define FAKE_WAIT_MS	20000	/* a test fails if it waits longer for an event */
#define FAKE_SHORT_MS	40	/* for timeout settings that a test lets expire */
#define FAKE_EVENTS	8
#define FAKE_BACKLOG	16
#define FAKE_QPS	3
#define FAKE_SOCKS	16
#define FAKE_FAULTS	8
#define FAKE_PD_MAX	255
#define FAKE_LOG_SIZE	160

struct fakes;
struct iw_mpa_ep;
struct iw_mpa_sock;

/* The states of a cm_id: see enum iw_cm_state in drivers/infiniband/core/iwcm.h. */
enum fake_state {
	FAKE_IDLE,
	FAKE_LISTEN,
	FAKE_CONN_SENT,
	FAKE_CONN_RECV,
	FAKE_ESTABLISHED,
	FAKE_CLOSING,
	FAKE_DESTROYING,
};

/* Copy of an event that iw_mpa has reported to the fake iw_cm */
struct fake_event {
	enum iw_cm_event_type	type;			/* type of the event */
	int			status;			/* status, as in struct iw_cm_event */
	u8			ird;			/* the peer's IRD */
	u8			ord;			/* the peer's ORD */
	u8			pd_len;			/* bytes of private data */
	u8			pd[FAKE_PD_MAX];	/* copy of the private data */
	struct sockaddr_storage	local;
	struct sockaddr_storage	remote;
};

/**
 * struct fake_id - a cm_id, with the state that iw_cm has for it
 * @id: the cm_id that iw_mpa gets
 * @f: the fakes that it belongs to
 * @node: element of the list @f->ids
 * @listener: for a passive cm_id: the listening cm_id whose CONNECT_REQUEST has made it
 * @state: state in iw_cm
 * @refs: references; at 0 iw_cm would free the cm_id, so any further use is recorded as a fault
 * @budget: number of further events for which iw_cm has a work item
 * @fail_events: iw_cm refuses this many further events with -ENOMEM
 * @fail_copies: iw_cm refuses this many further events with private data, for lack of memory to
 *	copy the data
 * @frozen: after iw_cm has refused an event, its event handler does not return until the test
 *	sets @frozen to false
 * @drop_requests: for a listener: drop each CONNECT_REQUEST silently, as iw_cm does while it
 *	destroys the listener
 * @nr_dropped: number of events that iw_cm has dropped, by @drop_requests or after fake_destroy()
 * @late: for a passive cm_id: iw_cm puts events into @held until fake_catch_up() is called
 * @held: events that iw_cm has not handled yet
 * @nr_held: number of elements of @held
 * @taken: for a passive cm_id: fake_try_request() or fake_next_request() has returned it
 * @destroyed: fake_destroy() was called
 * @hide_qp: once iw_cm has its reference on the QP, iw_get_qp does not find the QP any more
 * @destroy_qp: once iw_cm has its reference on the QP, call iw_mpa_qp_gone() for the QP
 * @qp: the QP on which iw_cm has a reference
 * @nr_events: number of elements of @events
 * @events: the events from iw_mpa, in order
 * @answer: for a listener: function that answers each CONNECT_REQUEST in another thread, which
 *	does not wait for the event handler to return
 * @has_answered: for a passive cm_id: @answer or the iw_reject of fake_reject_beside() has returned
 * @answered: for a passive cm_id: the result of that call
 */
struct fake_id {
	struct iw_cm_id		id;
	struct fakes		*f;
	struct list_head	node;
	struct fake_id		*listener;
	enum fake_state		state;
	int			refs;
	int			budget;
	int			fail_events;
	int			fail_copies;
	bool			frozen;
	bool			drop_requests;
	int			nr_dropped;
	bool			late;
	struct iw_cm_event	held[2];
	int			nr_held;
	bool			taken;
	bool			destroyed;
	bool			hide_qp;
	bool			destroy_qp;
	struct ib_qp		*qp;
	int			nr_events;
	struct fake_event	events[FAKE_EVENTS];
	int			(*answer)(struct fake_id *child);
	bool			has_answered;
	int			answered;
};

/* Bytes that fake_have_busy_tcp() adds to sk_wmem_alloc, as if a segment were queued in the host */
#define FAKE_BUSY		100

/* The driver's ops: indices of @fail and @nap of struct fake_qp, and bits of its @held */
enum fake_op {
	FAKE_PREPARE,
	FAKE_ATTACH,
	FAKE_KICK_RX,
	FAKE_SEND_RTR,
	FAKE_REPEAT_RTR,
	FAKE_OPEN_TX,
	FAKE_FINISH_TX,
	FAKE_STOP,
	FAKE_OPS
};

/**
 * struct fake_qp - a QP, with the state that a driver has for its connection
 * @ib: the QP that iw_mpa gets
 * @f: the fakes that it belongs to
 * @refs: references; 1 while neither iw_cm nor iw_mpa has any
 * @hidden: iw_get_qp does not find the QP, as if it was being destroyed
 * @seen: iw_get_qp still finds the QP while iw_mpa_qp_gone() runs, which is a mistake of a driver
 * @end: data of iw_mpa from iw_mpa_qp_gone() until iw_mpa_qp_freed()
 * @ending: iw_mpa_qp_gone() was called, and iw_mpa_qp_freed() was not yet
 * @reject: passive cm_id that the ULP rejects while iw_mpa drops its reference on the QP, or
 *	NULL
 * @slow_put: iw_rem_ref takes 100 ms, once
 * @log: names of the ops that were called, in order
 * @fail: for each op the errno that it returns, 0 for success
 * @nap: for each op that may sleep: how many jiffies it takes, in addition to one
 * @held: bit mask of ops that wait until the test calls fake_qp_go_on()
 * @busy: an op is running
 * @prepared: prepare has returned 0, and stop was not called
 * @attached: attach was called
 * @tx_open: FPDUs may be sent: open_tx or send_rtr was called, and stop was not
 * @finishing: finish_tx was called
 * @slow_finish: finish_tx does not call iw_mpa_tx_finished(): the test does
 * @closes: for a close by FIN the driver calls iw_mpa_close(), not iw_mpa_disconnect()
 * @ho: copy of the argument of the last prepare
 * @params: copy of the parameters of the last prepare
 * @rtr: argument of send_rtr
 * @why: argument of stop
 * @sk: the socket, from attach to stop
 * @in_rx: the driver's data_ready is running
 * @opened_in_rx: open_tx was called within the driver's data_ready
 * @down_in_open: open_tx calls iw_mpa_stream_down()
 * @stop_rx: the driver does not read from the socket
 * @speak: the peer's socket, on which prepare sends a byte to iw_mpa; or NULL
 * @busy_sk: the socket of fake_have_busy_tcp(), between the ops hold and let_go
 * @rx_have: bytes in @rx
 * @rx: FPDU that has not arrived completely
 * @nr_fpdus: number of whole FPDUs with a good CRC
 */
struct fake_qp {
	struct ib_qp			ib;
	struct fakes			*f;
	int				refs;
	bool				hidden;
	bool				seen;
	struct iw_mpa_qp_end		end;
	bool				ending;
	struct fake_id			*reject;
	bool				slow_put;
	char				log[FAKE_LOG_SIZE];
	int				fail[FAKE_OPS];
	int				nap[FAKE_OPS];
	unsigned long			held;
	bool				busy;
	bool				prepared;
	bool				attached;
	bool				tx_open;
	bool				finishing;
	bool				slow_finish;
	bool				closes;
	struct iw_mpa_handoff		ho;
	struct iw_mpa_params		params;
	u8				rtr;
	enum iw_mpa_reason		why;
	struct sock			*sk;
	bool				in_rx;
	bool				opened_in_rx;
	bool				down_in_open;
	bool				stop_rx;
	struct socket			*speak;
	struct sock			*busy_sk;
	u32				rx_have;
	u8				rx[IW_MPA_FPDU_MAX];
	int				nr_fpdus;
};

/**
 * struct fakes - all fakes of one test
 * @test: the test
 * @ibdev: the IB device
 * @drv: ops of the driver; a test may change them until it connects or listens
 * @attr: what the device can do; a change takes effect in fake_register_again()
 * @takeover: ops for the takeover of TCP connections, which @attr may point to
 * @registered: @ibdev is registered with iw_mpa
 * @config: settings of init_net, which a test may write
 * @saved: the settings before the test
 * @lock: protects the fields of all fakes that ops and events of iw_mpa change in any context
 * @wake: wait queue of FAKE_WAIT(): each change of a fake by an op or event wakes it
 * @ids: list of cm_ids; none is freed before the end of the test
 * @qps: QPs; the number of a QP is its index plus 1
 * @backlog: backlog that ULPs pass to rdma_listen(), FAKE_BACKLOG unless a test changes it
 * @fast_open: the peer's listeners accept data with a SYN
 * @peers_net: network namespace in which sockets of the peer are opened
 * @socks: sockets of the peer, closed at the end of the test
 * @nr_socks: number of elements of @socks
 * @nets: references on init_net when the test began; at its end there must not be more
 * @elsewhere: another network namespace, once fakes_elsewhere() has made it
 * @faults: descriptions of the forbidden actions that were recorded
 * @nr_faults: number of forbidden actions
 */
struct fakes {
	struct kunit			*test;
	struct ib_device		*ibdev;
	struct iw_mpa_driver_ops	drv;
	struct iw_mpa_device_attr	attr;
	struct iw_mpa_takeover_ops	takeover;
	bool				registered;
	struct iw_mpa_config		*config;
	struct iw_mpa_config		saved;
	spinlock_t			lock;
	wait_queue_head_t		wake;
	struct list_head		ids;
	struct fake_qp			qps[FAKE_QPS];
	int				backlog;
	bool				fast_open;
	struct net			*peers_net;
	struct socket			*socks[FAKE_SOCKS];
	int				nr_socks;
	int				nets;
	struct net			*elsewhere;
	const char			*faults[FAKE_FAULTS];
	int				nr_faults;
};

extern const struct iw_mpa_fault fake_broken;

bool fakes_has_no_endpoint(void);
int fakes_init(struct kunit *test);
void fakes_exit(struct kunit *test);
struct net *fakes_elsewhere(struct fakes *f);
void fake_fault(struct fakes *f, const char *what);
int fake_register(struct fakes *f);
void fake_attach_device(struct ib_device *ibdev, bool attached);
void fake_unregister(struct fakes *f);
void fake_register_again(struct fakes *f);
void fake_set_caps(struct fakes *f, u32 caps);
struct device_attribute *fake_device_attr(struct fakes *f, const char *name);
void fake_set_device(struct fakes *f, const char *name, const char *value);

/* Wait until other contexts make @cond true and wake @f->wake; after FAKE_WAIT_MS end the test. */
#define FAKE_WAIT(f, cond)						\
	KUNIT_ASSERT_TRUE_MSG((f)->test,				\
			      wait_event_timeout((f)->wake, cond,	\
				msecs_to_jiffies(FAKE_WAIT_MS)) > 0,	\
			      "waited in vain for %s", #cond)

/* As FAKE_WAIT(), for a condition whose change does not wake @f->wake: check at every tick. */
#define FAKE_POLL(f, cond)						\
do {									\
	int __ticks = msecs_to_jiffies(FAKE_WAIT_MS);			\
	bool __met;							\
									\
	while (!(__met = (cond)) && __ticks--)				\
		schedule_timeout_uninterruptible(1);			\
	KUNIT_ASSERT_TRUE_MSG((f)->test, __met,				\
			      "waited in vain for %s", #cond);		\
} while (0)

/* iw_cm */
struct fake_id *fake_id_create(struct fakes *f);
void fake_live_here(struct fake_id *fid);
void fake_live_elsewhere(struct fake_id *fid);
int fake_connect(struct fake_id *fid, const struct iw_cm_conn_param *param);
int fake_listen(struct fake_id *fid);
int fake_accept(struct fake_id *fid, const struct iw_cm_conn_param *param);
void fake_catch_up(struct fake_id *fid);
int fake_reject(struct fake_id *fid, const void *pd, u8 pd_len);
int fake_try_accept(struct fake_id *fid, const struct iw_cm_conn_param *param);
int fake_try_reject(struct fake_id *fid);
void fake_reject_beside(struct fake_id *fid);
void fake_destroy(struct fake_id *fid);
void fake_disconnect(struct fake_id *fid);
struct fake_id *fake_try_request(struct fake_id *listener);
struct fake_id *fake_next_request(struct fake_id *listener);
int fake_answer_of(struct fake_id *child);
const struct fake_event *fake_next_event(struct fake_id *fid, int nr);
void fake_expect_event(struct fake_id *fid, int nr, enum iw_cm_event_type type,
		       int status);
void fake_expect_closed(struct fake_id *fid, int nr_events);

/* the driver */
int fake_rnic_init(struct fakes *f);
struct fake_qp *fake_qp_of(struct ib_qp *qp);
struct iw_mpa_ep *fake_qp_ep(struct fake_qp *qp);
void fake_qp_disconnect(struct fake_qp *qp, bool abrupt);
void fake_qp_tx_finished(struct fake_qp *qp);
void fake_qp_stream_down(struct fake_qp *qp);
void fake_qp_freed(struct fake_qp *qp);
void fake_qp_go_on(struct fake_qp *qp);
void fake_qp_gone(struct fake_qp *qp);
void fake_have_repeat_rtr(struct fakes *f);
void fake_have_finish_tx(struct fakes *f);
void fake_have_takeover(struct fakes *f);
void fake_have_busy_tcp(struct fakes *f);

/* interfaces */
struct net_device *fake_netdev_add(struct kunit *test, __be32 address);
void fake_netdev_remove(struct net_device *netdev);

/* the peer */
struct socket *peer_listen(struct fakes *f, struct fake_id *fid, int family);
struct socket *peer_accept(struct fakes *f, struct socket *listener);
struct socket *peer_connect(struct fakes *f, const struct fake_id *listener);
struct socket *peer_connect_and_send(struct fakes *f, const struct fake_id *listener,
				     const void *buf, size_t len);
void peer_send(struct fakes *f, struct socket *sock, const void *buf, size_t len);
void peer_recv(struct fakes *f, struct socket *sock, void *buf, size_t len);
void peer_fin(struct socket *sock);
void peer_rst(struct fakes *f, struct socket *sock);
void peer_expect_eof(struct fakes *f, struct socket *sock);
void peer_expect_quiet(struct fakes *f, struct socket *sock);
void peer_expect_rst(struct fakes *f, struct socket *sock);
void peer_expect_rst_on_send(struct fakes *f, struct socket *sock);
void peer_expect_end(struct fakes *f, struct socket *sock);
void peer_recv_term(struct fakes *f, struct socket *sock, u8 code);
void peer_recv_rtr(struct fakes *f, struct socket *sock, u8 rtr);
void peer_expect_term(struct fakes *f, struct socket *sock, u8 code);

/*
 * Bits of MPA frames, named as in RFC 5044 7.1.1 and RFC 6581 9; MPA_CW is control flag C, in the
 * word with ORD
 */
#define MPA_M	0x80
#define MPA_C	0x40
#define MPA_R	0x20
#define MPA_S	0x10
#define MPA_A	0x8000
#define MPA_B	0x4000
#define MPA_CW	0x8000
#define MPA_D	0x4000

/* A startup frame that the peer sends or has received */
struct peer_frame {
	size_t	len;				/* bytes of the frame */
	u8	buf[IW_MPA_FRAME_MAX + 64];	/* the frame */
};

void peer_make(struct peer_frame *frame, bool reply, u8 flags, u8 rev,
	       const void *pd, u16 pd_len);
void peer_make_v2(struct peer_frame *frame, bool reply, u8 flags, u16 ird, u16 ord,
		  const void *pd, u16 pd_len);
void peer_send_frame(struct fakes *f, struct socket *sock,
		     const struct peer_frame *frame);
void peer_recv_frame(struct fakes *f, struct socket *sock,
		     struct peer_frame *frame);
u8 peer_frame_flags(const struct peer_frame *frame);
u8 peer_frame_rev(const struct peer_frame *frame);
u16 peer_frame_pd_len(const struct peer_frame *frame);
u16 peer_frame_word(const struct peer_frame *frame, int nr);

/**
 * struct fake_conn - one connection between iw_mpa and the peer
 * @f: the fakes of the test
 * @fid: cm_id of the connection
 * @qp: QP of the connection
 * @param: parameters of the ULP's connect or accept
 * @listener: if iw_mpa is the initiator: the peer's listening socket
 * @lis: if iw_mpa is the responder: the listening cm_id
 * @peer: the peer's socket
 * @frame: the last startup frame that the peer received or sent
 */
struct fake_conn {
	struct fakes			*f;
	struct fake_id			*fid;
	struct fake_qp			*qp;
	struct iw_cm_conn_param		param;
	struct socket			*listener;
	struct fake_id			*lis;
	struct socket			*peer;
	struct peer_frame		frame;
};

#define CONN_IRD	8
#define CONN_ORD	4
#define CONN_PEER_IRD	6
#define CONN_PEER_ORD	2

void conn_aim(struct fake_conn *c, int family);
void conn_dial(struct fake_conn *c);
void conn_answer_dial(struct fake_conn *c);
void conn_send_good_reply(struct fake_conn *c);
void conn_connect(struct fake_conn *c);
void conn_active_up(struct fake_conn *c);
struct fake_conn *conn_new(struct kunit *test);
void conn_listen(struct fake_conn *c);
struct fake_id *conn_wildcard(const struct fake_conn *c, struct fakes *f);
void conn_make_good_request(struct fake_conn *c);
void conn_send_request(struct fake_conn *c);
void conn_ask(struct fake_conn *c);
void conn_call(struct fake_conn *c);
void conn_call_v1(struct fake_conn *c);
void conn_call_v2(struct fake_conn *c, u8 flags);
void conn_accept(struct fake_conn *c);
void conn_send_rtr(struct fake_conn *c);
void conn_establish(struct fake_conn *c);
void conn_passive_up(struct fake_conn *c);
void conn_expect_failed(struct fake_conn *c, int status);
void conn_expect_closed(struct fake_conn *c, enum iw_mpa_reason why);
void conn_expect_refusal(struct fake_conn *c, const char *pd, u8 term);
void conn_expect_reject_and_fin(struct fake_conn *c);

/*
 * fake_ep() finds the endpoint of a cm_id. fake_ep_setup() and fake_sock_*() are for tests that
 * call functions of iw_mpa directly, with an endpoint whose events no work item handles, or without
 * an endpoint.
 */
struct iw_mpa_ep *fake_ep(struct fake_id *fid);
void fake_ep_setup(struct iw_mpa_ep *ep);
void fake_sock_ignore(struct iw_mpa_sock *ms, enum iw_mpa_event event, int err);
int fake_sock_connect(struct fake_id *fid, struct iw_mpa_sock *ms);
struct socket *fake_sock_open(struct fakes *f, struct iw_mpa_sock *ms);

/* Make the RTR message Write of RFC 6581 9.2 without the code of iw_mpa; return its length. */
size_t peer_make_rtr_write(u8 fpdu[IW_MPA_FPDU_MAX]);

#endif /* _IW_MPA_FAKES_H */

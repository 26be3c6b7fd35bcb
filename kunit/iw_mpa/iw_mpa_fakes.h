/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The worlds around the library, faked: iw_cm, an RNIC driver, and a TCP peer
 * that knows nothing of MPA but octets.
 *
 * The fakes are judges too. Whatever iw_cm or a driver may not be confronted with
 * is noted as a fault where it happens, in any context, and fails the test at its
 * end: a test says what is special in it only.
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

#define FAKE_WAIT_MS	20000	/* how long something that must happen may take */
#define FAKE_SHORT_MS	40	/* a timer of the library that a test waits for */
#define FAKE_EVENTS	8
#define FAKE_BACKLOG	16
#define FAKE_QPS	3
#define FAKE_SOCKS	16
#define FAKE_FAULTS	8
#define FAKE_PD_MAX	255
#define FAKE_LOG_SIZE	160

struct fakes;
struct rdma_cm_id;
struct iw_mpa_ep;
struct iw_mpa_sock;

/* The states of iw_cm's cm_ids. */
enum fake_state {
	FAKE_IDLE,
	FAKE_LISTEN,
	FAKE_CONN_SENT,
	FAKE_CONN_RECV,
	FAKE_ESTABLISHED,
	FAKE_CLOSING,
	FAKE_DESTROYING,
};

/**
 * struct fake_event - an event as iw_cm would have handed it on
 * @type: which
 * @status: as in struct iw_cm_event, like the fields that follow
 * @ird: peer's IRD
 * @ord: peer's ORD
 * @pd_len: octets in @pd
 * @pd: copy of the private data
 * @local: local address
 * @remote: remote address
 */
struct fake_event {
	enum iw_cm_event_type	type;
	int			status;
	u8			ird;
	u8			ord;
	u8			pd_len;
	u8			pd[FAKE_PD_MAX];
	struct sockaddr_storage	local;
	struct sockaddr_storage	remote;
};

/**
 * struct fake_id - a cm_id and iw_cm's view of it
 * @id: what the library sees
 * @f: the world it is in
 * @node: in @f->ids
 * @listener: passive: where it came from
 * @state: iw_cm's state machine
 * @refs: references; 0 means freed, and using it then is a fault
 * @budget: events that iw_cm has room for
 * @fail_events: so many events from now on are refused with -ENOMEM
 * @fail_copies: likewise, but only such as have private data to copy
 * @drop_requests: listener: CONNECT_REQUEST is dropped without a word, as on a
 *	listener that is being destroyed
 * @nr_dropped: how many of them
 * @late: passive: iw_cm has not come to handle the events; see fake_catch_up()
 * @held: those that wait
 * @nr_held: how many
 * @taken: passive: a test has got it from fake_next_request()
 * @destroyed: fake_destroy() was called
 * @hide_qp: the QP is hidden as soon as iw_cm has its reference
 * @destroy_qp: and the library is told that it is being destroyed
 * @qp: the QP that iw_cm has a reference on
 * @nr_events: how many of @events are there
 * @events: what was raised, in order
 * @answer: listener: called from another thread, which does not wait for event_handler
 *	to return
 * @has_answered: passive: @answer has returned
 * @answered: what it returned
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

/* Octets under way, of fake_have_busy_tcp() */
#define FAKE_BUSY		100

/* The driver's ops, as bits for struct fake_qp's @fail. */
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
 * struct fake_qp - a QP and the driver's view of its connection
 * @ib: what the library sees
 * @f: the world it is in
 * @refs: references, 1 while nobody uses it
 * @hidden: iw_get_qp does not find it, as if it was being destroyed
 * @seen: and it still finds it while iw_mpa_qp_gone() runs, which is a mistake
 * @end: the library's notes while it is being destroyed
 * @ending: it is: @end is in use
 * @reject: passive cm_id that the ULP rejects while the library lets go of the QP, or NULL
 * @log: names of the ops called, in order
 * @fail: errno that each op is to return, 0 for success
 * @nap: how much longer than a jiffy each op that may sleep does, in jiffies
 * @held: such ops, as bits, do not go on before a test says so; see fake_qp_go_on()
 * @busy: an op is running
 * @prepared: prepare returned 0 and stop was not called
 * @attached: attach was called
 * @tx_open: FPDUs may be sent: open_tx or send_rtr was called, and stop was not
 * @finishing: finish_tx was called
 * @slow_finish: finish_tx leaves it to the test to call iw_mpa_tx_finished()
 * @closes: an end in order is iw_mpa_close(), and not iw_mpa_disconnect()
 * @ho: of the last prepare
 * @params: likewise, copied
 * @rtr: of send_rtr
 * @why: of stop
 * @sk: the socket, from attach to stop
 * @in_rx: data_ready is running
 * @opened_in_rx: open_tx was called by it
 * @down_in_open: the driver finds within open_tx that it cannot go on with the stream
 * @stop_rx: do not read what arrives
 * @speak: the peer's socket, from which an octet comes while the driver prepares, or NULL
 * @busy_sk: between hold and let_go of fake_have_busy_tcp()
 * @rx_have: octets of an incomplete FPDU in @rx
 * @rx: incomplete FPDU
 * @nr_fpdus: whole FPDUs with a good CRC
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
 * struct fakes - everything of one test
 * @test: the test
 * @ibdev: the IB device
 * @drv: the driver's ops; a test may change them until it connects or listens
 * @attr: what the device can do; a change counts after fake_register_again()
 * @takeover: for @attr
 * @registered: the library knows @ibdev
 * @config: settings of init_net, writable
 * @saved: what they were before
 * @lock: protects the fields that other contexts change, of all fakes
 * @wake: woken by whatever happens
 * @ids: cm_ids, none is freed before the end
 * @qps: QPs; the QP number is the index plus 1
 * @backlog: what ULPs say in rdma_listen(), FAKE_BACKLOG unless a test changes it
 * @fast_open: the peer's listeners take octets with a SYN
 * @peers_net: network namespace of the peer's sockets that are opened next
 * @socks: sockets of the peer, closed at the end
 * @nr_socks: how many
 * @nets: references on init_net when the test began
 * @elsewhere: another network namespace, once a test has asked for it
 * @faults: what nobody may do and somebody did
 * @nr_faults: how often
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

/* Wait until @cond, which other contexts make true; a test cannot go on without. */
#define FAKE_WAIT(f, cond)						\
	KUNIT_ASSERT_TRUE_MSG((f)->test,				\
			      wait_event_timeout((f)->wake, cond,	\
				msecs_to_jiffies(FAKE_WAIT_MS)) > 0,	\
			      "waited in vain for %s", #cond)

/* Likewise for what changes without a word to us: look at every tick. */
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
struct rdma_cm_id *fake_own(struct fake_id *fid);
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

/* MPA frames, in the words of RFC 5044 7.1.1 and RFC 6581 9 */
#define MPA_M	0x80
#define MPA_C	0x40
#define MPA_R	0x20
#define MPA_S	0x10
#define MPA_A	0x8000
#define MPA_B	0x4000
#define MPA_CW	0x8000
#define MPA_D	0x4000

/**
 * struct peer_frame - a startup frame in the peer's hands
 * @len: octets in @buf
 * @buf: the frame
 */
struct peer_frame {
	size_t	len;
	u8	buf[IW_MPA_FRAME_MAX + 64];
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
 * struct fake_conn - one connection between the library and the peer
 * @f: the world
 * @fid: its cm_id
 * @qp: its QP
 * @param: what the ULP wants
 * @listener: initiator: the peer's listening socket
 * @lis: responder: the listening cm_id
 * @peer: the peer's socket
 * @frame: the frame that the peer received last, or sent
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

void conn_dial(struct fake_conn *c, struct fakes *f);
void conn_answer_dial(struct fake_conn *c);
void conn_send_good_reply(struct fake_conn *c);
void conn_active_up(struct fake_conn *c, struct fakes *f);
struct fake_conn *conn_new(struct kunit *test);
void conn_listen(struct fake_conn *c, struct fakes *f);
struct fake_id *conn_wildcard(const struct fake_conn *c, struct fakes *f);
void conn_make_good_request(struct fake_conn *c);
void conn_call(struct fake_conn *c, struct fakes *f);
void conn_send_rtr(struct fake_conn *c);
void conn_passive_up(struct fake_conn *c, struct fakes *f);
void conn_expect_refusal(struct fake_conn *c, const char *pd, u8 term);
void conn_expect_reject_and_fin(struct fake_conn *c);

/* A socket of the library without an endpoint, or with one whose events nobody handles */
struct iw_mpa_ep *fake_ep(struct fake_id *fid);
void fake_ep_setup(struct iw_mpa_ep *ep);
void fake_sock_ignore(struct iw_mpa_sock *ms, enum iw_mpa_event event, int err);
int fake_sock_connect(struct fake_id *fid, struct iw_mpa_sock *ms);
struct socket *fake_sock_open(struct fakes *f, struct iw_mpa_sock *ms);

/* RFC 6581 9.2: the zero-length Write, made by hand */
size_t peer_make_rtr_write(u8 fpdu[IW_MPA_FPDU_MAX]);

#endif /* _IW_MPA_FAKES_H */

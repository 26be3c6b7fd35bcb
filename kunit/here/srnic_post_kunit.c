// SPDX-License-Identifier: GPL-2.0
/*
 * A ULP posts while prepare() runs, before open_tx(), and before, in and after stop(): at each
 * moment at which a race may lose a work request. An application also rings its doorbell if srnic's
 * sender may have stopped. Each work request has to be sent or flushed, once and in order; none may
 * stay without a completion.
 */

#include "srnic_single.h"

#include <linux/bottom_half.h>
#include <linux/delay.h>
#include <net/sock.h>

#include "iw_mpa_quiet.h"
#include "srnic_pair_tcp.h"
#include "../srnic/mem.h"	/* with a path, since user mode Linux has a mem.h, too */
#include "qp.h"

#define POST_WHILE_MS	50
#define POST_PATIENCE_MS 2000
#define POST_RECV	1000	/* wr_id of the first receive */
#define POST_BAD	0x4711	/* no region has this STag */

static const struct pair_opts post_opts = { .crc = true, .emss = 1448, .ord = 2 };

/* Moments of a stream's end at which the ULP posts a Send and a receive */
enum post_moment {
	AT_BEFORE,		/* before stop() */
	AT_SOCKET,		/* stop() waits for the socket's lock */
	AT_SENDER,		/* stop() waits for srnic's sender, which is in a call of TCP */
	AT_LAST,		/* stop() passes the Terminate message to TCP */
	AT_HANDLER,		/* stop() calls the completion handler for Sends that TCP has */
	AT_FLUSH,		/* stop() calls the completion handler for flushed Sends */
	AT_EVENT,		/* the ULP's handler of asynchronous events runs */
	AT_AFTER,		/* stop() has returned */
	AT_NEVER
};

/* The ULP of a test */
struct post_world {
	bool			app;	/* the ULP is an application, not in the kernel */
	u32			sends;		/* number of Sends that the ULP has posted */
	u32			recvs;		/* number of receives that the ULP has posted */
	enum post_moment	at;		/* moment at which the ULP posts next */
	/* work item that rings the doorbell, like a thread of the application */
	struct work_struct	bell;
	struct work_struct	stop;	/* work item that calls srnic's op stop(), like iw_mpa */
	enum iw_mpa_reason	why;		/* reason with which stop() is called */
	u32			done;		/* number of Sends that have completed */
	u32			recvs_done;	/* number of receives that have completed */
	bool			failed;		/* a Send has completed with an error */
};

static struct post_world post;

static struct ib_qp *post_qp(void)
{
	return &single.qp->ibqp;
}

/* --- the ULP --- */

static void post_doorbell(struct work_struct *unused)
{
	const struct ib_send_wr *bad;

	WARN_ON(srnic_verbs.post_send(post_qp(), NULL, &bad));
}

/*
 * Post a Send as libsiw, the provider in rdma-core, does: with an SGE of the STag @key, or without
 * SGEs if @key is 0. Return true if the application has to ring the doorbell: srnic's sender has
 * returned the previous element of the ring, so it may have stopped before this element was valid.
 */
static bool post_send_app(u32 key)
{
	struct siw_sqe *before = &single.qp->sq.uring[(post.sends - 1) % PAIR_WRS];
	struct siw_sqe sqe = {
		.id = post.sends, .opcode = SIW_OP_SEND, .flags = SIW_WQE_SIGNALLED,
		.num_sge = !!key, .sge = { { .length = 8, .lkey = key } },
	};

	pair_post_user(&single.p->end[0], post.sends++, &sqe);
	/*
	 * Full barrier: the previous element's flags are read after the new element is written.
	 * srnic's sender clears those flags, and then reads the new element.
	 */
	smp_mb();
	return !(READ_ONCE(before->flags) & SIW_WQE_VALID);
}

static void post_send_kernel(u32 key)
{
	struct ib_sge sge = { .length = 8, .lkey = key };
	const struct ib_send_wr wr = {
		.wr_id = post.sends++, .opcode = IB_WR_SEND, .sg_list = &sge, .num_sge = !!key,
		.send_flags = IB_SEND_SIGNALED,
	}, *bad;

	WARN_ON(srnic_verbs.post_send(post_qp(), &wr, &bad));
}

/* Post a Send. Return true if a thread of the application still has to ring the doorbell. */
static bool post_send(u32 key)
{
	if (post.app)
		return post_send_app(key);
	post_send_kernel(key);
	return false;
}

static void post_recv(void)
{
	const u64 id = POST_RECV + post.recvs;
	const struct ib_recv_wr wr = { .wr_id = id }, *bad;
	struct siw_rqe *rqe;

	if (single.qp->srq)
		return;
	if (post.app) {
		rqe = &single.qp->rq.uring[post.recvs % PAIR_WRS];
		*rqe = (struct siw_rqe) { .id = id };
		/* Write the flags last, as applications do: srnic must not copy a part. */
		smp_store_release(&rqe->flags, SIW_WQE_VALID);
	} else {
		WARN_ON(srnic_verbs.post_recv(post_qp(), &wr, &bad));
	}
	post.recvs++;
}

/*
 * If the ULP of the test has to post at the moment @now, post a receive and a Send. For an
 * application a work item rings the doorbell, like a thread of the application on another CPU.
 */
static void post_more(enum post_moment now)
{
	if (post.at != now)
		return;
	post.at = AT_NEVER;
	post_recv();
	if (post_send(0))
		schedule_work(&post.bell);
}

static void post_comp_handler(struct ib_cq *cq, void *unused)
{
	post_more(AT_HANDLER);
	post_more(AT_FLUSH);
	srnic_verbs.req_notify_cq(cq, IB_CQ_NEXT_COMP);
}

static void post_event_handler(struct ib_event *event, void *unused)
{
	post_more(AT_EVENT);
}

static void post_stop(struct work_struct *unused)
{
	srnic_driver_ops.stop(post_qp(), post.why);
}

/* The fake TCP calls this when srnic's sender, or stop() with a Terminate, tries to send. */
static void post_tcp_asked(void)
{
	int ms;

	if (post.at == AT_SENDER) {
		/* stop() runs in a work item, and waits for tx.lock, which this sender holds. */
		schedule_work(&post.stop);
		for (ms = 0; ms < POST_PATIENCE_MS; ms += POST_WHILE_MS) {
			if (srnic_qp_state(single.qp) == IB_QPS_ERR)
				break;
			msleep(POST_WHILE_MS);
		}
		msleep(POST_WHILE_MS);
	}
	post_more(AT_SENDER);
	post_more(AT_LAST);
}

/* --- the stream --- */

enum post_ulp {
	ULP_KERNEL,
	ULP_KERNEL_SRQ,
	ULP_APP,
	ULP_APP_SRQ,
	ULP_COUNT
};

static int post_init(struct kunit *test)
{
	int err = single_init(test);

	pair_tcp = (struct pair_tcp) {};
	if (!err)
		pair_tcp.to = &single.p->end[0];
	return err;
}

static void post_exit(struct kunit *test)
{
	if (single.qp && srnic_state_has_stream(single.qp->state))
		post_stop(NULL);
	cancel_work_sync(&post.bell);
	if (single.qp)
		single.p->sock->sk->sk_wmem_queued = 0;
	single_exit(test);
	pair_tcp = (struct pair_tcp) {};
}

static void post_make_srq(struct kunit *test)
{
	struct ib_srq_init_attr init = {
		.srq_type = IB_SRQT_BASIC, .attr = { .max_wr = 2, .max_sge = 1 },
	};
	struct srnic_srq *srq = kunit_kzalloc(test, sizeof(*srq), GFP_KERNEL);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, srq);
	srq->ibsrq.device = &single.p->dev->ibdev;
	KUNIT_ASSERT_EQ(test, srnic_verbs.create_srq(&srq->ibsrq, &init, NULL), 0);
	single.qp->srq = srq;
}

static int post_modify(enum ib_qp_state state)
{
	struct ib_qp_attr attr = { .qp_state = state };

	return srnic_verbs.modify_qp(post_qp(), &attr, IB_QP_STATE, NULL);
}

static void post_prepare(struct work_struct *unused)
{
	static const struct iw_mpa_params params = {
		.initiator = true, .crc = true, .ird = PAIR_IRD, .ord = 2,
	};
	const struct iw_mpa_handoff ho = {
		.params = &params, .sock = single.p->sock,
		.ep = (struct iw_mpa_ep *)&post,	/* not dereferenced */
	};

	WARN_ON(srnic_driver_ops.prepare(post_qp(), &ho));
}

/*
 * Bring end 0 (the QP under test) to the state INIT, without a stream, as a new QP. End 1, which
 * acts as the peer, has its stream already.
 */
static void post_begin(struct kunit *test, enum post_ulp ulp)
{
	struct pair_end *e = &single.p->end[0];

	post = (struct post_world) { .at = AT_NEVER, .why = IW_MPA_R_ULP_CLOSE };
	INIT_WORK(&post.bell, post_doorbell);
	INIT_WORK(&post.stop, post_stop);
	pair_start(single.p, &post_opts);
	post_stop(NULL);
	KUNIT_ASSERT_EQ(test, post_modify(IB_QPS_INIT), 0);
	post.app = ulp == ULP_APP || ulp == ULP_APP_SRQ;
	if (post.app)
		pair_rings(single.p, e);
	if (ulp == ULP_KERNEL_SRQ || ulp == ULP_APP_SRQ)
		post_make_srq(test);
	single.qp->ibqp.event_handler = post_event_handler;
	e->scq.ibcq.comp_handler = post_comp_handler;
	srnic_verbs.req_notify_cq(&e->scq.ibcq, IB_CQ_NEXT_COMP);
	pair_tcp.asked = post_tcp_asked;
}

static void post_open(void)
{
	local_bh_disable();
	srnic_driver_ops.open_tx(post_qp());
	local_bh_enable();
	flush_workqueue(srnic_wq);
	flush_workqueue(srnic_user_wq);
}

/* --- completions --- */

/*
 * Poll the completion queue of Sends and that of receives. Check that in each queue every
 * completion arrives once and in order, and that all receives, and all Sends after a failed one,
 * are flushed.
 */
static void post_take_completions(struct kunit *test)
{
	struct pair_end *e = &single.p->end[0];
	struct ib_wc wc;

	while (pair_poll(&e->scq, &wc)) {
		KUNIT_EXPECT_EQ(test, wc.wr_id, post.done);
		post.done++;
		if (post.failed)
			KUNIT_EXPECT_EQ(test, wc.status, IB_WC_WR_FLUSH_ERR);
		post.failed |= wc.status != IB_WC_SUCCESS;
	}
	while (pair_poll(&e->rcq, &wc)) {
		KUNIT_EXPECT_EQ(test, wc.wr_id, POST_RECV + post.recvs_done);
		KUNIT_EXPECT_EQ(test, wc.status, IB_WC_WR_FLUSH_ERR);
		post.recvs_done++;
	}
}

#define POST_LOOKS	8

static void post_expect_all_flushed(struct kunit *test)
{
	int looks;

	/*
	 * An application posts receives without a system call, so flush_work of
	 * a QP in error polls the ring: let the time of several polls pass.
	 */
	for (looks = 0; looks < 2 * POST_LOOKS; looks++) {
		flush_work(&post.bell);
		flush_workqueue(srnic_event_wq);
		post_take_completions(test);
		if (post.done == post.sends && post.recvs_done == post.recvs)
			break;
		pair_tcp_pass(SRNIC_FLUSH_MAX_MS / POST_LOOKS);
	}
	KUNIT_EXPECT_EQ(test, post.done, post.sends);
	KUNIT_EXPECT_EQ(test, post.recvs_done, post.recvs);
	KUNIT_EXPECT_EQ(test, post.at, AT_NEVER);
	pair_tcp_pass(SRNIC_FLUSH_MAX_MS);
	post_take_completions(test);
	KUNIT_EXPECT_EQ(test, post.done, post.sends);
	KUNIT_EXPECT_EQ(test, post.recvs_done, post.recvs);
	KUNIT_EXPECT_EQ(test, post_modify(IB_QPS_INIT), 0);
	if (single.qp->srq)
		srnic_verbs.destroy_srq(&single.qp->srq->ibsrq, NULL);
	single.qp->srq = NULL;
}

/* --- the end --- */

static const char * const post_moments[] = {
	"before", "waits for the socket", "waits for the sender", "Terminate message",
	"handler for the last", "handler for the flush", "event", "after",
};

static void post_moment_desc(const char * const *name, char *desc)
{
	strscpy(desc, *name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(post_moment, post_moments, post_moment_desc);

/* Let the stream fail first, if the moment @at exists only in stop() of a failed stream. */
static void post_before_stop(struct kunit *test, enum post_moment at)
{
	static const u8 bad_opcode[18] = { 0x41, 0x4f };
	struct pair *p = single.p;

	switch (at) {
	case AT_LAST:
	case AT_EVENT:
		/*
		 * The peer's FPDU has a bad opcode: stop() sends a Terminate and raises an event.
		 */
		pair_put_ulpdu(p, 1, bad_opcode, sizeof(bad_opcode));
		pair_deliver(p, 1);
		break;
	case AT_HANDLER:
		/*
		 * A Send with an invalid STag fails while TCP refuses the Send before it. Then TCP
		 * has room again, so stop() can pass that earlier Send to TCP, and it completes.
		 */
		post_send(POST_BAD);
		pair_tcp.limited = true;
		p->sock->sk->sk_wmem_queued = 0;
		post_doorbell(NULL);
		pair_tcp_pass(SRNIC_RETRY_MS);
		pair_expect_fault(p, 0, SRNIC_ERR_LOCAL);
		pair_tcp.limited = false;
		p->sock->sk->sk_wmem_queued = 0;
		break;
	default:
		break;
	}
}

static void post_at_a_moment_of_the_end(struct kunit *test, enum post_ulp ulp)
{
	enum post_moment at = (const char * const *)test->param_value - post_moments;
	struct sock *sk = single.p->sock->sk;

	post_begin(test, ulp);
	post_prepare(NULL);
	post_open();
	/* A Send waits for room in TCP's send buffer, so that stop() has something to flush. */
	sk->sk_wmem_queued = sk->sk_sndbuf;
	post_recv();
	if (post_send(0))
		post_doorbell(NULL);
	flush_workqueue(srnic_wq);
	post_before_stop(test, at);
	post.at = at;
	post_more(AT_BEFORE);
	if (at == AT_SOCKET) {
		/* The peer has closed. The socket is locked, as it is while RX runs. */
		post.why = IW_MPA_R_PEER_CLOSED;
		lock_sock(sk);
		schedule_work(&post.stop);
		iw_mpa_quiet(POST_WHILE_MS);
		post_more(AT_SOCKET);
		iw_mpa_quiet(POST_WHILE_MS);
		release_sock(sk);
	} else if (at == AT_SENDER) {
		sk->sk_wmem_queued = 0;
		post_doorbell(NULL);
	} else {
		schedule_work(&post.stop);
	}
	flush_work(&post.stop);
	post_more(AT_AFTER);
	post_expect_all_flushed(test);
}

#define POST_END(name, ulp)							\
static void post_end_##name(struct kunit *test)					\
{										\
	post_at_a_moment_of_the_end(test, ulp);					\
}

POST_END(kernel, ULP_KERNEL)
POST_END(kernel_srq, ULP_KERNEL_SRQ)
POST_END(application, ULP_APP)
POST_END(application_srq, ULP_APP_SRQ)

/* --- the beginning --- */

/* What the QP sends as soon as iw_mpa calls open_tx(): a Send, a Read Response or a Terminate */
enum post_what {
	WHAT_SEND,
	WHAT_RESPONSE,
	WHAT_TERMINATE,
};

static const struct post_open {
	const char	*desc;
	enum post_what	what;
	enum post_ulp	ulp;
	bool		preparing;	/* the ULP posts before prepare() has returned */
} post_opens[] = {
	{ "Send, kernel, in prepare", WHAT_SEND, ULP_KERNEL, true },
	{ "Send, kernel", WHAT_SEND, ULP_KERNEL },
	{ "Send, application", WHAT_SEND, ULP_APP },
	{ "Read, kernel", WHAT_RESPONSE, ULP_KERNEL },
	{ "Read, application", WHAT_RESPONSE, ULP_APP },
	{ "fault, kernel", WHAT_TERMINATE, ULP_KERNEL },
	{ "fault, application", WHAT_TERMINATE, ULP_APP },
};

KUNIT_ARRAY_PARAM_DESC(post_open, post_opens, desc);

static void post_open_have(struct kunit *test, enum post_what what)
{
	static const u8 bad_opcode[18] = { 0x41, 0x4f };
	struct pair *p = single.p;
	struct ib_sge sge = pair_sge(p->end[1].mem, 8);
	struct ib_rdma_wr read = {
		.wr = { .opcode = IB_WR_RDMA_READ, .sg_list = &sge, .num_sge = 1,
			.send_flags = IB_SEND_SIGNALED },
	};

	switch (what) {
	case WHAT_SEND:
		pair_post_recv(&p->end[1], 7, NULL, 0);
		if (post_send(0))
			post_doorbell(NULL);
		return;
	case WHAT_RESPONSE:
		read.rkey = pair_reg(p, &p->pd, p->end[0].mem, 0, 8, IB_ACCESS_REMOTE_READ)->stag;
		KUNIT_ASSERT_EQ(test, pair_post(&p->end[1], &read.wr), 0);
		pair_send(p, 1);
		break;
	case WHAT_TERMINATE:
		pair_put_ulpdu(p, 1, bad_opcode, sizeof(bad_opcode));
		break;
	}
	pair_deliver(p, 1);
	pair_tcp_run(single.qp);
}

/*
 * srnic sends nothing before iw_mpa calls open_tx(). After open_tx() it sends what was posted
 * before, or the Read Response or Terminate message that an earlier FPDU of the peer has caused,
 * without another post or doorbell.
 */
static void post_open_lets_it_out(struct kunit *test)
{
	const struct post_open *row = test->param_value;
	struct pair *p = single.p;
	struct sock *sk = p->sock->sk;
	struct work_struct prepare;

	post_begin(test, row->ulp);
	INIT_WORK_ONSTACK(&prepare, post_prepare);
	if (row->preparing) {
		/* prepare() takes the socket's lock, so it cannot return before release_sock(). */
		lock_sock(sk);
		schedule_work(&prepare);
		iw_mpa_quiet(POST_WHILE_MS);
		KUNIT_EXPECT_EQ(test, srnic_qp_state(single.qp), IB_QPS_RTS);
		post_open_have(test, row->what);
		iw_mpa_quiet(POST_WHILE_MS);
		release_sock(sk);
		flush_work(&prepare);
	} else {
		post_prepare(NULL);
		post_open_have(test, row->what);
	}
	destroy_work_on_stack(&prepare);
	iw_mpa_quiet(POST_WHILE_MS);
	KUNIT_EXPECT_EQ(test, pair_tcp.calls, 0);
	KUNIT_EXPECT_EQ(test, pair_tcp.downs, 0);
	post_open();
	pair_deliver(p, 0);
	KUNIT_EXPECT_EQ(test, pair_tcp.downs, row->what == WHAT_TERMINATE);
	pair_expect_fault(p, 1, row->what == WHAT_TERMINATE ? SRNIC_ERR_TERM_RECEIVED :
							      SRNIC_ERR_NONE);
	if (row->what == WHAT_SEND)
		pair_expect_wc(p, &p->end[1].rcq, 7, IB_WC_SUCCESS);
	if (row->what == WHAT_RESPONSE)
		pair_expect_wc(p, &p->end[1].scq, 0, IB_WC_SUCCESS);
	post_stop(NULL);
	post_expect_all_flushed(test);
}

/* --- a chain of which the second work request is refused --- */

static void post_chain_of_sends(struct kunit *test)
{
	struct ib_send_wr wrs[] = {
		{ .wr_id = post.sends, .opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED,
		  .next = &wrs[1] },
		{ .opcode = IB_WR_SEND, .num_sge = -1 },
	};
	const struct ib_send_wr *bad = NULL;

	KUNIT_EXPECT_EQ(test, srnic_verbs.post_send(post_qp(), wrs, &bad), -EINVAL);
	KUNIT_EXPECT_PTR_EQ(test, bad, &wrs[1]);
	post.sends++;
}

static void post_chain_of_recvs(struct kunit *test)
{
	struct ib_recv_wr wrs[] = {
		{ .wr_id = POST_RECV + post.recvs, .next = &wrs[1] },
		{ .num_sge = SRNIC_MAX_SGE + 1 },
	};
	const struct ib_recv_wr *bad = NULL;

	KUNIT_EXPECT_EQ(test, srnic_verbs.post_recv(post_qp(), wrs, &bad), -EINVAL);
	KUNIT_EXPECT_PTR_EQ(test, bad, &wrs[1]);
	post.recvs++;
}

/* If a post refuses a work request of a chain, those before it are still sent or flushed. */
static void post_what_is_before_a_refused_one_counts(struct kunit *test)
{
	struct pair *p = single.p;

	post_begin(test, ULP_KERNEL);
	post_prepare(NULL);
	post_open();
	pair_post_recv(&p->end[1], 7, NULL, 0);
	post_chain_of_sends(test);
	flush_workqueue(srnic_wq);
	pair_deliver(p, 0);
	pair_expect_wc(p, &p->end[1].rcq, 7, IB_WC_SUCCESS);
	post_stop(NULL);
	/* After stop() the QP is in error, so a post of receives queues a flush. */
	post_chain_of_recvs(test);
	flush_workqueue(srnic_wq);
	post_take_completions(test);
	KUNIT_EXPECT_EQ(test, post.recvs_done, post.recvs);
	post_chain_of_sends(test);
	post_expect_all_flushed(test);
}

static struct kunit_case post_cases[] = {
	KUNIT_CASE_PARAM(post_end_kernel, post_moment_gen_params),
	KUNIT_CASE_PARAM(post_end_kernel_srq, post_moment_gen_params),
	KUNIT_CASE_PARAM(post_end_application, post_moment_gen_params),
	KUNIT_CASE_PARAM(post_end_application_srq, post_moment_gen_params),
	KUNIT_CASE_PARAM(post_open_lets_it_out, post_open_gen_params),
	KUNIT_CASE(post_what_is_before_a_refused_one_counts),
	{}
};

static struct kunit_suite post_suite = {
	.name = "srnic_post",
	.init = post_init,
	.exit = post_exit,
	.test_cases = post_cases,
};

kunit_test_suite(post_suite);

// SPDX-License-Identifier: GPL-2.0
/*
 * In each test but the first the driver makes one of the mistakes that iw_mpa_driver.rst lists, or
 * calls what that page forbids in an op. iw_mpa writes the mistakes of the list to the kernel's
 * log, and iw_mpa, iw_cm and the driver go on working. The number of a mistake is its row in that
 * list.
 *
 * Two mistakes have no case: after iw_mpa_unregister_device() within an op nothing can end the
 * test, and user mode Linux has no preemption, so it does not notice calls in atomic context.
 */

#include "ep.h"
#include "iw_mpa_fakes.h"

#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/kmsg_dump.h>
#include <linux/kthread.h>
#include <linux/lockdep.h>
#include <linux/string.h>
#include <net/tcp.h>

/* Ops of a correct driver. The ops with a mistake call these, and do something wrong besides. */
static struct iw_mpa_driver_ops right;

static DECLARE_COMPLETION(unregistered);

/* Position in the kernel's log from which on log_says() reads */
static struct kmsg_dump_iter news;

static int contract_init(struct kunit *test)
{
	int err = fakes_init(test);
	struct fakes *f = test->priv;

	if (err)
		return err;
	right = f->drv;
	f->config->log = 0;	/* turns off lines about connections, not those about mistakes */
	kmsg_dump_rewind(&news);
	news.cur_seq = news.next_seq;
	return 0;
}

/* Return true if the log has a new line of iw_mpa that contains both texts. */
static bool log_says(const char *text, const char *more)
{
	char line[256];
	size_t len;

	while (kmsg_dump_get_line(&news, false, line, sizeof(line) - 1, &len)) {
		line[len] = '\0';
		if (strstr(line, "iw_mpa: ") && strstr(line, text) && strstr(line, more))
			return true;
	}
	return false;
}

#define EXPECT_LOG(test, text, more)					\
	KUNIT_EXPECT_TRUE_MSG(test, log_says(text, more), "no line: %s %s", text, more)

/* A correct driver causes no line in the log. */
static void contract_kept_says_nothing(struct kunit *test)
{
	struct fake_conn *active = conn_new(test), *passive = conn_new(test);
	struct fakes *f = test->priv;

	fake_have_finish_tx(f);
	conn_active_up(active);
	fake_disconnect(active->fid);
	peer_fin(active->peer);
	fake_expect_closed(active->fid, 2);
	conn_passive_up(passive);
	fake_qp_disconnect(passive->qp, true);
	fake_expect_closed(passive->fid, 2);
	fake_destroy(passive->lis);
	fake_qp_gone(passive->qp);
	fake_qp_freed(passive->qp);
	fake_unregister(f);
	KUNIT_EXPECT_FALSE(test, log_says("", ""));
}

/* Mistake 1: the driver registers without a necessary op, or with an iw_connect of its own. */
static int own_connect(struct iw_cm_id *id, struct iw_cm_conn_param *param)
{
	return -EOPNOTSUPP;
}

static void something_is_missing(struct kunit *test)
{
	struct fakes *f = test->priv;

	fake_unregister(f);
	f->drv.stop = NULL;
	KUNIT_EXPECT_EQ(test, fake_register(f), -EINVAL);
	EXPECT_LOG(test, "a driver was refused", "stop is missing");
	f->drv = right;
	f->ibdev->ops.iw_connect = own_connect;
	KUNIT_EXPECT_EQ(test, fake_register(f), -EINVAL);
	EXPECT_LOG(test, "a driver was refused", "iw_mpa_ib_device_ops");
	f->ibdev->ops.iw_connect = iw_mpa_ib_device_ops.iw_connect;
	KUNIT_EXPECT_EQ(test, fake_register(f), 0);
}

/* Mistake 2: the driver calls iw_mpa_register_device() after ib_register_device(). */
static void registered_too_late(struct kunit *test)
{
	struct fakes *f = test->priv;

	fake_unregister(f);
	refcount_set(&f->ibdev->refcount, 2);
	KUNIT_EXPECT_EQ(test, fake_register(f), -EINVAL);
	EXPECT_LOG(test, "a driver was refused", "ib_register_device()");
	refcount_set(&f->ibdev->refcount, 0);
	KUNIT_EXPECT_EQ(test, fake_register(f), 0);
}

/*
 * Mistake 2 in iw_mpa_driver.rst: the driver calls iw_mpa_unregister_device() before
 * ib_unregister_device(), while the device has an established connection and two listeners.
 */
static void unregistered_too_early(struct kunit *test)
{
	struct fake_conn *c = conn_new(test), *other = conn_new(test);
	struct fakes *f = test->priv;

	conn_passive_up(c);
	conn_listen(other);
	refcount_set(&f->ibdev->refcount, 2);
	fake_unregister(f);
	EXPECT_LOG(test, "driver mistake", "unregistered before ib_unregister_device()");
	fake_expect_closed(c->fid, 2);
	fake_destroy(c->lis);
	fake_destroy(other->lis);
	refcount_set(&f->ibdev->refcount, 0);
	KUNIT_EXPECT_EQ(test, fake_register(f), 0);
}

/*
 * Mistake 3 in iw_mpa_driver.rst: attach changes sk_user_data, sk_state_change or sk_error_report
 * of the socket, which are iw_mpa's, or does not set sk_data_ready.
 */
static const char *spoils;	/* one of socket_names[] */

static void no_callback(struct sock *sk)
{
}

static void spoil_socket(struct sock *sk, const char *name)
{
	if (!strcmp(name, "sk_user_data"))
		sk->sk_user_data = NULL;
	else if (!strcmp(name, "sk_state_change"))
		sk->sk_state_change = no_callback;
	else if (!strcmp(name, "sk_error_report"))
		sk->sk_error_report = no_callback;
	else
		sk->sk_data_ready = no_callback;
}

static void wrong_attach(struct ib_qp *qp, struct sock *sk, struct iw_mpa_stream *stream)
{
	void (*library)(struct sock *sk) = sk->sk_data_ready;

	right.attach(qp, sk, stream);
	if (!strcmp(spoils, "sk_data_ready"))
		sk->sk_data_ready = library;
	else
		spoil_socket(sk, spoils);
}

static const char * const socket_names[] = {
	"sk_user_data", "sk_state_change", "sk_error_report", "sk_data_ready",
};

static void attach_takes_what_is_the_librarys(struct kunit *test)
{
	struct fakes *f = test->priv;
	int i;

	f->drv.attach = wrong_attach;
	for (i = 0; i < ARRAY_SIZE(socket_names); i++) {
		struct fake_conn *active = conn_new(test), *passive = conn_new(test);

		spoils = socket_names[i];
		conn_dial(active);
		conn_send_good_reply(active);
		fake_expect_event(active->fid, 0, IW_CM_EVENT_CONNECT_REPLY, -EIO);
		EXPECT_LOG(test, "after attach", socket_names[i]);
		KUNIT_EXPECT_EQ(test, active->qp->why, IW_MPA_R_DRIVER);
		peer_fin(active->peer);

		conn_call(passive);
		KUNIT_EXPECT_EQ(test, fake_accept(passive->fid, &passive->param), -EIO);
		EXPECT_LOG(test, "after attach", socket_names[i]);
		peer_fin(passive->peer);
		fake_destroy(passive->lis);
		FAKE_POLL(f, fakes_has_no_endpoint());
	}
}

/* Mistake 4: the driver sends on the socket before iw_mpa has called send_rtr or open_tx. */
static void send_early(struct socket *sock)
{
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };
	struct kvec vec = { .iov_base = "early", .iov_len = 5 };

	kernel_sendmsg(sock, &msg, &vec, 1, vec.iov_len);
}

static int wrong_prepare(struct ib_qp *qp, const struct iw_mpa_handoff *ho)
{
	send_early(ho->sock);
	return right.prepare(qp, ho);
}

static void prepare_sends(struct kunit *test)
{
	struct fake_conn *active = conn_new(test), *passive = conn_new(test);
	struct fakes *f = test->priv;

	f->drv.prepare = wrong_prepare;
	conn_dial(active);
	conn_send_good_reply(active);
	fake_expect_event(active->fid, 0, IW_CM_EVENT_CONNECT_REPLY, -EIO);
	EXPECT_LOG(test, "5 bytes were sent", "before the hand-off");
	conn_call(passive);
	KUNIT_EXPECT_EQ(test, fake_accept(passive->fid, &passive->param), -EIO);
	EXPECT_LOG(test, "5 bytes were sent", "before the hand-off");
}

static void responder_sends_before_the_first_fpdu(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	conn_call(c);
	conn_accept(c);
	send_early(c->qp->ho.sock);
	conn_establish(c);
	EXPECT_LOG(test, "5 bytes were sent", "before open_tx");
}

/*
 * Mistake 5 in iw_mpa_driver.rst: an FPDU arrives, but the driver does not call
 * iw_mpa_first_fpdu(). iw_mpa names this mistake in its log line about the failed connection, which
 * it writes only if the setting log is 1.
 */
static void first_fpdu_is_not_reported(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	c->f->config->log = 1;
	c->f->config->rtr_timeout_ms = FAKE_SHORT_MS;
	conn_call(c);
	c->qp->stop_rx = true;
	conn_accept(c);
	conn_send_rtr(c);
	fake_expect_event(c->fid, 0, IW_CM_EVENT_ESTABLISHED, -ETIMEDOUT);
	EXPECT_LOG(test, "TIMEOUT_RTR", "bytes have come, and no iw_mpa_first_fpdu()");
}

/* Mistake 6: iw_get_qp still finds a QP after destroy_qp has called iw_mpa_qp_gone(). */
static void qp_is_found_while_it_goes(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	conn_active_up(c);
	c->qp->seen = true;
	fake_qp_gone(c->qp);
	EXPECT_LOG(test, "driver mistake", "iw_get_qp finds the QP 1,");
	fake_expect_closed(c->fid, 2);
	c->qp->seen = false;
}

/*
 * Mistake 7 in iw_mpa_driver.rst: an op calls iw_mpa_qp_gone(), which waits until all ops of the
 * QP, and so also this one, have returned.
 */
static void destroy_within_an_op(struct ib_qp *ib)
{
	struct fake_qp *qp = fake_qp_of(ib);

	qp->hidden = true;
	iw_mpa_qp_gone(ib, &qp->end);
	qp->ending = true;
}

static void wrong_stop_destroys(struct ib_qp *ib, enum iw_mpa_reason why)
{
	right.stop(ib, why);
	destroy_within_an_op(ib);
}

static void qp_gone_within_stop(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	c->f->drv.stop = wrong_stop_destroys;
	conn_active_up(c);
	fake_qp_disconnect(c->qp, true);
	fake_expect_closed(c->fid, 2);
	EXPECT_LOG(test, "iw_mpa_qp_gone()", "waits for the op that calls it");
	fake_qp_freed(c->qp);
}

static void wrong_kick_rx_destroys(struct ib_qp *ib)
{
	right.kick_rx(ib);
	destroy_within_an_op(ib);
}

/* iw_mpa_qp_gone() returns at once, and stop is called after kick_rx has returned. */
static void qp_gone_within_kick_rx(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	c->f->drv.kick_rx = wrong_kick_rx_destroys;
	conn_active_up(c);
	fake_expect_closed(c->fid, 2);
	EXPECT_LOG(test, "iw_mpa_qp_gone()", "waits for the op that calls it");
	fake_qp_freed(c->qp);
}

/*
 * An op calls iw_mpa_close(). lockdep would report it, and then turn itself off for all later
 * tests, so it does not see the call.
 */
static void wrong_kick_rx_closes(struct ib_qp *ib)
{
	right.kick_rx(ib);
	lockdep_off();
	iw_mpa_close(fake_qp_of(ib)->ho.ep);
	lockdep_on();
}

/* The call does not wait for its own op: once that has returned the connection ends by FIN. */
static void close_within_kick_rx(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	fake_have_finish_tx(c->f);
	c->f->drv.kick_rx = wrong_kick_rx_closes;
	conn_active_up(c);
	peer_expect_eof(c->f, c->peer);
	peer_fin(c->peer);
	fake_expect_closed(c->fid, 2);
}

/* Mistake 8: stop leaves the socket with a callback or sk_user_data that iw_mpa has not set. */
static void wrong_stop_keeps(struct ib_qp *ib, enum iw_mpa_reason why)
{
	struct sock *sk = fake_qp_of(ib)->sk;

	right.stop(ib, why);
	write_lock_bh(&sk->sk_callback_lock);
	spoil_socket(sk, spoils);
	write_unlock_bh(&sk->sk_callback_lock);
}

static void stop_keeps_the_socket(struct kunit *test)
{
	struct fakes *f = test->priv;
	int i;

	f->drv.stop = wrong_stop_keeps;
	for (i = 0; i < ARRAY_SIZE(socket_names); i++) {
		struct fake_conn *c = conn_new(test);

		spoils = socket_names[i];
		conn_active_up(c);
		fake_qp_disconnect(c->qp, true);
		fake_expect_closed(c->fid, 2);
		EXPECT_LOG(test, "after stop", socket_names[i]);
		peer_expect_eof(c->f, c->peer);
		peer_fin(c->peer);	/* iw_mpa gets the FIN only by its own callbacks */
		FAKE_POLL(c->f, fakes_has_no_endpoint());
	}
}

/* Mistake 9: the driver never drops a reference on an endpoint, or drops a reference twice. */
static void reference_is_leaked(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct iw_mpa_ep *ep;

	conn_active_up(c);
	ep = fake_qp_ep(c->qp);
	fake_qp_disconnect(c->qp, true);
	fake_expect_closed(c->fid, 2);
	fake_unregister(c->f);
	EXPECT_LOG(test, "driver mistake", "unregistered while 1 of iw_mpa_ep_get()");

	/* The driver's reference keeps the endpoint valid after its device was unregistered. */
	iw_mpa_first_fpdu(ep);
	iw_mpa_disconnect(ep, true);
	KUNIT_EXPECT_FALSE(test, fakes_has_no_endpoint());
	iw_mpa_ep_put(ep);
	KUNIT_EXPECT_FALSE(test, log_says("", ""));
	FAKE_POLL(c->f, fakes_has_no_endpoint());
}

static void reference_is_dropped_twice(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct iw_mpa_ep *ep;

	conn_active_up(c);
	ep = fake_qp_ep(c->qp);
	iw_mpa_ep_put(ep);
	iw_mpa_ep_put(ep);
	EXPECT_LOG(test, "driver mistake", "a put without iw_mpa_ep_get()");
	fake_qp_disconnect(c->qp, true);
	fake_expect_closed(c->fid, 2);
}

/*
 * Mistake 10 in iw_mpa_driver.rst: an op does not return, or destroy_qp does not call
 * iw_mpa_qp_freed(). iw_mpa_unregister_device() waits for both. So the test calls
 * iw_mpa_unregister_device() in a thread of its own.
 */
static int unregister_thread(void *arg)
{
	struct fakes *f = arg;

	iw_mpa_unregister_device(f->ibdev);
	kthread_complete_and_exit(&unregistered, 0);
}

/* Unregister the device, and expect that the log says why that takes so long. */
static void unregister_in_vain(struct fakes *f)
{
	struct kunit *test = f->test;
	bool said;
	int i;

	f->registered = false;
	reinit_completion(&unregistered);
	KUNIT_ASSERT_FALSE(test, IS_ERR(kthread_run(unregister_thread, f, "iw_mpa_fake")));
	said = log_says("driver mistake", "waits for an op, or iw_mpa_qp_freed()");
	for (i = 0; i < 600 && !said; i++) {
		msleep(100);
		said = log_says("driver mistake", "waits for an op, or iw_mpa_qp_freed()");
	}
	KUNIT_EXPECT_TRUE(test, said);
	KUNIT_EXPECT_FALSE(test, completion_done(&unregistered));
}

static void expect_unregistered(struct kunit *test)
{
	KUNIT_ASSERT_NE(test, wait_for_completion_timeout(&unregistered,
							  msecs_to_jiffies(2 * FAKE_WAIT_MS)), 0);
}

static void qp_freed_is_missing(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	conn_active_up(c);
	fake_qp_gone(c->qp);
	fake_expect_closed(c->fid, 2);
	unregister_in_vain(c->f);
	fake_qp_freed(c->qp);
	expect_unregistered(test);
}

static DECLARE_COMPLETION(stop_may_end);

static void wrong_stop_waits(struct ib_qp *ib, enum iw_mpa_reason why)
{
	wait_for_completion_timeout(&stop_may_end, 120 * HZ);
	right.stop(ib, why);
}

static void op_does_not_end(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	reinit_completion(&stop_may_end);
	c->f->drv.stop = wrong_stop_waits;
	conn_active_up(c);
	unregister_in_vain(c->f);
	complete(&stop_may_end);
	expect_unregistered(test);
	fake_expect_closed(c->fid, 2);
}

/* Mistake 11: the driver calls iw_mpa_tx_finished() before iw_mpa has called finish_tx. */
static void tx_finished_is_called_early(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	fake_have_finish_tx(c->f);
	conn_active_up(c);
	iw_mpa_tx_finished(c->qp->ho.ep);
	EXPECT_LOG(test, "driver mistake", "iw_mpa_tx_finished() before finish_tx");
	fake_disconnect(c->fid);
	peer_fin(c->peer);
	fake_expect_closed(c->fid, 2);
	KUNIT_EXPECT_FALSE(test, log_says("", ""));
}

/*
 * Mistake 11 in iw_mpa_driver.rst: after stop the driver calls iw_mpa without a reference on the
 * endpoint. The endpoint still exists, since its peer has not closed.
 */
static void call_after_the_end(struct kunit *test)
{
	static const char * const calls[] = {
		"iw_mpa_first_fpdu()", "iw_mpa_stream_down()", "iw_mpa_disconnect()",
		"iw_mpa_close()", "iw_mpa_tx_finished()",
	};
	struct fake_conn *c = conn_new(test);
	struct iw_mpa_ep *ep;
	int i;

	conn_active_up(c);
	ep = c->qp->ho.ep;
	fake_qp_disconnect(c->qp, true);
	fake_expect_closed(c->fid, 2);
	iw_mpa_first_fpdu(ep);
	iw_mpa_stream_down(ep, &fake_broken);
	iw_mpa_disconnect(ep, false);
	iw_mpa_close(ep);
	iw_mpa_tx_finished(ep);
	for (i = 0; i < ARRAY_SIZE(calls); i++)
		EXPECT_LOG(test, calls[i], "after stop, without iw_mpa_ep_get()");
	KUNIT_EXPECT_NULL(test, ep->fault.text);
	KUNIT_EXPECT_EQ(test, ep->events, 0);
}

static struct kunit_case contract_cases[] = {
	KUNIT_CASE(contract_kept_says_nothing),
	KUNIT_CASE(something_is_missing),
	KUNIT_CASE(registered_too_late),
	KUNIT_CASE(unregistered_too_early),
	KUNIT_CASE(attach_takes_what_is_the_librarys),
	KUNIT_CASE(prepare_sends),
	KUNIT_CASE(responder_sends_before_the_first_fpdu),
	KUNIT_CASE(first_fpdu_is_not_reported),
	KUNIT_CASE(qp_is_found_while_it_goes),
	KUNIT_CASE(qp_gone_within_stop),
	KUNIT_CASE(qp_gone_within_kick_rx),
	KUNIT_CASE(close_within_kick_rx),
	KUNIT_CASE(stop_keeps_the_socket),
	KUNIT_CASE(reference_is_leaked),
	KUNIT_CASE(reference_is_dropped_twice),
	KUNIT_CASE(qp_freed_is_missing),
	KUNIT_CASE(op_does_not_end),
	KUNIT_CASE(tx_finished_is_called_early),
	KUNIT_CASE(call_after_the_end),
	{}
};

static struct kunit_suite contract_suite = {
	.name = "iw_mpa_contract",
	.init = contract_init,
	.exit = fakes_exit,
	.test_cases = contract_cases,
};

kunit_test_suite(contract_suite);

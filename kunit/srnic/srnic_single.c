// SPDX-License-Identifier: GPL-2.0
/* Set up one QP of a pair like a real device's QP, see srnic_single.h */

#include "srnic_single.h"

#include <linux/in.h>
#include <linux/rtnetlink.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "qp.h"

struct single single;

void single_handler(struct ib_event *event, void *unused)
{
	if (single.n < SINGLE_EVENTS)
		single.events[single.n] = event->event;
	single.n++;
}

/*
 * Set up the QP as create_qp does. If srnic is loaded the QP uses srnic's work queues; otherwise
 * the test makes them.
 */
int single_init(struct kunit *test)
{
	struct srnic_qp *qp;

	single = (struct single) { .own = !srnic_wq };
	if (single.own) {
		srnic_wq = alloc_workqueue("srnic_kunit", WQ_MEM_RECLAIM | WQ_PERCPU, 0);
		srnic_user_wq = alloc_workqueue("srnic_kunit_user", WQ_MEM_RECLAIM | WQ_PERCPU, 0);
		srnic_event_wq = alloc_workqueue("srnic_kunit_event",
						 WQ_MEM_RECLAIM | WQ_PERCPU, 0);
	}
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, srnic_wq);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, srnic_user_wq);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, srnic_event_wq);
	if (pair_init(test))
		return -ENOMEM;
	single.p = test->priv;
	xa_init_flags(&single.p->dev->qps, XA_FLAGS_LOCK_IRQ);
	srnic_reserves_setup(single.p->dev);
	qp = single.p->end[0].qp;
	single.qp = qp;
	srnic_qp_setup(qp);
	qp->ibqp.device = &single.p->dev->ibdev;
	qp->ibqp.event_handler = single_handler;
	return 0;
}

void single_exit(struct kunit *test)
{
	if (single.qp) {
		cancel_delayed_work_sync(&single.qp->rx.work);
		cancel_delayed_work_sync(&single.qp->flush_work);
		cancel_delayed_work_sync(&single.qp->tx.retry);
		cancel_work_sync(&single.qp->tx.work);
		cancel_work_sync(&single.qp->event_work);
		srnic_reserves_end(single.p->dev);
		pair_exit(test);
	}
	if (single.own) {
		destroy_workqueue(srnic_event_wq);
		destroy_workqueue(srnic_user_wq);
		destroy_workqueue(srnic_wq);
		srnic_event_wq = NULL;
		srnic_user_wq = NULL;
		srnic_wq = NULL;
	}
}

/* Expect that the handler has got @n events since the test began */
void single_expect_events(struct kunit *test, unsigned int n)
{
	flush_work(&single.qp->event_work);
	KUNIT_EXPECT_EQ(test, single.n, n);
}

static struct socket *single_socket(struct kunit *test)
{
	struct socket *sock;

	KUNIT_ASSERT_EQ(test, sock_create_kern(&init_net, AF_INET, SOCK_STREAM, IPPROTO_TCP,
					       &sock), 0);
	return sock;
}

/*
 * Make a connection over the loopback device, with @sock for the QP and @peer for the test. If
 * @rcvbuf is not 0, the receive buffer of @sock has that many bytes.
 */
void single_connect(struct kunit *test, struct socket **peer, struct socket **sock, int rcvbuf)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	struct socket *listener = single_socket(test);

	rtnl_lock();
	KUNIT_EXPECT_EQ(test, dev_open(init_net.loopback_dev, NULL), 0);
	rtnl_unlock();
	if (rcvbuf) {
		listener->sk->sk_userlocks |= SOCK_RCVBUF_LOCK;
		WRITE_ONCE(listener->sk->sk_rcvbuf, rcvbuf);
	}
	KUNIT_ASSERT_EQ(test, kernel_bind(listener, (struct sockaddr_unsized *)&addr,
					  sizeof(addr)), 0);
	KUNIT_ASSERT_EQ(test, kernel_listen(listener, 1), 0);
	KUNIT_ASSERT_GT(test, kernel_getsockname(listener, (struct sockaddr *)&addr), 0);
	*peer = single_socket(test);
	tcp_sock_set_nodelay((*peer)->sk);
	KUNIT_ASSERT_EQ(test, kernel_connect(*peer, (struct sockaddr_unsized *)&addr,
					     sizeof(addr), 0), 0);
	KUNIT_ASSERT_EQ(test, kernel_accept(listener, sock, 0), 0);
	sock_release(listener);
}

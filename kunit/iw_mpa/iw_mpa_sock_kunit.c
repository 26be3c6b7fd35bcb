// SPDX-License-Identifier: GPL-2.0
/* Callbacks of a socket, which are iw_mpa's, a driver's or TCP's, and options of a socket */

#include "iw_mpa_fakes.h"
#include "sock.h"

#include <linux/net.h>
#include <linux/preempt.h>
#include <linux/sched/mm.h>

static unsigned int sock_drivers_calls, sock_drivers_calls_locked;

/*
 * In place of a driver's data_ready, which takes sk_callback_lock: so iw_mpa must not hold that
 * lock. Count the calls, and those with the lock held.
 */
static void sock_drivers(struct sock *sk)
{
	sock_drivers_calls++;
	/* Without SMP read_lock_bh() only turns softirqs off. */
	sock_drivers_calls_locked += !!softirq_count();
}

/* After iw_mpa_sock_unhook() a listening socket has the same callbacks as any other TCP socket. */
static void sock_unhook_restores_each_callback(struct kunit *test)
{
	struct fake_id *fid = fake_id_create(test->priv);
	struct iw_mpa_sock_opts opts = {
		.net = &init_net,
		.local = iw_mpa_addr(&fid->id.m_local_addr),
	};
	struct iw_mpa_sock ms = { .report = fake_sock_ignore };
	struct socket *other;
	struct sock *sk;

	((struct sockaddr_in *)&fid->id.m_local_addr)->sin_port = htons(20998);
	KUNIT_ASSERT_EQ(test, 0, sock_create_kern(&init_net, AF_INET, SOCK_STREAM, IPPROTO_TCP,
						  &other));
	KUNIT_ASSERT_EQ(test, 0, iw_mpa_sock_listen(&ms, &opts, 4));
	sk = ms.sock->sk;
	KUNIT_EXPECT_FALSE(test, sk->sk_data_ready == other->sk->sk_data_ready);
	KUNIT_EXPECT_FALSE(test, sk->sk_state_change == other->sk->sk_state_change);
	KUNIT_EXPECT_FALSE(test, sk->sk_error_report == other->sk->sk_error_report);
	/* Storage may depend on a connection, so TCP's allocations for it must not wait for I/O. */
	KUNIT_EXPECT_EQ(test, sk->sk_allocation, IW_MPA_SOCK_GFP);
	iw_mpa_sock_unhook(&ms);
	KUNIT_EXPECT_TRUE(test, sk->sk_data_ready == other->sk->sk_data_ready);
	KUNIT_EXPECT_TRUE(test, sk->sk_state_change == other->sk->sk_state_change);
	KUNIT_EXPECT_TRUE(test, sk->sk_error_report == other->sk->sk_error_report);
	KUNIT_EXPECT_TRUE(test, sk->sk_write_space == other->sk->sk_write_space);
	KUNIT_EXPECT_PTR_EQ(test, sk->sk_user_data, NULL);
	iw_mpa_sock_release(&ms);
	sock_release(other);
}

/* Once a socket is unhooked BPF may use its sk_user_data. A second unhook must not change that. */
static void sock_unhook_leaves_alone_what_is_not_ours(struct kunit *test)
{
	static const uintptr_t flags[] = { 0, SK_USER_DATA_PSOCK | SK_USER_DATA_NOCOPY };
	int i;

	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		struct fake_id *fid = fake_id_create(test->priv);
		struct iw_mpa_sock_opts opts = {
			.net = &init_net,
			.local = iw_mpa_addr(&fid->id.m_local_addr),
		};
		void *theirs = (void *)((uintptr_t)test->priv | flags[i]);
		struct iw_mpa_sock ms = { .report = fake_sock_ignore };
		struct sock *sk;

		((struct sockaddr_in *)&fid->id.m_local_addr)->sin_port = htons(20994 - i);
		KUNIT_ASSERT_EQ(test, 0, iw_mpa_sock_listen(&ms, &opts, 4));
		sk = ms.sock->sk;
		iw_mpa_sock_unhook(&ms);
		sk->sk_user_data = theirs;
		sk->sk_data_ready = sock_drivers;
		iw_mpa_sock_unhook(&ms);
		KUNIT_EXPECT_PTR_EQ(test, sk->sk_user_data, theirs);
		KUNIT_EXPECT_TRUE(test, sk->sk_data_ready == sock_drivers);
		sk->sk_user_data = NULL;
		sk->sk_data_ready = ms.data_ready;
		iw_mpa_sock_release(&ms);
	}
}

/*
 * Another socket was bound to the port with SO_REUSEADDR, which it does not have any more. So
 * bind() succeeds and listen() fails: iw_mpa has to close its socket.
 */
static void sock_that_cannot_listen_is_closed(struct kunit *test)
{
	union iw_mpa_addr addr = {
		.in = {
			.sin_family = AF_INET,
			.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
			.sin_port = htons(20991),
		},
	};
	struct iw_mpa_sock_opts opts = { .net = &init_net, .local = &addr };
	struct iw_mpa_sock ms = { .report = fake_sock_ignore };
	struct socket *other;

	KUNIT_ASSERT_EQ(test, 0, sock_create_kern(&init_net, AF_INET, SOCK_STREAM, IPPROTO_TCP,
						  &other));
	other->sk->sk_reuse = SK_CAN_REUSE;
	KUNIT_ASSERT_EQ(test, 0, kernel_bind(other, (struct sockaddr_unsized *)&addr,
					     sizeof(addr)));
	other->sk->sk_reuse = SK_NO_REUSE;
	KUNIT_EXPECT_EQ(test, -EADDRINUSE, iw_mpa_sock_listen(&ms, &opts, 4));
	KUNIT_EXPECT_PTR_EQ(test, ms.sock, NULL);
	sock_release(other);
}

/*
 * iw_mpa_sock_detach() restores what a driver may replace: iw_mpa's data_ready, TCP's write_space.
 */
static void sock_detach_takes_both_callbacks_back(struct kunit *test)
{
	struct fake_id *fid = fake_id_create(test->priv);
	struct iw_mpa_sock_opts opts = {
		.net = &init_net,
		.local = iw_mpa_addr(&fid->id.m_local_addr),
	};
	void (*ours)(struct sock *sk), (*tcps)(struct sock *sk);
	struct iw_mpa_sock ms = { .report = fake_sock_ignore };
	struct sock *sk;

	((struct sockaddr_in *)&fid->id.m_local_addr)->sin_port = htons(20997);
	KUNIT_ASSERT_EQ(test, 0, iw_mpa_sock_listen(&ms, &opts, 4));
	sk = ms.sock->sk;
	ours = sk->sk_data_ready;
	tcps = sk->sk_write_space;
	sk->sk_data_ready = sock_drivers;
	sk->sk_write_space = sock_drivers;
	/*
	 * TCP may have read sk_data_ready before the driver has replaced it, and call iw_mpa's
	 * callback, which then must call the driver's.
	 */
	sock_drivers_calls = 0;
	sock_drivers_calls_locked = 0;
	ours(sk);
	KUNIT_EXPECT_EQ(test, sock_drivers_calls, 1);
	KUNIT_EXPECT_EQ(test, sock_drivers_calls_locked, 0);
	iw_mpa_sock_detach(&ms);
	KUNIT_EXPECT_TRUE(test, sk->sk_data_ready == ours);
	KUNIT_EXPECT_TRUE(test, sk->sk_write_space == tcps);
	iw_mpa_sock_release(&ms);
}

/*
 * A driver may call sk_set_memalloc(), so that sends on the socket may use the emergency reserves
 * of memory. A send of iw_mpa must leave __GFP_MEMALLOC set in sk_allocation.
 */
static void sock_send_leaves_the_reserves_to_the_socket(struct kunit *test)
{
	union iw_mpa_addr to = {
		.in = {
			.sin_family = AF_INET,
			.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
			.sin_port = htons(20992),
		},
	}, from = to;
	struct iw_mpa_sock_opts opts = { .net = &init_net, .local = &to };
	struct iw_mpa_sock lis = { .report = fake_sock_ignore }, ms = lis;
	unsigned int noio;
	struct sock *sk;

	KUNIT_ASSERT_EQ(test, 0, iw_mpa_sock_listen(&lis, &opts, 4));
	from.in.sin_port = 0;
	opts.local = &from;
	opts.remote = &to;
	KUNIT_ASSERT_EQ(test, 0, iw_mpa_sock_connect(&ms, &opts));
	FAKE_POLL((struct fakes *)test->priv, iw_mpa_sock_is_up(&ms));
	sk = ms.sock->sk;
	noio = memalloc_noio_save();
	KUNIT_EXPECT_EQ(test, 0, iw_mpa_sock_send(&ms, "x", 1));
	KUNIT_EXPECT_EQ(test, sk->sk_allocation, IW_MPA_SOCK_GFP);
	sk_set_memalloc(sk);
	KUNIT_EXPECT_EQ(test, 0, iw_mpa_sock_send(&ms, "y", 1));
	KUNIT_EXPECT_EQ(test, sk->sk_allocation, IW_MPA_SOCK_GFP | __GFP_MEMALLOC);
	memalloc_noio_restore(noio);
	sk_clear_memalloc(sk);
	iw_mpa_sock_release(&ms);
	iw_mpa_sock_release(&lis);
}

#if IS_ENABLED(CONFIG_IPV6)
/* A listener for IPv6 only leaves the port free for IPv4; one for both occupies it. */
static void sock_listens_to_ipv6_alone(struct kunit *test)
{
	union iw_mpa_addr any6 = {
		.in6 = { .sin6_family = AF_INET6, .sin6_port = htons(20996) },
	};
	union iw_mpa_addr any4 = {
		.in = { .sin_family = AF_INET, .sin_port = htons(20996) },
	};
	struct iw_mpa_sock_opts opts = { .net = &init_net, .local = &any6 };
	struct iw_mpa_sock_opts other = { .net = &init_net, .local = &any4, .afonly = true };
	struct iw_mpa_sock six = { .report = fake_sock_ignore }, four = six;

	KUNIT_ASSERT_EQ(test, 0, iw_mpa_sock_listen(&six, &opts, 4));
	KUNIT_EXPECT_EQ(test, -EADDRINUSE, iw_mpa_sock_listen(&four, &other, 4));
	iw_mpa_sock_release(&six);
	opts.afonly = true;
	six = (struct iw_mpa_sock) { .report = fake_sock_ignore };
	four = six;
	KUNIT_ASSERT_EQ(test, 0, iw_mpa_sock_listen(&six, &opts, 4));
	KUNIT_EXPECT_EQ(test, 0, iw_mpa_sock_listen(&four, &other, 4));
	iw_mpa_sock_release(&four);
	iw_mpa_sock_release(&six);
}
#endif

static struct kunit_case sock_cases[] = {
	KUNIT_CASE(sock_unhook_restores_each_callback),
	KUNIT_CASE(sock_unhook_leaves_alone_what_is_not_ours),
	KUNIT_CASE(sock_that_cannot_listen_is_closed),
	KUNIT_CASE(sock_detach_takes_both_callbacks_back),
	KUNIT_CASE(sock_send_leaves_the_reserves_to_the_socket),
#if IS_ENABLED(CONFIG_IPV6)
	KUNIT_CASE(sock_listens_to_ipv6_alone),
#endif
	{}
};

static struct kunit_suite sock_suite = {
	.name = "iw_mpa_sock",
	.init = fakes_init,
	.exit = fakes_exit,
	.test_cases = sock_cases,
};

kunit_test_suite(sock_suite);

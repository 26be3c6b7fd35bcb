// SPDX-License-Identifier: GPL-2.0
/*
 * A packet in memory of the emergency reserves (skb->pfmemalloc) arrives when a stream that may use
 * the reserves ends, or has ended. The kernel has a BUG_ON() for such a packet in the backlog of a
 * locked socket if the socket has lost SOCK_MEMALLOC, the flag by which a socket may use the
 * reserves.
 */

#include "srnic_single.h"

#include <linux/ip.h>
#include <linux/tcp.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "iw_mpa_quiet.h"
#include "srnic_pair_tcp.h"

#define RESERVES_WHILE_MS	50

#define RESERVES_TEXT		"late"

/* A stream of a kernel ULP, and the last packet that it receives */
static struct reserves {
	struct socket		*peer;	/* socket of the peer, which sends the packet */
	struct socket		*sock;	/* socket of the QP */
	struct work_struct	send;	/* work item that sends the packet */
	struct work_struct	stop;	/* work item that calls srnic's op stop() */
} reserves;

/* A tap gets each packet before TCP: mark packets for the QP as being in memory of the reserves. */
static int reserves_mark(struct sk_buff *skb, struct net_device *dev, struct packet_type *unused,
			 struct net_device *orig_dev)
{
	const struct iphdr *ip = ip_hdr(skb);
	const struct tcphdr *tcp = (const void *)ip + 4 * ip->ihl;

	if (ip->protocol == IPPROTO_TCP &&
	    tcp->dest == inet_sk(reserves.sock->sk)->inet_sport &&
	    ntohs(ip->tot_len) > 4 * (ip->ihl + tcp->doff))
		skb->pfmemalloc = true;
	kfree_skb(skb);
	return 0;
}

static struct packet_type reserves_tap = {
	.type	= cpu_to_be16(ETH_P_ALL),
	.func	= reserves_mark,
};

static void reserves_send(struct work_struct *unused)
{
	struct kvec vec = { .iov_base = RESERVES_TEXT, .iov_len = strlen(RESERVES_TEXT) };
	struct msghdr msg = {};

	kernel_sendmsg(reserves.peer, &msg, &vec, 1, vec.iov_len);
}

static void reserves_stop(struct work_struct *unused)
{
	srnic_driver_ops.stop(&single.qp->ibqp, IW_MPA_R_ULP_CLOSE);
}

static bool reserves_waits_in_socket(void)
{
	return READ_ONCE(reserves.sock->sk->sk_backlog.tail);
}

/*
 * Let a work item send a packet from the peer to the QP's socket, and wait until it has arrived.
 * The caller does not send the packet itself: the caller has locked the QP's socket, and lockdep
 * does not distinguish that lock from the lock of the peer's socket.
 */
static void reserves_packet_comes(void)
{
	queue_work(srnic_user_wq, &reserves.send);
	iw_mpa_quiet(RESERVES_WHILE_MS);
}

static int reserves_prepare(void)
{
	static const struct iw_mpa_params params = { .initiator = true, .ird = PAIR_IRD, .ord = 2 };
	const struct iw_mpa_handoff ho = { .params = &params, .sock = reserves.sock };

	return srnic_driver_ops.prepare(&single.qp->ibqp, &ho);
}

static void reserves_begin(struct kunit *test)
{
	single_connect(test, &reserves.peer, &reserves.sock, 0);
	KUNIT_ASSERT_EQ(test, reserves_prepare(), 0);
	flush_work(&single.p->dev->reserves);
	KUNIT_ASSERT_TRUE(test, sock_flag(reserves.sock->sk, SOCK_MEMALLOC));
	reserves_tap.dev = init_net.loopback_dev;
	dev_add_pack(&reserves_tap);
}

static u64 reserves_drops(void)
{
	return snmp_fold_field(init_net.mib.net_statistics, LINUX_MIB_PFMEMALLOCDROP);
}

/* A packet that is in the socket's backlog when stop() is called is received after the unlock. */
static void reserves_packet_before_the_end_is_taken(struct kunit *test)
{
	struct sock *sk;
	u64 drops;

	reserves_begin(test);
	sk = reserves.sock->sk;
	drops = reserves_drops();
	lock_sock(sk);
	reserves_packet_comes();
	KUNIT_EXPECT_TRUE(test, reserves_waits_in_socket());
	queue_work(srnic_event_wq, &reserves.stop);
	iw_mpa_quiet(RESERVES_WHILE_MS);
	release_sock(sk);
	flush_work(&reserves.stop);
	KUNIT_EXPECT_EQ(test, tcp_inq(sk), (int)strlen(RESERVES_TEXT));
	KUNIT_EXPECT_EQ(test, reserves_drops(), drops);
}

/*
 * For a packet in memory of the reserves TCP checks whether the socket has SOCK_MEMALLOC before it
 * checks whether the socket is locked. Between the two checks stop() may return, and iw_mpa may
 * lock the socket to close it: then the packet gets into the backlog after the end of the stream.
 */
static void reserves_packet_after_the_end_is_taken(struct kunit *test)
{
	struct sock *sk;
	u64 drops;

	reserves_begin(test);
	sk = reserves.sock->sk;
	drops = reserves_drops();
	reserves_stop(NULL);
	KUNIT_EXPECT_TRUE(test, sk_memalloc_socks());
	lock_sock(sk);
	reserves_packet_comes();
	KUNIT_EXPECT_TRUE(test, reserves_waits_in_socket());
	release_sock(sk);
	KUNIT_EXPECT_EQ(test, tcp_inq(sk), (int)strlen(RESERVES_TEXT));
	KUNIT_EXPECT_EQ(test, reserves_drops(), drops);
}

static int reserves_switched(void)
{
	flush_work(&single.p->dev->reserves);
	return static_key_count(&memalloc_socks_key.key);
}

/*
 * memalloc_socks_key, the static key that lets TCP's sockets use the reserves, is incremented once
 * for all streams of a device, and decremented when the device is removed.
 */
static void reserves_switched_once(struct kunit *test)
{
	int before = reserves_switched();

	reserves_begin(test);
	KUNIT_EXPECT_EQ(test, reserves_switched(), before + 1);
	reserves_stop(NULL);
	KUNIT_EXPECT_EQ(test, reserves_switched(), before + 1);
	single.qp->state = SRNIC_IDLE;
	KUNIT_ASSERT_EQ(test, reserves_prepare(), 0);
	KUNIT_EXPECT_EQ(test, reserves_switched(), before + 1);
	reserves_stop(NULL);
	srnic_reserves_end(single.p->dev);
	KUNIT_EXPECT_EQ(test, static_key_count(&memalloc_socks_key.key), before);
	single.p->dev->has_reserves = false;
}

static int reserves_init(struct kunit *test)
{
	reserves = (struct reserves) {};
	INIT_WORK(&reserves.send, reserves_send);
	INIT_WORK(&reserves.stop, reserves_stop);
	return single_init(test);
}

static void reserves_exit(struct kunit *test)
{
	if (reserves_tap.dev)
		dev_remove_pack(&reserves_tap);
	reserves_tap.dev = NULL;
	if (single.qp && single.qp->tx.sock)
		reserves_stop(NULL);
	single_exit(test);
	if (reserves.sock)
		sock_release(reserves.sock);
	if (reserves.peer)
		sock_release(reserves.peer);
}

static struct kunit_case reserves_cases[] = {
	KUNIT_CASE(reserves_packet_before_the_end_is_taken),
	KUNIT_CASE(reserves_packet_after_the_end_is_taken),
	KUNIT_CASE(reserves_switched_once),
	{}
};

static struct kunit_suite reserves_suite = {
	.name = "srnic_reserves",
	.init = reserves_init,
	.exit = reserves_exit,
	.test_cases = reserves_cases,
};

kunit_test_suite(reserves_suite);

// SPDX-License-Identifier: GPL-2.0
/*
 * The TCP peer: see iw_mpa_fakes.h. It has MPA code of its own, so that it finds errors of
 * iw_mpa's.
 */

#include "iw_mpa_fakes.h"
#include "iw_mpa_quiet.h"

#include <linux/atomic.h>
#include <linux/crc32c.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/net.h>
#include <linux/tcp.h>
#include <linux/unaligned.h>
#include <net/sock.h>

static int peer_addr_len(const struct sockaddr_storage *addr)
{
	return addr->ss_family == AF_INET ? sizeof(struct sockaddr_in) :
					    sizeof(struct sockaddr_in6);
}

/* Have fakes_exit() close the socket, unless peer_rst() has; limit its waits to FAKE_WAIT_MS. */
static void peer_keep(struct fakes *f, struct socket *sock)
{
	if (f->nr_socks == FAKE_SOCKS) {
		sock_release(sock);
		KUNIT_FAIL(f->test, "more than %d sockets", FAKE_SOCKS);
		return;
	}
	f->socks[f->nr_socks++] = sock;
	sock->sk->sk_rcvtimeo = msecs_to_jiffies(FAKE_WAIT_MS);
	sock->sk->sk_sndtimeo = msecs_to_jiffies(FAKE_WAIT_MS);
	tcp_sock_set_nodelay(sock->sk);
}

static struct socket *peer_open(struct fakes *f, int family)
{
	struct socket *sock;
	int err;

	err = sock_create_kern(f->peers_net, family, SOCK_STREAM, IPPROTO_TCP, &sock);
	KUNIT_ASSERT_EQ(f->test, err, 0);
	peer_keep(f, sock);
	return sock;
}

static void peer_loopback(struct sockaddr_storage *addr, int family)
{
	memset(addr, 0, sizeof(*addr));
	addr->ss_family = family;
	if (family == AF_INET)
		((struct sockaddr_in *)addr)->sin_addr.s_addr =
			htonl(INADDR_LOOPBACK);
	else
		((struct sockaddr_in6 *)addr)->sin6_addr = in6addr_loopback;
}

/* Choose a source port as rdma_cm does, which has a port space of its own. */
static void peer_choose_source(struct sockaddr_storage *addr, int family)
{
	static atomic_t port = ATOMIC_INIT(25000);

	peer_loopback(addr, family);
	((struct sockaddr_in *)addr)->sin_port =
		htons(atomic_inc_return(&port));
}

static void peer_allow_fast_open(struct fakes *f, struct socket *listener)
{
	int connections = FAKE_SOCKS;

	KUNIT_ASSERT_EQ(f->test, 0,
			listener->ops->setsockopt(listener, SOL_TCP, TCP_FASTOPEN,
						  KERNEL_SOCKPTR(&connections),
						  sizeof(connections)));
}

/*
 * Return a listening socket of the peer. Set both addresses of @fid, so that it connects to this
 * socket from a port that no other cm_id has.
 */
struct socket *peer_listen(struct fakes *f, struct fake_id *fid, int family)
{
	struct socket *sock = peer_open(f, family);
	struct sockaddr_storage addr;
	int len;

	peer_loopback(&addr, family);
	KUNIT_ASSERT_EQ(f->test, 0, kernel_bind(sock, (struct sockaddr_unsized *)&addr,
						peer_addr_len(&addr)));
	KUNIT_ASSERT_EQ(f->test, 0, kernel_listen(sock, FAKE_SOCKS));
	if (f->fast_open)
		peer_allow_fast_open(f, sock);
	len = kernel_getsockname(sock, (struct sockaddr *)&fid->id.remote_addr);
	KUNIT_ASSERT_GT(f->test, len, 0);
	fid->id.m_remote_addr = fid->id.remote_addr;
	peer_choose_source(&fid->id.local_addr, family);
	fid->id.m_local_addr = fid->id.local_addr;
	return sock;
}

struct socket *peer_accept(struct fakes *f, struct socket *listener)
{
	struct socket *sock;
	int err = kernel_accept(listener, &sock, 0);

	KUNIT_ASSERT_EQ(f->test, err, 0);
	peer_keep(f, sock);
	return sock;
}

struct socket *peer_connect(struct fakes *f, const struct fake_id *listener)
{
	struct sockaddr_storage addr = listener->id.m_local_addr;
	struct socket *sock = peer_open(f, addr.ss_family);
	int err;

	err = kernel_connect(sock, (struct sockaddr_unsized *)&addr,
			     peer_addr_len(&addr), 0);
	KUNIT_ASSERT_EQ(f->test, err, 0);
	return sock;
}

/*
 * Connect by TCP Fast Open: the bytes of @buf are sent with the SYN, unless TCP has to ask for a
 * cookie first.
 */
struct socket *peer_connect_and_send(struct fakes *f, const struct fake_id *listener,
				     const void *buf, size_t len)
{
	struct sockaddr_storage addr = listener->id.m_local_addr;
	struct socket *sock = peer_open(f, addr.ss_family);
	struct kvec iov = { .iov_base = (void *)buf, .iov_len = len };
	struct msghdr msg = {
		.msg_name	= &addr,
		.msg_namelen	= peer_addr_len(&addr),
		.msg_flags	= MSG_FASTOPEN | MSG_NOSIGNAL,
	};

	KUNIT_ASSERT_EQ(f->test, kernel_sendmsg(sock, &msg, &iov, 1, len), (int)len);
	return sock;
}

void peer_send(struct fakes *f, struct socket *sock, const void *buf, size_t len)
{
	struct kvec iov = { .iov_base = (void *)buf, .iov_len = len };
	struct msghdr msg = { .msg_flags = MSG_NOSIGNAL };

	KUNIT_ASSERT_EQ(f->test, kernel_sendmsg(sock, &msg, &iov, 1, len),
			(int)len);
}

/* Receive @len bytes, or fewer at FIN or after FAKE_WAIT_MS. Return as recvmsg() does. */
static int peer_recv_some(struct socket *sock, void *buf, size_t len)
{
	struct kvec iov = { .iov_base = buf, .iov_len = len };
	struct msghdr msg = {};

	return kernel_recvmsg(sock, &msg, &iov, 1, len, MSG_WAITALL);
}

void peer_recv(struct fakes *f, struct socket *sock, void *buf, size_t len)
{
	KUNIT_ASSERT_EQ(f->test, peer_recv_some(sock, buf, len), (int)len);
}

void peer_fin(struct socket *sock)
{
	kernel_sock_shutdown(sock, SHUT_WR);
}

void peer_rst(struct fakes *f, struct socket *sock)
{
	int i;

	for (i = 0; i < f->nr_socks; i++) {
		if (f->socks[i] == sock)
			f->socks[i] = NULL;
	}
	sock_no_linger(sock->sk);
	sock_release(sock);
}

void peer_expect_eof(struct fakes *f, struct socket *sock)
{
	u8 octet;

	KUNIT_EXPECT_EQ(f->test, peer_recv_some(sock, &octet, 1), 0);
}

/* Expect that the peer receives neither bytes nor FIN for 100 ms (see iw_mpa_quiet()). */
void peer_expect_quiet(struct fakes *f, struct socket *sock)
{
	struct msghdr msg = {};
	struct kvec iov;
	u8 octet;

	iw_mpa_quiet(100);
	iov = (struct kvec) { .iov_base = &octet, .iov_len = 1 };
	KUNIT_EXPECT_EQ(f->test, kernel_recvmsg(sock, &msg, &iov, 1, 1, MSG_DONTWAIT), -EAGAIN);
}

void peer_expect_rst(struct fakes *f, struct socket *sock)
{
	u8 octet;

	KUNIT_EXPECT_EQ(f->test, peer_recv_some(sock, &octet, 1), -ECONNRESET);
}

/* Expect FIN or RST: TCP sends RST if iw_mpa closes its socket while bytes are unread. */
void peer_expect_end(struct fakes *f, struct socket *sock)
{
	u8 octet;
	int len = peer_recv_some(sock, &octet, 1);

	KUNIT_EXPECT_TRUE_MSG(f->test, len == 0 || len == -ECONNRESET,
			      "recvmsg: %d", len);
}

/*
 * Send bytes until TCP answers with RST. iw_mpa has sent FIN before, and closes its socket some
 * time later.
 */
void peer_expect_rst_on_send(struct fakes *f, struct socket *sock)
{
	struct kvec iov = { .iov_base = "x", .iov_len = 1 };
	int i, len = 1;

	for (i = 0; i < msecs_to_jiffies(FAKE_WAIT_MS) && len == 1; i++) {
		struct msghdr msg = { .msg_flags = MSG_NOSIGNAL };

		len = kernel_sendmsg(sock, &msg, &iov, 1, 1);
		schedule_timeout_uninterruptible(1);
	}
	KUNIT_EXPECT_EQ(f->test, len, -EPIPE);
}

/* Receive a Terminate message (RFC 5040 4.8) of layer 2, error type 0, and with @code. */
void peer_recv_term(struct fakes *f, struct socket *sock, u8 code)
{
	const u8 expected[IW_MPA_FPDU_TERM_SIZE - 4] = {
		0x00, 0x16, 0x41, 0x47, 0, 0, 0, 0, 0, 0, 0, 2,
		0, 0, 0, 1, 0, 0, 0, 0, 0x20, code, 0, 0,
	};
	u8 fpdu[IW_MPA_FPDU_TERM_SIZE];

	peer_recv(f, sock, fpdu, sizeof(fpdu));
	KUNIT_EXPECT_EQ(f->test, 0, memcmp(fpdu, expected, sizeof(expected)));
	KUNIT_EXPECT_EQ(f->test, get_unaligned_le32(fpdu + sizeof(expected)),
			~crc32c(~0, expected, sizeof(expected)));
}

void peer_expect_term(struct fakes *f, struct socket *sock, u8 code)
{
	peer_recv_term(f, sock, code);
	peer_expect_eof(f, sock);
}

/*
 * The RTR messages of RFC 6581 9.2 as bytes: FPDUs (RFC 5044 4) with DDP and RDMAP headers and CRC
 */
static const struct {
	u8	rtr;
	size_t	len;
	u8	octets[IW_MPA_FPDU_MAX];
} peer_rtrs[] = {
	/* zero-length RDMA Write: DDP Tagged, Last; STag 1, TO 0 */
	{ IW_MPA_RTR_WRITE, 20, {
		0x00, 0x0e, 0xc1, 0x40, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0,
		0xeb, 0xd3, 0x4c, 0x5f,
	} },
	/* RDMA Read Request of size 0: DDP Last; queue 1, MSN 1, MO 0; both STags 1 */
	{ IW_MPA_RTR_READ, 52, {
		0x00, 0x2e, 0x41, 0x41, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0,
		0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0,
		0x27, 0xdb, 0xd7, 0xe7,
	} },
	/* zero-length Send: DDP Last; queue 0, MSN 1, MO 0 */
	{ IW_MPA_RTR_SEND, 24, {
		0x00, 0x12, 0x41, 0x43, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0,
		0x58, 0x7b, 0xe8, 0xc4,
	} },
};

void peer_recv_rtr(struct fakes *f, struct socket *sock, u8 rtr)
{
	u8 fpdu[IW_MPA_FPDU_MAX];
	size_t i, at;

	for (i = 0; i < ARRAY_SIZE(peer_rtrs) && peer_rtrs[i].rtr != rtr; i++)
		;
	KUNIT_ASSERT_LT(f->test, i, ARRAY_SIZE(peer_rtrs));
	peer_recv(f, sock, fpdu, peer_rtrs[i].len);
	for (at = 0; at < peer_rtrs[i].len; at++)
		KUNIT_EXPECT_EQ_MSG(f->test, fpdu[at], peer_rtrs[i].octets[at], "octet %zu", at);
}

void peer_make(struct peer_frame *frame, bool reply, u8 flags, u8 rev,
	       const void *pd, u16 pd_len)
{
	memcpy(frame->buf, reply ? "MPA ID Rep Frame" : "MPA ID Req Frame", 16);
	frame->buf[16] = flags;
	frame->buf[17] = rev;
	put_unaligned_be16(pd_len, frame->buf + 18);
	if (pd_len)
		memcpy(frame->buf + 20, pd, pd_len);
	frame->len = 20 + pd_len;
}

void peer_make_v2(struct peer_frame *frame, bool reply, u8 flags, u16 ird, u16 ord,
		  const void *pd, u16 pd_len)
{
	u8 data[IW_MPA_PD_MAX];

	put_unaligned_be16(ird, data);
	put_unaligned_be16(ord, data + 2);
	if (pd_len)
		memcpy(data + 4, pd, pd_len);
	peer_make(frame, reply, flags | MPA_S, 2, data, pd_len + 4);
}

void peer_send_frame(struct fakes *f, struct socket *sock,
		     const struct peer_frame *frame)
{
	peer_send(f, sock, frame->buf, frame->len);
}

/* Receive one MPA Request or Reply, and no byte after it. */
void peer_recv_frame(struct fakes *f, struct socket *sock,
		     struct peer_frame *frame)
{
	u16 pd_len;

	peer_recv(f, sock, frame->buf, 20);
	pd_len = peer_frame_pd_len(frame);
	KUNIT_ASSERT_LE(f->test, pd_len, (u16)IW_MPA_PD_MAX);
	if (pd_len)
		peer_recv(f, sock, frame->buf + 20, pd_len);
	frame->len = 20 + pd_len;
}

u8 peer_frame_flags(const struct peer_frame *frame)
{
	return frame->buf[16];
}

u8 peer_frame_rev(const struct peer_frame *frame)
{
	return frame->buf[17];
}

u16 peer_frame_pd_len(const struct peer_frame *frame)
{
	return get_unaligned_be16(frame->buf + 18);
}

/* Return a word of the RFC 6581 data: for @nr 0 IRD with A and B, for 1 ORD with C and D. */
u16 peer_frame_word(const struct peer_frame *frame, int nr)
{
	return get_unaligned_be16(frame->buf + 20 + 2 * nr);
}

size_t peer_make_rtr_write(u8 fpdu[IW_MPA_FPDU_MAX])
{
	static const u8 head[IW_MPA_FPDU_WRITE_SIZE - 4] = { 0, 0x0e, 0xc1, 0x40 };

	memcpy(fpdu, head, sizeof(head));
	put_unaligned_le32(~crc32c(~0, head, sizeof(head)), fpdu + sizeof(head));
	return IW_MPA_FPDU_WRITE_SIZE;
}

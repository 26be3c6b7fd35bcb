/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SRNIC_COMPAT_NET_TCP_H
#define _SRNIC_COMPAT_NET_TCP_H

#include_next <net/tcp.h>

#include <linux/bvec.h>
#include <linux/net.h>
#include <linux/uio.h>

/*
 * tx.c, the only caller of tcp_sendmsg_locked() in srnic, passes pages to TCP
 * without a copy, by MSG_SPLICE_PAGES. Linux before 6.5 has
 * kernel_sendpage_locked() for that, which takes one page:
 * compat_splice_locked() calls it for each bvec entry. Some stable kernels
 * before 6.5 define MSG_SPLICE_PAGES, but it has no effect there. The caller
 * holds the socket's lock.
 */
#ifdef SRNIC_HAS_SENDPAGE
#ifndef MSG_SPLICE_PAGES
#define MSG_SPLICE_PAGES 0
#endif

static inline int compat_splice_locked(struct sock *sk, struct msghdr *msg, size_t size)
{
	const int flags = msg->msg_flags & ~MSG_SPLICE_PAGES;
	const int more = MSG_MORE | MSG_SENDPAGE_NOTLAST;
	struct iov_iter *iter = &msg->msg_iter;
	size_t sent = 0;
	int n = 0;

	while (sent < size) {
		const struct bio_vec *bv = iter->bvec;
		size_t skip = iter->iov_offset;
		size_t piece = min_t(size_t, bv->bv_len - skip, size - sent);

		n = kernel_sendpage_locked(sk, bv->bv_page, bv->bv_offset + skip, piece,
					   flags | (piece < size - sent ? more : 0));
		if (n <= 0)
			break;
		sent += n;
		if (n < piece)
			break;
		iov_iter_advance(iter, n);
	}
	return sent ?: n;
}

#undef tcp_sendmsg_locked
#define tcp_sendmsg_locked compat_splice_locked
#endif

#endif /* _SRNIC_COMPAT_NET_TCP_H */

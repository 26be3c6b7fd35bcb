/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SRNIC_COMPAT_NET_TCP_H
#define _SRNIC_COMPAT_NET_TCP_H

#include_next <net/tcp.h>

#include <linux/bvec.h>
#include <linux/net.h>

/*
 * Pass pages to TCP without a copy, as tx.c does it by MSG_SPLICE_PAGES. Before
 * Linux 6.5 there was a call for each page instead. Some stable kernels define
 * the flag, but it has no effect there.
 */
#ifdef SRNIC_HAS_SENDPAGE
#define COMPAT_TCP_SPLICE

static inline int tcp_splice(struct socket *sock, struct bio_vec *bv, unsigned int nbv,
			     u32 skip, u32 len)
{
	const int more = MSG_MORE | MSG_SENDPAGE_NOTLAST;
	u32 sent = 0;
	int n = 0;

	lock_sock(sock->sk);
	for (; len; bv++) {
		u32 piece = bv->bv_len;

		if (skip >= piece) {
			skip -= piece;
			continue;
		}
		piece = min(piece - skip, len);
		n = kernel_sendpage_locked(sock->sk, bv->bv_page, bv->bv_offset + skip, piece,
					   MSG_DONTWAIT | MSG_NOSIGNAL |
					   (piece < len ? more : 0));
		if (n <= 0)
			break;
		sent += n;
		len -= n;
		if (n < piece)
			break;
		skip = 0;
	}
	release_sock(sock->sk);
	return sent ? (int)sent : n;
}
#endif

#endif /* _SRNIC_COMPAT_NET_TCP_H */

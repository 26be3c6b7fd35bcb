// SPDX-License-Identifier: GPL-2.0
/* See srnic_pair_tcp.h. */

#include "srnic_pair_tcp.h"

#include <linux/mm.h>
#include <linux/net.h>
#include <linux/skbuff.h>
#include <net/sock.h>

#include "tx.h"

struct pair_tcp pair_tcp;

/* As TCP, which calls write_space when it refuses octets and nothing is on its way */
int pair_kernel_sendpage_locked(struct sock *sk, struct page *page, int offset, size_t size,
				int flags)
{
	struct pair_end *e = pair_tcp.to;

	pair_tcp.calls++;
	pair_tcp.task_flags = current->flags;
	if (pair_tcp.err) {
		if (pair_tcp.err == -EAGAIN && sk_stream_memory_free(sk))
			srnic_tx_kick(e->qp);
		return pair_tcp.err;
	}
	memcpy(e->wire + e->wire_len, page_address(page) + offset, size);
	e->wire_len += size;
	return size;
}

void pair_iw_mpa_stream_down(struct iw_mpa_ep *ep)
{
	pair_tcp.downs++;
}

void pair_iw_mpa_tx_finished(struct iw_mpa_ep *ep)
{
	pair_tcp.finishes++;
}

bool pair_skb_page_frag_refill(unsigned int sz, struct page_frag *frag, gfp_t gfp)
{
	if (!pair_tcp.piece)
		return skb_page_frag_refill(sz, frag, gfp);
	if (!pair_tcp.pieces)
		return false;
	pair_tcp.pieces--;
	if (frag->page)
		put_page(frag->page);
	frag->page = alloc_page(gfp);
	frag->offset = PAGE_SIZE - pair_tcp.piece;
	frag->size = PAGE_SIZE;
	return frag->page;
}

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Fakes of functions of the kernel and of iw_mpa that srnic's tx.c, qp.c and fpdu.c call.
 * scripts/lib/uml.sh compiles these files with the names of the fakes in place of the real ones, so
 * the objects are of no use in a kernel with real devices.
 */
#ifndef _SRNIC_PAIR_TCP_H
#define _SRNIC_PAIR_TCP_H

#include "srnic_pair.h"

#define PAIR_TCP_LEN	100	/* bytes of a Send of pair_tcp_post() */

/**
 * struct pair_tcp - a fake of TCP, of iw_mpa and of the page allocator, for srnic's sender
 * @to: the end of the pair of QPs that sends: TCP puts the bytes that it accepts into @to->wire;
 *	NULL: TCP only counts them
 * @err: the errno by which TCP refuses bytes, or 0
 * @limited: TCP has room for @room bytes and no more, see pair_tcp_give_room()
 * @room: bytes for which TCP has room, if @limited
 * @keeps: TCP keeps pages that were sent, as for retransmission, until pair_tcp_acked()
 * @taken: number of bytes that TCP has accepted
 * @asked: function that is called for each attempt to send, before TCP accepts anything; or NULL
 * @wants_page: function that is called when srnic calls skb_page_frag_refill(); or NULL
 * @calls: number of attempts to send
 * @task_flags: flags of the task that made the last attempt
 * @closes: number of calls of iw_mpa_close()
 * @disconnects: number of calls of iw_mpa_disconnect()
 * @fault: fault that the last iw_mpa_stream_down() reported
 * @downs: number of calls of iw_mpa_stream_down()
 * @finishes: number of calls of iw_mpa_tx_finished()
 * @piece: bytes of each page fragment, a multiple of 4; 0: fragments are the kernel's own
 * @whole: a fragment is the end of a compound page, not of a single page
 * @pieces: number of fragments that can still be allocated
 */
struct pair_tcp {
	struct pair_end	*to;
	int		err;
	bool		limited;
	bool		keeps;
	u32		room;
	u64		taken;
	void		(*asked)(void);
	void		(*wants_page)(void);
	unsigned int	calls;
	unsigned int	task_flags;
	unsigned int	closes;
	unsigned int	disconnects;
	struct iw_mpa_fault fault;
	unsigned int	downs;
	unsigned int	finishes;
	unsigned int	piece;
	bool		whole;
	unsigned int	pieces;
};

extern struct pair_tcp pair_tcp;

int pair_kernel_sendpage_locked(struct sock *sk, struct page *page, int offset, size_t size,
				int flags);
int pair_tcp_sendmsg_locked(struct sock *sk, struct msghdr *msg, size_t size);
struct iw_mpa_ep *pair_iw_mpa_ep_get(struct iw_mpa_ep *ep);
void pair_iw_mpa_ep_put(struct iw_mpa_ep *ep);
void pair_iw_mpa_close(struct iw_mpa_ep *ep);
void pair_iw_mpa_disconnect(struct iw_mpa_ep *ep, bool abrupt);
void pair_iw_mpa_stream_down(struct iw_mpa_ep *ep, const struct iw_mpa_fault *fault);
void pair_iw_mpa_tx_finished(struct iw_mpa_ep *ep);
bool pair_skb_page_frag_refill(unsigned int sz, struct page_frag *frag, gfp_t gfp);

int pair_tcp_init(struct kunit *test);
void pair_tcp_exit(struct kunit *test);
struct srnic_qp *pair_tcp_begin(struct kunit *test, const struct pair_opts *opts);
void pair_tcp_post(struct kunit *test, u64 id);
void pair_tcp_run(struct srnic_qp *qp);
void pair_tcp_arrive(struct pair *p);
void pair_tcp_give_room(struct pair *p, u32 len);
void pair_tcp_pages(unsigned int piece, unsigned int pieces);
void pair_tcp_pass(unsigned int ms);
void pair_tcp_acked(struct kunit *test);
bool pair_tcp_poll(const unsigned int *value, unsigned int want);
void pair_tcp_expect_arrival(struct kunit *test, u64 id);

#endif /* _SRNIC_PAIR_TCP_H */

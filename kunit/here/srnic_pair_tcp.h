/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What stands in for others in the calls of the sender and of QPs. Both are compiled with these
 * names in place of theirs: see scripts/lib/uml.sh. A kernel that also has real devices cannot have
 * that.
 */
#ifndef _SRNIC_PAIR_TCP_H
#define _SRNIC_PAIR_TCP_H

#include "srnic_pair.h"

#define PAIR_TCP_LEN	100	/* octets of a Send */

/**
 * struct pair_tcp - what stands in for TCP, library and page allocator in the sender's calls
 * @to: whose wire gets the octets; NULL: they are only counted
 * @err: how TCP refuses octets, or 0
 * @limited: TCP has room for @room bytes and no more, see pair_tcp_give_room()
 * @room: with @limited
 * @keeps: TCP keeps its pages until pair_tcp_acked()
 * @taken: bytes that TCP has accepted
 * @asked: is called each time TCP is asked, before it takes anything; or NULL
 * @wants_page: is called each time a sender wants a page fragment; or NULL
 * @calls: how often TCP was asked
 * @task_flags: of who asked last
 * @closes: calls of iw_mpa_close()
 * @disconnects: calls of iw_mpa_disconnect()
 * @fault: of the last iw_mpa_stream_down()
 * @downs: calls of iw_mpa_stream_down()
 * @finishes: calls of iw_mpa_tx_finished()
 * @piece: bytes of a page fragment, a multiple of 4; or 0: then they are the kernel's own
 * @whole: these are what is left of a large fragment, else of a page
 * @pieces: how many of these there are still
 * @clear_memalloc: is called before a socket's right to the last memory ends, or NULL
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
	void		(*clear_memalloc)(struct sock *sk);
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
void pair_sk_clear_memalloc(struct sock *sk);

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

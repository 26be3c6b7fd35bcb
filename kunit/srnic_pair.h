/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two QPs of srnic and a wire between them that is a piece of memory: no TCP, no
 * library, no RDMA core. What one has put into a batch the other takes, in portions of any
 * size.
 */
#ifndef _SRNIC_PAIR_H
#define _SRNIC_PAIR_H

#include <kunit/test.h>

#include "cq.h"
#include "srnic.h"

#define PAIR_WRS	16
#define PAIR_CQES	64
#define PAIR_MEM	(64 * 1024)
#define PAIR_IRD	4

/**
 * struct pair_end - one QP with all that belongs to it
 * @qp: the QP, of a kernel ULP
 * @scq: completions of its send queue
 * @rcq: completions of its receive queue
 * @wire: octets that were sent and the other end has not taken
 * @wire_len: how many
 * @wire_pos: how many went before
 * @frag: what @mem is divided into by pair_map()
 * @mem: memory that belongs to it
 */
struct pair_end {
	struct srnic_qp	*qp;
	struct srnic_cq	scq;
	struct srnic_cq	rcq;
	u8		*wire;
	u32		wire_len;
	u32		wire_pos;
	u8		*mem;
};

/**
 * struct pair - the world of a test
 * @test: the test
 * @dev: device of both
 * @pd: protection domain of both
 * @other_pd: another one
 * @end: the two
 * @portion: octets that the wire delivers at once; 0 for all
 * @sock: never connected; QPs ask it for the segment size
 */
struct pair {
	struct kunit	*test;
	struct srnic_dev *dev;
	struct ib_pd	pd;
	struct ib_pd	other_pd;
	struct pair_end	end[2];
	u32		portion;
	struct socket	*sock;
};

/**
 * struct pair_opts - what the two have agreed on
 * @crc: FPDUs have a CRC
 * @markers: of what end 0 sends, of what end 1 sends
 * @emss: segment size of TCP
 * @ord: Reads that each may have open, PAIR_IRD at most
 * @portion: see struct pair
 */
struct pair_opts {
	bool	crc;
	bool	markers[2];
	u32	emss;
	u16	ord;
	u32	portion;
};

/**
 * struct pair_tcp - what stands in for TCP, library and page allocator in the sender's calls
 * @to: whose wire gets the octets
 * @err: how TCP refuses octets, or 0
 * @calls: how often it was asked
 * @task_flags: of who asked last
 * @downs: calls of iw_mpa_stream_down()
 * @finishes: calls of iw_mpa_tx_finished()
 * @piece: octets of a page fragment, or 0: then they are the kernel's own
 * @pieces: how many of these there are still
 */
struct pair_tcp {
	struct pair_end	*to;
	int		err;
	unsigned int	calls;
	unsigned int	task_flags;
	unsigned int	downs;
	unsigned int	finishes;
	unsigned int	piece;
	unsigned int	pieces;
};

extern struct pair_tcp pair_tcp;

/* By these names the sender knows them in this kernel: see scripts/kunit.sh. */
int pair_kernel_sendpage_locked(struct sock *sk, struct page *page, int offset, size_t size,
				int flags);
void pair_iw_mpa_stream_down(struct iw_mpa_ep *ep);
void pair_iw_mpa_tx_finished(struct iw_mpa_ep *ep);
bool pair_skb_page_frag_refill(unsigned int sz, struct page_frag *frag, gfp_t gfp);

int pair_init(struct kunit *test);
void pair_exit(struct kunit *test);
void pair_start(struct pair *p, const struct pair_opts *opts);
struct srnic_mr *pair_reg(struct pair *p, struct ib_pd *pd, void *va, u64 base, u64 size,
			  u32 access);
struct srnic_mr *pair_fast(struct pair *p, void *va, u64 size, u32 access);
int pair_post(struct pair_end *e, const struct ib_send_wr *wr);
void pair_post_recv(struct pair_end *e, u64 id, void *va, u32 len);
void pair_push(struct pair *p, struct pair_end *e);
void pair_send(struct pair *p, int from);
void pair_deliver(struct pair *p, int from);
void pair_run(struct pair *p);
void pair_put_ulpdu(struct pair *p, int from, const void *ulpdu, u16 len);
int pair_poll(struct srnic_cq *cq, struct ib_wc *wc);
void pair_expect_wc(struct pair *p, struct srnic_cq *cq, u64 id, enum ib_wc_status status);
void pair_expect_no_wc(struct pair *p, struct srnic_cq *cq);
void pair_expect_fault(struct pair *p, int end, enum srnic_err err);

#endif /* _SRNIC_PAIR_H */

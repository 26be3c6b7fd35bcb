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
#define PAIR_WIRE	(4 * PAIR_MEM)
#define PAIR_IRD	4

/**
 * struct pair_end - one QP with all that belongs to it
 * @qp: the QP, of a kernel ULP
 * @scq: completions of its send queue
 * @rcq: completions of its receive queue
 * @wire: octets that were sent and the other end has not taken
 * @wire_len: how many
 * @wire_pos: how many went before
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

int pair_init(struct kunit *test);
void pair_exit(struct kunit *test);
void pair_start(struct pair *p, const struct pair_opts *opts);
void pair_rings(struct pair *p, struct pair_end *e);
struct pair_end *pair_user(struct pair *p, const struct pair_opts *opts);
void pair_post_user(struct pair_end *e, u32 n, const struct siw_sqe *sqe);
struct siw_cqe *pair_user_cq(struct kunit *test, struct srnic_cq *cq, u32 *word);
struct srnic_mr *pair_reg(struct pair *p, struct ib_pd *pd, void *va, u64 base, u64 size,
			  u32 access);
struct srnic_mr *pair_fast(struct pair *p, void *va, u64 size, u32 access);
int pair_post(struct pair_end *e, const struct ib_send_wr *wr);
void pair_post_recv(struct pair_end *e, u64 id, void *va, u32 len);
void pair_push(struct pair *p, struct pair_end *e);
int pair_send_batch(struct pair *p, int from);
void pair_send(struct pair *p, int from);
void pair_deliver_some(struct pair *p, int from, u32 len);
bool pair_deliver(struct pair *p, int from);
void pair_run(struct pair *p);
void pair_put_ulpdu(struct pair *p, int from, const void *ulpdu, u16 len);
int pair_poll(struct srnic_cq *cq, struct ib_wc *wc);
void pair_expect_wc(struct pair *p, struct srnic_cq *cq, u64 id, enum ib_wc_status status);
void pair_expect_no_wc(struct pair *p, struct srnic_cq *cq);
void pair_expect_fault(struct pair *p, int end, enum srnic_err err);
u64 pair_count(const struct pair *p, enum srnic_counter counter);
u64 pair_count_err(const struct pair *p, enum srnic_err err);

#endif /* _SRNIC_PAIR_H */

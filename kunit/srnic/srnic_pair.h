/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two QPs of srnic, connected by memory in place of TCP, without iw_mpa and the RDMA core. A test
 * takes the bytes that one QP's sender has made for TCP (a batch), and passes them to RX of the
 * other QP, in portions of any size.
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

/*
 * One of the two QPs, with its completion queues, the memory that is its wire, and memory for data
 */
struct pair_end {
	struct srnic_qp	*qp;		/* the QP, of a kernel ULP */
	struct srnic_cq	scq;		/* completions of its send queue */
	struct srnic_cq	rcq;		/* completions of its receive queue */
	/* bytes that were sent, and that the other end has not received */
	u8		*wire;
	u32		wire_len;	/* number of bytes in @wire */
	u32		wire_pos;	/* position of @wire in the stream */
	u8		*mem;		/* memory for the data of this end */
};

/* Two QPs that are connected to each other */
struct pair {
	struct kunit	*test;
	struct srnic_dev *dev;		/* device of both QPs */
	struct ib_pd	pd;		/* protection domain of both QPs */
	struct ib_pd	other_pd;	/* another protection domain */
	struct pair_end	end[2];
	u32		portion;	/* bytes that the wire delivers at once; 0 for all */
	/* socket that is never connected; QPs read TCP's segment size from it */
	struct socket	*sock;
};

/* What the two ends have agreed on */
struct pair_opts {
	bool	crc;		/* FPDUs have a CRC */
	bool	markers[2];	/* for each end, whether the FPDUs that it sends have Markers */
	u32	emss;		/* segment size of TCP */
	u16	ord;	/* number of Reads that each end may have open, PAIR_IRD at most */
	u32	portion;	/* as in struct pair */
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
int pair_register(struct pair *p, const struct ib_pd *pd, u32 stag, u64 base, u64 size, u32 access);
struct ib_sge pair_sge(const void *va, u32 len);
int pair_post(struct pair_end *e, const struct ib_send_wr *wr);
void pair_post_rdma(struct pair *p, int end, u64 id, enum ib_wr_opcode opcode, struct ib_sge *sge,
		    u64 addr, u32 rkey);
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

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A QP on a real TCP socket. In place of TCP a test fills the socket's receive queue, with segments
 * (skbs) of any layout that TCP can queue there, also rare ones.
 */
#ifndef _SRNIC_FEED_H
#define _SRNIC_FEED_H

#include "srnic_oracle.h"
#include "srnic_single.h"

#include <linux/prandom.h>

#define FEED_ORDER	4	/* page order of the memory for the stream */
#define FEED_STREAM	(PAGE_SIZE << FEED_ORDER)
#define FEED_UNTOUCHED	0xee
#define FEED_BASE	0x100000ULL
#define FEED_REGION	1024U	/* bytes of each region, and space for each receive */
#define FEED_REGIONS	2
#define FEED_RECVS	4
#define FEED_RECV	700U	/* bytes of a receive */
#define FEED_USED	((FEED_REGIONS + FEED_RECVS) * FEED_REGION)

/* Layouts of the segments in TCP's receive queue */
enum feed_shape {
	SHAPE_LINEAR,
	SHAPE_FRAGS,		/* page fragments, after a linear part or without one */
	SHAPE_LIST,		/* such a segment with others in its frag_list */
	SHAPE_RANDOM,		/* any of these; up to 3 first bytes repeat bytes that TCP has */
};

/* The socket of the QP under test, and the bytes of the stream that arrive on it */
struct feed_world {
	struct iw_mpa_stream	stream;			/* what sk_user_data points to */
	void			*user_data;	/* sk_user_data before the test */
	/* TCP's own sk_data_ready, restored when the stream ends */
	void			(*data_ready)(struct sock *sk);
	/* TCP's own sk_write_space, restored when the stream ends */
	void			(*write_space)(struct sock *sk);
	struct page		*page;			/* memory for the bytes of the stream */
	struct oracle		o;		/* generator of the bytes of the stream */
	u32			at;		/* number of bytes that TCP has received */
	struct srnic_mr		*mr[FEED_REGIONS];	/* regions that the peer may write to */
	struct rnd_state	rnd;			/* state of the random number generator */
};

extern struct feed_world feed_world;

/* How the stream is cut into segments */
struct feed_cut {
	enum feed_shape	shape;	/* shape of the segments */
	u32		piece;	/* bytes of a segment, or 0 for random lengths */
	u32		end;	/* number of bytes of the stream that arrive */
};

int feed_init(struct kunit *test);
void feed_exit(struct kunit *test);
void feed_begin(struct kunit *test, bool crc, bool markers);
void feed_end(struct kunit *test);
void feed_queue(struct sk_buff *skb, u32 twice);
void feed_arrive(struct kunit *test, const struct feed_cut *cut);
u32 feed_random(u32 below);
u8 *feed_region(int i);
u8 *feed_recv(int i);
enum srnic_err feed_err(void);

#endif /* _SRNIC_FEED_H */

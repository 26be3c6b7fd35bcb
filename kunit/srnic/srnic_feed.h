/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A QP whose socket has a receive queue that the test fills, with segments of any shape that TCP
 * can have there, also rare ones.
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

/* Shapes of segments in TCP's queue */
enum feed_shape {
	SHAPE_LINEAR,
	SHAPE_FRAGS,		/* page fragments, after a linear part or without one */
	SHAPE_LIST,		/* a list of several such buffers */
	SHAPE_RANDOM,		/* any of these, after up to 3 bytes that TCP had before */
};

/* A socket for a QP of the pair, and the bytes that it receives */
struct feed_world {
	struct iw_mpa_stream	stream;			/* the stream of the socket */
	void			*user_data;	/* value of sk_user_data before the test */
	/* TCP's function, which the test replaces */
	void			(*data_ready)(struct sock *sk);
	/* TCP's function, which the test replaces */
	void			(*write_space)(struct sock *sk);
	struct page		*page;			/* memory for the bytes of the stream */
	struct oracle		o;		/* generator of the bytes of the stream */
	u32			at;		/* number of bytes that TCP has received */
	struct srnic_mr		*mr[FEED_REGIONS];	/* regions that the peer may write to */
	struct rnd_state	rnd;			/* state of the random numbers */
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

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A QP whose socket has in its receive queue what a test puts there, in
 * segments of any shape: what TCP may have, and what it seldom has.
 */
#ifndef _SRNIC_FEED_H
#define _SRNIC_FEED_H

#include "srnic_oracle.h"
#include "srnic_single.h"

#include <linux/prandom.h>

#define FEED_ORDER	4	/* of the memory that the stream is in */
#define FEED_STREAM	(PAGE_SIZE << FEED_ORDER)
#define FEED_UNTOUCHED	0xee
#define FEED_BASE	0x100000ULL
#define FEED_REGION	1024U	/* bytes of each region; space of each receive */
#define FEED_REGIONS	2
#define FEED_RECVS	4
#define FEED_RECV	700U	/* bytes of a receive */
#define FEED_USED	((FEED_REGIONS + FEED_RECVS) * FEED_REGION)

/* What a segment looks like that TCP has */
enum feed_shape {
	SHAPE_LINEAR,
	SHAPE_FRAGS,		/* after a linear part, or without one */
	SHAPE_LIST,		/* of several such parts */
	SHAPE_RANDOM,		/* any of these; what came twice is in front of it */
};

/**
 * struct feed_world - what is beside the pair: a socket, and what comes to it
 * @stream: that the socket is of
 * @user_data: what the socket had before, as what follows
 * @data_ready: TCP's
 * @write_space: TCP's
 * @page: the bytes of the stream
 * @o: makes them
 * @at: how many of them TCP has got
 * @mr: regions that the peer may write to
 * @rnd: what is random
 */
struct feed_world {
	struct iw_mpa_stream	stream;
	void			*user_data;
	void			(*data_ready)(struct sock *sk);
	void			(*write_space)(struct sock *sk);
	struct page		*page;
	struct oracle		o;
	u32			at;
	struct srnic_mr		*mr[FEED_REGIONS];
	struct rnd_state	rnd;
};

extern struct feed_world feed_world;

/**
 * struct feed_cut - how the stream is cut into pieces
 * @shape: of segments
 * @piece: bytes of a piece, or 0 for random ones
 * @end: bytes of the stream that come
 */
struct feed_cut {
	enum feed_shape	shape;
	u32		piece;
	u32		end;
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

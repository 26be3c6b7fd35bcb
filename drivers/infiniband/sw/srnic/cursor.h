/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A cursor is a place in the bytes that TCP has received, which stay in TCP's
 * queue. To read them twice, copy the cursor first.
 */
#ifndef _SRNIC_CURSOR_H
#define _SRNIC_CURSOR_H

#include <linux/skbuff.h>
#include <linux/string.h>

struct sock;

struct srnic_cursor {
	struct sk_buff_head	*queue;	/* TCP's; NULL: plain memory */
	struct sk_buff		*skb;	/* in @queue */
	struct sk_buff		*part;	/* @skb, or one of its fragment list */
	unsigned int		frag;	/* next fragment of @part */
	const u8		*ptr;	/* next byte */
	u32			left;	/* bytes at @ptr */
	u32			pos;	/* of @ptr in the stream: wire.h */
	u32			seq_start; /* TCP's number of position 0 */
	bool			markers; /* the stream has Markers */
	bool			broken;	/* fewer bytes than TCP has reported */
};

/* NULL if the caller has to copy the bytes: Markers may be among them. */
static inline const u8 *srnic_cursor_peek(const struct srnic_cursor *cur,
					  u32 len)
{
	return !cur->markers && cur->left >= len ? cur->ptr : NULL;
}

bool srnic_cursor_at(struct srnic_cursor *cur, struct sock *sk);
void srnic_cursor_at_memory(struct srnic_cursor *cur, const u8 *bytes, u32 len);
u32 srnic_cursor_crc(struct srnic_cursor *cur, u32 crc, u32 len);
void srnic_cursor_read_raw(struct srnic_cursor *cur, void *to, u32 len);
void srnic_cursor_read_slow(struct srnic_cursor *cur, void *to, u32 len);
void srnic_cursor_refill(struct srnic_cursor *cur);
u32 srnic_cursor_piece(struct srnic_cursor *cur, u32 len);

/* @len <= @cur->left */
static inline void srnic_cursor_advance(struct srnic_cursor *cur, u32 len)
{
	cur->ptr += len;
	cur->left -= len;
	cur->pos += len;
}

/*
 * The caller knows that there are more bytes. Many network cards put each FPDU
 * into a buffer of its own, so the next byte is often in the next buffer.
 */
static inline void srnic_cursor_settle(struct srnic_cursor *cur)
{
	if (!cur->left)
		srnic_cursor_refill(cur);
}

static inline void srnic_cursor_read(struct srnic_cursor *cur, void *to,
				     u32 len)
{
	if (cur->markers || cur->left < len) {
		srnic_cursor_read_slow(cur, to, len);
		return;
	}
	memcpy(to, cur->ptr, len);
	srnic_cursor_advance(cur, len);
}

static inline void srnic_cursor_skip(struct srnic_cursor *cur, u32 len)
{
	if (cur->left < len)
		srnic_cursor_read_raw(cur, NULL, len);
	else
		srnic_cursor_advance(cur, len);
}

#endif /* _SRNIC_CURSOR_H */

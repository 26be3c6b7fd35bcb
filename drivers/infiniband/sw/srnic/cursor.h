/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A cursor is a position in TCP's receive queue, or in a buffer of srnic's own.
 * Reading at a cursor leaves the bytes where they are: to read them twice, copy
 * the cursor before the first time.
 */
#ifndef _SRNIC_CURSOR_H
#define _SRNIC_CURSOR_H

#include <linux/skbuff.h>
#include <linux/string.h>

struct sock;

struct srnic_cursor {
	struct sk_buff_head	*queue;	/* TCP's; NULL: plain memory */
	struct sk_buff		*skb;	/* in @queue */
	struct sk_buff		*part;	/* @skb, or an skb of its frag_list */
	unsigned int		frag;	/* next fragment of @part */
	const u8		*ptr;	/* next byte */
	u32			left;	/* bytes at @ptr */
	u32			pos;	/* stream position of @ptr: wire.h */
	u32			seq_start; /* sequence number of position 0 */
	bool			markers; /* the stream has Markers */
	bool			broken;	/* TCP reported more bytes than exist */
};

/* Returns @ptr if @len bytes are contiguous there, without Markers; or NULL. */
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
 * Go to the next buffer if the present one has no byte left. The caller has
 * found that more bytes have arrived. Many network cards put each FPDU into a
 * buffer of its own, so @cur->left is often 0 here.
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

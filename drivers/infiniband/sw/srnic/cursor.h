/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A cursor is a place in what TCP has received. Octets are read there, and stay in the queue. To
 * read them again, copy the cursor first.
 */
#ifndef _SRNIC_CURSOR_H
#define _SRNIC_CURSOR_H

#include <linux/skbuff.h>
#include <linux/string.h>

struct sock;

/* struct srnic_cursor - a place in the stream */
struct srnic_cursor {
	/* TCP's receive queue; NULL in a piece of memory */
	struct sk_buff_head	*queue;
	struct sk_buff		*skb;	/* segment of @queue that it is in */
	struct sk_buff		*part;	/* @skb, or one of its fragment list */
	unsigned int		frag;	/* fragment of @part that is next */
	const u8		*ptr;	/* next octet */
	u32			left;	/* octets at @ptr */
	/* position of @ptr in the stream (wire.h) */
	u32			pos;
	/* TCP's sequence number of position 0 */
	u32			seq_start;
	/* Markers stand in the stream */
	bool			markers;
	/* there were fewer octets than TCP had said */
	bool			broken;
};

/*
 * Returns the octets; or NULL if they have to be copied out, as always if Markers may be among
 * them.
 */
static inline const u8 *srnic_cursor_peek(const struct srnic_cursor *cur, u32 len)
{
	return !cur->markers && cur->left >= len ? cur->ptr : NULL;
}

bool srnic_cursor_at(struct srnic_cursor *cur, struct sock *sk);
void srnic_cursor_at_memory(struct srnic_cursor *cur, const u8 *octets, u32 len);
u32 srnic_cursor_crc(struct srnic_cursor *cur, u32 crc, u32 len);
void srnic_cursor_read_raw(struct srnic_cursor *cur, void *to, u32 len);
void srnic_cursor_read_slow(struct srnic_cursor *cur, void *to, u32 len);
void srnic_cursor_refill(struct srnic_cursor *cur);
void srnic_cursor_skip_slow(struct srnic_cursor *cur, u32 len);
u32 srnic_cursor_piece(struct srnic_cursor *cur, u32 len);

/* @len is at most @cur->left. */
static inline void srnic_cursor_advance(struct srnic_cursor *cur, u32 len)
{
	cur->ptr += len;
	cur->left -= len;
	cur->pos += len;
}

/*
 * The caller knows that there are more octets. If the last piece has ended, go to the next: with
 * many network cards each FPDU is a piece of its own.
 */
static inline void srnic_cursor_settle(struct srnic_cursor *cur)
{
	if (!cur->left)
		srnic_cursor_refill(cur);
}

/* Read octets of the ULPDU, or of its length. */
static inline void srnic_cursor_read(struct srnic_cursor *cur, void *to, u32 len)
{
	if (cur->markers || cur->left < len) {
		srnic_cursor_read_slow(cur, to, len);
		return;
	}
	memcpy(to, cur->ptr, len);
	srnic_cursor_advance(cur, len);
}

/* Go over raw octets. */
static inline void srnic_cursor_skip(struct srnic_cursor *cur, u32 len)
{
	if (cur->left < len)
		srnic_cursor_skip_slow(cur, len);
	else
		srnic_cursor_advance(cur, len);
}

#endif /* _SRNIC_CURSOR_H */

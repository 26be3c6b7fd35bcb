// SPDX-License-Identifier: GPL-2.0
/*
 * Reading TCP's receive queue in place.
 *
 * The queue is walked as tcp_recv_skb() does it: a segment may overlap what was
 * read before, so a place in a segment is found by the sequence number. A
 * buffer here is the linear part or a page fragment of an skb; all have a
 * kernel address, since there is no high memory. Nothing here consumes bytes,
 * allocates, or changes the queue.
 *
 * Functions with "raw" in their name read the stream with its Markers, the
 * others leave Markers out.
 */

#include "cursor.h"
#include "wire.h"

#include <linux/crc32c.h>
#include <net/tcp.h>

/* Go to the next buffer of the segment; false if there is none. */
static bool cursor_next_in_skb(struct srnic_cursor *cur)
{
	for (;;) {
		while (cur->frag < skb_shinfo(cur->part)->nr_frags) {
			const skb_frag_t *frag =
				&skb_shinfo(cur->part)->frags[cur->frag++];

			cur->ptr = skb_frag_address(frag);
			cur->left = skb_frag_size(frag);
			if (cur->left)
				return true;
		}
		if (cur->part == cur->skb)
			cur->part = skb_shinfo(cur->skb)->frag_list;
		else
			cur->part = cur->part->next;
		if (!cur->part)
			return false;
		cur->frag = 0;
		cur->ptr = cur->part->data;
		cur->left = skb_headlen(cur->part);
		if (cur->left)
			return true;
	}
}

static void cursor_enter(struct srnic_cursor *cur, struct sk_buff *skb, u32 off)
{
	cur->skb = skb;
	cur->part = skb;
	cur->frag = 0;
	cur->ptr = skb->data;
	cur->left = skb_headlen(skb);
	while (off >= cur->left) {
		off -= cur->left;
		if (!cursor_next_in_skb(cur)) {
			cur->left = 0;
			return;
		}
	}
	cur->ptr += off;
	cur->left -= off;
}

/* The caller expects more bytes. If there are none the cursor is broken. */
void srnic_cursor_refill(struct srnic_cursor *cur)
{
	struct sk_buff *skb = cur->skb;

	if (cur->queue && cur->part && cursor_next_in_skb(cur))
		return;
	while (cur->queue && !cur->left &&
	       !skb_queue_is_last(cur->queue, skb)) {
		u32 off;

		skb = skb_queue_next(cur->queue, skb);
		off = cur->seq_start + cur->pos - TCP_SKB_CB(skb)->seq;
		if (off < skb->len)
			cursor_enter(cur, skb, off);
	}
	cur->broken |= !cur->left;
}

/* cursor_next_in_skb() does not look for a fragment list in a fragment list. */
static bool cursor_is_flat(const struct sk_buff *skb)
{
	const struct sk_buff *part;

	skb_walk_frags(skb, part)
		if (skb_has_frag_list(part))
			return false;
	return true;
}

static bool cursor_is_readable(const struct sk_buff_head *queue)
{
	const struct sk_buff *skb;

	skb_queue_walk(queue, skb)
		if (!skb_frags_readable(skb) || !cursor_is_flat(skb))
			return false;
	return true;
}

/* @pos and @seq_start are set: TCP's next unread byte is at @pos. */
bool srnic_cursor_at(struct srnic_cursor *cur, struct sock *sk)
{
	struct sk_buff *skb;
	u32 off;

	skb = tcp_recv_skb(sk, cur->seq_start + cur->pos, &off);
	if (!skb || !cursor_is_readable(&sk->sk_receive_queue))
		return false;
	cur->broken = false;
	cur->queue = &sk->sk_receive_queue;
	cursor_enter(cur, skb, off);
	return true;
}

void srnic_cursor_at_memory(struct srnic_cursor *cur, const u8 *bytes, u32 len)
{
	cur->queue = NULL;
	cur->part = NULL;
	cur->broken = false;
	cur->ptr = bytes;
	cur->left = len;
}

/* How many of @len bytes stand at @cur->ptr; 0 if the cursor is broken */
static u32 cursor_piece(struct srnic_cursor *cur, u32 len)
{
	if (!cur->left)
		srnic_cursor_refill(cur);
	return min(cur->left, len);
}

u32 srnic_cursor_crc(struct srnic_cursor *cur, u32 crc, u32 len)
{
	while (len) {
		u32 n = cursor_piece(cur, len);

		if (!n)
			break;
		crc = crc32c(crc, cur->ptr, n);
		srnic_cursor_advance(cur, n);
		len -= n;
	}
	return crc;
}

/* @to is NULL: skip the bytes. */
void srnic_cursor_read_raw(struct srnic_cursor *cur, void *to, u32 len)
{
	while (len) {
		u32 n = cursor_piece(cur, len);

		if (!n)
			break;
		if (to) {
			memcpy(to, cur->ptr, n);
			to += n;
		}
		srnic_cursor_advance(cur, n);
		len -= n;
	}
}

/*
 * Skip a Marker, if one is here. Returns how many of @len bytes stand at
 * @cur->ptr before the next Marker; 0 if the cursor is broken.
 */
u32 srnic_cursor_piece(struct srnic_cursor *cur, u32 len)
{
	if (cur->markers) {
		if (!srnic_marker_gap(cur->pos))
			srnic_cursor_skip(cur, SRNIC_MARKER_LEN);
		len = min(len, srnic_marker_gap(cur->pos));
	}
	return cursor_piece(cur, len);
}

void srnic_cursor_read_slow(struct srnic_cursor *cur, void *to, u32 len)
{
	while (len) {
		u32 n = srnic_cursor_piece(cur, len);

		if (!n)
			break;
		memcpy(to, cur->ptr, n);
		srnic_cursor_advance(cur, n);
		to += n;
		len -= n;
	}
}

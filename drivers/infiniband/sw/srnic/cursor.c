// SPDX-License-Identifier: GPL-2.0
/*
 * A cursor is a position at which bytes are read in place, in TCP's receive
 * queue or in a buffer of srnic's own.
 *
 * Cursors walk TCP's queue as tcp_recv_skb() does. An skb may overlap bytes
 * that were read from the skb before it, so the offset in an skb is computed
 * from the skb's sequence number. In the queue, a buffer is the linear part or
 * a page fragment of an skb. Each buffer has a kernel address, since srnic
 * requires a kernel without high memory. No function here consumes bytes,
 * allocates, or changes the queue.
 *
 * srnic_cursor_crc(), srnic_cursor_skip() and functions with "raw" in their
 * name read Markers like other bytes. srnic_cursor_read() and
 * srnic_cursor_piece() leave Markers out.
 */

#include "cursor.h"
#include "wire.h"

#include <linux/crc32c.h>
#include <net/tcp.h>

/* Go to @cur->skb's next buffer that is not empty; false if there is none. */
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

/* Go to the next buffer. If TCP has no more bytes set @cur->broken. */
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

/* cursor_next_in_skb() does not handle a frag_list within a frag_list. */
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

/* The caller has set @seq_start, and @pos to that of TCP's next unread byte. */
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

/* Returns how many of @len bytes are contiguous at @cur->ptr; 0 if broken. */
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

/* Copy @len raw bytes to @to, or skip them if @to is NULL. */
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
 * If a Marker is at the cursor's position, skip it. Returns how many of @len
 * bytes are contiguous at @cur->ptr before the next Marker; 0 if @cur->broken
 * is set, which means that TCP has fewer bytes than it has reported.
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

// SPDX-License-Identifier: GPL-2.0
/*
 * Receive FPDUs from TCP: measure, verify and place them.
 *
 * RX consumes no byte of an FPDU before the whole FPDU is in TCP's queue,
 * except for FPDUs that TCP cannot hold (rx_take_part()). It places nothing of
 * an FPDU before its CRC and its Markers were found good (RFC 5044 6). It reads
 * the bytes in TCP's queue, first for the CRC, then for the payload. At the end
 * of a call it frees the bytes of all FPDUs that the call has handled.
 *
 * The socket's lock protects struct srnic_rx: a softirq holds the spinlock, a
 * process owns the socket. RX does not send: it kicks the sender, which sends
 * Read Responses and Terminate messages.
 */

#include "rx.h"
#include "cursor.h"
#include "fpdu.h"
#include "state.h"
#include "place.h"
#include "wire.h"
#include "tx.h"

#include <linux/crc32c.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/unaligned.h>
#include <net/tcp.h>
#include <asm/byteorder.h>

#define RX_LEN_SIZE	2	/* ULPDU_Length */

static u32 rx_pos(const struct srnic_rx *rx, const struct sock *sk)
{
	return tcp_sk(sk)->copied_seq - rx->seq_start;
}

/* Bytes up to the end of ULPDU_Length, for an FPDU at stream position @pos */
static u32 rx_head(const struct srnic_qp *qp, u32 pos)
{
	return RX_LEN_SIZE +
	       (qp->params.rx_markers && !srnic_marker_gap(pos) ?
		SRNIC_MARKER_LEN : 0);
}

static u16 rx_ulpdu_len(const struct srnic_cursor *cur)
{
	const u8 *at = srnic_cursor_peek(cur, RX_LEN_SIZE);
	struct srnic_cursor ahead;
	__be16 len = 0;

	if (at) {
		u16 flat = get_unaligned_be16(at);

		/* Read the memory once: a peer on this host may change it. */
		OPTIMIZER_HIDE_VAR(flat);
		return flat;
	}
	ahead = *cur;
	srnic_cursor_read(&ahead, &len, sizeof(len));
	return be16_to_cpu(len);
}

/*
 * Returns how many bytes from the cursor must have arrived before RX can go on;
 * @left bytes have arrived. If the next FPDU's ULPDU_Length is not among these:
 * the bytes up to the end of that field. Otherwise all bytes of the FPDU, with
 * its Markers; then @ulpdu_len is set.
 */
static inline u32 rx_measure(const struct srnic_qp *qp,
			     const struct srnic_cursor *cur, u32 left,
			     u16 *ulpdu_len)
{
	u32 head = rx_head(qp, cur->pos), raw;

	if (left < head)
		return head;
	*ulpdu_len = rx_ulpdu_len(cur);
	raw = iw_mpa_fpdu_size(*ulpdu_len);
	if (qp->params.rx_markers)
		raw += SRNIC_MARKER_LEN * srnic_marker_count(cur->pos, raw);
	return raw;
}

/* Check the CRC, unless it is off, and that TCP has all bytes it reported. */
static enum srnic_err rx_verify_pieces(const struct srnic_qp *qp,
				       struct srnic_cursor cur, u32 raw)
{
	__le32 field = 0;
	u32 sum = ~0;

	if (qp->params.crc)
		sum = srnic_cursor_crc(&cur, sum, raw - SRNIC_CRC_LEN);
	else
		srnic_cursor_skip(&cur, raw - SRNIC_CRC_LEN);
	srnic_cursor_read_raw(&cur, &field, sizeof(field));
	if (cur.broken)
		return SRNIC_ERR_UNREADABLE;
	return qp->params.crc && le32_to_cpu(field) != ~sum ? SRNIC_ERR_CRC :
							      SRNIC_ERR_NONE;
}

/* Each Marker must point to the FPDU's first byte (RFC 5044 8, code 3). */
static bool rx_markers_are_good(struct srnic_cursor cur, u32 raw)
{
	u32 start = cur.pos, fpdu_pos = start;
	u8 marker[SRNIC_MARKER_LEN];

	if (!srnic_marker_gap(start))
		fpdu_pos += SRNIC_MARKER_LEN;
	for (;;) {
		u32 gap = srnic_marker_gap(cur.pos);

		if (cur.pos - start + gap >= raw)
			return true;
		srnic_cursor_skip(&cur, gap);
		srnic_cursor_read_raw(&cur, marker, sizeof(marker));
		if (!srnic_marker_is_good(marker, fpdu_pos,
					  cur.pos - sizeof(marker)))
			return false;
	}
}

static noinline_for_stack
enum srnic_err rx_verify_slow(const struct srnic_qp *qp,
			      const struct srnic_cursor *cur, u32 raw)
{
	enum srnic_err err = rx_verify_pieces(qp, *cur, raw);

	if (!err && qp->params.rx_markers && !rx_markers_are_good(*cur, raw))
		err = SRNIC_ERR_MARKER;
	return err;
}

/* Verify the whole FPDU: at @flat, or in pieces from @cur if that is NULL. */
static inline enum srnic_err rx_verify(const struct srnic_qp *qp,
				       const struct srnic_cursor *cur,
				       const u8 *flat, u32 raw)
{
	u32 covered = raw - SRNIC_CRC_LEN;

	if (!flat)
		return rx_verify_slow(qp, cur, raw);
	if (qp->params.crc &&
	    get_unaligned_le32(flat + covered) != ~crc32c(~0, flat, covered))
		return SRNIC_ERR_CRC;
	return SRNIC_ERR_NONE;
}

/*
 * Copy the DDP header, as much of it as the ULPDU has. TCP's queue may have
 * pages of a sending process on this host, which may still change them, so RX
 * checks and uses only the copy.
 */
static noinline void rx_read_hdr(struct srnic_arrival *arr, u16 ulpdu_len)
{
	u16 len = min_t(u16, ulpdu_len, SRNIC_DDP_TAGGED_LEN);
	__be16 skip;

	srnic_cursor_read(arr->cur, &skip, sizeof(skip));
	srnic_cursor_read(arr->cur, arr->hdr, len);
	if (len < SRNIC_DDP_TAGGED_LEN || (arr->hdr[0] & SRNIC_DDP_T))
		return;
	len = min_t(u16, ulpdu_len, SRNIC_DDP_UNTAGGED_LEN) -
	      SRNIC_DDP_TAGGED_LEN;
	srnic_cursor_read(arr->cur, arr->hdr + SRNIC_DDP_TAGGED_LEN, len);
}

static inline enum srnic_err rx_take_hdr(struct srnic_arrival *arr,
					 const u8 *flat, u16 ulpdu_len)
{
	if (flat && ulpdu_len >= SRNIC_DDP_HDR_MAX) {
		memcpy(arr->hdr, flat + RX_LEN_SIZE, SRNIC_DDP_HDR_MAX);
		srnic_cursor_advance(arr->cur, RX_LEN_SIZE +
					       srnic_ddp_hdr_len(arr->hdr[0]));
	} else {
		rx_read_hdr(arr, ulpdu_len);
	}
	return srnic_ddp_parse(arr->hdr, ulpdu_len, &arr->seg);
}

/*
 * Record an error. A responder that has received no good FPDU must not send
 * (RFC 5044 7.1.2), not even a Terminate message: then fault.silent is set. But
 * if TX was opened before, as with iw_mpa's setting "fence" off, the responder
 * may send.
 */
static noinline_for_stack void rx_fail(struct srnic_qp *qp, enum srnic_err err,
				       const struct srnic_arrival *arr,
				       u16 ulpdu_len)
{
	struct srnic_fault fault = {
		.err		= err,
		.silent		= qp->rx.first && !qp->params.initiator &&
				  !srnic_tx_was_opened(READ_ONCE(qp->tx.state)),
		.ulpdu_len	= ulpdu_len,
	};

	if (arr) {
		fault.ddp_len = arr->seg.hdr_len;
		memcpy(fault.hdr, arr->hdr, sizeof(fault.hdr));
	}
	srnic_fault_record(qp, &fault);
}

/*
 * The stream's first FPDU has a good CRC: have iw_mpa open the responder's TX,
 * before RX places the segment, since the responder may have to answer that
 * segment. A Terminate message, valid or not, is no RTR message, and is not
 * answered, so it does not open TX.
 */
static void rx_first(struct srnic_qp *qp, const struct srnic_arrival *arr,
		     enum srnic_err err)
{
	bool is_term = err ? err == SRNIC_ERR_TERM_BAD :
			     arr->seg.op == SRNIC_OP_TERMINATE;

	/* No region is held: no segment of this stream was placed before. */
	if (!qp->params.initiator && !is_term)
		iw_mpa_first_fpdu(qp->ep);
}

/* Count the first FPDU if it is an RTR message; a Read may be of any length. */
static void rx_first_done(struct srnic_qp *qp, const struct srnic_seg *seg,
			  enum srnic_err err)
{
	static const u8 types[SRNIC_OP_COUNT] = {
		[SRNIC_OP_WRITE]	= IW_MPA_RTR_WRITE,
		[SRNIC_OP_READ_REQ]	= IW_MPA_RTR_READ,
		[SRNIC_OP_SEND]		= IW_MPA_RTR_SEND,
	};

	qp->rx.first = false;
	if (!err && (types[seg->op] & qp->rx.rtr) &&
	    seg->len == (seg->op == SRNIC_OP_READ_REQ ? SRNIC_READ_REQ_LEN : 0))
		srnic_count(qp->dev, rx_rtr);
}

/* Handle a whole FPDU; @cur ends after it. False if the stream has failed. */
static bool rx_take(struct srnic_qp *qp, struct srnic_cursor *cur, u32 raw,
		    u16 ulpdu_len, struct srnic_arrival *arr)
{
	const u8 *flat = srnic_cursor_peek(cur, raw);
	u32 end = cur->pos + raw;
	struct srnic_rx *rx = &qp->rx;
	enum srnic_err err;

	arr->run.room = 0;
	srnic_hold_yield(&arr->hold, raw);
	err = rx_verify(qp, cur, flat, raw);
	if (unlikely(err)) {
		srnic_hold_drop(&arr->hold);
		rx_fail(qp, err, NULL, 0);
		return false;
	}
	arr->fpdus++;
	arr->bytes += ulpdu_len;
	arr->cost += max_t(u32, raw, SRNIC_FPDU_COST);
	arr->cur = cur;
	err = rx_take_hdr(arr, flat, ulpdu_len);
	if (unlikely(rx->first))
		rx_first(qp, arr, err);
	if (!err)
		err = srnic_place(qp, arr);
	if (unlikely(arr->up->full) && !err)
		err = SRNIC_ERR_CQ_FULL;
	if (unlikely(rx->first))
		rx_first_done(qp, &arr->seg, err);
	if (unlikely(err)) {
		srnic_hold_drop(&arr->hold);
		rx_fail(qp, err, arr, ulpdu_len);
		return false;
	}
	if (unlikely(!(arr->hdr[1] & SRNIC_RDMAP_RV)))
		srnic_count(qp->dev, rx_rdmap_v0);
	srnic_cursor_skip(cur, end - cur->pos);
	return true;
}

/*
 * Place further FPDUs of the message of which rx_take() has handled an FPDU,
 * and so decided where their payload goes. Each must be contiguous, and is
 * verified before it is placed. An FPDU that does not continue the message is
 * left to rx_take(), which also finds errors.
 *
 * Returns how many bytes were consumed, of @left.
 */
static u32 rx_run(struct srnic_qp *qp, struct srnic_cursor *cur, u32 left,
		  u32 budget, u16 ulpdu_len, struct srnic_arrival *arr)
{
	const u32 raw = iw_mpa_fpdu_size(ulpdu_len);
	const u32 cost = max_t(u32, raw, SRNIC_FPDU_COST);
	const u32 hdr_len = arr->seg.hdr_len, len = ulpdu_len - hdr_len;
	u64 off = arr->seg.to + arr->seg.mo + arr->seg.len;
	struct srnic_hold *hold = &arr->hold;
	struct srnic_run *run = &arr->run;
	u8 head[SRNIC_FPDU_HEAD];
	u32 i, n;

	/* Leave RDMAP version 0, to be counted, and Markers to rx_take(). */
	if (!run->room || arr->cost >= budget || qp->params.rx_markers ||
	    unlikely(!(arr->hdr[1] & SRNIC_RDMAP_RV)))
		return 0;
	put_unaligned_be16(ulpdu_len, head);
	memcpy(head + RX_LEN_SIZE, arr->hdr, SRNIC_DDP_HDR_MAX);
	n = min3(run->room / len, left / raw,
		 (budget - arr->cost - 1) / cost + 1);
	for (i = 0; i < n && srnic_is_flowing(qp); i++) {
		const u8 *flat;

		srnic_cursor_settle(cur);
		flat = srnic_cursor_peek(cur, raw);
		srnic_ddp_put_off(head + RX_LEN_SIZE, off);
		if (!flat || !srnic_fpdu_begins_with(flat, head) ||
		    !srnic_hold_spend(hold, cost) ||
		    rx_verify(qp, cur, flat, raw))
			break;
		srnic_place_bytes(hold, flat + RX_LEN_SIZE + hdr_len, len);
		srnic_cursor_advance(cur, raw);
		off += len;
	}
	if (run->done)
		*run->done += i * len;
	arr->fpdus += i;
	arr->bytes += i * ulpdu_len;
	arr->cost += i * cost;
	return i * raw;
}

/* Size of the incomplete FPDU; of the longest one if its length is unknown */
u32 srnic_rx_part_size(const struct srnic_qp *qp, u32 pos)
{
	u32 size = iw_mpa_fpdu_size(U16_MAX);

	if (qp->rx.need > rx_head(qp, pos))
		return qp->rx.need;
	if (qp->params.rx_markers)
		size += SRNIC_MARKER_LEN * srnic_marker_count(0, size);
	return size;
}

/* A cursor at the bytes in rx->part, whose end is at stream position @end */
static struct srnic_cursor rx_at_part(const struct srnic_qp *qp, u32 end)
{
	struct srnic_cursor at = {
		.markers = qp->params.rx_markers,
		.pos = end - qp->rx.part_len,
	};

	srnic_cursor_at_memory(&at, qp->rx.part, qp->rx.part_len);
	return at;
}

/*
 * Collect in rx->part an FPDU for which TCP's receive buffer is too small:
 * first up to ULPDU_Length, then the rest. Handle it when it is complete.
 * Returns false if the stream has failed.
 */
static bool rx_take_part(struct srnic_qp *qp, struct srnic_cursor *cur,
			 u32 left, u32 *used, struct srnic_arrival *arr)
{
	struct srnic_rx *rx = &qp->rx;
	struct srnic_cursor at = rx_at_part(qp, cur->pos);
	u16 ulpdu_len;
	u32 n, size;
	bool good;

	size = rx_measure(qp, &at, rx->part_len, &ulpdu_len);
	/* A peer on this host may have changed ULPDU_Length since. */
	if (size > rx->part_size) {
		rx_fail(qp, SRNIC_ERR_UNREADABLE, NULL, 0);
		return false;
	}
	n = min(left, size - rx->part_len);
	srnic_cursor_read_raw(cur, rx->part + rx->part_len, n);
	if (cur->broken) {
		rx_fail(qp, SRNIC_ERR_UNREADABLE, NULL, 0);
		return false;
	}
	rx->part_len += n;
	*used += n;
	at = rx_at_part(qp, cur->pos);
	size = rx_measure(qp, &at, rx->part_len, &ulpdu_len);
	if (rx->part_len < size)
		return true;
	good = rx_take(qp, &at, size, ulpdu_len, arr);
	srnic_hold_drop(&arr->hold);
	srnic_count(qp->dev, rx_copied_out);
	kvfree(rx->part);
	rx->part = NULL;
	rx->part_size = 0;
	return good;
}

/*
 * Handle the bytes that TCP has. Returns how many were consumed: all, if the
 * stream has failed or was aborted, since later bytes are dropped.
 */
u32 srnic_rx_take(struct srnic_qp *qp, struct srnic_cursor *cur, u32 avail,
		  u32 budget, struct srnic_upcalls *up)
{
	struct srnic_arrival arr = { .up = up };
	struct srnic_rx *rx = &qp->rx;
	u32 used = 0;

	rx->need = 0;
	if (!rx->part)
		rx->part_size = 0;
	while (used < avail && arr.cost < budget) {
		u16 ulpdu_len;
		u32 raw;
		bool good;

		if (unlikely(rx->part)) {
			good = rx_take_part(qp, cur, avail - used, &used, &arr);
		} else {
			srnic_cursor_settle(cur);
			raw = rx_measure(qp, cur, avail - used, &ulpdu_len);
			if (raw > avail - used) {
				rx->need = raw;
				break;
			}
			used += raw;
			good = rx_take(qp, cur, raw, ulpdu_len, &arr);
			used += rx_run(qp, cur, avail - used, budget, ulpdu_len,
				       &arr);
		}
		/* The stream has failed, or the ULP has aborted it. */
		if (!good || !srnic_is_flowing(qp)) {
			used = avail;
			break;
		}
	}
	srnic_hold_drop(&arr.hold);
	srnic_count_n(qp->dev, rx_fpdus, arr.fpdus);
	srnic_count_n(qp->dev, rx_octets, arr.bytes);
	return used;
}

/* True if TCP's window may close within the FPDU, as when memory is short. */
static bool rx_is_stuck(const struct sock *sk)
{
	return tcp_epollin_ready(sk, INT_MAX);
}

/* Queue RX's work item, or run it earlier if it is to retry for memory. */
static void rx_defer(struct srnic_qp *qp)
{
	mod_delayed_work(srnic_qp_wq(qp), &qp->rx.work, 0);
}

/*
 * Queue RX's work item, which allocates a buffer for an FPDU that TCP cannot
 * hold. If the host or the cgroup lacks memory, rx_is_stuck() is true for any
 * incomplete FPDU. Nearly always the rest of it arrives within SRNIC_RETRY_MS,
 * and a buffer for each such FPDU would use up memory, so while memory is short
 * the work item runs only after that time.
 */
static void rx_defer_part(struct srnic_qp *qp, const struct sock *sk)
{
	if (!tcp_under_memory_pressure(sk)) {
		rx_defer(qp);
		return;
	}
	queue_delayed_work(srnic_qp_wq(qp), &qp->rx.work,
			   msecs_to_jiffies(SRNIC_RETRY_MS));
}

/* Drop all bytes in TCP's queue; tcp_inq() would stop at urgent data. */
static void rx_drop_all(struct srnic_qp *qp, struct sock *sk)
{
	u32 avail = tcp_sk(sk)->rcv_nxt - tcp_sk(sk)->copied_seq;

	/* In rcv_nxt TCP counts the FIN as a byte. */
	if (avail && sock_flag(sk, SOCK_DONE))
		avail--;
	if (avail)
		tcp_read_done(sk, avail);
}

static void rx_finish(struct srnic_qp *qp, struct srnic_upcalls *up)
{
	srnic_cq_call(up);
	if (up->kick || srnic_has_failed(qp))
		srnic_tx_kick(qp);
}

/* Fail the stream, and drop TCP's bytes, so that the peer's FIN can arrive. */
static void rx_refuse(struct srnic_qp *qp, struct sock *sk, enum srnic_err err)
{
	rx_fail(qp, err, NULL, 0);
	rx_drop_all(qp, sk);
	srnic_tx_kick(qp);
}

void srnic_rx_run(struct srnic_qp *qp, struct sock *sk, u32 budget)
{
	struct srnic_rx *rx = &qp->rx;
	struct srnic_upcalls up = {};
	struct srnic_cursor cur = {};
	u32 avail, used;

	/* After a modify to ERR nothing is placed or completed any more. */
	if (!srnic_is_flowing(qp)) {
		rx_drop_all(qp, sk);
		return;
	}
	if (unlikely(tcp_sk(sk)->urg_data)) {
		rx_refuse(qp, sk, SRNIC_ERR_URGENT);
		return;
	}
	avail = max(tcp_inq(sk), 0);
	if (!avail || (avail < rx->need && !rx_is_stuck(sk)))
		return;
	cur.markers = qp->params.rx_markers;
	cur.pos = rx_pos(rx, sk);
	cur.seq_start = rx->seq_start;
	if (!srnic_cursor_at(&cur, sk)) {
		rx_refuse(qp, sk, SRNIC_ERR_UNREADABLE);
		return;
	}
	used = srnic_rx_take(qp, &cur, avail, budget, &up);
	if (used)
		tcp_read_done(sk, used);
	rx_finish(qp, &up);
	/* sk_data_ready follows for an incomplete FPDU, not for whole ones. */
	if (used < avail && !rx->need) {
		srnic_count(qp->dev, rx_deferred);
		rx_defer(qp);
	} else if (rx->need && !rx->part && rx_is_stuck(sk)) {
		rx->part_size = srnic_rx_part_size(qp, rx_pos(rx, sk));
		rx_defer_part(qp, sk);
	}
}

/*
 * Returns true if the sender must be woken for the peer's FIN: if the sender is
 * to send a Terminate message, or waits for answers to Reads before this end's
 * FIN. A sender that begins to finish later (finish_tx) reads rx.ended: iw_mpa
 * does not call kick_rx and finish_tx at the same time.
 */
static bool rx_end_is_awaited(const struct srnic_qp *qp)
{
	return srnic_has_failed(qp) ||
	       srnic_tx_is_finishing(READ_ONCE(qp->tx.state));
}

/*
 * The op kick_rx. It has no limit of bytes per call: all bytes before the
 * peer's FIN must be handled before iw_mpa acts on the FIN. If the stream ends
 * within an FPDU, that is an error (RFC 5044 8, MPA error code 1).
 */
void srnic_rx_look(struct ib_qp *ibqp)
{
	struct srnic_qp *qp = to_srnic_qp(ibqp);
	struct sock *sk = qp->rx.sk;
	struct srnic_rx *rx = &qp->rx;

	if (skb_queue_empty_lockless(&sk->sk_receive_queue) &&
	    !(READ_ONCE(sk->sk_shutdown) & RCV_SHUTDOWN))
		return;
	lock_sock(sk);
	srnic_rx_run(qp, sk, U32_MAX);
	if ((sk->sk_shutdown & RCV_SHUTDOWN) && !rx->ended) {
		if (srnic_is_flowing(qp) && (rx->part || tcp_inq(sk) > 0))
			srnic_fail(qp, SRNIC_ERR_STREAM);
		/* Pairs with tx_build(): answered Reads completed before. */
		smp_store_release(&rx->ended, true);
		if (rx_end_is_awaited(qp))
			srnic_tx_kick(qp);
	}
	release_sock(sk);
}

/*
 * Allocate a buffer for an FPDU that TCP cannot hold, without the socket's
 * lock. __GFP_NORETRY, since a long allocation in this work item would delay
 * work items of other QPs.
 */
static void *rx_alloc_part(struct srnic_qp *qp, struct sock *sk, u32 *size)
{
	unsigned int noio;
	void *part;

	lock_sock(sk);
	*size = qp->rx.part ? 0 : qp->rx.part_size;
	release_sock(sk);
	if (!*size)
		return NULL;
	noio = memalloc_noio_save();
	part = kvmalloc(*size, GFP_KERNEL | __GFP_NORETRY | __GFP_NOWARN);
	memalloc_noio_restore(noio);
	return part;
}

static void srnic_rx_work(struct work_struct *work)
{
	struct srnic_qp *qp = container_of(to_delayed_work(work),
					   struct srnic_qp, rx.work);
	struct sock *sk = qp->rx.sk;
	struct srnic_rx *rx = &qp->rx;
	void *part;
	u32 size;

	part = rx_alloc_part(qp, sk, &size);
	if (size && !part) {
		srnic_count(qp->dev, rx_no_memory);
		queue_delayed_work(srnic_qp_wq(qp), &rx->work,
				   msecs_to_jiffies(SRNIC_RETRY_MS));
		return;
	}
	lock_sock(sk);
	if (part && !rx->part && rx->part_size == size) {
		rx->part = part;
		rx->part_len = 0;
		part = NULL;
	}
	srnic_rx_run(qp, sk, SRNIC_RX_BUDGET);
	release_sock(sk);
	kvfree(part);
}

void srnic_rx_setup(struct srnic_qp *qp)
{
	INIT_DELAYED_WORK(&qp->rx.work, srnic_rx_work);
}

void srnic_rx_start(struct srnic_qp *qp, const struct iw_mpa_handoff *ho)
{
	struct srnic_rx *rx = &qp->rx;
	int qn;

	rx->sk = ho->sock->sk;
	rx->first = true;
	rx->ended = false;
	rx->rtr = qp->params.initiator ? 0 : qp->params.rtr;
	rx->need = 0;
	rx->seq_start = ho->rcv_nxt;
	for (qn = 0; qn < SRNIC_QN_COUNT; qn++)
		rx->msn[qn] = 1;
	rx->send_busy = false;
	rx->write_busy = false;
	rx->read = NULL;
	rx->read_len = 0;
}

/* Returns true if the stream ends within an FPDU, or within a message. */
bool srnic_rx_is_cut(const struct srnic_qp *qp)
{
	const struct srnic_rx *rx = &qp->rx;

	return rx->part || rx->send_busy || rx->write_busy || rx->read ||
	       tcp_inq(rx->sk) > 0;
}

void srnic_rx_stop(struct srnic_qp *qp)
{
	kvfree(qp->rx.part);
	qp->rx.part = NULL;
	qp->rx.part_size = 0;
}

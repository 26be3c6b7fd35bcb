// SPDX-License-Identifier: GPL-2.0
/*
 * srnic's layer R0 (DDP and RDMAP headers), without I/O, locks or allocations, under libFuzzer,
 * with any bytes as a ULPDU. For each ULPDU:
 * - a header that is accepted is written again as it was, except for reserved bits;
 * - a Terminate message about the ULPDU can be made, has one of four sizes, and can be read again;
 * - a range that is accepted lies within its region;
 * - Markers are where RFC 5044 4.3 has them, and each points to its FPDU.
 * The sanitizers find other errors.
 *
 * Input: bytes 0..3 numbers for ranges and positions, 4..5 ULPDU_Length, then the ULPDU.
 */

#include "wire.h"
#include "term.h"

#include <stdlib.h>

#define FUZZ_HEAD	6

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

static void must(bool cond)
{
	if (!cond)
		abort();
}

static void check_again(const u8 *ulpdu, const struct srnic_seg *seg)
{
	u8 hdr[SRNIC_DDP_HDR_MAX], want[SRNIC_DDP_HDR_MAX];

	memcpy(want, ulpdu, seg->hdr_len);
	want[0] &= SRNIC_DDP_T | SRNIC_DDP_L | SRNIC_DDP_DV;
	want[1] = SRNIC_RDMAP_VERSION | (want[1] & SRNIC_RDMAP_OPCODE);
	if (seg->tagged)
		srnic_ddp_put_tagged(hdr, seg->op, seg->last, seg->stag, seg->to);
	else
		srnic_ddp_put_untagged(hdr, seg->op, seg->last, seg->stag, seg->msn, seg->mo);
	must(!memcmp(hdr, want, seg->hdr_len));
}

static void check_term(const u8 *ulpdu, u16 len, const struct srnic_seg *seg, enum srnic_err err)
{
	struct srnic_fault fault = { .err = err, .ulpdu_len = len, .ddp_len = seg->hdr_len };
	u8 payload[SRNIC_TERM_MAX];
	struct srnic_term term;
	size_t size;

	if (srnic_errs[err].form == SRNIC_TERM_SILENT)
		return;
	memcpy(fault.hdr, ulpdu, seg->hdr_len);
	size = srnic_term_build(&fault, payload);
	must(size == 4 || size == 20 || size == 24 || size == 52);
	must(srnic_term_parse(payload, size, &term));
	must(!term.ddp || (term.ddp_len == seg->hdr_len &&
			   !memcmp(term.ddp, ulpdu, term.ddp_len)));
	must(!!term.ddp == !!(term.hdrct & SRNIC_TERM_D));
}

static void check_read(const u8 *ulpdu, const struct srnic_seg *seg)
{
	u8 wire[SRNIC_READ_REQ_LEN];
	struct srnic_read read;

	if (seg->op != SRNIC_OP_READ_REQ || srnic_read_check(seg))
		return;
	srnic_read_get(ulpdu + seg->hdr_len, &read);
	srnic_read_put(wire, &read);
	must(!memcmp(wire, ulpdu + seg->hdr_len, sizeof(wire)));
}

static void check_range(const u8 *head, const struct srnic_seg *seg)
{
	u64 base = (u64)head[0] << 56 | head[1], size = (u64)head[2] << 32 | head[3];
	unsigned __int128 end = (unsigned __int128)seg->to + seg->len;

	if (seg->len && srnic_range_check(base, size, seg->to, seg->len) == SRNIC_MEM_OK)
		must(seg->to >= base && end <= (unsigned __int128)base + size);
}

static void check_markers(u32 pos, u16 ulpdu_len)
{
	u32 len = ((2 + (u32)ulpdu_len + 3) & ~3u) + 4, left = len, seen = 0;
	u32 fpdu = srnic_marker_gap(pos) ? pos : pos + SRNIC_MARKER_LEN, at = pos;

	while (left) {
		u32 gap = srnic_marker_gap(at);
		u8 marker[SRNIC_MARKER_LEN];

		if (!gap) {
			srnic_marker_put(marker, fpdu, at);
			must(srnic_marker_is_good(marker, fpdu, at));
			must(!srnic_marker_is_good(marker, fpdu + 4, at));
			at += SRNIC_MARKER_LEN;
			seen++;
			gap = SRNIC_MARKER_STEP - SRNIC_MARKER_LEN;
		}
		gap = min(gap, left);
		at += gap;
		left -= gap;
	}
	must(seen == srnic_marker_count(pos, len));
	must(at - pos == len + seen * SRNIC_MARKER_LEN);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	const u8 *ulpdu = data + FUZZ_HEAD;
	struct srnic_seg seg;
	struct srnic_term term;
	enum srnic_err err;
	u32 emss;
	u16 len;

	if (size < FUZZ_HEAD)
		return 0;
	size -= FUZZ_HEAD;
	len = data[4] << 8 | data[5];
	check_markers(((u32)data[0] << 24 | data[1] << 8 | data[2]) & ~3u, len);
	emss = (u32)data[1] << 16 | data[2] << 8 | data[3];
	must(srnic_mulpdu(emss, true) <= srnic_mulpdu(emss, false));
	must(srnic_mulpdu(emss, true) >= SRNIC_MULPDU_MIN);

	len = min(len, size);
	err = srnic_ddp_parse(ulpdu, len, &seg);
	check_term(ulpdu, len, &seg, err);
	srnic_term_parse(ulpdu, len, &term);
	if (err)
		return 0;
	check_again(ulpdu, &seg);
	check_read(ulpdu, &seg);
	check_range(data, &seg);
	return 0;
}

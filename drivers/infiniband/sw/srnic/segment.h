/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How large segments are, and where Markers stand (RFC 5044 4.3, 4.5). Pure.
 *
 * Positions count octets of the TCP stream from SeqStart, the first octet of Full
 * Operation in that direction, Markers included. A Marker stands at each multiple of
 * 512. Only the position modulo 512 counts, so it may wrap at 2^32.
 */
#ifndef _SRNIC_SEGMENT_H
#define _SRNIC_SEGMENT_H

#include <linux/types.h>

#define SRNIC_MARKER_LEN	4
#define SRNIC_MARKER_STEP	512
#define SRNIC_MULPDU_MIN	128
#define SRNIC_MULPDU_MAX	64768
#define SRNIC_FPDU_OVERHEAD	6	/* ULPDU_Length and CRC */

u16 srnic_mulpdu(u32 emss, bool markers);
u32 srnic_segment_len(u32 left, u16 mulpdu, u8 hdr_len);

/**
 * srnic_marker_gap - octets until the next Marker
 * @pos: position
 *
 * Return: 0..511; 0 if a Marker stands at @pos.
 */
static inline u32 srnic_marker_gap(u32 pos)
{
	return -pos % SRNIC_MARKER_STEP;
}

u32 srnic_marker_count(u32 pos, u32 len);
void srnic_marker_put(u8 marker[SRNIC_MARKER_LEN], u32 fpdu_pos, u32 marker_pos);
bool srnic_marker_is_good(const u8 marker[SRNIC_MARKER_LEN], u32 fpdu_pos, u32 marker_pos);

#endif /* _SRNIC_SEGMENT_H */

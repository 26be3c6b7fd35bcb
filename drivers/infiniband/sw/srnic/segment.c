// SPDX-License-Identifier: GPL-2.0
/* Sizes of segments, places and contents of Markers. Pure. */

#include "segment.h"

#include <linux/minmax.h>

/* What is between two Markers */
#define MARKER_DATA	(SRNIC_MARKER_STEP - SRNIC_MARKER_LEN)

/**
 * srnic_mulpdu - the largest ULPDU that fits a TCP segment
 * @emss: effective maximum segment size of TCP, in octets
 * @markers: Markers are inserted
 *
 * The segment also has room for length, CRC and Markers, and the FPDU needs no padding (RFC 5044
 * 4.5). The result is never below 128, whatever TCP says, and never above 64768.
 *
 * Return: MULPDU in octets.
 */
u16 srnic_mulpdu(u32 emss, bool markers)
{
	u32 overhead = SRNIC_FPDU_OVERHEAD + emss % 4;

	if (markers)
		overhead += SRNIC_MARKER_LEN *
			    ((emss + SRNIC_MARKER_STEP - 1) / SRNIC_MARKER_STEP);
	if (emss < SRNIC_MULPDU_MIN + overhead)
		return SRNIC_MULPDU_MIN;
	return min_t(u32, emss - overhead, SRNIC_MULPDU_MAX);
}

/**
 * srnic_segment_len - payload of a message's next segment
 * @left: octets of the message that are still to go
 * @mulpdu: largest ULPDU
 * @hdr_len: octets of the DDP header
 *
 * Return: octets of payload; the segment is the last one if that is all of @left.
 */
u32 srnic_segment_len(u32 left, u16 mulpdu, u8 hdr_len)
{
	return min_t(u32, left, mulpdu - hdr_len);
}

/**
 * srnic_marker_count - Markers in an FPDU
 * @pos: position where the FPDU begins, or the Marker directly in front of it, which belongs to it
 * @len: octets of the FPDU without Markers, > 0
 *
 * A Marker directly behind the FPDU belongs to the next FPDU.
 *
 * Return: how many.
 */
u32 srnic_marker_count(u32 pos, u32 len)
{
	u32 gap = srnic_marker_gap(pos);

	if (len <= gap)
		return 0;
	return (len - gap + MARKER_DATA - 1) / MARKER_DATA;
}

/* FPDUPTR: from ULPDU_Length to the Marker; 0 if the Marker comes first */
static u16 marker_ptr(u32 fpdu_pos, u32 marker_pos)
{
	return marker_pos + SRNIC_MARKER_LEN == fpdu_pos ? 0 : marker_pos - fpdu_pos;
}

/**
 * srnic_marker_put - write a Marker
 * @marker: room for it
 * @fpdu_pos: position of the FPDU's ULPDU_Length
 * @marker_pos: position of the Marker
 */
void srnic_marker_put(u8 marker[SRNIC_MARKER_LEN], u32 fpdu_pos, u32 marker_pos)
{
	u16 ptr = marker_ptr(fpdu_pos, marker_pos);

	marker[0] = 0;
	marker[1] = 0;
	marker[2] = ptr >> 8;
	marker[3] = ptr;
}

/**
 * srnic_marker_is_good - does a Marker point to the FPDU that it is in?
 * @marker: the Marker
 * @fpdu_pos: position of the FPDU's ULPDU_Length
 * @marker_pos: position of the Marker
 *
 * RFC 5044 4.2: the upper half is reserved and not looked at, and the two low bits of
 * FPDUPTR count as 0.
 *
 * Return: true if so.
 */
bool srnic_marker_is_good(const u8 marker[SRNIC_MARKER_LEN], u32 fpdu_pos, u32 marker_pos)
{
	u16 ptr = marker[2] << 8 | (marker[3] & ~3);

	return ptr == marker_ptr(fpdu_pos, marker_pos);
}

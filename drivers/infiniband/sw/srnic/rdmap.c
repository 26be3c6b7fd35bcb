// SPDX-License-Identifier: GPL-2.0
/* Read Requests: checked, read, written. Pure. */

#include "rdmap.h"

#include <linux/build_bug.h>
#include <linux/string.h>
#include <asm/byteorder.h>

/**
 * srnic_read_get - read the RDMAP header of a Read Request
 * @wire: its octets
 * @read: result
 */
void srnic_read_get(const u8 wire[SRNIC_READ_REQ_LEN], struct srnic_read *read)
{
	struct srnic_read_wire hdr;

	BUILD_BUG_ON(sizeof(hdr) != SRNIC_READ_REQ_LEN);
	memcpy(&hdr, wire, sizeof(hdr));
	*read = (struct srnic_read) {
		.sink_stag	= be32_to_cpu(hdr.sink_stag),
		.sink_to	= be64_to_cpu(hdr.sink_to),
		.size		= be32_to_cpu(hdr.size),
		.src_stag	= be32_to_cpu(hdr.src_stag),
		.src_to		= be64_to_cpu(hdr.src_to),
	};
}

/**
 * srnic_read_put - write the RDMAP header of a Read Request
 * @wire: room for it
 * @read: what it says
 */
void srnic_read_put(u8 wire[SRNIC_READ_REQ_LEN], const struct srnic_read *read)
{
	const struct srnic_read_wire hdr = {
		.sink_stag	= cpu_to_be32(read->sink_stag),
		.sink_to	= cpu_to_be64(read->sink_to),
		.size		= cpu_to_be32(read->size),
		.src_stag	= cpu_to_be32(read->src_stag),
		.src_to		= cpu_to_be64(read->src_to),
	};

	memcpy(wire, &hdr, sizeof(hdr));
}

/**
 * srnic_read_advance - note how much of a Read is left
 * @read: the request; both offsets go ahead, the size shrinks
 * @done: octets that are done, at most the size
 *
 * If a response was sent in part, a Terminate message about it has these values (RFC 5040 4.8).
 */
void srnic_read_advance(struct srnic_read *read, u32 done)
{
	read->sink_to += done;
	read->src_to += done;
	read->size -= done;
}

/**
 * srnic_read_check - is a Read Request in one piece?
 * @seg: its segment, whose MSN was expected and has a free slot
 *
 * Return: SRNIC_ERR_NONE, or the first error in the order offset, length, form.
 */
enum srnic_err srnic_read_check(const struct srnic_seg *seg)
{
	if (seg->mo)
		return SRNIC_ERR_MO;
	if (seg->len > SRNIC_READ_REQ_LEN)
		return SRNIC_ERR_TOO_LONG;
	if (seg->len < SRNIC_READ_REQ_LEN || !seg->last)
		return SRNIC_ERR_READ_FORM;
	return SRNIC_ERR_NONE;
}

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Read Requests, and which opcodes mean what (RFC 5040 4.4, 5). Pure.
 */
#ifndef _SRNIC_RDMAP_H
#define _SRNIC_RDMAP_H

#include "ddp.h"

#define SRNIC_READ_REQ_LEN	28
#define SRNIC_READ_ULPDU	(SRNIC_DDP_UNTAGGED_LEN + SRNIC_READ_REQ_LEN)

/**
 * struct srnic_read_wire - RDMAP header of a Read Request on the wire
 * @sink_stag: STag that the response goes to
 * @sink_to: tagged offset that the response goes to
 * @size: octets to read
 * @src_stag: STag to read from
 * @src_to: tagged offset to read from
 */
struct srnic_read_wire {
	__be32	sink_stag;
	__be64	sink_to;
	__be32	size;
	__be32	src_stag;
	__be64	src_to;
} __packed;

/**
 * struct srnic_read - a Read Request in host order
 * @sink_stag: STag that the response goes to; not interpreted at the source
 * @sink_to: tagged offset that the response goes to; likewise
 * @size: octets to read, 0..2^32-1
 * @src_stag: STag to read from
 * @src_to: tagged offset to read from
 */
struct srnic_read {
	u32	sink_stag;
	u32	size;
	u64	sink_to;
	u64	src_to;
	u32	src_stag;
};

void srnic_read_get(const u8 wire[SRNIC_READ_REQ_LEN], struct srnic_read *read);
void srnic_read_put(u8 wire[SRNIC_READ_REQ_LEN], const struct srnic_read *read);
void srnic_read_advance(struct srnic_read *read, u32 done);
enum srnic_err srnic_read_check(const struct srnic_seg *seg);

/**
 * srnic_op_is_send - is an opcode one of the four Sends?
 * @op: enum srnic_opcode
 *
 * Return: true if so.
 */
static inline bool srnic_op_is_send(u8 op)
{
	return op >= SRNIC_OP_SEND && op <= SRNIC_OP_SEND_SE_INV;
}

/**
 * srnic_op_has_inv - does an opcode invalidate an STag?
 * @op: enum srnic_opcode
 *
 * Return: true if so.
 */
static inline bool srnic_op_has_inv(u8 op)
{
	return op == SRNIC_OP_SEND_INV || op == SRNIC_OP_SEND_SE_INV;
}

/**
 * srnic_op_has_se - does an opcode ask for a solicited event?
 * @op: enum srnic_opcode
 *
 * Return: true if so.
 */
static inline bool srnic_op_has_se(u8 op)
{
	return op == SRNIC_OP_SEND_SE || op == SRNIC_OP_SEND_SE_INV;
}

/**
 * srnic_op_of_send - the opcode of a Send
 * @solicited: with solicited event
 * @inv: with invalidate
 *
 * Return: enum srnic_opcode.
 */
static inline enum srnic_opcode srnic_op_of_send(bool solicited, bool inv)
{
	return SRNIC_OP_SEND + (solicited ? 2 : 0) + (inv ? 1 : 0);
}

#endif /* _SRNIC_RDMAP_H */

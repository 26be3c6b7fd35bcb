/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SRNIC_PLACE_H
#define _SRNIC_PLACE_H

#include "cq.h"
#include "cursor.h"
#include "mem.h"
#include "srnic.h"

/*
 * A run of segments of one message. A segment continues the run if its header
 * is that of the segment before, except for the offset, which must be where
 * that segment ends. If such a segment has at most @room bytes of payload, and
 * the memory region is still held (struct srnic_hold), only its CRC has to be
 * checked.
 */
struct srnic_run {
	u32	room;	/* 0: there is no run */
	u32	*done;	/* bytes of the message placed so far; or NULL */
};

/* The DDP segment that RX handles, and the state of this call of RX */
struct srnic_arrival {
	struct srnic_seg	seg;
	struct srnic_cursor	*cur;	/* at payload not read yet */
	/* DDP header as received; a Read Request's RDMAP header follows */
	u8			hdr[SRNIC_READ_ULPDU];
	struct srnic_upcalls	*up;
	struct srnic_run	run;
	/* Sums over the segments of this call of RX: */
	u32			fpdus;
	u32			bytes;	/* of ULPDUs */
	u32			cost;	/* time, in bytes */
	struct srnic_hold	hold;	/* dropped by caller on error */
};

void srnic_place_bytes(struct srnic_hold *hold, const u8 *from, u32 len);
enum srnic_err srnic_place(struct srnic_qp *qp, struct srnic_arrival *arr);
void srnic_place_flush(struct srnic_qp *qp, struct srnic_upcalls *up);

#endif /* _SRNIC_PLACE_H */

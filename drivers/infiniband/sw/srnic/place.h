/* SPDX-License-Identifier: GPL-2.0 */
/* One segment that was found good: placed, delivered, answered. */
#ifndef _SRNIC_PLACE_H
#define _SRNIC_PLACE_H

#include "cq.h"
#include "cursor.h"
#include "mem.h"
#include "srnic.h"

/*
 * struct srnic_run - how a message goes on
 *
 * The next segment is one of the run if its header is that of the segment before, but for the
 * offset, which follows that segment's bytes. Nothing else of it has to be looked at, as long as it
 * has at most @room bytes, and the hold that the segment before had goes on.
 */
struct srnic_run {
	u32	room;	/* 0: there is no run */
	u32	*done;	/* counts the bytes of the message; NULL if nobody does */
};

/**
 * struct srnic_arrival - a segment that has come, and what a call of RX knows
 * @seg: its header
 * @cur: stands at its payload, and after what was read of that
 * @hdr: DDP header as received; a Read Request's own header is put behind it
 * @up: what is to be done when no lock is held
 * @run: how its message goes on
 * @fpdus: how many have come in this call
 * @bytes: their ULPDUs
 * @cost: their time, in bytes
 * @hold: the region that was accessed last; the caller of srnic_place() drops it after an error
 */
struct srnic_arrival {
	struct srnic_seg	seg;
	struct srnic_cursor	*cur;
	u8			hdr[SRNIC_READ_ULPDU];
	struct srnic_upcalls	*up;
	struct srnic_run	run;
	u32			fpdus;
	u32			bytes;
	u32			cost;
	struct srnic_hold	hold;
};

void srnic_place_bytes(struct srnic_hold *hold, const u8 *from, u32 len);
enum srnic_err srnic_place(struct srnic_qp *qp, struct srnic_arrival *arr);
void srnic_place_flush(struct srnic_qp *qp, struct srnic_upcalls *up);

#endif /* _SRNIC_PLACE_H */

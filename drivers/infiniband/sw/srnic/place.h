/* SPDX-License-Identifier: GPL-2.0 */
/* One segment that was found good: placed, delivered, answered. */
#ifndef _SRNIC_PLACE_H
#define _SRNIC_PLACE_H

#include "cq.h"
#include "cursor.h"
#include "mem.h"
#include "srnic.h"

/**
 * struct srnic_arrival - a segment that has come
 * @seg: its header
 * @cur: stands at its payload, and after what was read of that
 * @hdr: DDP header as received; a Read Request's own header is put behind it
 * @up: what is to be done when no lock is held
 * @fpdus: how many have come in this call
 * @bytes: their ULPDUs
 * @hold: the region that was accessed last; none after srnic_place() has returned an error
 */
struct srnic_arrival {
	struct srnic_seg	seg;
	struct srnic_cursor	*cur;
	u8			hdr[SRNIC_READ_ULPDU];
	struct srnic_upcalls	*up;
	u32			fpdus;
	u32			bytes;
	struct srnic_hold	hold;
};

enum srnic_err srnic_place(struct srnic_qp *qp, struct srnic_arrival *arr);
void srnic_place_flush(struct srnic_qp *qp, struct srnic_upcalls *up);

#endif /* _SRNIC_PLACE_H */

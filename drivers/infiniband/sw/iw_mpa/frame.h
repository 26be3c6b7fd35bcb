/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IW_MPA_FRAME_H
#define _IW_MPA_FRAME_H

#include <rdma/iw_mpa_proto.h>

enum iw_mpa_reason iw_mpa_reader_filled(struct iw_mpa_reader *rd, size_t n);
void iw_mpa_frame_decode_head(const void *buf, bool reply,
			      struct iw_mpa_frame *frame);

/*
 * RFC 6581 data (IRD, ORD, RTR flags), in MPA frames and SCTP session messages.
 * @pd: IW_MPA_ENHANCED_SIZE bytes, of any alignment. Decoding sets bits in
 * @frame->rtr, and clears none: so @frame->rtr has to be 0 before.
 */
void iw_mpa_enhanced_decode(const u8 *pd, struct iw_mpa_frame *frame);
void iw_mpa_enhanced_encode(const struct iw_mpa_frame *frame, u8 *pd);

#endif /* _IW_MPA_FRAME_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IW_MPA_NEGOTIATE_H
#define _IW_MPA_NEGOTIATE_H

#include <rdma/iw_mpa_proto.h>

/* Features that an initiator may ask for and not get, as sets */
#define IW_MPA_LOST_P2P		BIT(0)	/* the peer-to-peer model */
#define IW_MPA_LOST_DEPTHS	BIT(1)	/* IRD and ORD, agreed by both ends */
#define IW_MPA_LOST_ALL		(IW_MPA_LOST_P2P | IW_MPA_LOST_DEPTHS)

u8 iw_mpa_lost(const struct iw_mpa_frame *req,
	       const struct iw_mpa_params *params);

#endif /* _IW_MPA_NEGOTIATE_H */

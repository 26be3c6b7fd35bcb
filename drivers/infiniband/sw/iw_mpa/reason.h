/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IW_MPA_REASON_H
#define _IW_MPA_REASON_H

#include <rdma/iw_mpa_proto.h>

const char *iw_mpa_reason_name(enum iw_mpa_reason reason);
const char *iw_mpa_reason_text(enum iw_mpa_reason reason);

#endif /* _IW_MPA_REASON_H */

/* SPDX-License-Identifier: GPL-2.0 */
/* srnic's half of iw_mpa's contract. */
#ifndef _SRNIC_HANDOFF_H
#define _SRNIC_HANDOFF_H

#include <rdma/iw_mpa.h>

extern const struct iw_mpa_driver_ops srnic_driver_ops;
extern const struct iw_mpa_device_attr srnic_device_attr;

#endif /* _SRNIC_HANDOFF_H */

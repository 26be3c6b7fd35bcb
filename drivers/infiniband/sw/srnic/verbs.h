/* SPDX-License-Identifier: GPL-2.0 */
/* The table of verbs. */
#ifndef _SRNIC_VERBS_H
#define _SRNIC_VERBS_H

struct ib_device_ops;

extern const struct ib_device_ops srnic_verbs;

#endif /* _SRNIC_VERBS_H */

/* SPDX-License-Identifier: GPL-2.0 */
/* The table of verbs. */
#ifndef _SRNIC_VERBS_H
#define _SRNIC_VERBS_H

struct ib_cq;
struct ib_cq_init_attr;
struct ib_device_ops;
struct uverbs_attr_bundle;

extern const struct ib_device_ops srnic_verbs;

int srnic_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		    struct uverbs_attr_bundle *attrs);

#endif /* _SRNIC_VERBS_H */

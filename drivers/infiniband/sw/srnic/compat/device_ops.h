/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SRNIC_COMPAT_DEVICE_OPS_H
#define _SRNIC_COMPAT_DEVICE_OPS_H

#include "../cq.h"
#include "../mem.h"

#include <rdma/uverbs_ioctl.h>

/*
 * The verbs are written for the newest kernel. If older kernels call a verb with other arguments,
 * the table of verbs has it within compat_VERB().
 *
 * Linux 6.11 gives create_cq all attributes, and NULL for a kernel ULP.
 */
#ifdef COMPAT_HAS_CQ_ATTRS
#define compat_create_cq(verb) verb
#else
#define compat_create_cq(verb) verb ## _udata

static inline int srnic_create_cq_udata(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
					struct ib_udata *udata)
{
	return srnic_create_cq(ibcq, attr,
			       udata ? rdma_udata_to_uverbs_attr_bundle(udata) : NULL);
}
#endif

/* Linux 6.17 adds hints of where DMA should go. */
#ifdef COMPAT_HAS_DMAH
#define compat_reg_user_mr(verb) verb
#else
#define compat_reg_user_mr(verb) verb ## _udata

static inline struct ib_mr *srnic_reg_user_mr_udata(struct ib_pd *pd, u64 start, u64 len, u64 iova,
						    int access, struct ib_udata *udata)
{
	return srnic_reg_user_mr(pd, start, len, iova, access, NULL, udata);
}
#endif

#endif /* _SRNIC_COMPAT_DEVICE_OPS_H */

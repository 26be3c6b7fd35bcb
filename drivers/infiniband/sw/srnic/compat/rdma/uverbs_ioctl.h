/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SRNIC_COMPAT_RDMA_UVERBS_IOCTL_H
#define _SRNIC_COMPAT_RDMA_UVERBS_IOCTL_H

#include_next <rdma/uverbs_ioctl.h>

/*
 * Older kernels call create_cq with udata in place of attrs, and reg_user_mr
 * without dmah: see ib_verbs.h. The functions below whose names are in
 * parentheses have these older arguments. For a kernel ULP's CQ udata is NULL.
 */
#ifdef srnic_create_cq
int srnic_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		    struct uverbs_attr_bundle *attrs);

static inline int (srnic_create_cq)(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
				    struct ib_udata *udata)
{
	return srnic_create_cq(ibcq, attr,
			       udata ? rdma_udata_to_uverbs_attr_bundle(udata) : NULL);
}
#endif

#ifdef srnic_reg_user_mr
struct ib_dmah;
struct ib_mr *srnic_reg_user_mr(struct ib_pd *pd, u64 start, u64 len, u64 iova, int access,
				struct ib_dmah *dmah, struct ib_udata *udata);

static inline struct ib_mr *(srnic_reg_user_mr)(struct ib_pd *pd, u64 start, u64 len, u64 iova,
						int access, struct ib_udata *udata)
{
	return srnic_reg_user_mr(pd, start, len, iova, access, NULL, udata);
}
#endif

#endif /* _SRNIC_COMPAT_RDMA_UVERBS_IOCTL_H */

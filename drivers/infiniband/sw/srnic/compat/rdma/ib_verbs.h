/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SRNIC_COMPAT_RDMA_IB_VERBS_H
#define _SRNIC_COMPAT_RDMA_IB_VERBS_H

#include_next <rdma/ib_verbs.h>

#include <rdma/uverbs_ioctl.h>

/* Since Linux 6.4; before, everybody had the cast for himself */
#ifndef SRNIC_HAS_VIRT_DMA_TO_PTR
static inline void *ib_virt_dma_to_ptr(u64 dma_addr)
{
	return (void *)(uintptr_t)dma_addr;
}
#endif

/* Linux 6.11 gives create_cq all attributes, and NULL for a kernel ULP. */
#ifdef SRNIC_HAS_CQ_ATTRS
#define srnic_cq_arg uverbs_attr_bundle

static inline struct ib_udata *srnic_cq_udata(struct srnic_cq_arg *arg)
{
	return arg ? &arg->driver_udata : NULL;
}
#else
#define srnic_cq_arg ib_udata

static inline struct ib_udata *srnic_cq_udata(struct srnic_cq_arg *arg)
{
	return arg;
}
#endif

struct ib_mr *srnic_reg_mr(struct ib_pd *pd, u64 start, u64 len, u64 iova, int access,
			   struct ib_udata *udata);

/* Linux 6.17 adds hints of where DMA should go, which mean nothing without DMA. */
#ifdef SRNIC_HAS_DMAH
static inline struct ib_mr *srnic_reg_user_mr(struct ib_pd *pd, u64 start, u64 len, u64 iova,
					      int access, struct ib_dmah *dmah,
					      struct ib_udata *udata)
{
	return dmah ? ERR_PTR(-EOPNOTSUPP) : srnic_reg_mr(pd, start, len, iova, access, udata);
}
#else
static inline struct ib_mr *srnic_reg_user_mr(struct ib_pd *pd, u64 start, u64 len, u64 iova,
					      int access, struct ib_udata *udata)
{
	return srnic_reg_mr(pd, start, len, iova, access, udata);
}
#endif

/* Since Linux 6.11 the core wants to know that a name is an administrator's choice. */
static inline int srnic_register_ib_device(struct ib_device *ibdev, const char *name)
{
#ifdef SRNIC_HAS_MARK_NAME
	ib_mark_name_assigned_by_user(ibdev);
#endif
	return ib_register_device(ibdev, name, NULL);
}

#endif /* _SRNIC_COMPAT_RDMA_IB_VERBS_H */

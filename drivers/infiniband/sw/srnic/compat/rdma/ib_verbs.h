/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SRNIC_COMPAT_RDMA_IB_VERBS_H
#define _SRNIC_COMPAT_RDMA_IB_VERBS_H

#include_next <rdma/ib_verbs.h>

#include <rdma/uverbs_ioctl.h>

/*
 * The device has no DMA, so each page needs an address. In the tree Kconfig sees to that. Out of
 * tree the Kbuild of all modules does, which leaves srnic out.
 */
#ifdef CONFIG_HIGHMEM
#error "srnic needs a kernel without high memory"
#endif
/* An application has these pages at other addresses. Linux knows such processors since 6.9. */
#ifdef CONFIG_ARCH_HAS_CPU_CACHE_ALIASING
#error "srnic needs a processor without aliases in its data cache"
#endif

/* Linux has this since 6.4. Before, each driver had a cast of its own. */
#ifndef SRNIC_HAS_VIRT_DMA_TO_PTR
static inline void *ib_virt_dma_to_ptr(u64 dma_addr)
{
	return (void *)(uintptr_t)dma_addr;
}
#endif

/* Since Linux 6.11 a driver tells the core that an administrator has chosen the name. */
#ifndef SRNIC_HAS_MARK_NAME
static inline void ib_mark_name_assigned_by_user(struct ib_device *ibdev)
{
}
#endif

/* Since Linux 6.14 the core reports changes of ports, unless the driver has a function for that. */
#ifndef SRNIC_HAS_REPORT_PORT_EVENT
#define COMPAT_LACKS_REPORT_PORT_EVENT
#endif

/*
 * The verbs are written for the newest kernel. If older kernels call a verb with other arguments,
 * the table of verbs has it within compat_VERB().
 *
 * Linux 6.11 gives create_cq all attributes, and NULL for a kernel ULP.
 */
#ifdef SRNIC_HAS_CQ_ATTRS
#define compat_create_cq(verb) verb
#else
#define compat_create_cq(verb) verb ## _udata

int srnic_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		    struct uverbs_attr_bundle *attrs);

static inline int srnic_create_cq_udata(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
					struct ib_udata *udata)
{
	return srnic_create_cq(ibcq, attr,
			       udata ? rdma_udata_to_uverbs_attr_bundle(udata) : NULL);
}
#endif

/* Linux 6.17 adds hints of where DMA should go. */
#ifdef SRNIC_HAS_DMAH
#define compat_reg_user_mr(verb) verb
#else
#define compat_reg_user_mr(verb) verb ## _udata

struct ib_dmah;
struct ib_mr *srnic_reg_user_mr(struct ib_pd *pd, u64 start, u64 len, u64 iova, int access,
				struct ib_dmah *dmah, struct ib_udata *udata);

static inline struct ib_mr *srnic_reg_user_mr_udata(struct ib_pd *pd, u64 start, u64 len, u64 iova,
						    int access, struct ib_udata *udata)
{
	return srnic_reg_user_mr(pd, start, len, iova, access, NULL, udata);
}
#endif

#endif /* _SRNIC_COMPAT_RDMA_IB_VERBS_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SRNIC_COMPAT_RDMA_IB_VERBS_H
#define _SRNIC_COMPAT_RDMA_IB_VERBS_H

#include_next <rdma/ib_verbs.h>

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

#endif /* _SRNIC_COMPAT_RDMA_IB_VERBS_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SRNIC_COMPAT_RDMA_IB_UMEM_H
#define _SRNIC_COMPAT_RDMA_IB_UMEM_H

#include_next <rdma/ib_umem.h>

/* Linux 7.2 has a new name for it. */
#ifdef SRNIC_HAS_UMEM_GET_VA
#define ib_umem_get ib_umem_get_va
#endif

#endif /* _SRNIC_COMPAT_RDMA_IB_UMEM_H */

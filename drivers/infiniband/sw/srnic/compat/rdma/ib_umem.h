/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SRNIC_COMPAT_RDMA_IB_UMEM_H
#define _SRNIC_COMPAT_RDMA_IB_UMEM_H

#include_next <rdma/ib_umem.h>

/* Since Linux 7.2 ib_umem_get() is called ib_umem_get_va(). */
#ifndef SRNIC_HAS_UMEM_GET_VA
#define ib_umem_get_va ib_umem_get
#endif

#endif /* _SRNIC_COMPAT_RDMA_IB_UMEM_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SRNIC_COMPAT_RDMA_ITER_H
#define _SRNIC_COMPAT_RDMA_ITER_H

/* rdma/iter.h: since Linux 7.0, and late in 6.1 and 6.12; else ib_umem.h. */
#ifdef SRNIC_HAS_ITER
#include_next <rdma/iter.h>
#else
#include <rdma/ib_umem.h>
#endif

#endif /* _SRNIC_COMPAT_RDMA_ITER_H */

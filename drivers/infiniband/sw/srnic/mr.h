/* SPDX-License-Identifier: GPL-2.0 */
/* Memory regions, as the RDMA core asks for them. */
#ifndef _SRNIC_MR_H
#define _SRNIC_MR_H

#include "srnic.h"

struct ib_mr *srnic_get_dma_mr(struct ib_pd *pd, int access);
struct ib_mr *srnic_alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 max_sg);
int srnic_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int nents, unsigned int *off);
struct ib_mr *srnic_reg_user_mr(struct ib_pd *pd, u64 start, u64 len, u64 iova, int access,
				struct ib_dmah *dmah, struct ib_udata *udata);
int srnic_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata);

#endif /* _SRNIC_MR_H */

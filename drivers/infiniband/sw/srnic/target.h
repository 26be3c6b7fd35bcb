/* SPDX-License-Identifier: GPL-2.0 */
/* What is behind a region: pieces of memory of the kernel's address space. */
#ifndef _SRNIC_TARGET_H
#define _SRNIC_TARGET_H

#include "stag.h"

void srnic_target_walk(const struct srnic_mr *mr, u64 off, u32 len, srnic_step_fn step, void *arg);
u64 srnic_target_size(const struct srnic_mr *mr, u8 table);
int srnic_target_map(struct srnic_mr *mr, struct scatterlist *sgl, int nents, unsigned int *off);

#endif /* _SRNIC_TARGET_H */

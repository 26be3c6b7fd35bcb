// SPDX-License-Identifier: GPL-2.0
/* In a kernel without INFINIBAND: what the library and srnic call of the RDMA core. */

#include <linux/errno.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

/* The library hands its counters to it. */
struct rdma_hw_stats *rdma_alloc_hw_stats_struct(const struct rdma_stat_desc *descs,
						 int num_counters, unsigned long lifespan)
{
	struct rdma_hw_stats *stats = kzalloc(struct_size(stats, value, num_counters),
					      GFP_KERNEL);

	if (!stats)
		return NULL;
	stats->descs = descs;
	stats->num_counters = num_counters;
	return stats;
}

/* For rings of applications, which the suites do not make */
int rdma_user_mmap_entry_insert_range(struct ib_ucontext *ctx, struct rdma_user_mmap_entry *entry,
				      size_t len, u32 min_pgoff, u32 max_pgoff)
{
	return -EOPNOTSUPP;
}

void rdma_user_mmap_entry_remove(struct rdma_user_mmap_entry *entry)
{
}

struct rdma_user_mmap_entry *rdma_user_mmap_entry_get(struct ib_ucontext *ctx,
						      struct vm_area_struct *vma)
{
	return NULL;
}

void rdma_user_mmap_entry_put(struct rdma_user_mmap_entry *entry)
{
}

void rdma_free_hw_stats_struct(struct rdma_hw_stats *stats)
{
}

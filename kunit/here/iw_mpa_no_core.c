// SPDX-License-Identifier: GPL-2.0
/*
 * Fakes of the functions of the RDMA core that iw_mpa and srnic call, for the tests' kernels, which
 * are built without CONFIG_INFINIBAND.
 */

#include "iw_mpa_no_core.h"

#include <linux/kthread.h>
#include <linux/limits.h>
#include <linux/mm_types.h>
#include <linux/slab.h>
#include <rdma/iter.h>
#include <rdma/iw_cm.h>
#include <rdma/restrack.h>

struct no_core no_core;

/* iw_mpa takes the address of this function, to keep iw_cm's module loaded, and never calls it. */
struct iw_cm_id *iw_create_cm_id(struct ib_device *device, iw_cm_handler cm_handler,
				 void *context)
{
	return NULL;
}

/* iw_mpa allocates the values of a device's counters with this function. */
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

int ib_register_client(struct ib_client *client)
{
	no_core.client = client;
	return 0;
}

void ib_unregister_client(struct ib_client *client)
{
	no_core.client = NULL;
}

/*
 * A test is a kernel thread, and has no mm. From no_core_process_begin() to no_core_process_end()
 * its current->mm is init_mm, so that srnic's verbs can charge the memory of rings to it.
 */
struct mm_struct *no_core_process_begin(void)
{
#ifdef CONFIG_UML
	/*
	 * At each tick user mode Linux sends a signal to the host's process for the current mm,
	 * whose pid is in context.id. For init_mm there is no such process, and the pid is 0: the
	 * signal would reach user mode Linux itself, which would count it as a further tick. So
	 * init_mm gets the pid INT_MAX, which no process has.
	 */
	init_mm.context.id.u.pid = INT_MAX;
#endif
	kthread_use_mm(&init_mm);
	return &init_mm;
}

void no_core_process_end(void)
{
	kthread_unuse_mm(&init_mm);
}

/* In the RDMA core this lets an application mmap() a ring. The fake keeps only the last @entry. */
int rdma_user_mmap_entry_insert_range(struct ib_ucontext *ctx, struct rdma_user_mmap_entry *entry,
				      size_t len, u32 min_pgoff, u32 max_pgoff)
{
	if (no_core.insert_err)
		return no_core.insert_err;
	entry->start_pgoff = min_pgoff;
	entry->npages = len >> PAGE_SHIFT;
	no_core.entry = entry;
	return 0;
}

void rdma_user_mmap_entry_remove(struct rdma_user_mmap_entry *entry)
{
	if (entry == no_core.entry)
		no_core.entry = NULL;
	if (no_core.mmap_free)
		no_core.mmap_free(entry);
}

struct rdma_user_mmap_entry *rdma_user_mmap_entry_get(struct ib_ucontext *ctx,
						      struct vm_area_struct *vma)
{
	if (no_core.entry)
		no_core.refs++;
	return no_core.entry;
}

void rdma_user_mmap_entry_put(struct rdma_user_mmap_entry *entry)
{
	no_core.refs--;
}

void rdma_free_hw_stats_struct(struct rdma_hw_stats *stats)
{
}

/* Not called: it walks the pinned pages of a memory region, and here no page can be pinned. */
void __rdma_block_iter_start(struct ib_block_iter *biter, struct scatterlist *sglist,
			     unsigned int nents, unsigned long pgsz)
{
}

bool __rdma_block_iter_next(struct ib_block_iter *biter)
{
	return false;
}

/* Not called: srnic's details for "rdma resource show", a netlink command of the RDMA core */
int rdma_nl_put_driver_u32(struct sk_buff *msg, const char *name, u32 value)
{
	return 0;
}

int rdma_nl_put_driver_u32_hex(struct sk_buff *msg, const char *name, u32 value)
{
	return 0;
}

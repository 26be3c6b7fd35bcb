/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SRNIC_RING_H
#define _SRNIC_RING_H

#include "srnic.h"

#include <rdma/uverbs_ioctl.h>

struct srnic_ring {
	struct rdma_user_mmap_entry	entry;
	struct mm_struct		*mm;	/* for RLIMIT_MEMLOCK */
	void				*va;
	unsigned int			npages;
	struct page			*pages[];
};

/* NULL for a kernel ULP */
static inline struct ib_ucontext *srnic_ucontext_of(struct ib_udata *udata)
{
	return udata ? rdma_udata_to_uverbs_attr_bundle(udata)->context : NULL;
}

int srnic_udata_check(struct ib_udata *udata, size_t room);
void *srnic_ring_alloc(u32 entries, u32 size, gfp_t gfp);

struct srnic_ring *srnic_ring_create(struct ib_ucontext *ctx, size_t size,
				     u64 *key);
void srnic_ring_destroy(struct srnic_ring *ring);
int srnic_ring_mmap(struct ib_ucontext *ctx, struct vm_area_struct *vma);
void srnic_ring_mmap_free(struct rdma_user_mmap_entry *entry);

bool srnic_ring_has_sqe(const struct siw_sqe *slot);
bool srnic_ring_copy_sqe(const struct siw_sqe *slot, struct siw_sqe *copy);
bool srnic_ring_copy_rqe(const struct siw_rqe *slot, struct siw_rqe *copy);

#endif /* _SRNIC_RING_H */

// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that an application shares with the kernel: rings of work requests,
 * receives and completions.
 *
 * The pages of a ring are charged to the application's memory cgroup and to
 * RLIMIT_MEMLOCK, as registered memory is. The kernel maps them contiguously.
 * The application's mapping has a reference on each page, so pages stay
 * allocated as long as they are mapped. srnic drops its own references on the
 * pages with the last reference on the ring's mmap entry. An mmap() call in
 * progress has a reference on that entry, too, so destroying a CQ, QP or SRQ
 * never frees pages that such a call maps.
 *
 * An application may write any byte of a ring at any time. So the kernel reads
 * the flags of an element with acquire, copies the element once, and uses only
 * the copy.
 */

#include "ring.h"

#include <linux/capability.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

/* mmap keys are above SIW_INVAL_UOBJ_KEY, which libsiw takes for "no key". */
#define RING_FIRST_PAGE		((SIW_INVAL_UOBJ_KEY >> PAGE_SHIFT) + 1)

/*
 * Check a verb's driver-specific data. No verb of srnic has such input. Input
 * of a later libsiw is refused, except zeroes, which ask for nothing: today's
 * libsiw sends zeroes to register memory. The first bytes are checked without
 * ib_is_udata_cleared(), which allocates.
 *
 * Returns 0; -EINVAL if there is no room for the response; -EOPNOTSUPP for
 * input that is not all zeroes; -EFAULT if the input cannot be read.
 */
int srnic_udata_check(struct ib_udata *udata, size_t room)
{
	struct siw_ureq_reg_mr first = {};
	size_t len;

	if (!udata)
		return 0;
	if (udata->outlen < room)
		return -EINVAL;
	len = min(udata->inlen, sizeof(first));
	if (ib_copy_from_udata(&first, udata, len))
		return -EFAULT;
	if (memchr_inv(&first, 0, sizeof(first)) ||
	    (udata->inlen > len &&
	     !ib_is_udata_cleared(udata, len, udata->inlen - len)))
		return -EOPNOTSUPP;
	return 0;
}

/*
 * Allocate a zeroed ring of @entries, @size bytes each, which is not shared.
 * Free it by kvfree(). kmalloc() would round a long ring up to a power of two
 * of pages. But the vmalloc area of a 32-bit kernel is small.
 */
void *srnic_ring_alloc(u32 entries, u32 size, gfp_t gfp)
{
	if (BITS_PER_LONG == 32 || array_size(entries, size) <= PAGE_SIZE)
		return kvcalloc(entries, size, gfp);
	return __vcalloc(entries, size, gfp);
}

/* Undo ring_charge(). Pages that the process still maps count in its RSS. */
static void ring_uncharge(struct srnic_ring *ring)
{
	atomic64_sub(ring->npages, &ring->mm->pinned_vm);
	mmdrop(ring->mm);
}

/* Charge a ring to RLIMIT_MEMLOCK, as ib_umem_get() charges a region. */
static int ring_charge(struct srnic_ring *ring)
{
	unsigned long limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;

	ring->mm = current->mm;
	mmgrab(ring->mm);
	if (atomic64_add_return(ring->npages, &ring->mm->pinned_vm) <= limit ||
	    capable(CAP_IPC_LOCK))
		return 0;
	ring_uncharge(ring);
	return -ENOMEM;
}

static void ring_free(struct srnic_ring *ring)
{
	unsigned int i;

	if (ring->npages > 1 && ring->va)
		vunmap(ring->va);
	for (i = 0; i < ring->npages && ring->pages[i]; i++)
		put_page(ring->pages[i]);
	ring_uncharge(ring);
	kvfree(ring);
}

static int ring_fill(struct srnic_ring *ring)
{
	unsigned int i;

	for (i = 0; i < ring->npages; i++) {
		ring->pages[i] = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
		if (!ring->pages[i])
			return -ENOMEM;
	}
	if (ring->npages == 1)
		ring->va = page_address(ring->pages[0]);
	else
		ring->va = vmap(ring->pages, ring->npages, VM_MAP, PAGE_KERNEL);
	return ring->va ? 0 : -ENOMEM;
}

struct srnic_ring *srnic_ring_create(struct ib_ucontext *ctx, size_t size,
				     u64 *key)
{
	unsigned int npages = PAGE_ALIGN(size) >> PAGE_SHIFT;
	size_t len = (size_t)npages << PAGE_SHIFT;
	struct srnic_ring *ring;
	int err;

	ring = kvzalloc(struct_size(ring, pages, npages),
			GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!ring)
		return ERR_PTR(-ENOMEM);
	ring->npages = npages;
	err = ring_charge(ring);
	if (err) {
		kvfree(ring);
		return ERR_PTR(err);
	}
	err = ring_fill(ring);
	if (!err)
		err = rdma_user_mmap_entry_insert_range(ctx, &ring->entry,
							len, RING_FIRST_PAGE,
							U32_MAX);
	if (err) {
		ring_free(ring);
		return ERR_PTR(err);
	}
	*key = rdma_user_mmap_get_offset(&ring->entry);
	return ring;
}

/* @ring may be NULL, or an ERR_PTR() of srnic_ring_create(). */
void srnic_ring_destroy(struct srnic_ring *ring)
{
	if (!IS_ERR_OR_NULL(ring))
		rdma_user_mmap_entry_remove(&ring->entry);
}

int srnic_ring_mmap(struct ib_ucontext *ctx, struct vm_area_struct *vma)
{
	struct rdma_user_mmap_entry *entry = rdma_user_mmap_entry_get(ctx, vma);
	struct srnic_ring *ring;
	int err;

	if (!entry)
		return -EINVAL;
	ring = container_of(entry, struct srnic_ring, entry);
	err = vm_map_pages_zero(vma, ring->pages, ring->npages);
	rdma_user_mmap_entry_put(entry);
	return err;
}

void srnic_ring_mmap_free(struct rdma_user_mmap_entry *entry)
{
	ring_free(container_of(entry, struct srnic_ring, entry));
}

/* A hint: the application may change the flags at any time. */
bool srnic_ring_has_sqe(const struct siw_sqe *slot)
{
	return READ_ONCE(slot->flags) & SIW_WQE_VALID;
}

/* Copy an element. If it is not valid return false, and do not write @copy. */
static __always_inline bool ring_copy(const void *slot, const u16 *slot_flags,
				      void *copy, u16 *copy_flags, size_t size)
{
	/* Acquire: the application writes an element, then its flags. */
	u16 flags = smp_load_acquire(slot_flags);

	if (!(flags & SIW_WQE_VALID))
		return false;
	memcpy(copy, slot, size);
	/* Only @copy is used: the compiler must not read @slot again. */
	barrier();
	*copy_flags = flags;
	return true;
}

bool srnic_ring_copy_sqe(const struct siw_sqe *slot, struct siw_sqe *copy)
{
	return ring_copy(slot, &slot->flags, copy, &copy->flags, sizeof(*copy));
}

bool srnic_ring_copy_rqe(const struct siw_rqe *slot, struct siw_rqe *copy)
{
	return ring_copy(slot, &slot->flags, copy, &copy->flags, sizeof(*copy));
}

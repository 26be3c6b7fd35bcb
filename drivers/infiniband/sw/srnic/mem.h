/* SPDX-License-Identifier: GPL-2.0 */
/* STags, and access to the memory regions that they name */
#ifndef _SRNIC_MEM_H
#define _SRNIC_MEM_H

#include "srnic.h"
#include "term.h"

#include <linux/minmax.h>
#include <linux/sizes.h>
#include <rdma/ib_verbs.h>

/*
 * A kernel ULP may name all memory of the kernel by this STag (local_dma_lkey).
 * Its index is not in dev->mrs, so no peer and no application can use it.
 */
#define SRNIC_LOCAL_DMA_LKEY	0xffffff00
#define SRNIC_STAG_MAX_INDEX	0xfffffe

/* Rights that have an effect, and rights that are accepted without one */
#define SRNIC_ACCESS		(IB_ACCESS_LOCAL_WRITE | \
				 IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ)
#define SRNIC_ACCESS_VOID	(IB_ACCESS_REMOTE_ATOMIC | \
				 IB_ACCESS_HUGETLB | IB_ACCESS_OPTIONAL)

/* Bytes after which a hold of a region ends, so that softirqs can run */
#define SRNIC_MEM_HOLD		SZ_32K
/* Bytes that an FPDU counts as in quotas, if it is shorter than that */
#define SRNIC_FPDU_COST		256

/*
 * A memory region that is held (its mr->lock is taken for reading), so that
 * several segments can access it; and a cursor, the position of the next
 * access. The structure is on the stack of one call of RX or the sender, zeroed
 * at first. While a region is held, the caller takes no lock, calls neither TCP
 * nor iw_mpa, adds no completion and does not allocate: it drops the hold
 * before. So mr->lock is the innermost lock, and the holder never waits for a
 * task that waits for the hold to end.
 */
struct srnic_hold {
	/* held by mr->lock, RCU read lock, softirqs off; NULL: none is held */
	struct srnic_mr		*mr;
	struct srnic_name	is;	/* name by which @mr was found */
	s32			quota;	/* bytes until the hold has to end */
	u32			cost;	/* bytes that the present FPDU costs */
	/* The cursor: */
	u64			off;	/* in the region */
	u8			*va;	/* of the byte there */
	u32			left;	/* bytes at @va; 0: find next piece */
	u32			next;	/* MR_FAST: extent at @off or before */
};

/*
 * Returns true if the last of the @len bytes at @start is at @max or below. On
 * a 32-bit machine the RDMA core pins memory by the lower halves of @start and
 * @len: a region that exceeds 32 bits would be larger than the memory that was
 * pinned.
 */
static inline bool srnic_stag_is_possible(u64 start, u64 len, u64 max)
{
	return start <= max && len - 1 <= max - start;
}

int srnic_stag_check_access(struct ib_device *ibdev, int access);
int srnic_stag_add(struct srnic_dev *dev, struct srnic_mr *mr);
void srnic_stag_remove(struct srnic_dev *dev, struct srnic_mr *mr);
int srnic_stag_register(struct srnic_dev *dev, const struct ib_pd *pd, u32 stag,
			u64 base, u64 size, u32 access, u32 mapping);
enum srnic_err srnic_stag_invalidate(struct srnic_dev *dev,
				     const struct ib_pd *pd, u32 stag,
				     bool remote);

enum srnic_mem_fault srnic_hold_take(struct srnic_dev *dev,
				     struct srnic_hold *hold,
				     const struct srnic_name *name);
void srnic_hold_end(struct srnic_hold *hold);
void srnic_hold_seek(struct srnic_hold *hold, u64 off);
void srnic_hold_next_piece(struct srnic_hold *hold);
void srnic_hold_read(struct srnic_hold *hold, u8 *to, u32 len);

/*
 * Returns the address of the bytes at the cursor of @hold (the position of the
 * next access to the held region), and moves the cursor over them. *@len, which
 * must be > 0, is set to how many bytes are contiguous there, at most its old
 * value.
 */
static inline u8 *srnic_hold_piece(struct srnic_hold *hold, u32 *len)
{
	u8 *va;

	if (!hold->left)
		srnic_hold_next_piece(hold);
	*len = min(*len, hold->left);
	va = hold->va;
	hold->va += *len;
	hold->left -= *len;
	hold->off += *len;
	return va;
}

static inline void srnic_hold_drop(struct srnic_hold *hold)
{
	if (hold->mr)
		srnic_hold_end(hold);
}

/*
 * Call this first for each FPDU, even an empty one. It ends the hold of a
 * region (the read lock on its mr->lock) if the hold's quota of bytes is used
 * up, or if a writer of mr->lock waits. So a writer waits for at most one FPDU
 * of each CPU.
 */
static inline void srnic_hold_yield(struct srnic_hold *hold, u32 bytes)
{
	hold->cost = max_t(u32, bytes, SRNIC_FPDU_COST);
	if (!hold->mr)
		return;
	hold->quota -= hold->cost;
	if (hold->quota <= 0 || READ_ONCE(hold->mr->closed))
		srnic_hold_end(hold);
}

/*
 * Take @cost off the quota of bytes for which @hold may hold its region, for an
 * FPDU whose payload follows that of the last one. Returns false if the quota
 * does not suffice, or a writer of mr->lock waits: then the caller leaves the
 * FPDU to code that calls srnic_hold_yield(), which ends the hold.
 */
static inline bool srnic_hold_spend(struct srnic_hold *hold, s32 cost)
{
	if (!hold->mr)
		return true;
	if (hold->quota <= cost || READ_ONCE(hold->mr->closed))
		return false;
	hold->quota -= cost;
	return true;
}

/* Bytes of the held region from the cursor on, without those beyond 2^64 */
static inline u64 srnic_hold_room(const struct srnic_hold *hold)
{
	return min(hold->mr->size - hold->off, ~(hold->mr->base + hold->off));
}

/*
 * Move the cursor of @hold to @addr in the region that @name names, to access
 * @len bytes, and first hold that region (read-lock its mr->lock) if it is not
 * held. STag, protection domain and rights were checked when the hold began,
 * and cannot have changed since, so only the range is checked each time. Thus
 * checks are in the order of enum srnic_mem_fault. After a fault no region is
 * held.
 */
static inline enum srnic_mem_fault
srnic_hold_at(struct srnic_dev *dev, struct srnic_hold *hold,
	      const struct srnic_name *name, u64 addr, u32 len)
{
	enum srnic_mem_fault fault;
	u64 off;

	if (unlikely(!hold->mr || READ_ONCE(hold->mr->closed) ||
		     hold->is.stag != name->stag ||
		     hold->is.rights != name->rights ||
		     hold->is.pd != name->pd ||
		     hold->is.kernel != name->kernel)) {
		fault = srnic_hold_take(dev, hold, name);
		if (fault)
			return fault;
		if (!hold->mr) {
			/* SRNIC_LOCAL_DMA_LKEY: @addr is a kernel address */
			hold->va = ib_virt_dma_to_ptr(addr);
			hold->left = len;
			return SRNIC_MEM_OK;
		}
	}
	fault = srnic_range_check(hold->mr->base, hold->mr->size, addr,
				  len);
	if (unlikely(fault)) {
		srnic_hold_end(hold);
		return fault;
	}
	off = addr - hold->mr->base;
	if (unlikely(off != hold->off) && len)
		srnic_hold_seek(hold, off);
	return SRNIC_MEM_OK;
}

u64 srnic_target_size(const struct srnic_mr *mr, u8 table);

struct ib_dmah;

struct ib_mr *srnic_get_dma_mr(struct ib_pd *pd, int access);
struct ib_mr *srnic_alloc_mr(struct ib_pd *pd, enum ib_mr_type type,
			     u32 max_sg);
int srnic_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sgl, int nents,
		    unsigned int *off);
struct ib_mr *srnic_reg_user_mr(struct ib_pd *pd, u64 start, u64 len, u64 iova,
				int access, struct ib_dmah *dmah,
				struct ib_udata *udata);
int srnic_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata);

#endif /* _SRNIC_MEM_H */

/* SPDX-License-Identifier: GPL-2.0 */
/* STags, and the memory that they stand for. */
#ifndef _SRNIC_MEM_H
#define _SRNIC_MEM_H

#include "srnic.h"
#include "term.h"

#include <linux/minmax.h>
#include <linux/sizes.h>
#include <rdma/ib_verbs.h>

/*
 * The lkey that stands for all memory of the kernel in work requests of kernel ULPs. Its index is
 * in no table, so neither a peer nor an application can use it.
 */
#define SRNIC_LOCAL_DMA_LKEY	0xffffff00
#define SRNIC_STAG_MAX_INDEX	0xfffffe

/* Rights that have an effect */
#define SRNIC_ACCESS		(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
				 IB_ACCESS_REMOTE_READ)
/* Rights that are accepted without effect */
#define SRNIC_ACCESS_VOID	(IB_ACCESS_REMOTE_ATOMIC | IB_ACCESS_HUGETLB | IB_ACCESS_OPTIONAL)

/* A hold ends after so many bytes, so that softirqs run. */
#define SRNIC_MEM_HOLD		SZ_32K
/* A short FPDU takes the time of so many bytes. */
#define SRNIC_FPDU_COST		256

/**
 * struct srnic_hold - a region that is held, so that several segments can access it
 * @mr: the region, NULL if none is held: mr->lock is held for reading, softirqs are off, and RCU
 *	readers' side is entered
 * @is: the name under which it was found; what it names cannot change while the region is held
 * @quota: bytes until the hold has to end
 * @cost: bytes that the FPDU counts as
 * @off: cursor: place in the region
 * @va: cursor: address of the byte there
 * @left: cursor: bytes in a row there; 0 if the next piece has to be found
 * @next: cursor: SRNIC_MR_FAST: the piece that it is in, or one before
 *
 * It is on the stack of one call, zeroed at first. While a region is held the caller takes no lock,
 * calls neither TCP nor the library, completes nothing and does not allocate: it drops the hold
 * before. So mr->lock is the innermost lock, and a hold cannot wait for its own end.
 */
struct srnic_hold {
	struct srnic_mr		*mr;
	struct srnic_name	is;
	s32			quota;
	u32			cost;
	u64			off;
	u8			*va;
	u32			left;
	u32			next;
};

static inline bool srnic_name_is_local_dma(const struct srnic_name *name)
{
	return name->kernel && name->stag == SRNIC_LOCAL_DMA_LKEY;
}

/*
 * The RDMA core passes both on with 64 bits, and drops the upper half of them where the kernel's
 * addresses have 32. A region must not be larger than what was pinned.
 */
static inline bool srnic_stag_is_possible(u64 start, u64 len, u64 max)
{
	return start <= max && len - 1 <= max - start;
}

int srnic_stag_check_access(struct ib_device *ibdev, int access);
void srnic_stag_setup(struct srnic_mr *mr);
int srnic_stag_add(struct srnic_dev *dev, struct srnic_mr *mr);
void srnic_stag_remove(struct srnic_dev *dev, struct srnic_mr *mr);
int srnic_stag_register(struct srnic_dev *dev, const struct ib_pd *pd, u32 stag, u64 base,
			u64 size, u32 access);
int srnic_stag_invalidate(struct srnic_dev *dev, const struct ib_pd *pd, u32 stag);
enum srnic_err srnic_stag_invalidate_remote(struct srnic_dev *dev, const struct ib_pd *pd,
					    u32 stag);

enum srnic_mem_fault srnic_hold_take(struct srnic_dev *dev, struct srnic_hold *hold,
				     const struct srnic_name *name);
void srnic_hold_end(struct srnic_hold *hold);
void srnic_hold_seek(struct srnic_hold *hold, u64 off);
void srnic_hold_next_piece(struct srnic_hold *hold);
void srnic_hold_read(struct srnic_hold *hold, u8 *to, u32 len);

/*
 * Returns the bytes at the cursor, and in @len, which is > 0, how many are in a row there, of those
 * that are wanted. The cursor moves over them.
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
 * At the head of each FPDU, before anything else is done for it. A writer that waits at the gate
 * waits for one FPDU of each CPU, empty ones too.
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
 * The same before an FPDU of @cost that goes on at the cursor. False: the hold is over, and ends at
 * the head of the next FPDU.
 */
static inline bool srnic_hold_goes_on(struct srnic_hold *hold, s32 cost)
{
	if (!hold->mr)
		return true;
	if (hold->quota <= cost || READ_ONCE(hold->mr->closed))
		return false;
	hold->quota -= cost;
	return true;
}

/* Bytes after the cursor of a region that is held; none is at an address after the last */
static inline u64 srnic_hold_room(const struct srnic_hold *hold)
{
	return min(hold->mr->size - hold->off, ~(hold->mr->base + hold->off));
}

/* Without a region: all memory of the kernel, by its virtual address */
static inline void srnic_hold_memory(struct srnic_hold *hold, u64 addr, u32 len)
{
	hold->va = ib_virt_dma_to_ptr(addr);
	hold->left = len;
}

/*
 * Go to [@addr, @addr + @len) in the region, and hold it first if it is not held. The caller has
 * dropped the hold of any other name. What was checked when the hold began cannot have changed; the
 * range is checked each time. The order of the checks is that of enum srnic_mem_fault.
 *
 * Returns SRNIC_MEM_OK; any other value: nothing is held.
 */
static inline enum srnic_mem_fault srnic_hold_next(struct srnic_dev *dev, struct srnic_hold *hold,
						   const struct srnic_name *name, u64 addr,
						   u32 len)
{
	enum srnic_mem_fault fault;
	u64 off;

	if (unlikely(!hold->mr || READ_ONCE(hold->mr->closed))) {
		fault = srnic_hold_take(dev, hold, name);
		if (fault)
			return fault;
		if (!hold->mr) {
			srnic_hold_memory(hold, addr, len);
			return SRNIC_MEM_OK;
		}
	}
	fault = srnic_range_check(hold->mr->base, hold->mr->size, addr, len);
	if (unlikely(fault)) {
		srnic_hold_end(hold);
		return fault;
	}
	off = addr - hold->mr->base;
	if (unlikely(off != hold->off) && len)
		srnic_hold_seek(hold, off);
	return SRNIC_MEM_OK;
}

/* As srnic_hold_next(), whatever was held before */
static inline enum srnic_mem_fault srnic_hold_at(struct srnic_dev *dev, struct srnic_hold *hold,
						 const struct srnic_name *name, u64 addr,
						 u32 len)
{
	if (unlikely(hold->is.stag != name->stag || hold->is.rights != name->rights ||
		     hold->is.pd != name->pd || hold->is.kernel != name->kernel))
		srnic_hold_drop(hold);
	return srnic_hold_next(dev, hold, name, addr, len);
}

u64 srnic_target_size(const struct srnic_mr *mr, u8 table);
int srnic_target_map(struct srnic_mr *mr, struct scatterlist *sgl, int nents, unsigned int *off);

struct ib_dmah;

struct ib_mr *srnic_get_dma_mr(struct ib_pd *pd, int access);
struct ib_mr *srnic_alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 max_sg);
int srnic_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int nents, unsigned int *off);
struct ib_mr *srnic_reg_user_mr(struct ib_pd *pd, u64 start, u64 len, u64 iova, int access,
				struct ib_dmah *dmah, struct ib_udata *udata);
int srnic_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata);

#endif /* _SRNIC_MEM_H */

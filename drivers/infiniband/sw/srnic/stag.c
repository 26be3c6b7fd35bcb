// SPDX-License-Identifier: GPL-2.0
/*
 * STags: 24 bits of index, chosen at random, and 8 bits of key.
 *
 * Nobody keeps a pointer to a region. Each access finds it anew, under RCU, and holds mr->lock for
 * reading while it touches the memory. Invalidation and deregistration take the lock for writing:
 * when they return nobody touches the memory any more, and nobody will (RFC 5040 8.1.1). Softirqs
 * are off under the lock, so it is held no longer than it takes to copy the octets of one FPDU.
 *
 * The kernel lets readers that have softirqs off overtake a writer that waits for such a lock. If
 * peers kept two CPUs busy with a region, the writer would wait, with softirqs off. So a writer
 * closes the gate first. Each CPU has at most one reader that is past the gate. All others wait
 * there until the change is done.
 */

#include "stag.h"
#include "target.h"

#include <linux/bottom_half.h>
#include <linux/random.h>
#include <linux/spinlock.h>

#define STAG_TRIES	64

static void stag_lock(struct srnic_mr *mr)
	__acquires(&mr->gate) __acquires(&mr->lock)
{
	spin_lock_bh(&mr->gate);
	WRITE_ONCE(mr->closed, true);
	write_lock(&mr->lock);
}

static void stag_unlock(struct srnic_mr *mr)
	__releases(&mr->lock) __releases(&mr->gate)
{
	write_unlock(&mr->lock);
	WRITE_ONCE(mr->closed, false);
	spin_unlock_bh(&mr->gate);
}

static void stag_lock_shared(struct srnic_mr *mr)
	__acquires(&mr->lock)
{
	local_bh_disable();
	if (READ_ONCE(mr->closed)) {
		spin_lock(&mr->gate);
		spin_unlock(&mr->gate);
	}
	read_lock(&mr->lock);
}

static void stag_unlock_shared(struct srnic_mr *mr)
	__releases(&mr->lock)
{
	read_unlock(&mr->lock);
	local_bh_enable();
}

static u32 stag_index(u32 stag)
{
	return stag >> 8;
}

/**
 * srnic_stag_check_access - can a region have these rights?
 * @ibdev: device
 * @access: set of IB_ACCESS_*
 *
 * Return: 0; -EOPNOTSUPP for a right that no region of the device has; -EINVAL for rights of which
 * one needs another: whoever lets a peer write has to let the device write, too.
 */
int srnic_stag_check_access(struct ib_device *ibdev, int access)
{
	if (access & ~(SRNIC_ACCESS | SRNIC_ACCESS_VOID))
		return -EOPNOTSUPP;
	return ib_check_mr_access(ibdev, access);
}

/**
 * srnic_stag_setup - make the locks of a new region
 * @mr: region, zeroed
 */
void srnic_stag_setup(struct srnic_mr *mr)
{
	rwlock_init(&mr->lock);
	spin_lock_init(&mr->gate);
}

/**
 * srnic_stag_add - give a region its STag
 * @dev: device
 * @mr: region, complete except for @mr->stag; if it is valid it may be accessed from now on
 *
 * Indices are random, and so is the key (RFC 5040 8.1.1, rule 8).
 *
 * Context: process.
 *
 * Return: 0; -ENOMEM, also if no index is free.
 */
int srnic_stag_add(struct srnic_dev *dev, struct srnic_mr *mr)
{
	int tries, err = -EBUSY;

	for (tries = 0; err == -EBUSY && tries < STAG_TRIES; tries++) {
		u32 random = get_random_u32();
		u32 index = random >> 8;

		if (!index || index > SRNIC_STAG_MAX_INDEX)
			continue;
		mr->stag = random;
		mr->ibmr.lkey = random;
		mr->ibmr.rkey = random;
		err = xa_insert(&dev->mrs, index, mr, GFP_KERNEL);
	}
	return err ? -ENOMEM : 0;
}

/**
 * srnic_stag_remove - take a region's STag away
 * @dev: device
 * @mr: region
 *
 * Context: process. After return nobody accesses the memory; the structure may be
 * looked at until an RCU grace period is over.
 */
void srnic_stag_remove(struct srnic_dev *dev, struct srnic_mr *mr)
{
	xa_erase(&dev->mrs, stag_index(mr->stag));
	stag_lock(mr);
	mr->valid = false;
	mr->removed = true;
	stag_unlock(mr);
}

static enum srnic_mem_fault stag_check(const struct srnic_mr *mr, const struct srnic_mem *mem)
{
	if (!mr->valid || mr->stag != mem->stag)
		return SRNIC_MEM_STAG;
	if (mr->ibmr.pd != mem->pd)
		return SRNIC_MEM_PD;
	if ((mr->access & mem->rights) != mem->rights)
		return SRNIC_MEM_RIGHT;
	return srnic_range_check(mr->base, mr->size, mem->addr, mem->len);
}

/* All memory of the kernel, by its virtual address */
static enum srnic_mem_fault stag_access_dma(const struct srnic_mem *mem, srnic_step_fn step,
					    void *arg)
{
	if (step && mem->len)
		step(arg, ib_virt_dma_to_ptr(mem->addr), mem->len);
	return SRNIC_MEM_OK;
}

/**
 * srnic_mem_access - check a piece of memory, and do something with it
 * @dev: device
 * @mem: the piece
 * @step: is called for each part that is contiguous, in order; or NULL, to check alone
 * @arg: for @step
 *
 * The order of the checks is that of enum srnic_mem_fault.
 *
 * Context: any but hard interrupt.
 *
 * Return: SRNIC_MEM_OK, or why nothing was touched.
 */
enum srnic_mem_fault srnic_mem_access(struct srnic_dev *dev, const struct srnic_mem *mem,
				      srnic_step_fn step, void *arg)
{
	enum srnic_mem_fault fault = SRNIC_MEM_STAG;
	struct srnic_mr *mr;

	if (mem->kernel && mem->stag == SRNIC_LOCAL_DMA_LKEY)
		return stag_access_dma(mem, step, arg);

	rcu_read_lock();
	mr = xa_load(&dev->mrs, stag_index(mem->stag));
	if (mr) {
		stag_lock_shared(mr);
		fault = stag_check(mr, mem);
		if (fault == SRNIC_MEM_OK && step)
			srnic_target_walk(mr, mem->addr - mr->base, mem->len, step, arg);
		stag_unlock_shared(mr);
	}
	rcu_read_unlock();
	return fault;
}

static int stag_register(struct srnic_mr *mr, const struct ib_pd *pd, u32 stag, u64 base,
			 u64 size, u32 access)
{
	u8 table = mr->active ^ mr->mapped;

	/*
	 * The sender may have found the region before it was removed. Its tables are about to be
	 * freed then.
	 */
	if (mr->removed || mr->kind != SRNIC_MR_FAST || mr->valid || mr->ibmr.pd != pd)
		return -EINVAL;
	if (size > srnic_target_size(mr, table))
		return -EINVAL;
	mr->active = table;
	mr->mapped = false;
	mr->stag = stag;
	mr->base = base;
	mr->size = size;
	mr->access = access & SRNIC_ACCESS;
	mr->valid = true;
	return 0;
}

/**
 * srnic_stag_register - make a fast-registered region valid
 * @dev: device
 * @pd: protection domain of the QP
 * @stag: its index, with the key that the ULP chose
 * @base: address of its first octet
 * @size: octets; not more than were mapped
 * @access: set of IB_ACCESS_*, as srnic_stag_check_access() wants it
 *
 * The region gets what map_mr_sg has mapped last. If nothing was mapped since the registration
 * before, it keeps what it had then.
 *
 * Context: process.
 *
 * Return: 0; -EINVAL if the region is valid already, is of another protection domain, is not a
 * fast-registered one, is too small, or does not exist.
 */
int srnic_stag_register(struct srnic_dev *dev, const struct ib_pd *pd, u32 stag, u64 base,
			u64 size, u32 access)
{
	struct srnic_mr *mr;
	int err = -EINVAL;

	rcu_read_lock();
	mr = xa_load(&dev->mrs, stag_index(stag));
	if (mr) {
		stag_lock(mr);
		err = stag_register(mr, pd, stag, base, size, access);
		stag_unlock(mr);
	}
	rcu_read_unlock();
	return err;
}

/* Who may invalidate: under mr->lock */
static enum srnic_err stag_may_invalidate(const struct srnic_mr *mr, const struct ib_pd *pd,
					  u32 stag, bool remote)
{
	const u32 rights = IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE;

	if (mr->stag != stag || (remote && !mr->valid))
		return SRNIC_ERR_INV_STAG;
	if (mr->ibmr.pd != pd)
		return SRNIC_ERR_INV_FOREIGN;
	if (mr->kind != SRNIC_MR_FAST || (remote && !(mr->access & rights)))
		return SRNIC_ERR_INV_STAG;
	return SRNIC_ERR_NONE;
}

static enum srnic_err stag_invalidate(struct srnic_dev *dev, const struct ib_pd *pd, u32 stag,
				      bool remote)
{
	enum srnic_err err = SRNIC_ERR_INV_STAG;
	struct srnic_mr *mr;

	rcu_read_lock();
	mr = xa_load(&dev->mrs, stag_index(stag));
	if (mr) {
		stag_lock(mr);
		err = stag_may_invalidate(mr, pd, stag, remote);
		if (err == SRNIC_ERR_NONE)
			mr->valid = false;
		stag_unlock(mr);
	}
	rcu_read_unlock();
	return err;
}

/**
 * srnic_stag_invalidate - a local work request invalidates an STag
 * @dev: device
 * @pd: protection domain of the QP
 * @stag: STag
 *
 * The STag may be invalid already. A Send of the peer may have invalidated it since the work
 * request was posted, and the ULP could not know.
 *
 * Context: any but hard interrupt. After return nobody accesses the memory.
 *
 * Return: 0; -EINVAL if there is no such STag to invalidate.
 */
int srnic_stag_invalidate(struct srnic_dev *dev, const struct ib_pd *pd, u32 stag)
{
	return stag_invalidate(dev, pd, stag, false) ? -EINVAL : 0;
}

/**
 * srnic_stag_invalidate_remote - a peer's Send invalidates an STag
 * @dev: device
 * @pd: protection domain of the QP
 * @stag: STag
 *
 * A peer may invalidate an STag only if it is of the same protection domain, is fast-registered,
 * and has a remote right (RFC 5040 5.3, 8.1.1).
 *
 * Context: any but hard interrupt. After return nobody accesses the memory.
 *
 * Return: SRNIC_ERR_NONE, SRNIC_ERR_INV_STAG or SRNIC_ERR_INV_FOREIGN.
 */
enum srnic_err srnic_stag_invalidate_remote(struct srnic_dev *dev, const struct ib_pd *pd,
					    u32 stag)
{
	return stag_invalidate(dev, pd, stag, true);
}

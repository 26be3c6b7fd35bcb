// SPDX-License-Identifier: GPL-2.0
/*
 * STags, and the memory that they stand for.
 *
 * An STag has 24 bits of index, which are chosen at random, and 8 bits of key, which the ULP
 * changes with each registration. The device has no DMA: the core gives it addresses of the kernel
 * in place of bus addresses, and has no high memory.
 *
 * skel_mem_copy() is the only place where memory of the ULP is read or written.
 */

#include "skel.h"

#include <linux/log2.h>
#include <linux/random.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

#define MR_ACCESS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ)
#define MR_REMOTE	(IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ)
#define MR_STAG_TRIES	64

/* The caller holds dev->mr_sem. */
static struct skel_mr *mr_find(struct skel_qp *qp, u32 stag)
{
	struct skel_dev *dev = to_skel_dev(qp->ib.device);

	lockdep_assert_held(&dev->mr_sem);
	return xa_load(&dev->mrs, stag >> 8);
}

/*
 * RFC 5040 8.1.1, RFC 5041 7.1: the STag is valid, of the QP's protection domain, and has the
 * right; the range is within the region. No sum is formed that could wrap. The last byte of the
 * address space cannot be accessed, since a sum of 0 counts as a wrap.
 */
static enum skel_mem mr_check(const struct skel_mr *mr, const struct skel_qp *qp, u32 stag,
			      u32 right, u64 addr, u32 len)
{
	if (!mr || !mr->valid || mr->stag != stag)
		return SKEL_MEM_STAG;
	if (mr->ib.pd != qp->ib.pd)
		return SKEL_MEM_PD;
	if ((mr->access & right) != right)
		return SKEL_MEM_RIGHT;
	if (len > ~addr)
		return SKEL_MEM_WRAP;
	if (addr < mr->base || addr - mr->base > mr->size || len > mr->size - (addr - mr->base))
		return SKEL_MEM_BASE;
	return SKEL_MEM_OK;
}

static void mem_move(void *memory, void *buf, u32 len, bool write)
{
	if (write)
		memcpy(memory, buf, len);
	else
		memcpy(buf, memory, len);
}

/* The range was checked, so all of its pages are there. */
static void mr_copy(const struct skel_pages *pages, u64 off, u8 *buf, u32 len, bool write)
{
	const u32 size = 1 << pages->shift;

	off += pages->skip;
	while (len) {
		u32 at = off & (size - 1);
		u32 n = min(len, size - at);

		mem_move((u8 *)(uintptr_t)pages->page[off >> pages->shift] + at, buf, n, write);
		off += n;
		buf += n;
		len -= n;
	}
}

/*
 * Copy between @buf and @len bytes at @addr of what @stag stands for, all or nothing. @right says
 * what for: REMOTE_WRITE or LOCAL_WRITE to memory, REMOTE_READ or 0 from memory. Only local work
 * requests may name SKEL_LOCAL_DMA_LKEY. Without @buf the range is only checked.
 */
enum skel_mem skel_mem_copy(struct skel_qp *qp, u32 stag, u32 right, u64 addr, void *buf, u32 len)
{
	struct skel_dev *dev = to_skel_dev(qp->ib.device);
	bool write = right & (IB_ACCESS_REMOTE_WRITE | IB_ACCESS_LOCAL_WRITE);
	struct skel_mr *mr;
	enum skel_mem fault;

	/* Without bytes no STag is looked at (RFC 5040 5.1, 5.2.1). */
	if (!len)
		return SKEL_MEM_OK;
	if (stag == SKEL_LOCAL_DMA_LKEY && !(right & MR_REMOTE)) {
		if (buf)
			mem_move((void *)(uintptr_t)addr, buf, len, write);
		return SKEL_MEM_OK;
	}
	down_read(&dev->mr_sem);
	mr = mr_find(qp, stag);
	fault = mr_check(mr, qp, stag, right, addr, len);
	if (!fault && buf)
		mr_copy(mr->pages, addr - mr->base, buf, len, write);
	up_read(&dev->mr_sem);
	return fault;
}

/* The same at @off of a list of SGEs, which has so many bytes */
enum skel_mem skel_sge_copy(struct skel_qp *qp, const struct ib_sge *sge, u32 right, u32 off,
			    void *buf, u32 len)
{
	enum skel_mem fault = SKEL_MEM_OK;

	for (; len && !fault; sge++) {
		u32 n;

		if (off >= sge->length) {
			off -= sge->length;
			continue;
		}
		n = min(len, sge->length - off);
		fault = skel_mem_copy(qp, sge->lkey, right, sge->addr + off, buf, n);
		off = 0;
		len -= n;
		if (buf)
			buf += n;
	}
	return fault;
}

/* Returns 0; -EOPNOTSUPP for an unknown right; -EINVAL for a remote Write without a local one */
int skel_check_access(struct ib_device *ibdev, int access)
{
	if (access & ~(MR_ACCESS | IB_ACCESS_OPTIONAL))
		return -EOPNOTSUPP;
	return ib_check_mr_access(ibdev, access);
}

/* IB_WR_REG_MR: the region becomes valid, with what was mapped last. */
int skel_mr_register(struct skel_qp *qp, const struct skel_wqe *wqe)
{
	struct skel_dev *dev = to_skel_dev(qp->ib.device);
	const struct skel_pages *pages;
	struct skel_mr *mr;
	int err = -EINVAL;

	down_write(&dev->mr_sem);
	mr = mr_find(qp, wqe->rkey);
	if (!mr || mr->valid || mr->ib.pd != qp->ib.pd)
		goto unlock;
	pages = mr->mapped ? mr->next : mr->pages;
	if (wqe->reg.size > pages->size)
		goto unlock;
	if (mr->mapped) {
		swap(mr->pages, mr->next);
		mr->mapped = false;
	}
	mr->stag = wqe->rkey;
	mr->base = wqe->raddr;
	mr->size = wqe->reg.size;
	mr->access = wqe->reg.access;
	mr->valid = true;
	err = 0;
unlock:
	up_write(&dev->mr_sem);
	return err;
}

/*
 * The owner may invalidate what is invalid already: a Send of the peer may have been faster. A peer
 * may invalidate only what it has a right to (RFC 5040 5.3).
 */
enum skel_err skel_mr_invalidate(struct skel_qp *qp, u32 stag, bool remote)
{
	struct skel_dev *dev = to_skel_dev(qp->ib.device);
	enum skel_err err = SKEL_OK;
	struct skel_mr *mr;

	down_write(&dev->mr_sem);
	mr = mr_find(qp, stag);
	if (!mr || mr->stag != stag || (remote && !mr->valid))
		err = SKEL_E_INV_STAG;
	else if (mr->ib.pd != qp->ib.pd)
		err = SKEL_E_INV_PD;
	else if (remote && !(mr->access & MR_REMOTE))
		err = SKEL_E_INV_STAG;
	else
		mr->valid = false;
	up_write(&dev->mr_sem);
	return err;
}

/*
 * The core asks for this if a ULP wants a key of all memory for its peers. Nobody gets one. For the
 * ULP's own SGEs there is local_dma_lkey.
 */
struct ib_mr *skel_get_dma_mr(struct ib_pd *pd, int access)
{
	return ERR_PTR(-EOPNOTSUPP);
}

/* Only applications have such regions. The core offers a device without this verb to no ULP. */
struct ib_mr *skel_reg_user_mr(struct ib_pd *pd, u64 start, u64 len, u64 iova, int access,
			       struct ib_dmah *dmah, struct ib_udata *udata)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static void mr_free(struct skel_mr *mr)
{
	kvfree(mr->pages);
	kvfree(mr->next);
	kfree(mr);
}

/* Random, so that a peer cannot guess it (RFC 5040 8.1.1) */
static int mr_publish(struct skel_dev *dev, struct skel_mr *mr)
{
	int tries, err = -EBUSY;

	for (tries = 0; err == -EBUSY && tries < MR_STAG_TRIES; tries++) {
		mr->stag = get_random_u32();
		if (!(mr->stag >> 8) || mr->stag >> 8 > SKEL_MAX_STAG_INDEX)
			continue;
		err = xa_insert(&dev->mrs, mr->stag >> 8, mr, GFP_KERNEL);
	}
	mr->ib.lkey = mr->stag;
	mr->ib.rkey = mr->stag;
	return err ? -ENOMEM : 0;
}

struct ib_mr *skel_alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 max_pages)
{
	struct skel_mr *mr;

	if (type != IB_MR_TYPE_MEM_REG)
		return ERR_PTR(-EOPNOTSUPP);
	if (!max_pages || max_pages > SKEL_MAX_PAGES)
		return ERR_PTR(-EINVAL);
	mr = kzalloc_obj(*mr, GFP_KERNEL);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->ib.device = pd->device;
	mr->ib.pd = pd;
	mr->max_pages = max_pages;
	mr->pages = kvzalloc(struct_size(mr->pages, page, max_pages), GFP_KERNEL);
	mr->next = kvzalloc(struct_size(mr->next, page, max_pages), GFP_KERNEL);
	if (!mr->pages || !mr->next || mr_publish(to_skel_dev(pd->device), mr)) {
		mr_free(mr);
		return ERR_PTR(-ENOMEM);
	}
	return &mr->ib;
}

static int mr_set_page(struct ib_mr *ibmr, u64 addr)
{
	struct skel_mr *mr = to_skel_mr(ibmr);

	if (mr->next->count == mr->max_pages)
		return -ENOMEM;
	mr->next->page[mr->next->count++] = addr;
	return 0;
}

/*
 * What is registered now is not disturbed: the list is for the next registration. The region begins
 * at its place in the first page, and not at its address: peers are told where it begins, and no
 * peer has to know the kernel's addresses.
 */
int skel_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sgl, int nents, unsigned int *off)
{
	struct skel_mr *mr = to_skel_mr(ibmr);
	int mapped;

	mr->next->count = 0;
	mapped = ib_sg_to_pages(ibmr, sgl, nents, off, mr_set_page);
	if (mapped < 0)
		return mapped;
	ibmr->iova &= ibmr->page_size - 1;
	mr->next->shift = ilog2(ibmr->page_size);
	mr->next->skip = ibmr->iova;
	mr->next->size = ibmr->length;
	mr->mapped = true;
	return mapped;
}

/* When the lock is free again nobody accesses the region, and nobody finds it. */
int skel_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct skel_dev *dev = to_skel_dev(ibmr->device);
	struct skel_mr *mr = to_skel_mr(ibmr);

	down_write(&dev->mr_sem);
	xa_erase(&dev->mrs, mr->stag >> 8);
	up_write(&dev->mr_sem);
	mr_free(mr);
	return 0;
}

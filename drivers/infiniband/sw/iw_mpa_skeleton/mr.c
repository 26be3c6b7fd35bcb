// SPDX-License-Identifier: GPL-2.0
/*
 * STags, and the memory regions that they name.
 *
 * The upper 24 bits of an STag are an index, chosen at random; the lower 8 are
 * a key, which the ULP changes with each registration. The device has no DMA,
 * so the RDMA core gives it virtual addresses of the kernel in place of DMA
 * addresses: this works only for kernels without high memory.
 */

#include "skel.h"

#include <linux/log2.h>
#include <linux/random.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

#define MR_REMOTE	(IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ)
#define MR_WRITE	(IB_ACCESS_REMOTE_WRITE | IB_ACCESS_LOCAL_WRITE)
#define MR_STAG_TRIES	64

/* The region stays allocated while dev->lock is held: see skel_dereg_mr(). */
static struct skel_mr *mr_find(struct skel_dev *dev, u32 stag)
{
	lockdep_assert_held(&dev->lock);
	return xa_load(&dev->mrs, stag >> 8);
}

/*
 * RFC 5040 8.1.1, RFC 5041 7.1: check that the STag is valid, belongs to the
 * QP's protection domain and has the access right, and that the range is within
 * the region. A range that would end at 2^64 or beyond is refused first, so no
 * sum here wraps: the last byte of the address space is never accessible.
 */
static enum skel_err mr_check(const struct skel_mr *mr,
			      const struct skel_qp *qp, u32 stag, u32 right,
			      u64 addr, u32 len)
{
	bool read = right & IB_ACCESS_REMOTE_READ;

	if (!mr || !mr->valid || mr->stag != stag)
		return read ? SKEL_E_READ_STAG : SKEL_E_TAG_STAG;
	if (mr->ib.pd != qp->ib.pd)
		return read ? SKEL_E_READ_PD : SKEL_E_TAG_PD;
	if ((mr->access & right) != right)
		return read ? SKEL_E_READ_RIGHT : SKEL_E_TAG_STAG;
	if (len > ~addr)
		return read ? SKEL_E_READ_WRAP : SKEL_E_TAG_WRAP;
	if (addr < mr->base || addr - mr->base > mr->pages.size ||
	    len > mr->pages.size - (addr - mr->base))
		return read ? SKEL_E_READ_BASE : SKEL_E_TAG_BASE;
	return SKEL_OK;
}

static void mem_move(u64 memory, u8 *buf, u32 len, bool write)
{
	if (write)
		memcpy((void *)(uintptr_t)memory, buf, len);
	else
		memcpy(buf, (void *)(uintptr_t)memory, len);
}

/*
 * Copy between @buf and @len bytes at @addr of the region of @stag, all or
 * nothing. @right is the access right to check: with REMOTE_WRITE or
 * LOCAL_WRITE the copy goes to the region, with REMOTE_READ or 0 it comes from
 * the region. Only local work requests may name SKEL_LOCAL_DMA_LKEY. Without
 * @buf this only makes the checks. All access to memory of ULPs is by this
 * function. The errors are those of a Read Request if @right is REMOTE_READ,
 * else those of a tagged segment.
 */
enum skel_err skel_mem_copy(struct skel_qp *qp, u32 stag, u32 right, u64 addr,
			    u8 *buf, u32 len)
{
	const struct skel_pages *pages;
	enum skel_err err;
	struct skel_mr *mr;
	u64 off;
	u32 n;

	/* For no bytes the STag is not checked (RFC 5040 5.1, 5.2.1). */
	if (!len)
		return SKEL_OK;
	if (stag == SKEL_LOCAL_DMA_LKEY && !(right & MR_REMOTE)) {
		if (buf)
			mem_move(addr, buf, len, right & MR_WRITE);
		return SKEL_OK;
	}
	mr = mr_find(qp->dev, stag);
	err = mr_check(mr, qp, stag, right, addr, len);
	if (err || !buf)
		return err;
	pages = &mr->pages;
	for (off = pages->skip + (addr - mr->base); len;
	     off += n, buf += n, len -= n) {
		u32 at = off & ((1 << pages->shift) - 1);

		n = min(len, (1U << pages->shift) - at);
		mem_move(pages->page[off >> pages->shift] + at, buf, n,
			 right & MR_WRITE);
	}
	return SKEL_OK;
}

/* skel_mem_copy() at @off of @sge, a list with at least @off + @len bytes */
enum skel_err skel_sge_copy(struct skel_qp *qp, const struct ib_sge *sge,
			    u32 right, u32 off, u8 *buf, u32 len)
{
	enum skel_err err = SKEL_OK;
	u32 n;

	for (; len && !err; sge++) {
		if (off >= sge->length) {
			off -= sge->length;
			continue;
		}
		n = min(len, sge->length - off);
		err = skel_mem_copy(qp, sge->lkey, right, sge->addr + off, buf,
				    n);
		off = 0;
		len -= n;
		if (buf)
			buf += n;
	}
	return err;
}

/*
 * Check the access rights of a registration. Returns 0; -EOPNOTSUPP for a right
 * that this device does not have; -EINVAL for REMOTE_WRITE without LOCAL_WRITE.
 */
int skel_mr_check_access(struct ib_device *ibdev, int access)
{
	if (access & ~(MR_REMOTE | IB_ACCESS_LOCAL_WRITE | IB_ACCESS_OPTIONAL))
		return -EOPNOTSUPP;
	return ib_check_mr_access(ibdev, access);
}

/*
 * IB_WR_REG_MR: make the region valid, with the pages of the last map_mr_sg. If
 * map_mr_sg has run since the post, a ULP that could not post what follows
 * prepares the region again: then this REG_MR has no effect.
 */
int skel_mr_register(struct skel_qp *qp, const struct skel_wqe *wqe)
{
	struct skel_mr *mr = mr_find(qp->dev, wqe->rkey);
	bool same;

	if (!mr || mr->valid || mr->ib.pd != qp->ib.pd)
		return -EINVAL;
	spin_lock_irq(&qp->dev->spin);
	same = mr->maps == wqe->maps;
	if (same)
		mr->pages = mr->next;
	spin_unlock_irq(&qp->dev->spin);
	if (!same)
		return 0;
	if (!mr->pages.size)
		return -EINVAL;
	mr->stag = wqe->rkey;
	mr->base = wqe->raddr;
	mr->access = wqe->access;
	mr->valid = true;
	return 0;
}

/*
 * A local work request may invalidate an STag that is invalid already, since a
 * Send with Invalidate of the peer may have come first. A peer may invalidate
 * only an STag with a remote access right (RFC 5040 5.3).
 */
enum skel_err skel_mr_invalidate(struct skel_qp *qp, u32 stag, bool remote)
{
	struct skel_mr *mr = mr_find(qp->dev, stag);

	if (!mr || mr->stag != stag || (remote && !mr->valid))
		return SKEL_E_INV_STAG;
	if (mr->ib.pd != qp->ib.pd)
		return SKEL_E_INV_PD;
	if (remote && !(mr->access & MR_REMOTE))
		return SKEL_E_INV_STAG;
	mr->valid = false;
	return SKEL_OK;
}

/*
 * The RDMA core calls this if a ULP asks for an rkey of all memory
 * (IB_PD_UNSAFE_GLOBAL_RKEY). The device has no such rkey, as a peer could use
 * it for any address. SGEs of the ULP itself have local_dma_lkey.
 */
static struct ib_mr *skel_get_dma_mr(struct ib_pd *pd, int access)
{
	return ERR_PTR(-EOPNOTSUPP);
}

/*
 * reg_user_mr is a verb for applications, but the RDMA core offers ULPs of the
 * kernel only devices that have it.
 */
struct ib_mr *skel_reg_user_mr(struct ib_pd *pd, u64 start, u64 len, u64 iova,
			       int access, struct ib_dmah *dmah,
			       struct ib_udata *udata)
{
	return ERR_PTR(-EOPNOTSUPP);
}

/* Choose a random STag, so that a peer cannot guess it (RFC 5040 8.1.1). */
static int mr_publish(struct skel_dev *dev, struct skel_mr *mr)
{
	int tries, err = -EBUSY;

	for (tries = 0; err == -EBUSY && tries < MR_STAG_TRIES; tries++) {
		mr->stag = get_random_u32();
		if (mr->stag >> 8 && mr->stag >> 8 != SKEL_LOCAL_DMA_LKEY >> 8)
			err = xa_insert(&dev->mrs, mr->stag >> 8, mr,
					GFP_KERNEL);
	}
	mr->ib.lkey = mr->stag;
	mr->ib.rkey = mr->stag;
	return err ? -ENOMEM : 0;
}

/* alloc_mr: a region without memory. Its STag is not valid before REG_MR. */
static struct ib_mr *skel_alloc_mr(struct ib_pd *pd, enum ib_mr_type type,
				   u32 max_pages)
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
	if (mr_publish(to_skel_dev(pd->device), mr)) {
		kfree(mr);
		return ERR_PTR(-ENOMEM);
	}
	return &mr->ib;
}

static int mr_set_page(struct ib_mr *ibmr, u64 addr)
{
	struct skel_mr *mr = to_skel_mr(ibmr);

	if (mr->next.count == mr->max_pages)
		return -ENOMEM;
	mr->next.page[mr->next.count++] = addr;
	return 0;
}

/*
 * map_mr_sg stores the pages for the next REG_MR; a registration that is valid
 * does not change. REG_MR may be executed at the same time: dev->spin. The
 * region's first address, which peers get, is only its offset in the first
 * page, so that it shows no address of the kernel.
 */
static int skel_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sgl,
			  int nents, unsigned int *off)
{
	struct skel_dev *dev = to_skel_dev(ibmr->device);
	struct skel_mr *mr = to_skel_mr(ibmr);
	unsigned long flags;
	int mapped;

	spin_lock_irqsave(&dev->spin, flags);
	mr->maps++;
	mr->next.count = 0;
	mr->next.size = 0;
	mapped = ib_sg_to_pages(ibmr, sgl, nents, off, mr_set_page);
	if (mapped >= 0) {
		ibmr->iova &= ibmr->page_size - 1;
		mr->next.shift = ilog2(ibmr->page_size);
		mr->next.skip = ibmr->iova;
		mr->next.size = ibmr->length;
	}
	spin_unlock_irqrestore(&dev->spin, flags);
	return mapped;
}

/* dereg_mr: with dev->lock held no copy uses the region (RFC 5040 8.1.1). */
static int skel_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct skel_dev *dev = to_skel_dev(ibmr->device);
	struct skel_mr *mr = to_skel_mr(ibmr);

	mutex_lock(&dev->lock);
	xa_erase(&dev->mrs, mr->stag >> 8);
	mutex_unlock(&dev->lock);
	kfree(mr);
	return 0;
}

const struct ib_device_ops skel_mr_ops = {
	.alloc_mr	= skel_alloc_mr,
	.dereg_mr	= skel_dereg_mr,
	.get_dma_mr	= skel_get_dma_mr,
	.map_mr_sg	= skel_map_mr_sg,
	.reg_user_mr	= skel_reg_user_mr,
};

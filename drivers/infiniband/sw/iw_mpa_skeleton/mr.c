// SPDX-License-Identifier: GPL-2.0
/*
 * STags, and the memory that they stand for.
 *
 * An STag has 24 bits of index, chosen at random, and 8 bits of key, which the
 * ULP changes with each registration. The device has no DMA: the core gives it
 * virtual addresses in place of bus addresses; there is no high memory.
 */

#include "skel.h"

#include <linux/log2.h>
#include <linux/random.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

#define MR_REMOTE	(IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ)
#define MR_WRITE	(IB_ACCESS_REMOTE_WRITE | IB_ACCESS_LOCAL_WRITE)
#define MR_STAG_TRIES	64

/* The region stays until dev->lock is dropped: skel_dereg_mr() takes it. */
static struct skel_mr *mr_find(struct skel_dev *dev, u32 stag)
{
	lockdep_assert_held(&dev->lock);
	return xa_load(&dev->mrs, stag >> 8);
}

/*
 * RFC 5040 8.1.1, RFC 5041 7.1: the STag is valid, of the QP's protection
 * domain, and has the right; the range is within the region. No sum is formed
 * that could wrap. The last byte of the address space cannot be accessed, since
 * a sum of 0 counts as a wrap.
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
 * nothing. @right says what for: REMOTE_WRITE or LOCAL_WRITE to memory,
 * REMOTE_READ or 0 from memory. Only local work requests may name
 * SKEL_LOCAL_DMA_LKEY. Without @buf the range is only checked. Nothing else
 * reads or writes memory of the ULP. The errors are those of a Read Request if
 * @right is REMOTE_READ, else those of a tagged message.
 */
enum skel_err skel_mem_copy(struct skel_qp *qp, u32 stag, u32 right, u64 addr,
			    u8 *buf, u32 len)
{
	const struct skel_pages *pages;
	enum skel_err err;
	struct skel_mr *mr;
	u64 off;
	u32 n;

	/* Without bytes no STag is checked (RFC 5040 5.1, 5.2.1). */
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

/* The same at @off of a list of SGEs, which has to be long enough */
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

/* Returns 0; -EOPNOTSUPP: unknown right; -EINVAL: remote Write without local */
int skel_mr_check_access(struct ib_device *ibdev, int access)
{
	if (access & ~(MR_REMOTE | IB_ACCESS_LOCAL_WRITE | IB_ACCESS_OPTIONAL))
		return -EOPNOTSUPP;
	return ib_check_mr_access(ibdev, access);
}

/* IB_WR_REG_MR: the region becomes valid, with the pages mapped last. */
int skel_mr_register(struct skel_qp *qp, const struct skel_wqe *wqe)
{
	struct skel_mr *mr = mr_find(qp->dev, wqe->rkey);

	if (!mr || mr->valid || mr->ib.pd != qp->ib.pd)
		return -EINVAL;
	/* No pages are mapped, or others since REG_MR was posted. */
	if (!mr->next.size || mr->next.size != wqe->bytes)
		return -EINVAL;
	mr->pages = mr->next;
	mr->stag = wqe->rkey;
	mr->base = wqe->raddr;
	mr->access = wqe->access;
	mr->valid = true;
	return 0;
}

/*
 * The owner may invalidate an STag that is invalid already: a Send of the peer
 * may have been faster. A peer may invalidate only an STag with a remote right
 * (RFC 5040 5.3).
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
 * The core calls this if a ULP wants a key of all memory for its peers. There
 * is no such key. For the ULP's own SGEs there is local_dma_lkey.
 */
static struct ib_mr *skel_get_dma_mr(struct ib_pd *pd, int access)
{
	return ERR_PTR(-EOPNOTSUPP);
}

/* For applications; but the core gives no ULP a device that lacks the verb. */
struct ib_mr *skel_reg_user_mr(struct ib_pd *pd, u64 start, u64 len, u64 iova,
			       int access, struct ib_dmah *dmah,
			       struct ib_udata *udata)
{
	return ERR_PTR(-EOPNOTSUPP);
}

/* The STag is random, so that a peer cannot guess it (RFC 5040 8.1.1). */
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
 * A valid registration does not change: the list is for the next registration.
 * The region's first address is its offset in the first page: peers learn this
 * address, and no peer has to know the kernel's addresses.
 */
static int skel_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sgl,
			  int nents, unsigned int *off)
{
	struct skel_mr *mr = to_skel_mr(ibmr);
	int mapped;

	mr->next.count = 0;
	mr->next.size = 0;
	mapped = ib_sg_to_pages(ibmr, sgl, nents, off, mr_set_page);
	if (mapped < 0)
		return mapped;
	ibmr->iova &= ibmr->page_size - 1;
	mr->next.shift = ilog2(ibmr->page_size);
	mr->next.skip = ibmr->iova;
	mr->next.size = ibmr->length;
	return mapped;
}

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

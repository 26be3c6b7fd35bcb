// SPDX-License-Identifier: GPL-2.0
/* Memory regions are made, mapped and given back here. stag.c accesses them. */

#include "mr.h"
#include "ring.h"
#include "stag.h"
#include "target.h"

#include <linux/slab.h>
#include <rdma/ib_umem.h>
#include <rdma/iter.h>
#include <rdma/uverbs_ioctl.h>

/* Sizes of blocks that pinned memory may consist of: pages and huge pages */
#define MR_BLOCKS	(PAGE_SIZE | SZ_2M | SZ_1G)

/*
 * A region of a process's memory is charged to its cgroup; other regions are charged to nobody. The
 * table of STags makes no such difference: see "Security" in srnic.rst.
 */
static struct srnic_mr *mr_alloc(struct ib_pd *pd, enum srnic_mr_kind kind)
{
	gfp_t gfp = kind == SRNIC_MR_USER ? GFP_KERNEL_ACCOUNT : GFP_KERNEL;
	struct srnic_dev *dev = to_srnic_dev(pd->device);
	struct srnic_mr *mr;

	if (!atomic_add_unless(&dev->objects.mr, 1, SRNIC_MAX_MR))
		return NULL;
	mr = kzalloc_obj(*mr, gfp);
	if (!mr) {
		atomic_dec(&dev->objects.mr);
		return NULL;
	}
	srnic_stag_setup(mr);
	mr->kind = kind;
	mr->ibmr.device = pd->device;
	mr->ibmr.pd = pd;
	return mr;
}

/* Nobody accesses the memory any more. Readers of the table may still look at the structure. */
static void mr_free(struct srnic_mr *mr)
{
	struct srnic_dev *dev = to_srnic_dev(mr->ibmr.device);

	switch (mr->kind) {
	case SRNIC_MR_DMA:
		break;
	case SRNIC_MR_USER:
		if (mr->blocks != &mr->block)
			kvfree(mr->blocks);
		if (mr->umem)
			ib_umem_release(mr->umem);
		break;
	case SRNIC_MR_FAST:
		kvfree(mr->map[0]);
		kvfree(mr->map[1]);
		break;
	}
	atomic_dec(&dev->objects.mr);
	kfree_rcu(mr, rcu);
}

static struct ib_mr *mr_publish(struct srnic_mr *mr)
{
	int err = srnic_stag_add(to_srnic_dev(mr->ibmr.device), mr);

	if (err) {
		mr_free(mr);
		return ERR_PTR(err);
	}
	return &mr->ibmr;
}

/**
 * srnic_get_dma_mr - ib_device_ops.get_dma_mr
 * @pd: protection domain of a kernel ULP
 * @access: set of IB_ACCESS_*
 *
 * The region is all memory of the kernel, for local work requests. A peer never gets a right to it.
 *
 * Context: process.
 *
 * Return: the region, or an ERR_PTR().
 */
struct ib_mr *srnic_get_dma_mr(struct ib_pd *pd, int access)
{
	struct srnic_mr *mr;

	if (access & ~IB_ACCESS_LOCAL_WRITE)
		return ERR_PTR(-EOPNOTSUPP);
	mr = mr_alloc(pd, SRNIC_MR_DMA);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->access = access;
	mr->size = U64_MAX;
	mr->valid = true;
	return mr_publish(mr);
}

static int mr_fill_blocks(struct srnic_mr *mr, unsigned long size)
{
	size_t count = ib_umem_num_dma_blocks(mr->umem, size);
	struct ib_block_iter biter;
	u64 *block;

	mr->block_shift = ilog2(size);
	mr->block_off = ib_umem_dma_offset(mr->umem, size);
	mr->blocks = &mr->block;
	if (count > 1)
		mr->blocks = kvmalloc_array(count, sizeof(*mr->blocks),
					    GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!mr->blocks)
		return -ENOMEM;
	block = mr->blocks;
	rdma_umem_for_each_dma_block(mr->umem, &biter, size) {
		*block = rdma_block_iter_dma_address(&biter);
		block++;
	}
	return 0;
}

static int mr_pin(struct srnic_mr *mr, u64 start, u64 len, u64 iova, int access)
{
	unsigned long size;

	mr->umem = ib_umem_get_va(mr->ibmr.device, start, len, access);
	if (IS_ERR(mr->umem)) {
		int err = PTR_ERR(mr->umem);

		mr->umem = NULL;
		return err;
	}
	size = ib_umem_find_best_pgsz(mr->umem, MR_BLOCKS, iova);
	if (!size)
		return -EINVAL;
	return mr_fill_blocks(mr, size);
}

/**
 * srnic_reg_user_mr - ib_device_ops.reg_user_mr: an application registers memory
 * @pd: its protection domain
 * @start: its address
 * @len: octets, > 0
 * @iova: what the first octet is called in work requests and on the wire
 * @access: set of IB_ACCESS_*
 * @dmah: a hint where DMA should go, which is refused: there is no DMA here
 * @udata: the application's, who cannot choose the key; NULL if a kernel ULP registers memory of
 *	the current process
 *
 * Context: process.
 *
 * Return: the region, or an ERR_PTR().
 */
struct ib_mr *srnic_reg_user_mr(struct ib_pd *pd, u64 start, u64 len, u64 iova, int access,
				struct ib_dmah *dmah, struct ib_udata *udata)
{
	struct siw_uresp_reg_mr resp = {};
	struct srnic_mr *mr;
	struct ib_mr *ibmr;
	int err;

	if (!len || !srnic_stag_is_possible(start, len, ULONG_MAX))
		return ERR_PTR(-EINVAL);
	if (dmah)
		return ERR_PTR(-EOPNOTSUPP);
	err = srnic_stag_check_access(pd->device, access);
	if (err)
		return ERR_PTR(err);
	err = srnic_udata_check(udata, sizeof(resp));
	if (err)
		return ERR_PTR(err);
	mr = mr_alloc(pd, SRNIC_MR_USER);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	err = mr_pin(mr, start, len, iova, access);
	if (err) {
		mr_free(mr);
		return ERR_PTR(err);
	}
	mr->access = access & SRNIC_ACCESS;
	mr->base = iova;
	mr->size = mr->umem->length;
	mr->valid = true;
	ibmr = mr_publish(mr);
	if (IS_ERR(ibmr) || !udata)
		return ibmr;
	resp.stag = ibmr->lkey;
	err = ib_copy_to_udata(udata, &resp, sizeof(resp));
	if (err) {
		srnic_dereg_mr(ibmr, udata);
		return ERR_PTR(err);
	}
	return ibmr;
}

/**
 * srnic_alloc_mr - ib_device_ops.alloc_mr
 * @pd: protection domain of a kernel ULP
 * @type: IB_MR_TYPE_MEM_REG or IB_MR_TYPE_SG_GAPS, without a difference
 * @max_sg: pieces that are to be mapped, 1..SRNIC_MAX_FAST_SG
 *
 * Context: process.
 *
 * Return: the region, not valid yet, or an ERR_PTR().
 */
struct ib_mr *srnic_alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 max_sg)
{
	struct srnic_mr *mr;
	int i;

	if (type != IB_MR_TYPE_MEM_REG && type != IB_MR_TYPE_SG_GAPS)
		return ERR_PTR(-EOPNOTSUPP);
	if (!max_sg || max_sg > SRNIC_MAX_FAST_SG)
		return ERR_PTR(-EINVAL);
	mr = mr_alloc(pd, SRNIC_MR_FAST);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->max_extents = max_sg;
	for (i = 0; i < 2; i++) {
		mr->map[i] = kvcalloc(max_sg, sizeof(*mr->map[i]), GFP_KERNEL);
		if (!mr->map[i]) {
			mr_free(mr);
			return ERR_PTR(-ENOMEM);
		}
	}
	return mr_publish(mr);
}

/**
 * srnic_map_mr_sg - ib_device_ops.map_mr_sg
 * @ibmr: from srnic_alloc_mr()
 * @sg: pieces, mapped
 * @nents: how many
 * @off: octets of the first piece to leave out, or NULL
 *
 * Context: any.
 *
 * Return: pieces that are mapped.
 */
int srnic_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int nents, unsigned int *off)
{
	return srnic_target_map(to_srnic_mr(ibmr), sg, nents, off);
}

/**
 * srnic_dereg_mr - ib_device_ops.dereg_mr
 * @ibmr: any region
 * @udata: not used
 *
 * When it returns nobody accesses the memory.
 *
 * Context: process.
 *
 * Return: 0.
 */
int srnic_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct srnic_mr *mr = to_srnic_mr(ibmr);

	srnic_stag_remove(to_srnic_dev(ibmr->device), mr);
	mr_free(mr);
	return 0;
}

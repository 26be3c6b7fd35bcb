// SPDX-License-Identifier: GPL-2.0
/*
 * An STag is 24 bits of index, chosen at random, and 8 bits of key.
 *
 * To access a memory region, RX or the sender "holds" it: it finds the region
 * under RCU, and takes mr->lock for reading. While it holds the region, key,
 * protection domain, rights and size cannot change, so they are checked once
 * for a run of segments. Invalidation and deregistration take mr->lock for
 * writing: after they return the memory is never accessed again (RFC 5040
 * 8.1.1). Softirqs are off while mr->lock is held, so a hold ends after
 * SRNIC_MEM_HOLD bytes, or after one FPDU if that is longer.
 *
 * A reader with softirqs off gets an rwlock before a writer that waits for it.
 * If peers kept two CPUs busy with one region, a writer would never get
 * mr->lock. So a writer first closes a gate: it takes mr->gate and sets
 * mr->closed. A holder checks mr->closed before each FPDU, and ends its hold if
 * that is set; each CPU has at most one holder. Readers that find mr->closed
 * set wait for mr->gate, until the writer is done.
 *
 * srnic devices have no DMA: the RDMA core passes virtual addresses in place of
 * bus addresses, and each page has one, since srnic is not built for kernels
 * with high memory.
 */

#include "mem.h"
#include "ring.h"

#include <linux/bottom_half.h>
#include <linux/random.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <rdma/ib_umem.h>
#include <rdma/iter.h>
#include <rdma/uverbs_ioctl.h>

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

/*
 * Checks the access flags of a registration. Returns 0; -EOPNOTSUPP for a right
 * that srnic does not support; -EINVAL if a right is missing that another one
 * needs: IB_ACCESS_REMOTE_WRITE and _ATOMIC need IB_ACCESS_LOCAL_WRITE.
 */
int srnic_stag_check_access(struct ib_device *ibdev, int access)
{
	if (access & ~(SRNIC_ACCESS | SRNIC_ACCESS_VOID))
		return -EOPNOTSUPP;
	return ib_check_mr_access(ibdev, access);
}

/* Give @mr a random index and key (RFC 5040 8.1.1, rule 8). 0 or -ENOMEM. */
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

static void stag_make_invalid(struct srnic_mr *mr)
{
	lockdep_assert_held_write(&mr->lock);
	/*
	 * Release: who held the region has read its table of extents, then
	 * srnic_map_mr_sg() may fill that table again.
	 */
	smp_store_release(&mr->valid, false);
}

void srnic_stag_remove(struct srnic_dev *dev, struct srnic_mr *mr)
{
	xa_erase(&dev->mrs, stag_index(mr->stag));
	stag_lock(mr);
	stag_make_invalid(mr);
	mr->removed = true;
	stag_unlock(mr);
}

static enum srnic_mem_fault hold_check(const struct srnic_mr *mr,
				       const struct srnic_name *name)
{
	if (!mr->valid || mr->stag != name->stag)
		return SRNIC_MEM_STAG;
	if (mr->ibmr.pd != name->pd)
		return SRNIC_MEM_PD;
	if ((mr->access & name->rights) != name->rights)
		return SRNIC_MEM_RIGHT;
	return SRNIC_MEM_OK;
}

/*
 * Stop holding the present region, and hold the one that @name names: take its
 * mr->lock for reading. The cursor of @hold, the position of the next access,
 * restarts at the region's first byte, since the same STag may have been
 * registered for other memory. After a fault no region is held. Nor is one for
 * SRNIC_LOCAL_DMA_LKEY: the kernel's own memory is never invalidated.
 */
enum srnic_mem_fault srnic_hold_take(struct srnic_dev *dev,
				     struct srnic_hold *hold,
				     const struct srnic_name *name)
{
	enum srnic_mem_fault fault;
	struct srnic_mr *mr;

	srnic_hold_drop(hold);
	if (name->kernel && name->stag == SRNIC_LOCAL_DMA_LKEY)
		return SRNIC_MEM_OK;

	rcu_read_lock();
	mr = xa_load(&dev->mrs, stag_index(name->stag));
	if (!mr) {
		rcu_read_unlock();
		return SRNIC_MEM_STAG;
	}
	stag_lock_shared(mr);
	fault = hold_check(mr, name);
	if (fault) {
		stag_unlock_shared(mr);
		rcu_read_unlock();
		return fault;
	}
	*hold = (struct srnic_hold) {
		.mr	= mr,
		.is	= *name,
		.quota	= SRNIC_MEM_HOLD - hold->cost,
		.cost	= hold->cost,
	};
	__release(&mr->lock);
	__release(RCU);
	return SRNIC_MEM_OK;
}

void srnic_hold_end(struct srnic_hold *hold)
{
	struct srnic_mr *mr = hold->mr;

	hold->mr = NULL;
	__acquire(RCU);
	__acquire(&mr->lock);
	stag_unlock_shared(mr);
	rcu_read_unlock();
}

/*
 * A ULP may map other memory while a REG_MR is posted and not executed: when it
 * gives up a command that is half made, or when a peer answers one that was not
 * sent yet. So REG_MR has the region's @mapping at the time of its post. If
 * there was an ib_map_mr_sg() since, REG_MR succeeds, but the region stays
 * invalid, as if LOCAL_INV had followed.
 *
 * @active, which has the table of a valid registration, is written here alone.
 */
static int stag_register(struct srnic_mr *mr, const struct ib_pd *pd, u32 stag,
			 u64 base, u64 size, u32 access, u32 mapping)
{
	u8 table = mapping & SRNIC_MAPPING_TABLE;
	int err = 0;

	/* srnic_stag_remove() may have run since the caller found @mr. */
	if (mr->removed || mr->kind != SRNIC_MR_FAST || mr->valid ||
	    mr->ibmr.pd != pd)
		return -EINVAL;
	mr->stag = stag;
	if (READ_ONCE(mr->mapping) != mapping)
		return 0;
	/* srnic_map_mr_sg() may be filling the table: see below. */
	if (size > data_race(srnic_target_size(mr, table)))
		err = -EINVAL;
	WRITE_ONCE(mr->active, table);
	mr->base = base;
	mr->size = size;
	mr->access = access & SRNIC_ACCESS;
	/* Release: write @active, then let srnic_map_mr_sg() read it. */
	smp_store_release(&mr->valid, true);
	/*
	 * Pairs with srnic_map_mr_sg(): either that sees a valid region, and
	 * fills the other table, or its mapping is seen here.
	 */
	smp_mb();
	if (READ_ONCE(mr->mapping) != mapping)
		err = 0;
	else if (!err)
		return 0;
	stag_make_invalid(mr);
	return err;
}

/*
 * Register a region with the pages of its @mapping.
 *
 * Returns 0; -EINVAL if no region has the STag's index, or if the region with
 * that index is valid already, is of another protection domain, was not made by
 * alloc_mr, or has fewer than @size bytes.
 */
int srnic_stag_register(struct srnic_dev *dev, const struct ib_pd *pd, u32 stag,
			u64 base, u64 size, u32 access, u32 mapping)
{
	struct srnic_mr *mr;
	int err = -EINVAL;

	rcu_read_lock();
	mr = xa_load(&dev->mrs, stag_index(stag));
	if (mr) {
		stag_lock(mr);
		err = stag_register(mr, pd, stag, base, size, access, mapping);
		stag_unlock(mr);
	}
	rcu_read_unlock();
	return err;
}

static enum srnic_err stag_may_invalidate(const struct srnic_mr *mr,
					  const struct ib_pd *pd, u32 stag,
					  bool remote)
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

/*
 * Invalidate an STag. If the ULP asks for that, and the STag is invalid
 * already, there is no error: a Send of the peer may have invalidated the STag
 * after the work request was posted. If the peer asks (@remote), the STag must
 * be valid, of the QP's protection domain, fast-registered, and have a remote
 * right (RFC 5040 5.3, 8.1.1).
 */
enum srnic_err srnic_stag_invalidate(struct srnic_dev *dev,
				     const struct ib_pd *pd, u32 stag,
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
			stag_make_invalid(mr);
		stag_unlock(mr);
	}
	rcu_read_unlock();
	return err;
}

/* Returns the index of the first extent that ends after offset @off. */
static u32 target_find(const struct srnic_mr *mr, u64 off)
{
	const struct srnic_extent *map = mr->map[mr->active];
	u32 low = 0, high = mr->extents[mr->active];

	while (low < high) {
		u32 middle = (low + high) / 2;

		if (map[middle].end <= off)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Move the cursor to offset @off, which must be within the region. */
void srnic_hold_seek(struct srnic_hold *hold, u64 off)
{
	hold->off = off;
	hold->left = 0;
	if (hold->mr->kind == SRNIC_MR_FAST)
		hold->next = target_find(hold->mr, off);
}

static void hold_piece_user(struct srnic_hold *hold)
{
	const struct srnic_mr *mr = hold->mr;
	const u64 size = 1ULL << mr->block_shift;
	u64 pos = mr->block_off + hold->off;
	u64 within = pos & (size - 1);

	hold->va = ib_virt_dma_to_ptr(mr->blocks[pos >> mr->block_shift] +
				      within);
	hold->left = size - within;
}

static void hold_piece_fast(struct srnic_hold *hold)
{
	const struct srnic_extent *map = hold->mr->map[hold->mr->active];
	u32 begin;

	while (map[hold->next].end <= hold->off)
		hold->next++;
	map += hold->next;
	begin = hold->next ? map[-1].end : 0;
	hold->va = map->va + (hold->off - begin);
	hold->left = map->end - hold->off;
}

void srnic_hold_next_piece(struct srnic_hold *hold)
{
	switch (hold->mr->kind) {
	case SRNIC_MR_DMA:
		hold->va = ib_virt_dma_to_ptr(hold->off);
		hold->left = U32_MAX;
		break;
	case SRNIC_MR_USER:
		hold_piece_user(hold);
		break;
	case SRNIC_MR_FAST:
		hold_piece_fast(hold);
		break;
	}
}

noinline void srnic_hold_read(struct srnic_hold *hold, u8 *to, u32 len)
{
	while (len) {
		u32 n = len;
		u8 *va = srnic_hold_piece(hold, &n);

		memcpy(to, va, n);
		to += n;
		len -= n;
	}
}

u64 srnic_target_size(const struct srnic_mr *mr, u8 table)
{
	u32 n = mr->extents[table];

	return n ? mr->map[table][n - 1].end : 0;
}

/*
 * Append memory; if it begins where the last extent ends, extend that one.
 * Returns false if there are @max extents, or offsets would exceed 32 bits.
 */
static bool target_append(struct srnic_extent *map, u32 *n, u32 max, void *va,
			  u32 len)
{
	u32 before = *n ? map[*n - 1].end : 0;
	u32 begin = *n > 1 ? map[*n - 2].end : 0;

	if (len > U32_MAX - before)
		return false;
	if (*n && map[*n - 1].va + (before - begin) == va) {
		map[*n - 1].end += len;
		return true;
	}
	if (*n == max)
		return false;
	map[*n] = (struct srnic_extent) { .va = va, .end = before + len };
	++*n;
	return true;
}

/*
 * Returns a table of extents to be filled: one that nobody reads. A ULP in
 * atomic context cannot wait for memory, and it may need the region to free
 * memory: so the table may come from the reserves, and once allocated it is
 * kept. ULPs do not expect that this fails. NULL: no memory.
 */
static struct srnic_extent *target_table(struct srnic_mr *mr, u8 table)
{
	if (!mr->map[table])
		mr->map[table] = kmalloc_array(mr->max_extents,
					       sizeof(*mr->map[table]),
					       GFP_ATOMIC | __GFP_MEMALLOC |
					       __GFP_NOWARN);
	return mr->map[table];
}

/*
 * Fill the region's table of extents. A valid region keeps its memory until it
 * is registered again: then fill the other table. Few ULPs need a second one,
 * since most wait for the end of the invalidation before they map other memory.
 * A REG_MR that was posted before, and not executed yet, finds another
 * @mapping, and leaves the region invalid.
 *
 * Entries of @sgl may begin and end anywhere; in the region they follow each
 * other without gaps. ibmr->iova is not the memory's address, but only the
 * first entry's offset in its page: ULPs send iova to their peers, which need
 * not learn the kernel's addresses.
 *
 * Returns how many entries were mapped; -EINVAL if @nents is not positive, or
 * *@off is beyond the first entry; -ENOMEM if there is no memory for a second
 * table. After an error the tables are as they were, but a REG_MR that was not
 * executed yet has no effect.
 */
int srnic_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sgl, int nents,
		    unsigned int *off)
{
	struct srnic_mr *mr = to_srnic_mr(ibmr);
	const u32 mapping = mr->mapping + SRNIC_MAPPING_COUNT;
	unsigned int skip = off ? *off : 0;
	struct srnic_extent *map;
	struct scatterlist *sg;
	u32 n = 0;
	u8 table;
	int i;

	if (nents <= 0 || skip > sg_dma_len(sgl))
		return -EINVAL;
	WRITE_ONCE(mr->mapping, mapping);
	smp_mb();	/* pairs with stag_register() */
	/* Acquire: pairs with stag_make_invalid() and stag_register(). */
	table = smp_load_acquire(&mr->valid);
	table ^= READ_ONCE(mr->active);
	map = target_table(mr, table);
	if (!map)
		return -ENOMEM;
	ibmr->iova = (sg_dma_address(sgl) + skip) % PAGE_SIZE;
	ibmr->length = 0;
	for_each_sg(sgl, sg, nents, i) {
		u32 len = sg_dma_len(sg) - skip;

		if (len &&
		    !target_append(map, &n, mr->max_extents,
				   ib_virt_dma_to_ptr(sg_dma_address(sg) +
						      skip), len))
			break;
		ibmr->length += len;
		skip = 0;
	}
	if (off)
		*off = 0;
	mr->extents[table] = n;
	WRITE_ONCE(mr->mapping, (mapping & ~SRNIC_MAPPING_TABLE) | table);
	return i;
}

/* Sizes of the blocks in which mr->blocks records memory: pages, huge pages */
#define MR_BLOCKS	(PAGE_SIZE | SZ_2M | SZ_1G)

/*
 * The structure of an application's region is charged to the memory cgroup of
 * the application, that of a kernel ULP's region to none. The XArray of STags
 * is charged for both kinds: see "Security" in srnic.rst.
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
	rwlock_init(&mr->lock);
	spin_lock_init(&mr->gate);
	mr->kind = kind;
	mr->ibmr.device = pd->device;
	mr->ibmr.pd = pd;
	return mr;
}

/* Free a region that is not accessed any more; RCU: lookups may read @mr. */
static void mr_free(struct srnic_mr *mr)
{
	struct srnic_dev *dev = to_srnic_dev(mr->ibmr.device);

	switch (mr->kind) {
	case SRNIC_MR_DMA:
		break;
	case SRNIC_MR_USER:
		if (mr->blocks != &mr->block)
			kvfree(mr->blocks);
		if (!IS_ERR(mr->umem))
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

/* A region of all kernel memory, for local access only: peers get no right. */
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
	if (IS_ERR(mr->umem))
		return PTR_ERR(mr->umem);
	size = ib_umem_find_best_pgsz(mr->umem, MR_BLOCKS, iova);
	if (!size)
		return -EINVAL;
	return mr_fill_blocks(mr, size);
}

struct ib_mr *srnic_reg_user_mr(struct ib_pd *pd, u64 start, u64 len, u64 iova,
				int access, struct ib_dmah *dmah,
				struct ib_udata *udata)
{
	struct siw_uresp_reg_mr resp = {};
	struct srnic_mr *mr;
	struct ib_mr *ibmr;
	int err;

	if (!len || !srnic_stag_is_possible(start, len, ULONG_MAX))
		return ERR_PTR(-EINVAL);
	if (dmah)
		return ERR_PTR(-EOPNOTSUPP);
	err = srnic_stag_check_access(pd->device, access) ?:
	      srnic_udata_check(udata, sizeof(resp));
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

struct ib_mr *srnic_alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 max_sg)
{
	struct srnic_mr *mr;

	if (type != IB_MR_TYPE_MEM_REG && type != IB_MR_TYPE_SG_GAPS)
		return ERR_PTR(-EOPNOTSUPP);
	if (!max_sg || max_sg > SRNIC_MAX_FAST_SG)
		return ERR_PTR(-EINVAL);
	mr = mr_alloc(pd, SRNIC_MR_FAST);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->max_extents = max_sg;
	mr->map[0] = kvmalloc_array(max_sg, sizeof(*mr->map[0]), GFP_KERNEL);
	if (!mr->map[0]) {
		mr_free(mr);
		return ERR_PTR(-ENOMEM);
	}
	return mr_publish(mr);
}

/* After dereg_mr neither RX nor the sender accesses the memory any more. */
int srnic_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct srnic_mr *mr = to_srnic_mr(ibmr);

	srnic_stag_remove(to_srnic_dev(ibmr->device), mr);
	mr_free(mr);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0 */
/* STags, and the memory that they stand for. */
#ifndef _SRNIC_MEM_H
#define _SRNIC_MEM_H

#include "srnic.h"

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

/**
 * typedef srnic_step_fn - what is done with a piece of memory
 * @arg: the caller's
 * @va: its first octet
 * @len: octets, > 0
 *
 * Context: softirqs are off, and a lock is held; must not sleep.
 */
typedef void (*srnic_step_fn)(void *arg, void *va, size_t len);

/**
 * struct srnic_mem - a piece of registered memory, as somebody names it
 * @pd: protection domain of whoever wants to access it
 * @stag: STag
 * @rights: IB_ACCESS_* that are needed, all of them; 0 to read for a local work request
 * @addr: address of the first octet
 * @len: octets
 * @kernel: the name comes from a kernel ULP: @stag may be SRNIC_LOCAL_DMA_LKEY
 */
struct srnic_mem {
	const struct ib_pd	*pd;
	u32			stag;
	u32			rights;
	u64			addr;
	u32			len;
	bool			kernel;
};

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
enum srnic_mem_fault srnic_mem_access(struct srnic_dev *dev, const struct srnic_mem *mem,
				      srnic_step_fn step, void *arg);
int srnic_stag_register(struct srnic_dev *dev, const struct ib_pd *pd, u32 stag, u64 base,
			u64 size, u32 access);
int srnic_stag_invalidate(struct srnic_dev *dev, const struct ib_pd *pd, u32 stag);
enum srnic_err srnic_stag_invalidate_remote(struct srnic_dev *dev, const struct ib_pd *pd,
					    u32 stag);

void srnic_target_walk(const struct srnic_mr *mr, u64 off, u32 len, srnic_step_fn step, void *arg);
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

/* SPDX-License-Identifier: GPL-2.0 */
/* Functions of the RDMA core for kernels without INFINIBAND, see iw_mpa_no_core.c */
#ifndef _IW_MPA_NO_CORE_H
#define _IW_MPA_NO_CORE_H

#include <linux/errno.h>
#include <rdma/ib_verbs.h>

/**
 * struct no_core - a fake of the RDMA core
 * @insert_err: result for a ring that a driver wants to be mapped: 0 or a negative errno
 * @entry: the last ring that was made mappable, as long as it is mappable
 * @refs: references on @entry that mmap() has
 * @mmap_free: the driver's function of this name, or NULL
 * @client: the library, which is a client of the RDMA core
 */
struct no_core {
	int			insert_err;
	struct rdma_user_mmap_entry *entry;
	int			refs;
	void			(*mmap_free)(struct rdma_user_mmap_entry *entry);
	struct ib_client	*client;
};

extern struct no_core no_core;

struct mm_struct *no_core_process_begin(void);
void no_core_process_end(void);

#endif /* _IW_MPA_NO_CORE_H */

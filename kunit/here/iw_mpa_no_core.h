/* SPDX-License-Identifier: GPL-2.0 */
/* Fakes of functions of the RDMA core, for kernels without CONFIG_INFINIBAND */
#ifndef _IW_MPA_NO_CORE_H
#define _IW_MPA_NO_CORE_H

#include <linux/errno.h>
#include <rdma/ib_verbs.h>

/**
 * struct no_core - a fake of the RDMA core
 * @insert_err: result of rdma_user_mmap_entry_insert_range(): 0 or a negative errno
 * @entry: entry of the last ring that an application may mmap(), until the driver removes it
 * @refs: references on @entry that the driver's op mmap has taken and must drop
 * @mmap_free: mmap_free of the driver's struct ib_device_ops, or NULL
 * @client: iw_mpa's struct ib_client, while it is registered with the RDMA core
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

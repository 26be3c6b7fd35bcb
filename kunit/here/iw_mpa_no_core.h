/* SPDX-License-Identifier: GPL-2.0 */
/* See iw_mpa_no_core.c. */
#ifndef _IW_MPA_NO_CORE_H
#define _IW_MPA_NO_CORE_H

#include <linux/errno.h>
#include <rdma/ib_verbs.h>

/**
 * struct no_core - what stands in for the RDMA core
 * @insert_err: what it says to a ring that is to be mapped: 0 or a negative errno
 * @entry: the last one, as long as it can be mapped
 * @refs: references on it that mmap has
 * @mmap_free: the driver's, or NULL
 * @client: the library, as a client of the RDMA core
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

/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Kbuild includes this file before siw_qp_tx.c, the code of siw's TX threads.
 * Macros here replace three functions that siw_qp_tx.c calls; since they affect
 * all uses of a name, Kbuild checks that siw_qp_tx.c has each name only once.
 */
#ifndef _SIW_MPA_TX_H
#define _SIW_MPA_TX_H

#include <linux/highmem.h>
#include <linux/kthread.h>
#include <linux/llist.h>
#include <linux/rwsem.h>
#include <net/tcp.h>
#include <rdma/ib_verbs.h>

int siw_mpa_tx_resume(struct rw_semaphore *state_lock);
bool siw_mpa_tx_queue(struct llist_node *tx_list, struct llist_head *queue);
int siw_mpa_tx_stop(struct task_struct *thread);

#ifndef SIW_MPA_OWN_FILE
#define down_read_trylock	siw_mpa_tx_resume
#define llist_add		siw_mpa_tx_queue
#define kthread_stop		siw_mpa_tx_stop
#endif

#endif

/* SPDX-License-Identifier: GPL-2.0 */
/* Declarations for kverbs_main.c and kverbs_wr.c, the files of the module kverbs */
#ifndef KVERBS_H
#define KVERBS_H

#include <linux/list.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/seq_buf.h>
#include <linux/wait.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#define MEMORY_ORDER	4
#define MAX_MEMORY_ORDER	8
#define SLAB_SIZE	4096
#define MAX_SGES	6
#define MAX_MRS		16
#define MAX_LINE	PAGE_SIZE
#define QUEUE_DEPTH	64

/* One open /dev/kverbs: the RDMA objects and the memory of the process that opened it */
struct kv {
	struct mutex lock;		/* one command at a time */
	struct rdma_cm_id *listener;
	struct rdma_cm_id *id;
	struct ib_pd *pd[2];
	struct ib_cq *cq;
	struct ib_srq *srq;		/* NULL: receives are posted to the QP */
	unsigned int srq_size;
	unsigned int cq_size;		/* 0: 4 * QUEUE_DEPTH, which cannot overflow */
	struct ib_mr *mr[MAX_MRS];
	u8 *memory;
	unsigned int order;		/* of the pages of @memory */
	u8 *slab;
	spinlock_t news_lock;		/* protects @news and the fill_ fields */
	struct list_head news;
	struct list_head wrs;		/* all work requests, freed by kv_release() */
	u64 fill_id;			/* the WR whose completion handler fills memory */
	u8 *fill_start;			/* NULL: no completion handler fills memory */
	unsigned int fill_size;
	u8 fill_octet;
	wait_queue_head_t wait;
	struct seq_buf said;
	char said_text[2 * MAX_LINE];
};

static inline struct ib_qp *qp_of(struct kv *kv)
{
	return kv->id ? kv->id->qp : NULL;
}

__printf(2, 3) void kv_happened(struct kv *kv, const char *format, ...);
void kv_forget_wrs(struct kv *kv);

int kv_mr(struct kv *kv, char *args);
int kv_user(struct kv *kv, char *args);
int kv_map(struct kv *kv, char *args);
int kv_key(struct kv *kv, char *args);
int kv_free(struct kv *kv, char *args);
int kv_many(struct kv *kv, char *args);
int kv_memory(struct kv *kv, char *args);
int kv_set(struct kv *kv, char *args);
int kv_peek(struct kv *kv, char *args);
int kv_poke(struct kv *kv, char *args);
int kv_fill(struct kv *kv, char *args);
int kv_recv(struct kv *kv, char *args);
int kv_post(struct kv *kv, char *args);

#endif /* KVERBS_H */

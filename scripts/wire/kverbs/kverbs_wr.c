// SPDX-License-Identifier: GPL-2.0
/* kverbs, a ULP in the kernel: memory regions and work requests. Commands: see kverbs_main.c. */

#include "kverbs.h"

#if __has_include(<linux/hex.h>)
#include <linux/hex.h>
#endif
#include <linux/kernel.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

struct kv_wr {
	struct list_head list;
	struct ib_cqe cqe;
	struct kv *kv;
	u64 id;
	union {
		struct ib_rdma_wr rdma;
		struct ib_reg_wr reg;
	};
	struct ib_sge sge[MAX_SGES];
};

/* --- memory ---------------------------------------------------------------------------------- */

/*
 * Return the address of @size bytes at offset @at of kverbs' memory; NULL if the bytes are neither
 * all in kv->memory nor all in kv->slab, which follows it.
 */
static u8 *octets(struct kv *kv, unsigned int at, size_t size)
{
	const size_t all = PAGE_SIZE << kv->order;

	if (at < all)
		return size <= all - at ? kv->memory + at : NULL;
	at -= all;
	return at <= SLAB_SIZE && size <= SLAB_SIZE - at ? kv->slab + at : NULL;
}

int kv_mr(struct kv *kv, char *args)
{
	unsigned int n, pd, max, type;
	struct ib_mr *mr;

	if (sscanf(args, "%u %u %u %u", &n, &pd, &max, &type) != 4 || n >= MAX_MRS || pd > 1 ||
	    kv->mr[n] || !kv->pd[pd])
		return -EINVAL;
	mr = ib_alloc_mr(kv->pd[pd], type ? IB_MR_TYPE_SG_GAPS : IB_MR_TYPE_MEM_REG, max);
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	kv->mr[n] = mr;
	return 0;
}

/* Register user memory of the process that writes this command, by ib_reg_user_mr() */
int kv_user(struct kv *kv, char *args)
{
	unsigned int access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ;
	unsigned long long start, size;
	struct ib_mr *mr;
	unsigned int n;

	if (sscanf(args, "%u %llx %llu %i", &n, &start, &size, &access) < 3 || n >= MAX_MRS ||
	    kv->mr[n])
		return -EINVAL;
	mr = ib_reg_user_mr(kv->pd[0], start, size, start, access);
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	kv->mr[n] = mr;
	seq_buf_printf(&kv->said, "KEY %#x\n", mr->rkey);
	return 0;
}

static struct ib_mr *mr_of(struct kv *kv, const char *args)
{
	unsigned int n;

	return sscanf(args, "%u", &n) == 1 && n < MAX_MRS ? kv->mr[n] : NULL;
}

int kv_map(struct kv *kv, char *args)
{
	unsigned int n, page_size, sg_offset, at, size, nents = 0;
	struct scatterlist sg[32];
	struct ib_mr *mr;
	int skip, got;

	if (sscanf(args, "%u %u %u %n", &n, &page_size, &sg_offset, &skip) != 3 || n >= MAX_MRS)
		return -EINVAL;
	mr = kv->mr[n];
	sg_init_table(sg, ARRAY_SIZE(sg));
	for (args += skip; mr && sscanf(args, "%u,%u %n", &at, &size, &skip) == 2; args += skip) {
		if (nents == ARRAY_SIZE(sg) || !octets(kv, at, size))
			return -ERANGE;
		sg_set_buf(&sg[nents++], octets(kv, at, size), size);
	}
	if (!nents)
		return -EINVAL;
	sg_mark_end(&sg[nents - 1]);
	if (ib_dma_map_sg(kv->id->device, sg, nents, DMA_BIDIRECTIONAL) != nents)
		return -EIO;
	got = ib_map_mr_sg(mr, sg, nents, &sg_offset, page_size);
	seq_buf_printf(&kv->said, "MAP %d %#llx %llu %#x\n", got, mr->iova, (u64)mr->length,
		       mr->rkey);
	return got < 0 ? got : 0;
}

int kv_key(struct kv *kv, char *args)
{
	struct ib_mr *mr = mr_of(kv, args);
	unsigned int n, key;

	if (!mr || sscanf(args, "%u %i", &n, &key) != 2)
		return -EINVAL;
	ib_update_fast_reg_key(mr, key);
	seq_buf_printf(&kv->said, "KEY %#x\n", mr->rkey);
	return 0;
}

int kv_free(struct kv *kv, char *args)
{
	struct ib_mr *mr = mr_of(kv, args);
	unsigned int n;
	int rv;

	if (!mr || sscanf(args, "%u", &n) != 1)
		return -EINVAL;
	rv = ib_dereg_mr(mr);
	if (!rv)
		kv->mr[n] = NULL;
	return rv;
}

#define THOUSAND	1000

/* What kv_many() has repeat() do for each region: make_region() at first, then free_region() */
static int make_region(struct kv *kv, struct ib_mr **mr, unsigned int max)
{
	*mr = ib_alloc_mr(kv->pd[0], IB_MR_TYPE_MEM_REG, max);
	return PTR_ERR_OR_ZERO(*mr);
}

static int free_region(struct kv *kv, struct ib_mr **mr, unsigned int max)
{
	return ib_dereg_mr(*mr);
}

/*
 * Call @step for each of @count regions, until a call fails. Print the mean time of a call in ns:
 * for the first thousand, for the last thousand, and for all. Return how many calls succeeded.
 */
static unsigned int repeat(struct kv *kv, struct ib_mr **mrs, unsigned int count, unsigned int max,
			   int (*step)(struct kv *kv, struct ib_mr **mr, unsigned int max))
{
	u64 begin = ktime_get_ns(), first = 0, last = 0;
	unsigned int i;

	for (i = 0; i < count && !step(kv, &mrs[i], max); i++) {
		if (i == THOUSAND - 1)
			first = ktime_get_ns();
		if (i == count - THOUSAND - 1)
			last = ktime_get_ns();
		cond_resched();
	}
	seq_buf_printf(&kv->said, "NS %llu %llu %llu\n", (first - begin) / THOUSAND,
		       (ktime_get_ns() - last) / THOUSAND, (ktime_get_ns() - begin) / count);
	return i;
}

int kv_many(struct kv *kv, char *args)
{
	unsigned int count, max, made, freed = 0;
	struct ib_mr **mrs;

	if (sscanf(args, "%u %u", &count, &max) != 2 || count < 2 * THOUSAND || !kv->pd[0])
		return -EINVAL;
	mrs = kvcalloc(count, sizeof(*mrs), GFP_KERNEL);
	if (!mrs)
		return -ENOMEM;
	made = repeat(kv, mrs, count, max, make_region);
	if (made)
		freed = repeat(kv, mrs, made, max, free_region);
	kvfree(mrs);
	return freed == count ? 0 : -EIO;
}

/* Replace kv->memory; only before there is a connection, whose WRs would use the freed pages. */
int kv_memory(struct kv *kv, char *args)
{
	unsigned int order;
	u8 *memory;

	if (sscanf(args, "%u", &order) != 1 || order > MAX_MEMORY_ORDER || kv->id ||
	    kv->fill_start)
		return -EINVAL;
	memory = (u8 *)__get_free_pages(GFP_KERNEL | __GFP_ZERO, order);
	if (!memory)
		return -ENOMEM;
	free_pages((unsigned long)kv->memory, kv->order);
	kv->memory = memory;
	kv->order = order;
	return 0;
}

int kv_set(struct kv *kv, char *args)
{
	unsigned int at, size, octet;
	u8 *p;

	if (sscanf(args, "%u %u %i", &at, &size, &octet) != 3)
		return -EINVAL;
	p = octets(kv, at, size);
	if (!p)
		return -ERANGE;
	memset(p, octet, size);
	return 0;
}

int kv_peek(struct kv *kv, char *args)
{
	unsigned int at, size;
	u8 *p;

	if (sscanf(args, "%u %u", &at, &size) != 2 || size > MAX_LINE / 2)
		return -EINVAL;
	p = octets(kv, at, size);
	if (!p)
		return -ERANGE;
	seq_buf_printf(&kv->said, "DATA ");
	while (size--)
		seq_buf_printf(&kv->said, "%02x", *p++);
	seq_buf_printf(&kv->said, "\n");
	return 0;
}

int kv_poke(struct kv *kv, char *args)
{
	unsigned int at;
	size_t size;
	int skip;
	u8 *p;

	if (sscanf(args, "%u %n", &at, &skip) != 1)
		return -EINVAL;
	size = strlen(args + skip) / 2;
	p = octets(kv, at, size);
	return p ? hex2bin(p, args + skip, size) : -ERANGE;
}

/*
 * Record which bytes completed() has to overwrite at the completion of a WR, so that a test finds
 * a driver that uses a buffer after it has completed the WR. The test sends the command "fill"
 * before it posts the WR, as the WR may complete at once.
 */
int kv_fill(struct kv *kv, char *args)
{
	unsigned int at, size, octet;
	u64 id;
	u8 *p;

	if (sscanf(args, "%lli %u %u %i", &id, &at, &size, &octet) != 4)
		return -EINVAL;
	p = octets(kv, at, size);
	if (!p)
		return -ERANGE;
	spin_lock_bh(&kv->news_lock);
	kv->fill_id = id;
	kv->fill_start = p;
	kv->fill_size = size;
	kv->fill_octet = octet;
	spin_unlock_bh(&kv->news_lock);
	return 0;
}

/* --- work requests --------------------------------------------------------------------------- */

/* Parse SGEs AT,LENGTH[,LKEY[,ADDRESS]]. Return the number of SGEs, or a negative errno. */
static int parse_sges(struct kv *kv, char *args, struct ib_sge *sges)
{
	u64 address;
	u32 lkey, size;
	unsigned int at;
	char *word;
	int n = 0, got;

	while ((word = strsep(&args, " "))) {
		if (!*word)
			continue;
		got = sscanf(word, "%u,%u,%i,%lli", &at, &size, &lkey, &address);
		if (n == MAX_SGES || got < 2 || (got < 4 && !octets(kv, at, size)))
			return -EINVAL;
		sges[n++] = (struct ib_sge) {
			.addr = got > 3 ? address : (uintptr_t)octets(kv, at, size),
			.length = size,
			.lkey = got > 2 ? lkey : kv->pd[0]->local_dma_lkey,
		};
	}
	return n;
}

static void completed(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kv_wr *wr = container_of(wc->wr_cqe, struct kv_wr, cqe);
	struct kv *kv = wr->kv;

	spin_lock_bh(&kv->news_lock);
	if (kv->fill_start && kv->fill_id == wr->id)
		memset(kv->fill_start, kv->fill_octet, kv->fill_size);
	spin_unlock_bh(&kv->news_lock);
	kv_happened(kv, "WC %#llx %d %d %u %#x %#x\n", wr->id, wc->status, wc->opcode,
		    wc->byte_len, wc->wc_flags,
		    wc->wc_flags & IB_WC_WITH_INVALIDATE ? wc->ex.invalidate_rkey : 0);
}

/*
 * Allocate a WR. Only kv_release() frees it: an unsignaled WR that succeeds has no completion by
 * which it could be freed earlier.
 */
static struct kv_wr *new_wr(struct kv *kv, u64 id)
{
	struct kv_wr *wr = kzalloc(sizeof(*wr), GFP_KERNEL);

	if (!wr)
		return NULL;
	wr->kv = kv;
	wr->id = id;
	wr->cqe.done = completed;
	list_add(&wr->list, &kv->wrs);
	return wr;
}

void kv_forget_wrs(struct kv *kv)
{
	struct kv_wr *wr, *next;

	list_for_each_entry_safe(wr, next, &kv->wrs, list)
		kfree(wr);
}

int kv_recv(struct kv *kv, char *args)
{
	struct ib_recv_wr recv = {};
	struct kv_wr *wr;
	u64 id;
	int skip, n;

	if (!qp_of(kv) || sscanf(args, "%lli %n", &id, &skip) != 1)
		return -EINVAL;
	wr = new_wr(kv, id);
	if (!wr)
		return -ENOMEM;
	n = parse_sges(kv, args + skip, wr->sge);
	recv.wr_cqe = &wr->cqe;
	recv.sg_list = wr->sge;
	recv.num_sge = n;
	if (n < 0)
		return n;
	return kv->srq ? ib_post_srq_recv(kv->srq, &recv, NULL) :
			 ib_post_recv(qp_of(kv), &recv, NULL);
}

static const struct {
	const char *name;
	enum ib_wr_opcode opcode;
	bool inv;
} operations[] = {
	{ "send", IB_WR_SEND }, { "write", IB_WR_RDMA_WRITE }, { "read", IB_WR_RDMA_READ },
	{ "send_inv", IB_WR_SEND_WITH_INV, true },
	{ "read_inv", IB_WR_RDMA_READ_WITH_INV, true },
};

static int parse_reg(struct kv *kv, const char *args, struct kv_wr *wr)
{
	unsigned int n, access;

	if (sscanf(args, "%u %i", &n, &access) != 2 || n >= MAX_MRS || !kv->mr[n])
		return -EINVAL;
	wr->reg.wr.opcode = IB_WR_REG_MR;
	wr->reg.mr = kv->mr[n];
	wr->reg.key = kv->mr[n]->rkey;
	wr->reg.access = access;
	return 0;
}

static int parse_rdma(struct kv *kv, const char *verb, char *args, struct kv_wr *wr)
{
	int skip = 0, n;
	unsigned int i;

	if (!strcmp(verb, "inv")) {
		wr->rdma.wr.opcode = IB_WR_LOCAL_INV;
		return sscanf(args, "%i", &wr->rdma.wr.ex.invalidate_rkey) == 1 ? 0 : -EINVAL;
	}
	for (i = 0; i < ARRAY_SIZE(operations) && strcmp(verb, operations[i].name); i++)
		;
	if (i == ARRAY_SIZE(operations) ||
	    sscanf(args, "%lli %i %n", &wr->rdma.remote_addr, &wr->rdma.rkey, &skip) != 2)
		return -EINVAL;
	args += skip;
	if (operations[i].inv) {
		if (sscanf(args, "%i %n", &wr->rdma.wr.ex.invalidate_rkey, &skip) != 1)
			return -EINVAL;
		args += skip;
	}
	wr->rdma.wr.opcode = operations[i].opcode;
	wr->rdma.wr.sg_list = wr->sge;
	n = parse_sges(kv, args, wr->sge);
	wr->rdma.wr.num_sge = n;
	return n < 0 ? n : 0;
}

/*
 * Parse one WR of the command "post". In struct kv_wr, rdma and reg are a union, and ib_send_wr is
 * the first member of both: so for a "reg", too, rdma.wr is the ib_send_wr.
 */
static struct kv_wr *parse_wr(struct kv *kv, char *args)
{
	unsigned int flags;
	struct kv_wr *wr;
	char verb[16];
	int skip, rv;
	u64 id;

	if (sscanf(args, " %15s %i %lli %n", verb, &flags, &id, &skip) != 3)
		return ERR_PTR(-EINVAL);
	wr = new_wr(kv, id);
	if (!wr)
		return ERR_PTR(-ENOMEM);
	if (!strcmp(verb, "reg"))
		rv = parse_reg(kv, args + skip, wr);
	else
		rv = parse_rdma(kv, verb, args + skip, wr);
	if (rv)
		return ERR_PTR(rv);
	wr->rdma.wr.wr_cqe = &wr->cqe;
	wr->rdma.wr.send_flags = flags;
	return wr;
}

int kv_post(struct kv *kv, char *args)
{
	struct kv_wr *first = NULL, *last = NULL, *wr;
	char *text;

	if (!qp_of(kv))
		return -ENOTCONN;
	while ((text = strsep(&args, ";"))) {
		wr = parse_wr(kv, text);
		if (IS_ERR(wr))
			return PTR_ERR(wr);
		if (last)
			last->rdma.wr.next = &wr->rdma.wr;
		else
			first = wr;
		last = wr;
	}
	return ib_post_send(qp_of(kv), &first->rdma.wr, NULL);
}

// SPDX-License-Identifier: GPL-2.0
/* verbs_probe: the commands that create, query, modify and destroy verbs objects and memory */

#define _GNU_SOURCE	/* memfd_create() */

#include "verbs_probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct object *objects;		/* the newest first */

struct object *find(enum kind kind, const char *name)
{
	struct object *object;

	for (object = objects; object; object = object->next) {
		if (object->kind == kind && !strcmp(object->name, name))
			return object;
	}
	errno = ENOENT;
	return NULL;
}

struct object *next_of(enum kind kind, const struct object *after)
{
	struct object *object = after ? after->next : objects;

	while (object && object->kind != kind)
		object = object->next;
	return object;
}

const char *name_of(enum kind kind, const void *ptr)
{
	struct object *object = NULL;

	while ((object = next_of(kind, object))) {
		if (object->ptr == ptr)
			return object->name;
	}
	return "?";
}

/*
 * Record @ptr as an object of @kind and @name. Return NULL if @ptr is NULL: the function that had
 * to create the object failed, and set errno.
 */
struct object *add(enum kind kind, const char *name, void *ptr)
{
	struct object *object;

	if (!ptr)
		return NULL;
	object = calloc(1, sizeof(*object));
	if (!object)
		fatal("calloc");
	snprintf(object->name, sizeof(object->name), "%s", name);
	object->kind = kind;
	object->ptr = ptr;
	object->next = objects;
	objects = object;
	return object;
}

void forget(struct object *object)
{
	struct object **at = &objects;

	while (*at != object)
		at = &(*at)->next;
	*at = object->next;
	free(object);
}

/* Return 0, or -1 and set errno. @rv: a verb's 0, errno, negative errno, or -1 with errno set. */
static int result(int rv)
{
	if (!rv)
		return 0;
	if (rv != -1)
		errno = abs(rv);
	return -1;
}

static int do_pd(int argc, char **argv)
{
	return add(PD, argv[0], ibv_alloc_pd(context)) ? 0 : -1;
}

/* Map a file, whose bytes the test reads and writes, too; for "-" map private memory. */
static int do_memory(int argc, char **argv)
{
	size_t size = number(argv[2]);
	bool own = !strcmp(argv[1], "-");
	int fd = own ? -1 : open(argv[1], O_RDWR);
	struct object *object;
	void *address;

	if (!own && fd < 0)
		return -1;
	address = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       own ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, fd, 0);
	if (!own)
		close(fd);
	if (address == MAP_FAILED)
		return -1;
	object = add(MEMORY, argv[0], address);
	object->size = size;
	printf("MEMORY 0x%llx\n", (unsigned long long)(uintptr_t)address);
	return 0;
}

/* Map SIZE bytes TIMES times in a row, so that regions can be larger than the machine's memory. */
static int do_repeated(int argc, char **argv)
{
	size_t size = number(argv[1]), times = number(argv[2]), i;
	int fd = memfd_create("repeated", 0);
	struct object *object;
	uint8_t *at;

	if (fd < 0 || ftruncate(fd, size))
		return -1;
	at = mmap(NULL, size * times, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	for (i = 0; at != MAP_FAILED && i < times; i++) {
		if (mmap(at + i * size, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
			 0) == MAP_FAILED)
			return -1;
	}
	close(fd);
	if (at == MAP_FAILED)
		return -1;
	object = add(MEMORY, argv[0], at);
	object->size = size * times;
	printf("MEMORY 0x%llx\n", (unsigned long long)(uintptr_t)at);
	return 0;
}

static int do_unmap(int argc, char **argv)
{
	struct object *memory = find(MEMORY, argv[0]);

	if (!memory || (!memory->borrowed && munmap(memory->memory, memory->size)))
		return -1;
	forget(memory);
	return 0;
}

static int do_mr(int argc, char **argv)
{
	struct object *pd = find(PD, argv[1]), *memory = find(MEMORY, argv[2]);
	uint64_t offset = number(argv[3]), size = number(argv[4]);
	int access = number(argv[5]);
	struct ibv_mr *mr;

	if (!pd || !memory)
		return -1;
	if (argc > 6)
		mr = ibv_reg_mr_iova(pd->pd, memory->memory + offset, size, number(argv[6]), access);
	else
		mr = ibv_reg_mr(pd->pd, memory->memory + offset, size, access);
	if (!add(MR, argv[0], mr))
		return -1;
	printf("MR 0x%x 0x%x\n", mr->lkey, mr->rkey);
	return 0;
}

static int do_channel(int argc, char **argv)
{
	struct object *channel = add(CHANNEL, argv[0], ibv_create_comp_channel(context));

	if (!channel)
		return -1;
	do_not_block(channel->channel->fd);
	return 0;
}

static int do_cq(int argc, char **argv)
{
	static const char *const rings[] = { "ring" };
	struct object *channel = argc > 2 ? find(CHANNEL, argv[2]) : NULL;
	struct ibv_cq *cq;

	if (argc > 2 && !channel)
		return -1;
	mappings_clear();
	cq = ibv_create_cq(context, number(argv[1]), NULL, channel ? channel->channel : NULL, 0);
	if (!add(CQ, argv[0], cq))
		return -1;
	printf("CQ %d\n", cq->cqe);
	return rings_add(argv[0], rings, 1);
}

static int do_arm(int argc, char **argv)
{
	struct object *cq = find(CQ, argv[0]);

	return cq ? result(ibv_req_notify_cq(cq->cq, !strcmp(argv[1], "solicited"))) : -1;
}

static int do_srq(int argc, char **argv)
{
	static const char *const rings[] = { "ring" };
	struct object *pd = find(PD, argv[1]);
	struct ibv_srq_init_attr attr = {
		.attr = {
			.max_wr = number(argv[2]),
			.max_sge = number(argv[3]),
			.srq_limit = number(argv[4]),
		},
	};
	struct ibv_srq *srq;

	if (!pd)
		return -1;
	mappings_clear();
	srq = ibv_create_srq(pd->pd, &attr);
	if (!add(SRQ, argv[0], srq))
		return -1;
	printf("SRQ %u %u\n", attr.attr.max_wr, attr.attr.max_sge);
	return rings_add(argv[0], rings, 1);
}

static int do_srq_limit(int argc, char **argv)
{
	struct object *srq = find(SRQ, argv[0]);
	struct ibv_srq_attr attr = { .srq_limit = number(argv[1]) };

	return srq ? result(ibv_modify_srq(srq->srq, &attr, IBV_SRQ_LIMIT)) : -1;
}

static int do_qp(int argc, char **argv)
{
	static const char *const rings[] = { "sq", "rq" };
	struct object *pd = find(PD, argv[1]), *scq = find(CQ, argv[2]), *rcq = find(CQ, argv[3]);
	struct object *srq = strcmp(argv[4], "-") ? find(SRQ, argv[4]) : NULL;
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = {
			.max_send_wr = number(argv[5]),
			.max_recv_wr = number(argv[6]),
			.max_send_sge = number(argv[7]),
			.max_recv_sge = number(argv[8]),
			.max_inline_data = number(argv[9]),
		},
		.sq_sig_all = number(argv[10]),
	};
	struct ibv_qp *qp;

	if (!pd || !scq || !rcq || (!srq && strcmp(argv[4], "-")))
		return -1;
	attr.send_cq = scq->cq;
	attr.recv_cq = rcq->cq;
	attr.srq = srq ? srq->srq : NULL;
	mappings_clear();
	qp = ibv_create_qp(pd->pd, &attr);
	if (!add(QP, argv[0], qp))
		return -1;
	printf("QP 0x%x %u %u %u %u %u\n", qp->qp_num, attr.cap.max_send_wr, attr.cap.max_recv_wr,
	       attr.cap.max_send_sge, attr.cap.max_recv_sge, attr.cap.max_inline_data);
	return rings_add(argv[0], rings, srq ? 1 : 2);
}

static int do_modify(int argc, char **argv)
{
	struct object *qp = find(QP, argv[0]);
	struct ibv_qp_attr attr = { .qp_state = number(argv[1]) };

	return qp ? result(ibv_modify_qp(qp->qp, &attr, IBV_QP_STATE)) : -1;
}

static int do_modify_mask(int argc, char **argv)
{
	struct object *qp = find(QP, argv[0]);
	struct ibv_qp_attr attr = { .qp_state = number(argv[1]) };

	return qp ? result(ibv_modify_qp(qp->qp, &attr, number(argv[2]))) : -1;
}

static int do_query(int argc, char **argv)
{
	struct object *qp = find(QP, argv[0]);
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	if (!qp || result(ibv_query_qp(qp->qp, &attr, IBV_QP_STATE | IBV_QP_CAP, &init)))
		return -1;
	printf("STATE %d %d %u %u %u %u %u %u %u\n", attr.qp_state, init.sq_sig_all,
	       init.cap.max_send_wr, init.cap.max_recv_wr, init.cap.max_send_sge,
	       init.cap.max_recv_sge, init.cap.max_inline_data, attr.max_dest_rd_atomic,
	       attr.max_rd_atomic);
	return 0;
}

static int do_device(int argc, char **argv)
{
	struct ibv_device_attr attr;

	if (result(ibv_query_device(context, &attr)))
		return -1;
	printf("DEVICE qp_rd_atom=%d qp_init_rd_atom=%d qp_wr=%d sge=%d sge_rd=%d cqe=%d mr=%d "
	       "qp=%d cq=%d srq_wr=%d srq_sge=%d flags=0x%x mr_size=%llu vendor=0x%x part=%u "
	       "fw=%s\n", attr.max_qp_rd_atom,
	       attr.max_qp_init_rd_atom, attr.max_qp_wr, attr.max_sge, attr.max_sge_rd, attr.max_cqe,
	       attr.max_mr, attr.max_qp, attr.max_cq, attr.max_srq_wr, attr.max_srq_sge,
	       attr.device_cap_flags, (unsigned long long)attr.max_mr_size, attr.vendor_id,
	       attr.vendor_part_id, attr.fw_ver);
	return 0;
}

static int destroy_id(struct object *object)
{
	object->id->qp = NULL;	/* librdmacm has no QP here: "destroy QP" destroys it */
	return rdma_destroy_id(object->id);
}

static int destroy(struct object *object)
{
	switch (object->kind) {
	case PD:
		return result(ibv_dealloc_pd(object->pd));
	case MR:
		return result(ibv_dereg_mr(object->mr));
	case CHANNEL:
		return result(ibv_destroy_comp_channel(object->channel));
	case CQ:
		rings_forget(object->name);
		return result(ibv_destroy_cq(object->cq));
	case SRQ:
		rings_forget(object->name);
		return result(ibv_destroy_srq(object->srq));
	case QP:
		rings_forget(object->name);
		return result(ibv_destroy_qp(object->qp));
	case ID:
		return destroy_id(object);
	default:
		errno = EINVAL;
		return -1;
	}
}

/* Destroy the named objects in this order; stop with an error if one cannot be destroyed. */
static int do_destroy(int argc, char **argv)
{
	struct object *object;
	enum kind kind;
	int i;

	for (i = 0; i < argc; i++) {
		for (object = NULL, kind = PD; kind <= ID && !object; kind++)
			object = find(kind, argv[i]);
		if (!object || destroy(object))
			return -1;
		forget(object);
	}
	return 0;
}

/*
 * Deregister a region and set each byte of its memory to OCTET, without a command between: a byte
 * that the device still places after ibv_dereg_mr() overwrites an OCTET, which the test finds.
 */
static int do_revoke(int argc, char **argv)
{
	struct object *object = find(MR, argv[0]);
	size_t size;
	void *start;

	if (!object)
		return -1;
	start = object->mr->addr;
	size = object->mr->length;
	if (destroy(object))
		return -1;
	memset(start, number(argv[1]), size);
	forget(object);
	return 0;
}

const struct command object_commands[] = {
	{ "pd", do_pd, 1 },			/* PD */
	{ "memory", do_memory, 3 },		/* MEMORY FILE|- SIZE: "MEMORY ADDRESS" */
	{ "repeated", do_repeated, 3 },		/* MEMORY SIZE TIMES: "MEMORY ADDRESS" */
	{ "unmap", do_unmap, 1 },		/* MEMORY */
	{ "mr", do_mr, 6 },			/* MR PD MEMORY OFFSET SIZE ACCESS [IOVA]: "MR LKEY RKEY" */
	{ "channel", do_channel, 1 },		/* CHANNEL */
	{ "cq", do_cq, 2 },			/* CQ CQES [CHANNEL]: "CQ CQES" */
	{ "arm", do_arm, 2 },			/* CQ any|solicited */
	{ "srq", do_srq, 5 },			/* SRQ PD WRS SGES LIMIT: "SRQ WRS SGES" */
	{ "srq_limit", do_srq_limit, 2 },	/* SRQ LIMIT */
	/* Arguments: QP PD SEND-CQ RECV-CQ SRQ|-, which are names, the fields of ibv_qp_cap, and
	 * sq_sig_all. Prints "QP NUMBER" and the ibv_qp_cap that ibv_create_qp() returned.
	 */
	{ "qp", do_qp, 11 },
	{ "modify", do_modify, 2 },		/* QP STATE */
	{ "modify_mask", do_modify_mask, 3 },	/* QP STATE MASK */
	{ "query", do_query, 1 },	/* QP: "STATE STATE SIGNAL-ALL", the ibv_qp_cap, IRD, ORD */
	{ "device", do_device, 0 },		/* "DEVICE NAME=VALUE ..." */
	{ "destroy", do_destroy, 1 },		/* OBJECT... */
	{ "revoke", do_revoke, 2 },		/* MR OCTET */
	{ }
};

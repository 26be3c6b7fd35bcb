// SPDX-License-Identifier: GPL-2.0
/*
 * Objects of uverbs, made by commands as the kernel takes them, and the rings that srnic shares
 * with a process: queues of QPs, SRQs and CQs.
 *
 * A command is sent by write() or by ioctl(), as libibverbs does it; now and then one of its words
 * is wrong, or it is too short. libsiw is not used: it trusts the contents of the rings.
 */

#define _GNU_SOURCE

#include "random.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/siw-abi.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define CONTEXTS	6
#define OBJECTS		80
#define MEMORY		(1 << 18)	/* for memory regions */
#define RIGHTS		7		/* local write, remote write, remote read */

enum kind { NONE, PD, MR, CQ, SRQ, QP, CHANNEL };

struct ring {
	char *at;
	size_t size;
	uint64_t key;
	uint32_t count, next;
};

struct object {
	enum kind kind;
	int context;
	uint32_t handle, number;	/* number of a QP, or key of an MR */
	struct key key;			/* of an MR; for a QP the memory that its peer has named */
	struct ring rings[2];
};

static struct context { int fd, async, link; } contexts[CONTEXTS];
static struct object objects[OBJECTS];
static char *memory;
static uint32_t response[64];
/* This process is the child of go_on_as_two(), which has the same open files as its parent. */
static bool is_second;

/* A ring into which another thread writes random bytes, whatever happens to the ring's object */
static pthread_mutex_t target_lock = PTHREAD_MUTEX_INITIALIZER;
static struct ring target;

static void *scribble(void *arg)
{
	uint64_t r = (uintptr_t)arg | 1;
	int i;

	for (;;) {
		pthread_mutex_lock(&target_lock);
		for (i = 0; target.at && i < 1000; i++) {
			r ^= r << 13;
			r ^= r >> 7;
			r ^= r << 17;
			((volatile char *)target.at)[(r >> 8) % target.size] = r & 128 ? r & 15 : r;
		}
		pthread_mutex_unlock(&target_lock);
		usleep(1000);
	}
	return NULL;
}

static void scribble_at(struct ring ring)
{
	pthread_mutex_lock(&target_lock);
	target = ring;
	pthread_mutex_unlock(&target_lock);
}

void verbs_start(void)
{
	pthread_t thread;

	for (int i = 0; i < CONTEXTS; i++)
		contexts[i].fd = -1;
	memory = map_far(1, MEMORY);
	pthread_create(&thread, NULL, scribble, (void *)any());
}

/* A forked child lacks the thread scribble(), which may have held the lock during the fork. */
void verbs_forked(void)
{
	pthread_mutex_init(&target_lock, NULL);
	target = (struct ring) {};
	is_second = true;
}

/* --- commands -------------------------------------------------------------------------- */

#define COMMAND(type)	struct { struct ib_uverbs_cmd_hdr hdr; struct type cmd; uint64_t driver; }

static bool by_ioctl(int fd, unsigned int number, char *cmd, size_t size, size_t core_out)
{
	struct {
		struct ib_uverbs_ioctl_hdr hdr;
		struct ib_uverbs_attr attrs[5];
	} io = {
		.hdr = { .length = sizeof(io), .object_id = UVERBS_OBJECT_DEVICE,
			 .method_id = UVERBS_METHOD_INVOKE_WRITE, .num_attrs = 5, .driver_id = 18 },
		.attrs = {
			{ .attr_id = UVERBS_ATTR_CORE_IN, .len = size - 8, .data = (uintptr_t)cmd },
			{ .attr_id = UVERBS_ATTR_CORE_OUT, .len = core_out,
			  .data = (uintptr_t)response },
			{ .attr_id = UVERBS_ATTR_WRITE_CMD, .len = 8, .data = number },
			{ .attr_id = UVERBS_ATTR_UHW_IN, .len = 8,
			  .data = *(uint64_t *)(cmd + size - 8) },
			{ .attr_id = UVERBS_ATTR_UHW_OUT, .len = sizeof(response) - core_out,
			  .data = (uintptr_t)response + core_out },
		},
	};

	for (int i = 0; i < 5; i++)
		io.attrs[i].flags = UVERBS_ATTR_F_MANDATORY;
	spoil(&io.hdr, 8);
	spoil(&io.attrs[chance(5)], sizeof(io.attrs[0]));
	return !ioctl(fd, RDMA_VERBS_IOCTL, &io);
}

/*
 * Send a command. If @core_out is not 0, the command's first field is set to the address of its
 * response; the response's first @core_out bytes are the RDMA core's, and the rest the driver's.
 */
static bool send_command(int fd, unsigned int number, void *command, size_t size, size_t core_out)
{
	struct ib_uverbs_cmd_hdr *hdr = command;

	memset(response, 0, sizeof(response));
	*hdr = (struct ib_uverbs_cmd_hdr) { number, size / 4, core_out ? sizeof(response) / 4 : 0 };
	if (core_out)
		*(uint64_t *)(hdr + 1) = (uintptr_t)response;
	spoil(hdr + 1, size - sizeof(*hdr));
	/* Only the process that has opened the file may write to it. */
	if (is_second || (core_out && one_in(3)))
		return by_ioctl(fd, number, (char *)(hdr + 1), size - sizeof(*hdr), core_out);
	if (one_in(30))
		hdr->in_words = chance(size / 4);
	if (one_in(30))
		hdr->out_words = chance(16);
	return write(fd, command, hdr->in_words * 4) > 0;
}

#define DO(context, number, command, resp)	\
	send_command((context)->fd, IB_USER_VERBS_CMD_##number, command, sizeof(*(command)), resp)

/* --- objects --------------------------------------------------------------------------- */

/* Return a random object of this kind, mostly of @context; if @context is NULL, of any. */
static struct object *find(enum kind kind, const struct context *context)
{
	int at = chance(OBJECTS), i;

	for (i = 0; i < OBJECTS; i++) {
		struct object *o = &objects[(at + i) % OBJECTS];

		if (o->kind == kind && (!context || context == &contexts[o->context] || one_in(50)))
			return o;
	}
	return NULL;
}

/* Mostly the first PD of a context: objects that work together need the same one. */
static struct object *find_pd(const struct context *context)
{
	for (int i = 0; i < OBJECTS && !one_in(500); i++)
		if (objects[i].kind == PD && context == &contexts[objects[i].context])
			return &objects[i];
	return find(PD, context);
}

static struct object *put(enum kind kind, const struct context *context)
{
	struct object *o = find(NONE, NULL);

	if (!o)
		return NULL;
	*o = (struct object) { .kind = kind, .context = context - contexts, .handle = response[0] };
	return o;
}

static void unmap(struct object *o)
{
	for (int i = 0; i < 2; i++) {
		if (!o->rings[i].at)
			continue;
		if (target.at == o->rings[i].at)
			scribble_at((struct ring) {});
		munmap(o->rings[i].at, o->rings[i].size);
		o->rings[i].at = NULL;
	}
}

static void map(struct object *o, int i, uint32_t count, size_t element, uint64_t key)
{
	size_t size = count * element + (o->kind == CQ ? 8 : 0);
	void *at;

	o->rings[i] = (struct ring) { .size = size, .key = key, .count = count };
	spoil(&key, 8);
	spoil(&size, 4);
	if (!size || size > 1 << 24)
		return;
	at = mmap(NULL, size, CHOOSE(PROT_READ | PROT_WRITE, PROT_READ | PROT_WRITE, PROT_READ),
		  one_in(20) ? MAP_PRIVATE : MAP_SHARED, contexts[o->context].fd, key);
	if (at == MAP_FAILED)
		return;
	/*
	 * A ring that cannot be written, or is mapped too short, is of no use for other operations.
	 */
	if (size < o->rings[i].size || mprotect(at, size, PROT_READ | PROT_WRITE))
		munmap(at, size);
	else
		o->rings[i].at = at;
}

static bool close_context(struct context *context)
{
	if (context->fd < 0)
		return false;
	for (struct object *o = objects; o < objects + OBJECTS; o++) {
		if (o->kind == NONE || &contexts[o->context] != context)
			continue;
		if (one_in(2))
			unmap(o);
		if (o->kind == CHANNEL)
			close(o->handle);
		o->kind = NONE;
		/* Half of the mappings stay, to test that a mapping may outlive its object. */
		if (o->rings[0].at && one_in(2))
			unmap(o);
	}
	close(context->async);
	close(context->fd);
	context->fd = -1;
	return true;
}

/* Open the uverbs file of a link. The number in its name changes when the link is made anew. */
static int open_link(int link)
{
	DIR *dir = opendir("/sys/class/infiniband_verbs");
	struct dirent *entry;
	int fd = -1;

	while (dir && fd < 0 && (entry = readdir(dir))) {
		char path[300], name[64] = "";
		FILE *f;

		snprintf(path, sizeof(path), "/sys/class/infiniband_verbs/%s/ibdev", entry->d_name);
		f = fopen(path, "r");
		if (!f)
			continue;
		if (fscanf(f, "%63s", name) == 1 && name[0] == 'r' && name[2] == '0' + link) {
			snprintf(path, sizeof(path), "/dev/infiniband/%s", entry->d_name);
			fd = open(path, O_RDWR | O_CLOEXEC);
		}
		fclose(f);
	}
	if (dir)
		closedir(dir);
	return fd;
}

static bool open_context(struct context *context, int link)
{
	COMMAND(ib_uverbs_get_context) get = {};

	context->link = link;
	context->fd = open_link(link);
	if (context->fd < 0)
		return false;
	if (!DO(context, GET_CONTEXT, &get, 8) && !DO(context, GET_CONTEXT, &get, 8)) {
		close(context->fd);
		context->fd = -1;
		return false;
	}
	context->async = response[0];
	fcntl(context->async, F_SETFL, O_NONBLOCK);
	return true;
}

static bool op_close(void)
{
	return close_context(&contexts[chance(CONTEXTS)]);
}

/* Return an open context of a link, or, if @link is negative, of any; else try to open one. */
static struct context *context_for(int link)
{
	struct context *unused = NULL;
	int at = chance(CONTEXTS), i;

	for (i = 0; i < CONTEXTS; i++) {
		struct context *context = &contexts[(at + i) % CONTEXTS];

		if (context->fd < 0)
			unused = context;
		else if (link < 0 || context->link == link)
			return context;
	}
	if (!unused) {
		op_close();
		return NULL;
	}
	return open_context(unused, link < 0 ? (int)chance(LINKS) : link) ? unused : NULL;
}

static bool op_open(void)
{
	struct context *context = &contexts[chance(CONTEXTS)];

	return context->fd < 0 && open_context(context, chance(LINKS));
}

/* --- making and destroying ------------------------------------------------------------- */

static struct object *make_pd(struct context *context)
{
	COMMAND(ib_uverbs_alloc_pd) alloc = {};

	return DO(context, ALLOC_PD, &alloc, 4) ? put(PD, context) : NULL;
}

static struct object *make_mr(struct context *context)
{
	struct object *pd = find_pd(context), *mr;
	uint64_t start = chance(MEMORY / 2), length = 1 + chance(one_in(4) ? 64 : MEMORY / 2);
	COMMAND(ib_uverbs_reg_mr) reg = { .cmd = {
		.start = (uintptr_t)memory + start, .length = length,
		.hca_va = one_in(4) ? any() : (uintptr_t)memory + start,
		.access_flags = one_in(4) ? chance(64) : RIGHTS,
	} };

	if (!pd)
		return make_pd(context);
	reg.cmd.pd_handle = pd->handle;
	if (!DO(context, REG_MR, &reg, 12))
		return NULL;
	mr = put(MR, context);
	if (!mr)
		return NULL;
	mr->number = response[1];
	mr->key = (struct key) { response[2], length, reg.cmd.hca_va };
	keys[chance(KEYS)] = mr->key;
	return mr;
}

static struct object *make_channel(struct context *context)
{
	COMMAND(ib_uverbs_create_comp_channel) create = {};
	struct object *o;

	if (!DO(context, CREATE_COMP_CHANNEL, &create, 4))
		return NULL;
	o = put(CHANNEL, context);
	if (!o) {
		close(response[0]);
		return NULL;
	}
	fcntl(o->handle, F_SETFL, O_NONBLOCK);
	return o;
}

static struct object *make_cq(struct context *context)
{
	struct object *channel = find(CHANNEL, context), *o;
	COMMAND(ib_uverbs_create_cq) create = { .cmd = {
		.user_handle = 1, .cqe = 1 + chance(one_in(4) ? 4 : 200),
		.comp_channel = channel ? (int)channel->handle : -1,
	} };
	const struct siw_uresp_create_cq *got = (void *)&response[2];

	if (!DO(context, CREATE_CQ, &create, 8))
		return NULL;
	o = put(CQ, context);
	if (o)
		map(o, 0, got->num_cqe, sizeof(struct siw_cqe), got->cq_key);
	return o;
}

static struct object *make_srq(struct context *context)
{
	struct object *pd = find_pd(context), *o;
	COMMAND(ib_uverbs_create_srq) create = { .cmd = {
		.user_handle = 2, .max_wr = 1 + chance(60), .max_sge = 1 + chance(6),
		.srq_limit = chance(4),
	} };
	const struct siw_uresp_create_srq *got = (void *)&response[4];

	if (!pd)
		return make_pd(context);
	create.cmd.pd_handle = pd->handle;
	if (!DO(context, CREATE_SRQ, &create, 16))
		return NULL;
	o = put(SRQ, context);
	if (o)
		map(o, 1, got->num_rqe, sizeof(struct siw_rqe), got->srq_key);
	return o;
}

static struct object *make_qp(struct context *context)
{
	struct object *pd = find_pd(context), *scq = find(CQ, context), *rcq = find(CQ, context);
	struct object *srq = one_in(3) ? find(SRQ, context) : NULL, *o;
	COMMAND(ib_uverbs_create_qp) create = { .cmd = {
		.user_handle = 3, .max_send_wr = 1 + chance(40), .max_recv_wr = 1 + chance(40),
		.max_send_sge = 1 + chance(6), .max_recv_sge = 1 + chance(6),
		.max_inline_data = chance(81), .sq_sig_all = chance(2), .qp_type = 2,
		.is_srq = !!srq, .srq_handle = srq ? srq->handle : 0,
	} };
	const struct siw_uresp_create_qp *got;

	if (!pd)
		return make_pd(context);
	if (!scq || !rcq)
		return make_cq(context);
	create.cmd.pd_handle = pd->handle;
	create.cmd.send_cq_handle = scq->handle;
	create.cmd.recv_cq_handle = rcq->handle;
	if (!DO(context, CREATE_QP, &create, sizeof(struct ib_uverbs_create_qp_resp)))
		return NULL;
	o = put(QP, context);
	if (!o)
		return NULL;
	got = (void *)response + sizeof(struct ib_uverbs_create_qp_resp);
	o->number = response[1];
	map(o, 0, got->num_sqe, sizeof(struct siw_sqe), got->sq_key);
	map(o, 1, got->num_rqe, sizeof(struct siw_rqe), got->rq_key);
	return o;
}

static bool make(struct object *(*maker)(struct context *))
{
	struct context *context = context_for(-1);

	if (!context)
		return false;
	errno = 0;
	if (maker(context))
		return true;
	if (errno == EIO)	/* the device is gone */
		close_context(context);
	return false;
}

static bool op_pd(void) { return make(make_pd); }
static bool op_mr(void) { return make(make_mr); }
static bool op_channel(void) { return make(make_channel); }
static bool op_cq(void) { return make(make_cq); }
static bool op_srq(void) { return make(make_srq); }
static bool op_qp(void) { return make(make_qp); }

static bool destroy(struct object *o)
{
	static const int numbers[] = {
		[PD] = IB_USER_VERBS_CMD_DEALLOC_PD, [MR] = IB_USER_VERBS_CMD_DEREG_MR,
		[CQ] = IB_USER_VERBS_CMD_DESTROY_CQ, [SRQ] = IB_USER_VERBS_CMD_DESTROY_SRQ,
		[QP] = IB_USER_VERBS_CMD_DESTROY_QP,
	};
	COMMAND(ib_uverbs_destroy_qp) end = {};
	struct { struct ib_uverbs_cmd_hdr hdr; uint32_t handle, more; uint64_t driver; } plain = {};
	struct context *context;

	if (!o)
		return false;
	context = &contexts[o->context];
	if (o->kind == QP || o->kind == CQ || one_in(2))
		unmap(o);
	if (o->kind == CHANNEL) {
		close(o->handle);
	} else if (o->kind == PD || o->kind == MR) {
		plain.handle = o->handle;
		if (!send_command(context->fd, numbers[o->kind], &plain, sizeof(plain), 0))
			return false;
	} else {
		end.cmd.qp_handle = o->handle;
		if (!send_command(context->fd, numbers[o->kind], &end, sizeof(end), 8))
			return false;
	}
	unmap(o);
	o->kind = NONE;
	return true;
}

static bool op_destroy(void)
{
	return destroy(find(CHOOSE(MR, MR, MR, CQ, SRQ, QP, PD, CHANNEL), NULL));
}

/* --- changing and querying ------------------------------------------------------------- */

static bool modify(struct object *qp, unsigned int to)
{
	COMMAND(ib_uverbs_modify_qp) command = { .cmd = {
		.qp_handle = qp->handle, .attr_mask = 1 | chance(2) << 3, .qp_state = to,
		.qp_access_flags = RIGHTS, .port_num = 1,
	} };

	return DO(&contexts[qp->context], MODIFY_QP, &command, 0);
}

static bool op_modify(void)
{
	struct object *qp = find(QP, NULL);

	return qp && modify(qp, one_in(6) ? 6 : chance(4));
}

static bool op_query(void)
{
	struct object *qp = find(QP, NULL);
	COMMAND(ib_uverbs_query_qp) command = { .cmd = { .attr_mask = 0xffff } };

	command.cmd.qp_handle = qp ? qp->handle : 0;
	return qp && DO(&contexts[qp->context], QUERY_QP, &command, 128);
}

static bool op_limit(void)
{
	struct object *srq = find(SRQ, NULL);
	COMMAND(ib_uverbs_modify_srq) command = { .cmd = {
		.attr_mask = 1 + chance(2), .max_wr = chance(100), .srq_limit = chance(40),
	} };

	command.cmd.srq_handle = srq ? srq->handle : 0;
	return srq && DO(&contexts[srq->context], MODIFY_SRQ, &command, 0);
}

/* Any command for any object: most are refused. */
static bool op_odd_command(void)
{
	struct context *context = context_for(-1);
	struct object *o = find(CHOOSE(PD, MR, CQ, SRQ, QP), context);
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		uint64_t response;
		uint32_t words[30];
	} command = {};

	for (int i = chance(8); i < 30; i += 1 + chance(8))
		command.words[i] = o && one_in(2) ? o->handle : chance(100);
	return context && send_command(context->fd, chance(42), &command, 16 + 4 * chance(31),
				       4 * chance(32));
}

static bool op_odd_ioctl(void)
{
	struct context *context = context_for(-1);
	static const int types[] = {
		[PD] = UVERBS_OBJECT_PD, [MR] = UVERBS_OBJECT_MR, [CQ] = UVERBS_OBJECT_CQ,
		[SRQ] = UVERBS_OBJECT_SRQ, [QP] = UVERBS_OBJECT_QP,
	};
	struct object *o = find(CHOOSE(PD, MR, MR, CQ, SRQ, QP), context);
	struct { struct ib_uverbs_ioctl_hdr hdr; struct ib_uverbs_attr attrs[8]; } io = {};
	unsigned int i, count = one_in(2) ? 1 : 1 + chance(8);

	io.hdr = (struct ib_uverbs_ioctl_hdr) {
		.length = sizeof(io.hdr) + count * sizeof(io.attrs[0]),
		.object_id = o && !one_in(4) ? types[o->kind] : (int)chance(10),
		.method_id = chance(8), .num_attrs = count,
		.driver_id = 18,
	};
	for (i = 0; i < count; i++) {
		io.attrs[i].attr_id = one_in(8) ? chance(20) : i;
		io.attrs[i].len = i ? CHOOSE(0, 4, 4, 8, 8, 64) : 0;
		io.attrs[i].flags = chance(2);
		io.attrs[i].data = i ? (uintptr_t)response : o ? o->handle : chance(9);
		spoil(&io.attrs[i], sizeof(io.attrs[i]));
	}
	return context && !ioctl(context->fd, RDMA_VERBS_IOCTL, &io);
}

static bool op_events(void)
{
	struct object *channel = find(CHANNEL, NULL);
	struct context *context = &contexts[chance(CONTEXTS)];
	char buffer[64];
	bool done = false;

	if (context->fd >= 0)
		done = read(context->async, buffer, 16 * (1 + chance(4))) > 0;
	return (channel && read(channel->handle, buffer, 8 * (1 + chance(8))) > 0) | done;
}

/* --- rings ----------------------------------------------------------------------------- */

static struct siw_sge piece(const struct object *of)
{
	struct object *mr = find(MR, &contexts[of->context]);
	uint32_t at = mr ? chance(mr->key.size) : 0;
	struct siw_sge sge = {};

	if (mr)
		sge = (struct siw_sge) {
			.laddr = mr->key.addr + at, .lkey = mr->number,
			.length = chance(mr->key.size - at + 1) / CHOOSE(1, 4, 64, 64),
		};
	spoil(&sge, sizeof(sge));
	return sge;
}

static bool ring_doorbell(struct object *qp)
{
	COMMAND(ib_uverbs_post_send) post = { .cmd = {
		.qp_handle = qp->handle, .wqe_size = sizeof(struct ib_uverbs_send_wr),
	} };

	return DO(&contexts[qp->context], POST_SEND, &post, 4);
}

static bool op_send(void)
{
	struct object *qp = find(QP, NULL);
	struct key key = {};
	struct ring *ring;
	int count = 1 + chance(4), posted = 0;

	if (!qp || !qp->rings[0].at)
		return false;
	key = one_in(10) || !qp->key.size ? keys[chance(KEYS)] : qp->key;
	for (ring = &qp->rings[0]; count--; ring->next++) {
		struct siw_sqe *at = (void *)ring->at, sqe = {
			.id = any(), .num_sge = 1 + chance(6), .opcode = CHOOSE(0, 0, 1, 3, 3, 5),
			.rkey = key.rkey, .raddr = key.addr + chance(key.size + 1),
		};
		uint16_t flags = 1 | CHOOSE(4, 4, 0xc, 0x10, 2, 0);

		at += ring->next % ring->count;
		if (__atomic_load_n(&at->flags, __ATOMIC_ACQUIRE) & 1)
			break;
		for (int i = 0; i < 6; i++)
			sqe.sge[i] = piece(qp);
		if (flags & 2)
			sqe.sge[0].length = chance(81);
		if (sqe.opcode == 1)
			sqe.num_sge = 1;
		spoil(&sqe, sizeof(sqe));
		sqe.flags = 0;
		*at = sqe;
		__atomic_store_n(&at->flags, flags, __ATOMIC_RELEASE);
		posted++;
	}
	return ring_doorbell(qp) && posted;
}

static bool op_recv(void)
{
	struct object *o = find(CHOOSE(QP, QP, SRQ), NULL);
	int count = 1 + chance(8), posted = 0;
	struct ring *ring;

	if (!o || !o->rings[1].at)
		return false;
	for (ring = &o->rings[1]; count--; ring->next++) {
		struct siw_rqe *at = (void *)ring->at, rqe = {
			.id = any(), .num_sge = 1 + chance(6),
		};

		at += ring->next % ring->count;
		if (__atomic_load_n(&at->flags, __ATOMIC_ACQUIRE) & 1)
			break;
		for (int i = 0; i < 6; i++)
			rqe.sge[i] = piece(o);
		spoil(&rqe, sizeof(rqe));
		rqe.flags = 0;
		*at = rqe;
		__atomic_store_n(&at->flags, 1, __ATOMIC_RELEASE);
		posted++;
	}
	return posted;
}

static bool op_poll(void)
{
	struct object *cq = find(CQ, NULL);
	struct ring *ring = cq ? &cq->rings[0] : NULL;
	struct siw_cqe *cqe;
	int count = 0;

	if (!cq || !ring->at)
		return false;
	for (;; ring->next++, count++) {
		cqe = (void *)ring->at;
		cqe += ring->next % ring->count;
		if (!(__atomic_load_n(&cqe->flags, __ATOMIC_ACQUIRE) & 1) || count == 100)
			break;
		__atomic_store_n(&cqe->flags, 0, __ATOMIC_SEQ_CST);
	}
	*(volatile uint32_t *)(ring->at + ring->count * sizeof(*cqe)) = chance(4);
	return count;
}

/* Choose another ring for the thread that writes random bytes, or none. */
static bool op_scribble(void)
{
	struct object *o = find(CHOOSE(QP, SRQ, CQ), NULL);
	struct ring ring = o ? o->rings[chance(2)] : (struct ring) {};

	scribble_at(one_in(2) ? ring : (struct ring) {});
	return ring.at;
}

/* Map a ring, or another part of the device file, once more, write a byte, and unmap it. */
static bool op_map(void)
{
	struct object *o = find(CHOOSE(QP, SRQ, CQ), NULL);
	struct ring ring = o ? o->rings[chance(2)] : (struct ring) {};
	char *at;

	if (!o)
		return false;
	spoil(&ring.key, 8);
	if (one_in(8))
		ring.size = 4096 * chance(8) + 1;
	at = mmap(NULL, ring.size, PROT_READ | PROT_WRITE, one_in(8) ? MAP_PRIVATE : MAP_SHARED,
		  contexts[o->context].fd, ring.key);
	if (at == MAP_FAILED)
		return false;
	*(volatile char *)(at + chance(ring.size)) = chance(4);
	madvise(at, ring.size, CHOOSE(MADV_DONTNEED, MADV_DONTFORK, MADV_WILLNEED));
	munmap(at, ring.size);
	return true;
}

/* Map new pages in place of some that may belong to a memory region. */
static bool op_memory(void)
{
	size_t at = chance(MEMORY / 4096) * 4096, size = 4096 * (1 + chance(4));

	if (at + size > MEMORY)
		return false;
	return mmap(memory + at, size, PROT_READ | PROT_WRITE,
		    MAP_FIXED | MAP_SHARED | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
}

uint32_t verbs_qp_for(int link, struct key *key)
{
	struct context *context = context_for(link);
	struct object *qp, *mr;
	int tries = 5;

	if (!context)
		return 0;
	errno = 0;
	do
		qp = make_qp(context);
	while ((!qp || qp->kind != QP) && --tries);
	if (!qp || qp->kind != QP) {
		if (errno == EIO)
			close_context(context);
		else
			destroy(find(CHOOSE(QP, CQ, MR), NULL));
		return 0;
	}
	if (!one_in(8))
		modify(qp, 1);
	mr = find(MR, context);
	if (!mr)
		mr = make_mr(context);
	if (mr && mr->kind == MR)
		*key = mr->key;
	return qp->number;
}

void verbs_peer(uint32_t number, const struct key *key)
{
	for (struct object *o = objects; o < objects + OBJECTS; o++)
		if (o->kind == QP && o->number == number)
			o->key = *key;
}

/* Operations of cm.c, which the table of a user's operations has, too, with their weights */
#define CM_OPS										\
	CM_OP(cm_step, 60) CM_OP(cm_listen, 10) CM_OP(cm_connect, 20) CM_OP(cm_disconnect, 2)	\
	CM_OP(cm_destroy, 4) CM_OP(cm_odd, 6) CM_OP(cm_reopen, 1) CM_OP(socket_connect, 10)	\
	CM_OP(socket_request, 14) CM_OP(socket_fpdu, 30) CM_OP(socket_read, 12)			\
	CM_OP(socket_end, 8) CM_OP(socket_accept, 8)

#define CM_OP(name, weight)	bool op_##name(void);
CM_OPS
#undef CM_OP
#define CM_OP(name, weight)	{ #name, weight, op_##name },

const struct op user_ops[] = {
	{ "open", 4, op_open }, { "close", 1, op_close }, { "pd", 1, op_pd }, { "mr", 10, op_mr },
	{ "channel", 2, op_channel }, { "cq", 4, op_cq }, { "srq", 3, op_srq }, { "qp", 1, op_qp },
	{ "destroy", 8, op_destroy }, { "modify", 3, op_modify }, { "query", 4, op_query },
	{ "limit", 4, op_limit }, { "odd_command", 6, op_odd_command },
	{ "odd_ioctl", 6, op_odd_ioctl }, { "events", 10, op_events }, { "send", 40, op_send },
	{ "recv", 40, op_recv }, { "poll", 30, op_poll }, { "scribble", 4, op_scribble },
	{ "map", 4, op_map }, { "memory", 2, op_memory },
	CM_OPS
	{}
};

// SPDX-License-Identifier: GPL-2.0
/*
 * verbs_probe: what it does without libibverbs. It reads and writes memory, and the rings (SQ, RQ,
 * CQ) that libsiw and the kernel share, rings the doorbell, and writes uverbs commands.
 *
 * The rings of an object are MEMORY with the name OBJECT.sq, OBJECT.rq or OBJECT.ring. This file
 * replaces mmap() of libc by its own, which records the addresses at which libsiw maps rings.
 */

#define _GNU_SOURCE	/* off64_t */

#include "verbs_probe.h"

#include <errno.h>
#include <pthread.h>
#include <rdma/ib_user_verbs.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_MAPPINGS	4
#define MAX_COMMAND	65536

static struct mapping mappings[MAX_MAPPINGS];
static int mappings_made;

void mappings_clear(void)
{
	mappings_made = 0;
}

void *mmap64(void *address, size_t size, int prot, int flags, int fd, off64_t offset)
{
	void *got = (void *)syscall(SYS_mmap, address, size, prot, flags, fd, offset);

	if (got != MAP_FAILED && context && fd == context->cmd_fd && mappings_made < MAX_MAPPINGS)
		mappings[mappings_made++] = (struct mapping) { got, size, offset };
	return got;
}

void *mmap(void *address, size_t size, int prot, int flags, int fd, off_t offset)
{
	return mmap64(address, size, prot, flags, fd, offset);
}

/*
 * Record the rings that libsiw mapped when it created the object @owner, each as an object of type
 * MEMORY. @suffixes: ends of their names, in libsiw's order: of a QP first the SQ, then the RQ
 */
int rings_add(const char *owner, const char *const *suffixes, int count)
{
	struct object *ring;
	char name[2 * NAME_SIZE];
	int i;

	/* Another number of mappings: this provider is not libsiw, so its rings are unknown. */
	if (mappings_made != count)
		return 0;
	for (i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "%s.%s", owner, suffixes[i]);
		ring = add(MEMORY, name, mappings[i].address);
		ring->borrowed = true;
		ring->size = mappings[i].size;
		ring->key = mappings[i].key;
		printf("RING %s %zu 0x%llx\n", name, ring->size, (unsigned long long)ring->key);
	}
	return 0;
}

/* Forget the rings of the object @owner, which the caller then destroys: libsiw unmaps them. */
void rings_forget(const char *owner)
{
	struct object *ring = NULL, *next;
	size_t len = strlen(owner);

	for (ring = next_of(MEMORY, NULL); ring; ring = next) {
		next = next_of(MEMORY, ring);
		if (ring->borrowed && !strncmp(ring->name, owner, len) && ring->name[len] == '.')
			forget(ring);
	}
}

/* Return the address of argv's MEMORY and OFFSET; NULL if @size bytes there are not all in it. */
static uint8_t *octets(char **argv, size_t size)
{
	struct object *memory = find(MEMORY, argv[0]);
	uint64_t offset = number(argv[1]);

	if (!memory)
		return NULL;
	if (offset > memory->size || size > memory->size - offset) {
		errno = ERANGE;
		return NULL;
	}
	return memory->memory + offset;
}

static int do_peek(int argc, char **argv)
{
	uint8_t *at = octets(argv, number(argv[2]));

	if (!at)
		return -1;
	printf("DATA ");
	print_octets(at, number(argv[2]));
	printf("\n");
	return 0;
}

static int do_poke(int argc, char **argv)
{
	static uint8_t data[MAX_COMMAND];
	int size = parse_octets(argv[2], data, sizeof(data));
	uint8_t *at = size < 0 ? NULL : octets(argv, size);

	if (!at)
		return -1;
	memcpy(at, data, size);
	return 0;
}

static int do_fill(int argc, char **argv)
{
	uint8_t *at = octets(argv, number(argv[2]));

	if (!at)
		return -1;
	memset(at, number(argv[3]), number(argv[2]));
	return 0;
}

/*
 * Print zlib's CRC-32 of memory. If verbs_probe is not in the test's host, the test compares the
 * CRC and need not read all bytes over the network.
 */
static int do_sum(int argc, char **argv)
{
	size_t size = number(argv[2]), i;
	uint8_t *at = octets(argv, size);
	uint32_t crc = ~0;
	int bit;

	if (!at)
		return -1;
	for (i = 0; i < size; i++) {
		crc ^= at[i];
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	printf("SUM 0x%x\n", ~crc);
	return 0;
}

/* Map a ring of libsiw a second time, at another address, as MEMORY */
static int do_remap(int argc, char **argv)
{
	struct object *ring = find(MEMORY, argv[1]), *object;
	void *address;

	if (!ring)
		return -1;
	address = mmap(NULL, ring->size, PROT_READ | PROT_WRITE, MAP_SHARED, context->cmd_fd,
		       ring->key);
	if (address == MAP_FAILED)
		return -1;
	object = add(MEMORY, argv[0], address);
	object->size = ring->size;
	return 0;
}

/* Map any offset and size of the uverbs device file, shared or private; the driver may refuse. */
static int do_map_key(int argc, char **argv)
{
	bool is_private = argc > 3 && !strcmp(argv[3], "private");
	size_t size = number(argv[2]);
	struct object *object;
	void *address;

	address = mmap(NULL, size, PROT_READ | PROT_WRITE, is_private ? MAP_PRIVATE : MAP_SHARED,
		       context->cmd_fd, number(argv[1]));
	if (address == MAP_FAILED)
		return -1;
	object = add(MEMORY, argv[0], address);
	object->size = size;
	return 0;
}

static int do_protect(int argc, char **argv)
{
	struct object *object = find(MEMORY, argv[0]);

	return object ? mprotect(object->memory, object->size, PROT_READ) : -1;
}

static int do_doorbell(int argc, char **argv)
{
	struct object *qp = find(QP, argv[0]);
	struct ib_uverbs_post_send_resp resp;
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_post_send cmd;
	} request = {
		.hdr = {
			.command = IB_USER_VERBS_CMD_POST_SEND,
			.in_words = sizeof(request) / 4,
			.out_words = sizeof(resp) / 4,
		},
		.cmd = {
			.response = (uintptr_t)&resp,
			.wqe_size = sizeof(struct ib_uverbs_send_wr),
		},
	};

	if (!qp)
		return -1;
	request.cmd.qp_handle = qp->qp->handle;
	return write(context->cmd_fd, &request, sizeof(request)) == sizeof(request) ? 0 : -1;
}

/* Print the uverbs handle of an object, for commands that the test writes by "uverbs". */
static int do_handle(int argc, char **argv)
{
	struct object *object;
	uint32_t handle = 0;

	if ((object = find(PD, argv[0])))
		handle = object->pd->handle;
	else if ((object = find(MR, argv[0])))
		handle = object->mr->handle;
	else if ((object = find(CQ, argv[0])))
		handle = object->cq->handle;
	else if ((object = find(SRQ, argv[0])))
		handle = object->srq->handle;
	else if ((object = find(QP, argv[0])))
		handle = object->qp->handle;
	else
		return -1;
	printf("HANDLE %u\n", handle);
	return 0;
}

/*
 * Write HEX, a uverbs command, to the device file. RESPONSE-AT: offset in the command at which the
 * address of the buffer for the response is put, "-" for no address; ROOM: size of that buffer
 */
static int do_uverbs(int argc, char **argv)
{
	static uint8_t request[MAX_COMMAND], response[MAX_COMMAND];
	int size = parse_octets(argv[2], request, sizeof(request));
	uint64_t address = (uintptr_t)response;
	size_t at = number(argv[0]), room = number(argv[1]);
	ssize_t rv;

	if (size < 0)
		return -1;
	if (strcmp(argv[0], "-")) {
		if (at + sizeof(address) > (size_t)size || room > sizeof(response)) {
			errno = ERANGE;
			return -1;
		}
		memcpy(request + at, &address, sizeof(address));
	}
	memset(response, 0xee, sizeof(response));
	rv = write(context->cmd_fd, request, size);
	printf("WROTE %zd %d ", rv, rv < 0 ? errno : 0);
	print_octets(response, room + 8);
	printf("\n");
	return 0;
}

/* --- threads that write into memory and rings ------------------------------------------------ */

#define MAX_VALUES	8
/* see_at_work() fails unless a thread writes more often than SEEN_ROUNDS times in SEEN_MS. */
#define SEEN_ROUNDS	1000
#define SEEN_MS		10000

static struct scribbler {
	pthread_t thread;
	volatile uint8_t *at;
	size_t size;		/* bytes to "scribble" on; for "flip" from entry to entry */
	size_t count;		/* of entries of a ring, for "flip" */
	size_t width;		/* of a field of an entry, in bytes, for "flip" */
	uint64_t values[MAX_VALUES];
	size_t nr_values;
	uint64_t state;
	volatile uint64_t rounds;
	volatile bool stop;
	bool runs;
} scribblers[8];

/* xorshift64 */
static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void *scribble(void *arg)
{
	struct scribbler *s = arg;

	while (!s->stop) {
		uint64_t r = next_random(&s->state);

		s->at[(r >> 8) % s->size] = r;
		s->rounds++;
	}
	return NULL;
}

/* Set one field of randomly chosen entries of a ring to one of a few values, by single stores. */
static void *flip(void *arg)
{
	struct scribbler *s = arg;

	while (!s->stop) {
		uint64_t r = next_random(&s->state);
		volatile uint8_t *at = s->at + (r >> 8) % s->count * s->size;
		uint64_t value = s->values[(r >> 40) % s->nr_values];

		if (s->width == 1)
			*at = value;
		else if (s->width == 2)
			*(volatile uint16_t *)at = value;
		else
			*(volatile uint32_t *)at = value;
		s->rounds++;
	}
	return NULL;
}

static struct scribbler *free_scribbler(void)
{
	struct scribbler *s;

	for (s = scribblers; s < scribblers + 8; s++)
		if (!s->runs)
			return s;
	return NULL;
}

/*
 * Wait until a thread of "scribble" or "flip" has written often: on a busy host it may get no CPU
 * for long, and the test would not test what it should.
 */
static int see_at_work(const struct scribbler *s)
{
	uint64_t before = s->rounds;
	int ms;

	for (ms = 0; ms < SEEN_MS; ms++) {
		if (s->rounds - before > SEEN_ROUNDS)
			return 0;
		usleep(1000);
	}
	errno = ETIMEDOUT;
	return -1;
}

/* Start a thread of "scribble" or "flip", and wait until it has written often. */
static int start_scribbler(struct scribbler *s, void *(*body)(void *))
{
	errno = pthread_create(&s->thread, NULL, body, s);
	if (errno)
		return -1;
	s->runs = true;
	return see_at_work(s);
}

static int do_scribble(int argc, char **argv)
{
	uint8_t *at = octets(argv, number(argv[2]));
	struct scribbler *s = free_scribbler();

	if (!at || !s)
		return -1;
	*s = (struct scribbler) {
		.at = at, .size = number(argv[2]), .state = number(argv[3]) | 1,
	};
	return start_scribbler(s, scribble);
}

static int do_flip(int argc, char **argv)
{
	size_t stride = number(argv[2]), count = number(argv[3]), width = number(argv[4]);
	struct scribbler *s = free_scribbler();
	uint8_t *at = count && width <= stride ? octets(argv, stride * (count - 1) + width) : NULL;
	int i;

	if (!at || !s || argc - 6 > MAX_VALUES)
		return -1;
	*s = (struct scribbler) {
		.at = at, .size = stride, .count = count, .width = width,
		.state = number(argv[5]) | 1, .nr_values = argc - 6,
	};
	for (i = 6; i < argc; i++)
		s->values[i - 6] = number(argv[i]);
	return start_scribbler(s, flip);
}

static int do_calm(int argc, char **argv)
{
	struct scribbler *s;
	int err = 0;

	for (s = scribblers; s < scribblers + 8; s++)
		if (s->runs && see_at_work(s))
			err = -1;
	for (s = scribblers; s < scribblers + 8; s++) {
		if (!s->runs)
			continue;
		s->stop = true;
		pthread_join(s->thread, NULL);
		s->runs = false;
		printf("ROUNDS %llu\n", (unsigned long long)s->rounds);
	}
	return err;
}

/* --- processes and threads ------------------------------------------------------------------- */

/* Fork a child that only sleeps, and that the kernel kills when verbs_probe exits. */
static int do_fork(int argc, char **argv)
{
	pid_t parent = getpid(), child = fork();

	if (child)
		return child < 0 ? -1 : 0;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	for (;;)
		pause();
}

/* Offsets in the uverbs device file that the kernel is likely to assign to rings of new objects */
#define FIRST_KEY	0x91000
#define KEYS		64

static volatile bool race_is_over;

static void *map_all(void *arg)
{
	unsigned int key, seen = 0;
	uint8_t *got;

	while (!race_is_over) {
		key = FIRST_KEY + (seen++ % KEYS) * 4096;
		got = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, context->cmd_fd, key);
		if (got == MAP_FAILED)
			continue;
		*(volatile uint8_t *)(got + 64) = 1;
		munmap(got, 4096);
	}
	return NULL;
}

/* Create and destroy a CQ by uverbs commands, without libsiw, which would map the ring itself. */
static int create_and_destroy_cq(void)
{
	struct ib_uverbs_create_cq_resp resp[4];	/* the driver's response follows the first */
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_create_cq cmd;
	} create = {
		.hdr = { IB_USER_VERBS_CMD_CREATE_CQ, sizeof(create) / 4, sizeof(resp) / 4 },
		.cmd = { .response = (uintptr_t)resp, .cqe = 16, .comp_channel = -1 },
	};
	struct ib_uverbs_destroy_cq_resp gone;
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_destroy_cq cmd;
	} destroy = {
		.hdr = { IB_USER_VERBS_CMD_DESTROY_CQ, sizeof(destroy) / 4, sizeof(gone) / 4 },
		.cmd = { .response = (uintptr_t)&gone },
	};

	if (write(context->cmd_fd, &create, sizeof(create)) != sizeof(create))
		return -1;
	destroy.cmd.cq_handle = resp[0].cq_handle;
	return write(context->cmd_fd, &destroy, sizeof(destroy)) == sizeof(destroy) ? 0 : -1;
}

static int do_race_maps(int argc, char **argv)
{
	unsigned long count = number(argv[0]);
	pthread_t thread;
	int rv = 0;

	race_is_over = false;
	errno = pthread_create(&thread, NULL, map_all, NULL);
	if (errno)
		return -1;
	while (count-- && !rv)
		rv = create_and_destroy_cq();
	race_is_over = true;
	pthread_join(thread, NULL);
	return rv;
}

/* Call ibv_modify_qp() with states that a connected QP cannot enter, and with RTS, its own state */
static int do_modify_storm(int argc, char **argv)
{
	static const enum ibv_qp_state states[] = { IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS };
	struct object *qp = find(QP, argv[0]);
	unsigned long i, count = number(argv[1]);

	if (!qp)
		return -1;
	for (i = 0; i < count; i++) {
		struct ibv_qp_attr attr = { .qp_state = states[i % 3] };

		ibv_modify_qp(qp->qp, &attr, IBV_QP_STATE);
	}
	return 0;
}

const struct command raw_commands[] = {
	{ "peek", do_peek, 3 },		/* MEMORY OFFSET SIZE: "DATA HEX" */
	{ "poke", do_poke, 3 },		/* MEMORY OFFSET HEX */
	{ "fill", do_fill, 4 },		/* MEMORY OFFSET SIZE OCTET */
	{ "sum", do_sum, 3 },		/* MEMORY OFFSET SIZE: "SUM CRC" */
	{ "remap", do_remap, 2 },	/* MEMORY RING */
	{ "map_key", do_map_key, 3 },	/* MEMORY OFFSET SIZE [private]: map the uverbs device */
	{ "protect", do_protect, 1 },	/* MEMORY: make it read-only by mprotect() */
	{ "doorbell", do_doorbell, 1 },	/* QP */
	{ "handle", do_handle, 1 },	/* OBJECT: "HANDLE N" */
	/* RESPONSE-AT|- ROOM HEX: "WROTE RESULT ERRNO HEX", ROOM bytes of response and 8 behind */
	{ "uverbs", do_uverbs, 3 },
	{ "scribble", do_scribble, 4 },	/* MEMORY OFFSET SIZE SEED: until calm */
	/* MEMORY OFFSET STRIDE COUNT WIDTH SEED VALUE...: a field of COUNT entries, until calm */
	{ "flip", do_flip, 7 },
	{ "calm", do_calm, 0 },		/* end scribble and flip; "ROUNDS N" for each */
	{ "fork", do_fork, 0 },
	{ "race_maps", do_race_maps, 1 },	/* COUNT */
	{ "modify_storm", do_modify_storm, 2 },	/* QP COUNT */
	{ }
};

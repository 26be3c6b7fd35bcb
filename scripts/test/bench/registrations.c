// SPDX-License-Identifier: GPL-2.0
/*
 * What does it cost to register memory, with few regions and with many? Under QEMU's -icount a
 * nanosecond is an instruction.
 *
 *	registrations user DEVICE COUNT		a process registers COUNT pages, one after the
 *						other
 *	registrations kernel ADDRESS COUNT	a kernel ULP allocates COUNT regions for fast
 *						registration, of 16 pieces each, on the device
 *						that has ADDRESS
 *
 * Prints the average time of one registration: "register_first N" for the first thousand,
 * "register_last N" for the last thousand, "register N" for all; and the same for "deregister". The
 * part in the kernel is scripts/wire/kverbs.
 */

#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define THOUSAND	1000
#define PAGES		1024	/* of the process, used again and again */
#define PAGE		4096
#define PIECES		16

static void need(int good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(1);
}

static long long clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void say(const char *what, long long first, long long last, long long all)
{
	printf("%s_first %lld\n%s_last %lld\n%s %lld\n", what, first, what, last, what, all);
}

static struct ibv_context *open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	for (; list && *list; list++) {
		if (!strcmp(ibv_get_device_name(*list), name))
			return ibv_open_device(*list);
	}
	errno = ENODEV;
	return NULL;
}

static int do_register(struct ibv_pd *pd, char *memory, struct ibv_mr **mr, int i)
{
	*mr = ibv_reg_mr(pd, memory + (size_t)(i % PAGES) * PAGE, PAGE,
			 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	return *mr ? 0 : -1;
}

static int do_deregister(struct ibv_pd *pd, char *memory, struct ibv_mr **mr, int i)
{
	(void)pd;
	(void)memory;
	(void)i;
	return ibv_dereg_mr(*mr);
}

static void repeat(const char *what, struct ibv_pd *pd, char *memory, struct ibv_mr **mrs, int count,
		   int (*step)(struct ibv_pd *pd, char *memory, struct ibv_mr **mr, int i))
{
	long long begin = clock_ns(), first = 0, last = 0, end;
	int i;

	for (i = 0; i < count; i++) {
		need(!step(pd, memory, &mrs[i], i), what);
		if (i == THOUSAND - 1)
			first = clock_ns();
		if (i == count - THOUSAND - 1)
			last = clock_ns();
	}
	end = clock_ns();
	say(what, (first - begin) / THOUSAND, (end - last) / THOUSAND, (end - begin) / count);
}

static void of_process(const char *device, int count)
{
	char *memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	struct ibv_mr **mrs = calloc(count, sizeof(*mrs));
	struct ibv_context *context = open_device(device);
	struct ibv_pd *pd;

	need(memory != MAP_FAILED && mrs, "memory");
	memset(mrs, 1, count * sizeof(*mrs));	/* now, so that its page faults are not measured */
	need(!!context, "ibv_open_device");
	pd = ibv_alloc_pd(context);
	need(!!pd, "ibv_alloc_pd");
	repeat("register", pd, memory, mrs, count, do_register);
	repeat("deregister", pd, memory, mrs, count, do_deregister);
}

/* Return the output of a command of kverbs */
static char *ask(int file, const char *command)
{
	static char said[4096];
	ssize_t size;

	need(write(file, command, strlen(command)) > 0, "kverbs");
	size = read(file, said, sizeof(said) - 1);
	need(size > 0, "kverbs");
	said[size] = '\0';
	if (!strstr(said, "OK\n")) {
		fprintf(stderr, "%s: %s", command, said);
		exit(1);
	}
	return said;
}

static void of_kernel(const char *address, int count)
{
	long long made[3], freed[3];
	int file = open("/dev/kverbs", O_RDWR);
	char command[100];

	need(file >= 0, "/dev/kverbs");
	snprintf(command, sizeof(command), "resolve %s 7471", address);
	ask(file, command);
	snprintf(command, sizeof(command), "many %d %d", count, PIECES);
	need(sscanf(ask(file, command), "NS %lld %lld %lld NS %lld %lld %lld", &made[0], &made[1],
		    &made[2], &freed[0], &freed[1], &freed[2]) == 6, command);
	say("register", made[0], made[1], made[2]);
	say("deregister", freed[0], freed[1], freed[2]);
}

int main(int argc, char **argv)
{
	int count = argc == 4 ? atoi(argv[3]) : 0;

	if (count < 2 * THOUSAND) {
		fprintf(stderr, "usage: registrations user|kernel DEVICE|ADDRESS COUNT, 2000 at least\n");
		return 2;
	}
	if (!strcmp(argv[1], "user"))
		of_process(argv[2], count);
	else
		of_kernel(argv[2], count);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Random sequences of system calls on RDMA devices of srnic, for cases that no list of tests has.
 *
 *	random SEED SECONDS SLOW
 *
 * Users make objects, connect them, write into rings and send on sockets; administrators remove
 * links and network devices below them. Each process has its own stream of random numbers, which
 * follows from SEED, the number of the process, and how many processes had this number before. The
 * same seed gives the same sequences, but not the same order between processes, and the result of a
 * call depends on other processes. Now and then a process is killed; a new one takes its number.
 * Arguments are mostly right, since a sequence in which all calls are refused tests little.
 *
 * Any call may fail. But each call has to return, the kernel must not report an error, and nothing
 * may be left at the end. And each operation has to succeed now and then, or the run would consist
 * of refusals.
 */

#define _GNU_SOURCE

#include "random.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define USERS		5
#define ADMINS		2
#define PLACES		(USERS + ADMINS)
#define SLOTS		(2 * PLACES)	/* a user may have a child */
#define MOST_OPS	64
#define ENOUGH		40	/* tries of an operation, of which one has to succeed */
#define ENOUGH_ODD	1000	/* the same of odd calls, of which one in 100 succeeds */
#define LOOKS		120	/* checks, one a second, until a call is lost; times SLOW */

/*
 * The call that a process is in, and the number of its calls so far: the watchdog regards a call as
 * lost if the number is the same at LOOKS checks.
 */
struct slot {
	const struct op *op;
	unsigned long number;
};

static struct shared {
	struct key keys[KEYS];
	unsigned long established, died;
	struct slot slots[SLOTS];
	unsigned long tried[2][MOST_OPS], done[2][MOST_OPS];
} *shared;

struct key *keys;
unsigned long *established;
int namespaces[NAMESPACES];
static uint64_t state, stream, steps;
static int my_slot, fail_fd = -1;
static pid_t child, pids[PLACES];

/* The next random number of the process, by the generator splitmix64 */
uint64_t any(void)
{
	uint64_t z = state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

unsigned int chance(unsigned int n)
{
	return (any() >> 20) % n;
}

/* In one of 25 calls, put a wrong value into some word of a command. */
void spoil(void *at, size_t size)
{
	uint32_t value = CHOOSE(0u, 1u, 2u, 0xffu, 0xfffu, 0x1000u, 0xffffu, 0x7fffffffu,
				0x80000000u, 0xfffffff0u, 0xffffffffu);

	if (!one_in(25) || size < sizeof(value))
		return;
	if (one_in(3))
		value = any();
	memcpy((char *)at + chance(size / 4) * 4, &value, one_in(2) ? 4 : 1 + chance(3));
}

/*
 * Map memory far from all other memory of the process: if spoil() changes an address in a command,
 * and a peer then writes there, that should not change the variables of this program.
 */
void *map_far(int number, size_t size)
{
	return mmap((void *)(0x200000000000 + number * 0x10000000000), size, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
}

int open_namespace(int number)
{
	return setns(namespaces[number], CLONE_NEWNET);
}

/* --- a process ------------------------------------------------------------------------- */

static const struct op *choose(const struct op *ops, int *number)
{
	int sum = 0, i;

	for (i = 0; ops[i].name; i++)
		sum += ops[i].weight;
	sum = chance(sum);
	for (i = 0; sum >= ops[i].weight; i++)
		sum -= ops[i].weight;
	*number = i;
	return &ops[i];
}

/* Let the @number-th allocation of the next call fail, if the kernel supports fail-nth; 0: none. */
static void let_fail(int number)
{
	char text[12];

	if (fail_fd >= 0 && pwrite(fail_fd, text, sprintf(text, "%d", number), 0) < 0)
		fail_fd = -1;
}

static bool step(const struct op *ops);

/* Fork a child that runs steps for a while, with the same open files and mappings as its parent. */
static void go_on_as_two(void)
{
	if (child > 0 && !waitpid(child, NULL, WNOHANG))
		return;
	child = fork();
	if (child)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	my_slot += PLACES;
	stream = any();
	fail_fd = -1;
	verbs_forked();
	for (int i = chance(100); i >= 0; i--)
		step(user_ops);
	_exit(0);
}

/*
 * Run one operation. The generator of random numbers is set anew for each step, from the seed and
 * the step's number: so a step draws the same numbers, whatever the results of earlier calls were.
 */
static bool step(const struct op *ops)
{
	struct slot *slot = &shared->slots[my_slot];
	bool is_user = ops == user_ops, fails, done;
	int number;

	state = stream ^ steps++ << 16;
	state = any();
	if (is_user && one_in(200) && my_slot < PLACES)
		go_on_as_two();
	fails = is_user && one_in(10);
	slot->number++;
	slot->op = choose(ops, &number);
	if (fails)
		let_fail(1 + chance(50));
	done = slot->op->run();
	if (fails)
		let_fail(0);
	__atomic_fetch_add(&shared->tried[is_user][number], 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&shared->done[is_user][number], done, __ATOMIC_RELAXED);
	slot->op = NULL;
	return done;
}

static void live(int place, uint64_t seed, unsigned int turn)
{
	const struct op *ops = place < USERS ? user_ops : admin_ops;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	my_slot = place;
	state = seed ^ (uint64_t)place << 56 ^ (uint64_t)turn << 32;
	stream = any();
	if (ops == user_ops) {
		if (one_in(5))
			open_namespace(chance(NAMESPACES));
		verbs_start();
		cm_start();
		fail_fd = open("/proc/thread-self/fail-nth", O_WRONLY);
	}
	/*
	 * After a call that was refused a user sleeps, so that other processes can run: without a
	 * device all calls are refused at once.
	 */
	for (;;) {
		bool done = step(ops);

		if (ops == admin_ops)
			usleep(chance(100000));
		else if (!done)
			usleep(chance(5000));
	}
}

/* --- the watchdog ---------------------------------------------------------------------- */

static void start(int place, uint64_t seed)
{
	static unsigned int turns[PLACES];

	fflush(stdout);
	/* The last process of this place may have been killed within a call. */
	shared->slots[place].op = NULL;
	shared->slots[place + PLACES].op = NULL;
	pids[place] = fork();
	if (!pids[place])
		live(place, seed, turns[place]);
	turns[place]++;
}

/* A call that does not return has the same slot and number at each check. */
static bool watch(int limit)
{
	static struct { unsigned long number; int looks; } seen[SLOTS];
	char command[64];
	bool good = true;

	for (int i = 0; i < SLOTS; i++) {
		const struct slot *slot = &shared->slots[i];

		if (!slot->op || slot->number != seen[i].number)
			seen[i].looks = 0;
		seen[i].number = slot->number;
		if (++seen[i].looks != limit)
			continue;
		good = false;
		printf("lost: %s, of process %d\n", slot->op->name, i);
		fflush(stdout);
		sprintf(command, "cat /proc/%d/task/*/stack", pids[i % PLACES]);
		if (system(command))
			printf("no stack\n");
	}
	return good;
}

static bool reap(int place, int limit)
{
	kill(pids[place], SIGKILL);
	while (limit--) {
		if (waitpid(pids[place], NULL, WNOHANG))
			return true;
		usleep(1000000);
	}
	printf("process %d cannot be killed\n", place);
	return false;
}

static bool tell(const struct op *ops, int kind)
{
	bool good = true;

	for (int i = 0; ops[i].name; i++) {
		unsigned long tried = shared->tried[kind][i], done = shared->done[kind][i];
		bool is_odd = !strncmp(ops[i].name, "odd_", 4);
		bool never = !done && tried >= (is_odd ? ENOUGH_ODD : ENOUGH);

		printf("%-20s %9lu %9lu%s\n", ops[i].name, tried, done,
		       never ? "  never succeeded" : "");
		good &= !never;
	}
	return good;
}

static bool open_namespaces(void)
{
	for (int i = 0; i < NAMESPACES; i++) {
		if (i && unshare(CLONE_NEWNET))
			return false;
		namespaces[i] = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
		if (namespaces[i] < 0)
			return false;
	}
	return !open_namespace(0);
}

int main(int argc, char **argv)
{
	uint64_t seed;
	bool good = true;
	int slow, i;
	time_t end;

	if (argc != 4)
		return 2;
	seed = strtoull(argv[1], NULL, 0);
	slow = atoi(argv[3]);
	shared = map_far(0, sizeof(*shared));
	keys = shared->keys;
	established = &shared->established;
	signal(SIGPIPE, SIG_IGN);
	state = seed;
	/* The mode of the RDMA core can be set only before there are other network namespaces. */
	if (!admin_set_up(one_in(2)) || !open_namespaces()) {
		perror("set up");
		return 1;
	}
	end = time(NULL) + atoi(argv[2]);
	for (i = 0; i < PLACES; i++)
		start(i, seed);
	while (time(NULL) < end && good) {
		usleep(1000000);
		good = watch(LOOKS * slow);
		for (i = 0; i < PLACES; i++) {
			if (waitpid(pids[i], NULL, WNOHANG) > 0)
				shared->died++;
			else if (!one_in(5 * PLACES))
				continue;
			good &= reap(i, LOOKS * slow);
			start(i, seed);
		}
	}
	for (i = 0; i < PLACES; i++)
		good &= reap(i, LOOKS * slow);
	good &= admin_clear();
	printf("operation, how often, and with success\n");
	good &= tell(user_ops, 1) & tell(admin_ops, 0) & (shared->established > 0);
	printf("connections established: %lu; processes that died: %lu\n", shared->established,
	       shared->died);
	return !good;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * How many connections per second? Some processes connect and disconnect, others listen, on one
 * host.
 *
 *	cm_rate ADDRESS SECONDS LOAD...		LOAD: CLIENTS-LISTENERS-STALLED
 *
 * For each load, client i uses listener i % LISTENERS. For each listener STALLED peers connect by
 * TCP, send the first half of an MPA Request's key, and stay connected. Prints "LOAD connections
 * NUMBER failed NUMBER milliseconds NUMBER" for each load. The time begins when each client has
 * connected once, since to start a process takes longer than to connect.
 */

#include "cm_end.h"

#include <arpa/inet.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FIRST_PORT	7500
#define MOST		256
#define LISTENERS	8
#define STALLED		16
#define BACKLOG		1024
#define HALF_HEADER	"MPA ID Req"
#define TIMEOUT_MS	5000
#define START_LIMIT_MS	120000

/* Shared by all processes: what each client has done, which listeners are ready, and the end. */
static volatile struct shared {
	long up[MOST];
	long failed[MOST];
	bool ready[LISTENERS];
	bool stop;
} *shared;

static const char *address;
static int seconds;

struct load {
	int clients, listeners, stalled;
};

static struct sockaddr *address_of(int i)
{
	static struct sockaddr_in addr;

	addr.sin_family = AF_INET;
	addr.sin_port = htons(FIRST_PORT + i);
	need(inet_pton(AF_INET, address, &addr.sin_addr) == 1, address);
	return (struct sockaddr *)&addr;
}

static void destroy(struct rdma_cm_id *id)
{
	if (id->qp)
		rdma_destroy_qp(id);
	need(!rdma_destroy_id(id), "rdma_destroy_id");
}

/* --- a listener ----------------------------------------------------------------------------- */

static void serve_event(enum rdma_cm_event_type type, struct rdma_cm_id *id)
{
	struct rdma_conn_param param = conn_param();

	switch (type) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		if (!make_qp(id) || rdma_accept(id, &param))
			destroy(id);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		rdma_disconnect(id);
		destroy(id);
		break;
	default:
		destroy(id);
	}
}

static void serve(int number)
{
	struct rdma_cm_event *ev;
	enum rdma_cm_event_type type;
	struct rdma_cm_id *id;

	need(!rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), "rdma_create_id");
	need(!rdma_bind_addr(id, address_of(number)), "rdma_bind_addr");
	need(!rdma_listen(id, BACKLOG), "rdma_listen");
	shared->ready[number] = true;
	for (;;) {
		need(!rdma_get_cm_event(channel, &ev), "rdma_get_cm_event");
		type = ev->event;
		id = ev->id;
		if (ev->status && type == RDMA_CM_EVENT_ESTABLISHED)
			type = RDMA_CM_EVENT_CONNECT_ERROR;
		rdma_ack_cm_event(ev);
		serve_event(type, id);
	}
}

/* --- a client ------------------------------------------------------------------------------- */

static bool await(enum rdma_cm_event_type type)
{
	struct rdma_cm_event *ev;
	bool right;

	need(!rdma_get_cm_event(channel, &ev), "rdma_get_cm_event");
	right = ev->event == type && !ev->status;
	rdma_ack_cm_event(ev);
	return right;
}

static bool connect_once(struct rdma_cm_id *id, int listener)
{
	struct rdma_conn_param param = conn_param();

	return !rdma_resolve_addr(id, NULL, address_of(listener), TIMEOUT_MS) &&
	       await(RDMA_CM_EVENT_ADDR_RESOLVED) &&
	       !rdma_resolve_route(id, TIMEOUT_MS) && await(RDMA_CM_EVENT_ROUTE_RESOLVED) &&
	       make_qp(id) && !rdma_connect(id, &param) && await(RDMA_CM_EVENT_ESTABLISHED);
}

static void ask(int number, int listener)
{
	struct rdma_cm_id *id;

	while (!shared->stop) {
		need(!rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), "rdma_create_id");
		if (connect_once(id, listener)) {
			shared->up[number]++;
			if (!rdma_disconnect(id))
				await(RDMA_CM_EVENT_DISCONNECTED);
		} else {
			shared->failed[number]++;
		}
		destroy(id);
	}
}

/* --- all of them ---------------------------------------------------------------------------- */

/* Fork. Return true in the new process, which has a separate rdma_cm event channel. */
static bool forked(pid_t *pid)
{
	*pid = fork();
	need(*pid >= 0, "fork");
	if (*pid)
		return false;
	channel = rdma_create_event_channel();
	need(channel, "rdma_create_event_channel");
	return true;
}

static void start_listener(int number)
{
	pid_t pid;

	if (forked(&pid)) {
		need(setsid() > 0 && freopen("/dev/null", "w", stdout), "a session");
		serve(number);
	}
	while (!shared->ready[number]) {
		need(!waitpid(pid, NULL, WNOHANG), "a listener has ended");
		usleep(10000);
	}
}

static pid_t start_client(int number, int listener)
{
	pid_t pid;

	if (forked(&pid)) {
		ask(number, listener);
		exit(0);
	}
	return pid;
}

static int stall(int listener)
{
	struct sockaddr *addr = address_of(listener);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	need(fd >= 0 && !connect(fd, addr, sizeof(struct sockaddr_in)), "connect");
	need(write(fd, HALF_HEADER, strlen(HALF_HEADER)) > 0, "write");
	return fd;
}

static long sum(volatile const long *of, int count)
{
	long total = 0;

	while (count--)
		total += of[count];
	return total;
}

static long long clock_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

static void wait_for_all(int clients)
{
	long long until = clock_ms() + START_LIMIT_MS;
	int i;

	for (i = 0; i < clients; i++) {
		while (!shared->up[i] && !shared->failed[i]) {
			need(clock_ms() < until, "a client does not start");
			usleep(10000);
		}
	}
}

static void measure(const char *name, int clients)
{
	long up, failed;
	long long since;

	wait_for_all(clients);
	since = clock_ms();
	up = sum(shared->up, clients);
	failed = sum(shared->failed, clients);
	sleep(seconds);
	printf("%s connections %ld failed %ld milliseconds %lld\n", name,
	       sum(shared->up, clients) - up, sum(shared->failed, clients) - failed,
	       clock_ms() - since);
	fflush(stdout);
}

/* Clients that wait for an event that never arrives are killed after two seconds. */
static void end_clients(const pid_t *pid, int clients)
{
	int i, left = clients, patience = 200;

	shared->stop = true;
	while (left && patience--) {
		while (left && waitpid(-getpgrp(), NULL, WNOHANG) > 0)
			left--;
		usleep(10000);
	}
	for (i = 0; left && i < clients; i++)
		kill(pid[i], SIGKILL);
	while (left-- > 0 && waitpid(-getpgrp(), NULL, 0) > 0)
		;
	shared->stop = false;
}

static void run(const char *name)
{
	pid_t pid[MOST];
	int fd[LISTENERS * STALLED];
	struct load load;
	int i, fds = 0;

	need(sscanf(name, "%d-%d-%d", &load.clients, &load.listeners, &load.stalled) == 3 &&
	     load.clients > 0 && load.clients <= MOST && load.listeners > 0 &&
	     load.listeners <= LISTENERS && load.stalled >= 0 && load.stalled <= STALLED, name);

	for (i = 0; i < load.listeners * load.stalled; i++)
		fd[fds++] = stall(i % load.listeners);
	for (i = 0; i < load.clients; i++) {
		shared->up[i] = 0;
		shared->failed[i] = 0;
		pid[i] = start_client(i, i % load.listeners);
	}
	measure(name, load.clients);
	end_clients(pid, load.clients);
	while (fds--)
		close(fd[fds]);
}

int main(int argc, char **argv)
{
	int i;

	if (argc < 4) {
		fputs("usage: cm_rate ADDRESS SECONDS LOAD...\n", stderr);
		return 2;
	}
	address = argv[1];
	seconds = atoi(argv[2]);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	need(shared != MAP_FAILED && !setpgid(0, 0), "begin");

	for (i = 0; i < LISTENERS; i++)
		start_listener(i);
	for (i = 3; i < argc; i++)
		run(argv[i]);
	return 0;
}

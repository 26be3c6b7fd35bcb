// SPDX-License-Identifier: GPL-2.0
/*
 * A server program is killed and started again, and all of its clients reconnect at once.
 *
 *	cm_storm ADDRESS CLIENTS MILLISECONDS BACKLOG
 *
 * The server takes MILLISECONDS for each Request, one after the other, and its rdma_listen() has
 * the backlog BACKLOG. A client that fails tries again after a second. Prints lines "WHAT NUMBER",
 * with times in milliseconds since the first rdma_connect to the new server:
 *	rejected, failed	attempts that ended like this
 *	missing			clients that were not connected in the end
 *	median, p99, last	time until half, 99 %, and all of the clients were connected
 *	peak, stays		bytes of the host's memory per client, at most and in the end: of
 *				the client, of the server, and of what the kernel has for both
 */

#include "cm_end.h"

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PORT		7476
#define FIRST_PORT	8000
#define TRY_AGAIN_MS	1000
#define PATIENCE_MS	60000

enum state { DOWN, RESOLVED, CONNECTING, UP };

struct client {
	struct rdma_cm_id *id;
	enum state state;
	long long again;	/* when to try again, or 0 */
	long long took;
};

static struct sockaddr_in address = { .sin_family = AF_INET };
static struct client *clients;
static int nr_clients, rejected, failed;
static long long least_free;	/* least free memory of the host since the storm began, in bytes */

static long long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

/* Free memory of the host, in bytes; the page cache counts as free */
static long long free_memory(void)
{
	FILE *file = fopen("/proc/meminfo", "r");
	long long kib = 0, free = 0;
	char line[128];

	need(file, "/proc/meminfo");
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "MemFree: %lld", &kib) == 1 ||
		    sscanf(line, "Buffers: %lld", &kib) == 1 ||
		    sscanf(line, "Cached: %lld", &kib) == 1)
			free += kib * 1024;
	}
	fclose(file);
	return free;
}

/* --- the server, a program of its own -------------------------------------------------------- */

static void serve(int milliseconds, int backlog)
{
	struct rdma_conn_param param = {};
	struct rdma_cm_id *listener, *id;
	struct rdma_cm_event *event;
	enum rdma_cm_event_type type;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	need(!rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP), "rdma_create_id");
	need(!rdma_bind_addr(listener, (struct sockaddr *)&address), "rdma_bind_addr");
	need(!rdma_listen(listener, backlog), "rdma_listen");
	need(write(STDOUT_FILENO, "", 1) == 1, "write");
	for (;;) {
		need(!rdma_get_cm_event(channel, &event), "rdma_get_cm_event");
		type = event->event;
		id = event->id;
		rdma_ack_cm_event(event);
		if (type != RDMA_CM_EVENT_CONNECT_REQUEST)
			continue;
		usleep(milliseconds * 1000);
		need(make_qp(id), "rdma_create_qp");
		/* rdma_accept() may fail, if the client has given up. */
		rdma_accept(id, &param);
	}
}

/* Start the server, and return when it listens. */
static pid_t start_server(char **argv)
{
	char *args[] = { argv[0], argv[1], argv[2], argv[3], argv[4], "serve", NULL };
	int pipes[2];
	char octet;
	pid_t pid;

	need(!pipe(pipes), "pipe");
	pid = fork();
	need(pid >= 0, "fork");
	if (!pid) {
		dup2(pipes[1], STDOUT_FILENO);
		close(pipes[0]);
		close(pipes[1]);
		execv("/proc/self/exe", args);
		exit(1);
	}
	close(pipes[1]);
	need(read(pipes[0], &octet, 1) == 1, "the server does not listen");
	close(pipes[0]);
	return pid;
}

/* --- the clients ------------------------------------------------------------------------------ */

/* siw tries no source port but the one that rdma_cm has chosen: so each attempt gets a new one. */
static void resolve(struct client *client)
{
	static in_port_t port = FIRST_PORT;
	struct sockaddr_in source = address;

	source.sin_port = htons(port++);
	need(!rdma_create_id(channel, &client->id, client, RDMA_PS_TCP), "rdma_create_id");
	need(!rdma_resolve_addr(client->id, (struct sockaddr *)&source,
				(struct sockaddr *)&address, 5000), "rdma_resolve_addr");
	client->state = DOWN;
}

static void hang_up(struct client *client)
{
	rdma_destroy_qp(client->id);
	need(!rdma_destroy_id(client->id), "rdma_destroy_id");
	client->id = NULL;
	client->state = DOWN;
}

static void dial(struct client *client)
{
	struct rdma_conn_param param = {};

	client->state = CONNECTING;
	need(!rdma_connect(client->id, &param), "rdma_connect");
}

static void handle(const struct rdma_cm_event *event, long long began)
{
	struct client *client = event->id->context;

	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		need(!rdma_resolve_route(client->id, 5000), "rdma_resolve_route");
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		need(make_qp(client->id), "rdma_create_qp");
		client->state = RESOLVED;
		/* dial_all() begins the first attempt of each client; a later one begins here. */
		if (client->again)
			dial(client);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		client->state = UP;
		client->again = 0;
		client->took = now_ms() - began;
		break;
	default:
		if (client->state == CONNECTING) {
			rejected += event->event == RDMA_CM_EVENT_REJECTED;
			failed += event->event != RDMA_CM_EVENT_REJECTED;
			client->again = now_ms() + TRY_AGAIN_MS;
		}
		client->state = DOWN;
	}
}

static int count(enum state state)
{
	int i, n = 0;

	for (i = 0; i < nr_clients; i++)
		n += clients[i].state == state;
	return n;
}

static void look_at_memory(void)
{
	long long free = free_memory();

	if (free < least_free)
		least_free = free;
}

static void try_again(void)
{
	long long now = now_ms();
	int i;

	for (i = 0; i < nr_clients; i++) {
		struct client *client = &clients[i];

		if (client->state != DOWN || !client->again || client->again > now)
			continue;
		/*
		 * A cm_id without a QP is that of a client's next try, whose address is still being
		 * resolved.
		 */
		if (!client->id->qp)
			continue;
		hang_up(client);
		resolve(client);
	}
}

/* Handle events until all clients are in @state; return whether they are. */
static bool await(enum state state, long long began)
{
	struct pollfd pollfd = { .fd = channel->fd, .events = POLLIN };
	long long until = now_ms() + PATIENCE_MS, looked = 0;
	struct rdma_cm_event *event, copy;

	while (count(state) < nr_clients) {
		if (now_ms() > until)
			return false;
		if (now_ms() >= looked + 100) {
			looked = now_ms();
			look_at_memory();
			try_again();
		}
		if (poll(&pollfd, 1, 100) != 1)
			continue;
		need(!rdma_get_cm_event(channel, &event), "rdma_get_cm_event");
		copy = *event;
		rdma_ack_cm_event(event);
		handle(&copy, began);
	}
	return true;
}

static void resolve_all(void)
{
	int i;

	for (i = 0; i < nr_clients; i++) {
		if (clients[i].id)
			hang_up(&clients[i]);
		clients[i].again = 0;
		resolve(&clients[i]);
	}
	need(await(RESOLVED, 0), "addresses and routes");
}

static void dial_all(void)
{
	int i;

	for (i = 0; i < nr_clients; i++)
		dial(&clients[i]);
}

static int is_longer(const void *a, const void *b)
{
	long long x = ((const struct client *)a)->took, y = ((const struct client *)b)->took;

	return (x > y) - (x < y);
}

static void print_result(long long free_before)
{
	long long stays = free_before - free_memory();

	printf("rejected %d\nfailed %d\nmissing %d\n", rejected, failed, nr_clients - count(UP));
	qsort(clients, nr_clients, sizeof(*clients), is_longer);
	printf("median %lld\np99 %lld\nlast %lld\n", clients[nr_clients / 2].took,
	       clients[(nr_clients * 99 + 99) / 100 - 1].took, clients[nr_clients - 1].took);
	printf("peak %lld\nstays %lld\n", (free_before - least_free) / nr_clients, stays / nr_clients);
}

int main(int argc, char **argv)
{
	long long began, free_before;
	pid_t server;

	if (argc < 5 || !inet_aton(argv[1], &address.sin_addr))
		return 2;
	address.sin_port = htons(PORT);
	nr_clients = atoi(argv[2]);
	channel = rdma_create_event_channel();
	need(channel, "rdma_create_event_channel");
	if (argc > 5)
		serve(atoi(argv[3]), atoi(argv[4]));
	clients = calloc(nr_clients, sizeof(*clients));
	need(nr_clients > 0 && clients, "CLIENTS");

	/*
	 * Sleep until no port of an earlier run is in TIME_WAIT (60 s). This takes no real time:
	 * with QEMU's "-icount sleep=off" the clock of an idle guest jumps to its next timer.
	 */
	sleep(61);
	free_before = free_memory();
	server = start_server(argv);
	resolve_all();
	dial_all();
	need(await(UP, now_ms()), "the first connections");
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	need(await(DOWN, 0), "the end of the first connections");
	rejected = 0;
	failed = 0;
	resolve_all();
	server = start_server(argv);
	began = now_ms();
	least_free = free_before;
	dial_all();
	await(UP, began);
	print_result(free_before);
	kill(server, SIGKILL);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Many connections at once, with one short message each way on each of them. The arguments say
 * which end sends first:
 *	first_word listen ADDRESS PORT client|server CONNECTIONS		be the server
 *	first_word talk ADDRESS PORT client|server CONNECTIONS ROUNDS SECONDS	be the client
 *
 * Groups of 25 connections share a process at either end, and a port, from PORT on. In each of
 * ROUNDS all connections are made at once, and end before the next round. The client's status is 0
 * if in each round all of them came up and both messages arrived within SECONDS; it prints what
 * happened to the others. The server runs until it is killed.
 */

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>
#include <rdma/rdma_cma.h>

#define WORD_SIZE	16
#define RESOLVE_MS	20000	/* time limit of rdma_resolve_addr(), and of rdma_resolve_route() */
/* libsiw has room for about seventy QPs in a process. */
#define PER_PROCESS	25
/* Entries of conns[]: for two rounds, since connections of the last one may still be ending. */
#define SERVED		(2 * PER_PROCESS)

enum step { CONNECTING, TALKING, DONE, FAILED };

static const char *const step_names[] = {
	"is connecting", "is up, but no word came", "is done", "failed"
};

struct conn {
	struct rdma_cm_id *id;
	enum step step;
	int event;		/* event by which it failed */
	int status;
	bool speaks_first;
	struct ibv_mr *mr;
	char words[2][WORD_SIZE];	/* message to send, message received */
};

static struct rdma_event_channel *channel;
static struct ibv_comp_channel *comp_channel;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static bool is_server, server_first;
static struct conn conns[SERVED];

static void die(const char *what)
{
	fprintf(stderr, "first_word: %s: %s\n", what, strerror(errno));
	exit(2);
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

/* All connections share one completion queue, so that the process maps fewer pages. */
static void need_cq(struct ibv_context *verbs)
{
	if (cq)
		return;
	pd = ibv_alloc_pd(verbs);
	comp_channel = ibv_create_comp_channel(verbs);
	if (!pd || !comp_channel)
		die("verbs");
	cq = ibv_create_cq(verbs, 4 * SERVED, NULL, comp_channel, 0);
	if (!cq || ibv_req_notify_cq(cq, 0))
		die("ibv_create_cq");
}

static void conn_listen_to_word(struct conn *conn)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)conn->words[1], .length = WORD_SIZE, .lkey = conn->mr->lkey,
	};
	struct ibv_recv_wr wr = { .wr_id = conn - conns, .sg_list = &sge, .num_sge = 1 }, *bad;

	if (ibv_post_recv(conn->id->qp, &wr, &bad))
		die("ibv_post_recv");
}

static void conn_say_word(struct conn *conn)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)conn->words[0], .length = WORD_SIZE, .lkey = conn->mr->lkey,
	};
	struct ibv_send_wr wr = {
		.wr_id = conn - conns, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;

	ibv_post_send(conn->id->qp, &wr, &bad);
}

static void conn_set_up(struct conn *conn, struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 2, .max_recv_wr = 2, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	need_cq(id->verbs);
	attr.send_cq = cq;
	attr.recv_cq = cq;
	conn->id = id;
	id->context = conn;
	conn->step = CONNECTING;
	conn->speaks_first = is_server == server_first;
	if (rdma_create_qp(id, pd, &attr))
		die("rdma_create_qp");
	if (!conn->mr)
		conn->mr = ibv_reg_mr(pd, conn->words, sizeof(conn->words), IBV_ACCESS_LOCAL_WRITE);
	if (!conn->mr)
		die("ibv_reg_mr");
	memset(conn->words[0], is_server ? 's' : 'c', WORD_SIZE);
	memset(conn->words[1], 0, WORD_SIZE);
	conn_listen_to_word(conn);
}

/* Destroy the connection and free its entry in conns[], for the next connection that is served. */
static void conn_tear_down(struct conn *conn)
{
	rdma_destroy_qp(conn->id);
	rdma_destroy_id(conn->id);
	conn->id = NULL;
}

static struct conn *free_conn(void)
{
	int i;

	for (i = 0; i < SERVED; i++)
		if (!conns[i].id)
			return &conns[i];
	return NULL;
}

static void conn_end(struct conn *conn, const struct rdma_cm_event *event)
{
	if (conn->step == DONE)
		return;
	conn->step = FAILED;
	conn->event = event->event;
	conn->status = event->status;
}

static void serve_request(struct rdma_cm_id *id)
{
	struct rdma_conn_param param = { .responder_resources = 1, .initiator_depth = 1 };
	struct conn *conn = free_conn();

	if (!conn) {
		rdma_reject(id, NULL, 0);
		return;
	}
	conn_set_up(conn, id);
	if (rdma_accept(id, &param))
		conn->step = FAILED;
}

static void connect_now(struct conn *conn, struct rdma_cm_id *id)
{
	struct rdma_conn_param param = { .responder_resources = 1, .initiator_depth = 1 };

	conn_set_up(conn, id);
	if (rdma_connect(id, &param)) {
		conn->step = FAILED;
		conn->status = -errno;
	}
}

static void take_event(void)
{
	struct rdma_cm_event *event, copy;
	struct conn *conn;

	if (rdma_get_cm_event(channel, &event))
		return;
	copy = *event;
	conn = copy.id->context;
	rdma_ack_cm_event(event);
	switch (copy.event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		if (rdma_resolve_route(copy.id, RESOLVE_MS))
			conn_end(conn, &copy);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		connect_now(conn, copy.id);
		break;
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		serve_request(copy.id);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		if (conn->step == CONNECTING)
			conn->step = TALKING;
		if (conn->speaks_first)
			conn_say_word(conn);
		break;
	default:
		conn_end(conn, &copy);
		if (is_server)
			conn_tear_down(conn);
	}
}

static bool word_is_good(const struct conn *conn)
{
	char want[WORD_SIZE];

	memset(want, is_server ? 'c' : 's', WORD_SIZE);
	return !memcmp(conn->words[1], want, WORD_SIZE);
}

static void take_completions(void)
{
	struct ibv_cq *which;
	struct ibv_wc wc;
	void *context;

	if (ibv_get_cq_event(comp_channel, &which, &context))
		return;
	ibv_ack_cq_events(which, 1);
	ibv_req_notify_cq(which, 0);
	while (ibv_poll_cq(which, 1, &wc) > 0) {
		struct conn *conn = &conns[wc.wr_id];

		if (wc.status || wc.opcode != IBV_WC_RECV || !conn->id)
			continue;
		if (!conn->speaks_first)
			conn_say_word(conn);
		conn->step = word_is_good(conn) ? DONE : FAILED;
	}
}

static void wait_for_something(int ms)
{
	struct pollfd fds[2] = {
		{ .fd = channel->fd, .events = POLLIN },
		{ .fd = comp_channel ? comp_channel->fd : -1, .events = POLLIN },
	};

	if (poll(fds, 2, ms) <= 0)
		return;
	if (fds[0].revents)
		take_event();
	if (fds[1].revents)
		take_completions();
}

static void open_channel(void)
{
	channel = rdma_create_event_channel();
	if (!channel)
		die("rdma_create_event_channel");
}

static struct rdma_addrinfo *resolve(const char *address, const char *port, int flags)
{
	struct rdma_addrinfo hints = { .ai_flags = flags, .ai_port_space = RDMA_PS_TCP }, *res;

	if (rdma_getaddrinfo(address, port, &hints, &res))
		die("rdma_getaddrinfo");
	return res;
}

static void serve(const char *address, const char *port)
{
	struct rdma_addrinfo *res = resolve(address, port, RAI_PASSIVE);
	struct rdma_cm_id *listener;

	open_channel();
	if (rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(listener, res->ai_src_addr) || rdma_listen(listener, 128))
		die("rdma_listen");
	for (;;)
		wait_for_something(-1);
}

static int tell(int count)
{
	int i, bad = 0;

	for (i = 0; i < count; i++) {
		const struct conn *conn = &conns[i];

		if (conn->step == DONE)
			continue;
		bad++;
		printf("source port %d: %s", ntohs(rdma_get_src_port(conn->id)),
		       step_names[conn->step]);
		if (conn->step == FAILED)
			printf(" (%s, status %d)", rdma_event_str(conn->event), conn->status);
		putchar('\n');
	}
	return bad;
}

static bool all_settled(int count)
{
	int i;

	for (i = 0; i < count; i++)
		if (conns[i].step < DONE)
			return false;
	return true;
}

static int talk_once(const struct rdma_addrinfo *res, int count, double seconds)
{
	double limit = now() + seconds;
	int i, bad;

	for (i = 0; i < count; i++) {
		conns[i].step = CONNECTING;
		if (rdma_create_id(channel, &conns[i].id, &conns[i], RDMA_PS_TCP) ||
		    rdma_resolve_addr(conns[i].id, NULL, res->ai_dst_addr, RESOLVE_MS))
			die("rdma_resolve_addr");
	}
	while (!all_settled(count) && now() < limit)
		wait_for_something(100);
	bad = tell(count);
	for (i = 0; i < count; i++) {
		rdma_disconnect(conns[i].id);
		conn_tear_down(&conns[i]);
	}
	return bad;
}

static void talk(const char *address, const char *port, int count, int rounds, double seconds)
{
	struct rdma_addrinfo *res = resolve(address, port, 0);
	int bad = 0;

	open_channel();
	while (rounds--)
		bad += talk_once(res, count, seconds);
	exit(bad ? 1 : 0);
}

/* Start a process for @count connections; it is killed when this process ends. */
static void start(char **argv, int port, int count)
{
	pid_t pid = fork();
	char service[8];

	if (pid < 0)
		die("fork");
	if (pid)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(service, sizeof(service), "%d", port);
	if (is_server)
		serve(argv[2], service);
	talk(argv[2], service, count, atoi(argv[6]), atof(argv[7]));
}

int main(int argc, char **argv)
{
	int port, left, mine, status, bad = 0;

	is_server = argc == 6 && !strcmp(argv[1], "listen");
	if (!is_server && !(argc == 8 && !strcmp(argv[1], "talk"))) {
		fprintf(stderr, "first_word: see the head of first_word.c\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	server_first = !strcmp(argv[4], "server");
	port = atoi(argv[3]);
	for (left = atoi(argv[5]); left > 0; left -= mine) {
		mine = left < PER_PROCESS ? left : PER_PROCESS;
		start(argv, port++, mine);
	}
	while (wait(&status) > 0)
		bad |= status;
	return bad ? 1 : 0;
}

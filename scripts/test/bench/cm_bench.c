// SPDX-License-Identifier: GPL-2.0
/*
 * What a connection costs: one process is both ends, connects to itself, and prints how long each
 * phase took. Under QEMU's -icount a nanosecond is an instruction.
 *
 *	cm_bench [-a ADDRESS] [-n COUNT] [-o OUTSTANDING] [-d OCTETS] [-k STATE -K NUMBER] [-q] MODE
 *
 * MODE is what is measured, or done:
 *	connect		until both ends have the event ESTABLISHED, then until both are disconnected
 *	reject		until the client has the event REJECTED
 *	listen		listen, and destroy the listener
 *	tcp		without MPA: connect, 24 bytes there, 24 bytes back, close
 *	hold		nothing: for use with -k
 *	stay		nothing, until the program is killed: for use with -k
 *	load		have QEMU's plugin, split.c, read its map of functions
 *	count		have split.c count all that runs from now on
 *	dump		have split.c write what it has counted
 *
 * COUNT connections are made in batches of OUTSTANDING, with OCTETS bytes of private data in each
 * direction. -q: start at once, for use if no earlier run has left ports in TIME_WAIT. -k holds
 * NUMBER other connections open during the run, in one of these states, and prints how much memory
 * they took:
 *	tcp		TCP connections, without any MPA
 *	half-open	TCP connections to a listener of rdma_cm, without a byte sent
 *	waiting		the server's application has the Request, and does not answer
 *	established	connections that are up
 *
 * Prints lines "PHASE NANOSECONDS", for one connection.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <netdb.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define PORT		"7471"
#define TCP_PORT	"7472"
#define TCP_OCTETS	24
#define FIRST_PORT	8000
/*
 * CQ_SIZE is so large that no queue of a QP gets the mmap key that libsiw takes for "none":
 * otherwise a process could not have more than about 70 QPs with unmodified siw.
 */
#define CQ_SIZE		(1 << 16)
#define BACKLOG		1024
#define WARM_UP		64

enum phase { OFF, SETUP, CONNECT, QP, CLOSE, DESTROY, SETTLE, PHASES };

static const char *const phase_name[PHASES] = {
	[SETUP] = "setup", [CONNECT] = "connect", [QP] = "qp", [CLOSE] = "close",
	[DESTROY] = "destroy", [SETTLE] = "settle",
};

struct conn {
	struct rdma_cm_id *client;
	struct rdma_cm_id *server;
	int client_fd;
	int server_fd;
};

static const char *address = "10.0.0.1";
static int outstanding = 1;
static int pd_len;
static unsigned char pd[256];

static struct rdma_event_channel *channel;
static struct rdma_cm_id *listener;
static int tcp_listener;
static struct ibv_pd *prot;
static struct ibv_cq *cq;

static enum phase now_in;
static long long since, spent[PHASES];

/*
 * An instruction without effect, at which QEMU's plugin (split.c) begins phase n, or, for MARK_LOAD
 * and MARK_DUMP, reads its map or writes its result
 */
#define MARK(n) asm volatile("nopl 0x1b3c0000+%c0(%%rax)" : : "i"(n) : "memory")
#define MARK_DATA	7
#define MARK_LOAD	8
#define MARK_DUMP	9

static void fatal(const char *what)
{
	fprintf(stderr, "cm_bench: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void need(bool ok, const char *what)
{
	if (!ok)
		fatal(what);
}

static long long clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static void mark(enum phase phase)
{
	switch (phase) {
	case OFF: MARK(0); break;
	case SETUP: MARK(1); break;
	case CONNECT: MARK(2); break;
	case QP: MARK(3); break;
	case CLOSE: MARK(4); break;
	case DESTROY: MARK(5); break;
	case SETTLE: MARK(6); break;
	case PHASES: break;
	}
}

static bool counting;

static void enter(enum phase phase)
{
	long long now = clock_ns();

	if (!counting)
		return;
	spent[now_in] += now - since;
	now_in = phase;
	since = now;
	mark(phase);
}

/* --- addresses ------------------------------------------------------------------------------ */

static struct addrinfo *resolve(const char *port)
{
	struct addrinfo hints = {
		.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM,
	}, *info;

	need(!getaddrinfo(address, port, &hints, &info), "getaddrinfo");
	return info;
}

static struct addrinfo *cm_addr, *tcp_addr;

/*
 * rdma_cm chooses a source port at random, and siw tries no other one if TCP uses that port: so
 * next_source() gives each connection the port after the last one's.
 */
static struct sockaddr *next_source(void)
{
	static struct sockaddr_storage addr;
	static in_port_t port = FIRST_PORT;

	memcpy(&addr, cm_addr->ai_addr, cm_addr->ai_addrlen);
	/* sin_port and sin6_port have the same offset in their structures. */
	((struct sockaddr_in *)&addr)->sin_port = htons(port++);
	return (struct sockaddr *)&addr;
}

/* --- rdma_cm -------------------------------------------------------------------------------- */

static void make_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	need(!rdma_create_qp(id, prot, &attr), "rdma_create_qp");
}

static struct rdma_conn_param conn_param(void)
{
	return (struct rdma_conn_param) {
		.private_data = pd_len ? pd : NULL, .private_data_len = pd_len,
		.responder_resources = 1, .initiator_depth = 1,
	};
}

static void expect(enum rdma_cm_event_type type)
{
	struct rdma_cm_event *ev;

	need(!rdma_get_cm_event(channel, &ev), "rdma_get_cm_event");
	if (ev->event != type || ev->status) {
		fprintf(stderr, "cm_bench: %s status %d, not %s\n", rdma_event_str(ev->event),
			ev->status, rdma_event_str(type));
		exit(1);
	}
	rdma_ack_cm_event(ev);
}

static struct rdma_cm_id *listen_at(const struct sockaddr *addr)
{
	struct rdma_cm_id *id;

	need(!rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), "rdma_create_id");
	need(!rdma_bind_addr(id, (struct sockaddr *)addr), "rdma_bind_addr");
	need(!rdma_listen(id, BACKLOG), "rdma_listen");
	return id;
}

static void prepare_client(struct conn *conn)
{
	need(!rdma_create_id(channel, &conn->client, conn, RDMA_PS_TCP), "rdma_create_id");
	need(!rdma_resolve_addr(conn->client, next_source(), cm_addr->ai_addr, 5000), "rdma_resolve_addr");
	expect(RDMA_CM_EVENT_ADDR_RESOLVED);
	need(!rdma_resolve_route(conn->client, 5000), "rdma_resolve_route");
	expect(RDMA_CM_EVENT_ROUTE_RESOLVED);
	make_qp(conn->client);
}

static void connect_client(struct conn *conn)
{
	struct rdma_conn_param param = conn_param();

	need(!rdma_connect(conn->client, &param), "rdma_connect");
}

static void accept_request(struct rdma_cm_id *id)
{
	struct rdma_conn_param param = conn_param();

	enter(QP);
	make_qp(id);
	enter(CONNECT);
	need(!rdma_accept(id, &param), "rdma_accept");
}

enum answer { ACCEPT, REJECT, NOTHING };

/*
 * Handle events until N of TYPE have arrived. The server's rdma_cm_id of each MPA Request is stored
 * in the next free entry of CONNS, which need not be the entry of its client.
 */
static void handle_events(enum rdma_cm_event_type type, int n, struct conn *conns,
			  enum answer answer)
{
	struct rdma_cm_event *ev;
	enum rdma_cm_event_type got;
	struct rdma_cm_id *id;
	int servers = 0, status;

	while (n > 0) {
		need(!rdma_get_cm_event(channel, &ev), "rdma_get_cm_event");
		got = ev->event;
		id = ev->id;
		status = ev->status;
		rdma_ack_cm_event(ev);
		n -= got == type;
		if (got == RDMA_CM_EVENT_CONNECT_REQUEST) {
			id->context = NULL;
			conns[servers++].server = id;
			if (answer == ACCEPT)
				accept_request(id);
			else if (answer == REJECT)
				need(!rdma_reject(id, pd_len ? pd : NULL, pd_len), "rdma_reject");
		} else if (got == RDMA_CM_EVENT_DISCONNECTED && !id->context) {
			need(!rdma_disconnect(id), "rdma_disconnect");
		} else if (got != type) {
			fprintf(stderr, "cm_bench: %s status %d, not %s\n", rdma_event_str(got),
				status, rdma_event_str(type));
			exit(1);
		}
	}
}

static void establish(struct conn *conns, int n)
{
	int i;

	for (i = 0; i < n; i++)
		connect_client(&conns[i]);
	handle_events(RDMA_CM_EVENT_ESTABLISHED, 2 * n, conns, ACCEPT);
}

static void destroy_id(struct rdma_cm_id *id)
{
	if (id->qp)
		rdma_destroy_qp(id);
	need(!rdma_destroy_id(id), "rdma_destroy_id");
}

static void destroy(struct conn *conns, int n)
{
	int i;

	for (i = 0; i < n; i++) {
		destroy_id(conns[i].client);
		destroy_id(conns[i].server);
	}
}

static void batch_connect(struct conn *conns, int n)
{
	int i;

	enter(SETUP);
	for (i = 0; i < n; i++)
		prepare_client(&conns[i]);
	enter(CONNECT);
	establish(conns, n);
	enter(CLOSE);
	for (i = 0; i < n; i++)
		need(!rdma_disconnect(conns[i].client), "rdma_disconnect");
	handle_events(RDMA_CM_EVENT_DISCONNECTED, 2 * n, conns, ACCEPT);
	enter(DESTROY);
	destroy(conns, n);
}

static void batch_reject(struct conn *conns, int n)
{
	int i;

	enter(SETUP);
	for (i = 0; i < n; i++)
		prepare_client(&conns[i]);
	enter(CONNECT);
	for (i = 0; i < n; i++)
		connect_client(&conns[i]);
	handle_events(RDMA_CM_EVENT_REJECTED, n, conns, REJECT);
	enter(DESTROY);
	destroy(conns, n);
}

static void batch_listen(struct conn *conns, int n)
{
	struct sockaddr_storage addr = {};
	int i;

	memcpy(&addr, cm_addr->ai_addr, cm_addr->ai_addrlen);
	for (i = 0; i < n; i++) {
		((struct sockaddr_in *)&addr)->sin_port = htons(FIRST_PORT + i);
		enter(SETUP);
		conns[i].server = listen_at((struct sockaddr *)&addr);
	}
	enter(DESTROY);
	for (i = 0; i < n; i++)
		destroy_id(conns[i].server);
}

/* --- TCP ------------------------------------------------------------------------------------ */

static int tcp_connect(const struct addrinfo *addr)
{
	int fd = socket(addr->ai_family, SOCK_STREAM, 0);

	need(fd >= 0, "socket");
	need(!connect(fd, addr->ai_addr, addr->ai_addrlen), "connect");
	return fd;
}

static void tcp_pass(int from, int to)
{
	char buf[TCP_OCTETS] = {};

	need(write(from, buf, sizeof(buf)) == sizeof(buf), "write");
	need(read(to, buf, sizeof(buf)) == sizeof(buf), "read");
}

static void tcp_open(struct conn *conns, int n)
{
	int i;

	for (i = 0; i < n; i++)
		conns[i].client_fd = tcp_connect(tcp_addr);
	for (i = 0; i < n; i++) {
		conns[i].server_fd = accept(tcp_listener, NULL, NULL);
		need(conns[i].server_fd >= 0, "accept");
	}
}

static void batch_tcp(struct conn *conns, int n)
{
	int i;

	enter(CONNECT);
	tcp_open(conns, n);
	for (i = 0; i < n; i++)
		tcp_pass(conns[i].client_fd, conns[i].server_fd);
	for (i = 0; i < n; i++)
		tcp_pass(conns[i].server_fd, conns[i].client_fd);
	enter(CLOSE);
	for (i = 0; i < n; i++) {
		close(conns[i].client_fd);
		close(conns[i].server_fd);
	}
}

/* --- held connections ----------------------------------------------------------------------- */

#define CACHES 512

static struct cache {
	char name[64];
	long objects;
	long size;
} caches[CACHES];

/* Add the rows of /proc/slabinfo to the table, or subtract them, by @sign */
static void read_slabs(int sign)
{
	FILE *file = fopen("/proc/slabinfo", "r");
	long active, total, size;
	char line[512], name[64];
	int i;

	need(file, "/proc/slabinfo");
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%63s %ld %ld %ld", name, &active, &total, &size) != 4)
			continue;
		for (i = 0; i < CACHES - 1 && caches[i].name[0]; i++) {
			if (!strcmp(caches[i].name, name))
				break;
		}
		strcpy(caches[i].name, name);
		caches[i].size = size;
		caches[i].objects += sign * active;
	}
	fclose(file);
}

static long free_octets(void)
{
	FILE *file = fopen("/proc/vmstat", "r");
	long pages = 0;

	need(file && fscanf(file, "nr_free_pages %ld", &pages) == 1, "/proc/vmstat");
	fclose(file);
	return pages * sysconf(_SC_PAGESIZE);
}

static void print_memory(int n, long octets)
{
	long sum = 0;
	int i;

	for (i = 0; i < CACHES; i++) {
		/*
		 * A slab cache that has grown by less than one object per four connections has
		 * grown for other reasons than the connections, and is left out.
		 */
		if (caches[i].objects * 4 < n)
			continue;
		printf("cache %s %.2f x %ld\n", caches[i].name, (double)caches[i].objects / n,
		       caches[i].size);
		sum += caches[i].objects * caches[i].size;
	}
	printf("slab %ld\nmemory %ld\n", sum / n, octets / n);
}

static void hold_one(const char *state, struct conn *conn)
{
	if (!strcmp(state, "tcp")) {
		tcp_open(conn, 1);
	} else if (!strcmp(state, "half-open")) {
		conn->client_fd = tcp_connect(cm_addr);
	} else {
		prepare_client(conn);
		if (!strcmp(state, "established")) {
			establish(conn, 1);
		} else {
			connect_client(conn);
			handle_events(RDMA_CM_EVENT_CONNECT_REQUEST, 1, conn, NOTHING);
		}
	}
}

static void hold(const char *state, int n)
{
	struct rlimit limit = { .rlim_cur = 1 << 16, .rlim_max = 1 << 16 };
	struct conn *conns = calloc(n + WARM_UP, sizeof(*conns));
	long before;
	int i;

	setrlimit(RLIMIT_NOFILE, &limit);
	for (i = 0; i < WARM_UP; i++)
		hold_one(state, &conns[i]);
	usleep(200000);
	read_slabs(-1);
	before = free_octets();
	for (; i < n + WARM_UP; i++)
		hold_one(state, &conns[i]);
	usleep(200000);
	before -= free_octets();
	read_slabs(1);
	print_memory(n, before);
}

static void stay(void)
{
	fflush(stdout);
	pause();
}

/* -------------------------------------------------------------------------------------------- */

static void set_up(void)
{
	int one = 1;

	cm_addr = resolve(PORT);
	tcp_addr = resolve(TCP_PORT);
	tcp_listener = socket(tcp_addr->ai_family, SOCK_STREAM, 0);
	setsockopt(tcp_listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	need(!bind(tcp_listener, tcp_addr->ai_addr, tcp_addr->ai_addrlen) &&
	     !listen(tcp_listener, BACKLOG), "bind, listen");

	channel = rdma_create_event_channel();
	need(channel, "rdma_create_event_channel");
	listener = listen_at(cm_addr->ai_addr);
	prot = ibv_alloc_pd(listener->verbs);
	cq = ibv_create_cq(listener->verbs, CQ_SIZE, NULL, NULL, 0);
	need(prot && cq, "ibv_alloc_pd, ibv_create_cq");
}

static void run(void (*batch)(struct conn *, int), int count)
{
	struct conn *conns = calloc(outstanding, sizeof(*conns));
	int i;

	for (i = 0; i < WARM_UP; i += outstanding)
		batch(conns, outstanding);
	usleep(200000);
	counting = true;
	since = clock_ns();
	for (i = 0; i < count; i += outstanding)
		batch(conns, outstanding);
	enter(SETTLE);
	usleep(200000);
	enter(OFF);
	MARK(MARK_DUMP);
	printf("connections %d\n", i);
	for (count = SETUP; count < SETTLE; count++) {
		if (spent[count])
			printf("%s %lld\n", phase_name[count], spent[count] / i);
	}
}

int main(int argc, char **argv)
{
	const char *state = NULL, *mode;
	int option, count = 256, held = 0;
	bool quick = false;

	while ((option = getopt(argc, argv, "a:n:o:d:k:K:q")) != -1) {
		switch (option) {
		case 'a': address = optarg; break;
		case 'n': count = atoi(optarg); break;
		case 'o': outstanding = atoi(optarg); break;
		case 'd': pd_len = atoi(optarg); break;
		case 'k': state = optarg; break;
		case 'K': held = atoi(optarg); break;
		case 'q': quick = true; break;
		default: return 2;
		}
	}
	mode = optind < argc ? argv[optind] : "";
	if (!strcmp(mode, "load")) {
		MARK(MARK_LOAD);
		return 0;
	}
	if (!strcmp(mode, "count")) {
		MARK(MARK_DATA);
		return 0;
	}
	if (!strcmp(mode, "dump")) {
		MARK(MARK_DUMP);
		return 0;
	}
	/*
	 * Sleep until no port of an earlier run is in TIME_WAIT (60 s). This takes no real time:
	 * with QEMU's "-icount sleep=off" the clock of an idle guest jumps to its next timer.
	 */
	if (!quick)
		sleep(61);
	set_up();
	if (state)
		hold(state, held);
	if (!strcmp(mode, "connect"))
		run(batch_connect, count);
	else if (!strcmp(mode, "reject"))
		run(batch_reject, count);
	else if (!strcmp(mode, "listen"))
		run(batch_listen, count);
	else if (!strcmp(mode, "tcp"))
		run(batch_tcp, count);
	else if (!strcmp(mode, "stay"))
		stay();
	else if (strcmp(mode, "hold"))
		return 2;
	return 0;
}

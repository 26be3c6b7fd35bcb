// SPDX-License-Identifier: GPL-2.0
/*
 * What a connection costs each of two hosts: this program is one end of it, and QEMU's plugin
 * split.c counts the instructions of each host, by function of the kernel.
 *
 *	cm_hops load			have the plugin read its map of functions
 *	cm_hops serve COUNT		accept COUNT connections, one after the other
 *	cm_hops call ADDRESS COUNT	connect COUNT times
 *
 * The client waits for PAUSE_MS between the phases, so that the server has finished one phase
 * before the next begins. A pause counts as a part of the phase before it, since drivers report
 * events to the ULP at different moments: so the phase of a close has all that the host does for
 * it. WARM_UP connections are made first, and not counted.
 */

#include "cm_end.h"

#include <arpa/inet.h>
#include <unistd.h>

#define PORT		7477
#define FIRST_PORT	8000
#define WARM_UP		32
#define PAUSE_MS	5

static int turn;	/* connections so far */

/* As in cm_bench.c: QEMU's plugin begins phase n, but only after the first WARM_UP connections */
#define MARK(n) do { \
	if (turn >= WARM_UP) \
		asm volatile("nopl 0x1b3c0000+%c0(%%rax)" : : "i"(n) : "memory"); \
} while (0)
#define SETUP		1
#define CONNECT		2
#define CLOSE		4
#define DESTROY		5
#define MARK_LOAD	8
#define MARK_DUMP	9

static struct rdma_cm_id *expect(enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	need(!rdma_get_cm_event(channel, &event), "rdma_get_cm_event");
	if (event->event != type || event->status) {
		fprintf(stderr, "cm_hops: %s status %d, not %s\n", rdma_event_str(event->event),
			event->status, rdma_event_str(type));
		exit(1);
	}
	id = event->id;
	rdma_ack_cm_event(event);
	return id;
}

static void destroy(struct rdma_cm_id *id)
{
	rdma_destroy_qp(id);
	need(!rdma_destroy_id(id), "rdma_destroy_id");
}

/* While the client prepares its next connection, the server sleeps in the phase "connect". */
static void serve_one(void)
{
	struct rdma_conn_param param = conn_param();
	struct rdma_cm_id *id;

	MARK(CONNECT);
	id = expect(RDMA_CM_EVENT_CONNECT_REQUEST);
	MARK(SETUP);
	need(make_qp(id), "rdma_create_qp");
	MARK(CONNECT);
	need(!rdma_accept(id, &param), "rdma_accept");
	expect(RDMA_CM_EVENT_ESTABLISHED);
	MARK(CLOSE);
	expect(RDMA_CM_EVENT_DISCONNECTED);
	need(!rdma_disconnect(id), "rdma_disconnect");
	MARK(DESTROY);
	destroy(id);
}

static void serve(int count)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	struct rdma_cm_id *listener;

	need(!rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP), "rdma_create_id");
	need(!rdma_bind_addr(listener, (struct sockaddr *)&address), "rdma_bind_addr");
	need(!rdma_listen(listener, 128), "rdma_listen");
	for (; turn < count + WARM_UP; turn++)
		serve_one();
}

static void pause_between(void)
{
	usleep(PAUSE_MS * 1000);
}

/*
 * rdma_cm chooses a source port at random, and siw tries no other one if TCP uses that port: so
 * call_one() gives each connection the port after the last one's.
 */
static void call_one(struct sockaddr_in *address)
{
	struct sockaddr_in source = { .sin_family = AF_INET, .sin_port = htons(FIRST_PORT + turn) };
	struct rdma_conn_param param = conn_param();
	struct rdma_cm_id *id;

	MARK(SETUP);
	need(!rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), "rdma_create_id");
	need(!rdma_resolve_addr(id, (struct sockaddr *)&source, (struct sockaddr *)address, 5000),
	     "rdma_resolve_addr");
	expect(RDMA_CM_EVENT_ADDR_RESOLVED);
	need(!rdma_resolve_route(id, 5000), "rdma_resolve_route");
	expect(RDMA_CM_EVENT_ROUTE_RESOLVED);
	need(make_qp(id), "rdma_create_qp");
	MARK(CONNECT);
	need(!rdma_connect(id, &param), "rdma_connect");
	expect(RDMA_CM_EVENT_ESTABLISHED);
	pause_between();
	MARK(CLOSE);
	need(!rdma_disconnect(id), "rdma_disconnect");
	expect(RDMA_CM_EVENT_DISCONNECTED);
	pause_between();
	MARK(DESTROY);
	destroy(id);
	pause_between();
}

static void call(const char *name, int count)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(PORT) };

	need(inet_pton(AF_INET, name, &address.sin_addr) == 1, name);
	for (; turn < count + WARM_UP; turn++)
		call_one(&address);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	int count;

	if (!strcmp(mode, "load")) {
		turn = WARM_UP;
		MARK(MARK_LOAD);
		return 0;
	}
	channel = rdma_create_event_channel();
	need(channel, "rdma_create_event_channel");
	if (!strcmp(mode, "serve") && argc == 3) {
		count = atoi(argv[2]);
		serve(count);
	} else if (!strcmp(mode, "call") && argc == 4) {
		count = atoi(argv[3]);
		call(argv[2], count);
	} else {
		return 2;
	}
	MARK(MARK_DUMP);
	printf("connections %d\n", count);
	return 0;
}

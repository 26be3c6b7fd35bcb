// SPDX-License-Identifier: GPL-2.0
/*
 * What a message costs, without a plugin that counts: one process is both ends of a connection to
 * itself, one message is under way at a time, and who waits sleeps. Under QEMU's -icount a
 * nanosecond is an instruction.
 *
 *	rdma_data ADDRESS OCTETS TIMES send|write
 *
 * A Send is done when the other end has it, a Write when this end is told so; the last one is
 * followed by a Send, which comes behind its octets. Prints "message NANOSECONDS", for one.
 */

#include <errno.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PORT	"7475"
#define WARM_UP	64

/* One end */
struct end {
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	char *buf;
};

static size_t octets;

static void need(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "rdma_data: %s: %s\n", what, strerror(errno));
	exit(1);
}

static struct rdma_cm_id *open_end(const char *address, int flags)
{
	struct rdma_addrinfo hints = { .ai_flags = flags, .ai_port_space = RDMA_PS_TCP }, *info;
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC, .sq_sig_all = 1,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct rdma_cm_id *id;

	need(!rdma_getaddrinfo((char *)address, PORT, &hints, &info), "rdma_getaddrinfo");
	need(!rdma_create_ep(&id, info, NULL, &attr), "rdma_create_ep");
	rdma_freeaddrinfo(info);
	return id;
}

static void prepare(struct end *end)
{
	const int rights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;

	need(!posix_memalign((void **)&end->buf, 4096, octets), "posix_memalign");
	memset(end->buf, 1, octets);
	end->mr = ibv_reg_mr(end->id->pd, end->buf, octets, rights);
	need(end->mr, "ibv_reg_mr");
}

static void *connect_client(void *arg)
{
	need(!rdma_connect(((struct end *)arg)->id, NULL), "rdma_connect");
	return NULL;
}

static void connect_to_self(const char *address, struct end *client, struct end *server)
{
	struct rdma_cm_id *listener = open_end(address, RAI_PASSIVE);
	pthread_t thread;

	need(!rdma_listen(listener, 1), "rdma_listen");
	client->id = open_end(address, 0);
	need(!pthread_create(&thread, NULL, connect_client, client), "pthread_create");
	need(!rdma_get_request(listener, &server->id), "rdma_get_request");
	need(!rdma_accept(server->id, NULL), "rdma_accept");
	need(!pthread_join(thread, NULL), "pthread_join");
	prepare(client);
	prepare(server);
}

static void await(int (*get)(struct rdma_cm_id *id, struct ibv_wc *wc), struct rdma_cm_id *id)
{
	struct ibv_wc wc;

	need(get(id, &wc) == 1 && wc.status == IBV_WC_SUCCESS, "completion");
}

static void do_send(struct end *from, struct end *to)
{
	need(!rdma_post_recv(to->id, NULL, to->buf, octets, to->mr), "rdma_post_recv");
	need(!rdma_post_send(from->id, NULL, from->buf, octets, from->mr, 0), "rdma_post_send");
	await(rdma_get_recv_comp, to->id);
	await(rdma_get_send_comp, from->id);
}

static void do_write(struct end *from, struct end *to)
{
	need(!rdma_post_write(from->id, NULL, from->buf, octets, from->mr, 0,
			      (uintptr_t)to->buf, to->mr->rkey), "rdma_post_write");
	await(rdma_get_send_comp, from->id);
}

static long long clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

int main(int argc, char **argv)
{
	void (*message)(struct end *from, struct end *to) = do_send;
	int i, times = argc > 3 ? atoi(argv[3]) : 0;
	struct end client = {}, server = {};
	long long since = 0;

	octets = argc > 2 ? strtoul(argv[2], NULL, 0) : 0;
	if (argc == 5 && !strcmp(argv[4], "write"))
		message = do_write;
	else if (argc != 5 || strcmp(argv[4], "send"))
		times = 0;
	if (!octets || times <= 0) {
		fprintf(stderr, "usage: rdma_data ADDRESS OCTETS TIMES send|write\n");
		return 2;
	}
	connect_to_self(argv[1], &client, &server);
	for (i = -WARM_UP; i < times; i++) {
		if (!i)
			since = clock_ns();
		message(&client, &server);
	}
	do_send(&client, &server);
	printf("message %lld\n", (clock_ns() - since) / times);
	rdma_disconnect(client.id);
	return 0;
}

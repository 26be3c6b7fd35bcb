/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Connections of a process to itself, for programs that measure messages. Both ends can Send, and
 * Write to each other's buffer. Any failure ends the program.
 */
#ifndef RDMA_PAIR_H
#define RDMA_PAIR_H

#include <errno.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PAIR_PORT	"7475"
#define PAIR_DEPTH	8	/* Work Requests of a queue */
/* Entries of the first CQ: so many that no other queue gets the key that libsiw takes for "none" */
#define PAIR_NO_KEY	(1 << 16)

/* One end, with its buffer */
struct end {
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	char *buf;
};

static void need(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(errno));
	exit(1);
}

static long long clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static struct rdma_cm_id *open_end(const char *address, int flags)
{
	struct rdma_addrinfo hints = { .ai_flags = flags, .ai_port_space = RDMA_PS_TCP }, *info;
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC, .sq_sig_all = 1,
		.cap = { .max_send_wr = PAIR_DEPTH, .max_recv_wr = PAIR_DEPTH,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct rdma_cm_id *id;

	need(!rdma_getaddrinfo((char *)address, PAIR_PORT, &hints, &info), "rdma_getaddrinfo");
	need(!rdma_create_ep(&id, info, NULL, &attr), "rdma_create_ep");
	rdma_freeaddrinfo(info);
	return id;
}

static void prepare(struct end *end, size_t octets)
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

static struct rdma_cm_id *pair_listen(const char *address)
{
	struct rdma_cm_id *listener = open_end(address, RAI_PASSIVE);

	need(!rdma_listen(listener, 1), "rdma_listen");
	need(ibv_create_cq(listener->verbs, PAIR_NO_KEY, NULL, NULL, 0), "ibv_create_cq");
	return listener;
}

static void pair_connect(struct rdma_cm_id *listener, const char *address, size_t octets,
			 struct end *client, struct end *server)
{
	pthread_t thread;

	client->id = open_end(address, 0);
	need(!pthread_create(&thread, NULL, connect_client, client), "pthread_create");
	need(!rdma_get_request(listener, &server->id), "rdma_get_request");
	need(!rdma_accept(server->id, NULL), "rdma_accept");
	need(!pthread_join(thread, NULL), "pthread_join");
	prepare(client, octets);
	prepare(server, octets);
}

/* Sleep until a completion arrives. */
static void await(int (*get)(struct rdma_cm_id *id, struct ibv_wc *wc), struct rdma_cm_id *id)
{
	struct ibv_wc wc;

	need(get(id, &wc) == 1 && wc.status == IBV_WC_SUCCESS, "completion");
}

static void post_write(struct end *from, const struct end *to, size_t octets)
{
	need(!rdma_post_write(from->id, NULL, from->buf, octets, from->mr, 0,
			      (uintptr_t)to->buf, to->mr->rkey), "rdma_post_write");
}

#endif

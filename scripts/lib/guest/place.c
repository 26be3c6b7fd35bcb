// SPDX-License-Identifier: GPL-2.0
/*
 * Make one connection at a time; each end prints the RDMA device that the connection uses:
 *	place listen ADDRESS PORT		be the server
 *	place connect SOURCE|- ADDRESS PORT	be the client; "-": without a source address
 *
 * The client sends data, and the server sends the same data back. An end that has got the right
 * data prints "up DEVICE". Then the connection stays until the client is killed. A server prints
 * "listens" when it listens, and continues after the end of a connection. An error is printed as
 * "failed: CALL: ERROR", and ends a client.
 */

#include <errno.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#define BLOCK	16384
#define BLOCKS	16
#define SECONDS	25	/* time limit of a client */

static char out[BLOCK], in[BLOCK];

static int failed(const char *call)
{
	printf("failed: %s: %s\n", call, strerror(errno));
	return -1;
}

static void late(int signal)
{
	static const char text[] = "failed: it takes too long\n";

	(void)signal;
	(void)!write(STDOUT_FILENO, text, sizeof(text) - 1);
	_exit(1);
}

static struct addrinfo *parse(const char *address, const char *port)
{
	struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_PASSIVE }, *res;

	if (getaddrinfo(address, port, &hints, &res)) {
		fprintf(stderr, "place: no address: %s\n", address);
		exit(2);
	}
	return res;
}

static int set_up(struct rdma_cm_id *id, struct ibv_mr **mr)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 2, .max_recv_wr = 2, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	if (rdma_create_qp(id, NULL, &attr))
		return failed("rdma_create_qp");
	mr[0] = rdma_reg_msgs(id, out, sizeof(out));
	mr[1] = rdma_reg_msgs(id, in, sizeof(in));
	if (!mr[0] || !mr[1])
		return failed("rdma_reg_msgs");
	return rdma_post_recv(id, NULL, in, sizeof(in), mr[1]) ? failed("rdma_post_recv") : 0;
}

static int await(int (*get)(struct rdma_cm_id *id, struct ibv_wc *wc), struct rdma_cm_id *id)
{
	struct ibv_wc wc;

	if (get(id, &wc) <= 0 || wc.status) {
		errno = EIO;
		return -1;
	}
	return 0;
}

static int send_block(struct rdma_cm_id *id, struct ibv_mr *mr)
{
	if (rdma_post_send(id, NULL, out, sizeof(out), mr, IBV_SEND_SIGNALED) ||
	    await(rdma_get_send_comp, id))
		return failed("send");
	return 0;
}

static int receive_block(struct rdma_cm_id *id, struct ibv_mr *mr)
{
	if (await(rdma_get_recv_comp, id))
		return failed("receive");
	if (memcmp(in, out, sizeof(in))) {
		errno = EBADMSG;
		return failed("compare");
	}
	return rdma_post_recv(id, NULL, in, sizeof(in), mr) ? failed("rdma_post_recv") : 0;
}

/*
 * Each block of data consists of one letter, which differs from block to block. The client sends a
 * block, and the server answers with the same block.
 */
static int exchange(struct rdma_cm_id *id, struct ibv_mr **mr, int is_server)
{
	int i, err;

	for (i = 0; i < BLOCKS; i++) {
		memset(out, 'a' + i, sizeof(out));
		if (is_server)
			err = receive_block(id, mr[1]) || send_block(id, mr[0]);
		else
			err = send_block(id, mr[0]) || receive_block(id, mr[1]);
		if (err)
			return -1;
	}
	printf("up %s\n", ibv_get_device_name(id->verbs->device));
	return 0;
}

static int connect_to(const char *source, const char *address, const char *port)
{
	struct rdma_conn_param param = { .responder_resources = 1, .initiator_depth = 1 };
	struct addrinfo *src = *source == '-' ? NULL : parse(source, NULL);
	struct addrinfo *dst = parse(address, port);
	struct ibv_mr *mr[2];
	struct rdma_cm_id *id;

	signal(SIGALRM, late);
	alarm(SECONDS);
	if (rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP))
		return failed("rdma_create_id");
	if (rdma_resolve_addr(id, src ? src->ai_addr : NULL, dst->ai_addr, 3000))
		return failed("rdma_resolve_addr");
	if (rdma_resolve_route(id, 3000))
		return failed("rdma_resolve_route");
	if (set_up(id, mr))
		return -1;
	if (rdma_connect(id, &param))
		return failed("rdma_connect");
	if (exchange(id, mr, 0))
		return -1;
	alarm(0);
	pause();
	return 0;
}

static void serve_one(struct rdma_cm_id *id)
{
	struct rdma_conn_param param = { .responder_resources = 1, .initiator_depth = 1 };
	struct ibv_mr *mr[2];

	if (set_up(id, mr))
		return;
	if (rdma_accept(id, &param))
		failed("rdma_accept");
	else if (!exchange(id, mr, 1))
		await(rdma_get_recv_comp, id);	/* returns when the client has ended: flushed */
	rdma_disconnect(id);
	rdma_dereg_mr(mr[0]);
	rdma_dereg_mr(mr[1]);
	rdma_destroy_ep(id);
}

static int serve(const char *address, const char *port)
{
	struct rdma_cm_id *listener, *id;

	if (rdma_create_id(NULL, &listener, NULL, RDMA_PS_TCP))
		return failed("rdma_create_id");
	if (rdma_bind_addr(listener, parse(address, port)->ai_addr))
		return failed("rdma_bind_addr");
	if (rdma_listen(listener, 8))
		return failed("rdma_listen");
	puts("listens");
	for (;;) {
		if (rdma_get_request(listener, &id))
			return failed("rdma_get_request");
		serve_one(id);
	}
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 4 && !strcmp(argv[1], "listen"))
		return serve(argv[2], argv[3]) ? 1 : 0;
	if (argc == 5 && !strcmp(argv[1], "connect"))
		return connect_to(argv[2], argv[3], argv[4]) ? 1 : 0;
	fprintf(stderr, "place: see the head of place.c\n");
	return 2;
}

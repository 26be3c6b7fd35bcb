// SPDX-License-Identifier: GPL-2.0
/*
 * verbs_probe: the command "serve", a server that accepts all connect requests, for tests with
 * thousands of streams.
 *
 * Each connection has a QP with receives, and a CQ, of its own. At ESTABLISHED the server posts two
 * Reads, a Send and a Write, so that the peer can answer Reads. How a stream ends is not checked.
 */

#include "verbs_probe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RECVS	8
#define SIZE	256	/* bytes of a receive, and of a Read */

static struct ibv_pd *pd;
static uint64_t address;	/* of RECVS + 1 places of SIZE bytes */
static uint32_t lkey;
static unsigned long began, ended;

struct served {
	struct served *next;
	struct rdma_cm_id *id;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
};

static struct served *all;

static int post_recv(struct served *s, unsigned int n)
{
	struct ibv_sge sge = { address + n * SIZE, SIZE, lkey };
	struct ibv_recv_wr wr = { .wr_id = n, .sg_list = &sge, .num_sge = 1 }, *bad;

	return ibv_post_recv(s->qp, &wr, &bad);
}

static void post_sends(struct served *s)
{
	struct ibv_sge sge = { address + RECVS * SIZE, SIZE, lkey };
	struct ibv_send_wr wrs[4] = {
		{ .opcode = IBV_WR_RDMA_READ }, { .opcode = IBV_WR_RDMA_READ },
		{ .opcode = IBV_WR_SEND }, { .opcode = IBV_WR_RDMA_WRITE },
	}, *bad;
	int i;

	for (i = 0; i < 4; i++) {
		wrs[i].next = i < 3 ? &wrs[i + 1] : NULL;
		wrs[i].sg_list = &sge;
		wrs[i].num_sge = 1;
		wrs[i].wr_id = RECVS;
		wrs[i].send_flags = IBV_SEND_SIGNALED;
		wrs[i].wr.rdma.remote_addr = 0x1000 * i;
		wrs[i].wr.rdma.rkey = 0x4242;
	}
	ibv_post_send(s->qp, wrs, &bad);
}

static int init_qp(struct served *s)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = s->cq, .recv_cq = s->cq, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 8, .max_recv_wr = RECVS, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct ibv_qp_attr init = { .qp_state = IBV_QPS_INIT };
	unsigned int i;
	int mask;

	s->qp = ibv_create_qp(pd, &attr);
	if (!s->qp || rdma_init_qp_attr(s->id, &init, &mask) || ibv_modify_qp(s->qp, &init, mask))
		return -1;
	for (i = 0; i < RECVS; i++)
		post_recv(s, i);
	return 0;
}

static void end(struct served *s)
{
	struct served **at = &all;

	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	if (s->qp)
		ibv_destroy_qp(s->qp);
	if (s->cq)
		ibv_destroy_cq(s->cq);
	rdma_destroy_id(s->id);
	free(s);
	ended++;
}

static void begin(struct rdma_cm_id *id)
{
	struct rdma_conn_param param = { .responder_resources = 4, .initiator_depth = 4 };
	struct served *s = calloc(1, sizeof(*s));

	if (!s)
		fatal("calloc");
	s->id = id;
	s->next = all;
	all = s;
	began++;
	s->cq = ibv_create_cq(context, 64, NULL, NULL, 0);
	if (!s->cq || init_qp(s))
		fatal("a QP for who asks");
	param.qp_num = s->qp->qp_num;
	if (rdma_accept(id, &param))
		end(s);
}

/*
 * Return true if @event is about a connection of the server. If @acknowledged, handle the event,
 * too: the caller must have called rdma_ack_cm_event() before, as rdma_destroy_id(), which may be
 * called here, waits until all events of the id are acknowledged.
 */
bool serve_event(struct rdma_cm_event *event, bool acknowledged)
{
	struct served *s;

	if (!pd)
		return false;
	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
		if (acknowledged)
			begin(event->id);
		return true;
	}
	for (s = all; s && s->id != event->id; s = s->next)
		;
	if (s && acknowledged) {
		if (event->event == RDMA_CM_EVENT_ESTABLISHED)
			post_sends(s);
		else
			end(s);
	}
	return s;
}

/* Post again each receive that completed with success. The others were flushed with their QP. */
void serve_completions(void)
{
	struct ibv_wc wcs[16];
	struct served *s;
	int n, i;

	for (s = all; s; s = s->next) {
		n = ibv_poll_cq(s->cq, 16, wcs);
		for (i = 0; i < n; i++) {
			if (!wcs[i].status && wcs[i].wr_id < RECVS)
				post_recv(s, wcs[i].wr_id);
		}
	}
}

bool serve_is_busy(void)
{
	return all;
}

static int do_serve(int argc, char **argv)
{
	struct object *object = find(PD, argv[0]);

	if (!object)
		return -1;
	pd = object->pd;
	address = number(argv[1]);
	lkey = number(argv[2]);
	return 0;
}

static int do_served(int argc, char **argv)
{
	printf("SERVED %lu %lu\n", began, ended);
	return 0;
}

const struct command serve_commands[] = {
	{ "serve", do_serve, 3 },	/* PD ADDRESS LKEY: from now on accept all requests */
	{ "served", do_served, 0 },	/* "SERVED BEGAN ENDED" */
	{ }
};

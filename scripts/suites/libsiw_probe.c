// SPDX-License-Identifier: GPL-2.0
/*
 * Checks of what libsiw does for a program:
 *
 *	libsiw_probe send-inv ADDRESS PORT
 *		Write into a region of libsiw_peer.py, and invalidate the region
 *		by a Send with Invalidate. Another Write into the region has to
 *		end the connection.
 *	libsiw_probe query-srq
 *		ibv_query_srq() reports the size that ibv_create_srq() returned,
 *		and the limit that was set.
 *	libsiw_probe with-inv
 *		ibv_poll_cq() sets IBV_WC_WITH_INV in a completion with the flag
 *		SIW_WQE_REM_INVAL. libsiw_probe itself writes this completion into
 *		the CQ, not the kernel: no peer can invalidate a region of a program.
 */

#include <arpa/inet.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <rdma/siw-abi.h>

#define SIZE	64

/* The message that libsiw_peer.py sends */
struct note {
	uint64_t at;
	uint32_t rkey;
	uint32_t number;
} __attribute__((packed));

#define die(...) do {						\
	printf("FAILED: " __VA_ARGS__);				\
	putchar('\n');						\
	exit(1);						\
} while (0)

#define must(what) do {						\
	if (!(what))						\
		die("%s: %m", #what);				\
} while (0)

static struct rdma_cm_id *connect_to(char *address, char *port)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP };
	struct ibv_qp_init_attr attr = {
		.cap = {
			.max_send_wr	= 8,
			.max_recv_wr	= 8,
			.max_send_sge	= 1,
			.max_recv_sge	= 1,
		},
		.sq_sig_all = 1,
	};
	struct rdma_addrinfo *info;
	struct rdma_cm_id *id;

	must(!rdma_getaddrinfo(address, port, &hints, &info));
	must(!rdma_create_ep(&id, info, NULL, &attr));
	rdma_freeaddrinfo(info);
	return id;
}

static void sent(struct rdma_cm_id *id, const char *what)
{
	struct ibv_wc wc;

	must(rdma_get_send_comp(id, &wc) == 1);
	if (wc.status != IBV_WC_SUCCESS)
		die("%s: %s", what, ibv_wc_status_str(wc.status));
}

static void hear(struct rdma_cm_id *id, const struct note *note,
		 uint32_t number)
{
	struct ibv_wc wc;

	must(rdma_get_recv_comp(id, &wc) == 1);
	if (wc.status != IBV_WC_SUCCESS)
		die("no answer %u: %s", number, ibv_wc_status_str(wc.status));
	if (wc.byte_len != sizeof(*note) || be32toh(note->number) != number)
		die("another answer than %u", number);
}

static void send_inv(char *address, char *port)
{
	struct rdma_conn_param param = {
		.responder_resources	= 4,
		.initiator_depth	= 4,
	};
	struct rdma_cm_id *id = connect_to(address, port);
	struct note notes[2] = {};
	struct rdma_cm_event *event;
	struct ibv_mr *mr, *inbox;
	struct ibv_send_wr wr = {}, *bad;
	struct ibv_sge sge;
	char data[SIZE];

	memset(data, 'a', SIZE);
	must(mr = rdma_reg_msgs(id, data, SIZE));
	must(inbox = rdma_reg_msgs(id, notes, sizeof(notes)));
	must(!rdma_post_recv(id, NULL, &notes[0], sizeof(*notes), inbox));
	must(!rdma_post_recv(id, NULL, &notes[1], sizeof(*notes), inbox));
	must(!rdma_connect(id, &param));

	must(!rdma_post_send(id, NULL, data, SIZE, mr, 0));
	sent(id, "Send");
	hear(id, &notes[0], 1);
	must(!rdma_post_write(id, NULL, data, SIZE, mr, 0,
			      be64toh(notes[0].at), be32toh(notes[0].rkey)));
	sent(id, "Write");

	sge.addr = (uintptr_t)data;
	sge.length = SIZE;
	sge.lkey = mr->lkey;
	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.opcode = IBV_WR_SEND_WITH_INV;
	wr.invalidate_rkey = be32toh(notes[0].rkey);
	must(!ibv_post_send(id->qp, &wr, &bad));
	sent(id, "Send with Invalidate");
	hear(id, &notes[1], 2);

	memset(data, 'b', SIZE);
	must(!rdma_post_write(id, NULL, data, SIZE, mr, 0,
			      be64toh(notes[0].at), be32toh(notes[0].rkey)));
	must(!rdma_get_cm_event(id->channel, &event));
	if (event->event != RDMA_CM_EVENT_DISCONNECTED)
		die("the connection goes on: %s", rdma_event_str(event->event));
	rdma_ack_cm_event(event);
	rdma_dereg_mr(mr);
	rdma_dereg_mr(inbox);
	rdma_destroy_ep(id);
}

static struct ibv_context *open_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context;

	must(list && list[0]);
	must(context = ibv_open_device(list[0]));
	ibv_free_device_list(list);
	return context;
}

static void query_srq(void)
{
	struct ibv_context *context = open_device();
	struct ibv_srq_init_attr init = {
		.attr = { .max_wr = 100, .max_sge = 2 },
	};
	struct ibv_srq_attr attr = { .srq_limit = 7 };
	struct ibv_recv_wr wr = { .num_sge = 1 }, *bad;
	struct ibv_sge sge = { .length = SIZE };
	static char data[SIZE];
	struct ibv_srq *srq;
	struct ibv_mr *mr;
	struct ibv_pd *pd;
	int i, err;

	must(pd = ibv_alloc_pd(context));
	must(srq = ibv_create_srq(pd, &init));
	must(mr = ibv_reg_mr(pd, data, SIZE, IBV_ACCESS_LOCAL_WRITE));
	sge.addr = (uintptr_t)data;
	sge.lkey = mr->lkey;
	wr.sg_list = &sge;
	/* With fewer receives than the limit the SRQ would not stay armed. */
	for (i = 0; i < 10; i++)
		must(!ibv_post_srq_recv(srq, &wr, &bad));
	must(!ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT));
	memset(&attr, 0xff, sizeof(attr));
	err = ibv_query_srq(srq, &attr);
	if (err)
		die("ibv_query_srq: %s", strerror(err));
	if (attr.max_wr < 100 || attr.max_wr != init.attr.max_wr ||
	    attr.max_sge < 2 || attr.srq_limit != 7)
		die("%u receives of %u SGEs, limit %u", attr.max_wr,
		    attr.max_sge, attr.srq_limit);
	must(!ibv_destroy_srq(srq));
	must(!ibv_dereg_mr(mr));
	must(!ibv_dealloc_pd(pd));
	must(!ibv_close_device(context));
}

/* The only mapping of the device that this program has; it is a queue's ring. */
static void *only_ring(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	void *ring = NULL;
	char line[512];

	must(maps);
	while (fgets(line, sizeof(line), maps)) {
		if (!strstr(line, "/dev/infiniband/uverbs"))
			continue;
		if (ring)
			die("two rings");
		must(sscanf(line, "%p-", &ring) == 1);
	}
	fclose(maps);
	if (!ring)
		die("no ring");
	return ring;
}

static void complete(struct siw_cqe *cqe, uint32_t id, int flags)
{
	cqe->id = id;
	cqe->opcode = SIW_OP_RECEIVE;
	cqe->status = SIW_WC_SUCCESS;
	cqe->bytes = 4;
	cqe->inval_stag = 0x12345600 + id;
	atomic_store((atomic_uchar *)&cqe->flags, SIW_WQE_VALID | flags);
}

static void polled(struct ibv_cq *cq, uint32_t id, struct ibv_wc *wc)
{
	if (ibv_poll_cq(cq, 1, wc) != 1 || wc->wr_id != id ||
	    wc->opcode != IBV_WC_RECV || wc->byte_len != 4)
		die("completion %u is another one", id);
}

static void with_inv(void)
{
	struct ibv_context *context = open_device();
	struct siw_cqe *ring;
	struct ibv_cq *cq;
	struct ibv_wc wc;

	must(cq = ibv_create_cq(context, 16, NULL, NULL, 0));
	ring = only_ring();
	complete(&ring[0], 1, SIW_WQE_REM_INVAL);
	complete(&ring[1], 2, 0);
	polled(cq, 1, &wc);
	if (wc.wc_flags != IBV_WC_WITH_INV || wc.invalidated_rkey != 0x12345601)
		die("flags %#x, rkey %#x", wc.wc_flags, wc.invalidated_rkey);
	polled(cq, 2, &wc);
	if (wc.wc_flags)
		die("flags %#x of a plain Send", wc.wc_flags);
	must(!ibv_destroy_cq(cq));
	must(!ibv_close_device(context));
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 4 && !strcmp(argv[1], "send-inv"))
		send_inv(argv[2], argv[3]);
	else if (argc == 2 && !strcmp(argv[1], "query-srq"))
		query_srq();
	else if (argc == 2 && !strcmp(argv[1], "with-inv"))
		with_inv();
	else
		die("usage: see the source");
	puts("as it should be");
	return 0;
}

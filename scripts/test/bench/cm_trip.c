// SPDX-License-Identifier: GPL-2.0
/*
 * How long does it take until each end of a connection can use it? One process is both ends, each a
 * thread that sleeps until an event arrives. bench.sh delays the packets of the loopback device.
 *
 *	cm_trip ADDRESS ROUNDS
 *
 * Each end sends as soon as it gets the event ESTABLISHED. Prints lines "WHAT NANOSECONDS": the
 * time since rdma_connect, as the median of the rounds, until
 *	initiator-sends		the initiator's first Send has completed
 *	responder-sends		the responder's first Send has completed
 *	responder-gets		the initiator's first message has arrived
 *	initiator-gets		the responder's first message has arrived, which does not wait for
 *				the initiator's
 *	answered		the answer to the initiator's first message has arrived
 */

#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PORT		7475
#define FIRST_PORT	8000
#define OCTETS		64
#define WARM_UP		2	/* resolve addresses, get cookies of TCP Fast Open */
#define ROUNDS_MAX	64

enum what { INITIATOR_SENDS, RESPONDER_SENDS, RESPONDER_GETS, INITIATOR_GETS, ANSWERED, WHATS };

static const char *const names[WHATS] = {
	"initiator-sends", "responder-sends", "responder-gets", "initiator-gets", "answered",
};

/* One of the two ends. Each connection has its own id and QP; all share the end's other objects. */
struct end {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	struct ibv_comp_channel *wake;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	char octets[OCTETS];
	int sent;
	int got;
};

static struct end initiator, responder;
static struct sockaddr_in address = { .sin_family = AF_INET };
static sem_t responder_has_ended;
static long long began, times[WHATS][ROUNDS_MAX];
static int now_round, rounds;

static void need(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "cm_trip: %s: %s\n", what, strerror(errno));
	exit(1);
}

static long long clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static void note(enum what what)
{
	if (now_round >= 0)
		times[what][now_round] = clock_ns() - began;
}

static struct rdma_cm_id *expect(struct end *end, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	need(!rdma_get_cm_event(end->channel, &event), "rdma_get_cm_event");
	if (event->event != type || event->status) {
		fprintf(stderr, "cm_trip: %s status %d, not %s\n", rdma_event_str(event->event),
			event->status, rdma_event_str(type));
		exit(1);
	}
	id = event->id;
	rdma_ack_cm_event(event);
	return id;
}

static void make_end(struct end *end, struct ibv_context *verbs)
{
	end->pd = ibv_alloc_pd(verbs);
	end->wake = ibv_create_comp_channel(verbs);
	need(end->pd && end->wake, "ibv_alloc_pd, ibv_create_comp_channel");
	end->cq = ibv_create_cq(verbs, 16, NULL, end->wake, 0);
	end->mr = ibv_reg_mr(end->pd, end->octets, OCTETS, IBV_ACCESS_LOCAL_WRITE);
	need(end->cq && end->mr && !ibv_req_notify_cq(end->cq, 0), "ibv_create_cq, ibv_reg_mr");
}

static void make_qp(struct end *end)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = end->cq, .recv_cq = end->cq, .qp_type = IBV_QPT_RC, .sq_sig_all = 1,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_sge sge = { (uintptr_t)end->octets, OCTETS, end->mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;
	int i;

	need(!rdma_create_qp(end->id, end->pd, &attr), "rdma_create_qp");
	for (i = 0; i < 2; i++)
		need(!ibv_post_recv(end->id->qp, &wr, &bad), "ibv_post_recv");
	end->sent = 0;
	end->got = 0;
}

static void post_send(struct end *end)
{
	struct ibv_sge sge = { (uintptr_t)end->octets, OCTETS, end->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND }, *bad;

	need(!ibv_post_send(end->id->qp, &wr, &bad), "ibv_post_send");
}

static void initiator_completes(struct end *end, enum ibv_wc_opcode opcode)
{
	if (opcode == IBV_WC_SEND)
		note(INITIATOR_SENDS);
	else
		note(end->got++ ? ANSWERED : INITIATOR_GETS);
}

/* The responder's first Send follows ESTABLISHED; its second answers the initiator's message. */
static void responder_completes(struct end *end, enum ibv_wc_opcode opcode)
{
	if (opcode == IBV_WC_RECV) {
		note(RESPONDER_GETS);
		post_send(end);
	} else if (!end->sent++) {
		note(RESPONDER_SENDS);
	}
}

/* Sleep until @n work requests have completed. */
static void await(struct end *end, int n, void (*completes)(struct end *, enum ibv_wc_opcode))
{
	struct ibv_wc wc;
	struct ibv_cq *cq;
	void *context;
	int polled;

	while (n) {
		polled = ibv_poll_cq(end->cq, 1, &wc);
		need(polled >= 0, "ibv_poll_cq");
		if (polled) {
			need(wc.status == IBV_WC_SUCCESS, ibv_wc_status_str(wc.status));
			completes(end, wc.opcode & IBV_WC_RECV ? IBV_WC_RECV : IBV_WC_SEND);
			n--;
			continue;
		}
		need(!ibv_get_cq_event(end->wake, &cq, &context), "ibv_get_cq_event");
		ibv_ack_cq_events(cq, 1);
		need(!ibv_req_notify_cq(end->cq, 0), "ibv_req_notify_cq");
		/*
		 * There is no event for a completion that arrived before the event was requested:
		 * poll once more.
		 */
	}
}

static void close_end(struct end *end)
{
	struct ibv_wc wc;

	rdma_destroy_qp(end->id);
	need(!rdma_destroy_id(end->id), "rdma_destroy_id");
	while (ibv_poll_cq(end->cq, 1, &wc) > 0)
		;
}

static void *respond(void *unused)
{
	struct rdma_conn_param param = { .responder_resources = 1, .initiator_depth = 1 };
	struct end *end = &responder;

	for (;;) {
		end->id = expect(end, RDMA_CM_EVENT_CONNECT_REQUEST);
		make_qp(end);
		need(!rdma_accept(end->id, &param), "rdma_accept");
		expect(end, RDMA_CM_EVENT_ESTABLISHED);
		post_send(end);
		await(end, 3, responder_completes);
		expect(end, RDMA_CM_EVENT_DISCONNECTED);
		rdma_disconnect(end->id);
		close_end(end);
		sem_post(&responder_has_ended);
	}
	return unused;
}

/* siw tries no source port but that which rdma_cm has chosen: so each connection gets a new one. */
static void prepare(struct end *end)
{
	static in_port_t port = FIRST_PORT;
	struct sockaddr_in source = address;

	source.sin_port = htons(port++);
	need(!rdma_create_id(end->channel, &end->id, NULL, RDMA_PS_TCP), "rdma_create_id");
	need(!rdma_resolve_addr(end->id, (struct sockaddr *)&source, (struct sockaddr *)&address,
				5000), "rdma_resolve_addr");
	expect(end, RDMA_CM_EVENT_ADDR_RESOLVED);
	need(!rdma_resolve_route(end->id, 5000), "rdma_resolve_route");
	expect(end, RDMA_CM_EVENT_ROUTE_RESOLVED);
	if (!end->pd)
		make_end(end, end->id->verbs);
	make_qp(end);
}

static void initiate(struct end *end)
{
	struct rdma_conn_param param = { .responder_resources = 1, .initiator_depth = 1 };

	prepare(end);
	began = clock_ns();
	need(!rdma_connect(end->id, &param), "rdma_connect");
	expect(end, RDMA_CM_EVENT_ESTABLISHED);
	post_send(end);
	await(end, 3, initiator_completes);
	need(!rdma_disconnect(end->id), "rdma_disconnect");
	expect(end, RDMA_CM_EVENT_DISCONNECTED);
	close_end(end);
	sem_wait(&responder_has_ended);
}

static int is_longer(const void *a, const void *b)
{
	long long x = *(const long long *)a, y = *(const long long *)b;

	return (x > y) - (x < y);
}

static void listen_for_requests(struct end *end)
{
	struct rdma_cm_id *listener;
	pthread_t thread;

	end->channel = rdma_create_event_channel();
	need(end->channel, "rdma_create_event_channel");
	need(!rdma_create_id(end->channel, &listener, NULL, RDMA_PS_TCP), "rdma_create_id");
	need(!rdma_bind_addr(listener, (struct sockaddr *)&address), "rdma_bind_addr");
	need(!rdma_listen(listener, 16), "rdma_listen");
	make_end(end, listener->verbs);
	need(!sem_init(&responder_has_ended, 0, 0), "sem_init");
	need(!pthread_create(&thread, NULL, respond, NULL), "pthread_create");
}

int main(int argc, char **argv)
{
	int what;

	if (argc != 3 || !inet_aton(argv[1], &address.sin_addr))
		return 2;
	rounds = atoi(argv[2]);
	need(rounds > 0 && rounds <= ROUNDS_MAX, "ROUNDS");
	address.sin_port = htons(PORT);
	/*
	 * Sleep until no port of an earlier run is in TIME_WAIT (60 s). This takes no real time:
	 * with QEMU's "-icount sleep=off" the clock of an idle guest jumps to its next timer.
	 */
	sleep(61);
	listen_for_requests(&responder);
	initiator.channel = rdma_create_event_channel();
	need(initiator.channel, "rdma_create_event_channel");
	for (now_round = -WARM_UP; now_round < rounds; now_round++)
		initiate(&initiator);
	for (what = 0; what < WHATS; what++) {
		qsort(times[what], rounds, sizeof(times[what][0]), is_longer);
		printf("%s %lld\n", names[what], times[what][rounds / 2]);
	}
	return 0;
}

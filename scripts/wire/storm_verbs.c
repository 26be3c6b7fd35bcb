// SPDX-License-Identifier: GPL-2.0
/*
 * A program for data_storms.py: its threads make connections with each other, send on them and end
 * them, and at the same time call all verbs in random order.
 *
 *	storm_verbs ADDRESS PORT SECONDS SEED
 *
 * Each thread listens on a port of its own, from PORT on, and connects to the ports of all threads.
 * Only the thread that made a connection ends it; but each thread posts WRs, modifies QPs, and
 * registers and deregisters memory on the connections of all threads. Any call may fail, as the
 * test may remove the device. After SECONDS the program prints a word and a number for each kind of
 * call or event that it counts, and exits.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#define THREADS	6
#define CONNS	6	/* of a thread */
#define MRS	3	/* of a connection */
#define MEMORY	(1 << 17)
#define WRS	16

enum kind { CONNECT, UP, ACCEPT, REJECT, POST, DONE, FLUSHED, MODIFY, REREG, END, BY_NUMBER, KINDS };

static const char *const names[KINDS] = {
	"connect", "up", "accept", "reject", "post", "done", "flushed", "modify", "rereg", "end",
	"by_number",
};

static unsigned long counts[KINDS];

/* Private data of MPA Request and Reply: memory of the sender that the receiver reads and writes */
struct place {
	uint64_t addr;
	uint32_t rkey;
};

struct conn {
	pthread_rwlock_t lock;		/* written to make or end the connection, read to use it */
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_qp *qp;
	pthread_mutex_t mr_lock;
	struct ibv_mr *mr[MRS];
	uint32_t lkey[MRS], rkey[MRS];	/* still used in WRs after the region is deregistered */
	struct place far;
	char *memory;
};

struct thread {
	pthread_t pthread;
	unsigned int number, seed;
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener;
	struct conn conn[CONNS];
};

static struct thread threads[THREADS];
static const char *address;
static int port;
static time_t end;

static unsigned int chance(struct thread *t, unsigned int n)
{
	return rand_r(&t->seed) % n;
}

static void count(enum kind kind)
{
	__atomic_fetch_add(&counts[kind], 1, __ATOMIC_RELAXED);
}

static struct sockaddr_in address_of(int number)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(port + number) };

	inet_pton(AF_INET, address, &sin.sin_addr);
	return sin;
}

/* --- a connection's objects: callers of make() and unmake() hold conn.lock for writing --- */

static void reg(struct thread *t, struct conn *c, int i)
{
	static const int access[] = {
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ,
		0,
	};

	c->mr[i] = ibv_reg_mr(c->pd, c->memory, MEMORY, access[chance(t, 8) ? 0 : chance(t, 3)]);
	if (!c->mr[i])
		return;
	c->lkey[i] = c->mr[i]->lkey;
	c->rkey[i] = c->mr[i]->rkey;
}

static void recv_some(struct thread *t, struct conn *c)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)c->memory, .length = MEMORY, .lkey = c->lkey[chance(t, MRS)],
	};
	struct ibv_recv_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 }, *bad;
	int n = chance(t, WRS);

	while (n--) {
		if (c->srq ? ibv_post_srq_recv(c->srq, &wr, &bad) : ibv_post_recv(c->qp, &wr, &bad))
			break;
	}
}

static bool make(struct thread *t, struct conn *c)
{
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = WRS, .max_sge = 1 } };
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC, .sq_sig_all = chance(t, 2),
		.cap = { .max_send_wr = WRS, .max_recv_wr = WRS, .max_send_sge = 2,
			 .max_recv_sge = 1, .max_inline_data = 64 },
	};
	int i;

	c->pd = ibv_alloc_pd(c->id->verbs);
	if (!c->pd)
		return false;
	for (i = 0; i < MRS; i++)
		reg(t, c, i);
	/* One CQ in ten has 2 entries, fewer than there may be completions, so it may overflow. */
	c->cq = ibv_create_cq(c->id->verbs, chance(t, 10) ? 4 * WRS : 2, NULL, NULL, 0);
	if (!c->cq)
		return false;
	if (!chance(t, 4))
		c->srq = ibv_create_srq(c->pd, &srq);
	attr.send_cq = c->cq;
	attr.recv_cq = c->cq;
	attr.srq = c->srq;
	if (rdma_create_qp(c->id, c->pd, &attr))
		return false;
	c->qp = c->id->qp;
	recv_some(t, c);
	return true;
}

static void unmake(struct conn *c)
{
	int i;

	if (c->qp)
		rdma_destroy_qp(c->id);
	if (c->srq)
		ibv_destroy_srq(c->srq);
	if (c->cq)
		ibv_destroy_cq(c->cq);
	for (i = 0; i < MRS; i++) {
		if (c->mr[i])
			ibv_dereg_mr(c->mr[i]);
		c->mr[i] = NULL;
	}
	if (c->pd)
		ibv_dealloc_pd(c->pd);
	if (c->id)
		rdma_destroy_id(c->id);
	c->qp = NULL;
	c->srq = NULL;
	c->cq = NULL;
	c->pd = NULL;
	c->id = NULL;
}

static void finish(struct conn *c)
{
	pthread_rwlock_wrlock(&c->lock);
	if (c->id)
		count(END);
	unmake(c);
	pthread_rwlock_unlock(&c->lock);
}

static struct conn *unused(struct thread *t)
{
	int i;

	for (i = 0; i < CONNS; i++) {
		if (!t->conn[i].id)
			return &t->conn[i];
	}
	return NULL;
}

static struct rdma_conn_param param_of(struct conn *c, struct place *place)
{
	*place = (struct place) { .addr = (uintptr_t)c->memory, .rkey = c->rkey[0] };
	return (struct rdma_conn_param) {
		.private_data = place, .private_data_len = sizeof(*place),
		.responder_resources = 4, .initiator_depth = 4,
	};
}

/* --- connecting --- */

static void begin(struct thread *t)
{
	struct sockaddr_in to = address_of(chance(t, THREADS));
	struct conn *c = unused(t);

	if (!c)
		return;
	pthread_rwlock_wrlock(&c->lock);
	if (!rdma_create_id(t->channel, &c->id, c, RDMA_PS_TCP)) {
		count(CONNECT);
		if (rdma_resolve_addr(c->id, NULL, (struct sockaddr *)&to, 1000))
			unmake(c);
	} else {
		c->id = NULL;
	}
	pthread_rwlock_unlock(&c->lock);
}

/*
 * Call rdma_connect() for @c's id with the QP number of another connection: iw_cm has to look up a
 * QP that another thread may destroy at the same time.
 */
static bool connect_by_number(struct thread *t, struct conn *c)
{
	struct conn *other = &threads[chance(t, THREADS)].conn[chance(t, CONNS)];
	struct rdma_conn_param param = { .responder_resources = 1, .initiator_depth = 1 };

	if (other == c || pthread_rwlock_tryrdlock(&other->lock))
		return false;
	if (other->qp)
		param.qp_num = other->qp->qp_num;
	pthread_rwlock_unlock(&other->lock);
	count(BY_NUMBER);
	return !rdma_connect(c->id, &param);
}

static bool dial(struct thread *t, struct conn *c)
{
	struct rdma_conn_param param;
	struct place place;
	bool done;

	if (!chance(t, 8))
		return connect_by_number(t, c);
	pthread_rwlock_wrlock(&c->lock);
	done = make(t, c);
	if (done) {
		param = param_of(c, &place);
		done = !rdma_connect(c->id, &param);
	}
	pthread_rwlock_unlock(&c->lock);
	return done;
}

static void asked(struct thread *t, struct rdma_cm_id *id, const struct place *far)
{
	struct rdma_conn_param param;
	struct conn *c = unused(t);
	struct place place;

	if (!c || !chance(t, 10)) {
		count(REJECT);
		if (chance(t, 2))
			rdma_reject(id, NULL, 0);
		rdma_destroy_id(id);
		return;
	}
	pthread_rwlock_wrlock(&c->lock);
	c->id = id;
	id->context = c;
	if (far)
		c->far = *far;
	if (make(t, c)) {
		param = param_of(c, &place);
		count(ACCEPT);
		if (!rdma_accept(id, &param)) {
			pthread_rwlock_unlock(&c->lock);
			return;
		}
	}
	unmake(c);
	pthread_rwlock_unlock(&c->lock);
}

/*
 * Handle an rdma_cm event. Acknowledge it first: rdma_destroy_id(), which may be called here, waits
 * until all events of the id are acknowledged.
 */
static void handle(struct thread *t, struct rdma_cm_event *event)
{
	enum rdma_cm_event_type what = event->event;
	struct rdma_cm_id *id = event->id;
	struct place far = {};
	bool told, mine = id != t->listener;
	struct conn *c = id->context;

	told = event->param.conn.private_data && event->param.conn.private_data_len >= sizeof(far);
	if (told && (what == RDMA_CM_EVENT_ESTABLISHED || what == RDMA_CM_EVENT_CONNECT_REQUEST))
		memcpy(&far, event->param.conn.private_data, sizeof(far));
	rdma_ack_cm_event(event);
	if (what == RDMA_CM_EVENT_CONNECT_REQUEST) {
		asked(t, id, &far);
		return;
	}
	if (!mine || !c)
		return;
	switch (what) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		if (rdma_resolve_route(id, 1000))
			finish(c);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		if (!dial(t, c))
			finish(c);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		count(UP);
		if (far.rkey)
			c->far = far;
		break;
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		break;
	default:
		/* Keep one ended connection in four, so that verbs are called on a QP in error. */
		if (chance(t, 4))
			finish(c);
	}
}

/* --- calls on connections of all threads --- */

static void post(struct thread *t, struct conn *c)
{
	static const enum ibv_wr_opcode ops[] = {
		IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE,
	};
	struct ibv_sge sge = {
		.addr = (uintptr_t)c->memory, .length = chance(t, 4) ? chance(t, 3000) :
								       chance(t, MEMORY),
		.lkey = c->lkey[chance(t, MRS)],
	};
	struct ibv_send_wr wr = {
		.wr_id = 2, .sg_list = &sge, .num_sge = chance(t, 20) > 0,
		.opcode = ops[chance(t, 4)],
		.wr.rdma = { .remote_addr = c->far.addr, .rkey = c->far.rkey },
	}, *bad;

	if (chance(t, 2))
		wr.send_flags |= IBV_SEND_SIGNALED;
	if (!chance(t, 5))
		wr.send_flags |= IBV_SEND_FENCE | IBV_SEND_SOLICITED;
	if (!chance(t, 50))
		wr.wr.rdma.rkey ^= 1 << chance(t, 32);
	if (!ibv_post_send(c->qp, &wr, &bad))
		count(POST);
}

static void reap(struct conn *c)
{
	struct ibv_wc wc[8];
	int i, n = ibv_poll_cq(c->cq, 8, wc);

	for (i = 0; i < n; i++)
		count(wc[i].status ? FLUSHED : DONE);
}

static void change(struct thread *t, struct conn *c)
{
	static const enum ibv_qp_state states[] = {
		IBV_QPS_ERR, IBV_QPS_SQD, IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTS, IBV_QPS_ERR,
	};
	struct ibv_qp_attr attr = { .qp_state = states[chance(t, 6)] }, got;
	struct ibv_qp_init_attr init;

	count(MODIFY);
	if (chance(t, 2))
		ibv_modify_qp(c->qp, &attr, IBV_QP_STATE);
	else
		ibv_query_qp(c->qp, &got, IBV_QP_STATE, &init);
}

static void reregister(struct thread *t, struct conn *c)
{
	int i = chance(t, MRS);

	pthread_mutex_lock(&c->mr_lock);
	if (c->mr[i] && !ibv_dereg_mr(c->mr[i])) {
		count(REREG);
		c->mr[i] = NULL;
	}
	if (!c->mr[i] && chance(t, 4))
		reg(t, c, i);
	pthread_mutex_unlock(&c->mr_lock);
}

static void meddle(struct thread *t)
{
	struct conn *c = &threads[chance(t, THREADS)].conn[chance(t, CONNS)];
	unsigned int what = chance(t, 100);

	if (pthread_rwlock_tryrdlock(&c->lock))
		return;
	if (c->qp && what < 60)
		post(t, c);
	else if (c->qp && what < 85)
		reap(c);
	else if (c->qp && what < 92)
		recv_some(t, c);
	else if (c->qp && what < 98)
		reregister(t, c);
	else if (c->qp)
		change(t, c);
	pthread_rwlock_unlock(&c->lock);
}

/* --- threads --- */

static bool rise(struct thread *t)
{
	struct sockaddr_in sin = address_of(t->number);
	int i;

	t->channel = rdma_create_event_channel();
	if (!t->channel)
		return false;
	fcntl(t->channel->fd, F_SETFL, O_NONBLOCK);
	for (i = 0; i < CONNS; i++) {
		pthread_rwlock_init(&t->conn[i].lock, NULL);
		pthread_mutex_init(&t->conn[i].mr_lock, NULL);
		t->conn[i].memory = calloc(1, MEMORY);
	}
	return !rdma_create_id(t->channel, &t->listener, NULL, RDMA_PS_TCP) &&
	       !rdma_bind_addr(t->listener, (struct sockaddr *)&sin) &&
	       !rdma_listen(t->listener, 8);
}

static void *run(void *arg)
{
	struct thread *t = arg;
	struct rdma_cm_event *event;
	unsigned int what;
	int i;

	while (time(NULL) < end) {
		struct pollfd fd = { .fd = t->channel->fd, .events = POLLIN };

		if (poll(&fd, 1, !chance(t, 100)) > 0 && !rdma_get_cm_event(t->channel, &event))
			handle(t, event);
		what = chance(t, 200);
		if (what < 10)
			begin(t);
		else if (what < 12)
			finish(&t->conn[chance(t, CONNS)]);
		else if (what == 13 && t->conn[0].id)
			rdma_disconnect(t->conn[0].id);
		else
			meddle(t);
	}
	for (i = 0; i < CONNS; i++)
		finish(&t->conn[i]);
	if (t->listener)
		rdma_destroy_id(t->listener);
	return NULL;
}

int main(int argc, char **argv)
{
	int i;

	if (argc != 5)
		return 2;
	address = argv[1];
	port = atoi(argv[2]);
	end = time(NULL) + atoi(argv[3]);
	for (i = 0; i < THREADS; i++) {
		threads[i].number = i;
		threads[i].seed = strtoul(argv[4], NULL, 0) + i;
		if (!rise(&threads[i]))
			return 3;	/* there is no device now */
	}
	for (i = 0; i < THREADS; i++) {
		if (pthread_create(&threads[i].pthread, NULL, run, &threads[i]))
			return 4;
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i].pthread, NULL);
	for (i = 0; i < KINDS; i++)
		printf("%s %lu ", names[i], counts[i]);
	puts("");
	return 0;
}

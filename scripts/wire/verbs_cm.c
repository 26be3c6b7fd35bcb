// SPDX-License-Identifier: GPL-2.0
/* verbs_probe: the commands for connections, by rdma_cm */

#include "verbs_probe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PD 512

static unsigned int requests;	/* number of requests so far */

static const char *event_name(const struct rdma_cm_event *event)
{
	return rdma_event_str(event->event) + strlen("RDMA_CM_EVENT_");
}

/*
 * Read and print an rdma_cm event. The id of the N-th CONNECT_REQUEST, counted from 0, gets the
 * name "rN", by which the test accepts it.
 */
void cm_event(void)
{
	const struct rdma_conn_param *param;
	struct rdma_cm_event *event;
	char name[NAME_SIZE];

	if (rdma_get_cm_event(cm_channel, &event))
		return;
	if (serve_event(event, false)) {
		struct rdma_cm_event copy = *event;

		rdma_ack_cm_event(event);
		serve_event(&copy, true);
		return;
	}
	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
		snprintf(name, sizeof(name), "r%u", requests++);
		add(ID, name, event->id);
	}
	param = &event->param.conn;
	printf("EVENT %s id=%s status=%d ird=%u ord=%u pd=", event_name(event),
	       name_of(ID, event->id), event->status, param->initiator_depth,
	       param->responder_resources);
	print_octets(param->private_data, param->private_data ? param->private_data_len : 0);
	printf("\n");
	rdma_ack_cm_event(event);
}

static int expect_event(enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;
	int good;

	if (rdma_get_cm_event(cm_channel, &event))
		return -1;
	good = event->event == type;
	errno = event->status < 0 ? -event->status : ENOTCONN;
	rdma_ack_cm_event(event);
	return good ? 0 : -1;
}

static struct rdma_addrinfo *address_of(char **argv, int flags)
{
	struct rdma_addrinfo hints = {
		.ai_port_space = RDMA_PS_TCP,
		.ai_flags = RAI_NUMERICHOST | flags,
	}, *info;

	return rdma_getaddrinfo(argv[0], argv[1], &hints, &info) ? NULL : info;
}

static int do_listen(int argc, char **argv)
{
	struct rdma_addrinfo *info = address_of(argv + 1, RAI_PASSIVE);
	struct rdma_cm_id *id;
	int rv;

	if (!info || rdma_create_id(cm_channel, &id, NULL, RDMA_PS_TCP))
		return -1;
	add(ID, argv[0], id);
	rv = rdma_bind_addr(id, info->ai_src_addr) || rdma_listen(id, 64) ? -1 : 0;
	rdma_freeaddrinfo(info);
	return rv;
}

static int do_resolve(int argc, char **argv)
{
	struct rdma_addrinfo *info = address_of(argv + 1, 0);
	struct rdma_cm_id *id;
	int rv;

	if (!info || rdma_create_id(cm_channel, &id, NULL, RDMA_PS_TCP))
		return -1;
	add(ID, argv[0], id);
	rv = rdma_resolve_addr(id, NULL, info->ai_dst_addr, 5000) ||
	     expect_event(RDMA_CM_EVENT_ADDR_RESOLVED) || rdma_resolve_route(id, 5000) ||
	     expect_event(RDMA_CM_EVENT_ROUTE_RESOLVED) ? -1 : 0;
	rdma_freeaddrinfo(info);
	return rv;
}

/* Bring a QP from RESET to INIT. rdma_create_qp() would do so, but ibv_create_qp() made this QP. */
static int bring_to_init(struct rdma_cm_id *id, struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };
	int mask, rv;

	if (rdma_init_qp_attr(id, &attr, &mask))
		return -1;
	rv = ibv_modify_qp(qp, &attr, mask);
	if (rv)
		errno = abs(rv);
	return rv ? -1 : 0;
}

/* Call rdma_connect() or rdma_accept() with a QP in state INIT; @argv is ID QP IRD ORD HEX. */
static int connection(char **argv, int (*call)(struct rdma_cm_id *, struct rdma_conn_param *))
{
	struct object *id = find(ID, argv[0]), *qp = find(QP, argv[1]);
	struct rdma_conn_param param = {
		.responder_resources = number(argv[2]),
		.initiator_depth = number(argv[3]),
	};
	uint8_t pd[MAX_PD];
	int pd_size = parse_octets(argv[4], pd, sizeof(pd));

	if (!id || !qp || pd_size < 0 || bring_to_init(id->id, qp->qp))
		return -1;
	param.private_data = pd;
	param.private_data_len = pd_size;
	param.qp_num = qp->qp->qp_num;
	return call(id->id, &param);
}

static int do_connect(int argc, char **argv)
{
	return connection(argv, rdma_connect);
}

static int do_accept(int argc, char **argv)
{
	return connection(argv, rdma_accept);
}

/* Call rdma_connect() or rdma_accept() with the number of any QP, even that of another program */
static int by_number(char **argv, int (*call)(struct rdma_cm_id *, struct rdma_conn_param *))
{
	struct object *id = find(ID, argv[0]);
	struct rdma_conn_param param = { .qp_num = number(argv[1]) };

	return id ? call(id->id, &param) : -1;
}

static int do_connect_number(int argc, char **argv)
{
	return by_number(argv, rdma_connect);
}

static int do_accept_number(int argc, char **argv)
{
	return by_number(argv, rdma_accept);
}

/* librdmacm does not modify the QP here, as it has no QP for the id; iw_cm modifies it to SQD. */
static int do_disconnect(int argc, char **argv)
{
	struct object *id = find(ID, argv[0]);

	return id ? rdma_disconnect(id->id) : -1;
}

const struct command cm_commands[] = {
	{ "listen", do_listen, 3 },		/* ID ADDRESS PORT */
	{ "resolve", do_resolve, 3 },		/* ID ADDRESS PORT */
	{ "connect", do_connect, 5 },		/* ID QP IRD ORD HEX */
	{ "connect_number", do_connect_number, 2 },	/* ID QPN */
	{ "accept", do_accept, 5 },		/* ID QP IRD ORD HEX: the id of a request */
	{ "accept_number", do_accept_number, 2 },	/* ID QPN: the id of a request */
	{ "disconnect", do_disconnect, 1 },	/* ID */
	{ }
};

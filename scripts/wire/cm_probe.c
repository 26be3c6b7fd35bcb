// SPDX-License-Identifier: GPL-2.0
/*
 * cm_probe, the rdma_cm application of the wire tests: it is the ULP on the
 * device under test. It executes the commands that the test writes to its
 * standard input, and prints every rdma_cm event.
 *
 *	cm_probe listen ADDRESS PORT [BACKLOG]		be the responder
 *	cm_probe connect ADDRESS PORT [SOURCE-PORT]	be the initiator
 *	cm_probe device NAME				describe a device
 *
 * "cm_probe device" prints properties of a device, for the report of the tests,
 * and exits:
 *	FOUND			or only NONE if libibverbs has no device NAME
 *	TRANSPORT iWARP		or "other"
 *	VENDOR ID PART FIRMWARE	vendor_id, vendor_part_id and fw_ver
 *	DEPTHS IRD ORD		the device's limits of IRD and ORD for a QP
 *	ADDRESS A		for each address that rdma_bind_addr() resolves
 *				to the device
 *
 * After "listen" or "connect" cm_probe reads these commands, one per line. A
 * request is a CONNECT_REQUEST that is not yet answered. The connection is that
 * of "connect", or of the last "accept" or "take". N and M are numbers; HEX are
 * the bytes of the private data, "-" stands for none:
 *	connect IRD ORD HEX	rdma_connect
 *	accept IRD ORD HEX	"take", then rdma_accept the connection
 *	reject HEX		rdma_reject the oldest request
 *	take			make the oldest request the connection, and create its QP
 *	accept_taken IRD ORD HEX	rdma_accept the connection after "take"
 *	accept_busy		rdma_accept the oldest request with the connection's QP
 *	accept_again		rdma_accept the connection once more
 *	reject_accepted		rdma_reject the connection although it was accepted
 *	recv			post a receive buffer
 *	send N			post a Send of N bytes
 *	storm			repeat rdma_post_send() until it succeeds once
 *	stream N M		post N Sends of M bytes, each after the completion
 *				of the one before; the data of each Send are the
 *				numbers 0, 1, 2 and so on, in four bytes each
 *	read			post a Read of 0 bytes
 *	wc			wait for a completion: "WC OPCODE STATUS LENGTH"
 *	no_wc			poll for a completion: an error if there is any
 *	disconnect		rdma_disconnect
 *	query_qp		query the QP of the connection: "QP STATE SQ_SIG_ALL IRD ORD"
 *	fail_qp			bring the QP of the connection to the error state
 *	modify_qp		change the access flags of the QP of the connection
 *	destroy_qp		destroy the QP of the connection
 *	destroy_id		destroy the connection's id, then its QP
 *	unlisten		destroy the listening id
 *	serve			from now on rdma_accept each request, and
 *				rdma_disconnect each connection when the event
 *				ESTABLISHED arrives
 *	served			print "SERVED N": N connections were ESTABLISHED
 *				since "serve"
 *	quit			exit
 *
 * A command prints "OK COMMAND" or "ERROR COMMAND errno". An event prints
 *	EVENT NAME status=S ird=N ord=N pd=HEX
 * with IRD and ORD as the peer sent them: ird is rdma_cm's initiator_depth, as
 * the peer's IRD limits this end's ORD; ord is rdma_cm's responder_resources.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <infiniband/verbs.h>
#include <netdb.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUF_SIZE 65536

static struct rdma_event_channel *channel;
static struct rdma_cm_id *listener;
static struct rdma_cm_id *conn;		/* the connection */
static struct rdma_cm_id *requests[256];	/* ring of unanswered requests */
static unsigned int asked, answered;
static struct ibv_mr *mr;
static char buf[BUF_SIZE];
static bool serving;
static unsigned int served;

static void fatal(const char *what)
{
	printf("FATAL %s %d\n", what, errno);
	exit(1);
}

static void print_octets(const unsigned char *p, int len)
{
	for (; len > 0; len--, p++)
		printf("%02x", *p);
}

static void print_event(const struct rdma_cm_event *ev)
{
	const struct rdma_conn_param *param = &ev->param.conn;
	int len = param->private_data ? param->private_data_len : 0;

	printf("EVENT %s status=%d ird=%u ord=%u pd=",
	       rdma_event_str(ev->event) + strlen("RDMA_CM_EVENT_"), ev->status,
	       param->initiator_depth, param->responder_resources);
	print_octets(param->private_data, len);
	printf("\n");
}

static struct rdma_cm_id **request_slot(unsigned int n)
{
	return &requests[n % (sizeof(requests) / sizeof(requests[0]))];
}

static struct rdma_cm_id *oldest_request(void)
{
	errno = ENOENT;
	return asked == answered ? NULL : *request_slot(answered);
}

static int create_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.cap = {
			.max_send_wr = 8, .max_recv_wr = 8,
			.max_send_sge = 1, .max_recv_sge = 1,
		},
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};

	return rdma_create_qp(id, NULL, &attr);
}

static int make_qp(struct rdma_cm_id *id)
{
	if (create_qp(id))
		return -1;
	mr = rdma_reg_msgs(id, buf, sizeof(buf));
	return mr ? 0 : -1;
}

/*
 * Handle an rdma_cm event after "serve", the command for load tests: accept a
 * CONNECT_REQUEST, disconnect on ESTABLISHED, and destroy the rdma_cm_id on any
 * other event. No event is printed: a load test only asks for the number of
 * connections, by the command "served".
 */
static void serve_event(struct rdma_cm_event *ev)
{
	struct rdma_conn_param param = { .responder_resources = 4, .initiator_depth = 4 };
	enum rdma_cm_event_type type = ev->event;
	struct rdma_cm_id *id = ev->id;
	bool over = false;

	if (type == RDMA_CM_EVENT_CONNECT_REQUEST) {
		over = create_qp(id) || rdma_accept(id, &param);
	} else if (type == RDMA_CM_EVENT_ESTABLISHED) {
		served += !ev->status;
		rdma_disconnect(id);
	} else {
		over = true;
	}
	rdma_ack_cm_event(ev);
	if (!over)
		return;
	if (id->qp)
		rdma_destroy_qp(id);
	rdma_destroy_id(id);
}

static void handle_event(void)
{
	struct rdma_cm_event *ev;

	if (rdma_get_cm_event(channel, &ev))
		fatal("rdma_get_cm_event");
	if (serving && ev->id != listener) {
		serve_event(ev);
		return;
	}
	print_event(ev);
	if (ev->event == RDMA_CM_EVENT_CONNECT_REQUEST)
		*request_slot(asked++) = ev->id;
	rdma_ack_cm_event(ev);
}

static void expect_event(enum rdma_cm_event_type type)
{
	struct rdma_cm_event *ev;

	if (rdma_get_cm_event(channel, &ev))
		fatal("rdma_get_cm_event");
	if (ev->event != type) {
		print_event(ev);
		fatal("unexpected event");
	}
	rdma_ack_cm_event(ev);
}

static int parse_octets(const char *hex, unsigned char *out)
{
	unsigned int octet;
	int len = 0;

	if (!strcmp(hex, "-"))
		return 0;
	for (; sscanf(hex, "%2x", &octet) == 1; hex += 2)
		out[len++] = octet;
	return len;
}

static int parse_param(const char *args, struct rdma_conn_param *param,
		       unsigned char *pd)
{
	unsigned int ird, ord;
	char hex[1200];

	if (sscanf(args, "%u %u %1199s", &ird, &ord, hex) != 3) {
		errno = EINVAL;
		return -1;
	}
	memset(param, 0, sizeof(*param));
	param->responder_resources = ird;
	param->initiator_depth = ord;
	param->private_data_len = parse_octets(hex, pd);
	param->private_data = pd;
	return 0;
}

static int do_connect(const char *args)
{
	struct rdma_conn_param param;
	unsigned char pd[600];

	if (parse_param(args, &param, pd))
		return -1;
	return rdma_connect(conn, &param);
}

/* Create a QP for the oldest unanswered request; rdma_accept() is a command of its own. */
static int do_take(void)
{
	conn = oldest_request();
	if (!conn)
		return -1;
	answered++;
	return make_qp(conn);
}

static int do_accept_taken(const char *args)
{
	struct rdma_conn_param param;
	unsigned char pd[600];

	if (parse_param(args, &param, pd))
		return -1;
	return rdma_accept(conn, &param);
}

static int do_accept(const char *args)
{
	return do_take() ? -1 : do_accept_taken(args);
}

static int do_accept_busy(void)
{
	struct rdma_conn_param param = { .qp_num = conn->qp->qp_num };

	return oldest_request() ? rdma_accept(oldest_request(), &param) : -1;
}

static int do_accept_again(void)
{
	struct rdma_conn_param param = {
		.responder_resources = 4,
		.initiator_depth = 4,
	};

	return rdma_accept(conn, &param);
}

static int do_reject(const char *args)
{
	unsigned char pd[600];
	char hex[1200];

	if (sscanf(args, "%1199s", hex) != 1) {
		errno = EINVAL;
		return -1;
	}
	if (!oldest_request())
		return -1;
	return rdma_reject(*request_slot(answered++), pd, parse_octets(hex, pd));
}

static int wait_completion(struct ibv_wc *wc)
{
	int i;

	/*
	 * Poll for longer than the test waits for an answer: if no completion
	 * arrives, the test reports that, before cm_probe does.
	 */
	for (i = 0; i < 100000000; i++) {
		if (ibv_poll_cq(conn->send_cq, 1, wc) > 0 ||
		    ibv_poll_cq(conn->recv_cq, 1, wc) > 0)
			return 0;
	}
	errno = ETIMEDOUT;
	return -1;
}

static int do_wc(void)
{
	struct ibv_wc wc;

	if (wait_completion(&wc))
		return -1;
	printf("WC %s %s %u\n", wc.opcode & IBV_WC_RECV ? "RECV" : "SEND",
	       ibv_wc_status_str(wc.status), wc.byte_len);
	return 0;
}

static int do_no_wc(void)
{
	struct ibv_wc wc;

	errno = EEXIST;
	return ibv_poll_cq(conn->send_cq, 1, &wc) || ibv_poll_cq(conn->recv_cq, 1, &wc) ? -1 : 0;
}

static int do_stream(const char *args)
{
	unsigned int count, size, i;
	struct ibv_wc wc;
	uint32_t number;

	if (sscanf(args, "%u %u", &count, &size) != 2 || size > sizeof(buf)) {
		errno = EINVAL;
		return -1;
	}
	for (i = 0; i < size / sizeof(number); i++) {
		number = htonl(i);
		memcpy(buf + i * sizeof(number), &number, sizeof(number));
	}
	for (; count; count--) {
		if (rdma_post_send(conn, NULL, buf, size, mr, 0) || wait_completion(&wc))
			return -1;
		errno = EIO;
		if (wc.status)
			return -1;
	}
	return 0;
}

static int do_storm(void)
{
	int i;

	for (i = 0; i < 10000000; i++) {
		if (!rdma_post_send(conn, NULL, buf, 8, mr, 0))
			return 0;
	}
	errno = ETIMEDOUT;
	return -1;
}

static int do_read(void)
{
	return rdma_post_read(conn, NULL, buf, 0, mr, 0, 0, 1);
}

static int do_query_qp(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	errno = ibv_query_qp(conn->qp, &attr, IBV_QP_STATE, &init);
	if (errno)
		return -1;
	printf("QP %d %d %u %u\n", attr.qp_state, init.sq_sig_all, attr.max_dest_rd_atomic,
	       attr.max_rd_atomic);
	return 0;
}

static int do_fail_qp(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	errno = ibv_modify_qp(conn->qp, &attr, IBV_QP_STATE);
	return errno ? -1 : 0;
}

static int do_modify_qp(void)
{
	struct ibv_qp_attr attr = { .qp_access_flags = IBV_ACCESS_REMOTE_WRITE };

	errno = ibv_modify_qp(conn->qp, &attr, IBV_QP_ACCESS_FLAGS);
	return errno ? -1 : 0;
}

/*
 * Destroy the connection's rdma_cm_id first, which an application may do, and
 * only then the QP, CQs and channels that rdma_create_qp() made, in the order
 * in which rdma_destroy_qp() destroys them.
 */
static int do_destroy_id(void)
{
	struct ibv_comp_channel *channels[] = { conn->recv_cq_channel, conn->send_cq_channel };
	struct ibv_cq *cqs[] = { conn->recv_cq, conn->send_cq };
	struct ibv_qp *qp = conn->qp;
	int i;

	conn->qp = NULL;
	if (rdma_destroy_id(conn))
		return -1;
	if (!qp)
		return 0;
	errno = ibv_destroy_qp(qp);
	for (i = 0; i < 2 && !errno; i++) {
		errno = ibv_destroy_cq(cqs[i]);
		if (!errno && channels[i])
			errno = ibv_destroy_comp_channel(channels[i]);
	}
	if (!errno && mr)
		errno = ibv_dereg_mr(mr);
	mr = NULL;
	return errno ? -1 : 0;
}

static int run(const char *verb, const char *args)
{
	if (!strcmp(verb, "connect"))
		return do_connect(args);
	if (!strcmp(verb, "accept"))
		return do_accept(args);
	if (!strcmp(verb, "take"))
		return do_take();
	if (!strcmp(verb, "accept_taken"))
		return do_accept_taken(args);
	if (!strcmp(verb, "reject"))
		return do_reject(args);
	if (!strcmp(verb, "accept_busy"))
		return do_accept_busy();
	if (!strcmp(verb, "accept_again"))
		return do_accept_again();
	if (!strcmp(verb, "reject_accepted"))
		return rdma_reject(conn, NULL, 0);
	if (!strcmp(verb, "recv"))
		return rdma_post_recv(conn, NULL, buf, sizeof(buf), mr);
	if (!strcmp(verb, "send"))
		return rdma_post_send(conn, NULL, buf, atoi(args), mr, 0);
	if (!strcmp(verb, "stream"))
		return do_stream(args);
	if (!strcmp(verb, "storm"))
		return do_storm();
	if (!strcmp(verb, "read"))
		return do_read();
	if (!strcmp(verb, "no_wc"))
		return do_no_wc();
	if (!strcmp(verb, "wc"))
		return do_wc();
	if (!strcmp(verb, "disconnect"))
		return rdma_disconnect(conn);
	if (!strcmp(verb, "query_qp"))
		return do_query_qp();
	if (!strcmp(verb, "fail_qp"))
		return do_fail_qp();
	if (!strcmp(verb, "modify_qp"))
		return do_modify_qp();
	if (!strcmp(verb, "destroy_qp")) {
		rdma_destroy_qp(conn);
		return 0;
	}
	if (!strcmp(verb, "destroy_id"))
		return do_destroy_id();
	if (!strcmp(verb, "unlisten"))
		return rdma_destroy_id(listener);
	if (!strcmp(verb, "serve")) {
		serving = true;
		return 0;
	}
	if (!strcmp(verb, "served")) {
		printf("SERVED %u\n", served);
		return 0;
	}
	errno = ENOSYS;
	return -1;
}

static bool handle_command(void)
{
	static char line[2048];
	char verb[32];
	int n = 0;

	if (!fgets(line, sizeof(line), stdin) ||
	    sscanf(line, "%31s %n", verb, &n) != 1 || !strcmp(verb, "quit"))
		return false;
	if (run(verb, line + n))
		printf("ERROR %s %d\n", verb, errno);
	else
		printf("OK %s\n", verb);
	return true;
}

/*
 * Return the source address for rdma_resolve_addr(): @info's destination address
 * with @port, as both ends of the connection are in this host; NULL if @port is NULL.
 */
static struct sockaddr *source(const struct rdma_addrinfo *info, const char *port)
{
	static struct sockaddr_storage addr;

	if (!port)
		return NULL;
	memcpy(&addr, info->ai_dst_addr, info->ai_dst_len);
	((struct sockaddr_in *)&addr)->sin_port = htons(atoi(port));
	return (struct sockaddr *)&addr;
}

static void set_up(const char *mode, const char *address, const char *port,
		   const char *more)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP }, *info;
	bool passive = !strcmp(mode, "listen");
	struct rdma_cm_id *id;

	hints.ai_flags = RAI_NUMERICHOST | (passive ? RAI_PASSIVE : 0);
	if (rdma_getaddrinfo(address, port, &hints, &info))
		fatal("rdma_getaddrinfo");
	channel = rdma_create_event_channel();
	if (!channel || rdma_create_id(channel, &id, NULL, RDMA_PS_TCP))
		fatal("rdma_create_id");
	if (passive) {
		listener = id;
		if (rdma_bind_addr(id, info->ai_src_addr) || rdma_listen(id, more ? atoi(more) : 64))
			fatal("rdma_listen");
	} else {
		conn = id;
		if (rdma_resolve_addr(id, source(info, more), info->ai_dst_addr, 5000))
			fatal("rdma_resolve_addr");
		expect_event(RDMA_CM_EVENT_ADDR_RESOLVED);
		if (rdma_resolve_route(id, 5000))
			fatal("rdma_resolve_route");
		expect_event(RDMA_CM_EVENT_ROUTE_RESOLVED);
		if (make_qp(id))
			fatal("rdma_create_qp");
	}
	printf("READY\n");
}

static void print_limits(struct ibv_device *device)
{
	struct ibv_context *context = ibv_open_device(device);
	struct ibv_device_attr attr;

	if (!context || ibv_query_device(context, &attr))
		fatal("ibv_query_device");
	printf("TRANSPORT %s\n",
	       device->transport_type == IBV_TRANSPORT_IWARP ? "iWARP" : "other");
	printf("VENDOR 0x%x %u %s\n", attr.vendor_id, attr.vendor_part_id,
	       attr.fw_ver[0] ? attr.fw_ver : "-");
	printf("DEPTHS %d %d\n", attr.max_qp_rd_atom, attr.max_qp_init_rd_atom);
	ibv_close_device(context);
}

static bool is_address_of(struct sockaddr *address, const char *name)
{
	struct rdma_cm_id *id;
	bool is;

	if (rdma_create_id(channel, &id, NULL, RDMA_PS_TCP))
		fatal("rdma_create_id");
	is = !rdma_bind_addr(id, address) && id->verbs &&
	     !strcmp(ibv_get_device_name(id->verbs->device), name);
	rdma_destroy_id(id);
	return is;
}

/* Leave out IPv6 link-local addresses: they need a scope id, which is not printed. */
static bool is_of_use(const struct sockaddr *address)
{
	if (!address)
		return false;
	if (address->sa_family == AF_INET)
		return true;
	return address->sa_family == AF_INET6 &&
	       !IN6_IS_ADDR_LINKLOCAL(&((struct sockaddr_in6 *)address)->sin6_addr);
}

static void print_addresses(const char *name)
{
	struct ifaddrs *all, *one;
	char text[INET6_ADDRSTRLEN];

	channel = rdma_create_event_channel();
	if (!channel || getifaddrs(&all))
		fatal("rdma_create_event_channel");
	for (one = all; one; one = one->ifa_next) {
		if (!is_of_use(one->ifa_addr) || !is_address_of(one->ifa_addr, name))
			continue;
		if (!getnameinfo(one->ifa_addr, sizeof(struct sockaddr_in6), text, sizeof(text),
				 NULL, 0, NI_NUMERICHOST))
			printf("ADDRESS %s\n", text);
	}
	freeifaddrs(all);
}

static int show_device(const char *name)
{
	struct ibv_device **all = ibv_get_device_list(NULL), **one = all;

	while (one && *one && strcmp(ibv_get_device_name(*one), name))
		one++;
	if (!one || !*one) {
		printf("NONE\n");
		return 1;
	}
	printf("FOUND\n");
	print_limits(*one);
	print_addresses(name);
	return 0;
}

int main(int argc, char **argv)
{
	struct pollfd fds[2];

	setvbuf(stdout, NULL, _IOLBF, 0);
	setvbuf(stdin, NULL, _IONBF, 0);
	if (argc == 3 && !strcmp(argv[1], "device"))
		return show_device(argv[2]);
	if (argc != 4 && argc != 5) {
		fprintf(stderr, "usage: cm_probe listen|connect ADDRESS PORT [NUMBER]\n"
			"       cm_probe device NAME\n");
		return 2;
	}
	set_up(argv[1], argv[2], argv[3], argv[4]);
	fds[0] = (struct pollfd) { .fd = 0, .events = POLLIN };
	fds[1] = (struct pollfd) { .fd = channel->fd, .events = POLLIN };
	for (;;) {
		if (poll(fds, 2, -1) < 0)
			fatal("poll");
		if (fds[1].revents)
			handle_event();
		else if (fds[0].revents && !handle_command())
			return 0;
	}
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Connections: by the commands of rdma_cm, and by sockets that speak MPA to its listeners, or
 * answer its connects.
 */

#define _GNU_SOURCE

#include "random.h"

#include <errno.h>
#include <fcntl.h>
#include <rdma/rdma_user_cm.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CHANNELS	2
#define IDS		40
#define SOCKETS		12

static int channels[CHANNELS];

static struct id {
	bool used;
	int channel, link;
	uint32_t id, qp;
} ids[IDS];

static struct tcp {
	int fd;			/* 0: none */
	bool answers, began;	/* this end is the responder; it has sent its frame */
	uint32_t msn;
} sockets[SOCKETS];
static int own_listener;

void cm_start(void)
{
	struct sockaddr_in6 sa;
	int one = 1;

	for (int i = 0; i < CHANNELS; i++)
		channels[i] = open("/dev/infiniband/rdma_cm", O_RDWR | O_CLOEXEC | O_NONBLOCK);
	memset(&sa, 0, sizeof(sa));
	sa.sin6_family = AF_INET6;
	sa.sin6_port = htons(OWN_PORT + chance(PORTS));
	own_listener = socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	setsockopt(own_listener, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one));
	if (bind(own_listener, (void *)&sa, sizeof(sa)) || listen(own_listener, 8))
		own_listener = -1;
}

/* --- rdma_cm --------------------------------------------------------------------------- */

static union {
	uint32_t id;
	struct rdma_ucm_event_resp event;
	struct rdma_ucm_query_route_resp route;
	char octets[4096];
} response;

#define COMMAND(type)	struct { struct rdma_ucm_cmd_hdr hdr; struct type cmd; }

/* Only the id of a request is accepted or rejected: so such a command never gets another id. */
static bool is_answer(unsigned int number)
{
	return number == RDMA_USER_CM_CMD_ACCEPT || number == RDMA_USER_CM_CMD_REJECT;
}

static bool send_command(int channel, unsigned int number, void *command, size_t size)
{
	struct rdma_ucm_cmd_hdr *hdr = command;

	*hdr = (struct rdma_ucm_cmd_hdr) { number, size - sizeof(*hdr), sizeof(response) };
	if (!is_answer(number))
		spoil(hdr + 1, size - sizeof(*hdr));
	if (one_in(50))
		hdr->in = chance(hdr->in + 1);
	return write(channels[channel], command, hdr->in + sizeof(*hdr)) > 0;
}

#define DO(id, number, command)	\
	send_command((id)->channel, RDMA_USER_CM_CMD_##number, &(command), sizeof(command))

static struct id *find(bool used)
{
	int at = chance(IDS), i;

	for (i = 0; i < IDS; i++)
		if (ids[(at + i) % IDS].used == used)
			return &ids[(at + i) % IDS];
	return NULL;
}

static struct id *create(int link)
{
	struct id *id = find(false);
	COMMAND(rdma_ucm_create_id) command = { .cmd = {
		.uid = id - ids + 1, .response = (uintptr_t)&response, .ps = RDMA_PS_TCP,
		.qp_type = 2,
	} };

	if (!id)
		return NULL;
	*id = (struct id) { .channel = chance(CHANNELS), .link = link };
	if (!DO(id, CREATE_ID, command))
		return NULL;
	id->id = response.id;
	id->used = true;
	return id;
}

static bool destroy(struct id *id)
{
	COMMAND(rdma_ucm_destroy_id) command = { .cmd = { .response = (uintptr_t)&response } };

	if (!id)
		return false;
	command.cmd.id = id->id;
	id->used = false;
	return DO(id, DESTROY_ID, command);
}

bool op_cm_destroy(void)
{
	return destroy(find(true));
}

static size_t size_of(const struct sockaddr_in6 *sa)
{
	return sa->sin6_family == AF_INET6 ? sizeof(*sa) : sizeof(struct sockaddr_in);
}

bool op_cm_listen(void)
{
	int link = chance(LINKS);
	struct id *id = create(link);
	COMMAND(rdma_ucm_bind) bind = {};
	COMMAND(rdma_ucm_listen) listen = { .cmd = { .backlog = chance(20) } };
	struct sockaddr_in6 sa;

	if (!id) {
		op_cm_destroy();
		return false;
	}
	address_of(&sa, link, PORT + chance(PORTS), one_in(3));
	if (one_in(3) && sa.sin6_family == AF_INET6)
		sa.sin6_addr = (struct in6_addr) {};
	else if (one_in(3))
		((struct sockaddr_in *)&sa)->sin_addr.s_addr = 0;
	memcpy(&bind.cmd.addr, &sa, sizeof(sa));
	bind.cmd.addr_size = size_of(&sa);
	bind.cmd.id = id->id;
	listen.cmd.id = id->id;
	if (DO(id, BIND, bind) && DO(id, LISTEN, listen))
		return true;
	destroy(id);
	return false;
}

bool op_cm_connect(void)
{
	int link = chance(LINKS);
	struct id *id = create(link);
	COMMAND(rdma_ucm_resolve_addr) resolve = { .cmd = { .timeout_ms = 1000 } };
	COMMAND(rdma_ucm_set_option) option = { .cmd = {
		.optval = (uintptr_t)&response, .level = 0, .optname = chance(4), .optlen = 1,
	} };
	struct sockaddr_in6 sa;

	if (!id) {
		op_cm_destroy();
		return false;
	}
	option.cmd.id = id->id;
	option.cmd.optlen = option.cmd.optname == 1 || option.cmd.optname == 2 ? 4 : 1;
	if (one_in(4))
		DO(id, SET_OPTION, option);
	address_of(&sa, link, one_in(4) ? OWN_PORT + chance(PORTS) : PORT + chance(PORTS),
		   one_in(3));
	memcpy(&resolve.cmd.dst_addr, &sa, sizeof(sa));
	resolve.cmd.dst_size = size_of(&sa);
	if (one_in(3)) {
		address_of(&sa, one_in(3) ? (int)chance(LINKS) : link, 0,
			   sa.sin6_family == AF_INET6);
		memcpy(&resolve.cmd.src_addr, &sa, sizeof(sa));
		resolve.cmd.src_size = size_of(&sa);
	}
	resolve.cmd.id = id->id;
	if (DO(id, RESOLVE_ADDR, resolve))
		return true;
	destroy(id);
	return false;
}

static struct rdma_ucm_conn_param parameters(struct id *id)
{
	struct rdma_ucm_conn_param param = {
		.private_data_len = one_in(2) ? chance(256) : 0, .responder_resources = chance(12),
		.initiator_depth = chance(12), .valid = 1,
	};
	struct key key = {};

	id->qp = verbs_qp_for(id->link, &key);
	memset(param.private_data, 'p', param.private_data_len);
	if (!one_in(8)) {
		param.private_data_len = sizeof(key);
		memcpy(param.private_data, &key, sizeof(key));
	}
	param.qp_num = id->qp;
	return param;
}

static bool dial(struct id *id)
{
	COMMAND(rdma_ucm_connect) connect = { .cmd = { .id = id->id } };

	connect.cmd.conn_param = parameters(id);
	return DO(id, CONNECT, connect);
}

static void learn(const struct id *id, const struct rdma_ucm_event_resp *event)
{
	struct key key;

	memcpy(&key, event->param.conn.private_data, sizeof(key));
	if (event->param.conn.private_data_len == sizeof(key))
		verbs_peer(id->qp, &key);
}

/* Answer a CONNECT_REQUEST. The request has a new id. */
static bool answer(struct id *id, uint32_t number, const struct rdma_ucm_event_resp *event)
{
	COMMAND(rdma_ucm_query) query = { .cmd = {
		.response = (uintptr_t)&response, .id = number,
	} };
	COMMAND(rdma_ucm_accept) accept = { .cmd = { .uid = id - ids + 1, .id = number } };
	COMMAND(rdma_ucm_reject) reject = { .cmd = { .id = number, .private_data_len = 9 } };

	id->used = true;
	id->id = number;
	if (DO(id, QUERY_ROUTE, query))
		id->link = link_of(&response.route.src_addr);
	if (one_in(6))
		return one_in(3) || DO(id, REJECT, reject);
	accept.cmd.conn_param = parameters(id);
	spoil(&accept.cmd.conn_param, sizeof(accept.cmd.conn_param));
	learn(id, event);
	return DO(id, ACCEPT, accept);
}

/* Get an event, and mostly do what an application does then */
bool op_cm_step(void)
{
	COMMAND(rdma_ucm_get_event) get = { .cmd = { .response = (uintptr_t)&response } };
	COMMAND(rdma_ucm_resolve_route) route = { .cmd = { .timeout_ms = 1000 } };
	struct id of = { .channel = chance(CHANNELS) }, *id, *request;
	struct rdma_ucm_event_resp event;

	if (!DO(&of, GET_EVENT, get))
		return false;
	event = response.event;
	id = event.uid - 1 < IDS ? &ids[event.uid - 1] : NULL;
	if (one_in(10) || !id)
		return true;
	switch (event.event) {
	case 0:		/* RDMA_CM_EVENT_ADDR_RESOLVED */
		route.cmd.id = id->id;
		return DO(id, RESOLVE_ROUTE, route);
	case 2:		/* ROUTE_RESOLVED */
		return dial(id);
	case 4:		/* CONNECT_REQUEST */
		request = find(false);
		if (!request)
			op_cm_destroy();
		if (!request)
			return true;
		request->channel = of.channel;
		request->link = id->link;
		return answer(request, event.id, &event);
	case 9:		/* ESTABLISHED */
		__atomic_fetch_add(established, 1, __ATOMIC_RELAXED);
		learn(id, &event);
		return true;
	default:
		return destroy(id);
	}
}

bool op_cm_disconnect(void)
{
	struct id *id = find(true);
	COMMAND(rdma_ucm_disconnect) command = {};

	command.cmd.id = id ? id->id : 0;
	return id && DO(id, DISCONNECT, command);
}

/* Make a call that the id's state mostly does not allow, possibly through another event channel. */
bool op_cm_odd(void)
{
	struct id *id = find(true);
	struct {
		struct rdma_ucm_cmd_hdr hdr;
		uint64_t response;
		uint32_t id, word, more[70];
	} odd = {
		.response = (uintptr_t)&response, .id = id ? id->id : 0, .word = chance(8),
	};
	struct { struct rdma_ucm_cmd_hdr hdr; uint32_t id, word, more[70]; } without = {
		.id = odd.id, .word = chance(4),
	};
	int channel = id && !one_in(4) ? id->channel : (int)chance(CHANNELS);
	unsigned int number = chance(24);

	switch (chance(4)) {
	case 0:	/* move the id to the other channel */
		odd.word = channels[!channel];
		if (!send_command(!channel, RDMA_USER_CM_CMD_MIGRATE_ID, &odd, 24))
			return false;
		if (id)
			id->channel = !channel;
		return true;
	case 1:
		return send_command(channel, CHOOSE(RDMA_USER_CM_CMD_QUERY,
						    RDMA_USER_CM_CMD_INIT_QP_ATTR,
						    RDMA_USER_CM_CMD_QUERY_ROUTE), &odd, 24);
	case 2:
		return send_command(channel, CHOOSE(RDMA_USER_CM_CMD_NOTIFY,
						    RDMA_USER_CM_CMD_LISTEN,
						    RDMA_USER_CM_CMD_RESOLVE_ROUTE,
						    RDMA_USER_CM_CMD_DISCONNECT), &without, 16);
	default:
		return !is_answer(number) &&
			send_command(channel, number, one_in(2) ? (void *)&odd : &without,
				     16 + 4 * chance(70));
	}
}

bool op_cm_reopen(void)
{
	int channel = chance(CHANNELS);

	close(channels[channel]);
	channels[channel] = open("/dev/infiniband/rdma_cm", O_RDWR | O_CLOEXEC | O_NONBLOCK);
	for (int i = 0; i < IDS; i++)
		if (ids[i].channel == channel)
			ids[i].used = false;
	return channels[channel] >= 0;
}

/* --- sockets --------------------------------------------------------------------------- */

static struct tcp *tcp_for(int fd, bool answers)
{
	struct tcp *tcp = &sockets[chance(SOCKETS)];

	if (tcp->fd)
		close(tcp->fd);
	*tcp = (struct tcp) { .fd = fd, .answers = answers, .msn = 1 };
	return tcp;
}

static struct tcp *any_tcp(void)
{
	int at = chance(SOCKETS), i;

	for (i = 0; i < SOCKETS; i++)
		if (sockets[(at + i) % SOCKETS].fd)
			return &sockets[(at + i) % SOCKETS];
	return NULL;
}

bool op_socket_connect(void)
{
	bool six = one_in(3);
	int fd = socket(six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct sockaddr_in6 sa;

	address_of(&sa, chance(LINKS), PORT + chance(PORTS), six);
	if (connect(fd, (void *)&sa, sizeof(sa)) && errno != EINPROGRESS) {
		close(fd);
		return false;
	}
	tcp_for(fd, false);
	return true;
}

bool op_socket_accept(void)
{
	int fd = accept4(own_listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0)
		return false;
	tcp_for(fd, true);
	return true;
}

static bool put(struct tcp *tcp, const char *data, size_t size)
{
	if (one_in(12))
		size = chance(size) + 1;
	return send(tcp->fd, data, size, one_in(8) ? MSG_OOB : one_in(4) ? MSG_MORE : 0) > 0;
}

/* Send an MPA Request; or an MPA Reply, if this end is the responder */
bool op_socket_request(void)
{
	struct tcp *tcp = any_tcp();
	struct __attribute__((packed)) {
		char key[16];
		uint8_t flags, revision;
		uint16_t size, ird, ord;
		char data[508];
	} frame = { .flags = CHOOSE(0x50, 0x50, 0x10, 0xd0, 0x40, 0), .revision = 2 };
	int size = one_in(3) ? chance(509) : 0;

	if (!tcp || (tcp->began && !one_in(10)))
		return false;
	tcp->began = true;
	memcpy(frame.key, tcp->answers ? "MPA ID Rep Frame" : "MPA ID Req Frame", 16);
	if (frame.flags & 0x10) {
		size += 4;
		frame.ird = htons(chance(8) | CHOOSE(0, 0x8000, 0xc000, 0x8000));
		frame.ord = htons(chance(8) | CHOOSE(0, 0x4000, 0x8000, 0xc000));
	} else {
		frame.revision = 1;
	}
	if (size > 512)
		size = 512;
	frame.size = htons(size);
	spoil(&frame.key[8], 16);
	return put(tcp, (char *)&frame, 20 + size);
}

static uint32_t crc32c(const uint8_t *data, size_t size)
{
	uint32_t crc = ~0u;

	while (size--) {
		crc ^= *data++;
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
	}
	return ~crc;
}

/* Send a Write, Read Request, Read Response, Send of any kind, or Terminate, with a good CRC. */
bool op_socket_fpdu(void)
{
	struct tcp *tcp = any_tcp();
	struct key key = keys[chance(KEYS)], source = keys[chance(KEYS)];
	unsigned int op = CHOOSE(0, 0, 1, 1, 2, 3, 3, 3, 4, 5, 6, 7), size = chance(600);
	bool tagged = op == 0 || op == 2;
	struct __attribute__((packed)) {
		uint16_t size;
		uint8_t ddp, rdmap;
		uint32_t stag;
		union {
			uint64_t offset;
			struct { uint32_t qn, msn, mo; };
		};
		char data[700];
	} fpdu = { .ddp = 1 | (one_in(8) ? 0 : 0x40) | tagged << 7, .rdmap = 0x40 | op };
	struct __attribute__((packed)) {
		uint32_t stag;
		uint64_t offset;
		uint32_t size, far_stag;
		uint64_t far_offset;
	} read = { htonl(key.rkey), htobe64(key.addr), htonl(chance(key.size + 1)),
		   htonl(source.rkey), htobe64(source.addr) };
	uint32_t crc;
	size_t length;

	if (!tcp || (!tcp->began && !one_in(10)))
		return false;
	if (tagged || op == 4 || op == 6)
		fpdu.stag = htonl(key.rkey);
	if (tagged) {
		fpdu.offset = htobe64(key.addr + chance(key.size + 1));
		size = size > 8 ? size - 8 : 0;
	} else {
		fpdu.qn = htonl(op == 1 ? 1 : op == 7 ? 2 : 0);
		fpdu.msn = htonl(tcp->msn);
		if (fpdu.ddp & 0x40)
			tcp->msn++;
	}
	if (op == 1) {
		memcpy(fpdu.data, &read, sizeof(read));
		size = sizeof(read);
	}
	spoil(&fpdu.ddp, 32);
	length = (tagged ? 14 : 18) + size;
	fpdu.size = htons(length);
	length = (length + 2 + 3) / 4 * 4;
	crc = crc32c((uint8_t *)&fpdu, length);
	memcpy((char *)&fpdu + length, &crc, 4);
	return put(tcp, (char *)&fpdu, length + 4);
}

bool op_socket_read(void)
{
	struct tcp *tcp = any_tcp();
	char buffer[4096];

	return tcp && recv(tcp->fd, buffer, 1 + chance(sizeof(buffer)), 0) > 0;
}

bool op_socket_end(void)
{
	struct linger linger = { .l_onoff = chance(2) };
	struct tcp *tcp = any_tcp();

	if (!tcp)
		return false;
	if (one_in(3))
		return !shutdown(tcp->fd, chance(3));
	setsockopt(tcp->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	close(tcp->fd);
	tcp->fd = 0;
	return true;
}

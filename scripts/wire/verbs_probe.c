// SPDX-License-Identifier: GPL-2.0
/*
 * verbs_probe, the verbs program of the data path's tests: by command it creates verbs objects,
 * posts WRs, polls CQs, and reads and writes memory that it shares with the kernel.
 *
 *	verbs_probe ADDRESS		on the device that has ADDRESS
 *
 * verbs_probe reads commands from standard input, one per line: a verb, names of objects, which the
 * test chooses, and numbers (0x... for hexadecimal). "-" stands for no object, or for no bytes. The
 * tables at the end of the files verbs_*.c list the verbs with their arguments.
 *
 * A command prints its results, and then the line "OK VERB" or "ERROR VERB errno". Events are
 * printed when the kernel reports them, also during the commands "wait" and "sink":
 *	EVENT NAME id=ID status=S ird=N ord=N pd=HEX	of rdma_cm; IRD, ORD as the peer sent them
 *	ASYNC NAME OBJECT				an asynchronous event
 *	COMP CQ						a completion event
 */

#include "verbs_probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE_SIZE	(1 << 18)
#define MAX_WORDS	2048
#define MAX_CHANNELS	16

struct ibv_context *context;
struct rdma_event_channel *cm_channel;

void fatal(const char *what)
{
	printf("FATAL %s %d\n", what, errno);
	exit(1);
}

uint64_t number(const char *word)
{
	return strtoull(word, NULL, 0);
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

/* Parse bytes in hexadecimal, "-" for none. Return their number; -1 for bad or too many digits. */
int parse_octets(const char *hex, uint8_t *out, int max)
{
	int size = 0;

	if (!strcmp(hex, "-"))
		return 0;
	for (; hex[0]; hex += 2, size++) {
		int high = hex_digit(hex[0]), low = hex[1] ? hex_digit(hex[1]) : -1;

		if (high < 0 || low < 0 || size == max) {
			errno = EINVAL;
			return -1;
		}
		out[size] = high << 4 | low;
	}
	return size;
}

void print_octets(const uint8_t *p, size_t size)
{
	while (size--)
		printf("%02x", *p++);
}

/* Names of asynchronous events for the tests, as ibv_event_type_str() returns sentences */
static const char *const async_names[] = {
	[IBV_EVENT_CQ_ERR] = "CQ_ERR",
	[IBV_EVENT_QP_FATAL] = "QP_FATAL",
	[IBV_EVENT_QP_REQ_ERR] = "QP_REQ_ERR",
	[IBV_EVENT_QP_ACCESS_ERR] = "QP_ACCESS_ERR",
	[IBV_EVENT_COMM_EST] = "COMM_EST",
	[IBV_EVENT_SQ_DRAINED] = "SQ_DRAINED",
	[IBV_EVENT_DEVICE_FATAL] = "DEVICE_FATAL",
	[IBV_EVENT_PORT_ACTIVE] = "PORT_ACTIVE",
	[IBV_EVENT_PORT_ERR] = "PORT_ERR",
	[IBV_EVENT_GID_CHANGE] = "GID_CHANGE",
	[IBV_EVENT_SRQ_ERR] = "SRQ_ERR",
	[IBV_EVENT_SRQ_LIMIT_REACHED] = "SRQ_LIMIT_REACHED",
	[IBV_EVENT_QP_LAST_WQE_REACHED] = "QP_LAST_WQE_REACHED",
};

static const char *async_name(unsigned int type)
{
	const char *name = NULL;

	if (type < sizeof(async_names) / sizeof(async_names[0]))
		name = async_names[type];
	return name ? name : "UNKNOWN";
}

static void async_event(void)
{
	struct ibv_async_event event;
	const char *name;

	if (ibv_get_async_event(context, &event))
		return;
	switch (event.event_type) {
	case IBV_EVENT_CQ_ERR:
		name = name_of(CQ, event.element.cq);
		break;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		name = name_of(SRQ, event.element.srq);
		break;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		name = name_of(QP, event.element.qp);
		break;
	default:
		name = "-";
	}
	printf("ASYNC %s %s\n", async_name(event.event_type), name);
	ibv_ack_async_event(&event);
}

static void completion_event(struct ibv_comp_channel *channel)
{
	struct ibv_cq *cq;
	void *unused;

	if (ibv_get_cq_event(channel, &cq, &unused))
		return;
	printf("COMP %s\n", name_of(CQ, cq));
	ibv_ack_cq_events(cq, 1);
}

static struct object *channels[MAX_CHANNELS];	/* channels[i] belongs to pollfd i + 2 */

static int fill_pollfds(struct pollfd *fds)
{
	struct object *channel = NULL;
	int n = 0;

	fds[n++] = (struct pollfd) { .fd = cm_channel->fd, .events = POLLIN };
	fds[n++] = (struct pollfd) { .fd = context->async_fd, .events = POLLIN };
	while ((channel = next_of(CHANNEL, channel)) && n < MAX_CHANNELS + 2) {
		channels[n - 2] = channel;
		fds[n++] = (struct pollfd) { .fd = channel->channel->fd, .events = POLLIN };
	}
	return n;
}

static void serve_ready(const struct pollfd *fds, int n)
{
	int i;

	if (fds[0].revents & POLLIN)
		cm_event();
	if (fds[1].revents & POLLIN)
		async_event();
	for (i = 2; i < n; i++) {
		if (fds[i].revents & POLLIN)
			completion_event(channels[i - 2]->channel);
	}
}

/* Wait up to @timeout_ms for events of rdma_cm, the device and completion channels; print them. */
void serve_events(int timeout_ms)
{
	struct pollfd fds[MAX_CHANNELS + 2];
	int n = fill_pollfds(fds);

	if (poll(fds, n, timeout_ms) > 0)
		serve_ready(fds, n);
}

static const struct command *find_command(const char *verb)
{
	static const struct command *const tables[] = {
		object_commands, post_commands, cm_commands, raw_commands, serve_commands,
	};
	const struct command *command;
	size_t i;

	for (i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		for (command = tables[i]; command->verb; command++) {
			if (!strcmp(command->verb, verb))
				return command;
		}
	}
	return NULL;
}

static int run(int argc, char **argv)
{
	const struct command *command = find_command(argv[0]);

	if (!command) {
		errno = ENOSYS;
		return -1;
	}
	if (argc - 1 < command->argc) {
		errno = EINVAL;
		return -1;
	}
	errno = 0;
	return command->run(argc - 1, argv + 1);
}

static bool handle_line(char *line)
{
	static char *argv[MAX_WORDS];
	int argc = 0;

	for (argv[0] = strtok(line, " "); argv[argc]; argv[argc] = strtok(NULL, " ")) {
		if (++argc == MAX_WORDS)
			fatal("too many words");
	}
	if (!argc || !strcmp(argv[0], "quit"))
		return false;
	if (run(argc, argv))
		printf("ERROR %s %d\n", argv[0], errno);
	else
		printf("OK %s\n", argv[0]);
	return true;
}

/* Execute the command lines that can be read now. Return false at "quit" or the end of input. */
static bool handle_input(void)
{
	static char input[LINE_SIZE];
	static size_t size;
	ssize_t n = read(0, input + size, sizeof(input) - size);
	char *line = input, *end;

	if (n <= 0)
		return false;
	size += n;
	while ((end = memchr(line, '\n', input + size - line))) {
		*end = 0;
		if (!handle_line(line))
			return false;
		line = end + 1;
	}
	size -= line - input;
	memmove(input, line, size);
	if (size == sizeof(input))
		fatal("a line is too long");
	return true;
}

/*
 * Make @fd, on which events are read, non-blocking: between poll() and the read the kernel may
 * discard the event, as its object is destroyed, and a blocking read would wait for the next one.
 */
void do_not_block(int fd)
{
	if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK))
		fatal("fcntl");
}

/*
 * Have librdmacm open the device that has @address, and use its ibv_context for all objects: every
 * rdma_cm_id of librdmacm on this device has the same context.
 */
static void open_device(const char *address)
{
	struct rdma_addrinfo hints = {
		.ai_port_space = RDMA_PS_TCP,
		.ai_flags = RAI_NUMERICHOST | RAI_PASSIVE,
	}, *info;
	struct rdma_cm_id *id;

	if (rdma_getaddrinfo(address, NULL, &hints, &info))
		fatal("rdma_getaddrinfo");
	cm_channel = rdma_create_event_channel();
	if (!cm_channel || rdma_create_id(cm_channel, &id, NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(id, info->ai_src_addr) || !id->verbs)
		fatal("no device has this address");
	context = id->verbs;
	do_not_block(context->async_fd);
	rdma_destroy_id(id);
	rdma_freeaddrinfo(info);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: verbs_probe ADDRESS\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 1 << 16);
	open_device(argv[1]);
	printf("READY\n");
	for (;;) {
		struct pollfd fds[MAX_CHANNELS + 3];
		int n = fill_pollfds(fds);

		fds[n] = (struct pollfd) { .fd = 0, .events = POLLIN };
		if (poll(fds, n + 1, serve_is_busy() ? 10 : -1) < 0 && errno != EINTR)
			fatal("poll");
		serve_completions();
		serve_ready(fds, n);
		if (fds[n].revents && !handle_input())
			return 0;
	}
}

// SPDX-License-Identifier: GPL-2.0
/*
 * load_peer plays up to thousands of MPA peers over plain TCP sockets, to load an RDMA listener
 * (the server) in the wire tests.
 *
 *	load_peer ADDRESS PORT MODE ARGUMENTS
 *
 * Modes, where HEX, REQUEST and RTR are bytes in hexadecimal: REQUEST is an MPA Request, RTR an RTR
 * message, HEX an MPA Request or any other bytes:
 *	leave N fin|rst [HEX]	N connections, one after the other; each sends HEX, then FIN or RST
 *	stop N HEX		N connections, all open; one after the other sends 0, 1, 2... bytes
 *				of HEX, up to all but one, then again from 0
 *	whole N HEX		N connections, all open; each sends all of HEX, then nothing
 *	drip N HEX		N connections, each of which sends a byte of HEX a second, and
 *				connects again when the server has closed it
 *	flood N HEX		N connections per second; each sends HEX, then FIN or RST by turns
 *	good N REQUEST RTR	N connections, one after the other, up to ESTABLISHED: each sends
 *				REQUEST, gets a Reply, sends RTR, and waits for the server's FIN
 *
 * load_peer prints READY when all connections of stop, whole or drip are made, or when flood
 * begins; these modes then continue until standard input ends. The last line is "DONE NS CPU": the
 * time that the mode took, and the CPU time that load_peer used, in nanoseconds.
 */

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MAX_CONNS	4096
#define REPLY_HDR	20
#define SECOND		1000000000LL

static struct addrinfo *target;

struct octets {
	unsigned char data[600];
	int len;
};

static void need(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "load_peer: %s: %s\n", what, strerror(errno));
	exit(1);
}

static long long clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * SECOND + ts.tv_nsec;
}

static struct octets parse(const char *hex)
{
	struct octets out = {};
	unsigned int octet;

	for (; out.len < (int)sizeof(out.data) && sscanf(hex, "%2x", &octet) == 1; hex += 2)
		out.data[out.len++] = octet;
	return out;
}

static int dial(void)
{
	int fd = socket(target->ai_family, SOCK_STREAM, 0);

	need(fd >= 0 && !connect(fd, target->ai_addr, target->ai_addrlen), "connect");
	return fd;
}

/* Send bytes. Return false if that fails, as when the server has closed the connection already. */
static bool put(int fd, const void *data, int len)
{
	return send(fd, data, len, MSG_NOSIGNAL) == len;
}

static void leave(int fd, bool reset)
{
	struct linger now = { .l_onoff = 1 };

	need(!reset || !setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now)), "SO_LINGER");
	close(fd);
}

static void ready(void)
{
	printf("READY\n");
}

/* Wait up to @ms milliseconds. Return true if the test has closed load_peer's standard input. */
static bool told_to_end(int ms)
{
	struct pollfd in = { .fd = 0, .events = POLLIN };

	return poll(&in, 1, ms) > 0;
}

static void run_leave(int n, const char *how, const struct octets *frame)
{
	int i, fd;

	for (i = 0; i < n; i++) {
		fd = dial();
		if (frame->len)
			put(fd, frame->data, frame->len);
		leave(fd, !strcmp(how, "rst"));
	}
}

static void run_stay(int n, const struct octets *frame, bool whole)
{
	int i, fd, len;

	for (i = 0; i < n; i++) {
		fd = dial();
		len = whole ? frame->len : i % frame->len;
		if (len)
			put(fd, frame->data, len);
	}
	ready();
	while (!told_to_end(-1))
		;
}

static bool was_closed(int fd)
{
	char octet;

	return recv(fd, &octet, 1, MSG_DONTWAIT) >= 0 || errno != EAGAIN;
}

static void drip_one(int *fd, int *sent, const struct octets *frame)
{
	if (*fd >= 0 && was_closed(*fd)) {
		close(*fd);
		*fd = -1;
	}
	if (*fd < 0) {
		*fd = dial();
		*sent = 0;
	}
	if (*sent < frame->len && put(*fd, frame->data + *sent, 1))
		(*sent)++;
}

/* Have each connection send one byte a second; the sends of all are spread evenly over a second. */
static void run_drip(int n, const struct octets *frame)
{
	static int fds[MAX_CONNS], sent[MAX_CONNS];
	long long start;
	int i, due;

	for (i = 0; i < n; i++) {
		fds[i] = -1;
		drip_one(&fds[i], &sent[i], frame);
	}
	ready();
	start = clock_ns(CLOCK_MONOTONIC);
	for (i = 0; !told_to_end(10); ) {
		due = (clock_ns(CLOCK_MONOTONIC) - start) * n / SECOND;
		for (; i < due; i++)
			drip_one(&fds[i % n], &sent[i % n], frame);
	}
}

static void run_flood(int n, const struct octets *frame)
{
	long long start = clock_ns(CLOCK_MONOTONIC);
	int i, fd, due;

	ready();
	for (i = 0; !told_to_end(10); ) {
		due = (clock_ns(CLOCK_MONOTONIC) - start) * n / SECOND;
		for (; i < due; i++) {
			fd = dial();
			put(fd, frame->data, frame->len);
			leave(fd, i % 2);
		}
	}
}

static void get(int fd, void *data, int len)
{
	need(recv(fd, data, len, MSG_WAITALL) == len, "the Reply");
}

static void run_good(int n, const struct octets *request, const struct octets *rtr)
{
	unsigned char reply[REPLY_HDR], rest[600];
	int i, fd, len;

	for (i = 0; i < n; i++) {
		fd = dial();
		need(put(fd, request->data, request->len), "the Request");
		get(fd, reply, sizeof(reply));
		need(!memcmp(reply, "MPA ID Rep", 10) && !(reply[16] & 0x20), "a good Reply");
		len = reply[18] << 8 | reply[19];
		need(len <= (int)sizeof(rest), "a Reply of good length");
		get(fd, rest, len);
		need(put(fd, rtr->data, rtr->len), "the RTR message");
		need(!recv(fd, rest, 1, 0), "the end");
		close(fd);
	}
}

static int max_files(void)
{
	struct rlimit files = { .rlim_cur = MAX_CONNS + 64, .rlim_max = MAX_CONNS + 64 };

	return setrlimit(RLIMIT_NOFILE, &files);
}

int main(int argc, char **argv)
{
	struct addrinfo hints = { .ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM };
	const char *mode = argc > 4 ? argv[3] : "";
	struct octets first = {}, second = {};
	int n = argc > 4 ? atoi(argv[4]) : 0;
	bool at_once = !strcmp(mode, "drip") || !strcmp(mode, "stop") || !strcmp(mode, "whole");
	long long start;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc < 6 || n < 1 || n > (at_once ? MAX_CONNS : 1000000)) {
		fprintf(stderr, "usage: load_peer ADDRESS PORT MODE N ARGUMENT...\n");
		return 2;
	}
	need(!max_files(), "setrlimit");
	errno = EADDRNOTAVAIL;
	need(!getaddrinfo(argv[1], argv[2], &hints, &target), "address");
	first = parse(argv[5]);
	if (argc > 6)
		second = parse(argv[6]);
	start = clock_ns(CLOCK_MONOTONIC);
	if (!strcmp(mode, "leave"))
		run_leave(n, argv[5], &second);
	else if (!strcmp(mode, "stop") && first.len)
		run_stay(n, &first, false);
	else if (!strcmp(mode, "whole"))
		run_stay(n, &first, true);
	else if (!strcmp(mode, "drip"))
		run_drip(n, &first);
	else if (!strcmp(mode, "flood"))
		run_flood(n, &first);
	else if (!strcmp(mode, "good"))
		run_good(n, &first, &second);
	else
		return 2;
	printf("DONE %lld %lld\n", clock_ns(CLOCK_MONOTONIC) - start,
	       clock_ns(CLOCK_PROCESS_CPUTIME_ID));
	return 0;
}

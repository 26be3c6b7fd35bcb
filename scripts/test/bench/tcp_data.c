// SPDX-License-Identifier: GPL-2.0
/*
 * The cost of messages over TCP alone, which is the minimum for a protocol above TCP. One process
 * is both ends of a connection to itself, and never sleeps.
 *
 *	tcp_data ADDRESS OCTETS TIMES [pong]
 *
 * A message of OCTETS bytes is sent TIMES times; with pong, each is sent back as well.
 */

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PORT	7474

static void need(bool ok, const char *what)
{
	if (!ok) {
		perror(what);
		exit(1);
	}
}

static void connect_to_self(const char *address, int fd[2])
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	int one = 1, listener = socket(AF_INET, SOCK_STREAM, 0);

	need(inet_pton(AF_INET, address, &addr.sin_addr) == 1, "inet_pton");
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	need(!bind(listener, (struct sockaddr *)&addr, sizeof(addr)), "bind");
	need(!listen(listener, 1), "listen");
	fd[0] = socket(AF_INET, SOCK_STREAM, 0);
	need(!connect(fd[0], (struct sockaddr *)&addr, sizeof(addr)), "connect");
	fd[1] = accept(listener, NULL, NULL);
	need(fd[1] >= 0, "accept");
	setsockopt(fd[0], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(fd[1], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	close(listener);
}

/* Send and receive by turns, since a long message does not fit into TCP's buffers as a whole. */
static void pass(int from, int to, char *buf, size_t len)
{
	size_t sent = 0, got = 0;

	while (got < len) {
		ssize_t n = sent < len ? send(from, buf + sent, len - sent, MSG_DONTWAIT) : 0;

		if (n > 0)
			sent += n;
		n = recv(to, buf + len + got, sent - got, 0);
		need(n > 0, "recv");
		got += n;
	}
}

int main(int argc, char **argv)
{
	size_t len = argc > 2 ? strtoul(argv[2], NULL, 0) : 0;
	int i, fd[2], times = argc > 3 ? atoi(argv[3]) : 0;
	bool pong = argc > 4 && !strcmp(argv[4], "pong");
	char *buf = calloc(2, len);

	if (!len || times <= 0 || !buf) {
		fprintf(stderr, "usage: tcp_data ADDRESS OCTETS TIMES [pong]\n");
		return 2;
	}
	connect_to_self(argv[1], fd);
	for (i = 0; i < times; i++) {
		pass(fd[0], fd[1], buf, len);
		if (pong)
			pass(fd[1], fd[0], buf, len);
	}
	return 0;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * What a message costs, measured by the guest's clock and not by QEMU's plugin: one process is both
 * ends of a connection to itself, one message is outstanding at a time, and a thread that waits
 * sleeps. Under QEMU's -icount a nanosecond is an instruction.
 *
 *	rdma_data ADDRESS OCTETS TIMES send|write
 *
 * A Send is done when it has arrived, a Write when it has completed; the last Write is followed by
 * a Send, which arrives after its bytes. Prints "message NANOSECONDS", the time for one message.
 */

#define _GNU_SOURCE
#include "rdma_pair.h"

#define WARM_UP	64

static size_t octets;

static void do_send(struct end *from, struct end *to)
{
	need(!rdma_post_recv(to->id, NULL, to->buf, octets, to->mr), "rdma_post_recv");
	need(!rdma_post_send(from->id, NULL, from->buf, octets, from->mr, 0), "rdma_post_send");
	await(rdma_get_recv_comp, to->id);
	await(rdma_get_send_comp, from->id);
}

static void do_write(struct end *from, struct end *to)
{
	post_write(from, to, octets);
	await(rdma_get_send_comp, from->id);
}

int main(int argc, char **argv)
{
	void (*message)(struct end *from, struct end *to) = do_send;
	int i, times = argc > 3 ? atoi(argv[3]) : 0;
	struct end client = {}, server = {};
	long long since = 0;

	octets = argc > 2 ? strtoul(argv[2], NULL, 0) : 0;
	if (argc == 5 && !strcmp(argv[4], "write"))
		message = do_write;
	else if (argc != 5 || strcmp(argv[4], "send"))
		times = 0;
	if (!octets || times <= 0) {
		fprintf(stderr, "usage: rdma_data ADDRESS OCTETS TIMES send|write\n");
		return 2;
	}
	pair_connect(pair_listen(argv[1]), argv[1], octets, &client, &server);
	for (i = -WARM_UP; i < times; i++) {
		if (!i)
			since = clock_ns();
		message(&client, &server);
	}
	do_send(&client, &server);
	printf("message %lld\n", (clock_ns() - since) / times);
	rdma_disconnect(client.id);
	return 0;
}

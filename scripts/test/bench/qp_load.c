// SPDX-License-Identifier: GPL-2.0
/*
 * How many bytes per second do QPs transfer, and how evenly? One process is both ends of all
 * connections. Each QP has a thread, which keeps some Writes outstanding and sleeps until a
 * completion arrives.
 *
 *	qp_load ADDRESS MILLISECONDS OCTETS QPS...
 *
 * Prints for each number of QPs a line "QPS total N least N most N": bytes per second of all QPs,
 * of the slowest and of the fastest. The time begins when each QP has completed a Write.
 */

#define _GNU_SOURCE
#include "rdma_pair.h"
#include <unistd.h>

#define MOST		256
#define START_LIMIT_MS	60000

static struct load {
	struct end client, server;
	pthread_t thread;
	long done;	/* number of Writes; only the QP's thread counts */
} loads[MOST];

static size_t octets;
static bool stop;

static long done(const struct load *load)
{
	return __atomic_load_n(&load->done, __ATOMIC_RELAXED);
}

static void *keep_writing(void *arg)
{
	struct load *load = arg;
	int under_way;

	for (under_way = 0; under_way < PAIR_DEPTH; under_way++)
		post_write(&load->client, &load->server, octets);
	while (under_way) {
		await(rdma_get_send_comp, load->client.id);
		__atomic_fetch_add(&load->done, 1, __ATOMIC_RELAXED);
		if (__atomic_load_n(&stop, __ATOMIC_RELAXED))
			under_way--;
		else
			post_write(&load->client, &load->server, octets);
	}
	return NULL;
}

static void wait_for_all(int qps)
{
	int i, patience = START_LIMIT_MS;

	for (i = 0; i < qps; i++) {
		while (!done(&loads[i])) {
			need(patience--, "a QP does not begin");
			usleep(1000);
		}
	}
}

static void measure(int qps, int milliseconds)
{
	long before[MOST], octets_of_one, least = -1, most = 0, total = 0;
	long long since, took;
	int i;

	since = clock_ns();
	for (i = 0; i < qps; i++)
		before[i] = done(&loads[i]);
	usleep(milliseconds * 1000);
	took = clock_ns() - since;
	for (i = 0; i < qps; i++) {
		octets_of_one = (done(&loads[i]) - before[i]) * 1e9 * octets / took;
		total += octets_of_one;
		if (least < 0 || octets_of_one < least)
			least = octets_of_one;
		if (octets_of_one > most)
			most = octets_of_one;
	}
	printf("%d total %ld least %ld most %ld\n", qps, total, least, most);
	fflush(stdout);
}

static void run(int qps, int milliseconds)
{
	int i;

	__atomic_store_n(&stop, false, __ATOMIC_RELAXED);
	for (i = 0; i < qps; i++) {
		loads[i].done = 0;
		need(!pthread_create(&loads[i].thread, NULL, keep_writing, &loads[i]), "pthread_create");
	}
	wait_for_all(qps);
	measure(qps, milliseconds);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (i = 0; i < qps; i++)
		need(!pthread_join(loads[i].thread, NULL), "pthread_join");
}

int main(int argc, char **argv)
{
	struct rdma_cm_id *listener;
	int i, qps, connected = 0;

	octets = argc > 4 ? strtoul(argv[3], NULL, 0) : 0;
	if (!octets || atoi(argv[2]) <= 0) {
		fprintf(stderr, "usage: qp_load ADDRESS MILLISECONDS OCTETS QPS...\n");
		return 2;
	}
	listener = pair_listen(argv[1]);
	for (i = 4; i < argc; i++) {
		qps = atoi(argv[i]);
		need(qps > 0 && qps <= MOST, argv[i]);
		for (; connected < qps; connected++)
			pair_connect(listener, argv[1], octets, &loads[connected].client,
				     &loads[connected].server);
		run(qps, atoi(argv[2]));
	}
	return 0;
}

// SPDX-License-Identifier: GPL-2.0
/* verbs_probe: the commands that post work requests and poll for completions */

#include "verbs_probe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_WCS	64

static struct ibv_sge sges[MAX_WR * 8];
static struct ibv_send_wr send_wrs[MAX_WR];
static struct ibv_recv_wr recv_wrs[MAX_WR];

/* Parse an SGE: ADDRESS,LENGTH,LKEY */
static int parse_sge(const char *word, struct ibv_sge *sge)
{
	char *length, *lkey;

	sge->addr = strtoull(word, &length, 0);
	if (*length == ',') {
		sge->length = strtoull(length + 1, &lkey, 0);
		if (*lkey == ',') {
			sge->lkey = strtoull(lkey + 1, NULL, 0);
			return 0;
		}
	}
	errno = EINVAL;
	return -1;
}

/* Parse SGEs up to the next ";", which separates WRs. Return the number of SGEs, or -1. */
static int parse_sges(char **argv, int argc, struct ibv_sge **next)
{
	int n;

	for (n = 0; n < argc && strcmp(argv[n], ";"); n++, (*next)++) {
		if (*next == sges + sizeof(sges) / sizeof(sges[0])) {
			errno = E2BIG;
			return -1;
		}
		if (parse_sge(argv[n], *next))
			return -1;
	}
	return n;
}

/* Parse the WRs of the command "send" into send_wrs[], a list. Return their number, or -1. */
static int parse_send_wrs(int argc, char **argv)
{
	struct ibv_sge *next = sges;
	int n, num_sge;

	for (n = 0; argc > 0; n++) {
		struct ibv_send_wr *wr = &send_wrs[n];

		if (n == MAX_WR || argc < 5) {
			errno = EINVAL;
			return -1;
		}
		*wr = (struct ibv_send_wr) {
			.opcode = number(argv[0]),
			.send_flags = number(argv[1]),
			.wr_id = number(argv[2]),
			.wr.rdma = { .remote_addr = number(argv[3]), .rkey = number(argv[4]) },
			.sg_list = next,
		};
		num_sge = parse_sges(argv + 5, argc - 5, &next);
		if (num_sge < 0)
			return -1;
		wr->num_sge = num_sge;
		if (n)
			send_wrs[n - 1].next = wr;
		argc -= num_sge + 6;
		argv += num_sge + 6;
	}
	return n;
}

static int parse_recv_wrs(int argc, char **argv)
{
	struct ibv_sge *next = sges;
	int n, num_sge;

	for (n = 0; argc > 0; n++) {
		struct ibv_recv_wr *wr = &recv_wrs[n];

		if (n == MAX_WR) {
			errno = EINVAL;
			return -1;
		}
		*wr = (struct ibv_recv_wr) { .wr_id = number(argv[0]), .sg_list = next };
		num_sge = parse_sges(argv + 1, argc - 1, &next);
		if (num_sge < 0)
			return -1;
		wr->num_sge = num_sge;
		if (n)
			recv_wrs[n - 1].next = wr;
		argc -= num_sge + 2;
		argv += num_sge + 2;
	}
	return n;
}

/*
 * Check @rv, the result of ibv_post_*(). libsiw reports an error by -1 with errno set, or by an
 * errno of either sign. For an error print @bad, the index of the first WR that was not posted.
 */
static int posted(int rv, long bad)
{
	if (!rv)
		return 0;
	if (rv != -1)
		errno = abs(rv);
	printf("BAD %ld\n", bad);
	return -1;
}

static int do_send(int argc, char **argv)
{
	struct object *qp = find(QP, argv[0]);
	struct ibv_send_wr *bad = NULL;
	int rv;

	if (!qp || parse_send_wrs(argc - 1, argv + 1) <= 0)
		return -1;
	rv = ibv_post_send(qp->qp, send_wrs, &bad);
	return posted(rv, bad ? bad - send_wrs : -1);
}

static int do_recv(int argc, char **argv)
{
	struct object *qp = find(QP, argv[0]), *srq = find(SRQ, argv[0]);
	struct ibv_recv_wr *bad = NULL;
	int rv;

	if ((!qp && !srq) || parse_recv_wrs(argc - 1, argv + 1) <= 0)
		return -1;
	rv = qp ? ibv_post_recv(qp->qp, recv_wrs, &bad) :
		  ibv_post_srq_recv(srq->srq, recv_wrs, &bad);
	return posted(rv, bad ? bad - recv_wrs : -1);
}

static void print_wc(const char *name, const struct ibv_wc *wc)
{
	printf("WC %s 0x%llx %d %d %u 0x%x\n", name, (unsigned long long)wc->wr_id, wc->status,
	       wc->opcode, wc->byte_len, wc->qp_num);
}

/* Poll @cq, and print at most @max completions. Return their number, or a negative error. */
static int drain(struct object *cq, int max)
{
	struct ibv_wc wcs[MAX_WCS];
	int n, i, sum = 0;

	while (sum < max) {
		n = ibv_poll_cq(cq->cq, max - sum < MAX_WCS ? max - sum : MAX_WCS, wcs);
		if (n <= 0)
			return n ? n : sum;
		for (i = 0; i < n; i++)
			print_wc(cq->name, &wcs[i]);
		sum += n;
	}
	return sum;
}

static int do_poll(int argc, char **argv)
{
	struct object *cq = find(CQ, argv[0]);

	return cq && drain(cq, argc > 1 ? (int)number(argv[1]) : 1 << 20) >= 0 ? 0 : -1;
}

static long long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

/* Print NUMBER completions of a CQ as they occur, and events; fail after MILLISECONDS. */
static int do_wait(int argc, char **argv)
{
	struct object *cq = find(CQ, argv[0]);
	long long end = now_ms() + number(argv[2]);
	int left = number(argv[1]), n;

	if (!cq)
		return -1;
	for (;;) {
		n = drain(cq, left);
		if (n < 0)
			return -1;
		left -= n;
		if (!left)
			return 0;
		if (now_ms() > end)
			break;
		serve_events(1);
	}
	errno = ETIMEDOUT;
	return -1;
}

/*
 * Post one WR COUNT times, with at most WINDOW outstanding. Its flags must have IBV_SEND_SIGNALED:
 * each completion lets the next WR be posted.
 */
static int do_stream(int argc, char **argv)
{
	struct object *qp = find(QP, argv[0]), *cq = find(CQ, argv[1]);
	unsigned long count = number(argv[2]), window = number(argv[3]), sent = 0, done = 0;
	struct ibv_send_wr *bad;
	struct ibv_wc wc;
	int n;

	if (!qp || !cq || parse_send_wrs(argc - 4, argv + 4) != 1)
		return -1;
	while (done < count) {
		if (sent < count && sent - done < window) {
			send_wrs[0].wr_id = sent;
			if (posted(ibv_post_send(qp->qp, send_wrs, &bad), sent))
				return -1;
			sent++;
			continue;
		}
		n = ibv_poll_cq(cq->cq, 1, &wc);
		if (n < 0 || (n && (wc.status || wc.wr_id != done))) {
			printf("DONE %lu %d\n", done, n < 0 ? n : (int)wc.status);
			errno = EIO;
			return -1;
		}
		done += n;
	}
	printf("DONE %lu 0\n", done);
	return 0;
}

static int post_place(struct ibv_qp *qp, unsigned long n, unsigned long window, size_t size,
		      uint64_t address, uint32_t lkey)
{
	struct ibv_sge sge = { address + n % window * size, size, lkey };
	struct ibv_recv_wr wr = { .wr_id = n, .sg_list = &sge, .num_sge = 1 }, *bad;

	return posted(ibv_post_recv(qp, &wr, &bad), n);
}

/* Is this message @n? It has @n, counted from 0, in its first four bytes, then n % 61 bytes. */
static int is_message(const struct ibv_wc *wc, unsigned long n, const uint8_t *place)
{
	uint32_t got = (uint32_t)place[0] << 24 | place[1] << 16 | place[2] << 8 | place[3];

	if (!wc->status && wc->wr_id == n && wc->byte_len == 4 + n % 61 && got == (uint32_t)n)
		return 1;
	printf("NOT %lu: status %d WR %llu length %u number %u\n", n, wc->status,
	       (unsigned long long)wc->wr_id, wc->byte_len, got);
	errno = EIO;
	return 0;
}

/*
 * Receive COUNT messages with WINDOW receives posted. Print "SINK" when they are posted, and "AT N"
 * when N messages have arrived, by which the test never sends more than there are receives.
 */
static int do_sink(int argc, char **argv)
{
	struct object *qp = find(QP, argv[0]), *cq = find(CQ, argv[1]);
	unsigned long count = number(argv[2]), window = number(argv[3]), n, done = 0;
	uint64_t address = number(argv[5]);
	uint32_t lkey = number(argv[6]);
	size_t size = number(argv[4]);
	struct ibv_wc wcs[MAX_WCS];
	int got, i;

	if (!qp || !cq)
		return -1;
	for (n = 0; n < window; n++) {
		if (post_place(qp->qp, n, window, size, address, lkey))
			return -1;
	}
	printf("SINK\n");
	while (done < count) {
		got = ibv_poll_cq(cq->cq, MAX_WCS, wcs);
		for (i = 0; i < got; i++, done++) {
			if (!is_message(&wcs[i], done,
					(void *)(uintptr_t)(address + done % window * size)))
				return -1;
			if (done + window < count &&
			    post_place(qp->qp, done + window, window, size, address, lkey))
				return -1;
		}
		if (got)
			printf("AT %lu\n", done);
		else
			serve_events(1);
	}
	return 0;
}

const struct command post_commands[] = {
	/* Arguments: QP OPCODE FLAGS WR-ID REMOTE-ADDRESS RKEY ADDRESS,LENGTH,LKEY... [; OPCODE ...]
	 * From OPCODE on they are an ibv_send_wr with its SGEs, and after each ";" the next one.
	 * If ibv_post_send() fails, "send" prints "BAD INDEX": the first WR that was not posted.
	 */
	{ "send", do_send, 6 },
	{ "recv", do_recv, 2 },			/* QP|SRQ WR-ID ADDRESS,LENGTH,LKEY... [; WR-ID ...] */
	/* "poll" and "wait" print "WC CQ WR-ID STATUS OPCODE LENGTH QP-NUMBER" for a completion */
	{ "poll", do_poll, 1 },			/* CQ [MOST]: all completions in the CQ now */
	{ "wait", do_wait, 3 },			/* CQ NUMBER MILLISECONDS: until NUMBER are complete */
	{ "sink", do_sink, 7 },			/* QP CQ COUNT WINDOW SIZE ADDRESS LKEY */
	{ "stream", do_stream, 9 },		/* QP CQ COUNT WINDOW, and a WR as above: "DONE N STATUS" */
	{ }
};

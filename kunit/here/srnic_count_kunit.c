// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the counters of srnic's sender (the holder of tx.lock, which builds FPDUs and passes
 * them to TCP): what a sender does changes the expected counters, and no others.
 */

#include <kunit/test.h>
#include <net/sock.h>

#include "srnic_pair_tcp.h"
#include "tx.h"

#define COUNT_HDR	18	/* bytes of the header of an untagged segment */

static const struct pair_opts count_opts = { .crc = true, .emss = 1448, .ord = 1 };

/* A counter, and by how much it is expected to have changed */
struct count_row {
	enum srnic_counter	counter;
	unsigned int		by;		/* the expected change; 0 ends an array of rows */
};

static void count_expect(struct kunit *test, const struct count_row *rows)
{
	static const char * const names[] = {
#define X(name, text) #name,
		SRNIC_COUNTERS(X)
#undef X
	};
	int i;

	for (i = 0; i < SRNIC_CNT_COUNT; i++) {
		const struct count_row *row = rows;

		while (row->by && row->counter != i)
			row++;
		KUNIT_EXPECT_EQ_MSG(test, pair_count(test->priv, i), row->by, "%s", names[i]);
	}
}

/*
 * srnic_tx_doorbell() passes three posted Sends to TCP as one batch of FPDUs, in the caller's
 * context. A later run of the sender's work item is counted in tx_work even though it finds nothing
 * to send.
 */
static void count_messages_and_who_sends_them(struct kunit *test)
{
	static const struct count_row rows[] = {
		{ SRNIC_CNT_tx_doorbells, 1 }, { SRNIC_CNT_tx_work, 1 },
		{ SRNIC_CNT_tx_batches, 1 }, { SRNIC_CNT_tx_fpdus, 3 },
		{ SRNIC_CNT_tx_octets, 3 * (COUNT_HDR + PAIR_TCP_LEN) }, {}
	};
	struct srnic_qp *qp = pair_tcp_begin(test, &count_opts);
	int i;

	for (i = 0; i < 3; i++)
		pair_tcp_post(test, i);
	srnic_tx_doorbell(qp);
	pair_tcp_run(qp);
	count_expect(test, rows);
}

/* While TCP's send buffer is full srnic's sender builds no FPDU, and counts that in tx_no_room. */
static void count_no_room(struct kunit *test)
{
	static const struct count_row rows[] = {
		{ SRNIC_CNT_tx_doorbells, 1 }, { SRNIC_CNT_tx_no_room, 1 }, {}
	};
	struct srnic_qp *qp = pair_tcp_begin(test, &count_opts);
	struct sock *sk = qp->rx.sk;
	int queued = sk->sk_wmem_queued;

	pair_tcp_post(test, 1);
	sk->sk_wmem_queued = sk->sk_sndbuf + 1;
	srnic_tx_doorbell(qp);
	count_expect(test, rows);
	sk->sk_wmem_queued = queued;
}

/*
 * TCP refuses an FPDU twice: for lack of memory, and then for lack of room in its send buffer. The
 * FPDU stays in the sender's batch (FPDUs that TCP has not accepted yet), so it is built and
 * counted in tx_fpdus once.
 */
static void count_no_memory_and_then_no_room(struct kunit *test)
{
	static const struct count_row first[] = {
		{ SRNIC_CNT_tx_doorbells, 1 }, { SRNIC_CNT_tx_no_memory, 1 },
		{ SRNIC_CNT_tx_fpdus, 1 }, { SRNIC_CNT_tx_octets, COUNT_HDR + PAIR_TCP_LEN }, {}
	};
	static const struct count_row then[] = {
		{ SRNIC_CNT_tx_doorbells, 2 }, { SRNIC_CNT_tx_no_memory, 1 },
		{ SRNIC_CNT_tx_no_room, 1 },
		{ SRNIC_CNT_tx_fpdus, 1 }, { SRNIC_CNT_tx_octets, COUNT_HDR + PAIR_TCP_LEN }, {}
	};
	struct srnic_qp *qp = pair_tcp_begin(test, &count_opts);
	struct sock *sk = qp->rx.sk;
	int queued = sk->sk_wmem_queued;

	pair_tcp_post(test, 1);
	pair_tcp.err = -ENOMEM;
	srnic_tx_doorbell(qp);
	/* The timer would run srnic's sender again. In place of it the test does so below. */
	cancel_delayed_work_sync(&qp->tx.retry);
	count_expect(test, first);
	WRITE_ONCE(qp->tx.starved, false);
	sk->sk_wmem_queued = sk->sk_sndbuf + 1;
	pair_tcp.err = -EAGAIN;
	srnic_tx_doorbell(qp);
	count_expect(test, then);
	sk->sk_wmem_queued = queued;
	pair_tcp.err = 0;
}

static struct kunit_case count_cases[] = {
	KUNIT_CASE(count_messages_and_who_sends_them),
	KUNIT_CASE(count_no_room),
	KUNIT_CASE(count_no_memory_and_then_no_room),
	{}
};

static struct kunit_suite count_suite = {
	.name = "srnic_count",
	.init = pair_tcp_init,
	.exit = pair_tcp_exit,
	.test_cases = count_cases,
};

kunit_test_suite(count_suite);

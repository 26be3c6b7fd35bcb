// SPDX-License-Identifier: GPL-2.0
/*
 * Counters of srnic's sender: each cause changes the right counters by the right amount, and no
 * others.
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
	unsigned int		by;		/* the difference; 0 ends a list of these */
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
 * One doorbell sends three Sends. A run of the sender's work item is counted even if it finds
 * nothing to send.
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

/* While TCP has no room the sender makes no FPDU, and counts that. */
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

/* An FPDU that TCP refuses, first for lack of memory, then of room, is made and counted once. */
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
	/* Instead of the timer, the test runs the sender again below. */
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

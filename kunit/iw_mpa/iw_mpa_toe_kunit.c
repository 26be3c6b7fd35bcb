// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the example driver iw_mpa_toe.c, which is for devices with a TCP of their own. Each of
 * two fake devices has a buffer with the bytes that it has sent and that the other one has not
 * read.
 */

#include "iw_mpa_toe.h"

#include <kunit/test.h>
#include <linux/errno.h>
#include <linux/string.h>

#define WIRE_SIZE	1024

/* A device with its own TCP, at one end of the wire */
struct end {
	struct toe_conn		conn;
	struct end		*other;		/* the device at the other end of the wire */
	/* bytes that this device has sent and the other device has not read */
	u8			wire[WIRE_SIZE];
	size_t			wire_len;	/* number of bytes in @wire */
	bool			started;	/* start of struct toe_hw has returned 0 */
	bool			refuse;		/* make start fail */
	bool			asked;		/* ask of struct toe_hw was called */
	/* argument of close of struct toe_hw; IW_MPA_R_OK if that was not called */
	enum iw_mpa_reason	why;
};

struct toe_pair {
	struct end	ini, res;
};

static struct end *end_of(struct toe_conn *conn)
{
	return container_of(conn, struct end, conn);
}

static int end_send(struct toe_conn *conn, const void *buf, size_t len)
{
	struct end *end = end_of(conn);

	if (end->wire_len + len > sizeof(end->wire))
		return -ENOBUFS;
	memcpy(end->wire + end->wire_len, buf, len);
	end->wire_len += len;
	return 0;
}

static int end_start(struct toe_conn *conn)
{
	struct end *end = end_of(conn);

	end->started = !end->refuse;
	return end->refuse ? -ENOSPC : 0;
}

static void end_ask(struct toe_conn *conn)
{
	end_of(conn)->asked = true;
}

static void end_close(struct toe_conn *conn, enum iw_mpa_reason why)
{
	end_of(conn)->why = why;
}

static const struct toe_hw end_hw = {
	.send	= end_send,
	.start	= end_start,
	.ask	= end_ask,
	.close	= end_close,
};

static void end_init(struct end *end, struct end *other)
{
	end->other = other;
	end->conn.hw = &end_hw;
	end->conn.local = (struct iw_mpa_local) {
		.ird		= 4,
		.ord		= 2,
		.max_ird	= 16,
		.max_ord	= 16,
		.rev		= IW_MPA_REV_2,
		.rtr_send	= IW_MPA_RTR_WRITE,
		.rtr_accept	= IW_MPA_RTR_WRITE | IW_MPA_RTR_READ,
		.p2p		= true,
		.crc		= true,
	};
}

static int toe_test_init(struct kunit *test)
{
	struct toe_pair *p = kunit_kzalloc(test, sizeof(*p), GFP_KERNEL);

	if (!p)
		return -ENOMEM;
	end_init(&p->ini, &p->res);
	end_init(&p->res, &p->ini);
	test->priv = p;
	return 0;
}

/* Pass the bytes on the wire to @to, in pieces of at most @size, until @to accepts no more. */
static void carry(struct end *to, size_t size)
{
	struct end *from = to->other;
	size_t done = 0, used;

	while (done < from->wire_len) {
		size_t n = min(size, from->wire_len - done);

		used = toe_rx(&to->conn, from->wire + done, n);
		done += used;
		if (used < n)
			break;
	}
	from->wire_len -= done;
	memmove(from->wire, from->wire + done, from->wire_len);
}

static void ask(struct kunit *test, size_t size)
{
	struct toe_pair *p = test->priv;

	toe_listen(&p->res.conn);
	KUNIT_ASSERT_EQ(test, toe_connect(&p->ini.conn, "hello", 5), 0);
	carry(&p->res, size);
	KUNIT_ASSERT_TRUE(test, p->res.asked);
	KUNIT_EXPECT_EQ(test, p->res.conn.peer.pd_len, 5);
	KUNIT_EXPECT_EQ(test, memcmp(p->res.conn.peer.pd, "hello", 5), 0);
}

static void expect_wire(struct kunit *test, const struct end *end,
			const u8 *want, size_t len)
{
	KUNIT_ASSERT_EQ(test, end->wire_len, len);
	KUNIT_EXPECT_EQ(test, memcmp(end->wire, want, len), 0);
}

/* Sizes of the pieces in which bytes arrive: a driver cannot choose how TCP splits a frame. */
static const size_t sizes[] = { 1, 7, 20, 24, WIRE_SIZE };

static void size_desc(const size_t *size, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "in_pieces_of_%zu", *size);
}

KUNIT_ARRAY_PARAM(size, sizes, size_desc);

static void toe_comes_up_and_leaves_the_rtr_to_the_engine(struct kunit *test)
{
	size_t size = *(const size_t *)test->param_value;
	struct toe_pair *p = test->priv;
	u8 rtr[IW_MPA_FPDU_MAX];

	ask(test, size);
	KUNIT_ASSERT_EQ(test, toe_accept(&p->res.conn, "world", 5), 0);
	carry(&p->ini, size);
	KUNIT_EXPECT_TRUE(test, p->ini.started);
	KUNIT_EXPECT_TRUE(test, p->res.started);
	KUNIT_EXPECT_EQ(test, p->ini.conn.params.ord, 2);
	KUNIT_EXPECT_EQ(test, p->res.conn.params.ird, 4);
	KUNIT_EXPECT_TRUE(test, p->ini.conn.params.crc);
	KUNIT_EXPECT_EQ(test, memcmp(p->ini.conn.peer.pd, "world", 5), 0);

	carry(&p->res, size);
	expect_wire(test, &p->ini, rtr,
		    iw_mpa_fpdu_rtr(IW_MPA_RTR_WRITE, true, rtr));
}

static void toe_client_server_sends_no_rtr(struct kunit *test)
{
	struct toe_pair *p = test->priv;

	p->ini.conn.local.p2p = false;
	ask(test, WIRE_SIZE);
	KUNIT_ASSERT_EQ(test, toe_accept(&p->res.conn, NULL, 0), 0);
	carry(&p->ini, WIRE_SIZE);
	KUNIT_EXPECT_TRUE(test, p->ini.started);
	KUNIT_EXPECT_EQ(test, p->ini.wire_len, 0);
}

static void toe_reject_is_told(struct kunit *test)
{
	struct toe_pair *p = test->priv;

	ask(test, WIRE_SIZE);
	KUNIT_ASSERT_EQ(test, toe_reject(&p->res.conn, "no", 2), 0);
	KUNIT_EXPECT_EQ(test, toe_accept(&p->res.conn, NULL, 0), -ECONNRESET);
	carry(&p->ini, WIRE_SIZE);
	KUNIT_EXPECT_EQ(test, p->ini.why, IW_MPA_R_REJECTED);
	KUNIT_EXPECT_EQ(test, p->ini.conn.peer.pd_len, 2);
	KUNIT_EXPECT_FALSE(test, p->ini.started || p->res.started);
}

static void toe_garbage_is_closed_at_once(struct kunit *test)
{
	struct toe_pair *p = test->priv;

	toe_listen(&p->res.conn);
	KUNIT_EXPECT_EQ(test, toe_rx(&p->res.conn, "GET /", 5), 5);
	KUNIT_EXPECT_EQ(test, p->res.why, IW_MPA_R_BAD_KEY);
	KUNIT_EXPECT_EQ(test, toe_rx(&p->res.conn, "more", 4), 0);
}

/*
 * RFC 6581 10: a responder of revision 1 closes on a Request of revision 2, without a Reply. Then
 * the peer may try revision 1.
 */
static void toe_revision_above_its_own_is_closed(struct kunit *test)
{
	struct toe_pair *p = test->priv;

	p->res.conn.local.rev = IW_MPA_REV_1;
	toe_listen(&p->res.conn);
	KUNIT_ASSERT_EQ(test, toe_connect(&p->ini.conn, NULL, 0), 0);
	carry(&p->res, WIRE_SIZE);
	KUNIT_EXPECT_EQ(test, p->res.why, IW_MPA_R_BAD_REV);
	KUNIT_EXPECT_FALSE(test, p->res.asked);
	KUNIT_EXPECT_EQ(test, p->res.wire_len, 0);
}

/* RFC 6581 8: for lack of a common RTR type the Terminate message has layer 2, type 0, code 7. */
static void toe_no_common_rtr_is_terminated(struct kunit *test)
{
	struct toe_pair *p = test->priv;
	u8 term[IW_MPA_FPDU_MAX];

	p->res.conn.local.rtr_accept = IW_MPA_RTR_READ;
	ask(test, WIRE_SIZE);
	KUNIT_ASSERT_EQ(test, toe_accept(&p->res.conn, NULL, 0), 0);
	carry(&p->ini, WIRE_SIZE);
	KUNIT_EXPECT_EQ(test, p->ini.why, IW_MPA_R_NO_RTR);
	KUNIT_EXPECT_FALSE(test, p->ini.started);
	expect_wire(test, &p->ini, term, iw_mpa_fpdu_term(7, true, term));
}

static void toe_device_that_refuses_rejects_and_terminates(struct kunit *test)
{
	struct toe_pair *p = test->priv;
	u8 term[IW_MPA_FPDU_MAX];

	p->res.refuse = true;
	ask(test, WIRE_SIZE);
	KUNIT_EXPECT_EQ(test, toe_accept(&p->res.conn, NULL, 0), -EIO);
	carry(&p->ini, WIRE_SIZE);
	KUNIT_EXPECT_EQ(test, p->ini.why, IW_MPA_R_REJECTED);
	expect_wire(test, &p->res, term, iw_mpa_fpdu_term(5, true, term));
}

static struct kunit_case toe_cases[] = {
	KUNIT_CASE_PARAM(toe_comes_up_and_leaves_the_rtr_to_the_engine, size_gen_params),
	KUNIT_CASE(toe_client_server_sends_no_rtr),
	KUNIT_CASE(toe_reject_is_told),
	KUNIT_CASE(toe_garbage_is_closed_at_once),
	KUNIT_CASE(toe_revision_above_its_own_is_closed),
	KUNIT_CASE(toe_no_common_rtr_is_terminated),
	KUNIT_CASE(toe_device_that_refuses_rejects_and_terminates),
	{}
};

static struct kunit_suite toe_suite = {
	.name = "iw_mpa_toe",
	.init = toe_test_init,
	.test_cases = toe_cases,
};

kunit_test_suite(toe_suite);

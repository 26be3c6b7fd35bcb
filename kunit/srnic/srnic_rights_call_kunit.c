// SPDX-License-Identifier: GPL-2.0
/*
 * Messages of different kinds use the same region in one call of RX, which keeps the region locked
 * between them: the right of one message must not count for the next one.
 */

#include <kunit/test.h>

#include <linux/string.h>

#include "rq.h"
#include "srnic_oracle.h"
#include "srnic_pair.h"

#define CALL_BASE	0x123400000000ULL
#define CALL_UNTOUCHED	0xee

static const struct pair_opts call_opts = { .crc = true, .emss = 1448, .ord = 2 };

enum call_op {
	OP_WRITE,		/* to the region */
	OP_SEND,		/* into a receive in the region */
	OP_INV,			/* a Send that invalidates the region */
};

#define CALL_OPS	3
#define CALL_LEN	8U	/* bytes of each operation, side by side */

struct call_row {
	const char	*desc;
	enum call_op	ops[CALL_OPS];
	int		good;		/* number of operations before the error */
	enum srnic_err	err;
	u32		access;
	bool		srq;		/* there is an SRQ, in another protection domain */
	bool		srq_region;	/* the region is in that domain */
};

#define BOTH	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE)

static const struct call_row call_rows[] = {
	{ "both may", { OP_WRITE, OP_SEND, OP_WRITE }, 3, SRNIC_ERR_NONE, BOTH },
	{ "Writes may", { OP_WRITE, OP_SEND, OP_WRITE }, 1, SRNIC_ERR_LOCAL,
	  IB_ACCESS_REMOTE_WRITE },
	{ "receives may", { OP_SEND, OP_WRITE, OP_SEND }, 1, SRNIC_ERR_WRITE_RIGHT,
	  IB_ACCESS_LOCAL_WRITE },
	{ "of the QP's PD", { OP_WRITE, OP_SEND, OP_WRITE }, 1, SRNIC_ERR_LOCAL, BOTH, true },
	{ "of the SRQ's PD", { OP_SEND, OP_WRITE, OP_SEND }, 1, SRNIC_ERR_WRITE_PD, BOTH, true,
	  true },
	{ "invalidated last", { OP_WRITE, OP_WRITE, OP_INV }, 3, SRNIC_ERR_NONE, BOTH },
	{ "Write, invalidated", { OP_WRITE, OP_INV, OP_WRITE }, 2, SRNIC_ERR_WRITE_STAG, BOTH },
	{ "receive, invalidated", { OP_SEND, OP_INV, OP_SEND }, 2, SRNIC_ERR_LOCAL, BOTH },
};

KUNIT_ARRAY_PARAM_DESC(call, call_rows, desc);

static struct srnic_srq *call_srq(struct pair *p)
{
	struct ib_srq_init_attr init = {
		.srq_type = IB_SRQT_BASIC, .attr = { .max_wr = CALL_OPS, .max_sge = 1 },
	};
	struct srnic_srq *srq = kunit_kzalloc(p->test, sizeof(*srq), GFP_KERNEL);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(p->test, srq);
	srq->ibsrq.device = &p->dev->ibdev;
	srq->ibsrq.pd = &p->other_pd;
	KUNIT_ASSERT_EQ(p->test, srnic_verbs.create_srq(&srq->ibsrq, &init, NULL), 0);
	return srq;
}

static void call_post_recv(struct pair *p, int i, struct ib_sge *sge)
{
	const struct ib_recv_wr recv = { .wr_id = i, .sg_list = sge, .num_sge = 1 }, *bad;
	struct srnic_qp *qp = p->end[1].qp;

	int err;

	if (qp->srq)
		err = srnic_verbs.post_srq_recv(&qp->srq->ibsrq, &recv, &bad);
	else
		err = srnic_rq_post(&qp->rq, &recv, 1, &bad);
	KUNIT_ASSERT_EQ(p->test, err, 0);
}

/* Generate the FPDUs of one operation of the peer, and post the receive that a Send needs */
static void call_put(struct pair *p, struct oracle *o, const struct call_row *row, int i,
		     u32 stag, u32 *msn)
{
	static const u8 payload[CALL_LEN] = { 0x51, 0x52, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58 };
	const u64 to = CALL_BASE + i * CALL_LEN;
	struct ib_sge sge = { .addr = to, .length = CALL_LEN, .lkey = stag };
	struct oracle_msg msg = { .payload = payload, .len = CALL_LEN, .stag = stag, .to = to };

	switch (row->ops[i]) {
	case OP_WRITE:
		msg.op = ORACLE_WRITE;
		break;
	case OP_SEND:
		msg.op = ORACLE_SEND;
		msg.stag = 0;
		msg.msn = ++*msn;
		call_post_recv(p, i, &sge);
		break;
	case OP_INV:
		msg.op = ORACLE_SEND_INV;
		msg.len = 0;
		msg.msn = ++*msn;
		call_post_recv(p, i, &sge);
		break;
	}
	oracle_message(o, &msg);
}

static void call_expect(struct pair *p, const struct call_row *row, int i, const u8 *mem)
{
	bool written = i < row->good && row->ops[i] != OP_INV;
	struct ib_wc wc = {};

	KUNIT_EXPECT_EQ(p->test, mem[i * CALL_LEN], written ? 0x51 : CALL_UNTOUCHED);
	KUNIT_EXPECT_EQ(p->test, mem[(i + 1) * CALL_LEN - 1], written ? 0x58 : CALL_UNTOUCHED);
	if (row->ops[i] == OP_WRITE || i > row->good)
		return;
	KUNIT_ASSERT_EQ(p->test, pair_poll(&p->end[1].rcq, &wc), 1);
	KUNIT_EXPECT_EQ(p->test, wc.wr_id, i);
	KUNIT_EXPECT_EQ(p->test, wc.status, i < row->good ? IB_WC_SUCCESS : IB_WC_LOC_PROT_ERR);
	KUNIT_EXPECT_EQ(p->test, !!(wc.wc_flags & IB_WC_WITH_INVALIDATE), row->ops[i] == OP_INV);
}

/*
 * Each message needs a right to the region, whatever the message before it was allowed. No message
 * can use a region that an earlier Send with Invalidate has invalidated.
 */
static void call_each_message_has_rights_of_its_own(struct kunit *test)
{
	const struct call_row *row = test->param_value;
	struct pair *p = test->priv;
	u8 *mem = p->end[1].mem;
	struct oracle o = {
		.to = p->end[0].wire, .size = PAIR_WIRE, .crc = true,
		.mulpdu = oracle_mulpdu(1448, false),
	};
	u32 stag, msn = 0;
	int i;

	pair_start(p, &call_opts);
	memset(mem, CALL_UNTOUCHED, PAIR_MEM);
	stag = pair_reg(p, row->srq_region ? &p->other_pd : &p->pd, mem, CALL_BASE, PAIR_MEM,
			row->access)->stag;
	if (row->srq)
		p->end[1].qp->srq = call_srq(p);
	for (i = 0; i < CALL_OPS; i++)
		call_put(p, &o, row, i, stag, &msn);
	p->end[0].wire_len = o.len;
	pair_deliver_some(p, 0, o.len);
	pair_expect_fault(p, 1, row->err);
	for (i = 0; i < CALL_OPS; i++)
		call_expect(p, row, i, mem);
	pair_expect_no_wc(p, &p->end[1].rcq);
	if (row->srq)
		srnic_verbs.destroy_srq(&p->end[1].qp->srq->ibsrq, NULL);
}

static struct kunit_case call_cases[] = {
	KUNIT_CASE_PARAM(call_each_message_has_rights_of_its_own, call_gen_params),
	{}
};

static struct kunit_suite call_suite = {
	.name = "srnic_rights_call",
	.init = pair_init,
	.exit = pair_exit,
	.test_cases = call_cases,
};

kunit_test_suite(call_suite);

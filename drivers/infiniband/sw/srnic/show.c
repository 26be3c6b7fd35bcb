// SPDX-License-Identifier: GPL-2.0
/* Resource tracking: what the RDMA core does not know of an object. */

#include "show.h"
#include "srnic.h"

#include <net/netlink.h>
#include <rdma/restrack.h>
#include <uapi/rdma/rdma_netlink.h>

/* The value is for a person, and may change at the same moment. */
#define show_now(number)	data_race(number)

static int show_end(struct sk_buff *msg, struct nlattr *table, int err)
{
	if (err) {
		nla_nest_cancel(msg, table);
		return -EMSGSIZE;
	}
	nla_nest_end(msg, table);
	return 0;
}

/**
 * srnic_fill_res_qp - ib_device_ops.fill_res_qp_entry
 * @msg: message
 * @ibqp: QP
 *
 * The indices are shown as they are. &struct srnic_sq says what is between two of them.
 *
 * Context: process.
 *
 * Return: 0 or -EMSGSIZE.
 */
int srnic_fill_res_qp(struct sk_buff *msg, struct ib_qp *ibqp)
{
	struct srnic_qp *qp = to_srnic_qp(ibqp);
	struct nlattr *table = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
	int err;

	if (!table)
		return -EMSGSIZE;
	err = rdma_nl_put_driver_u32(msg, "sq_size", qp->sq.size) ?:
	      rdma_nl_put_driver_u32(msg, "sq_put", show_now(qp->sq.put)) ?:
	      rdma_nl_put_driver_u32(msg, "sq_next", show_now(qp->sq.next)) ?:
	      rdma_nl_put_driver_u32(msg, "sq_sent", show_now(qp->sq.sent)) ?:
	      rdma_nl_put_driver_u32(msg, "sq_get", show_now(qp->sq.get)) ?:
	      rdma_nl_put_driver_u32(msg, "reads", show_now(qp->sq.reads)) ?:
	      rdma_nl_put_driver_u32(msg, "ord", show_now(qp->tx.ord)) ?:
	      rdma_nl_put_driver_u32(msg, "ird", show_now(qp->irq.size)) ?:
	      rdma_nl_put_driver_u32(msg, "rq_size", qp->rq.size) ?:
	      rdma_nl_put_driver_u32(msg, "rq_get", show_now(qp->rq.get)) ?:
	      rdma_nl_put_driver_u32(msg, "tx_batch", show_now(qp->tx.batch.len)) ?:
	      rdma_nl_put_driver_u32(msg, "err", show_now(qp->fault.err));
	return show_end(msg, table, err);
}

/**
 * srnic_fill_res_cq - ib_device_ops.fill_res_cq_entry
 * @msg: message
 * @ibcq: completion queue
 *
 * Context: process.
 *
 * Return: 0 or -EMSGSIZE.
 */
int srnic_fill_res_cq(struct sk_buff *msg, struct ib_cq *ibcq)
{
	struct srnic_cq *cq = to_srnic_cq(ibcq);
	struct nlattr *table = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
	int err;

	if (!table)
		return -EMSGSIZE;
	err = rdma_nl_put_driver_u32(msg, "put", show_now(cq->put)) ?:
	      rdma_nl_put_driver_u32(msg, "get", show_now(cq->get)) ?:
	      rdma_nl_put_driver_u32(msg, "overflowed", show_now(cq->overflowed));
	return show_end(msg, table, err);
}

/**
 * srnic_fill_res_mr - ib_device_ops.fill_res_mr_entry
 * @msg: message
 * @ibmr: memory region
 *
 * Context: process.
 *
 * Return: 0 or -EMSGSIZE.
 */
int srnic_fill_res_mr(struct sk_buff *msg, struct ib_mr *ibmr)
{
	struct srnic_mr *mr = to_srnic_mr(ibmr);
	struct nlattr *table = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
	int err;

	if (!table)
		return -EMSGSIZE;
	err = rdma_nl_put_driver_u32(msg, "kind", mr->kind) ?:
	      rdma_nl_put_driver_u32(msg, "valid", show_now(mr->valid)) ?:
	      rdma_nl_put_driver_u32_hex(msg, "access", show_now(mr->access));
	return show_end(msg, table, err);
}

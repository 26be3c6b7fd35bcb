/* SPDX-License-Identifier: GPL-2.0 */
/* What "rdma resource show -dd" tells of an object. */
#ifndef _SRNIC_SHOW_H
#define _SRNIC_SHOW_H

struct ib_cq;
struct ib_mr;
struct ib_qp;
struct sk_buff;

int srnic_fill_res_qp(struct sk_buff *msg, struct ib_qp *ibqp);
int srnic_fill_res_cq(struct sk_buff *msg, struct ib_cq *ibcq);
int srnic_fill_res_mr(struct sk_buff *msg, struct ib_mr *ibmr);

#endif /* _SRNIC_SHOW_H */

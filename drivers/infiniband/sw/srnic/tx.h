/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SRNIC_TX_H
#define _SRNIC_TX_H

#include "srnic.h"

/* True if the sender may use the emergency reserves: for this host's storage */
static inline bool srnic_tx_has_reserves(const struct srnic_qp *qp)
{
	return !qp->user && qp->params.initiator;
}

/* Functions of send.c, which build the batches that tx.c sends */
int srnic_send_fill(struct srnic_qp *qp);
bool srnic_send_has_work(const struct srnic_qp *qp);
int srnic_send_term(struct srnic_qp *qp);
int srnic_send_rtr(struct srnic_qp *qp, u8 rtr);

void srnic_tx_setup(struct srnic_qp *qp);
void srnic_tx_start(struct srnic_qp *qp, struct socket *sock);
void srnic_tx_kick(struct srnic_qp *qp);
void srnic_tx_doorbell(struct srnic_qp *qp);
void srnic_tx_open(struct ib_qp *ibqp);
int srnic_tx_send_rtr(struct ib_qp *ibqp, u8 rtr);
int srnic_tx_repeat_rtr(struct ib_qp *ibqp);
void srnic_tx_finish(struct ib_qp *ibqp);
void srnic_tx_stop(struct srnic_qp *qp);

#endif /* _SRNIC_TX_H */

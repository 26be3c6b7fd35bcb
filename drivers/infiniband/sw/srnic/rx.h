/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SRNIC_RX_H
#define _SRNIC_RX_H

#include "cq.h"
#include "cursor.h"
#include "srnic.h"

void srnic_rx_setup(struct srnic_qp *qp);
void srnic_rx_start(struct srnic_qp *qp, const struct iw_mpa_handoff *ho);
u32 srnic_rx_take(struct srnic_qp *qp, struct srnic_cursor *cur, u32 avail,
		  u32 budget, struct srnic_upcalls *up);
u32 srnic_rx_part_size(const struct srnic_qp *qp, u32 pos);
void srnic_rx_run(struct srnic_qp *qp, struct sock *sk, u32 budget);
void srnic_rx_look(struct ib_qp *ibqp);
bool srnic_rx_is_cut(const struct srnic_qp *qp);
void srnic_rx_stop(struct srnic_qp *qp);

#endif /* _SRNIC_RX_H */

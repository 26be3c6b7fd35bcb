/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SRNIC_QP_H
#define _SRNIC_QP_H

#include "srnic.h"

void srnic_qp_setup(struct srnic_qp *qp);
enum ib_qp_state srnic_qp_state(struct srnic_qp *qp);
void srnic_qp_forget(struct srnic_qp *qp);
void srnic_qp_flush_soon(struct srnic_qp *qp);
void srnic_qp_tell(struct srnic_qp *qp, unsigned long events);
void srnic_qp_put(struct srnic_qp *qp);
int srnic_qp_take_number(struct srnic_dev *dev, u32 *qpn);
struct srnic_qp *srnic_qp_find(struct srnic_dev *dev, u32 qpn);
void srnic_qp_end(struct srnic_qp *qp);

int srnic_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init,
		    struct ib_udata *udata);
int srnic_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		    struct ib_udata *udata);
int srnic_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		   struct ib_qp_init_attr *init);
int srnic_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata);

#endif /* _SRNIC_QP_H */

/* SPDX-License-Identifier: GPL-2.0 */
/* RX passes Read Requests to the sender, in a ring that needs no lock. */
#ifndef _SRNIC_READS_H
#define _SRNIC_READS_H

#include "srnic.h"

int srnic_irq_alloc(struct srnic_irq *irq, u16 ird);
void srnic_irq_free(struct srnic_irq *irq);
bool srnic_irq_is_full(const struct srnic_irq *irq);
void srnic_irq_put(struct srnic_irq *irq, const u8 hdr[SRNIC_READ_ULPDU]);
const struct srnic_irqe *srnic_irq_head(const struct srnic_qp *qp);
void srnic_irq_get(struct srnic_irq *irq);

#endif /* _SRNIC_READS_H */

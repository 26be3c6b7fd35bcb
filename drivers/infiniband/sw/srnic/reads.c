// SPDX-License-Identifier: GPL-2.0
/*
 * Read Requests of the peer. There are as many slots as were negotiated; one
 * request more is an error of the peer (RFC 5040 6.1).
 */

#include "reads.h"

#include <linux/log2.h>
#include <linux/slab.h>

int srnic_irq_alloc(struct srnic_irq *irq, u16 ird)
{
	u32 size = roundup_pow_of_two(max_t(u32, ird, 1));

	*irq = (struct srnic_irq) { .ird = ird, .mask = size - 1 };
	irq->ring = kvcalloc(size, sizeof(*irq->ring), GFP_NOIO);
	return irq->ring ? 0 : -ENOMEM;
}

void srnic_irq_free(struct srnic_irq *irq)
{
	kvfree(irq->ring);
	irq->ring = NULL;
	irq->ird = 0;
}

bool srnic_irq_is_full(const struct srnic_irq *irq)
{
	/* Pairs with srnic_irq_get(): the response has ended, or just ends. */
	return irq->put - smp_load_acquire(&irq->get) >= irq->ird;
}

void srnic_irq_put(struct srnic_irq *irq, const u8 hdr[SRNIC_READ_ULPDU])
{
	memcpy(irq->ring[irq->put & irq->mask].hdr, hdr, SRNIC_READ_ULPDU);
	/* The request is written before the index that shows it. */
	smp_store_release(&irq->put, irq->put + 1);
}

/* The oldest one; NULL if there is none, or none before the limit */
const struct srnic_irqe *srnic_irq_head(const struct srnic_qp *qp)
{
	const struct srnic_irq *irq = &qp->irq;
	u32 end;

	/* Pairs with srnic_irq_put(): the request is there. */
	end = smp_load_acquire(&irq->put);
	if (READ_ONCE(qp->tx.state) == SRNIC_TX_ANSWERING)
		end = irq->limit;
	return irq->get != end ? &irq->ring[irq->get & irq->mask] : NULL;
}

/*
 * The sender calls this before the last byte of the response can reach the
 * peer, which may send its next request then.
 */
void srnic_irq_get(struct srnic_irq *irq)
{
	/* The request was read before its slot becomes free. */
	smp_store_release(&irq->get, irq->get + 1);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Read Requests of the peer. There are exactly as many slots as were negotiated. One request more
 * is an error of the peer (RFC 5040 6.1).
 */

#include "reads.h"

#include <linux/slab.h>

int srnic_irq_alloc(struct srnic_irq *irq, u16 ird)
{
	*irq = (struct srnic_irq) { .size = ird };
	if (!ird)
		return 0;
	irq->ring = kvcalloc(ird, sizeof(*irq->ring), GFP_NOIO);
	return irq->ring ? 0 : -ENOMEM;
}

void srnic_irq_free(struct srnic_irq *irq)
{
	kvfree(irq->ring);
	irq->ring = NULL;
	irq->size = 0;
}

/*
 * Indices run from 0 to twice the size, so that a full ring differs from an empty one. The size may
 * be any number.
 */
static u32 irq_next(const struct srnic_irq *irq, u32 index)
{
	return index + 1 == 2 * irq->size ? 0 : index + 1;
}

static struct srnic_irqe *irq_slot(const struct srnic_irq *irq, u32 index)
{
	return &irq->ring[index < irq->size ? index : index - irq->size];
}

bool srnic_irq_is_full(const struct srnic_irq *irq)
{
	/* The sender has copied what was in the slot. */
	u32 get = smp_load_acquire(&irq->get);

	return irq->put == (get < irq->size ? get + irq->size : get - irq->size) || !irq->size;
}

void srnic_irq_put(struct srnic_irq *irq, const u8 hdr[SRNIC_READ_ULPDU])
{
	memcpy(irq_slot(irq, irq->put)->hdr, hdr, SRNIC_READ_ULPDU);
	/* If the sender sees the index it sees the request. */
	smp_store_release(&irq->put, irq_next(irq, irq->put));
}

/* Returns the oldest one, or NULL; NULL also behind the limit. */
const struct srnic_irqe *srnic_irq_head(const struct srnic_irq *irq)
{
	if (irq->limited && irq->get == irq->limit)
		return NULL;
	/* Pairs with srnic_irq_put(), which writes the request before the index. */
	if (smp_load_acquire(&irq->put) == irq->get)
		return NULL;
	return irq_slot(irq, irq->get);
}

/*
 * The sender calls this before the last octet of the response can reach the peer: the peer may
 * send the next request then.
 */
void srnic_irq_get(struct srnic_irq *irq)
{
	/* The request was read before its slot is free. */
	smp_store_release(&irq->get, irq_next(irq, irq->get));
}

/* The first call sets the limit. */
void srnic_irq_limit(struct srnic_irq *irq)
{
	if (irq->limited)
		return;
	irq->limit = READ_ONCE(irq->put);
	irq->limited = true;
}

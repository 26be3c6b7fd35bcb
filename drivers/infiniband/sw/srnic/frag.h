/* SPDX-License-Identifier: GPL-2.0 */
/* Memory of FPDUs that are on their way: taken by a writer, and used again. */
#ifndef _SRNIC_FRAG_H
#define _SRNIC_FRAG_H

#include <linux/mm_types.h>
#include <linux/types.h>

/* If a fragment has fewer octets left than this, a writer takes another fragment. */
#define SRNIC_FRAG_MIN	64

void srnic_frag_take(struct page_frag *frag);
void srnic_frag_give(struct page_frag *frag);
bool srnic_frag_refill(struct page_frag *frag, gfp_t gfp);
void srnic_frag_exit(void);

#endif /* _SRNIC_FRAG_H */

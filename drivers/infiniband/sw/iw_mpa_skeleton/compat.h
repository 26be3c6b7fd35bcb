/* SPDX-License-Identifier: GPL-2.0 */
/* The verbs are written for the newest kernel. Older ones call two of them with other arguments. */
#ifndef _SKEL_COMPAT_H
#define _SKEL_COMPAT_H

#include "skel.h"

/* Linux 6.11 gives create_cq all attributes. None is looked at here. */
#ifdef COMPAT_HAS_CQ_ATTRS
#define compat_create_cq(verb) verb
#else
#define compat_create_cq(verb) verb ## _udata

static inline int skel_create_cq_udata(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
				       struct ib_udata *udata)
{
	return skel_create_cq(ibcq, attr, NULL);
}
#endif

/* Linux 6.17 adds hints of where DMA should go. */
#ifdef COMPAT_HAS_DMAH
#define compat_reg_user_mr(verb) verb
#else
#define compat_reg_user_mr(verb) verb ## _udata

static inline struct ib_mr *skel_reg_user_mr_udata(struct ib_pd *pd, u64 start, u64 len, u64 iova,
						   int access, struct ib_udata *udata)
{
	return skel_reg_user_mr(pd, start, len, iova, access, NULL, udata);
}
#endif

#endif /* _SKEL_COMPAT_H */

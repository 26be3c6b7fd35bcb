/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The verbs are written for the newest kernel. Kbuild has the compiler read
 * this file first: if an older kernel calls a verb with other arguments, the
 * verb is renamed wherever it is followed by (. The bare name, in the table of
 * verbs, is that of a function in this file.
 */
#ifndef _SKEL_COMPAT_H
#define _SKEL_COMPAT_H

#ifndef COMPAT_HAS_CQ_ATTRS
#define skel_create_cq(...) skel_create_cq_attrs(__VA_ARGS__)
#endif
#ifndef COMPAT_HAS_DMAH
#define skel_reg_user_mr(...) skel_reg_user_mr_dmah(__VA_ARGS__)
#endif

#include "skel.h"

/* Linux 6.11 gives create_cq all attributes. None is used here. */
#ifndef COMPAT_HAS_CQ_ATTRS
static inline int (skel_create_cq)(struct ib_cq *ibcq,
				   const struct ib_cq_init_attr *attr,
				   struct ib_udata *udata)
{
	return skel_create_cq(ibcq, attr, NULL);
}
#endif

/* Linux 6.17 adds hints of where DMA should go. */
#ifndef COMPAT_HAS_DMAH
static inline struct ib_mr *(skel_reg_user_mr)(struct ib_pd *pd, u64 start,
					       u64 len, u64 iova, int access,
					       struct ib_udata *udata)
{
	return skel_reg_user_mr(pd, start, len, iova, access, NULL, udata);
}
#endif

#endif /* _SKEL_COMPAT_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The verbs are written for the newest kernel. Kbuild includes this file before
 * each source file. If an older kernel passes a verb other arguments, a macro
 * renames the verb wherever "(" follows its name. In the table of verbs no "("
 * follows: there the name is that of a function in this file, which has the
 * older arguments and calls the renamed verb.
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

/* Before Linux 6.11 create_cq gets udata in place of attrs, which is unused. */
#ifndef COMPAT_HAS_CQ_ATTRS
static inline int (skel_create_cq)(struct ib_cq *ibcq,
				   const struct ib_cq_init_attr *attr,
				   struct ib_udata *udata)
{
	return skel_create_cq(ibcq, attr, NULL);
}
#endif

/* Before Linux 6.17 reg_user_mr has no argument dmah, hints for DMA. */
#ifndef COMPAT_HAS_DMAH
static inline struct ib_mr *(skel_reg_user_mr)(struct ib_pd *pd, u64 start,
					       u64 len, u64 iova, int access,
					       struct ib_udata *udata)
{
	return skel_reg_user_mr(pd, start, len, iova, access, NULL, udata);
}
#endif

#endif /* _SKEL_COMPAT_H */

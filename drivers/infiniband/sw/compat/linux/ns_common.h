/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _COMPAT_LINUX_NS_COMMON_H
#define _COMPAT_LINUX_NS_COMMON_H

#include_next <linux/ns_common.h>

#ifndef ns_ref_read
#define ns_ref_read(x) refcount_read(&(x)->ns.count)
#endif

#endif

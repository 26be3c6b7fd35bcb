/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _COMPAT_LINUX_UNALIGNED_H
#define _COMPAT_LINUX_UNALIGNED_H

/* In older kernels the header with get_unaligned() is in asm/. */
#ifdef COMPAT_HAS_UNALIGNED
#include_next <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif

#endif

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _COMPAT_LINUX_UNALIGNED_H
#define _COMPAT_LINUX_UNALIGNED_H

/* Older kernels have it under another name. */
#ifdef COMPAT_HAS_UNALIGNED
#include_next <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif

#endif

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _COMPAT_LINUX_SLAB_H
#define _COMPAT_LINUX_SLAB_H

#include_next <linux/slab.h>

/* Newer kernels have these macros, which allocate as many bytes as @obj has. */
#ifndef kzalloc_obj
#define kzalloc_obj(obj, gfp) kzalloc(sizeof(obj), gfp)
#define kmalloc_obj(obj, gfp) kmalloc(sizeof(obj), gfp)
#endif

#endif

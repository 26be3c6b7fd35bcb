/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _COMPAT_LINUX_WORKQUEUE_H
#define _COMPAT_LINUX_WORKQUEUE_H

#include_next <linux/workqueue.h>

/* A queue without WQ_UNBOUND is bound to CPUs. Later kernels warn if it does not say so. */
#ifndef COMPAT_HAS_WQ_PERCPU
#define WQ_PERCPU 0
#endif

#endif

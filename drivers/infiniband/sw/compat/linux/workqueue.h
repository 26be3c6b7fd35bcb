/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _COMPAT_LINUX_WORKQUEUE_H
#define _COMPAT_LINUX_WORKQUEUE_H

#include_next <linux/workqueue.h>

/* The newest kernels warn of a work queue with neither WQ_UNBOUND nor WQ_PERCPU. */
#ifndef COMPAT_HAS_WQ_PERCPU
#define WQ_PERCPU 0
#endif

#endif

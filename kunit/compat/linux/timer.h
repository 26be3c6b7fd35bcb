/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _COMPAT_KUNIT_TIMER_H
#define _COMPAT_KUNIT_TIMER_H

#include_next <linux/timer.h>

/* Before Linux 6.16 the function has another name. */
#ifndef COMPAT_HAS_TIMER_DESTROY
#define timer_destroy_on_stack	destroy_timer_on_stack
#endif

#endif /* _COMPAT_KUNIT_TIMER_H */

/* SPDX-License-Identifier: GPL-2.0 */
/* How long a test waits before it takes for granted that no byte or event arrives */
#ifndef _IW_MPA_QUIET_H
#define _IW_MPA_QUIET_H

#include <linux/jiffies.h>
#include <linux/sched.h>
#include <linux/workqueue.h>

/* In milliseconds: on a fast host no byte or event is as late as this. */
#define IW_MPA_QUIET_MS		100

static inline void iw_mpa_quiet_hop(struct work_struct *work)
{
}

/*
 * Wait until a wrong byte or event would have arrived: @ms milliseconds on a fast host. A slow host
 * needs longer, so time is counted in rounds. In each round a tick passes and a work item runs, so
 * the wait is as much longer as these are.
 */
static inline void iw_mpa_quiet(unsigned int ms)
{
	unsigned long rounds = msecs_to_jiffies(ms) + 1;	/* the first tick may be near */
	struct work_struct work;

	INIT_WORK_ONSTACK(&work, iw_mpa_quiet_hop);
	while (rounds--) {
		schedule_timeout_uninterruptible(1);
		schedule_work(&work);
		flush_work(&work);
	}
	destroy_work_on_stack(&work);
}

#endif /* _IW_MPA_QUIET_H */

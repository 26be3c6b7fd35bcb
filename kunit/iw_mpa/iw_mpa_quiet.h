/* SPDX-License-Identifier: GPL-2.0 */
/* How long a suite waits for what must not happen */
#ifndef _IW_MPA_QUIET_H
#define _IW_MPA_QUIET_H

#include <linux/jiffies.h>
#include <linux/sched.h>
#include <linux/workqueue.h>

/* Long enough for a byte or an event that is only late, in milliseconds */
#define IW_MPA_QUIET_MS		100

static inline void iw_mpa_quiet_hop(struct work_struct *work)
{
}

/*
 * Wait so long that an effect of a fault would be seen: @ms milliseconds on a
 * fast host. A slow or starved kernel needs longer for everything, so time is counted in rounds. In
 * each round a tick passes and a work item runs: if these take longer, so does this wait.
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

/* SPDX-License-Identifier: GPL-2.0 */
/* How long a test waits for a byte or event that must not arrive */
#ifndef _IW_MPA_QUIET_H
#define _IW_MPA_QUIET_H

#include <linux/jiffies.h>
#include <linux/sched.h>
#include <linux/workqueue.h>

/* In milliseconds; on an idle host a wrong byte or event would arrive earlier. */
#define IW_MPA_QUIET_MS		100

static inline void iw_mpa_quiet_hop(struct work_struct *work)
{
}

/*
 * Wait until a byte or event that must not arrive would have arrived: @ms milliseconds on an idle
 * host. A busy host delays ticks and work items, and would delay that byte as well. So
 * iw_mpa_quiet() counts rounds, not time: each round waits for one tick and one work item.
 */
static inline void iw_mpa_quiet(unsigned int ms)
{
	unsigned long rounds = msecs_to_jiffies(ms) + 1;	/* a tick may come at once */
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

// SPDX-License-Identifier: GPL-2.0
/*
 * A module for the wire tests that delays a chosen function, so that races become likely. The
 * processor is busy during the delay, not asleep: the function may hold a lock under which sleeping
 * is forbidden.
 *
 * Parameters of the module:
 *	function	name of the function, set when the module is loaded
 *	ms		milliseconds by which it is delayed
 *	release		not 0: end the present delay at once
 *	calls		number of calls that were delayed
 */

#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/module.h>

static char *function;
module_param(function, charp, 0444);

static unsigned int ms;
module_param(ms, uint, 0644);

static bool release;
module_param(release, bool, 0644);

static unsigned int calls;
module_param(calls, uint, 0444);

static int slow_point_enter(struct kprobe *kp, struct pt_regs *regs)
{
	unsigned int delay = READ_ONCE(ms);

	if (delay) {
		WRITE_ONCE(calls, calls + 1);
		for (; delay && !READ_ONCE(release); delay--)
			mdelay(1);
	}
	return 0;
}

static struct kprobe slow_point = { .pre_handler = slow_point_enter };

static int __init slow_point_init(void)
{
	slow_point.symbol_name = function;
	return register_kprobe(&slow_point);
}

static void __exit slow_point_exit(void)
{
	unregister_kprobe(&slow_point);
}

module_init(slow_point_init);
module_exit(slow_point_exit);
MODULE_DESCRIPTION("Have a function take its time, for tests");
MODULE_LICENSE("GPL");

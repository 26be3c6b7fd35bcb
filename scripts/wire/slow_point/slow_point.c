// SPDX-License-Identifier: GPL-2.0
/*
 * A module for the wire tests that delays each call of a chosen kernel function by a kprobe at its
 * first instruction, so that races become likely. The CPU spins in mdelay() and does not sleep: the
 * function's caller may hold a spinlock.
 *
 * Parameters of the module:
 *	function	name of the function, set when the module is loaded
 *	ms		milliseconds by which each call is delayed; 0: not at all
 *	release		if set to 1, delays that have begun end at once, and no others begin
 *	calls		number of calls while ms was not 0, those that are delayed now included
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

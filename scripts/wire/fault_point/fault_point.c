// SPDX-License-Identifier: GPL-2.0
/*
 * A module for faults.py: it makes the N-th allocation of a chosen function and its callees fail.
 *
 * The kernel has fail_nth for that, but for one task only, and iw_mpa's functions run in any worker
 * of a workqueue. So a task gets N as its fail_nth when it enters the function, and when it leaves
 * the function, what is left of N is kept for the task that enters it next. If several tasks are in
 * the function at the same time, only the first one gets N.
 *
 * Parameters of the module:
 *	function	name of the function, set when the module is loaded
 *	nth		N, counted from the write on; reads 0 when the N-th allocation has failed
 *	inside		number of tasks in the function: while it is 0, nth does not change
 */

#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/sched.h>

static char *function;
module_param(function, charp, 0444);

static unsigned int nth;
module_param(nth, uint, 0644);

static struct task_struct *holder;
static atomic_t inside = ATOMIC_INIT(0);

static int fault_point_inside(char *buf, const struct kernel_param *kp)
{
	return sysfs_emit(buf, "%d\n", atomic_read(&inside));
}

static const struct kernel_param_ops inside_ops = { .get = fault_point_inside };
module_param_cb(inside, &inside_ops, NULL, 0444);

static int fault_point_enter(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	atomic_inc(&inside);
	if (READ_ONCE(nth) && !cmpxchg(&holder, NULL, current))
		current->fail_nth = READ_ONCE(nth);
	return 0;
}

static int fault_point_leave(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	if (READ_ONCE(holder) == current) {
		WRITE_ONCE(nth, current->fail_nth);
		current->fail_nth = 0;
		smp_store_release(&holder, NULL);
	}
	atomic_dec(&inside);
	return 0;
}

static struct kretprobe fault_point = {
	.entry_handler	= fault_point_enter,
	.handler	= fault_point_leave,
	.maxactive	= 64,
};

static int __init fault_point_init(void)
{
	fault_point.kp.symbol_name = function;
	return register_kretprobe(&fault_point);
}

static void __exit fault_point_exit(void)
{
	unregister_kretprobe(&fault_point);
}

module_init(fault_point_init);
module_exit(fault_point_exit);
MODULE_DESCRIPTION("Let allocations below a function fail, for tests");
MODULE_LICENSE("GPL");

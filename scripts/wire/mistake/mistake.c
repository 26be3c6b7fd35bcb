// SPDX-License-Identifier: GPL-2.0
/*
 * A module for detectors.sh that makes a mistake on purpose when it is loaded. A detector of the
 * kernel, such as KASAN, that does not report it would not report a driver's mistake, either.
 *
 * Parameter of the module:
 *	what	leak: allocate memory, and keep no pointer to it. lock_order: take two mutexes in
 *		one order, then in the other. use_after_free: read freed memory. race: have two
 *		threads write one word for two seconds, without a lock. net_ref: take a reference
 *		on the network namespace of the loading process, and never drop it
 */

#include <linux/delay.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#define MISTAKE_OCTETS	200

static char *what;
module_param(what, charp, 0444);

static DEFINE_MUTEX(mistake_one);
static DEFINE_MUTEX(mistake_two);
static unsigned long mistake_word;

static int mistake_leak(void)
{
	return kmalloc(MISTAKE_OCTETS, GFP_KERNEL) ? 0 : -ENOMEM;
}

static int mistake_lock_order(void)
{
	mutex_lock(&mistake_one);
	mutex_lock(&mistake_two);
	mutex_unlock(&mistake_two);
	mutex_unlock(&mistake_one);

	mutex_lock(&mistake_two);
	mutex_lock(&mistake_one);
	mutex_unlock(&mistake_one);
	mutex_unlock(&mistake_two);
	return 0;
}

/* OPTIMIZER_HIDE_VAR(): otherwise the compiler warns of the use after free on purpose below. */
static int mistake_use_after_free(void)
{
	char *memory = kmalloc(MISTAKE_OCTETS, GFP_KERNEL);
	char *freed = memory;

	OPTIMIZER_HIDE_VAR(freed);
	kfree(memory);
	if (freed)
		READ_ONCE(*freed);
	return 0;
}

static int mistake_write(void *unused)
{
	while (!kthread_should_stop()) {
		mistake_word++;
		cond_resched();
	}
	return 0;
}

static int mistake_race(void)
{
	struct task_struct *one, *two;

	one = kthread_run(mistake_write, NULL, "mistake/1");
	if (IS_ERR(one))
		return PTR_ERR(one);
	two = kthread_run(mistake_write, NULL, "mistake/2");
	if (!IS_ERR(two)) {
		msleep(2 * MSEC_PER_SEC);
		kthread_stop(two);
	}
	kthread_stop(one);
	return PTR_ERR_OR_ZERO(two);
}

static int mistake_net_ref(void)
{
	static netns_tracker tracker;

	get_net_track(current->nsproxy->net_ns, &tracker, GFP_KERNEL);
	return 0;
}

static const struct {
	const char *name;
	int (*make)(void);
} mistakes[] = {
	{ "leak",		mistake_leak },
	{ "lock_order",		mistake_lock_order },
	{ "use_after_free",	mistake_use_after_free },
	{ "race",		mistake_race },
	{ "net_ref",		mistake_net_ref },
};

static int __init mistake_init(void)
{
	int i;

	for (i = 0; what && i < ARRAY_SIZE(mistakes); i++) {
		if (!strcmp(what, mistakes[i].name))
			return mistakes[i].make();
	}
	return -EINVAL;
}

static void __exit mistake_exit(void)
{
}

module_init(mistake_init);
module_exit(mistake_exit);
MODULE_DESCRIPTION("Make a mistake that a detector has to see, for tests");
MODULE_LICENSE("GPL");

// SPDX-License-Identifier: GPL-2.0
/* The module: its work queues, and the modules that must not be loaded beside it. */

#include "device.h"
#include "frag.h"
#include "srnic.h"
#include "stats.h"

#include <linux/module.h>
#include <linux/string.h>

/*
 * siw and siw_mpa have the same number in the RDMA core as srnic. Each would take the other's
 * devices for its own. So neither of them may be loaded together with srnic.
 */
static const char * const main_rivals[] = { "siw", "siw_mpa" };

static bool main_is_rival(const char *name)
{
	return match_string(main_rivals, ARRAY_SIZE(main_rivals), name) >= 0;
}

static int srnic_module_event(struct notifier_block *nb, unsigned long event, void *arg)
{
	const struct module *module = arg;

	if (event != MODULE_STATE_COMING || !main_is_rival(module->name))
		return NOTIFY_DONE;
	pr_err("srnic: %s cannot be loaded beside srnic: remove that first\n", module->name);
	return notifier_from_errno(-EBUSY);
}

static struct notifier_block srnic_module_nb = {
	.notifier_call = srnic_module_event,
};

/* No rival can be loaded from now on. Is one loaded already? */
static int main_look_for_rivals(void)
{
	int i;

	/* A module that is built in need not have a folder in /sys/module. */
	if (IS_BUILTIN(CONFIG_RDMA_SIW)) {
		pr_err("srnic: this kernel has siw built in, which uses the same number in the RDMA core\n");
		return -EBUSY;
	}
	/* If srnic is built in, this runs before any module can be loaded. */
	if (!__is_defined(MODULE))
		return 0;
	for (i = 0; i < ARRAY_SIZE(main_rivals); i++) {
		struct kobject *rival = kset_find_obj(THIS_MODULE->mkobj.kobj.kset,
						      main_rivals[i]);

		if (!rival)
			continue;
		kobject_put(rival);
		pr_err("srnic: %s is loaded, and uses the same number in the RDMA core: remove it first\n",
		       main_rivals[i]);
		return -EBUSY;
	}
	return 0;
}

static const struct {
	struct workqueue_struct	**wq;
	const char		*name;
} main_queues[] = {
	{ &srnic_wq, "srnic" },
	{ &srnic_user_wq, "srnic_user" },
	{ &srnic_event_wq, "srnic_event" },
};

static void main_destroy_queues(void)
{
	int i;

	for (i = ARRAY_SIZE(main_queues) - 1; i >= 0; i--) {
		if (*main_queues[i].wq)
			destroy_workqueue(*main_queues[i].wq);
	}
}

/*
 * Storage waits for all of them: whoever destroys a QP waits for its events, and the library, which
 * serves storage, waits for the work of any QP when it ends a stream.
 */
static int main_make_queues(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(main_queues); i++) {
		*main_queues[i].wq = alloc_workqueue("%s", WQ_MEM_RECLAIM | WQ_PERCPU, 0,
						     main_queues[i].name);
		if (!*main_queues[i].wq) {
			main_destroy_queues();
			return -ENOMEM;
		}
	}
	return 0;
}

static int __init srnic_init(void)
{
	int err;

	err = register_module_notifier(&srnic_module_nb);
	if (err)
		return err;
	err = main_look_for_rivals();
	if (err)
		goto notifier;
	err = main_make_queues();
	if (err)
		goto notifier;
	err = srnic_device_init();
	if (err)
		goto queues;
	return 0;

queues:
	main_destroy_queues();
notifier:
	unregister_module_notifier(&srnic_module_nb);
	return err;
}

/* Devices go first. The last regions are freed when the readers of the table of STags are done. */
static void __exit srnic_exit(void)
{
	srnic_device_exit();
	main_destroy_queues();
	srnic_frag_exit();
	unregister_module_notifier(&srnic_module_nb);
}

module_init(srnic_init);
module_exit(srnic_exit);

MODULE_DESCRIPTION("Software RNIC for iWARP");
MODULE_AUTHOR("The iw_mpa authors");
MODULE_LICENSE("GPL");
MODULE_VERSION(IW_MPA_VERSION);

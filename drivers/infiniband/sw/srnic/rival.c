// SPDX-License-Identifier: GPL-2.0
/*
 * siw and siw_mpa have the same number in the RDMA core as srnic. Each would take the other's
 * devices for its own. So neither of them may be loaded together with srnic.
 *
 * A module that comes is refused by a notifier. A module that is there has a folder in /sys/module.
 * In between, when it has told its coming to the notifiers of that time and has no folder yet, it
 * is not seen. So srnic looks again before it makes a device: a rival cannot take what is not
 * there. That leaves a rival that takes longer to load than somebody to add a link meanwhile.
 */

#include "rival.h"

#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/string.h>

static const char * const rivals[] = { "siw", "siw_mpa" };

static bool rival_is(const char *name)
{
	return match_string(rivals, ARRAY_SIZE(rivals), name) >= 0;
}

static int srnic_rival_event(struct notifier_block *nb, unsigned long event, void *arg)
{
	const struct module *module = arg;

	if (event != MODULE_STATE_COMING || !rival_is(module->name))
		return NOTIFY_DONE;
	pr_err("srnic: %s cannot be loaded beside srnic: remove that first\n", module->name);
	return notifier_from_errno(-EBUSY);
}

static struct notifier_block srnic_rival_nb = {
	.notifier_call = srnic_rival_event,
};

/**
 * srnic_rival_look - is a rival loaded?
 *
 * The kernel's log has its name.
 *
 * Context: process.
 *
 * Return: 0, or -EBUSY if there is one.
 */
int srnic_rival_look(void)
{
	int i;

	/* A module that is built in need not have a folder in /sys/module. */
	if (IS_BUILTIN(CONFIG_RDMA_SIW)) {
		pr_err("srnic: this kernel has siw built in, which uses the same number in the RDMA core\n");
		return -EBUSY;
	}
	/* If srnic is built in, its notifier is there before any module can be loaded. */
	if (!__is_defined(MODULE))
		return 0;
	for (i = 0; i < ARRAY_SIZE(rivals); i++) {
		struct kobject *rival = kset_find_obj(THIS_MODULE->mkobj.kobj.kset, rivals[i]);

		if (!rival)
			continue;
		kobject_put(rival);
		pr_err("srnic: %s is loaded, and uses the same number in the RDMA core: remove it first\n",
		       rivals[i]);
		return -EBUSY;
	}
	return 0;
}

/**
 * srnic_rival_init - keep rivals out from now on
 *
 * Context: process, while the module loads.
 *
 * Return: 0; -EBUSY if there is one already; a negative errno.
 */
int srnic_rival_init(void)
{
	int err = register_module_notifier(&srnic_rival_nb);

	if (err)
		return err;
	err = srnic_rival_look();
	if (err)
		srnic_rival_exit();
	return err;
}

/**
 * srnic_rival_exit - let them in again
 *
 * Context: process, while the module is unloaded.
 */
void srnic_rival_exit(void)
{
	unregister_module_notifier(&srnic_rival_nb);
}

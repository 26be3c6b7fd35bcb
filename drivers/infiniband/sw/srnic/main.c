// SPDX-License-Identifier: GPL-2.0
/* The module: its work queues, and what is made when it is loaded. */

#include "device.h"
#include "fpdu.h"
#include "srnic.h"

#include <linux/module.h>

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
 * Storage depends on each of them, hence WQ_MEM_RECLAIM: destroying a QP waits
 * for its events, and iw_mpa, which serves storage, waits for the work of any
 * QP whose stream it ends.
 */
static int main_make_queues(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(main_queues); i++) {
		*main_queues[i].wq = alloc_workqueue("%s",
						     WQ_MEM_RECLAIM | WQ_PERCPU,
						     0, main_queues[i].name);
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

	err = srnic_rival_init();
	if (err)
		return err;
	err = main_make_queues();
	if (err)
		goto rival;
	err = srnic_device_init();
	if (err)
		goto queues;
	return 0;

queues:
	main_destroy_queues();
rival:
	srnic_rival_exit();
	return err;
}

/* Frees all devices, and with them all that uses the queues and fragments. */
static void __exit srnic_exit(void)
{
	srnic_device_exit();
	main_destroy_queues();
	srnic_frag_exit();
	srnic_rival_exit();
}

module_init(srnic_init);
module_exit(srnic_exit);

MODULE_DESCRIPTION("Software RNIC for iWARP");
MODULE_AUTHOR("The iw_mpa authors");
MODULE_LICENSE("GPL");
MODULE_VERSION(IW_MPA_VERSION);

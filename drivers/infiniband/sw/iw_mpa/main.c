// SPDX-License-Identifier: GPL-2.0
/* Load and unload the module; the verbs of iw_cm that drivers take from it */

#include "main.h"
#include "config.h"
#include "ep.h"

#include <linux/export.h>
#include <linux/module.h>
#include <linux/stringify.h>
#include <net/net_namespace.h>
#include <rdma/ib_verbs.h>

/**
 * DOC: iw_mpa_ib_device_ops
 *
 * The five verbs of iw_cm that iw_mpa implements. A driver passes the address
 * of this table to ib_set_device_ops(), and leaves these verbs out of its own
 * table. The table also brings the attributes in the device's sysfs folder
 * iw_mpa, unless the driver has already set a device_group; and the counters of
 * "rdma statistic", unless it has set both alloc_hw_port_stats and
 * get_hw_stats.
 */
const struct ib_device_ops iw_mpa_ib_device_ops = {
	.device_group		= &iw_mpa_device_group,
	.alloc_hw_port_stats	= iw_mpa_alloc_hw_port_stats,
	.get_hw_stats		= iw_mpa_get_hw_stats,
	.iw_connect		= iw_mpa_connect,
	.iw_accept		= iw_mpa_accept,
	.iw_reject		= iw_mpa_reject,
	.iw_create_listen	= iw_mpa_create_listen,
	.iw_destroy_listen	= iw_mpa_destroy_listen,
};
EXPORT_SYMBOL_GPL(iw_mpa_ib_device_ops);

static int __init iw_mpa_module_init(void)
{
	int err;

	err = register_pernet_subsys(&iw_mpa_config_net_ops);
	if (err)
		return err;
	err = iw_mpa_event_init();
	if (err)
		goto exit_config;
	/* From now on iw_mpa is called before a device is removed. */
	err = ib_register_client(&iw_mpa_device_client);
	if (err)
		goto exit_event;
	iw_mpa_show_init();
	return 0;

exit_event:
	iw_mpa_event_exit();
exit_config:
	unregister_pernet_subsys(&iw_mpa_config_net_ops);
	return err;
}

static void __exit iw_mpa_module_exit(void)
{
	iw_mpa_show_exit();
	ib_unregister_client(&iw_mpa_device_client);
	iw_mpa_event_exit();
	unregister_pernet_subsys(&iw_mpa_config_net_ops);
}

module_init(iw_mpa_module_init);
module_exit(iw_mpa_module_exit);

MODULE_DESCRIPTION("iWARP connection manager for RNIC drivers (MPA, RFC 5044 and RFC 6581)");
MODULE_AUTHOR("The iw_mpa authors");
MODULE_LICENSE("GPL");
MODULE_SOFTDEP("pre: rdma_cm");	/* see iw_mpa_device_client */
MODULE_VERSION(IW_MPA_VERSION);
MODULE_INFO(iw_mpa_api, __stringify(IW_MPA_API));

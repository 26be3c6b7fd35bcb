// SPDX-License-Identifier: GPL-2.0
/*
 * Settings: sysctl net.iw_mpa.* of each network namespace. A device may have a
 * value of its own for some of them, in sysfs, which overrides the sysctl.
 */

#include "config.h"

#include <linux/bitmap.h>
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysctl.h>
#include <linux/sysfs.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#define CONFIG_PORTS		65536

struct config_net {
	struct iw_mpa_config	config;
	struct ctl_table_header	*header;
	struct ctl_table	*table;
};

static unsigned int config_net_id __read_mostly;

static const struct iw_mpa_config config_default = {
#define NUMBER(name, min, max, value)	.name = value,
#define PORTS(name)
	IW_MPA_SETTINGS(NUMBER, NUMBER, PORTS)
#undef NUMBER
#undef PORTS
};

/* Least and greatest value of each setting */
static const struct {
#define NUMBER(name, min, max, value)	unsigned int name[2];
#define PORTS(name)
	IW_MPA_SETTINGS(NUMBER, NUMBER, PORTS)
#undef NUMBER
} config_bounds = {
#define NUMBER(name, min, max, value)	.name = { min, max },
	IW_MPA_SETTINGS(NUMBER, NUMBER, PORTS)
#undef NUMBER
#undef PORTS
};

/* In .data this table has offsets; config_net_init() makes them pointers. */
#define CONFIG_FIELD(field, size, handler)				\
	.procname = #field,						\
	.data = (void *)offsetof(struct iw_mpa_config, field),		\
	.maxlen = (size),						\
	.mode = 0644,							\
	.proc_handler = (handler)

#define CONFIG_BOUNDS(field)						\
	.extra1 = (void *)&config_bounds.field[0],			\
	.extra2 = (void *)&config_bounds.field[1]

static const struct ctl_table config_table[] = {
#define UINT(name, min, max, value)					\
	{ CONFIG_FIELD(name, sizeof(unsigned int), proc_douintvec_minmax), \
	  CONFIG_BOUNDS(name) },
#define U8(name, min, max, value)					\
	{ CONFIG_FIELD(name, sizeof(u8), proc_dou8vec_minmax),		\
	  CONFIG_BOUNDS(name) },
/* A list such as "20049,4791-4800" */
#define PORTS(name)						\
	{ CONFIG_FIELD(name, CONFIG_PORTS, proc_do_large_bitmap) },
	IW_MPA_SETTINGS(UINT, U8, PORTS)
#undef UINT
#undef U8
#undef PORTS
	{ }
};

/* Return: the settings of network namespace @net, valid as long as @net is. */
const struct iw_mpa_config *iw_mpa_config(struct net *net)
{
	struct config_net *cn = net_generic(net, config_net_id);

	return &cn->config;
}

static bool config_has_port(const unsigned long *ports, u16 local, u16 remote)
{
	return test_bit(local, ports) || test_bit(remote, ports);
}

/*
 * Return: true if an initiator has to ask for the peer-to-peer model. RFC 6581
 * 5 asks for a choice per application: here a port (@local or @remote, in host
 * order) stands for an application. The lists peer_to_peer_ports and
 * client_server_ports decide first, then the device's setting peer_to_peer,
 * then that of the network namespace.
 *
 * @fall_back: result: revision 1 is allowed after revision 2 was offered. RFC
 *	6581 10 allows that if revision 1 is compatible with the application.
 *	Revision 1 has neither the peer-to-peer model nor IRD and ORD. So it is
 *	not allowed if the application's port or the device asks for that model,
 *	or with strict_ird_ord. The namespace's peer_to_peer does not show what
 *	an application needs.
 */
bool iw_mpa_config_peer_to_peer(const struct iw_mpa_config *config,
				const struct iw_mpa_device_config *device,
				u16 local, u16 remote, bool *fall_back)
{
	s8 narrow = READ_ONCE(device->peer_to_peer);

	if (config_has_port(config->peer_to_peer_ports, local, remote))
		narrow = 1;
	else if (config_has_port(config->client_server_ports, local, remote))
		narrow = 0;
	*fall_back = READ_ONCE(config->v1_fallback) &&
		     !READ_ONCE(config->strict_ird_ord) && narrow != 1;
	return iw_mpa_config_narrow(&narrow, &config->peer_to_peer);
}

static const struct {
	const char		*name;
	size_t			offset;	/* in struct iw_mpa_device_config */
	const unsigned int	*bounds;
} config_of_device[] = {
#define S8(field)							\
	{ #field, offsetof(struct iw_mpa_device_config, field),		\
	  config_bounds.field },
	IW_MPA_DEVICE_SETTINGS(S8)
#undef S8
};

/* Return: the setting of a device with this name; @bounds: its limits */
static s8 *config_find(struct iw_mpa_device_config *device, const char *name,
		       const unsigned int **bounds)
{
	int i = 0;

	while (strcmp(name, config_of_device[i].name))
		i++;
	*bounds = config_of_device[i].bounds;
	return (s8 *)((void *)device + config_of_device[i].offset);
}

/* Print the setting @name of a device for sysfs. Return: bytes printed */
int iw_mpa_config_show(struct iw_mpa_device_config *device, const char *name,
		       char *buf)
{
	const unsigned int *bounds;
	s8 value = READ_ONCE(*config_find(device, name, &bounds));

	if (value == IW_MPA_DEFAULT)
		return sysfs_emit(buf, "default\n");
	return sysfs_emit(buf, "%d\n", value);
}

/* Set a device's setting to a number or "default". Return: 0 or -EINVAL */
int iw_mpa_config_store(struct iw_mpa_device_config *device, const char *name,
			const char *buf)
{
	const unsigned int *bounds;
	s8 *setting = config_find(device, name, &bounds);
	s8 value = IW_MPA_DEFAULT;

	if (!sysfs_streq(buf, "default") &&
	    (kstrtos8(buf, 0, &value) || value < (int)bounds[0] ||
	     value > (int)bounds[1]))
		return -EINVAL;
	WRITE_ONCE(*setting, value);
	return 0;
}

static void config_free(struct config_net *cn)
{
	kfree(cn->table);
	bitmap_free(cn->config.client_server_ports);
	bitmap_free(cn->config.peer_to_peer_ports);
}

/* Any user can create a network namespace: so charge memory to the process. */
static int config_net_init(struct net *net)
{
	struct config_net *cn = net_generic(net, config_net_id);
	struct iw_mpa_config *config = &cn->config;
	struct ctl_table *entry;

	*config = config_default;
	config->peer_to_peer_ports = bitmap_zalloc(CONFIG_PORTS,
						   GFP_KERNEL_ACCOUNT);
	config->client_server_ports = bitmap_zalloc(CONFIG_PORTS,
						    GFP_KERNEL_ACCOUNT);
	cn->table = kmemdup(config_table, sizeof(config_table),
			    GFP_KERNEL_ACCOUNT);
	if (!cn->table || !config->peer_to_peer_ports ||
	    !config->client_server_ports)
		goto free;
	for (entry = cn->table; entry->procname; entry++)
		entry->data = (void *)config + (unsigned long)entry->data;

	cn->header = register_net_sysctl_sz(net, "net/iw_mpa", cn->table,
					    ARRAY_SIZE(config_table) - 1);
	if (cn->header)
		return 0;
free:
	config_free(cn);
	return -ENOMEM;
}

static void config_net_exit(struct net *net)
{
	struct config_net *cn = net_generic(net, config_net_id);

	unregister_net_sysctl_table(cn->header);
	config_free(cn);
}

struct pernet_operations iw_mpa_config_net_ops = {
	.init	= config_net_init,
	.exit	= config_net_exit,
	.id	= &config_net_id,
	.size	= sizeof(struct config_net),
};

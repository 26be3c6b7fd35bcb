// SPDX-License-Identifier: GPL-2.0
/*
 * The module, and its RDMA devices. An administrator adds an RDMA device for a
 * network device by "rdma link add".
 *
 * An RDMA device holds a reference on its network device as long as it exists.
 * It keeps copies of the network device's port state, address and name, which
 * notifiers update.
 *
 * siw, and siw_mpa (siw with iw_mpa as its connection manager), register with
 * the same driver number as srnic in the RDMA core (RDMA_DRIVER_SIW). Each of
 * the three modules takes all devices with that number for its own, so neither
 * siw nor siw_mpa may be loaded together with srnic. If one of these is loaded
 * after srnic, srnic's module notifier refuses it. If one is loaded already,
 * srnic finds its folder in /sys/module, and srnic_init() fails. A module whose
 * loading has only begun may have no folder yet, and module notifiers may have
 * been called for it before srnic registered its own. So srnic looks for the
 * folders again before it makes a device. srnic still misses a module that
 * takes longer to load than an administrator takes to add a link.
 */

#include "fpdu.h"
#include "mem.h"
#include "qp.h"
#include "srnic.h"

#include <linux/etherdevice.h>
#include <linux/ethtool.h>
#include <linux/if_arp.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/notifier.h>
#include <linux/rtnetlink.h>
#include <linux/string.h>
#include <net/addrconf.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/iw_cm.h>
#include <rdma/rdma_netlink.h>

static const char * const rivals[] = { "siw", "siw_mpa" };

static bool rival_is(const char *name)
{
	return match_string(rivals, ARRAY_SIZE(rivals), name) >= 0;
}

static int srnic_rival_event(struct notifier_block *nb, unsigned long event,
			     void *arg)
{
	const struct module *module = arg;

	if (event != MODULE_STATE_COMING || !rival_is(module->name))
		return NOTIFY_DONE;
	pr_err("srnic: %s cannot be loaded beside srnic: remove that first\n",
	       module->name);
	return notifier_from_errno(-EBUSY);
}

static struct notifier_block srnic_rival_nb = {
	.notifier_call = srnic_rival_event,
};

/* Returns -EBUSY, and logs why, if siw or siw_mpa is in the kernel; else 0. */
static int rival_look(void)
{
	int i;

	/* siw, if it is built in, need not have a folder in /sys/module. */
	if (IS_BUILTIN(CONFIG_RDMA_SIW)) {
		pr_err("srnic: this kernel has siw built in, which uses the same number in the RDMA core\n");
		return -EBUSY;
	}
	/* A built-in srnic registers its notifier before any module loads. */
	if (!__is_defined(MODULE))
		return 0;
	for (i = 0; i < ARRAY_SIZE(rivals); i++) {
		struct kset *modules = THIS_MODULE->mkobj.kobj.kset;
		struct kobject *rival = kset_find_obj(modules, rivals[i]);

		if (!rival)
			continue;
		kobject_put(rival);
		pr_err("srnic: %s is loaded, and uses the same number in the RDMA core: remove it first\n",
		       rivals[i]);
		return -EBUSY;
	}
	return 0;
}

/* ib_device_attr.fw_ver: the module's version, as software has no firmware */
static u64 device_fw_ver(void)
{
	unsigned int major = 0, minor = 0, patch = 0;

	if (sscanf(IW_MPA_VERSION, "%u.%u.%u", &major, &minor, &patch) < 1)
		return 0;
	return (u64)major << 32 | minor << 16 | patch;
}

static void srnic_get_dev_fw_str(struct ib_device *ibdev, char *str)
{
	strscpy(str, IW_MPA_VERSION, IB_FW_VERSION_NAME_MAX);
}

/*
 * All RDMA devices of srnic, by network device. The RDMA core's table hides a
 * device while it is disabled, as during a move to another network namespace:
 * with that table alone a network device could get a second RDMA device. An
 * entry is in taken_devices from device_setup() until dealloc_driver, or until
 * the network device is unregistered.
 */
static DEFINE_XARRAY(taken_devices);	/* by address of struct net_device */

/* Returns -EEXIST for a second RDMA device: two administrators may race. */
static int device_take(struct srnic_dev *dev)
{
	int err = xa_insert(&taken_devices, (unsigned long)dev->netdev, dev,
			    GFP_KERNEL);

	return err == -EBUSY ? -EEXIST : err;
}

static bool device_is_taken(const struct srnic_dev *dev)
{
	return xa_load(&taken_devices, (unsigned long)dev->netdev) == dev;
}

static void device_leave(struct srnic_dev *dev)
{
	xa_cmpxchg(&taken_devices, (unsigned long)dev->netdev, dev, NULL, 0);
}

/*
 * Returns the RDMA device of @netdev, with a reference, which ib_device_put()
 * drops; NULL if @netdev has no RDMA device, or that is disabled. If @leaves,
 * @netdev is being unregistered, and its entry in taken_devices is removed.
 */
static struct srnic_dev *device_of(const struct net_device *netdev, bool leaves)
{
	struct srnic_dev *dev;

	xa_lock(&taken_devices);
	if (leaves)
		dev = __xa_erase(&taken_devices, (unsigned long)netdev);
	else
		dev = xa_load(&taken_devices, (unsigned long)netdev);
	if (dev && !ib_device_try_get(&dev->ibdev))
		dev = NULL;
	xa_unlock(&taken_devices);
	return dev;
}

static int srnic_query_device(struct ib_device *ibdev,
			      struct ib_device_attr *attr,
			      struct ib_udata *udata)
{
	struct srnic_dev *dev = to_srnic_dev(ibdev);

	/* Since Linux 7.3 the RDMA core passes NULL to register a device. */
	if (udata && (udata->inlen || udata->outlen))
		return -EINVAL;
	*attr = (struct ib_device_attr) {
		.fw_ver			= device_fw_ver(),
		.vendor_id		= SRNIC_VENDOR_ID,
		.vendor_part_id		= SRNIC_PART_ID,
		.max_mr_size		= min_t(u64, SRNIC_MAX_MR_SIZE,
						TASK_SIZE_MAX),
		.page_size_cap		= PAGE_SIZE,
		.device_cap_flags	= IB_DEVICE_MEM_MGT_EXTENSIONS,
		.kernel_cap_flags	= IBK_ALLOW_USER_UNREG |
					  IBK_LOCAL_DMA_LKEY | IBK_SG_GAPS_REG,
		.atomic_cap		= IB_ATOMIC_NONE,
		.max_qp			= SRNIC_MAX_QP,
		.max_qp_wr		= SRNIC_MAX_WR,
		/* uverbs: max_sge = min(max_send_sge, max_recv_sge) */
		.max_send_sge		= SRNIC_MAX_SEND_SGE,
		.max_recv_sge		= SRNIC_MAX_SGE,
		.max_sge_rd		= SRNIC_MAX_SGE_RD,
		.max_cq			= SRNIC_MAX_CQ,
		.max_cqe		= SRNIC_MAX_CQE,
		.max_mr			= SRNIC_MAX_MR,
		.max_pd			= SRNIC_MAX_PD,
		.max_qp_rd_atom		= SRNIC_MAX_DEPTH,
		.max_qp_init_rd_atom	= SRNIC_MAX_DEPTH,
		.max_res_rd_atom	= SRNIC_MAX_DEPTH * SRNIC_MAX_QP,
		.max_srq		= SRNIC_MAX_SRQ,
		.max_srq_wr		= SRNIC_MAX_WR,
		.max_srq_sge		= SRNIC_MAX_SGE,
		.max_fast_reg_page_list_len = SRNIC_MAX_FAST_SG,
	};
	attr->sys_image_guid = READ_ONCE(dev->ibdev.node_guid);
	return 0;
}

/*
 * Returns the network device's speed in Mbit/s, 0 if it is unknown. It is read
 * anew each time, since no notifier reports that an administrator has set it.
 */
static u32 device_ask_speed(const struct srnic_dev *dev)
{
	struct ethtool_link_ksettings link;
	u32 speed = SPEED_UNKNOWN;

	rtnl_lock();
	if (dev->netdev->reg_state == NETREG_REGISTERED &&
	    !__ethtool_get_link_ksettings(dev->netdev, &link))
		speed = link.base.speed;
	rtnl_unlock();
	return speed == (u32)SPEED_UNKNOWN ? 0 : speed;
}

/*
 * Speeds of Ethernet, with the width and speed by which ib_get_eth_speed()
 * reports them. That function is not called: it logs a message each time it
 * guesses an unknown speed, and any process may query a port. Here an unknown
 * speed, 0, is reported like SPEED_1000.
 */
static const struct device_speed {
	u32	ethernet;	/* Mbit/s */
	u8	width;
	u16	speed;
} device_speeds[] = {
	{ SPEED_1000, IB_WIDTH_1X, IB_SPEED_SDR },
	{ SPEED_10000, IB_WIDTH_1X, IB_SPEED_FDR10 },
	{ SPEED_20000, IB_WIDTH_4X, IB_SPEED_DDR },
	{ SPEED_25000, IB_WIDTH_1X, IB_SPEED_EDR },
	{ SPEED_40000, IB_WIDTH_4X, IB_SPEED_FDR10 },
	{ SPEED_50000, IB_WIDTH_2X, IB_SPEED_EDR },
	{ SPEED_100000, IB_WIDTH_4X, IB_SPEED_EDR },
	{ SPEED_200000, IB_WIDTH_4X, IB_SPEED_HDR },
	{ U32_MAX, IB_WIDTH_4X, IB_SPEED_NDR },
};

static void device_set_speed(u32 ethernet, struct ib_port_attr *attr)
{
	const struct device_speed *row = device_speeds;

	while (ethernet > row->ethernet)
		row++;
	attr->active_width = row->width;
	attr->active_speed = row->speed;
}

static int srnic_query_port(struct ib_device *ibdev, u32 port,
			    struct ib_port_attr *attr)
{
	struct srnic_dev *dev = to_srnic_dev(ibdev);
	enum ib_mtu mtu = ib_mtu_int_to_enum(READ_ONCE(dev->netdev->mtu));
	bool up = READ_ONCE(dev->port_up);

	*attr = (struct ib_port_attr) {
		.state		= up ? IB_PORT_ACTIVE : IB_PORT_DOWN,
		.phys_state	= up ? IB_PORT_PHYS_STATE_LINK_UP :
				       IB_PORT_PHYS_STATE_DISABLED,
		.max_mtu	= mtu,
		.active_mtu	= mtu,
		.gid_tbl_len	= 1,
		.port_cap_flags	= IB_PORT_CM_SUP,
		.max_msg_sz	= U32_MAX,
	};
	device_set_speed(device_ask_speed(dev), attr);
	return 0;
}

static int srnic_get_port_immutable(struct ib_device *ibdev, u32 port,
				    struct ib_port_immutable *immutable)
{
	immutable->gid_tbl_len = 1;
	immutable->core_cap_flags = RDMA_CORE_PORT_IWARP;
	return 0;
}

/* The GID is the MAC address: before Linux 6.5 rdma_cm finds devices by it. */
static int srnic_query_gid(struct ib_device *ibdev, u32 port, int index,
			   union ib_gid *gid)
{
	memset(gid, 0, sizeof(*gid));
	u64_to_ether_addr(READ_ONCE(to_srnic_dev(ibdev)->mac), gid->raw);
	return 0;
}

static struct ib_qp *srnic_get_qp(struct ib_device *ibdev, int qpn)
{
	struct srnic_qp *qp = srnic_qp_find(to_srnic_dev(ibdev), qpn);

	return qp ? &qp->ibqp : NULL;
}

static void srnic_qp_add_ref(struct ib_qp *ibqp)
{
	kref_get(&to_srnic_qp(ibqp)->ref);
}

static void srnic_qp_rem_ref(struct ib_qp *ibqp)
{
	srnic_qp_put(to_srnic_qp(ibqp));
}

static void srnic_dealloc_driver(struct ib_device *ibdev)
{
	struct srnic_dev *dev = to_srnic_dev(ibdev);

	device_leave(dev);
	cancel_work_sync(&dev->catch_up);
	iw_mpa_unregister_device(ibdev);
	srnic_reserves_end(dev);
	xa_destroy(&dev->qps);
	xa_destroy(&dev->mrs);
	srnic_stats_free(dev);
	netdev_put(dev->netdev, &dev->netdev_tracker);
}

static void device_note_netdev(struct srnic_dev *dev,
			       const struct net_device *netdev)
{
	WRITE_ONCE(dev->port_up,
		   netif_running(netdev) && netif_carrier_ok(netdev));
}

static void device_tell(struct srnic_dev *dev, enum ib_event_type type)
{
	struct ib_event event = {
		.device			= &dev->ibdev,
		.element.port_num	= 1,
		.event			= type,
	};

	ib_dispatch_event(&event);
}

static void device_follow_port(struct srnic_dev *dev,
			       const struct net_device *netdev)
{
	bool was_up = dev->port_up;

	device_note_netdev(dev, netdev);
	if (dev->port_up != was_up)
		device_tell(dev, dev->port_up ? IB_EVENT_PORT_ACTIVE :
						IB_EVENT_PORT_ERR);
}

/*
 * The RDMA core calls report_port_event under rtnl. Without this op the core
 * would report each NETDEV_UP, DOWN and CHANGE itself, in addition to srnic,
 * and even if the port has not changed. The core does not call the op for
 * bonds, and older kernels do not have it, so srnic_netdev_event() calls
 * device_follow_port(), too. If the op and srnic_netdev_event() both call
 * device_follow_port() for an event, the second call finds no change.
 */
static void srnic_report_port_event(struct ib_device *ibdev,
				    struct net_device *netdev,
				    unsigned long event)
{
	device_follow_port(to_srnic_dev(ibdev), netdev);
}

/* A MAC address of zeroes, as the loopback device has, makes no valid GID. */
static bool device_has_mac(const struct net_device *netdev)
{
	return netdev->addr_len >= ETH_ALEN &&
	       !is_zero_ether_addr(netdev->dev_addr);
}

/* On a 32-bit machine a query may read a MAC address that is half written. */
static void device_note_mac(struct srnic_dev *dev,
			    const struct net_device *netdev)
{
	u8 mac[ETH_ALEN];
	__be64 guid;

	if (device_has_mac(netdev))
		memcpy(mac, netdev->dev_addr, ETH_ALEN);
	else if (!dev->mac)
		eth_random_addr(mac);
	else
		return;
	addrconf_addr_eui48((u8 *)&guid, mac);
	WRITE_ONCE(dev->mac, ether_addr_to_u64(mac));
	WRITE_ONCE(dev->ibdev.node_guid, guid);
	WRITE_ONCE(dev->ibdev.attrs.sys_image_guid, guid);
}

static void device_follow_mac(struct srnic_dev *dev,
			      const struct net_device *netdev)
{
	u64 before = dev->mac;

	device_note_mac(dev, netdev);
	if (dev->mac != before)
		device_tell(dev, IB_EVENT_GID_CHANGE);
}

static void device_follow_name(struct srnic_dev *dev,
			       const struct net_device *netdev)
{
	strscpy(dev->ibdev.iw_ifname, netdev->name,
		sizeof(dev->ibdev.iw_ifname));
}

/*
 * Read the network device's state again. Events of the network device do not
 * reach an RDMA device that is not registered yet, or that is disabled while it
 * moves to another network namespace.
 */
static void srnic_device_catch_up(struct work_struct *work)
{
	struct srnic_dev *dev = container_of(work, struct srnic_dev, catch_up);
	const struct net_device *netdev = dev->netdev;

	/* The RDMA device is disabled again; enabling it queues this work. */
	if (!ib_device_try_get(&dev->ibdev))
		return;
	rtnl_lock();
	if (netdev->reg_state == NETREG_REGISTERED &&
	    device_is_taken(dev)) {
		device_follow_port(dev, netdev);
		device_follow_mac(dev, netdev);
		device_follow_name(dev, netdev);
	} else {
		device_leave(dev);
		ib_unregister_device_queued(&dev->ibdev);
	}
	rtnl_unlock();
	ib_device_put(&dev->ibdev);
}

/*
 * Read the network device's state in a work item, under rtnl: the RDMA core
 * calls enable_driver with a lock held for which other tasks wait under rtnl.
 * The work item is on the system's work queue. srnic's own work queues serve
 * storage, and must not wait for rtnl, whose holder may wait for storage.
 */
static int srnic_enable_driver(struct ib_device *ibdev)
{
	schedule_work(&to_srnic_dev(ibdev)->catch_up);
	return 0;
}

/* With siw's driver_id and ABI, libsiw of any rdma-core serves the device. */
static const struct ib_device_ops srnic_device_ops = {
	.owner			= THIS_MODULE,
	.driver_id		= RDMA_DRIVER_SIW,
	.uverbs_abi_ver		= SIW_ABI_VERSION,

	.alloc_hw_port_stats	= srnic_alloc_hw_port_stats,
	.dealloc_driver		= srnic_dealloc_driver,
	.enable_driver		= srnic_enable_driver,
	.get_dev_fw_str		= srnic_get_dev_fw_str,
	.get_hw_stats		= srnic_get_hw_stats,
	.get_port_immutable	= srnic_get_port_immutable,
	.iw_add_ref		= srnic_qp_add_ref,
	.iw_get_qp		= srnic_get_qp,
	.iw_rem_ref		= srnic_qp_rem_ref,
	.process_mad		= srnic_process_mad,
	.query_device		= srnic_query_device,
	.query_gid		= srnic_query_gid,
	.query_port		= srnic_query_port,
	.report_port_event	= srnic_report_port_event,
};

static bool device_is_possible(const struct net_device *netdev)
{
	switch (netdev->type) {
	case ARPHRD_ETHER:
	case ARPHRD_IEEE802:
	case ARPHRD_LOOPBACK:
	case ARPHRD_NONE:	/* no MAC address, as tun */
		return true;
	default:
		return false;
	}
}

static int device_setup(struct srnic_dev *dev, struct net_device *netdev)
{
	/*
	 * xa_init_flags() gives the locks of @qps and @mrs one lockdep class,
	 * but only the lock of @qps is taken with interrupts off, by iw_get_qp.
	 * So the lock of @mrs gets its own class.
	 */
	static struct lock_class_key mrs_key;
	struct ib_device *ibdev = &dev->ibdev;

	INIT_WORK(&dev->catch_up, srnic_device_catch_up);
	srnic_reserves_setup(dev);
	xa_init_flags(&dev->qps, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_IRQ |
				 XA_FLAGS_ACCOUNT);
	/* Accounted: a random STag's XArray node may be larger than its MR. */
	xa_init_flags(&dev->mrs, XA_FLAGS_ACCOUNT);
	lockdep_set_class(&dev->mrs.xa_lock, &mrs_key);
	dev->stats = alloc_percpu(struct srnic_stats);
	if (!dev->stats)
		return -ENOMEM;
	dev->netdev = netdev;
	netdev_hold(netdev, &dev->netdev_tracker, GFP_KERNEL);
	device_note_netdev(dev, netdev);
	device_note_mac(dev, netdev);

	ibdev->node_type = RDMA_NODE_RNIC;
	strscpy(ibdev->node_desc, "srnic", sizeof(ibdev->node_desc));
	ibdev->phys_port_cnt = 1;
	ibdev->num_comp_vectors = num_present_cpus();
	ibdev->local_dma_lkey = SRNIC_LOCAL_DMA_LKEY;
	ibdev->uverbs_cmd_mask |= BIT_ULL(IB_USER_VERBS_CMD_POST_SEND);
	ibdev->iw_driver_flags = IW_F_NO_PORT_MAP;
	device_follow_name(dev, netdev);
	ib_set_device_ops(ibdev, &srnic_device_ops);
	ib_set_device_ops(ibdev, &srnic_verbs);
	ib_set_device_ops(ibdev, &iw_mpa_ib_device_ops);
	return device_take(dev) ?: ib_device_set_netdev(ibdev, netdev, 1);
}

/* After a failure ib_dealloc_device() undoes all through dealloc_driver. */
static int device_make(struct net_device *netdev, const char *name)
{
	struct srnic_dev *dev = ib_alloc_device(srnic_dev, ibdev);
	int err;

	if (!dev)
		return -ENOMEM;
	err = device_setup(dev, netdev);
	if (!err)
		err = iw_mpa_register_device(&dev->ibdev, netdev,
					     &srnic_driver_ops,
					     &srnic_device_attr);
	if (!err) {
		ib_mark_name_assigned_by_user(&dev->ibdev);
		err = ib_register_device(&dev->ibdev, name, NULL);
	}
	if (err)
		ib_dealloc_device(&dev->ibdev);
	return err;
}

/* Update the port's state before "rdma link add" returns. */
static void device_settle(struct net_device *netdev)
{
	struct srnic_dev *dev = device_of(netdev, false);

	if (!dev)
		return;
	flush_work(&dev->catch_up);
	ib_device_put(&dev->ibdev);
}

static int srnic_newlink(const char *name, struct net_device *netdev)
{
	int err;

	if (!device_is_possible(netdev))
		return -EINVAL;
	err = rival_look() ?: device_make(netdev, name);
	if (!err)
		device_settle(netdev);
	return err;
}

static struct rdma_link_ops srnic_link_ops = {
	.type		= "srnic",
	.newlink	= srnic_newlink,
};
MODULE_ALIAS_RDMA_LINK("srnic");

/* Called under rtnl. As with TCP, connections outlast NETDEV_DOWN. */
static int srnic_netdev_event(struct notifier_block *nb, unsigned long event,
			      void *arg)
{
	struct net_device *netdev = netdev_notifier_info_to_dev(arg);
	struct srnic_dev *dev = device_of(netdev, event == NETDEV_UNREGISTER);

	/* A disabled RDMA device rereads the state when it is enabled. */
	if (!dev)
		return NOTIFY_DONE;
	switch (event) {
	case NETDEV_UP:
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
		device_follow_port(dev, netdev);
		break;
	case NETDEV_CHANGEADDR:
		device_follow_mac(dev, netdev);
		break;
	case NETDEV_CHANGENAME:
		device_follow_name(dev, netdev);
		break;
	case NETDEV_UNREGISTER:
		ib_unregister_device_queued(&dev->ibdev);
		break;
	}
	ib_device_put(&dev->ibdev);
	return NOTIFY_DONE;
}

static struct notifier_block srnic_netdev_nb = {
	.notifier_call = srnic_netdev_event,
};

static const struct {
	struct workqueue_struct	**wq;
	const char		*name;
} queues[] = {
	{ &srnic_wq, "srnic" },
	{ &srnic_user_wq, "srnic_user" },
	{ &srnic_event_wq, "srnic_event" },
};

static void destroy_queues(void)
{
	int i;

	for (i = ARRAY_SIZE(queues) - 1; i >= 0; i--) {
		if (*queues[i].wq)
			destroy_workqueue(*queues[i].wq);
	}
}

/*
 * Each of srnic's work queues needs WQ_MEM_RECLAIM, since storage may wait for
 * the work on it: destroy_qp waits for the work item of the QP's events, and
 * iw_mpa, whose work queues serve storage, waits for the work items of any QP
 * whose stream it ends.
 */
static int make_queues(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(queues); i++) {
		*queues[i].wq = alloc_workqueue("%s",
						WQ_MEM_RECLAIM | WQ_PERCPU, 0,
						queues[i].name);
		if (!*queues[i].wq) {
			destroy_queues();
			return -ENOMEM;
		}
	}
	return 0;
}

static int __init srnic_init(void)
{
	int err;

	err = register_module_notifier(&srnic_rival_nb);
	if (err)
		return err;
	err = rival_look() ?: make_queues();
	if (err)
		goto rival;
	err = register_netdevice_notifier(&srnic_netdev_nb);
	if (err)
		goto queues;
	rdma_link_register(&srnic_link_ops);
	return 0;

queues:
	destroy_queues();
rival:
	unregister_module_notifier(&srnic_rival_nb);
	return err;
}

/* All devices are freed before the work queues and fragments that they use. */
static void __exit srnic_exit(void)
{
	rdma_link_unregister(&srnic_link_ops);
	unregister_netdevice_notifier(&srnic_netdev_nb);
	ib_unregister_driver(RDMA_DRIVER_SIW);
	destroy_queues();
	srnic_frag_exit();
	unregister_module_notifier(&srnic_rival_nb);
}

module_init(srnic_init);
module_exit(srnic_exit);

MODULE_DESCRIPTION("Software RNIC for iWARP");
MODULE_AUTHOR("The iw_mpa authors");
MODULE_LICENSE("GPL");
MODULE_VERSION(IW_MPA_VERSION);

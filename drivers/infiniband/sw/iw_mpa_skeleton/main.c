// SPDX-License-Identifier: GPL-2.0
/*
 * Template of an RNIC driver for kernel ULPs, in software: the module, and one
 * RDMA device for each network device that an administrator names:
 *
 *	rdma link add skel0 type iw_mpa_skeleton netdev eth0
 *
 * Applications cannot use this device: they would need a provider of their own
 * in rdma-core.
 */

#include "skel.h"

#include <linux/module.h>
#include <net/addrconf.h>
#include <rdma/iw_cm.h>
#include <rdma/rdma_netlink.h>

struct workqueue_struct *skel_wq;

static int skel_query_device(struct ib_device *ibdev,
			     struct ib_device_attr *attr,
			     struct ib_udata *udata)
{
	*attr = (struct ib_device_attr) {
		/* Storage ULPs use IB_WR_REG_MR and IB_WR_LOCAL_INV. */
		.device_cap_flags		= IB_DEVICE_MEM_MGT_EXTENSIONS,
		/*
		 * Without IBK_ALLOW_USER_UNREG "rdma link delete" returns
		 * -EINVAL.
		 */
		.kernel_cap_flags		= IBK_ALLOW_USER_UNREG |
						  IBK_LOCAL_DMA_LKEY,
		.page_size_cap			= PAGE_SIZE,
		.max_mr_size			= (u64)SKEL_MAX_PAGES *
						  PAGE_SIZE,
		.max_qp				= SKEL_MAX_QPN,
		.max_qp_wr			= SKEL_MAX_WR,
		.max_send_sge			= SKEL_MAX_SGE,
		.max_recv_sge			= SKEL_MAX_SGE,
		.max_sge_rd			= 1,	/* RFC 5040 4.4 */
		.max_cq				= SKEL_MAX_QPN,
		.max_cqe			= SKEL_MAX_CQE,
		.max_mr				= SKEL_MAX_QPN,
		.max_pd				= SKEL_MAX_QPN,
		.max_qp_rd_atom			= SKEL_MAX_DEPTH,
		.max_qp_init_rd_atom		= SKEL_MAX_DEPTH,
		.max_fast_reg_page_list_len	= SKEL_MAX_PAGES,
	};
	return 0;
}

static bool skel_is_up(const struct net_device *netdev)
{
	return netif_running(netdev) && netif_carrier_ok(netdev);
}

/* query_port: the state of the network device, and one GID, the MAC address */
static int skel_query_port(struct ib_device *ibdev, u32 port,
			   struct ib_port_attr *attr)
{
	const struct net_device *netdev = to_skel_dev(ibdev)->netdev;
	bool up = skel_is_up(netdev);

	*attr = (struct ib_port_attr) {
		.state		= up ? IB_PORT_ACTIVE : IB_PORT_DOWN,
		.phys_state	= up ? IB_PORT_PHYS_STATE_LINK_UP :
				       IB_PORT_PHYS_STATE_DISABLED,
		.max_mtu	= ib_mtu_int_to_enum(netdev->mtu),
		.active_mtu	= ib_mtu_int_to_enum(netdev->mtu),
		.gid_tbl_len	= 1,
		.port_cap_flags	= IB_PORT_CM_SUP,
		.max_msg_sz	= U32_MAX,
		.active_width	= IB_WIDTH_1X,
		.active_speed	= IB_SPEED_SDR,
	};
	return 0;
}

/* get_port_immutable: an iWARP port, with as many GIDs as query_port says */
static int skel_get_port_immutable(struct ib_device *ibdev, u32 port,
				   struct ib_port_immutable *immutable)
{
	immutable->gid_tbl_len = 1;
	immutable->core_cap_flags = RDMA_CORE_PORT_IWARP;
	return 0;
}

/* rdma_cm before Linux 6.5 finds the device by this GID, the MAC address. */
static int skel_query_gid(struct ib_device *ibdev, u32 port, int index,
			  union ib_gid *gid)
{
	memset(gid, 0, sizeof(*gid));
	memcpy(gid->raw, to_skel_dev(ibdev)->netdev->dev_addr, ETH_ALEN);
	return 0;
}

/* A PD has no data: regions and QPs of one PD have the same pointer to it. */
static int skel_alloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	return 0;
}

static int skel_dealloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	return 0;
}

static void skel_dealloc(struct ib_device *ibdev)
{
	iw_mpa_unregister_device(ibdev);
	xa_destroy(&to_skel_dev(ibdev)->qps);
	xa_destroy(&to_skel_dev(ibdev)->mrs);
}

/* iw_connect and the four other verbs for iw_cm are in iw_mpa_ib_device_ops. */
static const struct ib_device_ops skel_device_ops = {
	.owner			= THIS_MODULE,
	.driver_id		= SKEL_DRIVER_ID,
	.alloc_pd		= skel_alloc_pd,
	.dealloc_driver		= skel_dealloc,
	.dealloc_pd		= skel_dealloc_pd,
	.get_port_immutable	= skel_get_port_immutable,
	.query_device		= skel_query_device,
	.query_gid		= skel_query_gid,
	.query_port		= skel_query_port,
	INIT_RDMA_OBJ_SIZE(ib_pd, skel_pd, ib),
};

static int skel_register(struct skel_dev *dev, const char *name)
{
	struct ib_device *ibdev = &dev->ibdev;

	ib_set_device_ops(ibdev, &skel_device_ops);
	ib_set_device_ops(ibdev, &skel_cq_ops);
	ib_set_device_ops(ibdev, &skel_mr_ops);
	ib_set_device_ops(ibdev, &skel_qp_ops);
	ib_set_device_ops(ibdev, &iw_mpa_ib_device_ops);
	return ib_device_set_netdev(ibdev, dev->netdev, 1) ?:
	       iw_mpa_register_device(ibdev, dev->netdev, &skel_driver_ops,
				      &skel_device_attr) ?:
	       ib_register_device(ibdev, name, NULL);
}

static int skel_newlink(const char *name, struct net_device *netdev)
{
	struct ib_device *other =
		ib_device_get_by_netdev(netdev, SKEL_DRIVER_ID);
	struct skel_dev *dev;
	int err;

	if (other) {
		ib_device_put(other);
		return -EEXIST;
	}
	dev = ib_alloc_device(skel_dev, ibdev);
	if (!dev)
		return -ENOMEM;
	dev->netdev = netdev;
	xa_init_flags(&dev->qps, XA_FLAGS_ALLOC1);
	xa_init(&dev->mrs);
	mutex_init(&dev->lock);
	spin_lock_init(&dev->spin);
	dev->ibdev.node_type = RDMA_NODE_RNIC;
	dev->ibdev.phys_port_cnt = 1;
	dev->ibdev.num_comp_vectors = num_possible_cpus();
	dev->ibdev.local_dma_lkey = SKEL_LOCAL_DMA_LKEY;
	dev->ibdev.iw_driver_flags = IW_F_NO_PORT_MAP;
	strscpy(dev->ibdev.iw_ifname, netdev->name,
		sizeof(dev->ibdev.iw_ifname));
	addrconf_addr_eui48((u8 *)&dev->ibdev.node_guid, netdev->dev_addr);

	err = skel_register(dev, name);
	if (err)
		ib_dealloc_device(&dev->ibdev);	/* calls skel_dealloc() */
	return err;
}

static struct rdma_link_ops skel_link_ops = {
	.type		= "iw_mpa_skeleton",
	.newlink	= skel_newlink,
};

/* Called with rtnl held. The RDMA device is removed with its network device. */
static int skel_netdev_event(struct notifier_block *nb, unsigned long what,
			     void *arg)
{
	struct net_device *netdev = netdev_notifier_info_to_dev(arg);
	struct ib_device *ibdev =
		ib_device_get_by_netdev(netdev, SKEL_DRIVER_ID);
	struct ib_event event = { .device = ibdev, .element.port_num = 1 };

	if (!ibdev)
		return NOTIFY_DONE;
	switch (what) {
	case NETDEV_UP:
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
		event.event = skel_is_up(netdev) ? IB_EVENT_PORT_ACTIVE :
						   IB_EVENT_PORT_ERR;
		ib_dispatch_event(&event);
		break;
	case NETDEV_CHANGEADDR:
		event.event = IB_EVENT_GID_CHANGE;
		ib_dispatch_event(&event);
		break;
	case NETDEV_UNREGISTER:
		ib_unregister_device_queued(ibdev);
		break;
	}
	ib_device_put(ibdev);
	return NOTIFY_DONE;
}

static struct notifier_block skel_netdev_nb = {
	.notifier_call = skel_netdev_event,
};

static int __init skel_init(void)
{
	int err;

	/*
	 * To free memory the kernel may write to storage on this device, and
	 * wait for work of this queue: hence WQ_MEM_RECLAIM, which reserves a
	 * thread.
	 */
	skel_wq = alloc_workqueue("iw_mpa_skeleton",
				  WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!skel_wq)
		return -ENOMEM;
	err = register_netdevice_notifier(&skel_netdev_nb);
	if (err) {
		destroy_workqueue(skel_wq);
		return err;
	}
	rdma_link_register(&skel_link_ops);
	return 0;
}

static void __exit skel_exit(void)
{
	rdma_link_unregister(&skel_link_ops);
	unregister_netdevice_notifier(&skel_netdev_nb);
	ib_unregister_driver(SKEL_DRIVER_ID);
	destroy_workqueue(skel_wq);
}

module_init(skel_init);
module_exit(skel_exit);

MODULE_DESCRIPTION("Skeleton of an RNIC driver on iw_mpa");
MODULE_AUTHOR("The iw_mpa authors");
MODULE_LICENSE("GPL");
MODULE_ALIAS_RDMA_LINK("iw_mpa_skeleton");

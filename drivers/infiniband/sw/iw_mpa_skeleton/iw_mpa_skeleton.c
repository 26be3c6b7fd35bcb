// SPDX-License-Identifier: GPL-2.0
/*
 * A driver to start from: everything that iw_mpa asks of a driver, for a device that is not there.
 * The module loads, and registers a device with
 *
 *	rdma link add skel0 type iw_mpa_skeleton netdev eth0
 *
 * but has no verbs to use that device with. The skel_hw_* functions are where the hardware is
 * programmed. It is quoted and explained in Documentation/infiniband/iw_mpa_driver.rst.
 *
 * This one reads the TCP stream from the kernel's socket. A device that takes TCP over has a struct
 * iw_mpa_takeover_ops in its attributes, leaves attach and kick_rx out, sends Reply, RTR message
 * and FIN itself, and has all that it needs of the connection in prepare: @ho->tcb.
 */

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/rcupdate.h>
#include <linux/xarray.h>
#include <net/addrconf.h>
#include <net/tcp.h>
#include <rdma/ib_verbs.h>
#include <rdma/iw_cm.h>
#include <rdma/iw_mpa.h>
#include <rdma/rdma_netlink.h>

/* A real driver has an id of its own in enum rdma_driver_id. */
#define SKEL_DRIVER_ID		((enum rdma_driver_id)0x6d7061)
#define SKEL_MAX_QPN		0xffffff
#define SKEL_MAX_DEPTH		16

struct skel_dev {
	struct ib_device	ibdev;
	struct net_device	*netdev;
	struct xarray		qps;
};

/**
 * struct skel_qp - a QP
 * @ib: what the RDMA core knows
 * @ref: one for the QP's life, those of iw_cm and those of iw_mpa
 * @free: completed when @ref drops to 0
 * @lock: protects @state and changes of @ep
 * @state: IB_QPS_RTS from prepare to stop
 * @ep: the connection, from prepare to stop
 * @sock: its stream, likewise
 * @crc: FPDUs have CRCs
 */
struct skel_qp {
	struct ib_qp		ib;
	struct kref		ref;
	struct completion	free;
	struct mutex		lock;
	enum ib_qp_state	state;
	struct iw_mpa_ep	*ep;
	struct socket		*sock;
	bool			crc;
};

static struct skel_dev *to_skel_dev(struct ib_device *ibdev)
{
	return container_of(ibdev, struct skel_dev, ibdev);
}

static struct skel_qp *to_skel_qp(struct ib_qp *ibqp)
{
	return container_of(ibqp, struct skel_qp, ib);
}

/* The hardware */

enum skel_rx {
	SKEL_RX_MORE,		/* nothing to tell */
	SKEL_RX_GOOD,		/* at least one whole FPDU was validated */
	SKEL_RX_BAD,		/* the stream is in error */
};

/*
 * Program the QP: CRC, Markers, IRD and ORD of @params, RX on, TX closed. A device
 * that takes TCP over also wants @ho->tcb. All memory is allocated here: nothing later
 * may fail for lack of it.
 */
static int skel_hw_bind(struct skel_qp *qp, const struct iw_mpa_handoff *ho)
{
	return ho->params->ird > SKEL_MAX_DEPTH ? -EINVAL : 0;
}

/* Give received octets to the FPDU engine. Called in softirq, too. */
static enum skel_rx skel_hw_rx(struct skel_qp *qp, struct sk_buff *skb,
			       unsigned int off, size_t len)
{
	return SKEL_RX_MORE;
}

/* The send buffer has room again: continue where TX had to stop. */
static void skel_hw_tx_continue(struct skel_qp *qp)
{
}

/* Ring the doorbell for all that was posted while TX was closed. */
static void skel_hw_open_tx(struct skel_qp *qp)
{
}

/*
 * Stop taking work, and call iw_mpa_tx_finished() when what was posted before, and each Read
 * Response that is owed, is with TCP. A device that holds a part of an FPDU when the stream has
 * ended calls iw_mpa_stream_down() instead.
 */
static void skel_hw_finish_tx(struct skel_qp *qp)
{
	iw_mpa_tx_finished(qp->ep);
}

/*
 * Stop both directions and flush the queues. When this returns nothing uses the
 * socket or the endpoint: no TX work is running, and no interrupt handler.
 */
static void skel_hw_unbind(struct skel_qp *qp)
{
}

/* The stream: callbacks of the socket */

static int skel_rx_actor(read_descriptor_t *desc, struct sk_buff *skb,
			 unsigned int off, size_t len)
{
	struct skel_qp *qp = desc->arg.data;

	switch (skel_hw_rx(qp, skb, off, len)) {
	case SKEL_RX_MORE:
		break;
	case SKEL_RX_GOOD:
		iw_mpa_first_fpdu(qp->ep);
		break;
	case SKEL_RX_BAD:
		iw_mpa_stream_down(qp->ep);
		desc->count = 0;
		break;
	}
	return len;
}

/* The caller has the socket's lock. */
static void skel_read(struct skel_qp *qp, struct sock *sk)
{
	read_descriptor_t desc = { .arg.data = qp, .count = 1 };

	tcp_read_sock(sk, &desc, skel_rx_actor);
}

static void skel_data_ready(struct sock *sk)
{
	struct iw_mpa_stream *stream;

	read_lock_bh(&sk->sk_callback_lock);
	stream = iw_mpa_sk_stream(sk);
	if (stream && stream->priv)
		skel_read(stream->priv, sk);
	read_unlock_bh(&sk->sk_callback_lock);
}

static void skel_write_space(struct sock *sk)
{
	struct iw_mpa_stream *stream;

	read_lock_bh(&sk->sk_callback_lock);
	stream = iw_mpa_sk_stream(sk);
	if (stream && stream->priv) {
		stream->write_space(sk);
		skel_hw_tx_continue(stream->priv);
	}
	read_unlock_bh(&sk->sk_callback_lock);
}

/* The hand-off: struct iw_mpa_driver_ops */

static int skel_prepare(struct ib_qp *ibqp, const struct iw_mpa_handoff *ho)
{
	struct skel_qp *qp = to_skel_qp(ibqp);
	int err = -EINVAL;

	mutex_lock(&qp->lock);
	if (qp->state <= IB_QPS_RTR)
		err = skel_hw_bind(qp, ho);
	if (!err) {
		qp->state = IB_QPS_RTS;
		qp->ep = ho->ep;
		qp->sock = ho->sock;
		qp->crc = ho->params->crc;
	}
	mutex_unlock(&qp->lock);
	return err;
}

static void skel_attach(struct ib_qp *ibqp, struct sock *sk,
			struct iw_mpa_stream *stream)
{
	stream->priv = to_skel_qp(ibqp);
	sk->sk_data_ready = skel_data_ready;
	sk->sk_write_space = skel_write_space;
}

static void skel_kick_rx(struct ib_qp *ibqp)
{
	struct skel_qp *qp = to_skel_qp(ibqp);
	struct sock *sk = qp->sock->sk;

	lock_sock(sk);
	skel_read(qp, sk);
	release_sock(sk);
}

static int skel_send_rtr(struct ib_qp *ibqp, u8 rtr)
{
	struct skel_qp *qp = to_skel_qp(ibqp);
	u8 fpdu[IW_MPA_FPDU_MAX];
	int err;

	err = iw_mpa_send(qp->ep, fpdu, iw_mpa_fpdu_rtr(rtr, qp->crc, fpdu));
	if (!err)
		skel_hw_open_tx(qp);
	return err;
}

static void skel_open_tx(struct ib_qp *ibqp)
{
	skel_hw_open_tx(to_skel_qp(ibqp));
}

static void skel_finish_tx(struct ib_qp *ibqp)
{
	skel_hw_finish_tx(to_skel_qp(ibqp));
}

static void skel_stop(struct ib_qp *ibqp, enum iw_mpa_reason why)
{
	struct skel_qp *qp = to_skel_qp(ibqp);

	skel_hw_unbind(qp);
	mutex_lock(&qp->lock);
	qp->state = IB_QPS_ERR;
	qp->ep = NULL;
	qp->sock = NULL;
	mutex_unlock(&qp->lock);
}

static const struct iw_mpa_driver_ops skel_driver_ops = {
	.prepare	= skel_prepare,
	.attach		= skel_attach,
	.kick_rx	= skel_kick_rx,
	.send_rtr	= skel_send_rtr,
	.open_tx	= skel_open_tx,
	.finish_tx	= skel_finish_tx,
	.stop		= skel_stop,
};

/* QPs */

static void skel_qp_release(struct kref *ref)
{
	complete(&container_of(ref, struct skel_qp, ref)->free);
}

/*
 * A QP that is being destroyed is not found: XA_ZERO_ENTRY is in its place, and keeps the number
 * taken until destroy_qp has ended. To replace an entry takes no memory.
 */
static struct ib_qp *skel_get_qp(struct ib_device *ibdev, int qpn)
{
	struct skel_qp *qp = xa_load(&to_skel_dev(ibdev)->qps, qpn);

	return qp ? &qp->ib : NULL;
}

static void skel_add_ref(struct ib_qp *ibqp)
{
	kref_get(&to_skel_qp(ibqp)->ref);
}

static void skel_rem_ref(struct ib_qp *ibqp)
{
	kref_put(&to_skel_qp(ibqp)->ref, skel_qp_release);
}

static int skel_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *attr,
			  struct ib_udata *udata)
{
	struct skel_dev *dev = to_skel_dev(ibqp->device);
	struct skel_qp *qp = to_skel_qp(ibqp);

	kref_init(&qp->ref);
	init_completion(&qp->free);
	mutex_init(&qp->lock);
	qp->state = IB_QPS_RESET;
	return xa_alloc(&dev->qps, &ibqp->qp_num, qp,
			XA_LIMIT(1, SKEL_MAX_QPN), GFP_KERNEL);
}

static int skel_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
			  struct ib_udata *udata)
{
	struct skel_qp *qp = to_skel_qp(ibqp);
	int err = 0;

	if (!(mask & IB_QP_STATE))
		return 0;
	mutex_lock(&qp->lock);
	if (!qp->ep)
		qp->state = attr->qp_state;
	else if (attr->qp_state == IB_QPS_SQD || attr->qp_state == IB_QPS_ERR)
		iw_mpa_disconnect(qp->ep, attr->qp_state == IB_QPS_ERR);
	else if (attr->qp_state < IB_QPS_RTR)
		err = -EINVAL;
	mutex_unlock(&qp->lock);
	return err;
}

static int skel_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct skel_dev *dev = to_skel_dev(ibqp->device);
	struct skel_qp *qp = to_skel_qp(ibqp);
	struct iw_mpa_qp_end end;

	xa_store(&dev->qps, ibqp->qp_num, XA_ZERO_ENTRY, GFP_KERNEL);
	synchronize_rcu_expedited();	/* iw_cm may have found it, without a reference yet */
	iw_mpa_qp_gone(ibqp, &end);

	kref_put(&qp->ref, skel_qp_release);
	wait_for_completion(&qp->free);
	iw_mpa_qp_freed(&end);
	xa_erase(&dev->qps, ibqp->qp_num);
	return 0;
}

/* The device */

static int skel_query_device(struct ib_device *ibdev,
			     struct ib_device_attr *attr, struct ib_udata *udata)
{
	memset(attr, 0, sizeof(*attr));
	attr->max_qp = SKEL_MAX_QPN;
	attr->max_qp_rd_atom = SKEL_MAX_DEPTH;
	attr->max_qp_init_rd_atom = SKEL_MAX_DEPTH;
	attr->kernel_cap_flags = IBK_ALLOW_USER_UNREG;	/* has "rdma link delete" work */
	return 0;
}

static int skel_query_port(struct ib_device *ibdev, u32 port,
			   struct ib_port_attr *attr)
{
	attr->gid_tbl_len = 1;
	attr->max_msg_sz = U32_MAX;
	attr->active_width = IB_WIDTH_1X;
	attr->active_speed = IB_SPEED_SDR;
	return 0;
}

static int skel_get_port_immutable(struct ib_device *ibdev, u32 port,
				   struct ib_port_immutable *immutable)
{
	immutable->gid_tbl_len = 1;
	immutable->core_cap_flags = RDMA_CORE_PORT_IWARP;
	return 0;
}

static int skel_query_gid(struct ib_device *ibdev, u32 port, int index,
			  union ib_gid *gid)
{
	memset(gid, 0, sizeof(*gid));
	memcpy(gid->raw, to_skel_dev(ibdev)->netdev->dev_addr, ETH_ALEN);
	return 0;
}

static void skel_dealloc(struct ib_device *ibdev)
{
	iw_mpa_unregister_device(ibdev);
	xa_destroy(&to_skel_dev(ibdev)->qps);
}

/* iw_connect and its four siblings are not here, since iw_mpa has them. */
static const struct ib_device_ops skel_device_ops = {
	.owner			= THIS_MODULE,
	.driver_id		= SKEL_DRIVER_ID,
	.create_qp		= skel_create_qp,
	.dealloc_driver		= skel_dealloc,
	.destroy_qp		= skel_destroy_qp,
	.get_port_immutable	= skel_get_port_immutable,
	.iw_add_ref		= skel_add_ref,
	.iw_get_qp		= skel_get_qp,
	.iw_rem_ref		= skel_rem_ref,
	.modify_qp		= skel_modify_qp,
	.query_device		= skel_query_device,
	.query_gid		= skel_query_gid,
	.query_port		= skel_query_port,

	INIT_RDMA_OBJ_SIZE(ib_qp, skel_qp, ib),
};

static int skel_register(struct skel_dev *dev, const char *name)
{
	const struct iw_mpa_device_attr attr = {
		.caps		= IW_MPA_CAP_EARLY_RX | IW_MPA_CAP_TX_FENCE,
		.rtr_send	= IW_MPA_RTR_WRITE,
		.rtr_accept	= IW_MPA_RTR_WRITE | IW_MPA_RTR_READ,
		.max_ird	= SKEL_MAX_DEPTH,
		.max_ord	= SKEL_MAX_DEPTH,
	};
	struct ib_device *ibdev = &dev->ibdev;
	int err;

	ib_set_device_ops(ibdev, &skel_device_ops);
	ib_set_device_ops(ibdev, &iw_mpa_ib_device_ops);

	err = ib_device_set_netdev(ibdev, dev->netdev, 1);
	if (err)
		return err;
	err = iw_mpa_register_device(ibdev, dev->netdev, &skel_driver_ops, &attr);
	if (err)
		return err;
	return ib_register_device(ibdev, name, NULL);
}

static int skel_newlink(const char *name, struct net_device *netdev)
{
	struct ib_device *other = ib_device_get_by_netdev(netdev, SKEL_DRIVER_ID);
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
	dev->ibdev.node_type = RDMA_NODE_RNIC;
	dev->ibdev.phys_port_cnt = 1;
	dev->ibdev.num_comp_vectors = 1;
	dev->ibdev.iw_driver_flags = IW_F_NO_PORT_MAP;
	strscpy(dev->ibdev.iw_ifname, netdev->name,
		sizeof(dev->ibdev.iw_ifname));
	addrconf_addr_eui48((u8 *)&dev->ibdev.node_guid, netdev->dev_addr);

	err = skel_register(dev, name);
	if (err)
		ib_dealloc_device(&dev->ibdev);	/* this calls skel_dealloc() */
	return err;
}

static struct rdma_link_ops skel_link_ops = {
	.type		= "iw_mpa_skeleton",
	.newlink	= skel_newlink,
};

/* The device goes with its network device. */
static int skel_netdev_event(struct notifier_block *nb, unsigned long event,
			     void *arg)
{
	struct net_device *netdev = netdev_notifier_info_to_dev(arg);
	struct ib_device *ibdev;

	if (event != NETDEV_UNREGISTER)
		return NOTIFY_DONE;
	ibdev = ib_device_get_by_netdev(netdev, SKEL_DRIVER_ID);
	if (!ibdev)
		return NOTIFY_DONE;
	ib_unregister_device_queued(ibdev);
	ib_device_put(ibdev);
	return NOTIFY_OK;
}

static struct notifier_block skel_netdev_nb = {
	.notifier_call = skel_netdev_event,
};

static int __init skel_init(void)
{
	int err = register_netdevice_notifier(&skel_netdev_nb);

	if (!err)
		rdma_link_register(&skel_link_ops);
	return err;
}

static void __exit skel_exit(void)
{
	rdma_link_unregister(&skel_link_ops);
	unregister_netdevice_notifier(&skel_netdev_nb);
	ib_unregister_driver(SKEL_DRIVER_ID);
}

module_init(skel_init);
module_exit(skel_exit);

MODULE_DESCRIPTION("Skeleton of an RNIC driver on iw_mpa");
MODULE_AUTHOR("The iw_mpa authors");
MODULE_LICENSE("GPL");
MODULE_ALIAS_RDMA_LINK("iw_mpa_skeleton");

// SPDX-License-Identifier: GPL-2.0
/*
 * A device whose hardware is another TCP: a process in another network namespace restores each TCP
 * connection that the device takes over, from iw_mpa's record of it. See takeover.sh.
 *
 *	rdma link add twin0 type iw_mpa_twin netdev eth0
 *
 * The device has one QP, which always exists, and a ULP of its own, on iw_cm. The process that acts
 * as the hardware also commands this ULP to listen and to connect.
 */

#include "twin.h"

#if __has_include(<linux/hex.h>)
#include <linux/hex.h>
#endif
#include <linux/inet.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/slab.h>
#include <net/addrconf.h>
#include <net/inet_connection_sock.h>
#include <net/tcp.h>
#include <rdma/ib_verbs.h>
#include <rdma/iw_cm.h>
#include <rdma/rdma_netlink.h>

#define TWIN_DRIVER_ID	((enum rdma_driver_id)0x74776e)
#define TWIN_QPN	1
#define TWIN_DEPTH	4
#define TWIN_HEX	(16 * 1024)	/* bytes that may arrive early */

static bool thaw;
module_param(thaw, bool, 0644);
MODULE_PARM_DESC(thaw, "control: undo the freeze, against all rules");

static int lacks;
module_param(lacks, int, 0444);
MODULE_PARM_DESC(lacks, "set of TCP options that the device cannot do");

struct twin_dev {
	struct ib_device	ibdev;
	struct net_device	*netdev;
	struct ib_qp		qp;
};

/**
 * struct twin - the one connection, and the listener
 * @lock: protects the fields after it
 * @dev: the device
 * @ep: the endpoint, from prepare() to stop(), two of the driver's ops
 * @takeover: iw_mpa's takeover, from prepare() until the process has written "released"
 * @af_ops: the socket's icsk_af_ops before iw_mpa froze it, for twin_thaw()
 * @thawed: the socket that twin_thaw() has changed, if it was called; from prepare() to stop()
 * @listener: cm_id that listens
 * @cm_id: cm_id of the connection
 */
static struct twin {
	struct mutex		lock;
	struct twin_dev		*dev;
	struct iw_mpa_ep	*ep;
	struct iw_mpa_takeover	*takeover;
	const struct inet_connection_sock_af_ops *af_ops;
	struct socket		*thawed;
	struct iw_cm_id		*listener;
	struct iw_cm_id		*cm_id;
} twin = { .lock = __MUTEX_INITIALIZER(twin.lock) };

/* The driver */

static int twin_hold(struct ib_qp *qp, struct sock *sk)
{
	struct sockaddr_storage local, remote;

	twin.af_ops = inet_csk(sk)->icsk_af_ops;
	kernel_getsockname(sk->sk_socket, (struct sockaddr *)&local);
	kernel_getpeername(sk->sk_socket, (struct sockaddr *)&remote);
	return twin_ask("op hold local=%pISpc remote=%pISpc\n", &local, &remote);
}

static void twin_let_go(struct ib_qp *qp)
{
	twin_ask("op let_go\n");
}

/*
 * Undo what iw_mpa has done to the host's socket so that it neither sends nor receives. This is for
 * takeover.sh's case control_not_frozen, which has to fail: in twin_stop() the socket sends a FIN.
 */
static void twin_thaw(struct sock *sk)
{
	lock_sock(sk);
	WRITE_ONCE(inet_csk(sk)->icsk_af_ops, twin.af_ops);
	RCU_INIT_POINTER(sk->sk_filter, NULL);
	release_sock(sk);
}

static int twin_ask_prepare(const struct iw_mpa_handoff *ho, const char *rx)
{
	const struct iw_mpa_tcb *t = ho->tcb;

	return twin_ask("op prepare local=%pISpc remote=%pISpc snd_una=%u snd_nxt=%u snd_wl1=%u snd_wnd=%u snd_wnd_max=%u rcv_nxt=%u copied_seq=%u rcv_wup=%u rcv_wnd=%u snd_wscale=%u rcv_wscale=%u options=%u mss_clamp=%u advmss=%u mss=%u ts_val=%u ts_tick_us=%u ts_recent=%u mtu=%u lladdr=%pM lladdr_known=%u rx=%s rx_dropped=%u first=%u crc=%d initiator=%d\n",
			&t->local.sa, &t->remote.sa, t->snd_una, t->snd_nxt, t->snd_wl1,
			t->snd_wnd, t->snd_wnd_max, t->rcv_nxt, t->copied_seq, t->rcv_wup,
			t->rcv_wnd, t->snd_wscale, t->rcv_wscale, t->options, t->mss_clamp,
			t->advmss, t->mss, t->ts_val, t->ts_tick_us, t->ts_recent, t->path.mtu,
			t->path.lladdr, t->path.lladdr_known, rx, t->rx_dropped, ho->snd_nxt,
			ho->params->crc, ho->params->initiator);
}

static int twin_prepare(struct ib_qp *qp, const struct iw_mpa_handoff *ho)
{
	char *rx;
	int err;

	if (!ho->tcb || ho->tcb->rx_len > TWIN_HEX)
		return -EINVAL;
	rx = kzalloc(2 * ho->tcb->rx_len + 1, GFP_KERNEL);
	if (!rx)
		return -ENOMEM;
	bin2hex(rx, ho->tcb->rx, ho->tcb->rx_len);
	if (thaw)
		twin_thaw(ho->sock->sk);
	err = twin_ask_prepare(ho, rx);
	kfree(rx);
	if (err)
		return err;
	mutex_lock(&twin.lock);
	twin.ep = ho->ep;
	twin.takeover = ho->takeover;
	twin.thawed = thaw ? ho->sock : NULL;
	mutex_unlock(&twin.lock);
	iw_mpa_stream_watch(ho->takeover, NULL);
	return 0;
}

static int twin_send_reply(struct ib_qp *qp, const void *reply, size_t len)
{
	char *hex = kzalloc(2 * len + 1, GFP_KERNEL);
	int err;

	if (!hex)
		return -ENOMEM;
	bin2hex(hex, reply, len);
	err = twin_ask("op send_reply octets=%s\n", hex);
	kfree(hex);
	return err;
}

static int twin_send_rtr(struct ib_qp *qp, u8 rtr)
{
	return twin_ask("op send_rtr rtr=%u\n", rtr);
}

static void twin_open_tx(struct ib_qp *qp)
{
	twin_ask("op open_tx\n");
}

static void twin_finish_tx(struct ib_qp *qp)
{
	twin_ask("op finish_tx\n");
}

static void twin_stop(struct ib_qp *qp, enum iw_mpa_reason why)
{
	mutex_lock(&twin.lock);
	twin.ep = NULL;
	mutex_unlock(&twin.lock);
	if (twin.thawed)
		kernel_sock_shutdown(twin.thawed, SHUT_WR);
	twin.thawed = NULL;
	twin_ask("op stop why=%d\n", why);
}

static void twin_path_changed(void *priv, const struct iw_mpa_path *path)
{
	twin_tell("event PATH ifindex=%d mtu=%u lladdr=%pM lladdr_known=%u\n", path->ifindex,
		  path->mtu, path->lladdr, path->lladdr_known);
}

static const struct iw_mpa_driver_ops twin_driver_ops = {
	.prepare	= twin_prepare,
	.send_rtr	= twin_send_rtr,
	.open_tx	= twin_open_tx,
	.finish_tx	= twin_finish_tx,
	.stop		= twin_stop,
};

static struct iw_mpa_takeover_ops twin_takeover_ops = {
	.hold		= twin_hold,
	.let_go		= twin_let_go,
	.send_reply	= twin_send_reply,
	.path_changed	= twin_path_changed,
};

/* The ULP */

static const char *twin_event_name(enum iw_cm_event_type type)
{
	static const char * const names[] = {
		"?", "CONNECT_REQUEST", "CONNECT_REPLY", "ESTABLISHED", "DISCONNECT", "CLOSE"
	};

	return type < ARRAY_SIZE(names) ? names[type] : "?";
}

static int twin_accept(struct iw_cm_id *cm_id)
{
	struct iw_cm_conn_param param = {
		.ird = TWIN_DEPTH,
		.ord = 1,
		.qpn = TWIN_QPN,
	};
	int err = twin_ask("op request\n");

	if (err)
		return err;
	mutex_lock(&twin.lock);
	err = twin.cm_id ? -EBUSY : 0;
	if (!err)
		twin.cm_id = cm_id;
	mutex_unlock(&twin.lock);
	if (err)
		return err;	/* for this errno iw_cm destroys the cm_id */
	err = iw_cm_accept(cm_id, &param);
	twin_tell("event accepted status=%d\n", err);
	return 0;
}

/* Also called for inbound connections, whose cm_id begins with the handler of their listener. */
static int twin_cm_event(struct iw_cm_id *cm_id, struct iw_cm_event *event)
{
	twin_tell("event %s status=%d\n", twin_event_name(event->event), event->status);
	return event->event == IW_CM_EVENT_CONNECT_REQUEST ? twin_accept(cm_id) : 0;
}

static int twin_addr(char **args, const char *port, struct sockaddr_storage *addr)
{
	char *text = strsep(args, " ");

	return text ? inet_pton_with_scope(dev_net(twin.dev->netdev), AF_UNSPEC, text, port, addr) :
		      -EINVAL;
}

/* The command "listen ADDRESS PORT" */
static int twin_listen(char *args)
{
	char *address = strsep(&args, " ");
	struct iw_cm_id *id;
	int err;

	if (twin.listener || !args)
		return -EINVAL;
	id = iw_create_cm_id(&twin.dev->ibdev, twin_cm_event, NULL);
	if (IS_ERR(id))
		return PTR_ERR(id);
	err = twin_addr(&address, args, &id->local_addr);
	id->m_local_addr = id->local_addr;
	if (!err)
		err = iw_cm_listen(id, 4);
	if (err)
		iw_destroy_cm_id(id);
	else
		twin.listener = id;
	return err;
}

/* The command "connect LOCAL REMOTE PORT" */
static int twin_connect(char *args)
{
	struct iw_cm_conn_param param = {
		.ird = TWIN_DEPTH,
		.ord = 1,
		.qpn = TWIN_QPN,
	};
	char *local = strsep(&args, " "), *remote = strsep(&args, " ");
	struct iw_cm_id *id;
	int err;

	if (twin.cm_id || !args)
		return -EINVAL;
	id = iw_create_cm_id(&twin.dev->ibdev, twin_cm_event, NULL);
	if (IS_ERR(id))
		return PTR_ERR(id);
	err = twin_addr(&local, "33333", &id->local_addr) ?:
	      twin_addr(&remote, args, &id->remote_addr);
	id->m_local_addr = id->local_addr;
	id->m_remote_addr = id->remote_addr;
	twin.cm_id = id;
	if (!err)
		err = iw_cm_connect(id, &param);
	if (err) {
		twin.cm_id = NULL;
		iw_destroy_cm_id(id);
	}
	return err;
}

static int twin_destroy(struct iw_cm_id **id)
{
	struct iw_cm_id *old = *id;

	*id = NULL;
	if (!old)
		return -ENOENT;
	iw_destroy_cm_id(old);
	return 0;
}

static int twin_released(void)
{
	struct iw_mpa_takeover *takeover;

	mutex_lock(&twin.lock);
	takeover = twin.takeover;
	twin.takeover = NULL;
	mutex_unlock(&twin.lock);
	if (!takeover)
		return -ENOENT;
	iw_mpa_stream_released(takeover);
	return 0;
}

/* Commands that call functions of iw_mpa as a driver does that has taken the TCP stream over */
static int twin_stream_command(const char *verb, int arg)
{
	int err = 0;

	mutex_lock(&twin.lock);
	if (!twin.ep)
		err = -ENOTCONN;
	else if (!strcmp(verb, "first_fpdu"))
		iw_mpa_first_fpdu(twin.ep);
	else if (!strcmp(verb, "peer_closed"))
		iw_mpa_peer_closed(twin.ep, arg);
	else if (!strcmp(verb, "tx_finished"))
		iw_mpa_tx_finished(twin.ep);
	else if (!strcmp(verb, "disconnect"))
		iw_mpa_disconnect(twin.ep, arg);
	else
		err = -EINVAL;
	mutex_unlock(&twin.lock);
	return err;
}

static int twin_command(const char *verb, const char *text)
{
	char *args;
	int arg = 0, err;

	if (!twin.dev)
		return -ENODEV;
	if (!strcmp(verb, "released"))
		return twin_released();
	if (!strcmp(verb, "destroy"))
		return twin_destroy(&twin.cm_id);
	if (!strcmp(verb, "unlisten"))
		return twin_destroy(&twin.listener);
	if (*text && kstrtoint(text, 10, &arg) == 0)
		return twin_stream_command(verb, arg);
	if (!*text)
		return twin_stream_command(verb, 0);
	args = kstrdup(text, GFP_KERNEL);
	if (!args)
		return -ENOMEM;
	err = !strcmp(verb, "listen") ? twin_listen(args) :
	      !strcmp(verb, "connect") ? twin_connect(args) : -EINVAL;
	kfree(args);
	return err;
}

/* The device */

static struct twin_dev *to_twin_dev(struct ib_device *ibdev)
{
	return container_of(ibdev, struct twin_dev, ibdev);
}

static struct ib_qp *twin_get_qp(struct ib_device *ibdev, int qpn)
{
	return qpn == TWIN_QPN ? &to_twin_dev(ibdev)->qp : NULL;
}

/* The QP lives as long as the device, on which iw_cm has a reference. */
static void twin_add_ref(struct ib_qp *qp)
{
}

static void twin_rem_ref(struct ib_qp *qp)
{
}

static int twin_modify_qp(struct ib_qp *qp, struct ib_qp_attr *attr, int mask,
			  struct ib_udata *udata)
{
	if (mask & IB_QP_STATE)
		twin_stream_command("disconnect", attr->qp_state == IB_QPS_ERR);
	return 0;
}

static int twin_query_device(struct ib_device *ibdev, struct ib_device_attr *attr,
			     struct ib_udata *udata)
{
	memset(attr, 0, sizeof(*attr));
	attr->max_qp = 1;
	attr->max_qp_rd_atom = TWIN_DEPTH;
	attr->max_qp_init_rd_atom = TWIN_DEPTH;
	attr->kernel_cap_flags = IBK_ALLOW_USER_UNREG;
	return 0;
}

static int twin_query_port(struct ib_device *ibdev, u32 port, struct ib_port_attr *attr)
{
	attr->gid_tbl_len = 1;
	attr->max_msg_sz = U32_MAX;
	attr->active_width = IB_WIDTH_1X;
	attr->active_speed = IB_SPEED_SDR;
	return 0;
}

static int twin_port_immutable(struct ib_device *ibdev, u32 port,
			       struct ib_port_immutable *immutable)
{
	immutable->gid_tbl_len = 1;
	immutable->core_cap_flags = RDMA_CORE_PORT_IWARP;
	return 0;
}

static int twin_query_gid(struct ib_device *ibdev, u32 port, int index, union ib_gid *gid)
{
	memset(gid, 0, sizeof(*gid));
	memcpy(gid->raw, to_twin_dev(ibdev)->netdev->dev_addr, ETH_ALEN);
	return 0;
}

static void twin_dealloc(struct ib_device *ibdev)
{
	iw_mpa_unregister_device(ibdev);
	twin.dev = NULL;
}

static const struct ib_device_ops twin_device_ops = {
	.owner			= THIS_MODULE,
	.driver_id		= TWIN_DRIVER_ID,
	.dealloc_driver		= twin_dealloc,
	.get_port_immutable	= twin_port_immutable,
	.iw_add_ref		= twin_add_ref,
	.iw_get_qp		= twin_get_qp,
	.iw_rem_ref		= twin_rem_ref,
	.modify_qp		= twin_modify_qp,
	.query_device		= twin_query_device,
	.query_gid		= twin_query_gid,
	.query_port		= twin_query_port,
};

static int twin_register(struct twin_dev *dev, const char *name)
{
	const struct iw_mpa_device_attr attr = {
		.caps		= IW_MPA_CAP_EARLY_RX | IW_MPA_CAP_TX_FENCE,
		.rtr_send	= IW_MPA_RTR_WRITE,
		.rtr_accept	= IW_MPA_RTR_WRITE,
		.max_ird	= TWIN_DEPTH,
		.max_ord	= TWIN_DEPTH,
		.takeover	= &twin_takeover_ops,
	};
	struct ib_device *ibdev = &dev->ibdev;
	int err;

	twin_takeover_ops.tcp_options = IW_MPA_TCP_ALL & ~lacks;
	ib_set_device_ops(ibdev, &twin_device_ops);
	ib_set_device_ops(ibdev, &iw_mpa_ib_device_ops);
	err = ib_device_set_netdev(ibdev, dev->netdev, 1);
	if (!err)
		err = iw_mpa_register_device(ibdev, dev->netdev, &twin_driver_ops, &attr);
	return err ?: ib_register_device(ibdev, name, NULL);
}

static int twin_newlink(const char *name, struct net_device *netdev)
{
	struct twin_dev *dev;
	int err;

	if (twin.dev)
		return -EBUSY;
	dev = ib_alloc_device(twin_dev, ibdev);
	if (!dev)
		return -ENOMEM;
	dev->netdev = netdev;
	dev->qp.device = &dev->ibdev;
	dev->qp.real_qp = &dev->qp;
	dev->qp.qp_num = TWIN_QPN;
	dev->qp.qp_type = IB_QPT_RC;
	dev->ibdev.node_type = RDMA_NODE_RNIC;
	dev->ibdev.phys_port_cnt = 1;
	dev->ibdev.num_comp_vectors = 1;
	dev->ibdev.iw_driver_flags = IW_F_NO_PORT_MAP;
	strscpy(dev->ibdev.iw_ifname, netdev->name, sizeof(dev->ibdev.iw_ifname));
	addrconf_addr_eui48((u8 *)&dev->ibdev.node_guid, netdev->dev_addr);
	twin.dev = dev;
	err = twin_register(dev, name);
	if (err)
		ib_dealloc_device(&dev->ibdev);
	return err;
}

static struct rdma_link_ops twin_link_ops = {
	.type		= "iw_mpa_twin",
	.newlink	= twin_newlink,
};

static int __init twin_init(void)
{
	int err = twin_hw_init(twin_command);

	if (!err)
		rdma_link_register(&twin_link_ops);
	return err;
}

static void __exit twin_exit(void)
{
	rdma_link_unregister(&twin_link_ops);
	ib_unregister_driver(TWIN_DRIVER_ID);
	twin_hw_exit();
}

module_init(twin_init);
module_exit(twin_exit);

MODULE_DESCRIPTION("RNIC whose hardware is another TCP, for tests");
MODULE_AUTHOR("The iw_mpa authors");
MODULE_LICENSE("GPL");
MODULE_ALIAS_RDMA_LINK("iw_mpa_twin");

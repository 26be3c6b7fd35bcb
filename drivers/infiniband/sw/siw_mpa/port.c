// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Functions that siw's files and the RDMA core call in place of siw's own */

#define SIW_MPA_OWN_FILE

#include "siw/siw.h"
#include "siw/siw_verbs.h"

#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/rcupdate.h>
#include <rdma/siw-abi.h>

/* siw's own dealloc_driver, a static function; the same for each device */
static void (*port_siw_dealloc)(struct ib_device *ibdev);

/*
 * May this module be loaded? The RDMA core has one driver for a link type.
 * rdma_link_register() ignores a second one with the same type, but
 * rdma_link_unregister() would remove the second from a list that it is not on.
 * Returns 0, or -EBUSY if siw is loaded; not -EEXIST, which modprobe takes for
 * success.
 */
int siw_cm_init(void)
{
	struct kset *modules = THIS_MODULE->mkobj.kobj.kset;
	struct kobject *siw = kset_find_obj(modules, "siw");

	if (!siw)
		return 0;
	kobject_put(siw);
	pr_err("siw_mpa: siw is loaded, and has the same link type: remove it first\n");
	return -EBUSY;
}

static void port_dealloc(struct ib_device *ibdev)
{
	iw_mpa_unregister_device(ibdev);
	port_siw_dealloc(ibdev);
}

/*
 * iw_get_qp: finds no QP that is being destroyed, so that no connection starts
 * on one. The XArray's lock is not taken: siw takes it with softirqs on, but
 * iw_cm calls this with a lock held that softirqs take. A QP that was found
 * exists for one more grace period: see port_destroy_qp().
 */
static struct ib_qp *port_get_qp(struct ib_device *ibdev, int qpn)
{
	struct ib_qp *found = NULL;
	struct siw_qp *qp;

	rcu_read_lock();
	qp = xa_load(&to_siw_dev(ibdev)->qp_xa, qpn);
	if (qp && !(READ_ONCE(qp->attrs.flags) & SIW_QP_IN_DESTROY))
		found = &qp->base_qp;
	rcu_read_unlock();
	return found;
}

/*
 * End the QP's connection before siw_destroy_qp() frees what siw_mpa's ops for
 * that connection use. iw_cm calls iw_get_qp and takes its reference under one
 * spinlock, an RCU read-side critical section. So after the first of two grace
 * periods each caller that has found the QP has its reference, and
 * iw_mpa_qp_gone() finds its connection. siw_destroy_qp() removes the QP from
 * the XArray, and the RDMA core frees it when this returns: the second grace
 * period is for port_get_qp(), which may still read the QP's flags.
 */
static int port_destroy_qp(struct ib_qp *base_qp, struct ib_udata *udata)
{
	struct siw_qp *qp = to_siw_qp(base_qp);
	struct iw_mpa_qp_end end;
	int err;

	down_write(&qp->state_lock);
	qp->attrs.flags |= SIW_QP_IN_DESTROY;
	up_write(&qp->state_lock);
	synchronize_rcu_expedited();
	iw_mpa_qp_gone(base_qp, &end);
	err = siw_destroy_qp(base_qp, udata);
	synchronize_rcu_expedited();
	iw_mpa_qp_freed(&end);
	return err;
}

/*
 * Applications post into mapped queues, which siw reads only until it has
 * flushed a QP in ERROR. Work requests posted later would never complete, so
 * flush them in each post_send and modify_qp.
 */
static void port_flush_late(struct siw_qp *qp)
{
	if (READ_ONCE(qp->attrs.state) != SIW_QP_STATE_ERROR ||
	    rdma_is_kernel_res(&qp->base_qp.res))
		return;
	down_write(&qp->state_lock);
	siw_sq_flush(qp);
	siw_rq_flush(qp);
	up_write(&qp->state_lock);
}

static int port_post_send(struct ib_qp *base_qp, const struct ib_send_wr *wr,
			  const struct ib_send_wr **bad_wr)
{
	int err = siw_mpa_post_send(base_qp, wr, bad_wr);

	port_flush_late(to_siw_qp(base_qp));
	return err;
}

/*
 * modify_qp: siw must not return a QP to IDLE while it has a connection. For a
 * kernel ULP, INIT and RTR then succeed without effect: rdma_accept() asks for
 * both, and may be called again until iw_cm has handled ESTABLISHED. If it
 * failed, rdma_cm would abort the connection and reject it, and the iw_cm of
 * today's kernels would crash on the event of the abort.
 */
static int port_modify_qp(struct ib_qp *base_qp, struct ib_qp_attr *attr,
			  int mask, struct ib_udata *udata)
{
	struct siw_qp *qp = to_siw_qp(base_qp);
	int err;

	if ((mask & IB_QP_STATE) &&
	    (attr->qp_state == IB_QPS_RESET ||
	     attr->qp_state == IB_QPS_INIT ||
	     attr->qp_state == IB_QPS_RTR) &&
	    READ_ONCE(qp->cep))
		return udata || attr->qp_state == IB_QPS_RESET ? -EINVAL : 0;
	err = siw_verbs_modify_qp(base_qp, attr, mask, udata);
	siw_mpa_look_again(qp);
	port_flush_late(qp);
	return err;
}

/*
 * query_qp: siw of Linux 6.1 does not return the state, no siw returns the type
 * of signalling, and the RDMA core does not zero the structures before the
 * call.
 */
static int port_query_qp(struct ib_qp *base_qp, struct ib_qp_attr *attr,
			 int mask, struct ib_qp_init_attr *init_attr)
{
	const struct siw_qp_attrs *attrs = &to_siw_qp(base_qp)->attrs;
	static const u8 ib_state[SIW_QP_STATE_COUNT] = {
		[SIW_QP_STATE_IDLE]		= IB_QPS_INIT,
		[SIW_QP_STATE_RTR]		= IB_QPS_RTR,
		[SIW_QP_STATE_RTS]		= IB_QPS_RTS,
		[SIW_QP_STATE_CLOSING]		= IB_QPS_SQD,
		[SIW_QP_STATE_TERMINATE]	= IB_QPS_SQE,
		[SIW_QP_STATE_ERROR]		= IB_QPS_ERR,
	};
	int err;

	memset(attr, 0, sizeof(*attr));
	memset(init_attr, 0, sizeof(*init_attr));
	attr->qp_state = ib_state[READ_ONCE(attrs->state)];
	attr->cur_qp_state = attr->qp_state;
	if (!(READ_ONCE(attrs->flags) & SIW_SIGNAL_ALL_WR))
		init_attr->sq_sig_type = IB_SIGNAL_REQ_WR;
	err = siw_query_qp(base_qp, attr, mask, init_attr);
	/* max_rd_atomic is the ORD, max_dest_rd_atomic the IRD. */
	attr->max_rd_atomic = attrs->orq_size;
	attr->max_dest_rd_atomic = attrs->irq_size;
	return err;
}

/* Returns a reference on siw's network device. Kbuild sets SIW_HAS_NETDEV. */
#ifdef SIW_HAS_NETDEV
static struct net_device *port_get_netdev(struct ib_device *ibdev)
{
	dev_hold(to_siw_dev(ibdev)->netdev);
	return to_siw_dev(ibdev)->netdev;
}
#else
static struct net_device *port_get_netdev(struct ib_device *ibdev)
{
	return ib_device_get_netdev(ibdev, 1);
}
#endif

/*
 * siw calls this in place of ib_register_device(). On failure siw calls
 * ib_dealloc_device(), which calls port_dealloc().
 */
int siw_mpa_ib_register(struct ib_device *ibdev, const char *name,
			struct device *dma_device)
{
	struct net_device *netdev;
	int err;

	port_siw_dealloc = ibdev->ops.dealloc_driver;
	ibdev->ops.dealloc_driver = port_dealloc;
	ibdev->ops.iw_get_qp = port_get_qp;
	ibdev->ops.destroy_qp = port_destroy_qp;
	ibdev->ops.modify_qp = port_modify_qp;
	ibdev->ops.query_qp = port_query_qp;
	ibdev->ops.post_send = port_post_send;
	ib_set_device_ops(ibdev, &iw_mpa_ib_device_ops);

	netdev = port_get_netdev(ibdev);
	if (!netdev)
		return -ENODEV;
	err = iw_mpa_register_device(ibdev, netdev, &siw_mpa_driver_ops,
				     &siw_mpa_device_attr);
	dev_put(netdev);
	if (err)
		return err;
	return ib_register_device(ibdev, name, dma_device);
}

/*
 * siw calls this in place of rdma_user_mmap_entry_insert(). libsiw takes one
 * key, SIW_INVAL_UOBJ_KEY, for "no mapping". A process with many QPs would get
 * that key, so keys begin after it.
 */
int siw_mpa_mmap_insert(struct ib_ucontext *ucontext,
			struct rdma_user_mmap_entry *entry, size_t length)
{
	const u32 first = (SIW_INVAL_UOBJ_KEY >> PAGE_SHIFT) + 1;

	return rdma_user_mmap_entry_insert_range(ucontext, entry, length,
						 first, U32_MAX);
}

MODULE_VERSION(IW_MPA_VERSION);

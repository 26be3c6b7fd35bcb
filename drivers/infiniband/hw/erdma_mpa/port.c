// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Where erdma's own files meet iw_mpa: registration, modify and destroy of QPs. */

#define ERDMA_MPA_OWN_FILE

#include "erdma_cm.h"
#include "erdma/erdma.h"
#include "erdma/erdma_verbs.h"

#include <linux/minmax.h>
#include <linux/rcupdate.h>

/*
 * A QP that is in error, or is being destroyed, takes no connection. The array's lock is not taken
 * here: iw_cm's own lock is held, which softirqs may take, and erdma takes the array's with
 * softirqs on. What is found stays for a grace period: see port_destroy_qp().
 */
static struct ib_qp *port_get_qp(struct ib_device *ibdev, int qpn)
{
	struct ib_qp *found = NULL;
	struct erdma_qp *qp;

	rcu_read_lock();
	qp = xa_load(&to_edev(ibdev)->qp_xa, qpn);
	if (qp && READ_ONCE(qp->attrs.state) != ERDMA_QP_STATE_ERROR)
		found = &qp->ibqp;
	rcu_read_unlock();
	return found;
}

/*
 * The error state hides the QP from port_get_qp(), and makes prepare refuse it. If there is a
 * connection, stop sets the state.
 */
static void port_hide_qp(struct erdma_qp *qp)
{
	struct erdma_qp_attrs attrs = { .state = ERDMA_QP_STATE_ERROR };

	down_write(&qp->state_lock);
	if (!qp->cep)
		erdma_modify_qp_internal(qp, &attrs, ERDMA_QP_ATTR_STATE);
	up_write(&qp->state_lock);
}

/*
 * iw_cm finds the QP and takes its reference under one spinlock, which is a reader of RCU. A QP
 * that has a connection is hidden only when that is stopped, hence the second grace period. The
 * last one waits for whoever still reads the state of a QP that erdma has taken off its array.
 */
static int port_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct iw_mpa_qp_end end;
	int err;

	port_hide_qp(to_eqp(ibqp));
	synchronize_rcu_expedited();
	iw_mpa_qp_gone(ibqp, &end);
	synchronize_rcu_expedited();
	err = erdma_destroy_qp(ibqp, udata);
	synchronize_rcu_expedited();
	iw_mpa_qp_freed(&end);
	return err;
}

/* While a connection has the QP, only stop changes its state, after a disconnect. */
static int port_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
			  struct ib_udata *udata)
{
	struct erdma_qp *qp = to_eqp(ibqp);
	bool connected;

	if (!(mask & IB_QP_STATE))
		return erdma_modify_qp(ibqp, attr, mask, udata);
	down_write(&qp->state_lock);
	connected = qp->cep;
	if (connected && (attr->qp_state == IB_QPS_SQD ||
			  attr->qp_state == IB_QPS_SQE ||
			  attr->qp_state == IB_QPS_ERR))
		erdma_qp_cm_drop(qp);
	up_write(&qp->state_lock);
	if (!connected)
		return erdma_modify_qp(ibqp, attr, mask, udata);
	return attr->qp_state < IB_QPS_RTR ? -EINVAL : 0;
}

/**
 * erdma_mpa_ib_register - erdma's ib_register_device()
 * @ibdev: the device, with erdma's ops and its network device
 * @name: its name
 * @dma_device: its PCI device
 *
 * Return: 0 or a negative errno.
 */
int erdma_mpa_ib_register(struct ib_device *ibdev, const char *name,
			  struct device *dma_device)
{
	struct erdma_dev *dev = to_edev(ibdev);
	const struct iw_mpa_device_attr attr = {
		.caps		= IW_MPA_CAP_NO_CRC,
		.rtr_accept	= IW_MPA_RTR_WRITE,
		.max_ird	= min_t(u32, dev->attrs.max_ird, IW_MPA_DEPTH_MAX),
		.max_ord	= min_t(u32, dev->attrs.max_ord, IW_MPA_DEPTH_MAX),
		.pd_size	= sizeof(struct erdma_mpa_pd),
	};
	int err;

	ibdev->ops.iw_get_qp = port_get_qp;
	ibdev->ops.destroy_qp = port_destroy_qp;
	ibdev->ops.modify_qp = port_modify_qp;
	ib_set_device_ops(ibdev, &iw_mpa_ib_device_ops);

	err = iw_mpa_register_device(ibdev, dev->netdev, &erdma_mpa_driver_ops, &attr);
	if (err)
		return err;
	err = ib_register_device(ibdev, name, dma_device);
	if (err)
		iw_mpa_unregister_device(ibdev);
	return err;
}

/**
 * erdma_mpa_ib_unregister - erdma's ib_unregister_device()
 * @ibdev: the device
 */
void erdma_mpa_ib_unregister(struct ib_device *ibdev)
{
	ib_unregister_device(ibdev);
	iw_mpa_unregister_device(ibdev);
}

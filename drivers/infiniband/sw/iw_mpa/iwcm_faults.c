// SPDX-License-Identifier: GPL-2.0
/*
 * Workarounds for faults of iw_cm at iw_accept and iw_reject, without which
 * iw_cm would crash, or wait for ever; and, further down, functions that get
 * from rdma_cm what iw_cm does not report.
 *
 * provider_data of a passive cm_id is a number:
 *
 *	of the connection, odd	until iw_accept has returned: see cm.c
 *	of a QP, even		from then on: the QP of the last iw_accept
 *	0			if iw_accept has failed, or has not returned
 *				when iw_reject begins
 *
 * iw_cm lets a ULP accept a connection again until iw_cm has handled
 * ESTABLISHED. At a further accept iw_cm takes a reference on the QP of the new
 * call, and forgets its reference on the QP of the call before. If iw_accept
 * returned an error, iw_cm would assume that no event follows, and crash on the
 * event. So a further iw_accept returns success, and drops the forgotten
 * reference, even if the connection has ended and the endpoint is freed.
 * provider_data has the number of the QP of the call before, which no other QP
 * can get while the reference exists.
 *
 * The driver waits for the forgotten reference before it frees the QP, but its
 * iw_get_qp may not find the QP any more. From iw_mpa_qp_gone() on the QP is in
 * the list faults_ending_qps: iw_mpa finds it there, and drops the reference.
 * Before that iw_mpa records the reference as leaked, and iw_mpa_qp_gone()
 * drops it.
 *
 * Accepts of one cm_id do not overlap: the callers of rdma_cm ensure that.
 * iw_reject may overlap with iw_accept. When iw_cm calls iw_reject, the cm_id
 * has left CONN_RECV, the only state in which iw_cm accepts an error of
 * iw_accept; in other states it has a BUG_ON(). So iw_reject first sets
 * provider_data to 0, and an iw_accept that finds provider_data changed returns
 * 0. iw_cm then expects no event.
 *
 * This covers an iw_reject that begins before iw_accept has replaced the number
 * in provider_data. It cannot cover an iw_reject that begins later, while
 * iw_accept returns an error. rdma_ucm has one mutex for both calls, and iw_cm
 * waits for the end of iw_accept before it destroys a cm_id. So this concerns
 * only a ULP in the kernel: it must not reject a connection while its own
 * rdma_accept() runs.
 */

#include "iwcm.h"
#include "config.h"
#include "device.h"
#include "ep.h"
#include "stats.h"

#include <linux/netdevice.h>
#include <linux/list.h>
#include <linux/printk.h>
#include <linux/ratelimit.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <rdma/ib_verbs.h>
#include <rdma/iw_cm.h>
#include <rdma/rdma_cm.h>

/**
 * struct faults_debt - a leaked reference on a QP that iw_get_qp does not find
 * @node: in faults_debts
 * @dev: the device of the QP
 * @qpn: number of the QP, for which its driver will call iw_mpa_qp_gone()
 */
struct faults_debt {
	struct list_head	node;
	struct iw_mpa_device	*dev;
	u32			qpn;
};

/* Protects faults_debts and faults_ending_qps; process context only */
static DEFINE_SPINLOCK(faults_lock);
static LIST_HEAD(faults_debts);
/* QPs that are being destroyed, from iw_mpa_qp_gone() to iw_mpa_qp_freed() */
static LIST_HEAD(faults_ending_qps);

static unsigned long faults_word(const struct iw_cm_id *id)
{
	return (unsigned long)READ_ONCE(id->provider_data);
}

/* Return: false, without a change, if provider_data is not @from any more. */
static bool faults_change_word(struct iw_cm_id *id, unsigned long from,
			       unsigned long to)
{
	void *old = (void *)from;

	return cmpxchg(&id->provider_data, old, (void *)to) == old;
}

static bool faults_is_connection(unsigned long word)
{
	return word & 1;
}

/* QP numbers have 24 bits, so this does not overflow. */
static unsigned long faults_of_qp(u32 qpn)
{
	return ((unsigned long)qpn + 1) << 1;
}

static u32 faults_qpn(unsigned long word)
{
	return (word >> 1) - 1;
}

/**
 * struct faults_search - a search for the endpoint that raises a cm_id's events
 * @id: the cm_id
 * @found: the endpoint, with a reference, or NULL
 */
struct faults_search {
	const struct iw_cm_id	*id;
	struct iw_mpa_ep	*found;
};

static void faults_look(struct iw_mpa_ep *ep, void *arg)
{
	struct faults_search *search = arg;

	/*
	 * Pairs with WRITE_ONCE() in iw_mpa_upcall_expect(). The endpoint has a
	 * reference on its cm_id: no other cm_id has that memory address.
	 */
	if (!search->found && READ_ONCE(ep->up.cm_id) == search->id &&
	    kref_get_unless_zero(&ep->ref))
		search->found = ep;
}

/*
 * @word is provider_data. If it is the number of a QP, all endpoints are
 *	searched: that may take long, but few ULPs answer a connection twice.
 *
 * Return: the connection of a passive cm_id, referenced; NULL if it has ended.
 */
static struct iw_mpa_ep *faults_find(const struct iw_cm_id *id,
				     unsigned long word)
{
	struct faults_search search = { .id = id };
	unsigned int i;

	if (faults_is_connection(word))
		return iw_mpa_ep_find(word);
	for (i = 0; word && i < IW_MPA_EP_BUCKETS && !search.found; i++) {
		iw_mpa_ep_look(i, faults_look, &search);
		cond_resched();
	}
	return search.found;
}

/*
 * Record a leaked reference (debt) on a QP that iw_get_qp does not find: the QP
 * is being destroyed, or its driver hides it already.
 *
 * The record must not be lost, and iw_accept has no way to fail. Memory for the
 * record cannot be reserved with the connection of a QP, since iw_cm may forget
 * any number of references on a QP, even on one that never had a connection. So
 * the allocation waits until there is memory.
 */
static void faults_owe(struct iw_mpa_device *dev, u32 qpn)
{
	struct faults_debt *debt = kmalloc_obj(*debt, GFP_NOIO | __GFP_NOFAIL);
	struct iw_mpa_qp_end *end;
	struct ib_qp *qp = NULL;

	debt->dev = dev;
	debt->qpn = qpn;
	spin_lock(&faults_lock);
	list_for_each_entry(end, &faults_ending_qps, node) {
		if (end->dev == dev && end->qp->qp_num == qpn)
			qp = end->qp;
	}
	if (!qp)
		list_add(&debt->node, &faults_debts);
	spin_unlock(&faults_lock);
	if (qp) {	/* not freed: destroy_qp waits for this reference */
		kfree(debt);
		dev->ibdev->ops.iw_rem_ref(qp);
	}
}

/* Drop a leaked reference on a QP, now or when iw_mpa_qp_gone() is called. */
static void faults_put_qp(struct iw_mpa_device *dev, u32 qpn)
{
	struct ib_qp *qp = dev->get_qp(dev->ibdev, qpn);

	if (qp)
		dev->ibdev->ops.iw_rem_ref(qp);
	else
		faults_owe(dev, qpn);
}

/*
 * Handle an iw_accept whose @word (provider_data) is not a connection's number.
 * If @word is 0, iw_reject has begun, and there is nothing to do. If @word has
 * the number of a QP, this is a further accept: iw_cm has replaced its
 * reference on that QP by one on QP @qpn. If QP @qpn is not the connection's
 * QP, the connection ends: otherwise a disconnect would make iw_cm modify QP
 * @qpn, not the connection's, and iw_cm would hold QP @qpn as long as the
 * connection exists.
 */
int iw_mpa_iwcm_accept_again(struct iw_cm_id *id, unsigned long word, u32 qpn)
{
	struct iw_mpa_device *dev;
	struct iw_mpa_ep *ep;

	if (!word)
		return 0;
	dev = iw_mpa_device_get(id->device);
	if (!dev)
		return 0;	/* device removed: iw_cm must not call then */
	iw_mpa_count_for(dev->stats, IW_MPA_CNT_accepted_again);
	faults_change_word(id, word, faults_of_qp(qpn));
	faults_put_qp(dev, faults_qpn(word));
	ep = faults_find(id, word);
	if (ep && ep->off.qpn != qpn)
		iw_mpa_raise(ep, IW_MPA_EV_ULP_ABORTED);
	if (ep)
		iw_mpa_ep_drop(ep);
	iw_mpa_device_put(dev);
	return 0;
}

/* Return: what iw_accept has to return for @err: 0 if iw_reject has begun. */
int iw_mpa_iwcm_accepted(struct iw_cm_id *id, unsigned long word, int err,
			 u32 qpn)
{
	if (!faults_change_word(id, word, err ? 0 : faults_of_qp(qpn)))
		return 0;
	return err;
}

/*
 * iw_reject begins: iw_cm expects no event of the connection any more.
 *
 * Return: the connection, with a reference; NULL if it has ended.
 */
struct iw_mpa_ep *iw_mpa_iwcm_find(struct iw_cm_id *id)
{
	unsigned long word = faults_word(id);

	/* Pairs with iw_mpa_iwcm_accepted(). */
	if (faults_is_connection(word) && !faults_change_word(id, word, 0))
		word = faults_word(id);
	return faults_find(id, word);
}

/*
 * destroy_qp has begun: from now on faults_owe() finds the QP in the list
 * faults_ending_qps. Drop the references on the QP that were leaked before.
 */
void iw_mpa_iwcm_qp_gone(struct iw_mpa_qp_end *end)
{
	struct faults_debt *debt, *next;
	LIST_HEAD(paid);

	spin_lock(&faults_lock);
	list_add(&end->node, &faults_ending_qps);
	list_for_each_entry_safe(debt, next, &faults_debts, node) {
		if (debt->dev == end->dev && debt->qpn == end->qp->qp_num)
			list_move(&debt->node, &paid);
	}
	spin_unlock(&faults_lock);
	list_for_each_entry_safe(debt, next, &paid, node) {
		end->qp->device->ops.iw_rem_ref(end->qp);
		kfree(debt);
	}
}

void iw_mpa_iwcm_qp_freed(struct iw_mpa_qp_end *end)
{
	spin_lock(&faults_lock);
	list_del(&end->node);
	spin_unlock(&faults_lock);
}

/* A device is being freed, with all its QPs: free the records about them. */
void iw_mpa_iwcm_device_gone(const struct iw_mpa_device *dev)
{
	struct faults_debt *debt, *next;

	spin_lock(&faults_lock);
	list_for_each_entry_safe(debt, next, &faults_debts, node) {
		if (debt->dev == dev) {
			list_del(&debt->node);
			kfree(debt);
		}
	}
	spin_unlock(&faults_lock);
}

/*
 * Neither a cm_id nor a function of iw_cm gives the interface and the network
 * namespace that rdma_cm has chosen. But iw_cm has one client, rdma_cm: the
 * context of a cm_id is rdma_cm's private structure, which begins with a struct
 * rdma_cm_id. Before the rdma_cm_id is used, its device and address are
 * compared with those of the cm_id, into which rdma_cm has copied them. If they
 * differ, the context is no rdma_cm_id.
 *
 * Call this only within iw_connect and iw_create_listen: rdma_cm holds the
 * rdma_cm_id until these have returned.
 *
 * Return: the rdma_cm_id of a ULP that connects or listens; NULL if unknown.
 */
static struct rdma_cm_id *faults_owner(struct iw_cm_id *id)
{
	const union iw_mpa_addr *addr = iw_mpa_addr(&id->local_addr);
	size_t size = addr->sa.sa_family == AF_INET ? sizeof(addr->in) :
						      sizeof(addr->in6);
	struct rdma_cm_id *owner = id->context;

	if (!iw_mpa_addr_is_known(addr) || !owner ||
	    owner->device != id->device ||
	    memcmp(&owner->route.addr.src_addr, addr, size))
		return NULL;
	return owner;
}

/*
 * Return: true if the ULP of a listening cm_id is known to be in another
 * network namespace than the device. @net: that of the device, NULL if being
 * destroyed.
 *
 * rdma_cm makes a wildcard listener on the devices of all network namespaces,
 * also on a device that is added later, in the context of the task that adds
 * it. So neither the device nor the current task shows the namespace of the
 * ULP. If rdma_cm does not show it either, the ULP is assumed to be in the
 * device's namespace. Call this only within iw_create_listen.
 */
bool iw_mpa_iwcm_is_foreign(struct iw_cm_id *id, const struct net *net)
{
	const struct rdma_cm_id *owner = faults_owner(id);

	return owner && !net_eq(owner->route.addr.dev_addr.net, net);
}

/* The log helps an administrator who looks for sockets in @dev's namespace. */
static void faults_log_lent(struct iw_mpa_device *dev)
{
	if (READ_ONCE(dev->lent))
		return;
	WRITE_ONCE(dev->lent, true);
	pr_notice("iw_mpa: %s: is used from another network namespace, in which an interface has the hardware address of %s\n",
		  dev_name(&dev->ibdev->dev), netdev_name(dev->netdev));
}

/*
 * The network namespace for a socket that is not bound to the device's
 * interface: that of the ULP, whose addresses and routes apply. Mostly the
 * device is in it as well. But rdma_cm before Linux 6.5 finds a device by its
 * hardware address, which an interface in another namespace, such as an IPVLAN,
 * may share; and a cm_id stays valid if its device is moved to another
 * namespace. Call this only within iw_connect and iw_create_listen.
 *
 * Return: the ULP's network namespace or, if unknown, the device's, with a
 * reference; NULL if the ULP's is unknown and the device's is being destroyed.
 */
struct net *iw_mpa_iwcm_get_net(struct iw_mpa_device *dev, struct iw_cm_id *id)
{
	const struct rdma_cm_id *owner = faults_owner(id);
	struct net *net;

	if (!owner)
		return iw_mpa_device_get_net(dev);
	/* rdma_cm has a reference, so the namespace is not being freed. */
	net = get_net(owner->route.addr.dev_addr.net);
	if (!net_eq(net, dev_net(dev->netdev)))
		faults_log_lent(dev);
	return net;
}

/*
 * The interface that rdma_cm has chosen: it has the local address, or the route
 * uses it. The device of the cm_id may belong to another interface: to one with
 * the same hardware address, to a VLAN of the chosen interface, or to the
 * interface of which the chosen one is a VLAN. Call this only within iw_connect
 * and iw_create_listen.
 *
 * Return: index of the interface in the ULP's namespace; 0 if none or unknown
 */
int iw_mpa_iwcm_ifindex(struct iw_cm_id *id)
{
	const struct rdma_cm_id *owner = faults_owner(id);

	return owner ? owner->route.addr.dev_addr.bound_dev_if : 0;
}

/*
 * Make rdma_cm assign a wildcard listener's Requests to the listener's device.
 *
 * At a CONNECT_REQUEST rdma_cm looks for the device of the new connection. It
 * begins with the device and the RDMA port number of the listening rdma_cm_id,
 * and goes on with all other devices that the local address fits: several may
 * have the same hardware address. But the rdma_cm_id that rdma_cm makes for a
 * wildcard listener on each device has no port number. So rdma_cm would begin
 * with other devices, and the ULP's QP would be on one of these. This function
 * sets the port number. Call it only within iw_create_listen, before the first
 * Request.
 */
void iw_mpa_iwcm_keep_requests(struct iw_cm_id *id)
{
	struct rdma_cm_id *owner = faults_owner(id);

	if (owner && !owner->port_num &&
	    iw_mpa_addr_is_any(iw_mpa_addr(&id->local_addr)))
		owner->port_num = rdma_start_port(id->device);
}

/* Return: true if two addresses are equal, or differ only in the port. */
static bool faults_is_same_host(const union iw_mpa_addr *one,
				const union iw_mpa_addr *other)
{
	if (one->sa.sa_family != other->sa.sa_family ||
	    !iw_mpa_addr_is_known(one))
		return false;
	if (one->sa.sa_family == AF_INET)
		return one->in.sin_addr.s_addr == other->in.sin_addr.s_addr;
	return ipv6_addr_equal(&one->in6.sin6_addr, &other->in6.sin6_addr);
}

/*
 * The device that rdma_cm has chosen for a connection to a listener; the QP
 * with which the ULP accepts belongs to it. rdma_cm has copied both addresses
 * of the connection into the rdma_cm_id: if they differ from those of @id, the
 * context of @id is not an rdma_cm_id. Ports are not compared: a port mapper
 * may have changed them.
 *
 * Call this only within iw_accept, where the ULP holds the rdma_cm_id, not
 * within iw_reject.
 *
 * Return: the device that rdma_cm has chosen; that of @id if unknown.
 */
static const struct ib_device *faults_device(struct iw_cm_id *id)
{
	struct rdma_cm_id *owner = id->context;
	struct rdma_addr *addr;

	if (!owner)
		return id->device;
	addr = &owner->route.addr;
	if (!faults_is_same_host(iw_mpa_addr(&addr->src_addr),
				 iw_mpa_addr(&id->m_local_addr)) ||
	    !faults_is_same_host(iw_mpa_addr(&addr->dst_addr),
				 iw_mpa_addr(&id->m_remote_addr)))
		return id->device;
	/* NULL if rdma_cm is removing the device */
	return READ_ONCE(owner->device) ?: id->device;
}

/*
 * A responder's connection belongs to the listener's device, and the ULP has
 * made its QP on the device that rdma_cm has chosen. If these two devices
 * differ, the number of the QP is invalid on the listener's device, or is that
 * of another ULP's QP. For an initiator both are one device. Called within
 * iw_connect and iw_accept, before the QP is bound.
 *
 * Return: 0; -EINVAL if the two devices differ, with ep->reason set.
 */
int iw_mpa_iwcm_check_device(struct iw_mpa_ep *ep)
{
	struct iw_mpa_device *dev = ep->dev;
	const struct ib_device *chosen;

	chosen = ep->initiator ? dev->ibdev : faults_device(ep->call->id);
	if (chosen == dev->ibdev)
		return 0;
	iw_mpa_ep_set_reason(ep, IW_MPA_R_WRONG_DEVICE, -EINVAL);
	if (READ_ONCE(ep->config->log) &&
	    ___ratelimit(&dev->log_limit, "iw_mpa"))
		pr_notice("iw_mpa: %s: connection %lu: rdma_cm chose %s for a connection to %pISc\n",
			  dev_name(&dev->ibdev->dev), ep->id,
			  dev_name(&chosen->dev), &ep->tuple.local.sa);
	return -EINVAL;
}

// SPDX-License-Identifier: GPL-2.0
/* Per-CPU counters, also for sysfs, and srnic's part of "rdma resource show" */

#include "stats.h"
#include "srnic.h"

#include <linux/slab.h>
#include <net/netlink.h>
#include <rdma/ib_pma.h>
#include <rdma/restrack.h>
#include <uapi/rdma/rdma_netlink.h>

#define STATS_COUNT	(SRNIC_CNT_COUNT + SRNIC_ERR_COUNT - 1)

static const char * const stats_names[SRNIC_CNT_COUNT] = {
#define X(name, text) [SRNIC_CNT_##name] = #name,
	SRNIC_COUNTERS(X)
#undef X
};

static const char * const stats_err_names[SRNIC_ERR_COUNT] = {
#define X(name, etype, code, form, tell, text)	\
	[SRNIC_ERR_##name] = "err_" #name,
	SRNIC_ERRORS(X)
#undef X
};

struct workqueue_struct *srnic_wq;
struct workqueue_struct *srnic_user_wq;
struct workqueue_struct *srnic_event_wq;

void srnic_stats_free(struct srnic_dev *dev)
{
	kfree(dev->stat_descs);
	free_percpu(dev->stats);
}

/* Names of counters: iw_mpa's, of connections, then those of the data path */
static int stats_make_descs(struct srnic_dev *dev)
{
	struct rdma_hw_stats *library;
	struct rdma_stat_desc *desc;
	int i, n;

	if (dev->stat_descs)
		return 0;
	library = iw_mpa_ib_device_ops.alloc_hw_port_stats(&dev->ibdev, 1);
	if (!library)
		return -ENOMEM;
	n = library->num_counters;
	desc = kcalloc(n + STATS_COUNT, sizeof(*desc), GFP_KERNEL);
	if (desc) {
		dev->stat_descs = desc;
		dev->library_stats = n;
		memcpy(desc, library->descs, n * sizeof(*desc));
		desc += n;
		for (i = 0; i < SRNIC_CNT_COUNT; i++)
			desc++->name = stats_names[i];
		for (i = SRNIC_ERR_NONE + 1; i < SRNIC_ERR_COUNT; i++)
			desc++->name = stats_err_names[i];
	}
	rdma_free_hw_stats_struct(library);
	return desc ? 0 : -ENOMEM;
}

/* A device has one table of counters: those of iw_mpa, then those of srnic. */
struct rdma_hw_stats *srnic_alloc_hw_port_stats(struct ib_device *ibdev,
						u32 port_num)
{
	struct srnic_dev *dev = to_srnic_dev(ibdev);

	if (stats_make_descs(dev))
		return NULL;
	return rdma_alloc_hw_stats_struct(dev->stat_descs,
					  dev->library_stats + STATS_COUNT,
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

/* The sum over all CPUs; it has the counter's type, and wraps as that does. */
static unsigned long stats_sum(const unsigned long __percpu *counter)
{
	unsigned long sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(*per_cpu_ptr(counter, cpu));
	return sum;
}

/*
 * Read all counters. Nothing is allocated, which could fail: Linux 6.1's RDMA
 * core leaks its tables if this function fails while a device is registered.
 */
int srnic_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats,
		       u32 port_num, int index)
{
	struct srnic_dev *dev = to_srnic_dev(ibdev);
	int i, n;

	n = iw_mpa_ib_device_ops.get_hw_stats(ibdev, stats, port_num, index);
	if (n < 0)
		return n;
	for (i = 0; i < SRNIC_CNT_COUNT; i++)
		stats->value[n++] = stats_sum(&dev->stats->counter[i]);
	for (i = SRNIC_ERR_NONE + 1; i < SRNIC_ERR_COUNT; i++)
		stats->value[n++] = stats_sum(&dev->stats->err[i]);
	return n;
}

/* Data is in units of 4 bytes, as InfiniBand counts; a packet is an FPDU. */
static void stats_fill_pma(const struct srnic_stats __percpu *stats,
			   struct ib_pma_portcounters_ext *pma)
{
#define STATS_SUM(name) stats_sum(&stats->counter[SRNIC_CNT_##name])
	pma->port_xmit_data = cpu_to_be64(STATS_SUM(tx_octets) / 4);
	pma->port_rcv_data = cpu_to_be64(STATS_SUM(rx_octets) / 4);
	pma->port_xmit_packets = cpu_to_be64(STATS_SUM(tx_fpdus));
	pma->port_rcv_packets = cpu_to_be64(STATS_SUM(rx_fpdus));
#undef STATS_SUM
	pma->port_unicast_xmit_packets = pma->port_xmit_packets;
	pma->port_unicast_rcv_packets = pma->port_rcv_packets;
}

/* As stats_fill_pma(), in 32-bit counters: larger values become U32_MAX. */
static void stats_fill_short_pma(const struct srnic_stats __percpu *stats,
				 struct ib_pma_portcounters *pma)
{
	struct ib_pma_portcounters_ext ext;

	stats_fill_pma(stats, &ext);
#define STATS_CUT(name) \
	cpu_to_be32(min_t(u64, be64_to_cpu(ext.name), U32_MAX))
	pma->port_xmit_data = STATS_CUT(port_xmit_data);
	pma->port_rcv_data = STATS_CUT(port_rcv_data);
	pma->port_xmit_packets = STATS_CUT(port_xmit_packets);
	pma->port_rcv_packets = STATS_CUT(port_rcv_packets);
#undef STATS_CUT
}

/*
 * The RDMA core calls this for ports/1/counters in sysfs, which monitoring
 * tools read for every RDMA device. iWARP has no management datagrams, so @in
 * is always the core's, never a peer's. The counters of link errors are always
 * 0.
 */
int srnic_process_mad(struct ib_device *ibdev, int flags, u32 port_num,
		      const struct ib_wc *wc, const struct ib_grh *grh,
		      const struct ib_mad *in, struct ib_mad *out,
		      size_t *out_size, u16 *out_pkey_index)
{
	const struct srnic_stats __percpu *stats = to_srnic_dev(ibdev)->stats;
	struct ib_pma_mad *pma = (struct ib_pma_mad *)out;
	struct ib_class_port_info *info = (struct ib_class_port_info *)pma->data;

	BUILD_BUG_ON(sizeof(*pma) != sizeof(*out));
	memset(out, 0, sizeof(*out));
	if (in->mad_hdr.mgmt_class != IB_MGMT_CLASS_PERF_MGMT ||
	    in->mad_hdr.method != IB_MGMT_METHOD_GET)
		return IB_MAD_RESULT_FAILURE;
	switch (in->mad_hdr.attr_id) {
	case IB_PMA_CLASS_PORT_INFO:
		/* Counters are longs: 64 bits only on 64-bit kernels. */
		if (IS_ENABLED(CONFIG_64BIT))
			info->capability_mask = IB_PMA_CLASS_CAP_EXT_WIDTH;
		break;
	case IB_PMA_PORT_COUNTERS:
		stats_fill_short_pma(stats, (void *)pma->data);
		break;
	case IB_PMA_PORT_COUNTERS_EXT:
		stats_fill_pma(stats, (void *)pma->data);
		break;
	default:
		return IB_MAD_RESULT_FAILURE;
	}
	return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY;
}

/* For display only: the number may change while it is read. */
#define show_now(number)	data_race(number)

static int show_end(struct sk_buff *msg, struct nlattr *table, int err)
{
	if (err) {
		nla_nest_cancel(msg, table);
		return -EMSGSIZE;
	}
	nla_nest_end(msg, table);
	return 0;
}

/* The first comment of sq.c says what the indices of a send queue mean. */
int srnic_fill_res_qp(struct sk_buff *msg, struct ib_qp *ibqp)
{
	struct srnic_qp *qp = to_srnic_qp(ibqp);
	struct nlattr *table = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
	int err;

	if (!table)
		return -EMSGSIZE;
	err = rdma_nl_put_driver_u32(msg, "sq_size", qp->sq.size) ?:
	      rdma_nl_put_driver_u32(msg, "sq_put", show_now(qp->sq.put)) ?:
	      rdma_nl_put_driver_u32(msg, "sq_next", show_now(qp->sq.next)) ?:
	      rdma_nl_put_driver_u32(msg, "sq_sent", show_now(qp->sq.sent)) ?:
	      rdma_nl_put_driver_u32(msg, "sq_get", show_now(qp->sq.get)) ?:
	      rdma_nl_put_driver_u32(msg, "reads", show_now(qp->sq.reads)) ?:
	      rdma_nl_put_driver_u32(msg, "ord", show_now(qp->params.ord)) ?:
	      rdma_nl_put_driver_u32(msg, "ird", show_now(qp->irq.ird)) ?:
	      rdma_nl_put_driver_u32(msg, "rq_size", qp->rq.size) ?:
	      rdma_nl_put_driver_u32(msg, "rq_get", show_now(qp->rq.get)) ?:
	      rdma_nl_put_driver_u32(msg, "tx_batch",
				     show_now(qp->tx.batch.len)) ?:
	      rdma_nl_put_driver_u32(msg, "err", show_now(qp->fault.err));
	return show_end(msg, table, err);
}

int srnic_fill_res_cq(struct sk_buff *msg, struct ib_cq *ibcq)
{
	struct srnic_cq *cq = to_srnic_cq(ibcq);
	struct nlattr *table = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
	int err;

	if (!table)
		return -EMSGSIZE;
	err = rdma_nl_put_driver_u32(msg, "put", show_now(cq->put)) ?:
	      rdma_nl_put_driver_u32(msg, "get", show_now(cq->get)) ?:
	      rdma_nl_put_driver_u32(msg, "overflowed",
				     show_now(cq->overflowed));
	return show_end(msg, table, err);
}

int srnic_fill_res_mr(struct sk_buff *msg, struct ib_mr *ibmr)
{
	struct srnic_mr *mr = to_srnic_mr(ibmr);
	struct nlattr *table = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
	int err;

	if (!table)
		return -EMSGSIZE;
	err = rdma_nl_put_driver_u32(msg, "kind", mr->kind) ?:
	      rdma_nl_put_driver_u32(msg, "valid", show_now(mr->valid)) ?:
	      rdma_nl_put_driver_u32_hex(msg, "access", show_now(mr->access));
	return show_end(msg, table, err);
}

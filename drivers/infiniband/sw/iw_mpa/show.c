// SPDX-License-Identifier: GPL-2.0
/*
 * What there is, for people and their scripts: debugfs iw_mpa/endpoints and
 * iw_mpa/listeners, and the counters of "rdma statistic show link".
 *
 * A file is a snapshot: copied under the device's lock, written out without.
 */

#include "show.h"
#include "device.h"
#include "ep.h"
#include "listen.h"
#include "rnic.h"
#include "stats.h"

#include <linux/debugfs.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/netdevice.h>
#include <linux/overflow.h>
#include <linux/seq_file.h>
#include <rdma/ib_verbs.h>
#include <rdma/iw_cm.h>

/* An endpoint as it was */
struct show_ep {
	struct iw_mpa_tuple	tuple;
	struct iw_mpa_params	params;
	unsigned long		born;
	u32			qpn;
	u8			state;
	bool			initiator;
};

static const char * const show_states[] = {
#define X(name, timer) [IW_MPA_ST_##name] = #name,
	IW_MPA_STATES(X)
#undef X
};

static void show_copy_ep(struct iw_mpa_ep *ep, struct show_ep *row)
{
	row->tuple = ep->tuple;
	row->born = ep->born;
	row->initiator = ep->initiator;
	row->state = READ_ONCE(ep->state);
	/* The runner may be writing both: */
	row->qpn = data_race(ep->qpn);
	/* what is shown is not relied on. */
	row->params = data_race(ep->params);
}

static size_t show_copy_list(struct list_head *list, struct show_ep *rows,
			     size_t n, size_t max)
{
	struct iw_mpa_ep *ep;

	list_for_each_entry(ep, list, node) {
		/* Taken from TCP, and its addresses not asked for yet */
		if (!ep->tuple.local.sa.sa_family)
			continue;
		if (n < max)
			show_copy_ep(ep, &rows[n]);
		n++;
	}
	return n;
}

/* Copy at most @max endpoints of a device; how many there are is returned. */
static size_t show_copy_eps(struct iw_mpa_device *dev, struct show_ep *rows,
			    size_t max)
{
	size_t n;

	spin_lock(&dev->lock);
	n = show_copy_list(&dev->half_open, rows, 0, max);
	n = show_copy_list(&dev->eps, rows, n, max);
	spin_unlock(&dev->lock);
	return n;
}

static void show_device(struct seq_file *seq, const struct iw_mpa_device *dev)
{
	seq_printf(seq, "dev=%s netns=%u", dev_name(&dev->ibdev->dev),
		   dev_net(dev->netdev)->ns.inum);
}

static void show_rtr(struct seq_file *seq, u8 rtr)
{
	seq_printf(seq, " rtr=%s%s%s%s", rtr ? "" : "none",
		   rtr & IW_MPA_RTR_SEND ? "S" : "",
		   rtr & IW_MPA_RTR_WRITE ? "W" : "",
		   rtr & IW_MPA_RTR_READ ? "R" : "");
}

static void show_ep(struct seq_file *seq, const struct iw_mpa_device *dev,
		    const struct show_ep *row)
{
	const struct iw_mpa_params *params = &row->params;

	show_device(seq, dev);
	seq_printf(seq, " role=%s state=%s local=%pISpc remote=%pISpc age_ms=%llu qpn=%u",
		   row->initiator ? "initiator" : "responder",
		   show_states[row->state], &row->tuple.local.sa,
		   &row->tuple.remote.sa, jiffies64_to_msecs(jiffies - row->born),
		   row->qpn);
	seq_printf(seq, " rev=%u crc=%d tx_markers=%d rx_markers=%d", params->rev,
		   params->crc, params->tx_markers, params->rx_markers);
	show_rtr(seq, params->rtr);
	seq_printf(seq, " ird=%u ord=%u peer_ird=%u peer_ord=%u\n", params->ird,
		   params->ord, params->peer_ird, params->peer_ord);
}

static int show_eps_of(struct iw_mpa_device *dev, void *arg)
{
	size_t i, n, max = show_copy_eps(dev, NULL, 0);
	struct show_ep *rows;

	rows = kvmalloc_array(max, sizeof(*rows), GFP_KERNEL);
	if (!rows)
		return -ENOMEM;
	n = min(show_copy_eps(dev, rows, max), max);
	for (i = 0; i < n; i++)
		show_ep(arg, dev, &rows[i]);
	kvfree(rows);
	return 0;
}

static int endpoints_show(struct seq_file *seq, void *unused)
{
	return iw_mpa_device_for_each(show_eps_of, seq);
}
DEFINE_SHOW_ATTRIBUTE(endpoints);

/* Under the device's lock: there are few, and seq_file does not sleep. */
static int show_listeners_of(struct iw_mpa_device *dev, void *arg)
{
	struct iw_mpa_listener *lis;

	spin_lock(&dev->lock);
	list_for_each_entry(lis, &dev->listeners, node) {
		show_device(arg, dev);
		seq_printf(arg, " local=%pISpc backlog=%d socket=%s\n",
			   &lis->id->m_local_addr, lis->backlog,
			   lis->sock.sock ? "yes" : "no");
	}
	spin_unlock(&dev->lock);
	return 0;
}

static int listeners_show(struct seq_file *seq, void *unused)
{
	return iw_mpa_device_for_each(show_listeners_of, seq);
}
DEFINE_SHOW_ATTRIBUTE(listeners);

/* Connections of a device: what became of them, then why they ended. */
#define SHOW_FIRST		IW_MPA_CNT_established
#define SHOW_COUNTERS		(IW_MPA_CNT_COUNT - SHOW_FIRST)
#define SHOW_STATS		(SHOW_COUNTERS + IW_MPA_R_COUNT - 1)

static struct rdma_stat_desc show_descs[SHOW_STATS];

static void show_init_descs(void)
{
	int i;

	for (i = 0; i < SHOW_COUNTERS; i++)
		show_descs[i].name = iw_mpa_counter_names[SHOW_FIRST + i];
	for (i = IW_MPA_R_OK + 1; i < IW_MPA_R_COUNT; i++)
		show_descs[SHOW_COUNTERS + i - 1].name = iw_mpa_reason_name(i);
}

/**
 * iw_mpa_alloc_hw_port_stats - ib_device_ops.alloc_hw_port_stats
 * @ibdev: registered device
 * @port_num: any
 *
 * Context: process.
 *
 * Return: room for the counters, or NULL.
 */
struct rdma_hw_stats *iw_mpa_alloc_hw_port_stats(struct ib_device *ibdev,
						 u32 port_num)
{
	return rdma_alloc_hw_stats_struct(show_descs, SHOW_STATS,
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

/**
 * iw_mpa_get_hw_stats - ib_device_ops.get_hw_stats
 * @ibdev: registered device
 * @stats: from iw_mpa_alloc_hw_port_stats()
 * @port_num: any
 * @index: of the counter wanted; all are read
 *
 * Context: process.
 *
 * Return: how many counters there are, or -ENODEV.
 */
int iw_mpa_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats,
			u32 port_num, int index)
{
	struct iw_mpa_device *dev = iw_mpa_device_get(ibdev);
	int i;

	if (!dev)
		return -ENODEV;
	for (i = 0; i < SHOW_COUNTERS; i++)
		stats->value[i] = iw_mpa_count_read(dev->stats, SHOW_FIRST + i);
	for (i = IW_MPA_R_OK + 1; i < IW_MPA_R_COUNT; i++)
		stats->value[SHOW_COUNTERS + i - 1] =
			iw_mpa_count_read_reason(dev->stats, i);
	iw_mpa_device_put(dev);
	return SHOW_STATS;
}

/**
 * iw_mpa_show_check - are a device's statistics ours alone, or its driver's alone?
 * @ops: the device's
 *
 * ib_set_device_ops() keeps op by op what is set first. Of two owners, one would
 * write its counters into an array that the other made for fewer.
 *
 * Return: true if so.
 */
bool iw_mpa_show_check(const struct ib_device_ops *ops)
{
	if (ops->get_hw_stats != iw_mpa_get_hw_stats)
		return ops->alloc_hw_port_stats != iw_mpa_alloc_hw_port_stats;
	return ops->alloc_hw_port_stats == iw_mpa_alloc_hw_port_stats &&
	       !ops->alloc_hw_device_stats;
}

/**
 * iw_mpa_show_init - show endpoints and listeners
 * @dir: our folder in debugfs; who removes it undoes this
 */
void iw_mpa_show_init(struct dentry *dir)
{
	show_init_descs();
	debugfs_create_file("endpoints", 0400, dir, NULL, &endpoints_fops);
	debugfs_create_file("listeners", 0400, dir, NULL, &listeners_fops);
}

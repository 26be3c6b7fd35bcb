// SPDX-License-Identifier: GPL-2.0
/*
 * Files for people and scripts: endpoints, listeners and stats in the debugfs
 * folder iw_mpa; and the counters of "rdma statistic show link".
 *
 * Endpoints and listeners are read under RCU. So they may be added and removed
 * while a file is printed; each is shown at most once.
 */

#include "main.h"
#include "backlog.h"
#include "device.h"
#include "ep.h"
#include "negotiate.h"
#include "stats.h"

#include <linux/debugfs.h>
#include <linux/jiffies.h>
#include <linux/netdevice.h>
#include <linux/rculist.h>
#include <linux/seq_file.h>
#include <rdma/ib_verbs.h>
#include <rdma/iw_cm.h>

static struct dentry *show_dir;

static void show_device(struct seq_file *seq, const struct iw_mpa_device *dev)
{
	seq_printf(seq, " dev=%s netns=%u", dev_name(&dev->ibdev->dev),
		   dev_net(dev->netdev)->ns.inum);
}

static void show_rtr(struct seq_file *seq, u8 rtr)
{
	seq_printf(seq, " rtr=%s%s%s%s", rtr ? "" : "none",
		   rtr & IW_MPA_RTR_SEND ? "S" : "",
		   rtr & IW_MPA_RTR_WRITE ? "W" : "",
		   rtr & IW_MPA_RTR_READ ? "R" : "");
}

static void show_lost(struct seq_file *seq, u8 lost)
{
	static const char * const names[] = {
		"none",
		[IW_MPA_LOST_P2P]	= "p2p",
		[IW_MPA_LOST_DEPTHS]	= "depths",
		[IW_MPA_LOST_ALL]	= "p2p,depths",
	};

	seq_printf(seq, " lost=%s\n", names[lost]);
}

static void show_ep(struct seq_file *seq, const struct iw_mpa_ep *ep)
{
	/* Another context may be changing @ep: values may be old or new. */
	const struct iw_mpa_params params = data_race(ep->params);
	/* Another context may be writing the addresses, too. */
	const struct iw_mpa_tuple tuple = data_race(ep->tuple);
	/* Another context may be writing the QP's number, too. */
	const u32 qpn = data_race(ep->off.qpn);

	seq_printf(seq, "id=%lu", ep->id);
	show_device(seq, ep->dev);
	seq_printf(seq, " role=%s state=%s local=%pISpc remote=%pISpc age_ms=%llu qpn=%u",
		   ep->initiator ? "initiator" : "responder",
		   iw_mpa_state_name(READ_ONCE(ep->state)), &tuple.local.sa,
		   &tuple.remote.sa,
		   jiffies64_to_msecs(get_jiffies_64() - ep->born), qpn);
	seq_printf(seq, " rev=%u crc=%d tx_markers=%d rx_markers=%d large_fpdu=%d",
		   params.rev, params.crc, params.tx_markers, params.rx_markers,
		   params.large_fpdu);
	show_rtr(seq, params.rtr);
	seq_printf(seq, " ird=%u ord=%u peer_ird=%u peer_ord=%u", params.ird,
		   params.ord, params.peer_ird, params.peer_ord);
	/* Another context may be adding to ep->lost: an old value will do. */
	show_lost(seq, data_race(ep->lost));
}

/* Called under rcu_read_lock(); @ep and its device may have no reference. */
static void show_ep_if_live(struct iw_mpa_ep *ep, void *seq)
{
	struct iw_mpa_device *dev = ep->dev;

	if (!refcount_inc_not_zero(&dev->users))
		return;
	/* An endpoint is shown once it has the addresses of its socket. */
	if (data_race(ep->tuple.local.sa.sa_family))
		show_ep(seq, ep);
	iw_mpa_device_put(dev);
}

/* The position in the debugfs file is a bucket of the table of endpoints. */
static void *endpoints_start(struct seq_file *seq, loff_t *pos)
{
	return *pos < IW_MPA_EP_BUCKETS ? pos : NULL;
}

static void *endpoints_next(struct seq_file *seq, void *bucket, loff_t *pos)
{
	++*pos;
	return endpoints_start(seq, pos);
}

static void endpoints_stop(struct seq_file *seq, void *bucket)
{
}

static int endpoints_show(struct seq_file *seq, void *bucket)
{
	iw_mpa_ep_look(*(loff_t *)bucket, show_ep_if_live, seq);
	return 0;
}

static const struct seq_operations endpoints_sops = {
	.start	= endpoints_start,
	.next	= endpoints_next,
	.stop	= endpoints_stop,
	.show	= endpoints_show,
};
DEFINE_SEQ_ATTRIBUTE(endpoints);

static int show_listeners_of(struct iw_mpa_device *dev, void *seq)
{
	struct iw_mpa_listener *lis;

	rcu_read_lock();
	list_for_each_entry_rcu(lis, &dev->listeners, node) {
		/* An ending listener may close its socket at any time. */
		bool has_socket = data_race(lis->sock.sock);

		seq_printf(seq, "id=%lu", lis->id);
		show_device(seq, dev);
		seq_printf(seq, " local=%pISpc backlog=%u socket=%s\n",
			   &lis->addr.sa, lis->depth,
			   has_socket ? "yes" : "no");
	}
	rcu_read_unlock();
	return 0;
}

static int listeners_show(struct seq_file *seq, void *unused)
{
	return iw_mpa_device_for_each(show_listeners_of, seq);
}
DEFINE_SHOW_ATTRIBUTE(listeners);

static int stats_show(struct seq_file *seq, void *unused)
{
	int i;

	for (i = 0; i < IW_MPA_CNT_COUNT; i++)
		seq_printf(seq, "%-24s %lu\n", iw_mpa_counter_name(i),
			   iw_mpa_count_read(NULL, i));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(stats);

/* A device has only the counters that belong to its connections. */
#define SHOW_FIRST		IW_MPA_CNT_established
#define SHOW_STATS		(IW_MPA_CNT_COUNT - SHOW_FIRST)

static struct rdma_stat_desc show_descs[SHOW_STATS];

struct rdma_hw_stats *iw_mpa_alloc_hw_port_stats(struct ib_device *ibdev,
						 u32 port_num)
{
	return rdma_alloc_hw_stats_struct(show_descs, SHOW_STATS,
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

/*
 * @stats comes from iw_mpa_alloc_hw_port_stats(), or is a driver's own with at
 *	least as many counters, of which this function sets the first ones: all
 *	that iw_mpa has for a device, whichever counter @index asks for.
 *
 * Return: how many counters were set, or -ENODEV if the device is not, or no
 * longer, registered with iw_mpa.
 */
int iw_mpa_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats,
			u32 port_num, int index)
{
	struct iw_mpa_device *dev = iw_mpa_device_get(ibdev);
	int i;

	if (!dev)
		return -ENODEV;
	for (i = 0; i < SHOW_STATS; i++)
		stats->value[i] = iw_mpa_count_read(dev->stats, SHOW_FIRST + i);
	iw_mpa_device_put(dev);
	return SHOW_STATS;
}

/*
 * Return: true if get_hw_stats and alloc_hw_port_stats are both iw_mpa's, and
 * alloc_hw_device_stats is NULL, or if neither of the first two is iw_mpa's.
 * ib_set_device_ops() keeps the first value of each op, so a driver may have
 * set only some of the three. Then get_hw_stats of one module would write its
 * counters into an array that the other module has allocated, maybe for fewer
 * counters.
 */
bool iw_mpa_show_check(const struct ib_device_ops *ops)
{
	if (ops->get_hw_stats != iw_mpa_get_hw_stats)
		return ops->alloc_hw_port_stats != iw_mpa_alloc_hw_port_stats;
	return ops->alloc_hw_port_stats == iw_mpa_alloc_hw_port_stats &&
	       !ops->alloc_hw_device_stats;
}

/* Without debugfs only "rdma statistic" shows counters. */
void iw_mpa_show_init(void)
{
	int i;

	for (i = 0; i < SHOW_STATS; i++)
		show_descs[i].name = iw_mpa_counter_name(SHOW_FIRST + i);
	show_dir = debugfs_create_dir("iw_mpa", NULL);
	debugfs_create_file("stats", 0444, show_dir, NULL, &stats_fops);
	debugfs_create_file("endpoints", 0400, show_dir, NULL, &endpoints_fops);
	debugfs_create_file("listeners", 0400, show_dir, NULL, &listeners_fops);
}

void iw_mpa_show_exit(void)
{
	debugfs_remove(show_dir);
}

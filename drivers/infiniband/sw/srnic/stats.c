// SPDX-License-Identifier: GPL-2.0
/* Counters, per CPU, shown by "rdma statistic" and in sysfs. */

#include "srnic.h"

#include <linux/slab.h>

#define STATS_COUNT	(SRNIC_CNT_COUNT + SRNIC_ERR_COUNT - 1)

static const char * const stats_names[SRNIC_CNT_COUNT] = {
#define X(name, text) [SRNIC_CNT_##name] = #name,
	SRNIC_COUNTERS(X)
#undef X
};

static const char * const stats_err_names[SRNIC_ERR_COUNT] = {
#define X(name, etype, code, form, tell, text) [SRNIC_ERR_##name] = "err_" #name,
	SRNIC_ERRORS(X)
#undef X
};

struct workqueue_struct *srnic_wq;
struct workqueue_struct *srnic_user_wq;
struct workqueue_struct *srnic_event_wq;

/**
 * srnic_stats_free - forget what was made for a device's counters
 * @dev: device that is not registered any more
 */
void srnic_stats_free(struct srnic_dev *dev)
{
	kfree(dev->stat_descs);
	free_percpu(dev->stats);
}

static void stats_describe(struct rdma_stat_desc *descs)
{
	int i;

	for (i = 0; i < SRNIC_CNT_COUNT; i++)
		descs[i].name = stats_names[i];
	for (i = SRNIC_ERR_NONE + 1; i < SRNIC_ERR_COUNT; i++)
		descs[SRNIC_CNT_COUNT + i - 1].name = stats_err_names[i];
}

/* Name the library's counters of connections, then those of the data path. */
static int stats_make_descs(struct srnic_dev *dev)
{
	struct rdma_hw_stats *library;
	int n;

	if (dev->stat_descs)
		return 0;
	library = iw_mpa_ib_device_ops.alloc_hw_port_stats(&dev->ibdev, 1);
	if (!library)
		return -ENOMEM;
	n = library->num_counters;
	dev->stat_descs = kcalloc(n + STATS_COUNT, sizeof(*dev->stat_descs), GFP_KERNEL);
	if (dev->stat_descs) {
		memcpy(dev->stat_descs, library->descs, n * sizeof(*dev->stat_descs));
		stats_describe(dev->stat_descs + n);
		dev->library_stats = n;
	}
	rdma_free_hw_stats_struct(library);
	return dev->stat_descs ? 0 : -ENOMEM;
}

/**
 * srnic_alloc_hw_port_stats - ib_device_ops.alloc_hw_port_stats
 * @ibdev: device
 * @port_num: any
 *
 * A device has one table of counters: those of the library, and those of srnic.
 *
 * Context: process, while the device is registered.
 *
 * Return: room for the counters, or NULL.
 */
struct rdma_hw_stats *srnic_alloc_hw_port_stats(struct ib_device *ibdev, u32 port_num)
{
	struct srnic_dev *dev = to_srnic_dev(ibdev);

	if (stats_make_descs(dev))
		return NULL;
	return rdma_alloc_hw_stats_struct(dev->stat_descs, dev->library_stats + STATS_COUNT,
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

/* The sum is a word, too: it wraps as one counter would. */
static unsigned long stats_sum(const unsigned long __percpu *counter)
{
	unsigned long sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(*per_cpu_ptr(counter, cpu));
	return sum;
}

/**
 * srnic_get_hw_stats - ib_device_ops.get_hw_stats
 * @ibdev: device
 * @stats: from srnic_alloc_hw_port_stats()
 * @port_num: any
 * @index: of the counter wanted; all are read
 *
 * Nothing is allocated: the RDMA core of Linux 6.1 leaks its tables if this fails while a device is
 * registered.
 *
 * Context: process.
 *
 * Return: how many counters there are, or -ENODEV.
 */
int srnic_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats, u32 port_num,
		       int index)
{
	struct srnic_dev *dev = to_srnic_dev(ibdev);
	int i, n;

	/* The library's counters come first. */
	n = iw_mpa_ib_device_ops.get_hw_stats(ibdev, stats, port_num, index);
	if (n < 0)
		return n;
	for (i = 0; i < SRNIC_CNT_COUNT; i++)
		stats->value[n++] = stats_sum(&dev->stats->counter[i]);
	for (i = SRNIC_ERR_NONE + 1; i < SRNIC_ERR_COUNT; i++)
		stats->value[n++] = stats_sum(&dev->stats->err[i]);
	return n;
}

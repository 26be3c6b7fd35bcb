// SPDX-License-Identifier: GPL-2.0
/* Counters, per CPU, shown by "rdma statistic" and in sysfs. */

#include "srnic.h"

#define STATS_COUNT	(SRNIC_CNT_COUNT + SRNIC_ERR_COUNT - 1)

static struct rdma_stat_desc stats_descs[STATS_COUNT];
static char stats_err_names[SRNIC_ERR_COUNT][24];

static const char * const stats_names[SRNIC_CNT_COUNT] = {
#define X(name, text) [SRNIC_CNT_##name] = #name,
	SRNIC_COUNTERS(X)
#undef X
};

struct workqueue_struct *srnic_wq;

/**
 * srnic_stats_init - name the counters
 */
void srnic_stats_init(void)
{
	int i;

	for (i = 0; i < SRNIC_CNT_COUNT; i++)
		stats_descs[i].name = stats_names[i];
	for (i = SRNIC_ERR_NONE + 1; i < SRNIC_ERR_COUNT; i++) {
		snprintf(stats_err_names[i], sizeof(stats_err_names[i]), "err_%s",
			 srnic_err_name(i));
		stats_descs[SRNIC_CNT_COUNT + i - 1].name = stats_err_names[i];
	}
}

/**
 * srnic_alloc_hw_port_stats - ib_device_ops.alloc_hw_port_stats
 * @ibdev: device
 * @port_num: any
 *
 * Context: process.
 *
 * Return: room for the counters, or NULL.
 */
struct rdma_hw_stats *srnic_alloc_hw_port_stats(struct ib_device *ibdev, u32 port_num)
{
	return rdma_alloc_hw_stats_struct(stats_descs, STATS_COUNT, RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

/**
 * srnic_get_hw_stats - ib_device_ops.get_hw_stats
 * @ibdev: device
 * @stats: from srnic_alloc_hw_port_stats()
 * @port_num: any
 * @index: of the counter wanted; all are read
 *
 * Context: process.
 *
 * Return: how many counters there are.
 */
int srnic_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats, u32 port_num,
		       int index)
{
	struct srnic_dev *dev = to_srnic_dev(ibdev);
	int cpu, i;

	memset(stats->value, 0, STATS_COUNT * sizeof(stats->value[0]));
	for_each_possible_cpu(cpu) {
		const struct srnic_stats *mine = per_cpu_ptr(dev->stats, cpu);

		for (i = 0; i < SRNIC_CNT_COUNT; i++)
			stats->value[i] += READ_ONCE(mine->counter[i]);
		for (i = SRNIC_ERR_NONE + 1; i < SRNIC_ERR_COUNT; i++)
			stats->value[SRNIC_CNT_COUNT + i - 1] += READ_ONCE(mine->err[i]);
	}
	return STATS_COUNT;
}

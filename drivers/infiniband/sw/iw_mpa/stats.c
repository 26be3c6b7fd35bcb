// SPDX-License-Identifier: GPL-2.0
/* Counters, per CPU, shown in debugfs as iw_mpa/stats. */

#include "stats.h"

#include <linux/debugfs.h>
#include <linux/percpu.h>
#include <linux/seq_file.h>

static DEFINE_PER_CPU(struct iw_mpa_stats, stats_of_all);
static struct dentry *stats_dir;

/**
 * iw_mpa_counter_name - a counter's name, which for a reason is the reason's
 * @counter: which
 *
 * Return: a constant string.
 */
const char *iw_mpa_counter_name(enum iw_mpa_counter counter)
{
	static const char * const names[IW_MPA_CNT_REASON] = {
#define X(name) [IW_MPA_CNT_##name] = #name,
		IW_MPA_COUNTERS(X)
#undef X
	};

	if (counter < IW_MPA_CNT_REASON)
		return names[counter];
	return iw_mpa_reason_name(counter - IW_MPA_CNT_REASON + 1);
}

/**
 * iw_mpa_count - count an event of an object's life, for the machine
 * @counter: which
 *
 * Context: any.
 */
void iw_mpa_count(enum iw_mpa_counter counter)
{
	this_cpu_inc(stats_of_all.counter[counter]);
}

/**
 * iw_mpa_count_for - count an event of a connection, for its device, too
 * @of_device: counters of the device
 * @counter: which
 *
 * Context: any.
 */
void iw_mpa_count_for(struct iw_mpa_stats __percpu *of_device,
		      enum iw_mpa_counter counter)
{
	this_cpu_inc(of_device->counter[counter]);
	iw_mpa_count(counter);
}

/**
 * iw_mpa_count_reason - count why a connection ended
 * @of_device: counters of its device
 * @reason: why; IW_MPA_R_OK is not counted
 *
 * Context: any.
 */
void iw_mpa_count_reason(struct iw_mpa_stats __percpu *of_device,
			 enum iw_mpa_reason reason)
{
	if (reason != IW_MPA_R_OK)
		iw_mpa_count_for(of_device, IW_MPA_CNT_REASON + reason - 1);
}

/**
 * iw_mpa_count_read - how often something was counted
 * @stats: counters of a device, or NULL for the machine
 * @counter: which
 *
 * Context: any.
 *
 * Return: the sum over all CPUs; what is being counted now may be missing.
 */
unsigned long iw_mpa_count_read(const struct iw_mpa_stats __percpu *stats,
				enum iw_mpa_counter counter)
{
	unsigned long sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(stats ?: &stats_of_all, cpu)->counter[counter]);
	return sum;
}

static int stats_show(struct seq_file *seq, void *unused)
{
	int i;

	for (i = 0; i < IW_MPA_CNT_COUNT; i++)
		seq_printf(seq, "%-24s %lu\n", iw_mpa_counter_name(i), iw_mpa_count_read(NULL, i));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(stats);

/**
 * iw_mpa_stats_init - show the counters; without debugfs they only count
 *
 * Return: our folder in debugfs.
 */
struct dentry *iw_mpa_stats_init(void)
{
	stats_dir = debugfs_create_dir("iw_mpa", NULL);
	debugfs_create_file("stats", 0444, stats_dir, NULL, &stats_fops);
	return stats_dir;
}

/** iw_mpa_stats_exit - remove our folder with all that is in it */
void iw_mpa_stats_exit(void)
{
	debugfs_remove(stats_dir);
}

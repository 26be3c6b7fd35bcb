// SPDX-License-Identifier: GPL-2.0
/* Counters, per CPU, shown in debugfs as iw_mpa/stats. */

#include "stats.h"

#include <linux/debugfs.h>
#include <linux/percpu.h>
#include <linux/seq_file.h>

struct stats {
	unsigned long	counter[IW_MPA_CNT_COUNT];
	unsigned long	reason[IW_MPA_R_COUNT];
};

static DEFINE_PER_CPU(struct stats, stats);
static struct dentry *stats_dir;

/**
 * iw_mpa_count - count an event of an object's life
 * @counter: which
 *
 * Context: any.
 */
void iw_mpa_count(enum iw_mpa_counter counter)
{
	this_cpu_inc(stats.counter[counter]);
}

/**
 * iw_mpa_count_read - how often something was counted
 * @counter: which
 *
 * Context: any.
 *
 * Return: the sum over all CPUs; what is being counted now may be missing.
 */
unsigned long iw_mpa_count_read(enum iw_mpa_counter counter)
{
	unsigned long sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(&stats, cpu)->counter[counter]);
	return sum;
}

static unsigned long stats_read_reason(enum iw_mpa_reason reason)
{
	unsigned long sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(&stats, cpu)->reason[reason]);
	return sum;
}

/**
 * iw_mpa_count_reason - count why something ended
 * @reason: why
 *
 * Context: any.
 */
void iw_mpa_count_reason(enum iw_mpa_reason reason)
{
	if (reason < IW_MPA_R_COUNT)
		this_cpu_inc(stats.reason[reason]);
}

static int stats_show(struct seq_file *seq, void *unused)
{
	static const char *const names[IW_MPA_CNT_COUNT] = {
#define X(name) [IW_MPA_CNT_##name] = #name,
		IW_MPA_COUNTERS(X)
#undef X
	};
	int i;

	for (i = 0; i < IW_MPA_CNT_COUNT; i++)
		seq_printf(seq, "%-24s %lu\n", names[i], iw_mpa_count_read(i));
	for (i = IW_MPA_R_OK + 1; i < IW_MPA_R_COUNT; i++)
		seq_printf(seq, "%-24s %lu\n", iw_mpa_reason_name(i),
			   stats_read_reason(i));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(stats);

/** iw_mpa_stats_init - show the counters; without debugfs they only count */
void iw_mpa_stats_init(void)
{
	stats_dir = debugfs_create_dir("iw_mpa", NULL);
	debugfs_create_file("stats", 0444, stats_dir, NULL, &stats_fops);
}

/** iw_mpa_stats_exit - undo iw_mpa_stats_init() */
void iw_mpa_stats_exit(void)
{
	debugfs_remove(stats_dir);
}

// SPDX-License-Identifier: GPL-2.0
/* Counters of objects, events and reasons, per CPU; show.c prints them. */

#include "stats.h"
#include "reason.h"

#include <linux/irqflags.h>
#include <linux/percpu.h>

static DEFINE_PER_CPU(struct iw_mpa_stats, stats_of_all);

/* Return: a counter's name, a constant string; for a reason: its name. */
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

/* Count for the whole host alone. Context: any, as for all functions here. */
void iw_mpa_count(enum iw_mpa_counter counter)
{
	this_cpu_inc(stats_of_all.counter[counter]);
}

/* Count for a device, and for the whole host. */
void iw_mpa_count_for(struct iw_mpa_stats __percpu *of_device,
		      enum iw_mpa_counter counter)
{
	this_cpu_inc(of_device->counter[counter]);
	iw_mpa_count(counter);
}

/* Count why a device's connection ended; IW_MPA_R_OK is not counted. */
void iw_mpa_count_reason(struct iw_mpa_stats __percpu *of_device,
			 enum iw_mpa_reason reason)
{
	if (reason != IW_MPA_R_OK)
		iw_mpa_count_for(of_device, IW_MPA_CNT_REASON + reason - 1);
}

/*
 * Return: sum of a counter over all CPUs, for a device, or for the whole host
 * if @stats is NULL; increments during the call may be missing.
 */
unsigned long iw_mpa_count_read(const struct iw_mpa_stats __percpu *stats,
				enum iw_mpa_counter counter)
{
	unsigned long sum = 0;
	int cpu;

	if (!stats)
		stats = &stats_of_all;
	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(stats, cpu)->counter[counter]);
	return sum;
}

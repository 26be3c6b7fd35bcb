// SPDX-License-Identifier: GPL-2.0
/* Counters, per CPU: show.c shows them. */

#include "stats.h"

#include <linux/irqflags.h>
#include <linux/percpu.h>

static DEFINE_PER_CPU(struct iw_mpa_stats, stats_of_all);

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
 * iw_mpa_count - count something for the machine
 * @counter: which
 *
 * Context: any.
 */
void iw_mpa_count(enum iw_mpa_counter counter)
{
	this_cpu_inc(stats_of_all.counter[counter]);
}

/**
 * iw_mpa_count_for - count something for a device and for the machine
 * @of_device: counters of the device
 * @counter: which
 *
 * Context: any.
 */
void iw_mpa_count_for(struct iw_mpa_stats __percpu *of_device, enum iw_mpa_counter counter)
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
void iw_mpa_count_reason(struct iw_mpa_stats __percpu *of_device, enum iw_mpa_reason reason)
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

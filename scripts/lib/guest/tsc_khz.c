// SPDX-License-Identifier: GPL-2.0
/*
 * Print the frequency of this machine's time stamp counter, in kHz.
 *
 * A guest's TSC has the same frequency as the host's (QEMU, TCG without icount). If the guest
 * measured it, against an emulated timer on a busy host, the result could be wrong by an order of
 * magnitude.
 */

#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

#define WAIT_NS		100000000L

struct stamp {
	uint64_t ns;
	uint64_t ticks;
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* Read both clocks at nearly the same time: of many tries use the one that took the least time. */
static struct stamp stamp(void)
{
	uint64_t best = UINT64_MAX;
	struct stamp result = { 0 };
	int i;

	for (i = 0; i < 1000; i++) {
		uint64_t before = now_ns();
		uint64_t ticks = __rdtsc();
		uint64_t took = now_ns() - before;

		if (took < best) {
			best = took;
			result.ns = before + took / 2;
			result.ticks = ticks;
		}
	}
	return result;
}

int main(void)
{
	struct timespec wait = { .tv_nsec = WAIT_NS };
	struct stamp a = stamp(), b;

	nanosleep(&wait, NULL);
	b = stamp();
	printf("%.0f\n", (double)(b.ticks - a.ticks) * 1e6 / (double)(b.ns - a.ns));
	return 0;
}

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Random sequences of system calls on srnic, and on what srnic uses, in a guest with detectors: see
# scripts/test/random/main.c. The same seed, which is printed, gives the same sequences.
#
#   scripts/test/random.sh [--seed N] [--minutes N]     seed: a new one each time; minutes: 10
#
# Without KERNEL the kernel is kasan, where allocations fail, too.

export KERNEL=${KERNEL:-${DEBUG:-kasan}}
# shellcheck source=scripts/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=scripts/lib/tap.sh
. "$TOP/scripts/lib/tap.sh"
# shellcheck source=scripts/lib/guest/guest.sh
. "$TOP/scripts/lib/guest/guest.sh"

USAGE='usage: random.sh [--seed N] [--minutes N]'

# Check the log for objects of a removed device: the RDMA core only logs them, by restrack, without a warning.
nothing_was_left() { guest_run A '! dmesg | grep RESTR[A]CK'; }

# Set up fail-nth, by which a process lets one of its allocations fail, for all kinds of allocations.
let_allocations_fail() {
	# shellcheck disable=SC2016 # of the guest's shell
	guest_run A 'cd /sys/kernel/debug; for file in {failslab,fail_page_alloc}/{verbose,ignore-gfp-wait}; do
		[[ ! -e $file ]] || echo 0 >$file
	done'
}

end_guest() {
	tap_run 'what was created was destroyed' guest_run A 'poll 60 driver_is_balanced'
	tap_run 'the modules unload' guest_run A driver_clear
	tap_run 'no object was left as a device went' nothing_was_left
	tap_run 'the kernel has nothing to report' guest_detectors A
	! kernel_debugs "$KERNEL" || tap_run 'the detectors see mistakes made on purpose' guest_controls A
	tap_run 'the guest ends well' guest_down
}

main() {
	local seed=$SRANDOM minutes=10

	while [[ $# -gt 0 ]]; do
		case $1 in
		--seed) seed=${2:-} ;;
		--minutes) minutes=${2:-} ;;
		*) die "$USAGE" ;;
		esac
		shift 2 || die "$USAGE"
	done
	[[ $seed =~ ^[0-9]+$ && $minutes =~ ^[1-9][0-9]*$ ]] || die "$USAGE"
	echo "# seed $seed; again: KERNEL=$KERNEL scripts/test/random.sh --seed $seed --minutes $minutes"
	"$TOP/scripts/lib/setup.sh" build guest
	need_krel
	"$TOP/scripts/lib/build.sh"
	guest_boot A
	gcc -Wall -Wextra -Werror -O2 -o "$GUEST_RUN/share/random" "$TOP"/scripts/test/random/*.c -lpthread
	guest_run A 'insmod /share/modules/iw_mpa.ko && insmod /share/modules/srnic.ko
		modprobe -qa vrf bridge bonding || :'
	let_allocations_fail
	say "random: $minutes minutes, seed $seed"
	tap_run "$minutes minutes, seed $seed" guest_run A \
		"cp /share/random /run && /run/random $seed $((minutes * 60)) $SLOW >/share/said" \
		$((minutes * 60 + 900))
	[[ ! -e $GUEST_RUN/share/said ]] || sed 's/^/# /' "$GUEST_RUN/share/said"
	# print iw_mpa's counters, which show how far connections got
	guest_run A "grep -v ' 0\$' /sys/kernel/debug/iw_mpa/stats" | paste -sd ' ' | tr -s ' ' | fold -sw 110 |
		sed 's/^/# /' || :
	end_guest
	tap_end random || die "logs: $GUEST_RUN"
	guest_forget_logs
}

main "$@"

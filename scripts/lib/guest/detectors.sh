#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Report what the detectors of a debug kernel found; runs in the guest, and fails if they found anything.
#
#   detectors.sh leaks      before the modules are unloaded: report memory of theirs to which no pointer is left
#   detectors.sh reports    at the end: print what the kernel has reported since it booted
#   detectors.sh controls KERNEL
#                           after that: each detector of kasan or kcsan has to report a mistake made
#                           on purpose, see scripts/wire/mistake. The guest is not used afterwards
#
# On a kernel without detectors there is nothing to find.

set -euo pipefail

LEAKS=/sys/kernel/debug/kmemleak
MIN_AGE=6	# seconds: kmemleak skips objects younger than 5
OURS='\[(iw_mpa|iw_mpa_twin|siw_mpa|srnic)\]'

# A known leak of uverbs: if memory runs out while a device is registered, a radix tree of uverbs keeps a node without
# an entry, which uverbs never frees. Functions of our modules are in the stack, since they register the device.
THEIRS=' radix_tree_insert\+[^|]*\|[^|]* uapi_add_'

# lines ARGUMENT...: print matches like grep, but do not fail if there is none
lines() { grep -E "$@" || [[ $? -eq 1 ]]; }

# kmemleak's objects, one line each, if their stack has a function of ours, or of an unloaded module
leaks_of_ours() {
	awk '/^unreferenced/ { if (text) print text; text = $0; next } { text = text " | " $0 }
		END { if (text) print text }' "$LEAKS" | lines "$OURS|\] 0x[0-9a-f]+( |$)"
}

scan_for_leaks() {
	sleep "$MIN_AGE"
	echo scan >"$LEAKS"
	echo scan >"$LEAKS"
}

leaks() {
	local found

	[[ -e $LEAKS ]] || return 0
	scan_for_leaks
	found=$(leaks_of_ours | lines -v "$THEIRS")
	[[ -z $found ]] || { echo "${found// | /$'\n'}"; return 1; }
}

# lockdep_is_on: after a report lockdep turns itself off, and finds nothing more
lockdep_is_on() {
	[[ ! -e /proc/lockdep_stats ]] || grep -Eq 'debug_locks: +1$' /proc/lockdep_stats
}

# kcsan_is_on: KCSAN may be off, and then reports nothing
kcsan_is_on() {
	[[ ! -e /sys/kernel/debug/kcsan ]] || grep -qx 'enabled: 1' /sys/kernel/debug/kcsan
}

# log_is_whole: KCSAN's reports are only in the log, since the kernel continues after them. So the log must not have
# lost its beginning.
log_is_whole() {
	[[ ! -e /sys/kernel/debug/kcsan ]] || dmesg | grep 'Linux version ' >/dev/null
}

# KCSAN's reports, one line each, in which a function of ours made one of the two accesses, or called what made it. A
# report has two stacks. In each, frames below the entry of an interrupt are those of the code that was interrupted,
# which took no part.
races_of_ours() {
	dmesg | sed -E 's/^\[[^]]*\] //' |
		awk '/^====+$/ { if (text ~ /KCSAN/) print text; text = ""; interrupted = 0; next }
			/ on cpu [0-9]+:$/ { interrupted = 0 }
			/^ (asm_)?(sysvec_|common_interrupt)/ { interrupted = 1 }
			!interrupted { text = text (text ? " | " : "") $0 }' | lines "$OURS"
}

# Print the headlines of reports (WARNING, BUG, Oops and others) in the kernel's log. Left out are
# KCSAN's (see races_of_ours), soft lockups, and faults of programs: "traps: ib_send_lat[3225]
# general protection fault ip:... in librdmacm" is a crash of perftest, whose second connection was
# refused.
warnings() {
	local text='WARNING:|BUG:|INFO: (possible|suspicious|trying)|UBSAN:|ODEBUG:'

	text+='|refcount_t:|general protection|list_(add|del) corruption|Oops'
	dmesg | lines "$text" | lines -v 'BUG: (KCSAN|soft lockup)|traps: [^ ]+\[[0-9]+\] general protection'
}

reports() {
	local found status=0

	lockdep_is_on || { echo 'lockdep has found something'; status=1; }
	kcsan_is_on || { echo 'KCSAN is off'; status=1; }
	log_is_whole || { echo 'the log has lost its beginning'; status=1; }
	found=$(warnings)
	[[ -z $found ]] || { echo "$found"; status=1; }
	found=$(races_of_ours)
	[[ -z $found ]] || { echo "${found// | /$'\n'}"; status=1; }
	return "$status"
}

# make_mistake WHAT [COMMAND...]: load the module "mistake", which makes the mistake WHAT. COMMAND,
# if any, runs insmod, for example in a namespace.
make_mistake() {
	[[ ! -d /sys/module/mistake ]] || rmmod mistake
	"${@:2}" insmod /share/modules/mistake.ko what="$1"
}

# has_seen WHAT TEXT: the log reports the mistake
has_seen() {
	make_mistake "$1"
	dmesg | grep -E "$2" >/dev/null || { echo "no report: $1"; return 1; }
}

has_seen_leak() {
	make_mistake leak
	scan_for_leaks
	grep '\[mistake\]' "$LEAKS" >/dev/null || { echo 'no report: leak'; return 1; }
}

# has_seen_net_ref: the module "mistake" takes a reference on a network namespace, which then stays in memory. net_refs
# has to print which function took the reference.
has_seen_net_ref() {
	ip netns add mistake
	make_mistake net_ref ip netns exec mistake
	ip netns delete mistake
	insmod /share/modules/net_refs.ko
	dmesg | grep -E 'mistake_net_ref.* \[mistake\]' >/dev/null || { echo 'no report: net_ref'; return 1; }
}

# controls KERNEL: test all detectors of that kernel. KASAN's report turns lockdep off, so KASAN is last.
controls() {
	local status=0

	echo 0 >/proc/sys/kernel/panic_on_warn
	case $1 in
	kcsan)
		has_seen race 'BUG: KCSAN: data-race in mistake_write' || status=1
		;;
	kasan)
		has_seen_leak || status=1
		has_seen_net_ref || status=1
		has_seen lock_order 'WARNING: possible circular locking dependency' || status=1
		has_seen use_after_free 'BUG: KASAN: .*use-after-free in mistake_' || status=1
		;;
	*)
		echo "no such kernel: $1"
		status=1
		;;
	esac
	return "$status"
}

"$@"

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What make check has no time for: the life-cycle storms and the hostile load of scripts/wire, by
# the thousand, against siw_mpa in a guest. Counts and times are told as it goes.
#
#   scripts/soak.sh [-k REGEX]     only the tests whose name or rule ids match
#
# Rates are compared in a guest whose time is what its one processor has done, so that they do not
# depend on this machine; not under DEBUG=kasan, where all the rest can run, too.

# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=scripts/tap.sh
. "$TOP/scripts/tap.sh"
# shellcheck source=scripts/guest/guest.sh
. "$TOP/scripts/guest/guest.sh"
# shellcheck source=scripts/wire/lib.sh
. "$TOP/scripts/wire/lib.sh"

LIMIT=1800	# seconds for one group of tests
RATES=good_client_keeps_its_rate
ONLY=.

# soak NAME PATTERN: in a guest of its own, from boot to the end
soak() {
	say "soak: $1"
	guest_boot A
	share_tests
	guest_run A 'driver_set siw_mpa' "$LIMIT"
	run_tests "$1" 10.0.0.1 "$2" "$LIMIT" --soak
	end_guest
	guest_forget_logs
}

# chosen PATTERN: does anything of it match what was asked for?
chosen() {
	python3 "$TOP/scripts/wire/run.py" -l --soak -k "$1" | grep -q .
}

main() {
	[[ $# -eq 0 || ($# -eq 2 && $1 == -k) ]] || die 'usage: soak.sh [-k REGEX]'
	ONLY=${2:-.}
	"$TOP/scripts/setup.sh" build guest
	need_krel
	"$TOP/scripts/build.sh"
	! chosen "^(?!.*$RATES).*($ONLY)" || soak "$KERNEL" "^(?!.*$RATES).*($ONLY)"
	if ! kernel_debugs "$KERNEL" && chosen "$RATES.*($ONLY)"; then
		GUEST_ACCEL=tcg,thread=single GUEST_SMP=1 GUEST_ARGS=(-icount "shift=0,sleep=off")
		soak "$KERNEL, by instructions" "$RATES.*($ONLY)"
	fi
	tap_end soak || die "logs: $GUEST_RUN"
}

main "$@"

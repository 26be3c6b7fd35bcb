#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests that take too long for make check: the long cases of scripts/wire/storms.py, load.py and data_storms.py, against
# srnic in a guest. Each test's time is printed when it ends.
#
#   scripts/test/soak.sh [-k REGEX]     only the tests whose name or rule ids match
#   scripts/test/soak.sh -l             list all tests, each with its rule ids
#
# Tests that compare rates run in a guest of one processor, whose clock counts instructions. With
# DEBUG=kasan a kernel with detectors runs all other tests.

# shellcheck source=scripts/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=scripts/lib/tap.sh
. "$TOP/scripts/lib/tap.sh"
# shellcheck source=scripts/lib/guest/guest.sh
. "$TOP/scripts/lib/guest/guest.sh"
# shellcheck source=scripts/wire/lib.sh
. "$TOP/scripts/wire/lib.sh"

LIMIT=1800	# seconds for one test
RATES=good_client_keeps_its_rate

# soak NAME DRIVER TEST...: run tests in a guest of their own, from boot to shutdown
soak() {
	local name=$1 driver=$2 failed=$TAP_FAILED test

	shift 2
	[[ $# -gt 0 ]] || return 0
	say "soak: $name"
	guest_boot A
	share_tests
	guest_run A "driver_set $driver" "$LIMIT"
	guest_run A 'insmod /share/modules/kverbs.ko'
	for test in "$@"; do
		run_tests "$name" 10.0.0.1 "^$test " "$LIMIT" --soak
	done
	guest_run A 'rmmod kverbs'
	end_guest
	if [[ $TAP_FAILED -gt $failed ]]; then
		echo "# logs: $GUEST_RUN"
	else
		guest_forget_logs
	fi
}

finish() {
	echo "# logs: $GUEST_RUN"
	tap_end soak
	exit 1
}

alone() {
	[[ ! $1 =~ ^"$KERNEL"(, srnic|, by instructions)?\ ([a-z0-9_]+)\  ]] ||
		echo "KERNEL=$KERNEL scripts/test/soak.sh -k '^${BASH_REMATCH[2]} '"
}

main() {
	local -a chosen rates others data
	local tests

	if [[ ${1-} == -l ]]; then
		exec python3 "$TOP/scripts/wire/run.py" -l --soak
	fi
	[[ $# -eq 0 || ($# -eq 2 && $1 == -k) ]] || die 'usage: soak.sh [-l | -k REGEX]'
	"$TOP/scripts/lib/setup.sh" build guest
	tests=$(python3 "$TOP/scripts/wire/run.py" -l --soak -k "${2:-.}") ||
		die 'run.py cannot list the tests: is the REGEX one of Python?'
	[[ -n $tests ]] || die "no test has a name or rule id like ${2:-.}"
	mapfile -t chosen < <(cut -d ' ' -f 1 <<<"$tests")
	mapfile -t rates < <(printf '%s\n' "${chosen[@]}" | grep "$RATES")
	mapfile -t data < <(printf '%s\n' "${chosen[@]}" | grep '^data_')
	mapfile -t others < <(printf '%s\n' "${chosen[@]}" | grep -v "$RATES\|^data_")
	need_krel
	"$TOP/scripts/lib/build.sh"
	soak "$KERNEL" srnic "${others[@]}"
	soak "$KERNEL, srnic" srnic "${data[@]}"
	if ! kernel_debugs "$KERNEL"; then
		GUEST_ACCEL=tcg,thread=single GUEST_SMP=1 GUEST_ARGS=(-icount "shift=0,sleep=off")
		soak "$KERNEL, by instructions" srnic "${rates[@]}"
	fi
	tap_end soak
}

main "$@"

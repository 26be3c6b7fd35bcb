#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Run every suite, also after a failure, and sum up what they print.
#
#   scripts/check.sh [SUITE...]    (no argument: static kunit fuzz wire interop bench e2e)
#   scripts/check.sh --all         every suite in full, on every kernel and driver: some hours
#
# A suite prints "ok N name" and "not ok N name", and at its end "# suite: N passed, N failed".
# One that ends without that line, or with other numbers than we counted, or that exits as if all
# were well though something failed, is one more failure.

. "$(dirname "$0")/lib.sh"
# shellcheck source=scripts/tap.sh
. "$TOP/scripts/tap.sh"

# All of these would take too long here.
declare -A OPTION=([wire]=--sample [interop]=--sample [bench]=--guard [e2e]=--sample)
LIMIT=45m	# for one suite: a hang is to be told, not waited for

# "VARIABLE=VALUE... SUITE ARGUMENT...", in running order
ALL=(
	"static"
	"kunit pure net s390 i386"
	"T=60 fuzz"
	"wire"
	"interop"
	"bench --guard"
	"e2e"
	"DRIVER=siw_mpa e2e"
	"KERNEL=rt e2e -k srnic/srnic"
	"KERNEL=trixie e2e"
	"KERNEL=backports e2e"
	"debug kasan wire e2e"
	"debug kcsan wire e2e"
	"soak"
	"dkms"
	"package"
	"series"
	"refusals"
)

PASSED=0
FAILED=0
SKIPPED=0
declare -a REPORT=()
RETRIED=	# "# retried: CAUSE" lines of all suites

count() { grep -cE "$1" "$2" || true; }

fail_suite() {
	FAILED=$((FAILED + 1))
	printf 'not ok %s: %s\n' "$1" "$2"
}

# judge SUITE STATUS LOG SECONDS NAME: its exit status and its output against each other
judge() {
	local suite=$1 rc=$2 log=$3 ok not_ok skipped summary

	skipped=$(count '^ok [0-9]+ .*# SKIP' "$log")
	ok=$(($(count '^ok [0-9]+ ' "$log") - skipped))
	not_ok=$(count '^not ok [0-9]+ ' "$log")
	PASSED=$((PASSED + ok))
	FAILED=$((FAILED + not_ok))
	SKIPPED=$((SKIPPED + skipped))
	REPORT+=("$(printf '%-7s %4d passed, %d failed, %d s' "$5" "$ok" "$not_ok" "$4")")

	summary=$(grep -E "^# $suite: [0-9]+ passed, [0-9]+ failed" "$log" | tail -n 1 || true)
	if [[ -z $summary ]]; then
		fail_suite "$suite" "died without its summary (exit status $rc)"
	elif [[ $summary != "# $suite: $ok passed, $not_ok failed"* ]]; then
		fail_suite "$suite" "printed $ok ok and $not_ok not ok, but sums up: $summary"
	elif [[ $not_ok -eq 0 && $rc -ne 0 ]]; then
		fail_suite "$suite" "exit status $rc after no failure"
	elif [[ $((ok + not_ok)) -eq 0 ]]; then
		fail_suite "$suite" 'ran no test'
	fi
}

# run_suite [VARIABLE=VALUE...] SUITE [ARGUMENT...]: seen as it runs, and kept for counting
run_suite() {
	local name="$*" suite log rc=0 start=$SECONDS
	local -a settings=()

	while [[ $1 == *=* ]]; do
		settings+=("$1")
		shift
	done
	suite=$1
	shift
	log=$(mktemp "$CACHE/check-$suite.XXXXXX")
	printf '# suite %s\n' "$name"
	say "check: $name"
	env "${settings[@]}" timeout -k 1m "$LIMIT" "$TOP/scripts/$suite.sh" "$@" </dev/null |
		tee "$log" || rc=${PIPESTATUS[0]}
	judge "$suite" "$rc" "$log" $((SECONDS - start)) "$name"
	RETRIED+=$(grep '^# retried: ' "$log" || true)$'\n'
	rm -f "$log"
}

main() {
	local suite

	if [[ ${1:-} == --all ]]; then
		LIMIT=6h
		set -- "${ALL[@]}"
	elif [[ $# -eq 0 ]]; then
		set -- static kunit fuzz wire interop bench e2e
	fi
	for suite in "$@"; do
		# shellcheck disable=SC2086 # words
		run_suite $suite ${OPTION[$suite]:-}
	done
	printf '# %s\n' "${REPORT[@]}"
	tap_causes <<<"$RETRIED"
	if [[ $SKIPPED -gt 0 ]]; then
		printf '%d passed, %d failed, %d skipped\n' "$PASSED" "$FAILED" "$SKIPPED"
	else
		printf '%d passed, %d failed\n' "$PASSED" "$FAILED"
	fi
	[[ $FAILED -eq 0 ]]
}

main "$@"

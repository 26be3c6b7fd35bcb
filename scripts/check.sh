#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Run every suite, also after a failure, and sum up what they print.
#
#   scripts/check.sh [SUITE...]               (no argument: static kunit fuzz wire interop bench e2e takeover)
#   scripts/check.sh --all [--part N/M]       all rows of scripts/test/check/rows, or part N of M of them: some hours
#   scripts/check.sh --all [--part N/M] -l    which rows these are, and what is known of each
#   scripts/check.sh --selftest               does it find what it is there for?
#
# Without arguments suites run beside each other where there are two processors and 7 GB of memory:
# see run_all. What runs in the background is told when the others have ended.
#
# A suite prints "ok N name" and "not ok N name", and at its end "# suite: N passed, N failed".
# One that ends without that line, or with other numbers than we counted, that exits as if something
# had failed though nothing has, that runs no test, or that leaves one out, is one more failure.
#
# No suite has a limit in seconds, for it may wait long for its turn on a busy machine. All of them
# together have one, so that a hang is told: what runs then is ended, and named with the last that it
# said, and so is what has not begun.
#
# With --all what has passed is kept, and not run again before something has changed that concerns it; AFRESH=y
# runs it. When all of scripts/test/check/rows has passed, its sum is printed: see test/check/parts.sh.

. "$(dirname "$0")/lib/lib.sh"
# shellcheck source=scripts/lib/tap.sh
. "$TOP/scripts/lib/tap.sh"

# All of these would take too long here.
declare -A OPTION=([wire]="--sample${DRIVER:+ --device $DRIVER}" [interop]=--sample [bench]=--guard [e2e]=--sample [takeover]=--sample)
LIMIT_MIN=75	# for all that runs without arguments

# The end-to-end tests in two halves
OURS=${DRIVER:-srnic}/${DRIVER:-srnic}
WITH_SIW=${DRIVER:-srnic}/siw,siw/${DRIVER:-srnic}

SCRIPTS=$TOP/scripts	# the selftest has its own

DEADLINE=0	# in $SECONDS
PASSED=0
FAILED=0
declare -a REPORT=()
RETRIED=	# "# retried: CAUSE" lines of all suites

count() { grep -cE "$1" "$2" || true; }

fail_suite() {
	FAILED=$((FAILED + 1))
	printf 'not ok %s: %s\n' "$1" "$2"
}

# judge SUITE STATUS LOG SECONDS NAME: its exit status and its output against each other
judge() {
	local suite=$1 rc=$2 log=$3 name=$5 ok not_ok summary

	ok=$(count '^ok [0-9]+ ' "$log")
	not_ok=$(count '^not ok [0-9]+ ' "$log")
	PASSED=$((PASSED + ok))
	FAILED=$((FAILED + not_ok))
	REPORT+=("$(printf '%-7s %4d passed, %d failed, %d s' "$name" "$ok" "$not_ok" "$4")")

	summary=$(grep -E "^# $suite: [0-9]+ passed, [0-9]+ failed" "$log" | tail -n 1 || true)
	if [[ $rc == late ]]; then
		fail_suite "$name" "did not end within the time for all; the last that it said: $(last_of "$log")"
	elif [[ -z $summary ]]; then
		fail_suite "$name" "died without its summary (exit status $rc)"
	elif [[ $summary != "# $suite: $ok passed, $not_ok failed"* ]]; then
		fail_suite "$name" "printed $ok ok and $not_ok not ok, but sums up: $summary"
	elif [[ $not_ok -eq 0 && $rc -ne 0 ]]; then
		fail_suite "$name" "exit status $rc after no failure"
	elif [[ $((ok + not_ok)) -eq 0 ]]; then
		fail_suite "$name" 'ran no test'
	elif grep -qE '^ok [0-9]+ .*# SKIP' "$log"; then
		fail_suite "$name" 'left a test out'
	fi
}

last_of() {
	local line

	line=$(grep -v '^ *$' "$1" | tail -n 1 || true)
	echo "${line:-nothing}"
}

# script_of SUITE: what is not called by its own name so often stands in a folder
script_of() { if [[ -e $SCRIPTS/$1.sh ]]; then echo "$SCRIPTS/$1.sh"; else echo "$SCRIPTS/test/$1.sh"; fi; }

# suite_of [VARIABLE=VALUE...] SUITE [ARGUMENT...]
suite_of() {
	while [[ $1 == *=* ]]; do
		shift
	done
	echo "$1"
}

# What runs in the background goes when we go, for every reason but SIGKILL.
end_processes() {
	# shellcheck disable=SC2046 # words
	kill $(jobs -pr) 2>/dev/null || true
}

# A process that waits for another in the foreground hears a signal only when that has ended, and
# timeout puts each suite into a group of processes that the terminal does not know: suites run in
# the background.
trap end_processes EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

may_take() { DEADLINE=$((SECONDS + 60 * $1)); }

# start [VARIABLE=VALUE...] SUITE [ARGUMENT...]: the process becomes that suite, which goes when the
# process goes that started it. What bash starts in the background ignores Ctrl-C: not so a suite,
# which may end programs like that.
start() {
	local script left=$((DEADLINE - SECONDS))
	local -a settings=()

	((left > 0)) || { echo 'it has not begun' && exit 124; }
	while [[ $1 == *=* ]]; do
		settings+=("$1")
		shift
	done
	script=$(script_of "$1")
	shift
	exec setpriv --pdeathsig TERM env --default-signal=INT,QUIT "${settings[@]}" \
		timeout -k 1m "$left" "$script" "$@" </dev/null
}

# status_of STATUS: of what has just ended. A suite may end with timeout's status for reasons of its own.
status_of() {
	if [[ ($1 -eq 124 || $1 -eq 137) && $SECONDS -ge $DEADLINE ]]; then echo late; else echo "$1"; fi
}

# count_suite STATUS LOG SECONDS NAME
count_suite() {
	# shellcheck disable=SC2086 # words
	judge "$(suite_of $4)" "$1" "$2" "$3" "$4"
	RETRIED+=$(grep '^# retried: ' "$2" || true)$'\n'
	rm -f "$2"
}

# run_suite [VARIABLE=VALUE...] SUITE [ARGUMENT...]: seen as it runs, and kept for counting
run_suite() {
	local log rc=0 began=$SECONDS suite

	log=$(mktemp "$CACHE/check-$(suite_of "$@").XXXXXX")
	printf '# suite %s\n' "$*"
	say "check: $*"
	start "$@" >"$log" &
	suite=$!
	tail -n +1 -f --pid="$suite" "$log" &
	wait "$suite" || rc=$?
	rc=$(status_of "$rc")
	wait "$!" || true
	count_suite "$rc" "$log" $((SECONDS - began)) "$*"
}

LANES=()	# of each: process and folder of logs

# run_beside all|rest NAME...: in the background, one after another, until finish_beside; with all
# that they ask for of the processors, or the rest that others leave
run_beside() {
	local share=$1 logs

	shift
	logs=$(mktemp -d "$CACHE/check-beside.XXXXXX")
	printf '%s\n' "$@" >"$logs/names"
	say "check: beside what follows: $(IFS=,; echo "$*")"
	(
		[[ $share == all ]] || renice -n 19 -p "$BASHPID" >/dev/null
		number=0
		for name in "$@"; do
			number=$((number + 1))
			began=$SECONDS
			rc=0
			# shellcheck disable=SC2086 # words
			(start $name) >"$logs/$number" 2>&1 || rc=$?
			echo "$(status_of "$rc") $((SECONDS - began))" >"$logs/$number.end"
		done
	) &
	LANES+=("$! $logs")
}

# finish_lane PROCESS LOGS
finish_lane() {
	local name log number=0 rc seconds

	wait "$1" || true
	while IFS= read -r -u 3 name; do
		number=$((number + 1))
		log=$2/$number
		touch "$log" "$log.end"	# it may have died before
		read -r rc seconds <"$log.end" || { rc=1 && seconds=0; }
		printf '# suite %s\n' "$name"
		cat "$log"
		count_suite "$rc" "$log" "$seconds" "$name"
	done 3<"$2/names"
	rm -r "$2"
}

finish_beside() {
	local lane

	for lane in "${LANES[@]}"; do
		# shellcheck disable=SC2086 # two words
		finish_lane $lane
	done
	LANES=()
}

# name_with_option SUITE: as a run without arguments has it
name_with_option() { echo "$1${OPTION[$1]:+ ${OPTION[$1]}}"; }

run_suites() {
	local suite

	for suite in "$@"; do
		# shellcheck disable=SC2046 # words
		run_suite $(name_with_option "$suite")
	done
}

# is_roomy: enough processors and memory for guests of two suites?
is_roomy() {
	[[ $(nproc) -ge 2 && $(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo) -ge $((7 << 20)) ]]
}

# prepare: at once, lest one of them waits for the packages of another. What is missing here each suite
# would complain about anew. In the background for the reason that is given at the traps.
prepare() {
	local rc=0

	timeout -k 1m $((DEADLINE - SECONDS)) "$TOP/scripts/lib/setup.sh" build static kunit fuzz guest 6.1 6.12 \
		</dev/null >&2 &
	wait "$!" || rc=$?
	[[ $(status_of "$rc") != late ]] || fail_suite setup 'did not end within the time for all'
	[[ $rc -ne 0 ]] || return 0
	printf '0 passed, 1 failed\n'
	exit 1
}

# A guest, or a pair of guests that talk to each other, keeps about one processor busy. The wire
# tests have two guests that do not talk to each other; of the other suites with guests two run at a
# time. Unit tests wait for timers most of the time, and bench counts instructions, not time. Static
# tests and the fuzzer look at no clock: they take what is left.
run_all() {
	prepare
	if ! is_roomy || [[ -n ${PAIRS:-} ]]; then
		run_suites static kunit fuzz wire interop bench e2e takeover
		return
	fi
	run_beside rest static fuzz
	run_beside all kunit "$(name_with_option bench)"
	run_suites wire
	run_beside all "$(name_with_option interop)" "PAIRS=$WITH_SIW $(name_with_option e2e)"
	# shellcheck disable=SC2046 # words
	run_suite "PAIRS=$OURS" $(name_with_option e2e)
	finish_beside
	# It judges when packets come: nobody is beside it.
	run_suites takeover
}

# shellcheck source=scripts/test/check/parts.sh
. "$TOP/scripts/test/check/parts.sh"
# shellcheck source=scripts/test/check/selftest.sh
. "$TOP/scripts/test/check/selftest.sh"

main() {
	case ${1:-} in
	'')
		may_take "$LIMIT_MIN"
		run_all
		;;
	--all) all_of_it "${@:2}" ;;
	--selftest)
		selftest
		return
		;;
	-*) die 'usage: check.sh [SUITE... | --all [--part N/M] [-l] | --selftest]' ;;
	*)
		may_take "$PART_LIMIT_MIN"
		run_suites "$@"
		;;
	esac
	printf '# %s\n' "${REPORT[@]}"
	[[ ${#ROWS[@]} -eq 0 ]] || sum_up
	tap_causes <<<"$RETRIED"
	printf '# check: %d passed, %d failed\n' "$PASSED" "$FAILED"
	printf '%d passed, %d failed\n' "$PASSED" "$FAILED"
	[[ $FAILED -eq 0 ]]
}

main "$@"

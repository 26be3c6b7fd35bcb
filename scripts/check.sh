#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Run every suite, also after a failure, and sum up what they print.
#
#   scripts/check.sh [SUITE...]               (no argument: static kunit fuzz wire interop bench e2e takeover)
#   scripts/check.sh --all [--part N/M] [-k REGEX]
#                                             run all rows of scripts/test/check/rows, those of part N of M, or those
#                                             that match: takes most of a day
#   scripts/check.sh --all [--part N/M] [-k REGEX] -l
#                                             list these rows, with the last result and time of each
#   scripts/check.sh --all --record           write which have passed into scripts/test/check/passed
#   scripts/check.sh --selftest               prove that this script notices each kind of failure
#
# Without arguments suites run at the same time if there are two processors and 7 GB of memory: see run_all. The results
# of suites in the background are printed when the suites in the foreground have ended.
#
# A suite prints "ok N name" and "not ok N name", and at its end "# suite: N passed, N failed". One more failure is
# counted if a suite ends without that last line, or with other numbers in it than this script has counted, has an exit
# status of failure though no test has failed, runs no test, or leaves out a number.
#
# Here no suite has a time limit of its own, since it may wait long for its turn on a busy machine. All suites together
# have one, so that a hang is reported: suites that are still running then are ended, and each is named with its last
# line of output; suites that have not begun are named, too. The minutes of this limit become longer on a machine that
# is slow or busy: see run_clock.
#
# With --all a row that has passed runs again only after a change of a file that concerns it; AFRESH=y runs all. When
# all rows of scripts/test/check/rows have passed, their total is printed: see test/check/parts.sh.

. "$(dirname "$0")/lib/lib.sh"
# shellcheck source=scripts/lib/tap.sh
. "$TOP/scripts/lib/tap.sh"

# Options for a run without arguments, for which the full suites would take too long
declare -A OPTION=([static]=--sample [kunit]='net splice' [wire]="--sample${DRIVER:+ --device $DRIVER}"
	[interop]=--sample [bench]=--guard [e2e]=--sample [takeover]=--sample)
# For all suites of a run without arguments, in minutes of run_clock, which are never shorter than real ones: on slow
# machines the suites took up to 61.
LIMIT_MIN=75
ROUNDS_MIN=6	# rounds of the clock in a minute of a quiet machine
LEAST_REST=10000000	# microseconds between two rounds, also on a machine that is quicker than usual
MOST_REST=600000000	# the same if the clock of the host was set while a round ran

# PAIRS for the end-to-end tests, which run as separate suites: with our driver at both ends, and with siw at one end
OURS=${DRIVER:-srnic}/${DRIVER:-srnic}
WITH_SIW=${DRIVER:-srnic}/siw,siw/${DRIVER:-srnic}

SCRIPTS=$TOP/scripts	# the selftest replaces this folder
ONCE_MORE='# all of it once more'	# printed between the two runs of a suite; only results after this line count

CLOCK=		# process that counts the time for all suites
RUNNING=	# process of the suite in the foreground, or of prepare
LOGS=		# folder with the logs of all suites that have ended; it has a file "late" when the time for all is over
OUTER=${BROKEN_BY_QEMU:-}	# set if this script runs as a suite of another check.sh
FAULTS=		# faults of the suite itself, one a line
PASSED=0
FAILED=0
declare -a REPORT=()
RETRIED=	# "# retried: CAUSE" lines of all suites

count() { grep -cE "$1" "$2" || true; }

fail_suite() {
	FAILED=$((FAILED + 1))
	FAULTS+="# $2"$'\n'
	printf 'not ok %s: %s\n' "$1" "$2"
}

# judge SUITE STATUS LOG SECONDS NAME: add the results of SUITE, which ran for SECONDS, to the
# totals; NAME is SUITE with its variables and options. A contradiction between its exit STATUS and
# its output LOG is one more failure.
judge() {
	local suite=$1 rc=$2 log=$3 name=$5 ok not_ok summary used

	ok=$(($(count '^ok [0-9]+ ' "$log") - $(count '^ok [0-9]+ .*# SKIP' "$log")))
	not_ok=$(count '^not ok [0-9]+ ' "$log")
	PASSED=$((PASSED + ok))
	FAILED=$((FAILED + not_ok))
	used=$(sed -nE 's/^# processors: ([0-9]+) s$/, \1 s of processors/p' "$log" | tail -n 1)
	REPORT+=("$(printf '%-7s %4d passed, %d failed, %d s%s' "$name" "$ok" "$not_ok" "$4" "$used")")

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

# script_of SUITE: scripts of suites are in scripts/, or in scripts/test/
script_of() { if [[ -e $SCRIPTS/$1.sh ]]; then echo "$SCRIPTS/$1.sh"; else echo "$SCRIPTS/test/$1.sh"; fi; }

# suite_of [VARIABLE=VALUE...] SUITE [ARGUMENT...]: print SUITE
suite_of() {
	while [[ $1 == *=* ]]; do
		shift
	done
	echo "$1"
}

# This runs at each exit, except by SIGKILL, so that no suite in the background is left.
end_processes() {
	# shellcheck disable=SC2046 # words
	kill $(jobs -pr) 2>/dev/null || true
	[[ -z $LOGS ]] || rm -rf "$LOGS"
}

keep_logs() {
	LOGS=$(mktemp -d "$CACHE/check-logs.XXXXXX")
	: >"$LOGS/list"
}

# Suites run in the background, since bash handles a signal only when the command in the foreground has ended. This
# script ends them, since timeout puts each into a process group that the terminal's Ctrl-C does not reach.
trap end_processes EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# shellcheck disable=SC2317 # the selftest replaces spin
# spin: what a processor of a quiet machine does in about half a second
spin() {
	local i

	for ((i = 0; i < 200000; i++)); do :; done
}

# run_clock ROUNDS PROCESS: after ROUNDS rounds tell PROCESS, which has to be running, that the time is over. A round is
# spin, and then a rest 19 times as long as spin has taken. On a machine that is five times slower, or on which spin
# gets only a fifth of a processor, a round takes five times as long, and so do the suites. A busy machine alone can
# therefore not break the limit, and a hang, which leaves the machine quiet, is still reported soon. On a quick machine
# the rest is not shorter, since downloads and the waits of tests are not either.
run_clock() {
	local rounds began rest

	for ((rounds = $1; rounds > 0; rounds--)); do
		kill -0 "$2" || return
		began=${EPOCHREALTIME/./}
		spin
		rest=$((19 * (${EPOCHREALTIME/./} - began)))
		((rest >= LEAST_REST)) || rest=$LEAST_REST
		((rest <= MOST_REST)) || rest=$MOST_REST
		setpriv --pdeathsig TERM sleep "${rest}e-6"
	done
	kill -USR1 "$2"
}

# may_take MINUTES: give all suites that follow this time
may_take() {
	local process=$BASHPID

	[[ -z $CLOCK ]] || kill "$CLOCK" 2>/dev/null || true
	rm -f "$LOGS/late"
	trap end_late USR1
	run_clock $(($1 * ROUNDS_MIN)) "$process" </dev/null >/dev/null 2>&1 &
	CLOCK=$!
}

# When the time is over, end the processes that have started suites: this ends the suites, see start.
end_late() {
	: >"$LOGS/late"
	# shellcheck disable=SC2086 # words
	kill $RUNNING "${LANES[@]%% *}" 2>/dev/null || true
}

# start [VARIABLE=VALUE...] SUITE [ARGUMENT...]: this process becomes the suite, which ends when the process that
# started it ends. Programs that bash starts in the background ignore Ctrl-C (SIGINT); env undoes that, since a suite
# may use SIGINT to end programs. timeout, here without a time, ends all processes of the suite, by SIGKILL a minute
# after the first signal.
start() {
	local script
	local -a settings=()

	[[ ! -e $LOGS/late ]] || { echo 'it has not begun' && exit 1; }
	while [[ $1 == *=* ]]; do
		settings+=("$1")
		shift
	done
	script=$(script_of "$1")
	shift
	exec setpriv --pdeathsig TERM env --default-signal=INT,QUIT "${settings[@]}" \
		timeout -k 1m 0 "$script" "$@" </dev/null
}

# processors: set SPENT to the processor time, in seconds, of all programs of this shell that have ended. On a busy
# machine this shows how long a suite would take on an idle one.
processors() {
	local file=$LOGS/times.$BASHPID

	times >"$file"
	SPENT=$(awk 'NR == 2 { split($1 "s" $2, t, /[ms]/); print int(60 * (t[1] + t[4]) + t[2] + t[5]) }' "$file")
}

# attempt [VARIABLE=VALUE...] SUITE [ARGUMENT...]: run the suite; run it again if QEMU broke one of
# its guests, since then no result is valid: see guest_broken_by_qemu. Print the processor time at
# the end.
attempt() {
	local rc=0 before

	processors
	before=$SPENT
	attempt_twice "$@" || rc=$?
	processors
	[[ -e $LOGS/late ]] || echo "# processors: $((SPENT - before)) s"
	return "$rc"
}

attempt_twice() {
	local rc=0

	# If this script runs as a suite of another check.sh, that one repeats this whole script.
	[[ -z $OUTER ]] || { (start "$@") || rc=$?; return "$rc"; }
	BROKEN_BY_QEMU=$(mktemp "$LOGS/broken.XXXXXX")
	export BROKEN_BY_QEMU
	(start "$@") || rc=$?
	# kill -0: do not repeat the suite if check.sh itself, the process $$, has been killed.
	if [[ $rc -ne 0 && -s $BROKEN_BY_QEMU ]] && kill -0 $$; then
		printf '# retried: %s\n%s\n' "$(<"$BROKEN_BY_QEMU")" "$ONCE_MORE"
		rc=0
		(start "$@") || rc=$?
	fi
	rm -f "$BROKEN_BY_QEMU"
	return "$rc"
}

# status_of STATUS: print STATUS, the exit status of a suite, or "late" if it failed because the time was over
status_of() {
	if [[ $1 -ne 0 && -e $LOGS/late ]]; then echo late; else echo "$1"; fi
}

# list_log "SECONDS FAULTS NAME" <LOG: add a log to the list for the page
list_log() {
	local number

	number=$(($(wc -l <"$LOGS/list") + 1))
	cat >"$LOGS/$number"
	echo "$number $1" >>"$LOGS/list"
}

# count_suite STATUS LOG SECONDS NAME
count_suite() {
	local failed=$FAILED lost

	RETRIED+=$(grep '^# retried: ' "$2" || true)$'\n'
	if grep -qx "$ONCE_MORE" "$2"; then
		lost=$(sed "/^$ONCE_MORE\$/q" "$2" | grep -E '^not ok [0-9]+ ' || true)
		REPORT+=("$4: ran twice; not counted, of the first time: ${lost//$'\n'/; }")
		sed -i "1,/^$ONCE_MORE\$/d" "$2"
	fi
	FAULTS=
	# shellcheck disable=SC2086 # words
	judge "$(suite_of $4)" "$1" "$2" "$3" "$4"
	failed=$((FAILED - failed - $(count '^not ok [0-9]+ ' "$2")))
	printf '%s' "$FAULTS" | cat "$2" - | list_log "$3 $failed $4"
	rm "$2"
}

# write_page: write the results as a page for a browser
write_page() {
	"$TOP/scripts/test/check/report.py" "$LOGS" "$1" || fail_suite check 'the page cannot be written'
	echo "# what ran now, as a page: $1"
}

# run_suite [VARIABLE=VALUE...] SUITE [ARGUMENT...]: show the output as it is printed, and keep it for counting
run_suite() {
	local log rc=0 began=$SECONDS suite

	log=$(mktemp "$CACHE/check-$(suite_of "$@").XXXXXX")
	printf '# suite %s\n' "$*"
	say "check: $*"
	attempt "$@" >"$log" &
	suite=$!
	RUNNING=$suite
	tail -n +1 -f --pid="$suite" "$log" &
	wait "$suite" || rc=$?
	RUNNING=
	rc=$(status_of "$rc")
	wait "$!" || true
	count_suite "$rc" "$log" $((SECONDS - began)) "$*"
}

# Lanes: each is a list of suites that run in the background, one after another. An entry of LANES
# has the id of the process that runs the lane's suites, and the folder of their logs.
LANES=()

# run_beside all|rest NAME...: run these suites in the background, one after another; finish_beside
# waits for them. "all" gives them normal priority, "rest" only the processor time that others
# leave, until finish_lane.
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
			attempt $name >"$logs/$number" 2>&1 || rc=$?
			echo "$(status_of "$rc") $((SECONDS - began))" >"$logs/$number.end"
		done
	) &
	LANES+=("$! $logs")
}

# same_priority PROCESS: give the lane and its suite, which is a process group, the priority of this script. On a
# machine where others are busy, too, the suites of a lane that has only what is left would never end. Only root may do
# this.
same_priority() {
	local children

	children=$(cat "/proc/$1/task/$1/children" 2>/dev/null) || return 0
	# shellcheck disable=SC2086 # words
	renice -n "$(nice)" -p "$1" ${children:+-g $children} >/dev/null 2>&1 || true
}

# finish_lane PROCESS LOGS: wait until the lane has ended, print the output of its suites, and count their results
finish_lane() {
	local name log number=0 rc seconds

	same_priority "$1"
	wait "$1" || true
	while IFS= read -r -u 3 name; do
		number=$((number + 1))
		log=$2/$number
		# The lane may have died, or have been ended, before the suite began or ended.
		[[ -e $log ]] || echo 'it has not begun' >"$log"
		touch "$log.end"
		read -r rc seconds <"$log.end" || { rc=$(status_of 1) && seconds=0; }
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

# name_with_option SUITE: the suite with its option in a run without arguments
name_with_option() { echo "$1${OPTION[$1]:+ ${OPTION[$1]}}"; }

run_suites() {
	local suite

	for suite in "$@"; do
		# shellcheck disable=SC2046 # words
		run_suite $(name_with_option "$suite")
	done
}

# is_roomy: are there enough processors and memory for guests of two suites?
is_roomy() {
	[[ $(nproc) -ge 2 && $(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo) -ge $((7 << 20)) ]]
}

# prepare: install the packages for all suites at once, so that no suite waits for another one's installation, and
# missing packages are reported once. It runs in the background, since bash handles no signal while a foreground command
# runs.
prepare() {
	local rc=0 began=$SECONDS

	SETUP_FETCHED=$LOGS/fetched timeout -k 1m 0 \
		"$TOP/scripts/lib/setup.sh" build static kunit fuzz guest 6.1 6.12 </dev/null >&2 &
	RUNNING=$!
	wait "$RUNNING" || rc=$?
	RUNNING=
	[[ $(status_of "$rc") != late ]] || fail_suite setup 'did not end within the time for all'
	if [[ $rc -eq 0 ]]; then
		REPORT+=("setup: $((SECONDS - began)) s, of which apt and downloads $(<"$LOGS/fetched") s")
		return
	fi
	printf '0 passed, 1 failed\n'
	exit 1
}

# A guest, or a pair of guests that talk to each other, keeps about one processor busy. So if
# is_roomy() finds enough processors and memory, two suites with guests run at a time; the wire
# tests, which have two independent guests, count as two suites. The unit tests have a virtual
# clock, and bench counts instructions, not time, so both run beside these suites. Static tests and
# the fuzzer measure no time: they get the processor time that is left.
run_all() {
	prepare
	if ! is_roomy || [[ -n ${PAIRS:-} ]]; then
		run_suites static kunit fuzz wire interop bench e2e takeover
		return
	fi
	run_beside rest "$(name_with_option static)" fuzz
	run_beside all "$(name_with_option kunit)" "$(name_with_option bench)"
	run_suites wire
	# These suites take about as long as those in the foreground.
	run_beside all "$(name_with_option interop)" "PAIRS=$WITH_SIW $(name_with_option e2e)" \
		"PAIRS=$OURS $(name_with_option e2e) -k ^[2-9]"
	# shellcheck disable=SC2046 # words
	run_suite "PAIRS=$OURS" SHORT=yes $(name_with_option e2e) -k '^[01]'
	finish_beside
	# takeover judges the times of packets, so no suite may run beside it.
	run_suites takeover
}

# shellcheck source=scripts/test/check/parts.sh
. "$TOP/scripts/test/check/parts.sh"
# shellcheck source=scripts/test/check/selftest.sh
. "$TOP/scripts/test/check/selftest.sh"

main() {
	keep_logs
	case ${1:-} in
	'')
		rm -f "$CACHE/check.html"
		may_take "$LIMIT_MIN"
		run_all
		;;
	--all) all_of_it "${@:2}" ;;
	--selftest)
		selftest
		return
		;;
	-*) die 'usage: check.sh [SUITE... | --all [--part N/M] [-k REGEX] [-l] | --all --record | --selftest]' ;;
	*)
		may_take "$PART_LIMIT_MIN"
		run_suites "$@"
		;;
	esac
	printf '# %s\n' "${REPORT[@]}"
	[[ ${#ROWS[@]} -eq 0 ]] || sum_up
	tap_causes <<<"$RETRIED"
	write_page "$CACHE/check.html"
	printf '# check: %d passed, %d failed\n' "$PASSED" "$FAILED"
	printf '%d passed, %d failed\n' "$PASSED" "$FAILED"
	[[ $FAILED -eq 0 ]]
}

main "$@"

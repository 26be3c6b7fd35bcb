# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Test results as every suite prints them, sourced after lib.sh:
#   tap ok|"not ok" NAME       print one result, with the next number; "ok" of a name with "# SKIP" is counted apart. A
#                              suite whose tests can run alone has a function alone NAME, which prints the command for
#                              that
#   tap_run NAME COMMAND...    run a command as a test; print the end of its output if it fails
#   tap_each PREFIX            print the results on stdin, which have no numbers: "ok NAME", "not ok NAME", other lines
#   tap_relay PREFIX SUITE     print the results of a suite, which stdin has, with numbers of this script
#   tap_start PREFIX SUITE COMMAND...
#                              run a suite in the background, and
#   tap_finish                 print the results of all such suites, one suite after the other
#   tap_retried CAUSE          record that something was tried again, on proof of CAUSE, for which we are not at fault
#   tap_retries                print how often that was, by cause
#   tap_end SUITE [NOTE]       print retries by cause, and the summary line that scripts/check.sh waits for

TAP_PASSED=0
TAP_FAILED=0
TAP_SKIPPED=0
TAP_RETRIED=()

tap() {
	case $1:$2 in
	ok:*'# SKIP'*) TAP_SKIPPED=$((TAP_SKIPPED + 1)) ;;
	ok:*) TAP_PASSED=$((TAP_PASSED + 1)) ;;
	'not ok:'*) TAP_FAILED=$((TAP_FAILED + 1)) ;;
	*) die "tap: no such result: $1" ;;
	esac
	printf '%s %d %s\n' "$1" $((TAP_PASSED + TAP_FAILED + TAP_SKIPPED)) "$2"
	[[ $1 == ok ]] || ! declare -F alone >/dev/null || alone "$2" | sed 's/^/# alone: /'
}

# tap_run writes the command's output to a file, not into a pipe: the output is printed only if the
# command fails, and after the line with the result.
tap_run() {
	local name=$1 log

	shift
	log=$(mktemp "$CACHE/log.XXXXXX")
	if "$@" >"$log" 2>&1 </dev/null; then
		tap ok "$name"
	else
		tap 'not ok' "$name"
		tail -n 200 "$log" | sed 's/^/# /'
	fi
	rm -f "$log"
}

tap_each() {
	local line

	while IFS= read -r line; do
		case $line in
		'ok '*) tap ok "$1${line#ok }" ;;
		'not ok '*) tap 'not ok' "$1${line#not ok }" ;;
		*) printf '%s\n' "$line" ;;
		esac
	done
}

# tap_retried CAUSE: CAUSE must not contain numbers that change, since equal causes are counted together
tap_retried() {
	TAP_RETRIED+=("$1")
	printf '# retried: %s\n' "$1"
}

# tap_retried_in LOG: record the retries that a test has reported in its log, as lines "retried: CAUSE"
tap_retried_in() {
	local cause

	while IFS= read -r cause; do
		tap_retried "$cause"
	done < <(sed -n 's/^retried: //p' "$1")
}

# tap_causes: count the "retried" lines on stdin by cause; print a line even if there is none
tap_causes() {
	local causes

	causes=$(sed -n 's/^# retried: //p' | sort | uniq -c |
		awk '{ n = $1; $1 = ""; printf "%s%d x%s", s, n, $0; s = ", " }')
	echo "# retries: ${causes:-none}"
}

# tap_relay adds a failed test if the suite died before its last line.
tap_relay() {
	local line ended=no

	while IFS= read -r line; do
		case $line in
		'ok '[0-9]*) tap ok "$1 ${line#ok * }" ;;
		'not ok '[0-9]*) tap 'not ok' "$1 ${line#not ok * }" ;;
		"# $2: "*' passed, '*' failed'*) ended=yes ;;
		'# retried: '*) tap_retried "${line#\# retried: }" ;;
		'# retries: '*) ;;
		*) printf '%s\n' "$line" ;;
		esac
	done
	[[ $ended == yes ]] || tap 'not ok' "$1 $2 died before its end"
}

TAP_STARTED=()	# process, output, PREFIX, SUITE of each

# A suite that tap_start has started gets SIGTERM when this script ends.
tap_start() {
	local prefix=$1 suite=$2 output

	shift 2
	output=$(mktemp "$CACHE/log.XXXXXX")
	setpriv --pdeathsig TERM "$@" >"$output" </dev/null &
	TAP_STARTED+=("$!" "$output" "$prefix" "$suite")
}

tap_finish() {
	local failed

	set -- "${TAP_STARTED[@]}"
	while [[ $# -gt 0 ]]; do
		failed=$TAP_FAILED
		tap_relay "$3" "$4" < <(tail -n +1 -f --pid="$1" "$2")
		wait "$1" || [[ $TAP_FAILED -gt $failed ]] ||
			tap 'not ok' "$3 $4 ended as if something had failed"
		rm "$2"
		shift 4
	done
	TAP_STARTED=()
}

tap_retries() {
	[[ ${#TAP_RETRIED[@]} -eq 0 ]] || printf '# retried: %s\n' "${TAP_RETRIED[@]}" | tap_causes
}

# tap_end adds a failed test if there was none: a suite without a test must not pass.
tap_end() {
	[[ $((TAP_PASSED + TAP_FAILED)) -gt 0 ]] || tap 'not ok' "$1: no test was run"
	tap_retries
	printf '# %s: %d passed, %d failed%s%s\n' "$1" "$TAP_PASSED" "$TAP_FAILED" \
		"$([[ $TAP_SKIPPED -eq 0 ]] || echo ", $TAP_SKIPPED skipped")" "${2:-}"
	[[ $TAP_FAILED -eq 0 ]]
}

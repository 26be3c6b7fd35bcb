# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2016
#
# Sourced by check.sh: check.sh --selftest. Suites that are made up err in each way that it has to see.

# fake SUITE COMMANDS
fake() {
	printf '#!/bin/bash\n%s\n' "$2" >"$SCRIPTS/$1.sh"
	chmod +x "$SCRIPTS/$1.sh"
}

# outcome COMMAND...: in a process of its own, what it says and how it ends
outcome() {
	(
		"$@"
		printf '# %s\n' "${REPORT[@]}"
		echo "$PASSED passed, $FAILED failed"
	) >"$OUTPUT" 2>&1 </dev/null || echo "exit status $?" >>"$OUTPUT"
}

# says REGEX...: each is a line of that
says() {
	local regex

	for regex in "$@"; do
		grep -qxE -- "$regex" "$OUTPUT" || die "not said: $regex; but: $(<"$OUTPUT")"
	done
}

# within SECONDS COMMAND...
within() {
	DEADLINE=$((SECONDS + $1))
	"${@:2}"
}

# in_the_end SECONDS "FAKE..." COMMAND...: outcome, with more and more time until each of these suites has
# had its turn. On a busy machine it may not have come by then.
in_the_end() {
	local seconds fake

	for ((seconds = $1; seconds < 2000; seconds *= 3)); do
		rm -f "$SCRIPTS"/*.began
		outcome within "$seconds" "${@:3}"
		for fake in $2; do
			[[ -e $SCRIPTS/$fake.began ]] || continue 2
		done
		return
	done
	die "not begun after $seconds s: one of $2"
}

lanes() {
	run_beside rest slow hangs never
	run_suites passes
	finish_beside
}

selftest_of_judge() {
	fake passes 'echo "ok 1 a"; echo "# passes: 1 passed, 0 failed"; touch "$0.began"'
	fake fails 'echo "ok 1 a"; echo "not ok 2 b"; echo "# fails: 1 passed, 1 failed"; exit 1'
	fake dies 'echo "ok 1 a"; exit 124'
	fake miscounts 'echo "ok 1 a"; echo "# miscounts: 2 passed, 0 failed"'
	fake pretends 'echo "ok 1 a"; echo "# pretends: 1 passed, 0 failed"; exit 3'
	fake idles 'echo "# idles: 0 passed, 0 failed"'
	fake skips 'echo "ok 1 a # SKIP"; echo "# skips: 1 passed, 0 failed"'
	outcome within 3000 run_suites passes fails dies miscounts pretends idles skips
	says 'not ok dies: died without its summary \(exit status 124\)' \
		'not ok miscounts: printed 1 ok and 0 not ok, but sums up: # miscounts: 2 passed, 0 failed' \
		'not ok pretends: exit status 3 after no failure' 'not ok idles: ran no test' \
		'not ok skips: left a test out' '6 passed, 6 failed'
}

# No suite is too slow, all of them together may be.
selftest_of_limit() {
	local late='did not end within the time for all; the last that it said'

	fake slow 'sleep 2; echo "ok 1 a"; echo "# slow: 1 passed, 0 failed"'
	fake hangs 'echo "ok 1 a"; echo "hangs: begins with b"; touch "$0.began"; exec sleep 3000'
	fake never 'echo "ok 1 a"; echo "# never: 1 passed, 0 failed"'
	in_the_end 4 "passes.sh hangs.sh" run_suites passes hangs never
	says "not ok hangs: $late: hangs: begins with b" "not ok never: $late: it has not begun" '2 passed, 2 failed'
	in_the_end 5 "passes.sh hangs.sh" lanes
	says '# slow +1 passed, 0 failed, .*' '# passes +1 passed, 0 failed, .*' \
		"not ok hangs: $late: hangs: begins with b" "not ok never: $late: it has not begun" \
		'3 passed, 2 failed'
}

selftest() (
	dir=$(mktemp -d "$CACHE/selftest.XXXXXX")
	trap 'end_processes; rm -rf "$dir"' EXIT
	SCRIPTS=$dir/scripts
	OUTPUT=$dir/output
	mkdir -p "$SCRIPTS"
	selftest_of_judge
	selftest_of_limit
)

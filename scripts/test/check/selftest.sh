# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2016,SC2317
#
# Sourced by check.sh for its --selftest. Fake suites fail in each way that check.sh has to report.

# fake SUITE COMMANDS: make a suite of these commands
fake() {
	printf '#!/bin/bash\n%s\n' "$2" >"$SCRIPTS/$1.sh"
	chmod +x "$SCRIPTS/$1.sh"
}

# outcome COMMAND...: run COMMAND in a subshell; write its output, the totals and its exit status into $OUTPUT
outcome() {
	look_again
	(
		"$@"
		printf '# %s\n' "${REPORT[@]}"
		[[ ${#ROWS[@]} -eq 0 ]] || sum_up
		echo "$PASSED passed, $FAILED failed"
	) >"$OUTPUT" 2>&1 </dev/null || echo "exit status $?" >>"$OUTPUT"
}

# says REGEX...: each matches a whole line of $OUTPUT
says() {
	local regex

	for regex in "$@"; do
		grep -qxE -- "$regex" "$OUTPUT" || die "not said: $regex; but: $(<"$OUTPUT")"
	done
}

# within ROUNDS COMMAND...: run COMMAND, a function of check.sh, with a limit for all of its suites. On a quiet machine
# a round takes a second here.
within() {
	local ROUNDS_MIN=1

	may_take "$1"
	"${@:2}"
	kill "$CLOCK" 2>/dev/null || true
}

# in_the_end ROUNDS "FAKE..." COMMAND...: run COMMAND with a limit of ROUNDS, then with three
# times the limit, and so on, until each of the fake suites FAKE has begun: this may take longer on
# a busy machine.
in_the_end() {
	local rounds fake

	for ((rounds = $1; rounds < 2000; rounds *= 3)); do
		rm -f "$SCRIPTS"/*.began
		outcome within "$rounds" "${@:3}"
		for fake in $2; do
			[[ -e $SCRIPTS/$fake.began ]] || continue 2
		done
		return
	done
	die "not begun after $rounds rounds: one of $2"
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
	fake skips 'echo "ok 1 a # SKIP"; echo "ok 2 b"; echo "# skips: 1 passed, 0 failed, 1 skipped"'
	outcome within 3000 run_suites passes fails dies miscounts pretends idles skips
	says 'not ok dies: died without its summary \(exit status 124\)' \
		'not ok miscounts: printed 1 ok and 0 not ok, but sums up: # miscounts: 2 passed, 0 failed' \
		'not ok pretends: exit status 3 after no failure' 'not ok idles: ran no test' \
		'not ok skips: left a test out' '6 passed, 6 failed'
	write_page "$dir/page"
	[[ $(grep -o '<td class="failed">FAILED</td><td class="">[a-z]*' "$dir/page" |
		sed 's/.*>//' | paste -sd ' ') == \
		'fails dies miscounts pretends idles skips b' ]] || die "the page says otherwise: $(<"$dir/page")"
	grep -qx 'exit status 3 after no failure</pre>' "$dir/page" || die "the page does not say why: $(<"$dir/page")"
}

# A suite runs again, once, if QEMU broke a guest, and for no other reason.
selftest_of_once_more() {
	fake broken 'echo "a cause" >"$BROKEN_BY_QEMU"; echo "not ok 1 a"; echo "# broken: 0 passed, 1 failed"; exit 1'
	fake mended '[[ -e $0.began ]] || { touch "$0.began"; exec "${0%/*}/broken.sh"; }
		echo "ok 1 a"; echo "ok 2 b"; echo "# mended: 2 passed, 0 failed"; rm "$0.began"'
	outcome within 3000 run_suites mended broken fails
	says '# mended +2 passed, 0 failed, .*' '# broken +0 passed, 1 failed, .*' '3 passed, 2 failed'
	[[ $(grep -c '^# retried: a cause$' "$OUTPUT") -eq 2 ]] || die "not tried twice: $(<"$OUTPUT")"
	says '# mended: ran twice; not counted, of the first time: not ok 1 a'
	OUTER=yes outcome within 3000 run_suites broken
	[[ $(grep -c '^# retried: a cause$' "$OUTPUT") -eq 0 ]] || die "within another: $(<"$OUTPUT")"
	outcome within 3000 mended_beside
	says '# retried: a cause' '# mended +2 passed, 0 failed, .*' '2 passed, 0 failed'
}

mended_beside() {
	run_beside all mended
	finish_beside
}

# When the time for all suites is over, those that still run and those that have not begun are reported.
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
	outcome on_a_slow_machine
	says '# tardy +1 passed, 0 failed, .*' '1 passed, 0 failed'
	! can_raise_priority || { outcome within 60 lane_of_the_rest && says '# waits +1 passed, 0 failed, .*'; }
}

# A limit of two rounds, two seconds on a quiet machine, is forty times as long on one that is forty times slower.
on_a_slow_machine() {
	spin() { sleep 2; }
	fake tardy 'sleep 5; echo "ok 1 a"; echo "# tardy: 1 passed, 0 failed"'
	within 2 run_suites tardy
}

# A process that has the least priority already, such as static in the background of make check, has none to give back;
# and in a container root may not be allowed to.
can_raise_priority() { [[ $(nice) -lt 19 ]] && nice -n 19 sh -c "renice -n $(nice) -p \$\$" >/dev/null 2>&1; }

# This suite has only the processor time that others leave, until nothing runs in the foreground.
lane_of_the_rest() {
	fake waits '[[ $(nice) -eq 19 ]] && touch "$0.began"; while [[ $(nice) -eq 19 ]]; do sleep 0.1; done
		echo "ok 1 a"; echo "# waits: 1 passed, 0 failed"'
	run_beside rest waits
	until [[ -e $SCRIPTS/waits.sh.began ]]; do sleep 0.1; done
	finish_beside
}

# commit_all [MESSAGE]
commit_all() {
	in_git add -A
	in_git -c user.name=a -c user.email=a@b -c commit.gpgsign=false -c core.hooksPath=/dev/null commit -q \
		-m "${1:-a}"
}

selftest_of_parts() {
	local on='on [0-9a-f]{12} in [0-9]+ s, and nothing that concerns it has changed'

	in_git init -q
	mkdir "$TREE/kunit"
	touch "$TREE/kunit/broken" "$TREE/README.md"
	printf '%s\n' '# MINUTES ROW' '60 bench' '50 A=b mutate x' '70 wire' >"$SCRIPTS/test/check/rows"
	fake bench 'echo "ok 1 a"; echo "# bench: 1 passed, 0 failed"'
	fake mutate '[[ $A == b && $1 == x && -z ${PART:-}${KERNEL:-} && ! -e ${0%/*}/../kunit/broken ]] || exit 1
		echo "ok 1 a"; echo "# mutate: 1 passed, 0 failed"'
	fake wire 'python3 -c "import time
while time.process_time() < 1.2: pass"
		echo "ok 1 a"; echo "ok 2 b"; echo "# wire: 2 passed, 0 failed"'
	commit_all
	export PART=1/2 KERNEL=6.12

	outcome all_of_it --part 1/2
	says '# part 1/2' '# suite bench' '# suite A=b mutate x' 'not ok A=b mutate x: died .*' \
		'# part 1/2: 1 passed, 1 failed, .*' '# check-all: 2 of 3 rows have not passed .*: A=b mutate x, wire' \
		'1 passed, 1 failed'
	outcome all_of_it --part 2/2
	says '# check-all: 1 of 3 rows .*: A=b mutate x' '2 passed, 0 failed'
	outcome all_of_it -l
	says '1/3 +60 +[0-9]+ +[0-9]+  passed .* bench' '2/3 +50 +[0-9]+ +[0-9]+  failed .* A=b mutate x' \
		'3/3 +70 +[0-9]+ +[0-9]+  passed .* wire'
	read_kept wire
	[[ $USED -ge 1 ]] || die "wire took no processor: $(<"$(kept_file wire)")"
	# Without results in the cache recorded ones are used. Only rows that passed are recorded.
	outcome all_of_it --record
	mv "$KEPT" "$KEPT.here"
	outcome all_of_it -l
	says '1/3 +60 +[0-9]+ +[0-9]+  passed .* bench' '2/3 +50 +- +-  none +- +A=b mutate x' \
		'3/3 +70 +[0-9]+ +[0-9]+  passed .* wire'
	# Recorded results also replace a machine's own result that is stale.
	mkdir "$KEPT"
	printf '%s\n' '0123456789ab 9 0 9 9' wire >"$(kept_file wire)"
	outcome all_of_it -l
	says '3/3 +70 +[0-9]+ +[0-9]+  passed .* wire'
	rm -r "$KEPT"
	mv "$KEPT.here" "$KEPT"
	# Rows that have passed do not run again; the other rows do.
	rm "$TREE/kunit/broken"
	commit_all
	outcome all_of_it
	says "# 1 passed $on" "# 2 passed $on" '# suite A=b mutate x' '4 passed, 0 failed' \
		'# check-all: all 3 rows: 4 passed, 0 failed, [0-9]+ min; on: [0-9a-f]{12} [0-9a-f]{12}'
	write_page "$dir/page"
	grep -qE '>wire: 2 passed on [0-9a-f]{12} ' "$dir/page" || die "the page has no row that passed earlier"
	AFRESH=y outcome all_of_it -k ire
	says '# suite wire' '2 passed, 0 failed'
	outcome all_of_it --part 1/3 -k ire
	says '.*no row matches: ire' 'exit status 1'
	# After changes of a page and of a script, uncommitted, the script's row is stale, and no result is kept.
	echo 'a page' >"$TREE/README.md"
	outcome all_of_it -l
	says '.* passed .* bench' '.* passed .* A=b mutate x' '.* passed .* wire'
	echo ': more' >>"$SCRIPTS/bench.sh"
	outcome all_of_it -l
	says '.* stale .* bench' '.* passed .* A=b mutate x' '.* passed .* wire'
	outcome all_of_it --part 1/2
	says '# not kept, .*: bench' "# 1 passed $on" '2 passed, 0 failed'
	AFRESH=y outcome all_of_it --part 1/3
	says '# suite bench' '1 passed, 0 failed'
	# A file that concerned_by does not list makes all rows stale.
	commit_all
	outcome all_of_it --part 1/3
	selftest_of_words
	selftest_of_pages
	selftest_of_stated
	echo ': more' >"$SCRIPTS/lib.sh"
	outcome all_of_it -l
	says '.* stale .* bench' '.* stale .* A=b mutate x' '.* stale .* wire'
	outcome all_of_it --part 1/1
	says '.*a part would take 180 minutes.*' 'exit status 1'
	outcome all_of_it --part 2/4
	says '.*there is no part 2/4.*' 'exit status 1'
}

# words FILE BEFORE WORDS CODE: three contents of FILE, as formats of printf. WORDS, if not empty,
# differs from BEFORE in comments alone; CODE differs in code. Only CODE must count as a change.
words() {
	local commit

	mkdir -p "$TREE/$(dirname "$1")"
	# shellcheck disable=SC2059
	printf "$2" >"$TREE/$1"
	commit_all
	commit=$(in_git rev-parse HEAD)
	# shellcheck disable=SC2059
	printf "$3" >"$TREE/$1"
	if [[ $3 ]]; then
		holds "$commit" wire || die "wire is run again for words of $1"
		! holds "$commit" static || die "words of $1 concern nothing"
	fi
	look_again
	# shellcheck disable=SC2059
	printf "$4" >"$TREE/$1"
	! holds "$commit" wire || die "wire is not run again for a change of $1: $4"
	in_git checkout -q "$1"
	look_again
	chmod +x "$TREE/$1"
	! holds "$commit" wire || die "wire is not run again for another mode of $1"
	chmod -x "$TREE/$1"
}

selftest_of_words() {
	words d.c 'int a; /* one\n * word */\nchar *b = "/* c */";\n' '// no word\nint a;\nchar *b = "/* c */";\n' \
		'int a; /* one\n * word */\nchar *b = "/* d */";\n'
	words d.py 'a = 1  # one\nb = "# c"\n' '# two\na = 1\nb = "# c"\n' 'a = 1  # one\nb = "# d"\n'
	words d.sh 'a=1 # one\ncat <<E\n# c\nE\n' '# two\na=1\ncat <<E\n# c\nE\n' 'a=1 # one\ncat <<E\n# d\nE\n'
	words d.sh '#!/bin/bash\na=1 # one\n' '#!/bin/bash\n# two\n\na=1\n' '#!/bin/sh\na=1 # one\n'
	words d.py '#!/bin/a\na = 1  # one\n' '#!/bin/a\n# two\na = 1\n' '#!/bin/b\na = 1  # one\n'
	# An empty line is code only in a here document.
	words d.sh 'f() {\n\tcat <<E\na\n\nb\nE\n}\n' '# word\nf() {\n\n\tcat <<E\na\n\nb\nE\n}\n' \
		'f() {\n\tcat <<E\na\nb\nE\n}\n'
	words d.sh "a='b\n\nc'\n" "a='b\n\nc' # word\n" "a='b\nc'\n"
	words d.py '"""One"""\ndef f():\n    """One\n\n    word"""\n    return "b"\n' \
		'def f():\n    """Two"""\n    return "b"\n' '"""One"""\ndef f():\n    """One"""\n    return "c"\n'
	words d.py '"""One"""\nprint(__doc__)  # one\ndef f():\n    """One"""\n' \
		'"""One"""\nprint(__doc__)  # two\ndef f():\n    """Two"""\n' \
		'"""Two"""\nprint(__doc__)\ndef f():\n    """One"""\n'
	words d.py 'def f():\n    """Only words"""\n' 'def f():\n    """No code"""\n' \
		'def f():\n    """Only words"""\n    g()\n'
	# A file that cannot be parsed counts as changed if only a comment differs.
	words d.sh 'a=1\nif # one\n' '' 'a=1\nif # two\n'
	words d.py 'a = 1\nif  # one\n' '' 'a = 1\nif  # two\n'
	words d.c '#define A 1\n/* one\n' '' '#define A 1\n/* two\n'
	selftest_of_change_within_run
}

# While rows run, a file changes twice: first its comments, then, during the last row, its code.
selftest_of_change_within_run() {
	fake bench 'sed -i "/two/s/a=1/a=2/" "${0%/*}/../e.sh"; echo "ok 1 a"; echo "# bench: 1 passed, 0 failed"'
	printf 'a=1 # one\n' >"$TREE/e.sh"
	commit_all
	AFRESH=y outcome all_of_it
	says '# check-all: all 3 rows: 4 passed, 0 failed, .*'
	printf 'a=1 # two\n' >"$TREE/e.sh"
	outcome all_of_it -l
	says '.* passed .* bench' '.* passed .* A=b mutate x' '.* passed .* wire'
	AFRESH=y outcome all_of_it -k bench
	says '# not kept, .*: bench' '# check-all: 3 of 3 rows have not passed .*'
	in_git checkout -q e.sh
}

# page FILE LINE... SENTENCE USED SUITE: make the page FILE of the LINEs. The sed command SENTENCE
# changes a text that SUITE does not use: the results of SUITE must stay valid. The sed command USED
# changes a text that SUITE uses: they must become invalid.
page() {
	local file=$TREE/$1 commit lines=("${@:2:$#-4}")

	mkdir -p "${file%/*}"
	printf '%s\n' "${lines[@]}" >"$file"
	commit_all
	commit=$(in_git rev-parse HEAD)
	set -- "$1" "${@: -3}"
	look_again
	sed -i "$2" "$file"
	holds "$commit" "$4" || die "$4 is run again for a sentence of $1"
	look_again
	sed -i "$3" "$file"
	! holds "$commit" "$4" || die "$4 is not run again for what it uses of $1"
	in_git checkout -q "$1"
}

selftest_of_pages() {
	page Documentation/infiniband/iw_mpa_admin.rst '- Type' '  it' '' '.. run: client' '' '::' '' '    # ls' '' \
		s/it/this/ s/ls/ps/ e2e
	page Documentation/infiniband/a_conformance.rst '   * - M-1-1' '     - It must.' '     - wire a: b (c)' \
		's/(c)/(d)/' s/must/may/ wire
}

# A commit may state which suites its change of a file concerns. If another commit changes the file and states nothing,
# the change concerns what concerned_by says.
selftest_of_stated() {
	local commit

	echo 'a=1' >"$TREE/f.sh"
	commit_all
	commit=$(in_git rev-parse HEAD)
	echo 'a=2' >"$TREE/f.sh"
	look_again
	! holds "$commit" bench || die 'an uncommitted change concerns nothing'
	commit_all $'a\n\nSeen: nothing.\nConcerns: wire mutate:x'
	look_again
	holds "$commit" bench || die 'bench is run again for what concerns wire'
	! holds "$commit" wire || die 'wire is not run again for what concerns it'
	! holds "$commit" 'mutate x' || die 'a row is not run again for what concerns it'
	holds "$commit" 'mutate y' || die 'a row is run again for what concerns another one'
	printf '# a word\na=2\n' >"$TREE/f.sh"
	commit_all
	look_again
	holds "$commit" bench || die 'bench is run again for words and for what concerns wire'
	! holds "$commit" static || die 'words concern nothing'
	echo 'a=3' >"$TREE/f.sh"
	commit_all
	look_again
	! holds "$commit" bench || die 'bench is not run again for a change that states nothing'
}

# If the script or the folder of a suite names a script, a folder of scripts or a target of make,
# then concerned_by must name this suite for the script, folder or target.
selftest_of_concerns() {
	local suite path

	for suite in $(suites_of_rows); do
		while IFS= read -r path; do
			[[ ! -d $TOP/$path ]] || path+=/file
			[[ ! -e $TOP/${path%/file} ]] || concerns "$path" "$suite" ||
				die "$suite names $path, but concerned_by does not know"
		done < <(named_by "$suite")
	done
	! concerns README.md wire || die 'wire is run for a page'
	changed Documentation/infiniband/srnic.rst + static 'series text'
	changed Documentation/infiniband/srnic.rst - 'series build' 'package 6.1' 'usage help demo' interop
	changed README.md + 'package --readme 6.1' 'usage help demo' 'usage bench_table bench_users'
	changed README.md - 'package 6.1' 'usage cross' 'series text'
	changed Documentation/infiniband/iw_mpa_interop.rst + 'interop -k default' 'usage interop_write'
	concerns drivers/NAME.c wire || die 'wire is not run for a driver'
	! concerns "$RECORD" static || die 'a row is run for the record of it'
	selftest_of_tests
}

# changed FILE +|- ROW...: a change of FILE must make these rows run again (+), or must not (-)
changed() {
	local row said

	for row in "${@:3}"; do
		said=-
		# shellcheck disable=SC2086 # words
		! concerns "$1" "$(suite_of $row)" "$row" || said=+
		[[ $said == "$2" ]] || die "of a change of $1: $said $row"
	done
}

# A file with tests concerns the rows that can run one of them, also by a file that imports it.
selftest_of_tests() {
	local ROWS=() MINUTES=() file name other row

	read_rows
	for row in "${ROWS[@]}"; do
		[[ $row != *'e2e '*'-k '* || $row =~ \ -k\ \^\(?[0-9|]+\)?$ ]] || die "which cases are those of $row?"
	done
	changed scripts/e2e/040-perftest.sh + 'PAIRS=siw/srnic e2e' 'A=b e2e --sample' 'e2e -k ^(010|040)' \
		'e2e -k ^040' \
		'SUITE=perftest suites --sample' 'debug kcsan e2e' 'usage demo'
	changed scripts/e2e/040-perftest.sh - 'e2e -k ^(010|200)' 'SUITE=mpi suites --sample' 'debug kasan storms' \
		'usage wire_device' interop takeover
	changed scripts/wire/data_ops.py + wire 'wire --device siw_mpa' 'A=b wire --sample' \
		'wire -k x data_ddp data_ops' soak device \
		'usage wire_device'
	changed scripts/wire/data_ops.py - 'wire -k x data_ddp' 'wire --sample load' 'A=b soak -k ^storms_' \
		'debug kasan faults' \
		'usage demo' takeover e2e fuzz
	changed scripts/wire/load.py + 'soak -k ^load_'
	changed scripts/suites/blktests.patch + 'SUITE=blktests suites --sample' 'SUITE=srp suites --sample' \
		'usage suites'
	changed scripts/suites/libsiw_probe.c + 'SUITE=libsiw suites --sample'
	changed scripts/suites/qmp.py - 'SUITE=libsiw suites --sample'
	changed scripts/suites/lib.sh + 'SUITE=qemu suites --sample'
	for file in "$TOP"/scripts/suites/*.sh; do
		name=$(basename "$file" .sh)
		[[ $name == lib ]] || changed "scripts/suites/$name.sh" + "SUITE=$name suites --sample"
		while IFS= read -r other; do
			changed "$other" + "SUITE=$name suites --sample"
		done < <(grep -v '^ *#' "$file" | grep -oE 'scripts/(suites|e2e)/[a-zA-Z0-9_-]+\.[a-z]+')
	done
	changed scripts/wire/data_fuzz.py + 'debug kasan storms'
	for file in "$TOP"/scripts/wire/*.py; do
		grep -q '^@rule' "$file" || continue
		changed "scripts/wire/${file##*/}" - takeover
		while read -r other; do
			changed "scripts/wire/$other.py" + "wire $(basename "$file" .py)"
		done < <(sed -nE 's/^(import|from) (\w+).*/\2/p' "$file")
	done
}

# named_by SUITE: print the paths of the scripts that the suite's files name; and, for each target
# of make that these files call, the paths that the script of this target may have
named_by() {
	local script folder
	local -a files

	script=$(script_of "$1")
	files=("$script")
	for folder in "$TOP/scripts/$1" "$TOP/scripts/test/$1"; do
		[[ ! -d $folder || $1 == check ]] || files+=("$folder")
	done
	grep -rhIv --exclude=README.md '^[[:space:]]*#' "${files[@]}" |
		grep -oE 'scripts/[a-z0-9_/.-]*[a-z0-9]|make -s (-C "\$TOP" )?[a-z0-9]+' |
		sed -E 's,make -s (-C "\$TOP" )?(.*),scripts/\2.sh\nscripts/test/\2.sh\nscripts/lib/\2.sh,' | sort -u
}

suites_of_rows() {
	local row

	read_rows
	for row in "${ROWS[@]}"; do
		# shellcheck disable=SC2086 # words
		suite_of $row
	done | sort -u
}

selftest() (
	dir=$(mktemp -d "$CACHE/selftest.XXXXXX")
	trap 'end_processes; rm -rf "$dir"' EXIT
	"$TOP/scripts/test/check/report.py" --selftest
	selftest_of_concerns
	TREE=$dir/tree
	SCRIPTS=$TREE/scripts
	KEPT=$dir/kept
	OUTPUT=$dir/output
	mkdir -p "$SCRIPTS/test/check"
	# The environment may name a file by which suites report to an outer check.sh: fake suites get another one.
	export BROKEN_BY_QEMU=$dir/told
	OUTER=
	spin() { sleep 0.05; }
	LEAST_REST=0
	unset -v AFRESH
	selftest_of_judge
	selftest_of_once_more
	selftest_of_limit
	selftest_of_parts
)

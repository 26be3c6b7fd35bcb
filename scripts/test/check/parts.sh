# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Sourced by check.sh for "make check-all": run the rows of scripts/test/check/rows, in parts of
# limited time.
#
# The result of each row of scripts/test/check/rows is kept in $CACHE/check-all, with the commit that was tested.
# --record writes the rows that have passed into scripts/test/check/passed, for other machines. A row that has passed is
# not run again while no file that concerns it has changed: see concerned_by. AFRESH=y runs it. When all rows have
# passed, their total is printed. One part runs at a time: rows of one suite share folders.

PART_LIMIT_MIN=240	# limit for one part, after which a hang is reported
PART_MIN=100		# longest part of make check-all, by the minutes in scripts/test/check/rows
MOST_MIN=120		# longest part that --part accepts
USAGE_ALL='usage: check.sh --all [--part N/M] [-k REGEX] [-l]; check.sh --all --record'

TREE=$TOP		# the repository; the selftest replaces TREE and KEPT
KEPT=$CACHE/check-all
RECORD=scripts/test/check/passed	# relative to TREE

# Variables that would change what a row tests
FOREIGN=(AFRESH CONFIG_IW_MPA_TAKEOVER DEBUG DRIVER KERNEL KERNELS KREL LARGE_FPDU MAKEFLAGS MAKEOVERRIDES MFLAGS
	MTU_VARIANTS PAIRS PART PEER PEERS README_MINUTES ROUNDS SHORT SUITE T USERS_COLUMNS USERS_TIMES)

ROWS=()		# all rows of scripts/test/check/rows, in the order of that file
MINUTES=()	# minutes of each row, from that file
PART_OF=()	# the part of each row, from 1 on
PARTS=0
CHOSEN=.	# regular expression for the rows to run

read_rows() {
	local minutes row

	while read -r minutes row; do
		MINUTES+=("$minutes")
		ROWS+=("$row")
	done < <(grep '^[0-9]' "$SCRIPTS/test/check/rows")
	[[ ${#ROWS[@]} -gt 0 ]] || die "$SCRIPTS/test/check/rows has no row"
}

# fill MINUTES: divide the rows, in their order, into parts of at most MINUTES
fill() {
	local row sum=0

	PARTS=1
	for row in "${!ROWS[@]}"; do
		if ((sum > 0 && sum + MINUTES[row] > $1)); then
			PARTS=$((PARTS + 1))
			sum=0
		fi
		sum=$((sum + MINUTES[row]))
		PART_OF[row]=$PARTS
	done
}

# divide NUMBER: divide the rows into at most NUMBER parts, the longest of which is as short as possible
divide() {
	local low=0 high=0 row middle

	for row in "${!ROWS[@]}"; do
		((MINUTES[row] <= low)) || low=${MINUTES[row]}
		high=$((high + MINUTES[row]))
	done
	while ((low < high)); do
		middle=$(((low + high) / 2))
		fill "$middle"
		if ((PARTS <= $1)); then high=$middle; else low=$((middle + 1)); fi
	done
	fill "$low"
}

in_git() { git -c safe.directory='*' -C "$TREE" "$@"; }

# commit_of_tree: print the id of HEAD; print nothing if any file except RECORD has uncommitted
# changes or is untracked
commit_of_tree() {
	local changes

	changes=$(in_git status --porcelain -- . ":!$RECORD" 2>/dev/null) || return 0
	[[ -n $changes ]] || in_git rev-parse HEAD 2>/dev/null || true
}

# tests_concern NAME: print which rows of scripts/test/check/rows can run code of
# scripts/wire/NAME.py, as SUITE or SUITE:REGEX (see concerned_by): all rows of wire.sh if other
# files import NAME.py, else those rows that name NAME or no file; and the rows of soak.sh and
# debug.sh that run NAME.py, or files that may import it.
tests_concern() {
	case $1 in
	# Other files import these, or debug.sh runs them as "storms" or "faults".
	initiator | responder | hazards | faults | storms | data_term | data_storms | data_faults | data_fuzz)
		echo 'wire soak debug:wire|faults|storms'
		;;
	*) echo "wire:wire((.-k|.--device).\S+|.--sample)*\$|\<$1\> soak:soak\$|\^$1 debug:wire" ;;
	esac
}

# concerned_by FILE: print the suites whose results a change of FILE can affect. SUITE:REGEX means only the rows of
# SUITE that match REGEX. A file that is not listed here concerns all suites. A changed row of scripts/test/check/rows
# counts as new, without a result.
concerned_by() {
	local name=${1##*/}

	name=${name%.*}
	case $1 in
	=*) echo "${1#=}" ;;	# from stated()
	scripts/test/check/rows) echo static ;;
	scripts/lib/guest/gdb.py) echo static usage ;;
	"$RECORD") ;;
	# These suites read pages; static reads all of them.
	Documentation/infiniband/iw_mpa_admin.rst)
		echo static series:text e2e patched 'package:--containers'	# 130-admin-guide
		;;
	Documentation/infiniband/iw_mpa_interop.rst) echo static series:text usage:interop_write interop ;;
	Documentation/infiniband/iw_mpa_performance.rst) echo static series:text usage:bench_users ;;
	Documentation/*_conformance.rst) echo static series:text package wire device ;;	# rules in reports
	README.md) echo static 'package:--readme usage:bench_users|demo' ;;
	CHANGELOG.md | LICENSES/* | MAINTAINERS) echo static series:text package usage ;;
	words | Documentation/* | *.md) echo static series:text ;;	# words: see changes_since()
	.ci/* | Makefile | scripts/test/usage.sh | scripts/test/static/offered.py) echo static refusals usage ;;
	scripts/check.sh | scripts/test/check/*) echo static refusals usage ;;
	drivers/infiniband/hw/* | drivers/infiniband/sw/iw_mpa_skeleton/*)
		echo static kunit mutate series usage takeover e2e dkms package
		;;
	kunit/*) echo static kunit mutate series ;;
	scripts/lib/uml.sh | scripts/kunit.sh) echo static kunit mutate usage ;;
	scripts/bench.sh | scripts/test/bench/*) echo static bench clock usage ;;
	scripts/test/clock.sh | scripts/test/clock/*) echo static clock ;;
	scripts/test/static/check-docs.py) echo static bench usage ;;
	scripts/test/static/conformance.py | scripts/test/static/check-layers.py) echo static ;;
	scripts/deb/rpm/* | scripts/lib/release.sh) echo static usage ;;
	scripts/deb/link) echo static package usage refusals e2e patched ;;	# 126-link
	scripts/deb/headers) echo static dkms package usage refusals device e2e patched ;;	# 124-doctor
	dkms.conf | scripts/deb/* | scripts/lib/deb.sh) echo static dkms package usage refusals device ;;
	scripts/test/package.sh) echo static package usage refusals ;;
	scripts/test/dkms.sh) echo static refusals dkms ;;
	# An end-to-end case concerns those rows of e2e.sh that have no -k, or the case's number in
	# -k. Some cases are also used by suites of scripts/suites (280-mpi by two), or by demo.sh.
	scripts/e2e/[0-9][0-9][0-9]-*.sh)
		echo "static e2e:e2e(.--sample)?\$|\<${name%%-*}\> debug:e2e patched:e2e" \
			"suites:SUITE=(${name#*-}|${name/280-mpi/imb})\> usage:demo|e2e_"
		;;
	scripts/e2e/* | scripts/e2e.sh) echo static e2e debug interop dkms package usage suites refusals patched ;;
	scripts/test/device.sh) echo static device ;;
	scripts/test/fuzz.sh | scripts/test/fuzz/*) echo static fuzz usage ;;
	scripts/test/interop.sh | scripts/test/interop/*) echo static interop usage ;;
	scripts/mutate.sh | scripts/test/mutate/*) echo static mutate ;;
	scripts/series.sh) echo static series refusals usage ;;
	scripts/test/series/*) echo static series patched refusals usage ;;
	scripts/test/patched.sh) echo static patched ;;
	scripts/test/random.sh | scripts/test/random/*) echo static random ;;
	scripts/test/soak.sh) echo static soak debug ;;
	scripts/static.sh) echo static refusals usage ;;
	scripts/test/static/tools.py) echo static ;;
	scripts/ci-setup) echo static package ;;
	scripts/iw-mpa) echo static package usage e2e debug:e2e patched ;;
	scripts/iw_mpa.lua) echo static package usage e2e debug wire device soak takeover fuzz patched ;; # for tshark
	scripts/test/suites.sh | scripts/suites/lib.sh) echo static suites usage ;;
	scripts/suites/blktests.*) echo 'static suites:SUITE=(blktests|srp)\> usage' ;;	# srp.sh has the same source
	scripts/suites/qmp.py) echo 'static suites:SUITE=qemu\> usage' ;;
	scripts/rdma-core/* | scripts/suites/libsiw*) echo 'static suites:SUITE=(libsiw|spdk)\> usage' ;;
	scripts/suites/*) echo "static suites:SUITE=${name%%_*}\> usage" ;;
	scripts/test/takeover.sh | scripts/test/takeover/*) echo static takeover usage ;;
	scripts/wire/*/*) echo all ;;	# modules that build.sh builds for each guest
	scripts/wire/data_*.py | scripts/wire/initiator.py | scripts/wire/responder.py | scripts/wire/fast_open.py | \
		scripts/wire/hazards.py | scripts/wire/storms.py | scripts/wire/load.py | scripts/wire/faults.py)
		echo "static device patched:wire usage:wire_ mutate:--wire $(tests_concern "$name")"
		;;
	scripts/wire.sh | scripts/wire/*)
		echo static refusals wire device debug soak takeover e2e fuzz usage suites patched mutate:--wire
		;;
	*) echo all ;;
	esac
}

# concerns FILE SUITE [ROW]: does a change of FILE affect ROW, or without ROW any row of SUITE?
declare -A CONCERNED_BY=()
concerns() {
	local concerned one

	[[ ${CONCERNED_BY[$1]:-} ]] || CONCERNED_BY[$1]="$(concerned_by "$1") "
	read -ra concerned <<<"${CONCERNED_BY[$1]}"
	for one in "${concerned[@]}"; do
		case $one in
		all | "$2") return 0 ;;
		"$2":*) [[ ! ${3:-} || $3 =~ ${one#*:} ]] && return 0 ;;
		esac
	done
	return 1
}

# without_words FILE: print stdin without text that no test uses: comments, and sentences of the administrator's guide
without_words() {
	local first

	case $1 in
	*.[ch]) gcc -fpreprocessed -dD -E -P -x c - 2>/dev/null ;;
	# The line "#!" is no comment. Docstrings are comments, except that of a program that names __doc__.
	*.py)
		python3 -c 'import ast, sys
text = sys.stdin.read()
tree = ast.parse(text)
for node in ast.walk(tree):
    body = None if isinstance(node, ast.Module) and "__doc__" in text else getattr(node, "body", None)
    if isinstance(body, list) and body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        del body[0]
print(text.startswith("#!") and text.splitlines()[0], ast.dump(tree))' 2>/dev/null
		;;
	# Have bash print how it parses the script, which leaves out comments. The script is put
	# into a block, { }: in a block bash prints an empty line only if it is data, as in a here
	# document.
	*.sh)
		IFS= read -r first || return
		[[ $first != '#!'* ]] || echo "$first"
		{ printf '{\n%s\n' "$first" && cat && printf '\n}\n'; } | bash --pretty-print 2>/dev/null
		;;
	# 130-admin-guide runs these.
	Documentation/infiniband/iw_mpa_admin.rst) "$TOP/scripts/e2e/guide.py" /dev/stdin ;;
	# Reports about devices have the first two cells of each row: the rule's name and the rule.
	Documentation/*_conformance.rst)
		awk '/^   \* - / { cell = 1 } /^     - / { cell++ } cell == 1 || cell == 2'
		;;
	*) return 1 ;;
	esac
}

# blob_of FILE: set BLOB to git's name for the contents that FILE has in the tree
declare -A BLOB_OF=()
blob_of() {
	local blob file

	if [[ ${#BLOB_OF[@]} -eq 0 ]]; then
		while read -r _ blob _ file; do
			BLOB_OF[$file]=$blob
		done < <(in_git ls-files -s)
		while read -r file; do
			BLOB_OF[$file]=$(in_git hash-object --no-filters "$file" 2>/dev/null || echo none)
		done < <(in_git diff --name-only)
	fi
	BLOB=${BLOB_OF[$1]:-none}
}

# read_words: read from WORDS_FILE what earlier runs have stored: for git's blobs the checksum of
# the text that without_words() has printed. Each version of without_words(), and of the programs
# that it runs, has a WORDS_FILE of its own.
WORDS_FILE=
declare -A WORDS_OF=()
read_words() {
	local key sum

	sum=$(
		declare -f without_words
		gcc --version
		python3 --version
		echo "$BASH_VERSION"
		cat "$TOP/scripts/e2e/guide.py"
	)
	WORDS_FILE=$CACHE/check-words.$(cksum <<<"$sum" | cut -d ' ' -f 1)
	touch "$WORDS_FILE"
	while read -r key sum; do
		WORDS_OF[$key]=$sum
	done <"$WORDS_FILE"
}

# words_of FILE BLOB: set WORDS to a checksum of what without_words leaves of git's BLOB, which is a version of FILE
words_of() {
	local key=$2:${1##*/}

	[[ $WORDS_FILE ]] || read_words
	if [[ ! ${WORDS_OF[$key]:-} ]]; then
		WORDS_OF[$key]=$(
			set -o pipefail
			# Git has no blob of uncommitted contents: read the file.
			{ in_git cat-file blob "$2" ||
				{ [[ $2 == "${BLOB_OF[$1]:-}" ]] && cat "$TREE/$1"; }; } 2>/dev/null |
				without_words "$1" | cksum || echo none
		)
		[[ ${WORDS_OF[$key]} == *none ]] || echo "$key ${WORDS_OF[$key]}" >>"$WORDS_FILE"
	fi
	WORDS=${WORDS_OF[$key]}
	[[ $WORDS != *none ]]
}

# same_but_words FILE BLOB: do FILE in the tree and git's BLOB differ only in text that without_words leaves out, or not
# at all?
same_but_words() {
	local BLOB WORDS was

	words_of "$1" "$2" && was=$WORDS && blob_of "$1" && words_of "$1" "$BLOB" && [[ $WORDS == "$was" ]]
}

# statements COMMIT: for each change of a file between COMMIT and HEAD print "FILE<tab>:MODE MODE
# BLOB BLOB SUITE...": modes and blobs before and after the change, and what the lines "Concerns:
# SUITE..." of the commit's message have, in the form of concerned_by. A file is left out if none of
# its changes has such a line.
statements() {
	! in_git merge-base --is-ancestor "$1" HEAD 2>/dev/null ||
		in_git log --raw --no-renames --no-abbrev --format='-%n%w(0,1,1)%B' "$1..HEAD" |
		awk -F '\t' '/^-/ { said = "" }
			/^ Concerns: / { said = said substr($0, 11) }
			/^:/ {
				split($1, was, " ")
				text[$2] = text[$2] $2 FS was[1] " " was[2] " " was[3] " " was[4] " " said "\n"
			}
			/^:/ && said { any[$2] }
			END { for (file in any) printf "%s", text[file] }'
}

# stated FILE CHANGES: print which suites CHANGES, lines of statements(), concern by the messages of
# their commits; a change of comments alone concerns the suites of "words". Fail if the
# commit of any other change has no line "Concerns:", or if FILE has uncommitted changes.
stated() {
	local mode as was is said WORDS before

	in_git diff --quiet HEAD -- "$1" || return 1
	while read -r mode as was is said; do
		if [[ $mode == ":$as" ]] && words_of "$1" "$was" && before=$WORDS && words_of "$1" "$is" &&
			[[ $WORDS == "$before" ]]; then
			said=$(concerned_by words)
		fi
		[[ $said ]] || return 1
		echo "$said"
	done <<<"$2"
}

# changes_since COMMIT: set CHANGES to the files in which the tree differs from COMMIT. A file that
# differs in comments alone is listed as "words": only suites that read comments and pages need to
# run again for it. A file whose commits state which suites they concern is listed as "=SUITE...".
declare -A CHANGES_SINCE=()
changes_since() {
	local raw was is blob file files some
	local -A known=()

	if [[ ! ${CHANGES_SINCE[$1]:-} ]]; then
		raw=$(in_git diff --raw --no-renames --no-abbrev "$1" 2>/dev/null) &&
			files=$(in_git ls-files --others --exclude-standard) || return 1
		while IFS=$'\t' read -r file some; do
			known[$file]+=${known[$file]:+$'\n'}$some
		done < <(statements "$1")
		while read -r was is blob _ _ file; do
			if [[ $was == ":$is" ]] && same_but_words "$file" "$blob"; then
				file=words
			elif [[ $file && ${known[$file]:-} ]] && some=$(stated "$file" "${known[$file]}"); then
				file="=${some//$'\n'/ }"
			fi
			files+=$'\n'$file
		done <<<"$raw"
		CHANGES_SINCE[$1]=$(sort -u <<<"$files")$'\n'
	fi
	CHANGES=${CHANGES_SINCE[$1]}
}

# look_again: forget the changes that were found, since a file of the tree may have changed
look_again() { BLOB_OF=() CHANGES_SINCE=(); }

# holds COMMIT ROW: is ROW's result on COMMIT still valid for the tree, with its uncommitted changes?
holds() {
	local CHANGES file suite

	# shellcheck disable=SC2086 # words
	suite=$(suite_of $2)
	changes_since "$1" || return 1
	while read -r file; do
		[[ ! $file ]] || ! concerns "$file" "$suite" "$2" || return 1
	done <<<"$CHANGES"
}

kept_file() { echo "$KEPT/$(cksum <<<"$1" | cut -d ' ' -f 1)"; }

# recorded ROW: print the row's result in the file RECORD, which another machine may have written
recorded() {
	local commit passed took used row

	[[ -e $TREE/$RECORD ]] || return 0
	while read -r commit passed took used row; do
		[[ $row != "$1" ]] || echo "$commit $passed $took $used"
	done <"$TREE/$RECORD"
}

# record: write all results that have passed and are still valid into the file RECORD
record() {
	local row

	{
		echo '# SPDX-License-Identifier: GPL-2.0'
		echo '# Written by scripts/check.sh --all --record: COMMIT PASSED SECONDS SECONDS-OF-PROCESSORS ROW'
		for row in "${ROWS[@]}"; do
			read_kept "$row"
			[[ $WAS != passed ]] || echo "$RAN_ON $DID_PASS $TOOK $USED $row"
		done
	} >"$LOGS/record"
	cp "$LOGS/record" "$TREE/$RECORD"
}

# read_kept ROW: read the row's result: the one that is kept on this machine, if it is valid, else
# the one in the file RECORD. Set WAS to passed, failed, stale (there are results, but none is valid
# any more) or none, and RAN_ON, DID_PASS, DID_FAIL, TOOK and USED to what the result says.
read_kept() {
	local file known

	WAS=none RAN_ON=- DID_PASS=0 DID_FAIL=0 TOOK=0 USED=0
	file=$(kept_file "$1")
	if [[ -e $file && $(tail -n 1 "$file") == "$1" ]]; then
		read -r RAN_ON DID_PASS DID_FAIL TOOK USED <"$file"
		WAS=stale
		if holds "$RAN_ON" "$1"; then
			if [[ $DID_FAIL -eq 0 ]]; then WAS=passed; else WAS=failed; fi
			return
		fi
	fi
	known=$(recorded "$1")
	[[ -n $known ]] || return 0
	if holds "${known%% *}" "$1"; then
		WAS=passed DID_FAIL=0
	elif [[ $WAS == stale ]]; then
		return
	else
		WAS=stale
	fi
	read -r RAN_ON DID_PASS TOOK USED <<<"$known"
}

# keep ROW COMMIT PASSED FAILED SECONDS SECONDS-OF-PROCESSORS: keep the result of a run that began on COMMIT
keep() {
	if [[ -z $2 || -z $(commit_of_tree) ]] || ! holds "$2" "$1"; then
		echo "# not kept, for the tree is not, or was not all the time, that of a commit: $1"
		return
	fi
	printf '%s\n' "${*:2}" "$1" >"$(kept_file "$1").tmp"
	mv "$(kept_file "$1").tmp" "$(kept_file "$1")"
}

run_row() {
	local row=$1 commit before="$PASSED $FAILED" began=$SECONDS earlier said

	read_kept "$row"
	if [[ $WAS == passed && -z $AGAIN ]]; then
		said="# $DID_PASS passed on ${RAN_ON:0:12} in $TOOK s, and nothing that concerns it has changed"
		printf '# suite %s\n%s\n' "$row" "$said"
		list_log "$TOOK 0 $row" <<<"$said"
		PASSED=$((PASSED + DID_PASS))
		REPORT+=("$(printf '%-7s %4d passed, 0 failed, %d s, on %s' "$row" "$DID_PASS" "$TOOK" \
			"${RAN_ON:0:12}")")
		return
	fi
	commit=$(commit_of_tree)
	mkdir -p "$KEPT"
	processors
	earlier=$SPENT
	# shellcheck disable=SC2086 # words
	run_suite $row
	look_again
	processors
	keep "$row" "$commit" $((PASSED - ${before% *})) $((FAILED - ${before#* })) $((SECONDS - began)) \
		$((SPENT - earlier))
}

# is_chosen INDEX: does this run include the row?
is_chosen() { [[ ${PART_OF[$1]} -ge $FIRST && ${PART_OF[$1]} -le $LAST && ${ROWS[$1]} =~ $CHOSEN ]]; }

# run_part NUMBER
run_part() {
	local row began=$SECONDS before="$PASSED $FAILED"

	may_take "$PART_LIMIT_MIN"
	echo "# part $1/$PARTS"
	for row in "${!ROWS[@]}"; do
		! is_chosen "$row" || [[ ${PART_OF[row]} -ne $1 ]] || run_row "${ROWS[row]}"
	done
	REPORT+=("$(printf 'part %s: %d passed, %d failed, %d s' "$1/$PARTS" $((PASSED - ${before% *})) \
		$((FAILED - ${before#* })) $((SECONDS - began)))")
}

# sum_up: print the total of all rows, also of those that did not run now
sum_up() {
	local row commits=() passed=0 seconds=0 left=()

	for row in "${!ROWS[@]}"; do
		read_kept "${ROWS[row]}"
		[[ $WAS == passed ]] || { left+=("${ROWS[row]}") && continue; }
		passed=$((passed + DID_PASS))
		seconds=$((seconds + TOOK))
		commits+=("${RAN_ON:0:12}")
	done
	if [[ ${#left[@]} -eq 0 ]]; then
		echo "# check-all: all ${#ROWS[@]} rows: $passed passed, 0 failed, $((seconds / 60)) min;" \
			"on: $(printf '%s\n' "${commits[@]}" | sort -u | paste -sd ' ')"
	else
		echo "# check-all: ${#left[@]} of ${#ROWS[@]} rows have not passed on this commit:" \
			"$(printf '%s, ' "${left[@]}" | sed 's/, $//')"
	fi
}

# list_rows: list the rows of parts FIRST to LAST
list_rows() {
	local row took used

	printf '%-5s %7s %7s %7s  %-7s %-12s %s\n' part minutes took cpu result commit row
	for row in "${!ROWS[@]}"; do
		is_chosen "$row" || continue
		read_kept "${ROWS[row]}"
		took=- used=-
		[[ $WAS == none ]] || { took=$(((TOOK + 30) / 60)) && used=$(((USED + 30) / 60)); }
		printf '%-5s %7d %7s %7s  %-7s %-12s %s\n' "${PART_OF[row]}/$PARTS" "${MINUTES[row]}" "$took" "$used" \
			"$WAS" "${RAN_ON:0:12}" "${ROWS[row]}"
	done
}

# take_part N/M: set FIRST and LAST
take_part() {
	local row sums=()

	[[ $1 =~ ^[1-9][0-9]{0,2}/[1-9][0-9]{0,2}$ ]] || die "no such part: $1 ($USAGE_ALL)"
	divide "${1#*/}"
	[[ $PARTS -eq ${1#*/} && ${1%/*} -le $PARTS ]] ||
		die "there is no part $1: the rows of scripts/test/check/rows make $PARTS parts at most"
	for row in "${!ROWS[@]}"; do
		sums[PART_OF[row]]=$((${sums[PART_OF[row]]:-0} + MINUTES[row]))
	done
	for row in "${sums[@]}"; do
		((row <= MOST_MIN)) || die "a part would take $row minutes: make more of them than $PARTS"
	done
	FIRST=${1%/*}
	LAST=$FIRST
}

# all_of_it [--part N/M] [-k REGEX] [-l]; all_of_it --record
all_of_it() {
	local only='' number parts=()

	[[ " $* " != *' --record '* || $# -eq 1 ]] || die "$USAGE_ALL"

	read_rows
	fill "$PART_MIN"
	divide "$PARTS"
	FIRST=1
	LAST=$PARTS
	while [[ $# -gt 0 ]]; do
		case $1 in
		--part) take_part "${2?$USAGE_ALL}" && shift ;;
		-k) CHOSEN=${2?$USAGE_ALL} && shift ;;
		-l) only=list_rows ;;
		--record) only=record ;;
		*) die "$USAGE_ALL" ;;
		esac
		shift
	done
	for number in "${!ROWS[@]}"; do
		! is_chosen "$number" || parts[PART_OF[number]]=${PART_OF[number]}
	done
	[[ ${#parts[@]} -gt 0 ]] || die "no row matches: $CHOSEN"
	if [[ -n $only ]]; then
		"$only"
		exit
	fi
	AGAIN=${AFRESH:-}
	unset -v "${FOREIGN[@]}"
	for number in "${parts[@]}"; do
		run_part "$number"
	done
}

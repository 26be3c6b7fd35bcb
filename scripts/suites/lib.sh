# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2153
#
# Functions that foreign suites share, for their sources, expectations and results. scripts/test/suites.sh sources this
# file. scripts/suites/NAME.sh is a suite, and sets
#
#   DESCRIPTION   one line: what it is
#   SOURCE        "ADDRESS COMMIT" of a repository of git, if the source is no Debian package; or "ADDRESS
#                 FOLDER:COMMIT...", one folder for each
#   BUILT_OF      other files of this tree that the suite is built of
#   PACKAGES      Debian packages that no other suite needs; a release of Debian may lack them
#   UNPACKED      more of these, which would start services on the host: only unpacked, in $BUILT/usr
#   SAMPLED       a regular expression: the groups in a sample
#
# and defines
#
#   groups()      names of groups of cases, one a line, without a blank or a colon
#   check()       runs the group $VARIANT between the guests, as check() of a test of scripts/e2e does. A group is
#                 one case: it fails if check does, and is skipped if check returns 77. Or check prints what
#                 became of each of its cases, by "case_is pass|fail|skip NAME TEXT"; it then has to end well.
#   build()       if there is something to build: in the current folder, which has the source, and is $BUILT
#                 afterwards. Once for each kernel if BUILT_FOR=kernel.
#
# scripts/suites/NAME.expected lists the cases that do not pass: a reason, which begins at the margin, and below
# it, indented, "OUTCOME[,KERNEL...] CASE REGEX" for each case: fail or skip, on all kernels if none is named, and
# the case's message. All other cases have to pass, and these must not. A reason cites a line of an RFC, of a
# manual or of the suite, by which the case cannot pass over iWARP, or on a device in a guest; or it says that siw
# fails in the same way. A feature that srnic lacks is no reason.

case_is() { printf 'case: %s %s %s\n' "$1" "$2" "$(tr '\n' ' ' <<<"${*:3}")"; }

# --- sources ---------------------------------------------------------------------------------------

# load_suite NAME: set the suite's variables. run_check of e2e/lib.sh reads the file again, for check().
load_suite() {
	local what

	NAME=$1
	SOURCE=
	BUILT_OF=
	PACKAGES=
	UNPACKED=
	SAMPLED=.
	BUILT_FOR=all
	unset -f build
	# shellcheck source=/dev/null
	. "$TOP/scripts/suites/$1.sh"
	BUILT=$CACHE/suites/built/$NAME
	[[ -z $SOURCE ]] || BUILT+=-${SOURCE##*[ :]}
	[[ $BUILT_FOR != kernel ]] || BUILT+=-${KREL:-}
	# shellcheck disable=SC2086 # words and patterns
	what=$(cd "$TOP" && cat "scripts/suites/$1.sh" $BUILT_OF | sha256sum)
	BUILT+=-${what::12}
	read_expected "$TOP/scripts/suites/$NAME.expected"
}

repository() {
	local address=${SOURCE%% *}

	address=${address##*/}
	echo "${address%.git}"
}

# Have git read repositories of another user, which it refuses by default.
foreign_git() { git -c safe.directory='*' -c advice.detachedHead=false "$@"; }
commits() { tr ' ' '\n' <<<"${SOURCE#* }" | sed 's/.*://'; }

# has_commits FOLDER
has_commits() {
	local commit

	for commit in $(commits); do
		foreign_git -C "$1" rev-parse -q --verify "$commit^{commit}" >/dev/null 2>&1 || return 1
	done
}

# has_packages: does this release of Debian have the suite's PACKAGES?
has_packages() {
	local package

	for package in $PACKAGES $UNPACKED; do
		[[ -n $(package_version "$package") ]] || apt-cache show --no-all-versions "$package" >/dev/null 2>&1 ||
			return 1
	done
}

# has_source: if $CACHE/suites/git lacks a commit of SOURCE, fetch it: first from SOURCE's
# repository in the folder $SUITES, if that variable is set; if that does not have the commit, from
# the network
has_source() {
	local have from

	has_packages || return 1
	[[ -n $SOURCE ]] || return 0
	have=$CACHE/suites/git/$(repository)
	! has_commits "$have" || return 0
	mkdir -p "$have"
	[[ -e $have/HEAD ]] || git init -q --bare "$have"
	for from in ${SUITES:+"$SUITES/$(repository).git"} "${SOURCE%% *}"; do
		[[ $from == *://* || -d $from ]] || continue
		say "suite $NAME: fetching ${SOURCE#* } from $from"
		# shellcheck disable=SC2046 # words
		GIT_TERMINAL_PROMPT=0 timeout 600 git -c safe.directory='*' -C "$have" fetch -q --depth 1 "$from" \
			$(commits) 2>&1 | sed 's/^/# /' >&2 || true
		! has_commits "$have" || return 0
	done
	return 1
}

build_here() {
	local what folder tmp

	tmp=$(mktemp -d "$BUILT.XXXXXX.new")
	# shellcheck disable=SC2064 # the folder of now
	trap "rm -rf '$tmp'" EXIT
	cd "$tmp" || return
	for what in ${SOURCE#* }; do
		folder=.
		[[ $what != *:* ]] || folder=${what%:*}
		mkdir -p "$folder"
		foreign_git -C "$CACHE/suites/git/$(repository)" archive "${what#*:}" | tar x -C "$folder"
	done
	if [[ -n $UNPACKED ]]; then
		# shellcheck disable=SC2086 # words
		apt-get -q download $UNPACKED
		for what in *.deb; do
			dpkg-deb -x "$what" .
			rm "$what"
		done
	fi
	! declare -F build >/dev/null || build
	chmod 755 "$tmp"
	rm -rf "$CACHE/suites/built/$NAME"-*[0-9a-f]
	mv -T "$tmp" "$BUILT"
}

build_suite() {
	local -a packages

	read -ra packages <<<"$PACKAGES"
	[[ -z $PACKAGES ]] || "$TOP/scripts/lib/setup.sh" "${packages[@]/#/=}"
	declare -F build >/dev/null || [[ -n $UNPACKED ]] || return 0
	[[ ! -e $BUILT ]] || return 0
	mkdir -p "$CACHE/suites/built"
	need_space 300
	quietly "building suite $NAME" build_here
}

# --- what is expected ------------------------------------------------------------------------------

declare -A WANT=() SAYS=() SEEN=()

# read_expected FILE: for each case that FILE lists, and that applies to this kernel, set WANT[CASE]
# to the outcome, fail or skip, and SAYS[CASE] to the regular expression of the case's message
read_expected() {
	local line outcome name says reason=

	WANT=() SAYS=() SEEN=()
	[[ -e $1 ]] || return 0
	while IFS= read -r line; do
		case $line in
		'' | '#'*) reason= ;;
		[[:space:]]*)
			read -r outcome name says <<<"$line"
			[[ -n $reason && $outcome =~ ^(fail|skip)(,|$) && -n $says && -z ${WANT[$name]:-} ]] ||
				die "$1: no reason, no case, or one that is there already: $line"
			[[ $outcome != *,* || ,${outcome#*,}, == *,$KERNEL,* ]] || continue
			WANT[$name]=${outcome%%,*}
			SAYS[$name]=$says
			;;
		*) reason=$line ;;
		esac
	done <"$1"
}

EXPECTED_TO_FAIL=0
EXPECTED_TO_SKIP=0

# judge_case OUTCOME CASE TEXT [LOG]: compare outcome and message of a case with what is expected, and print the result
judge_case() {
	local want=${WANT[$2]:-pass} verdict

	SEEN[$2]=yes
	if [[ $DRIVER == siw ]]; then
		verdict=$(judged_by_siw "$1" "$want")
	elif [[ $1 != "$want" ]]; then
		verdict=unexpected
	elif [[ $1 != pass && ! $3 =~ ${SAYS[$2]} ]]; then
		verdict=unexpected
	else
		verdict=$1
	fi
	printf '%s\t' "$verdict" "$1" "$2" "$GROUP" "$THIS_RUN" "${3:0:1000}" >>"$RESULTS.new"
	echo >>"$RESULTS.new"
	case $verdict in
	pass) tap ok "$NAME $2" ;;
	fail | skip)
		tap ok "$NAME $2: ${1}s, as expected"
		if [[ $1 == fail ]]; then
			EXPECTED_TO_FAIL=$((EXPECTED_TO_FAIL + 1))
		else
			EXPECTED_TO_SKIP=$((EXPECTED_TO_SKIP + 1))
		fi
		;;
	alone) echo "# siw alone: $1 $NAME $2" ;;
	*)
		tap 'not ok' "$NAME $2: $1, and not $want${SAYS[$2]:+: ${SAYS[$2]}}"
		echo "# ${3:0:300}"
		[[ -z ${4:-} ]] || tail -n 60 "$4" | sed 's/^/# /'
		echo "# logs: $GUEST_RUN"
		KEEP_LOGS=yes
		;;
	esac
}

# judged_by_siw OUTCOME WANT: print the verdict on a case that ran with DRIVER=siw; WANT is the
# outcome that srnic has to have. siw may fail where srnic passes, which proves nothing about srnic.
# If siw passes a case of which NAME.expected says that it cannot pass, print "unexpected".
judged_by_siw() {
	if [[ $1 == pass && $2 != pass ]]; then
		echo unexpected
	elif [[ $1 != pass && $2 == pass ]]; then
		echo alone
	else
		echo "$1"
	fi
}

# judge_group GROUP LOG: judge all cases of a group; STATUS is the exit status of check()
judge_group() {
	local kind outcome name text any=no

	GROUP=$1
	while read -r -u 5 kind outcome name text; do
		[[ $kind == case: ]] || continue
		any=yes
		judge_case "$outcome" "$name" "$text"
	done 5<"$2"
	if [[ $any == no ]]; then
		case $STATUS in
		0) outcome=pass ;;
		77) outcome=skip ;;
		*) outcome=fail ;;
		esac
		judge_case "$outcome" "$1" "$(sed '/^---/,$d' "$2" | tr -s '\n\t ' ' ')" "$2"
	elif [[ $STATUS -ne 0 ]]; then
		judge_case fail "$1/ends" 'the group did not come to its end' "$2"
	fi
	[[ $CLEAN -eq 0 || $DRIVER == siw ]] || judge_case fail "$1/clean" 'what ran left something behind' "$2"
}

# judge_absent: the list of expected outcomes must not name cases that did not run
judge_absent() {
	local name

	GROUP=-
	for name in "${!WANT[@]}"; do
		[[ ${SEEN[$name]:-} == yes ]] || judge_case absent "$name" 'the list has it, and no such case ran'
	done
}

# --- results ---------------------------------------------------------------------------------------

results_folder() { echo "$CACHE/suites/results"; }

# Begin the results of this run, which is named by its time and version.
results_begin() {
	mkdir -p "$(results_folder)"
	RESULTS=$(results_folder)/$NAME-$KERNEL-$DRIVER.cases
	THIS_RUN=$(date -u +%Y-%m-%dT%H:%M:%SZ)
	THIS_RUN+=" $(git -c safe.directory='*' -C "$TOP" describe --always --dirty 2>/dev/null || echo -)"
	: >"$RESULTS.new"
}

# Keep the results of this run, and those that former runs had of groups that did not run now, so that
# a suite may run in parts. The first line has suite, kernel, driver, and the number of all groups.
results_end() {
	local all

	all=$(groups | paste -sd ' ')
	{
		printf '%s\t' "$NAME" "$KERNEL" "$DRIVER" "$(wc -w <<<"$all")"
		echo
		[[ ! -e $RESULTS ]] || awk -F '\t' -v all="$all" '
			BEGIN { n = split(all, group, " "); while (n) known[group[n--]] }
			FILENAME == ARGV[1] { ran[$4]; next }
			FNR > 1 && $4 in known && !($4 in ran)' "$RESULTS.new" "$RESULTS"
		cat "$RESULTS.new"
	} >"$RESULTS.tmp"
	mv "$RESULTS.tmp" "$RESULTS"
	rm "$RESULTS.new"
}

# Write a table of all results that exist, with a row for each suite, kernel and driver.
results_table() {
	local file table

	table=$(results_folder)/table
	{
		printf '%-12s %-9s %-8s %6s %6s %11s %11s %10s  %s\n' suite kernel driver cases passed 'exp. fail' \
			'exp. skip' unexpected 'last run'
		for file in "$(results_folder)"/*.cases; do
			[[ ! -e $file ]] || awk -F '\t' '
				NR == 1 { name = $1; kernel = $2; driver = $3; groups = $4; next }
				{ n[$1]++; all++; last = $5 }
				!($5 in run) { run[$5]; runs++ }
				$4 != "-" && !($4 in group) { group[$4]; groups-- }
				END { printf "%-12s %-9s %-8s %6d %6d %11d %11d %10d  %s%s%s\n", name, kernel, driver,
					all, n["pass"], n["fail"], n["skip"], n["unexpected"], last,
					(runs > 1 ? " (of " runs " runs)" : ""), (groups ? " (not all)" : "") }' "$file"
		done
	} >"$table"
	sed 's/^/# /' "$table"
}

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Foreign suites: programs that others wrote to test RDMA, in two guests on one wire.
#
#   scripts/test/suites.sh [--sample] [-k REGEX] [-l]
#
# -k: only the groups of cases whose line matches; -l: list the groups; --sample: groups that represent the others.
#
# SUITE="NAME ..." runs only these of scripts/suites; commas may separate the names, too. SUITES=FOLDER has bare copies
# of the suites' repositories, FOLDER/REPOSITORY.git, for hosts that cannot reach the public addresses. A suite without
# an available source is named in the last line. DRIVER=siw tests our expectations with unmodified siw: it must not pass
# a case that we say no iWARP device can pass. Other results of siw are printed, and not judged. DRIVER=siw_mpa is
# judged as srnic is.
#
# The result of each case, and a table of all results, are kept in the cache. See scripts/suites/lib.sh for how
# a suite is written, and what may be on its list of cases that do not pass.

# shellcheck source=scripts/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=scripts/lib/tap.sh
. "$TOP/scripts/lib/tap.sh"
# shellcheck source=scripts/lib/guest/guest.sh
. "$TOP/scripts/lib/guest/guest.sh"
# shellcheck source=scripts/e2e/lib.sh
. "$TOP/scripts/e2e/lib.sh"
# shellcheck source=scripts/suites/lib.sh
. "$TOP/scripts/suites/lib.sh"

DRIVER=${DRIVER:-srnic}
SAMPLE=no
PATTERN=
FRESH=no
KEEP_LOGS=no
NOT_RUN=()	# suites without a source

suite_names() {
	local file

	for file in "$TOP"/scripts/suites/*.sh; do
		file=${file##*/}
		[[ $file == lib.sh ]] || echo "${file%.sh}"
	done
}

chosen_suites() {
	local name

	for name in ${SUITE//,/ }; do
		[[ -e $TOP/scripts/suites/$name.sh && $name != lib ]] ||
			die "no such suite: $name ($(suite_names | paste -sd ' '))"
	done
	if [[ -n $SUITE ]]; then echo "${SUITE//,/ }"; else suite_names; fi
}

# chosen_groups: print those groups of the loaded suite that -k and --sample choose
chosen_groups() {
	groups | while read -r group; do
		[[ $SAMPLE == no || $group =~ $SAMPLED ]] || continue
		[[ ! "$NAME $group" =~ $PATTERN ]] || printf '%s\n' "$group"
	done
}

ensure_guests() {
	[[ $FRESH == no ]] || return 0
	guest_kill_all
	say "booting two guests: $KERNEL"
	guest_boot A B
	FRESH=yes
}

# run_groups GROUP...
run_groups() {
	local group log port=7000

	for group in "$@"; do
		port=$((port + 4))
		ensure_guests
		log=$GUEST_RUN/$NAME-$port.log
		try_case "$log" "../suites/$NAME.sh:$group" "$DRIVER" "$DRIVER" 4 "$port"
		[[ $CLEAN -eq 0 ]] || FRESH=no
		tap_retried_in "$log"
		judge_group "$group" "$log"
	done
}

run_suite() {
	local -a chosen

	load_suite "$1"
	if ! has_source; then
		NOT_RUN+=("$1")
		return
	fi
	build_suite
	mapfile -t chosen < <(chosen_groups)
	[[ ${#chosen[@]} -gt 0 ]] || return 0
	say "suite $1: $DESCRIPTION"
	results_begin
	run_groups "${chosen[@]}"
	[[ $SAMPLE == yes || -n $PATTERN ]] || judge_absent
	results_end
}

list_groups() {
	local name

	for name in "$@"; do
		load_suite "$name"
		has_source || { say "no source: $name" && continue; }
		chosen_groups | sed "s/^/$name /"
	done
}

prepare() {
	"$TOP/scripts/lib/setup.sh" build guest suites
	need_krel
	case $DRIVER in
	siw) "$TOP/scripts/lib/build.sh" --stock ;;
	srnic | siw_mpa) "$TOP/scripts/lib/build.sh" ;;
	*) die "no such driver: $DRIVER (srnic siw_mpa siw)" ;;
	esac
}

# Print the summary line.
sum_up() {
	local note="; $EXPECTED_TO_FAIL failed and $EXPECTED_TO_SKIP skipped as expected"

	note+=${NOT_RUN[*]:+; not run: no source: ${NOT_RUN[*]}}
	if [[ $((TAP_PASSED + TAP_FAILED)) -eq 0 && ${#NOT_RUN[@]} -gt 0 ]]; then
		echo "# suites: 0 passed, 0 failed$note"
		return
	fi
	tap_end suites "$note"
}

main() {
	local list=no name
	local -a suites

	while [[ $# -gt 0 ]]; do
		case $1 in
		--sample) SAMPLE=yes ;;
		-k) PATTERN=${2?which groups?} && shift ;;
		-l) list=yes ;;
		*) die 'usage: suites.sh [--sample] [-k REGEX] [-l]' ;;
		esac
		shift
	done
	SUITE=${SUITE:-}
	name=$(chosen_suites)
	# shellcheck disable=SC2206 # words
	suites=($name)
	if [[ $list == yes ]]; then
		list_groups "${suites[@]}"
		return
	fi
	prepare
	for name in "${suites[@]}"; do
		run_suite "$name"
	done
	if [[ $FRESH == yes ]] && ! guest_down; then
		tap 'not ok' "power off: both guests go down by themselves"
		KEEP_LOGS=yes
	fi
	guest_kill_all
	[[ $KEEP_LOGS == yes ]] || guest_forget_logs
	results_table
	sum_up
}

main "$@"

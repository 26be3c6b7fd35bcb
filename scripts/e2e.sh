#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# End-to-end tests: two guests on one wire, real RDMA programs, every pair of drivers.
#
#   scripts/e2e.sh [-k REGEX] [-l]      -k: only the cases whose line matches; -l: list them
#
# PAIRS="client/server ..." chooses the drivers, default siw_mpa/siw siw/siw_mpa siw_mpa/siw_mpa.
# The guests are booted once; a case that loses one, or leaves something behind, fails, and the
# next case gets fresh guests. The tests are in scripts/e2e, see lib.sh there.

# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=scripts/tap.sh
. "$TOP/scripts/tap.sh"
# shellcheck source=scripts/guest/guest.sh
. "$TOP/scripts/guest/guest.sh"
# shellcheck source=scripts/e2e/lib.sh
. "$TOP/scripts/e2e/lib.sh"

PAIRS=${PAIRS:-siw_mpa/siw siw/siw_mpa siw_mpa/siw_mpa}
KEEP_LOGS=no
FRESH=no
TESTED=no

# One line per case, "FILE CLIENT_DRIVER SERVER_DRIVER FAMILY DESCRIPTION", in running order.
list_cases() {
	local pair file

	for pair in $PAIRS; do
		for file in "$TOP"/scripts/e2e/[0-9][0-9][0-9]-*.sh; do
			list_cases_of "$file" "${pair%/*}" "${pair#*/}"
		done
	done
}

# In a subshell: a test file may define what it likes.
# shellcheck disable=SC2034 # for the test files
list_cases_of() (
	CLIENT_DRIVER=$2
	SERVER_DRIVER=$3
	FAMILIES="4 6"
	applies() { true; }
	# shellcheck source=/dev/null
	. "$1"
	applies || exit 0
	for family in $FAMILIES; do
		echo "${1##*/} $2 $3 $family $DESCRIPTION"
	done
)

# What a person reads: "010-rping siw_mpa->siw IPv4: rping ..."
case_name() { echo "${1%.sh} $2->$3 IPv$4: $5"; }

boot() {
	say "booting two guests"
	guest_boot "$CLIENT" "$SERVER"
	FRESH=yes
	[[ $TESTED == yes ]] || self_test
	TESTED=yes
}

ensure_guests() {
	if [[ $FRESH == no ]]; then
		guest_kill_all
		boot
	fi
}

# The machinery has to see a failure wherever it is: in the middle of a test, in a command whose
# output goes into a variable, in a comparison, in a guest.
self_test() {
	local body status seen=0 all=0

	# shellcheck disable=SC2016 # expanded by eval
	for body in 'false; true' 'x=$(client false); true' 'expect_pings "" 1; true' 		'serve "sleep 60"; true' 'client "fail on purpose"; true' 		'guest_bg "$CLIENT" x "exit 3"; guest_wait "$CLIENT" x; true'; do
		all=$((all + 1))
		set +e
		(set -e; PORT=1; LISTEN_LIMIT=1; eval "check() { $body; }"; check) >/dev/null 2>&1
		status=$?
		set -e
		[[ $status -eq 0 ]] || seen=$((seen + 1))
	done
	e2e_clean_up
	if [[ $seen -eq $all ]]; then
		tap ok "000-self-test: a failure anywhere in a test is seen"
	else
		tap 'not ok' "000-self-test: only $seen of $all failures were seen"
	fi
}

# The one thing that earns another try is the lost wake-up of unmodified siw, seen in its socket.
run_case() {
	local name=$1 log try
	shift

	for try in 1 2 3 4 5; do
		ensure_guests
		log=$GUEST_RUN/case-$5-$try.log
		try_case "$log" "$@"
		if [[ $STATUS -eq 0 && $CLEAN -eq 0 ]]; then
			tap ok "$name"
			return
		fi
		[[ $CLEAN -eq 0 ]] || FRESH=no
		[[ -n $PEER_BUG ]] || break
		echo "# once more: unmodified siw does not read its socket: ${PEER_BUG//$'\n'/; }"
	done
	tap 'not ok' "$name"
	tail -n 100 "$log" | sed 's/^/# /'
	echo "# logs: $GUEST_RUN"
	KEEP_LOGS=yes
}

run_all() {
	local cases file client_driver server_driver family text name port=7000

	# Not straight into the loop: a test file with an error in it would be left out silently.
	cases=$(list_cases)
	while read -r -u 4 file client_driver server_driver family text; do
		port=$((port + 1))
		name=$(case_name "$file" "$client_driver" "$server_driver" "$family" "$text")
		[[ $name =~ $1 ]] || continue
		run_case "$name" "$file" "$client_driver" "$server_driver" "$family" "$port"
	done 4<<<"$cases"
}

# A guest that cannot be switched off is a bug like any other.
power_off() {
	local status name

	[[ $FRESH == yes ]] || return 0
	for name in "$CLIENT" "$SERVER"; do
		tap_run "the kernel of $name has nothing to report" guest_detectors "$name"
	done
	set +e
	(set -e; guest_down)
	status=$?
	set -e
	if [[ $status -eq 0 ]]; then
		tap ok "power off: both guests go down by themselves"
	else
		tap 'not ok' "power off: both guests go down by themselves"
		KEEP_LOGS=yes
	fi
}

list_names() {
	local file client_driver server_driver family text

	list_cases | while read -r file client_driver server_driver family text; do
		case_name "$file" "$client_driver" "$server_driver" "$family" "$text"
	done
}

prepare() {
	"$TOP/scripts/setup.sh" build guest
	need_krel
	if [[ $PAIRS == *siw_mpa* ]]; then
		"$TOP/scripts/build.sh"
	else
		"$TOP/scripts/build.sh" --stock
	fi
}

main() {
	local option pattern=

	while getopts k:l option; do
		case $option in
		k) pattern=$OPTARG ;;
		l) list_names && return ;;
		*) die "usage: e2e.sh [-k REGEX] [-l]" ;;
		esac
	done
	prepare
	run_all "$pattern"
	power_off
	guest_kill_all
	[[ $KEEP_LOGS == yes ]] || guest_forget_logs
	say "end of the end-to-end tests"
	tap_end e2e
}

main "$@"

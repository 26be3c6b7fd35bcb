#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# End-to-end tests: two guests on one wire, real RDMA programs, every pair of drivers.
#
#   scripts/e2e.sh [--sample] [-k REGEX] [-l]
#
# -k runs only the cases whose line in the list matches; -l lists them. --sample runs only the clean wire, one address
# family for each test, by turns, and with siw as peer only tests whose result depends on the driver.
#
# DRIVER=siw_mpa tests siw_mpa in place of srnic. PAIRS="client/server[/wire] ...", also with commas, chooses the
# drivers, and what the wire does to packets: clean, rough or flap, see e2e/lib.sh. KERNELS="6.1 6.12", which is the
# default, chooses the kernels of the guests A and B; if KERNEL is not 6.1, both guests run KERNEL by default. A is the
# client; over IPv6 B is the client if both have the same driver. LARGE_FPDU=1 has srnic allow FPDUs of more than one
# TCP segment in each case. The guests are booted once; a case that crashes a guest, or leaves an object in it, fails,
# and the next case gets new guests. The tests, and lib.sh, are in scripts/e2e.

# shellcheck source=scripts/lib/lib.sh
. "$(dirname "$0")/lib/lib.sh"
# shellcheck source=scripts/lib/tap.sh
. "$TOP/scripts/lib/tap.sh"
# shellcheck source=scripts/lib/guest/guest.sh
. "$TOP/scripts/lib/guest/guest.sh"
# shellcheck source=scripts/e2e/lib.sh
. "$TOP/scripts/e2e/lib.sh"

DRIVER=${DRIVER:-srnic}
BOTH=$DRIVER/$DRIVER
# Tests that e2e.sh --sample also runs with siw as peer: connect, Read, Write and the end of a
# connection. The result of the other tests does not depend on the peer's driver.
SAMPLE_WITH_SIW='^(010|015|020|035|040|110|900)-'
ALL_PAIRS="$DRIVER/siw siw/$DRIVER $BOTH $BOTH/rough $BOTH/flap"
# A kernel with detectors, such as KASAN, stops at errors of unmodified siw, so siw is no peer
# there.
kernel_debugs "$KERNEL" && ALL_PAIRS=$BOTH
SAMPLE=no
if [[ $KERNEL == 6.1 ]]; then
	KERNELS=${KERNELS:-6.1 6.12}
else
	KERNELS=${KERNELS:-$KERNEL $KERNEL}
fi
read -r KERNEL_A KERNEL_B <<<"$KERNELS"
KEEP_LOGS=no
FRESH=no
TESTED=no

# Print one line per case, "FILE[:VARIANT] CLIENT_DRIVER SERVER_DRIVER WIRE FAMILY DESCRIPTION", in the order in which
# the cases run.
list_cases() {
	local pair client server wire file

	for pair in ${PAIRS//,/ }; do
		IFS=/ read -r client server wire <<<"$pair"
		for file in "$TOP"/scripts/e2e/[0-9][0-9][0-9]-*.sh; do
			list_cases_of "$file" "$client" "$server" "${wire:-clean}" || return
		done
	done
}

# families_on WIRE FAMILIES NUMBER: print which of the address families FAMILIES to test. NUMBER is
# the test's number without its last digit, plus 1 for each earlier variant of the test. Only one
# family is printed if WIRE is rough or flap, or the kernel is slow, or with --sample: IPv6 if links
# flap, which disturbs IPv6 more than IPv4, or with --sample if NUMBER is even; else IPv4. If
# FAMILIES has only the other family, that one is printed.
families_on() {
	local one=4

	[[ $1 != flap ]] || one=6
	if [[ $1 == clean && $SLOW -eq 1 && $SAMPLE == no ]]; then
		echo "$2"
		return
	fi
	[[ $SAMPLE == no ]] || (($3 % 2)) || one=6
	[[ $2 == *"$one"* ]] || one=$2
	echo "$one"
}

# list_cases_of() runs in a subshell: what one test file defines is not there when the next is read.
# shellcheck disable=SC2034 # for the test files
list_cases_of() (
	CLIENT_DRIVER=$2
	SERVER_DRIVER=$3
	WIRE=$4
	FAMILIES="4 6"
	WIRES="clean rough flap"
	LONG=no
	VARIANTS=-
	applies() { true; }
	number=${1##*/}
	number=$((10#${number:0:3} / 10))
	# shellcheck source=/dev/null
	. "$1"
	applies && [[ " $WIRES " == *" $WIRE "* ]] || exit 0
	[[ $SAMPLE == no || $LONG == no ]] || exit 0
	[[ $SAMPLE == no || $2 == "$3" || ${1##*/} =~ $SAMPLE_WITH_SIW ]] || exit 0
	for variant in $VARIANTS; do
		families=$FAMILIES
		[[ $variant != */* ]] || families=${variant#*/}
		name=${1##*/}:${variant%/*}
		for family in $(families_on "$WIRE" "$families" "$number"); do
			echo "${name%:-} $2 $3 $4 $family $DESCRIPTION"
		done
		number=$((number + 1))
	done
)

# choose_roles CLIENT_DRIVER SERVER_DRIVER FAMILY: set CLIENT and SERVER to the guests A and B. If
# both drivers are the same, the guests change roles for IPv6, so that the driver is client and
# server on the kernels of both guests.
choose_roles() {
	CLIENT=A
	SERVER=B
	[[ $1 != "$2" || $3 -ne 6 ]] || { CLIENT=B && SERVER=A; }
}

# The printed name of a case: "010-rping siw_mpa 6.1->siw 6.12 IPv4: rping ...", "... 6.12 rough IPv4 ..."
case_name() {
	local wire=" $4" from=$KERNEL_A to=$KERNEL_B CLIENT SERVER

	choose_roles "$2" "$3" "$5"
	[[ $CLIENT == A ]] || { from=$KERNEL_B && to=$KERNEL_A; }
	echo "${1/.sh/} $2 $from->$3 $to${wire/ clean/} IPv$5: $6"
}

# Print the command that runs one case alone. A case's name has the wire in it unless the wire is clean.
alone() {
	local number pair='([^ ]+) [^ ]+->([^ ]+) [^ ]+( (rough|flap))?'

	[[ $1 =~ ^([0-9]{3}-[^\ ]+)\ $pair\ (IPv[46]): ]] || return 0
	number=${BASH_REMATCH[1]}
	echo "${LARGE_FPDU:+LARGE_FPDU=$LARGE_FPDU }KERNEL=$KERNEL KERNELS='$KERNELS'" \
		"PAIRS=${BASH_REMATCH[2]}/${BASH_REMATCH[3]}${BASH_REMATCH[5]:+/${BASH_REMATCH[5]}}" \
		"scripts/e2e.sh -k '^$number .*${BASH_REMATCH[6]}'"
}

boot() {
	say "booting two guests: $KERNELS"
	GUEST_KERNEL=([A]=$KERNEL_A [B]=$KERNEL_B)
	guest_boot A B
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

# Prove that a failed command makes a test fail wherever the command is: in the middle of the test, in a command
# substitution, in a comparison, in a guest.
self_test() {
	local body status seen=0 all=0

	# shellcheck disable=SC2016 # expanded by eval
	for body in 'false; true' 'x=$(client false); true' 'expect_pings "" 1; true' \
		'serve "sleep 60"; true' 'client "fail on purpose"; true' \
		'guest_bg "$CLIENT" x "exit 3"; guest_wait "$CLIENT" x; true'; do
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
	tap_run '000-self-test: what a job says is its own' guest_run A \
		"$(declare -f says_nothing_old); says_nothing_old" 240
}

# says_nothing_old() runs in the guest. As soon as a background job is started, its output file must
# not contain output of an earlier job of the same name.
says_nothing_old() {
	local n

	mkdir -p /run/bg/parrot
	for ((n = 0; n < 10; n++)); do
		echo old >/run/bg/parrot/output
		bg_start parrot true
		[[ ! -s /run/bg/parrot/output ]] || fail 'it has said so before' || return 1
		bg_wait parrot 20 || return 1
	done
}

run_case() {
	local name=$1 log
	shift

	ensure_guests
	log=$GUEST_RUN/case-$5.log
	try_case "$log" "$@"
	[[ $CLEAN -eq 0 ]] || FRESH=no
	tap_retried_in "$log"
	if [[ $STATUS -eq 0 && $CLEAN -eq 0 ]]; then
		tap ok "$name"
		return
	fi
	tap 'not ok' "$name"
	sed '41,$d; s/^/# /' "$log"
	tail -n +41 "$log" | tail -n 100 | sed 's/^/# /'
	echo "# logs: $GUEST_RUN"
	KEEP_LOGS=yes
}

run_all() {
	local cases file client_driver server_driver wire family text name port=7000

	# The list is not piped into the loop, which would hide that a test file has an error.
	cases=$(list_cases)
	while read -r -u 4 file client_driver server_driver wire family text; do
		port=$((port + 1))
		name=$(case_name "$file" "$client_driver" "$server_driver" "$wire" "$family" "$text")
		[[ $name =~ $1 ]] || continue
		choose_roles "$client_driver" "$server_driver" "$family"
		say "e2e: ${name%%:*}"
		run_case "$name" "$file" "$client_driver" "$server_driver" "$family" "$port" "$wire"
	done 4<<<"$cases"
}

# For each guest, report what the detectors of its kernel, such as KASAN, have found; then shut both
# guests down. Each step is a test: a guest whose kernel does not power off has a bug.
power_off() {
	local status name

	[[ $FRESH == yes ]] || return 0
	for name in A B; do
		tap_run "the kernel of $name has nothing to report" guest_detectors "$name"
		! kernel_debugs "$(guest_kernel "$name")" ||
			tap_run "the detectors of $name see mistakes made on purpose" guest_controls "$name"
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

# list_names REGEX: print the names of the cases that match
list_names() {
	local file client_driver server_driver wire family text name

	list_cases | while read -r file client_driver server_driver wire family text; do
		name=$(case_name "$file" "$client_driver" "$server_driver" "$wire" "$family" "$text")
		[[ ! $name =~ $1 ]] || printf '%s\n' "$name"
	done
}

# build_for KERNEL: build the modules for KERNEL, in a subshell, since need_kernel() sets the
# variable KERNEL
build_for() (
	need_kernel "$1"
	export KERNEL
	if [[ $PAIRS == *siw_mpa* || $PAIRS == *srnic* ]]; then
		"$TOP/scripts/lib/build.sh"
	else
		"$TOP/scripts/lib/build.sh" --stock
	fi
)

prepare() {
	local -a kernels

	# shellcheck disable=SC2086 # a list of words is what it is
	mapfile -t kernels < <(stock_kernels $KERNELS)
	"$TOP/scripts/lib/setup.sh" build guest foreign "${kernels[@]}"
	need_krel
	build_for "$KERNEL_A"
	[[ $KERNEL_A == "$KERNEL_B" ]] || build_for "$KERNEL_B"
}

main() {
	local pattern='' list=no

	while [[ $# -gt 0 ]]; do
		case $1 in
		--sample) SAMPLE=yes ;;
		-k) pattern=${2?which cases?} && shift ;;
		-l) list=yes ;;
		*) die 'usage: e2e.sh [--sample] [-k REGEX] [-l]' ;;
		esac
		shift
	done
	[[ $SAMPLE == no || -n ${PAIRS:-} ]] || PAIRS="$DRIVER/siw siw/$DRIVER $BOTH"
	PAIRS=${PAIRS:-$ALL_PAIRS}
	if [[ $list == yes ]]; then
		list_names "$pattern"
		return
	fi
	prepare
	run_all "$pattern"
	power_off
	guest_kill_all
	[[ $KEEP_LOGS == yes ]] || guest_forget_logs
	say "end of the end-to-end tests"
	tap_end e2e
}

main "$@"

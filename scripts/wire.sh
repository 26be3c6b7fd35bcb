#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Conformance on the wire: a scripted peer over raw TCP tests a device in a guest, in both roles, with an application
# that prints what the ULP sees: see scripts/wire/run.py. After that tshark judges the capture of all connections: see
# scripts/wire/judge.py.
#
#   scripts/wire.sh [-k REGEX] [--sample] [-l] [--device NAME [--remote HOST]] [--module KO] [--hazards] [FILE...]
#
# FILE is a file of scripts/wire, without .py. -k runs only the tests whose name or rule ids match; --sample runs one
# case of each test, on one of the kernels; -l lists what would run, with the rule ids of each test. It is an error if
# no test matches.
#
# NAME is the driver: srnic, siw_mpa or siw, the kernel's own. For siw_mpa only tests of MPA startup run, unless other
# files are named. For siw, tests are skipped that need iw_mpa or may crash siw's kernel. With --device a report by rule
# is written into the cache, as text, HTML and JUnit; the last lines of output name it.
#
# With --remote, NAME is an RDMA device of HOST, which ssh reaches without a password; no guest is booted. The peer is
# this host, which has to reach an address of the device, of IPv6 if HOST is one. Two programs are copied to HOST while
# the tests run. Tests that examine the device's host from inside are skipped, and say what they need. --hazards also
# runs tests in which a driver that is not ours may crash its host. A device of this host cannot be tested from here:
# run this on another host, with --remote and the name of this one.
#
# KO is a module file with a driver on iw_mpa. In the guest "rdma link add" makes a device, whose
# type is the module's name. First some connections show the driver's features, as with --remote. If
# rdma-core has no provider for the device, a kernel ULP replaces the application, and tests of what
# only applications in user space can do are skipped.
#
# KERNELS="6.1 6.12" chooses the kernels; without it a KERNEL other than 6.1 is the only one.

# shellcheck source=scripts/lib/lib.sh
. "$(dirname "$0")/lib/lib.sh"
# shellcheck source=scripts/lib/tap.sh
. "$TOP/scripts/lib/tap.sh"
# shellcheck source=scripts/lib/guest/guest.sh
. "$TOP/scripts/lib/guest/guest.sh"
# shellcheck source=scripts/wire/lib.sh
. "$TOP/scripts/wire/lib.sh"
# shellcheck source=scripts/wire/remote.sh
. "$TOP/scripts/wire/remote.sh"

LIMIT=1200	# seconds for the tests of one file, so that a hang ends
# Protocols above TCP do not depend on the address family: over IPv6 run tests of addresses, and a sample.
SAMPLE='v1_request|rtr_offer|request_by_default|rejected|reject_v|nobody|bad_re|depths_4|tried|ends'
SAMPLE="^(responder|initiator|hazards)_.*($SAMPLE|_failed_.*_is_logged)|^fast_open_"

EXCHANGES=1	# startup exchanges that tshark has to see in a batch, at least

DATA_SAMPLE='R_5_|D_7_1_1_|F_4_1_1|R_7_2_1'

EVERYWHERE_STARTUP="responder initiator fast_open hazards load storms"
EVERYWHERE_DATA="data_mpa data_ddp data_rdmap data_ops data_order data_states data_term data_unending data_access"
EVERYWHERE_DATA+=" data_rings data_kernel data_fuzz data_storms"
# Files of tests that are not captured, since they send or break too much, or send nothing
NOT_JUDGED="load storms data_storms data_faults data_charge data_stock"
PATTERN=
SAMPLE_OPTION=
ASKED=		# files in the arguments
ENVIRONMENT=${DRIVER:-}
DRIVER=srnic	# driver of the guest's device
REPORT=		# yes: --device was given
NAME=		# with --remote: name of the device; with --module: of the driver
MODULE=		# file of that module
HOST=
HAZARDS=()
# choose_for() sets the following:
STARTUP=	# files of tests that fit the kernel and the options: of the startup; DATA: of the data path
DATA=
FILES=		# those of STARTUP and DATA that were asked for
OPTIONS=()	# options for run.py

# choose_for KERNEL PART: choose the kernel's tests, and its part of a sample. Storms of objects run only in the soak.
choose_for() {
	local file

	STARTUP=$EVERYWHERE_STARTUP
	DATA=$EVERYWHERE_DATA
	if [[ $1 == kasan ]]; then
		STARTUP+=' faults'
		DATA+=' data_faults'
	fi
	kernel_debugs "$1" || DATA+=' data_charge data_stock'
	if [[ -n $SAMPLE_OPTION ]]; then
		OPTIONS=(--sample "$1" --part "$2")
		DATA=${DATA/ data_storms/}
	fi
	[[ $DRIVER != siw_mpa || -n $ASKED ]] || DATA=
	FILES=
	for file in $STARTUP $DATA; do
		[[ -n $ASKED && " $ASKED " != *" $file "* ]] || FILES+=" $file"
	done
	FILES=${FILES# }
}

# choose: set CHOSEN to the names of all tests that would run on any of KERNELS; fail if no test
# would. But if IW_MPA_PART is set, another wire.sh has this one run a part of the tests. A part may
# be empty: the other wire.sh has already checked that there are tests.
choose() {
	local kernel number=0 all known='' some file

	CHOSEN=
	all=$(wc -w <<<"$KERNELS")
	for kernel in $KERNELS; do
		number=$((number + 1))
		choose_for "$kernel" "${IW_MPA_PART:-$number/$all}"
		known+=" $STARTUP $DATA "
		some=$(list) || die 'run.py cannot list the tests: is the REGEX one of Python?'
		CHOSEN=$(printf '%s\n' "$CHOSEN" "$some" | awk '$0 && !seen[$0]++')
	done
	[[ -z ${IW_MPA_PART:-} ]] || return 0
	for file in $ASKED; do
		[[ $known == *" $file "* ]] ||
			die "$file is none of the files of tests for $KERNELS${SAMPLE_OPTION:+ with $SAMPLE_OPTION}:$(
				tr -s ' ' '\n' <<<"$known" | sort -u | paste -sd ' ')"
	done
	[[ -n $CHOSEN ]] ||
		die "no test${ASKED:+ of$ASKED} for $KERNELS${PATTERN:+ has a name or rule id like $PATTERN}"
}

# limit_of FILE[|FILE...]: print how many seconds the tests of these files may take
limit_of() {
	local -a each

	IFS='|' read -ra each <<<"$1"
	echo $((LIMIT * ${#each[@]}))
}

# batch ADDRESS PATTERN FAMILY NAME [FILES]: run one batch in the guest, and capture all of its packets
batch() {
	local address=$1 pattern=$2 family=$3 name="$3 $4"

	say "wire: $name"
	tap_run "$name: the capture starts" guest_run A 'capture_start 0 lo' 90
	run_tests "$family" "$address" "$pattern" "$(limit_of "${5:-$4}")" --file "${5:-$4}" \
		"${OPTIONS[@]}"
	judge_batch "$name" "${name// /-}.pcapng"
}

judge_batch() {
	local share=$GUEST_RUN/share

	tap_run "$1: no packet is lost" guest_run A "capture_stop $2 && capture_is_whole"
	judge_capture "$1" "$share/$2" "$share/wire"
}

# judge_capture NAME CAPTURE FOLDER: have judge.py judge CAPTURE. FOLDER has the file "map" of
# run.py --map, which lists the tests by their ports, and the files that reports are made of. If
# judge.py crashes, that is a failure.
judge_capture() {
	local output status=0

	output=$("$TOP/scripts/wire/judge.py" --exchanges "$EXCHANGES" --map "$3/map" "$2" 2>&1) || status=$?
	[[ $status -eq 0 || $output == *'not ok - '* ]] || output+=$'\nnot ok - tshark: no verdict'
	[[ -z $REPORT ]] || printf '%s\n' "$output" >>"$3/captured"
	relay "$1" "$output"
}

# write_report DEVICE KERNEL RESULTS CAPTURED WORDS-OF-CM_PROBE: write a report into the cache
write_report() {
	local folder vendor

	vendor=$(sed -n 's/^VENDOR //p' "$5")
	folder=$CACHE/reports/$1-$2-$(date +%Y%m%d-%H%M%S)-$$
	"$TOP/scripts/wire/report.py" --about "device=$1" --about "kernel=$2" \
		${vendor:+--about "vendor, part, firmware=$vendor"} \
		--about "suite=$(our_version)" --capture "$4" "$3" "$folder" | sed 's/^/# /' || return
	echo "# report: $folder"
}

# listed DRIVER FILE...: print the tests of those of these files that were asked for
listed() {
	local driver=$1 file files=

	shift
	for file in "$@"; do
		[[ " $FILES " != *" $file "* ]] || files+="|$file"
	done
	[[ -z $files ]] || "$TOP/scripts/wire/run.py" -l --device "$driver" --file "${files#|}" \
		-k "$PATTERN" "${OPTIONS[@]}"
}

# list: print all tests that would run
list() {
	# shellcheck disable=SC2086 # words
	listed "$DRIVER" $STARTUP && listed "$DRIVER" $DATA
}

# run_file FILE[|FILE...] ADDRESS FAMILY PATTERN: run the tests of these files, which are all judged, or all not
run_file() {
	local name=$1

	[[ $name != *'|'* ]] || name="${name%%|*} and more"
	if [[ " $NOT_JUDGED " == *" ${1%%|*} "* ]]; then
		say "wire: $name"
		run_tests "$3" "$2" "$4" "$(limit_of "$1")" --file "$1" "${OPTIONS[@]}"
	else
		batch "$2" "$4" "$3" "$name" "$1"
	fi
}

# batches FILE...: print the files of each batch, separated by "|". In a sample a batch has several
# files, since each has so few tests that starting programs and a capture for it would take as long
# as they do. But with a report or on a slow host each file is a batch: results are reported by
# file, and a batch has a time limit.
batches() {
	local file judged='' others=''

	if [[ -z $SAMPLE_OPTION || -n $REPORT || $SLOW -ne 1 ]]; then
		printf '%s\n' "$@"
		return
	fi
	for file in "$@"; do
		if [[ " $NOT_JUDGED " == *" $file "* ]]; then others+="|$file"; else judged+="|$file"; fi
	done
	printf '%s\n' "${judged#|}" "${others#|}" | grep .
}

# run_files DRIVER FILE...: run those files of which a test was chosen; fail if there is none
run_files() {
	local driver=$1 file tests
	local -a chosen=()

	shift
	for file in "$@"; do
		tests=$(listed "$driver" "$file") || die "run.py cannot list the tests of $file"
		[[ -z $tests ]] || chosen+=("$file")
	done
	[[ ${#chosen[@]} -gt 0 ]] || return 1
	guest_run A "driver_set ${NAME:-$driver}" || ! guest_is_dead A || guest_died "the driver loads"
	DEVICE=$driver
	while read -r -u 3 file; do
		run_file "$file" 10.0.0.1 IPv4 "$PATTERN"
	done 3< <(batches "${chosen[@]}")
}

# Test all kernels at the same time, since tests mostly wait. Packages are installed before that, once for all.
on_each() {
	local kernel number=0 all

	# shellcheck disable=SC2046,SC2086 # lists of words
	"$TOP/scripts/lib/setup.sh" build guest $(stock_kernels $KERNELS)
	all=$(wc -w <<<"$KERNELS")
	for kernel in $KERNELS; do
		number=$((number + 1))
		tap_start "$kernel" wire env KREL= KERNEL="$kernel" KERNELS="$kernel" \
			IW_MPA_PART="$number/$all" "$TOP/scripts/wire.sh" "$@"
	done
	tap_finish
	tap_end wire
}

# define_alone: define alone(), by which tap.sh prints the command that runs a failed test alone.
# on_each() does not need alone(): the output of other runs of this script, which on_each() prints,
# has these commands already.
define_alone() {
	alone() {
		local how="--device $DRIVER"

		[[ -z $MODULE ]] || how="--module $MODULE"
		[[ -z $HOST ]] || how="--device $NAME --remote $HOST"
		# The REGEX for -k leaves out the first word of the test's result, the address
		# family or the device. The other words may be values of Python, such as a list,
		# so characters that are special in a REGEX are escaped.
		# shellcheck disable=SC2001 # what is found stays
		[[ ! $1 =~ ^[^\ ]+\ (.+)\ \[[^[]*\]$ ]] || echo "KERNEL=$KERNEL KERNELS=$KERNEL scripts/wire.sh" \
			"$how -k '^$(sed 's/[][().*+]/\\&/g' <<<"${BASH_REMATCH[1]}") '"
	}
}

# finish: write the report, print the summary, and end this script
finish() {
	local share=$GUEST_RUN/share/wire

	[[ -z $REPORT ]] || { touch "$share"/{captured,device,results} &&
		write_report "${NAME:-$DRIVER}" "$KREL" "$share"/{results,captured,device}; } ||
		tap 'not ok' 'the report is written'
	tap_end wire || die "logs: $GUEST_RUN"
	guest_forget_logs
	exit
}

on_one() {
	define_alone
	"$TOP/scripts/lib/setup.sh" build guest
	need_krel
	"$TOP/scripts/lib/build.sh"
	tap_run 'tshark and its judge find what is wrong' "$TOP/scripts/wire/judge.py" --selftest
	tap_run 'the formats are those of the RFCs' "$TOP/scripts/wire/selftest.py"
	tap_run 'a report says what was found' "$TOP/scripts/wire/report.py" --selftest
	if [[ -z $CHOSEN ]]; then
		tap_end wire
		return
	fi
	[[ -z $MODULE || $(modinfo -F vermagic "$MODULE") == "$KREL "* ]] ||
		die "$MODULE is not for $KREL, but for $(modinfo -F vermagic "$MODULE")"
	say 'booting a guest'
	guest_boot A
	[[ -z $MODULE ]] || cp "$MODULE" "$GUEST_RUN/share/modules-A/$NAME.ko"
	share_tests
	# A driver that is not ours may lack what all tests of a file need.
	[[ -z $PATTERN && $DRIVER != siw && -z $MODULE ]] || EXCHANGES=0
	[[ ${#HAZARDS[@]} -eq 0 ]] || say 'WARNING: the guest may crash: --hazards was asked for'
	OPTIONS+=("${HAZARDS[@]}")
	[[ -z $MODULE ]] || guest_run A 'insmod /share/modules/kverbs.ko'
	# shellcheck disable=SC2086 # words
	if run_files "$DRIVER" $STARTUP && [[ -z $PATTERN && $FILES == "$STARTUP"* ]]; then
		batch fd00::1 "$SAMPLE" IPv6 sample "${STARTUP// /|}"
	fi
	DEVICE=$DRIVER
	[[ -n $MODULE ]] || guest_run A 'insmod /share/modules/kverbs.ko'
	# shellcheck disable=SC2086 # words
	if run_files "$DRIVER" $DATA && [[ -z $PATTERN && $FILES == *"$DATA" ]]; then
		OPTIONS+=(--sample "$KERNEL" --part "${IW_MPA_PART:-1/1}")
		batch fd00::1 "$DATA_SAMPLE" IPv6 'data sample' 'data_.*'
	fi
	guest_run A 'rmmod kverbs'
	[[ -z $REPORT ]] || guest_run A '/run/cm_probe device siw0 >/share/wire/device || :; : >>/share/wire/captured'
	end_guest
	finish
}

# run_there FILE: run the tests of FILE against the device of the other host; fail if the device
# makes no connection any more, so that the other files need not be tried
run_there() {
	local file=$1 output status=0 tests capture=$REMOTE_HERE/$1.pcapng

	tests=$(listed other "$file") || die "run.py cannot list the tests of $file"
	[[ -n $tests ]] || return 0
	say "wire: $file"
	[[ " $NOT_JUDGED " == *" $file "* ]] || remote_capture "$capture"
	output=$(WIRE_LIMIT=60 PYTHONPYCACHEPREFIX='' python3 "$REMOTE_PROGRAMS/run.py" "${REMOTE_OPTIONS[@]}" \
		"${OPTIONS[@]}" --file "$file" \
		-k "$PATTERN" --map "$REMOTE_HERE/map" --results "$REMOTE_HERE/results" \
		"$REMOTE_THERE/cm_probe" "$REMOTE_ADDRESS" 2>&1) || status=$?
	relay "$NAME" "$output"
	[[ $(grep -cE '^(not )?ok - ' <<<"$output") -eq $(wc -l <<<"$tests") ]] ||
		tap 'not ok' "$NAME $file: not all tests ran"
	if [[ -n $REMOTE_CAPTURE ]]; then
		tap_run "$NAME $file: no packet is lost" remote_captured "$capture"
		judge_capture "$NAME $file" "$capture" "$REMOTE_HERE"
		rm "$capture"
	fi
	[[ $status -ne 2 ]]
}

# --remote: run the tests against the device of another host, with the peer on this host.
on_remote() {
	local file

	define_alone
	"$TOP/scripts/lib/setup.sh" remote
	EXCHANGES=0	# a capture may be empty, since all chosen tests may need what HOST lacks
	remote_open "$HOST"
	remote_build
	remote_copy
	remote_find "$NAME"
	mapfile -t REMOTE_OPTIONS < <(remote_arguments "$NAME")
	OPTIONS+=("${HAZARDS[@]}")
	say "wire: $NAME, $REMOTE_ADDRESS, with its peer at $REMOTE_PEER"
	[[ ${#HAZARDS[@]} -eq 0 ]] || say "WARNING: $HOST may crash: --hazards was asked for"
	: >"$REMOTE_HERE/results"
	: >"$REMOTE_HERE/captured"
	for file in $FILES; do
		run_there "$file" || break
	done
	printf '%s\n' "${REMOTE_SAID[@]}" >"$REMOTE_HERE/device"
	write_report "$NAME" "$("${REMOTE_SSH[@]}" uname -r)" "$REMOTE_HERE"/{results,captured,device} ||
		tap 'not ok' 'the report is written'
	tap_end wire
}

main() {
	local arguments=("$@") list=no

	while [[ $# -gt 0 ]]; do
		case $1 in
		-k) PATTERN=${2?which tests?} && shift ;;
		--sample) SAMPLE_OPTION=--sample ;;
		-l) list=yes ;;
		--device) DRIVER=${2?which device?} && REPORT=yes && shift ;;
		--module) MODULE=${2:?which file?} && REPORT=yes && shift ;;
		--remote) HOST=${2?which host?} && shift ;;
		--hazards) HAZARDS=(--hazards) ;;
		-*)
			die 'usage: wire.sh [-k REGEX] [--sample] [-l] [--device NAME [--remote HOST]] [--module KO]' \
				'[--hazards] [FILE...]'
			;;
		*) ASKED+=" $1" ;;
		esac
		shift
	done
	if [[ -n $HOST ]]; then
		[[ -n $REPORT ]] || die "which device of $HOST? --device NAME"
		[[ $HOST != -* && $DRIVER =~ ^[[:alnum:]_.-]+$ ]] || die "no such device or host: $DRIVER of $HOST"
		NAME=$DRIVER
		DRIVER=other
		KERNELS=$KERNEL
	fi
	if [[ -n $MODULE ]]; then
		[[ -z $HOST && $DRIVER == srnic ]] || die '--module says which driver, and a guest has it'
		NAME=$(modinfo -F name "$MODULE") || die "no module: $MODULE"
		DRIVER=other
		KERNELS=$KERNEL
	fi
	[[ -n $HOST$MODULE || $DRIVER == @(srnic|siw_mpa|siw) ]] || die "no such device: $DRIVER (srnic siw_mpa siw)"
	[[ -z $ENVIRONMENT || $ENVIRONMENT == "$DRIVER" ]] ||
		die "DRIVER=$ENVIRONMENT says nothing here: --device $ENVIRONMENT"
	[[ ${KERNEL:?} != 6.1 ]] || KERNELS=${KERNELS:-6.1 6.12}
	KERNELS=${KERNELS:-$KERNEL}
	# run.py needs python3, which a new machine may lack.
	if ! python3 -c '' 2>/dev/null; then
		if [[ -n $HOST ]]; then
			"$TOP/scripts/lib/setup.sh" remote
		else
			"$TOP/scripts/lib/setup.sh" build guest
		fi
		python3 -c '' 2>/dev/null || die 'there is no python3, in which the tests are written'
	fi
	choose
	if [[ $list == yes ]]; then
		echo "$CHOSEN"
	elif [[ -n $HOST ]]; then
		on_remote
	elif [[ $KERNELS == "$KERNEL" ]]; then
		on_one
	else
		on_each "${arguments[@]}"
	fi
}

main "$@"

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Conformance on the wire: a scripted MPA peer over raw TCP against siw_mpa in a guest, in both
# roles, with an rdma_cm application that prints what the ULP sees. See scripts/wire/run.py.
# tshark then judges what was captured meanwhile: see scripts/wire/judge.py.
#
#   scripts/wire.sh [-k REGEX]     only the tests whose name or rule ids match
#
# KERNELS="6.1 6.12" chooses them; without it a KERNEL other than 6.1 is the only one.

# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=scripts/tap.sh
. "$TOP/scripts/tap.sh"
# shellcheck source=scripts/guest/guest.sh
. "$TOP/scripts/guest/guest.sh"

LIMIT=600	# seconds for one batch of tests
# The protocol above TCP does not know the family: over IPv6 what touches addresses, and a sample.
SAMPLE='v1_request|rtr_offer|request_by_default|rejected|reject_v|nobody|bad_re|depths_4|tried|ends|is_logged'

EXCHANGES=1	# startup exchanges that tshark has to see in a batch, at the least

# relay PREFIX OUTPUT: results of a program, told as ours
relay() {
	local line

	while IFS= read -r line; do
		case $line in
		'ok - '*) tap ok "$1 ${line#ok - }" ;;
		'not ok - '*) tap 'not ok' "$1 ${line#not ok - }" ;;
		*) echo "# ${line#\# }" ;;
		esac
	done <<<"$2"
}

# batch ADDRESS PATTERN FAMILY NAME: one batch in the guest, all of its packets captured
batch() {
	local address=$1 pattern=$2 family=$3 name="$3 $4" output

	say "wire: $name"
	tap_run "$name: the capture starts" guest_run A 'capture_start 0 lo' 90
	output=$(guest_run A "python3 /share/wire/run.py --map /share/wire/map -k '$pattern' \
		/share/wire/cm_probe $address" "$LIMIT") || true
	relay "$family" "$output"
	batch_is_whole "$pattern" "$output" || tap 'not ok' "$family $pattern: not all tests ran"
	judge_batch "$name" "${name// /-}.pcapng"
}

# A judge that dies has found nothing good.
judge_batch() {
	local share=$GUEST_RUN/share output status=0

	tap_run "$1: no packet is lost" guest_run A "capture_stop $2 && capture_is_whole"
	output=$("$TOP/scripts/wire/judge.py" --exchanges "$EXCHANGES" --map "$share/wire/map" \
		"$share/$2" 2>&1) || status=$?
	[[ $status -eq 0 || $output == *'not ok - '* ]] || output+=$'\nnot ok - tshark: no verdict'
	relay "$1" "$output"
}

batch_is_whole() {
	local want

	want=$(python3 "$TOP/scripts/wire/run.py" -l -k "$1" | wc -l)
	[[ $want -gt 0 && $(grep -cE '^(not )?ok - ' <<<"$2") -eq $want ]]
}

# The guest sees the share wherever this tree is: its own /tmp hides ours.
share_tests() {
	local dir=$GUEST_RUN/share/wire

	mkdir "$dir"
	cp "$TOP"/scripts/wire/*.py "$dir"
	gcc -Wall -Wextra -Werror -O2 -o "$dir/cm_probe" "$TOP/scripts/wire/cm_probe.c" \
		-lrdmacm -libverbs
}

# Their guests mostly wait, so all at the same time. Not so apt-get.
on_each() {
	local kernel dir
	local -A pid

	dir=$(mktemp -d "$CACHE/wire.XXXXXX")
	"$TOP/scripts/setup.sh" build guest 6.12
	for kernel in $KERNELS; do
		KREL='' KERNEL=$kernel KERNELS=$kernel "$TOP/scripts/wire.sh" "$@" >"$dir/$kernel" </dev/null &
		pid[$kernel]=$!
	done
	for kernel in $KERNELS; do
		tap_relay "$kernel" wire < <(tail -n +1 -f --pid="${pid[$kernel]}" "$dir/$kernel")
		wait "${pid[$kernel]}" || true
	done
	rm -r "$dir"
	tap_end wire
}

on_one() {
	local only=${2:-} roles='responder initiator hazards' role

	"$TOP/scripts/setup.sh" build guest
	need_krel
	"$TOP/scripts/build.sh"
	tap_run 'tshark and its judge find what is wrong' "$TOP/scripts/wire/judge.py" --selftest
	say 'booting a guest'
	guest_boot A
	share_tests
	guest_run A 'driver_set siw_mpa'
	if [[ -n $only ]]; then
		EXCHANGES=0
		batch 10.0.0.1 "$only" IPv4 chosen
	else
		[[ $KERNEL != kasan ]] || roles+=' faults'
		for role in $roles; do
			batch 10.0.0.1 "^$role" IPv4 "$role"
		done
		batch fd00::1 "$SAMPLE" IPv6 sample
	fi
	tap_run 'what was created was destroyed' guest_run A 'poll 10 driver_is_balanced'
	tap_run 'the modules unload' guest_run A driver_clear
	tap_run 'the kernel has nothing to report' guest_detectors A
	tap_run 'the guest ends well' guest_down
	tap_end wire || die "logs: $GUEST_RUN"
	guest_forget_logs
}

main() {
	[[ $# -eq 0 || ($# -eq 2 && $1 == -k) ]] || die 'usage: wire.sh [-k REGEX]'
	[[ $KERNEL != 6.1 ]] || KERNELS=${KERNELS:-6.1 6.12}
	KERNELS=${KERNELS:-$KERNEL}
	if [[ $KERNELS == "$KERNEL" ]]; then
		on_one "$@"
	else
		on_each "$@"
	fi
}

main "$@"

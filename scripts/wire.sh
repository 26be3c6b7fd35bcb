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
# shellcheck source=scripts/wire/lib.sh
. "$TOP/scripts/wire/lib.sh"

LIMIT=600	# seconds for one batch of tests
# The protocol above TCP does not know the family: over IPv6 what touches addresses, and a sample.
SAMPLE='v1_request|rtr_offer|request_by_default|rejected|reject_v|nobody|bad_re|depths_4|tried|ends'
SAMPLE="^(responder|initiator|hazards)_.*($SAMPLE|_failed_.*_is_logged)"

EXCHANGES=1	# startup exchanges that tshark has to see in a batch, at the least

# batch ADDRESS PATTERN FAMILY NAME: one batch in the guest, all of its packets captured
batch() {
	local address=$1 pattern=$2 family=$3 name="$3 $4"

	say "wire: $name"
	tap_run "$name: the capture starts" guest_run A 'capture_start 0 lo' 90
	run_tests "$family" "$address" "$pattern" "$LIMIT"
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

# load ROLE: tests that send so much, or wreck so much, that nobody wants it captured
load() {
	say "wire: $1"
	run_tests IPv4 10.0.0.1 "^$1" "$LIMIT"
}

# All at the same time: one waits while another works. Not so apt-get.
on_each() {
	local kernel

	"$TOP/scripts/setup.sh" build guest 6.12
	for kernel in $KERNELS; do
		tap_start "$kernel" wire \
			env KREL= KERNEL="$kernel" KERNELS="$kernel" "$TOP/scripts/wire.sh" "$@"
	done
	tap_finish
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
		load load
		load storms
	fi
	end_guest
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

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Boot one or two guests and run a command in the first of them:
#
#   scripts/lib/guest/run.sh [-2] [-d DRIVER] COMMAND        DRIVER: siw (default), siw_mpa, srnic, none
#
# With -2 the other guest, 10.0.0.2 and fd00::2, is on the same wire and has the same driver.

# shellcheck source=scripts/lib/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=scripts/lib/guest/guest.sh
. "$TOP/scripts/lib/guest/guest.sh"

main() {
	local option guests=A driver=siw name status

	while getopts 2d: option; do
		case $option in
		2) guests="A B" ;;
		d) driver=$OPTARG ;;
		*) die "usage: run.sh [-2] [-d siw|siw_mpa|srnic|none] COMMAND" ;;
		esac
	done
	shift $((OPTIND - 1))
	[[ $# -gt 0 ]] || die "which command?"

	"$TOP/scripts/lib/setup.sh" build guest foreign
	need_krel
	say "booting $guests"
	# shellcheck disable=SC2086 # a list of words is what it is
	guest_boot $guests
	for name in $guests; do
		[[ $driver == none ]] || guest_run "$name" "driver_set $driver"
	done
	say "running in $GUEST_RUN: $*"
	set +e
	(guest_run A "$*" 600)
	status=$?
	set -e
	guest_down || die "a guest did not end well: see $GUEST_RUN"
	guest_forget_logs
	return "$status"
}

main "$@"

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The wire tests, and the end-to-end tests of siw_mpa with itself, under a kernel with detectors.
#
#   scripts/debug.sh [kasan|kcsan [SUITE...]]      kasan, wire and e2e by default
#
# Their results are told as they come, numbered through. "make wire" and "make e2e" with
# DEBUG=kasan or DEBUG=kcsan run either of them with every option that they have.

# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=scripts/tap.sh
. "$TOP/scripts/tap.sh"

main() {
	local suite

	export KERNEL=${1:-${DEBUG:-kasan}}
	kernel_debugs "$KERNEL" || die 'usage: debug.sh [kasan|kcsan [SUITE...]]'
	shift $(($# > 0))
	[[ $# -gt 0 ]] || set -- wire e2e
	for suite in "$@"; do
		tap_relay "$KERNEL $suite:" "$suite" < <("$TOP/scripts/$suite.sh" </dev/null)
	done
	tap_end debug
}

main "$@"

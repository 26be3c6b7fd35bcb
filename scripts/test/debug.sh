#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The wire tests, and the end-to-end tests of srnic with itself, under a kernel with detectors.
#
#   scripts/test/debug.sh [kasan|kcsan [SUITE...]]      kasan, wire and e2e by default
#
# "faults" are the wire tests in which memory runs out. "storms" are the tests of
# scripts/test/soak.sh in which peers and processes make random errors, or objects are made and
# removed.
#
# The suites run at the same time, which takes a tenth less; their results are printed one suite after the other, with
# common numbers. "make wire" and "make e2e" with DEBUG=kasan or DEBUG=kcsan run only one of them, with all of its
# options.

# shellcheck source=scripts/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=scripts/lib/tap.sh
. "$TOP/scripts/lib/tap.sh"

main() {
	local suite

	export KERNEL=${1:-${DEBUG:-kasan}}
	kernel_debugs "$KERNEL" || die 'usage: debug.sh [kasan|kcsan [SUITE...]]'
	shift $(($# > 0))
	[[ $KERNEL == kasan || " $* " != *' faults '* ]] ||
		die "faults are for kasan: the kernel of $KERNEL does not let allocations fail"
	unset -v KERNELS	# otherwise KERNELS would override KERNEL
	[[ $# -gt 0 ]] || set -- wire e2e
	"$TOP/scripts/lib/setup.sh" build guest
	for suite in "$@"; do
		case $suite in
		faults) tap_start "$KERNEL faults:" wire "$TOP/scripts/wire.sh" -k '^(data_)?faults_' ;;
		storms) tap_start "$KERNEL storms:" soak "$TOP/scripts/test/soak.sh" -k '^data_(fuzz|storms)_' ;;
		*) tap_start "$KERNEL $suite:" "$suite" "$TOP/scripts/$suite.sh" ;;
		esac
	done
	tap_finish
	tap_end debug
}

main "$@"

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Do the tests find faults? This makes small faults, called mutants, in srnic's layers R0 to R3 and
# in iw_mpa's layers L1 to L3 (each Makefile lists the files of its layers), and runs the KUnit
# suites with each mutant: see scripts/test/mutate/mutate.py.
#
#   scripts/mutate.sh [--seed N] [--count N] [--minutes N] [--keep] [--wire]
#   scripts/mutate.sh --people [--minutes N] [--keep] [--wire]
#
# N mutants of each group are tried; the seed chooses them: by default the first eight digits of the commit's id, as a
# number, or 1 without git. --people tries all mutants that people have written, in groups by kind:
# scripts/test/mutate/people. With --minutes the run ends after that time, and the next run with that seed continues
# there. --keep is for work on tests or code: mutants that were found before that work count as found. --wire: those
# that no suite finds, and that are not known to change nothing, are put into the modules, one at a time, and a guest
# runs the files of scripts/wire about their layer, for some minutes each; a mutant counts as found if one of their
# tests fails, and none without it.

. "$(dirname "$0")/lib/lib.sh"
. "$TOP/scripts/lib/tap.sh"
# shellcheck source=scripts/lib/uml.sh
. "$TOP/scripts/lib/uml.sh"

WORK=$CACHE/mutate
MINUTES=()
KEEP=()
WIRE=
CHOICE=(--seed "$((16#$(git -c safe.directory='*' -C "$TOP" rev-parse --short=8 HEAD 2>/dev/null || echo 1)))")

mutate() { "$TOP/scripts/test/mutate/mutate.py" --state "$WORK/state.json" "${CHOICE[@]}" "${KEEP[@]}" "$@"; }

# put_mutants LINUX [--drop LOG]: write this tree's sources to drivers/iw_mpa of the kernel sources
# LINUX, with all mutants but those that the compiler has rejected; LOG is the output of the build
# in which it did so. A warning must not stop the compiler, since a mutant may cause one.
put_mutants() {
	local linux=$1 ours=$1/drivers/iw_mpa

	shift
	stage "$linux"
	# shellcheck disable=SC2016 # variables of make
	sed -i '1s/-Werror/-Wno-error -include $(srctree)\/drivers\/iw_mpa\/mutant.h/' "$ours/Makefile"
	echo 'obj-y += mutant.o' >>"$ours/Makefile"
	mutate --make "$ours" "$@"
}

# Build one kernel with all mutants. Those that do not compile are dropped; the compiler reports
# only some of them at a time, so the build is tried up to 12 times. The time stamp of the build is
# fixed, since a run of the suites that was stopped is continued only with an identical kernel.
build_mutants() {
	local linux=$1 try
	local -a drop=()

	export KBUILD_BUILD_TIMESTAMP=0 KBUILD_BUILD_VERSION=1
	for try in {1..12}; do
		put_mutants "$linux" "${drop[@]}" || return
		if (build_kernel "$linux" "$CACHE/um-net" net) >"$WORK/build.log" 2>&1 </dev/null; then
			cp "$CACHE/um-net/linux" "$WORK/linux"
			return
		fi
		drop=(--drop "$WORK/build.log")
	done
	tail -n 50 "$WORK/build.log"
	return 1
}

# run SUITE...: run the suites with each mutant, and print each as soon as a suite has found it
run() {
	mutate "${MINUTES[@]}" --kunit "$WORK/linux" "$@" || tap 'not ok' 'the mutants were run'
}

# on_wire: the modules of the copy are built in a folder of their own, so those of this tree stay as they are.
on_wire() {
	rsync -a --delete --exclude=/.git "$TOP/" "$WORK/tree/"
	IW_MPA_BUILD=$WORK/modules KERNELS=$KERNEL mutate "${MINUTES[@]}" --wire "$WORK/tree" ||
		tap 'not ok' 'the mutants were put on the wire'
}

main() {
	local linux
	local -a suites

	while [[ $# -gt 0 ]]; do
		case $1 in
		--seed | --count) CHOICE+=("$1" "${2?a number}") ;;
		--minutes) MINUTES=("$1" "${2?a number}") ;;
		--keep) KEEP=(--keep) && shift && continue ;;
		--wire) WIRE=yes && shift && continue ;;
		--people) CHOICE+=(--people) && WORK=$CACHE/mutate/people && shift && continue ;;
		*) die 'usage: mutate.sh [--people] [--seed N] [--count N] [--minutes N] [--keep] [--wire]' ;;
		esac
		shift 2
	done
	# shellcheck disable=SC2086 # nothing, or a list of words
	"$TOP/scripts/lib/setup.sh" kunit ${WIRE:+build guest}
	linux=$("$TOP/scripts/lib/linux-source.sh")
	mkdir -p "$WORK"
	mapfile -t suites < <(suites net)
	say 'mutate: building one kernel with all mutants'
	tap_run 'the kernel with the mutants builds' locked kunit build_mutants "$linux"
	run "${suites[@]}"
	[[ -z $WIRE ]] || on_wire
	tap_each '' < <(mutate --verdict || echo 'not ok no verdict')
	tap_end mutate
}

main "$@"

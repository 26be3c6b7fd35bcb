#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Run the KUnit suites on user mode Linux, with the kernel's own kunit.py.
#
#   scripts/kunit.sh [pure] [net] [splice] [bare] [s390] [i386]      run all suites of these kernels (no argument: pure, net
#                                                    and splice)
#   scripts/kunit.sh SUITE[.CASE]                    run one suite, or one case of it
#
# The kernels are:
#   pure   the protocol layers of library and srnic alone, in a kernel without network; the suites
#          have to reach each of their lines and branches
#   net    the whole library, over TCP on the loopback device
#   splice like net, but one object of srnic's sender is compiled as for kernels from 6.5 on
#   bare   like net, but the library is built without takeover
#   s390   the protocol layer on a big-endian architecture, emulated by QEMU; the rest of the library
#          is compiled for it, without IPv6
#   i386   the same on a 32-bit architecture
#
# SUITE is a file kunit/*/SUITE_kunit.c; it runs in the kernel pure if that has it, else in net. CASE is the name of a
# function in it, and may contain *.
#
# This tree is copied to drivers/iw_mpa/ of the kernel sources in the cache, with the same folders, so that relative
# includes and the library's Makefile, which has the only link line, work there. The kernels are built beside the
# sources and kept: after a change only the files of this tree are compiled, and the kernel is linked.

. "$(dirname "$0")/lib/lib.sh"
. "$TOP/scripts/lib/tap.sh"
# shellcheck source=scripts/lib/uml.sh
. "$TOP/scripts/lib/uml.sh"

TIMEOUT=${KUNIT_TIMEOUT:-1200}	# seconds for a kernel's tests, so that a hang ends
ONE=				# SUITE[.CASE]; empty: all suites

# Check that kunit/Makefile builds each suite: a suite that is missing there would never run.
test_all_listed() {
	local file folder listed

	listed=" $(variable iw_mpa-kunit-l0) $(variable iw_mpa-kunit-net) $(variable iw_mpa-kunit-takeover) "
	for file in "$TOP"/kunit/*/*_kunit.c; do
		folder=${file%/*}
		file=$(basename "$file" .c).o
		[[ $listed == *" $file "* ]] || { echo "$file is not in kunit/Makefile"; return 1; }
		[[ $folder == */here ]] || grep -qw "$file" "$folder/Makefile" ||
			{ echo "$file is not in the Makefile of its folder, which the series takes"; return 1; }
	done
}

# kunit.py's own verdict is ignored: ktap.py judges the console, and is stricter.
run_kernel() {
	local -a ARCH

	arch "$3"
	[[ ${CROSS[$3]+set} ]] || ARCH+=(--kernel_args=time-travel)
	cd "$1" || return
	tools/testing/kunit/kunit.py exec --build_dir="$2" "${ARCH[@]}" --raw_output=all \
		--timeout="$TIMEOUT" --kernel_args="uml_dir=$2/uml/" --kernel_args=kasan_multi_shot ${ONE:+"$ONE"} ||
		true
}

# Print the command that runs one case alone, which is possible for the kernels pure and net.
alone() {
	[[ ! $1 =~ ^(pure|net):\ ((iw_mpa|srnic)_[a-z0-9_]+\.[a-z0-9_]+) ]] ||
		echo "scripts/kunit.sh ${BASH_REMATCH[2]}"
}

# run_tests KERNEL LINUX BUILD: run the suites on KERNEL, which was built in the folder BUILD from
# the sources in LINUX, and print a result for each test case. tap_run would print only one result.
run_tests() {
	local name=$1 linux=$2 build=$3
	local -a suites

	mapfile -t suites < <(if [[ -n $ONE ]]; then echo "${ONE%%.*}"; else suites "$name"; fi)
	[[ $name != s390 ]] || set -- "$@" --mute
	(run_kernel "$linux" "$build" "$name") >"$build/console.log" 2>"$build/run.log" </dev/null
	tap_each "$name: " < <("$TOP/scripts/lib/ktap.py" "${@:4}" "$build/console.log" "${suites[@]}" ||
		echo "not ok the console could not be read")
}

# Report which lines and branches of the protocol layers the suites reached; only the kernel "pure"
# is compiled to count this.
coverage() {
	local name=$1 build=$2
	local -a objects

	mapfile -t objects < <(
		{ variable iw_mpa-l0 && variable iw_mpa-l0-sctp; } | tr ' ' '\n' | sed "s|^|$LIB/|"
		variable srnic-r0 | tr ' ' '\n' | sed "s|^|$SRNIC/|"
	)
	tap_each "$name: " < <("$TOP/scripts/lib/coverage.py" "$build" drivers/iw_mpa \
		"$build/console.log" "$TOP/$LIB/fsm.h" "${objects[@]}" ||
		echo "not ok coverage: the counts could not be read")
}

kernel() {
	local name=$1 linux=$2 build=$CACHE/um-${1/splice/net} log=$CACHE/um-$1.log

	say "kunit: building the $name kernel (from nothing it takes minutes)"
	put_makefiles "$linux/drivers/iw_mpa" "$name"
	if ! (build_kernel "$linux" "$build" "$name") >"$log" 2>&1 </dev/null; then
		tap 'not ok' "$name: the kernel builds"
		grep -v 'missing .note.GNU-stack\|RWX permissions\|NOTE: This behav' "$log" |
			tail -n 100 | sed 's/^/# /'
		return 0
	fi
	tap ok "$name: the kernel builds"
	say "kunit: running the $name kernel"
	rm -f "$build/drivers/iw_mpa"/{"$LIB","$SRNIC"}/*.gcda	# counts of the last run, to which this run would add
	run_tests "$name" "$linux" "$build"
	[[ $name != pure || -n $ONE ]] || coverage "$name" "$build"
}

# suite LINUX KERNEL...: called under a lock, since all copies of this tree share one set of kernel sources and kernels
suite() {
	local linux=$1 name

	shift
	tap_run 'every suite is in kunit/Makefile' test_all_listed
	stage "$linux"
	for name in "$@"; do
		kernel "$name" "$linux"
	done
	tap_end kunit
}

# kernel_for SUITE[.CASE]: print which of the kernels pure and net runs it
kernel_for() {
	local suite=${1%%.*} file what=${1#*.} name

	file=$(find "$TOP/kunit" -name "${suite}_kunit.c")
	[[ -e $file ]] || die "no such kernel or suite: $1 (${!CONFIG[*]}, or NAME of a file kunit/*/NAME_kunit.c)"
	[[ $1 != *.* || $what == *'*'* ]] || grep -qE "KUNIT_CASE(_[A-Z]+)?\($what\b" "$file" ||
		die "no such case: $what. These are in ${file#"$TOP/"}: $(cases_of "$file")"
	for name in pure net; do
		[[ " $(suites "$name" | paste -sd ' ') " == *" $suite "* ]] || continue
		echo "$name"
		return
	done
	die "${suite}_kunit.o is not in kunit/Makefile: add it to iw_mpa-kunit-l0 or to iw_mpa-kunit-net"
}

cases_of() { sed -nE 's/.*\bKUNIT_CASE(_[A-Z]+)?\((\w+).*/\2/p' "$1" | paste -sd ' '; }

main() {
	local linux name

	[[ $# -gt 0 ]] || set -- pure net splice
	if [[ $# -eq 1 && -z ${CONFIG[$1]:-} ]]; then
		ONE=$1
		name=$(kernel_for "$1")
		set -- "$name"
	fi
	for name in "$@"; do
		[[ -n ${CONFIG[$name]:-} ]] || die "no such kernel: $name (${!CONFIG[*]})"
	done
	"$TOP/scripts/lib/setup.sh" kunit
	need_space 500
	[[ " $* " != *' s390 '* && " $* " != *' i386 '* ]] || "$TOP/scripts/lib/setup.sh" arch
	linux=$("$TOP/scripts/lib/linux-source.sh")
	locked kunit suite "$linux" "$@"
}

main "$@"

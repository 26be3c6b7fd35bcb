#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Run the KUnit suites on user mode Linux, with the kernel's own kunit.py.
#
#   scripts/kunit.sh [pure] [net] [s390] [i386]      (no argument: pure and net)
#
#   pure   the protocol layers of library and srnic alone, in a kernel without network; the suites
#          have to reach each of their lines and branches
#   net    the whole library, over TCP on the loopback device
#   s390   the protocol layer on a big-endian architecture, emulated by QEMU
#   i386   and on one of 32 bits
#
# Our tree is copied to drivers/iw_mpa/ of the kernel sources in the cache, with the folders as
# they are here, so that relative includes and the one link line (the library's Kbuild) stay
# true. The kernels are built beside it and kept: a change of ours is compiled and linked alone.

. "$(dirname "$0")/lib.sh"
. "$TOP/scripts/tap.sh"

TIMEOUT=${KUNIT_TIMEOUT:-300}	# seconds that a kernel may take for its tests
LIB=drivers/infiniband/sw/iw_mpa
SRNIC=drivers/infiniband/sw/srnic
COMPAT=drivers/infiniband/sw/compat
SKELETON=drivers/infiniband/sw/iw_mpa_skeleton

# What kunit/srnic_pair_tcp.c does in place of TCP, of the library and of the page allocator
FAKED_TX='kernel_sendpage_locked iw_mpa_stream_down iw_mpa_tx_finished'
FAKED_FRAG=skb_page_frag_refill

declare -A CONFIG=([pure]=kunit/pure.kunitconfig [net]=kunit/.kunitconfig
	[s390]=kunit/arch.kunitconfig [i386]=kunit/arch.kunitconfig)
# Of those that kunit.py knows by this name: the prefix of their compiler
declare -A CROSS=([s390]=s390x-linux-gnu- [i386]='')

# put FILE: write stdin there, but leave a file alone that holds just that
put() {
	local text

	text=$(cat)
	[[ -e $1 && $(<"$1") == "$text" ]] || printf '%s\n' "$text" >"$1"
}

hook() {
	grep -qxF "$2" "$1" || printf '%s\n' "$2" >>"$1"
}

# Of srnic, what needs no RDMA core. The pure layers' objects are named by the same lines as in the
# modules. Where the library as a whole is not built, they are linked one by one, and in user mode
# Linux count what is reached: with -Og gcc counts the branches of the source, and byte order is the
# builtin that it is on real machines.
put_makefiles() {
	put "$1/Kconfig" <<-'EOF'
		source "drivers/iw_mpa/kunit/Kconfig"
	EOF
	put "$1/Makefile" <<-EOF
		subdir-ccflags-y := -Werror -I\$(srctree)/drivers/iw_mpa/include
		ifdef CONFIG_IW_MPA
		obj-y += $LIB/
		include \$(srctree)/drivers/iw_mpa/$SRNIC/Kbuild
		obj-m :=
		obj-y += \$(addprefix $SRNIC/,\$(srnic-r0) \$(srnic-r1) \$(srnic-r2) \$(srnic-leaves))
		CFLAGS_$SRNIC/trace.o += \$(CFLAGS_trace.o)
		CFLAGS_$SRNIC/tx.o += \$(foreach name,$FAKED_TX,-D\$(name)=pair_\$(name))
		CFLAGS_$SRNIC/frag.o += \$(foreach name,$FAKED_FRAG,-D\$(name)=pair_\$(name))
		else
		include \$(srctree)/drivers/iw_mpa/$LIB/Kbuild
		include \$(srctree)/drivers/iw_mpa/$SRNIC/Kbuild
		obj-m :=
		ifeq (\$(SRCARCH),um)
		ccflags-y := --coverage -Og \$(addprefix -D__HAVE_BUILTIN_BSWAP,16__ 32__ 64__)
		endif
		obj-y += \$(addprefix $LIB/,\$(iw_mpa-l0))
		obj-y += \$(addprefix $SRNIC/,\$(srnic-r0))
		endif
		obj-y += kunit/
	EOF
}

# By contents and without times: what has changed is new for make, and nothing else is.
stage() {
	local linux=$1 ours=$1/drivers/iw_mpa

	mkdir -p "$ours/$LIB" "$ours/$SRNIC" "$ours/$COMPAT" "$ours/$SKELETON" "$ours/include" "$ours/kunit"
	rsync -rc --delete "$TOP/$LIB/" "$ours/$LIB/"
	rsync -rc --delete "$TOP/$SRNIC/" "$ours/$SRNIC/"
	rsync -rc --delete "$TOP/$COMPAT/" "$ours/$COMPAT/"
	rsync -rc --delete "$TOP/$SKELETON/" "$ours/$SKELETON/"
	rsync -rc --delete "$TOP/include/" "$ours/include/"
	rsync -rc --delete "$TOP/kunit/" "$ours/kunit/"
	put_makefiles "$ours"
	hook "$linux/drivers/Makefile" "obj-\$(CONFIG_IW_MPA_KUNIT_TEST) += iw_mpa/"
	hook "$linux/drivers/Kconfig" 'source "drivers/iw_mpa/Kconfig"'
}

# variable NAME: a list of a Kbuild or of kunit/Makefile, as make understands it
variable() {
	make -s --no-print-directory -f - print <<-EOF
		srctree := $TOP
		src := kunit
		include $TOP/$LIB/Kbuild $TOP/$SRNIC/Kbuild $TOP/kunit/Makefile
		print: ; @echo \$($1)
	EOF
}

# The suites that kernel $1 has to run: see kunit/Makefile
suites() {
	local object

	for object in $(variable iw_mpa-kunit-l0) \
		$([[ $1 != net ]] || variable iw_mpa-kunit-net); do
		[[ $object != *_kunit.o ]] || echo "${object%_kunit.o}"
	done
}

# A suite that nobody builds would be silent for ever
test_all_listed() {
	local file listed

	listed=" $(variable iw_mpa-kunit-l0) $(variable iw_mpa-kunit-net) "
	for file in "$TOP"/kunit/*_kunit.c; do
		file=$(basename "$file" .c).o
		[[ $listed == *" $file "* ]] || { echo "$file is not in kunit/Makefile"; return 1; }
	done
}

# arch NAME: sets ARCH, what kunit.py wants to know of it
arch() {
	ARCH=()
	[[ -z ${CROSS[$1]+set} ]] || ARCH=("--arch=$1" "--cross_compile=${CROSS[$1]}")
}

build_kernel() {
	local -a ARCH

	arch "$3"
	cd "$1" && nice tools/testing/kunit/kunit.py build --build_dir="$2" "${ARCH[@]}" \
		--kunitconfig="$TOP/${CONFIG[$3]}" --jobs "$(nproc)"
}

# kunit.py's own verdict is not asked: ktap.py judges the console, and is stricter.
run_kernel() {
	local -a ARCH

	arch "$3"
	cd "$1" || return
	tools/testing/kunit/kunit.py exec --build_dir="$2" "${ARCH[@]}" --raw_output=all \
		--timeout="$TIMEOUT" --kernel_args="uml_dir=$2/uml/" --kernel_args=kasan_multi_shot ||
		true
}

# Results without numbers on stdin, from kernel $1
verdicts() {
	local line

	while IFS= read -r line; do
		case $line in
		'ok '*) tap ok "$1: ${line#ok }" ;;
		'not ok '*) tap 'not ok' "$1: ${line#not ok }" ;;
		*) printf '%s\n' "$line" ;;
		esac
	done
}

# Not under tap_run: it has one result for each test case.
run_tests() {
	local name=$1 linux=$2 build=$3
	local -a suites

	mapfile -t suites < <(suites "$name")
	[[ $name != s390 ]] || set -- "$@" --mute
	(run_kernel "$linux" "$build" "$name") >"$build/console.log" 2>"$build/run.log" </dev/null
	verdicts "$name" < <("$TOP/scripts/ktap.py" "${@:4}" "$build/console.log" "${suites[@]}" ||
		echo "not ok the console could not be read")
}

# How much of the pure layer the suites reached; the pure kernel alone counts it
coverage() {
	local name=$1 build=$2
	local -a objects

	mapfile -t objects < <(
		variable iw_mpa-l0 | tr ' ' '\n' | sed "s|^|$LIB/|"
		variable srnic-r0 | tr ' ' '\n' | sed "s|^|$SRNIC/|"
	)
	verdicts "$name" < <("$TOP/scripts/coverage.py" "$build" drivers/iw_mpa \
		"$build/console.log" "$TOP/$LIB/fsm.h" "${objects[@]}" ||
		echo "not ok coverage: the counts could not be read")
}

kernel() {
	local name=$1 linux=$2 build=$CACHE/um-$1 log=$CACHE/um-$1.log

	say "kunit: building the $name kernel (from nothing it takes minutes)"
	if ! (build_kernel "$linux" "$build" "$name") >"$log" 2>&1 </dev/null; then
		tap 'not ok' "$name: the kernel builds"
		grep -v 'missing .note.GNU-stack\|RWX permissions\|NOTE: This behav' "$log" |
			tail -n 100 | sed 's/^/# /'
		return 0
	fi
	tap ok "$name: the kernel builds"
	say "kunit: running the $name kernel"
	rm -f "$build/drivers/iw_mpa"/{"$LIB","$SRNIC"}/*.gcda	# or the counts would add up
	run_tests "$name" "$linux" "$build"
	[[ $name != pure ]] || coverage "$name" "$build"
}

# Under the lock, as the sources and the kernels are one set for all copies of our tree
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

main() {
	local linux name

	[[ $# -gt 0 ]] || set -- pure net
	for name in "$@"; do
		[[ -n ${CONFIG[$name]:-} ]] || die "no such kernel: $name (${!CONFIG[*]})"
	done
	"$TOP/scripts/setup.sh" kunit
	need_space 500
	[[ " $* " != *' s390 '* && " $* " != *' i386 '* ]] || "$TOP/scripts/setup.sh" arch
	linux=$("$TOP/scripts/linux-source.sh")
	locked kunit suite "$linux" "$@"
}

main "$@"

# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Functions that put this tree into a kernel for user mode Linux, and build that, for scripts/kunit.sh and
# scripts/mutate.sh; source it after lib.sh. Call them under "locked kunit", since all copies of this tree share one set
# of sources and kernels.
#
# The functions are:
#   stage LINUX                copy this tree to drivers/iw_mpa of these kernel sources
#   build_kernel LINUX DIR NAME   build the kernel NAME of CONFIG, in DIR
#   suites NAME                print the suites that this kernel has to run

LIB=drivers/infiniband/sw/iw_mpa
SRNIC=drivers/infiniband/sw/srnic
COMPAT=drivers/infiniband/sw/compat
SKELETON=drivers/infiniband/sw/iw_mpa_skeleton
CXGB4=drivers/infiniband/hw/cxgb4_mpa

# The objects of R4, srnic's top layer, that can run without the RDMA core: for the functions of the
# core that they call, kunit/here/iw_mpa_no_core.c has replacements
VERBS='verbs.o'

# Functions of TCP, the library and the page allocator that kunit/here/srnic_pair_tcp.c replaces
FAKED_TX='iw_mpa_stream_down iw_mpa_tx_finished kernel_sendpage_locked tcp_sendmsg_locked'
FAKED_QP='iw_mpa_close iw_mpa_disconnect iw_mpa_ep_get iw_mpa_ep_put'
FAKED_FRAG=skb_page_frag_refill

# The version of Linux for which srnic's sender is compiled decides how it passes pages to TCP: one
# page in a call (SRNIC_HAS_SENDPAGE), or, since 6.5, all pages in one call. All test kernels are
# Linux 6.1, but the sender in the kernel "splice" is compiled as for 6.5. The suites replace TCP by
# a fake, so kernels of one version can test both ways.
declare -A PUSH=([splice]=-USRNIC_HAS_SENDPAGE)

declare -A CONFIG=([pure]=kunit/pure.kunitconfig [net]=kunit/.kunitconfig [splice]=kunit/.kunitconfig
	[bare]=kunit/.kunitconfig
	[s390]=kunit/arch.kunitconfig [i386]=kunit/arch.kunitconfig)
# Architectures of kunit.py, and the prefixes of their compilers
declare -A CROSS=([s390]=s390x-linux-gnu- [i386]='')

# put FILE: write stdin there, but do not touch the file if it would not change
put() {
	local text

	text=$(cat)
	[[ -e $1 && $(<"$1") == "$text" ]] || printf '%s\n' "$text" >"$1"
}

hook() {
	grep -qxF "$2" "$1" || printf '%s\n' "$2" >>"$1"
}

# put_makefiles DIR [NAME]: write the Makefiles in DIR, for the test kernel NAME. A kernel with
# CONFIG_IW_MPA has all of iw_mpa, and those objects of srnic that need little or nothing of the
# RDMA core. Any other kernel links only the protocol layers, L0 of iw_mpa and R0 of srnic, whose
# objects the modules' own Kbuild and Makefile name. For user mode Linux they are compiled with
# --coverage, which counts what code runs; with -Og, since the branches that are counted are then
# those of the source; and with builtins for byte order, as on real machines. For other
# architectures the rest of iw_mpa is only compiled, to check its static assertions, and that it
# builds without IPv6.
put_makefiles() {
	put "$1/Kconfig" <<-'EOF'
		source "drivers/iw_mpa/kunit/Kconfig"
	EOF
	put "$1/Makefile" <<-EOF
		subdir-ccflags-y := -Werror -I\$(srctree)/drivers/iw_mpa/include
		ifdef CONFIG_IW_MPA
		obj-y += $LIB/
		include \$(srctree)/drivers/iw_mpa/$SRNIC/Kbuild
		obj-y += \$(addprefix $SRNIC/,\$(srnic-r0) \$(srnic-r1) \$(srnic-r2) \$(srnic-r3) \$(srnic-leaves))
		obj-y += \$(addprefix $SRNIC/,$VERBS)
		CFLAGS_$SRNIC/trace.o += -I\$(srctree)/drivers/iw_mpa/$SRNIC
		CFLAGS_$SRNIC/tx.o += \$(foreach name,$FAKED_TX,-D\$(name)=pair_\$(name)) ${PUSH[${2:-net}]:-}
		CFLAGS_$SRNIC/qp.o += \$(foreach name,$FAKED_QP,-D\$(name)=pair_\$(name))
		CFLAGS_$SRNIC/fpdu.o += \$(foreach name,$FAKED_FRAG,-D\$(name)=pair_\$(name))
		else
		include \$(srctree)/drivers/iw_mpa/$LIB/Kbuild
		include \$(srctree)/drivers/iw_mpa/$SRNIC/Kbuild
		obj-y := \$(addprefix $LIB/,\$(iw_mpa-l0-sctp))
		ifeq (\$(SRCARCH),um)
		ccflags-y := --coverage -Og \$(addprefix -D__HAVE_BUILTIN_BSWAP,16__ 32__ 64__)
		endif
		obj-y += \$(addprefix $LIB/,\$(iw_mpa-l0))
		obj-y += \$(addprefix $SRNIC/,\$(srnic-r0))
		ifneq (\$(SRCARCH),um)
		extra-y += \$(addprefix $LIB/,\$(filter-out \$(iw_mpa-l0) trace.o,\$(iw_mpa-y)) \
			takeover/path.o takeover/tcb.o)
		endif
		endif
		obj-y += kunit/
	EOF
}

# stage LINUX: rsync compares contents, and sets new times, so make rebuilds exactly the files that changed.
stage() {
	local linux=$1 ours=$1/drivers/iw_mpa

	mkdir -p "$ours"/{"$LIB","$SRNIC","$COMPAT","$SKELETON","$CXGB4",include,kunit}
	rsync -rc --delete "$TOP/$LIB/" "$ours/$LIB/"
	rsync -rc --delete "$TOP/$SRNIC/" "$ours/$SRNIC/"
	rsync -rc --delete "$TOP/$COMPAT/" "$ours/$COMPAT/"
	rsync -rc --delete "$TOP/$SKELETON/" "$ours/$SKELETON/"
	rsync -rc --delete "$TOP/$CXGB4/" "$ours/$CXGB4/"
	rsync -rc --delete "$TOP/include/" "$ours/include/"
	rsync -rc --delete "$TOP/kunit/" "$ours/kunit/"
	put_makefiles "$ours"
	hook "$linux/drivers/Makefile" "obj-\$(CONFIG_IW_MPA_KUNIT_TEST) += iw_mpa/"
	hook "$linux/drivers/Kconfig" 'source "drivers/iw_mpa/Kconfig"'
}

# variable NAME: print a list of a Kbuild or of kunit/Makefile, as make evaluates it
variable() {
	make -s --no-print-directory -f - print <<-EOF
		srctree := $TOP
		src := kunit
		include $TOP/$LIB/Kbuild $TOP/$SRNIC/Kbuild $TOP/kunit/Makefile
		print: ; @echo \$($1)
	EOF
}

# Print the suites of kernel $1: see kunit/Makefile.
suites() {
	local object part parts=(l0)

	case $1 in
	net | splice) parts+=(net takeover) ;;
	bare) parts+=(net) ;;
	esac
	for part in "${parts[@]}"; do
		for object in $(variable "iw_mpa-kunit-$part"); do
			[[ $object != *_kunit.o ]] || echo "${object%_kunit.o}"
		done
	done
}

# arch NAME: set ARCH, the options of kunit.py for an architecture. User mode Linux can travel in time: while it is idle
# it sets its clock to the next timer, so no test waits in real time. NOHIGHMEM is an option only of x86: without it
# kconfig would choose high memory, which srnic does not support.
arch() {
	ARCH=(--kconfig_add=CONFIG_UML_TIME_TRAVEL_SUPPORT=y)
	[[ -z ${CROSS[$1]+set} ]] || ARCH=("--arch=$1" "--cross_compile=${CROSS[$1]}")
	[[ $1 != bare ]] || ARCH+=(--kconfig_add=CONFIG_IW_MPA_TAKEOVER=n)
	[[ $1 != i386 ]] || ARCH+=(--kconfig_add=CONFIG_NOHIGHMEM=y)
}

build_kernel() {
	local -a ARCH

	arch "$3"
	cd "$1" && nice tools/testing/kunit/kunit.py build --build_dir="$2" "${ARCH[@]}" \
		--kunitconfig="$TOP/${CONFIG[$3]}" --jobs "$(nproc)"
}

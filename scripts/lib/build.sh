#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Build the modules outside the tree:
#
#   scripts/lib/build.sh [MAKE-VARIABLE=VALUE...]       all modules; a variable is e.g. W=1 or CF=-D__CHECK_ENDIAN__
#   scripts/lib/build.sh --stock                        unmodified siw alone
#   scripts/lib/build.sh modules                        the modules for users: iw_mpa and srnic, and those that
#                                                   the environment asks for: IW_MPA_SIW=y, IW_MPA_SKELETON=y
#   scripts/lib/build.sh install                        build these, and install them in /lib/modules/$KREL/updates
#   scripts/lib/build.sh install-dev                    install headers and symbols for drivers of other sources
#   scripts/lib/build.sh --siw FILE.ko NAME=VALUE...    siw with other values of these constants
#
# For the kernel that KERNEL or KREL names, see kernel.sh:
#   $BUILD/src         a copy of this tree's sources, with siw's; here iw_mpa.ko and siw_mpa.ko are made
#   $BUILD/siw-stock   siw.ko of the kernel's own sources, the peer in the end-to-end tests
#   $BUILD/fault_point module for scripts/wire/faults.py, if the kernel can let allocations fail
#   $BUILD/mistake     module for scripts/lib/guest/detectors.sh, if the kernel has detectors
#   $BUILD/net_refs    module for scripts/wire/storms.py, if the kernel tracks references
#   $BUILD/slow_point  module for scripts/wire/hazards.py
#   $BUILD/kverbs      module for scripts/wire/data_kernel.py: a ULP in the kernel
#
# CONFIG_IW_MPA_TAKEOVER=n, also in the environment, leaves out of iw_mpa the code for devices with a TCP engine.
#
# BUILD is $CACHE/build/$KREL, or IW_MPA_BUILD if that is set. Objects are kept: a second run compiles only what has
# changed, and does not even run make if the sources and the modules are the same as after the first.

# shellcheck source=scripts/lib/lib.sh
. "$(dirname "$0")/lib.sh"

need_krel
BUILD=${IW_MPA_BUILD:-$CACHE/build/$KREL}
SRC=$BUILD/src
STOCK=$BUILD/siw-stock

# rsync compares contents, not times, and does not copy times: so make rebuilds exactly what differs, even after a
# checkout of older files. --delete removes files that this tree no longer has; the filters protect files made by a
# build or by stage-siw.sh.
copy_tree() {
	mkdir -p "$SRC"
	rsync -rc --delete --delete-excluded \
		--filter='P *.o' --filter='P *.ko' --filter='P *.mod' --filter='P *.mod.c' \
		--filter='P .*' --filter='P modules.order' --filter='P Module.symvers' \
		--filter='P /drivers/infiniband/sw/siw_mpa/siw/' \
		--filter='P /drivers/infiniband/hw/cxgb4_mpa/cxgb4/' \
		--filter='P /drivers/infiniband/hw/cxgb4_mpa/chelsio/' \
		--filter='- *.o' --filter='- *.ko' --filter='- *.mod' --filter='- *.mod.c' \
		--filter='- .*' --filter='- modules.order' --filter='- Module.symvers' \
		"$TOP/include" "$TOP/drivers" "$TOP/Kbuild" "$SRC/"
}

# iw_cxgb4 needs the headers of the network driver of the same card.
stage_cxgb4() {
	local folder

	"$TOP/scripts/lib/stage-siw.sh" --driver hw/cxgb4 \
		--edits "$TOP/drivers/infiniband/hw/cxgb4_mpa/edits" "$1/cxgb4" Makefile Kconfig
	for folder in cxgb4 libcxgb; do
		"$TOP/scripts/lib/stage-siw.sh" --headers "drivers/net/ethernet/chelsio/$folder" \
			"$1/chelsio/$folder"
	done
}

build_ours() {
	copy_tree
	if [[ -d $TOP/drivers/infiniband/sw/siw_mpa && " $* " != *' IW_MPA_SIW=n '* ]]; then
		"$TOP/scripts/lib/stage-siw.sh" "$SRC/drivers/infiniband/sw/siw_mpa/siw" \
			siw_cm.c siw_cm.h Makefile Kconfig
	fi
	if [[ " $* " == *' IW_MPA_CXGB4=y '* ]]; then
		stage_cxgb4 "$SRC/drivers/infiniband/hw/cxgb4_mpa"
	fi
	kernel_make M="$SRC" "$@" modules
}

# Build unmodified siw, with a symbol table (Module.symvers) of its own. The MAKE-VARIABLEs of
# build.sh are not used, since warnings about siw are of no use here.
build_stock() {
	"$TOP/scripts/lib/stage-siw.sh" "$STOCK"
	kernel_make M="$STOCK" CONFIG_RDMA_SIW=m modules
}

# build_test_module NAME: build a module of the wire tests
build_test_module() {
	mkdir -p "$BUILD/$1"
	rsync -rc "$TOP/scripts/wire/$1/" "$BUILD/$1/"
	kernel_make M="$BUILD/$1" modules
}

# fault_point needs a kernel that can let allocations fail.
build_test_modules() {
	build_test_module slow_point
	build_test_module kverbs
	! grep -q '^CONFIG_FAILSLAB=y' "$KDIR/.config" || build_test_module fault_point
	! grep -q '^CONFIG_NET_NS_REFCNT_TRACKER=y' "$KDIR/.config" || build_test_module net_refs
	! kernel_debugs "$KERNEL" || build_test_module mistake
}

# build_siw_with FILE NAME=VALUE...: siw's settings are constants in its sources; build siw with
# other values of them as the module FILE, a peer for tests. All variants are built in one folder,
# so that only the files with the constants are compiled again.
build_siw_with() {
	local file=$1 dir=$CACHE/siw-with/$KREL constant

	shift
	mkdir -p "${file%/*}"
	"$TOP/scripts/lib/stage-siw.sh" "$dir"
	for constant in "$@"; do
		set_constant "$dir" "${constant%%=*}" "${constant#*=}"
	done
	kernel_make M="$dir" CONFIG_RDMA_SIW=m modules
	cp "$dir/siw.ko" "$file.tmp"
	mv "$file.tmp" "$file"
}

# set_constant FOLDER NAME VALUE: give the constant NAME of siw's sources in FOLDER this VALUE. NAME is a variable of a .c
# file or a macro of a header. Fail unless exactly one line defines it: the sources have then changed.
set_constant() {
	local dir=$1 name=$2 value=$3 variable macro define files

	variable="((static |const )*(bool|u_char|__be16) $name)( = [^;]*)?;"
	macro="(#define $name )([0-9]+)$"
	define="^($variable|$macro)"
	files=$(grep -El "$define" "$dir"/*.[ch]) || die "siw has no constant $name"
	[[ $(cat "$dir"/*.[ch] | grep -Ec "$define") -eq 1 ]] || die "siw has $name more than once"
	sed -Ei "s/^$variable/\1 = $value;/; s/^$macro/\1$value/" "$files"
}

# Print a checksum of the sources and of the modules
state() {
	local made_of=(include drivers Kbuild scripts/lib/{build,stage-siw}.sh scripts/lib/stage-edit.py
		scripts/wire/{slow_point,kverbs,fault_point,mistake,net_refs})

	{
		kernel_version
		source_version
		# The Kbuild of iw_mpa takes this from the environment, and has y without it.
		echo "takeover: ${CONFIG_IW_MPA_TAKEOVER-y}"
		cat "$KDIR/.config" "$KDIR/Module.symvers"
		(cd "$TOP" && find "${made_of[@]}" -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum)
		find "$BUILD" -name '*.ko' -print0 | LC_ALL=C sort -z | xargs -0r sha256sum
	} | sha256sum
}

# build_all --stock|'' MAKE-VARIABLE...: build unmodified siw, modules for tests and, without
# --stock, the modules of this tree, unless all of them are up to date. If there are variables make
# always runs, since a variable may change make's messages or the objects.
build_all() {
	local stock=$1 made=$BUILD/made

	shift
	[[ $# -gt 0 || $(cat "$made" 2>/dev/null) != "$(state)" ]] || return 0
	build_stock
	build_test_modules
	[[ -z $stock ]] || return 0
	build_ours "$@"
	[[ $# -gt 0 ]] || state >"$made"
}

# build_for_users MAKE-VARIABLE...: build without the modules that only tests need. siw_mpa is built only on request,
# since siw's sources may be missing. A module that is no longer requested disappears from modules.order.
build_for_users() {
	local name

	for name in IW_MPA_{SKELETON,CXGB4}; do
		set -- "$@" "$name=${!name:-n}"
	done
	build_ours "$@" "IW_MPA_SIW=${IW_MPA_SIW:-n}"
}

# need_place FOLDER...: check that these folders are writable, and have space
need_place() {
	local dir

	for dir in "$@"; do
		if ! mkdir -p "$dir" 2>/dev/null || [[ ! -w $dir ]]; then
			die "no permission to write into $dir: as root, please"
		fi
		need_space 50 "$dir"
	done
}

# Install the files of the package iw-mpa-dev, and what driver.mk would otherwise take from DKMS:
# iw_mpa's headers, and the list of symbols that iw_mpa exports (Module.symvers)
install_dev() {
	local usr=${INSTALL_MOD_PATH:-}/usr/local share=${INSTALL_MOD_PATH:-}/usr/local/share/iw-mpa tree=$BUILD/dev
	local compat=drivers/infiniband/sw/compat

	"$TOP/scripts/lib/deb.sh" --tree "$tree"
	rm -rf "$share"/{include,drivers,judge,skeleton}
	mkdir -p "$share/${compat%/*}"
	cp -r "$tree"/{include,judge,skeleton} "$share"
	cp -r "$tree/$compat" "$share/$compat"
	install -m 644 -t "$share" "$tree"/{dev/driver.mk,skeleton.sh}
	install -D -m 644 "$SRC/Module.symvers" "$share/symvers/$KREL"
	install -D -m 755 -t "$usr/bin" "$tree"/dev/iw-mpa-{judge,new-driver}
	install -D -m 644 -t "$usr/share/man/man1" "$tree"/dev/iw-mpa-{judge,new-driver}.1
	say "installed iw-mpa-new-driver and iw-mpa-judge in $usr/bin, headers and driver.mk in $share"
}

# Install the modules, below INSTALL_MOD_PATH in place of / if it is set, as the kernel's own
# Makefile does. Since Linux 6.12 modules.order lists the modules as objects (.o).
install_ours() {
	local dest=${INSTALL_MOD_PATH:-}/lib/modules/$KREL/updates
	local sbin=${INSTALL_MOD_PATH:-}/usr/local/sbin modules stale

	need_place "$dest" "$sbin"
	install -m 755 "$TOP/scripts/iw-mpa" "$sbin"
	mapfile -t modules < <(sed 's/\.o$/.ko/' "$SRC/modules.order")
	# Remove all modules and symbols of an earlier installation: those that are not installed
	# again do not fit the new iw_mpa.
	stale=("${ALL_MODULES[@]/#/$dest/}")
	rm -f "${stale[@]/%/.ko}" "${INSTALL_MOD_PATH:-}/usr/local/share/iw-mpa/symvers/$KREL"
	install -m 644 -t "$dest" "${modules[@]}"
	depmod -b "${INSTALL_MOD_PATH:-/}" "$KREL"
	say "installed ${modules[*]##*/} in $dest, iw-mpa in $sbin"
}

main() {
	local verb='' stock=''

	case ${1:-} in
	--siw)
		shift
		locked siw-with build_siw_with "$@"
		return
		;;
	--stock | modules | install | install-dev)
		verb=$1
		shift
		;;
	esac
	need_space 300
	[[ $verb != install* ]] || need_place "${INSTALL_MOD_PATH:-}"/{lib/modules/"$KREL"/updates,usr/local/sbin}
	[[ $verb != install-dev ]] || need_place "${INSTALL_MOD_PATH:-}"/usr/local/{bin,share/iw-mpa,share/man/man1}
	say "building modules for $KREL"
	mkdir -p "$BUILD"
	[[ $verb != --stock ]] || stock=--stock
	case $verb in
	modules | install*) build_locked build_for_users "$@" ;;
	*) build_locked build_all "$stock" "$@" ;;
	esac
	[[ $verb != install* ]] || install_ours
	[[ $verb != install-dev ]] || install_dev
	say "built: $(find "$BUILD" -name '*.ko' -printf '%f ')in $BUILD"
}

main "$@"

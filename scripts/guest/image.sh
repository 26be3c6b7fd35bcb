#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Make what a guest boots from, in $CACHE/guest/VERSION, and print that folder:
#
#   scripts/guest/image.sh [NAME]      of the kernel NAME, see kernel.sh; $KERNEL by default
#
#   vmlinuz               the kernel
#   lib/modules/KREL      its modules, with dependency lists
#   initrd                busybox and the few modules that reach the host's root over 9p, or a disk
#
# A kernel package is fetched and unpacked, not installed.

# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

HERE=$TOP/scripts/guest
ROOT_MODULES="virtio_pci 9pnet_virtio 9p overlay"
DISK_MODULES="virtio_blk ext4"	# the kernels with detectors have none

# Everything happens in a folder of its own that is renamed when complete.
unpack_kernel() {
	local dir=$1 tmp

	tmp=$(mktemp -d "$dir.XXXXXX")
	cd "$tmp" || return
	kernel_files
	chmod 755 .
	mv -T "$tmp" "$dir"
}

# modules_for DIR MODULE...: in the order in which they have to be loaded
modules_for() {
	local dir=$1 module

	shift
	for module in "$@"; do
		modprobe -d "$dir" -S "$KREL" --show-depends "$module"
	done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }'
}

# put_modules DIR ORDER: those that stdin names and DIR lacks, and how to load them into ORDER
put_modules() {
	local module name

	: >"$2"
	while read -r module; do
		name=$(basename "$module" .xz)
		[[ ! -e $1/$name ]] || continue
		cp "$module" "$1/"
		[[ $module != *.xz ]] || xz -d "$1/$name.xz"
		echo "$name" >>"$2"
	done
}

make_initrd() {
	local dir=$1 tmp

	tmp=$(mktemp -d "$dir/initrd.XXXXXX")
	mkdir -p "$tmp"/{bin,dev,proc,modules,lower,upper,root}
	cp /bin/busybox "$tmp/bin/"
	install -m 755 "$HERE/init" "$tmp/init"
	# shellcheck disable=SC2086 # lists of words are what they are
	modules_for "$dir" $ROOT_MODULES | put_modules "$tmp/modules" "$tmp/modules/order"
	# shellcheck disable=SC2086
	{ modules_for "$dir" $DISK_MODULES 2>/dev/null || true; } |
		put_modules "$tmp/modules" "$tmp/modules/order-disk"
	(cd "$tmp" && find . | cpio -o -H newc --quiet | gzip -1) >"$tmp.gz"
	mv "$tmp.gz" "$dir/initrd"
	rm -rf "$tmp"
}

make_image() {
	local dir=$1

	[[ -d $dir ]] || quietly "taking kernel $KREL" unpack_kernel "$dir"
	if [[ ! -e $dir/initrd || $HERE/init -nt $dir/initrd || $HERE/image.sh -nt $dir/initrd ]]
	then
		make_initrd "$dir"
	fi
}

main() {
	local version dir

	need_kernel "${1:-$KERNEL}"
	version=$(kernel_version)
	dir=$CACHE/guest/$KREL-$version
	mkdir -p "$CACHE/guest"
	locked guest-image make_image "$dir"
	echo "$dir"
}

main "$@"

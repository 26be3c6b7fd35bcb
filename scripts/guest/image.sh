#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Make what a guest boots from, in $CACHE/guest/VERSION, and print that folder:
#
#   scripts/guest/image.sh [NAME]      of the kernel NAME, see kernel.sh; $KERNEL by default
#
#   vmlinuz               the kernel
#   lib/modules/KREL      its modules, with dependency lists
#   initrd                busybox and the few modules that reach the host's root over 9p
#
# A kernel package is fetched and unpacked, not installed.

# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

HERE=$TOP/scripts/guest
ROOT_MODULES="virtio_pci 9pnet_virtio 9p overlay"

# Everything happens in a folder of its own that is renamed when complete.
unpack_kernel() {
	local dir=$1 tmp

	tmp=$(mktemp -d "$dir.XXXXXX")
	cd "$tmp" || return
	kernel_files
	chmod 755 .
	mv -T "$tmp" "$dir"
}

# The modules of the root file system in the order in which they have to be loaded.
root_modules() {
	local dir=$1 module

	for module in $ROOT_MODULES; do
		modprobe -d "$dir" -S "$KREL" --show-depends "$module"
	done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }'
}

make_initrd() {
	local dir=$1 tmp module

	tmp=$(mktemp -d "$dir/initrd.XXXXXX")
	mkdir -p "$tmp"/{bin,dev,proc,modules,lower,upper,root}
	cp /bin/busybox "$tmp/bin/"
	install -m 755 "$HERE/init" "$tmp/init"
	: >"$tmp/modules/order"
	root_modules "$dir" | while read -r module; do
		cp "$module" "$tmp/modules/"
		[[ $module != *.xz ]] || xz -d "$tmp/modules/${module##*/}"
		module=${module%.xz}
		echo "${module##*/}" >>"$tmp/modules/order"
	done
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

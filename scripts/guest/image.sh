#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Make what a guest boots from, in $CACHE/guest/VERSION, and print that folder:
#
#   vmlinuz               Debian's stock kernel, of the version of the headers
#   lib/modules/KREL      its modules, with dependency lists
#   initrd                busybox and the few modules that reach the host's root over 9p
#
# The kernel package is fetched and unpacked, not installed.

# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

HERE=$TOP/scripts/guest
ROOT_MODULES="virtio_pci 9pnet_virtio 9p overlay"

# The package list may be older than the archive: refresh it only when the fetch fails.
fetch() {
	apt-get -q download "linux-image-$KREL=$1" ||
		{ apt-get -q update && apt-get -q download "linux-image-$KREL=$1"; }
}

# Everything happens in a folder of its own that is renamed when complete.
unpack_kernel() {
	local dir=$1 version=$2 tmp

	tmp=$(mktemp -d "$dir.XXXXXX")
	cd "$tmp" || return
	fetch "$version"
	dpkg-deb --fsys-tarfile linux-image-*.deb | tar -x "./boot/vmlinuz-$KREL" ./lib/modules
	rm linux-image-*.deb
	mv "boot/vmlinuz-$KREL" vmlinuz
	rmdir boot
	depmod -b . "$KREL"
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
	root_modules "$dir" | while read -r module; do
		cp "$module" "$tmp/modules/"
		echo "${module##*/}" >>"$tmp/modules/order"
	done
	(cd "$tmp" && find . | cpio -o -H newc --quiet | gzip -1) >"$tmp.gz"
	mv "$tmp.gz" "$dir/initrd"
	rm -rf "$tmp"
}

make_image() {
	local dir=$1 version=$2

	[[ -d $dir ]] ||
		quietly "fetching linux-image-$KREL $version" unpack_kernel "$dir" "$version"
	if [[ ! -e $dir/initrd || $HERE/init -nt $dir/initrd || $HERE/image.sh -nt $dir/initrd ]]
	then
		make_initrd "$dir"
	fi
}

main() {
	local version dir

	need_krel
	version=$(kernel_version)
	dir=$CACHE/guest/$KREL-$version
	mkdir -p "$CACHE/guest"
	locked guest-image make_image "$dir" "$version"
	echo "$dir"
}

main "$@"

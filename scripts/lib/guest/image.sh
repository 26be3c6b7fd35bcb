#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Make what a guest boots from, in $CACHE/guest/VERSION, and print that folder:
#
#   scripts/lib/guest/image.sh [NAME]      of the kernel NAME, see kernel.sh; $KERNEL by default
#
# The folder has:
#   vmlinuz               the kernel
#   boot                  the file that QEMU boots: the unpacked kernel, or vmlinuz if it cannot be unpacked.
#                         Under emulation a kernel needs some seconds to unpack itself
#   lib/modules/KREL      its modules, with dependency lists
#   initrd                busybox and the few modules that are needed to mount the host's root, or a disk
#   share                 how these are mounted: by 9p, or, if the kernel does not have it, by virtiofs
#
# A kernel package is fetched and unpacked, not installed.

# shellcheck source=scripts/lib/lib.sh
. "$(dirname "$0")/../lib.sh"

HERE=$TOP/scripts/lib/guest
ROOT_MODULES="virtio_pci overlay"
SHARE_MODULES="9pnet_virtio 9p"
DISK_MODULES="virtio_blk ext4"	# the kernels with detectors lack these

# Work in a temporary folder, which gets its name when it is complete.
unpack_kernel() {
	local dir=$1 tmp

	tmp=$(mktemp -d "$dir.XXXXXX")
	cd "$tmp" || return
	kernel_files
	chmod 755 .
	mv -T "$tmp" "$dir"
}

# number FILE OFFSET BYTES
number() { od -An "-tu$3" -j "$2" -N "$3" "$1" | tr -d ' '; }

# payload FILE COMMAND...: run COMMAND with the packed kernel in FILE, a bzImage, on stdin. The
# kernel's Documentation/arch/x86/boot.rst has the offsets of the header's fields. The last four
# bytes of the payload, the length of the unpacked kernel, are left out.
payload() {
	local skip count

	skip=$((($(number "$1" 0x1f1 1) + 1) * 512 + $(number "$1" 0x248 4)))
	count=$(($(number "$1" 0x24c 4) - 4))
	dd "if=$1" bs=1M iflag=skip_bytes,count_bytes "skip=$skip" "count=$count" status=none | "${@:2}"
}

# Use the unpacked kernel only if it has a note of type 18, as kernels with CONFIG_PVH do: QEMU
# enters an ELF file at the address in that note.
make_boot() {
	local dir=$1 unpack tmp=$1/boot.tmp

	[[ $(arch_of "$KERNEL") == amd64 ]] || { ln -s vmlinuz "$dir/boot" && return; }
	case $(payload "$dir/vmlinuz" od -An -tx1 -N 4 | tr -d ' ') in
	fd377a58) unpack=xz ;;
	28b52ffd) unpack=zstd ;;
	*) unpack=false ;;
	esac
	if payload "$dir/vmlinuz" "$unpack" -dc >"$tmp" &&
		[[ $(readelf -nW "$tmp" 2>/dev/null) == *'(0x00000012)'* ]]; then
		mv "$tmp" "$dir/boot"
	else
		rm "$tmp"
		ln -s vmlinuz "$dir/boot"
	fi
}

# modules_for DIR MODULE...: print the files in the order in which they have to be loaded
modules_for() {
	local dir=$1 module

	shift
	for module in "$@"; do
		modprobe -d "$dir" -S "$KREL" --show-depends "$module"
	done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }'
}

# put_modules DIR ORDER: copy the modules on stdin that DIR lacks, and write their names into ORDER
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
	local dir=$1 tmp share=9p

	# Kernels for clouds have no 9p, but virtiofs built in.
	modules_for "$dir" 9p >/dev/null 2>&1 || share=virtiofs
	tmp=$(mktemp -d "$dir/initrd.XXXXXX")
	mkdir -p "$tmp"/{bin,dev,proc,modules,lower,upper,root}
	cp "$(programs_of "$KERNEL")/bin/busybox" "$tmp/bin/"
	install -m 755 "$HERE/init" "$tmp/init"
	# shellcheck disable=SC2046,SC2086 # lists of words are what they are
	modules_for "$dir" $ROOT_MODULES $([[ $share != 9p ]] || echo "$SHARE_MODULES") |
		put_modules "$tmp/modules" "$tmp/modules/order"
	# shellcheck disable=SC2086
	{ modules_for "$dir" $DISK_MODULES 2>/dev/null || true; } |
		put_modules "$tmp/modules" "$tmp/modules/order-disk"
	(cd "$tmp" && find . | cpio -o -H newc --quiet | gzip -1) >"$tmp.gz"
	echo "$share" >"$dir/share"
	mv "$tmp.gz" "$dir/initrd"
	rm -rf "$tmp"
}

make_image() {
	local dir=$1

	[[ -d $dir ]] || quietly "taking kernel $KREL" unpack_kernel "$dir"
	[[ -e $dir/boot ]] || make_boot "$dir"
	if [[ ! -e $dir/share || $HERE/init -nt $dir/initrd || $HERE/image.sh -nt $dir/initrd ]]
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

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Install the Debian packages that a job needs, and nothing when they are all there.
#
#   scripts/setup.sh [build] [static] [kunit] [guest] [fuzz] [dkms] [6.12]     (no argument: all)
#
# 6.12 is what that kernel needs beside the rest; it is included where KERNEL says 6.12.
#
# The guests also run programs whose packages would start services on the host, now and after each
# boot. They are unpacked in $CACHE/tools, not installed; only their libraries are.

# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

declare -A GROUP=(
	[build]="make gcc libc6-dev linux-headers-amd64 linux-source-6.1 rsync xz-utils bc
		bison flex libelf-dev libssl-dev"
	[static]="make gcc libc6-dev linux-headers-amd64 linux-source-6.1 rsync xz-utils sparse kmod
		python3 python3-docutils python3-pygments perl shellcheck git"
	[kunit]="make gcc libc6-dev linux-source-6.1 rsync xz-utils bc bison flex libelf-dev
		python3"
	[guest]="qemu-system-x86 busybox-static cpio gzip kmod rdmacm-utils ibverbs-utils
		ibverbs-providers rdma-core librdmacm-dev libibverbs-dev gcc libc6-dev perftest
		qperf tshark iproute2 iputils-ping ethtool procps python3 libtirpc3 libwrap0 libnsl2
		libnvme1 libjson-c5 fio libfabric-bin openmpi-bin python3-mpi4py
		libopeniscsiusr libisns0"
	[fuzz]="clang libclang-rt-14-dev llvm libc6-dev"
	[dkms]="dkms openssl kmod util-linux"
	[6.12]="pahole xz-utils kmod"
)
TOOLS="nfs-common nfs-kernel-server nvme-cli open-iscsi"

# The packages among the arguments that are not installed.
missing_of() {
	local pkg

	for pkg in "$@"; do
		[[ $(dpkg-query -W -f '${db:Status-Status}' "$pkg" 2>/dev/null) == installed ]] ||
			echo "$pkg"
	done
}

apt() {
	DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=600 \
		-o APT::Install-Recommends=false "$@"
}

has_candidates() {
	local pkg

	for pkg in "$@"; do
		apt-cache show --no-all-versions "$pkg" >/dev/null 2>&1 || return 1
	done
}

# A package list may be absent or too old for what the mirror holds: refresh it only then.
fetch_and_install() {
	if has_candidates "$@" && apt install "$@"; then
		return 0
	fi
	apt update
	apt install "$@"
}

install_missing() {
	local -a missing

	mapfile -t missing < <(missing_of "$@" | sort -u)
	[[ ${#missing[@]} -gt 0 ]] || return 0
	[[ $(id -u) -eq 0 ]] ||
		die "as root, please: apt-get install --no-install-recommends ${missing[*]}"
	quietly "installing ${#missing[@]} Debian packages: ${missing[*]}" \
		fetch_and_install "${missing[@]}"
}

# The release and the version that the archive has to offer, as far as apt knows.
newest_kernel() {
	apt-cache show --no-all-versions "linux-headers-$1-amd64" 2>/dev/null |
		sed -nE 's/^Depends: linux-headers-([^ ]+) \(= ([^)]+)\).*/\1 \2/p'
}

# The headers find each other by relative links, but for one absolute path. Installing them would
# install the kernel, too, and have the host boot it.
unpack_kernel() {
	local dir=$1 name=$2 krel=$3 version=$4 tmp package

	tmp=$(mktemp -d "$dir.XXXXXX")
	cd "$tmp" || return
	download "linux-headers-$krel=$version" "linux-headers-${krel%-amd64}-common=$version" \
		"linux-kbuild-${krel%-amd64}=$version" "linux-source-$name=$version"
	for package in *.deb; do
		dpkg-deb -x "$package" .
		rm "$package"
	done
	ln -s "usr/src/linux-headers-$krel" build
	sed -i "s|/usr/src/|$dir&|" build/Makefile
	echo "$version" >version
	chmod 755 .
	mv -T "$tmp" "$dir"
}

# A host that has the headers installed needs no others.
fetch_kernel() {
	local name=$1 krel version

	[[ ! -e /lib/modules/$(find_krel "$name")/build ]] || return 0
	[[ -n $(newest_kernel "$name") ]] || quietly 'apt-get update' apt-get -q update
	read -r krel version < <(newest_kernel "$name") || die "apt knows no kernel $name"
	[[ ! -d $CACHE/debian/$krel ]] || return 0
	mkdir -p "$CACHE/debian"
	quietly "fetching headers and sources of kernel $krel $version" \
		unpack_kernel "$CACHE/debian/$krel" "$name" "$krel" "$version"
}

unpack_tools() {
	local dir=$1 tmp package

	tmp=$(mktemp -d "$dir.XXXXXX")
	cd "$tmp" || return
	# shellcheck disable=SC2086 # a list of words is what it is
	download $TOOLS
	for package in *.deb; do
		dpkg-deb -x "$package" .
		rm "$package"
	done
	echo "$TOOLS" >packages
	chmod 755 .
	rm -rf "$dir"
	mv -T "$tmp" "$dir"
}

fetch_tools() {
	local dir=$CACHE/tools

	[[ $(cat "$dir/packages" 2>/dev/null) != "$TOOLS" ]] || return 0
	quietly "fetching programs for the guests: $TOOLS" unpack_tools "$dir"
}

main() {
	local group
	local -a packages=()

	[[ $# -gt 0 ]] || set -- build static kunit guest fuzz dkms 6.12
	[[ $KERNEL != 6.12 || " $* " == *' 6.12 '* ]] || set -- "$@" 6.12
	for group in "$@"; do
		[[ -n ${GROUP[$group]:-} ]] || die "no such group: $group (${!GROUP[*]})"
		# shellcheck disable=SC2206 # a list of words is what it is
		packages+=(${GROUP[$group]})
	done
	locked setup install_missing "${packages[@]}"
	[[ " $* " != *' guest '* ]] || locked setup fetch_tools
	[[ " $* " != *' 6.12 '* ]] || locked setup fetch_kernel 6.12
}

main "$@"

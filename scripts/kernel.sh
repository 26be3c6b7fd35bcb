# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Kernels by name; lib.sh sources it. This is the only place that knows what a name stands for:
#
#   6.1     Debian's stock kernel, headers and sources installed as packages; the default
#   6.12    Debian's other one: setup.sh unpacks its packages in $CACHE/debian, and the host
#           stays as it is (a host that has them installed is taken as it is, too)
#   kasan, kcsan    6.1 with detectors, built by debug-kernel.sh; DEBUG chooses one, too
#
#   need_kernel NAME   sets; need_krel does it for $KERNEL:
#       KERNEL         the name
#       KREL           its release, as uname -r says it there
#       KDIR           where modules for it are built: make -C
#       KSOURCE        the package of its sources
#       KTARBALL       its sources
#   kernel_version     what all Debian packages of it agree on, e.g. 6.1.192-2
#   source_version     the same of KTARBALL; empty if it is missing
#   kernel_files       fills the current folder: vmlinuz and lib/modules/$KREL
#   kernel_debugs NAME does it have detectors?
#
# Only the plain flavour: rt and cloud kernels lack the drivers that the guests need.

# kernel_of RELEASE: whoever asks for a release need not name the kernel.
kernel_of() {
	case $1 in
	6.12.*) echo 6.12 ;;
	*) echo 6.1 ;;
	esac
}

KREL=${KREL:-}
KERNEL=${KERNEL:-${DEBUG:-$(kernel_of "$KREL")}}
export KERNEL KREL

# Call it before the first use of KREL: setup.sh may have brought the headers since.
need_krel() { need_kernel "$KERNEL"; }

need_kernel() {
	KERNEL=$1
	case $KERNEL in
	6.1 | 6.12) need_debian_kernel ;;
	kasan | kcsan) need_debug_kernel ;;
	*) die "no such kernel: $KERNEL (6.1 6.12 kasan kcsan)" ;;
	esac
}

kernel_debugs() { [[ $1 == kasan || $1 == kcsan ]]; }

# Its release changes with its configuration.
need_debug_kernel() {
	local dir

	dir=$("$TOP/scripts/debug-kernel.sh" "$KERNEL")
	KREL=$(<"$dir/release")
	KDIR=$dir/build
	KSOURCE=linux-source-6.1
	KTARBALL=/usr/src/$KSOURCE.tar.xz
}

need_debian_kernel() {
	[[ -n $KREL && $(kernel_of "$KREL") == "$KERNEL" ]] || KREL=$(find_krel "$KERNEL")
	[[ -n $KREL ]] || die "no headers for kernel $KERNEL: run KERNEL=$KERNEL scripts/setup.sh build"
	KDIR=/lib/modules/$KREL/build
	KSOURCE=linux-source-$KERNEL
	KTARBALL=/usr/src/$KSOURCE.tar.xz
	if [[ ! -e $KDIR/Makefile ]]; then
		KDIR=$CACHE/debian/$KREL/build
		KTARBALL=$CACHE/debian/$KREL$KTARBALL
	fi
	[[ -e $KDIR/Makefile ]] || die "no headers for kernel $KREL: install linux-headers-$KREL"
}

# The newest release of a series that modules can be built for; empty if there is none.
find_krel() {
	local top dir

	for top in /lib/modules "$CACHE/debian"; do
		for dir in "$top/$1".*-amd64; do
			[[ ${dir##*/} =~ ^6\.(1\.0-[0-9]+|12\.[0-9]+\+deb12)-amd64$ ]] || continue
			[[ ! -e $dir/build/Makefile ]] || echo "${dir##*/}"
		done | sort -V | tail -n 1
	done | head -n 1
}

unpacked() { [[ $KDIR == "$CACHE"/debian/* ]]; }
package_version() { dpkg-query -W -f '${Version}' "$1" 2>/dev/null || true; }

kernel_version() {
	local version

	if unpacked; then
		cat "$CACHE/debian/$KREL/version"
		return
	fi
	if kernel_debugs "$KERNEL"; then
		source_version
		return
	fi
	version=$(package_version "linux-headers-$KREL")
	[[ -n $version ]] || die "linux-headers-$KREL is not an installed Debian package"
	echo "$version"
}

source_version() {
	if unpacked; then
		kernel_version
	elif [[ -e $KTARBALL ]]; then
		package_version "$KSOURCE"
	fi
}

# download PACKAGE=VERSION...: into the current folder. The package list may be older than the
# archive: refresh it only when the fetch fails.
download() {
	apt-get -q download "$@" || { apt-get -q update && apt-get -q download "$@"; }
}

kernel_files() {
	if kernel_debugs "$KERNEL"; then
		cp -r "${KDIR%/build}"/{vmlinuz,lib} .
		return
	fi
	download "linux-image-$KREL=$(kernel_version)"
	dpkg-deb --fsys-tarfile linux-image-*.deb | tar -x "./boot/vmlinuz-$KREL" ./lib/modules
	rm linux-image-*.deb
	mv "boot/vmlinuz-$KREL" vmlinuz
	rmdir boot
	depmod -b . "$KREL"
}

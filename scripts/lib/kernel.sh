# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Kernels by name; lib.sh sources this file. A name is one of these:
#   a name of scripts/kernels   Debian's stock kernel: its headers and sources are those that are installed, or
#                               those that setup.sh unpacks in $CACHE/debian without changing the host
#   kasan, kcsan                6.1 with detectors, built by debug-kernel.sh; also chosen by DEBUG=kasan, DEBUG=kcsan
#   other                       only if ANY_KERNEL is set, which build-only users do: the kernel that KREL names,
#                               by default the one that runs
#
# With NO_KERNEL no kernel is chosen, and none refused: for what needs no kernel.
#
#   need_kernel NAME   set the variables below; need_krel does that for $KERNEL:
#       KERNEL         the name
#       KREL           its release, as uname -r prints it
#       KDIR           the folder to build modules for it in: with kernel_make
#       KROOT          the folder with the release of Debian whose compiler builds them, see root.sh;
#                      empty: the host's compiler does
#       KSOURCE        the package with its sources
#       KTARBALL       the tarball of its sources
#   kernel_run         run a command where that compiler is
#   kernel_make        run make for that kernel
#   build_locked       run a command while no other builds in the folder of build.sh
#   kernel_version     print the version that all of its Debian packages have, e.g. 6.1.192-2
#   source_version     print the version of KTARBALL; nothing if there is no such file
#   kernel_files       copy vmlinuz and lib/modules/$KREL to the current folder
#   kernel_debugs NAME succeed if the kernel has detectors
#   kernel_names       print all names of scripts/kernels
#   names_for ARCH     print those for an architecture
#   stock_kernels NAME...  print those names that stand in scripts/kernels
#   kernel_row NAME    set what scripts/kernels says of it: KDEBIAN KSUITE KHEADERS KRELEASES; and KARCH,
#                      the architecture, which each release ends with
#   gnu_of ARCH        print the prefix of its compilers' names
#   arch_of NAME       print the architecture of a kernel
#   programs_of NAME   print the folder with the root that its guests have: see root.sh; empty: the host's

KTABLE=$TOP/scripts/kernels
# Processor for arm64 programs and guests. By default QEMU's processors can authenticate pointers, whose emulation makes
# a program take six times as long.
ARM64_CPU=cortex-a57

kernel_names() { awk '/^[^#]/ { print $1 }' "$KTABLE"; }

names_for() { awk -v arch="$1" '/^[^#]/ && $5 ~ "-" arch "$" { print $1 }' "$KTABLE"; }

kernel_row() {
	local name

	while read -r name KDEBIAN KSUITE KHEADERS KRELEASES; do
		KARCH=${KRELEASES##*-}
		[[ $name != "$1" ]] || return 0
	done < <(grep '^[^#]' "$KTABLE")
	return 1
}

host_arch() { dpkg --print-architecture 2>/dev/null || echo amd64; }

arch_of() { if kernel_row "$1"; then echo "$KARCH"; else host_arch; fi; }

programs_of() { [[ $(arch_of "$1") == amd64 ]] || { kernel_row "$1" && echo "$CACHE/root/$KSUITE-programs"; }; }

gnu_of() {
	case $1 in
	amd64) echo x86_64-linux-gnu ;;
	arm64) echo aarch64-linux-gnu ;;
	*) echo "$1-linux-gnu" ;;
	esac
}

stock_kernels() {
	local name

	for name in "$@"; do
		! kernel_row "$name" || echo "$name"
	done
}

# kernel_of RELEASE: print the kernel with this release, so that callers need not name the kernel.
kernel_of() {
	awk -v release="$1" '/^[^#]/ && release ~ "^" $5 "$" { print $1; exit }' "$KTABLE"
}

# Print the host's version of Debian; testing has no number.
host_debian() {
	local version

	version=$(. /etc/os-release && [[ $ID == debian ]] && echo "${VERSION_ID:-99}")
	echo "${version:-0}"
}

is_new_enough() {
	[[ $(printf '%s\n' 6.1 "$KREL" | sort -V | head -n 1) == 6.1 ]] ||
		die "kernel $KREL is not supported: it is older than 6.1"
}

# Print the kernel that is used by default: that of the host's release of Debian, or if
# scripts/kernels has none for it, that of the last release before.
default_kernel() {
	awk -v debian="$(host_debian)" '/^[^#]/ && $2 <= debian && $2 > most { most = $2; name = $1 }
		END { print name }' "$KTABLE"
}

name_kernel() {
	local name

	if [[ -z $KREL ]]; then
		name=$(default_kernel)
		[[ -n $name ]] || die 'this is not Debian 12 or later: see "Supported kernels" in README.md'
	else
		name=$(kernel_of "$KREL")
		[[ -n $name || -z ${ANY_KERNEL:-} ]] || { is_new_enough && name=other; }
		[[ -n $name ]] || die "kernel $KREL is not supported: see scripts/kernels for those that are;" \
			'DKMS builds for others from 6.1 on'
	fi
	echo "$name"
}

is_other() { [[ $1 == other && -n ${ANY_KERNEL:-} && -n $KREL ]]; }
kernel_debugs() { [[ $1 == kasan || $1 == kcsan ]]; }

# Check names of kernels before anything is installed, fetched or built. $from: the environment variable with these
# names, if there is one
check_names() {
	local name

	for name in "$@"; do
		kernel_row "$name" || kernel_debugs "$name" || is_other "$name" ||
			die "no such kernel: $name ($(kernel_names |
				paste -sd ' ') kasan kcsan)${from:+: see the variable $from}"
	done
}

# Use the kernel that the caller has chosen by KERNEL, DEBUG or KREL. For users who only build
# modules (ANY_KERNEL) the default is the running kernel, since they can load the modules into no
# other.
choose_kernel() {
	local from=KERNEL

	[[ -n $KREL || -z ${ANY_KERNEL:-} || -n ${KERNEL:-}${DEBUG:-} ]] || KREL=$(uname -r)
	# DEBUG may be meant for another program, so an error has to name DEBUG.
	[[ -n ${KERNEL:-} || -z ${DEBUG:-} ]] || from=DEBUG
	KERNEL=${KERNEL:-${DEBUG:-$(name_kernel)}}
	export KERNEL KREL
	check_names "$KERNEL"
	# shellcheck disable=SC2086 # a list of words is what it is
	from=KERNELS check_names ${KERNELS:-}
}

KREL=${KREL:-}
KERNEL=${KERNEL:-}
[[ -n ${NO_KERNEL:-} ]] || choose_kernel

# Call need_krel before the first use of KREL, the release of the kernel to build for. It looks for
# headers, which setup.sh may have installed after lib.sh was sourced.
need_krel() { need_kernel "$KERNEL"; }

need_kernel() {
	KERNEL=$1
	KROOT=
	if kernel_debugs "$KERNEL"; then
		need_debug_kernel
	elif is_other "$KERNEL"; then
		need_other_kernel
	else
		check_names "$KERNEL"
		kernel_row "$KERNEL"
		need_debian_kernel
	fi
}

# A debug kernel is built first, since its release changes with its configuration.
need_debug_kernel() {
	local dir

	dir=$("$TOP/scripts/lib/debug-kernel.sh" "$KERNEL")
	KREL=$(<"$dir/release")
	KDIR=$dir/build
	KSOURCE=linux-source-6.1
	KTARBALL=$(source_tarball 6.1)
}

need_other_kernel() {
	KDIR=/lib/modules/$KREL/build
	[[ -e $KDIR/Makefile ]] || die "$(no_headers)"
	KSOURCE=$(source_package "$KREL")
	KTARBALL=/usr/src/$KSOURCE.tar.xz
	say "kernel $KREL: not tested on this one"
}

no_headers() {
	echo "no headers for kernel $KREL: apt-get install linux-headers-$KREL," \
		'or, if the archive has them no more, upgrade the kernel and reboot;' \
		'KREL=RELEASE builds for another kernel'
}

need_debian_kernel() {
	[[ -n $KREL && $(kernel_of "$KREL") == "$KERNEL" ]] || KREL=$(find_krel "$KERNEL")
	[[ -n $KREL ]] || die "no headers for kernel $KERNEL: run KERNEL=$KERNEL scripts/lib/setup.sh build"
	KDIR=/lib/modules/$KREL/build
	KSOURCE=$(source_package "$KREL")
	KTARBALL=/usr/src/$KSOURCE.tar.xz
	if [[ ! -e $KDIR/Makefile ]]; then
		KDIR=$CACHE/debian/$KREL/build
		KTARBALL=$CACHE/debian/$KREL$KTARBALL
	fi
	[[ -e $KDIR/Makefile ]] || die "$(no_headers)"
	KROOT=$(root_of "$KERNEL")
}

# root_of NAME: print the release of Debian whose compiler builds modules for the kernel NAME;
# nothing if the host's compiler does. Set the variables that kernel_row sets.
root_of() {
	local suite

	kernel_row "$1" || return
	suite=${KSUITE%-"$KARCH"}
	[[ $KDEBIAN -le $(host_debian) ]] || echo "${suite%-backports}"
}

# source_package RELEASE: print its package of sources: linux-source-6.12 for 6.12.107+deb13-amd64
source_package() { sed -E 's/^([0-9]+\.[0-9]+).*/linux-source-\1/' <<<"$1"; }

# source_tarball NAME: print the path of the tarball with the kernel's sources; it may exist although no headers of the
# kernel do
source_tarball() {
	local krel tarball

	kernel_row "$1"
	krel=$(find_krel "$1")
	tarball=/usr/src/$(source_package "${krel:-$1}").tar.xz
	[[ -z $krel || -e /lib/modules/$krel/build/Makefile ]] || tarball=$CACHE/debian/$krel$tarball
	echo "$tarball"
}

# Print the newest release of a kernel that modules can be built for, if there is one.
find_krel() {
	local top dir newest

	for top in /lib/modules "$CACHE/debian"; do
		newest=$(for dir in "$top"/*; do
			[[ -e $dir/build/Makefile && $(kernel_of "${dir##*/}") == "$1" ]] || continue
			echo "${dir##*/}"
		done | sort -V | tail -n 1)
		[[ -z $newest ]] || { echo "$newest"; return; }
	done
}

kernel_run() {
	local -a in=()

	[[ -z $KROOT ]] || in=("$TOP/scripts/lib/root.sh" "$KROOT")
	nice "${in[@]}" "$@"
}

# For another architecture name the compiler, since headers of 6.1 do not name it.
kernel_make() {
	local arch

	arch=$(arch_of "$KERNEL")
	[[ $arch == "$(host_arch)" ]] || set -- "CROSS_COMPILE=$(gnu_of "$arch")-" "$@"
	kernel_run make -s -C "$KDIR" -j"$(nproc)" "$@"
}

# Each build folder has its own lock, so that builds in other folders need not wait.
build_locked() { locked "build-$(cksum <<<"${IW_MPA_BUILD:-$CACHE/build/$KREL}" | cut -d ' ' -f 1)" "$@"; }

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
	if [[ $KTARBALL == "$CACHE"/debian/* ]]; then
		cat "${KTARBALL%/usr/src/*}/version"
	elif [[ -e $KTARBALL ]]; then
		package_version "$KSOURCE"
	fi
}

# depends SUITE PACKAGE REGEX: print the names of PACKAGE's dependencies that match
depends() {
	archive "$1" apt-cache show --no-all-versions "$2" 2>/dev/null |
		sed -n 's/^Depends: //p' | tr -s ',|' '\n' | sed 's/^ *//; s/ .*//' |
		grep -xE "$3" | sort -u
}

# Folders of drivers for hardware that no guest has; they are most of a kernel's size
KERNEL_LEFT_OUT=(sound net/bluetooth net/mac80211 net/wireless
	drivers/{accel,ata,bluetooth,comedi,edac,gpu,hwmon,iio,input,isdn,media,mfd,mtd,pinctrl}
	drivers/{platform,power,regulator,staging,thunderbolt,usb} drivers/net/{can,ethernet,wireless})

# For newer kernels the package linux-image has no files: it depends on packages that have them, in
# folders below /usr.
kernel_files() {
	local -a packages

	if kernel_debugs "$KERNEL"; then
		cp -r "${KDIR%/build}"/{vmlinuz,lib} .
		return
	fi
	archive_refresh "$KSUITE"
	mapfile -t packages < <(depends "$KSUITE" "linux-image-$KREL" 'linux-(base|binary|modules)-[0-9].*')
	[[ ${#packages[@]} -gt 0 ]] || packages=("linux-image-$KREL")
	download "$KSUITE" "${packages[@]/%/=$(kernel_version)}" ||
		die "Debian's archive has no kernel $KREL $(kernel_version) any more:" \
			"$(kernel_is_old)"
	for packages in linux-*.deb; do
		dpkg-deb --fsys-tarfile "$packages" |
			tar -x --exclude='./usr/share' "${KERNEL_LEFT_OUT[@]/#/--exclude=*/kernel/}"
		rm "$packages"
	done
	mkdir -p boot lib
	[[ ! -d usr/lib/modules ]] || mv usr/lib/modules lib/
	[[ ! -e lib/modules/$KREL/vmlinuz ]] || mv "lib/modules/$KREL/vmlinuz" boot/
	mv boot/vmlinuz* vmlinuz
	rm -rf boot usr
	depmod -b . "$KREL"
}

kernel_is_old() {
	if unpacked; then
		echo "rm -r $CACHE/debian/$KREL, and try again"
	else
		echo "apt-get upgrade, to get newer headers"
	fi
}

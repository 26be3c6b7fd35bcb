#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Another release of Debian in a folder:
#   SUITE         with its compilers. Kernels newer than the host's release need them: the programs
#                 that come with their headers do not run with an older C library
#   SUITE-guest   for guests that systemd boots: see guest/guest.sh
#   SUITE-fresh   the same, but just as after an installation, where apt also installs recommended packages
#   SUITE-image   an image for containers that use a link
#   SUITE-host    hardly anything, to set up and test this tree in it
#   SUITE-programs   programs for guests of another architecture, as in trixie-arm64-programs; only unpacked,
#                 not configured, since none of them has to run on the host
#
#   scripts/lib/root.sh ROOT COMMAND...   run a command in that root
#   scripts/lib/root.sh --make ROOT [PACKAGE...]   make it, if it is missing, and add packages, as setup.sh does
#
# Other roots of another architecture, such as trixie-arm64-fresh, are made by an emulator: see emulate().
#
# The folder is $CACHE/root/ROOT. A command runs in a separate mount namespace. It finds this tree at the same path as
# the host, and in a root with compilers also $CACHE, the current folder and the host's kernel headers.

# shellcheck source=scripts/lib/lib.sh
. "$(dirname "$0")/lib.sh"

declare -A PACKAGES_FOR=(
	[build]="make gcc gcc-12 libc6-dev libelf-dev libssl-dev xz-utils kmod bc rsync pahole
		python3 perl bison flex"
	[guest]="systemd-sysv udev dkms make gcc gcc-12 libc6-dev kmod iproute2 python3 procps
		rdma-core rdmacm-utils ibverbs-providers ibverbs-utils man-db linux-base pahole nvme-cli"
	[fresh]="systemd-sysv iproute2"
	[image]="rdmacm-utils ibverbs-utils ibverbs-providers iproute2 python3"
	[host]="make git"
	[programs]="?essential busybox-static kmod mount netbase iproute2 iputils-ping ethtool nftables procps rdma-core
		rdmacm-utils ibverbs-utils ibverbs-providers perftest tshark nvme-cli nfs-common nfs-kernel-server"
)

kind_of() {
	case $1 in
	*-guest | *-fresh | *-image | *-host | *-programs) echo "${1##*-}" ;;
	*) echo build ;;
	esac
}

packages_for() { echo "${PACKAGES_FOR[$(kind_of "$1")]}" | tr -s ' \t\n' ' ' | sed 's/ $//'; }

make_root() {
	local suite=$1 dir=$2 packages=$3 tmp=$2.new variant=apt arch

	case $(kind_of "$dir") in
	fresh) variant=important ;;
	programs) variant=extract ;;
	esac
	arch=$(archive_arch "$suite")
	rm -rf "$tmp"
	# shellcheck disable=SC2046,SC2086 # a list of words is what it is
	archive_sources "$suite" | QEMU_CPU=$ARM64_CPU nice mmdebstrap --variant=$variant \
		$(printf -- '--include=%s ' $packages) \
		--aptopt='APT::Install-Recommends "false"' --skip=check/empty --architectures="$arch" \
		"${suite%-"$arch"}" "$tmp" -
	[[ $variant != important ]] || rm "$tmp/etc/apt/apt.conf.d/99mmdebstrap"
	[[ $variant != extract ]] || make_up "$tmp"
	echo "$packages" >"$tmp/packages"
	rm -rf "$dir"
	mv -T "$tmp" "$dir"
}

# make_up ROOT: make some files that programs need, and that are missing because the packages were not configured.
make_up() {
	cp "$1/usr/share/base-passwd/passwd.master" "$1/etc/passwd"
	cp "$1/usr/share/base-passwd/group.master" "$1/etc/group"
	ln -s mawk "$1/usr/bin/awk"
	mkdir "$1/usr/lib/modules"
}

# add_packages ROOT PACKAGES: install in ROOT those of PACKAGES that it lacks. PACKAGES names all
# packages that ROOT is to have, also those of earlier calls, and becomes ROOT's list of packages.
add_packages() {
	local root=$1 packages=$2 apt='DEBIAN_FRONTEND=noninteractive apt-get -q -y'

	"$TOP/scripts/lib/root.sh" "$root" sh -c "$apt update && $apt install --no-install-recommends $packages"
	echo "$packages" >"$CACHE/root/$root/packages"
}

# emulate ARCH: from now on the kernel runs programs of ARCH with an emulator. The kernel keeps the emulator's file
# open, so a root needs no copy of it. The configuration used here is the binfmt.d file that systemd reads at boot on a
# host with the emulator.
emulate() {
	local misc=/proc/sys/fs/binfmt_misc name

	name=qemu-$(gnu_of "$1" | cut -d - -f 1)
	[[ $1 != "$(host_arch)" && ! -e $misc/$name ]] || return 0
	KREL='' KERNEL=6.1 "$TOP/scripts/lib/setup.sh" emulator
	[[ -e $misc/register ]] || mount -t binfmt_misc binfmt_misc "$misc" || true
	[[ -e $misc/$name ]] || cat "/usr/lib/binfmt.d/$name.conf" >"$misc/register" ||
		die "programs for $1 cannot run here: the kernel has no binfmt_misc, or this is a container"
}

# make_once ROOT [PACKAGE...]: make the root if it is missing, and add packages. Packages that were added by an earlier
# call stay in the root's list.
make_once() {
	local root=$1 dir=$CACHE/root/$1 have packages package

	[[ $(kind_of "$root") == programs ]] || emulate "$(archive_arch "${root%-*}")"
	packages=$(packages_for "$root")
	have=$(cat "$dir/packages" 2>/dev/null || true)
	shift
	[[ $have != "$packages"* ]] || packages=$have
	for package in "$@"; do
		[[ " $packages " == *" $package "* ]] || packages+=" $package"
	done
	[[ $have != "$packages" ]] || return 0
	[[ $(id -u) -eq 0 ]] || die "only root can make $dir: as root, please," \
		"IW_MPA_CACHE=$CACHE scripts/lib/root.sh --make $root"
	need_space 3000
	command -v mmdebstrap >/dev/null || KREL='' KERNEL=6.1 "$TOP/scripts/lib/setup.sh" root
	mkdir -p "${dir%/*}"
	if [[ -e $dir/packages && $(kind_of "$root") != programs ]]; then
		quietly "adding packages to the root folder $root" add_packages "$root" "$packages"
		return
	fi
	HINT="is there a network, and does 'apt-get update' work?" \
		quietly "making a root folder of Debian: $root" make_root "${root%-*}" "$dir" "$packages"
}

# Print the host's folders that a root sees, if they exist.
bound() {
	local dir
	local -a want=(/proc /dev "$TOP")

	[[ $(kind_of "$1") != build ]] ||
		want+=("$CACHE" /usr/src /lib/modules /usr/lib/linux-kbuild-*)
	# The current folder, but not where the root has its own files, such as its compiler
	[[ $(kind_of "$1") != build || $PWD =~ ^/($|(bin|etc|lib[^/]*|sbin|usr|var)(/|$)) ]] || want+=("$PWD")
	for dir in "${want[@]}"; do
		[[ ! -d $dir ]] || echo "$dir"
	done
}

# enter ROOT COMMAND...: called in a separate mount namespace, so "mount" changes nothing outside.
enter() {
	local root=$1 dir

	shift
	mount --make-rprivate /
	for dir in $(bound "${root##*/}"); do
		mkdir -p "$root$dir"
		mount --rbind "$dir" "$root$dir"
	done
	# shellcheck disable=SC2016 # expands in the chroot
	exec chroot "$root" /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
		HOME=/root LC_ALL=C "QEMU_CPU=$ARM64_CPU" sh -c 'cd "$0" 2>/dev/null || cd /; exec "$@"' "$PWD" "$@"
}

main() {
	local usage='usage: root.sh ROOT COMMAND... | --make ROOT' suite=${1:-} root map=()

	if [[ $suite == --make ]]; then
		locked "root-${2:?$usage}" make_once "${@:2}"
		return
	fi
	if [[ $suite == --inside ]]; then
		shift
		enter "$@"
	fi
	[[ $# -gt 1 ]] || die "$usage"
	root=$CACHE/root/$suite
	shift
	[[ -e $root/packages ]] || die "no root folder of Debian $suite: run scripts/lib/root.sh --make $suite"
	[[ $(id -u) -eq 0 ]] || map=(--map-root-user)
	unshare "${map[@]}" -m true || die 'no permission to make a mount namespace, which a build' \
		"for this kernel needs: run it as root, or on Debian $suite"
	exec unshare "${map[@]}" -m "$0" --inside "$root" "$@"
}

main "$@"

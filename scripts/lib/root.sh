#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Another release of Debian in a folder:
#
#   SUITE         with its compilers. Kernels newer than the host's release need them: the programs
#                 that come with their headers do not run with an older C library
#   SUITE-guest   for guests that systemd boots: see guest/guest.sh
#   SUITE-fresh   what each installation has, for such guests: apt also installs there what packages recommend
#   SUITE-host    with hardly anything, to set up and test this tree there
#
#   scripts/lib/root.sh ROOT COMMAND...   run a command there
#   scripts/lib/root.sh --make ROOT       make it, if it is missing; setup.sh does
#
# It is $CACHE/root/ROOT. A command runs in a mount namespace of its own. It finds this tree in its
# place, and with compilers also $CACHE, the current folder and the host's kernel headers.

# shellcheck source=scripts/lib/lib.sh
. "$(dirname "$0")/lib.sh"

declare -A PACKAGES_FOR=(
	[build]="make gcc gcc-12 libc6-dev libelf-dev libssl-dev xz-utils kmod bc rsync pahole
		python3 perl bison flex"
	[guest]="systemd-sysv udev dkms make gcc gcc-12 libc6-dev kmod iproute2 python3 procps
		rdma-core rdmacm-utils ibverbs-providers ibverbs-utils man-db linux-base pahole"
	[fresh]="systemd-sysv iproute2"
	[host]="make git"
)

kind_of() {
	case $1 in
	*-guest | *-fresh | *-host) echo "${1##*-}" ;;
	*) echo build ;;
	esac
}

packages_for() { echo "${PACKAGES_FOR[$(kind_of "$1")]}" | tr -s ' \t\n' ' ' | sed 's/ $//'; }

make_root() {
	local suite=$1 dir=$2 packages=$3 tmp=$2.new variant=apt

	[[ $(kind_of "$dir") != fresh ]] || variant=important
	rm -rf "$tmp"
	archive_sources "$suite" | nice mmdebstrap --variant=$variant --include="${packages// /,}" \
		--aptopt='APT::Install-Recommends "false"' --skip=check/empty \
		"$suite" "$tmp" -
	[[ $variant == apt ]] || rm "$tmp/etc/apt/apt.conf.d/99mmdebstrap"
	echo "$packages" >"$tmp/packages"
	mv -T "$tmp" "$dir"
}

# This file asks for more than it did.
add_packages() {
	local root=$1 packages=$2 apt='DEBIAN_FRONTEND=noninteractive apt-get -q -y'

	"$TOP/scripts/lib/root.sh" "$root" sh -c "$apt update && $apt install --no-install-recommends $packages"
	echo "$packages" >"$CACHE/root/$root/packages"
}

make_once() {
	local root=$1 dir=$CACHE/root/$1 packages

	packages=$(packages_for "$root")
	[[ $(cat "$dir/packages" 2>/dev/null) != "$packages" ]] || return 0
	[[ $(id -u) -eq 0 ]] || die "only root can make $dir: as root, please," \
		"IW_MPA_CACHE=$CACHE scripts/lib/root.sh --make $root"
	need_space 3000
	command -v mmdebstrap >/dev/null || KREL='' KERNEL=6.1 "$TOP/scripts/lib/setup.sh" root
	mkdir -p "${dir%/*}"
	if [[ -e $dir/packages ]]; then
		quietly "adding packages to the root folder $root" add_packages "$root" "$packages"
		return
	fi
	HINT="is there a network, and does 'apt-get update' work?" \
		quietly "making a root folder of Debian: $root" make_root "${root%-*}" "$dir" "$packages"
}

# What a root finds in its place, of that which is there
bound() {
	local dir
	local -a want=(/proc /dev "$TOP")

	[[ $(kind_of "$1") != build ]] ||
		want+=("$CACHE" /usr/src /lib/modules /usr/lib/linux-kbuild-*)
	# The caller's folder, but not where the release has files of its own: its compiler, for one
	[[ $(kind_of "$1") != build || $PWD =~ ^/($|(bin|etc|lib[^/]*|sbin|usr|var)(/|$)) ]] || want+=("$PWD")
	for dir in "${want[@]}"; do
		[[ ! -d $dir ]] || echo "$dir"
	done
}

# In a namespace of our own: "mount" changes nothing outside.
enter() {
	local root=$1 dir

	shift
	mount --make-rprivate /
	for dir in $(bound "${root##*/}"); do
		mkdir -p "$root$dir"
		mount --rbind "$dir" "$root$dir"
	done
	# shellcheck disable=SC2016 # the shell there
	exec chroot "$root" /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
		HOME=/root LC_ALL=C sh -c 'cd "$0" 2>/dev/null || cd /; exec "$@"' "$PWD" "$@"
}

main() {
	local usage='usage: root.sh ROOT COMMAND... | --make ROOT' suite=${1:-} root map=()

	if [[ $suite == --make ]]; then
		locked "root-${2:?$usage}" make_once "$2"
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

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Another release of Debian in a folder, with its compilers. Kernels newer than the host's release
# need them: the programs that come with their headers do not run with an older C library.
#
#   scripts/root.sh SUITE COMMAND...   run a command there
#   scripts/root.sh --make SUITE       make it, if it is missing; setup.sh does
#
# It is $CACHE/root/SUITE. A command finds this tree, $CACHE, the current folder and the host's kernel
# headers in their places, and runs in a mount namespace of its own.

# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

PACKAGES="make gcc gcc-12 libc6-dev libelf-dev libssl-dev xz-utils kmod bc rsync pahole python3 perl bison flex"

make_root() {
	local suite=$1 dir=$2 tmp=$2.new

	rm -rf "$tmp"
	archive_sources "$suite" | nice mmdebstrap --variant=apt --include="${PACKAGES// /,}" \
		--aptopt='APT::Install-Recommends "false"' --skip=check/empty \
		"$suite" "$tmp" -
	echo "$PACKAGES" >"$tmp/packages"
	mv -T "$tmp" "$dir"
}

# This file asks for more than it did.
add_packages() {
	local suite=$1 apt='DEBIAN_FRONTEND=noninteractive apt-get -q -y'

	"$TOP/scripts/root.sh" "$suite" sh -c "$apt update && $apt install --no-install-recommends $PACKAGES"
	echo "$PACKAGES" >"$CACHE/root/$suite/packages"
}

make_once() {
	local suite=$1 dir=$CACHE/root/$1

	[[ $(cat "$dir/packages" 2>/dev/null) != "$PACKAGES" ]] || return 0
	[[ $(id -u) -eq 0 ]] || die "only root can make $dir: as root, please," \
		"XDG_CACHE_HOME=${CACHE%/*} scripts/root.sh --make $suite"
	mkdir -p "${dir%/*}"
	if [[ -e $dir/packages ]]; then
		quietly "adding packages to the root folder of Debian $suite" add_packages "$suite"
		return
	fi
	quietly "making a root folder of Debian $suite with its compilers" make_root "$suite" "$dir" ||
		die "no root folder of Debian $suite: see above"
}

# For headers that the host has installed
host_headers() {
	local dir

	for dir in /usr/src /lib/modules /usr/lib/linux-kbuild-*; do
		[[ ! -d $dir ]] || echo "$dir"
	done
}

# In a namespace of our own: "mount" changes nothing outside.
enter() {
	local root=$1 dir

	shift
	mount --make-rprivate /
	for dir in /proc /dev "$CACHE" "$TOP" "$PWD" $(host_headers); do
		mkdir -p "$root$dir"
		mount --rbind "$dir" "$root$dir"
	done
	exec chroot "$root" /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
		HOME=/root LC_ALL=C sh -c 'cd "$0" && exec "$@"' "$PWD" "$@"
}

main() {
	local usage='usage: root.sh SUITE COMMAND... | --make SUITE' suite=${1:-} root map=()

	if [[ $suite == --make ]]; then
		locked "root-${2:?$usage}" make_once "$2"
		return
	fi
	if [[ $suite == --inside ]]; then
		shift
		enter "$@"
	fi
	root=$CACHE/root/${suite:?$usage}
	[[ $# -gt 1 ]] || die "$usage"
	shift
	[[ -e $root/packages ]] || die "no root folder of Debian $suite: run scripts/root.sh --make $suite"
	[[ $(id -u) -eq 0 ]] || map=(--map-root-user)
	unshare "${map[@]}" -m true || die 'no permission to make a mount namespace, which a build' \
		"for this kernel needs: run it as root, or on Debian $suite"
	exec unshare "${map[@]}" -m "$0" --inside "$root" "$@"
}

main "$@"

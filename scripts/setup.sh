#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Install the Debian packages that a job needs, and nothing when they are all there.
#
#   scripts/setup.sh [build] [static] [kunit] [guest] [fuzz]      (no argument: all of them)

# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

declare -A GROUP=(
	[build]="make gcc libc6-dev linux-headers-amd64 linux-source-6.1 rsync xz-utils bc
		bison flex libelf-dev libssl-dev"
	[static]="make gcc libc6-dev linux-headers-amd64 linux-source-6.1 rsync xz-utils sparse
		python3 python3-docutils perl shellcheck git"
	[kunit]="make gcc libc6-dev linux-source-6.1 rsync xz-utils bc bison flex libelf-dev
		python3"
	[guest]="qemu-system-x86 busybox-static cpio gzip kmod rdmacm-utils ibverbs-utils
		ibverbs-providers rdma-core librdmacm-dev libibverbs-dev gcc libc6-dev perftest
		qperf tshark iproute2 iputils-ping ethtool python3"
	[fuzz]="clang libclang-rt-14-dev llvm libc6-dev"
)

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

main() {
	local group
	local -a packages=()

	[[ $# -gt 0 ]] || set -- build static kunit guest fuzz
	for group in "$@"; do
		[[ -n ${GROUP[$group]:-} ]] || die "no such group: $group (${!GROUP[*]})"
		# shellcheck disable=SC2206 # a list of words is what it is
		packages+=(${GROUP[$group]})
	done
	locked setup install_missing "${packages[@]}"
}

main "$@"

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Install the Debian packages that a job needs, if some are missing.
#
#   scripts/lib/setup.sh [GROUP...] [KERNEL...]   groups are below; no argument: for make check and make dkms
#
# An argument "=PACKAGE" is the name of a single package.
#
# The names of kernels are those of scripts/kernels; for each the headers and sources are fetched. The group "modules"
# alone, for users who build just the modules, needs no sources, except for ports to other architectures, which are
# built from them. $KERNEL is included, unless only deb, release, root, remote or emulator is asked for; so is 6.1,
# from whose sources user mode Linux and the kernels with detectors are built. KREL may name a release of the host's own
# kernel: then its headers are installed. The group "foreign" is for suites that also have programs for guests of
# another architecture.
#
# If $SETUP_FETCHED names a file, the seconds that apt and downloads took are written into it.
#
# The guests also run programs whose packages would start services on the host, now and after each boot; and tests that
# are part of a package's documentation, which many hosts leave out. These packages are unpacked in $CACHE/tools, not
# installed; only the libraries that they need are installed.

# shellcheck disable=SC2034 # for kernel.sh
[[ $* != @(deb|release|root|remote|emulator) ]] || NO_KERNEL=y
# shellcheck source=scripts/lib/lib.sh
. "$(dirname "$0")/lib.sh"

# OLD|NEW: names in an old and in later releases of Debian
declare -A GROUP=(
	[build]="make gcc libc6-dev rsync xz-utils bc bison flex libelf-dev libssl-dev kmod"
	[modules]="make gcc libc6-dev rsync kmod pahole"
	[static]="make gcc libc6-dev rsync xz-utils sparse kmod
		python3 python3-docutils python3-pygments perl shellcheck git"
	[kunit]="make gcc libc6-dev rsync xz-utils bc bison flex libelf-dev python3"
	[suites]="git"
	[guest]="qemu-system-x86 busybox-static cpio gzip xz-utils zstd kmod mount netbase rdmacm-utils
		ibverbs-utils ibverbs-providers rdma-core librdmacm-dev libibverbs-dev gcc libc6-dev perftest
		qperf tshark iproute2 iputils-ping ethtool nftables procps python3 libtirpc3|libtirpc3t64
		libwrap0 libnsl2 libnvme1|libnvme1t64 libjson-c5 fio libfabric-bin openmpi-bin
		python3-mpi4py libopeniscsiusr libisns0|libisns0t64
		libglib2.0-0|libglib2.0-0t64 libnl-genl-3-200 libpython3.11|libpython3.13
		wireguard-tools"
	[remote]="python3 gcc libc6-dev librdmacm-dev libibverbs-dev iproute2 openssh-client"
	[device]="openssh-client dropbear-bin"
	[fuzz]="clang libclang-rt-14-dev|libclang-rt-19-dev llvm libc6-dev python3 tshark"
	[dkms]="dkms openssl kmod util-linux"
	[deb]="build-essential debhelper dh-dkms dpkg-dev"
	[release]="build-essential debhelper dh-dkms dpkg-dev rpm xz-utils"
	[guest-arm64]="qemu-system-arm"
	[emulator]="qemu-user-static|qemu-user-binfmt arch-test"
	[foreign]=""
	[guest-cloud]="virtiofsd|qemu-system-common"
	[arch]="gcc-s390x-linux-gnu qemu-system-s390x|qemu-system-misc qemu-system-x86"
	[kernel]="pahole xz-utils kmod"
	[root]="mmdebstrap util-linux"
	[series]="git perl python3 python3-docutils"
)
TOOLS="nfs-common nfs-kernel-server nvme-cli open-iscsi prometheus-node-exporter python3-pyverbs"
# Kernels with detectors, such as KASAN, have the SMB server ksmbd. Its interface to its daemon in
# user space has changed since Debian 12 was released, also in updates of Debian 12's own kernel;
# the first daemon that fits is Debian 13's.
SMB_SUITE=trixie

ARCH=$(dpkg --print-architecture 2>/dev/null || true)	# empty if this is not Debian

# missing_of PACKAGE...: print those packages that are not installed. dpkg-query runs once for all, since each run takes
# time.
missing_of() {
	local names name
	local -A installed=()

	while read -r name; do
		installed[$name]=yes
	done < <(dpkg-query -W -f '${db:Status-Status} ${Package}\n' | sed -n 's/^installed //p')
	for names in "$@"; do
		[[ -n ${installed[${names%|*}]:-}${installed[${names#*|}]:-} ]] || echo "$names"
	done
}

# names_of OLD|NEW...: print of each the name that this release of Debian has.
names_of() {
	local names

	for names in "$@"; do
		if [[ $names != *'|'* ]] || has_candidates "${names%|*}"; then
			echo "${names%|*}"
		else
			echo "${names#*|}"
		fi
	done
}

APT_MAY=()	# more options for one call of apt

# When apt upgrades linux-libc-dev, it would by default also upgrade the kernel's sources that
# install_sources has installed, since both are made of the same source package.
apt() {
	DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=600 -o APT::Install-Recommends=false \
		-o APT::Get::Upgrade-By-Source-Package=false "${APT_MAY[@]}" "$@"
}

has_candidates() {
	local pkg

	for pkg in "$@"; do
		apt-cache show --no-all-versions "$pkg" >/dev/null 2>&1 || return 1
	done
}

# Refresh the package lists only if they are missing, or too old for the mirror.
fetch_and_install() {
	local -a packages

	mapfile -t packages < <(names_of "$@")
	if has_candidates "${packages[@]}" && apt install "${packages[@]}"; then
		return 0
	fi
	apt update
	mapfile -t packages < <(names_of "$@")
	apt install "${packages[@]}"
}

install_missing() {
	local -a missing names

	mapfile -t missing < <(missing_of "$@" | sort -u)
	[[ ${#missing[@]} -gt 0 ]] || return 0
	mapfile -t names < <(names_of "${missing[@]}")
	[[ $(id -u) -eq 0 ]] ||
		die "as root, please: apt-get install --no-install-recommends ${names[*]}"
	HINT="is there a network, and does 'apt-get update' work?" \
		quietly "installing ${#names[@]} Debian packages: ${names[*]}" \
		fetch_and_install "${missing[@]}"
}

# Print the newest release of the kernel in Debian's archive, and the version of its package.
newest_kernel() {
	archive "$KSUITE" apt-cache show --no-all-versions "$KHEADERS" 2>/dev/null |
		sed -nE 's/^Depends: (.*, )?linux-headers-([0-9][^ ]+) \(= ([^)]+)\).*/\2 \3/p'
}

# Packages of headers refer to each other by relative links, except for one absolute path, so they can be unpacked.
# Installing them would also install the kernel, which the host would then boot. Headers for another architecture name
# the compiler in full, and need programs that run here: packages of this architecture with the same name and version
# have those.
unpack_kernel() {
	local dir=$1 krel=$2 version=$3 tmp
	local -a packages programs

	tmp=$(mktemp -d "$dir.XXXXXX")
	# shellcheck disable=SC2064 # this one; we are in a subshell
	trap "rm -rf '$tmp'" EXIT
	cd "$tmp" || return
	mapfile -t packages < <(depends "$KSUITE" "linux-headers-$krel" 'linux-headers-.*')
	mapfile -t programs < <(depends "$KSUITE" "linux-headers-$krel" 'linux-kbuild-.*')
	download "$KSUITE" "${packages[@]/%/=$version}" "linux-headers-$krel=$version" \
		"$(source_package "$krel")=$version"
	download "${KSUITE%-"$KARCH"}" "${programs[@]/%/=$version}"
	for packages in *.deb; do
		dpkg-deb -x "$packages" .
		rm "$packages"
	done
	ln -s "usr/src/linux-headers-$krel" build
	sed -i "s|/usr/src/|$dir&|" build/Makefile
	echo "$version" >version
	chmod 755 .
	mv -T "$tmp" "$dir"
}

# Headers that were unpacked once are used until "make clean", even if the archive has newer ones.
fetch_kernel() {
	local name=$1 krel version why=

	kernel_row "$name"
	[[ -z $(find_krel "$name") ]] || return 0
	archive_refresh "$KSUITE"
	[[ -n $(archive_mirror security) ]] ||
		why=", whose kernels are in $KSUITE-security: add that to sources.list(5)"
	[[ $KARCH == "$ARCH" ]] || archive_refresh "${KSUITE%-"$KARCH"}"
	read -r krel version < <(newest_kernel) || die "Debian's archive has no $KHEADERS in $KSUITE$why"
	[[ $(kernel_of "$krel") == "$name" ]] ||
		die "$KHEADERS of $KSUITE is $krel now: scripts/kernels has to say so"
	mkdir -p "$CACHE/debian"
	need_space 600
	HINT="is there a network, and space in $CACHE?" \
		quietly "fetching headers and sources of kernel $krel $version" \
		unpack_kernel "$CACHE/debian/$krel" "$krel" "$version"
}

# is_own KERNEL: is this the kernel of the host's release of Debian? Its headers are installed, as an administrator
# would do, and not unpacked.
is_own() {
	kernel_row "$1" && [[ $KDEBIAN == "$(host_debian)" && $1 == "$(default_kernel)" ]]
}

# headers_of NAME: print the package of headers of the kernel NAME: for the release KREL, if that is a release of NAME
headers_of() {
	if [[ -n $KREL && $(kernel_of "$KREL") == "$1" ]]; then echo "linux-headers-$KREL"; else echo "$KHEADERS"; fi
}

# Print the package of the compiler that the kernel's headers name, for builds with the host's compilers: a kernel of an
# earlier release of Debian may need another version than the host's gcc.
compiler_of() {
	local krel=$1 dir

	for dir in "/lib/modules/$krel/build" "$CACHE/debian/$krel/build"; do
		sed -nE 's/^(override )?CC = .*\)(gcc-[0-9.]+)$/\2/p' "$dir/.kernelvariables" 2>/dev/null || true
	done | head -n 1
}

# cross_compilers KERNEL: print the packages of a compiler, if the kernel has another architecture
cross_compilers() {
	local compiler

	kernel_row "$1"
	compiler=$(compiler_of "$(find_krel "$1")")
	[[ $KARCH == "$ARCH" ]] || echo "${compiler:-gcc}-$(gnu_of "$KARCH")"
}

# install_sources KERNEL: install the sources in the version of the headers, since siw of another version would
# misbehave. While Debian replaces a kernel, its archive has newer sources than headers.
install_sources() {
	local package version
	local -a APT_MAY=(-o APT::Get::Allow-Downgrades=true)

	kernel_row "$1"
	package=$(source_package "${KRELEASES//\\/}")
	version=$(package_version "linux-headers-$(find_krel "$1")")
	[[ -z $version || $(package_version "$package") != "$version" ]] || return 0
	[[ -z $version || $(id -u) -ne 0 ]] || ! has_candidates "$package=$version" || package+="=$version"
	install_missing "$package"
}

make_programs() (
	kernel_row "$1"
	"$TOP/scripts/lib/root.sh" --make "$KSUITE-programs"
)

# check_foreign KERNEL WORD...: fail early if the suite has no programs for the kernel's architecture
check_foreign() {
	[[ $(arch_of "$1") != "$ARCH" && " ${*:2} " =~ ' '(guest|kunit|fuzz|dkms|series)' ' ]] || return 0
	[[ $(arch_of "$1") == arm64 ]] ||
		die "there are no guests with kernel $1: modules are built for it, and no more"
	[[ " ${*:2} " == *' foreign '* ]] ||
		die "kernel $1 is not for this suite: modules are built for it," \
			'and e2e, package.sh --readme and guest/run.sh boot it'
}

has_headers() { [[ -e /lib/modules/$1/build/Makefile || -e $CACHE/debian/$1/build/Makefile ]]; }

# can_bring KERNEL RELEASE: would the rest of this script install this release's headers?
can_bring() {
	local newest

	if is_own "$1" || is_other "$1"; then
		has_candidates "linux-headers-$2" && return
		[[ $(id -u) -eq 0 ]] && apt update >/dev/null 2>&1 && has_candidates "linux-headers-$2"
	else
		[[ -z $(find_krel "$1") ]] || return
		archive_refresh "$KSUITE"
		read -r newest _ < <(newest_kernel) && [[ $newest == "$2" ]]
	fi
}

# If KREL names a release that cannot be had, fail before many packages are installed for it.
need_headers() {
	is_other "$KERNEL" || [[ -n $KREL && $(kernel_of "$KREL") == "$KERNEL" ]] || return 0
	has_headers "$KREL" || can_bring "$KERNEL" "$KREL" ||
		die "$(no_headers)"
}

unpack_tools() {
	local dir=$1 tmp package

	tmp=$(mktemp -d "$dir.XXXXXX")
	# shellcheck disable=SC2064 # this one; we are in a subshell
	trap "rm -rf '$tmp'" EXIT
	cd "$tmp" || return
	# The programs in TOOLS run with the host's libraries, so the host's own apt fetches them.
	# shellcheck disable=SC2086 # a list of words is what it is
	apt download $TOOLS || { apt update && apt download $TOOLS; }
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
	need_space 200
	HINT="is there a network, and does 'apt-get update' work?" \
		quietly "fetching programs for the guests: $TOOLS" unpack_tools "$dir"
}

unpack_smb_tools() {
	local dir=$1 tmp

	tmp=$(mktemp -d "$dir.XXXXXX")
	# shellcheck disable=SC2064 # this one; we are in a subshell
	trap "rm -rf '$tmp'" EXIT
	cd "$tmp" || return
	download "$SMB_SUITE" ksmbd-tools
	dpkg-deb -x ksmbd-tools_*.deb "$dir"
	touch "$dir/smb"
}

# ksmbd-tools of Debian 13 runs with the libraries of Debian 12.
fetch_smb_tools() {
	local dir=$CACHE/tools

	[[ ! -e $dir/smb ]] || return 0
	archive_refresh "$SMB_SUITE"
	HINT="is there a network, and does 'apt-get update' work?" \
		quietly "fetching programs for the guests: ksmbd-tools" unpack_smb_tools "$dir"
}

# fetch COMMAND...: run the command, which uses apt or downloads, and count its seconds; this is no time of ours
FETCHED=0
fetch() {
	local began=$SECONDS

	locked setup "$@"
	FETCHED=$((FETCHED + SECONDS - began))
}

main() {
	local word root compilers sources=yes
	local -a packages=() kernels=()

	[[ $* != modules || ${IW_MPA_SIW:-n}${IW_MPA_CXGB4:-n} != nn ]] || sources=

	# The arguments deb and release prepare "make deb" and "make release", which build packages
	# for all architectures, on a host of any architecture that has dpkg and debhelper.
	if [[ $ARCH != amd64 && ( -z $ARCH || $* != @(deb|release) ) ]]; then
		[[ $* != @(deb|release) ]] || die 'this needs dpkg and debhelper'
		[[ $* == remote || $* == modules && -n ${ANY_KERNEL:-} ]] || die 'this needs Debian on amd64'
		say 'not Debian on amd64: not tested here, and no packages are installed'
		return
	fi
	[[ $# -gt 0 ]] || set -- build static kunit guest fuzz dkms 6.1 6.12
	if [[ $* != @(deb|release|root|remote|emulator) ]] && { kernel_row "$KERNEL" || is_other "$KERNEL"; }; then
		need_headers
		is_other "$KERNEL" || set -- "$@" "$KERNEL"
	fi
	[[ " $* " != *' static '* && " $* " != *' kunit '* && $KERNEL != k?san ]] || set -- "$@" 6.1
	for word in "$@"; do
		if kernel_row "$word"; then
			kernels+=("$word")
			[[ -z $sources ]] || set -- "$@" kernel
		fi
	done
	for word in "${kernels[@]}"; do
		check_foreign "$word" "$@"
	done
	[[ ${#kernels[@]} -eq 0 ]] || mapfile -t kernels < <(printf '%s\n' "${kernels[@]}" | sort -u)
	for word in "${kernels[@]}"; do
		root=$(root_of "$word")
		[[ -z $root ]] || set -- "$@" root
		[[ $(arch_of "$word") != arm64 || " $* " != *' guest '* ]] || set -- "$@" root guest-arm64
		[[ $word != cloud || " $* " != *' guest '* ]] || set -- "$@" guest-cloud
		! is_own "$word" || packages+=("$(headers_of "$word")")
	done
	! is_other "$KERNEL" || has_headers "$KREL" || packages+=("linux-headers-$KREL")
	for word in "$@"; do
		kernel_row "$word" && continue
		[[ $word != =* ]] || { packages+=("${word#=}") && continue; }
		[[ -v GROUP[$word] ]] ||
			die "no such group: $word (${!GROUP[*]} $(kernel_names | paste -sd ' '))"
		# shellcheck disable=SC2206 # a list of words is what it is
		packages+=(${GROUP[$word]})
	done
	fetch install_missing "${packages[@]}"
	for word in "${kernels[@]}"; do
		[[ -z $sources ]] || ! is_own "$word" || fetch install_sources "$word"
	done
	[[ " $* " != *' guest '* ]] || fetch fetch_tools
	[[ " $* " != *' guest '* ]] || ! kernel_debugs "$KERNEL" || fetch fetch_smb_tools
	for word in "${kernels[@]}"; do
		[[ $(arch_of "$word") != arm64 || " $* " != *' guest '* ]] || make_programs "$word"
		fetch fetch_kernel "$word"
		root=$(root_of "$word")
		compilers=$(cross_compilers "$word")
		# shellcheck disable=SC2046,SC2086 # none, if the headers do not say
		if [[ -n $root ]]; then
			"$TOP/scripts/lib/root.sh" --make "$root" $compilers
		else
			fetch install_missing ${compilers:-$(compiler_of "$(find_krel "$word")")}
		fi
	done
	[[ -z ${SETUP_FETCHED:-} ]] || echo "$FETCHED" >"$SETUP_FETCHED"
}

main "$@"

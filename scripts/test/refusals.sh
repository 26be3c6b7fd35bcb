#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What cannot be done must be refused: by an exit status, by one sentence that says what to do, and with nothing left
# half done. The causes are an unsupported kernel, missing headers, no root, no space, no network.
#
# Each command runs with a separate cache, in a separate mount namespace, so that it finds no files
# of the host, and cannot destroy any if it is not refused.

# shellcheck source=scripts/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=scripts/lib/tap.sh
. "$TOP/scripts/lib/tap.sh"

HERE=/mnt	# mount point of a tmpfs in this script's mount namespace

# fresh MEGABYTES: make an empty cache of that size, writable for all users
fresh() {
	umount "$HERE/cache" 2>/dev/null || true
	mount -t tmpfs -o "size=${1}m,mode=777" refusals "$HERE/cache"
}

# shellcheck disable=SC2016 # the shell of the programs
make_places() {
	mount -t tmpfs -o mode=755 refusals "$HERE"
	mkdir "$HERE"/{tree,cache,bin,root,ubuntu}
	mount --bind "$TOP" "$HERE/tree"
	mount -t tmpfs -o size=10m refusals "$HERE/root"
	# A dpkg-query for which the package sparse is missing, in the list of all packages and when it is queried
	printf '%s\n' '#!/bin/sh' 'case "$*" in *sparse*) exit 1 ;; esac' \
		"$(command -v dpkg-query) \"\$@\" | grep -v ' sparse$'" >"$HERE/bin/dpkg-query"
	printf '%s\n' 'ID=ubuntu' 'ID_LIKE=debian' 'VERSION_ID="24.04"' >"$HERE/ubuntu/os-release"
	printf '%s\n' '#!/bin/sh' '[ "$1" = -r ] && echo 6.14.0-1017-azure || exec /usr/bin/uname "$@"' \
		>"$HERE/ubuntu/uname"
	# ubuntu COMMAND...: run COMMAND as on a host with another distribution
	printf '%s\n' '#!/bin/sh -e' 'mount --bind "${0%/*}/os-release" /etc/os-release' 'exec "$@"' \
		>"$HERE/ubuntu/ubuntu"
	chmod +x "$HERE/bin/dpkg-query" "$HERE"/ubuntu/{uname,ubuntu}
	# A configuration of apt that has only the release, without updates, as in a root of debootstrap
	echo "deb $(archive_mirror main) bookworm main" >"$HERE/bin/sources.list"
	printf '%s\n' "Dir::Etc::sourcelist \"$HERE/bin/sources.list\";" 'Dir::Etc::sourceparts "/dev/null";' \
		>"$HERE/bin/apt.conf"
}

# Run a command like a user, without the environment of these scripts
as_a_user() {
	env -u IW_MPA_CACHE -u IW_MPA_BUILD -u TOP -u KREL -u KERNEL -u KERNELS -u DEBUG -u LC_ALL \
		XDG_CACHE_HOME="$HERE/cache" timeout 300 "$@" </dev/null
}

# outcome REGEX COMMAND...: the command has to fail, print just one error like REGEX, and leave no files
outcome() {
	local regex=$1 output status=0 left

	shift
	cd "$HERE/tree" || return
	output=$(as_a_user "$@" 2>&1) || status=$?
	printf '%s\nexit status %d\n' "$output" "$status"
	[[ $status -ne 0 && $status -ne 124 ]] || return 1
	[[ $(grep -c '^error: ' <<<"$output") -eq 1 ]] || { echo 'not one sentence'; return 1; }
	grep -qE "^error: .*$regex" <<<"$output" || { echo "not like: $regex"; return 1; }
	left=$(find "$HERE/cache" "$HERE/root" -type f ! -name '*.lock' ! -name CACHEDIR.TAG ! -path '*/apt/*')
	[[ -z $left ]] || { printf 'left:\n%s\n' "$left"; return 1; }
}

# refused NAME REGEX COMMAND...: test that COMMAND is refused: see outcome
refused() {
	local name=$1

	shift
	tap_run "$name" outcome "$@"
}

nobody() { echo runuser -u nobody --; }

test_kernels() {
	local target

	fresh 20
	tap_run 'headers that are installed, and unpacked as well' headers_twice
	fresh 2000
	refused 'a kernel that is not supported, by its release' 'kernel 5\.10\.0-1-amd64 is not supported: see' \
		make -s wire KREL=5.10.0-1-amd64
	refused 'one that is too old to build for' 'kernel 5\.10\.0-1-amd64 is not supported: it is older than 6\.1$' \
		env PATH="$HERE/bin:$PATH" make -s modules KREL=5.10.0-1-amd64
	refused 'one of another distribution whose headers are missing' \
		'no headers for kernel 6\.14\.0-1017-azure: apt-get install linux-headers-6\.14\.0-1017-azure, or,' \
		make -s modules KREL=6.14.0-1017-azure
	refused 'the same, of the kernel that runs, on another distribution' \
		'no headers for kernel 6\.14\.0-1017-azure: apt-get install linux-.*, upgrade the kernel and reboot;' \
		unshare -m "$HERE/ubuntu/ubuntu" env PATH="$HERE/ubuntu:$PATH" make -s install
	refused 'a suite, on another distribution' 'this is not Debian 12 or later: see "Supported kernels" in README' \
		unshare -m "$HERE/ubuntu/ubuntu" make -s wire
	refused 'a kernel that is not supported, by its name' 'no such kernel: 5\.10 \(6\.1 ' \
		make -s demo KERNEL=5.10
	refused 'a guest with a kernel that is only built for' 'there are no guests with kernel s390x: ' \
		make -s e2e KERNEL=s390x
	for target in wire soak demo bench kunit device; do
		refused "a kernel of another architecture: make $target" 'kernel arm64 is not for this suite: modules' \
			make -s "$target" KERNEL=arm64
	done
	refused 'the package, for more than README.md' 'kernel arm64 is not for this suite: modules' \
		scripts/test/package.sh --ci arm64
	refused 'a kernel that is an update, on a host without updates' \
		'has no linux-headers-6\.12-amd64 in bookworm, whose kernels are in bookworm-security: add that to sources' \
		env APT_CONFIG="$HERE/bin/apt.conf" scripts/lib/setup.sh build 6.12
	refused 'one of several kernels' 'no such kernel: nosuch ' make -s wire KERNELS='6.1 nosuch'
	refused 'a kernel whose headers are missing' 'apt-get install linux-headers-6\.1\.0-1-amd64, or,' \
		make -s install KREL=6.1.0-1-amd64
	refused 'the same, before a package is installed' 'no headers for kernel 6\.1\.0-1-amd64: apt-get install' \
		env PATH="$HERE/bin:$PATH" make -s static KREL=6.1.0-1-amd64
}

# If a kernel's headers are installed, and also unpacked in the cache, the installed ones are used.
# shellcheck disable=SC2016 # expands in the inner shell
headers_twice() {
	local find='. scripts/lib/lib.sh; find_krel "$KERNEL"' krel

	cd "$HERE/tree" || return
	krel=$(as_a_user bash -c "$find") || return
	mkdir -p "$HERE/cache/iw_mpa/debian/$krel/build"
	touch "$HERE/cache/iw_mpa/debian/$krel/build/Makefile"
	[[ -n $krel && $(as_a_user bash -c "$find") == "$krel" ]] || { echo "not $krel"; return 1; }
	as_a_user bash -c '. scripts/lib/lib.sh; need_krel; [[ $KDIR == "/lib/modules/$KREL/build" ]]'
}

# Variables of other programs neither change nor break "make clean".
clean_alone() {
	mkdir -p "$HERE/cache/others/src"
	touch "$HERE/cache/others/src/file"
	cd "$HERE/tree" || return
	as_a_user env "CACHE=$HERE/cache/others" "BUILD=$HERE/cache/others" CDPATH=.:/usr DEBUG=1 \
		make -s clean "CACHE=$HERE/cache/others" || return
	[[ -e $HERE/cache/others/src/file && ! -e $HERE/cache/iw_mpa ]] ||
		{ find "$HERE/cache"; return 1; }
}

test_clean() {
	fresh 20
	tap_run 'make clean removes the cache alone' clean_alone
	fresh 20
	refused 'make clean: a folder that is not ours' 'was not made by these scripts' \
		env IW_MPA_CACHE="$HERE/bin" make -s clean
	tap_run 'it is still there' test -e "$HERE/bin/dpkg-query"
}

test_names() {
	fresh 20
	refused 'a DEBUG that is not ours' 'no such kernel: 1 .*: see the variable DEBUG$' \
		env DEBUG=1 make -s modules
	refused 'a folder with a blank in its name' 'a blank in its name is not supported: .*/a b/iw_mpa$' \
		env XDG_CACHE_HOME="$HERE/cache/a b" make -s modules
}

test_no_root() {
	local -a as

	read -ra as < <(nobody)
	fresh 2000
	refused 'no root: a package is missing' 'as root, please: apt-get install .*sparse' \
		"${as[@]}" env PATH="$HERE/bin:$PATH" make -s static
	refused 'no root: make check, at once' 'as root, please: apt-get install .*sparse' \
		"${as[@]}" env PATH="$HERE/bin:$PATH" make -s check
	refused 'no root: make install' 'no permission to write into .*: as root, please' \
		"${as[@]}" make -s install INSTALL_MOD_PATH="$HERE/bin" KERNEL="$KERNEL"
	refused 'no root: make package' 'as root, please: ' "${as[@]}" make -s package
	refused 'no root: make dkms' 'as root, please: ' "${as[@]}" make -s dkms
	refused 'a cache that cannot be written' 'no permission to write into /proc/.*: set XDG_CACHE_HOME' \
		env XDG_CACHE_HOME=/proc/nowhere make -s modules
}

test_no_space() {
	local target

	for target in modules demo kunit deb series check; do
		fresh 20
		refused "no space: make $target" "has [0-9]+ MB left, this needs [0-9]+: make space, or set XDG" \
			make -s "$target" KERNEL="$KERNEL"
	done
	fresh 2000
	refused 'no space: make install' "$HERE/root/.* has [0-9]+ MB left, this needs [0-9]+: make space$" \
		make -s install INSTALL_MOD_PATH="$HERE/root" KERNEL="$KERNEL"
}

test_no_network() {
	fresh 2000
	refused 'no network: headers of another Debian' 'is there a network, and does .apt-get update. work' \
		unshare -n make -s modules KERNEL=trixie
	refused 'no network: programs for the guests' 'is there a network, and does .apt-get update. work' \
		unshare -n make -s demo
	refused 'no network: make check, at once' 'is there a network, and does .apt-get update. work' \
		unshare -n make -s check
}

# If virtiofsd runs, but makes no socket, guest_share must fail within the time limit of a boot.
# shellcheck disable=SC2016 # expands in the inner shell
silent_virtiofsd() {
	local output

	printf '%s\n' '#!/bin/sh' 'exec sleep 1000' >"$HERE/bin/virtiofsd"
	chmod +x "$HERE/bin/virtiofsd"
	cd "$HERE/tree" || return
	output=$(as_a_user env "GUEST_VIRTIOFSD=$HERE/bin/virtiofsd" GUEST_BOOT_LIMIT=4 bash -c '
		. scripts/lib/lib.sh; . scripts/lib/guest/guest.sh; cd "$0"; guest_share A share / virtiofs' \
		"$HERE/cache" 2>&1) && return 1
	echo "$output"
	[[ $output == "guest A: $HERE/bin/virtiofsd makes no socket for /" ]]
}

test_guests() {
	fresh 20
	tap_run 'a guest whose virtiofsd makes no socket' silent_virtiofsd
}

main() {
	if [[ ${1:-} != --inside ]]; then
		need_root 'this mounts file systems, in a namespace of its own'
		"$TOP/scripts/lib/setup.sh" build
		exec unshare -m --propagation private "$0" --inside
	fi
	make_places
	test_clean
	test_names
	test_kernels
	test_no_root
	test_no_space
	test_no_network
	test_guests
	tap_end refusals
}

main "$@"

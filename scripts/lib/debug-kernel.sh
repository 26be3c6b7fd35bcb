#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Build a kernel with detectors out of Debian's 6.1 sources, and print where it is:
#
#   scripts/lib/debug-kernel.sh kasan|kcsan
#
# The folder has:
#   build                 the build folder, with .config and vmlinux: for make -C
#   vmlinuz               the kernel
#   lib/modules/RELEASE   lists for modprobe, which say that all modules are built in
#   release               a file with RELEASE
#
# The configuration is scripts/lib/guest/debug.config with NAME.config; all other options are off. A
# kernel is built once for each version of the sources, of these files and of this script; each has
# another RELEASE.

# shellcheck source=scripts/lib/lib.sh
. "$(dirname "$0")/lib.sh"

unset -v DEBUG MAKEFLAGS	# "make e2e DEBUG=kasan" is not for the kernel's own tools
HERE=$TOP/scripts/lib/guest

# Print a checksum of all that the kernel is built from
key() {
	{
		echo "$1"
		cat "$HERE/debug.config" "$HERE/$2.config" "$TOP/scripts/lib/debug-kernel.sh"
	} | sha256sum | cut -d ' ' -f 1
}

# Check that .config has each line: kconfig silently drops options whose dependencies are off.
check_config() {
	local line

	while read -r line; do
		[[ $line == CONFIG_* ]] || continue
		grep -qxF "$line" "$2" || { echo "not in the kernel: $line"; return 1; }
	done <"$1"
}

# To let only allocations below one function fail, the kernel searches the stack for that function.
# Linux 6.1 has no such option on x86_64, where stack traces were once unreliable; later kernels
# have it.
allow_stacktrace_filter() {
	local entry='/^config FAULT_INJECTION_STACKTRACE_FILTER/,/^	help/' file=lib/Kconfig.debug
	local line='/^	depends on !X86_64$/'

	[[ -z $(sed -n "$entry{${line}p}" "$file") ]] || sed -i "$entry{${line}d}" "$file"
}

# Have ksmbd's opinfo_put() return if its argument is NULL, as in later kernels
check_ksmbd() {
	local function='/^void opinfo_put(/,/^}/' file=fs/smb/server/oplock.c

	[[ $(sed -n "$function p" "$file") == *'!opinfo'* ]] ||
		sed -i "$function"'s/^{$/&\n\tif (!opinfo)\n\t\treturn;/' "$file"
}

build() {
	local linux=$1 dir=$2 name=$3 key=$4 release
	local -a make=(nice make -s -C "$1" "O=$2/build")

	mkdir -p "$dir/build"
	rm -rf "${dir:?}/key" "${dir:?}/lib"
	cd "$linux" || return
	allow_stacktrace_filter
	check_ksmbd
	cat "$HERE/debug.config" "$HERE/$name.config" >"$dir/wanted"
	echo "CONFIG_LOCALVERSION=\"-$name-${key::8}\"" >>"$dir/wanted"
	KCONFIG_ALLCONFIG=$dir/wanted "${make[@]}" allnoconfig
	check_config "$dir/wanted" "$dir/build/.config"
	"${make[@]}" -j"$(nproc)" bzImage modules
	release=$("${make[@]}" kernelrelease)
	"${make[@]}" INSTALL_MOD_PATH="$dir" modules_install
	depmod -b "$dir" "$release"
	cp "$dir/build/arch/x86/boot/bzImage" "$dir/vmlinuz"
	echo "$release" >"$dir/release"
}

build_once() {
	local linux=$1 dir=$2 name=$3 key=$4

	[[ ! -e $dir/key || $(<"$dir/key") != "$key" ]] || return 0
	quietly "building the $name kernel (from nothing it takes minutes)" \
		build "$linux" "$dir" "$name" "$key"
	echo "$key" >"$dir/key"
}

main() {
	local name=${1:-} linux dir

	[[ -n $name && -e $HERE/$name.config && $name != debug ]] ||
		die 'usage: debug-kernel.sh kasan|kcsan'
	linux=$("$TOP/scripts/lib/linux-source.sh")
	dir=$CACHE/linux-$name
	locked "linux-$name" build_once "$linux" "$dir" "$name" "$(key "$linux" "$name")"
	echo "$dir"
}

main "$@"

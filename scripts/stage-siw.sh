#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Put the kernel's own siw sources (drivers/infiniband/sw/siw) into a folder outside the tree;
# or those of another driver.
#
#   scripts/stage-siw.sh [--driver hw/erdma] DEST [FILE-TO-LEAVE-OUT...]
#   scripts/stage-siw.sh --check        could it? If not, it says what to install
#
# They come from Debian's linux-source package of exactly the version that the headers have: a
# siw of another version would build and then misbehave. Unpacking the tarball takes a while, so
# the result is cached by package version. Files that did not change keep their time stamps.

# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

DRIVER=sw/siw

# Prints the version; refuses a mixture of versions by name.
driver_version() {
	local have want package=$KSOURCE

	want=$(kernel_version)
	have=$(source_version)
	[[ -n $have ]] || die "${DRIVER##*/}'s sources are missing: apt-get install $package=$want"
	[[ $have == "$want" ]] ||
		die "$package is $have, the headers of $KREL are $want:" \
			"apt-get install $package=$want (or linux-headers-amd64 to go up)"
	echo "$have"
}

unpack() {
	local dest=$1 tmp

	[[ ! -d $dest ]] || return 0
	tmp=$(mktemp -d "$dest.XXXXXX")
	if ! tar -xJf "$KTARBALL" -C "$tmp" --strip-components=5 \
		"$KSOURCE/drivers/infiniband/$DRIVER"; then
		rm -rf "$tmp"
		return 1
	fi
	chmod 755 "$tmp"
	mv -T "$tmp" "$dest"
}

unpack_once() {
	[[ -d $1 ]] || quietly "taking ${DRIVER##*/} out of $KTARBALL" unpack "$1"
}

# stage FROM TO FILE-TO-LEAVE-OUT...: these drivers have no subfolders.
stage() {
	local from=$1 to=$2 file

	shift 2
	mkdir -p "$to"
	for file in "$from"/*; do
		[[ " $* " != *" ${file##*/} "* ]] || continue
		cmp -s "$file" "$to/${file##*/}" || cp "$file" "$to/"
	done
}

main() {
	local usage='usage: stage-siw.sh [--driver NAME] DEST [FILE...]' dest version cached

	if [[ ${1:-} == --driver ]]; then
		DRIVER=${2:?$usage}
		shift 2
	fi
	dest=${1:?$usage}
	shift
	need_krel
	version=$(driver_version)
	[[ $dest != --check ]] || return 0
	cached=$CACHE/${DRIVER##*/}-$version
	locked "${DRIVER##*/}" unpack_once "$cached"
	stage "$cached" "$dest" "$@"
}

main "$@"

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Put the kernel's own siw sources (drivers/infiniband/sw/siw) into a folder outside the tree.
#
#   scripts/stage-siw.sh DEST [FILE-TO-LEAVE-OUT...]
#   scripts/stage-siw.sh --check        could it? If not, it says what to install
#
# They come from Debian's linux-source package of exactly the version that the headers have: a
# siw of another version would build and then misbehave. Unpacking the tarball takes a while, so
# the result is cached by package version. Files that did not change keep their time stamps.

# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

# Prints the version; refuses a mixture of versions by name.
siw_version() {
	local have want package=$KSOURCE

	want=$(kernel_version)
	have=$(source_version)
	[[ -n $have ]] || die "siw's sources are missing: apt-get install $package=$want"
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
		"$KSOURCE/drivers/infiniband/sw/siw"; then
		rm -rf "$tmp"
		return 1
	fi
	chmod 755 "$tmp"
	mv -T "$tmp" "$dest"
}

unpack_once() {
	[[ -d $1 ]] || quietly "taking siw out of $KTARBALL" unpack "$1"
}

# stage FROM TO FILE-TO-LEAVE-OUT...: siw has no subfolders.
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
	local dest=${1:?usage: stage-siw.sh DEST [FILE...]} version cached

	shift
	need_krel
	version=$(siw_version)
	[[ $dest != --check ]] || return 0
	cached=$CACHE/siw-$version
	locked siw unpack_once "$cached"
	stage "$cached" "$dest" "$@"
}

main "$@"

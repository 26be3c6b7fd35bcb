#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Print where the sources of Debian's 6.1 kernel are, unpacked; unpack them on the first call.
#
# The folder is named after the package's version, so that an upgrade makes a new one, and it
# appears by a rename: if it is there, it is complete. Build with O=, never inside.

. "$(dirname "$0")/lib.sh"

TARBALL=/usr/src/linux-source-6.1.tar.xz

unpack() {
	local dest=$1 tmp

	tmp=$(mktemp -d "$dest.XXXXXX")
	if ! nice tar -xJf "$TARBALL" -C "$tmp" --strip-components=1; then
		rm -rf "$tmp"
		return 1
	fi
	chmod 755 "$tmp"
	mv -T "$tmp" "$dest"
}

unpack_once() {
	[[ -d $1 ]] || quietly "unpacking $TARBALL, once" unpack "$1"
}

main() {
	local version dest

	[[ -e $TARBALL ]] || die "no $TARBALL: apt-get install linux-source-6.1"
	version=$(dpkg-query -W -f '${Version}' linux-source-6.1)
	dest=$CACHE/linux-source-6.1-$version
	locked linux-source unpack_once "$dest"
	echo "$dest"
}

main "$@"

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Print where the sources of a Debian kernel are, unpacked; unpack them on the first call.
#
#   scripts/lib/linux-source.sh [NAME]      6.1, or another of scripts/kernels
#
# The folder is named after the package's version, so that an upgrade makes a new one. It gets its name only when it is
# complete. Do not build in it, but with O=.

. "$(dirname "$0")/lib.sh"

unpack() {
	local dest=$1 tmp

	tmp=$(mktemp -d "$dest.XXXXXX")
	if ! nice tar -xJf "$KTARBALL" -C "$tmp" --strip-components=1; then
		rm -rf "$tmp"
		return 1
	fi
	chmod 755 "$tmp"
	mv -T "$tmp" "$dest"
}

unpack_once() {
	[[ -d $1 ]] || need_space 2500
	[[ -d $1 ]] || quietly "unpacking $KTARBALL, once" unpack "$1"
}

# User mode Linux and checkpatch need the sources of 6.1, but no headers.
main() {
	local name=${1:-6.1} dest

	KTARBALL=$(source_tarball "$name")
	[[ -e $KTARBALL ]] || die "no sources of kernel $name: run scripts/lib/setup.sh $name"
	KSOURCE=$(basename "$KTARBALL" .tar.xz)
	dest=$CACHE/$KSOURCE-$(source_version)
	locked linux-source unpack_once "$dest"
	echo "$dest"
}

main "$@"

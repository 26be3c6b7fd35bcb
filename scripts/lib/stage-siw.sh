#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Copy the kernel's own siw sources (drivers/infiniband/sw/siw), or those of another driver, into a
# folder outside the tree.
#
#   scripts/lib/stage-siw.sh [--driver hw/cxgb4] [--edits FILE] DEST [FILE-TO-LEAVE-OUT...]
#                                       copy the sources to DEST; by default those of siw
#   scripts/lib/stage-siw.sh --headers drivers/net/ethernet/chelsio/cxgb4 DEST
#                                       copy the headers of that folder to DEST
#   scripts/lib/stage-siw.sh --check        copy nothing; if it is not possible, say what to install
#
# With --edits some of the copies are changed: see stage-edit.py.
#
# The sources are from Debian's linux-source package of exactly the version of the headers: siw of another version would
# build, but misbehave. Unpacking the tarball takes a while, so the result is cached by package version. Files that did
# not change keep their time stamps.

# shellcheck source=scripts/lib/lib.sh
. "$(dirname "$0")/lib.sh"

DRIVER=sw/siw
FOLDER=		# of the driver, in the kernel's sources
EDITS=/dev/null	# a list for stage-edit.py

# Print the version of the sources; fail if it differs from the version of the headers.
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
	local dest=$1 slashes=${FOLDER//[!\/]/} tmp

	[[ ! -d $dest ]] || return 0
	tmp=$(mktemp -d "$dest.XXXXXX")
	if ! tar -xJf "$KTARBALL" -C "$tmp" --strip-components=$((${#slashes} + 2)) \
		"$KSOURCE/$FOLDER"; then
		rm -rf "$tmp"
		return 1
	fi
	chmod 755 "$tmp"
	mv -T "$tmp" "$dest"
}

unpack_once() {
	[[ -d $1 ]] || quietly "taking ${DRIVER##*/} out of $KTARBALL" unpack "$1"
}

# put FROM TO: copy, unless nothing changes, so that the time stamp stays
put() { cmp -s "$1" "$2" || cp "$1" "$2"; }

# stage FROM TO PATTERN FILE-TO-LEAVE-OUT...: copy the files that match; FROM has no subfolders.
stage() {
	local from=$1 to=$2 pattern=$3 tmp file

	shift 3
	mkdir -p "$to"
	for file in "$from"/$pattern; do
		[[ " $* " != *" ${file##*/} "* ]] || continue
		put "$file" "$to/${file##*/}"
	done
	tmp=$(mktemp "$CACHE/edit.XXXXXX")
	for file in $EDITED; do
		if ! "$TOP/scripts/lib/stage-edit.py" "$EDITS" "$from/$file" >"$tmp"; then
			rm -f "$tmp"
			die "${DRIVER##*/} of $KREL is not the one that $EDITS is for"
		fi
		put "$tmp" "$to/$file"
	done
	rm -f "$tmp"
}

main() {
	local usage='usage: stage-siw.sh [--driver NAME] [--edits FILE] DEST [FILE...]' pattern='*' EDITED=
	local dest version cached

	while [[ ${1:-} == --* && $1 != --check ]]; do
		case $1 in
		--driver) DRIVER=${2:?$usage} ;;
		--headers)
			FOLDER=${2:?$usage}
			DRIVER=$FOLDER-headers
			pattern='*.h'
			;;
		--edits)
			EDITS=${2:?$usage}
			EDITED=$("$TOP/scripts/lib/stage-edit.py" --files "$EDITS")
			;;
		*) die "$usage" ;;
		esac
		shift 2
	done
	FOLDER=${FOLDER:-drivers/infiniband/$DRIVER}
	dest=${1:?$usage}
	shift
	need_krel
	version=$(driver_version)
	[[ $dest != --check ]] || return 0
	cached=$CACHE/${DRIVER##*/}-$version
	locked "${DRIVER##*/}" unpack_once "$cached"
	# shellcheck disable=SC2086 # a list of files
	stage "$cached" "$dest" "$pattern" $EDITED "$@"
}

main "$@"

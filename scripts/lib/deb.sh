#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# make deb: build the Debian packages iw-mpa-dkms and iw-mpa-dev, in $CACHE/deb, and print the file of the former.
#
#   scripts/lib/deb.sh [VERSION]       VERSION replaces that of iw_mpa.h, for tests of upgrades
#   scripts/lib/deb.sh --into FOLDER [VERSION]   for scripts: what is in $CACHE/deb may be replaced at any time
#   scripts/lib/deb.sh --tree FOLDER   make only the tree that packages are made of
#
# debhelper needs debian/ at the top of a source tree: this script makes such a tree in the cache, from the folders that
# the packages need and from scripts/deb.

# shellcheck disable=SC2034 # for kernel.sh
NO_KERNEL=y
# shellcheck source=scripts/lib/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=scripts/lib/pages.sh
. "$TOP/scripts/lib/pages.sh"

OUT=$CACHE/deb
HERE=$TOP/scripts/deb

maintainer() { sed -n 's/^M:[[:space:]]*//p' "$TOP/MAINTAINERS" | head -n 1; }

# Print an example of a file in sysctl.d: all settings with their defaults, from the table of iw_mpa.rst, which a test
# compares with the code.
sysctl_example() {
	cat <<-'END'
	# Settings of iw_mpa, with their defaults. To change one, copy its line to a file in /etc/sysctl.d, without
	# the # in front, and give it another value. A change applies to new connections.
	END
	awk '/check: settings/, /check: end/ {
			if (/^``/) {
				gsub(/``/, "", $1)
				name[++n] = $1
				value[n] = $2 == "none" ? "" : $2
				$1 = $2 = ""
			} else if (!/^ /) {
				next
			}
			sub(/^ +/, "")
			words[n] = words[n] (words[n] == "" ? "" : " ") $0
		}
		END { for (i = 1; i <= n; i++) printf "\n# %s\n#net.iw_mpa.%s = %s\n", words[i], name[i], value[i] }' \
		"$TOP/Documentation/infiniband/iw_mpa.rst"
}

# The package installs README.md and the files behind its links in one folder, and debhelper renames CHANGELOG.md, so
# the links have to change.
mend_links() {
	sed -i 's|\[Documentation/infiniband\](Documentation/infiniband)|this folder|
		s|(Documentation/infiniband/|(|g; s|(CHANGELOG\.md)|(changelog)|' "$1"/{README,CHANGELOG}.md
}

# packaged_page FILE VERSION: print a page as a package has it, with the paths that files have once they are installed.
# The page may have some of these paths already: so a path of this tree begins where no path goes on.
packaged_page() {
	local sw=drivers/infiniband/sw examples=/usr/share/doc/iw-mpa-dkms/examples begin='(^|[^/[:alnum:]])'

	page_for package "$1" | sed -E "s:$begin$sw/iw_mpa_skeleton/(iw_mpa_toe\.[ch]):\1$examples/\2:g
		s:$begin$sw/iw_mpa_skeleton/:\1/usr/share/iw-mpa/skeleton/:g
		s:$begin($sw/(iw_mpa|srnic|compat)/|include/rdma/):\1/usr/src/iw_mpa-$2/\2:g
		s:${begin}scripts/iw_mpa\.lua:\1$examples/iw_mpa.lua:g
		s:${begin}scripts/wire\b:\1/usr/share/iw-mpa/judge/scripts/wire:g
		s:${begin}scripts/(iw-mpa)\b:\1\2:g; s:${begin}scripts/new-driver\b:\1iw-mpa-new-driver:g"
}

# copy_judge FOLDER: copy wire.sh, with the files that its --remote needs
copy_judge() (
	mkdir "$1"
	dir=$(realpath "$1")
	cd "$TOP"
	cp --parents -t "$dir" Documentation/infiniband/*conformance.rst include/rdma/iw_mpa.h \
		scripts/{iw_mpa.lua,kernels,wire.sh} scripts/lib/{archive,kernel,lib,setup,tap}.sh \
		scripts/lib/guest/{guest.sh,startup.py} scripts/wire/*.{c,h,py,sh}
)

# make_tree FOLDER VERSION: make the source tree of the packages
make_tree() {
	local tree=$1 version=$2 module page sw=drivers/infiniband/sw

	rm -rf "$tree"
	mkdir -p "$tree/$sw" "$tree/Documentation/infiniband"
	cp -r "$HERE"/* "$tree"
	rm -r "${tree:?}"/{README.md,rpm}
	cp -r "$TOP"/{CHANGELOG.md,Kbuild,README.md,dkms.conf,include} "$TOP"/scripts/{iw-mpa,iw_mpa.lua} "$tree"
	cp "$TOP"/Documentation/infiniband/*.svg "$tree/Documentation/infiniband/"
	for page in "$TOP"/Documentation/infiniband/*.rst; do
		packaged_page "$page" "$version" >"$tree/Documentation/infiniband/${page##*/}"
	done
	mend_links "$tree"
	cp -r "$TOP/$sw/compat" "$tree/$sw"
	for module in "${PACKAGED[@]}"; do
		[[ ! -d $TOP/$sw/$module ]] || cp -r "$TOP/$sw/$module" "$tree/$sw"
	done
	rm -f "$tree/$sw"/*/.kunitconfig	# only kunit.py reads it, in a kernel tree
	install -D -t "$tree/scripts/lib" "$TOP/scripts/lib/dkms-symvers.sh"
	cp "$TOP/scripts/lib/skeleton.sh" "$tree"
	cp -r "$TOP/$sw/iw_mpa_skeleton" "$tree/skeleton"
	mv "$tree"/skeleton/iw_mpa_toe.* "$tree"	# an example, no part of the skeleton
	sed -i 's/ iw_mpa_toe\.o$//' "$tree/skeleton/Kbuild"
	copy_judge "$tree/judge"
	sysctl_example >"$tree/iw-mpa.sysctl.conf"
	grep -q '^#net\.iw_mpa\.' "$tree/iw-mpa.sysctl.conf" || die 'iw_mpa.rst has no table of settings'
	# dkms.conf is a shell script, but dh_dkms does not run it: dh_dkms needs the version itself in this line.
	sed -i "s/^PACKAGE_VERSION=.*/PACKAGE_VERSION=\"$version\"/" "$tree/dkms.conf"
	sed -i "s/^\(#define IW_MPA_VERSION\t*\)\"[^\"]*\"/\1\"$version\"/" "$tree"/{,judge/}include/rdma/iw_mpa.h
	sed -i "s|@VERSION@|$version|g; s|@MAINTAINER@|$(maintainer)|
		s|@COPYRIGHT@|$(year) the authors of iw_mpa|" "$tree"/*.[58] "$tree"/dev/* \
		"$tree"/debian/{control,changelog,copyright,*.postinst}
	sed -i "1s/([^-]*-/($version-/" "$tree/debian/changelog"
}

# Print the year of the last entry of the package's changelog: a tarball of the sources has no history of git.
year() { sed -n 's/^ -- .* \(20[0-9][0-9]\) .*/\1/p' "$HERE/debian/changelog" | head -n 1; }

build_package() {
	cd "$1" || return
	dpkg-buildpackage -us -uc -b
}

# make_package FOLDER VERSION: called under a lock, so that no other run writes into FOLDER
make_package() {
	local dir=$1 version=$2

	make_tree "$dir/iw-mpa-$version" "$version"
	rm -f "$dir"/*.deb "$dir"/*.changes
	quietly "building iw-mpa-dkms and iw-mpa-dev $version" \
		build_package "$dir/iw-mpa-$version" >&2
}

main() {
	local have version dir

	have=$(our_version)
	if [[ ${1:-} == --tree ]]; then
		make_tree "${2:?FOLDER}" "$have"
		return
	fi
	if [[ ${1:-} == --into ]]; then
		OUT=${2:?FOLDER}
		shift 2
	fi
	version=${1:-$have}
	[[ $version =~ ^[0-9][0-9.]*$ ]] ||
		die 'usage: deb.sh [--into FOLDER] [VERSION], VERSION of digits and dots, or deb.sh --tree FOLDER'
	[[ -n ${1:-} || $(sed -n '1s/.*(\(.*\)-[^-]*).*/\1/p' "$HERE/debian/changelog") == "$have" ]] ||
		die "this is version $have, scripts/deb/debian/changelog is not: add an entry there"
	"$TOP/scripts/lib/setup.sh" deb
	need_space 50
	dir=$OUT/$version
	locked deb make_package "$dir" "$version"
	ls "$dir"/iw-mpa-dkms_*.deb
}

main "$@"

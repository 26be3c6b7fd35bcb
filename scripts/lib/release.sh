#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# make release: what a release page carries, in a folder of the cache whose name this prints: the Debian package,
# an RPM, the sources, what has changed, and the checksums. The same tree gives the same bytes.

# shellcheck source=scripts/lib/lib.sh
. "$(dirname "$0")/lib.sh"

VERSION=$(our_version)
OUT=$CACHE/release/$VERSION
DEBIAN=$TOP/scripts/deb/debian

# first_entry PATTERN: of Debian's list of changes, the rest of the line
first_entry() { sed -n "s/^$1//p" "$DEBIAN/changelog" | head -n 1; }

list_sources() {
	if [[ -e $TOP/.git ]]; then
		git -c safe.directory='*' -C "$TOP" ls-files -z --deduplicate
	else
		find "$TOP" -type f -printf '%P\0'
	fi
}

# pack FOLDER NAME: the files that stdin names, below NAME/, as a tarball on stdout
pack() {
	sort -z | tar -C "$1" --format=gnu --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
		--mode=u+rw,go=rX --transform="flags=r;s|^|$2/|" --no-recursion --null -T - -cf -
}

# rpm's own list of changes has another form.
rpm_changes() {
	printf '* %s %s - %s-1\n' "$(date -u -d "@$SOURCE_DATE_EPOCH" '+%a %b %d %Y')" "$1" "$VERSION"
	sed -n '1,/^ -- /s/^  \* /- /p' "$DEBIAN/changelog"
}

# Words that Debian's package has, too
make_spec() {
	local maintainer=$1 summary

	sed -n '/^Package: iw-mpa-dkms$/,/^$/p' "$DEBIAN/control" >package
	summary=$(sed -n 's/^Description: //p' package)
	sed -n '/^Description: /,$s/^ //p' package | sed 's/^\.$//' >description
	rpm_changes "$maintainer" >changes
	sed -e "s|@VERSION@|$VERSION|; s|@SUMMARY@|$summary|" -e '/^@DESCRIPTION@$/{r description
		d
	}' -e '/^@CHANGELOG@$/{r changes
		d
	}' "$TOP/scripts/deb/rpm/iw-mpa-dkms.spec"
}

# In a folder of its own: rpm's is ~/rpmbuild otherwise. A host's name and its clock are no part of a release. Nor is a
# source RPM, which has the names of folders in it: the tarball has all that this RPM is made of.
build_rpm() {
	local name=iw-mpa-dkms-$VERSION maintainer

	maintainer=$(sed -n 's/^M:[[:space:]]*//p' "$TOP/MAINTAINERS" | head -n 1)
	mkdir -p "$1"
	cd "$1" || return
	"$TOP/scripts/lib/deb.sh" --tree tree
	(cd tree && find . -type f -printf '%P\0') | pack tree "$name" | gzip -9n >"$name.tar.gz"
	make_spec "$maintainer" >iw-mpa-dkms.spec
	rpmbuild -bb --define "_topdir $PWD/top" --define "_sourcedir $PWD" --define "packager $maintainer" \
		--define '_buildhost localhost' --define 'use_source_date_epoch_as_buildtime 1' \
		--define 'clamp_mtime_to_source_date_epoch 1' --define '_binary_payload w6.xzdio' \
		iw-mpa-dkms.spec
}

# Of CHANGELOG.md, the section of this version
changes() {
	local text

	text=$(sed -n "/^## ${VERSION//./\\.}\$/,/^## /p" "$TOP/CHANGELOG.md" | sed '1d; $ { /^## /d }')
	[[ -n ${text//[[:space:]]/} ]] || die "CHANGELOG.md has no section $VERSION"
	printf '%s\n' "$text"
}

notes() {
	cat <<-END
	# iw_mpa $VERSION

	| File | For |
	| --- | --- |
	| \`iw-mpa-dkms_$VERSION-1_all.deb\` | Debian: \`apt install ./FILE linux-headers-\$(uname -r)\` |
	| \`iw-mpa-dev_$VERSION-1_all.deb\` | Debian: beside it, to write drivers of RDMA devices |
	| \`iw-mpa-dkms-$VERSION-1.noarch.rpm\` | distributions with RPM and DKMS, and Linux 6.1 or later. It was built with Debian's tools, and was not tried on such a distribution |
	| \`iw-mpa-$VERSION.tar.xz\` | the whole tree, with its tests |
	| \`SHA256SUMS\` | \`sha256sum -c SHA256SUMS\` |

	END
	changes
}

# make_release FOLDER: another release at the same moment has to wait
make_release() {
	local dir=$1 deb

	rm -rf "$dir"
	mkdir -p "$dir"
	notes >"$dir/NOTES.md"
	deb=$("$TOP/scripts/lib/deb.sh")
	cp "$deb" "${deb/iw-mpa-dkms_/iw-mpa-dev_}" "$dir/"
	list_sources | pack "$TOP" "iw-mpa-$VERSION" | xz -6 -T1 >"$dir/iw-mpa-$VERSION.tar.xz"
	quietly 'building the RPM' build_rpm "$dir/rpm" >&2
	mv "$dir"/rpm/top/RPMS/noarch/*.rpm "$dir/"
	rm -r "$dir/rpm"
	(cd "$dir" && sha256sum -- * >SHA256SUMS.new && mv SHA256SUMS.new SHA256SUMS)
}

main() {
	"$TOP/scripts/lib/setup.sh" release
	need_space 100
	SOURCE_DATE_EPOCH=$(date -d "$(first_entry ' -- .*  ')" +%s)
	export SOURCE_DATE_EPOCH
	umask 022
	[[ ! -e $TOP/.git || -z $(git -c safe.directory='*' -C "$TOP" status --porcelain) ]] ||
		say 'there are changes that are not committed: they are in the release, but for files that git does not know'
	locked release make_release "$OUT"
	echo "$OUT"
}

main "$@"

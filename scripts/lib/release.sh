#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# make release: make what a release page offers, in a folder of the cache whose name this prints: the Debian packages,
# RPMs, the sources, the list of changes, and the checksums. The same tree gives the same bytes.

# shellcheck disable=SC2034 # for kernel.sh
NO_KERNEL=y
# shellcheck source=scripts/lib/lib.sh
. "$(dirname "$0")/lib.sh"

VERSION=$(our_version)
OUT=$CACHE/release/$VERSION
DEBIAN=$TOP/scripts/deb/debian

# first_entry PATTERN: print what follows PATTERN in the first line of debian/changelog that begins
# with it
first_entry() { sed -n "s/^$1//p" "$DEBIAN/changelog" | head -n 1; }

list_sources() {
	if [[ -e $TOP/.git ]]; then
		git -c safe.directory='*' -C "$TOP" ls-files -z --deduplicate
	else
		find "$TOP" -type f -printf '%P\0'
	fi
}

# pack FOLDER NAME: write a tarball of the files that stdin names to stdout, with names below NAME/
pack() {
	sort -z | tar -C "$1" --format=gnu --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
		--mode=u+rw,go=rX --transform="flags=r;s|^|$2/|" --no-recursion --null -T - -cf -
}

# Print Debian's list of changes in the format of rpm.
rpm_changes() {
	printf '* %s %s - %s-1\n' "$(date -u -d "@$SOURCE_DATE_EPOCH" '+%a %b %d %Y')" "$1" "$VERSION"
	sed -n '1,/^ -- /s/^  \* /- /p' "$DEBIAN/changelog"
}

# of_package PACKAGE: print the section about the package of debian/control
of_package() { sed -n "/^Package: $1\$/,/^\$/p" "$DEBIAN/control"; }

summary_of() { of_package "$1" | sed -n 's/^Description: \(.\)/\u\1/p'; }
description_of() { of_package "$1" | sed -n '/^Description: /,$s/^ //p' | sed 's/^\.$//'; }

# The spec file takes texts from Debian's packages, and the code that builds drivers again after an upgrade.
make_spec() {
	local maintainer=$1

	description_of iw-mpa-dkms >description
	description_of iw-mpa-dev >description-dev
	sed -n '/^[a-z_]*() [{(]$/,/^[})]$/p' tree/debian/iw-mpa-dev.postinst | sed 's/%/%%/g' >drivers
	rpm_changes "$maintainer" >changes
	sed -e "s|@VERSION@|$VERSION|; s|@SUMMARY@|$(summary_of iw-mpa-dkms)|" \
		-e "s|@SUMMARY-DEV@|$(summary_of iw-mpa-dev)|" \
		-e '/^@DESCRIPTION@$/{r description
		d
	}' -e '/^@DESCRIPTION-DEV@$/{r description-dev
		d
	}' -e '/^@BUILD-DRIVERS@$/{r drivers
		d
	}' -e '/^@CHANGELOG@$/{r changes
		d
	}' "$TOP/scripts/deb/rpm/iw-mpa-dkms.spec"
}

# Build in a separate folder, not in ~/rpmbuild. The host's name and clock must not be part of a release. A source RPM
# is not included, since it has names of the host's folders: the tarball has all sources of the RPM.
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

# Print this version's section of CHANGELOG.md.
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
	| \`iw-mpa-dev-$VERSION-1.noarch.rpm\` | the same, to write drivers |
	| \`iw-mpa-$VERSION.tar.xz\` | the whole tree, with its tests |
	| \`SHA256SUMS\` | \`sha256sum -c SHA256SUMS\` |

	END
	changes
}

# make_release FOLDER: called under a lock, so that no other release is made at the same time
make_release() {
	local dir=$1 deb

	rm -rf "$dir"
	mkdir -p "$dir"
	notes >"$dir/NOTES.md"
	deb=$("$TOP/scripts/lib/deb.sh" --into "$dir/deb")
	cp "$deb" "${deb/iw-mpa-dkms_/iw-mpa-dev_}" "$dir/"
	rm -r "$dir/deb"
	list_sources | pack "$TOP" "iw-mpa-$VERSION" | xz -6 -T1 >"$dir/iw-mpa-$VERSION.tar.xz"
	quietly 'building the RPMs' build_rpm "$dir/rpm" >&2
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
		say 'there are changes that are not committed: they are in the release,' \
			'but for files that git does not know'
	! grep -q '^M:.*\.invalid>' "$TOP/MAINTAINERS" ||
		say 'who is asked for help is still to be filled in: see MAINTAINERS'
	locked release make_release "$OUT"
	echo "$OUT"
}

main "$@"

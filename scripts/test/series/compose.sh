# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Sourced after lib.sh by series.sh, and by test/patched.sh, which tests the result in guests:
#   compose    put our files into $NEW as they are in the kernel tree, see README.md

# shellcheck source=scripts/lib/pages.sh
. "$TOP/scripts/lib/pages.sh"

SW=drivers/infiniband/sw DOC=Documentation/infiniband
ABI=Documentation/ABI/testing/sysfs-class-infiniband-iw_mpa
declare -A PAGES=([iw_mpa]='iw_mpa iw_mpa_driver iw_mpa_engine iw_mpa_takeover' [srnic]='srnic srnic_design')

# Print "FROM TO" for each file that the kernel tree gets.
places() {
	local pages=${PAGES[*]}

	pages=${pages// /|}
	(cd "$TOP" && find $SW/{iw_mpa,srnic,iw_mpa_skeleton} include/rdma kunit/{iw_mpa,srnic} $DOC $ABI -type f) |
		sed -nE "\:/(compat|Kbuild|session\.|iwcm_faults\.|iwcm\.h): d
			s:^$SW/iw_mpa_skeleton/(iw_mpa_toe\..*):& $SW/iw_mpa/tests/\1:p; t
			s:^$SW/iw_mpa_skeleton/(.*):& samples/iw_mpa/\1:p; t
			s:^kunit/([a-z_]+)/(.*):& $SW/\1/tests/\2:p; t
			\:^$DOC/: { \:/($pages)\.rst$: !d }
			s:.*:& &:p"
	# For iw_cm as the first patches of the series change it
	echo "scripts/test/series/iw_mpa/iwcm.h $SW/iw_mpa/iwcm.h"
}

# Print a page with the kernel tree's names of files
page() {
	page_for kernel "$1" |
		sed "s|$SW/iw_mpa_skeleton/iw_mpa_toe|$SW/iw_mpa/tests/iw_mpa_toe|g
			s|$SW/iw_mpa_skeleton/|samples/iw_mpa/|g; s|\bkunit/\(iw_mpa\|srnic\)/|$SW/\1/tests/|g"
}

compose() {
	local from to

	rm -rf "$NEW"
	while read -r from to; do
		install -D -m 644 "$TOP/$from" "$NEW/$to"
		[[ $to != *.rst ]] || page "$TOP/$from" >"$NEW/$to"
	done < <(places)
	sed -i 1d "$NEW/$ABI"	# the licence: files of Documentation/ABI have no comments
	perl "$TOP/scripts/test/series/in-tree.pl" "$NEW"
}

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# make series: make this tree into series of patches for the kernel tree, in $CACHE/series/patches, on top of the newest
# linux-source of scripts/kernels, and prove that they build and pass.
#
#   scripts/series.sh [make] [text] [build] [kunit]    (no argument: all; the patches are always made)
#
# scripts/test/series lists the patches. They add whole files, at the same paths as in this tree, except that
# kunit/MODULE/ becomes the folder tests/ of the module, and iw_mpa_skeleton/ becomes samples/iw_mpa/. What only this
# tree needs is left out, as files, or as lines of files that in-tree.pl edits: see README.md in scripts/test/series.
#
# After each patch all objects build without a warning with W=1 and Debian's configuration, and so does the module, once
# Kconfig has an entry for it; checkpatch.pl --strict reports nothing. At the end kunit.py runs the suites on user mode
# Linux.

# shellcheck source=scripts/lib/lib.sh
. "$(dirname "$0")/lib/lib.sh"
# shellcheck source=scripts/lib/tap.sh
. "$TOP/scripts/lib/tap.sh"

HERE=$TOP/scripts/test/series WORK=$CACHE/series OUT=$WORK/patches
NEW=$WORK/new		# our files as they have to be in the kernel tree
REPO=$WORK/git		# the branches that the patches are made of
TREE=$WORK/linux	# the kernel's sources with the patches; OBJ: what is built of them
OBJ=$WORK/x86
SERIES=(iw_mpa srnic)	# in alphabetical order, each on top of those before it

# shellcheck source=scripts/test/series/compose.sh
. "$HERE/compose.sh"
# shellcheck source=scripts/test/series/proofs.sh
. "$HERE/proofs.sh"

git_here() { GIT_CEILING_DIRECTORIES=$CACHE git -c safe.directory='*' "$@"; }
in_repo() { git_here -C "$REPO" "$@"; }

# refresh FOLDER: after a patch has added files, write FOLDER's Makefile with only those objects
# whose source is there so far, and its Kconfig with only the options that this Makefile names. The
# Makefile names objects of takeover/ only if takeover/takeover.c is there, and the folder tests/
# only if .kunitconfig is there: the patch that adds .kunitconfig follows those that add the KUnit
# suites, except the suites of takeover/.
refresh() {
	local from=$NEW/$1 to=$REPO/$1 object
	local -a edits=()

	[[ -e $from/Makefile ]] || return 0
	[[ -e $to/.kunitconfig ]] || edits+=(-e '/ tests\/$/d')
	while IFS= read -r object; do
		[[ -e $to/${object%o}c && ($object != takeover/* || -e $to/takeover/takeover.c) ]] ||
			grep -q "^${object%.o}-y " "$from/Makefile" || edits+=(-e "s: $object\b::")
	done < <(grep -oE ' [a-z0-9_/]+\.o' "$from/Makefile" | tr -d ' ')
	[[ ! -e $to/.kunitconfig ]] || cp "$from/.kunitconfig" "$to/"
	[[ ! -e $to/.kunitconfig || -e $REPO/$SW/iw_mpa/takeover/takeover.c ]] ||
		sed -i '/^CONFIG_IW_MPA_TAKEOVER=/d' "$to/.kunitconfig"
	sed "${edits[@]}" -e '/+=$/d' "$from/Makefile" | awk -v RS= -v ORS='\n\n' '!/:=(\n|$)/' |
		sed '${/^$/d}' >"$to/Makefile"
	[[ ! -e $to/Kconfig ]] || awk 'FNR == NR { text = text $0; next }
		/^config / { skip = !index(text, "CONFIG_" $2 ")") }
		!skip' "$to/Makefile" "$from/Kconfig" | sed '${/^$/d}' >"$to/Kconfig"
}

# commit FILE: commit the patch that FILE describes
commit() {
	local folder globs

	[[ ! -e $1.diff ]] || sed "s/@MAINTAINER@/$WHO/" "$1.diff" | in_repo apply --recount - || return
	while read -r folder globs; do
		mkdir -p "$REPO/$folder"
		# shellcheck disable=SC2086 # patterns
		(cd "$NEW/$folder" && cp --parents $globs "$REPO/$folder/") && refresh "$folder" &&
			refresh "${folder%/tests}" || return
	done < <(sed -n 's/^#: //p' "$1")
	in_repo add -Af && sed '/^#/d' "$1" | in_repo commit -q --signoff -F -
}

# The patches are signed off by git's user.name. If that is not set, they have the name of this
# tree's maintainer, and must not be sent, since nobody has signed them off. No other setting of the
# user's git, except user.email, changes the patches, such as the form of diffs, hooks or keys.
identify() {
	WHO=$(sed -n 's/^M:[[:space:]]*//p' "$TOP/MAINTAINERS" | head -n 1)
	SIGNED=$(git_here -C "$TOP" config user.name || true)
	GIT_AUTHOR_NAME=${SIGNED:-${WHO% <*}}
	GIT_AUTHOR_EMAIL=$(git_here -C "$TOP" config user.email || sed 's/.*<//; s/>//' <<<"$WHO")
	export GIT_COMMITTER_NAME=$GIT_AUTHOR_NAME GIT_COMMITTER_EMAIL=$GIT_AUTHOR_EMAIL \
		GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL
	export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
}

# Files of the kernel that a series changes
changed() { sed -n 's|^+++ b/||p' "$HERE"/*/*.diff | sort -u; }

make_patches() {
	local linux=$1 base=base series file

	compose
	rm -rf "$REPO" "$OUT"
	mkdir -p "$REPO"
	in_repo init -q -b base
	(cd "$linux" && changed | xargs cp --parents -t "$REPO")
	in_repo add -A
	in_repo commit -q -m "$KSOURCE $(source_version)"
	for series in "${SERIES[@]}"; do
		in_repo checkout -q -b "$series"
		for file in "$HERE/$series"/[0-9]*[!f]; do
			commit "$file" || die "no patch of $file"
		done
		in_repo config "branch.$series.description" \
			"$(sed "/^#/d; s/@BASE@/$KSOURCE $(source_version)/" "$HERE/$series/cover")"
		in_repo format-patch -q --numbered --cover-letter --cover-from-description=subject -o "$OUT/$series" \
			"$base..$series"
		base=$series
	done
	# Fail if a file of ours is in none of the patches, or if they add another file.
	diff <(cd "$NEW" && find . -type f | sort) <(cd "$REPO" && find . -path ./.git -prune -o -type f -print |
		grep -vxF "$(changed | sed 's|^|./|')" | sort)
}

prove() {
	local linux=$1 series patch name

	# Hard links: applying a patch makes a new file, so the shared sources stay as they are.
	rm -rf "$TREE" && cp -al "$linux" "$TREE"
	! wants build || tap_run 'the kernel is configured as Debian has it' configure
	for series in "${SERIES[@]}"; do
		for patch in "$OUT/$series"/0*.patch; do
			name="$series $(basename "$patch" .patch)"
			[[ $patch != */0000-* ]] || continue
			! wants text || tap_run "$name: checkpatch" checkpatch "$patch"
			tap_run "$name applies" git_here -C "$TREE" apply "$patch"
			! wants build || tap_run "$name builds with W=1" build_all "$patch"
		done
		! wants text || for name in pages options; do
			tap_run "the tree with $series: $name" "test_$name" "$series"
		done
	done
	! wants text || for name in maintainers names; do
		tap_run "the tree: $name" "test_$name"
	done
	! wants kunit || tap_run 'kunit.py runs the suites in the kernel tree' test_kunit
	tap_run "the kernel's sources that others use are as they were" test_untouched "$linux"
}

suite() {
	local linux=$1 rc=0

	identify
	quietly 'making the patches' make_patches "$linux"
	[[ ${PARTS[*]} == make ]] || { prove "$linux" && tap_end series; } || rc=1
	echo "$(find "$OUT" -name '*.patch' | wc -l) files against $KSOURCE $(source_version): $OUT"
	[[ -n $SIGNED ]] || say 'warning: not fit to be sent, for git knows no user.name: nobody signs off'
	return "$rc"
}

main() {
	local linux newest

	PARTS=("$@")
	for newest in "$@"; do
		[[ " make text build kunit " == *" $newest "* ]] || die "no such part: $newest (make text build kunit)"
	done
	newest=$(kernel_names | tail -n 1)
	need_space 6000
	"$TOP/scripts/lib/setup.sh" build series "$newest"
	need_kernel "$newest"
	linux=$("$TOP/scripts/lib/linux-source.sh" "$newest")
	locked series suite "$linux"
}

main "$@"

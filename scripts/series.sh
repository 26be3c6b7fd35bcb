#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# make series: make this tree into series of patches for the kernel tree, in $CACHE/series/patches, on top of the newest
# linux-source of scripts/kernels, and prove that they build and pass.
#
#   scripts/series.sh [make] [text] [build] [kunit]    (no argument: all; the patches are always made)
#
# scripts/test/series lists the patches. They add whole files, at the same paths as in this tree, except that
# kunit/MODULE/ becomes the folder tests/ of the module, and iw_mpa_skeleton/ becomes samples/iw_mpa/. The compat
# folders and each Kbuild are left out, and in pages of documentation the text between "out of tree" and "in tree".
#
# After each patch all objects build without a warning with W=1 and Debian's configuration, and so does the module, once
# Kconfig has an entry for it; checkpatch.pl --strict reports nothing. At the end kunit.py runs the suites on user mode
# Linux.

# shellcheck source=scripts/lib/lib.sh
. "$(dirname "$0")/lib/lib.sh"
# shellcheck source=scripts/lib/tap.sh
. "$TOP/scripts/lib/tap.sh"

HERE=$TOP/scripts/test/series WORK=$CACHE/series OUT=$WORK/patches
NEW=$WORK/new		# our files as they are in the kernel tree
REPO=$WORK/git		# the branches that the patches are made of
TREE=$WORK/linux	# the kernel's sources with the patches; what is built of them
OBJ=$WORK/x86
SW=drivers/infiniband/sw DOC=Documentation/infiniband
ABI=Documentation/ABI/testing/sysfs-class-infiniband-iw_mpa
SERIES=(iw_mpa srnic)	# in the order of the alphabet, each on top of those before it
PAGES='iw_mpa|iw_mpa_driver|iw_mpa_takeover|iw_mpa_engine|srnic|srnic_design'

git_here() { GIT_CEILING_DIRECTORIES=$CACHE git -c safe.directory='*' "$@"; }
in_repo() { git_here -C "$REPO" "$@"; }

# "FROM TO" of each file that the kernel has
places() {
	(cd "$TOP" && find $SW/{iw_mpa,srnic,iw_mpa_skeleton} include/rdma kunit/{iw_mpa,srnic} $DOC $ABI -type f) |
		sed -nE "\:/(compat|Kbuild|session\.|iwcm_faults\.|iwcm\.h): d
			s:^$SW/iw_mpa_skeleton/(iw_mpa_toe\..*):& $SW/iw_mpa/tests/\1:p; t
			s:^$SW/iw_mpa_skeleton/(.*):& samples/iw_mpa/\1:p; t
			s:^kunit/([a-z_]+)/(.*):& $SW/\1/tests/\2:p; t
			\:^$DOC/: { \:/($PAGES)\.rst$: !d }
			s:.*:& &:p"
	# For an iw_cm as the first patches make it
	echo "scripts/test/series/iw_mpa/iwcm.h $SW/iw_mpa/iwcm.h"
	echo "scripts/test/series/iw_mpa/iw_mpa_fake_owner.c $SW/iw_mpa/tests/iw_mpa_fake_owner.c"
}

# Pages name files where they are there.
page() {
	sed '/^\.\. out of tree$/,/^\.\. in tree$/d; /^\.\. \(quote\|check\|run\): /d' "$1" | cat -s | sed '${/^$/d}' |
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
	sed -i 1d "$NEW/$ABI"	# these files have no comments
}

# refresh FOLDER: write its Makefile with only those objects whose source has been added so far, and its Kconfig with
# only the options that this Makefile names. The parts for takeover are added all at once, and so are those for the
# suites, whose last file is the configuration for kunit.py.
refresh() {
	local from=$NEW/$1 to=$REPO/$1 object
	local -a edits=()

	[[ -e $from/Makefile ]] || return 0
	[[ -e $to/.kunitconfig ]] || edits+=(-e '/ tests\/$/d')
	while IFS= read -r object; do
		[[ -e $to/${object%o}c && ($object != takeover/* || -e $to/takeover/takeover.c) ]] ||
			grep -q "^${object%.o}-y " "$from/Makefile" || edits+=(-e "s: $object\b::")
	done < <(grep -oE ' [a-z0-9_/]+\.o' "$from/Makefile" | tr -d ' ')
	sed "${edits[@]}" -e '/+=$/d' "$from/Makefile" | awk -v RS= -v ORS='\n\n' '!/:=(\n|$)/' |
		sed '${/^$/d}' >"$to/Makefile"
	[[ ! -e $to/Kconfig ]] || awk 'FNR == NR { text = text $0; next }
		/^config / { skip = !index(text, "CONFIG_" $2 ")") }
		!skip' "$to/Makefile" "$from/Kconfig" | sed '${/^$/d}' >"$to/Kconfig"
}

# commit FILE: the patch that it describes
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

# The patches are signed off by the user of git; if git has no name for the user, by the tree's maintainer, and then
# they cannot be sent. No other setting of the user's git, such as the form of diffs, hooks or keys, changes the
# patches.
identify() {
	WHO=$(sed -n 's/^M:[[:space:]]*//p' "$TOP/MAINTAINERS" | head -n 1)
	SIGNED=$(git_here -C "$TOP" config user.name || true)
	GIT_AUTHOR_NAME=${SIGNED:-${WHO% <*}}
	GIT_AUTHOR_EMAIL=$(git_here -C "$TOP" config user.email || sed 's/.*<//; s/>//' <<<"$WHO")
	export GIT_COMMITTER_NAME=$GIT_AUTHOR_NAME GIT_COMMITTER_EMAIL=$GIT_AUTHOR_EMAIL GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL
	export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
}

# What the kernel has, and a series changes
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
		in_repo format-patch -q --numbered --cover-letter --cover-from-description=subject -o "$OUT/$series" "$base..$series"
		base=$series
	done
	# Nothing was forgotten.
	diff <(cd "$NEW" && find . -type f | sort) <(cd "$REPO" && find . -path ./.git -prune -o -type f -print |
		grep -vxF "$(changed | sed 's|^|./|')" | sort)
}

tree_make() { kernel_make -C "$TREE" O="$OBJ" "$@"; }
wants() { [[ -z ${PARTS[*]} || " ${PARTS[*]} " == *" $1 "* ]]; }

# Debian's configuration, but for what takes long and shows nothing here
configure() {
	[[ $(cat "$OBJ/version" 2>/dev/null) != "$(source_version)" ]] || return 0
	rm -rf "$OBJ"
	mkdir -p "$OBJ"
	cp "$KDIR/.config" "$KDIR/Module.symvers" "$OBJ/"
	"$TREE/scripts/config" --file "$OBJ/.config" -d DEBUG_INFO_BTF -d MODULE_SIG -e KUNIT -e SAMPLES -m RDMA_SIW
	# Some callers switch errexit off; a half-made tree is not to be taken for a good one next time.
	tree_make olddefconfig && tree_make modules_prepare && source_version >"$OBJ/version"
}

# build_folder FOLDER MODULE CONFIG KCONFIG: all objects that a Makefile names, and the module if Kconfig has it
build_folder() {
	local dir=$TREE/$1 module=$2
	local -a objects not=() flags=(W=1 KCFLAGS=-Werror "M=$TREE/$1" "MO=$WORK/mo-$2" "CONFIG_$3=m")

	[[ -d $dir ]] || return 0
	mkdir -p "$WORK/mo-$module" || return
	[[ $module == iw_mpa ]] || flags+=("KBUILD_EXTRA_SYMBOLS=$WORK/mo-iw_mpa/Module.symvers")
	[[ -e $dir/.kunitconfig ]] || not+=(! -path './tests/*')
	[[ -e $dir/takeover/takeover.c ]] || not+=(! -path './takeover/*')
	mapfile -t objects < <(cd "$dir" && find . -name '*.c' "${not[@]}" | sed 's|^\./||; s|c$|o|' | sort)
	tree_make "${flags[@]}" "CONFIG_$3_KUNIT_TEST=y" "${objects[@]}" || return
	grep -qsE "^config $3$" "$TREE/$4" || return 0
	grep -qx "CONFIG_$3=m" "$OBJ/.config" || { echo "Kconfig has no $3"; return 1; }
	tree_make "${flags[@]}" modules || return
	[[ -e $WORK/mo-$module/$module.ko ]] || { echo "no $module.ko"; return 1; }
}

# build_all PATCH: with it, and those before it. In iw_cm W=1 finds fault with what is not ours.
build_all() {
	local log=$WORK/build.log

	{
		if grep -q '^+++ b/.*Kconfig' "$1"; then
			"$TREE/scripts/config" --file "$OBJ/.config" -m IW_MPA -m SRNIC -m SAMPLE_IW_MPA -e IW_MPA_TAKEOVER
			tree_make olddefconfig && tree_make modules_prepare
		fi && if grep -q '^+++ b/.*iwcm.c' "$1"; then
			tree_make KCFLAGS=-Werror drivers/infiniband/core/iwcm.o
		fi && build_folder $SW/iw_mpa iw_mpa IW_MPA $SW/iw_mpa/Kconfig &&
			build_folder samples/iw_mpa iw_mpa_skeleton SAMPLE_IW_MPA samples/Kconfig &&
			build_folder $SW/srnic srnic SRNIC $SW/srnic/Kconfig
	} >"$log" 2>&1 || { tail -n 100 "$log"; return 1; }
	! grep -iE 'warning|error:' "$log"
}

# Ignored messages: what "Does MAINTAINERS need updating?" asks is checked by test_maintainers, and trace headers are
# not laid out like other C. checkpatch.pl runs outside of a git tree, since there it would ask git about a kernel.
checkpatch() (
	ignore=$(awk '/^[A-Z]/ { print $1 }' "$TOP/scripts/test/static/checkpatch.ignore" | paste -sd ,),FILE_PATH_CHANGES
	! grep -q '^+++ b/.*/trace.*\.h' "$1" || ignore+=,OPEN_ENDED_LINE,PARENTHESIS_ALIGNMENT
	cd "$WORK" && perl "$TREE/scripts/checkpatch.pl" --root="$TREE" --strict --no-summary --terse --show-types \
		--color=never --ignore "$ignore" "$1"
)

# Each new folder has a section that names it, and each file where the kernel has others.
test_maintainers() (
	local file

	cd "$TREE" || exit 1
	while IFS= read -r file; do
		perl scripts/get_maintainer.pl --no-git --no-git-fallback --roles -f "$file" |
			grep -E 'IWARP CONNECTION MANAGER|SOFTWARE RNIC' || { echo "nobody maintains $file"; exit 1; }
	done < <(find "$NEW" -type f -printf '%P\n' | sort -t / -u -k 1,4)
)

# Each page that anything names is in the kernel, and what the kernel does not have is not named.
test_names() (
	local name

	cd "$NEW" || exit 1
	while IFS= read -r name; do
		[[ -n $(find "$TREE/Documentation" -name "$name" -print -quit) ]] || { grep -rnwF "$name" .; exit 1; }
	done < <(grep -rhoE '\b[a-z0-9_-]+\.rst\b' . | sort -u)
	! grep -rnE 'make (check|static|kunit|demo|wire|install)|README|CHANGELOG|Debian|\bcompat[_/]|_compat\b|KBUILD_EXTMOD|LINUX_VERSION_CODE|[CS]_HAS_|out of tree' .
)

# Valid, in the index, and each file that they name is there
test_pages() (
	local name path

	cd "$TREE" || exit 1
	for name in ${PAGES//|/ }; do
		rst2html --report=2 --halt=2 "$DOC/$name.rst" >/dev/null || exit 1
		grep -qx "   $name" $DOC/index.rst || { echo "$name is not in the index"; exit 1; }
		while IFS= read -r path; do
			compgen -G "$path" >/dev/null || { echo "$name.rst names $path"; exit 1; }
		done < <(grep -oE '(^|[^/a-zA-Z0-9_.-])(drivers|include|scripts|Documentation|kunit|samples)/[a-zA-Z0-9_./*-]*[a-zA-Z0-9_*/]' \
			"$DOC/$name.rst" | sed -E 's/^[^a-zA-Z]//')
	done
)

test_kunit() {
	local um=$WORK/um log=$WORK/console.log

	mkdir -p "$um"
	(
		cd "$TREE" && kernel_run tools/testing/kunit/kunit.py run --build_dir="$um" --kunitconfig=$SW/srnic \
			--jobs="$(nproc)" --timeout=300 --raw_output=all --kernel_args="uml_dir=$um/uml/"
	) >"$log" 2>&1 </dev/null || { tail -n 100 "$log"; return 1; }
	find "$NEW" -path '*/tests/*_kunit.c' -printf '%f\n' | sed 's/_kunit\.c$//' | sort |
		xargs "$TOP/scripts/lib/ktap.py" "$log" >"$WORK/kunit.log"
	grep -v '^ok ' "$WORK/kunit.log"
	grep -q '^ok ' "$WORK/kunit.log" && ! grep -q '^not ok ' "$WORK/kunit.log"
}

test_untouched() { ! (cd "$1" && changed | xargs cat) | grep -n IW_MPA; }

prove() {
	local linux=$1 patch name

	# Links: what a patch changes is a new file, and the sources that we share stay as they are.
	rm -rf "$TREE" && cp -al "$linux" "$TREE"
	! wants build || tap_run 'the kernel is configured as Debian has it' configure
	for patch in "$OUT"/*/0*.patch; do
		name="$(basename "${patch%/*}") $(basename "$patch" .patch)"
		[[ $patch != */0000-* ]] || continue
		! wants text || tap_run "$name: checkpatch" checkpatch "$patch"
		tap_run "$name applies" git_here -C "$TREE" apply "$patch"
		! wants build || tap_run "$name builds with W=1" build_all "$patch"
	done
	! wants text || for name in maintainers pages names; do
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

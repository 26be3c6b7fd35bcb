#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# make series: make this tree into series of patches for the kernel tree, in $CACHE/series/patches, on top of the newest
# linux-source of scripts/kernels, and prove that they build and pass. README.md in scripts/test/series, where the
# patches are listed, says what they have of this tree.
#
#   scripts/series.sh [make] [text] [build] [kunit]    (no argument: all; the patches are always made)
#
# After each patch all objects build without a warning with W=1 and Debian's configuration, and so does the module, once
# Kconfig has an entry for it; checkpatch.pl --strict reports nothing. At the end kunit.py runs the suites on user mode
# Linux.

. "$(dirname "$0")/lib/lib.sh"
. "$TOP/scripts/lib/tap.sh"

HERE=$TOP/scripts/test/series WORK=$CACHE/series OUT=$WORK/patches
NEW=$WORK/new		# our files as they have to be in the kernel tree
REPO=$WORK/git		# the branches that the patches are made of
TREE=$WORK/linux	# the kernel's sources with the patches; OBJ: what is built of them
OBJ=$WORK/x86
SERIES=(iw_mpa srnic)	# in alphabetical order, each on top of those before it

# shellcheck source=scripts/test/series/compose.sh
. "$HERE/compose.sh"

git_here() { GIT_CEILING_DIRECTORIES=$CACHE git -c safe.directory='*' "$@"; }
in_repo() { git_here -C "$REPO" -c user.name="${SIGNED:-${WHO% <*}}" -c user.email="$EMAIL" "$@"; }
changed() { sed -n 's|^+++ b/||p' "$HERE"/*/*.diff | sort -u; }	# files of the kernel that a series changes
tree_make() { kernel_make -C "$TREE" O="$OBJ" "$@"; }
test_untouched() { ! (cd "$1" && changed | xargs cat) | grep -n IW_MPA; }
wants() { [[ -z ${PARTS[*]} || " ${PARTS[*]} " == *" $1 "* ]]; }

# refresh FOLDER: after a patch has added files, write FOLDER's Makefile with only those objects whose source is there,
# and its Kconfig with only the options that this Makefile names. The Makefile names objects of takeover/ only if
# takeover/takeover.c is there, and the folder tests/ only if .kunitconfig is there: the patch that adds .kunitconfig
# follows those that add the KUnit suites, except the suites of takeover/.
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

# The patches are signed off by git's user.name. If that is not set, they have the name of this tree's maintainer, and
# must not be sent, since nobody has signed them off. Of the user's other settings of git only user.email is used.
identify() {
	WHO=$(sed -n 's/^M:[[:space:]]*//p' "$TOP/MAINTAINERS" | head -n 1)
	SIGNED=$(git_here -C "$TOP" config user.name || true)
	EMAIL=$(git_here -C "$TOP" config user.email || sed 's/.*<//; s/>//' <<<"$WHO")
	export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
}

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
	# Fail unless the patches add just our files, as they are in $NEW, which has none of the kernel's.
	in_repo --work-tree="$NEW" add -Af
	diff <(changed | sed 's/^/D\t/') <(in_repo diff --cached --name-status) && in_repo reset -q
}

# Debian's configuration, without options that take long and prove nothing here
configure() {
	[[ $(cat "$OBJ/version" 2>/dev/null) != "$(source_version)" ]] || return 0
	rm -rf "$OBJ"
	mkdir -p "$OBJ"
	cp "$KDIR/.config" "$KDIR/Module.symvers" "$OBJ/"
	"$TREE/scripts/config" --file "$OBJ/.config" -d DEBUG_INFO_BTF -d MODULE_SIG -e KUNIT -e SAMPLES -m RDMA_SIW
	# "&&", since errexit is off if the caller is part of a condition. The file "version" is
	# written last: if it names the sources' version, the folder is complete, and is used again.
	tree_make olddefconfig && tree_make modules_prepare && source_version >"$OBJ/version"
}

# build_folder FOLDER MODULE CONFIG KCONFIG: build all objects of a folder, and the module if Kconfig has it
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

# build_all PATCH: build with this patch and all before it; iw_cm without W=1, which would warn about others' code.
build_all() {
	local log=$WORK/build.log

	{
		if grep -q '^+++ b/.*Kconfig' "$1"; then
			"$TREE/scripts/config" --file "$OBJ/.config" -m IW_MPA -m SRNIC -m SAMPLE_IW_MPA \
				-e IW_MPA_TAKEOVER
			tree_make olddefconfig && tree_make modules_prepare
		fi && if grep -q '^+++ b/.*iwcm.c' "$1"; then
			tree_make KCFLAGS=-Werror drivers/infiniband/core/iwcm.o
		fi && build_folder "$SW/iw_mpa" iw_mpa IW_MPA "$SW/iw_mpa/Kconfig" &&
			build_folder samples/iw_mpa iw_mpa_skeleton SAMPLE_IW_MPA samples/Kconfig &&
			build_folder "$SW/srnic" srnic SRNIC "$SW/srnic/Kconfig"
	} >"$log" 2>&1 || { tail -n 100 "$log"; return 1; }
	! grep -iE 'warning|error:' "$log"
}

# checkpatch PATCH: test_maintainers checks what "Does MAINTAINERS need updating?" asks, and trace headers are not laid
# out like other C. checkpatch.pl runs outside of this tree's git repository, which it would take for the kernel's; so
# it cannot look up the commits of Fixes: tags.
checkpatch() (
	ignore=$(awk '/^[A-Z]/ { print $1 }' "$TOP/scripts/test/static/checkpatch.ignore" |
		paste -sd ,),FILE_PATH_CHANGES,UNKNOWN_COMMIT_ID
	! grep -q '^+++ b/.*/trace.*\.h' "$1" || ignore+=,OPEN_ENDED_LINE,PARENTHESIS_ALIGNMENT
	cd "$WORK" && perl "$TREE/scripts/checkpatch.pl" --root="$TREE" --strict --no-summary --terse --show-types \
		--color=never --ignore "$ignore" "$1"
)

# Check that MAINTAINERS assigns each of our files to one of our sections.
test_maintainers() (
	cd "$TREE" && [[ -e $NEW/$SW/iw_mpa/main.c ]] || exit 1
	while IFS= read -r file; do
		perl scripts/get_maintainer.pl --no-git --no-git-fallback --roles -f "$file" |
			grep -E 'IWARP CONNECTION MANAGER|SOFTWARE RNIC' || { echo "nobody maintains $file"; exit 1; }
	done < <(find "$NEW" -type f -printf '%P\n' | sort -t / -u -k 1,4)
)

# test_pages SERIES: the pages of SERIES, the last one applied, are valid, in the index, and name only files that exist.
test_pages() (
	cd "$TREE" || exit 1
	# shellcheck disable=SC2153 # of compose.sh
	for name in ${PAGES[$1]}; do
		rst2html --report=2 --halt=2 "$DOC/$name.rst" >/dev/null || exit 1
		grep -qx "   $name" "$DOC/index.rst" || { echo "$name is not in the index"; exit 1; }
		while IFS= read -r path; do
			compgen -G "$path" >/dev/null || { echo "$name.rst names $path"; exit 1; }
		done < <(grep -oP '(?<![/\w.-])(drivers|include|scripts|Documentation|kunit|samples)/[\w./*-]*[\w*/]' \
			"$DOC/$name.rst")
	done
)

test_kunit() {
	local um=$WORK/um log=$WORK/console.log

	mkdir -p "$um"
	(
		cd "$TREE" && kernel_run tools/testing/kunit/kunit.py run --build_dir="$um" --kunitconfig="$SW/srnic" \
			--jobs="$(nproc)" --timeout=300 --raw_output=all --kernel_args="uml_dir=$um/uml/"
	) >"$log" 2>&1 </dev/null || { tail -n 100 "$log"; return 1; }
	find "$NEW" -path '*/tests/*_kunit.c' -printf '%f\n' | sed 's/_kunit\.c$//' | sort |
		xargs "$TOP/scripts/lib/ktap.py" "$log" >"$WORK/kunit.log"
	grep -v '^ok ' "$WORK/kunit.log"
	grep -q '^ok ' "$WORK/kunit.log" && ! grep -q '^not ok ' "$WORK/kunit.log"
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
		! wants text || tap_run "the tree with $series: pages" test_pages "$series"
	done
	! wants text || tap_run 'the tree: maintainers' test_maintainers
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

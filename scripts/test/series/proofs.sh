# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Sourced by series.sh: proofs for the kernel's tree with the patches.

tree_make() { kernel_make -C "$TREE" O="$OBJ" "$@"; }
wants() { [[ -z ${PARTS[*]} || " ${PARTS[*]} " == *" $1 "* ]]; }

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

# checkpatch PATCH: some messages are ignored. test_maintainers checks what "Does MAINTAINERS need
# updating?" asks, and trace headers are not laid out like other C. checkpatch.pl runs outside of
# this tree's git repository, which it would take for the kernel's; so it cannot look up the commits
# of Fixes: tags.
checkpatch() (
	ignore=$(awk '/^[A-Z]/ { print $1 }' "$TOP/scripts/test/static/checkpatch.ignore" |
		paste -sd ,),FILE_PATH_CHANGES,UNKNOWN_COMMIT_ID
	! grep -q '^+++ b/.*/trace.*\.h' "$1" || ignore+=,OPEN_ENDED_LINE,PARENTHESIS_ALIGNMENT
	cd "$WORK" && perl "$TREE/scripts/checkpatch.pl" --root="$TREE" --strict --no-summary --terse --show-types \
		--color=never --ignore "$ignore" "$1"
)

# Check that MAINTAINERS assigns each of our files to one of our sections.
test_maintainers() (
	local file

	cd "$TREE" && [[ -e $NEW/$SW/iw_mpa/main.c ]] || exit 1
	while IFS= read -r file; do
		perl scripts/get_maintainer.pl --no-git --no-git-fallback --roles -f "$file" |
			grep -E 'IWARP CONNECTION MANAGER|SOFTWARE RNIC' || { echo "nobody maintains $file"; exit 1; }
	done < <(find "$NEW" -type f -printf '%P\n' | sort -t / -u -k 1,4)
)

# Pages that our files name have to be in the kernel tree. Nothing of this tree alone may be named.
test_names() (
	local name

	cd "$NEW" || exit 1
	while IFS= read -r name; do
		[[ -n $(find "$TREE/Documentation" -name "$name" -print -quit) ]] || { grep -rnwF "$name" .; exit 1; }
	done < <(grep -rhoE '\b[a-z0-9_-]+\.rst\b' . | sort -u)
	! grep -rnE "$NOT_IN_TREE" .
)

# What test_names must not find in files for the kernel tree: names that only this tree has; numbers
# of rules in its pages; and code that works around faults of an iw_cm without the patches
NOT_IN_TREE='make (check|static|kunit|demo|wire|install)|README|CHANGELOG|Debian|\bcompat[_/]|_compat\b|KBUILD_EXTMOD'
NOT_IN_TREE+='|LINUX_VERSION_CODE|[CS]_HAS_|out of tree|MODULE_VERSION|IW_MPA_(API|VERSION)|iw_mpa_api|iwcm_faults'
NOT_IN_TREE+='|accept(ed)?_again|iwcm_(accepted|check_device)|\b[A-Z]-[0-9]{2}\b([^-.]|$)'

# What pages must not have, too: numbers of old kernels (which are no sections of RFCs), and descriptions of this tree
NOT_IN_PAGES='(?<!section )(?<![.\d])6\.(1|5|6|9|12)(?![.\d])|\b([Bb]efore|until|since|[Ll]ater than) Linux|/etc/iw-mpa'
NOT_IN_PAGES+='|the source tree|the file changes|\bDKMS\b|\bscripts/'

# test_pages SERIES: the pages of SERIES are valid, in the index, name only files that exist, and
# name nothing of later series. The test runs on the kernel tree with the patches up to SERIES.
test_pages() (
	local name path pages=() later

	cd "$TREE" || exit 1
	# shellcheck disable=SC2153 # of compose.sh
	for name in ${PAGES[$1]}; do
		pages+=("$DOC/$name.rst")
		rst2html --report=2 --halt=2 "$DOC/$name.rst" >/dev/null || exit 1
		grep -qx "   $name" "$DOC/index.rst" || { echo "$name is not in the index"; exit 1; }
		while IFS= read -r path; do
			compgen -G "$path" >/dev/null || { echo "$name.rst names $path"; exit 1; }
		done < <(grep -oE '(^|[^/a-zA-Z0-9_.-])(drivers|include|scripts|Documentation|kunit|samples)/[a-zA-Z0-9_./*-]*[a-zA-Z0-9_*/]' \
			"$DOC/$name.rst" | sed -E 's/^[^a-zA-Z]//')
	done
	! grep -nP "$NOT_IN_PAGES" "${pages[@]}" || exit 1
	later=" ${SERIES[*]} "
	for name in ${later#* "$1" }; do
		! grep -rnE "\b${name}([0-9_]|\b)" "${pages[@]}" "$SW/iw_mpa" include/rdma/iw_mpa*.h samples/iw_mpa ||
			exit 1
	done
)

# By the cover letter .kunitconfig has all options that the suites need.
test_options() (
	local option

	cd "$TREE/$SW/$1" || exit 1
	while IFS= read -r option; do
		grep -qx "$option=y" .kunitconfig || { echo "$1/.kunitconfig has no $option"; exit 1; }
	done < <(grep -ohE 'CONFIG_[A-Z_]+' Makefile tests/Makefile | sort -u)
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

test_untouched() { ! (cd "$1" && changed | xargs cat) | grep -n IW_MPA; }

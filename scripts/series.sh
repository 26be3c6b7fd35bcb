#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# make series: this tree as a series of patches for the kernel tree, in $CACHE/series/patches, made
# against the newest linux-source of scripts/kernels; and what proves it.
#
#   scripts/series.sh [make] [text] [build] [kunit]    (no argument: all)
#
# The patches are always made; make alone does no more.
#
# What is ours goes to where the kernel has such files, with these changes and no others:
#
#   - parts between the lines "out of tree" and "in tree" of a page are left out, and so is what only older
#     kernels need: the compat folders
#   - each Kbuild stays here; the layers of a Makefile are added one by one
#   - kunit/MODULE/ becomes MODULE/tests/, iw_mpa_skeleton/ becomes samples/iw_mpa/
#
# Kconfig and what each patch says are in scripts/series. A patch is proved by applying it behind
# those before it to the kernel's sources: its objects build without a warning with W=1 and Debian's
# configuration, as a module when Kconfig knows it, and checkpatch.pl --strict of these sources has
# nothing to say. Behind the last, kunit.py runs the suites in the kernel tree, on user mode Linux.

# shellcheck source=scripts/lib/lib.sh
. "$(dirname "$0")/lib/lib.sh"
# shellcheck source=scripts/lib/tap.sh
. "$TOP/scripts/lib/tap.sh"

HERE=$TOP/scripts/test/series
WORK=$CACHE/series
OUT=$WORK/patches
NEW=$WORK/new		# our files as they are in the kernel tree
REPO=$WORK/git		# the commits that the patches are made of
TREE=$WORK/linux	# the kernel's sources with the patches
OBJ=$WORK/x86
UM=$WORK/um
SW=drivers/infiniband/sw
DOC=Documentation/infiniband
PAGES=(iw_mpa iw_mpa_driver iw_mpa_takeover iw_mpa_engine srnic srnic_design)
ABI=Documentation/ABI/testing/sysfs-class-infiniband-iw_mpa

# What the series changes; all else is new.
CHANGED=(MAINTAINERS drivers/infiniband/core/iwcm.c drivers/infiniband/Kconfig "$SW/Makefile" samples/Kconfig samples/Makefile
	"$DOC/index.rst")

# Is there a file or folder of this name, or pattern?
# shellcheck disable=SC2086 # patterns
is_there() { ls -d $1 >/dev/null 2>&1; }

git_here() { GIT_CEILING_DIRECTORIES=$CACHE git -c safe.directory='*' "$@"; }

# --- from our tree to the kernel's -------------------------------------------------------------

# Where our files are there; for texts that name them
TREE_PATHS="
	s|$SW/iw_mpa_skeleton/iw_mpa_toe|$SW/iw_mpa/tests/iw_mpa_toe|g
	s|$SW/iw_mpa_skeleton/|samples/iw_mpa/|g
	s|\bkunit/\(iw_mpa\|srnic\)/|$SW/\1/tests/|g"

# c_file FROM TO
c_file() {
	local -a options

	mapfile -t options < <(grep -ohE '\bCOMPAT_[A-Z_]+' "$1" | sort -u | sed 's/^/-U/')
	mkdir -p "${2%/*}"
	# It says by 1 that there was something to do.
	{ "$WORK/unifdef" -UCOMPAT "${options[@]}" "$1" || [[ $? -eq 1 ]]; } |
		sed -E -e '/^#include "compat[./]/d' -e 's/\bcompat_[a-z_]+\(([a-z_]+)\)/\1/' |
		sed "$TREE_PATHS" >"$2"
}

page() {
	sed '/^\.\. out of tree$/,/^\.\. in tree$/d; /^\.\. \(quote\|check\|run\): /d' "$1" |
		cat -s | sed "$TREE_PATHS" >"$2"
}

# Layers are added to the module one by one.
makefile() {
	local module=$1

	sed -E "s/^iw_mpa-l2-takeover :=/iw_mpa-\$(CONFIG_IW_MPA_TAKEOVER) +=/
		s/^$module-[a-z0-9-]+ :=/$module-y +=/
		/^$module-.* [:+]= [$]\(/d; / tests\/\$/d" "$TOP/$SW/$module/Makefile" | cat -s
}

# Its Kconfig, without the tests, and those alone
kconfig() { sed '/^config .*_KUNIT_TEST/,$d' "$TOP/$SW/$1/Kconfig" | sed '$d'; }
kconfig_tests() { echo && sed -n '/^config .*_KUNIT_TEST/,$p' "$TOP/$SW/$1/Kconfig"; }

fragment() { tail -n +2 "$HERE/$1"; }

# In kunit/here/ is what leans on kernels without INFINIBAND, which iw_mpa_build is about; on a kernel where
# nobody else uses the sender, see srnic_pair_tcp.h; on a port that stays out of the tree; on SCTP's session
# control, which no socket uses.
STAYS=session

stays() { [[ ${1##*/} =~ ^($STAYS)\.[ch]$ ]]; }

# tests MODULE
tests() {
	local module=$1 dir=$NEW/$SW/$1/tests file

	mkdir -p "$dir"
	for file in "$TOP/kunit/$module"/*.[ch]; do
		c_file "$file" "$dir/${file##*/}"
	done
	[[ $module != iw_mpa ]] || for file in iw_mpa_toe.c iw_mpa_toe.h; do
		c_file "$TOP/$SW/iw_mpa_skeleton/$file" "$dir/$file"
	done
	{
		echo '# SPDX-License-Identifier: GPL-2.0'
		for file in "$dir"/*.c; do
			file=${file##*/}
			echo "obj-\$(CONFIG_${module^^}_KUNIT_TEST) += ${file%.c}.o"
		done
		echo
		echo "# Suites see the private headers of what they test."
		echo "ccflags-y += -I\$(src)/.."
		[[ $module == iw_mpa ]] || ! grep -qh '^#include "iw_mpa_' "$dir"/*.[ch] ||
			printf '\n%s\n%s\n' '# And some of those that the suites of iw_mpa have' \
				"ccflags-y += -I\$(src)/../../iw_mpa/tests"
	} >"$dir/Makefile"
}

# section TITLE: of our MAINTAINERS, with the folders that are there
section() {
	local line

	sed "$TREE_PATHS" "$TOP/MAINTAINERS" | awk -v RS= -v title="$1" '$0 ~ "^" title' |
		sed '/^S:/i\
L:\tlinux-rdma@vger.kernel.org' | sed '/^F:/d'
	sed "$TREE_PATHS" "$TOP/MAINTAINERS" | awk -v RS= -v title="$1" '$0 ~ "^" title' |
		grep '^F:' | LC_ALL=C sort | while IFS= read -r line; do
		! is_there "$NEW/${line#F:?}" || printf '%s\n' "$line"
	done
}

compose() {
	local file name objects

	rm -rf "$NEW"
	mkdir -p "$NEW/include/rdma" "$NEW/$DOC" "$NEW/samples/iw_mpa" "$NEW/${ABI%/*}"
	for name in iw_mpa srnic; do
		while IFS= read -r file; do
			stays "$file" || c_file "$file" "$NEW/${file#"$TOP/"}"
		done < <(find "$TOP/$SW/$name" -name '*.[ch]' ! -path '*/compat/*')
		makefile "$name" >"$NEW/$SW/$name/Makefile"
		tests "$name"
		echo "obj-\$(CONFIG_${name^^}_KUNIT_TEST) += tests/" >"$NEW/$SW/$name/Makefile.kunit"
		kconfig "$name" >"$NEW/$SW/$name/Kconfig"
		fragment kunitconfig.iw_mpa >"$NEW/$SW/$name/.kunitconfig"
	done
	fragment kunitconfig.srnic >>"$NEW/$SW/srnic/.kunitconfig"
	for file in iw_mpa iw_mpa_proto iw_mpa_tcb; do
		c_file "$TOP/include/rdma/$file.h" "$NEW/include/rdma/$file.h"
	done
	objects=$(sed -n 's/^iw_mpa_skeleton-y := //p' "$TOP/$SW/iw_mpa_skeleton/Kbuild")
	for file in $objects skel.h; do
		file=${file/%.o/.c}
		c_file "$TOP/$SW/iw_mpa_skeleton/$file" "$NEW/samples/iw_mpa/$file"
	done
	printf '%s\n' '# SPDX-License-Identifier: GPL-2.0' \
		"obj-\$(CONFIG_SAMPLE_IW_MPA) += iw_mpa_skeleton.o" "iw_mpa_skeleton-y := $objects" \
		>"$NEW/samples/iw_mpa/Makefile"
	for name in "${PAGES[@]}"; do
		page "$TOP/$DOC/$name.rst" "$NEW/$DOC/$name.rst"
	done
	tail -n +2 "$TOP/$ABI" >"$NEW/$ABI"	# these files have no comments
}

# --- patches -----------------------------------------------------------------------------------

# take FILE...: into the commit
take() {
	local file

	for file in "$@"; do
		mkdir -p "$REPO/$(dirname "$file")"
		cp "$NEW/$file" "$REPO/$file"
	done
}

# objects MODULE LAYER...: as its Makefile has them
objects() {
	local module=$1 layer

	shift
	for layer in "$@"; do
		sed -n "s/^$module-$layer := //p" "$TOP/$SW/$module/Makefile"
	done
}

# take_layers MODULE LAYER...: their files, and the lines of the Makefile that have objects now
take_layers() {
	local module=$1 dir=$SW/$1 object word

	for object in $(objects "$@"); do
		take "$dir/${object%.o}.c"
		[[ ! -e $NEW/$dir/${object%.o}.h ]] || take "$dir/${object%.o}.h"
	done
	awk -v dir="$REPO/$dir/" -v module="$module" '
		function there(name) { return (getline line <(dir name)) >= 0 }
		/^# / && seen { comment = comment $0 "\n"; next }
		$1 ~ "^" module "-(y|[$].CONFIG_[A-Z_]*.)$" && $2 == "+=" {
			seen = 1
			name = $3
			sub(/o$/, "c", name)
			if (there(name))
				printf "%s%s\n", comment, $0
			comment = ""
			next
		}
		/^obj-/ { seen = 1 }
		{ printf "%s%s\n", comment, $0; comment = "" }' "$NEW/$dir/Makefile" >"$REPO/$dir/Makefile"
}

# before FILE REGEX TEXT, after ...: a line of the kernel's, which has to be there
before() { grep -qE "$2" "$REPO/$1" && sed -i "0,/$2/{/$2/i\\
$3
}" "$REPO/$1"; }
after() { grep -qE "$2" "$REPO/$1" && sed -i "/$2/a\\
$3" "$REPO/$1"; }

# maintainers SECTION: in its place of the alphabet
maintainers() {
	local text

	text=$(section "$1")
	[[ $text == *F:* ]] || die "MAINTAINERS has no section $1"
	# The file is not quite in order: in front of the first of its letter that stands behind it.
	LC_ALL=C TEXT=$text awk '
		/^[A-Z0-9]/ && !/^[A-Z]:/ && blank && !done &&
			substr($0, 1, 1) == substr(ENVIRON["TEXT"], 1, 1) && toupper($0) > ENVIRON["TEXT"] {
			print ENVIRON["TEXT"] "\n"
			done = 1
		}
		{ blank = $0 == ""; print }
		END { exit !done }' "$REPO/MAINTAINERS" >"$WORK/MAINTAINERS"
	mv "$WORK/MAINTAINERS" "$REPO/MAINTAINERS"
}

# build_in MODULE PLACE NEIGHBOUR: Kconfig and Makefile; PLACE is before or after
build_in() {
	take "$SW/$1/Kconfig"
	"$2" drivers/infiniband/Kconfig "sw\/$3\/Kconfig" "source \"$SW/$1/Kconfig\""
	"$2" "$SW/Makefile" " $3\/\$" "obj-\$(CONFIG_${1^^})			+= $1/"
}

add_tests() {
	local dir=$SW/$1 file

	take "$dir/.kunitconfig"
	for file in "$NEW/$dir/tests"/*; do
		take "$dir/tests/${file##*/}"
	done
	kconfig_tests "$1" >>"$REPO/$dir/Kconfig"
	sed -i "/^obj-/r $NEW/$dir/Makefile.kunit" "$REPO/$dir/Makefile"
}

# The one change of code that is there: what the message of the patch says, function by function
add_00-iwcm() {
	awk '
		match($0, /^(static )?int [a-z_]+\(/) {
			function_name = $0
			sub(/\(.*/, "", function_name)
			sub(/.* /, "", function_name)
		}
		function_name == "iw_cm_accept" && /^\t\tBUG_ON\(/ {
			sub(/BUG_ON/, "WARN_ON_ONCE")
			done += sub(/ != IW_CM_STATE_CONN_RECV/,
				"& \\&\\&\n\t\t\t     cm_id_priv->state != IW_CM_STATE_IDLE")
		}
		function_name == "cm_conn_est_handler" && /^\tBUG_ON\(/ {
			print "\tif (cm_id_priv->state == IW_CM_STATE_IDLE) {"
			print "\t\t/* The connection has ended: the ULP expects no event. */"
			print "\t\tspin_unlock_irqrestore(&cm_id_priv->lock, flags);"
			print "\t\twake_up_all(&cm_id_priv->connect_wait);"
			print "\t\treturn 0;"
			print "\t}"
			done++
		}
		function_name == "cm_close_handler" && /^\tcase IW_CM_STATE_DESTROYING:/ {
			print "\tcase IW_CM_STATE_IDLE:"
			done++
		}
		{ print }
		END { exit done != 3 }' "$REPO/drivers/infiniband/core/iwcm.c" >"$WORK/iwcm.c" || return
	mv "$WORK/iwcm.c" "$REPO/drivers/infiniband/core/iwcm.c"
}

# What each patch adds, by its name in scripts/test/series
add_01-protocol() {
	take include/rdma/iw_mpa_proto.h
	take_layers iw_mpa l0
}
add_02-worlds() {
	take include/rdma/iw_mpa.h
	take include/rdma/iw_mpa_tcb.h
	take_layers iw_mpa leaves l1
}
add_03-endpoint() {
	take_layers iw_mpa l2-memory l2-takeover l2
	take $SW/iw_mpa/takeover/{takeovers,trace_takeover}.h
}
add_04-library() {
	take_layers iw_mpa l3
	build_in iw_mpa before rxe
	maintainers IWARP
}
add_05-iw_mpa-kunit() { add_tests iw_mpa; }
add_06-sample() {
	# shellcheck disable=SC2046 # names without blanks
	take $(cd "$NEW" && echo samples/iw_mpa/*)
	before samples/Kconfig '^config SAMPLE_TRACE_EVENTS' "$(fragment Kconfig.sample | sed 's/$/\\/')
"
	after samples/Makefile '^obj-.*SAMPLE_HW_BREAKPOINT' \
		"obj-\$(CONFIG_SAMPLE_IW_MPA)		+= iw_mpa/"
}
add_07-srnic-memory() {
	take $SW/srnic/srnic.h
	take_layers srnic r0 leaves r1
}
add_08-srnic-stream() { take_layers srnic r2; }
add_09-srnic() {
	take_layers srnic r3 r4
	build_in srnic after siw
	maintainers SOFTWARE
}
add_10-srnic-kunit() { add_tests srnic; }
add_11-documentation() {
	local name

	for name in "${PAGES[@]}"; do
		take "$DOC/$name.rst"
	done
	take "$ABI"
	after $DOC/index.rst '^   ipoib$' '   iw_mpa\
   iw_mpa_driver\
   iw_mpa_engine\
   iw_mpa_takeover'
	before $DOC/index.rst '^   sysfs$' '   srnic\
   srnic_design'
}

# Who runs this signs off, if git knows who that is; else who maintains this tree, which nobody can send.
# Of the user's settings nothing else has a part in the patches: not the form of a diff, no hooks, no key.
identify() {
	local who name mail

	SIGNED=no
	! git_here -C "$TOP" config user.name >/dev/null || SIGNED=yes
	who=$(sed -n 's/^M:[[:space:]]*//p' "$TOP/MAINTAINERS" | head -n 1)
	name=$(git_here -C "$TOP" config user.name || echo "${who% <*}")
	who=${who#*<}
	mail=$(git_here -C "$TOP" config user.email || echo "${who%>}")
	export GIT_AUTHOR_NAME=$name GIT_AUTHOR_EMAIL=$mail GIT_COMMITTER_NAME=$name GIT_COMMITTER_EMAIL=$mail
	export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
}

in_repo() { git_here -C "$REPO" "$@"; }

make_patches() {
	local linux=$1 name file

	mkdir -p "$WORK"
	gcc -O2 -w -o "$WORK/unifdef" "$linux/scripts/unifdef.c"
	compose
	rm -rf "$REPO" "$OUT"
	mkdir -p "$REPO"
	in_repo init -q -b series
	for file in "${CHANGED[@]}"; do
		mkdir -p "$REPO/$(dirname "$file")"
		cp "$linux/$file" "$REPO/$file"
	done
	in_repo add -A
	in_repo commit -q -m "$KSOURCE $(source_version)"
	for file in "$HERE"/[0-9]*; do
		name=${file##*/}
		"add_$name"
		in_repo add -Af
		fragment "$name" | in_repo commit -q --signoff -F -
	done
	in_repo format-patch -q --cover-letter --numbered -o "$OUT" HEAD~"$(find "$HERE" -name '[0-9]*' | wc -l)"
	COVER=$(fragment cover | sed "s/@BASE@/$KSOURCE $(source_version)/") awk '
		/\*\*\* SUBJECT HERE \*\*\*/ {
			subject = ENVIRON["COVER"]
			sub(/\n.*/, "", subject)
			sub(/\*\*\* SUBJECT HERE \*\*\*/, subject)
		}
		/^\*\*\* BLURB HERE \*\*\*$/ {
			text = ENVIRON["COVER"]
			sub(/^[^\n]*\n\n/, "", text)
			print text
			next
		}
		{ print }' "$OUT"/0000-*.patch >"$WORK/cover"
	mv "$WORK/cover" "$(echo "$OUT"/0000-*.patch)"
	# Nothing was forgotten.
	diff <(cd "$NEW" && find . -type f ! -name Makefile.kunit | sort) \
		<(cd "$REPO" && find . -path ./.git -prune -o -type f -print | sort |
			grep -vxF "$(printf './%s\n' "${CHANGED[@]}")")
}

# --- proofs ------------------------------------------------------------------------------------

# Links: what a patch changes is a new file, and the sources that we share stay as they are.
make_tree() {
	rm -rf "$TREE"
	cp -al "$1" "$TREE"
}

tree_make() { kernel_make -C "$TREE" O="$OBJ" "$@"; }

# Debian's configuration, but for what takes long and shows nothing here
configure() {
	[[ $(cat "$OBJ/version" 2>/dev/null) != "$(source_version)" ]] || return 0
	rm -rf "$OBJ"
	mkdir -p "$OBJ"
	cp "$KDIR/.config" "$KDIR/Module.symvers" "$OBJ/"
	"$TREE/scripts/config" --file "$OBJ/.config" -d DEBUG_INFO_BTF -d MODULE_SIG -e KUNIT -e SAMPLES \
		-m RDMA_SIW
	# Some callers switch errexit off; a half-made tree is not to be taken for a good one next time.
	tree_make olddefconfig && tree_make modules_prepare && source_version >"$OBJ/version"
}

apply_patch() { (cd "$TREE" && git_here apply "$1"); }

has_config() { grep -qsE "^config $1$" "$TREE/$2"; }

# build_folder FOLDER MODULE CONFIG KCONFIG: all of its objects, and the module if Kconfig has it
build_folder() {
	local dir=$1 module=$2 config=$3 kconfig=$4
	local -a objects=() flags=(W=1 KCFLAGS=-Werror "M=$TREE/$dir" "MO=$WORK/mo-$module")

	[[ -d $TREE/$dir ]] || return 0
	mkdir -p "$WORK/mo-$module"
	mapfile -t objects < <(cd "$TREE/$dir" && find . -name '*.c' | sed 's|^\./||; s|c$|o|' | sort)
	tree_make "${flags[@]}" "CONFIG_$config=m" "CONFIG_${config}_KUNIT_TEST=y" "${objects[@]}" || return
	has_config "$config" "$kconfig" || return 0
	grep -qx "CONFIG_$config=m" "$OBJ/.config" || { echo "Kconfig has no $config"; return 1; }
	[[ $module == iw_mpa ]] || flags+=("KBUILD_EXTRA_SYMBOLS=$WORK/mo-iw_mpa/Module.symvers")
	tree_make "${flags[@]}" modules || return
	[[ -e $WORK/mo-$module/$module.ko ]] || { echo "no $module.ko"; return 1; }
}

# After a patch that adds to Kconfig
configure_ours() {
	grep -q '^+++ b/.*Kconfig' "$1" || return 0
	"$TREE/scripts/config" --file "$OBJ/.config" -m IW_MPA -m SRNIC -m SAMPLE_IW_MPA
	tree_make olddefconfig && tree_make modules_prepare
}

# W=1 finds fault with what is not ours there.
build_core() {
	! grep -q '^+++ b/drivers/infiniband/core/iwcm.c' "$1" ||
		tree_make KCFLAGS=-Werror drivers/infiniband/core/iwcm.o
}

# build_all PATCH: with it, and those before it
build_all() {
	local log=$WORK/build.log

	{
		configure_ours "$1" && build_core "$1" &&
			build_folder $SW/iw_mpa iw_mpa IW_MPA $SW/iw_mpa/Kconfig &&
			build_folder samples/iw_mpa iw_mpa_skeleton SAMPLE_IW_MPA samples/Kconfig &&
			build_folder $SW/srnic srnic SRNIC $SW/srnic/Kconfig
	} >"$log" 2>&1 || { tail -n 100 "$log"; return 1; }
	! grep -iE 'warning|error' "$log"
}

# Who is asked by "does MAINTAINERS need updating?" is answered by test_maintainers, for all patches.
checkpatch() (
	local ignore types

	types=$(awk '/^[A-Z]/ { print $1 }' "$TOP/scripts/test/static/checkpatch.ignore" | paste -sd ,)
	ignore=$types,FILE_PATH_CHANGES
	# The trace headers' own way to be laid out is not that of C.
	! grep -q '^+++ b/.*/trace.*\.h' "$1" || ignore+=,OPEN_ENDED_LINE,PARENTHESIS_ALIGNMENT
	# In a git tree it would ask git about a kernel.
	cd "$WORK" || exit 1
	perl "$TREE/scripts/checkpatch.pl" --root="$TREE" --strict --no-summary --terse --show-types \
		--color=never --ignore "$ignore" "$1"
)

# Each new file has a section that names it.
test_maintainers() (
	local dir file section

	cd "$TREE" || exit 1
	while IFS= read -r dir; do
		file=$(find "$dir" -maxdepth 1 -type f | sort | head -n 1)
		section='IWARP CONNECTION MANAGER'
		[[ $dir != *srnic* ]] || section='SOFTWARE RNIC'
		perl scripts/get_maintainer.pl --no-git --no-git-fallback --roles -f "$file" |
			grep -F "$section" || { echo "nobody maintains $file"; exit 1; }
	done < <(cd "$NEW" && { find . -name '*.[ch]' -path './[ds]*' -printf '%h\n' | sort -u
		find ./include ./Documentation -type f; } | sed 's|^\./||')
)

# Each page that anything names is in the kernel, and what the kernel does not have is not named.
test_names() (
	local name

	cd "$NEW" || exit 1
	while IFS= read -r name; do
		[[ -n $(find "$TREE/Documentation" -name "$name" -print -quit) ]] ||
			{ grep -rnwF "$name" .; exit 1; }
	done < <(grep -rhoE '\b[a-z0-9_-]+\.rst\b' . | sort -u)
	! grep -rnE 'README|CHANGELOG|Debian' .
)

# Valid, in the index, and each file that they name is there
test_pages() (
	local name path

	cd "$TREE" || exit 1
	for name in "${PAGES[@]}"; do
		rst2html --report=2 --halt=2 "$DOC/$name.rst" >/dev/null || exit 1
		grep -qx "   $name" $DOC/index.rst || { echo "$name is not in the index"; exit 1; }
		while IFS= read -r path; do
			is_there "$path" || { echo "$name.rst names $path"; exit 1; }
		done < <(grep -oE '(^|[^/a-zA-Z0-9_.-])(drivers|include|scripts|Documentation|kunit|samples)/[a-zA-Z0-9_./*-]*[a-zA-Z0-9_*/]' \
			"$DOC/$name.rst" | sed -E 's/^[^a-zA-Z]//')
		! grep -nE 'make (check|static|kunit|demo|wire|install)|README|CHANGELOG|\bcompat\b' "$DOC/$name.rst" ||
			exit 1
	done
)

# A header that a suite includes is where its Makefile has the compiler look. The build shows it, too, in
# minutes.
test_includes() (
	local module file name folder
	local -a folders

	cd "$NEW/$SW" || exit 1
	for module in iw_mpa srnic; do
		mapfile -t folders < <(echo "$module/tests"
			sed -n "s|.*-I\$(src)|$module/tests|p" "$module/tests/Makefile")
		while IFS=: read -r file name; do
			for folder in "${folders[@]}"; do
				[[ ! -e $folder/$name ]] || continue 2
			done
			echo "$file includes $name"
			exit 1
		done < <(grep -oE '^#include "[^"]+' "$module"/tests/*.[ch] | sed 's/#include "//')
	done
)

# Of the compat folders and their words nothing is left.
test_no_compat() {
	! grep -rniE '\bcompat_|_compat\b|\bcompat/|KBUILD_EXTMOD|LINUX_VERSION_CODE|SRNIC_HAS|out of tree' \
		"$NEW/$SW" "$NEW/samples" "$NEW/include" "$NEW/$DOC"
}

test_kunit() {
	local log=$WORK/console.log
	local -a suites

	mapfile -t suites < <(cd "$NEW" && find . -path '*/tests/*_kunit.c' -printf '%f\n' |
		sed 's/_kunit\.c$//' | sort)
	mkdir -p "$UM"
	(
		cd "$TREE" && kernel_run tools/testing/kunit/kunit.py run --build_dir="$UM" \
			--kunitconfig=$SW/srnic --jobs="$(nproc)" --timeout=300 --raw_output=all \
			--kernel_args="uml_dir=$UM/uml/"
	) >"$log" 2>&1 </dev/null || { tail -n 100 "$log"; return 1; }
	"$TOP/scripts/lib/ktap.py" "$log" "${suites[@]}" >"$WORK/kunit.log" || true
	grep -v '^ok ' "$WORK/kunit.log" || true
	echo "$(grep -c '^ok ' "$WORK/kunit.log") cases passed"
	grep -q '^ok ' "$WORK/kunit.log" && ! grep -q '^not ok ' "$WORK/kunit.log"
}

# name_of PATCH
name_of() { basename "$1" .patch; }

# What can be said without building
prove_text() {
	local patch

	for patch in "$OUT"/0*.patch; do
		[[ $patch == */0000-* ]] || tap_run "$(name_of "$patch"): checkpatch" checkpatch "$patch"
	done
	tap_run 'nothing is left for older kernels' test_no_compat
	tap_run 'each header that suites include is there' test_includes
}

# The tree is as it is behind the last, then.
prove_build() {
	local patch

	tap_run 'the kernel is configured as Debian has it' configure
	for patch in "$OUT"/0*.patch; do
		[[ $patch != */0000-* ]] || continue
		say "series: building with $(name_of "$patch")"
		tap_run "$(name_of "$patch") applies" apply_patch "$patch"
		tap_run "$(name_of "$patch") builds with W=1" build_all "$patch"
	done
}

apply_all() {
	local patch

	for patch in "$OUT"/0*.patch; do
		[[ $patch == */0000-* ]] || apply_patch "$patch" || return
	done
}

wants() { [[ ${#PARTS[@]} -eq 0 || " ${PARTS[*]} " == *" $1 "* ]]; }

prove() {
	local linux=$1

	make_tree "$linux"
	! wants text || prove_text
	if wants build; then
		prove_build
	else
		tap_run 'the patches apply' apply_all
	fi
	if wants text; then
		tap_run 'each file has a maintainer' test_maintainers
		tap_run 'the pages fit into the tree' test_pages
		tap_run 'no file names what stays here' test_names
	fi
	if wants kunit; then
		say 'series: kunit.py in the kernel tree (from nothing it takes minutes)'
		tap_run 'kunit.py runs the suites in the kernel tree' test_kunit
	fi
	tap_run "the kernel's sources that others use are as they were" \
		bash -c '! grep -q IW_MPA "$@"' - "${CHANGED[@]/#/$linux/}"
}

suite() {
	local linux=$1 rc=0

	identify
	quietly 'making the patches' make_patches "$linux"
	if [[ ${PARTS[*]} != make ]]; then
		prove "$linux"
		tap_end series || rc=1
	fi
	echo "$(find "$OUT" -name '*.patch' | wc -l) files against $KSOURCE $(source_version): $OUT"
	[[ $SIGNED == yes ]] || say 'warning: not fit to be sent, for git knows no user.name: nobody signs off'
	return "$rc"
}

main() {
	local linux newest word

	for word in "$@"; do
		[[ " make text build kunit " == *" $word "* ]] || die "no such part: $word (make text build kunit)"
	done
	PARTS=("$@")
	newest=$(kernel_names | tail -n 1)
	need_space 6000
	"$TOP/scripts/lib/setup.sh" build series "$newest"
	need_kernel "$newest"
	linux=$("$TOP/scripts/lib/linux-source.sh" "$newest")
	locked series suite "$linux"
}

main "$@"

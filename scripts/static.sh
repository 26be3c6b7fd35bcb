#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# All checks of the tree that need not run the modules.
#
#   scripts/static.sh [--sample] [TEST...]    (no argument: all of them; names as in the list at the end)
#
# --sample leaves out the builds for 6.12 of modules that no guest loads, and with warnings that 6.1 gives, too.
#
# A long check is not repeated for a file that has passed it and has not changed since, if the checking program is the
# same. AFRESH=y repeats all.
#
# Only messages about files of this tree count, not those about the sources of siw and iw_cxgb4, which are copied into
# the build.

. "$(dirname "$0")/lib/lib.sh"
. "$TOP/scripts/lib/tap.sh"

export IW_MPA_BUILD=$CACHE/static	# separate objects, for build.sh
MAX_LINES=1000			# of a C file; a longer one has more than one subject, as a rule
MAX_HEADER_LINES=1000

# Types of messages of checkpatch.pl that are ignored: they would be about code that is right
mapfile -t IGNORE < <(awk '/^[A-Z]/ { print $1 }' "$TOP/scripts/test/static/checkpatch.ignore")
# Macros of trace headers are laid out in their own way, not like C.
IGNORE_TRACE=(OPEN_ENDED_LINE PARENTHESIS_ALIGNMENT)

# Tracked files and new ones that are not ignored
files() {
	git -c safe.directory='*' -C "$TOP" ls-files -co --exclude-standard --deduplicate -- "$@" |
		while IFS= read -r file; do
			[[ ! -f $TOP/$file ]] || printf '%s\n' "$file"
		done
}

c_files() { files 'drivers/*.[ch]' 'include/*.h' 'kunit/*.[ch]'; }

scripts() {
	files scripts .ci | while IFS= read -r file; do
		[[ $(head -n 2 "$file" | tr -d '\0') != *[/\ ]bash* && $file != *.sh &&
			$(head -n 1 "$file" | tr -d '\0') != '#!/bin/sh'* ]] || printf '%s\n' "$file"
	done
}

python_files() {
	files | while IFS= read -r file; do
		[[ $file != *.py && $(head -n 1 "$file" | tr -d '\0') != '#!'*python3 ]] || printf '%s\n' "$file"
	done
}

# none TEXT: succeed if stdin has no line; else show the lines and what is wrong with them
none() {
	local lines

	lines=$(cat)
	[[ -n $lines ]] || return 0
	printf '%s:\n%s\n' "$1" "$lines"
	return 1
}

# same LINE...: succeed if stdin has exactly these lines; else show the difference
same() { diff <(printf '%s\n' "$@") -; }

# sum_of WORD [FILE...]: one checksum of WORD, this script and the files
sum_of() { { echo "$1" && sha256sum scripts/static.sh "${@:2}"; } | sha256sum | cut -d ' ' -f 1; }

# unless_passed NAME SUM COMMAND...: SUM is a checksum of COMMAND's inputs. Skip COMMAND if the last
# run for NAME passed with the same SUM, unless AFRESH is set. The SUM of a run that passed is kept.
unless_passed() {
	local mark=$IW_MPA_BUILD/passed/$1

	[[ -n ${AFRESH:-} || $(cat "$mark" 2>/dev/null) != "$2" ]] || return 0
	mkdir -p "${mark%/*}"
	rm -f "$mark"
	"${@:3}" || return 1
	echo "$2" >"$mark"
}

# Lines of a build log with complaints about our files
about_us() {
	grep -E "$IW_MPA_BUILD/src/(include|drivers)/[^ ]*: *(warning|error)|WARNING: modpost|ERROR: modpost" |
		grep -vE "$IW_MPA_BUILD/src/drivers/infiniband/(sw/siw_mpa/siw|hw/cxgb4_mpa/(cxgb4|chelsio))/" || true
}

# Settings for parts that are built only on request
examples() {
	echo IW_MPA_SKELETON=y
	echo IW_MPA_CXGB4=y
	echo CONFIG_IW_MPA_SCTP=y
}

# built TEXT LOG COMMAND...: run COMMAND, which builds in $IW_MPA_BUILD with W=1, and write its
# output to LOG. If COMMAND fails, so does built(). If LOG has warnings about files of this tree,
# print TEXT and the warnings, and fail. A compiler warns only when it makes an object: so the next
# call keeps the objects only if this one had no warning, and the compiler is still the same.
built() {
	local text=$1 log=$2 clean=$IW_MPA_BUILD/clean compiler

	shift 2
	compiler=$(gcc --version | head -n 1)
	mkdir -p "$IW_MPA_BUILD"
	[[ $(cat "$clean" 2>/dev/null) == "$compiler" ]] ||
		find "$IW_MPA_BUILD" -path '*/src/drivers/*' -name '*.o' -delete
	rm -f "$clean"
	"$@" >"$log" 2>&1 || { tail -n 100 "$log"; return 1; }
	about_us <"$log" | none "$text" || return 1
	echo "$compiler" >"$clean"
}

# build_clean TEXT KERNEL ARGUMENT...: build our modules, also the parts that are built only on request
build_clean() {
	local -a settings

	mapfile -t settings < <(examples "$2")
	built "$1 for $2" "$IW_MPA_BUILD/build.log" env KERNEL="$2" IW_MPA_SIW=y "${settings[@]}" \
		scripts/lib/build.sh modules W=1 "${@:3}"
}

test_compiler() { build_clean 'warnings with W=1' 6.1; }

test_compiler_6.12() { IW_MPA_BUILD=$IW_MPA_BUILD-6.12 build_clean 'warnings with W=1' 6.12; }

# A driver that new-driver makes compiles without a warning, and no name of the skeleton, its template, is left in it.
test_new_driver() {
	local dir=$IW_MPA_BUILD/new-driver log=$IW_MPA_BUILD/new-driver.log

	rm -rf "$dir"
	KERNEL=6.1 built 'warnings with W=1' "$log" scripts/new-driver acme_9 "$dir" W=1 || return 1
	{ grep -E 'warning:|WARNING:|ERROR:' "$log" || true; } | none 'warnings with W=1' || return 1
	{ grep -in skel "$dir"/* || true; } | none 'names of the skeleton' || return 1
	[[ $(modinfo -F alias "$dir/acme_9.ko") == rdma-link-acme_9 ]] ||
		{ modinfo "$dir/acme_9.ko"; return 1; }
	[[ $(modinfo -F iw_mpa_api "$dir/acme_9.ko") == \
		"$(modinfo -F iw_mpa_api "$IW_MPA_BUILD/src/drivers/infiniband/sw/iw_mpa/iw_mpa.ko")" ]] ||
		{ modinfo "$dir/acme_9.ko"; return 1; }
	! scripts/new-driver acme_9 "$dir" >"$log" 2>&1 || { echo 'it overwrites'; return 1; }
}

# Test make install, into a separate root folder, and make uninstall. The host's folders must not
# change. Only "make install IW_MPA_SIW=y" may build and install the module siw_mpa.
test_install() {
	mkdir -p "$IW_MPA_BUILD"
	touch "$IW_MPA_BUILD/before"
	install_for "${1:-6.1}" || return 1
	find /lib/modules /usr/local/sbin \( -name '*iw_mpa*' -o -name iw-mpa \) \
		-newer "$IW_MPA_BUILD/before" | none 'it wrote here'
}

test_install_6.12() { IW_MPA_BUILD=$IW_MPA_BUILD-6.12 test_install 6.12; }

# installed MODULE...: only these modules and the command are installed
installed() {
	find "$root" -type f ! -name 'modules.*' | sort |
		same "${@/#/$updates/}" "$root/usr/local/sbin/iw-mpa"
}

# user_make ARGUMENT...: run make below $root; without W=1 all would be compiled again
user_make() { built 'warnings' "$IW_MPA_BUILD/install.log" make -s "$@" W=1 "INSTALL_MOD_PATH=$root"; }

# builds_driver: build a driver whose sources are not in this tree, using only the files that "make
# install-dev" has installed below $root. After that "make install" replaces iw_mpa's modules: it
# has to remove the list of the old modules' symbols, so that the build of a driver then fails.
builds_driver() {
	local dir=$IW_MPA_BUILD/author symbols=$root/usr/local/share/iw-mpa/symvers/$KREL

	rm -rf "$dir"
	built 'what iw-mpa-new-driver says' "$dir.log" "$root/usr/local/bin/iw-mpa-new-driver" acme "$dir" &&
		built 'warnings' "$dir.log" make -C "$dir" KDIR="$KDIR" || return 1
	{ grep -E 'warning:|WARNING:|ERROR:|is not built for' "$dir.log" || true; } | none 'of the driver' || return 1
	modinfo -F depends "$dir/acme.ko" | grep -qw iw_mpa || { echo 'it does without iw_mpa'; return 1; }
	{ grep -rl "$TOP" "$dir" || true; } | none 'looks into the tree' || return 1
	[[ -e $symbols ]] || { echo 'no symbols'; return 1; }
	"$root/usr/local/bin/iw-mpa-judge" --device acme0 --remote nowhere -l -k '^responder_rtr_offer_0 ' |
		same "$(scripts/wire.sh -l -k '^responder_rtr_offer_0 ')" || return 1
	user_make install || return 1
	[[ ! -e $symbols ]] || { echo 'stale symbols'; return 1; }
	! make -C "$dir" KDIR="$KDIR" >"$dir.log" 2>&1 || { echo 'it builds without symbols'; return 1; }
	grep -q 'is not built for' "$dir.log" || { cat "$dir.log"; return 1; }
}

install_for() (
	root=$IW_MPA_BUILD/root
	need_kernel "$1"
	updates=$root/lib/modules/$KREL/updates
	rm -rf "$root"
	user_make install IW_MPA_SIW=y && installed {iw_mpa,siw_mpa,srnic}.ko || exit 1
	[[ -x $root/usr/local/sbin/iw-mpa ]] || { echo 'iw-mpa is no program'; exit 1; }
	for module in iw_mpa siw_mpa srnic; do
		modinfo -b "$root" -k "$KREL" -n "$module" | same "$updates/$module.ko" || exit 1
		modinfo -b "$root" -k "$KREL" -F vermagic "$module" | cut -d ' ' -f 1 | same "$KREL" ||
			exit 1
	done
	# For "rdma link add ... type siw" the kernel loads the module rdma-link-siw, an alias of siw_mpa.
	for module in siw_mpa rdma-link-siw; do
		modprobe -d "$root" -S "$KREL" --show-depends "$module" | sed 's/ *$//' |
			same "insmod $updates/iw_mpa.ko" "insmod $updates/siw_mpa.ko" || exit 1
	done
	user_make uninstall || exit 1
	find "$root" -type f ! -name 'modules.*' | none 'left by make uninstall' || exit 1
	user_make install IW_MPA_SKELETON=y && installed {iw_mpa,iw_mpa_skeleton,iw_mpa_toe,srnic}.ko || exit 1
	user_make install-dev && builds_driver || exit 1
	user_make uninstall || exit 1
	find "$root" -type f ! -name 'modules.*' | none 'left by make uninstall after install-dev' || exit 1
	user_make install && installed {iw_mpa,srnic}.ko || exit 1
	# The command must stay as long as another kernel has modules.
	other=$root/lib/modules/6.1.0-1-amd64/updates
	install -D -m 644 -t "$other" "$updates/srnic.ko"
	user_make uninstall "KREL=$KREL" && updates=$other installed srnic.ko || exit 1
	user_make uninstall KREL= || exit 1
	find "$root" -type f ! -name 'modules.*' | none 'left by make uninstall of the last kernel'
)

# modules_for SETTING...: which modules Kbuild builds for a kernel with these settings
modules_for() {
	# shellcheck disable=SC2016
	printf '%s\n' 'include Kbuild' 'all: ; @printf "%s\n" $(notdir $(obj-m:/=))' |
		make -s -f - src=. "$@" all
}

# Kbuild leaves out srnic, and only srnic, for a kernel with high memory, or with aliases in its caches.
test_high_memory() {
	modules_for CONFIG_HIGHMEM= | same iw_mpa srnic &&
		modules_for CONFIG_HIGHMEM=y | same iw_mpa &&
		modules_for CONFIG_ARCH_HAS_CPU_CACHE_ALIASING=y | same iw_mpa
}

# C=2 makes sparse read every source again, even those that need not be compiled.
test_sparse() {
	local -a inputs

	mapfile -t inputs < <(files 'drivers/*' 'include/*' Kbuild scripts/kernels 'scripts/lib/stage*' \
		scripts/lib/{build,kernel,lib}.sh)
	unless_passed sparse "$(sum_of "$(sparse --version) $(gcc --version) $(kernel_release 6.1)" \
		"${inputs[@]}")" build_clean sparse 6.1 C=2 CF=-D__CHECK_ENDIAN__
}

kernel_release() (
	need_kernel "$1"
	echo "$KREL"
)

# columns FILE: how wide its lines may be: 80 as in the kernel, except in files written for 100
columns() {
	case $1 in
	kunit/* | drivers/*/compat/*) echo 100 ;;
	*/srnic/mem.h | */srnic/place.c | */srnic/rq.c | */srnic/send.c | */srnic/srnic.h | */srnic/stats.c) echo 100 ;;
	*) echo 80 ;;
	esac
}

# wide FILE: stdin has checkpatch.pl's messages about FILE. Print them, except those about two kinds
# of long lines, and fail if any was printed. The two kinds are rows X(...) and GOTO(...) of tables,
# with up to 100 columns, and strings, which checkpatch.pl does not recognize if ";" follows.
wide() {
	awk -F: 'FNR == NR { line[FNR] = $0; next }
		/:LONG_LINE:/ && line[$2] ~ /";$/ { next }
		/:LONG_LINE(_COMMENT)?: line length of ([89][0-9]|100) / && line[$2] ~ /^\t+(X|GOTO)\(/ { next }
		{ print; bad = 1 }
		END { exit bad }' "$1" -
}

# checkpatch_file FILE CHECKPATCH IGNORED
checkpatch_file() {
	perl "$2" --strict --no-tree --no-summary --terse --show-types --color=never \
		"--max-line-length=$(columns "$1")" --ignore "$3" -f "$1" | wide "$1" && [[ ${PIPESTATUS[0]} -le 1 ]]
}

# checkpatch IGNORED FILE...: use every processor, since each file takes a second
checkpatch() (
	linux=$(scripts/lib/linux-source.sh)
	judge=$(sha256sum "$linux"/scripts/{checkpatch.pl,spelling.txt,const_structs.checkpatch})
	export -f checkpatch_file columns wide sum_of unless_passed
	export IGNORED=$1 JUDGE=$judge CHECKPATCH=$linux/scripts/checkpatch.pl
	# shellcheck disable=SC2016 # variables of the other shell
	printf '%s\n' "${@:2}" | xargs -n 1 -P "$(nproc)" bash -c 'unless_passed "checkpatch/${0//\//-}" \
		"$(sum_of "$JUDGE $IGNORED" "$0")" checkpatch_file "$0" "$CHECKPATCH" "$IGNORED"'
)

test_checkpatch() {
	local -a traces others
	local rc=0

	mapfile -t traces < <(c_files | grep '/trace[^/]*\.h$')
	mapfile -t others < <(c_files | grep -v '/trace[^/]*\.h$')
	checkpatch "$(IFS=,; echo "${IGNORE[*]}")" "${others[@]}" || rc=1
	checkpatch "$(IFS=,; echo "${IGNORE[*]},${IGNORE_TRACE[*]}")" "${traces[@]}" || rc=1
	return "$rc"
}

# Print where a function of iw_mpa has kernel-doc, although it is not exported: only functions that
# other modules can call have kernel-doc. A function's kernel-doc begins "name - summary"; that of a
# structure begins "struct name - summary".
undue_kernel_doc() {
	local file

	for file in $(files 'drivers/infiniband/sw/iw_mpa/*.[ch]'); do
		awk -v file="$file" '
			FNR == NR && /^EXPORT_SYMBOL[A-Z_]*\([a-z0-9_]+/ {
				sub(/^[A-Z_]*\(/, "", $0)
				sub(/[,)].*/, "", $0)
				exported[$0] = 1
			}
			FNR == NR { next }
			opens && match($0, /^ \* [a-z0-9_]+(\(\))? - /) {
				name = $2
				sub(/\(\)/, "", name)
				if (!(name in exported))
					print file ":" FNR ": " name
			}
			{ opens = /^\/\*\*$/ }
			/^\/\*\* [a-z0-9_]+(\(\))? - / { print file ":" FNR ": " $2 }' "$file" "$file"
	done
}

test_kernel_doc() {
	local linux

	undue_kernel_doc | none 'kernel-doc on what is not exported: a plain comment says why' || return 1
	linux=$(scripts/lib/linux-source.sh)
	# shellcheck disable=SC2046 # names without spaces, one argument each
	perl "$linux/scripts/kernel-doc" -Werror -none \
		$(files 'include/rdma/*.h' 'drivers/infiniband/*.[ch]')
}

test_shell() {
	local -a inputs

	mapfile -t inputs < <(scripts)
	unless_passed shell "$(sum_of "$(shellcheck --version)" "${inputs[@]}")" check_shell
}

# SC2034, unused variables, is off: a file that is sourced sets variables that only others use.
check_shell() {
	scripts | xargs -n 8 -P "$(nproc)" shellcheck -x -P SCRIPTDIR -P "$TOP/scripts" -e SC1091,SC2034
}

test_python() {
	# shellcheck disable=SC2046 # names without spaces, one argument each
	python3 -W error - $(python_files) <<-'EOF'
		import sys
		for name in sys.argv[1:]:
		    with open(name, encoding='utf-8') as source:
		        compile(source.read(), name, 'exec')
	EOF
}

# stage-edit.py changes the sources of other drivers, and has to fail if it does not find what to change.
test_stage_edit() { scripts/lib/stage-edit.py --selftest; }

test_layers_selftest() { scripts/test/static/check-layers.py --selftest; }

# Tests of iw-mpa, ci-setup and iw_mpa.lua, on a machine without RDMA devices
test_tools() { scripts/test/static/tools.py; }

test_mutants() { scripts/test/mutate/mutate.py --selftest; }

test_layers() {
	local objects

	objects=$(dirname "$(find "$IW_MPA_BUILD" -path '*/sw/iw_mpa/iw_mpa.o' | head -n 1)")
	scripts/test/static/check-layers.py --objects "$objects"
}

# The pages are valid, and agree with the code.
test_docs() {
	local file

	scripts/test/static/check-docs.py --selftest || return 1
	scripts/e2e/guide.py --selftest || return 1
	scripts/lib/page.py --selftest || return 1
	scripts/lib/page.py --check Documentation/infiniband/iw_mpa_demo.svg || return 1
	python3 scripts/test/bench/report.py --selftest || return 1
	scripts/test/static/check-docs.py || return 1
	for file in $(files '*.rst'); do
		unless_passed "rst/${file//\//-}" "$(sum_of "$(rst2html --version)" "$file")" \
			check_rst "$file" || return 1
	done
}

check_rst() { rst2html --report=2 --halt=2 "$1" >/dev/null; }

# The pages in the packages are valid, and have no lines for programs. Those in iw-mpa-dev, which are for people without
# the sources, name files by where the packages put them.
test_packaged() (
	local file tree=$IW_MPA_BUILD/packaged
	local -a pages

	scripts/lib/deb.sh --tree "$tree" && mapfile -t pages <"$tree/debian/iw-mpa-dev.docs" || exit 1
	for file in "$tree"/Documentation/infiniband/*.rst; do
		unless_passed "packaged/${file##*/}" "$(sum_of "$(rst2html --version)" "$file")" check_rst "$file" || exit 1
	done
	cd "$tree" || exit 1
	{ grep -nE '^ *\.\. ((in|out of) tree|in sources|(check|quote|run): .*)$' Documentation/infiniband/*.rst || true; } |
		none 'lines for programs' || exit 1
	[[ " ${pages[*]##*/} " == *' iw_mpa_driver.rst '* ]] || { echo 'iw-mpa-dev lacks the page for authors'; exit 1; }
	{ grep -nE '(^|[^/[:alnum:]])(drivers|include|kunit|scripts)/' "${pages[@]}" || true; } |
		none 'paths of the source tree' || exit 1
	grep -ohE '/usr/(src/iw_mpa-|share/iw-mpa/|share/doc/iw-mpa-dkms/examples/)[a-z0-9_./-]*[a-z0-9]' "${pages[@]}" |
		sort -u | while IFS= read -r file; do
		[[ -e $(sed -E 's:/usr/src/iw_mpa-[0-9.]*:./:; s:/usr/share/(iw-mpa|doc/iw-mpa-dkms/examples)/:./:' \
			<<<"$file") || -e dev/${file##*/} ]] || echo "$file"
	done | none 'named, and in no package'
)

# Rules: P-08
# To free memory the kernel writes to disks, and a disk over RDMA may first need a new connection,
# which iw_mpa makes. So each work queue of iw_mpa and of its drivers needs a rescuer
# (WQ_MEM_RECLAIM), and no allocation for a connection may wait for such writes. KUnit's fake driver
# checks in each op that the runner, the task that handles the events of an endpoint, is in a noio
# scope.
test_reclaim() {
	local -a ours=(drivers/infiniband/sw/{iw_mpa,srnic,siw_mpa,iw_mpa_skeleton}
		drivers/infiniband/hw/cxgb4_mpa)

	grep -rqE '\balloc_workqueue\(' "${ours[0]}" || { echo 'the library has no queue'; return 1; }
	{ grep -rPzo '\balloc_(ordered_|percpu_)?workqueue\([^;]*;' "${ours[@]}" |
		grep -zv '\bWQ_MEM_RECLAIM\b' | tr '\0' '\n' || true; } |
		none 'work queues without WQ_MEM_RECLAIM' || return 1
	# Two work items of srnic may use the system's queues, although these have no rescuer: only
	# the task that adds or deletes a link waits for the items. One item takes rtnl, the other
	# cpus_read_lock(), and the owners of these locks may wait for storage in any case.
	{ grep -rnE '\bsystem_\w*wq\b|\bschedule_(delayed_)?work(_on)?\(|\bflush_scheduled_work\(' \
		"${ours[@]}" | grep -vE 'srnic/(device\.c:.*catch_up|handoff\.c:.*reserves)' || true; } |
		none "work on the system's queues" || return 1
	# GFP_KERNEL is right only where a device, a listener or a network namespace is made. Any
	# other code may run while storage waits for it, and needs GFP_NOIO, even in a noio scope.
	{ grep -rnE '\bGFP_KERNEL\b' "${ours[0]}" --include='*.c' |
		grep -vE '/(register|listen|config)\.c:|:[0-9]+: \*|\(GFP_KERNEL \| __GFP_NORETRY\)' |
		grep -v '/takeover\.c:.*kzalloc_obj(\*all,' || true; } |	# called when a device is registered
		none 'allocations that may wait for storage'
}

# The newest kernels warn if a work queue is allocated with neither WQ_PERCPU nor WQ_UNBOUND, and if
# work is queued on system_wq or system_unbound_wq, which are deprecated.
test_work_queues() {
	local -a ours=(drivers kunit)

	{ grep -rPzo '\balloc_workqueue\([^;]*;' "${ours[@]}" |
		grep -zvE '\bWQ_(PERCPU|UNBOUND)\b' | tr '\0' '\n' || true; } |
		none 'work queues without WQ_PERCPU or WQ_UNBOUND' || return 1
	{ grep -rnE '\bsystem_(unbound_)?wq\b' "${ours[@]}" || true; } |
		none "work on the system's queues of older kernels"
}

# Each function of srnic that a wire test delays, by its name, still exists.
test_slow_points() {
	local name names

	names=$(grep -ohP 'SlowPoint\(b, "\Ksrnic_\w+' scripts/wire/*.py | sort -u) || return 1
	while read -r name; do
		grep -qE "^[a-z][^;]*\b$name\(" drivers/infiniband/sw/srnic/*.c || echo "$name"
	done <<<"$names" | none 'functions that wire tests delay, and srnic does not have'
}

# The conformance pages name a test for each rule that needs one, and each rule that a test names is on a page.
test_conformance() {
	scripts/test/static/conformance.py --selftest && scripts/test/static/conformance.py
}

# check.sh passes its selftest. Each row of scripts/test/check/rows for wire or end-to-end tests
# chooses at least one test. Each wire test, end-to-end test, test of usage.sh, and suite of another
# project (scripts/suites) is run by a row.
test_check() {
	local entry listed rows some ends=
	local -a words

	# One row proves that the list can be read. Which results still hold is the selftest's subject: to find that out for
	# a row that passed long ago takes minutes.
	scripts/check.sh --selftest && scripts/check.sh --all -l -k '^soak$' >/dev/null || return 1
	rows=$(sed -n 's/^[0-9]* //p' scripts/test/check/rows)
	[[ -z $(sort <<<"$rows" | uniq -d) ]] || { echo 'a row is there twice'; return 1; }
	while IFS= read -r entry; do
		read -ra words <<<"${entry/e2e/scripts/e2e.sh -l}"
		some=$(env -u KERNELS "${words[@]}")
		[[ -n $some ]] || { echo "no test: $entry"; return 1; }
		[[ $entry == *@(KERNEL|DEBUG|DRIVER)=* ]] || ends+=$some$'\n'
	done < <(grep -E '(^|=[^ ]* )e2e( |$)' <<<"$rows")
	comm -13 <(sort -u <<<"$ends") <(scripts/e2e.sh -l | sort -u) |
		none 'tests end to end that are in no row of scripts/test/check/rows' || return 1
	listed=$(listed_by "$rows") || return 1
	comm -13 <(sort -u <<<"$listed") <(all_on_the_wire | sort -u) |
		none 'tests on the wire that are in no row of scripts/test/check/rows' || return 1
	comm -13 <(sed -n 's/^usage //p' <<<"$rows" | tr ' ' '\n' | sort) <(scripts/test/usage.sh -l | sort) |
		none 'tests of usage.sh that are in no row of scripts/test/check/rows' || return 1
	comm -13 <(sed -nE 's/^SUITE=([^ ]*) suites.*/\1/p' <<<"$rows" | tr ',' '\n' | sort) \
		<(cd scripts/suites && printf '%s\n' *.sh | sed 's/\.sh$//; /^lib$/d' | sort) |
		none 'foreign suites that are in no row of scripts/test/check/rows' || return 1
	# The environment may have a variable PART, which must not leave tests out.
	[[ $(PART=1/9 scripts/wire.sh --sample -l) == "$(scripts/wire.sh --sample -l)" ]] ||
		{ echo 'wire.sh takes PART for its own'; return 1; }
}

# Everything that make and the scripts offer is run by a row of scripts/test/check/rows, or by a suite.
test_offered() {
	scripts/test/static/offered.py --selftest && scripts/test/static/offered.py
}

# listed_by ROWS: print the wire tests that these rows run
listed_by() {
	local entry
	local -a words

	while IFS= read -r entry; do
		case $entry in
		'usage '* | 'patched '*) continue ;;
		'debug kasan faults') words=(KERNEL=kasan scripts/wire.sh -l -k '^(data_)?faults_') ;;
		wire* | *' wire'*) read -ra words <<<"${entry/wire/scripts/wire.sh -l}" ;;
		soak) words=(scripts/test/soak.sh -l) ;;
		*) continue ;;
		esac
		env -u KERNELS -u DRIVER "${words[@]}" || { echo "cannot be listed: $entry" >&2; return 1; }
	done <<<"$1"
}

all_on_the_wire() {
	local device

	for device in srnic siw_mpa; do
		scripts/wire/run.py -l --device "$device"
	done
	scripts/wire/run.py -l --soak
}

test_length() {
	local file limit

	for file in $(c_files); do
		limit=$MAX_LINES
		[[ $file != *.h ]] || limit=$MAX_HEADER_LINES
		[[ $(wc -l <"$file") -le $limit ]] || wc -l "$file"
	done | none "longer than $MAX_LINES lines, or $MAX_HEADER_LINES of a header"
}

test_versions() {
	local file

	for file in $(files 'drivers/*.[ch]' 'include/*.h' 'kunit/*.[ch]' | grep -vE '/compat(/|\.h$)'); do
		grep -HnE 'LINUX_VERSION_CODE|KERNEL_VERSION|COMPAT_|\bcompat_|SRNIC_HAS_' "$file" || true
	done | none 'what only some kernels need belongs in shadow headers'
}

# Each file has an SPDX line, except the fuzzer's cases, which are frames, and files of the Debian package, for
# which debian/copyright names the licence.
test_spdx() {
	local file

	for file in $(files | grep -Ev '^(LICENSES|scripts/test/fuzz/corpus|scripts/deb/debian)/'); do
		head -n 3 "$file" | grep -q 'SPDX-License-Identifier: ' || echo "$file"
	done | none 'no licence line at the top'
}

# No file has absolute paths of a developer's machine.
test_paths() {
	local file

	for file in $(files); do
		grep -HnE '(^|[^[:alnum:]_.$}-])/([w]ork|[t]mp/w)/' "$file" || true
	done | none 'paths of one machine'
}

test_whitespace() {
	local git=(git -c 'safe.directory=*')

	"${git[@]}" diff --check "$("${git[@]}" hash-object -t tree /dev/null)"
}

# Patches for programs of others have to be well-formed: some of them are not applied by any suite.
test_patches() {
	local file patches

	patches=$(files '*.patch')
	[[ -n $patches ]] || { echo 'there is no patch' && return 1; }
	for file in $patches; do
		git -c 'safe.directory=*' apply --numstat "$file" >/dev/null || echo "$file"
	done | none 'git cannot read these patches'
}

# What files for the kernel tree must not name: what only this tree has; numbers of rules in its pages; and code that
# works around faults of an iw_cm without the patches
NOT_IN_TREE='make (check|static|kunit|demo|wire|install)|README|CHANGELOG|Debian|\bcompat[_/]|_compat\b|KBUILD_EXTMOD'
NOT_IN_TREE+='|LINUX_VERSION_CODE|[CS]_HAS_|out of tree|MODULE_VERSION|IW_MPA_(API|VERSION)|iw_mpa_api|iwcm_faults'
NOT_IN_TREE+='|accept(ed)?_again|iwcm_(accepted|check_device)|\b[A-Z]-[0-9]{2}\b([^-.]|$)'

# What pages must not have, too: numbers of old kernels (which are no sections of RFCs), and descriptions of this tree
NOT_IN_PAGES='(?<!section )(?<![.\d])6\.(1|5|6|9|12)(?![.\d])|\b([Bb]efore|until|since|[Ll]ater than) Linux|/etc/iw-mpa'
NOT_IN_PAGES+='|the source tree|the file changes|\bDKMS\b|\bscripts/'

# compose() edits this tree's files for the patches to the kernel, by regular expressions, each of which has to match.
# The edited files name nothing that only this tree has, and no page that the patches leave out. The first series does
# not name srnic, which the second adds. By the cover letter each .kunitconfig has all options that its suites need.
test_series() (
	NEW=$IW_MPA_BUILD/series
	# shellcheck source=scripts/test/series/compose.sh
	. scripts/test/series/compose.sh
	compose && cd "$NEW" || exit 1
	{
		grep -rnE "$NOT_IN_TREE" . || true
		grep -rnP "$NOT_IN_PAGES" $DOC || true
		grep -rnE '\bsrnic([0-9_]|\b)' $DOC/iw_mpa* $SW/iw_mpa include samples || true
	} | none 'in place of what the kernel has' || exit 1
	while IFS= read -r name; do
		[[ -n $(find . -name "$name" -print -quit) ]] || grep -rnwF "$name" .
	done < <(grep -rhoE '\b(iw_mpa|srnic)[a-z_]*\.rst\b' . | sort -u) | none 'pages that the series lacks' || exit 1
	for name in iw_mpa srnic; do
		grep -ohE 'CONFIG_[A-Z_]+' $SW/$name/{,tests/}Makefile | sort -u | sed 's/$/=y/' |
			grep -vxFf $SW/$name/.kunitconfig || true
	done | none 'options that .kunitconfig lacks'
)

ALL=(compiler compiler_6.12 new_driver install install_6.12 high_memory sparse checkpatch kernel_doc shell python
	stage_edit layers_selftest layers mutants tools docs packaged reclaim work_queues slow_points conformance check
	offered length versions spdx paths patches series whitespace)

alone() { echo "scripts/static.sh $1"; }

main() {
	local name

	if [[ ${1:-} == --sample ]]; then
		shift
		mapfile -t ALL < <(printf '%s\n' "${ALL[@]}" | grep -v '_6\.12$')
	fi
	[[ $# -gt 0 ]] || set -- "${ALL[@]}"
	"$TOP/scripts/lib/setup.sh" build static "=tshark" 6.12
	cd "$TOP"
	[[ -n $(c_files) ]] || die 'no sources: is this a git tree?'
	for name in "$@"; do
		[[ $(type -t "test_$name") == function ]] || die "no such test: $name (${ALL[*]})"
		say "static: $name"
		tap_run "$name" "test_$name"
	done
	tap_end static
}

main "$@"

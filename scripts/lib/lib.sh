# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Shared by every script of this tree: source it, never run it.
#
# This sets:
#   TOP    the git tree             KERNEL, KREL   the kernel to build for and to boot: see kernel.sh
#   CACHE  folder of all that is built or fetched; it can be deleted at any time
#
# Child processes get the value of CACHE as IW_MPA_CACHE, since a variable CACHE in the user's environment may belong to
# another program, in whose folder this tree must build and delete nothing. The same holds for IW_MPA_BUILD of build.sh.
#
# Progress goes to stderr, so that stdout carries test results and nothing else.

set -euo pipefail

# Scripts parse the output of programs, and use "cd", so neither may depend on the user's environment.
unset -v CDPATH
export LC_ALL=C.UTF-8

# What setup.sh installs is for Debian's Python, but the user's PATH may have another Python in front of it.
python3() { /usr/bin/python3 "$@"; }

say() { printf '[%4ds] %s\n' "$SECONDS" "$*" >&2; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
CACHE=${IW_MPA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/iw_mpa}
export TOP IW_MPA_CACHE=$CACHE
CACHE_MARK='Signature: 8a477f597d28d172789f06886806bc55 (iw_mpa)'	# as https://bford.info/cachedir/ defines

# Kbuild, for example, cannot build in a folder with a blank in its name.
for folder in "$TOP" "$CACHE"; do
	[[ $folder != *[[:space:]]* ]] || die "a folder with a blank in its name is not supported: $folder"
done
unset -v folder

# A folder that is new or empty is marked as ours: clean_cache deletes no other.
if ! mkdir -p "$CACHE" 2>/dev/null || [[ ! -w $CACHE ]]; then
	die "no permission to write into $CACHE: set XDG_CACHE_HOME to a folder of yours"
fi
[[ -n $(ls -A "$CACHE") ]] || printf '%s\n' "$CACHE_MARK" >"$CACHE/CACHEDIR.TAG" 2>/dev/null || true

clean_cache() {
	[[ $(head -n 1 "$CACHE/CACHEDIR.TAG" 2>/dev/null) == "$CACHE_MARK" ]] ||
		die "$CACHE was not made by these scripts, or by an older version: remove it by hand"
	rm -rf "$CACHE"
}

# The modules of the Debian package, without siw_mpa, whose sources are not all ours
PACKAGED=(iw_mpa srnic)
# All modules that "make install" may install
ALL_MODULES=(iw_mpa srnic siw_mpa iw_mpa_skeleton iw_mpa_toe cxgb4_mpa)

# need_space MEGABYTES [FOLDER]: fail if FOLDER's file system has less space; default: $CACHE
need_space() {
	local dir=${2:-$CACHE} advice='make space' free

	[[ $dir != "$CACHE" ]] || advice+=', or set XDG_CACHE_HOME to another disk'
	free=$(df -Pm "$dir" | awk 'NR == 2 { print $4 }')
	[[ $free -ge $1 ]] || die "$dir has $free MB left, this needs $1: $advice"
}

# need_root WHY: call this before anything is fetched or built
need_root() { [[ $(id -u) -eq 0 ]] || die "as root, please: $1"; }

our_version() {
	sed -n 's/^#define IW_MPA_VERSION[[:space:]]*"\(.*\)".*/\1/p' "$TOP/include/rdma/iw_mpa.h"
}

# quietly TEXT COMMAND...: print one progress line; if the command fails, print its output and $HINT, which may say what
# the user can do. Neither the command nor a call of quietly may be part of "... || rc=$?": that would switch errexit
# off within a COMMAND that is a function.
quietly() {
	local text=$1 log rc

	shift
	say "$text"
	log=$(mktemp "$CACHE/log.XXXXXX")
	set +e
	(set -e; "$@") >"$log" 2>&1
	rc=$?
	set -e
	if [[ $rc -ne 0 ]]; then
		cat "$log" >&2
		printf 'error: %s: exit status %d%s\n' "$text" "$rc" "${HINT:+: $HINT}" >&2
	fi
	rm -f "$log"
	return "$rc"
}

# locked NAME COMMAND...: run the command in a subshell, under a lock, so that only one script of this tree runs such a
# command on this machine. Programs do not inherit the descriptor, since a daemon would keep the lock.
locked() (
	name=$1
	shift
	exec 9>"$CACHE/$name.lock"
	flock 9
	"$@" 9>&-
)

# shellcheck source=scripts/lib/archive.sh
. "$TOP/scripts/lib/archive.sh"
# shellcheck source=scripts/lib/kernel.sh
. "$TOP/scripts/lib/kernel.sh"

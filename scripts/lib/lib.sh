# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Shared by every script of this tree: source it, never run it.
#
#   TOP    the git tree             KERNEL, KREL   kernel to build for and boot: kernel.sh
#   CACHE  everything we build or fetch; safe to delete at any time
#
# CACHE is handed down as IW_MPA_CACHE: others have a CACHE of their own in the environment, which is
# no folder to build in, still less to delete. The same goes for IW_MPA_BUILD of build.sh.
#
# Progress goes to stderr, so that stdout carries test results and nothing else.

set -euo pipefail

# What programs say is read, and "cd" is to go where it is told, in every user's environment.
unset -v CDPATH
export LC_ALL=C.UTF-8

say() { printf '[%4ds] %s\n' "$SECONDS" "$*" >&2; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
CACHE=${IW_MPA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/iw_mpa}
export TOP IW_MPA_CACHE=$CACHE
CACHE_MARK='Signature: 8a477f597d28d172789f06886806bc55 (iw_mpa)'	# that of https://bford.info/cachedir/

# Kbuild, for one, cannot build in such a folder.
for folder in "$TOP" "$CACHE"; do
	[[ $folder != *[[:space:]]* ]] || die "a folder with a blank in its name is not supported: $folder"
done
unset -v folder

# What is made here, or was empty, is marked as ours: clean_cache deletes nothing else.
if ! mkdir -p "$CACHE" 2>/dev/null || [[ ! -w $CACHE ]]; then
	die "no permission to write into $CACHE: set XDG_CACHE_HOME to a folder of yours"
fi
[[ -n $(ls -A "$CACHE") ]] || printf '%s\n' "$CACHE_MARK" >"$CACHE/CACHEDIR.TAG" 2>/dev/null || true

clean_cache() {
	[[ $(head -n 1 "$CACHE/CACHEDIR.TAG" 2>/dev/null) == "$CACHE_MARK" ]] ||
		die "$CACHE was not made by these scripts, or by an older version: remove it by hand"
	rm -rf "$CACHE"
}

# The modules of the Debian package; siw_mpa is made of sources that are not ours.
PACKAGED=(iw_mpa srnic)
# All that "make install" can be asked for
ALL_MODULES=(iw_mpa srnic siw_mpa iw_mpa_skeleton iw_mpa_toe cxgb4_mpa)

# need_space MEGABYTES [FOLDER]: in its file system; without FOLDER: of $CACHE
need_space() {
	local dir=${2:-$CACHE} advice='make space' free

	[[ $dir != "$CACHE" ]] || advice+=', or set XDG_CACHE_HOME to another disk'
	free=$(df -Pm "$dir" | awk 'NR == 2 { print $4 }')
	[[ $free -ge $1 ]] || die "$dir has $free MB left, this needs $1: $advice"
}

# need_root WHY: before anything is fetched or built
need_root() { [[ $(id -u) -eq 0 ]] || die "as root, please: $1"; }

our_version() {
	sed -n 's/^#define IW_MPA_VERSION[[:space:]]*"\(.*\)".*/\1/p' "$TOP/include/rdma/iw_mpa.h"
}

# quietly TEXT COMMAND...: one progress line; the output is shown only when it fails, and HINT, if it
# is set: what the user can do then. Not "COMMAND || rc=$?", here or where this is called: that would
# switch errexit off inside a COMMAND that is a function.
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

# locked NAME COMMAND...: one at a time on this machine, whoever else runs our scripts. It runs
# in a subshell; programs do not inherit the descriptor, for a daemon would keep the lock.
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

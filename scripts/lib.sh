# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Shared by every script of this tree: source it, never run it.
#
#   TOP    the git tree             KREL   kernel release to build for and boot
#   CACHE  everything we build or fetch; safe to delete at any time
#
# Progress goes to stderr, so that stdout carries test results and nothing else.

set -euo pipefail

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
CACHE=${CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/iw_mpa}
mkdir -p "$CACHE"
export TOP CACHE

say() { printf '[%4ds] %s\n' "$SECONDS" "$*" >&2; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

# The newest Debian 6.1 kernel whose headers are installed; empty if there is none.
# Only the plain flavour: rt and cloud kernels lack the drivers that the guests need.
find_krel() {
	local dir

	for dir in /lib/modules/6.1.0-*-amd64; do
		dir=${dir##*/}
		[[ $dir =~ ^6\.1\.0-[0-9]+-amd64$ && -e /lib/modules/$dir/build/Makefile ]] &&
			echo "$dir"
	done | sort -V | tail -n 1
}

KREL=${KREL:-$(find_krel || true)}
export KREL

# Call it before the first use of KREL: setup.sh may have installed the headers since.
need_krel() {
	[[ -n $KREL ]] || KREL=$(find_krel || true)
	[[ -n $KREL ]] || die "no kernel headers for 6.1: run scripts/setup.sh build"
	[[ -e /lib/modules/$KREL/build/Makefile ]] ||
		die "no headers for kernel $KREL: install linux-headers-$KREL"
	export KREL
}

# The Debian version of the kernel we build for, e.g. 6.1.192-2: what every package that
# takes part (headers, source, image) has to agree on.
kernel_version() {
	dpkg-query -W -f '${Version}' "linux-headers-$KREL" 2>/dev/null ||
		die "linux-headers-$KREL is not an installed Debian package"
}

# quietly TEXT COMMAND...: one progress line; the output is shown only when it fails.
# Not "COMMAND || rc=$?": that would switch errexit off inside a COMMAND that is a function.
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
		printf 'error: %s: exit status %d\n' "$text" "$rc" >&2
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

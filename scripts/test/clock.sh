#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# NVMe over srnic compared with NVMe/TCP by the clock of a real processor: the processor time that a kernel takes for an
# I/O. The kernel, user mode Linux, is a process of the host, and not emulated. Both ends are in this kernel, without a
# network card. The figures are only reported; this fails only if a measurement is missing.
#
#   scripts/test/clock.sh
#
# Results: clock.tsv, clock.rst and clock.html in $CACHE/clock. Each of 15 rounds measures all
# transports in turn. A figure is marginal: the difference of a long and a short run, divided by the
# difference of their I/Os. The environment variables ROUNDS and TIMES choose fewer rounds and I/Os.

# shellcheck source=scripts/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=scripts/lib/tap.sh
. "$TOP/scripts/lib/tap.sh"

HERE=$TOP/scripts/test/clock
OUT=$CACHE/clock
ROUNDS=${ROUNDS:-15}
TIMES=${TIMES:-'20000 4000 4000 800'}	# I/Os of a long and a short run of 4 KiB, and of 128 KiB
COLUMNS='tcp tcp-digest srnic plain srnic-large plain-large'
LIMIT=600	# seconds to wait for a line of the kernel's output; the machine may be busy

# key LINUX: a checksum of all that the kernel is built of
key() { { echo "$1" && cat "$HERE/config"; } | sha256sum | cut -d ' ' -f 1; }

# build_kernel LINUX
build_kernel() {
	local line

	mkdir -p "$OUT/build"
	rm -f "$OUT/key"
	KCONFIG_ALLCONFIG=$HERE/config make -s -C "$1" ARCH=um "O=$OUT/build" allnoconfig
	# kconfig silently drops an option whose dependencies are missing.
	while read -r line; do
		[[ $line != CONFIG_* ]] || grep -qxF "$line" "$OUT/build/.config" || die "not in the kernel: $line"
	done <"$HERE/config"
	nice make -s -C "$1" ARCH=um "O=$OUT/build" "-j$(nproc)" linux modules
	key "$1" >"$OUT/key"
}

build_modules() {
	mkdir -p "$OUT/src" "$OUT/modules"
	rsync -rc --delete --filter='P *.o' --filter='P *.ko' --filter='P *.mod*' --filter='P .*' \
		--filter='P modules.order' --filter='P Module.symvers' --filter='- .*' \
		"$TOP/include" "$TOP/drivers" "$TOP/Kbuild" "$OUT/src/"
	nice make -s -C "$OUT/build" ARCH=um "M=$OUT/src" IW_MPA_SIW=n "-j$(nproc)" modules
	cp "$OUT/src/drivers/infiniband/sw"/{iw_mpa/iw_mpa,srnic/srnic}.ko "$OUT/modules/"
}

# used: print the processor time in nanoseconds that the kernel, user mode Linux, has used: it is a
# process of the host. The programs that run on it are other processes, which do not count.
used() { awk '{ print $1 }' "/proc/$UML_PID/schedstat"; }

# answer: set SAID to the next line "mark ..." that init prints in user mode Linux, without "mark".
# Print other lines to stderr, but no empty ones, which are the terminal's echo. Fail at the line
# "done", with which init ends, or if no line comes within LIMIT seconds.
answer() {
	local line

	while IFS= read -r -t "$LIMIT" -u "${UML[0]}" line; do
		line=${line%$'\r'}
		case $line in
		mark\ *) SAID=${line#mark } && return ;;
		done) return 1 ;;
		'') ;;
		*) echo "# $line" >&2 ;;
		esac
	done
	return 1
}

go_on() { echo >&"${UML[1]}"; }

# rounds: print lines "COLUMN ROW ROUND NANOSECONDS-OF-AN-I/O"
rounds() {
	local column row round few many start short

	while answer; do
		read -r column row round few many <<<"$SAID"
		say "round $round: $column $row"
		start=$(used)
		go_on
		answer || return
		short=$(used)
		go_on
		answer || return
		echo "$column $row $round $((($(used) - short - (short - start)) / (many - few)))"
		go_on
	done
}

end_kernel() { [[ -z ${UML_PID:-} ]] || kill "$UML_PID" 2>/dev/null || true; }

measure() {
	trap end_kernel EXIT
	# shellcheck disable=SC2034 # bash's own
	coproc UML {
		exec "$OUT/build/linux" mem=1G rootfstype=hostfs rootflags=/ ro "init=$HERE/init" quiet con=null \
			con0=fd:0,fd:1 "uml_dir=$OUT/uml/" "modules=$OUT/modules" "tools=$CACHE/tools" \
			"rounds=$ROUNDS" "times=${TIMES// /,}" "columns=${COLUMNS// /,}" 2>"$OUT/log"
	}
	rounds >"$OUT/rounds"
	end_kernel
}

main() {
	local linux

	[[ $# -eq 0 ]] || die 'usage: clock.sh'
	"$TOP/scripts/lib/setup.sh" build guest 6.1
	need_kernel 6.1
	need_space 1500
	linux=$("$TOP/scripts/lib/linux-source.sh")
	mkdir -p "$OUT"
	[[ $(cat "$OUT/key" 2>/dev/null) == "$(key "$linux")" ]] ||
		quietly 'building a kernel that is a process (from nothing it takes minutes)' build_kernel "$linux"
	quietly 'building the modules for it' build_modules
	measure
	tap_run "each of $ROUNDS rounds has all figures" "$HERE/report.py" "$OUT" "$ROUNDS"
	sed 's/^/# /' "$OUT/clock.rst"
	tap_end clock
}

locked clock main "$@"

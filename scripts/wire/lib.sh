# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Functions that scripts/wire.sh and scripts/test/soak.sh share, for the tests of this folder.

# share_tests: copy the tests, and build their programs, into the folder that host and guest share.
# The guest cannot read a source tree below /tmp, which the guest's own /tmp hides.
share_tests() { tests_build "$GUEST_RUN/share/wire"; }

# tests_build FOLDER: create FOLDER with the tests (.py) and all of their programs
tests_build() {
	local dir=$1

	mkdir "$dir"
	probes_build "$dir"
	gcc -Wall -Wextra -Werror -O2 -o "$dir/load_peer" "$TOP/scripts/wire/load_peer.c"
	gcc -Wall -Wextra -Werror -O2 -o "$dir/storm_verbs" "$TOP/scripts/wire/storm_verbs.c" \
		-lrdmacm -libverbs -lpthread
}

# probes_build FOLDER: copy the tests (.py) to FOLDER; build cm_probe, verbs_probe, crc32c.so there
probes_build() {
	local dir=$1

	cp "$TOP"/scripts/wire/*.py "$dir"
	gcc -Wall -Wextra -Werror -O2 -o "$dir/cm_probe" "$TOP/scripts/wire/cm_probe.c" \
		-lrdmacm -libverbs
	# -rdynamic: libsiw has to call verbs_probe's own mmap() in place of libc's.
	# -Wno-unused-parameter: functions in verbs_probe's tables of commands do not use all of
	# their arguments.
	gcc -Wall -Wextra -Wno-unused-parameter -Werror -O2 -rdynamic -o "$dir/verbs_probe" \
		"$TOP"/scripts/wire/verbs_*.c -lrdmacm -libverbs -lpthread
	gcc -Wall -Wextra -Werror -O2 -shared -fPIC -o "$dir/crc32c.so" "$TOP/scripts/wire/crc32c.c"
}

# relay PREFIX OUTPUT: pass run.py's results in OUTPUT, one a line, to tap, which counts them
relay() { tap_each "$1 " < <(sed -E 's/^(ok|not ok) - /\1 /; t; s/^(# )?/# /' <<<"$2"); }

DEVICE=srnic	# the driver that is tested

# run_tests PREFIX ADDRESS PATTERN SECONDS [OPTION...]: in the guest, for SECONDS at most, run
# run.py with these options and the device's ADDRESS, for the tests whose names match PATTERN; print
# and count the results, each with PREFIX in front of the test's name. If the guest dies, end this
# script, since no other test can pass. What run.py has said until then is in the shared folder.
run_tests() {
	local prefix=$1 address=$2 pattern=$3 limit=$4 output want share=$GUEST_RUN/share/wire

	shift 4
	set -- --device "$DEVICE" "$@"
	output=$(guest_run A \
		"cp -u /share/wire/{cm_probe,load_peer,verbs_probe,storm_verbs} /run && python3 /share/wire/run.py \
		--map /share/wire/map --results /share/wire/results -k '$pattern' ${*@Q} /run/cm_probe $address 2>&1 |
		tee /share/wire/said" "$limit" 2>"$GUEST_RUN/lost") || true
	if guest_is_dead A; then
		relay "$prefix" "$(cat "$share/said")"
		guest_died "$prefix $("$TOP/scripts/wire/report.py" --unended "$share/results" | grep . || echo "$pattern")"
	fi
	cat "$GUEST_RUN/lost" >&2
	relay "$prefix" "$output"
	want=$(python3 "$TOP/scripts/wire/run.py" -l -k "$pattern" "$@" | wc -l)
	[[ $want -gt 0 && $(grep -cE '^(not )?ok - ' <<<"$output") -eq $want ]] ||
		tap 'not ok' "$prefix $pattern: not all tests ran"
}

# guest_died TEST: report that the guest has died in this test, with the end of the kernel's log, and end the script
# by its function finish
guest_died() {
	local why

	why=$(guest_said A | sed -nE 's/^\[[ 0-9.]*\] (Kernel panic - not syncing: .*)/\1/p' | tail -n 1)
	tap 'not ok' "$1"
	echo "# the guest died while this test ran: ${why:-its kernel did not answer}"
	guest_said A | tail -n 60 | sed 's/^/#     /'
	echo "# the whole log: $GUEST_RUN/A.console"
	finish
}

# end_guest: test that iw_mpa has destroyed all that it created, that its module and the driver's
# unload, and that the kernel's log has no report of a mistake; then switch the guest off
end_guest() {
	tap_run 'what was created was destroyed' guest_run A 'poll 10 driver_is_balanced'
	tap_run 'the modules unload' guest_run A driver_clear
	! guest_is_dead A || return 0	# each further step would fail
	tap_run 'the kernel has nothing to report' guest_detectors A
	! kernel_debugs "$KERNEL" || tap_run 'the detectors see mistakes made on purpose' guest_controls A
	tap_run 'the guest ends well' guest_down
}

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# make demo: two hosts, real RDMA programs over iw_mpa, and what the hosts agreed on.
#
# Host A runs srnic, host B the kernel's own siw; then both run srnic. The steps are cases of the end-to-end tests, so
# "ok" means that data was transferred. The exit status is 0 only if all steps have succeeded.
#
# The demo also makes a page, $CACHE/demo/demo.html, by page.py, from the files in the same folder.

# shellcheck source=scripts/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=scripts/lib/tap.sh
. "$TOP/scripts/lib/tap.sh"
# shellcheck source=scripts/lib/guest/guest.sh
. "$TOP/scripts/lib/guest/guest.sh"
# shellcheck source=scripts/e2e/lib.sh
. "$TOP/scripts/e2e/lib.sh"

DRIVER_A=${DRIVER_A:-srnic}
DRIVER_B=siw
PEER_B=${PEER_B:-srnic}
FAILED=0
STEPS=0
OUT=$CACHE/demo
TITLE=
# scripts/e2e reads these: KEEP_JOB, the job that the clean-up after a step leaves running, so that
# one capture has all steps of a part; PERFTESTS, the programs of perftest that 040-perftest.sh
# runs.
export KEEP_JOB=capture
export PERFTESTS=ib_write_bw

# step NAME TEST-FILE CLIENT SERVER FAMILY: run a test of scripts/e2e, and print its result
step() {
	local name=$1 file=$2 client_driver=$DRIVER_A server_driver=$DRIVER_B family=$5
	local log began=$SECONDS verdict=ok

	CLIENT=$3
	SERVER=$4
	[[ $CLIENT == A ]] || { client_driver=$DRIVER_B && server_driver=$DRIVER_A; }
	STEPS=$((STEPS + 1))
	log=$GUEST_RUN/step-$STEPS.log
	try_case "$log" "$file" "$client_driver" "$server_driver" "$family" $((7100 + STEPS))
	tap_retried_in "$log"
	if [[ $STATUS -ne 0 || $CLEAN -ne 0 ]]; then
		verdict=FAILED
		FAILED=$((FAILED + 1))
	fi
	printf '  %-6s %-9s %s (%s) -> %s (%s)  IPv%s  %s  [%ds]\n' "$verdict" "$name" \
		"$CLIENT" "$client_driver" "$SERVER" "$server_driver" "$family" \
		"$(sed -n 's/^result: //p' "$log" | tail -n 1)" $((SECONDS - began))
	printf '%s\t%s\t%s\t%s (%s)\t%s (%s)\tIPv%s\t%s\t%d\n' "$TITLE" "$verdict" "$name" \
		"$CLIENT" "$client_driver" "$SERVER" "$server_driver" "$family" \
		"$(sed -n 's/^result: //p' "$log" | tail -n 1)" $((SECONDS - began)) >>"$OUT/steps"
	if [[ $verdict != ok ]]; then
		explain "$name" "$log"
		tail -n 30 "$log" | sed 's/^/        /'
	fi
	[[ $CLEAN -eq 0 ]] || give_up
}

# explain NAME LOG: print the cause in one sentence, from what the hosts printed before they were cleaned up
explain() {
	local capture=$GUEST_RUN/share/step-$STEPS.pcapng who

	who=$(sed -n 's/^connection: //p' "$2" | paste -sd ';' | sed 's/;/; /g')
	guest_run A "cp /run/capture.pcapng /share/step-$STEPS.pcapng" 2>/dev/null || capture='lost'
	echo "  $1 failed: ${who:-no host has a connection that is in trouble}; capture: $capture; log: $2"
}

give_up() {
	make_page
	echo "The hosts are not fit for more: stopping here. Logs: $GUEST_RUN"
	exit 1
}

# part TITLE ...: set both drivers, and start the capture for all steps with this pair of drivers
part() {
	TITLE=$1
	echo
	echo "$TITLE"
	guest_run A "driver_set $DRIVER_A"
	guest_run B "driver_set $DRIVER_B"
	guest_run A "capture_start 400"
}

end_part() {
	guest_run A "capture_stop $1.pcapng" >/dev/null
}

# With different drivers on the two hosts each driver has both roles.
both_ways() {
	step rping 010-rping.sh A B 4
	step ucmatose 030-ucmatose.sh A B 4
	step perftest 040-perftest.sh A B 4
	step rping 010-rping.sh B A 4
	step ucmatose 030-ucmatose.sh B A 4
	step perftest 040-perftest.sh B A 4
}

both_families() {
	step rping 010-rping.sh A B 4
	step rping 010-rping.sh A B 6
	step ucmatose 030-ucmatose.sh A B 4
	step ucmatose 030-ucmatose.sh A B 6
	step perftest 040-perftest.sh A B 4
}

names() {
	local host driver

	for host in A B; do
		driver=$DRIVER_A
		[[ $host == A ]] || driver=$DRIVER_B
		printf -- '--name=%s=%s %s v4\n--name=%s=%s %s v6\n' \
			"$(address_of $host 4)" $host "$driver" "$(address_of $host 6)" $host "$driver"
	done
}

# Print what startup.py finds in the part's capture. startup.py also writes it to NUMBER.json, for
# page.py; NUMBER is the number with which the title of the part begins.
show() {
	local -a names

	mapfile -t names < <(names)
	echo
	"$TOP/scripts/lib/guest/startup.py" "${names[@]}" --keep "$OUT/${TITLE%%.*}.json" \
		"$GUEST_RUN/share/$PART.pcapng"
}

show_one() {
	echo
	"$TOP/scripts/lib/guest/startup.py" --picture "$OUT/${TITLE%%.*}.json"
}

# The demo does not fail if the page cannot be made.
make_page() {
	if "$TOP/scripts/lib/page.py" --demo "$OUT" "$KREL"; then
		echo "The same as a page: $OUT/demo.html"
	else
		say "no page was made"
	fi
}

counters() {
	echo
	echo "What host A's iw_mpa counted:"
	guest_run A "grep -rhv ' 0\$' /sys/kernel/debug/iw_mpa" | tee "$OUT/counters" | sed 's/^/  /'
}

run_demo() {
	PART=mixed
	part "1. Host A $DRIVER_A (iw_mpa), host B $DRIVER_B as the kernel has it"
	both_ways
	end_part $PART
	show
	echo
	echo "   One startup exchange of these, as tshark saw it:"
	show_one

	DRIVER_B=$PEER_B
	PART=same
	part "2. Both hosts $DRIVER_B (iw_mpa)"
	both_families
	end_part $PART
	show
	[[ $DRIVER_A == siw ]] || counters

	echo
	TITLE='3. Unload'
	echo "$TITLE"
	step rmmod 900-unload.sh A B 4
}

# demo() runs under a lock, so that no other demo uses $OUT.
demo() {
	rm -rf "$OUT"
	mkdir -p "$OUT"
	say "booting two hosts with kernel $KREL"
	guest_boot A B
	run_demo
	guest_down || FAILED=$((FAILED + 1))
	echo
	make_page
	tap_retries
	if [[ $FAILED -eq 0 ]]; then
		guest_forget_logs
		echo "$STEPS steps, all of them passed data, in $SECONDS s"
	else
		echo "$FAILED of $STEPS steps FAILED; logs: $GUEST_RUN"
		return 1
	fi
}

main() {
	"$TOP/scripts/lib/setup.sh" build guest
	need_krel
	if [[ $DRIVER_A/$PEER_B == siw/siw ]]; then
		"$TOP/scripts/lib/build.sh" --stock
	else
		"$TOP/scripts/lib/build.sh"
	fi
	locked demo demo
}

main "$@"

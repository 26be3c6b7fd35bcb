# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Sourced by bench.sh: throughput of Writes of many QPs on four processors, by the clock. In each round all drivers are
# measured in turn, in one guest, and only ratios within a round count: other load of the host slows all of them.

LOAD_VARIANTS=${LOAD_VARIANTS:-'siw siw_mpa plain srnic'}
LOAD_QPS=${LOAD_QPS:-'1 8 64'}
LOAD_OCTETS=16384
LOAD_MS=${LOAD_MS:-1500}	# milliseconds that each number of QPs is measured

measure_load() {
	local round variant

	need_krel
	"$TOP/scripts/lib/build.sh"
	begin_rounds load
	# shellcheck disable=SC2034 # guest_boot's
	GUEST_SMP=4
	boot_with qp_load
	for ((round = FIRST_ROUND; round <= ROUNDS; round++)); do
		for variant in $LOAD_VARIANTS; do
			say "round $round: $variant"
			take_driver "$variant"
			guest_run A "/share/qp_load 10.0.0.1 $LOAD_MS $LOAD_OCTETS $LOAD_QPS" 300 \
				>"$OUT/load/$variant.$round" ||
				die "$variant: $(cat "$OUT/load/$variant.$round")"
		done
	done
	guest_down || gap "the guest did not end well: see $GUEST_RUN"
	python3 "$TOP/scripts/test/bench/report.py" --load "$OUT"
	cat "$OUT/load.rst"
	say "in $OUT: load.rst, load.html"
}

# --pong: ib_send_lat of perftest between two guests; the processes sleep while they wait. The line
# for 64 bytes has the median in column 5, and the 99th percentile in column 8, in microseconds.
PONG_VARIANTS=${PONG_VARIANTS:-'siw siw_mpa plain srnic'}
PONG_TIMES=2000
PONG_PORT=7473

pong() {
	local command="ib_send_lat -e -R -F -d siw0 -s 64 -n $PONG_TIMES -p $PONG_PORT" guest

	for guest in A B; do
		take_driver "$1" "$guest" || return
	done
	guest_run A "serve perftest $PONG_PORT '$command'" >"$OUT/log" || return
	guest_run B "$command 10.0.0.1" 60 >"$OUT/log" || return
	guest_run A bg_stop_all >/dev/null || return
	awk '$1 == 64 && NF >= 8 { print "median", int($5 * 1000); print "p99", int($8 * 1000) }' \
		"$OUT/log" >"$OUT/pong/$1.$2"
}

# After a failure the next measurement gets new guests.
pong_failed() {
	gap "$1 did not come to its end: $(cat "$OUT/log")"
	guest_kill_all
	guest_boot A B
}

measure_pongs() {
	local round variant

	need_krel
	"$TOP/scripts/lib/build.sh"
	begin_rounds pong
	guest_boot A B
	for ((round = FIRST_ROUND; round <= ROUNDS; round++)); do
		for variant in $PONG_VARIANTS; do
			say "round $round: $variant"
			pong "$variant" "$round" || pong_failed "$variant"
		done
	done
	guest_down || gap "the guests did not end well: see $GUEST_RUN"
	python3 "$TOP/scripts/test/bench/report.py" --pong "$OUT"
	cat "$OUT/pong.rst"
	say "in $OUT: pong.rst, pong.html"
}

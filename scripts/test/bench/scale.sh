# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Sourced by bench.sh: the effect of more processors, and of very many connections.

SCALE_VARIANTS='siw srnic'
SCALE_CPUS=${SCALE_CPUS-'1 2 4'}
SCALE_PAIRS=${SCALE_PAIRS:-50000}	# pairs of endpoints, connected over the loopback device; 0: none
SPREAD_PAIRS=${SPREAD_PAIRS:-5000}	# the same, with four processors

# Count the instructions of all processors for a connection. QEMU runs one processor at a time, so
# that its plugin split.c can count. The guest uses the host's clock, since a kernel with several
# processors does not boot with -icount.
measure_cpus() {
	local variant

	GUEST_ACCEL=tcg,thread=single GUEST_SMP=$1 GUEST_MEM=4G
	GUEST_ARGS=(-plugin "$OUT/split.so,map=$OUT/map,out=$OUT/split")
	boot_with cm_bench
	guest_run A 'sysctl -qw net.ipv4.tcp_max_tw_buckets=0'
	for variant in $SCALE_VARIANTS; do
		take_driver "$variant"
		tell_plugin
		say "$variant: $1 processors"
		rm -f "$OUT/split"
		guest_run A '/share/cm_bench -q -o 64 -n 1024 connect' "$LIMIT" >"$OUT/scale/$variant.cpus-$1"
		mv "$OUT/split" "$OUT/scale/$variant.cpus-$1.split"
	done
	guest_kill_all
	unset GUEST_ACCEL
	GUEST_ARGS=()
}

crowd_begin() {
	say "srnic: $1 connections with itself"
	cp "$TOP/scripts/test/bench/crowd.sh" "$GUEST_RUN/share/"
	take_driver srnic
	guest_run A 'sysctl -qw vm.max_map_count=2000000 net.ipv4.tcp_mem="2000000 3000000 4000000"' "$LIMIT"
	guest_bg A crowd "exec /share/cm_bench -q -k established -K $1 stay"
	guest_run A '. /share/crowd.sh; crowd_is_up' 7200
}

# Measure, with very many endpoints: how long it takes to read their list in debugfs; for how long
# that holds one RCU read lock at most; and how long it takes to remove the device with all of them.
measure_crowd() {
	GUEST_MEMORY=10G boot_counted
	crowd_begin "$SCALE_PAIRS"
	guest_run A ". /share/crowd.sh; crowd_measure" 7200 >"$OUT/scale/srnic.crowd" ||
		die "$(cat "$OUT/scale/srnic.crowd")"
	guest_kill_all
}

# Count on which processors the connections of a removed device end.
measure_removal() {
	unset GUEST_ACCEL
	GUEST_ARGS=()
	GUEST_SMP=4 GUEST_MEM=4G
	boot_with cm_bench
	crowd_begin "$SPREAD_PAIRS"
	guest_run A ". /share/crowd.sh; crowd_remove" 7200 >"$OUT/scale/srnic.removal" ||
		die "$(cat "$OUT/scale/srnic.removal")"
	guest_kill_all
}

measure_scale() {
	local cpus

	need_krel
	"$TOP/scripts/lib/build.sh"
	rm -rf "$OUT/scale"
	mkdir "$OUT/scale"
	build_plugin
	for cpus in $SCALE_CPUS; do
		measure_cpus "$cpus"
	done
	((SPREAD_PAIRS == 0)) || measure_removal
	((SCALE_PAIRS == 0)) || measure_crowd
	python3 "$TOP/scripts/test/bench/report.py" --scale "$OUT"
	cat "$OUT/scale.rst"
	say "in $OUT: scale.rst, scale.html"
}

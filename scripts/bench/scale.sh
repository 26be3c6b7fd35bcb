# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Sourced by bench.sh: what changes when there are more processors, or very many connections.

SCALE_VARIANTS='siw srnic'
SCALE_CPUS='1 2 4'
SCALE_PAIRS=${SCALE_PAIRS:-50000}	# connections of a host with itself: two endpoints each

# All that the processors do for a connection, whichever of them does it.
measure_cpus() {
	local variant

	boot_counted -plugin "$OUT/split.so,map=$OUT/map,out=$OUT/split"
	for variant in $SCALE_VARIANTS; do
		take_driver "$variant"
		tell_plugin
		say "$variant: $1 processors"
		rm -f "$OUT/split"
		guest_run A '/share/cm_bench -o 64 -n 1024 connect' "$LIMIT" >"$OUT/scale/$variant.cpus-$1"
		mv "$OUT/split" "$OUT/scale/$variant.cpus-$1.split"
	done
	guest_kill_all
}

# A listing, the longest part of it for which no other task may run, and the end of a device that
# has them all: on which processors its connections end.
measure_crowd() {
	say "srnic: $SCALE_PAIRS connections with itself"
	boot_counted
	cp "$TOP/scripts/bench/crowd.sh" "$GUEST_RUN/share/"
	take_driver srnic
	guest_run A 'sysctl -qw vm.max_map_count=2000000 net.ipv4.tcp_mem="2000000 3000000 4000000"' "$LIMIT"
	guest_bg A crowd "exec /share/cm_bench -k established -K $SCALE_PAIRS stay"
	guest_run A '. /share/crowd.sh; crowd_is_up' 7200
	guest_run A ". /share/crowd.sh; crowd_measure" 7200 >"$OUT/scale/srnic.crowd" ||
		die "$(cat "$OUT/scale/srnic.crowd")"
	guest_kill_all
}

measure_scale() {
	local cpus

	need_krel
	"$TOP/scripts/build.sh"
	rm -rf "$OUT/scale"
	mkdir "$OUT/scale"
	build_program cm_bench
	build_plugin
	for cpus in $SCALE_CPUS; do
		GUEST_CPUS=$cpus measure_cpus "$cpus"
	done
	GUEST_CPUS=4 GUEST_MEMORY=10G measure_crowd
	python3 "$TOP/scripts/bench/report.py" --scale "$OUT"
	cat "$OUT/scale.rst"
	say "in $OUT: scale.rst, scale.html"
}

# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Sourced by bench.sh: what messages cost at the MTU of a network, in instructions, which a plugin of QEMU counts. TCP
# segments, and so FPDUs, are as small as on that network. The loopback device keeps segmentation offload, so TCP
# passes large packets, as to a network card with TSO and GRO.

MTUS='1500 9000 65536'
MTU_VARIANTS='siw srnic plain markers'

# NAME BYTES TIMES PROGRAM, as in DATA of bench.sh
MTU_DATA='
write-64k	65536	1000	ib_write_bw
read-64k	65536	1000	ib_read_bw -e
send-64k	65536	1000	ib_send_bw -e
write-4k	4096	2000	ib_write_bw
send-4k	4096	2000	ib_send_bw -e
ping-64	64	2000	ib_send_lat -e
'

# measure_at MTU: measure bare TCP and all drivers in one guest
measure_at() {
	local variant RAW=$OUT/mtu-$1

	need_krel
	"$TOP/scripts/lib/build.sh"
	rm -rf "$RAW"
	mkdir "$RAW"
	build_program cm_bench
	build_program tcp_data
	build_plugin
	boot_counting
	cp "$OUT/tcp_data" "$GUEST_RUN/share/"
	guest_run A "ip link set lo mtu $1" "$LIMIT"
	for variant in $MTU_VARIANTS; do
		take_driver "$variant"
		tell_plugin
		[[ $variant != siw ]] || measure_data tcp "$MTU_DATA"
		measure_data "$variant" "$MTU_DATA"
	done
	guest_down || gap "the guest did not end well: see $GUEST_RUN"
	python3 "$TOP/scripts/test/bench/report.py" --mtu "$OUT"
	cat "$OUT/mtu-$1.tsv"
	say "in $OUT: mtu-$1.tsv, mtu.rst, mtu.html"
}

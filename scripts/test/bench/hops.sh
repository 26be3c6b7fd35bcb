# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Sourced by bench.sh: what a connection costs each of two hosts, counted by a plugin in each of two guests. A guest's
# clock advances with its instructions; but while the guest waits for the other one, it follows the host's clock.

HOPS_VARIANTS=${HOPS_VARIANTS:-'siw srnic plain'}
HOPS_COUNT=${HOPS_COUNT:-256}

# hops_keep GUEST VARIANT END: keep the counts of a guest
hops_keep() {
	mv "$OUT/split.$1" "$OUT/hops/$2.$3.split"
	echo "connections $HOPS_COUNT" >"$OUT/hops/$2.$3"
}

measure_hop() {
	local guest

	for guest in A B; do
		take_driver "$1" "$guest"
		guest_run "$guest" "cat /proc/kallsyms >/share/kallsyms.$guest" "$LIMIT"
		python3 "$TOP/scripts/test/bench/functions.py" "$GUEST_RUN/share/kallsyms.$guest" \
			"${IW_MPA_BUILD:-$CACHE/build/$KREL}" >"$OUT/map.$guest"
		guest_run "$guest" '/share/cm_hops load' "$LIMIT"
	done
	say "$1: $HOPS_COUNT connections"
	guest_run A "LISTEN_LIMIT=$LIMIT serve hops 7477 '/share/cm_hops serve $HOPS_COUNT'" "$LIMIT"
	guest_run B "/share/cm_hops call 10.0.0.1 $HOPS_COUNT" "$LIMIT" >"$OUT/log" ||
		die "$1: $(cat "$OUT/log")"
	guest_run A "bg_wait hops 60" "$LIMIT" >"$OUT/log" || die "$1: $(cat "$OUT/log")"
	hops_keep B "$1" initiator
	hops_keep A "$1" responder
}

measure_hops() {
	local variant

	need_krel
	"$TOP/scripts/lib/build.sh"
	rm -rf "$OUT/hops"
	mkdir "$OUT/hops"
	build_program cm_hops
	build_plugin
	# shellcheck disable=SC2034 # guest_boot's
	GUEST_ACCEL=tcg,thread=single GUEST_SMP=1 GUEST_BOOT_LIMIT=600
	# shellcheck disable=SC2034 # likewise
	GUEST_ARGS=(-icount "shift=0,sleep=on" -plugin \
		"$OUT/split.so,map=$OUT/map.NAME_OF_GUEST,out=$OUT/split.NAME_OF_GUEST")
	guest_boot A B
	cp "$OUT/cm_hops" "$GUEST_RUN/share/"
	for variant in $HOPS_VARIANTS; do
		measure_hop "$variant"
	done
	guest_down || gap "the guests did not end well: see $GUEST_RUN"
	python3 "$TOP/scripts/test/bench/report.py" --hops "$OUT"
	cat "$OUT/hops.rst"
	say "in $OUT: hops.rst, hops.html"
}

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Interoperability: srnic in guest A, unmodified siw of 6.1 and of 6.12 in guest B, in both roles, over IPv4 and IPv6,
# with all combinations of the settings of both sides.
#
#   scripts/test/interop.sh             fail if a result is not as the rules in interop/cells.py say, or
#                                  differs from the table in the documentation
#   scripts/test/interop.sh --sample    only a third of the steps, as make check has no time for more. For steps that
#                                  are not run the results of the rules are assumed, as with -k
#   scripts/test/interop.sh -k REGEX    only the steps whose line matches: interop/cells.py steps prints these
#   scripts/test/interop.sh --write     write the table
#
# Guest A runs $KERNEL. With --sample it runs another kernel than guest B, so that a short run has both; the expected
# results are the same for all kernels.

# shellcheck source=scripts/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=scripts/lib/tap.sh
. "$TOP/scripts/lib/tap.sh"
# shellcheck source=scripts/lib/guest/guest.sh
. "$TOP/scripts/lib/guest/guest.sh"
# shellcheck source=scripts/e2e/lib.sh
. "$TOP/scripts/e2e/lib.sh"

PEERS=${PEERS:-6.1 6.12}
SAMPLE=
PATTERN=
CELLS=$TOP/scripts/test/interop/cells.py
TABLE=$TOP/Documentation/infiniband/iw_mpa_interop.rst
RESULTS=
CAPTURES=0
LOADED=		# the variant of siw that guest B has loaded
FRESH=no
export KEEP_JOB=capture

# ours PEER: print which kernel guest A runs when PEER is the kernel of guest B
ours() {
	case $SAMPLE$1 in
	--sample6.1) echo 6.12 ;;
	--sample6.12) echo 6.1 ;;
	*) echo "$KERNEL" ;;
	esac
}

# variant_file VARIANT CONSTANT=VALUE...: print the name of the module of a variant of siw for the
# kernel $KREL. The name has a checksum of unmodified siw and of the variant's constants, so an
# existing file of that name is never out of date.
variant_file() {
	local key

	key=$(cat - "$CACHE/build/$KREL/siw-stock/siw.ko" <<<"$*" | sha256sum)
	echo "$CACHE/siw-with/$KREL.ko/$1-${key:0:16}.ko"
}

# build_ours PEER: build our modules for guest A; in a subshell, like build_peer, since need_kernel changes KERNEL
build_ours() (
	need_kernel "$(ours "$1")"
	export KERNEL
	"$TOP/scripts/lib/build.sh"
)

build_peer() (
	need_kernel "$1"
	export KERNEL
	"$TOP/scripts/lib/build.sh" --stock
	mkdir -p "$WORK/$1"
	"$CELLS" variants | while read -r -a words; do
		file=$(variant_file "${words[@]}")
		[[ -e $file ]] || quietly "siw of $KERNEL with ${words[*]:1}" \
			"$TOP/scripts/lib/build.sh" --siw "$file" "${words[@]:1}"
		cp "$file" "$WORK/$1/${words[0]}.ko"
	done
)

boot() {
	say "booting: srnic on $(ours "$1"), siw of $1"
	GUEST_KERNEL=([A]=$(ours "$1") [B]=$1)
	guest_boot A B
	guest_run A "driver_set srnic && capture_start"
	LOADED=
	FRESH=yes
}

end_capture() {
	guest_is_dead A || guest_run A "capture_stop wire.pcapng" >/dev/null
	CAPTURES=$((CAPTURES + 1))
	# "cells.py judge" takes the last file in alphabetical order for the newest capture, so the
	# numbers in the captures' names have equal lengths.
	cp "$GUEST_RUN/share/wire.pcapng" "$WORK/$(printf '%03d' "$CAPTURES").pcapng"
}

load_variant() {
	[[ $LOADED != "$1" ]] || return 0
	cp "$WORK/$2/$1.ko" "$GUEST_RUN/share/modules-B/siw.ko"
	guest_run B driver_clear
	LOADED=$1
}

TRIES=4		# tries of a step that siw has failed, see siw_left_octets; on a busy host it may fail several times

# left_by_siw LOG PORT: does LOG, the output of ss in both guests, show just one connection of guest
# A to PORT, of which the TCP of guest B has acknowledged all bytes, while siw in guest B has not
# read all of them from its socket?
left_by_siw() {
	awk -v port=":$2\$" '
		/^--- guest / { guest = $3 }
		$1 == "ESTAB" && guest == "A:" && $5 ~ port { n++; end = $5 " " $4; waits = $3 }
		$1 == "ESTAB" && guest == "B:" && $4 ~ port && $2 > 0 { left[$4 " " $5] }
		END { exit !(n == 1 && waits == 0 && end in left) }' "$1"
}

# siw_left_octets LOG PORT: is left_by_siw true for each address family that failed, and did nothing else fail? As a
# responder siw can miss the first FPDU if it arrives before siw begins to read: B-08 in iw_mpa_conformance.rst. IPv4
# uses PORT, IPv6 the next port.
siw_left_octets() {
	local family how proved=no

	while read -r family how; do
		[[ $how == stuck ]] && left_by_siw "$1" $(($2 + (family == 6))) || return 1
		proved=yes
	done < <(sed -n 's/^failed: //p' "$1")
	[[ $proved == yes ]]
}

# proof_of FAILED... -- OURS... -- THEIRS...: do the lines FAILED of step.sh, "FAMILY HOW", with the
# output of ss in guest A (OURS) and in guest B (THEIRS), prove that siw is at fault? IPv4 uses port
# 7000, IPv6 port 7001.
proof_of() {
	local line log=$WORK/proof prefix='failed: '

	for line in "$@"; do
		case $prefix$line in
		'failed: --') prefix='--- guest A:' && echo "$prefix" ;;
		'--- guest A:--') prefix='--- guest B:' && echo "$prefix" ;;
		failed:*) echo "$prefix$line" ;;
		*) echo "ESTAB $line" ;;
		esac
	done >"$log"
	siw_left_octets "$log" 7000
}

# Test proof_of: only unread bytes of the failed connection itself prove that siw failed.
self_test() {
	local ours4='0 0 10.0.0.1:50 10.0.0.2:7000' theirs4='48 0 10.0.0.2:7000 10.0.0.1:50'
	local ours6='0 0 [fd00::1]:50 [fd00::2]:7001' theirs6='48 0 [fd00::2]:7001 [fd00::1]:50'
	local -a both=(-- "$ours4" "$ours6" -- "$theirs4" "$theirs6")

	proof_of '4 stuck' -- "$ours4" -- "$theirs4" || return 1
	proof_of '6 stuck' "${both[@]}" || return 1
	proof_of '4 stuck' '6 stuck' "${both[@]}" || return 1
	! proof_of "${both[@]}" || return 1
	! proof_of '4 otherwise' "${both[@]}" || return 1
	! proof_of '4 stuck' '6 otherwise' "${both[@]}" || return 1
	! proof_of '4 stuck' '6 stuck' -- "$ours4" "$ours6" -- "$theirs4" || return 1
	! proof_of '4 stuck' -- "$ours4" "$ours6" -- "$theirs6" || return 1
	! proof_of '6 stuck' -- "$ours4" "$ours6" -- "$theirs4" || return 1
	! proof_of '4 stuck' -- "$ours4" -- "${theirs4/%50/51}" || return 1
	! proof_of '4 stuck' -- "$ours4" -- "${theirs4/#48/0}" || return 1
	! proof_of '4 stuck' -- "${ours4/0 0/0 48}" -- "$theirs4" || return 1
	! proof_of '4 stuck' -- -- "$theirs4" || return 1
	! proof_of '4 stuck' -- "$ours4" "${ours4/:50/:52}" -- "$theirs4" || return 1
}

# run_step PEER NUMBER VARIANT ROLE REV P2P CRC PROGRAM: the arguments are a line of "cells.py steps"
# shellcheck disable=SC2034
run_step() {
	local peer=$1 STEP=$2 role=$4 SETTINGS="net.iw_mpa.crc=$7" PROGRAM=$8 log drivers="srnic siw" try

	CLIENT=A
	SERVER=B
	[[ $role == responder ]] || SETTINGS+=" net.iw_mpa.mpa_rev=$5"
	[[ $role == responder || $5 -eq 1 ]] || SETTINGS+=" net.iw_mpa.peer_to_peer=$6"
	if [[ $role == responder ]]; then
		CLIENT=B
		SERVER=A
		drivers="siw srnic"
	fi
	[[ $FRESH == yes ]] || boot "$peer"
	load_variant "$3" "$peer"
	log=$WORK/$peer-step-$STEP.log
	for ((try = 1; try <= TRIES; try++)); do
		# shellcheck disable=SC2086 # two words
		try_case "$log" ../test/interop/step.sh $drivers 4 $((7000 + 2 * STEP))
		tap_retried_in "$log"
		[[ $STATUS -ne 0 && $CLEAN -eq 0 && $role == initiator ]] || break
		siw_left_octets "$log" $((7000 + 2 * STEP)) || break
		tap_retried 'unmodified siw left what had come in its socket'
	done
	if [[ $CLEAN -ne 0 ]]; then
		tap 'not ok' "siw $peer: step $STEP leaves something behind"
		end_capture
		guest_kill_all
		FRESH=no
	fi
	sed -n 's/^outcome: //p' "$log" >>"$WORK/outcomes"
	[[ $STATUS -eq 0 && $CLEAN -eq 0 ]] || sed 's/^/# /' "$log" | tail -n 60
}

run_peer() {
	local peer=$1 line

	CAPTURES=0
	: >"$WORK/outcomes"
	boot "$peer"
	while read -r -u 4 -a line; do
		run_step "$peer" "${line[@]}"
	done 4<"$WORK/steps"
	if [[ $FRESH == yes ]]; then
		end_capture
		for line in A B; do
			tap_run "siw $peer: the driver of guest $line unloads" \
				guest_run "$line" driver_clear
		done
		tap_run "siw $peer: both guests go down by themselves" guest_down
	fi
	FRESH=no
	guest_kill_all
	while IFS= read -r line; do
		case $line in
		'ok - '*) tap ok "${line#ok - }" ;;
		'not ok - '*) tap 'not ok' "${line#not ok - }" ;;
		*) echo "# $line" ;;
		esac
	done < <("$CELLS" judge "$RESULTS" "$peer" "$WORK/steps" "$WORK/outcomes" \
		"$WORK"/*.pcapng 2>&1 || echo "not ok - siw $peer: the judge died")
	rm "$WORK"/*.pcapng
	[[ $TAP_FAILED -ne 0 ]] || guest_forget_logs
}

main() {
	local peer write=no seen='the table in the documentation is what was seen'

	case ${1:-} in
	'') ;;
	--write) write=yes ;;
	--sample) SAMPLE=--sample ;;
	-k) PATTERN=${2:?regex} ;;
	*) die 'usage: interop.sh [--sample | -k REGEX | --write]' ;;
	esac
	"$TOP/scripts/lib/setup.sh" build guest 6.1 6.12
	need_krel
	mkdir -p "$CACHE/run"
	WORK=$(mktemp -d "$CACHE/run/interop.XXXXXX")	# guest.sh removes old folders of this kind
	RESULTS=$WORK/results
	"$CELLS" steps $SAMPLE | grep -E -- "$PATTERN" >"$WORK/steps" || die "no step has a line like $PATTERN"
	[[ -z $SAMPLE$PATTERN && $PEERS == '6.1 6.12' ]] ||
		seen='the cells that were tried are as the table in the documentation has them'
	tap_run 'only octets in the socket of what failed are proof of another try' self_test
	for peer in $PEERS; do
		build_ours "$peer"
		build_peer "$peer"
	done
	for peer in $PEERS; do
		run_peer "$peer"
	done
	"$CELLS" table "$RESULTS" >"$WORK/table"
	[[ $write == no || $PEERS == '6.1 6.12' ]] || die 'not all cells were seen: --write wants all PEERS'
	[[ $write == no ]] || cp "$WORK/table" "$TABLE"
	tap_run "$seen" diff -u "$TABLE" "$WORK/table"
	say 'end of the interoperability tests'
	tap_end interop || die "logs: $WORK"
	rm -rf "$WORK"
}

main "$@"

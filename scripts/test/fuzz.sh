#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Those layers of iw_mpa and srnic that have no I/O, locks or allocations, such as the parsers of
# MPA frames and DDP headers, run in user space under libFuzzer, with the address and
# undefined-behaviour sanitizers: first on the cases in scripts/test/fuzz/corpus, then on generated
# input for T seconds each.
#
# The session control of RFC 5043 (DDP over SCTP) is also tested against a second codec and tshark.
#
#   T=SECONDS scripts/test/fuzz.sh      (10 if not set)

# shellcheck source=scripts/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=scripts/lib/tap.sh
. "$TOP/scripts/lib/tap.sh"

LIB=$TOP/drivers/infiniband/sw/iw_mpa
SRNIC=$TOP/drivers/infiniband/sw/srnic
WORK=$CACHE/fuzz

# What is fuzzed. l0: iw_mpa's parser of MPA frames, and negotiation; session: iw_mpa's session
# control of DDP over SCTP; r0: srnic's parser of RDMAP and DDP headers
TARGETS=(l0 session r0)
declare -A SOURCES=(
	[l0]="$LIB/frame.c $LIB/negotiate.c $LIB/fpdu.c $LIB/reason.c"
	[session]="$LIB/session.c $LIB/frame.c $LIB/fpdu.c $LIB/reason.c"
	[r0]="$SRNIC/term.c $SRNIC/wire.c"
)

# compile SANITIZERS PROGRAM FILE...
compile() {
	clang -g -O1 -Wall -Wextra -Werror -Wno-unused-parameter -Wno-sign-compare \
		-fsanitize="$1" -fno-sanitize-recover=all \
		-I"$TOP/scripts/test/fuzz/include" -I"$TOP/include" -I"$LIB" -I"$SRNIC" -include shim.h \
		-o "$WORK/$2" "${@:3}"
}

build() {
	# shellcheck disable=SC2086 # a list of files
	compile fuzzer,address,undefined "$1_fuzz" "$TOP/scripts/test/fuzz/$1_fuzz.c" ${SOURCES[$1]}
}

# tshark also judges the second codec of SCTP's session control: see fuzz/sctp/judge.py.
sctp() {
	local what

	# shellcheck disable=SC2086 # a list of files
	tap_run 'sctp: builds without a warning' compile address,undefined sctp_say \
		"$TOP/scripts/test/fuzz/sctp/say.c" ${SOURCES[session]}
	for what in codec sequences capture selftest; do
		tap_run "sctp: $what" "$TOP/scripts/test/fuzz/sctp/judge.py" "$what" "$WORK/sctp_say"
	done
}

# fuzz TARGET: libFuzzer keeps inputs that reach new code in found-TARGET, for the next run, and
# inputs that crash the target in crash-TARGET-*.
fuzz() {
	"$WORK/$1_fuzz" -max_total_time="${T:-10}" -max_len=700 -verbosity=0 \
		-print_final_stats=1 -artifact_prefix="$WORK/crash-$1-" \
		"$WORK/found-$1" "$TOP/scripts/test/fuzz/corpus/$1"
}

target() {
	local file

	mkdir -p "$WORK/found-$1"
	tap_run "$1: builds without a warning" build "$1"
	for file in "$TOP/scripts/test/fuzz/corpus/$1"/*; do
		tap_run "$1: case ${file##*/}" "$WORK/$1_fuzz" "$file"
	done
	say "fuzz: $1, ${T:-10} s"
	tap_run "$1: nothing breaks it" fuzz "$1"
}

# A case can be run alone, also one that libFuzzer has found and kept.
alone() {
	local target=${1%%:*} file

	case $1 in
	*': case '*) echo "$WORK/${target}_fuzz $TOP/scripts/test/fuzz/corpus/$target/${1##* }" ;;
	*': nothing breaks it')
		for file in "$WORK/crash-$target"-*; do
			echo "$WORK/${target}_fuzz $file"
		done
		;;
	esac
}

main() {
	local name

	"$TOP/scripts/lib/setup.sh" fuzz
	for name in "${TARGETS[@]}"; do
		target "$name"
	done
	sctp
	tap_end fuzz
}

main "$@"

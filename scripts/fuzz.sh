#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The pure layers in user space, under libFuzzer with the address and undefined-behaviour
# sanitizers: of each first the named cases, then T seconds of anything.
#
#   T=SECONDS scripts/fuzz.sh      (10 if not set)

# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=scripts/tap.sh
. "$TOP/scripts/tap.sh"

LIB=$TOP/drivers/infiniband/sw/iw_mpa
SRNIC=$TOP/drivers/infiniband/sw/srnic
WORK=$CACHE/fuzz

# The library's L0, srnic's R0
TARGETS=(l0 r0)
declare -A SOURCES=(
	[l0]="$LIB/frame.c $LIB/negotiate.c $LIB/fpdu.c $LIB/reason.c"
	[r0]="$SRNIC/term.c $SRNIC/wire.c"
)

build() {
	# shellcheck disable=SC2086 # a list of files
	clang -g -O1 -Wall -Wextra -Werror -Wno-unused-parameter -Wno-sign-compare \
		-fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
		-I"$TOP/scripts/fuzz/include" -I"$TOP/include" -I"$SRNIC" -include shim.h \
		-o "$WORK/$1_fuzz" "$TOP/scripts/fuzz/$1_fuzz.c" ${SOURCES[$1]}
}

# What it finds interesting is kept for the next time; what crashes it is named and kept.
fuzz() {
	"$WORK/$1_fuzz" -max_total_time="${T:-10}" -max_len=700 -verbosity=0 \
		-print_final_stats=1 -artifact_prefix="$WORK/crash-$1-" \
		"$WORK/found-$1" "$TOP/scripts/fuzz/corpus/$1"
}

target() {
	local file

	mkdir -p "$WORK/found-$1"
	tap_run "$1: builds without a warning" build "$1"
	for file in "$TOP/scripts/fuzz/corpus/$1"/*; do
		tap_run "$1: case ${file##*/}" "$WORK/$1_fuzz" "$file"
	done
	say "fuzz: $1, ${T:-10} s"
	tap_run "$1: nothing breaks it" fuzz "$1"
}

main() {
	local name

	"$TOP/scripts/setup.sh" fuzz
	for name in "${TARGETS[@]}"; do
		target "$name"
	done
	tap_end fuzz
}

main "$@"

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The pure layer in user space, under libFuzzer with the address and undefined-behaviour
# sanitizers: first the named cases, then T seconds of anything.
#
#   T=SECONDS scripts/fuzz.sh      (10 if not set)

# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=scripts/tap.sh
. "$TOP/scripts/tap.sh"

LIB=$TOP/drivers/infiniband/sw/iw_mpa
WORK=$CACHE/fuzz

build() {
	clang -g -O1 -Wall -Wextra -Werror -Wno-unused-parameter -Wno-sign-compare \
		-fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
		-I"$TOP/scripts/fuzz/include" -I"$TOP/include" -include shim.h \
		-o "$WORK/l0_fuzz" "$TOP/scripts/fuzz/l0_fuzz.c" \
		"$LIB/frame.c" "$LIB/negotiate.c" "$LIB/fpdu.c" "$LIB/reason.c"
}

# What it finds interesting is kept for the next time; what crashes it is named and kept.
fuzz() {
	"$WORK/l0_fuzz" -max_total_time="${T:-10}" -max_len=700 -verbosity=0 \
		-print_final_stats=1 -artifact_prefix="$WORK/crash-" \
		"$WORK/found" "$TOP/scripts/fuzz/corpus"
}

main() {
	local file

	"$TOP/scripts/setup.sh" fuzz
	mkdir -p "$WORK/found"
	tap_run 'builds without a warning' build
	for file in "$TOP"/scripts/fuzz/corpus/*; do
		tap_run "case ${file##*/}" "$WORK/l0_fuzz" "$file"
	done
	say "fuzz: ${T:-10} s"
	tap_run 'nothing breaks it' fuzz
	tap_end fuzz
}

main "$@"

# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="fabtests of libfabric, as runfabtests.sh lists them, over verbs and over RxM on verbs"
SOURCE="https://github.com/ofiwg/libfabric.git 4a7d3ad0a4dfbb25bfc37cf91a038edd33f6dbc2"	# v1.17.0
BUILT_OF=scripts/suites/fabtests.patch
PACKAGES="libfabric-dev patch autoconf automake libtool"
SAMPLED='^verbs/(unit|functional)$'

# Sets of runfabtests.sh -t quick: tests with one program, and two sets with two programs
groups() { printf '%s\n' {verbs,ofi_rxm}/{unit,functional,short}; }

build() (
	patch -p1 --no-backup-if-mismatch --fuzz=0 <"$TOP/scripts/suites/fabtests.patch"
	cd fabtests || return
	./autogen.sh && ./configure --disable-dependency-tracking && make -j "$(nproc)"
)

# The defaults of common/shared.c. Over OOB_PORT, of TCP, some programs synchronize.
FAB_PORT=9228 OOB_PORT=3000

# tests PROVIDER LIST: print the tests in runfabtests.sh's list LIST, such as "unit", except those
# that runfabtests.sh leaves out for PROVIDER, and these: tests with "rdm -o writedata", which wait
# for immediate data until they are killed, since iWARP does not carry it; fi_rdm_multi_client, in
# which RxM sometimes posts a receive to an endpoint that it has closed (libfabric's issue 11828);
# and, over verbs without RxM, fi_shared_ctx, fi_msg_bw and fi_rma_bw, which fail sometimes: their
# client may send before the server has posted a receive, which ends an iWARP connection. fi_bw,
# which always fails for this reason, is not left out, but expected to fail.
tests() {
	local line pattern
	local -a left_out

	mapfile -t left_out < <(printf '%s\n' 'rdm -o writedata' rdm_multi_client
		[[ $1 != verbs ]] || printf '%s\n' shared_ctx '^fi_msg_bw' 'rma_bw -e msg'
		grep -Ev '^[[:blank:]]*(#|$)' "$TESTS/test_configs/$1/$1.exclude")
	sed -n "/^$2_tests=(/,/^)/{s/^\t\"\(.*\)\"$/\1/p}" "$TESTS/scripts/runfabtests.sh" | while IFS= read -r line; do
		for pattern in "${left_out[@]}"; do
			[[ ! $line =~ $pattern ]] || continue 2
		done
		echo "$line"
	done
}

# command_of TEST ARGUMENT...: print the command of TEST, a line of runfabtests.sh
command_of() {
	local file
	local -a words

	read -ra words <<<"$1"
	for file in "$TESTS"/{unit,functional,benchmarks}/"${words[0]}"; do
		[[ -x $file ]] || continue
		echo "/host$file ${words[*]:1} -p '$PROVIDER' ${*:2}"
		return
	done
	echo "echo there is no program ${words[0]}; false"
}

# ends WANT NAME STATUS OUTPUT: print the outcome. ENODATA and ENOSYS are runfabtests.sh's "Notrun".
ends() {
	case $3 in
	"$1") case_is pass "$2" ;;
	61 | 38 | 61-61 | 38-38) case_is skip "$2" "$4" ;;
	*) case_is fail "$2" "status $3: $4" ;;
	esac
}

# by_itself WANT NAME TEST: run a test that has one program, which has to end with status WANT
by_itself() {
	local status=0 output

	output=$(guest_bg_run "$SERVER" server 120 "$(command_of "$3")" 2>&1) || status=$?
	[[ $status -ne 124 ]] || guest_stop "$SERVER" server KILL >/dev/null
	ends "$1" "$2" "$status" "$output"
}

# once TEST: run both programs; set ENDED to their statuses, OUTPUT to what they print
once() {
	local s=0 c=0

	guest_bg "$SERVER" server "$(command_of "$1" -s "$SERVER_IP")"
	on "$SERVER" "is_there() { listens_or_ended server $FAB_PORT || tcp_listens $OOB_PORT; }
		poll 20 is_there" >&2 || true
	OUTPUT=$(guest_bg_run "$CLIENT" client 120 "$(command_of "$1" -s "$CLIENT_IP" "$SERVER_IP")" 2>&1) || c=$?
	[[ $c -ne 124 ]] || guest_stop "$CLIENT" client KILL >/dev/null
	OUTPUT+=$'\n'$(guest_wait "$SERVER" server $((c == 0 ? 60 : 5)) 2>&1) || s=$?
	[[ $s -ne 124 ]] || guest_stop "$SERVER" server KILL >/dev/null
	ENDED=$s-$c
}

# of_pair NAME TEST: both programs have to end with status 0. If RxM has made one of them die, both run again, once.
of_pair() {
	local ENDED OUTPUT

	once "$2"
	if [[ $ENDED != 0-0 ]] && rxm_posted "$OUTPUT"; then
		retried "$RXM_POSTED"
		once "$2"
	fi
	ends 0-0 "$1" "$ENDED" "$OUTPUT"
}

check() {
	local TESTS=$BUILT/fabtests provider=${VARIANT%/*} kind=${VARIANT#*/} line name
	local -a lines

	PROVIDER=verbs
	[[ $provider == verbs ]] || PROVIDER="verbs;$provider"
	mapfile -t lines < <(tests "$provider" "$kind")
	[[ ${#lines[@]} -gt 0 ]] || fail "no tests: $VARIANT"
	for line in "${lines[@]}"; do
		name=$provider/${line// /_}
		line=${line//GOOD_ADDR/$SERVER_IP}
		line=${line/SERVER_ADDR/$SERVER_IP}
		# By default fi_cq_test makes up to 32,768 completion queues at once: more than the guest's memory holds
		line=${line/#fi_cq_test/fi_cq_test -L 4096}
		if [[ $kind == unit ]]; then by_itself 0 "$name" "$line"; else of_pair "$name" "$line"; fi
	done
	[[ $kind == unit ]] || return 0
	# The tests of neg_unit look up a node that does not exist: ENODATA, 61.
	while IFS= read -r line; do
		by_itself 61 "$provider/${line// /_}" "$line"
	done < <(tests "$provider" neg_unit)
}

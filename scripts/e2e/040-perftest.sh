# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="perftest: real latency and bandwidth of Send, RDMA Write and RDMA Read"
# perftest 4.5 connects with rdma_cm over IPv4 only.
FAMILIES="4"

# It does not start on a port that is down.
applies() { [[ $WIRE != flap ]]; }

# once PROGRAM SIZE ITERATIONS: sets output; 2: not the fault of what is under test.
once() {
	local status=0 before

	serve "$1 -R -d siw0 -F -s $2 -n $3 -p $PORT"
	before=$(tcp_refusals)
	output=$(client "$1 -R -d siw0 -F -s $2 -n $3 -p $PORT $SERVER_IP") || status=$?
	# perftest connects twice, and its server may be late to listen for the second time.
	if [[ $status -ne 0 ]] && tcp_was_refused "$before"; then
		guest_stop "$SERVER" server >/dev/null
		retried 'TCP was refused: the server of perftest did not listen yet'
		return 2
	fi
	[[ $status -eq 0 ]] || return 1
	server_ends >/dev/null || return 1
	# It says so, and has no numbers, when it could not measure the processor's clock.
	if grep 'Correlation coefficient' <<<"$output"; then
		retried 'perftest could not measure the clock'
		return 2
	fi
}

# run_perftest PROGRAM SIZE ITERATIONS COLUMN-OF-THE-RESULT UNIT: adds to result.
run_perftest() {
	local status output number

	for _ in 1 2 3 4 5; do
		status=0
		once "$1" "$2" "$3" || status=$?
		[[ $status -eq 2 ]] || break
	done
	[[ $status -eq 0 ]] || fail "$1: $output"
	number=$(awk -v size="$2" -v n="$3" -v column="$4" \
		'$1 == size && $2 == n { print $column }' <<<"$output")
	# "inf", "0.00" and an empty string have all been seen.
	awk -v x="$number" 'BEGIN { exit !(x ~ /^[0-9.]+$/ && x > 0) }' ||
		fail "$1 measured '$number': $output"
	result+="${result:+, }$1 $number $5"
}

# PERFTESTS: only some of them.
check() {
	local result='' name size=65536

	[[ $WIRE == clean ]] || size=2048
	for name in ${PERFTESTS:-ib_send_lat ib_write_bw ib_read_bw}; do
		case $name in
		ib_send_lat) run_perftest "$name" 2 200 6 us ;;
		*) run_perftest "$name" "$size" "$(few 100)" 4 MB/s ;;
		esac
	done
	echo "result: $result"
}

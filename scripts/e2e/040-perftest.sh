# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="perftest: real latency and bandwidth of Send, RDMA Write and RDMA Read"
# perftest 4.5 connects with rdma_cm over IPv4 only.
FAMILIES="4"

# run_perftest PROGRAM SIZE ITERATIONS COLUMN-OF-THE-RESULT UNIT: sets result.
run_perftest() {
	local output try

	# It gives no numbers when it cannot measure the clock's frequency, which it says; a busy
	# host is enough for that.
	for try in 1 2 3 4 5; do
		serve "$1 -R -d siw0 -F -s $2 -n $3 -p $PORT"
		output=$(client "$1 -R -d siw0 -F -s $2 -n $3 -p $PORT $SERVER_IP")
		server_ends >/dev/null
		grep -q 'Correlation coefficient' <<<"$output" || break
		echo "try $try: $(grep 'Correlation coefficient' <<<"$output")"
	done
	result=$(awk -v size="$2" -v n="$3" -v column="$4" \
		'$1 == size && $2 == n { print $column }' <<<"$output")
	echo "$1: $result $5"
	# "inf", "0.00" and an empty string have all been seen.
	awk -v x="$result" 'BEGIN { exit !(x ~ /^[0-9.]+$/ && x > 0) }' ||
		fail "$1 measured '$result': $output"
}

check() {
	local result summary

	run_perftest ib_send_lat 2 200 6 us
	summary="Send $result us"
	run_perftest ib_write_bw 65536 100 4 MB/s
	summary+=", Write $result MB/s"
	run_perftest ib_read_bw 65536 100 4 MB/s
	echo "result: $summary, Read $result MB/s"
}

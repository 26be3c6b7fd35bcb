# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="perftest: real latency and bandwidth of Send, RDMA Write and RDMA Read"
# With rdma_cm perftest 4.5 takes no address of IPv6, not even with --ipv6. perftest compares no data.
FAMILIES="4"

# perftest does not start on a port that is down.
applies() { [[ $WIRE != flap ]]; }

# once PROGRAM SIZE ITERATIONS BYTES: run server and client, and set output to what the client
# prints. Both have to report success, and the network interfaces of their guests together have to
# send BYTES bytes or more. Return 2 if the run failed and neither driver is at fault.
once() {
	local status=0 moved

	serve "$1 -R -d siw0 -F -s $2 -n $3 -p $PORT" || return 1
	watch_server && moved=$(bytes_moved) || return 1
	output=$(client "$1 -R -d siw0 -F -s $2 -n $3 -p $PORT $SERVER_IP") || status=$?
	# perftest connects twice, and its server may be late to listen for the second time.
	if [[ $status -ne 0 ]] && server_was_late "$PORT"; then
		guest_stop "$SERVER" server >/dev/null
		retried 'TCP was refused: the server of perftest did not listen yet'
		return 2
	fi
	[[ $status -eq 0 ]] || return 1
	server_ends >/dev/null || return 1
	[[ $(bytes_moved) -ge $((moved + $4)) ]] || fail "$1: fewer than $4 octets went"
}

# run_perftest PROGRAM SIZE ITERATIONS BYTES COLUMN-OF-THE-RESULT UNIT: call once() with the first
# four arguments, and add the figure in this column of PROGRAM's output, with UNIT, to the variable
# result
run_perftest() {
	local status output='' number

	for _ in 1 2 3 4 5; do
		status=0
		once "$1" "$2" "$3" "$4" || status=$?
		[[ $status -eq 2 ]] || break
	done
	[[ $status -eq 0 ]] || fail "$1: $output"
	number=$(awk -v size="$2" -v n="$3" -v column="$5" \
		'$1 == size && $2 == n { print $column }' <<<"$output")
	# perftest counts cycles, and on a virtual processor it cannot always determine how long a cycle takes: it has
	# printed "inf", "0.00" and an empty string. So it is no failure if there is no number, since all bytes have
	# arrived.
	if awk -v x="$number" 'BEGIN { exit !(x ~ /^[0-9.]+$/ && x > 0) }'; then
		number+=" $6"
	else
		number='ran, not measured'
	fi
	result+="${result:+, }$1 $number"
}

# The variable PERFTESTS names the programs to run; by default all three run.
check() {
	local result='' name size=65536 count

	[[ $WIRE == clean ]] || size=2048
	count=$(few 100)
	for name in ${PERFTESTS:-ib_send_lat ib_write_bw ib_read_bw}; do
		case $name in
		# Messages go in both directions, each in a frame of its own, whose headers alone have 66 bytes
		ib_send_lat) run_perftest "$name" 2 200 $((2 * 200 * 66)) 6 us ;;
		*) run_perftest "$name" "$size" "$count" $((size * count)) 4 MB/s ;;
		esac
	done
	echo "result: $result"
}

# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="qperf: latency of messages over a connection of rdma_cm"
WIRES=clean
# With rdma_cm qperf takes no address of IPv6; qperf compares no data.
FAMILIES="4"

# qperf's server sends its port to the client before it calls rdma_listen. On a slow kernel the client connects too
# early.
applies() { stock_kernel; }

listeners() {
	if is_ours "$SERVER_DRIVER"; then
		on "$SERVER" 'counter listener_created'
	else
		echo 0
	fi
}

# came_and_went LISTENERS: has TCP refused a SYN, and has a server listened since listeners()
# printed LISTENERS? The server closes its socket when its client gives up, before a test can see
# the socket, so only iw_mpa's counter listener_created proves that the server has listened.
came_and_went() { [[ -n $REFUSED && $(listeners) -gt $1 ]]; }

# qperf's two ends first agree on the test over a TCP connection. The server never ends by itself.
check() {
	local output try own_port before REFUSED=

	for try in 0 1 2 3; do
		own_port=$((PORT + 1000 * try))
		guest_bg "$SERVER" server "qperf -lp $own_port"
		on "$SERVER" "poll 20 tcp_listens $own_port"
		watch_server
		before=$(listeners)
		! output=$(client "qperf -lp $own_port $SERVER_IP -to 30 -cm 1 -t 1 rc_lat") || break
		server_was_late || came_and_went "$before" || fail "qperf: $output"
		retried 'TCP was refused: the server of qperf did not listen yet'
		guest_stop "$SERVER" server >/dev/null
	done
	expect_text "$output" '^ +latency += +[1-9][0-9.]* +(us|ms)$'
	guest_stop "$SERVER" server >/dev/null
	echo "result: $(tail -n 1 <<<"$output")"
}

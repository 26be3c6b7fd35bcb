# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="qperf: latency of messages over a connection of rdma_cm"
WIRES=clean
# qperf knows no address of IPv6 where it connects by rdma_cm, and compares no data.
FAMILIES="4"

# qperf's server tells the client its port before it calls rdma_listen. So the client may connect too early, and on a
# slow kernel it does.
applies() { stock_kernel; }

listeners() {
	if is_ours "$SERVER_DRIVER"; then
		on "$SERVER" 'counter listener_created'
	else
		echo 0
	fi
}

# came_and_went LISTENERS: has TCP refused a SYN although the only server has listened since? The server closes its
# socket when its client gives up, before a test can see it, so the counter of listeners shows it.
came_and_went() { [[ -n $REFUSED && $(listeners) -gt $1 ]]; }

# qperf agrees on the test by TCP first; its server goes on for ever.
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

# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="qperf: latency of messages over a connection of rdma_cm"
WIRES=clean
FAMILIES="4"

# The server tells its port before it calls rdma_listen: on a slow kernel the client is there first.
applies() { both_ours && stock_kernel; }

# qperf agrees on the test by TCP first; its server goes on for ever.
check() {
	local output

	guest_bg "$SERVER" server "qperf -lp $PORT"
	on "$SERVER" "poll 20 tcp_listens $PORT"
	output=$(client "qperf -lp $PORT $SERVER_IP -cm 1 -t 1 rc_lat")
	expect_text "$output" '^ +latency += +[1-9][0-9.]* +(us|ms)$'
	guest_stop "$SERVER" server >/dev/null
	echo "result: $(tail -n 1 <<<"$output")"
}

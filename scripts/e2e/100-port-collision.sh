# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="source ports that TCP uses already do not make connections fail"

# rdma_cm chooses the source port without asking TCP; unmodified siw fails with EADDRINUSE if TCP uses that port.
applies() { is_ours "$CLIENT_DRIVER"; }

# rdma_cm chooses among 64 ports, of which 56 are in use: the chance that none of 5 connections
# tries a port that is in use is 1 in 30,000.
check() {
	local i output

	on "$CLIENT" "port_range_set 40000 40063"
	guest_bg "$CLIENT" hold "/host$TOP/scripts/lib/guest/hold_ports.py $CLIENT_IP 40000 40063 8"
	on "$CLIENT" "poll 20 grep -q 'holding 56 ports' /run/bg/hold/output"
	serve "rping -s -P -a $SERVER_IP -p $PORT"
	for i in 1 2 3 4 5; do
		output=$(client "rping -c -a $SERVER_IP -p $PORT -C 3 -V -v") ||
			fail "connection $i: $output"
		expect_pings "$output" 3
	done
}

# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="one persistent rping server, five clients at the same time"

check() {
	local i output

	serve "rping -s -P -a $SERVER_IP -p $PORT"
	for i in 1 2 3 4 5; do
		guest_bg "$CLIENT" "client$i" "rping -c -a $SERVER_IP -p $PORT -C 20 -V -v"
	done
	for i in 1 2 3 4 5; do
		output=$(loudly guest_wait "$CLIENT" "client$i" 30)
		expect_pings "$output" 20 >/dev/null
	done
	guest_stop "$SERVER" server >/dev/null
	echo "result: 5 x 20 blocks of data verified"
}

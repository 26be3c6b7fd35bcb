# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="a connection that is up, and whose large packets are lost, is seen; so are bytes, and by node_exporter"
WIRES=clean
FAMILIES="4"
LONG=yes

applies() { both_ours && stock_kernel; }

# endpoint EXPRESSION: test EXPRESSION, whose variables are the fields of the client's only connection
endpoint() {
	on "$CLIENT" "/host$TOP/scripts/iw-mpa endpoints -j" | python3 -c '
import json, sys
rows = [row for row in json.load(sys.stdin) if row["state"] == "OFFLOADED"]
sys.exit(len(rows) != 1 or not eval(sys.argv[1], rows[0]))' "$1"
}

# becomes EXPRESSION: wait up to 20 s until EXPRESSION is true
becomes() {
	local end=$((SECONDS + 20))

	until endpoint "$1"; do
		((SECONDS < end)) || fail "the connection never has: $1" || return 1
		sleep 0.5
	done
}

# Print what a Prometheus exporter on the client serves from the file that iw-mpa metrics has written.
# shellcheck disable=SC2016 # expands on the guest
exporter() {
	on "$CLIENT" "mkdir -p /run/prom && /host$TOP/scripts/iw-mpa metrics -o /run/prom/iw_mpa.prom"
	guest_bg "$CLIENT" exporter '/host$tools/usr/bin/prometheus-node-exporter --collector.disable-defaults \
		--collector.textfile --collector.textfile.directory=/run/prom --web.listen-address=127.0.0.1:9100'
	on "$CLIENT" 'poll 30 tcp_listens 9100; exec 3<>/dev/tcp/127.0.0.1/9100
		printf "GET /metrics HTTP/1.0\r\n\r\n" >&3; cat <&3'
	guest_stop "$CLIENT" exporter >/dev/null
}

check() {
	local output

	serve "rping -s -P -a $SERVER_IP -p $PORT -S 30000"
	guest_bg "$CLIENT" long "rping -c -a $SERVER_IP -p $PORT -C 10000000 -S 30000 -V"
	becomes 'sent > 30000 and received > 30000 and idle_ms < 5000 and stalled is False'
	on "$SERVER" \
		'nft add table inet hole && nft add chain inet hole input "{ type filter hook input priority 0; }" &&
		nft add rule inet hole input meta length \> 1000 drop'
	on "$SERVER" 'at_clean_up "nft delete table inet hole 2>/dev/null || :"'
	becomes 'stalled and unacked > 0 and retrans > 0'
	output=$(on "$CLIENT" "/host$TOP/scripts/iw-mpa top -b -n 1")
	expect_text "$output" "^yes  *[0-9].*:$PORT  *OFFLOADED "
	output=$(exporter)
	expect_text "$output" '^iw_mpa_connections{device="siw0",state="OFFLOADED"} 1'
	expect_text "$output" '^iw_mpa_stalled_connections{device="siw0"} 1'
	expect_text "$output" '^iw_mpa_established_total [1-9]'
	expect_text "$output" '^node_textfile_scrape_error 0'
	[[ $CLIENT_DRIVER != srnic ]] || expect_text "$output" '^rdma_tx_octets_total{device="siw0"} [1-9]'
	on "$SERVER" 'nft delete table inet hole'
	becomes 'stalled is False'
	guest_stop "$CLIENT" long >/dev/null
	guest_stop "$SERVER" server >/dev/null
}

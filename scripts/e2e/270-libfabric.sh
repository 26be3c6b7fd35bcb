# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="libfabric: fi_pingpong over verbs, and over verbs with RxM, data verified"
WIRES=clean

# once PROVIDER ENDPOINT: run fi_pingpong once. Set $again to yes if it failed by a known fault of
# libfabric's RxM. Server and client of fi_pingpong exchange their endpoints' addresses over TCP.
once() {
	local options="-p '$1' -e $2 -I 50 -S 1024 -c" output status=0

	[[ $FAMILY == 4 ]] || options+=" -6"
	guest_bg "$SERVER" server "fi_pingpong $options -B $PORT"
	on "$SERVER" "poll 20 tcp_listens $PORT"
	output=$(client "fi_pingpong $options -P $PORT $SERVER_IP")
	# columns: bytes, sent, acknowledged, total ...
	expect_text "$output" '^1k +50 +=50 +100k '
	output=$(server_ends) || status=$?
	echo "$output"
	again=no
	[[ $status -ne 0 ]] || return 0
	rxm_posted "$output" || fail "the server: status $status"
	again=yes
	retried "$RXM_POSTED"
}

pingpong() {
	local again

	for _ in 1 2 3 4 5; do
		once "$@"
		[[ $again == yes ]] || return 0
	done
	fail 'RxM dies each time'
}

check() {
	pingpong verbs msg
	pingpong 'verbs;ofi_rxm' rdm
	echo "result: 2 x 50 messages of 1024 bytes each way"
}

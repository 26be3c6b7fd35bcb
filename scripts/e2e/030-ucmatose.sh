# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="ucmatose: 10 connections at once, 10 messages of 1000 bytes each way on each"

# ucmatose's server sends first, which a responder must not do (RFC 5044 section 7.1.2) unless the
# initiator asks for the peer-to-peer model. Unmodified siw never asks for it, so with siw as
# initiator iw_mpa's responder would wait for the first FPDU for ever. With fence_timeout_ms it
# sends after a second.
lift_fence() {
	is_ours "$CLIENT_DRIVER" || on "$SERVER" "fence_ms_set 1000"
}

# ucmatose compares no data, so the bytes on the wire are counted.
check() {
	local ip=ip before_client before_server

	[[ $FAMILY == 4 ]] || ip=ip6
	lift_fence
	serve "ucmatose -b $SERVER_IP -f $ip -c 10 -C 10 -S 1000 -p $PORT"
	before_client=$(bytes_sent "$CLIENT")
	before_server=$(bytes_sent "$SERVER")
	client "ucmatose -s $SERVER_IP -f $ip -c 10 -C 10 -S 1000 -p $PORT"
	server_ends
	[[ $(bytes_sent "$CLIENT") -gt $((before_client + 100000)) ]] ||
		fail "the client sent fewer than 100 messages of 1000 bytes"
	[[ $(bytes_sent "$SERVER") -gt $((before_server + 100000)) ]] ||
		fail "the server sent fewer than 100 messages of 1000 bytes"
	echo "result: 10 connections, 200 messages of 1000 bytes"
}
